/* SPDX-License-Identifier: Apache-2.0
 * op.h: what the files that implement operations share. Private to ir/.
 *
 * op.c      rdn_op_apply: undefined operands, structure, logic, comparison, integer and float arithmetic
 * op_num.c  float functions, conversions, bits      op_dec.c   decimals      op_text.c  text
 * op_time.c time fields                             op_vec.c   arrays, random numbers
 *
 * Every function here is total, allocates nothing but scratch, and writes x->ret last, so that ret may be an operand. */
#ifndef RDN_OP_H
#define RDN_OP_H
#include "ir/ir.h"

struct rdn_opx {                                         /* one application */
    const struct rdn_ir *ir;
    const struct rdn_node *n;
    rdn_id id;
    uint32_t na;
    const struct rdn_cell *const *a;
    struct rdn_scratch *sc;
    struct rdn_cell *ret;
};

static inline void rdn_ret_undef(const struct rdn_opx *x, enum rdn_cause cause) {
    x->ret->cause = (uint8_t)cause;
    x->ret->span = x->n->span;
}
static inline void rdn_ret_i(const struct rdn_opx *x, int64_t v) { x->ret->i = v; x->ret->cause = RDN_DEFINED; }
static inline void rdn_ret_f(const struct rdn_opx *x, double v) { x->ret->f = v; x->ret->cause = RDN_DEFINED; }
static inline void rdn_ret_d(const struct rdn_opx *x, rdn_i128 v) { x->ret->d = v; x->ret->cause = RDN_DEFINED; }
static inline void rdn_ret_t(const struct rdn_opx *x, const char *p, size_t len) {
    x->ret->t.p = p;
    x->ret->t.len = (uint32_t)len;
    x->ret->cause = RDN_DEFINED;
}
/* Value, cause and place; not the stamp, which belongs to the reader. */
static inline void rdn_ret_cell(struct rdn_cell *ret, const struct rdn_cell *c) {
    rdn_i128 v = c->d;
    ret->d = v;
    ret->cause = c->cause;
    ret->span = c->span;
}

/* The node of operand i of an operation with a fixed number of operands, or of any n-ary one. */
static inline rdn_id rdn_arg_id(const struct rdn_opx *x, uint32_t i) {
    if (rdn_op_arity((enum rdn_op)x->n->op) == RDN_NARY)
        return x->ir->args.v[x->n->a + i];
    return i == 0 ? x->n->a : i == 1 ? x->n->b : x->n->c;
}
static inline const struct rdn_node *rdn_node_a(const struct rdn_opx *x) { return &x->ir->nodes.v[x->n->a]; }
static inline const struct rdn_node *rdn_node_b(const struct rdn_opx *x) { return &x->ir->nodes.v[x->n->b]; }

static inline bool rdn_is_dec(unsigned type) { return type == RDN_TY_D64 || type == RDN_TY_W128; }
/* A decimal or an int as a mantissa; its scale is the node's, which is 0 for an int. */
static inline rdn_i128 rdn_mantissa(const struct rdn_node *n, const struct rdn_cell *c) {
    return rdn_is_dec(n->type) ? c->d : (rdn_i128)c->i;
}
static inline unsigned rdn_scale_of(const struct rdn_node *n) { return rdn_is_dec(n->type) ? n->scale : 0; }
static inline int64_t rdn_floor_div(int64_t a, int64_t b)                /* b > 0 */ {
    return a / b - (a % b < 0);
}

void rdn_op_dec_arith(const struct rdn_opx *);           /* add sub mul mod of W128 */
void rdn_op_dec_unary(const struct rdn_opx *);           /* neg abs */
void rdn_op_ratio(const struct rdn_opx *);
void rdn_op_rdiv(const struct rdn_opx *);
void rdn_op_rescale(const struct rdn_opx *);
void rdn_op_narrow(const struct rdn_opx *);
void rdn_op_d2i(const struct rdn_opx *);
void rdn_op_f2d(const struct rdn_opx *);

void rdn_op_float1(const struct rdn_opx *);              /* floor ... tanh, of one float */
void rdn_op_float2(const struct rdn_opx *);              /* pow atan2 hypot */
void rdn_op_distkm(const struct rdn_opx *);
void rdn_op_f2i(const struct rdn_opx *);
void rdn_op_shift(const struct rdn_opx *);
void rdn_op_bucket(const struct rdn_opx *);

void rdn_op_parse(const struct rdn_opx *);               /* str2i str2f str2t str2u */
void rdn_op_name(const struct rdn_opx *);                /* symtext symfind enumtext */
void rdn_op_totext(const struct rdn_opx *);
void rdn_op_concat(const struct rdn_opx *);
void rdn_op_search(const struct rdn_opx *);              /* starts ends contains find */
void rdn_op_recase(const struct rdn_opx *);              /* lower upper */
void rdn_op_trim(const struct rdn_opx *);

void rdn_op_time(const struct rdn_opx *);                /* hour ... date */

void rdn_op_elem(const struct rdn_opx *);                /* judges its own operands: the first index before the second */
void rdn_op_vec(const struct rdn_opx *);
void rdn_op_elementwise(const struct rdn_opx *);         /* vadd vsub vmul vdiv vneg */
void rdn_op_matvec(const struct rdn_opx *);              /* dot matvec */
void rdn_op_vreduce(const struct rdn_opx *);             /* vsum vmin vmax */
void rdn_op_random(const struct rdn_opx *);              /* normal uniform */
#endif
