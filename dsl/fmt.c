/* SPDX-License-Identifier: Apache-2.0
 * fmt.c: rule text with canonical spacing (`redan fmt`).
 *
 * The author decides where lines end and where one is left empty; everything between is ours: indentation, single
 * spaces, columns of neighbouring declarations and of comments. Tokens and comments are copied as they stand, so the
 * meaning cannot change; the result is lexed again to be sure. Formatting twice gives the same text. */
#include "dsl/fmt.h"
#include <string.h>

struct job {
    struct rdn_pass pass;
    struct rdn_ftext f;
    struct rdn_arena arena;
    struct rdn_buf *out;
    size_t from;                                         /* where our text begins in out */
};

/* White space and comments between two tokens. Comments become tokens; returns the line ends behind the last of them. */
static unsigned take_gap(struct rdn_ftext *f, uint32_t at, uint32_t end) {
    unsigned breaks = 0;
    while (at < end) {
        if (f->src[at] != '#') {
            breaks += f->src[at] == '\n';
            at++;
            continue;
        }
        const char *eol = memchr(f->src + at, '\n', end - at);
        uint32_t stop = eol ? (uint32_t)(eol - f->src) : end, b = stop;
        while (f->src[b - 1] == ' ' || f->src[b - 1] == '\t' || f->src[b - 1] == '\r')
            b--;
        struct rdn_ftok t = { .a = at, .b = b, .kind = RDN_FMT_COMMENT, .cell = RDN_FMT_NO_CELL };
        t.breaks = (uint8_t)(breaks > 2 ? 2 : breaks);
        rdn_push_val(f->arena, &f->toks, t);
        at = stop;
        breaks = 0;
    }
    return breaks;
}

static void apply(struct rdn_ftok *t, unsigned mark) {
    switch (mark) {
    case RDN_MARK_DECL: t->decl = true; break;
    case RDN_MARK_START: t->start = true; break;
    case RDN_MARK_UNARY: t->unary = t->word == RDN_W_MINUS; break;
    case RDN_MARK_TIGHT: t->tight = true; break;
    case RDN_MARK_MORE: t->more = true; break;
    default: t->cell = (uint8_t)(mark - RDN_MARK_CELL); break;
    }
}

static void take_tokens(struct rdn_pass *c, struct rdn_ftext *f) {
    struct rdn_lex l = { c->src, 0, c->len };
    const struct rdn_mark *marks = c->marks->list.v;
    uint32_t at = 0, m = 0;
    for (;;) {
        struct rdn_tok t;
        rdn_lex_next(c, &l, &t);
        unsigned breaks = take_gap(f, at, t.a);
        if (t.kind == RDN_TOK_EOF)
            return;
        struct rdn_ftok ft = { .a = t.a, .b = t.b, .kind = t.kind, .word = t.word, .cell = RDN_FMT_NO_CELL };
        ft.breaks = (uint8_t)(breaks > 2 ? 2 : breaks);
        for (; m < c->marks->list.n && marks[m].at <= t.a; m++)   /* marks inside of messages match no token */
            if (marks[m].at == t.a)
                apply(&ft, marks[m].kind);
        rdn_push_val(f->arena, &f->toks, ft);
        at = t.b;
    }
}

static void put_spaces(struct rdn_buf *b, unsigned n) {
    static const char spaces[] = "                                ";
    for (unsigned k; n > 0; n -= k) {
        k = n < sizeof spaces - 1 ? n : (unsigned)(sizeof spaces - 1);
        rdn_buf_put(b, spaces, k);
    }
}

static void put_lines(const struct rdn_ftext *f, struct rdn_buf *out) {
    for (uint32_t n = 0; n < f->lines.n; n++) {
        const struct rdn_fline *l = &f->lines.v[n];
        if (l->blank)
            rdn_buf_putc(out, '\n');
        put_spaces(out, l->indent);
        for (uint32_t i = l->first; i < l->end; i++) {
            const struct rdn_ftok *t = &f->toks.v[i];
            put_spaces(out, i == l->first ? 0 : t->gap);
            rdn_buf_put(out, f->src + t->a, t->b - t->a);
        }
        rdn_buf_putc(out, '\n');
    }
}

/* Are the tokens of both texts the same? */
static bool same_tokens(struct rdn_pass *c, const char *text, uint32_t len) {
    struct rdn_lex x = { c->src, 0, c->len }, y = { text, 0, len };
    for (;;) {
        struct rdn_tok s, t;
        rdn_lex_next(c, &x, &s);
        rdn_lex_next(c, &y, &t);
        if (s.kind != t.kind || s.b - s.a != t.b - t.a || memcmp(c->src + s.a, text + t.a, s.b - s.a) != 0)
            return false;
        if (s.kind == RDN_TOK_EOF)
            return true;
    }
}

static bool format(struct job *j) {
    struct rdn_pass *c = &j->pass;
    struct rdn_guard g;
    RDN_TRY(c, g) {
        rdn_parse(c);
        take_tokens(c, &j->f);
        rdn_fmt_layout(&j->f);
        put_lines(&j->f, j->out);
        bool same = j->out->failed || same_tokens(c, rdn_buf_str(j->out) + j->from, (uint32_t)(j->out->n - j->from));
        RDN_DONE(c, g);
        if (!same)
            rdn_give_up(c, REDAN_E_CORRUPT);
        return true;
    }
    return false;
}

/* The whole job; the allocator's failure and rdn_give_up come back through c->out. */
static int run(struct job *j, const char *text, size_t len, redan_error *reterr) {
    struct rdn_pass *c = &j->pass;
    rdn_pass_init(c, &j->arena, &j->arena, NULL, NULL, text, (uint32_t)len);
    if (setjmp(c->out))
        return c->fatal ? rdn_fail(reterr, CORRUPT, "", "formatting would change the meaning") : rdn_fail(reterr, NOMEM, "", "out of memory");
    j->arena.oom = &c->out;
    c->types = rdn_types_new(&j->arena);
    c->marks = rdn_new(&j->arena, struct rdn_marks);
    j->f = (struct rdn_ftext){ .arena = &j->arena, .src = text };
    if (format(j))
        return j->out->failed ? rdn_fail(reterr, NOMEM, "", "out of memory") : 0;
    rdn_linecol(c, c->raised.span.a, &c->raised.line, &c->raised.col);
    int rc = rdn_fail_(reterr, REDAN_E_SYNTAX, c->raised.code, "%s", c->raised.text);
    if (reterr) {
        reterr->line = c->raised.line;
        reterr->column = c->raised.col;
    }
    return rc;
}

int rdn_dsl_format(const char *text, size_t len, struct rdn_buf *ret, redan_error *reterr) {
    if (len > RDN_LIM_FILE_BYTES)
        return rdn_fail(reterr, SYNTAX, "E0704", "file is larger than %d bytes", RDN_LIM_FILE_BYTES);
    struct job *j = rdn_zalloc(ret->mem, sizeof *j);
    if (!j)
        return rdn_fail(reterr, NOMEM, "", "out of memory");
    rdn_arena_init(&j->arena, ret->mem);
    j->out = ret;
    j->from = ret->n;
    int rc = run(j, text, len, reterr);
    if (rc < 0)
        ret->n = j->from;
    rdn_arena_fini(&j->arena);
    rdn_free(ret->mem, j, sizeof *j);
    return rc;
}
