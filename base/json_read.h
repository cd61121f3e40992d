/* SPDX-License-Identifier: Apache-2.0
 * json_read.h: one line of JSON to a tree, exactly as LANGUAGE.md 17.1 wants it.
 *
 * Numbers keep their text, because int64 fields must be exact and float fields round once; jansson reads integers into 64
 * bits and refuses the rest of the line with them. Refused with a reason: text that is not UTF-8, a lone surrogate, more than
 * 32 levels, NaN and Infinity, anything after the value. Memory is reused from line to line and grows to the longest one. */
#ifndef RDN_JSON_READ_H
#define RDN_JSON_READ_H
#include "base/mem.h"

enum rdn_json_kind { RDN_JSON_NULL, RDN_JSON_FALSE, RDN_JSON_TRUE, RDN_JSON_INT, RDN_JSON_REAL, RDN_JSON_STRING, RDN_JSON_ARRAY, RDN_JSON_OBJECT };
struct rdn_json {
    uint8_t kind;
    uint32_t n;                                          /* children of an array or object */
    uint32_t first, next;                                /* node numbers, 0: none */
    const char *name; uint32_t name_len;                 /* of a member, unescaped */
    const char *text; uint32_t len;                      /* number as written; string unescaped */
};
struct rdn_json_reader {
    const struct rdn_mem *mem;
    struct rdn_json *nodes; uint32_t n, cap;             /* [1] is the root; [0] unused */
    char *strings; size_t used, size;                    /* unescaped texts of the line */
    const char *why;                                     /* after a failure */
    /* while reading */
    const char *p, *end;
    unsigned depth;
};
void rdn_json_init(struct rdn_json_reader *, const struct rdn_mem *);
void rdn_json_fini(struct rdn_json_reader *);
/* The root, borrowed until the next read, or NULL with .why set. */
const struct rdn_json *rdn_json_read(struct rdn_json_reader *, const char *line, size_t len);
/* The last member of that name, or NULL. */
const struct rdn_json *rdn_json_get(const struct rdn_json_reader *, const struct rdn_json *object, const char *name);
static inline const struct rdn_json *rdn_json_at(const struct rdn_json_reader *r, uint32_t i) { return i ? &r->nodes[i] : NULL; }
static inline const struct rdn_json *rdn_json_first(const struct rdn_json_reader *r, const struct rdn_json *j) { return rdn_json_at(r, j->first); }
static inline const struct rdn_json *rdn_json_next(const struct rdn_json_reader *r, const struct rdn_json *j) { return rdn_json_at(r, j->next); }
bool rdn_json_is(const struct rdn_json *, const char *text);       /* a string equal to text */
#endif
