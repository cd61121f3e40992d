/* SPDX-License-Identifier: Apache-2.0
 * parse_rule.c: windows, actions, rules. */
#include "dsl/parse.h"
#include <string.h>

/* ---- windows ---- */
static void window_over(struct rdn_parser *p, struct rdn_d_window *w) {
    struct rdn_span pos = rdn_tok_pos(&p->t[0]);
    w->opos[RDN_OPT_OVER] = pos;
    if (p->t[0].kind == RDN_TOK_NUM && rdn_p_ahead(p, 1, RDN_W_EVENTS)) {
        w->events = (uint32_t)rdn_p_integer(p, 1, RDN_LIM_RING, "E0504", "the number of events");
        rdn_p_take(p);
        return;
    }
    w->over_ns = rdn_p_duration(p);
    if (w->over_ns <= 0)
        rdn_p_refuse(p, "E0504", pos, "the span must be positive");
}

static void window_keys(struct rdn_parser *p, struct rdn_d_window *w) {
    do {
        struct rdn_expr *k = rdn_parse_const(p);
        if (w->by.n == RDN_LIM_KEYCOLS)
            rdn_p_refuse(p, "E0712", k->pos, "more than %d keys", RDN_LIM_KEYCOLS);
        rdn_push_val(p->c->work, &w->by, k);
    } while (rdn_p_accept(p, RDN_W_COMMA));
}

static void window_reset(struct rdn_parser *p, struct rdn_d_window *w, struct rdn_span pos) {
    rdn_p_expect(p, RDN_W_ON);
    struct rdn_tok e = rdn_p_ident(p, "an event name");
    struct rdn_d_reset r = { rdn_p_name(p, &e), rdn_tok_pos(&e) };
    if (w->resets.n == RDN_LIM_RESETS)
        rdn_p_refuse(p, "E0712", pos, "more than %d resets", RDN_LIM_RESETS);
    for (uint32_t i = 0; i < w->resets.n; i++)
        if (w->resets.v[i].event == r.event)
            rdn_p_refuse(p, "E0210", pos, "'reset on %s' given twice", r.event);
    rdn_push_val(p->c->work, &w->resets, r);
}

static void window_evict(struct rdn_parser *p, struct rdn_d_window *w) {
    static const char *const options[] = { "oldest", "idle" };
    if (!rdn_p_accept(p, RDN_W_EVICT))
        return;
    struct rdn_tok t = rdn_p_ident(p, "oldest or idle");
    if (t.word != RDN_W_OLDEST && t.word != RDN_W_IDLE) {
        rdn_name name = rdn_p_name(p, &t);
        rdn_raise(p->c, "E0201", rdn_tok_pos(&t), rdn_near(p->c, name, options, 2), "expected 'oldest' or 'idle', found '%s'", name);
    }
    w->evict = t.word == RDN_W_OLDEST ? RDN_EVICT_OLDEST : RDN_EVICT_IDLE;
}

/* One option behind `on`; false when the current token is none. */
static bool window_option(struct rdn_parser *p, struct rdn_d_window *w) {
    enum rdn_opt opt;
    switch (p->t[0].word) {
    case RDN_W_PANES: opt = RDN_OPT_PANES; break;
    case RDN_W_EXACT: opt = RDN_OPT_EXACT; break;
    case RDN_W_KEYS: opt = RDN_OPT_KEYS; break;
    case RDN_W_WARMUP: opt = RDN_OPT_WARMUP; break;
    case RDN_W_LOCAL: opt = RDN_OPT_LOCAL; break;
    case RDN_W_RESET: opt = RDN_OPT_COUNT; break;
    default: return false;
    }
    struct rdn_tok o = rdn_p_take(p);
    if (opt == RDN_OPT_COUNT) {
        window_reset(p, w, rdn_tok_pos(&o));
        return true;
    }
    const char *name = rdn_word_text(o.word);
    if (w->opos[opt].b)
        rdn_p_refuse(p, "E0210", rdn_tok_pos(&o), "'%s' given twice", name);
    w->opos[opt] = rdn_tok_pos(&o);
    if (opt == RDN_OPT_LOCAL)
        w->local = true;
    else if (opt == RDN_OPT_PANES)
        w->panes = (uint32_t)rdn_p_integer(p, 1, RDN_LIM_PANES, "E0516", name);
    else if (opt == RDN_OPT_EXACT)
        w->exact = (uint32_t)rdn_p_integer(p, 1, RDN_LIM_EXACT, "E0516", name);
    else if (opt == RDN_OPT_WARMUP) {
        w->warmup = (uint32_t)rdn_p_integer(p, 1, RDN_LIM_WARMUP, "E0516", name);
        w->has_warmup = true;
    } else {
        w->keys = (uint32_t)rdn_p_integer(p, 1, RDN_LIM_KEYS, "E0516", name);
        window_evict(p, w);
    }
    return true;
}

