/* SPDX-License-Identifier: Apache-2.0
 * type.c: the table of types. A type's printed name is its identity, so the name is the key that interns it. */
#include "ir/type.h"

#include <assert.h>
#include <string.h>
#include "base/map.h"
#include "base/vec.h"

struct rdn_types {
    struct rdn_arena *arena;
    struct rdn_map by_name;
    RDN_VEC(struct rdn_type *) all;
    const struct rdn_type *simple[RDN_K_COUNT], *dec[19];   /* the common ones without printing a name */
};

struct rdn_types *rdn_types_new(struct rdn_arena *arena) {
    struct rdn_types *ts = rdn_new(arena, struct rdn_types);
    if (!ts)
        return NULL;
    ts->arena = arena;
    rdn_map_init(&ts->by_name, arena);
    return ts;
}

static const char *const simple_names[RDN_K_COUNT] = {
    [RDN_K_BOOL] = "bool", [RDN_K_INT] = "int", [RDN_K_FLOAT] = "float", [RDN_K_TIME] = "time", [RDN_K_DUR] = "dur",
    [RDN_K_DATE] = "date", [RDN_K_SYM] = "sym", [RDN_K_TEXT] = "text", [RDN_K_NONE] = "none",
};

char *rdn_type_name(struct rdn_arena *a, const struct rdn_type *t) {
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_DEC: return rdn_arena_printf(a, "dec(%u)", t->scale);
    case RDN_K_STR: return rdn_arena_printf(a, "str(%u)", t->n);
    case RDN_K_EVENT: return rdn_arena_printf(a, "%s", t->members[0]);
    case RDN_K_ARR:
        if (t->ndim == 2)
            return rdn_arena_printf(a, "%s[%u,%u]", simple_names[t->elem], t->dim[0], t->dim[1]);
        return rdn_arena_printf(a, "%s[%u]", simple_names[t->elem], t->dim[0]);
    case RDN_K_ENUM: {
        size_t len = sizeof "enum()";
        for (unsigned i = 0; i < t->n; i++)
            len += strlen(t->members[i]) + 1;
        char *s = rdn_arena_alloc(a, len), *p = s;
        if (!s)
            return NULL;
        p = stpcpy(p, "enum(");
        for (unsigned i = 0; i < t->n; i++)
            p = stpcpy(stpcpy(p, i ? "," : ""), t->members[i]);
        strcpy(p, ")");
        return s;
    }
    case RDN_K_BOOL: case RDN_K_INT: case RDN_K_FLOAT: case RDN_K_TIME: case RDN_K_DUR: case RDN_K_DATE: case RDN_K_SYM:
    case RDN_K_TEXT: case RDN_K_NONE: case RDN_K_COUNT:
        return rdn_arena_printf(a, "%s", simple_names[t->kind]);
    }
    return NULL;
}

void rdn_type_print(struct rdn_buf *b, const struct rdn_type *t) {
    struct rdn_arena a;
    rdn_arena_init(&a, b->mem);
    const char *name = rdn_type_name(&a, t);
    if (name)
        rdn_buf_puts(b, name);
    else
        b->failed = true;
    rdn_arena_fini(&a);
}

/* The table's copy of a type. */
static const struct rdn_type *intern(struct rdn_types *ts, const struct rdn_type *t) {
    const char *name = rdn_type_name(ts->arena, t);
    /* An event may have the name of a type, and the index of one event may change between two sets. */
    const char *key = t->kind == RDN_K_EVENT ? rdn_arena_printf(ts->arena, "event %u %s", t->n, name) : name;
    uint32_t at = rdn_map_get(&ts->by_name, key, strlen(key));
    if (at != RDN_MAP_NONE)
        return ts->all.v[at];
    struct rdn_type *own = rdn_new(ts->arena, struct rdn_type);
    *own = *t;
    own->index = ts->all.n;
    if (t->members) {
        size_t n = t->kind == RDN_K_EVENT ? 1 : t->n;
        const char **members = rdn_new_n(ts->arena, const char *, n);
        memcpy(members, t->members, n * sizeof *members);
        own->members = members;
    }
    rdn_map_put(&ts->by_name, key, strlen(key), own->index);
    rdn_push_val(ts->arena, &ts->all, own);
    return own;
}

