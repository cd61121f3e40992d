/* SPDX-License-Identifier: Apache-2.0
 * read.c: a rule set from its text form (form.h). Any bytes are fine: what is not the form, or does not pass verify, is
 * CORRUPT R2109 with the line; memory grows with the text, never with a number in it.
 *
 * rdn_ir_read  [any]  O(text); symbols in it enter the given table */
#include "base/text.h"
#include "base/tz.h"
#include "ir/form.h"
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct reader {
    struct rdn_form f;
    const char *p, *end;
    uint32_t line;                                       /* 0: before the first */
    redan_error *reterr;
    jmp_buf jb;                                          /* 1: no memory, 2: reterr is set */
};
static struct reader *in(struct rdn_form *f) { return (struct reader *)f; }

__attribute__((noreturn)) static void bad(struct reader *r, const char *what) {
    rdn_fail(r->reterr, CORRUPT, "R2109", "rule set text, line %u: %s", r->line, what);
    longjmp(r->jb, 2);
}

void *rdn_form_grow(struct rdn_arena *arena, void *list, uint32_t n, size_t size) {
    if (n & (n - 1))                                     /* capacities are the powers of two */
        return list;
    char *more = rdn_arena_alloc(arena, size * (n ? 2 * (size_t)n : 1));
    if (n)
        memcpy(more, list, size * n);
    return more;
}

/* ---- lines and words ---- */

static void end_line(struct reader *r) {
    while (r->p < r->end && *r->p == ' ')
        r->p++;
    if (r->p < r->end && *r->p == ';')
        while (r->p < r->end && *r->p != '\n')
            r->p++;
    if (r->p < r->end && *r->p != '\n')
        bad(r, "more than the line takes");
}

/* Goes on to the next line if it begins with kw. */
static bool take_line(struct reader *r, const char *kw) {
    size_t n = strlen(kw);
    if (r->line)
        end_line(r);
    const char *p = r->p + (r->line && r->p < r->end);
    if ((size_t)(r->end - p) < n || memcmp(p, kw, n) || (p + n < r->end && p[n] != ' ' && p[n] != '\n'))
        return false;
    r->p = p + n;
    r->line++;
    return true;
}

static void skip(struct reader *r) {
    while (r->p < r->end && *r->p == ' ')
        r->p++;
}

/* The next word; its bytes are in the text. */
static size_t word(struct reader *r, const char **ret) {
    skip(r);
    const char *s = r->p;
    while (r->p < r->end && *r->p != ' ' && *r->p != '\n')
        r->p++;
    if (s == r->p)
        bad(r, "a word is missing");
    *ret = s;
    return (size_t)(r->p - s);
}

static bool is(const char *s, size_t n, const char *word) { return n == strlen(word) && !memcmp(s, word, n); }

static bool peek_word(struct reader *r, const char *k) {
    const char *at = r->p, *s;
    skip(r);
    if (r->p < r->end && *r->p != '\n') {
        size_t n = word(r, &s);
        if (is(s, n, k))
            return true;
    }
    r->p = at;
    return false;
}

static void take_key(struct reader *r, const char *k) {
    if (k && !peek_word(r, k)) {
        char what[64];
        snprintf(what, sizeof what, "'%s' expected", k);
        bad(r, what);
    }
}

static uint64_t number(struct reader *r, const char *s, size_t n, uint64_t max) {
    uint64_t v = 0;
    if (!n || n > 20)
        bad(r, "not a number");
    for (size_t i = 0; i < n; i++)
        if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
            bad(r, "not a number");
    if (v > max)
        bad(r, "number out of range");
    return v;
}

static unsigned hex_digit(struct reader *r, char c) {
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c < 'a' || c > 'f')
        bad(r, "hex digits expected");
    return (unsigned)(c - 'a') + 10;
}

static uint64_t hex(struct reader *r, const char *s, size_t n) {
    uint64_t v = 0;
    if (n != 16)
        bad(r, "16 hex digits expected");
    for (size_t i = 0; i < n; i++)
        v = v << 4 | hex_digit(r, s[i]);
    return v;
}

