/* SPDX-License-Identifier: Apache-2.0
 * ir.h: one rule set after checking: nodes and everything that hangs on them.
 *
 * A struct rdn_ir is built once by dsl/lower (or ir/read), sealed, and then immutable and shared by every thread. All of
 * it lives in one arena. A node's operands have smaller ids; there are no blocks, no phi, no loops. Nodes keep source
 * order and a span for every use: interp walks each rule's own tree in that order and alone gives causes and positions.
 * Only lets (through USE) and fn arguments are shared. Executors work on a canonical copy of their own.
 *
 * Strings are terminated and live in the arena. Counts are bounded by LANGUAGE.md chapter 15. */
#ifndef RDN_IR_H
#define RDN_IR_H
#include "base/dec.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sym.h"
#include "base/vec.h"
#include "ir/type.h"

enum rdn_op {
#define OP(name, text, arity, cls, doc) RDN_OP_##name,
#include "ir/ops.def"
#undef OP
    RDN_OP_COUNT
};
enum rdn_cell_type {
#define CELL(name, text, doc) RDN_TY_##name,
#include "ir/types.def"
#undef CELL
    RDN_TY_COUNT
};
enum rdn_cause {
    RDN_DEFINED = 0,
#define CAUSE(name, number, text) RDN_CAUSE_##name = number,
#include "ir/causes.def"
#undef CAUSE
};
const char *rdn_cause_text(enum rdn_cause);              /* "missing" ... */

typedef uint32_t rdn_id;                                 /* index of ir->nodes; 0 is RDN_NO_NODE */
#define RDN_NO_NODE 0u

enum {                                                   /* rdn_node.flags */
    RDN_NODE_TRACE  = 1,                                 /* explain prints this node: names, cells, w[k], a[i], calls */
    RDN_NODE_SHARED = 2,                                 /* body of a let or bound fn argument: evaluate once an event */
    RDN_NODE_LATE   = 4,                                 /* reads score, directly or below */
    RDN_NODE_CALLS  = 8,                                 /* makes a plugin or kernel call below */
    RDN_NODE_EACH   = 16,                                /* kernels: depends on the path */
};
struct rdn_node {                                        /* 24 bytes */
    uint8_t op, type, scale, flags;                      /* RDN_OP_*, RDN_TY_*, decimals of d64/w128, RDN_NODE_* */
    uint32_t a, b, c, aux, span;                         /* see ops.def; span: index of ir->spans */
};
struct rdn_span { uint32_t a, b; };                      /* byte offsets [a, b) in the source */

/* The value of a node. Texts and arrays are borrowed: from the event row, the arena, or the evaluation's scratch. */
struct rdn_cell {
    union {
        int64_t i;
        double f;
        rdn_i128 d;
        struct { const char *p; uint32_t len; } t;
        const double *v;                                 /* length: rdn_type_elems of the node's language type */
        const int64_t *w;
    };
    uint8_t cause;                                       /* RDN_DEFINED or RDN_CAUSE_* */
    uint8_t pad[3];
    uint32_t span;                                       /* where it became undefined */
    uint64_t gen;                                        /* private to executors (memo stamp) */
};

struct rdn_const { uint8_t type, scale; const struct rdn_type *ltype; struct rdn_cell val; };  /* sym: .i is the id in the symbol table */

