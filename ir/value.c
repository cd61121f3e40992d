/* SPDX-License-Identifier: Apache-2.0
 * value.c: values as text, as hashes, and in event rows.
 *
 * rdn_row_field, rdn_row_valid  [any] [hot]
 * rdn_value_hash                [any] [hot]
 * rdn_value_text, _json         [any]        off the hot path: records, messages, explain */
#include "base/hash.h"
#include "base/text.h"
#include "ir/ir.h"
#include <math.h>
#include <string.h>

static const char *text_of(const struct rdn_syms *syms, const struct rdn_type *t, const struct rdn_cell *c, uint32_t *ret_len) {
    *ret_len = 0;
    if (t->kind == RDN_K_SYM) {
        bool known = syms && c->i >= 0 && c->i < (int64_t)rdn_sym_count(syms);
        return known ? rdn_sym_text(syms, (uint32_t)c->i, ret_len) : "";
    }
    if (t->kind == RDN_K_ENUM) {
        const char *s = (uint64_t)c->i < t->n ? t->members[c->i] : "";
        *ret_len = (uint32_t)strlen(s);
        return s;
    }
    *ret_len = c->t.len;
    return c->t.p;
}

static uint64_t float_bits(double v) {
    uint64_t b = 0x7ff8000000000000u;                    /* one NaN, whatever the CPU made */
    v += 0.0;                                            /* one zero */
    if (v == v)
        memcpy(&b, &v, sizeof b);
    return b;
}

uint64_t rdn_value_hash(const struct rdn_ir *ir, const struct rdn_type *t, const struct rdn_cell *c) {
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_SYM:
        if (c->i >= 0 && c->i < (int64_t)rdn_sym_count(ir->syms))
            return rdn_mix64(rdn_sym_hash(ir->syms, (uint32_t)c->i));
        return rdn_mix64(RDN_FNV64_INIT);
    case RDN_K_STR: case RDN_K_TEXT:
        return rdn_mix64(rdn_fnv64(c->t.p, c->t.len));
    case RDN_K_FLOAT:
        return rdn_mix64(float_bits(c->f));
    case RDN_K_DEC:
        return rdn_mix64((uint64_t)c->d);
    case RDN_K_BOOL: case RDN_K_INT: case RDN_K_TIME: case RDN_K_DUR: case RDN_K_DATE: case RDN_K_ENUM:
        return rdn_mix64((uint64_t)c->i);
    case RDN_K_ARR: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT:
        break;
    }
    return 0;                                            /* nothing hashes those */
}

/* The two text forms differ in quotes, in a float's last ".0", and in what an undefined value is. */
struct form { struct rdn_buf *b; const struct rdn_syms *syms; bool json; };

static void put_quoted(const struct form *f, const char *s, size_t n) {
    if (f->json)
        rdn_buf_json(f->b, s, n);
    else
        rdn_buf_put(f->b, s, n);
}

static void put_float(const struct form *f, double v) {
    char s[RDN_TEXT_MAX];
    size_t n = f->json ? rdn_text_float(s, v) : rdn_text_float_short(s, v);
    if (isfinite(v))
        rdn_buf_put(f->b, s, n);
    else
        put_quoted(f, s, n);
}

/* Elements of an array from *at on; `dim` 0 is the outer one. */
static void put_array(const struct form *f, const struct rdn_type *t, const struct rdn_cell *c, unsigned dim, uint32_t *at) {
    rdn_buf_putc(f->b, '[');
    for (unsigned i = 0; i < t->dim[dim]; i++) {
        if (i)
            rdn_buf_putc(f->b, ',');
        if (dim == 0 && t->ndim == 2)                  /* written so that gcc -O3 sees the recursion end */
            put_array(f, t, c, dim + 1, at);
        else if (t->elem == RDN_K_FLOAT)
            put_float(f, c->v[(*at)++]);
        else {
            char s[RDN_TEXT_MAX];
            rdn_buf_put(f->b, s, rdn_text_i64(s, c->w[(*at)++]));
        }
    }
    rdn_buf_putc(f->b, ']');
}

