/* SPDX-License-Identifier: Apache-2.0
 * a64_event.c: the native functions of an event type, OPERANDS and one a group, from its plan (a64_gen.h).
 *
 * Layout in the buffer: constants, growing down to .low; then the functions, 64-byte aligned: hot part, ret, stubs. A conditional
 * jump reaches 1 MiB, so a function longer than ISLAND has stubs between its conditions, too. */
#include <string.h>
#include "jit/a64_gen.h"
#include "jit/faults.h"

enum { POOL_SPARE = 64 * 8, ISLAND = 1 << 19 };

static uint32_t pool_bytes(const struct rdn_plan *pl) { return (pl->nodes.n * 8u + POOL_SPARE + 63u) & ~63u; }
size_t a64_event_guess(const struct rdn_plan *pl) { return pool_bytes(pl) + 4096 + (size_t)pl->nodes.n * 64 + (size_t)pl->nrules * 64; }

/* ---- rollback ---- */
struct mark { uint8_t *p; uint32_t jumps, stubs; };
static struct mark mark_at(const struct a64_gen *g) { return (struct mark){g->b.p, g->jumps.n, g->stubs.n}; }
static void fresh(struct a64_gen *g) {
    g->gfree = A64_GPRS;
    g->ffree = A64_FPRS;
    g->taint = g->cold = A64_NONE;
    g->no_cold = g->failed = false;
}
/* Back to a state in which nothing is in work; what failed leaves no trace. */
static bool settle(struct a64_gen *g, struct mark m) {
    bool failed = g->failed;
    if (failed)
        g->b.p = m.p, g->jumps.n = m.jumps, g->stubs.n = m.stubs;
    fresh(g);
    return !failed;
}

/* ---- stubs ---- */
static void or_imm(struct a64_gen *g, struct a64_mem m, uint64_t bits) {
    a_mem(&g->b, A_LDR, A_A0, m);
    if (__builtin_popcountll(bits) == 1) {
        a_orr_bit(&g->b, A_A0, A_A0, (unsigned)__builtin_ctzll(bits));
    } else {
        a_mov_ri(&g->b, A64_TMP, bits);
        a_rrr(&g->b, A_ORR, A_A0, A_A0, A64_TMP);
    }
    a_mem(&g->b, A_STR, A_A0, m);
}
static void raise_flag(struct a64_gen *g, unsigned flag) {
    a_mem(&g->b, A_LDR_W, A_A0, a_at(A64_BLOCK, RDN_BLOCK_FLAGS));
    a_orr_bit(&g->b, A_A0, A_A0, (unsigned)__builtin_ctz(flag));
    a_mem(&g->b, A_STR_W, A_A0, a_at(A64_BLOCK, RDN_BLOCK_FLAGS));
}
static void taint_now(struct a64_gen *g, bool is_set, uint32_t target) {
    struct a64_mem first = a_at(A64_BLOCK, rdn_block_taint(g->pl));
    const uint64_t *set = is_set ? g->pl->deps + (size_t)target * g->pl->dep_words : NULL;
    for (uint32_t w = 0; w < g->pl->dep_words; w++) {
        uint64_t bits = set ? set[w] : target / 64 == w ? 1ull << (target ^ rdn_fault(A64_TAINT_RULE)) % 64 : 0;
        if (bits)
            or_imm(g, a_at(first.base, first.disp + 8 * w), bits);
    }
    raise_flag(g, RDN_BLOCK_TAINT);
}
/* A cold stub whose values need more registers than are free taints instead. */
static void cold_stub(struct a64_gen *g, struct a64_stub s) {
    struct mark m = mark_at(g);
    fresh(g);
    g->target_is_set = s.is_set;
    g->target = s.target;
    g->gfree &= ~(rdn_fault(A64_COLD_LIVE) ? 0 : s.live | 1u << s.dest);
    a64_wide_compare(g, s.node, s.dest);
    if (g->taint != A64_NONE)
        g->stubs.v[g->taint].resume = a_pos(&g->b);
    if (!settle(g, m))
        taint_now(g, s.is_set, s.target);
}
static void land_all(struct a64_gen *g, uint32_t chain, uint32_t here) {
    for (; chain; chain = g->jumps.v[chain - 1].next)
        a_land(&g->b, g->jumps.v[chain - 1].at, here);
}
static void emit_stubs(struct a64_gen *g) {
    for (uint32_t i = 0; i < g->stubs.n; i++) {          /* cold stubs add taint stubs behind themselves */
        struct a64_stub s = g->stubs.v[i];
        uint32_t here = a_pos(&g->b);
        switch (s.kind) {
        case A64_COLD: cold_stub(g, s); break;
        case A64_TAINT: taint_now(g, s.is_set, s.target); break;
        default: raise_flag(g, RDN_BLOCK_NONFINITE);
        }
        a_b_to(&g->b, s.resume);
        land_all(g, s.jumps, here);
    }
    g->stubs.n = g->jumps.n = 0;
    g->since = a_pos(&g->b);
}
/* Between two pieces: what was emitted comes back before the next one begins. */
static void island(struct a64_gen *g) {
    if (!g->stubs.n || a_pos(&g->b) - g->since < ISLAND)
        return;
    uint32_t over = a_b(&g->b);
    emit_stubs(g);
    a_land(&g->b, over, a_pos(&g->b));
}

