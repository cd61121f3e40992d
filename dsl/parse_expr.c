/* SPDX-License-Identifier: Apache-2.0
 * parse_expr.c: expressions and interpolated messages. Every node is counted (E0705) and its height kept (E0702). */
#include "dsl/parse.h"
#include <math.h>
#include <string.h>

/* ---- nodes ---- */
static unsigned tallest(const rdn_exprs *xs) {
    unsigned h = 0;
    for (uint32_t i = 0; i < xs->n; i++)
        h = xs->v[i]->height > h ? xs->v[i]->height : h;
    return h;
}
static unsigned taller(const struct rdn_expr *a, const struct rdn_expr *b) { return a->height > b->height ? a->height : b->height; }

/* kids: the height of the tallest operand. */
static struct rdn_expr *node(struct rdn_parser *p, enum rdn_x_kind kind, uint32_t a, uint32_t b, unsigned kids) {
    struct rdn_span pos = { a, b };
    if (++p->nodes > RDN_LIM_NODES)
        rdn_p_refuse(p, "E0705", pos, "expression has more than %d parts", RDN_LIM_NODES);
    if (kids + 1 > RDN_LIM_HEIGHT)
        rdn_p_refuse(p, "E0702", pos, "expression tree is higher than %d", RDN_LIM_HEIGHT);
    struct rdn_expr *x = rdn_new(p->c->work, struct rdn_expr);
    p->c->nexprs++;
    x->kind = kind;
    x->pos = pos;
    x->height = (uint16_t)(kids + 1);
    return x;
}

static struct rdn_expr *binary_node(struct rdn_parser *p, enum rdn_x_kind kind, enum rdn_x_op op, struct rdn_expr *a, struct rdn_expr *b) {
    struct rdn_expr *x = node(p, kind, a->pos.a, b->pos.b, taller(a, b));
    x->op = op;
    x->bin.a = a;
    x->bin.b = b;
    return x;
}

static struct rdn_expr *unary_node(struct rdn_parser *p, enum rdn_x_op op, uint32_t from, struct rdn_expr *a) {
    struct rdn_expr *x = node(p, RDN_X_UN, from, a->pos.b, a->height);
    x->op = op;
    x->bin.a = a;
    return x;
}

static struct rdn_expr *literal(struct rdn_parser *p, const struct rdn_tok *t, enum rdn_kind kind, int64_t i) {
    struct rdn_expr *x = node(p, RDN_X_LIT, t->a, t->b, 0);
    x->lit.ty = rdn_type_simple(p->c->types, kind);
    x->lit.v.i = i;
    return x;
}

/* ---- binary operators ---- */
enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_CMP, LEVEL_COALESCE, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY };
static const struct { uint8_t level, op; } binary[RDN_W_COUNT] = {
    [RDN_W_OR] = { LEVEL_OR, RDN_B_OR }, [RDN_W_AND] = { LEVEL_AND, RDN_B_AND },
    [RDN_W_EQ] = { LEVEL_CMP, RDN_B_EQ }, [RDN_W_NE] = { LEVEL_CMP, RDN_B_NE }, [RDN_W_LT] = { LEVEL_CMP, RDN_B_LT },
    [RDN_W_LE] = { LEVEL_CMP, RDN_B_LE }, [RDN_W_GT] = { LEVEL_CMP, RDN_B_GT }, [RDN_W_GE] = { LEVEL_CMP, RDN_B_GE },
    [RDN_W_IN] = { LEVEL_CMP, RDN_B_IN }, [RDN_W_NOT] = { LEVEL_CMP, RDN_B_IN },          /* not in */
    [RDN_W_COALESCE] = { LEVEL_COALESCE, RDN_B_COALESCE },
    [RDN_W_PLUS] = { LEVEL_SUM, RDN_B_ADD }, [RDN_W_MINUS] = { LEVEL_SUM, RDN_B_SUB },
    [RDN_W_STAR] = { LEVEL_PRODUCT, RDN_B_MUL }, [RDN_W_SLASH] = { LEVEL_PRODUCT, RDN_B_DIV }, [RDN_W_MOD] = { LEVEL_PRODUCT, RDN_B_MOD },
};

static struct rdn_expr *unary(struct rdn_parser *);
static struct rdn_expr *binary_expr(struct rdn_parser *, unsigned level);

/* Is the current token an operator of this level? `not` is one only before `in`. */
static bool at_level(const struct rdn_parser *p, unsigned level) {
    return binary[p->t[0].word].level == level && (!rdn_p_at(p, RDN_W_NOT) || rdn_p_ahead(p, 1, RDN_W_IN));
}

