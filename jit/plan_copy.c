/* SPDX-License-Identifier: Apache-2.0
 * plan_copy.c: the canonical copy of rule conditions (plan.h): hash-consed nodes, each native, a slot, or neither.
 *
 * Rewrites keep value and definedness: de Morgan and the pushing of `not` through comparisons hold in Kleene logic, NaN being
 * undefined on both sides. Nothing that changes a float bit: no reassociation; + and * of two floats commute. */
#include "jit/plan.h"
#include <string.h>
#include "base/hash.h"

struct rdn_copy {
    const struct rdn_ir *ir;
    struct rdn_plan *pl;                                 /* of the event in work */
    struct rdn_arena *tmp;                               /* gone when the plans are made */
    struct { rdn_pid pid; uint32_t stamp; } *memo;       /* by IR node: its copy, when the stamp is this event's */
    uint32_t stamp;
    uint8_t *constant;                                   /* by IR node: no source but constants below: CONSTANT, VARIES, 0: not asked yet */
    uint32_t *table, cap, room;                          /* open addressing over plan->nodes */
    char *scratch;
};
enum { CONSTANT = 1, VARIES = 2 };
enum { FOLD_SCRATCH = 16384 };

static struct rdn_pnode *at(struct rdn_copy *c, rdn_pid p) { return &c->pl->nodes.v[p]; }
static bool avail(struct rdn_copy *c, rdn_pid p) { return at(c, p)->flags & (RDN_P_NATIVE | RDN_P_SLOT); }
static bool is_int(const struct rdn_pnode *n) { return n->type == RDN_TY_I64; }
static bool is_dec(const struct rdn_pnode *n) { return n->type == RDN_TY_D64; }
static bool is_const(const struct rdn_pnode *n) { return n->op == RDN_OP_CONST && (n->flags & RDN_P_NATIVE); }
static uint8_t flat_type(unsigned t) { return t == RDN_TY_W128 ? RDN_TY_D64 : (uint8_t)t; }
static double f64_of(const struct rdn_pnode *n) {
    double d;
    memcpy(&d, &n->lo, sizeof d);
    return d;
}

static bool is_constant(struct rdn_copy *c, rdn_id id) {
    static const uint8_t is_src[RDN_OP_COUNT] = {
#define SRC 1
#define LAZY 0
#define PURE 0
#define N 0
#define OP(name, text, arity, cls, doc) [RDN_OP_##name] = cls,
#include "ir/ops.def"
#undef OP
#undef N
#undef SRC
#undef LAZY
#undef PURE
    };
    if (c->constant[id])
        return c->constant[id] == CONSTANT;
    const struct rdn_node *n = &c->ir->nodes.v[id];
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *args = rdn_node_args(c->ir, n, buf, &k);
    bool all = !is_src[n->op] || n->op == RDN_OP_CONST;
    all = all && n->op != RDN_OP_NORMAL && n->op != RDN_OP_UNIFORM && n->op != RDN_OP_SYMFIND;   /* symbols arrive later */
    for (uint32_t i = 0; all && i < k; i++)
        all = is_constant(c, args[i]);
    c->constant[id] = all ? CONSTANT : VARIES;
    return all;
}

struct rdn_copy *rdn_copy_new(const struct rdn_ir *ir, struct rdn_arena *tmp) {
    struct rdn_copy *c = rdn_new(tmp, struct rdn_copy);
    c->ir = ir;
    c->tmp = tmp;
    c->memo = rdn_arena_alloc(tmp, (size_t)ir->nodes.n * sizeof *c->memo);
    c->constant = rdn_new_n(tmp, uint8_t, ir->nodes.n);
    c->scratch = rdn_arena_raw(tmp, FOLD_SCRATCH);
    return c;
}
void rdn_copy_begin(struct rdn_copy *c, struct rdn_plan *pl) {
    /* Half as many nodes as this event's rules have in the rule set: uses are none, and many are shared. */
    uint32_t share = (uint32_t)((uint64_t)c->ir->nodes.n * (pl->nrules + 1) / (c->ir->nrules + 1)) / 2 + 32;
    c->pl = pl;
    c->stamp++;
    rdn_reserve_raw(pl->grow, &pl->nodes, share);
    rdn_reserve_raw(pl->grow, &pl->args, share / 2);
    for (c->cap = 64; c->cap < 2 * share; c->cap *= 2)
        ;
    if (c->cap <= c->room)
        memset(c->table, 0, c->cap * sizeof *c->table);
    else
        c->table = rdn_new_n(c->tmp, uint32_t, c->room = c->cap);
    rdn_push_val(pl->grow, &pl->nodes, (struct rdn_pnode){0});
}

/* ---- hash consing ---- */
static uint64_t fold_in(uint64_t h, uint64_t v) {
    rdn_u128 m = (rdn_u128)(h ^ v) * 0x9fb21c651e98df25u;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}
