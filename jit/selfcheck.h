/* SPDX-License-Identifier: Apache-2.0
 * selfcheck.h: a program's native code against interp, before anything is published.
 *
 * Edge events and random ones built from the constants of the conditions, windows and tables answered by a deterministic
 * stand-in (values and undefined ones). Takes about `budget_us` and at least a few events of each type, however little there is; 0
 * checks nothing. A difference is NOSUP with R2105 `x64 and interp differ on rule credit, edge event 3`. */
#ifndef RDN_SELFCHECK_H
#define RDN_SELFCHECK_H
#include "jit/frame.h"

extern uint32_t rdn_selfcheck_us;                        /* budget of a compilation, 500; 0: none (tests that compare by themselves) */
int rdn_selfcheck(struct rdn_program *, uint32_t budget_us, redan_error *);   /* the program's executor is native and built */
int rdn_selfcheck_batches(struct rdn_program *, redan_error *);               /* its batches alone */
#endif
