/* SPDX-License-Identifier: Apache-2.0
 * parse.c: recursive descent over the grammar of LANGUAGE.md chapter 3; the first mistake ends it.
 *
 * The text is lexed while it is parsed, so a good file is read once and no token is stored. A lexical mistake anywhere
 * wins over a syntax error before it: after a syntax error the rest is lexed too. Recursion is bounded by RDN_LIM_NEST. */
#include "dsl/parse.h"
#include <string.h>

void rdn_p_open(struct rdn_parser *p, struct rdn_pass *c, const char *src, uint32_t at, uint32_t end) {
    p->c = c;
    p->lex = (struct rdn_lex){ src, at, end };
    for (int i = 0; i < 3; i++)
        rdn_lex_next(c, &p->lex, &p->t[i]);
    p->last = at;
    p->nodes = 0;
}

struct rdn_tok rdn_p_take(struct rdn_parser *p) {
    struct rdn_tok t = p->t[0];
    if (t.kind == RDN_TOK_EOF)
        return t;
    p->last = t.b;
    p->t[0] = p->t[1];
    p->t[1] = p->t[2];
    rdn_lex_next(p->c, &p->lex, &p->t[2]);
    return t;
}

void rdn_p_note(struct rdn_parser *p, unsigned kind) {
    struct rdn_mark m = { p->t[0].a, (uint8_t)kind };
    rdn_push_val(p->c->work, &p->c->marks->list, m);
}

bool rdn_p_accept(struct rdn_parser *p, enum rdn_word w) {
    if (!rdn_p_at(p, w))
        return false;
    rdn_p_take(p);
    return true;
}

void rdn_p_refuse(struct rdn_parser *p, const char *code, struct rdn_span pos, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = rdn_arena_vprintf(p->c->arena, fmt, ap);
    va_end(ap);
    rdn_raise(p->c, code, pos, NULL, "%s", text);
}

static const char *found(struct rdn_parser *p) {
    const struct rdn_tok *t = &p->t[0];
    if (t->kind == RDN_TOK_EOF)
        return "end of file";
    if (t->kind == RDN_TOK_STR)
        return "a string";
    uint32_t n = t->b - t->a < 40 ? t->b - t->a : 40;
    return rdn_arena_printf(p->c->arena, "'%.*s'", (int)n, p->lex.src + t->a);
}

void rdn_p_unexpected(struct rdn_parser *p, const char *wanted) {
    const char *hint = rdn_p_at(p, RDN_W_ASSIGN) && !strcmp(wanted, "an action") ? "compare with '=='" : NULL;
    rdn_raise(p->c, "E0201", rdn_tok_pos(&p->t[0]), hint, "expected %s, found %s", wanted, found(p));
}

struct rdn_tok rdn_p_expect(struct rdn_parser *p, enum rdn_word w) {
    if (!rdn_p_at(p, w))
        rdn_p_unexpected(p, rdn_arena_printf(p->c->arena, "'%s'", rdn_word_text(w)));
    return rdn_p_take(p);
}

struct rdn_tok rdn_p_ident(struct rdn_parser *p, const char *what) {
    const struct rdn_tok *t = &p->t[0];
    if (t->kind != RDN_TOK_ID)
        rdn_p_unexpected(p, what);
    if (rdn_word_reserved(t->word))
        rdn_p_refuse(p, "E0304", rdn_tok_pos(t), "'%s' is a reserved word", rdn_word_text(t->word));
    return rdn_p_take(p);
}

struct rdn_tok rdn_p_new_name(struct rdn_parser *p) {
    struct rdn_tok t = rdn_p_ident(p, "a name");
    if (rdn_word_predef(t.word))
        rdn_p_refuse(p, "E0304", rdn_tok_pos(&t), "'%s' is predefined", rdn_word_text(t.word));
    return t;
}

struct rdn_tok rdn_p_string(struct rdn_parser *p, const char *what) {
    if (p->t[0].kind != RDN_TOK_STR)
        rdn_p_unexpected(p, what);
    return rdn_p_take(p);
}

