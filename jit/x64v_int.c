/* SPDX-License-Identifier: Apache-2.0
 * x64v_int.c: integers and decimals in vectors: wrapping arithmetic, and marks where the true result has no 64 bits.
 *
 * A 64-bit product has no high half in vectors. Whether it fits is asked of doubles: (double)a * (double)b is off by less than
 * 2^-50 of itself, so below 2^63 * (1 - 2^-50) the product fits. AVX2 has neither the product nor the conversion: both are put
 * together from halves of 32 and of 16 and 48 bits. */
#include <string.h>
#include "jit/x64v_gen.h"

enum { TMP0 = 14, TMP1 = 15 };
static const double fits_below = 9223372036854767616.0;  /* 2^63 * (1 - 2^-50) */
static const struct xv_m everywhere = {0, false};

static uint64_t bits_of(double d) {
    uint64_t v;
    memcpy(&v, &d, 8);
    return v;
}
static struct xv_v fresh(struct xv_gen *g) { return (struct xv_v){(uint8_t)xv_vector(g), true}; }
/* Lanes whose sign bit is set are marked. Takes t. */
static void mark_sign(struct xv_gen *g, struct xv_v t) {
    if (rdn_fault(XV_MARK_SIGN)) {
        xv_drop(g, t);
        return;
    }
    if (g->zmm) {
        struct xv_m m = {(uint8_t)xv_mask_reg(g), true};
        xv_drop(g, t);
        xz_rr(&g->b, XV_PMOVQ2M, m.r, 0, t.r, 0);
        xv_mark_mask(g, m);
    } else {
        xv_mark_mask(g, (struct xv_m){t.r, true});       /* only the sign is looked at */
    }
}
/* x < low or x > high: marked. Constants. */
static void mark_outside(struct xv_gen *g, unsigned x, int64_t low, int64_t high) {
    const struct { unsigned imm; int64_t k; } side[2] = {{XV_QLT, low}, {XV_QGT, high}};
    for (unsigned i = 0; i < 2; i++) {
        struct xv_m m = {(uint8_t)xv_mask_reg(g), true};
        struct xv_src k = xv_one(g, (uint64_t)side[i].k);
        if (g->zmm) {
            xz_rc(&g->b, XV_PCMPQ, m.r, x, k.m, 0, 1);
            x_b(&g->b, side[i].imm);
        } else if (i) {
            xv_op(g, XV_PCMPGTQ, m.r, x, k);
        } else {
            xv_move_in(g, m.r, k);
            xv_op(g, XV_PCMPGTQ, m.r, m.r, (struct xv_src){XV_REG, (uint8_t)x, {0, 0}});
        }
        xv_mark_mask(g, m);
    }
}

/* ---- sums ---- */
/* Overflow: of l + r when (d ^ l) & (d ^ r) is negative, of l - r when (d ^ l) & (l ^ r) is. */
static void guard_sum(struct xv_gen *g, bool add, unsigned d, unsigned l, unsigned r) {
    struct xv_v t = fresh(g), u = fresh(g);
    xv_op(g, XV_PXORQ, t.r, d, (struct xv_src){XV_REG, (uint8_t)l, {0, 0}});
    xv_op(g, XV_PXORQ, u.r, add ? d : l, (struct xv_src){XV_REG, (uint8_t)r, {0, 0}});
    xv_op(g, XV_PANDQ, t.r, t.r, xv_src_of(u));
    xv_drop(g, u);
    mark_sign(g, t);
}
static struct xv_v add_sub(struct xv_gen *g, const struct rdn_pnode *n) {
    struct xv_v l = xv_value(g, n->a), r, d;
    bool add = n->op == RDN_OP_ADD;
    unsigned op = add ? XV_PADDQ : XV_PSUBQ;
    if (!(n->flags & RDN_P_GUARD))
        return xv_binary(g, op, l, n->b);
    r = xv_value(g, n->b);
    d = fresh(g);
    xv_op(g, op, d.r, l.r, xv_src_of(r));
    guard_sum(g, add || rdn_fault(XV_SUM_SIGN), d.r, l.r, r.r);
    xv_drop(g, l);
    xv_drop(g, r);
    return d;
}

