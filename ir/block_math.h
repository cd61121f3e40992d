/* SPDX-License-Identifier: Apache-2.0
 * block_math.h: the functions of rdn_math.h without a branch, so that a loop over a column becomes vector code. Each gives the
 * bits of its namesake for every argument (tests/unit/ir/test_block.c); the order of every operation is the definition.
 *
 * Integers stay 64 bits wide and shifts are logical: AVX2 has no arithmetic shift of 64 bits and no conversion to double. */
#ifndef RDN_BLOCK_MATH_H
#define RDN_BLOCK_MATH_H
#include "ir/prelude/rdn_math.h"
#include <stdbool.h>

#define RDN_LANE static inline __attribute__((always_inline, unused))

/* c[n-1] down to c[0], spelled out: a loop inside a loop would not become vector code. */
#define RDN_P1(c, x, p) RDN_FMA(p, x, (c)[0])
#define RDN_P2(c, x, p) RDN_P1(c, x, RDN_FMA(p, x, (c)[1]))
#define RDN_P4(c, x, p) RDN_P2(c, x, RDN_FMA(RDN_FMA(p, x, (c)[3]), x, (c)[2]))
#define RDN_P6(c, x, p) RDN_P4(c, x, RDN_FMA(RDN_FMA(p, x, (c)[5]), x, (c)[4]))
#define RDN_P7(c, x, p) RDN_P6(c, x, RDN_FMA(p, x, (c)[6]))
#define RDN_P8(c, x, p) RDN_P7(c, x, RDN_FMA(p, x, (c)[7]))
#define RDN_P10(c, x, p) RDN_P8(c, x, RDN_FMA(RDN_FMA(p, x, (c)[9]), x, (c)[8]))
RDN_LANE double lane_poly7(const double *c, double x) { return RDN_P6(c, x, c[6]); }
RDN_LANE double lane_poly8(const double *c, double x) { return RDN_P7(c, x, c[7]); }
RDN_LANE double lane_poly9(const double *c, double x) { return RDN_P8(c, x, c[8]); }
RDN_LANE double lane_poly11(const double *c, double x) { return RDN_P10(c, x, c[10]); }
RDN_LANE double lane_poly23(const double *c, double x) {
    double p = RDN_P2(c + 20, x, c[22]);
    return RDN_P10(c, x, RDN_P10(c + 10, x, p));
}

RDN_LANE double lane_exp(double x) {
    double c = x > 720.0 ? 720.0 : x;
    c = c < -760.0 ? -760.0 : c;
    double t = RDN_FMA(c, RDN_LOG2E, RDN_SHIFT), k = t - RDN_SHIFT;
    double r = RDN_FMA(-k, RDN_LN2_LO, RDN_FMA(-k, RDN_LN2_HI, c));
    double y = 1.0 + RDN_FMA(r * r, lane_poly11(rdn_pe, r), r);
    /* The integer is in the low bits of t. 4096 keeps it positive for the shift that halves it. */
    rdn_u64 n = rdn_bits(t) - rdn_bits(RDN_SHIFT) + 4096, a = n >> 1, b = n - a;
    double e = y * rdn_from_bits((a - 2048 + 1023) << 52) * rdn_from_bits((b - 2048 + 1023) << 52);
    return x == x ? e : x;
}

/* log of a positive normal number: what a tail needs. */
RDN_LANE double lane_log_normal(double x, double e0) {
    rdn_u64 b = rdn_bits(x);
    double m = rdn_from_bits((b & 0xfffffffffffffu) | 0x3ff0000000000000u);
    double k = rdn_from_bits((b >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0) + e0;
    bool high = m > 1.4142135623730951;
    m = high ? m * 0.5 : m;
    k = high ? k + 1.0 : k;
    double f = m - 1.0, s = f / (2.0 + f), z = s * s;
    double h = RDN_FMA(s * z, lane_poly7(rdn_pl, z), RDN_FMA(k, RDN_LN2_LO, -s * f));
    return RDN_FMA(k, RDN_LN2_HI, f + h);
}

RDN_LANE double lane_log(double x) {
    bool tiny = x < 0x1p-1022;
    double r = lane_log_normal(tiny ? x * 0x1p54 : x, tiny ? -54.0 : 0.0);
    r = x < RDN_INF ? r : x;                             /* also NaN */
    r = x < 0.0 ? RDN_NAN : r;
    return x == 0.0 ? -RDN_INF : r;
}

RDN_LANE double lane_normcdf(double x) {
    double z = x < 0.0 ? -x : x;
    z = z > 40.0 ? 40.0 : z;
    double p = lane_poly23(rdn_pn, (z - 4.0) / (z + 4.0));
    double h = z * z, low = RDN_FMA(z, z, -h), e = lane_exp(-0.5 * h);
    double q = RDN_FMA(-0.5 * low, e, e) * (p / (z + 1.0));
    return x > 0.0 ? 1.0 - q : q;
}

RDN_LANE bool lane_mul_over(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r);
}

/* The two pieces of rdn_invnorm01: |p - 0.5| <= 0.425, and l = min(p, 1 - p) below that, where the sign is the caller's. */
RDN_LANE double lane_invnorm_centre(double p) {
    double q = p - 0.5, s = 0.180625 - q * q;
    return q * lane_poly8(rdn_pc, s) / lane_poly8(rdn_qc, s);
}
RDN_LANE double lane_invnorm_tail(double l) {
    double a = RDN_SQRT(-lane_log_normal(l, 0.0)) - 1.6;
    return lane_poly9(rdn_pt, a) / lane_poly8(rdn_qt, a);
}
RDN_LANE bool lane_is_tail(double p) { double q = p - 0.5; return !(q * q <= 0.180625); }
#endif
