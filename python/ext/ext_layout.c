/* SPDX-License-Identifier: Apache-2.0
 * ext_layout.c: what a rule set declares, and events written as JSON lines (LANGUAGE.md 17.1) as rows. */
#include "python/ext/ext.h"

static PyObject *field_of(const struct rdn_field *f) {
    PyObject *t = ext_type_tuple(f->type);
    return t ? Py_BuildValue("(sNIIi)", f->name, t, (unsigned)f->offset, (unsigned)f->size, f->optional ? (int)f->present_bit : -1) : NULL;
}

static PyObject *event_of(const struct rdn_event *e) {
    PyObject *fields = PyList_New(0);
    for (uint32_t i = 0; fields && i < e->nfields; i++)
        ext_push(&fields, field_of(&e->fields[i]));
    return fields ? Py_BuildValue("(sKIONs)", e->name, (unsigned long long)e->layout_hash, (unsigned)e->size, e->has_present ? Py_True : Py_False, fields,
                                  e->canon) : NULL;
}

static PyObject *call_of(const struct rdn_call *c) {
    PyObject *params = PyList_New(0);
    for (uint32_t i = 0; params && i < c->nparams; i++) {
        PyObject *t = ext_type_tuple(c->params[i].type);
        ext_push(&params, t ? Py_BuildValue("(sN)", c->params[i].name, t) : NULL);
    }
    PyObject *ret = params ? ext_type_tuple(c->rtype) : NULL;
    if (!ret) {
        Py_XDECREF(params);
        return NULL;
    }
    return Py_BuildValue("(sONNLO)", c->name, c->kernel ? Py_True : Py_False, params, ret, (long long)c->deadline_ns, c->has_default ? Py_True : Py_False);
}

static PyObject *rule_of(const struct rdn_ir *ir, const struct rdn_rule *r) {
    return Py_BuildValue("(ssiO)", r->name, ir->events[r->event].name, (int)r->priority, r->shadow ? Py_True : Py_False);
}

static PyObject *param_of(const struct rdn_param *p) {
    PyObject *t = ext_type_tuple(p->type);
    return t ? Py_BuildValue("(sN)", p->name, t) : NULL;
}

static PyObject *declared(const struct rdn_ir *ir) {
    PyObject *events = PyList_New(0), *calls = PyList_New(0), *rules = PyList_New(0), *params = PyList_New(0), *codes = PyList_New(0);
    for (uint32_t i = 0; events && i < ir->nevents; i++)
        ext_push(&events, event_of(&ir->events[i]));
    for (uint32_t i = 0; i < ir->ncalls; i++)
        ext_push(&calls, call_of(&ir->calls[i]));
    for (uint32_t i = 0; i < ir->nrules; i++)
        ext_push(&rules, rule_of(ir, &ir->rules[i]));
    for (uint32_t i = 0; i < ir->nparams; i++)
        ext_push(&params, param_of(&ir->params[i]));
    for (uint32_t i = 0; i < ir->ncodes; i++)
        ext_push(&codes, PyUnicode_FromString(ir->codes[i]));
    PyObject *r = events && calls && rules && params && codes
        ? Py_BuildValue("{sssIsOsOsOsOsOsKsz}", "name", ir->name, "version", (unsigned)ir->version, "events", events, "calls", calls, "rules", rules,
                        "params", params, "codes", codes, "memory_bytes", (unsigned long long)ir->memory_bytes, "partition", ir->partition)
        : NULL;
    Py_XDECREF(events);
    Py_XDECREF(calls);
    Py_XDECREF(rules);
    Py_XDECREF(params);
    Py_XDECREF(codes);
    return r;
}

PyObject *ext_rules_declared(PyObject *self, PyObject *none) {
    (void)none;
    struct ext_rules *r = ext_as_rules(self);
    if (!ext_engine_use(r->owner))
        return NULL;
    PyObject *made = declared(r->rs->ir);
    ext_engine_done(r->owner);
    return made;
}

static PyObject *bad_line(const char *why) {
    redan_error e = { .code = REDAN_E_INVAL };
    snprintf(e.text, sizeof e.text, "%s", why);
    return ext_raise(&e, NULL);
}

/* The GIL is the lock of the reader: nothing here lets go of it while a line is in it. Texts and bytes are made without the collector. */
PyObject *ext_rules_row(PyObject *self, PyObject *line) {
    static struct rdn_line l;
    struct ext_rules *r = ext_as_rules(self);
    char *text;
    Py_ssize_t n;
    if (!r->owner->eng)
        return ext_closed("engine");
    if (PyBytes_AsStringAndSize(line, &text, &n) < 0)
        return NULL;
    if (!r->reader) {
        if (rdn_line_open(&r->owner->eng->mem, r->owner->eng->syms, &r->reader) < 0)
            return PyErr_NoMemory();
        rdn_line_rules(r->reader, r->rs->ir);
    }
    rdn_line_read(r->reader, text, (size_t)n, &l);
    if (l.kind != RDN_LINE_EVENT)
        return bad_line(l.kind == RDN_LINE_BAD ? l.why : "this line is no event");
    const struct rdn_event *e = &r->rs->ir->events[l.index];
    PyObject *name = PyUnicode_FromString(e->name), *row = PyBytes_FromStringAndSize((const char *)l.row, (Py_ssize_t)e->size);
    PyObject *both = name && row ? PyTuple_Pack(2, name, row) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(row);
    return both;
}
