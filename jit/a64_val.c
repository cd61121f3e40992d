/* SPDX-License-Identifier: Apache-2.0
 * a64_val.c: numbers in registers: leaves, constants, arithmetic, guards (a64_gen.h). */
#include "jit/a64_gen.h"
#include "jit/faults.h"

/* ---- registers ---- */
static unsigned take(struct a64_gen *g, uint32_t *free) {
    if (!*free) {
        g->failed = true;
        return 4;                                        /* what is written now is rolled back */
    }
    unsigned r = (unsigned)__builtin_ctz(*free);
    *free &= *free - 1;
    return r;
}
unsigned a64_gpr(struct a64_gen *g) { return take(g, &g->gfree); }
unsigned a64_fpr(struct a64_gen *g) { return take(g, &g->ffree); }
/* Where the result of an operation on these goes: into one that is free then. */
static unsigned result(struct a64_gen *g, unsigned l, unsigned r) {
    if (a64_owned(l)) {
        if (r != l)
            a64_ffree(g, r);
        return l;
    }
    return a64_owned(r) ? r : a64_fpr(g);
}

/* ---- constants ---- */
void a64_const(struct a64_gen *g, unsigned r, uint64_t v) {
    uint32_t at = a_mov_cost(v) > 2 ? rdn_pool_put(&g->pool, g->b.base, &g->pool_low, v) : 0;
    if (!at || !a_ldr_literal(&g->b, r, at))
        a_mov_ri(&g->b, r, v);
}
static unsigned f64_const(struct a64_gen *g, uint64_t bits) {
    unsigned d = a64_fpr(g);
    uint32_t at = bits ? rdn_pool_put(&g->pool, g->b.base, &g->pool_low, bits) : 0;
    if (at && a_ldr_d_literal(&g->b, d, at))
        return d;
    if (bits)
        a_mov_ri(&g->b, A_A0, bits);
    a_fmov_dx(&g->b, d, bits ? A_A0 : A_ZR);
    return d;
}

/* ---- guards ---- */
void a64_jump(struct a64_gen *g, enum a_cc cc, uint32_t *chain) {
    struct a64_jump *j = rdn_push(g->arena, &g->jumps);
    *j = (struct a64_jump){a_bcc(&g->b, cc), *chain};
    *chain = g->jumps.n;
}
static void jump_stub(struct a64_gen *g, enum a_cc cc, uint32_t *stub, unsigned kind) {
    if (*stub == A64_NONE) {
        *stub = g->stubs.n;
        struct a64_stub *s = rdn_push(g->arena, &g->stubs);
        *s = (struct a64_stub){.kind = (uint8_t)kind, .is_set = g->target_is_set, .target = g->target};
    }
    a64_jump(g, cc, &g->stubs.v[*stub].jumps);
}
void a64_jump_taint(struct a64_gen *g, enum a_cc cc) { jump_stub(g, cc, &g->taint, A64_TAINT); }
void a64_jump_cold(struct a64_gen *g, enum a_cc cc) {
    if (g->no_cold)
        a64_jump_taint(g, cc);
    else
        jump_stub(g, cc, &g->cold, A64_COLD);
}
static void guard(struct a64_gen *g, const struct rdn_pnode *n, enum a_cc cc) {
    if (n->type == RDN_TY_D64 && !rdn_fault(A64_GUARD_DEC))
        a64_jump_cold(g, cc);
    else if (n->type != RDN_TY_D64 && !rdn_fault(A64_GUARD_INT))
        a64_jump_taint(g, cc);
}

