/* SPDX-License-Identifier: Apache-2.0
 * csv_yaml.c: reads the map of csv_map.h. Column names are free keys, which libcyaml's schemas cannot describe, so this walks
 * the document of libyaml, which libcyaml stands on. */
#include "tools/csv_map.h"
#include "base/text.h"
#include "base/tz.h"
#include "tools/tool.h"
#include <errno.h>
#include <string.h>
#include <yaml.h>

struct reader { struct csv_map *map; yaml_document_t doc; bool bad; };

__attribute__((format(printf, 3, 4))) static bool wrong(struct reader *r, const yaml_node_t *n, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s:%zu:%zu: R9001 %s\n", r->map->path, n ? n->start_mark.line + 1 : 1, n ? n->start_mark.column + 1 : 1, text);
    r->bad = true;
    return false;
}

static const char *scalar(struct reader *r, const yaml_node_t *n, const char *what) {
    if (!n || n->type != YAML_SCALAR_NODE) {
        wrong(r, n, "%s: a text expected", what);
        return NULL;
    }
    return rdn_arena_strndup(&r->map->arena, (const char *)n->data.scalar.value, n->data.scalar.length);
}

/* Calls `take` for every key of a mapping. */
typedef bool take_fn(struct reader *, const char *key, yaml_node_t *val, void *ctx);
static bool each_key(struct reader *r, yaml_node_t *n, const char *what, take_fn *take, void *ctx) {
    if (!n || n->type != YAML_MAPPING_NODE)
        return wrong(r, n, "%s: a mapping {key: value} expected", what);
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
        const char *key = scalar(r, yaml_document_get_node(&r->doc, p->key), what);
        if (!key || !take(r, key, yaml_document_get_node(&r->doc, p->value), ctx))
            return false;
    }
    return true;
}

static bool unknown(struct reader *r, const yaml_node_t *n, const char *key, const char *const *known, size_t nknown) {
    int at = rdn_nearest(key, known, nknown);
    return at >= 0 ? wrong(r, n, "unknown key '%.60s', did you mean '%s'?", key, known[at]) : wrong(r, n, "unknown key '%.60s'", key);
}

static bool number(struct reader *r, yaml_node_t *n, const char *what, int64_t low, int64_t high, int64_t *ret) {
    const char *s = scalar(r, n, what);
    if (!s || !rdn_read_i64(s, strlen(s), ret) || *ret < low || *ret > high)
        return wrong(r, n, "%s: a whole number from %lld to %lld expected", what, (long long)low, (long long)high);
    return true;
}

static bool take_when(struct reader *r, const char *key, yaml_node_t *val, void *ctx) {
    struct csv_entry *e = ctx;
    struct csv_when *w = rdn_push(&r->map->arena, &e->when);
    w->column = (struct csv_column){ key, -1 };
    if (!val || val->type != YAML_SEQUENCE_NODE)
        return wrong(r, val, "when: a list of values expected for column '%.60s'", key);
    for (yaml_node_item_t *i = val->data.sequence.items.start; i < val->data.sequence.items.top; i++) {
        const char *s = scalar(r, yaml_document_get_node(&r->doc, *i), "when");
        if (!s)
            return false;
        rdn_push_val(&r->map->arena, &w->values, s);
    }
    return true;
}

static bool take_value(struct reader *r, const char *key, yaml_node_t *val, void *ctx) {
    const char *to = scalar(r, val, "values");
    if (to)
        rdn_push_val(&r->map->arena, &((struct csv_field *)ctx)->values, ((struct csv_pair){ key, to }));
    return to != NULL;
}

static bool take_field_key(struct reader *r, const char *key, yaml_node_t *val, void *ctx) {
    static const char *const known[] = { "column", "const", "bucket", "values", "scale" };
    struct csv_field *f = ctx;
    int64_t n = 0;
    if (strcmp(key, "column") == 0)
        return (f->column.name = scalar(r, val, key)) != NULL;
    if (strcmp(key, "const") == 0)
        return (f->constant = scalar(r, val, key)) != NULL;
    if (strcmp(key, "values") == 0)
        return each_key(r, val, key, take_value, f);
    if (strcmp(key, "bucket") == 0) {
        bool good = number(r, val, key, 1, INT32_MAX, &n);
        f->bucket = (uint32_t)n;
        return good;
    }
    if (strcmp(key, "scale") == 0) {
        bool good = number(r, val, key, 0, 18, &n);
        f->scale = (int)n;
        return good;
    }
    return unknown(r, val, key, known, 5);
}

