/* SPDX-License-Identifier: Apache-2.0
 * expr_driver.c: values of constant expressions over bindings, for test_expr.py.
 *
 * Standard input, a line an expression: HEX{TAB NAME TAB TYPE TAB VALUE}, HEX the text in hexadecimal, VALUE a decimal integer
 * (bool, int, time, dur, date, mantissa of a dec), 16 hexadecimal digits (float), or hexadecimal bytes (text, str; sym: interned).
 * Standard output, a line each: "= TYPE JSON", "undefined CAUSE A B" (byte span) or "reject CODE". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dsl/dsl.h"

static size_t unhex(const char *s, char *out) {
    size_t n = 0;
    for (; s[0] && s[1]; s += 2)
        out[n++] = (char)strtol((char[]){ s[0], s[1], 0 }, NULL, 16);
    return n;
}

static rdn_i128 integer(const char *s) {
    rdn_i128 v = 0;
    bool neg = *s == '-';
    for (s += neg; *s; s++)
        v = v * 10 + (neg ? -(*s - '0') : *s - '0');
    return v;
}

static void value(struct rdn_arena *a, struct rdn_syms *syms, const struct rdn_type *t, const char *s, struct rdn_cell *ret) {
    char *text = rdn_arena_alloc(a, strlen(s) + 1);
    uint64_t bits = strtoull(s, NULL, 16);
    uint32_t id;
    switch (rdn_cell_of(t)) {
    case RDN_TY_F64: memcpy(&ret->f, &bits, 8); break;
    case RDN_TY_D64: ret->d = integer(s); break;
    case RDN_TY_STR: ret->t.len = (uint32_t)unhex(s, text), ret->t.p = text; break;
    default:
        if (t->kind == RDN_K_SYM && rdn_sym_intern(syms, text, unhex(s, text), &id) >= 0)
            ret->i = id;
        else
            ret->i = (int64_t)integer(s);
    }
}

static void answer(const struct rdn_dsl_result *r, rdn_id root) {
    size_t size = (size_t)64 << 20;
    struct rdn_scratch scratch = { malloc(size), size, 0 };
    struct rdn_cell v = { .cause = 0 };
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_fold(r->ir, root, &scratch, &v);
    const struct rdn_type *t = rdn_ir_ltype(r->ir, root);
    if (v.cause) {
        const struct rdn_span *s = &r->ir->spans.v[v.span];
        printf("undefined %s %u %u\n", rdn_cause_text(v.cause), s->a, s->b);
    } else {
        rdn_type_print(&b, t);
        rdn_buf_putc(&b, ' ');
        rdn_value_json(&b, r->ir->syms, t, &v);
        printf("= %s\n", rdn_buf_str(&b));
    }
    rdn_buf_fini(&b);
    free(scratch.base);
}

static int one(char *line) {
    struct rdn_arena arena;
    struct rdn_syms *syms;
    struct rdn_dsl_binding b[16];
    struct rdn_dsl_result r;
    redan_error err = { 0 };
    uint32_t n = 0;
    rdn_id root;
    rdn_arena_init(&arena, &rdn_libc_mem);
    if (rdn_syms_open(&syms, &rdn_libc_mem, 1000) < 0)
        return 2;
    struct rdn_types *types = rdn_types_new(&arena);
    line[strcspn(line, "\n")] = 0;
    char *rest = line, *hex = strsep(&rest, "\t"), *text = malloc(strlen(hex) + 1), *name;
    while (n < 16 && (name = strsep(&rest, "\t"))) {
        const char *type = strsep(&rest, "\t"), *val = strsep(&rest, "\t");
        b[n] = (struct rdn_dsl_binding){ .name = name, .type = rdn_dsl_type(&arena, types, type, strlen(type)) };
        value(&arena, syms, b[n].type, val ? val : "", &b[n].val);
        n++;
    }
    int rc = rdn_dsl_expr(&arena, syms, types, text, unhex(hex, text), b, n, &r, &root, &err);
    if (rc < 0)
        printf("failed %s\n", err.text);
    else if (!r.ir)
        printf("reject %s\n", r.diags[0].code);
    else
        answer(&r, root);
    free(text);
    rdn_syms_close(syms);
    rdn_arena_fini(&arena);
    return 0;
}

int main(void) {
    char *line = NULL;
    size_t cap = 0;
    int rc = 0;
    while (!rc && getline(&line, &cap, stdin) > 0)
        rc = one(line);
    free(line);
    return rc;
}
