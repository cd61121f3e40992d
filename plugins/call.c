/* SPDX-License-Identifier: Apache-2.0
 * call.c: the lane's side of a call: post, poll, wait. [hot]
 *
 * No lock, no allocation, no formatting. System calls: a wake when the worker sleeps, a wait when spinning did not help, one
 * eventfd write when something went wrong. The lane believes its own counters only (SANDBOX.md 11). */
#include <string.h>
#include "base/clock.h"
#include "plugins/parts.h"

enum { LONG_SPIN = 6 };
static const int64_t trial_every_ns = 1000000000, log_every_ns = 1000000000;

const char *rdn_outcome_text(enum rdn_outcome o) {
    switch (o) {
#define OUTCOME(NAME, text, usable, doc) case RDN_OUT_##NAME: return text;
#include "plugins/outcomes.def"
#undef OUTCOME
    case RDN_OUT_COUNT: break;
    }
    return "?";
}

static inline void relax(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

static void bump(_Atomic uint64_t *n) { atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed); }

static enum rdn_outcome count(struct rdn_wlane *l, enum rdn_outcome out, int64_t now) {
    struct rdn_plugins *ps = l->plugin->ps;
    bump(&l->calls);
    bump(&l->outcomes[out]);
    atomic_store_explicit(&l->seat->last, (uint32_t)out, memory_order_release);
    if (out > RDN_OUT_UNDEFINED && ps->opt.log && now - l->logged_ns[out] >= log_every_ns) {
        l->logged_ns[out] = now;
        atomic_fetch_or(&l->log_due, 1u << out);
        rdn_supervise_kick(ps);
    }
    return out;
}

/* Announces the worker before looking into it, so that the supervisor does not free it meanwhile. */
static struct rdn_work *hold(struct rdn_wlane *l) {
    for (;;) {
        struct rdn_work *w = atomic_load(&l->cur);
        atomic_store(&l->using, w);
        if (atomic_load(&l->cur) == w)
            return w;
    }
}

static void release(struct rdn_wlane *l) { atomic_store_explicit(&l->using, NULL, memory_order_release); }

/* Lanes that share one worker call it in turn: from here to leave() the seat is this lane's. */
static bool take_turn(struct rdn_wlane *seat, int64_t until) {
    uint32_t idle = 0;
    if (atomic_compare_exchange_strong(&seat->turn, &idle, 1u))
        return true;
    while (atomic_exchange(&seat->turn, 2u) != 0) {
        if (rdn_mono_ns() >= until)
            return false;
        rdn_futex_wait(&seat->turn, 2, until);
    }
    return true;
}

static void end_turn(struct rdn_wlane *seat) {
    if (seat->plugin->one && atomic_exchange(&seat->turn, 0u) == 2)
        rdn_futex_wake(&seat->turn);
}

static void leave(struct rdn_wlane *seat) {
    release(seat);
    end_turn(seat);
}

/* The lane's worker, BUSY now; NULL when none is ready. While state is carried over the lane waits, and a worker that was replaced
 * or asked for its state in between is looked for again. */
static struct rdn_work *take_ready(struct rdn_wlane *l, int64_t until) {
    for (;;) {
        uint32_t halt = atomic_load(&l->halt);
        if (halt % 2 && rdn_mono_ns() < until) {
            rdn_futex_wait(&l->halt, halt, until);
            continue;
        }
        struct rdn_work *w = hold(l);
        if (w && rdn_work_move(w, RDN_W_READY, RDN_W_BUSY))
            return w;
        bool changed = atomic_load(&l->halt) != halt || atomic_load(&l->cur) != w;
        release(l);
        if (!changed)
            return NULL;
    }
}

static enum rdn_outcome admit(struct rdn_wlane *seat) {
    static const enum rdn_outcome out[] = { RDN_OUT_VALUE, RDN_OUT_TRIPPED, RDN_OUT_QUARANTINED };
    return out[atomic_load_explicit(&seat->tripped, memory_order_relaxed)];
}

uint32_t rdn_work_post(struct rdn_work *w, uint32_t op, uint32_t nrows) {
    struct rdn_req *q = w->req;
    uint32_t seq = atomic_load_explicit(&w->posted, memory_order_relaxed) + 1;
    seq += !seq;                                        /* 0 means "no call" */
    q->op = op;
    q->nrows = nrows;
    atomic_store_explicit(&w->posted, seq, memory_order_release);
    atomic_store(&q->seq, seq);
    if (atomic_load(&w->res->sleeping))
        rdn_futex_wake(&q->seq);
    return seq;
}

void rdn_call_send(struct rdn_wlane *l, struct rdn_work *w, uint32_t nrows, int64_t now_ns) {
    struct rdn_req *q = w->req;
    q->fn = (uint32_t)(l->fn - l->plugin->fns);
    q->call_id = atomic_load_explicit(&l->calls, memory_order_relaxed);
    q->now_ns = now_ns;
    q->deadline_ns = l->deadline_ns;
    l->nrows = nrows;
    rdn_work_post(w, RDN_CALL, nrows);
}