static bool window_clause(struct rdn_parser *p, enum rdn_word w, unsigned column) {
    if (!rdn_p_at(p, w))
        return false;
    rdn_p_mark(p, RDN_MARK_CELL + column);
    rdn_p_take(p);
    return true;
}

struct rdn_decl *rdn_parse_window(struct rdn_parser *p) {
    struct rdn_d_window *w = rdn_new(p->c->work, struct rdn_d_window);
    struct rdn_tok name = rdn_p_new_name(p);
    rdn_decl_init(&w->d, p, RDN_D_WINDOW, &name);
    rdn_p_mark(p, RDN_MARK_CELL);
    rdn_p_expect(p, RDN_W_ASSIGN);
    struct rdn_tok g = rdn_p_ident(p, "an aggregate");
    w->agg = rdn_p_name(p, &g);
    w->aggpos = rdn_tok_pos(&g);
    rdn_p_mark(p, RDN_MARK_TIGHT);
    rdn_p_expect(p, RDN_W_LPAREN);
    p->nodes = 0;
    rdn_parse_args(p, &w->xs, RDN_W_RPAREN);
    if (window_clause(p, RDN_W_OVER, 1))
        window_over(p, w);
    if (window_clause(p, RDN_W_BY, 2))
        window_keys(p, w);
    rdn_p_mark(p, RDN_MARK_CELL + 3);
    rdn_p_expect(p, RDN_W_ON);
    if (rdn_p_at(p, RDN_W_ACCEPTED) && p->t[1].kind == RDN_TOK_ID)
        w->accepted = rdn_p_accept(p, RDN_W_ACCEPTED);
    struct rdn_tok e = rdn_p_ident(p, "an event name");
    w->on = rdn_p_name(p, &e);
    w->onpos = rdn_tok_pos(&e);
    if (window_clause(p, RDN_W_WHERE, 4))
        w->where = rdn_parse_top(p);
    while (window_option(p, w))
        ;
    return &w->d;
}

/* ---- actions ---- */
static int verb_of(enum rdn_word w) {
    switch (w) {
    case RDN_W_ACCEPT: return RDN_V_ACCEPT;
    case RDN_W_THROTTLE: return RDN_V_THROTTLE;
    case RDN_W_HOLD: return RDN_V_HOLD;
    case RDN_W_REJECT: return RDN_V_REJECT;
    case RDN_W_FLAG: return RDN_V_FLAG;
    case RDN_W_SCORE: return RDN_V_SCORE;
    case RDN_W_EMIT: return RDN_V_EMIT;
    default: return -1;
    }
}

