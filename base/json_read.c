/* SPDX-License-Identifier: Apache-2.0
 * json_read.c: see json_read.h. One pass, no recursion beyond 32 levels. */
#include "base/json_read.h"
#include "base/text.h"
#include <string.h>

enum { DEPTH_MAX = 32 };

void rdn_json_init(struct rdn_json_reader *r, const struct rdn_mem *mem) { *r = (struct rdn_json_reader){ .mem = mem }; }

void rdn_json_fini(struct rdn_json_reader *r) {
    rdn_free(r->mem, r->nodes, r->cap * sizeof *r->nodes);
    rdn_free(r->mem, r->strings, r->size);
}

static bool fail(struct rdn_json_reader *r, const char *why) {
    if (!r->why)
        r->why = why;
    return false;
}

/* 0 when memory ends. */
static uint32_t add_node(struct rdn_json_reader *r) {
    if (r->n == r->cap) {
        uint32_t cap = r->cap ? r->cap * 2 : 64;
        struct rdn_json *p = rdn_realloc(r->mem, r->nodes, r->cap * sizeof *p, cap * sizeof *p);
        if (!p)
            return fail(r, "out of memory");
        r->nodes = p;
        r->cap = cap;
    }
    r->nodes[r->n] = (struct rdn_json){ 0 };
    return r->n++;
}

static void skip_space(struct rdn_json_reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n'))
        r->p++;
}

/* ---- strings ---- */
static int hex4(const char *p, const char *end) {
    int v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static size_t put_utf8(char *o, uint32_t c) {
    if (c < 0x80)
        return o[0] = (char)c, 1;
    if (c < 0x800)
        return o[0] = (char)(0xc0 | c >> 6), o[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return o[0] = (char)(0xe0 | c >> 12), o[1] = (char)(0x80 | (c >> 6 & 63)), o[2] = (char)(0x80 | (c & 63)), 3;
    return o[0] = (char)(0xf0 | c >> 18), o[1] = (char)(0x80 | (c >> 12 & 63)), o[2] = (char)(0x80 | (c >> 6 & 63)), o[3] = (char)(0x80 | (c & 63)), 4;
}

/* r->p is behind "\u". */
static bool read_unicode(struct rdn_json_reader *r, uint32_t *ret) {
    int c = hex4(r->p, r->end);
    if (c < 0)
        return fail(r, "not JSON");
    r->p += 4;
    if (c >= 0xdc00 && c < 0xe000)
        return fail(r, "lone surrogate");
    *ret = (uint32_t)c;
    if (c < 0xd800 || c >= 0xdc00)
        return true;
    int low = r->end - r->p >= 6 && r->p[0] == '\\' && r->p[1] == 'u' ? hex4(r->p + 2, r->end) : -1;
    if (low < 0xdc00 || low >= 0xe000)
        return fail(r, "lone surrogate");
    r->p += 6;
    *ret = 0x10000 + (((uint32_t)c & 0x3ff) << 10) + ((uint32_t)low & 0x3ff);
    return true;
}

static bool read_escape(struct rdn_json_reader *r, char **out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (r->p == r->end)
        return fail(r, "not JSON");
    char c = *r->p++;
    if (c == 'u') {
        uint32_t cp;
        if (!read_unicode(r, &cp))
            return false;
        *out += put_utf8(*out, cp);
        return true;
    }
    const char *at = c ? strchr(from, c) : NULL;
    if (!at)
        return fail(r, "not JSON");
    *(*out)++ = to[at - from];
    return true;
}

/* r->p is at the quote. The unescaped text is never longer than the source, so `strings` has room. */
static bool read_string(struct rdn_json_reader *r, const char **ret, uint32_t *ret_len) {
    char *o = r->strings + r->used;
    *ret = o;
    for (r->p++; r->p < r->end && *r->p != '"';) {
        if ((unsigned char)*r->p < 0x20)
            return fail(r, "not JSON");
        if (*r->p != '\\') {
            *o++ = *r->p++;
            continue;
        }
        r->p++;
        if (!read_escape(r, &o))
            return false;
    }
    if (r->p == r->end)
        return fail(r, "not JSON");
    r->p++;
    *ret_len = (uint32_t)(o - *ret);
    r->used = (size_t)(o - r->strings);
    return true;
}

/* ---- numbers and words ---- */
static bool digits(struct rdn_json_reader *r) {
    const char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return r->p > from;
}

static bool read_number(struct rdn_json_reader *r, struct rdn_json *j) {
    j->kind = RDN_JSON_INT;
    j->text = r->p;
    r->p += *r->p == '-';
    bool zero = r->p < r->end && *r->p == '0';
    const char *from = r->p;
    if (!digits(r) || (zero && r->p - from > 1))
        return fail(r, "not JSON");
    if (r->p < r->end && *r->p == '.') {
        j->kind = RDN_JSON_REAL;
        r->p++;
        if (!digits(r))
            return fail(r, "not JSON");
    }
    if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        j->kind = RDN_JSON_REAL;
        r->p++;
        r->p += r->p < r->end && (*r->p == '+' || *r->p == '-');
        if (!digits(r))
            return fail(r, "not JSON");
    }
    j->len = (uint32_t)(r->p - j->text);
    return true;
}

static bool read_word(struct rdn_json_reader *r, struct rdn_json *j) {
    static const struct { const char *word; uint8_t kind; } words[] = { { "null", RDN_JSON_NULL }, { "true", RDN_JSON_TRUE }, { "false", RDN_JSON_FALSE } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(r->end - r->p) >= n && memcmp(r->p, words[i].word, n) == 0) {
            j->kind = words[i].kind;
            r->p += n;
            return true;
        }
    }
    return fail(r, "not JSON");
}

