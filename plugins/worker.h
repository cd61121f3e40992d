/* SPDX-License-Identifier: Apache-2.0
 * worker.h: call functions of confined plugins.
 *
 *   rdn_plugins_open                      once per engine: one supervisor thread, one zygote per trust group
 *     rdn_plugin_open(FILE.py)            compile it in a confined worker per lane; fails with the author's line
 *       rdn_plugin_call(p, lane, args)    [hot]; returns an outcome, never later than the deadline plus a wake-up
 *       rdn_plugin_reload                 beside the old workers, which answer until the new ones are ready
 *     rdn_plugin_close
 *   rdn_plugins_close
 *
 * A plugin is one function of one file with a typed signature, as a rule file declares it. Types are plain (this module
 * knows no rules): bool, int, float, dec, time, dur, date, enum, text (str and sym), arrays and event rows.
 *
 * The hot call takes no lock and allocates nothing. It makes at most three system calls: a wake when the worker sleeps, a
 * futex wait when spinning did not help, and, only when the call is late, one write that tells the supervisor.
 * At the deadline the lane goes on with its default; the supervisor stops the worker (SIGUSR1 raises
 * redan.PluginTimeout in the plugin), kills it after the grace time and starts a new one. Meanwhile calls of that lane
 * are NOT_READY at once.
 *
 * Everything the worker wrote is checked before it is used (SANDBOX.md 11). */
#ifndef RDN_WORKER_H
#define RDN_WORKER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "base/mem.h"

enum rdn_wire_kind {
#define KIND(NAME, number, text, width, doc) RDN_WIRE_##NAME = number,
#include "plugins/wire_kinds.def"
#undef KIND
};
struct rdn_wire_field;
/* The text arrays are borrowed while rdn_plugin_open runs and copied there. */
struct rdn_wire_type {
    uint8_t  kind, scale;                            /* RDN_WIRE_*; dec: digits after the point */
    uint16_t rows, cols;                             /* arrays: shape; one dimension: cols is 1 */
    uint32_t size;                                   /* text: most bytes (1..256); event: bytes of the row */
    const char *const *names; uint16_t nnames;       /* enum: members in order */
    const char *event;                               /* event: its name, and below its layout */
    const struct rdn_wire_field *fields; uint16_t nfields;
    uint64_t layout_hash;                            /* event: as LANGUAGE.md 5 */
};
struct rdn_wire_field {
    const char *name;
    struct rdn_wire_type type;
    uint32_t offset;                                 /* in the row */
    int8_t   present_bit;                            /* optional: bit of the u64 at row offset 8; -1: always there */
};
/* One argument or answer. Pointers are borrowed: arguments for the length of the call, a text answer until the next call
 * on the same lane. */
struct rdn_wire_value {
    union {
        bool b;
        int64_t i;                                   /* int, dec, time, dur, date, enum */
        double f;
        struct { const char *p; uint32_t n; } text;
        const void *p;                               /* arrays (rows * cols elements) and event rows */
    };
};

enum rdn_outcome {
#define OUTCOME(NAME, text, usable, doc) RDN_OUT_##NAME,
#include "plugins/outcomes.def"
#undef OUTCOME
    RDN_OUT_COUNT
};
const char *rdn_outcome_text(enum rdn_outcome);      /* "value", "timeout", ... [any] */

enum rdn_tier { RDN_TIER_NONE, RDN_TIER_MINIMAL, RDN_TIER_CONTAINER, RDN_TIER_USERNS, RDN_TIER_FULL };
enum rdn_deny { RDN_DENY_NOTIFY, RDN_DENY_TRAP, RDN_DENY_ERRNO, RDN_DENY_KILL };

struct rdn_pack;                                     /* plugins/pack.h */
struct rdn_plugins;                                  /* supervisor, zygotes, workers of one engine */
struct rdn_plugins_options {                         /* zero means the default everywhere */
    const struct rdn_mem *mem;                       /* NULL: libc */
    const char *worker_path;                         /* redan-worker; NULL: $REDAN_WORKER, beside this program, libexecdir */
    const char *python_minor;                        /* "3.12": which redan-worker-python; NULL: the one of this build */
    const char *python_site;                         /* folder of site packages; NULL: the system's; "": none */
    uint64_t seed;                                   /* hash and random seed; 0: drawn. Journal it for replay */
    uint8_t  require_tier;                           /* lowest enum rdn_tier accepted; 0: container */
    uint8_t  deny;                                   /* enum rdn_deny */
    bool     no_userns, no_ns;                       /* leave out user namespaces, all namespaces */
    bool     spare;                                  /* keep one idle zygote per group */
    bool     spin_off;                               /* never spin; else 20 us when CPUs outnumber lanes */
    uint32_t ablate;                                 /* tests: RDN_GOT_* layers to leave out (sandbox/wire.h) */
    void   (*log)(void *ctx, uint32_t level, const char *line);   /* [supervisor thread]; R4xxx lines, at most one per
                                                        plugin, outcome and second; NULL: dropped */
    void    *ctx;
    void   (*record)(void *ctx, const char *line, size_t n);      /* each answered call as a line of redan.calls/1; [lane]; NULL: none */
    void    *record_ctx;
};
/* Probes the kernel and starts the supervisor thread; zygotes start with the first plugin of their group. Fails with
 * NOSUP R4401 (no seccomp), R4402 (tier below require_tier), NOSUP R4001 (no redan-worker found). Milliseconds. [setup] */
