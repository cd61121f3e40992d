/* SPDX-License-Identifier: Apache-2.0
 * ext_lane.c: _redan.Lane: one event at a time, with everything a decision says; and why. Batches: ext_batch.c. */
#include "python/ext/ext.h"

static PyObject *lane_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = { "engine", "index", NULL };
    PyObject *engine;
    unsigned index = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O!|I", names, ext_engine_type, &engine, &index))
        return NULL;
    struct ext_engine *e = ext_as_engine(engine);
    if (!e->eng)
        return ext_closed("engine");
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    o.index = index;
    o.flags = REDAN_LANE_MAY_WAIT | REDAN_LANE_BATCHES;
    redan_lane *lane;
    redan_error err = { 0 };
    if (redan_lane_open(e->eng, &o, &lane, &err) < 0)
        return ext_raise(&err, NULL);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct ext_lane *l = (struct ext_lane *)alloc(type, 0);
    if (!l) {
        redan_lane_close(lane);
        return NULL;
    }
    pthread_mutex_init(&l->mu, NULL);
    l->lane = lane;
    l->owner = (struct ext_engine *)Py_NewRef(engine);
    l->next = e->lanes;
    e->lanes = l;
    return (PyObject *)l;
}

static void lane_free(PyObject *self) {
    struct ext_lane *l = ext_as_lane(self);
    for (struct ext_lane **p = &l->owner->lanes; *p; p = &(*p)->next)
        if (*p == l) {
            *p = l->next;
            break;
        }
    if (l->lane) {
        l->lane->owned = false;
        redan_lane_close(l->lane);
    }
    pthread_mutex_destroy(&l->mu);
    Py_DECREF((PyObject *)l->owner);
    ext_free(self);
}

/* ---- decisions ---- */
static PyObject *code_list(redan_lane *l, const uint32_t *codes, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        const char *name = redan_code_name(l, codes[i]);
        ext_push(&list, PyUnicode_FromString(name ? name : "?"));
    }
    return list;
}

static PyObject *undefined_list(redan_lane *l, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        redan_undefined u;
        const char *name = redan_cause(l, i, &u) == 0 ? redan_rule_name(l, u.rule) : NULL;
        ext_push(&list, Py_BuildValue("(ssII)", name ? name : "?", name ? rdn_cause_text((enum rdn_cause)u.cause) : "?", (unsigned)(name ? u.line : 0),
                                      (unsigned)(name ? u.col : 0)));
    }
    return list;
}

static PyObject *message_list(redan_lane *l, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        char text[1025];
        int bytes = redan_message(l, i, text, sizeof text);
        ext_push(&list, bytes <= 0 ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"));
    }
    return list;
}

/* (verdict, flags, now, for, score, generation, codes, shadow, undefined, emits, messages) */
static PyObject *decision(redan_lane *l, const redan_verdict *v) {
    PyObject *codes = code_list(l, v->codes, v->ncodes), *shadow = code_list(l, v->shadow, v->nshadow), *undefined = undefined_list(l, v->nundefined),
             *emits = ext_emits(v), *messages = message_list(l, v->ncodes), *r = NULL;
    if (codes && shadow && undefined && emits && messages)
        r = Py_BuildValue("(IILLLKOOOOO)", (unsigned)v->verdict, (unsigned)v->flags, (long long)v->now_ns, (long long)v->for_ns, (long long)v->score,
                          (unsigned long long)v->generation, codes, shadow, undefined, emits, messages);
    Py_XDECREF(codes);
    Py_XDECREF(shadow);
    Py_XDECREF(undefined);
    Py_XDECREF(emits);
    Py_XDECREF(messages);
    return r;
}

/* A row of the right size, or NULL with an exception. */
static const uint8_t *row_of(redan_lane *l, uint32_t event, const Py_buffer *row) {
    if (!rdn_lane_sync(l)) {
        redan_error e = { .code = REDAN_E_INVAL, .id = "R3008", .text = "no rule set is active" };
        ext_raise(&e, NULL);
        return NULL;
    }
    int32_t x = rdn_lane_event(l, event);
    if (x >= 0 && row->len == (Py_ssize_t)l->b->rs->ir->events[x].size)
        return row->buf;
    redan_error e = { .code = REDAN_E_INVAL };
    snprintf(e.text, sizeof e.text, x < 0 ? "the active rules have no such event" : "a row of this event has %u bytes, not %zd",
             x < 0 ? 0u : l->b->rs->ir->events[x].size, row->len);
    ext_raise(&e, NULL);
    return NULL;
}

static int judge(redan_lane *l, unsigned event, const uint8_t *row, bool has_now, int64_t now, redan_verdict *v) {
    int rc;
    Py_BEGIN_ALLOW_THREADS                               /* a plugin may take its deadline */
    rc = has_now ? redan_eval_at(l, event, row, now, v) : redan_eval(l, event, row, v);
    Py_END_ALLOW_THREADS
    return rc;
}

static PyObject *judge_failed(int rc) {
    redan_error e = { .code = rc };
    snprintf(e.text, sizeof e.text, "%s", rc == REDAN_E_INVAL ? "the row is not valid: a bool, an enum, a symbol or a text that is none"
                                                               : redan_strerror(rc));
    return ext_raise(&e, NULL);
}

