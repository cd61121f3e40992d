/* SPDX-License-Identifier: Apache-2.0
 * x64v_enc.h: encodings of vectors of 8 events: one zmm (EVEX, 512 bits) or two ymm (VEX, 256 bits), mask registers, and the few
 * general instructions around them. Selection lives in x64v*.c. Operations are rows of enum xv_op; the functions are their operand
 * forms. An operation with an immediate: write it with x_b behind, and say tail 1 where memory is read.
 * Checked against objdump by tests/unit/jit/test_x64v_enc.c: add the row there with the operation here. */
#ifndef RDN_X64V_ENC_H
#define RDN_X64V_ENC_H
#include "jit/x64_enc.h"

enum { X_R12 = 12, X_R13, X_R14, X_R15 };                /* r12 is no base here: it would need a SIB byte */
/* W of EVEX, opcode map, mandatory prefix, opcode. VEX forms have W 0 but for XV_VEX_W. */
#define XV_OP(w, map, pp, op) ((unsigned)(w) << 16 | (unsigned)(map) << 12 | (unsigned)(pp) << 8 | (op))
#define XV_VEX_W (1u << 17)
enum xv_op {
    XV_ADDPD = XV_OP(1, 1, 1, 0x58), XV_MULPD = XV_OP(1, 1, 1, 0x59), XV_SUBPD = XV_OP(1, 1, 1, 0x5c), XV_MINPD = XV_OP(1, 1, 1, 0x5d),
    XV_DIVPD = XV_OP(1, 1, 1, 0x5e), XV_MAXPD = XV_OP(1, 1, 1, 0x5f), XV_SQRTPD = XV_OP(1, 1, 1, 0x51), XV_CMPPD = XV_OP(1, 1, 1, 0xc2),
    XV_FMA231PD = XV_OP(1, 2, 1, 0xb8) | XV_VEX_W, XV_UNPCKLPD = XV_OP(1, 1, 1, 0x14), XV_UNPCKHPD = XV_OP(1, 1, 1, 0x15),
    XV_PADDQ = XV_OP(1, 1, 1, 0xd4), XV_PSUBQ = XV_OP(1, 1, 1, 0xfb), XV_PANDQ = XV_OP(1, 1, 1, 0xdb), XV_PANDNQ = XV_OP(1, 1, 1, 0xdf),
    XV_PORQ = XV_OP(1, 1, 1, 0xeb), XV_PXORQ = XV_OP(1, 1, 1, 0xef), XV_PMULUDQ = XV_OP(1, 1, 1, 0xf4), XV_PMULDQ = XV_OP(1, 2, 1, 0x28),
    /* zmm alone */
    XV_PCMPQ = XV_OP(1, 3, 1, 0x1f), XV_PTESTMQ = XV_OP(1, 2, 1, 0x27), XV_PMOVQ2M = XV_OP(1, 2, 2, 0x39), XV_PMULLQ = XV_OP(1, 2, 1, 0x40),
    XV_PMINSQ = XV_OP(1, 2, 1, 0x39), XV_PMAXSQ = XV_OP(1, 2, 1, 0x3d), XV_PABSQ = XV_OP(1, 2, 1, 0x1f), XV_BLENDMPD = XV_OP(1, 2, 1, 0x65),
    XV_CVTQQ2PD = XV_OP(1, 1, 2, 0xe6), XV_CVTTPD2QQ = XV_OP(1, 1, 1, 0x7a), XV_RNDSCALEPD = XV_OP(1, 3, 1, 0x09),
    /* ymm alone */
    XV_PCMPEQQ = XV_OP(0, 2, 1, 0x29), XV_PCMPGTQ = XV_OP(0, 2, 1, 0x37), XV_PCMPEQD = XV_OP(0, 1, 1, 0x76), XV_BLENDVPD = XV_OP(0, 3, 1, 0x4b),
    XV_ROUNDPD = XV_OP(0, 3, 1, 0x09), XV_PBLENDW = XV_OP(0, 3, 1, 0x0e),
    /* loads: one operand */
    XV_MOVUPD = XV_OP(1, 1, 1, 0x10), XV_MOVAPD = XV_OP(1, 1, 1, 0x28), XV_BROADCASTSD = XV_OP(1, 2, 1, 0x19), XV_PMOVZXBQ = XV_OP(0, 2, 1, 0x32),
    XV_PMOVZXDQ = XV_OP(0, 2, 1, 0x35), XV_PMOVSXDQ = XV_OP(0, 2, 1, 0x25),
};
enum { XV_UNORD = 0x03, XV_NLT_UQ = 0x15 };              /* predicates beside enum x_cmp */
enum xv_cmpq { XV_QEQ = 0, XV_QLT = 1, XV_QLE = 2, XV_QNE = 4, XV_QGE = 5, XV_QGT = 6 };

