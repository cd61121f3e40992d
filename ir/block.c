/* SPDX-License-Identifier: Apache-2.0
 * block.c: the loops of block.h. Built once an instruction set (-DRDN_BLOCK_TABLE=...), at -O3 and without contraction, errno and
 * traps: then the loops become vector code, and every operation still rounds once. */
#include "ir/block.h"
#include "ir/block_lanes.h"
#include "ir/block_math.h"
#include <stddef.h>

#ifndef RDN_BLOCK_TABLE
#define RDN_BLOCK_TABLE rdn_block_scalar
#define RDN_BLOCK_NAME "scalar"
#endif
#if defined(__FMA__) || defined(__aarch64__)
#define HAS_FMA true
#else
#define HAS_FMA false
#endif
enum { LEAF = RDN_LEAF, STRIPES = RDN_STRIPES };
#define COLUMN(T, v) ((T *)__builtin_assume_aligned((v), 64))
/* A result in place of an operand has the same index, so iterations do not meet. */
#if defined(__clang__)
#define EACH_PATH(i, n) _Pragma("clang loop vectorize(assume_safety)") for (uint32_t i = 0; i < ((n) & ~15u); i++)
#else
#define EACH_PATH(i, n) _Pragma("GCC ivdep") for (uint32_t i = 0; i < ((n) & ~15u); i++)
#endif

/* ---- one loop a row of block.def ---- */

typedef double col_f;
typedef int64_t col_i;
#define BLOCK(name, td, ta, tb, tc, value, bad)                                                                     \
    static uint64_t op_##name(void *vd, const void *va, const void *vb, const void *vc, uint32_t n, unsigned one) { \
        col_##td *d = COLUMN(col_##td, vd);                                                                         \
        const col_##ta *pa = COLUMN(const col_##ta, va);                                                            \
        const col_##tb *pb = COLUMN(const col_##tb, vb);                                                            \
        const col_##tc *pc = COLUMN(const col_##tc, vc);                                                            \
        uint64_t any = 0;                                                                                           \
        EACH_PATH(i, n) {                                                                                           \
            const col_##ta a = pa[i];                                                                               \
            const col_##tb b = pb[i];                                                                               \
            const col_##tc c = pc[i];                                                                               \
            const col_##td r = value;                                                                               \
            any |= (bad) ? 1 : 0;                                                                                   \
            d[i] = r;                                                                                               \
            (void)a, (void)b, (void)c;                                                                              \
        }                                                                                                           \
        (void)one;                                                                                                  \
        return any;                                                                                                 \
    }
#include "ir/block.def"
#undef BLOCK

/* Two at once: value and what is undefined of each. */
#define F_ADD(p, q) ((p) + (q))
#define F_SUB(p, q) ((p) - (q))
#define F_MUL(p, q) ((p) * (q))
#define F_DIV(p, q) ((p) / (q))
#define F_MIN(p, q) ((q) < (p) ? (q) : (p))
#define F_MAX(p, q) ((q) > (p) ? (q) : (p))
#define B_ADD(p, q) 0
#define B_SUB(p, q) 0
#define B_MUL(p, q) 0
#define B_DIV(p, q) 0
#define B_MIN(p, q) __builtin_isunordered(p, q)
#define B_MAX(p, q) B_MIN(p, q)
#define PAIR_LOOP(b_at_i, c_at_i, value, bad)                                                                       \
    EACH_PATH(i, n) {                                                                                               \
        const double a = pa[i], b = b_at_i, c = c_at_i;                                                             \
        any |= (bad) ? 1 : 0;                                                                                       \
        d[i] = value;                                                                                               \
    }
