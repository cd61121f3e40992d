/* SPDX-License-Identifier: Apache-2.0
 * lower_call.c: calls as nodes: fns in place, builtins by their row, plugins and kernels. */
#include "dsl/builtins.h"
#include "dsl/lower.h"
#include "base/tz.h"
#include <string.h>

/* ---- fns, plugins, kernels ---- */
static rdn_id expand(struct rdn_low *l, struct rdn_expr *x) {
    struct rdn_d_fn *fn = x->fn;
    uint32_t n = x->call.n;
    rdn_id *ids = rdn_new_n(l->c->work, rdn_id, n + 1), *loc = rdn_new_n(l->c->work, rdn_id, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct rdn_low_bound b = rdn_low_bind(l, rdn_low_as(l, x->call.xs[i], fn->ps.v[i].type));
        ids[i] = b.lead;
        loc[i] = b.use;
    }
    struct rdn_low_place was = rdn_low_enter(l, l->event, loc, false);
    ids[n] = rdn_low_as(l, fn->x, fn->ty);
    rdn_low_leave(l, was);
    return rdn_low_mk_n(l, RDN_OP_INLINE, fn->ty, ids, n + 1, rdn_low_span(l, x));
}

static rdn_id outside(struct rdn_low *l, struct rdn_expr *x) {
    struct rdn_d_call *d = x->pl;
    rdn_id ids[16];
    for (uint32_t i = 0; i < x->call.n; i++)
        ids[i] = d->ps.v[i].event ? rdn_low(l, x->call.xs[i]) : rdn_low_as(l, x->call.xs[i], d->ps.v[i].type);
    uint32_t at = d->d.kind == RDN_D_KERNEL ? l->kernel_at[d->d.index] : l->plugin_at[d->d.index];
    unsigned scale = d->ty->kind == RDN_K_DEC ? d->ty->scale : 0;
    return rdn_ir_node_n(l->ir, RDN_OP_CALL, rdn_cell_of(d->ty), scale, d->ty, ids, x->call.n, 0, at, rdn_low_span(l, x), RDN_NODE_CALLS);
}

/* ---- builtins ---- */
static rdn_id one(struct rdn_low *l, struct rdn_expr *x, enum rdn_op op, rdn_id a) {
    return rdn_low_mk(l, op, x->t, a, 0, 0, rdn_low_span(l, x));
}

/* The value of its argument: explain still shows the call and what is in it. */
static rdn_id same(struct rdn_low *l, struct rdn_expr *x) {
    struct rdn_low_bound b = rdn_low_bind(l, rdn_low(l, x->call.xs[0]));
    return rdn_low_mk_n(l, RDN_OP_INLINE, x->t, (rdn_id[]){ b.lead, b.use }, 2, rdn_low_span(l, x));
}

static rdn_id to_int(struct rdn_low *l, struct rdn_expr *x) {
    struct rdn_expr *a = x->call.xs[0];
    switch ((enum rdn_kind)a->t->kind) {
    case RDN_K_FLOAT: return one(l, x, RDN_OP_F2I, rdn_low(l, a));
    case RDN_K_DEC: return one(l, x, RDN_OP_D2I, rdn_low(l, a));
    case RDN_K_BOOL: return one(l, x, RDN_OP_B2I, rdn_low(l, a));
    case RDN_K_TIME: return one(l, x, RDN_OP_T2S, rdn_low(l, a));
    case RDN_K_TEXT: case RDN_K_STR: case RDN_K_SYM: return one(l, x, RDN_OP_STR2I, rdn_low_text(l, a));
    default: return same(l, x);
    }
}

static rdn_id to_float(struct rdn_low *l, struct rdn_expr *x) {
    struct rdn_expr *a = x->call.xs[0];
    switch ((enum rdn_kind)a->t->kind) {
    case RDN_K_INT: return one(l, x, RDN_OP_I2F, rdn_low(l, a));
    case RDN_K_DEC: return one(l, x, RDN_OP_D2F, rdn_low(l, a));
    case RDN_K_TEXT: case RDN_K_STR: case RDN_K_SYM: return one(l, x, RDN_OP_STR2F, rdn_low_text(l, a));
    default: return same(l, x);
    }
}