int64_t rdn_call_allowed(const struct rdn_plugin *p, const struct rdn_wfunc *f) {
    int64_t cap = atomic_load_explicit(&p->cap_ns, memory_order_relaxed);
    return f->rule_ns && f->rule_ns < cap ? f->rule_ns : cap;
}

/* The seat is this lane's, and its worker BUSY. */
static void send(struct rdn_wlane *l, struct rdn_work *w, uint32_t nrows, int64_t now_ns) {
    struct rdn_wlane *s = l->seat;
    s->fn = l->fn;
    atomic_store_explicit(&s->death_newer, 0, memory_order_relaxed);
    rdn_call_send(l, w, nrows, now_ns);
}

enum rdn_outcome rdn_plugin_post_fn(struct rdn_plugin *p, uint32_t fn, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs,
                                    uint32_t nrows, int64_t now_ns, int64_t deadline_ns) {
    struct rdn_wlane *l = &p->lanes[lane], *s = l->seat;
    const struct rdn_wfunc *f = &p->fns[fn];
    int64_t now = rdn_mono_ns(), limit = now + atomic_load_explicit(&p->cap_ns, memory_order_relaxed);
    int64_t deadline = !deadline_ns ? now + rdn_call_allowed(p, f) : deadline_ns < limit ? deadline_ns : limit;
    if (p->one && !take_turn(s, deadline))
        return count(l, RDN_OUT_TIMEOUT, now);
    enum rdn_outcome out = admit(s);
    struct rdn_work *w = out == RDN_OUT_VALUE ? take_ready(s, deadline) : NULL;
    if (!w) {
        end_turn(s);
        return count(l, out == RDN_OUT_VALUE ? RDN_OUT_NOT_READY : out, now);
    }
    if (nargs != f->ncols || nrows == 0 || nrows > rdn_plugin_rows_max(p, fn) || !rdn_values_put(f, w->req, args, nrows)) {
        rdn_work_move(w, RDN_W_BUSY, RDN_W_READY);
        leave(s);
        return count(l, RDN_OUT_REFUSED, now);
    }
    l->fn = f;
    l->posted_ns = now;
    l->deadline_ns = deadline;
    send(l, w, nrows, now_ns);
    return RDN_OUT_VALUE;
}

/* --- answers ---------------------------------------------------------------------------------------------------- */

static void keep_log(struct rdn_wlane *l, const struct rdn_res *res) {
    struct rdn_log_body b;
    b.len = rdn_load32(&res->log_len);
    if (!b.len)
        return;
    b.len = b.len < sizeof b.text ? b.len : sizeof b.text;
    b.dropped = rdn_load32(&res->log_dropped);
    memcpy(b.text, res->log, b.len);
    memset(b.text + b.len, 0, sizeof b.text - b.len);
    rdn_note_write(&l->seat->log.version, l->seat->log.words, &b, sizeof b);
}

static void keep_note(struct rdn_wlane *l, struct rdn_work *w, enum rdn_outcome out, int64_t now) {
    struct rdn_note_body b;
    rdn_note_take(&b, w->res, out);
    b.generation = w->gen->number;
    b.used_ns = now - l->posted_ns;
    b.allowed_ns = l->deadline_ns - l->posted_ns;
    rdn_note_write(&l->seat->note.version, l->seat->note.words, &b, sizeof b);
}

/* The worker's page cannot be trusted any more: it is killed. */
static void condemn(struct rdn_wlane *l, struct rdn_work *w) {
    rdn_work_die(w);
    rdn_supervise_kick(l->plugin->ps);
}

static enum rdn_outcome answered(struct rdn_wlane *l, struct rdn_work *w, struct rdn_wire_value *ret, uint8_t *outs, int64_t now) {
    enum rdn_outcome out = rdn_values_take(l, w->res, ret, outs);
    if (out > RDN_OUT_UNDEFINED || rdn_load32(&w->res->trap_count))
        keep_note(l, w, out, now);
    keep_log(l, w->res);
    atomic_store_explicit(&l->seat->timeouts, 0u, memory_order_relaxed);
    if (out == RDN_OUT_BAD_REPLY)
        condemn(l, w);
    else
        rdn_work_move(w, RDN_W_BUSY, RDN_W_READY);
    return out;
}

static enum rdn_outcome late(struct rdn_wlane *l, struct rdn_work *w, int64_t now) {
    keep_note(l, w, RDN_OUT_TIMEOUT, now);
    if (!rdn_work_move(w, RDN_W_BUSY, RDN_W_LATE))
        return RDN_OUT_DIED;
    struct rdn_wlane *s = l->seat;
    uint32_t open = 0, n = atomic_load_explicit(&s->timeouts, memory_order_relaxed) + 1;
    atomic_store_explicit(&s->timeouts, n, memory_order_relaxed);
    if (n >= RDN_TIMEOUTS_TO_TRIP) {
        atomic_store(&s->trial_ns, now + trial_every_ns);
        atomic_compare_exchange_strong(&s->tripped, &open, 1u);
    }
    rdn_supervise_kick(l->plugin->ps);
    return RDN_OUT_TIMEOUT;
}

