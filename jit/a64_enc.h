/* SPDX-License-Identifier: Apache-2.0
 * a64_enc.h: aarch64 encodings, one inline function each. Selection lives in a64*.c; this file only knows bits.
 *
 * Code is written to a plain buffer at its final distance from the constant pool, so every displacement is known when the
 * instruction is written. A full buffer, and a jump that does not reach, set .full: check it once at the end. A1 (x17) is used for
 * offsets that no load or store can hold. Checked against objdump by tests/unit/jit/test_a64_enc.c: add the row there with the
 * function here. */
#ifndef RDN_A64_ENC_H
#define RDN_A64_ENC_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { A_ZR = 31, A_A0 = 16, A_A1 = 17 };                /* 16 and 17: what the linker's veneers may use */
enum a_cc { A_EQ, A_NE, A_HS, A_LO, A_MI, A_PL, A_VS, A_VC, A_HI, A_LS, A_GE, A_LT, A_GT, A_LE, A_AL };   /* cc ^ 1 negates; AL: always */
/* op d, n, m */
enum a_rrr {
    A_ADD = 0x8b000000, A_ADDS = 0xab000000, A_SUB = 0xcb000000, A_SUBS = 0xeb000000, A_ADCS = 0xba000000, A_SBCS = 0xfa000000,
    A_AND = 0x8a000000, A_ORR = 0xaa000000, A_ORN = 0xaa200000, A_EOR = 0xca000000, A_MUL = 0x9b007c00, A_SMULH = 0x9b407c00,
    A_UMULH = 0x9bc07c00, A_SDIV = 0x9ac00c00,
};
enum a_imm { A_ADD_I = 0x91000000, A_ADDS_I = 0xb1000000, A_SUB_I = 0xd1000000, A_SUBS_I = 0xf1000000 };
enum a_shift { A_LSL = 0, A_LSR = 1, A_ASR = 2 };
/* Loads and stores: the form with an immediate in units of the size; the register form follows from it. */
enum a_mem { A_LDR = 0xf9400000u, A_STR = 0xf9000000u, A_LDR_W = 0xb9400000u, A_STR_W = 0xb9000000u, A_LDRSW = 0xb9800000u, A_LDRB = 0x39400000,
             A_LDR_D = 0xfd400000u, A_STR_D = 0xfd000000u };
enum a_fff { A_FADD = 0x1e602800, A_FSUB = 0x1e603800, A_FMUL = 0x1e600800, A_FDIV = 0x1e601800 };
enum a_ff { A_FMOV = 0x1e604000, A_FNEG = 0x1e614000, A_FABS = 0x1e60c000, A_FSQRT = 0x1e61c000, A_FRINTM = 0x1e654000, A_FRINTP = 0x1e64c000, A_FRINTZ = 0x1e65c000 };
/* masks of 64 bits: all ones or zero */
enum a_mask { A_FCMGT = 0x7ee0e400, A_FCMGE = 0x7e60e400, A_FCMEQ = 0x5e60e400, A_VAND = 0x0e201c00, A_VORR = 0x0ea01c00, A_BSL = 0x2e601c00 };

struct a64_buf { uint8_t *base, *p, *end; bool full; };   /* end: 4 bytes are left behind it */
struct a64_mem { uint8_t base; uint32_t disp; };

static inline struct a64_mem a_at(uint8_t base, uint32_t disp) { return (struct a64_mem){base, disp}; }
static inline uint32_t a_pos(const struct a64_buf *b) { return (uint32_t)(b->p - b->base); }
static inline void a_word(struct a64_buf *b, uint32_t v) {
    if (b->p > b->end) {
        b->full = true;
        b->p = b->base;
    }
    memcpy(b->p, &v, 4);
    b->p += 4;
}
static inline void a_3(struct a64_buf *b, uint32_t op, unsigned d, unsigned n, unsigned m) { a_word(b, op | m << 16 | n << 5 | d); }

