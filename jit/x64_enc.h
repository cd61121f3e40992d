/* SPDX-License-Identifier: Apache-2.0
 * x64_enc.h: x86-64 encodings, one inline function each. Selection lives in x64*.c; this file only knows bytes.
 *
 * Code is written to a plain buffer at its final distance from the constant pool, so every displacement is known when the
 * instruction is written. A full buffer sets .full and keeps writing at a safe place: check it once at the end.
 * Checked against objdump by tests/unit/jit/test_x64_enc.c: add the row there with the function here. */
#ifndef RDN_X64_ENC_H
#define RDN_X64_ENC_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "jit/faults.h"

enum { X_RAX, X_RCX, X_RDX, X_RBX, X_RSP, X_RBP, X_RSI, X_RDI, X_R8, X_R9, X_R10, X_R11, X_RIP = 16 };
enum x_cc { X_O, X_NO, X_B, X_AE, X_E, X_NE, X_BE, X_A, X_S, X_NS, X_P, X_NP, X_L, X_GE, X_LE, X_G };   /* cc ^ 1 negates */
enum x_alu { X_ADD = 0, X_OR = 1, X_ADC = 2, X_SBB = 3, X_AND = 4, X_SUB = 5, X_XOR = 6, X_CMP = 7 };
enum x_sse { X_VADD = 0x58, X_VMUL = 0x59, X_VSUB = 0x5c, X_VMIN = 0x5d, X_VDIV = 0x5e, X_VMAX = 0x5f };
enum x_bits { X_VAND = 0x54, X_VANDN = 0x55, X_VOR = 0x56, X_VXOR = 0x57 };
enum x_cmp { X_EQ_OQ = 0x00, X_NEQ_UQ = 0x04, X_LT_OQ = 0x11, X_LE_OQ = 0x12, X_GE_OQ = 0x1d, X_GT_OQ = 0x1e };

#define X_INSN_MAX 16u
struct x64_buf { uint8_t *base, *p, *end; bool full; };   /* end: X_INSN_MAX bytes are left behind it */
/* A memory operand: [base + disp]; base X_RIP: disp is the target's offset from buf->base. */
struct x64_mem { uint8_t base; int32_t disp; };

static inline struct x64_mem x_at(uint8_t base, int32_t disp) { return (struct x64_mem){base, disp}; }
static inline uint32_t x_pos(const struct x64_buf *b) { return (uint32_t)(b->p - b->base); }
static inline void x_start(struct x64_buf *b) {
    if (b->p > b->end) {
        b->full = true;
        b->p = b->base;
    }
}
static inline void x_b(struct x64_buf *b, unsigned v) { *b->p++ = (uint8_t)v; }
static inline void x_d(struct x64_buf *b, int32_t v) {
    memcpy(b->p, &v, 4);
    b->p += 4;
}
static inline void x_q(struct x64_buf *b, uint64_t v) {
    memcpy(b->p, &v, 8);
    b->p += 8;
}
/* ModRM of a register pair, or of a memory operand (bases here never need a SIB byte). tail: immediate bytes that follow. */
static inline void x_modr(struct x64_buf *b, unsigned reg, unsigned rm) { x_b(b, 0xc0u | (reg & 7u) << 3 | (rm & 7u)); }
static inline void x_modm(struct x64_buf *b, unsigned reg, struct x64_mem m, unsigned tail) {
    unsigned r = (reg & 7u) << 3;
    if (m.base == X_RIP) {
        x_b(b, r | 5u);
        x_d(b, m.disp - (int32_t)(x_pos(b) + 4 + tail));
    } else if (m.disp >= -128 && m.disp < (rdn_fault(ENC_DISP8) ? 256 : 128)) {
        x_b(b, 0x40u | r | (m.base & 7u));
        x_b(b, (unsigned)m.disp);
    } else {
        x_b(b, 0x80u | r | (m.base & 7u));
        x_d(b, m.disp);
    }
}
static inline unsigned x_bbit(struct x64_mem m) { return m.base != X_RIP && m.base >= 8; }
static inline void x_rex(struct x64_buf *b, unsigned w, unsigned reg, unsigned bbit) {
    unsigned v = 0x40u | w << 3 | (reg >> 3 & 1u) << 2 | bbit;
    if (v != 0x40u)
        x_b(b, v);
}

