/* SPDX-License-Identifier: Apache-2.0
 * native.c: see native.h. */
#include "jit/native.h"
#include "jit/jit.h"
#include "jit/selfcheck.h"

static int open_unit(struct rdn_program *p, redan_error *reterr) {
    struct rdn_unit *u;
    int rc = rdn_unit_open(p->jit, p->ir, p->impl->emitter, p->sampled, p->mem, &u, reterr);
    if (rc)
        return rc == REDAN_E_SYS ? REDAN_E_NOSUP : rc;
    p->x = u;
    p->info.code_bytes = (uint32_t)u->code.bytes;
    p->info.plan_us = u->plan_us;
    p->info.emit_us = u->emit_us;
    p->must_sync = u->code.must_sync;
    return 0;
}
/* Code that took less than a millisecond to make gets as much less of the time. */
static uint32_t check_us(const struct rdn_program *p) {
    uint64_t us = rdn_jit_selfcheck_us(p->jit), made = p->info.plan_us + p->info.emit_us;
    return (uint32_t)(us && made < 1000 ? us * made / 1000 + 1 : us);
}
static int counted(struct rdn_program *p, int rc) {
    if (rc == REDAN_E_NOSUP)
        rdn_jit_selfcheck_failed(p->jit);
    return rc;
}
static int check(struct rdn_program *p, redan_error *reterr) { return counted(p, rdn_selfcheck(p, check_us(p), reterr)); }
static int check_batches(struct rdn_program *p, redan_error *reterr) {
    return rdn_jit_selfcheck_us(p->jit) ? counted(p, rdn_selfcheck_batches(p, reterr)) : 0;
}
/* As jit.batch says. */
static const struct rdn_batch_impl *chosen(const struct rdn_program *p) {
    switch (rdn_jit_batch(p->jit)) {
    case RDN_JIT_BATCH_OFF: return NULL;
    case RDN_JIT_BATCH_TABLE: return &rdn_batch_table;
    case RDN_JIT_BATCH_X64V:
#if defined(__x86_64__)
        return &rdn_batch_x64v;
#endif
    case RDN_JIT_BATCH_AUTO: break;
    }
    return p->impl->batches;
}
int rdn_native_batch_available(const struct rdn_jit *j, redan_error *reterr) {
    if (rdn_jit_batch(j) != RDN_JIT_BATCH_X64V)
        return 0;
#if defined(__x86_64__)
    return rdn_batch_x64v.available(reterr);
#else
    return rdn_fail(reterr, NOSUP, "R2106", "built without x64v");
#endif
}
static void close_batches(struct rdn_program *p) {
    struct rdn_unit *u = p->x;
    if (p->batches)
        p->batches->close(p);
    p->batches = NULL;
    for (uint32_t e = 0; p->rest && e < p->ir->nevents; e++)
        u->events[e].rest = NULL;
    rdn_unit_close(p->rest);
    p->rest = NULL;
}
static int build_batches(struct rdn_program *p, redan_error *reterr) {
    p->asked_batches = true;
    p->batches = chosen(p);
    return p->batches ? p->batches->build(p, reterr) : 0;
}
/* Code for batches that nobody asked for by name is no reason to judge single events slower. */
static int batches_if_they_fit(struct rdn_program *p, redan_error *reterr) {
    uint32_t bytes = p->info.code_bytes;
    int rc = build_batches(p, reterr);
    if (!rc || rc == REDAN_E_NOMEM || rdn_jit_batch(p->jit) != RDN_JIT_BATCH_AUTO)
        return rc;
    close_batches(p);
    p->info.batch = NULL;
    p->info.code_bytes = bytes;
    return 0;
}
int rdn_native_build(struct rdn_program *p, redan_error *reterr) {
    int rc = open_unit(p, reterr);
    rc = rc || !rdn_jit_wants_batches(p->jit) ? rc : batches_if_they_fit(p, reterr);
    return rc ? rc : check(p, reterr);
}
int rdn_native_batches(struct rdn_program *p, redan_error *reterr) {
    uint32_t bytes = p->info.code_bytes;
    int rc = build_batches(p, reterr);
    rc = rc || !p->batches ? rc : check_batches(p, reterr);
    if (rc) {
        close_batches(p);
        p->info.batch = NULL;
        p->info.code_bytes = bytes;
    }
    return rc;
}
void rdn_native_close(struct rdn_program *p) {
    close_batches(p);
    rdn_unit_close(p->x);
    p->x = NULL;
}
int rdn_native_frame_open(struct rdn_frame *f, redan_error *reterr) {
    int rc = rdn_run_open(f, f->prog->x, reterr);
    return rc || !f->prog->batches ? rc : f->prog->batches->frame_open(f, reterr);
}
void rdn_native_frame_close(struct rdn_frame *f) {
    if (f->batch)
        f->prog->batches->frame_close(f);
    rdn_run_close(f);
}
void rdn_native_params(struct rdn_frame *f) {
    rdn_run_params(f);
    if (f->batch)                                        /* of this frame: the program may have got them after it was opened */
        f->prog->batches->params_changed(f);
}

