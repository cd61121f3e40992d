/* SPDX-License-Identifier: Apache-2.0
 * explain.h: the policy a worker really got, as text. */
#ifndef RDN_EXPLAIN_H
#define RDN_EXPLAIN_H
#include "base/buf.h"
#include "sandbox/policy.h"

/* One line a row of syscalls.def with its conditions and reason, then the default of that mode; `got` as reported. [any] */
void rdn_explain_policy(struct rdn_buf *, uint32_t got, enum rdn_policy_mode);
/* What becomes of one call, by name or number as a violation names it: each row it has, or that it is denied, and what to do instead. False: no
 * call of that name. */
bool rdn_explain_call(struct rdn_buf *, const char *call, enum rdn_policy_mode);
/* What to tell the author whose plugin made that call: "the host owns time", or NULL. */
const char *rdn_explain_hint(const char *call);
#endif
