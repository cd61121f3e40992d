/* SPDX-License-Identifier: Apache-2.0
 * pred.h: the conditions of one event type as arrays of predicates: what `table` runs, what DRAIN runs over an event with many
 * undefined inputs, and what block.c runs over many events. Private to jit/.
 *
 * Made from the plan; knows true, false and undefined, so it needs interp for causes and positions only. A truth value is a
 * byte: bit 0 surely true, bit 1 maybe true; 0 false, 3 true, 2 undefined. `and` and `or` of Kleene's logic are & and | of such
 * bytes. A number is a cell: a float (undefined is NaN, since every use of NaN is undefined), an integer or decimal of 64 bits
 * with a flag, or a decimal of 128 bits with a flag.
 *
 * A program is a list of steps, in order of what they need: each evaluates one array of equal things. Runs compare one cell
 * with many constants; they are what the compiler makes vectors of.
 *
 * rdn_preds_rules, rdn_preds_items  [any]  from the plan; allocate from `arena`, drop what they need in `tmp`; both have .oom set
 * rdn_preds_init                    [any]  once, on zeroed memory
 * rdn_preds_run                     [hot]  branch-free but for the steps; about 4.5 ns a rule of four clauses, 3.5 with AVX2
 *
 * A value may be "not ours" (a slot whose value does not fit, a decimal over 128 bits): then rules that depend on it and have no
 * answer are interp's. rdn_preds_run says so in its return value and in `ask`. */
#ifndef RDN_PRED_H
#define RDN_PRED_H
#include "jit/exec.h"
#include "jit/plan.h"

/* How a slot got no value, by slot: what a gather leaves. ASK: interp may still find one. */
enum { RDN_SLOT_VALUE, RDN_SLOT_UNDEF, RDN_SLOT_ASK };

enum rdn_pred_kind {
#define KIND(name, doc) RDN_PRED_##name,
#define CODE(name, doc)
#include "jit/preds.def"
#undef KIND
#undef CODE
    RDN_PRED_COUNT
};
enum rdn_pred_code {
#define KIND(name, doc)
#define CODE(name, doc) RDN_PC_##name,
#include "jit/preds.def"
#undef KIND
#undef CODE
    RDN_PC_COUNT
};
union rdn_pred_word { int64_t i; double f; };
/* Indices of cells or truth values, by code. check: in a block, events without a result are marked. */
struct rdn_pred_op { uint8_t code; bool check; uint32_t dst, a, b, c; union rdn_pred_word k; };

struct rdn_pred_step {
    uint8_t kind;
    uint32_t n, out;                                     /* truth values [out, out + n); a run's n is rounded up to RDN_PRED_LANES */
    uint32_t cell;                                       /* runs: the left side; junctions of any width: the width */
    const uint32_t *a, *b;                               /* cells; junctions: operands, results */
    const uint32_t *guard;                               /* blocks: truth value without which nobody asks for this one; 1: always asked for */
    const union rdn_pred_word *k, *l, *c;                /* constants */
    const struct rdn_pred_op *ops;
};
#define RDN_PRED_LANES 16u

/* load: RDN_LOAD_* of the row at `at`, SLOW: word of the block there. column: of struct rdn_batch, or the parameter, or NOW. */
struct rdn_pred_input { uint32_t cell, at, column; uint8_t load; bool is_float, is_param; };
#define RDN_PRED_NOW UINT32_MAX
struct rdn_pred_slot { uint32_t cell, slot, dep; bool is_float; };
struct rdn_pred_const { uint32_t cell; union rdn_pred_word v; };
struct rdn_pred_item { uint8_t home; uint32_t at; };
enum { RDN_HOME_NONE, RDN_HOME_F, RDN_HOME_I, RDN_HOME_W, RDN_HOME_B };

