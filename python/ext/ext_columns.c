/* SPDX-License-Identifier: Apache-2.0
 * ext_columns.c: _redan.Cursor, Chunk and Column: tables of a market file that others read where they lie: by the buffer protocol, the
 * Arrow capsules and DLPack. Each view holds the chunk; nothing of it is written again. */
#include "python/ext/ext.h"

#include "market/arrow.h"

struct ext_cursor { PyObject_HEAD struct rdn_cursor *r; };
struct ext_chunk { PyObject_HEAD struct rdn_columns *c; };
struct ext_column { PyObject_HEAD struct rdn_columns *c; uint32_t i; Py_ssize_t shape, stride; };

static struct rdn_columns *chunk_of(PyObject *o) { return ((struct ext_chunk *)o)->c; }
static struct rdn_cursor *cursor_of(PyObject *o) { return ((struct ext_cursor *)o)->r; }
static PyObject *fresh(PyTypeObject *type) { return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); }

/* --- Arrow capsules: an owner that nobody asked releases what is inside --- */

#define CAPSULE(kind, name) \
    static void drop_##kind(PyObject *capsule) { \
        struct kind *p = PyCapsule_GetPointer(capsule, name); \
        if (p && p->release) \
            p->release(p); \
        free(p); \
    } \
    static PyObject *capsule_##kind(struct kind *p, bool filled) { \
        PyObject *o = p && filled ? PyCapsule_New(p, name, drop_##kind) : p ? PyErr_NoMemory() : NULL; \
        if (!o && filled) \
            p->release(p); \
        if (!o) \
            free(p); \
        return o ? o : PyErr_NoMemory(); \
    }
CAPSULE(ArrowSchema, "arrow_schema")
CAPSULE(ArrowArray, "arrow_array")
CAPSULE(ArrowArrayStream, "arrow_array_stream")

static PyObject *pair(PyObject *schema, PyObject *array) {
    PyObject *both = schema && array ? PyTuple_Pack(2, schema, array) : NULL;
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return both;
}

/* __arrow_c_array__(requested_schema=None): what is asked for may be ignored, says the protocol. */
static bool request(PyObject *args, PyObject *kw) {
    static char *names[] = { "requested_schema", NULL };
    PyObject *ignored;
    return PyArg_ParseTupleAndKeywords(args, kw, "|O", names, &ignored);
}

/* --- cursors --- */

PyObject *ext_market_cursor(PyObject *market, PyObject *args) {
    const char *table;
    long long on;
    int decimal;
    struct rdn_cursor_options o = { 0 };
    redan_error err = { 0 };
    struct rdn_cursor *r;
    if (!PyArg_ParseTuple(args, "sLIIp", &table, &on, &o.rows, &o.depth, &decimal))
        return NULL;
    while (o.table < RDN_TABLES && strcmp(rdn_table_name(o.table), table) != 0)
        o.table++;
    if (o.table == RDN_TABLES)
        return PyErr_Format(PyExc_ValueError, "no table '%s'", table);
    o.on = on;
    o.decimal = decimal;
    if (rdn_cursor_open(&r, ext_reading_of(market), &o, &err) < 0)
        return ext_raise(&err, NULL);
    PyObject *c = fresh(ext_cursor_type);
    if (c)
        ((struct ext_cursor *)c)->r = r;
    else
        rdn_cursor_unref(r);
    return c;
}

static void cursor_free(PyObject *self) {
    rdn_cursor_unref(cursor_of(self));
    ext_free(self);
}

static PyObject *cursor_next(PyObject *self, PyObject *none) {
    (void)none;
    struct rdn_columns *c = NULL;
    redan_error err = { 0 };
    int rc;
    Py_BEGIN_ALLOW_THREADS
    rc = rdn_cursor_next(cursor_of(self), &c, &err);
    Py_END_ALLOW_THREADS
    if (rc < 0)
        return ext_raise(&err, NULL);
    if (!c)
        Py_RETURN_NONE;
    PyObject *o = fresh(ext_chunk_type);
    if (o)
        ((struct ext_chunk *)o)->c = c;
    else
        rdn_columns_unref(c);
    return o;
}

