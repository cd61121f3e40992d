/* SPDX-License-Identifier: Apache-2.0
 * check_expr.c: types of expressions (LANGUAGE.md 5 to 7), operands left to right, then the operator.
 *
 * rdn_ck_type   what an expression is;  rdn_ck_want   what a place asks for: sets co when a decimal has to be rescaled
 *
 * Both may be called again on one expression. Only a typing that depends on the wanted type (sens) is repeated, and such
 * dependence ends at every operator and most functions, so the work stays linear. */
#include "dsl/check.h"

#include <string.h>

const char *rdn_ck_hint(struct rdn_ck *k, rdn_ty wanted, rdn_ty found) {
    const unsigned s = RDN_BIT(wanted->kind) | RDN_BIT(found->kind);
    if (s == (RDN_BIT(RDN_K_FLOAT) | RDN_BIT(RDN_K_DEC)))
        return "convert: float(x) or dec(x, scale)";
    if (s == (RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_FLOAT)))
        return "convert: float(x) or int(x)";
    if (s == (RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC)))
        return "convert: dec(x, scale) or int(x)";
    if (s == RDN_BIT(RDN_K_DEC))
        return rdn_arena_printf(k->c->arena, "round explicitly: round(x, %u)", wanted->scale);
    return NULL;
}

__attribute__((noreturn)) static void mismatch(struct rdn_ck *k, const struct rdn_expr *x, struct rdn_what what, rdn_ty wanted, rdn_ty found) {
    rdn_raise(k->c, "E0401", x->pos, rdn_ck_hint(k, wanted, found), "%s%s%s: expected %s, found %s", what.noun, what.name ? " " : "",
              what.name ? what.name : "", rdn_tn(k, wanted), rdn_tn(k, found));
}

/* ---- places ---- */
static void member(struct rdn_ck *k, const struct rdn_expr *x, rdn_ty t) {
    const char *s = x->lit.v.t.p;
    const uint32_t n = x->lit.v.t.len;
    for (unsigned i = 0; i < t->n; i++)
        if (strlen(t->members[i]) == n && !memcmp(t->members[i], s, n))
            return;
    rdn_near_begin(k);
    for (unsigned i = 0; i < t->n; i++)
        rdn_near_add(k, t->members[i]);
    char *word = rdn_arena_strndup(k->c->arena, s, n < 40 ? n : 40);
    rdn_raise(k->c, "E0403", x->pos, rdn_near_end(k, word), "\"%s\" is not a member of %.200s", word, rdn_tn(k, t));
}

/* A value of a text type in a place of another; false: does not fit. Only literals become sym, enum or a str of their length. */
static bool text_fits(struct rdn_ck *k, const struct rdn_expr *x, rdn_ty t, rdn_ty found) {
    const bool lit = x->kind == RDN_X_LIT;
    const uint32_t n = lit ? x->lit.v.t.len : 0;
    if (lit && (t->kind == RDN_K_SYM || t->kind == RDN_K_STR) && memchr(x->lit.v.t.p, 0, n))
        rdn_raise(k->c, "E0420", x->pos, NULL, "a %s cannot hold U+0000", rdn_tn(k, t));
    switch (t->kind) {
    case RDN_K_TEXT: return true;
    case RDN_K_SYM:
        if (lit && n > RDN_LIM_SYM_BYTES)
            rdn_raise(k->c, "E0420", x->pos, NULL, "text is longer than %d bytes", RDN_LIM_SYM_BYTES);
        return lit;
    case RDN_K_STR:
        if (lit && n > t->n)
            rdn_raise(k->c, "E0420", x->pos, NULL, "text does not fit %s", rdn_tn(k, t));
        return lit || (found->kind == RDN_K_STR && found->n <= t->n);
    case RDN_K_ENUM:
        if (lit)
            member(k, x, t);
        return lit;
    default: return false;
    }
}

/* What kernels do not have: an error in one, and a fn that has it is for hosts. */
static void kernel_kind(struct rdn_ck *k, const struct rdn_expr *x, rdn_ty t, struct rdn_ctx *c) {
    if (rdn_is(t, RDN_KERNEL_KINDS))
        return;
    c->deps->host = true;
    if (c->kind == RDN_CTX_KERNEL)
        rdn_raise(k->c, "E0313", x->pos, NULL, "kernels do not have %s", rdn_tn(k, t));
}

rdn_ty rdn_ck_want(struct rdn_ck *k, struct rdn_expr *x, rdn_ty t, struct rdn_ctx *c, struct rdn_what what) {
    if (rdn_is_num(x)) {
        rdn_ck_fit(k, x, t);
        kernel_kind(k, x, t, c);
        return t;
    }
    rdn_ty found = rdn_ck_type(k, x, c, t);
    if (found == t)
        return t;
    if (t->kind == RDN_K_DEC && found->kind == RDN_K_DEC && found->scale < t->scale) {
        x->co = t;
        return t;
    }
    if (!rdn_type_is_text(t) || !rdn_type_is_text(found) || !text_fits(k, x, t, found))
        mismatch(k, x, what, t, found);
    return t;
}

