/* SPDX-License-Identifier: Apache-2.0
 * child.c: a worker from the fork to its last call.
 *
 * confine()   the twelve steps of steps.def, in order; after the last one no descriptor, right or way out is left
 * serve()     the plugin is compiled here for the first time, as call 1; then one call after the other
 * handlers    a crash leaves its traceback in the answer page; SIGUSR2 and SIGSYS note where a denied call was made
 *
 * Nothing here may allocate between the baseline and the limits: the caps are relative to the size at the fork. */
#include "sandbox/child.h"
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "sandbox/alive.h"
#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/policy.h"
#include "sandbox/seccomp.h"

enum { MOST_FDS = 64, RDN_ALIVE_FD = RDN_CODE_FD + 1 };                /* until the death signal is set for the last time */
static struct rdn_worker me;                            /* one worker a process */
static uint64_t image_bytes;                            /* of a native library, on top of the cap */
static const struct sock_fprog *second;                 /* filter after loading, or NULL */
static bool kills, probing;                             /* a denied call ends the worker; it is made on purpose */
static bool threaded;                                   /* native code that may start threads while it loads */
static const struct rdn_role *role;

/* A ring that counts through all calls: the supervisor reads a place later, when the call may be over. */
static void note_place(void) {
    uint32_t k = me.res->place_count, i = k % RDN_PLACES;
    size_t n = role->where(me.res->places[i], sizeof *me.res->places - 1);
    me.res->places[i][n] = 0;
    me.res->place_count = k + 1;
}

static void on_violation(int sig) {                     /* the host saw a denied call and asks where it was made */
    (void)sig;
    if (me.res)
        note_place();
}

static void on_trapped(uint32_t nr, uint64_t arg0) {
    if (!me.res || probing)
        return;
    uint32_t k = me.res->trap_count++;
    if (k < sizeof me.res->traps / sizeof *me.res->traps)
        me.res->traps[k] = (struct rdn_trap){ nr, me.res->place_count, arg0 };
    if (k < RDN_PLACES)
        note_place();
}

static void on_crash(int sig) {
    if (!me.res)
        return;
    me.res->err_line = (uint32_t)sig;
    me.res->tb_len = 0;
    me.res->tb_len = (uint32_t)role->dump(me.res->traceback, sizeof me.res->traceback);
}   /* SA_RESETHAND: the fault repeats on return and now ends the process */

int rdn_child_handlers(const struct rdn_role *r) {
    static char stack[64 << 10];
    stack_t ss = { .ss_sp = stack, .ss_size = sizeof stack };
    role = r;
    if (sigaltstack(&ss, NULL) < 0)
        return -errno;
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    struct sigaction sa = { .sa_handler = on_crash, .sa_flags = SA_RESETHAND | SA_ONSTACK };
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (sigaction(crashes[i], &sa, NULL) < 0)
            return -errno;
    struct sigaction usr = { .sa_handler = on_violation, .sa_flags = SA_ONSTACK | SA_RESTART };
    if (sigaction(SIGUSR2, &usr, NULL) < 0)
        return -errno;
    return rdn_seccomp_on_trap(on_trapped);
}

/* --- confinement ------------------------------------------------------------------------------------------------ */

static int report(const struct rdn_child_plan *p, unsigned step, int err, uint32_t got, int listener) {
    struct rdn_ctl_report r = { .magic = RDN_CTL_MAGIC, .kind = RDN_CTL_CONFINED, .token = p->spawn.token, .err = err,
                                .step = step, .got = got };
    return rdn_ctl_send(RDN_CTL_FD, &r, sizeof r, &listener, listener >= 0);
}

_Noreturn static void give_up(const struct rdn_child_plan *p, unsigned step, int err) {
    report(p, step, err, 0, -1);
    _exit(40 + (int)step);
}

static void *map(int fd, size_t bytes, int prot) {
    void *m = mmap(NULL, bytes, prot, MAP_SHARED | MAP_POPULATE, fd, 0);
    return m == MAP_FAILED ? NULL : m;
}

