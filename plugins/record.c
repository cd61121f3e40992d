/* SPDX-License-Identifier: Apache-2.0
 * record.c: calls as lines of JSON that redan.testing and `redan plugin test` make again (python/redan/_recorded.py has the format).
 * `raw` and `values` are the bytes as they lie in the pages; `args` is for people. On the lane's thread, when it was asked for. */
#include <string.h>
#include "plugins/layout.h"
#include "plugins/parts.h"

static void put_hex(struct rdn_buf *b, const uint8_t *p, size_t n) {
    static const char digits[] = "0123456789ABCDEF";
    rdn_buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        rdn_buf_putc(b, digits[p[i] >> 4]);
        rdn_buf_putc(b, digits[p[i] & 15]);
    }
    rdn_buf_putc(b, '"');
}

static void put_text(struct rdn_buf *b, struct rdn_buf *text) { rdn_buf_json(b, rdn_buf_str(text), text->n); }

static void put_type(struct rdn_buf *b, const struct rdn_wire_type *t) {
    struct rdn_buf text;
    rdn_buf_init(&text, b->mem);
    rdn_layout_type(&text, t);
    put_text(b, &text);
    if (t->kind == RDN_WIRE_EVENT) {
        text.n = 0;
        rdn_layout_canon(&text, t);
        rdn_buf_putc(b, ',');
        put_text(b, &text);
    }
    rdn_buf_fini(&text);
}

void rdn_record_value(const struct rdn_wire_type *t, const uint8_t *from, struct rdn_wire_value *ret) {
    int32_t day;
    *ret = (struct rdn_wire_value){ .i = 0 };
    switch ((enum rdn_wire_kind)t->kind) {
    case RDN_WIRE_BOOL: ret->b = *from != 0; return;
    case RDN_WIRE_ENUM: ret->i = *from; return;
    case RDN_WIRE_DATE:
        memcpy(&day, from, sizeof day);
        ret->i = day;
        return;
    case RDN_WIRE_TEXT:
        ret->text.p = (const char *)from;
        ret->text.n = (uint32_t)strnlen((const char *)from, t->size);
        return;
    case RDN_WIRE_EVENT: case RDN_WIRE_FARR: case RDN_WIRE_IARR: ret->p = from; return;
    case RDN_WIRE_INT: case RDN_WIRE_FLOAT: case RDN_WIRE_DEC: case RDN_WIRE_TIME: case RDN_WIRE_DUR: case RDN_WIRE_SYM:
        memcpy(&ret->i, from, rdn_wire_width(t));
        return;
    }
}

void rdn_record_bytes(const struct rdn_wire_type *t, const struct rdn_wire_value *v, uint8_t *to) {
    uint32_t width = rdn_wire_width(t);
    int32_t day = (int32_t)v->i;
    memset(to, 0, width);
    if (t->kind == RDN_WIRE_BOOL)
        *to = v->b;
    else if (t->kind == RDN_WIRE_ENUM)
        *to = (uint8_t)v->i;
    else if (t->kind == RDN_WIRE_DATE)
        memcpy(to, &day, sizeof day);
    else if (t->kind == RDN_WIRE_TEXT)
        memcpy(to, v->text.p, v->text.n < width ? v->text.n : width);
    else
        memcpy(to, &v->i, width < 8 ? width : 8);
}

static void put_args(struct rdn_buf *b, const struct rdn_wfunc *f, const struct rdn_req *q, uint32_t nrows) {
    struct rdn_buf text;
    rdn_buf_init(&text, b->mem);
    for (uint32_t i = 0; i < f->ncols; i++) {
        const struct rdn_wcolumn *c = &f->cols[i];
        rdn_buf_puts(b, i ? ",\"" : "\"");
        rdn_buf_puts(b, f->params[i].name);
        rdn_buf_puts(b, "\":[");
        for (uint32_t row = 0; row < nrows; row++) {
            struct rdn_wire_value v;
            rdn_record_value(&c->t, (const uint8_t *)q + c->off + (size_t)row * c->width, &v);
            text.n = 0;
            if (c->t.kind != RDN_WIRE_EVENT)
                rdn_wire_print(&text, &c->t, &v);
            rdn_buf_puts(b, row ? "," : "");
            put_text(b, &text);
        }
        rdn_buf_putc(b, ']');
    }
    rdn_buf_fini(&text);
}

static void put_columns(struct rdn_buf *b, const struct rdn_wfunc *f, const struct rdn_req *q, uint32_t nrows) {
    for (uint32_t i = 0; i < f->ncols; i++) {
        rdn_buf_printf(b, "%s\"%s\":", i ? "," : "", f->params[i].name);
        put_hex(b, (const uint8_t *)q + f->cols[i].off, (size_t)f->cols[i].width * nrows);
    }
}

static void put_answers(struct rdn_buf *b, const struct rdn_wfunc *f, uint32_t nrows, const struct rdn_wire_value *ret, const uint8_t *outs) {
    uint8_t bytes[260];
    rdn_buf_puts(b, "\"outcomes\":[");
    for (uint32_t i = 0; i < nrows; i++)
        rdn_buf_printf(b, "%s\"%s\"", i ? "," : "", rdn_outcome_text((enum rdn_outcome)outs[i]));
    rdn_buf_puts(b, "],\"values\":[");
    for (uint32_t i = 0; i < nrows; i++) {
        rdn_buf_puts(b, i ? "," : "");
        if (outs[i] != RDN_OUT_VALUE) {
            rdn_buf_puts(b, "null");
            continue;
        }
        rdn_record_bytes(&f->ret, &ret[i], bytes);
        put_hex(b, bytes, f->ret_width);
    }
    rdn_buf_putc(b, ']');
}

/* Late, dead and not ready say nothing about the function: they cannot be asked for again. */
bool rdn_record_repeatable(enum rdn_outcome out) {
    return out == RDN_OUT_VALUE || out == RDN_OUT_UNDEFINED || out == RDN_OUT_EXCEPTION || out == RDN_OUT_BAD_VALUE;
}

void rdn_record_call(const struct rdn_wlane *l, const struct rdn_req *q, const struct rdn_wire_value *ret, const uint8_t *outs) {
    const struct rdn_plugins *ps = l->plugin->ps;
    const struct rdn_wfunc *f = l->fn;
    struct rdn_buf b;
    for (uint32_t i = 0; i < l->nrows; i++)
        if (!rdn_record_repeatable((enum rdn_outcome)outs[i]))
            return;
    rdn_buf_init(&b, ps->mem);
    rdn_buf_printf(&b, "{\"schema\":\"redan.calls/1\",\"fn\":\"%s\",\"now\":%lld,\"rows\":%u,\"params\":[", f->name, (long long)q->now_ns, l->nrows);
    for (uint32_t i = 0; i < f->ncols; i++) {
        rdn_buf_printf(&b, "%s[\"%s\",", i ? "," : "", f->params[i].name);
        put_type(&b, &f->params[i].type);
        rdn_buf_putc(&b, ']');
    }
    rdn_buf_puts(&b, "],\"returns\":");
    put_type(&b, &f->ret);
    rdn_buf_puts(&b, ",\"args\":{");
    put_args(&b, f, q, l->nrows);
    rdn_buf_puts(&b, "},\"raw\":{");
    put_columns(&b, f, q, l->nrows);
    rdn_buf_puts(&b, "},");
    put_answers(&b, f, l->nrows, ret, outs);
    rdn_buf_puts(&b, "}\n");
    if (!b.failed)
        ps->opt.record(ps->opt.record_ctx, b.p, b.n);
    rdn_buf_fini(&b);
}
