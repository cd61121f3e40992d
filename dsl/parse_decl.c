/* SPDX-License-Identifier: Apache-2.0
 * parse_decl.c: declarations, but for windows, rules (parse_rule.c) and tests (parse_test.c). */
#include "dsl/parse.h"

void rdn_decl_init(struct rdn_decl *d, struct rdn_parser *p, enum rdn_d_kind kind, const struct rdn_tok *name) {
    d->kind = kind;
    d->name = rdn_p_name(p, name);
    d->pos = rdn_tok_pos(name);
}

/* Declares `T *d` with a new declaration whose name is the next token. */
#define NEW_DECL(T, KIND)                               \
    struct T *d = rdn_new(p->c->work, struct T);       \
    struct rdn_tok name_ = rdn_p_new_name(p);           \
    rdn_decl_init(&d->d, p, KIND, &name_)

static struct rdn_decl *event(struct rdn_parser *p) {
    NEW_DECL(rdn_d_event, RDN_D_EVENT);
    rdn_p_mark(p, RDN_MARK_CELL);
    rdn_parse_fields(p, &d->fields, true);
    return &d->d;
}

static struct rdn_decl *param(struct rdn_parser *p) {
    NEW_DECL(rdn_d_param, RDN_D_PARAM);
    rdn_p_expect(p, RDN_W_COLON);
    rdn_p_mark(p, RDN_MARK_CELL);
    d->tpos = rdn_tok_pos(&p->t[0]);
    d->ty = rdn_parse_type(p);
    rdn_p_mark(p, RDN_MARK_CELL + 1);
    rdn_p_expect(p, RDN_W_ASSIGN);
    d->v = rdn_parse_const(p);
    if (rdn_p_at(p, RDN_W_IN)) {
        rdn_p_mark(p, RDN_MARK_CELL + 2);
        rdn_p_take(p);
        d->lo = rdn_parse_const(p);
        rdn_p_expect(p, RDN_W_DOTDOT);
        d->hi = rdn_parse_const(p);
    }
    return &d->d;
}

static void file_name(struct rdn_parser *p, const char **ret, uint32_t *ret_len, struct rdn_span *ret_pos) {
    struct rdn_tok s = rdn_p_string(p, "a file name");
    *ret = rdn_lex_str(p->c, p->lex.src, &s, ret_len);
    *ret_pos = rdn_tok_pos(&s);
}

static struct rdn_decl *list(struct rdn_parser *p) {
    NEW_DECL(rdn_d_list, RDN_D_LIST);
    rdn_p_expect(p, RDN_W_COLON);
    rdn_p_mark(p, RDN_MARK_CELL);
    d->tpos = rdn_tok_pos(&p->t[0]);
    d->ty = rdn_parse_type(p);
    rdn_p_mark(p, RDN_MARK_CELL + 1);
    if (rdn_p_accept(p, RDN_W_FROM)) {
        file_name(p, &d->from, &d->from_len, &d->spos);
        return &d->d;
    }
    rdn_p_expect(p, RDN_W_ASSIGN);
    rdn_p_expect(p, RDN_W_LBRACK);
    while (!rdn_p_at(p, RDN_W_RBRACK)) {
        struct rdn_expr *x = rdn_parse_const(p);
        if (d->xs.n == RDN_LIM_INLINE_LIST)
            rdn_raise(p->c, "E0706", x->pos, "use from \"file\"", "more than %d elements in the file", RDN_LIM_INLINE_LIST);
        rdn_push_val(p->c->work, &d->xs, x);
        if (!rdn_p_accept(p, RDN_W_COMMA))
            break;
    }
    rdn_p_expect(p, RDN_W_RBRACK);
    return &d->d;
}

/* ---- tables ---- */
static void table_keys(struct rdn_parser *p, struct rdn_d_table *d) {
    rdn_p_expect(p, RDN_W_BY);
    do {
        struct rdn_tok t = rdn_p_new_name(p);
        rdn_p_expect(p, RDN_W_COLON);
        struct rdn_d_field k = { .name = rdn_p_name(p, &t), .pos = rdn_tok_pos(&p->t[0]) };
        k.type = rdn_parse_type(p);
        if (d->keys.n == RDN_LIM_KEYCOLS)
            rdn_p_refuse(p, "E0712", rdn_tok_pos(&t), "more than %d keys", RDN_LIM_KEYCOLS);
        rdn_push_val(p->c->work, &d->keys, k);
    } while (rdn_p_accept(p, RDN_W_COMMA));
}

