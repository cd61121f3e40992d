/* SPDX-License-Identifier: Apache-2.0
 * line.c: see line.h. */
#include "host/line.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

enum { SYM_MAX = 255, DEC_DIGITS = 30 };

struct rdn_line_reader {
    const struct rdn_mem *mem;
    struct rdn_syms *syms;
    const struct rdn_ir *ir;
    struct rdn_json_reader json;
    uint8_t *row; size_t row_size;
    double *array;                                       /* room for the largest array */
};
enum { ARRAY_BYTES = 4096 * 8 };

int rdn_line_open(const struct rdn_mem *mem, struct rdn_syms *syms, struct rdn_line_reader **ret) {
    struct rdn_line_reader *r = rdn_zalloc(mem, sizeof *r);
    if (!r)
        return REDAN_E_NOMEM;
    r->mem = mem;
    r->syms = syms;
    rdn_json_init(&r->json, mem);
    r->array = rdn_zalloc(mem, ARRAY_BYTES);
    if (!r->array) {
        rdn_line_close(r);
        return REDAN_E_NOMEM;
    }
    *ret = r;
    return 0;
}

void rdn_line_close(struct rdn_line_reader *r) {
    if (!r)
        return;
    rdn_json_fini(&r->json);
    rdn_free(r->mem, r->row, r->row_size);
    rdn_free(r->mem, r->array, ARRAY_BYTES);
    rdn_free(r->mem, r, sizeof *r);
}

void rdn_line_rules(struct rdn_line_reader *r, const struct rdn_ir *ir) { r->ir = ir; }

bool rdn_line_bad(struct rdn_line *l, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->why, sizeof l->why, fmt, ap);
    va_end(ap);
    /* What is cut stays text: the reason goes into a JSON line. */
    if (n >= (int)sizeof l->why)
        l->why[rdn_utf8_cut(l->why, sizeof l->why, sizeof l->why - 5)] = 0;
    l->kind = RDN_LINE_BAD;
    return false;
}

/* ---- values ---- */
static bool read_float(const struct rdn_json *j, double *ret) {
    if (j->kind == RDN_JSON_STRING) {
        bool minus = rdn_json_is(j, "-inf");
        if (!minus && !rdn_json_is(j, "inf") && !rdn_json_is(j, "nan"))
            return false;
        *ret = rdn_json_is(j, "nan") ? __builtin_nan("") : minus ? -__builtin_inf() : __builtin_inf();
        return true;
    }
    if (j->kind != RDN_JSON_INT && j->kind != RDN_JSON_REAL)
        return false;
    if (!rdn_read_f64(j->text, j->len, ret) || __builtin_isinf(*ret))
        return false;
    if (j->kind == RDN_JSON_INT && *ret == 0)
        *ret = 0.0;                                      /* the integer -0 is 0 */
    return true;
}

static bool read_int(const struct rdn_json *j, int64_t *ret) { return j->kind == RDN_JSON_INT && rdn_read_i64(j->text, j->len, ret); }

/* -?digits[.digits], at most 30 each, exact at the scale and in int64. */
static bool read_dec(const struct rdn_json *j, unsigned scale, rdn_i128 *ret) {
    if (j->kind != RDN_JSON_STRING)
        return false;
    const char *p = j->text, *end = p + j->len;          /* true and [] have no text */
    bool minus = p < end && *p == '-';
    p += minus;
    rdn_i128 m = 0;
    const rdn_i128 limit = (rdn_i128)1 << 100;           /* far beyond int64: later digits only need to be digits */
    unsigned n = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++, n++)
        if (m < limit)
            m = m * 10 + (*p - '0');
    if (n == 0 || n > DEC_DIGITS)
        return false;
    unsigned places = 0, given = 0;
    if (p < end && *p == '.') {
        for (p++; p < end && *p >= '0' && *p <= '9'; p++, given++) {
            if (places < scale && m < limit)
                m = m * 10 + (*p - '0'), places++;
            else if (places >= scale && *p != '0')
                return false;
        }
        if (given == 0 || given > DEC_DIGITS)
            return false;
    }
    for (; places < scale && m < limit; places++)
        m *= 10;
    m = minus ? -m : m;
    if (p != end || !rdn_fits_i64(m))
        return false;
    *ret = m;
    return true;
}

