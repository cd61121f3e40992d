/* SPDX-License-Identifier: Apache-2.0
 * range.c: interval arithmetic over the nodes (range.h). Integers and mantissas are exact intervals in 128 bits, clamped to
 * what the type holds, since what leaves it is undefined; of a float only "NaN?" and "infinite?" are kept. */
#include "ir/range.h"
#include <math.h>

struct pass { const struct rdn_ir *ir; const struct rdn_event *event; struct rdn_range *all; };
struct at {                                              /* the node at hand */
    const struct pass *p;
    const struct rdn_node *n;
    rdn_id id;
    const rdn_id *args;
    uint32_t k;
};

static const struct rdn_range *arg(const struct at *x, uint32_t i) { return &x->p->all[x->args[i]]; }
static const struct rdn_node *arg_node(const struct at *x, uint32_t i) { return &x->p->ir->nodes.v[x->args[i]]; }
static const struct rdn_type *own_type(const struct at *x) { return rdn_ir_ltype(x->p->ir, x->id); }

/* Anything the type holds, always defined. */
static struct rdn_range full(unsigned type, const struct rdn_type *t) {
    struct rdn_range r = { .lo = INT64_MIN, .hi = INT64_MAX };
    if (type == RDN_TY_W128)
        r.lo = RDN_I128_MIN, r.hi = RDN_I128_MAX;
    else if (type == RDN_TY_F64 || type == RDN_TY_VEC)
        r.nan = r.inf = true;
    else if (type == RDN_TY_B1)
        r.lo = 0, r.hi = 1;
    else if (t->kind == RDN_K_ENUM)
        r.lo = 0, r.hi = t->n ? t->n - 1 : 0;
    else if (t->kind == RDN_K_SYM)
        r.lo = 0, r.hi = UINT32_MAX;
    else if (t->kind == RDN_K_DATE)
        r.lo = INT32_MIN, r.hi = INT32_MAX;
    return r;
}
static struct rdn_range full_here(const struct at *x) { return full(x->n->type, own_type(x)); }

static struct rdn_range between(rdn_i128 lo, rdn_i128 hi) { return (struct rdn_range){ .lo = lo, .hi = hi }; }

static struct rdn_range exactly(unsigned type, const struct rdn_type *t, const struct rdn_cell *c) {
    struct rdn_range r = full(type, t);
    if (c->cause)
        r.undef = true;
    else if (type == RDN_TY_F64)
        r.nan = isnan(c->f), r.inf = isinf(c->f);
    else if (type == RDN_TY_B1 || type == RDN_TY_I64)
        r.lo = r.hi = c->i;
    else if (type == RDN_TY_D64 || type == RDN_TY_W128)
        r.lo = r.hi = c->d;
    return r;
}

/* Both may be the value. */
static struct rdn_range either(const struct rdn_range *a, const struct rdn_range *b) {
    struct rdn_range r = *a;
    r.lo = b->lo < r.lo ? b->lo : r.lo;
    r.hi = b->hi > r.hi ? b->hi : r.hi;
    r.nan |= b->nan;
    r.inf |= b->inf;
    return r;
}

/* ---- sources ---- */

static struct rdn_range of_param(const struct at *x) {
    const struct rdn_param *p = &x->p->ir->params[x->n->aux];
    struct rdn_range v = exactly(x->n->type, p->type, &p->val);
    if (!p->has_range)
        return v;
    struct rdn_range lo = exactly(x->n->type, p->type, &p->lo), hi = exactly(x->n->type, p->type, &p->hi);
    v = either(&lo, &hi);
    v.nan = false;                                       /* 17.1: a parameter may not be set to NaN */
    return v;
}

