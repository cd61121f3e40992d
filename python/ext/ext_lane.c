/* SPDX-License-Identifier: Apache-2.0
 * ext_lane.c: _redan.Lane: one event at a time, with everything a decision says; and why. Batches: ext_batch.c. */
#include "python/ext/ext.h"

static int open_lane(struct ext_lane *l, unsigned index, redan_error *reterr) {
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    o.index = index;
    o.flags = REDAN_LANE_MAY_WAIT | REDAN_LANE_BATCHES;
    return l->owner->eng ? redan_lane_open(l->owner->eng, &o, &l->lane, reterr) : REDAN_E_CLOSED;
}

/* The lane is in the engine's list before it is open: whoever closes the engine closes it. */
static PyObject *lane_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = { "engine", "index", NULL };
    PyObject *engine;
    unsigned index = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O!|I", names, ext_engine_type, &engine, &index))
        return NULL;
    struct ext_engine *e = ext_as_engine(engine);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct ext_lane *l = (struct ext_lane *)alloc(type, 0);
    if (!l)
        return NULL;
    pthread_mutex_init(&l->mu, NULL);
    l->owner = (struct ext_engine *)Py_NewRef(engine);
    l->next = e->lanes;
    e->lanes = l;
    redan_error err = { 0 };
    int rc;
    Py_BEGIN_ALLOW_THREADS                               /* plugins may be starting under this lock */
    pthread_mutex_lock(&e->setup);
    rc = open_lane(l, index, &err);
    pthread_mutex_unlock(&e->setup);
    Py_END_ALLOW_THREADS
    if (rc == 0)
        return (PyObject *)l;
    Py_DECREF((PyObject *)l);
    return rc == REDAN_E_CLOSED && !err.code ? ext_closed("engine") : ext_raise(&err, NULL);
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
/* A decision as it is copied while the lane is held: objects are made of it when it is not. */
struct cause { const char *rule, *text; uint32_t line, col; };
struct kept {
    struct rdn_arena a;
    redan_lane *lane;
    redan_verdict v;
    const char **codes, **shadow, **messages;            /* a message may be NULL */
    struct cause *undefined;
    const redan_emit *emits;
};

static const char **keep_codes(struct kept *k, const uint32_t *codes, uint32_t n) {
    const char **names = n ? rdn_new_n(&k->a, const char *, n) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = redan_code_name(k->lane, codes[i]);
        names[i] = name ? rdn_arena_strndup(&k->a, name, strlen(name)) : "?";
    }
    return names;
}

static void keep_causes(struct kept *k) {
    k->undefined = k->v.nundefined ? rdn_new_n(&k->a, struct cause, k->v.nundefined) : NULL;
    for (uint32_t i = 0; i < k->v.nundefined; i++) {
        redan_undefined u;
        const char *name = redan_cause(k->lane, i, &u) == 0 ? redan_rule_name(k->lane, u.rule) : NULL;
        k->undefined[i] = name ? (struct cause){ rdn_arena_strndup(&k->a, name, strlen(name)), rdn_cause_text((enum rdn_cause)u.cause), u.line, u.col }
                               : (struct cause){ "?", "?", 0, 0 };
    }
}

static void keep_messages(struct kept *k) {
    k->messages = k->v.ncodes ? rdn_new_n(&k->a, const char *, k->v.ncodes) : NULL;
    for (uint32_t i = 0; i < k->v.ncodes; i++) {
        char text[1025];
        if (redan_message(k->lane, i, text, sizeof text) > 0)
            k->messages[i] = rdn_arena_strndup(&k->a, text, strlen(text));
    }
}

static void keep_all(void *ctx) {
    struct kept *k = ctx;
    k->codes = keep_codes(k, k->v.codes, k->v.ncodes);
    k->shadow = keep_codes(k, k->v.shadow, k->v.nshadow);
    keep_causes(k);
    keep_messages(k);
    k->emits = ext_emits_keep(&k->a, k->v.emits, k->v.nemits);
}

static int keep(struct kept *k, redan_lane *l) {
    k->lane = l;
    return rdn_arena_guard(&k->a, keep_all, k) ? 0 : REDAN_E_NOMEM;
}

static PyObject *text_list(const char *const *texts, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        ext_push(&list, texts[i] ? PyUnicode_DecodeUTF8(texts[i], (Py_ssize_t)strlen(texts[i]), "replace") : Py_NewRef(Py_None));
    return list;
}

static PyObject *cause_list(const struct cause *c, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++)
        ext_push(&list, Py_BuildValue("(ssII)", c[i].rule, c[i].text, (unsigned)c[i].line, (unsigned)c[i].col));
    return list;
}

