/* SPDX-License-Identifier: Apache-2.0
 * limits.h: resource limits, capabilities and process switches. All answer 0 or -errno. */
#ifndef RDN_LIMITS_H
#define RDN_LIMITS_H
#include <stdint.h>

/* Sizes of this process, read through descriptors opened while /proc was still there; two preads, no allocation. */
struct rdn_baseline { int statm, status; };
int  rdn_baseline_open(struct rdn_baseline *);
void rdn_baseline_close(struct rdn_baseline *);
int  rdn_baseline_read(const struct rdn_baseline *, uint64_t *ret_vm, uint64_t *ret_data);

/* A worker's limits: as_bytes and data_bytes are absolute; nproc: of all that runs under its uid, RLIM_INFINITY leaves it as it is. It does not
 * bind real root; seccomp does. */
enum { RDN_WORKER_FILES = 16 };
int rdn_limits_worker(uint64_t as_bytes, uint64_t data_bytes, uint64_t nproc);

#define RDN_CAP(n) (UINT64_C(1) << (n))
int rdn_caps_keep(uint64_t mask);                       /* permitted and effective become mask and what is there; inheritable 0 */
int rdn_caps_have(uint64_t *ret_effective);

int rdn_set_pdeathsig(void);                            /* SIGKILL when the thread that made this process ends */
int rdn_set_nnp(void);
int rdn_set_undumpable(void);
int rdn_set_mdwe(void);                                 /* EINVAL before Linux 6.3 */
int rdn_set_ids(uint32_t uid, uint32_t gid);            /* real, effective, saved; no supplementary group */
int rdn_close_from(unsigned first);
#endif
