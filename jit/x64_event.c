/* SPDX-License-Identifier: Apache-2.0
 * x64_event.c: the native functions of an event type, OPERANDS and one a group, from its plan (x64_gen.h).
 *
 * Layout in the buffer: constants, growing down to .low; the two sign masks; then the functions, 64-byte aligned: hot part, ret,
 * stubs, int3. One pass; a function is emitted again with more scratch registers when some rule ran out of them. */
#include <string.h>
#include "jit/steps.h"
#include "jit/x64_gen.h"

enum { POOL_SPARE = 64 * 8, MASK_BYTES = 32, SCRATCH_MIN = 3, SCRATCH_MAX = 8, BASED_MIN = 16, BASE_ROOM = 6 * 8 };

static uint32_t pool_bytes(const struct rdn_plan *pl) { return ((pl->nodes.n * 8u + POOL_SPARE + MASK_BYTES) + 63u) & ~63u; }
size_t x64_event_guess(const struct rdn_plan *pl) { return pool_bytes(pl) + 4096 + (size_t)pl->nodes.n * 48 + (size_t)pl->nrules * 64; }

/* ---- rollback ---- */
struct mark { uint8_t *p; uint32_t jumps, stubs; };
static struct mark mark_at(const struct x64_gen *g) { return (struct mark){g->b.p, g->jumps.n, g->stubs.n}; }
static void all_free(struct x64_gen *g) {
    g->gfree = g->based ? X64_GPRS & ~(1u << X_RAX) : X64_GPRS;
    g->xfree = (1u << g->nscratch) - 1;
    g->taint = g->cold = X64_NONE;
    g->failed = false;
}
static bool roll_back(struct x64_gen *g, struct mark m) {
    bool failed = g->failed;
    if (failed) {
        g->b.p = m.p;
        g->jumps.n = m.jumps;
        g->stubs.n = m.stubs;
    }
    all_free(g);
    return failed;
}

/* ---- stubs ---- */
static struct x64_mem taint_word(const struct x64_gen *g, uint32_t w) { return x_at(X_RDI, (int32_t)(rdn_block_taint(g->pl) + 8 * w)); }
static void raise_flag(struct x64_gen *g, int flag) { x_or32_mi8(&g->b, x_at(X_RDI, RDN_BLOCK_FLAGS), (int8_t)flag); }

static void taint_now(struct x64_gen *g, bool is_set, uint32_t target) {
    if (!is_set) {
        x_bts_mi(&g->b, taint_word(g, target / 64), (target ^ rdn_fault(TAINT_RULE)) % 64);
    } else {
        const uint64_t *set = g->pl->deps + (size_t)target * g->pl->dep_words;
        for (uint32_t w = 0; w < g->pl->dep_words; w++)
            for (uint64_t v = set[w]; v; v &= v - 1) {
                if (__builtin_popcountll(v) > 3) {       /* three bts are as long as a load and an or; rdx is kept in a spill word */
                    x_mov_mr(&g->b, x_at(X_RDI, RDN_BLOCK_SPILL), X_RDX);
                    x_mov_ri(&g->b, X_RDX, (int64_t)(rdn_fault(TAINT_SET) ? v & (v - 1) : v));
                    x_alu_mr(&g->b, X_OR, taint_word(g, w), X_RDX);
                    x_mov_rm(&g->b, X_RDX, x_at(X_RDI, RDN_BLOCK_SPILL));
                    break;
                }
                x_bts_mi(&g->b, taint_word(g, w), (unsigned)__builtin_ctzll(v));
            }
    }
    raise_flag(g, RDN_BLOCK_TAINT);
}

/* A cold stub whose 64-bit pieces need more registers than there are taints instead. */
static void cold_stub(struct x64_gen *g, struct x64_stub s) {
    struct mark m = mark_at(g);
    g->target_is_set = s.is_set;
    g->target = s.target;
    all_free(g);
    x64_wide_compare(g, s.node, s.dest, s.live);
    if (roll_back(g, m))
        taint_now(g, s.is_set, s.target);
}

