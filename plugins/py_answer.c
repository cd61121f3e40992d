/* SPDX-License-Identifier: Apache-2.0
 * py_answer.c: one call: build arguments, run the function, write the answer column.
 *
 * A row's status says value, undefined (None, NaN), exception or bad (not a value of the declared type). An exception of a
 * scalar function marks its own row; the others are still computed. PluginTimeout and MemoryError end the whole call. */
#include "plugins/py_role.h"
#include <math.h>

static uint8_t *slot(uint32_t row) { return rdn_py.w->res->values + (size_t)rdn_py.f->fn->ret_width * row; }

static int finish(uint32_t row, enum rdn_row_status st) {
    rdn_py.w->res->row_status[row] = (uint8_t)st;
    return 0;
}

static int bad(uint32_t row, PyObject *v) {
    PyErr_Clear();
    rdn_py_set_error("TypeError", "%s returned %.80s in row %u, expected %s", rdn_py.f->fn->name, Py_TYPE(v)->tp_name, row,
                     rdn_py.f->fn->ret_type == RDN_WIRE_TEXT ? "text of the declared length" : "a value of the declared type");
    return finish(row, RDN_ROW_BAD);
}

static int put_int(PyObject *v, uint32_t row) {
    int overflow = 0;
    PyObject *i = PyBool_Check(v) || PyFloat_Check(v) ? NULL : PyNumber_Index(v);   /* a bool is no number in the rules */
    long long n = i ? PyLong_AsLongLongAndOverflow(i, &overflow) : 0;
    Py_XDECREF(i);
    if (!i || overflow)
        return bad(row, v);
    if (rdn_py.f->fn->ret_type == RDN_WIRE_DATE) {
        int32_t d = (int32_t)n;
        if (d != n)
            return bad(row, v);
        memcpy(slot(row), &d, sizeof d);
    } else {
        memcpy(slot(row), &n, sizeof n);
    }
    return finish(row, RDN_ROW_VALUE);
}

static int put_float(PyObject *v, uint32_t row) {
    if (PyBool_Check(v) || PyUnicode_Check(v))
        return bad(row, v);
    double d = PyFloat_AsDouble(v);
    if (d == -1.0 && PyErr_Occurred())
        return PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_OverflowError) ? bad(row, v) : -1;
    memcpy(slot(row), &d, sizeof d);
    return finish(row, isnan(d) ? RDN_ROW_UNDEFINED : RDN_ROW_VALUE);
}

static int put_bool(PyObject *v, uint32_t row) {
    if (!PyBool_Check(v) && strcmp(Py_TYPE(v)->tp_name, "numpy.bool_") && strcmp(Py_TYPE(v)->tp_name, "numpy.bool"))
        return bad(row, v);
    int t = PyObject_IsTrue(v);
    if (t < 0)
        return -1;
    *slot(row) = (uint8_t)t;
    return finish(row, RDN_ROW_VALUE);
}

static int put_enum(PyObject *v, uint32_t row) {
    Py_ssize_t n = PyTuple_GET_SIZE(rdn_py.f->ret_members), i = -1;
    if (PyUnicode_CheckExact(v)) {
        for (i = 0; i < n && PyUnicode_Compare(v, PyTuple_GET_ITEM(rdn_py.f->ret_members, i)); i++)
            ;
    } else if (!PyBool_Check(v) && PyIndex_Check(v)) {
        i = PyNumber_AsSsize_t(v, NULL);
    }
    if (PyErr_Occurred() || i < 0 || i >= n)
        return bad(row, v);
    *slot(row) = (uint8_t)i;
    return finish(row, RDN_ROW_VALUE);
}

static int put_bytes(const char *u, size_t n, PyObject *v, uint32_t row) {
    size_t width = rdn_py.f->fn->ret_width;
    if (n > width && rdn_py.plain)                      /* a report is cut, an answer is refused */
        for (n = width; n && ((unsigned char)u[n] & 0xc0) == 0x80; n--)
            ;
    if (n > width || (memchr(u, 0, n) && !rdn_py.plain))
        return bad(row, v);
    uint8_t *to = slot(row);
    memcpy(to, u, n);
    memset(to + n, 0, width - n);
    for (size_t i = 0; i < n; i++)
        if (!to[i])
            to[i] = '?';
    return finish(row, RDN_ROW_VALUE);
}

static int put_text(PyObject *v, uint32_t row) {
    Py_ssize_t n;
    if (PyBytes_Check(v))                               /* an element of an S{n} array */
        return put_bytes(PyBytes_AS_STRING(v), (size_t)PyBytes_GET_SIZE(v), v, row);
    PyObject *s = rdn_py.plain ? PyObject_Str(v) : Py_NewRef(v);
    if (!s)
        return -1;
    const char *u = PyUnicode_Check(s) ? PyUnicode_AsUTF8AndSize(s, &n) : NULL;
    int rc = u ? put_bytes(u, (size_t)n, v, row) : bad(row, v);
    Py_DECREF(s);
    return rc;
}

int rdn_py_answer(PyObject *v, uint32_t row) {
    if (v == Py_None)
        return finish(row, RDN_ROW_UNDEFINED);
    switch (rdn_py.f->fn->ret_type) {
    case RDN_WIRE_BOOL: return put_bool(v, row);
    case RDN_WIRE_FLOAT: return put_float(v, row);
    case RDN_WIRE_ENUM: return put_enum(v, row);
    case RDN_WIRE_TEXT: return put_text(v, row);
    default: return put_int(v, row);
    }
}

