/* SPDX-License-Identifier: Apache-2.0
 * py_load.c: call 1: compile the source inside the sandbox, run it, compare the function with the rules, prepare columns. */
#include "plugins/py_role.h"

/* Files of kind 1 stand first in the span; the first of them is the entry. False past the end. */
static bool next_file(const struct rdn_load *l, uint32_t *at, const struct rdn_wfile **ret, const char **text) {
    const char *base = (const char *)l + l->files.off;
    if (*at + sizeof(struct rdn_wfile) > l->files.len)
        return false;
    *ret = (const void *)(base + *at);
    uint32_t body = *at + (uint32_t)((sizeof **ret + (*ret)->name_len + 63) & ~63u);
    *text = base + body;
    *at = body + (((*ret)->bytes + 63) & ~63u);
    return true;
}

static bool entry(const struct rdn_load *l, const char **text, uint32_t *n) {
    const struct rdn_wfile *f;
    uint32_t at = 0;
    if (!next_file(l, &at, &f, text) || f->kind != 1)
        return false;
    size_t k = f->name_len < sizeof rdn_py.file - 1 ? f->name_len : sizeof rdn_py.file - 1;
    memcpy(rdn_py.file, f + 1, k);
    rdn_py.file[k] = 0;
    *n = f->bytes;
    return true;
}

/* Further modules: helper.modules({name: text}) puts a finder before the one that refuses. */
static bool serve_modules(const struct rdn_load *l) {
    const struct rdn_wfile *f;
    const char *text;
    uint32_t at = 0, n = 0;
    PyObject *table = PyDict_New();
    while (table && next_file(l, &at, &f, &text)) {
        PyObject *name = f->kind == 1 && n++ ? PyUnicode_FromStringAndSize((const char *)(f + 1), f->name_len) : NULL;
        PyObject *body = name ? PyUnicode_FromStringAndSize(text, f->bytes) : NULL;
        if (name && (!body || PyDict_SetItem(table, name, body) < 0))
            Py_CLEAR(table);
        Py_XDECREF(name);
        Py_XDECREF(body);
    }
    PyObject *r = table && n > 1 ? PyObject_CallMethod(rdn_py.helper, "modules", "O", table) : Py_XNewRef(table);
    Py_XDECREF(table);
    Py_XDECREF(r);
    return r;
}

/* A module of the file's own name, so that dataclasses and typing find its globals; never over one that exists. */
static PyObject *new_module(void) {
    char name[96];
    snprintf(name, sizeof name, "%s", rdn_py.file);
    char *dot = strrchr(name, '.');
    if (dot)
        *dot = 0;
    PyObject *modules = PyImport_GetModuleDict();
    if (PyDict_GetItemString(modules, name))
        snprintf(name, sizeof name, "plugin_%.64s", rdn_py.file);
    return PyImport_AddModule(name);                    /* borrowed; sys.modules keeps it */
}

static bool run_source(PyObject *globals, const char *text, uint32_t n) {
    char *copy = PyMem_Malloc((size_t)n + 1);           /* the compiler wants a terminator */
    if (!copy) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(copy, text, n);
    copy[n] = 0;
    PyObject *r = PyObject_CallMethod(rdn_py.helper, "register", "ss", rdn_py.file, copy), *code = NULL;
    if (r) {
        Py_DECREF(r);
        code = Py_CompileString(copy, rdn_py.file, Py_file_input);
    }
    PyMem_Free(copy);
    r = code ? PyEval_EvalCode(code, globals, globals) : NULL;
    Py_XDECREF(code);
    Py_XDECREF(r);
    return r;
}

static PyObject *param_list(const struct rdn_wcol *cols, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *type = rdn_py_type_tuple(&cols[i]);
        rdn_py_push(&list, type ? Py_BuildValue("(sN)", cols[i].name, type) : NULL);
    }
    return list;
}

/* redan._bind(name, params, ret) -> (callable, batch) */
static bool bind_declared(const struct rdn_wcol *cols) {
    struct rdn_wcol ret = { .type = rdn_py.f->fn->ret_type, .width = rdn_py.f->fn->ret_width, .scale = rdn_py.f->fn->ret_scale,
                            .flags = (uint16_t)rdn_py.f->fn->enum_count, .enum_first = rdn_py.f->fn->enum_first };
    PyObject *params = param_list(cols + rdn_py.f->fn->first_col, rdn_py.f->ncols), *type = params ? rdn_py_type_tuple(&ret) : NULL;
    PyObject *r = type && rdn_py.sdk ? PyObject_CallMethod(rdn_py.sdk, "_bind", "sOO", rdn_py.f->fn->name, params, type) : NULL;
    Py_XDECREF(params);
    Py_XDECREF(type);
    int batch = 0;
    if (!rdn_py.sdk)
        PyErr_SetString(PyExc_LookupError, "there is no SDK in this group");
    bool ok = r && PyArg_ParseTuple(r, "Op", &rdn_py.f->call, &batch);
    if (ok)
        Py_INCREF(rdn_py.f->call);
    rdn_py.f->batch = batch;
    Py_XDECREF(r);
    return ok;
}

