/* SPDX-License-Identifier: Apache-2.0
 * run.c: see run.h.
 *
 * Order within an event: OPERANDS (native, when the plan has items) before the first thing that needs one; keys when first
 * used; gathers (gather.c); RULES (native); then interp for every rule whose taint bit is set or that has no native code. A key, a
 * row and an item are made at most once an event. */
#include <math.h>
#include <string.h>
#include "jit/exec_impl.h"
#include "jit/run_impl.h"

/* ---- opening ---- */
static size_t round64(size_t n) { return (n + 63) & ~(size_t)63; }
static void open_keys(uint8_t *block, const struct rdn_steps *s) {
    memcpy(block + RDN_BLOCK_SECRET, &rdn_key_secret_, sizeof rdn_key_secret_);
    for (uint32_t i = 0; i < s->nquick; i++)
        rdn_key_at(block, s->quick[i].at)->words = s->quick[i].words;
}
static size_t preds_bytes(const struct rdn_preds *p) { return p ? round64(rdn_preds_bytes(p)) : 0; }
static size_t event_bytes(const struct rdn_unit_event *ev) {
    return rdn_block_bytes(ev->plan) + round64(ev->plan->nslots) + round64(8 * ((size_t)ev->plan->gathers.n + ev->plan->dep_words)) +
           round64(sizeof(struct rdn_kept_time) * (size_t)ev->plan->gathers.n) + preds_bytes(ev->preds) + preds_bytes(ev->item_preds);
}
static void open_preds(const struct rdn_preds *p, uint8_t **memory, struct rdn_pred_cells *ret) {
    if (p)
        rdn_preds_init(p, *memory, ret);
    *memory += preds_bytes(p);
}
static uint8_t *open_block(const struct rdn_unit_event *ev, uint8_t *p, struct rdn_block *ret) {
    const struct rdn_plan *pl = ev->plan;
    *ret = (struct rdn_block){.p = p, .taint = (uint64_t *)(void *)(p + rdn_block_taint(pl)), .fired = (uint64_t *)(void *)(p + rdn_block_fired(pl))};
    open_keys(p, &ev->steps);
    ret->states = p += rdn_block_bytes(pl);
    ret->late_gen = (uint64_t *)(void *)(p += round64(pl->nslots));
    ret->sure = ret->late_gen + pl->gathers.n;
    p += round64(8 * ((size_t)pl->gathers.n + pl->dep_words));
    ret->times = (struct rdn_kept_time *)(void *)p;
    p += round64(sizeof *ret->times * (size_t)pl->gathers.n);
    open_preds(ev->preds, &p, &ret->rules);
    open_preds(ev->item_preds, &p, &ret->items);
    return p;
}

static void open_quick(const struct rdn_unit_event *ev, const struct rdn_block *b, struct rdn_quick *ret) {
    const struct rdn_plan *pl = ev->plan;
    *ret = (struct rdn_quick){.block = b->p, .fired = b->fired, .sparse = ev->sparse};
    ret->all = ret->code = !pl->items.n && pl->gathers.n == ev->nlate && !pl->windows.n && !pl->any_early && !pl->any_guard ? ev->rules : NULL;
}

int rdn_run_open(struct rdn_frame *f, const struct rdn_unit *u, redan_error *reterr) {
    uint32_t events = u->ir->nevents;
    size_t head = round64(sizeof(struct rdn_run)), ptrs = round64(2 * events * sizeof(struct rdn_block)), n;
    size_t quick = round64(events * sizeof(struct rdn_quick)), ask = round64(2 * 8 * (size_t)f->words);
    n = 64 + head + ptrs + quick + ask;
    for (uint32_t e = 0; e < events; e++)
        n += event_bytes(&u->events[e]) + (u->events[e].rest ? event_bytes(u->events[e].rest) : 0);
    void *memory = rdn_zalloc(f->mem, n);
    if (!memory)
        return rdn_fail(reterr, NOMEM, "", "frame");
    uint8_t *p = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    struct rdn_run *r = (struct rdn_run *)(void *)p;
    *r = (struct rdn_run){.unit = u, .alive = u->alive, .memory = memory, .bytes = n};
    r->blocks = (struct rdn_block *)(void *)(p += head);
    r->rests = r->blocks + events;
    r->quick = (struct rdn_quick *)(void *)(p += ptrs);
    r->ask = (uint64_t *)(void *)(p += quick);
    r->held = r->ask + f->words;
    p += ask;
    for (uint32_t e = 0; e < events; e++) {
        p = open_block(&u->events[e], p, &r->blocks[e]);
        open_quick(&u->events[e], &r->blocks[e], &r->quick[e]);
    }
    for (uint32_t e = 0; e < events; e++)
        p = u->events[e].rest ? open_block(u->events[e].rest, p, &r->rests[e]) : p;
    f->x = r;
    rdn_run_params(f);
    return 0;
}
void rdn_run_close(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    if (r)
        rdn_free(f->mem, r->memory, r->bytes);
    f->x = NULL;
}
uint64_t rdn_run_cold_rules(const struct rdn_frame *f) { return __atomic_load_n(&((const struct rdn_run *)f->x)->counts.tainted, __ATOMIC_RELAXED); }
void rdn_run_counts(const struct rdn_frame *f, struct rdn_run_counts *ret) { *ret = ((const struct rdn_run *)f->x)->counts; }
const uint64_t *rdn_run_taint(const struct rdn_frame *f) { return ((const struct rdn_run *)f->x)->blocks[f->head.event].taint; }