/* ---- places ---- */
bool a64_place(const struct a64_gen *g, rdn_pid p, struct a64_mem *ret, unsigned *ret_size) {
    const struct rdn_pnode *n = a64_node(g, p);
    const struct rdn_field *f;
    *ret_size = 8;
    if ((n->flags & RDN_P_SLOT) || g->done[p]) {
        *ret = a_at(A64_BLOCK, rdn_block_slot(n->slot));
        return true;
    }
    switch (n->op) {
    case RDN_OP_NOW: *ret = a_at(A64_BLOCK, RDN_BLOCK_NOW); return true;
    case RDN_OP_TS: *ret = a_at(A64_ROW, 0); return true;
    case RDN_OP_FIELD:
        f = &g->pl->ir->events[g->pl->event].fields[n->aux];
        *ret = a_at(A64_ROW, f->offset);
        *ret_size = f->size;
        return true;
    default: return false;
    }
}
bool a64_load_leaf(struct a64_gen *g, rdn_pid p, unsigned *ret) {
    const struct rdn_pnode *n = a64_node(g, p);
    struct a64_mem m;
    unsigned size;
    bool is_const = a64_is_const(n);
    if (!is_const && !a64_place(g, p, &m, &size))
        return false;
    *ret = a64_gpr(g);
    if (is_const)
        a64_const(g, *ret, (uint64_t)n->lo);
    else                                                 /* of 4 bytes: a date is signed, a sym is not */
        a_mem(&g->b, size == 8 ? A_LDR : size == 1 ? A_LDRB : n->lo < 0 && !rdn_fault(A64_LOAD_DATE) ? A_LDRSW : A_LDR_W, *ret, m);
    return true;
}
unsigned a64_second(struct a64_gen *g, rdn_pid p) {
    if (!a64_is_const(a64_node(g, p)))
        return a64_int(g, p);
    a64_const(g, A_A0, (uint64_t)a64_node(g, p)->lo);
    return A_A0;
}

/* ---- integers and decimals ---- */
/* r = a * b; the upper half of the product must be the sign of the lower. */
static void multiply(struct a64_gen *g, const struct rdn_pnode *n, unsigned r, unsigned a, unsigned b) {
    bool guarded = n->flags & RDN_P_GUARD;
    if (guarded)
        a_rrr(&g->b, A_SMULH, A64_TMP, a, b);
    a_rrr(&g->b, A_MUL, r, a, b);
    if (guarded) {
        a_rrr_shift(&g->b, A_SUBS, A_ZR, A64_TMP, r, A_ASR, 63);
        guard(g, n, A_NE);
    }
}
static unsigned int_binary(struct a64_gen *g, const struct rdn_pnode *n) {
    bool guarded = n->flags & RDN_P_GUARD;
    unsigned r = a64_int(g, n->a), s = a64_second(g, n->b);
    switch (n->op) {
    case RDN_OP_ADD: a_rrr(&g->b, guarded ? A_ADDS : A_ADD, r, r, s); break;
    case RDN_OP_SUB: a_rrr(&g->b, guarded ? A_SUBS : A_SUB, r, r, s); break;
    case RDN_OP_BAND: a_rrr(&g->b, A_AND, r, r, s); break;
    case RDN_OP_BOR: a_rrr(&g->b, A_ORR, r, r, s); break;
    case RDN_OP_BXOR: a_rrr(&g->b, A_EOR, r, r, s); break;
    default: multiply(g, n, r, r, s);
    }
    if (guarded && n->op != RDN_OP_MUL)
        guard(g, n, A_VS);
    a64_gfree(g, s);
    return r;
}

