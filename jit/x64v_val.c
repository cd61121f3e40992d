/* SPDX-License-Identifier: Apache-2.0
 * x64v_val.c: vectors of 8 values: registers, operands, floats, marks (x64v_gen.h). */
#include <string.h>
#include "jit/x64v_gen.h"

enum { TMP = 14, MARKS = 5 };                            /* ymm: the register of a broadcast; the pair of marks */

/* ---- registers ---- */
static unsigned take(struct xv_gen *g, uint32_t *free_regs) {
    if (!*free_regs) {
        g->failed = true;
        return (unsigned)(free_regs == &g->kfree);       /* k0 would mean no mask */
    }
    unsigned r = (unsigned)__builtin_ctz(*free_regs);
    *free_regs &= ~(1u << r);
    return r;
}
unsigned xv_vector(struct xv_gen *g) { return take(g, &g->vfree); }
unsigned xv_mask_reg(struct xv_gen *g) { return take(g, g->zmm ? &g->kfree : &g->vfree); }
void xv_drop(struct xv_gen *g, struct xv_v v) {
    if (v.owned)
        g->vfree |= 1u << v.r;
}
void xv_drop_mask(struct xv_gen *g, struct xv_m m) {
    if (m.some)
        *(g->zmm ? &g->kfree : &g->vfree) |= 1u << m.r;
}
struct xv_v xv_owned(struct xv_gen *g, struct xv_v v) { return v.owned ? v : (struct xv_v){(uint8_t)xv_vector(g), true}; }
struct xv_v xv_result(struct xv_gen *g, struct xv_v l, struct xv_v r) {
    if (l.owned) {
        xv_drop(g, r);
        return l;
    }
    return xv_owned(g, r);
}

/* ---- operands ---- */
struct x64_mem xv_const(struct xv_gen *g, uint64_t bits) { return x64_pool_put(&g->pool, &g->b, &g->pool_low, bits); }
struct xv_src xv_one(struct xv_gen *g, uint64_t bits) { return (struct xv_src){XV_ONE, 0, xv_const(g, bits)}; }

