/* SPDX-License-Identifier: Apache-2.0
 * probe.h: what this kernel and this uid really offer, tried in throw-away children (SANDBOX.md 10). */
#ifndef RDN_PROBE_H
#define RDN_PROBE_H
#include <stdbool.h>
#include "base/buf.h"
#include "base/err.h"
#include "sandbox/wire.h"

enum { RDN_MECHS = 13 };
struct rdn_probe {
    uint32_t bits;                                      /* RDN_GOT_* that worked */
    int err[RDN_MECHS];                                 /* errno by bit number when it did not */
    bool signals;                                       /* SIGUSR1 and SIGKILL through a pidfd reach a child */
    int landlock_abi;                                   /* 0: none */
    int ns;                                             /* RDN_NS_* to use */
    int tier;                                           /* 0 none, 1 minimal, 2 container, 3 userns, 4 full */
};
struct rdn_probe_wish { bool no_userns, no_ns; };
/* Forks about eight short-lived children; a few milliseconds. [setup] */
int rdn_probe_run(const struct rdn_probe_wish *, struct rdn_probe *ret, redan_error *);
/* The tier a set of layers amounts to. [any] */
int rdn_probe_tier(uint32_t got);
/* "tier full: rlimits landlock ...; missing: mdwe (EINVAL)" over several lines, for doctor and explain. */
void rdn_probe_print(const struct rdn_probe *, struct rdn_buf *);
#endif