/* An array of just the right kind is one copy; anything else is taken row by row. */
static bool answer_buffer(PyObject *v, uint32_t nrows, bool *ret_wrong_length) {
    static const char *const formats[] = { [RDN_WIRE_BOOL] = "?", [RDN_WIRE_INT] = "lq", [RDN_WIRE_FLOAT] = "d", [RDN_WIRE_DEC] = "lq",
                                           [RDN_WIRE_TIME] = "lq", [RDN_WIRE_DUR] = "lq", [RDN_WIRE_DATE] = "i" };
    const char *want = rdn_py.f->fn->ret_type <= RDN_WIRE_DATE ? formats[rdn_py.f->fn->ret_type] : NULL;
    Py_buffer b;
    if (!want || !PyObject_CheckBuffer(v) || PyObject_GetBuffer(v, &b, PyBUF_FORMAT | PyBUF_ND | PyBUF_C_CONTIGUOUS) < 0) {
        PyErr_Clear();
        return false;
    }
    const char *f = b.format && *b.format == '<' ? b.format + 1 : b.format;
    bool fits = f && strlen(f) == 1 && strchr(want, *f) && b.ndim == 1 && b.itemsize == rdn_py.f->fn->ret_width;
    *ret_wrong_length = fits && b.len != (Py_ssize_t)nrows * b.itemsize;
    if (fits && !*ret_wrong_length) {
        memcpy(slot(0), b.buf, (size_t)b.len);
        for (uint32_t i = 0; i < nrows; i++) {
            double d = 0;
            if (rdn_py.f->fn->ret_type == RDN_WIRE_FLOAT)
                memcpy(&d, slot(i), sizeof d);
            finish(i, isnan(d) ? RDN_ROW_UNDEFINED : RDN_ROW_VALUE);
        }
    }
    PyBuffer_Release(&b);
    return fits;
}

static int wrong_length(PyObject *v, Py_ssize_t have, uint32_t nrows) {
    rdn_py_set_error("TypeError", "%s returned %zd values for %u rows (%.60s)", rdn_py.f->fn->name, have, nrows, Py_TYPE(v)->tp_name);
    rdn_py.w->res->status = RDN_ST_BAD_RESULT;
    return 0;
}

int rdn_py_answer_column(PyObject *v, uint32_t nrows) {
    bool wrong = false;
    if (answer_buffer(v, nrows, &wrong))
        return wrong ? wrong_length(v, PyObject_Length(v), nrows) : 0;
    PyObject *seq = PyUnicode_Check(v) || PyBytes_Check(v) ? NULL : PySequence_Fast(v, "");
    if (!seq) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        return wrong_length(v, 1, nrows);
    }
    int rc = 0;
    if (PySequence_Fast_GET_SIZE(seq) != (Py_ssize_t)nrows)
        rc = wrong_length(v, PySequence_Fast_GET_SIZE(seq), nrows);
    else
        for (uint32_t i = 0; rc == 0 && i < nrows; i++)
            rc = rdn_py_answer(PySequence_Fast_GET_ITEM(seq, i), i);
    Py_DECREF(seq);
    return rc;
}

/* --- the call --------------------------------------------------------------------------------------------------- */

static PyObject *invoke(uint32_t row, uint32_t nrows) {
    PyObject *args[RDN_PY_ARGS], *r = NULL;
    uint32_t n = 0;
    while (n < rdn_py.f->ncols && (args[n] = rdn_py.f->batch ? rdn_py_column(&rdn_py.f->cols[n], nrows) : rdn_py_scalar(&rdn_py.f->cols[n], row)))
        n++;
    if (n == rdn_py.f->ncols)
        r = PyObject_Vectorcall(rdn_py.f->call, args, n, NULL);
    while (n)
        Py_DECREF(args[--n]);
    return r;
}

/* True when the call is over. */
static bool take_row_error(uint32_t row) {
    uint32_t st = rdn_py_take_error();
    finish(row, RDN_ROW_EXCEPTION);
    if (st == RDN_ST_EXCEPTION)
        return false;
    rdn_py.w->res->status = st;
    return true;
}

static void call_batch(uint32_t nrows) {
    PyObject *r = invoke(0, nrows);
    if (!r || rdn_py_answer_column(r, nrows) < 0)
        rdn_py.w->res->status = rdn_py_take_error();
    Py_XDECREF(r);
}

static void call_rows(uint32_t nrows) {
    uint32_t failed = 0;
    bool over = false;
    for (uint32_t i = 0; i < nrows && !over; i++) {
        PyObject *r = invoke(i, nrows);
        if (!r || rdn_py_answer(r, i) < 0) {
            failed++;
            over = take_row_error(i);
        }
        Py_XDECREF(r);
    }
    if (!over && failed == nrows)
        rdn_py.w->res->status = RDN_ST_EXCEPTION;
}

void rdn_py_call(struct rdn_worker *w) {
    uint32_t nrows = w->req->nrows, fn = w->req->fn;
    rdn_py.f = &rdn_py.fns[fn < RDN_MAX_FNS ? fn : 0];
    if (!rdn_py.f->call || nrows > w->load->max_rows) {
        w->res->status = RDN_ST_NO_FUNCTION;
        return;
    }
    w->res->nrows = nrows;
    if (rdn_py.f->batch)
        call_batch(nrows);
    else
        call_rows(nrows);
    rdn_py_cursors_end();
    rdn_py_alloc_report(w->res);
}
