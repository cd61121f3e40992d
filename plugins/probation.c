/* SPDX-License-Identifier: Apache-2.0
 * probation.c: a reloaded text is watched for a while: when more than a tenth of its first hundred calls, or of those of its first ten
 * seconds, fail, the text before it comes back (R4328). Supervisor, under the lock. */
#include <string.h>
#include "base/clock.h"
#include "plugins/parts.h"

enum { CALLS = 100, TENTH = 10 };
static const int64_t seconds_ns = 10000000000;

/* Calls and failures of all lanes so far. An argument that does not fit is the caller's failure. */
static void add_up(const struct rdn_plugin *p, uint64_t *calls, uint64_t *failed) {
    *calls = *failed = 0;
    for (uint32_t i = 0; i < p->nlanes; i++) {
        *calls += atomic_load(&p->lanes[i].calls);
        for (int out = RDN_OUT_UNDEFINED + 1; out < RDN_OUT_COUNT; out++)
            if (out != RDN_OUT_REFUSED)
                *failed += atomic_load(&p->lanes[i].outcomes[out]);
    }
}

/* The old generation of a reload; NULL after a first load and after a way back. */
void rdn_probation_begin(struct rdn_plugins *ps, struct rdn_plugin *p, struct rdn_gen *old) {
    if (p->before && p->before->back) {                 /* it was on its way back when another text came: too late */
        p->before->back = false;
        rdn_gen_fail(ps, p->before);
    }
    if (p->before)
        p->before->dropped = true;
    p->before = old;
    p->trial_until = rdn_mono_ns() + seconds_ns;
    add_up(p, &p->trial_calls, &p->trial_failed);
}

static void go_back(struct rdn_plugins *ps, struct rdn_plugin *p, uint64_t calls, uint64_t failed) {
    struct rdn_gen *g = p->before;
    g->ready = g->failed = 0;
    g->done = g->live = false;
    g->back = g->tested = true;
    g->asked_ns = rdn_mono_ns();
    rdn_plugins_log(ps, 1, "R4328 plugin %s gen %llu: %llu of %llu calls failed, gen %llu comes back", p->name, (unsigned long long)p->live->number,
                    (unsigned long long)failed, (unsigned long long)calls, (unsigned long long)g->number);
    for (uint32_t i = 0; i < p->nseats; i++) {
        struct rdn_work *w;
        if (rdn_work_new(g, &p->lanes[i], &w, &g->err) < 0) {
            rdn_gen_fail(ps, g);
            break;
        }
        w->next = ps->works;
        ps->works = w;
    }
}

void rdn_probation_look(struct rdn_plugins *ps, struct rdn_plugin *p, int64_t now) {
    uint64_t calls, failed;
    if (!p->before)
        return;
    if (p->before->back) {                              /* on its way */
        if (p->before->failed) {
            p->before->dropped = true;
            p->before = NULL;
        }
        return;
    }
    add_up(p, &calls, &failed);
    calls -= p->trial_calls;
    failed -= p->trial_failed;
    if (calls < CALLS && now < p->trial_until)
        return;
    if (failed * TENTH > calls) {
        go_back(ps, p, calls, failed);
        return;
    }
    p->before->dropped = true;
    p->before = NULL;
}
