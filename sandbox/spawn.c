/* SPDX-License-Identifier: Apache-2.0
 * spawn.c: no descriptor of the host reaches a zygote, and no page table is copied to start one. */
#include "sandbox/spawn.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/scope.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

int rdn_pidfd_kill(int pidfd, int sig) { return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0 ? -errno : 0; }

/* All signals at their default and none blocked, whatever the embedder's thread had. */
static int plain_signals(posix_spawnattr_t *attr) {
    sigset_t all, none;
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    int rc = posix_spawnattr_setsigdefault(attr, &all);
    if (!rc)
        rc = posix_spawnattr_setsigmask(attr, &none);
    return rc ? rc : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

static int file_actions(posix_spawn_file_actions_t *fa, int sock) {
    int rc = posix_spawn_file_actions_adddup2(fa, sock, RDN_CTL_FD);
    for (int fd = 0; !rc && fd < 3; fd++)
        rc = posix_spawn_file_actions_addopen(fa, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
    return rc;
}

static int start(const struct rdn_zygote_args *a, int sock, pid_t *ret) {
    char seed[32], ns[8];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)a->seed);
    snprintf(ns, sizeof ns, "%d", a->ns);
    const char *argv[] = { "redan-worker", a->role, "--minor", a->minor, "--seed", seed, "--ns", ns, "--preload",
                           a->preload ? a->preload : "", a->site ? "--site" : NULL, a->site, NULL };
    /* BLAS libraries read their thread count while they are imported; a thread would not survive the fork. */
    static const char *const env[] = { "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", NULL };
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&fa);
    if (rc)
        return rc;
    if (!(rc = posix_spawnattr_init(&attr))) {
        if (!(rc = file_actions(&fa, sock)) && !(rc = plain_signals(&attr)))
            rc = posix_spawn(ret, a->program, &fa, &attr, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&fa);
    return rc;
}

int rdn_zygote_start(const struct rdn_zygote_args *a, struct rdn_zygote *ret, redan_error *reterr) {
    int sv[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
        return rdn_fail_sys(reterr, "socketpair");
    rdn_auto_close int ours = sv[0], theirs = sv[1];
    pid_t pid;
    if ((errno = start(a, theirs, &pid)))
        return rdn_fail_sys(reterr, a->program);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        int rc = rdn_fail_sys(reterr, "pidfd_open");
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return rc;
    }
    fcntl(ours, F_SETFL, O_NONBLOCK);
    *ret = (struct rdn_zygote){ pid, pidfd, rdn_take_fd(&ours) };
    return 0;
}

void rdn_zygote_kill(struct rdn_zygote *z) {
    siginfo_t si;
    if (z->pid <= 0)
        return;
    rdn_pidfd_kill(z->pidfd, SIGKILL);
    while (waitid((idtype_t)P_PIDFD, (id_t)z->pidfd, &si, WEXITED) < 0 && errno == EINTR)
        ;
    close(z->pidfd);
    close(z->sock);
    *z = (struct rdn_zygote){ 0, -1, -1 };
}
