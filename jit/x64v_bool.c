/* SPDX-License-Identifier: Apache-2.0
 * x64v_bool.c: truth values of 8 events: k registers, or pairs of ymm (x64v_gen.h). A clause is a comparison under the mask of
 * the clauses before it. */
#include "jit/x64v_gen.h"

enum { TMP1 = 15 };
static const struct xv_m everywhere = {0, false};
static struct xv_src as_source(struct xv_m m) { return (struct xv_src){XV_REG, m.r, {0, 0}}; }
static struct xv_m mask(struct xv_gen *g) { return (struct xv_m){(uint8_t)xv_mask_reg(g), true}; }

/* ---- masks ---- */
/* ymm: d &= under. */
static void confine(struct xv_gen *g, struct xv_m d, struct xv_m under) {
    if (under.some && !rdn_fault(XV_CONFINE))
        xv_op(g, XV_PANDQ, d.r, d.r, as_source(under));
}
struct xv_m xv_all(struct xv_gen *g, bool yes) {
    struct xv_m d = mask(g);
    if (g->zmm)
        (yes ? xk_xnor : xk_xor)(&g->b, d.r, d.r, d.r);
    else
        xv_op(g, yes ? XV_PCMPEQD : XV_PXORQ, d.r, d.r, as_source(d));
    return d;
}
/* Lanes of `under` outside m; in m's registers. */
struct xv_m xv_not(struct xv_gen *g, struct xv_m m, struct xv_m under) {
    struct x64_buf *b = &g->b;
    if (g->zmm && under.some && !rdn_fault(XV_NOT_UNDER_Z)) {
        xk_andn(b, m.r, m.r, under.r);
    } else if (g->zmm) {
        xk_not(b, m.r, m.r);
    } else if (under.some && !rdn_fault(XV_NOT_UNDER_Y)) {
        xv_op(g, XV_PANDNQ, m.r, m.r, as_source(under));
    } else {
        xy_rr(b, XV_PCMPEQD, TMP1, TMP1, TMP1);
        for (unsigned h = 0; h < 2; h++)
            xy_rr(b, XV_PXORQ, 2u * m.r + h, 2u * m.r + h, TMP1);
    }
    return m;
}
static void or_into(struct xv_gen *g, struct xv_m d, struct xv_m m) {
    if (g->zmm)
        (rdn_fault(XV_OR) ? xk_and : xk_or)(&g->b, d.r, d.r, m.r);
    else
        xv_op(g, rdn_fault(XV_OR) ? XV_PANDQ : XV_PORQ, d.r, d.r, as_source(m));
    xv_drop_mask(g, m);
}
void xv_save_mask(struct xv_gen *g, uint32_t spill, struct xv_m m) {
    struct x64_mem at = xv_spill(g, spill);
    if (g->zmm)
        xk_store(&g->b, at, m.r);
    for (unsigned h = 0; !g->zmm && h < 2; h++)
        xy_store(&g->b, x_at(at.base, at.disp + 32 * (int32_t)h), 2u * m.r + h);
    xv_drop_mask(g, m);
}
static struct xv_m load_mask(struct xv_gen *g, uint32_t spill, struct xv_m under) {
    spill += rdn_fault(XV_MASK_SPILL);
    struct xv_m d = mask(g);
    if (!g->zmm) {
        xv_move_in(g, d.r, (struct xv_src){XV_MEM, 0, xv_spill(g, spill)});
        confine(g, d, under);
        return d;
    }
    xk_load(&g->b, d.r, xv_spill(g, spill));
    if (under.some)
        xk_and(&g->b, d.r, d.r, under.r);
    return d;
}

