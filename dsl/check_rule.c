/* SPDX-License-Identifier: Apache-2.0
 * check_rule.c: rules and their actions (LANGUAGE.md 11). */
#include "dsl/check.h"

static const char *const verbs[] = { "accept", "throttle", "hold", "reject", "flag", "score", "emit", "skip" };   /* enum rdn_verb */

void rdn_ck_undef(struct rdn_ck *k, struct rdn_d_act *a, bool header) {
    if (a->verb == RDN_V_EMIT || (header && a->verb == RDN_V_SCORE))
        rdn_raise(k->c, "E0606", a->pos, NULL, "'%s' cannot follow undefined%s", verbs[a->verb], header ? " in the header" : "");
    if (!header)
        return;
    for (uint32_t i = 0; i < a->msg.n; i++)
        if (a->msg.v[i].x)
            rdn_raise(k->c, "E0606", a->pos, NULL, "the message of the header cannot contain {…}");
    if (a->has_for && a->verb != RDN_V_HOLD && a->verb != RDN_V_THROTTLE)
        rdn_raise(k->c, "E0604", a->fpos, NULL, "'for' does not fit %s", verbs[a->verb]);
}

/* Texts of any kind are one type to whoever receives an emit. */
static bool same_emit(rdn_ty a, rdn_ty b) { return a == b || (rdn_is(a, RDN_CHAR_KINDS) && rdn_is(b, RDN_CHAR_KINDS)); }

static void emit_fields(struct rdn_ck *k, struct rdn_d_act *a, struct rdn_ctx *c) {
    struct rdn_emit_shape *s = rdn_new(k->c->work, struct rdn_emit_shape);
    s->code = a->code;
    s->names = rdn_new_n(k->c->work, rdn_name, a->fields.n);
    s->types = rdn_new_n(k->c->work, rdn_ty, a->fields.n);
    for (; s->n < a->fields.n; s->n++) {
        const struct rdn_d_efield *f = &a->fields.v[s->n];
        for (uint32_t i = 0; i < s->n; i++)
            if (s->names[i] == f->name)
                rdn_raise(k->c, "E0608", f->pos, NULL, "field '%s' given twice", f->name);
        s->names[s->n] = f->name;
        s->types[s->n] = rdn_ck_type(k, f->x, c, NULL);
    }
    if (rdn_scope_put(&k->scope, a->code, &k->emit, s))
        return;
    const struct rdn_emit_shape *old = rdn_scope_get(&k->scope, a->code, &k->emit);
    bool same = old->n == s->n;
    for (uint32_t i = 0; same && i < s->n; i++)
        same = old->names[i] == s->names[i] && same_emit(old->types[i], s->types[i]);
    if (!same)
        rdn_raise(k->c, "E0605", a->cpos, "all emits of one name have the same fields in the same order",
                  "emit %s has other fields or types than before", a->code);
}

static void check_act(struct rdn_ck *k, struct rdn_d_act *a, struct rdn_ctx *c) {
    if (a->has_for) {
        if (a->verb != RDN_V_HOLD && a->verb != RDN_V_THROTTLE)
            rdn_raise(k->c, "E0604", a->fpos, "hold and throttle take it", "'for' does not fit %s", verbs[a->verb]);
        if (a->for_ns <= 0)
            rdn_raise(k->c, "E0604", a->fpos, NULL, "the time must be positive");
    }
    if (a->x)
        rdn_ck_want(k, a->x, k->I, c, RDN_WHAT("the points", NULL));
    if (a->verb == RDN_V_EMIT)
        emit_fields(k, a, c);
    for (uint32_t i = 0; i < a->msg.n; i++)
        if (a->msg.v[i].x)
            rdn_ck_type(k, a->msg.v[i].x, c, NULL);
}

static uint64_t act_size(const struct rdn_d_act *a) {
    uint64_t n = a->x ? rdn_expr_size(a->x) : 0;
    for (uint32_t i = 0; i < a->fields.n; i++)
        n += rdn_expr_size(a->fields.v[i].x);
    for (uint32_t i = 0; i < a->msg.n; i++)
        n += a->msg.v[i].x ? rdn_expr_size(a->msg.v[i].x) : 0;
    return n;
}

static void no_score(struct rdn_ck *k, const struct rdn_d_rule *r, const struct rdn_d_act *a) {
    if (a->verb == RDN_V_SCORE)
        rdn_raise(k->c, "E0603", a->pos, "split it in two rules", "rule '%s' reads score and adds to it", r->d.name);
}

static void actions(struct rdn_ck *k, struct rdn_d_rule *r, struct rdn_ctx *c) {
    unsigned verdicts = 0;
    for (uint32_t i = 0; i < r->acts.n; i++) {
        struct rdn_d_act *a = &r->acts.v[i];
        check_act(k, a, c);
        verdicts += a->verb <= RDN_V_REJECT;
        if (verdicts > 1)
            rdn_raise(k->c, "E0601", a->pos, "one of accept, reject, hold, throttle", "rule '%s' has two verdicts", r->d.name);
    }
    if (r->undef) {
        rdn_ck_undef(k, r->undef, false);
        check_act(k, r->undef, c);
    } else if (!k->f->undef) {
        rdn_raise(k->c, "E0602", r->d.pos, "add 'undefined reject CODE' or 'undefined skip' to the rule or to the header",
                  "rule '%s' does not say what an undefined condition does", r->d.name);
    }
}

void rdn_ck_rule(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_rule *r = (struct rdn_d_rule *)decl;
    const struct rdn_d_event *e = rdn_ck_event(k, r->on, r->onpos);
    r->event = e->d.index;
    struct rdn_ctx c = rdn_ck_ctx(k, RDN_CTX_RULE, e, &r->deps);
    rdn_ck_want(k, r->when, k->B, &c, RDN_WHAT("when", NULL));
    actions(k, r, &c);
    r->late = r->deps.score;
    for (uint32_t i = 0; r->late && i < r->acts.n; i++)
        no_score(k, r, &r->acts.v[i]);
    if (r->late && r->undef)
        no_score(k, r, r->undef);
    uint64_t n = rdn_expr_size(r->when);
    for (uint32_t i = 0; i < r->acts.n; i++)
        n += act_size(&r->acts.v[i]);
    if (n > RDN_LIM_EXPAND)
        rdn_raise(k->c, "E0705", decl->pos, NULL, "rule '%s' expands to more than %d parts", decl->name, RDN_LIM_EXPAND);
}
