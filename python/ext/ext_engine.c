/* SPDX-License-Identifier: Apache-2.0
 * ext_engine.c: _redan.Engine and _redan.Rules: compile, activate, symbols, plugins. */
#include "python/ext/ext.h"

/* ---- engine ---- */
static PyObject *engine_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = { "backend", "lanes", "max_syms", "prefault", NULL };
    const char *backend = NULL;
    unsigned lanes = 1, max_syms = 0;
    int prefault = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|zIIp", names, &backend, &lanes, &max_syms, &prefault))
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct ext_engine *e = (struct ext_engine *)alloc(type, 0);
    if (!e)
        return NULL;
    pthread_mutex_init(&e->setup, NULL);
    ext_log_open(&e->log);
    redan_options o = REDAN_OPTIONS_INIT;
    o.backend = backend;
    o.lanes = lanes;
    o.max_syms = max_syms;
    o.flags = prefault ? REDAN_PREFAULT : 0;
    o.ctx = &e->log;
    o.log = ext_log_put;
    redan_error err = { 0 };
    int rc = redan_open(&e->eng, &o, &err);
    if (rc == 0)
        return (PyObject *)e;
    Py_DECREF(e);
    return ext_raise(&err, NULL);
}

static void lane_shut(struct ext_lane *l) {
    ext_lock(&l->mu);
    if (l->lane)
        l->lane->owned = false;                          /* whoever held it before is done: it is this thread's now */
    redan_lane_close(l->lane);
    l->lane = NULL;
    pthread_mutex_unlock(&l->mu);
}

static void rules_shut(struct ext_rules *r) {
    rdn_line_close(r->reader);
    r->reader = NULL;
    redan_release(r->rs);
    r->rs = NULL;
}

/* With the set-up lock, or when nobody else has the engine. What somebody reads stays until he is done. */
static void engine_shut(struct ext_engine *e) {
    redan_engine *eng = e->eng ? e->eng : e->closing;
    e->eng = NULL;                                       /* first: waiting below lets other threads ask for a lane */
    e->closing = eng;
    if (e->users)
        return;
    e->closing = NULL;
    for (struct ext_lane *l = e->lanes, *next; l; l = next) {
        Py_INCREF((PyObject *)l);                        /* waiting for its lock lets other threads drop it */
        lane_shut(l);
        next = l->next;
        Py_DECREF((PyObject *)l);
    }
    for (struct ext_rules *r = e->rules; r; r = r->next)
        rules_shut(r);
    Py_BEGIN_ALLOW_THREADS                               /* joins the supervisor of plugins */
    redan_close(eng);
    Py_END_ALLOW_THREADS
}

static void close_engine(struct ext_engine *e) {
    ext_lock(&e->setup);
    engine_shut(e);
    pthread_mutex_unlock(&e->setup);
}

static PyObject *engine_close(PyObject *self, PyObject *none) {
    (void)none;
    close_engine(ext_as_engine(self));
    Py_RETURN_NONE;
}

bool ext_engine_use(struct ext_engine *e) {
    if (!e->eng)
        return ext_closed("engine"), false;
    e->users++;
    return true;
}

void ext_engine_done(struct ext_engine *e) {
    if (--e->users == 0 && e->closing)
        close_engine(e);
}

static void engine_free(PyObject *self) {
    struct ext_engine *e = ext_as_engine(self);
    engine_shut(e);
    ext_log_close(&e->log);
    pthread_mutex_destroy(&e->setup);
    ext_free(self);
}

/* ---- compile ---- */
/* Diagnostics are copied, and become objects when the compiler has returned. */
struct diag { struct diag *next; redan_diag d; const char *shown; };
struct sink { struct rdn_arena a; struct diag *first, **last; const char *file, *src; size_t len; bool failed; };

static uint32_t offset_of(const struct sink *s, uint32_t line, uint32_t col) {
    const char *p = s->src, *end = s->src + s->len;
    for (; line > 1 && (p = memchr(p, '\n', (size_t)(end - p))); line--)
        p++;
    return p ? (uint32_t)(p - s->src) + col - 1 : (uint32_t)s->len;
}

