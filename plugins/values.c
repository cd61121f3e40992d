/* SPDX-License-Identifier: Apache-2.0
 * values.c: arguments into the request page; answers out of the worker's page, copied first and checked afterwards. [hot] */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "plugins/parts.h"

uint32_t rdn_wire_width(const struct rdn_wire_type *t) {
    switch ((enum rdn_wire_kind)t->kind) {
    case RDN_WIRE_BOOL: case RDN_WIRE_ENUM: return 1;
    case RDN_WIRE_DATE: case RDN_WIRE_SYM: return 4;
    case RDN_WIRE_INT: case RDN_WIRE_FLOAT: case RDN_WIRE_DEC: case RDN_WIRE_TIME: case RDN_WIRE_DUR: return 8;
    case RDN_WIRE_TEXT: case RDN_WIRE_EVENT: return t->size;
    case RDN_WIRE_FARR: case RDN_WIRE_IARR: return 8u * t->rows * (t->cols ? t->cols : 1u);
    }
    return 0;
}

static bool put_text(const struct rdn_wcolumn *c, uint8_t *to, const struct rdn_wire_value *v) {
    if (v->text.n > c->width)
        return false;
    memcpy(to, v->text.p, v->text.n);
    memset(to + v->text.n, 0, c->width - v->text.n);
    return true;
}

static bool put(const struct rdn_wcolumn *c, uint8_t *to, const struct rdn_wire_value *v) {
    int32_t date = (int32_t)v->i;
    switch ((enum rdn_wire_kind)c->t.kind) {
    case RDN_WIRE_BOOL:
        *to = v->b;
        return true;
    case RDN_WIRE_ENUM:
        *to = (uint8_t)v->i;
        return v->i >= 0 && v->i < c->t.nnames;
    case RDN_WIRE_DATE: case RDN_WIRE_SYM:
        memcpy(to, &date, sizeof date);
        return c->t.kind == RDN_WIRE_SYM || date == v->i;
    case RDN_WIRE_INT: case RDN_WIRE_FLOAT: case RDN_WIRE_DEC: case RDN_WIRE_TIME: case RDN_WIRE_DUR:
        memcpy(to, &v->i, 8);                           /* a float's bits are the same eight bytes of the union */
        return true;
    case RDN_WIRE_TEXT: return put_text(c, to, v);
    case RDN_WIRE_EVENT: case RDN_WIRE_FARR: case RDN_WIRE_IARR:
        memcpy(to, v->p, c->width);
        return true;
    }
    return false;
}

bool rdn_values_put(const struct rdn_wfunc *p, struct rdn_req *req, const struct rdn_wire_value *args, uint32_t nrows) {
    for (uint32_t k = 0; k < p->ncols; k++) {
        const struct rdn_wcolumn *c = &p->cols[k];
        uint8_t *to = (uint8_t *)req + c->off;
        for (uint32_t row = 0; row < nrows; row++, to += c->width)
            if (!put(c, to, &args[(size_t)row * p->ncols + k]))
                return false;
    }
    return true;
}

/* The type's own rules; the bytes are in the lane's copy, so the worker cannot change them any more. */
static enum rdn_outcome take_text(struct rdn_wlane *l, uint32_t row, const uint8_t *from, struct rdn_wire_value *ret) {
    uint32_t width = l->fn->ret_width, n = (uint32_t)strnlen((const char *)from, width);
    for (uint32_t i = n; i < width; i++)
        if (from[i])
            return RDN_OUT_BAD_VALUE;
    if (!rdn_utf8_valid((const char *)from, n))
        return RDN_OUT_BAD_VALUE;
    memcpy(l->text[row], from, n);
    l->text[row][n] = 0;
    ret->text.p = l->text[row];
    ret->text.n = n;
    return RDN_OUT_VALUE;
}

