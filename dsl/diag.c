/* SPDX-License-Identifier: Apache-2.0
 * diag.c: raising, collecting and printing diagnostics (LANGUAGE.md chapter 16). */
#include "dsl/pass.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

static struct rdn_dsl_diag diag_of(struct rdn_pass *c, const char *code, struct rdn_span span, const char *hint, const char *fmt, va_list ap) {
    struct rdn_dsl_diag d = { .span = span, .hint = hint, .warning = code[0] == 'W' };
    memcpy(d.code, code, 5);
    d.text = rdn_arena_vprintf(c->arena, fmt, ap);
    return d;
}

__attribute__((noreturn)) static void leave(struct rdn_pass *c, bool poisoned) {
    struct rdn_guard *g = c->guard;
    c->guard = g->up;
    c->poisoned = poisoned;
    longjmp(g->jb, 1);
}

void rdn_raise(struct rdn_pass *c, const char *code, struct rdn_span span, const char *hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    c->raised = diag_of(c, code, span, hint, fmt, ap);
    va_end(ap);
    leave(c, false);
}

void rdn_poison(struct rdn_pass *c) { leave(c, true); }

void rdn_warn(struct rdn_pass *c, const char *code, struct rdn_span span, const char *hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    struct rdn_dsl_diag d = diag_of(c, code, span, hint, fmt, ap);
    va_end(ap);
    rdn_push_val(c->arena, &c->warns, d);
}

void rdn_keep_raised(struct rdn_pass *c) {
    if (!c->poisoned)
        rdn_push_val(c->arena, &c->diags, c->raised);
}

void rdn_give_up(struct rdn_pass *c, int code) {
    c->fatal = code;
    longjmp(c->out, 1);
}

const char *rdn_near(struct rdn_pass *c, const char *word, const char *const *options, uint32_t n) {
    int i = rdn_nearest(word, options, n);
    return i < 0 ? NULL : rdn_arena_printf(c->arena, "did you mean \"%s\"?", options[i]);
}

void rdn_linecol(struct rdn_pass *c, uint32_t off, uint32_t *ret_line, uint32_t *ret_col) {
    if (c->lines.n == 0) {
        rdn_push_val(c->work, &c->lines, 0);
        for (const char *p = c->src, *end = c->src + c->len; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
            rdn_push_val(c->work, &c->lines, (uint32_t)(p + 1 - c->src));
    }
    uint32_t lo = 0, hi = c->lines.n;                    /* lines.v[lo] <= off < lines.v[hi] */
    off = off < c->len ? off : c->len;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        *(c->lines.v[mid] <= off ? &lo : &hi) = mid;
    }
    *ret_line = lo + 1;
    *ret_col = off - c->lines.v[lo] + 1;
}

const char *rdn_dsl_code_text(const char *code) {
    static const struct { const char *code, *text; } codes[] = {
#define CODE(name, text) { #name, text },
#include "dsl/errors.def"
#undef CODE
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(codes[i].code, code) == 0)
            return codes[i].text;
    return NULL;
}

/* ---- printing ---- */
enum { TAB = 8, MARGIN = 100 };                          /* columns a tab jumps to; bytes of a long line around the span */

/* Length of the character at s: 1 for anything that must not reach a terminal as it is, with *ret_odd. */
static size_t char_at(const char *s, size_t n, bool *ret_odd) {
    unsigned char b = (unsigned char)*s;
    size_t len = b < 0x80 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
    *ret_odd = b < 0x20 || b == 0x7f || len > n || !rdn_utf8_valid(s, len) || (b == 0xc2 && (unsigned char)s[1] < 0xa0);
    return *ret_odd ? 1 : len;
}

/* Text that holds no control character: messages quote strings of the source. */
static void put_clean(struct rdn_buf *b, const char *s) {
    for (size_t n = strlen(s); n > 0;) {
        bool odd;
        size_t k = char_at(s, n, &odd);
        if (odd)
            rdn_buf_putc(b, '?');
        else
            rdn_buf_put(b, s, k);
        s += k;
        n -= k;
    }
}

