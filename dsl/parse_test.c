/* SPDX-License-Identifier: Apache-2.0
 * parse_test.c: the steps of a test (LANGUAGE.md 17.4). Words are steps only where one fits: an event may be called
 * `param`, `row` or `at`. */
#include "dsl/parse.h"

static void step_set(struct rdn_parser *p, struct rdn_d_step *s, uint8_t kind) {
    struct rdn_tok kw = rdn_p_take(p), n = rdn_p_ident(p, "a name");
    s->kind = kind;
    s->name = rdn_p_name(p, &n);
    s->npos = rdn_tok_pos(&n);
    s->pos = (struct rdn_span){ kw.a, n.b };
    rdn_p_expect(p, RDN_W_ASSIGN);
    s->x = rdn_parse_top(p);
}

/* "{" {name ":" expr} "}"; any token is taken for a name when `what` is NULL. */
static void step_fields(struct rdn_parser *p, rdn_efields *ret, const char *what) {
    rdn_p_expect(p, RDN_W_LBRACE);
    while (!rdn_p_at(p, RDN_W_RBRACE)) {
        struct rdn_tok t = what ? rdn_p_ident(p, what) : rdn_p_take(p);
        struct rdn_d_efield f = { .name = rdn_p_name(p, &t), .pos = rdn_tok_pos(&t) };
        rdn_p_expect(p, RDN_W_COLON);
        f.x = rdn_parse_top(p);
        rdn_push_val(p->c->work, ret, f);
        if (!rdn_p_accept(p, RDN_W_COMMA))
            break;
    }
    rdn_p_expect(p, RDN_W_RBRACE);
}

static void step_row(struct rdn_parser *p, struct rdn_d_step *s) {
    struct rdn_tok kw = rdn_p_take(p), n = rdn_p_ident(p, "a name");
    s->kind = RDN_STEP_ROW;
    s->name = rdn_p_name(p, &n);
    s->npos = rdn_tok_pos(&n);
    rdn_p_mark(p, RDN_MARK_TIGHT);
    rdn_p_take(p);
    while (!rdn_p_at(p, RDN_W_RBRACK)) {
        rdn_push_val(p->c->work, &s->ks, rdn_parse_top(p));
        if (!rdn_p_accept(p, RDN_W_COMMA))
            break;
    }
    s->pos = (struct rdn_span){ kw.a, rdn_p_expect(p, RDN_W_RBRACK).b };
    rdn_p_expect(p, RDN_W_ASSIGN);
    s->none = rdn_p_accept(p, RDN_W_NONE);
    if (!s->none)
        step_fields(p, &s->fs, "a column name");
}

static void step_at(struct rdn_parser *p, struct rdn_d_step *s) {
    struct rdn_tok kw = rdn_p_take(p);
    s->kind = RDN_STEP_AT;
    s->pos = rdn_tok_pos(&kw);
    s->at_ns = rdn_p_take(p).i;
}

static void step_expect(struct rdn_parser *p, struct rdn_d_step *s) {
    rdn_p_take(p);
    s->kind = RDN_STEP_EXPECT;
    if (rdn_p_at(p, RDN_W_UNDEFINED) && rdn_p_ahead(p, 1, RDN_W_LPAREN)) {
        rdn_p_take(p);
        rdn_p_mark(p, RDN_MARK_TIGHT);
        rdn_p_take(p);
        struct rdn_tok t = rdn_p_ident(p, "a cause");
        s->cause = (struct rdn_d_named){ rdn_p_name(p, &t), rdn_tok_pos(&t) };
        rdn_p_expect(p, RDN_W_RPAREN);
    }
    s->x = rdn_parse_top(p);
    s->pos = s->x->pos;
}

/* ---- events and what they must give ---- */
static bool is_code_token(struct rdn_parser *p) {
    const struct rdn_tok *t = &p->t[0];
    const char *s = p->lex.src + t->a;
    if (t->kind != RDN_TOK_ID || s[0] < 'A' || s[0] > 'Z' || rdn_p_ahead(p, 1, RDN_W_LBRACE))
        return false;
    for (uint32_t i = 0; i < t->b - t->a; i++)
        if (s[i] >= 'a' && s[i] <= 'z')
            return false;
    return true;
}

static void want_emit(struct rdn_parser *p, struct rdn_d_step *s) {
    rdn_p_take(p);
    struct rdn_tok t = rdn_p_ident(p, "a name");
    struct rdn_d_xemit e = { .name = { rdn_p_name(p, &t), rdn_tok_pos(&t) } };
    e.has_fields = rdn_p_at(p, RDN_W_LBRACE);
    if (e.has_fields)
        step_fields(p, &e.fields, NULL);
    rdn_push_val(p->c->work, &s->emits, e);
}

