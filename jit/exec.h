/* SPDX-License-Identifier: Apache-2.0
 * exec.h: what host needs of jit: programs, frames, and the table of C helpers a program may reach.
 *
 * A program is a rule set made runnable by one executor (executors.def); immutable, shared by lanes. A frame is one lane's
 * working memory for one program: cells, slots, bit arrays, scratch; opened before the swap, so that judging never
 * allocates. The lane drives an event through the phases in this order:
 *
 *   rdn_exec_begin(f, event, row, now, ts)
 *   rdn_exec_window(f, w, &in)                  for each observed window of the event, in declared order; the lane updates it;
 *                                               rdn_exec_puts does both for those it can
 *   rdn_exec_rules(f, RDN_EARLY)                all rules that do not read score
 *   f->score = ...; rdn_exec_rules(f, RDN_LATE) only if the event has late rules
 *   rdn_exec_value(f, node, &cell)              points, emit fields, message parts, as wanted
 *   rdn_exec_window(f, w, &in)                  accepted windows: all read first, then updated
 *
 * The thread is in the mode of base/fpmode.h.
 *
 * After rdn_exec_rules: bit i of f->fired (64 a word) is set when rule event->rules[i] fired, bit i of f->undef when its condition
 * is undefined. Cause and position come from rdn_exec_cause, worked out by interp. */
#ifndef RDN_EXEC_H
#define RDN_EXEC_H
#include "ir/ir.h"
#include "ir/key.h"

struct rdn_frame;
struct rdn_win;                                          /* opaque here: state's */
/* Filled by host; `lane` is what it passed to rdn_frame_open. Reads are of the current event's lane. All [hot]. */
struct rdn_helpers {
    void (*wread)(void *lane, uint32_t window, const struct rdn_key *, bool prev, struct rdn_cell *ret);
    const struct rdn_cell *(*tread)(void *lane, uint32_t table, const struct rdn_key *);    /* the row's values or NULL; valid until the next tread */
    bool (*inlist)(void *lane, uint32_t list, const struct rdn_cell *);
    bool (*incal)(void *lane, uint32_t calendar, int64_t now_ns);
    void (*call)(void *lane, uint32_t call, const struct rdn_cell *args, uint32_t nargs, const uint8_t *row, struct rdn_cell *ret);
        /* cause PLUGIN (or a kernel's) when there is neither answer nor default; span left alone */
    /* Of windows in head.wins; NULL: the others do it. wasks reads many as they are (state/window.h); wput enters
     * a value, of which the low word or the text counts; wskip counts one that cannot enter; wkeep keeps what prev will say. */
    uint64_t (*wasks)(struct rdn_win *const *, const struct rdn_ask *, const struct rdn_ask *end, uint8_t *block, int64_t now);
    void (*wput)(struct rdn_win *, const struct rdn_key *, int64_t now, const struct rdn_cell *val, int64_t span);
    void (*wskip)(struct rdn_win *);
    void (*wkeep)(void *lane, uint32_t window, const struct rdn_key *);
};
struct rdn_program;
struct rdn_program_info {                                /* for reports: redan check, jit plan, swap */
    const char *backend;                                 /* the executor in use */
    const char *batch;                                   /* how it judges batches: "avx512", "avx2", "scalar"; NULL: it has none */
    char note[160];                                      /* why `auto` fell back (R21xx text) or "" */
    uint32_t code_bytes, plan_us, emit_us, selfcheck_us;
};
/* backend: "auto", "interp", "x64", ... A named backend that cannot run is NOSUP with its R21xx; auto falls back and notes it.
 * Milliseconds at 1,000 rules; allocates from mem. [any] */
int  rdn_program_open(const struct rdn_ir *, const char *backend, const struct rdn_mem *, struct rdn_program **ret, redan_error *);
/* The same with an engine's code memory, settings and counters (jit.h). */
struct rdn_jit;
int  rdn_program_open_in(struct rdn_jit *, const struct rdn_ir *, const char *backend, const struct rdn_mem *, struct rdn_program **ret, redan_error *);
/* And planned by what clauses do on events of the lanes (sample.h): by event of the rule set; borrowed during the call, NULL: none. */
struct rdn_sampled;
int  rdn_program_open_sampled(struct rdn_jit *, const struct rdn_ir *, const char *backend, const struct rdn_sampled *, const struct rdn_mem *,
                              struct rdn_program **ret, redan_error *);
