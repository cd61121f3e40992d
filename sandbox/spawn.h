/* SPDX-License-Identifier: Apache-2.0
 * spawn.h: the host's end of a zygote: start it, ask for workers, signal and reap them. Supervisor thread only: the
 * parent-death signal follows the thread that started the process. */
#ifndef RDN_SPAWN_H
#define RDN_SPAWN_H
#include <sys/types.h>
#include "base/err.h"
#include "sandbox/wire.h"

struct rdn_zygote_args {
    const char *program;                                /* path of redan-worker */
    const char *role, *minor;                           /* "python", "3.11" */
    const char *site, *preload;                         /* NULL: the default; "a,b" or "" */
    uint64_t seed;
    int ns;                                             /* RDN_NS_* */
};
struct rdn_zygote { pid_t pid; int pidfd, sock; };
/* posix_spawn with an empty environment and one descriptor (3); the zygote reports with RDN_CTL_HELLO. SYS on failure. */
int  rdn_zygote_start(const struct rdn_zygote_args *, struct rdn_zygote *ret, redan_error *);
void rdn_zygote_kill(struct rdn_zygote *);              /* kill, reap, close; its workers die with it; takes a zeroed one */

int  rdn_pidfd_kill(int pidfd, int sig);                /* 0 or -errno */
#endif
