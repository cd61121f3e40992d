/* SPDX-License-Identifier: Apache-2.0
 * violation.c: denied calls as the kernel reports them. Under the lock.
 *
 * The number comes from the kernel and cannot be forged. The place is asked of the worker: a SIGUSR2 is pending when the call
 * is answered, so its handler runs before the plugin's next instruction and notes file and line. A hint, not evidence. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include "base/clock.h"
#include "plugins/parts.h"
#include "sandbox/explain.h"
#include "sandbox/policy.h"
#include "sandbox/seccomp.h"

enum { STORM_CALL = 256, STORM_SECOND = 1000, PLACES_PER_CALL = 8 };
static const int64_t second = 1000000000;

static bool storm(struct rdn_work *w, int64_t now) {
    uint32_t call = atomic_load(&w->posted);
    if (w->storm_seq != call) {
        w->storm_seq = call;
        w->storm = 0;
    }
    if (now - w->storm_ns > second) {
        w->storm_ns = now;
        w->storm_second = 0;
    }
    w->storm++;
    return w->storm > STORM_CALL || ++w->storm_second > STORM_SECOND;
}

static void record(struct rdn_plugin *p, struct rdn_work *w, const char *name, bool asked) {
    uint32_t i = (uint32_t)(p->violations++ % RDN_PLUGIN_VIOLATIONS);
    memset(&p->kept[i], 0, sizeof p->kept[i]);
    snprintf(p->kept[i].name, sizeof p->kept[i].name, "%.31s", name);
    p->pending[i].w = asked ? w : NULL;
    p->pending[i].place = w->places;
    p->nkept += p->nkept < RDN_PLUGIN_VIOLATIONS;
}

bool rdn_violation_denied(struct rdn_work *w) {
    struct rdn_denied d;
    char name[32];
    int rc = rdn_seccomp_next(w->listener, &d);
    if (rc < 0)
        return rc == -EINTR || rc == -ENOENT || rc == -EAGAIN;           /* ENOENT: the caller died meanwhile */
    bool over = storm(w, rdn_mono_ns()), ask = w->storm <= PLACES_PER_CALL && w->pidfd >= 0;
    rdn_policy_call_name(d.nr, name, sizeof name);
    record(w->gen->plugin, w, name, ask);
    if (over) {
        rdn_fate_kill(w, "violations");
        return true;
    }
    if (ask && rdn_pidfd_kill(w->pidfd, SIGUSR2) == 0)
        w->places++;
    rdn_seccomp_answer(w->listener, d.id);
    return true;
}

static void fill(struct rdn_plugins *ps, struct rdn_plugin *p, uint32_t i) {
    const struct rdn_res *r = p->pending[i].w->res;
    char raw[64];
    memcpy(raw, r->places[p->pending[i].place % RDN_PLACES], sizeof raw);
    rdn_message_clean(p->kept[i].place, sizeof p->kept[i].place, raw, strnlen(raw, sizeof raw - 1));
    p->pending[i].w = NULL;
    const char *hint = rdn_explain_hint(p->kept[i].name);
    int64_t now = rdn_mono_ns();
    if (now - p->logged_ns[0] < second)
        return;
    p->logged_ns[0] = now;
    rdn_plugins_log(ps, 1, "R4330 plugin %s: %s is not available in a plugin%s%s%s%s%s", p->name, p->kept[i].name,
                    *p->kept[i].place ? " (" : "", p->kept[i].place, *p->kept[i].place ? ")" : "", hint ? "; " : "", hint ? hint : "");
}

void rdn_violation_resolve(struct rdn_plugins *ps, struct rdn_plugin *p, const struct rdn_work *gone) {
    for (uint32_t i = 0; i < RDN_PLUGIN_VIOLATIONS; i++) {
        struct rdn_work *w = p->pending[i].w;
        if (!w)
            continue;
        uint32_t ahead = rdn_load32(&w->res->place_count) - p->pending[i].place;
        if (ahead >= 1 && ahead <= RDN_PLACES)
            fill(ps, p, i);
        else if (w == gone)
            p->pending[i].w = NULL;
    }
}
