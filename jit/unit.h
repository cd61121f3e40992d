/* SPDX-License-Identifier: Apache-2.0
 * unit.h: the native code of one rule set, published in the process's code arena, with the plans it was made from.
 *
 * rdn_unit_open   [any]  plan, emit, publish: microseconds a rule; fails with FULL (R2103, R2104), SYS (R2101), NOMEM */
#ifndef RDN_UNIT_H
#define RDN_UNIT_H
#include "jit/code_arena.h"
#include "jit/emit.h"
#include "jit/pred.h"
#include "jit/steps.h"

#define RDN_UNIT_MAX ((size_t)16 << 20)
extern size_t rdn_unit_most;                             /* bytes of code of a rule set: RDN_UNIT_MAX; less in tests */
#define RDN_UNIT_MAGIC 0x31554e4452u                     /* "RDNU1" */
struct rdn_unit_head { uint64_t magic, bytes, hash, events; uint64_t zero[4]; };   /* in front of the code; hash: of what follows */

typedef void rdn_native(void *block, const uint8_t *row);
struct rdn_unit_event {
    struct rdn_plan *plan;
    struct rdn_steps steps;
    rdn_native *operands[RDN_LEVELS], *rules;            /* NULL: none; rules: group 0 */
    bool native_keys;                                    /* operands[0] makes the quick keys */
    const struct rdn_preds *preds, *item_preds;          /* without native code instead of it; with it preds are for DRAIN. NULL: none */
    rdn_native **groups;                                 /* [i]: the plan's group i */
    enum { RDN_SPARSE_NONE, RDN_SPARSE_INDEX, RDN_SPARSE_MORE } sparse;   /* what there is behind group 0: nothing, indexes alone, more */
    uint32_t *late, nlate;                               /* the late gathers */
    const struct rdn_winplan **window;                   /* by window of the rule set; NULL: not fed by this event */
    const struct rdn_unit_event *rest;                   /* in its place when a batch has answered some rules: without those. NULL: itself */
};
struct rdn_jit;
struct rdn_unit {
    const struct rdn_mem *mem;
    struct rdn_jit *jit;                                 /* NULL: of no engine */
    const struct rdn_ir *ir;
    const struct rdn_emitter *emitter;
    struct rdn_arena arena;                              /* plans */
    struct rdn_unit_event *events;
    struct rdn_code_arena *code_arena;
    struct rdn_code code;
    const volatile uint8_t *alive;                       /* 0 in a forked child: the code is not there */
    uint32_t plan_us, emit_us;
    bool is_rest;
};
/* emitter NULL: no code, predicates do all. sampled: by event; NULL: nothing is known of events. */
int  rdn_unit_open(struct rdn_jit *, const struct rdn_ir *, const struct rdn_emitter *, const struct rdn_sampled *sampled, const struct rdn_mem *,
                   struct rdn_unit **ret, redan_error *);
/* For events some of whose rules a batch answers: without[e] (a bit each; NULL: nothing to do for this event) are left out. `of` points to
 * the events of *ret then, which is to be closed after it. */
int  rdn_unit_open_rest(struct rdn_unit *of, const struct rdn_sampled *, const uint64_t *const *without, struct rdn_unit **ret, redan_error *);
void rdn_unit_close(struct rdn_unit *);
/* unit_names.c: tells the sinks of the functions of event e, whose piece [low, end) of the emitter's buffer stands at `code` now.
 * name_all: of others than those in `emitted`, ascending; the step is that of the name, with its number from 1 on. */
struct rdn_named { const char *step; uint32_t number, at; };
void rdn_unit_name(const struct rdn_unit *, struct rdn_arena *tmp, uint32_t e, const struct rdn_emitted *, const uint8_t *code);
void rdn_unit_name_all(const struct rdn_unit *, struct rdn_arena *tmp, uint32_t e, const struct rdn_named *, uint32_t n, const struct rdn_emitted *,
                       const uint8_t *code);
#endif
