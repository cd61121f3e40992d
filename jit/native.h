/* SPDX-License-Identifier: Apache-2.0
 * native.h: what executors share that have a unit: everything but the emitter, the batches and the test of the processor. */
#ifndef RDN_NATIVE_H
#define RDN_NATIVE_H
#include "jit/emit.h"
#include "jit/exec_impl.h"
#include "jit/run.h"

/* Entries of every executor with a unit: plans, code by impl->emitter, batches by impl->batches or jit.batch, the self-check. */
int  rdn_native_build(struct rdn_program *, redan_error *);
int  rdn_native_batches(struct rdn_program *, redan_error *);    /* of a program that has none yet; after a failure there are none */
void rdn_native_close(struct rdn_program *);
int  rdn_native_frame_open(struct rdn_frame *, redan_error *);
void rdn_native_frame_close(struct rdn_frame *);
void rdn_native_params(struct rdn_frame *);
int  rdn_native_batch_available(const struct rdn_jit *, redan_error *);   /* 0, or why what jit.batch names cannot run here */
/* For batches. pays: false: it answers so little that what is left of the event is judged as fast without. rest: makes program->rest of
 * the events of which something is left; masks: the rules of each event that are answered, NULL: none. */
bool rdn_native_batch_pays(const struct rdn_program *, const struct rdn_plan *, const uint64_t *mask);
int  rdn_native_rest(struct rdn_program *, const uint64_t *const *masks, redan_error *);
#define RDN_NATIVE_ENTRIES                                                                                                           \
    .build = rdn_native_build, .close = rdn_native_close, .frame_open = rdn_native_frame_open, .frame_close = rdn_native_frame_close, \
    .params_changed = rdn_native_params, .window = rdn_run_window, .puts = rdn_run_puts, .rules = rdn_run_rules,                     \
    .rules_rest = rdn_run_rest, .cold_rules = rdn_run_cold_rules
#endif
