/* SPDX-License-Identifier: Apache-2.0
 * py_args.c: columns of the request page as Python values: scalars, NumPy views without a copy, event cursors. */
#include "plugins/py_role.h"

static const struct rdn_wcol *all_cols(void) { return (const void *)((const char *)rdn_py.w->load + rdn_py.w->load->cols.off); }
static const char *enum_text(uint32_t first) { return (const char *)rdn_py.w->load + rdn_py.w->load->enums.off + first; }

/* --- types as text ---------------------------------------------------------------------------------------------- */

static const struct { const char *base, *format; } kinds[] = {           /* by RDN_WIRE_*: name for _bind, NumPy format */
    [RDN_WIRE_BOOL] = { "bool", "?" },   [RDN_WIRE_INT] = { "int", "<i8" },   [RDN_WIRE_FLOAT] = { "float", "<f8" },
    [RDN_WIRE_DEC] = { "dec", "<i8" },   [RDN_WIRE_TIME] = { "time", "<i8" }, [RDN_WIRE_DUR] = { "dur", "<i8" },
    [RDN_WIRE_DATE] = { "date", "<i4" }, [RDN_WIRE_ENUM] = { "enum", "u1" },  [RDN_WIRE_TEXT] = { "str", NULL },
    [RDN_WIRE_SYM] = { "sym", "<u4" },   [RDN_WIRE_EVENT] = { "event", NULL }, [RDN_WIRE_FARR] = { "float[]", "<f8" },
    [RDN_WIRE_IARR] = { "int[]", "<i8" },
};

static PyObject *enum_type_text(const struct rdn_wcol *c) {
    PyObject *t = PyUnicode_FromString("enum(");
    const char *m = enum_text(c->enum_first);
    for (unsigned i = 0; t && i < c->flags; i++, m += strlen(m) + 1) {
        PyObject *next = PyUnicode_FromFormat("%U%s%s", t, i ? "," : "", m);
        Py_SETREF(t, next);
    }
    PyObject *whole = t ? PyUnicode_FromFormat("%U)", t) : NULL;
    Py_XDECREF(t);
    return whole;
}

static PyObject *array_type_text(const struct rdn_wcol *c) {
    const char *elem = c->type == RDN_WIRE_FARR ? "float" : "int";
    unsigned ncols = c->layout_hash ? (unsigned)c->layout_hash : 1, nrows = c->width / 8u / ncols;
    return c->flags == 2 ? PyUnicode_FromFormat("%s[%u,%u]", elem, nrows, ncols) : PyUnicode_FromFormat("%s[%u]", elem, nrows);
}

static PyObject *type_text(const struct rdn_wcol *c) {
    switch (c->type) {
    case RDN_WIRE_DEC: return PyUnicode_FromFormat("dec(%u)", c->scale & 0xff);
    case RDN_WIRE_TEXT: return PyUnicode_FromFormat("str(%u)", c->width);
    case RDN_WIRE_ENUM: return enum_type_text(c);
    case RDN_WIRE_EVENT: return PyUnicode_FromString(enum_text(c->enum_first));
    case RDN_WIRE_FARR: case RDN_WIRE_IARR: return array_type_text(c);
    default: return PyUnicode_FromString(kinds[c->type].base);
    }
}

