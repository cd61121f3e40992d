/* SPDX-License-Identifier: Apache-2.0
 * x64_val.c: numbers in registers: leaves, constants, arithmetic, guards (x64_gen.h). */
#include "jit/x64_gen.h"

/* ---- registers ---- */
unsigned x64_gpr(struct x64_gen *g) {
    static const uint8_t order[] = {X_RCX, X_R8, X_R9, X_R10, X_R11, X_RAX};      /* rax last: division wants it */
    for (unsigned i = 0; i < sizeof order; i++)
        if (g->gfree >> order[i] & 1) {
            g->gfree &= ~(1u << order[i]);
            return order[i];
        }
    g->failed = g->ran_out_gpr = true;
    return X_RCX;
}
void x64_gfree(struct x64_gen *g, unsigned r) { g->gfree |= 1u << r; }
unsigned x64_xmm(struct x64_gen *g) {
    if (!g->xfree) {
        g->failed = g->ran_out = true;
        return 0;
    }
    unsigned r = (unsigned)__builtin_ctz(g->xfree);
    g->xfree &= ~(1u << r);
    return r;
}
void x64_xdone(struct x64_gen *g, struct x64_xv v) {
    if (v.owned)
        g->xfree |= 1u << v.reg;
}

/* ---- the pool ---- */
void x64_pool_open(struct x64_pool *p, struct rdn_arena *a, uint32_t most) { rdn_pool_open(&p->words, a, most); }
struct x64_mem x64_pool_put(struct x64_pool *p, struct x64_buf *b, uint32_t *low, uint64_t bits) {
    uint32_t at = rdn_pool_put(&p->words, b->base, low, bits);
    if (!at)
        b->full = true;                                  /* the caller tries again with a larger buffer */
    return x_at(X_RIP, (int32_t)(at ? at : *low));
}
struct x64_mem x64_const(struct x64_gen *g, uint64_t bits) {
    struct x64_mem m = x64_pool_put(&g->pool, &g->b, &g->pool_low, bits);
    int32_t d = m.disp - (int32_t)g->base;
    return g->base && d >= -128 && d < 128 ? x_at(X_RAX, d) : m;
}
/* The two masks stand at the top of the pool (x64_event.c puts them there). */
struct x64_mem x64_sign_mask(struct x64_gen *g) { return x_at(X_RIP, (int32_t)g->code_at - 16); }
struct x64_mem x64_abs_mask(struct x64_gen *g) { return x_at(X_RIP, (int32_t)g->code_at - 32); }

/* ---- guards ---- */
static uint32_t new_stub(struct x64_gen *g, unsigned kind) {
    struct x64_stub *s = rdn_push(g->arena, &g->stubs);
    *s = (struct x64_stub){.kind = (uint8_t)kind, .is_set = g->target_is_set, .target = g->target};
    return g->stubs.n - 1;
}
void x64_jump_stub(struct x64_gen *g, enum x_cc cc, uint32_t stub) {
    struct x64_jump *j = rdn_push(g->arena, &g->jumps);
    *j = (struct x64_jump){x_jcc(&g->b, cc), g->stubs.v[stub].jumps};
    g->stubs.v[stub].jumps = g->jumps.n;
}
void x64_jump_taint(struct x64_gen *g, enum x_cc cc) {
    if (g->taint == X64_NONE)
        g->taint = new_stub(g, X64_TAINT);
    x64_jump_stub(g, cc, g->taint);
}
void x64_jump_cold(struct x64_gen *g, enum x_cc cc) {
    if (g->no_cold) {
        x64_jump_taint(g, cc);
        return;
    }
    if (g->cold == X64_NONE)
        g->cold = new_stub(g, X64_COLD);
    x64_jump_stub(g, cc, g->cold);
}
static void guard(struct x64_gen *g, const struct rdn_pnode *n) {
    if (!(n->flags & RDN_P_GUARD))
        return;
    if (n->type == RDN_TY_D64 && !rdn_fault(GUARD_DEC))
        x64_jump_cold(g, X_O);
    else if (n->type != RDN_TY_D64 && !rdn_fault(GUARD_INT))
        x64_jump_taint(g, rdn_fault(GUARD_TURNED) ? X_NO : X_O);
}