/* ---- declarations ---- */
struct rdn_field {
    const char *name; const struct rdn_type *type;
    uint32_t offset, size;                               /* in the row (LANGUAGE.md 5) */
    bool optional; uint8_t present_bit;
};
struct rdn_text_check { uint32_t at, n; uint64_t present; };   /* present: the bits without which there is none */
struct rdn_byte_check { uint32_t at, below; };            /* the byte at that offset of a row is below */
struct rdn_event {
    const char *name, *canon;                            /* canon: the text layout_hash is over */
    struct rdn_field *fields; uint32_t nfields;
    uint32_t size; bool has_present;                     /* the presence word stands at offset 8 */
    uint64_t layout_hash;
    int32_t part_field;                                  /* field of `partition by`, -1: none (goes to every lane) */
    uint64_t cost_ps;
    /* filled by rdn_ir_seal(), indices in declared order */
    uint32_t *observed, nobserved, *accepted, naccepted; /* windows fed by this event */
    uint32_t *resets, nresets;                           /* windows reset by it */
    uint32_t *rules, nrules;                             /* rules on it */
    uint32_t *checked, nchecked;                         /* fields that not all bytes are values of: bool, enum, sym, str */
    struct rdn_byte_check *bytes; uint32_t nbytes;       /* of those the bools and enums, and the offsets of the syms: all below are valid */
    uint32_t *sym_at, nsym_at;
    struct rdn_text_check *texts; uint32_t ntexts;       /* and of the texts */
};
struct rdn_param { const char *name; const struct rdn_type *type; struct rdn_cell val, lo, hi; bool has_range; };
struct rdn_list { const char *name; const struct rdn_type *type; struct rdn_cell *vals; uint32_t n; };   /* str elements as .t */
struct rdn_column { const char *name; const struct rdn_type *type; };
struct rdn_row { struct rdn_cell *keys, *vals; };
struct rdn_table {
    const char *name;
    struct rdn_column *keys, *cols; uint32_t nkeys, ncols;
    struct rdn_row *rows; uint32_t nrows;                /* without the default row */
    struct rdn_cell *def;                                /* default row's values or NULL */
    bool host; uint32_t cap;                             /* from host: no rows here */
    uint64_t row_bytes;                                  /* chapter 14 */
};
struct rdn_session { uint8_t days; int32_t list; uint16_t open, close; uint32_t *except; uint32_t nexcept; };
    /* days: bit 0 Monday ... bit 6 Sunday, 0 when list >= 0 names the list of dates; open, close: minutes */
struct rdn_calendar { const char *name, *zone; struct rdn_session *sessions; uint32_t n; };

enum rdn_agg {
    RDN_AGG_COUNT, RDN_AGG_SUM, RDN_AGG_AVG, RDN_AGG_MIN, RDN_AGG_MAX, RDN_AGG_STDDEV, RDN_AGG_DISTINCT,
    RDN_AGG_LAST, RDN_AGG_FIRST, RDN_AGG_EWMA, RDN_AGG_ZSCORE, RDN_AGG_DELTA
};
enum rdn_evict { RDN_EVICT_NONE, RDN_EVICT_OLDEST, RDN_EVICT_IDLE };
struct rdn_reset { uint32_t event; uint32_t *fields; };  /* fields of the event, one a key */
struct rdn_window {
    const char *name;
    uint8_t agg, evict; bool accepted, local, half_life, prev_used;
    uint32_t event;
    const struct rdn_type *vtype, *rtype;                /* of the value (NULL for count) and of the result */
    const struct rdn_type **ktypes; rdn_id *keys; uint32_t nkeys;   /* key expressions on its own event (dec: NARROWed) */
    rdn_id where, value, span;                           /* RDN_NO_NODE when absent; span: ewma only, i64 */
    int64_t over_ns; uint32_t events;                    /* time span, or number of events; both 0: unbounded or ewma */
    uint32_t panes, exact, warmup, cap;                  /* panes: P, 0 without; exact as written; warmup: the effective minimum */
    int64_t pane_ns;                                     /* p of 10.5 */
    struct rdn_reset *resets; uint32_t nresets;
    const char *canon; uint64_t hash;                    /* chapter 13 */
    uint64_t cost_ps, key_bytes;                         /* chapter 14 */
};

enum rdn_reduce { RDN_RED_SUM, RDN_RED_MEAN, RDN_RED_MIN, RDN_RED_MAX, RDN_RED_QUANTILE };
struct rdn_call {                                        /* a plugin or a kernel */
    const char *name; bool kernel;
    struct rdn_column *params; uint32_t nparams;         /* types may be RDN_K_EVENT for plugins */
    const struct rdn_type *rtype;
    int64_t deadline_ns; bool has_default; struct rdn_cell def;
    /* kernels: the body is nodes (first, last]; values per path */
    uint32_t paths; uint8_t reduce;
    uint32_t rank;                                       /* quantile: k of 12.4, from 1 */
    rdn_id first, last;                                  /* ids of the body's first and last node */
    rdn_id *lets; uint32_t nlets;                        /* roots of the lets in order of the text: undefined ones count even if unused */
    rdn_id value;                                        /* root of the reduced value */
};

