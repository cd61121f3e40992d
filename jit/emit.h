/* SPDX-License-Identifier: Apache-2.0
 * emit.h: what an emitter of machine code gives the unit: the native functions of one event type, from its plan. Private to jit/.
 *
 * unit.c, run.c and selfcheck.c know no processor: an emitter is two functions. It writes constants and code into one buffer,
 * position-independent, at a distance that is kept when unit.c moves the piece; 64-byte alignment is kept, too. Functions are
 * rdn_native (unit.h): leaves, no callee-saved register, no stack data. A rule it cannot express becomes interp's in the plan. */
#ifndef RDN_EMIT_H
#define RDN_EMIT_H
#include "jit/plan.h"

/* For names and line tables: from `at` on the code is of that rule of the event, of several or none, or gives the frame back. */
struct rdn_mark { uint32_t at, rule; };
#define RDN_MARK_ALL UINT32_MAX
#define RDN_MARK_LEAVE (UINT32_MAX - 1)
struct rdn_marks { RDN_VEC(struct rdn_mark) list; };
static inline void rdn_mark(struct rdn_arena *a, struct rdn_marks *m, uint32_t at, uint32_t rule) {
    rdn_push_val(a, &m->list, ((struct rdn_mark){at, rule}));
}

/* Offsets in the buffer, [low, end) is used; 0: no such function. operands: by level. keys: operands[0] makes those of
 * plan->steps->quick, too; else C does. groups: one a group of the plan, in the arena. Marks ascend. */
struct rdn_emitted { uint32_t low, end, operands[RDN_LEVELS], *groups; bool keys; struct rdn_marks marks; };
/* Has OPERANDS of this level a shared value to compute? */
static inline bool rdn_emit_is_of(const struct rdn_pnode *n, uint32_t level) { return (n->flags & RDN_P_EARLY) && n->level == level + 1; }
static inline bool rdn_emit_any_of(const struct rdn_plan *pl, uint32_t level) {
    bool any = false;
    for (uint32_t i = 0; i < pl->shared.n; i++)
        any |= rdn_emit_is_of(&pl->nodes.v[pl->shared.v[i]], level);
    return any;
}
struct rdn_emitter {
    size_t (*guess)(const struct rdn_plan *);            /* bytes that are usually enough */
    /* False: the buffer is too small. The arena keeps what only emission needs. */
    bool (*event)(struct rdn_arena *, struct rdn_plan *, uint8_t *buf, size_t bytes, struct rdn_emitted *ret);
};
extern const struct rdn_emitter rdn_x64_emitter;
#endif
