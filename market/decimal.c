/* SPDX-License-Identifier: Apache-2.0
 * decimal.c: decimal text to integers, integers to ticks (decimal.h). */
#include "market/decimal.h"

#include "base/text.h"

typedef __int128 wide;

static bool digit(char c) { return c >= '0' && c <= '9'; }

bool rdn_decimal_read(const char *s, size_t n, unsigned scale, int64_t *ret, bool *ret_rest) {
    size_t i = 0, digits = 0;
    bool neg = n && s[0] == '-', point = false;
    int64_t v = 0;
    unsigned after = 0;
    *ret_rest = false;
    for (i = neg; i < n; i++) {
        if (s[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (!digit(s[i]))
            return false;
        digits++;
        if (after == scale && point) {
            *ret_rest |= s[i] != '0';
            continue;
        }
        after += point;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s[i] - '0', &v))
            return false;
    }
    for (; after < scale; after++)
        if (__builtin_mul_overflow(v, 10, &v))
            return false;
    *ret = neg ? -v : v;
    return digits > 0;
}

bool rdn_decimal_u64(const char *s, size_t n, uint64_t *ret) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        if (!digit(s[i]) || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
            return false;
    *ret = v;
    return n > 0;
}

size_t rdn_decimal_text(char *out, rdn_i128 nano) {
    size_t n = rdn_text_dec(out, nano, RDN_DECIMAL_SCALE);
    while (out[n - 1] == '0')                            /* the point stops it */
        n--;
    n -= out[n - 1] == '.';
    out[n] = '\0';
    return n;
}

static wide nano(int64_t px, unsigned scale) {
    wide v = px;
    for (; scale < RDN_DECIMAL_SCALE; scale++)
        v *= 10;
    return v;
}

bool rdn_ticks_exact(int64_t px, unsigned scale, int64_t tick_nano, int64_t *ret) {
    static const int64_t tens[RDN_DECIMAL_SCALE + 1] = { 1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1 };
    int64_t narrow;
    if (scale <= RDN_DECIMAL_SCALE && !__builtin_mul_overflow(px, tens[scale], &narrow)) {       /* without a division of 128 bits */
        *ret = narrow / tick_nano;
        return narrow % tick_nano == 0 && *ret >= -((int64_t)1 << 60) && *ret <= (int64_t)1 << 60;
    }
    wide v = nano(px, scale), q = v / tick_nano;
    *ret = (int64_t)q;
    return v % tick_nano == 0 && q >= -((wide)1 << 60) && q <= (wide)1 << 60;
}

int64_t rdn_ticks_round(int64_t px, unsigned scale, int64_t tick_nano) {
    wide v = nano(px, scale), half = v < 0 ? -(tick_nano / 2) : tick_nano / 2, q = (v + half) / tick_nano;
    wide max = (wide)1 << 60;
    return (int64_t)(q > max ? max : q < -max ? -max : q);
}