static struct rdn_expr *set_or_range(struct rdn_parser *p) {
    if (rdn_p_at(p, RDN_W_LBRACK)) {
        struct rdn_tok open = rdn_p_take(p);
        rdn_exprs xs = { 0 };
        rdn_p_deeper(p, rdn_tok_pos(&open));
        struct rdn_tok close = rdn_parse_args(p, &xs, RDN_W_RBRACK);
        p->nest--;
        struct rdn_expr *x = node(p, RDN_X_SET, open.a, close.b, tallest(&xs));
        x->call.xs = xs.v;
        x->call.n = xs.n;
        return x;
    }
    struct rdn_expr *a = binary_expr(p, LEVEL_COALESCE);
    if (!rdn_p_accept(p, RDN_W_DOTDOT))
        return a;
    return binary_node(p, RDN_X_RANGE, 0, a, binary_expr(p, LEVEL_COALESCE));
}

static struct rdn_expr *binary_expr(struct rdn_parser *p, unsigned level) {
    if (level == LEVEL_UNARY)
        return unary(p);
    struct rdn_expr *a = binary_expr(p, level + 1);
    while (at_level(p, level)) {
        struct rdn_tok o = rdn_p_take(p);
        enum rdn_x_op op = binary[o.word].op;
        if (o.word == RDN_W_NOT)
            rdn_p_expect(p, RDN_W_IN);
        struct rdn_expr *b = op == RDN_B_IN ? set_or_range(p) : binary_expr(p, level + 1);
        a = binary_node(p, RDN_X_BIN, op, a, b);
        if (o.word == RDN_W_NOT)
            a = unary_node(p, RDN_U_NOT, a->pos.a, a);
        if (level == LEVEL_CMP && at_level(p, LEVEL_CMP))
            rdn_raise(p->c, "E0204", rdn_tok_pos(&p->t[0]), "write a < b and b < c", "comparisons do not chain");
    }
    return a;
}

struct rdn_expr *rdn_parse_expr(struct rdn_parser *p) {
    if (!rdn_p_at(p, RDN_W_IF))
        return binary_expr(p, LEVEL_OR);
    struct rdn_tok t = rdn_p_take(p);
    rdn_p_deeper(p, rdn_tok_pos(&t));
    struct rdn_expr *c = rdn_parse_expr(p);
    rdn_p_expect(p, RDN_W_THEN);
    struct rdn_expr *x = rdn_parse_expr(p);
    rdn_p_expect(p, RDN_W_ELSE);
    struct rdn_expr *y = rdn_parse_expr(p);
    p->nest--;
    unsigned branches = taller(x, y);
    struct rdn_expr *r = node(p, RDN_X_IF, t.a, y->pos.b, branches > c->height ? branches : c->height);
    r->cond.c = c;
    r->cond.x = x;
    r->cond.y = y;
    return r;
}

struct rdn_expr *rdn_parse_top(struct rdn_parser *p) {
    p->nodes = 0;
    return rdn_parse_expr(p);
}

struct rdn_expr *rdn_parse_sum(struct rdn_parser *p) { return binary_expr(p, LEVEL_SUM); }

struct rdn_expr *rdn_parse_const(struct rdn_parser *p) {
    p->nodes = 0;
    return rdn_parse_sum(p);
}

/* Lists are collected on one stack and copied at their exact length: most have one or two elements. */
rdn_exprs rdn_parse_list_end(struct rdn_parser *p, uint32_t from) {
    uint32_t n = p->stack.n - from;
    rdn_exprs xs = { .n = n, .cap = n };
    p->stack.n = from;
    if (n > 0) {
        xs.v = rdn_new_n(p->c->work, struct rdn_expr *, n);
        memcpy(xs.v, p->stack.v + from, n * sizeof *xs.v);
    }
    return xs;
}

struct rdn_tok rdn_parse_args(struct rdn_parser *p, rdn_exprs *ret, enum rdn_word close) {
    uint32_t from = p->stack.n;
    while (!rdn_p_at(p, close)) {
        struct rdn_expr *x = rdn_parse_expr(p);
        rdn_push_val(p->c->work, &p->stack, x);
        if (!rdn_p_accept(p, RDN_W_COMMA))
            break;
    }
    *ret = rdn_parse_list_end(p, from);
    return rdn_p_expect(p, close);
}

/* ---- unary, postfix, atoms ---- */
static struct rdn_expr *index_node(struct rdn_parser *p, struct rdn_expr *a) {
    rdn_p_mark(p, RDN_MARK_TIGHT);
    struct rdn_tok open = rdn_p_take(p);
    rdn_exprs ix = { 0 };
    rdn_p_deeper(p, rdn_tok_pos(&open));
    struct rdn_tok close = rdn_parse_args(p, &ix, RDN_W_RBRACK);
    p->nest--;
    if (ix.n == 0)
        rdn_p_refuse(p, "E0203", rdn_tok_pos(&close), "expected an index or key");
    unsigned h = tallest(&ix);
    struct rdn_expr *x = node(p, RDN_X_IDX, a->pos.a, close.b, h > a->height ? h : a->height);
    x->idx.a = a;
    x->idx.ix = ix.v;
    x->idx.n = ix.n;
    return x;
}

