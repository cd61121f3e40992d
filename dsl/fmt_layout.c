/* SPDX-License-Identifier: Apache-2.0
 * fmt_layout.c: lines, indents, gaps and columns of a formatted file. Linear in the text. */
#include "dsl/fmt.h"
#include "base/text.h"

enum { UNIT = 2, DEPTH = 512, FAR_CELL = 24, FAR_COMMENT = 40, WIDEST = 60000 };

static bool is_open(const struct rdn_ftok *t) { return t->word == RDN_W_LPAREN || t->word == RDN_W_LBRACE || t->word == RDN_W_LBRACK; }
static bool is_close(const struct rdn_ftok *t) { return t->word == RDN_W_RPAREN || t->word == RDN_W_RBRACE || t->word == RDN_W_RBRACK; }

/* ---- gaps ---- */
static unsigned gap(const struct rdn_ftok *a, const struct rdn_ftok *b) {
    if (b->kind == RDN_FMT_COMMENT)
        return 2;
    if (b->tight || a->unary || a->word == RDN_W_LPAREN || a->word == RDN_W_LBRACK || a->word == RDN_W_DOT)
        return 0;
    switch (b->word) {
    case RDN_W_COMMA: case RDN_W_COLON: case RDN_W_QUESTION: case RDN_W_DOT: case RDN_W_RPAREN: case RDN_W_RBRACK:
        return 0;
    case RDN_W_DOTDOT:
        return b->more;
    default:
        break;
    }
    if (a->word == RDN_W_DOTDOT && !a->more)
        return 0;
    return b->start && a->word != RDN_W_LBRACE && a->word != RDN_W_COMMA ? 2 : 1;
}

/* ---- lines ---- */
static void cut_lines(struct rdn_ftext *f) {
    struct rdn_fline *l = NULL;
    for (uint32_t i = 0; i < f->toks.n; i++) {
        struct rdn_ftok *t = &f->toks.v[i];
        const struct rdn_ftok *before = i ? t - 1 : NULL;
        if (!l || t->breaks || t->decl || before->kind == RDN_FMT_COMMENT) {
            l = rdn_push(f->arena, &f->lines);
            l->first = i;
            l->blank = i > 0 && t->breaks > 1;
        } else
            t->gap = (uint16_t)gap(before, t);
        l->end = i + 1;
    }
}

/* Brackets that are open, each with the indent of the line that opened it. */
struct nest { uint16_t indent[DEPTH]; uint8_t word[DEPTH]; unsigned n; };

static void follow(struct nest *s, const struct rdn_ftok *t, uint16_t indent) {
    if (is_open(t)) {
        if (s->n < DEPTH) {
            s->indent[s->n] = indent;
            s->word[s->n] = t->word;
        }
        s->n++;
    } else if (is_close(t) && s->n > 0)
        s->n--;
}

static unsigned inside(const struct nest *s) {
    unsigned top = s->n < DEPTH ? s->n : DEPTH;
    return s->n ? s->indent[top - 1] + UNIT : 0;
}

/* Indent of a line that begins with t; `before` is the token in front of it, comments left out. */
static unsigned indent_of(const struct nest *s, const struct rdn_ftok *t, const struct rdn_ftok *before) {
    if (t->decl)
        return 0;
    if (is_close(t) && s->n)
        return inside(s) - UNIT;
    if (s->n == 0)
        return UNIT;                                     /* the rest of a declaration, or a clause of the header */
    bool first = t->start || !before || is_open(before) || before->word == RDN_W_COMMA;
    return inside(s) + (first ? 0 : UNIT);
}

/* A comment stands as the line that follows it, but never as a closing bracket. */
static void indent_comments(struct rdn_ftext *f, uint32_t from, uint32_t to, const struct nest *s, const struct rdn_ftok *next, unsigned indent) {
    if (!next)
        indent = 0;
    else if (is_close(next))
        indent = inside(s);
    for (uint32_t i = from; i < to; i++)
        f->lines.v[i].indent = (uint16_t)indent;
}

static void indent_lines(struct rdn_ftext *f) {
    struct nest *s = rdn_new(f->arena, struct nest);
    const struct rdn_ftok *before = NULL;
    uint32_t comments = 0;                               /* lines [comments, i) hold a comment only */
    for (uint32_t i = 0; i < f->lines.n; i++) {
        struct rdn_fline *l = &f->lines.v[i];
        const struct rdn_ftok *t = &f->toks.v[l->first];
        if (t->kind == RDN_FMT_COMMENT)
            continue;
        unsigned indent = indent_of(s, t, before);
        indent_comments(f, comments, i, s, t, indent);
        l->indent = (uint16_t)(indent < WIDEST ? indent : WIDEST);
        for (uint32_t k = l->first; k < l->end; k++)
            if (f->toks.v[k].kind != RDN_FMT_COMMENT) {
                before = &f->toks.v[k];
                follow(s, before, l->indent);
            }
        comments = i + 1;
    }
    indent_comments(f, comments, f->lines.n, s, NULL, 0);
}