static bool read_text(struct rdn_syms *syms, const struct rdn_json *j, const struct rdn_type *t, struct rdn_cell *ret) {
    if (j->kind != RDN_JSON_STRING)
        return false;
    if (t->kind == RDN_K_ENUM) {
        for (ret->i = 0; ret->i < t->n; ret->i++)
            if (rdn_json_is(j, t->members[ret->i]))
                return true;
        return false;
    }
    if (t->kind != RDN_K_TEXT && (j->len > (t->kind == RDN_K_STR ? t->n : SYM_MAX) || memchr(j->text, 0, j->len)))
        return false;
    if (t->kind == RDN_K_SYM) {
        uint32_t id;
        if (rdn_sym_intern(syms, j->text, j->len, &id) < 0)
            return false;
        ret->i = id;
        return true;
    }
    ret->t.p = j->text;
    ret->t.len = j->len;
    return true;
}

static bool read_array(struct rdn_json_reader *r, const struct rdn_json *j, const struct rdn_type *t, unsigned dim, void *room, uint32_t *at) {
    if (j->kind != RDN_JSON_ARRAY || j->n != t->dim[dim])
        return false;
    for (const struct rdn_json *x = rdn_json_first(r, j); x; x = rdn_json_next(r, x)) {
        bool ok = dim + 1u < t->ndim          ? read_array(r, x, t, dim + 1, room, at)
                  : t->elem == RDN_K_INT      ? read_int(x, &((int64_t *)room)[(*at)++])
                                              : read_float(x, &((double *)room)[(*at)++]);
        if (!ok)
            return false;
    }
    return true;
}

bool rdn_line_value(struct rdn_json_reader *r, struct rdn_syms *syms, const struct rdn_json *j, const struct rdn_type *t, void *room, struct rdn_cell *ret) {
    int32_t days;
    uint32_t n = 0;
    *ret = (struct rdn_cell){ 0 };
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL:
        ret->i = j->kind == RDN_JSON_TRUE;
        return j->kind == RDN_JSON_TRUE || j->kind == RDN_JSON_FALSE;
    case RDN_K_INT:
    case RDN_K_DUR:
        return read_int(j, &ret->i);
    case RDN_K_FLOAT:
        return read_float(j, &ret->f);
    case RDN_K_DEC:
        return read_dec(j, t->scale, &ret->d);
    case RDN_K_TIME:
        return j->kind == RDN_JSON_STRING ? rdn_read_time(j->text, j->len, &ret->i) : read_int(j, &ret->i);
    case RDN_K_DATE:
        if (j->kind != RDN_JSON_STRING || !rdn_read_date(j->text, j->len, &days))
            return false;
        ret->i = days;
        return true;
    case RDN_K_SYM:
    case RDN_K_STR:
    case RDN_K_ENUM:
    case RDN_K_TEXT:
        return read_text(syms, j, t, ret);
    case RDN_K_ARR:
        ret->v = room;
        return read_array(r, j, t, 0, room, &n);
    case RDN_K_EVENT:
    case RDN_K_NONE:
    case RDN_K_COUNT:
        break;
    }
    return false;
}

void rdn_row_put(const struct rdn_field *f, uint8_t *row, const struct rdn_cell *c) {
    uint8_t *p = row + f->offset;
    if (f->optional) {
        uint64_t bits;
        memcpy(&bits, row + 8, sizeof bits);
        bits |= (uint64_t)1 << f->present_bit;
        memcpy(row + 8, &bits, sizeof bits);
    }
    int64_t i64 = f->type->kind == RDN_K_DEC ? (int64_t)c->d : c->i;
    switch ((enum rdn_kind)f->type->kind) {
    case RDN_K_STR:
        memset(p, 0, f->size);
        memcpy(p, c->t.p, c->t.len);
        return;
    case RDN_K_ARR:
        memcpy(p, c->v, f->size);
        return;
    default:
        memcpy(p, &i64, f->size);                        /* little endian: the low bytes; floats by their bits */
    }
}

