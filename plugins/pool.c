/* SPDX-License-Identifier: Apache-2.0
 * pool.c: zygotes by trust group. Supervisor thread only, under the lock: the parent-death signal follows the thread.
 *
 * A group has an active zygote and, when asked for, an idle spare. Workers of one zygote share address layout and hash seed,
 * so a zygote one of whose workers crashed in memory makes no further ones when a spare can take over. */
#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/clock.h"
#include "plugins/parts.h"
#include "sandbox/ns.h"

static const int64_t start_cap_ns = 20000000000, first_retry_ns = 100000000, last_retry_ns = 10000000000;

static const char *site_of(const struct rdn_plugins *ps) { return ps->opt.python_site ? ps->opt.python_site : RDN_PYTHON_SITE; }

static bool module_name(const char *s) {
    for (const char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.')
            return false;
    return *s && strlen(s) < 128;
}

/* "numpy,ctypes"; NULL for no memory or a bad name. */
static char *join(struct rdn_plugins *ps, const char *const *list, uint32_t n) {
    struct rdn_buf b;
    rdn_buf_init(&b, ps->mem);
    for (uint32_t i = 0; i < n; i++)
        rdn_buf_printf(&b, "%s%s", i ? "," : "", list[i]);
    rdn_buf_putc(&b, 0);
    char *s = b.failed ? NULL : rdn_zalloc(ps->mem, b.n);
    if (s)
        memcpy(s, b.p, b.n);
    rdn_buf_fini(&b);
    return s;
}

bool rdn_numpy_installed(void) { return access(RDN_PYTHON_SITE "/numpy/__init__.py", R_OK) == 0; }

static char *default_preload(struct rdn_plugins *ps) {
    static const char *const numpy[] = { "numpy" };
    char path[4200];
    snprintf(path, sizeof path, "%s/numpy/__init__.py", site_of(ps));
    return join(ps, numpy, access(path, R_OK) == 0);
}

struct rdn_wgroup *rdn_group_get(struct rdn_plugins *ps, const char *role, const char *name, const char *const *preload, uint32_t n,
                                 redan_error *reterr) {
    name = name ? name : "default";
    for (struct rdn_wgroup *g = ps->groups; g; g = g->next)
        if (!strcmp(g->name, name) && !strcmp(g->role, role))
            return g;
    for (uint32_t i = 0; preload && i < n; i++)
        if (!module_name(preload[i]) && (i || (strcmp(preload[i], "-") && strcmp(preload[i], "--")))) {
            rdn_fail(reterr, INVAL, "R4204", "'%.60s' is no module name", preload[i]);
            return NULL;
        }
    struct rdn_wgroup *g = rdn_zalloc(ps->mem, sizeof *g);
    if (g)
        g->preload = preload ? join(ps, preload, n) : default_preload(ps);
    if (!g || !g->preload) {
        rdn_free(ps->mem, g, sizeof *g);
        rdn_fail(reterr, NOMEM, "", "trust group");
        return NULL;
    }
    g->role = role;
    snprintf(g->name, sizeof g->name, "%s", name);
    g->next = ps->groups;
    ps->groups = g;
    return g;
}

static struct rdn_zyg *start(struct rdn_plugins *ps, struct rdn_wgroup *g) {
    struct rdn_zyg *y = rdn_zalloc(ps->mem, sizeof *y);
    const char *minor = ps->opt.python_minor ? ps->opt.python_minor : RDN_PYTHON_MINOR;
    struct rdn_zygote_args a = { .program = ps->worker, .role = g->role, .minor = strcmp(g->role, "python") ? "" : minor, .site = ps->opt.python_site,
                                 .preload = g->preload, .seed = ps->opt.seed, .ns = ps->probe.ns };
    if (!y) {
        rdn_fail(&g->err, NOMEM, "", "zygote");
        return NULL;
    }
    if (rdn_zygote_start(&a, &y->z, &g->err) < 0) {
        rdn_free(ps->mem, y, sizeof *y);
        return NULL;
    }
    y->group = g;
    y->asked_ns = rdn_mono_ns();
    y->next = ps->zygotes;
    ps->zygotes = y;
    if (rdn_supervise_watch(ps, y->z.sock, y, RDN_EV_ZYGOTE) < 0) {
        rdn_fail_sys(&g->err, "epoll_ctl");
        y->retired = true;                              /* tidied away with the next look */
        return NULL;
    }
    return y;
}

static void failed(struct rdn_wgroup *g) {
    g->failed = true;
    g->failed_ns = rdn_mono_ns();
    g->retry_ns = !g->retry_ns ? first_retry_ns : g->retry_ns * 2 < last_retry_ns ? g->retry_ns * 2 : last_retry_ns;
}

static void begin_spare(struct rdn_plugins *ps, struct rdn_wgroup *g) {
    if (ps->opt.spare && !g->spare && g->active && g->active->ready)
        g->spare = start(ps, g);
}

struct rdn_zyg *rdn_group_zygote(struct rdn_plugins *ps, struct rdn_wgroup *g) {
    int64_t now = rdn_mono_ns();
    if (g->failed && now - g->failed_ns > g->retry_ns)
        g->failed = false;
    if (g->failed)
        return NULL;
    if (g->active && !g->active->ready && now - g->active->asked_ns > start_cap_ns) {
        rdn_fail(&g->err, PLUGIN, "R4404", "the zygote did not start within 20 s");
        g->active->retired = true;
        g->active = NULL;
        failed(g);
        return NULL;
    }
    if (!g->active && !(g->active = start(ps, g))) {
        failed(g);
        return NULL;
    }
    return g->active->ready ? g->active : NULL;
}

static void leave_group(struct rdn_plugins *ps, struct rdn_zyg *y) {
    struct rdn_wgroup *g = y->group;
    y->retired = true;
    if (g->spare == y)
        g->spare = NULL;
    if (g->active == y) {
        g->active = g->spare;
        g->spare = NULL;
        begin_spare(ps, g);
    }
}

void rdn_zyg_hello(struct rdn_plugins *ps, struct rdn_zyg *y, const struct rdn_ctl_report *r) {
    struct rdn_wgroup *g = y->group;
    uint32_t want = ps->promised & (RDN_GOT_NS | RDN_GOT_USERNS);
    if (r->step || (r->got & want) != want) {
        char text[160];
        rdn_message_clean(text, sizeof text, r->text, strnlen(r->text, sizeof r->text));
        rdn_fail(&g->err, PLUGIN, r->step == RDN_Z_ONE_THREAD ? "R4407" : "R4404", "zygote, step %u (%s): %.120s", r->step, rdn_zstep_text(r->step), text);
        y->failed = y->retired = true;
        if (g->active == y)
            g->active = NULL, failed(g);
        if (g->spare == y)
            g->spare = NULL;
        return;
    }
    y->ready = true;
    g->retry_ns = 0;
    y->got = r->got;
    snprintf(y->version, sizeof y->version, "%.31s", r->text);
    if (g->spare == y && g->active && g->active->tainted)
        leave_group(ps, g->active);                     /* a worker of it crashed before there was a spare to take over */
    begin_spare(ps, g);
}

/* The control socket ended: the process is gone or going. */
void rdn_zyg_lost(struct rdn_plugins *ps, struct rdn_zyg *y) {
    struct rdn_wgroup *g = y->group;
    if (!y->ready && !y->failed && g->active == y) {
        rdn_fail(&g->err, PLUGIN, "R4404", "the zygote ended while it started");
        failed(g);
    } else if (y->ready && !y->retired) {
        rdn_plugins_log(ps, 1, "R4405 zygote of group %s died; its workers are started again", g->name);
    }
    leave_group(ps, y);
    y->failed = true;
}

/* Alive, and does not answer: it is killed, and its workers with it. */
void rdn_zyg_stuck(struct rdn_plugins *ps, struct rdn_zyg *y) {
    if (!y->failed)
        rdn_plugins_log(ps, 1, "R4405 zygote of group %s does not answer and is replaced", y->group->name);
    leave_group(ps, y);
    y->failed = true;
    rdn_pidfd_kill(y->z.pidfd, SIGKILL);
}

void rdn_zyg_taint(struct rdn_plugins *ps, struct rdn_zyg *y) {
    y->tainted = true;
    if (y->group->spare && y->group->spare->ready && y->group->active == y)
        leave_group(ps, y);
}

void rdn_pool_tidy(struct rdn_plugins *ps) {
    for (struct rdn_zyg **at = &ps->zygotes; *at;) {
        struct rdn_zyg *y = *at;
        if (!y->retired || y->workers) {
            at = &y->next;
            continue;
        }
        *at = y->next;
        rdn_zygote_kill(&y->z);
        rdn_free(ps->mem, y, sizeof *y);
    }
}

void rdn_pool_close(struct rdn_plugins *ps) {
    for (struct rdn_zyg *y = ps->zygotes, *next; y; y = next) {
        next = y->next;
        rdn_zygote_kill(&y->z);
        rdn_free(ps->mem, y, sizeof *y);
    }
    for (struct rdn_wgroup *g = ps->groups, *next; g; g = next) {
        next = g->next;
        rdn_free(ps->mem, g->preload, strlen(g->preload) + 1);
        rdn_free(ps->mem, g, sizeof *g);
    }
    ps->zygotes = NULL;
    ps->groups = NULL;
}
