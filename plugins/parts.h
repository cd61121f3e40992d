/* SPDX-License-Identifier: Apache-2.0
 * parts.h: the host's side of plugins from inside; shared by the files of this folder only.
 *
 * Who may touch what
 *   lane        call.c: its rdn_wlane, the pages of the worker it holds, .state by compare-and-swap; takes no lock
 *   supervisor  supervise.c, pool.c: everything else, under .mu, which it holds except while it waits for events
 *   setup       plugin.c: under .mu; asks the supervisor for work and waits on .cond
 *
 * A lane announces the worker it uses in .using before it looks at it (a hazard pointer); the supervisor frees a worker
 * only when no lane announces it. */
#ifndef RDN_PLUGIN_PARTS_H
#define RDN_PLUGIN_PARTS_H
#include <pthread.h>
#include <stdatomic.h>
#include "base/buf.h"
#include "base/scope.h"
#include "plugins/worker.h"
#include "sandbox/probe.h"
#include "sandbox/spawn.h"
#include "sandbox/wire.h"

enum rdn_wstate {
#define STATE(NAME, next) RDN_W_##NAME,
#include "plugins/states.def"
#undef STATE
    RDN_W_STATES
};
/* What the supervisor is waiting for; lanes never look. */
enum rdn_wphase { RDN_WP_NEW, RDN_WP_FORKING, RDN_WP_LOADING, RDN_WP_LOAD_STOP, RDN_WP_SERVING, RDN_WP_STOPPING, RDN_WP_DYING, RDN_WP_GONE };

struct rdn_gen;
struct rdn_wgroup;
struct rdn_zyg;
struct rdn_wlane;

/* The texts of one failed call, copied out of the answer page before anything looks at them. Written by one thread, read by
 * any through the version (odd: being written). */
struct rdn_note_body {
    uint32_t status, outcome, err_len, err_line, tb_len, trap_count, place_count, sig;
    uint64_t peak_bytes, generation;
    int64_t  used_ns, allowed_ns;
    char     err_type[64], err_text[1024], traceback[2048];
    struct rdn_trap traps[8];
    char     places[8][64];
};
struct rdn_log_body { uint32_t len, dropped; char text[4096]; };
struct rdn_note { _Atomic uint32_t version; _Atomic uint64_t words[sizeof(struct rdn_note_body) / 8]; };
struct rdn_lognote { _Atomic uint32_t version; _Atomic uint64_t words[(sizeof(struct rdn_log_body) + 7) / 8]; };
_Static_assert(sizeof(struct rdn_note_body) % 8 == 0, "whole words");
void rdn_note_write(_Atomic uint32_t *version, _Atomic uint64_t *words, const void *body, size_t bytes);
void rdn_note_read(const _Atomic uint32_t *version, const _Atomic uint64_t *words, void *body, size_t bytes);

struct rdn_work {                                       /* one worker process */
    _Atomic uint32_t state;                             /* enum rdn_wstate */
    _Atomic uint32_t posted;                            /* newest call; written by the lane, or 1 for the load */
    struct rdn_req *req;                                /* mapped writable, here only */
    const struct rdn_res *res;
    size_t req_bytes, res_bytes;
    struct rdn_gen *gen;
    struct rdn_wlane *lane;
    /* supervisor */
    struct rdn_work *next;
    enum rdn_wphase phase;
    struct rdn_zyg *zyg;
    uint64_t token, cpu_ns;
    int req_fd, res_fd, pidfd, listener, wait_status, err;
    pid_t pid;
    uint32_t got, step, storm_seq, storm, cpu_posted, places, trial;      /* trial: number of the golden row that is asked now; 0: none (breaker.c) */
    bool spawned, confined, exited, killed, retired, was_late, moving;        /* moving: it is asked for its state (handover.c) */
    const char *cause;                                  /* why the supervisor killed it, when not for lateness */
    int64_t asked_ns, due_ns, gone_ns, storm_ns;
    uint32_t storm_second;
};

