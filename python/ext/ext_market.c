/* SPDX-License-Identifier: Apache-2.0
 * ext_market.c: _redan.Market: one pass over a market file, or a feed without one: events, books, counters. Tables: ext_columns.c.
 *
 * Several Python threads may use one: each call takes the reading's lock, and waits for it without the GIL. Nothing of Python is made or
 * called while it is held (ext.h). */
#include "python/ext/ext.h"

#include "market/feed.h"

struct ext_reading { PyObject_HEAD struct rdn_reading *r; };

struct rdn_reading *ext_reading_of(PyObject *market) { return ((struct ext_reading *)market)->r; }
static redan_feed *feed_of(PyObject *self) { return ext_reading_of(self)->feed; }

/* --- options --- */

static const char *const policies[] = { "default", "count", "stop", "round", "replace", "drop", "by_price", "clamp", "resync", "flag", "invalid" };
_Static_assert(sizeof policies / sizeof policies[0] == REDAN_POLICY_INVALID + 1, "a policy without its name");

static bool set_policy(redan_feed_options *o, const char *fault, const char *policy) {
    unsigned f = 1, p = 0;
    while (f < REDAN_FAULTS && strcmp(redan_fault_name(f), fault) != 0)
        f++;
    while (p <= REDAN_POLICY_INVALID && strcmp(policies[p], policy) != 0)
        p++;
    if (f < REDAN_FAULTS && p <= REDAN_POLICY_INVALID) {
        o->policy[f] = (uint8_t)p;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "no %s '%s'", f < REDAN_FAULTS ? "policy" : "fault", f < REDAN_FAULTS ? policy : fault);
    return false;
}

static bool set_policies(redan_feed_options *o, PyObject *pairs) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(pairs); i++) {
        const char *fault, *policy;
        PyObject *pair = PyTuple_GetItem(pairs, i);
        if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "ss", &fault, &policy) || !set_policy(o, fault, policy)) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "policies are pairs of texts");
            return false;
        }
    }
    return true;
}

/* Texts are borrowed from the tuple. */
static redan_instrument *instruments(PyObject *rows, uint32_t *ret_n) {
    Py_ssize_t n = PyTuple_Size(rows);
    redan_instrument *in = calloc((size_t)n + 1, sizeof *in);
    if (!in)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; in && i < n; i++) {
        PyObject *row = PyTuple_GetItem(rows, i);
        in[i].size = sizeof in[i];
        if (!PyTuple_Check(row) || !PyArg_ParseTuple(row, "szzI", &in[i].symbol, &in[i].tick, &in[i].lot, &in[i].number)) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "instruments are tuples");
            free(in);
            return NULL;
        }
    }
    *ret_n = (uint32_t)n;
    return in;
}

static PyObject *market_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = { "path", "format", "instruments", "auto_tick", "date_ns", "seed", "policies", "max_orders", "max_instruments", "window", "far", NULL };
    struct rdn_reading_options o = { .feed = REDAN_FEED_OPTIONS_INIT };
    PyObject *rows, *pairs;
    long long date = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "zzO!zLzO!IIII", names, &o.path, &o.feed.format, &PyTuple_Type, &rows, &o.feed.auto_tick, &date, &o.seed,
                                     &PyTuple_Type, &pairs, &o.feed.max_orders, &o.feed.max_instruments, &o.feed.window, &o.feed.far))
        return NULL;
    o.feed.date_ns = date;
    redan_instrument *in = set_policies(&o.feed, pairs) ? instruments(rows, &o.n) : NULL;
    if (!in)
        return NULL;
    o.instruments = in;
    struct rdn_reading *r = NULL;
    redan_error err = { 0 };
    int rc;
    Py_BEGIN_ALLOW_THREADS
    rc = rdn_reading_open(&r, &o, &err);
    Py_END_ALLOW_THREADS
    free(in);
    if (rc < 0)
        return ext_raise(&err, NULL);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct ext_reading *m = (struct ext_reading *)alloc(type, 0);
    if (m)
        m->r = r;
    else
        rdn_reading_unref(r);
    return (PyObject *)m;
}

