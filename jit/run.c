/* SPDX-License-Identifier: Apache-2.0
 * run.c: see run.h.
 *
 * Order within an event: OPERANDS (native, when the plan has items) before the first thing that needs one; keys when first
 * used; gathers (gather.c); RULES (native); then interp for every rule whose taint bit is set or that has no native code. A key, a
 * row and an item are made at most once an event.
 *
 * Native code runs with the floating-point mode of RDN_MXCSR, interp inside these functions too; a thread in another mode gets
 * its own back. */
#include <math.h>
#include <string.h>
#include "jit/exec_impl.h"
#include "jit/run_impl.h"

/* ---- opening ---- */
static size_t round64(size_t n) { return (n + 63) & ~(size_t)63; }
static size_t slot_bytes(const struct rdn_unit *u) {
    return round64(offsetof(struct rdn_key_slot, key) + offsetof(struct rdn_key, w) + 8 * ((size_t)u->key_words + 1));
}

int rdn_run_open(struct rdn_frame *f, const struct rdn_unit *u, redan_error *reterr) {
    uint32_t events = u->ir->nevents;
    size_t head = round64(sizeof(struct rdn_run)), ptrs = round64(events * sizeof(struct rdn_block)), keys = slot_bytes(u) * u->max_keys, n;
    n = 64 + head + ptrs + keys;
    for (uint32_t e = 0; e < events; e++)
        n += rdn_block_bytes(u->events[e].plan);
    void *memory = rdn_zalloc(f->mem, n);
    if (!memory)
        return rdn_fail(reterr, NOMEM, "", "frame");
    uint8_t *p = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    struct rdn_run *r = (struct rdn_run *)(void *)p;
    *r = (struct rdn_run){.unit = u, .memory = memory, .bytes = n, .key_bytes = slot_bytes(u)};
    r->blocks = (struct rdn_block *)(void *)(p += head);
    r->keys = p += ptrs;
    p += keys;
    for (uint32_t e = 0; e < events; e++) {
        const struct rdn_plan *pl = u->events[e].plan;
        r->blocks[e] = (struct rdn_block){p, (uint64_t *)(void *)(p + rdn_block_taint(pl)), (const uint64_t *)(const void *)(p + rdn_block_fired(pl))};
        p += rdn_block_bytes(pl);
    }
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
const uint64_t *rdn_run_taint(const struct rdn_frame *f) { return ((const struct rdn_run *)f->x)->taint; }

/* Parameters are always defined, and their decimals have 64 bits. */
void rdn_run_params(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    for (uint32_t e = 0; e < r->unit->ir->nevents; e++) {
        const struct rdn_plan *pl = r->unit->events[e].plan;
        for (uint32_t i = 0; i < pl->params.n; i++) {
            const struct rdn_pnode *n = &pl->nodes.v[pl->params.v[i]];
            rdn_slot_store(r->blocks[e].p, n->slot, n->type, &f->head.params[n->aux]);
        }
    }
}

/* ---- native steps ---- */
/* Native code saw a NaN or an infinity: which input, and who depends on it. */
static void taint_nonfinite(struct rdn_frame *f) {
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
}
void rdn_run_native(struct rdn_frame *f, rdn_native *code) {
    struct rdn_run *r = f->x;
    code(r->block, f->head.row);
    if (*rdn_run_flags(r) & RDN_BLOCK_NONFINITE) {
        taint_nonfinite(f);
        *rdn_run_flags(r) &= ~(uint32_t)RDN_BLOCK_NONFINITE;
    }
}

/* ---- rules ---- */
static void interp_bits(struct rdn_frame *f, uint32_t w, uint64_t bits) {
    const struct rdn_event *ev = &f->head.ir->events[f->head.event];
    for (; bits; bits &= bits - 1) {
        unsigned b = (unsigned)__builtin_ctzll(bits);
        struct rdn_cell c;
        rdn_interp_rule(f, ev->rules[w * 64 + b], &c);
        if (c.cause) {
            f->head.undef[w] |= 1ull << b;
            f->head.any_undef = true;
        } else if (c.i) {
            f->head.fired[w] |= 1ull << b;
        }
    }
}
/* Bits of rules in word w of the taint words; behind them come those of items. */
static uint64_t rule_bits(const struct rdn_plan *pl, uint32_t w) {
    return w + 1 < pl->words || !(pl->nrules % 64) ? UINT64_MAX : (1ull << pl->nrules % 64) - 1;
}
static void early_rules(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    const uint64_t *fired = r->fired, *taint = r->taint;
    if (r->ev->operands)
        rdn_need_items(f);
    rdn_run_fills(f);
    if (r->ev->rules)
        rdn_run_native(f, r->ev->rules);
    if (!(*rdn_run_flags(r) & RDN_BLOCK_TAINT) && !pl->any_early) {
        for (uint32_t w = 0; w < pl->words; w++)
            f->head.fired[w] |= fired[w];
        return;
    }
    for (uint32_t w = 0; w < pl->words; w++) {
        uint64_t open = (taint[w] & rule_bits(pl, w)) & ~(pl->interp[w] | pl->interp[pl->words + w]);
        f->head.fired[w] |= fired[w] & ~open & ~pl->interp[w];
        /* Read by other threads, written by this one. */
        __atomic_store_n(&r->counts.tainted, r->counts.tainted + (unsigned)__builtin_popcountll(open), __ATOMIC_RELAXED);
        interp_bits(f, w, open | pl->interp[w]);
    }
}
static void late_rules(struct rdn_frame *f) {
    const struct rdn_plan *pl = ((struct rdn_run *)f->x)->ev->plan;
    for (uint32_t w = 0; pl->any_late && w < pl->words; w++)
        interp_bits(f, w, pl->interp[pl->words + w]);
}

/* ---- the executor's entries ---- */
void rdn_run_begin(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_block *b = &r->blocks[f->head.event];
    r->gen++;
    r->ev = &r->unit->events[f->head.event];
    r->block = b->p;
    r->taint = b->taint;
    r->fired = b->fired;
    r->items_done = false;
    memcpy(r->block + RDN_BLOCK_NOW, &f->head.now, 8);
    if (*rdn_run_flags(r)) {                                  /* of the last event of this type */
        *rdn_run_flags(r) = 0;
        memset(r->taint, 0, 8 * (size_t)r->ev->plan->dep_words);
    }
    r->fp_bad = !rdn_fpmode_ok(rdn_fpmode_get());
    r->counts.fp_resets += r->fp_bad;
}

void rdn_run_rules(struct rdn_frame *f, enum rdn_phase phase) {
    struct rdn_run *r = f->x;
    uint32_t mode = rdn_fp_enter(r);
    if (!rdn_native_alive(r))
        rdn_exec_interp.rules(f, phase);
    else if (phase == RDN_EARLY)
        early_rules(f);
    else
        late_rules(f);
    rdn_fp_leave(r, mode);
}