static uint64_t node_hash(const struct rdn_plan *pl, const struct rdn_pnode *n) {
    uint64_t h = fold_in(0x9e3779b97f4a7c15u ^ (uint64_t)n->op << 16 ^ (uint64_t)n->type << 8 ^ n->scale, (uint64_t)n->aux << 32 | n->c);
    if (n->op == RDN_OP_CONST)
        return fold_in(h, (uint64_t)n->lo);
    uint32_t k;
    const rdn_pid *args = rdn_pargs(pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        h = fold_in(h, args[i]);
    return h;
}
static bool node_same(const struct rdn_plan *pl, const struct rdn_pnode *x, const struct rdn_pnode *y) {
    uint32_t kx, ky;
    if (x->op != y->op || x->type != y->type || x->scale != y->scale || x->aux != y->aux || x->c != y->c)
        return false;
    if (x->op == RDN_OP_CONST)
        return x->lo == y->lo;
    const rdn_pid *ax = rdn_pargs(pl, x, &kx), *ay = rdn_pargs(pl, y, &ky);
    return kx == ky && (!kx || !memcmp(ax, ay, kx * sizeof *ax));
}
static void grow_table(struct rdn_copy *c) {
    uint32_t cap = c->cap * 2;
    uint32_t *t = rdn_new_n(c->tmp, uint32_t, cap);
    for (uint32_t i = 0; i < c->cap; i++)
        if (c->table[i]) {
            uint32_t k = (uint32_t)node_hash(c->pl, at(c, c->table[i])) & (cap - 1);
            while (t[k])
                k = (k + 1) & (cap - 1);
            t[k] = c->table[i];
        }
    c->table = t;
    c->cap = c->room = cap;
}
/* The node equal to n, or n as a new one. `src` and flags of the first stay. */
static rdn_pid intern(struct rdn_copy *c, const struct rdn_pnode *n) {
    struct rdn_plan *pl = c->pl;
    if (pl->nodes.n * 2 >= c->cap)
        grow_table(c);
    uint32_t k = (uint32_t)node_hash(pl, n) & (c->cap - 1);
    for (; c->table[k]; k = (k + 1) & (c->cap - 1))
        if (node_same(pl, n, at(c, c->table[k]))) {
            struct rdn_pnode *old = at(c, c->table[k]);
            if (!old->src)
                old->src = n->src;
            return c->table[k];
        }
    rdn_push_val(pl->grow, &pl->nodes, *n);
    return c->table[k] = pl->nodes.n - 1;
}

static struct rdn_pnode blank(unsigned op, unsigned type, unsigned scale, uint32_t src) {
    return (struct rdn_pnode){.op = (uint8_t)op, .type = flat_type(type), .scale = (uint8_t)scale, .src = src, .dep = RDN_NO_DEP, .lo = INT64_MIN, .hi = INT64_MAX};
}
static rdn_pid with_args(struct rdn_copy *c, struct rdn_pnode *n, const rdn_pid *args, uint32_t k) {
    struct rdn_plan *pl = c->pl;
    uint32_t was = pl->args.n;
    n->a = was;
    n->b = k;
    for (uint32_t i = 0; i < k; i++)
        rdn_push_val(pl->grow, &pl->args, args[i]);
    uint32_t nodes = pl->nodes.n;
    rdn_pid p = intern(c, n);
    if (p < nodes)
        pl->args.n = was;                                /* it existed: give the operands back */
    return p;
}

/* ---- leaves ---- */
static rdn_pid int_const(struct rdn_copy *c, unsigned type, unsigned scale, uint32_t ltype, int64_t v) {
    struct rdn_pnode n = blank(RDN_OP_CONST, type, scale, 0);
    n.aux = ltype;                                       /* text(5) is not text(5ns): the language type is part of a constant */
    n.lo = n.hi = v;
    n.flags = RDN_P_NATIVE | RDN_P_EVENT | (type == RDN_TY_D64 ? RDN_P_WIDE_OK : 0);
    return intern(c, &n);
}
static rdn_pid bool_const(struct rdn_copy *c, bool v) { return int_const(c, RDN_TY_B1, 0, UINT32_MAX, v); }

static rdn_pid opaque(struct rdn_copy *c, rdn_id id);
static rdn_pid const_node(struct rdn_copy *c, rdn_id id) {
    const struct rdn_node *n = &c->pl->ir->nodes.v[id];
    struct rdn_scratch s = {c->scratch, FOLD_SCRATCH, 0};
    struct rdn_cell v;
    rdn_fold(c->pl->ir, id, &s, &v);
    uint32_t lt = c->pl->ir->ltypes.v[id];
    if (v.cause)
        return opaque(c, id);
    if (n->type == RDN_TY_B1)
        return bool_const(c, v.i != 0);
    if (n->type == RDN_TY_I64)
        return int_const(c, RDN_TY_I64, 0, lt, v.i);
    if ((n->type == RDN_TY_D64 || n->type == RDN_TY_W128) && rdn_fits_i64(v.d))
        return int_const(c, RDN_TY_D64, n->scale, UINT32_MAX, (int64_t)v.d);
    if (n->type == RDN_TY_F64) {
        struct rdn_pnode p = blank(RDN_OP_CONST, RDN_TY_F64, 0, 0);
        memcpy(&p.lo, &v.f, 8);
        p.hi = p.lo;
        p.aux = lt;
        p.flags = RDN_P_NATIVE | RDN_P_EVENT;
        p.flags |= v.f != v.f ? RDN_P_NAN : v.f - v.f != 0 ? RDN_P_INF : 0;
        return intern(c, &p);
    }
    return opaque(c, id);
}

static void kind_range(const struct rdn_type *t, int64_t *lo, int64_t *hi) {
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL: *lo = 0, *hi = 1; return;
    case RDN_K_ENUM: *lo = 0, *hi = t->n ? t->n - 1 : 0; return;
    case RDN_K_DATE: *lo = INT32_MIN, *hi = INT32_MAX; return;
    case RDN_K_SYM: *lo = 0, *hi = UINT32_MAX; return;
    case RDN_K_INT: case RDN_K_FLOAT: case RDN_K_DEC: case RDN_K_TIME: case RDN_K_DUR: case RDN_K_STR: case RDN_K_TEXT:
    case RDN_K_ARR: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT: break;
    }
    *lo = INT64_MIN;
    *hi = INT64_MAX;
}
static bool scalar(unsigned type) {
    return type == RDN_TY_B1 || type == RDN_TY_I64 || type == RDN_TY_F64 || type == RDN_TY_D64 || type == RDN_TY_W128;
}
static rdn_pid leaf(struct rdn_copy *c, rdn_id id) {
    const struct rdn_ir *ir = c->pl->ir;
    const struct rdn_node *n = &ir->nodes.v[id];
    struct rdn_pnode p = blank(n->op, n->type, n->scale, id);
    p.aux = n->aux;
    if (n->op == RDN_OP_FIELD) {
        const struct rdn_field *f = &ir->events[c->pl->event].fields[n->aux];
        kind_range(f->type, &p.lo, &p.hi);
        if (scalar(n->type))
            p.flags = f->optional ? RDN_P_SLOT : RDN_P_NATIVE | RDN_P_EVENT;
    } else if (n->op == RDN_OP_PARAM) {
        kind_range(ir->params[n->aux].type, &p.lo, &p.hi);
        if (scalar(n->type))
            p.flags = RDN_P_SLOT | RDN_P_EVENT;
    } else {
        p.flags = RDN_P_NATIVE | RDN_P_EVENT;            /* now, ts */
    }
    if (p.type == RDN_TY_D64 && p.flags)
        p.flags |= RDN_P_WIDE_OK;
    return intern(c, &p);
}

