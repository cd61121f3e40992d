/* SPDX-License-Identifier: Apache-2.0
 * host.h: what the files of host/ share, and what the tools of this tree may reach besides redan.h.
 *
 * engine    rules, symbols, lanes; one `active` record, published with one release store
 * ruleset   compiled and immutable, counted: IR, program, lists, file tables, calendars
 * active    one generation: a rule set and one binding a lane; freed when every lane has left it
 * binding   one lane's memory for one rule set: frame, windows, host tables, run-time parameters, verdict arrays. Made by the
 *           publisher, so that adopting moves pointers and never allocates
 * lane      one evaluating thread; owns its binding of the active it has adopted */
#ifndef RDN_HOST_H
#define RDN_HOST_H
#include <pthread.h>
#include <stdatomic.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/sym.h"
#include "ir/ir.h"
#include "ir/kernel.h"
#include "jit/exec.h"
#include "jit/sample.h"
#include "state/data.h"
#include "state/keytab.h"
#include "state/window.h"

#define RDN_EVENTS_MAX 256u
#define RDN_TABLES_MAX 256u                              /* names of host tables the application may use */
#define RDN_TABLE_KEYS_MAX 8u
#define RDN_TABLE_COLS_MAX 256u
#define RDN_LANES_MAX 256u
#define RDN_KEEP_RULESETS 16u                            /* for rollback, at most */

/* First index of its score actions' points; it has some; all of them are constants. */
struct rdn_rule_info { uint32_t points; bool scores, known; };
struct rdn_event_info {
    bool has_late;
    /* A bit each by position in event->rules: rules with score actions; and those that score when they are undefined. scores: there are some. */
    uint64_t *scorers, *none_scorers; bool scores;
    uint32_t max_codes, max_emits, max_values;           /* one event can produce at most this many */
};
struct rdn_hash_row { uint64_t hash; uint32_t window; };
struct rdn_name_row { const char *name; uint32_t at; };

struct redan_ruleset {
    _Atomic uint32_t refs;
    struct redan_engine *eng;
    struct rdn_arena arena;
    struct rdn_ir *ir;
    struct rdn_program *prog;                            /* the newest plan of it; under the engine's lock once it is active */
    bool *planned;                                       /* by event: planned from samples, or planned again; likewise */
    struct rdn_listset **lists;
    struct rdn_tab **tables;                             /* NULL for host tables: those belong to bindings */
    struct rdn_cal **cals;
    uint8_t *plugin_fns;                                 /* by call: which function of its plugin */
    struct rdn_plugin **plugins;                         /* by call; NULL: not named by the host, or a kernel. Set by the first activation */
    struct rdn_rule_info *rules;
    struct rdn_event_info *events;
    struct rdn_hash_row *by_hash;                        /* windows by structural hash, then by declared order */
    struct rdn_name_row *params, *calls, *host_tables; uint32_t nhost_tables;   /* by name: what a swap carries is found without a search through all */
    uint32_t max_codes, max_emits, max_values, npoints;
    uint32_t nwarnings;
    bool may_wait;                                       /* declares a plugin or a kernel */
};

enum rdn_mock_state { RDN_MOCK_NONE, RDN_MOCK_VALUE, RDN_MOCK_FAIL };
struct rdn_mock { uint8_t state; struct rdn_cell val; char text[256]; };
struct rdn_accept { uint32_t window; struct rdn_winput in; };   /* an accepted window that will change */
struct rdn_code_src { const struct rdn_rule *rule; const struct rdn_action *act; };
/* Rows judged ahead of their turn (batch.c). By event of the rule set: mask NULL: no batches of it; rows: how many at once; quiet: it
 * feeds no window, resets none, and no rule of it is left after its batch. */
