/* SPDX-License-Identifier: Apache-2.0
 * a64_bool.c: truth values: f64 comparisons as masks in d registers, all others in bit 0 of a general register (a64_gen.h). */
#include "jit/a64_gen.h"
#include "jit/faults.h"

/* ---- clauses ---- */
struct a64_clause a64_clause_begin(struct a64_gen *g) {
    struct a64_clause c = {g->taint, g->cold, A64_GPRS & ~g->gfree};
    g->taint = g->cold = A64_NONE;
    return c;
}
void a64_clause_end(struct a64_gen *g, struct a64_clause c, rdn_pid p, unsigned dest) {
    uint32_t here = a_pos(&g->b);
    if (g->taint != A64_NONE)
        g->stubs.v[g->taint].resume = here;
    if (g->cold != A64_NONE) {
        struct a64_stub *s = &g->stubs.v[g->cold];
        s->resume = here, s->node = p, s->dest = (uint8_t)dest, s->live = c.live;
    }
    g->taint = c.taint;
    g->cold = c.cold;
}

/* ---- masks ---- */
static bool is_cmp(const struct rdn_pnode *n) { return n->op == RDN_OP_LT || n->op == RDN_OP_LE || n->op == RDN_OP_EQ || n->op == RDN_OP_NE; }
static bool is_float_cmp(const struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    return is_cmp(n) && (n->flags & RDN_P_NATIVE) && !g->done[p] && a64_node(g, n->a)->type == RDN_TY_F64;
}
bool a64_maskable(const struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    if (g->done[p] || (n->flags & RDN_P_SLOT))
        return false;
    if (n->op != RDN_OP_AND && n->op != RDN_OP_OR)
        return is_float_cmp(g, p);
    bool all = true;
    for (uint32_t i = 0; all && i < n->b; i++)
        all = a64_maskable(g, g->pl->args.v[n->a + i]);
    return all;
}
/* Both sides in registers; NaN taints. The flags are those of fcmp if asked for. */
static void float_sides(struct a64_gen *g, const struct rdn_pnode *n, bool flags, unsigned *l, unsigned *r) {
    bool nan = (a64_node(g, n->a)->flags | a64_node(g, n->b)->flags) & RDN_P_NAN, no_cold = g->no_cold;
    g->no_cold = true;                                   /* decimals inside become floats: no 128-bit form of that */
    *l = a64_f64(g, n->a);
    *r = a64_f64(g, n->b);
    if (nan || flags)
        a_fcmp(&g->b, *l, *r);
    if (nan)
        a64_jump_taint(g, A_VS);
    g->no_cold = no_cold;
}
static unsigned float_cmp(struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    struct a64_clause c = a64_clause_begin(g);
    unsigned l, r;
    float_sides(g, n, false, &l, &r);
    unsigned d = a64_owned(l) ? l : a64_owned(r) ? r : a64_fpr(g);
    if (n->op == RDN_OP_LT || n->op == RDN_OP_LE)
        a_mask(&g->b, n->op == RDN_OP_LT || rdn_fault(A64_MASK_LE) ? A_FCMGT : A_FCMGE, d, r, l);
    else
        a_mask(&g->b, A_FCMEQ, d, l, r);
    if (n->op == RDN_OP_NE && !rdn_fault(A64_MASK_NE))
        a_vnot(&g->b, d, d);
    if (d == l)
        a64_ffree(g, r);
    a64_clause_end(g, c, p, 0);
    return d;
}
static unsigned mask_junction(struct a64_gen *g, unsigned op, const rdn_pid *v, uint32_t k) {
    unsigned acc = A_ZR;
    for (uint32_t i = 0; i < k; i++) {
        if (!a64_maskable(g, v[i]))
            continue;
        unsigned m = a64_mask(g, v[i]);
        if (acc == A_ZR) {
            acc = m;
            continue;
        }
        a_mask(&g->b, op == RDN_OP_AND ? A_VAND : A_VORR, acc, acc, m);
        a64_ffree(g, m);
    }
    return acc;
}
unsigned a64_mask(struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    bool junction = n->op == RDN_OP_AND || n->op == RDN_OP_OR;
    return junction ? mask_junction(g, n->op, g->pl->args.v + n->a, n->b) : float_cmp(g, p);
}
static unsigned from_mask(struct a64_gen *g, unsigned m) {
    unsigned r = a64_gpr(g);
    a_fmov_xd(&g->b, r, m);
    a64_ffree(g, m);
    return r;
}

/* ---- integer comparisons ---- */
static enum a_cc int_cc(unsigned op) { return op == RDN_OP_LT ? A_LT : op == RDN_OP_LE ? A_LE : op == RDN_OP_EQ ? A_EQ : A_NE; }
static enum a_cc swapped_cc(enum a_cc cc) { return cc == A_LT ? A_GT : cc == A_LE ? A_GE : cc; }