enum rdn_verb {                                          /* the first four are verdicts, in order of severity */
    RDN_V_ACCEPT, RDN_V_THROTTLE, RDN_V_HOLD, RDN_V_REJECT, RDN_V_FLAG, RDN_V_SCORE, RDN_V_EMIT, RDN_V_SKIP
};
const char *rdn_verb_text(enum rdn_verb);
struct rdn_part { const char *text; uint32_t len; rdn_id node; };                  /* of a message: node != 0 or text */
struct rdn_emit_field { const char *name; rdn_id node; const struct rdn_type *type; };
struct rdn_action {
    uint8_t verb; bool has_msg;
    uint32_t code;                                       /* index of ir->codes; emit: of ir->emits */
    int64_t for_ns;                                      /* 0: none */
    rdn_id points;                                       /* score */
    struct rdn_part *msg; uint32_t nmsg;
    struct rdn_emit_field *fields; uint32_t nfields;     /* emit */
};
struct rdn_emit_def { const char *name; struct rdn_column *cols; uint32_t ncols; };   /* types of the first emit of that name */
struct rdn_rule {
    const char *name; uint32_t event; int32_t priority; bool shadow, late, calls;
    rdn_id when; uint32_t when_span;
    struct rdn_action *acts; uint32_t nacts;
    struct rdn_action *undef;                            /* its own or the header's; verb SKIP does nothing */
    uint64_t cost_ps;
};

/* ---- tests (17.4) ---- */
enum rdn_step_kind { RDN_STEP_AT, RDN_STEP_PARAM, RDN_STEP_MOCK, RDN_STEP_ROW, RDN_STEP_EXPECT, RDN_STEP_EVENT };
struct rdn_step_field { uint32_t field; rdn_id node; };  /* node 0: none, clears an optional field */
struct rdn_step_emit { uint32_t emit; bool any; struct rdn_step_field *fields; uint32_t nfields; };  /* any: no {...} given */
struct rdn_step {
    uint8_t kind; uint32_t span;
    int64_t at_ns;                                       /* AT: time; EVENT: `after`, or -1 */
    uint32_t index;                                      /* param, call, table, event */
    bool none;                                           /* MOCK = none, ROW = none */
    struct rdn_cell val;                                 /* PARAM, MOCK */
    struct rdn_cell *keys, *vals;                        /* ROW */
    rdn_id expect; uint8_t cause;                        /* EXPECT; cause 0: must be true */
    struct rdn_step_field *fields; uint32_t nfields;     /* EVENT: given fields */
    uint32_t repeat;
    bool judged;                                         /* EVENT with => */
    uint8_t verdict; bool more, has_score; int64_t score;
    uint32_t *codes, ncodes; struct rdn_step_emit *emits; uint32_t nemits; uint32_t *undef, nundef;   /* undef: rules */
};
struct rdn_test { const char *name; uint32_t span; struct rdn_step *steps; uint32_t n; };

