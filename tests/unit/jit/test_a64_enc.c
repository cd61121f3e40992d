/* SPDX-License-Identifier: Apache-2.0
 * Every encoder of jit/a64_enc.h, with random operands, against objdump's reading of the words. 77 without an objdump that knows
 * aarch64. Needs no aarch64 processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "jit/a64_enc.h"

struct arg { unsigned d, n, m, a, i, bit, by; enum a_cc cc; uint32_t disp, here; };
static const char *const cct[] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"};
static const char *const shifts[] = {"lsl", "lsr", "asr"};

/* ROW(name, what is emitted, format of what objdump prints, its arguments) */
#define ROW(name, emit, ...) static void name(struct a64_buf *b, const struct arg *a, char *t) { emit; sprintf(t, __VA_ARGS__); }
#define RRR(name, op) ROW(t_##name, a_rrr(b, op, a->d, a->n, a->m), #name " x%u, x%u, x%u", a->d, a->n, a->m)
RRR(add, A_ADD) RRR(adds, A_ADDS) RRR(sub, A_SUB) RRR(subs, A_SUBS) RRR(adcs, A_ADCS) RRR(sbcs, A_SBCS) RRR(and, A_AND) RRR(orr, A_ORR)
RRR(orn, A_ORN) RRR(eor, A_EOR) RRR(mul, A_MUL) RRR(smulh, A_SMULH) RRR(umulh, A_UMULH) RRR(sdiv, A_SDIV)
#define SHIFTED(name, op)                                                                                                           \
    ROW(s_##name, a_rrr_shift(b, op, a->d, a->n, a->m, (enum a_shift)(a->i % 3), a->by), #name " x%u, x%u, x%u, %s #%u", a->d, a->n, a->m, shifts[a->i % 3], a->by)
SHIFTED(add, A_ADD) SHIFTED(subs, A_SUBS) SHIFTED(and, A_AND) SHIFTED(orr, A_ORR) SHIFTED(eor, A_EOR)
#define RRI(name, op) ROW(i_##name, a_rri(b, op, a->d, a->n, a->i), #name " x%u, x%u, #0x%x", a->d, a->n, a->i)
RRI(add, A_ADD_I) RRI(adds, A_ADDS_I) RRI(sub, A_SUB_I) RRI(subs, A_SUBS_I)
ROW(t_mov, a_mov(b, a->d, a->m), "mov x%u, x%u", a->d, a->m)
ROW(t_mvn, a_mvn(b, a->d, a->m), "mvn x%u, x%u", a->d, a->m)
ROW(t_msub, a_msub(b, a->d, a->n, a->m, a->a), "msub x%u, x%u, x%u, x%u", a->d, a->n, a->m, a->a)
ROW(t_and1, a_and1(b, a->d, a->n), "and x%u, x%u, #0x1", a->d, a->n)
ROW(t_tst1, a_tst1(b, a->n), "tst x%u, #0x1", a->n)
ROW(t_eor1, a_eor1(b, a->d, a->n), "eor x%u, x%u, #0x1", a->d, a->n)
ROW(t_orr_bit, a_orr_bit(b, a->d, a->n, a->bit), "orr x%u, x%u, #0x%llx", a->d, a->n, 1ull << a->bit)
ROW(t_bfi1, a_bfi1(b, a->d, a->n, a->by), "bfi x%u, x%u, #%u, #1", a->d, a->n, a->by)
ROW(t_bfxil, a_bfi1(b, a->d, a->n, 0), "bfxil x%u, x%u, #0, #1", a->d, a->n)         /* the same at bit 0 */
ROW(t_asr, a_asr(b, a->d, a->n, a->bit), "asr x%u, x%u, #%u", a->d, a->n, a->bit)
ROW(t_csel, a_csel(b, a->d, a->n, a->m, a->cc), "csel x%u, x%u, x%u, %s", a->d, a->n, a->m, cct[a->cc])
ROW(t_csel_al, a_csel(b, a->d, a->n, a->m, A_AL), "csel x%u, x%u, x%u, al", a->d, a->n, a->m)
ROW(t_cset, a_cset(b, a->d, a->cc), "cset x%u, %s", a->d, cct[a->cc])
ROW(t_ccmp, a_ccmp(b, a->n, a->m, a->i & 15, a->cc), "ccmp x%u, x%u, #0x%x, %s", a->n, a->m, a->i & 15, cct[a->cc])
ROW(t_cmp, a_cmp(b, a->n, a->m), "cmp x%u, x%u", a->n, a->m)
ROW(t_cmp_i, a_cmp_i(b, a->n, a->i), "cmp x%u, #0x%x", a->n, a->i)
ROW(t_cmn_i, a_cmn_i(b, a->n, a->i), "cmn x%u, #0x%x", a->n, a->i)
#define MEM(name, op, reg, size)                                                                                                   \
    ROW(m_##name, a_mem(b, op, a->d, a_at((uint8_t)a->n, a->disp * size)), "%s " reg "%u, [x%u, #%u]", mnemonic(op), a->d, a->n, a->disp * size)
static const char *mnemonic(enum a_mem op) {
    return op == A_STR || op == A_STR_W || op == A_STR_D ? "str" : op == A_LDRB ? "ldrb" : op == A_LDRSW ? "ldrsw" : "ldr";
}
MEM(ldr, A_LDR, "x", 8) MEM(str, A_STR, "x", 8) MEM(ldr_w, A_LDR_W, "w", 4) MEM(str_w, A_STR_W, "w", 4) MEM(ldrsw, A_LDRSW, "x", 4)
MEM(ldrb, A_LDRB, "w", 1) MEM(ldr_d, A_LDR_D, "d", 8) MEM(str_d, A_STR_D, "d", 8)
/* beyond the immediate, or not a multiple: through x17; what is read is the second instruction */
#define FAR(name, op, reg, off)                                                                                                    \
    ROW(f_##name, a_mem(b, op, a->d, a_at((uint8_t)a->n, off)), "%s " reg "%u, [x%u, x17]", mnemonic(op), a->d, a->n)
FAR(ldr, A_LDR, "x", 32768 + 8 * (a->i % 4096)) FAR(str, A_STR, "x", 32768 + 8 * (a->i % 4096)) FAR(ldr_w, A_LDR_W, "w", 2 + 4 * (a->i % 4096))
FAR(str_w, A_STR_W, "w", 16384 + 4 * (a->i % 4096)) FAR(ldrsw, A_LDRSW, "x", 1 + 4 * (a->i % 4096)) FAR(ldrb, A_LDRB, "w", 4096 + a->i)
FAR(ldr_d, A_LDR_D, "d", 4 + 8 * (a->i % 4096)) FAR(str_d, A_STR_D, "d", 32768 + 8 * (a->i % 4096))
ROW(t_literal, a_ldr_literal(b, a->d, a->here & ~7u), "ldr x%u, 0x%x", a->d, a->here & ~7u)
ROW(t_literal_d, a_ldr_d_literal(b, a->d, a->here & ~7u), "ldr d%u, 0x%x", a->d, a->here & ~7u)
ROW(t_bcc, uint32_t j = a_bcc(b, a->cc); a_land(b, j, j + 4 * a->i), "b.%s 0x%x", cct[a->cc], a_pos(b) - 4 + 4 * a->i)
ROW(t_b, uint32_t j = a_b(b); a_land(b, j, j + 4 * a->i), "b 0x%x", a_pos(b) - 4 + 4 * a->i)
ROW(t_b_to, a_b_to(b, a->here & ~3u), "b 0x%x", a->here & ~3u)
#define FFF(name, op) ROW(t_##name, a_fff(b, op, a->d, a->n, a->m), #name " d%u, d%u, d%u", a->d, a->n, a->m)
FFF(fadd, A_FADD) FFF(fsub, A_FSUB) FFF(fmul, A_FMUL) FFF(fdiv, A_FDIV)
#define FF(name, op) ROW(t_##name, a_ff(b, op, a->d, a->n), #name " d%u, d%u", a->d, a->n)
FF(fmov, A_FMOV) FF(fneg, A_FNEG) FF(fabs, A_FABS) FF(fsqrt, A_FSQRT) FF(frintm, A_FRINTM) FF(frintp, A_FRINTP) FF(frintz, A_FRINTZ)
#define MASK(name, op) ROW(t_##name, a_mask(b, op, a->d, a->n, a->m), #name " d%u, d%u, d%u", a->d, a->n, a->m)
MASK(fcmgt, A_FCMGT) MASK(fcmge, A_FCMGE) MASK(fcmeq, A_FCMEQ)
#define VEC(name, op) ROW(v_##name, a_mask(b, op, a->d, a->n, a->m), #name " v%u.8b, v%u.8b, v%u.8b", a->d, a->n, a->m)
VEC(and, A_VAND) VEC(orr, A_VORR) VEC(bsl, A_BSL)
ROW(t_vnot, a_vnot(b, a->d, a->n), "mvn v%u.8b, v%u.8b", a->d, a->n)
ROW(t_fcmp, a_fcmp(b, a->n, a->m), "fcmp d%u, d%u", a->n, a->m)
ROW(t_fcsel, a_fcsel(b, a->d, a->n, a->m, a->cc), "fcsel d%u, d%u, d%u, %s", a->d, a->n, a->m, cct[a->cc])
ROW(t_scvtf, a_scvtf(b, a->d, a->n), "scvtf d%u, x%u", a->d, a->n)
ROW(t_fcvtzs, a_fcvtzs(b, a->d, a->n), "fcvtzs x%u, d%u", a->d, a->n)
ROW(t_fmov_xd, a_fmov_xd(b, a->d, a->n), "fmov x%u, d%u", a->d, a->n)
ROW(t_fmov_dx, a_fmov_dx(b, a->d, a->n), "fmov d%u, x%u", a->d, a->n)

typedef void row_fn(struct a64_buf *, const struct arg *, char *);
static row_fn *const rows[] = {
    t_add, t_adds, t_sub, t_subs, t_adcs, t_sbcs, t_and, t_orr, t_orn, t_eor, t_mul, t_smulh, t_umulh, t_sdiv, s_add, s_subs, s_and, s_orr,
    s_eor, i_add, i_adds, i_sub, i_subs, t_mov, t_mvn, t_msub, t_and1, t_tst1, t_eor1, t_orr_bit, t_bfi1, t_bfxil, t_asr, t_csel, t_csel_al,
    t_cset, t_ccmp, t_cmp, t_cmp_i, t_cmn_i, m_ldr, m_str, m_ldr_w, m_str_w, m_ldrsw, m_ldrb, m_ldr_d, m_str_d, f_ldr, f_str, f_ldr_w, f_str_w,
    f_ldrsw, f_ldrb, f_ldr_d, f_str_d, t_literal, t_literal_d, t_bcc, t_b, t_b_to, t_fadd, t_fsub, t_fmul, t_fdiv, t_fmov, t_fneg, t_fabs,
    t_fsqrt, t_frintm, t_frintp, t_frintz, t_fcmgt, t_fcmge, t_fcmeq, v_and, v_orr, v_bsl, t_vnot, t_fcmp, t_fcsel, t_scvtf, t_fcvtzs,
    t_fmov_xd, t_fmov_dx,
};
enum { NROWS = sizeof rows / sizeof *rows, PER_ROW = 40, LINES = NROWS * PER_ROW, WORDS = 3 };

static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void) { return seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17; }
static char want[LINES][96], got[LINES][160];
static uint32_t at[LINES];                               /* of the last instruction of the line */
static uint8_t bytes[LINES * WORDS * 4 + 64];

/* "add\tx1, x2, x3\t// #5" becomes "add x1, x2, x3"; conditions have one name. */
static void normalise(const char *in, char *out) {
    char *o = out;
    for (const char *p = in; *p && *p != '\n' && strncmp(p, "//", 2); p++) {
        char c = *p == '\t' ? ' ' : *p;
        if (c != ' ' || (o > out && o[-1] != ' '))
            *o++ = c;
    }
    while (o > out && o[-1] == ' ')
        o--;
    *o = 0;
}
static const char *const objdumps[] = {"aarch64-linux-gnu-objdump", "objdump"};
static const char *tool;
static bool disassemble(size_t n) {
    char bin[] = "/tmp/redan-a64-XXXXXX", cmd[160], line[256], *end;
    int fd = mkstemp(bin);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        return false;
    close(fd);
    snprintf(cmd, sizeof cmd, "%s -D -b binary -m aarch64 -M no-notes --no-show-raw-insn %s 2>/dev/null", tool, bin);
    FILE *p = popen(cmd, "r");
    unsigned k = 0, seen = 0;
    while (p && fgets(line, sizeof line, p)) {
        unsigned long off = strtoul(line, &end, 16);
        if (*end != ':' || end == line)
            continue;
        seen++;
        for (; k < LINES && at[k] < off; k++)
            ;
        if (k < LINES && at[k] == off)
            normalise(end + 1, got[k]);
    }
    if (p)
        pclose(p);
    unlink(bin);
    return seen > LINES;
}
/* An address is followed by the name of no symbol: "b 0x10 <.data+0x10>". */
static bool same(const char *w, const char *g) {
    size_t n = strlen(w);
    return !strncmp(w, g, n) && (!g[n] || !strncmp(g + n, " <", 2));
}

static void test_encoders(void **state) {
    (void)state;
    struct a64_buf b = {bytes, bytes, bytes + sizeof bytes - 4, false};
    for (unsigned i = 0; i < LINES; i++) {
        struct arg a = {.d = rnd() % 29, .n = rnd() % 17, .m = rnd() % 29, .a = rnd() % 29, .i = 1 + rnd() % 4095, .bit = rnd() % 64, .by = 1 + rnd() % 63,
                        .cc = (enum a_cc)(rnd() % 14), .disp = 1 + rnd() % 4095, .here = (uint32_t)(rnd() % (a_pos(&b) + 1))};
        rows[i / PER_ROW](&b, &a, want[i]);
        at[i] = a_pos(&b) - 4;
    }
    assert_false(b.full);
    assert_true(disassemble(a_pos(&b)));
    unsigned bad = 0;
    for (unsigned i = 0; i < LINES; i++)
        if (!same(want[i], got[i]) && bad++ < 20)
            print_error("row %u: wrote \"%s\", objdump reads \"%s\"\n", i / PER_ROW, want[i], got[i]);
    assert_int_equal(bad, 0);
    want[7][0] ^= 1;                                     /* the comparison compares */
    assert_false(same(want[7], got[7]));
}

/* What movz, movn and movk leave, read from their words. */
static uint64_t run_mov(const uint8_t *p, unsigned n, unsigned d) {
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t w;
        memcpy(&w, p + 4 * i, 4);
        unsigned by = (w >> 21 & 3) * 16;
        uint64_t part = (uint64_t)(w >> 5 & 0xffff) << by;
        assert_int_equal(w & 31, d);
        assert_true((w >> 23 == 0x1a5 || w >> 23 == 0x125) == !i && (!i || w >> 23 == 0x1e5));     /* movz or movn, then movk */
        v = w >> 23 == 0x1a5 ? part : w >> 23 == 0x125 ? ~part : (v & ~(0xffffull << by)) | part;
    }
    return v;
}
static void test_constants(void **state) {
    (void)state;
    static const uint64_t edges[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 0xffff, 0x10000, 0xffff0000, 0xffffffffffff0000, 0x8000000000000000, 0x7fffffffffffffff,
                                     0xffff1234ffff5678, 0x0000123400005678, 0x1234567890abcdef, 0xffffffff00000000, 0x0000ffff0000ffff};
    enum { EDGES = sizeof edges / sizeof *edges };
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t room[32];
        struct a64_buf b = {room, room, room + sizeof room - 4, false};
        uint64_t v = i < EDGES ? edges[i] : rnd();
        for (unsigned k = 0; i >= EDGES && k < 64; k += 16)
            v = rnd() % 3 == 0 ? v & ~(0xffffull << k) : rnd() % 3 == 0 ? v | 0xffffull << k : v;
        a_mov_ri(&b, 9, v);
        assert_int_equal(a_pos(&b) / 4, a_mov_cost(v));
        assert_true(run_mov(room, a_pos(&b) / 4, 9) == v);
    }
}

