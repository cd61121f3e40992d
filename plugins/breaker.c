/* SPDX-License-Identifier: Apache-2.0
 * breaker.c: three late calls in a row close a plugin's lane: its calls get the default at once. Once a second the supervisor asks the
 * worker its golden rows, or without any whether it answers at all; when each answer comes in time and is the promised one the lane is
 * open again, and the next late call closes it at once. No event waits for the trial. Supervisor, under the lock.
 *
 * The worker is MOVING meanwhile, so neither a lane nor a hand-over takes it. */
#include "base/clock.h"
#include "plugins/parts.h"

enum { MOST_ROWS = 64 };
static const int64_t again_ns = 1000000000, look_ns = 100000;

static uint32_t rows_of(const struct rdn_gen *g) { return !g->trial ? 0 : g->ngolden < MOST_ROWS ? g->ngolden : MOST_ROWS; }

/* The next golden row, or a ping when there is none. */
static void ask(struct rdn_work *w, int64_t now) {
    struct rdn_gen *g = w->gen;
    w->due_ns = now + atomic_load(&g->plugin->cap_ns);
    if (!rows_of(g))
        rdn_work_post(w, RDN_PING, 0);
    else
        w->due_ns = rdn_trial_post(g, w, w->trial - 1, now);
}

static void over(struct rdn_work *w, bool good, int64_t now) {
    struct rdn_wlane *seat = w->lane;
    w->trial = 0;
    atomic_store(&seat->trial_ns, now + again_ns);
    rdn_work_move(w, RDN_W_MOVING, RDN_W_READY);
    if (!good || atomic_load(&seat->tripped) != 1)      /* or somebody opened it meanwhile */
        return;
    atomic_store(&seat->timeouts, RDN_TIMEOUTS_TO_TRIP - 1u);
    atomic_store(&seat->tripped, 0u);
}

int64_t rdn_breaker_look(struct rdn_work *w, int64_t now) {
    struct rdn_wlane *seat = w->lane;
    if (!w->trial) {
        if (atomic_load(&seat->tripped) != 1 || w->gen->testing || !w->gen->live)
            return INT64_MAX;
        if (now < atomic_load(&seat->trial_ns))
            return atomic_load(&seat->trial_ns);
        if (!rdn_work_move(w, RDN_W_READY, RDN_W_MOVING))
            return now + look_ns;
        w->trial = 1;
        ask(w, now);
        return now + look_ns;
    }
    if (atomic_load_explicit(&w->res->seq, memory_order_acquire) != atomic_load(&w->posted)) {
        if (now < w->due_ns)
            return now + look_ns;
        atomic_store(&seat->trial_ns, now + again_ns);
        rdn_work_move(w, RDN_W_MOVING, RDN_W_LATE);     /* and is stopped as any late call */
        return now;
    }
    if (rows_of(w->gen) && !rdn_trial_good(w->gen, w, w->trial - 1))
        over(w, false, now);
    else if (w->trial < rows_of(w->gen))
        w->trial++, ask(w, now);
    else
        over(w, true, now);
    return now + look_ns;
}
