/* SPDX-License-Identifier: Apache-2.0
 * pred_ops.c: single operations on cells and truth values (pred.h): what is no comparison of a common form. Each means what the
 * operation of ir/op.c means; an undefined operand makes the result undefined, whatever its word then is. */
#include "jit/pred.h"
#include <math.h>

enum { UNDEF = 2 };                                      /* also the truth value */

/* ---- integers and decimals of 64 bits: the result, and whether it has one ---- */
static bool div_i(int64_t a, int64_t b, bool rest, int64_t *ret) {
    if (b == 0)
        return false;
    if (b == -1) {                                       /* min / -1 leaves 64 bits, and so does the instruction for the rest */
        *ret = 0;
        return rest || !__builtin_sub_overflow(0, a, ret);
    }
    *ret = rest ? a % b : a / b;
    return true;
}
static bool f_to_i(double x, int64_t *ret) {
    if (!(x >= -0x1p63 && x < 0x1p63))
        return false;
    *ret = (int64_t)x;
    return true;
}

static void put_i(const struct rdn_pred_op *o, struct rdn_pred_cells *c, int64_t v, bool good) {
    c->v[o->dst].i = v;
    c->u[o->dst] = good ? 0 : UNDEF;
}
static void op_i2(const struct rdn_pred_op *o, struct rdn_pred_cells *c) {
    int64_t a = c->v[o->a].i, b = c->v[o->b].i, r = 0;
    bool good = true;
    switch (o->code) {
    case RDN_PC_I_ADD: good = !__builtin_add_overflow(a, b, &r); break;
    case RDN_PC_I_SUB: good = !__builtin_sub_overflow(a, b, &r); break;
    case RDN_PC_I_MUL: good = !__builtin_mul_overflow(a, b, &r); break;
    case RDN_PC_I_DIV: good = div_i(a, b, false, &r); break;
    case RDN_PC_I_MOD: good = div_i(a, b, true, &r); break;
    case RDN_PC_I_MIN: r = b < a ? b : a; break;
    case RDN_PC_I_MAX: r = b > a ? b : a; break;
    case RDN_PC_I_AND: r = a & b; break;
    case RDN_PC_I_OR: r = a | b; break;
    default: r = a ^ b;
    }
    put_i(o, c, r, good && !(c->u[o->a] | c->u[o->b]));
}
static void op_i1(const struct rdn_pred_op *o, struct rdn_pred_cells *c) {
    int64_t a = c->v[o->a].i, r = 0;
    bool good = true;
    if (o->code == RDN_PC_I_NOT)
        r = ~a;
    else if (o->code == RDN_PC_I_SCALE)
        good = !__builtin_mul_overflow(a, o->k.i, &r);
    else if (o->code == RDN_PC_I_ABS && a >= 0)
        r = a;
    else
        good = !__builtin_sub_overflow(0, a, &r);
    put_i(o, c, r, good && !c->u[o->a]);
}

/* ---- decimals of 128 bits ---- */
static bool narrow(rdn_i128 a, rdn_i128 b) { return rdn_fits_i64(a) && rdn_fits_i64(b); }
static rdn_i128 mod_w(rdn_i128 a, rdn_i128 b) { return b == -1 ? 0 : narrow(a, b) ? (int64_t)a % (int64_t)b : a % b; }
static bool mul_w(rdn_i128 a, rdn_i128 b, rdn_i128 *ret) {
    if (!narrow(a, b))
        return !__builtin_mul_overflow(a, b, ret);
    *ret = a * b;
    return true;
}
/* A result that left 128 bits may have done so because the plan's form of the expression is not the text's: interp decides. */
static void put_w(const struct rdn_pred_op *o, struct rdn_pred_cells *c, rdn_i128 v, bool good, bool over) {
    c->w[o->dst] = v;
    c->wu[o->dst] = good && !over ? 0 : UNDEF;
    c->overflow |= good && over;
}
static void op_w2(const struct rdn_pred_op *o, struct rdn_pred_cells *c) {
    rdn_i128 a = c->w[o->a], b = c->w[o->b], r = 0;
    bool over = false, good = !(c->wu[o->a] | c->wu[o->b]);
    switch (o->code) {
    case RDN_PC_W_ADD: over = __builtin_add_overflow(a, b, &r); break;
    case RDN_PC_W_SUB: over = __builtin_sub_overflow(a, b, &r); break;
    case RDN_PC_W_MUL: over = !mul_w(a, b, &r); break;
    case RDN_PC_W_MIN: r = b < a ? b : a; break;
    case RDN_PC_W_MAX: r = b > a ? b : a; break;
    default:
        good = good && b != 0;
        r = b != 0 ? mod_w(a, b) : 0;
    }
    put_w(o, c, r, good, over);
}
static void op_w1(const struct rdn_pred_op *o, struct rdn_pred_cells *c) {
    rdn_i128 a = c->w[o->a], r = 0;
    bool over = false;
    if (o->code == RDN_PC_W_SCALE)
        over = !mul_w(a, o->k.i, &r);
    else if (o->code == RDN_PC_W_ABS && a >= 0)
        r = a;
    else
        over = __builtin_sub_overflow(0, a, &r);
    put_w(o, c, r, !c->wu[o->a], over);
}