static bool is_code(const char *s) {
    if (*s < 'A' || *s > 'Z')
        return false;
    for (; *s; s++)
        if (!((*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_'))
            return false;
    return true;
}

static void reason_code(struct rdn_parser *p, struct rdn_d_act *a) {
    struct rdn_tok t = rdn_p_ident(p, "a reason code");
    a->code = rdn_p_name(p, &t);
    a->cpos = rdn_tok_pos(&t);
    a->pos.b = t.b;
    if (is_code(a->code))
        return;
    char *upper = rdn_arena_printf(p->c->arena, "for example %s", a->code[0] == '_' ? "LIMIT" : a->code);
    for (char *s = upper + strlen("for example "); *s; s++)
        *s = *s >= 'a' && *s <= 'z' ? (char)(*s - 'a' + 'A') : *s;
    rdn_raise(p->c, "E0209", a->cpos, upper, "reason code '%s' must be upper case", a->code);
}

static void emit_fields(struct rdn_parser *p, struct rdn_d_act *a) {
    rdn_p_expect(p, RDN_W_LBRACE);
    while (!rdn_p_at(p, RDN_W_RBRACE)) {
        struct rdn_tok t = rdn_word_predef(p->t[0].like) ? rdn_p_take(p) : rdn_p_new_name(p);
        struct rdn_d_efield f = { .name = rdn_p_name(p, &t), .pos = rdn_tok_pos(&t) };
        rdn_p_expect(p, RDN_W_COLON);
        f.x = rdn_parse_top(p);
        if (a->fields.n == RDN_LIM_FIELDS)
            rdn_p_refuse(p, "E0712", f.pos, "more than %d fields", RDN_LIM_FIELDS);
        rdn_push_val(p->c->work, &a->fields, f);
        if (!rdn_p_accept(p, RDN_W_COMMA))
            break;
    }
    a->pos.b = rdn_p_expect(p, RDN_W_RBRACE).b;
}

static void emit(struct rdn_parser *p, struct rdn_d_act *a) {
    struct rdn_tok n = rdn_p_ident(p, "the name of the emitted event");
    a->code = rdn_p_name(p, &n);
    a->cpos = rdn_tok_pos(&n);
    emit_fields(p, a);
}

__attribute__((noreturn)) static void unknown_action(struct rdn_parser *p, const struct rdn_tok *t) {
    static const char *const options[] = { "accept", "throttle", "hold", "reject", "flag", "score", "emit" };
    rdn_name name = rdn_p_name(p, t);
    const char *hint = rdn_near(p->c, name, options, sizeof options / sizeof *options);
    rdn_raise(p->c, "E0207", rdn_tok_pos(t), hint ? hint : "actions: accept throttle hold reject flag score emit",
              "unknown action '%s'", name);
}

void rdn_parse_action(struct rdn_parser *p, struct rdn_d_act *a, bool undef) {
    struct rdn_tok t = rdn_p_ident(p, "an action");
    int verb = verb_of(t.word);
    a->pos = rdn_tok_pos(&t);
    if (undef && t.word == RDN_W_SKIP) {
        a->verb = RDN_V_SKIP;
        return;
    }
    if (verb < 0)
        unknown_action(p, &t);
    a->verb = (uint8_t)verb;
    if (verb == RDN_V_EMIT) {
        emit(p, a);
        return;
    }
    reason_code(p, a);
    if (verb == RDN_V_SCORE) {
        a->x = rdn_parse_const(p);
        a->pos.b = a->x->pos.b;
    }
    if (rdn_p_at(p, RDN_W_FOR)) {
        struct rdn_tok f = rdn_p_take(p);
        a->fpos = rdn_tok_pos(&f);
        a->has_for = true;
        a->for_ns = rdn_p_duration(p);
    }
    if (p->t[0].kind == RDN_TOK_STR) {
        struct rdn_tok m = rdn_p_take(p);
        rdn_parse_message(p, &m, a);
    }
}

/* ---- rules ---- */
static void rule_options(struct rdn_parser *p, struct rdn_d_rule *r) {
    bool prio = false;
    while (rdn_p_at(p, RDN_W_PRIORITY) || rdn_p_at(p, RDN_W_SHADOW)) {
        struct rdn_tok o = rdn_p_take(p);
        bool *seen = o.word == RDN_W_PRIORITY ? &prio : &r->shadow;
        if (*seen)
            rdn_p_refuse(p, "E0210", rdn_tok_pos(&o), "'%s' given twice", rdn_word_text(o.word));
        *seen = true;
        if (o.word == RDN_W_PRIORITY)
            r->prio = (int32_t)rdn_p_integer(p, -1000000, 1000000, "E0607", "the priority");
    }
}

static void rule_action(struct rdn_parser *p, struct rdn_d_rule *r) {
    struct rdn_span pos = rdn_tok_pos(&p->t[0]);
    struct rdn_d_act a = { 0 };
    rdn_p_mark(p, RDN_MARK_START);
    if (rdn_p_accept(p, RDN_W_UNDEFINED)) {
        if (r->undef)
            rdn_p_refuse(p, "E0210", pos, "'undefined' given twice");
        r->undef = rdn_new(p->c->work, struct rdn_d_act);
        rdn_parse_action(p, r->undef, true);
        return;
    }
    rdn_parse_action(p, &a, false);
    if (r->acts.n == RDN_LIM_ACTIONS)
        rdn_p_refuse(p, "E0712", pos, "more than %d actions", RDN_LIM_ACTIONS);
    rdn_push_val(p->c->work, &r->acts, a);
}

struct rdn_decl *rdn_parse_rule(struct rdn_parser *p) {
    struct rdn_d_rule *r = rdn_new(p->c->work, struct rdn_d_rule);
    struct rdn_tok name = rdn_p_new_name(p);
    rdn_decl_init(&r->d, p, RDN_D_RULE, &name);
    rdn_p_mark(p, RDN_MARK_CELL);
    rdn_p_expect(p, RDN_W_ON);
    struct rdn_tok e = rdn_p_ident(p, "an event name");
    r->on = rdn_p_name(p, &e);
    r->onpos = rdn_tok_pos(&e);
    rdn_p_mark(p, RDN_MARK_CELL + 1);
    rule_options(p, r);
    rdn_p_expect(p, RDN_W_LBRACE);
    rdn_p_mark(p, RDN_MARK_START);
    rdn_p_expect(p, RDN_W_WHEN);
    r->when = rdn_parse_top(p);
    rdn_p_mark(p, RDN_MARK_CELL + 2);
    while (!rdn_p_at(p, RDN_W_RBRACE))
        rule_action(p, r);
    rdn_p_expect(p, RDN_W_RBRACE);
    if (r->acts.n == 0)
        rdn_p_refuse(p, "E0208", r->d.pos, "rule '%s' has no action", r->d.name);
    return &r->d;
}
