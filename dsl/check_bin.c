/* SPDX-License-Identifier: Apache-2.0
 * check_bin.c: binary operators by type (LANGUAGE.md 7.1), and `in`. */
#include "dsl/check.h"

static const char *const op_text[] = { "and", "or", "==", "!=", "<", "<=", ">", ">=", "in", "??", "+", "-", "*", "/", "mod", "not", "-" };

static bool both(rdn_ty a, rdn_ty b, unsigned kinds) { return rdn_is(a, kinds) && rdn_is(b, kinds); }

__attribute__((noreturn)) static void bad_types(struct rdn_ck *k, const struct rdn_expr *x, rdn_ty a, rdn_ty b, const char *hint) {
    rdn_raise(k->c, "E0402", x->pos, hint ? hint : rdn_ck_hint(k, a, b), "'%s' does not take %s and %s", op_text[x->op], rdn_tn(k, a),
              rdn_tn(k, b));
}

/* ---- comparisons ---- */
static rdn_ty compare_text(struct rdn_ck *k, struct rdn_expr *x, rdn_ty a, rdn_ty b, struct rdn_ctx *c) {
    struct rdn_expr *l = x->bin.a, *r = x->bin.b;
    if (b->kind == RDN_K_ENUM && l->kind == RDN_X_LIT)
        rdn_ck_want(k, l, b, c, RDN_WHAT("the text", NULL));
    if (a->kind == RDN_K_ENUM && r->kind == RDN_X_LIT)
        rdn_ck_want(k, r, a, c, RDN_WHAT("the text", NULL));
    const bool ea = a->kind == RDN_K_ENUM, eb = b->kind == RDN_K_ENUM;
    if (ea && eb && a != b)
        bad_types(k, x, a, b, "the enums differ");
    if (ea != eb && l->kind != RDN_X_LIT && r->kind != RDN_X_LIT)
        bad_types(k, x, a, b, "compare an enum with its own type or a literal");
    const unsigned unordered = RDN_BIT(RDN_K_SYM) | RDN_BIT(RDN_K_ENUM);
    if (x->op != RDN_B_EQ && x->op != RDN_B_NE && (rdn_is(a, unordered) || rdn_is(b, unordered)))
        bad_types(k, x, a, b, "sym and enum have no order");
    return k->B;
}

static rdn_ty compare(struct rdn_ck *k, struct rdn_expr *x, rdn_ty a, rdn_ty b, struct rdn_ctx *c) {
    if (rdn_type_is_text(a) && rdn_type_is_text(b))
        return compare_text(k, x, a, b, c);
    if (both(a, b, RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC)))
        return k->B;
    const bool ordered = x->op != RDN_B_EQ && x->op != RDN_B_NE;
    if (a->kind != b->kind || a->kind == RDN_K_ARR || (a->kind == RDN_K_BOOL && ordered))
        bad_types(k, x, a, b, both(a, b, RDN_BIT(RDN_K_BOOL)) ? "bool has no order" : NULL);
    return k->B;
}

/* ---- arithmetic ---- */
/* Largest number of bytes of a text value. The bound of a sum is kept in its index, so a chain is walked once. */
static uint32_t text_bound(const struct rdn_expr *x) {
    uint32_t p, q;
    if (x->kind == RDN_X_LIT)
        return x->lit.v.t.len;
    if (x->t->kind == RDN_K_STR)
        return x->t->n;
    if (x->t->kind == RDN_K_SYM || x->t->kind == RDN_K_ENUM)
        return RDN_LIM_SYM_BYTES;
    if (x->kind == RDN_X_BIN && x->op == RDN_B_ADD)
        return x->index;
    if (x->kind == RDN_X_IF) {
        p = text_bound(x->cond.x);
        q = text_bound(x->cond.y);
        return p > q ? p : q;
    }
    if (x->kind == RDN_X_CALL && (x->builtin == RDN_FN_lower || x->builtin == RDN_FN_upper || x->builtin == RDN_FN_trim))
        return text_bound(x->call.xs[0]);
    return RDN_LIM_SYM_BYTES;
}

static rdn_ty join_text(struct rdn_ck *k, struct rdn_expr *x) {
    x->index = text_bound(x->bin.a) + text_bound(x->bin.b);
    if (x->index > RDN_LIM_STR_BYTES)
        rdn_raise(k->c, "E0420", x->pos, NULL, "text may be longer than %d bytes", RDN_LIM_STR_BYTES);
    return k->X;
}

