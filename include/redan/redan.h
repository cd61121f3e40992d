/* SPDX-License-Identifier: Apache-2.0
 *
 * redan.h: embed the Redan rule engine.
 *
 *   redan_open -> redan_compile -> redan_activate -> redan_event    set-up; the middle two again on change
 *   redan_lane_open -> redan_eval, redan_eval, ...                  per thread, per event
 *
 * Units     Times and durations are nanoseconds in int64_t and end in _ns. Sizes are bytes.
 * Strings   UTF-8, NUL-terminated, copied before the call returns unless noted.
 * Errors    Functions return 0 or a negative REDAN_E_*. The last argument, if a redan_error*,
 *           may be NULL; it is written only on failure, and other outputs only on success.
 * Ownership What an _open or _compile call gives you, you give back with _close or _release
 *           (both accept NULL). Any other pointer is borrowed until the next call on its handle.
 * Structs   Option structs begin with .size; use the _INIT macro. Zero always means "default".
 *           redan_error and the structs of [hot] calls have no size: their layout is frozen within a
 *           major version.
 * Threads   Each call carries a tag, and debug builds abort when one is broken:
 *             [any]    any thread, concurrently
 *             [setup]  one thread at a time per engine; may block and allocate
 *             [lane]   only the thread using that lane
 *             [hot]    [lane], with no lock, no allocation, no system call, bounded time
 */
#ifndef REDAN_H
#define REDAN_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#ifndef REDAN_API
#define REDAN_API __attribute__((visibility("default")))
#endif
#define REDAN_VERSION 0x000100u                       /* 0xMMmmpp, also redan_version() at run time */
REDAN_API uint32_t redan_version(void);               /* [any] */

/* Codes are append-only. The text is what redan_strerror() returns. */
#define REDAN_ERRORS(X)                                                                      \
  X(INVAL, -1, "argument out of range")     X(NOMEM, -2, "out of memory")                    \
  X(SYNTAX, -3, "rule text does not parse") X(TYPE, -4, "rule text does not check")          \
  X(LAYOUT, -5, "event layout mismatch")    X(STALE, -6, "another ruleset was activated")    \
  X(NOSUP, -7, "not in this build or host") X(SYS, -8, "system call failed, see .sys")       \
  X(PLUGIN, -9, "plugin failed")            X(ABI, -10, "built for another ABI version")     \
  X(BUSY, -11, "try again later")           X(TIMEOUT, -12, "deadline passed")               \
  X(DENIED, -13, "not permitted")           X(FULL, -14, "reserved space is used up")        \
  X(CORRUPT, -15, "stored data is damaged") X(CLOSED, -16, "handle is closed")               \
  X(DUPLICATE, -17, "judged before")
enum { REDAN_OK = 0,
#define X(name, value, text) REDAN_E_##name = value,
  REDAN_ERRORS(X)
#undef X
  REDAN_E_LAST = -17
};
REDAN_API const char *redan_strerror(int code);       /* [any] static string, never NULL */

/* Lives on the caller's stack: reporting an error never allocates. */
typedef struct redan_error {
  int32_t  code, sys;        /* REDAN_E_* and, with REDAN_E_SYS, the errno */
  char     id[8];            /* "E0401", "R3007", ...; "" when it has none */
  uint32_t line, column;     /* 1-based place in rule text; 0 when not about text */
  char     where[96];        /* file, plugin id or system call */
  char     text[256];        /* one clause: no newline, no final dot */
} redan_error;

typedef struct redan_engine  redan_engine;            /* rules, symbols, plugins, metrics */
typedef struct redan_ruleset redan_ruleset;           /* compiled and immutable; counted */
typedef struct redan_lane    redan_lane;              /* one evaluating thread and its windows */

/* How rules become machine code. Programs that cannot be changed are set by the environment: REDAN_JIT=arena_mib=8,keep_units=1 goes
 * before what the program says, word by word. */
