/* SPDX-License-Identifier: Apache-2.0
 * probe.c: each primitive is tried for real in a child that ends right away; a header or a version says too little. */
#include "sandbox/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>
#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/ns.h"
#include "sandbox/policy.h"
#include "sandbox/seccomp.h"
#include "sandbox/spawn.h"

/* A host's handlers are not for the child, nor what it blocks or ignores: the alarm has to end it, and it waits for children of its own. */
enum { PATIENCE_MS = 6000 };
static void plain_signals(void) {
    sigset_t none;
    for (int sig = 1; sig < _NSIG; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void try(int (*fn)(void), int tell) {
    plain_signals();
    alarm(5);
    int rc = fn();
    unsigned char err = rc < 0 ? (unsigned char)(-rc & 0x7f) : (unsigned char)rc;
    _exit(write(tell, &err, 1) == 1 ? 0 : 1);
}

/* Runs fn in a child: 0 or its errno; EINTR when it was killed by a signal, e.g. by an outer filter. The answer comes through a pipe: a
 * host that ignores SIGCHLD, or reaps whatever ends, leaves no exit status. */
static int in_child(int (*fn)(void)) {
    int ends[2];
    unsigned char err = EINTR;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    pid_t pid = fork();
    if (pid == 0)
        try(fn, ends[1]);
    int rc = pid < 0 ? errno : 0;
    close(ends[1]);
    struct pollfd answer = { ends[0], POLLIN, 0 };
    int n = 0;
    while (pid > 0 && (n = poll(&answer, 1, PATIENCE_MS)) < 0 && errno == EINTR)
        ;
    if (pid > 0 && n == 0)
        kill(pid, SIGKILL);                             /* its alarm did not end it */
    else if (n > 0 && read(ends[0], &err, 1) < 0)
        err = EIO;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return rc ? rc : err;
}

static int try_seccomp(void) {
    int rc = rdn_set_nnp();
    return rc < 0 ? rc : rdn_seccomp_works() ? 0 : -ENOSYS;
}

static int try_listener(void) {
    struct sock_filter f[] = { BPF_STMT(BPF_RET | BPF_K, 0x7fff0000u) };          /* allow everything: only the descriptor counts */
    struct sock_fprog p = { 1, f };
    int fd, rc = rdn_set_nnp();
    return rc < 0 ? rc : rdn_seccomp_load(&p, RDN_SECCOMP_LISTEN, &fd);
}

static int try_landlock(void) {
    int rc = rdn_set_nnp();
    int fd = rc < 0 ? rc : rdn_landlock_create();
    if (fd < 0)
        return fd;
    if ((rc = rdn_landlock_enter(fd)) < 0)
        return rc;
    return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 ? -ENOTSUP : 0;
}

static int try_mdwe(void) { return rdn_set_mdwe(); }
static int try_uid(void) { return rdn_set_ids(1900000000u, 1900000000u); }

static int try_ns(int how) {
    const char *where;
    int rc = rdn_ns_enter(how, false, &where);
    if (rc < 0)
        return rc;
    int pidfd = -1;
    pid_t pid = rdn_ns_fork(true, &pidfd);
    if (pid < 0)
        return pid;
    if (pid == 0)
        _exit(getpid() == 1 ? 0 : EPERM);
    int st;
    if (waitpid(pid, &st, 0) < 0)
        return -errno;
    return WIFEXITED(st) ? -WEXITSTATUS(st) : -EINTR;
}

static int try_ns_plain(void) { return try_ns(RDN_NS_PLAIN); }
static int try_ns_user(void) { return try_ns(RDN_NS_USER); }

static int try_signals(void) {
    int pidfd = -1;
    pid_t pid = rdn_ns_fork(false, &pidfd);
    if (pid < 0)
        return pid;
    if (pid == 0) {
        signal(SIGUSR1, SIG_IGN);
        for (;;)
            pause();
    }
    int rc = rdn_pidfd_kill(pidfd, SIGUSR1), st;
    int rk = rdn_pidfd_kill(pidfd, SIGKILL);
    if (rk < 0)
        kill(pid, SIGKILL);
    waitpid(pid, &st, 0);
    return rc < 0 ? rc : rk;
}

static void note(struct rdn_probe *p, uint32_t bit, int err) {
    if (!err)
        p->bits |= bit;
    p->err[__builtin_ctz(bit)] = err;
}

int rdn_probe_tier(uint32_t got) {
    uint32_t ns = RDN_GOT_NS | RDN_GOT_PIDNS;
    if (!(got & RDN_GOT_SECCOMP))
        return 0;
    if (!(got & RDN_GOT_LANDLOCK) || !(got & RDN_GOT_LISTENER))
        return 1;
    if ((got & ns) != ns)
        return 2;
    if (got & RDN_GOT_USERNS)
        return 3;
    return got & RDN_GOT_UID ? 4 : 3;
}

/* Changing the uid is worth it only when the zygote may still signal the worker afterwards: its death has to reach it. */
static void probe_uid(struct rdn_probe *p) {
    uint64_t caps = 0, need = RDN_CAP(CAP_SETUID) | RDN_CAP(CAP_SETGID) | RDN_CAP(CAP_KILL);
    rdn_caps_have(&caps);
    note(p, RDN_GOT_UID, (caps & need) == need ? in_child(try_uid) : EPERM);
}

static void probe_ns(const struct rdn_probe_wish *w, struct rdn_probe *p) {
    uint32_t both = RDN_GOT_NS | RDN_GOT_PIDNS;
    int err = w->no_ns ? ECANCELED : in_child(try_ns_plain);
    p->ns = err ? RDN_NS_NONE : RDN_NS_PLAIN;
    p->err[__builtin_ctz(RDN_GOT_USERNS)] = ECANCELED;
    if (err && !w->no_ns && !w->no_userns) {
        int user = in_child(try_ns_user);
        note(p, RDN_GOT_USERNS, user);
        if (!user) {
            err = 0;
            p->ns = RDN_NS_USER;
        }
    }
    note(p, RDN_GOT_NS, err);
    note(p, RDN_GOT_PIDNS, err);
    if (!err)
        p->bits |= both;
    if (p->ns == RDN_NS_USER)                           /* one uid is mapped: there is no other to change to */
        note(p, RDN_GOT_UID, EINVAL), p->bits &= ~(uint32_t)RDN_GOT_UID;
}

int rdn_probe_run(const struct rdn_probe_wish *w, struct rdn_probe *ret, redan_error *reterr) {
    struct rdn_probe p = { .bits = RDN_GOT_RLIMITS | RDN_GOT_CAPS | RDN_GOT_NNP | RDN_GOT_CLOSED | RDN_GOT_UNDUMPABLE };
    int err = in_child(try_signals);
    if (err) {
        errno = err;
        return rdn_fail_sys(reterr, "pidfd_send_signal");
    }
    p.signals = true;
    int abi = rdn_landlock_abi();
    p.landlock_abi = abi > 0 ? abi : 0;
    note(&p, RDN_GOT_SECCOMP, in_child(try_seccomp));
    note(&p, RDN_GOT_LISTENER, in_child(try_listener));
    note(&p, RDN_GOT_LANDLOCK, in_child(try_landlock));
    note(&p, RDN_GOT_MDWE, in_child(try_mdwe));
    probe_uid(&p);
    probe_ns(w, &p);
    p.tier = rdn_probe_tier(p.bits);
    *ret = p;
    return 0;
}

void rdn_probe_print(const struct rdn_probe *p, struct rdn_buf *b) {
    static const char *const tiers[] = { "none", "minimal", "container", "userns", "full" };
    rdn_buf_printf(b, "tier %s, Landlock ABI %d\n", tiers[p->tier], p->landlock_abi);
    for (unsigned i = 0; i < RDN_MECHS; i++) {
        if (p->bits & 1u << i)
            rdn_buf_printf(b, "  %-11s yes\n", rdn_mech_text(i));
        else
            rdn_buf_printf(b, "  %-11s no  (%s)\n", rdn_mech_text(i), p->err[i] == ECANCELED ? "not tried" : strerror(p->err[i]));
    }
}