static struct rdn_range of_window(const struct at *x) {
    const struct rdn_window *w = &x->p->ir->windows[x->n->aux];
    struct rdn_range r = full_here(x);
    r.undef = r.fails = true;                            /* cold, full, overflow, div0 */
    if (w->agg == RDN_AGG_COUNT || w->agg == RDN_AGG_DISTINCT)
        r.lo = 0;
    if (w->agg >= RDN_AGG_LAST && w->agg <= RDN_AGG_FIRST)
        r.nan = r.inf = false;                           /* only finite values enter */
    if (w->agg == RDN_AGG_MIN || w->agg == RDN_AGG_MAX)
        r.nan = r.inf = false;
    if (w->rtype->kind == RDN_K_DEC && w->agg != RDN_AGG_SUM)
        r.lo = INT64_MIN, r.hi = INT64_MAX;
    return r;
}

static bool any_undef(const struct at *x) {
    for (uint32_t i = 0; i < x->k; i++)
        if (arg(x, i)->undef)
            return true;
    return false;
}

static bool any_nan(const struct at *x) {
    for (uint32_t i = 0; i < x->k; i++)
        if (arg(x, i)->nan)
            return true;
    return false;
}

static struct rdn_range source(const struct at *x) {
    const struct rdn_ir *ir = x->p->ir;
    struct rdn_range r = full_here(x);
    switch (x->n->op) {
    case RDN_OP_CONST: return exactly(x->n->type, own_type(x), &ir->consts.v[x->n->aux].val);
    case RDN_OP_PARAM: return of_param(x);
    case RDN_OP_WREAD: case RDN_OP_WPREV: return of_window(x);
    case RDN_OP_FIELD: {
        const struct rdn_event *e = x->p->event;
        r.fails = !e || x->n->aux >= e->nfields || e->fields[x->n->aux].optional;
        break;
    }
    case RDN_OP_TREAD:
        r.fails = ir->tables[x->n->aux].def == NULL || any_nan(x);
        if (x->n->type == RDN_TY_W128)
            r.lo = INT64_MIN, r.hi = INT64_MAX;
        break;
    case RDN_OP_CALL:
        r.fails = !ir->calls[x->n->aux].has_default;
        if (x->n->type == RDN_TY_W128)
            r.lo = INT64_MIN, r.hi = INT64_MAX;
        break;
    case RDN_OP_INLIST: r.fails = any_nan(x); break;
    case RDN_OP_EACH: r = between(0, 16777215); break;
    }
    r.undef = r.fails || any_undef(x);
    return r;
}

/* ---- integers and decimals ---- */

static rdn_i128 least(unsigned type) { return type == RDN_TY_W128 ? RDN_I128_MIN : INT64_MIN; }
static rdn_i128 most(unsigned type) { return type == RDN_TY_W128 ? RDN_I128_MAX : INT64_MAX; }

/* Clamps to the type: what lies beyond is undefined. */
static struct rdn_range clamped(unsigned type, struct rdn_range r, bool over) {
    bool low = r.lo < least(type), high = r.hi > most(type);
    r.fails |= over || low || high;
    r.lo = low ? least(type) : r.lo > most(type) ? most(type) : r.lo;
    r.hi = high ? most(type) : r.hi < least(type) ? least(type) : r.hi;
    return r;
}

/* An operand's interval at the node's scale; *over: it may not fit. */
static struct rdn_range scaled(const struct at *x, uint32_t i, bool *over) {
    const struct rdn_node *n = arg_node(x, i);
    struct rdn_range r = *arg(x, i);
    unsigned from = n->type == RDN_TY_D64 || n->type == RDN_TY_W128 ? n->scale : 0;
    rdn_i128 lo, hi;
    if (!rdn_dec_rescale(r.lo, from, x->n->scale, &lo))
        *over = true, lo = RDN_I128_MIN;
    if (!rdn_dec_rescale(r.hi, from, x->n->scale, &hi))
        *over = true, hi = RDN_I128_MAX;
    /* Rounding keeps the order of the two ends. */
    return between(lo, hi);
}

