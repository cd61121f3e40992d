/* SPDX-License-Identifier: Apache-2.0
 * rows.c: values of wire types as text, and golden rows (tests/rows.csv) made of them.
 *
 *   function,eur,mcc,online,answer,tolerance       a line that begins with `function` names the columns of what follows
 *   fraud_model,900.0,7995,true,0.9370266,1e-6     cells by type; answer: a value or `undefined`; tolerance (floats) may be absent
 *
 * Cells: true/false, numbers, times and dates as in rules, members of an enum by name, texts as they are; arrays as [1, 2], events as
 * {"qty": 5}. A cell with a comma or quote stands in quotes, which are doubled inside. Lines that begin with # are skipped. */
#include <math.h>
#include <string.h>
#include "base/json_read.h"
#include "base/text.h"
#include "plugins/parts.h"

enum { MAX_CELLS = 20 };
struct cell { const char *p; size_t n; };

/* ---- one value ---- */
static bool read_dec(const char *s, size_t n, unsigned scale, int64_t *ret) {
    char digits[48];
    size_t k = 0, after = 0, i = 0;
    bool dot = false;
    if (i < n && s[i] == '-')
        digits[k++] = s[i++];
    for (; i < n && k < 40; i++)
        if (s[i] == '.' && !dot)
            dot = true;
        else if (s[i] >= '0' && s[i] <= '9') {
            digits[k++] = s[i];
            after += dot;
        } else
            return false;
    if (i < n || after > scale)
        return false;
    for (; after < scale && k < 40; after++)
        digits[k++] = '0';
    return rdn_read_i64(digits, k, ret);
}

static bool read_enum(const struct rdn_wire_type *t, const char *s, size_t n, int64_t *ret) {
    for (*ret = 0; *ret < t->nnames; ++*ret)
        if (strlen(t->names[*ret]) == n && !memcmp(t->names[*ret], s, n))
            return true;
    return false;
}

static bool read_array(struct rdn_arena *a, const struct rdn_json_reader *r, const struct rdn_json *j, const struct rdn_wire_type *t, void *room, uint32_t *at,
                       uint32_t want) {
    for (const struct rdn_json *x = rdn_json_first(r, j); x; x = rdn_json_next(r, x)) {
        if (x->kind == RDN_JSON_ARRAY ? !read_array(a, r, x, t, room, at, want) : *at == want)
            return false;
        if (x->kind == RDN_JSON_ARRAY)
            continue;
        bool good = t->kind == RDN_WIRE_FARR ? rdn_read_f64(x->text, x->len, (double *)room + *at) : rdn_read_i64(x->text, x->len, (int64_t *)room + *at);
        if (!good || x->kind < RDN_JSON_INT || x->kind > RDN_JSON_REAL)
            return false;
        ++*at;
    }
    return true;
}

static bool put_field(struct rdn_arena *a, const struct rdn_json_reader *r, const struct rdn_wire_field *f, const struct rdn_json *j, uint8_t *row) {
    struct rdn_wire_value v = { .i = 0 };
    uint8_t *to = row + f->offset;
    uint32_t at = 0, width = rdn_wire_width(&f->type);
    bool shaped = f->type.kind == RDN_WIRE_FARR || f->type.kind == RDN_WIRE_IARR;
    uint64_t present;
    const char *word = j->kind == RDN_JSON_TRUE ? "true" : "false";
    bool flag = j->kind == RDN_JSON_TRUE || j->kind == RDN_JSON_FALSE;
    if (shaped ? j->kind != RDN_JSON_ARRAY || !read_array(a, r, j, &f->type, to, &at, width / 8) || at != width / 8
               : !rdn_wire_read(a, &f->type, flag ? word : j->text, flag ? strlen(word) : j->len, &v))
        return false;
    if (f->type.kind == RDN_WIRE_TEXT)
        memcpy(to, v.text.p, v.text.n);
    else if (!shaped)
        memcpy(to, &v, width);                          /* little endian: the low bytes of the union */
    if (f->present_bit >= 0) {
        memcpy(&present, row + 8, 8);
        present |= UINT64_C(1) << f->present_bit;
        memcpy(row + 8, &present, 8);
    }
    return true;
}

