/* SPDX-License-Identifier: Apache-2.0
 * kernel.h: chapter 12 of the language on the CPU: by the block functions of block.h, with a reference in plain C that every
 * device must equal bit for bit. */
#ifndef RDN_KERNEL_H
#define RDN_KERNEL_H
#include "ir/block.h"
#include "ir/ir.h"

/* Scratch a lane keeps for kernels, sized once for the largest kernel of a rule set; no allocation at the call. */
struct rdn_kernel_state;
int  rdn_kernel_open(const struct rdn_ir *, const struct rdn_mem *, struct rdn_kernel_state **ret);
void rdn_kernel_close(struct rdn_kernel_state *);
/* Another build of the block functions than rdn_block(), for tests and benchmarks; NULL: the reference does it all. [setup] */
void rdn_kernel_use(struct rdn_kernel_state *, const struct rdn_block *);
/* Runs kernel `call` with defined arguments; `params`: run-time values of ir->params. deadline_mono_ns: rdn_mono_ns() value, checked once a leaf of 256 paths; 0: none.
 * Late: returns false (the caller takes the default or undefined(plugin)). A kernel without a value leaves its cause in *ret;
 * the caller sets the span and applies the default. [lane] */
bool rdn_kernel_run(struct rdn_kernel_state *, const struct rdn_ir *, uint32_t call, const struct rdn_cell *args,
                    const struct rdn_cell *params, int64_t deadline_mono_ns, struct rdn_cell *ret);
#endif
