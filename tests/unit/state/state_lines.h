/* SPDX-License-Identifier: Apache-2.0
 * state_lines.h: types and values as words of a line, for the drivers the models talk to.
 *
 * Types: b i f t u a(date) y(sym) d<scale> s<bytes> e(enum), - for none. Values: floats are 16 hex digits or nan, texts x and
 * hex bytes, decimals an integer on the way in and 32 hex digits on the way out; the cause when undefined. */
#ifndef RDN_TEST_STATE_LINES_H
#define RDN_TEST_STATE_LINES_H
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sym.h"
#include "ir/ir.h"

static struct rdn_syms *syms;

static inline struct rdn_type type_of(const char *s) {
    static const struct { char c; uint8_t kind; } kinds[] = {
        { 'b', RDN_K_BOOL }, { 'i', RDN_K_INT }, { 'f', RDN_K_FLOAT }, { 't', RDN_K_TIME }, { 'u', RDN_K_DUR }, { 'a', RDN_K_DATE },
        { 'y', RDN_K_SYM }, { 'd', RDN_K_DEC }, { 's', RDN_K_STR }, { 'e', RDN_K_ENUM },
    };
    struct rdn_type t = { .kind = RDN_K_NONE };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].c == *s)
            t.kind = kinds[i].kind;
    if (t.kind == RDN_K_DEC)
        t.scale = (uint8_t)atoi(s + 1);
    if (t.kind == RDN_K_STR)
        t.n = (uint16_t)atoi(s + 1);
    return t;
}

/* Texts live until the next line. */
static inline void parse(const struct rdn_type *t, const char *s, struct rdn_cell *c, char *text) {
    memset(c, 0, sizeof *c);
    if (t->kind == RDN_K_FLOAT) {
        uint64_t bits = strtoull(s, NULL, 16);
        memcpy(&c->f, &bits, 8);
    } else if (t->kind == RDN_K_DEC) {
        c->d = strtoll(s, NULL, 10);
    } else if (t->kind == RDN_K_SYM || t->kind == RDN_K_STR) {
        uint32_t n = 0, id;
        for (s++; s[0] && s[1]; s += 2)
            sscanf(s, "%2hhx", (unsigned char *)&text[n++]);
        c->t.p = text;
        c->t.len = n;
        if (t->kind == RDN_K_SYM) {
            rdn_sym_intern(syms, text, n, &id);
            c->i = id;
        }
    } else {
        c->i = strtoll(s, NULL, 10);
    }
}

static inline void put_text(const char *p, uint32_t n) {
    putchar('x');
    for (uint32_t i = 0; i < n; i++)
        printf("%02x", (unsigned char)p[i]);
}

static inline void put(const struct rdn_type *t, const struct rdn_cell *c) {
    uint64_t bits;
    uint32_t n;
    if (c->cause) {
        printf("%s", c->cause == RDN_CAUSE_COLD ? "cold" : c->cause == RDN_CAUSE_FULL ? "full" : c->cause == RDN_CAUSE_DIV0 ? "div0" : "overflow");
    } else if (t->kind == RDN_K_FLOAT) {
        memcpy(&bits, &c->f, 8);
        if (isnan(c->f))
            printf("nan");
        else
            printf("%016" PRIx64, bits);
    } else if (t->kind == RDN_K_DEC) {                   /* up to 128 bits: high and low half in hex */
        printf("%016" PRIx64 "%016" PRIx64, (uint64_t)((rdn_u128)c->d >> 64), (uint64_t)c->d);
    } else if (t->kind == RDN_K_SYM) {
        const char *p = rdn_sym_text(syms, (uint32_t)c->i, &n);
        put_text(p, n);
    } else if (t->kind == RDN_K_STR) {
        put_text(c->t.p, c->t.len);
    } else {
        printf("%" PRId64, c->i);
    }
}
#endif
