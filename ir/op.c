/* SPDX-License-Identifier: Apache-2.0
 * op.c: the value of one node from the values of its operands (LANGUAGE.md chapters 6 to 8): the meaning that every other
 * executor must match.
 *
 * rdn_op_apply  [any] [hot]  one switch; 2 to 10 ns for comparisons and arithmetic, no allocation, no failure */
#include "ir/op.h"
#include <math.h>
#include <string.h>

void *rdn_scratch_alloc(struct rdn_scratch *s, size_t size) {
    size_t at = (s->used + 15) & ~(size_t)15;
    if (at > s->size || s->size - at < size)
        return NULL;
    s->used = at + size;
    return s->base + at;
}

/* ---- comparison ---- */

enum { LESS = -1, EQUAL = 0, GREATER = 1, UNORDERED = 2 };

static int order_i64(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int order_str(const struct rdn_cell *a, const struct rdn_cell *b) {
    uint32_t n = a->t.len < b->t.len ? a->t.len : b->t.len;
    int c = n ? memcmp(a->t.p, b->t.p, n) : 0;
    return c ? (c > 0) - (c < 0) : order_i64(a->t.len, b->t.len);
}

static int order_dec(const struct rdn_node *na, const struct rdn_cell *a, const struct rdn_node *nb, const struct rdn_cell *b) {
    rdn_i128 p = rdn_mantissa(na, a), q = rdn_mantissa(nb, b);
    unsigned sp = rdn_scale_of(na), sq = rdn_scale_of(nb);
    return sp == sq ? (p > q) - (p < q) : rdn_dec_cmp(p, sp, q, sq);
}

static int order(const struct rdn_node *na, const struct rdn_cell *a, const struct rdn_node *nb, const struct rdn_cell *b) {
    switch ((enum rdn_cell_type)na->type) {
    case RDN_TY_F64:
        return a->f < b->f ? LESS : a->f > b->f ? GREATER : a->f == b->f ? EQUAL : UNORDERED;
    case RDN_TY_I64:
        return nb->type == RDN_TY_I64 ? order_i64(a->i, b->i) : order_dec(na, a, nb, b);
    case RDN_TY_D64: case RDN_TY_W128:
        return order_dec(na, a, nb, b);
    case RDN_TY_STR:
        return order_str(a, b);
    case RDN_TY_B1:
        return order_i64(a->i, b->i);
    case RDN_TY_VEC: case RDN_TY_IVEC: case RDN_TY_ROW: case RDN_TY_COUNT:
        break;
    }
    return EQUAL;                                        /* arrays and rows are not compared; verify refuses it */
}

static void compare(const struct rdn_opx *x) {
    int c = order(rdn_node_a(x), x->a[0], rdn_node_b(x), x->a[1]);
    if (c == UNORDERED) {
        rdn_ret_undef(x, RDN_CAUSE_NAN);
        return;
    }
    unsigned op = x->n->op;
    rdn_ret_i(x, op == RDN_OP_EQ ? c == 0 : op == RDN_OP_NE ? c != 0 : op == RDN_OP_LT ? c < 0
                 : op == RDN_OP_LE ? c <= 0 : op == RDN_OP_GT ? c > 0 : c >= 0);
}

/* ---- logic (chapter 6): operands may be undefined ---- */

static void and_or(const struct rdn_opx *x, int64_t stop) {
    const struct rdn_cell *a = x->a[0], *b = x->a[1];
    if (!a->cause && a->i == stop)
        rdn_ret_i(x, stop);
    else if (!b->cause && b->i == stop)
        rdn_ret_i(x, stop);
    else
        rdn_ret_cell(x->ret, a->cause ? a : b);
}

static bool has_value(const struct rdn_node *n, const struct rdn_cell *c) {
    return !c->cause && !(n->type == RDN_TY_F64 && c->f != c->f);
}

static void select_arm(const struct rdn_opx *x) {
    const struct rdn_cell *c = x->a[0];
    rdn_ret_cell(x->ret, c->cause ? c : c->i ? x->a[1] : x->a[2]);
}

static void in_set(const struct rdn_opx *x) {
    const struct rdn_cell *v = x->a[0];
    const rdn_id *ids = x->ir->args.v + x->n->a;
    const struct rdn_node *nodes = x->ir->nodes.v;
    if (v->cause) {
        rdn_ret_cell(x->ret, v);
        return;
    }
    struct rdn_cell first = { .cause = RDN_DEFINED };
    for (uint32_t i = 1; i < x->na; i++) {
        const struct rdn_cell *e = x->a[i];
        int c = e->cause ? UNORDERED : order(&nodes[ids[0]], v, &nodes[ids[i]], e);
        if (c == EQUAL) {
            rdn_ret_i(x, 1);
            return;
        }
        if (c == UNORDERED && !first.cause) {
            first.cause = e->cause ? e->cause : RDN_CAUSE_NAN;
            first.span = e->cause ? e->span : x->n->span;
        }
    }
    if (first.cause)
        rdn_ret_cell(x->ret, &first);
    else
        rdn_ret_i(x, 0);
}

/* ---- arithmetic ---- */

static void arith_i64(const struct rdn_opx *x) {
    int64_t a = x->a[0]->i, b = x->a[1]->i, r = 0;
    bool over = false;
    unsigned op = x->n->op;
    if (op == RDN_OP_ADD)
        over = __builtin_add_overflow(a, b, &r);
    else if (op == RDN_OP_SUB)
        over = __builtin_sub_overflow(a, b, &r);
    else if (op == RDN_OP_MUL)
        over = __builtin_mul_overflow(a, b, &r);
    else if (b == 0) {
        rdn_ret_undef(x, RDN_CAUSE_DIV0);
        return;
    } else if (b == -1)                                  /* INT64_MIN / -1 overflows, and so does the instruction for mod */
        over = op == RDN_OP_DIV && __builtin_sub_overflow(0, a, &r);
    else
        r = op == RDN_OP_DIV ? a / b : a % b;
    if (over)
        rdn_ret_undef(x, RDN_CAUSE_OVERFLOW);
    else
        rdn_ret_i(x, r);
}

static void arith_f64(const struct rdn_opx *x) {
    double a = x->a[0]->f, b = x->a[1]->f;
    unsigned op = x->n->op;
    rdn_ret_f(x, op == RDN_OP_ADD ? a + b : op == RDN_OP_SUB ? a - b : op == RDN_OP_MUL ? a * b : a / b);
}

static void arith(const struct rdn_opx *x) {
    if (x->n->type == RDN_TY_I64)
        arith_i64(x);
    else if (x->n->type == RDN_TY_F64)
        arith_f64(x);
    else
        rdn_op_dec_arith(x);
}

static void neg_abs(const struct rdn_opx *x) {
    const struct rdn_cell *a = x->a[0];
    bool neg = x->n->op == RDN_OP_NEG;
    if (x->n->type == RDN_TY_F64)
        rdn_ret_f(x, neg ? -a->f : fabs(a->f));
    else if (x->n->type != RDN_TY_I64)
        rdn_op_dec_unary(x);
    else if (a->i == INT64_MIN)
        rdn_ret_undef(x, RDN_CAUSE_OVERFLOW);
    else
        rdn_ret_i(x, neg || a->i < 0 ? -a->i : a->i);
}

static void sign(const struct rdn_opx *x) {
    const struct rdn_cell *a = x->a[0];
    unsigned t = rdn_node_a(x)->type;
    if (t == RDN_TY_F64)
        rdn_ret_f(x, a->f != a->f ? a->f : (double)((a->f > 0) - (a->f < 0)));
    else {
        rdn_i128 m = rdn_mantissa(rdn_node_a(x), a);
        rdn_ret_i(x, (m > 0) - (m < 0));
    }
}

static void min_max(const struct rdn_opx *x) {
    const rdn_id *ids = x->ir->args.v + x->n->a;
    const struct rdn_node *nodes = x->ir->nodes.v;
    int better = x->n->op == RDN_OP_MIN ? LESS : GREATER;
    uint32_t best = 0;
    for (uint32_t i = 0; i < x->na; i++) {
        int c = order(&nodes[ids[i]], x->a[i], &nodes[ids[best]], x->a[best]);
        if (c == UNORDERED) {                            /* also i = best = 0: NaN does not equal itself */
            rdn_ret_undef(x, RDN_CAUSE_NAN);
            return;
        }
        if (c == better)
            best = i;
    }
    if (rdn_is_dec(x->n->type))
        rdn_ret_d(x, rdn_mantissa(&nodes[ids[best]], x->a[best]));
    else
        rdn_ret_cell(x->ret, x->a[best]);
}

static void clamp(const struct rdn_opx *x) {
    const struct rdn_node *nodes = x->ir->nodes.v, *nv = &nodes[x->n->a], *nlo = &nodes[x->n->b], *nhi = &nodes[x->n->c];
    const struct rdn_cell *v = x->a[0], *lo = x->a[1], *hi = x->a[2];
    int below = order(nv, v, nlo, lo), above = order(nv, v, nhi, hi), empty = order(nlo, lo, nhi, hi);
    if (below == UNORDERED || above == UNORDERED || empty == UNORDERED)
        rdn_ret_undef(x, RDN_CAUSE_NAN);
    else if (empty == GREATER)
        rdn_ret_undef(x, RDN_CAUSE_RANGE);
    else if (rdn_is_dec(x->n->type))
        rdn_ret_d(x, below == LESS ? rdn_mantissa(nlo, lo) : above == GREATER ? rdn_mantissa(nhi, hi) : rdn_mantissa(nv, v));
    else
        rdn_ret_cell(x->ret, below == LESS ? lo : above == GREATER ? hi : v);
}

/* ---- dispatch ---- */

enum op_class { SRC, LAZY, PURE };
static const uint8_t class_of[RDN_OP_COUNT] = {
#define N RDN_NARY
#define OP(name, text, arity, cls, doc) [RDN_OP_##name] = cls,
#include "ir/ops.def"
#undef OP
#undef N
};

static void apply(const struct rdn_opx *x) {
    const struct rdn_cell *const *a = x->a;
    switch ((enum rdn_op)x->n->op) {
    case RDN_OP_USE: rdn_ret_cell(x->ret, a[0]); return;
    case RDN_OP_INLINE: rdn_ret_cell(x->ret, a[x->na - 1]); return;
    case RDN_OP_AND: and_or(x, 0); return;
    case RDN_OP_OR: and_or(x, 1); return;
    case RDN_OP_SEL: select_arm(x); return;
    case RDN_OP_COALESCE: rdn_ret_cell(x->ret, has_value(rdn_node_a(x), a[0]) ? a[0] : a[1]); return;
    case RDN_OP_DEFINED: rdn_ret_i(x, has_value(rdn_node_a(x), a[0])); return;
    case RDN_OP_INSET: in_set(x); return;
    case RDN_OP_NOT: rdn_ret_i(x, !a[0]->i); return;
    case RDN_OP_EQ: case RDN_OP_NE: case RDN_OP_LT: case RDN_OP_LE: case RDN_OP_GT: case RDN_OP_GE: compare(x); return;
    case RDN_OP_ADD: case RDN_OP_SUB: case RDN_OP_MUL: case RDN_OP_DIV: case RDN_OP_MOD: arith(x); return;
    case RDN_OP_NEG: case RDN_OP_ABS: neg_abs(x); return;
    case RDN_OP_SIGN: sign(x); return;
    case RDN_OP_MIN: case RDN_OP_MAX: min_max(x); return;
    case RDN_OP_CLAMP: clamp(x); return;
    case RDN_OP_RATIO: rdn_op_ratio(x); return;
    case RDN_OP_IRATIO: rdn_ret_f(x, (double)a[0]->i / (double)a[1]->i); return;
    case RDN_OP_RDIV: rdn_op_rdiv(x); return;
    case RDN_OP_RESCALE: rdn_op_rescale(x); return;
    case RDN_OP_NARROW: rdn_op_narrow(x); return;
    case RDN_OP_I2F: rdn_ret_f(x, (double)a[0]->i); return;
    case RDN_OP_D2F: rdn_ret_f(x, rdn_dec_to_f64(rdn_mantissa(rdn_node_a(x), a[0]), rdn_scale_of(rdn_node_a(x)))); return;
    case RDN_OP_F2I: rdn_op_f2i(x); return;
    case RDN_OP_D2I: rdn_op_d2i(x); return;
    case RDN_OP_F2D: rdn_op_f2d(x); return;
    case RDN_OP_B2I: rdn_ret_i(x, a[0]->i); return;
    case RDN_OP_T2S: rdn_ret_i(x, rdn_floor_div(a[0]->i, 1000000000)); return;
    case RDN_OP_STR2I: case RDN_OP_STR2F: case RDN_OP_STR2T: case RDN_OP_STR2U: rdn_op_parse(x); return;
    case RDN_OP_SYMTEXT: case RDN_OP_SYMFIND: case RDN_OP_ENUMTEXT: rdn_op_name(x); return;
    case RDN_OP_TOTEXT: rdn_op_totext(x); return;
    case RDN_OP_CONCAT: rdn_op_concat(x); return;
    case RDN_OP_LEN: case RDN_OP_STARTS: case RDN_OP_ENDS: case RDN_OP_CONTAINS: case RDN_OP_FIND: rdn_op_search(x); return;
    case RDN_OP_LOWER: case RDN_OP_UPPER: rdn_op_recase(x); return;
    case RDN_OP_TRIM: rdn_op_trim(x); return;
    case RDN_OP_HOUR: case RDN_OP_MINUTE: case RDN_OP_SECOND: case RDN_OP_MILLI: case RDN_OP_DAY: case RDN_OP_MONTH:
    case RDN_OP_YEAR: case RDN_OP_WEEKDAY: case RDN_OP_YEARDAY: case RDN_OP_DATE: rdn_op_time(x); return;
    case RDN_OP_FLOOR: case RDN_OP_CEIL: case RDN_OP_TRUNC: case RDN_OP_ROUND: case RDN_OP_SQRT: case RDN_OP_EXP: case RDN_OP_LOG:
    case RDN_OP_NORMCDF: case RDN_OP_INVNORM: case RDN_OP_LOG2: case RDN_OP_LOG10: case RDN_OP_SIN: case RDN_OP_COS: case RDN_OP_TAN:
    case RDN_OP_ASIN: case RDN_OP_ACOS: case RDN_OP_ATAN: case RDN_OP_SINH: case RDN_OP_COSH: case RDN_OP_TANH:
        rdn_op_float1(x); return;
    case RDN_OP_POW: case RDN_OP_ATAN2: case RDN_OP_HYPOT: rdn_op_float2(x); return;
    case RDN_OP_DISTKM: rdn_op_distkm(x); return;
    case RDN_OP_ISNAN: rdn_ret_i(x, a[0]->f != a[0]->f); return;
    case RDN_OP_ISINF: rdn_ret_i(x, fabs(a[0]->f) == INFINITY); return;
    case RDN_OP_ISFINITE: rdn_ret_i(x, fabs(a[0]->f) < INFINITY); return;
    case RDN_OP_BAND: rdn_ret_i(x, a[0]->i & a[1]->i); return;
    case RDN_OP_BOR: rdn_ret_i(x, a[0]->i | a[1]->i); return;
    case RDN_OP_BXOR: rdn_ret_i(x, a[0]->i ^ a[1]->i); return;
    case RDN_OP_BNOT: rdn_ret_i(x, ~a[0]->i); return;
    case RDN_OP_SHL: case RDN_OP_SHR: rdn_op_shift(x); return;
    case RDN_OP_BUCKET: rdn_op_bucket(x); return;
    case RDN_OP_ELEM: rdn_op_elem(x); return;
    case RDN_OP_VEC: rdn_op_vec(x); return;
    case RDN_OP_VADD: case RDN_OP_VSUB: case RDN_OP_VMUL: case RDN_OP_VDIV: case RDN_OP_VNEG: rdn_op_elementwise(x); return;
    case RDN_OP_DOT: case RDN_OP_MATVEC: rdn_op_matvec(x); return;
    case RDN_OP_VSUM: case RDN_OP_VMIN: case RDN_OP_VMAX: rdn_op_vreduce(x); return;
    case RDN_OP_NORMAL: case RDN_OP_UNIFORM: rdn_op_random(x); return;
    case RDN_OP_CONST: case RDN_OP_FIELD: case RDN_OP_PARAM: case RDN_OP_NOW: case RDN_OP_TS: case RDN_OP_SCORE: case RDN_OP_WREAD:
    case RDN_OP_WPREV: case RDN_OP_TREAD: case RDN_OP_CALL: case RDN_OP_EVROW: case RDN_OP_INLIST: case RDN_OP_INCAL: case RDN_OP_EACH:
    case RDN_OP_KPARAM: case RDN_OP_COUNT:
        break;
    }
    rdn_ret_undef(x, RDN_CAUSE_MISSING);                 /* a source: only executors know its value */
}

void rdn_op_apply(const struct rdn_ir *ir, rdn_id id, const struct rdn_cell *const *args, uint32_t nargs, struct rdn_scratch *scratch,
                  struct rdn_cell *ret) {
    const struct rdn_node *n = &ir->nodes.v[id];
    if (class_of[n->op] == PURE && n->op != RDN_OP_ELEM)
        for (uint32_t i = 0; i < nargs; i++)
            if (args[i]->cause) {
                rdn_ret_cell(ret, args[i]);
                return;
            }
    const struct rdn_opx x = { ir, n, id, nargs, args, scratch, ret };
    apply(&x);
}