/* ---- general registers ---- */
static inline void a_rrr(struct a64_buf *b, enum a_rrr op, unsigned d, unsigned n, unsigned m) { a_3(b, (uint32_t)op, d, n, m); }
/* of add to eor: op d, n, m shifted */
static inline void a_rrr_shift(struct a64_buf *b, enum a_rrr op, unsigned d, unsigned n, unsigned m, enum a_shift how, unsigned by) {
    a_3(b, (uint32_t)op | (uint32_t)how << 22 | by << 10, d, n, m);
}
static inline void a_rri(struct a64_buf *b, enum a_imm op, unsigned d, unsigned n, unsigned v) { a_word(b, (uint32_t)op | v << 10 | n << 5 | d); }  /* v < 4096; 31: sp */
static inline void a_mov(struct a64_buf *b, unsigned d, unsigned m) { a_rrr(b, A_ORR, d, A_ZR, m); }
static inline void a_mvn(struct a64_buf *b, unsigned d, unsigned m) { a_rrr(b, A_ORN, d, A_ZR, m); }
static inline void a_msub(struct a64_buf *b, unsigned d, unsigned n, unsigned m, unsigned a) { a_3(b, 0x9b008000 | a << 10, d, n, m); }  /* a - n * m */
static inline void a_and1(struct a64_buf *b, unsigned d, unsigned n) { a_word(b, 0x92400000 | n << 5 | d); }
static inline void a_tst1(struct a64_buf *b, unsigned n) { a_word(b, 0xf2400000 | n << 5 | A_ZR); }
static inline void a_eor1(struct a64_buf *b, unsigned d, unsigned n) { a_word(b, 0xd2400000 | n << 5 | d); }
static inline void a_orr_bit(struct a64_buf *b, unsigned d, unsigned n, unsigned bit) { a_word(b, 0xb2400000 | ((64 - bit) & 63) << 16 | n << 5 | d); }
static inline void a_bfi1(struct a64_buf *b, unsigned d, unsigned n, unsigned bit) { a_word(b, 0xb3400000 | ((64 - bit) & 63) << 16 | n << 5 | d); }  /* d's bit = n & 1 */
static inline void a_asr(struct a64_buf *b, unsigned d, unsigned n, unsigned by) { a_word(b, 0x9340fc00 | by << 16 | n << 5 | d); }
static inline void a_csel(struct a64_buf *b, unsigned d, unsigned n, unsigned m, enum a_cc cc) { a_3(b, 0x9a800000 | (uint32_t)cc << 12, d, n, m); }
static inline void a_cset(struct a64_buf *b, unsigned d, enum a_cc cc) { a_word(b, 0x9a9f07e0 | (uint32_t)(cc ^ 1u) << 12 | d); }
/* Compares n and m if cc holds, else sets no flag but those of nzcv. */
static inline void a_ccmp(struct a64_buf *b, unsigned n, unsigned m, unsigned nzcv, enum a_cc cc) { a_3(b, 0xfa400000 | (uint32_t)cc << 12 | nzcv, 0, n, m); }
static inline void a_cmp(struct a64_buf *b, unsigned n, unsigned m) { a_rrr(b, A_SUBS, A_ZR, n, m); }
static inline void a_cmp_i(struct a64_buf *b, unsigned n, unsigned v) { a_rri(b, A_SUBS_I, A_ZR, n, v); }
static inline void a_cmn_i(struct a64_buf *b, unsigned n, unsigned v) { a_rri(b, A_ADDS_I, A_ZR, n, v); }

/* Instructions that a constant takes: one for each 16 bits that differ from all zeroes, or all ones. */
static inline unsigned a_mov_cost(uint64_t v) {
    unsigned zeroes = 0, ones = 0;
    for (unsigned i = 0; i < 64; i += 16) {
        zeroes += (v >> i & 0xffff) == 0;
        ones += (v >> i & 0xffff) == 0xffff;
    }
    unsigned spared = zeroes > ones ? zeroes : ones;
    return spared == 4 ? 1 : 4 - spared;
}
static inline void a_mov_ri(struct a64_buf *b, unsigned d, uint64_t v) {
    unsigned zeroes = 0, ones = 0;
    for (unsigned i = 0; i < 64; i += 16) {
        zeroes += (v >> i & 0xffff) == 0;
        ones += (v >> i & 0xffff) == 0xffff;
    }
    uint64_t rest = ones > zeroes ? 0xffff : 0, flip = ones > zeroes ? 0xffff : 0;
    bool any = false;
    for (unsigned i = 0; i < 64; i += 16) {
        uint64_t part = v >> i & 0xffff;
        if (part == rest)
            continue;
        uint32_t op = any ? 0xf2800000 : flip ? 0x92800000 : 0xd2800000;     /* movk, movn, movz */
        a_word(b, op | i / 16 << 21 | (uint32_t)(any ? part : part ^ flip) << 5 | d);
        any = true;
    }
    if (!any)
        a_word(b, (flip ? 0x92800000 : 0xd2800000) | d);
}

