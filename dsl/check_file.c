/* SPDX-License-Identifier: Apache-2.0
 * check_file.c: data files, `from "…"` (LANGUAGE.md 9): one value or row a line, text may stand without quotes, blank lines and
 * lines that begin with # are skipped. Whatever is wrong with the path is E0710, with the content E0711, at the file's name.
 *
 * A million plain values must load in well under a second, so the usual forms are read here and only what looks like
 * anything else goes through the parser. The file's bytes stay in the arena: texts point into them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "base/scope.h"
#include "base/text.h"
#include "dsl/check.h"

#define FILE_MAX ((off_t)256 << 20)

/* ---- the file ---- */
/* Letters, digits, dot, underscore, minus; parts between single slashes, none of them "..". */
static bool good_path(const char *p, size_t n) {
    size_t part = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && p[i] != '/') {
            const char ch = p[i];
            if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' || ch == '-'))
                return false;
            continue;
        }
        if (i == part || (i - part == 2 && p[part] == '.' && p[part + 1] == '.'))
            return false;
        part = i + 1;
    }
    return true;
}

static ssize_t read_all(int fd, char *p, size_t n) {
    size_t got = 0;
    while (got < n) {
        const ssize_t r = read(fd, p + got, n - got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return r < 0 ? -1 : (ssize_t)got;
        got += (size_t)r;
    }
    return (ssize_t)got;
}

/* Its bytes in the arena; false: not a regular file that can be read. A descriptor is never open across a jump. */
static bool load(struct rdn_ck *k, const char *path, struct rdn_datafile *ret) {
    struct stat st;
    const int probe = stat(path, &st);
    if (probe < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
        return false;
    char *p = rdn_arena_alloc(k->c->arena, (size_t)st.st_size + 1);
    rdn_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const ssize_t n = fd < 0 ? -1 : read_all(fd, p, (size_t)st.st_size);
    *ret = (struct rdn_datafile){ p, p + (n > 0 ? n : 0) };
    return n >= 0;
}

struct rdn_datafile rdn_datafile_open(struct rdn_ck *k, const char *path, uint32_t len, struct rdn_span pos) {
    struct rdn_datafile f;
    const char *base = k->c->opt ? k->c->opt->base_dir : NULL;
    if (!good_path(path, len))
        rdn_raise(k->c, "E0710", pos, NULL, "a data file is a relative path without ..");
    if (!base || !load(k, rdn_arena_printf(k->c->arena, "%s/%.*s", base, (int)len, path), &f) ||
        !rdn_utf8_valid(f.p, (size_t)(f.end - f.p)))
        rdn_raise(k->c, "E0711", pos, base ? NULL : "data files are read from a directory, and none was given", "cannot read '%.*s'",
                  (int)(len < 60 ? len : 60), path);
    return f;
}

/* Length of the white space character at p, 0 if there is none: ASCII and Unicode, as in trim(), and the four separators
 * U+001C to U+001F. */
static size_t space_at(const char *s, size_t n) {
    const unsigned char *p = (const unsigned char *)s;
    if (n == 0)
        return 0;
    if (p[0] == ' ' || (p[0] >= 0x09 && p[0] <= 0x0d) || (p[0] >= 0x1c && p[0] <= 0x1f))
        return 1;
    if (n >= 2 && p[0] == 0xc2 && (p[1] == 0x85 || p[1] == 0xa0))
        return 2;
    if (n < 3)
        return 0;
    const unsigned c = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
    return c == 0xe19a80 || (c >= 0xe28080 && c <= 0xe2808a) || c == 0xe280a8 || c == 0xe280a9 || c == 0xe280af || c == 0xe2819f ||
           c == 0xe38080 ? 3 : 0;
}

static void strip(const char **s, size_t *n) {
    size_t w;
    while ((w = space_at(*s, *n)))
        *s += w, *n -= w;
    for (;;) {
        w = *n && space_at(*s + *n - 1, 1) ? 1 : *n >= 2 && space_at(*s + *n - 2, 2) == 2 ? 2 : *n >= 3 && space_at(*s + *n - 3, 3) == 3 ? 3 : 0;
        if (!w)
            return;
        *n -= w;
    }
}

bool rdn_datafile_line(struct rdn_datafile *f, const char **ret, size_t *ret_len) {
    while (f->p < f->end) {
        const char *s = f->p, *nl = memchr(s, '\n', (size_t)(f->end - s));
        size_t n = (size_t)((nl ? nl : f->end) - s);
        f->p = nl ? nl + 1 : f->end;
        strip(&s, &n);
        if (n && *s != '#') {
            *ret = s;
            *ret_len = n;
            return true;
        }
    }
    return false;
}

/* ---- a value ---- */
static size_t digits(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && s[i] >= '0' && s[i] <= '9')
        i++;
    return i;
}

/* -?digits[.digits] of at most 18 digits: mantissa and decimals without trailing zeros. */
static bool plain_number(const char *s, size_t n, int64_t *ret_m, unsigned *ret_sc) {
    const bool neg = n && *s == '-';
    s += neg, n -= neg;
    const size_t whole = digits(s, n), frac = whole + 1 < n && s[whole] == '.' ? digits(s + whole + 1, n - whole - 1) : 0;
    if (!whole || whole + frac > 18 || n != whole + (frac ? frac + 1 : 0))
        return false;
    int64_t m = 0;
    for (size_t i = 0; i < n; i++)
        m = s[i] == '.' ? m : m * 10 + (s[i] - '0');
    unsigned sc = (unsigned)frac;
    while (sc && m % 10 == 0)
        m /= 10, sc--;
    *ret_m = neg ? -m : m;
    *ret_sc = sc;
    return true;
}

static bool plain_float(const char *s, size_t n, double *ret) {
    const size_t neg = n && *s == '-', whole = digits(s + neg, n - neg);
    size_t at = neg + whole;
    if (at + 1 < n && s[at] == '.')
        at += 1 + digits(s + at + 1, n - at - 1);
    return whole && at == n && s[n - 1] != '.' && n <= 40 && rdn_read_f64(s, n, ret);
}

static bool plain_dur(const char *s, size_t n, int64_t *ret) {
    static const struct { const char *unit; int64_t ns; } units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
                                                                      { "m", 60000000000 }, { "h", 3600000000000 }, { "d", 86400000000000 } };
    const bool neg = n && *s == '-';
    const size_t number = digits(s + neg, n - neg), unit = neg + number;
    int64_t m;
    unsigned sc;
    if (!plain_number(s, unit, &m, &sc) || sc)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].unit) == n - unit && !memcmp(units[i].unit, s + unit, n - unit))
            return !__builtin_mul_overflow(m, units[i].ns, ret);
    return false;
}

