/* SPDX-License-Identifier: Apache-2.0
 * form.h: the text form of a rule set, described once for both directions. Private to form.c, print.c and read.c.
 *
 * form.c walks a rule set and names every part of it; the writer (print.c) puts each part as a word, the reader (read.c)
 * takes it. A line is a key word and what follows; lines that belong to an earlier one are indented. `; ...` at the end of a
 * line is for people and skipped. Tests (17.4) are not part of the form. */
#ifndef RDN_FORM_H
#define RDN_FORM_H
#include "ir/ir.h"

struct rdn_form;
struct rdn_form_ops {
    /* Lines of a list: writing, starts line i if i < *n; reading, takes the next line if it begins with `kw` and makes room for
     * element i. f->more tells whether there is one. Returns the list. */
    void *(*next)(struct rdn_form *, const char *kw, void *list, uint32_t *n, uint32_t i, size_t size);
    void (*line)(struct rdn_form *, const char *kw);                     /* a line that stands exactly once */
    bool (*opt)(struct rdn_form *, const char *key, bool has);           /* a part that may be absent; true: it follows */
    void (*u64)(struct rdn_form *, const char *key, uint64_t *, uint64_t max);
    void (*i64)(struct rdn_form *, const char *key, int64_t *);
    void (*hex)(struct rdn_form *, const char *key, uint64_t *);
    void (*str)(struct rdn_form *, const char *key, const char **, uint32_t *len);
    void (*type)(struct rdn_form *, const char *key, const struct rdn_type **, bool none);   /* none: NULL is allowed */
    void (*value)(struct rdn_form *, const char *key, const struct rdn_type *, struct rdn_cell *);
    void (*word)(struct rdn_form *, const char *key, const char *const *words, unsigned n, uint8_t *);
    void (*note)(struct rdn_form *, const char *text);                   /* a comment; the reader skips it */
};
struct rdn_form {
    const struct rdn_form_ops *ops;
    struct rdn_ir *ir;                                   /* not written to unless reading */
    bool reading, more;
    bool nodes, notes, source;                           /* writing: nodes and spans, comments, the text it was made from */
};
void rdn_form_ruleset(struct rdn_form *);
/* `list` with n elements and room for one more, zeroed (read.c). */
void *rdn_form_grow(struct rdn_arena *, void *list, uint32_t n, size_t size);
/* The writer without nodes, spans, comments and source, for the hash, which takes the first two as they are (print.c). */
void rdn_form_print_rest(struct rdn_buf *, const struct rdn_ir *);
#endif