/* Parameters are always defined, and their decimals have 64 bits. */
static void put_params(const struct rdn_frame *f, const struct rdn_plan *pl, uint8_t *block) {
    for (uint32_t i = 0; i < pl->params.n; i++) {
        const struct rdn_pnode *n = &pl->nodes.v[pl->params.v[i]];
        rdn_slot_store(block, n->slot, n->type, &f->head.params[n->aux]);
    }
}
void rdn_run_params(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    for (uint32_t e = 0; e < r->unit->ir->nevents; e++) {
        const struct rdn_unit_event *ev = &r->unit->events[e];
        put_params(f, ev->plan, r->blocks[e].p);
        if (r->rests[e].p)                               /* of this frame */
            put_params(f, ev->rest->plan, r->rests[e].p);
    }
}

/* ---- native steps ---- */
/* Native code saw a NaN or an infinity: which input, and who depends on it. */
void rdn_run_nonfinite(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    for (uint32_t i = 0; i < pl->finite.n; i++) {
        const struct rdn_pnode *n = &pl->nodes.v[pl->finite.v[i]];
        struct rdn_cell c;
        if (n->flags & RDN_P_SLOT)
            c.i = *rdn_slot_at(r->block, n->slot);
        else if (!rdn_load_field(f, n->aux, &c))
            continue;
        if (!isfinite(c.f))
            rdn_taint_set(r, n->dep);
    }
    *rdn_run_flags(r) &= ~(uint32_t)RDN_BLOCK_NONFINITE;
}
static inline void after_native(struct rdn_frame *f) {
    if (__builtin_expect(*rdn_run_flags(f->x) & RDN_BLOCK_NONFINITE, 0))
        rdn_run_nonfinite(f);
}

/* ---- rules ---- */
/* Each rule of `bits` through interp; cold: native code gave them back. */
static __attribute__((noinline)) void interp_some(struct rdn_frame *f, uint32_t w, uint64_t bits, bool cold) {
    const struct rdn_event *ev = &f->head.ir->events[f->head.event];
    struct rdn_run_counts *counts = &((struct rdn_run *)f->x)->counts;
    for (; bits; bits &= bits - 1) {
        unsigned b = (unsigned)__builtin_ctzll(bits);
        struct rdn_cell c;
        rdn_interp_rule(f, ev->rules[w * 64 + b], &c);
        counts->cold[c.cause] += cold;
        if (c.cause) {
            f->head.undef[w] |= 1ull << b;
            f->head.any_undef = true;
        } else if (c.i) {
            f->head.fired[w] |= 1ull << b;
        }
    }
}
static inline void interp_bits(struct rdn_frame *f, uint32_t w, uint64_t bits, bool cold) {
    if (bits)
        interp_some(f, w, bits, cold);
}
/* Read by other threads, written by this one. */
static void count_tainted(struct rdn_run *r, uint64_t bits) {
    __atomic_store_n(&r->counts.tainted, r->counts.tainted + (unsigned)__builtin_popcountll(bits), __ATOMIC_RELAXED);
}
/* Bits of rules in word w of the taint words; behind them come those of items. */
static uint64_t rule_bits(const struct rdn_plan *pl, uint32_t w) {
    return w + 1 < pl->words || !(pl->nrules % 64) ? UINT64_MAX : (1ull << pl->nrules % 64) - 1;
}
/* Rules of word w that interp does not run anyway. */
static uint64_t own_rules(const struct rdn_plan *pl, uint32_t w) { return rule_bits(pl, w) & ~(pl->interp[w] | pl->interp[pl->words + w]); }

