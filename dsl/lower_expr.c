/* SPDX-License-Identifier: Apache-2.0
 * lower_expr.c: literals, operators and conversions as nodes. O(tree). */
#include "dsl/lower.h"
#include <string.h>

uint32_t rdn_low_span(struct rdn_low *l, const struct rdn_expr *x) { return rdn_ir_span(l->ir, x->pos.a, x->pos.b); }

enum rdn_cell_type rdn_low_cell(const struct rdn_type *t) { return t->kind == RDN_K_DEC ? RDN_TY_W128 : rdn_cell_of(t); }

static unsigned scale_of(const struct rdn_type *t) { return t->kind == RDN_K_DEC ? t->scale : 0; }

rdn_id rdn_low_mk(struct rdn_low *l, enum rdn_op op, const struct rdn_type *t, rdn_id a, rdn_id b, rdn_id c, uint32_t span) {
    return rdn_ir_node(l->ir, op, rdn_low_cell(t), scale_of(t), t, a, b, c, 0, span, 0);
}

rdn_id rdn_low_mk_n(struct rdn_low *l, enum rdn_op op, const struct rdn_type *t, const rdn_id *args, uint32_t n, uint32_t span) {
    return rdn_ir_node_n(l->ir, op, rdn_low_cell(t), scale_of(t), t, args, n, 0, 0, span, 0);
}

rdn_id rdn_low_const(struct rdn_low *l, const struct rdn_type *t, const struct rdn_cell *v, uint32_t span) {
    enum rdn_cell_type cell = rdn_cell_of(t);
    if (cell == RDN_TY_D64 && !rdn_fits_i64(v->d))
        cell = RDN_TY_W128;
    uint32_t at = rdn_ir_const(l->ir, cell, scale_of(t), t, v);
    return rdn_ir_node(l->ir, RDN_OP_CONST, cell, scale_of(t), t, 0, 0, 0, at, span, 0);
}

rdn_id rdn_low_int(struct rdn_low *l, int64_t v, uint32_t span) {
    return rdn_low_const(l, l->I, &(struct rdn_cell){ .i = v }, span);
}

static struct rdn_node *node(struct rdn_low *l, rdn_id id) { return &l->ir->nodes.v[id]; }

/* ---- texts ---- */
/* Can the literal be a symbol? Longer ones never equal one. */
static bool symbol_literal(const struct rdn_expr *x) {
    return x->kind == RDN_X_LIT && x->lit.ty->kind == RDN_K_TEXT && x->lit.v.t.len <= 255 && !memchr(x->lit.v.t.p, 0, x->lit.v.t.len);
}

static rdn_id intern(struct rdn_low *l, struct rdn_expr *x) {
    uint32_t id;
    int rc = rdn_sym_intern(l->c->syms, x->lit.v.t.p, x->lit.v.t.len, &id);
    if (rc < 0)
        rdn_give_up(l->c, rc);
    return rdn_low_const(l, rdn_type_simple(l->c->types, RDN_K_SYM), &(struct rdn_cell){ .i = id }, rdn_low_span(l, x));
}

static rdn_id member(struct rdn_low *l, struct rdn_expr *x, const struct rdn_type *t) {
    struct rdn_cell v = { .i = 0 };
    for (unsigned i = 0; i < t->n; i++)
        if (strlen(t->members[i]) == x->lit.v.t.len && !memcmp(t->members[i], x->lit.v.t.p, x->lit.v.t.len))
            v.i = i;
    return rdn_low_const(l, t, &v, rdn_low_span(l, x));
}

rdn_id rdn_low_text(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id id = rdn_low(l, x);
    const struct rdn_type *t = rdn_ir_ltype(l->ir, id);
    if (t->kind == RDN_K_SYM)
        return rdn_low_mk(l, RDN_OP_SYMTEXT, l->X, id, 0, 0, rdn_low_span(l, x));
    if (t->kind == RDN_K_ENUM)
        return rdn_low_mk(l, RDN_OP_ENUMTEXT, l->X, id, 0, 0, rdn_low_span(l, x));
    return id;
}

rdn_id rdn_low_as(struct rdn_low *l, struct rdn_expr *x, const struct rdn_type *t) {
    if (t->kind == RDN_K_TEXT || t->kind == RDN_K_STR)
        return rdn_low_text(l, x);
    if (x->kind == RDN_X_LIT && t->kind == RDN_K_SYM)
        return intern(l, x);
    if (x->kind == RDN_X_LIT && t->kind == RDN_K_ENUM)
        return member(l, x, t);
    return rdn_low(l, x);
}

rdn_id rdn_low_key(struct rdn_low *l, struct rdn_expr *x, const struct rdn_type *t) {
    if (t->kind != RDN_K_SYM || x->t->kind == RDN_K_SYM || symbol_literal(x))
        return rdn_low_as(l, x, t);
    rdn_id text = rdn_low_text(l, x);
    return rdn_low_mk(l, RDN_OP_SYMFIND, t, text, 0, 0, rdn_low_span(l, x));
}