static int64_t integer(struct reader *r, const char *s, size_t n) {
    int64_t v;
    if (!rdn_read_i64(s, n, &v))
        bad(r, "not an integer");
    return v;
}

static rdn_i128 mantissa(struct reader *r, const char *s, size_t n) {
    bool neg = n && s[0] == '-';
    rdn_i128 v = 0;
    if (n == neg || n > 41)
        bad(r, "not a mantissa");
    for (size_t i = neg; i < n; i++) {
        int d = s[i] - '0';
        if (d < 0 || d > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, d, &v))
            bad(r, "not a mantissa");                    /* downwards, because the smallest has no positive twin */
    }
    if (!neg && v == RDN_I128_MIN)
        bad(r, "not a mantissa");
    return neg ? v : -v;
}

/* A quoted text, unescaped, terminated, in the arena. */
static const char *quoted(struct reader *r, uint32_t *ret_len) {
    skip(r);
    if (r->p == r->end || *r->p != '"')
        bad(r, "a quoted text is missing");
    const char *s = ++r->p;
    while (r->p < r->end && *r->p != '"' && *r->p != '\n')
        r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
    if (r->p >= r->end || *r->p != '"')
        bad(r, "a quoted text does not end");
    char *d = rdn_arena_alloc(r->f.ir->arena, (size_t)(r->p - s) + 1), *q = d;
    while (s < r->p) {
        if (*s == '\\' && s[1] == 'x') {
            if (r->p - s < 4)
                bad(r, "bad escape");
            *q++ = (char)(hex_digit(r, s[2]) << 4 | hex_digit(r, s[3]));
            s += 4;
        } else {
            s += *s == '\\';
            *q++ = *s++;
        }
    }
    r->p++;
    *ret_len = (uint32_t)(q - d);
    return d;
}

/* ---- types ---- */

static bool ident(const char *s, size_t n) {
    if (!n || n > 64)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_' || (i && s[i] >= '0' && s[i] <= '9')))
            return false;
    return true;
}

static const struct rdn_type *enum_type(struct reader *r, const char *s, size_t n) {
    const char **names = rdn_new_n(r->f.ir->arena, const char *, 255);
    unsigned k = 0;
    for (size_t i = 0, from = 0; i <= n; i++)
        if (i == n || s[i] == ',') {
            if (k == 255 || !ident(s + from, i - from))
                bad(r, "bad enum");
            names[k++] = rdn_arena_strndup(r->f.ir->arena, s + from, i - from);
            from = i + 1;
        }
    return rdn_type_enum(r->f.ir->types, names, k);
}

static const struct rdn_type *array_type(struct reader *r, enum rdn_kind elem, const char *s, size_t n) {
    const char *comma = memchr(s, ',', n);
    size_t first = comma ? (size_t)(comma - s) : n;
    uint64_t d0 = number(r, s, first, 4096), d1 = comma ? number(r, comma + 1, n - first - 1, 4096) : 1;
    if (!d0 || !d1 || d0 * d1 > 4096)
        bad(r, "bad array");
    return rdn_type_arr(r->f.ir->types, elem, comma ? 2 : 1, (unsigned)d0, (unsigned)d1);
}

static const struct rdn_type *read_type(struct reader *r, const char *s, size_t n) {
    static const struct { const char *name; enum rdn_kind kind; } simple[] = {
        { "bool", RDN_K_BOOL }, { "int", RDN_K_INT }, { "float", RDN_K_FLOAT }, { "time", RDN_K_TIME }, { "dur", RDN_K_DUR },
        { "date", RDN_K_DATE }, { "sym", RDN_K_SYM }, { "text", RDN_K_TEXT }, { "none", RDN_K_NONE },
    };
    struct rdn_types *ts = r->f.ir->types;
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (is(s, n, simple[i].name))
            return rdn_type_simple(ts, simple[i].kind);
    if (*s == '@') {
        uint64_t e = number(r, s + 1, n - 1, UINT16_MAX);
        if (e >= r->f.ir->nevents)
            bad(r, "no such event");
        return rdn_type_event(ts, r->f.ir->events[e].name, (unsigned)e);
    }
    if (n > 5 && s[n - 1] == ')' && !memcmp(s, "dec(", 4))
        return rdn_type_dec(ts, (unsigned)number(r, s + 4, n - 5, 18));
    if (n > 5 && s[n - 1] == ')' && !memcmp(s, "str(", 4)) {
        uint64_t len = number(r, s + 4, n - 5, 256);
        if (len)
            return rdn_type_str(ts, (unsigned)len);
    }
    if (n > 6 && s[n - 1] == ')' && !memcmp(s, "enum(", 5))
        return enum_type(r, s + 5, n - 6);
    if (n > 7 && s[n - 1] == ']' && !memcmp(s, "float[", 6))
        return array_type(r, RDN_K_FLOAT, s + 6, n - 7);
    if (n > 5 && s[n - 1] == ']' && !memcmp(s, "int[", 4))
        return array_type(r, RDN_K_INT, s + 4, n - 5);
    bad(r, "unknown type");
}

