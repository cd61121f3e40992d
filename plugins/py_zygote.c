/* SPDX-License-Identifier: Apache-2.0
 * py_zygote.c: an isolated interpreter with the group's modules, ready to be forked (SANDBOX.md 3, steps 2 to 5, 7, 11). */
#include "plugins/py_role.h"
#include <signal.h>
#include <unistd.h>
#include <sdk_text.h>                                   /* generated from python/redan */

struct rdn_py rdn_py;

/* The pending exception as one line. */
static unsigned fail_py(const struct rdn_role_start *s, unsigned step) {
    PyObject *t, *v, *tb;
    PyErr_Fetch(&t, &v, &tb);
    PyObject *text = v ? PyObject_Str(v) : NULL;
    const char *u = text ? PyUnicode_AsUTF8(text) : NULL;
    snprintf(s->err, s->err_cap, "%s: %s", t ? ((PyTypeObject *)t)->tp_name : "error", u ? u : "?");
    return u && !strncmp(u, "R4407", 5) ? RDN_Z_ONE_THREAD : step;
}

static unsigned fail_status(const struct rdn_role_start *s, PyStatus st) {
    snprintf(s->err, s->err_cap, "%s", st.err_msg ? st.err_msg : "interpreter");
    return RDN_Z_START;
}

static PyStatus configure(PyConfig *c, uint64_t seed) {
    c->site_import = 0;
    c->write_bytecode = 0;
    c->install_signal_handlers = 0;
    c->use_hash_seed = 1;
    c->hash_seed = (unsigned long)(seed & 0xffffffffu);
    PyStatus st = PyConfig_SetBytesString(c, &c->program_name, RDN_PYTHON_PROGRAM);
    return PyStatus_Exception(st) ? st : Py_InitializeFromConfig(c);
}

static unsigned init_interpreter(const struct rdn_role_start *s) {
    PyPreConfig pre;
    PyPreConfig_InitIsolatedConfig(&pre);
    pre.utf8_mode = 1;
    PyStatus st = Py_PreInitialize(&pre);
    if (PyStatus_Exception(st))
        return fail_status(s, st);
    rdn_py_alloc_hook();
    if (PyImport_AppendInittab("_redan", rdn_py_module_init) < 0)
        return RDN_Z_START;
    PyConfig c;
    PyConfig_InitIsolatedConfig(&c);
    st = configure(&c, s->seed);
    PyConfig_Clear(&c);
    return PyStatus_Exception(st) ? fail_status(s, st) : 0;
}

/* The SDK is part of this library: workers have no file system to import it from. */
static PyObject *import_text(const char *name, const char *file, const char *text) {
    PyObject *code = Py_CompileString(text, file, Py_file_input);
    PyObject *m = code ? PyImport_ExecCodeModuleEx(name, code, file) : NULL;
    Py_XDECREF(code);
    return m;
}

static bool import_sdk(void) {
    rdn_py.sdk = import_text("redan", "redan/__init__.py", rdn_sdk_init);
    rdn_py.signature = rdn_py.sdk ? PyObject_GetAttrString(rdn_py.sdk, "SignatureError") : NULL;
    return rdn_py.signature && PyObject_SetAttrString(rdn_py.sdk, "__path__", PyList_New(0)) == 0;
}

/* bare: without the SDK, whose import of typing takes as long as the interpreter's start. */
static bool import_own(bool bare) {
    PyObject *inside = bare || import_sdk() ? PyImport_ImportModule("_redan") : NULL;
    rdn_py.timeout = inside ? PyObject_GetAttrString(inside, "PluginTimeout") : NULL;
    rdn_py.helper = rdn_py.timeout ? import_text("redan._worker", "redan/_worker.py", rdn_sdk_worker) : NULL;
    Py_XDECREF(inside);
    return rdn_py.helper;
}

static PyObject *split(const char *list) {
    PyObject *text = PyUnicode_FromString(list ? list : ""), *r;
    if (!text)
        return NULL;
    if (PyUnicode_GetLength(text) == 0)
        r = PyList_New(0);
    else
        r = PyObject_CallMethod(text, "split", "s", ",");
    Py_DECREF(text);
    return r;
}

static unsigned start(const struct rdn_role_start *s) {
    unsigned step = init_interpreter(s);
    if (step)
        return step;
    const char *site = s->site;
    if (!site && access(RDN_PYTHON_SITE, R_OK) == 0)
        site = RDN_PYTHON_SITE;
    PyObject *names = split(s->preload);
    if (!import_own(s->preload && !strncmp(s->preload, "--", 2)) || !names)
        return fail_py(s, RDN_Z_START);
    PyObject *r = PyObject_CallMethod(rdn_py.helper, "preload", "sO", site ? site : "", names);
    Py_DECREF(names);
    if (!r)
        return fail_py(s, RDN_Z_PRELOAD);
    Py_DECREF(r);
    r = PyObject_CallMethod(rdn_py.helper, "warm", NULL);
    if (!r)
        return fail_py(s, RDN_Z_WARM);
    Py_DECREF(r);
    rdn_py_random_find();
    return 0;
}

static unsigned handlers(const struct rdn_role_start *s) {
    PyObject *log = rdn_py_log(), *stop = rdn_py_soft_stop();
    PyObject *r = log ? PyObject_CallMethod(rdn_py.helper, "seal", "O", log) : NULL;
    PyObject *sig = r && stop ? PyImport_ImportModule("signal") : NULL;
    PyObject *old = sig ? PyObject_CallMethod(sig, "signal", "iO", SIGUSR1, stop) : NULL;
    Py_XDECREF(r);
    Py_XDECREF(sig);
    Py_XDECREF(old);
    Py_XDECREF(stop);
    return old ? 0 : fail_py(s, RDN_Z_HANDLERS);
}

static void freeze(void) {
    PyObject *r = PyObject_CallMethod(rdn_py.helper, "freeze", NULL);
    Py_XDECREF(r);
}

static void before_fork(void) { PyOS_BeforeFork(); }
static void after_fork_parent(void) { PyOS_AfterFork_Parent(); }
static void after_fork_child(void) { PyOS_AfterFork_Child(); }

__attribute__((visibility("default"))) const struct rdn_role *rdn_role_get(void);
const struct rdn_role *rdn_role_get(void) {
    static const struct rdn_role role = {
        .abi = RDN_ROLE_ABI, .version = PY_VERSION, .start = start, .handlers = handlers, .freeze = freeze,
        .before_fork = before_fork, .after_fork_parent = after_fork_parent, .after_fork_child = after_fork_child,
        .load = rdn_py_load, .call = rdn_py_call, .save = rdn_py_save, .restore = rdn_py_restore, .where = rdn_py_where, .dump = rdn_py_dump,
    };
    return &role;
}