static bool take_field(struct reader *r, const char *key, yaml_node_t *val, void *ctx) {
    struct csv_field *f = rdn_push(&r->map->arena, &((struct csv_entry *)ctx)->fields);
    *f = (struct csv_field){ .name = key, .column = { NULL, -1 }, .scale = -1, .field = -1 };
    if (!each_key(r, val, key, take_field_key, f))
        return false;
    return !f->column.name == !f->constant ? wrong(r, val, "field '%.60s': one of column and const expected", key) : true;
}

static bool take_ts(struct reader *r, const char *key, yaml_node_t *val, void *ctx) {
    static const char *const known[] = { "column", "unit", "date", "zone" };
    static const struct { const char *name; int64_t ns; } units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
    struct csv_ts *t = ctx;
    const char *s = scalar(r, val, key);
    if (!s)
        return false;
    if (strcmp(key, "column") == 0)
        t->column = (struct csv_column){ s, -1 };
    else if (strcmp(key, "date") == 0)
        t->date = s;
    else if (strcmp(key, "zone") == 0)
        t->zone = s;
    else if (strcmp(key, "unit") != 0)
        return unknown(r, val, key, known, 4);
    else
        for (size_t i = 0; i < 4; i++)
            if (strcmp(s, units[i].name) == 0) {
                t->unit_ns = units[i].ns;
                t->has_unit = true;
            }
    return strcmp(key, "unit") != 0 || t->has_unit ? true : wrong(r, val, "unit: ns, us, ms or s expected");
}

/* ns of the local midnight that the column counts from. */
static bool resolve_base(struct reader *r, const yaml_node_t *n, struct csv_ts *t) {
    int32_t days;
    const struct rdn_tz *tz = rdn_tz_find(t->zone ? t->zone : "UTC", strlen(t->zone ? t->zone : "UTC"));
    if (!t->column.name)
        return wrong(r, n, "ts: a column expected");
    if (!tz)
        return wrong(r, n, "ts: unknown time zone '%.60s'", t->zone);
    if (!t->date)
        return t->zone ? wrong(r, n, "ts: zone goes with date") : true;
    if (!rdn_read_date(t->date, strlen(t->date), &days) || !t->has_unit)
        return wrong(r, n, "ts: date: YYYY-MM-DD and a unit expected");
    int64_t local = (int64_t)days * 86400, utc = local - rdn_tz_offset(tz, local);
    utc = local - rdn_tz_offset(tz, utc);                /* the offset in force at that midnight */
    t->base_ns = utc * 1000000000;
    return true;
}

static bool take_entry_key(struct reader *r, const char *key, yaml_node_t *val, void *ctx) {
    static const char *const known[] = { "event", "when", "ts", "fields" };
    struct csv_entry *e = ctx;
    if (strcmp(key, "event") == 0)
        return (e->event = scalar(r, val, key)) != NULL;
    if (strcmp(key, "when") == 0)
        return each_key(r, val, key, take_when, e);
    if (strcmp(key, "ts") == 0)
        return each_key(r, val, key, take_ts, &e->ts) && resolve_base(r, val, &e->ts);
    if (strcmp(key, "fields") == 0)
        return each_key(r, val, key, take_field, e);
    return unknown(r, val, key, known, 4);
}

static bool read_entries(struct reader *r) {
    yaml_node_t *root = yaml_document_get_root_node(&r->doc);
    if (!root || root->type != YAML_SEQUENCE_NODE)
        return wrong(r, root, "a list of entries expected: - {event: ..., ts: ..., fields: ...}");
    for (yaml_node_item_t *i = root->data.sequence.items.start; i < root->data.sequence.items.top; i++) {
        yaml_node_t *n = yaml_document_get_node(&r->doc, *i);
        struct csv_entry *e = rdn_push(&r->map->arena, &r->map->entries);
        if (!each_key(r, n, "entry", take_entry_key, e))
            return false;
        if (!e->event || !e->ts.column.name)
            return wrong(r, n, "an entry needs event and ts");
    }
    return true;
}

bool csv_yaml_read(struct csv_map *m, const char *path) {
    struct reader r = { .map = m };
    yaml_parser_t parser;
    FILE *f = fopen(path, "rb");
    m->path = path;
    if (!f)
        return usage("%s: %s", path, strerror(errno)), false;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_file(&parser, f);
    bool good = yaml_parser_load(&parser, &r.doc);
    if (!good) {
        fprintf(stderr, "%s:%zu:%zu: R9001 %s\n", path, parser.problem_mark.line + 1, parser.problem_mark.column + 1, parser.problem ? parser.problem : "not YAML");
    } else {
        good = read_entries(&r);
        yaml_document_delete(&r.doc);
    }
    yaml_parser_delete(&parser);
    fclose(f);
    return good;
}
