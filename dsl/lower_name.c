/* SPDX-License-Identifier: Apache-2.0
 * lower_name.c: names, window reads, table cells, array elements as nodes.
 *
 * A let is lowered at its first use: its body is one shared root an event, read through USE nodes. A window read on the window's
 * own event takes the nodes of its key expressions as operands, so executors see that it is the same key. */
#include "dsl/lower.h"

static rdn_id leaf(struct rdn_low *l, enum rdn_op op, const struct rdn_type *t, uint32_t aux, uint32_t span) {
    unsigned scale = t->kind == RDN_K_DEC ? t->scale : 0;
    return rdn_ir_node(l->ir, op, rdn_cell_of(t), scale, t, 0, 0, 0, aux, span, 0);
}

static rdn_id use(struct rdn_low *l, rdn_id root, uint32_t span) {
    struct rdn_node n = l->ir->nodes.v[root];
    return rdn_ir_node(l->ir, RDN_OP_USE, n.type, n.scale, rdn_ir_ltype(l->ir, root), root, 0, 0, 0, span, 0);
}

/* Its value takes work: everything but what is read where it stands. */
static bool takes_work(unsigned op) {
    switch (op) {
    case RDN_OP_CONST: case RDN_OP_FIELD: case RDN_OP_PARAM: case RDN_OP_NOW: case RDN_OP_TS: case RDN_OP_SCORE: case RDN_OP_EVROW:
    case RDN_OP_EACH: case RDN_OP_KPARAM: case RDN_OP_USE:
        return false;
    default:
        return true;
    }
}

struct rdn_low_bound rdn_low_bind(struct rdn_low *l, rdn_id id) {
    struct rdn_low_bound b = { id, id };
    if (takes_work(l->ir->nodes.v[id].op)) {
        l->ir->nodes.v[id].flags |= RDN_NODE_SHARED;
        b.use = use(l, id, l->ir->nodes.v[id].span);
    }
    return b;
}

/* The root of a let's body. */
static rdn_id let_root(struct rdn_low *l, struct rdn_d_let *let) {
    rdn_id *root = &l->lets[let->d.index];
    if (!*root) {
        struct rdn_low_place was = rdn_low_enter(l, let->event, NULL, false);
        rdn_id id = rdn_low(l, let->x);
        rdn_low_leave(l, was);
        if (takes_work(l->ir->nodes.v[id].op))
            l->ir->nodes.v[id].flags |= RDN_NODE_SHARED;
        *root = id;
    }
    return *root;
}

rdn_id rdn_low_name(struct rdn_low *l, struct rdn_expr *x) {
    uint32_t span = rdn_low_span(l, x);
    switch ((enum rdn_name_src)x->src) {
    case RDN_SRC_LOC: return l->loc[x->index];
    case RDN_SRC_FIELD: return leaf(l, RDN_OP_FIELD, x->t, x->index, span);
    case RDN_SRC_LET: return use(l, let_root(l, x->let), span);
    case RDN_SRC_PARAM: return leaf(l, RDN_OP_PARAM, x->t, x->index, span);
    case RDN_SRC_NOW: return leaf(l, RDN_OP_NOW, l->T, 0, span);
    case RDN_SRC_TS: return leaf(l, RDN_OP_TS, l->T, 0, span);
    case RDN_SRC_SCORE: return leaf(l, RDN_OP_SCORE, l->I, 0, span);
    case RDN_SRC_WIN: return rdn_low_window(l, x, RDN_OP_WREAD);
    case RDN_SRC_EVENT: return leaf(l, RDN_OP_EVROW, rdn_type_event(l->c->types, x->name.v, x->index), 0, span);
    case RDN_SRC_NONE: case RDN_SRC_LIST: case RDN_SRC_CAL: break;
    }
    return RDN_NO_NODE;
}

/* ---- windows ---- */
/* A dec key that does not fit int64 makes the key undefined where it stands. */
static rdn_id own_key(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id id = rdn_low(l, x);
    if (x->t->kind != RDN_K_DEC)
        return id;
    return rdn_ir_node(l->ir, RDN_OP_NARROW, RDN_TY_D64, x->t->scale, x->t, id, 0, 0, 0, rdn_low_span(l, x), 0);
}

