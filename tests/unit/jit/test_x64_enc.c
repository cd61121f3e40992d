/* SPDX-License-Identifier: Apache-2.0
 * Every encoder of jit/x64_enc.h, with random operands, against objdump's reading of the bytes. 77 without objdump. */
#include "tests/unit/jit/enc_kit.h"

static const char *const alut[] = {"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"};
static enum x_alu alu(const struct arg *a) { return (enum x_alu)(a->n & 7); }


ROW(t_mov_rr, x_mov_rr(b, a->d, a->s), "mov %s,%s", r64[a->d], r64[a->s])
ROW(t_mov32_rr, x_mov32_rr(b, a->d, a->s), "mov %s,%s", r32[a->d], r32[a->s])
ROW(t_mov_rm, x_mov_rm(b, a->d, a->m), "mov %s,QWORD PTR %s", r64[a->d], a->mt)
ROW(t_mov32_rm, x_mov32_rm(b, a->d, a->m), "mov %s,DWORD PTR %s", r32[a->d], a->mt)
ROW(t_mov_mr, x_mov_mr(b, a->m, a->s), "mov QWORD PTR %s,%s", a->mt, r64[a->s])
ROW(t_movsxd, x_movsxd_rm(b, a->d, a->m), "movsxd %s,DWORD PTR %s", r64[a->d], a->mt)
ROW(t_movzx8, x_movzx8_rm(b, a->d, a->m), "movzx %s,BYTE PTR %s", r32[a->d], a->mt)
ROW(t_mov_ri64, x_mov_ri(b, a->d, a->q), "movabs %s,%s", r64[a->d], hex(a->q, 8))
ROW(t_mov_ri32, x_mov_ri(b, a->d, a->i & INT32_MAX), "mov %s,%s", r32[a->d], hex(a->i & INT32_MAX, 8))
ROW(t_mov_rneg, x_mov_ri(b, a->d, a->i | INT32_MIN), "mov %s,%s", r64[a->d], hex(a->i | INT32_MIN, 8))
ROW(t_alu_rr, x_alu_rr(b, alu(a), a->d, a->s), "%s %s,%s", alut[alu(a)], r64[a->d], r64[a->s])
ROW(t_alu32_rr, x_alu32_rr(b, alu(a), a->d, a->s), "%s %s,%s", alut[alu(a)], r32[a->d], r32[a->s])
ROW(t_alu_rm, x_alu_rm(b, alu(a), a->d, a->m), "%s %s,QWORD PTR %s", alut[alu(a)], r64[a->d], a->mt)
ROW(t_alu32_rm, x_alu32_rm(b, alu(a), a->d, a->m), "%s %s,DWORD PTR %s", alut[alu(a)], r32[a->d], a->mt)
ROW(t_alu_mr, x_alu_mr(b, alu(a), a->m, a->s), "%s QWORD PTR %s,%s", alut[alu(a)], a->mt, r64[a->s])
ROW(t_alu_ri, x_alu_ri(b, alu(a), a->d, a->i), "%s %s,%s", alut[alu(a)], r64[a->d], hex(a->i, 8))
ROW(t_alu32_ri, x_alu32_ri(b, alu(a), a->d, a->i), "%s %s,%s", alut[alu(a)], r32[a->d], hex(a->i, 4))
ROW(t_cmp_mi8, x_cmp_mi(b, 8, a->m, a->i), "cmp QWORD PTR %s,%s", a->mt, hex(a->i, 8))
ROW(t_cmp_mi4, x_cmp_mi(b, 4, a->m, a->i), "cmp DWORD PTR %s,%s", a->mt, hex(a->i, 4))
ROW(t_cmp_mi1, x_cmp_mi(b, 1, a->m, a->i), "cmp BYTE PTR %s,%s", a->mt, hex(a->i, 1))
ROW(t_or32, x_or32_mi8(b, a->m, (int8_t)a->n), "or DWORD PTR %s,0x%x", a->mt, a->n)
ROW(t_bts, x_bts_mi(b, a->m, a->n), "bts QWORD PTR %s,0x%x", a->mt, a->n)
ROW(t_bts_ri, x_bts_ri(b, a->d, a->n), "bts %s,0x%x", r64[a->d], a->n)
ROW(t_test32, x_test32_rr(b, a->d, a->s), "test %s,%s", r32[a->d], r32[a->s])
ROW(t_test, x_test_rr(b, a->d, a->s), "test %s,%s", r64[a->d], r64[a->s])
ROW(t_imul_rr, x_imul_rr(b, a->d, a->s), "imul %s,%s", r64[a->d], r64[a->s])
ROW(t_imul_rm, x_imul_rm(b, a->d, a->m), "imul %s,QWORD PTR %s", r64[a->d], a->mt)
ROW(t_imul_rri, x_imul_rri(b, a->d, a->s, a->i), "imul %s,%s,%s", r64[a->d], r64[a->s], hex(a->i, 8))
ROW(t_not, x_not(b, a->d), "not %s", r64[a->d])
ROW(t_neg, x_neg(b, a->d), "neg %s", r64[a->d])
ROW(t_mul, x_mul(b, a->d), "mul %s", r64[a->d])
ROW(t_imul, x_imul(b, a->d), "imul %s", r64[a->d])
ROW(t_idiv, x_idiv(b, a->d), "idiv %s", r64[a->d])
ROW(t_cqo, (void)a; x_cqo(b), "cqo%s", "")
ROW(t_shl, x_shl(b, a->d, a->n), "shl %s,0x%x", r64[a->d], a->n)
ROW(t_shr, x_shr(b, a->d, a->n), "shr %s,0x%x", r64[a->d], a->n)
ROW(t_sar, x_sar(b, a->d, a->n), "sar %s,0x%x", r64[a->d], a->n)
ROW(t_setcc, x_setcc(b, a->cc, a->d), "set%s %s", cct[a->cc], r8[a->d])
ROW(t_cmov, x_cmov(b, a->cc, a->d, a->s), "cmov%s %s,%s", cct[a->cc], r64[a->d], r64[a->s])
ROW(t_lea, x_lea_scaled(b, a->d, a->s, a->v % 12 == X_RSP ? X_RAX : a->v % 12, a->n & 3), "lea %s,[%s+%s*%d]", r64[a->d], r64[a->s],
    r64[a->v % 12 == X_RSP ? X_RAX : a->v % 12], 1 << (a->n & 3))