static rdn_ty arrays(struct rdn_ck *k, struct rdn_expr *x, rdn_ty a, rdn_ty b) {
    const bool va = a->kind == RDN_K_ARR, vb = b->kind == RDN_K_ARR;
    if (x->op == RDN_B_MOD)
        bad_types(k, x, a, b, NULL);
    if (va && vb && (a->ndim != b->ndim || a->dim[0] != b->dim[0] || a->dim[1] != b->dim[1]))
        rdn_raise(k->c, "E0413", x->pos, NULL, "shapes differ: %s and %s", rdn_tn(k, a), rdn_tn(k, b));
    if ((va ? a->elem : a->kind) != RDN_K_FLOAT || (vb ? b->elem : b->kind) != RDN_K_FLOAT)
        bad_types(k, x, a, b, "array arithmetic is for float");
    return va ? a : b;
}

static unsigned scale_of(rdn_ty t) { return t->kind == RDN_K_DEC ? t->scale : 0; }

static rdn_ty add_sub(struct rdn_ck *k, struct rdn_expr *x, rdn_ty a, rdn_ty b) {
    const bool plus = x->op == RDN_B_ADD;
    if (a == b && rdn_is(a, RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_FLOAT) | RDN_BIT(RDN_K_DUR)))
        return a;
    if (both(a, b, RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC)))
        return rdn_type_dec(k->c->types, scale_of(a) > scale_of(b) ? scale_of(a) : scale_of(b));
    if ((a == k->T && b == k->U) || (plus && a == k->U && b == k->T))
        return k->T;
    if (!plus && a == k->T && b == k->T)
        return k->U;
    return plus && both(a, b, RDN_CHAR_KINDS) ? join_text(k, x) : NULL;
}

static rdn_ty multiply(struct rdn_ck *k, struct rdn_expr *x, rdn_ty a, rdn_ty b) {
    if (a == b && (a == k->I || a == k->F))
        return a;
    if (both(a, b, RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC))) {
        const unsigned s = scale_of(a) + scale_of(b);
        if (s > 18)
            rdn_raise(k->c, "E0411", x->pos, "round(x, 4) before multiplying", "the product has %u decimals, at most 18 are kept", s);
        return rdn_type_dec(k->c->types, s);
    }
    return (a == k->U && b == k->I) || (a == k->I && b == k->U) ? k->U : NULL;
}

static rdn_ty divide(struct rdn_ck *k, struct rdn_expr *x, rdn_ty a, rdn_ty b) {
    if (a == b && (a == k->I || a == k->F)) {
        x->idiv = a == k->I;
        return a;
    }
    if (both(a, b, RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC)) || (a == k->U && b == k->U))
        return k->F;
    return a == k->U && b == k->I ? k->U : NULL;
}

static rdn_ty arithmetic(struct rdn_ck *k, struct rdn_expr *x, rdn_ty a, rdn_ty b) {
    switch (x->op) {
    case RDN_B_ADD: case RDN_B_SUB: return add_sub(k, x, a, b);
    case RDN_B_MUL: return multiply(k, x, a, b);
    case RDN_B_DIV: return divide(k, x, a, b);
    case RDN_B_MOD: return a == b && rdn_is(a, RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DUR) | RDN_BIT(RDN_K_DEC)) ? a : NULL;
    default: return NULL;
    }
}

/* Two literals: float if either is fractional, else int, or the type of the place. */
static rdn_ty two_literals(struct rdn_ck *k, struct rdn_expr *x, rdn_ty want) {
    const bool frac = rdn_ck_frac(x->bin.a) || rdn_ck_frac(x->bin.b);
    const bool sum = x->op == RDN_B_ADD || x->op == RDN_B_SUB;
    rdn_ty t = frac ? k->F : k->I;
    if (want == k->F || (want && want->kind == RDN_K_DEC && sum))
        t = want;
    rdn_ck_fit(k, x->bin.a, t);
    rdn_ck_fit(k, x->bin.b, t);
    return t;
}

rdn_ty rdn_ck_bin(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    struct rdn_expr *l = x->bin.a, *r = x->bin.b;
    if (x->op == RDN_B_AND || x->op == RDN_B_OR) {
        const bool and = x->op == RDN_B_AND;
        rdn_ck_want(k, l, k->B, c, and ? RDN_WHAT("left of 'and'", NULL) : RDN_WHAT("left of 'or'", NULL));
        rdn_ck_want(k, r, k->B, c, and ? RDN_WHAT("right of 'and'", NULL) : RDN_WHAT("right of 'or'", NULL));
        return k->B;
    }
    if (x->op == RDN_B_COALESCE)
        return rdn_ck_join(k, x, l, r, c, want, "sides of ??");
    if (x->op == RDN_B_IN)
        return rdn_ck_in(k, x, c);
    const bool na = rdn_is_num(l), nb = rdn_is_num(r);
    rdn_ty a, b;
    if (na && nb) {
        x->sens = true;
        a = b = two_literals(k, x, want);
    } else if (na) {
        b = rdn_ck_type(k, r, c, NULL);
        a = rdn_ck_beside(k, l, b, x->op);
    } else {
        a = rdn_ck_type(k, l, c, NULL);
        b = nb ? rdn_ck_beside(k, r, a, x->op) : rdn_ck_type(k, r, c, NULL);
    }
    if (x->op >= RDN_B_EQ && x->op <= RDN_B_GE)
        return compare(k, x, a, b, c);
    if (a->kind == RDN_K_ARR || b->kind == RDN_K_ARR)
        return arrays(k, x, a, b);
    rdn_ty t = arithmetic(k, x, a, b);
    if (!t)
        bad_types(k, x, a, b, NULL);
    return t;
}