typedef struct redan_jit_options {
  uint32_t size, flags;                               /* REDAN_JIT_PERF_MAP | ... */
  uint32_t arena_mib;                                 /* code memory, 1 ... 1024 MiB of addresses; 0: 64 */
  uint32_t keep_units;                                /* rule sets kept for redan_rollback, 1 ... 16; 0: 3 */
  uint32_t selfcheck_us;                              /* for comparing new code with the interpreter, less for little code; at most 1,000,000; 0: 500 */
  uint32_t batch;                                     /* REDAN_JIT_BATCH_*: what judges redan_eval_batch and redan_eval_columns ahead */
} redan_jit_options;
#define REDAN_JIT_OPTIONS_INIT { sizeof(redan_jit_options), 0, 0, 0, 0, 0 }
#define REDAN_JIT_BATCH_AUTO  0u                      /* what the backend comes with, where it pays */
#define REDAN_JIT_BATCH_OFF   1u                      /* nothing: event by event */
#define REDAN_JIT_BATCH_TABLE 2u                      /* tables of predicates, wherever something depends on the event alone */
#define REDAN_JIT_BATCH_X64V  3u                      /* AVX-512 or AVX2 code, likewise; without it compiling fails with R2102 or R2106 */
#define REDAN_JIT_PERF_MAP 1u                         /* write names of machine code to /tmp/perf-PID.map */
#define REDAN_JIT_JITDUMP 2u                          /* and code, names and lines to jit-PID.dump in $JITDUMPDIR or /tmp */
#define REDAN_JIT_GDB 4u                              /* and tell an attached debugger */
#define REDAN_JIT_STATIC_PLAN 8u                      /* plan by the text alone: the same text is the same machine code */
#define REDAN_JIT_NO_REPLAN 16u                       /* redan_replan does nothing without REDAN_REPLAN_NOW */

typedef struct redan_options {
  uint32_t size, flags;                               /* REDAN_PREFAULT */
  uint32_t lanes, max_syms;                           /* 0: 1 lane, at most 256; 0: 1,048,576 symbols */
  void    *ctx;                                       /* passed to the two callbacks */
  void  *(*realloc)(void *ctx, void *p, size_t was, size_t want);   /* want 0 frees; NULL: libc */
  void   (*log)(void *ctx, uint32_t level, const char *line);       /* [any] NULL: stderr */
  const char *backend;                                /* "auto", "interp", "x64", ...; NULL: "auto" */
  const char *metrics_path;                           /* shared-memory file; NULL: no metrics */
  const redan_jit_options *jit;                       /* NULL: the defaults */
} redan_options;
#define REDAN_OPTIONS_INIT { sizeof(redan_options), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }
#define REDAN_PREFAULT 1u                             /* touch all window memory when a ruleset is loaded */

REDAN_API int  redan_open(redan_engine **ret, const redan_options *, redan_error *);  /* [any] */
REDAN_API void redan_close(redan_engine *);           /* [setup] after every lane is closed */

/* The id of a text in the engine's symbol table, for sym fields. The same text keeps its id for the
 * engine's life. FULL after .max_syms, INVAL above 255 bytes or for bytes that are not UTF-8. [any] */
REDAN_API int redan_sym(redan_engine *, const char *text, size_t len, uint32_t *ret_id);

/* Bind an event name to the layout the caller was compiled for (the hash of `redan bindgen`). Ids are
 * kept for the engine's life. LAYOUT if the active ruleset declares another one; from then on
 * redan_activate fails with LAYOUT when a ruleset would change the layout of a bound event. [setup] */
REDAN_API int redan_event(redan_engine *, const char *name, uint64_t layout_hash,
                          uint32_t *ret_event, redan_error *);

/* One mistake or warning in rule text (LANGUAGE.md chapter 16); borrowed during the callback. */
typedef struct redan_diag {
  uint32_t size;
  char     code[6];                                   /* "E0401", "W0905" */
  uint32_t line, col, end_line, end_col;              /* 1-based, columns in bytes, end exclusive */
  const char *text, *hint;                            /* hint may be NULL */
} redan_diag;

/* Text to native code. Nothing is visible to lanes yet. The redan_error is the first mistake;
 * on_diag sees them all, in source order. [any] the slow call: up to milliseconds */
typedef struct redan_compilation {
  uint32_t size, flags;
  void    *ctx;
  void   (*on_diag)(void *ctx, const redan_diag *);   /* may be NULL */
  const char *base_dir;                               /* where `from "file"` is found; NULL: such files are refused (E0711) */
} redan_compilation;
#define REDAN_COMPILATION_INIT { sizeof(redan_compilation), 0, NULL, NULL, NULL }
REDAN_API int  redan_compile(redan_engine *, const char *name, const char *text, size_t len,
                             const redan_compilation *, redan_ruleset **ret, redan_error *);
REDAN_API void redan_release(redan_ruleset *);        /* [any] */

