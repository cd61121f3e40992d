/* SPDX-License-Identifier: Apache-2.0
 * fold.c: the value of a constant tree: defaults, ranges, table cells, and what the checker asks about conditions.
 *
 * rdn_fold  O(tree), recursive. Depth and width are bounded by LANGUAGE.md chapter 15; beyond the two bounds below, which
 *           only a damaged rule set reaches, the answer is undefined(overflow) instead of a deep stack. A node that two parents
 *           use (the value of `x in a..b`) is computed for each of them: scratch is given back once a value needs none. */
#include "ir/ir.h"

enum { FOLD_DEPTH = 1024, FOLD_CELLS = 20000 };          /* nodes and cells on the stack at a time */

struct fold { const struct rdn_ir *ir; struct rdn_scratch *sc; uint32_t depth, cells; };

static void fold(struct fold *, rdn_id, struct rdn_cell *ret);

static void undefined(const struct fold *f, rdn_id id, enum rdn_cause cause, struct rdn_cell *ret) {
    ret->cause = (uint8_t)cause;
    ret->span = f->ir->nodes.v[id].span;
}

static void fold_args(struct fold *f, rdn_id id, const rdn_id *args, uint32_t n, struct rdn_cell *ret) {
    struct rdn_cell cells[n ? n : 1];
    const struct rdn_cell *ptrs[n ? n : 1];
    for (uint32_t i = 0; i < n; i++) {
        fold(f, args[i], &cells[i]);
        ptrs[i] = &cells[i];
    }
    rdn_op_apply(f->ir, id, ptrs, n, f->sc, ret);
}

static void fold(struct fold *f, rdn_id id, struct rdn_cell *ret) {
    const struct rdn_node *n = &f->ir->nodes.v[id];
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *args = rdn_node_args(f->ir, n, buf, &k);
    if (n->op == RDN_OP_CONST) {
        *ret = f->ir->consts.v[n->aux].val;
        ret->span = n->span;
    } else if (f->depth == FOLD_DEPTH || k > FOLD_CELLS - f->cells) {
        undefined(f, id, RDN_CAUSE_OVERFLOW, ret);
    } else {
        size_t used = f->sc->used;
        f->depth++;
        f->cells += k;
        fold_args(f, id, args, k, ret);
        f->cells -= k;
        f->depth--;
        if (n->type != RDN_TY_STR && n->type != RDN_TY_VEC && n->type != RDN_TY_IVEC)
            f->sc->used = used;
    }
}

void rdn_fold(const struct rdn_ir *ir, rdn_id root, struct rdn_scratch *scratch, struct rdn_cell *ret) {
    struct fold f = { ir, scratch, 0, 0 };
    fold(&f, root, ret);
}
