/* SPDX-License-Identifier: Apache-2.0
 * dsl.h: rule text in, checked rule set out. The only header of dsl/ that other modules include.
 *
 * rdn_dsl_compile [any] takes milliseconds; runs the passes on a thread of its own with a large stack, because chains of
 * 256 declarations times 200 levels of expressions are legal. Memory: one arena, bounded. Never crashes, hangs or
 * allocates without bound, whatever the bytes. */
#ifndef RDN_DSL_H
#define RDN_DSL_H
#include "ir/ir.h"

struct rdn_dsl_diag {                                    /* one mistake or warning (chapter 16) */
    char code[6]; bool warning;
    struct rdn_span span; uint32_t line, col, end_line, end_col;
    const char *text, *hint;                             /* hint may be NULL */
};
struct rdn_dsl_options {
    const char *file;                                    /* as shown in messages; NULL: "<input>" */
    const char *base_dir;                                /* where `from "..."` files are found; NULL: they are refused */
    bool any_diags;                                      /* collect more than the first 100 */
};
struct rdn_dsl_result {
    struct rdn_ir *ir;                                   /* NULL when there are errors */
    struct rdn_dsl_diag *diags; uint32_t ndiags;         /* errors, or the warnings of a good file; by position */
    uint32_t more;                                       /* diagnostics beyond the first 100 */
    const char *src; uint32_t len;                       /* the source as read, for carets */
};
/* 0 (also when the text has mistakes: then ret->ir is NULL), NOMEM or FULL (symbol table). Everything in *ret lives in
 * `arena`. The redan_error is the first mistake too, with SYNTAX or TYPE, but the return value stays 0. */
int rdn_dsl_compile(struct rdn_arena *arena, struct rdn_syms *, const char *text, size_t len, const struct rdn_dsl_options *,
                    struct rdn_dsl_result *ret, redan_error *reterr);

/* One expression over bindings (`eval`): names are given types and values; diagnostics as above. *ret_root is in ret->ir. */
struct rdn_dsl_binding { const char *name; const struct rdn_type *type; struct rdn_cell val; };
int rdn_dsl_expr(struct rdn_arena *arena, struct rdn_syms *, struct rdn_types *, const char *text, size_t len,
                 const struct rdn_dsl_binding *, uint32_t nbindings, struct rdn_dsl_result *ret, rdn_id *ret_root, redan_error *);
/* Parses a type as chapter 5 prints it ("dec(4)", "float[3]", "text"); NULL when it is none. */
const struct rdn_type *rdn_dsl_type(struct rdn_arena *, struct rdn_types *, const char *text, size_t len);

/* FILE:LINE:COL: error CODE: MESSAGE, source line, carets, " = HINT". `color`: ANSI. */
void rdn_dsl_print_diag(struct rdn_buf *, const char *file, const char *src, uint32_t len, const struct rdn_dsl_diag *, bool color);
void rdn_dsl_print_short(struct rdn_buf *, const struct rdn_dsl_diag *);          /* CODE LINE:COL-LINE:COL text */
const char *rdn_dsl_code_text(const char *code);         /* meaning of E0401 (errors.def) or NULL */

/* Source text with canonical spacing; keeps comments and blank lines. 0 with the formatted text, or the first syntax error. */
int rdn_dsl_format(const char *text, size_t len, struct rdn_buf *ret, redan_error *);
/* Markdown for `redan doc`: events, params, windows, rules with their comments. */
void rdn_dsl_doc(struct rdn_buf *, const struct rdn_ir *);
/* Text of `cost`, `layout`, `hash` (17.7). */
void rdn_dsl_cost(struct rdn_buf *, const struct rdn_ir *);
void rdn_dsl_layout(struct rdn_buf *, const struct rdn_ir *);
void rdn_dsl_hash(struct rdn_buf *, const struct rdn_ir *);
#endif