#define PAIR(name, value, bad)                                                                                      \
    static uint64_t op_##name(void *vd, const void *va, const void *vb, const void *vc, uint32_t n, unsigned one) { \
        double *d = COLUMN(double, vd);                                                                             \
        const double *pa = COLUMN(const double, va), *pb = COLUMN(const double, vb), *pc = COLUMN(const double, vc); \
        const double b0 = pb[0], c0 = pc[0];                                                                        \
        uint64_t any = 0;                                                                                           \
        if (one == (RDN_ONE_B | RDN_ONE_C))                                                                         \
            PAIR_LOOP(b0, c0, value, bad)                                                                           \
        else if (one == RDN_ONE_B)                                                                                  \
            PAIR_LOOP(b0, pc[i], value, bad)                                                                        \
        else if (one == RDN_ONE_C)                                                                                  \
            PAIR_LOOP(pb[i], c0, value, bad)                                                                        \
        else                                                                                                        \
            PAIR_LOOP(pb[i], pc[i], value, bad)                                                                     \
        return any;                                                                                                 \
    }
#define LEFT(x, y) PAIR(x##_##y, F_##y(F_##x(a, b), c), B_##x(a, b) | B_##y(F_##x(a, b), c))
#define RIGHT(x, y) PAIR(x##_R##y, F_##y(c, F_##x(a, b)), B_##x(a, b) | B_##y(c, F_##x(a, b)))
RDN_BLOCK_PAIRS(LEFT, RIGHT)
#undef LEFT
#undef RIGHT

/* ---- the inverse normal distribution ---- */

/* invnorm01 in place; t: room for the tails. The two pieces cost as much, and the tail is needed for 15 of 100 uniform numbers only,
 * so those are packed, worked out together and put back. */
static void invnorm01(double *d, double *t, uint32_t n) {
    double p[LEAF] __attribute__((aligned(64)));
    d = COLUMN(double, d);
    t = COLUMN(double, t);
    EACH_PATH(i, n) {
        p[i] = d[i];
        d[i] = lane_invnorm_centre(d[i]);
    }
    uint32_t m = pack_tails(t, p, n), up = (m + 15) & ~15u;
    for (uint32_t i = m; i < up; i++)
        t[i] = 0.0625;
    EACH_PATH(i, up)
        t[i] = lane_invnorm_tail(t[i]);
    if (m)
        spread_tails(d, p, t, n);
}

static void invnorm(double *d, const double *a, uint32_t n) {
    double p[LEAF] __attribute__((aligned(64))), t[LEAF + 16] __attribute__((aligned(64)));
    uint64_t odd = 0;
    EACH_PATH(i, n) {
        bool plain = a[i] >= 0x1p-54 && a[i] < 1.0;
        odd |= plain ? 0 : 1;
        p[i] = a[i];
        d[i] = plain ? a[i] : 0.5;
    }
    invnorm01(d, t, n);
    for (uint32_t i = 0; odd && i < n; i++)
        if (!(p[i] >= 0x1p-54 && p[i] < 1.0))
            d[i] = rdn_invnorm(p[i]);
}

/* ---- random numbers ---- */

static inline vf64 unit(vu64 high, vu64 low) {
    vf64 u = (vfloat53((high << 32 | (low & 0xffffffffu)) >> 11) + 0.5) * 0x1p-53;
    for (int j = 0; j < LANES; j++)
        u[j] = u[j] < 1.0 ? u[j] : 1.0 - 0x1p-53;
    return u;
}