/* One pass of the predicates, for all rules or for the tainted ones. What it finds undefined is; what it cannot say is interp's. */
static void rules_by_table(struct rdn_frame *f, bool all) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    const uint8_t *states = *rdn_run_flags(r) & RDN_BLOCK_TAINT ? r->at->states : NULL;
    memset(r->ask, 0, 8 * (size_t)pl->words);
    rdn_preds_run(r->ev->preds, &r->at->rules, r->block, f->head.row, states, r->ask);
    for (uint32_t w = 0; w < pl->words; w++) {
        uint64_t own = own_rules(pl, w), late = pl->guard[pl->words + w], open = all ? own : own & r->taint[w] & ~late, yes, undef, again;
        rdn_preds_word(r->ev->preds, &r->at->rules, w, &yes, &undef);
        undef &= open;
        /* That the clauses of a tainted guarded rule hold here is not yet that the rule does: interp makes its call. */
        again = ((undef & (r->ask[w] | pl->guard[w])) | (yes & open & pl->guard[w] & r->taint[w])) & ~late;
        yes &= ~again;
        r->taint[w] |= undef & late;                     /* asked in their turn */
        if (undef & late)
            *rdn_run_flags(r) |= RDN_BLOCK_TAINT;        /* of this event alone */
        undef &= ~(again | late);
        r->fired[w] = (yes & open) | (r->fired[w] & own & ~open);
        f->head.undef[w] |= undef;
        f->head.any_undef |= undef != 0;
        r->counts.undef += (unsigned)__builtin_popcountll(undef);
        count_tainted(r, all ? again : open);
        interp_bits(f, w, again, true);
        interp_bits(f, w, pl->interp[w], false);
    }
}
/* Rules that are undefined whatever else they read need nobody else. True: so many tainted ones are left that a pass over all is
 * cheaper than interp for each. */
static bool take_sure(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    uint32_t n = 0, most = pl->nrules / 20 > 8 ? pl->nrules / 20 : 8;
    for (uint32_t w = 0; w < pl->words; w++) {
        uint64_t own = r->taint[w] ? r->taint[w] & own_rules(pl, w) : 0, sure = r->at->sure[w] & own;
        if (sure) {
            r->taint[w] &= ~sure;
            r->fired[w] &= ~sure;
            f->head.undef[w] |= sure;
            f->head.any_undef = true;
            r->counts.undef += (unsigned)__builtin_popcountll(sure);
        }
        own &= ~(sure | pl->guard[pl->words + w]);
        if (own)
            n += (unsigned)__builtin_popcountll(own);
    }
    return r->ev->preds && n > most;
}
static __attribute__((noinline)) void drain(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    if (take_sure(f)) {
        rdn_run_late(f, r->ev->late, r->ev->nlate);      /* predicates ask every rule */
        r->counts.passes++;
        rules_by_table(f, false);
        return;
    }
    for (uint32_t w = 0; w < pl->words; w++) {
        uint64_t own = own_rules(pl, w), open = r->taint[w] & own & ~pl->guard[pl->words + w];
        r->fired[w] &= own & ~open;
        if (open) {
            count_tainted(r, open);
            interp_bits(f, w, open, true);
        }
        interp_bits(f, w, pl->interp[w], false);
    }
}
/* Rules whose clauses in native code hold: interp answers the others of early ones, late ones wait for the score. */
static __attribute__((noinline)) void ask_guarded(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    r->held_gen = f->head.seq;
    for (uint32_t w = 0; w < pl->words; w++) {
        uint64_t early = r->fired[w] & pl->guard[w] & ~r->taint[w], late = pl->guard[pl->words + w];
        r->held[w] = r->fired[w] & late & ~r->taint[w];
        r->fired[w] &= ~(early | late);
        interp_bits(f, w, early, false);
    }
}
static void early_rules(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    f->head.fired = r->fired;
    rdn_run_fills(f);
    if (!r->ev->rules && r->ev->preds) {
        rdn_run_late(f, r->ev->late, r->ev->nlate);      /* predicates ask every rule */
        rules_by_table(f, true);
        if (pl->any_guard)
            ask_guarded(f);
        return;
    }
    if (r->ev->rules) {
        r->ev->rules(r->block, f->head.row);
        if (r->ev->sparse)
            rdn_run_sparse(f);
        after_native(f);
    } else {
        memset(r->fired, 0, 8 * (size_t)pl->words);
    }
    if ((*rdn_run_flags(r) & RDN_BLOCK_TAINT) || pl->any_early)
        drain(f);
    if (pl->any_guard)
        ask_guarded(f);
}
static bool score_holds(const struct rdn_frame *f, const struct rdn_pscore *s) {
    int64_t k = s->is_param ? f->head.params[s->param].i : s->k;
    switch (s->op) {
    case RDN_OP_LT: return f->head.score < k;
    case RDN_OP_LE: return f->head.score <= k;
    case RDN_OP_GT: return f->head.score > k;
    default: return f->head.score >= k;
    }
}
static void late_guarded(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    bool known = r->held_gen == f->head.seq;             /* else somebody else answered the early rules */
    for (uint32_t i = 0; known && i < pl->scores.n; i++)
        if (!score_holds(f, &pl->scores.v[i]))
            r->held[pl->scores.v[i].rule / 64] &= ~(1ull << pl->scores.v[i].rule % 64);
    for (uint32_t w = 0; w < pl->words; w++) {
        uint64_t all = pl->guard[pl->words + w], held = known ? r->held[w] : 0;
        f->head.fired[w] |= held & pl->scored[w];
        interp_bits(f, w, held & ~pl->scored[w], false);
        interp_bits(f, w, known ? r->taint[w] & all : all, true);
    }
}
static void late_rules(struct rdn_frame *f) {
    const struct rdn_plan *pl = ((struct rdn_run *)f->x)->ev->plan;
    for (uint32_t w = 0; pl->any_late && w < pl->words; w++)
        interp_bits(f, w, pl->interp[pl->words + w], false);
    if (pl->any_guard)
        late_guarded(f);
}

