/* SPDX-License-Identifier: Apache-2.0
 * replan.c: what the lanes have seen, for the planner: when rules are compiled, and when the active ones are planned again.
 *
 * A plan that was made again is published as a swap of the same rule set under the same generation: who wrote the rules sees no change,
 * and no rule set that is kept for going back makes room for it. Compiling happens without the lock: judging lanes, room for code and
 * other compilations go on. */
#include "host/host.h"
#include "base/fpmode.h"
#include <string.h>

/* ---- samples ---- */
static int32_t same_event(const struct rdn_ir *ir, uint64_t layout) {
    for (uint32_t i = 0; i < ir->nevents; i++)
        if (ir->events[i].layout_hash == layout)
            return (int32_t)i;
    return -1;
}
static const struct rdn_samples *samples_of(struct rdn_active *a, uint32_t lane) {
    return a->bind[lane] ? __atomic_load_n(&a->bind[lane]->samples, __ATOMIC_ACQUIRE) : NULL;
}
/* Each lane gives its share first, then who has more fills what is left. */
static void read_event(struct redan_engine *e, struct rdn_active *a, uint32_t event, struct rdn_sampled *ret) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < e->opt.lanes; i++)
        lanes += samples_of(a, i) != NULL;
    for (uint32_t i = 0; i < e->opt.lanes; i++)
        if (samples_of(a, i))
            rdn_samples_read(samples_of(a, i), event, (RDN_SAMPLE_MAX + lanes - 1) / lanes, ret);
}
static bool read_events(struct redan_engine *e, struct rdn_active *a, const struct rdn_ir *ir, struct rdn_arena *mem, struct rdn_sampled *ret) {
    for (uint32_t i = 0; i < ir->nevents; i++) {
        int32_t x = ir->events[i].nrules ? same_event(a->rs->ir, ir->events[i].layout_hash) : -1;
        if (x < 0)
            continue;
        ret[i].stride = ir->events[i].size;
        ret[i].rows = rdn_arena_alloc(mem, RDN_SAMPLE_MAX * ret[i].stride);
        ret[i].now = rdn_new_n(mem, int64_t, RDN_SAMPLE_MAX);
        if (!ret[i].rows || !ret[i].now)
            return false;
        read_event(e, a, (uint32_t)x, &ret[i]);
    }
    return true;
}
const struct rdn_sampled *rdn_engine_samples(struct redan_engine *e, const struct rdn_ir *ir, struct rdn_arena *mem) {
    if (e->static_plan)
        return NULL;
    struct rdn_sampled *ret = rdn_new_n(mem, struct rdn_sampled, ir->nevents + 1);
    pthread_mutex_lock(&e->lock);
    struct rdn_active *a = atomic_load_explicit(&e->active, memory_order_relaxed);
    bool whole = ret && a && read_events(e, a, ir, mem, ret);
    pthread_mutex_unlock(&e->lock);
    return whole ? ret : NULL;
}

/* ---- planning again ---- */
static uint64_t seen(struct redan_engine *e, struct rdn_active *a, uint32_t event) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < e->opt.lanes; i++)
        n += samples_of(a, i) ? rdn_samples_seen(samples_of(a, i), event) : 0;
    return n;
}
/* Some event type's rules were planned by a guess, and now there is something to plan them by. */
static bool due(struct redan_engine *e, struct rdn_active *a) {
    const struct rdn_ir *ir = a->rs->ir;
    bool some = false;
    for (uint32_t i = 0; !e->static_plan && !e->replan_off && rdn_program_info(a->prog)->code_bytes && i < ir->nevents; i++)
        some = some || (ir->events[i].nrules && !a->rs->planned[i] && seen(e, a, i) >= RDN_REPLAN_EVENTS);
    return some;
}
/* The active rule set, when it is to be planned again, with a reference; NULL: nothing to do. */
static struct redan_ruleset *take_due(struct redan_engine *e, bool now) {
    struct rdn_active *a = atomic_load_explicit(&e->active, memory_order_relaxed);
    if (!a || !(now || due(e, a)))
        return NULL;
    for (uint32_t i = 0; i < a->rs->ir->nevents; i++)    /* once, whatever becomes of it */
        a->rs->planned[i] = a->rs->planned[i] || now || seen(e, a, i) >= RDN_REPLAN_EVENTS;
    rdn_ruleset_ref(a->rs);
    return a->rs;
}
static int publish(struct redan_engine *e, struct redan_ruleset *rs, struct rdn_program *p, uint64_t *ret_generation, redan_error *reterr) {
    struct rdn_active *a = atomic_load_explicit(&e->active, memory_order_relaxed);
    struct rdn_program *old = rs->prog;
    if (!a || a->rs != rs)
        return rdn_fail(reterr, STALE, "R3009", "other rules were activated while '%.60s' were planned again", rs->ir->name);
    if (strcmp(rdn_program_info(p)->backend, rdn_program_info(old)->backend) != 0)
        return rdn_fail(reterr, FULL, "R2103", "no room to plan '%.60s' again; its code stays", rs->ir->name);
    rs->prog = p;
    int rc = rdn_engine_republish(e, ret_generation, reterr);
    if (rc < 0)
        rs->prog = old;
    else
        rdn_program_close(old);
    return rc;
}
static int plan_again(struct redan_engine *e, struct redan_ruleset *rs, uint64_t *ret_generation, redan_error *reterr) {
    struct rdn_program *p = NULL;
    struct rdn_arena tmp;
    rdn_arena_init(&tmp, &e->mem);
    rdn_engine_spare_history(true);
    int rc = rdn_program_open_sampled(e->jit, rs->ir, e->backend, rdn_engine_samples(e, rs->ir, &tmp), &e->mem, &p, reterr);
    rdn_engine_spare_history(false);
    rdn_arena_fini(&tmp);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&e->lock);
    rc = publish(e, rs, p, ret_generation, reterr);
    pthread_mutex_unlock(&e->lock);
    if (rc < 0)
        rdn_program_close(p);
    return rc;
}

int redan_replan(redan_engine *e, uint32_t flags, uint64_t *ret_generation, redan_error *reterr) {
    if (flags & ~REDAN_REPLAN_NOW)
        return rdn_fail(reterr, INVAL, "", "redan_replan has flags this version does not know");
    rdn_tag_setup_begin(e, "redan_replan");
    pthread_mutex_lock(&e->lock);
    int rc = rdn_engine_alive(e, reterr);
    struct redan_ruleset *rs = rc == 0 ? take_due(e, flags & REDAN_REPLAN_NOW) : NULL;
    pthread_mutex_unlock(&e->lock);
    uint64_t generation = 0;
    if (rs) {
        uint32_t mode = rdn_fpmode_enter();              /* constants are folded, code is compared */
        rc = plan_again(e, rs, &generation, reterr);
        rdn_fpmode_leave(mode);
        rdn_ruleset_unref(rs);
    }
    if (rc == 0 && ret_generation)
        *ret_generation = generation;
    rdn_tag_setup_end(e);
    return rc;
}