/* A node interp computes: a slot when it is a number or truth value. Operands are copied so that equal ones stay equal. */
static rdn_pid opaque(struct rdn_copy *c, rdn_id id) {
    const struct rdn_ir *ir = c->pl->ir;
    const struct rdn_node *n = &ir->nodes.v[id];
    struct rdn_pnode p = blank(n->op, n->type, n->scale, id);
    rdn_id buf[3];
    rdn_pid args[64], *v = args;
    uint32_t k;
    const rdn_id *ids = rdn_node_args(ir, n, buf, &k);
    if (n->op == RDN_OP_CONST) {
        p.aux = n->aux;
        if (scalar(n->type))
            p.flags = RDN_P_SLOT;
        p.lo = n->aux;                                   /* of its own: never equal to a native constant */
        p.hi = p.lo;
        p.c = UINT32_MAX;
        return intern(c, &p);
    }
    if (k > 64)
        v = rdn_new_n(c->tmp, rdn_pid, k);
    for (uint32_t i = 0; i < k; i++)
        v[i] = rdn_copy_node(c, ids[i]);
    p.aux = n->aux;
    if (n->op != RDN_OP_ELEM)
        p.c = n->op == RDN_OP_TREAD || n->op == RDN_OP_NORMAL || n->op == RDN_OP_UNIFORM ? n->c : 0;
    if (scalar(n->type) && !(n->flags & (RDN_NODE_LATE | RDN_NODE_CALLS | RDN_NODE_EACH)))
        p.flags = RDN_P_SLOT;
    if (rdn_op_arity(n->op) == RDN_NARY || n->op == RDN_OP_AND || n->op == RDN_OP_OR)
        return with_args(c, &p, v, k);
    p.a = k > 0 ? v[0] : 0;
    p.b = k > 1 ? v[1] : 0;
    if (k > 2)
        p.c = v[2];
    return intern(c, &p);
}

