/* SPDX-License-Identifier: Apache-2.0
 * test_prelude.c: the check values of LANGUAGE.md appendix A that need no rule: own functions, Philox, random numbers, sums,
 * quantiles, hashes, E; and that the two builds of own_math.c give the same bits. */
#include "tests/unit/rows.h"
#include <math.h>
#include "base/cpu.h"
#include "base/hash.h"
#include "ir/kernel.h"
#include "ir/own.h"
#include "ir/prelude/rdn_math.h"

typedef double fn(double);
static const struct { const char *name; fn *f; double x; uint64_t bits; } values[] = {
    { "exp", rdn_exp, 1.0, 0x4005bf0a8b14576a },         { "exp", rdn_exp, -0.5, 0x3fe368b2fc6f960a },
    { "exp", rdn_exp, 709.5, 0x7fe81e9b4b52d0c9 },       { "exp", rdn_exp, -740.25, 0x42 },
    { "exp", rdn_exp, INFINITY, 0x7ff0000000000000 },    { "exp", rdn_exp, -INFINITY, 0 },
    { "exp", rdn_exp, -0.0, 0x3ff0000000000000 },        { "log", rdn_log, 10.0, 0x40026bb1bbb55516 },
    { "log", rdn_log, 0.7, 0xbfd6d3c324e13f50 },         { "log", rdn_log, 5e-324, 0xc0874385446d71c3 },
    { "log", rdn_log, 0.0, 0xfff0000000000000 },         { "log", rdn_log, -0.0, 0xfff0000000000000 },
    { "log", rdn_log, 1.0, 0 },                          { "log", rdn_log, INFINITY, 0x7ff0000000000000 },
    { "normcdf", rdn_normcdf, 1.0, 0x3feaec4bd120d37d }, { "normcdf", rdn_normcdf, -3.0, 0x3f561de1f985b5d8 },
    { "normcdf", rdn_normcdf, -38.0, 0x037b23b8 },       { "normcdf", rdn_normcdf, INFINITY, 0x3ff0000000000000 },
    { "normcdf", rdn_normcdf, -INFINITY, 0 },            { "invnorm", rdn_invnorm, 0.975, 0x3fff5c0331eeff82 },
    { "invnorm", rdn_invnorm, 0.001, 0xc008b8cbb7204471 }, { "invnorm", rdn_invnorm, 1e-300, 0xc04286074064c26d },
    { "invnorm", rdn_invnorm, 0.0, 0xfff0000000000000 }, { "invnorm", rdn_invnorm, 1.0, 0x7ff0000000000000 },
    { "invnorm", rdn_invnorm, 0.5, 0 },                  { "E", rdn_exp2m, 0.0, 0x3ff0000000000000 },
    { "E", rdn_exp2m, 0.5, 0x3fe6a09e667f3bcc },         { "E", rdn_exp2m, 1.0, 0x3fe0000000000000 },
    { "E", rdn_exp2m, 0.3333333333333333, 0x3fe965fea53d6e3d }, { "E", rdn_exp2m, 10.75, 0x3f4306fe0a31b715 },
    { "E", rdn_exp2m, 1074.0, 1 },                       { "E", rdn_exp2m, 1100.0, 0 },
};
static const struct { const char *name; fn *f; double x; } nans[] = {
    { "exp", rdn_exp, NAN }, { "log", rdn_log, NAN }, { "log", rdn_log, -1.0 }, { "log", rdn_log, -INFINITY }, { "normcdf", rdn_normcdf, NAN },
    { "invnorm", rdn_invnorm, NAN }, { "invnorm", rdn_invnorm, -5e-324 }, { "invnorm", rdn_invnorm, 1.0000000000000002 },
};

static void own_functions(void **state) {
    (void)state;
    for each(i, values)
        check(rdn_bits(values[i].f(values[i].x)) == values[i].bits, "%s(%g) is %016llx", values[i].name, values[i].x,
              (unsigned long long)rdn_bits(values[i].f(values[i].x)));
    for each(i, nans)
        check(isnan(nans[i].f(nans[i].x)), "%s(%g)", nans[i].name, nans[i].x);
    assert_true(rdn_bits(RDN_FMA(0.1, 10.0, -1.0)) == 0x3c90000000000000u);
    assert_true(rdn_bits(rdn_e2[1]) == 0xbfe62e42fefa39efu && rdn_bits(rdn_e2[2]) == 0x3fcebfbdff82c58fu && rdn_bits(rdn_e2[17]) == 0xbc598444b41c25a8u);
}

