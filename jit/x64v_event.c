/* SPDX-License-Identifier: Apache-2.0
 * x64v_event.c: the vector functions of one event type, from its plan (x64v_gen.h).
 *
 * Layout in the buffer: constants, growing down to .low; then the functions, 64-byte aligned: the loop over blocks, ret, the cold
 * part that writes marks, int3. The words of 8 events are built in a vector: a zmm takes the rule's bit under its mask, a pair of
 * ymm is doubled and loses the mask (-1), from the last rule to the first. */
#include <string.h>
#include "jit/exec.h"
#include "jit/x64v_gen.h"

enum { WORD_Z = 7, WORD_Y = 6, MARKS_Y = 5, TMP0 = 14, POOL_SPARE = 256 * 8, CHUNK_BYTES = 24 << 10 };
static const struct xv_m everywhere = {0, false};

static uint32_t pool_bytes(const struct rdn_plan *pl) { return (pl->nodes.n * 16u + POOL_SPARE + 63u) & ~63u; }
static void all_free(struct xv_gen *g) {
    g->vfree = g->zmm ? 0x7f : 0x1f;
    g->kfree = 0x7e;
    g->failed = false;
}
static bool computed(const struct xv_gen *g, const uint64_t *mask, uint32_t rule) {
    return g->pl->rules[rule].how != RDN_RULE_INTERP && (mask[rule / 64] >> rule % 64 & 1);
}

/* ---- the start of a block ---- */
static bool is_plain_slot(const struct xv_gen *g, rdn_pid p) {
    const struct rdn_gather *x = xv_gather(g, p);
    return x && !x->has_else && !x->is_defined;
}
/* x * 0 is 0 for finite x and NaN for others: one sum and one test for all columns of floats. */
static void finite_test(struct xv_gen *g) {
    enum { SUMS = 4 };                                   /* in turn: one sum would be a chain of latencies */
    unsigned sums[SUMS], n = 0, most = g->zmm ? SUMS : 1, zero = xv_vector(g);
    uint64_t done = 0;
    xv_op(g, XV_PXORQ, zero, zero, (struct xv_src){XV_REG, (uint8_t)zero, {0, 0}});
    for (uint32_t i = 0; i < g->visited.n; i++) {
        rdn_pid p = g->visited.v[i];
        struct xv_src s;
        bool reads = xv_node(g, p)->type == RDN_TY_F64 && g->col_of[p] && (xv_node(g, p)->op == RDN_OP_FIELD) && !xv_shared(g, p);
        if (!reads || (done >> (g->col_of[p] - 1) & 1))
            continue;
        done |= 1ull << (g->col_of[p] - 1);
        if (rdn_fault(XV_FINITE_LAST) && n && i + 1 >= g->visited.n / 2)
            continue;
        if (n < most) {
            sums[n] = xv_vector(g);
            xv_op(g, XV_PXORQ, sums[n], sums[n], (struct xv_src){XV_REG, (uint8_t)sums[n], {0, 0}});
        }
        if (xv_source(g, p, &s))
            xv_op(g, XV_FMA231PD, sums[n % most], zero, s);
        n++;
    }
    for (unsigned i = 1; i < n && i < most; i++)
        xv_op(g, XV_ADDPD, sums[0], sums[0], (struct xv_src){XV_REG, (uint8_t)sums[i], {0, 0}});
    if (n && g->zmm) {
        xz_rr(&g->b, XV_CMPPD, 7, sums[0], sums[0], 0);
        x_b(&g->b, XV_UNORD);
    } else if (g->zmm) {
        xk_xor(&g->b, 7, 7, 7);
    }
    for (unsigned h = 0; !g->zmm && h < 2; h++)
        if (n) {
            xy_rr(&g->b, XV_CMPPD, 2 * MARKS_Y + h, 2 * sums[0] + h, 2 * sums[0] + h);
            x_b(&g->b, XV_UNORD);
        } else {
            xy_rr(&g->b, XV_PXORQ, 2 * MARKS_Y + h, 2 * MARKS_Y + h, 2 * MARKS_Y + h);
        }
    all_free(g);
}
/* Lanes where (presence word & bits) == bits. */
static struct xv_m present(struct xv_gen *g, uint64_t bits) {
    uint32_t c = xv_present(g);
    struct xv_v t = {(uint8_t)xv_vector(g), true};
    struct xv_m m;
    xv_load_column(g, c, t.r);
    xv_op(g, XV_PANDQ, t.r, t.r, xv_one(g, bits));
    if (!g->zmm) {
        xv_op(g, XV_PCMPEQQ, t.r, t.r, xv_one(g, bits));
        return (struct xv_m){t.r, true};
    }
    m = (struct xv_m){(uint8_t)xv_mask_reg(g), true};
    xz_rc(&g->b, XV_PCMPQ, m.r, t.r, xv_const(g, bits), 0, 1);
    x_b(&g->b, XV_QEQ);
    xv_drop(g, t);
    return m;
}
static uint64_t present_bit(const struct xv_gen *g, rdn_pid p) {
    const struct rdn_gather *x = xv_gather(g, p);
    return 1ull << g->pl->ir->events[g->pl->event].fields[x->index].present_bit << rdn_fault(XV_PRESENT_BIT);
}
/* Optional fields that conditions read as they are: where one is missing, the event is judged singly. */
static void absent_marks(struct xv_gen *g) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < g->visited.n; i++)
        if (is_plain_slot(g, g->visited.v[i]))
            bits |= present_bit(g, g->visited.v[i]);
    if (bits && !rdn_fault(XV_ABSENT)) {
        struct xv_m m = present(g, bits);
        xv_mark_mask(g, xv_not(g, m, everywhere));
    }
    all_free(g);
}