struct rdn_wlane {
    _Atomic(struct rdn_work *) cur, using;
    struct rdn_plugin *plugin;
    uint32_t index;
    struct rdn_wlane *seat;                             /* whose worker it calls: its own, or with one worker for all lanes that of lane 0 */
    _Atomic uint32_t turn;                              /* of a seat that lanes share: 0 free, 1 taken, 2 taken and waited for; a futex word */
    /* lane */
    int64_t deadline_ns, posted_ns, logged_ns[RDN_OUT_COUNT];
    uint32_t nrows;
    bool slept;                                         /* the newest wait went to the kernel */
    const struct rdn_wfunc *fn;                         /* of the call in flight */
    uint8_t *copy;                                      /* values of one answer, and its row status behind */
    char (*text)[260];                                  /* text answers of one row */
    _Atomic uint32_t tripped, timeouts, last, log_due;  /* tripped: 1 by late calls, 2 by deaths; timeouts: in a row; log_due: bit by outcome */
    _Atomic int64_t trial_ns;                           /* tripped: when the worker is tried next */
    _Atomic uint32_t halt;                              /* odd: state is carried over, begin no call; each hand-over adds two (handover.c). A futex word */
    _Atomic uint64_t calls, outcomes[RDN_OUT_COUNT];
    struct rdn_note note;
    struct rdn_lognote log;
    /* supervisor */
    struct rdn_note death;                              /* how a worker died, or where a late one was stopped */
    _Atomic uint32_t death_newer;                       /* the death note belongs to the newest call */
    bool timeout_due;                                   /* a line R4303 is to be written once that is known */
    uint64_t moved[RDN_OUT_COUNT];                      /* late calls that turned out to be something else */
    uint32_t backoff_ms, ndeaths;
    int64_t deaths_ns[3], respawn_ns;
};

struct rdn_gen {                                        /* one text of one plugin */
    struct rdn_plugin *plugin;
    uint64_t number, mem_cap;
    int64_t cap_ns;                                     /* limits of this text's manifest, within those of the opener */
    uint32_t max_rows, req_bytes, res_bytes, threads;    /* threads: that native code may have beside its own */
    bool carry;
    struct rdn_wgroup *group;
    int load_fd;
    uint32_t load_bytes, ready, failed, nworks;         /* works that exist */
    uint8_t sha256[32];
    bool done, live, dropped, tested, testing;                   /* tested: golden rows passed, or there are none; testing: they run now */
    bool back;                                          /* comes back after a bad reload */
    redan_error err;
    int64_t asked_ns, ready_ns;
    struct rdn_arena arena;                             /* of the golden rows, and of what trying them needs */
    struct rdn_golden *golden; uint32_t ngolden;
    struct rdn_trial *trial;                            /* NULL: there are no golden rows */
    struct rdn_gen *next;
};

struct rdn_wcolumn { struct rdn_wire_type t; uint32_t off, width; };
struct rdn_wfunc {                                      /* one function of a plugin */
    char name[72];
    const struct rdn_wire_param *params;
    struct rdn_wcolumn *cols;
    uint32_t ncols, max_rows, ret_width;
    struct rdn_wire_type ret;
    int64_t rule_ns;                                    /* deadline that the rules declare; 0: the time cap */
    _Atomic uint32_t rows;                              /* rows of a batch now: max_rows, or fewer as the live text's manifest says */
};
/* One golden row: what a function has to answer. Args are the function's parameters in order. */
struct rdn_golden { uint32_t fn, line; const struct rdn_wire_value *args; struct rdn_wire_value want; bool undefined; double tolerance; };
struct rdn_plugin {
    struct rdn_plugins *ps;
    struct rdn_plugin *next;
    struct {                                            /* what the opener allows and wants, for each text anew */
        int64_t time_cap_ns;
        uint32_t mem_cap_mib, threads, npreload;
        bool carry, one;
        const char *group, *const *preload;
    } asked;
    char name[72], file[64], *path;
    struct rdn_arena arena;                             /* names and lists of the signature */
    struct rdn_wfunc *fns;
    uint32_t nfns, nlanes, nseats, req_bytes, res_bytes;   /* nseats: workers, in the first lanes */
    _Atomic int64_t cap_ns;                             /* of the live text */
    int64_t load_ns, grace_ns;
    bool plain, quarantined, untested, one, bare;
    uint32_t spin_ns;
    struct rdn_wlane *lanes;
    struct rdn_gen *live, *before;                      /* before: kept during the probation of live */
    int64_t trial_until;
    uint64_t trial_calls, trial_failed, rollbacks;
    uint64_t gens, deaths, restarts, violations;
    int64_t gone_ns;
    uint32_t nkept;
    struct rdn_plugin_violation kept[RDN_PLUGIN_VIOLATIONS];          /* a ring */
    struct { struct rdn_work *w; uint32_t place; } pending[RDN_PLUGIN_VIOLATIONS];
    int64_t logged_ns[RDN_OUT_COUNT];
    uint64_t logged_skipped[RDN_OUT_COUNT];
};