static void philox(void **state) {
    (void)state;
    rdn_u32 zero[4] = { 0 }, ones[4] = { ~0u, ~0u, ~0u, ~0u };
    const rdn_u32 want0[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }, want1[4] = { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd };
    rdn_philox(0, 0, zero);
    rdn_philox(~0u, ~0u, ones);
    assert_memory_equal(zero, want0, sizeof zero);
    assert_memory_equal(ones, want1, sizeof ones);
    /* U of m = 0, 2^52 + 1, 2^53 - 1 */
    assert_true(rdn_bits(rdn_unit(0, 0)) == 0x3c90000000000000u);
    assert_true(rdn_bits(rdn_unit(0x80000000u, 1u << 11)) == 0x3fe0000000000002u);
    assert_true(rdn_bits(rdn_unit(~0u, ~0u)) == 0x3fefffffffffffffu);
}

static const struct { bool normal; int64_t seed, i; uint32_t k, stream; double v[4]; } draws[] = {
    { false, 42, 7, 4, 0, { 0.35836051064731683, 0.09033821015183979, 0.022253272722070283, 0.5576049502595914 } },
    { false, -1, 8589934597, 2, 1, { 0.8651522721150926, 0.9236281119966625 } },
    { true, 42, 7, 3, 0, { -0x1.738d8494c61d3p-2, -0x1.56b36ba61942cp+0, -0x1.01305db10d22bp+1 } },
    { true, 42, 7, 2, 1, { -0x1.0e62116112c78p-1, -0x1.445efc7618fc3p+0 } },
    { true, -1, 0, 2, 0, { -0x1.0ca0b4b5e6a0ap-3, 0x1.3e74498be72abp-2 } },
};

static void random_numbers(void **state) {
    (void)state;
    for each(i, draws) {
        double v[4];
        const struct rdn_own *own = rdn_own();
        (draws[i].normal ? own->normal : own->uniform)(draws[i].seed, draws[i].i, draws[i].k, draws[i].stream, v);
        for (uint32_t k = 0; k < draws[i].k; k++)
            check(rdn_bits(v[k]) == rdn_bits(draws[i].v[k]), "row %zu element %u: %a", i, k, v[k]);
    }
}

static void order_of_doubles(void **state) {
    (void)state;
    static const double rising[] = { -INFINITY, -1e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1e308, INFINITY };
    for (size_t i = 0; i < 10; i++) {
        check(rdn_bits(rdn_from_order(rdn_order(rising[i]))) == rdn_bits(rising[i]), "%a", rising[i]);
        check(i == 0 || rdn_order(rising[i - 1]) < rdn_order(rising[i]), "%a", rising[i]);
    }
}

/* ---- kernels by hand ---- */

static struct rdn_arena arena;
static struct rdn_syms *syms;
static jmp_buf oom;

enum body { TENTH, TENTH_I, HARMONIC, NORMAL };

static rdn_id put(struct rdn_ir *ir, enum rdn_op op, const struct rdn_type *t, rdn_id a, rdn_id b, rdn_id c, uint32_t aux) {
    return rdn_ir_node(ir, op, rdn_cell_of(t), 0, t, a, b, c, aux, 0, 0);
}

static rdn_id number(struct rdn_ir *ir, bool f, double v) {
    const struct rdn_type *t = rdn_type_simple(ir->types, f ? RDN_K_FLOAT : RDN_K_INT);
    struct rdn_cell c = { .cause = RDN_DEFINED };
    if (f)
        c.f = v;
    else
        c.i = (int64_t)v;
    return put(ir, RDN_OP_CONST, t, 0, 0, 0, rdn_ir_const(ir, rdn_cell_of(t), 0, t, &c));
}

