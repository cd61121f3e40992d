/* SPDX-License-Identifier: Apache-2.0
 * test_range.c: what range.c promises holds. Operands are parameters with random ranges; the operation is applied to random
 * values within them, ends included, and the result must be where range.c says. */
#include "tests/unit/rows.h"
#include <math.h>
#include "ir/range.h"

static struct rdn_arena arena;
static struct rdn_syms *syms;
static jmp_buf oom;
static uint64_t seed = 12345;

static uint64_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static int64_t some_int(void) {
    static const int64_t edges[] = { 0, 1, -1, 2, -2, 10, 63, 64, INT64_MAX, INT64_MIN, INT64_MAX - 1, 1000000000, -1000000000 };
    unsigned k = rnd() % 3;
    return k == 0 ? edges[rnd() % (sizeof edges / sizeof *edges)] : k == 1 ? (int64_t)(rnd() % 2001) - 1000 : (int64_t)rnd() >> rnd() % 60;
}

static double some_float(void) {
    static const double edges[] = { 0.0, -0.0, 1, -1, 0.5, 1e308, -1e308, INFINITY, -INFINITY, 5e-324, 1e19, -9223372036854775808.0, 0.999999 };
    return rnd() % 2 ? edges[rnd() % (sizeof edges / sizeof *edges)] : ((double)(int64_t)rnd()) / (double)(1 << rnd() % 30);
}

/* Letters: i int, t time, d dec of a random scale, f float, b bool. */
static const struct { enum rdn_op op; const char *sig; } ops[] = {
    { RDN_OP_ADD, "ii i" }, { RDN_OP_SUB, "ii i" }, { RDN_OP_MUL, "ii i" }, { RDN_OP_DIV, "ii i" }, { RDN_OP_MOD, "ii i" },
    { RDN_OP_ADD, "ff f" }, { RDN_OP_SUB, "ff f" }, { RDN_OP_MUL, "ff f" }, { RDN_OP_DIV, "ff f" },
    { RDN_OP_ADD, "dd d" }, { RDN_OP_SUB, "dd d" }, { RDN_OP_MUL, "dd d" }, { RDN_OP_MUL, "id d" }, { RDN_OP_ADD, "id d" }, { RDN_OP_SUB, "di d" },
    { RDN_OP_MOD, "ss s" },                              /* s: dec of scale 4 */
    { RDN_OP_NEG, "i i" }, { RDN_OP_NEG, "s s" }, { RDN_OP_NEG, "f f" }, { RDN_OP_ABS, "i i" }, { RDN_OP_ABS, "s s" }, { RDN_OP_ABS, "f f" },
    { RDN_OP_SIGN, "i i" }, { RDN_OP_SIGN, "s i" }, { RDN_OP_SIGN, "f f" },
    { RDN_OP_MIN, "iii i" }, { RDN_OP_MAX, "iii i" }, { RDN_OP_MIN, "ff f" }, { RDN_OP_MAX, "sss s" },
    { RDN_OP_CLAMP, "iii i" }, { RDN_OP_CLAMP, "fff f" }, { RDN_OP_CLAMP, "sss s" },
    { RDN_OP_EQ, "ii b" }, { RDN_OP_LT, "ff b" }, { RDN_OP_GE, "sd b" }, { RDN_OP_NE, "bb b" }, { RDN_OP_NOT, "b b" },
    { RDN_OP_AND, "bb b" }, { RDN_OP_OR, "bb b" }, { RDN_OP_SEL, "bii i" }, { RDN_OP_SEL, "bff f" }, { RDN_OP_COALESCE, "ff f" },
    { RDN_OP_DEFINED, "f b" }, { RDN_OP_INSET, "iii b" }, { RDN_OP_INSET, "ff b" },
    { RDN_OP_RATIO, "dd f" }, { RDN_OP_IRATIO, "ii f" }, { RDN_OP_RDIV, "dd s" }, { RDN_OP_RESCALE, "d s" }, { RDN_OP_RESCALE, "i s" },
    { RDN_OP_NARROW, "s s" }, { RDN_OP_I2F, "i f" }, { RDN_OP_D2F, "d f" }, { RDN_OP_F2I, "f i" }, { RDN_OP_D2I, "d i" }, { RDN_OP_F2D, "f s" },
    { RDN_OP_B2I, "b i" }, { RDN_OP_T2S, "t i" }, { RDN_OP_MILLI, "t i" },
    { RDN_OP_FLOOR, "f f" }, { RDN_OP_SQRT, "f f" }, { RDN_OP_EXP, "f f" }, { RDN_OP_LOG, "f f" }, { RDN_OP_NORMCDF, "f f" }, { RDN_OP_INVNORM, "f f" },
    { RDN_OP_SIN, "f f" }, { RDN_OP_TAN, "f f" }, { RDN_OP_ASIN, "f f" }, { RDN_OP_ATAN, "f f" }, { RDN_OP_SINH, "f f" }, { RDN_OP_TANH, "f f" },
    { RDN_OP_POW, "ff f" }, { RDN_OP_HYPOT, "ff f" }, { RDN_OP_DISTKM, "ffff f" }, { RDN_OP_ISNAN, "f b" }, { RDN_OP_ISINF, "f b" },
    { RDN_OP_BAND, "ii i" }, { RDN_OP_BNOT, "i i" }, { RDN_OP_SHL, "ii i" }, { RDN_OP_SHR, "ii i" }, { RDN_OP_BUCKET, "i i" },
};