/* Hot swap. Publishes with one store and returns: evaluations in flight finish on the old rules,
 * each lane's next evaluation uses the new ones, and the old code is freed once no lane can be in
 * it. Windows with the same structural hash keep their state. On failure the active ruleset is
 * untouched; R3007 if it calls plugins or kernels and a lane was opened without MAY_WAIT. The engine
 * keeps its own reference. [setup] */
typedef struct redan_activation {
  uint32_t size, flags;                               /* no flag yet */
  uint64_t expect;                                    /* fail with STALE unless active; 0: any */
} redan_activation;
#define REDAN_ACTIVATION_INIT { sizeof(redan_activation), 0, 0 }
REDAN_API int redan_activate(redan_engine *, redan_ruleset *, const redan_activation *,
                             uint64_t *ret_generation, redan_error *);
REDAN_API int redan_rollback(redan_engine *, uint64_t *ret_generation, redan_error *);

/* Plans the active rules again. Which clause is asked first and what is looked up instead depends on how often clauses hold; lanes
 * keep a few events to learn that from, and rules compiled before there were any are planned by a guess. An engine has no thread of
 * its own: call this now and then, once a second is plenty, from the thread that makes the other [setup] calls. It returns at once unless an
 * event type whose rules were planned by a guess has had 4,096 events (REDAN_REPLAN_NOW: always). Then it compiles and publishes
 * other code for the same rules: same answers, same generation (.expect of redan_activation holds on), windows keep their state,
 * redan_rollback goes where it would have gone. *ret_generation, which may be NULL: that of the rules, or 0 when there was nothing to
 * do. On failure nothing changes: FULL when there is no room for the code beside that of the rules kept for redan_rollback, STALE if
 * other rules were activated meanwhile. [setup] */
#define REDAN_REPLAN_NOW 1u
REDAN_API int redan_replan(redan_engine *, uint32_t flags, uint64_t *ret_generation, redan_error *);

/* Plugins: code that rules call and that runs confined in a worker process (docs/plugins.md). redan_plugin says that the
 * plugin `name` of rule files is the function of that name in `file`: a .py file, or a folder with plugin.yaml, or a bundle (.rdb), of
 * which all functions that one rule set declares run in the same worker; it is loaded when a rule set that declares it is
 * activated (which then fails with the author's mistake), and shared by rule sets that declare the same signature. Reload
 * loads the changed file (NULL: the same path) beside the old one and switches between two calls; on failure the old one
 * goes on. Signatures are reloaded one after the other, each wholly or not at all: when one refuses the file, the call fails, those
 * before it have the new text, and a reload of the old file takes them back. What is opened later comes from the file reloaded last. [setup] */
typedef struct redan_plugin_options {
  uint32_t size, flags;                               /* REDAN_PLUGIN_UNTESTED */
  const char *name, *file;
  uint32_t mem_cap_mib, time_cap_ms;                  /* 0: the manifest's, or 8 MiB, 50 ms; else a ceiling for it */
  const char *const *preload;                         /* modules imported before confinement; NULL: numpy if installed */
  uint32_t npreload;
  const char *group;                                  /* trust group: those of one group share a process they are forked from; NULL: "default".
                                                         A manifest that asks for another one is refused */
  uint32_t native_threads;                            /* threads that native code may start while it is loaded; a manifest that asks for more is refused */
} redan_plugin_options;
#define REDAN_PLUGIN_UNTESTED 1u                      /* leave out the golden rows of tests/rows.csv (tools) */
#define REDAN_PLUGIN_OPTIONS_INIT { sizeof(redan_plugin_options), 0, NULL, NULL, 0, 0, NULL, 0, NULL, 0 }
REDAN_API int redan_plugin(redan_engine *, const redan_plugin_options *, redan_error *);
REDAN_API int redan_plugin_reload(redan_engine *, const char *name, const char *file, redan_error *);

/* What compiling took and what it left. .size is the caller's: an older one gets the fields it knows. [any] */
typedef struct redan_jit_stats {
  uint32_t size, units;                               /* rule sets whose code is in memory */
  uint64_t compiles, compile_ns, last_compile_ns;     /* texts compiled so far, all of them and the last one */
  uint64_t code_bytes, arena_bytes;                   /* in use, of so many; 0: no machine code was wanted yet */
  uint64_t fallbacks, selfcheck_failures;             /* compilations that another executor than the best one got */
  uint64_t cold_rules, mode_resets;                   /* rules the interpreter decided for machine code; events judged with another floating-point mode */
  char     backend[16], fallback[160];                /* of the active rules ("" before); why the last compilation fell back, or "" */
} redan_jit_stats;
REDAN_API int redan_jit_stats_read(redan_engine *, redan_jit_stats *ret);

