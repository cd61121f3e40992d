/* SPDX-License-Identifier: Apache-2.0
 * cost.c: static cost and memory (LANGUAGE.md 14), in picoseconds and bytes, from checked declarations.
 *
 * rdn_costs   O(size of the file): a let or fn is costed once, wherever it is used */
#include "dsl/aggs.h"
#include "dsl/check.h"

enum {
#define UNIT(name, ps, doc) PS_##name = ps,
#include "dsl/cost.def"
#undef UNIT
};
#define HLL_BYTES (256 * 6 / 8)                          /* 256 registers of 6 bits */

static uint64_t cost(struct rdn_expr *, const struct rdn_d_event *);

/* ---- windows ---- */
/* Worst case of bringing a window to the current time. */
static uint64_t advance_cost(const struct rdn_d_window *w) {
    if (w->aggk == RDN_AGG_DISTINCT)
        return w->P || !w->over_ns ? 64 * PS_pane + PS_hll : 0;
    return w->P ? (uint64_t)(w->P + 1) * PS_pane * rdn_aggs[w->aggk].adv : 0;
}

static uint64_t read_cost(const struct rdn_d_window *w) {
    const uint64_t slots = w->events ? w->events : w->P ? 0 : w->exact;
    const bool twice = w->aggk == RDN_AGG_STDDEV || w->aggk == RDN_AGG_ZSCORE;
    return PS_win + (uint64_t)PS_key * w->by.n + PS_win_read + slots * PS_ring * (twice ? 2 : 1);
}

static uint64_t update_cost(const struct rdn_d_window *w, const struct rdn_d_event *e) {
    uint64_t c = PS_upd + (uint64_t)PS_key * w->by.n + advance_cost(w) + (w->where ? cost(w->where, e) : 0);
    for (uint32_t i = 0; i < w->xs.n; i++)
        c += cost(w->xs.v[i], e);
    for (uint32_t i = 0; i < w->by.n; i++)
        c += cost(w->by.v[i], e);
    if (w->aggk == RDN_AGG_STDDEV || w->aggk == RDN_AGG_ZSCORE)
        return c + 2 * PS_fdiv;
    if (w->aggk == RDN_AGG_EWMA)
        return c + 4 * PS_fadd + (w->half ? rdn_builtins[RDN_FN_exp].ps : 0);
    return c + PS_fadd;
}

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

/* Bytes of one window key. */
static uint64_t key_bytes(const struct rdn_d_window *w) {
    const unsigned wide = RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC) | RDN_BIT(RDN_K_DUR);
    const bool sums = w->aggk == RDN_AGG_SUM || w->aggk == RDN_AGG_AVG;
    const uint64_t v = sums && rdn_is(w->vt, wide) ? 16 : 8, slot = w->aggk == RDN_AGG_COUNT ? 0 : v;
    uint64_t unit = rdn_aggs[w->aggk].unit + (v - 8), state;
    if ((w->aggk == RDN_AGG_LAST || w->aggk == RDN_AGG_FIRST) && w->vt->kind == RDN_K_STR)
        unit = round_up(w->vt->n, 4) + 4;
    if (w->aggk == RDN_AGG_DISTINCT && !w->events) {
        const uint64_t hashes = (uint64_t)(w->exact ? w->exact : 64) * 12, sketch = HLL_BYTES * (w->over_ns ? 5 : 1);
        state = hashes > sketch ? hashes : sketch;
    } else if (w->aggk == RDN_AGG_DISTINCT) {
        state = (uint64_t)w->events * 16;
    } else if (w->events) {
        state = w->events * slot + 16;
    } else if (w->over_ns && !w->P) {
        state = w->exact * (8 + slot) + 16;
    } else {
        state = w->P ? (w->P + 2) * unit : unit + 8;
    }
    uint64_t keys = 0;
    for (uint32_t i = 0; i < w->by.n; i++)
        keys += round_up(rdn_type_size(w->by.v[i]->t), 8);
    return round_up(32 + keys + state, 8);
}

/* ---- expressions ---- */
static uint64_t kids_cost(const struct rdn_expr *x, const struct rdn_d_event *e) {
    const struct rdn_kids kids = rdn_expr_kids(x);
    uint64_t c = 0;
    for (uint32_t i = 0; i < kids.n; i++)
        c += cost(rdn_kid(&kids, i), e);
    return c;
}

static uint64_t name_cost(const struct rdn_expr *x, const struct rdn_d_event *e) {
    if (x->src != RDN_SRC_WIN)
        return x->src == RDN_SRC_FIELD && x->opt ? PS_opt : PS_atom;
    uint64_t c = read_cost(x->w) + (x->w->on == e->d.name ? 0 : advance_cost(x->w));
    for (uint32_t i = 0; i < x->nkx; i++)
        c += cost(x->kx[i], e);
    return c;
}

