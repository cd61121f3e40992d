/* SPDX-License-Identifier: Apache-2.0
 * check_driver.c: compiles sources and prints their diagnostics, for test_check.py.
 *
 * Standard input: records "LENGTH BASE\n" and that many bytes; BASE is the directory of data files. Standard output, for
 * each: "diags N\n", N lines "CODE L:C-L:C text", then three texts of 17.7 as "LENGTH\n" and that many bytes: cost, layout,
 * hash (of length 0 when there are errors). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dsl/dsl.h"

static void put_text(struct rdn_buf *b, void (*f)(struct rdn_buf *, const struct rdn_ir *), const struct rdn_ir *ir) {
    b->n = 0;
    if (ir)
        f(b, ir);
    printf("%zu\n", b->n);
    fwrite(b->n ? b->p : "", 1, b->n, stdout);
}

static int one(const char *base, const char *text, size_t len) {
    struct rdn_arena arena;
    struct rdn_syms *syms;
    struct rdn_dsl_result r;
    struct rdn_dsl_options opt = { .base_dir = base, .any_diags = true };
    struct rdn_buf b;
    redan_error err = { 0 };
    rdn_arena_init(&arena, &rdn_libc_mem);
    if (rdn_syms_open(&syms, &rdn_libc_mem, 1u << 22) < 0)
        return 2;
    const int rc = rdn_dsl_compile(&arena, syms, text, len, &opt, &r, &err);
    rdn_buf_init(&b, &rdn_libc_mem);
    if (rc < 0)
        fprintf(stderr, "check_driver: %s\n", err.text);
    for (uint32_t i = 0; rc == 0 && i < r.ndiags; i++)
        rdn_dsl_print_short(&b, &r.diags[i]);
    printf("diags %u\n", rc ? 0 : r.ndiags);
    fwrite(b.n ? b.p : "", 1, b.n, stdout);
    put_text(&b, rdn_dsl_cost, r.ir);
    put_text(&b, rdn_dsl_layout, r.ir);
    put_text(&b, rdn_dsl_hash, r.ir);
    fflush(stdout);
    rdn_buf_fini(&b);
    rdn_syms_close(syms);
    rdn_arena_fini(&arena);
    return rc ? 2 : 0;
}

int main(void) {
    char line[4300], base[4200];
    size_t len;
    int rc = 0;
    while (!rc && fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%zu %4199[^\n]", &len, base) != 2)
            return 2;
        char *text = malloc(len + 1);
        rc = text && fread(text, 1, len, stdin) == len ? one(base, text, len) : 2;
        free(text);
    }
    return rc;
}
