/* SPDX-License-Identifier: Apache-2.0
 * frame.c: a lane's working memory for one program, and the phases of an event. */
#include "jit/exec_impl.h"
#include <string.h>

#define NO_EVENT UINT32_MAX

static uint32_t words_of(const struct rdn_ir *ir) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < ir->nevents; i++)
        if ((ir->events[i].nrules + 63) / 64 > most)
            most = (ir->events[i].nrules + 63) / 64;
    return most;
}

int rdn_frame_open(const struct rdn_program *p, const struct rdn_helpers *helpers, void *lane, const struct rdn_cell *params,
                   const struct rdn_mem *mem, struct rdn_frame **ret, redan_error *reterr) {
    struct rdn_frame *f = rdn_zalloc(mem, sizeof *f);
    if (!f)
        return rdn_fail(reterr, NOMEM, "", "frame");
    f->prog = p;
    f->impl = p->impl;
    f->mem = mem;
    f->helpers = *helpers;
    f->lane = lane;
    f->words = words_of(p->ir);
    f->head.ir = p->ir;
    f->head.params = params;
    f->head.event = NO_EVENT;
    f->head.begin = p->impl->begin;
    f->head.rules = p->impl->rules;
    f->head.puts = p->impl->puts;
    f->bits = rdn_zalloc(mem, 2 * f->words * sizeof *f->bits);
    f->prevs = rdn_zalloc(mem, (p->ir->nwindows + 1) * sizeof *f->prevs);
    int rc = f->bits && f->prevs ? 0 : rdn_fail(reterr, NOMEM, "", "frame");
    if (!rc) {
        f->head.fired = f->bits;
        f->head.undef = f->bits + f->words;
        rc = rdn_interp_frame_open(f, reterr);
    }
    if (!rc && p->impl->frame_open)
        rc = p->impl->frame_open(f, reterr);
    if (rc) {
        rdn_frame_close(f);
        return rc;
    }
    *ret = f;
    return 0;
}

void rdn_frame_close(struct rdn_frame *f) {
    if (!f)
        return;
    if (f->impl->frame_close)
        f->impl->frame_close(f);
    rdn_interp_frame_close(f);
    rdn_free(f->mem, f->bits, 2 * f->words * sizeof *f->bits);
    rdn_free(f->mem, f->prevs, (f->prog->ir->nwindows + 1) * sizeof *f->prevs);
    rdn_free(f->mem, f, sizeof *f);
}

uint64_t rdn_frame_cold_rules(const struct rdn_frame *f) { return f->impl->cold_rules ? f->impl->cold_rules(f) : 0; }

void rdn_frame_params_changed(struct rdn_frame *f) {
    if (f->impl->params_changed)
        f->impl->params_changed(f);
}

static void clear(struct rdn_frame *f, uint64_t *bits) {
    for (uint32_t w = 0; w < f->words; w++)
        bits[w] = 0;
}
void rdn_frame_clear_undef(struct rdn_frame *f) {
    clear(f, f->head.undef);
    f->head.any_undef = false;
}

void rdn_frame_clear_fired(struct rdn_frame *f) {
    f->head.fired = f->bits;
    clear(f, f->bits);
}

const uint64_t *rdn_exec_batch_rules(const struct rdn_program *p, uint32_t event) {
    return p->batches ? p->batches->rules(p, event) : NULL;
}

void rdn_exec_batch(struct rdn_frame *f, const struct rdn_batch *b) {
    memset(b->mark, 0, b->n);
    f->prog->batches->run(f, b);
}

/* Bits of rules outside batch_rules are nobody's: an executor may leave anything there. */
void rdn_frame_take_known(struct rdn_frame *f) {
    const uint64_t *mask = f->prog->batches->rules(f->prog, f->head.event), *fired = f->head.known;
    f->impl->rules_rest(f);
    f->head.known = NULL;
    for (uint32_t w = 0; w * 64 < f->head.ir->events[f->head.event].nrules; w++)
        f->head.fired[w] |= fired[w] & mask[w];
}

void rdn_exec_begin_none(struct rdn_frame *f, int64_t now, int64_t ts) {
    f->head.seq++;
    f->head.event = NO_EVENT;
    f->head.row = NULL;
    f->head.now = now;
    f->head.ts = ts;
    f->head.score = 0;
    f->head.known = NULL;
    if (f->head.any_undef)
        rdn_frame_clear_undef(f);
}

enum rdn_enter rdn_exec_window(struct rdn_frame *f, uint32_t window, struct rdn_winput *ret) { return f->impl->window(f, window, ret); }
bool rdn_exec_prev(const struct rdn_frame *f, uint32_t window, int64_t *ret) {
    *ret = f->prevs[window].word;
    return f->prevs[window].seq == f->head.seq;
}
void rdn_exec_value(struct rdn_frame *f, rdn_id id, struct rdn_cell *ret) { rdn_interp_value(f, id, ret); }
void rdn_exec_cause(struct rdn_frame *f, uint32_t rule, struct rdn_cell *ret) { rdn_interp_rule(f, rule, ret); }