/* ---- shared values ---- */
/* Computes a node into its slot. What cannot be computed leaves all that depends on it to interp. */
static void emit_shared(struct a64_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = a64_node(g, p);
    struct mark m = mark_at(g);
    bool is_float = n->type == RDN_TY_F64;
    fresh(g);
    g->target_is_set = g->no_cold = true;
    g->target = n->dep;
    struct a64_clause c = a64_clause_begin(g);
    unsigned r = is_float ? a64_f64(g, p) : a64_int(g, p);
    if (n->type == RDN_TY_B1)
        a_and1(&g->b, r, r);
    a_mem(&g->b, is_float ? A_STR_D : A_STR, r, a_at(A64_BLOCK, rdn_block_slot(n->slot)));
    a64_clause_end(g, c, p, 0);
    if (!settle(g, m))
        taint_now(g, true, n->dep);
    g->done[p] = 1;
    island(g);
}
/* OPERANDS computes the early ones of its level, group 0 (level RDN_LEVELS) the others; what comes before is done. */
static void emit_all_shared(struct a64_gen *g, uint32_t level) {
    for (uint32_t i = 0; i < g->pl->shared.n; i++) {
        const struct rdn_pnode *n = a64_node(g, g->pl->shared.v[i]);
        g->done[g->pl->shared.v[i]] = (n->flags & RDN_P_EARLY) && n->level <= level;
    }
    for (uint32_t i = 0; i < g->pl->shared.n; i++) {
        const struct rdn_pnode *n = a64_node(g, g->pl->shared.v[i]);
        if (level < RDN_LEVELS ? rdn_emit_is_of(n, level) : !(n->flags & RDN_P_EARLY))
            emit_shared(g, g->pl->shared.v[i]);
    }
}

/* ---- inputs ---- */
/* The inputs used most get a register each. */
static void load_pins(struct a64_gen *g, const struct rdn_pgroup *gr, bool on) {
    unsigned d = 16, size;
    for (uint32_t i = 0; i < gr->ninputs; i++) {
        const struct rdn_pinput *in = &g->pl->inputs.v[gr->input + i];
        struct a64_mem m;
        bool pinned = on && d < 32 && in->uses > 1 && a64_place(g, in->pid, &m, &size);
        g->pin[in->pid] = (uint8_t)(pinned ? d : 0);
        if (pinned)
            a_mem(&g->b, A_LDR_D, d++, m);
    }
}
/* x - x is 0 for finite x and NaN for others: one sum and one jump for all inputs. */
static void finite_test(struct a64_gen *g, uint32_t input, uint32_t n) {
    struct a64_buf *b = &g->b;
    for (uint32_t i = 0; i + rdn_fault(A64_FINITE_LAST) < n; i++) {
        unsigned x = a64_f64(g, g->pl->inputs.v[input + i].pid), d = i ? 7 : 6;
        a_fff(b, A_FSUB, d, x, x);
        if (i)
            a_fff(b, A_FADD, 6, 6, 7);
        a64_ffree(g, x);
    }
    if (!n)
        return;
    struct a64_stub *s = rdn_push(g->arena, &g->stubs);
    *s = (struct a64_stub){.kind = A64_NONFINITE};
    a_fcmp(b, 6, 6);
    a64_jump(g, A_VS, &s->jumps);
    s->resume = a_pos(b);
}

/* ---- conditions ---- */
/* The bit in a register of its own, A_ZR when there is no clause: it is 1. False: given up. *skip: jumps over what comes next. */
static bool emit_cond(struct a64_gen *g, const struct rdn_pcond *c, unsigned *ret_reg, uint32_t *skip) {
    const rdn_pid *v = g->pl->clauses.v + c->clause;
    struct mark m = mark_at(g);
    fresh(g);
    g->target_is_set = c->dep != RDN_NO_DEP;
    g->target = g->target_is_set ? c->dep : c->bit;
    *skip = 0;
    rdn_mark(g->arena, &g->marks, a_pos(&g->b), g->target_is_set || c->bit >= g->pl->nrules ? RDN_MARK_ALL : c->bit);
    for (uint32_t i = 0; i < c->njumps; i++)
        a64_skip_unless(g, v[i], skip);
    finite_test(g, c->input, c->ninputs);
    *ret_reg = c->nclauses > c->njumps ? a64_all_of(g, v + c->njumps, c->nclauses - c->njumps) : A_ZR;
    if (settle(g, m))
        return true;
    rdn_plan_give_up(g->pl, c);
    return false;
}
/* Each bit of x3 has one condition. */
static void emit_word(struct a64_gen *g, const struct rdn_pcond *c, uint32_t n) {
    unsigned r;
    uint32_t skip;
    a_mov_ri(&g->b, A64_WORD, 0);
    for (uint32_t i = 0; i < n; i++) {
        unsigned bit = c[i].bit % 64;
        if (!emit_cond(g, &c[i], &r, &skip))
            continue;
        if (r == A_ZR)
            a_orr_bit(&g->b, A64_WORD, A64_WORD, bit);
        else
            a_bfi1(&g->b, A64_WORD, r, bit);
        land_all(g, skip, a_pos(&g->b));
        island(g);
    }
}
static struct a64_mem out_word(const struct a64_gen *g, uint32_t w) { return a_at(A64_BLOCK, rdn_block_fired(g->pl) + 8 * w); }

