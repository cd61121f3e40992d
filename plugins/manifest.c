/* SPDX-License-Identifier: Apache-2.0
 * manifest.c: see manifest.h. */
#include "plugins/manifest.h"
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>
#include "base/text.h"

enum type { TEXT, INT, CHOICE, LIST };
static const struct key { const char *path; enum type type; size_t at; uint32_t low, high; const char *def; } keys[] = {
#define KEY(path, type, member, low, high, def, meaning) { path, type, offsetof(struct rdn_manifest, member), low, high, def },
#include "plugins/manifest.def"
#undef KEY
};
enum { NKEYS = sizeof keys / sizeof *keys };
struct reader {
    struct rdn_arena *arena;
    struct rdn_manifest *m;
    struct rdn_report *report;
    const char *file;
    yaml_document_t doc;
    const yaml_node_t *native;                          /* the key */
    bool seen[NKEYS], bad;
};

__attribute__((format(printf, 4, 5))) static bool wrong(struct reader *r, const char *code, const yaml_node_t *n, const char *fmt, ...) {
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    rdn_find(r->report, code, r->file, n ? (uint32_t)n->start_mark.line + 1 : 1, n ? (uint32_t)n->start_mark.column + 1 : 1, "%s", text);
    r->bad = true;
    return false;
}

static yaml_node_t *node(struct reader *r, int i) { return yaml_document_get_node(&r->doc, i); }

static const char *scalar(struct reader *r, const yaml_node_t *n, const char *what) {
    if (!n || n->type != YAML_SCALAR_NODE) {
        wrong(r, "R4203", n, "%s: a single value expected", what);
        return NULL;
    }
    if (memchr(n->data.scalar.value, 0, n->data.scalar.length)) {
        wrong(r, "R4203", n, "%s: a zero byte in a text", what);
        return NULL;
    }
    return rdn_arena_strndup(r->arena, (const char *)n->data.scalar.value, n->data.scalar.length);
}

static bool unknown(struct reader *r, const yaml_node_t *n, const char *section, const char *key, const char *const *known, size_t nknown) {
    int at = rdn_nearest(key, known, nknown);
    const char *dot = *section ? "." : "";
    if (at >= 0)
        return wrong(r, "R4203", n, "unknown key '%s%s%.60s', did you mean '%s%s%s'?", section, dot, key, section, dot, known[at]);
    return wrong(r, "R4203", n, "unknown key '%s%s%.60s'", section, dot, key);
}

/* ---- values of fixed keys ---- */
static bool whole(struct reader *r, const yaml_node_t *n, const char *what, uint32_t low, uint32_t high, uint32_t *ret) {
    int64_t x = 0;
    const char *s = scalar(r, n, what);
    if (!s)
        return false;
    if (!rdn_read_i64(s, strlen(s), &x) || x < low || x > high)
        return low == high ? wrong(r, "R4203", n, "%s: %u expected, '%.40s' found", what, low, s)
                           : wrong(r, "R4203", n, "%s: a whole number from %u to %u expected, '%.40s' found", what, low, high, s);
    *ret = (uint32_t)x;
    return true;
}

static bool choice(struct reader *r, const yaml_node_t *n, const char *what, const char *words, const char **ret) {
    const char *s = scalar(r, n, what);
    size_t len = s ? strlen(s) : 0;
    for (const char *p = words; s && *p; p += strcspn(p, " "), p += *p == ' ')
        if (len && strcspn(p, " ") == len && !memcmp(p, s, len)) {
            *ret = s;
            return true;
        }
    return s ? wrong(r, "R4203", n, "%s: one of %s expected, '%.40s' found", what, words, s) : false;
}

static bool list(struct reader *r, const yaml_node_t *n, const char *what, uint32_t max, struct rdn_manifest_list *ret) {
    if (!n || n->type != YAML_SEQUENCE_NODE)
        return wrong(r, "R4203", n, "%s: a list [a, b] expected", what);
    ret->line = (uint32_t)n->start_mark.line + 1;
    ret->col = (uint32_t)n->start_mark.column + 1;
    for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++) {
        const char *s = scalar(r, node(r, *i), what);
        if (!s)
            return false;
        if (ret->n == max)
            return wrong(r, "R4203", n, "%s: at most %u entries", what, max);
        ret->items[ret->n++] = s;
    }
    return true;
}