static struct x64_mem column_mem(struct xv_gen *g, uint32_t c) {
    if (g->col_gpr[c])
        return x_at(g->col_gpr[c], 0);
    x_mov_rm(&g->b, X_RAX, x_at(X_RDI, (int32_t)xv_at_col(c)));
    return x_at(X_RAX, 0);
}
static struct x64_mem half(struct x64_mem m, unsigned h, unsigned bytes) { return x_at(m.base, m.disp + (int32_t)(h * bytes)); }
void xv_load_column(struct xv_gen *g, uint32_t c, unsigned r) {
    const unsigned ops[] = {XV_MOVUPD, XV_PMOVZXDQ, rdn_fault(XV_LOAD_SIGN) ? XV_PMOVZXDQ : XV_PMOVSXDQ, XV_PMOVZXBQ};
    enum xv_ext ext = (enum xv_ext)g->cols.v[c].ext;
    struct x64_mem m = column_mem(g, c);
    if (g->zmm) {
        xz_load(&g->b, ops[ext], r, m, 8 * xv_elem(ext), 0, false);
        return;
    }
    for (unsigned h = 0; h < 2; h++)
        xy_rm(&g->b, ops[ext], 2 * r + h, 0, half(m, h, rdn_fault(XV_LOAD_HALF) ? 32 : 4 * xv_elem(ext)), 0);
}
bool xv_source(struct xv_gen *g, rdn_pid p, struct xv_src *ret) {
    const struct rdn_pnode *n = xv_node(g, p);
    if (g->spill[p]) {
        *ret = (struct xv_src){XV_MEM, 0, xv_spill(g, g->spill[p] + rdn_fault(XV_SPILL_NEXT))};
        return n->type != RDN_TY_B1;
    }
    if (g->param_of[p]) {
        *ret = (struct xv_src){XV_ONE, 0, x_at(X_RDI, (int32_t)(xv_at_col(XV_COLUMNS_MAX) + 8 * (g->param_of[p] - 1)))};
        return true;
    }
    if (n->op == RDN_OP_CONST) {
        *ret = xv_one(g, (uint64_t)n->lo);
        return true;
    }
    if (!g->col_of[p])
        return false;
    uint32_t c = g->col_of[p] - 1;
    if (g->col_pin[c])
        *ret = (struct xv_src){XV_REG, g->col_pin[c], {0, 0}};
    else if (g->cols.v[c].ext == XV_E64)
        *ret = (struct xv_src){XV_MEM, 0, column_mem(g, c)};
    else
        return false;
    return true;
}
/* op d, v, s on both halves of a pair, or on a zmm. */
void xv_op(struct xv_gen *g, unsigned op, unsigned d, unsigned v, struct xv_src s) {
    struct x64_buf *b = &g->b;
    if (g->zmm) {
        if (s.kind == XV_REG)
            xz_rr(b, op, d, v, s.r, 0);
        else if (s.kind == XV_MEM)
            xz_rm(b, op, d, v, s.m, 0, 0);
        else
            xz_rc(b, op, d, v, s.m, 0, 0);
        return;
    }
    if (s.kind == XV_ONE)
        xy_rm(b, XV_BROADCASTSD, TMP, 0, s.m, 0);
    for (unsigned h = 0; h < 2; h++)
        if (s.kind == XV_MEM)
            xy_rm(b, op, 2 * d + h, 2 * v + h, half(s.m, h, rdn_fault(XV_OPERAND_HALF) ? 0 : 32), 0);
        else
            xy_rr(b, op, 2 * d + h, 2 * v + h, s.kind == XV_ONE ? TMP : 2u * s.r + h);
}
/* The operand in place, or computed into *held. The next instruction reads it. */
struct xv_src xv_operand(struct xv_gen *g, rdn_pid p, struct xv_v *held) {
    struct xv_src s;
    *held = (struct xv_v){0, false};
    if ((g->spill[p] || rdn_pnode_leaf(xv_node(g, p))) && xv_source(g, p, &s))
        return s;
    *held = xv_value(g, p);
    return xv_src_of(*held);
}
struct xv_v xv_binary(struct xv_gen *g, unsigned op, struct xv_v l, rdn_pid b) {
    struct xv_v r;
    struct xv_src s = xv_operand(g, b, &r);
    struct xv_v d = xv_result(g, l, r);
    xv_op(g, op, d.r, l.r, s);
    return d;
}
void xv_unary(struct xv_gen *g, unsigned op, unsigned d, unsigned s, int imm) {
    for (unsigned h = 0; h < (g->zmm ? 1u : 2u); h++) {
        if (g->zmm)
            xz_rr(&g->b, op, d, 0, s, 0);
        else
            xy_rr(&g->b, op, 2 * d + h, 0, 2 * s + h);
        if (imm >= 0)
            x_b(&g->b, (unsigned)imm);
    }
}
void xv_move_in(struct xv_gen *g, unsigned d, struct xv_src s) {
    struct x64_buf *b = &g->b;
    if (g->zmm) {
        if (s.kind == XV_REG)
            xz_rr(b, XV_MOVAPD, d, 0, s.r, 0);
        else if (s.kind == XV_MEM)
            xz_rm(b, XV_MOVUPD, d, 0, s.m, 0, 0);
        else
            xz_load(b, XV_BROADCASTSD, d, s.m, 8, 0, false);
        return;
    }
    for (unsigned h = 0; h < 2; h++)
        if (s.kind == XV_REG)
            xy_rr(b, XV_MOVAPD, 2 * d + h, 0, 2u * s.r + h);
        else
            xy_rm(b, s.kind == XV_MEM ? XV_MOVUPD : XV_BROADCASTSD, 2 * d + h, 0, s.kind == XV_MEM ? half(s.m, h, 32) : s.m, 0);
}
void xv_blend(struct xv_gen *g, unsigned d, unsigned no, unsigned yes, struct xv_m m) {
    if (g->zmm) {
        xz_rr(&g->b, XV_BLENDMPD, d, rdn_fault(XV_BLEND_ARMS) ? yes : no, rdn_fault(XV_BLEND_ARMS) ? no : yes, m.r);
        return;
    }
    for (unsigned h = 0; h < 2; h++) {
        xy_rr(&g->b, XV_BLENDVPD, 2 * d + h, 2 * no + h, 2 * yes + h);
        x_b(&g->b, (2u * m.r + h) << 4);
    }
}
void xv_mark_mask(struct xv_gen *g, struct xv_m m) {
    if (g->zmm)
        xk_or(&g->b, 7, 7, m.r);
    else
        xv_op(g, XV_PORQ, MARKS, MARKS, (struct xv_src){XV_REG, m.r, {0, 0}});
    xv_drop_mask(g, m);
}

