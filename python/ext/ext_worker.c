/* SPDX-License-Identifier: Apache-2.0
 * ext_worker.c: _redan.Workers, a zygote of its own, and _redan.Worker, one function of a file in a confined worker. What
 * redan.testing drives: no rules, no engine, the host's own call path (plugins/worker.h).
 *
 * Arguments come as columns in the form they have in the request page, width bytes a row; so do answers. */
#include "python/ext/ext.h"

enum { ROWS = RDN_PLUGIN_ROWS, PARAMS = 16, FUNCTIONS = 16 };

struct ext_workers { PyObject_HEAD struct rdn_plugins *ps; struct ext_log log; };
struct function { uint32_t nparams; uint8_t kind[PARAMS], ret_kind; uint32_t width[PARAMS], ret_width; };
struct ext_worker { PyObject_HEAD pthread_mutex_t mu; struct ext_workers *owner; struct rdn_plugin *p; uint32_t nfns; struct function fns[FUNCTIONS]; };

static PyObject *workers_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = { "program", "minor", "site", "seed", NULL };
    struct rdn_plugins_options o = { 0 };
    unsigned long long seed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "ss|zK", names, &o.worker_path, &o.python_minor, &o.python_site, &seed))
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct ext_workers *w = (struct ext_workers *)alloc(type, 0);
    if (!w)
        return NULL;
    ext_log_open(&w->log);
    o.seed = seed;
    o.log = ext_log_put;
    o.ctx = &w->log;
    redan_error err = { 0 };
    int rc;
    Py_BEGIN_ALLOW_THREADS
    rc = rdn_plugins_open(&o, &w->ps, &err);
    Py_END_ALLOW_THREADS
    if (rc == 0)
        return (PyObject *)w;
    Py_DECREF((PyObject *)w);
    return ext_raise(&err, NULL);
}

static void workers_free(PyObject *self) {
    struct ext_workers *w = (struct ext_workers *)self;
    Py_BEGIN_ALLOW_THREADS
    rdn_plugins_close(w->ps);
    Py_END_ALLOW_THREADS
    ext_log_close(&w->log);
    ext_free(self);
}

static PyObject *workers_drain(PyObject *self, PyObject *none) {
    (void)none;
    return ext_log_take(&((struct ext_workers *)self)->log);
}

static PyObject *workers_tier(PyObject *self, PyObject *none) {
    (void)none;
    return PyUnicode_FromString(rdn_tier_text(rdn_plugins_tier(((struct ext_workers *)self)->ps)));
}

/* ---- signatures ---- */
/* What a type tuple points to lives in an arena until the plugin is open. */
static bool type_of(struct rdn_arena *a, PyObject *tuple, struct rdn_wire_type *ret);

static const char *arena_text(struct rdn_arena *a, PyObject *text) {
    Py_ssize_t n;
    const char *u = PyUnicode_AsUTF8AndSize(text, &n), *copy = u ? rdn_arena_strndup(a, u, (size_t)n) : NULL;
    if (u && !copy)
        PyErr_NoMemory();
    return copy;
}

/* Room for one thing of `each` bytes an item of the tuple; NULL with an exception for no memory and for numbers outside. */
static void *room_for(struct rdn_arena *a, PyObject *tuple, size_t each, Py_ssize_t least, Py_ssize_t most, const char *what, Py_ssize_t *ret_n) {
    *ret_n = PyTuple_Size(tuple);
    if (*ret_n < least || *ret_n > most)
        return PyErr_Format(PyExc_ValueError, "a plugin has %zd to %zd %s, not %zd", least, most, what, *ret_n);
    void *p = rdn_arena_alloc(a, ((size_t)*ret_n + 1) * each);
    return p ? p : PyErr_NoMemory();
}

static bool names_of(struct rdn_arena *a, PyObject *tuple, struct rdn_wire_type *ret) {
    Py_ssize_t n;
    const char **names = room_for(a, tuple, sizeof *names, 0, UINT16_MAX, "names", &n);
    bool ok = names != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++)
        ok = (names[i] = arena_text(a, PyTuple_GetItem(tuple, i))) != NULL;
    ret->names = names;
    ret->nnames = (uint16_t)n;
    return ok;
}