/* ---- numbers ---- */
static void set_range(struct rdn_pnode *p, rdn_i128 lo, rdn_i128 hi) {
    if (lo < INT64_MIN || hi > INT64_MAX)
        p->flags |= RDN_P_GUARD;
    p->lo = lo < INT64_MIN ? INT64_MIN : lo > INT64_MAX ? INT64_MAX : (int64_t)lo;
    p->hi = hi > INT64_MAX ? INT64_MAX : hi < INT64_MIN ? INT64_MIN : (int64_t)hi;
}
static void mul_range(struct rdn_pnode *p, const struct rdn_pnode *a, const struct rdn_pnode *b) {
    rdn_i128 v[4] = {(rdn_i128)a->lo * b->lo, (rdn_i128)a->lo * b->hi, (rdn_i128)a->hi * b->lo, (rdn_i128)a->hi * b->hi}, lo = v[0], hi = v[0];
    for (int i = 1; i < 4; i++) {
        lo = v[i] < lo ? v[i] : lo;
        hi = v[i] > hi ? v[i] : hi;
    }
    set_range(p, lo, hi);
}
static bool wide_ok(const struct rdn_pnode *n) { return is_int(n) || (n->flags & (RDN_P_WIDE_OK | RDN_P_SLOT)); }

/* The value at a larger scale: constants exactly, if they fit; else a RESCALE node. 0 when it cannot be native. */
static rdn_pid align(struct rdn_copy *c, rdn_pid x, unsigned scale) {
    const struct rdn_pnode *n = at(c, x);
    unsigned from = is_dec(n) ? n->scale : 0;
    if (is_dec(n) && from == scale)
        return x;
    rdn_i128 k = rdn_pow10(scale - from);
    if (k > INT64_MAX)
        return 0;
    if (is_const(n)) {
        rdn_i128 v = (rdn_i128)n->lo * k;
        if (rdn_fits_i64(v))
            return int_const(c, RDN_TY_D64, scale, UINT32_MAX, (int64_t)v);
    }
    struct rdn_pnode p = blank(RDN_OP_RESCALE, RDN_TY_D64, scale, 0);
    p.a = x;
    p.flags = RDN_P_NATIVE | (n->flags & RDN_P_EVENT) | (wide_ok(n) ? RDN_P_WIDE_OK : 0);
    set_range(&p, n->lo * k, n->hi * k);
    return intern(c, &p);
}
/* Brings both sides to one scale; false when one cannot be. A constant sheds trailing zeros the other side does not have. */
static bool align2(struct rdn_copy *c, rdn_pid *x, rdn_pid *y) {
    for (int i = 0; i < 2; i++) {
        rdn_pid *k = i ? x : y, *o = i ? y : x;
        while (is_const(at(c, *k)) && is_dec(at(c, *k)) && at(c, *k)->scale > (is_dec(at(c, *o)) ? at(c, *o)->scale : 0) && at(c, *k)->lo % 10 == 0)
            *k = int_const(c, RDN_TY_D64, at(c, *k)->scale - 1u, UINT32_MAX, at(c, *k)->lo / 10);
    }
    unsigned sx = is_dec(at(c, *x)) ? at(c, *x)->scale : 0, sy = is_dec(at(c, *y)) ? at(c, *y)->scale : 0, s = sx > sy ? sx : sy;
    *x = align(c, *x, s);
    *y = align(c, *y, s);
    return *x && *y;
}

static bool pure_inf(const struct rdn_pnode *n) { return n->flags & RDN_P_INF; }
static bool const_nonzero(const struct rdn_pnode *n) { return is_const(n) && (n->type == RDN_TY_F64 ? f64_of(n) != 0.0 : n->lo != 0); }

/* INF and NAN of an f64 result, from those of the operands (finite inputs assumed). */
static unsigned float_flags(unsigned op, const struct rdn_pnode *a, const struct rdn_pnode *b) {
    unsigned nan = (a->flags | (b ? b->flags : 0)) & RDN_P_NAN, inf = (a->flags | (b ? b->flags : 0)) & RDN_P_INF;
    switch (op) {
    case RDN_OP_ADD: case RDN_OP_SUB:
        return nan | RDN_P_INF | (pure_inf(a) && pure_inf(b) ? RDN_P_NAN : 0);
    case RDN_OP_MUL:
        if ((pure_inf(a) && !const_nonzero(b)) || (pure_inf(b) && !const_nonzero(a)))
            nan = RDN_P_NAN;
        return nan | RDN_P_INF;
    case RDN_OP_DIV:
        if (pure_inf(a) && pure_inf(b))
            nan = RDN_P_NAN;
        return nan | RDN_P_INF | (const_nonzero(b) || (const_nonzero(a) && !pure_inf(a)) ? 0 : RDN_P_NAN);
    case RDN_OP_SQRT:
        return inf | RDN_P_NAN;
    default:                                             /* neg, abs, floor ...: as the operand; min, max: NaN is undefined */
        return op == RDN_OP_MIN || op == RDN_OP_MAX ? inf : nan | inf;
    }
}