/* ---- places ---- */
bool x64_place(const struct x64_gen *g, rdn_pid p, struct x64_mem *ret, unsigned *ret_size) {
    const struct rdn_pnode *n = x64_node(g, p);
    *ret_size = 8;
    if ((n->flags & RDN_P_SLOT) || g->done[p]) {
        *ret = x_at(X_RDI, (int32_t)rdn_block_slot(n->slot));
        return true;
    }
    switch (n->op) {
    case RDN_OP_NOW: *ret = x_at(X_RDI, RDN_BLOCK_NOW); return true;
    case RDN_OP_TS: *ret = x_at(X_RSI, 0); return true;
    case RDN_OP_FIELD: {
        const struct rdn_field *f = &g->pl->ir->events[g->pl->event].fields[n->aux];
        *ret = x_at(X_RSI, (int32_t)f->offset);
        *ret_size = f->size;
        return true;
    }
    default: return false;
    }
}
static bool is_i32(int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; }

void x64_load(struct x64_gen *g, unsigned r, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_mem m;
    unsigned size;
    if (x64_is_const(n))
        x_mov_ri(&g->b, r, n->lo);
    else if (!x64_place(g, p, &m, &size))
        g->failed = true;
    else if (size == 8)
        x_mov_rm(&g->b, r, m);
    else if (size == 1 && !rdn_fault(LOAD_BYTE))
        x_movzx8_rm(&g->b, r, m);
    else if (n->lo < 0 && !rdn_fault(LOAD_DATE))                                  /* date; a sym is unsigned */
        x_movsxd_rm(&g->b, r, m);
    else
        x_mov32_rm(&g->b, r, m);
}

void x64_alu_value(struct x64_gen *g, enum x_alu op, unsigned r, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_mem m;
    unsigned size;
    if (x64_is_const(n) && is_i32(n->lo)) {
        x_alu_ri(&g->b, op, r, (int32_t)n->lo);
    } else if (x64_is_const(n)) {
        x_alu_rm(&g->b, op, r, x64_const(g, (uint64_t)n->lo));
    } else if (x64_place(g, p, &m, &size) && (size == 8 || rdn_fault(NARROW_OPERAND))) {
        x_alu_rm(&g->b, op, r, m);
    } else {
        unsigned s = x64_int(g, p);
        x_alu_rr(&g->b, op, r, s);
        x64_gfree(g, s);
    }
}

/* ---- integers and decimals ---- */
static void imul_value(struct x64_gen *g, unsigned r, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_mem m;
    unsigned size;
    if (x64_is_const(n) && is_i32(n->lo)) {
        x_imul_rri(&g->b, r, r, (int32_t)n->lo);
    } else if (x64_is_const(n)) {
        x_imul_rm(&g->b, r, x64_const(g, (uint64_t)n->lo));
    } else if (x64_place(g, p, &m, &size) && size == 8) {
        x_imul_rm(&g->b, r, m);
    } else {
        unsigned s = x64_int(g, p);
        x_imul_rr(&g->b, r, s);
        x64_gfree(g, s);
    }
}

/* a / b and a mod b through idiv, whose operands stand in rdx:rax. 0 and -1 were sent away: idiv traps on 0 and on min / -1. */
static unsigned divide(struct x64_gen *g, const struct rdn_pnode *n) {
    unsigned a = x64_int(g, n->a), b = x64_int(g, n->b), keep = x64_gpr(g);
    /* Ranges do not hold behind a taint (a shared value's slot is stale then), and a trap is not forgivable: only constants are trusted. */
    if ((n->flags & RDN_P_GUARD) || !x64_is_const(x64_node(g, n->b))) {
        x_alu_ri(&g->b, X_ADD, b, rdn_fault(DIV_MINUS_ONE) ? 2 : 1);                    /* b + 1 is 0 or 1: unsigned below 2 */
        x_alu_ri(&g->b, X_CMP, b, rdn_fault(DIV_ZERO) ? 1 : 2);
        x64_jump_taint(g, X_B);
        x_alu_ri(&g->b, X_SUB, b, 1);
    }
    if (a != X_RAX && b != X_RAX && !(g->gfree >> X_RAX & 1) && !g->based) {
        g->failed = true;                                /* rax holds something else */
        return a;
    }
    x_mov_rr(&g->b, keep, X_RDX);
    if (b == X_RAX) {                                    /* a takes rax, b moves to where a was */
        x_mov_rr(&g->b, X_RDX, b);
        x_mov_rr(&g->b, X_RAX, a);
        x_mov_rr(&g->b, a, X_RDX);
        b = a;
        a = X_RAX;
    } else if (a != X_RAX) {
        x_mov_rr(&g->b, X_RAX, a);
    }
    x_cqo(&g->b);
    x_idiv(&g->b, b);
    x_mov_rr(&g->b, b, (n->op == RDN_OP_DIV) != rdn_fault(DIV_RESULT) ? X_RAX : X_RDX);
    if (!rdn_fault(DIV_RDX))
        x_mov_rr(&g->b, X_RDX, keep);
    if (g->base && !rdn_fault(DIV_BASE))
        x_lea_rm(&g->b, X_RAX, x_at(X_RIP, (int32_t)g->base));
    x64_gfree(g, a);
    x64_gfree(g, keep);
    return b;
}

