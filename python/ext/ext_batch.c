/* SPDX-License-Identifier: Apache-2.0
 * ext_batch.c: many rows in a call: a buffer of rows or one array a field in, packed answers out.
 *
 * The GIL is released from the first row to the last, and objects are made when the lane is not held any more (ext.h). A lane's arrays
 * are its own until the next call, so each chunk is copied before the next: names once a batch, and what a row emits. */
#include "python/ext/ext.h"

enum { CHUNK = 1024, FIELDS_MAX = 256, NO_VERDICT = 255 };

/* One row's answer; redan.engine has the same as a NumPy dtype. Codes, shadow codes and undefined rules of row i end at .codes, .shadow,
 * .undefined of the three lists and begin where row i - 1 ends; they are numbers into `names`. */
struct answer {
    int64_t now, hold, score;
    uint64_t generation;
    uint32_t codes, shadow, undefined;
    uint8_t verdict, flags, zero[2];
};
_Static_assert(sizeof(struct answer) == 48, "as in redan/engine.py");

struct list { uint32_t *p; size_t n, cap; };
struct emitted { struct emitted *next; size_t row; uint32_t n; const redan_emit *emits; };

struct batch {
    redan_lane *lane;
    uint32_t event;
    const uint8_t *rows; size_t stride;                  /* rows, or columns when NULL */
    const redan_columns *columns;
    size_t size[FIELDS_MAX];
    size_t n, done;
    bool skip;                                           /* a bad row gets NO_VERDICT, else it ends the batch */
    int rc;
    struct answer *answers;
    struct list codes, shadow, undefined;
    uint64_t generation; bool named;                     /* of what follows */
    struct list code_names, rule_names;                  /* by number: 1 + place in `names`; 0: not seen yet */
    struct rdn_arena a;                                  /* of the names and of what rows emit */
    const char **names; size_t nnames, names_cap;
    struct emitted *emits, **last;
    redan_verdict v[CHUNK];
};

static bool grow(struct list *l, size_t more) {
    if (l->n + more <= l->cap)
        return true;
    size_t cap = l->cap ? l->cap * 2 : 256;
    while (cap < l->n + more)
        cap *= 2;
    uint32_t *p = realloc(l->p, cap * sizeof *p);
    if (p) {
        l->p = p;
        l->cap = cap;
    }
    return p != NULL;
}

/* ---- names ---- */
/* A new name's place; the same text of two generations has one place. UINT32_MAX: no memory. */
static uint32_t new_name(struct batch *b, const char *text) {
    for (size_t i = 0; i < b->nnames; i++)
        if (strcmp(b->names[i], text) == 0)
            return (uint32_t)i;
    if (b->nnames == b->names_cap) {
        size_t cap = b->names_cap ? b->names_cap * 2 : 64;
        const char **more = rdn_arena_alloc(&b->a, cap * sizeof *more);
        if (!more)
            return UINT32_MAX;
        if (b->nnames)
            memcpy(more, b->names, b->nnames * sizeof *more);
        b->names = more;
        b->names_cap = cap;
    }
    const char *copy = rdn_arena_strndup(&b->a, text, strlen(text));
    if (!copy)
        return UINT32_MAX;
    b->names[b->nnames] = copy;
    return (uint32_t)b->nnames++;
}

static uint32_t place_of(struct batch *b, struct list *known, uint32_t number, const char *text) {
    while (known->n <= number) {
        if (!grow(known, 1))
            return UINT32_MAX;
        known->p[known->n++] = 0;
    }
    if (known->p[number])
        return known->p[number] - 1;
    uint32_t at = new_name(b, text ? text : "?");
    if (at != UINT32_MAX)
        known->p[number] = at + 1;
    return at;
}