static PyObject *cursor_schema(PyObject *self, PyObject *none) {
    (void)none;
    const struct rdn_cursor_options *o = rdn_cursor_of(cursor_of(self));
    struct rdn_reading *p = rdn_cursor_pass(cursor_of(self));
    struct ArrowSchema *s = calloc(1, sizeof *s);
    ext_lock(&p->lock);
    bool filled = s && rdn_arrow_schema(o->table, o->decimal, p->feed, s);
    pthread_mutex_unlock(&p->lock);
    return capsule_ArrowSchema(s, filled);
}

static PyObject *cursor_stream(PyObject *self, PyObject *args, PyObject *kw) {
    if (!request(args, kw))
        return NULL;
    struct ArrowArrayStream *s = calloc(1, sizeof *s);
    return capsule_ArrowArrayStream(s, s && rdn_arrow_stream(cursor_of(self), s));
}

/* --- chunks --- */

static void chunk_free(PyObject *self) {
    rdn_columns_unref(chunk_of(self));
    ext_free(self);
}

static Py_ssize_t chunk_len(PyObject *self) { return chunk_of(self)->n; }

static PyObject *chunk_names(PyObject *self, PyObject *none) {
    (void)none;
    uint32_t n;
    const struct rdn_column_def *d = rdn_table_columns(chunk_of(self)->table, &n);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        ext_push(&list, PyUnicode_FromString(d[i].name));
    return list;
}

static PyObject *chunk_column(PyObject *self, PyObject *name) {
    uint32_t n, i = 0;
    struct rdn_columns *c = chunk_of(self);
    const struct rdn_column_def *d = rdn_table_columns(c->table, &n);
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    while (text && i < n && strcmp(d[i].name, text) != 0)
        i++;
    if (text && i == n)
        PyErr_SetObject(PyExc_KeyError, name);
    struct ext_column *o = text && i < n ? (struct ext_column *)fresh(ext_column_type) : NULL;
    if (!o)
        return NULL;
    o->c = rdn_columns_ref(c);
    o->i = i;
    o->shape = c->n;
    o->stride = (Py_ssize_t)rdn_column_width(rdn_columns_type(c, i));
    return (PyObject *)o;
}

static PyObject *table_schema(const struct rdn_columns *c) {
    struct ArrowSchema *s = calloc(1, sizeof *s);
    return capsule_ArrowSchema(s, s && rdn_arrow_schema(c->table, c->decimal, NULL, s));
}

static PyObject *chunk_schema(PyObject *self, PyObject *none) { return (void)none, table_schema(chunk_of(self)); }

static PyObject *chunk_array(PyObject *self, PyObject *args, PyObject *kw) {
    if (!request(args, kw))
        return NULL;
    struct ArrowArray *a = calloc(1, sizeof *a);
    PyObject *array = capsule_ArrowArray(a, a && rdn_arrow_array(chunk_of(self), a));
    return pair(array ? table_schema(chunk_of(self)) : NULL, array);
}

/* --- columns --- */

static struct ext_column *column_of(PyObject *o) { return (struct ext_column *)o; }

static void column_free(PyObject *self) {
    rdn_columns_unref(column_of(self)->c);
    ext_free(self);
}

static Py_ssize_t column_len(PyObject *self) { return column_of(self)->shape; }

static PyObject *decimals(void) {
    PyErr_SetString(PyExc_BufferError, "decimals of 128 bits are read by Arrow alone");
    return NULL;
}

static int column_buffer(PyObject *self, Py_buffer *v, int flags) {
    static const char *const formats[] = { "q", "q", "q", "Q", "I", "H", "B" };
    struct ext_column *o = column_of(self);
    enum rdn_column_type t = rdn_columns_type(o->c, o->i);
    v->obj = NULL;
    if (t == RDN_COL_DEC)
        return decimals() ? 0 : -1;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "columns of a market file are read-only");
        return -1;
    }
    *v = (Py_buffer){ .buf = o->c->data[o->i], .obj = Py_NewRef(self), .len = o->shape * o->stride, .itemsize = o->stride, .readonly = 1, .ndim = 1,
                      .format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)formats[t] : NULL, .shape = (flags & PyBUF_ND) ? &o->shape : NULL,
                      .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &o->stride : NULL };
    return 0;
}

