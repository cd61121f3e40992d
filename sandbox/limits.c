/* SPDX-License-Identifier: Apache-2.0
 * limits.c: one call a mechanism; the order is child.c's. */
#include "sandbox/limits.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

int rdn_baseline_open(struct rdn_baseline *b) {
    b->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    b->status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    return b->statm < 0 || b->status < 0 ? -errno : 0;
}

void rdn_baseline_close(struct rdn_baseline *b) {
    if (b->statm >= 0)
        close(b->statm);
    if (b->status >= 0)
        close(b->status);
}

int rdn_baseline_read(const struct rdn_baseline *b, uint64_t *ret_vm, uint64_t *ret_data) {
    char text[4096];
    ssize_t n = pread(b->statm, text, 64, 0);
    if (n <= 0)
        return n < 0 ? -errno : -EIO;
    text[n] = 0;
    *ret_vm = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    n = pread(b->status, text, sizeof text - 1, 0);
    if (n <= 0)
        return n < 0 ? -errno : -EIO;
    text[n] = 0;
    const char *p = strstr(text, "VmData:");
    if (!p)
        return -EIO;
    *ret_data = strtoull(p + 7, NULL, 10) * 1024;
    return *ret_vm && *ret_data ? 0 : -EIO;
}

int rdn_limits_worker(uint64_t as_bytes, uint64_t data_bytes, uint64_t nproc) {
    const struct { int what; uint64_t value; } rows[] = {
        { RLIMIT_CORE, 0 },   { RLIMIT_NPROC, nproc },  { RLIMIT_FSIZE, 0 },     { RLIMIT_MEMLOCK, 0 },       { RLIMIT_MSGQUEUE, 0 },
        { RLIMIT_RTPRIO, 0 }, { RLIMIT_NOFILE, RDN_WORKER_FILES }, { RLIMIT_SIGPENDING, 8 }, { RLIMIT_AS, as_bytes }, { RLIMIT_DATA, data_bytes },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rlimit r = { rows[i].value, rows[i].value };
        struct rlimit old;
        if (getrlimit((__rlimit_resource_t)rows[i].what, &old) == 0 && old.rlim_max != RLIM_INFINITY && old.rlim_max < r.rlim_max)
            r.rlim_cur = r.rlim_max = old.rlim_max;     /* a stricter limit from outside stays */
        if (setrlimit((__rlimit_resource_t)rows[i].what, &r) < 0)
            return -errno;
    }
    return 0;
}

int rdn_caps_have(uint64_t *ret) {
    struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct d[2];
    if (syscall(SYS_capget, &h, d) < 0)
        return -errno;
    *ret = d[0].effective | (uint64_t)d[1].effective << 32;
    return 0;
}

int rdn_caps_keep(uint64_t mask) {
    struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct d[2];
    if (syscall(SYS_capget, &h, d) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        d[i].permitted &= (uint32_t)(mask >> (32 * i));
        d[i].effective = d[i].permitted;
        d[i].inheritable = 0;
    }
    return syscall(SYS_capset, &h, d) < 0 ? -errno : 0;
}

int rdn_set_pdeathsig(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0; }
int rdn_set_nnp(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0; }
int rdn_set_undumpable(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0; }
int rdn_set_mdwe(void) { return prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) < 0 ? -errno : 0; }

int rdn_set_ids(uint32_t uid, uint32_t gid) {
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return -errno;
    return 0;
}

int rdn_close_from(unsigned first) {
    if (syscall(SYS_close_range, first, ~0u, 0u) == 0)
        return 0;
    if (errno != ENOSYS)
        return -errno;
    long max = sysconf(_SC_OPEN_MAX);                   /* before Linux 5.9 */
    for (long fd = first; fd < max; fd++)
        close((int)fd);
    return 0;
}