static void on_diag(void *ctx, const redan_diag *d) {
    struct sink *s = ctx;
    struct rdn_dsl_diag x = { .warning = d->code[0] == 'W', .line = d->line, .col = d->col, .end_line = d->end_line, .end_col = d->end_col,
                              .text = d->text, .hint = d->hint };
    struct rdn_buf b;
    memcpy(x.code, d->code, sizeof x.code);
    x.span.a = offset_of(s, d->line, d->col);
    x.span.b = offset_of(s, d->end_line, d->end_col);
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_dsl_print_diag(&b, s->file, s->src, (uint32_t)s->len, &x, false);
    struct diag *own = rdn_new(&s->a, struct diag);
    const char *text = rdn_arena_strndup(&s->a, d->text, strlen(d->text)), *hint = d->hint ? rdn_arena_strndup(&s->a, d->hint, strlen(d->hint)) : NULL;
    const char *shown = rdn_arena_strndup(&s->a, rdn_buf_str(&b), b.n);
    s->failed = s->failed || b.failed || !own || !text || !shown || (d->hint && !hint);
    rdn_buf_fini(&b);
    if (s->failed)
        return;
    *own = (struct diag){ NULL, *d, shown };
    own->d.text = text;
    own->d.hint = hint;
    *s->last = own;
    s->last = &own->next;
}

static PyObject *diag_list(const struct sink *s) {
    PyObject *list = s->failed ? PyErr_NoMemory() : PyList_New(0);
    for (const struct diag *x = s->first; list && x; x = x->next)
        ext_push(&list, Py_BuildValue("(sIIIIszN)", x->d.code, (unsigned)x->d.line, (unsigned)x->d.col, (unsigned)x->d.end_line, (unsigned)x->d.end_col,
                                      x->d.text, x->d.hint, PyUnicode_DecodeUTF8(x->shown, (Py_ssize_t)strlen(x->shown), "replace")));
    return list;
}

/* Without rules yet: an object that is in the engine's list first loses what it is given when the engine is closed. */
static struct ext_rules *rules_new(struct ext_engine *e) {
    allocfunc alloc = (allocfunc)PyType_GetSlot(ext_rules_type, Py_tp_alloc);
    struct ext_rules *r = (struct ext_rules *)alloc(ext_rules_type, 0);
    if (!r)
        return NULL;
    r->owner = (struct ext_engine *)Py_NewRef((PyObject *)e);
    r->next = e->rules;
    e->rules = r;
    return r;
}

static PyObject *compile(struct ext_rules *r, struct sink *s, const char *base) {
    redan_compilation c = REDAN_COMPILATION_INIT;
    c.ctx = s;
    c.on_diag = on_diag;
    c.base_dir = base;
    redan_error err = { 0 };
    int rc = redan_compile(r->owner->eng, s->file, s->src, s->len, &c, &r->rs, &err);
    PyObject *list = diag_list(s);
    if (rc < 0)
        return list ? ext_raise(&err, list) : NULL;
    return list ? Py_BuildValue("(ON)", (PyObject *)r, list) : NULL;
}

/* compile(name, text: bytes, base_dir or None) -> (Rules, diagnostics). Holds the GIL: it takes less than a millisecond for most files. */
static PyObject *engine_compile(PyObject *self, PyObject *args) {
    struct ext_engine *e = ext_as_engine(self);
    const char *base;
    Py_ssize_t len;
    struct sink s = { .first = NULL };
    if (!PyArg_ParseTuple(args, "sy#z", &s.file, &s.src, &len, &base))
        return NULL;
    struct ext_rules *r = rules_new(e);
    PyObject *made = NULL;
    if (!r)
        return NULL;
    s.len = (size_t)len;
    s.last = &s.first;
    rdn_arena_init(&s.a, &rdn_libc_mem);
    if (ext_engine_use(e)) {
        made = compile(r, &s, base);
        ext_engine_done(e);
    }
    rdn_arena_fini(&s.a);
    Py_DECREF((PyObject *)r);
    return made;
}

/* ---- activate ---- */
/* The set-up lock and the GIL released around `call`; the plugin's workers may take half a second to start. */
#define SETUP(e, call)                                   \
    do {                                                 \
        Py_BEGIN_ALLOW_THREADS                           \
        pthread_mutex_lock(&(e)->setup);                 \
        rc = (e)->eng ? (call) : REDAN_E_CLOSED;         \
        pthread_mutex_unlock(&(e)->setup);               \
        Py_END_ALLOW_THREADS                             \
    } while (0)

