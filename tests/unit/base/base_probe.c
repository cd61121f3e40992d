/* SPDX-License-Identifier: Apache-2.0
 * base_probe.c: base/ on a line protocol, for base_diff.py. One request a line, "OP args"; one answer a line. Numbers of
 * 128 bits are decimal text, doubles are the 16 hex digits of their bits, byte strings are hex; "-" means refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/dec.h"
#include "base/text.h"
#include "base/tz.h"

static rdn_i128 to_i128(const char *s) {
    bool neg = *s == '-';
    rdn_u128 v = 0;
    for (s += neg; *s; s++)
        v = v * 10 + (unsigned)(*s - '0');
    return (rdn_i128)(neg ? -v : v);
}

static void put_i128(rdn_i128 v) {
    char t[RDN_TEXT_MAX];
    rdn_text_dec(t, v, 0);
    puts(t);
}

static double to_f64(const char *s) {
    uint64_t b = strtoull(s, NULL, 16);
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static void put_f64(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    printf("%016" PRIx64 "\n", b);
}

static size_t to_bytes(const char *hex, char *out) {
    size_t n = 0;
    for (unsigned b; sscanf(hex, "%2x", &b) == 1; hex += 2)
        out[n++] = (char)b;
    return n;
}

static unsigned u(const char *s) { return (unsigned)strtoul(s, NULL, 10); }

static bool texts(char op, char **a) {
    char t[RDN_TEXT_MAX];
    size_t n = 0;
    switch (op) {
    case 'F': n = rdn_text_float(t, to_f64(a[0])); break;
    case 'S': n = rdn_text_float_short(t, to_f64(a[0])); break;
    case 'T': n = rdn_text_time(t, strtoll(a[0], NULL, 10)); break;
    case 'U': n = rdn_text_dur(t, strtoll(a[0], NULL, 10)); break;
    case 'D': n = rdn_text_date(t, (int32_t)strtol(a[0], NULL, 10)); break;
    case 'E': n = rdn_text_dec(t, to_i128(a[0]), u(a[1])); break;
    default: return false;
    }
    puts(n == strlen(t) ? t : "wrong length");
    return true;
}

static bool readers(char op, const char *hex) {
    static char s[1 << 16];
    size_t n = op ? to_bytes(hex, s) : 0;
    int64_t i = 0;
    int32_t days;
    double x;
    bool ok;
    switch (op) {
    case 'R':
        if (rdn_read_f64(s, n, &x))
            put_f64(x);
        else
            puts("-");
        return true;
    case 'I': ok = rdn_read_i64(s, n, &i); break;
    case 't': ok = rdn_read_time(s, n, &i); break;
    case 'u': ok = rdn_read_dur(s, n, &i); break;
    case 'd': ok = rdn_read_date(s, n, &days), i = ok ? days : 0; break;
    case '8': printf("%d %zu\n", rdn_utf8_valid(s, n), rdn_utf8_len(s, n)); return true;
    default: return false;
    }
    if (ok)
        printf("%" PRId64 "\n", i);
    else
        puts("-");
    return true;
}

static bool decimals(char op, char **a) {
    rdn_i128 v = 0;
    int rc;
    switch (op) {
    case 'C': rc = !rdn_dec_rescale(to_i128(a[0]), u(a[1]), u(a[2]), &v); break;
    case 'Y': rc = rdn_f64_to_dec(to_f64(a[0]), u(a[1]), &v); break;
    case 'V': rc = rdn_dec_div(to_i128(a[0]), u(a[1]), to_i128(a[2]), u(a[3]), u(a[4]), &v); break;
    case 'M': printf("%d\n", rdn_dec_cmp(to_i128(a[0]), u(a[1]), to_i128(a[2]), u(a[3]))); return true;
    case 'X': put_f64(rdn_dec_to_f64(to_i128(a[0]), u(a[1]))); return true;
    default: return false;
    }
    if (rc)
        printf("!%d\n", rc);
    else
        put_i128(v);
    return true;
}

static void others(char op, char **a, int n) {
    if (op == 'Z') {
        const struct rdn_tz *z = rdn_tz_find(a[0], strlen(a[0]));
        for (int i = 1; z && i < n; i++)
            printf("%d ", rdn_tz_offset(z, strtoll(a[i], NULL, 10)));
        puts(z ? "" : "-");
    } else if (op == 'N') {
        printf("%d\n", rdn_nearest(a[0], (const char *const *)a + 1, (size_t)n - 1));
    } else if (op == 'J') {
        static char s[1 << 16];
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        rdn_buf_json(&b, s, to_bytes(a[0], s));
        puts(rdn_buf_str(&b));
        rdn_buf_fini(&b);
    } else {
        puts("unknown request");
    }
}

int main(void) {
    static char line[1 << 17], empty[] = "";
    while (fgets(line, sizeof line, stdin)) {
        char *a[64], *save;
        int n = 0;
        for (char *t = strtok_r(line, " \n", &save); t && n < 63; t = strtok_r(NULL, " \n", &save))
            a[n++] = t;
        for (int i = n; i < 64; i++)
            a[i] = empty;
        if (!texts(*a[0], a + 1) && !readers(*a[0], a[1]) && !decimals(*a[0], a + 1))
            others(*a[0], a + 1, n - 1);
    }
}