/* Makes what batches need, where the program was opened without; frames opened from then on have batches. It takes as long as the program
 * did, so only whoever is given batches asks for it. NOMEM; whatever else is in the way becomes the note, and there are none. Frames may
 * be at work meanwhile; otherwise one thread at a time. [setup] */
int  rdn_program_batches(struct rdn_program *, redan_error *);
struct rdn_program *rdn_program_ref(struct rdn_program *);   /* one user more; each closes it */
void rdn_program_close(struct rdn_program *);
void rdn_program_adopt(const struct rdn_program *);      /* each thread, before it judges with it for the first time. [hot] */
const struct rdn_program_info *rdn_program_info(const struct rdn_program *);
bool rdn_backend_known(const char *name);
/* How the rule at a place of an event's list is run: the technique and what it means, the clause it goes by (0: none), how often that
 * is expected to hold, and the time expected of the rule. False: the executor plans nothing. */
struct rdn_rule_plan { const char *technique, *doc; rdn_id by; double pass, ns; };
bool rdn_program_rule_plan(const struct rdn_program *, uint32_t event, uint32_t at, struct rdn_rule_plan *ret);
double rdn_program_event_ns(const struct rdn_program *, uint32_t event);    /* expected of an event's rules, look-ups with them; 0: not known */

enum rdn_phase { RDN_EARLY, RDN_LATE };
struct rdn_frame_head {                                  /* first member of struct rdn_frame; the lane reads and writes it */
    const struct rdn_ir *ir;
    const struct rdn_cell *params;                       /* run-time values; set by the lane, changed only between events */
    uint64_t *fired, *undef;
    int64_t score;
    uint32_t event;
    const uint8_t *row;
    int64_t now, ts;
    bool any_undef;                                      /* some bit of undef is set */
    struct rdn_win *const *wins;                         /* by window, for helpers.wasks and wput; set by the lane, NULL without it */
    /* jit's: of the event in work, from 1; its answers from a batch, NULL: none; the executor's entries (exec_impl.h). */
    uint64_t seq;
    const uint64_t *known;
    void (*begin)(struct rdn_frame *);
    void (*rules)(struct rdn_frame *, enum rdn_phase);
    uint32_t (*puts)(struct rdn_frame *, bool accepted, uint32_t from);   /* NULL: none */
};
uint64_t rdn_frame_cold_rules(const struct rdn_frame *); /* rules that machine code gave to interp so far. [any] while the frame is open */
int  rdn_frame_open(const struct rdn_program *, const struct rdn_helpers *, void *lane, const struct rdn_cell *params, const struct rdn_mem *,
                    struct rdn_frame **ret, redan_error *);
void rdn_frame_close(struct rdn_frame *);
static inline struct rdn_frame_head *rdn_frame_head(struct rdn_frame *f) { return (struct rdn_frame_head *)(void *)f; }
void rdn_frame_params_changed(struct rdn_frame *);       /* after the lane changed `params` */

void rdn_frame_clear_undef(struct rdn_frame *);          /* jit's own */
void rdn_frame_take_known(struct rdn_frame *);
static inline void rdn_exec_begin(struct rdn_frame *f, uint32_t event, const uint8_t *row, int64_t now, int64_t ts) {
    struct rdn_frame_head *h = rdn_frame_head(f);
    h->event = event;
    h->row = row;
    h->now = now;
    h->ts = ts;
    h->score = 0;
    h->known = NULL;
    h->seq++;
    if (__builtin_expect(h->any_undef, 0))
        rdn_frame_clear_undef(f);
    if (h->begin)
        h->begin(f);
}
/* No event: expectations and field values of tests (ts: the test's clock). Nodes that need one must not be asked for. */
void rdn_exec_begin_none(struct rdn_frame *, int64_t now, int64_t ts);
enum rdn_enter { RDN_ENTER, RDN_ENTER_NOT, RDN_ENTER_SKIP };   /* where is false; something undefined or not storable (count it) */
struct rdn_winput { const struct rdn_key *key; struct rdn_cell val; int64_t span; };
/* The key stays valid until the next call for the same window; the frame keeps one a window, so own-event reads reuse it. */
enum rdn_enter rdn_exec_window(struct rdn_frame *, uint32_t window, struct rdn_winput *ret);
/* Enters the values of the event's observed (accepted) windows from number `from` of its list on, as rdn_exec_window and helpers.wput
 * would, and returns the number of the first one it leaves to the caller; the length of the list: none. All accepted ones are left
 * where the value of some depends on a window. Called for the observed ones before any of them changes. */