static void put_value(const struct form *f, const struct rdn_type *t, const struct rdn_cell *c) {
    char s[RDN_TEXT_MAX];
    uint32_t len, at = 0;
    const char *p;
    if (c->cause) {
        rdn_buf_puts(f->b, f->json ? "null" : "undefined");
        return;
    }
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL: rdn_buf_puts(f->b, c->i ? "true" : "false"); return;
    case RDN_K_INT: rdn_buf_put(f->b, s, rdn_text_i64(s, c->i)); return;
    case RDN_K_FLOAT: put_float(f, c->f); return;
    case RDN_K_DEC: put_quoted(f, s, rdn_text_dec(s, c->d, t->scale)); return;
    case RDN_K_TIME: case RDN_K_DUR:
        if (f->json)
            rdn_buf_put(f->b, s, rdn_text_i64(s, c->i));
        else
            rdn_buf_put(f->b, s, t->kind == RDN_K_TIME ? rdn_text_time(s, c->i) : rdn_text_dur(s, c->i));
        return;
    case RDN_K_DATE: put_quoted(f, s, rdn_text_date(s, (int32_t)c->i)); return;
    case RDN_K_SYM: case RDN_K_STR: case RDN_K_ENUM: case RDN_K_TEXT:
        p = text_of(f->syms, t, c, &len);
        put_quoted(f, p, len);
        return;
    case RDN_K_ARR: put_array(f, t, c, 0, &at); return;
    case RDN_K_EVENT: rdn_buf_puts(f->b, t->members[0]); return;
    case RDN_K_NONE: case RDN_K_COUNT: break;
    }
    rdn_buf_puts(f->b, f->json ? "null" : "none");
}

void rdn_value_text(struct rdn_buf *b, const struct rdn_syms *syms, const struct rdn_type *t, const struct rdn_cell *c) {
    put_value(&(struct form){ b, syms, false }, t, c);
}

void rdn_value_json(struct rdn_buf *b, const struct rdn_syms *syms, const struct rdn_type *t, const struct rdn_cell *c) {
    put_value(&(struct form){ b, syms, true }, t, c);
}

/* ---- rows ---- */

static bool present(const struct rdn_field *f, const uint8_t *row) {
    uint64_t bits;
    if (!f->optional)
        return true;
    memcpy(&bits, row + 8, sizeof bits);
    return bits >> f->present_bit & 1;
}

static uint64_t load(const uint8_t *p, unsigned size) {
    uint64_t v = 0;
    memcpy(&v, p, size);                                 /* little endian, as the executors that read rows are */
    return v;
}

void rdn_row_field(const struct rdn_event *ev, const struct rdn_field *f, const uint8_t *row, struct rdn_cell *ret) {
    (void)ev;
    const uint8_t *p = row + f->offset;
    ret->cause = present(f, row) ? RDN_DEFINED : RDN_CAUSE_MISSING;
    if (ret->cause)
        return;
    switch ((enum rdn_kind)f->type->kind) {
    case RDN_K_BOOL: case RDN_K_ENUM: ret->i = *p; return;
    case RDN_K_INT: case RDN_K_TIME: case RDN_K_DUR: ret->i = (int64_t)load(p, 8); return;
    case RDN_K_FLOAT: memcpy(&ret->f, p, sizeof ret->f); return;
    case RDN_K_DEC: ret->d = (int64_t)load(p, 8); return;
    case RDN_K_DATE: ret->i = (int32_t)(uint32_t)load(p, 4); return;
    case RDN_K_SYM: ret->i = (int64_t)load(p, 4); return;
    case RDN_K_STR:
        ret->t.p = (const char *)p;
        ret->t.len = (uint32_t)strnlen((const char *)p, f->type->n);
        return;
    case RDN_K_ARR: ret->v = (const double *)(const void *)p; return;
    case RDN_K_TEXT: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT: break;
    }
    ret->i = 0;                                          /* not types of a field */
}