/* ---- comparisons ---- */
/* One instruction into a mask. imm < 0: none. */
static struct xv_m into_mask(struct xv_gen *g, unsigned op, unsigned l, struct xv_src r, int imm, struct xv_m under) {
    struct xv_m d = mask(g);
    unsigned k = under.some ? under.r : 0, tail = imm >= 0;
    if (r.kind == XV_REG)
        xz_rr(&g->b, op, d.r, l, r.r, k);
    else if (r.kind == XV_MEM)
        xz_rm(&g->b, op, d.r, l, r.m, k, tail);
    else
        xz_rc(&g->b, op, d.r, l, r.m, k, tail);
    if (tail)
        x_b(&g->b, (unsigned)imm);
    return d;
}
struct xv_m xv_cmp_f(struct xv_gen *g, unsigned pred, unsigned l, struct xv_src r, struct xv_m under) {
    struct x64_buf *b = &g->b;
    if (g->zmm)
        return into_mask(g, XV_CMPPD, l, r, (int)pred, under);
    struct xv_m d = mask(g);
    if (r.kind == XV_ONE)
        xy_rm(b, XV_BROADCASTSD, TMP1, 0, r.m, 0);
    for (unsigned h = 0; h < 2; h++) {
        if (r.kind == XV_MEM)
            xy_rm(b, XV_CMPPD, 2u * d.r + h, 2 * l + h, x_at(r.m.base, r.m.disp + 32 * (int32_t)h), 1);
        else
            xy_rr(b, XV_CMPPD, 2u * d.r + h, 2 * l + h, r.kind == XV_ONE ? TMP1 : 2u * r.r + h);
        x_b(b, pred);
    }
    confine(g, d, under);
    return d;
}
static struct xv_m float_cmp(struct xv_gen *g, const struct rdn_pnode *n, struct xv_m under) {
    bool swapped = xv_node(g, n->a)->op == RDN_OP_CONST, nan = (xv_node(g, n->a)->flags | xv_node(g, n->b)->flags) & RDN_P_NAN;
    rdn_pid a = swapped ? n->b : n->a, b = swapped ? n->a : n->b;
    struct xv_v l = xv_value(g, a), r;
    if (nan && !rdn_fault(XV_FCMP_NAN)) {
        struct xv_src s = xv_operand(g, b, &r);
        xv_mark_mask(g, xv_cmp_f(g, XV_UNORD, l.r, s, everywhere));
        xv_drop(g, r);
    }
    struct xv_src s = xv_operand(g, b, &r);
    struct xv_m d = xv_cmp_f(g, x64_float_pred(n->op, swapped), l.r, s, under);
    xv_drop(g, l);
    xv_drop(g, r);
    return d;
}
static struct xv_m int_cmp_ymm(struct xv_gen *g, unsigned op, bool swapped, unsigned l, struct xv_src s, struct xv_m under) {
    bool equality = op == RDN_OP_EQ || op == RDN_OP_NE;
    bool greater = equality || (op == RDN_OP_LE) != (swapped && !rdn_fault(XV_GREATER_Y));     /* l > s itself (GT), or negated (LE): l comes first */
    bool inverted = op == RDN_OP_NE || op == RDN_OP_LE;
    struct xv_m d = mask(g);
    if (greater) {
        xv_op(g, equality ? XV_PCMPEQQ : XV_PCMPGTQ, d.r, l, s);
    } else {
        if (s.kind != XV_REG)
            xv_move_in(g, d.r, s);
        xv_op(g, XV_PCMPGTQ, d.r, s.kind == XV_REG ? s.r : d.r, (struct xv_src){XV_REG, (uint8_t)l, {0, 0}});
    }
    if (inverted && !(rdn_fault(XV_INVERTED_Y) && op == RDN_OP_LE))
        return xv_not(g, d, under);
    confine(g, d, under);
    return d;
}
static struct xv_m int_cmp(struct xv_gen *g, const struct rdn_pnode *n, struct xv_m under) {
    bool swapped = xv_node(g, n->a)->op == RDN_OP_CONST;
    struct xv_v l = xv_value(g, swapped ? n->b : n->a), r;
    struct xv_src s = xv_operand(g, swapped ? n->a : n->b, &r);
    unsigned imm = n->op == RDN_OP_EQ ? XV_QEQ : n->op == RDN_OP_NE ? XV_QNE : n->op == RDN_OP_LT ? swapped ? XV_QGT : XV_QLT : swapped ? XV_QGE : rdn_fault(XV_LE_Z) ? XV_QLT : XV_QLE;
    struct xv_m d = g->zmm ? into_mask(g, XV_PCMPQ, l.r, s, (int)imm, under) : int_cmp_ymm(g, n->op, swapped, l.r, s, under);
    xv_drop(g, l);
    xv_drop(g, r);
    return d;
}

