/* SPDX-License-Identifier: Apache-2.0
 * child.h: the forked worker: confine, load the plugin, answer calls. */
#ifndef RDN_CHILD_H
#define RDN_CHILD_H
#include <linux/filter.h>
#include "sandbox/role.h"

struct rdn_child_plan {
    struct rdn_ctl_spawn spawn;                         /* as the host sent it */
    int fds[3];                                         /* req, res, load */
    int alive;                                          /* of rdn_alive_open() in the zygote; above RDN_CODE_FD */
    uint64_t vm_bytes, data_bytes;                      /* sizes read just before the fork */
    const struct sock_fprog *filters, *second;          /* by enum rdn_policy_mode; second: NULL, or after loading native code */
    bool own_root;                                      /* the zygote has a tmpfs of its own as root */
    const struct rdn_role *role;
};
/* Zygote, step 7: crash, violation and trap handlers on their own stack; inherited by the fork. 0 or -errno. */
int rdn_child_handlers(const struct rdn_role *);
/* Never returns: confines in the order of steps.def, then serves. A failing step n reports and ends with 40 + n. */
_Noreturn void rdn_child_run(const struct rdn_child_plan *);
#endif