static void emit_dense(struct a64_gen *g, const struct rdn_pgroup *gr) {
    const struct rdn_pcond *c = g->pl->conds.v + gr->cond, *end = c + gr->nconds;
    for (uint32_t w = 0; w < g->pl->out_words; w++) {
        uint32_t n = 0;
        while (c + n < end && c[n].bit / 64 == w)
            n++;
        emit_word(g, c, n);
        a_mem(&g->b, A_STR, A64_WORD, out_word(g, w));
        c += n;
    }
}
static void emit_sparse(struct a64_gen *g, const struct rdn_pgroup *gr) {
    for (uint32_t i = 0; i < gr->nconds; i++) {
        const struct rdn_pcond *c = &g->pl->conds.v[gr->cond + i];
        struct a64_mem out = out_word(g, c->bit / 64);
        unsigned r;
        uint32_t skip;
        if (!emit_cond(g, c, &r, &skip))
            continue;
        if (r == A_ZR) {
            or_imm(g, out, 1ull << c->bit % 64);
        } else {
            a_and1(&g->b, r, r);
            a_mem(&g->b, A_LDR, A_A0, out);
            a_rrr_shift(&g->b, A_ORR, A_A0, A_A0, r, A_LSL, c->bit % 64);
            a_mem(&g->b, A_STR, A_A0, out);
        }
        land_all(g, skip, a_pos(&g->b));
        island(g);
    }
}

/* ---- functions ---- */
/* level: of OPERANDS; RDN_LEVELS: group i. */
static uint32_t emit_function(struct a64_gen *g, const struct rdn_pgroup *gr, uint32_t level, uint32_t i) {
    while (a_pos(&g->b) & 63 && !g->b.full)
        a_word(&g->b, 0);                                /* udf: a trap */
    uint32_t at = a_pos(&g->b);
    g->jumps.n = g->stubs.n = 0;
    g->since = at;
    fresh(g);
    rdn_mark(g->arena, &g->marks, at, RDN_MARK_ALL);
    a_enter(&g->b);
    if (rdn_fault(A64_CALLEE_SAVED))
        a_mov_ri(&g->b, 19, 0);
    load_pins(g, gr, true);
    finite_test(g, gr->input, gr->ninputs);
    if (!i)
        emit_all_shared(g, level);
    if (!i && level == RDN_LEVELS)
        emit_dense(g, gr);
    else
        emit_sparse(g, gr);                              /* OPERANDS has no conditions */
    load_pins(g, gr, false);
    rdn_mark(g->arena, &g->marks, a_pos(&g->b), RDN_MARK_LEAVE);
    a_leave(&g->b);
    rdn_mark(g->arena, &g->marks, a_pos(&g->b), RDN_MARK_ALL);   /* stubs */
    emit_stubs(g);
    return at;
}

bool a64_event(struct rdn_arena *arena, struct rdn_plan *pl, uint8_t *buf, size_t bytes, struct rdn_emitted *ret) {
    struct a64_gen *g = rdn_new(arena, struct a64_gen);
    uint32_t n = pl->groups.n;
    g->code_at = g->pool_low = pool_bytes(pl);
    if (bytes < g->code_at + 1024)
        return false;
    g->pl = pl;
    g->arena = arena;
    g->b = (struct a64_buf){buf, buf + g->code_at, buf + bytes - 4, false};
    rdn_pool_open(&g->pool, arena, pl->nodes.n + 64);
    g->pin = rdn_new_n(arena, uint8_t, pl->nodes.n);
    g->done = rdn_new_n(arena, uint8_t, pl->nodes.n);
    *ret = (struct rdn_emitted){.groups = rdn_new_n(arena, uint32_t, n + 1)};
    for (uint32_t level = 0; level < pl->levels; level++)
        if (rdn_emit_any_of(pl, level))
            ret->operands[level] = emit_function(g, &pl->operands[level], level, 0);
    for (uint32_t i = 0; i < n; i++)
        ret->groups[i] = emit_function(g, &pl->groups.v[i], RDN_LEVELS, i);
    ret->low = g->pool_low & ~63u;
    memset(buf + ret->low, 0, g->pool_low - ret->low);
    ret->end = a_pos(&g->b);
    ret->marks = g->marks;
    return !g->b.full;
}
