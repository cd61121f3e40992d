/* SPDX-License-Identifier: Apache-2.0
 * engine.c: the engine's life, its symbols and events, and the swap.
 *
 * Publishing is one release store of eng->active. A record is freed when no open lane is on a serial number as old as its own:
 * a lane stores the serial it uses when it adopts, and never touches an older record afterwards. Rules that are planned again keep their
 * generation: to their author nothing has changed. */
#include "host/host.h"
#include "base/fault.h"
#include "base/fpmode.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void log_stderr(void *ctx, uint32_t level, const char *line) {
    (void)ctx, (void)level;
    fprintf(stderr, "redan: %s\n", line);
}

/* Every option struct begins so. */
struct sized { uint32_t size, flags; };

int rdn_options_copy(void *ret, const void *given, uint32_t flags, const char *name, redan_error *reterr) {
    const struct sized *want = ret, *have = given;
    if (!given)
        return 0;
    if (have->size < sizeof *have)
        return rdn_fail(reterr, INVAL, "", "%s.size is %u", name, have->size);
    for (uint32_t i = want->size; i < have->size; i++)
        if (((const char *)given)[i])
            return rdn_fail(reterr, INVAL, "", "%s has fields this version does not know", name);
    if (have->flags & ~flags)
        return rdn_fail(reterr, INVAL, "", "%s has flags this version does not know", name);
    uint32_t size = want->size;
    memcpy(ret, given, have->size < size ? have->size : size);
    ((struct sized *)ret)->size = size;
    return 0;
}

static int copy_options(const redan_options *opt, redan_options *ret, redan_error *reterr) {
    redan_options o = REDAN_OPTIONS_INIT;
    int rc = rdn_options_copy(&o, opt, REDAN_PREFAULT, "redan_options", reterr);
    if (rc < 0)
        return rc;
    if (!o.lanes)
        o.lanes = 1;
    if (!o.max_syms)
        o.max_syms = 1u << 20;
    if (!o.log)
        o.log = log_stderr;
    if (o.lanes > RDN_LANES_MAX)
        return rdn_fail(reterr, INVAL, "", "%u lanes, at most %u", o.lanes, RDN_LANES_MAX);
    if (o.metrics_path)
        return rdn_fail(reterr, NOSUP, "R9013", "built without metrics");
    *ret = o;
    return 0;
}

/* Lanes look at this word before each event: code memory does not survive a fork (R2108). */
static const volatile uint32_t *map_alive(void) {
    uint32_t *p = rdn_fault_hit() ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, 4096, MADV_WIPEONFORK);
    *p = 1;
    return p;
}

int redan_open(redan_engine **ret, const redan_options *opt, redan_error *reterr) {
    redan_options o;
    if (!ret)
        return rdn_fail(reterr, INVAL, "", "no place for the engine");
    int rc = copy_options(opt, &o, reterr);
    if (rc < 0)
        return rc;
    const char *backend = o.backend ? o.backend : "auto";
    if (!rdn_backend_known(backend))
        return rdn_fail(reterr, INVAL, "R2106", "unknown backend '%.40s'", backend);
    struct rdn_mem mem = o.realloc ? (struct rdn_mem){ o.ctx, o.realloc } : rdn_libc_mem;
    redan_engine *e = rdn_zalloc(&mem, sizeof *e);
    if (!e)
        return rdn_fail(reterr, NOMEM, "", "no memory for the engine");
    e->mem = mem;
    e->opt = o;
    strncpy(e->backend, backend, sizeof e->backend - 1);
    e->opt.backend = e->backend;
    pthread_mutex_init(&e->lock, NULL);
    rdn_arena_init(&e->names, &e->mem);
    rc = rdn_engine_jit_open(e, o.jit, reterr);
    if (rc < 0) {
        redan_close(e);
        return rc;
    }
    e->opt.jit = NULL;                                   /* the caller's */
    if (rdn_syms_open(&e->syms, &e->mem, o.max_syms) < 0 || !(e->alive = map_alive())) {
        redan_close(e);
        return rdn_fail(reterr, NOMEM, "", "no memory for the symbol table");
    }
    *ret = e;
    return 0;
}

static void free_active(struct redan_engine *e, struct rdn_active *a) {
    for (uint32_t i = 0; i < e->opt.lanes; i++)
        rdn_binding_close(a->bind[i]);
    rdn_program_close(a->prog);
    rdn_ruleset_unref(a->rs);
    rdn_free(&e->mem, a, sizeof *a);
}