/* ---- the executor's entries ---- */
static __attribute__((noinline)) void clear_taint(struct rdn_run *r) {
    const struct rdn_plan *pl = r->ev->plan;
    *rdn_run_flags(r) = 0;
    for (uint32_t w = 0; w < pl->dep_words; w++)
        r->taint[w] = r->at->sure[w] = 0;
    memset(r->at->states, 0, pl->nslots);
}
static inline void turn_to(struct rdn_frame *f, const struct rdn_unit_event *ev, struct rdn_block *b) {
    struct rdn_run *r = f->x;
    r->gen = f->head.seq;
    r->at = b;
    r->ev = ev;
    r->block = b->p;
    r->taint = b->taint;
    r->fired = b->fired;
    r->inputs_done = r->prevs_done = false;
    memcpy(r->block + RDN_BLOCK_NOW, &f->head.now, 8);
}
static void turn_to_whole(struct rdn_frame *f) {
    const struct rdn_run *r = f->x;
    turn_to(f, &r->unit->events[f->head.event], &r->blocks[f->head.event]);
}
/* The event is looked at when something is asked: one that is a native function and nothing else needs none of this. */
void rdn_run_start(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_unit_event *ev = &r->unit->events[f->head.event];
    bool rest = f->head.known && ev->rest;
    turn_to(f, rest ? ev->rest : ev, &(rest ? r->rests : r->blocks)[f->head.event]);
    if (*rdn_run_flags(r))                               /* of the last event of this type */
        clear_taint(r);
}

static inline const uint32_t *quick_flags(const struct rdn_quick *q) { return (const uint32_t *)(const void *)(q->block + RDN_BLOCK_FLAGS); }
static __attribute__((noinline)) void all_rules(struct rdn_frame *f, enum rdn_phase phase) {
    struct rdn_run *r = f->x;
    struct rdn_quick *q = &r->quick[f->head.event];
    rdn_run_need_start(f);
    if (!rdn_native_alive(r)) {
        if (phase == RDN_EARLY)
            rdn_frame_clear_fired(f);
        rdn_exec_interp.rules(f, phase);
    } else if (phase == RDN_EARLY) {
        early_rules(f);
    } else {
        late_rules(f);
    }
    q->code = *quick_flags(q) ? NULL : q->all;
}
void rdn_run_rest(struct rdn_frame *f) {
    if (((struct rdn_run *)f->x)->unit->events[f->head.event].rest)
        all_rules(f, RDN_EARLY);
    else
        rdn_frame_clear_fired(f);
}
/* The native code left flags. */
static __attribute__((noinline)) void not_quick(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    if (r->gen != f->head.seq)
        turn_to_whole(f);
    after_native(f);
    drain(f);
    r->quick[f->head.event].code = NULL;                 /* until the flags are cleared */
}
static __attribute__((noinline)) void quick_sparse(struct rdn_frame *f) {
    turn_to_whole(f);
    rdn_run_sparse(f);
}
void rdn_run_rules(struct rdn_frame *f, enum rdn_phase phase) {
    struct rdn_run *r = f->x;
    const struct rdn_quick *q = &r->quick[f->head.event];
    if (__builtin_expect(phase != RDN_EARLY || !q->code || !rdn_native_alive(r), 0)) {
        all_rules(f, phase);
        return;
    }
    f->head.fired = q->fired;
    memcpy(q->block + RDN_BLOCK_NOW, &f->head.now, 8);
    q->code(q->block, f->head.row);
    if (q->sparse)
        quick_sparse(f);
    if (__builtin_expect(*quick_flags(q), 0))
        not_quick(f);
}