/* prev(w) is undefined where the window's name stands, but explain shows the call. */
static rdn_id prev(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id id = rdn_low_window(l, x->call.xs[0], RDN_OP_WPREV);
    return rdn_low_mk_n(l, RDN_OP_INLINE, x->t, &id, 1, rdn_low_span(l, x));
}

static bool is_window(const struct rdn_expr *x) { return x->kind == RDN_X_NAME && x->src == RDN_SRC_WIN; }

static rdn_id cross(struct rdn_low *l, struct rdn_expr *x, bool up) {
    struct rdn_low_bound cur[2];
    rdn_id was[2];
    uint32_t span = rdn_low_span(l, x);
    for (int i = 0; i < 2; i++)
        cur[i] = rdn_low_bind(l, rdn_low(l, x->call.xs[i]));
    for (int i = 0; i < 2; i++)
        was[i] = is_window(x->call.xs[i]) ? rdn_low_window(l, x->call.xs[i], RDN_OP_WPREV) : cur[i].use;
    rdn_id before = rdn_low_compare(l, up ? RDN_OP_LE : RDN_OP_GE, was[0], was[1], span);
    rdn_id after = rdn_low_compare(l, up ? RDN_OP_GT : RDN_OP_LT, cur[0].use, cur[1].use, span);
    rdn_id both = rdn_low_mk(l, RDN_OP_AND, l->B, before, after, 0, span);
    return rdn_low_mk_n(l, RDN_OP_INLINE, l->B, (rdn_id[]){ cur[0].lead, cur[1].lead, both }, 3, span);
}

uint32_t rdn_low_zone(struct rdn_low *l, const char *name, size_t len) {
    struct rdn_ir *ir = l->ir;
    for (uint32_t i = 0; i < ir->nzones; i++)
        if (strlen(ir->zone_names[i]) == len && !memcmp(ir->zone_names[i], name, len))
            return i;
    if ((ir->nzones & (ir->nzones - 1)) == 0) {          /* both lists double together */
        uint32_t cap = ir->nzones ? 2 * ir->nzones : 1;
        const struct rdn_tz **zones = rdn_new_n(ir->arena, const struct rdn_tz *, cap);
        const char **names = rdn_new_n(ir->arena, const char *, cap);
        if (ir->nzones) {
            memcpy(zones, ir->zones, ir->nzones * sizeof *zones);
            memcpy(names, ir->zone_names, ir->nzones * sizeof *names);
        }
        ir->zones = zones;
        ir->zone_names = names;
    }
    ir->zones[ir->nzones] = rdn_tz_find(name, len);
    ir->zone_names[ir->nzones] = rdn_arena_strndup(ir->arena, name, len);
    ir->nzone_names = ir->nzones + 1;
    return ir->nzones++;
}

static rdn_id time_field(struct rdn_low *l, struct rdn_expr *x, enum rdn_op op) {
    rdn_id a = rdn_low(l, x->call.xs[0]);
    uint32_t zone = 0;
    if (x->call.n > 1)
        zone = rdn_low_zone(l, x->call.xs[1]->lit.v.t.p, x->call.xs[1]->lit.v.t.len);
    return rdn_ir_node(l->ir, op, RDN_TY_I64, 0, x->t, a, 0, 0, zone, rdn_low_span(l, x), 0);
}

static rdn_id whole(struct rdn_low *l, struct rdn_expr *x, int64_t unit) {
    rdn_id a = rdn_low(l, x->call.xs[0]), b = rdn_low_int(l, unit, rdn_low_span(l, x));
    return rdn_low_mk(l, RDN_OP_DIV, l->I, a, b, 0, rdn_low_span(l, x));
}

static rdn_id bucket(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id a = rdn_low(l, x->call.xs[0]);
    return rdn_ir_node(l->ir, RDN_OP_BUCKET, RDN_TY_I64, 0, l->I, a, 0, 0, (uint32_t)x->call.xs[1]->val.i, rdn_low_span(l, x), 0);
}

