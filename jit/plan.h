/* SPDX-License-Identifier: Apache-2.0
 * plan.h: the planner's copy of one event type: canonical, shared, and cut into what native code computes and what C puts
 * into slots before. Private to jit/.
 *
 * The copy answers only true, false or "ask interp". It drops spans, order and names: equal nodes are one node, > >= != become
 * < <= not ==, and/or are n-ary, `not` stands at the leaves, constants are folded, decimals are aligned by RESCALE nodes.
 * A node is NATIVE when machine code can compute it from fields, constants and slots; else it is a slot, filled by a gather
 * step: quickly for the common forms, through interp for the rest. A slot without a value taints the rules that depend on it
 * (dep sets, one bit a rule), and tainted rules are evaluated again by interp. So a plan may be pessimistic, never wrong.
 *
 * Values that window inputs and keys need besides plain fields are "items": native code computes them first (OPERANDS), and
 * they have taint bits of their own behind those of the rules. Where they need a look-up, C and native code take turns before the
 * windows: a value stands at level L after L rounds of gathers; OPERANDS of level L computes the items of that level. */
#ifndef RDN_PLAN_H
#define RDN_PLAN_H
#include "ir/ir.h"
#include "ir/key.h"
#include "jit/sample.h"

typedef uint32_t rdn_pid;                                /* index of plan->nodes; 0: none */
enum {                                                   /* rdn_pnode.flags */
    RDN_P_NATIVE = 1,                                    /* native code computes it (leaves: reads it in place) */
    RDN_P_SLOT   = 2,                                    /* C computes it into a slot */
    RDN_P_GUARD  = 4,                                    /* integer, dec: the 64-bit result may overflow or the divisor be 0 */
    RDN_P_INF    = 8,                                    /* f64: may be infinite though all inputs are finite */
    RDN_P_NAN    = 16,                                   /* f64: may be NaN though all inputs are finite */
    RDN_P_SHARED = 32,                                   /* computed once into a slot by native code */
    RDN_P_EVENT  = 64,                                   /* depends on fields, constants, params, now alone: possible before windows */
    RDN_P_WIDE_OK = 128,                                 /* dec: the 128-bit path knows this tree */
    RDN_P_EARLY  = 256,                                  /* SHARED: an item needs it, so OPERANDS computes it */
};
struct rdn_pnode {
    uint8_t op, type, scale;                             /* type: B1, I64, F64, D64 (any dec), else of no use to native code */
    uint8_t level;                                       /* rdn_plan_level + 1, 0: not asked yet */
    uint16_t flags;
    uint32_t a, b, c, aux;                               /* as in ir.h; n-ary (and AND, OR): args[a .. a + b) */
    uint32_t src;                                        /* an IR node with this value, 0 for derived ones */
    uint32_t uses;                                       /* native parents and roots, after marking */
    uint32_t slot;                                       /* SLOT, SHARED: index of the slot */
    uint32_t gather;                                     /* SLOT but PARAM: its step; item: its number */
    uint32_t dep;                                        /* index of its dep set, or RDN_NO_DEP */
    int64_t lo, hi;                                      /* integers, dec: range; CONST: the value; f64 CONST: its bits in lo */
};
#define RDN_NO_DEP UINT32_MAX
#define RDN_LEVELS 4u                                    /* of values that stand before the windows; more are interp's */

