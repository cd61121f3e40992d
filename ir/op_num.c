/* SPDX-License-Identifier: Apache-2.0
 * op_num.c: functions of floats, conversions from float, shifts and buckets. What the C library computes (log2 ... hypot,
 * dist_km) may differ by 2 ulp between hosts; everything else is exact to the bit. */
#include "ir/op.h"
#include "ir/own.h"
#include <math.h>

void rdn_op_float1(const struct rdn_opx *x) {
    double a = x->a[0]->f, r = NAN;
    switch (x->n->op) {
    case RDN_OP_FLOOR: r = floor(a); break;
    case RDN_OP_CEIL: r = ceil(a); break;
    case RDN_OP_TRUNC: r = trunc(a); break;
    case RDN_OP_ROUND: r = round(a); break;
    case RDN_OP_SQRT: r = sqrt(a); break;
    case RDN_OP_EXP: r = rdn_own()->exp(a); break;
    case RDN_OP_LOG: r = rdn_own()->log(a); break;
    case RDN_OP_NORMCDF: r = rdn_own()->normcdf(a); break;
    case RDN_OP_INVNORM: r = rdn_own()->invnorm(a); break;
    case RDN_OP_LOG2: r = log2(a); break;
    case RDN_OP_LOG10: r = log10(a); break;
    case RDN_OP_SIN: r = sin(a); break;
    case RDN_OP_COS: r = cos(a); break;
    case RDN_OP_TAN: r = tan(a); break;
    case RDN_OP_ASIN: r = asin(a); break;
    case RDN_OP_ACOS: r = acos(a); break;
    case RDN_OP_ATAN: r = atan(a); break;
    case RDN_OP_SINH: r = sinh(a); break;
    case RDN_OP_COSH: r = cosh(a); break;
    case RDN_OP_TANH: r = tanh(a); break;
    }
    rdn_ret_f(x, r);
}

void rdn_op_float2(const struct rdn_opx *x) {
    double a = x->a[0]->f, b = x->a[1]->f;
    rdn_ret_f(x, x->n->op == RDN_OP_POW ? pow(a, b) : x->n->op == RDN_OP_ATAN2 ? atan2(a, b) : hypot(a, b));
}

/* Haversine as chapter 8 spells it, operation by operation. */
void rdn_op_distkm(const struct rdn_opx *x) {
    const double rad = 0.017453292519943295;
    double la1 = x->a[0]->f * rad, lo1 = x->a[1]->f * rad, la2 = x->a[2]->f * rad, lo2 = x->a[3]->f * rad;
    double s1 = sin((la2 - la1) * 0.5), s2 = sin((lo2 - lo1) * 0.5);
    double h = s1 * s1 + (cos(la1) * cos(la2)) * (s2 * s2);
    double root = sqrt(h);
    rdn_ret_f(x, root != root ? NAN : 12742.0176 * asin(root < 1.0 ? root : 1.0));
}

void rdn_op_f2i(const struct rdn_opx *x) {
    double a = x->a[0]->f;
    if (a != a)
        rdn_ret_undef(x, RDN_CAUSE_NAN);
    else if (!(a >= -0x1p63 && a < 0x1p63))
        rdn_ret_undef(x, RDN_CAUSE_RANGE);
    else
        rdn_ret_i(x, (int64_t)a);
}

void rdn_op_shift(const struct rdn_opx *x) {
    uint64_t a = (uint64_t)x->a[0]->i;
    int64_t n = x->a[1]->i;
    if (n < 0)
        rdn_ret_undef(x, RDN_CAUSE_RANGE);
    else if (n >= 64)
        rdn_ret_i(x, 0);
    else
        rdn_ret_i(x, (int64_t)(x->n->op == RDN_OP_SHL ? a << n : a >> n));
}

void rdn_op_bucket(const struct rdn_opx *x) {
    uint64_t h = rdn_value_hash(x->ir, rdn_ir_ltype(x->ir, x->n->a), x->a[0]);
    rdn_ret_i(x, (int64_t)(uint64_t)((rdn_u128)h * x->n->aux >> 64));
}