static rdn_id random_vec(struct rdn_low *l, struct rdn_expr *x, enum rdn_op op) {
    rdn_id seed = rdn_low(l, x->call.xs[0]), i = rdn_low(l, x->call.xs[1]);
    return rdn_ir_node(l->ir, op, RDN_TY_VEC, 0, x->t, seed, i, (uint32_t)x->call.xs[2]->val.i, x->stream, rdn_low_span(l, x), 0);
}

static rdn_id quotient(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id a = rdn_low(l, x->call.xs[0]), b = rdn_low(l, x->call.xs[1]);
    return rdn_low_mk(l, RDN_OP_RDIV, x->t, a, b, 0, rdn_low_span(l, x));
}

/* Arguments in order; `as`: in places of that type, NULL: as they are. */
static rdn_id with_args(struct rdn_low *l, struct rdn_expr *x, enum rdn_op op, const struct rdn_type *as) {
    uint32_t n = x->call.n;
    rdn_id few[4] = { 0 }, *ids = n <= 4 ? few : rdn_new_n(l->c->work, rdn_id, n);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = as ? rdn_low_as(l, x->call.xs[i], as) : rdn_low(l, x->call.xs[i]);
    if (rdn_op_arity(op) == RDN_NARY)
        return rdn_low_mk_n(l, op, x->t, ids, n, rdn_low_span(l, x));
    return rdn_low_mk(l, op, x->t, ids[0], n > 1 ? ids[1] : 0, n > 2 ? ids[2] : 0, rdn_low_span(l, x));
}

static rdn_id special(struct rdn_low *l, struct rdn_expr *x) {
    switch ((enum rdn_builtin)x->builtin) {
    case RDN_FN_round:
        return x->t->kind == RDN_K_DEC ? one(l, x, RDN_OP_RESCALE, rdn_low(l, x->call.xs[0])) : one(l, x, RDN_OP_ROUND, rdn_low(l, x->call.xs[0]));
    case RDN_FN_dec:
        return one(l, x, x->call.xs[0]->t->kind == RDN_K_FLOAT ? RDN_OP_F2D : RDN_OP_RESCALE, rdn_low(l, x->call.xs[0]));
    case RDN_FN_hours: return whole(l, x, 3600 * INT64_C(1000000000));
    case RDN_FN_minutes: return whole(l, x, 60 * INT64_C(1000000000));
    case RDN_FN_seconds: return whole(l, x, 1000000000);
    case RDN_FN_millis: return whole(l, x, 1000000);
    case RDN_FN_min: return with_args(l, x, RDN_OP_MIN, x->t);
    case RDN_FN_max: return with_args(l, x, RDN_OP_MAX, x->t);
    case RDN_FN_int: return to_int(l, x);
    case RDN_FN_float: return to_float(l, x);
    case RDN_FN_div: return quotient(l, x);
    case RDN_FN_text: return one(l, x, RDN_OP_TOTEXT, rdn_low(l, x->call.xs[0]));
    case RDN_FN_bucket: return bucket(l, x);
    case RDN_FN_prev: return prev(l, x);
    case RDN_FN_cross_up: return cross(l, x, true);
    case RDN_FN_cross_down: return cross(l, x, false);
    default: return RDN_NO_NODE;                         /* has an operation of its own in builtins.def */
    }
}

static rdn_id builtin(struct rdn_low *l, struct rdn_expr *x) {
    const struct rdn_builtin_row *row = &rdn_builtins[x->builtin];
    switch (row->shape) {
    case RDN_SHAPE_TIMEF: return time_field(l, x, row->op);
    case RDN_SHAPE_RANDOM: return random_vec(l, x, row->op);
    default: break;
    }
    if (row->op == RDN_OP_COUNT)
        return special(l, x);
    bool text = row->shape == RDN_SHAPE_FIXED && row->sig[0] == 'X';
    return with_args(l, x, row->op, text ? l->X : NULL);
}

rdn_id rdn_low_call(struct rdn_low *l, struct rdn_expr *x) {
    if (x->fn)
        return expand(l, x);
    return x->pl ? outside(l, x) : builtin(l, x);
}