/* ---- values computed once ---- */
/* `field ?? els`, NaN counting as missing. */
static struct xv_v value_else(struct xv_gen *g, rdn_pid p, const struct rdn_gather *x) {
    struct xv_v v = {(uint8_t)xv_vector(g), true}, els;
    struct xv_m m = present(g, present_bit(g, p)), not_nan;
    xv_load_column(g, g->col_of[p] - 1, v.r);
    if (x->nan_is_none) {
        not_nan = xv_cmp_f(g, X_EQ_OQ, v.r, xv_src_of(v), m);
        xv_drop_mask(g, m);
        m = not_nan;
    }
    els = xv_value(g, x->els);
    xv_blend(g, v.r, els.r, v.r, m);
    xv_drop(g, els);
    xv_drop_mask(g, m);
    if (xv_node(g, p)->type == RDN_TY_F64) {             /* the test of the columns has not seen the choice */
        struct xv_v t = {(uint8_t)xv_vector(g), true};
        xv_op(g, XV_SUBPD, t.r, v.r, xv_src_of(v));
        xv_mark_mask(g, xv_cmp_f(g, XV_UNORD, t.r, xv_src_of(t), everywhere));
        xv_drop(g, t);
    }
    return v;
}
static struct xv_m is_defined(struct xv_gen *g, rdn_pid p, const struct rdn_gather *x) {
    struct xv_m m = present(g, present_bit(g, p)), both;
    if (!x->nan_is_none)
        return m;
    struct xv_v v = {(uint8_t)xv_vector(g), true};
    xv_load_column(g, g->col_of[p] - 1, v.r);
    both = xv_cmp_f(g, X_EQ_OQ, v.r, xv_src_of(v), m);
    xv_drop(g, v);
    xv_drop_mask(g, m);
    return both;
}
/* The value is 0 or 1. */
static struct xv_m bool_else(struct xv_gen *g, rdn_pid p, const struct rdn_gather *x) {
    struct xv_v v = value_else(g, p, x);
    struct xv_m m = xv_all(g, false);
    if (g->zmm)
        xz_rr(&g->b, XV_PTESTMQ, m.r, v.r, v.r, 0);
    else
        xv_op(g, XV_PSUBQ, m.r, m.r, xv_src_of(v));
    xv_drop(g, v);
    return m;
}
static void spill(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    const struct rdn_gather *x = xv_gather(g, p);
    uint8_t *was = g->b.p;
    uint32_t place = ++g->nspills;
    struct x64_mem at = xv_spill(g, place);
    if (n->type == RDN_TY_B1) {
        xv_save_mask(g, place, !x ? xv_bool(g, p, everywhere) : x->is_defined ? is_defined(g, p, x) : bool_else(g, p, x));
    } else {
        struct xv_v v = x ? value_else(g, p, x) : xv_value(g, p);
        if (g->zmm)
            xz_store(&g->b, at, v.r);
        for (unsigned h = 0; !g->zmm && h < 2; h++)
            xy_store(&g->b, x_at(at.base, at.disp + 32 * (int32_t)h), 2u * v.r + h);
    }
    if (g->failed)
        g->b.p = was;
    else
        g->spill[p] = place;
    all_free(g);
}