static bool take_key(struct reader *r, size_t k, const yaml_node_t *n) {
    const struct key *key = &keys[k];
    void *at = (char *)r->m + key->at;
    const char *what = key->path;
    if (r->seen[k])
        return wrong(r, "R4203", n, "%s stands twice", what);
    r->seen[k] = true;
    switch (key->type) {
    case INT: return whole(r, n, what, key->low, key->high, at);
    case CHOICE: return choice(r, n, what, key->def, at);
    case LIST: return list(r, n, what, key->high, at);
    case TEXT: break;
    }
    const char *s = scalar(r, n, what);
    if (s && (!*s || strlen(s) > key->high))
        return wrong(r, "R4203", n, "%s: 1 to %u bytes expected", what, key->high);
    *(const char **)at = s;
    return s != NULL;
}

/* ---- mappings ---- */
typedef bool take_fn(struct reader *, const char *key, const yaml_node_t *key_node, const yaml_node_t *val, void *ctx);
static bool each(struct reader *r, const yaml_node_t *n, const char *what, take_fn *take, void *ctx) {
    if (!n || n->type != YAML_MAPPING_NODE)
        return wrong(r, "R4203", n, "%s: a mapping expected", what);
    bool good = true;
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
        const yaml_node_t *k = node(r, p->key);
        const char *key = scalar(r, k, what);
        good &= key && take(r, key, k, node(r, p->value), ctx);
    }
    return good;
}

static bool take_in_section(struct reader *r, const char *key, const yaml_node_t *kn, const yaml_node_t *val, void *ctx) {
    const char *section = ctx, *known[NKEYS];
    size_t n = 0, len = strlen(section);
    for (size_t i = 0; i < NKEYS; i++) {
        const char *dot = strchr(keys[i].path, '.');
        if ((dot ? (size_t)(dot - keys[i].path) : 0) != len || memcmp(keys[i].path, section, len) != 0)
            continue;
        known[n] = dot ? dot + 1 : keys[i].path;
        if (!strcmp(known[n++], key))
            return take_key(r, i, val);
    }
    return unknown(r, kn, section, key, known, n);
}

static bool take_text(struct reader *r, const char *key, const yaml_node_t *kn, const yaml_node_t *val, void *ctx) {
    struct rdn_manifest_fn *f = ctx;
    uint32_t size = 0;
    if (f->ntexts == RDN_MANIFEST_TEXTS)
        return wrong(r, "R4203", kn, "text: at most %d columns", RDN_MANIFEST_TEXTS);
    if (!whole(r, val, "text", 1, 255, &size))
        return false;
    f->texts[f->ntexts++] = (struct rdn_manifest_text){ key, size };
    return true;
}

static bool truth(struct reader *r, const yaml_node_t *n, const char *what, bool *ret) {
    const char *s = scalar(r, n, what);
    if (s && strcmp(s, "true") != 0 && strcmp(s, "false") != 0)
        return wrong(r, "R4203", n, "%s: true or false expected, '%.40s' found", what, s);
    *ret = s && *s == 't';
    return s != NULL;
}

static bool take_function_key(struct reader *r, const char *key, const yaml_node_t *kn, const yaml_node_t *val, void *ctx) {
    static const char *const known[] = { "signature", "batch", "text", "symbol" };
    struct rdn_manifest_fn *f = ctx;
    if (!strcmp(key, "signature")) {
        f->signature = scalar(r, val, "signature");
        f->line = val ? (uint32_t)val->start_mark.line + 1 : f->line;
        f->col = val ? (uint32_t)val->start_mark.column + 1 : f->col;
        return f->signature != NULL;
    }
    if (!strcmp(key, "symbol"))
        return (f->symbol = scalar(r, val, "symbol")) != NULL;
    if (!strcmp(key, "batch"))
        return truth(r, val, "batch", &f->batch);
    if (!strcmp(key, "text"))
        return each(r, val, "text", take_text, f);
    return unknown(r, kn, "functions.NAME", key, known, 4);
}

static bool identifier(const char *s) {
    bool good = isalpha((unsigned char)*s) || *s == '_';
    for (const char *p = s; *p; p++)
        good = good && (isalnum((unsigned char)*p) || *p == '_');
    return good && strlen(s) <= 64;
}

static bool take_function(struct reader *r, const char *key, const yaml_node_t *kn, const yaml_node_t *val, void *ctx) {
    (void)ctx;
    if (!identifier(key))
        return wrong(r, "R4203", kn, "'%.60s' is no name of a function", key);
    if (r->m->nfns == RDN_MANIFEST_FNS)
        return wrong(r, "R4203", kn, "at most %d functions", RDN_MANIFEST_FNS);
    for (uint32_t i = 0; i < r->m->nfns; i++)
        if (!strcmp(r->m->fns[i].name, key))
            return wrong(r, "R4203", kn, "function '%s' stands twice", key);
    struct rdn_manifest_fn *f = &r->m->fns[r->m->nfns++];
    *f = (struct rdn_manifest_fn){ .name = key, .line = (uint32_t)kn->start_mark.line + 1, .col = (uint32_t)kn->start_mark.column + 1 };
    return each(r, val, "functions.NAME", take_function_key, f) && (f->signature || wrong(r, "R4203", kn, "function '%s' has no signature", key));
}