/* ---- general registers; the suffixes say operand forms: r register, m memory, i immediate; 32: 32-bit operation ---- */
static inline void x_mov_rr(struct x64_buf *b, unsigned d, unsigned s) { x_start(b); x_rex(b, 1, d, s >> 3); x_b(b, 0x8b); x_modr(b, d, s); }
static inline void x_mov32_rr(struct x64_buf *b, unsigned d, unsigned s) { x_start(b); x_rex(b, 0, d, s >> 3); x_b(b, 0x8b); x_modr(b, d, s); }
static inline void x_mov_rm(struct x64_buf *b, unsigned d, struct x64_mem m) { x_start(b); x_rex(b, 1, d, x_bbit(m)); x_b(b, 0x8b); x_modm(b, d, m, 0); }
static inline void x_mov32_rm(struct x64_buf *b, unsigned d, struct x64_mem m) { x_start(b); x_rex(b, 0, d, x_bbit(m)); x_b(b, 0x8b); x_modm(b, d, m, 0); }
static inline void x_mov_mr(struct x64_buf *b, struct x64_mem m, unsigned s) { x_start(b); x_rex(b, 1, s, x_bbit(m)); x_b(b, 0x89); x_modm(b, s, m, 0); }
static inline void x_movsxd_rm(struct x64_buf *b, unsigned d, struct x64_mem m) { x_start(b); x_rex(b, 1, d, x_bbit(m)); x_b(b, 0x63); x_modm(b, d, m, 0); }
static inline void x_movzx8_rm(struct x64_buf *b, unsigned d, struct x64_mem m) {
    x_start(b); x_rex(b, 0, d, x_bbit(m)); x_b(b, 0x0f); x_b(b, 0xb6); x_modm(b, d, m, 0);
}
/* Shortest of the three forms. */
static inline void x_mov_ri(struct x64_buf *b, unsigned d, int64_t v) {
    x_start(b);
    if (v >= 0 && v <= UINT32_MAX) {
        x_rex(b, 0, 0, d >> 3);
        x_b(b, 0xb8u | (d & 7u));
        x_d(b, (int32_t)(uint32_t)v);
    } else if (v >= INT32_MIN && v < 0) {
        x_rex(b, !rdn_fault(ENC_NEGATIVE), 0, d >> 3);
        x_b(b, 0xc7);
        x_modr(b, 0, d);
        x_d(b, (int32_t)v);
    } else {
        x_rex(b, 1, 0, d >> 3);
        x_b(b, 0xb8u | (d & 7u));
        x_q(b, (uint64_t)v);
    }
}
static inline void x_alu_rr(struct x64_buf *b, enum x_alu op, unsigned d, unsigned s) {
    op = rdn_fault(ENC_SBB) && op == X_SBB ? X_SUB : rdn_fault(ENC_ADC) && op == X_ADC ? X_ADD : op;
    x_start(b); x_rex(b, 1, d, s >> 3); x_b(b, op << 3 | 3u); x_modr(b, d, s);
}
static inline void x_alu32_rr(struct x64_buf *b, enum x_alu op, unsigned d, unsigned s) { x_start(b); x_rex(b, 0, d, s >> 3); x_b(b, op << 3 | 3u); x_modr(b, d, s); }
static inline void x_alu_rm(struct x64_buf *b, enum x_alu op, unsigned d, struct x64_mem m) { x_start(b); x_rex(b, 1, d, x_bbit(m)); x_b(b, op << 3 | 3u); x_modm(b, d, m, 0); }
static inline void x_alu32_rm(struct x64_buf *b, enum x_alu op, unsigned d, struct x64_mem m) { x_start(b); x_rex(b, 0, d, x_bbit(m)); x_b(b, op << 3 | 3u); x_modm(b, d, m, 0); }
static inline void x_alu_mr(struct x64_buf *b, enum x_alu op, struct x64_mem m, unsigned s) { x_start(b); x_rex(b, 1, s, x_bbit(m)); x_b(b, op << 3 | 1u); x_modm(b, s, m, 0); }
static inline void x_alu_imm(struct x64_buf *b, unsigned w, enum x_alu op, unsigned d, int32_t v) {
    bool s = v >= -128 && v < (rdn_fault(ENC_IMM8) ? 256 : 128);
    x_start(b);
    x_rex(b, w, 0, d >> 3);
    x_b(b, s ? 0x83 : 0x81);
    x_modr(b, op, d);
    if (s)
        x_b(b, (unsigned)v);
    else
        x_d(b, v);
}
static inline void x_alu_ri(struct x64_buf *b, enum x_alu op, unsigned d, int32_t v) { x_alu_imm(b, 1, op, d, v); }
static inline void x_alu32_ri(struct x64_buf *b, enum x_alu op, unsigned d, int32_t v) { x_alu_imm(b, 0, op, d, v); }
/* cmp [m], v with an operand of 8, 4 or 1 bytes */
static inline void x_cmp_mi(struct x64_buf *b, unsigned size, struct x64_mem m, int32_t v) {
    bool s = v >= -128 && v < 128;
    x_start(b);
    x_rex(b, size == 8 || (rdn_fault(ENC_CMP_WIDTH) && size == 4), 0, x_bbit(m));
    x_b(b, size == 1 ? 0x80 : s ? 0x83 : 0x81);
    x_modm(b, X_CMP, m, s || size == 1 ? 1 : 4);
    if (s || size == 1)
        x_b(b, (unsigned)v);
    else
        x_d(b, v);
}
static inline void x_or32_mi8(struct x64_buf *b, struct x64_mem m, int8_t v) {
    x_start(b); x_rex(b, 0, 0, x_bbit(m)); x_b(b, 0x83); x_modm(b, X_OR, m, 1); x_b(b, (uint8_t)v);
}
static inline void x_bts_mi(struct x64_buf *b, struct x64_mem m, unsigned bit) {
    x_start(b); x_rex(b, 1, 0, x_bbit(m)); x_b(b, 0x0f); x_b(b, 0xba); x_modm(b, 5, m, 1); x_b(b, bit);
}
static inline void x_bts_ri(struct x64_buf *b, unsigned r, unsigned bit) {
    x_start(b); x_rex(b, 1, 0, r >> 3); x_b(b, 0x0f); x_b(b, 0xba); x_modr(b, 5, r); x_b(b, bit);
}
static inline void x_test32_rr(struct x64_buf *b, unsigned d, unsigned s) { x_start(b); x_rex(b, 0, s, d >> 3); x_b(b, 0x85); x_modr(b, s, d); }
static inline void x_test_rr(struct x64_buf *b, unsigned d, unsigned s) { x_start(b); x_rex(b, 1, s, d >> 3); x_b(b, 0x85); x_modr(b, s, d); }
static inline void x_imul_rr(struct x64_buf *b, unsigned d, unsigned s) { x_start(b); x_rex(b, 1, d, s >> 3); x_b(b, 0x0f); x_b(b, 0xaf); x_modr(b, d, s); }
static inline void x_imul_rm(struct x64_buf *b, unsigned d, struct x64_mem m) { x_start(b); x_rex(b, 1, d, x_bbit(m)); x_b(b, 0x0f); x_b(b, 0xaf); x_modm(b, d, m, 0); }
static inline void x_imul_rri(struct x64_buf *b, unsigned d, unsigned s, int32_t v) {
    x_start(b); x_rex(b, !rdn_fault(ENC_IMUL_WIDTH), d, s >> 3); x_b(b, 0x69); x_modr(b, d, s); x_d(b, v);
}
/* Group F7 on a 64-bit register: rdx:rax results for mul, imul, idiv. */
static inline void x_f7(struct x64_buf *b, unsigned ext, unsigned r) { x_start(b); x_rex(b, 1, 0, r >> 3); x_b(b, 0xf7); x_modr(b, ext, r); }
static inline void x_not(struct x64_buf *b, unsigned r) { x_f7(b, 2, r); }
static inline void x_neg(struct x64_buf *b, unsigned r) { x_f7(b, 3, r); }
static inline void x_mul(struct x64_buf *b, unsigned r) { x_f7(b, 4, r); }
static inline void x_imul(struct x64_buf *b, unsigned r) { x_f7(b, 5, r); }
static inline void x_idiv(struct x64_buf *b, unsigned r) { x_f7(b, 7, r); }
static inline void x_cqo(struct x64_buf *b) { x_start(b); x_b(b, 0x48); x_b(b, 0x99); }
static inline void x_shift(struct x64_buf *b, unsigned ext, unsigned r, unsigned n) { x_start(b); x_rex(b, 1, 0, r >> 3); x_b(b, 0xc1); x_modr(b, ext, r); x_b(b, n); }
static inline void x_shl(struct x64_buf *b, unsigned r, unsigned n) { x_shift(b, 4, r, n); }
static inline void x_shr(struct x64_buf *b, unsigned r, unsigned n) { x_shift(b, 5, r, n); }
static inline void x_sar(struct x64_buf *b, unsigned r, unsigned n) { x_shift(b, rdn_fault(ENC_SAR) ? 5 : 7, r, n); }
/* Byte of any register: a REX prefix also for rsi and rdi, which would else mean dh and bh. */
static inline void x_setcc(struct x64_buf *b, enum x_cc cc, unsigned r) {
    x_start(b);
    if (r >= 4 && !rdn_fault(ENC_SETCC_REX))
        x_b(b, 0x40u | r >> 3);
    x_b(b, 0x0f); x_b(b, 0x90u | cc); x_modr(b, 0, r);
}
static inline void x_cmov(struct x64_buf *b, enum x_cc cc, unsigned d, unsigned s) { x_start(b); x_rex(b, 1, d, s >> 3); x_b(b, 0x0f); x_b(b, 0x40u | (cc ^ rdn_fault(ENC_CMOV_CC))); x_modr(b, d, s); }
static inline void x_lea_rm(struct x64_buf *b, unsigned d, struct x64_mem m) { x_start(b); x_rex(b, 1, d, x_bbit(m)); x_b(b, 0x8d); x_modm(b, d, m, 0); }
/* lea d, [base + (index << shift)]; base is not rbp or r13 */
static inline void x_lea_scaled(struct x64_buf *b, unsigned d, unsigned base, unsigned index, unsigned shift) {
    x_start(b);
    x_b(b, 0x48u | (d >> 3 & 1u) << 2 | (index >> 3 & 1u) << 1 | (base >> 3 & 1u));
    x_b(b, 0x8d); x_b(b, (d & 7u) << 3 | 4u); x_b(b, shift << 6 | (index & 7u) << 3 | (base & 7u));
}
/* Jumps return the position of their displacement, for x_land. */
static inline uint32_t x_jcc(struct x64_buf *b, enum x_cc cc) { x_start(b); x_b(b, 0x0f); x_b(b, 0x80u | cc); x_d(b, 0); return x_pos(b) - 4; }
static inline uint32_t x_jmp(struct x64_buf *b) { x_start(b); x_b(b, 0xe9); x_d(b, 0); return x_pos(b) - 4; }
static inline void x_jmp_to(struct x64_buf *b, uint32_t to) { x_start(b); x_b(b, 0xe9); x_d(b, (int32_t)(to - (x_pos(b) + 4))); }
static inline void x_land(struct x64_buf *b, uint32_t at, uint32_t to) {
    int32_t d = (int32_t)(to - (at + 4));
    if (!b->full)
        memcpy(b->base + at, &d, 4);
}
static inline void x_enter(struct x64_buf *b) { x_start(b); x_q(b, 0xe5894855fa1e0ff3u); }      /* endbr64; push rbp; mov rbp,rsp */
static inline void x_leave(struct x64_buf *b) { x_start(b); x_b(b, 0x5d); x_b(b, 0xc3); }       /* pop rbp; ret */