/* ---- the parts ---- */

static void *r_next(struct rdn_form *f, const char *kw, void *list, uint32_t *n, uint32_t i, size_t size) {
    f->more = take_line(in(f), kw);
    if (!f->more)
        return list;
    *n = i + 1;
    return size ? rdn_form_grow(f->ir->arena, list, i, size) : list;
}

static void r_line(struct rdn_form *f, const char *kw) {
    char what[64];
    if (take_line(in(f), kw))
        return;
    in(f)->line++;
    snprintf(what, sizeof what, "'%s' expected", kw);
    bad(in(f), what);
}

static bool r_opt(struct rdn_form *f, const char *k, bool has) {
    (void)has;
    return peek_word(in(f), k);
}

static void r_u64(struct rdn_form *f, const char *k, uint64_t *v, uint64_t max) {
    const char *s;
    take_key(in(f), k);
    size_t n = word(in(f), &s);
    *v = number(in(f), s, n, max);
}

static void r_i64(struct rdn_form *f, const char *k, int64_t *v) {
    const char *s;
    take_key(in(f), k);
    size_t n = word(in(f), &s);
    *v = integer(in(f), s, n);
}

static void r_hex(struct rdn_form *f, const char *k, uint64_t *v) {
    const char *s;
    take_key(in(f), k);
    size_t n = word(in(f), &s);
    *v = hex(in(f), s, n);
}

static void r_str(struct rdn_form *f, const char *k, const char **ret, uint32_t *len) {
    uint32_t n;
    take_key(in(f), k);
    *ret = quoted(in(f), &n);
    if (len)
        *len = n;
    else if (strlen(*ret) != n)
        bad(in(f), "a name with a zero byte");
}

static void r_type(struct rdn_form *f, const char *k, const struct rdn_type **t, bool none) {
    const char *s;
    take_key(in(f), k);
    size_t n = word(in(f), &s);
    *t = none && is(s, n, "-") ? NULL : read_type(in(f), s, n);
}

static void read_array(struct reader *r, const struct rdn_type *t, struct rdn_cell *c) {
    const char *s, *end;
    size_t n = word(r, &s);
    uint32_t k = rdn_type_elems(t);
    if (n < 2 || s[0] != '[' || s[n - 1] != ']')
        bad(r, "an array is missing");
    int64_t *v = rdn_new_n(r->f.ir->arena, int64_t, k);
    end = s + n - 1;
    s++;
    for (uint32_t i = 0; i < k; i++) {
        const char *comma = memchr(s, ',', (size_t)(end - s)), *stop = comma ? comma : end;
        v[i] = t->elem == RDN_K_FLOAT ? (int64_t)hex(r, s, (size_t)(stop - s)) : integer(r, s, (size_t)(stop - s));
        if ((comma == NULL) != (i + 1 == k))
            bad(r, "wrong number of elements");
        s = stop + 1;
    }
    c->w = v;
}

static void read_sym(struct reader *r, struct rdn_cell *c) {
    uint32_t len, id;
    if (peek_word(r, "-")) {
        c->i = RDN_SYM_NONE;
        return;
    }
    const char *s = quoted(r, &len);
    if (len > 255)
        bad(r, "symbol too long");
    int rc = rdn_sym_intern(r->f.ir->syms, s, len, &id);
    if (rc < 0)
        bad(r, rc == REDAN_E_FULL ? "the symbol table is full" : "bad symbol");
    c->i = id;
}