static struct rdn_expr *dot_node(struct rdn_parser *p, struct rdn_expr *a) {
    rdn_p_take(p);
    struct rdn_tok f = rdn_p_ident(p, "a column name");
    struct rdn_expr *x = node(p, RDN_X_DOT, a->pos.a, f.b, a->height);
    x->dot.a = a;
    x->dot.f = rdn_p_name(p, &f);
    x->dot.fpos = rdn_tok_pos(&f);
    return x;
}

static struct rdn_expr *call_node(struct rdn_parser *p, const struct rdn_tok *name) {
    rdn_exprs xs = { 0 };
    rdn_p_mark(p, RDN_MARK_TIGHT);
    rdn_p_take(p);
    rdn_p_deeper(p, rdn_tok_pos(name));
    struct rdn_tok close = rdn_parse_args(p, &xs, RDN_W_RPAREN);
    p->nest--;
    struct rdn_expr *x = node(p, RDN_X_CALL, name->a, close.b, tallest(&xs));
    x->call.f = rdn_p_name(p, name);
    x->call.fpos = rdn_tok_pos(name);
    x->call.xs = xs.v;
    x->call.n = xs.n;
    return x;
}

static struct rdn_expr *paren(struct rdn_parser *p) {
    struct rdn_tok open = rdn_p_take(p);
    rdn_p_deeper(p, rdn_tok_pos(&open));
    struct rdn_expr *x = rdn_parse_expr(p);
    p->nest--;
    x->pos = (struct rdn_span){ open.a, rdn_p_expect(p, RDN_W_RPAREN).b };
    return x;
}

__attribute__((noreturn)) static void no_atom(struct rdn_parser *p) {
    const struct rdn_tok *t = &p->t[0];
    if (rdn_p_at(p, RDN_W_IF))
        rdn_p_refuse(p, "E0203", rdn_tok_pos(t), "'if' inside an expression needs parentheses");
    if (t->kind == RDN_TOK_EOF)
        rdn_p_refuse(p, "E0203", rdn_tok_pos(t), "expected an expression, found end of file");
    uint32_t n = t->b - t->a < 40 ? t->b - t->a : 40;
    rdn_p_refuse(p, "E0203", rdn_tok_pos(t), "expected an expression, found '%.*s'", (int)n, p->lex.src + t->a);
}

static struct rdn_expr *word_atom(struct rdn_parser *p) {
    enum rdn_word w = p->t[0].word;
    bool value = w == RDN_W_TRUE || w == RDN_W_FALSE || w == RDN_W_NONE || w == RDN_W_INF;
    if (rdn_word_reserved(w) && !value)
        no_atom(p);
    struct rdn_tok t = rdn_p_take(p);
    if (w == RDN_W_TRUE || w == RDN_W_FALSE)
        return literal(p, &t, RDN_K_BOOL, w == RDN_W_TRUE);
    if (w == RDN_W_NONE)
        return node(p, RDN_X_NONE, t.a, t.b, 0);
    if (w == RDN_W_INF) {
        struct rdn_expr *x = literal(p, &t, RDN_K_FLOAT, 0);
        x->lit.v.f = INFINITY;
        return x;
    }
    if (rdn_p_at(p, RDN_W_LPAREN))
        return call_node(p, &t);
    struct rdn_expr *x = node(p, RDN_X_NAME, t.a, t.b, 0);
    x->name.v = rdn_p_name(p, &t);
    return x;
}

static struct rdn_expr *atom(struct rdn_parser *p) {
    struct rdn_tok t = p->t[0];
    switch ((enum rdn_tok_kind)t.kind) {
    case RDN_TOK_NUM: {
        rdn_p_take(p);
        struct rdn_expr *x = node(p, RDN_X_NUM, t.a, t.b, 0);
        x->num = rdn_lex_num(p->c, p->lex.src, &t);
        return x;
    }
    case RDN_TOK_STR: {
        rdn_p_take(p);
        struct rdn_expr *x = literal(p, &t, RDN_K_TEXT, 0);
        x->lit.v.t.p = rdn_lex_str(p->c, p->lex.src, &t, &x->lit.v.t.len);
        return x;
    }
    case RDN_TOK_DUR:
        rdn_p_take(p);
        return literal(p, &t, RDN_K_DUR, t.i);
    case RDN_TOK_TIME:
        rdn_p_take(p);
        return literal(p, &t, RDN_K_TIME, t.i);
    case RDN_TOK_DATE:
        rdn_p_take(p);
        return literal(p, &t, RDN_K_DATE, t.i);
    case RDN_TOK_ID:
        return word_atom(p);
    case RDN_TOK_SIGN:
        if (rdn_p_at(p, RDN_W_LPAREN))
            return paren(p);
        no_atom(p);
    case RDN_TOK_EOF: case RDN_TOK_CLOCK:
        break;
    }
    no_atom(p);
}

