/* SPDX-License-Identifier: Apache-2.0
 * code.c: see code.h. */
#include "sandbox/code.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/scope.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static int write_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k <= 0)
            return k < 0 ? -errno : -EIO;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static int to_memfd(const void *bytes, size_t n) {
    rdn_auto_close int fd = memfd_create("redan-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (fd < 0 && errno == EINVAL)                      /* before Linux 6.3 */
        fd = memfd_create("redan-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int rc = fd < 0 ? -errno : write_all(fd, bytes, n);
    if (rc == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        rc = -errno;
    if (rc == 0 && fd != RDN_CODE_FD && dup3(fd, RDN_CODE_FD, O_CLOEXEC) < 0)
        rc = -errno;
    if (fd == RDN_CODE_FD)
        rdn_take_fd(&fd);
    return rc;
}

/* Mapped files stay: what a worker has loaded does not need its name. One that has just been placed, or found, is needed: its worker may
 * not have come so far, and confining and loading take less than IN_USE_S. */
enum { IN_USE_S = 10 };
static void remove_others(void) {
    DIR *d = opendir("/");
    struct stat st;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, "code-", 5) && fstatat(dirfd(d), e->d_name, &st, 0) == 0 && now.tv_sec - st.st_mtim.tv_sec > IN_USE_S)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

static bool found(const char *path, size_t n) {
    struct stat st;
    return stat(path, &st) == 0 && (size_t)st.st_size == n && utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

static int to_file(const void *bytes, size_t n, const char *path) {
    char tmp[RDN_CODE_PATH + 16];
    snprintf(tmp, sizeof tmp, "%s.%llx", path, (unsigned long long)rdn_mono_ns());       /* every worker is pid 1 */
    rdn_auto_close int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
    if (fd < 0)
        return -errno;
    int rc = write_all(fd, bytes, n);
    /* Another worker may have been faster, and its rules name that file: it stays. */
    if (rc == 0 && (fchmod(fd, 0555) < 0 || (link(tmp, path) < 0 && errno != EEXIST)))
        rc = -errno;
    unlink(tmp);
    return rc;
}

/* The directory's lock: between finding a file and saying that it is needed nobody removes it. */
static int place(const void *bytes, size_t n, const char *path) {
    rdn_auto_close int lock = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        return -errno;
    if (found(path, n))
        return 0;
    int rc = to_file(bytes, n, path);
    if (rc == -ENOSPC) {
        remove_others();
        rc = to_file(bytes, n, path);
    }
    return rc;
}

int rdn_code_place(const void *bytes, size_t n, const uint8_t sha256[32], bool own_root, char ret_path[RDN_CODE_PATH]) {
    if (!own_root) {
        snprintf(ret_path, RDN_CODE_PATH, "/proc/self/fd/%d", RDN_CODE_FD);
        return to_memfd(bytes, n);
    }
    int k = snprintf(ret_path, RDN_CODE_PATH, "/code-");
    for (int i = 0; i < 32; i++)
        k += snprintf(ret_path + k, RDN_CODE_PATH - (size_t)k, "%02x", sha256[i]);
    return place(bytes, n, ret_path);
}