static bool bind_plain(PyObject *globals) {
    rdn_py.f->call = PyDict_GetItemString(globals, rdn_py.f->fn->name);
    if (!rdn_py.f->call || !PyCallable_Check(rdn_py.f->call)) {
        PyErr_Format(PyExc_LookupError, "no function '%s'", rdn_py.f->fn->name);
        return false;
    }
    Py_INCREF(rdn_py.f->call);
    rdn_py.plain = true;
    return true;
}

static bool bind(const struct rdn_load *l, PyObject *globals) {
    const struct rdn_wcol *cols = (const void *)((const char *)l + l->cols.off);
    const struct rdn_wfn *fns = (const void *)((const char *)l + l->fns.off);
    bool ok = l->nfns >= 1 && l->nfns <= RDN_MAX_FNS;
    rdn_py.has_run = true;
    for (uint32_t i = 0; ok && i < l->nfns; i++) {
        rdn_py.f = &rdn_py.fns[i];
        rdn_py.f->fn = &fns[i];
        rdn_py.f->ncols = fns[i].ncols;
        ok = l->flags & RDN_LOAD_PLAIN ? bind_plain(globals) : bind_declared(cols);
        ok = ok && rdn_py_cols_prepare() == 0;
    }
    return ok;
}

/* Tunables: the manifest's values become the functions' keyword defaults, so that a call costs nothing more. */
static bool configure(const struct rdn_load *l) {
    if (!l->config.len)
        return true;
    PyObject *calls = PyList_New(0);
    for (uint32_t i = 0; calls && i < l->nfns; i++)
        rdn_py_push(&calls, Py_NewRef(rdn_py.fns[i].call));
    PyObject *r = calls ? PyObject_CallMethod(rdn_py.helper, "configure", "Os#", calls, (const char *)l + l->config.off, (Py_ssize_t)l->config.len) : NULL;
    Py_XDECREF(calls);
    Py_XDECREF(r);
    return r;
}

static bool prepare(struct rdn_worker *w) {
    rdn_py.view = PyMemoryView_FromMemory((char *)(uintptr_t)w->req, (Py_ssize_t)w->req_bytes, PyBUF_READ);
    PyObject *np = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    if (np)
        rdn_py.frombuffer = PyObject_GetAttrString(np, "frombuffer");
    PyObject *r = PyObject_CallMethod(rdn_py.helper, "reseed", "KO", (unsigned long long)w->req->seed,
                                      rdn_py_random_seed(w->req->seed) ? Py_True : Py_False);
    Py_XDECREF(r);
    return rdn_py.view && r && (!np || rdn_py.frombuffer);
}

static bool load(struct rdn_worker *w) {
    const char *text;
    uint32_t n;
    PyObject *m = entry(w->load, &text, &n) && prepare(w) ? new_module() : NULL;
    if (!m)
        return false;
    PyObject *globals = PyModule_GetDict(m);
    if (PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) < 0)
        return false;
    PyObject *file = PyUnicode_FromString(rdn_py.file);
    bool ok = file && PyDict_SetItemString(globals, "__file__", file) == 0;
    Py_XDECREF(file);
    if (ok && w->load->flags & RDN_LOAD_TEST_ADDR) {
        PyObject *addr = PyLong_FromVoidPtr(w->res);
        ok = addr && PyDict_SetItemString(globals, "W_ADDR", addr) == 0;
        Py_XDECREF(addr);
    }
    return ok && serve_modules(w->load) && run_source(globals, text, n) && bind(w->load, globals) && configure(w->load);
}

/* --- state over a reload ---------------------------------------------------------------------------------------- */

void rdn_py_save(struct rdn_worker *w) {
    PyObject *r = PyObject_CallMethod(rdn_py.helper, "save", NULL);
    char *bytes;
    Py_ssize_t n;
    if (r == Py_None) {
        w->res->status = RDN_ST_NO_FUNCTION;
    } else if (!r || PyBytes_AsStringAndSize(r, &bytes, &n) < 0 || (size_t)n > w->res_bytes - RDN_RES_VALUES) {
        w->res->status = rdn_py_take_error();
    } else {
        memcpy(w->res->values, bytes, (size_t)n);
        w->res->nrows = (uint32_t)n;
    }
    Py_XDECREF(r);
}

void rdn_py_restore(struct rdn_worker *w) {
    uint32_t n = w->req->nrows;
    PyObject *r = n <= w->req_bytes - RDN_PAGE ? PyObject_CallMethod(rdn_py.helper, "restore", "y#", (const char *)w->req->args, (Py_ssize_t)n) : NULL;
    if (!r)
        w->res->status = rdn_py_take_error();
    Py_XDECREF(r);
}

void rdn_py_load(struct rdn_worker *w) {
    rdn_py.w = w;
    rdn_py_alloc_begin();
    bool ok = load(w);
    rdn_py_alloc_report(w->res);
    if (ok)
        return;
    bool signature = rdn_py.signature && PyErr_ExceptionMatches(rdn_py.signature), missing = PyErr_ExceptionMatches(PyExc_LookupError) && rdn_py.f && !rdn_py.f->call;
    uint32_t st = rdn_py_take_error();
    if (st == RDN_ST_EXCEPTION && rdn_py.has_run)
        st = signature ? RDN_ST_SIGNATURE : missing ? RDN_ST_NO_FUNCTION : st;
    w->res->status = st;
}
