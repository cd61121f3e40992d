/* SPDX-License-Identifier: Apache-2.0
 * ext_pack.c: _redan.pack(path): a plugin's manifest as the host reads it, with the host's refusals (plugins/pack.h). */
#include "python/ext/ext.h"
#include "plugins/pack.h"

static PyObject *list_of(const struct rdn_manifest_list *l) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < l->n; i++)
        ext_push(&list, PyUnicode_FromString(l->items[i]));
    return list;
}

static bool put(PyObject *dict, const char *name, PyObject *value) {
    bool ok = value && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

static PyObject *functions_of(const struct rdn_manifest *m) {
    PyObject *d = PyDict_New();
    for (uint32_t i = 0; d && i < m->nfns; i++)
        if (!put(d, m->fns[i].name, Py_BuildValue("(zO)", m->fns[i].signature, m->fns[i].batch ? Py_True : Py_False)))
            Py_CLEAR(d);
    return d;
}

static PyObject *files_of(const struct rdn_manifest *m) {
    PyObject *d = PyDict_New();
    for (uint32_t i = 0; d && i < m->ndata; i++)
        if (!put(d, m->data[i].name, PyUnicode_FromString(m->data[i].value)))
            Py_CLEAR(d);
    return d;
}

static PyObject *config_of(const struct rdn_manifest *m) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_manifest_config(m, &b);
    PyObject *text = b.failed ? PyErr_NoMemory() : PyUnicode_FromString(rdn_buf_str(&b));
    rdn_buf_fini(&b);
    return text;
}

static PyObject *manifest_of(const struct rdn_pack *p) {
    const struct rdn_manifest *m = &p->m;
    PyObject *d = Py_BuildValue("{szszszszszszszszszsIsIsIsIsO}", "id", m->id, "version", m->version, "kind", m->kind, "entry", m->entry, "group", m->group,
                                "python", m->python, "rules", m->rules, "state", m->state, "rows", m->rows, "mem_cap_mib", (unsigned)m->mem_cap_mib,
                                "time_cap_ms", (unsigned)m->time_cap_ms, "max_rows", (unsigned)m->max_rows, "threads", (unsigned)m->threads, "bare", p->bare ? Py_True : Py_False);
    bool ok = d && put(d, "modules", list_of(&m->modules)) && put(d, "requires", list_of(&m->requires)) && put(d, "functions", functions_of(m)) &&
              put(d, "config", config_of(m)) && put(d, "data", files_of(m));
    if (!ok)
        Py_CLEAR(d);
    return d;
}

PyObject *ext_pack(PyObject *self, PyObject *path) {
    (void)self;
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    if (!name)
        return NULL;
    struct rdn_pack p = { 0 };
    redan_error err = { 0 };
    PyObject *d = rdn_pack_open(&rdn_libc_mem, name, &p, NULL, &err) < 0 ? ext_raise(&err, NULL) : manifest_of(&p);
    rdn_pack_close(&p);
    return d;
}
