/* SPDX-License-Identifier: Apache-2.0
 * text.c: the writers of LANGUAGE.md 17.1-17.3 and UTF-8.
 *
 * rdn_text_float tries 15, 16 and 17 digits. Every decimal of at most 15 digits survives a round trip through a normal
 * double, so the 15-digit text, if it reads back, is the shortest one followed by zeros. Subnormals have fewer digits and
 * try each length from one. */
#include "base/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Decimal digits d[0].d[1]... times 10^e10. */
struct digits { char d[20]; int n, e10; };

static void digits_of(struct digits *r, double x, int n) {
    char s[40];
    snprintf(s, sizeof s, "%.*e", n - 1, x);
    const char *p = s;
    for (r->n = 0; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9')                    /* skips the point of any locale */
            r->d[r->n++] = *p;
    r->e10 = 0;
    const char *e = *p ? p + 1 : p;
    for (const char *q = e + 1; *e && *q; q++)
        r->e10 = r->e10 * 10 + (*q - '0');
    if (*e == '-')
        r->e10 = -r->e10;
}

static bool reads_back(const struct digits *r, double x) {
    char s[48];
    int n = snprintf(s, sizeof s, "%.*se%d", r->n, r->d, r->e10 - (r->n - 1));
    double y;
    return rdn_read_f64(s, (size_t)n, &y) && y == x;
}

/* The decimal of the same length one unit further from zero. At a power of two the gap above is twice the gap below, so
 * this one may read back where the nearest one does not. */
static void step_up(struct digits *r) {
    int i = r->n - 1;
    while (i >= 0 && r->d[i] == '9')
        r->d[i--] = '0';
    if (i >= 0) {
        r->d[i]++;
        return;
    }
    r->d[0] = '1';
    r->e10++;
}

static void shortest(struct digits *r, double x) {
    for (int n = x < DBL_MIN ? 1 : 15; n <= 17; n++) {
        digits_of(r, x, n);
        if (reads_back(r, x))
            break;
        struct digits up = *r;
        step_up(&up);
        if (reads_back(&up, x)) {
            *r = up;
            break;
        }
    }
    while (r->n > 1 && r->d[r->n - 1] == '0')
        r->n--;
}

static size_t layout(char *out, const struct digits *r) {
    static const char zeros[] = "0000000000000000";
    int e = r->e10, n = r->n;
    if (e < -4 || e >= 16) {
        int at = n > 1 ? sprintf(out, "%c.%.*s", r->d[0], n - 1, r->d + 1) : sprintf(out, "%c", r->d[0]);
        return (size_t)(at + sprintf(out + at, "e%d", e));
    }
    if (e < 0)
        return (size_t)sprintf(out, "0.%.*s%.*s", -e - 1, zeros, n, r->d);
    if (n <= e + 1)
        return (size_t)sprintf(out, "%.*s%.*s.0", n, r->d, e + 1 - n, zeros);
    return (size_t)sprintf(out, "%.*s.%.*s", e + 1, r->d, n - e - 1, r->d + e + 1);
}

size_t rdn_text_float(char *out, double x) {
    if (isnan(x))
        return (size_t)sprintf(out, "nan");
    size_t sign = signbit(x) != 0;
    if (sign)
        *out++ = '-';
    if (isinf(x))
        return sign + (size_t)sprintf(out, "inf");
    if (x == 0)
        return sign + (size_t)sprintf(out, "0.0");
    struct digits r;
    shortest(&r, fabs(x));
    return sign + layout(out, &r);
}

size_t rdn_text_float_short(char *out, double x) {
    size_t n = rdn_text_float(out, x);
    if (n > 2 && memcmp(out + n - 2, ".0", 2) == 0)
        out[n -= 2] = 0;
    return n;
}

size_t rdn_text_i64(char *out, int64_t v) { return (size_t)sprintf(out, "%" PRId64, v); }

size_t rdn_text_dec(char *out, rdn_i128 m, unsigned scale) {
    char rev[RDN_TEXT_MAX];
    unsigned n = 0;
    rdn_u128 a = m < 0 ? -(rdn_u128)m : (rdn_u128)m;
    while (a || n <= scale) {                          /* at least one digit before the point */
        rev[n++] = (char)('0' + (int)(a % 10));
        a /= 10;
    }
    char *p = out;
    if (m < 0)
        *p++ = '-';
    while (n) {
        if (n == scale)
            *p++ = '.';
        *p++ = rev[--n];
    }
    *p = 0;
    return (size_t)(p - out);
}

/* ".02" of 20,000,000 ns; nothing of 0. */
static int fraction(char *out, int64_t ns) {
    if (!ns)
        return 0;
    int n = sprintf(out, ".%09" PRId64, ns);
    while (out[n - 1] == '0')
        n--;
    out[n] = 0;
    return n;
}

size_t rdn_text_time(char *out, int64_t t) {
    int64_t s = t / 1000000000, ns = t % 1000000000;
    if (ns < 0)
        ns += 1000000000, s--;
    int64_t days = s / 86400, sec = s % 86400;
    if (sec < 0)
        sec += 86400, days--;
    int n = (int)rdn_text_date(out, (int32_t)days);
    n += sprintf(out + n, "T%02d:%02d:%02d", (int)(sec / 3600), (int)(sec / 60 % 60), (int)(sec % 60));
    n += fraction(out + n, ns);
    return (size_t)(n + sprintf(out + n, "Z"));
}

size_t rdn_text_dur(char *out, int64_t ns) {
    uint64_t a = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    int n = sprintf(out, "%s%" PRIu64, ns < 0 ? "-" : "", a / 1000000000);
    n += fraction(out + n, (int64_t)(a % 1000000000));
    return (size_t)(n + sprintf(out + n, "s"));
}

size_t rdn_text_date(char *out, int32_t days) {
    int y;
    unsigned m, d;
    rdn_civil_from_days(days, &y, &m, &d);
    return (size_t)sprintf(out, "%04d-%02u-%02u", y, m, d);
}

/* Length of the sequence that begins with this byte, its smallest second byte and its largest; 0: no such lead byte. */
static unsigned lead(unsigned char c, unsigned char *lo, unsigned char *hi) {
    *lo = 0x80, *hi = 0xbf;
    if (c >= 0xc2 && c <= 0xdf)
        return 2;
    if (c >= 0xe0 && c <= 0xef) {
        if (c == 0xe0)
            *lo = 0xa0;                                /* overlong */
        if (c == 0xed)
            *hi = 0x9f;                                /* surrogates */
        return 3;
    }
    if (c >= 0xf0 && c <= 0xf4) {
        if (c == 0xf0)
            *lo = 0x90;
        if (c == 0xf4)
            *hi = 0x8f;                                /* above U+10FFFF */
        return 4;
    }
    return 0;
}

size_t rdn_utf8_cut(const char *s, size_t n, size_t max) {
    if (n <= max)
        return n;
    while (max && ((unsigned char)s[max] & 0xc0) == 0x80)
        max--;
    return max;
}

bool rdn_utf8_valid(const char *s, size_t n) {
    const unsigned char *p = (const unsigned char *)s;
    for (size_t i = 0; i < n;) {
        if (p[i] < 0x80) {
            i++;
            continue;
        }
        unsigned char lo, hi;
        unsigned len = lead(p[i], &lo, &hi);
        if (!len || n - i < len || p[i + 1] < lo || p[i + 1] > hi)
            return false;
        for (unsigned k = 2; k < len; k++)
            if ((p[i + k] & 0xc0) != 0x80)
                return false;
        i += len;
    }
    return true;
}

size_t rdn_utf8_len(const char *s, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += ((unsigned char)s[i] & 0xc0) != 0x80;
    return k;
}