/* ((name, type, offset, present bit or -1), …) */
static bool fields_of(struct rdn_arena *a, PyObject *tuple, struct rdn_wire_type *ret) {
    Py_ssize_t n;
    struct rdn_wire_field *f = room_for(a, tuple, sizeof *f, 0, UINT16_MAX, "fields", &n);
    bool ok = f != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *name, *type;
        unsigned offset;
        int bit;
        ok = PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "UO!Ii", &name, &PyTuple_Type, &type, &offset, &bit) && (f[i].name = arena_text(a, name)) &&
             type_of(a, type, &f[i].type);
        f[i].offset = offset;
        f[i].present_bit = (int8_t)bit;
    }
    ret->fields = f;
    ret->nfields = (uint16_t)n;
    return ok;
}

/* (kind, scale, rows, cols, size, names, event, fields, layout) */
static bool type_of(struct rdn_arena *a, PyObject *tuple, struct rdn_wire_type *ret) {
    unsigned kind, scale, rows, cols, size;
    PyObject *names, *event, *fields;
    unsigned long long layout;
    if (!PyArg_ParseTuple(tuple, "IIIIIO!UO!K", &kind, &scale, &rows, &cols, &size, &PyTuple_Type, &names, &event, &PyTuple_Type, &fields, &layout))
        return false;
    *ret = (struct rdn_wire_type){ .kind = (uint8_t)kind, .scale = (uint8_t)scale, .rows = (uint16_t)rows, .cols = (uint16_t)cols, .size = size,
                                   .layout_hash = layout };
    return (ret->event = arena_text(a, event)) && names_of(a, names, ret) && fields_of(a, fields, ret);
}

static bool params_of(struct rdn_arena *a, PyObject *tuple, struct rdn_function_spec *s) {
    Py_ssize_t n;
    struct rdn_wire_param *p = room_for(a, tuple, sizeof *p, 0, PARAMS, "arguments", &n);
    bool ok = p != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *name, *type;
        ok = PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "UO!", &name, &PyTuple_Type, &type) && (p[i].name = arena_text(a, name)) && type_of(a, type, &p[i].type);
    }
    s->params = p;
    s->nparams = (uint32_t)n;
    return ok;
}

/* ((name, params, ret, deadline_ns), …) */
static bool functions_of(struct rdn_arena *a, PyObject *tuple, struct rdn_plugin_spec *s) {
    Py_ssize_t n;
    struct rdn_function_spec *f = room_for(a, tuple, sizeof *f, 1, FUNCTIONS, "functions", &n);
    bool ok = f != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *name, *params, *ret;
        long long deadline;
        ok = PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "UO!O!L", &name, &PyTuple_Type, &params, &PyTuple_Type, &ret, &deadline) &&
             (f[i].name = arena_text(a, name)) && params_of(a, params, &f[i]) && type_of(a, ret, &f[i].ret);
        f[i].deadline_ns = deadline;
    }
    s->fns = f;
    s->nfns = (uint32_t)n;
    return ok;
}

static bool preload_of(struct rdn_arena *a, PyObject *tuple, struct rdn_plugin_spec *s) {
    struct rdn_wire_type t = { 0 };
    if (tuple == Py_None)
        return true;
    if (!PyTuple_Check(tuple) || !names_of(a, tuple, &t))
        return false;
    s->preload = t.names;
    s->npreload = t.nnames;
    return true;
}

static uint32_t width_of(const struct rdn_wire_type *t) {
    switch (t->kind) {
    case RDN_WIRE_BOOL: case RDN_WIRE_ENUM: return 1;
    case RDN_WIRE_DATE: return 4;
    case RDN_WIRE_TEXT: case RDN_WIRE_EVENT: return t->size;
    case RDN_WIRE_FARR: case RDN_WIRE_IARR: return 8u * t->rows * t->cols;
    default: return 8;
    }
}