/* ---- values ---- */
static bool read_value(struct rdn_json_reader *, uint32_t at);

/* One element or member; `last` is the one before it. */
static bool read_child(struct rdn_json_reader *r, uint32_t parent, uint32_t *last) {
    uint32_t c = add_node(r);
    if (!c)
        return false;
    if (r->nodes[parent].kind == RDN_JSON_OBJECT) {
        const char *name;
        uint32_t len;
        skip_space(r);
        if (r->p == r->end || *r->p != '"')
            return fail(r, "not JSON");
        if (!read_string(r, &name, &len))
            return false;
        r->nodes[c].name = name;
        r->nodes[c].name_len = len;
        skip_space(r);
        if (r->p == r->end || *r->p != ':')
            return fail(r, "not JSON");
        r->p++;
    }
    if (*last)
        r->nodes[*last].next = c;
    else
        r->nodes[parent].first = c;
    *last = c;
    r->nodes[parent].n++;
    return read_value(r, c);
}

static bool read_children(struct rdn_json_reader *r, uint32_t at, char close) {
    uint32_t last = 0;
    if (++r->depth > DEPTH_MAX)
        return fail(r, "nested deeper than 32");
    r->p++;
    skip_space(r);
    if (r->p < r->end && *r->p == close) {
        r->p++;
        r->depth--;
        return true;
    }
    for (;;) {
        if (!read_child(r, at, &last))
            return false;
        skip_space(r);
        if (r->p == r->end || (*r->p != ',' && *r->p != close))
            return fail(r, "not JSON");
        if (*r->p++ == close)
            break;
    }
    r->depth--;
    return true;
}

static bool read_value(struct rdn_json_reader *r, uint32_t at) {
    skip_space(r);
    if (r->p == r->end)
        return fail(r, "not JSON");
    struct rdn_json j = r->nodes[at];
    bool ok;
    switch (*r->p) {
    case '{':
    case '[':
        r->nodes[at].kind = *r->p == '{' ? RDN_JSON_OBJECT : RDN_JSON_ARRAY;
        return read_children(r, at, *r->p == '{' ? '}' : ']');
    case '"':
        j.kind = RDN_JSON_STRING;
        ok = read_string(r, &j.text, &j.len);
        break;
    case '-':
    case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        ok = read_number(r, &j);
        break;
    default:
        ok = read_word(r, &j);
    }
    r->nodes[at] = j;
    return ok;
}

static bool make_room(struct rdn_json_reader *r, size_t len) {
    if (r->size > len)
        return true;
    char *p = rdn_realloc(r->mem, r->strings, r->size, len + 1);
    if (!p)
        return fail(r, "out of memory");
    r->strings = p;
    r->size = len + 1;
    return true;
}

const struct rdn_json *rdn_json_read(struct rdn_json_reader *r, const char *line, size_t len) {
    r->why = NULL;
    r->n = r->used = r->depth = 0;
    r->p = line;
    r->end = line + len;
    if (len > UINT32_MAX / 2) {
        fail(r, "line too long");
        return NULL;
    }
    if (!rdn_utf8_valid(line, len)) {
        fail(r, "not UTF-8");
        return NULL;
    }
    if (!make_room(r, len) || (add_node(r), !r->nodes) || !add_node(r) || !read_value(r, 1))
        return NULL;
    skip_space(r);
    if (r->p != r->end) {
        fail(r, "not JSON");
        return NULL;
    }
    return &r->nodes[1];
}

const struct rdn_json *rdn_json_get(const struct rdn_json_reader *r, const struct rdn_json *object, const char *name) {
    size_t len = strlen(name);
    const struct rdn_json *found = NULL;
    for (const struct rdn_json *j = rdn_json_first(r, object); j; j = rdn_json_next(r, j))
        if (j->name_len == len && memcmp(j->name, name, len) == 0)
            found = j;
    return found;
}

bool rdn_json_is(const struct rdn_json *j, const char *text) {
    return j->kind == RDN_JSON_STRING && j->len == strlen(text) && memcmp(j->text, text, j->len) == 0;
}
