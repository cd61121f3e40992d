/* SPDX-License-Identifier: Apache-2.0
 * pass.h: what the passes of dsl share. Private to dsl/. */
#ifndef RDN_PASS_H
#define RDN_PASS_H
#include "dsl/ast.h"
#include "dsl/dsl.h"
#include <setjmp.h>

/* A compilation. Diagnostics are raised with rdn_raise(), which longjmps to the innermost guard; a guard is set with
 *     struct rdn_guard g; RDN_TRY(c, g) { ... } else { c->raised is the diagnostic; or g.poison }
 * RDN_POISON leaves without a diagnostic: the declaration only uses one that already failed. */
struct rdn_guard { jmp_buf jb; struct rdn_guard *up; };
struct rdn_pass {
    struct rdn_arena *arena, *work;                      /* what the rule set keeps (texts, constants, the IR); what ends with the passes: the tree */
    struct rdn_types *types; struct rdn_syms *syms;
    const struct rdn_dsl_options *opt;
    const char *src; uint32_t len;
    struct rdn_map names; RDN_VEC(rdn_name) name_list;   /* interning of identifiers */
    RDN_VEC(uint32_t) lines;                             /* offsets where lines of src begin; built by rdn_linecol */
    RDN_VEC(struct rdn_dsl_diag) diags, warns;
    struct rdn_guard *guard; struct rdn_dsl_diag raised; bool poisoned;
    struct rdn_file *file; uint32_t nexprs;              /* parsed so far: about as many nodes will be lowered */
    struct rdn_marks *marks;                             /* fmt.c: the parser notes what the text alone does not say; NULL otherwise */
    jmp_buf out; int fatal;                              /* rdn_give_up leaves through out; arena->oom points to it as well */
};
void rdn_pass_init(struct rdn_pass *, struct rdn_arena *arena, struct rdn_arena *work, struct rdn_types *, struct rdn_syms *, const char *src,
                   uint32_t len);
#define RDN_TRY(c, g) if ((g).up = (c)->guard, (c)->guard = &(g), setjmp((g).jb) == 0)
#define RDN_DONE(c, g) ((c)->guard = (g).up)             /* at the end of the try part; the raiser does it otherwise */
__attribute__((noreturn, format(printf, 5, 6)))
void rdn_raise(struct rdn_pass *, const char *code, struct rdn_span, const char *hint, const char *fmt, ...);
__attribute__((noreturn)) void rdn_poison(struct rdn_pass *);
__attribute__((format(printf, 5, 6)))
void rdn_warn(struct rdn_pass *, const char *code, struct rdn_span, const char *hint, const char *fmt, ...);
void rdn_keep_raised(struct rdn_pass *);                 /* adds c->raised to c->diags */
__attribute__((noreturn)) void rdn_give_up(struct rdn_pass *, int code);   /* ends the compilation with FULL, NOMEM, ... */
void rdn_linecol(struct rdn_pass *, uint32_t off, uint32_t *ret_line, uint32_t *ret_col);   /* from 1, columns in bytes; O(log lines) */
/* "did you mean "x"?" in the arena, or NULL. */
const char *rdn_near(struct rdn_pass *, const char *word, const char *const *options, uint32_t n);
rdn_name rdn_ast_name(struct rdn_pass *, const char *s, size_t n);

/* parse.c: raises the first lexical or syntax error. rdn_parse_cexpr: a data file's value (E0711 is the caller's). */
struct rdn_file *rdn_parse(struct rdn_pass *);
struct rdn_expr *rdn_parse_expr_text(struct rdn_pass *, const char *text, size_t len, bool constant);
const struct rdn_type *rdn_parse_type_text(struct rdn_pass *, const char *text, size_t len);
/* Number literals: sign is the parity of the minus signs in front. */
bool rdn_is_num(const struct rdn_expr *);                /* NUM, or NEG of one */
const struct rdn_num *rdn_num_of(const struct rdn_expr *, bool *ret_neg);
bool rdn_num_i128(const struct rdn_num *, bool neg, unsigned scale, rdn_i128 *ret);   /* exact at that scale; false: does not fit or has more decimals */
unsigned rdn_num_decimals(const struct rdn_num *);       /* after dropping trailing zeros; large when absurd */
double rdn_num_f64(const struct rdn_num *, bool neg);    /* nearest; inf beyond the range */

/* check.c and its parts: names, types, windows, rules, tests. Adds diagnostics sorted by position; true if there are no errors. */
bool rdn_check(struct rdn_pass *);
/* Types one expression of an empty file (`eval`): names are `locals` (src LOC, index). The type of the value; raises. */
const struct rdn_type *rdn_check_expr(struct rdn_pass *, struct rdn_expr *, const struct rdn_d_param_ *locals, uint32_t nlocals);
/* lower.c: the checked tree as IR. */
struct rdn_ir *rdn_lower(struct rdn_pass *);
/* One expression that rdn_check_expr has typed, into an IR with the types of the pass; locals are the bindings, by index, as
 * constants. rdn_dsl_expr calls it. */
struct rdn_ir *rdn_lower_expr(struct rdn_pass *, struct rdn_expr *, const struct rdn_dsl_binding *, uint32_t nbindings, rdn_id *ret_root);
/* lower.c, for constants: lowers a typed constant expression into a scratch IR and folds it (check: E0417, defaults). */
void rdn_const_eval(struct rdn_pass *, struct rdn_expr *, struct rdn_cell *ret);
/* schema.c: row layout and its canonical text from a declaration. cost.c: chapter 14. winhash.c: chapter 13. */
void rdn_schema_layout(struct rdn_pass *, const struct rdn_d_event *, struct rdn_event *ret);   /* all but part_field, cost_ps and the lists */
void rdn_costs(struct rdn_pass *);                       /* rdn_check has called it: cost_ps of events, windows, rules; key_bytes, row_bytes */
#endif