rdn_name rdn_p_name(struct rdn_parser *p, const struct rdn_tok *t) {
    if (t->kind != RDN_TOK_STR)
        return rdn_ast_name(p->c, p->lex.src + t->a, t->b - t->a);
    uint32_t n;
    const char *s = rdn_lex_str(p->c, p->lex.src, t, &n);
    return rdn_ast_name(p->c, s, n);
}

int64_t rdn_p_duration(struct rdn_parser *p) {
    if (p->t[0].kind != RDN_TOK_DUR)
        rdn_p_unexpected(p, "a duration such as 250ms, 5m or 1h");
    return rdn_p_take(p).i;
}

int64_t rdn_p_integer(struct rdn_parser *p, int64_t lo, int64_t hi, const char *code, const char *what) {
    uint32_t from = p->t[0].a;
    rdn_p_mark(p, RDN_MARK_UNARY);
    bool neg = rdn_p_accept(p, RDN_W_MINUS);
    if (p->t[0].kind != RDN_TOK_NUM || p->t[0].frac)
        rdn_p_unexpected(p, what);
    struct rdn_tok t = rdn_p_take(p);
    struct rdn_num n = rdn_lex_num(p->c, p->lex.src, &t);
    rdn_i128 v;
    if (!rdn_num_i128(&n, neg, 0, &v) || v < lo || v > hi)
        rdn_p_refuse(p, code, (struct rdn_span){ from, t.b }, "%s must be between %lld and %lld", what, (long long)lo, (long long)hi);
    return (int64_t)v;
}

void rdn_p_deeper(struct rdn_parser *p, struct rdn_span pos) {
    if (++p->nest > RDN_LIM_NEST)
        rdn_p_refuse(p, "E0702", pos, "nested deeper than %d levels", RDN_LIM_NEST);
}

/* ---- types ---- */
static const struct rdn_type *type_enum(struct rdn_parser *p) {
    rdn_name members[RDN_LIM_ENUM];
    unsigned n = 0;
    rdn_p_mark(p, RDN_MARK_TIGHT);
    rdn_p_expect(p, RDN_W_LPAREN);
    do {
        struct rdn_tok t = rdn_p_ident(p, "an enum member");
        rdn_name m = rdn_p_name(p, &t);
        for (unsigned i = 0; i < n; i++)
            if (members[i] == m)
                rdn_p_refuse(p, "E0206", rdn_tok_pos(&t), "enum member '%s' given twice", m);
        if (n == RDN_LIM_ENUM)
            rdn_p_refuse(p, "E0206", rdn_tok_pos(&t), "enum has more than %d members", RDN_LIM_ENUM);
        members[n++] = m;
    } while (rdn_p_accept(p, RDN_W_COMMA));
    rdn_p_expect(p, RDN_W_RPAREN);
    return rdn_type_enum(p->c->types, members, n);
}

static unsigned type_size(struct rdn_parser *p, int64_t lo, int64_t hi, const char *what) {
    rdn_p_mark(p, RDN_MARK_TIGHT);
    rdn_p_expect(p, RDN_W_LPAREN);
    unsigned n = (unsigned)rdn_p_integer(p, lo, hi, "E0206", what);
    rdn_p_expect(p, RDN_W_RPAREN);
    return n;
}

__attribute__((noreturn)) static void unknown_type(struct rdn_parser *p, const struct rdn_tok *t) {
    static const char *const options[] = { "bool", "int", "float", "dec", "sym", "str", "enum", "time", "dur", "date" };
    rdn_name name = rdn_p_name(p, t);
    const char *hint = rdn_near(p->c, name, options, sizeof options / sizeof *options);
    rdn_raise(p->c, "E0205", rdn_tok_pos(t), hint ? hint : "types: bool int float dec(s) sym str(n) enum(…) time dur date",
              "unknown type '%s'", name);
}