int  rdn_plugins_open(const struct rdn_plugins_options *, struct rdn_plugins **ret, redan_error *);
/* Sets .record later, before the first call. [setup] */
void rdn_plugins_record(struct rdn_plugins *, void (*record)(void *ctx, const char *line, size_t n), void *ctx);
/* Kills every worker and zygote. No lane may be inside a call. Takes NULL. [setup] */
void rdn_plugins_close(struct rdn_plugins *);
enum rdn_tier rdn_plugins_tier(const struct rdn_plugins *);       /* what the workers really get. [any] */
const char *rdn_tier_text(enum rdn_tier);
const char *rdn_plugins_worker(const struct rdn_plugins *);       /* path of the redan-worker it found. [any] */
bool rdn_numpy_installed(void);                       /* then it is what a group preloads by default. [any] */

struct rdn_wire_param { const char *name; struct rdn_wire_type type; };
struct rdn_function_spec {
    const char *name;
    const struct rdn_wire_param *params; uint32_t nparams;     /* at most 16 */
    struct rdn_wire_type ret;                        /* not an array, not an event */
    int64_t  deadline_ns;                            /* 0: the time cap */
};
struct rdn_plugin_spec {
    const char *name;                                /* the function in the file, and the plugin in messages */
    const char *file;                                /* path of the .py file, of a folder with plugin.yaml, or of a bundle */
    const struct rdn_pack *pack;                     /* opened by the caller instead; used while rdn_plugin_open runs, not kept */
    const struct rdn_function_spec *fns; uint32_t nfns;        /* functions served by one worker, at most 16; 0: the one below */
    const struct rdn_wire_param *params; uint32_t nparams;     /* at most 16 */
    struct rdn_wire_type ret;                        /* not an array, not an event */
    int64_t  deadline_ns;                            /* as the rule file declares; 0: the time cap */
    int64_t  time_cap_ns;                            /* 0: the manifest's, 50 ms without one. A manifest may only lower it */
    uint32_t mem_cap_mib;                            /* 0: the manifest's, 8 without one. A manifest may only lower it */
    uint32_t load_cap_ms;                            /* 0: 500 */
    uint32_t grace_ms;                               /* 0: 5 */
    const char *group;                               /* trust group; NULL: "default". A manifest that asks for another is refused: R4209 */
    const char *const *preload; uint32_t npreload;   /* modules imported before the fork, on top of the standard ones; NULL:
                                                        numpy when installed. One group has one list: the first wins. "-" as the
                                                        first: without the standard ones; "--": nothing else at all, nor the SDK: for .plain files */
    uint32_t lanes;                                  /* 0: 1, at most 256 */
    bool     plain;                                  /* sandbox try: any callable of that name, str() of its answer */
    bool     untested;                               /* leave out the golden rows */
    bool     carry;                                  /* what on_save answers goes to on_load over a reload; a manifest says so itself */
    bool     one;                                    /* one worker for all lanes, called in turn; a manifest says so itself */
    uint32_t native_threads;                         /* threads that native code may start while it loads; a manifest may ask for fewer */
};
struct rdn_plugin;
/* Loads the file and waits until every lane's worker is ready. On failure nothing is left behind; reterr holds the
 * R432x code, the line and the text of the author's mistake. 0.1 to 0.5 s for the first plugin of a group (the
 * interpreter starts), about 2 ms afterwards. [setup] */
int  rdn_plugin_open(struct rdn_plugins *, const struct rdn_plugin_spec *, struct rdn_plugin **ret, redan_error *);
void rdn_plugin_close(struct rdn_plugin *);          /* no lane may be inside a call; takes NULL. [setup] */