const struct rdn_type *rdn_type_simple(struct rdn_types *ts, enum rdn_kind kind) {
    assert(kind < RDN_K_COUNT && simple_names[kind]);
    if (!ts->simple[kind])
        ts->simple[kind] = intern(ts, &(struct rdn_type){.kind = (uint8_t)kind});
    return ts->simple[kind];
}

const struct rdn_type *rdn_type_dec(struct rdn_types *ts, unsigned scale) {
    assert(scale <= 18);
    if (!ts->dec[scale])
        ts->dec[scale] = intern(ts, &(struct rdn_type){.kind = RDN_K_DEC, .scale = (uint8_t)scale});
    return ts->dec[scale];
}

const struct rdn_type *rdn_type_str(struct rdn_types *ts, unsigned n) {
    return intern(ts, &(struct rdn_type){.kind = RDN_K_STR, .n = (uint16_t)n});
}

const struct rdn_type *rdn_type_enum(struct rdn_types *ts, const char *const *members, unsigned n) {
    return intern(ts, &(struct rdn_type){.kind = RDN_K_ENUM, .n = (uint16_t)n, .members = members});
}

const struct rdn_type *rdn_type_arr(struct rdn_types *ts, enum rdn_kind elem, unsigned ndim, unsigned d0, unsigned d1) {
    assert(elem == RDN_K_INT || elem == RDN_K_FLOAT);
    return intern(ts, &(struct rdn_type){.kind = RDN_K_ARR, .elem = (uint8_t)elem, .ndim = (uint8_t)ndim,
                                         .dim = {(uint16_t)d0, (uint16_t)(ndim == 2 ? d1 : 1)}});
}

const struct rdn_type *rdn_type_event(struct rdn_types *ts, const char *name, unsigned index) {
    return intern(ts, &(struct rdn_type){.kind = RDN_K_EVENT, .n = (uint16_t)index, .members = &name});
}

const struct rdn_type *rdn_type_at(const struct rdn_types *ts, uint32_t index) {
    assert(index < ts->all.n);
    return ts->all.v[index];
}

bool rdn_type_same(const struct rdn_type *a, const struct rdn_type *b) {
    if (a->kind != b->kind || a->scale != b->scale || a->elem != b->elem || a->ndim != b->ndim || a->n != b->n ||
        a->dim[0] != b->dim[0] || a->dim[1] != b->dim[1])
        return false;
    unsigned names = a->kind == RDN_K_ENUM ? a->n : a->kind == RDN_K_EVENT;
    for (unsigned i = 0; i < names; i++)
        if (strcmp(a->members[i], b->members[i]) != 0)
            return false;
    return true;
}

uint32_t rdn_types_count(const struct rdn_types *ts) { return ts->all.n; }

uint32_t rdn_type_elems(const struct rdn_type *t) { return t->kind == RDN_K_ARR ? (uint32_t)t->dim[0] * t->dim[1] : 1; }

/* LANGUAGE.md 5. Kinds that are never stored (text, event, none) take no room. */
size_t rdn_type_size(const struct rdn_type *t) {
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_INT: case RDN_K_FLOAT: case RDN_K_DEC: case RDN_K_TIME: case RDN_K_DUR: return 8;
    case RDN_K_BOOL: case RDN_K_ENUM: return 1;
    case RDN_K_SYM: case RDN_K_DATE: return 4;
    case RDN_K_STR: return t->n;
    case RDN_K_ARR: return 8 * (size_t)rdn_type_elems(t);
    case RDN_K_TEXT: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT: return 0;
    }
    return 0;
}

unsigned rdn_type_align(const struct rdn_type *t) {
    if (t->kind == RDN_K_STR)
        return 1;
    size_t n = t->kind == RDN_K_ARR ? 8 : rdn_type_size(t);
    return n ? (unsigned)n : 1;
}
