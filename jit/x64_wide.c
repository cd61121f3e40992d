/* SPDX-License-Identifier: Apache-2.0
 * x64_wide.c: comparisons of decimals in 128 bits: where 64 would be a wasted try, and behind a failed 64-bit one.
 *
 * Values stand in r9:r8, a second operand in r11:r10; rax, rcx and rdx are temporary; what is live at the start is kept in the
 * block's spill words. A product needs one factor of 64 bits; anything beyond that, and 128-bit overflow, taints. */
#include "jit/x64_gen.h"

enum { LO = X_R8, HI = X_R9, LO2 = X_R10, HI2 = X_R11, KEEP_WORDS = 8, DEPTH_MAX = 6 };
static struct x64_mem spill(unsigned word) { return x_at(X_RDI, RDN_BLOCK_SPILL + 8 * (int32_t)word); }

static bool narrow_leaf(const struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    return n->type == RDN_TY_I64 || rdn_pnode_leaf(n) || (n->flags & RDN_P_SLOT) || g->done[p];
}
static unsigned depth_of(const struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    if (narrow_leaf(g, p))
        return 0;
    unsigned a = depth_of(g, n->a), b = n->b ? depth_of(g, n->b) + 1 : 0;   /* the left one waits while the right is made */
    return a > b ? a : b;
}
static bool has_guard(const struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    if (narrow_leaf(g, p))
        return false;
    return (n->flags & RDN_P_GUARD) || has_guard(g, n->a) || (n->b && has_guard(g, n->b));
}
static bool side_ok(const struct x64_gen *g, rdn_pid p) {
    return narrow_leaf(g, p) || ((x64_node(g, p)->flags & RDN_P_WIDE_OK) && depth_of(g, p) <= DEPTH_MAX);
}
bool x64_can_wide(const struct x64_gen *g, rdn_pid cmp) {
    const struct rdn_pnode *n = x64_node(g, cmp);
    bool dec = x64_node(g, n->a)->type == RDN_TY_D64 || x64_node(g, n->b)->type == RDN_TY_D64;
    return dec && side_ok(g, n->a) && side_ok(g, n->b);
}
/* A product whose factor is a product or was widened: most values would overflow 64 bits. */
static bool nested(const struct x64_gen *g, rdn_pid p, bool in_product) {
    const struct rdn_pnode *n = x64_node(g, p);
    if (narrow_leaf(g, p))
        return false;
    bool mul = n->op == RDN_OP_MUL && (n->flags & RDN_P_GUARD) && !x64_is_const(x64_node(g, n->b));
    if (mul && in_product)
        return true;
    bool inner = in_product || mul;
    return nested(g, n->a, inner) || (n->b && nested(g, n->b, inner));
}
bool x64_wants_wide(const struct x64_gen *g, rdn_pid cmp) {
    const struct rdn_pnode *n = x64_node(g, cmp);
    return !g->no_cold && x64_can_wide(g, cmp) && (has_guard(g, n->a) || has_guard(g, n->b)) && (nested(g, n->a, false) || nested(g, n->b, false));
}

/* ---- 128-bit arithmetic ---- */
static void load_narrow(struct x64_gen *g, rdn_pid p, unsigned lo, unsigned hi) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_mem m;
    unsigned size;
    if (x64_is_const(n) || x64_place(g, p, &m, &size)) {
        x64_load(g, lo, p);
    } else {
        unsigned r = x64_int(g, p);
        if (r != lo)
            x_mov_rr(&g->b, lo, r);
        x64_gfree(g, r);
    }
    x_mov_rr(&g->b, hi, lo);
    x_sar(&g->b, hi, 63);
}
/* hi:lo times the signed 64-bit value in rcx. hi * rcx outside 64 bits would only rarely come back into 128: tainted. */
static void mul_64(struct x64_gen *g) {
    struct x64_buf *b = &g->b;
    x_imul_rr(b, HI, X_RCX);
    if (!rdn_fault(WIDE_OVERFLOW))
        x64_jump_taint(g, X_O);
    x_mov_rr(b, X_RAX, LO);
    x_mul(b, X_RCX);                                     /* rdx:rax = lo * rcx, both unsigned */
    x_mov_rr(b, HI2, X_RCX);                             /* a negative rcx was read as rcx + 2^64 */
    x_sar(b, HI2, 63);
    x_alu_rr(b, X_AND, HI2, LO);
    x_mov_rr(b, LO, X_RAX);
    if (!rdn_fault(WIDE_SIGN))
        x_alu_rr(b, X_SUB, X_RDX, HI2);
    x_alu_rr(b, X_ADD, HI, X_RDX);
    x64_jump_taint(g, X_O);
}
static void mul_const(struct x64_gen *g, int64_t k) {
    if (k == 1)
        return;
    x_mov_ri(&g->b, X_RCX, k);
    mul_64(g);
}
/* The second operand, which must fit 64 bits, into rcx. */
static void narrow_second(struct x64_gen *g) {
    struct x64_buf *b = &g->b;
    x_mov_rr(b, X_RCX, LO2);
    x_sar(b, LO2, 63);
    x_alu_rr(b, X_CMP, LO2, HI2);
    if (!rdn_fault(WIDE_SECOND))
        x64_jump_taint(g, X_NE);
}
static void wide_value(struct x64_gen *g, rdn_pid p, unsigned depth);