/* Oldest serial an open lane may still use. */
static uint64_t oldest_in_use(struct redan_engine *e, uint64_t active) {
    uint64_t min = active;
    for (uint32_t i = 0; i < e->opt.lanes; i++) {
        if (!e->lanes[i])
            continue;
        /* 0 counts too: a lane that never judged may be adopting any record right now. */
        uint64_t s = atomic_load_explicit(&e->lanes[i]->serial, memory_order_acquire);
        if (s < min)
            min = s;
    }
    return min;
}

/* Frees the retired records that no lane can be inside; false: there is none. The caller holds the lock. */
static bool reclaim(struct redan_engine *e) {
    bool freed = false;
    struct rdn_active *act = atomic_load_explicit(&e->active, memory_order_relaxed);
    uint64_t min = act ? oldest_in_use(e, act->serial) : UINT64_MAX;
    if (e->no_grace)
        min = UINT64_MAX;
    for (struct rdn_active **p = &e->retired; *p;) {
        struct rdn_active *a = *p;
        if (a->serial < min) {
            *p = a->older;
            free_active(e, a);
            freed = true;
        } else {
            p = &a->older;
        }
    }
    return freed;
}

static _Thread_local bool holds_lock, spares_history;
void rdn_engine_spare_history(bool spare) { spares_history = spare; }
int rdn_engine_batches(struct rdn_program *p, redan_error *reterr) {
    holds_lock = true;
    int rc = rdn_program_batches(p, reterr);
    holds_lock = false;
    return rc;
}

bool rdn_engine_make_room(void *engine) {
    struct redan_engine *e = engine;
    struct redan_ruleset *oldest = NULL;
    if (holds_lock)
        return false;
    pthread_mutex_lock(&e->lock);
    bool freed = reclaim(e);
    if (!freed && e->nhistory && !spares_history)
        oldest = e->history[--e->nhistory];
    if (oldest)
        rdn_ruleset_unref(oldest);
    pthread_mutex_unlock(&e->lock);
    return freed || oldest;
}

int rdn_engine_alive(const struct redan_engine *e, redan_error *reterr) {
    return *e->alive ? 0 : rdn_fail(reterr, CLOSED, "R2108", "the engine was opened in the parent process; open a new one in the child");
}

void redan_close(redan_engine *e) {
    if (!e)
        return;
    struct rdn_active *act = atomic_load(&e->active);
    if (act)
        free_active(e, act);
    atomic_store(&e->active, NULL);
    reclaim(e);
    for (uint32_t i = 0; i < e->nhistory; i++)
        rdn_ruleset_unref(e->history[i]);
    rdn_keytab_drop_spares(&e->spares);
    rdn_dispatch_close(e);
    rdn_syms_close(e->syms);
    rdn_engine_jit_close(e);
    rdn_arena_trim(0);
    if (e->alive)
        munmap((void *)(uintptr_t)e->alive, 4096);
    rdn_arena_fini(&e->names);
    pthread_mutex_destroy(&e->lock);
    struct rdn_mem mem = e->mem;
    rdn_free(&mem, e, sizeof *e);
}

int redan_sym(redan_engine *e, const char *text, size_t len, uint32_t *ret_id) {
    if (!len)
        text = "";                                       /* NULL is as good */
    if (len > 255 || !rdn_utf8_valid(text, len) || memchr(text, 0, len))
        return REDAN_E_INVAL;
    return rdn_sym_intern(e->syms, text, len, ret_id);
}

/* ---- events ---- */
static int16_t find_event(const struct rdn_ir *ir, const char *name) {
    for (uint32_t i = 0; i < ir->nevents; i++)
        if (strcmp(ir->events[i].name, name) == 0)
            return (int16_t)i;
    return -1;
}

static int layout_fail(const char *name, uint64_t got, uint64_t want, redan_error *reterr) {
    return rdn_fail(reterr, LAYOUT, "R3011", "event %.60s has layout %016llx, the caller was compiled for %016llx", name,
                    (unsigned long long)got, (unsigned long long)want);
}

/* Maps every bound event name to the rule set's events; LAYOUT when one differs. */
static int map_events(struct redan_engine *e, struct rdn_active *a, redan_error *reterr) {
    rdn_active_map_tables(e, a);
    memset(a->evmap, 0xff, sizeof a->evmap);
    for (uint32_t i = 0; i < e->nevents; i++) {
        int16_t x = find_event(a->rs->ir, e->events[i].name);
        if (x >= 0 && a->rs->ir->events[x].layout_hash != e->events[i].layout)
            return layout_fail(e->events[i].name, a->rs->ir->events[x].layout_hash, e->events[i].layout, reterr);
        a->evmap[i] = x;
    }
    return 0;
}