/* ---- zmm ---- */
/* k: mask of the destination, 0 none; z: lanes outside it become 0. */
static inline void xz_prefix(struct x64_buf *b, unsigned op, unsigned reg, unsigned v, unsigned xbits, unsigned bcast, unsigned k, bool z) {
    x_start(b);
    x_b(b, 0x62);
    x_b(b, (reg & 8u ? 0 : 0x80u) | (xbits & 2u ? 0 : 0x40u) | (xbits & 1u ? 0 : 0x20u) | (reg & 16u && !rdn_fault(XV_UPPER_REGS) ? 0 : 0x10u) | (op >> 12 & 7u));
    x_b(b, (op >> 16 & 1u) << 7 | (~v & 15u) << 3 | 4u | (op >> 8 & 3u));
    x_b(b, (z && !rdn_fault(XV_ZEROED) ? 0x80u : 0) | 0x40u | bcast << 4 | (v & 16u ? 0 : 8u) | (rdn_fault(XV_MASKED) ? 0 : k));
    x_b(b, op & 0xffu);
}
/* ModRM of memory whose one-byte displacements count `unit` bytes. */
static inline void xz_modm(struct x64_buf *b, unsigned reg, struct x64_mem m, unsigned unit, unsigned tail) {
    int32_t n = m.disp / (int32_t)unit;
    unsigned r = (reg & 7u) << 3;
    if (m.base == X_RIP) {
        x_modm(b, reg, m, tail);
    } else if (n * (int32_t)unit == m.disp && n >= -128 && n < 128) {
        x_b(b, 0x40u | r | (m.base & 7u));
        x_b(b, (unsigned)n);
    } else {
        x_b(b, 0x80u | r | (m.base & 7u));
        x_d(b, m.disp);
    }
}
static inline void xz_rr(struct x64_buf *b, unsigned op, unsigned d, unsigned v, unsigned s, unsigned k) {
    xz_prefix(b, op, d, v, s >> 3, 0, k, false); x_modr(b, d, s);
}
/* A whole vector from memory. */
static inline void xz_rm(struct x64_buf *b, unsigned op, unsigned d, unsigned v, struct x64_mem m, unsigned k, unsigned tail) {
    xz_prefix(b, op, d, v, x_bbit(m), 0, k, false); xz_modm(b, d, m, 64, tail);
}
/* Eight copies of eight bytes. */
static inline void xz_rc(struct x64_buf *b, unsigned op, unsigned d, unsigned v, struct x64_mem m, unsigned k, unsigned tail) {
    xz_prefix(b, op, d, v, x_bbit(m), !rdn_fault(XV_BROADCAST), k, false); xz_modm(b, d, m, rdn_fault(XV_DISP_UNIT) ? 64 : 8, tail);
}
/* Loads that read `bytes` for 8 lanes: broadcast 8, zxbq 8, zxdq and sxdq 32. */
static inline void xz_load(struct x64_buf *b, unsigned op, unsigned d, struct x64_mem m, unsigned bytes, unsigned k, bool z) {
    xz_prefix(b, op, d, 0, x_bbit(m), 0, k, z); xz_modm(b, d, m, bytes, 0);
}
static inline void xz_store(struct x64_buf *b, struct x64_mem m, unsigned s) { xz_rm(b, XV_OP(1, 1, 1, 0x11), s, 0, m, 0, 0); }
static inline void xz_high(struct x64_buf *b, unsigned d, unsigned s) {       /* vextractf64x4 ymm, zmm, 1 */
    xz_prefix(b, XV_OP(1, 3, 1, 0x1b), s, 0, d >> 3, 0, 0, false); x_modr(b, s, d); x_b(b, 1);
}