enum rdn_gather_kind {
    RDN_G_FIELD,                                         /* optional field `index` */
    RDN_G_WREAD, RDN_G_WPREV,                            /* window `index` at key `key` */
    RDN_G_ROW,                                           /* table `index` at key `key`, `column` */
    RDN_G_INLIST, RDN_G_INCAL,                           /* of operand */
    RDN_G_APPLY,                                         /* operation `src` on floats */
    RDN_G_TIME,                                          /* field of the local time `operand` asks about; kept while it cannot change */
    RDN_G_INTERP,                                        /* anything: src through interp */
};
#define RDN_APPLY_MAX 4u
struct rdn_gather {
    uint8_t kind, type;                                  /* type of the slot */
    bool has_else, is_defined;                           /* coalesce(this, els); defined(this) */
    bool nan_is_none;                                    /* has_else, is_defined: what they ask about is a float */
    uint32_t slot, index, column, key, src, dep;
    rdn_pid pid;                                         /* the node whose slot it fills */
    rdn_pid operand, els, args[RDN_APPLY_MAX]; uint8_t nargs;   /* leaves, items or slots that stand by then; args: of APPLY */
    bool late;                                           /* only sparse groups need it: made when one of them runs */
    uint8_t level;                                       /* made before the windows, in that round; 0: after them */
    bool inner;                                          /* another gather needs it, or a window */
};
#define RDN_KEY_MEMO 16                                  /* bytes in front of each key in the block: gather.c's */
struct rdn_keyplan {                                     /* one distinct tuple of key expressions */
    uint32_t n, at;                                      /* parts: plan->parts[at .. at + n) */
    uint32_t words, place;                               /* of the key; where it stands behind rdn_block_keys */
};
/* How C gets an operand without looking at its node. SLOW: through its node. GATHER: a slot that a gather before the windows fills. */
enum rdn_load { RDN_LOAD_SLOW, RDN_LOAD_64, RDN_LOAD_U32, RDN_LOAD_I32, RDN_LOAD_U8, RDN_LOAD_ITEM, RDN_LOAD_GATHER,
                RDN_LOAD_NONE, RDN_LOAD_ZERO, RDN_LOAD_TAIL, RDN_LOAD_TEXT,   /* steps.h alone: nothing to load; 0; the first bytes of a word; a text */
                RDN_LOAD_SLOT };                                 /* rdn_pword, sources: of the block, and always there */
struct rdn_operand { uint8_t load; uint32_t at; rdn_pid pid; };     /* at: offset in the row; number of the item or slot */
struct rdn_keypart { struct rdn_operand from; const struct rdn_type *type; };

enum rdn_win_how { RDN_WIN_INTERP, RDN_WIN_FAST };
struct rdn_winplan { uint32_t window; uint8_t how; bool is_float; uint32_t key; struct rdn_operand where, value, span; };   /* pid 0: none */

enum rdn_technique {
#define TECHNIQUE(name, text, doc) RDN_RULE_##name,
#include "jit/technique.def"
#undef TECHNIQUE
    RDN_RULE_COUNT
};
/* guard: native code computes some clauses of the `and` that the rule is; where they hold the others are asked: comparisons of the score
 * (plan->scores), else interp. how: RDN_RULE_*; by: the clause it goes by (key, threshold, jump), 0: none; pass: how often that holds; ns: expected a event */
struct rdn_prule { rdn_pid root; bool guard; uint8_t how; rdn_pid by; float pass, ns; };

/* score op k, or a parameter: of a rule whose other clauses hold. By rule. */
struct rdn_pscore { uint32_t rule; uint8_t op; bool is_param; uint32_t param; int64_t k; };

/* ---- what native code computes ----
 * The output words of an event are one bit a rule of the event, in its order, and behind them those that only C reads. An
 * emitter makes one function of OPERANDS (when there are items) and one of every group; C decides which of them run. */
struct rdn_pcond {                                       /* one output bit: all clauses hold (no clause: true) */
    uint32_t bit;
    uint32_t clause, nclauses;                           /* plan->clauses.v[clause .. clause + nclauses) */
    uint32_t njumps;                                     /* of the first so many: one that is false jumps over the rest */
    uint32_t dep;                                        /* whom it taints: this dep set; RDN_NO_DEP: the rule `bit` */
    uint32_t input, ninputs;                             /* as of a group: what nothing else of it reads but the clauses behind the jumps */
};
struct rdn_pinput { rdn_pid pid; uint32_t uses; };
/* Group 0 is dense: it computes the shared values OPERANDS leaves, then stores every output word, 0 where no condition stands.
 * The others are sparse: run after group 0 and only when C has found that what their conditions leave out holds, they OR
 * single bits. Each tests its own inputs for being finite (RDN_BLOCK_NONFINITE): those that are read whatever the jumps do when it
 * begins, those of one condition behind its jumps. */
