/* SPDX-License-Identifier: Apache-2.0
 * verify_rule.c: windows, emits and rules: their expressions exist, are of the wanted type and on the right event. */
#include "ir/verify.h"
#include <string.h>

/* ---- windows ---- */

static bool scalar(const struct rdn_type *t) { return t && t->kind <= RDN_K_ENUM; }

static bool expr_ok(const struct rdn_verify *v, rdn_id id, uint32_t event, const struct rdn_type *t) {
    return rdn_node_id_ok(v->ir, id) && v->body[id] < 0 && rdn_on_event(v, id, event) && (!t || rdn_node_fits(v->ir, id, t));
}

static bool of(const struct rdn_type *t, const char *kinds) {
    static const char letters[RDN_K_COUNT] = {
        [RDN_K_BOOL] = 'b', [RDN_K_INT] = 'i', [RDN_K_FLOAT] = 'f', [RDN_K_DEC] = 'd', [RDN_K_TIME] = 't', [RDN_K_DUR] = 'u',
        [RDN_K_DATE] = 'a', [RDN_K_SYM] = 's', [RDN_K_STR] = 'x', [RDN_K_ENUM] = 'e',
    };
    return t && letters[t->kind] && strchr(kinds, letters[t->kind]);
}

/* 10.1: what enters and what comes out. State stores by these two types. */
static bool types_ok(const struct rdn_window *w) {
    const struct rdn_type *t = w->vtype, *r = w->rtype;
    switch ((enum rdn_agg)w->agg) {
    case RDN_AGG_COUNT: return !t && of(r, "i");
    case RDN_AGG_DISTINCT: return scalar(t) && of(r, "i");
    case RDN_AGG_SUM: return of(t, "ifdu") && r == t;
    case RDN_AGG_AVG: case RDN_AGG_STDDEV: case RDN_AGG_ZSCORE: case RDN_AGG_EWMA: return of(t, "ifd") && of(r, "f");
    case RDN_AGG_MIN: case RDN_AGG_MAX: return of(t, "ifdtua") && r == t;
    case RDN_AGG_FIRST: case RDN_AGG_LAST: return scalar(t) && r == t;
    case RDN_AGG_DELTA: return of(t, "ifdut") && (t->kind == RDN_K_TIME ? of(r, "u") : r == t);
    }
    return false;
}

static bool window_shape_ok(const struct rdn_verify *v, uint32_t i) {
    const struct rdn_window *w = &v->ir->windows[i];
    HOLDS(v, w->agg <= RDN_AGG_DELTA && w->evict <= RDN_EVICT_IDLE, "aggregates are known", "window", i);
    HOLDS(v, types_ok(w), "aggregates fit their types", "window", i);
    HOLDS(v, !w->vtype || w->vtype->kind != RDN_K_DEC || w->vtype->scale <= 9, "stored decimals have scale 9 at most", "window", i);
    HOLDS(v, w->over_ns >= 0 && w->events <= 4096 && !(w->over_ns && w->events), "windows have one span", "window", i);
    HOLDS(v, !w->panes || (w->panes <= 1024 && w->over_ns > 0 && w->pane_ns > 0), "panes divide a time span", "window", i);
    HOLDS(v, w->exact <= 4096 && w->warmup <= 4096, "window options are within chapter 15", "window", i);
    HOLDS(v, w->agg == RDN_AGG_DISTINCT || !w->exact || (w->over_ns && !w->panes), "exact windows have a time span and no panes", "window", i);
    HOLDS(v, !w->over_ns || w->panes || w->exact, "time windows are in panes or exact", "window", i);
    HOLDS(v, w->agg != RDN_AGG_EWMA || (!w->over_ns && !w->events), "an ewma has no span of values", "window", i);
    HOLDS(v, w->cap >= 1 && w->cap <= 16777216 && w->nkeys <= 8, "windows have a capacity", "window", i);
    return true;
}

static bool reset_ok(const struct rdn_verify *v, uint32_t i, const struct rdn_reset *r) {
    const struct rdn_window *w = &v->ir->windows[i];
    HOLDS(v, r->event < v->ir->nevents && r->event != w->event, "resets are on another event", "window", i);
    const struct rdn_event *e = &v->ir->events[r->event];
    for (uint32_t k = 0; k < w->nkeys; k++)
        HOLDS(v, r->fields[k] < e->nfields && e->fields[r->fields[k]].type == w->ktypes[k], "resets name a field for each key", "window", i);
    return true;
}

static bool window_ok(const struct rdn_verify *v, uint32_t i) {
    const struct rdn_ir *ir = v->ir;
    const struct rdn_window *w = &ir->windows[i];
    HOLDS(v, !w->where || (expr_ok(v, w->where, w->event, NULL) && ir->nodes.v[w->where].type == RDN_TY_B1), "conditions are bools of their event", "window", i);
    HOLDS(v, w->vtype ? expr_ok(v, w->value, w->event, w->vtype) : !w->value, "windows have a value of their type", "window", i);
    bool span = w->agg == RDN_AGG_EWMA;
    HOLDS(v, span ? expr_ok(v, w->span, w->event, NULL) && ir->nodes.v[w->span].type == RDN_TY_I64 : !w->span, "only an ewma has a span", "window", i);
    for (uint32_t k = 0; k < w->nkeys; k++) {
        HOLDS(v, scalar(w->ktypes[k]) && w->ktypes[k]->kind != RDN_K_FLOAT, "keys have key types", "window", i);
        HOLDS(v, expr_ok(v, w->keys[k], w->event, w->ktypes[k]), "windows have keys of their types", "window", i);
    }
    HOLDS(v, w->nresets <= 4, "windows have at most 4 resets", "window", i);
    for (uint32_t r = 0; r < w->nresets; r++)
        if (!reset_ok(v, i, &w->resets[r]))
            return false;
    return true;
}

