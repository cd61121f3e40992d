/* SPDX-License-Identifier: Apache-2.0
 * schema.c: the row of an event: a C struct by LANGUAGE.md 5, the canonical text of its fields and the layout hash that
 * bindings compare before they hand over bytes. */
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "dsl/pass.h"

static void layout_fields(struct rdn_arena *a, const struct rdn_d_event *d, struct rdn_event *ret) {
    uint8_t bit = 0;
    ret->nfields = d->fields.n;
    ret->fields = rdn_new_n(a, struct rdn_field, d->fields.n);
    for (uint32_t i = 0; i < d->fields.n; i++)
        ret->has_present |= d->fields.v[i].opt;
    uint32_t off = ret->has_present ? 16 : 8;            /* ts, then the presence word */
    for (uint32_t i = 0; i < d->fields.n; i++) {
        const struct rdn_d_field *f = &d->fields.v[i];
        const uint32_t align = rdn_type_align(f->type);
        off = (off + align - 1) / align * align;
        ret->fields[i] = (struct rdn_field){ .name = f->name, .type = f->type, .offset = off, .size = (uint32_t)rdn_type_size(f->type),
                                             .optional = f->opt, .present_bit = f->opt ? bit++ : 0 };
        off += ret->fields[i].size;
    }
    ret->size = (off + 7) / 8 * 8;
}

void rdn_schema_layout(struct rdn_pass *c, const struct rdn_d_event *d, struct rdn_event *ret) {
    struct rdn_arena *a = c->arena;
    ret->name = d->d.name;
    ret->part_field = -1;
    layout_fields(a, d, ret);
    size_t need = strlen(ret->name) + sizeof ";ts:time;";
    char **types = rdn_new_n(a, char *, d->fields.n);
    for (uint32_t i = 0; i < d->fields.n; i++) {
        types[i] = rdn_type_name(a, d->fields.v[i].type);
        need += strlen(d->fields.v[i].name) + strlen(types[i]) + 3;
    }
    char *text = rdn_arena_alloc(a, need);
    size_t n = (size_t)sprintf(text, "%s;ts:time;", ret->name);
    for (uint32_t i = 0; i < d->fields.n; i++)
        n += (size_t)sprintf(text + n, "%s:%s%s;", d->fields.v[i].name, types[i], d->fields.v[i].opt ? "?" : "");
    ret->canon = text;
    ret->layout_hash = rdn_fnv64(text, n);
}
