/* SPDX-License-Identifier: Apache-2.0
 * run.h: one event through a unit: keys, gathers, native functions, and interp for what they leave open.
 *
 * rdn_run_open    [setup]  one block an event type, keys, no other memory
 * the others      [hot] */
#ifndef RDN_RUN_H
#define RDN_RUN_H
#include "jit/frame.h"
#include "jit/unit.h"

/* tainted: rules that native code or predicates gave back; cold: those of them that interp answered, by the cause it found (0: a
 * value); undef: rules that predicates found undefined, without interp; passes: events with so many tainted rules that predicates answered them; window inputs given to interp. */
struct rdn_run_counts { uint64_t tainted, cold[RDN_CAUSE_PLUGIN + 1], undef, passes, windows_interp; };
struct rdn_run;
int  rdn_run_open(struct rdn_frame *, const struct rdn_unit *, redan_error *);   /* sets frame->x */
void rdn_run_close(struct rdn_frame *);
void rdn_run_params(struct rdn_frame *);
enum rdn_enter rdn_run_window(struct rdn_frame *, uint32_t window, struct rdn_winput *ret);
uint32_t rdn_run_puts(struct rdn_frame *, bool accepted, uint32_t from);
void rdn_run_rules(struct rdn_frame *, enum rdn_phase);
void rdn_run_rest(struct rdn_frame *);                   /* early rules that have no answer, of an event begun with some */
uint64_t rdn_run_cold_rules(const struct rdn_frame *);   /* counts.tainted, from any thread */
void rdn_run_counts(const struct rdn_frame *, struct rdn_run_counts *ret);
/* Bits of rules tainted by the last event, for the self-check and tests. */
const uint64_t *rdn_run_taint(const struct rdn_frame *);
#endif