static PyObject *failed(int rc, const redan_error *err) { return rc == REDAN_E_CLOSED && !err->code ? ext_closed("engine") : ext_raise(err, NULL); }

static PyObject *engine_activate(PyObject *self, PyObject *args) {
    struct ext_engine *e = ext_as_engine(self);
    PyObject *rules;
    unsigned long long expect = 0;
    if (!PyArg_ParseTuple(args, "O!|K", ext_rules_type, &rules, &expect))
        return NULL;
    redan_ruleset *rs = ext_as_rules(rules)->rs;
    if (!rs)
        return ext_closed("engine");
    if (ext_as_rules(rules)->owner != e) {              /* which may be closed at any time */
        PyErr_SetString(PyExc_ValueError, "the rule set belongs to another engine");
        return NULL;
    }
    redan_activation a = REDAN_ACTIVATION_INIT;
    a.expect = expect;
    uint64_t generation;
    redan_error err = { 0 };
    int rc;
    SETUP(e, redan_activate(e->eng, rs, &a, &generation, &err));
    return rc < 0 ? failed(rc, &err) : PyLong_FromUnsignedLongLong(generation);
}

static PyObject *engine_rollback(PyObject *self, PyObject *none) {
    (void)none;
    struct ext_engine *e = ext_as_engine(self);
    uint64_t generation;
    redan_error err = { 0 };
    int rc;
    SETUP(e, redan_rollback(e->eng, &generation, &err));
    return rc < 0 ? failed(rc, &err) : PyLong_FromUnsignedLongLong(generation);
}

/* The rule set that is active now, which rollback may have changed. */
static PyObject *engine_active(PyObject *self, PyObject *none) {
    (void)none;
    struct ext_engine *e = ext_as_engine(self);
    struct ext_rules *r = rules_new(e);
    if (!r)
        return NULL;
    ext_lock(&e->setup);                                /* which may wait without the GIL: somebody may close meanwhile */
    struct rdn_active *a = e->eng ? atomic_load(&e->eng->active) : NULL;
    uint64_t generation = a ? a->generation : 0;
    bool closed = !e->eng;
    if (a) {
        rdn_ruleset_ref(a->rs);
        r->rs = a->rs;
    }
    pthread_mutex_unlock(&e->setup);
    PyObject *made = closed ? ext_closed("engine") : Py_BuildValue("(OK)", a ? (PyObject *)r : Py_None, (unsigned long long)generation);
    Py_DECREF((PyObject *)r);
    return made;
}

static PyObject *engine_event(PyObject *self, PyObject *args) {
    struct ext_engine *e = ext_as_engine(self);
    const char *name;
    unsigned long long layout;
    if (!PyArg_ParseTuple(args, "sK", &name, &layout))
        return NULL;
    uint32_t id;
    redan_error err = { 0 };
    int rc;
    SETUP(e, redan_event(e->eng, name, layout, &id, &err));
    return rc < 0 ? failed(rc, &err) : PyLong_FromUnsignedLong(id);
}

/* ---- symbols ---- */
static PyObject *sym_failed(int rc) {
    redan_error err = { .code = rc };
    snprintf(err.text, sizeof err.text, "%s", rc == REDAN_E_FULL ? "the symbol table is full" : "a symbol is text of at most 255 bytes without NUL");
    return ext_raise(&err, NULL);
}

/* syms(sequence of str) -> bytes of u32 ids. The sequence may be of any kind, and close the engine when it is asked. */
static PyObject *engine_syms(PyObject *self, PyObject *texts) {
    struct ext_engine *e = ext_as_engine(self);
    PyObject *held = PySequence_Tuple(texts);
    Py_ssize_t n = held ? PyTuple_Size(held) : 0;
    PyObject *out = held ? PyBytes_FromStringAndSize(NULL, n * 4) : NULL;
    uint32_t *ids = out ? (uint32_t *)(void *)PyBytes_AsString(out) : NULL;
    int rc = ids && e->eng ? 0 : 1;
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++) {
        Py_ssize_t bytes;
        const char *u = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(held, i), &bytes);
        rc = u ? redan_sym(e->eng, u, (size_t)bytes, &ids[i]) : 1;
    }
    Py_XDECREF(held);
    if (rc == 0)
        return out;
    Py_XDECREF(out);
    return rc < 0 ? sym_failed(rc) : PyErr_Occurred() ? NULL : ext_closed("engine");
}

