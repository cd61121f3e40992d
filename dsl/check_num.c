/* SPDX-License-Identifier: Apache-2.0
 * check_num.c: number literals take the type of their place (LANGUAGE.md 5, conversions). Exact: the digits are kept. */
#include "dsl/check.h"

/* A literal of a data file has no place in the source. */
#define TEXT_OF(k, x) ((x)->pos.b <= (k)->c->len ? (int)((x)->pos.b - (x)->pos.a) : 0), (k)->c->src + ((x)->pos.b <= (k)->c->len ? (x)->pos.a : 0)

bool rdn_ck_frac(const struct rdn_expr *x) {
    bool neg;
    return rdn_num_of(x, &neg)->frac;
}

bool rdn_ck_whole(const struct rdn_expr *x, rdn_i128 *ret) {
    bool neg;
    const struct rdn_num *n = rdn_num_of(x, &neg);
    return !rdn_num_decimals(n) && rdn_num_i128(n, neg, 0, ret);
}

static void fit_int(struct rdn_ck *k, struct rdn_expr *x, const struct rdn_num *n, bool neg) {
    rdn_i128 v;
    if (rdn_num_decimals(n))
        rdn_raise(k->c, "E0404", x->pos, NULL, "%.*s is not a whole number", TEXT_OF(k, x));
    if (!rdn_num_i128(n, neg, 0, &v) || !rdn_fits_i64(v))
        rdn_raise(k->c, "E0405", x->pos, NULL, "integer literal does not fit 64 bits");
    x->val.i = (int64_t)v;
}

static void fit_float(struct rdn_ck *k, struct rdn_expr *x, const struct rdn_num *n, bool neg) {
    x->val.f = rdn_num_f64(n, neg);
    if (__builtin_isinf(x->val.f))
        rdn_raise(k->c, "E0419", x->pos, NULL, "float literal is too large");
}

static void fit_dec(struct rdn_ck *k, struct rdn_expr *x, const struct rdn_num *n, bool neg, rdn_ty t) {
    if (rdn_num_decimals(n) > t->scale)
        rdn_raise(k->c, "E0406", x->pos, "round it or use a larger scale", "%.*s has more than %u decimals", TEXT_OF(k, x), t->scale);
    if (!rdn_num_i128(n, neg, t->scale, &x->val.d) || (t->scale <= 9 && !rdn_fits_i64(x->val.d)))
        rdn_raise(k->c, "E0405", x->pos, NULL, "literal does not fit %s", rdn_tn(k, t));
}

void rdn_ck_fit(struct rdn_ck *k, struct rdn_expr *x, rdn_ty t) {
    bool neg;
    const struct rdn_num *n = rdn_num_of(x, &neg);
    if (t->kind == RDN_K_INT)
        fit_int(k, x, n, neg);
    else if (t->kind == RDN_K_FLOAT)
        fit_float(k, x, n, neg);
    else if (t->kind == RDN_K_DEC)
        fit_dec(k, x, n, neg, t);
    else
        rdn_raise(k->c, "E0401", x->pos, NULL, "expected %s, found a number", rdn_tn(k, t));
    x->t = t;
    x->co = NULL;
}

rdn_ty rdn_ck_fit_default(struct rdn_ck *k, struct rdn_expr *x, rdn_ty want) {
    const bool frac = rdn_ck_frac(x);
    if (!want || !rdn_is(want, RDN_NUM_KINDS) || (want->kind == RDN_K_INT && frac))
        want = frac ? k->F : k->I;
    rdn_ck_fit(k, x, want);
    return x->t;
}

/* The literal keeps the decimals it is written with: "whole" ones are int. */
static void fit_own(struct rdn_ck *k, struct rdn_expr *x) {
    bool neg;
    const struct rdn_num *n = rdn_num_of(x, &neg);
    if (rdn_num_decimals(n) > 9)
        rdn_raise(k->c, "E0406", x->pos, NULL, "more than 9 decimals");
    rdn_ck_fit(k, x, n->frac ? rdn_type_dec(k->c->types, rdn_num_decimals(n)) : k->I);
}

rdn_ty rdn_ck_beside(struct rdn_ck *k, struct rdn_expr *x, rdn_ty t, uint8_t op) {
    const bool scales = op == RDN_B_MUL || op == RDN_B_DIV;
    if (t->kind == RDN_K_ARR)
        t = rdn_type_simple(k->c->types, (enum rdn_kind)t->elem);
    if (t->kind == RDN_K_DEC && scales)
        fit_own(k, x);
    else if (rdn_is(t, RDN_NUM_KINDS))
        rdn_ck_fit(k, x, t);
    else if (t->kind == RDN_K_DUR && scales)
        rdn_ck_fit(k, x, k->I);
    else
        rdn_ck_fit_default(k, x, NULL);
    return x->t;
}

int64_t rdn_ck_litint(struct rdn_ck *k, struct rdn_expr *x, int64_t lo, int64_t hi) {
    rdn_i128 v;
    if (!rdn_is_num(x) || !rdn_ck_whole(x, &v))
        rdn_raise(k->c, "E0410", x->pos, NULL, "a whole number literal is expected");
    if (v < lo || v > hi)
        rdn_raise(k->c, "E0410", x->pos, NULL, "must be between %lld and %lld", (long long)lo, (long long)hi);
    rdn_ck_fit(k, x, k->I);
    return (int64_t)v;
}