static bool add_codes(struct batch *b, struct list *to, const uint32_t *codes, uint32_t n) {
    if (!grow(to, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        to->p[to->n] = place_of(b, &b->code_names, codes[i], redan_code_name(b->lane, codes[i]));
        if (to->p[to->n++] == UINT32_MAX)
            return false;
    }
    return true;
}

static bool add_rules(struct batch *b, const uint16_t *rules, uint32_t n) {
    if (!grow(&b->undefined, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = place_of(b, &b->rule_names, rules[i], redan_rule_name(b->lane, rules[i]));
        if (at == UINT32_MAX)
            return false;
        b->undefined.p[b->undefined.n++] = at;
    }
    return true;
}

/* ---- answers ---- */
struct emitting { struct batch *b; const redan_verdict *v; };
static void add_emits(void *ctx) {
    const struct emitting *x = ctx;
    struct batch *b = x->b;
    struct emitted *e = rdn_new(&b->a, struct emitted);
    *e = (struct emitted){ NULL, b->done, x->v->nemits, ext_emits_keep(&b->a, x->v->emits, x->v->nemits) };
    *b->last = e;
    b->last = &e->next;
}

static bool keep(struct batch *b, const redan_verdict *v) {
    if (!b->named || v->generation != b->generation) {   /* numbers mean something else now */
        b->code_names.n = b->rule_names.n = 0;
        b->generation = v->generation;
        b->named = true;
    }
    bool ok = add_codes(b, &b->codes, v->codes, v->ncodes) && add_codes(b, &b->shadow, v->shadow, v->nshadow) && add_rules(b, v->undefined, v->nundefined);
    ok = ok && (!v->nemits || rdn_arena_guard(&b->a, add_emits, &(struct emitting){ b, v }));
    b->answers[b->done] = (struct answer){ v->now_ns, v->for_ns, v->score, v->generation, (uint32_t)b->codes.n, (uint32_t)b->shadow.n,
                                           (uint32_t)b->undefined.n, v->verdict, v->flags, { 0 } };
    b->done += ok;
    return ok;
}

static void keep_bad(struct batch *b) {
    b->answers[b->done++] = (struct answer){ .codes = (uint32_t)b->codes.n, .shadow = (uint32_t)b->shadow.n, .undefined = (uint32_t)b->undefined.n,
                                             .verdict = NO_VERDICT };
}

static int judge_chunk(struct batch *b, size_t n, size_t *ret_done) {
    if (b->rows)
        return redan_eval_batch(b->lane, b->event, b->rows + b->done * b->stride, b->stride, n, b->v, ret_done);
    const void *fields[FIELDS_MAX];
    redan_columns c = *b->columns;
    c.ts += b->done;
    c.present += c.present ? b->done : 0;
    c.fields = fields;
    for (uint32_t k = 0; k < c.nfields; k++)
        fields[k] = (const uint8_t *)b->columns->fields[k] + b->done * b->size[k];
    return redan_eval_columns(b->lane, b->event, &c, n, b->v, ret_done);
}

/* Without the GIL, with the lane. A row that is not valid is skipped or ends it; .rc says how it ended. */
static void judge_all(struct batch *b) {
    while (b->rc == 0 && b->done < b->n) {
        size_t left = b->n - b->done, done;
        int rc = judge_chunk(b, left < CHUNK ? left : CHUNK, &done);
        for (size_t i = 0; i < done && b->rc == 0; i++)
            b->rc = keep(b, &b->v[i]) ? 0 : REDAN_E_NOMEM;
        if (rc < 0 && b->rc == 0 && (rc != REDAN_E_INVAL || !b->skip))
            b->rc = rc;
        else if (rc < 0 && b->rc == 0)
            keep_bad(b);
    }
}

static PyObject *bytes_of(const struct list *l) { return PyBytes_FromStringAndSize((const char *)l->p, (Py_ssize_t)(l->n * sizeof *l->p)); }

static PyObject *name_list(const struct batch *b) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < b->nnames; i++)
        ext_push(&list, PyUnicode_FromString(b->names[i]));
    return list;
}