static struct rdn_range add_sub(const struct at *x) {
    bool over = false, dec = x->n->type == RDN_TY_W128;
    struct rdn_range a = dec ? scaled(x, 0, &over) : *arg(x, 0), b = dec ? scaled(x, 1, &over) : *arg(x, 1), r = between(0, 0);
    bool sub = x->n->op == RDN_OP_SUB;
    rdn_i128 lo = sub ? b.hi : b.lo, hi = sub ? b.lo : b.hi;
    if (sub ? __builtin_sub_overflow(a.lo, lo, &r.lo) : __builtin_add_overflow(a.lo, lo, &r.lo))
        over = true, r.lo = RDN_I128_MIN;
    if (sub ? __builtin_sub_overflow(a.hi, hi, &r.hi) : __builtin_add_overflow(a.hi, hi, &r.hi))
        over = true, r.hi = RDN_I128_MAX;
    return clamped(x->n->type, r, over);
}

static struct rdn_range mul(const struct at *x) {
    const struct rdn_range *a = arg(x, 0), *b = arg(x, 1);
    const rdn_i128 p[2] = { a->lo, a->hi }, q[2] = { b->lo, b->hi };
    struct rdn_range r = between(RDN_I128_MAX, RDN_I128_MIN);
    bool over = false;
    for (unsigned i = 0; i < 4; i++) {
        rdn_i128 v, u = p[i & 1], w = q[i >> 1];
        if (__builtin_mul_overflow(u, w, &v)) {
            over = true;
            v = (u < 0) == (w < 0) ? RDN_I128_MAX : RDN_I128_MIN;
        }
        r.lo = v < r.lo ? v : r.lo;
        r.hi = v > r.hi ? v : r.hi;
    }
    return clamped(x->n->type, r, over);
}

static rdn_i128 magnitude(const struct rdn_range *r) {
    rdn_i128 lo = r->lo == RDN_I128_MIN ? RDN_I128_MAX : r->lo < 0 ? -r->lo : r->lo, hi = r->hi == RDN_I128_MIN ? RDN_I128_MAX : r->hi < 0 ? -r->hi : r->hi;
    return lo > hi ? lo : hi;
}

/* |a / b| <= |a| and |a mod b| < |b|, with the sign of a for mod. */
static struct rdn_range div_mod(const struct at *x) {
    const struct rdn_range *a = arg(x, 0), *b = arg(x, 1);
    bool zero = b->lo <= 0 && b->hi >= 0;
    rdn_i128 ma = magnitude(a), mb = magnitude(b), m = x->n->op == RDN_OP_MOD && mb <= ma ? (mb ? mb - 1 : 0) : ma;
    struct rdn_range r = between(-m, m);
    if (a->lo >= 0 && (x->n->op == RDN_OP_MOD || b->lo >= 0))
        r.lo = 0;
    if (a->hi <= 0 && (x->n->op == RDN_OP_MOD || b->lo >= 0))
        r.hi = 0;
    bool over = x->n->op == RDN_OP_DIV && a->lo <= INT64_MIN && b->lo <= -1 && b->hi >= -1;
    r.fails = zero || over;
    return x->n->op == RDN_OP_MOD && x->n->type == RDN_TY_W128 ? r : clamped(x->n->type, r, over);
}

static struct rdn_range neg_abs(const struct at *x) {
    const struct rdn_range *a = arg(x, 0);
    unsigned type = x->n->type;
    bool over = a->lo <= least(type), neg = x->n->op == RDN_OP_NEG;
    rdn_i128 flip_lo = a->hi == RDN_I128_MIN ? RDN_I128_MAX : -a->hi, flip_hi = a->lo == RDN_I128_MIN ? RDN_I128_MAX : -a->lo;
    struct rdn_range r = between(flip_lo, flip_hi);
    if (!neg) {
        over = over && a->lo < 0;
        r = a->lo >= 0 ? between(a->lo, a->hi) : a->hi <= 0 ? r : between(0, magnitude(a));
    }
    return clamped(type, r, over);
}

static struct rdn_range min_max(const struct at *x) {
    struct rdn_range r = *arg(x, 0);
    for (uint32_t i = 1; i < x->k; i++) {
        const struct rdn_range *b = arg(x, i);
        bool min = x->n->op == RDN_OP_MIN;
        r.lo = min ? (b->lo < r.lo ? b->lo : r.lo) : (b->lo > r.lo ? b->lo : r.lo);
        r.hi = min ? (b->hi < r.hi ? b->hi : r.hi) : (b->hi > r.hi ? b->hi : r.hi);
        r.inf |= b->inf;
    }
    r.fails = any_nan(x);
    r.nan = false;
    return r;
}