/* ---- columns ---- */
static unsigned width(const struct rdn_ftext *f, const struct rdn_ftok *t) { return (unsigned)rdn_utf8_len(f->src + t->a, t->b - t->a); }
static bool has_comment(const struct rdn_ftext *f, const struct rdn_fline *l) { return f->toks.v[l->end - 1].kind == RDN_FMT_COMMENT; }

/* A line with one declaration and nothing else: it begins one, and so does the next token that is no comment. */
static void find_whole(struct rdn_ftext *f) {
    bool next = true;                                    /* does a declaration, or the end, follow the line? */
    for (uint32_t i = f->lines.n; i-- > 0;) {
        struct rdn_fline *l = &f->lines.v[i];
        const struct rdn_ftok *t = &f->toks.v[l->first];
        l->whole = t->decl && next;
        if (t->kind != RDN_FMT_COMMENT)
            next = t->decl;
    }
}

/* One line of a run while its columns are placed: how far it is filled, and the next token to fill in. */
struct fill { uint32_t at, end; unsigned w; };

static void advance(const struct rdn_ftext *f, struct fill *x, unsigned cell) {
    for (; x->at < x->end; x->at++) {
        const struct rdn_ftok *t = &f->toks.v[x->at];
        if (t->kind == RDN_FMT_COMMENT || (t->cell != RDN_FMT_NO_CELL && t->cell >= cell))
            return;
        x->w += width(f, t) + t->gap;
    }
}
static struct rdn_ftok *at_cell(const struct rdn_ftext *f, const struct fill *x, unsigned cell) {
    return x->at < x->end && f->toks.v[x->at].cell == cell ? &f->toks.v[x->at] : NULL;
}

/* Lines far wider than the narrowest keep their own column. */
static unsigned column(const unsigned *w, uint32_t n, unsigned far) {
    unsigned least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < n; i++)
        least = w[i] < least ? w[i] : least;
    for (uint32_t i = 0; i < n; i++)
        if (w[i] <= least + far && w[i] > most)
            most = w[i];
    return most;
}

static void align_cell(struct rdn_ftext *f, struct fill *x, unsigned *w, uint32_t n, unsigned cell) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        advance(f, &x[i], cell);
        if (at_cell(f, &x[i], cell))
            w[k++] = x[i].w;
    }
    unsigned col = column(w, k, FAR_CELL);
    for (uint32_t i = 0; i < n; i++) {
        struct rdn_ftok *t = at_cell(f, &x[i], cell);
        if (!t)
            continue;
        if (col > x[i].w)
            t->gap = (uint16_t)(t->gap + col - x[i].w);
        x[i].w += t->gap + width(f, t);
        x[i].at++;
    }
}

/* Neighbouring declarations of one kind, a line each: their parts stand in columns. */
static void align_decls(struct rdn_ftext *f, uint32_t from, uint32_t to) {
    uint32_t n = to - from;
    struct fill *x = rdn_new_n(f->arena, struct fill, n);
    unsigned *w = rdn_new_n(f->arena, unsigned, n);
    for (uint32_t i = 0; i < n; i++)
        x[i] = (struct fill){ f->lines.v[from + i].first, f->lines.v[from + i].end, 0 };
    for (unsigned cell = 0; cell < RDN_FMT_CELLS; cell++)
        align_cell(f, x, w, n, cell);
}

static void align_comments(struct rdn_ftext *f, uint32_t from, uint32_t to) {
    uint32_t n = to - from;
    unsigned *w = rdn_new_n(f->arena, unsigned, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct rdn_fline *l = &f->lines.v[from + i];
        w[i] = l->indent;
        for (uint32_t k = l->first; k + 1 < l->end; k++)
            w[i] += width(f, &f->toks.v[k]) + (k > l->first ? f->toks.v[k].gap : 0u);
    }
    unsigned col = column(w, n, FAR_COMMENT);
    for (uint32_t i = 0; i < n; i++)
        f->toks.v[f->lines.v[from + i].end - 1].gap = (uint16_t)(2 + (col > w[i] ? col - w[i] : 0));
}

static bool same_run(const struct rdn_ftext *f, const struct rdn_fline *a, const struct rdn_fline *b) {
    return b->whole && !b->blank && f->toks.v[a->first].word == f->toks.v[b->first].word;
}

static bool trails(const struct rdn_ftext *f, const struct rdn_fline *l) {
    return has_comment(f, l) && l->end - l->first > 1;
}

void rdn_fmt_layout(struct rdn_ftext *f) {
    cut_lines(f);
    indent_lines(f);
    find_whole(f);
    for (uint32_t i = 0, j; i < f->lines.n; i = j) {
        for (j = i + 1; f->lines.v[i].whole && j < f->lines.n && same_run(f, &f->lines.v[i], &f->lines.v[j]); j++)
            ;
        if (f->lines.v[i].whole)
            align_decls(f, i, j);
    }
    for (uint32_t i = 0, j; i < f->lines.n; i = j) {
        for (j = i + 1; trails(f, &f->lines.v[i]) && j < f->lines.n && trails(f, &f->lines.v[j]) && !f->lines.v[j].blank; j++)
            ;
        if (trails(f, &f->lines.v[i]))
            align_comments(f, i, j);
    }
}
