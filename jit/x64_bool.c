/* SPDX-License-Identifier: Apache-2.0
 * x64_bool.c: truth values: f64 comparisons as masks in xmm, all others as 0 or 1 in a general register (x64_gen.h). */
#include "jit/x64_gen.h"

/* ---- clauses ---- */
struct x64_clause x64_clause_begin(struct x64_gen *g) {
    struct x64_clause c = {g->taint, g->cold, X64_GPRS & ~g->gfree};
    g->taint = g->cold = X64_NONE;
    return c;
}
/* Everything that jumped away comes back here. `dest` holds the answer of a decimal comparison `p`. */
void x64_clause_end(struct x64_gen *g, struct x64_clause c, rdn_pid p, unsigned dest) {
    if (g->taint != X64_NONE)
        g->stubs.v[g->taint].resume = x_pos(&g->b);
    if (g->cold != X64_NONE) {
        struct x64_stub *s = &g->stubs.v[g->cold];
        s->resume = x_pos(&g->b);
        s->node = p;
        s->dest = (uint8_t)(rdn_fault(COLD_DEST) ? dest ^ 1u : dest);
        s->live = c.live;
    }
    g->taint = c.taint;
    g->cold = c.cold;
}

/* ---- masks ---- */
static bool is_float_cmp(const struct x64_gen *g, const struct rdn_pnode *n) {
    return (n->op == RDN_OP_LT || n->op == RDN_OP_LE || n->op == RDN_OP_EQ || n->op == RDN_OP_NE) && (n->flags & RDN_P_NATIVE) &&
           x64_node(g, n->a)->type == RDN_TY_F64;
}
bool x64_maskable(const struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    if (g->done[p] || (n->flags & RDN_P_SLOT))
        return false;
    if (n->op != RDN_OP_AND && n->op != RDN_OP_OR)
        return is_float_cmp(g, n);
    for (uint32_t i = 0; i < n->b; i++)
        if (!x64_maskable(g, g->pl->args.v[n->a + i]))
            return false;
    return true;
}

enum x_cmp x64_float_pred(unsigned op, bool swapped) {
    switch (op) {
    case RDN_OP_LT: return swapped && !rdn_fault(FLT_SWAPPED) ? X_GT_OQ : rdn_fault(FLT_LE) ? X_LE_OQ : X_LT_OQ;
    case RDN_OP_LE: return swapped ? X_GE_OQ : X_LE_OQ;
    case RDN_OP_EQ: return rdn_fault(FNE_ORDERED) ? X_NEQ_UQ : X_EQ_OQ;
    default: return X_NEQ_UQ;
    }
}
static unsigned float_cmp(struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_clause c = x64_clause_begin(g);
    rdn_pid a = n->a, b = n->b;
    struct x64_mem m;
    bool no_cold = g->no_cold, swapped = x64_is_const(x64_node(g, a)), mem, nan = (x64_node(g, a)->flags | x64_node(g, b)->flags) & RDN_P_NAN;
    g->no_cold = true;                                   /* decimals inside become floats: no 128-bit form of that */
    if (swapped) {                                       /* c < x: x > c, the constant in memory */
        a = n->b;
        b = n->a;
    }
    struct x64_xv l = x64_f64(g, a), r = {0, false};
    mem = x64_f64_mem(g, b, &m);
    if (!mem)
        r = x64_f64(g, b);
    if (nan && mem)
        x_vucomisd_rm(&g->b, l.reg, m);
    else if (nan)
        x_vucomisd_rr(&g->b, l.reg, r.reg);
    if (nan && !rdn_fault(FCMP_NAN))
        x64_jump_taint(g, X_P);
    unsigned d = l.owned ? l.reg : r.owned ? r.reg : x64_xmm(g);
    if (mem)
        x_vcmpsd_rm(&g->b, x64_float_pred(n->op, swapped), d, l.reg, m);
    else if (r.reg > 7 && l.reg < 8)                     /* a byte shorter */
        x_vcmpsd_rr(&g->b, x64_float_pred(n->op, !swapped), d, r.reg, l.reg);
    else
        x_vcmpsd_rr(&g->b, x64_float_pred(n->op, swapped), d, l.reg, r.reg);
    if (l.owned && r.owned)
        x64_xdone(g, r);
    g->no_cold = no_cold;
    x64_clause_end(g, c, p, 0);
    return d;
}
static unsigned mask_junction(struct x64_gen *g, unsigned op, const rdn_pid *v, uint32_t k) {
    unsigned acc = 0;
    bool any = false;
    for (uint32_t i = 0; i < k; i++) {
        if (!x64_maskable(g, v[i]))
            continue;
        unsigned m = x64_mask(g, v[i]);
        if (any) {
            x_vbits_rr(&g->b, op == RDN_OP_AND && !rdn_fault(MASK_AND) ? X_VAND : X_VOR, acc, acc, m);
            g->xfree |= 1u << m;
        } else {
            acc = m;
            any = true;
        }
    }
    return acc;
}
unsigned x64_mask(struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    if (n->op == RDN_OP_AND || n->op == RDN_OP_OR)
        return mask_junction(g, n->op, g->pl->args.v + n->a, n->b);
    return float_cmp(g, p);
}