/* ---- the rule set ---- */
#define RDN_SLICE(T, name) T *name; uint32_t n##name
struct rdn_ir {
    struct rdn_arena *arena, *work;                      /* owns everything below; where arrays grow until the seal */
    struct rdn_types *types;
    struct rdn_syms *syms;                               /* borrowed: the engine's */
    const char *name; uint32_t version;
    const char *file;                                    /* as given, for messages */
    const char *source; uint32_t source_len;             /* a copy */
    RDN_VEC(struct rdn_node) nodes;                      /* [0] is unused */
    RDN_VEC(uint32_t) ltypes;                            /* parallel to nodes: language type, index of types */
    RDN_VEC(rdn_id) args;                                /* operands of n-ary nodes */
    RDN_VEC(struct rdn_span) spans;
    RDN_VEC(struct rdn_const) consts;
    RDN_SLICE(struct rdn_event, events);
    RDN_SLICE(struct rdn_param, params);
    RDN_SLICE(struct rdn_list, lists);
    RDN_SLICE(struct rdn_table, tables);
    RDN_SLICE(struct rdn_calendar, cals);
    RDN_SLICE(struct rdn_window, windows);
    RDN_SLICE(struct rdn_call, calls);
    RDN_SLICE(struct rdn_rule, rules);
    RDN_SLICE(struct rdn_test, tests);
    RDN_SLICE(const char *, codes);                      /* reason codes, each once, in order of first appearance */
    RDN_SLICE(struct rdn_emit_def, emits);
    RDN_SLICE(const struct rdn_tz *, zones);             /* of time fields; [0] is UTC */
    RDN_SLICE(const char *, zone_names);
    const char *partition;                               /* field name or NULL */
    int64_t budget_ns;                                   /* 0: none */
    uint64_t memory_bytes;                               /* `cost`'s sum */
    struct rdn_map *interned;                            /* the builder's: constants by value */
};

/* builder (ir.c): appends a node; operands must exist already. The _n form copies the operands to args. The arena must have .oom
 * set: nothing here returns NULL. [any], one thread at a time */
struct rdn_ir *rdn_ir_new(struct rdn_arena *, struct rdn_syms *);
/* What only building needs goes to `work`, which must live until the seal: then the arrays are copied to the arena, exactly as long
 * as they are. */
struct rdn_ir *rdn_ir_new_in(struct rdn_arena *, struct rdn_arena *work, struct rdn_syms *);
uint32_t rdn_ir_span(struct rdn_ir *, uint32_t a, uint32_t b);
uint32_t rdn_ir_const(struct rdn_ir *, enum rdn_cell_type, unsigned scale, const struct rdn_type *, const struct rdn_cell *);  /* shared by value */
rdn_id rdn_ir_node(struct rdn_ir *, enum rdn_op, enum rdn_cell_type, unsigned scale, const struct rdn_type *ltype,
                   rdn_id a, rdn_id b, rdn_id c, uint32_t aux, uint32_t span, unsigned flags);
rdn_id rdn_ir_node_n(struct rdn_ir *, enum rdn_op, enum rdn_cell_type, unsigned scale, const struct rdn_type *ltype,
                     const rdn_id *args, uint32_t nargs, uint32_t c, uint32_t aux, uint32_t span, unsigned flags);
void rdn_ir_reserve(struct rdn_ir *, uint32_t nodes);    /* about as many will come */
void rdn_ir_seal(struct rdn_ir *);                       /* per-event index lists, inherited flags */
/* ir_hash.c: BLAKE2b-256 of everything but file and source, and of the tz version. A fifth of compiling a file: worked out for
 * who asks. The arena's .oom takes a failure. */
void rdn_ir_hash(const struct rdn_ir *, uint8_t ret[32]);

/* The node an operand stands for, through uses and inlined lets: for its position, or for what it is. */
static inline rdn_id rdn_ir_leaf(const struct rdn_ir *ir, rdn_id id) {
    for (;;) {
        const struct rdn_node *n = &ir->nodes.v[id];
        if (n->op == RDN_OP_USE)
            id = n->a;
        else if (n->op == RDN_OP_INLINE)
            id = ir->args.v[n->a + n->b - 1];
        else
            return id;
    }
}
static inline const struct rdn_type *rdn_ir_ltype(const struct rdn_ir *ir, rdn_id id) { return rdn_type_at(ir->types, ir->ltypes.v[id]); }
#define RDN_NARY 255u
extern const uint8_t rdn_op_arities[RDN_OP_COUNT];
static inline unsigned rdn_op_arity(enum rdn_op op) { return rdn_op_arities[op]; }     /* 0..3, RDN_NARY */
/* Operands of any node as a list. `buf` holds up to three. */
static inline const rdn_id *rdn_node_args(const struct rdn_ir *ir, const struct rdn_node *n, rdn_id buf[3], uint32_t *ret_n) {
    unsigned arity = rdn_op_arities[n->op];
    if (arity == RDN_NARY) {
        *ret_n = n->b;
        return ir->args.v + n->a;
    }
    buf[0] = n->a;
    buf[1] = n->b;
    buf[2] = n->c;
    *ret_n = arity == 3 && n->op == RDN_OP_ELEM && n->c == RDN_NO_NODE ? 2 : arity;
    return buf;
}
const char *rdn_op_text(enum rdn_op);
void rdn_ir_linecol(const struct rdn_ir *, uint32_t span, uint32_t *line, uint32_t *col);   /* start of a span, from 1 */