/* ---- AVX, 128-bit forms: upper halves become zero ---- */
static inline void x_vex(struct x64_buf *b, unsigned map, unsigned w, unsigned pp, unsigned reg, unsigned v, unsigned bbit) {
    unsigned r = (reg & 8u) ? 0 : 0x80u;
    x_start(b);
    if (map == 1 && !w && !bbit) {
        x_b(b, 0xc5); x_b(b, r | (~v & 15u) << 3 | pp);
    } else {
        x_b(b, 0xc4); x_b(b, r | 0x40u | (bbit ? 0 : 0x20u) | map); x_b(b, w << 7 | (~v & 15u) << 3 | pp);
    }
}
static inline void x_v_rr(struct x64_buf *b, unsigned pp, unsigned op, unsigned d, unsigned v, unsigned s) {
    x_vex(b, 1, 0, pp, d, rdn_fault(ENC_VEX_V) && v ? v ^ 1u : v, s >> 3); x_b(b, op); x_modr(b, d, s);
}
static inline void x_v_rm(struct x64_buf *b, unsigned pp, unsigned op, unsigned d, unsigned v, struct x64_mem m) { x_vex(b, 1, 0, pp, d, v, x_bbit(m)); x_b(b, op); x_modm(b, d, m, 0); }

static inline void x_vmovsd_rm(struct x64_buf *b, unsigned d, struct x64_mem m) { x_v_rm(b, 3, 0x10, d, 0, m); }
static inline void x_vmovsd_mr(struct x64_buf *b, struct x64_mem m, unsigned s) { x_v_rm(b, 3, 0x11, s, 0, m); }
static inline void x_vmovapd_rr(struct x64_buf *b, unsigned d, unsigned s) { x_v_rr(b, 1, 0x28, d, 0, s); }
static inline void x_varith_rr(struct x64_buf *b, enum x_sse op, unsigned d, unsigned l, unsigned r) { x_v_rr(b, 3, op, d, l, r); }
static inline void x_varith_rm(struct x64_buf *b, enum x_sse op, unsigned d, unsigned l, struct x64_mem m) { x_v_rm(b, 3, op, d, l, m); }
static inline void x_vbits_rr(struct x64_buf *b, enum x_bits op, unsigned d, unsigned l, unsigned r) { x_v_rr(b, 1, op, d, l, r); }
static inline void x_vbits_rm(struct x64_buf *b, enum x_bits op, unsigned d, unsigned l, struct x64_mem m) { x_v_rm(b, rdn_fault(ENC_VEX_L) ? 5 : 1, op, d, l, m); }
static inline void x_vmulpd_rm(struct x64_buf *b, unsigned d, unsigned l, struct x64_mem m) { x_v_rm(b, 1, 0x59, d, l, m); }
static inline void x_vunpckhpd_rr(struct x64_buf *b, unsigned d, unsigned l, unsigned r) { x_v_rr(b, 1, 0x15, d, l, r); }
/* d += l * [m], of one double or two */
static inline void x_vfma_rm(struct x64_buf *b, bool two, unsigned d, unsigned l, struct x64_mem m) {
    x_vex(b, 2, 1, 1, d, l, x_bbit(m)); x_b(b, two ? 0xb8 : 0xb9); x_modm(b, d, m, 0);
}
static inline void x_vsqrtsd_rr(struct x64_buf *b, unsigned d, unsigned v, unsigned s) { x_v_rr(b, 3, 0x51, d, v, s); }
static inline void x_vucomisd_rr(struct x64_buf *b, unsigned l, unsigned r) { x_v_rr(b, 1, 0x2e, l, 0, r); }
static inline void x_vucomisd_rm(struct x64_buf *b, unsigned l, struct x64_mem m) { x_v_rm(b, 1, 0x2e, l, 0, m); }
static inline void x_vcmpsd_rr(struct x64_buf *b, enum x_cmp c, unsigned d, unsigned l, unsigned r) { x_v_rr(b, 3, 0xc2, d, l, r); x_b(b, c); }
static inline void x_vcmpsd_rm(struct x64_buf *b, enum x_cmp c, unsigned d, unsigned l, struct x64_mem m) {
    x_vex(b, 1, 0, 3, d, l, x_bbit(m)); x_b(b, 0xc2); x_modm(b, d, m, 1); x_b(b, c);
}
static inline void x_vmovmskpd(struct x64_buf *b, unsigned r, unsigned s) { x_v_rr(b, 1, 0x50, r, 0, s); }
/* mode: 1 down, 2 up, 3 towards zero; 8 is added: no precision exception */
static inline void x_vroundsd(struct x64_buf *b, unsigned d, unsigned v, unsigned s, unsigned mode) {
    x_vex(b, 3, 0, 1, d, v, s >> 3); x_b(b, 0x0b); x_modr(b, d, s); x_b(b, (rdn_fault(ENC_ROUND) && mode < 3 ? mode ^ 3u : mode) | 8u);
}
static inline void x_vblendvpd(struct x64_buf *b, unsigned d, unsigned no, unsigned yes, unsigned mask) {
    x_vex(b, 3, 0, 1, d, no, yes >> 3); x_b(b, 0x4b); x_modr(b, d, yes); x_b(b, mask << 4);
}
static inline void x_vcvtsi2sd_rr(struct x64_buf *b, unsigned d, unsigned v, unsigned r) { x_vex(b, 1, !rdn_fault(ENC_CVT_WIDTH), 3, d, v, r >> 3); x_b(b, 0x2a); x_modr(b, d, r); }
static inline void x_vcvtsi2sd_rm(struct x64_buf *b, unsigned d, unsigned v, struct x64_mem m) { x_vex(b, 1, 1, 3, d, v, x_bbit(m)); x_b(b, 0x2a); x_modm(b, d, m, 0); }
static inline void x_vcvttsd2si(struct x64_buf *b, unsigned r, unsigned s) { x_vex(b, 1, 1, 3, r, 0, s >> 3); x_b(b, rdn_fault(ENC_CVT_ROUNDS) ? 0x2d : 0x2c); x_modr(b, r, s); }
static inline void x_vmovq_xr(struct x64_buf *b, unsigned d, unsigned r) { x_vex(b, 1, 1, 1, d, 0, r >> 3); x_b(b, 0x6e); x_modr(b, d, r); }
#endif