static void emit_stubs(struct x64_gen *g) {
    for (uint32_t i = 0; i < g->stubs.n; i++) {          /* cold stubs add taint stubs behind themselves */
        uint32_t here = x_pos(&g->b);
        struct x64_stub s = g->stubs.v[i];
        rdn_mark(g->arena, &g->marks, here, s.kind == X64_NONFINITE || s.is_set || s.target >= g->pl->nrules ? RDN_MARK_ALL : s.target);
        if (s.kind == X64_COLD)
            cold_stub(g, s);
        else if (s.kind == X64_TAINT)
            taint_now(g, s.is_set, s.target);
        else
            raise_flag(g, RDN_BLOCK_NONFINITE);
        x_jmp_to(&g->b, s.resume);
        for (uint32_t j = s.jumps; j; j = g->jumps.v[j - 1].next)
            x_land(&g->b, g->jumps.v[j - 1].at, here);
    }
}

/* ---- shared values ---- */
/* Computes a node into its slot. What cannot be computed leaves all that depends on it to interp. */
static void emit_shared(struct x64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = x64_node(g, p);
    struct x64_mem slot = x_at(X_RDI, (int32_t)rdn_block_slot(n->slot));
    struct mark m = mark_at(g);
    g->target_is_set = true;
    g->target = n->dep;
    g->no_cold = true;
    struct x64_clause c = x64_clause_begin(g);
    if (n->type == RDN_TY_F64) {
        struct x64_xv v = x64_f64(g, p);
        x_vmovsd_mr(&g->b, slot, v.reg);
    } else {
        unsigned r = n->type == RDN_TY_B1 ? x64_bool(g, p) : x64_int(g, p);
        x_mov_mr(&g->b, slot, r);
    }
    x64_clause_end(g, c, p, 0);
    if (roll_back(g, m))
        taint_now(g, true, n->dep);
    g->no_cold = false;
    g->done[p] = 1;
}
/* Level RDN_LEVELS: those that group 0 computes. */
static void emit_all_shared(struct x64_gen *g, uint32_t level) {
    for (uint32_t i = 0; i < g->pl->shared.n; i++) {
        const struct rdn_pnode *n = x64_node(g, g->pl->shared.v[i]);
        if (level < RDN_LEVELS ? rdn_emit_is_of(n, level) : !(n->flags & RDN_P_EARLY))
            emit_shared(g, g->pl->shared.v[i]);
    }
}
/* Before OPERANDS the shared values of lower levels are there, before group 0 all early ones. */
static void set_done(struct x64_gen *g, uint32_t level) {
    for (uint32_t i = 0; i < g->pl->shared.n; i++) {
        const struct rdn_pnode *n = x64_node(g, g->pl->shared.v[i]);
        g->done[g->pl->shared.v[i]] = (n->flags & RDN_P_EARLY) && n->level <= level;
    }
}

/* ---- inputs ---- */
/* Where inputs lie, a bit a word: words of the row, then, behind a gap, slots. */
enum { ROW_WORDS = RDN_PLAN_MAX_EVENT / 8, SLOT_WORDS = ROW_WORDS + 8 };
static uint64_t *input_words(struct x64_gen *g, uint32_t input, uint32_t n, uint32_t *ret_words) {
    *ret_words = (SLOT_WORDS + g->pl->nslots) / 64 + 1;
    uint64_t *bits = rdn_new_n(g->arena, uint64_t, *ret_words);
    for (uint32_t i = 0; i < n; i++) {
        rdn_pid p = g->pl->inputs.v[input + i].pid;
        const struct rdn_pnode *node = x64_node(g, p);
        uint32_t at = node->op == RDN_OP_FIELD && !(node->flags & RDN_P_SLOT) ? g->pl->ir->events[g->pl->event].fields[node->aux].offset / 8 : SLOT_WORDS + node->slot;
        if (!rdn_fault(FINITE_LAST) || !i || i < n - 1)
            bits[at / 64] |= 1ull << at % 64;
    }
    return bits;
}
static struct x64_mem input_at(uint32_t word) {
    return word < ROW_WORDS ? x_at(X_RSI, (int32_t)(8 * word)) : x_at(X_RDI, (int32_t)rdn_block_slot(word - SLOT_WORDS));
}
/* 0 * x is 0 for finite x and NaN for others: one sum and one jump for all inputs, two at a time where they stand together. Changes
 * three registers; true: upper halves, too. */