static const struct rdn_type *type_scalar(struct rdn_parser *p) {
    struct rdn_tok t = rdn_p_ident(p, "a type");
    struct rdn_types *types = p->c->types;
    switch (t.word) {
    case RDN_W_BOOL: return rdn_type_simple(types, RDN_K_BOOL);
    case RDN_W_INT: return rdn_type_simple(types, RDN_K_INT);
    case RDN_W_FLOAT: return rdn_type_simple(types, RDN_K_FLOAT);
    case RDN_W_TIME: return rdn_type_simple(types, RDN_K_TIME);
    case RDN_W_DUR: return rdn_type_simple(types, RDN_K_DUR);
    case RDN_W_DATE: return rdn_type_simple(types, RDN_K_DATE);
    case RDN_W_SYM: return rdn_type_simple(types, RDN_K_SYM);
    case RDN_W_DEC: return rdn_type_dec(types, type_size(p, 0, 9, "the scale of dec"));
    case RDN_W_STR: return rdn_type_str(types, type_size(p, 1, RDN_LIM_STR_N, "the size of str"));
    case RDN_W_ENUM: return type_enum(p);
    default: unknown_type(p, &t);
    }
}

static bool is_type_word(enum rdn_word w) {
    switch (w) {
    case RDN_W_BOOL: case RDN_W_INT: case RDN_W_FLOAT: case RDN_W_TIME: case RDN_W_DUR: case RDN_W_DATE:
    case RDN_W_SYM: case RDN_W_DEC: case RDN_W_STR: case RDN_W_ENUM: return true;
    default: return false;
    }
}

const struct rdn_type *rdn_parse_type(struct rdn_parser *p) {
    const struct rdn_type *t = type_scalar(p);
    if (!rdn_p_at(p, RDN_W_LBRACK))
        return t;
    rdn_p_mark(p, RDN_MARK_TIGHT);
    struct rdn_tok open = rdn_p_take(p);
    if (t->kind != RDN_K_INT && t->kind != RDN_K_FLOAT)
        rdn_p_refuse(p, "E0206", rdn_tok_pos(&open), "only int and float have arrays");
    unsigned d[2] = { 0, 1 }, ndim = 1;
    d[0] = (unsigned)rdn_p_integer(p, 1, RDN_LIM_ARR, "E0206", "an array size");
    if (rdn_p_accept(p, RDN_W_COMMA)) {
        d[1] = (unsigned)rdn_p_integer(p, 1, RDN_LIM_ARR, "E0206", "an array size");
        ndim = 2;
    }
    struct rdn_tok close = rdn_p_expect(p, RDN_W_RBRACK);
    if (d[0] * d[1] > RDN_LIM_ARR)
        rdn_p_refuse(p, "E0206", (struct rdn_span){ open.a, close.b }, "array has more than %d elements", RDN_LIM_ARR);
    return rdn_type_arr(p->c->types, t->kind, ndim, d[0], d[1]);
}

/* ---- lists of fields and parameters ---- */
void rdn_parse_fields(struct rdn_parser *p, rdn_fields *ret, bool optional) {
    unsigned nopt = 0;
    rdn_p_expect(p, RDN_W_LBRACE);
    while (!rdn_p_at(p, RDN_W_RBRACE)) {
        rdn_p_mark(p, RDN_MARK_START);
        struct rdn_tok t = rdn_p_new_name(p);
        struct rdn_d_field f = { .name = rdn_p_name(p, &t), .pos = rdn_tok_pos(&t) };
        rdn_p_expect(p, RDN_W_COLON);
        f.type = rdn_parse_type(p);
        f.opt = optional && rdn_p_accept(p, RDN_W_QUESTION);
        rdn_p_accept(p, RDN_W_COMMA);
        for (uint32_t i = 0; i < ret->n; i++)
            if (ret->v[i].name == f.name)
                rdn_p_refuse(p, "E0302", f.pos, "'%s' is given twice", f.name);
        if (ret->n == RDN_LIM_FIELDS)
            rdn_p_refuse(p, "E0712", f.pos, "more than %d fields", RDN_LIM_FIELDS);
        if ((nopt += f.opt) > RDN_LIM_OPTIONAL)
            rdn_p_refuse(p, "E0712", f.pos, "more than %d optional fields", RDN_LIM_OPTIONAL);
        rdn_push_val(p->c->work, ret, f);
    }
    rdn_p_expect(p, RDN_W_RBRACE);
}

