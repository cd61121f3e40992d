/* SPDX-License-Identifier: Apache-2.0
 * kernel_run.h: one run of a kernel. Private to kernel.c and kernel_column.c. */
#ifndef RDN_KERNEL_RUN_H
#define RDN_KERNEL_RUN_H
#include "ir/kernel.h"

/* The value of one body node: a column with one entry a path of the chunk, or, for a node that does not depend on the path,
 * one cell. Scalars that do not depend on the path have their value in every entry of a column too, so that column loops
 * need not know the difference. */
struct rdn_kcol {
    bool each;
    bool undef;                                          /* some path of the chunk is undefined; then cause tells which */
    uint32_t k;                                          /* elements a path: 1, or those of an array */
    union { double *f; int64_t *i; };
    uint8_t *cause;
};
struct rdn_krun {
    const struct rdn_ir *ir;
    const struct rdn_call *call;
    struct rdn_kcol *cols;                               /* by node id - call->first */
    struct rdn_cell *uniform;                            /* the same; nodes that do not depend on the path */
    struct rdn_cell *arg_cells;
    const struct rdn_cell **arg_ptrs;
    struct rdn_scratch once, each;                       /* arrays: of uniform nodes; of one application */
    uint32_t chunk, n;                                   /* paths a chunk at most, and in this one */
};
static inline struct rdn_kcol *rdn_kcol_of(const struct rdn_krun *r, rdn_id id) { return &r->cols[id - r->call->first]; }

/* Evaluates a node over the chunk with one loop when its operands are all defined and there is such a loop; false: not done. */
bool rdn_kernel_column(struct rdn_krun *, rdn_id);
#endif