static void remember(struct function *to, const struct rdn_function_spec *f) {
    to->nparams = f->nparams;
    for (uint32_t i = 0; i < f->nparams; i++) {
        to->kind[i] = f->params[i].type.kind;
        to->width[i] = width_of(&f->params[i].type);
    }
    to->ret_kind = f->ret.kind;
    to->ret_width = width_of(&f->ret);
}

static struct ext_worker *worker_new(struct ext_workers *w, const struct rdn_plugin_spec *s, struct rdn_plugin *p) {
    allocfunc alloc = (allocfunc)PyType_GetSlot(ext_worker_type, Py_tp_alloc);
    struct ext_worker *k = (struct ext_worker *)alloc(ext_worker_type, 0);
    if (!k)
        return NULL;
    pthread_mutex_init(&k->mu, NULL);                   /* one call at a time: a plugin's lane is one thread's */
    k->owner = (struct ext_workers *)Py_NewRef((PyObject *)w);
    k->p = p;
    k->nfns = s->nfns;
    for (uint32_t i = 0; i < s->nfns; i++)
        remember(&k->fns[i], &s->fns[i]);
    return k;
}

/* open(name, file, functions, time_cap_ns, mem_cap_mib, preload or None, group or None, threads that native code may start) */
static PyObject *workers_open(PyObject *self, PyObject *args) {
    struct ext_workers *w = (struct ext_workers *)self;
    struct rdn_plugin_spec s = { .untested = true };      /* golden rows are a test of their own */
    PyObject *functions, *preload, *made = NULL;
    long long cap;
    unsigned mem;
    if (!PyArg_ParseTuple(args, "ssO!LIO|zI", &s.name, &s.file, &PyTuple_Type, &functions, &cap, &mem, &preload, &s.group, &s.native_threads))
        return NULL;
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    s.time_cap_ns = cap;
    s.mem_cap_mib = mem;
    if (functions_of(&a, functions, &s) && preload_of(&a, preload, &s)) {
        redan_error err = { 0 };
        struct rdn_plugin *p;
        int rc;
        Py_BEGIN_ALLOW_THREADS                           /* the interpreter of the zygote starts */
        rc = rdn_plugin_open(w->ps, &s, &p, &err);
        Py_END_ALLOW_THREADS
        made = rc < 0 ? ext_raise(&err, NULL) : (PyObject *)worker_new(w, &s, p);
        if (rc == 0 && !made)
            rdn_plugin_close(p);
    }
    rdn_arena_fini(&a);
    return made;
}

static PyMethodDef workers_methods[] = {
    { "open", workers_open, METH_VARARGS, "open(name, file, functions, time_cap_ns, mem_cap_mib, preload, group, threads) -> Worker" },
    { "drain", workers_drain, METH_NOARGS, "drain() -> [(level, line)]" },
    { "tier", workers_tier, METH_NOARGS, "tier() -> str: the isolation that workers get" },
    { 0 },
};
static PyType_Slot workers_slots[] = { { Py_tp_new, workers_new }, { Py_tp_dealloc, workers_free }, { Py_tp_methods, workers_methods }, { 0 } };
PyType_Spec ext_workers_spec = { "_redan.Workers", sizeof(struct ext_workers), 0, Py_TPFLAGS_DEFAULT, workers_slots };

/* ---- calls ---- */
struct call { struct rdn_wire_value args[ROWS * PARAMS], out[ROWS]; uint8_t outs[ROWS]; Py_buffer held[PARAMS]; uint32_t nheld; };

static void argument(uint8_t kind, uint32_t width, const uint8_t *from, struct rdn_wire_value *to) {
    int32_t day;
    switch (kind) {
    case RDN_WIRE_BOOL:
        to->b = *from != 0;
        break;
    case RDN_WIRE_ENUM:
        to->i = *from;
        break;
    case RDN_WIRE_DATE:
        memcpy(&day, from, sizeof day);
        to->i = day;
        break;
    case RDN_WIRE_TEXT:
        to->text.p = (const char *)from;
        to->text.n = (uint32_t)strnlen((const char *)from, width);
        break;
    case RDN_WIRE_EVENT: case RDN_WIRE_FARR: case RDN_WIRE_IARR:
        to->p = from;
        break;
    default: memcpy(&to->i, from, sizeof to->i);
    }
}