/* Which YAML words are no texts: a tunable keeps the type it was written in. */
static enum rdn_manifest_tag tag_of(const yaml_node_t *n, const char *s) {
    int64_t i;
    double d;
    if (n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return RDN_TAG_TEXT;
    if (!strcmp(s, "true") || !strcmp(s, "false"))
        return RDN_TAG_BOOL;
    return rdn_read_i64(s, strlen(s), &i) ? RDN_TAG_INT : rdn_read_f64(s, strlen(s), &d) && !__builtin_isinf(d) ? RDN_TAG_FLOAT : RDN_TAG_TEXT;
}

static bool take_pair(struct reader *r, const char *key, const yaml_node_t *kn, const yaml_node_t *val, void *ctx) {
    bool data = ctx;
    struct rdn_manifest_pair *list = data ? r->m->data : r->m->config;
    uint32_t *n = data ? &r->m->ndata : &r->m->nconfig;
    const char *what = data ? "data" : "config", *s = scalar(r, val, what);
    if (!s)
        return false;
    if (*n == 64)
        return wrong(r, "R4203", kn, "%s: at most 64 entries", what);
    if (data ? !rdn_plain_name(s) : !identifier(key))
        return wrong(r, "R4203", data ? val : kn, "%s: '%.60s' is no plain name", what, data ? s : key);
    list[(*n)++] = (struct rdn_manifest_pair){ key, s, tag_of(val, s), (uint32_t)kn->start_mark.line + 1, (uint32_t)kn->start_mark.column + 1 };
    return true;
}

static bool take_top(struct reader *r, const char *key, const yaml_node_t *kn, const yaml_node_t *val, void *ctx) {
    static const char *const known[] = { "schema", "plugin", "functions", "limits", "state", "config", "data", "selftest", "native", "cfn" };
    static char data_flag;
    (void)ctx;
    if (!strcmp(key, "schema"))
        return take_in_section(r, key, kn, val, (void *)(uintptr_t)"");
    if (!strcmp(key, "functions") || !strcmp(key, "cfn"))
        return each(r, val, key, take_function, NULL);
    if (!strcmp(key, "config") || !strcmp(key, "data"))
        return each(r, val, key, take_pair, *key == 'd' ? &data_flag : NULL);
    if (!strcmp(key, "native"))
        r->native = kn;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(key, known[i]))
            return each(r, val, key, take_in_section, (void *)(uintptr_t)known[i]);
    return unknown(r, kn, "", key, known, sizeof known / sizeof *known);
}