/* (verdict, flags, now, for, score, generation, codes, shadow, undefined, emits, messages) */
static PyObject *decision(const struct kept *k) {
    const redan_verdict *v = &k->v;
    PyObject *codes = text_list(k->codes, v->ncodes), *shadow = text_list(k->shadow, v->nshadow), *undefined = cause_list(k->undefined, v->nundefined),
             *emits = ext_emits(k->emits, v->nemits), *messages = text_list(k->messages, v->ncodes), *r = NULL;
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

/* Whether the row may be judged as this event: it is as long. */
static int check_row(redan_lane *l, uint32_t event, const Py_buffer *row, redan_error *reterr) {
    if (!rdn_lane_sync(l))
        return rdn_fail(reterr, INVAL, "R3008", "no rule set is active");
    int32_t x = rdn_lane_event(l, event);
    if (x < 0)
        return rdn_fail(reterr, INVAL, "", "the active rules have no such event");
    uint32_t size = l->b->rs->ir->events[x].size;
    return row->len == (Py_ssize_t)size ? 0 : rdn_fail(reterr, INVAL, "", "a row of this event has %u bytes, not %zd", size, row->len);
}

static int judge_failed(int rc, redan_error *reterr) {
    reterr->code = rc;
    snprintf(reterr->text, sizeof reterr->text, "%s", rc == REDAN_E_INVAL ? "the row is not valid: a bool, an enum, a symbol or a text that is none"
                                                                            : redan_strerror(rc));
    return rc;
}

static PyObject *raise(int rc, const redan_error *err) {
    return rc == REDAN_E_CLOSED && !err->code ? ext_closed("lane") : rc == REDAN_E_NOMEM && !err->code ? PyErr_NoMemory() : ext_raise(err, NULL);
}

struct asked { unsigned event; Py_buffer row; bool has_now; int64_t now; };

static int judge(redan_lane *l, const struct asked *q, struct kept *k, redan_error *reterr) {
    if (!l)
        return REDAN_E_CLOSED;
    l->owned = false;
    int rc = check_row(l, q->event, &q->row, reterr);
    if (rc < 0)
        return rc;
    rc = q->has_now ? redan_eval_at(l, q->event, q->row.buf, q->now, &k->v) : redan_eval(l, q->event, q->row.buf, &k->v);
    return rc < 0 ? judge_failed(rc, reterr) : keep(k, l);
}

/* judge(event id, row, now or None) -> decision */
static PyObject *lane_judge(PyObject *self, PyObject *args) {
    struct ext_lane *l = ext_as_lane(self);
    struct asked q;
    struct kept k;
    PyObject *now = Py_None, *r = NULL;
    if (!PyArg_ParseTuple(args, "Iy*|O", &q.event, &q.row, &now))
        return NULL;
    q.has_now = now != Py_None;
    q.now = q.has_now ? PyLong_AsLongLong(now) : 0;
    if (q.now != -1 || !PyErr_Occurred()) {
        redan_error err = { 0 };
        int rc;
        rdn_arena_init(&k.a, &rdn_libc_mem);
        Py_BEGIN_ALLOW_THREADS                           /* a plugin may take its deadline */
        pthread_mutex_lock(&l->mu);
        rc = judge(l->lane, &q, &k, &err);
        pthread_mutex_unlock(&l->mu);
        Py_END_ALLOW_THREADS
        r = rc < 0 ? raise(rc, &err) : decision(&k);
        rdn_arena_fini(&k.a);
    }
    PyBuffer_Release(&q.row);
    return r;
}

/* ---- why ---- */
static int64_t now_of(const redan_lane *l, const uint8_t *row) {
    int64_t ts;
    memcpy(&ts, row, sizeof ts);
    return l->has_high_water && l->high_water > ts ? l->high_water : ts;
}

/* Half of the event, the explanation on the values as they are now, then the other half. */
static int explain(redan_lane *l, const struct asked *q, unsigned long long n, struct kept *k, struct rdn_buf *b, redan_error *reterr) {
    if (!l)
        return REDAN_E_CLOSED;
    if (!*l->eng->alive)
        return judge_failed(REDAN_E_CLOSED, reterr);
    l->owned = false;
    int rc = check_row(l, q->event, &q->row, reterr);
    if (rc < 0)
        return rc;
    uint32_t x = (uint32_t)rdn_lane_event(l, q->event), mode;
    if (!rdn_row_valid(&l->b->rs->ir->events[x], q->row.buf, rdn_sym_count(l->eng->syms)))
        return judge_failed(REDAN_E_INVAL, reterr);
    bool good = rdn_judge_mode(l, &mode);
    rdn_judge_start(l);
    rdn_judge_rules(l, x, q->row.buf, now_of(l, q->row.buf), &k->v);
    rdn_explain(b, l, &k->v, x, n);
    rc = keep(k, l);
    rdn_judge_accept(l, x, &k->v);
    if (!good)
        rdn_judge_mode_back(l, mode, 1);
    return b->failed ? REDAN_E_NOMEM : rc;
}

/* explain(event id, row, n) -> (decision, text) */
static PyObject *lane_explain(PyObject *self, PyObject *args) {
    struct ext_lane *l = ext_as_lane(self);
    struct asked q;
    struct kept k;
    struct rdn_buf b;
    unsigned long long n;
    redan_error err = { 0 };
    if (!PyArg_ParseTuple(args, "Iy*K", &q.event, &q.row, &n))
        return NULL;
    rdn_arena_init(&k.a, &rdn_libc_mem);
    rdn_buf_init(&b, &rdn_libc_mem);
    ext_lock(&l->mu);
    int rc = explain(l->lane, &q, n, &k, &b, &err);
    pthread_mutex_unlock(&l->mu);
    PyObject *d = rc < 0 ? raise(rc, &err) : decision(&k);
    PyObject *text = d ? PyUnicode_DecodeUTF8(rdn_buf_str(&b), (Py_ssize_t)b.n, "replace") : NULL;
    PyObject *r = text ? PyTuple_Pack(2, d, text) : NULL;
    Py_XDECREF(d);
    Py_XDECREF(text);
    rdn_buf_fini(&b);
    rdn_arena_fini(&k.a);
    PyBuffer_Release(&q.row);
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
