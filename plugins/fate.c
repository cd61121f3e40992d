/* SPDX-License-Identifier: Apache-2.0
 * fate.c: one worker's way through its phases, as the supervisor drives it. Under the lock.
 *
 *   NEW -> FORKING -> LOADING -> SERVING <-> STOPPING          (late calls: SIGUSR1, grace, SIGKILL)
 *                        |          |           |
 *                        +----------+-----------+--> DYING -> GONE      the process is reaped; a new one is made
 *
 * The lane knows only .state; what a phase waits for is rechecked at every look, so a lost event costs a millisecond. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "plugins/parts.h"

enum { DEATHS_TO_QUARANTINE = 3 };
static const int64_t ms = 1000000, never = INT64_MAX, second = 1000000000;
static const uint32_t uid_base = 1900000000u, uid_count = 4096;

/* --- ending ----------------------------------------------------------------------------------------------------- */

static void wake_lane(struct rdn_work *w) {
    if (atomic_load(&w->lane->using) == w)
        rdn_futex_wake(&w->res->seq);
}

void rdn_fate_kill(struct rdn_work *w, const char *cause) {
    if (w->phase >= RDN_WP_DYING)
        return;
    w->killed = true;
    if (!w->cause)
        w->cause = cause;
    rdn_work_die(w);
    if (w->pidfd >= 0)
        rdn_pidfd_kill(w->pidfd, SIGKILL);
    w->phase = w->pidfd >= 0 ? RDN_WP_DYING : RDN_WP_GONE;
    w->due_ns = rdn_mono_ns() + second;
    wake_lane(w);
}

static void soft_stop(struct rdn_work *w, int64_t now, enum rdn_wphase next) {
    uint32_t call = atomic_load_explicit(&w->posted, memory_order_acquire);
    atomic_store(&w->req->stop_seq, call);
    rdn_pidfd_kill(w->pidfd, SIGUSR1);
    w->phase = next;
    w->due_ns = now + w->gen->plugin->grace_ns;
}

/* --- generations ------------------------------------------------------------------------------------------------ */

void rdn_gen_fail(struct rdn_plugins *ps, struct rdn_gen *g) {
    g->failed = 1;
    g->done = true;
    for (struct rdn_work *w = ps->works; w; w = w->next)
        if (w->gen == g) {
            w->retired = true;
            rdn_fate_kill(w, "retired");
        }
    pthread_cond_broadcast(&ps->cond);
}

void rdn_gen_publish(struct rdn_plugins *ps, struct rdn_gen *g) {
    struct rdn_plugin *p = g->plugin;
    struct rdn_gen *old = p->live;
    for (struct rdn_work *w = ps->works; w; w = w->next) {
        if (w->gen == g && w->phase == RDN_WP_SERVING && !w->retired)
            rdn_work_publish(w);
        else if (w->gen == old && old)
            w->retired = true;
    }
    if (g->back) {                                      /* the text that failed goes; the one that is back needs no probation */
        old->dropped = true;
        old = p->before = NULL;
        g->back = false;
        p->rollbacks++;
        rdn_plugin_lift(p);
    }
    rdn_probation_begin(ps, p, old);
    atomic_store(&p->cap_ns, g->cap_ns);
    for (struct rdn_wfunc *f = p->fns; f < p->fns + p->nfns; f++)
        atomic_store(&f->rows, g->max_rows < f->max_rows ? g->max_rows : f->max_rows);
    p->live = g;
    g->live = g->done = true;
    g->ready_ns = rdn_mono_ns();
    pthread_cond_broadcast(&ps->cond);
}

void rdn_gen_tidy(struct rdn_plugins *ps) {
    for (struct rdn_gen **at = &ps->gens; *at;) {
        struct rdn_gen *g = *at;
        if (!g->dropped || g->nworks) {
            at = &g->next;
            continue;
        }
        *at = g->next;
        if (g->load_fd >= 0)
            close(g->load_fd);
        rdn_arena_fini(&g->arena);
        rdn_free(ps->mem, g, sizeof *g);
    }
}

/* --- starting --------------------------------------------------------------------------------------------------- */

/* The layers a worker must report. A kind that makes machine code cannot live under MDWE; its filter keeps W and X apart. */
static uint32_t promised(const struct rdn_plugins *ps, const struct rdn_work *w) {
    return strcmp(w->gen->group->role, "lua") ? ps->promised : ps->promised & ~(uint32_t)RDN_GOT_MDWE;
}