/* ---- masks ---- */
static inline void xk_vex(struct x64_buf *b, unsigned l, unsigned pp, unsigned v) { x_start(b); x_b(b, 0xc5); x_b(b, 0x80u | (~v & 15u) << 3 | l << 2 | pp); }
static inline void xk_rrr(struct x64_buf *b, unsigned op, unsigned d, unsigned l, unsigned r) { xk_vex(b, 1, 1, l); x_b(b, op); x_modr(b, d, r); }
static inline void xk_and(struct x64_buf *b, unsigned d, unsigned l, unsigned r) { xk_rrr(b, 0x41, d, l, r); }
static inline void xk_andn(struct x64_buf *b, unsigned d, unsigned l, unsigned r) { xk_rrr(b, 0x42, d, l, r); }   /* ~l & r */
static inline void xk_or(struct x64_buf *b, unsigned d, unsigned l, unsigned r) { xk_rrr(b, 0x45, d, l, r); }
static inline void xk_xnor(struct x64_buf *b, unsigned d, unsigned l, unsigned r) { xk_rrr(b, 0x46, d, l, r); }
static inline void xk_xor(struct x64_buf *b, unsigned d, unsigned l, unsigned r) { xk_rrr(b, 0x47, d, l, r); }
static inline void xk_not(struct x64_buf *b, unsigned d, unsigned s) { xk_vex(b, 0, 1, 0); x_b(b, 0x44); x_modr(b, d, s); }
static inline void xk_test(struct x64_buf *b, unsigned l, unsigned r) { xk_vex(b, 0, 1, 0); x_b(b, 0x98); x_modr(b, l, r); }   /* kortestb */
static inline void xk_get(struct x64_buf *b, unsigned r, unsigned k) { xk_vex(b, 0, 1, 0); x_b(b, 0x93); x_modr(b, r, k); }    /* kmovb r32, k */
static inline void xk_load(struct x64_buf *b, unsigned k, struct x64_mem m) { x_vex(b, 1, 0, 1, k, 0, x_bbit(m)); x_b(b, 0x90); x_modm(b, k, m, 0); }
static inline void xk_store(struct x64_buf *b, struct x64_mem m, unsigned k) { x_vex(b, 1, 0, 1, k, 0, x_bbit(m)); x_b(b, 0x91); x_modm(b, k, m, 0); }