static int bind_event(struct redan_engine *e, const char *name, uint64_t layout, uint32_t *ret, redan_error *reterr) {
    struct rdn_active *a = atomic_load_explicit(&e->active, memory_order_relaxed);
    int16_t x = a ? find_event(a->rs->ir, name) : -1;
    if (x >= 0 && a->rs->ir->events[x].layout_hash != layout)
        return layout_fail(name, a->rs->ir->events[x].layout_hash, layout, reterr);
    uint32_t n = e->nevents;
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(e->events[i].name, name) != 0)
            continue;
        if (e->events[i].layout != layout)
            return layout_fail(name, e->events[i].layout, layout, reterr);
        *ret = i;
        return 0;
    }
    if (n == RDN_EVENTS_MAX)
        return rdn_fail(reterr, FULL, "R3012", "more than %u event names", RDN_EVENTS_MAX);
    const char *copy = rdn_arena_strndup(&e->names, name, strlen(name));
    if (!copy)
        return rdn_fail(reterr, NOMEM, "", "no memory for an event name");
    e->events[n] = (struct rdn_bound){ copy, layout };
    if (a)
        a->evmap[n] = x;
    atomic_store_explicit(&e->nevents, n + 1, memory_order_release);
    *ret = n;
    return 0;
}

int redan_event(redan_engine *e, const char *name, uint64_t layout, uint32_t *ret_event, redan_error *reterr) {
    rdn_tag_setup_begin(e, "redan_event");
    pthread_mutex_lock(&e->lock);
    int rc = bind_event(e, name, layout, ret_event, reterr);
    pthread_mutex_unlock(&e->lock);
    rdn_tag_setup_end(e);
    return rc;
}

/* ---- rule sets ---- */
int redan_compile(redan_engine *e, const char *name, const char *text, size_t len, const redan_compilation *c, redan_ruleset **ret,
                  redan_error *reterr) {
    if (!ret || (!text && len))
        return rdn_fail(reterr, INVAL, "", "no text or no place for the rule set");
    int rc = rdn_engine_alive(e, reterr);
    if (rc < 0)
        return rc;
    uint32_t mode = rdn_fpmode_enter();                  /* constants are folded, tests run, code is compared */
    rc = rdn_ruleset_open(e, name, text, len, c, ret, reterr);
    rdn_fpmode_leave(mode);
    return rc;
}

void redan_release(redan_ruleset *rs) {
    if (rs)
        rdn_ruleset_unref(rs);
}

static int check_lanes(struct redan_engine *e, const struct redan_ruleset *rs, redan_error *reterr) {
    if (!rs->may_wait)
        return 0;
    for (uint32_t i = 0; i < e->opt.lanes; i++)
        if (e->lanes[i] && !(e->lanes[i]->flags & REDAN_LANE_MAY_WAIT))
            return rdn_fail(reterr, INVAL, "R3007", "'%.60s' calls plugins or kernels, but lane %u was opened without MAY_WAIT", rs->ir->name, i);
    return 0;
}

static int check_swap(struct redan_engine *e, struct redan_ruleset *rs, uint64_t expect, redan_error *reterr) {
    struct rdn_active *old = atomic_load_explicit(&e->active, memory_order_relaxed);
    if (rs->eng != e)
        return rdn_fail(reterr, INVAL, "", "the rule set belongs to another engine");
    if (expect && (!old || old->generation != expect))
        return rdn_fail(reterr, STALE, "R3009", "generation %llu is not active, %llu is", (unsigned long long)expect,
                        (unsigned long long)(old ? old->generation : 0));
    if (old && e->opt.lanes > 1) {
        const char *a = old->rs->ir->partition, *b = rs->ir->partition;
        if ((!a != !b) || (a && strcmp(a, b) != 0))
            return rdn_fail(reterr, INVAL, "R3013", "the partition field is %s, the active rules have %s", b ? b : "none", a ? a : "none");
    }
    return check_lanes(e, rs, reterr);
}

/* Keeps the rule set that was active for rollback. */
static void remember(struct redan_engine *e, struct redan_ruleset *old) {
    if (e->nhistory == e->keep_units)
        rdn_ruleset_unref(e->history[--e->nhistory]);
    memmove(e->history + 1, e->history, e->nhistory * sizeof *e->history);
    e->history[0] = old;
    e->nhistory++;
    rdn_ruleset_ref(old);
}