/* ---- in ---- */
static void element(struct rdn_ck *k, struct rdn_expr *e, rdn_ty a, struct rdn_ctx *c, const char *what) {
    const unsigned exact = RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC);
    if (!rdn_is_num(e) && ((rdn_is(a, RDN_CHAR_KINDS) && rdn_is(rdn_ck_type(k, e, c, a), RDN_CHAR_KINDS)) ||
                           (a->kind == RDN_K_DEC && rdn_is(rdn_ck_type(k, e, c, a), exact))))
        return;
    rdn_ck_want(k, e, a, c, RDN_WHAT(what, NULL));
}

/* The left side; a literal takes the type of the first element that is none. */
static rdn_ty left_of_in(struct rdn_ck *k, struct rdn_expr *l, struct rdn_expr *const *xs, uint32_t n, struct rdn_ctx *c) {
    if (!rdn_is_num(l))
        return rdn_ck_type(k, l, c, NULL);
    rdn_ty t = NULL;
    bool frac = rdn_ck_frac(l);
    for (uint32_t i = 0; i < n && !t; i++) {
        if (!rdn_is_num(xs[i]))
            t = rdn_ck_type(k, xs[i], c, NULL);
        else
            frac |= rdn_ck_frac(xs[i]);
    }
    return rdn_ck_want(k, l, t ? t : frac ? k->F : k->I, c, RDN_WHAT("left of in", NULL));
}

static rdn_ty in_set(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    struct rdn_expr *b = x->bin.b;
    rdn_ty a = left_of_in(k, x->bin.a, b->call.xs, b->call.n, c);
    for (uint32_t i = 0; i < b->call.n; i++)
        element(k, b->call.xs[i], a, c, "the list element");
    b->t = a;
    if (a->kind == RDN_K_ARR)
        rdn_raise(k->c, "E0402", x->pos, NULL, "'in' does not take an array");
    return k->B;
}

static rdn_ty in_range(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    struct rdn_expr *b = x->bin.b;
    rdn_ty a = left_of_in(k, x->bin.a, (struct rdn_expr *[]){ b->bin.a, b->bin.b }, 2, c);
    if (!rdn_is(a, RDN_ORD_KINDS | RDN_BIT(RDN_K_STR) | RDN_BIT(RDN_K_TEXT)))
        rdn_raise(k->c, "E0402", x->pos, NULL, "'in' with a range does not take %s", rdn_tn(k, a));
    element(k, b->bin.a, a, c, "the start of the range");
    element(k, b->bin.b, a, c, "the end of the range");
    b->t = a;
    return k->B;
}

static rdn_ty in_named(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    struct rdn_expr *b = x->bin.b;
    struct rdn_decl *g = rdn_ck_global(k, b->name.v);
    if (!g || (g->kind != RDN_D_LIST && g->kind != RDN_D_CALENDAR)) {
        rdn_near_begin(k);
        rdn_near_kinds(k, RDN_BIT(RDN_D_LIST) | RDN_BIT(RDN_D_CALENDAR));
        rdn_raise(k->c, "E0311", b->pos, rdn_near_end(k, b->name.v), "'%s' is not a list or calendar", b->name.v);
    }
    const bool list = g->kind == RDN_D_LIST;
    if (c->kind == RDN_CTX_KERNEL)
        rdn_raise(k->c, "E0313", b->pos, NULL, "%s are not available in a kernel", list ? "lists" : "calendars");
    c->deps->host = true;
    b->t = list ? ((struct rdn_d_list *)g)->ty : k->T;
    if (list)
        rdn_ck_want_key(k, x->bin.a, b->t, c, RDN_WHAT("left of in", NULL));
    else
        rdn_ck_want(k, x->bin.a, b->t, c, RDN_WHAT("left of in", NULL));
    b->src = list ? RDN_SRC_LIST : RDN_SRC_CAL;
    b->index = g->index;
    g->used = true;
    return k->B;
}

rdn_ty rdn_ck_in(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    struct rdn_expr *b = x->bin.b;
    if (b->kind == RDN_X_SET)
        return in_set(k, x, c);
    if (b->kind == RDN_X_RANGE)
        return in_range(k, x, c);
    if (b->kind == RDN_X_NAME && c->kind != RDN_CTX_CONST)
        return in_named(k, x, c);
    rdn_raise(k->c, "E0311", b->pos, NULL, "after 'in' comes [a, b], lo..hi, a list or a calendar");
}
