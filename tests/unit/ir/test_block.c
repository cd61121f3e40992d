/* SPDX-License-Identifier: Apache-2.0
 * test_block.c: the block functions of every build that runs here: own functions and random numbers against ir/prelude, all others
 * against the scalar build, over edge values and random ones; sums and keys at every length of a leaf. */
#include "tests/unit/rows.h"
#include <math.h>
#include "ir/block.h"
#include "ir/own.h"
#include "ir/prelude/rdn_math.h"

enum { N = RDN_BLOCK_PATHS, ROUNDS = 4000 };             /* a million values a function */
union column { double f[N]; int64_t i[N]; uint64_t u[N]; } __attribute__((aligned(64)));
static const char *const names[] = { "scalar", "avx2", "avx512" };

static const double edges[] = {
    0.0, -0.0, 1.0, -1.0, 0.5, INFINITY, -INFINITY, NAN, -NAN, 5e-324, -5e-324, 0x1.fffffffffffffp-1023, 0x1p-1022, -0x1p-1022, 1e308, -1e308,
    0x1p-54, 0x1.fffffffffffffp-55, 1.0 - 0x1p-53, 0x1.0000000000001p+0, 0.075, 0.07500000000000001, 0.925, 0.9249999999999999, 0.9250000000000002,
    709.78, 709.79, 720.0, 720.1, -745.13, -745.14, -760.0, -761.0, 1.4142135623730951, 1.4142135623730954, 38.5, -38.5, 40.0, -40.1,
    0x1p52, 0x1p53, 0x1p62, 0x1p63, -0x1p63, -0x1.0000000000001p63, 2.5, -2.5, 0.49999999999999994, -0.49999999999999994, 63.0, 64.0,
};
static const int64_t ints[] = { 0, 1, -1, 2, -2, 7, 63, 64, 65, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 1LL << 31, 1LL << 32, 1LL << 53, -(1LL << 53) };

