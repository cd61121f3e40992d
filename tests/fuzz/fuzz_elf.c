/* SPDX-License-Identifier: Apache-2.0
 * fuzz_elf.c: a shared object of any bytes through the check that comes before any of its code runs.
 *
 * Beyond not crashing: what it says does not depend on where the bytes lie, findings are few, and their texts are clean. */
#include <stdlib.h>
#include <string.h>
#include "plugins/elfcheck.h"
#include "plugins/elf_file.h"

enum { MOST = 1 << 18 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void look(void *ctx, const struct rdn_finding *f) {
    uint32_t *seen = ctx;
    for (const char *p = f->text; *p; p++)
        if ((unsigned char)*p < 0x20)
            abort();
    if (++*seen > 1024)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const char *const canons[] = { "Order;ts:time;qty:int;px:dec(2);", "E;ts:time;a:float[2,3];b:str(5)?;" };
    uint32_t seen = 0, again = 0;
    struct rdn_elf_note note;
    struct rdn_elf e;
    const char *why;
    if (n > MOST)
        return 0;
    for (int foreign = 0; foreign < 2; foreign++) {
        struct rdn_elf_wish w = { .foreign = foreign, .canons = canons, .ncanons = 2 };
        struct rdn_report r = { .take = look, .ctx = &seen }, r2 = { .take = look, .ctx = &again };
        rdn_elf_check("lib.so", data, n, &w, &r);
        uint8_t *copy = malloc(n ? n : 1);
        if (!copy)
            return 0;
        memcpy(copy, data, n);
        rdn_elf_check("lib.so", copy, n, &w, &r2);
        free(copy);
        if (r.errors != r2.errors || r.warnings != r2.warnings)
            abort();
    }
    rdn_elf_note_read(data, n, &note);
    if (rdn_elf_open(&e, data, n, &why))
        rdn_elf_image_bytes(&e);
    return 0;
}