static void market_free(PyObject *self) {
    rdn_reading_unref(ext_reading_of(self));
    ext_free(self);
}

/* --- what it is --- */

static PyObject *market_format(PyObject *self, PyObject *none) {
    (void)none;
    return PyUnicode_FromString(feed_of(self)->format->name);
}

static PyObject *market_instruments(PyObject *self, PyObject *none) {
    (void)none;
    const redan_feed *f = feed_of(self);
    ext_lock(&ext_reading_of(self)->lock);
    uint32_t n = f->books.n;
    struct rdn_instrument *all = malloc((n + (size_t)1) * sizeof *all);
    if (all && n)
        memcpy(all, f->instruments, n * sizeof *all);
    pthread_mutex_unlock(&ext_reading_of(self)->lock);
    PyObject *list = all ? PyList_New(0) : PyErr_NoMemory();
    for (uint32_t i = 0; list && i < n; i++) {
        const struct rdn_instrument *in = &all[i];
        PyObject *symbol = PyUnicode_DecodeUTF8(in->symbol, (Py_ssize_t)strlen(in->symbol), "replace");
        ext_push(&list, symbol ? Py_BuildValue("(NLLI)", symbol, (long long)in->tick_nano, (long long)in->lot_nano, (unsigned)in->number) : NULL);
    }
    free(all);
    return list;
}

static PyObject *market_stats(PyObject *self, PyObject *none) {
    (void)none;
    redan_feed_stats st;
    ext_lock(&ext_reading_of(self)->lock);
    redan_feed_stats_get(feed_of(self), &st);
    pthread_mutex_unlock(&ext_reading_of(self)->lock);
    PyObject *faults = PyDict_New();
    for (unsigned i = 1; faults && i < REDAN_FAULTS; i++) {
        PyObject *n = st.faults[i] ? PyLong_FromUnsignedLongLong(st.faults[i]) : NULL;
        if (n && PyDict_SetItemString(faults, redan_fault_name(i), n) < 0)
            Py_CLEAR(faults);
        Py_XDECREF(n);
    }
    return faults ? Py_BuildValue("{sKsKsKsKsKsKsN}", "events", (unsigned long long)st.events, "bytes", (unsigned long long)st.bytes, "filtered",
                                  (unsigned long long)st.filtered, "live_orders", (unsigned long long)st.live_orders, "peak_orders",
                                  (unsigned long long)st.peak_orders, "reserved_bytes", (unsigned long long)st.reserved_bytes, "faults", faults) : NULL;
}

/* --- events --- */

/* step() -> (event, fault), the event applied to its book; None at the end. */
static PyObject *market_step(PyObject *self, PyObject *none) {
    (void)none;
    struct rdn_reading *r = ext_reading_of(self);
    const redan_mevent *next = NULL;
    redan_mevent e;
    redan_error err = { 0 };
    uint8_t fault = 0;
    ext_lock(&r->lock);
    int rc = rdn_reading_next(r, &next, &err);
    if (rc == 0 && next) {
        e = *next;
        redan_feed_apply(r->feed, &e, 1, &fault);
    }
    pthread_mutex_unlock(&r->lock);
    if (rc < 0)
        return ext_raise(&err, NULL);
    if (!next)
        Py_RETURN_NONE;
    const char letter[2] = { (char)e.action, '\0' };
    return Py_BuildValue("(LLKKLLKIsBHs)", (long long)e.ts_event_ns, (long long)e.ts_recv_ns, (unsigned long long)e.order_id, (unsigned long long)e.other_id,
                         (long long)e.px_ticks, (long long)e.qty_lots, (unsigned long long)e.seq, (unsigned)e.instrument, letter, e.side, e.flags, redan_fault_name(fault));
}