struct rdn_ahead {
    const uint64_t **mask; uint32_t *rows; bool *quiet;
    int64_t *now; uint64_t *fired; uint8_t *mark;        /* of the rows looked at */
    uint8_t *row; const void **columns;                  /* a row put together from columns; columns as the executor wants them */
};
enum { RDN_WIN_IS_TEXT = 1, RDN_WIN_IS_PREV = 2 };       /* its value is a text; somebody reads prev of it */
struct rdn_binding {
    struct redan_ruleset *rs;                            /* borrowed from the active record */
    struct rdn_program *prog;                            /* likewise */
    struct rdn_samples *samples;                         /* this lane's ring; swaps exchange it, others read it under the engine's lock */
    struct redan_lane *lane;
    struct rdn_frame *frame;
    struct rdn_win **wins; size_t bytes;                 /* the first of all arrays; bytes of all */
    struct rdn_tab **tabs;                               /* by table; file tables are the rule set's */
    struct rdn_cal_span *cal_spans;                      /* by calendar: the last answer and how long it holds */
    struct rdn_kernel_state *kernels;
    struct rdn_cell *params; bool *param_set; char (*param_text)[256];
    struct rdn_mock *mocks;
    struct rdn_cell *prev; uint64_t *prev_gen; char (*prev_text)[256];
    struct rdn_accept *accepts;                          /* as many as one event can feed */
    uint8_t *win_is;                                     /* by window: RDN_WIN_IS_* */
    uint8_t *cold;                                       /* by window, after adoption: 1 started cold */
    struct rdn_key key;
    /* the verdict: bump arrays, reset by each call */
    uint64_t gen;                                        /* counts events; stamps below */
    uint64_t *code_seen, *shadow_seen;
    struct rdn_cell *points; rdn_i128 *sums;             /* sums: by rule, of points that are constants */
    uint32_t *codes, *shadow; struct rdn_code_src *src;
    uint16_t *undefined; struct rdn_cell *causes;
    redan_emit *emits; redan_value *values;
    uint32_t ncodes, nshadow, nundefined, nemits, nvalues;
    uint32_t last_codes, last_undefined;                 /* where the last verdict's begin */
    uint32_t cap_codes, cap_emits, cap_values, cap_undefined;
    char *texts; size_t texts_used;                      /* the lane's: texts read from windows, early messages */
    uint32_t *msg_at; uint64_t *msg_gen; uint32_t *msg_len;   /* messages rendered before accepted windows changed, by code position */
    const char *const **emit_names;                      /* by emit definition */
    bool defaulted;
    struct rdn_ahead ahead;
    uint64_t mode_resets;                                /* events judged with another floating-point mode; read by other threads */
};
#define RDN_TEXTS_BYTES (4u << 20)

struct rdn_active {
    uint64_t generation, serial;                         /* generation: what authors and verdicts see; serial: another one each time, a new plan's too */
    struct redan_ruleset *rs; struct rdn_program *prog;  /* counted references */
    struct rdn_active *older;                            /* retired list, newest first */
    int16_t evmap[RDN_EVENTS_MAX];                       /* engine's event id -> event of the rule set, -1 */
    int16_t tabmap[RDN_TABLES_MAX];                      /* likewise of host tables */
    struct rdn_binding *bind[RDN_LANES_MAX];
};
struct rdn_bound { const char *name; uint64_t layout; };
struct rdn_plugin_slot;                                  /* dispatch.c */

struct redan_engine {
    struct rdn_mem mem;
    redan_options opt;
    char backend[16];
    struct rdn_syms *syms;
    pthread_mutex_t lock;                                /* setup calls, lane_open, lane_close; never taken by [hot] */
    _Atomic(struct rdn_active *) active;
    struct rdn_active *retired;
    struct redan_ruleset *history[RDN_KEEP_RULESETS]; uint32_t nhistory, keep_units;   /* newest first; [0] is before the active one */
    struct rdn_jit *jit; uint32_t jit_flags;
    bool static_plan, replan_off;
    redan_jit_stats past;                                /* counts of bindings that are closed */
    struct redan_lane *lanes[RDN_LANES_MAX];
    uint32_t nlanes;
    struct rdn_bound events[RDN_EVENTS_MAX]; _Atomic uint32_t nevents;
    const char *tables[RDN_TABLES_MAX]; _Atomic uint32_t ntables;
    struct rdn_arena names;
    struct rdn_kt_spares spares;                         /* under the lock */
    uint64_t generation, serial;                         /* of the newest active */
    int64_t high_water; bool has_high_water;             /* of redan_route; under the lock */
    struct rdn_plugin_slot *plugins;
    struct rdn_plugins *workers;                         /* opened with the first plugin */
    bool offline;                                        /* tools: kernels and plugins without real-time deadlines */
    const volatile uint32_t *alive;                      /* a page that reads 0 in a forked child (MADV_WIPEONFORK) */
    atomic_bool mode_reported;                           /* R2107 was logged */
    bool no_grace;                                       /* tests: frees retired code at once, to show that the check can fail */
    _Atomic int in_setup;
};
struct redan_lane {
    struct redan_engine *eng;
    uint32_t index, flags;
    char pad0[128];                                      /* the publisher polls the next line, others must not share it */
    _Atomic uint64_t serial;                             /* of the active it uses; 0: none yet */
    char pad1[128];
    struct rdn_active *active;
    struct rdn_binding *b;
    char *texts;                                         /* RDN_TEXTS_BYTES reserved: of the event in work, whatever its rules */
    int64_t high_water; bool has_high_water;
    uint64_t seq, sample_at;                             /* events so far; the next one to be kept */
    void (*adopted)(void *ctx); void *adopted_ctx;       /* told of other rules before anything is judged by them; NULL: nobody is */
    pthread_t owner; bool owned;                         /* debug builds: the thread of the first [lane] call */
};

