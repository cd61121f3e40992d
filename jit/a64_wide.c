/* SPDX-License-Identifier: Apache-2.0
 * a64_wide.c: comparisons of decimals in 128 bits: where 64 would be a wasted try, and behind a failed 64-bit one.
 *
 * A value is a pair of registers. A product needs one factor of 64 bits; anything beyond that, and 128-bit overflow, taints. */
#include "jit/a64_gen.h"
#include "jit/faults.h"

/* ---- which ---- */
static bool narrow(const struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    return g->done[p] || (n->flags & RDN_P_SLOT) || n->type == RDN_TY_I64 || rdn_pnode_leaf(n);
}
/* Some node of the tree in 128 bits for which `is` holds; in_product: below a guarded product. */
typedef bool node_test(const struct rdn_pnode *, bool mul, bool in_product);
static bool any_node(const struct a64_gen *g, rdn_pid p, bool in_product, node_test *is) {
    const struct rdn_pnode *n = a64_node(g, p);
    if (narrow(g, p))
        return false;
    bool mul = n->op == RDN_OP_MUL && (n->flags & RDN_P_GUARD) && !a64_is_const(a64_node(g, n->b));
    return is(n, mul, in_product) || any_node(g, n->a, in_product || mul, is) || (n->b && any_node(g, n->b, in_product || mul, is));
}
static bool is_guarded(const struct rdn_pnode *n, bool mul, bool in_product) { return (void)mul, (void)in_product, n->flags & RDN_P_GUARD; }
/* A product whose factor is a product or was widened: most values would overflow 64 bits. */
static bool is_nested(const struct rdn_pnode *n, bool mul, bool in_product) { return (void)n, mul && in_product; }

bool a64_can_wide(const struct a64_gen *g, rdn_pid cmp) {
    const struct rdn_pnode *n = a64_node(g, cmp), *a = a64_node(g, n->a), *b = a64_node(g, n->b);
    if (a->type != RDN_TY_D64 && b->type != RDN_TY_D64)
        return false;
    return (narrow(g, n->a) || (a->flags & RDN_P_WIDE_OK)) && (narrow(g, n->b) || (b->flags & RDN_P_WIDE_OK));
}
bool a64_wants_wide(const struct a64_gen *g, rdn_pid cmp) {
    const struct rdn_pnode *n = a64_node(g, cmp);
    if (g->no_cold || !a64_can_wide(g, cmp))
        return false;
    return (any_node(g, n->a, false, is_guarded) || any_node(g, n->b, false, is_guarded)) &&
           (any_node(g, n->a, false, is_nested) || any_node(g, n->b, false, is_nested));
}

/* ---- 128-bit arithmetic ---- */
struct pair { unsigned lo, hi; };
static void drop(struct a64_gen *g, struct pair p) {
    a64_gfree(g, p.lo);
    a64_gfree(g, p.hi);
}
/* a *= k, signed. hi * k outside 64 bits would only rarely come back into 128: tainted. */
static void times(struct a64_gen *g, struct pair a, unsigned k) {
    struct a64_buf *b = &g->b;
    a_rrr(b, A_SMULH, A64_TMP, a.hi, k);
    a_rrr(b, A_MUL, a.hi, a.hi, k);
    a_rrr_shift(b, A_SUBS, A_ZR, A64_TMP, a.hi, A_ASR, 63);
    a64_jump_taint(g, A_NE);
    a_rrr_shift(b, A_AND, A64_TMP, a.lo, k, A_ASR, 63);  /* a negative k is read as k + 2^64 below */
    a_rrr(b, A_UMULH, A_A1, a.lo, k);
    a_rrr(b, A_SUB, A_A1, A_A1, A64_TMP);
    a_rrr(b, A_MUL, a.lo, a.lo, k);
    a_rrr(b, A_ADDS, a.hi, a.hi, A_A1);
    a64_jump_taint(g, A_VS);
}
static struct pair wide_value(struct a64_gen *g, rdn_pid p);

