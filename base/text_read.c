/* SPDX-License-Identifier: Apache-2.0
 * text_read.c: the readers of text.h.
 *
 * rdn_read_f64 keeps SIG_MAX significant digits and one that stands for the rest. No midpoint of two doubles has more than
 * 767, so the nearest double is exact for a text of any length. */
#include "base/text.h"

#include <float.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Exactly k digits at *at as a number. */
static bool fixed(const char *s, size_t n, size_t *at, unsigned k, int *ret) {
    if (n - *at < k)
        return false;
    int v = 0;
    for (unsigned i = 0; i < k; i++) {
        char c = s[*at + i];
        if (!is_digit(c))
            return false;
        v = v * 10 + (c - '0');
    }
    *at += k;
    *ret = v;
    return true;
}

static bool skip(const char *s, size_t n, size_t *at, char c) {
    if (*at >= n || s[*at] != c)
        return false;
    ++*at;
    return true;
}

static bool read_ymd(const char *s, size_t n, size_t *at, int64_t *ret_days) {
    static const unsigned char month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int y = 0, m = 0, d = 0;                           /* gcc 12 at -O3 does not see that fixed() wrote them */
    if (!fixed(s, n, at, 4, &y) || !skip(s, n, at, '-') || !fixed(s, n, at, 2, &m) || !skip(s, n, at, '-') ||
        !fixed(s, n, at, 2, &d))
        return false;
    if (y < 1 || m < 1 || m > 12 || d < 1)
        return false;
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    if (d > month_days[m - 1] + (m == 2 && leap))
        return false;
    *ret_days = rdn_days_from_civil(y, (unsigned)m, (unsigned)d);
    return true;
}

bool rdn_read_date(const char *s, size_t n, int32_t *ret_days) {
    size_t at = 0;
    int64_t days;
    if (!read_ymd(s, n, &at, &days) || at != n)
        return false;
    *ret_days = (int32_t)days;
    return true;
}

/* ".1" to ".123456789" in nanoseconds; no point: 0. */
static bool read_fraction(const char *s, size_t n, size_t *at, int *ret_ns) {
    *ret_ns = 0;
    if (!skip(s, n, at, '.'))
        return true;
    unsigned k = 0;
    for (; *at < n && is_digit(s[*at]) && k < 9; k++)
        *ret_ns = *ret_ns * 10 + (s[(*at)++] - '0');
    if (!k)
        return false;
    for (; k < 9; k++)
        *ret_ns *= 10;
    return true;
}

/* "Z", "+02:00" or "-02:00" in seconds. */
static bool read_offset(const char *s, size_t n, size_t *at, int *ret_seconds) {
    *ret_seconds = 0;
    if (skip(s, n, at, 'Z'))
        return true;
    bool west = skip(s, n, at, '-');
    int h = 0, m = 0;
    if ((!west && !skip(s, n, at, '+')) || !fixed(s, n, at, 2, &h) || !skip(s, n, at, ':') || !fixed(s, n, at, 2, &m))
        return false;
    *ret_seconds = (h * 60 + m) * (west ? -60 : 60);
    return h <= 23 && m <= 59;
}

bool rdn_read_time(const char *s, size_t n, int64_t *ret_ns) {
    size_t at = 0;
    int64_t days;
    int h = 0, m = 0, sec = 0, ns = 0, off;
    if (!read_ymd(s, n, &at, &days) || !skip(s, n, &at, 'T') || !fixed(s, n, &at, 2, &h) || !skip(s, n, &at, ':') ||
        !fixed(s, n, &at, 2, &m))
        return false;
    if (skip(s, n, &at, ':') && (!fixed(s, n, &at, 2, &sec) || !read_fraction(s, n, &at, &ns)))
        return false;
    if (!read_offset(s, n, &at, &off) || at != n || h > 23 || m > 59 || sec > 59)
        return false;
    rdn_i128 t = (rdn_i128)(days * 86400 + h * 3600 + m * 60 + sec - off) * 1000000000 + ns;
    if (!rdn_fits_i64(t))
        return false;
    *ret_ns = (int64_t)t;
    return true;
}