static bool finite_test(struct x64_gen *g, uint32_t input, uint32_t n, unsigned zero) {
    struct x64_buf *b = &g->b;
    uint32_t words, sum = zero + 1, half = zero + 2;
    bool any = false, pairs = false;
    if (!n)
        return false;
    uint64_t *bits = input_words(g, input, n, &words);
    x_vbits_rr(b, X_VXOR, zero, zero, zero);
    for (uint32_t w = 0; w < words * 64; w++) {
        if (!(bits[w / 64] >> w % 64 & 1)) {
            w |= bits[w / 64] >> w % 64 ? 0 : 63;
            continue;
        }
        bool two = w + 1 < words * 64 && bits[(w + 1) / 64] >> (w + 1) % 64 & 1;
        if (any)
            x_vfma_rm(b, two, sum, zero, input_at(w));
        else if (two)
            x_vmulpd_rm(b, sum, zero, input_at(w));
        else
            x_varith_rm(b, X_VMUL, sum, zero, input_at(w));
        any = true;
        pairs |= two;
        w += two;
    }
    if (pairs)
        x_vunpckhpd_rr(b, half, sum, sum);
    x_vucomisd_rr(b, sum, pairs && !rdn_fault(FINITE_HALF) ? half : sum);
    struct x64_stub *s = rdn_push(g->arena, &g->stubs);
    *s = (struct x64_stub){.kind = X64_NONFINITE};
    x64_jump_stub(g, X_P, g->stubs.n - 1);
    s->resume = x_pos(b);
    return pairs;
}
/* Of what only clauses behind a jump read. Scratch is free here, and its upper halves have to be zero. */
static void finite_behind(struct x64_gen *g, const struct rdn_pcond *c) {
    if (finite_test(g, c->input, c->ninputs, 0)) {
        x_vbits_rr(&g->b, X_VXOR, 1, 1, 1);
        x_vbits_rr(&g->b, X_VXOR, 2, 2, 2);
    }
}
/* The inputs used most get a register each; one use is as quick from memory. */
static void load_pins(struct x64_gen *g, const struct rdn_pgroup *gr) {
    unsigned x = g->nscratch;
    for (uint32_t i = 0; i < gr->ninputs && x < 16; i++) {
        const struct rdn_pinput *in = &g->pl->inputs.v[gr->input + i];
        struct x64_mem m;
        unsigned size;
        if (in->uses < 2 || !x64_place(g, in->pid, &m, &size))
            continue;
        x_vmovsd_rm(&g->b, x, m);
        g->pin[in->pid] = (uint8_t)x++;
    }
}
static void drop_pins(struct x64_gen *g, const struct rdn_pgroup *gr) {
    for (uint32_t i = 0; i < gr->ninputs; i++)
        g->pin[g->pl->inputs.v[gr->input + i].pid] = 0;
}

/* ---- conditions ---- */
/* rax follows the constants, between conditions: no jump leads past it there. */
static void follow_pool(struct x64_gen *g) {
    if (g->based && g->pool_low > 512 && (!g->base || g->pool_low < g->base - 128 + BASE_ROOM)) {
        g->base = g->pool_low - 128;
        x_lea_rm(&g->b, X_RAX, x_at(X_RIP, (int32_t)g->base));
    }
}
/* The bit in a register of its own, X64_NONE when there is no clause: it is 1. False: given up. Jumps over everything else go to *skip. */
static bool emit_cond(struct x64_gen *g, const struct rdn_pcond *c, unsigned *ret_reg, struct x64_stub *skip) {
    const rdn_pid *v = g->pl->clauses.v + c->clause;
    follow_pool(g);
    struct mark m = mark_at(g);
    g->target_is_set = c->dep != RDN_NO_DEP;
    g->target = g->target_is_set ? c->dep : c->bit;
    *skip = (struct x64_stub){0};
    rdn_mark(g->arena, &g->marks, x_pos(&g->b), g->target_is_set || c->bit >= g->pl->nrules ? RDN_MARK_ALL : c->bit);
    for (uint32_t i = 0; i < c->njumps; i++)
        x64_skip_unless(g, v[i], skip);
    finite_behind(g, c);
    *ret_reg = c->nclauses > c->njumps ? x64_all_of(g, v + c->njumps, c->nclauses - c->njumps) : X64_NONE;
    if (!roll_back(g, m))
        return true;
    if ((!g->ran_out || g->nscratch >= SCRATCH_MAX) && !(g->based && g->ran_out_gpr))   /* else the whole function is emitted again */
        rdn_plan_give_up(g->pl, c);
    return false;
}
static void land_skips(struct x64_gen *g, const struct x64_stub *skip) {
    for (uint32_t j = skip->jumps; j; j = g->jumps.v[j - 1].next)
        x_land(&g->b, g->jumps.v[j - 1].at, x_pos(&g->b));
}