/* ---- the whole ---- */
bool rdn_plain_name(const char *s) {
    size_t n = strlen(s);
    return n >= 1 && n <= 63 && *s != '.' &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

static bool semantic(const char *v) {
    int dots = 0;
    const char *p = v;
    for (; isdigit((unsigned char)*p) || (*p == '.' && dots < 2); p++) {
        if (*p == '.' && (p == v || !isdigit((unsigned char)p[-1])))
            return false;
        dots += *p == '.';
    }
    if (dots != 2 || !isdigit((unsigned char)p[-1]) || (*p && *p != '-' && *p != '+'))
        return false;
    while (isalnum((unsigned char)*p) || *p == '-' || *p == '+' || *p == '.')      /* it becomes part of a file's name */
        p++;
    return !*p;
}

static bool reverse_domain(const char *id) {
    bool dot = false;
    for (const char *p = id; *p; p++) {
        bool good = islower((unsigned char)*p) || isdigit((unsigned char)*p) || ((*p == '-' || *p == '_') && p > id) ||
                    (*p == '.' && p > id && p[-1] != '.' && p[1]);
        if (!good)
            return false;
        dot = dot || *p == '.';
    }
    return dot;
}

static void defaults(struct rdn_manifest *m) {
    *m = (struct rdn_manifest){ .kind = "python", .group = "default", .python = ">=3.11", .instances = "per-lane", .state = "none",
                                .rows = "tests/rows.csv", .trust = "worker", .mem_cap_mib = 8, .time_cap_ms = 50, .max_rows = 1024 };
}

static void names(struct reader *r, const yaml_node_t *root) {
    const struct rdn_manifest *m = r->m;
    if (m->id && !reverse_domain(m->id))
        wrong(r, "R4203", root, "plugin.id: a reverse-domain name like org.example.fraud expected, '%s' found", m->id);
    if (m->version && !semantic(m->version))
        wrong(r, "R4203", root, "plugin.version: three numbers like 1.0.0 expected, '%s' found", m->version);
    const char *const plain[] = { m->entry, m->rules };
    for (size_t i = 0; i < 2; i++)
        if (plain[i] && !rdn_plain_name(plain[i]))
            wrong(r, "R4203", root, "plugin.%s: '%s' is no plain file name", i ? "rules" : "entry", plain[i]);
    for (uint32_t i = 0; i < m->modules.n; i++)
        if (!rdn_plain_name(m->modules.items[i]))
            rdn_find(r->report, "R4203", r->file, m->modules.line, m->modules.col, "plugin.modules: '%.60s' is no plain file name", m->modules.items[i]), r->bad = true;
    if (!strcmp(m->trust, "inlane"))
        wrong(r, "R4206", r->native, "native.trust: inlane, code in the lane's own process, is not in this build; leave it out, and a worker confines the library");
    if (m->rows[0] == '/' || strstr(m->rows, ".."))
        wrong(r, "R4203", root, "selftest.rows: a path inside the plugin expected");
}

static void check(void *ctx) {
    struct reader *r = ctx;
    yaml_node_t *root = yaml_document_get_root_node(&r->doc);
    if (!root) {
        wrong(r, "R4201", NULL, "the manifest is empty");
        return;
    }
    if (!each(r, root, "the manifest", take_top, NULL))
        return;
    for (size_t i = 0; i < NKEYS; i++)
        if (!strcmp(keys[i].def, "required") && !r->seen[i])
            wrong(r, "R4203", root, "%s is missing", keys[i].path);
        else if (!strcmp(keys[i].path, "selftest.rows"))
            r->m->rows_given = r->seen[i];
    if (!r->m->nfns)
        wrong(r, "R4203", root, "functions is missing: name at least one function and its signature");
    names(r, root);
}

bool rdn_manifest_read(struct rdn_arena *a, const char *file, const char *text, size_t n, struct rdn_manifest *ret, struct rdn_report *report) {
    struct reader r = { .arena = a, .m = ret, .report = report, .file = file };
    yaml_parser_t parser;
    bool oom = false;
    defaults(ret);
    if (n > RDN_MANIFEST_MAX) {
        rdn_find(report, "R4201", file, 0, 0, "the manifest is larger than %d KiB", RDN_MANIFEST_MAX >> 10);
        return false;
    }
    if (!yaml_parser_initialize(&parser)) {
        rdn_find(report, "R4201", file, 0, 0, "out of memory");
        return false;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (!yaml_parser_load(&parser, &r.doc)) {
        rdn_find(report, "R4201", file, (uint32_t)parser.problem_mark.line + 1, (uint32_t)parser.problem_mark.column + 1, "%s",
                 parser.problem ? parser.problem : "not YAML");
        r.bad = true;
    } else {
        oom = !rdn_arena_guard(a, check, &r);           /* what libyaml holds must not stay behind */
        yaml_document_delete(&r.doc);
    }
    yaml_parser_delete(&parser);
    if (oom && a->oom)
        longjmp(*a->oom, 1);
    if (oom)
        wrong(&r, "R4201", NULL, "out of memory");
    return !r.bad;
}

void rdn_manifest_config(const struct rdn_manifest *m, struct rdn_buf *b) {
    rdn_buf_putc(b, '{');
    for (uint32_t i = 0; i < m->nconfig; i++) {
        const struct rdn_manifest_pair *p = &m->config[i];
        rdn_buf_puts(b, i ? "," : "");
        rdn_buf_json(b, p->name, strlen(p->name));
        rdn_buf_putc(b, ':');
        double d = 0;
        int64_t x = 0;
        char num[RDN_TEXT_MAX];
        if (p->tag == RDN_TAG_TEXT)
            rdn_buf_json(b, p->value, strlen(p->value));
        else if (p->tag == RDN_TAG_FLOAT && rdn_read_f64(p->value, strlen(p->value), &d))
            rdn_buf_put(b, num, rdn_text_float(num, d));
        else if (p->tag == RDN_TAG_INT && rdn_read_i64(p->value, strlen(p->value), &x))
            rdn_buf_put(b, num, rdn_text_i64(num, x));
        else
            rdn_buf_puts(b, p->value);
    }
    rdn_buf_putc(b, '}');
}