/* judge(event id, row, now or None) -> decision */
static PyObject *lane_judge(PyObject *self, PyObject *args) {
    struct ext_lane *l = ext_as_lane(self);
    unsigned event;
    Py_buffer row;
    PyObject *now = Py_None, *r = NULL;
    if (!PyArg_ParseTuple(args, "Iy*|O", &event, &row, &now))
        return NULL;
    long long at = now == Py_None ? 0 : PyLong_AsLongLong(now);
    if (at == -1 && PyErr_Occurred()) {
        PyBuffer_Release(&row);
        return NULL;
    }
    ext_lock(&l->mu);
    const uint8_t *data = l->lane ? (l->lane->owned = false, row_of(l->lane, event, &row)) : NULL;
    if (data) {
        redan_verdict v;
        int rc = judge(l->lane, event, data, now != Py_None, at, &v);
        r = rc < 0 ? judge_failed(rc) : decision(l->lane, &v);
    } else if (!l->lane) {
        ext_closed("lane");
    }
    pthread_mutex_unlock(&l->mu);
    PyBuffer_Release(&row);
    return r;
}

/* ---- why ---- */
static int64_t now_of(const redan_lane *l, const uint8_t *row) {
    int64_t ts;
    memcpy(&ts, row, sizeof ts);
    return l->has_high_water && l->high_water > ts ? l->high_water : ts;
}

/* Half of the event, the explanation on the values as they are now, then the other half. */
static PyObject *explain(redan_lane *l, uint32_t event, const uint8_t *row, unsigned long long n) {
    uint32_t x = (uint32_t)rdn_lane_event(l, event), mode;
    if (!rdn_row_valid(&l->b->rs->ir->events[x], row, rdn_sym_count(l->eng->syms)))
        return judge_failed(REDAN_E_INVAL);
    struct rdn_buf b;
    redan_verdict v;
    rdn_buf_init(&b, &rdn_libc_mem);
    bool good = rdn_judge_mode(l, &mode);
    rdn_judge_start(l);
    rdn_judge_rules(l, x, row, now_of(l, row), &v);
    rdn_explain(&b, l, &v, x, n);
    PyObject *d = decision(l, &v);
    rdn_judge_accept(l, x, &v);
    if (!good)
        rdn_judge_mode_back(l, mode, 1);
    PyObject *text = d && !b.failed ? PyUnicode_DecodeUTF8(rdn_buf_str(&b), (Py_ssize_t)b.n, "replace") : NULL;
    rdn_buf_fini(&b);
    if (!text) {
        Py_XDECREF(d);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    return Py_BuildValue("(NN)", d, text);
}

/* explain(event id, row, n) -> (decision, text) */
static PyObject *lane_explain(PyObject *self, PyObject *args) {
    struct ext_lane *l = ext_as_lane(self);
    unsigned event;
    unsigned long long n;
    Py_buffer row;
    PyObject *r = NULL;
    if (!PyArg_ParseTuple(args, "Iy*K", &event, &row, &n))
        return NULL;
    ext_lock(&l->mu);
    if (!l->lane)
        ext_closed("lane");
    else if (!*l->lane->eng->alive)
        judge_failed(REDAN_E_CLOSED);
    else if (l->lane->owned = false, row_of(l->lane, event, &row))
        r = explain(l->lane, event, row.buf, n);
    pthread_mutex_unlock(&l->mu);
    PyBuffer_Release(&row);
    return r;
}

/* What windows hold, as the JSON of LANGUAGE.md 17.2. */
static PyObject *lane_state(PyObject *self, PyObject *none) {
    (void)none;
    struct ext_lane *l = ext_as_lane(self);
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    ext_lock(&l->mu);
    bool ready = l->lane && rdn_lane_sync(l->lane);
    if (ready)
        rdn_answer_state(&b, l->lane);
    pthread_mutex_unlock(&l->mu);
    PyObject *r = ready && !b.failed ? PyUnicode_DecodeUTF8(rdn_buf_str(&b), (Py_ssize_t)b.n, "replace") : NULL;
    rdn_buf_fini(&b);
    return r || PyErr_Occurred() ? r : ready ? PyErr_NoMemory() : ext_closed("lane");
}

static PyObject *lane_idle(PyObject *self, PyObject *none) {
    (void)none;
    struct ext_lane *l = ext_as_lane(self);
    ext_lock(&l->mu);
    if (l->lane) {
        l->lane->owned = false;
        redan_lane_idle(l->lane);
    }
    pthread_mutex_unlock(&l->mu);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    { "judge", lane_judge, METH_VARARGS, "judge(event, row, now=None) -> decision" },
    { "explain", lane_explain, METH_VARARGS, "explain(event, row, n) -> (decision, text)" },
    { "batch", ext_lane_batch, METH_VARARGS, "batch(event, buffer, stride, n, skip) -> answers" },
    { "columns", ext_lane_columns, METH_VARARGS, "columns(event, ts, present, fields, n, skip) -> answers" },
    { "state", lane_state, METH_NOARGS, "Windows as JSON." },
    { "idle", lane_idle, METH_NOARGS, "Adopts what was activated, so that old rules can be freed." },
    { 0 },
};
static PyType_Slot slots[] = { { Py_tp_new, lane_new }, { Py_tp_dealloc, lane_free }, { Py_tp_methods, methods }, { 0 } };
PyType_Spec ext_lane_spec = { "_redan.Lane", sizeof(struct ext_lane), 0, Py_TPFLAGS_DEFAULT, slots };
