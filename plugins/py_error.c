/* SPDX-License-Identifier: Apache-2.0
 * py_error.c: what went wrong and where, written into the answer page in plain text.
 *
 * traceback holds "score.py:12 in score" lines, innermost first. Both error and traceback are for people; the host cuts,
 * checks and escapes them. */
#include "plugins/py_role.h"
#include <frameobject.h>
#include <stdarg.h>

static void append(struct rdn_res *r, const char *file, int line, const char *func) {
    size_t room = sizeof r->traceback - r->tb_len;
    int n = snprintf(r->traceback + r->tb_len, room, "%s:%d in %s\n", file, line, func);
    if (n > 0 && (size_t)n < room)
        r->tb_len += (uint32_t)n;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void append_frame(struct rdn_res *r, PyTracebackObject *tb) {
    PyCodeObject *code = PyFrame_GetCode(tb->tb_frame);
    const char *file = PyUnicode_AsUTF8(code->co_filename), *func = PyUnicode_AsUTF8(code->co_name);
    if (file && func)
        append(r, base_name(file), PyFrame_GetLineNumber(tb->tb_frame) > 0 && tb->tb_lineno > 0 ? tb->tb_lineno : 0, func);
    if (file && !strcmp(file, rdn_py.file))
        r->err_line = tb->tb_lineno > 0 ? (uint32_t)tb->tb_lineno : r->err_line;
    PyErr_Clear();
    Py_DECREF(code);
}

enum { FRAMES = 64 };
static void traceback(struct rdn_res *r, PyObject *tb) {
    PyTracebackObject *list[FRAMES];
    unsigned n = 0;
    r->tb_len = 0;
    for (PyTracebackObject *t = (PyTracebackObject *)tb; t; t = t->tb_next)
        list[n++ % FRAMES] = t;                         /* the innermost are the useful ones */
    r->err_line = 0;
    unsigned kept = n < FRAMES ? n : FRAMES;
    uint32_t line = 0;
    for (unsigned i = 0; i < kept; i++) {
        append_frame(r, list[(n - 1 - i) % FRAMES]);
        if (!line)
            line = r->err_line;                         /* the plugin's innermost line */
    }
    r->err_line = line;
}

/* A syntax error names a place in its attributes, not in a traceback. */
static void syntax_place(struct rdn_res *r, PyObject *v) {
    PyObject *line = PyObject_GetAttrString(v, "lineno"), *file = PyObject_GetAttrString(v, "filename");
    const char *f = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;
    if (line && PyLong_Check(line) && f) {
        r->err_line = (uint32_t)PyLong_AsUnsignedLong(line);
        r->tb_len = 0;
        append(r, base_name(f), (int)r->err_line, "<module>");
    }
    PyErr_Clear();
    Py_XDECREF(line);
    Py_XDECREF(file);
}

static void put_text(struct rdn_res *r, const char *type, const char *text, size_t n) {
    snprintf(r->err_type, sizeof r->err_type, "%.60s", type);
    r->err_len = (uint32_t)(n < sizeof r->err_text ? n : sizeof r->err_text);
    memcpy(r->err_text, text, r->err_len);
}

void rdn_py_set_error(const char *type, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put_text(rdn_py.w->res, type, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* str() of an exception runs the author's code; whatever that raises is dropped. */
static void describe(struct rdn_res *r, PyObject *t, PyObject *v) {
    const char *name = base_name(((PyTypeObject *)t)->tp_name), *dot = strrchr(name, '.');
    PyObject *text = NULL;
    if (PyErr_GivenExceptionMatches(v, PyExc_SyntaxError))
        text = PyObject_GetAttrString(v, "msg");
    if (!text || !PyUnicode_Check(text)) {
        PyErr_Clear();
        Py_XDECREF(text);
        text = PyObject_Str(v);
    }
    Py_ssize_t n = 0;
    const char *u = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
    put_text(r, dot ? dot + 1 : name, u ? u : "", u ? (size_t)n : 0);
    PyErr_Clear();
    Py_XDECREF(text);
}

uint32_t rdn_py_take_error(void) {
    struct rdn_res *r = rdn_py.w->res;
    uint32_t st = RDN_ST_EXCEPTION;
    if (!PyErr_Occurred()) {
        put_text(r, "RuntimeError", "the load page is damaged", 24);
        return st;
    }
    if (rdn_py.timeout && PyErr_ExceptionMatches(rdn_py.timeout))
        st = RDN_ST_TIMEOUT;
    else if (PyErr_ExceptionMatches(PyExc_MemoryError))
        st = RDN_ST_MEMORY;
    PyObject *t, *v, *tb;
    PyErr_Fetch(&t, &v, &tb);
    PyErr_NormalizeException(&t, &v, &tb);
    if (tb)
        traceback(r, tb);
    if (v)
        describe(r, t, v);
    if (v && PyErr_GivenExceptionMatches(v, PyExc_SyntaxError))
        syntax_place(r, v);
    Py_XDECREF(t);
    Py_XDECREF(v);
    Py_XDECREF(tb);
    PyErr_Clear();
    return st;
}

/* --- in signal handlers ----------------------------------------------------------------------------------------- */

/* CPython's crash dumper is private, but the only traceback writer that neither allocates nor takes a lock. Looked up
 * weakly: without it only the signal number is shown. */
extern void _Py_DumpTraceback(int fd, PyThreadState *) __attribute__((weak));

size_t rdn_py_dump(char *out, size_t cap) {
    if (!_Py_DumpTraceback)
        return 0;
    struct rdn_sink was = rdn_sink;
    rdn_sink = (struct rdn_sink){ out, 0, cap };
    _Py_DumpTraceback(RDN_SINK_FD, PyGILState_GetThisThreadState());
    size_t n = rdn_sink.n;
    rdn_sink = was;
    return n;
}

/* Finds `  File "score.py", line 3 in f` of the plugin's innermost frame, else of the innermost frame at all. */
static const char *find_frame(const char *text, const char *file) {
    size_t n = strlen(file);
    for (const char *p = text; (p = strstr(p, "File \"")); p += 6)
        if (!n || (!strncmp(p + 6, file, n) && p[6 + n] == '"'))
            return p + 6;
    return NULL;
}

size_t rdn_py_where(char *out, size_t cap) {
    static char text[4096];                             /* one thread, and handlers of the same kind do not nest */
    size_t n = rdn_py_dump(text, sizeof text - 1), k = 0;
    text[n] = 0;
    const char *p = find_frame(text, rdn_py.file);
    if (!p && !(p = find_frame(text, "")))
        return 0;
    const char *slash = NULL;
    for (const char *q = p; *q && *q != '"'; q++)
        if (*q == '/')
            slash = q;
    for (p = slash ? slash + 1 : p; *p && *p != '"' && k + 12 < cap; p++)
        out[k++] = *p;
    p = strstr(p, "line ");
    if (!p)
        return k;
    out[k++] = ':';
    for (p += 5; *p >= '0' && *p <= '9' && k < cap; p++)
        out[k++] = *p;
    return k;
}
