/* SPDX-License-Identifier: Apache-2.0
 * ast.c: interned names and the exact values of number literals. */
#include "dsl/pass.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void rdn_pass_init(struct rdn_pass *c, struct rdn_arena *arena, struct rdn_arena *work, struct rdn_types *types, struct rdn_syms *syms,
                   const char *src, uint32_t len) {
    *c = (struct rdn_pass){ .arena = arena, .work = work, .types = types, .syms = syms, .src = src, .len = len };
    rdn_map_init(&c->names, work);
}

rdn_name rdn_ast_name(struct rdn_pass *c, const char *s, size_t n) {
    uint32_t at = rdn_map_get(&c->names, s, n);
    if (at != RDN_MAP_NONE)
        return c->name_list.v[at];
    rdn_name name = rdn_arena_strndup(c->arena, s, n);
    rdn_map_put(&c->names, name, n, c->name_list.n);
    rdn_push_val(c->work, &c->name_list, name);
    return name;
}

bool rdn_is_num(const struct rdn_expr *x) {
    while (x->kind == RDN_X_UN && x->op == RDN_U_NEG)
        x = x->bin.a;
    return x->kind == RDN_X_NUM;
}

const struct rdn_num *rdn_num_of(const struct rdn_expr *x, bool *ret_neg) {
    bool neg = false;
    for (; x->kind == RDN_X_UN; x = x->bin.a)
        neg = !neg;
    *ret_neg = neg;
    return &x->num;
}

unsigned rdn_num_decimals(const struct rdn_num *n) { return n->sc > 0 ? (unsigned)n->sc : 0; }

/* digits * 10^(scale - sc) below 2^127, or exactly 2^127 when negative. */
bool rdn_num_i128(const struct rdn_num *n, bool neg, unsigned scale, rdn_i128 *ret) {
    rdn_u128 m = 0, limit = (rdn_u128)RDN_I128_MAX + neg;
    if (n->ndigits == 0) {
        *ret = 0;
        return true;
    }
    int64_t zeros = (int64_t)scale - n->sc;
    if (zeros < 0 || zeros + n->ndigits > 39)
        return false;
    for (int64_t i = 0; i < n->ndigits + zeros; i++) {
        unsigned digit = i < n->ndigits ? (unsigned)(n->digits[i] - '0') : 0;
        if (__builtin_mul_overflow(m, (rdn_u128)10, &m) || __builtin_add_overflow(m, (rdn_u128)digit, &m) || m > limit)
            return false;
    }
    *ret = neg ? (rdn_i128)(~m + 1) : (rdn_i128)m;
    return true;
}

/* Nearest, ties to even: the reader of decimal text is correctly rounded at any length. */
double rdn_num_f64(const struct rdn_num *n, bool neg) {
    char text[128];
    double v = 0;
    if (n->ndigits > 0) {
        int len = snprintf(text, sizeof text, "%.*se%d", (int)n->ndigits, n->digits, -n->sc);
        if (!rdn_read_f64(text, (size_t)len, &v))
            v = INFINITY;
    }
    return neg ? -v : v;
}
