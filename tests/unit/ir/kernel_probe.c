/* SPDX-License-Identifier: Apache-2.0
 * kernel_probe.c: compiles a rule file and runs its kernels, for test_kernel_model.py.
 * usage: kernel_probe FILE; standard input: lines "CALL ARG...", ARG an int, 16 hex digits after f, true, false, or [f...,f...].
 * answer: 16 hex digits, or ! and the cause. */
#include "dsl/dsl.h"
#include "ir/kernel.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double bits(const char *s) {
    uint64_t b = strtoull(s + 1, NULL, 16);
    double f;
    memcpy(&f, &b, sizeof f);
    return f;
}

static void arg(struct rdn_arena *a, const struct rdn_type *t, char *s, struct rdn_cell *c) {
    memset(c, 0, sizeof *c);
    if (t->kind == RDN_K_FLOAT)
        c->f = bits(s);
    else if (t->kind == RDN_K_ARR) {
        double *v = rdn_arena_alloc(a, sizeof *v * rdn_type_elems(t));
        char *save, *e = strtok_r(s, "[],", &save);
        for (uint32_t i = 0; i < rdn_type_elems(t); i++, e = strtok_r(NULL, "[],", &save))
            if (t->elem == RDN_K_FLOAT)
                v[i] = bits(e);
            else
                ((int64_t *)(void *)v)[i] = strtoll(e, NULL, 10);
        c->v = v;
    } else
        c->i = t->kind == RDN_K_BOOL ? !strcmp(s, "true") : strtoll(s, NULL, 10);
}

static void one(struct rdn_arena *a, const struct rdn_ir *ir, struct rdn_kernel_state *ks, const struct rdn_cell *params, char *line) {
    char *save, *name = strtok_r(line, " \n", &save);
    for (uint32_t c = 0; c < ir->ncalls; c++) {
        if (strcmp(ir->calls[c].name, name))
            continue;
        struct rdn_cell args[16], ret = { .cause = RDN_DEFINED };
        for (uint32_t i = 0; i < ir->calls[c].nparams; i++)
            arg(a, ir->calls[c].params[i].type, strtok_r(NULL, " \n", &save), &args[i]);
        bool in_time = rdn_kernel_run(ks, ir, c, args, params, 0, &ret);
        uint64_t b;
        memcpy(&b, &ret.f, sizeof b);
        if (!in_time || ret.cause)
            printf("!%u\n", in_time ? ret.cause : 99u);
        else
            printf("%016" PRIx64 "\n", b);
        return;
    }
    printf("no kernel %s\n", name);
}

int main(int argc, char **argv) {
    static char text[1 << 20], line[1 << 16];
    struct rdn_arena a;
    struct rdn_syms *syms;
    struct rdn_dsl_result res;
    struct rdn_kernel_state *ks;
    redan_error err = { 0 };
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    rdn_arena_init(&a, &rdn_libc_mem);
    if (!f || rdn_syms_open(&syms, &rdn_libc_mem, 1000))
        return 2;
    size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    struct rdn_dsl_options opt = { .file = argv[1] };
    if (rdn_dsl_compile(&a, syms, text, len, &opt, &res, &err) || !res.ir || rdn_ir_verify(res.ir, &err) || rdn_kernel_open(res.ir, &rdn_libc_mem, &ks))
        return fprintf(stderr, "%s: %s %s\n", argv[1], err.id, err.text), 2;
    struct rdn_cell *params = calloc(res.ir->nparams + 1, sizeof *params);
    for (uint32_t i = 0; params && i < res.ir->nparams; i++)
        params[i] = res.ir->params[i].val;
    while (params && fgets(line, sizeof line, stdin))
        one(&a, res.ir, ks, params, line);
    free(params);
    rdn_kernel_close(ks);
    rdn_syms_close(syms);
    rdn_arena_fini(&a);
    return 0;
}