/* True when the call is over. The order matters: an answer counts even if the worker died or the time ran out after it. A
 * number that is neither this call's nor the last one's is no answer: it costs the worker its own deadline, and then its life
 * (look_stopping). */
static bool look(struct rdn_wlane *l, struct rdn_work *w, struct rdn_wire_value *ret, uint8_t *outs, enum rdn_outcome *out, int64_t now) {
    uint32_t n = atomic_load_explicit(&w->posted, memory_order_relaxed);
    uint32_t seq = atomic_load_explicit(&w->res->seq, memory_order_acquire);
    if (seq == n) {
        *out = answered(l, w, ret, outs, now);
    } else if (atomic_load(&w->state) == RDN_W_DEAD) {
        *out = RDN_OUT_DIED;
    } else if (now >= l->deadline_ns) {
        *out = late(l, w, now);
    } else {
        return false;
    }
    if (seq != n)
        memset(outs, *out, l->nrows);
    count(l, *out, now);
    if (l->plugin->ps->opt.record && seq == n)
        rdn_record_call(l, w->req, ret, outs);
    leave(l->seat);
    return true;
}

bool rdn_plugin_poll(struct rdn_plugin *p, uint32_t lane, struct rdn_wire_value *ret, uint8_t *outs, enum rdn_outcome *ret_out) {
    struct rdn_wlane *l = &p->lanes[lane];
    return look(l, atomic_load_explicit(&l->seat->using, memory_order_relaxed), ret, outs, ret_out, rdn_mono_ns());
}

/* The worker wakes only a lane that says it waits; of answer and `waiting` one side sees the other's. */
static void sleep_on(struct rdn_wlane *l, const _Atomic uint32_t *word, uint32_t seen) {
    struct rdn_work *w = atomic_load_explicit(&l->seat->using, memory_order_relaxed);
    l->slept = true;
    atomic_store(&w->req->waiting, 1u);
    if (atomic_load(word) == seen)
        rdn_futex_wait(word, seen, l->deadline_ns);
    atomic_store_explicit(&w->req->waiting, 0u, memory_order_relaxed);
}

enum rdn_outcome rdn_plugin_wait(struct rdn_plugin *p, uint32_t lane, struct rdn_wire_value *ret, uint8_t *outs) {
    struct rdn_wlane *l = &p->lanes[lane];
    struct rdn_work *w = atomic_load_explicit(&l->seat->using, memory_order_relaxed);
    const _Atomic uint32_t *word = &w->res->seq;
    enum rdn_outcome out;
    /* After a sleep longer: a wake of another core takes 50 us, and sides that both sleep would never meet awake again. */
    int64_t now = rdn_mono_ns(), spin_until = now + (l->slept ? LONG_SPIN : 1) * (int64_t)p->spin_ns;
    l->slept = false;
    for (;;) {
        uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
        if (look(l, w, ret, outs, &out, now))
            return out;
        if (now < spin_until)
            for (int i = 0; i < 32 && atomic_load_explicit(word, memory_order_relaxed) == seen; i++)
                relax();
        else
            sleep_on(l, word, seen);
        now = rdn_mono_ns();
    }
}

enum rdn_outcome rdn_plugin_post(struct rdn_plugin *p, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs, uint32_t nrows,
                                 int64_t now_ns, int64_t deadline_ns) {
    return rdn_plugin_post_fn(p, 0, lane, args, nargs, nrows, now_ns, deadline_ns);
}

uint32_t rdn_plugin_rows_max(const struct rdn_plugin *p, uint32_t fn) { return atomic_load_explicit(&p->fns[fn].rows, memory_order_relaxed); }

enum rdn_outcome rdn_plugin_call_fn(struct rdn_plugin *p, uint32_t fn, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs,
                                    uint32_t nrows, int64_t now_ns, int64_t deadline_ns, struct rdn_wire_value *ret, uint8_t *outs) {
    enum rdn_outcome out = rdn_plugin_post_fn(p, fn, lane, args, nargs, nrows, now_ns, deadline_ns);
    if (out == RDN_OUT_VALUE)
        return rdn_plugin_wait(p, lane, ret, outs);
    memset(outs, out, nrows);
    return out;
}

enum rdn_outcome rdn_plugin_call_rows(struct rdn_plugin *p, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs, uint32_t nrows,
                                      int64_t now_ns, int64_t deadline_ns, struct rdn_wire_value *ret, uint8_t *outs) {
    return rdn_plugin_call_fn(p, 0, lane, args, nargs, nrows, now_ns, deadline_ns, ret, outs);
}

enum rdn_outcome rdn_plugin_call(struct rdn_plugin *p, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs, int64_t now_ns,
                                 int64_t deadline_ns, struct rdn_wire_value *ret) {
    uint8_t one;
    return rdn_plugin_call_rows(p, lane, args, nargs, 1, now_ns, deadline_ns, ret, &one);
}