/* ---- words ---- */
static void store_lanes(struct xv_gen *g, unsigned y, unsigned tmp, unsigned lane, uint32_t w) {
    int32_t stride = (int32_t)(8 * g->pl->words), at = (int32_t)(lane * 8 * g->pl->words + 8 * w);
    xx_store_lo(&g->b, x_at(X_R15, at), y);
    xx_store_hi(&g->b, x_at(X_R15, at + stride), y);
    xy_high(&g->b, tmp, y);
    xx_store_lo(&g->b, x_at(X_R15, at + 2 * stride), tmp);
    xx_store_hi(&g->b, x_at(X_R15, at + 3 * stride), tmp);
}
static void store_word(struct xv_gen *g, uint32_t w) {
    struct x64_buf *b = &g->b;
    if (g->pl->words == 1) {
        if (g->zmm)
            xz_store(b, x_at(X_R15, 0), WORD_Z);
        for (unsigned h = 0; !g->zmm && h < 2; h++)
            xy_store(b, x_at(X_R15, 32 * (int32_t)h), 2 * WORD_Y + h);
    } else if (g->zmm) {
        xz_high(b, 0, WORD_Z);
        store_lanes(g, WORD_Z, 1, 0, w);
        store_lanes(g, 0, 1, 4, w);
    } else {
        store_lanes(g, 2 * WORD_Y, TMP0, 0, w);
        store_lanes(g, 2 * WORD_Y + 1, TMP0, 4, w);
    }
}
static void shift_word(struct xv_gen *g, unsigned n) {
    for (unsigned h = 0; n && h < 2; h++)
        if (n == 1)
            xy_rr(&g->b, XV_PADDQ, 2 * WORD_Y + h, 2 * WORD_Y + h, 2 * WORD_Y + h);
        else
            xy_shq(&g->b, 6, 2 * WORD_Y + h, 2 * WORD_Y + h, n);
}
/* False: does not fit the registers, nothing is left of it. */
static bool emit_rule(struct xv_gen *g, uint32_t i, struct xv_m *ret) {
    uint8_t *was = g->b.p;
    *ret = xv_bool(g, g->pl->rules[i].root, everywhere);
    bool failed = g->failed;
    if (failed)
        g->b.p = was;
    all_free(g);
    return !failed;
}
static void emit_word(struct xv_gen *g, uint32_t w, uint64_t *mask) {
    uint32_t from = w * 64, to = from + 64 < g->pl->nrules ? from + 64 : g->pl->nrules;
    unsigned word = g->zmm ? WORD_Z : WORD_Y, shift = 0;
    struct xv_m m;
    xv_op(g, XV_PXORQ, word, word, (struct xv_src){XV_REG, (uint8_t)word, {0, 0}});
    for (uint32_t i = to; i-- > from; shift++) {
        if (!computed(g, mask, i))
            continue;
        if (!emit_rule(g, i, &m)) {
            mask[w] &= ~(1ull << i % 64);
            continue;
        }
        if (g->zmm) {
            xz_rc(&g->b, XV_PORQ, WORD_Z, WORD_Z, xv_const(g, 1ull << (i ^ rdn_fault(XV_WORD_BIT)) % 64), m.r, 0);
            continue;
        }
        shift_word(g, rdn_fault(XV_WORD_SHIFT) ? 0 : shift);
        shift = 0;
        xv_op(g, XV_PSUBQ, WORD_Y, WORD_Y, (struct xv_src){XV_REG, m.r, {0, 0}});
    }
    if (!g->zmm && shift)                                /* of the lowest rules, which set nothing: bit 0 has been passed once too often */
        shift_word(g, shift - 1);
    store_word(g, w);
}

