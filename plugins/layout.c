/* SPDX-License-Identifier: Apache-2.0
 * layout.c: see layout.h. */
#include "plugins/layout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rdn_layout_type(struct rdn_buf *b, const struct rdn_wire_type *t) {
    static const char *const names[] = { [RDN_WIRE_BOOL] = "bool", [RDN_WIRE_INT] = "int", [RDN_WIRE_FLOAT] = "float", [RDN_WIRE_TIME] = "time",
                                         [RDN_WIRE_DUR] = "dur", [RDN_WIRE_DATE] = "date", [RDN_WIRE_SYM] = "sym" };
    switch ((enum rdn_wire_kind)t->kind) {
    case RDN_WIRE_DEC: rdn_buf_printf(b, "dec(%u)", t->scale); return;
    case RDN_WIRE_TEXT: rdn_buf_printf(b, "str(%u)", t->size); return;
    case RDN_WIRE_ENUM:
        for (uint16_t i = 0; i < t->nnames; i++)
            rdn_buf_printf(b, "%s%s", i ? "," : "enum(", t->names[i]);
        rdn_buf_putc(b, ')');
        return;
    case RDN_WIRE_FARR: case RDN_WIRE_IARR:
        rdn_buf_puts(b, t->kind == RDN_WIRE_FARR ? "float" : "int");
        rdn_buf_printf(b, t->cols > 1 ? "[%u,%u]" : "[%u]", t->rows, t->cols);
        return;
    case RDN_WIRE_EVENT: rdn_buf_puts(b, t->event); return;
    case RDN_WIRE_BOOL: case RDN_WIRE_INT: case RDN_WIRE_FLOAT: case RDN_WIRE_TIME: case RDN_WIRE_DUR: case RDN_WIRE_DATE: case RDN_WIRE_SYM:
        rdn_buf_puts(b, names[t->kind]);
        return;
    }
}

void rdn_layout_canon(struct rdn_buf *b, const struct rdn_wire_type *event) {
    rdn_buf_printf(b, "%s;ts:time;", event->event);
    for (uint16_t i = 0; i < event->nfields; i++) {
        rdn_buf_printf(b, "%s:", event->fields[i].name);
        rdn_layout_type(b, &event->fields[i].type);
        rdn_buf_puts(b, event->fields[i].present_bit >= 0 ? "?;" : ";");
    }
}

/* ---- reading ---- */
struct field { const char *name, *type; uint32_t nname, ntype, offset; bool optional; };
struct row { const char *at; uint32_t end; bool present; struct field f; };

static void size_of(const char *type, uint32_t n, uint32_t *size, uint32_t *align) {
    unsigned a = 1, b = 1;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(n < 63 ? n : 63), type);
    *size = *align = !strncmp(text, "bool", 4) || !strncmp(text, "enum", 4) ? 1 : !strncmp(text, "sym", 3) || !strncmp(text, "date", 4) ? 4 : 8;
    if (sscanf(text, "str(%u)", &a) == 1) {
        *size = a;
        *align = 1;
    } else if (sscanf(text, "%*[a-z][%u,%u]", &a, &b) >= 1) {
        *size = 8 * a * b;
    }
}

static void begin(struct row *r, const char *canon) {
    const char *fields = strchr(canon, ';');
    fields = fields ? strchr(fields + 1, ';') : NULL;    /* behind ts */
    *r = (struct row){ .at = fields ? fields + 1 : "", .present = strchr(canon, '?') };
    r->end = r->present ? 16 : 8;
}

static bool next(struct row *r) {
    const char *colon = strchr(r->at, ':'), *end = colon ? strchr(colon, ';') : NULL;
    uint32_t size, align;
    if (!end)
        return false;
    r->f = (struct field){ .name = r->at, .type = colon + 1, .nname = (uint32_t)(colon - r->at), .ntype = (uint32_t)(end - colon - 1) };
    r->f.optional = r->f.ntype && r->f.type[r->f.ntype - 1] == '?';
    r->f.ntype -= r->f.optional;
    size_of(r->f.type, r->f.ntype, &size, &align);
    r->f.offset = (r->end + align - 1) / align * align;
    r->end = r->f.offset + size;
    r->at = end + 1;
    return true;
}

static uint32_t whole(const char *canon) {
    struct row r;
    begin(&r, canon);
    while (next(&r))
        ;
    return (r.end + 7) / 8 * 8;
}

static bool same(const struct field *a, const struct field *b) {
    return a->nname == b->nname && a->ntype == b->ntype && a->optional == b->optional && a->offset == b->offset && !memcmp(a->name, b->name, a->nname) &&
           !memcmp(a->type, b->type, a->ntype);
}

static bool find(const char *canon, const struct field *want, struct field *ret) {
    struct row r;
    begin(&r, canon);
    while (next(&r))
        if (r.f.nname == want->nname && !memcmp(r.f.name, want->name, want->nname)) {
            *ret = r.f;
            return true;
        }
    return false;
}

static void put_side(char *out, size_t cap, const struct field *f) {
    snprintf(out, cap, "%.*s%s@%u", (int)(f->ntype < 60 ? f->ntype : 60), f->type, f->optional ? "?" : "", f->offset);
}

bool rdn_layout_differs(const char *host, const char *plugin, char *ret, size_t cap) {
    struct row h, p;
    begin(&h, host);
    begin(&p, plugin);
    while (next(&p)) {
        struct field there;
        char a[96] = "has no such field", b[96];
        if (next(&h) && same(&h.f, &p.f))
            continue;
        put_side(b, sizeof b, &p.f);
        if (find(host, &p.f, &there))
            put_side(a, sizeof a, &there);
        snprintf(ret, cap, "field %.*s: host %s, plugin %s; size %u, %u", (int)(p.f.nname < 64 ? p.f.nname : 64), p.f.name, a, b, whole(host), whole(plugin));
        return true;
    }
    return false;
}