void rdn_parse_params(struct rdn_parser *p, rdn_plist *ret, bool events) {
    rdn_p_mark(p, RDN_MARK_TIGHT);
    rdn_p_expect(p, RDN_W_LPAREN);
    while (!rdn_p_at(p, RDN_W_RPAREN)) {
        struct rdn_tok t = rdn_p_new_name(p);
        struct rdn_d_param_ q = { .name = rdn_p_name(p, &t), .pos = rdn_tok_pos(&t) };
        rdn_p_expect(p, RDN_W_COLON);
        for (uint32_t i = 0; i < ret->n; i++)
            if (ret->v[i].name == q.name)
                rdn_p_refuse(p, "E0302", q.pos, "'%s' is given twice", q.name);
        const struct rdn_tok *u = &p->t[0];
        if (events && u->kind == RDN_TOK_ID && !is_type_word(u->word) && !rdn_word_reserved(u->word)) {
            struct rdn_tok e = rdn_p_take(p);
            q.event = rdn_p_name(p, &e);
            q.pos = rdn_tok_pos(&e);
        } else
            q.type = rdn_parse_type(p);
        if (ret->n == RDN_LIM_PARAMS)
            rdn_p_refuse(p, "E0712", rdn_tok_pos(&t), "more than %d parameters", RDN_LIM_PARAMS);
        rdn_push_val(p->c->work, ret, q);
        if (!rdn_p_accept(p, RDN_W_COMMA))
            break;
    }
    rdn_p_expect(p, RDN_W_RPAREN);
}

/* ---- the file ---- */
static void once(struct rdn_parser *p, bool given, const struct rdn_tok *t) {
    if (given)
        rdn_p_refuse(p, "E0210", rdn_tok_pos(t), "'%s' given twice", rdn_word_text(t->word));
}

static void header_clause(struct rdn_parser *p, struct rdn_file *f) {
    rdn_p_mark(p, RDN_MARK_START);
    struct rdn_tok t = rdn_p_take(p);
    if (t.word == RDN_W_UNDEFINED) {
        once(p, f->undef, &t);
        f->undef = rdn_new(p->c->work, struct rdn_d_act);
        rdn_parse_action(p, f->undef, true);
    } else if (t.word == RDN_W_BUDGET) {
        once(p, f->has_budget, &t);
        f->bpos = rdn_tok_pos(&p->t[0]);
        f->budget_ns = rdn_p_duration(p);
        f->has_budget = true;
    } else {
        once(p, f->partition, &t);
        rdn_p_expect(p, RDN_W_BY);
        struct rdn_tok n = rdn_p_ident(p, "a field name");
        f->partition = rdn_p_name(p, &n);
        f->ppos = rdn_tok_pos(&n);
    }
}

static void header(struct rdn_parser *p, struct rdn_file *f) {
    if (!rdn_p_at(p, RDN_W_RULESET))
        return;
    rdn_p_mark(p, RDN_MARK_DECL);
    struct rdn_tok kw = rdn_p_take(p), n = rdn_p_new_name(p);
    f->name = rdn_p_name(p, &n);
    f->pos = (struct rdn_span){ kw.a, n.b };
    rdn_p_expect(p, RDN_W_VERSION);
    f->version = (uint32_t)rdn_p_integer(p, 0, INT32_MAX, "E0405", "the version");
    while (rdn_p_at(p, RDN_W_UNDEFINED) || rdn_p_at(p, RDN_W_BUDGET) || rdn_p_at(p, RDN_W_PARTITION))
        header_clause(p, f);
}

