/* SPDX-License-Identifier: Apache-2.0
 * kernel_leaf.c: runs a plan over one leaf: a step is one call of a block function. */
#include "ir/kernel_plan.h"

static double *at(double *base, uint32_t column) { return base + (size_t)column * RDN_BLOCK_PATHS; }

bool rdn_kplan_begin(const struct rdn_kplan *p, const struct rdn_ir *ir, const struct rdn_call *call, double *base, const struct rdn_cell *uniform) {
    rdn_id first = call->first;
    for (uint32_t l = 0; l < call->nlets; l++)           /* also those that nothing reads */
        if (!(ir->nodes.v[call->lets[l]].flags & RDN_NODE_EACH) && uniform[call->lets[l] - first].cause)
            return false;
    for (uint32_t i = 0; i < p->nconsts; i++) {
        const struct rdn_kconst *k = &p->consts[i];
        union { double *f; int64_t *i; } col = { at(base, k->column) };
        int64_t bits = k->bits;
        if (k->node != RDN_NO_NODE) {
            const struct rdn_cell *c = &uniform[k->node - first];
            unsigned type = ir->nodes.v[k->node].type;
            if (c->cause)
                return false;
            bits = type == RDN_TY_VEC || type == RDN_TY_IVEC ? c->w[k->elem] : c->i;
        }
        for (uint32_t e = 0; e < RDN_BLOCK_PATHS; e++)
            col.i[e] = bits;
    }
    for (uint32_t i = 0; i < p->nsteps; i++)             /* weights are read where they are */
        if (p->steps[i].op == RDN_KS_DOT && uniform[p->steps[i].b - first].cause)
            return false;
    return true;
}

static void count(int64_t *d, uint32_t start) {
    for (uint32_t p = 0; p < RDN_BLOCK_PATHS; p++)
        d[p] = (int64_t)start + p;
}

static bool pick(double *d, double *base, const uint32_t *list, uint32_t k, const int64_t *index, uint32_t n) {
    for (uint32_t p = 0; p < n; p++) {
        if ((uint64_t)index[p] >= k)
            return false;
        d[p] = at(base, list[index[p]])[p];
    }
    return true;
}

bool rdn_kplan_leaf(const struct rdn_kplan *plan, const struct rdn_block *block, double *base, uint32_t start, uint32_t n,
                    const struct rdn_cell *uniform, rdn_id first) {
    uint32_t up = (n + 15) & ~15u;                       /* what the paths after the last one would do is worked out and not looked at */
    for (const struct rdn_kstep *s = plan->steps, *end = s + plan->nsteps; s < end; s++) {
        const uint32_t *lists = plan->lists;
        union { double *f; int64_t *i; } d = { at(base, s->d) }, a = { at(base, s->a) }, b = { at(base, s->b) };
        switch ((enum rdn_step_op)s->op) {
        case RDN_KS_BLOCK:
            if (block->op[s->block](d.f, a.f, b.f, at(base, s->c), up, s->one))
                return false;
            break;
        case RDN_KS_NOTHING: break;
        case RDN_KS_EACH: count(d.i, start); break;
        case RDN_KS_INVNORM: block->invnorm(d.f, a.f, up); break;
        case RDN_KS_NORMAL: case RDN_KS_UNIFORM:
            block->draw(base, lists + s->d, s->k, a.i, s->one_seed, b.i, s->aux, s->op == RDN_KS_NORMAL, up);
            break;
        case RDN_KS_DOT: block->dot(d.f, uniform[s->b - first].v + s->c, base, lists + s->a, s->k, up); break;
        case RDN_KS_PICK:
            if (!pick(d.f, base, lists + s->a, s->k, b.i, n))
                return false;
            break;
        }
    }
    return true;
}
