/* SPDX-License-Identifier: Apache-2.0
 * ns.c: an empty root by pivot_root over a tmpfs; nothing is created on the host's file systems. */
#include "sandbox/ns.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/scope.h"

static int put(const char *path, const char *text) {
    rdn_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return -errno;
    return 0;
}

static int map_ids(uid_t uid, gid_t gid) {
    char line[64];
    int rc = put("/proc/self/setgroups", "deny");
    if (rc < 0 && rc != -ENOENT)
        return rc;
    snprintf(line, sizeof line, "0 %u 1", uid);
    if ((rc = put("/proc/self/uid_map", line)) < 0)
        return rc;
    snprintf(line, sizeof line, "0 %u 1", gid);
    return put("/proc/self/gid_map", line);
}

/* Any directory serves as the mount point: the mount namespace is private. */
static int mount_root(bool for_code, const char **ret_dir) {
    static const char *const dirs[] = { "/tmp", "/mnt", "/run", "/proc" };
    int rc = -ENOENT;
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        *ret_dir = dirs[i];
        if (mount("redan", dirs[i], "tmpfs", MS_NOSUID | MS_NODEV | (for_code ? 0 : MS_NOEXEC), for_code ? "size=64m,mode=755" : "size=16k,mode=755") == 0)
            return 0;
        rc = -errno;
    }
    return rc;
}

static int empty_root(bool for_code, const char **where) {
    const char *dir;
    *where = "mount private";
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -errno;
    *where = "mount tmpfs";
    int rc = mount_root(for_code, &dir);
    if (rc < 0)
        return rc;
    *where = "pivot_root";
    if (chdir(dir) < 0 || mkdir("old", 0700) < 0 || syscall(SYS_pivot_root, ".", "old") < 0)
        return -errno;
    *where = "umount";
    if (chdir("/") < 0 || umount2("/old", MNT_DETACH) < 0 || rmdir("/old") < 0)
        return -errno;
    *where = "mount read-only";
    if (for_code)
        return 0;                                       /* each new library is written here; workers may not write */
    return mount("none", "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? -errno : 0;
}

int rdn_ns_enter(int how, bool for_code, const char **where) {
    int flags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (how == RDN_NS_NONE)
        return 0;
    *where = "unshare";
    if (unshare(flags | (how == RDN_NS_USER ? CLONE_NEWUSER : 0)) < 0)
        return -errno;
    if (how == RDN_NS_USER) {
        *where = "uid_map";
        int rc = map_ids(uid, gid);
        if (rc < 0)
            return rc;
    }
    return empty_root(for_code, where);
}

pid_t rdn_ns_fork(bool new_pid, int *ret_pidfd) {
    uint64_t flags = CLONE_PIDFD | (new_pid ? CLONE_NEWPID : 0);
    struct clone_args a = { .flags = flags, .pidfd = (uintptr_t)ret_pidfd, .exit_signal = SIGCHLD };
    long pid = syscall(SYS_clone3, &a, sizeof a);
    if (pid < 0 && (errno == ENOSYS || errno == EPERM))
        pid = syscall(SYS_clone, flags | SIGCHLD, NULL, ret_pidfd, NULL, NULL);
    return pid < 0 ? -errno : (pid_t)pid;
}