/* The keys of the ten rounds, the same on every lane unless there is one seed a path. */
struct keys { vu64 k[10][2]; };
static inline void key_schedule(struct keys *s, vu64 seed) {
    vu64 k0 = seed, k1 = seed >> 32;
    for (int round = 0; round < 10; round++) {
        s->k[round][0] = k0;
        s->k[round][1] = k1;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

/* Philox of LANES paths side by side. The upper half of a word holds anything: nothing reads it before the end. */
static inline void draw_pair(double *even, double *odd, struct keys *s, const int64_t *seeds, const int64_t *index, uint64_t pair, uint64_t stream,
                             uint32_t n) {
    const vu64 none = { 0 }, m0 = none + 0xd2511f53u, m1 = none + 0xcd9e8d57u;
    for (uint32_t i = 0; i < n; i += LANES) {
        vu64 at = *(const vu64 *)(const void *)(index + i);
        vu64 c0 = at, c1 = none + pair, c2 = none + stream, c3 = at >> 32;
        if (seeds)
            key_schedule(s, *(const vu64 *)(const void *)(seeds + i));
        for (int round = 0; round < 10; round++) {
            vu64 p0 = vmul32(m0, c0), p1 = vmul32(m1, c2);
            c0 = vxor3(p1 >> 32, c1, s->k[round][0]);
            c1 = p1;
            c2 = vxor3(p0 >> 32, c3, s->k[round][1]);
            c3 = p0;
        }
        *(vf64 *)(void *)(even + i) = unit(c0, c1);
        if (odd)
            *(vf64 *)(void *)(odd + i) = unit(c2, c3);
    }
}

static void draw(double *columns, const uint32_t *d, uint32_t k, const int64_t *seed, bool one_seed, const int64_t *index, uint32_t stream,
                 bool normal, uint32_t n) {
    double t[LEAF + 16] __attribute__((aligned(64)));
    struct keys s;
    const vu64 none = { 0 };
    key_schedule(&s, none + (uint64_t)seed[0]);
    for (uint32_t j = 0; j < k; j += 2) {
        double *even = columns + (size_t)d[j] * LEAF, *odd = j + 1 < k ? columns + (size_t)d[j + 1] * LEAF : NULL;
        if (!one_seed)
            draw_pair(even, odd, &s, seed, index, j / 2, stream, n);
        else if (odd)
            draw_pair(even, odd, &s, NULL, index, j / 2, stream, n);
        else
            draw_pair(even, NULL, &s, NULL, index, j / 2, stream, n);
    }
    for (uint32_t j = 0; normal && j < k; j++)
        invnorm01(columns + (size_t)d[j] * LEAF, t, n);
}

/* ---- sums ---- */

enum { ROW = STRIPES / LANES };                          /* vectors of the 16 stripes */

static void dot(double *d, const double *w, const double *columns, const uint32_t *x, uint32_t k, uint32_t n) {
    const vf64 none = { 0 };
    for (uint32_t i = 0; i < n; i += STRIPES) {
        vf64 s[ROW];
        for (int v = 0; v < ROW; v++)
            s[v] = none;
        for (uint32_t j = 0; j < k; j++)
            for (int v = 0; v < ROW; v++)
                s[v] = vfma(vall(w[j]), *vat(columns + (size_t)x[j] * LEAF + i + v * LANES), s[v]);
        for (int v = 0; v < ROW; v++)
            *(vf64 *)(void *)(d + i + v * LANES) = s[v];
    }
}

static double sum(const double *v, uint32_t n) {
    double s[STRIPES] __attribute__((aligned(64)));
    const vf64 none = { 0 };
    vf64 r[ROW];
    uint32_t i = 0;
    for (int k = 0; k < ROW; k++)
        r[k] = none;
    for (; i + STRIPES <= n; i += STRIPES)
        for (int k = 0; k < ROW; k++)
            r[k] += *vat(v + i + k * LANES);
    for (int k = 0; k < ROW; k++)
        *(vf64 *)(void *)(s + k * LANES) = r[k];
    for (; i < n; i++)
        s[i % STRIPES] += v[i];
    return rdn_fold_stripes(s);
}

static uint64_t keys(int64_t *d, const double *v, uint32_t n) {
    uint64_t nan = 0;
    for (uint32_t i = 0; i < n; i++) {
        nan |= v[i] != v[i] ? 1 : 0;
        d[i] = rdn_order(v[i]);
    }
    return nan;
}

const struct rdn_block RDN_BLOCK_TABLE = {
    .name = RDN_BLOCK_NAME, .lanes = LANES, .has_fma = HAS_FMA,
    .op = {
#define BLOCK(name, td, ta, tb, tc, value, bad) [RDN_BLK_##name] = op_##name,
#include "ir/block.def"
#undef BLOCK
#define LEFT(x, y) [RDN_BLK_##x##_##y] = op_##x##_##y,
#define RIGHT(x, y) [RDN_BLK_##x##_R##y] = op_##x##_R##y,
        RDN_BLOCK_PAIRS(LEFT, RIGHT)
    },
    .invnorm = invnorm, .draw = draw, .dot = dot, .sum = sum, .keys = keys,
};
