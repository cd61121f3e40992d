/* SPDX-License-Identifier: Apache-2.0
 * alive.c: see alive.h. */
#include "sandbox/alive.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "sandbox/wire.h"

int rdn_alive_open(int min_fd) {
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int first = rdn_page_create("redan-alive", 0);
    if (first < 0)
        return first;
    int fd = fcntl(first, F_DUPFD_CLOEXEC, min_fd);
    int rc = fd < 0 ? -errno : fd;
    close(first);                                       /* before the lock is set: it goes with any copy */
    if (fd >= 0 && fcntl(fd, F_SETLK, &all) < 0) {
        rc = -errno;
        close(fd);
    }
    return rc;
}

int rdn_alive_check(int fd) {
    struct flock f = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl(fd, F_GETLK, &f) < 0)
        return -errno;
    return f.l_type == F_UNLCK ? -ESRCH : 0;
}
