/* SPDX-License-Identifier: Apache-2.0
 * trace.c: the sub-values of a condition in the order of evaluation of LANGUAGE.md 17.6, for explain. Not hot: a value is worked
 * out again for each node above it. Recursion is bounded by the height of one expression (200): bodies of lets and fns are not
 * entered. */
#include "jit/interp_code.h"
#include <string.h>

struct trace { struct rdn_interp_state *st; const struct rdn_ir *ir; rdn_trace_fn *fn; void *ctx; };

static void walk(struct trace *, rdn_id, struct rdn_cell *ret);

static bool is_void(const struct rdn_ir *ir, rdn_id id, const struct rdn_cell *c) {
    return c->cause || (ir->nodes.v[id].type == RDN_TY_F64 && c->f != c->f);
}

/* x in [..] stops at the first equal element. The next evaluation would reuse the memory of a text. */
static void walk_set(struct trace *t, rdn_id id, const rdn_id *args, uint32_t n) {
    struct rdn_arena arena;
    rdn_arena_init(&arena, t->st->code->mem);
    struct rdn_cell *cells = rdn_new_n(&arena, struct rdn_cell, n), same;
    const struct rdn_cell **argp = rdn_new_n(&arena, const struct rdn_cell *, n);
    for (uint32_t i = 0; cells && argp && i < n; i++) {
        argp[i] = &cells[i];
        walk(t, args[i], &cells[i]);
        const bool text = !cells[i].cause && t->ir->nodes.v[args[i]].type == RDN_TY_STR;
        if (text)
            cells[i].t.p = rdn_arena_strndup(&arena, cells[i].t.p, cells[i].t.len);
        if ((!i && cells[0].cause) || (text && !cells[i].t.p))
            break;
        if (i) {
            rdn_op_apply(t->ir, id, argp, i + 1, &t->st->tmp, &same);
            if (!same.cause && same.i)
                break;
        }
    }
    rdn_arena_fini(&arena);
}

static void walk_strict(struct trace *t, const struct rdn_node *n, const rdn_id *args, uint32_t nargs) {
    if (n->op == RDN_OP_WREAD || n->op == RDN_OP_WPREV) {
        const struct rdn_window *w = &t->ir->windows[n->aux];
        if (nargs == w->nkeys && nargs && !memcmp(args, w->keys, nargs * sizeof *args))
            return;                                      /* the key expressions of the declaration */
    }
    struct rdn_cell c;
    for (uint32_t i = 0; i < nargs; i++) {
        walk(t, args[i], &c);
        if (c.cause)
            break;
    }
}

static void walk_parts(struct trace *t, rdn_id id, const struct rdn_node *n) {
    rdn_id buf[3];
    uint32_t nargs;
    const rdn_id *args = rdn_node_args(t->ir, n, buf, &nargs);
    struct rdn_cell c;
    switch (n->op) {
    case RDN_OP_USE:
        return;
    case RDN_OP_INLINE:
        for (uint32_t i = 0; i + 1 < nargs; i++)
            walk(t, args[i], &c);
        return;
    case RDN_OP_AND:
    case RDN_OP_OR:
        walk(t, args[0], &c);
        if (c.cause || c.i != (n->op == RDN_OP_OR))
            walk(t, args[1], &c);
        return;
    case RDN_OP_COALESCE:
        walk(t, args[0], &c);
        if (is_void(t->ir, args[0], &c))
            walk(t, args[1], &c);
        return;
    case RDN_OP_SEL:
        walk(t, args[0], &c);
        if (!c.cause)
            walk(t, args[c.i ? 1 : 2], &c);
        return;
    case RDN_OP_INSET:
        walk_set(t, id, args, nargs);
        return;
    default:
        walk_strict(t, n, args, nargs);
    }
}

static void walk(struct trace *t, rdn_id id, struct rdn_cell *ret) {
    const struct rdn_node *n = &t->ir->nodes.v[id];
    walk_parts(t, id, n);
    rdn_interp_eval(t->st, id, ret);
    if (n->flags & RDN_NODE_TRACE)
        t->fn(t->ctx, t->ir, id, ret);
}

void rdn_exec_trace(struct rdn_frame *f, uint32_t rule, rdn_trace_fn *fn, void *ctx, struct rdn_cell *ret_when) {
    struct trace t = { f->interp, f->head.ir, fn, ctx };
    walk(&t, f->head.ir->rules[rule].when, ret_when);
}