/* engine.c: an option struct of any version into the one of this version: an older caller's is shorter, a newer one's may be longer as
 * long as what this version does not know is zero. `ret` holds the defaults (and .size) and is written only on success. `flags` are
 * those this version knows. NULL `given`: the defaults. */
int rdn_options_copy(void *ret, const void *given, uint32_t flags, const char *name, redan_error *);
/* OK, or CLOSED with R2108 in a forked child. */
int rdn_engine_alive(const struct redan_engine *, redan_error *);
/* Frees one rule set or more that nobody runs: retired ones, then the oldest kept for going back. False: there is none. A thread that
 * spares the history frees retired ones alone. */
bool rdn_engine_make_room(void *engine);
void rdn_engine_spare_history(bool spare);
/* What batches need of a program that is about to be bound to a lane. The caller holds the lock: code memory that is full stays so. */
int  rdn_engine_batches(struct rdn_program *, redan_error *);
/* jit_host.c */
int  rdn_engine_jit_open(struct redan_engine *, const redan_jit_options *, redan_error *);
void rdn_engine_jit_close(struct redan_engine *);        /* also after a failed open */
void rdn_engine_binding_done(struct redan_engine *, const struct rdn_binding *);         /* before it is closed; keeps its counts */
/* replan.c: events of the lanes for the planner of `ir`, by event; memory of `a`, NULL without it or when there are none. Takes the lock. */
const struct rdn_sampled *rdn_engine_samples(struct redan_engine *, const struct rdn_ir *, struct rdn_arena *a);
/* engine.c: publishes the active rule set's prog again, under the generation it has. Under the lock. */
int  rdn_engine_republish(struct redan_engine *, uint64_t *ret_generation, redan_error *);
/* ruleset.c */
int  rdn_ruleset_open(struct redan_engine *, const char *name, const char *text, size_t len, const redan_compilation *,
                      struct redan_ruleset **ret, redan_error *);
void rdn_ruleset_ref(struct redan_ruleset *);
void rdn_ruleset_unref(struct redan_ruleset *);
/* The row of that name in a sorted table, or UINT32_MAX. [hot] */
uint32_t rdn_name_find(const struct rdn_name_row *, uint32_t n, const char *name);
/* binding.c */
int  rdn_binding_open(struct rdn_active *, struct redan_lane *, struct rdn_binding **ret, redan_error *);
void rdn_binding_close(struct rdn_binding *);
void rdn_binding_carry(struct rdn_binding *to, struct rdn_binding *from);    /* from NULL: everything starts cold */
/* hosttab.c: what the numbers of redan_table mean in these rules. Under the lock. */
void rdn_active_map_tables(const struct redan_engine *, struct rdn_active *);
/* lane.c: adopts what is published, if anything new is; false when nothing is active. */
bool rdn_lane_adopt(struct redan_lane *, struct rdn_active *);
static inline bool rdn_lane_sync(struct redan_lane *l) {
    struct rdn_active *a = atomic_load_explicit(&l->eng->active, memory_order_acquire);
    return __builtin_expect(a == l->active, 1) ? a != NULL : rdn_lane_adopt(l, a);
}
/* decide.c: from fired and undefined rules to the verdict. */
void rdn_decide(struct rdn_binding *, const struct rdn_event *, redan_verdict *ret);
/* The message of an action into buf, cut and terminated; returns the bytes it has. Reads the event's values. */
size_t rdn_render(struct rdn_binding *, const struct rdn_action *, char *buf, size_t cap);
void rdn_value_of_cell(const struct redan_engine *, const struct rdn_type *, const struct rdn_cell *, redan_value *ret);
/* dispatch.c: calls of plugins and kernels. */
void rdn_dispatch_call(void *binding, uint32_t call, const struct rdn_cell *args, uint32_t nargs, const uint8_t *row, struct rdn_cell *ret);
void rdn_dispatch_close(struct redan_engine *);
int  rdn_dispatch_bind(struct redan_engine *, struct redan_ruleset *, redan_error *);    /* opens what the rule set declares and the host named */
struct rdn_plugin *rdn_dispatch_find(struct redan_engine *, const char *name);           /* for reports; NULL when not open */
/* judge.c */
extern const struct rdn_helpers rdn_lane_helpers;
/* One event by index of the rule set's event table; the row is valid, `now` is at least its ts and the lane's high-water time.
 * rdn_judge_start empties the verdict arrays first; rdn_judge_rules stops before accepted windows change (explain looks
 * there), rdn_judge_accept goes on; rdn_lane_judge is both; `fired` are a batch's answers (jit/exec.h) or NULL. [hot] */