static bool take_columns(const struct function *k, PyObject *columns, uint32_t n, struct call *c) {
    if (PyTuple_Size(columns) != (Py_ssize_t)k->nparams) {
        PyErr_Format(PyExc_ValueError, "%u columns expected, not %zd", (unsigned)k->nparams, PyTuple_Size(columns));
        return false;
    }
    for (uint32_t i = 0; i < k->nparams; i++) {
        Py_buffer *b = &c->held[i];
        if (PyObject_GetBuffer(PyTuple_GetItem(columns, i), b, PyBUF_SIMPLE) < 0)
            return false;
        c->nheld++;
        if (b->len != (Py_ssize_t)n * k->width[i]) {
            PyErr_Format(PyExc_ValueError, "column %u has %zd bytes, %u rows of %u bytes expected", (unsigned)i, b->len, (unsigned)n, (unsigned)k->width[i]);
            return false;
        }
        for (uint32_t row = 0; row < n; row++)
            argument(k->kind[i], k->width[i], (const uint8_t *)b->buf + (size_t)row * k->width[i], &c->args[(size_t)row * k->nparams + i]);
    }
    return true;
}

static void put_answer(const struct function *k, const struct rdn_wire_value *v, uint8_t *to) {
    int32_t day = (int32_t)v->i;
    switch (k->ret_kind) {
    case RDN_WIRE_BOOL:
        *to = v->b;
        break;
    case RDN_WIRE_ENUM:
        *to = (uint8_t)v->i;
        break;
    case RDN_WIRE_DATE:
        memcpy(to, &day, sizeof day);
        break;
    case RDN_WIRE_TEXT:
        memcpy(to, v->text.p, v->text.n);
        break;
    default: memcpy(to, &v->i, sizeof v->i);
    }
}

/* While texts are the lane's own, and without an object: making one may run a finalizer, which may call this worker. */
static void take_answers(const struct function *k, const struct call *c, uint32_t n, uint8_t *to) {
    for (uint32_t i = 0; i < n; i++)
        if (c->outs[i] == RDN_OUT_VALUE)
            put_answer(k, &c->out[i], to + (size_t)i * k->ret_width);
}

/* call(function, columns, rows, now_ns) -> (worst outcome, outcome a row, values) */
static PyObject *worker_call(PyObject *self, PyObject *args) {
    struct ext_worker *k = (struct ext_worker *)self;
    PyObject *columns, *r = NULL;
    unsigned fn, n;
    long long now;
    if (!PyArg_ParseTuple(args, "IO!IL", &fn, &PyTuple_Type, &columns, &n, &now))
        return NULL;
    if (fn >= k->nfns)
        return PyErr_Format(PyExc_ValueError, "the plugin has %u functions", (unsigned)k->nfns);
    uint32_t most = rdn_plugin_rows_max(k->p, fn);
    if (n < 1 || n > ROWS || n > most)
        return PyErr_Format(PyExc_ValueError, "1 to %u rows a call", (unsigned)(most < ROWS ? most : ROWS));
    const struct function *f = &k->fns[fn];
    struct call *c = calloc(1, sizeof *c);
    uint8_t *values = calloc(n, f->ret_width);
    if (!c || !values) {
        free(c);
        free(values);
        return PyErr_NoMemory();
    }
    if (take_columns(f, columns, n, c)) {
        enum rdn_outcome worst;
        ext_lock(&k->mu);
        Py_BEGIN_ALLOW_THREADS
        worst = rdn_plugin_call_fn(k->p, fn, 0, c->args, f->nparams, n, now, 0, c->out, c->outs);
        Py_END_ALLOW_THREADS
        take_answers(f, c, n, values);
        pthread_mutex_unlock(&k->mu);
        r = Py_BuildValue("(iy#y#)", (int)worst, (const char *)c->outs, (Py_ssize_t)n, (const char *)values, (Py_ssize_t)n * f->ret_width);
    }
    while (c->nheld)
        PyBuffer_Release(&c->held[--c->nheld]);
    free(values);
    free(c);
    return r;
}