/* ---- functions ---- */
static uint32_t start_function(struct xv_gen *g) {
    struct x64_buf *b = &g->b;
    while (x_pos(b) & 63 && !b->full) {
        x_start(b);
        x_b(b, 0xcc);
    }
    uint32_t at = x_pos(b);
    x_enter(b);
    x_push(b, X_RBX);
    x_push(b, X_R13);
    x_push(b, X_R14);
    x_push(b, X_R15);
    x_mov_rm(b, X_R15, x_at(X_RDI, offsetof(struct xv_block, words)));
    x_mov_rm(b, X_R14, x_at(X_RDI, offsetof(struct xv_block, mark)));
    x_mov_rm(b, X_RSI, x_at(X_RDI, offsetof(struct xv_block, count)));
    for (uint32_t c = 0; c < g->cols.n; c++)
        if (g->col_gpr[c])
            x_mov_rm(b, g->col_gpr[c], x_at(X_RDI, (int32_t)xv_at_col(c)));
    return at;
}
/* Jumps away when some lane is marked; the position for x_land. */
static uint32_t test_marks(struct xv_gen *g) {
    struct x64_buf *b = &g->b;
    if (g->zmm) {
        xk_test(b, 7, 7);
    } else {
        xy_rr(b, XV_PORQ, TMP0, 2 * MARKS_Y, 2 * MARKS_Y + 1);
        xy_movmsk(b, X_RAX, TMP0);
        x_test32_rr(b, X_RAX, X_RAX);
    }
    return x_jcc(b, X_NE);
}
static void write_marks(struct xv_gen *g) {
    struct x64_buf *b = &g->b;
    struct x64_mem ones = xv_const(g, 0x0101010101010101u);
    if (g->zmm) {
        xk_get(b, X_RAX, 7);
        x_pdep_rm(b, !rdn_fault(XV_MARK_EIGHT), X_RAX, X_RAX, ones);
        x_alu_mr(b, X_OR, x_at(X_R14, 0), X_RAX);
        return;
    }
    for (unsigned h = 0; h < 2; h++) {
        xy_movmsk(b, X_RAX, 2 * MARKS_Y + h);
        x_pdep_rm(b, 0, X_RAX, X_RAX, ones);
        x_or32_mr(b, x_at(X_R14, rdn_fault(XV_MARK_HALF) ? 0 : 4 * (int32_t)h), X_RAX);
    }
}
static void end_function(struct xv_gen *g, uint32_t top) {
    struct x64_buf *b = &g->b;
    uint32_t cold = test_marks(g), resume = x_pos(b);
    for (uint32_t c = 0; c < g->cols.n; c++) {
        int32_t bytes = (int32_t)(XV_LANES * (rdn_fault(XV_ADVANCE) ? 8 : xv_elem((enum xv_ext)g->cols.v[c].ext)));
        if (g->col_gpr[c])
            x_alu_ri(b, X_ADD, g->col_gpr[c], bytes);
        else if (g->col_uses[c])
            x_add_mi(b, x_at(X_RDI, (int32_t)xv_at_col(c)), bytes);
    }
    x_alu_ri(b, X_ADD, X_R14, XV_LANES);
    x_alu_ri(b, X_ADD, X_R15, (int32_t)(XV_LANES * 8 * g->pl->words));
    x_alu_ri(b, X_SUB, X_RSI, 1);
    x_jcc_to(b, X_NE, top);
    x_vzeroupper(b);
    x_pop(b, X_R15);
    x_pop(b, X_R14);
    x_pop(b, X_R13);
    x_pop(b, X_RBX);
    x_leave(b);
    x_land(b, cold, x_pos(b));
    write_marks(g);
    x_jmp_to(b, resume);
}
static uint32_t emit_function(struct xv_gen *g, uint32_t from, uint32_t to, uint64_t *mask) {
    xv_walk_begin(g);
    for (uint32_t i = from * 64; i < to * 64 && i < g->pl->nrules; i++)
        if (computed(g, mask, i))
            xv_walk(g, g->pl->rules[i].root);
    xv_walk_end(g);
    uint32_t at = start_function(g), top = x_pos(&g->b);
    all_free(g);
    for (uint32_t c = 0; c < g->cols.n; c++)
        if (g->col_pin[c])
            xv_load_column(g, c, g->col_pin[c]);
    finite_test(g);
    absent_marks(g);
    for (uint32_t i = 0; i < g->visited.n; i++)
        if (xv_shared(g, g->visited.v[i]))
            spill(g, g->visited.v[i]);
    for (uint32_t w = from; w < to; w++)
        if (mask[w])
            emit_word(g, w, mask);
    end_function(g, top);
    if (g->nspills > g->most_spills)
        g->most_spills = g->nspills;
    return at;
}

