/* SPDX-License-Identifier: Apache-2.0
 * op_dec.c: decimals (LANGUAGE.md 7.2). Every value has 128 bits; operands are aligned to the result's scale first, and an
 * aligned operand that does not fit is an overflow, the left one before the right. */
#include "ir/op.h"

static bool aligned(const struct rdn_opx *x, const struct rdn_node *n, const struct rdn_cell *c, rdn_i128 *ret) {
    *ret = rdn_mantissa(n, c);
    unsigned from = rdn_scale_of(n);
    return from == x->n->scale || rdn_dec_rescale(*ret, from, x->n->scale, ret);
}

static void ret_checked(const struct rdn_opx *x, bool over, rdn_i128 v) {
    if (over)
        rdn_ret_undef(x, RDN_CAUSE_OVERFLOW);
    else
        rdn_ret_d(x, v);
}

static void dec_mul(const struct rdn_opx *x) {
    rdn_i128 r;
    bool over = __builtin_mul_overflow(rdn_mantissa(rdn_node_a(x), x->a[0]), rdn_mantissa(rdn_node_b(x), x->a[1]), &r);
    ret_checked(x, over, r);
}

/* Both operands have one scale: the mantissas' remainder, with the sign of the dividend. */
static void dec_mod(const struct rdn_opx *x) {
    rdn_i128 a = rdn_mantissa(rdn_node_a(x), x->a[0]), b = rdn_mantissa(rdn_node_b(x), x->a[1]);
    if (b == 0)
        rdn_ret_undef(x, RDN_CAUSE_DIV0);
    else
        rdn_ret_d(x, b == -1 ? 0 : a % b);               /* the smallest mantissa by -1 has no quotient */
}

void rdn_op_dec_arith(const struct rdn_opx *x) {
    rdn_i128 a, b, r;
    if (x->n->op == RDN_OP_MUL) {
        dec_mul(x);
        return;
    }
    if (x->n->op == RDN_OP_MOD) {
        dec_mod(x);
        return;
    }
    if (!aligned(x, rdn_node_a(x), x->a[0], &a) || !aligned(x, rdn_node_b(x), x->a[1], &b)) {
        rdn_ret_undef(x, RDN_CAUSE_OVERFLOW);
        return;
    }
    bool over = x->n->op == RDN_OP_ADD ? __builtin_add_overflow(a, b, &r) : __builtin_sub_overflow(a, b, &r);
    ret_checked(x, over, r);
}

void rdn_op_dec_unary(const struct rdn_opx *x) {
    rdn_i128 a = rdn_mantissa(rdn_node_a(x), x->a[0]);
    bool flip = x->n->op == RDN_OP_NEG || a < 0;
    ret_checked(x, flip && a == RDN_I128_MIN, flip && a != RDN_I128_MIN ? -a : a);
}

void rdn_op_ratio(const struct rdn_opx *x) {
    double a = rdn_dec_to_f64(rdn_mantissa(rdn_node_a(x), x->a[0]), rdn_scale_of(rdn_node_a(x)));
    double b = rdn_dec_to_f64(rdn_mantissa(rdn_node_b(x), x->a[1]), rdn_scale_of(rdn_node_b(x)));
    rdn_ret_f(x, a / b);
}

void rdn_op_rdiv(const struct rdn_opx *x) {
    const struct rdn_node *na = rdn_node_a(x), *nb = rdn_node_b(x);
    rdn_i128 r = 0;
    int cause = rdn_dec_div(rdn_mantissa(na, x->a[0]), rdn_scale_of(na), rdn_mantissa(nb, x->a[1]), rdn_scale_of(nb), x->n->scale, &r);
    if (cause)
        rdn_ret_undef(x, (enum rdn_cause)cause);
    else
        rdn_ret_d(x, r);
}

void rdn_op_rescale(const struct rdn_opx *x) {
    rdn_i128 r = 0;
    bool fits = aligned(x, rdn_node_a(x), x->a[0], &r);
    ret_checked(x, !fits, r);
}

void rdn_op_narrow(const struct rdn_opx *x) {
    rdn_i128 a = rdn_mantissa(rdn_node_a(x), x->a[0]);
    ret_checked(x, !rdn_fits_i64(a), a);
}

void rdn_op_d2i(const struct rdn_opx *x) {
    rdn_i128 a = rdn_mantissa(rdn_node_a(x), x->a[0]) / rdn_pow10(rdn_scale_of(rdn_node_a(x)));
    if (rdn_fits_i64(a))
        rdn_ret_i(x, (int64_t)a);
    else
        rdn_ret_undef(x, RDN_CAUSE_RANGE);
}

void rdn_op_f2d(const struct rdn_opx *x) {
    rdn_i128 r = 0;
    int cause = rdn_f64_to_dec(x->a[0]->f, x->n->scale, &r);
    if (cause)
        rdn_ret_undef(x, (enum rdn_cause)cause);
    else
        rdn_ret_d(x, r);
}