static enum rdn_outcome take(struct rdn_wlane *l, uint32_t row, struct rdn_wire_value *ret) {
    const struct rdn_wfunc *p = l->fn;
    const uint8_t *from = l->copy + (size_t)row * p->ret_width;
    int32_t date;
    double f;
    switch ((enum rdn_wire_kind)p->ret.kind) {
    case RDN_WIRE_BOOL:
        ret->b = *from == 1;
        return *from <= 1 ? RDN_OUT_VALUE : RDN_OUT_BAD_VALUE;
    case RDN_WIRE_ENUM:
        ret->i = *from;
        return *from < p->ret.nnames ? RDN_OUT_VALUE : RDN_OUT_BAD_VALUE;
    case RDN_WIRE_DATE:
        memcpy(&date, from, sizeof date);
        ret->i = date;
        return RDN_OUT_VALUE;
    case RDN_WIRE_FLOAT:
        memcpy(&f, from, sizeof f);
        ret->f = f;
        return isnan(f) ? RDN_OUT_UNDEFINED : isinf(f) ? RDN_OUT_BAD_VALUE : RDN_OUT_VALUE;
    case RDN_WIRE_INT: case RDN_WIRE_DEC: case RDN_WIRE_TIME: case RDN_WIRE_DUR:
        memcpy(&ret->i, from, 8);
        return RDN_OUT_VALUE;
    case RDN_WIRE_TEXT: return take_text(l, row, from, ret);
    case RDN_WIRE_SYM: case RDN_WIRE_EVENT: case RDN_WIRE_FARR: case RDN_WIRE_IARR: break;
    }
    return RDN_OUT_BAD_VALUE;
}

static enum rdn_outcome take_row(struct rdn_wlane *l, uint32_t row, uint8_t st, struct rdn_wire_value *ret) {
    struct rdn_wire_value v = { .i = 0 };
    enum rdn_outcome out = st == RDN_ROW_VALUE ? take(l, row, &v) : st == RDN_ROW_UNDEFINED ? RDN_OUT_UNDEFINED
                         : st == RDN_ROW_EXCEPTION ? RDN_OUT_EXCEPTION : st == RDN_ROW_BAD ? RDN_OUT_BAD_VALUE : RDN_OUT_BAD_REPLY;
    if (out == RDN_OUT_VALUE)
        *ret = v;
    return out;
}

static enum rdn_outcome of_status(uint32_t st) {
    switch (st) {
    case RDN_ST_OK: return RDN_OUT_VALUE;
    case RDN_ST_EXCEPTION: case RDN_ST_TIMEOUT:         /* in time: the plugin raised PluginTimeout itself */
        return RDN_OUT_EXCEPTION;
    case RDN_ST_MEMORY: return RDN_OUT_MEMORY;
    case RDN_ST_BAD_RESULT: return RDN_OUT_BAD_VALUE;
    default: return RDN_OUT_BAD_REPLY;
    }
}

/* Worse wins: a call of many rows is as bad as its worst row. */
static enum rdn_outcome worse(enum rdn_outcome a, enum rdn_outcome b) { return a > b ? a : b; }

enum rdn_outcome rdn_values_take(struct rdn_wlane *l, const struct rdn_res *res, struct rdn_wire_value *ret, uint8_t *outs) {
    const struct rdn_wfunc *p = l->fn;
    uint32_t status = rdn_load32(&res->status), nrows = rdn_load32(&res->nrows), n = l->nrows;
    enum rdn_outcome all = of_status(status);
    if (all == RDN_OUT_VALUE && nrows != n)
        all = RDN_OUT_BAD_REPLY;
    if (all != RDN_OUT_VALUE) {
        memset(outs, all, n);
        return all;
    }
    uint8_t *rows = l->copy + (size_t)p->ret_width * p->max_rows;
    memcpy(l->copy, res->values, (size_t)p->ret_width * n);
    memcpy(rows, res->row_status, n);
    for (uint32_t i = 0; i < n; i++) {
        outs[i] = (uint8_t)take_row(l, i, rows[i], &ret[i]);
        all = worse(all, outs[i]);
    }
    return all;
}