/* The usual spelling of a value; false: ask the parser. */
static bool plain_value(const char *s, size_t n, rdn_ty t, struct rdn_cell *ret) {
    int64_t m;
    unsigned sc;
    int32_t day;
    *ret = (struct rdn_cell){ 0 };
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_INT:
        if (!plain_number(s, n, &m, &sc) || memchr(s, '.', n))
            return false;
        ret->i = m;
        return true;
    case RDN_K_DEC:
        if (!plain_number(s, n, &m, &sc) || sc > t->scale)
            return false;
        ret->d = (rdn_i128)m * rdn_pow10(t->scale - sc);
        return rdn_fits_i64(ret->d);
    case RDN_K_FLOAT: return plain_float(s, n, &ret->f);
    case RDN_K_DATE:
        if (!rdn_read_date(s, n, &day))
            return false;
        ret->i = day;
        return true;
    case RDN_K_TIME: return rdn_read_time(s, n, &ret->i);
    case RDN_K_BOOL:
        ret->i = n == 4 && !memcmp(s, "true", 4);
        return ret->i || (n == 5 && !memcmp(s, "false", 5));
    case RDN_K_DUR: return plain_dur(s, n, &ret->i);
    case RDN_K_SYM: case RDN_K_STR: case RDN_K_ENUM: case RDN_K_TEXT: case RDN_K_ARR: case RDN_K_EVENT: case RDN_K_NONE:
    case RDN_K_COUNT: return false;
    }
    return false;
}

static void parsed_value(struct rdn_ck *k, const char *s, size_t n, rdn_ty t, struct rdn_cell *ret) {
    rdn_ck_const(k, rdn_parse_expr_text(k->c, s, n, true), t, RDN_WHAT("value", NULL), ret);
}

static bool value_of(struct rdn_ck *k, const char *s, size_t n, rdn_ty t, struct rdn_cell *ret) {
    if (rdn_type_is_text(t) && (!n || *s != '"'))
        return n <= RDN_LIM_STR_BYTES && rdn_ck_text_value(k, t, s, n, ret);
    if (rdn_type_is_text(t) && n >= 2 && s[n - 1] == '"' && !memchr(s + 1, '\\', n - 2) && !memchr(s + 1, '"', n - 2))
        return n - 2 <= RDN_LIM_STR_BYTES && rdn_ck_text_value(k, t, s + 1, n - 2, ret);
    if (plain_value(s, n, t, ret))
        return true;
    struct rdn_guard g;
    RDN_TRY(k->c, g) {
        parsed_value(k, s, n, t, ret);
        RDN_DONE(k->c, g);
        return true;
    }
    return false;
}

void rdn_datafile_cell(struct rdn_ck *k, const char *s, size_t n, rdn_ty t, struct rdn_span pos, struct rdn_cell *ret) {
    strip(&s, &n);
    if (!value_of(k, s, n, t, ret))
        rdn_raise(k->c, "E0711", pos, NULL, "data file value '%.*s' is no %s", (int)(n < 40 ? n : 40), s, rdn_tn(k, t));
}