static struct rdn_cell run(enum body body, uint32_t n, enum rdn_reduce how, uint32_t rank) {
    struct rdn_ir *ir = rdn_ir_new(&arena, syms);
    const struct rdn_type *ti = rdn_type_simple(ir->types, RDN_K_INT), *tf = rdn_type_simple(ir->types, RDN_K_FLOAT);
    const struct rdn_type *tb = rdn_type_simple(ir->types, RDN_K_BOOL), *tv = rdn_type_arr(ir->types, RDN_K_FLOAT, 1, 1, 1);
    rdn_id i = put(ir, RDN_OP_EACH, ti, 0, 0, 0, 0), x = put(ir, RDN_OP_I2F, tf, i, 0, 0, 0), one = number(ir, true, 1.0), zero = number(ir, false, 0), v;
    if (body == TENTH)
        v = number(ir, true, 0.1);
    else if (body == TENTH_I)
        v = put(ir, RDN_OP_MUL, tf, number(ir, true, 0.1), x, 0, 0);
    else if (body == NORMAL)
        v = put(ir, RDN_OP_ELEM, tf, put(ir, RDN_OP_NORMAL, tv, number(ir, false, 1), i, 1, 0), zero, 0, 0);
    else {
        rdn_id q = put(ir, RDN_OP_DIV, tf, one, put(ir, RDN_OP_ADD, tf, x, one, 0, 0), 0, 0), two = number(ir, false, 2);
        rdn_id even = put(ir, RDN_OP_EQ, tb, put(ir, RDN_OP_MOD, ti, i, two, 0, 0), zero, 0, 0);
        v = put(ir, RDN_OP_SEL, tf, even, q, put(ir, RDN_OP_NEG, tf, q, 0, 0, 0), 0);
    }
    struct rdn_call call = { .name = "k", .kernel = true, .rtype = tf, .paths = n, .reduce = (uint8_t)how, .rank = rank, .first = 1, .last = ir->nodes.n - 1, .value = v };
    ir->calls = &call;
    ir->ncalls = 1;
    redan_error err = { 0 };
    check(rdn_ir_verify(ir, &err) == 0, "%s", err.text);
    rdn_ir_seal(ir);
    struct rdn_kernel_state *ks;
    struct rdn_cell ret = { .cause = RDN_DEFINED };
    assert_int_equal(rdn_kernel_open(ir, &rdn_libc_mem, &ks), 0);
    assert_true(rdn_kernel_run(ks, ir, 0, NULL, NULL, 0, &ret));
    check(!rdn_kernel_run(ks, ir, 0, NULL, NULL, 1, &ret), "a deadline long past");
    rdn_kernel_close(ks);
    return ret;
}

static const struct { enum body body; uint32_t n; enum rdn_reduce how; uint32_t rank; uint64_t bits; } kernels[] = {
    { TENTH, 1000, RDN_RED_SUM, 0, 0x4059000000000002 },        /* 0.1 over 1,000 paths */
    { TENTH_I, 1000, RDN_RED_SUM, 0, 0x40e863c000000001 },
    { HARMONIC, 1000, RDN_RED_SUM, 0, 0x3fe62a2af1bd362a },
    { NORMAL, 1000, RDN_RED_MEAN, 0, 0x3f9967d99bf99591 },
    { NORMAL, 1000, RDN_RED_QUANTILE, 990, 0x400333de2c4705a1 },
    { TENTH_I, 1000, RDN_RED_MIN, 0, 0 },
    { TENTH_I, 1000, RDN_RED_MAX, 0, 0x4058f9999999999a },
    { TENTH_I, 1000, RDN_RED_QUANTILE, 1, 0 },
    { TENTH_I, 1000, RDN_RED_QUANTILE, 1000, 0x4058f9999999999a },
    { TENTH, 1, RDN_RED_SUM, 0, 0x3fb999999999999a },
    { TENTH, 257, RDN_RED_MEAN, 0, 0x3fb999999999999b },
};

static void kernels_of_appendix_a(void **state) {
    (void)state;
    for each(i, kernels) {
        struct rdn_cell r = run(kernels[i].body, kernels[i].n, kernels[i].how, kernels[i].rank);
        check(!r.cause && rdn_bits(r.f) == kernels[i].bits, "row %zu: cause %u, %a = %016llx", i, r.cause, r.f, (unsigned long long)rdn_bits(r.f));
    }
}

/* ---- hashes of values ---- */