/* {"qty": 5, "ts": 0}: every field that is not optional must be there. */
static bool read_event(struct rdn_arena *a, const struct rdn_json_reader *r, const struct rdn_json *j, const struct rdn_wire_type *t, uint8_t *row) {
    const struct rdn_json *ts = rdn_json_get(r, j, "ts");
    struct rdn_wire_type time = { .kind = RDN_WIRE_TIME };
    struct rdn_wire_value v = { .i = 0 };
    if (j->kind != RDN_JSON_OBJECT || (ts && !rdn_wire_read(a, &time, ts->text, ts->len, &v)))
        return false;
    memcpy(row, &v.i, 8);
    for (uint16_t i = 0; i < t->nfields; i++) {
        const struct rdn_json *x = rdn_json_get(r, j, t->fields[i].name);
        if (x ? !put_field(a, r, &t->fields[i], x, row) : t->fields[i].present_bit < 0)
            return false;
    }
    return true;
}

static bool read_shaped(struct rdn_arena *a, const struct rdn_wire_type *t, const char *s, size_t n, struct rdn_wire_value *ret) {
    struct rdn_json_reader r;
    rdn_json_init(&r, a->mem);
    const struct rdn_json *j = rdn_json_read(&r, s, n);
    void *room = rdn_arena_alloc(a, rdn_wire_width(t) + 1);
    uint32_t at = 0, want = t->kind == RDN_WIRE_EVENT ? 0 : rdn_wire_width(t) / 8;
    bool good = j && room;
    if (good && t->kind == RDN_WIRE_EVENT)
        good = read_event(a, &r, j, t, room);
    else if (good)
        good = j->kind == RDN_JSON_ARRAY && read_array(a, &r, j, t, room, &at, want) && at == want;
    ret->p = room;
    rdn_json_fini(&r);
    return good;
}

bool rdn_wire_read(struct rdn_arena *a, const struct rdn_wire_type *t, const char *s, size_t n, struct rdn_wire_value *ret) {
    int32_t days;
    switch ((enum rdn_wire_kind)t->kind) {
    case RDN_WIRE_BOOL:
        ret->b = n == 4;
        return (n == 4 && !memcmp(s, "true", 4)) || (n == 5 && !memcmp(s, "false", 5));
    case RDN_WIRE_INT: return rdn_read_i64(s, n, &ret->i);
    case RDN_WIRE_FLOAT: return rdn_read_f64(s, n, &ret->f) && isfinite(ret->f);
    case RDN_WIRE_DEC: return read_dec(s, n, t->scale, &ret->i);
    case RDN_WIRE_TIME: return rdn_read_time(s, n, &ret->i) || rdn_read_i64(s, n, &ret->i);
    case RDN_WIRE_DUR: return rdn_read_dur(s, n, &ret->i) || rdn_read_i64(s, n, &ret->i);
    case RDN_WIRE_DATE:
        if (!rdn_read_date(s, n, &days))
            return false;
        ret->i = days;
        return true;
    case RDN_WIRE_ENUM: return read_enum(t, s, n, &ret->i);
    case RDN_WIRE_SYM: return rdn_read_i64(s, n, &ret->i) && ret->i >= 0 && ret->i <= UINT32_MAX;
    case RDN_WIRE_TEXT:
        ret->text.p = s;
        ret->text.n = (uint32_t)n;
        return n <= t->size && rdn_utf8_valid(s, n) && !memchr(s, 0, n);
    case RDN_WIRE_EVENT: case RDN_WIRE_FARR: case RDN_WIRE_IARR: return read_shaped(a, t, s, n, ret);
    }
    return false;
}

