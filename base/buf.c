/* SPDX-License-Identifier: Apache-2.0
 * buf.c: the growing buffer; always keeps room for a terminator. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rdn_buf_init(struct rdn_buf *b, const struct rdn_mem *mem) { *b = (struct rdn_buf){.mem = mem}; }

void rdn_buf_fini(struct rdn_buf *b) {
    rdn_free(b->mem, b->p, b->cap);
    *b = (struct rdn_buf){.mem = b->mem};
}

/* Room for n more bytes and the terminator. */
static bool reserve(struct rdn_buf *b, size_t n) {
    if (b->failed)
        return false;
    if (n < b->cap - b->n)
        return true;
    size_t want = b->cap ? b->cap : 128;
    while (want - b->n <= n && want <= PTRDIFF_MAX / 2)
        want *= 2;
    char *p = want - b->n <= n ? NULL : rdn_realloc(b->mem, b->p, b->cap, want);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = want;
    return true;
}

void rdn_buf_put(struct rdn_buf *b, const char *s, size_t n) {
    if (!n || !reserve(b, n))
        return;
    memcpy(b->p + b->n, s, n);
    b->n += n;
}

void rdn_buf_puts(struct rdn_buf *b, const char *s) { rdn_buf_put(b, s, strlen(s)); }
void rdn_buf_putc(struct rdn_buf *b, char c) { rdn_buf_put(b, &c, 1); }

void rdn_buf_printf(struct rdn_buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char small[256];
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0 || !reserve(b, (size_t)n))
        return;
    if ((size_t)n < sizeof small) {
        memcpy(b->p + b->n, small, (size_t)n);
    } else {
        va_start(ap, fmt);
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->n += (size_t)n;
}

void rdn_buf_json(struct rdn_buf *b, const char *s, size_t n) {
    rdn_buf_putc(b, '"');
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        rdn_buf_put(b, s + from, i - from);
        from = i + 1;
        if (c < 0x20)
            rdn_buf_printf(b, "\\u%04x", c);
        else
            rdn_buf_put(b, (char[]){'\\', (char)c}, 2);
    }
    rdn_buf_put(b, s + from, n - from);
    rdn_buf_putc(b, '"');
}

const char *rdn_buf_str(struct rdn_buf *b) {
    if (!b->p)
        return "";
    b->p[b->n] = 0;
    return b->p;
}
