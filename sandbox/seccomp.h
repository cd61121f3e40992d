/* SPDX-License-Identifier: Apache-2.0
 * seccomp.h: install the filter in a worker, carry out denials, and read what was denied in the host. */
#ifndef RDN_SECCOMP_H
#define RDN_SECCOMP_H
#include <linux/filter.h>
#include <stdint.h>

/* Worker: loads `p`; for all threads at once, where a process has any: EBUSY when one has a filter of its own. To listen, asks the kernel for a listener descriptor (>= 0 in *ret_listener, else -1) and gives up
 * the WAIT_KILLABLE_RECV refinement on kernels before 5.19. 0 or -errno: EBUSY and EINVAL mean no listener can be had here
 * (an outer filter has one, or gVisor); the caller then loads the trap program. Needs NO_NEW_PRIVS. */
enum rdn_seccomp_how { RDN_SECCOMP_PLAIN, RDN_SECCOMP_LISTEN, RDN_SECCOMP_ALL_THREADS };
int rdn_seccomp_load(const struct sock_fprog *p, enum rdn_seccomp_how, int *ret_listener);

/* Zygote: from now on a trapped call answers EPERM after `note` was told; note runs in a signal handler. 0 or -errno. */
typedef void rdn_seccomp_note(uint32_t nr, uint64_t arg0);
int rdn_seccomp_on_trap(rdn_seccomp_note *);

/* Host: the next denied call of a readable listener; 0, or -errno (ENOENT: the caller died meanwhile). Never continue a
 * call: its arguments may change after they were looked at. */
struct rdn_denied { uint64_t id, arg0; uint32_t nr; };
int rdn_seccomp_next(int listener, struct rdn_denied *ret);
int rdn_seccomp_answer(int listener, uint64_t id);     /* EPERM */

/* Probe, in a throw-away child with NO_NEW_PRIVS: 1 when filters work at all. */
int rdn_seccomp_works(void);
#endif
