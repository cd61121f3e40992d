/* SPDX-License-Identifier: Apache-2.0
 * lower.h: what the parts of lowering share. Private to dsl/lower*.c.
 *
 * The tree is checked: every type, name and constant is known and nothing here can fail but memory and the symbol table. Nodes
 * appear in source order with the span of the expression they come from, so that causes, positions and explain follow from the
 * IR alone. The recursion is that of the tree, lets and fns included: rdn_dsl_compile's thread has the stack for it. */
#ifndef RDN_LOWER_H
#define RDN_LOWER_H
#include "dsl/pass.h"

struct rdn_low {
    struct rdn_pass *c;
    struct rdn_ir *ir;
    const struct rdn_type *B, *I, *F, *T, *X;            /* bool int float time text */
    /* where the expression stands */
    uint32_t event;                                      /* RDN_LOW_NO_EVENT in tests, kernels, constants */
    bool trace;                                          /* explain enters it */
    const rdn_id *loc;                                   /* fn and kernel parameters, kernel lets, bindings of eval, by index */
    /* done once */
    rdn_id *lets;                                        /* by let: root of the body */
    rdn_id **keys;                                       /* by window: key expressions on its own event */
    uint32_t *plugin_at, *kernel_at;                     /* by declaration: index of ir->calls */
    uint32_t ncalls;
    struct rdn_map globals, rules, codes, emits;         /* names to indices among their kind; globals: to all of file->decls */
    RDN_VEC(const char *) codev; RDN_VEC(struct rdn_emit_def) emitv;
};
#define RDN_LOW_NO_EVENT UINT32_MAX

struct rdn_low_place { uint32_t event; bool trace; const rdn_id *loc; };       /* saved while another body is lowered */
static inline struct rdn_low_place rdn_low_enter(struct rdn_low *l, uint32_t event, const rdn_id *loc, bool trace) {
    struct rdn_low_place was = { l->event, l->trace, l->loc };
    l->event = event;
    l->loc = loc;
    l->trace = trace;
    return was;
}
static inline void rdn_low_leave(struct rdn_low *l, struct rdn_low_place was) {
    l->event = was.event;
    l->trace = was.trace;
    l->loc = was.loc;
}

/* lower.c */
void rdn_low_init(struct rdn_low *, struct rdn_pass *);

/* lower_expr.c */
uint32_t rdn_low_span(struct rdn_low *, const struct rdn_expr *);
enum rdn_cell_type rdn_low_cell(const struct rdn_type *);                      /* of an expression value: dec is W128 */
rdn_id rdn_low_mk(struct rdn_low *, enum rdn_op, const struct rdn_type *, rdn_id a, rdn_id b, rdn_id c, uint32_t span);
rdn_id rdn_low_mk_n(struct rdn_low *, enum rdn_op, const struct rdn_type *, const rdn_id *args, uint32_t n, uint32_t span);
rdn_id rdn_low_const(struct rdn_low *, const struct rdn_type *, const struct rdn_cell *, uint32_t span);
rdn_id rdn_low_int(struct rdn_low *, int64_t, uint32_t span);
rdn_id rdn_low(struct rdn_low *, struct rdn_expr *);                           /* the value at its own type, rescaled if asked */
rdn_id rdn_low_as(struct rdn_low *, struct rdn_expr *, const struct rdn_type *);   /* in a place of that type */
rdn_id rdn_low_text(struct rdn_low *, struct rdn_expr *);                      /* any text type as str */
rdn_id rdn_low_key(struct rdn_low *, struct rdn_expr *, const struct rdn_type *);  /* in a key of that type */
rdn_id rdn_low_compare(struct rdn_low *, enum rdn_op, rdn_id a, rdn_id b, uint32_t span);
/* lower_name.c: names, windows, table cells, elements. A value that is needed more than once: `lead` is evaluated and
 * explained, `use` reads it. */
struct rdn_low_bound { rdn_id lead, use; };
struct rdn_low_bound rdn_low_bind(struct rdn_low *, rdn_id);
rdn_id rdn_low_name(struct rdn_low *, struct rdn_expr *);
rdn_id rdn_low_cell_of_table(struct rdn_low *, struct rdn_expr *);
rdn_id rdn_low_index(struct rdn_low *, struct rdn_expr *);
rdn_id rdn_low_window(struct rdn_low *, struct rdn_expr *, enum rdn_op);       /* a NAME of a window; WREAD or WPREV */
const rdn_id *rdn_low_window_keys(struct rdn_low *, struct rdn_d_window *);
/* lower_call.c */
rdn_id rdn_low_call(struct rdn_low *, struct rdn_expr *);
uint32_t rdn_low_zone(struct rdn_low *, const char *name, size_t len);
/* lower_decl.c */
void rdn_low_decls(struct rdn_low *);
uint32_t rdn_low_code(struct rdn_low *, rdn_name);
/* lower_rule.c */
void rdn_low_rules(struct rdn_low *);
/* lower_test.c */
void rdn_low_tests(struct rdn_low *);
#endif