static PyObject *text_of(const char *s) { return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace"); }

static PyObject *violations_of(const struct rdn_plugin_status *s) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < s->nkept; i++)
        ext_push(&list, Py_BuildValue("(ss)", s->kept[i].name, s->kept[i].place));
    return list;
}

/* status() -> (outcome, error, message, log, peak bytes, load ns, violations, generation) */
static PyObject *worker_status(PyObject *self, PyObject *none) {
    (void)none;
    struct rdn_plugin_status *s = calloc(1, sizeof *s);
    if (!s)
        return PyErr_NoMemory();
    rdn_plugin_status(((struct ext_worker *)self)->p, s);
    PyObject *log = PyUnicode_DecodeUTF8(s->log, (Py_ssize_t)s->log_len, "replace"), *error = text_of(s->error), *message = text_of(s->message),
             *violations = violations_of(s), *r = NULL;
    if (log && error && message && violations)
        r = Py_BuildValue("(iOOOKLOK)", (int)s->last, error, message, log, (unsigned long long)s->peak_bytes, (long long)s->load_ns, violations,
                          (unsigned long long)s->generation);
    Py_XDECREF(log);
    Py_XDECREF(error);
    Py_XDECREF(message);
    Py_XDECREF(violations);
    free(s);
    return r;
}

/* settle(timeout_ns) -> outcome: waits until a late call has really ended and a worker is ready */
static PyObject *worker_settle(PyObject *self, PyObject *arg) {
    long long timeout = PyLong_AsLongLong(arg);
    if (timeout == -1 && PyErr_Occurred())
        return NULL;
    enum rdn_outcome how;
    Py_BEGIN_ALLOW_THREADS
    how = rdn_plugin_settle(((struct ext_worker *)self)->p, 0, timeout);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong((long)how);
}

/* reload(): the file as it is now, in a new worker beside the old one; state goes along where the manifest says so */
static PyObject *worker_reload(PyObject *self, PyObject *none) {
    struct ext_worker *k = (struct ext_worker *)self;
    redan_error err = { 0 };
    int rc;
    (void)none;
    Py_BEGIN_ALLOW_THREADS
    rc = rdn_plugin_reload(k->p, NULL, NULL, &err);
    Py_END_ALLOW_THREADS
    return rc < 0 ? ext_raise(&err, NULL) : Py_NewRef(Py_None);
}

static PyObject *worker_rows_max(PyObject *self, PyObject *arg) {
    struct ext_worker *k = (struct ext_worker *)self;
    unsigned long fn = PyLong_AsUnsignedLong(arg);
    if (fn >= k->nfns)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "the plugin has %u functions", (unsigned)k->nfns);
    uint32_t most = rdn_plugin_rows_max(k->p, (uint32_t)fn);
    return PyLong_FromUnsignedLong(most < ROWS ? most : ROWS);
}

static void worker_free(PyObject *self) {
    struct ext_worker *k = (struct ext_worker *)self;
    Py_BEGIN_ALLOW_THREADS
    rdn_plugin_close(k->p);
    Py_END_ALLOW_THREADS
    pthread_mutex_destroy(&k->mu);
    Py_DECREF((PyObject *)k->owner);
    ext_free(self);
}

static PyMethodDef worker_methods[] = {
    { "call", worker_call, METH_VARARGS, "call(function, columns, rows, now_ns) -> (outcome, outcomes, values)" },
    { "rows_max", worker_rows_max, METH_O, "rows_max(function) -> int: rows of one call" },
    { "status", worker_status, METH_NOARGS, "status() -> (outcome, error, message, log, peak, load_ns, violations, generation)" },
    { "reload", worker_reload, METH_NOARGS, "reload(): the file as it is now, with the state of before where it is carried" },
    { "settle", worker_settle, METH_O, "settle(timeout_ns) -> outcome" },
    { 0 },
};
static PyType_Slot worker_slots[] = { { Py_tp_dealloc, worker_free }, { Py_tp_methods, worker_methods }, { 0 } };
PyType_Spec ext_worker_spec = { "_redan.Worker", sizeof(struct ext_worker), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, worker_slots };