/* Nothing but zeros behind the first zero: no byte that is not 0 stands behind one that is. Eight at a time, without a jump to be wrong
 * about: in `some` the top bit of every byte that is not 0. */
static bool str_valid(const uint8_t *p, size_t n) {
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t before = 0x80, bad = 0;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = n - i >= 8 ? (uint64_t)load(p + i, 8) : 0;
        if (n - i < 8)
            memcpy(&w, p + i, n - i);
        uint64_t some = (((w & low) + low) | w) & ~low;
        bad |= some & ~(some << 8 | before);
        before = some >> 56;
    }
    return !bad;
}

static bool value_valid(const struct rdn_type *t, const uint8_t *p, uint32_t nsyms) {
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL: return *p <= 1;
    case RDN_K_ENUM: return *p < t->n;
    case RDN_K_SYM: return load(p, 4) < nsyms;
    case RDN_K_STR: return str_valid(p, t->n);
    default: return true;
    }
}

/* Field by field: an optional one that is absent may hold anything. */
static __attribute__((noinline)) bool valid_fields(const struct rdn_event *ev, const uint8_t *row, uint32_t nsyms) {
    for (uint32_t i = 0; i < ev->nchecked; i++) {
        const struct rdn_field *f = &ev->fields[ev->checked[i]];
        if (present(f, row) && !value_valid(f->type, row + f->offset, nsyms))
            return false;
    }
    return true;
}

/* Numbers alone, all of them at once: nearly always all are good. */
static bool column_good(const struct rdn_type *t, const uint8_t *p, uint32_t n, uint32_t nsyms) {
    uint32_t most = t->kind == RDN_K_BOOL ? 2 : t->n;
    bool bad = t->kind == RDN_K_STR;
    if (t->kind == RDN_K_BOOL || t->kind == RDN_K_ENUM) {
        for (uint32_t i = 0; i < n; i++)
            bad |= p[i] >= most;
    } else if (t->kind == RDN_K_SYM) {
        for (uint32_t i = 0; i < n; i++)
            bad |= load(p + 4 * (size_t)i, 4) >= nsyms;
    }
    return !bad;
}
uint32_t rdn_columns_valid(const struct rdn_event *ev, const void *const *columns, uint32_t n, uint32_t nsyms) {
    const uint8_t *bits = columns[1];
    for (uint32_t i = 0; i < ev->nchecked; i++) {
        const struct rdn_field *f = &ev->fields[ev->checked[i]];
        const uint8_t *p = columns[2 + ev->checked[i]];
        if (column_good(f->type, p, n, nsyms))
            continue;
        for (uint32_t k = 0; k < n; k++)
            if (!value_valid(f->type, p + (size_t)f->size * k, nsyms) && (!f->optional || load(bits + 8 * (size_t)k, 8) >> f->present_bit & 1))
                n = k;
    }
    return n;
}

static bool valid_texts(const struct rdn_event *ev, const uint8_t *row) {
    uint64_t bits = 0;
    for (const struct rdn_text_check *t = ev->texts, *end = t + ev->ntexts; t < end; t++) {
        if (t->present)
            memcpy(&bits, row + 8, sizeof bits);
        if ((bits & t->present) == t->present && !str_valid(row + t->at, t->n))
            return false;
    }
    return true;
}

/* Mostly every byte is that of a value, whether there is one or not. */
bool rdn_row_valid(const struct rdn_event *ev, const uint8_t *row, uint32_t nsyms) {
    bool bad = false;
    for (uint32_t i = 0; i < ev->nsym_at; i++)
        bad |= load(row + ev->sym_at[i], 4) >= nsyms;
    for (uint32_t i = 0; i < ev->nbytes; i++)
        bad |= row[ev->bytes[i].at] >= ev->bytes[i].below;
    return bad ? valid_fields(ev, row, nsyms) : !ev->ntexts || valid_texts(ev, row);
}