static void ask(struct rdn_plugins *ps, struct rdn_work *w, struct rdn_zyg *y, int64_t now) {
    uint32_t uid = ps->promised & RDN_GOT_UID ? uid_base + ps->uid_slot++ % uid_count : 0;
    struct rdn_ctl_spawn s = { .magic = RDN_CTL_MAGIC, .kind = RDN_CTL_SPAWN, .token = w->token, .uid = uid, .gid = uid,
                               .want = promised(ps, w), .deny = ps->opt.deny, .cap_bytes = w->gen->mem_cap,
                               .req_bytes = (uint32_t)w->req_bytes, .res_bytes = (uint32_t)w->res_bytes, .load_bytes = w->gen->load_bytes,
                               .threads = w->gen->threads };
    int fds[] = { w->req_fd, w->res_fd, w->gen->load_fd };
    int rc = rdn_ctl_send(y->z.sock, &s, sizeof s, fds, 3);
    if (rc == -EAGAIN) {                                /* the socket is full: the zygote is busy, or it hangs */
        w->asked_ns = w->asked_ns ? w->asked_ns : now;
        if (now - w->asked_ns < 2 * second)
            return;
        w->asked_ns = 0;
        rdn_zyg_stuck(ps, y);
        return;
    }
    if (rc < 0) {
        rdn_zyg_lost(ps, y);
        return;
    }
    w->zyg = y;
    y->workers++;
    w->asked_ns = now;
    w->due_ns = now + 2 * second;
    w->phase = RDN_WP_FORKING;
}

static void respawn(struct rdn_plugins *ps, struct rdn_work *dead, int64_t now);
static void not_confined(struct rdn_plugins *ps, struct rdn_work *w, const char *why) {
    struct rdn_gen *g = w->gen;
    rdn_plugins_log(ps, 1, "R4403 plugin %s: worker is not confined: %s", g->plugin->name, why);
    if (!g->done) {
        rdn_fail(&g->err, PLUGIN, "R4403", "worker is not confined: %s", why);
        rdn_gen_fail(ps, g);
    }
    bool lost = g->live && !w->retired && w->pidfd < 0 && w->phase < RDN_WP_DYING;      /* a fork that failed: nobody will bury it */
    rdn_fate_kill(w, "not confined");
    if (lost) {
        w->gone_ns = rdn_mono_ns();
        respawn(ps, w, w->gone_ns);
    }
}

static void step_failed(struct rdn_plugins *ps, struct rdn_work *w) {
    char why[128];
    snprintf(why, sizeof why, "step %u (%s): %s", w->step, rdn_cstep_text(w->step), strerror(w->err));
    not_confined(ps, w, why);
}

static void check_confined(struct rdn_plugins *ps, struct rdn_work *w, int64_t now) {
    char why[128];
    uint32_t missing = promised(ps, w) & ~(w->got | w->zyg->got);
    if (w->step) {
        step_failed(ps, w);
    } else if (missing) {
        snprintf(why, sizeof why, "layer %s is missing", rdn_mech_text((unsigned)__builtin_ctz(missing)));
        not_confined(ps, w, why);
    } else {
        w->phase = RDN_WP_LOADING;
        w->due_ns = now + w->gen->plugin->load_ns;
    }
}

void rdn_fate_report(struct rdn_plugins *ps, const struct rdn_ctl_report *r, int fd) {
    struct rdn_work *w = ps->works;
    while (w && w->token != r->token)
        w = w->next;
    if (!w) {                                           /* given up meanwhile: nothing may be left running */
        if (fd >= 0 && r->kind == RDN_CTL_SPAWNED)
            rdn_pidfd_kill(fd, SIGKILL);
        if (fd >= 0)
            close(fd);
        return;
    }
    int *slot = r->kind == RDN_CTL_SPAWNED ? &w->pidfd : &w->listener;
    if (fd >= 0 && (*slot >= 0 || r->kind == RDN_CTL_EXIT)) {
        close(fd);
    } else if (fd >= 0) {
        *slot = fd;
        rdn_supervise_watch(ps, fd, w, r->kind == RDN_CTL_SPAWNED ? RDN_EV_PIDFD : RDN_EV_LISTENER);
    }
    if (r->kind == RDN_CTL_SPAWNED) {
        w->pid = r->pid;
        w->spawned = fd >= 0;
        if (!w->spawned) {
            w->err = r->err;
            w->step = 0;
            not_confined(ps, w, strerror(r->err));
        } else if (w->phase == RDN_WP_GONE) {           /* given up meanwhile */
            rdn_pidfd_kill(fd, SIGKILL);
        }
    } else if (r->kind == RDN_CTL_CONFINED) {
        w->confined = true;
        w->got = r->got;
        w->step = r->step;
        w->err = r->err;
    } else {
        w->exited = true;
        w->wait_status = r->err;
    }
}