static int map_pages(const struct rdn_child_plan *p) {
    me.req_bytes = p->spawn.req_bytes;
    me.res_bytes = p->spawn.res_bytes;
    me.load_bytes = p->spawn.load_bytes;
    me.req = map(p->fds[0], me.req_bytes, PROT_READ);
    me.res = map(p->fds[1], me.res_bytes, PROT_READ | PROT_WRITE);
    me.load = map(p->fds[2], me.load_bytes, PROT_READ);
    if (!me.req || !me.res || !me.load)
        return -errno;
    bool ours = !memcmp(me.load->magic, RDN_LOAD_MAGIC, sizeof me.load->magic) && me.load->version == RDN_WIRE_VERSION;
    return ours && me.load->total_bytes == me.load_bytes ? 0 : -EPROTO;
}

/* All but the control socket, the code of a native library where it has no path, and the descriptor that tells of the zygote. */
static int close_all(const struct rdn_child_plan *p, bool keep_code) {
    close(0);
    close(1);
    close(2);
    if (dup2(p->alive, RDN_ALIVE_FD) < 0)
        return -errno;
    if (!keep_code)
        close(RDN_CODE_FD);
    return rdn_close_from(RDN_ALIVE_FD + 1);
}

static int place_code(const struct rdn_child_plan *p) {
    size_t n;
    const void *code = role->code(me.load, &n, &image_bytes);
    if (!code)
        return -ENOEXEC;
    return rdn_code_place(code, n, me.load->sha256, p->own_root, me.code_path);
}

static int make_ruleset(const struct rdn_child_plan *p) {
    int fd = rdn_landlock_create();
    int rc = fd >= 0 && role->code && p->own_root ? rdn_landlock_allow_code(fd, me.code_path) : 0;
    return fd < 0 || rc == 0 ? fd : rc;
}

static int set_limits(const struct rdn_child_plan *p) {
    uint64_t pages = p->spawn.req_bytes + p->spawn.res_bytes + p->spawn.load_bytes + 2 * RDN_PAGE;
    uint64_t cap = p->spawn.cap_bytes + image_bytes + role->extra_bytes;
    /* The kernel counts what runs under a uid, and that need not be this worker alone: the host counts its threads (fate.c). */
    return rdn_limits_worker(p->vm_bytes + pages + cap, p->data_bytes + cap, threaded ? RLIM_INFINITY : 0);
}

/* Falls back to traps where no listener can be had: EBUSY, an outer filter has one; EINVAL, as in gVisor. */
static int load_filter(const struct rdn_child_plan *p, int *ret_listener, uint32_t *got) {
    uint32_t mode = p->spawn.deny;
    int rc = rdn_seccomp_load(&p->filters[mode], mode == RDN_POLICY_NOTIFY ? RDN_SECCOMP_LISTEN : RDN_SECCOMP_PLAIN, ret_listener);
    if (mode == RDN_POLICY_NOTIFY && (rc == -EBUSY || rc == -EINVAL))
        rc = rdn_seccomp_load(&p->filters[RDN_POLICY_TRAP], RDN_SECCOMP_PLAIN, ret_listener);
    if (rc == 0)
        *got |= RDN_GOT_SECCOMP | (*ret_listener >= 0 ? RDN_GOT_LISTENER : 0);
    return rc;
}

static int harden(uint32_t want, uint32_t *got) {
    int rc = rdn_set_nnp();
    if (rc < 0)
        return rc;
    *got |= RDN_GOT_NNP;
    if ((rc = rdn_set_undumpable()) < 0)
        return rc;
    *got |= RDN_GOT_UNDUMPABLE;
    if (want & RDN_GOT_MDWE && rdn_set_mdwe() == 0)     /* older kernels: the filter has the same rule */
        *got |= RDN_GOT_MDWE;
    return rdn_set_pdeathsig();                         /* again: setresuid cleared it */
}

