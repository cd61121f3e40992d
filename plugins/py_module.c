/* SPDX-License-Identifier: Apache-2.0
 * py_module.c: the module _redan, which the SDK and the zygote build on. */
#include "plugins/py_role.h"

/* Cuts the text before a byte that would split a character. */
static size_t whole_chars(const char *u, size_t n) {
    while (n && ((unsigned char)u[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static PyObject *log_write(PyObject *self, PyObject *arg) {
    (void)self;
    Py_ssize_t n;
    const char *u = PyUnicode_AsUTF8AndSize(arg, &n);
    struct rdn_res *r = rdn_py.w ? rdn_py.w->res : NULL;
    if (!u)
        return NULL;
    if (r) {
        size_t at = r->log_len < sizeof r->log ? r->log_len : sizeof r->log;
        size_t room = sizeof r->log - at, k = (size_t)n <= room ? (size_t)n : whole_chars(u, room);
        memcpy(r->log + at, u, k);
        r->log_len = (uint32_t)(at + k);
        r->log_dropped += (uint32_t)((size_t)n - k);
    }
    return PyLong_FromSsize_t(PyUnicode_GetLength(arg));
}

static PyObject *log_flush(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    Py_RETURN_NONE;
}

static PyObject *log_isatty(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    Py_RETURN_FALSE;
}

static PyMethodDef log_methods[] = {
    { "write", log_write, METH_O, "Send text to the host: 4 KiB a call, the rest is counted and dropped." },
    { "flush", log_flush, METH_NOARGS, NULL },
    { "isatty", log_isatty, METH_NOARGS, NULL },
    { 0 },
};
static PyTypeObject log_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "redan.Log", .tp_basicsize = sizeof(PyObject), .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = log_methods, .tp_new = PyType_GenericNew,
};

PyObject *rdn_py_log(void) { return PyObject_CallNoArgs((PyObject *)&log_type); }

/* Python runs this between two byte codes after SIGUSR1. A signal that comes after its call was answered must not hit the
 * next one: without the comparison it did in 200 of 200 late cases. */
static PyObject *soft_stop(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    struct rdn_worker *w = rdn_py.w;
    uint32_t now = w ? atomic_load(&w->current) : 0;
    if (!now || atomic_load(&w->req->stop_seq) != now)
        Py_RETURN_NONE;
    PyErr_SetString(rdn_py.timeout, "the deadline has passed");
    return NULL;
}

static PyMethodDef soft_stop_def = { "soft_stop", soft_stop, METH_VARARGS, NULL };
PyObject *rdn_py_soft_stop(void) { return PyCFunction_New(&soft_stop_def, NULL); }

static PyObject *event_now(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    return PyLong_FromLongLong(rdn_py.w ? rdn_py.w->req->now_ns : 0);
}

static PyObject *seed(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    return PyLong_FromUnsignedLongLong(rdn_py.w ? rdn_py.w->req->seed : 0);
}

/* Data files follow the modules in the load page, under the names of the manifest. */
static PyObject *data(PyObject *self, PyObject *arg) {
    (void)self;
    const char *want = PyUnicode_AsUTF8(arg);
    const struct rdn_load *l = rdn_py.w ? rdn_py.w->load : NULL;
    if (!want || !l)
        return want ? PyErr_Format(PyExc_FileNotFoundError, "no data file '%s'", want) : NULL;
    const char *base = (const char *)l + l->files.off;
    for (uint32_t at = 0; at + sizeof(struct rdn_wfile) <= l->files.len;) {
        const struct rdn_wfile *f = (const void *)(base + at);
        uint32_t body = at + (uint32_t)((sizeof *f + f->name_len + 63) & ~63u);
        if (f->kind == 2 && strlen(want) == f->name_len && !memcmp(f + 1, want, f->name_len))
            return PyMemoryView_FromMemory((char *)(uintptr_t)(base + body), f->bytes, PyBUF_READ);
        at = body + ((f->bytes + 63) & ~63u);
    }
    return PyErr_Format(PyExc_FileNotFoundError, "no data file '%s' in the plugin", want);
}

static PyMethodDef methods[] = {
    { "now", event_now, METH_NOARGS, "Event time of the newest row, ns." },
    { "seed", seed, METH_NOARGS, "Seed of this plugin, generation and lane." },
    { "data", data, METH_O, "Read-only memoryview of a packed file." },
    { 0 },
};
static struct PyModuleDef def = { PyModuleDef_HEAD_INIT, "_redan", NULL, -1, methods, NULL, NULL, NULL, NULL };

PyObject *rdn_py_module_init(void) {
    PyObject *m = PyModule_Create(&def);
    PyObject *timeout = PyErr_NewExceptionWithDoc("redan.PluginTimeout",
        "Raised in the plugin at its deadline. Let it pass: a plugin that goes on is killed.", PyExc_BaseException, NULL);
    if (!m || !timeout || PyType_Ready(&log_type) < 0 || PyModule_AddObjectRef(m, "Log", (PyObject *)&log_type) < 0 ||
        PyModule_AddObjectRef(m, "PluginTimeout", timeout) < 0) {
        Py_XDECREF(m);
        m = NULL;
    }
    Py_XDECREF(timeout);
    return m;
}