struct rdn_pgroup {
    uint32_t cond, nconds;                               /* plan->conds.v[cond ..], by bit */
    uint32_t input, ninputs;                             /* plan->inputs.v[input ..]: f64 fields and slots it always reads, most used first */
    uint32_t late, nlate;                                /* plan->late.v[late ..]: gathers it needs that are not made before */
};

struct rdn_steps;
/* ---- what C looks at to know which sparse groups to run: behind group 0 ----
 * A word of the row, or of a slot that stands by then (load SLOT, at: offset in the block). A float is turned into an integer of the
 * same order; one that is not finite taints `dep`, like every slot without a value. */
struct rdn_pword { uint8_t load; bool is_f64; uint32_t at, dep; rdn_pid pid; };
/* What group a value lets run. direct[value - lo], when the keys lie close together; else open addressing: `more` when a key that
 * belongs here stands further on, and an empty place holds a key that belongs elsewhere, so that most look-ups end at once. */
struct rdn_pbucket { int64_t key; uint32_t group; bool more; };
struct rdn_pindex {
    struct rdn_pword of;
    uint32_t *direct; int64_t lo; uint64_t ndirect;      /* group 0: none */
    struct rdn_pbucket *buckets; uint32_t mask; unsigned shift;
    uint32_t nkeys;
};
static inline uint32_t rdn_pindex_place(const struct rdn_pindex *x, int64_t key) { return (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> x->shift); }
/* A finite float as an integer of the same order; -0 is 0. */
static inline int64_t rdn_pword_float(double d) {
    int64_t v;
    d += 0.0;
    __builtin_memcpy(&v, &d, sizeof v);
    return v ^ (int64_t)((uint64_t)(v >> 63) >> 1);
}
/* Thresholds: groups[i] runs while keys[i] < x, where x is the word, or its complement when `flip`; keys ascend and end with
 * INT64_MAX. */
struct rdn_pladder { struct rdn_pword of; bool flip; uint32_t n; int64_t *keys; uint32_t *groups; };
/* Rules that are one threshold each: bits[k * words ..] of them hold when the first k * step keys are below x; the rest one by one.
 * Steps of one key are fastest, and take up to 32 words a rule. */
#define RDN_PURE_EACH 32u
#define RDN_PURE_STEP 16u
struct rdn_ppure { struct rdn_pword of; bool flip; uint32_t n, step; int64_t *keys; uint32_t *rules; uint64_t *bits; };
/* Kill sets: atoms stand from output bit 64 * word on; a false one kills dep set `set` + its number. The rest of `rules` fire. */
#define RDN_KILL_WORDS 256u                              /* of rules, at most */
struct rdn_pkill { uint32_t word, natoms, set; uint64_t *rules; };
/* Gates: bit i from output bit 64 * word on lets group `group` + i run. */
struct rdn_pgates { uint32_t word, n, group; };

