/* SPDX-License-Identifier: Apache-2.0
 * wide.h: whole numbers of 320 bits, two's complement: sums of products that 128 bits do not hold (quantity x price x multiplier x
 * rate is 256 bits, a day's sum of them less than 300). No operation overflows where the ledger uses it. [any] [hot] */
#ifndef RDN_WIDE_H
#define RDN_WIDE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/dec.h"

enum { RDN_WIDE_LIMBS = 5 };
struct rdn_wide { uint64_t w[RDN_WIDE_LIMBS]; };

static inline struct rdn_wide rdn_wide_of(rdn_i128 v) {
    uint64_t sign = v < 0 ? UINT64_MAX : 0;
    return (struct rdn_wide){ { (uint64_t)v, (uint64_t)(v >> 64), sign, sign, sign } };
}
static inline struct rdn_wide rdn_wide_add(struct rdn_wide a, struct rdn_wide b) {
    unsigned carry = 0;
    for (int i = 0; i < RDN_WIDE_LIMBS; i++) {
        rdn_u128 s = (rdn_u128)a.w[i] + b.w[i] + carry;
        a.w[i] = (uint64_t)s;
        carry = (unsigned)(s >> 64);
    }
    return a;
}
static inline struct rdn_wide rdn_wide_neg(struct rdn_wide a) {
    for (int i = 0; i < RDN_WIDE_LIMBS; i++)
        a.w[i] = ~a.w[i];
    return rdn_wide_add(a, rdn_wide_of(1));
}
static inline struct rdn_wide rdn_wide_sub(struct rdn_wide a, struct rdn_wide b) { return rdn_wide_add(a, rdn_wide_neg(b)); }
static inline bool rdn_wide_negative(struct rdn_wide a) { return a.w[RDN_WIDE_LIMBS - 1] >> 63; }
static inline struct rdn_wide rdn_wide_mul64(struct rdn_wide a, uint64_t m) {
    uint64_t carry = 0;
    for (int i = 0; i < RDN_WIDE_LIMBS; i++) {
        rdn_u128 p = (rdn_u128)a.w[i] * m + carry;
        a.w[i] = (uint64_t)p;
        carry = (uint64_t)(p >> 64);
    }
    return a;
}
/* Modulo 2^320, which is exact for results that fit. */
static inline struct rdn_wide rdn_wide_mul(struct rdn_wide a, rdn_i128 m) {
    bool minus = m < 0;
    rdn_u128 u = minus ? -(rdn_u128)m : (rdn_u128)m;
    struct rdn_wide low = rdn_wide_mul64(a, (uint64_t)u), high = { { 0 } };
    if (u >> 64) {
        struct rdn_wide part = rdn_wide_mul64(a, (uint64_t)(u >> 64));
        for (int i = 1; i < RDN_WIDE_LIMBS; i++)
            high.w[i] = part.w[i - 1];
        low = rdn_wide_add(low, high);
    }
    return minus ? rdn_wide_neg(low) : low;
}
/* False: the absolute value is 2^127 or more. */
static inline bool rdn_wide_fits(struct rdn_wide a, rdn_i128 *ret) {
    uint64_t sign = rdn_wide_negative(a) ? UINT64_MAX : 0;
    *ret = (rdn_i128)((rdn_u128)a.w[1] << 64 | a.w[0]);
    return a.w[2] == sign && a.w[3] == sign && a.w[4] == sign && (*ret < 0) == (sign != 0) && *ret != RDN_I128_MIN;
}
static inline rdn_i128 rdn_wide_floor_div(rdn_i128 a, int64_t by) {       /* by > 0 */
    rdn_i128 q = rdn_fits_i64(a) ? (int64_t)a / by : a / by;
    return q - (a < 0 && q * by != a);
}
#endif
