/* SPDX-License-Identifier: Apache-2.0
 * kernel_gcc.c: the kernels of bench/kernel.rdn in C, compiled by gcc -O3 in the run of bench/kernels.c: the same bits, so the same
 * functions and the same order of sums, without a branch in a path and with 16 sums side by side, for the vectorizer.
 *
 * With -DINLINED the functions are forced into the loop and its inner loops are unrolled, which one does after a look at the
 * vectorizer's report: it then makes vector code of everything. */
#include "ir/block_math.h"
#include <stdint.h>

double european(uint32_t paths, int64_t seed, double s0, double strike, double rate, double vol, double years);
double value_at_risk(uint32_t paths, int64_t seed, const double *chol, const double *drift, const double *position, int64_t *room);

#ifdef INLINED
#define FLAT __attribute__((flatten))
#define UNROLL _Pragma("GCC unroll 8")
#else
#define FLAT
#define UNROLL
#endif

static inline double normal01(double p) {
    double q = p - 0.5, tail = lane_invnorm_tail(p < 0.5 ? p : 1.0 - p), centre = lane_invnorm_centre(p);
    return q * q <= 0.180625 ? centre : q < 0.0 ? -tail : tail;
}

static double pair_up(double *s, uint32_t n) {
    for (; n > 1; n = (n + 1) / 2)
        for (uint32_t i = 0; i < n; i += 2)
            s[i / 2] = i + 1 < n ? s[i] + s[i + 1] : s[i];
    return s[0];
}

static inline double call_value(uint32_t path, int64_t seed, double s0, double strike, double drift, double root) {
    double u[2];
    rdn_uniform2(seed, path, 0, 0, u);
    double v = s0 * lane_exp(drift + root * normal01(u[0])) - strike;
    return v > 0.0 ? v : 0.0;
}

/* Whole leaves: the inner loop is the 16 sums, so it becomes vector code. */
static __attribute__((noinline)) FLAT void sum_leaves(double *leaves, uint32_t n, int64_t seed, double s0, double strike, double drift, double root) {
    for (uint32_t leaf = 0; leaf < n; leaf++) {
        double sum[RDN_STRIPES] = { 0.0 };
        for (uint32_t i = 0; i < RDN_LEAF / RDN_STRIPES; i++)
            for (uint32_t j = 0; j < RDN_STRIPES; j++)
                sum[j] += call_value(leaf * RDN_LEAF + i * RDN_STRIPES + j, seed, s0, strike, drift, root);
        leaves[leaf] = rdn_fold_stripes(sum);
    }
}

double european(uint32_t paths, int64_t seed, double s0, double strike, double rate, double vol, double years) {
    static double leaves[1 << 16];
    double drift = (rate - 0.5 * vol * vol) * years, root = vol * __builtin_sqrt(years), last[RDN_STRIPES] = { 0.0 };
    uint32_t whole = paths / RDN_LEAF, n = whole;
    sum_leaves(leaves, whole, seed, s0, strike, drift, root);
    for (uint32_t i = whole * RDN_LEAF; i < paths; i++)
        last[i % RDN_STRIPES] += call_value(i, seed, s0, strike, drift, root);
    if (paths % RDN_LEAF)
        leaves[n++] = rdn_fold_stripes(last);
    return pair_up(leaves, n) / (double)paths;
}

/* The k-th smallest by a histogram of the top 16 bits, then of the values that share them by picking the least again and again:
 * there are few. */
static double smallest(int64_t *keys, uint32_t n, uint32_t k) {
    static uint32_t count[1 << 16];
    __builtin_memset(count, 0, sizeof count);
    for (uint32_t i = 0; i < n; i++)
        count[(uint64_t)(keys[i] ^ INT64_MIN) >> 48]++;
    uint32_t top = 0, m = 0;
    for (; count[top] < k; top++)
        k -= count[top];
    for (uint32_t i = 0; i < n; i++)
        if ((uint64_t)(keys[i] ^ INT64_MIN) >> 48 == top)
            keys[m++] = keys[i];
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = i + 1; j < m; j++)
            if (keys[j] < keys[i]) {
                int64_t t = keys[i];
                keys[i] = keys[j];
                keys[j] = t;
            }
    return rdn_from_order(keys[k - 1]);
}

/* The factor is lower triangular, and C may say so. */
FLAT double value_at_risk(uint32_t paths, int64_t seed, const double *chol, const double *drift, const double *position, int64_t *room) {
    for (uint32_t i = 0; i < paths; i++) {
        double z[8], pnl = 0.0;
        UNROLL
        for (uint32_t j = 0; j < 4; j++)
            rdn_uniform2(seed, i, j, 0, z + 2 * j);
        UNROLL
        for (uint32_t j = 0; j < 8; j++)
            z[j] = normal01(z[j]);
        UNROLL
        for (uint32_t a = 0; a < 8; a++) {
            double x = 0.0;
            UNROLL
            for (uint32_t j = 0; j <= a; j++)
                x = RDN_FMA(chol[8 * a + j], z[j], x);
            pnl = RDN_FMA(position[a], lane_exp(drift[a] + x) - 1.0, pnl);
        }
        room[i] = rdn_order(pnl);
    }
    return smallest(room, paths, (paths + 99) / 100);
}