/* Commutative operands stand in one order, constants last, so that equal nodes are found equal. */
static void place_operands(struct rdn_copy *c, struct rdn_pnode *p, rdn_pid a, rdn_pid b, bool commutes) {
    bool turn = commutes && (is_const(at(c, a)) || (!is_const(at(c, b)) && a > b));
    p->a = turn ? b : a;
    p->b = turn ? a : b;
}

static rdn_pid float_node(struct rdn_copy *c, rdn_id id, rdn_pid a, rdn_pid b) {
    const struct rdn_node *n = &c->pl->ir->nodes.v[id];
    struct rdn_pnode p = blank(n->op, n->type, 0, id);
    bool commutes = n->op == RDN_OP_ADD || n->op == RDN_OP_MUL;
    place_operands(c, &p, a, b, commutes);
    p.flags = RDN_P_NATIVE | (uint16_t)float_flags(n->op, at(c, a), b ? at(c, b) : NULL);
    p.flags |= at(c, a)->flags & (b ? at(c, b)->flags : RDN_P_EVENT) & RDN_P_EVENT;
    return intern(c, &p);
}

/* Integer and decimal arithmetic on operands of one scale (mul: any). */
static rdn_pid whole_node(struct rdn_copy *c, unsigned op, unsigned type, unsigned scale, rdn_id src, rdn_pid a, rdn_pid b) {
    const struct rdn_pnode *x = at(c, a), *y = b ? at(c, b) : x;
    struct rdn_pnode p = blank(op, type, scale, src);
    bool wide = wide_ok(x) && wide_ok(y);
    p.flags = RDN_P_NATIVE | (x->flags & y->flags & RDN_P_EVENT);
    switch (op) {
    case RDN_OP_ADD: set_range(&p, (rdn_i128)x->lo + y->lo, (rdn_i128)x->hi + y->hi); break;
    case RDN_OP_SUB: set_range(&p, (rdn_i128)x->lo - y->hi, (rdn_i128)x->hi - y->lo); break;
    case RDN_OP_MUL: mul_range(&p, x, y); break;
    case RDN_OP_NEG: set_range(&p, -(rdn_i128)x->hi, -(rdn_i128)x->lo); break;
    case RDN_OP_ABS: {
        rdn_i128 m = -(rdn_i128)x->lo > x->hi ? -(rdn_i128)x->lo : x->hi;
        set_range(&p, x->lo > 0 ? x->lo : 0, m);
        break;
    }
    default:                                             /* div, mod: -1 and 0 are left to interp */
        wide = false;
        if (!(y->lo > 0 || y->hi < -1))
            p.flags |= RDN_P_GUARD;
        if (op == RDN_OP_MOD && y->lo > 0)
            p.lo = x->lo < 0 ? -y->hi + 1 : 0, p.hi = y->hi - 1;
    }
    place_operands(c, &p, a, b, op == RDN_OP_ADD || op == RDN_OP_MUL);
    if (type == RDN_TY_D64 && wide)
        p.flags |= RDN_P_WIDE_OK;
    return intern(c, &p);
}

static rdn_pid arith(struct rdn_copy *c, rdn_id id) {
    const struct rdn_node *n = &c->pl->ir->nodes.v[id];
    bool unary = n->op == RDN_OP_NEG || n->op == RDN_OP_ABS;
    rdn_pid a = rdn_copy_node(c, n->a), b = unary ? 0 : rdn_copy_node(c, n->b);
    unsigned type = flat_type(n->type);
    if (!avail(c, a) || (b && !avail(c, b)) || !scalar(n->type))
        return opaque(c, id);
    if (type == RDN_TY_F64)
        return n->op == RDN_OP_MOD ? opaque(c, id) : float_node(c, id, a, b);
    if (type == RDN_TY_D64 && b && n->op != RDN_OP_MUL && !align2(c, &a, &b))
        return opaque(c, id);
    if (type == RDN_TY_D64 && n->op != RDN_OP_MUL && (is_dec(at(c, a)) ? at(c, a)->scale : 0) != n->scale) {
        a = align(c, a, n->scale);                       /* a constant may have shed more zeros than the node's scale allows */
        if (b && a)
            b = align(c, b, n->scale);
        if (!a || (!b && !unary))
            return opaque(c, id);
    }
    if (type == RDN_TY_D64 && n->op == RDN_OP_DIV)
        return opaque(c, id);
    return whole_node(c, n->op, type, n->scale, id, a, b);
}