static bool is_flat(const struct rdn_pcond *c) { return !c->njumps && c->nclauses; }
/* Dense: the last bit first, each shifting the word up to its own place. */
static void flat_conds(struct x64_gen *g, const struct rdn_pcond *c, uint32_t n) {
    struct x64_stub skip;
    unsigned r, at = 0;
    bool any = false;
    for (uint32_t i = n; i-- > 0;) {
        if (!is_flat(&c[i]) || !emit_cond(g, &c[i], &r, &skip))
            continue;
        unsigned bit = c[i].bit % 64, up = at - bit;
        if (any && up > 3)
            x_shl(&g->b, X_RDX, up - 1);
        x_lea_scaled(&g->b, X_RDX, r, X_RDX, !any || up > 3 ? 1 : up);
        at = bit;
        any = true;
    }
    if (any && at)
        x_shl(&g->b, X_RDX, at);
}
static void or_bit(struct x64_gen *g, const struct rdn_pcond *c, unsigned r) {
    if (r == X64_NONE) {
        x_bts_ri(&g->b, X_RDX, c->bit % 64);
        return;
    }
    if (c->bit % 64)
        x_shl(&g->b, r, c->bit % 64);
    x_alu_rr(&g->b, X_OR, X_RDX, r);
}
/* Those with jumps, or without clauses. */
static void other_conds(struct x64_gen *g, const struct rdn_pcond *c, uint32_t n) {
    struct x64_stub skip;
    unsigned r;
    for (uint32_t i = 0; i < n; i++) {
        if (is_flat(&c[i]) || !emit_cond(g, &c[i], &r, &skip))
            continue;
        or_bit(g, &c[i], r);
        land_skips(g, &skip);
    }
}
static struct x64_mem out_word(const struct x64_gen *g, uint32_t w) { return x_at(X_RDI, (int32_t)(rdn_block_fired(g->pl) + 8 * w)); }

static void emit_dense(struct x64_gen *g, const struct rdn_pgroup *gr) {
    const struct rdn_pcond *c = g->pl->conds.v + gr->cond, *end = c + gr->nconds;
    for (uint32_t w = 0; w < g->pl->out_words; w++) {
        uint32_t n = 0;
        while (c + n < end && c[n].bit / 64 == w)
            n++;
        x_alu32_rr(&g->b, X_XOR, X_RDX, X_RDX);
        flat_conds(g, c, n);
        other_conds(g, c, n);
        x_mov_mr(&g->b, out_word(g, w), X_RDX);
        c += n;
    }
    if (rdn_fault(OUT_OF_BLOCK))
        x_mov_mr(&g->b, x_at(X_RDI, (int32_t)rdn_block_bytes(g->pl)), X_RDX);
}
static void emit_sparse(struct x64_gen *g, const struct rdn_pgroup *gr) {
    for (uint32_t i = 0; i < gr->nconds; i++) {
        const struct rdn_pcond *c = &g->pl->conds.v[gr->cond + i];
        struct x64_stub skip;
        unsigned r;
        if (!emit_cond(g, c, &r, &skip))
            continue;
        if (r == X64_NONE) {
            x_bts_mi(&g->b, out_word(g, c->bit / 64), c->bit % 64);
        } else {
            if (c->bit % 64)
                x_shl(&g->b, r, c->bit % 64);
            x_alu_mr(&g->b, X_OR, out_word(g, c->bit / 64), r);
        }
        land_skips(g, &skip);
    }
}