void rdn_wire_print(struct rdn_buf *b, const struct rdn_wire_type *t, const struct rdn_wire_value *v) {
    char text[RDN_TEXT_MAX];
    switch ((enum rdn_wire_kind)t->kind) {
    case RDN_WIRE_BOOL: rdn_buf_puts(b, v->b ? "true" : "false"); return;
    case RDN_WIRE_FLOAT: rdn_buf_put(b, text, rdn_text_float(text, v->f)); return;
    case RDN_WIRE_DEC: rdn_buf_put(b, text, rdn_text_dec(text, v->i, t->scale)); return;
    case RDN_WIRE_TIME: rdn_buf_put(b, text, rdn_text_time(text, v->i)); return;
    case RDN_WIRE_DUR: rdn_buf_put(b, text, rdn_text_dur(text, v->i)); return;
    case RDN_WIRE_DATE: rdn_buf_put(b, text, rdn_text_date(text, (int32_t)v->i)); return;
    case RDN_WIRE_ENUM: rdn_buf_puts(b, v->i < t->nnames ? t->names[v->i] : "?"); return;
    case RDN_WIRE_TEXT: rdn_buf_put(b, v->text.p, v->text.n); return;
    case RDN_WIRE_INT: case RDN_WIRE_SYM: rdn_buf_put(b, text, rdn_text_i64(text, v->i)); return;
    case RDN_WIRE_EVENT: case RDN_WIRE_FARR: case RDN_WIRE_IARR: return;      /* never an answer */
    }
}

bool rdn_golden_fits(const struct rdn_wire_type *t, const struct rdn_golden *g, enum rdn_outcome out, const struct rdn_wire_value *v) {
    if (g->undefined)
        return out == RDN_OUT_UNDEFINED;
    if (out != RDN_OUT_VALUE)
        return false;
    if (t->kind == RDN_WIRE_FLOAT)
        return v->f == g->want.f || fabs(v->f - g->want.f) <= g->tolerance;
    if (t->kind == RDN_WIRE_TEXT)
        return v->text.n == g->want.text.n && !memcmp(v->text.p, g->want.text.p, v->text.n);
    return t->kind == RDN_WIRE_BOOL ? v->b == g->want.b : v->i == g->want.i;
}

/* ---- the file ---- */
struct rows {
    struct rdn_arena *a;
    const struct rdn_wfunc *fns; uint32_t nfns;
    const char *file;
    struct cell head[MAX_CELLS]; uint32_t nhead;
    struct rdn_golden *out; uint32_t n, cap, line;
    redan_error *reterr;
};
__attribute__((format(printf, 2, 3))) static int bad(struct rows *r, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    int rc = rdn_fail(r->reterr, PLUGIN, "R4208", "%s", text);
    if (r->reterr) {
        r->reterr->line = r->line;
        snprintf(r->reterr->where, sizeof r->reterr->where, "%.95s", r->file);
    }
    return rc;
}

/* Cells of one line; quoted ones are unescaped into the arena. -1: a quote is left open or there are too many. */
static int split(struct rows *r, const char *p, const char *end, struct cell *ret) {
    int n = 0;
    for (;; p++) {
        if (n == MAX_CELLS)
            return -1;
        struct cell *c = &ret[n++];
        if (p < end && *p == '"') {
            char *to = rdn_arena_alloc(r->a, (size_t)(end - p) + 1);
            size_t k = 0;
            if (!to)
                return -1;
            for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
                to[k++] = *p;
                p += *p == '"';
            }
            if (p == end)
                return -1;
            p++;
            *c = (struct cell){ to, k };
        } else {
            const char *from = p;
            while (p < end && *p != ',')
                p++;
            *c = (struct cell){ from, (size_t)(p - from) };
        }
        if (p == end)
            return n;
        if (*p != ',')
            return -1;
    }
}

static bool is(const struct cell *c, const char *s) { return c->n == strlen(s) && !memcmp(c->p, s, c->n); }

static int column(const struct rows *r, const char *name) {
    for (uint32_t i = 1; i < r->nhead; i++)
        if (is(&r->head[i], name))
            return (int)i;
    return -1;
}