static PyObject *column_absent(PyObject *self, PyObject *none) {
    (void)none;
    return PyLong_FromUnsignedLongLong(column_of(self)->c->absent[column_of(self)->i]);
}

/* A bit a row, low first; None where nothing can be absent. */
static PyObject *column_valid(PyObject *self, PyObject *none) {
    (void)none;
    const struct ext_column *o = column_of(self);
    const uint8_t *bits = o->c->valid[o->i];
    if (!bits)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)bits, (o->shape + 7) / 8);
}

static PyObject *column_schema(PyObject *self, PyObject *none) {
    (void)none;
    const struct ext_column *o = column_of(self);
    struct ArrowSchema *s = calloc(1, sizeof *s);
    return capsule_ArrowSchema(s, s && rdn_arrow_column_schema(o->c->table, o->i, o->c->decimal, NULL, s));
}

static PyObject *column_array(PyObject *self, PyObject *args, PyObject *kw) {
    if (!request(args, kw))
        return NULL;
    struct ArrowArray *a = calloc(1, sizeof *a);
    PyObject *array = capsule_ArrowArray(a, a && rdn_arrow_column_array(column_of(self)->c, column_of(self)->i, a));
    return pair(array ? column_schema(self, NULL) : NULL, array);
}

/* --- DLPack: the structures of its definition --- */