/* ---- functions ---- */
static uint32_t start_function(struct x64_gen *g, unsigned align) {
    while (x_pos(&g->b) & (align - 1) && !g->b.full) {
        x_start(&g->b);
        x_b(&g->b, 0xcc);
    }
    g->jumps.n = g->stubs.n = 0;
    g->ran_out = g->ran_out_gpr = false;
    g->base = 0;
    all_free(g);
    uint32_t at = x_pos(&g->b);
    rdn_mark(g->arena, &g->marks, at, RDN_MARK_ALL);
    x_enter(&g->b);
    if (rdn_fault(CALLEE_SAVED))
        x_mov_rr(&g->b, X_RBX, X_RDI);
    /* Behind a taint a mask may be what the register held before, and its upper half would be a second bit. */
    for (unsigned x = 0; x < g->nscratch; x++)
        x_vbits_rr(&g->b, X_VXOR, x, x, x);
    return at;
}
static void end_function(struct x64_gen *g) {
    rdn_mark(g->arena, &g->marks, x_pos(&g->b), RDN_MARK_LEAVE);
    x_leave(&g->b);
    g->base = 0;
    emit_stubs(g);
}
static uint32_t emit_operands(struct x64_gen *g, uint32_t level) {
    uint32_t at, marks = g->marks.list.n;
    uint8_t *p = g->b.p;
    for (g->nscratch = SCRATCH_MIN;; g->nscratch = SCRATCH_MAX) {
        g->b.p = p;
        g->marks.list.n = marks;
        set_done(g, level);
        at = start_function(g, 64);
        if (!level)
            x64_keys(g);
        finite_test(g, g->pl->operands[level].input, g->pl->operands[level].ninputs, 13);
        emit_all_shared(g, level);
        if (!g->ran_out || g->nscratch == SCRATCH_MAX || g->b.full)
            break;
    }
    end_function(g);
    return at;
}
static uint32_t emit_group_once(struct x64_gen *g, uint32_t i) {
    const struct rdn_pgroup *gr = &g->pl->groups.v[i];
    uint32_t at = start_function(g, i ? 16 : 64);
    finite_test(g, gr->input, gr->ninputs, 13);          /* before the pins, which take the same registers */
    load_pins(g, gr);
    if (i) {
        emit_sparse(g, gr);
    } else {
        set_done(g, RDN_LEVELS);
        emit_all_shared(g, RDN_LEVELS);
        emit_dense(g, gr);
    }
    drop_pins(g, gr);
    return at;
}
static uint32_t emit_group(struct x64_gen *g, uint32_t i) {
    uint32_t at, marks = g->marks.list.n, low = g->pool_low;
    uint8_t *p = g->b.p;
    g->nscratch = SCRATCH_MIN;
    g->based = !i && g->pl->groups.v[i].nconds >= BASED_MIN;
    for (;;) {
        at = emit_group_once(g, i);
        if (g->b.full || (!(g->based && g->ran_out_gpr) && (!g->ran_out || g->nscratch == SCRATCH_MAX)))
            break;
        if (g->based && g->ran_out_gpr)
            g->based = false;
        else
            g->nscratch = g->nscratch + 2 > SCRATCH_MAX ? SCRATCH_MAX : g->nscratch + 2;
        g->b.p = p;
        g->marks.list.n = marks;
        if (g->based) {                                  /* in order again: rax follows them */
            rdn_pool_forget(&g->pool.words);
            g->pool_low = low;
        }
    }
    end_function(g);
    g->based = false;
    return at;
}

static void write_masks(struct x64_gen *g) {
    const uint64_t masks[4] = {INT64_MAX, 0, 1ull << 63, 0};
    memcpy(g->b.base + g->code_at - MASK_BYTES, masks, MASK_BYTES);
    g->pool_low = g->code_at - MASK_BYTES;
}

bool x64_event(struct rdn_arena *arena, struct rdn_plan *pl, uint8_t *buf, size_t bytes, struct rdn_emitted *ret) {
    struct x64_gen *g = rdn_new(arena, struct x64_gen);
    g->pl = pl;
    g->arena = arena;
    g->code_at = pool_bytes(pl);
    if (bytes < g->code_at + 1024)
        return false;
    g->b = (struct x64_buf){buf, buf + g->code_at, buf + bytes - X_INSN_MAX, false};
    x64_pool_open(&g->pool, arena, pl->nodes.n + 64);
    g->pin = rdn_new_n(arena, uint8_t, pl->nodes.n);
    g->done = rdn_new_n(arena, uint8_t, pl->nodes.n);
    write_masks(g);
    *ret = (struct rdn_emitted){0};
    ret->keys = pl->steps->nquick > 0;
    for (uint32_t level = 0; level < pl->levels; level++)
        if ((!level && ret->keys) || rdn_emit_any_of(pl, level))
            ret->operands[level] = emit_operands(g, level);
    ret->groups = rdn_new_n(arena, uint32_t, pl->groups.n + 1);
    for (uint32_t i = 0; i < pl->groups.n; i++)
        ret->groups[i] = emit_group(g, i);
    ret->low = g->pool_low & ~63u;
    memset(buf + ret->low, 0, g->pool_low - ret->low);
    ret->end = x_pos(&g->b);
    ret->marks = g->marks;
    return !g->b.full;
}
