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
#include "plugins/elfcheck.h"
#include "plugins/layout.h"
#include "plugins/pack.h"
#include "plugins/parts.h"

enum { MAX_ROW = 60000, MAX_REQ = 4 << 20, SPIN_NS = 20000 };

/* --- engine-wide ------------------------------------------------------------------------------------------------ */

static bool usable(const char *path) { return access(path, X_OK) == 0; }

/* $REDAN_WORKER, then beside this program and in its neighbour `plugins` (a build tree), then where it was installed. */
static bool find_worker(struct rdn_plugins *ps) {
    const char *given = ps->opt.worker_path ? ps->opt.worker_path : secure_getenv("REDAN_WORKER");
    if (given) {
        snprintf(ps->worker, sizeof ps->worker, "%s", given);
        ps->opt.worker_path = NULL;
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

/* The option's text goes to `own`, and the option with it. */
static bool keep_text(const char **option, char *own, size_t cap) {
    if (!*option)
        return true;
    bool fits = strlen(*option) < cap;
    snprintf(own, cap, "%s", *option);
    *option = own;
    return fits;
}

int rdn_plugins_open(const struct rdn_plugins_options *opt, struct rdn_plugins **ret, redan_error *reterr) {
    const struct rdn_mem *mem = opt && opt->mem ? opt->mem : &rdn_libc_mem;
    struct rdn_plugins *ps = rdn_zalloc(mem, sizeof *ps);
    if (!ps)
        return rdn_fail(reterr, NOMEM, "", "plugins");
    if (opt)
        ps->opt = *opt;
    bool fits = keep_text(&ps->opt.python_minor, ps->minor, sizeof ps->minor) && keep_text(&ps->opt.python_site, ps->site, sizeof ps->site);
    ps->mem = mem;
    ps->epoll = ps->kick = -1;
    pthread_mutex_init(&ps->mu, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ps->cond, &attr);
    pthread_condattr_destroy(&attr);
    int rc = !fits ? rdn_fail(reterr, INVAL, "R4001", "the Python version or the site folder is too long") : sodium_init() < 0
           ? rdn_fail(reterr, NOSUP, "", "libsodium") : fill_options(ps, reterr);
    if (rc == 0)
        rc = rdn_supervise_start(ps, reterr);
    if (rc < 0) {
        rdn_plugins_close(ps);
        return rc;
    }
    *ret = ps;
    return 0;
}

void rdn_plugins_record(struct rdn_plugins *ps, void (*record)(void *ctx, const char *line, size_t n), void *ctx) {
    ps->opt.record = record;
    ps->opt.record_ctx = ctx;
}

enum rdn_tier rdn_plugins_tier(const struct rdn_plugins *ps) { return (enum rdn_tier)ps->probe.tier; }

const char *rdn_plugins_worker(const struct rdn_plugins *ps) { return ps->worker; }

const char *rdn_tier_text(enum rdn_tier t) {
    static const char *const names[] = { "none", "minimal", "container", "userns", "full" };
    return (unsigned)t < sizeof names / sizeof *names ? names[t] : "?";
}

/* --- one plugin ------------------------------------------------------------------------------------------------- */

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

/* Types and widths of one function; *ret_row is the bytes of a row. */
static int take_function(struct rdn_plugin *p, const struct rdn_function_spec *s, struct rdn_wfunc *f, uint64_t *ret_row, redan_error *reterr) {
    struct rdn_wire_param *params = rdn_new_n(&p->arena, struct rdn_wire_param, s->nparams + 1);
    *ret_row = 0;
    f->cols = rdn_new_n(&p->arena, struct rdn_wcolumn, s->nparams + 1);
    for (uint32_t i = 0; i < s->nparams; i++) {
        params[i].name = rdn_arena_strndup(&p->arena, s->params[i].name, strlen(s->params[i].name));
        copy_type(&p->arena, &params[i].type, &s->params[i].type);
        f->cols[i] = (struct rdn_wcolumn){ params[i].type, 0, rdn_wire_width(&params[i].type) };
        *ret_row += f->cols[i].width;
        if (!f->cols[i].width || f->cols[i].width > MAX_ROW)
            return rdn_fail(reterr, NOSUP, "R4221", "parameter '%.60s' has %u bytes, at most %d can be passed", params[i].name, f->cols[i].width, MAX_ROW);
    }
    copy_type(&p->arena, &f->ret, &s->ret);
    f->ret_width = rdn_wire_width(&f->ret);
    if (!answer_kind(f->ret.kind) || !f->ret_width || f->ret_width > 256)
        return rdn_fail(reterr, INVAL, "R4221", "a plugin cannot answer this type");
    snprintf(f->name, sizeof f->name, "%.64s", s->name);
    f->params = params;
    f->ncols = s->nparams;
    f->rule_ns = s->deadline_ns;
    return 0;
}

/* Where each argument column lies, and how many rows fit. Columns of different functions share the room: one call at a time. */
static int lay_out(struct rdn_plugin *p, const struct rdn_function_spec *s, uint32_t n, uint32_t max_rows, redan_error *reterr) {
    p->fns = rdn_new_n(&p->arena, struct rdn_wfunc, n);
    p->nfns = n;
    for (uint32_t k = 0; k < n; k++) {
        struct rdn_wfunc *f = &p->fns[k];
        uint64_t row;
        int rc = take_function(p, &s[k], f, &row, reterr);
        if (rc < 0)
            return rc;
        f->max_rows = row <= 4096 ? max_rows : 16;
        while (f->max_rows > 16 && row * f->max_rows > MAX_REQ)
            f->max_rows /= 2;
        uint32_t at = RDN_PAGE, res = RDN_RES_VALUES + ((f->ret_width * f->max_rows + RDN_PAGE - 1) & ~(uint32_t)(RDN_PAGE - 1));
        for (uint32_t i = 0; i < f->ncols; i++) {
            f->cols[i].off = at;
            at += (f->cols[i].width * f->max_rows + 63) & ~63u;
        }
        at = (at + RDN_PAGE - 1) & ~(uint32_t)(RDN_PAGE - 1);
        p->req_bytes = at > p->req_bytes ? at : p->req_bytes;
        p->res_bytes = res > p->res_bytes ? res : p->res_bytes;
        atomic_store(&f->rows, f->max_rows);
    }
    return 0;
}

static int make_lanes(struct rdn_plugin *p, redan_error *reterr) {
    size_t copy = 0, text = 0;
    for (const struct rdn_wfunc *f = p->fns; f < p->fns + p->nfns; f++) {
        size_t bytes = (size_t)(f->ret_width + 1) * f->max_rows;
        copy = bytes > copy ? bytes : copy;
        text = f->ret.kind == RDN_WIRE_TEXT && f->max_rows > text ? f->max_rows : text;
    }
    p->lanes = rdn_new_n(&p->arena, struct rdn_wlane, p->nlanes);
    for (uint32_t i = 0; p->lanes && i < p->nlanes; i++) {
        struct rdn_wlane *l = &p->lanes[i];
        l->plugin = p;
        l->index = i;
        l->seat = p->one ? p->lanes : l;
        l->fn = p->fns;
        l->copy = rdn_arena_alloc(&p->arena, copy);
        if (text)
            l->text = rdn_arena_alloc(&p->arena, sizeof *l->text * text);
    }
    return p->lanes ? 0 : rdn_fail(reterr, NOMEM, "", "lanes");
}

static uint32_t cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* The smaller of what the manifest asks for and what the caller allows; 0: not said. */
static uint32_t lower(uint32_t wish, uint32_t ceiling) { return !ceiling ? wish : !wish || ceiling < wish ? ceiling : wish; }

static void settings(struct rdn_plugin *p, const struct rdn_plugin_spec *s, const struct rdn_pack *k) {
    const char *name = k->bare ? s->name : k->m.id;
    snprintf(p->name, sizeof p->name, "%.71s", name);
    snprintf(p->file, sizeof p->file, "%.63s", rdn_pack_find(k, RDN_PART_ENTRY)->name);
    p->nlanes = s->lanes ? s->lanes : 1;
    p->one = s->one || !strcmp(k->m.instances, "one");
    p->nseats = p->one ? 1 : p->nlanes;
    p->plain = s->plain;
    p->bare = k->bare;
    p->untested = s->untested;
    p->load_ns = (s->load_cap_ms ? s->load_cap_ms : 500) * INT64_C(1000000);
    p->grace_ns = (s->grace_ms ? s->grace_ms : 5) * INT64_C(1000000);
    p->spin_ns = !p->ps->opt.spin_off && cpus() > p->nseats ? SPIN_NS : 0;
}

static void keep_wishes(struct rdn_plugin *p, const struct rdn_plugin_spec *s) {
    const char **preload = s->npreload ? rdn_new_n(&p->arena, const char *, s->npreload) : NULL;
    for (uint32_t i = 0; preload && i < s->npreload; i++)
        preload[i] = rdn_arena_strndup(&p->arena, s->preload[i], strlen(s->preload[i]));
    p->asked.time_cap_ns = s->time_cap_ns;
    p->asked.mem_cap_mib = s->mem_cap_mib;
    p->asked.threads = s->native_threads;
    p->asked.carry = s->carry;
    p->asked.one = s->one;
    p->asked.group = s->group ? rdn_arena_strndup(&p->arena, s->group, strlen(s->group)) : NULL;
    p->asked.preload = s->npreload ? preload : s->preload;              /* NULL and an empty list differ */
    p->asked.npreload = s->npreload;
}

static bool carries(const struct rdn_plugin *p, const struct rdn_pack *k) { return p->asked.carry || !strcmp(k->m.state, "carry"); }

/* What this text's manifest asks for, within what the opener allows. */
static void limit(struct rdn_gen *g, const struct rdn_pack *k) {
    const struct rdn_plugin *p = g->plugin;
    uint32_t cap_us = lower(k->m.time_cap_ms * 1000, (uint32_t)(p->asked.time_cap_ns / 1000));
    g->cap_ns = k->bare && p->asked.time_cap_ns ? p->asked.time_cap_ns : cap_us * INT64_C(1000);
    g->mem_cap = (uint64_t)(k->bare && p->asked.mem_cap_mib ? p->asked.mem_cap_mib : lower(k->m.mem_cap_mib, p->asked.mem_cap_mib)) << 20;
    g->max_rows = k->bare ? RDN_PLUGIN_ROWS : k->m.max_rows;
    g->threads = k->m.threads;
    g->carry = carries(p, k);
    g->req_bytes = g->carry && p->req_bytes < RDN_PAGE + RDN_STATE_MAX ? RDN_PAGE + RDN_STATE_MAX : p->req_bytes;
    g->res_bytes = g->carry && p->res_bytes < RDN_RES_VALUES + RDN_STATE_MAX ? RDN_RES_VALUES + RDN_STATE_MAX : p->res_bytes;
}

static int describe(struct rdn_plugin *p, const struct rdn_plugin_spec *s, const struct rdn_pack *k, redan_error *reterr) {
    struct rdn_function_spec one = { s->name, s->params, s->nparams, s->ret, s->deadline_ns };
    jmp_buf oom;
    p->arena.oom = &oom;
    if (setjmp(oom)) {
        p->arena.oom = NULL;
        return rdn_fail(reterr, NOMEM, "", "plugin %.60s", s->name);
    }
    settings(p, s, k);
    keep_wishes(p, s);
    p->path = rdn_arena_strndup(&p->arena, s->file, strlen(s->file));
    int rc = lay_out(p, s->nfns ? s->fns : &one, s->nfns ? s->nfns : 1, k->bare ? RDN_PLUGIN_ROWS : k->m.max_rows, reterr);
    if (rc == 0)
        rc = make_lanes(p, reterr);
    p->arena.oom = NULL;
    return rc;
}

/* --- generations ------------------------------------------------------------------------------------------------ */

static struct rdn_gen *new_gen(struct rdn_plugin *p, const struct rdn_pack *k, redan_error *reterr) {
    struct rdn_gen *g = rdn_zalloc(p->ps->mem, sizeof *g);
    if (!g) {
        rdn_fail(reterr, NOMEM, "", "plugin text");
        return NULL;
    }
    rdn_arena_init(&g->arena, p->ps->mem);
    g->plugin = p;
    g->number = ++p->gens;
    g->load_fd = -1;
    g->asked_ns = rdn_mono_ns();
    limit(g, k);
    g->group = rdn_group_get(p->ps, rdn_pack_role(k), p->asked.group, p->asked.preload, p->asked.npreload, reterr);
    g->tested = (p->untested || !rdn_pack_find(k, RDN_PART_ROWS)) && !(g->carry && p->live && p->live->carry);
    memcpy(g->sha256, k->sha256, sizeof g->sha256);
    if (!g->group || rdn_load_build(g, k, reterr) < 0) {
        rdn_free(p->ps->mem, g, sizeof *g);
        return NULL;
    }
    g->next = p->ps->gens;
    p->ps->gens = g;
    return g;
}

/* Golden rows in workers that are loaded and not live: without the lock, because the supervisor is needed meanwhile. */
static int read_golden(struct rdn_gen *g, const struct rdn_pack_file *f, redan_error *reterr) {
    const char *text = rdn_arena_strndup(&g->arena, f->p, f->n);       /* rows point into it, and are asked again as long as the text is live */
    if (!text)
        return rdn_fail(reterr, NOMEM, "", "golden rows");
    return rdn_rows_read(&g->arena, g->plugin->fns, g->plugin->nfns, f->shown, text, f->n, &g->golden, &g->ngolden, reterr);
}

static void run_golden(struct rdn_gen *g, const struct rdn_pack *k) {
    struct rdn_plugins *ps = g->plugin->ps;
    const struct rdn_pack_file *f = rdn_pack_find(k, RDN_PART_ROWS);
    redan_error err = { 0 };
    g->testing = true;
    pthread_mutex_unlock(&ps->mu);
    int rc = !f || g->plugin->untested ? 0 : read_golden(g, f, &err);
    if (rc == 0 && g->ngolden)
        rc = rdn_selftest_run(g, f->shown, &err);
    pthread_mutex_lock(&ps->mu);
    bool move = rc == 0 && !g->done && g->carry && g->plugin->live && g->plugin->live->carry;
    if (move)
        rc = rdn_carry_run(g, &err);
    g->testing = false;
    g->tested = true;
    if (g->done)
        return;                                         /* published; or a worker died meanwhile, and its own error stands */
    if (rc == 0) {
        rdn_gen_publish(ps, g);
    } else {
        g->err = err;
        rdn_gen_fail(ps, g);
    }
}

/* Starts one worker a lane and waits until all are ready or one failed. The lock is held on entry and on return. */
static int bring_up(struct rdn_gen *g, const struct rdn_pack *k, redan_error *reterr) {
    struct rdn_plugin *p = g->plugin;
    struct rdn_plugins *ps = p->ps;
    for (uint32_t i = 0; i < p->nseats; i++) {
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
    g->group->failed = false;                           /* somebody asks again: try to start a zygote once more */
    rdn_supervise_kick(ps);
    while (!g->done) {
        if (!g->tested && g->ready == p->nseats)
            run_golden(g, k);
        else
            pthread_cond_wait(&ps->cond, &ps->mu);
    }
    if (!g->failed)
        return 0;
    if (reterr)
        *reterr = g->err;
    int code = g->err.code;
    g->dropped = true;
    return code;
}

static int open_locked(struct rdn_plugin *p, const struct rdn_pack *k, redan_error *reterr) {
    struct rdn_gen *g = new_gen(p, k, reterr);
    if (!g)
        return REDAN_E_PLUGIN;
    p->next = p->ps->plugins;
    p->ps->plugins = p;
    return bring_up(g, k, reterr);
}

static int check_spec(const struct rdn_plugin_spec *s, redan_error *reterr) {
    bool good = s->name && s->file && *s->name && strlen(s->name) <= 64 && s->nparams <= 16 && s->lanes <= 256 && s->nfns <= RDN_MAX_FNS;
    for (uint32_t i = 0; good && i < s->nfns; i++)
        good = s->fns[i].name && strlen(s->fns[i].name) <= 64 && s->fns[i].nparams <= 16;
    if (!good)
        return rdn_fail(reterr, INVAL, "R4221", "plugin has no name or file, or too many functions, parameters or lanes");
    if (s->mem_cap_mib == 1 || s->mem_cap_mib > 512)
        return rdn_fail(reterr, INVAL, "R4203", "mem_cap_mib is 2 to 512");
    return 0;
}

struct first_error { redan_error *err; bool seen; };
static void keep_first(void *ctx, const struct rdn_finding *f) {
    struct first_error *e = ctx;
    if (f->warning || e->seen)
        return;
    e->seen = true;
    rdn_fail(e->err, PLUGIN, f->code, "%s", f->text);
    if (e->err)
        snprintf(e->err->where, sizeof e->err->where, "%.95s", f->file);
}

static bool has_role(const struct rdn_plugins *ps, const char *role) {
    char path[sizeof ps->worker + 40];
    snprintf(path, sizeof path, "%s-%s.so", ps->worker, role);
    return access(path, R_OK) == 0;
}

/* What the manifest asks for and this build or host does not have. */
static int check_pack(const struct rdn_plugins *ps, const struct rdn_pack *k, uint32_t threads, redan_error *reterr) {
    if (!strcmp(k->m.state, "carry") && !strcmp(k->m.kind, "cfn"))
        return rdn_fail(reterr, NOSUP, "R4206", "state.mode: carry for kind cfn is not in this build");
    if (k->m.threads > threads)
        return rdn_fail(reterr, NOSUP, "R4206", "native.threads asks for %u, %u are allowed here", k->m.threads, threads);
    if (!strcmp(k->m.kind, "lua") && !has_role(ps, "lua"))
        return rdn_fail(reterr, NOSUP, "R4206", "plugins of kind lua are not in this build: no redan-worker-lua.so beside redan-worker");
    /* While a library loads, only Landlock says which file it may open; a text, Python or Lua, is in the load page. */
    if (rdn_pack_is_native(k) && ps->probe.tier < RDN_TIER_CONTAINER && !ps->opt.ablate)
        return rdn_fail(reterr, NOSUP, "R4402", "native plugins need at least the container tier, here is %s", rdn_tier_text((enum rdn_tier)ps->probe.tier));
    unsigned want = 0, have = 0;
    if (k->m.python && sscanf(k->m.python, ">=3.%u", &want) == 1 && sscanf(RDN_PYTHON_MINOR, "3.%u", &have) == 1 && have < want)
        return rdn_fail(reterr, NOSUP, "R4207", "the plugin wants Python %s, workers here run %s", k->m.python, RDN_PYTHON_MINOR);
    return 0;
}

/* The file, before any of its code runs, with the events that the rules give it. */
static int check_native(struct rdn_plugin *p, const struct rdn_pack *k, redan_error *reterr) {
    const struct rdn_pack_file *f = rdn_pack_find(k, RDN_PART_ENTRY);
    const char *canons[32];
    struct rdn_elf_wish w = { .foreign = !strcmp(k->m.kind, "cfn"), .canons = canons };
    struct first_error first = { .err = reterr };
    struct rdn_report r = { .take = keep_first, .ctx = &first };
    struct rdn_buf texts[32];
    if (!rdn_pack_is_native(k))
        return 0;
    for (uint32_t i = 0; i < p->nfns; i++)
        for (uint32_t c = 0; c < p->fns[i].ncols && w.ncanons < 32; c++)
            if (p->fns[i].params[c].type.kind == RDN_WIRE_EVENT) {
                rdn_buf_init(&texts[w.ncanons], p->ps->mem);
                rdn_layout_canon(&texts[w.ncanons], &p->fns[i].params[c].type);
                canons[w.ncanons] = rdn_buf_str(&texts[w.ncanons]);
                w.ncanons++;
            }
    rdn_elf_check(f->shown, f->p, f->n, &w, &r);
    for (uint32_t i = 0; i < w.ncanons; i++)
        rdn_buf_fini(&texts[i]);
    return r.errors ? REDAN_E_PLUGIN : 0;
}

/* The manifest names the group its author wrote it for; which one the plugin gets is the operator's word. */
static int check_group(const struct rdn_plugin *p, const struct rdn_pack *k, redan_error *reterr) {
    const char *given = p->asked.group ? p->asked.group : "default";
    if (k->bare || !strcmp(k->m.group, "default") || !strcmp(k->m.group, given))
        return 0;
    return rdn_fail(reterr, PLUGIN, "R4209", "%.63s asks for trust group '%.60s', it was given '%.60s'", k->m.id, k->m.group, given);
}

static int open_pack(struct rdn_plugins *ps, const struct rdn_plugin_spec *s, const struct rdn_pack *k, struct rdn_plugin **ret, redan_error *reterr) {
    struct rdn_plugin *p = rdn_zalloc(ps->mem, sizeof *p);
    if (!p)
        return rdn_fail(reterr, NOMEM, "", "plugin %.60s", s->name);
    p->ps = ps;
    rdn_arena_init(&p->arena, ps->mem);
    int rc = check_pack(ps, k, s->native_threads, reterr);
    if (rc == 0)
        rc = describe(p, s, k, reterr);
    if (rc == 0)
        rc = check_group(p, k, reterr);
    if (rc == 0)
        rc = check_native(p, k, reterr);
    if (rc == 0) {
        pthread_mutex_lock(&ps->mu);
        rc = open_locked(p, k, reterr);
        pthread_mutex_unlock(&ps->mu);
    }
    if (rc < 0) {
        rdn_plugin_close(p);
        return rc;
    }
    *ret = p;
    return 0;
}

int rdn_plugin_open(struct rdn_plugins *ps, const struct rdn_plugin_spec *s, struct rdn_plugin **ret, redan_error *reterr) {
    struct rdn_pack *own = NULL;
    int rc = check_spec(s, reterr);
    if (rc < 0 || s->pack)
        return rc < 0 ? rc : open_pack(ps, s, s->pack, ret, reterr);
    if (!(own = rdn_zalloc(ps->mem, sizeof *own)))
        return rdn_fail(reterr, NOMEM, "", "plugin %.60s", s->name);
    rc = rdn_pack_open(ps->mem, s->file, own, NULL, reterr);
    if (rc == 0)
        rc = open_pack(ps, s, own, ret, reterr);
    rdn_pack_close(own);
    rdn_free(ps->mem, own, sizeof *own);
    return rc;
}

void rdn_plugin_lift(struct rdn_plugin *p) {
    p->quarantined = false;
    for (uint32_t i = 0; i < p->nlanes; i++) {
        p->lanes[i].ndeaths = p->lanes[i].backoff_ms = 0;
        memset(p->lanes[i].deaths_ns, 0, sizeof p->lanes[i].deaths_ns);
        atomic_store(&p->lanes[i].timeouts, 0u);
        atomic_store(&p->lanes[i].tripped, 0u);
    }
    rdn_fate_hurry(p->ps, p);
}

static int reload_locked(struct rdn_plugin *p, const struct rdn_pack *k, bool *same, redan_error *reterr) {
    *same = p->live && !memcmp(k->sha256, p->live->sha256, sizeof k->sha256) && !p->quarantined;
    if (*same)
        return 0;
    if (p->live && p->live->carry && carries(p, k) && strcmp(p->live->group->role, rdn_pack_role(k)))
        return rdn_fail(reterr, PLUGIN, "R4326", "state of kind %s cannot be given to kind %s", p->live->group->role, rdn_pack_role(k));
    struct rdn_gen *g = new_gen(p, k, reterr);
    int rc = g ? bring_up(g, k, reterr) : REDAN_E_PLUGIN;
    if (rc == 0)
        rdn_plugin_lift(p);
    return rc;
}

/* What lanes and rules rely on stays as it was opened. */
static int check_same(const struct rdn_plugin *p, const struct rdn_pack *k, redan_error *reterr) {
    bool one = p->asked.one || !strcmp(k->m.instances, "one");
    if (!k->bare && !p->bare && strcmp(k->m.id, p->name))
        return rdn_fail(reterr, PLUGIN, "R4206", "a reload of %.63s cannot bring another plugin, %.63s", p->name, k->m.id);
    if (one != p->one)
        return rdn_fail(reterr, PLUGIN, "R4206", "limits.instances cannot change while the plugin is loaded");
    return check_group(p, k, reterr);
}

static int reload(struct rdn_plugin *p, const char *file, struct rdn_pack *k, bool *ret_same, redan_error *reterr) {
    int rc = rdn_pack_open(p->ps->mem, file, k, NULL, reterr);
    if (rc < 0 || (rc = check_pack(p->ps, k, p->asked.threads, reterr)) < 0 || (rc = check_same(p, k, reterr)) < 0 || (rc = check_native(p, k, reterr)) < 0)
        return rc;
    pthread_mutex_lock(&p->ps->mu);
    rc = reload_locked(p, k, ret_same, reterr);
    pthread_mutex_unlock(&p->ps->mu);
    return rc;
}

int rdn_plugin_reload(struct rdn_plugin *p, const char *file, bool *ret_same, redan_error *reterr) {
    char *path = file ? rdn_arena_strndup(&p->arena, file, strlen(file)) : p->path;
    struct rdn_pack *k = rdn_zalloc(p->ps->mem, sizeof *k);
    bool same = false;
    int rc = path && k ? reload(p, path, k, &same, reterr) : rdn_fail(reterr, NOMEM, "", "plugin %.60s", p->name);
    if (k)
        rdn_pack_close(k);
    rdn_free(p->ps->mem, k, sizeof *k);
    if (rc < 0)
        return rc;
    p->path = path;
    if (ret_same)
        *ret_same = same;
    return rc;
}

void rdn_plugin_resume(struct rdn_plugin *p) {
    pthread_mutex_lock(&p->ps->mu);
    rdn_plugin_lift(p);
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