static void hashes(void **state) {
    (void)state;
    struct rdn_ir *ir = rdn_ir_new(&arena, syms);
    uint32_t acme;
    assert_int_equal(rdn_sym_intern(syms, "ACME", 4, &acme), 0);
    const struct { enum rdn_kind kind; struct rdn_cell c; uint64_t h; } rows[] = {
        { RDN_K_INT, { .i = 0 }, 0xe220a8397b1dcdaf },   { RDN_K_INT, { .i = 1 }, 0x910a2dec89025cc1 },
        { RDN_K_INT, { .i = -1 }, 0xe4d971771b652c20 },  { RDN_K_BOOL, { .i = 1 }, 0x910a2dec89025cc1 },
        { RDN_K_SYM, { .i = acme }, 0x1d033747d63b7288 }, { RDN_K_TEXT, { .t = { "ACME", 4 } }, 0x1d033747d63b7288 },
        { RDN_K_FLOAT, { .f = 0.0 }, 0xe220a8397b1dcdaf }, { RDN_K_FLOAT, { .f = -0.0 }, 0xe220a8397b1dcdaf },
        { RDN_K_FLOAT, { .f = 1.5 }, 0xd6dab18e1392608a }, { RDN_K_DEC, { .d = 150 }, 0xf8c632ff416764a8 },
    };
    for each(i, rows) {
        const struct rdn_type *t = rows[i].kind == RDN_K_DEC ? rdn_type_dec(ir->types, 2) : rdn_type_simple(ir->types, rows[i].kind);
        check(rdn_value_hash(ir, t, &rows[i].c) == rows[i].h, "row %zu", i);
    }
    assert_true(rdn_fnv64("", 0) == 0xcbf29ce484222325u && rdn_fnv64("a", 1) == 0xaf63dc4c8601ec8cu && rdn_fnv64("foobar", 6) == 0x85944171f73967e8u);
}

static void both_builds_agree(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (rdn_cpu_lacks(RDN_CPU_AVX2))
        skip();
    const struct rdn_own *p = &rdn_own_plain, *q = &rdn_own_fma;
    double a[512], b[512], x[512], y[512];
    p->uniform(7, 1, 512, 0, a);
    q->uniform(7, 1, 512, 0, b);
    assert_memory_equal(a, b, sizeof a);
    for (unsigned i = 0; i < 512; i++)
        x[i] = (a[i] - 0.5) * pow(10, i % 40 - 20), y[i] = fabs(x[i]);
    double (*const f[4])(double) = { p->exp, p->log, p->invnorm, p->normcdf }, (*const g[4])(double) = { q->exp, q->log, q->invnorm, q->normcdf };
    void (*const c[4])(double *, const double *, uint32_t) = { q->exp_n, q->log_n, q->invnorm_n, q->normcdf_n };
    for (unsigned k = 0; k < 4; k++) {
        const double *in = k == 1 ? y : k == 2 ? a : x;
        c[k](b, in, 512);
        for (unsigned i = 0; i < 512; i++)
            check(rdn_bits(f[k](in[i])) == rdn_bits(g[k](in[i])) && rdn_bits(b[i]) == rdn_bits(f[k](in[i])), "function %u of %a", k, in[i]);
    }
    assert_true(rdn_bits(p->dot(x, a, 512)) == rdn_bits(q->dot(x, a, 512)));
    p->normal(-3, 9, 511, 2, a);
    q->normal(-3, 9, 511, 2, b);
    assert_memory_equal(a, b, 511 * sizeof *a);
#endif
}

int main(void) {
    rdn_arena_init(&arena, &rdn_libc_mem);
    arena.oom = &oom;
    if (setjmp(oom) || rdn_syms_open(&syms, &rdn_libc_mem, 10))
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_functions), cmocka_unit_test(philox), cmocka_unit_test(random_numbers), cmocka_unit_test(order_of_doubles),
        cmocka_unit_test(kernels_of_appendix_a), cmocka_unit_test(hashes), cmocka_unit_test(both_builds_agree),
    };
    int rc = cmocka_run_group_tests_name("prelude", tests, NULL, NULL);
    rdn_syms_close(syms);
    rdn_arena_fini(&arena);
    return rc;
}