typedef struct redan_lane_options {
  uint32_t size, flags;                               /* REDAN_LANE_* */
  uint32_t index;                                     /* 0 ... lanes - 1; each open once */
} redan_lane_options;
#define REDAN_LANE_OPTIONS_INIT { sizeof(redan_lane_options), 0, 0 }
#define REDAN_LANE_MAY_WAIT 1u                        /* this thread may wait for plugins and kernels */
#define REDAN_LANE_BATCHES 2u                         /* it will be given batches: rules get code for them, which takes as long again to make */
REDAN_API int  redan_lane_open(redan_engine *, const redan_lane_options *, redan_lane **ret,
                               redan_error *);        /* [any] */
REDAN_API void redan_lane_close(redan_lane *);        /* [lane] */

/* A lane that stops calling for a while adopts what was activated, so that the old rules can be freed. [lane] */
REDAN_API void redan_lane_idle(redan_lane *);

/* The lane of an event and its `now`: the high-water time over all events routed on this engine
 * (LANGUAGE.md chapters 9 and 11.1). REDAN_ALL_LANES: evaluate it on every lane, lane 0 answers. [any] */
#define REDAN_ALL_LANES 0xffffffffu
REDAN_API int redan_route(redan_engine *, uint32_t event, const void *data,
                          uint32_t *ret_lane, int64_t *ret_now_ns);

/* A value handed out: emitted fields. And handed in: keys and columns of host tables. Texts are not NUL-terminated. */
enum { REDAN_T_BOOL = 1, REDAN_T_INT, REDAN_T_FLOAT, REDAN_T_DEC, REDAN_T_TIME, REDAN_T_DUR,
       REDAN_T_DATE, REDAN_T_TEXT, REDAN_T_INTS, REDAN_T_FLOATS, REDAN_T_SYM /* .i: what redan_sym gave; handed in only */ };
typedef struct redan_value {
  uint8_t  type, scale;                               /* REDAN_T_*; decimals of a dec, 0 ... 18 */
  uint16_t rows;                                      /* of a matrix, row major; 0: scalar or vector */
  uint32_t len;                                       /* bytes of a text, elements of an array */
  union {
    int64_t i;                                        /* bool, int, time, dur, date in days */
    double  f;
    struct { uint64_t lo; int64_t hi; } dec;          /* 128 bits, two's complement, times 10^-scale */
    const char *text;                                 /* text, str, sym and enum members */
    const int64_t *ints;
    const double *floats;
  } as;
} redan_value;

typedef struct redan_emit {
  const char *name;
  uint32_t nfields;
  const char *const *names;
  const redan_value *fields;
} redan_emit;

typedef struct redan_undefined { uint16_t rule; uint8_t cause, zero; uint32_t line, col; } redan_undefined;

enum { REDAN_ACCEPT, REDAN_THROTTLE, REDAN_HOLD, REDAN_REJECT };
enum { REDAN_LATE = 1, REDAN_UNDEFINED = 2, REDAN_DEFAULTED = 4, REDAN_SEEN = 8, REDAN_CANARY = 16,
       REDAN_KILLED = 32, REDAN_NOT_DURABLE = 64 };

/* Arrays are the lane's and are borrowed until its next call. Codes and rules are numbers of the
 * ruleset that decided. */
typedef struct redan_verdict {
  uint8_t  verdict, flags, zero[6];                   /* REDAN_ACCEPT ...; REDAN_LATE | ... */
  uint32_t ncodes, nshadow, nundefined, nemits;       /* 16,384 rules x 16 actions: 16 bits are too few */
  int64_t  now_ns, for_ns, score;                     /* score: exact sum, clamped to int64 */
  const uint32_t *codes, *shadow;                     /* in order of rule, then action; each once */
  const uint16_t *undefined;                          /* rules, in declared order; causes: redan_cause */
  const redan_emit *emits;
  uint64_t generation, journal_seq;                   /* journal_seq 0: no journal open */
} redan_verdict;

