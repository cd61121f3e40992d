/* SPDX-License-Identifier: Apache-2.0
 * walk.c: the operands of a checked expression that are expressions of their own, in order of the text.
 *
 * A number literal has none, whatever its signs. The table of t[k].c and the window of w[k] are names, not operands. */
#include "dsl/check.h"

static struct rdn_kids few(uint32_t n, struct rdn_expr *a, struct rdn_expr *b, struct rdn_expr *c) {
    return (struct rdn_kids){ .few = { a, b, c }, .n = n, .nfew = n };
}

static struct rdn_kids many(struct rdn_expr *const *v, uint32_t n) { return (struct rdn_kids){ .v = v, .n = n }; }

struct rdn_kids rdn_expr_kids(const struct rdn_expr *x) {
    struct rdn_kids k;
    switch ((enum rdn_x_kind)x->kind) {
    case RDN_X_NUM: case RDN_X_LIT: case RDN_X_NAME: case RDN_X_NONE: break;
    case RDN_X_UN:
        if (!rdn_is_num(x))
            return few(1, x->bin.a, NULL, NULL);
        break;
    case RDN_X_BIN: case RDN_X_RANGE: return few(2, x->bin.a, x->bin.b, NULL);
    case RDN_X_IF: return few(3, x->cond.c, x->cond.x, x->cond.y);
    case RDN_X_CALL: case RDN_X_SET: return many(x->call.xs, x->call.n);
    case RDN_X_DOT: return many(x->dot.a->idx.ix, x->dot.a->idx.n);
    case RDN_X_IDX:
        k = many(x->idx.ix, x->idx.n);
        if (!x->w) {
            k.few[0] = x->idx.a;
            k.nfew = 1;
            k.n++;
        }
        return k;
    }
    return few(0, NULL, NULL, NULL);
}

uint64_t rdn_expr_size(const struct rdn_expr *x) {
    uint64_t n = 1 + (x->kind == RDN_X_CALL && x->fn ? x->fn->size : 0);
    const struct rdn_kids kids = rdn_expr_kids(x);
    for (uint32_t i = 0; i < kids.n; i++)
        n += rdn_expr_size(rdn_kid(&kids, i));
    return n < 1000000000 ? n : 1000000000;
}