/* The machine type of a stored value of that language type (dec: D64; arr: VEC or IVEC). */
enum rdn_cell_type rdn_cell_of(const struct rdn_type *);

/* verify.c: structural checks; CORRUPT with R2109 and the broken invariant by name. */
int rdn_ir_verify(const struct rdn_ir *, redan_error *);
/* print.c, read.c: the canonical text, both ways (JIT.md section 3). read is fed by fuzzers: any bytes are fine. */
void rdn_ir_print(struct rdn_buf *, const struct rdn_ir *);
int rdn_ir_read(struct rdn_arena *, struct rdn_syms *, const char *text, size_t len, struct rdn_ir **ret, redan_error *);

/* ---- operations (op_*.c, fold.c) ---- */
/* Scratch for texts and arrays a value needs; reset between events. Bounded: NULL when full. */
struct rdn_scratch { char *base; size_t size, used; };
void *rdn_scratch_alloc(struct rdn_scratch *, size_t);   /* 16-byte aligned */

/* The value of a PURE or LAZY node from the cells of all its operands, in order; total. LAZY nodes and undefined operands are
 * handled as chapter 6 says; a cause that arises here gets the node's span. Text results go to scratch; a full scratch
 * gives undefined(overflow), which static text bounds keep from happening. */
void rdn_op_apply(const struct rdn_ir *, rdn_id, const struct rdn_cell *const *args, uint32_t nargs, struct rdn_scratch *,
                  struct rdn_cell *ret);
/* Constant folding: evaluates a tree without SRC nodes other than CONST (dsl: defaults, ranges, table cells, W0902). Recursion
 * is bounded by the height limits of chapter 15. */
void rdn_fold(const struct rdn_ir *, rdn_id root, struct rdn_scratch *, struct rdn_cell *ret);
/* room.c: bytes of scratch a value of each node may take, by node; the caller frees nodes.n of them. NULL: no memory. */
#define RDN_ROOM_MAX ((size_t)256 << 20)                 /* beyond it a text is undefined(overflow); no plain rule set comes near */
uint32_t *rdn_room(const struct rdn_ir *, const struct rdn_mem *);
/* Scratch in which any tree of a small rule set can be folded (all its nodes together). False: no memory. */
bool rdn_fold_room(const struct rdn_ir *, struct rdn_arena *, struct rdn_scratch *ret);

/* Values as text. */
uint64_t rdn_value_hash(const struct rdn_ir *, const struct rdn_type *, const struct rdn_cell *);     /* H of 10.8 */
void rdn_value_text(struct rdn_buf *, const struct rdn_syms *, const struct rdn_type *, const struct rdn_cell *);  /* 17.3; "undefined" */
void rdn_value_json(struct rdn_buf *, const struct rdn_syms *, const struct rdn_type *, const struct rdn_cell *);  /* 17.1; undefined: null */

/* Reading a field of a row into a cell (present check included: cause MISSING). */
void rdn_row_field(const struct rdn_event *, const struct rdn_field *, const uint8_t *row, struct rdn_cell *ret);
/* Validity of a row (LANGUAGE.md 5). */
bool rdn_row_valid(const struct rdn_event *, const uint8_t *row, uint32_t nsyms);
/* How many of n rows are valid before the first that is not. Columns: ts, presence words, then the fields. */
uint32_t rdn_columns_valid(const struct rdn_event *, const void *const *columns, uint32_t n, uint32_t nsyms);
#endif