/* ---- floats ---- */
static struct xv_v f64_unary(struct xv_gen *g, const struct rdn_pnode *n) {
    struct xv_v x = xv_value(g, n->a), d = xv_owned(g, x);
    unsigned mode = (n->op == RDN_OP_FLOOR) != rdn_fault(XV_ROUND_MODE) ? 1 : 2;
    mode = n->op == RDN_OP_TRUNC ? 3 : mode;
    switch (n->op) {
    case RDN_OP_NEG: xv_op(g, rdn_fault(XV_FNEG) ? XV_PANDNQ : XV_PXORQ, d.r, x.r, xv_one(g, 1ull << 63)); return d;
    case RDN_OP_ABS: xv_op(g, XV_PANDQ, d.r, x.r, xv_one(g, INT64_MAX)); return d;
    case RDN_OP_SQRT: xv_unary(g, XV_SQRTPD, d.r, x.r, -1); return d;
    default: xv_unary(g, g->zmm ? XV_RNDSCALEPD : XV_ROUNDPD, d.r, x.r, (int)(mode | 8u)); return d;
    }
}
/* First of equals: the processor answers its second operand then, so the accumulator stands there. NaN is undefined. */
static struct xv_v f64_minmax(struct xv_gen *g, const struct rdn_pnode *n) {
    const rdn_pid *v = g->pl->args.v + n->a;
    struct xv_v acc = xv_value(g, v[0]);
    for (uint32_t i = 0; i < n->b; i++) {
        struct xv_v x = i ? xv_value(g, v[i]) : acc;
        if (xv_node(g, v[i])->flags & RDN_P_NAN)
            xv_mark_mask(g, xv_cmp_f(g, XV_UNORD, x.r, xv_src_of(x), (struct xv_m){0, false}));
        if (!i)
            continue;
        bool last = rdn_fault(XV_FMIN_EQUAL);
        struct xv_v d = xv_result(g, acc, x);
        xv_op(g, n->op == RDN_OP_MIN ? XV_MINPD : XV_MAXPD, d.r, last ? acc.r : x.r, xv_src_of(last ? x : acc));
        acc = d;
    }
    return acc;
}
static struct xv_v select(struct xv_gen *g, const struct rdn_pnode *n) {
    struct xv_v yes = xv_value(g, n->b), no = xv_value(g, n->c);
    struct xv_m m = xv_bool(g, n->a, (struct xv_m){0, false});
    struct xv_v d = xv_result(g, yes, no);
    xv_blend(g, d.r, no.r, yes.r, m);
    xv_drop_mask(g, m);
    return d;
}
static struct xv_v f64_value(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    switch (n->op) {
    case RDN_OP_ADD: return xv_binary(g, XV_ADDPD, xv_value(g, n->a), n->b);
    case RDN_OP_SUB: return xv_binary(g, XV_SUBPD, xv_value(g, n->a), n->b);
    case RDN_OP_MUL: return xv_binary(g, XV_MULPD, xv_value(g, n->a), n->b);
    case RDN_OP_DIV: return xv_binary(g, XV_DIVPD, xv_value(g, n->a), n->b);
    case RDN_OP_MIN: case RDN_OP_MAX: return f64_minmax(g, n);
    case RDN_OP_I2F: case RDN_OP_D2F: return xv_from_whole(g, n->a);
    case RDN_OP_RATIO: case RDN_OP_IRATIO: {
        struct xv_v l = xv_from_whole(g, n->a), r = xv_from_whole(g, n->b);
        xv_op(g, XV_DIVPD, l.r, l.r, xv_src_of(r));
        xv_drop(g, r);
        return l;
    }
    default: return f64_unary(g, n);
    }
}

/* Any number. Registers are the node's own, or a column's that must not be written to. */
struct xv_v xv_value(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    struct xv_src s;
    if (g->spill[p] || rdn_pnode_leaf(n)) {
        uint32_t c = g->col_of[p];
        if (!g->spill[p] && c && !g->col_pin[c - 1]) {
            struct xv_v v = {(uint8_t)xv_vector(g), true};
            xv_load_column(g, c - 1, v.r);
            return v;
        }
        if (!xv_source(g, p, &s)) {
            g->failed = true;
            return (struct xv_v){0, false};
        }
        if (s.kind == XV_REG)
            return (struct xv_v){s.r, false};
        struct xv_v v = {(uint8_t)xv_vector(g), true};
        xv_move_in(g, v.r, s);
        return v;
    }
    if (n->flags & RDN_P_SLOT)
        g->failed = true;                                /* its spill was given up */
    if (n->op == RDN_OP_SEL)
        return select(g, n);
    return n->type == RDN_TY_F64 ? f64_value(g, p) : xv_int(g, p);
}