struct rdn_preds {
    const struct rdn_plan *plan;
    const struct rdn_pred_isa *isa;
    struct rdn_pred_step *steps; uint32_t nsteps;
    struct rdn_pred_input *words; uint32_t nwords;       /* inputs that are words of the row */
    struct rdn_pred_input *inputs; uint32_t ninputs;     /* all others */
    struct rdn_pred_slot *slots; uint32_t nslots;        /* inputs that a gather fills */
    struct rdn_pred_const *consts; uint32_t nconsts;
    uint32_t ncells, nwide, ntruths;
    uint32_t rules;                                      /* truth value of rule 0; the others follow in order, 64 a word */
    struct rdn_pred_item *items;                         /* of the plan, in order */
    uint64_t *mask;                                      /* for blocks: rules in it */
};
/* Working memory of one frame, all zero at first. */
struct rdn_pred_cells {
    union rdn_pred_word *v; uint8_t *u;                  /* cells; u: 2 for an undefined integer or decimal */
    rdn_i128 *w; uint8_t *wu;
    uint8_t *t;                                          /* truth values */
    bool dirty, overflow;                                /* slots without a value were seen; a decimal left 128 bits */
};

const struct rdn_preds *rdn_preds_rules(struct rdn_arena *arena, struct rdn_arena *tmp, const struct rdn_plan *);
const struct rdn_preds *rdn_preds_items(struct rdn_arena *arena, struct rdn_arena *tmp, const struct rdn_plan *);
/* For blocks: rules that depend on the event alone; no slots, no wide decimals. NULL: there are none, or a constant is NaN. */
const struct rdn_preds *rdn_preds_batch(struct rdn_arena *arena, struct rdn_arena *tmp, const struct rdn_plan *);
size_t rdn_preds_bytes(const struct rdn_preds *);
void rdn_preds_init(const struct rdn_preds *, void *memory, struct rdn_pred_cells *ret);

/* Rules 64 w ...: true ones, undefined ones. */
void rdn_preds_word(const struct rdn_preds *, const struct rdn_pred_cells *, uint32_t w, uint64_t *ret_true, uint64_t *ret_undef);
/* The word that stands for an item; false: it has none. */
bool rdn_preds_item(const struct rdn_preds *, const struct rdn_pred_cells *, uint32_t item, int64_t *ret);

/* ---- blocks (pred_block.c, a build for each instruction set) ----
 * 64 events a word: a cell is a column, a truth value one bit an event. Nothing is undefined here: an event with a float input
 * that is not finite, or an operation without a result, is marked, and goes through rdn_preds_run in its turn. Where the clause a rule
 * goes by holds for none of 64 events, its other clauses are not looked at; where none of 64 rules does, their words are not turned. */
#define RDN_BLOCK_EVENTS 128u                            /* a part of a batch: its columns and truth values fit the first caches */
#define RDN_BLOCK_WORDS (RDN_BLOCK_EVENTS / 64)
struct rdn_pred_column { union rdn_pred_word v[RDN_BLOCK_EVENTS]; };
struct rdn_pred_block {
    struct rdn_pred_column *own;                         /* by cell: constants, parameters, what is computed or not in place */
    const union rdn_pred_word **v;                       /* by cell: where it stands now */
    uint64_t (*t)[RDN_BLOCK_WORDS];                      /* truth values */
    uint64_t bad[RDN_BLOCK_WORDS];
};
size_t rdn_preds_block_bytes(const struct rdn_preds *);
void rdn_preds_block_init(const struct rdn_preds *, void *memory, struct rdn_pred_block *ret);      /* on zeroed memory */
void rdn_preds_block_params(const struct rdn_preds *, struct rdn_pred_block *, const struct rdn_cell *params);
struct rdn_pred_isa {                                    /* of one instruction set */
    const char *name;
    bool (*run)(const struct rdn_preds *, struct rdn_pred_cells *, const uint8_t *block, const uint8_t *row, const uint8_t *states, uint64_t *ask);
    void (*block)(const struct rdn_preds *, struct rdn_pred_block *, const struct rdn_batch *);
};
/* states: how each slot of the block got no value, NULL when all have one. ask: plan->words words, ORed into when the answer is
 * true: rules (undefined ones only count) that interp has to answer. */
static inline bool rdn_preds_run(const struct rdn_preds *p, struct rdn_pred_cells *c, const uint8_t *block, const uint8_t *row, const uint8_t *states,
                                 uint64_t *ask) {
    return p->isa->run(p, c, block, row, states, ask);
}
const struct rdn_pred_isa *rdn_pred_isa(void);           /* the best this CPU has; REDAN_JIT_VECTORS=scalar, avx2: not more than that */

/* pred_ops.c: the steps of kind OPS */
void rdn_pred_ops(const struct rdn_pred_op *, uint32_t n, struct rdn_pred_cells *);
#endif