static PyObject *emit_list(const struct batch *b) {
    PyObject *list = PyList_New(0);
    for (const struct emitted *e = b->emits; list && e; e = e->next) {
        PyObject *row = ext_emits(e->emits, e->n);
        ext_push(&list, row ? Py_BuildValue("(nN)", (Py_ssize_t)e->row, row) : NULL);
    }
    return list;
}

/* (done, code, answers, codes, shadow, undefined, names, emits) */
static PyObject *pack(const struct batch *b) {
    PyObject *answers = PyBytes_FromStringAndSize((const char *)b->answers, (Py_ssize_t)(b->done * sizeof *b->answers));
    PyObject *codes = bytes_of(&b->codes), *shadow = bytes_of(&b->shadow), *undefined = bytes_of(&b->undefined), *names = name_list(b),
             *emits = emit_list(b), *r = NULL;
    if (answers && codes && shadow && undefined && names && emits)
        r = Py_BuildValue("(niOOOOOO)", (Py_ssize_t)b->done, b->rc, answers, codes, shadow, undefined, names, emits);
    Py_XDECREF(answers);
    Py_XDECREF(codes);
    Py_XDECREF(shadow);
    Py_XDECREF(undefined);
    Py_XDECREF(names);
    Py_XDECREF(emits);
    return r;
}

static PyObject *run(struct ext_lane *l, struct batch *b) {
    rdn_arena_init(&b->a, &rdn_libc_mem);
    b->last = &b->emits;
    b->answers = malloc((b->n + 1) * sizeof *b->answers);
    PyObject *r = NULL;
    if (b->answers) {
        Py_BEGIN_ALLOW_THREADS
        pthread_mutex_lock(&l->mu);
        b->lane = l->lane;
        if (b->lane) {
            b->lane->owned = false;
            judge_all(b);
        }
        pthread_mutex_unlock(&l->mu);
        Py_END_ALLOW_THREADS
        r = !b->lane ? ext_closed("lane") : b->rc == REDAN_E_NOMEM ? PyErr_NoMemory() : pack(b);
    } else {
        PyErr_NoMemory();
    }
    free(b->answers);
    free(b->codes.p);
    free(b->shadow.p);
    free(b->undefined.p);
    free(b->code_names.p);
    free(b->rule_names.p);
    rdn_arena_fini(&b->a);
    return r;
}

/* ---- the calls ---- */
/* Sizes of the event as the active rules have it; a swap cannot change them, because its name is bound. */
struct shape { uint32_t size, nfields, field[FIELDS_MAX]; bool present; };

static bool shape_of(struct ext_lane *l, uint32_t event, struct shape *ret) {
    ext_lock(&l->mu);
    bool open = l->lane != NULL;
    int32_t x = open && rdn_lane_sync(l->lane) ? rdn_lane_event(l->lane, event) : -1;
    const struct rdn_event *e = x < 0 ? NULL : &l->lane->b->rs->ir->events[x];
    if (e) {
        ret->size = e->size;
        ret->nfields = e->nfields;
        ret->present = e->has_present;
        for (uint32_t i = 0; i < e->nfields && i < FIELDS_MAX; i++)
            ret->field[i] = e->fields[i].size;
    }
    pthread_mutex_unlock(&l->mu);
    if (!open)
        ext_closed("lane");
    else if (!e)
        PyErr_SetString(PyExc_ValueError, "no rule set with this event is active");
    return e != NULL;
}

static bool rows_fit(const struct shape *e, const Py_buffer *rows, Py_ssize_t stride, Py_ssize_t n) {
    Py_ssize_t size = (Py_ssize_t)e->size;
    bool fits = n >= 0 && stride >= size && (!n || (rows->len >= size && (n - 1) <= (rows->len - size) / stride));
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "the rows do not fit into the buffer");
    return fits;
}

