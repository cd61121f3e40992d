/* SPDX-License-Identifier: Apache-2.0
 * handover.c: a plugin's state on its way from the live generation to the next one (SANDBOX.md 9, step 4).
 *
 * Between two calls of each lane the old worker is asked for its state and the new one is given it; meanwhile the lane waits, within
 * its deadline. All lanes change, or none: after any failure the old generation goes on with what it had. The host moves the bytes
 * and does not look into them. Called on the opener's thread. */
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "plugins/parts.h"

static const int64_t ms = 1000000, patience_ns = 20000000;
struct pair { struct rdn_work *old, *fresh; bool claimed; };

/* The worker that has the lane's state. One that is late has it too, and comes to rest within its grace or dies (claim). */
static struct rdn_work *find(struct rdn_plugins *ps, const struct rdn_gen *g, const struct rdn_wlane *l) {
    struct rdn_work *w = ps->works;
    while (w && (w->gen != g || w->lane != l || (w->phase != RDN_WP_SERVING && w->phase != RDN_WP_STOPPING)))
        w = w->next;
    return w;
}

/* True when the call was answered in time. */
static bool ask(struct rdn_work *w, uint32_t op, uint32_t bytes) {
    int64_t until = rdn_mono_ns() + patience_ns;
    atomic_store(&w->req->waiting, 1u);
    uint32_t seq = rdn_work_post(w, op, bytes), seen;
    while ((seen = atomic_load(&w->res->seq)) != seq && rdn_mono_ns() < until && atomic_load(&w->state) != RDN_W_DEAD)
        rdn_futex_wait(&w->res->seq, seen, until);
    atomic_store(&w->req->waiting, 0u);
    return seen == seq;
}

static int refuse(const struct rdn_work *w, const char *what, bool answered, redan_error *reterr) {
    struct rdn_note_body b;
    char error[512] = "no answer within 20 ms";
    if (answered) {
        rdn_note_take(&b, w->res, RDN_OUT_EXCEPTION);
        rdn_message_error(w->gen->plugin, &b, error, sizeof error);
    }
    return rdn_fail(reterr, PLUGIN, "R4326", "lane %u: %s: %.200s", w->lane->index, what, error);
}

/* One lane, without the lock. Both workers stay mapped: their generations are marked as being tested. */
static int move_state(const struct pair *x, redan_error *reterr) {
    struct rdn_work *old = x->old, *fresh = x->fresh;
    if (!ask(old, RDN_SAVE, 0)) {
        rdn_work_move(old, RDN_W_MOVING, RDN_W_LATE);   /* the supervisor stops it as it stops a late call */
        return refuse(old, "on_save", false, reterr);
    }
    uint32_t status = rdn_load32(&old->res->status), n = rdn_load32(&old->res->nrows);
    if (status == RDN_ST_NO_FUNCTION)
        return 0;
    if (status != RDN_ST_OK || n > RDN_STATE_MAX)
        return refuse(old, "on_save", true, reterr);
    memcpy(fresh->req->args, old->res->values, n);
    if (!ask(fresh, RDN_RESTORE, n))
        return refuse(fresh, "on_load", false, reterr);
    return rdn_load32(&fresh->res->status) == RDN_ST_OK ? 0 : refuse(fresh, "on_load", true, reterr);
}

/* Takes the old worker between two calls. One that is dead has no state any more; one that stays busy is left alone. */
static int claim(struct rdn_plugins *ps, struct pair *x, redan_error *reterr) {
    struct rdn_plugin *p = x->old->gen->plugin;
    int64_t until = rdn_mono_ns() + atomic_load(&p->cap_ns) + p->grace_ns + 1000 * ms;
    while (atomic_load(&x->old->state) != RDN_W_DEAD) {
        if ((x->claimed = rdn_work_move(x->old, RDN_W_READY, RDN_W_MOVING))) {
            x->old->moving = true;
            return 0;
        }
        if (rdn_mono_ns() >= until)
            return rdn_fail(reterr, PLUGIN, "R4326", "lane %u: the worker does not come to rest", x->old->lane->index);
        pthread_mutex_unlock(&ps->mu);
        usleep(50);
        pthread_mutex_lock(&ps->mu);
    }
    return 0;
}

static int claim_and_move(struct rdn_plugins *ps, struct pair *x, redan_error *reterr) {
    atomic_fetch_add(&x->fresh->lane->halt, 1u);        /* odd: begins no further call */
    int rc = x->old ? claim(ps, x, reterr) : 0;
    if (rc < 0 || !x->claimed)
        return rc;
    pthread_mutex_unlock(&ps->mu);
    rc = move_state(x, reterr);
    pthread_mutex_lock(&ps->mu);
    return rc;
}

/* The lane that waited goes on: with the new worker, or with the old one; a late one is the supervisor's. */
static void let_go(struct rdn_wlane *l, struct pair *x, bool moved) {
    if (x->claimed && moved)
        rdn_work_die(x->old);
    else if (x->claimed && rdn_work_move(x->old, RDN_W_MOVING, RDN_W_READY))
        x->old->moving = false;
    if (atomic_load(&l->halt) % 2 == 0)                 /* it was never asked to wait */
        return;
    atomic_fetch_add(&l->halt, 1u);
    rdn_futex_wake(&l->halt);
}

int rdn_carry_run(struct rdn_gen *g, redan_error *reterr) {
    struct rdn_plugin *p = g->plugin;
    struct rdn_plugins *ps = p->ps;
    struct rdn_gen *from = p->live;
    struct pair *x = rdn_zalloc(ps->mem, sizeof *x * p->nseats);
    int rc = x ? 0 : rdn_fail(reterr, NOMEM, "", "state");
    bool was = g->testing;
    g->testing = from->testing = true;
    for (uint32_t i = 0; rc == 0 && i < p->nseats; i++) {
        x[i].old = find(ps, from, &p->lanes[i]);
        x[i].fresh = find(ps, g, &p->lanes[i]);
        rc = x[i].fresh ? claim_and_move(ps, &x[i], reterr) : rdn_fail(reterr, PLUGIN, "R4326", "lane %u: the new worker died", i);
    }
    bool moved = rc == 0 && !g->done;
    if (moved)
        rdn_gen_publish(ps, g);
    for (uint32_t i = 0; x && i < p->nseats; i++)
        let_go(&p->lanes[i], &x[i], moved);
    g->testing = was;
    from->testing = false;
    rdn_free(ps->mem, x, sizeof *x * p->nseats);
    rdn_supervise_kick(ps);
    return rc;
}