struct rdn_zyg {
    struct rdn_zygote z;
    struct rdn_wgroup *group;
    struct rdn_zyg *next;
    bool ready, tainted, retired, failed;
    uint32_t got, workers;
    int64_t asked_ns;
    char version[32];
};
struct rdn_wgroup {
    struct rdn_wgroup *next;
    char name[64], *preload;
    const char *role;                                   /* "python", "native" */
    struct rdn_zyg *active, *spare;
    redan_error err;                                    /* why the newest zygote did not start */
    bool failed;
    int64_t failed_ns, retry_ns;                        /* the next try; doubles while none gets ready */
};

struct rdn_plugins {
    struct rdn_plugins_options opt;
    const struct rdn_mem *mem;
    char worker[4096], site[4096], minor[16];           /* copies: what the options point to is the caller's */
    struct rdn_probe probe;
    uint32_t promised;                                  /* bits every worker must report */
    pthread_t thread;
    pthread_mutex_t mu;
    pthread_cond_t cond;
    bool started, stop;
    int epoll, kick;
    uint64_t tokens;
    struct rdn_wgroup *groups;
    struct rdn_zyg *zygotes;
    struct rdn_plugin *plugins;
    struct rdn_work *works;
    struct rdn_gen *gens;
    uint32_t uid_slot;
    int64_t checked_ns;
};

/* worker.c */
bool rdn_work_move(struct rdn_work *, enum rdn_wstate from, enum rdn_wstate to);
void rdn_work_die(struct rdn_work *);                   /* any -> DEAD */
int  rdn_work_new(struct rdn_gen *, struct rdn_wlane *, struct rdn_work **ret, redan_error *);
void rdn_work_free(struct rdn_work *);
void rdn_work_publish(struct rdn_work *);               /* becomes the lane's current one */

/* values.c */
bool rdn_values_put(const struct rdn_wfunc *, struct rdn_req *, const struct rdn_wire_value *args, uint32_t nrows);
enum rdn_outcome rdn_values_take(struct rdn_wlane *, const struct rdn_res *, struct rdn_wire_value *ret, uint8_t *outs);
uint32_t rdn_wire_width(const struct rdn_wire_type *);

/* record.c: a call that is answered, while its pages are still this lane's */
void rdn_record_call(const struct rdn_wlane *, const struct rdn_req *, const struct rdn_wire_value *ret, const uint8_t *outs);
void rdn_record_value(const struct rdn_wire_type *, const uint8_t *from, struct rdn_wire_value *ret);       /* as it lies in a column; texts borrowed */
void rdn_record_bytes(const struct rdn_wire_type *, const struct rdn_wire_value *, uint8_t *to);
bool rdn_record_repeatable(enum rdn_outcome);

/* loadpage.c: -1 and reterr, or a sealed memfd; fills number, bytes and hash of the generation */
int  rdn_load_build(struct rdn_gen *, const struct rdn_pack *, redan_error *);

/* rows.c: golden rows as text; R4208 with the line when a cell does not fit its type. `file` is for messages. */
int  rdn_rows_read(struct rdn_arena *, const struct rdn_wfunc *, uint32_t nfns, const char *file, const char *csv, size_t n,
                   struct rdn_golden **ret, uint32_t *ret_n, redan_error *);
bool rdn_wire_read(struct rdn_arena *, const struct rdn_wire_type *, const char *text, size_t n, struct rdn_wire_value *ret);
void rdn_wire_print(struct rdn_buf *, const struct rdn_wire_type *, const struct rdn_wire_value *);
bool rdn_golden_fits(const struct rdn_wire_type *, const struct rdn_golden *, enum rdn_outcome, const struct rdn_wire_value *);

/* selftest.c: the golden rows in a generation that is loaded and not live yet. Called without the lock, on the opener's thread. */
int  rdn_selftest_run(struct rdn_gen *, const char *file, redan_error *);
/* One golden row in one worker, in two halves: the answer of the first is its deadline. */
int64_t rdn_trial_post(struct rdn_gen *, struct rdn_work *, uint32_t row, int64_t now);
bool rdn_trial_good(struct rdn_gen *, struct rdn_work *, uint32_t row);
/* breaker.c: a worker that is READY or on trial; the answer is when to look again. */
enum { RDN_TIMEOUTS_TO_TRIP = 3 };
int64_t rdn_breaker_look(struct rdn_work *, int64_t now);
uint32_t rdn_work_post(struct rdn_work *, uint32_t op, uint32_t nrows);                             /* call.c; the number of the call */
int64_t rdn_call_allowed(const struct rdn_plugin *, const struct rdn_wfunc *);                         /* a call's time, the rule's or the cap */
void rdn_call_send(struct rdn_wlane *, struct rdn_work *, uint32_t nrows, int64_t now_ns);           /* call.c */

