/* SPDX-License-Identifier: Apache-2.0
 * native.h: what executors of machine code share: everything but the emitter and the test of the processor. */
#ifndef RDN_NATIVE_H
#define RDN_NATIVE_H
#include "jit/emit.h"
#include "jit/exec_impl.h"
#include "jit/run.h"

int  rdn_native_open(struct rdn_program *, redan_error *);       /* plans, emits with impl->emitter, publishes */
int  rdn_native_check(struct rdn_program *, redan_error *);      /* the self-check */
int  rdn_native_build(struct rdn_program *, redan_error *);      /* both */
void rdn_native_close(struct rdn_program *);
int  rdn_native_frame_open(struct rdn_frame *, redan_error *);
/* Batches. masks: the rules of each event that they answer, NULL: none. pays: what is left of the event is judged fast enough without
 * them. rest: makes program->rest of the events of which something is left. */
bool rdn_native_batch_pays(const struct rdn_plan *, const uint64_t *mask);
int  rdn_native_rest(struct rdn_program *, const uint64_t *const *masks, redan_error *);
/* The runner's part: of executors that wrap the others for batches, too. */
#define RDN_RUN_ENTRIES .window = rdn_run_window, .puts = rdn_run_puts, .rules = rdn_run_rules, .rules_rest = rdn_run_rest, .cold_rules = rdn_run_cold_rules
#define RDN_NATIVE_ENTRIES                                                                                                           \
    .build = rdn_native_build, .close = rdn_native_close, .frame_open = rdn_native_frame_open, .frame_close = rdn_run_close,         \
    .params_changed = rdn_run_params, RDN_RUN_ENTRIES
#endif