static const struct rdn_type *type_of(struct rdn_ir *ir, char c) {
    switch (c) {
    case 'i': return rdn_type_simple(ir->types, RDN_K_INT);
    case 't': return rdn_type_simple(ir->types, RDN_K_TIME);
    case 'f': return rdn_type_simple(ir->types, RDN_K_FLOAT);
    case 'b': return rdn_type_simple(ir->types, RDN_K_BOOL);
    case 'd': return rdn_type_dec(ir->types, rnd() % 10);
    }
    return rdn_type_dec(ir->types, 4);
}

static struct rdn_cell some(const struct rdn_type *t) {
    struct rdn_cell c = { .cause = RDN_DEFINED };
    if (t->kind == RDN_K_FLOAT)
        c.f = some_float();
    else if (t->kind == RDN_K_DEC)
        c.d = some_int();
    else
        c.i = t->kind == RDN_K_BOOL ? (int64_t)(rnd() & 1) : some_int();
    return c;
}

static bool less(const struct rdn_type *t, const struct rdn_cell *a, const struct rdn_cell *b) {
    return t->kind == RDN_K_FLOAT ? a->f < b->f : t->kind == RDN_K_DEC ? a->d < b->d : a->i < b->i;
}

/* A value between the two ends. */
static struct rdn_cell within(const struct rdn_param *p) {
    for (unsigned tries = 0; tries < 8; tries++) {
        struct rdn_cell c = some(p->type);
        if (!less(p->type, &c, &p->lo) && !less(p->type, &p->hi, &c))
            return c;
    }
    return rnd() & 1 ? p->lo : p->hi;
}

static void one_case(size_t row) {
    struct rdn_ir *ir = rdn_ir_new(&arena, syms);
    const char *sig = ops[row].sig;
    uint32_t n = (uint32_t)(strchr(sig, ' ') - sig), sum = 0, top = 0;
    rdn_id ids[4] = { 0 };
    ir->params = rdn_new_n(&arena, struct rdn_param, 4);
    ir->nparams = n;
    ir->zones = rdn_new_n(&arena, const struct rdn_tz *, 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct rdn_type *t = type_of(ir, sig[i]);
        struct rdn_cell a = some(t), b = some(t);
        bool swap = less(t, &b, &a);
        ir->params[i] = (struct rdn_param){ "p", t, a, swap ? b : a, swap ? a : b, true };
        ids[i] = rdn_ir_node(ir, RDN_OP_PARAM, rdn_cell_of(t), t->scale, t, 0, 0, 0, i, 0, 0);
        sum += t->scale;
        top = t->scale > top ? t->scale : top;
    }
    const struct rdn_type *r = type_of(ir, sig[n + 1]);
    if (sig[n + 1] == 'd')
        r = rdn_type_dec(ir->types, ops[row].op == RDN_OP_MUL ? sum : top);
    enum rdn_cell_type cell = r->kind == RDN_K_DEC && ops[row].op != RDN_OP_NARROW ? RDN_TY_W128 : rdn_cell_of(r);
    uint32_t aux = ops[row].op == RDN_OP_BUCKET ? 100 : 0;
    rdn_id id = rdn_op_arity(ops[row].op) == RDN_NARY ? rdn_ir_node_n(ir, ops[row].op, cell, r->scale, r, ids, n, 0, aux, 0, 0)
                                                      : rdn_ir_node(ir, ops[row].op, cell, r->scale, r, ids[0], ids[1], ids[2], aux, 0, 0);
    struct rdn_range *all = rdn_new_n(&arena, struct rdn_range, ir->nodes.n), *g = &all[id];
    rdn_range_of(ir, RDN_RANGE_ANY, all);
    check(g->lo <= g->hi, "%s %s", rdn_op_text(ops[row].op), sig);
    for (unsigned k = 0; k < 12; k++) {
        struct rdn_cell v[4], ret = { .cause = RDN_DEFINED };
        const struct rdn_cell *ptr[4];
        char room[256] __attribute__((aligned(16)));
        struct rdn_scratch sc = { room, sizeof room, 0 };
        for (uint32_t i = 0; i < n; i++)
            ptr[i] = &v[i], v[i] = within(&ir->params[i]);
        rdn_op_apply(ir, id, ptr, n, &sc, &ret);
        check(!ret.cause || (g->undef && g->fails), "%s %s: undefined(%u)", rdn_op_text(ops[row].op), sig, ret.cause);
        if (ret.cause)
            continue;
        if (cell == RDN_TY_F64)
            check((!isnan(ret.f) || g->nan) && (!isinf(ret.f) || g->inf), "%s %s: %g of %g %g", rdn_op_text(ops[row].op), sig, ret.f, v[0].f, v[1].f);
        else {
            rdn_i128 got = r->kind == RDN_K_DEC ? ret.d : (rdn_i128)ret.i;
            check(got >= g->lo && got <= g->hi, "%s %s: %lld", rdn_op_text(ops[row].op), sig, (long long)got);
        }
    }
}