static unsigned int_minmax(struct x64_gen *g, const struct rdn_pnode *n) {
    const rdn_pid *v = g->pl->args.v + n->a;
    unsigned r = x64_int(g, v[0]);
    for (uint32_t i = 1; i < n->b; i++) {
        unsigned s = x64_int(g, v[i]);
        x_alu_rr(&g->b, X_CMP, s, r);
        x_cmov(&g->b, n->op == RDN_OP_MAX ? X_G : rdn_fault(MINMAX_UNSIGNED) ? X_B : X_L, r, s);
        x64_gfree(g, s);
    }
    return r;
}

unsigned x64_select(struct x64_gen *g, unsigned c, unsigned yes, unsigned no) {
    x_test32_rr(&g->b, c, c);
    x_cmov(&g->b, rdn_fault(SELECT_ARMS) ? X_E : X_NE, no, yes);
    x64_gfree(g, c);
    x64_gfree(g, yes);
    return no;
}

bool x64_load_leaf(struct x64_gen *g, rdn_pid p, unsigned *ret) {
    struct x64_mem m;
    unsigned size;
    if (!x64_is_const(x64_node(g, p)) && !x64_place(g, p, &m, &size))
        return false;
    *ret = x64_gpr(g);
    x64_load(g, *ret, p);
    return true;
}

static unsigned int_select(struct x64_gen *g, const struct rdn_pnode *n) {
    unsigned yes = x64_int(g, n->b), no = x64_int(g, n->c), c = x64_bool(g, n->a);
    return x64_select(g, c, yes, no);
}

/* Truncation. Out of range and NaN give min, which a value in range may also be: interp tells them apart. */
static unsigned f64_to_int(struct x64_gen *g, const struct rdn_pnode *n) {
    struct x64_xv x = x64_f64(g, n->a);
    unsigned r = x64_gpr(g), t = x64_gpr(g);
    x_vcvttsd2si(&g->b, r, x.reg);
    x_mov_rr(&g->b, t, r);
    x_alu_ri(&g->b, X_SUB, t, 1);
    if (!rdn_fault(F2I_RANGE))
        x64_jump_taint(g, X_O);
    x64_gfree(g, t);
    x64_xdone(g, x);
    return r;
}

static unsigned int_unary(struct x64_gen *g, const struct rdn_pnode *n) {
    unsigned r = x64_int(g, n->a);
    if (n->op == RDN_OP_BNOT) {
        x_not(&g->b, r);
    } else if (n->op == RDN_OP_NEG) {
        x_neg(&g->b, r);
        guard(g, n);
    } else if (n->op == RDN_OP_ABS) {
        unsigned t = x64_gpr(g);
        x_mov_rr(&g->b, t, r);
        x_neg(&g->b, r);
        guard(g, n);
        x_cmov(&g->b, rdn_fault(ABS_CONDITION) ? X_NS : X_S, r, t);                        /* the negated one is negative: the value itself */
        x64_gfree(g, t);
    } else if (n->op == RDN_OP_RESCALE) {
        const struct rdn_pnode *a = x64_node(g, n->a);
        unsigned from = a->type == RDN_TY_D64 ? a->scale : 0;
        int64_t k = (int64_t)rdn_pow10(n->scale - from - (rdn_fault(RESCALE_FACTOR) && n->scale > from));
        if (k == 1)
            return r;
        if (is_i32(k))
            x_imul_rri(&g->b, r, r, (int32_t)k);
        else
            x_imul_rm(&g->b, r, x64_const(g, (uint64_t)k));
        guard(g, n);
    }
    return r;                                            /* B2I: a bool already is 0 or 1 */
}