struct rdn_plan {
    struct rdn_arena *arena, *grow;                      /* where it stays; where its arrays grow until it is made */
    const struct rdn_ir *ir; uint32_t event;
    RDN_VEC(struct rdn_pnode) nodes;                     /* [0] is unused */
    RDN_VEC(rdn_pid) args;
    RDN_VEC(struct rdn_gather) gathers;
    RDN_VEC(struct rdn_keyplan) keys;
    RDN_VEC(struct rdn_keypart) parts;
    RDN_VEC(struct rdn_winplan) windows;
    RDN_VEC(rdn_pid) items;                              /* bit nrules + i of the taint words belongs to items[i] */
    RDN_VEC(rdn_pid) shared;                             /* nodes computed once, operands first; items are among them */
    RDN_VEC(rdn_pid) params;                             /* PARAM slots */
    RDN_VEC(rdn_pid) finite;                             /* f64 fields and slots that native code reads */
    double ns;                                           /* expected of an event: rules, look-ups, what the runner does */
    struct rdn_prule *rules; uint32_t nrules, words, bits;   /* words: of the rules; bits: rules and items */
    RDN_VEC(rdn_pid) clauses;
    RDN_VEC(struct rdn_pcond) conds;
    RDN_VEC(struct rdn_pinput) inputs;
    RDN_VEC(struct rdn_pgroup) groups;                   /* none: no rule is native */
    struct rdn_pgroup operands[RDN_LEVELS]; uint32_t levels;   /* no conditions; inputs of the items; levels in use, at least 1 */
    RDN_VEC(uint32_t) late;
    RDN_VEC(struct rdn_pindex) indexes;
    RDN_VEC(struct rdn_pladder) ladders;
    RDN_VEC(struct rdn_ppure) pures;
    struct rdn_pkill kill; struct rdn_pgates gates;
    uint32_t out_words;                                  /* words, and those that only C reads */
    uint32_t nslots, ndeps, nhow[RDN_RULE_COUNT];        /* ndeps: dep sets; nhow: rules by technique */
    uint64_t *deps; uint32_t dep_words;                  /* ndeps sets of dep_words words: of taint */
    uint64_t *sure;                                      /* the same, of rules and items that are undefined whenever the slot is; NULL: no gathers */
    uint64_t *interp;                                    /* rules that only interp runs, `words` words each: early ones, then late ones */
    bool any_early, any_late;                            /* some bit of the two is set */
    uint64_t *guard; bool any_guard;                     /* rules with a guard, as `interp` */
    RDN_VEC(struct rdn_pscore) scores; uint64_t *scored; /* scored: rules that are nothing else besides their guard */
    uint32_t key_bytes;                                  /* of all keys in the block */
    const struct rdn_steps *steps;                       /* made from it */
};
/* The block native code works on (x64: rdi, a64: x0). Offsets in bytes from its start. */
#define RDN_BLOCK_NOW 0
#define RDN_BLOCK_FLAGS 8                                /* uint32: RDN_BLOCK_NONFINITE, RDN_BLOCK_TAINT */
#define RDN_BLOCK_SPILL 16                               /* 24 words of scratch */
#define RDN_BLOCK_SECRET (16 + 24 * 8)                   /* rdn_key_secret_ */
#define RDN_BLOCK_SLOTS (RDN_BLOCK_SECRET + 16)
enum { RDN_BLOCK_NONFINITE = 1, RDN_BLOCK_TAINT = 2 };
static inline uint32_t rdn_block_slot(uint32_t slot) { return RDN_BLOCK_SLOTS + 8 * slot; }
static inline uint32_t rdn_block_fired(const struct rdn_plan *p) { return rdn_block_slot(p->nslots); }
static inline uint32_t rdn_block_taint(const struct rdn_plan *p) { return rdn_block_fired(p) + 8 * p->out_words; }
static inline uint32_t rdn_block_keys(const struct rdn_plan *p) { return rdn_block_taint(p) + 8 * p->dep_words; }
static inline uint32_t rdn_block_bytes(const struct rdn_plan *p) { return (rdn_block_keys(p) + p->key_bytes + 63) & ~63u; }

#define RDN_PLAN_MAX_SLOTS 4096u
#define RDN_PLAN_MAX_EVENT 4096u                         /* bytes of a row */
#define RDN_PLAN_MAX_NODES (1u << 20)