/* ---- comparison ---- */
rdn_id rdn_low_compare(struct rdn_low *l, enum rdn_op op, rdn_id a, rdn_id b, uint32_t span) {
    return rdn_low_mk(l, op, l->B, a, b, 0, span);
}

/* The type both sides of == are brought to: symbols and enums compare as numbers, other texts as bytes. NULL: as they are. */
static const struct rdn_type *common_text(struct rdn_low *l, struct rdn_expr *const *xs, uint32_t n) {
    bool symbols = true, some = false;
    if (!rdn_type_is_text(xs[0]->t))
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (xs[i]->t->kind == RDN_K_ENUM)
            return xs[i]->t;
        some |= xs[i]->t->kind == RDN_K_SYM;
        symbols &= xs[i]->t->kind == RDN_K_SYM || symbol_literal(xs[i]);
    }
    return some && symbols ? rdn_type_simple(l->c->types, RDN_K_SYM) : l->X;
}

static rdn_id to_common(struct rdn_low *l, struct rdn_expr *x, const struct rdn_type *t) { return t ? rdn_low_as(l, x, t) : rdn_low(l, x); }

static rdn_id comparison(struct rdn_low *l, struct rdn_expr *x) {
    static const uint8_t ops[] = { [RDN_B_EQ] = RDN_OP_EQ, [RDN_B_NE] = RDN_OP_NE, [RDN_B_LT] = RDN_OP_LT, [RDN_B_LE] = RDN_OP_LE,
                                   [RDN_B_GT] = RDN_OP_GT, [RDN_B_GE] = RDN_OP_GE };
    struct rdn_expr *xs[] = { x->bin.a, x->bin.b };
    const struct rdn_type *t = common_text(l, xs, 2);
    rdn_id a = to_common(l, xs[0], t), b = to_common(l, xs[1], t);
    return rdn_low_compare(l, ops[x->op], a, b, rdn_low_span(l, x));
}

static rdn_id in_set(struct rdn_low *l, struct rdn_expr *x) {
    struct rdn_expr *set = x->bin.b;
    struct rdn_expr **xs = rdn_new_n(l->c->work, struct rdn_expr *, set->call.n + 1);
    rdn_id *ids = rdn_new_n(l->c->work, rdn_id, set->call.n + 1);
    xs[0] = x->bin.a;
    for (uint32_t i = 0; i < set->call.n; i++)
        xs[i + 1] = set->call.xs[i];
    const struct rdn_type *t = common_text(l, xs, set->call.n + 1);
    for (uint32_t i = 0; i <= set->call.n; i++)
        ids[i] = to_common(l, xs[i], t);
    return rdn_low_mk_n(l, RDN_OP_INSET, l->B, ids, set->call.n + 1, rdn_low_span(l, x));
}

/* x, lo and hi are evaluated once and in this order, then lo <= x and x <= hi. */
static rdn_id in_range(struct rdn_low *l, struct rdn_expr *x) {
    struct rdn_expr *xs[] = { x->bin.a, x->bin.b->bin.a, x->bin.b->bin.b };
    const struct rdn_type *t = rdn_type_is_text(xs[0]->t) ? l->X : NULL;
    struct rdn_low_bound v[3];
    uint32_t span = rdn_low_span(l, x);
    for (int i = 0; i < 3; i++)
        v[i] = rdn_low_bind(l, to_common(l, xs[i], t));
    rdn_id low = rdn_low_compare(l, RDN_OP_LE, v[1].use, v[0].use, span), high = rdn_low_compare(l, RDN_OP_LE, v[0].use, v[2].use, span);
    rdn_id both = rdn_low_mk(l, RDN_OP_AND, l->B, low, high, 0, span);
    return rdn_low_mk_n(l, RDN_OP_INLINE, l->B, (rdn_id[]){ v[0].lead, v[1].lead, v[2].lead, both }, 4, span);
}

static rdn_id in_data(struct rdn_low *l, struct rdn_expr *x) {
    struct rdn_expr *data = x->bin.b;
    bool list = data->src == RDN_SRC_LIST;
    rdn_id a = list ? rdn_low_key(l, x->bin.a, l->ir->lists[data->index].type) : rdn_low(l, x->bin.a);
    return rdn_ir_node(l->ir, list ? RDN_OP_INLIST : RDN_OP_INCAL, RDN_TY_B1, 0, l->B, a, 0, 0, data->index, rdn_low_span(l, x), 0);
}

/* ---- arithmetic ---- */
static enum rdn_op array_op(uint8_t op) {
    return op == RDN_B_ADD ? RDN_OP_VADD : op == RDN_B_SUB ? RDN_OP_VSUB : op == RDN_B_MUL ? RDN_OP_VMUL : RDN_OP_VDIV;
}

