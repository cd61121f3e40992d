/* SPDX-License-Identifier: Apache-2.0
 * op_driver.c: applies operations to the operands on standard input and prints the results as bits, for test_op_model.py.
 *
 * line    OP TYPE SCALE LTYPE AUX C  {TYPE SCALE LTYPE VALUE}      answer: VALUE, or ! and the cause
 * VALUE   i64: decimal; f64: 16 hex digits; dec: decimal; str: x and hex bytes; vec, ivec: [a,b,...]; undefined: !cause
 * LTYPE   int float ... dec:S str:N enum:a:b arr:f:D arr:i:D:E zone names are in aux order on the first line */
#include "base/tz.h"
#include "ir/ir.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rdn_arena arena;
static struct rdn_syms *syms;

static const struct rdn_type *read_type(struct rdn_types *ts, char *s) {
    static const char *const simple[] = { "bool", "int", "float", "time", "dur", "date", "sym", "text" };
    static const enum rdn_kind kinds[] = { RDN_K_BOOL, RDN_K_INT, RDN_K_FLOAT, RDN_K_TIME, RDN_K_DUR, RDN_K_DATE, RDN_K_SYM, RDN_K_TEXT };
    for (unsigned i = 0; i < 8; i++)
        if (!strcmp(s, simple[i]))
            return rdn_type_simple(ts, kinds[i]);
    char *save, *kind = strtok_r(s, ":", &save), *part[64];
    unsigned n = 0;
    while ((part[n] = strtok_r(NULL, ":", &save)))
        part[n] = rdn_arena_strndup(&arena, part[n], strlen(part[n])), n++;
    if (!strcmp(kind, "dec"))
        return rdn_type_dec(ts, (unsigned)atoi(part[0]));
    if (!strcmp(kind, "str"))
        return rdn_type_str(ts, (unsigned)atoi(part[0]));
    if (!strcmp(kind, "enum"))
        return rdn_type_enum(ts, (const char *const *)part, n);
    return rdn_type_arr(ts, part[0][0] == 'f' ? RDN_K_FLOAT : RDN_K_INT, n - 1, (unsigned)atoi(part[1]), n == 3 ? (unsigned)atoi(part[2]) : 1);
}

static enum rdn_cell_type read_cell_type(const char *s) {
    static const char *const names[] = {
#define CELL(name, text, doc) text,
#include "ir/types.def"
#undef CELL
    };
    for (unsigned i = 0; i < RDN_TY_COUNT; i++)
        if (!strcmp(names[i], s))
            return (enum rdn_cell_type)i;
    abort();
}

static enum rdn_op read_op(const char *s) {
    for (unsigned i = 0; i < RDN_OP_COUNT; i++)
        if (!strcmp(rdn_op_text((enum rdn_op)i), s))
            return (enum rdn_op)i;
    fprintf(stderr, "no operation %s\n", s);
    abort();
}

static rdn_i128 read_i128(const char *s) {
    rdn_u128 v = 0;
    bool neg = *s == '-';
    for (s += neg; *s; s++)
        v = v * 10 + (rdn_u128)(*s - '0');
    return (rdn_i128)(neg ? -v : v);
}

static double read_bits(const char *s) {
    uint64_t b = strtoull(s, NULL, 16);
    double f;
    memcpy(&f, &b, sizeof f);
    return f;
}

static void read_text(const char *s, struct rdn_cell *c) {
    size_t n = strlen(s + 1) / 2;
    /* Exactly n bytes on the heap, so that ASan sees a read past the end. */
    char *p = rdn_arena_alloc(&arena, n);
    for (size_t i = 0; i < n; i++) {
        unsigned v;
        sscanf(s + 1 + 2 * i, "%2x", &v);
        p[i] = (char)v;
    }
    c->t.p = p;
    c->t.len = (uint32_t)n;
}

static void read_array(char *s, enum rdn_cell_type type, struct rdn_cell *c) {
    double *p = rdn_arena_alloc(&arena, sizeof *p * (strlen(s) + 1));
    char *save;
    unsigned n = 0;
    for (char *e = strtok_r(s, "[],", &save); e; e = strtok_r(NULL, "[],", &save), n++) {
        int64_t i = strtoll(e, NULL, 10);
        if (type == RDN_TY_VEC)
            p[n] = read_bits(e);
        else
            memcpy(&p[n], &i, sizeof i);
    }
    c->v = p;
}

static void read_value(char *s, enum rdn_cell_type type, struct rdn_cell *c) {
    if (*s == '!') {
        c->cause = (uint8_t)atoi(s + 1);
        c->span = 77;
        return;
    }
    switch (type) {
    case RDN_TY_B1: case RDN_TY_I64: c->i = strtoll(s, NULL, 10); break;
    case RDN_TY_F64: c->f = read_bits(s); break;
    case RDN_TY_D64: case RDN_TY_W128: c->d = read_i128(s); break;
    case RDN_TY_STR: read_text(s, c); break;
    case RDN_TY_VEC: case RDN_TY_IVEC: read_array(s, type, c); break;
    case RDN_TY_ROW: case RDN_TY_COUNT: abort();
    }
}