static PyObject *engine_text(PyObject *self, PyObject *arg) {
    struct ext_engine *e = ext_as_engine(self);
    unsigned long id = PyLong_AsUnsignedLong(arg);
    if (id == (unsigned long)-1 && PyErr_Occurred())
        return NULL;
    if (!e->eng)
        return ext_closed("engine");
    uint32_t n = 0;
    if (id >= rdn_sym_count(e->eng->syms))
        return PyErr_Format(PyExc_KeyError, "no symbol has the id %lu", id);
    const char *t = rdn_sym_text(e->eng->syms, (uint32_t)id, &n);
    return PyUnicode_DecodeUTF8(t, (Py_ssize_t)n, "replace");
}

/* ---- plugins ---- */
/* The names live as long as *ret_held, a tuple: a sequence may make its items anew each time it is asked. */
static const char **names_of(PyObject *list, PyObject **ret_held, Py_ssize_t *ret_n) {
    *ret_held = PySequence_Tuple(list);
    Py_ssize_t n = *ret_held ? PyTuple_Size(*ret_held) : 0;
    const char **names = *ret_held ? PyMem_Calloc((size_t)n + 1, sizeof *names) : NULL;
    bool ok = names != NULL;
    if (*ret_held && !names)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < n; i++)
        ok = (names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(*ret_held, i), NULL)) != NULL;
    *ret_n = n;
    if (ok)
        return names;
    PyMem_Free(names);
    Py_CLEAR(*ret_held);
    return NULL;
}

/* plugin(name, file, mem_cap_mib, time_cap_ms, preload or None, group or None) */
static PyObject *engine_plugin(PyObject *self, PyObject *args) {
    struct ext_engine *e = ext_as_engine(self);
    redan_plugin_options o = REDAN_PLUGIN_OPTIONS_INIT;
    unsigned mem, time;
    PyObject *preload, *held = NULL;
    if (!PyArg_ParseTuple(args, "ssIIO|z", &o.name, &o.file, &mem, &time, &preload, &o.group))
        return NULL;
    Py_ssize_t n = 0;
    const char **names = preload == Py_None ? NULL : names_of(preload, &held, &n);
    if (!names && preload != Py_None)
        return NULL;
    o.mem_cap_mib = mem;
    o.time_cap_ms = time;
    o.preload = names;
    o.npreload = (uint32_t)n;
    redan_error err = { 0 };
    int rc;
    SETUP(e, redan_plugin(e->eng, &o, &err));
    PyMem_Free(names);
    Py_XDECREF(held);
    if (rc < 0)
        return failed(rc, &err);
    Py_RETURN_NONE;
}

static PyObject *engine_reload(PyObject *self, PyObject *args) {
    struct ext_engine *e = ext_as_engine(self);
    const char *name, *file;
    if (!PyArg_ParseTuple(args, "sz", &name, &file))
        return NULL;
    redan_error err = { 0 };
    int rc;
    SETUP(e, redan_plugin_reload(e->eng, name, file, &err));
    if (rc < 0)
        return failed(rc, &err);
    Py_RETURN_NONE;
}

static int start_workers(struct ext_engine *e, const char *worker, const char *minor, const char *site, redan_error *reterr) {
    if (e->eng->workers)
        return 0;
    struct rdn_plugins_options o = { .mem = &e->eng->mem, .worker_path = worker, .python_minor = minor, .python_site = site,
                                      .log = ext_log_put, .ctx = &e->log };
    return rdn_plugins_open(&o, &e->eng->workers, reterr);
}

/* workers(program, minor, site or None): which redan-worker the plugins of this engine run in; before the first plugin. */
static PyObject *engine_workers(PyObject *self, PyObject *args) {
    struct ext_engine *e = ext_as_engine(self);
    const char *worker, *minor, *site;
    if (!PyArg_ParseTuple(args, "ssz", &worker, &minor, &site))
        return NULL;
    redan_error err = { 0 };
    int rc;
    SETUP(e, start_workers(e, worker, minor, site, &err));
    if (rc < 0)
        return failed(rc, &err);
    Py_RETURN_NONE;
}