/* ---- memory ---- */
static inline unsigned a_size_log2(enum a_mem op) { return (uint32_t)op >> 30; }
static inline void a_mem(struct a64_buf *b, enum a_mem op, unsigned t, struct a64_mem m) {
    unsigned s = a_size_log2(op);
    if (!(m.disp & ((1u << s) - 1)) && m.disp >> s < 4096) {
        a_word(b, (uint32_t)op | (m.disp >> s) << 10 | (uint32_t)m.base << 5 | t);
    } else {
        a_mov_ri(b, A_A1, m.disp);
        a_word(b, ((uint32_t)op & ~0x01000000u) | 0x00206800 | A_A1 << 16 | (uint32_t)m.base << 5 | t);
    }
}
/* A word of 8 bytes before the code: false when it stands too far away. */
static inline bool a_literal(struct a64_buf *b, uint32_t op, unsigned t, uint32_t at) {
    int32_t words = ((int32_t)at - (int32_t)a_pos(b)) / 4;
    if (words < -(1 << 18))
        return false;
    a_word(b, op | ((uint32_t)words & 0x7ffff) << 5 | t);
    return true;
}
static inline bool a_ldr_literal(struct a64_buf *b, unsigned t, uint32_t at) { return a_literal(b, 0x58000000, t, at); }
static inline bool a_ldr_d_literal(struct a64_buf *b, unsigned t, uint32_t at) { return a_literal(b, 0x5c000000, t, at); }

/* ---- jumps: they return their position, for a_land ---- */
static inline uint32_t a_bcc(struct a64_buf *b, enum a_cc cc) { a_word(b, 0x54000000 | (uint32_t)cc); return a_pos(b) - 4; }
static inline void a_b_to(struct a64_buf *b, uint32_t to) {
    int32_t words = ((int32_t)to - (int32_t)a_pos(b)) / 4;
    a_word(b, 0x14000000 | ((uint32_t)words & 0x3ffffff));
}
static inline uint32_t a_b(struct a64_buf *b) { a_word(b, 0x14000000); return a_pos(b) - 4; }
static inline void a_land(struct a64_buf *b, uint32_t at, uint32_t to) {
    uint32_t op, words = (to - at) / 4;
    if (b->full)
        return;
    memcpy(&op, b->base + at, 4);
    bool far = op >> 26 == 5;                            /* b: 26 bits; the others: 19 */
    b->full = words >= (far ? 1u << 25 : 1u << 18);
    op |= far ? words : words << 5;
    memcpy(b->base + at, &op, 4);
}
static inline void a_enter(struct a64_buf *b) {          /* bti c; stp x29, x30, [sp, #-16]!; mov x29, sp */
    a_word(b, 0xd503245f); a_word(b, 0xa9bf7bfd); a_word(b, 0x910003fd);
}
static inline void a_leave(struct a64_buf *b) { a_word(b, 0xa8c17bfd); a_word(b, 0xd65f03c0); }      /* ldp x29, x30, [sp], #16; ret */

/* ---- floats and masks: the lower half of a vector register ---- */
static inline void a_fff(struct a64_buf *b, enum a_fff op, unsigned d, unsigned n, unsigned m) { a_3(b, (uint32_t)op, d, n, m); }
static inline void a_ff(struct a64_buf *b, enum a_ff op, unsigned d, unsigned n) { a_3(b, (uint32_t)op, d, n, 0); }
static inline void a_mask(struct a64_buf *b, enum a_mask op, unsigned d, unsigned n, unsigned m) { a_3(b, (uint32_t)op, d, n, m); }  /* bsl: d ? n : m */
static inline void a_vnot(struct a64_buf *b, unsigned d, unsigned n) { a_3(b, 0x2e205800, d, n, 0); }
static inline void a_fcmp(struct a64_buf *b, unsigned n, unsigned m) { a_3(b, 0x1e602000, 0, n, m); }
static inline void a_fcsel(struct a64_buf *b, unsigned d, unsigned n, unsigned m, enum a_cc cc) { a_3(b, 0x1e600c00 | (uint32_t)cc << 12, d, n, m); }
static inline void a_scvtf(struct a64_buf *b, unsigned d, unsigned x) { a_3(b, 0x9e620000, d, x, 0); }
static inline void a_fcvtzs(struct a64_buf *b, unsigned x, unsigned n) { a_3(b, 0x9e780000, x, n, 0); }
static inline void a_fmov_xd(struct a64_buf *b, unsigned x, unsigned n) { a_3(b, 0x9e660000, x, n, 0); }
static inline void a_fmov_dx(struct a64_buf *b, unsigned d, unsigned x) { a_3(b, 0x9e670000, d, x, 0); }
#endif