static int prepare(struct redan_engine *e, struct redan_ruleset *rs, struct rdn_active **ret, redan_error *reterr) {
    struct rdn_active *a = rdn_zalloc(&e->mem, sizeof *a);
    if (!a)
        return rdn_fail(reterr, NOMEM, "", "no memory for a generation");
    a->rs = rs;
    a->prog = rdn_program_ref(rs->prog);
    rdn_ruleset_ref(rs);
    int rc = map_events(e, a, reterr);
    for (uint32_t i = 0; i < e->opt.lanes && rc == 0; i++)
        if (e->lanes[i])
            rc = rdn_binding_open(a, e->lanes[i], &a->bind[i], reterr);
    if (rc < 0) {
        free_active(e, a);
        return rc;
    }
    *ret = a;
    return 0;
}

/* To other rules, to the ones before, or to the active ones in other code. */
enum change { CHANGE_NEXT, CHANGE_BACK, CHANGE_PLAN };
static int activate(struct redan_engine *e, struct redan_ruleset *rs, uint64_t expect, enum change how, uint64_t *ret_generation, redan_error *reterr) {
    int rc = check_swap(e, rs, expect, reterr);
    if (rc < 0)
        return rc;
    rc = rdn_dispatch_bind(e, rs, reterr);
    if (rc < 0)
        return rc;
    reclaim(e);
    struct rdn_active *a = NULL, *old = atomic_load_explicit(&e->active, memory_order_relaxed);
    uint32_t mode = rdn_fpmode_enter();                  /* code for batches may be made now */
    rc = prepare(e, rs, &a, reterr);
    rdn_fpmode_leave(mode);
    if (rc < 0)
        return rc;
    a->serial = ++e->serial;
    a->generation = how == CHANGE_PLAN ? old->generation : ++e->generation;
    if (old && how == CHANGE_NEXT && old->rs != rs)
        remember(e, old->rs);
    atomic_store_explicit(&e->active, a, memory_order_release);
    if (old) {
        old->older = e->retired;
        e->retired = old;
    }
    reclaim(e);
    if (ret_generation)
        *ret_generation = a->generation;
    return 0;
}

int rdn_engine_republish(struct redan_engine *e, uint64_t *ret_generation, redan_error *reterr) {
    return activate(e, atomic_load_explicit(&e->active, memory_order_relaxed)->rs, 0, CHANGE_PLAN, ret_generation, reterr);
}

int redan_activate(redan_engine *e, redan_ruleset *rs, const redan_activation *act, uint64_t *ret_generation, redan_error *reterr) {
    redan_activation a = REDAN_ACTIVATION_INIT;
    int rc = rs ? rdn_options_copy(&a, act, 0, "redan_activation", reterr) : rdn_fail(reterr, INVAL, "", "no rule set");
    if (rc < 0)
        return rc;
    rdn_tag_setup_begin(e, "redan_activate");
    pthread_mutex_lock(&e->lock);
    rc = rdn_engine_alive(e, reterr);
    if (rc == 0)
        rc = activate(e, rs, a.expect, CHANGE_NEXT, ret_generation, reterr);
    pthread_mutex_unlock(&e->lock);
    rdn_tag_setup_end(e);
    return rc;
}

int redan_rollback(redan_engine *e, uint64_t *ret_generation, redan_error *reterr) {
    rdn_tag_setup_begin(e, "redan_rollback");
    pthread_mutex_lock(&e->lock);
    int rc = rdn_engine_alive(e, reterr);
    if (rc == 0)
        rc = e->nhistory ? activate(e, e->history[0], 0, CHANGE_BACK, ret_generation, reterr)
                         : rdn_fail(reterr, INVAL, "R3010", "no earlier rule set to go back to");
    if (rc == 0) {
        rdn_ruleset_unref(e->history[0]);
        e->nhistory--;
        memmove(e->history, e->history + 1, e->nhistory * sizeof *e->history);
    }
    pthread_mutex_unlock(&e->lock);
    rdn_tag_setup_end(e);
    return rc;
}

const char *rdn_code_text(const char *id) {
    static const struct { const char *id, *text; } rows[] = {
#define CODE(id, text) { id, text },
#include "host/codes.def"
#undef CODE
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].id, id) == 0)
            return rows[i].text;
    return NULL;
}