ROW(t_lea_rm, x_lea_rm(b, a->d, a->m), "lea %s,%s", r64[a->d], a->mt)
ROW(t_leave, (void)a; x_leave(b); b->p--, "pop rbp%s", "")
ROW(t_vld, x_vmovsd_rm(b, a->x, a->m), "vmovsd xmm%u,QWORD PTR %s", a->x, a->mt)
ROW(t_vst, x_vmovsd_mr(b, a->m, a->x), "vmovsd QWORD PTR %s,xmm%u", a->mt, a->x)
ROW(t_vmov, x_vmovapd_rr(b, a->x, a->y), "vmovapd xmm%u,xmm%u", a->x, a->y)
#define ARITH(op, up)                                                                                                              \
    ROW(t_##op##_rr, x_varith_rr(b, up, a->x, a->y, a->z), "v" #op "sd xmm%u,xmm%u,xmm%u", a->x, a->y, a->z)                       \
    ROW(t_##op##_rm, x_varith_rm(b, up, a->x, a->y, a->m), "v" #op "sd xmm%u,xmm%u,QWORD PTR %s", a->x, a->y, a->mt)
ARITH(add, X_VADD) ARITH(sub, X_VSUB) ARITH(mul, X_VMUL) ARITH(div, X_VDIV) ARITH(min, X_VMIN) ARITH(max, X_VMAX)
#define BITS(op, up)                                                                                                               \
    ROW(t_##op##p_rr, x_vbits_rr(b, up, a->x, a->y, a->z), "v" #op "pd xmm%u,xmm%u,xmm%u", a->x, a->y, a->z)                       \
    ROW(t_##op##p_rm, x_vbits_rm(b, up, a->x, a->y, a->m), "v" #op "pd xmm%u,xmm%u,XMMWORD PTR %s", a->x, a->y, a->mt)
BITS(and, X_VAND) BITS(andn, X_VANDN) BITS(or, X_VOR) BITS(xor, X_VXOR)
ROW(t_mulpd, x_vmulpd_rm(b, a->x, a->y, a->m), "vmulpd xmm%u,xmm%u,XMMWORD PTR %s", a->x, a->y, a->mt)
ROW(t_unpckh, x_vunpckhpd_rr(b, a->x, a->y, a->z), "vunpckhpd xmm%u,xmm%u,xmm%u", a->x, a->y, a->z)
ROW(t_fmasd, x_vfma_rm(b, false, a->x, a->y, a->m), "vfmadd231sd xmm%u,xmm%u,QWORD PTR %s", a->x, a->y, a->mt)
ROW(t_fmapd, x_vfma_rm(b, true, a->x, a->y, a->m), "vfmadd231pd xmm%u,xmm%u,XMMWORD PTR %s", a->x, a->y, a->mt)
ROW(t_vsqrt, x_vsqrtsd_rr(b, a->x, a->y, a->z), "vsqrtsd xmm%u,xmm%u,xmm%u", a->x, a->y, a->z)
ROW(t_ucomi_rr, x_vucomisd_rr(b, a->x, a->y), "vucomisd xmm%u,xmm%u", a->x, a->y)
ROW(t_ucomi_rm, x_vucomisd_rm(b, a->x, a->m), "vucomisd xmm%u,QWORD PTR %s", a->x, a->mt)
static const struct { enum x_cmp c; const char *t; } preds[] = {
    {X_EQ_OQ, "eq"}, {X_NEQ_UQ, "neq"}, {X_LT_OQ, "lt_oq"}, {X_LE_OQ, "le_oq"}, {X_GE_OQ, "ge_oq"}, {X_GT_OQ, "gt_oq"}};
ROW(t_cmp_rr, x_vcmpsd_rr(b, preds[a->n % 6].c, a->x, a->y, a->z), "vcmp%ssd xmm%u,xmm%u,xmm%u", preds[a->n % 6].t, a->x, a->y, a->z)
ROW(t_cmp_rm, x_vcmpsd_rm(b, preds[a->n % 6].c, a->x, a->y, a->m), "vcmp%ssd xmm%u,xmm%u,QWORD PTR %s", preds[a->n % 6].t, a->x, a->y, a->mt)
ROW(t_msk, x_vmovmskpd(b, a->d, a->x), "vmovmskpd %s,xmm%u", r32[a->d], a->x)
ROW(t_round, x_vroundsd(b, a->x, a->y, a->z, a->n & 3), "vroundsd xmm%u,xmm%u,xmm%u,0x%x", a->x, a->y, a->z, (a->n & 3) | 8)
ROW(t_blend, x_vblendvpd(b, a->x, a->y, a->z, a->v), "vblendvpd xmm%u,xmm%u,xmm%u,xmm%u", a->x, a->y, a->z, a->v)
ROW(t_si2sd, x_vcvtsi2sd_rr(b, a->x, a->y, a->s), "vcvtsi2sd xmm%u,xmm%u,%s", a->x, a->y, r64[a->s])
ROW(t_si2sdm, x_vcvtsi2sd_rm(b, a->x, a->y, a->m), "vcvtsi2sd xmm%u,xmm%u,QWORD PTR %s", a->x, a->y, a->mt)
ROW(t_sd2si, x_vcvttsd2si(b, a->d, a->x), "vcvttsd2si %s,xmm%u", r64[a->d], a->x)
ROW(t_movq, x_vmovq_xr(b, a->x, a->s), "vmovq xmm%u,%s", a->x, r64[a->s])

static row_fn *const rows[] = {
    t_mov_rr, t_mov32_rr, t_mov_rm, t_mov32_rm, t_mov_mr, t_movsxd, t_movzx8, t_mov_ri64, t_mov_ri32, t_mov_rneg, t_alu_rr, t_alu32_rr,
    t_alu_rm, t_alu32_rm, t_alu_mr, t_alu_ri, t_alu32_ri, t_cmp_mi8, t_cmp_mi4, t_cmp_mi1, t_or32, t_bts, t_bts_ri, t_test32, t_test, t_imul_rr,
    t_imul_rm, t_imul_rri, t_not, t_neg, t_mul, t_imul, t_idiv, t_cqo, t_shl, t_shr, t_sar, t_setcc, t_cmov, t_lea, t_lea_rm, t_leave, t_vld,
    t_vst, t_vmov, t_add_rr, t_add_rm, t_sub_rr, t_sub_rm, t_mul_rr, t_mul_rm, t_div_rr, t_div_rm, t_min_rr, t_min_rm, t_max_rr,
    t_max_rm, t_andp_rr, t_andp_rm, t_andnp_rr, t_andnp_rm, t_orp_rr, t_orp_rm, t_xorp_rr, t_xorp_rm, t_vsqrt, t_ucomi_rr, t_ucomi_rm,
    t_cmp_rr, t_cmp_rm, t_msk, t_round, t_blend, t_si2sd, t_si2sdm, t_sd2si, t_movq, t_mulpd, t_unpckh, t_fmasd, t_fmapd,
};

static void test_encoders(void **state) {
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_jumps_and_full(void **state) {
    (void)state;
    uint8_t room[64];
    struct x64_buf b = {room, room, room + sizeof room - X_INSN_MAX, false};
    uint32_t j = x_jcc(&b, X_NE);
    x_cqo(&b);
    x_land(&b, j, x_pos(&b));
    int32_t d;
    memcpy(&d, room + j, 4);
    assert_int_equal(d, 2);                              /* over the two bytes of cqo */
    x_jmp_to(&b, 0);
    memcpy(&d, b.p - 4, 4);
    assert_int_equal(d, -(int32_t)x_pos(&b));
    for (int i = 0; i < 100; i++)
        x_mov_ri(&b, X_R11, INT64_MIN);
    assert_true(b.full);
    assert_true(b.p <= room + sizeof room);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_encoders), cmocka_unit_test(test_jumps_and_full)};
    return no_objdump() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