/* --- loading ---------------------------------------------------------------------------------------------------- */

static void load_failed(struct rdn_plugins *ps, struct rdn_work *w, enum rdn_outcome out, uint32_t sig) {
    struct rdn_note_body b;
    struct rdn_gen *g = w->gen;
    rdn_note_take(&b, w->res, out);
    b.generation = g->number;
    b.sig = sig;
    if (out == RDN_OUT_DIED)
        b.status = WIFEXITED(w->wait_status) ? (uint32_t)WEXITSTATUS(w->wait_status) : 0;
    if (!g->done) {
        rdn_message_load(g->plugin, &b, &g->err);
        rdn_gen_fail(ps, g);
    }
}

/* Threads of a worker beside its first one. /proc counts them as folders; by pid, which the zygote has not reaped while this is asked. */
static uint32_t extra_threads(const struct rdn_work *w) {
    char path[40];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/task", (int)w->pid);
    return stat(path, &st) == 0 && st.st_nlink > 2 ? (uint32_t)st.st_nlink - 3 : UINT32_MAX;
}

/* No limit of the kernel counts the threads of one process, so they are counted here: at each look while the library is loaded, when that is over
 * and no more can be started, and then once a second, because a hostile one may have got around that. */
static bool too_many_threads(struct rdn_plugins *ps, struct rdn_work *w) {
    struct rdn_gen *g = w->gen;
    uint32_t n = g->threads ? extra_threads(w) : 0;
    if (n <= g->threads)
        return false;
    if (!g->done && n == UINT32_MAX)
        rdn_fail(&g->err, NOSUP, "R4206", "native.threads: they cannot be counted here, there is no /proc");
    else if (!g->done)
        rdn_fail(&g->err, PLUGIN, "R4206", "native.threads is %u, the library runs %u threads", g->threads, n);
    if (!g->done)
        rdn_gen_fail(ps, g);
    rdn_fate_kill(w, "threads");
    return true;
}

static void loaded(struct rdn_plugins *ps, struct rdn_work *w) {
    struct rdn_gen *g = w->gen;
    if (w->retired) {                                   /* another text went live meanwhile: this lane has its worker */
        rdn_fate_kill(w, "retired");
        return;
    }
    uint32_t status = rdn_load32(&w->res->status);
    if (status != RDN_ST_OK) {
        load_failed(ps, w, status == RDN_ST_TIMEOUT ? RDN_OUT_TIMEOUT : RDN_OUT_EXCEPTION, 0);
        rdn_fate_kill(w, "load");
        return;
    }
    w->phase = RDN_WP_SERVING;
    w->due_ns = never;
    rdn_work_move(w, RDN_W_STARTING, RDN_W_READY);
    if (g->live) {
        rdn_work_publish(w);
    } else if (++g->ready == g->plugin->nseats) {
        if (g->tested)
            rdn_gen_publish(ps, g);
        else
            pthread_cond_broadcast(&ps->cond);          /* the opener runs the golden rows first */
    }
}

/* --- death ------------------------------------------------------------------------------------------------------ */

static bool memory_crash(int sig) { return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGSYS; }

static void quarantine(struct rdn_plugins *ps, struct rdn_plugin *p) {
    p->quarantined = true;
    for (uint32_t i = 0; i < p->nlanes; i++)
        atomic_store(&p->lanes[i].tripped, 2u);
    rdn_plugins_log(ps, 1, "R4311 plugin %s: 3 deaths in 60 s, quarantined until it is reloaded or resumed", p->name);
}

