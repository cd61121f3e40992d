/* SPDX-License-Identifier: Apache-2.0
 * supervise.c: the one thread that starts, stops and buries workers.
 *
 * It waits on control sockets, pidfds, seccomp listeners and one eventfd, and looks at every worker in between (fate.c). It
 * lives as long as the engine: zygotes die with the thread that started them. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "plugins/parts.h"

static const int64_t second = 1000000000;
enum { EVENTS = 64 };

int rdn_supervise_watch(struct rdn_plugins *ps, int fd, void *owner, unsigned kind) {
    struct epoll_event e = { .events = EPOLLIN, .data.u64 = (uintptr_t)owner | kind };     /* owners are 8-aligned */
    return epoll_ctl(ps->epoll, EPOLL_CTL_ADD, fd, &e);
}

void rdn_supervise_kick(struct rdn_plugins *ps) {
    uint64_t one = 1;
    ssize_t n = write(ps->kick, &one, sizeof one);
    (void)n;                                            /* full: it is awake anyway */
}

/* --- events ----------------------------------------------------------------------------------------------------- */

static void on_zygote(struct rdn_plugins *ps, struct rdn_zyg *y) {
    struct rdn_ctl_report r;
    int fd, n;
    while ((n = rdn_ctl_recv(y->z.sock, &r, sizeof r, &fd, 1)) > 0) {
        if (n != sizeof r || r.magic != RDN_CTL_MAGIC) {
            if (fd >= 0)
                close(fd);
        } else if (r.kind == RDN_CTL_HELLO) {
            rdn_zyg_hello(ps, y, &r);
        } else {
            rdn_fate_report(ps, &r, fd);
        }
    }
    if (n != -EAGAIN) {
        epoll_ctl(ps->epoll, EPOLL_CTL_DEL, y->z.sock, NULL);
        rdn_zyg_lost(ps, y);
    }
}

static void on_event(struct rdn_plugins *ps, const struct epoll_event *e) {
    uint64_t drained;
    void *owner = (void *)(uintptr_t)(e->data.u64 & ~UINT64_C(7));
    struct rdn_work *w = owner;
    switch (e->data.u64 & 7) {
    case RDN_EV_KICK:
        if (read(ps->kick, &drained, sizeof drained) < 0)
            return;
        break;
    case RDN_EV_ZYGOTE: on_zygote(ps, owner); break;
    case RDN_EV_PIDFD:
        epoll_ctl(ps->epoll, EPOLL_CTL_DEL, w->pidfd, NULL);
        rdn_fate_gone(ps, w);
        break;
    case RDN_EV_LISTENER:
        if (!(e->events & EPOLLIN) || !rdn_violation_denied(w))
            epoll_ctl(ps->epoll, EPOLL_CTL_DEL, w->listener, NULL);
        break;
    }
}

/* --- looking ---------------------------------------------------------------------------------------------------- */

static void flush_logs(struct rdn_plugins *ps, struct rdn_plugin *p) {
    for (uint32_t i = 0; i < p->nlanes; i++) {
        uint32_t due = atomic_exchange(&p->lanes[i].log_due, 0u);
        struct rdn_wlane *l = p->lanes[i].seat;
        for (uint32_t out = 0; due && out < RDN_OUT_COUNT; out++) {
            struct rdn_note_body b;
            char line[640];
            if (!(due >> out & 1))
                continue;
            if (out == RDN_OUT_TIMEOUT && rdn_fate_stopping(l)) {            /* its line comes when it is known where it was stopped */
                l->timeout_due = true;
                continue;
            }
            const struct rdn_note *n = atomic_load(&l->death_newer) ? &l->death : &l->note;
            rdn_note_read(&n->version, n->words, &b, sizeof b);
            if (b.outcome != out) {                     /* a newer note, or an outcome without one */
                memset(&b, 0, sizeof b);
                b.outcome = out;
                b.generation = p->live ? p->live->number : 0;
            }
            rdn_message_line(p, &b, i, line, sizeof line);
            if (*line && out != RDN_OUT_DIED && out != RDN_OUT_KILLED)           /* those come with the burial */
                rdn_plugins_log(ps, 1, "%s", line);
        }
    }
}