static void host_table(struct rdn_parser *p, struct rdn_d_table *d) {
    d->host = true;
    d->cap = 65536;
    if (rdn_p_accept(p, RDN_W_KEYS))
        d->cap = (uint32_t)rdn_p_integer(p, 1, RDN_LIM_KEYS, "E0516", "keys");
    if (rdn_p_at(p, RDN_W_ASSIGN))
        rdn_raise(p->c, "E0713", rdn_tok_pos(&p->t[0]), "write t[key].column ?? value",
                  "a host table has no rows in the file, and no default row");
}

static void cells(struct rdn_parser *p, rdn_exprs *ret) {
    uint32_t from = p->stack.n;
    do {
        struct rdn_expr *x = rdn_parse_const(p);
        rdn_push_val(p->c->work, &p->stack, x);
    } while (rdn_p_accept(p, RDN_W_COMMA));
    *ret = rdn_parse_list_end(p, from);
}

static void table_rows(struct rdn_parser *p, struct rdn_d_table *d) {
    rdn_p_expect(p, RDN_W_LBRACE);
    while (!rdn_p_at(p, RDN_W_RBRACE)) {
        rdn_p_mark(p, RDN_MARK_START);
        struct rdn_tok t = p->t[0];
        struct rdn_d_rowx row = { .pos = rdn_tok_pos(&t) };
        if (t.kind == RDN_TOK_CLOCK)
            rdn_raise(p->c, "E0211", row.pos, "put a space after ':'", "'%.5s' reads as a time of day", p->lex.src + t.a);
        row.isdef = rdn_p_accept(p, RDN_W_DEFAULT);
        if (!row.isdef)
            cells(p, &row.k);
        rdn_p_expect(p, RDN_W_COLON);
        cells(p, &row.v);
        if (d->rows.n == RDN_LIM_INLINE_LIST)
            rdn_raise(p->c, "E0706", row.pos, "use from \"file\"", "more than %d rows in the file", RDN_LIM_INLINE_LIST);
        rdn_push_val(p->c->work, &d->rows, row);
    }
    rdn_p_expect(p, RDN_W_RBRACE);
}

static struct rdn_decl *table(struct rdn_parser *p) {
    NEW_DECL(rdn_d_table, RDN_D_TABLE);
    rdn_p_mark(p, RDN_MARK_CELL);
    table_keys(p, d);
    rdn_p_mark(p, RDN_MARK_CELL + 1);
    rdn_parse_fields(p, &d->cols, false);
    if (rdn_p_at(p, RDN_W_FROM) || rdn_p_at(p, RDN_W_ASSIGN))
        rdn_p_mark(p, RDN_MARK_CELL + 2);
    if (rdn_p_at(p, RDN_W_FROM) && p->t[1].word == RDN_W_HOST) {
        rdn_p_take(p);
        rdn_p_take(p);
        host_table(p, d);
    } else if (rdn_p_accept(p, RDN_W_FROM))
        file_name(p, &d->from, &d->from_len, &d->spos);
    else if (rdn_p_accept(p, RDN_W_ASSIGN))
        table_rows(p, d);
    return &d->d;
}

/* ---- calendars ---- */
static int day_of(enum rdn_word w) {
    switch (w) {
    case RDN_W_MON: return 0;
    case RDN_W_TUE: return 1;
    case RDN_W_WED: return 2;
    case RDN_W_THU: return 3;
    case RDN_W_FRI: return 4;
    case RDN_W_SAT: return 5;
    case RDN_W_SUN: return 6;
    default: return -1;
    }
}