/* ---- floats ---- */
static double first_min(double a, double b) { return a != a ? a : b != b || b < a ? b : a; }
static double first_max(double a, double b) { return a != a ? a : b != b || b > a ? b : a; }
static double of_f(unsigned code, double a, double b) {
    switch (code) {
    case RDN_PC_F_ADD: return a + b;
    case RDN_PC_F_SUB: return a - b;
    case RDN_PC_F_MUL: return a * b;
    case RDN_PC_F_DIV: return a / b;
    case RDN_PC_F_NEG: return -a;
    case RDN_PC_F_ABS: return fabs(a);
    case RDN_PC_F_SQRT: return sqrt(a);
    case RDN_PC_F_FLOOR: return floor(a);
    case RDN_PC_F_CEIL: return ceil(a);
    case RDN_PC_F_TRUNC: return trunc(a);
    case RDN_PC_F_MIN: return first_min(a, b);
    default: return first_max(a, b);
    }
}

/* ---- choices and conversions ---- */
static void op_select(const struct rdn_pred_op *o, struct rdn_pred_cells *c) {
    uint8_t t = c->t[o->a];
    uint32_t from = t == 3 ? o->b : o->c;
    if (o->code == RDN_PC_F_SEL) {
        c->v[o->dst].f = t == UNDEF ? NAN : c->v[from].f;
    } else if (o->code == RDN_PC_I_SEL) {
        put_i(o, c, c->v[from].i, t != UNDEF && !c->u[from]);
    } else if (o->code == RDN_PC_W_SEL) {
        put_w(o, c, c->w[from], t != UNDEF && !c->wu[from], false);
    } else {
        c->t[o->dst] = t == UNDEF ? t : c->t[from];
    }
}
static void op_convert(const struct rdn_pred_op *o, struct rdn_pred_cells *c) {
    int64_t i = 0;
    switch (o->code) {
    case RDN_PC_F_OFI: c->v[o->dst].f = c->u[o->a] ? NAN : (double)c->v[o->a].i / o->k.f; break;
    case RDN_PC_F_OFW: c->v[o->dst].f = c->wu[o->a] ? NAN : rdn_dec_to_f64(c->w[o->a], (unsigned)o->k.i); break;
    case RDN_PC_I_OFF: {
        bool good = f_to_i(c->v[o->a].f, &i);
        put_i(o, c, i, good);
        break;
    }
    case RDN_PC_I_OFB: put_i(o, c, c->t[o->a] & 1, c->t[o->a] != UNDEF); break;
    case RDN_PC_W_OFI: put_w(o, c, c->v[o->a].i, !c->u[o->a], false); break;
    case RDN_PC_B_OFI: c->t[o->dst] = c->u[o->a] ? UNDEF : c->v[o->a].i ? 3 : 0; break;
    case RDN_PC_B_NOT: c->t[o->dst] = c->t[o->a] == UNDEF ? UNDEF : 3 - c->t[o->a]; break;
    default: {                                           /* B_EQ */
        uint8_t a = c->t[o->a], b = c->t[o->b];
        c->t[o->dst] = a == UNDEF || b == UNDEF ? UNDEF : a == b ? 3 : 0;
    }
    }
}

void rdn_pred_ops(const struct rdn_pred_op *o, uint32_t n, struct rdn_pred_cells *c) {
    for (const struct rdn_pred_op *end = o + n; o < end; o++)
        switch ((enum rdn_pred_code)o->code) {
        case RDN_PC_F_ADD: case RDN_PC_F_SUB: case RDN_PC_F_MUL: case RDN_PC_F_DIV: case RDN_PC_F_NEG: case RDN_PC_F_ABS: case RDN_PC_F_SQRT:
        case RDN_PC_F_FLOOR: case RDN_PC_F_CEIL: case RDN_PC_F_TRUNC: case RDN_PC_F_MIN: case RDN_PC_F_MAX:
            c->v[o->dst].f = of_f(o->code, c->v[o->a].f, c->v[o->b].f);
            break;
        case RDN_PC_I_ADD: case RDN_PC_I_SUB: case RDN_PC_I_MUL: case RDN_PC_I_DIV: case RDN_PC_I_MOD: case RDN_PC_I_MIN: case RDN_PC_I_MAX:
        case RDN_PC_I_AND: case RDN_PC_I_OR: case RDN_PC_I_XOR:
            op_i2(o, c);
            break;
        case RDN_PC_I_SCALE: case RDN_PC_I_NEG: case RDN_PC_I_ABS: case RDN_PC_I_NOT:
            op_i1(o, c);
            break;
        case RDN_PC_W_ADD: case RDN_PC_W_SUB: case RDN_PC_W_MUL: case RDN_PC_W_MOD: case RDN_PC_W_MIN: case RDN_PC_W_MAX:
            op_w2(o, c);
            break;
        case RDN_PC_W_SCALE: case RDN_PC_W_NEG: case RDN_PC_W_ABS:
            op_w1(o, c);
            break;
        case RDN_PC_F_SEL: case RDN_PC_I_SEL: case RDN_PC_W_SEL: case RDN_PC_B_SEL:
            op_select(o, c);
            break;
        case RDN_PC_F_OFI: case RDN_PC_F_OFW: case RDN_PC_I_OFF: case RDN_PC_I_OFB: case RDN_PC_W_OFI: case RDN_PC_B_OFI: case RDN_PC_B_NOT:
        case RDN_PC_B_EQ:
            op_convert(o, c);
            break;
        case RDN_PC_COUNT: break;
        }
}
