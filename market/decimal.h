/* SPDX-License-Identifier: Apache-2.0
 * decimal.h: decimal text and doubles to whole ticks, exactly or not at all. [any] */
#ifndef RDN_DECIMAL_H
#define RDN_DECIMAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/dec.h"

enum { RDN_DECIMAL_SCALE = 9 };          /* digits after the point of an instrument's tick and lot */

/* "-12.5" at scale 2: -1250. False: no digits, another character, or does not fit. Digits beyond the scale must be zeros, else
 * *ret_rest (may not be NULL) is set. */
bool rdn_decimal_read(const char *s, size_t n, unsigned scale, int64_t *ret, bool *ret_rest);
bool rdn_decimal_u64(const char *s, size_t n, uint64_t *ret);        /* digits only, at least one */
/* Units of 10^-9 as text without zeros at its end, in RDN_TEXT_MAX bytes: "0.01", "12". The length. */
size_t rdn_decimal_text(char *out, rdn_i128 nano);

/* Tick as units of 10^-9. Whole ticks of a price with `scale` digits; false when between two ticks or out of range. */
bool rdn_ticks_exact(int64_t px, unsigned scale, int64_t tick_nano, int64_t *ret);
int64_t rdn_ticks_round(int64_t px, unsigned scale, int64_t tick_nano);           /* nearest, half away from zero */
/* Eight characters at once: how many digits they begin with, and their value. */
static inline unsigned rdn_decimal_eight(const char *s, uint64_t *ret) {
    uint64_t x;
    memcpy(&x, s, sizeof x);
    x = rdn_le64((const unsigned char *)&x) ^ 0x3030303030303030u;
    uint64_t other = (x | (x + 0x0606060606060606u)) & 0xf0f0f0f0f0f0f0f0u;
    unsigned n = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    x = n ? x << (64 - 8 * n) : 0;                       /* zeros in front */
    x = (x & 0x0f0f0f0f0f0f0f0fu) * 2561 >> 8;
    x = (x & 0x00ff00ff00ff00ffu) * 6553601 >> 16;
    *ret = (x & 0x0000ffff0000ffffu) * 42949672960001u >> 32;
    return n;
}
/* The digits from s on, at least one: where they end; NULL: none, or more than `most`, which is 8 to 18: no more fit. */
static inline const char *rdn_decimal_digits(const char *s, const char *end, unsigned most, uint64_t *ret) {
    uint64_t v = 0;
    const char *from = s;
    if (end - s >= 8) {
        unsigned n = rdn_decimal_eight(s, &v);
        s += n;
        if (n < 8) {
            *ret = v;
            return n ? s : NULL;
        }
    }
    for (; s < end && (unsigned char)(*s - '0') < 10; s++)
        v = v * 10 + (uint64_t)(*s - '0');
    *ret = v;
    return s > from && s - from <= (ptrdiff_t)most ? s : NULL;
}
#endif