/* ---- products ---- */
/* (double)x, correctly rounded, of both halves: into d, through TMP0. d is not x. */
static void to_double_ymm(struct xv_gen *g, unsigned d, unsigned x) {
    static const double up = 442721857769029238784.0, down = 442726361368656609280.0;   /* 3 * 2^67, 3 * 2^67 + 2^52 */
    struct x64_buf *b = &g->b;
    struct x64_mem k_up = xv_const(g, bits_of(up)), k_down = xv_const(g, bits_of(down)), k_low = xv_const(g, bits_of(0x1p52));
    for (unsigned h = 0; h < 2; h++) {
        unsigned dh = 2 * d + h, xh = 2 * x + h;
        xy_sard(b, dh, xh, 16);                          /* bits 48 to 63, signed, in the upper half: 2^48 times them */
        xy_rr(b, XV_PXORQ, TMP0, TMP0, TMP0);
        xy_rr(b, XV_PBLENDW, dh, dh, TMP0), x_b(b, 0x33);
        xy_rm(b, XV_BROADCASTSD, TMP0, 0, k_up, 0);
        xy_rr(b, XV_PADDQ, dh, dh, TMP0);
        xy_rm(b, XV_BROADCASTSD, TMP0, 0, k_down, 0);
        xy_rr(b, XV_SUBPD, dh, dh, TMP0);
        xy_rm(b, XV_BROADCASTSD, TMP0, 0, k_low, 0);
        xy_rr(b, XV_PBLENDW, TMP0, xh, TMP0), x_b(b, rdn_fault(XV_TO_DOUBLE) ? 0xcc : 0x88);      /* 2^52 + bits 0 to 47 */
        xy_rr(b, XV_ADDPD, dh, dh, TMP0);
    }
}
static void to_double(struct xv_gen *g, unsigned d, unsigned x) {
    if (g->zmm)
        xv_unary(g, XV_CVTQQ2PD, d, x, -1);
    else
        to_double_ymm(g, d, x);
}
static void guard_product(struct xv_gen *g, unsigned a, unsigned b) {
    struct xv_v t = fresh(g), u = fresh(g);
    to_double(g, t.r, a);
    to_double(g, u.r, b);
    xv_op(g, XV_MULPD, t.r, t.r, xv_src_of(u));
    xv_drop(g, u);
    xv_op(g, XV_PANDQ, t.r, t.r, xv_one(g, INT64_MAX));
    struct xv_m m = xv_cmp_f(g, XV_NLT_UQ, t.r, xv_one(g, bits_of(fits_below)), everywhere);
    xv_drop(g, t);
    xv_mark_mask(g, m);
}
/* Low 64 bits of a * b; upper: b may have bits above 32. d may be a or b. */
static void product_ymm(struct xv_gen *g, unsigned d, unsigned a, unsigned b, bool upper) {
    struct x64_buf *o = &g->b;
    for (unsigned h = 0; h < 2; h++) {
        unsigned dh = 2 * d + h, ah = 2 * a + h, bh = 2 * b + h;
        xy_shq(o, 2, TMP0, ah, 32);
        xy_rr(o, XV_PMULUDQ, TMP0, TMP0, bh);
        if (upper && !rdn_fault(XV_PRODUCT_UPPER)) {
            xy_shq(o, 2, TMP1, bh, 32);
            xy_rr(o, XV_PMULUDQ, TMP1, TMP1, ah);
            xy_rr(o, XV_PADDQ, TMP0, TMP0, TMP1);
        }
        xy_shq(o, 6, TMP0, TMP0, 32);
        xy_rr(o, XV_PMULUDQ, TMP1, ah, bh);
        xy_rr(o, XV_PADDQ, dh, TMP0, TMP1);
    }
}
static void product(struct xv_gen *g, unsigned d, unsigned a, unsigned b, bool upper) {
    if (g->zmm)
        xv_op(g, XV_PMULLQ, d, a, (struct xv_src){XV_REG, (uint8_t)b, {0, 0}});
    else
        product_ymm(g, d, a, b, upper);
}
/* x * k */
static struct xv_v times(struct xv_gen *g, rdn_pid p, int64_t k, bool guard) {
    struct xv_v l = xv_value(g, p);
    int64_t most = k == 0 || k == -1 ? INT64_MAX : INT64_MAX / (k < 0 ? -k : k);
    if (guard && !rdn_fault(XV_TIMES_GUARD))
        mark_outside(g, l.r, -most, most);
    struct xv_v r = fresh(g), d;
    xv_move_in(g, r.r, xv_one(g, (uint64_t)k));
    d = xv_result(g, l, r);
    product(g, d.r, l.r, r.r, k < 0 || k > UINT32_MAX);
    return d;
}
static struct xv_v mul(struct xv_gen *g, const struct rdn_pnode *n) {
    const struct rdn_pnode *k = xv_node(g, n->b);
    bool guard = n->flags & RDN_P_GUARD;
    if (k->op == RDN_OP_CONST && k->lo != INT64_MIN)
        return times(g, n->a, k->lo, guard);
    struct xv_v l = xv_value(g, n->a), r = xv_value(g, n->b);
    if (guard && !rdn_fault(XV_PRODUCT_GUARD))
        guard_product(g, l.r, r.r);
    struct xv_v d = xv_result(g, l, r);
    product(g, d.r, l.r, r.r, true);
    return d;
}

