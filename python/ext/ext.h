/* SPDX-License-Identifier: Apache-2.0
 * ext.h: the extension module _redan of the wheel: engine, rule sets, lanes and confined workers for python/redan.
 *
 *   ext_module.c  the module, its exception      ext_engine.c  engine and rule sets     ext_layout.c  what a rule set declares
 *   ext_lane.c    one event at a time            ext_batch.c   arrays and columns       ext_value.c   values to Python
 *   ext_worker.c  a zygote and workers without an engine      ext_pack.c    a plugin's manifest
 *   ext_market.c  market files, books                         ext_columns.c their tables, shared with other libraries
 *
 * Limited API of CPython 3.11: one library for 3.11 and everything later. Objects own what redan.h hands out; closing an
 * engine closes its lanes and rule sets first, so the order in which Python frees them does not matter.
 * Threads: a lane, a market's reading and the set-up of an engine have a mutex each. It is waited for without the GIL.
 * Making an object may run the collector, and with it anybody's __del__, which may call this very object or let another thread in.
 * So nothing of Python is made or called while a mutex is held: what an answer is made of is copied first. And what is read while objects
 * are made must stay: the engine's memory for those who said so (ext_engine_use). A lane handed from one thread to the next stays [lane].
 * Log lines come from the supervisor's thread and are queued: that thread never needs the interpreter. */
#ifndef RDN_EXT_H
#define RDN_EXT_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dsl/dsl.h"
#include "host/answer.h"
#include "host/host.h"
#include "host/line.h"
#include "market/reading.h"
#include "plugins/worker.h"
#include "sandbox/role.h"

enum { EXT_LOG_LINES = 256, EXT_LOG_BYTES = 800 };
struct ext_line { uint32_t level; char text[EXT_LOG_BYTES]; };
struct ext_log {
    pthread_mutex_t mu;
    uint32_t first, n, lost;
    struct ext_line *lines;
};
void ext_log_open(struct ext_log *);
void ext_log_close(struct ext_log *);
void ext_log_put(void *log, uint32_t level, const char *line);       /* [any] */
PyObject *ext_log_take(struct ext_log *);                             /* list of (level, text) */

struct ext_lane;
struct ext_rules;
struct ext_engine {
    PyObject_HEAD
    redan_engine *eng;                                   /* NULL once closed */
    redan_engine *closing;                               /* closed, and ends with the last of its users */
    uint32_t users;                                      /* calls that read its memory, or that of its rule sets, while they make objects */
    pthread_mutex_t setup;
    struct ext_log log;
    struct ext_lane *lanes;                              /* all that live */
    struct ext_rules *rules;
};
struct ext_rules {
    PyObject_HEAD
    struct ext_engine *owner;                            /* counted; NULL before open */
    struct ext_rules *next;
    redan_ruleset *rs;                                   /* NULL once the engine is closed */
    struct rdn_line_reader *reader;                      /* opened by the first row() */
};
struct ext_lane {
    PyObject_HEAD
    struct ext_engine *owner;
    struct ext_lane *next;
    redan_lane *lane;
    pthread_mutex_t mu;
};

extern PyObject *ext_error;                              /* redan's exception at the C level: _redan.EngineError */
extern PyTypeObject *ext_engine_type, *ext_rules_type, *ext_lane_type, *ext_workers_type, *ext_worker_type, *ext_market_type, *ext_cursor_type,
                    *ext_chunk_type, *ext_column_type;
extern PyType_Spec ext_engine_spec, ext_rules_spec, ext_lane_spec, ext_workers_spec, ext_worker_spec, ext_market_spec, ext_cursor_spec,
                   ext_chunk_spec, ext_column_spec;

/* Raises EngineError(code, id, line, column, where, text, diags); answers NULL. Takes over `diags`, which may be NULL. */
PyObject *ext_raise(const redan_error *, PyObject *diags);
PyObject *ext_closed(const char *what);                  /* raises: WHAT is closed */
/* Locks without holding the GIL while waiting. */
void ext_lock(pthread_mutex_t *);
/* Appends a new reference; after a failure *list is NULL and stays so. `item` may be NULL. */
void ext_push(PyObject **list, PyObject *item);
void ext_free(PyObject *self);                           /* a heap type's last step */

/* ext_engine.c: between the two the engine and its rule sets stay, whoever closes it. false: it is closed, which was raised. */
bool ext_engine_use(struct ext_engine *);
void ext_engine_done(struct ext_engine *);

/* ext_value.c */
PyObject *ext_type_tuple(const struct rdn_type *);       /* (text, kind, scale, n, dims, members) */
PyObject *ext_emits(const redan_emit *, uint32_t n);     /* [(name, {field: value})] */
/* A copy to which nothing of the lane or of its rules belongs. The arena has an .oom. */
const redan_emit *ext_emits_keep(struct rdn_arena *, const redan_emit *, uint32_t n);
PyObject *ext_decimal(rdn_i128, unsigned scale);
/* ext_layout.c */
PyObject *ext_rules_declared(PyObject *self, PyObject *none);
PyObject *ext_rules_row(PyObject *self, PyObject *line);
/* ext_pack.c */
PyObject *ext_pack(PyObject *self, PyObject *path);
/* ext_market.c, ext_columns.c */
struct rdn_reading *ext_reading_of(PyObject *market);
PyObject *ext_market_cursor(PyObject *market, PyObject *args);
PyObject *ext_market_live(PyObject *self, PyObject *none);
/* ext_batch.c */
PyObject *ext_lane_batch(PyObject *self, PyObject *args);
PyObject *ext_lane_columns(PyObject *self, PyObject *args);

static inline struct ext_engine *ext_as_engine(PyObject *o) { return (struct ext_engine *)o; }
static inline struct ext_rules *ext_as_rules(PyObject *o) { return (struct ext_rules *)o; }
static inline struct ext_lane *ext_as_lane(PyObject *o) { return (struct ext_lane *)o; }
#endif