/* Read the file again (NULL: the same path), load it in new workers beside the old ones, and switch each lane between two
 * calls. Limits and kind are those of the new manifest; its id and instances must be the old ones (R4206), its group none or the given one (R4209), and
 * max_rows only lowers. On failure the old workers go on unharmed. *ret_same (may be NULL) is true when the text is the one already live; then nothing is started. Ends TRIPPED and QUARANTINED. [setup] */
int  rdn_plugin_reload(struct rdn_plugin *, const char *file, bool *ret_same, redan_error *);
void rdn_plugin_resume(struct rdn_plugin *);         /* ends QUARANTINED and TRIPPED. [setup] */

/* One row. `deadline_ns` is absolute (rdn_mono_ns); 0: now + the plugin's own. nargs must be the declared count.
 * now_ns is event time, for redan.now(). *ret is written for VALUE only. [hot, one thread per lane at a time] */
enum rdn_outcome rdn_plugin_call(struct rdn_plugin *, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs,
                                 int64_t now_ns, int64_t deadline_ns, struct rdn_wire_value *ret);
/* nrows rows (at most RDN_PLUGIN_ROWS), args[row * nargs + i]. The return is the worst outcome of the call; outs[row] says
 * how each row ended. */
enum { RDN_PLUGIN_ROWS = 256 };
enum rdn_outcome rdn_plugin_call_rows(struct rdn_plugin *, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs,
                                      uint32_t nrows, int64_t now_ns, int64_t deadline_ns, struct rdn_wire_value *ret,
                                      uint8_t *outs);
/* The same in three parts, for a lane that has other work. post answers VALUE when the call is on its way; poll answers
 * false while there is none; wait blocks until answer or deadline. A call that was posted must be polled or waited for. */
enum rdn_outcome rdn_plugin_post(struct rdn_plugin *, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs,
                                 uint32_t nrows, int64_t now_ns, int64_t deadline_ns);
bool rdn_plugin_poll(struct rdn_plugin *, uint32_t lane, struct rdn_wire_value *ret, uint8_t *outs, enum rdn_outcome *ret_out);
enum rdn_outcome rdn_plugin_wait(struct rdn_plugin *, uint32_t lane, struct rdn_wire_value *ret, uint8_t *outs);

/* The same for function `fn` of a plugin that has several; the calls above are for the first. Ret and outs hold nrows entries. */
enum rdn_outcome rdn_plugin_post_fn(struct rdn_plugin *, uint32_t fn, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs,
                                    uint32_t nrows, int64_t now_ns, int64_t deadline_ns);
enum rdn_outcome rdn_plugin_call_fn(struct rdn_plugin *, uint32_t fn, uint32_t lane, const struct rdn_wire_value *args, uint32_t nargs,
                                    uint32_t nrows, int64_t now_ns, int64_t deadline_ns, struct rdn_wire_value *ret, uint8_t *outs);
uint32_t rdn_plugin_rows_max(const struct rdn_plugin *, uint32_t fn);

/* Reports; all [any], copied under the supervisor's lock, off the hot path. */
struct rdn_plugin_violation { char name[32]; char place[64]; };   /* "openat", "score.py:3" or "" */
enum { RDN_PLUGIN_VIOLATIONS = 64 };
struct rdn_plugin_status {
    uint64_t generation, calls, outcomes[RDN_OUT_COUNT];
    uint64_t violations, deaths, restarts, rollbacks;
    uint32_t lanes_ready;
    uint32_t layers;                                 /* RDN_GOT_* that a worker of it really has (sandbox/wire.h) */
    bool tripped, quarantined;
    enum rdn_outcome last;                           /* the newest call, KILLED once a late one had to be killed */
    char error[512];                                 /* "ZeroDivisionError: division by zero (score.py:12 in score)" */
    char message[640];                               /* the whole R43xx line of the newest failure, or "" */
    char log[4096]; uint32_t log_len;                /* what the plugin printed last */
    uint64_t peak_bytes;                             /* as the worker counts it: a hint */
    int64_t  load_ns;                                /* request to ready of the newest generation, slowest lane */
    int64_t  gone_ns;                                /* rdn_mono_ns when the newest dead worker was seen to be gone; 0: none died */
    uint32_t nkept;                                  /* of violations, the newest */
    struct rdn_plugin_violation kept[RDN_PLUGIN_VIOLATIONS];
};
void rdn_plugin_status(struct rdn_plugin *, struct rdn_plugin_status *ret);
/* Blocks until no call of the lane is late any more and a worker is ready, or timeout_ns passed; answers how the newest
 * call really ended (TIMEOUT becomes KILLED or DIED). For tools and tests. [setup] */
enum rdn_outcome rdn_plugin_settle(struct rdn_plugin *, uint32_t lane, int64_t timeout_ns);
#endif