/* ---- events ---- */
static uint32_t find_name(const struct rdn_json *j, const void *rows, uint32_t n, size_t stride) {
    for (uint32_t i = 0; i < n; i++) {
        const char *name = *(const char *const *)((const char *)rows + i * stride);
        if (strlen(name) == j->len && memcmp(name, j->text, j->len) == 0)
            return i;
    }
    return UINT32_MAX;
}
/* Every declaration starts with its name. */
#define FIND(j, rows, n) ((j) && (j)->kind == RDN_JSON_STRING ? find_name((j), (rows), (n), sizeof *(rows)) : UINT32_MAX)

static bool room_for_row(struct rdn_line_reader *r, uint32_t size, struct rdn_line *l) {
    if (r->row_size < size) {
        uint8_t *p = rdn_realloc(r->mem, r->row, r->row_size, size);
        if (!p)
            return rdn_line_bad(l, "out of memory");
        r->row = p;
        r->row_size = size;
    }
    memset(r->row, 0, size);
    return true;
}

/* Fills the fields; members come in any order, the last of a name counts, unknown ones are refused. */
static bool read_fields(struct rdn_line_reader *r, const struct rdn_event *e, const struct rdn_json *f, struct rdn_line *l) {
    const struct rdn_json *given[256] = { 0 };
    for (const struct rdn_json *j = f ? rdn_json_first(&r->json, f) : NULL; j; j = rdn_json_next(&r->json, j)) {
        uint32_t i = 0;
        while (i < e->nfields && (strlen(e->fields[i].name) != j->name_len || memcmp(e->fields[i].name, j->name, j->name_len) != 0))
            i++;
        if (i == e->nfields)
            return rdn_line_bad(l, "%s has no field '%.*s'", e->name, (int)rdn_utf8_cut(j->name, j->name_len, 60), j->name);
        given[i] = j;
    }
    for (uint32_t i = 0; i < e->nfields; i++) {
        const struct rdn_field *x = &e->fields[i];
        struct rdn_cell c;
        if (!given[i] || given[i]->kind == RDN_JSON_NULL) {
            if (!x->optional)
                return rdn_line_bad(l, "field %s is missing", x->name);
            continue;
        }
        if (!rdn_line_value(&r->json, r->syms, given[i], x->type, r->array, &c))
            return rdn_line_bad(l, "field %s has a value of another type", x->name);
        rdn_row_put(x, r->row, &c);
    }
    return true;
}

static bool read_event(struct rdn_line_reader *r, const struct rdn_json *o, struct rdn_line *l) {
    uint32_t i = FIND(rdn_json_get(&r->json, o, "type"), r->ir->events, r->ir->nevents);
    if (i == UINT32_MAX)
        return rdn_line_bad(l, "unknown event type");
    const struct rdn_event *e = &r->ir->events[i];
    const struct rdn_json *ts = rdn_json_get(&r->json, o, "ts"), *f = rdn_json_get(&r->json, o, "f");
    const struct rdn_type time = { .kind = RDN_K_TIME };
    struct rdn_cell c;
    if (!room_for_row(r, e->size, l))
        return false;
    if (!ts || !rdn_line_value(&r->json, r->syms, ts, &time, r->array, &c))
        return rdn_line_bad(l, "ts is not a time");
    if (f && f->kind != RDN_JSON_OBJECT)
        return rdn_line_bad(l, "f is not an object");
    memcpy(r->row, &c.i, sizeof c.i);
    if (!read_fields(r, e, f, l))
        return false;
    l->kind = RDN_LINE_EVENT;
    l->index = i;
    l->row = r->row;
    return true;
}

