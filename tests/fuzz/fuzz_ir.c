/* SPDX-License-Identifier: Apache-2.0
 * fuzz_ir.c: any bytes as the canonical text of a rule set. What is read and verified prints, and that text reads as itself. */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "ir/ir.h"

static void must(bool ok) {
    if (!ok)
        abort();
}

/* Reads a text into an arena of its own; the printed form of a verified set goes to *ret. */
static bool read_back(const char *text, size_t n, struct rdn_buf *ret) {
    struct rdn_arena a;
    struct rdn_syms *syms;
    struct rdn_ir *ir = NULL;
    redan_error e;
    rdn_arena_init(&a, &rdn_libc_mem);
    must(rdn_syms_open(&syms, &rdn_libc_mem, 4096) == 0);
    bool ok = rdn_ir_read(&a, syms, text, n, &ir, &e) == 0 && rdn_ir_verify(ir, &e) == 0;
    if (ok)
        rdn_ir_print(ret, ir);
    rdn_syms_close(syms);
    rdn_arena_fini(&a);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct rdn_buf one, two;
    rdn_buf_init(&one, &rdn_libc_mem);
    rdn_buf_init(&two, &rdn_libc_mem);
    if (read_back((const char *)data, n, &one)) {
        must(read_back(rdn_buf_str(&one), one.n, &two));
        must(one.n == two.n && memcmp(one.p, two.p, one.n) == 0);
    }
    rdn_buf_fini(&one);
    rdn_buf_fini(&two);
    return 0;
}