static uint64_t in_cost(const struct rdn_expr *x, const struct rdn_d_event *e) {
    const struct rdn_expr *b = x->bin.b;
    uint64_t c = cost(x->bin.a, e);
    if (b->kind == RDN_X_RANGE)
        return c + PS_rng + kids_cost(b, e);
    if (b->kind == RDN_X_SET)
        return c + kids_cost(b, e) + (b->call.n <= 8 ? PS_set_base + (uint64_t)PS_set_each * b->call.n : PS_set_hash);
    if (b->src == RDN_SRC_CAL)
        return c + PS_cal;
    return c + (rdn_type_is_text(x->bin.a->t) ? PS_list_text : PS_list);
}

static bool is_chars(rdn_ty t) { return t->kind == RDN_K_TEXT || t->kind == RDN_K_STR; }

static uint64_t compare_cost(const struct rdn_expr *x) {
    rdn_ty a = x->bin.a->t, b = x->bin.b->t;
    if (a->kind == RDN_K_DEC || b->kind == RDN_K_DEC)
        return PS_cmp_dec;
    return is_chars(a) || (is_chars(b) && a->kind != RDN_K_ENUM && x->bin.b->kind != RDN_X_LIT) ? PS_cmp_text : PS_cmp;
}

static uint64_t arithmetic_cost(const struct rdn_expr *x) {
    rdn_ty a = x->bin.a->t, b = x->bin.b->t;
    const bool dec = a->kind == RDN_K_DEC || b->kind == RDN_K_DEC, flt = x->t->kind == RDN_K_FLOAT;
    if (a->kind == RDN_K_ARR || b->kind == RDN_K_ARR)
        return PS_arr_base + (uint64_t)PS_arr_each * rdn_type_elems(x->t);
    if (x->t->kind == RDN_K_TEXT)
        return rdn_builtins[RDN_FN_lower].ps;
    if (x->op == RDN_B_ADD || x->op == RDN_B_SUB)
        return dec ? PS_dadd : flt ? PS_fadd : PS_iadd;
    if (x->op == RDN_B_MUL)
        return dec ? PS_dmul : flt ? PS_fadd : PS_iadd;
    return dec ? PS_dratio : flt ? PS_fdiv : PS_idiv;
}

static uint64_t bin_cost(const struct rdn_expr *x, const struct rdn_d_event *e) {
    if (x->op == RDN_B_IN)
        return in_cost(x, e);
    const uint64_t c = cost(x->bin.a, e) + cost(x->bin.b, e);
    if (x->op == RDN_B_AND || x->op == RDN_B_OR)
        return c + PS_logic;
    if (x->op == RDN_B_COALESCE)
        return c + PS_cond;
    return c + (x->op >= RDN_B_EQ && x->op <= RDN_B_GE ? compare_cost(x) : arithmetic_cost(x));
}

static uint64_t builtin_cost(const struct rdn_expr *x) {
    const struct rdn_builtin_row *r = &rdn_builtins[x->builtin];
    switch ((enum rdn_fn_cost)r->cost) {
    case RDN_FNCOST_FLAT: return r->ps;
    case RDN_FNCOST_PER_ARG: return (uint64_t)r->ps * x->call.n;
    case RDN_FNCOST_CAL: return PS_cal;
    case RDN_FNCOST_IDIV: return PS_idiv;
    case RDN_FNCOST_DOT: return PS_arr_base + (uint64_t)PS_dot_each * rdn_type_elems(x->call.xs[0]->t);
    case RDN_FNCOST_ARR: return PS_arr_base + (uint64_t)PS_arr_each * rdn_type_elems(x->t);
    case RDN_FNCOST_PREV: return PS_prev;
    case RDN_FNCOST_CROSS: return 2 * PS_prev + 2 * PS_cmp;
    }
    return 0;
}

static uint64_t call_cost(const struct rdn_expr *x, const struct rdn_d_event *e) {
    if (x->builtin == RDN_FN_prev)
        return PS_prev;
    const uint64_t c = kids_cost(x, e);
    if (x->fn) {
        if (!x->fn->cost)
            x->fn->cost = cost(x->fn->x, e);
        return c + x->fn->cost;
    }
    return c + (x->pl ? PS_call : builtin_cost(x));
}

static uint64_t cost(struct rdn_expr *x, const struct rdn_d_event *e) {
    if (rdn_is_num(x))
        return PS_atom;
    switch ((enum rdn_x_kind)x->kind) {
    case RDN_X_NUM: case RDN_X_LIT: case RDN_X_NONE: return PS_atom;
    case RDN_X_NAME: return name_cost(x, e);
    case RDN_X_UN:
        return cost(x->bin.a, e) + (x->t->kind == RDN_K_ARR ? PS_arr_base + (uint64_t)PS_arr_each * rdn_type_elems(x->t) : PS_logic);
    case RDN_X_BIN: return bin_cost(x, e);
    case RDN_X_IF: {
        const uint64_t p = cost(x->cond.x, e), q = cost(x->cond.y, e);
        return PS_cond + cost(x->cond.c, e) + (p > q ? p : q);
    }
    case RDN_X_CALL: return call_cost(x, e);
    case RDN_X_SET: case RDN_X_RANGE: return kids_cost(x, e);
    case RDN_X_DOT: return PS_table + (uint64_t)PS_key * x->dot.a->idx.n + kids_cost(x, e);
    case RDN_X_IDX: return kids_cost(x, e) + (x->w ? read_cost(x->w) + advance_cost(x->w) : PS_index);
    }
    return 0;
}