static void r_value(struct rdn_form *f, const char *k, const struct rdn_type *t, struct rdn_cell *c) {
    struct reader *r = in(f);
    const char *s;
    take_key(r, k);
    skip(r);
    if (r->p < r->end && *r->p == '!') {
        size_t n = word(r, &s);
        c->cause = (uint8_t)number(r, s + 1, n - 1, RDN_CAUSE_PLUGIN);
        if (!c->cause)
            bad(r, "no such cause");
        return;
    }
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_SYM: read_sym(r, c); return;
    case RDN_K_STR: case RDN_K_TEXT: c->t.p = quoted(r, &c->t.len); return;
    case RDN_K_ARR: read_array(r, t, c); return;
    case RDN_K_BOOL: case RDN_K_FLOAT: case RDN_K_DEC: case RDN_K_INT: case RDN_K_TIME: case RDN_K_DUR: case RDN_K_DATE: case RDN_K_ENUM:
    case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT:
        break;
    }
    size_t n = word(r, &s);
    if (t->kind == RDN_K_FLOAT) {
        uint64_t u = hex(r, s, n);
        memcpy(&c->f, &u, sizeof u);
    } else if (t->kind == RDN_K_DEC)
        c->d = mantissa(r, s, n);
    else if (t->kind == RDN_K_BOOL) {
        if (!is(s, n, "true") && !is(s, n, "false"))
            bad(r, "not a bool");
        c->i = is(s, n, "true");
    } else
        c->i = integer(r, s, n);
}

static void r_word(struct rdn_form *f, const char *k, const char *const *words, unsigned count, uint8_t *v) {
    const char *s;
    take_key(in(f), k);
    size_t n = word(in(f), &s);
    for (unsigned i = 0; i < count; i++)
        if (is(s, n, words[i])) {
            *v = (uint8_t)i;
            return;
        }
    bad(in(f), "unknown word");
}

static void r_note(struct rdn_form *f, const char *text) { (void)f, (void)text; }

static const struct rdn_form_ops reader_ops = { r_next, r_line, r_opt, r_u64, r_i64, r_hex, r_str, r_type, r_value, r_word, r_note };

/* The zones behind the names; vectors whose lists were grown here are full. */
static void finish(struct reader *r) {
    struct rdn_ir *ir = r->f.ir;
    ir->nodes.cap = ir->nodes.n;
    ir->spans.cap = ir->spans.n;
    ir->consts.cap = ir->consts.n;
    ir->zones = rdn_new_n(ir->arena, const struct rdn_tz *, ir->nzone_names + 1);
    for (; ir->nzones < ir->nzone_names; ir->nzones++)
        if (!(ir->zones[ir->nzones] = rdn_tz_find(ir->zone_names[ir->nzones], strlen(ir->zone_names[ir->nzones]))))
            bad(r, "unknown time zone");
    end_line(r);
    if (r->end - r->p > 1)
        bad(r, "text after the end");
    if (rdn_ir_verify(ir, r->reterr) < 0)
        longjmp(r->jb, 2);
    rdn_ir_seal(ir);
}

int rdn_ir_read(struct rdn_arena *arena, struct rdn_syms *syms, const char *text, size_t len, struct rdn_ir **ret, redan_error *reterr) {
    struct reader r = { .f = { .ops = &reader_ops, .reading = true }, .p = text, .end = text + len, .reterr = reterr };
    jmp_buf *outer = arena->oom;
    int why = setjmp(r.jb);
    arena->oom = &r.jb;
    if (!why) {
        r.f.ir = rdn_ir_new(arena, syms);
        rdn_form_ruleset(&r.f);
        finish(&r);
        *ret = r.f.ir;
    }
    arena->oom = outer;
    return why == 0 ? 0 : why == 2 ? REDAN_E_CORRUPT : rdn_fail(reterr, NOMEM, "", "out of memory");
}