static struct pair wide_sum(struct a64_gen *g, const struct rdn_pnode *n) {
    bool add = n->op == RDN_OP_ADD;
    struct pair l = wide_value(g, n->a), r = wide_value(g, n->b);
    a_rrr(&g->b, add ? A_ADDS : A_SUBS, l.lo, l.lo, r.lo);
    a_rrr(&g->b, add ? rdn_fault(A64_WIDE_CARRY) ? A_ADDS : A_ADCS : A_SBCS, l.hi, l.hi, r.hi);
    a64_jump_taint(g, A_VS);
    drop(g, r);
    return l;
}
static struct pair wide_product(struct a64_gen *g, const struct rdn_pnode *n) {
    struct pair l = wide_value(g, n->a), r = wide_value(g, n->b);
    a_rrr_shift(&g->b, A_SUBS, A_ZR, r.hi, r.lo, A_ASR, 63);     /* the second one must fit 64 bits */
    if (!rdn_fault(A64_WIDE_SECOND))
        a64_jump_taint(g, A_NE);
    times(g, l, r.lo);
    drop(g, r);
    return l;
}
static struct pair wide_negation(struct a64_gen *g, const struct rdn_pnode *n) {
    struct pair v = wide_value(g, n->a);
    a_rrr(&g->b, A_SUBS, A64_TMP, A_ZR, v.lo);
    a_rrr(&g->b, A_SBCS, A_A1, A_ZR, v.hi);
    a64_jump_taint(g, A_VS);
    enum a_cc when = n->op == RDN_OP_ABS ? A_MI : A_AL;  /* abs: only where the value is negative */
    a_cmp_i(&g->b, v.hi, 0);
    a_csel(&g->b, v.lo, A64_TMP, v.lo, when);
    a_csel(&g->b, v.hi, A_A1, v.hi, when);
    return v;
}
static struct pair wide_value(struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    struct pair v = {4, 5};
    if (narrow(g, p)) {
        v.lo = a64_int(g, p);
        v.hi = a64_gpr(g);
        a_asr(&g->b, v.hi, v.lo, 63);
        return v;
    }
    switch (n->op) {
    case RDN_OP_ADD: case RDN_OP_SUB: return wide_sum(g, n);
    case RDN_OP_MUL: return wide_product(g, n);
    case RDN_OP_NEG: case RDN_OP_ABS: return wide_negation(g, n);
    case RDN_OP_RESCALE: {
        uint64_t k = (uint64_t)rdn_pow10(n->scale - (a64_node(g, n->a)->type == RDN_TY_D64 ? a64_node(g, n->a)->scale : 0u));
        v = wide_value(g, n->a);
        a64_const(g, A_A0, k);
        times(g, v, A_A0);
        return v;
    }
    default:
        g->failed = true;                                /* not WIDE_OK: never asked for */
        return v;
    }
}

void a64_wide_compare(struct a64_gen *g, rdn_pid cmp, unsigned dest) {
    const struct rdn_pnode *n = a64_node(g, cmp);
    bool no_cold = g->no_cold, equal = n->op == RDN_OP_EQ || n->op == RDN_OP_NE;
    g->no_cold = true;                                   /* 64-bit pieces inside: overflow taints */
    struct pair l = wide_value(g, n->a), r = wide_value(g, n->b);
    if (equal) {
        a_cmp(&g->b, l.lo, r.lo);
        a_ccmp(&g->b, l.hi, rdn_fault(A64_WIDE_EQ) ? l.hi : r.hi, 0, A_EQ);
        a_cset(&g->b, dest, n->op == RDN_OP_EQ ? A_EQ : A_NE);
    } else if (n->op == RDN_OP_LT) {                     /* a < b: a - b is negative */
        a_cmp(&g->b, l.lo, r.lo);
        a_rrr(&g->b, A_SBCS, A_ZR, l.hi, r.hi);
        a_cset(&g->b, dest, rdn_fault(A64_WIDE_LT) ? A_LO : A_LT);
    } else {                                             /* a <= b: b - a is not */
        a_cmp(&g->b, r.lo, l.lo);
        a_rrr(&g->b, A_SBCS, A_ZR, r.hi, l.hi);
        a_cset(&g->b, dest, A_GE);
    }
    drop(g, l);
    drop(g, r);
    g->no_cold = no_cold;
}
