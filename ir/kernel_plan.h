/* SPDX-License-Identifier: Apache-2.0
 * kernel_plan.h: a kernel as a straight list of block functions over columns. Private to kernel*.c.
 *
 * A column holds one value a path; an array is a list of columns, so that taking an element, a row or another array of them costs
 * nothing. The plan takes every operand for defined: where one is not, a block function says so and the leaf is done again by the
 * reference. A kernel with an operation that has no block function has no plan. */
#ifndef RDN_KERNEL_PLAN_H
#define RDN_KERNEL_PLAN_H
#include "ir/block.h"
#include "ir/ir.h"

enum rdn_step_op { RDN_KS_NOTHING, RDN_KS_BLOCK, RDN_KS_EACH, RDN_KS_INVNORM, RDN_KS_NORMAL, RDN_KS_UNIFORM, RDN_KS_DOT, RDN_KS_PICK };
struct rdn_kstep {
    uint8_t op, block, one;                              /* RDN_KS_*, RDN_BLK_*, RDN_ONE_* */
    bool one_seed;
    uint32_t d, a, b, c;                                 /* columns. d NORMAL, UNIFORM; a DOT, PICK: place in lists of k of them */
    uint32_t k, aux;                                     /* elements; stream. DOT: b the uniform node, c its first element */
};
/* A column that is the same in every leaf: an element of a uniform node, or a number. */
struct rdn_kconst { uint32_t column, node, elem; int64_t bits; };   /* node RDN_NO_NODE: these bits */

struct rdn_kplan {
    struct rdn_kstep *steps; uint32_t nsteps;
    struct rdn_kconst *consts; uint32_t nconsts;
    uint32_t *lists; uint32_t nlists;
    uint32_t ncolumns, value;                            /* of the reduced value */
};
/* The plan in the arena; *ret is NULL when there is none. REDAN_E_NOMEM. [setup] */
int rdn_kplan_build(const struct rdn_ir *, const struct rdn_call *, struct rdn_arena *, struct rdn_kplan **ret);

/* Fills the columns that stay the same during a call; false: a uniform value is undefined. [lane] */
bool rdn_kplan_begin(const struct rdn_kplan *, const struct rdn_ir *, const struct rdn_call *, double *base, const struct rdn_cell *uniform);
/* The n paths from `start`; false: some path is undefined somewhere, ask the reference. [lane] */
bool rdn_kplan_leaf(const struct rdn_kplan *, const struct rdn_block *, double *base, uint32_t start, uint32_t n,
                    const struct rdn_cell *uniform, rdn_id first);
#endif
