/* SPDX-License-Identifier: Apache-2.0
 * ns.h: namespaces of a zygote, and the fork that puts a worker into a pid namespace of its own. */
#ifndef RDN_NS_H
#define RDN_NS_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RDN_NS_NONE, RDN_NS_PLAIN, RDN_NS_USER };        /* none; by privilege; through a user namespace */
/* Enters mount, net, ipc, uts and cgroup namespaces and makes an empty tmpfs the root (for_code: one that programs may be
 * mapped from, 64 MiB). 0, or -errno with *ret_where naming the
 * call. After a failure the process is half inside and must end. */
int rdn_ns_enter(int how, bool for_code, const char **ret_where);

/* fork with a pidfd, in a new pid namespace when asked. As fork: 0 in the child, the pid, or -errno. Falls back from clone3
 * to clone (container profiles answer ENOSYS). The caller has one thread. */
pid_t rdn_ns_fork(bool new_pid, int *ret_pidfd);
#endif