/* When to start the next one: at once, then 100 ms doubled up to 10 s while deaths go on. */
static int64_t backoff(struct rdn_wlane *l, int64_t now) {
    int64_t last = l->ndeaths ? l->deaths_ns[(l->ndeaths - 1) % 3] : 0;
    l->backoff_ms = !last || now - last > 10 * second ? 0 : l->backoff_ms ? l->backoff_ms * 2 : 100;
    if (l->backoff_ms > 10000)
        l->backoff_ms = 10000;
    l->deaths_ns[l->ndeaths++ % 3] = now;
    return now + l->backoff_ms * ms;
}

static void respawn(struct rdn_plugins *ps, struct rdn_work *dead, int64_t now) {
    struct rdn_plugin *p = dead->gen->plugin;
    struct rdn_wlane *l = dead->lane;
    struct rdn_work *w;
    int64_t at = backoff(l, now);
    p->deaths++;
    p->gone_ns = dead->gone_ns;
    if (l->ndeaths >= DEATHS_TO_QUARANTINE && now - l->deaths_ns[l->ndeaths % 3] < 60 * second && !p->quarantined)
        quarantine(ps, p);
    if (rdn_work_new(dead->gen, l, &w, NULL) < 0)
        return;                                         /* memory: the lane stays NOT_READY until a reload */
    p->restarts++;
    w->due_ns = at;
    w->next = ps->works;
    ps->works = w;
}

/* The newest call is a trial's or a hand-over's: no lane counted it. */
static bool uncounted(const struct rdn_work *w) { return w->trial || w->moving; }

/* The lane said TIMEOUT, DIED or BAD_REPLY at once; what really ended the call is known only now. */
static enum rdn_outcome verdict(struct rdn_work *w, int sig) {
    struct rdn_wlane *l = w->lane;
    bool by_us = w->killed && sig == SIGKILL, called = atomic_load(&w->posted) > 1 && !uncounted(w);
    if (!w->was_late && by_us && !w->cause)
        return RDN_OUT_BAD_REPLY;                       /* condemned by the lane, which counted it */
    enum rdn_outcome out = w->was_late && by_us ? RDN_OUT_KILLED : RDN_OUT_DIED;
    uint32_t said = w->was_late ? RDN_OUT_TIMEOUT : RDN_OUT_BAD_REPLY;
    if (called && w->was_late) {
        l->moved[RDN_OUT_TIMEOUT]--;
        l->moved[out]++;
    }
    if (called)
        atomic_compare_exchange_strong(&l->last, &said, (uint32_t)out);
    return out;
}

static void death_note(struct rdn_plugins *ps, struct rdn_work *w, enum rdn_outcome out, int sig) {
    struct rdn_note_body b;
    char line[640];
    struct rdn_plugin *p = w->gen->plugin;
    rdn_note_take(&b, w->res, out);
    b.generation = w->gen->number;
    b.sig = (uint32_t)sig;
    b.status = WIFEXITED(w->wait_status) ? (uint32_t)WEXITSTATUS(w->wait_status) : 0;
    b.allowed_ns = w->lane->fn ? rdn_call_allowed(p, w->lane->fn) : atomic_load(&p->cap_ns);
    if (w->cause && w->killed)
        b.err_len = (uint32_t)snprintf(b.err_text, sizeof b.err_text, "killed: %s", w->cause);
    rdn_note_write(&w->lane->death.version, w->lane->death.words, &b, sizeof b);
    atomic_store(&w->lane->death_newer, 1u);
    w->lane->timeout_due = false;                       /* the line of the kill says more */
    rdn_message_line(p, &b, w->lane->index, line, sizeof line);
    rdn_plugins_log(ps, 1, "%s", line);
}

static void buried(struct rdn_plugins *ps, struct rdn_work *w, int64_t now) {
    struct rdn_gen *g = w->gen;
    int sig = w->exited && WIFSIGNALED(w->wait_status) ? WTERMSIG(w->wait_status) : w->exited ? 0 : SIGKILL;
    struct rdn_work *cur = w;
    atomic_compare_exchange_strong(&w->lane->cur, &cur, NULL);
    if (memory_crash(sig))
        rdn_zyg_taint(ps, w->zyg);
    w->phase = RDN_WP_GONE;
    if (w->retired)
        return;
    if (!g->live && w->confined && w->step) {           /* its end was seen before its report */
        step_failed(ps, w);
        return;
    }
    if (!g->live) {
        load_failed(ps, w, w->was_late ? RDN_OUT_KILLED : RDN_OUT_DIED, (uint32_t)sig);
        return;
    }
    death_note(ps, w, verdict(w, sig), sig);
    respawn(ps, w, now);
}

