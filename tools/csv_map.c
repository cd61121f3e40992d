/* SPDX-License-Identifier: Apache-2.0
 * csv_map.c: CSV rows to events through a map. Quoted fields follow RFC 4180, but do not run over lines. */
#include "tools/csv_map.h"
#include "base/hash.h"
#include "base/text.h"
#include "tools/feed_in.h"
#include <string.h>

enum { COLUMNS = 256, ARRAY = 4096 * 8, ROW = 1 << 21 };
struct cells { const char *p[COLUMNS]; uint32_t len[COLUMNS]; int n; };


struct csv_map *csv_map_open(const char *path, const char *header) {
    struct csv_map *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    rdn_arena_init(&m->arena, &rdn_libc_mem);
    m->row = malloc(ROW);
    m->array = malloc(ARRAY);
    struct rdn_line l;
    uint64_t skipped;
    if (!m->row || !m->array || !csv_yaml_read(m, path)) {
        csv_map_close(m);
        return NULL;
    }
    if (header) {
        csv_map_read(m, header, strlen(header), &l, &skipped);
        if (l.kind == RDN_LINE_BAD) {
            usage("%s: %s", path, l.why);
            csv_map_close(m);
            return NULL;
        }
    }
    return m;
}

void csv_map_close(struct csv_map *m) {
    if (!m)
        return;
    rdn_arena_fini(&m->arena);
    free(m->row);
    free(m->array);
    free(m);
}

/* ---- columns ---- */
/* Splits in place; false: too many columns or a quote that does not end. Doubled quotes inside are kept single. */
static bool split(char *s, size_t len, struct cells *c) {
    char *end = s + len;
    for (c->n = 0; c->n < COLUMNS;) {
        char *o = s, *start = s;
        if (s < end && *s == '"') {
            for (s++; s < end && (*s != '"' || (s + 1 < end && s[1] == '"')); s++) {
                s += *s == '"';
                *o++ = *s;
            }
            if (s++ == end)
                return false;
        } else {
            for (; s < end && *s != ','; s++)
                o++;
        }
        c->p[c->n] = start;
        c->len[c->n++] = (uint32_t)(o - start);
        if (s >= end)
            return true;
        if (*s++ != ',')
            return false;
    }
    return false;
}

/* Every column the map names, one after another. */
static struct csv_column *next_column(struct csv_map *m, uint32_t *entry, uint32_t *at) {
    for (; *entry < m->entries.n; ++*entry, *at = 0) {
        struct csv_entry *e = &m->entries.v[*entry];
        uint32_t i = (*at)++;
        if (i == 0)
            return &e->ts.column;
        if (i <= e->when.n)
            return &e->when.v[i - 1].column;
        i -= e->when.n + 1;
        for (; i < e->fields.n; i++, ++*at)
            if (e->fields.v[i].column.name)
                return &e->fields.v[i].column;
    }
    return NULL;
}

static bool same(const struct cells *c, int at, const char *s) { return strlen(s) == c->len[at] && memcmp(s, c->p[at], c->len[at]) == 0; }

static void take_header(struct csv_map *m, const struct cells *c, struct rdn_line *ret) {
    uint32_t entry = 0, at = 0;
    for (struct csv_column *k; (k = next_column(m, &entry, &at));) {
        for (k->at = 0; k->at < c->n && !same(c, k->at, k->name);)
            k->at++;
        if (k->at == c->n) {
            rdn_line_bad(ret, "the header has no column '%s'", k->name);
            return;
        }
    }
    m->has_header = true;
    ret->kind = RDN_LINE_EMPTY;
}

/* ---- names ---- */
static bool resolve_entry(struct csv_map *m, struct csv_entry *e) {
    const struct rdn_event *ev = NULL;
    e->index = -1;
    for (uint32_t i = 0; i < m->ir->nevents; i++)
        if (strcmp(m->ir->events[i].name, e->event) == 0) {
            e->index = (int32_t)i;
            ev = &m->ir->events[i];
        }
    if (!ev)
        return usage("%s: the rules have no event '%s'", m->path, e->event), false;
    bool given[256] = { false };
    for (uint32_t i = 0; i < e->fields.n; i++) {
        struct csv_field *f = &e->fields.v[i];
        f->field = -1;
        for (uint32_t k = 0; k < ev->nfields; k++)
            if (strcmp(ev->fields[k].name, f->name) == 0)
                f->field = (int32_t)k;
        if (f->field < 0)
            return usage("%s: event %s has no field '%s'", m->path, ev->name, f->name), false;
        given[f->field] = true;
    }
    for (uint32_t k = 0; k < ev->nfields; k++)
        if (!given[k] && !ev->fields[k].optional)
            return usage("%s: event %s: field '%s' is missing", m->path, ev->name, ev->fields[k].name), false;
    return ev->size <= ROW;
}

bool csv_map_rules(struct csv_map *m, const struct rdn_ir *ir, struct rdn_syms *syms) {
    m->ir = ir;
    m->syms = syms;
    for (uint32_t i = 0; i < m->entries.n; i++)
        if (!resolve_entry(m, &m->entries.v[i]))
            return false;
    return true;
}

/* ---- values ---- */
/* A decimal text to whole units, exact. */
static bool read_scaled(const char *s, size_t n, unsigned scale, rdn_i128 *ret) {
    struct rdn_json j = { .kind = RDN_JSON_STRING, .text = s, .len = (uint32_t)n };
    const struct rdn_type t = { .kind = RDN_K_DEC, .scale = (uint8_t)scale };
    struct rdn_cell c;
    if (!rdn_line_value(NULL, NULL, &j, &t, NULL, &c))
        return false;
    *ret = c.d;
    return true;
}