/* ---- rules and events ---- */
static uint64_t act_cost(const struct rdn_d_act *a, const struct rdn_d_event *e) {
    uint64_t c = PS_emit;
    if (a->verb == RDN_V_SKIP)
        return 0;
    if (a->verb == RDN_V_SCORE)
        return PS_score + cost(a->x, e);
    if (a->verb != RDN_V_EMIT)
        return PS_act;
    for (uint32_t i = 0; i < a->fields.n; i++)
        c += PS_emit_field + cost(a->fields.v[i].x, e);
    return c;
}

static uint64_t rule_cost(const struct rdn_d_rule *r, const struct rdn_d_act *header, const struct rdn_d_event *e) {
    uint64_t acts = 0;
    for (uint32_t i = 0; i < r->acts.n; i++)
        acts += act_cost(&r->acts.v[i], e);
    const uint64_t undef = act_cost(r->undef ? r->undef : header, e);
    return PS_rule + cost(r->when, e) + (acts > undef ? acts : undef);
}

/* The lets that are needed and not yet counted, each once: lets belong to one event. */
static uint64_t lets_cost(const struct rdn_deps *d, const struct rdn_d_event *e, uint32_t stamp) {
    uint64_t c = 0;
    for (uint32_t i = 0; i < d->lets.n; i++) {
        struct rdn_d_let *l = d->lets.v[i];
        if (l->d.mark == stamp)
            continue;
        l->d.mark = stamp;
        c += cost(l->x, e) + lets_cost(&l->deps, e, stamp);
    }
    return c;
}

static uint64_t reset_cost(const struct rdn_d_window *w, const struct rdn_d_event *e) {
    uint64_t c = PS_reset;
    for (uint32_t i = 0; i < w->by.n; i++)
        for (uint32_t j = 0; j < e->fields.n; j++)
            if (e->fields.v[j].name == w->by.v[i]->name.v)
                c += PS_key + (e->fields.v[j].opt ? PS_opt : PS_atom);
    return c;
}

static uint64_t row_bytes(const struct rdn_d_table *t) {
    uint64_t n = 32;
    for (uint32_t i = 0; i < t->keys.n; i++)
        n += round_up(rdn_type_size(t->keys.v[i].type), 8);
    for (uint32_t i = 0; i < t->cols.n; i++)
        n += round_up(rdn_type_size(t->cols.v[i].type), 8);
    return n;
}

#define LETS_COUNTED UINT32_MAX                          /* the checker's stamps count up from 1 and stay far below */

static void window_costs(struct rdn_d_window *w, struct rdn_d_event *const *events) {
    struct rdn_d_event *e = events[w->event];
    w->cost_ps = update_cost(w, e);
    w->key_bytes = key_bytes(w);
    e->cost_ps += w->cost_ps + lets_cost(&w->deps, e, LETS_COUNTED);
    for (uint32_t i = 0; i < w->resets.n; i++) {
        struct rdn_d_event *r = events[w->reset_events[i]];
        r->cost_ps += reset_cost(w, r);
    }
}

static void rule_costs(struct rdn_d_rule *r, const struct rdn_d_act *header, struct rdn_d_event *const *events) {
    struct rdn_d_event *e = events[r->event];
    r->cost_ps = rule_cost(r, header, e);
    e->cost_ps += r->cost_ps + lets_cost(&r->deps, e, LETS_COUNTED);
}

void rdn_costs(struct rdn_pass *c) {
    struct rdn_d_event *events[RDN_LIM_EVENTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->file->decls.n; i++)
        if (c->file->decls.v[i]->kind == RDN_D_EVENT) {
            events[n] = (struct rdn_d_event *)c->file->decls.v[i];
            events[n++]->cost_ps = PS_event;
        }
    for (uint32_t i = 0; i < c->file->decls.n; i++) {
        struct rdn_decl *d = c->file->decls.v[i];
        if (d->kind == RDN_D_WINDOW)
            window_costs((struct rdn_d_window *)d, events);
        else if (d->kind == RDN_D_RULE)
            rule_costs((struct rdn_d_rule *)d, c->file->undef, events);
        else if (d->kind == RDN_D_TABLE && ((struct rdn_d_table *)d)->host)
            ((struct rdn_d_table *)d)->row_bytes = row_bytes((struct rdn_d_table *)d);
    }
}