/* Writes the line with tabs expanded and keeps the column where `a` and `b` stand. */
static void put_line(struct rdn_buf *buf, const char *s, uint32_t n, uint32_t a, uint32_t b, unsigned *ret_from, unsigned *ret_to) {
    unsigned col = 0;
    *ret_from = *ret_to = UINT32_MAX;
    for (uint32_t i = 0; i < n;) {
        if (i >= a && *ret_from == UINT32_MAX)
            *ret_from = col;
        if (i >= b && *ret_to == UINT32_MAX)
            *ret_to = col;
        if (s[i] == '\t') {
            do
                rdn_buf_putc(buf, ' ');
            while (++col % TAB);
            i++;
            continue;
        }
        bool odd;
        size_t k = char_at(s + i, n - i, &odd);
        if (odd)
            rdn_buf_putc(buf, '?');
        else
            rdn_buf_put(buf, s + i, k);
        i += (uint32_t)k;
        col++;
    }
    *ret_from = *ret_from == UINT32_MAX ? col : *ret_from;
    *ret_to = *ret_to == UINT32_MAX ? col : *ret_to;
}

static void put_many(struct rdn_buf *b, char c, unsigned n) {
    while (n--)
        rdn_buf_putc(b, c);
}

static uint32_t char_start(const char *src, uint32_t at, uint32_t low) {
    while (at > low && ((unsigned char)src[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static void put_source(struct rdn_buf *buf, const char *src, uint32_t len, const struct rdn_dsl_diag *d, const char *on, const char *off) {
    uint32_t a = d->span.a < len ? d->span.a : len, b = d->span.b < len ? d->span.b : len, bol = a, eol = a;
    while (bol > 0 && src[bol - 1] != '\n')
        bol--;
    while (eol < len && src[eol] != '\n' && src[eol] != '\r')
        eol++;
    b = b < a ? a : b > eol ? eol : b;
    uint32_t from = a - bol > MARGIN ? char_start(src, a - MARGIN, bol) : bol;
    uint32_t to = eol - a > 2 * MARGIN ? char_start(src, a + 2 * MARGIN, a) : eol;
    unsigned c0, c1;
    rdn_buf_printf(buf, " %5u | %s", d->line, from > bol ? "..." : "");
    put_line(buf, src + from, to - from, a - from, b - from, &c0, &c1);
    rdn_buf_printf(buf, "%s\n       | %s%s", to < eol ? "..." : "", from > bol ? "   " : "", on);
    put_many(buf, ' ', c0);
    put_many(buf, '^', c1 > c0 ? c1 - c0 : 1);
    rdn_buf_printf(buf, "%s\n", off);
}

void rdn_dsl_print_diag(struct rdn_buf *buf, const char *file, const char *src, uint32_t len, const struct rdn_dsl_diag *d, bool color) {
    const char *bold = color ? "\033[1m" : "", *tint = !color ? "" : d->warning ? "\033[1;35m" : "\033[1;31m";
    const char *off = color ? "\033[0m" : "";
    rdn_buf_puts(buf, bold);
    put_clean(buf, file ? file : "<input>");
    rdn_buf_printf(buf, ":%u:%u: %s%s%s %s%s: ", d->line, d->col, off, tint, d->warning ? "warning" : "error", d->code, off);
    put_clean(buf, d->text);
    rdn_buf_putc(buf, '\n');
    if (src)
        put_source(buf, src, len, d, tint, off);
    if (d->hint) {
        rdn_buf_puts(buf, "       = ");
        put_clean(buf, d->hint);
        rdn_buf_putc(buf, '\n');
    }
}

void rdn_dsl_print_short(struct rdn_buf *buf, const struct rdn_dsl_diag *d) {
    rdn_buf_printf(buf, "%s %u:%u-%u:%u ", d->code, d->line, d->col, d->end_line, d->end_col);
    put_clean(buf, d->text);
    rdn_buf_putc(buf, '\n');
}