static void free_gone(struct rdn_plugins *ps) {
    for (struct rdn_work **at = &ps->works; *at;) {
        struct rdn_work *w = *at;
        if (w->phase != RDN_WP_GONE || w->gen->testing || atomic_load(&w->lane->using) == w || atomic_load(&w->lane->cur) == w) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        rdn_violation_resolve(ps, w->gen->plugin, w);
        if (w->zyg)
            w->zyg->workers--;
        rdn_work_free(w);
    }
}

static int64_t look(struct rdn_plugins *ps) {
    int64_t now = rdn_mono_ns(), next = now + second;
    for (struct rdn_work *w = ps->works; w; w = w->next) {
        int64_t at = rdn_fate_step(ps, w, now);
        next = at < next ? at : next;
    }
    for (struct rdn_plugin *p = ps->plugins; p; p = p->next) {
        rdn_violation_resolve(ps, p, NULL);
        for (uint32_t i = 0; i < RDN_PLUGIN_VIOLATIONS; i++)
            if (p->pending[i].w && next > now + 200000)
                next = now + 200000;
        flush_logs(ps, p);
        rdn_probation_look(ps, p, now);
    }
    free_gone(ps);
    rdn_gen_tidy(ps);
    rdn_pool_tidy(ps);
    if (now - ps->checked_ns > second) {
        ps->checked_ns = now;
        rdn_fate_idle(ps);
    }
    pthread_cond_broadcast(&ps->cond);
    return next;
}

static int wait_events(struct rdn_plugins *ps, struct epoll_event *ev, int64_t until) {
    int64_t left = until - rdn_mono_ns();
    struct timespec ts = { left > 0 ? left / second : 0, left > 0 ? left % second : 0 };
    int n = epoll_pwait2(ps->epoll, ev, EVENTS, &ts, NULL);
    if (n < 0 && errno == ENOSYS)                       /* before Linux 5.11: whole milliseconds */
        n = epoll_wait(ps->epoll, ev, EVENTS, left > 0 ? (int)(left / 1000000) + 1 : 0);
    return n;
}

static void *run(void *arg) {
    struct rdn_plugins *ps = arg;
    struct epoll_event ev[EVENTS];
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    prctl(PR_SET_NAME, "redan-plugins", 0, 0, 0);
    pthread_mutex_lock(&ps->mu);
    while (!ps->stop) {
        int64_t until = look(ps);
        pthread_mutex_unlock(&ps->mu);
        int n = wait_events(ps, ev, until);
        pthread_mutex_lock(&ps->mu);
        for (int i = 0; i < n; i++)
            on_event(ps, &ev[i]);
    }
    rdn_pool_close(ps);                                 /* here: only the thread that started them may reap in peace */
    pthread_mutex_unlock(&ps->mu);
    return NULL;
}

int rdn_supervise_start(struct rdn_plugins *ps, redan_error *reterr) {
    sigset_t all, was;
    ps->epoll = epoll_create1(EPOLL_CLOEXEC);
    ps->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ps->epoll < 0 || ps->kick < 0 || rdn_supervise_watch(ps, ps->kick, NULL, RDN_EV_KICK) < 0)
        return rdn_fail_sys(reterr, "epoll_create1");
    sigfillset(&all);                                   /* the embedder's signals are not for this thread */
    pthread_sigmask(SIG_SETMASK, &all, &was);
    errno = pthread_create(&ps->thread, NULL, run, ps);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (errno)
        return rdn_fail_sys(reterr, "pthread_create");
    ps->started = true;
    return 0;
}

void rdn_supervise_stop(struct rdn_plugins *ps) {
    if (ps->started) {
        pthread_mutex_lock(&ps->mu);
        ps->stop = true;
        pthread_mutex_unlock(&ps->mu);
        rdn_supervise_kick(ps);
        pthread_join(ps->thread, NULL);
    }
    if (ps->epoll >= 0)
        close(ps->epoll);
    if (ps->kick >= 0)
        close(ps->kick);
}
