/* SPDX-License-Identifier: Apache-2.0
 * landlock.c: by raw numbers, because Debian 12's headers stop at ABI 2 and the kernel's own may be newer. */
#include "sandbox/landlock.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/scope.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
enum { CREATE_VERSION = 1 };
struct attr { uint64_t fs, net, scoped; };

int rdn_landlock_abi(void) {
    long v = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    return v < 0 ? -errno : (int)v;
}

/* Rights by ABI: 13 file rights in 1, REFER in 2, TRUNCATE in 3, TCP bind and connect in 4, IOCTL_DEV in 5, scopes in 6. */
int rdn_landlock_create(void) {
    int abi = rdn_landlock_abi();
    if (abi < 0)
        return abi;
    struct attr a = { .fs = (1u << 13) - 1 };
    size_t size = sizeof a.fs;
    if (abi >= 2)
        a.fs |= 1u << 13;
    if (abi >= 3)
        a.fs |= 1u << 14;
    if (abi >= 5)
        a.fs |= 1u << 15;
    if (abi >= 4) {
        a.net = 3;
        size = offsetof(struct attr, scoped);
    }
    if (abi >= 6) {
        a.scoped = 3;
        size = sizeof a;
    }
    long fd = syscall(SYS_landlock_create_ruleset, &a, size, 0);
    return fd < 0 ? -errno : (int)fd;
}

int rdn_landlock_allow_code(int ruleset, const char *path) {
    rdn_auto_close int fd = open(path, O_PATH | O_CLOEXEC);
    struct { uint64_t allowed; int32_t parent; } __attribute__((packed)) rule = { 1u << 0 | 1u << 2, fd };      /* execute, read file */
    return fd < 0 || syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0) < 0 ? -errno : 0;
}

int rdn_landlock_enter(int ruleset) {
    return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