/* sdiv never traps. 0 and -1 as divisors are interp's where the planner could not rule them out. */
static unsigned divide(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned a = a64_int(g, n->a), s = a64_second(g, n->b);
    if ((n->flags & RDN_P_GUARD) && !rdn_fault(A64_DIV_GUARD)) {
        a_rri(&g->b, A_ADD_I, A64_TMP, s, 1);            /* is 0 or 1: unsigned below 2 */
        a_cmp_i(&g->b, A64_TMP, 2);
        a64_jump_taint(g, A_LO);
    }
    if ((n->op == RDN_OP_DIV) != rdn_fault(A64_DIV_RESULT)) {
        a_rrr(&g->b, A_SDIV, a, a, s);
    } else {
        a_rrr(&g->b, A_SDIV, A64_TMP, a, s);
        a_msub(&g->b, a, A64_TMP, s, a);
    }
    a64_gfree(g, s);
    return a;
}
/* First of equals: the later one only where it is less, or greater. */
static unsigned int_minmax(struct a64_gen *g, const struct rdn_pnode *n) {
    const rdn_pid *v = g->pl->args.v + n->a;
    unsigned r = a64_int(g, v[0]);
    for (uint32_t i = 1; i < n->b; i++) {
        unsigned s = a64_second(g, v[i]);
        a_cmp(&g->b, s, r);
        a_csel(&g->b, r, s, r, n->op != RDN_OP_MIN ? A_GT : rdn_fault(A64_MIN_UNSIGNED) ? A_LO : A_LT);
        a64_gfree(g, s);
    }
    return r;
}
static unsigned int_select(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned yes = a64_int(g, n->b), no = a64_int(g, n->c), c = a64_bool(g, n->a);
    a_tst1(&g->b, c);
    a_csel(&g->b, yes, yes, no, rdn_fault(A64_SELECT_ARMS) ? A_EQ : A_NE);
    a64_gfree(g, no);
    a64_gfree(g, c);
    return yes;
}
/* Truncation. Out of range gives the nearest limit, which a value in range may also be: interp tells them apart. */
static unsigned f64_to_int(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned x = a64_f64(g, n->a), r = a64_gpr(g);
    if (a64_node(g, n->a)->flags & RDN_P_NAN) {          /* NaN gives 0 */
        a_fcmp(&g->b, x, x);
        a64_jump_taint(g, A_VS);
    }
    a_fcvtzs(&g->b, r, x);
    a_rrr_shift(&g->b, A_EOR, A64_TMP, r, r, A_ASR, 63);
    a_cmn_i(&g->b, A64_TMP, 1);                          /* overflows for max and for what stands in for min */
    if (!rdn_fault(A64_F2I_RANGE))
        a64_jump_taint(g, A_VS);
    a64_ffree(g, x);
    return r;
}
static unsigned int_unary(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned r = a64_int(g, n->a);
    if (n->op == RDN_OP_BNOT) {
        a_mvn(&g->b, r, r);
    } else if (n->op == RDN_OP_NEG) {
        a_rrr(&g->b, A_SUBS, r, A_ZR, r);
        if (n->flags & RDN_P_GUARD)
            guard(g, n, A_VS);
    } else if (n->op == RDN_OP_ABS) {
        a_rrr(&g->b, A_SUBS, A64_TMP, A_ZR, r);
        if (n->flags & RDN_P_GUARD)
            guard(g, n, A_VS);
        a_csel(&g->b, r, r, A64_TMP, rdn_fault(A64_ABS) ? A_PL : A_MI);              /* the negated one is negative: the value itself */
    } else if (n->op == RDN_OP_RESCALE) {
        const struct rdn_pnode *a = a64_node(g, n->a);
        uint64_t k = (uint64_t)rdn_pow10(n->scale - (a->type == RDN_TY_D64 ? a->scale : 0u));
        if (k == 1)
            return r;
        k /= rdn_fault(A64_RESCALE) ? 10 : 1;
        a64_const(g, A_A0, k);
        multiply(g, n, r, r, A_A0);
    }
    return r;                                            /* B2I: see a64_int */
}
static unsigned bool_to_int(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned r = a64_bool(g, n->a);
    a_and1(&g->b, r, r);
    return r;
}

unsigned a64_int(struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    unsigned r;
    if (a64_load_leaf(g, p, &r))
        return r;
    if (n->type == RDN_TY_B1)
        return a64_bool(g, p);
    switch (n->op) {
    case RDN_OP_ADD: case RDN_OP_SUB: case RDN_OP_MUL: case RDN_OP_BAND: case RDN_OP_BOR: case RDN_OP_BXOR:
        return int_binary(g, n);
    case RDN_OP_DIV: case RDN_OP_MOD: return divide(g, n);
    case RDN_OP_MIN: case RDN_OP_MAX: return int_minmax(g, n);
    case RDN_OP_SEL: return int_select(g, n);
    case RDN_OP_F2I: return f64_to_int(g, n);
    case RDN_OP_B2I: return bool_to_int(g, n);
    default: return int_unary(g, n);
    }
}