/* decode(bytes) -> (events, bytes used): 64 bytes an event, not applied. */
static PyObject *market_decode(PyObject *self, PyObject *args) {
    enum { CAP = 4096 };
    struct rdn_reading *r = ext_reading_of(self);
    Py_buffer in;
    if (!PyArg_ParseTuple(args, "y*", &in))
        return NULL;
    redan_mevent *ev = malloc(CAP * sizeof *ev);
    PyObject *list = ev ? PyList_New(0) : PyErr_NoMemory();
    size_t at = 0, used;
    for (bool more = true; list && more;) {
        ext_lock(&r->lock);
        uint32_t n = redan_feed_decode(r->feed, (const char *)in.buf + at, (size_t)in.len - at, ev, CAP, &used);
        pthread_mutex_unlock(&r->lock);
        at += used;
        more = n || used;                                /* behind messages that give no event there may be others */
        if (n)
            ext_push(&list, PyBytes_FromStringAndSize((const char *)ev, (Py_ssize_t)(n * sizeof *ev)));
    }
    free(ev);
    PyBuffer_Release(&in);
    return list ? Py_BuildValue("(Nn)", list, (Py_ssize_t)at) : NULL;
}

/* apply(events) -> (applied, fault numbers) */
static PyObject *market_apply(PyObject *self, PyObject *args) {
    struct rdn_reading *r = ext_reading_of(self);
    Py_buffer in;
    if (!PyArg_ParseTuple(args, "y*", &in))
        return NULL;
    Py_ssize_t n = in.len / (Py_ssize_t)sizeof(redan_mevent);
    PyObject *answer = NULL;
    if (in.len % (Py_ssize_t)sizeof(redan_mevent) || n > (Py_ssize_t)1 << 30 || (uintptr_t)in.buf % _Alignof(redan_mevent)) {
        PyErr_SetString(PyExc_ValueError, "events have 64 bytes each, aligned to 8");
    } else {
        PyObject *faults = PyByteArray_FromStringAndSize(NULL, n);
        uint32_t applied = 0;
        if (faults) {
            uint8_t *out = (uint8_t *)PyByteArray_AsString(faults);
            Py_BEGIN_ALLOW_THREADS
            pthread_mutex_lock(&r->lock);
            applied = redan_feed_apply(r->feed, in.buf, (uint32_t)n, out);
            pthread_mutex_unlock(&r->lock);
            Py_END_ALLOW_THREADS
            answer = Py_BuildValue("(IN)", applied, faults);
        }
    }
    PyBuffer_Release(&in);
    return answer;
}

/* --- books --- */

static PyObject *no_instrument(unsigned id) { return PyErr_Format(PyExc_IndexError, "no instrument %u", id); }

static PyObject *market_line(PyObject *self, PyObject *args) {
    unsigned id;
    redan_book_line_data l;
    if (!PyArg_ParseTuple(args, "I", &id))
        return NULL;
    ext_lock(&ext_reading_of(self)->lock);
    int rc = redan_book_line(feed_of(self), id, &l);
    pthread_mutex_unlock(&ext_reading_of(self)->lock);
    return rc < 0 ? no_instrument(id) : Py_BuildValue("(LLLLLLIK)", (long long)l.bid_px, (long long)l.bid_qty, (long long)l.ask_px, (long long)l.ask_qty,
                                                      (long long)l.ts_event_ns, (long long)l.ts_recv_ns, (unsigned)l.flags, (unsigned long long)l.events);
}

static PyObject *market_levels(PyObject *self, PyObject *args) {
    unsigned id, side, cap;
    if (!PyArg_ParseTuple(args, "III", &id, &side, &cap))
        return NULL;
    cap = cap < 1u << 20 ? cap : 1u << 20;
    redan_book_level *l = malloc((cap + 1) * sizeof *l);
    ext_lock(&ext_reading_of(self)->lock);
    bool known = id < feed_of(self)->books.n;
    uint32_t n = l && known ? redan_book_levels(feed_of(self), id, side, l, cap) : 0;
    pthread_mutex_unlock(&ext_reading_of(self)->lock);
    PyObject *list = !l ? PyErr_NoMemory() : known ? PyList_New(0) : no_instrument(id);
    for (uint32_t i = 0; list && i < n; i++)
        ext_push(&list, Py_BuildValue("(LLI)", (long long)l[i].px_ticks, (long long)l[i].qty_lots, (unsigned)l[i].orders));
    free(l);
    return list;
}

