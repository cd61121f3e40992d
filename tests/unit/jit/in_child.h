/* SPDX-License-Identifier: Apache-2.0
 * in_child.h: a piece of a test in a child process, and filters: no executable memory, a call that is denied. */
#ifndef RDN_TEST_CHILD_H
#define RDN_TEST_CHILD_H
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `f` in a child; returns its exit status, 128 + signal when it died of one. */
static inline int in_child(int (*f)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    if (!pid)
        _exit(f());
    int st = 0;
    assert_int_equal(waitpid(pid, &st, 0), pid);
    return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/* The same as a test: 77 is a skip, anything but 0 a failure. */
static inline void check_in_child(int (*f)(void)) {
    int rc = in_child(f);
    if (rc == 77)
        skip();
    assert_int_equal(rc, 0);
}

static inline bool filter_calls(struct sock_filter *f, size_t n) {
    struct sock_fprog prog = {(unsigned short)n, f};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* From now on mmap and mprotect with PROT_EXEC answer EACCES, as under SELinux without execmem. False: no such filter here. */
static inline bool deny_exec(void) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return filter_calls(f, sizeof f / sizeof *f);
}
/* From now on the system call answers EPERM. False: no such filter here. */
static inline bool deny_call(unsigned nr) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return filter_calls(f, sizeof f / sizeof *f);
}
#endif