static inline uint32_t rdn_exec_puts(struct rdn_frame *f, bool accepted, uint32_t from) {
    return rdn_frame_head(f)->puts ? rdn_frame_head(f)->puts(f, accepted, from) : from;
}
/* prev of a window that rdn_exec_puts has changed in this event, of its key there: the word that stands for it. False: it was not
 * kept so: the lane's wkeep was asked, or the window has not changed. */
bool rdn_exec_prev(const struct rdn_frame *, uint32_t window, int64_t *ret);
static inline void rdn_exec_rules(struct rdn_frame *f, enum rdn_phase phase) {
    if (__builtin_expect(rdn_frame_head(f)->known != NULL, 0) && phase == RDN_EARLY)
        rdn_frame_take_known(f);
    else
        rdn_frame_head(f)->rules(f, phase);
}
void rdn_exec_value(struct rdn_frame *, rdn_id, struct rdn_cell *ret);
/* Cause and place (.cause, .span) of an undefined condition; rule: index of ir->rules. Evaluates it again, so before accepted
 * windows are updated; lets and calls keep what they have. */
void rdn_exec_cause(struct rdn_frame *, uint32_t rule, struct rdn_cell *ret);

/* ---- batches ----
 * What depends on no state of the lane, for up to RDN_BATCH_MAX events of one type ahead of their turn: the answers of some early
 * rules. Then each event goes through its phases in order as above, begun by rdn_exec_begin_known with its answers, or by
 * rdn_exec_begin if it is marked. So the phases see what they would have seen, and a batch may be cut anywhere. Parameters are
 * those of the call: an event is not begun with answers older than rdn_frame_params_changed. */
#define RDN_BATCH_MAX 512u
#define RDN_BATCH_MIN 8u                                 /* below it a batch does not pay */
enum { RDN_COL_TS, RDN_COL_PRESENT, RDN_COL_FIELDS };    /* columns: ts, presence words (of events with optional fields), then the fields */
struct rdn_batch {
    uint32_t event, n;
    const int64_t *now;                                  /* n times, as rdn_exec_begin will get them */
    const uint8_t *rows; size_t stride;                  /* valid rows, `stride` bytes apart, aligned as int64 is; or NULL and */
    const void *const *columns;                          /* one array a column, elements packed as the row has them, on any address */
    uint64_t *fired;                                     /* out: n times (nrules + 63) / 64 words, bits as in head.fired */
    uint8_t *mark;                                       /* out: n bytes; not 0: no answers for this event, its words mean nothing */
};
/* The rules that batches answer, a bit each as in head.fired; NULL: no batches of this event. [any] */
const uint64_t *rdn_exec_batch_rules(const struct rdn_program *, uint32_t event);
void rdn_exec_batch(struct rdn_frame *, const struct rdn_batch *);        /* only where batch_rules is not NULL. [hot] */
/* As rdn_exec_begin; RDN_EARLY then takes the answers of batch_rules from `fired` (the event's words, read until then). [hot] */
static inline void rdn_exec_begin_known(struct rdn_frame *f, uint32_t event, const uint8_t *row, int64_t now, int64_t ts, const uint64_t *fired) {
    rdn_exec_begin(f, event, row, now, ts);
    rdn_frame_head(f)->known = fired;
}

/* explain: evaluates the rule's condition in interp and hands out its sub-values in order of evaluation (17.6). */
typedef void rdn_trace_fn(void *ctx, const struct rdn_ir *, rdn_id node, const struct rdn_cell *);
void rdn_exec_trace(struct rdn_frame *, uint32_t rule, rdn_trace_fn *, void *ctx, struct rdn_cell *ret_when);
#endif
