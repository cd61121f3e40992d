/* SPDX-License-Identifier: Apache-2.0
 * dec.c: exact decimal arithmetic on 128-bit mantissas; 256 bits inside division. [any] [hot] */
#include "base/dec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define E19 ((rdn_i128)10000000000000000000u)
static const rdn_i128 pow10_table[39] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
    1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
    1000000000000000000, E19, E19 * 10, E19 * 100, E19 * 1000, E19 * 10000, E19 * 100000, E19 * 1000000, E19 * 10000000,
    E19 * 100000000, E19 * 1000000000, E19 * 10000000000, E19 * 100000000000, E19 * 1000000000000, E19 * 10000000000000,
    E19 * 100000000000000, E19 * 1000000000000000, E19 * 10000000000000000, E19 * 100000000000000000,
    E19 * 1000000000000000000, E19 * E19,
};

rdn_i128 rdn_pow10(unsigned n) {
    assert(n < 39);
    return pow10_table[n];
}

static rdn_u128 magnitude(rdn_i128 v) { return v < 0 ? -(rdn_u128)v : (rdn_u128)v; }

/* Gives q a sign; false when it does not fit. */
static bool with_sign(rdn_u128 q, bool negative, rdn_i128 *ret) {
    if (q > (rdn_u128)RDN_I128_MAX + negative)
        return false;
    *ret = (rdn_i128)(negative ? -q : q);
    return true;
}

/* Whether q.r/d rounds up in magnitude, ties to even. r < d, so d - r does not wrap. */
static bool round_up(rdn_u128 q, rdn_u128 r, rdn_u128 d) { return r > d - r || (r == d - r && (q & 1)); }

bool rdn_dec_rescale(rdn_i128 m, unsigned from, unsigned to, rdn_i128 *ret) {
    if (to >= from) {
        rdn_i128 v;
        if (__builtin_mul_overflow(m, rdn_pow10(to - from), &v))
            return false;
        *ret = v;
        return true;
    }
    rdn_u128 a = magnitude(m), d = (rdn_u128)rdn_pow10(from - to), q = a / d;
    q += round_up(q, a % d, d);
    return with_sign(q, m < 0, ret);
}

int rdn_dec_cmp(rdn_i128 a, unsigned sa, rdn_i128 b, unsigned sb) {
    if (sa > sb)
        return -rdn_dec_cmp(b, sb, a, sa);
    rdn_i128 v;
    if (__builtin_mul_overflow(a, rdn_pow10(sb - sa), &v))
        return a < 0 ? -1 : 1;                         /* beyond every b */
    return (v > b) - (v < b);
}

double rdn_i128_to_f64(rdn_i128 v) { return (double)v; }

double rdn_dec_to_f64(rdn_i128 m, unsigned scale) { return (double)m / (double)rdn_pow10(scale); }

int rdn_f64_to_dec(double x, unsigned scale, rdn_i128 *ret) {
    if (isnan(x))
        return 3;
    if (isinf(x))
        return 6;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52 & 0x7ff);
    uint64_t m = bits & 0xfffffffffffffu;
    if (e)
        m |= (uint64_t)1 << 52;
    else
        e = 1;
    e -= 1075;                                         /* |x| = m * 2^e; m * 10^18 stays below 2^113 */
    rdn_u128 p = (rdn_u128)m * (rdn_u128)rdn_pow10(scale), q;
    if (e >= 0) {
        if (p && (e > 127 || p > (~(rdn_u128)0 >> e)))
            return 4;
        q = p ? p << e : 0;
    } else if (e <= -120) {
        q = 0;                                         /* below one half by far */
    } else {
        rdn_u128 d = (rdn_u128)1 << -e;
        q = p >> -e;
        q += round_up(q, p & (d - 1), d);
    }
    return with_sign(q, bits >> 63, ret) ? 0 : 4;
}

struct u256 { rdn_u128 hi, lo; };

static struct u256 mul_wide(rdn_u128 a, rdn_u128 b) {
    uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64), b0 = (uint64_t)b, b1 = (uint64_t)(b >> 64);
    rdn_u128 p00 = (rdn_u128)a0 * b0, p01 = (rdn_u128)a0 * b1, p10 = (rdn_u128)a1 * b0, p11 = (rdn_u128)a1 * b1;
    rdn_u128 mid = (p00 >> 64) + (uint64_t)p01 + (uint64_t)p10;
    return (struct u256){p11 + (p01 >> 64) + (p10 >> 64) + (mid >> 64), mid << 64 | (uint64_t)p00};
}

/* One digit of Knuth's algorithm D: (*rem * 2^64 + next) / d, with *rem < d and the top bit of d set. */
static uint64_t div_digit(rdn_u128 *rem, uint64_t next, rdn_u128 d) {
    uint64_t d1 = (uint64_t)(d >> 64), d0 = (uint64_t)d;
    rdn_u128 q, r;
    if ((uint64_t)(*rem >> 64) >= d1) {
        q = UINT64_MAX;
        r = *rem - q * d1;
    } else {
        q = *rem / d1;
        r = *rem % d1;
    }
    while (r >> 64 == 0 && q * d0 > (r << 64 | next)) {
        q--;
        r += d1;
    }
    *rem = (r << 64 | next) - q * d0;                  /* modulo 2^128: the true remainder is below d */
    return (uint64_t)q;
}

/* n / d for n.hi < d. */
static rdn_u128 div_wide(struct u256 n, rdn_u128 d, rdn_u128 *ret_rem) {
    if (n.hi == 0) {
        *ret_rem = n.lo % d;
        return n.lo / d;
    }
    uint64_t top = (uint64_t)(d >> 64);
    unsigned s = top ? (unsigned)__builtin_clzll(top) : 64u + (unsigned)__builtin_clzll((uint64_t)d);
    d <<= s;
    rdn_u128 rem = s ? n.hi << s | n.lo >> (128 - s) : n.hi, lo = n.lo << s;
    rdn_u128 q = (rdn_u128)div_digit(&rem, (uint64_t)(lo >> 64), d) << 64;
    q |= div_digit(&rem, (uint64_t)lo, d);
    *ret_rem = rem >> s;
    return q;
}

int rdn_dec_div(rdn_i128 a, unsigned sa, rdn_i128 b, unsigned sb, unsigned n, rdn_i128 *ret) {
    if (b == 0)
        return 5;
    int k = (int)n + (int)sb - (int)sa;                /* the quotient is a * 10^k / b */
    struct u256 num = {0, magnitude(a)}, den = {0, magnitude(b)};
    if (k >= 0)
        num = mul_wide(num.lo, (rdn_u128)rdn_pow10((unsigned)k));
    else
        den = mul_wide(den.lo, (rdn_u128)rdn_pow10((unsigned)-k));
    if (den.hi) {                                      /* then the numerator is |a| <= 2^127: at most one half, a tie to 0 */
        *ret = 0;
        return 0;
    }
    if (num.hi >= den.lo)
        return 4;
    rdn_u128 rem, q = div_wide(num, den.lo, &rem);
    if (q > (rdn_u128)1 << 127)
        return 4;
    q += round_up(q, rem, den.lo);
    return with_sign(q, (a < 0) != (b < 0), ret) ? 0 : 4;
}