/* One item behind the verdict; false at the end of the list. */
static bool want_item(struct rdn_parser *p, struct rdn_d_step *s) {
    if (rdn_p_at(p, RDN_W_DOTDOT)) {
        rdn_p_mark(p, RDN_MARK_MORE);
        rdn_p_take(p);
        s->more = true;
        return false;
    }
    if (rdn_p_at(p, RDN_W_SCORE) && (p->t[1].kind == RDN_TOK_NUM || rdn_p_ahead(p, 1, RDN_W_MINUS))) {
        rdn_p_take(p);
        s->score = rdn_p_integer(p, INT64_MIN, INT64_MAX, "E0405", "the score");
        s->has_score = true;
    } else if (rdn_p_at(p, RDN_W_EMIT) && p->t[1].kind == RDN_TOK_ID)
        want_emit(p, s);
    else if (rdn_p_at(p, RDN_W_UNDEFINED) && p->t[1].kind == RDN_TOK_ID) {
        rdn_p_take(p);
        struct rdn_tok t = rdn_p_ident(p, "a rule name");
        rdn_push_val(p->c->work, &s->undef, ((struct rdn_d_named){ rdn_p_name(p, &t), rdn_tok_pos(&t) }));
    } else if (is_code_token(p)) {
        struct rdn_tok t = rdn_p_take(p);
        rdn_push_val(p->c->work, &s->codes, ((struct rdn_d_named){ rdn_p_name(p, &t), rdn_tok_pos(&t) }));
    } else
        return false;
    rdn_p_accept(p, RDN_W_COMMA);
    return true;
}

static void want_verdict(struct rdn_parser *p, struct rdn_d_step *s) {
    static const char *const options[] = { "accept", "throttle", "hold", "reject" };
    static const uint8_t words[] = { RDN_W_ACCEPT, RDN_W_THROTTLE, RDN_W_HOLD, RDN_W_REJECT };
    struct rdn_tok t = rdn_p_ident(p, "a verdict");
    while (s->verdict < 4 && words[s->verdict] != t.word)
        s->verdict++;
    if (s->verdict == 4) {
        rdn_name name = rdn_p_name(p, &t);
        const char *hint = rdn_near(p->c, name, options, 4);
        rdn_raise(p->c, "E0201", rdn_tok_pos(&t), hint ? hint : "accept throttle hold reject", "expected a verdict, found '%s'", name);
    }
    s->judged = true;
    s->vpos = rdn_tok_pos(&t);
    while (want_item(p, s))
        ;
}

static void step_event(struct rdn_parser *p, struct rdn_d_step *s) {
    s->kind = RDN_STEP_EVENT;
    s->repeat = 1;
    s->has_after = rdn_p_accept(p, RDN_W_AFTER);
    s->at_ns = s->has_after ? rdn_p_duration(p) : -1;
    struct rdn_tok n = rdn_p_ident(p, "an event name");
    s->name = rdn_p_name(p, &n);
    s->pos = s->npos = rdn_tok_pos(&n);
    step_fields(p, &s->fs, "a field name");
    if (rdn_p_accept(p, RDN_W_REPEAT))
        s->repeat = (uint32_t)rdn_p_integer(p, 1, RDN_LIM_REPEAT, "E0806", "repeat");
    if (rdn_p_accept(p, RDN_W_FATARROW))
        want_verdict(p, s);
}

static void step(struct rdn_parser *p, struct rdn_d_step *s) {
    bool name = p->t[1].kind == RDN_TOK_ID;
    if (p->t[0].kind != RDN_TOK_ID)
        rdn_p_unexpected(p, "a test step");
    if (rdn_p_at(p, RDN_W_PARAM) && name && rdn_p_ahead(p, 2, RDN_W_ASSIGN))
        step_set(p, s, RDN_STEP_PARAM);
    else if (rdn_p_at(p, RDN_W_MOCK) && name && rdn_p_ahead(p, 2, RDN_W_ASSIGN))
        step_set(p, s, RDN_STEP_MOCK);
    else if (rdn_p_at(p, RDN_W_ROW) && name && rdn_p_ahead(p, 2, RDN_W_LBRACK))
        step_row(p, s);
    else if (rdn_p_at(p, RDN_W_AT) && p->t[1].kind == RDN_TOK_TIME)
        step_at(p, s);
    else if (rdn_p_at(p, RDN_W_EXPECT))
        step_expect(p, s);
    else
        step_event(p, s);
}

struct rdn_decl *rdn_parse_test(struct rdn_parser *p) {
    struct rdn_d_test *t = rdn_new(p->c->work, struct rdn_d_test);
    struct rdn_tok name = rdn_p_string(p, "the name of the test");
    rdn_decl_init(&t->d, p, RDN_D_TEST, &name);
    rdn_p_expect(p, RDN_W_LBRACE);
    while (!rdn_p_at(p, RDN_W_RBRACE)) {
        struct rdn_span pos = rdn_tok_pos(&p->t[0]);
        struct rdn_d_step s = { 0 };
        rdn_p_mark(p, RDN_MARK_START);
        step(p, &s);
        if (t->steps.n == RDN_LIM_STEPS)
            rdn_p_refuse(p, "E0712", pos, "too many test steps");
        rdn_push_val(p->c->work, &t->steps, s);
    }
    rdn_p_expect(p, RDN_W_RBRACE);
    return &t->d;
}