/* ---- integer comparisons ---- */
static enum x_cc int_cc(unsigned op) {
    if (op == RDN_OP_LT)
        return rdn_fault(ICMP_UNSIGNED) ? X_B : X_L;
    if (op == RDN_OP_LE)
        return rdn_fault(ICMP_LE) ? X_L : X_LE;
    return op == RDN_OP_EQ ? X_E : X_NE;
}
static enum x_cc swapped_cc(enum x_cc cc) { return rdn_fault(ICMP_SWAPPED) ? cc : cc == X_L ? X_G : cc == X_LE ? X_GE : cc; }

/* cmp [field], constant in the field's own width. Narrow unsigned fields only for equality: the conditions are signed. */
static bool cmp_in_place(struct x64_gen *g, rdn_pid x, int64_t v, unsigned op) {
    const struct rdn_pnode *n = x64_node(g, x);
    struct x64_mem m;
    unsigned size;
    bool equality = op == RDN_OP_EQ || op == RDN_OP_NE;
    if (!x64_place(g, x, &m, &size) || v < n->lo || v > n->hi)
        return false;
    if (size == 8 ? v != (int32_t)v && !rdn_fault(CMP_IN_PLACE) : !equality && (size == 1 || n->lo >= 0))
        return false;
    x_cmp_mi(&g->b, size, m, (int32_t)v);
    return true;
}
/* Sets the flags of the comparison; returns the condition that means true. */
static enum x_cc int_flags(struct x64_gen *g, const struct rdn_pnode *n) {
    const struct rdn_pnode *a = x64_node(g, n->a), *b = x64_node(g, n->b);
    enum x_cc cc = int_cc(n->op);
    if (x64_is_const(b) && cmp_in_place(g, n->a, b->lo, n->op))
        return cc;
    if (x64_is_const(a) && cmp_in_place(g, n->b, a->lo, n->op))
        return swapped_cc(cc);
    bool swap = x64_is_const(a);                         /* the constant may be an operand in memory, not the first one */
    unsigned r = x64_int(g, swap ? n->b : n->a);
    x64_alu_value(g, X_CMP, r, swap ? n->a : n->b);
    x64_gfree(g, r);
    return swap ? swapped_cc(cc) : cc;
}
static unsigned int_cmp(struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_clause c = x64_clause_begin(g);
    bool wide = x64_wants_wide(g, p), no_cold = g->no_cold;
    unsigned d = x64_gpr(g);
    if (wide) {
        x64_wide_compare(g, p, d, c.live);
    } else {
        g->no_cold = no_cold || !x64_can_wide(g, p);
        x_alu32_rr(&g->b, X_XOR, d, d);                  /* before the operands: it changes the flags, setcc does not */
        x_setcc(&g->b, int_flags(g, n), d);
        g->no_cold = no_cold;
    }
    x64_clause_end(g, c, p, d);
    return d;
}

/* ---- everything ---- */
static unsigned bool_junction(struct x64_gen *g, unsigned op, const rdn_pid *v, uint32_t k) {
    enum x_alu alu = op == RDN_OP_AND && !rdn_fault(BOOL_AND) ? X_AND : X_OR;
    unsigned acc = 0, masks = 0;
    bool any = false;
    for (uint32_t i = 0; i < k; i++) {
        if (x64_maskable(g, v[i])) {
            masks++;
            continue;
        }
        unsigned r = x64_bool(g, v[i]);
        if (any) {
            x_alu32_rr(&g->b, alu, acc, r);
            x64_gfree(g, r);
        } else {
            acc = r;
            any = true;
        }
    }
    if (!masks)
        return acc;
    unsigned m = mask_junction(g, op, v, k), r = x64_gpr(g);
    x_vmovmskpd(&g->b, r, m);
    g->xfree |= 1u << m;
    if (!any)
        return r;
    x_alu32_rr(&g->b, alu, acc, r);
    x64_gfree(g, r);
    return acc;
}
unsigned x64_all_of(struct x64_gen *g, const rdn_pid *v, uint32_t n) { return n == 1 ? x64_bool(g, v[0]) : bool_junction(g, RDN_OP_AND, v, n); }