static uint64_t rnd(uint64_t *s) {
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Any bits; a wide and a narrow range around what the functions are made for; each with edges among them. */
static void fill(union column *c, uint64_t *s, unsigned kind) {
    for (unsigned i = 0; i < N; i++) {
        uint64_t r = rnd(s);
        c->u[i] = r;
        if (kind % 4 == 1)
            c->f[i] = ldexp((double)(int64_t)r, (int)(rnd(s) % 90) - 110);
        else if (kind % 4 == 2)
            c->f[i] = (double)(r >> 11) * 0x1p-53;
        else if (kind % 4 == 3)
            c->i[i] = (int64_t)r >> (rnd(s) % 64);
        if (rnd(s) % 16 == 0)
            c->f[i] = edges[rnd(s) % (sizeof edges / sizeof *edges)];
        if (kind % 4 == 3 && rnd(s) % 4 == 0)
            c->i[i] = ints[rnd(s) % (sizeof ints / sizeof *ints)];
    }
}

/* Values that differ: bits, but all NaN are one (no rule can tell them apart). */
static unsigned differ(const union column *a, const union column *b, unsigned n) {
    unsigned bad = 0;
    for (unsigned i = 0; i < n; i++)
        bad += a->u[i] != b->u[i] && !(a->f[i] != a->f[i] && b->f[i] != b->f[i]);
    return bad;
}

static void a_changed_ulp_is_seen(void **state) {
    (void)state;
    uint64_t s = 5;
    union column a, b;
    fill(&a, &s, 2);
    for (unsigned i = 0; i < N; i++)
        a.f[i] = rdn_exp(a.f[i]);
    b = a;
    assert_int_equal(differ(&a, &b, N), 0);
    for (unsigned i = 0; i < N; i += 17) {
        b.u[i] += i % 2 ? 1 : -1;
        assert_int_equal(differ(&a, &b, N), 1);
        b.u[i] = a.u[i];
    }
}

typedef double scalar_fn(double);
static const struct { const char *name; enum rdn_block_op op; scalar_fn *f; } functions[] = {
    { "exp", RDN_BLK_EXPF, rdn_exp }, { "log", RDN_BLK_LOGF, rdn_log }, { "normcdf", RDN_BLK_CDFF, rdn_normcdf },
    { "invnorm", RDN_BLK_COUNT, rdn_invnorm },
};

static void own_functions(void **state) {
    const struct rdn_block *b = *state;
    uint64_t s = 1;
    for each(f, functions)
        for (unsigned r = 0; r < ROUNDS; r++) {
            union column x, got, want;
            fill(&x, &s, r % 3);
            if (r % 3 == 1 && r % 2)
                for (unsigned i = 0; i < N; i++)
                    x.f[i] = x.f[i] * 0x1p-40;           /* exp and normcdf: where neither ends */
            if (functions[f].op == RDN_BLK_COUNT)
                b->invnorm(got.f, x.f, N);
            else
                assert_true(b->op[functions[f].op](got.f, x.f, x.f, x.f, N, 0) == 0);
            for (unsigned i = 0; i < N; i++)
                want.f[i] = functions[f].f(x.f[i]);
            check(differ(&got, &want, N) == 0, "%s %s: %u of a column differ, round %u", b->name, functions[f].name, differ(&got, &want, N), r);
        }
}

static void draws(void **state) {
    const struct rdn_block *b = *state;
    static union column d[7];
    uint64_t s = 2;
    for (unsigned r = 0; r < ROUNDS; r++) {
        union column seed, index;
        uint32_t k = 1 + r % 5, stream = r % 3, n = 16 * (1 + r % 16), to[5];
        bool one = r % 2, normal = r % 4 < 3;
        for (unsigned i = 0; i < N; i++) {
            seed.u[i] = rnd(&s);
            index.u[i] = r % 3 ? (uint64_t)r * N + i : rnd(&s);
        }
        for (unsigned j = 0; j < k; j++)
            to[j] = (j * 3 + r) % 7;                     /* columns in any order */
        b->draw(d[0].f, to, k, seed.i, one, index.i, stream, normal, n);
        for (unsigned i = 0; i < n; i++) {
            double v[5];
            (normal ? rdn_own_plain.normal : rdn_own_plain.uniform)(seed.i[one ? 0 : i], index.i[i], k, stream, v);
            for (unsigned j = 0; j < k; j++)
                check(rdn_bits(v[j]) == d[to[j]].u[i], "%s round %u path %u element %u: %a for %a", b->name, r, i, j, d[to[j]].f[i], v[j]);
        }
    }
}

static void rows_as_scalar(void **state) {
    const struct rdn_block *b = *state;
    static const char *const text[] = {
#define BLOCK(name, d, a, b, c, value, bad) #name,
#include "ir/block.def"
#undef BLOCK
#define LEFT(x, y) #x "_" #y,
#define RIGHT(x, y) #x "_R" #y,
        RDN_BLOCK_PAIRS(LEFT, RIGHT)
    };
    uint64_t s = 3;
    for (unsigned op = 0; op < RDN_BLK_COUNT; op++)
        for (unsigned r = 0; r < (op < RDN_BLK_ADD_ADD ? 400 : 100); r++) {
            union column x, y, z, got, want;
            uint32_t n = 16 * (1 + r % 16);
            fill(&x, &s, r);
            fill(&y, &s, r / 4);
            fill(&z, &s, r);
            if (r % 5 == 0)
                y = x;
            if (r % 8 == 4)                              /* a column with nothing undefined in it, often */
                for (unsigned i = 0; i < N; i++)
                    x.i[i] &= 0x3fff, y.i[i] &= 0x3f, z.i[i] = y.i[i] + 5;
            uint64_t bad = b->op[op](got.f, x.f, y.f, z.f, n, 0), want_bad = rdn_block_scalar.op[op](want.f, x.f, y.f, z.f, n, 0);
            check(!bad == !want_bad, "%s %s: undefined, round %u", b->name, text[op], r);
            check(bad || differ(&got, &want, n) == 0, "%s %s: %u values, round %u", b->name, text[op], differ(&got, &want, n), r);
            bad = b->op[op](x.f, x.f, y.f, z.f, n, 0);      /* in place of its operand */
            check(bad || differ(&x, &want, n) == 0, "%s %s in place, round %u", b->name, text[op], r);
        }
}

/* A pair is its two operations one after the other. */
static void pairs(void **state) {
    const struct rdn_block *b = *state;
    uint64_t s = 8;
    unsigned seen = 0;
    for (unsigned first = 0; first < RDN_BLK_COUNT; first++)
        for (unsigned then = 0; then < RDN_BLK_COUNT; then++)
            for (unsigned right = 0; right < 2; right++) {
                unsigned op = rdn_block_pair((enum rdn_block_op)first, (enum rdn_block_op)then, right);
                seen += op != RDN_BLK_COUNT;
                for (unsigned r = 0; r < 40 && op != RDN_BLK_COUNT; r++) {
                    union column x, y, z, t, got, want;
                    fill(&x, &s, r);
                    fill(&y, &s, 1 + r % 2);
                    fill(&z, &s, 2);
                    for (unsigned i = 0; i < N && r % 2; i++)
                        x.f[i] = x.f[i] == x.f[i] ? x.f[i] : 1.0, y.f[i] = y.f[i] == y.f[i] ? y.f[i] : 2.0, z.f[i] = z.f[i] == z.f[i] ? z.f[i] : 3.0;
                    unsigned one = r / 2 % 4;
                    for (unsigned i = 1; i < N; i++) {
                        y.u[i] = one & RDN_ONE_B ? y.u[0] : y.u[i];
                        z.u[i] = one & RDN_ONE_C ? z.u[0] : z.u[i];
                    }
                    uint64_t bad = b->op[first](t.f, x.f, y.f, z.f, N, 0);
                    bad |= right ? b->op[then](want.f, z.f, t.f, z.f, N, 0) : b->op[then](want.f, t.f, z.f, z.f, N, 0);
                    check(!b->op[op](got.f, x.f, y.f, z.f, N, one) == !bad, "%s pair %u %u %u: undefined", b->name, first, then, right);
                    check(bad || differ(&got, &want, N) == 0, "%s pair %u %u %u, round %u", b->name, first, then, right, r);
                }
            }
    assert_int_equal(seen, 72);
}

/* Overflow, NaN and the rest are found wherever in the column they are. */
static const struct { enum rdn_block_op op; bool f; double x, y, z; int64_t i, j, k; } undefined[] = {
    { RDN_BLK_ADDI, false, 0, 0, 0, INT64_MAX, 1, 0 },   { RDN_BLK_SUBI, false, 0, 0, 0, INT64_MIN, 1, 0 },
    { RDN_BLK_MULI, false, 0, 0, 0, 1LL << 32, 1LL << 31, 0 }, { RDN_BLK_DIVI, false, 0, 0, 0, 4, 0, 0 },
    { RDN_BLK_DIVI, false, 0, 0, 0, INT64_MIN, -1, 0 },  { RDN_BLK_MODI, false, 0, 0, 0, 4, 0, 0 },
    { RDN_BLK_NEGI, false, 0, 0, 0, INT64_MIN, 0, 0 },   { RDN_BLK_ABSI, false, 0, 0, 0, INT64_MIN, 0, 0 },
    { RDN_BLK_CLAMPI, false, 0, 0, 0, 1, 3, 2 },         { RDN_BLK_SHLI, false, 0, 0, 0, 1, -1, 0 },
    { RDN_BLK_SHRI, false, 0, 0, 0, 1, -1, 0 },          { RDN_BLK_F2I, true, NAN, 0, 0, 0, 0, 0 },
    { RDN_BLK_F2I, true, 0x1p63, 0, 0, 0, 0, 0 },        { RDN_BLK_F2I, true, -0x1.0000000000001p63, 0, 0, 0, 0, 0 },
    { RDN_BLK_MINF, true, NAN, 1, 0, 0, 0, 0 },          { RDN_BLK_MAXF, true, 1, NAN, 0, 0, 0, 0 },
    { RDN_BLK_CLAMPF, true, NAN, 0, 1, 0, 0, 0 },        { RDN_BLK_CLAMPF, true, 0, 0, NAN, 0, 0, 0 },
    { RDN_BLK_CLAMPF, true, 0, 2, 1, 0, 0, 0 },          { RDN_BLK_LTF, true, NAN, 0, 0, 0, 0, 0 },
    { RDN_BLK_EQF, true, 0, NAN, 0, 0, 0, 0 },           { RDN_BLK_NEF, true, NAN, NAN, 0, 0, 0, 0 },
    { RDN_BLK_LEF, true, 0, NAN, 0, 0, 0, 0 },           { RDN_BLK_GTF, true, NAN, 0, 0, 0, 0, 0 },
    { RDN_BLK_GEF, true, NAN, 0, 0, 0, 0, 0 },
};

static void undefined_anywhere(void **state) {
    const struct rdn_block *b = *state;
    for each(r, undefined)
        for (unsigned at = 0; at < N; at++) {
            union column x, y, z, d;
            for (unsigned i = 0; i < N; i++) {
                if (undefined[r].f)
                    x.f[i] = 1.0, y.f[i] = 2.0, z.f[i] = 3.0;
                else
                    x.i[i] = 1, y.i[i] = 2, z.i[i] = 3;
            }
            check(b->op[undefined[r].op](d.f, x.f, y.f, z.f, N, 0) == 0, "%s row %zu is defined", b->name, r);
            if (undefined[r].f)
                x.f[at] = undefined[r].x, y.f[at] = undefined[r].y, z.f[at] = undefined[r].z;
            else
                x.i[at] = undefined[r].i, y.i[at] = undefined[r].j, z.i[at] = undefined[r].k;
            check(b->op[undefined[r].op](d.f, x.f, y.f, z.f, N, 0) != 0, "%s row %zu at path %u", b->name, r, at);
        }
}

static void sums_and_keys(void **state) {
    const struct rdn_block *b = *state;
    uint64_t s = 4;
    for (uint32_t n = 1; n <= N; n++) {
        union column v, k;
        double stripes[RDN_STRIPES] = { 0.0 };
        bool nan = false;
        fill(&v, &s, n % 3);
        for (uint32_t i = 0; n % 7 && i < N; i++)
            v.f[i] = v.f[i] == v.f[i] ? v.f[i] : -0.0;
        for (uint32_t i = 0; i < n; i++) {
            stripes[i % RDN_STRIPES] += v.f[i];
            nan |= v.f[i] != v.f[i];
        }
        union { double f; uint64_t u; } got = { b->sum(v.f, n) }, want = { rdn_fold_stripes(stripes) };
        check(got.u == want.u || (isnan(got.f) && isnan(want.f)), "%s sum of %u: %a for %a", b->name, n, got.f, want.f);
        check((b->keys(k.i, v.f, n) != 0) == nan, "%s keys of %u", b->name, n);
        for (uint32_t i = 0; i < n; i++)
            check(k.i[i] == rdn_order(v.f[i]), "%s key %u of %u", b->name, i, n);
    }
}

static void dots(void **state) {
    const struct rdn_block *b = *state;
    static union column x[20], d;
    uint64_t s = 6;
    for (uint32_t k = 1; k <= 20; k++) {
        double w[20], v[20];
        uint32_t list[20];
        for (uint32_t j = 0; j < k; j++) {
            w[j] = j % 4 ? (double)(int64_t)rnd(&s) * 0x1p-1060 : -0.0;   /* products that round to -0.0 */
            list[j] = (j * 7) % 20;
            fill(&x[list[j]], &s, 1 + k % 2);
        }
        b->dot(d.f, w, x[0].f, list, k, N);
        for (uint32_t p = 0; p < N; p++) {
            for (uint32_t j = 0; j < k; j++)
                v[j] = x[list[j]].f[p];
            union { double f; uint64_t u; } want = { rdn_own_plain.dot(w, v, k) };
            check(want.u == d.u[p] || (isnan(want.f) && isnan(d.f[p])), "%s dot of %u, path %u: %a for %a", b->name, k, p, d.f[p], want.f);
        }
    }
}

int main(void) {
    int rc = 0;
    for each(i, names) {
        const struct rdn_block *b = rdn_block_find(names[i]);
        if (!b) {
            printf("%s: not for this CPU\n", names[i]);
            continue;
        }
        void *p = (void *)(uintptr_t)b;
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_changed_ulp_is_seen), cmocka_unit_test_prestate(own_functions, p), cmocka_unit_test_prestate(draws, p),
            cmocka_unit_test_prestate(rows_as_scalar, p), cmocka_unit_test_prestate(pairs, p),
            cmocka_unit_test_prestate(undefined_anywhere, p),
            cmocka_unit_test_prestate(sums_and_keys, p), cmocka_unit_test_prestate(dots, p),
        };
        rc += cmocka_run_group_tests_name(names[i], tests, NULL, NULL);
    }
    return rc != 0;
}
