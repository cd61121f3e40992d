/* SPDX-License-Identifier: Apache-2.0
 * native_sign.c: see native_role.h. Spaces do not count. */
#include "plugins/native_role.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *enum_text(const struct rdn_load *l, uint32_t first) { return (const char *)l + l->enums.off + first; }

struct text { char *p; size_t n, cap; };
__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(t->p + t->n, t->cap - t->n, fmt, ap);
    va_end(ap);
    if (k > 0)
        t->n = t->n + (size_t)k < t->cap ? t->n + (size_t)k : t->cap - 1;
}

static void put_enum(struct text *t, const struct rdn_load *l, uint32_t first, uint32_t n) {
    const char *m = enum_text(l, first);
    put(t, "enum(");
    for (uint32_t i = 0; i < n; i++, m += strlen(m) + 1)
        put(t, "%s%s", i ? "," : "", m);
    put(t, ")");
}

static void put_type(struct text *t, const struct rdn_load *l, const struct rdn_wcol *c) {
    static const char *const names[] = { [RDN_WIRE_BOOL] = "bool", [RDN_WIRE_INT] = "int", [RDN_WIRE_FLOAT] = "float", [RDN_WIRE_TIME] = "time",
                                         [RDN_WIRE_DUR] = "dur", [RDN_WIRE_DATE] = "date" };
    unsigned cols = c->layout_hash ? (unsigned)c->layout_hash : 1;
    switch ((enum rdn_wire_kind)c->type) {
    case RDN_WIRE_DEC: put(t, "dec(%u)", c->scale & 255u); return;
    case RDN_WIRE_ENUM: put_enum(t, l, c->enum_first, c->flags); return;
    case RDN_WIRE_TEXT: put(t, "str(%u)", c->width); return;
    case RDN_WIRE_EVENT: put(t, "%s", enum_text(l, c->enum_first)); return;
    case RDN_WIRE_FARR: case RDN_WIRE_IARR:
        put(t, c->flags == 2 ? "%s[%u,%u]" : "%s[%u]", c->type == RDN_WIRE_FARR ? "float" : "int", c->width / 8u / cols, cols);
        return;
    case RDN_WIRE_BOOL: case RDN_WIRE_INT: case RDN_WIRE_FLOAT: case RDN_WIRE_TIME: case RDN_WIRE_DUR: case RDN_WIRE_DATE: case RDN_WIRE_SYM:
        put(t, "%s", c->type < sizeof names / sizeof *names ? names[c->type] : "sym");
        return;
    }
}

/* Where `expected` says str(N), `stated` may say sym. */
static bool same(const char *expected, const char *stated) {
    for (;;) {
        while (isspace((unsigned char)*expected))
            expected++;
        while (isspace((unsigned char)*stated))
            stated++;
        if (!strncmp(expected, "str(", 4) && !strncmp(stated, "sym", 3) && !isalnum((unsigned char)stated[3])) {
            expected += strcspn(expected, ")") + 1;
            stated += 3;
            continue;
        }
        if (*expected != *stated)
            return false;
        if (!*expected)
            return true;
        expected++;
        stated++;
    }
}

bool rdn_native_same_signature(const struct rdn_load *l, const struct rdn_wfn *fn, const char *stated, char *ret_expected, size_t cap) {
    const struct rdn_wcol *cols = (const void *)((const char *)l + l->cols.off);
    struct rdn_wcol ret = { .type = fn->ret_type, .width = fn->ret_width, .scale = fn->ret_scale, .flags = (uint16_t)fn->enum_count, .enum_first = fn->enum_first };
    struct text t = { ret_expected, 0, cap };
    put(&t, "%s(", fn->name);
    for (uint32_t i = 0; i < fn->ncols; i++) {
        put(&t, "%s%s: ", i ? ", " : "", cols[fn->first_col + i].name);
        put_type(&t, l, &cols[fn->first_col + i]);
    }
    put(&t, ") -> ");
    put_type(&t, l, &ret);
    return same(ret_expected, stated);
}