/* min, max: operands of the node's type and scale. */
static rdn_pid min_max(struct rdn_copy *c, rdn_id id) {
    const struct rdn_ir *ir = c->pl->ir;
    const struct rdn_node *n = &ir->nodes.v[id];
    struct rdn_pnode p = blank(n->op, n->type, n->scale, id);
    rdn_id buf[3];
    rdn_pid v[8];
    uint32_t k;
    const rdn_id *ids = rdn_node_args(ir, n, buf, &k);
    if (!scalar(n->type) || !k || k > 8)
        return opaque(c, id);
    p.flags = RDN_P_NATIVE | RDN_P_EVENT;
    for (uint32_t i = 0; i < k; i++) {
        v[i] = rdn_copy_node(c, ids[i]);
        if (avail(c, v[i]) && p.type == RDN_TY_D64)
            v[i] = at(c, v[i])->scale > n->scale ? 0 : align(c, v[i], n->scale);
        if (!v[i] || !avail(c, v[i]))
            return opaque(c, id);
        p.flags &= (uint16_t)(at(c, v[i])->flags | (uint16_t)~RDN_P_EVENT);
        p.flags |= at(c, v[i])->flags & RDN_P_INF;
        if (!i)
            p.lo = at(c, v[0])->lo, p.hi = at(c, v[0])->hi;
        p.lo = at(c, v[i])->lo < p.lo ? at(c, v[i])->lo : p.lo;
        p.hi = at(c, v[i])->hi > p.hi ? at(c, v[i])->hi : p.hi;
    }
    return with_args(c, &p, v, k);
}

static rdn_pid sel(struct rdn_copy *c, rdn_id id) {
    const struct rdn_node *n = &c->pl->ir->nodes.v[id];
    rdn_pid x = rdn_copy_node(c, n->a), a = rdn_copy_node(c, n->b), b = rdn_copy_node(c, n->c);
    struct rdn_pnode p = blank(n->op, n->type, n->scale, id);
    if (is_const(at(c, x)))
        return at(c, x)->lo ? a : b;                     /* the other arm does not count */
    if (!scalar(n->type) || !avail(c, a) || !avail(c, b) || !avail(c, x))
        return opaque(c, id);
    if (p.type == RDN_TY_D64) {
        unsigned sa = is_dec(at(c, a)) ? at(c, a)->scale : 0, sb = is_dec(at(c, b)) ? at(c, b)->scale : 0;
        a = sa > n->scale ? 0 : align(c, a, n->scale);
        b = sb > n->scale ? 0 : align(c, b, n->scale);
        if (!a || !b)
            return opaque(c, id);
    }
    p.a = x;
    p.b = a;
    p.c = b;
    const struct rdn_pnode *l = at(c, a), *r = at(c, b);
    p.flags = RDN_P_NATIVE | (at(c, x)->flags & l->flags & r->flags & RDN_P_EVENT) | ((l->flags | r->flags) & (RDN_P_INF | RDN_P_NAN));
    p.lo = l->lo < r->lo ? l->lo : r->lo;
    p.hi = l->hi > r->hi ? l->hi : r->hi;
    return intern(c, &p);
}

/* ---- truth values ---- */
static rdn_pid cmp_node(struct rdn_copy *c, unsigned op, rdn_pid a, rdn_pid b, rdn_id src) {
    struct rdn_pnode p = blank(op, RDN_TY_B1, 0, src);
    place_operands(c, &p, a, b, op == RDN_OP_EQ || op == RDN_OP_NE);
    p.lo = 0;
    p.hi = 1;
    p.flags = RDN_P_NATIVE | (at(c, a)->flags & at(c, b)->flags & RDN_P_EVENT);
    return intern(c, &p);
}
static rdn_pid compare(struct rdn_copy *c, rdn_id id) {
    const struct rdn_node *n = &c->pl->ir->nodes.v[id];
    rdn_pid a = rdn_copy_node(c, n->a), b = rdn_copy_node(c, n->b);
    if (!avail(c, a) || !avail(c, b))
        return opaque(c, id);
    if ((is_dec(at(c, a)) || is_dec(at(c, b))) && !align2(c, &a, &b))
        return opaque(c, id);
    if (at(c, a)->type == RDN_TY_B1)
        return n->op == RDN_OP_NE ? rdn_copy_not(c, cmp_node(c, RDN_OP_EQ, a, b, 0)) : cmp_node(c, RDN_OP_EQ, a, b, id);
    switch (n->op) {
    case RDN_OP_GT: return cmp_node(c, RDN_OP_LT, b, a, id);
    case RDN_OP_GE: return cmp_node(c, RDN_OP_LE, b, a, id);
    default: return cmp_node(c, n->op, a, b, id);
    }
}