/* The days behind the first, which is taken: a set with Monday in bit 0. `fri..mon` goes over the weekend. */
static uint8_t day_range(struct rdn_parser *p, int first) {
    static const char *const options[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun" };
    int last = first;
    if (rdn_p_accept(p, RDN_W_DOTDOT)) {
        struct rdn_tok t = rdn_p_ident(p, "a day");
        last = day_of(t.word);
        if (last < 0) {
            rdn_name name = rdn_p_name(p, &t);
            rdn_raise(p->c, "E0201", rdn_tok_pos(&t), rdn_near(p->c, name, options, 7), "expected a day, found '%s'", name);
        }
    }
    uint8_t days = 0;
    for (int d = first;; d = (d + 1) % 7) {
        days |= (uint8_t)(1u << d);
        if (d == last)
            return days;
    }
}

static struct rdn_tok clock_time(struct rdn_parser *p, const char *what) {
    if (p->t[0].kind != RDN_TOK_CLOCK)
        rdn_p_unexpected(p, what);
    return rdn_p_take(p);
}

static struct rdn_d_listref list_ref(struct rdn_parser *p) {
    struct rdn_tok t = rdn_p_ident(p, "a date list");
    return (struct rdn_d_listref){ rdn_p_name(p, &t), rdn_tok_pos(&t) };
}

static void session(struct rdn_parser *p, struct rdn_d_calendar *d) {
    struct rdn_d_session s = { 0 };
    rdn_p_mark(p, RDN_MARK_START);
    struct rdn_tok t = rdn_p_ident(p, "a day (mon … sun) or a date list");
    if (day_of(t.word) >= 0)
        s.days = day_range(p, day_of(t.word));
    else
        s.list = (struct rdn_d_listref){ rdn_p_name(p, &t), rdn_tok_pos(&t) };
    struct rdn_tok open = clock_time(p, "a time of day such as 09:30");
    rdn_p_expect(p, RDN_W_DOTDOT);
    struct rdn_tok close = clock_time(p, "a time of day such as 16:00");
    if (rdn_p_accept(p, RDN_W_EXCEPT))
        do
            rdn_push_val(p->c->work, &s.except, list_ref(p));
        while (rdn_p_accept(p, RDN_W_COMMA));
    if (open.i == close.i || open.i == 24 * 60)
        rdn_p_refuse(p, "E0109", rdn_tok_pos(&open), "session is empty");
    s.open = (uint16_t)open.i;
    s.close = (uint16_t)close.i;
    if (d->ss.n == RDN_LIM_FIELDS)
        rdn_p_refuse(p, "E0712", rdn_tok_pos(&t), "more than %d sessions", RDN_LIM_FIELDS);
    rdn_push_val(p->c->work, &d->ss, s);
}

static struct rdn_decl *calendar(struct rdn_parser *p) {
    NEW_DECL(rdn_d_calendar, RDN_D_CALENDAR);
    rdn_p_expect(p, RDN_W_TZ);
    struct rdn_tok z = rdn_p_string(p, "a time zone name");
    d->tz = rdn_lex_str(p->c, p->lex.src, &z, &d->tz_len);
    d->tzpos = rdn_tok_pos(&z);
    rdn_p_expect(p, RDN_W_LBRACE);
    while (!rdn_p_at(p, RDN_W_RBRACE))
        session(p, d);
    rdn_p_expect(p, RDN_W_RBRACE);
    return &d->d;
}

/* ---- fn, let, plugin, kernel ---- */
static struct rdn_decl *fn(struct rdn_parser *p) {
    NEW_DECL(rdn_d_fn, RDN_D_FN);
    rdn_parse_params(p, &d->ps, false);
    rdn_p_expect(p, RDN_W_ARROW);
    d->ty = rdn_parse_type(p);
    rdn_p_expect(p, RDN_W_ASSIGN);
    d->x = rdn_parse_top(p);
    return &d->d;
}

static struct rdn_decl *let(struct rdn_parser *p) {
    NEW_DECL(rdn_d_let, RDN_D_LET);
    rdn_p_mark(p, RDN_MARK_CELL);
    rdn_p_expect(p, RDN_W_ON);
    struct rdn_tok e = rdn_p_ident(p, "an event name");
    d->on = rdn_p_name(p, &e);
    d->onpos = rdn_tok_pos(&e);
    rdn_p_mark(p, RDN_MARK_CELL + 1);
    rdn_p_expect(p, RDN_W_ASSIGN);
    d->x = rdn_parse_top(p);
    return &d->d;
}

/* (parameters) -> type deadline D [default sum] */
static void signature(struct rdn_parser *p, struct rdn_d_call *d) {
    rdn_parse_params(p, &d->ps, d->d.kind == RDN_D_PLUGIN);
    rdn_p_expect(p, RDN_W_ARROW);
    d->tpos = rdn_tok_pos(&p->t[0]);
    d->ty = rdn_parse_type(p);
    rdn_p_expect(p, RDN_W_DEADLINE);
    struct rdn_span pos = rdn_tok_pos(&p->t[0]);
    d->deadline_ns = rdn_p_duration(p);
    if (d->deadline_ns <= 0)
        rdn_p_refuse(p, "E0504", pos, "the deadline must be positive");
    if (rdn_p_accept(p, RDN_W_DEFAULT))
        d->def = rdn_parse_const(p);
}

static struct rdn_decl *plugin(struct rdn_parser *p) {
    NEW_DECL(rdn_d_call, RDN_D_PLUGIN);
    signature(p, d);
    return &d->d;
}

static struct rdn_decl *kernel(struct rdn_parser *p) {
    NEW_DECL(rdn_d_call, RDN_D_KERNEL);
    signature(p, d);
    rdn_p_expect(p, RDN_W_LBRACE);
    rdn_p_mark(p, RDN_MARK_START);
    rdn_p_expect(p, RDN_W_EACH);
    struct rdn_tok v = rdn_p_new_name(p);
    d->var = rdn_p_name(p, &v);
    d->varpos = rdn_tok_pos(&v);
    rdn_p_expect(p, RDN_W_LT);
    d->cnt = (uint32_t)rdn_p_integer(p, 1, RDN_LIM_PATHS, "E0516", "the number of paths");
    while (rdn_p_at(p, RDN_W_LET)) {
        rdn_p_mark(p, RDN_MARK_START);
        rdn_p_take(p);
        struct rdn_tok t = rdn_p_new_name(p);
        struct rdn_d_klet l = { .name = rdn_p_name(p, &t), .pos = rdn_tok_pos(&t) };
        rdn_p_expect(p, RDN_W_ASSIGN);
        l.x = rdn_parse_top(p);
        rdn_push_val(p->c->work, &d->lets, l);
    }
    rdn_p_mark(p, RDN_MARK_START);
    rdn_p_expect(p, RDN_W_REDUCE);
    struct rdn_tok r = rdn_p_ident(p, "sum, mean, min, max or quantile");
    d->red = rdn_p_name(p, &r);
    d->redpos = rdn_tok_pos(&r);
    rdn_p_mark(p, RDN_MARK_TIGHT);
    rdn_p_expect(p, RDN_W_LPAREN);
    p->nodes = 0;
    rdn_parse_args(p, &d->rx, RDN_W_RPAREN);
    rdn_p_expect(p, RDN_W_RBRACE);
    return &d->d;
}

__attribute__((noreturn)) static void unknown_decl(struct rdn_parser *p, const struct rdn_tok *kw) {
    static const char *const options[] = { "event", "param", "list", "table", "calendar", "fn", "let", "plugin", "kernel", "window", "rule", "test" };
    rdn_name name = rdn_p_name(p, kw);
    const char *hint = rdn_near(p->c, name, options, sizeof options / sizeof *options);
    if (kw->word == RDN_W_OVER || kw->word == RDN_W_BY || kw->word == RDN_W_WHERE)
        hint = "in a window: over, by, on EVENT, where, then the other clauses";
    rdn_raise(p->c, "E0202", rdn_tok_pos(kw), hint ? hint : "declarations: event param list table calendar fn let plugin kernel window rule test",
              "unknown declaration '%s'", name);
}

struct rdn_decl *rdn_parse_decl(struct rdn_parser *p, const struct rdn_tok *kw) {
    static struct rdn_decl *(*const parsers[RDN_W_COUNT])(struct rdn_parser *) = {
        [RDN_W_EVENT] = event, [RDN_W_PARAM] = param, [RDN_W_LIST] = list, [RDN_W_TABLE] = table, [RDN_W_CALENDAR] = calendar,
        [RDN_W_FN] = fn, [RDN_W_LET] = let, [RDN_W_PLUGIN] = plugin, [RDN_W_KERNEL] = kernel, [RDN_W_WINDOW] = rdn_parse_window,
        [RDN_W_RULE] = rdn_parse_rule, [RDN_W_TEST] = rdn_parse_test,
    };
    if (kw->kind != RDN_TOK_ID)
        rdn_p_unexpected(p, "a declaration");
    if (kw->word == RDN_W_RULESET)
        rdn_p_refuse(p, "E0212", rdn_tok_pos(kw), "the ruleset header comes first and only once");
    if (!parsers[kw->word])
        unknown_decl(p, kw);
    rdn_p_mark(p, RDN_MARK_DECL);
    rdn_p_take(p);
    return parsers[kw->word](p);
}