static struct rdn_range clamp(const struct at *x) {
    struct rdn_range r = either(arg(x, 0), arg(x, 1));
    r = either(&r, arg(x, 2));
    r.nan = false;
    r.fails = any_nan(x) || x->n->type == RDN_TY_F64 || arg(x, 1)->hi > arg(x, 2)->lo;
    return r;
}

static struct rdn_range rescale(const struct at *x) {
    bool over = false;
    struct rdn_range r = scaled(x, 0, &over);
    return clamped(RDN_TY_W128, r, over);
}

/* ---- conversions, arrays, the rest ---- */

static struct rdn_range shift(const struct at *x) {
    struct rdn_range r = full_here(x);
    const struct rdn_range *a = arg(x, 0), *n = arg(x, 1);
    r.fails = n->lo < 0;
    if (x->n->op == RDN_OP_SHR && a->lo >= 0)
        r.lo = 0, r.hi = a->hi;
    return r;
}

static struct rdn_range time_field(const struct at *x) {
    switch (x->n->op) {
    case RDN_OP_HOUR: return between(0, 23);
    case RDN_OP_MINUTE: case RDN_OP_SECOND: return between(0, 59);
    case RDN_OP_MILLI: return between(0, 999);
    case RDN_OP_DAY: return between(1, 31);
    case RDN_OP_MONTH: return between(1, 12);
    case RDN_OP_YEAR: return between(1677, 2262);
    case RDN_OP_WEEKDAY: return between(0, 6);
    case RDN_OP_YEARDAY: return between(1, 366);
    }
    return between(-106753, 106753);                     /* date: int64 ns and a day of offset */
}

static struct rdn_range float_fn(const struct at *x) {
    struct rdn_range r = full_here(x);
    const struct rdn_range *a = arg(x, 0);
    switch (x->n->op) {
    case RDN_OP_FLOOR: case RDN_OP_CEIL: case RDN_OP_TRUNC: case RDN_OP_ROUND: case RDN_OP_NEG: case RDN_OP_ABS: r.nan = a->nan, r.inf = a->inf; break;
    case RDN_OP_EXP: case RDN_OP_COSH: case RDN_OP_SINH: r.nan = a->nan; break;
    case RDN_OP_NORMCDF: case RDN_OP_ATAN: case RDN_OP_TANH: case RDN_OP_SIGN: r.nan = a->nan, r.inf = false; break;
    case RDN_OP_SIN: case RDN_OP_COS: case RDN_OP_TAN: r.nan = a->nan || a->inf, r.inf = false; break;
    case RDN_OP_SQRT: r.inf = a->inf; break;
    case RDN_OP_ASIN: case RDN_OP_ACOS: r.inf = false; break;
    }
    return r;
}

/* A finite sum, difference or product may be infinite, but only an infinite operand makes NaN of it. */
static struct rdn_range arith_f64(const struct at *x) {
    struct rdn_range r = full_here(x);
    const struct rdn_range *a = arg(x, 0), *b = arg(x, 1);
    if (x->n->op != RDN_OP_DIV)
        r.nan = a->nan || b->nan || a->inf || b->inf;
    return r;
}

static struct rdn_range arith(const struct at *x) {
    if (x->n->type == RDN_TY_F64)
        return arith_f64(x);
    if (x->n->op == RDN_OP_MUL)
        return mul(x);
    return x->n->op == RDN_OP_ADD || x->n->op == RDN_OP_SUB ? add_sub(x) : div_mod(x);
}

static struct rdn_range elem(const struct at *x) {
    const struct rdn_type *t = rdn_ir_ltype(x->p->ir, x->args[0]);
    struct rdn_range r = *arg(x, 0);
    r.fails = false;
    for (uint32_t i = 1; i < x->k; i++)
        r.fails |= arg(x, i)->lo < 0 || arg(x, i)->hi >= t->dim[i - 1];
    return r;
}