/* force: RDN_RULE_COUNT: the planner chooses; else this technique wherever a rule's form allows it (REDAN_JIT_FORCE, for tests).
 * no_late: every read is made before group 0. without: rules (a bit each) that somebody else answers: nothing is done for them, and
 * their bits are 0; NULL: none. sampled: events of the type to learn pass rates from, NULL: none. */
struct rdn_plan_options { enum rdn_technique force; bool no_late; const uint64_t *without; const struct rdn_sampled *sampled; };
static inline bool rdn_plan_without(const struct rdn_plan_options *o, uint32_t rule) { return o->without && (o->without[rule / 64] >> rule % 64 & 1); }
/* What the plans of a rule set's event types are made with, one after the other; it lives in `tmp`. */
struct rdn_copy;                                         /* hash table and memo of the canonical copy */
struct rdn_copy *rdn_copy_new(const struct rdn_ir *, struct rdn_arena *tmp);
/* Plans one event type. The plan lives in `arena`; `tmp` holds what only planning needs. Both have .oom set. Nothing fails: what
 * does not fit is left to interp. */
struct rdn_plan *rdn_plan_event(struct rdn_arena *arena, struct rdn_arena *tmp, struct rdn_copy *, const struct rdn_ir *, uint32_t event,
                                const struct rdn_plan_options *);
/* ---- between the files of the planner ---- */
void rdn_copy_begin(struct rdn_copy *, struct rdn_plan *);
rdn_pid rdn_copy_node(struct rdn_copy *, rdn_id);        /* shared, canonical */
rdn_pid rdn_copy_not(struct rdn_copy *, rdn_pid);
rdn_pid rdn_copy_all(struct rdn_copy *, const rdn_pid *, uint32_t n);     /* all of them hold; none: true */
/* Gather step of a SLOT node that a root needs; adds keys and items. */
void rdn_plan_gather(struct rdn_plan *, rdn_pid);
void rdn_plan_windows(struct rdn_plan *, struct rdn_copy *);
/* How many rounds of gathers there are before the value stands; RDN_LEVELS: it is not there before the windows. */
unsigned rdn_plan_level(struct rdn_plan *, rdn_pid);
/* A leaf, an item (added when it is native and stands before the windows), or a slot that does: can C read it then? */
bool rdn_plan_operand(struct rdn_plan *, rdn_pid);
struct rdn_operand rdn_plan_operand_of(const struct rdn_plan *, rdn_pid);   /* of what rdn_plan_operand let through */
/* An emitter cannot compute the condition: whoever depends on it is left to interp. */
void rdn_plan_give_up(struct rdn_plan *, const struct rdn_pcond *);
/* Conjuncts of a rule: its operands when it is an `and` computed in place, else itself. */
static inline const rdn_pid *rdn_plan_conjuncts(const struct rdn_plan *pl, const rdn_pid *root, uint32_t *ret_n) {
    const struct rdn_pnode *n = &pl->nodes.v[*root];
    *ret_n = 1;
    if (n->op != RDN_OP_AND || !(n->flags & RDN_P_NATIVE) || (n->flags & RDN_P_SHARED))
        return root;
    *ret_n = n->b;
    return pl->args.v + n->a;
}
static inline const rdn_pid *rdn_pargs(const struct rdn_plan *pl, const struct rdn_pnode *n, uint32_t *ret_n) {
    unsigned arity = n->op == RDN_OP_AND || n->op == RDN_OP_OR ? RDN_NARY : rdn_op_arities[n->op];
    if (arity == RDN_NARY) {
        *ret_n = n->b;
        return pl->args.v + n->a;
    }
    *ret_n = arity == 3 && !n->c ? 2 : arity;            /* ELEM of a vector has two */
    return &n->a;
}
static inline bool rdn_pnode_leaf(const struct rdn_pnode *n) {
    return n->op == RDN_OP_CONST || n->op == RDN_OP_FIELD || n->op == RDN_OP_PARAM || n->op == RDN_OP_NOW || n->op == RDN_OP_TS;
}
#endif