/* An observed window may read only what is up to date when it is updated (10.9); nothing of a window may call or read score. */
struct walk { uint32_t *seen; rdn_id *stack; uint32_t n; };

static void visit(struct walk *s, rdn_id id, uint32_t round) {
    if (!id || s->seen[id] == round)
        return;
    s->seen[id] = round;
    s->stack[s->n++] = id;
}

static bool window_reads_ok(const struct rdn_verify *v, uint32_t i, struct walk *s) {
    const struct rdn_ir *ir = v->ir;
    const struct rdn_window *w = &ir->windows[i];
    visit(s, w->where, i + 1);
    visit(s, w->value, i + 1);
    visit(s, w->span, i + 1);
    for (uint32_t k = 0; k < w->nkeys; k++)
        visit(s, w->keys[k], i + 1);
    while (s->n) {
        const struct rdn_node *n = &ir->nodes.v[s->stack[--s->n]];
        HOLDS(v, n->op != RDN_OP_SCORE && n->op != RDN_OP_CALL, "windows neither call nor read score", "window", i);
        if ((n->op == RDN_OP_WREAD || n->op == RDN_OP_WPREV) && !w->accepted)
            HOLDS(v, ir->windows[n->aux].event != w->event || ir->windows[n->aux].accepted || n->aux < i,
                  "windows read what is declared before them", "window", i);
        rdn_id buf[3];
        uint32_t k;
        const rdn_id *args = rdn_node_args(ir, n, buf, &k);
        for (uint32_t a = 0; a < k; a++)
            visit(s, args[a], i + 1);
    }
    return true;
}

/* ---- rules ---- */

static bool emit_ok(const struct rdn_verify *v, uint32_t rule, uint32_t event, const struct rdn_action *a) {
    const struct rdn_ir *ir = v->ir;
    HOLDS(v, a->code < ir->nemits && a->nfields == ir->emits[a->code].ncols && a->nfields <= 256, "emits are declared", "rule", rule);
    for (uint32_t i = 0; i < a->nfields; i++) {
        const struct rdn_emit_field *f = &a->fields[i];
        HOLDS(v, f->type && expr_ok(v, f->node, event, f->type), "fields of an emit have a value of their type", "rule", rule);
    }
    return true;
}

static bool action_ok(const struct rdn_verify *v, uint32_t rule, const struct rdn_action *a) {
    const struct rdn_ir *ir = v->ir;
    uint32_t event = ir->rules[rule].event;
    HOLDS(v, a->verb <= RDN_V_SKIP, "verbs are known", "rule", rule);
    HOLDS(v, a->verb == RDN_V_SCORE ? expr_ok(v, a->points, event, NULL) && ir->nodes.v[a->points].type == RDN_TY_I64 : !a->points,
          "only score has points", "rule", rule);
    HOLDS(v, a->for_ns >= 0, "times of an action are not negative", "rule", rule);
    for (uint32_t i = 0; i < a->nmsg; i++)
        HOLDS(v, a->msg[i].node ? expr_ok(v, a->msg[i].node, event, NULL) : a->msg[i].text != NULL, "messages are texts and values of their event", "rule", rule);
    if (a->verb == RDN_V_EMIT)
        return emit_ok(v, rule, event, a);
    HOLDS(v, a->verb == RDN_V_SKIP || a->code < ir->ncodes, "codes are in the table", "rule", rule);
    return true;
}

static bool rule_ok(const struct rdn_verify *v, uint32_t i) {
    const struct rdn_ir *ir = v->ir;
    const struct rdn_rule *r = &ir->rules[i];
    HOLDS(v, expr_ok(v, r->when, r->event, NULL) && ir->nodes.v[r->when].type == RDN_TY_B1, "conditions are bools of their event", "rule", i);
    HOLDS(v, r->when_span < ir->spans.n, "spans are in the table", "rule", i);
    HOLDS(v, r->nacts <= 16, "rules have at most 16 actions", "rule", i);
    HOLDS(v, r->undef != NULL, "rules say what an undefined condition does", "rule", i);
    for (uint32_t a = 0; a < r->nacts; a++)
        if (!action_ok(v, i, &r->acts[a]))
            return false;
    return action_ok(v, i, r->undef);
}

bool rdn_verify_rules(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    struct walk s = { v->seen, v->stack, 0 };
    for (uint32_t i = 0; i < ir->nwindows; i++)
        if (!window_shape_ok(v, i) || !window_ok(v, i) || !window_reads_ok(v, i, &s))
            return false;
    HOLDS(v, ir->nrules <= 16384, "at most 16,384 rules", "rule", ir->nrules);
    for (uint32_t i = 0; i < ir->nrules; i++)
        if (!rule_ok(v, i))
            return false;
    return true;
}