static bool read_unit(const char *s, size_t n, size_t *at, int64_t *ret_ns) {
    static const struct { const char *text; int64_t ns; } units[] = {   /* "ms" before "m" */
        {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t k = strlen(units[i].text);
        if (n - *at >= k && memcmp(s + *at, units[i].text, k) == 0) {
            *at += k;
            *ret_ns = units[i].ns;
            return true;
        }
    }
    return false;
}

/* A sum of terms is exact to the nanosecond only if no fraction is cut before the end, so the fraction is kept as decimal
 * digits after the nanosecond. A text of at most 64 bytes has at most 62 of them. */
enum { FRAC = 64 };
struct exact { rdn_i128 ns; unsigned char frac[FRAC]; };

/* Adds digits[0..n) * 10^-(n - whole) * unit. One digit at a time: each is worth unit * 10^(whole - 1 - i). */
static bool add_term(struct exact *sum, const char *digits, unsigned n, unsigned whole, int64_t unit) {
    rdn_i128 ns = 0;
    for (unsigned i = 0; i < whole; i++) {
        ns = ns * 10 + (digits[i] - '0');
        if (ns > (rdn_i128)1 << 70)
            return false;                              /* out of int64 whatever follows */
    }
    /* Long division the other way: a fraction digit times the unit, carried down place by place. */
    unsigned char carry[FRAC] = {0};
    rdn_i128 frac = 0;
    rdn_i128 part = 0;
    for (unsigned i = n; i > whole; i--) {             /* part = (part + digit * unit) / 10, its remainder is a digit */
        part += (rdn_i128)(digits[i - 1] - '0') * unit;
        memmove(carry + 1, carry, FRAC - 1);
        carry[0] = (unsigned char)(part % 10);
        part /= 10;
    }
    frac = part;
    unsigned over = 0;
    for (unsigned i = FRAC; i-- > 0;) {
        over += sum->frac[i] + carry[i];
        sum->frac[i] = (unsigned char)(over % 10);
        over /= 10;
    }
    sum->ns += ns * unit + frac + (rdn_i128)over;
    return sum->ns <= (rdn_i128)1 << 70;
}

bool rdn_read_dur(const char *s, size_t n, int64_t *ret_ns) {
    if (n > 64)
        return false;
    size_t at = 0;
    bool negative = skip(s, n, &at, '-');
    if (!negative)
        skip(s, n, &at, '+');
    if (at == n)
        return false;
    struct exact sum = {0};
    while (at < n) {
        char digits[64];
        unsigned k = 0, whole;
        while (at < n && is_digit(s[at]))
            digits[k++] = s[at++];
        whole = k;
        if (skip(s, n, &at, '.'))
            while (at < n && is_digit(s[at]))
                digits[k++] = s[at++];
        int64_t unit;
        if (!k || !read_unit(s, n, &at, &unit) || !add_term(&sum, digits, k, whole, unit))
            return false;
    }
    rdn_i128 v = negative ? -sum.ns : sum.ns;
    if (!rdn_fits_i64(v))
        return false;
    *ret_ns = (int64_t)v;
    return true;
}

bool rdn_read_i64(const char *s, size_t n, int64_t *ret) {
    size_t at = 0;
    bool negative = skip(s, n, &at, '-');
    if (at == n)
        return false;
    int64_t v = 0;                                     /* counts down: the minimum has no positive twin */
    for (; at < n; at++)
        if (!is_digit(s[at]) || __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, s[at] - '0', &v))
            return false;
    if (!negative && v == INT64_MIN)
        return false;
    *ret = negative ? v : -v;
    return true;
}

enum { SIG_MAX = 800, EXP_MAX = 1000000 };
struct number {
    char sig[SIG_MAX + 1];
    unsigned nsig;
    int64_t exp;                                       /* of the last digit */
    bool negative;
};

/* Digits of one part; leading zeros are no significant digits. Returns how many were seen. */
static size_t take_digits(struct number *r, const char *s, size_t n, size_t *at, bool after_point) {
    size_t from = *at;
    for (; *at < n && is_digit(s[*at]); ++*at) {
        char c = s[*at];
        r->exp -= after_point;
        if (!r->nsig && c == '0')
            continue;
        if (r->nsig < SIG_MAX) {
            r->sig[r->nsig++] = c;
            continue;
        }
        r->exp++;
        if (c != '0')
            r->sig[SIG_MAX] = '1';
    }
    return *at - from;
}

static bool take_exponent(struct number *r, const char *s, size_t n, size_t *at) {
    if (!skip(s, n, at, 'e') && !skip(s, n, at, 'E'))
        return true;
    bool negative = skip(s, n, at, '-');
    if (!negative)
        skip(s, n, at, '+');
    size_t from = *at;
    int64_t e = 0;
    for (; *at < n && is_digit(s[*at]); ++*at)
        if (e < INT64_MAX / 16)
            e = e * 10 + (s[*at] - '0');
    r->exp += negative ? -e : e;
    return *at > from;
}

static bool take_number(struct number *r, const char *s, size_t n) {
    r->nsig = 0;
    r->exp = 0;
    r->sig[SIG_MAX] = '0';
    size_t at = 0;
    r->negative = skip(s, n, &at, '-');
    if (!r->negative)
        skip(s, n, &at, '+');
    size_t digits = take_digits(r, s, n, &at, false);
    if (skip(s, n, &at, '.'))
        digits += take_digits(r, s, n, &at, true);
    return digits && take_exponent(r, s, n, &at) && at == n;
}

static locale_t c_locale;
static void make_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static double slow_f64(struct number *r) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    int64_t e = r->exp;
    unsigned n = r->nsig;
    if (n == SIG_MAX) {                                /* the sticky digit stands one place lower */
        n++;
        e--;
    }
    e = e > EXP_MAX ? EXP_MAX : e < -EXP_MAX ? -EXP_MAX : e;
    char s[SIG_MAX + 16];
    memcpy(s, r->sig, n);
    sprintf(s + n, "e%d", (int)e);
    return c_locale ? strtod_l(s, NULL, c_locale) : strtod(s, NULL);   /* digits and e only: the same in every locale */
}

bool rdn_read_f64(const char *s, size_t n, double *ret) {
    static const double exact10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct number r;
    if (!take_number(&r, s, n))
        return false;
    double v = 0;
    if (r.nsig <= 15 && r.exp >= -22 && r.exp <= 22) { /* both factors are exact, so one rounding gives the nearest */
        uint64_t m = 0;
        for (unsigned i = 0; i < r.nsig; i++)
            m = m * 10 + (unsigned)(r.sig[i] - '0');
        v = r.exp < 0 ? (double)m / exact10[-r.exp] : (double)m * exact10[r.exp];
    } else if (r.nsig) {
        v = slow_f64(&r);
    }
    *ret = r.negative ? -v : v;
    return true;
}