PyObject *ext_lane_batch(PyObject *self, PyObject *args) {
    unsigned event;
    Py_buffer rows;
    Py_ssize_t stride, n;
    int skip;
    if (!PyArg_ParseTuple(args, "Iy*nnp", &event, &rows, &stride, &n, &skip))
        return NULL;
    struct batch *b = calloc(1, sizeof *b);
    struct shape e;
    PyObject *r = NULL;
    if (!b) {
        PyErr_NoMemory();
    } else if (shape_of(ext_as_lane(self), event, &e) && rows_fit(&e, &rows, stride, n)) {
        b->event = event;
        b->rows = rows.buf;
        b->stride = (size_t)stride;
        b->n = (size_t)n;
        b->skip = skip;
        r = run(ext_as_lane(self), b);
    }
    free(b);
    PyBuffer_Release(&rows);
    return r;
}

/* Buffers of ts, present and the fields; all are released by drop_columns. */
struct held { Py_buffer view[FIELDS_MAX + 2]; uint32_t n; };

static const void *hold(struct held *h, PyObject *o, Py_ssize_t n, size_t *ret_size) {
    Py_buffer *v = &h->view[h->n];
    if (PyObject_GetBuffer(o, v, PyBUF_SIMPLE) < 0)
        return NULL;
    h->n++;
    if (n && (v->len % n || v->len / n > INT32_MAX)) {
        PyErr_Format(PyExc_ValueError, "a column has %zd bytes, which are not %zd elements", v->len, n);
        return NULL;
    }
    *ret_size = n ? (size_t)(v->len / n) : 0;
    return v->buf ? v->buf : "";
}

static bool take_columns(struct batch *b, struct held *h, redan_columns *c, const void **fields, PyObject *ts, PyObject *present, PyObject *list) {
    size_t size;
    Py_ssize_t n = (Py_ssize_t)b->n, k = PyTuple_Size(list);
    c->ts = hold(h, ts, n, &size);
    if (!c->ts)
        return false;
    bool whole = !n || size == 8;
    c->present = present == Py_None ? NULL : hold(h, present, n, &size);
    if (present != Py_None && !c->present)
        return false;
    whole = whole && (present == Py_None || !n || size == 8);
    for (Py_ssize_t i = 0; i < k; i++)
        if (!(fields[i] = hold(h, PyTuple_GetItem(list, i), n, &b->size[i])))
            return false;
    c->fields = fields;
    c->nfields = (uint32_t)k;
    if (!whole)
        PyErr_SetString(PyExc_ValueError, "ts and present are columns of 8 bytes an element");
    return whole;
}

/* Whether each column is as wide as its field: the engine reads that many bytes an element. */
static bool widths_fit(const struct shape *e, const struct batch *b, uint32_t nfields) {
    bool fits = e->nfields == nfields && (!e->present || b->columns->present);
    for (uint32_t i = 0; fits && b->n && i < nfields; i++)
        fits = e->field[i] == b->size[i];
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "the columns are not those of the event");
    return fits;
}

PyObject *ext_lane_columns(PyObject *self, PyObject *args) {
    unsigned event;
    PyObject *ts, *present, *list, *r = NULL;
    Py_ssize_t n;
    int skip;
    if (!PyArg_ParseTuple(args, "IOOO!np", &event, &ts, &present, &PyTuple_Type, &list, &n, &skip))
        return NULL;
    if (n < 0 || PyTuple_Size(list) > FIELDS_MAX)
        return PyErr_Format(PyExc_ValueError, "too many columns");
    struct batch *b = calloc(1, sizeof *b);
    struct held *h = calloc(1, sizeof *h);
    struct shape e;
    const void *fields[FIELDS_MAX];
    redan_columns c = { 0 };
    if (!b || !h) {
        PyErr_NoMemory();
    } else {
        b->event = event;
        b->n = (size_t)n;
        b->skip = skip;
        b->columns = &c;
        if (take_columns(b, h, &c, fields, ts, present, list) && shape_of(ext_as_lane(self), event, &e) && widths_fit(&e, b, c.nfields))
            r = run(ext_as_lane(self), b);
    }
    for (uint32_t i = 0; h && i < h->n; i++)
        PyBuffer_Release(&h->view[i]);
    free(h);
    free(b);
    return r;
}
