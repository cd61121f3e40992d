/* SPDX-License-Identifier: Apache-2.0
 * wire.c: memfds with seals, messages with descriptors, futexes across processes. */
#include "sandbox/wire.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/scope.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

const char *rdn_zstep_text(unsigned step) {
    switch (step) {
#define ZSTEP(n, NAME, text) case n: return text;
#define CSTEP(n, NAME, text)
#include "sandbox/steps.def"
#undef ZSTEP
#undef CSTEP
    default: return "?";
    }
}

const char *rdn_cstep_text(unsigned step) {
    switch (step) {
#define ZSTEP(n, NAME, text)
#define CSTEP(n, NAME, text) case n: return text;
#include "sandbox/steps.def"
#undef ZSTEP
#undef CSTEP
    default: return "?";
    }
}

const char *rdn_mech_text(unsigned bit) {
    switch (bit) {
#define MECH(NAME, bit, text, doc) case bit: return text;
#include "sandbox/mechanisms.def"
#undef MECH
    default: return NULL;
    }
}

enum { CTL_FDS = 4 };

int rdn_ctl_send(int sock, const void *msg, size_t n, const int *fds, unsigned nfds) {
    struct iovec io = { (void *)(uintptr_t)msg, n };
    union { struct cmsghdr h; char b[CMSG_SPACE(CTL_FDS * sizeof(int))]; } c;
    struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
    if (nfds) {
        memset(&c, 0, sizeof c);
        m.msg_control = &c;
        m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(h), fds, nfds * sizeof(int));
    }
    ssize_t k;
    do
        k = sendmsg(sock, &m, MSG_NOSIGNAL);
    while (k < 0 && errno == EINTR);
    return k < 0 ? -errno : 0;
}

int rdn_ctl_recv(int sock, void *msg, size_t n, int *fds, unsigned nfds) {
    struct iovec io = { msg, n };
    union { struct cmsghdr h; char b[CMSG_SPACE(CTL_FDS * sizeof(int))]; } c;
    struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c };
    for (unsigned i = 0; i < nfds; i++)
        fds[i] = -1;
    ssize_t k;
    do
        k = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
    while (k < 0 && errno == EINTR);
    if (k < 0)
        return -errno;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        unsigned got = (unsigned)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (unsigned i = 0; i < got; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
            if (i < nfds)
                fds[i] = fd;
            else
                close(fd);                              /* more than agreed: never keep a stranger's descriptor */
        }
    }
    return (int)k;
}

int rdn_page_create(const char *name, size_t bytes) {
    rdn_auto_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)                      /* before Linux 6.3 */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
        return -errno;
    return rdn_take_fd(&fd);
}

int rdn_page_seal(int fd, unsigned seals) {
    return fcntl(fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

int rdn_futex_wait(const _Atomic uint32_t *word, uint32_t was, int64_t until_ns) {
    struct timespec ts = { until_ns / 1000000000, until_ns % 1000000000 };
    long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, was, until_ns ? &ts : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    return rc < 0 ? -errno : 0;
}

void rdn_futex_wake(const _Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}