/* ---- batches ---- */
#define PLAN(name, value, why) static const double k_##name __attribute__((unused)) = value;
#include "jit/plan.def"
#undef PLAN
static bool is_left(const struct rdn_plan *pl, const uint64_t *mask, uint32_t i) {
    return !pl->ir->rules[pl->ir->events[pl->event].rules[i]].late && !(mask[i / 64] >> i % 64 & 1);
}
static bool any_left(const struct rdn_plan *pl, const uint64_t *mask) {
    bool any = false;
    for (uint32_t i = 0; i < pl->nrules; i++)
        any |= is_left(pl, mask, i);
    return any;
}
/* What a batch costs and saves is weighed only where nobody asked for batches. */
bool rdn_native_batch_pays(const struct rdn_program *p, const struct rdn_plan *pl, const uint64_t *mask) {
    double ns = rdn_jit_batch(p->jit) ? k_batch + 1 : 0;
    for (uint32_t i = 0; i < pl->nrules; i++)
        ns += mask[i / 64] >> i % 64 & 1 ? (double)pl->rules[i].ns : 0;
    return ns > k_batch || !any_left(pl, mask);
}
int rdn_native_rest(struct rdn_program *p, const uint64_t *const *masks, redan_error *reterr) {
    struct rdn_unit *u = p->x, *rest = NULL;
    const uint64_t **without = rdn_zalloc(p->mem, (p->ir->nevents + 1) * sizeof *without);
    bool any = false;
    if (!without)
        return rdn_fail(reterr, NOMEM, "", "batch");
    for (uint32_t e = 0; e < p->ir->nevents; e++)
        if (masks[e] && any_left(u->events[e].plan, masks[e]))
            without[e] = masks[e], any = true;
    int rc = any ? rdn_unit_open_rest(u, p->sampled, without, &rest, reterr) : 0;
    rdn_free(p->mem, without, (p->ir->nevents + 1) * sizeof *without);
    if (rc || !any)
        return rc;
    p->rest = rest;
    p->info.code_bytes += (uint32_t)rest->code.bytes;
    p->info.plan_us += rest->plan_us;
    p->info.emit_us += rest->emit_us;
    if (rest->code.must_sync)                            /* lanes at work read it: no store that changes nothing */
        p->must_sync = true;
    return 0;
}

bool rdn_program_rule_plan(const struct rdn_program *p, uint32_t event, uint32_t at, struct rdn_rule_plan *ret) {
    static const char *const how[][2] = {
#define TECHNIQUE(name, text, doc) { text, doc },
#include "jit/technique.def"
#undef TECHNIQUE
    };
    const struct rdn_unit *u = p->x;
    if (!u)
        return false;
    const struct rdn_plan *pl = u->events[event].plan;
    const struct rdn_prule *r = &pl->rules[at];
    *ret = (struct rdn_rule_plan){how[r->how][0], how[r->how][1], r->by ? pl->nodes.v[r->by].src : 0, (double)r->pass, (double)r->ns};
    return true;
}
double rdn_program_event_ns(const struct rdn_program *p, uint32_t event) {
    const struct rdn_unit *u = p->x;
    return u && u->emitter ? u->events[event].plan->ns : 0;
}