static unsigned bool_select(struct x64_gen *g, const struct rdn_pnode *n) {
    unsigned c = x64_bool(g, n->a), yes = x64_bool(g, n->b), no = x64_bool(g, n->c);
    return x64_select(g, c, yes, no);
}
static unsigned bool_equal(struct x64_gen *g, const struct rdn_pnode *n) {
    unsigned a = x64_bool(g, n->a), b = x64_bool(g, n->b);
    x_alu32_rr(&g->b, X_XOR, a, b);
    x_alu32_ri(&g->b, X_XOR, a, !rdn_fault(BOOL_EQUAL));
    x64_gfree(g, b);
    return a;
}

unsigned x64_bool(struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    unsigned r, mask;
    if (x64_load_leaf(g, p, &r))
        return r;
    switch (n->op) {
    case RDN_OP_AND: case RDN_OP_OR:
        return bool_junction(g, n->op, g->pl->args.v + n->a, n->b);
    case RDN_OP_NOT:
        r = x64_bool(g, n->a);
        x_alu32_ri(&g->b, X_XOR, r, !rdn_fault(NOT_LOST));
        return r;
    case RDN_OP_SEL: return bool_select(g, n);
    case RDN_OP_EQ: case RDN_OP_NE: case RDN_OP_LT: case RDN_OP_LE:
        if (x64_node(g, n->a)->type == RDN_TY_B1)
            return bool_equal(g, n);
        if (!is_float_cmp(g, n))
            return int_cmp(g, p);
        mask = float_cmp(g, p);
        r = x64_gpr(g);
        x_vmovmskpd(&g->b, r, mask);
        g->xfree |= 1u << mask;
        return r;
    default:
        g->failed = true;
        return X_RCX;
    }
}

static void skip_jump(struct x64_gen *g, enum x_cc cc, struct x64_stub *skip) {
    struct x64_jump *j = rdn_push(g->arena, &g->jumps);
    *j = (struct x64_jump){x_jcc(&g->b, cc), skip->jumps};
    skip->jumps = g->jumps.n;
}
static bool is_int_cmp(const struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    bool cmp = n->op == RDN_OP_EQ || n->op == RDN_OP_NE || n->op == RDN_OP_LT || n->op == RDN_OP_LE;
    return cmp && (n->flags & RDN_P_NATIVE) && !g->done[p] && (x64_node(g, n->a)->type == RDN_TY_I64 || x64_node(g, n->a)->type == RDN_TY_D64) &&
           !x64_can_wide(g, p);
}
/* vucomisd l, r leaves the flags of an unsigned comparison; unordered looks like "below". What is unordered is tainted, so
 * either way will do. */
static void skip_float(struct x64_gen *g, rdn_pid p, struct x64_stub *skip) {
    const struct rdn_pnode *n = x64_node(g, p);
    bool swap = n->op == RDN_OP_LT || n->op == RDN_OP_LE;        /* a < b: compare b with a, skip unless above */
    rdn_pid a = swap ? n->b : n->a, b = swap ? n->a : n->b;
    enum x_cc unless = n->op == RDN_OP_LT ? X_BE : n->op == RDN_OP_LE ? X_B : n->op == RDN_OP_EQ ? X_NE : X_E;
    struct x64_mem m;
    if (swap && x64_is_const(x64_node(g, a))) {          /* a < c: the constant stays in memory, skip unless below */
        a = n->a;
        b = n->b;
        unless = n->op == RDN_OP_LT ? X_AE : X_A;
    }
    struct x64_xv l = x64_f64(g, a), r = {0, false};
    if (x64_f64_mem(g, b, &m)) {
        x_vucomisd_rm(&g->b, l.reg, m);
    } else {
        r = x64_f64(g, b);
        x_vucomisd_rr(&g->b, l.reg, r.reg);
    }
    if ((x64_node(g, a)->flags | x64_node(g, b)->flags) & RDN_P_NAN)
        x64_jump_taint(g, X_P);
    x64_xdone(g, l);
    x64_xdone(g, r);
    skip_jump(g, unless, skip);
}
void x64_skip_unless(struct x64_gen *g, rdn_pid p, struct x64_stub *skip) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_clause c = x64_clause_begin(g);
    bool no_cold = g->no_cold;
    g->no_cold = true;
    if (is_float_cmp(g, n) && !g->done[p]) {
        skip_float(g, p, skip);
    } else if (is_int_cmp(g, p)) {
        skip_jump(g, int_flags(g, n) ^ !rdn_fault(BRANCH_TURNED), skip);
    } else {
        g->no_cold = no_cold;
        unsigned r = x64_bool(g, p);
        x_test32_rr(&g->b, r, r);
        x64_gfree(g, r);
        skip_jump(g, X_E, skip);
    }
    g->no_cold = no_cold;
    x64_clause_end(g, c, p, 0);
}
