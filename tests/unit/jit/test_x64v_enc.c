/* SPDX-License-Identifier: Apache-2.0
 * Every encoder of jit/x64v_enc.h, with random operands, against objdump's reading of the bytes. 77 without objdump. */
#include "tests/unit/jit/enc_kit.h"
#include "jit/x64v_enc.h"

/* zmm16 and up, masks, and displacements in the units of the operand's size. */
static unsigned z(unsigned r, unsigned n) { return r + (n & 1) * 16; }
static const char *mask_text(unsigned k, bool zero) {
    static char t[4][16];
    static unsigned i;
    char *o = t[i++ & 3];
    o[0] = 0;
    if (k)
        snprintf(o, sizeof t[0], "{k%u}%s", k, zero ? "{z}" : "");
    return o;
}
#define Z3(name, op, text)                                                                                                                     \
    ROW(name##_rr, xz_rr(b, op, z(a->x, a->n), z(a->y, a->v), z(a->z, a->d), a->n & 7), text " zmm%u%s,zmm%u,zmm%u", z(a->x, a->n),              \
        mask_text(a->n & 7, false), z(a->y, a->v), z(a->z, a->d))                                                                                \
    ROW(name##_rm, xz_rm(b, op, z(a->x, a->n), z(a->y, a->v), a->m, a->n & 7, 0), text " zmm%u%s,zmm%u,ZMMWORD PTR %s", z(a->x, a->n),           \
        mask_text(a->n & 7, false), z(a->y, a->v), a->mt)                                                                                        \
    ROW(name##_rc, xz_rc(b, op, z(a->x, a->n), z(a->y, a->v), a->m, a->n & 7, 0), text " zmm%u%s,zmm%u,QWORD BCST %s", z(a->x, a->n),            \
        mask_text(a->n & 7, false), z(a->y, a->v), a->mt)