static void file(struct rdn_parser *p, struct rdn_file *f) {
    uint32_t count[RDN_D_TEST + 1] = { 0 };
    header(p, f);
    while (p->t[0].kind != RDN_TOK_EOF) {
        struct rdn_tok kw = p->t[0];
        struct rdn_decl *d = rdn_parse_decl(p, &kw);
        d->kw = rdn_tok_pos(&kw);
        d->whole = (struct rdn_span){ kw.a, p->last };
        d->index = count[d->kind]++;
        if (f->decls.n == RDN_LIM_DECLS)
            rdn_p_refuse(p, "E0703", rdn_tok_pos(&kw), "more than %d declarations", RDN_LIM_DECLS);
        rdn_push_val(p->c->work, &f->decls, d);
    }
}

/* Calls f under a guard; false with the diagnostic in c->raised. */
static bool attempt(struct rdn_pass *c, void (*f)(struct rdn_parser *, void *), struct rdn_parser *p, void *arg) {
    struct rdn_guard g;
    RDN_TRY(c, g) {
        f(p, arg);
        RDN_DONE(c, g);
        return true;
    }
    return false;
}

static void lex_rest(struct rdn_parser *p, void *unused) {
    (void)unused;
    struct rdn_tok t;
    do
        rdn_lex_next(p->c, &p->lex, &t);
    while (t.kind != RDN_TOK_EOF);
}

/* Runs a parse; a lexical mistake behind a syntax error is the one that is raised. */
static void parse_all(struct rdn_pass *c, void (*f)(struct rdn_parser *, void *), struct rdn_parser *p, void *arg) {
    if (attempt(c, f, p, arg))
        return;
    struct rdn_dsl_diag first = c->raised;
    if (attempt(c, lex_rest, p, NULL))
        c->raised = first;
    struct rdn_guard *g = c->guard;
    c->guard = g->up;
    longjmp(g->jb, 1);
}

static void parse_file(struct rdn_parser *p, void *ret) {
    rdn_p_open(p, p->c, p->lex.src, 0, p->lex.end);
    file(p, ret);
}

static struct rdn_parser *parser_on(struct rdn_pass *c, const char *text, uint32_t len) {
    struct rdn_parser *p = rdn_new(c->work, struct rdn_parser);
    p->c = c;
    p->lex = (struct rdn_lex){ text, 0, len };
    return p;
}

struct rdn_file *rdn_parse(struct rdn_pass *c) {
    struct rdn_file *f = rdn_new(c->work, struct rdn_file);
    f->src = c->src;
    f->len = c->len;
    f->name = rdn_ast_name(c, "anon", 4);
    rdn_lex_bytes(c, c->src, c->len, true);
    parse_all(c, parse_file, parser_on(c, c->src, c->len), f);
    return f;
}

struct one { bool constant; struct rdn_expr *x; const struct rdn_type *type; };

static void parse_one(struct rdn_parser *p, void *arg) {
    struct one *o = arg;
    rdn_p_open(p, p->c, p->lex.src, 0, p->lex.end);
    o->x = o->constant ? rdn_parse_const(p) : rdn_parse_top(p);
    if (p->t[0].kind != RDN_TOK_EOF)
        rdn_p_refuse(p, "E0201", rdn_tok_pos(&p->t[0]), "one expression expected");
}

static void parse_type_only(struct rdn_parser *p, void *arg) {
    struct one *o = arg;
    rdn_p_open(p, p->c, p->lex.src, 0, p->lex.end);
    o->type = rdn_parse_type(p);
    if (p->t[0].kind != RDN_TOK_EOF)
        rdn_p_unexpected(p, "one type");
}

struct rdn_expr *rdn_parse_expr_text(struct rdn_pass *c, const char *text, size_t len, bool constant) {
    struct one *o = rdn_new(c->work, struct one);
    o->constant = constant;
    rdn_lex_bytes(c, text, (uint32_t)len, false);
    parse_all(c, parse_one, parser_on(c, text, (uint32_t)len), o);
    return o->x;
}

const struct rdn_type *rdn_parse_type_text(struct rdn_pass *c, const char *text, size_t len) {
    struct one *o = rdn_new(c->work, struct one);
    rdn_lex_bytes(c, text, (uint32_t)len, false);
    parse_all(c, parse_type_only, parser_on(c, text, (uint32_t)len), o);
    return o->type;
}
