/* SPDX-License-Identifier: Apache-2.0
 * x64_event.c: the two native functions of an event type, OPERANDS and RULES, from its plan (x64_gen.h).
 *
 * Layout in the buffer: constants, growing down to .low; the two sign masks; then the functions, 64-byte aligned: hot part, ret,
 * stubs, int3. One pass; a function is emitted again with more scratch registers when some rule ran out of them. */
#include "jit/x64_gen.h"

enum { POOL_SPARE = 64 * 8, MASK_BYTES = 32, SCRATCH_MIN = 3, SCRATCH_MAX = 8 };

static uint32_t pool_bytes(const struct rdn_plan *pl) { return ((pl->nodes.n * 8u + POOL_SPARE + MASK_BYTES) + 63u) & ~63u; }
size_t x64_event_guess(const struct rdn_plan *pl) { return pool_bytes(pl) + 4096 + (size_t)pl->nodes.n * 48 + (size_t)pl->nrules * 64; }

/* ---- rollback ---- */
struct mark { uint8_t *p; uint32_t jumps, stubs; };
static struct mark mark_at(const struct x64_gen *g) { return (struct mark){g->b.p, g->jumps.n, g->stubs.n}; }
static void all_free(struct x64_gen *g) {
    g->gfree = X64_GPRS;
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
        x_bts_mi(&g->b, taint_word(g, target / 64), target % 64);
    } else {
        const uint64_t *set = g->pl->deps + (size_t)target * g->pl->dep_words;
        for (uint32_t w = 0; w < g->pl->dep_words; w++)
            for (uint64_t v = set[w]; v; v &= v - 1) {
                if (__builtin_popcountll(v) > 3) {       /* three bts are as long as a load and an or; rdx is kept in a spill word */
                    x_mov_mr(&g->b, x_at(X_RDI, RDN_BLOCK_SPILL), X_RDX);
                    x_mov_ri(&g->b, X_RDX, (int64_t)v);
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
static void emit_all_shared(struct x64_gen *g, bool early) {
    for (uint32_t i = 0; i < g->pl->shared.n; i++) {
        rdn_pid p = g->pl->shared.v[i];
        bool is_early = x64_node(g, p)->flags & RDN_P_EARLY;
        if (is_early == early)
            emit_shared(g, p);
        else if (is_early)
            g->done[p] = 1;
    }
}

/* ---- the finite test ---- */
/* Is the input read below one of the bits [from, to)? */
static bool dep_in(const struct rdn_plan *pl, rdn_pid p, uint32_t from, uint32_t to) {
    const uint64_t *set = pl->deps + (size_t)pl->nodes.v[p].dep * pl->dep_words;
    for (uint32_t b = from; b < to; b++)
        if (set[b / 64] >> b % 64 & 1)
            return true;
        else if (!set[b / 64])
            b |= 63;
    return false;
}
/* x - x is 0 for finite x and NaN for others: one sum and one jump for all inputs. */
static void finite_test(struct x64_gen *g, uint32_t from, uint32_t to) {
    struct x64_buf *b = &g->b;
    bool first = true;
    for (uint32_t i = 0; i < g->pl->finite.n; i++) {
        rdn_pid p = g->pl->finite.v[i];
        if (!dep_in(g->pl, p, from, to))
            continue;
        unsigned x = g->pin[p], d = first ? 0 : 1;
        struct x64_mem m;
        unsigned size;
        if (!x && x64_place(g, p, &m, &size))
            x_vmovsd_rm(b, x = d, m);
        x_varith_rr(b, X_VSUB, d, x, x);
        if (!first)
            x_varith_rr(b, X_VADD, 0, 0, 1);
        first = false;
    }
    if (first)
        return;
    struct x64_stub *s = rdn_push(g->arena, &g->stubs);
    *s = (struct x64_stub){.kind = X64_NONFINITE};
    x_vucomisd_rr(b, 0, 0);
    x64_jump_stub(g, X_P, g->stubs.n - 1);
    s->resume = x_pos(b);
}

/* ---- pinned values ---- */
/* The f64 inputs used most get a register each. */
static void choose_pins(struct x64_gen *g) {
    memset(g->pin, 0, g->pl->nodes.n);
    for (unsigned x = g->nscratch; x < 16; x++) {
        rdn_pid best = 0;
        for (uint32_t i = 0; i < g->pl->finite.n; i++) {
            rdn_pid p = g->pl->finite.v[i];
            if (!g->pin[p] && dep_in(g->pl, p, 0, g->pl->nrules) && (!best || x64_node(g, p)->uses > x64_node(g, best)->uses))
                best = p;
        }
        if (!best)
            return;
        g->pin[best] = (uint8_t)x;
    }
}
static void load_pins(struct x64_gen *g) {
    for (uint32_t i = 0; i < g->pl->finite.n; i++) {
        rdn_pid p = g->pl->finite.v[i];
        struct x64_mem m;
        unsigned size;
        if (g->pin[p] && x64_place(g, p, &m, &size))
            x_vmovsd_rm(&g->b, g->pin[p], m);
    }
}

/* ---- rules ---- */
static bool native(const struct x64_gen *g, uint32_t i) { return g->pl->rules[i].how != RDN_RULE_INTERP; }

/* The rule's bit in a register of its own; false: left to interp. A branch rule's jump over everything else goes to *skip. */
static bool emit_rule(struct x64_gen *g, uint32_t i, unsigned *ret_reg, uint32_t *skip) {
    const struct rdn_prule *r = &g->pl->rules[i];
    struct mark m = mark_at(g);
    g->target_is_set = false;
    g->target = i;
    *skip = 0;
    if (r->how == RDN_RULE_BRANCH) {
        *skip = x64_branch_unless(g, r->first);
        *ret_reg = x64_and_except(g, r->root, r->first);
    } else {
        *ret_reg = x64_bool(g, r->root);
    }
    if (!roll_back(g, m))
        return true;
    if (!g->ran_out || g->nscratch >= SCRATCH_MAX) {     /* else the whole function is emitted again */
        g->pl->rules[i].how = RDN_RULE_INTERP;
        g->pl->interp[i / 64] |= 1ull << i % 64;
        g->pl->any_early = true;
    }
    return false;
}

/* Dense: the last rule first, each shifting the word by one. */
static void flat_word(struct x64_gen *g, uint32_t from, uint32_t to) {
    unsigned r;
    uint32_t skip;
    bool any = false;
    for (uint32_t i = to; i-- > from;) {
        if (native(g, i) && emit_rule(g, i, &r, &skip))
            x_lea2(&g->b, X_RDX, r, X_RDX), any = true;
        else if (any)
            x_alu_rr(&g->b, X_ADD, X_RDX, X_RDX);
    }
}
static void mixed_word(struct x64_gen *g, uint32_t from, uint32_t to) {
    unsigned r;
    uint32_t skip;
    for (uint32_t i = from; i < to; i++) {
        if (!native(g, i) || !emit_rule(g, i, &r, &skip))
            continue;
        if (i > from)
            x_shl(&g->b, r, i - from);
        x_alu_rr(&g->b, X_OR, X_RDX, r);
        if (skip)
            x_land(&g->b, skip, x_pos(&g->b));
    }
}
static void emit_words(struct x64_gen *g) {
    const struct rdn_plan *pl = g->pl;
    for (uint32_t w = 0; w < pl->words; w++) {
        uint32_t from = w * 64, to = from + 64 < pl->nrules ? from + 64 : pl->nrules;
        unsigned flat = 0, branch = 0;
        for (uint32_t i = from; i < to; i++) {
            flat += pl->rules[i].how == RDN_RULE_FLAT;
            branch += pl->rules[i].how == RDN_RULE_BRANCH;
        }
        if (!flat && !branch)
            continue;
        x_alu32_rr(&g->b, X_XOR, X_RDX, X_RDX);
        if (branch)
            mixed_word(g, from, to);
        else
            flat_word(g, from, to);
        x_mov_mr(&g->b, x_at(X_RDI, (int32_t)(rdn_block_fired(pl) + 8 * w)), X_RDX);
    }
}

/* ---- functions ---- */
static uint32_t start_function(struct x64_gen *g) {
    while (x_pos(&g->b) & 63 && !g->b.full) {
        x_start(&g->b);
        x_b(&g->b, 0xcc);
    }
    g->jumps.n = g->stubs.n = 0;
    g->ran_out = false;
    all_free(g);
    uint32_t at = x_pos(&g->b);
    x_enter(&g->b);
    /* Behind a taint a mask may be what the register held before, and its upper half would be a second bit. */
    for (unsigned x = 0; x < g->nscratch; x++)
        x_vbits_rr(&g->b, X_VXOR, x, x, x);
    return at;
}
static void end_function(struct x64_gen *g) {
    x_leave(&g->b);
    emit_stubs(g);
}
static uint32_t emit_operands(struct x64_gen *g) {
    uint32_t at;
    uint8_t *p = g->b.p;
    for (g->nscratch = SCRATCH_MIN;; g->nscratch = SCRATCH_MAX) {
        g->b.p = p;
        memset(g->done, 0, g->pl->nodes.n);
        memset(g->pin, 0, g->pl->nodes.n);
        at = start_function(g);
        finite_test(g, g->pl->nrules, g->pl->bits);
        emit_all_shared(g, true);
        if (!g->ran_out || g->nscratch == SCRATCH_MAX || g->b.full)
            break;
    }
    end_function(g);
    return at;
}
static uint32_t emit_rules(struct x64_gen *g) {
    uint32_t at;
    uint8_t *p = g->b.p;
    for (g->nscratch = SCRATCH_MIN;; g->nscratch = g->nscratch + 2 > SCRATCH_MAX ? SCRATCH_MAX : g->nscratch + 2) {
        g->b.p = p;
        memset(g->done, 0, g->pl->nodes.n);
        choose_pins(g);
        at = start_function(g);
        load_pins(g);
        finite_test(g, 0, g->pl->nrules);
        emit_all_shared(g, false);
        emit_words(g);
        if (!g->ran_out || g->nscratch == SCRATCH_MAX || g->b.full)
            break;
    }
    end_function(g);
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
    if (pl->items.n)
        ret->operands = emit_operands(g);
    if (pl->nnative)
        ret->rules = emit_rules(g);
    ret->low = g->pool_low & ~63u;
    ret->end = x_pos(&g->b);
    return !g->b.full;
}