static void confine(const struct rdn_child_plan *p) {
    uint32_t want = p->spawn.want, got = want & RDN_GOT_PIDNS;        /* the fork would have failed */
    int rc, ruleset = -1, listener;
    if ((rc = rdn_set_pdeathsig()) < 0 || (rc = rdn_alive_check(p->alive)) < 0)   /* asked each time, since it may be set too late */
        give_up(p, RDN_C_PDEATH, -rc);
    if ((rc = map_pages(p)) < 0)
        give_up(p, RDN_C_MAP, -rc);
    if (role->code && (rc = place_code(p)) < 0)
        give_up(p, RDN_C_MAP, -rc);
    if ((rc = close_all(p, role->code && !p->own_root)) < 0)
        give_up(p, RDN_C_CLOSE, -rc);
    got |= RDN_GOT_CLOSED;
    role->after_fork_child();
    if (want & RDN_GOT_RLIMITS) {
        if ((rc = set_limits(p)) < 0)
            give_up(p, RDN_C_RLIMITS, -rc);
        got |= RDN_GOT_RLIMITS;
    }
    if (want & RDN_GOT_LANDLOCK && (ruleset = make_ruleset(p)) < 0)
        give_up(p, RDN_C_RULESET, -ruleset);
    if (want & RDN_GOT_UID) {
        if ((rc = rdn_set_ids(p->spawn.uid, p->spawn.gid)) < 0)
            give_up(p, RDN_C_UID, -rc);
        got |= RDN_GOT_UID;
    }
    if (want & RDN_GOT_CAPS) {
        if ((rc = rdn_caps_keep(0)) < 0)
            give_up(p, RDN_C_CAPS, -rc);
        got |= RDN_GOT_CAPS;
    }
    if ((rc = harden(want, &got)) < 0 || (rc = rdn_alive_check(RDN_ALIVE_FD)) < 0)
        give_up(p, RDN_C_PRCTL, -rc);
    close(RDN_ALIVE_FD);
    if (ruleset >= 0) {
        /* Before the filter, which forbids the call. */
        if ((rc = rdn_landlock_enter(ruleset)) < 0)
            give_up(p, RDN_C_LANDLOCK, -rc);
        close(ruleset);
        got |= RDN_GOT_LANDLOCK;
    }
    if (want & RDN_GOT_SECCOMP) {
        if ((rc = load_filter(p, &listener, &got)) < 0)
            give_up(p, RDN_C_SECCOMP, -rc);
    } else {
        listener = -1;
    }
    if (report(p, 0, 0, got, listener) < 0)             /* EPIPE: the host is gone */
        _exit(40 + RDN_C_CONFINED);
    if (listener >= 0)
        close(listener);
    close(RDN_CTL_FD);
}

/* --- calls ------------------------------------------------------------------------------------------------------ */

static void begin(uint32_t seq) {
    struct rdn_res *r = me.res;
    r->status = RDN_ST_OK;
    r->nrows = 0;
    r->err_type[0] = 0;                                 /* or the host would show it beside an answer that only the host finds wrong */
    r->err_len = r->err_line = r->tb_len = r->log_len = r->log_dropped = 0;
    r->trap_count = 0;
    r->t_start_ns = rdn_mono_ns();
    atomic_store(&me.current, seq);
}

static void answer(uint32_t seq) {
    atomic_store(&me.current, 0);
    me.res->t_end_ns = rdn_mono_ns();
    atomic_store(&me.res->seq, seq);                    /* before waiting is read; the lane stores waiting before it reads seq again */
    if (atomic_load(&me.req->waiting))
        rdn_futex_wake(&me.res->seq);
}