/* ---- one operand ---- */
static struct xv_v negate(struct xv_gen *g, const struct rdn_pnode *n) {
    struct xv_v x = xv_value(g, n->a), d = fresh(g);
    xv_op(g, XV_PXORQ, d.r, d.r, xv_src_of(d));
    xv_op(g, XV_PSUBQ, d.r, d.r, xv_src_of(x));
    if (n->flags & RDN_P_GUARD) {                        /* both negative: the least integer */
        struct xv_v t = fresh(g);
        xv_op(g, XV_PANDQ, t.r, x.r, xv_src_of(d));
        mark_sign(g, t);
    }
    xv_drop(g, x);
    return d;
}
static struct xv_v absolute(struct xv_gen *g, const struct rdn_pnode *n) {
    struct xv_v x = xv_value(g, n->a), d = fresh(g), t;
    if (g->zmm) {
        xv_unary(g, XV_PABSQ, d.r, x.r, -1);
        xv_drop(g, x);
    } else {                                             /* (x ^ m) - m, m all ones where x is negative */
        t = fresh(g);
        xv_op(g, XV_PXORQ, t.r, t.r, xv_src_of(t));
        xv_op(g, XV_PCMPGTQ, t.r, t.r, xv_src_of(x));
        xv_op(g, XV_PXORQ, d.r, x.r, xv_src_of(t));
        xv_op(g, XV_PSUBQ, d.r, d.r, xv_src_of(t));
        xv_drop(g, x);
        xv_drop(g, t);
    }
    if (n->flags & RDN_P_GUARD) {
        t = fresh(g);
        xv_move_in(g, t.r, xv_src_of(d));
        mark_sign(g, t);
    }
    return d;
}
/* Truncation. AVX2: through the bits of 1.5 * 2^52 + x, below 2^51 alone. */
static struct xv_v from_f64(struct xv_gen *g, const struct rdn_pnode *n) {
    struct xv_v x = xv_value(g, n->a), d = xv_owned(g, x);
    if (g->zmm) {
        struct xv_m m = {(uint8_t)xv_mask_reg(g), true};
        xv_unary(g, XV_CVTTPD2QQ, d.r, x.r, -1);
        xz_rc(&g->b, XV_PCMPQ, m.r, d.r, xv_const(g, 1ull << 63), 0, 1);
        x_b(&g->b, XV_QEQ);                              /* out of range and NaN; a value in range may be it, too */
        if (rdn_fault(XV_F2I_RANGE_Z))
            xv_drop_mask(g, m);
        else
            xv_mark_mask(g, m);
        return d;
    }
    struct xv_v t = fresh(g);
    xv_unary(g, XV_ROUNDPD, d.r, x.r, (rdn_fault(XV_F2I_ROUND_Y) ? 1 : 3) | 8);
    xv_op(g, XV_PANDQ, t.r, d.r, xv_one(g, INT64_MAX));
    xv_mark_mask(g, xv_cmp_f(g, XV_NLT_UQ, t.r, xv_one(g, bits_of(0x1p51)), everywhere));
    xv_drop(g, t);
    xv_op(g, XV_ADDPD, d.r, d.r, xv_one(g, bits_of(0x1.8p52)));
    xv_op(g, XV_PSUBQ, d.r, d.r, xv_one(g, bits_of(0x1.8p52)));
    return d;
}
static struct xv_v from_bool(struct xv_gen *g, const struct rdn_pnode *n) {
    struct xv_m m = xv_bool(g, n->a, everywhere);
    struct xv_v d;
    if (g->zmm) {
        d = fresh(g);
        xz_load(&g->b, XV_BROADCASTSD, d.r, xv_const(g, 1), 8, m.r, true);
        xv_drop_mask(g, m);
        return d;
    }
    for (unsigned h = 0; h < 2; h++)
        xy_shq(&g->b, 2, 2u * m.r + h, 2u * m.r + h, rdn_fault(XV_B2I) ? 0 : 63);
    return (struct xv_v){m.r, true};
}

