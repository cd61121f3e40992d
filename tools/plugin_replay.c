/* SPDX-License-Identifier: Apache-2.0
 * plugin_replay.c: the file tests/calls.jsonl of a plugin: calls that `redan run --record` or redan.testing wrote down are made again in
 * a confined worker and compared bit for bit. */
#include "tools/plugin_tool.h"
#include "plugins/layout.h"
#include "plugins/parts.h"
#include "base/json_read.h"
#include "base/text.h"
#include <errno.h>
#include <sodium.h>
#include <string.h>

enum { ROWS_MOST = 4096 };
struct replay {
    struct project *p;
    struct rdn_plugin *w;
    struct rdn_json_reader json;
    const char *file;
    uint32_t line, ran, failed;
    struct rdn_arena arena;                              /* of one line */
};

static bool differs(struct replay *r, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool differs(struct replay *r, const char *code, const char *fmt, ...) {
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    rdn_find(&r->p->report, code, r->file, r->line, 1, "%s", text);
    r->failed++;
    return false;
}

/* Exactly n bytes of hex digits into `to`. */
static bool from_hex(const struct rdn_json *j, uint8_t *to, size_t n) {
    size_t got;
    return j && j->kind == RDN_JSON_STRING && j->len == 2 * n && sodium_hex2bin(to, n, j->text, j->len, NULL, &got, NULL) == 0 && got == n;
}

/* The recorded type is the declared one; texts may have been recorded in another width, which comes back. */
static bool same_type(const struct rdn_json *j, const struct rdn_wire_type *t, uint32_t *ret_width) {
    struct rdn_buf b;
    unsigned size = 0;
    char text[32];
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_layout_type(&b, t);
    *ret_width = rdn_wire_width(t);
    bool same = j && rdn_json_is(j, rdn_buf_str(&b));
    rdn_buf_fini(&b);
    if (same || !j || j->kind != RDN_JSON_STRING || t->kind != RDN_WIRE_TEXT || j->len >= sizeof text)
        return same;
    snprintf(text, sizeof text, "%.*s", (int)j->len, j->text);
    if (sscanf(text, "str(%u)", &size) != 1 || !size || size > 256)
        return false;
    *ret_width = size;
    return true;
}

/* Columns of the line as arguments, row by row. NULL after a finding. */
static struct rdn_wire_value *arguments(struct replay *r, const struct rdn_json *line, const struct rdn_wfunc *f, uint32_t nrows) {
    const struct rdn_json *params = rdn_json_get(&r->json, line, "params"), *raw = rdn_json_get(&r->json, line, "raw");
    const struct rdn_json *p = params && params->kind == RDN_JSON_ARRAY && params->n == f->ncols ? rdn_json_first(&r->json, params) : NULL;
    struct rdn_wire_value *args = rdn_new_n(&r->arena, struct rdn_wire_value, (size_t)nrows * (f->ncols + 1));
    for (uint32_t i = 0; args && raw && i < f->ncols; i++, p = rdn_json_next(&r->json, p)) {
        const struct rdn_json *name = p && p->kind == RDN_JSON_ARRAY ? rdn_json_first(&r->json, p) : NULL, *type = name ? rdn_json_next(&r->json, name) : NULL;
        struct rdn_wire_type t = f->params[i].type;
        uint32_t width;
        if (!name || !rdn_json_is(name, f->params[i].name) || !same_type(type, &t, &width)) {
            differs(r, "R4222", "%s was recorded with another signature: parameter %u", f->name, i + 1);
            return NULL;
        }
        uint8_t *bytes = rdn_arena_alloc(&r->arena, (size_t)width * nrows + 8);
        if (!bytes || !from_hex(rdn_json_get(&r->json, raw, f->params[i].name), bytes, (size_t)width * nrows)) {
            differs(r, "R4208", "column '%s' is not %u rows of %u bytes", f->params[i].name, nrows, width);
            return NULL;
        }
        if (t.kind == RDN_WIRE_TEXT)
            t.size = width;
        for (uint32_t row = 0; row < nrows; row++)
            rdn_record_value(&t, bytes + (size_t)row * width, &args[(size_t)row * f->ncols + i]);
    }
    if (!args || !raw)
        differs(r, "R4208", "no columns");
    return raw ? args : NULL;
}

static bool told(struct replay *r, const struct rdn_wfunc *f, uint32_t row, const char *was, uint32_t n, const uint8_t *bytes, enum rdn_outcome out, const struct rdn_wire_value *v) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    if (bytes) {
        struct rdn_wire_value old;
        rdn_record_value(&f->ret, bytes, &old);
        rdn_wire_print(&b, &f->ret, &old);
    } else {
        rdn_buf_printf(&b, "%.*s", (int)(n < 40 ? n : 40), was);
    }
    rdn_buf_puts(&b, ", now ");
    if (out == RDN_OUT_VALUE)
        rdn_wire_print(&b, &f->ret, v);
    else
        rdn_buf_puts(&b, rdn_outcome_text(out));
    differs(r, "R4224", "%s row %u: recorded %s", f->name, row + 1, rdn_buf_str(&b));
    rdn_buf_fini(&b);
    return false;
}