/* Host tables (`table ... from host`): what the application knows and rules read, such as positions, limits, reference data.
 * redan_table gives a name its number, for the engine's life; the rules that declare it may come later. FULL after 256. [setup]
 *
 * redan_row_put sets the row of a key, replacing one that is there, on this lane alone: with several lanes, do it on each. It holds
 * from the lane's next event on, whole; rows survive a swap to rules that declare the table alike (LANGUAGE.md chapter 13), else the
 * table is empty afterwards. Keys and values are in declared order, all columns; a sym is REDAN_T_SYM, an enum its member's text or
 * its index as REDAN_T_INT, a decimal any scale that loses nothing. Texts are copied. redan_row_erase deletes a row, if there is one;
 * redan_row_count says how many there are.
 * Nothing changes on failure: INVAL for an unknown number or a value that its type cannot hold, LAYOUT for another number or other
 * types of keys or columns than declared, NOSUP when the active rules have no such host table, FULL for a new row beyond the table's
 * capacity, whose memory is reserved with the rules. [hot] */
REDAN_API int redan_table(redan_engine *, const char *name, uint32_t *ret_table, redan_error *);
REDAN_API int redan_row_put(redan_lane *, uint32_t table, const redan_value *keys, uint32_t nkeys,
                            const redan_value *values, uint32_t nvalues);
REDAN_API int redan_row_erase(redan_lane *, uint32_t table, const redan_value *keys, uint32_t nkeys);
REDAN_API int redan_row_count(redan_lane *, uint32_t table, uint32_t *ret);

/* Evaluate the active rules against one event row. [hot] unless the ruleset declares a plugin or a
 * kernel; then the lane may wait up to the sum of their deadlines. Returns REDAN_OK, or INVAL for an
 * unknown event id or a row that is not valid (LANGUAGE.md chapter 5): nothing changed, no verdict.
 * redan_eval: the lane is its own stream and keeps its own high-water time. redan_eval_at: `now_ns`
 * comes from redan_route. The row must stay as it is until the lane's next call: messages and texts are read from it.
 * redan_eval_batch: n rows of one event, `stride` bytes apart, in order, one verdict each in ret[0 ... n - 1]. It stops early,
 * with *ret_done rows judged, after a row with emits and when the lane's room for codes is used up (returns OK: go on with the
 * rest) or, with INVAL, at a row that is not valid; *ret_done is always written. redan_message and redan_cause speak of the last row judged.
 * redan_eval_columns: the same for rows that are not rows yet: one array a field. The answers are those of redan_eval row by row;
 * on lanes opened with REDAN_LANE_BATCHES eight rows and more are judged several at a time where rules depend on the row alone. */
REDAN_API int redan_eval(redan_lane *, uint32_t event, const void *data, redan_verdict *ret);
REDAN_API int redan_eval_at(redan_lane *, uint32_t event, const void *data, int64_t now_ns,
                            redan_verdict *ret);
REDAN_API int redan_eval_batch(redan_lane *, uint32_t event, const void *base, size_t stride, size_t n,
                               redan_verdict *ret, size_t *ret_done);

/* n rows as columns: elements of one field stand side by side, as large and as they are in the row (LANGUAGE.md chapter 5), on any
 * address. ts: nanoseconds; present: the words of presence bits, NULL when the event has no optional field; fields: in declared order,
 * none NULL. All borrowed during the call. INVAL if nfields is another number than the event's or an array is missing. [hot] */
typedef struct redan_columns {
  const int64_t  *ts;
  const uint64_t *present;
  const void *const *fields;
  uint32_t nfields, zero;
} redan_columns;
REDAN_API int redan_eval_columns(redan_lane *, uint32_t event, const redan_columns *, size_t n,
                                 redan_verdict *ret, size_t *ret_done);

/* About the lane's last verdict, off the hot path. [lane] Names are NULL past the end. redan_message
 * writes the message of code i, cut before a character that does not fit and terminated, and returns the bytes it has (0: no message).
 * redan_cause: cause 1 ... 8 of LANGUAGE.md chapter 6 and where it arose, worked out by `interp`. */
REDAN_API const char *redan_code_name(redan_lane *, uint32_t code);
REDAN_API const char *redan_rule_name(redan_lane *, uint16_t rule);
REDAN_API int redan_message(redan_lane *, uint32_t i, char *buf, size_t cap);
REDAN_API int redan_cause(redan_lane *, uint32_t i, redan_undefined *ret);

#ifdef __cplusplus
}
#endif
#endif