/* message.c */
void rdn_note_take(struct rdn_note_body *, const struct rdn_res *, enum rdn_outcome);
void rdn_message_error(const struct rdn_plugin *, const struct rdn_note_body *, char *out, size_t cap);
void rdn_message_line(const struct rdn_plugin *, const struct rdn_note_body *, uint32_t lane, char *out, size_t cap);
int  rdn_message_load(const struct rdn_plugin *, const struct rdn_note_body *, redan_error *);
size_t rdn_message_clean(char *out, size_t cap, const char *text, size_t n);      /* UTF-8 or \xNN, no control characters */
void rdn_plugins_log(struct rdn_plugins *, uint32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* pool.c: supervisor, under mu */
struct rdn_wgroup *rdn_group_get(struct rdn_plugins *, const char *role, const char *name, const char *const *preload, uint32_t n, redan_error *);
struct rdn_zyg *rdn_group_zygote(struct rdn_plugins *, struct rdn_wgroup *);      /* a ready one, or NULL: being started, or failed */
void rdn_zyg_hello(struct rdn_plugins *, struct rdn_zyg *, const struct rdn_ctl_report *);
void rdn_zyg_lost(struct rdn_plugins *, struct rdn_zyg *);
void rdn_zyg_stuck(struct rdn_plugins *, struct rdn_zyg *);
void rdn_zyg_taint(struct rdn_plugins *, struct rdn_zyg *);
void rdn_pool_tidy(struct rdn_plugins *);               /* retired zygotes without workers end */
void rdn_pool_close(struct rdn_plugins *);

/* supervise.c */
int  rdn_supervise_start(struct rdn_plugins *, redan_error *);
void rdn_supervise_stop(struct rdn_plugins *);
void rdn_supervise_kick(struct rdn_plugins *);          /* [any] one eventfd write */
enum { RDN_EV_KICK, RDN_EV_ZYGOTE, RDN_EV_PIDFD, RDN_EV_LISTENER };
int  rdn_supervise_watch(struct rdn_plugins *, int fd, void *owner, unsigned kind);

/* fate.c: one worker's way through its phases; supervisor, under mu. The answer is when to look again. */
int64_t rdn_fate_step(struct rdn_plugins *, struct rdn_work *, int64_t now);
void rdn_fate_report(struct rdn_plugins *, const struct rdn_ctl_report *, int fd);   /* SPAWNED, CONFINED, EXIT */
void rdn_fate_gone(struct rdn_plugins *, struct rdn_work *);                         /* its pidfd is readable */
void rdn_fate_kill(struct rdn_work *, const char *cause);
bool rdn_fate_stopping(struct rdn_wlane *);              /* its worker is late, and has not yet stopped or died */
void rdn_fate_hurry(struct rdn_plugins *, const struct rdn_plugin *);   /* workers that wait out a backoff start now */
void rdn_fate_idle(struct rdn_plugins *);               /* once a second: workers that burn CPU without a call */
void rdn_fate_close(struct rdn_plugins *, struct rdn_plugin *);      /* kills and frees what is left of it; no lane is inside */
void rdn_gen_fail(struct rdn_plugins *, struct rdn_gen *);           /* its .err is set; wakes the opener, ends its workers */
void rdn_plugin_lift(struct rdn_plugin *);              /* ends breaker, quarantine and backoff */

/* handover.c: on the opener's thread, which holds the lock and loses it meanwhile. Publishes g, or answers R4326 and nothing has changed. */
int  rdn_carry_run(struct rdn_gen *, redan_error *);

/* probation.c */
void rdn_probation_begin(struct rdn_plugins *, struct rdn_plugin *, struct rdn_gen *old);
void rdn_probation_look(struct rdn_plugins *, struct rdn_plugin *, int64_t now);
void rdn_gen_publish(struct rdn_plugins *, struct rdn_gen *);        /* all its workers are loaded and tested */
void rdn_gen_tidy(struct rdn_plugins *);                /* frees texts nobody uses any more */

/* violation.c: what workers were denied, and where */
bool rdn_violation_denied(struct rdn_work *);           /* its listener is readable; false: it is no listener, look no more */
void rdn_violation_resolve(struct rdn_plugins *, struct rdn_plugin *, const struct rdn_work *gone);      /* fill places; gone: being freed */
#endif
