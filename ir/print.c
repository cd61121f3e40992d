/* SPDX-License-Identifier: Apache-2.0
 * print.c: a rule set as text (form.h).
 *
 * Floats are their 16 hex digits, decimals their mantissas, symbols their texts: nothing depends on this process. */
#include "base/text.h"
#include "ir/form.h"
#include <stdio.h>
#include <string.h>

struct writer { struct rdn_form f; struct rdn_buf *b; };
static struct rdn_buf *out(struct rdn_form *f) { return ((struct writer *)f)->b; }

static void key(struct rdn_form *f, const char *k) {
    rdn_buf_putc(out(f), ' ');
    if (k) {
        rdn_buf_puts(out(f), k);
        rdn_buf_putc(out(f), ' ');
    }
}

static void put_u64(struct rdn_buf *b, uint64_t v) {
    char s[24], *p = s + sizeof s;
    do
        *--p = (char)('0' + v % 10);
    while (v /= 10);
    rdn_buf_put(b, p, (size_t)(s + sizeof s - p));
}

static void put_hex(struct rdn_buf *b, uint64_t v) {
    char s[16];
    for (int i = 15; i >= 0; i--, v >>= 4)
        s[i] = "0123456789abcdef"[v & 15];
    rdn_buf_put(b, s, sizeof s);
}

static void put_quoted(struct rdn_buf *b, const char *s, size_t n) {
    rdn_buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') {
            rdn_buf_putc(b, '\\');
            rdn_buf_putc(b, (char)c);
        } else if (c < 0x20 || c == 0x7f)
            rdn_buf_printf(b, "\\x%02x", c);
        else
            rdn_buf_putc(b, (char)c);
    }
    rdn_buf_putc(b, '"');
}

static void w_line(struct rdn_form *f, const char *kw) {
    if (out(f)->n)
        rdn_buf_putc(out(f), '\n');
    rdn_buf_puts(out(f), kw);
    if (!strcmp(kw, "end"))
        rdn_buf_putc(out(f), '\n');
}

static void *w_next(struct rdn_form *f, const char *kw, void *list, uint32_t *n, uint32_t i, size_t size) {
    (void)size;
    f->more = i < *n;
    if (f->more)
        w_line(f, kw);
    return list;
}

static bool w_opt(struct rdn_form *f, const char *k, bool has) {
    if (has) {
        rdn_buf_putc(out(f), ' ');
        rdn_buf_puts(out(f), k);
    }
    return has;
}

static void w_u64(struct rdn_form *f, const char *k, uint64_t *v, uint64_t max) {
    (void)max;
    key(f, k);
    put_u64(out(f), *v);
}

static void w_i64(struct rdn_form *f, const char *k, int64_t *v) {
    key(f, k);
    if (*v < 0)
        rdn_buf_putc(out(f), '-');
    put_u64(out(f), *v < 0 ? -(uint64_t)*v : (uint64_t)*v);
}

static void w_hex(struct rdn_form *f, const char *k, uint64_t *v) {
    key(f, k);
    put_hex(out(f), *v);
}

static void w_str(struct rdn_form *f, const char *k, const char **s, uint32_t *len) {
    key(f, k);
    const char *p = *s ? *s : "";
    put_quoted(out(f), p, len ? *len : strlen(p));
}

static void w_type(struct rdn_form *f, const char *k, const struct rdn_type **t, bool none) {
    /* The common ones without rdn_type_print, which needs memory of its own: there is one a node. */
    static const char *const simple[RDN_K_COUNT] = {
        [RDN_K_BOOL] = "bool", [RDN_K_INT] = "int", [RDN_K_FLOAT] = "float", [RDN_K_TIME] = "time", [RDN_K_DUR] = "dur",
        [RDN_K_DATE] = "date", [RDN_K_SYM] = "sym", [RDN_K_TEXT] = "text",
    };
    (void)none;
    key(f, k);
    if (!*t)
        rdn_buf_putc(out(f), '-');
    else if (simple[(*t)->kind])
        rdn_buf_puts(out(f), simple[(*t)->kind]);
    else if ((*t)->kind == RDN_K_EVENT) {                /* by number: its name may be that of a type */
        rdn_buf_putc(out(f), '@');
        put_u64(out(f), (*t)->n);
    } else
        rdn_type_print(out(f), *t);
}

static void put_f64(struct rdn_buf *b, double v) {
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    put_hex(b, u);
}

static void put_array(struct rdn_buf *b, const struct rdn_type *t, const struct rdn_cell *c) {
    char s[RDN_TEXT_MAX];
    for (uint32_t i = 0; i < rdn_type_elems(t); i++) {
        rdn_buf_putc(b, i ? ',' : '[');
        if (t->elem == RDN_K_FLOAT)
            put_f64(b, c->v[i]);
        else
            rdn_buf_put(b, s, rdn_text_i64(s, c->w[i]));
    }
    rdn_buf_putc(b, ']');
}

static void w_value(struct rdn_form *f, const char *k, const struct rdn_type *t, struct rdn_cell *c) {
    char s[RDN_TEXT_MAX];
    const char *p;
    uint32_t len;
    key(f, k);
    if (c->cause) {
        rdn_buf_printf(out(f), "!%u", c->cause);
        return;
    }
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL: rdn_buf_puts(out(f), c->i ? "true" : "false"); return;
    case RDN_K_FLOAT: put_f64(out(f), c->f); return;
    case RDN_K_DEC: rdn_buf_put(out(f), s, rdn_text_dec(s, c->d, 0)); return;
    case RDN_K_STR: case RDN_K_TEXT: put_quoted(out(f), c->t.p, c->t.len); return;
    case RDN_K_ARR: put_array(out(f), t, c); return;
    case RDN_K_SYM:
        if (c->i < 0 || c->i >= (int64_t)rdn_sym_count(f->ir->syms)) {
            rdn_buf_putc(out(f), '-');                   /* RDN_SYM_NONE */
            return;
        }
        p = rdn_sym_text(f->ir->syms, (uint32_t)c->i, &len);
        put_quoted(out(f), p, len);
        return;
    case RDN_K_INT: case RDN_K_TIME: case RDN_K_DUR: case RDN_K_DATE: case RDN_K_ENUM: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT:
        break;
    }
    rdn_buf_put(out(f), s, rdn_text_i64(s, c->i));
}

static void w_word(struct rdn_form *f, const char *k, const char *const *words, unsigned n, uint8_t *v) {
    key(f, k);
    rdn_buf_puts(out(f), *v < n ? words[*v] : "?");
}

static void w_note(struct rdn_form *f, const char *text) {
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20)
            return;                                      /* would end the line */
    rdn_buf_printf(out(f), "  ; %s", text);
}

static const struct rdn_form_ops writer_ops = { w_next, w_line, w_opt, w_u64, w_i64, w_hex, w_str, w_type, w_value, w_word, w_note };

static void print(struct rdn_buf *b, const struct rdn_ir *ir, bool all) {
    /* The form is one for both directions, so it takes a rule set it might write to; this direction never does. */
    union { const struct rdn_ir *in; struct rdn_ir *as; } cast = { ir };
    struct writer w = { { .ops = &writer_ops, .ir = cast.as, .nodes = all, .notes = all, .source = all }, b };
    rdn_form_ruleset(&w.f);
}

void rdn_form_print_rest(struct rdn_buf *b, const struct rdn_ir *ir) { print(b, ir, false); }
void rdn_ir_print(struct rdn_buf *b, const struct rdn_ir *ir) { print(b, ir, true); }