void rdn_fate_gone(struct rdn_plugins *ps, struct rdn_work *w) {
    (void)ps;
    if (!w->gone_ns)
        w->gone_ns = rdn_mono_ns();
    rdn_work_die(w);
    if (w->phase < RDN_WP_DYING)
        w->phase = RDN_WP_DYING;
    wake_lane(w);
}

/* --- one look --------------------------------------------------------------------------------------------------- */

static int64_t look_new(struct rdn_plugins *ps, struct rdn_work *w, int64_t now) {
    struct rdn_wgroup *group = w->gen->group;
    if (w->due_ns > now)
        return w->due_ns;                               /* backing off */
    if (w->retired) {
        w->phase = RDN_WP_GONE;
        return now;
    }
    struct rdn_zyg *y = rdn_group_zygote(ps, group);
    if (y)
        ask(ps, w, y, now);
    else if (group->failed && !w->gen->done) {
        w->gen->err = group->err;
        rdn_gen_fail(ps, w->gen);
    }
    return w->phase == RDN_WP_NEW ? now + 50 * ms : now + ms;
}

static int64_t look_forking(struct rdn_plugins *ps, struct rdn_work *w, int64_t now) {
    if (w->spawned && w->confined) {
        check_confined(ps, w, now);
        return now;
    }
    if (now >= w->due_ns) {
        if (!w->spawned)
            rdn_zyg_stuck(ps, w->zyg);
        not_confined(ps, w, "no answer within 2 s");
    }
    return w->due_ns;
}

static int64_t look_loading(struct rdn_plugins *ps, struct rdn_work *w, int64_t now) {
    uint32_t seq = atomic_load_explicit(&w->res->seq, memory_order_acquire);
    if (too_many_threads(ps, w))
        return now;
    if (seq == 1) {
        loaded(ps, w);
        return now;
    }
    if (seq) {
        rdn_fate_kill(w, NULL);
        return now;
    }
    if (now >= w->due_ns) {
        if (w->phase == RDN_WP_LOADING) {
            soft_stop(w, now, RDN_WP_LOAD_STOP);
        } else {
            w->was_late = true;
            rdn_fate_kill(w, NULL);
        }
    }
    return now + ms / 10;
}

static int64_t look_serving(struct rdn_work *w, int64_t now) {
    switch ((enum rdn_wstate)atomic_load(&w->state)) {
    case RDN_W_LATE:
        w->was_late = true;
        soft_stop(w, now, RDN_WP_STOPPING);
        return now + ms / 10;
    case RDN_W_DEAD: rdn_fate_kill(w, NULL); return now;
    case RDN_W_READY:
        if (w->retired && rdn_work_move(w, RDN_W_READY, RDN_W_DEAD))
            rdn_fate_kill(w, "retired");
        return w->retired ? now + ms : rdn_breaker_look(w, now);
    case RDN_W_MOVING: return w->trial ? rdn_breaker_look(w, now) : w->retired ? now + ms : never;
    case RDN_W_BUSY: case RDN_W_STARTING: case RDN_W_STATES: break;
    }
    return w->retired ? now + ms : never;
}

/* The lane's note of a late call knows no place; the worker that was stopped does. Its page is read while the lane may not post. */
static void stopped_note(struct rdn_plugins *ps, struct rdn_work *w) {
    struct rdn_wlane *l = w->lane;
    struct rdn_note_body b, lane;
    char line[640];
    rdn_note_read(&l->note.version, l->note.words, &lane, sizeof lane);
    rdn_note_take(&b, w->res, RDN_OUT_TIMEOUT);
    b.generation = w->gen->number;
    b.used_ns = lane.used_ns;
    b.allowed_ns = lane.allowed_ns;
    if (b.status != RDN_ST_TIMEOUT)                     /* it answered a little late, by itself */
        b.tb_len = 0;
    rdn_note_write(&l->death.version, l->death.words, &b, sizeof b);
    atomic_store(&l->death_newer, 1u);
    if (!l->timeout_due)
        return;
    l->timeout_due = false;
    rdn_message_line(w->gen->plugin, &b, l->index, line, sizeof line);
    rdn_plugins_log(ps, 1, "%s", line);
}