static struct rdn_golden *more(struct rows *r) {
    if (r->n == r->cap) {
        uint32_t cap = r->cap ? r->cap * 2 : 64;
        struct rdn_golden *p = rdn_new_n(r->a, struct rdn_golden, cap);
        if (!p)
            return NULL;
        if (r->n)
            memcpy(p, r->out, sizeof *p * r->n);
        r->out = p;
        r->cap = cap;
    }
    return &r->out[r->n++];
}

static int take_answer(struct rows *r, const struct rdn_wfunc *f, const struct cell *cells, struct rdn_golden *g) {
    int at = column(r, "answer"), tol = column(r, "tolerance");
    g->undefined = is(&cells[at], "undefined");
    if (!g->undefined && !rdn_wire_read(r->a, &f->ret, cells[at].p, cells[at].n, &g->want))
        return bad(r, "answer '%.*s' is no value of the declared type", (int)(cells[at].n < 60 ? cells[at].n : 60), cells[at].p);
    if (tol >= 0 && cells[tol].n && (!rdn_read_f64(cells[tol].p, cells[tol].n, &g->tolerance) || !(g->tolerance >= 0)))
        return bad(r, "tolerance '%.*s' is no number", (int)(cells[tol].n < 60 ? cells[tol].n : 60), cells[tol].p);
    return 0;
}

static int take_row(struct rows *r, const struct rdn_wfunc *f, const struct cell *cells) {
    struct rdn_wire_value *args = rdn_new_n(r->a, struct rdn_wire_value, f->ncols + 1);
    struct rdn_golden *g = args ? more(r) : NULL;
    if (!g)
        return rdn_fail(r->reterr, NOMEM, "", "golden rows");
    *g = (struct rdn_golden){ .fn = (uint32_t)(f - r->fns), .line = r->line, .args = args };
    for (uint32_t i = 0; i < f->ncols; i++) {
        int at = column(r, f->params[i].name);
        if (at < 0)
            return bad(r, "no column '%.60s'", f->params[i].name);
        if (!rdn_wire_read(r->a, &f->params[i].type, cells[at].p, cells[at].n, &args[i]))
            return bad(r, "'%.*s' is no value for '%.60s'", (int)(cells[at].n < 60 ? cells[at].n : 60), cells[at].p, f->params[i].name);
    }
    return take_answer(r, f, cells, g);
}

static int take_line(struct rows *r, const char *p, const char *end) {
    struct cell cells[MAX_CELLS];
    int n = split(r, p, end, cells);
    if (n < 0)
        return bad(r, "an open quote, or more than %d cells", MAX_CELLS);
    if (is(&cells[0], "function")) {
        memcpy(r->head, cells, sizeof cells);
        r->nhead = (uint32_t)n;
        return column(r, "answer") > 0 ? 0 : bad(r, "no column 'answer'");
    }
    if (!r->nhead)
        return bad(r, "the first line names the columns: function,...,answer");
    if ((uint32_t)n != r->nhead)
        return bad(r, "%d cells, %u columns", n, r->nhead);
    for (uint32_t i = 0; i < r->nfns; i++)
        if (is(&cells[0], r->fns[i].name))
            return take_row(r, &r->fns[i], cells);
    return 0;                                           /* a function that these rules do not declare */
}

int rdn_rows_read(struct rdn_arena *a, const struct rdn_wfunc *fns, uint32_t nfns, const char *file, const char *csv, size_t n, struct rdn_golden **ret,
                  uint32_t *ret_n, redan_error *reterr) {
    struct rows r = { .a = a, .fns = fns, .nfns = nfns, .file = file, .reterr = reterr };
    const char *p = csv, *stop = csv + n;
    while (p < stop) {
        const char *nl = memchr(p, '\n', (size_t)(stop - p)), *end = nl ? nl : stop;
        const char *last = end > p && end[-1] == '\r' ? end - 1 : end;
        r.line++;
        if (last > p && *p != '#') {
            int rc = take_line(&r, p, last);
            if (rc < 0)
                return rc;
        }
        p = end + 1;
    }
    *ret = r.out;
    *ret_n = r.n;
    return 0;
}
