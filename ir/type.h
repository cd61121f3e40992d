/* SPDX-License-Identifier: Apache-2.0
 * type.h: language types (LANGUAGE.md chapter 5). Types are interned per rule set: equal types are one pointer.
 *
 * Cells (ir.h) carry machine types; these carry what a value means and how it prints. */
#ifndef RDN_TYPE_H
#define RDN_TYPE_H
#include "base/mem.h"
#include "base/buf.h"

enum rdn_kind {
    RDN_K_BOOL, RDN_K_INT, RDN_K_FLOAT, RDN_K_DEC, RDN_K_TIME, RDN_K_DUR, RDN_K_DATE,
    RDN_K_SYM, RDN_K_STR, RDN_K_ENUM, RDN_K_TEXT, RDN_K_ARR,
    RDN_K_EVENT,                 /* a plugin parameter that takes the row of an event */
    RDN_K_NONE,                  /* the literal none, in tests */
    RDN_K_COUNT
};
struct rdn_type {
    uint8_t kind;
    uint8_t scale;               /* dec: digits after the point, 0..18 */
    uint8_t elem;                /* arr: RDN_K_INT or RDN_K_FLOAT */
    uint8_t ndim;                /* arr: 1 or 2 */
    uint16_t n;                  /* str: bytes; enum: members; event: index of the event */
    uint16_t dim[2];             /* arr: sizes, row major; dim[1] is 1 for one dimension */
    const char *const *members;  /* enum: names; event: one name */
    uint32_t index;              /* dense, in its table */
};
struct rdn_types;                                                    /* the table; lives in an arena */
struct rdn_types *rdn_types_new(struct rdn_arena *);
const struct rdn_type *rdn_type_simple(struct rdn_types *, enum rdn_kind);     /* kinds without parameters */
const struct rdn_type *rdn_type_dec(struct rdn_types *, unsigned scale);
const struct rdn_type *rdn_type_str(struct rdn_types *, unsigned n);
const struct rdn_type *rdn_type_enum(struct rdn_types *, const char *const *members, unsigned n);  /* copies the list, not the names */
const struct rdn_type *rdn_type_arr(struct rdn_types *, enum rdn_kind elem, unsigned ndim, unsigned d0, unsigned d1);
const struct rdn_type *rdn_type_event(struct rdn_types *, const char *name, unsigned index);
const struct rdn_type *rdn_type_at(const struct rdn_types *, uint32_t index);
uint32_t rdn_types_count(const struct rdn_types *);                  /* indices are below it */

size_t   rdn_type_size(const struct rdn_type *);                     /* bytes when stored in an event row (5) */
unsigned rdn_type_align(const struct rdn_type *);
bool     rdn_type_same(const struct rdn_type *, const struct rdn_type *);   /* the same type, across tables too */
uint32_t rdn_type_elems(const struct rdn_type *);                    /* arr: product of dims; else 1 */
void     rdn_type_print(struct rdn_buf *, const struct rdn_type *);  /* "dec(4)", "enum(buy,sell)", "float[3,3]" */
char    *rdn_type_name(struct rdn_arena *, const struct rdn_type *);
static inline bool rdn_type_is_text(const struct rdn_type *t) { return t->kind >= RDN_K_SYM && t->kind <= RDN_K_TEXT; }
#endif