bool rdn_fate_stopping(struct rdn_wlane *l) {
    struct rdn_work *w = atomic_load(&l->cur);
    return w && (w->phase == RDN_WP_STOPPING || w->phase == RDN_WP_DYING || atomic_load(&w->state) == RDN_W_LATE);
}

static int64_t look_stopping(struct rdn_plugins *ps, struct rdn_work *w, int64_t now) {
    uint32_t call = atomic_load(&w->posted), seq = atomic_load_explicit(&w->res->seq, memory_order_acquire);
    if (seq == call && atomic_load(&w->state) == RDN_W_LATE && !uncounted(w))
        stopped_note(ps, w);
    if (seq == call && rdn_work_move(w, RDN_W_LATE, RDN_W_READY)) {
        w->trial = 0;
        w->moving = false;
        w->phase = RDN_WP_SERVING;
        w->was_late = false;
        return now;
    }
    bool sane = seq == call || seq == (call - 1 ? call - 1 : call - 2);
    if (now < w->due_ns && sane)
        return now + ms / 10;
    rdn_fate_kill(w, NULL);                             /* an answer number out of order is not worth the grace time */
    return now;
}

/* The zygote's word on the exit status comes a little after the pidfd; without a zygote it never comes. */
static int64_t look_dying(struct rdn_plugins *ps, struct rdn_work *w, int64_t now) {
    wake_lane(w);
    int64_t patience = w->killed && w->was_late ? 2 * ms : second / 2;      /* what we did ourselves needs no report */
    if (w->gone_ns && (w->exited || now - w->gone_ns > patience || w->zyg->failed)) {
        buried(ps, w, now);
        return now;
    }
    return now + ms;
}

int64_t rdn_fate_step(struct rdn_plugins *ps, struct rdn_work *w, int64_t now) {
    switch (w->phase) {
    case RDN_WP_NEW: return look_new(ps, w, now);
    case RDN_WP_FORKING: return look_forking(ps, w, now);
    case RDN_WP_LOADING: case RDN_WP_LOAD_STOP: return look_loading(ps, w, now);
    case RDN_WP_SERVING: return look_serving(w, now);
    case RDN_WP_STOPPING: return look_stopping(ps, w, now);
    case RDN_WP_DYING: return look_dying(ps, w, now);
    case RDN_WP_GONE: break;
    }
    return atomic_load(&w->lane->using) == w ? now + ms : never;
}

void rdn_fate_hurry(struct rdn_plugins *ps, const struct rdn_plugin *p) {
    for (struct rdn_work *w = ps->works; w; w = w->next)
        if (w->gen->plugin == p && w->phase == RDN_WP_NEW)
            w->due_ns = 0;
    rdn_supervise_kick(ps);
}

/* Between calls a worker sits in C code of ours; one that computes there has left the path. Reads CPU clocks by pid, which the
 * zygote has not reaped while the phase is SERVING. */
void rdn_fate_idle(struct rdn_plugins *ps) {
    for (struct rdn_work *w = ps->works; w; w = w->next) {
        clockid_t id;
        struct timespec ts;
        if (w->phase != RDN_WP_SERVING || too_many_threads(ps, w) || clock_getcpuclockid(w->pid, &id) != 0 || clock_gettime(id, &ts) < 0)
            continue;
        uint64_t cpu = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
        uint32_t call = atomic_load(&w->posted);
        bool idle = call == w->cpu_posted && atomic_load(&w->state) == RDN_W_READY;
        if (idle && w->cpu_ns && cpu - w->cpu_ns > 100 * (uint64_t)ms)
            rdn_fate_kill(w, "idle_cpu");
        w->cpu_ns = cpu;
        w->cpu_posted = call;
    }
}

void rdn_fate_close(struct rdn_plugins *ps, struct rdn_plugin *p) {
    for (struct rdn_work *w = ps->works; w; w = w->next)
        if (w->gen->plugin == p) {
            struct rdn_work *cur = w;
            w->retired = true;
            rdn_fate_kill(w, "retired");
            atomic_compare_exchange_strong(&w->lane->cur, &cur, NULL);
        }
    p->before = NULL;
    for (struct rdn_gen *g = ps->gens; g; g = g->next)
        if (g->plugin == p)
            g->dropped = true;
}