/* ---- ymm ---- */
static inline void xy_prefix(struct x64_buf *b, unsigned op, unsigned reg, unsigned v, unsigned bbit) {
    x_start(b);
    x_b(b, 0xc4);
    x_b(b, (reg & 8u ? 0 : 0x80u) | 0x40u | (bbit ? 0 : 0x20u) | (op >> 12 & 7u));
    x_b(b, (op & XV_VEX_W && !rdn_fault(XV_SINGLES) ? 0x80u : 0) | (~v & 15u) << 3 | 4u | (op >> 8 & 3u));
    x_b(b, op & 0xffu);
}
static inline void xy_rr(struct x64_buf *b, unsigned op, unsigned d, unsigned v, unsigned s) { xy_prefix(b, op, d, rdn_fault(XV_VEX_V) && v ? v ^ 1u : v, s >> 3); x_modr(b, d, s); }
static inline void xy_rm(struct x64_buf *b, unsigned op, unsigned d, unsigned v, struct x64_mem m, unsigned tail) { xy_prefix(b, op, d, v, x_bbit(m)); x_modm(b, d, m, tail); }
static inline void xy_store(struct x64_buf *b, struct x64_mem m, unsigned s) { xy_rm(b, XV_OP(0, 1, 1, 0x11), s, 0, m, 0); }
/* Shifts by a constant: 64-bit lanes left (6) and right (2), 32-bit lanes arithmetically right. */
static inline void xy_shq(struct x64_buf *b, unsigned ext, unsigned d, unsigned s, unsigned n) { xy_prefix(b, XV_OP(0, 1, 1, 0x73), 0, d, s >> 3); x_modr(b, ext, s); x_b(b, n); }
static inline void xy_sard(struct x64_buf *b, unsigned d, unsigned s, unsigned n) { xy_prefix(b, XV_OP(0, 1, 1, 0x72), 0, d, s >> 3); x_modr(b, 4, s); x_b(b, n); }
static inline void xy_movmsk(struct x64_buf *b, unsigned r, unsigned s) { xy_rr(b, XV_OP(0, 1, 1, 0x50), r, 0, s); }
static inline void xy_insert(struct x64_buf *b, unsigned d, unsigned low, struct x64_mem m) { xy_rm(b, XV_OP(0, 3, 1, 0x18), d, low, m, 1); x_b(b, 1); }
static inline void xy_high(struct x64_buf *b, unsigned d, unsigned s) { xy_rr(b, XV_OP(0, 3, 1, 0x19), s, 0, d); x_b(b, 1); }   /* upper half into xmm */
static inline void xx_load(struct x64_buf *b, unsigned d, struct x64_mem m) { x_v_rm(b, 1, 0x10, d, 0, m); }      /* vmovupd xmm */
static inline void xx_store_lo(struct x64_buf *b, struct x64_mem m, unsigned s) { x_v_rm(b, 1, 0x13, s, 0, m); }  /* vmovlpd, vmovhpd */
static inline void xx_store_hi(struct x64_buf *b, struct x64_mem m, unsigned s) { x_v_rm(b, 1, 0x17, s, 0, m); }
static inline void x_vzeroupper(struct x64_buf *b) { x_start(b); x_b(b, 0xc5); x_b(b, 0xf8); x_b(b, 0x77); }

/* ---- general ---- */
static inline void x_push(struct x64_buf *b, unsigned r) { x_start(b); x_rex(b, 0, 0, r >> 3); x_b(b, 0x50u | (r & 7u)); }
static inline void x_pop(struct x64_buf *b, unsigned r) { x_start(b); x_rex(b, 0, 0, r >> 3); x_b(b, 0x58u | (r & 7u)); }
static inline void x_ret(struct x64_buf *b) { x_start(b); x_b(b, 0xc3); }
/* add qword [m], v */
static inline void x_add_mi(struct x64_buf *b, struct x64_mem m, int32_t v) {
    bool s = v >= -128 && v < 128;
    x_start(b); x_rex(b, 1, 0, x_bbit(m)); x_b(b, s ? 0x83 : 0x81); x_modm(b, X_ADD, m, s ? 1 : 4);
    if (s)
        x_b(b, (unsigned)v);
    else
        x_d(b, v);
}
static inline void x_pdep_rm(struct x64_buf *b, unsigned w, unsigned d, unsigned s, struct x64_mem m) {
    x_vex(b, 2, w, 3, d, s, x_bbit(m)); x_b(b, 0xf5); x_modm(b, d, m, 0);
}
static inline void x_or32_mr(struct x64_buf *b, struct x64_mem m, unsigned s) { x_start(b); x_rex(b, 0, s, x_bbit(m)); x_b(b, 0x09); x_modm(b, s, m, 0); }
static inline void x_mov32_mr(struct x64_buf *b, struct x64_mem m, unsigned s) { x_start(b); x_rex(b, 0, s, x_bbit(m)); x_b(b, 0x89); x_modm(b, s, m, 0); }
static inline void x_mov8_mr(struct x64_buf *b, struct x64_mem m, unsigned s) {  /* s: al, cl, dl, bl or r8b and up */
    x_start(b); x_rex(b, 0, s, x_bbit(m)); x_b(b, 0x88); x_modm(b, s, m, 0);
}
static inline void x_jcc_to(struct x64_buf *b, enum x_cc cc, uint32_t to) { x_start(b); x_b(b, 0x0f); x_b(b, 0x80u | cc); x_d(b, (int32_t)(to - (x_pos(b) + 4))); }
#endif