void rdn_judge_start(struct redan_lane *);
void rdn_judge_rules(struct redan_lane *, uint32_t event, const uint8_t *row, int64_t now, redan_verdict *ret);
void rdn_judge_accept(struct redan_lane *, uint32_t event, const redan_verdict *);
void rdn_lane_judge(struct redan_lane *, uint32_t event, const uint8_t *row, int64_t now, const uint64_t *fired, redan_verdict *ret);

/* batch.c: what depends on the rows of one event alone, ahead of their turn: how many of n rows (0: too few, or the executor has no
 * batches of it), then each in its turn, from 0 on, nothing else of the lane in between. Rows are kept until then. */
uint32_t rdn_ahead_look(struct redan_lane *, uint32_t event, const uint8_t *rows, size_t stride, uint32_t n);
void rdn_ahead_judge(struct redan_lane *, uint32_t event, const uint8_t *rows, size_t stride, uint32_t i, redan_verdict *ret);
/* The next event will be kept for the planner: it is to be judged with its row. */
bool rdn_judge_samples_next(const struct redan_lane *);
/* An event that feeds nothing and that no rule fires for: the verdict alone. */
void rdn_judge_quiet(struct redan_lane *, int64_t ts, int64_t now, redan_verdict *ret);
/* What the calls of redan.h share. An engine's event id as index of the rule set's event table, or -1. */
int32_t rdn_lane_event(const struct redan_lane *, uint32_t event);
int  rdn_judge_enter(struct redan_lane *, const void *data);          /* tags, fork, adoption; not 0: the call ends with it */
bool rdn_judge_has_room(const struct rdn_binding *);     /* for one more event at its worst */
int  rdn_judge_row(struct redan_lane *, uint32_t event, const uint8_t *row, redan_verdict *ret);
/* Windows, rules and messages have the floating-point mode the language is defined in, whatever the application set. False: another one
 * was replaced, give it back with rdn_judge_mode_back. */
bool rdn_judge_mode(struct redan_lane *, uint32_t *ret_was);
void rdn_judge_mode_back(struct redan_lane *, uint32_t was, size_t events);   /* so many events were judged */

/* lane.c: the lane of an event among `lanes`, REDAN_ALL_LANES when it has no partition field. */
uint32_t rdn_route_lane(const struct redan_engine *, const struct rdn_event *, const uint8_t *row, uint32_t lanes);

/* For tools and tests: between events, on the lane's thread. */
bool rdn_lane_param(struct redan_lane *, uint32_t param, const struct rdn_cell *);       /* false: outside its range or NaN */
void rdn_lane_mock(struct redan_lane *, uint32_t call, const struct rdn_cell *val);      /* NULL: the call fails from now on */
bool rdn_lane_row(struct redan_lane *, uint32_t table, const struct rdn_cell *keys, const struct rdn_cell *vals);   /* vals NULL: delete; false: full */
const char *rdn_code_text(const char *id);               /* R-codes; NULL when unknown */

/* Thread tags, checked in debug builds (RDN_CHECK_TAGS). */
void rdn_tag_lane(struct redan_lane *, const char *call);
void rdn_tag_setup_begin(struct redan_engine *, const char *call);
void rdn_tag_setup_end(struct redan_engine *);
#endif