static void print_bits(double f) {
    uint64_t b;
    memcpy(&b, &f, sizeof b);
    if (f != f)
        printf("nan");
    else
        printf("%016" PRIx64, b);
}

static void print_value(enum rdn_cell_type type, const struct rdn_type *t, const struct rdn_cell *c) {
    char text[64];
    if (c->cause) {
        printf("!%d@%u\n", c->cause, c->span);
        return;
    }
    switch (type) {
    case RDN_TY_B1: case RDN_TY_I64: printf("%" PRId64, c->i); break;
    case RDN_TY_F64: print_bits(c->f); break;
    case RDN_TY_D64: case RDN_TY_W128: {
        rdn_u128 a = c->d < 0 ? -(rdn_u128)c->d : (rdn_u128)c->d;
        char *p = text + sizeof text;
        *--p = 0;
        do
            *--p = (char)('0' + (int)(a % 10));
        while (a /= 10);
        printf("%s%s", c->d < 0 ? "-" : "", p);
        break;
    }
    case RDN_TY_STR:
        putchar('x');
        for (uint32_t i = 0; i < c->t.len; i++)
            printf("%02x", (unsigned char)c->t.p[i]);
        break;
    case RDN_TY_VEC: case RDN_TY_IVEC:
        putchar('[');
        for (uint32_t i = 0; i < rdn_type_elems(t); i++) {
            if (i)
                putchar(',');
            if (type == RDN_TY_VEC)
                print_bits(c->v[i]);
            else
                printf("%" PRId64, c->w[i]);
        }
        putchar(']');
        break;
    case RDN_TY_ROW: case RDN_TY_COUNT: abort();
    }
    putchar('\n');
}

static void one(struct rdn_ir *ir, char *line) {
    enum { MAX = 64 };
    char *save, *tok[6], *s;
    rdn_id ids[MAX];
    struct rdn_cell cells[MAX], ret;
    const struct rdn_cell *ptrs[MAX];
    uint32_t n = 0;
    for (unsigned i = 0; i < 6; i++)
        tok[i] = strtok_r(i ? NULL : line, " \n", &save);
    enum rdn_op op = read_op(tok[0]);
    enum rdn_cell_type type = read_cell_type(tok[1]);
    const struct rdn_type *ltype = read_type(ir->types, tok[3]);
    unsigned scale = (unsigned)atoi(tok[2]), aux = (unsigned)strtoul(tok[4], NULL, 10), c = (unsigned)atoi(tok[5]);
    memset(cells, 0, sizeof cells);
    memset(&ret, 0, sizeof ret);
    while ((s = strtok_r(NULL, " \n", &save))) {
        enum rdn_cell_type at = read_cell_type(s);
        unsigned as = (unsigned)atoi(strtok_r(NULL, " \n", &save));
        const struct rdn_type *al = read_type(ir->types, strtok_r(NULL, " \n", &save));
        read_value(strtok_r(NULL, " \n", &save), at, &cells[n]);
        ids[n] = rdn_ir_node(ir, RDN_OP_CONST, at, as, al, 0, 0, 0, 0, 0, 0);
        ptrs[n] = &cells[n];
        n++;
    }
    rdn_id id = rdn_op_arity(op) == RDN_NARY ? rdn_ir_node_n(ir, op, type, scale, ltype, ids, n, c, aux, 5, 0)
              : rdn_ir_node(ir, op, type, scale, ltype, n > 0 ? ids[0] : 0, n > 1 ? ids[1] : 0, n > 2 ? ids[2] : c, aux, 5, 0);
    static char room[1 << 18] __attribute__((aligned(16)));
    struct rdn_scratch sc = { room, sizeof room, 0 };
    rdn_op_apply(ir, id, ptrs, n, &sc, &ret);
    print_value(type, ltype, &ret);
}

int main(void) {
    static char line[1 << 20];
    jmp_buf oom;
    rdn_arena_init(&arena, &rdn_libc_mem);
    arena.oom = &oom;
    if (setjmp(oom) || rdn_syms_open(&syms, &rdn_libc_mem, 1000))
        return 2;
    struct rdn_ir *ir = rdn_ir_new(&arena, syms);
    const char *names[] = { "ACME", "XYZ", "\xc3\xa9t\xc3\xa9", "" };
    for (unsigned i = 0; i < 4; i++) {
        uint32_t id;
        rdn_sym_intern(syms, names[i], strlen(names[i]), &id);
    }
    if (!fgets(line, sizeof line, stdin))
        return 2;
    ir->zones = rdn_new_n(&arena, const struct rdn_tz *, 64);
    char *save;
    for (char *z = strtok_r(line, " \n", &save); z; z = strtok_r(NULL, " \n", &save))
        if (!(ir->zones[ir->nzones++] = rdn_tz_find(z, strlen(z))))
            return fprintf(stderr, "no zone %s\n", z), 2;
    while (fgets(line, sizeof line, stdin))
        one(ir, line);
    rdn_syms_close(syms);
    rdn_arena_fini(&arena);
    return 0;
}
