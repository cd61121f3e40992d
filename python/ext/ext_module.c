/* SPDX-License-Identifier: Apache-2.0
 * ext_module.c: the module _redan, what its parts share, and log lines that wait for the interpreter. */
#include "python/ext/ext.h"

PyObject *ext_error;
PyTypeObject *ext_engine_type, *ext_rules_type, *ext_lane_type, *ext_workers_type, *ext_worker_type, *ext_market_type, *ext_cursor_type, *ext_chunk_type, *ext_column_type;

PyObject *ext_raise(const redan_error *e, PyObject *diags) {
    PyObject *list = diags ? diags : PyList_New(0);
    const char *text = e->text[0] ? e->text : e->code == REDAN_E_SYS ? strerror(e->sys) : redan_strerror(e->code);
    PyObject *args = list ? Py_BuildValue("(isIIssN)", (int)e->code, e->id, (unsigned)e->line, (unsigned)e->column, e->where, text, list) : NULL;
    if (args)
        PyErr_SetObject(ext_error, args);
    Py_XDECREF(args);
    return NULL;
}

PyObject *ext_closed(const char *what) {
    redan_error e = { .code = REDAN_E_CLOSED };
    snprintf(e.text, sizeof e.text, "the %s is closed", what);
    return ext_raise(&e, NULL);
}

void ext_lock(pthread_mutex_t *mu) {
    if (pthread_mutex_trylock(mu) == 0)
        return;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(mu);
    Py_END_ALLOW_THREADS
}

void ext_push(PyObject **list, PyObject *item) {
    if (*list && (!item || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

void ext_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- log ---- */
void ext_log_open(struct ext_log *l) {
    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->mu, NULL);
    l->lines = calloc(EXT_LOG_LINES, sizeof *l->lines);
}

void ext_log_close(struct ext_log *l) {
    free(l->lines);
    l->lines = NULL;
    pthread_mutex_destroy(&l->mu);
}

void ext_log_put(void *log, uint32_t level, const char *line) {
    struct ext_log *l = log;
    pthread_mutex_lock(&l->mu);
    if (!l->lines || l->n == EXT_LOG_LINES) {
        l->lost++;
    } else {
        uint32_t at = (l->first + l->n++) % EXT_LOG_LINES;
        l->lines[at].level = level;
        snprintf(l->lines[at].text, sizeof l->lines[at].text, "%s", line);
    }
    pthread_mutex_unlock(&l->mu);
}

/* The lines are copied first: making an object may run the collector, and with it anybody's __del__, while the supervisor's thread
 * waits here with a line. */
PyObject *ext_log_take(struct ext_log *l) {
    struct ext_line *lines = malloc(EXT_LOG_LINES * sizeof *lines);
    uint32_t n = 0, lost;
    if (!lines)
        return PyErr_NoMemory();
    pthread_mutex_lock(&l->mu);
    for (; l->n; l->n--, l->first = (l->first + 1) % EXT_LOG_LINES)
        lines[n++] = l->lines[l->first];
    lost = l->lost;
    l->lost = 0;
    pthread_mutex_unlock(&l->mu);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        ext_push(&list, Py_BuildValue("(IN)", (unsigned)lines[i].level, PyUnicode_DecodeUTF8(lines[i].text, (Py_ssize_t)strlen(lines[i].text), "replace")));
    if (list && lost)
        ext_push(&list, Py_BuildValue("(IN)", 1u, PyUnicode_FromFormat("%u more lines were dropped", (unsigned)lost)));
    free(lines);
    return list;
}

/* ---- functions of the module ---- */
static PyObject *version(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    uint32_t v = redan_version();
    return PyUnicode_FromFormat("%u.%u.%u", (unsigned)(v >> 16), (unsigned)(v >> 8 & 255), (unsigned)(v & 255));
}

static PyObject *code_text(PyObject *self, PyObject *arg) {
    (void)self;
    const char *id = PyUnicode_AsUTF8AndSize(arg, NULL), *text = id ? rdn_dsl_code_text(id) : NULL;
    if (id && !text)
        text = rdn_code_text(id);
    if (id && !text)
        Py_RETURN_NONE;
    return id ? PyUnicode_FromString(text) : NULL;
}

static PyObject *strerror_text(PyObject *self, PyObject *arg) {
    (void)self;
    long code = PyLong_AsLong(arg);
    return code == -1 && PyErr_Occurred() ? NULL : PyUnicode_FromString(redan_strerror((int)code));
}

static PyMethodDef methods[] = {
    { "version", version, METH_NOARGS, "Version of the engine inside." },
    { "code_text", code_text, METH_O, "What a code means (E0401, R3007), or None." },
    { "pack", ext_pack, METH_O, "A plugin's manifest: a folder, a bundle or a .py file." },
    { "market_live", ext_market_live, METH_NOARGS, "Chunks of market columns that somebody holds." },
    { "strerror", strerror_text, METH_O, "The text of a negative REDAN_E code." },
    { 0 },
};
static struct PyModuleDef def = { .m_base = PyModuleDef_HEAD_INIT, .m_name = "_redan", .m_size = -1, .m_methods = methods,
                                  .m_doc = "The engine for the package redan. Use that one." };

static bool add_type(PyObject *m, const char *name, PyType_Spec *spec, PyTypeObject **ret) {
    *ret = (PyTypeObject *)PyType_FromSpec(spec);
    return *ret && PyModule_AddObjectRef(m, name, (PyObject *)*ret) == 0;
}

static bool add_outcomes(PyObject *m) {
    PyObject *names = PyList_New(0);
    for (int i = 0; i < RDN_OUT_COUNT; i++) {
        static const char *const texts[] = {
#define OUTCOME(NAME, text, usable, doc) text,
#include "plugins/outcomes.def"
#undef OUTCOME
        };
        ext_push(&names, PyUnicode_FromString(texts[i]));
    }
    PyObject *tuple = names ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    bool ok = tuple && PyModule_AddObjectRef(m, "OUTCOMES", tuple) == 0;
    Py_XDECREF(tuple);
    return ok;
}

PyMODINIT_FUNC PyInit__redan(void) {
    PyObject *m = PyModule_Create(&def);
    bool ok = m && (ext_error = PyErr_NewException("_redan.EngineError", NULL, NULL)) && PyModule_AddObjectRef(m, "EngineError", ext_error) == 0;
    ok = ok && add_type(m, "Engine", &ext_engine_spec, &ext_engine_type) && add_type(m, "Rules", &ext_rules_spec, &ext_rules_type) &&
         add_type(m, "Lane", &ext_lane_spec, &ext_lane_type) && add_type(m, "Workers", &ext_workers_spec, &ext_workers_type) &&
         add_type(m, "Worker", &ext_worker_spec, &ext_worker_type) && add_type(m, "Market", &ext_market_spec, &ext_market_type) &&
         add_type(m, "Cursor", &ext_cursor_spec, &ext_cursor_type) && add_type(m, "Chunk", &ext_chunk_spec, &ext_chunk_type) &&
         add_type(m, "Column", &ext_column_spec, &ext_column_type) && add_outcomes(m) &&
         PyModule_AddIntConstant(m, "WIRE_VERSION", RDN_WIRE_VERSION) == 0 && PyModule_AddIntConstant(m, "ROLE_ABI", RDN_ROLE_ABI) == 0;
    if (!ok)
        Py_CLEAR(m);
    return m;
}