/* ---- floats ---- */
/* (double)m / 10^scale; the divisor is exact and 1 changes nothing. */
static unsigned from_whole(struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    unsigned r = a64_int(g, p), d = a64_fpr(g);
    double k = n->type == RDN_TY_D64 ? (double)rdn_pow10(n->scale) : 1.0;
    uint64_t bits;
    a_scvtf(&g->b, d, r);
    a64_gfree(g, r);
    if (k == 1.0)
        return d;
    memcpy(&bits, &k, 8);
    unsigned c = f64_const(g, bits);
    a_fff(&g->b, A_FDIV, d, d, c);
    a64_ffree(g, c);
    return d;
}
static unsigned f64_binary(struct a64_gen *g, enum a_fff op, rdn_pid a, rdn_pid b) {
    unsigned l = a64_f64(g, a), r = a64_f64(g, b), d = result(g, l, r);
    a_fff(&g->b, op, d, l, r);
    return d;
}
static unsigned f64_ratio(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned l = from_whole(g, n->a), r = from_whole(g, n->b);
    a_fff(&g->b, A_FDIV, l, l, r);
    a64_ffree(g, r);
    return l;
}
static unsigned f64_unary(struct a64_gen *g, const struct rdn_pnode *n, enum a_ff op) {
    unsigned x = a64_f64(g, n->a), d = result(g, x, x);
    a_ff(&g->b, op, d, x);
    return d;
}
/* First of equals, so not fmin and fmax, which order the zeroes. NaN is undefined. */
static unsigned f64_minmax(struct a64_gen *g, const struct rdn_pnode *n) {
    const rdn_pid *v = g->pl->args.v + n->a;
    unsigned acc = 0;
    for (uint32_t i = 0; i < n->b; i++) {
        unsigned x = a64_f64(g, v[i]);
        if (a64_node(g, v[i])->flags & RDN_P_NAN) {
            a_fcmp(&g->b, x, x);
            a64_jump_taint(g, A_VS);
        }
        if (!i) {
            acc = x;
            continue;
        }
        unsigned d = result(g, acc, x);
        a_fcmp(&g->b, x, acc);
        a_fcsel(&g->b, d, x, acc, n->op != RDN_OP_MIN ? A_GT : rdn_fault(A64_FMIN_EQUAL) ? A_LS : A_MI);
        acc = d;
    }
    return acc;
}
static unsigned f64_select(struct a64_gen *g, const struct rdn_pnode *n) {
    unsigned yes = a64_f64(g, n->b), no = a64_f64(g, n->c), d;
    if (a64_maskable(g, n->a)) {
        d = a64_mask(g, n->a);
        a_mask(&g->b, A_BSL, d, yes, no);
        a64_ffree(g, yes);
        a64_ffree(g, no);
        return d;
    }
    unsigned c = a64_bool(g, n->a);
    d = result(g, yes, no);
    a_tst1(&g->b, c);
    a_fcsel(&g->b, d, yes, no, A_NE);
    a64_gfree(g, c);
    return d;
}

unsigned a64_f64(struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    struct a64_mem m;
    unsigned size;
    if (g->pin[p])
        return g->pin[p];
    if (a64_is_const(n))
        return f64_const(g, (uint64_t)n->lo);
    if (a64_place(g, p, &m, &size)) {
        unsigned d = a64_fpr(g);
        a_mem(&g->b, A_LDR_D, d, m);
        return d;
    }
    switch (n->op) {
    case RDN_OP_ADD: return f64_binary(g, A_FADD, n->a, n->b);
    case RDN_OP_SUB: return f64_binary(g, A_FSUB, n->a, n->b);
    case RDN_OP_MUL: return f64_binary(g, A_FMUL, n->a, n->b);
    case RDN_OP_DIV: return f64_binary(g, A_FDIV, n->a, n->b);
    case RDN_OP_NEG: return f64_unary(g, n, A_FNEG);
    case RDN_OP_ABS: return f64_unary(g, n, A_FABS);
    case RDN_OP_SQRT: return f64_unary(g, n, A_FSQRT);
    case RDN_OP_FLOOR: return f64_unary(g, n, A_FRINTM);
    case RDN_OP_CEIL: return f64_unary(g, n, A_FRINTP);
    case RDN_OP_TRUNC: return f64_unary(g, n, A_FRINTZ);
    case RDN_OP_MIN: case RDN_OP_MAX: return f64_minmax(g, n);
    case RDN_OP_SEL: return f64_select(g, n);
    case RDN_OP_RATIO: case RDN_OP_IRATIO: return f64_ratio(g, n);
    case RDN_OP_I2F: case RDN_OP_D2F: return from_whole(g, n->a);
    default:
        g->failed = true;                                /* not NATIVE: never asked for */
        return 0;
    }
}