/* One row's answer beside the recorded one. */
static bool same_row(struct replay *r, const struct rdn_wfunc *f, uint32_t row, const struct rdn_json *o, const struct rdn_json *v, enum rdn_outcome out,
                     const struct rdn_wire_value *got) {
    uint8_t want[260], have[260];
    bool value = v && v->kind != RDN_JSON_NULL;
    if (!o || o->kind != RDN_JSON_STRING || (value && !from_hex(v, want, f->ret_width)))
        return differs(r, "R4208", "the recorded answer of row %u cannot be read", row + 1);
    if (rdn_json_is(o, rdn_outcome_text(out)) && !value)
        return true;
    if (out == RDN_OUT_VALUE)
        rdn_record_bytes(&f->ret, got, have);
    if (value && out == RDN_OUT_VALUE && !memcmp(want, have, f->ret_width))
        return true;
    return told(r, f, row, o->text, o->len, value ? want : NULL, out, got);
}

/* As the golden rows: a deadline is real time, and one late answer says nothing about the plugin. */
static enum rdn_outcome call_rows(struct replay *r, uint32_t fn, const struct rdn_wire_value *args, uint32_t n, int64_t now, struct rdn_wire_value *ret, uint8_t *outs) {
    enum rdn_outcome out = RDN_OUT_NOT_READY;
    for (int i = 0; i < 3 && (out == RDN_OUT_NOT_READY || out == RDN_OUT_TIMEOUT); i++) {
        out = rdn_plugin_call_fn(r->w, fn, 0, args, r->w->fns[fn].ncols, n, now, 0, ret, outs);
        if (out == RDN_OUT_TIMEOUT || out == RDN_OUT_NOT_READY)
            rdn_plugin_settle(r->w, 0, INT64_C(3000000000));
    }
    return out;
}

static bool number(const struct rdn_json *j, int64_t *ret) { return j && j->kind == RDN_JSON_INT && rdn_read_i64(j->text, j->len, ret); }

static void one_call(struct replay *r, const struct rdn_json *line, uint32_t fn) {
    const struct rdn_wfunc *f = &r->w->fns[fn];
    const struct rdn_json *outs = rdn_json_get(&r->json, line, "outcomes"), *values = rdn_json_get(&r->json, line, "values");
    int64_t now = 0, rows = 0;
    if (!number(rdn_json_get(&r->json, line, "now"), &now) || !number(rdn_json_get(&r->json, line, "rows"), &rows) || rows < 1 || rows > ROWS_MOST ||
        !outs || outs->kind != RDN_JSON_ARRAY || outs->n != rows || !values || values->kind != RDN_JSON_ARRAY || values->n != rows) {
        differs(r, "R4208", "not a recorded call: now, rows, outcomes and values expected");
        return;
    }
    struct rdn_wire_value *args = arguments(r, line, f, (uint32_t)rows), *ret = args ? rdn_new_n(&r->arena, struct rdn_wire_value, (size_t)rows) : NULL;
    uint8_t *got = ret ? rdn_arena_alloc(&r->arena, (size_t)rows) : NULL;
    const struct rdn_json *o = rdn_json_first(&r->json, outs), *v = rdn_json_first(&r->json, values);
    for (uint32_t at = 0, k; got && at < rows; at += k) {
        k = (uint32_t)rows - at < rdn_plugin_rows_max(r->w, fn) ? (uint32_t)rows - at : rdn_plugin_rows_max(r->w, fn);
        call_rows(r, fn, &args[(size_t)at * f->ncols], k, now, &ret[at], &got[at]);
        for (uint32_t i = at; i < at + k; i++, o = rdn_json_next(&r->json, o), v = rdn_json_next(&r->json, v))
            if (!same_row(r, f, i, o, v, (enum rdn_outcome)got[i], &ret[i]))
                return;
    }
}

static void one_line(struct replay *r, const char *text, size_t n) {
    const struct rdn_json *line = rdn_json_read(&r->json, text, n), *name = line && line->kind == RDN_JSON_OBJECT ? rdn_json_get(&r->json, line, "fn") : NULL;
    const struct rdn_json *schema = name ? rdn_json_get(&r->json, line, "schema") : NULL;
    r->ran++;
    if (!schema || !rdn_json_is(schema, "redan.calls/1") || name->kind != RDN_JSON_STRING) {
        differs(r, "R4208", "not a line of redan.calls/1%s%s", r->json.why ? ": " : "", r->json.why ? r->json.why : "");
        return;
    }
    for (uint32_t i = 0; i < r->w->nfns; i++)
        if (rdn_json_is(name, r->w->fns[i].name)) {
            one_call(r, line, i);
            return;
        }
    differs(r, "R4211", "no function '%.*s' any more", (int)(name->len < 60 ? name->len : 60), name->text);
}

bool plugin_replay(struct project *p, struct rdn_plugin *w, const char *file, uint32_t *ret_ran, uint32_t *ret_failed) {
    struct replay r = { .p = p, .w = w, .file = file };
    FILE *f = fopen(file, "rb");
    char *line = NULL;
    size_t cap = 0;
    if (!f)
        return false;
    rdn_json_init(&r.json, &rdn_libc_mem);
    for (ssize_t n; (n = getdelim(&line, &cap, '\n', f)) > 0;) {
        r.line++;
        r.json.why = NULL;
        rdn_arena_init(&r.arena, &rdn_libc_mem);
        if (n > 1)
            one_line(&r, line, (size_t)n - (line[n - 1] == '\n'));
        rdn_arena_fini(&r.arena);
    }
    free(line);
    fclose(f);
    rdn_json_fini(&r.json);
    *ret_ran = r.ran;
    *ret_failed = r.failed;
    return true;
}