/* ---- others ---- */
static struct xv_v min_max(struct xv_gen *g, const struct rdn_pnode *n) {
    const rdn_pid *v = g->pl->args.v + n->a;
    struct xv_v acc = xv_value(g, v[0]);
    bool min = n->op == RDN_OP_MIN;
    for (uint32_t i = 1; i < n->b; i++) {
        struct xv_v x = xv_value(g, v[i]), d;
        if (g->zmm) {
            d = xv_result(g, acc, x);
            xv_op(g, min ? XV_PMINSQ : XV_PMAXSQ, d.r, acc.r, xv_src_of(x));
        } else {
            d = fresh(g);
            xv_op(g, XV_PCMPGTQ, d.r, acc.r, xv_src_of(x));
            xv_blend(g, d.r, min != rdn_fault(XV_MIN_Y) ? acc.r : x.r, min != rdn_fault(XV_MIN_Y) ? x.r : acc.r, (struct xv_m){d.r, true});
            xv_drop(g, acc);
            xv_drop(g, x);
        }
        acc = d;
    }
    return acc;
}
static struct xv_v bits(struct xv_gen *g, const struct rdn_pnode *n) {
    unsigned op = n->op == RDN_OP_BAND ? XV_PANDQ : n->op == RDN_OP_BOR ? XV_PORQ : XV_PXORQ;
    struct xv_v l = xv_value(g, n->a), d;
    if (n->op != RDN_OP_BNOT)
        return xv_binary(g, op, l, n->b);
    d = xv_owned(g, l);
    xv_op(g, op, d.r, l.r, xv_one(g, UINT64_MAX));
    return d;
}

struct xv_v xv_int(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    switch (n->op) {
    case RDN_OP_ADD: case RDN_OP_SUB: return add_sub(g, n);
    case RDN_OP_MUL: return mul(g, n);
    case RDN_OP_NEG: return negate(g, n);
    case RDN_OP_ABS: return absolute(g, n);
    case RDN_OP_MIN: case RDN_OP_MAX: return min_max(g, n);
    case RDN_OP_F2I: return from_f64(g, n);
    case RDN_OP_B2I: return from_bool(g, n);
    case RDN_OP_RESCALE: {
        const struct rdn_pnode *a = xv_node(g, n->a);
        int64_t k = (int64_t)rdn_pow10(n->scale - (a->type == RDN_TY_D64 ? a->scale : 0u));
        return k == 1 ? xv_value(g, n->a) : times(g, n->a, rdn_fault(XV_RESCALE) ? 10 * k : k, n->flags & RDN_P_GUARD);
    }
    default: return bits(g, n);
    }
}

/* The divisor is exact, and 1 changes nothing. */
struct xv_v xv_from_whole(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    struct xv_v x = xv_value(g, p), d = fresh(g);
    double k = n->type == RDN_TY_D64 && !rdn_fault(XV_SCALE) ? (double)rdn_pow10(n->scale) : 1.0;
    to_double(g, d.r, x.r);
    xv_drop(g, x);
    if (k != 1.0)
        xv_op(g, XV_DIVPD, d.r, d.r, xv_one(g, bits_of(k)));
    return d;
}