static struct rdn_range vec(const struct at *x) {
    struct rdn_range r = *arg(x, 0);
    for (uint32_t i = 1; i < x->k; i++)
        r = either(&r, arg(x, i));
    r.fails = true;                                      /* scratch */
    return r;
}

/* Ranges of LAZY operations tell themselves whether they may be undefined. */
static struct rdn_range lazy(const struct at *x) {
    const struct rdn_range *a = arg(x, 0), *b = x->k > 1 ? arg(x, 1) : a;
    struct rdn_range r = full_here(x);
    switch (x->n->op) {
    case RDN_OP_USE: r = *a; break;
    case RDN_OP_INLINE: r = *arg(x, x->k - 1); break;
    case RDN_OP_AND: case RDN_OP_OR: r.undef = a->undef || b->undef; break;
    case RDN_OP_SEL:
        r = either(b, arg(x, 2));
        r.undef = a->undef || b->undef || arg(x, 2)->undef;
        break;
    case RDN_OP_COALESCE:
        r = either(a, b);
        r.nan = b->nan && (a->undef || a->nan);
        r.undef = b->undef && (a->undef || a->nan);
        break;
    case RDN_OP_INSET:
        r.fails = any_nan(x);
        r.undef = r.fails || any_undef(x);
        return r;
    }
    r.fails = false;                                     /* an operand's, never its own */
    return r;
}