const rdn_id *rdn_low_window_keys(struct rdn_low *l, struct rdn_d_window *w) {
    rdn_id **keys = &l->keys[w->d.index];
    if (!*keys) {
        rdn_id *ids = rdn_new_n(l->c->arena, rdn_id, w->by.n + 1);
        struct rdn_low_place was = rdn_low_enter(l, w->event, NULL, false);
        for (uint32_t i = 0; i < w->by.n; i++)
            ids[i] = own_key(l, w->by.v[i]);
        rdn_low_leave(l, was);
        *keys = ids;
    }
    return *keys;
}

static rdn_id read_window(struct rdn_low *l, struct rdn_d_window *w, enum rdn_op op, const rdn_id *keys, uint32_t n, uint32_t span) {
    unsigned scale = w->t->kind == RDN_K_DEC ? w->t->scale : 0;
    return rdn_ir_node_n(l->ir, op, rdn_low_cell(w->t), scale, w->t, keys, n, 0, w->d.index, span, 0);
}

rdn_id rdn_low_window(struct rdn_low *l, struct rdn_expr *x, enum rdn_op op) {
    struct rdn_d_window *w = x->w;
    uint32_t span = rdn_low_span(l, x), n = w->by.n;
    if (w->event == l->event)
        return read_window(l, w, op, rdn_low_window_keys(l, w), n, span);
    rdn_id ids[8];
    bool trace = l->trace;                               /* the names are not in the text of the reader */
    l->trace = false;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = rdn_low_key(l, x->kx[i], w->by.v[i]->t);
    l->trace = trace;
    return read_window(l, w, op, ids, n, span);
}

rdn_id rdn_low_cell_of_table(struct rdn_low *l, struct rdn_expr *x) {
    const struct rdn_d_table *tb = x->tb;
    struct rdn_expr *row = x->dot.a;
    rdn_id ids[8];
    for (uint32_t i = 0; i < row->idx.n; i++)
        ids[i] = rdn_low_key(l, row->idx.ix[i], tb->keys.v[i].type);
    unsigned scale = x->t->kind == RDN_K_DEC ? x->t->scale : 0;
    return rdn_ir_node_n(l->ir, RDN_OP_TREAD, rdn_cell_of(x->t), scale, x->t, ids, row->idx.n, x->index, tb->d.index, rdn_low_span(l, x), 0);
}

/* ---- elements ---- */
/* m[i, j]: an i out of range counts before an undefined j, but the node's operands are judged first. So j is 0 then: */
static rdn_id second_index(struct rdn_low *l, rdn_id i, rdn_id j, uint32_t rows, uint32_t span) {
    rdn_id low = rdn_low_compare(l, RDN_OP_GE, i, rdn_low_int(l, 0, span), span);
    rdn_id high = rdn_low_compare(l, RDN_OP_LT, i, rdn_low_int(l, rows, span), span);
    rdn_id inside = rdn_low_mk(l, RDN_OP_AND, l->B, low, high, 0, span);
    return rdn_low_mk(l, RDN_OP_SEL, l->I, inside, j, rdn_low_int(l, 0, span), span);
}

static rdn_id element(struct rdn_low *l, struct rdn_expr *x) {
    uint32_t span = rdn_low_span(l, x);
    rdn_id a = rdn_low(l, x->idx.a), i = rdn_low(l, x->idx.ix[0]), j = 0;
    if (x->idx.n > 1) {
        struct rdn_low_bound first = rdn_low_bind(l, i);
        i = first.lead;
        j = rdn_low(l, x->idx.ix[1]);
        if (l->ir->nodes.v[i].op != RDN_OP_CONST && l->ir->nodes.v[j].op != RDN_OP_CONST)
            j = second_index(l, first.use, j, x->idx.a->t->dim[0], span);
    }
    return rdn_low_mk(l, RDN_OP_ELEM, x->t, a, i, j, span);
}

rdn_id rdn_low_index(struct rdn_low *l, struct rdn_expr *x) {
    if (!x->w)
        return element(l, x);
    rdn_id ids[8];
    for (uint32_t i = 0; i < x->idx.n; i++)
        ids[i] = rdn_low_key(l, x->idx.ix[i], x->w->by.v[i]->t);
    return read_window(l, x->w, RDN_OP_WREAD, ids, x->idx.n, rdn_low_span(l, x));
}
