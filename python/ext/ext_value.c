/* SPDX-License-Identifier: Apache-2.0
 * ext_value.c: values that rules emit, and types of the language, as Python objects. */
#include "python/ext/ext.h"

static PyObject *decimal_class(void) {
    static PyObject *cls;
    if (!cls) {
        PyObject *m = PyImport_ImportModule("decimal");
        cls = m ? PyObject_GetAttrString(m, "Decimal") : NULL;
        Py_XDECREF(m);
    }
    return cls;
}

PyObject *ext_decimal(rdn_i128 m, unsigned scale) {
    char digits[48], text[64], *p = digits + sizeof digits - 1;
    rdn_u128 u = m < 0 ? -(rdn_u128)m : (rdn_u128)m;
    *p = 0;
    for (; u; u /= 10)
        *--p = (char)('0' + (int)(u % 10));
    snprintf(text, sizeof text, "%s%se-%u", m < 0 ? "-" : "", *p ? p : "0", scale);
    PyObject *cls = decimal_class();
    return cls ? PyObject_CallFunction(cls, "s", text) : NULL;
}

static PyObject *date_of(int64_t days) {
    static PyObject *cls;
    if (!cls) {
        PyObject *m = PyImport_ImportModule("datetime");
        cls = m ? PyObject_GetAttrString(m, "date") : NULL;
        Py_XDECREF(m);
    }
    if (!cls)
        return NULL;
    int64_t ordinal = days + 719163;                     /* 1970-01-01 counted from 0001-01-01 */
    return ordinal < 1 || ordinal > 3652059 ? PyLong_FromLongLong(days) : PyObject_CallMethod(cls, "fromordinal", "L", (long long)ordinal);
}

static PyObject *flat(const redan_value *v, uint32_t first, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = first; list && i < first + n; i++)
        ext_push(&list, v->type == REDAN_T_FLOATS ? PyFloat_FromDouble(v->as.floats[i]) : PyLong_FromLongLong(v->as.ints[i]));
    return list;
}

static PyObject *array_of(const redan_value *v) {
    if (!v->rows)
        return flat(v, 0, v->len);
    PyObject *list = PyList_New(0);
    for (uint32_t r = 0; list && r < v->rows; r++)
        ext_push(&list, flat(v, r * (v->len / v->rows), v->len / v->rows));
    return list;
}

static PyObject *value_of(const redan_value *v) {
    switch (v->type) {
    case REDAN_T_BOOL: return PyBool_FromLong(v->as.i != 0);
    case REDAN_T_FLOAT: return PyFloat_FromDouble(v->as.f);
    case REDAN_T_DEC: return ext_decimal((rdn_i128)((rdn_u128)v->as.dec.hi << 64 | v->as.dec.lo), v->scale);
    case REDAN_T_DATE: return date_of(v->as.i);
    case REDAN_T_TEXT: return PyUnicode_DecodeUTF8(v->as.text, (Py_ssize_t)v->len, "replace");
    case REDAN_T_INTS: case REDAN_T_FLOATS: return array_of(v);
    default: return PyLong_FromLongLong(v->as.i);
    }
}

/* Texts and arrays of a value; all else is in it. */
static void keep_value(struct rdn_arena *a, redan_value *v) {
    size_t bytes = v->type == REDAN_T_INTS ? v->len * sizeof *v->as.ints : v->type == REDAN_T_FLOATS ? v->len * sizeof *v->as.floats : 0;
    if (v->type == REDAN_T_TEXT)
        v->as.text = rdn_arena_strndup(a, v->as.text, v->len);
    else if (bytes)
        v->as.ints = memcpy(rdn_arena_raw(a, bytes), v->as.ints, bytes);
}

const redan_emit *ext_emits_keep(struct rdn_arena *a, const redan_emit *from, uint32_t n) {
    redan_emit *to = n ? rdn_new_n(a, redan_emit, n) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        const char **names = rdn_new_n(a, const char *, from[i].nfields + 1);
        redan_value *fields = rdn_new_n(a, redan_value, from[i].nfields + 1);
        for (uint32_t k = 0; k < from[i].nfields; k++) {
            names[k] = rdn_arena_strndup(a, from[i].names[k], strlen(from[i].names[k]));
            fields[k] = from[i].fields[k];
            keep_value(a, &fields[k]);
        }
        to[i] = (redan_emit){ rdn_arena_strndup(a, from[i].name, strlen(from[i].name)), from[i].nfields, names, fields };
    }
    return to;
}

PyObject *ext_emits(const redan_emit *emits, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        const redan_emit *e = &emits[i];
        PyObject *d = PyDict_New();
        for (uint32_t k = 0; d && k < e->nfields; k++) {
            PyObject *x = value_of(&e->fields[k]);
            if (!x || PyDict_SetItemString(d, e->names[k], x) < 0)
                Py_CLEAR(d);
            Py_XDECREF(x);
        }
        ext_push(&list, d ? Py_BuildValue("(sN)", e->name, d) : NULL);
    }
    return list;
}

/* ---- types ---- */
static PyObject *members_of(const struct rdn_type *t) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && t->kind == RDN_K_ENUM && i < t->n; i++)
        ext_push(&list, PyUnicode_FromString(t->members[i]));
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

PyObject *ext_type_tuple(const struct rdn_type *t) {
    static const char *const kinds[RDN_K_COUNT] = { [RDN_K_BOOL] = "bool", [RDN_K_INT] = "int", [RDN_K_FLOAT] = "float", [RDN_K_DEC] = "dec",
        [RDN_K_TIME] = "time", [RDN_K_DUR] = "dur", [RDN_K_DATE] = "date", [RDN_K_SYM] = "sym", [RDN_K_STR] = "str", [RDN_K_ENUM] = "enum",
        [RDN_K_TEXT] = "text", [RDN_K_ARR] = "array", [RDN_K_EVENT] = "event", [RDN_K_NONE] = "none" };
    const char *kind = t->kind == RDN_K_ARR ? t->elem == RDN_K_INT ? "int[]" : "float[]" : kinds[t->kind];
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_type_print(&b, t);
    PyObject *dims = t->kind != RDN_K_ARR ? PyTuple_New(0) : t->ndim == 2 ? Py_BuildValue("(II)", (unsigned)t->dim[0], (unsigned)t->dim[1])
                                                                            : Py_BuildValue("(I)", (unsigned)t->dim[0]);
    PyObject *members = dims ? members_of(t) : NULL;
    PyObject *r = members && !b.failed ? Py_BuildValue("(ssIIOO)", rdn_buf_str(&b), kind, (unsigned)t->scale, t->kind == RDN_K_STR ? t->n : 0u, dims, members) : NULL;
    Py_XDECREF(dims);
    Py_XDECREF(members);
    rdn_buf_fini(&b);
    return r ? r : PyErr_Occurred() ? NULL : PyErr_NoMemory();
}
