/* SPDX-License-Identifier: Apache-2.0
 * seccomp.c: loading filters, the SIGSYS handler of deny mode trap, and the listener of deny mode notify. */
#include "sandbox/seccomp.h"
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

int rdn_seccomp_load(const struct sock_fprog *p, enum rdn_seccomp_how how, int *ret_listener) {
    *ret_listener = -1;
    if (how != RDN_SECCOMP_LISTEN) {
        long other = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, how == RDN_SECCOMP_ALL_THREADS ? SECCOMP_FILTER_FLAG_TSYNC : 0, p);
        return other < 0 ? -errno : other ? -EBUSY : 0;  /* the number of a thread that could not follow */
    }
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, p);
    if (fd < 0 && errno == EINVAL)
        fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, p);
    if (fd < 0)
        return -errno;
    *ret_listener = (int)fd;
    return 0;
}

static rdn_seccomp_note *trap_note;

static void on_sigsys(int sig, siginfo_t *si, void *context) {
    (void)sig;
    ucontext_t *c = context;
    uint64_t arg0 = 0;
#if defined __x86_64__
    arg0 = (uint64_t)c->uc_mcontext.gregs[REG_RDI];
    c->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined __aarch64__
    arg0 = c->uc_mcontext.regs[0];
    c->uc_mcontext.regs[0] = (uint64_t)-EPERM;
#else
#error "port the trap handler: where is the result register?"
#endif
    if (trap_note)
        trap_note((uint32_t)si->si_syscall, arg0);
}

int rdn_seccomp_on_trap(rdn_seccomp_note *note) {
    struct sigaction sa = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
    trap_note = note;
    return sigaction(SIGSYS, &sa, NULL) < 0 ? -errno : 0;
}

/* The kernel may write more than this header knows; newer fields go into the slack. */
union notif { struct seccomp_notif n; char room[256]; };

int rdn_seccomp_next(int listener, struct rdn_denied *ret) {
    union notif u;
    memset(&u, 0, sizeof u);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &u.n) < 0)
        return -errno;
    *ret = (struct rdn_denied){ u.n.id, u.n.data.args[0], (uint32_t)u.n.data.nr };
    return 0;
}

int rdn_seccomp_answer(int listener, uint64_t id) {
    struct seccomp_notif_resp r = { .id = id, .error = -EPERM };
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r) < 0 ? -errno : 0;
}

int rdn_seccomp_works(void) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = { sizeof f / sizeof *f, f };
    int none;
    if (rdn_seccomp_load(&p, RDN_SECCOMP_PLAIN, &none) < 0)
        return 0;
    return syscall(SYS_getppid) < 0 && errno == EDOM;
}