static bool read_ts(const struct csv_ts *t, const struct cells *c, int64_t *ret) {
    const char *s = c->p[t->column.at];
    uint32_t n = c->len[t->column.at];
    if (!t->has_unit)
        return rdn_read_time(s, n, ret);
    unsigned digits = 0;
    for (int64_t u = t->unit_ns; u > 1; u /= 10)
        digits++;
    rdn_i128 v;
    if (!read_scaled(s, n, digits, &v) || !rdn_fits_i64(v + t->base_ns))
        return false;
    *ret = (int64_t)v + t->base_ns;
    return true;
}

static uint8_t json_kind(const struct rdn_type *t, const char *s, uint32_t n) {
    if (t->kind == RDN_K_INT || t->kind == RDN_K_DUR)
        return RDN_JSON_INT;
    if (t->kind == RDN_K_FLOAT)
        return n && (s[0] == 'n' || s[0] == 'i' || (n > 1 && s[1] == 'i')) ? RDN_JSON_STRING : RDN_JSON_REAL;
    if (t->kind == RDN_K_BOOL)
        return n == 1 && s[0] == '1' ? RDN_JSON_TRUE : n == 1 && s[0] == '0' ? RDN_JSON_FALSE
             : n == 4 && memcmp(s, "true", 4) == 0 ? RDN_JSON_TRUE : n == 5 && memcmp(s, "false", 5) == 0 ? RDN_JSON_FALSE : RDN_JSON_NULL;
    return RDN_JSON_STRING;
}

static bool read_field(struct csv_map *m, const struct csv_field *f, const struct rdn_type *t, const struct cells *c, struct rdn_cell *ret) {
    const char *s = f->constant ? f->constant : c->p[f->column.at];
    uint32_t n = f->constant ? (uint32_t)strlen(s) : c->len[f->column.at];
    char number[RDN_TEXT_MAX];
    for (uint32_t i = 0; i < f->values.n; i++)
        if (strlen(f->values.v[i].from) == n && memcmp(f->values.v[i].from, s, n) == 0) {
            s = f->values.v[i].to;
            n = (uint32_t)strlen(s);
            break;
        }
    if (f->bucket) {
        uint64_t h = rdn_mix64(rdn_fnv64(s, n));
        n = (uint32_t)rdn_text_i64(number, (int64_t)(((rdn_u128)h * f->bucket) >> 64));
        s = number;
    }
    if (f->scale >= 0 && t->kind == RDN_K_DEC) {
        rdn_i128 v, up;
        if (!read_scaled(s, n, 0, &v) || !rdn_dec_rescale(v, (unsigned)f->scale, t->scale, &up) || rdn_dec_cmp(v, (unsigned)f->scale, up, t->scale) != 0 ||
            !rdn_fits_i64(up))
            return false;
        *ret = (struct rdn_cell){ .d = up };
        return true;
    }
    struct rdn_json j = { .kind = json_kind(t, s, n), .text = s, .len = n };
    return t->kind != RDN_K_ARR && rdn_line_value(NULL, m->syms, &j, t, m->array, ret);
}

static bool matches(const struct csv_entry *e, const struct cells *c) {
    for (uint32_t i = 0; i < e->when.n; i++) {
        const struct csv_when *w = &e->when.v[i];
        bool found = false;
        for (uint32_t k = 0; k < w->values.n && !found; k++)
            found = same(c, w->column.at, w->values.v[k]);
        if (!found)
            return false;
    }
    return true;
}

static void take_row(struct csv_map *m, const struct csv_entry *e, const struct cells *c, struct rdn_line *ret) {
    const struct rdn_event *ev = &m->ir->events[e->index];
    int64_t ts;
    memset(m->row, 0, ev->size);
    if (!read_ts(&e->ts, c, &ts)) {
        rdn_line_bad(ret, "column %s is not a time", e->ts.column.name);
        return;
    }
    memcpy(m->row, &ts, sizeof ts);
    for (uint32_t i = 0; i < e->fields.n; i++) {
        const struct csv_field *f = &e->fields.v[i];
        const struct rdn_field *x = &ev->fields[f->field];
        struct rdn_cell v;
        if (x->optional && !f->constant && c->len[f->column.at] == 0)
            continue;
        if (!read_field(m, f, x->type, c, &v)) {
            rdn_line_bad(ret, "field %s has a value of another type", f->name);
            return;
        }
        rdn_row_put(x, m->row, &v);
    }
    ret->kind = RDN_LINE_EVENT;
    ret->index = (uint32_t)e->index;
    ret->row = m->row;
}

void csv_map_read(struct csv_map *m, const char *line, size_t len, struct rdn_line *ret, uint64_t *skipped) {
    static char copy[1 << 16];
    struct cells c;
    while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
        len--;
    ret->kind = RDN_LINE_EMPTY;
    if (!len)
        return;
    if (len >= sizeof copy) {
        rdn_line_bad(ret, "line longer than %zu bytes", sizeof copy);
        return;
    }
    memcpy(copy, line, len);
    copy[len] = 0;
    if (!rdn_utf8_valid(copy, len) || !split(copy, len, &c)) {
        rdn_line_bad(ret, "not CSV");
        return;
    }
    if (!m->has_header) {
        take_header(m, &c, ret);
        return;
    }
    uint32_t entry = 0, at = 0;
    for (struct csv_column *k; (k = next_column(m, &entry, &at));)
        if (k->at >= c.n) {
            rdn_line_bad(ret, "column %s is missing", k->name);
            return;
        }
    for (uint32_t i = 0; i < m->entries.n; i++)
        if (matches(&m->entries.v[i], &c)) {
            take_row(m, &m->entries.v[i], &c, ret);
            return;
        }
    ++*skipped;
}