static PyObject *market_sweep(PyObject *self, PyObject *args) {
    unsigned id, side;
    long long want;
    int64_t worst = 0, filled = 0;
    if (!PyArg_ParseTuple(args, "IIL", &id, &side, &want))
        return NULL;
    ext_lock(&ext_reading_of(self)->lock);
    int rc = redan_book_sweep(feed_of(self), id, side, want, &worst, &filled);
    pthread_mutex_unlock(&ext_reading_of(self)->lock);
    if (rc < 0)
        return PyErr_Format(PyExc_ValueError, "the quantity is not above 0");
    return Py_BuildValue("(LL)", (long long)worst, (long long)filled);
}

/* --- wire ticks --- */

/* tick_columns(instrument, bytes, ts, bid, ask, faults) -> good: into the caller's arrays. */
static PyObject *market_ticks(PyObject *self, PyObject *args) {
    unsigned id;
    Py_buffer in, out[4];
    if (!PyArg_ParseTuple(args, "Iy*w*w*w*w*", &id, &in, &out[0], &out[1], &out[2], &out[3]))
        return NULL;
    size_t n = (size_t)in.len / 24, good = 0;
    struct rdn_reading *r = ext_reading_of(self);
    bool fits = in.len % 24 == 0 && (size_t)out[3].len >= n;
    for (int i = 0; i < 3; i++)
        fits = fits && (size_t)out[i].len >= 8 * n && (uintptr_t)out[i].buf % 8 == 0;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        pthread_mutex_lock(&r->lock);                   /* another thread may read a new instrument meanwhile */
        if ((fits = id < r->feed->books.n))
            good = redan_tick_columns(r->feed, id, in.buf, n, out[0].buf, out[1].buf, out[2].buf, out[3].buf);
        pthread_mutex_unlock(&r->lock);
        Py_END_ALLOW_THREADS
    }
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "ticks have 24 bytes each, and their columns a place for every one");
    PyBuffer_Release(&in);
    for (int i = 0; i < 4; i++)
        PyBuffer_Release(&out[i]);
    return fits ? PyLong_FromSize_t(good) : NULL;
}

static PyMethodDef methods[] = {
    { "format", market_format, METH_NOARGS, "The format's name." },
    { "instruments", market_instruments, METH_NOARGS, "[(symbol, tick in 10^-9, lot in 10^-9, number)]" },
    { "stats", market_stats, METH_NOARGS, "Counters." },
    { "step", market_step, METH_NOARGS, "The next event, applied to its book; None at the end." },
    { "decode", market_decode, METH_VARARGS, "decode(bytes) -> ([events], bytes used)" },
    { "apply", market_apply, METH_VARARGS, "apply(events) -> (applied, faults)" },
    { "line", market_line, METH_VARARGS, "line(instrument) -> best prices" },
    { "levels", market_levels, METH_VARARGS, "levels(instrument, side, n) -> [(px, qty, orders)]" },
    { "sweep", market_sweep, METH_VARARGS, "sweep(instrument, side, qty) -> (worst px, filled)" },
    { "tick_columns", market_ticks, METH_VARARGS, "tick_columns(instrument, bytes, ts, bid, ask, faults) -> good" },
    { "cursor", ext_market_cursor, METH_VARARGS, "cursor(table, on, rows, depth, decimal) -> Cursor" },
    { 0 },
};
static PyType_Slot slots[] = { { Py_tp_new, market_new }, { Py_tp_dealloc, market_free }, { Py_tp_methods, methods }, { 0 } };
PyType_Spec ext_market_spec = { "_redan.Market", sizeof(struct ext_reading), 0, Py_TPFLAGS_DEFAULT, slots };
