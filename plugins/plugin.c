/* SPDX-License-Identifier: Apache-2.0
 * plugin.c: open, reload and close: the calls that may block. They prepare pages and wait for the supervisor to do the rest. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include "base/clock.h"
#include "plugins/parts.h"

enum { MAX_SOURCE = 1 << 20, MAX_ROW = 60000, SPIN_NS = 20000 };

/* --- engine-wide ------------------------------------------------------------------------------------------------ */

static bool usable(const char *path) { return access(path, X_OK) == 0; }

/* $REDAN_WORKER, then beside this program and in its neighbour `plugins` (a build tree), then where it was installed. */
static bool find_worker(struct rdn_plugins *ps) {
    const char *given = ps->opt.worker_path ? ps->opt.worker_path : secure_getenv("REDAN_WORKER");
    if (given) {
        snprintf(ps->worker, sizeof ps->worker, "%s", given);
        return usable(ps->worker);
    }
    char dir[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    dir[n > 0 ? n : 0] = 0;
    char *slash = strrchr(dir, '/');
    static const char *const near[] = { "", "/plugins", "/../plugins", "/../../plugins", "/../libexec/redan" };
    for (size_t i = 0; slash && i < sizeof near / sizeof *near; i++) {
        *slash = 0;
        snprintf(ps->worker, sizeof ps->worker, "%.3900s%s/redan-worker", dir, near[i]);
        if (usable(ps->worker))
            return true;
    }
    snprintf(ps->worker, sizeof ps->worker, "%s/redan-worker", RDN_LIBEXECDIR);
    return usable(ps->worker);
}

static int check_tier(struct rdn_plugins *ps, redan_error *reterr) {
    uint32_t need = ps->opt.require_tier ? ps->opt.require_tier : RDN_TIER_CONTAINER;
    if (!(ps->probe.bits & RDN_GOT_SECCOMP))
        return rdn_fail(reterr, NOSUP, "R4401", "system-call filters are not available: plugins are refused");
    if (ps->probe.tier < (int)need && !ps->opt.ablate)
        return rdn_fail(reterr, NOSUP, "R4402", "isolation tier is %s, %s is required", rdn_tier_text((enum rdn_tier)ps->probe.tier),
                        rdn_tier_text((enum rdn_tier)need));
    ps->promised = ps->probe.bits & ~ps->opt.ablate;
    if (ps->opt.deny != RDN_DENY_NOTIFY || !(ps->promised & RDN_GOT_SECCOMP))
        ps->promised &= ~(uint32_t)RDN_GOT_LISTENER;
    /* A deny mode the operator chose does not lower the tier; a listener the kernel refuses does. */
    ps->probe.tier = rdn_probe_tier(ps->promised | (ps->opt.deny != RDN_DENY_NOTIFY ? ps->probe.bits & RDN_GOT_LISTENER : 0u));
    return 0;
}

static int fill_options(struct rdn_plugins *ps, redan_error *reterr) {
    if (!ps->opt.seed && getrandom(&ps->opt.seed, sizeof ps->opt.seed, 0) < 0)
        return rdn_fail_sys(reterr, "getrandom");
    ps->opt.seed |= !(uint32_t)ps->opt.seed;            /* hash seed 0 would switch randomisation off */
    if (!find_worker(ps))
        return rdn_fail(reterr, NOSUP, "R4001", "redan-worker not found (set REDAN_WORKER)");
    struct rdn_probe_wish wish = { ps->opt.no_userns, ps->opt.no_ns };
    int rc = rdn_probe_run(&wish, &ps->probe, reterr);
    return rc < 0 ? rc : check_tier(ps, reterr);
}

int rdn_plugins_open(const struct rdn_plugins_options *opt, struct rdn_plugins **ret, redan_error *reterr) {
    const struct rdn_mem *mem = opt && opt->mem ? opt->mem : &rdn_libc_mem;
    struct rdn_plugins *ps = rdn_zalloc(mem, sizeof *ps);
    if (!ps)
        return rdn_fail(reterr, NOMEM, "", "plugins");
    if (opt)
        ps->opt = *opt;
    ps->mem = mem;
    ps->epoll = ps->kick = -1;
    pthread_mutex_init(&ps->mu, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ps->cond, &attr);
    pthread_condattr_destroy(&attr);
    int rc = sodium_init() < 0 ? rdn_fail(reterr, NOSUP, "", "libsodium") : fill_options(ps, reterr);
    if (rc == 0)
        rc = rdn_supervise_start(ps, reterr);
    if (rc < 0) {
        rdn_plugins_close(ps);
        return rc;
    }
    *ret = ps;
    return 0;
}

enum rdn_tier rdn_plugins_tier(const struct rdn_plugins *ps) { return (enum rdn_tier)ps->probe.tier; }

const char *rdn_tier_text(enum rdn_tier t) {
    static const char *const names[] = { "none", "minimal", "container", "userns", "full" };
    return (unsigned)t < sizeof names / sizeof *names ? names[t] : "?";
}

/* --- one plugin ------------------------------------------------------------------------------------------------- */

static int read_source(struct rdn_plugin *p, char **ret, size_t *ret_n, redan_error *reterr) {
    rdn_auto_close int fd = open(p->path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return rdn_fail_sys(reterr, p->path);
    if (!S_ISREG(st.st_mode) || st.st_size > MAX_SOURCE)
        return rdn_fail(reterr, PLUGIN, "R4201", "%.150s is not a file of at most 1 MiB", p->path);
    char *text = rdn_zalloc(p->ps->mem, (size_t)st.st_size + 1);
    if (!text)
        return rdn_fail(reterr, NOMEM, "", "plugin source");
    ssize_t n = pread(fd, text, (size_t)st.st_size, 0);
    if (n != st.st_size || memchr(text, 0, (size_t)n)) {
        rdn_free(p->ps->mem, text, (size_t)st.st_size + 1);
        return rdn_fail(reterr, PLUGIN, "R4201", "%.150s is not text", p->path);
    }
    *ret = text;
    *ret_n = (size_t)n;
    return 0;
}

static const struct rdn_wire_type *copy_type(struct rdn_arena *a, struct rdn_wire_type *to, const struct rdn_wire_type *from) {
    const char **names = from->nnames ? rdn_new_n(a, const char *, from->nnames) : NULL;
    struct rdn_wire_field *fields = from->nfields ? rdn_new_n(a, struct rdn_wire_field, from->nfields) : NULL;
    *to = *from;
    for (uint16_t i = 0; names && i < from->nnames; i++)
        names[i] = rdn_arena_strndup(a, from->names[i], strlen(from->names[i]));
    for (uint16_t i = 0; fields && i < from->nfields; i++) {
        fields[i] = from->fields[i];
        fields[i].name = rdn_arena_strndup(a, from->fields[i].name, strlen(from->fields[i].name));
        copy_type(a, &fields[i].type, &from->fields[i].type);
    }
    to->names = names;
    to->fields = fields;
    if (from->event)
        to->event = rdn_arena_strndup(a, from->event, strlen(from->event));
    return to;
}

static bool answer_kind(uint8_t kind) { return kind >= RDN_WIRE_BOOL && kind <= RDN_WIRE_TEXT; }

/* Where each argument column lies, and how many rows fit. */
static int lay_out(struct rdn_plugin *p, const struct rdn_plugin_spec *s, redan_error *reterr) {
    struct rdn_wire_param *params = rdn_new_n(&p->arena, struct rdn_wire_param, s->nparams + 1);
    uint64_t row = 0;
    p->cols = rdn_new_n(&p->arena, struct rdn_wcolumn, s->nparams + 1);
    for (uint32_t i = 0; i < s->nparams; i++) {
        params[i].name = rdn_arena_strndup(&p->arena, s->params[i].name, strlen(s->params[i].name));
        copy_type(&p->arena, &params[i].type, &s->params[i].type);
        p->cols[i] = (struct rdn_wcolumn){ params[i].type, 0, rdn_wire_width(&params[i].type) };
        row += p->cols[i].width;
        if (!p->cols[i].width || p->cols[i].width > MAX_ROW)
            return rdn_fail(reterr, NOSUP, "R4221", "parameter '%.60s' has %u bytes, at most %d can be passed", params[i].name, p->cols[i].width, MAX_ROW);
    }
    copy_type(&p->arena, &p->ret, &s->ret);
    p->ret_width = rdn_wire_width(&p->ret);
    if (!answer_kind(p->ret.kind) || !p->ret_width || p->ret_width > 256)
        return rdn_fail(reterr, INVAL, "R4221", "a plugin cannot answer this type");
    p->max_rows = row <= 4096 ? RDN_PLUGIN_ROWS : 16;
    uint32_t at = RDN_PAGE;
    for (uint32_t i = 0; i < s->nparams; i++) {
        p->cols[i].off = at;
        at += (p->cols[i].width * p->max_rows + 63) & ~63u;
    }
    p->params = params;
    p->ncols = s->nparams;
    p->req_bytes = (at + RDN_PAGE - 1) & ~(uint32_t)(RDN_PAGE - 1);
    p->res_bytes = RDN_RES_VALUES + ((p->ret_width * p->max_rows + RDN_PAGE - 1) & ~(uint32_t)(RDN_PAGE - 1));
    return 0;
}

static int make_lanes(struct rdn_plugin *p, redan_error *reterr) {
    p->lanes = rdn_new_n(&p->arena, struct rdn_wlane, p->nlanes);
    for (uint32_t i = 0; p->lanes && i < p->nlanes; i++) {
        struct rdn_wlane *l = &p->lanes[i];
        l->plugin = p;
        l->index = i;
        l->copy = rdn_arena_alloc(&p->arena, (size_t)(p->ret_width + 1) * p->max_rows);
        if (p->ret.kind == RDN_WIRE_TEXT)
            l->text = rdn_arena_alloc(&p->arena, sizeof *l->text * p->max_rows);
    }
    return p->lanes ? 0 : rdn_fail(reterr, NOMEM, "", "lanes");
}

static uint32_t cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

static void settings(struct rdn_plugin *p, const struct rdn_plugin_spec *s) {
    const char *slash = strrchr(s->file, '/');
    snprintf(p->name, sizeof p->name, "%s", s->name);
    snprintf(p->file, sizeof p->file, "%.63s", slash ? slash + 1 : s->file);
    p->nlanes = s->lanes ? s->lanes : 1;
    p->plain = s->plain;
    p->cap_ns = s->time_cap_ns ? s->time_cap_ns : 50000000;
    p->call_ns = s->deadline_ns && s->deadline_ns < p->cap_ns ? s->deadline_ns : p->cap_ns;
    p->load_ns = (s->load_cap_ms ? s->load_cap_ms : 500) * INT64_C(1000000);
    p->grace_ns = (s->grace_ms ? s->grace_ms : 5) * INT64_C(1000000);
    p->mem_cap = (uint64_t)(s->mem_cap_mib ? s->mem_cap_mib : 8) << 20;
    p->spin_ns = !p->ps->opt.spin_off && cpus() > p->nlanes ? SPIN_NS : 0;
}

static int describe(struct rdn_plugin *p, const struct rdn_plugin_spec *s, redan_error *reterr) {
    jmp_buf oom;
    p->arena.oom = &oom;
    if (setjmp(oom)) {
        p->arena.oom = NULL;
        return rdn_fail(reterr, NOMEM, "", "plugin %.60s", s->name);
    }
    settings(p, s);
    p->path = rdn_arena_strndup(&p->arena, s->file, strlen(s->file));
    int rc = lay_out(p, s, reterr);
    if (rc == 0)
        rc = make_lanes(p, reterr);
    p->arena.oom = NULL;
    return rc;
}

/* --- generations ------------------------------------------------------------------------------------------------ */

static struct rdn_gen *new_gen(struct rdn_plugin *p, const char *text, size_t n, redan_error *reterr) {
    struct rdn_gen *g = rdn_zalloc(p->ps->mem, sizeof *g);
    if (!g) {
        rdn_fail(reterr, NOMEM, "", "plugin text");
        return NULL;
    }
    g->plugin = p;
    g->number = ++p->gens;
    g->load_fd = -1;
    g->asked_ns = rdn_mono_ns();
    crypto_hash_sha256(g->sha256, (const unsigned char *)text, n);
    if (rdn_load_build(g, text, n, reterr) < 0) {
        rdn_free(p->ps->mem, g, sizeof *g);
        return NULL;
    }
    g->next = p->ps->gens;
    p->ps->gens = g;
    return g;
}

/* Starts one worker a lane and waits until all are ready or one failed. The lock is held on entry and on return. */
static int bring_up(struct rdn_gen *g, redan_error *reterr) {
    struct rdn_plugin *p = g->plugin;
    struct rdn_plugins *ps = p->ps;
    for (uint32_t i = 0; i < p->nlanes; i++) {
        struct rdn_work *w;
        int rc = rdn_work_new(g, &p->lanes[i], &w, reterr);
        if (rc < 0) {
            rdn_gen_fail(ps, g);
            g->dropped = true;
            return rc;
        }
        w->next = ps->works;
        ps->works = w;
    }
    p->group->failed = false;                           /* somebody asks again: try to start a zygote once more */
    rdn_supervise_kick(ps);
    while (!g->done)
        pthread_cond_wait(&ps->cond, &ps->mu);
    if (!g->failed)
        return 0;
    if (reterr)
        *reterr = g->err;
    int code = g->err.code;
    g->dropped = true;
    return code;
}

static int open_locked(struct rdn_plugin *p, const struct rdn_plugin_spec *s, const char *text, size_t n, redan_error *reterr) {
    p->group = rdn_group_get(p->ps, s->group, s->preload, s->npreload, reterr);
    struct rdn_gen *g = p->group ? new_gen(p, text, n, reterr) : NULL;
    if (!g)
        return REDAN_E_PLUGIN;
    p->next = p->ps->plugins;
    p->ps->plugins = p;
    return bring_up(g, reterr);
}

static int check_spec(const struct rdn_plugin_spec *s, redan_error *reterr) {
    if (!s->name || !s->file || !*s->name || strlen(s->name) > 64 || s->nparams > 16 || s->lanes > 256)
        return rdn_fail(reterr, INVAL, "R4221", "plugin has no name or file, or too many parameters or lanes");
    if (s->mem_cap_mib == 1 || s->mem_cap_mib > 512)
        return rdn_fail(reterr, INVAL, "R4203", "mem_cap_mib is 2 to 512");
    return 0;
}

int rdn_plugin_open(struct rdn_plugins *ps, const struct rdn_plugin_spec *s, struct rdn_plugin **ret, redan_error *reterr) {
    char *text = NULL;
    size_t n = 0;
    int rc = check_spec(s, reterr);
    if (rc < 0)
        return rc;
    struct rdn_plugin *p = rdn_zalloc(ps->mem, sizeof *p);
    if (!p)
        return rdn_fail(reterr, NOMEM, "", "plugin %.60s", s->name);
    p->ps = ps;
    rdn_arena_init(&p->arena, ps->mem);
    rc = describe(p, s, reterr);
    if (rc == 0)
        rc = read_source(p, &text, &n, reterr);
    if (rc == 0) {
        pthread_mutex_lock(&ps->mu);
        rc = open_locked(p, s, text, n, reterr);
        pthread_mutex_unlock(&ps->mu);
        rdn_free(ps->mem, text, n + 1);
    }
    if (rc < 0) {
        rdn_plugin_close(p);
        return rc;
    }
    *ret = p;
    return 0;
}

static void lift_quarantine(struct rdn_plugin *p) {
    p->quarantined = false;
    for (uint32_t i = 0; i < p->nlanes; i++) {
        p->lanes[i].ndeaths = p->lanes[i].backoff_ms = 0;
        memset(p->lanes[i].deaths_ns, 0, sizeof p->lanes[i].deaths_ns);
        atomic_store(&p->lanes[i].tripped, 0u);
    }
}

static int reload_locked(struct rdn_plugin *p, const char *text, size_t n, bool *same, redan_error *reterr) {
    uint8_t hash[32];
    crypto_hash_sha256(hash, (const unsigned char *)text, n);
    *same = p->live && !memcmp(hash, p->live->sha256, sizeof hash) && !p->quarantined;
    if (*same)
        return 0;
    struct rdn_gen *g = new_gen(p, text, n, reterr);
    int rc = g ? bring_up(g, reterr) : REDAN_E_PLUGIN;
    if (rc == 0)
        lift_quarantine(p);
    return rc;
}

int rdn_plugin_reload(struct rdn_plugin *p, const char *file, bool *ret_same, redan_error *reterr) {
    char *text, *was = p->path;
    size_t n;
    bool same = false;
    if (file && !(p->path = rdn_arena_strndup(&p->arena, file, strlen(file)))) {
        p->path = was;
        return rdn_fail(reterr, NOMEM, "", "path");
    }
    int rc = read_source(p, &text, &n, reterr);
    if (rc == 0) {
        pthread_mutex_lock(&p->ps->mu);
        rc = reload_locked(p, text, n, &same, reterr);
        pthread_mutex_unlock(&p->ps->mu);
        rdn_free(p->ps->mem, text, n + 1);
    }
    if (rc < 0)
        p->path = was;
    else if (ret_same)
        *ret_same = same;
    return rc;
}

void rdn_plugin_resume(struct rdn_plugin *p) {
    pthread_mutex_lock(&p->ps->mu);
    lift_quarantine(p);
    pthread_mutex_unlock(&p->ps->mu);
}

/* --- closing ---------------------------------------------------------------------------------------------------- */

static bool in_use(struct rdn_plugins *ps, const struct rdn_plugin *p) {
    for (struct rdn_gen *g = ps->gens; g; g = g->next)
        if (g->plugin == p)
            return true;
    return false;
}

void rdn_plugin_close(struct rdn_plugin *p) {
    if (!p)
        return;
    struct rdn_plugins *ps = p->ps;
    pthread_mutex_lock(&ps->mu);
    rdn_fate_close(ps, p);
    rdn_supervise_kick(ps);
    while (in_use(ps, p) && ps->started)
        pthread_cond_wait(&ps->cond, &ps->mu);
    for (struct rdn_plugin **at = &ps->plugins; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    pthread_mutex_unlock(&ps->mu);
    rdn_arena_fini(&p->arena);
    rdn_free(ps->mem, p, sizeof *p);
}

void rdn_plugins_close(struct rdn_plugins *ps) {
    if (!ps)
        return;
    while (ps->plugins)
        rdn_plugin_close(ps->plugins);
    rdn_supervise_stop(ps);
    pthread_cond_destroy(&ps->cond);
    pthread_mutex_destroy(&ps->mu);
    rdn_free(ps->mem, ps, sizeof *ps);
}