/* ---- control lines ---- */
static bool read_columns(struct rdn_line_reader *r, const struct rdn_table *t, const struct rdn_json *vals, struct rdn_line *l) {
    for (const struct rdn_json *j = rdn_json_first(&r->json, vals); j; j = rdn_json_next(&r->json, j)) {
        bool known = false;
        for (uint32_t i = 0; i < t->ncols && !known; i++)
            known = strlen(t->cols[i].name) == j->name_len && memcmp(t->cols[i].name, j->name, j->name_len) == 0;
        if (!known)
            return rdn_line_bad(l, "%s has no column '%.*s'", t->name, (int)rdn_utf8_cut(j->name, j->name_len, 60), j->name);
    }
    for (uint32_t i = 0; i < t->ncols; i++) {
        const struct rdn_json *j = rdn_json_get(&r->json, vals, t->cols[i].name);
        if (!j)
            return rdn_line_bad(l, "column %s is missing", t->cols[i].name);
        if (!rdn_line_value(&r->json, r->syms, j, t->cols[i].type, r->array, &l->vals[i]))
            return rdn_line_bad(l, "column %s has a value of another type", t->cols[i].name);
    }
    return true;
}

static bool read_row(struct rdn_line_reader *r, const struct rdn_json *o, struct rdn_line *l) {
    l->index = FIND(rdn_json_get(&r->json, o, "row"), r->ir->tables, r->ir->ntables);
    if (l->index == UINT32_MAX || !r->ir->tables[l->index].host)
        return rdn_line_bad(l, "unknown host table");
    const struct rdn_table *t = &r->ir->tables[l->index];
    const struct rdn_json *key = rdn_json_get(&r->json, o, "key"), *vals = rdn_json_get(&r->json, o, "values");
    if (!key || key->kind != RDN_JSON_ARRAY || !vals || (vals->kind != RDN_JSON_OBJECT && vals->kind != RDN_JSON_NULL))
        return rdn_line_bad(l, "malformed control line");
    if (key->n != t->nkeys)
        return rdn_line_bad(l, "%s has %u key(s)", t->name, t->nkeys);
    uint32_t i = 0;
    for (const struct rdn_json *j = rdn_json_first(&r->json, key); j; j = rdn_json_next(&r->json, j), i++)
        if (!rdn_line_value(&r->json, r->syms, j, t->keys[i].type, r->array, &l->keys[i]))
            return rdn_line_bad(l, "key %s has a value of another type", t->keys[i].name);
    l->none = vals->kind == RDN_JSON_NULL;
    if (!l->none && !read_columns(r, t, vals, l))
        return false;
    l->kind = RDN_LINE_ROW;
    return true;
}

static bool read_setting(struct rdn_line_reader *r, const struct rdn_json *param, const struct rdn_json *call, const struct rdn_json *val, struct rdn_line *l) {
    if (!val || (param && param->kind != RDN_JSON_STRING) || (call && call->kind != RDN_JSON_STRING))
        return rdn_line_bad(l, "malformed control line");
    l->index = param ? FIND(param, r->ir->params, r->ir->nparams) : FIND(call, r->ir->calls, r->ir->ncalls);
    if (l->index == UINT32_MAX)
        return rdn_line_bad(l, "unknown %s", param ? "parameter" : "plugin");
    l->none = !param && val->kind == RDN_JSON_NULL;
    const struct rdn_type *t = param ? r->ir->params[l->index].type : r->ir->calls[l->index].rtype;
    if (!l->none && !rdn_line_value(&r->json, r->syms, val, t, r->array, &l->val))
        return rdn_line_bad(l, "the value has another type");
    l->kind = param ? RDN_LINE_PARAM : RDN_LINE_CALL;
    return true;
}

void rdn_line_read(struct rdn_line_reader *r, const char *line, size_t len, struct rdn_line *ret) {
    while (len && strchr(" \t\r\n", line[0]) && line[0])
        line++, len--;
    while (len && strchr(" \t\r\n", line[len - 1]) && line[len - 1])
        len--;
    ret->kind = RDN_LINE_EMPTY;
    if (!len)
        return;
    const struct rdn_json *o = rdn_json_read(&r->json, line, len);
    if (!o || o->kind != RDN_JSON_OBJECT) {
        rdn_line_bad(ret, "%s", o ? "not an object" : r->json.why);
        return;
    }
    const struct rdn_json *param = rdn_json_get(&r->json, o, "param"), *call = rdn_json_get(&r->json, o, "plugin");
    if (param || call)
        read_setting(r, param, call, rdn_json_get(&r->json, o, "value"), ret);
    else if (rdn_json_get(&r->json, o, "row"))
        read_row(r, o, ret);
    else
        read_event(r, o, ret);
}
