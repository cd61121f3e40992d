/* SPDX-License-Identifier: Apache-2.0
 * kernel_run.h: one run of a kernel by the reference. Private to kernel.c, kernel_ref.c and kernel_column.c. */
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

static inline uint32_t rdn_node_elems(const struct rdn_ir *ir, rdn_id id) {
    unsigned t = ir->nodes.v[id].type;
    return t == RDN_TY_VEC || t == RDN_TY_IVEC ? rdn_type_elems(rdn_ir_ltype(ir, id)) : 1;
}

/* Columns in `data`, those of uniform nodes filled. */
void rdn_kref_begin(struct rdn_krun *, char *data);
/* The r->n paths from `start`: the cause of the lowest undefined one, or RDN_DEFINED, and then the column of the value is right. */
enum rdn_cause rdn_kref_chunk(struct rdn_krun *, uint32_t start);
/* Evaluates a node over the chunk with one loop when its operands are all defined and there is such a loop; false: not done. */
bool rdn_kernel_column(struct rdn_krun *, rdn_id);
#endif
