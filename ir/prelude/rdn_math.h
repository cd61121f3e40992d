/* SPDX-License-Identifier: Apache-2.0
 * rdn_math.h: Redan's own exp, log, normal distribution and its inverse, and 2^-y, bit for bit as LANGUAGE.md 12.2 and 10.6
 * spell them. The order of every operation is the definition; do not simplify.
 *
 * rdn_exp, rdn_log   about 15 fma, no branch that depends on more than the range of x
 * rdn_invnorm        two polynomials and a division; a logarithm in the tails
 * rdn_normcdf        one polynomial of degree 22, one exp, two divisions */
#ifndef RDN_MATH_H
#define RDN_MATH_H
#include "rdn_prelude.h"
#include "rdn_coef.h"

/* c[n-1] down to c[0], one fma a step. */
RDN_FN double rdn_poly(RDN_TABLE_PTR c, int n, double x) {
    double p = c[n - 1];
    for (int k = n - 2; k >= 0; k--)
        p = RDN_FMA(p, x, c[k]);
    return p;
}

#define RDN_LN2_HI 0x1.62e42fefa0000p-1
#define RDN_LN2_LO 0x1.cf79abc9e3b3ap-40
#define RDN_LOG2E 1.4426950408889634
#define RDN_SHIFT 6755399441055744.0                     /* 1.5 * 2^52: adding it rounds to an integer */

/* 2^n for a normal result. */
RDN_FN double rdn_pow2(int n) { return rdn_from_bits((rdn_u64)(n + 1023) << 52); }

RDN_FN double rdn_exp(double x) {
    if (x != x)
        return x;
    double c = x > 720.0 ? 720.0 : x;
    c = c < -760.0 ? -760.0 : c;
    double k = RDN_FMA(c, RDN_LOG2E, RDN_SHIFT) - RDN_SHIFT;
    double r = RDN_FMA(-k, RDN_LN2_LO, RDN_FMA(-k, RDN_LN2_HI, c));
    double y = 1.0 + RDN_FMA(r * r, rdn_poly(rdn_pe, 11, r), r);
    /* Two factors, because 2^n itself may be out of range; the last multiplication is the one that rounds. */
    int n = (int)k, a = n >> 1;
    return y * rdn_pow2(a) * rdn_pow2(n - a);
}

RDN_FN double rdn_log(double x) {
    if (x != x || x == RDN_INF)
        return x;
    if (x == 0.0)
        return -RDN_INF;
    if (x < 0.0)
        return RDN_NAN;
    int e = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        e = -54;
    }
    rdn_u64 b = rdn_bits(x);
    e += (int)(b >> 52) - 1023;
    double m = rdn_from_bits((b & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, k = (double)e;
    double h = RDN_FMA(s * z, rdn_poly(rdn_pl, 7, z), RDN_FMA(k, RDN_LN2_LO, -s * f));
    return RDN_FMA(k, RDN_LN2_HI, f + h);
}

/* invnorm for 2^-54 <= p <= 1 - 2^-53: all that normal() needs. */
RDN_FN double rdn_invnorm01(double p) {
    double q = p - 0.5;
    if (q * q <= 0.180625) {
        double s = 0.180625 - q * q;
        return q * rdn_poly(rdn_pc, 8, s) / rdn_poly(rdn_qc, 8, s);
    }
    double a = RDN_SQRT(-rdn_log(q < 0.0 ? p : 1.0 - p)) - 1.6;
    double t = rdn_poly(rdn_pt, 9, a);
    return (q < 0.0 ? -t : t) / rdn_poly(rdn_qt, 8, a);
}

RDN_FN double rdn_invnorm(double p) {
    if (!(p >= 0.0 && p <= 1.0))
        return RDN_NAN;
    if (p == 0.0)
        return -RDN_INF;
    if (p == 1.0)
        return RDN_INF;
    if (p >= 0x1p-54)
        return rdn_invnorm01(p);
    double b = RDN_SQRT(-rdn_log(p)) - 1.6 - 4.4;
    return -rdn_poly(rdn_pu, 8, b) / rdn_poly(rdn_qu, 8, b);
}

RDN_FN double rdn_normcdf(double x) {
    if (x != x)
        return x;
    double z = x < 0.0 ? -x : x;
    z = z > 40.0 ? 40.0 : z;
    double p = rdn_poly(rdn_pn, 23, (z - 4.0) / (z + 4.0));
    double h = z * z, low = RDN_FMA(z, z, -h), e = rdn_exp(-0.5 * h);
    double q = RDN_FMA(-0.5 * low, e, e) * (p / (z + 1.0));
    return x > 0.0 ? 1.0 - q : q;
}

/* r * 2^-n for 0.5 <= r <= 1 and 0 <= n < 1100, rounded once as ldexp does: a normal result is exact, a subnormal one is a
 * single multiplication by a power of two from a value that is still normal. */
RDN_FN double rdn_scale_down(double r, int n) {
    if (n < 1000)
        return r * rdn_pow2(-n);
    return r * rdn_pow2(-900) * rdn_pow2(900 - n);
}

/* E(y) = 2^-y for y >= 0 (10.6): plain multiplications and additions, no fma. */
RDN_FN double rdn_exp2m(double y) {
    if (y >= 1100.0)
        return 0.0;
    double n = RDN_FLOOR(y), f = y - n, r = rdn_e2[17];
    for (int k = 16; k >= 0; k--)
        r = r * f + rdn_e2[k];
    return rdn_scale_down(r, (int)n);
}
#endif
