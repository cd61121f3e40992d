/* SPDX-License-Identifier: Apache-2.0
 * plugin_status.c: status of a plugin, and waiting for a late call's real end. Off the hot path. */
#include <string.h>
#include "base/clock.h"
#include "plugins/parts.h"
#include "sandbox/policy.h"

static void add_violation(struct rdn_plugin_status *s, const char *name, const char *place) {
    if (s->nkept == RDN_PLUGIN_VIOLATIONS)
        return;
    struct rdn_plugin_violation *v = &s->kept[s->nkept++];
    snprintf(v->name, sizeof v->name, "%.31s", name);
    snprintf(v->place, sizeof v->place, "%.63s", place);
}

/* Deny mode trap: the worker itself says what it was denied. */
static void add_traps(const struct rdn_plugin *p, struct rdn_plugin_status *s, const struct rdn_note_body *b) {
    if (p->ps->promised & RDN_GOT_LISTENER)
        return;                                         /* the kernel's word is better */
    for (uint32_t i = 0; i < b->trap_count; i++) {
        char name[32], place[64];
        const char *raw = b->places[b->traps[i].place % RDN_PLACES];
        rdn_policy_call_name(b->traps[i].nr, name, sizeof name);
        rdn_message_clean(place, sizeof place, raw, strnlen(raw, sizeof b->places[0] - 1));
        add_violation(s, name, place);
        s->violations++;
    }
}

static void add_lane(struct rdn_plugin_status *s, struct rdn_wlane *l) {
    s->calls += atomic_load(&l->calls);
    for (int i = 0; i < RDN_OUT_COUNT; i++)
        s->outcomes[i] += atomic_load(&l->outcomes[i]) + l->moved[i];
    struct rdn_work *w = atomic_load(&l->cur);
    uint32_t st = w ? atomic_load(&w->state) : RDN_W_DEAD;
    s->lanes_ready += st == RDN_W_READY || st == RDN_W_BUSY;
    s->layers = w && w->zyg ? w->got | w->zyg->got : s->layers;
    s->tripped = s->tripped || atomic_load(&l->tripped) == 1;
}

static void newest(struct rdn_plugin *p, struct rdn_wlane *l, struct rdn_plugin_status *s) {
    struct rdn_note_body b;
    struct rdn_log_body log;
    bool death = atomic_load(&l->death_newer);
    if (death)
        rdn_note_read(&l->death.version, l->death.words, &b, sizeof b);
    else
        rdn_note_read(&l->note.version, l->note.words, &b, sizeof b);
    s->last = (enum rdn_outcome)atomic_load(&l->last);
    if (b.outcome == (uint32_t)s->last) {
        rdn_message_error(p, &b, s->error, sizeof s->error);
        rdn_message_line(p, &b, l->index, s->message, sizeof s->message);
        add_traps(p, s, &b);
        s->peak_bytes = b.peak_bytes ? b.peak_bytes : s->peak_bytes;     /* there is no note of calls that went well */
    } else if (!s->nkept) {
        add_traps(p, s, &b);
    }
    rdn_note_read(&l->log.version, l->log.words, &log, sizeof log);
    s->log_len = log.len < sizeof s->log ? log.len : sizeof s->log;
    memcpy(s->log, log.text, s->log_len);
}

void rdn_plugin_status(struct rdn_plugin *p, struct rdn_plugin_status *s) {
    memset(s, 0, sizeof *s);
    pthread_mutex_lock(&p->ps->mu);
    rdn_violation_resolve(p->ps, p, NULL);
    uint64_t first = p->violations - p->nkept;
    for (uint64_t i = first; i < p->violations; i++)
        add_violation(s, p->kept[i % RDN_PLUGIN_VIOLATIONS].name, p->kept[i % RDN_PLUGIN_VIOLATIONS].place);
    s->violations = p->violations;
    s->generation = p->live ? p->live->number : 0;
    s->load_ns = p->live ? p->live->ready_ns - p->live->asked_ns : 0;
    s->deaths = p->deaths;
    s->gone_ns = p->gone_ns;
    s->restarts = p->restarts;
    s->rollbacks = p->rollbacks;
    s->quarantined = p->quarantined;
    struct rdn_work *w = atomic_load(&p->lanes[0].cur);
    s->peak_bytes = w ? w->res->peak_bytes : 0;
    struct rdn_wlane *show = &p->lanes[0];
    for (uint32_t i = 0; i < p->nlanes; i++) {
        add_lane(s, &p->lanes[i]);
        if (atomic_load(&p->lanes[i].last) > RDN_OUT_UNDEFINED && atomic_load(&show->last) <= RDN_OUT_UNDEFINED)
            show = &p->lanes[i];
    }
    newest(p, show, s);
    pthread_mutex_unlock(&p->ps->mu);
}

/* Nothing late, a worker ready, and every place of a violation known or given up. */
static bool settled(struct rdn_plugin *p, const struct rdn_wlane *l) {
    struct rdn_work *w = atomic_load(&l->cur);
    for (uint32_t i = 0; i < RDN_PLUGIN_VIOLATIONS; i++)
        if (p->pending[i].w)
            return false;
    return p->quarantined || (w && w->phase == RDN_WP_SERVING && atomic_load(&w->state) == RDN_W_READY);
}

enum rdn_outcome rdn_plugin_settle(struct rdn_plugin *p, uint32_t lane, int64_t timeout_ns) {
    struct rdn_wlane *l = &p->lanes[lane];
    int64_t until = rdn_mono_ns() + timeout_ns;
    struct timespec ts = { until / 1000000000, until % 1000000000 };
    pthread_mutex_lock(&p->ps->mu);
    rdn_supervise_kick(p->ps);
    while (!settled(p, l) && rdn_mono_ns() < until)
        pthread_cond_timedwait(&p->ps->cond, &p->ps->mu, &ts);
    pthread_mutex_unlock(&p->ps->mu);
    return (enum rdn_outcome)atomic_load(&l->last);
}