static struct rdn_range pure(const struct at *x) {
    struct rdn_range r = full_here(x);
    const struct rdn_range *a = x->k ? arg(x, 0) : NULL;
    switch ((enum rdn_op)x->n->op) {
    case RDN_OP_NOT: case RDN_OP_ISNAN: case RDN_OP_ISINF: case RDN_OP_ISFINITE: case RDN_OP_STARTS: case RDN_OP_ENDS: case RDN_OP_CONTAINS:
    case RDN_OP_RATIO: case RDN_OP_IRATIO: case RDN_OP_BAND: case RDN_OP_BOR: case RDN_OP_BXOR: case RDN_OP_BNOT:
    case RDN_OP_SYMTEXT: case RDN_OP_ENUMTEXT: case RDN_OP_TRIM: case RDN_OP_POW: case RDN_OP_ATAN2: case RDN_OP_HYPOT: case RDN_OP_DISTKM:
    case RDN_OP_DOT: case RDN_OP_VSUM: break;
    case RDN_OP_I2F: case RDN_OP_D2F: r.nan = r.inf = false; break;
    case RDN_OP_SYMFIND: r.hi = RDN_SYM_NONE; break;
    case RDN_OP_EQ: case RDN_OP_NE: case RDN_OP_LT: case RDN_OP_LE: case RDN_OP_GT: case RDN_OP_GE: r.fails = any_nan(x); break;
    case RDN_OP_ADD: case RDN_OP_SUB: case RDN_OP_MUL: case RDN_OP_DIV: case RDN_OP_MOD: r = arith(x); break;
    case RDN_OP_NEG: case RDN_OP_ABS: r = x->n->type == RDN_TY_F64 ? float_fn(x) : neg_abs(x); break;
    case RDN_OP_SIGN: r = x->n->type == RDN_TY_F64 ? float_fn(x) : between(a->lo > 0 ? 1 : a->lo == 0 ? 0 : -1, a->hi > 0 ? 1 : a->hi == 0 ? 0 : -1); break;
    case RDN_OP_MIN: case RDN_OP_MAX: r = min_max(x); break;
    case RDN_OP_CLAMP: r = clamp(x); break;
    case RDN_OP_RDIV: case RDN_OP_F2D: case RDN_OP_STR2I: case RDN_OP_STR2F: case RDN_OP_STR2T: case RDN_OP_STR2U: case RDN_OP_F2I: r.fails = true; break;
    case RDN_OP_RESCALE: r = rescale(x); break;
    case RDN_OP_NARROW: r = clamped(RDN_TY_D64, between(a->lo, a->hi), false); break;
    case RDN_OP_D2I: {
        rdn_i128 p = rdn_pow10(arg_node(x, 0)->scale);
        r = clamped(RDN_TY_I64, between(a->lo / p, a->hi / p), false);
        break;
    }
    case RDN_OP_B2I: r = between(a->lo, a->hi); break;
    case RDN_OP_T2S: r = between(a->lo / 1000000000 - 1, a->hi / 1000000000); break;
    case RDN_OP_TOTEXT: case RDN_OP_CONCAT: case RDN_OP_LOWER: case RDN_OP_UPPER: r.fails = true; break;   /* scratch */
    case RDN_OP_LEN: r = between(0, UINT32_MAX); break;
    case RDN_OP_FIND: r = between(-1, UINT32_MAX); break;
    case RDN_OP_HOUR: case RDN_OP_MINUTE: case RDN_OP_SECOND: case RDN_OP_MILLI: case RDN_OP_DAY: case RDN_OP_MONTH: case RDN_OP_YEAR:
    case RDN_OP_WEEKDAY: case RDN_OP_YEARDAY: case RDN_OP_DATE: r = time_field(x); break;
    case RDN_OP_FLOOR: case RDN_OP_CEIL: case RDN_OP_TRUNC: case RDN_OP_ROUND: case RDN_OP_SQRT: case RDN_OP_EXP: case RDN_OP_LOG:
    case RDN_OP_NORMCDF: case RDN_OP_INVNORM: case RDN_OP_LOG2: case RDN_OP_LOG10: case RDN_OP_SIN: case RDN_OP_COS: case RDN_OP_TAN:
    case RDN_OP_ASIN: case RDN_OP_ACOS: case RDN_OP_ATAN: case RDN_OP_SINH: case RDN_OP_COSH: case RDN_OP_TANH: r = float_fn(x); break;
    case RDN_OP_SHL: case RDN_OP_SHR: r = shift(x); break;
    case RDN_OP_BUCKET: r = between(0, x->n->aux ? (rdn_i128)x->n->aux - 1 : 0); break;
    case RDN_OP_ELEM: r = elem(x); break;
    case RDN_OP_VEC: r = vec(x); break;
    case RDN_OP_VADD: case RDN_OP_VSUB: case RDN_OP_VMUL: case RDN_OP_VDIV: case RDN_OP_MATVEC: case RDN_OP_VNEG: r.fails = true; break;
    case RDN_OP_VMIN: case RDN_OP_VMAX: r.fails = a->nan, r.nan = false, r.inf = a->inf; break;
    case RDN_OP_NORMAL: case RDN_OP_UNIFORM: r.nan = r.inf = false, r.fails = true; break;
    case RDN_OP_CONST: case RDN_OP_FIELD: case RDN_OP_PARAM: case RDN_OP_NOW: case RDN_OP_TS: case RDN_OP_SCORE: case RDN_OP_WREAD:
    case RDN_OP_WPREV: case RDN_OP_TREAD: case RDN_OP_CALL: case RDN_OP_EVROW: case RDN_OP_INLIST: case RDN_OP_INCAL: case RDN_OP_EACH:
    case RDN_OP_KPARAM: return source(x);
    case RDN_OP_USE: case RDN_OP_INLINE: case RDN_OP_AND: case RDN_OP_OR: case RDN_OP_SEL: case RDN_OP_COALESCE: case RDN_OP_DEFINED:
    case RDN_OP_INSET: return lazy(x);
    case RDN_OP_COUNT: break;
    }
    r.undef = r.fails || any_undef(x);
    return r;
}

void rdn_range_of(const struct rdn_ir *ir, uint32_t event, struct rdn_range *ret) {
    struct pass p = { ir, event < ir->nevents ? &ir->events[event] : NULL, ret };
    ret[0] = (struct rdn_range){ .undef = true, .fails = true, .nan = true, .inf = true, .lo = RDN_I128_MIN, .hi = RDN_I128_MAX };
    for (rdn_id id = 1; id < ir->nodes.n; id++) {
        struct at x = { &p, &ir->nodes.v[id], id, NULL, 0 };
        rdn_id buf[3];
        x.args = rdn_node_args(ir, x.n, buf, &x.k);
        ret[id] = pure(&x);
    }
}
