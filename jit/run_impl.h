/* SPDX-License-Identifier: Apache-2.0
 * run_impl.h: one frame's state while a unit runs, shared by run.c (begin, native steps, rules) and gather.c (operands, keys,
 * gathers, window inputs). Private to these files. */
#ifndef RDN_RUN_IMPL_H
#define RDN_RUN_IMPL_H
#include <string.h>
#include "jit/run.h"

/* In front of each key of the block that is not quick. state: as of a slot. */
struct rdn_key_memo { uint64_t gen; uint8_t state; };
_Static_assert(sizeof(struct rdn_key_memo) == RDN_KEY_MEMO, "place of a key");
/* Of a gather of kind TIME: its value from `from` to before `until`. */
struct rdn_kept_time { int64_t from, until, value; };
/* Of one event type, 64-byte aligned, and places in it; states: RDN_SLOT_* of every slot, all 0 unless the flags say TAINT;
 * sure: like taint, rules and items that are undefined for certain; late_gen: by gather, the event a late one was made for. */
struct rdn_block { uint8_t *p; uint64_t *taint, *fired, *sure; uint8_t *states; uint64_t *late_gen; struct rdn_kept_time *times; struct rdn_pred_cells rules, items; };
/* All that most events need, of one event type: group 0, when nothing comes before it, and nothing but sparse groups behind it unless
 * something is undefined. all NULL: there is more to do; code: the same, or NULL while the block has flags to clear. */
struct rdn_quick { rdn_native *code, *all; uint8_t *block; uint64_t *fired; bool sparse; };
struct rdn_run {
    struct rdn_quick *quick;                             /* by event */
    const volatile uint8_t *alive;                       /* the unit's */
    const struct rdn_unit *unit;
    const struct rdn_unit_event *ev;                     /* of the event in work */
    uint8_t *block;
    uint64_t *taint;                                     /* in it; all zero unless its flags say TAINT */
    uint64_t *fired;                                     /* the output words, and head.fired */
    struct rdn_block *blocks, *rests, *at;               /* of all events; of their rests; of the one in work */
    uint64_t *held, held_gen;                            /* late rules whose other clauses hold, of that event */
    uint64_t *ask;                                       /* rules that a pass of the predicates leaves to interp */
    uint64_t gen;                                        /* of the event in work */
    bool inputs_done, prevs_done;
    struct rdn_run_counts counts;
    void *memory; size_t bytes;
};

static inline int64_t *rdn_slot_at(uint8_t *block, uint32_t slot) { return (int64_t *)(void *)(block + rdn_block_slot(slot)); }
/* Only the words in use exist. */
static inline struct rdn_key *rdn_key_at(uint8_t *block, uint32_t at) { return (struct rdn_key *)(void *)(block + at); }
static inline uint32_t *rdn_run_flags(const struct rdn_run *r) { return (uint32_t *)(void *)(r->block + RDN_BLOCK_FLAGS); }
static inline void rdn_words_or(uint64_t *to, const uint64_t *from, uint32_t n) {
    if (n == 1)                                          /* rules and items of most events */
        to[0] |= from[0];
    else
        for (uint32_t w = 0; w < n; w++)
            to[w] |= from[w];
}
/* Leaves the rules and items that depend on an input to interp. */
static inline void rdn_taint_set(struct rdn_run *r, uint32_t dep) {
    const struct rdn_plan *pl = r->ev->plan;
    if (dep == RDN_NO_DEP)
        return;
    rdn_words_or(r->taint, pl->deps + (size_t)dep * pl->dep_words, pl->dep_words);
    *rdn_run_flags(r) |= RDN_BLOCK_TAINT;
}

/* A slot has no value: rules and items that are undefined without it are known to be. */
static inline void rdn_sure_set(struct rdn_run *r, uint32_t dep) {
    const struct rdn_plan *pl = r->ev->plan;
    if (dep != RDN_NO_DEP)
        rdn_words_or(r->at->sure, pl->sure + (size_t)dep * pl->dep_words, pl->dep_words);
}

static inline bool rdn_native_alive(const struct rdn_run *r) { return *r->alive != 0; }

static inline int64_t rdn_row_word(const uint8_t *p, unsigned load) {
    int64_t v;
    int32_t d;
    uint32_t u;
    switch (load) {
    case RDN_LOAD_64: memcpy(&v, p, 8); return v;
    case RDN_LOAD_U32: memcpy(&u, p, 4); return u;
    case RDN_LOAD_I32: memcpy(&d, p, 4); return d;
    default: return *p;
    }
}
/* run.c */
void rdn_run_start(struct rdn_frame *);
static inline void rdn_run_need_start(struct rdn_frame *f) {
    if (((struct rdn_run *)f->x)->gen != f->head.seq)
        rdn_run_start(f);
}
void rdn_run_nonfinite(struct rdn_frame *);              /* native code saw a NaN or an infinity */
static inline void rdn_run_native(struct rdn_frame *f, rdn_native *code) {
    struct rdn_run *r = f->x;
    code(r->block, f->head.row);
    if (__builtin_expect(*rdn_run_flags(r) & RDN_BLOCK_NONFINITE, 0))
        rdn_run_nonfinite(f);
}
/* gather.c */
bool rdn_slot_store(uint8_t *block, uint32_t slot, unsigned type, const struct rdn_cell *);   /* false: the value has no 8-byte form */
bool rdn_load_field(const struct rdn_frame *, uint32_t field, struct rdn_cell *ret);          /* false: undefined */
void rdn_run_inputs(struct rdn_frame *);                 /* items and quick keys, once an event, before the first thing that needs one */
void rdn_run_fills(struct rdn_frame *);                  /* every gather of the event that is not late */
void rdn_run_late(struct rdn_frame *, const uint32_t *gathers, uint32_t n);    /* those of them that were not made yet */
/* sparse.c: what group 0 leaves. */
void rdn_run_sparse(struct rdn_frame *);
static inline void rdn_need_inputs(struct rdn_frame *f) {
    if (!((struct rdn_run *)f->x)->inputs_done)
        rdn_run_inputs(f);
}
#endif