/* Keys and list members: a text that is no symbol yet is simply not there. */
void rdn_ck_want_key(struct rdn_ck *k, struct rdn_expr *x, rdn_ty t, struct rdn_ctx *c, struct rdn_what what) {
    const bool chars = t->kind == RDN_K_SYM || t->kind == RDN_K_STR;
    if (!chars || rdn_is_num(x) || !rdn_is(rdn_ck_type(k, x, c, t), RDN_CHAR_KINDS))
        rdn_ck_want(k, x, t, c, what);
}

/* ---- branches ---- */
static rdn_ty join_types(struct rdn_ck *k, struct rdn_expr *x, struct rdn_expr *p, struct rdn_expr *q, struct rdn_ctx *c, const char *what) {
    rdn_ty a = p->t, b = q->t;
    if (a->kind == RDN_K_DEC && b->kind == RDN_K_DEC) {
        rdn_ty t = a->scale > b->scale ? a : b;
        p->co = a != t ? t : NULL;
        q->co = b != t ? t : NULL;
        return t;
    }
    const unsigned places = RDN_BIT(RDN_K_SYM) | RDN_BIT(RDN_K_STR) | RDN_BIT(RDN_K_ENUM);
    if (p->kind == RDN_X_LIT && a == k->X && rdn_is(b, places))
        return rdn_ck_want(k, p, b, c, RDN_WHAT(what, NULL));
    if (q->kind == RDN_X_LIT && b == k->X && rdn_is(a, places))
        return rdn_ck_want(k, q, a, c, RDN_WHAT(what, NULL));
    if (rdn_is(a, RDN_CHAR_KINDS) && rdn_is(b, RDN_CHAR_KINDS))
        return k->X;
    rdn_raise(k->c, "E0408", x->pos, rdn_ck_hint(k, a, b), "%s have different types: %s and %s", what, rdn_tn(k, a), rdn_tn(k, b));
}

static rdn_ty join_literals(struct rdn_ck *k, struct rdn_expr *p, struct rdn_expr *q, rdn_ty want) {
    const bool frac = rdn_ck_frac(p) || rdn_ck_frac(q);
    if (!want || !rdn_is(want, RDN_NUM_KINDS) || (want->kind == RDN_K_INT && frac))
        want = frac ? k->F : k->I;
    rdn_ck_fit(k, p, want);
    rdn_ck_fit(k, q, want);
    return want;
}

rdn_ty rdn_ck_join(struct rdn_ck *k, struct rdn_expr *x, struct rdn_expr *p, struct rdn_expr *q, struct rdn_ctx *c, rdn_ty want,
                   const char *what) {
    const bool np = rdn_is_num(p), nq = rdn_is_num(q);
    if (np && nq) {
        x->sens = true;
        return join_literals(k, p, q, want);
    }
    if (np || nq) {
        struct rdn_expr *lit = np ? p : q, *other = np ? q : p;
        rdn_ty t = rdn_ck_type(k, other, c, want);
        x->sens = other->sens;
        rdn_ck_fit(k, lit, t);
        return t;
    }
    rdn_ty a = rdn_ck_type(k, p, c, want), b = rdn_ck_type(k, q, c, want);
    x->sens = p->sens || q->sens;
    return a == b ? a : join_types(k, x, p, q, c, what);
}

/* ---- kinds of expressions ---- */
static rdn_ty type_un(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    struct rdn_expr *a = x->bin.a;
    if (x->op == RDN_U_NOT) {
        rdn_ck_want(k, a, k->B, c, RDN_WHAT("operand of 'not'", NULL));
        return k->B;
    }
    rdn_ty t = rdn_ck_type(k, a, c, want);
    x->sens = a->sens;
    if (!rdn_is(t, RDN_NUM_KINDS | RDN_BIT(RDN_K_DUR) | RDN_BIT(RDN_K_ARR)))
        rdn_raise(k->c, "E0402", x->pos, NULL, "%s cannot be negated", rdn_tn(k, t));
    return t;
}

static struct rdn_d_table *table_named(const struct rdn_ck *k, const struct rdn_expr *a) {
    return a->kind == RDN_X_NAME ? rdn_ck_find(k, a->name.v, RDN_D_TABLE) : NULL;
}