static void test_reach_and_full(void **state) {
    (void)state;
    enum { MIB = 1 << 20 };
    uint8_t *room = malloc(2 * MIB);
    struct a64_buf b = {room, room, room + 2 * MIB - 4, false};
    uint32_t j = a_bcc(&b, A_NE);
    a_land(&b, j, MIB - 4);
    assert_false(b.full);
    a_land(&b, j, MIB);                                  /* one word too far */
    assert_true(b.full);
    b = (struct a64_buf){room, room + MIB, room + 2 * MIB - 4, false};
    assert_true(a_ldr_literal(&b, 3, 0));
    assert_false(a_ldr_literal(&b, 3, 0));               /* from one word further */
    for (int i = 0; i < MIB; i++)
        a_mov(&b, 1, 2);
    assert_true(b.full && b.p <= room + 2 * MIB);
    free(room);
}

int main(void) {
    for (size_t i = 0; i < 2 && !tool; i++) {
        char cmd[96];
        snprintf(cmd, sizeof cmd, "%s -i 2>/dev/null | grep -q aarch64", objdumps[i]);
        tool = system(cmd) == 0 ? objdumps[i] : NULL;
    }
    if (!tool) {
        puts("skipped: no objdump that knows aarch64");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_encoders), cmocka_unit_test(test_constants), cmocka_unit_test(test_reach_and_full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