static enum rdn_op arith_op(const struct rdn_expr *x) {
    const struct rdn_type *a = x->bin.a->t, *b = x->bin.b->t;
    if (a->kind == RDN_K_ARR || b->kind == RDN_K_ARR)
        return array_op(x->op);
    switch (x->op) {
    case RDN_B_ADD: return RDN_OP_ADD;
    case RDN_B_SUB: return RDN_OP_SUB;
    case RDN_B_MUL: return RDN_OP_MUL;
    case RDN_B_MOD: return RDN_OP_MOD;
    default: break;
    }
    if (a->kind == RDN_K_DEC || b->kind == RDN_K_DEC)
        return RDN_OP_RATIO;
    return a->kind == RDN_K_DUR && b->kind == RDN_K_DUR ? RDN_OP_IRATIO : RDN_OP_DIV;
}

static rdn_id arithmetic(struct rdn_low *l, struct rdn_expr *x) {
    bool text = x->t->kind == RDN_K_TEXT;
    rdn_id a = text ? rdn_low_text(l, x->bin.a) : rdn_low(l, x->bin.a), b = text ? rdn_low_text(l, x->bin.b) : rdn_low(l, x->bin.b);
    return rdn_low_mk(l, text ? RDN_OP_CONCAT : arith_op(x), x->t, a, b, 0, rdn_low_span(l, x));
}

static rdn_id binary(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id a, b;
    switch (x->op) {
    case RDN_B_AND: case RDN_B_OR:
        a = rdn_low(l, x->bin.a);
        b = rdn_low(l, x->bin.b);
        return rdn_low_mk(l, x->op == RDN_B_AND ? RDN_OP_AND : RDN_OP_OR, l->B, a, b, 0, rdn_low_span(l, x));
    case RDN_B_COALESCE:
        a = rdn_low_as(l, x->bin.a, x->t);
        b = rdn_low_as(l, x->bin.b, x->t);
        return rdn_low_mk(l, RDN_OP_COALESCE, x->t, a, b, 0, rdn_low_span(l, x));
    case RDN_B_EQ: case RDN_B_NE: case RDN_B_LT: case RDN_B_LE: case RDN_B_GT: case RDN_B_GE:
        return comparison(l, x);
    case RDN_B_IN:
        return x->bin.b->kind == RDN_X_SET ? in_set(l, x) : x->bin.b->kind == RDN_X_RANGE ? in_range(l, x) : in_data(l, x);
    default:
        return arithmetic(l, x);
    }
}

static rdn_id unary(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id a = rdn_low(l, x->bin.a);
    enum rdn_op op = x->op == RDN_U_NOT ? RDN_OP_NOT : x->t->kind == RDN_K_ARR ? RDN_OP_VNEG : RDN_OP_NEG;
    return rdn_low_mk(l, op, x->t, a, 0, 0, rdn_low_span(l, x));
}

static rdn_id choice(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id c = rdn_low(l, x->cond.c), a = rdn_low_as(l, x->cond.x, x->t), b = rdn_low_as(l, x->cond.y, x->t);
    return rdn_low_mk(l, RDN_OP_SEL, x->t, c, a, b, rdn_low_span(l, x));
}

static rdn_id plain(struct rdn_low *l, struct rdn_expr *x) {
    if (rdn_is_num(x))
        return rdn_low_const(l, x->t, &x->val, rdn_low_span(l, x));
    switch ((enum rdn_x_kind)x->kind) {
    case RDN_X_LIT: return rdn_low_const(l, x->lit.ty, &x->lit.v, rdn_low_span(l, x));
    case RDN_X_NAME: return rdn_low_name(l, x);
    case RDN_X_UN: return unary(l, x);
    case RDN_X_BIN: return binary(l, x);
    case RDN_X_IF: return choice(l, x);
    case RDN_X_CALL: return rdn_low_call(l, x);
    case RDN_X_DOT: return rdn_low_cell_of_table(l, x);
    case RDN_X_IDX: return rdn_low_index(l, x);
    case RDN_X_NUM: case RDN_X_SET: case RDN_X_RANGE: case RDN_X_NONE: break;
    }
    return RDN_NO_NODE;                                  /* the checker lets these stand only where they are taken apart */
}

/* What explain prints: names, cells, w[k], a[i], calls. */
static bool is_traced(const struct rdn_expr *x) {
    return x->kind == RDN_X_DOT || x->kind == RDN_X_IDX || x->kind == RDN_X_CALL || (x->kind == RDN_X_NAME && x->src != RDN_SRC_EVENT);
}

rdn_id rdn_low(struct rdn_low *l, struct rdn_expr *x) {
    rdn_id id = plain(l, x);
    if (x->co && x->co->scale != x->t->scale)
        id = rdn_low_mk(l, RDN_OP_RESCALE, x->co, id, 0, 0, rdn_low_span(l, x));
    if (l->trace && is_traced(x))
        node(l, id)->flags |= RDN_NODE_TRACE;
    return id;
}