static rdn_ty table_cell(struct rdn_ck *k, struct rdn_expr *x, struct rdn_d_table *tb, struct rdn_ctx *c) {
    const struct rdn_expr *a = x->dot.a;
    if (c->kind == RDN_CTX_CONST)
        rdn_raise(k->c, "E0416", x->pos, NULL, "a constant is expected here");
    if (c->kind == RDN_CTX_KERNEL)
        rdn_raise(k->c, "E0313", x->pos, NULL, "tables are not available in a kernel");
    c->deps->host = true;
    if (a->idx.n != tb->keys.n)
        rdn_raise(k->c, "E0409", a->pos, NULL, "table '%s' has %u key%s", tb->d.name, tb->keys.n, tb->keys.n == 1 ? "" : "s");
    for (uint32_t i = 0; i < a->idx.n; i++)
        rdn_ck_want_key(k, a->idx.ix[i], tb->keys.v[i].type, c, RDN_WHAT("key", tb->keys.v[i].name));
    for (uint32_t i = 0; i < tb->cols.n; i++)
        if (tb->cols.v[i].name == x->dot.f) {
            x->index = i;
            x->tb = tb;
            tb->d.used = true;
            return tb->cols.v[i].type;
        }
    rdn_near_begin(k);
    for (uint32_t i = 0; i < tb->cols.n; i++)
        rdn_near_add(k, tb->cols.v[i].name);
    rdn_raise(k->c, "E0307", x->dot.fpos, rdn_near_end(k, x->dot.f), "table '%s' has no column '%s'", tb->d.name, x->dot.f);
}

static rdn_ty type_dot(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    struct rdn_expr *a = x->dot.a;
    struct rdn_d_table *tb = a->kind == RDN_X_IDX ? table_named(k, a->idx.a) : NULL;
    uint32_t i;
    if (tb && !rdn_ck_local(k, c, tb->d.name, &i))
        return table_cell(k, x, tb, c);
    if ((tb = table_named(k, a)))
        rdn_raise(k->c, "E0409", a->pos, rdn_arena_printf(k->c->arena, "write %s[key].%s", tb->d.name, x->dot.f), "table '%s' needs a key",
                  tb->d.name);
    if (a->kind == RDN_X_NAME)
        rdn_ck_type(k, a, c, NULL);
    rdn_raise(k->c, "E0314", x->pos, NULL, "only table rows have columns");
}

static bool index_inside(const struct rdn_expr *x, unsigned n) {
    rdn_i128 v;
    return rdn_ck_whole(x, &v) && v >= 0 && v < n;
}

static rdn_ty type_idx(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    struct rdn_expr *a = x->idx.a;
    struct rdn_d_window *w = rdn_ck_window_name(k, c, a);
    if (w)
        return rdn_ck_window_at(k, x, w, c);
    if (table_named(k, a))
        rdn_raise(k->c, "E0314", x->pos, rdn_arena_printf(k->c->arena, "write %s[key].column", a->name.v), "a table row is not a value");
    rdn_ty t = rdn_ck_type(k, a, c, NULL);
    if (t->kind != RDN_K_ARR)
        rdn_raise(k->c, "E0402", x->pos, NULL, "%s cannot be indexed", rdn_tn(k, t));
    if (x->idx.n != t->ndim)
        rdn_raise(k->c, "E0414", x->pos, NULL, "%s has %u dimension%s", rdn_tn(k, t), t->ndim, t->ndim == 1 ? "" : "s");
    for (uint32_t i = 0; i < x->idx.n; i++) {
        struct rdn_expr *ix = x->idx.ix[i];
        rdn_ck_want(k, ix, k->I, c, RDN_WHAT("the index", NULL));
        if (rdn_is_num(ix) && !index_inside(ix, t->dim[i]))
            rdn_raise(k->c, "E0414", ix->pos, NULL, "index is outside 0..%u", t->dim[i] - 1u);
    }
    return rdn_type_simple(k->c->types, (enum rdn_kind)t->elem);
}

static rdn_ty type_of(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    switch ((enum rdn_x_kind)x->kind) {
    case RDN_X_NUM: return rdn_ck_fit_default(k, x, want);
    case RDN_X_LIT: return x->lit.ty;
    case RDN_X_NAME: return rdn_ck_name(k, x, c);
    case RDN_X_UN: return type_un(k, x, c, want);
    case RDN_X_BIN: return rdn_ck_bin(k, x, c, want);
    case RDN_X_IF:
        rdn_ck_want(k, x->cond.c, k->B, c, RDN_WHAT("the condition", NULL));
        return rdn_ck_join(k, x, x->cond.x, x->cond.y, c, want, "branches");
    case RDN_X_CALL: return rdn_ck_call(k, x, c, want);
    case RDN_X_DOT: return type_dot(k, x, c);
    case RDN_X_IDX: return type_idx(k, x, c);
    case RDN_X_SET: case RDN_X_RANGE: rdn_raise(k->c, "E0203", x->pos, NULL, "a list or range may only follow in");
    case RDN_X_NONE: break;
    }
    rdn_raise(k->c, "E0407", x->pos, "use defined(x) or x ?? default", "there is no null");
}

rdn_ty rdn_ck_type(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    x->co = NULL;
    if (rdn_is_num(x)) {
        x->sens = true;
        return rdn_ck_fit_default(k, x, want);
    }
    if (x->t && (!x->sens || x->asked == want))
        return x->t;
    x->sens = false;
    x->t = type_of(k, x, c, want);
    x->asked = want;
    kernel_kind(k, x, x->t, c);
    return x->t;
}
