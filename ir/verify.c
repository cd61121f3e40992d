/* SPDX-License-Identifier: Apache-2.0
 * verify.c: structural checks of a whole rule set. dsl/lower never breaks one; what is read from text or made by a fuzzer may.
 * After it, executors, planner and state index and cast without a test.
 *
 * rdn_ir_verify  [any]  O(rule set); 20 bytes a node while it runs */
#include "ir/verify.h"
#include <setjmp.h>
#include <string.h>

bool rdn_broken(const struct rdn_verify *v, const char *invariant, const char *what, uint32_t index) {
    rdn_fail(v->reterr, CORRUPT, "R2109", "invariant broken: %s (%s %u)", invariant, what, index);
    return false;
}

bool rdn_node_fits(const struct rdn_ir *ir, rdn_id id, const struct rdn_type *t) {
    const struct rdn_node *n = &ir->nodes.v[id];
    enum rdn_cell_type want = rdn_cell_of(t);
    const struct rdn_type *own = rdn_ir_ltype(ir, id);
    if (t->kind == RDN_K_DEC)
        return (n->type == RDN_TY_D64 || n->type == RDN_TY_W128) && n->scale == t->scale;
    if (n->type != want || n->scale)
        return false;
    /* Symbols and enums are numbers, but not one another's; any text will do for a text. */
    if (t->kind == RDN_K_ARR || t->kind == RDN_K_ENUM || t->kind == RDN_K_EVENT)
        return own == t;
    return (t->kind == RDN_K_SYM) == (own->kind == RDN_K_SYM);
}

bool rdn_cell_valid(const struct rdn_ir *ir, const struct rdn_type *t, const struct rdn_cell *c) {
    if (c->cause)
        return false;
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL: return c->i == 0 || c->i == 1;
    case RDN_K_INT: case RDN_K_TIME: case RDN_K_DUR: case RDN_K_FLOAT: case RDN_K_DEC: return true;
    case RDN_K_DATE: return c->i >= INT32_MIN && c->i <= INT32_MAX;
    case RDN_K_SYM: return c->i == RDN_SYM_NONE || (c->i >= 0 && c->i < (int64_t)rdn_sym_count(ir->syms));
    case RDN_K_STR: return c->t.p && c->t.len <= t->n;
    case RDN_K_TEXT: return c->t.p;
    case RDN_K_ENUM: return c->i >= 0 && c->i < t->n;
    case RDN_K_ARR: return c->v;
    case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT: break;
    }
    return false;
}

/* ---- whose expressions reach a node ---- */

static void mark(struct rdn_verify *v, rdn_id id, int32_t on) {
    if (!rdn_node_id_ok(v->ir, id))
        return;
    if (v->on[id] == RDN_ON_NONE)
        v->on[id] = on;
    else if (v->on[id] != on)
        v->on[id] = RDN_ON_MANY;
}

static void mark_action(struct rdn_verify *v, const struct rdn_action *a, int32_t on) {
    mark(v, a->points, on);
    for (uint32_t i = 0; i < a->nmsg; i++)
        mark(v, a->msg[i].node, on);
    for (uint32_t i = 0; i < a->nfields; i++)
        mark(v, a->fields[i].node, on);
}

static bool mark_roots(struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    for (uint32_t i = 0; i < ir->nwindows; i++) {
        const struct rdn_window *w = &ir->windows[i];
        HOLDS(v, w->event < ir->nevents, "windows are on an event", "window", i);
        mark(v, w->where, (int32_t)w->event);
        mark(v, w->value, (int32_t)w->event);
        mark(v, w->span, (int32_t)w->event);
        for (uint32_t k = 0; k < w->nkeys; k++)
            mark(v, w->keys[k], (int32_t)w->event);
    }
    for (uint32_t i = 0; i < ir->nrules; i++) {
        const struct rdn_rule *r = &ir->rules[i];
        HOLDS(v, r->event < ir->nevents, "rules are on an event", "rule", i);
        mark(v, r->when, (int32_t)r->event);
        for (uint32_t k = 0; k < r->nacts; k++)
            mark_action(v, &r->acts[k], (int32_t)r->event);
        if (r->undef)
            mark_action(v, r->undef, (int32_t)r->event);
    }
    return true;
}

