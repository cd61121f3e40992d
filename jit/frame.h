/* SPDX-License-Identifier: Apache-2.0
 * frame.h: programs and frames as the executors see them, and the reference interpreter's entry points. Private to jit/.
 *
 * A value that an executor cannot work out in native code is asked of interp: rdn_interp_value for any node below a root of the
 * rule set, rdn_interp_rule for a whole condition with cause and position. Lets, bound fn arguments, calls and own-event window
 * keys are evaluated at most once an event whoever asks (a stamp of the event says which are done), so asking twice is cheap
 * and never makes a call twice. Fields, constants, parameters, now, ts and score are read directly. */
#ifndef RDN_FRAME_H
#define RDN_FRAME_H
#include "jit/exec.h"

struct rdn_exec_impl;
struct rdn_batch_impl;
struct rdn_interp;                                       /* interp's code for one rule set: shared by frames */
struct rdn_interp_state;                                 /* its cells, stacks and scratch in one frame */

struct rdn_program {
    const struct rdn_ir *ir;
    struct rdn_jit *jit;                                 /* NULL: of no engine */
    const struct rdn_mem *mem;
    uint32_t refs;
    const struct rdn_sampled *sampled;                   /* while it is built */
    const struct rdn_exec_impl *impl;
    struct rdn_interp *interp;
    void *x;                                             /* the executor's own */
    const struct rdn_batch_impl *batches;                /* NULL: none; then there is no rest and no batch */
    void *rest, *batch;                                  /* rules that batches leave; what `batches` keeps */
    bool must_sync;                                      /* see struct rdn_code */
    bool asked_batches;                                  /* what can be made for them is made */
    struct rdn_program_info info;
};

struct rdn_prev_word { uint64_t seq; int64_t word; };    /* of the event `seq` */
struct rdn_frame {
    struct rdn_frame_head head;                          /* first: the lane sees only this */
    const struct rdn_program *prog;
    const struct rdn_mem *mem;
    struct rdn_helpers helpers;
    void *lane;
    const struct rdn_exec_impl *impl;                    /* prog's */
    uint64_t *bits;                                      /* backs head.fired, unless `rules` turns it elsewhere, and head.undef */
    uint32_t words;                                      /* of each, for the event with most rules */
    struct rdn_prev_word *prevs;                         /* by window */
    struct rdn_interp_state *interp;
    void *x, *batch;                                     /* the executor's own: slots, taint bits, code; batch: for batches */
};

void rdn_frame_clear_fired(struct rdn_frame *);          /* head.fired is the frame's own words, all 0. [hot] */

/* ---- interp.c, interp_code.c ---- */
int  rdn_interp_open(const struct rdn_ir *, const struct rdn_mem *, struct rdn_interp **ret, redan_error *);
void rdn_interp_close(struct rdn_interp *);
int  rdn_interp_frame_open(struct rdn_frame *, redan_error *);
void rdn_interp_frame_close(struct rdn_frame *);

/* The value of any node below a root (condition, action part, window part, let, test part; not a kernel body) for the current
 * event. Texts and arrays stay valid until the next event. Reads of score see head.score as it is now. [hot] */
void rdn_interp_value(struct rdn_frame *, rdn_id, struct rdn_cell *ret);
/* The condition of a rule. Calls are made only if the call-free part leaves it open, in the order of the text. [hot] */
void rdn_interp_rule(struct rdn_frame *, uint32_t rule, struct rdn_cell *ret);
/* rdn_exec_window. [hot] */
enum rdn_enter rdn_interp_window(struct rdn_frame *, uint32_t window, struct rdn_winput *ret);
/* The key of a window on the current event, evaluated once an event: false when undefined, with cause and position. [hot] */
bool rdn_interp_own_key(struct rdn_frame *, uint32_t window, const struct rdn_key **ret, struct rdn_cell *undef);
#endif