/* ---- everything ---- */
/* A field or parameter: 0 or 1 in 64 bits. */
static struct xv_m leaf(struct xv_gen *g, rdn_pid p, struct xv_m under) {
    struct xv_v x = xv_value(g, p);
    struct xv_m d;
    if (g->zmm) {
        d = into_mask(g, XV_PTESTMQ, x.r, xv_src_of(x), -1, under);
    } else {
        d = mask(g);
        xy_rr(&g->b, XV_PXORQ, TMP1, TMP1, TMP1);
        for (unsigned h = 0; h < 2; h++)
            xy_rr(&g->b, XV_PCMPGTQ, 2u * d.r + h, 2u * x.r + h, TMP1);
        confine(g, d, under);
    }
    xv_drop(g, x);
    return d;
}
static struct xv_m junction(struct xv_gen *g, const struct rdn_pnode *n, struct xv_m under) {
    const rdn_pid *v = g->pl->args.v + n->a;
    struct xv_m acc = xv_bool(g, v[0], under), m;
    for (uint32_t i = 1; i < n->b; i++) {
        m = xv_bool(g, v[i], n->op == RDN_OP_AND && !rdn_fault(XV_AND) ? acc : under);
        if (n->op == RDN_OP_OR) {
            or_into(g, acc, m);
        } else {
            xv_drop_mask(g, acc);
            acc = m;
        }
    }
    return acc;
}
static struct xv_m choose(struct xv_gen *g, const struct rdn_pnode *n, struct xv_m under) {
    struct xv_m c = xv_bool(g, n->a, under), yes = xv_bool(g, n->b, c);
    c = xv_not(g, c, under);
    struct xv_m no = xv_bool(g, n->c, rdn_fault(XV_CHOOSE) ? under : c);
    or_into(g, yes, no);
    xv_drop_mask(g, c);
    return yes;
}
static struct xv_m equal(struct xv_gen *g, const struct rdn_pnode *n, struct xv_m under) {
    struct xv_m l = xv_bool(g, n->a, everywhere), r = xv_bool(g, n->b, everywhere);
    if (g->zmm)
        xk_xor(&g->b, l.r, l.r, r.r);
    else
        xv_op(g, XV_PXORQ, l.r, l.r, as_source(r));
    xv_drop_mask(g, r);
    if (rdn_fault(XV_EQUAL))
        return l;
    return xv_not(g, l, under);
}

struct xv_m xv_bool(struct xv_gen *g, rdn_pid p, struct xv_m under) {
    const struct rdn_pnode *n = xv_node(g, p);
    if (g->spill[p])
        return load_mask(g, g->spill[p], under);
    if ((n->flags & RDN_P_SLOT) && !rdn_pnode_leaf(n))
        g->failed = true;                                /* its spill was given up */
    switch (n->op) {
    case RDN_OP_CONST: {
        struct xv_m none = xv_all(g, false);
        return n->lo ? xv_not(g, none, under) : none;
    }
    case RDN_OP_FIELD: case RDN_OP_PARAM: return leaf(g, p, under);
    case RDN_OP_AND: case RDN_OP_OR: return junction(g, n, under);
    case RDN_OP_NOT: {
        struct xv_m m = xv_bool(g, n->a, under);
        return xv_not(g, m, under);
    }
    case RDN_OP_SEL: return choose(g, n, under);
    default: {
        uint8_t type = xv_node(g, n->a)->type;
        return type == RDN_TY_B1 ? equal(g, n, under) : type == RDN_TY_F64 ? float_cmp(g, n, under) : int_cmp(g, n, under);
    }
    }
}