enum { DL_CPU = 1, DL_INT = 0, DL_UINT = 1, DL_READ_ONLY = 1, DL_COPIED = 2 };
struct dl_tensor {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct dl_managed { struct dl_tensor t; void *ctx; void (*deleter)(struct dl_managed *); };
struct dl_versioned {
    struct { uint32_t major, minor; } version;
    void *ctx;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    struct dl_tensor t;
};
/* Behind either: the chunk, or a copy of the column. */
struct dl_block { struct dl_versioned v; struct dl_managed m; struct rdn_columns *c; void *copy; int64_t shape, stride; };

static void dl_drop(struct dl_block *b) {
    rdn_columns_unref(b->c);
    free(b->copy);
    free(b);
}
static void dl_drop_versioned(struct dl_versioned *v) { dl_drop(v->ctx); }
static void dl_drop_managed(struct dl_managed *m) { dl_drop(m->ctx); }

/* A consumer that took the tensor has renamed the capsule. */
static void dl_capsule_drop(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        dl_drop_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    else if (PyCapsule_IsValid(capsule, "dltensor"))
        dl_drop_managed(PyCapsule_GetPointer(capsule, "dltensor"));
}

static struct dl_block *dl_block(const struct ext_column *o, bool copy) {
    struct dl_block *b = calloc(1, sizeof *b);
    enum rdn_column_type t = rdn_columns_type(o->c, o->i);
    size_t bytes = (size_t)(o->shape * o->stride);
    if (b && copy && !(b->copy = aligned_alloc(64, (bytes + 63) & ~(size_t)63))) {
        free(b);
        b = NULL;
    }
    if (!b)
        return NULL;
    if (copy)
        memcpy(b->copy, o->c->data[o->i], bytes);
    else
        b->c = rdn_columns_ref(o->c);
    b->shape = o->shape;
    b->stride = 1;
    struct dl_tensor x = { copy ? b->copy : o->c->data[o->i], { DL_CPU, 0 }, 1,
                           { t <= RDN_COL_QTY ? DL_INT : DL_UINT, (uint8_t)(8 * o->stride), 1 }, &b->shape, &b->stride, 0 };
    b->v = (struct dl_versioned){ { 1, 0 }, b, dl_drop_versioned, copy ? DL_COPIED : DL_READ_ONLY, x };
    b->m = (struct dl_managed){ x, b, dl_drop_managed };
    return b;
}

static PyObject *refused(const char *why) {
    PyErr_SetString(PyExc_BufferError, why);
    return NULL;
}

/* Two numbers, or None, which leaves them as they are. */
static bool two(PyObject *o, int *a, int *b) {
    if (o == Py_None)
        return true;
    if (!PyTuple_Check(o))
        return PyErr_SetString(PyExc_TypeError, "a pair of numbers is a tuple"), false;
    return PyArg_ParseTuple(o, "ii", a, b);
}

/* __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) */
static PyObject *column_dlpack(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    const struct ext_column *o = column_of(self);
    int major = 0, minor = 0, kind = DL_CPU, id = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|$OOOO", names, &stream, &version, &device, &copy))
        return NULL;
    if (!two(version, &major, &minor) || !two(device, &kind, &id))
        return NULL;
    if (rdn_columns_type(o->c, o->i) == RDN_COL_DEC)
        return decimals();
    if (stream != Py_None || kind != DL_CPU || id != 0)
        return refused("the columns are in the memory of the CPU, and of no stream");
    int copied = copy == Py_None ? major < 1 : PyObject_IsTrue(copy);
    if (copied < 0)
        return NULL;
    if (major < 1 && !copied)
        return refused("a consumer of DLPack before 1.0 cannot be told that the memory is read-only: it gets a copy");
    struct dl_block *b = dl_block(o, copied);
    if (!b)
        return PyErr_NoMemory();
    PyObject *capsule = major < 1 ? PyCapsule_New(&b->m, "dltensor", dl_capsule_drop) : PyCapsule_New(&b->v, "dltensor_versioned", dl_capsule_drop);
    if (!capsule)
        dl_drop(b);
    return capsule;
}

static PyObject *column_device(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

PyObject *ext_market_live(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    return PyLong_FromUnsignedLongLong(rdn_columns_live());
}

#define WITH_KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))
static PyMethodDef cursor_methods[] = {
    { "next", cursor_next, METH_NOARGS, "The next chunk, or None." },
    { "__arrow_c_schema__", cursor_schema, METH_NOARGS, "Arrow's schema capsule." },
    { "__arrow_c_stream__", WITH_KEYWORDS(cursor_stream), METH_VARARGS | METH_KEYWORDS, "Arrow's stream capsule." },
    { 0 },
};
static PyMethodDef chunk_methods[] = {
    { "names", chunk_names, METH_NOARGS, "Names of the columns." },
    { "__arrow_c_schema__", chunk_schema, METH_NOARGS, "Arrow's schema capsule." },
    { "__arrow_c_array__", WITH_KEYWORDS(chunk_array), METH_VARARGS | METH_KEYWORDS, "Arrow's capsules of a struct array." },
    { 0 },
};
static PyMethodDef column_methods[] = {
    { "absent", column_absent, METH_NOARGS, "How many values are absent." },
    { "valid", column_valid, METH_NOARGS, "A bit a row, low first, or None." },
    { "__arrow_c_schema__", column_schema, METH_NOARGS, "Arrow's schema capsule." },
    { "__arrow_c_array__", WITH_KEYWORDS(column_array), METH_VARARGS | METH_KEYWORDS, "Arrow's capsules of an array." },
    { "__dlpack__", WITH_KEYWORDS(column_dlpack), METH_VARARGS | METH_KEYWORDS, "DLPack's capsule." },
    { "__dlpack_device__", column_device, METH_NOARGS, "(1, 0): the CPU." },
    { 0 },
};
static PyType_Slot cursor_slots[] = { { Py_tp_dealloc, cursor_free }, { Py_tp_methods, cursor_methods }, { 0 } };
static PyType_Slot chunk_slots[] = { { Py_tp_dealloc, chunk_free }, { Py_tp_methods, chunk_methods }, { Py_mp_length, chunk_len }, { Py_mp_subscript, chunk_column }, { 0 } };
static PyType_Slot column_slots[] = { { Py_tp_dealloc, column_free }, { Py_tp_methods, column_methods }, { Py_mp_length, column_len },
                                      { Py_bf_getbuffer, column_buffer }, { 0 } };
PyType_Spec ext_cursor_spec = { "_redan.Cursor", sizeof(struct ext_cursor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, cursor_slots };
PyType_Spec ext_chunk_spec = { "_redan.Chunk", sizeof(struct ext_chunk), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, chunk_slots };
PyType_Spec ext_column_spec = { "_redan.Column", sizeof(struct ext_column), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, column_slots };