void rdn_py_push(PyObject **list, PyObject *item) {
    if (*list && (!item || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

static PyObject *field_texts(const struct rdn_wcol *ev) {
    PyObject *list = PyList_New(0);
    for (unsigned i = 0; list && i < ev->flags; i++) {
        const struct rdn_wcol *f = &all_cols()[ev->first_field + i];
        PyObject *t = type_text(f);
        rdn_py_push(&list, t ? Py_BuildValue("(sN)", f->name, PyUnicode_FromFormat("%U%s", t, f->scale >> 8 ? "?" : "")) : NULL);
        Py_XDECREF(t);
    }
    return list;
}

PyObject *rdn_py_type_tuple(const struct rdn_wcol *c) {
    PyObject *fields = c->type == RDN_WIRE_EVENT ? field_texts(c) : Py_NewRef(Py_None);
    PyObject *text = fields ? type_text(c) : NULL;
    return text ? Py_BuildValue("(NsN)", text, kinds[c->type].base, fields) : NULL;
}

/* Members of an IntEnum, or their names, as a tuple. */
PyObject *rdn_py_members(const char *name, uint32_t first, uint32_t count, bool as_enum) {
    PyObject *names = PyList_New(0);
    const char *m = enum_text(first);
    for (uint32_t i = 0; names && i < count; i++, m += strlen(m) + 1)
        rdn_py_push(&names, PyUnicode_FromString(m));
    PyObject *cls = names && as_enum ? PyObject_CallMethod(rdn_py.helper, "enum_class", "sO", name, names) : Py_XNewRef(names);
    PyObject *members = cls ? PySequence_Tuple(cls) : NULL;
    Py_XDECREF(names);
    Py_XDECREF(cls);
    return members;
}

/* --- scalars ---------------------------------------------------------------------------------------------------- */

static int64_t get64(const uint8_t *p) { int64_t v; memcpy(&v, p, 8); return v; }
static int32_t get32(const uint8_t *p) { int32_t v; memcpy(&v, p, 4); return v; }
static double getf(const uint8_t *p) { double v; memcpy(&v, p, 8); return v; }

/* A tuple: small, and independent of NumPy. */
static PyObject *array_view(const struct rdn_wcol *c, const uint8_t *p) {
    PyObject *list = PyList_New(0);
    for (unsigned i = 0; list && i < c->width / 8u; i++)
        rdn_py_push(&list, c->type == RDN_WIRE_FARR ? PyFloat_FromDouble(getf(p + 8 * i)) : PyLong_FromLongLong(get64(p + 8 * i)));
    PyObject *t = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return t;
}

static PyObject *value_at(const struct rdn_wcol *c, const uint8_t *p, PyObject *members) {
    switch (c->type) {
    case RDN_WIRE_BOOL: return PyBool_FromLong(*p);
    case RDN_WIRE_FLOAT: return PyFloat_FromDouble(getf(p));
    case RDN_WIRE_DATE: return PyLong_FromLong(get32(p));
    case RDN_WIRE_SYM: return PyLong_FromUnsignedLong((uint32_t)get32(p));
    case RDN_WIRE_ENUM: return members && *p < PyTuple_GET_SIZE(members) ? Py_NewRef(PyTuple_GET_ITEM(members, *p)) : PyLong_FromLong(*p);
    case RDN_WIRE_TEXT: return PyUnicode_DecodeUTF8((const char *)p, (Py_ssize_t)strnlen((const char *)p, c->width), "strict");
    case RDN_WIRE_FARR: case RDN_WIRE_IARR: return array_view(c, p);
    default: return PyLong_FromLongLong(get64(p));
    }
}

/* --- event cursors ---------------------------------------------------------------------------------------------- */

struct cursor { PyObject_HEAD const struct rdn_py_col *col; const uint8_t *row; uint64_t call; };
static uint64_t call_count;

static PyObject *cursor_get(PyObject *self, PyObject *name) {
    struct cursor *c = (struct cursor *)self;
    PyObject *index = c->col ? PyDict_GetItemWithError(c->col->names, name) : NULL;
    if (!index)
        return PyErr_Occurred() ? NULL : PyObject_GenericGetAttr(self, name);
    if (c->call != call_count)
        return PyErr_Format(PyExc_RuntimeError, "event used after the call returned; copy the values you need");
    long i = PyLong_AsLong(index);
    if (i < 0)
        return PyLong_FromLongLong(get64(c->row));      /* ts */
    const struct rdn_wcol *f = &c->col->fields[i];
    if (f->scale >> 8 && !((uint64_t)get64(c->row + 8) >> ((f->scale >> 8) - 1) & 1))
        Py_RETURN_NONE;
    return value_at(f, c->row + f->arena_off, c->col->field_members[i]);
}

static PyTypeObject cursor_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "redan.Event", .tp_basicsize = sizeof(struct cursor), .tp_getattro = cursor_get,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

void rdn_py_cursors_end(void) { call_count++; }

static PyObject *cursor_new(const struct rdn_py_col *col, const uint8_t *row) {
    struct cursor *c = (struct cursor *)cursor_type.tp_alloc(&cursor_type, 0);
    if (c) {
        c->col = col;
        c->row = row;
        c->call = call_count;
    }
    return (PyObject *)c;
}

/* --- columns ---------------------------------------------------------------------------------------------------- */

PyObject *rdn_py_scalar(const struct rdn_py_col *c, uint32_t row) {
    const uint8_t *p = c->data + (size_t)c->step * row;
    return c->d->type == RDN_WIRE_EVENT ? cursor_new(c, p) : value_at(c->d, p, c->members);
}

PyObject *rdn_py_column(const struct rdn_py_col *c, uint32_t nrows) {
    if (!rdn_py.frombuffer) {                           /* without NumPy a batch is a list */
        PyObject *list = PyList_New(0);
        for (uint32_t i = 0; list && i < nrows; i++)
            rdn_py_push(&list, rdn_py_scalar(c, i));
        return list;
    }
    Py_ssize_t offset = c->data - (const uint8_t *)rdn_py.w->req;
    PyObject *args[] = { rdn_py.view, c->dtype, PyLong_FromUnsignedLong(nrows), PyLong_FromSsize_t(offset) };
    PyObject *r = args[2] && args[3] ? PyObject_Vectorcall(rdn_py.frombuffer, args, 4, NULL) : NULL;
    Py_XDECREF(args[2]);
    Py_XDECREF(args[3]);
    return r;
}

/* --- preparing -------------------------------------------------------------------------------------------------- */

static PyObject *format_of(const struct rdn_wcol *c) {
    if (c->type == RDN_WIRE_TEXT)
        return PyUnicode_FromFormat("S%u", c->width);
    if (c->type == RDN_WIRE_FARR || c->type == RDN_WIRE_IARR) {
        unsigned ncols = c->layout_hash ? (unsigned)c->layout_hash : 1, nrows = c->width / 8u / ncols;
        return c->flags == 2 ? PyUnicode_FromFormat("(%u,%u)%s", nrows, ncols, kinds[c->type].format)
                             : PyUnicode_FromFormat("(%u,)%s", nrows, kinds[c->type].format);
    }
    return PyUnicode_FromString(kinds[c->type].format);
}

static PyObject *event_dtype(const struct rdn_wcol *ev, const struct rdn_wcol *fields) {
    PyObject *list = Py_BuildValue("[(ssi)]", "ts", "<i8", 0);
    bool optional = false;
    for (unsigned i = 0; list && i < ev->flags; i++) {
        rdn_py_push(&list, Py_BuildValue("(sNI)", fields[i].name, format_of(&fields[i]), (unsigned)fields[i].arena_off));
        optional = optional || fields[i].scale >> 8;
    }
    if (optional)
        rdn_py_push(&list, Py_BuildValue("(ssi)", "present", "<u8", 8));
    PyObject *r = list ? PyObject_CallMethod(rdn_py.helper, "event_dtype", "OI", list, (unsigned)ev->width) : NULL;
    Py_XDECREF(list);
    return r;
}

static int prepare_event(struct rdn_py_col *c) {
    const struct rdn_wcol *ev = c->d;
    PyObject **members = PyMem_Calloc(ev->flags + 1u, sizeof *members);
    c->fields = &all_cols()[ev->first_field];
    c->names = PyDict_New();
    c->field_members = members;
    PyObject *ts = PyLong_FromLong(-1);
    if (!members || !c->names || !ts || PyDict_SetItemString(c->names, "ts", ts) < 0)
        return -1;
    Py_DECREF(ts);
    for (unsigned i = 0; i < ev->flags; i++) {
        PyObject *k = PyLong_FromLong((long)i);
        if (!k || PyDict_SetItemString(c->names, c->fields[i].name, k) < 0)
            return -1;
        Py_DECREF(k);
        if (c->fields[i].type == RDN_WIRE_ENUM &&
            !(members[i] = rdn_py_members(c->fields[i].name, c->fields[i].enum_first, c->fields[i].flags, true)))
            return -1;
    }
    return 0;
}

static int prepare_dtype(struct rdn_py_col *c) {
    PyObject *np = rdn_py.frombuffer ? PyDict_GetItemString(PyImport_GetModuleDict(), "numpy") : NULL;
    if (!np)
        return 0;
    PyObject *f = c->d->type == RDN_WIRE_EVENT ? event_dtype(c->d, c->fields) : format_of(c->d);
    c->dtype = f ? PyObject_CallMethod(np, "dtype", "N", f) : NULL;
    return c->dtype ? 0 : -1;
}

int rdn_py_cols_prepare(void) {
    const struct rdn_wcol *cols = all_cols();
    if (PyType_Ready(&cursor_type) < 0)
        return -1;
    for (uint32_t i = 0; i < rdn_py.f->ncols; i++) {
        struct rdn_py_col *c = &rdn_py.f->cols[i];
        c->d = &cols[rdn_py.f->fn->first_col + i];
        c->data = (const uint8_t *)rdn_py.w->req + c->d->arena_off;
        c->step = c->d->width;
        if (c->d->type == RDN_WIRE_ENUM && !(c->members = rdn_py_members(c->d->name, c->d->enum_first, c->d->flags, true)))
            return -1;
        if (c->d->type == RDN_WIRE_EVENT && prepare_event(c) < 0)
            return -1;
        if (rdn_py.f->batch && prepare_dtype(c) < 0)
            return -1;
    }
    const struct rdn_wfn *fn = rdn_py.f->fn;
    if (fn->ret_type == RDN_WIRE_ENUM && !(rdn_py.f->ret_members = rdn_py_members("answer", fn->enum_first, fn->enum_count, false)))
        return -1;
    return 0;
}