/* a into r9:r8, b into r11:r10 */
static void wide_pair(struct x64_gen *g, rdn_pid a, rdn_pid b, unsigned depth) {
    struct x64_mem m;
    unsigned size;
    wide_value(g, a, depth);
    if (x64_is_const(x64_node(g, b)) || x64_place(g, b, &m, &size)) {
        load_narrow(g, b, LO2, HI2);
        return;
    }
    struct x64_mem lo = spill(KEEP_WORDS + 2 * depth), hi = spill(KEEP_WORDS + 2 * depth + 1);
    x_mov_mr(&g->b, lo, LO);
    x_mov_mr(&g->b, hi, HI);
    wide_value(g, b, depth + 1);
    x_mov_rr(&g->b, LO2, LO);
    x_mov_rr(&g->b, HI2, HI);
    x_mov_rm(&g->b, LO, lo);
    x_mov_rm(&g->b, HI, hi);
}
static void negate(struct x64_gen *g) {
    struct x64_buf *b = &g->b;
    x_mov_ri(b, X_RAX, 0);
    x_mov_rr(b, X_RCX, X_RAX);
    x_alu_rr(b, X_SUB, X_RAX, LO);
    x_alu_rr(b, X_SBB, X_RCX, HI);
}
static void wide_value(struct x64_gen *g, rdn_pid p, unsigned depth) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_buf *b = &g->b;
    if (narrow_leaf(g, p)) {
        load_narrow(g, p, LO, HI);
        return;
    }
    switch (n->op) {
    case RDN_OP_ADD: case RDN_OP_SUB:
        wide_pair(g, n->a, n->b, depth);
        x_alu_rr(b, n->op == RDN_OP_ADD ? X_ADD : X_SUB, LO, LO2);
        x_alu_rr(b, n->op == RDN_OP_ADD ? X_ADC : X_SBB, HI, HI2);
        x64_jump_taint(g, X_O);
        break;
    case RDN_OP_MUL:
        wide_pair(g, n->a, n->b, depth);
        narrow_second(g);
        mul_64(g);
        break;
    case RDN_OP_NEG: case RDN_OP_ABS:
        wide_value(g, n->a, depth);
        negate(g);
        x64_jump_taint(g, X_O);
        if (n->op == RDN_OP_ABS)                         /* keep the value when it is not negative */
            x_test_rr(b, HI, HI);
        if (n->op == RDN_OP_ABS) {
            x_cmov(b, X_S, LO, X_RAX);
            x_cmov(b, X_S, HI, X_RCX);
        } else {
            x_mov_rr(b, LO, X_RAX);
            x_mov_rr(b, HI, X_RCX);
        }
        break;
    case RDN_OP_RESCALE: {
        const struct rdn_pnode *a = x64_node(g, n->a);
        wide_value(g, n->a, depth);
        mul_const(g, (int64_t)rdn_pow10(n->scale - (a->type == RDN_TY_D64 ? a->scale : 0u)));
        break;
    }
    default:
        g->failed = true;                                /* not WIDE_OK: never asked for */
    }
}

/* cmp/sbb give a signed less-than; equality ORs the differences. */
static void wide_answer(struct x64_gen *g, unsigned op) {
    struct x64_buf *b = &g->b;
    if (op == RDN_OP_EQ || op == RDN_OP_NE) {
        x_alu_rr(b, X_XOR, LO, LO2);
        x_alu_rr(b, X_XOR, HI, HI2);
        if (!rdn_fault(WIDE_EQ))
            x_alu_rr(b, X_OR, LO, HI);
        x_mov_ri(b, X_RAX, 0);
        x_test_rr(b, LO, LO);
        x_setcc(b, op == RDN_OP_EQ ? X_E : X_NE, X_RAX);
        return;
    }
    x_mov_ri(b, X_RAX, 0);
    if (op == RDN_OP_LT) {                               /* a < b: a - b is negative */
        x_alu_rr(b, X_CMP, LO, LO2);
        x_alu_rr(b, X_SBB, HI, HI2);
        x_setcc(b, X_L, X_RAX);
    } else {                                             /* a <= b: b - a is not */
        x_alu_rr(b, X_CMP, LO2, LO);
        x_alu_rr(b, X_SBB, HI2, HI);
        x_setcc(b, X_GE, X_RAX);
    }
}

void x64_wide_compare(struct x64_gen *g, rdn_pid cmp, unsigned dest, uint32_t live) {
    const struct rdn_pnode *n = x64_node(g, cmp);
    uint32_t free_before = g->gfree, taint = g->taint, base = g->base;
    bool no_cold = g->no_cold;
    live |= 1u << X_RDX;
    for (unsigned r = 0, k = 0; r < 12; r++)
        if (live >> r & 1)
            x_mov_mr(&g->b, spill(k++), r);
    g->taint = X64_NONE;
    g->base = 0;                                         /* rax is one of `live` then */
    g->no_cold = true;                                   /* 64-bit pieces inside: overflow taints */
    g->gfree = X64_GPRS;                                 /* 64-bit pieces are made while none of them holds anything */
    wide_pair(g, n->a, n->b, 0);
    wide_answer(g, n->op);
    if (g->taint != X64_NONE)
        g->stubs.v[g->taint].resume = x_pos(&g->b);
    x_alu32_ri(&g->b, X_AND, X_RAX, 1);                  /* behind a taint rax holds anything, and the neighbours' bits must live */
    if (dest != X_RAX)
        x_mov_rr(&g->b, dest, X_RAX);
    for (unsigned r = 0, k = 0; r < 12; r++)
        if (live >> r & 1 && !rdn_fault(WIDE_LIVE))
            x_mov_rm(&g->b, r, spill(k++));
    g->gfree = free_before;
    g->base = base;
    g->taint = taint;
    g->no_cold = no_cold;
}