/* Sets the flags of the comparison; returns the condition that means true. */
static enum a_cc int_flags(struct a64_gen *g, const struct rdn_pnode *n) {
    bool swap = a64_is_const(a64_node(g, n->a));         /* the constant is the second operand */
    const struct rdn_pnode *second = a64_node(g, swap ? n->a : n->b);
    unsigned r = a64_int(g, swap ? n->b : n->a);
    if (a64_is_const(second) && second->lo >= 0 && second->lo < 4096) {
        a_cmp_i(&g->b, r, (unsigned)second->lo);
    } else if (a64_is_const(second) && second->lo < 0 && second->lo > -4096) {
        a_cmn_i(&g->b, r, (unsigned)-second->lo);
    } else {
        unsigned s = a64_second(g, swap ? n->a : n->b);
        a_cmp(&g->b, r, s);
        a64_gfree(g, s);
    }
    a64_gfree(g, r);
    return swap ? swapped_cc(int_cc(n->op)) : int_cc(n->op);
}
static unsigned int_cmp(struct a64_gen *g, rdn_pid p) {
    struct a64_clause c = a64_clause_begin(g);
    bool no_cold = g->no_cold;
    unsigned d = a64_gpr(g);
    if (a64_wants_wide(g, p)) {
        a64_wide_compare(g, p, d);
    } else {
        g->no_cold = no_cold || !a64_can_wide(g, p);
        a_cset(&g->b, d, int_flags(g, a64_node(g, p)));
        g->no_cold = no_cold;
    }
    a64_clause_end(g, c, p, d);
    return d;
}

/* ---- everything ---- */
static unsigned bool_junction(struct a64_gen *g, unsigned op, const rdn_pid *v, uint32_t k) {
    enum a_rrr join = op == RDN_OP_AND ? A_AND : A_ORR;
    unsigned acc = A_ZR, masks = 0;
    for (uint32_t i = 0; i <= k; i++) {                  /* all masks at once at the end */
        bool mask = i == k || a64_maskable(g, v[i]);
        masks += i < k && mask;
        if (i < k ? mask : !masks)
            continue;
        unsigned r = i < k ? a64_bool(g, v[i]) : from_mask(g, mask_junction(g, op, v, k));
        if (acc == A_ZR) {
            acc = r;
            continue;
        }
        a_rrr(&g->b, join, acc, acc, r);
        a64_gfree(g, r);
    }
    return acc;
}
unsigned a64_all_of(struct a64_gen *g, const rdn_pid *v, uint32_t n) { return n == 1 ? a64_bool(g, v[0]) : bool_junction(g, RDN_OP_AND, v, n); }

static unsigned bool_select(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned c = a64_bool(g, n->a), yes = a64_bool(g, n->b), no = a64_bool(g, n->c);
    a_tst1(&g->b, c);
    a_csel(&g->b, yes, yes, no, A_NE);
    a64_gfree(g, c);
    a64_gfree(g, no);
    return yes;
}
static unsigned bool_equal(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned a = a64_bool(g, n->a), b = a64_bool(g, n->b);
    a_rrr(&g->b, A_EOR, a, a, b);
    a64_gfree(g, b);
    if (n->op != RDN_OP_NE)
        a_eor1(&g->b, a, a);
    return a;
}

unsigned a64_bool(struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    unsigned r;
    if (a64_load_leaf(g, p, &r))
        return r;
    if (is_float_cmp(g, p))
        return from_mask(g, float_cmp(g, p));
    if (is_cmp(n))
        return a64_node(g, n->a)->type == RDN_TY_B1 ? bool_equal(g, n) : int_cmp(g, p);
    switch (n->op) {
    case RDN_OP_AND: case RDN_OP_OR: return bool_junction(g, n->op, g->pl->args.v + n->a, n->b);
    case RDN_OP_SEL: return bool_select(g, n);
    case RDN_OP_NOT:
        r = a64_bool(g, n->a);
        a_eor1(&g->b, r, r);
        return r;
    default:
        g->failed = true;
        return 4;
    }
}

/* ---- jumps ---- */
static bool is_int_cmp(const struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    unsigned type = a64_node(g, n->a)->type;
    return is_cmp(n) && (n->flags & RDN_P_NATIVE) && !g->done[p] && (type == RDN_TY_I64 || type == RDN_TY_D64) && !a64_can_wide(g, p);
}
void a64_skip_unless(struct a64_gen *g, rdn_pid p, uint32_t *skip) {
    const struct rdn_pnode *n = a64_node(g, p);
    struct a64_clause c = a64_clause_begin(g);
    unsigned l, r;
    if (is_float_cmp(g, p)) {                            /* unordered is tainted: either way will do */
        float_sides(g, n, true, &l, &r);
        a64_ffree(g, l);
        a64_ffree(g, r);
        a64_jump(g, n->op == RDN_OP_LT ? A_PL : n->op == RDN_OP_LE ? A_HI : n->op == RDN_OP_EQ ? A_NE : A_EQ, skip);
    } else if (is_int_cmp(g, p)) {
        bool no_cold = g->no_cold;
        g->no_cold = true;                               /* a cold stub would come back behind the jump */
        enum a_cc cc = int_flags(g, n);
        a64_jump(g, cc ^ 1u, skip);
        g->no_cold = no_cold;
    } else {
        r = a64_bool(g, p);
        a_tst1(&g->b, r);
        a64_gfree(g, r);
        a64_jump(g, A_EQ, skip);
    }
    a64_clause_end(g, c, p, 0);
}