static void results_are_in_their_range(void **state) {
    (void)state;
    for each(row, ops)
        for (unsigned k = 0; k < 200; k++) {
            rdn_arena_init(&arena, &rdn_libc_mem);
            arena.oom = &oom;
            one_case(row);
            rdn_arena_fini(&arena);
        }
}

/* It must also say something: these would pass if every answer were "anything". */
static void ranges_are_useful(void **state) {
    (void)state;
    rdn_arena_init(&arena, &rdn_libc_mem);
    arena.oom = &oom;
    struct rdn_ir *ir = rdn_ir_new(&arena, syms);
    const struct rdn_type *ti = rdn_type_simple(ir->types, RDN_K_INT), *td = rdn_type_dec(ir->types, 4), *tf = rdn_type_simple(ir->types, RDN_K_FLOAT);
    struct rdn_field fields[] = { { "qty", ti, 8, 8, false, 0 }, { "px", td, 16, 8, false, 0 }, { "opt", tf, 24, 8, true, 0 } };
    struct rdn_event ev = { .name = "E", .fields = fields, .nfields = 3, .size = 32 };
    struct rdn_param small = { "small", ti, { .i = 5 }, { .i = 0 }, { .i = 1000 }, true };
    ir->events = &ev;
    ir->nevents = 1;
    ir->params = &small;
    ir->nparams = 1;
    rdn_id qty = rdn_ir_node(ir, RDN_OP_FIELD, RDN_TY_I64, 0, ti, 0, 0, 0, 0, 0, 0), px = rdn_ir_node(ir, RDN_OP_FIELD, RDN_TY_D64, 4, td, 0, 0, 0, 1, 0, 0);
    rdn_id p = rdn_ir_node(ir, RDN_OP_PARAM, RDN_TY_I64, 0, ti, 0, 0, 0, 0, 0, 0), opt = rdn_ir_node(ir, RDN_OP_FIELD, RDN_TY_F64, 0, tf, 0, 0, 0, 2, 0, 0);
    rdn_id wide = rdn_ir_node(ir, RDN_OP_MUL, RDN_TY_W128, 4, td, qty, px, 0, 0, 0, 0), pp = rdn_ir_node(ir, RDN_OP_MUL, RDN_TY_I64, 0, ti, p, p, 0, 0, 0, 0);
    rdn_id qp = rdn_ir_node(ir, RDN_OP_ADD, RDN_TY_I64, 0, ti, qty, p, 0, 0, 0, 0), o2 = rdn_ir_node(ir, RDN_OP_COALESCE, RDN_TY_F64, 0, tf, opt, rdn_ir_node(ir, RDN_OP_I2F, RDN_TY_F64, 0, tf, p, 0, 0, 0, 0, 0), 0, 0, 0, 0);
    struct rdn_range g[16];
    rdn_range_of(ir, 0, g);
    assert_true(!g[qty].undef && !g[px].undef && g[opt].undef && g[opt].nan);
    assert_true(!g[wide].undef && !rdn_range_fits_i64(&g[wide]));    /* int64 times int64 fits 128 bits */
    assert_true(!g[pp].undef && g[pp].lo == 0 && g[pp].hi == 1000000);
    assert_true(g[qp].undef && g[qp].fails);
    assert_true(!g[o2].undef && !g[o2].nan && g[o2].inf);
    rdn_arena_fini(&arena);
}

int main(void) {
    if (setjmp(oom) || rdn_syms_open(&syms, &rdn_libc_mem, 10))
        return 2;
    const struct CMUnitTest tests[] = { cmocka_unit_test(results_are_in_their_range), cmocka_unit_test(ranges_are_useful) };
    int rc = cmocka_run_group_tests_name("range", tests, NULL, NULL);
    rdn_syms_close(syms);
    return rc;
}