#define Y3(name, op, text)                                                                                                                     \
    ROW(name##_yr, xy_rr(b, op, a->x, a->y, a->z), text " ymm%u,ymm%u,ymm%u", a->x, a->y, a->z)                                                  \
    ROW(name##_ym, xy_rm(b, op, a->x, a->y, a->m, 0), text " ymm%u,ymm%u,YMMWORD PTR %s", a->x, a->y, a->mt)
#define BOTH(name, op, text) Z3(name, op, text) Y3(name, op, text)
BOTH(addpd, XV_ADDPD, "vaddpd") BOTH(mulpd, XV_MULPD, "vmulpd") BOTH(subpd, XV_SUBPD, "vsubpd") BOTH(minpd, XV_MINPD, "vminpd")
BOTH(divpd, XV_DIVPD, "vdivpd") BOTH(maxpd, XV_MAXPD, "vmaxpd") BOTH(fma, XV_FMA231PD, "vfmadd231pd") Y3(unpl, XV_UNPCKLPD, "vunpcklpd")
Y3(unph, XV_UNPCKHPD, "vunpckhpd") BOTH(paddq, XV_PADDQ, "vpaddq") BOTH(psubq, XV_PSUBQ, "vpsubq") BOTH(pmuludq, XV_PMULUDQ, "vpmuludq")
BOTH(pmuldq, XV_PMULDQ, "vpmuldq") Z3(pandq, XV_PANDQ, "vpandq") Y3(pandq, XV_PANDQ, "vpand") Z3(pandnq, XV_PANDNQ, "vpandnq")
Y3(pandnq, XV_PANDNQ, "vpandn") Z3(porq, XV_PORQ, "vporq") Y3(porq, XV_PORQ, "vpor") Z3(pxorq, XV_PXORQ, "vpxorq") Y3(pxorq, XV_PXORQ, "vpxor")
Z3(pmullq, XV_PMULLQ, "vpmullq") Z3(pminsq, XV_PMINSQ, "vpminsq") Z3(pmaxsq, XV_PMAXSQ, "vpmaxsq") Z3(blendm, XV_BLENDMPD, "vblendmpd")
Y3(pcmpeqq, XV_PCMPEQQ, "vpcmpeqq") Y3(pcmpgtq, XV_PCMPGTQ, "vpcmpgtq") Y3(pcmpeqd, XV_PCMPEQD, "vpcmpeqd")
#define Z2(name, op, text) ROW(name##_rr, xz_rr(b, op, z(a->x, a->n), 0, z(a->z, a->d), 0), text " zmm%u,zmm%u", z(a->x, a->n), z(a->z, a->d))
Z2(sqrt, XV_SQRTPD, "vsqrtpd") Z2(cvtqq, XV_CVTQQ2PD, "vcvtqq2pd") Z2(cvttpd, XV_CVTTPD2QQ, "vcvttpd2qq") Z2(pabsq, XV_PABSQ, "vpabsq")
Z2(movapd, XV_MOVAPD, "vmovapd")
ROW(sqrt_yr, xy_rr(b, XV_SQRTPD, a->x, 0, a->z), "vsqrtpd ymm%u,ymm%u", a->x, a->z)
ROW(movapd_yr, xy_rr(b, XV_MOVAPD, a->x, 0, a->z), "vmovapd ymm%u,ymm%u", a->x, a->z)
static const char *const preds[] = {"eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord"};
static const char *const qpreds[] = {"eq", "lt", "le", "", "neq", "nlt", "nle", ""};
static unsigned qp(const struct arg *a) { return a->n % 8 == 3 || a->n % 8 == 7 ? 0 : a->n % 8; }
ROW(cmppd_rr, xz_rr(b, XV_CMPPD, a->d & 7, z(a->y, a->v), z(a->z, a->x), a->s & 7); x_b(b, a->n & 7), "vcmp%spd k%u%s,zmm%u,zmm%u", preds[a->n & 7],
    a->d & 7, mask_text(a->s & 7, false), z(a->y, a->v), z(a->z, a->x))
ROW(cmppd_rm, xz_rm(b, XV_CMPPD, a->d & 7, z(a->y, a->v), a->m, a->s & 7, 1); x_b(b, a->n & 7), "vcmp%spd k%u%s,zmm%u,ZMMWORD PTR %s", preds[a->n & 7],
    a->d & 7, mask_text(a->s & 7, false), z(a->y, a->v), a->mt)
ROW(cmppd_rc, xz_rc(b, XV_CMPPD, a->d & 7, z(a->y, a->v), a->m, a->s & 7, 1); x_b(b, a->n & 7), "vcmp%spd k%u%s,zmm%u,QWORD BCST %s", preds[a->n & 7],
    a->d & 7, mask_text(a->s & 7, false), z(a->y, a->v), a->mt)
ROW(cmppd_yr, xy_rr(b, XV_CMPPD, a->x, a->y, a->z); x_b(b, a->n & 7), "vcmp%spd ymm%u,ymm%u,ymm%u", preds[a->n & 7], a->x, a->y, a->z)
ROW(cmppd_ym, xy_rm(b, XV_CMPPD, a->x, a->y, a->m, 1); x_b(b, XV_NLT_UQ), "vcmpnlt_uqpd ymm%u,ymm%u,YMMWORD PTR %s", a->x, a->y, a->mt)
ROW(pcmpq_rr, xz_rr(b, XV_PCMPQ, a->d & 7, z(a->y, a->v), z(a->z, a->x), a->s & 7); x_b(b, qp(a)), "vpcmp%sq k%u%s,zmm%u,zmm%u", qpreds[qp(a)], a->d & 7,
    mask_text(a->s & 7, false), z(a->y, a->v), z(a->z, a->x))
ROW(pcmpq_rc, xz_rc(b, XV_PCMPQ, a->d & 7, z(a->y, a->v), a->m, a->s & 7, 1); x_b(b, qp(a)), "vpcmp%sq k%u%s,zmm%u,QWORD BCST %s", qpreds[qp(a)], a->d & 7,
    mask_text(a->s & 7, false), z(a->y, a->v), a->mt)
ROW(ptestm, xz_rr(b, XV_PTESTMQ, a->d & 7, z(a->y, a->v), z(a->z, a->x), a->s & 7), "vptestmq k%u%s,zmm%u,zmm%u", a->d & 7, mask_text(a->s & 7, false),
    z(a->y, a->v), z(a->z, a->x))
ROW(ptestm_rc, xz_rc(b, XV_PTESTMQ, a->d & 7, z(a->y, a->v), a->m, a->s & 7, 0), "vptestmq k%u%s,zmm%u,QWORD BCST %s", a->d & 7, mask_text(a->s & 7, false),
    z(a->y, a->v), a->mt)
ROW(q2m, xz_rr(b, XV_PMOVQ2M, a->d & 7, 0, z(a->z, a->x), 0), "vpmovq2m k%u,zmm%u", a->d & 7, z(a->z, a->x))
ROW(rndscale, xz_rr(b, XV_RNDSCALEPD, z(a->x, a->n), 0, z(a->z, a->d), 0); x_b(b, 8 | (a->n & 3)), "vrndscalepd zmm%u,zmm%u,0x%x", z(a->x, a->n),
    z(a->z, a->d), 8 | (a->n & 3))
ROW(round_yr, xy_rr(b, XV_ROUNDPD, a->x, 0, a->z); x_b(b, 8 | (a->n & 3)), "vroundpd ymm%u,ymm%u,0x%x", a->x, a->z, 8 | (a->n & 3))
ROW(blendv_yr, xy_rr(b, XV_BLENDVPD, a->x, a->y, a->z); x_b(b, a->v << 4), "vblendvpd ymm%u,ymm%u,ymm%u,ymm%u", a->x, a->y, a->z, a->v)
ROW(pblendw_yr, xy_rr(b, XV_PBLENDW, a->x, a->y, a->z); x_b(b, a->n), "vpblendw ymm%u,ymm%u,ymm%u,0x%x", a->x, a->y, a->z, a->n)
ROW(pblendw_ym, xy_rm(b, XV_PBLENDW, a->x, a->y, a->m, 1); x_b(b, a->n), "vpblendw ymm%u,ymm%u,YMMWORD PTR %s,0x%x", a->x, a->y, a->mt, a->n)
#define ZL(name, op, bytes, text, size)                                                                                                        \
    ROW(name##_zl, xz_load(b, op, z(a->x, a->n), a->m, bytes, a->s & 7, (a->s & 7) && (a->v & 1)), text " zmm%u%s," size " PTR %s", z(a->x, a->n),                 \
        mask_text(a->s & 7, a->v & 1), a->mt)
ZL(bcast, XV_BROADCASTSD, 8, "vbroadcastsd", "QWORD") ZL(zxbq, XV_PMOVZXBQ, 8, "vpmovzxbq", "QWORD") ZL(zxdq, XV_PMOVZXDQ, 32, "vpmovzxdq", "YMMWORD")
ZL(sxdq, XV_PMOVSXDQ, 32, "vpmovsxdq", "YMMWORD")
ROW(movu_z, xz_rm(b, XV_MOVUPD, z(a->x, a->n), 0, a->m, 0, 0), "vmovupd zmm%u,ZMMWORD PTR %s", z(a->x, a->n), a->mt)
ROW(store_z, xz_store(b, a->m, z(a->x, a->n)), "vmovupd ZMMWORD PTR %s,zmm%u", a->mt, z(a->x, a->n))
ROW(high_z, xz_high(b, a->y, z(a->x, a->n)), "vextractf64x4 ymm%u,zmm%u,0x1", a->y, z(a->x, a->n))
ROW(kand, xk_and(b, a->x & 7, a->y & 7, a->z & 7), "kandb k%u,k%u,k%u", a->x & 7, a->y & 7, a->z & 7)
ROW(kandn, xk_andn(b, a->x & 7, a->y & 7, a->z & 7), "kandnb k%u,k%u,k%u", a->x & 7, a->y & 7, a->z & 7)
ROW(kor, xk_or(b, a->x & 7, a->y & 7, a->z & 7), "korb k%u,k%u,k%u", a->x & 7, a->y & 7, a->z & 7)
ROW(kxnor, xk_xnor(b, a->x & 7, a->y & 7, a->z & 7), "kxnorb k%u,k%u,k%u", a->x & 7, a->y & 7, a->z & 7)
ROW(kxor, xk_xor(b, a->x & 7, a->y & 7, a->z & 7), "kxorb k%u,k%u,k%u", a->x & 7, a->y & 7, a->z & 7)
ROW(knot, xk_not(b, a->x & 7, a->y & 7), "knotb k%u,k%u", a->x & 7, a->y & 7)
ROW(ktest, xk_test(b, a->x & 7, a->y & 7), "kortestb k%u,k%u", a->x & 7, a->y & 7)
ROW(kget, xk_get(b, a->x & 7, a->y & 7), "kmovb %s,k%u", r32[a->x & 7], a->y & 7)
ROW(kload, xk_load(b, a->x & 7, a->m), "kmovb k%u,BYTE PTR %s", a->x & 7, a->mt)
ROW(kstore, xk_store(b, a->m, a->x & 7), "kmovb BYTE PTR %s,k%u", a->mt, a->x & 7)
ROW(movu_y, xy_rm(b, XV_MOVUPD, a->x, 0, a->m, 0), "vmovupd ymm%u,YMMWORD PTR %s", a->x, a->mt)
ROW(bcast_y, xy_rm(b, XV_BROADCASTSD, a->x, 0, a->m, 0), "vbroadcastsd ymm%u,QWORD PTR %s", a->x, a->mt)
ROW(zxbq_y, xy_rm(b, XV_PMOVZXBQ, a->x, 0, a->m, 0), "vpmovzxbq ymm%u,DWORD PTR %s", a->x, a->mt)
ROW(zxdq_y, xy_rm(b, XV_PMOVZXDQ, a->x, 0, a->m, 0), "vpmovzxdq ymm%u,XMMWORD PTR %s", a->x, a->mt)
ROW(sxdq_y, xy_rm(b, XV_PMOVSXDQ, a->x, 0, a->m, 0), "vpmovsxdq ymm%u,XMMWORD PTR %s", a->x, a->mt)
ROW(store_y, xy_store(b, a->m, a->x), "vmovupd YMMWORD PTR %s,ymm%u", a->mt, a->x)
ROW(sllq, xy_shq(b, 6, a->x, a->y, a->n), "vpsllq ymm%u,ymm%u,0x%x", a->x, a->y, a->n)
ROW(srlq, xy_shq(b, 2, a->x, a->y, a->n), "vpsrlq ymm%u,ymm%u,0x%x", a->x, a->y, a->n)
ROW(sard, xy_sard(b, a->x, a->y, a->n), "vpsrad ymm%u,ymm%u,0x%x", a->x, a->y, a->n)
ROW(movmsk, xy_movmsk(b, a->d, a->x), "vmovmskpd %s,ymm%u", r32[a->d], a->x)
ROW(insert, xy_insert(b, a->x, a->y, a->m), "vinsertf128 ymm%u,ymm%u,XMMWORD PTR %s,0x1", a->x, a->y, a->mt)
ROW(high_y, xy_high(b, a->x, a->y), "vextractf128 xmm%u,ymm%u,0x1", a->x, a->y)
ROW(load_x, xx_load(b, a->x, a->m), "vmovupd xmm%u,XMMWORD PTR %s", a->x, a->mt)
ROW(lo_x, xx_store_lo(b, a->m, a->x), "vmovlpd QWORD PTR %s,xmm%u", a->mt, a->x)
ROW(hi_x, xx_store_hi(b, a->m, a->x), "vmovhpd QWORD PTR %s,xmm%u", a->mt, a->x)
ROW(vzero, (void)a; x_vzeroupper(b), "vzeroupper%s", "")
ROW(push, x_push(b, a->d), "push %s", r64[a->d])
ROW(pop, x_pop(b, a->d), "pop %s", r64[a->d])
ROW(ret, (void)a; x_ret(b), "ret%s", "")
ROW(add_mi, x_add_mi(b, a->m, a->i), "add QWORD PTR %s,%s", a->mt, hex(a->i, 8))
ROW(pdep32, x_pdep_rm(b, 0, a->d, a->s, a->m), "pdep %s,%s,DWORD PTR %s", r32[a->d], r32[a->s], a->mt)
ROW(pdep64, x_pdep_rm(b, 1, a->d, a->s, a->m), "pdep %s,%s,QWORD PTR %s", r64[a->d], r64[a->s], a->mt)
ROW(or32_mr, x_or32_mr(b, a->m, a->s), "or DWORD PTR %s,%s", a->mt, r32[a->s])
ROW(mov32_mr, x_mov32_mr(b, a->m, a->s), "mov DWORD PTR %s,%s", a->mt, r32[a->s])
ROW(mov8_mr, x_mov8_mr(b, a->m, a->n & 1 ? X_RAX : X_R11), "mov BYTE PTR %s,%s", a->mt, r8[a->n & 1 ? X_RAX : X_R11])

#define R3(n) n##_rr, n##_rm, n##_rc
#define R5(n) R3(n), n##_yr, n##_ym
#define R2(n) n##_yr, n##_ym
static row_fn *const rows[] = {
    R5(addpd), R5(mulpd), R5(subpd), R5(minpd), R5(divpd), R5(maxpd), R5(fma), R2(unpl), R2(unph), R5(paddq), R5(psubq), R5(pmuludq), R5(pmuldq),
    R5(pandq), R5(pandnq), R5(porq), R5(pxorq), R3(pmullq), R3(pminsq), R3(pmaxsq), R3(blendm), R2(pcmpeqq), R2(pcmpgtq), R2(pcmpeqd), sqrt_rr, cvtqq_rr,
    cvttpd_rr, pabsq_rr, movapd_rr, sqrt_yr, movapd_yr, cmppd_rr, cmppd_rm, cmppd_rc, cmppd_yr, cmppd_ym,
};
static row_fn *const more[] = {
    pcmpq_rr, pcmpq_rc, ptestm, ptestm_rc, q2m, rndscale, round_yr, blendv_yr, pblendw_yr, pblendw_ym, bcast_zl, zxbq_zl, zxdq_zl, sxdq_zl, movu_z, store_z,
    high_z, kand, kandn, kor, kxnor, kxor, knot, ktest, kget, kload, kstore, movu_y, bcast_y, zxbq_y, zxdq_y, sxdq_y, store_y, sllq, srlq, sard, movmsk,
    insert, high_y, load_x, lo_x, hi_x, vzero, push, pop, ret, add_mi, pdep32, pdep64, or32_mr, mov32_mr, mov8_mr,
};
#define N(t) (sizeof(t) / sizeof *(t))
static void test_encoders(void **state) {
    (void)state;
    check_rows(rows, N(rows));
    check_rows(more, N(more));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_encoders)};
    return no_objdump() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
