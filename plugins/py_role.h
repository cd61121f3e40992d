/* SPDX-License-Identifier: Apache-2.0
 * py_role.h: the Python role in its parts. One interpreter, one plugin, one thread a process.
 *
 *   py_zygote.c   start, preload, freeze; the role table       py_module.c  the module _redan: log, data, now, soft stop
 *   py_load.c     compile, bind, prepare the columns           py_args.c    columns -> arguments
 *   py_answer.c   answers -> columns                           py_error.c   exceptions and places
 *   py_alloc.c    counts memory, for messages            py_random.c  seeds NumPy's legacy generator */
#ifndef RDN_PY_ROLE_H
#define RDN_PY_ROLE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "plugins/sink.h"
#include "sandbox/role.h"
#include "plugins/worker.h"

enum { RDN_PY_ARGS = 16 };
struct rdn_py_col {
    const struct rdn_wcol *d;
    const uint8_t *data;                                /* the column in req */
    Py_ssize_t step;                                    /* bytes of one row */
    PyObject *members;                                  /* enum: tuple of IntEnum members */
    PyObject *dtype;                                    /* batch, arrays: NumPy dtype, or NULL */
    PyObject *names;                                    /* event: dict name -> index of field */
    const struct rdn_wcol *fields;                      /* event */
    PyObject *const *field_members;                     /* event: by field, for enums */
};
struct rdn_py_fn {
    const struct rdn_wfn *fn;
    PyObject *call;                                     /* the author's function */
    bool batch;
    uint32_t ncols;
    struct rdn_py_col cols[RDN_PY_ARGS];
    PyObject *ret_members;                              /* enum: tuple of names */
};
struct rdn_py {
    struct rdn_worker *w;
    bool plain, has_run;                                /* has_run: the author's text ran to its end */
    struct rdn_py_fn fns[RDN_MAX_FNS], *f;              /* f: being bound or called */
    PyObject *view, *frombuffer;                        /* memoryview of req; numpy.frombuffer or NULL */
    PyObject *timeout, *signature, *sdk, *helper;       /* PluginTimeout, SignatureError; modules redan and redan._worker */
    char file[64];                                      /* "score.py" */
};
extern struct rdn_py rdn_py;

PyObject *rdn_py_module_init(void);                     /* _redan, for PyImport_AppendInittab */
/* Appends a new reference; after a failure *list is NULL and stays so. `item` may be NULL. */
void rdn_py_push(PyObject **list, PyObject *item);
PyObject *rdn_py_log(void);                             /* a new redan.Log */
PyObject *rdn_py_soft_stop(void);                       /* the SIGUSR1 handler */

void rdn_py_alloc_hook(void);                           /* before the interpreter starts */
void rdn_py_alloc_begin(void);                          /* in the worker: count from here */
void rdn_py_alloc_report(struct rdn_res *);
void rdn_py_random_find(void);                          /* zygote, after the preload */
bool rdn_py_random_seed(uint64_t);                      /* worker; false: the generator was not found, NumPy has to do it */
void rdn_py_load(struct rdn_worker *);
void rdn_py_call(struct rdn_worker *);
void rdn_py_save(struct rdn_worker *);
void rdn_py_restore(struct rdn_worker *);

int  rdn_py_cols_prepare(void);                          /* after bind; -1 with a Python exception set */
/* New reference, or NULL with an exception. */
PyObject *rdn_py_scalar(const struct rdn_py_col *, uint32_t row);
PyObject *rdn_py_column(const struct rdn_py_col *, uint32_t nrows);
void rdn_py_cursors_end(void);                          /* cursors of this call answer RuntimeError from now on */
PyObject *rdn_py_type_tuple(const struct rdn_wcol *);                  /* (text, base, fields or None) */
PyObject *rdn_py_members(const char *name, uint32_t first, uint32_t count, bool as_enum);

/* Writes row `row` of the answer and its row status; -1 with an exception when the author's own code raised on the way. */
int  rdn_py_answer(PyObject *, uint32_t row);
int  rdn_py_answer_column(PyObject *, uint32_t nrows);

/* Moves the pending exception into res and answers the status it amounts to. */
uint32_t rdn_py_take_error(void);
void rdn_py_set_error(const char *type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t rdn_py_where(char *out, size_t cap);             /* [signal] */
size_t rdn_py_dump(char *out, size_t cap);              /* [signal] */
#endif
