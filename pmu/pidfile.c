/* SPDX-License-Identifier: Apache-2.0
 * pidfile.c: see pidfile.h. */
#include "pmu/pidfile.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/scope.h"

int rdn_pidfile_open(const char *folder, const char *name, int *ret_fd, redan_error *reterr) {
    char path[300];
    struct stat st;
    snprintf(path, sizeof path, "%.200s/%.60s", folder, name);
    rdn_auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 || fstat(fd, &st) < 0) {
        rdn_fail_sys(reterr, "open");
        return rdn_wrap(reterr, REDAN_E_SYS, "%s", path);
    }
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
        return rdn_fail(reterr, SYS, "", "%s is not a file of ours", path);
    if (ftruncate(fd, 0) < 0)
        return rdn_fail_sys(reterr, "ftruncate");
    *ret_fd = rdn_take_fd(&fd);
    return 0;
}

int rdn_pidfile_write(int fd, const void *p, size_t n) {
    for (const char *s = p; n;) {
        ssize_t k = write(fd, s, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        s += k;
        n -= (size_t)k;
    }
    return 0;
}