/* and, or of operands: flattened, sorted, each once; a dominating constant decides, a neutral one goes. */
static rdn_pid junction(struct rdn_copy *c, unsigned op, const rdn_pid *in, uint32_t k, rdn_id src) {
    struct rdn_plan *pl = c->pl;
    RDN_VEC(rdn_pid) v = {0};
    for (uint32_t i = 0; i < k; i++) {
        const struct rdn_pnode *n = at(c, in[i]);
        uint32_t m = 1;
        const rdn_pid *sub = n->op == op ? rdn_pargs(pl, n, &m) : &in[i];
        for (uint32_t j = 0; j < m; j++) {
            const struct rdn_pnode *s = at(c, sub[j]);
            if (is_const(s) && (s->lo != 0) == (op == RDN_OP_OR))
                return sub[j];
            if (is_const(s))
                continue;
            uint32_t at_pos = v.n;
            while (at_pos && v.v[at_pos - 1] > sub[j])
                at_pos--;
            if (at_pos && v.v[at_pos - 1] == sub[j])
                continue;
            rdn_push_val(c->tmp, &v, 0);
            memmove(v.v + at_pos + 1, v.v + at_pos, (v.n - 1 - at_pos) * sizeof *v.v);
            v.v[at_pos] = sub[j];
        }
    }
    if (!v.n)
        return bool_const(c, op == RDN_OP_AND);
    if (v.n == 1)
        return v.v[0];
    struct rdn_pnode p = blank(op, RDN_TY_B1, 0, src);
    p.lo = 0;
    p.hi = 1;
    p.flags = RDN_P_NATIVE | RDN_P_EVENT;
    for (uint32_t i = 0; i < v.n; i++)
        p.flags &= (uint16_t)(at(c, v.v[i])->flags | (uint16_t)~RDN_P_EVENT);
    return with_args(c, &p, v.v, v.n);
}

rdn_pid rdn_copy_all(struct rdn_copy *c, const rdn_pid *v, uint32_t n) { return junction(c, RDN_OP_AND, v, n, 0); }

rdn_pid rdn_copy_not(struct rdn_copy *c, rdn_pid x) {
    const struct rdn_pnode n = *at(c, x);
    if (is_const(&n))
        return bool_const(c, !n.lo);
    if (n.op == RDN_OP_NOT)
        return n.a;
    if ((n.op == RDN_OP_AND || n.op == RDN_OP_OR) && (n.flags & RDN_P_NATIVE)) {
        rdn_pid *v = rdn_new_n(c->tmp, rdn_pid, n.b);
        for (uint32_t i = 0; i < n.b; i++)
            v[i] = rdn_copy_not(c, c->pl->args.v[n.a + i]);
        return junction(c, n.op == RDN_OP_AND ? RDN_OP_OR : RDN_OP_AND, v, n.b, 0);
    }
    if (n.flags & RDN_P_NATIVE) {
        if (n.op == RDN_OP_LT)
            return cmp_node(c, RDN_OP_LE, n.b, n.a, 0);
        if (n.op == RDN_OP_LE)
            return cmp_node(c, RDN_OP_LT, n.b, n.a, 0);
        if ((n.op == RDN_OP_EQ || n.op == RDN_OP_NE) && at(c, n.a)->type != RDN_TY_B1)
            return cmp_node(c, n.op == RDN_OP_EQ ? RDN_OP_NE : RDN_OP_EQ, n.a, n.b, 0);
    }
    struct rdn_pnode p = blank(RDN_OP_NOT, RDN_TY_B1, 0, 0);
    p.a = x;
    p.lo = 0;
    p.hi = 1;
    p.flags = RDN_P_NATIVE | (n.flags & RDN_P_EVENT);
    return intern(c, &p);
}

#define PLAN(name, value, why) static const double k_##name __attribute__((unused)) = value;
#include "jit/plan.def"
#undef PLAN

/* x in [constants]: a chain of equalities when short. */
static rdn_pid inset(struct rdn_copy *c, rdn_id id) {
    const struct rdn_ir *ir = c->pl->ir;
    const struct rdn_node *n = &ir->nodes.v[id];
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *ids = rdn_node_args(ir, n, buf, &k);
    rdn_pid x = rdn_copy_node(c, ids[0]), v[64];
    if (!avail(c, x) || k - 1 > (uint32_t)k_set_max || k - 1 > 64)
        return opaque(c, id);
    for (uint32_t i = 1; i < k; i++) {
        rdn_pid a = x, e = rdn_copy_node(c, ids[i]);
        if (!is_const(at(c, e)) || ((is_dec(at(c, a)) || is_dec(at(c, e))) && !align2(c, &a, &e)))
            return opaque(c, id);
        v[i - 1] = cmp_node(c, RDN_OP_EQ, a, e, 0);
    }
    if (k == 1)
        return opaque(c, id);                            /* x in []: undefined when x is, which a constant would forget */
    return junction(c, RDN_OP_OR, v, k - 1, id);
}