/* ---- an event type ---- */
/* Bytes of code of a word's rules, roughly: 14 an operation on zmm, 30 on two ymm. */
static uint32_t word_bytes(struct xv_gen *g, uint32_t w, const uint64_t *mask) {
    uint32_t ops = 0;
    xv_walk_begin(g);
    for (uint32_t i = w * 64; i < w * 64 + 64 && i < g->pl->nrules; i++)
        if (computed(g, mask, i)) {
            ops += 2;
            xv_walk(g, g->pl->rules[i].root);
        }
    for (uint32_t i = 0; i < g->visited.n; i++)
        ops += !rdn_pnode_leaf(xv_node(g, g->visited.v[i]));
    return ops * (g->zmm ? 14 : 30);
}
static void emit_functions(struct xv_gen *g, uint64_t *mask, struct xv_code *ret) {
    ret->functions = rdn_new_n(g->arena, uint32_t, g->pl->words + 1);
    for (uint32_t w = 0; w < g->pl->words;) {
        uint32_t from = w, bytes = 0, next;
        do {
            bytes += word_bytes(g, w, mask);
            next = ++w < g->pl->words ? word_bytes(g, w, mask) : 0;
        } while (w < g->pl->words && bytes + next <= CHUNK_BYTES);
        if (bytes)
            ret->functions[ret->nfunctions++] = emit_function(g, from, w, mask);
    }
}
static uint32_t choose_rules(struct xv_gen *g, uint64_t *mask) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->pl->nrules; i++)
        if (g->pl->rules[i].how != RDN_RULE_INTERP && !g->pl->rules[i].guard && xv_can(g, g->pl->rules[i].root)) {
            mask[i / 64] |= 1ull << i % 64;
            n++;
        }
    return g->cols.n <= XV_COLUMNS_MAX ? n : 0;
}
static struct xv_gen *new_gen(struct rdn_arena *arena, struct rdn_plan *pl, bool zmm, uint8_t *buf, size_t bytes) {
    struct xv_gen *g = rdn_new(arena, struct xv_gen);
    uint32_t n = pl->nodes.n;
    g->pl = pl;
    g->arena = arena;
    g->zmm = zmm;
    g->pool_low = g->code_at = pool_bytes(pl);
    g->b = (struct x64_buf){buf, buf + g->code_at, buf + bytes - X_INSN_MAX, false};
    x64_pool_open(&g->pool, arena, 2 * n + 256);
    g->col_of = rdn_new_n(arena, uint32_t, n);
    g->param_of = rdn_new_n(arena, uint32_t, n);
    g->can = rdn_new_n(arena, uint8_t, n);
    g->seen = rdn_new_n(arena, uint32_t, n);
    g->uses = rdn_new_n(arena, uint32_t, n);
    g->weight = rdn_new_n(arena, uint32_t, n);
    g->spill = rdn_new_n(arena, uint32_t, n);
    return g;
}
bool xv_event(struct rdn_arena *arena, struct rdn_plan *pl, bool zmm, uint8_t *buf, size_t bytes, uint64_t *mask, struct xv_gen **ret_gen, struct xv_code *ret) {
    *ret = (struct xv_code){0};
    if (bytes < pool_bytes(pl) + 1024u)
        return false;
    struct xv_gen *g = *ret_gen = new_gen(arena, pl, zmm, buf, bytes);
    if (!choose_rules(g, mask))
        return true;
    ret->params_at = xv_at_col(XV_COLUMNS_MAX);
    g->spill_at = (ret->params_at + 8 * g->params.n + 63u) & ~63u;
    emit_functions(g, mask, ret);
    ret->rows = xv_emit_rows(g);
    ret->low = g->pool_low & ~63u;
    memset(buf + ret->low, 0, g->pool_low - ret->low);
    ret->end = x_pos(&g->b);
    ret->block_bytes = g->spill_at + 64 * g->most_spills;
    return !g->b.full;
}