static void mark_operands(struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    for (rdn_id id = ir->nodes.n - 1; id > 0; id--) {
        rdn_id buf[3];
        uint32_t k;
        const rdn_id *args = rdn_node_args(ir, &ir->nodes.v[id], buf, &k);
        for (uint32_t i = 0; v->on[id] != RDN_ON_NONE && i < k; i++)
            mark(v, args[i], v->on[id]);
    }
}

/* ---- shape of the whole ---- */

/* Operands in range before anything follows them. */
static bool operands_ok(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    HOLDS(v, ir->nodes.n >= 1 && ir->ltypes.n == ir->nodes.n, "each node has a language type", "node", ir->ltypes.n);
    for (rdn_id id = 1; id < ir->nodes.n; id++) {
        const struct rdn_node *n = &ir->nodes.v[id];
        HOLDS(v, n->op < RDN_OP_COUNT, "operations are known", "node", id);
        if (rdn_op_arity((enum rdn_op)n->op) == RDN_NARY)
            HOLDS(v, n->a <= ir->args.n && n->b <= ir->args.n - n->a, "operands are in args", "node", id);
        rdn_id buf[3];
        uint32_t k, height = 0;
        const rdn_id *args = rdn_node_args(ir, n, buf, &k);
        for (uint32_t i = 0; i < k; i++) {
            HOLDS(v, args[i] > 0 && args[i] < id, "operands have smaller ids", "node", id);
            height = v->height[args[i]] > height ? v->height[args[i]] : height;
        }
        v->height[id] = height + 1;
        /* 256 lets or fns of height 200, each with its use (chapter 15). */
        HOLDS(v, height < 256 * 202, "expressions are not deeper than chapter 15 allows", "node", id);
    }
    return true;
}

static bool bodies_ok(struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    for (uint32_t c = 0; c < ir->ncalls; c++) {
        const struct rdn_call *call = &ir->calls[c];
        if (!call->kernel)
            continue;
        HOLDS(v, call->first > 0 && call->first <= call->last && call->last < ir->nodes.n, "kernel bodies are ranges of nodes", "call", c);
        for (rdn_id id = call->first; id <= call->last; id++) {
            HOLDS(v, v->body[id] < 0, "kernel bodies do not overlap", "call", c);
            v->body[id] = (int32_t)c;
        }
    }
    return true;
}

static bool spans_ok(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    HOLDS(v, ir->spans.n >= 1, "span 0 is empty", "span", 0);
    for (uint32_t i = 0; i < ir->spans.n; i++)
        HOLDS(v, ir->spans.v[i].a <= ir->spans.v[i].b && ir->spans.v[i].b <= ir->source_len, "spans are in the source", "span", i);
    return true;
}

static bool all_ok(struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    if (!operands_ok(v) || !spans_ok(v) || !bodies_ok(v) || !rdn_verify_decls(v))
        return false;
    if (!mark_roots(v))
        return false;
    mark_operands(v);
    for (rdn_id id = 1; id < ir->nodes.n; id++)
        if (!rdn_verify_node(v, id))
            return false;
    return rdn_verify_rules(v);
}

static int verify_in(struct rdn_verify *v, struct rdn_arena *a) {
    uint32_t n = v->ir->nodes.n + 1;
    v->on = rdn_new_n(a, int32_t, n);
    v->body = rdn_new_n(a, int32_t, n);
    v->height = rdn_new_n(a, uint32_t, n);
    v->seen = rdn_new_n(a, uint32_t, n);
    v->stack = rdn_new_n(a, rdn_id, n);
    if (!v->on || !v->body || !v->height || !v->seen || !v->stack)
        return rdn_fail(v->reterr, NOMEM, "", "out of memory");
    memset(v->on, 0xff, sizeof *v->on * n);              /* RDN_ON_NONE */
    memset(v->body, 0xff, sizeof *v->body * n);
    return all_ok(v) ? 0 : REDAN_E_CORRUPT;
}
int rdn_ir_verify(const struct rdn_ir *ir, redan_error *reterr) {
    struct rdn_verify v = { .ir = ir, .reterr = reterr };
    struct rdn_arena a;
    rdn_arena_init(&a, ir->arena->mem);
    a.brief = true;
    int rc = verify_in(&v, &a);
    rdn_arena_fini(&a);
    return rc;
}