/* Conversions, bit operations, roundings. `want` is the operand's type, 0 for integer or decimal. */
static rdn_pid convert(struct rdn_copy *c, rdn_id id) {
    const struct rdn_node *n = &c->pl->ir->nodes.v[id];
    struct rdn_pnode p = blank(n->op, n->type, n->scale, id);
    bool two = rdn_op_arity(n->op) == 2;
    p.a = rdn_copy_node(c, n->a);
    p.b = two ? rdn_copy_node(c, n->b) : 0;
    if (!avail(c, p.a) || (two && !avail(c, p.b)))
        return opaque(c, id);
    const struct rdn_pnode *a = at(c, p.a), *b = two ? at(c, p.b) : a;
    p.flags = RDN_P_NATIVE | (a->flags & b->flags & RDN_P_EVENT);
    switch (n->op) {
    case RDN_OP_RATIO: case RDN_OP_IRATIO:               /* 0/0 */
        if (!const_nonzero(b))
            p.flags |= RDN_P_NAN | RDN_P_INF;
        break;
    case RDN_OP_FLOOR: case RDN_OP_CEIL: case RDN_OP_TRUNC: case RDN_OP_SQRT:
        p.flags |= (uint16_t)float_flags(n->op, a, NULL);
        break;
    case RDN_OP_F2I: p.flags |= RDN_P_GUARD; break;
    case RDN_OP_B2I: p.lo = 0, p.hi = 1; break;
    default: break;
    }
    return intern(c, &p);
}

static rdn_pid rescale(struct rdn_copy *c, rdn_id id) {
    const struct rdn_node *n = &c->pl->ir->nodes.v[id];
    rdn_pid a = rdn_copy_node(c, n->a);
    unsigned from = is_dec(at(c, a)) ? at(c, a)->scale : 0;
    if (!avail(c, a) || from > n->scale)
        return opaque(c, id);                            /* digits go: rounding is interp's */
    rdn_pid p = align(c, a, n->scale);
    return p ? p : opaque(c, id);
}

static rdn_pid copy_new(struct rdn_copy *c, rdn_id id) {
    const struct rdn_ir *ir = c->pl->ir;
    const struct rdn_node *n = &ir->nodes.v[id];
    if (n->op == RDN_OP_USE)
        return rdn_copy_node(c, n->a);
    if (n->op == RDN_OP_INLINE)
        return rdn_copy_node(c, ir->args.v[n->a + n->b - 1]);
    if (n->op == RDN_OP_FIELD || n->op == RDN_OP_PARAM || n->op == RDN_OP_NOW || n->op == RDN_OP_TS)
        return leaf(c, id);
    if (n->op == RDN_OP_CONST || is_constant(c, id))
        return const_node(c, id);
    switch (n->op) {
    case RDN_OP_AND: case RDN_OP_OR: {
        rdn_pid v[2] = {rdn_copy_node(c, n->a), rdn_copy_node(c, n->b)};
        return avail(c, v[0]) && avail(c, v[1]) ? junction(c, n->op, v, 2, id) : opaque(c, id);
    }
    case RDN_OP_NOT: {
        rdn_pid x = rdn_copy_node(c, n->a);
        return avail(c, x) ? rdn_copy_not(c, x) : opaque(c, id);
    }
    case RDN_OP_EQ: case RDN_OP_NE: case RDN_OP_LT: case RDN_OP_LE: case RDN_OP_GT: case RDN_OP_GE:
        return compare(c, id);
    case RDN_OP_ADD: case RDN_OP_SUB: case RDN_OP_MUL: case RDN_OP_DIV: case RDN_OP_MOD: case RDN_OP_NEG: case RDN_OP_ABS:
        return arith(c, id);
    case RDN_OP_MIN: case RDN_OP_MAX:
        return min_max(c, id);
    case RDN_OP_SEL:
        return sel(c, id);
    case RDN_OP_INSET:
        return inset(c, id);
    case RDN_OP_RESCALE:
        return rescale(c, id);
    case RDN_OP_NARROW: {
        rdn_pid a = rdn_copy_node(c, n->a);              /* native decimals fit int64 or are left to interp */
        return avail(c, a) ? a : opaque(c, id);
    }
    case RDN_OP_RATIO: case RDN_OP_IRATIO: case RDN_OP_I2F: case RDN_OP_D2F: case RDN_OP_F2I: case RDN_OP_B2I: case RDN_OP_FLOOR:
    case RDN_OP_CEIL: case RDN_OP_TRUNC: case RDN_OP_SQRT: case RDN_OP_BAND: case RDN_OP_BOR: case RDN_OP_BXOR: case RDN_OP_BNOT:
        return convert(c, id);
    default:
        return opaque(c, id);
    }
}

rdn_pid rdn_copy_node(struct rdn_copy *c, rdn_id id) {
    if (c->memo[id].stamp != c->stamp) {
        rdn_pid p = copy_new(c, id);
        c->memo[id].pid = p;
        c->memo[id].stamp = c->stamp;
    }
    return c->memo[id].pid;
}
