/* SPDX-License-Identifier: Apache-2.0
 * lower.c: the checked tree as a rule set: rdn_lower for a file, rdn_lower_expr for one expression (eval), rdn_const_eval for the
 * checker's constants. O(tree after expanding fns); everything lives in the compilation's arena. */
#include "dsl/lower.h"
#include <string.h>

/* Declarations by kind and index, so that an index leads back to its declaration. */
static void list_decls(struct rdn_low *l) {
    struct rdn_file *f = l->c->file;
    uint32_t n[RDN_D_TEST + 1] = { 0 };
    for (uint32_t i = 0; i < f->decls.n; i++)
        n[f->decls.v[i]->kind]++;
    struct rdn_arena *a = l->c->work;
    l->lets = rdn_new_n(a, rdn_id, n[RDN_D_LET] + 1);
    l->keys = rdn_new_n(a, rdn_id *, n[RDN_D_WINDOW] + 1);
    l->plugin_at = rdn_new_n(a, uint32_t, n[RDN_D_PLUGIN] + 1);
    l->kernel_at = rdn_new_n(a, uint32_t, n[RDN_D_KERNEL] + 1);
    for (uint32_t i = 0; i < f->decls.n; i++) {
        struct rdn_decl *d = f->decls.v[i];
        if (d->kind == RDN_D_RULE)
            rdn_map_put(&l->rules, d->name, strlen(d->name), d->index);
        else if (d->kind != RDN_D_TEST && d->kind != RDN_D_LET)
            rdn_map_put(&l->globals, d->name, strlen(d->name), i);
        if (d->kind == RDN_D_PLUGIN)
            l->plugin_at[d->index] = l->ncalls++;
        else if (d->kind == RDN_D_KERNEL)
            l->kernel_at[d->index] = l->ncalls++;
    }
}

void rdn_low_init(struct rdn_low *l, struct rdn_pass *c) {
    struct rdn_types *t = c->types;
    *l = (struct rdn_low){ .c = c, .event = RDN_LOW_NO_EVENT };
    l->ir = rdn_ir_new_in(c->arena, c->work, c->syms);
    l->ir->types = t;
    l->ir->ltypes.v[0] = rdn_type_simple(t, RDN_K_NONE)->index;
    l->B = rdn_type_simple(t, RDN_K_BOOL);
    l->I = rdn_type_simple(t, RDN_K_INT);
    l->F = rdn_type_simple(t, RDN_K_FLOAT);
    l->T = rdn_type_simple(t, RDN_K_TIME);
    l->X = rdn_type_simple(t, RDN_K_TEXT);
    rdn_map_init(&l->globals, c->work);
    rdn_map_init(&l->rules, c->work);
    rdn_map_init(&l->codes, c->work);
    rdn_map_init(&l->emits, c->work);
    l->ir->name = "anon";
    l->ir->file = c->opt && c->opt->file ? c->opt->file : "<input>";
    l->ir->source = c->src;
    l->ir->source_len = c->len;
    rdn_low_zone(l, "UTC", 3);
}

struct rdn_ir *rdn_lower(struct rdn_pass *c) {
    struct rdn_low *l = rdn_new(c->work, struct rdn_low);
    rdn_low_init(l, c);
    rdn_ir_reserve(l->ir, c->nexprs);
    list_decls(l);
    l->ir->name = c->file->name;
    l->ir->version = c->file->version;
    l->ir->partition = c->file->partition;
    l->ir->budget_ns = c->file->has_budget ? c->file->budget_ns : 0;
    rdn_low_decls(l);
    rdn_low_rules(l);
    rdn_low_tests(l);
    rdn_ir_seal(l->ir);
    return l->ir;
}

struct rdn_ir *rdn_lower_expr(struct rdn_pass *c, struct rdn_expr *x, const struct rdn_dsl_binding *b, uint32_t n, rdn_id *ret_root) {
    struct rdn_low *l = rdn_new(c->work, struct rdn_low);
    rdn_low_init(l, c);
    rdn_id *loc = rdn_new_n(c->work, rdn_id, n + 1);
    for (uint32_t i = 0; i < n; i++)
        loc[i] = rdn_low_const(l, b[i].type, &b[i].val, 0);
    l->loc = loc;
    *ret_root = rdn_low(l, x);
    rdn_ir_seal(l->ir);
    return l->ir;
}

void rdn_const_eval(struct rdn_pass *c, struct rdn_expr *x, struct rdn_cell *ret) {
    if (rdn_is_num(x)) {                                 /* nearly all of them: data files have a million */
        *ret = x->val;
        ret->cause = RDN_DEFINED;
        return;
    }
    if (x->kind == RDN_X_LIT) {
        *ret = x->lit.v;
        ret->cause = RDN_DEFINED;
        return;
    }
    struct rdn_low *l = rdn_new(c->work, struct rdn_low);
    rdn_low_init(l, c);
    rdn_id root = rdn_low(l, x);
    struct rdn_scratch scratch;
    if (!rdn_fold_room(l->ir, c->arena, &scratch))
        longjmp(*c->arena->oom, 1);                      /* as the arena itself would */
    rdn_fold(l->ir, root, &scratch, ret);
}