static PyObject *engine_drain(PyObject *self, PyObject *none) {
    (void)none;
    return ext_log_take(&ext_as_engine(self)->log);
}

static PyObject *engine_stats(PyObject *self, PyObject *none) {
    (void)none;
    struct ext_engine *e = ext_as_engine(self);
    redan_jit_stats s = { .size = sizeof s };
    if (!e->eng)
        return ext_closed("engine");
    if (redan_jit_stats_read(e->eng, &s) < 0)
        return PyErr_NoMemory();
    return Py_BuildValue("{sIsKsKsKsKsKsKsKsKsKssss}", "units", (unsigned)s.units, "compiles", (unsigned long long)s.compiles, "compile_ns",
                         (unsigned long long)s.compile_ns, "last_compile_ns", (unsigned long long)s.last_compile_ns, "code_bytes",
                         (unsigned long long)s.code_bytes, "arena_bytes", (unsigned long long)s.arena_bytes, "fallbacks", (unsigned long long)s.fallbacks,
                         "selfcheck_failures", (unsigned long long)s.selfcheck_failures, "cold_rules", (unsigned long long)s.cold_rules, "mode_resets",
                         (unsigned long long)s.mode_resets, "backend", s.backend, "fallback", s.fallback);
}

static PyMethodDef engine_methods[] = {
    { "compile", engine_compile, METH_VARARGS, "compile(name, text, base_dir) -> (Rules, diagnostics)" },
    { "activate", engine_activate, METH_VARARGS, "activate(rules, expect=0) -> generation" },
    { "rollback", engine_rollback, METH_NOARGS, "rollback() -> generation" },
    { "active", engine_active, METH_NOARGS, "active() -> (Rules or None, generation)" },
    { "event", engine_event, METH_VARARGS, "event(name, layout) -> id" },
    { "syms", engine_syms, METH_O, "syms(texts) -> bytes of u32 ids" },
    { "text", engine_text, METH_O, "text(id) -> str" },
    { "plugin", engine_plugin, METH_VARARGS, "plugin(name, file, mem_cap_mib, time_cap_ms, preload, group)" },
    { "reload", engine_reload, METH_VARARGS, "reload(name, file or None)" },
    { "workers", engine_workers, METH_VARARGS, "workers(program, minor, site)" },
    { "drain", engine_drain, METH_NOARGS, "drain() -> [(level, line)]: log lines since the last call" },
    { "stats", engine_stats, METH_NOARGS, "stats() -> dict" },
    { "close", engine_close, METH_NOARGS, "Closes lanes, rule sets and the engine." },
    { 0 },
};
static PyType_Slot engine_slots[] = { { Py_tp_new, engine_new }, { Py_tp_dealloc, engine_free }, { Py_tp_methods, engine_methods }, { 0 } };
PyType_Spec ext_engine_spec = { "_redan.Engine", sizeof(struct ext_engine), 0, Py_TPFLAGS_DEFAULT, engine_slots };

/* ---- rule sets ---- */
static void rules_free(PyObject *self) {
    struct ext_rules *r = ext_as_rules(self);
    for (struct ext_rules **p = r->owner ? &r->owner->rules : NULL; p && *p; p = &(*p)->next)
        if (*p == r) {
            *p = r->next;
            break;
        }
    if (r->rs)
        rules_shut(r);
    Py_XDECREF((PyObject *)r->owner);
    ext_free(self);
}

static PyMethodDef rules_methods[] = {
    { "declared", ext_rules_declared, METH_NOARGS, "declared() -> dict: events, parameters, plugins, rules, codes" },
    { "row", ext_rules_row, METH_O, "row(JSON line) -> (event, row bytes)" },
    { 0 },
};
static PyType_Slot rules_slots[] = { { Py_tp_dealloc, rules_free }, { Py_tp_methods, rules_methods }, { 0 } };
PyType_Spec ext_rules_spec = { "_redan.Rules", sizeof(struct ext_rules), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, rules_slots };