unsigned x64_int(struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    unsigned r;
    if (x64_load_leaf(g, p, &r))
        return r;
    if (n->type == RDN_TY_B1)
        return x64_bool(g, p);
    switch (n->op) {
    case RDN_OP_ADD: case RDN_OP_SUB: case RDN_OP_BAND: case RDN_OP_BOR: case RDN_OP_BXOR: {
        enum x_alu op = n->op == RDN_OP_ADD ? X_ADD : n->op == RDN_OP_SUB ? X_SUB : n->op == RDN_OP_BAND ? X_AND : n->op == RDN_OP_BOR ? X_OR : X_XOR;
        r = x64_int(g, n->a);
        x64_alu_value(g, op, r, n->b);
        guard(g, n);
        return r;
    }
    case RDN_OP_MUL:
        r = x64_int(g, n->a);
        imul_value(g, r, n->b);
        guard(g, n);
        return r;
    case RDN_OP_DIV: case RDN_OP_MOD: return divide(g, n);
    case RDN_OP_MIN: case RDN_OP_MAX: return int_minmax(g, n);
    case RDN_OP_SEL: return int_select(g, n);
    case RDN_OP_F2I: return f64_to_int(g, n);
    default: return int_unary(g, n);
    }
}

/* ---- floats ---- */
/* v as 128 bits with a zero upper half, from a general register. */
static struct x64_xv from_int(struct x64_gen *g, unsigned r) {
    unsigned x = x64_xmm(g);
    x_vbits_rr(&g->b, X_VXOR, x, x, x);
    x_vcvtsi2sd_rr(&g->b, x, x, r);
    x64_gfree(g, r);
    return (struct x64_xv){(uint8_t)x, true};
}
/* (double)m / 10^scale; the divisor is exact and 1 changes nothing. */
static struct x64_xv from_whole(struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_xv x = from_int(g, x64_int(g, p));
    double k = n->type == RDN_TY_D64 && !rdn_fault(D2F_SCALE) ? (double)rdn_pow10(n->scale) : 1.0;
    uint64_t bits;
    memcpy(&bits, &k, 8);
    if (k != 1.0)
        x_varith_rm(&g->b, X_VDIV, x.reg, x.reg, x64_const(g, bits));
    return x;
}
static struct x64_xv own_result(struct x64_gen *g, struct x64_xv l, struct x64_xv r) {
    if (l.owned || rdn_fault(OWN_RESULT)) {
        x64_xdone(g, r);
        return l;
    }
    return r.owned ? r : (struct x64_xv){(uint8_t)x64_xmm(g), true};
}
bool x64_f64_mem(struct x64_gen *g, rdn_pid p, struct x64_mem *m) {
    const struct rdn_pnode *n = x64_node(g, p);
    unsigned size;
    if (g->pin[p])
        return false;
    if (x64_is_const(n)) {
        *m = x64_const(g, (uint64_t)n->lo);
        return true;
    }
    return x64_place(g, p, m, &size);
}
static struct x64_xv f64_binary(struct x64_gen *g, enum x_sse op, rdn_pid a, rdn_pid b) {
    struct x64_mem m;
    struct x64_xv l, r = {0, false}, d;
    if (x64_f64_mem(g, b, &m)) {
        l = x64_f64(g, a);
        d = own_result(g, l, r);
        x_varith_rm(&g->b, op, d.reg, l.reg, m);
        return d;
    }
    l = x64_f64(g, a);
    r = x64_f64(g, b);
    d = own_result(g, l, r);
    bool shorter = (op == X_VADD || op == X_VMUL) && r.reg > 7 && l.reg < 8;
    if (shorter || (rdn_fault(FSUB_TURNED) && op == X_VSUB))
        x_varith_rr(&g->b, op, d.reg, r.reg, l.reg);
    else
        x_varith_rr(&g->b, op, d.reg, l.reg, r.reg);
    return d;
}
static struct x64_xv f64_unary(struct x64_gen *g, const struct rdn_pnode *n) {
    struct x64_xv x = x64_f64(g, n->a), d = own_result(g, x, (struct x64_xv){0, false});
    switch (n->op) {
    case RDN_OP_NEG: x_vbits_rm(&g->b, rdn_fault(FNEG_MASK) ? X_VANDN : X_VXOR, d.reg, x.reg, x64_sign_mask(g)); break;
    case RDN_OP_ABS: x_vbits_rm(&g->b, X_VAND, d.reg, x.reg, x64_abs_mask(g)); break;
    case RDN_OP_SQRT: x_vsqrtsd_rr(&g->b, d.reg, x.reg, x.reg); break;
    default: x_vroundsd(&g->b, d.reg, x.reg, x.reg, n->op == RDN_OP_FLOOR ? 1 : n->op == RDN_OP_CEIL ? 2 : 3);
    }
    return d;
}
/* First of equals: vminsd and vmaxsd answer their second operand then, so the accumulator stands there. NaN is undefined. */
static struct x64_xv f64_minmax(struct x64_gen *g, const struct rdn_pnode *n) {
    const rdn_pid *v = g->pl->args.v + n->a;
    struct x64_xv acc = x64_f64(g, v[0]);
    for (uint32_t i = 0; i < n->b; i++) {
        struct x64_xv x = i ? x64_f64(g, v[i]) : acc;
        if ((x64_node(g, v[i])->flags & RDN_P_NAN) && !rdn_fault(FMIN_NAN)) {
            x_vucomisd_rr(&g->b, x.reg, x.reg);
            x64_jump_taint(g, X_P);
        }
        if (!i)
            continue;
        struct x64_xv d = own_result(g, acc, x);
        x_varith_rr(&g->b, n->op == RDN_OP_MIN ? X_VMIN : X_VMAX, d.reg, rdn_fault(FMIN_EQUAL) ? acc.reg : x.reg, rdn_fault(FMIN_EQUAL) ? x.reg : acc.reg);
        acc = d;
    }
    return acc;
}
static struct x64_xv f64_select(struct x64_gen *g, const struct rdn_pnode *n) {
    struct x64_xv yes = x64_f64(g, n->b), no = x64_f64(g, n->c);
    unsigned m;
    if (x64_maskable(g, n->a)) {
        m = x64_mask(g, n->a);
    } else {
        unsigned c = x64_bool(g, n->a);
        m = x64_xmm(g);
        if (!rdn_fault(FSELECT_MASK))
            x_neg(&g->b, c);
        x_vmovq_xr(&g->b, m, c);
        x64_gfree(g, c);
    }
    x_vblendvpd(&g->b, m, rdn_fault(FSELECT_ARMS) ? yes.reg : no.reg, rdn_fault(FSELECT_ARMS) ? no.reg : yes.reg, m);
    x64_xdone(g, yes);
    x64_xdone(g, no);
    return (struct x64_xv){(uint8_t)m, true};
}
static struct x64_xv f64_ratio(struct x64_gen *g, const struct rdn_pnode *n) {
    struct x64_xv l = from_whole(g, n->a), r = from_whole(g, n->b);
    x_varith_rr(&g->b, X_VDIV, l.reg, l.reg, r.reg);
    x64_xdone(g, r);
    return l;
}

struct x64_xv x64_f64(struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_mem m;
    if (g->pin[p])
        return (struct x64_xv){g->pin[p], false};
    if (x64_f64_mem(g, p, &m)) {
        unsigned x = x64_xmm(g);
        x_vmovsd_rm(&g->b, x, m);
        return (struct x64_xv){(uint8_t)x, true};
    }
    switch (n->op) {
    case RDN_OP_ADD: return f64_binary(g, X_VADD, n->a, n->b);
    case RDN_OP_SUB: return f64_binary(g, X_VSUB, n->a, n->b);
    case RDN_OP_MUL: return f64_binary(g, X_VMUL, n->a, n->b);
    case RDN_OP_DIV: return f64_binary(g, X_VDIV, n->a, n->b);
    case RDN_OP_MIN: case RDN_OP_MAX: return f64_minmax(g, n);
    case RDN_OP_SEL: return f64_select(g, n);
    case RDN_OP_RATIO: case RDN_OP_IRATIO: return f64_ratio(g, n);
    case RDN_OP_I2F: case RDN_OP_D2F: return from_whole(g, n->a);
    default: return f64_unary(g, n);
    }
}