static inline void relax(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* Spins as long as the host allows, then sleeps. sleeping is stored before req.seq is read again, and the host stores
 * req.seq before it reads sleeping: one of the two sees the other. */
static uint32_t next_call(uint32_t seen) {
    const _Atomic uint32_t *word = &me.req->seq;
    uint32_t spin = rdn_load32(&me.req->spin_ns), seq;
    int64_t until = spin ? rdn_mono_ns() + (spin < 1000000 ? spin : 1000000) : 0;
    while (until && (seq = atomic_load_explicit(word, memory_order_acquire)) == seen) {
        for (int i = 0; i < 32 && atomic_load_explicit(word, memory_order_relaxed) == seen; i++)
            relax();                                    /* a pause may take 40 ns */
        if (rdn_mono_ns() >= until)
            until = 0;
    }
    while ((seq = atomic_load(word)) == seen) {
        atomic_store(&me.res->sleeping, 1);
        if (atomic_load(word) == seen)
            rdn_futex_wait(word, seen, 0);
        atomic_store(&me.res->sleeping, 0);
    }
    return seq;
}

/* Tries what only loading may do. The library's own code has run by now and may have put a filter of its own before ours, one that
 * answers "loaded" without loading; so this says whether the worker is as it should be, and the first filter with Landlock stays the
 * boundary: a library that is out to deceive can answer these, too, and then still reads nothing but itself. */
static bool sealed(void) {
    const struct { long nr, a, b; } probes[] = { { SYS_read, -1, 0 }, { SYS_openat, -1, 0 }, { SYS_fstat, -1, 0 },
                                                 { SYS_seccomp, SECCOMP_SET_MODE_FILTER, threaded ? SECCOMP_FILTER_FLAG_TSYNC : 0 } };
    bool good = true;
    probing = true;
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        good = syscall(probes[i].nr, probes[i].a, probes[i].b, 0, 0) < 0 && errno == EPERM && good;
    probing = false;
    return good;
}

/* From here on a native worker has the same list as any other, and no descriptor: a constructor may have opened its own file. */
static void seal_code(void) {
    int none, rc;
    for (int fd = 0; fd < MOST_FDS; fd++)
        close(fd);
    rc = rdn_seccomp_load(second, threaded ? RDN_SECCOMP_ALL_THREADS : RDN_SECCOMP_PLAIN, &none);
    for (int fd = 0; threaded && fd < RDN_WORKER_FILES; fd++)            /* what a thread opened meanwhile; now none can */
        close(fd);
    if (rc == 0 && (kills || sealed()))                 /* where a denied call kills, trying is dying */
        return;
    me.res->status = RDN_ST_EXCEPTION;
    snprintf(me.res->err_type, sizeof me.res->err_type, "ConfinementError");
    me.res->err_len = (uint32_t)snprintf(me.res->err_text, sizeof me.res->err_text, "the filter for the time after loading %s; did the library load one?",
                                         rc == 0 ? "has no effect" : "is refused");
}

static void run_or_lack(void (*part)(struct rdn_worker *)) {
    if (part)
        part(&me);
    else
        me.res->status = RDN_ST_NO_FUNCTION;
}

_Noreturn static void serve(void) {
    uint32_t seq = 1;
    begin(seq);
    role->load(&me);
    if (second)
        seal_code();
    answer(seq);
    for (;;) {
        seq = next_call(seq);
        begin(seq);
        switch (me.req->op) {
        case RDN_CALL: role->call(&me); break;
        case RDN_PING: break;
        case RDN_SAVE: run_or_lack(role->save); break;
        case RDN_RESTORE: run_or_lack(role->restore); break;
        default: run_or_lack(NULL); break;
        }
        answer(seq);
        if (role->rest)
            role->rest(&me);
    }
}

_Noreturn void rdn_child_run(const struct rdn_child_plan *p) {
    role = p->role;
    second = p->spawn.want & RDN_GOT_SECCOMP ? p->second : NULL;
    kills = p->spawn.deny == RDN_POLICY_KILL;
    threaded = p->spawn.threads && role->code;
    confine(p);
    serve();
}