static struct rdn_expr *postfix(struct rdn_parser *p) {
    struct rdn_expr *x = atom(p);
    for (;;) {
        if (rdn_p_at(p, RDN_W_DOT) && (x->kind == RDN_X_IDX || x->kind == RDN_X_NAME))
            x = dot_node(p, x);
        else if (rdn_p_at(p, RDN_W_LBRACK) && x->kind != RDN_X_NUM && x->kind != RDN_X_LIT && x->kind != RDN_X_NONE)
            x = index_node(p, x);
        else
            return x;
    }
}

static struct rdn_expr *unary(struct rdn_parser *p) {
    if (!rdn_p_at(p, RDN_W_NOT) && !rdn_p_at(p, RDN_W_MINUS))
        return postfix(p);
    rdn_p_mark(p, RDN_MARK_UNARY);
    struct rdn_tok o = rdn_p_take(p);
    rdn_p_deeper(p, rdn_tok_pos(&o));
    struct rdn_expr *x = unary(p);
    p->nest--;
    return unary_node(p, o.word == RDN_W_NOT ? RDN_U_NOT : RDN_U_NEG, o.a, x);
}

/* ---- messages ---- */
struct message { struct rdn_parser *p; struct rdn_d_act *act; const char *src; uint32_t at, end; char *text; uint32_t n; };

static void flush_text(struct message *m) {
    if (m->n == 0)
        return;
    struct rdn_d_part part = { .text = m->text, .len = m->n };
    rdn_push_val(m->p->c->work, &m->act->msg, part);
    m->text += m->n + 1;                                 /* behind a terminator */
    m->n = 0;
}

/* {expr} at m->at. Lexed in place, so that its spans are those of the file. */
static void message_expr(struct message *m) {
    const char *open = m->src + m->at, *end = m->src + m->end, *close = memchr(open, '}', (size_t)(end - open));
    bool blank = true, bad = close == NULL;
    for (const char *s = open + 1; !bad && s < close; s++) {
        bad = *s == '{' || *s == '\\';
        blank = blank && (*s == ' ' || *s == '\t' || *s == '\r');
    }
    if (bad || blank)
        rdn_raise(m->p->c, "E0112", (struct rdn_span){ m->at, m->at + 1 }, "write '{{' for a brace", "malformed {…} in a message");
    flush_text(m);
    struct rdn_parser sub = { .nest = m->p->nest };
    struct rdn_lex check = { m->src, m->at + 1, (uint32_t)(close - m->src) };
    for (struct rdn_tok t = { .kind = RDN_TOK_ID }; t.kind != RDN_TOK_EOF;)
        rdn_lex_next(m->p->c, &check, &t);               /* as in a file, lexical mistakes come first */
    rdn_p_open(&sub, m->p->c, m->src, m->at + 1, (uint32_t)(close - m->src));
    struct rdn_d_part part = { .x = rdn_parse_top(&sub) };
    if (sub.t[0].kind != RDN_TOK_EOF)
        rdn_p_refuse(&sub, "E0112", rdn_tok_pos(&sub.t[0]), "one expression per {…}");
    rdn_push_val(m->p->c->work, &m->act->msg, part);
    m->at = (uint32_t)(close + 1 - m->src);
}

static void message_text(struct message *m) {
    const char *s = m->src + m->at, *end = m->src + m->end;
    size_t used = 1;
    if (*s == '\\')
        m->n += (uint32_t)rdn_lex_escape(s, end, m->text + m->n, &used);
    else {
        m->text[m->n++] = *s;
        used += *s == '{' || *s == '}';
    }
    m->at += (uint32_t)used;
}

void rdn_parse_message(struct rdn_parser *p, const struct rdn_tok *t, struct rdn_d_act *act) {
    struct message m = { p, act, p->lex.src, t->a + 1, t->b - 1, NULL, 0 };
    m.text = rdn_arena_alloc(p->c->arena, 2 * (size_t)(t->b - t->a) + 8);      /* text and a terminator a part */
    act->has_msg = true;
    while (m.at < m.end) {
        char a = m.src[m.at], b = m.at + 1 < m.end ? m.src[m.at + 1] : 0;
        if ((a == '{' || a == '}') && a == b)
            message_text(&m);
        else if (a == '}')
            rdn_raise(p->c, "E0112", (struct rdn_span){ m.at, m.at + 1 }, "write '}}'", "single '}' in a message");
        else if (a == '{')
            message_expr(&m);
        else
            message_text(&m);
    }
    flush_text(&m);
}
