/* SPDX-License-Identifier: Apache-2.0
 * kernel_ref.c: the reference for kernels: nodes in order over chunks of at most 256 paths, by a loop over columns where
 * kernel_column.c has one, else path by path with rdn_op_apply. Either way a value is the one rdn_op_apply gives, and each path
 * that is undefined has its cause. */
#include "ir/kernel_run.h"
#include <string.h>

/* Hands every node its column. */
static void bind_columns(struct rdn_krun *r, char *data) {
    for (rdn_id id = r->call->first; id <= r->call->last; id++) {
        struct rdn_kcol *c = rdn_kcol_of(r, id);
        c->each = (r->ir->nodes.v[id].flags & RDN_NODE_EACH) != 0;
        c->undef = false;
        c->k = rdn_node_elems(r->ir, id);
        c->f = (double *)(void *)data;
        data += sizeof(double) * c->k * r->chunk;
        c->cause = (uint8_t *)data;
        data += (r->chunk + 15) & ~15u;
        if (r->ir->nodes.v[id].op == RDN_OP_USE && c->each) {
            c->f = rdn_kcol_of(r, r->ir->nodes.v[id].a)->f;      /* reading a let copies nothing */
            c->cause = rdn_kcol_of(r, r->ir->nodes.v[id].a)->cause;
        }
    }
}

static void fill(const struct rdn_krun *r, struct rdn_kcol *c, const struct rdn_node *n, const struct rdn_cell *v) {
    c->undef = v->cause != 0;
    memset(c->cause, v->cause, r->chunk);
    if (c->undef || n->type == RDN_TY_VEC || n->type == RDN_TY_IVEC)
        return;
    for (uint32_t p = 0; p < r->chunk; p++)
        if (n->type == RDN_TY_F64)
            c->f[p] = v->f;
        else
            c->i[p] = v->i;
}

void rdn_kref_begin(struct rdn_krun *r, char *data) {
    bind_columns(r, data);
    for (rdn_id id = r->call->first; id <= r->call->last; id++)
        if (!rdn_kcol_of(r, id)->each)
            fill(r, rdn_kcol_of(r, id), &r->ir->nodes.v[id], &r->uniform[id - r->call->first]);
}

/* The value of a node on path p of the chunk. */
static void cell_at(const struct rdn_krun *r, rdn_id id, uint32_t p, struct rdn_cell *ret) {
    const struct rdn_kcol *c = rdn_kcol_of(r, id);
    if (!c->each) {
        *ret = r->uniform[id - r->call->first];
        return;
    }
    ret->cause = c->undef ? c->cause[p] : (uint8_t)RDN_DEFINED;
    ret->span = 0;
    switch ((enum rdn_cell_type)r->ir->nodes.v[id].type) {
    case RDN_TY_F64: ret->f = c->f[p]; break;
    case RDN_TY_VEC: case RDN_TY_IVEC: ret->v = c->f + (size_t)p * c->k; break;
    case RDN_TY_B1: case RDN_TY_I64: case RDN_TY_D64: case RDN_TY_W128: case RDN_TY_STR: case RDN_TY_ROW: case RDN_TY_COUNT:
        ret->i = c->i[p];
        break;
    }
}

static void set_cell(const struct rdn_krun *r, rdn_id id, uint32_t p, const struct rdn_cell *v) {
    struct rdn_kcol *c = rdn_kcol_of(r, id);
    unsigned type = r->ir->nodes.v[id].type;
    c->cause[p] = v->cause;
    c->undef |= v->cause != 0;
    if (v->cause)
        return;
    if (type == RDN_TY_F64)
        c->f[p] = v->f;
    else if (type == RDN_TY_VEC || type == RDN_TY_IVEC)
        memcpy(c->f + (size_t)p * c->k, v->v, sizeof(double) * c->k);
    else
        c->i[p] = v->i;
}

static void path_by_path(struct rdn_krun *r, rdn_id id) {
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *ids = rdn_node_args(r->ir, &r->ir->nodes.v[id], buf, &k);
    for (uint32_t i = 0; i < k; i++)
        r->arg_ptrs[i] = &r->arg_cells[i];
    for (uint32_t p = 0; p < r->n; p++) {
        struct rdn_cell v = { .cause = RDN_DEFINED };
        for (uint32_t i = 0; i < k; i++)
            cell_at(r, ids[i], p, &r->arg_cells[i]);
        r->each.used = 0;
        rdn_op_apply(r->ir, id, r->arg_ptrs, k, &r->each, &v);
        set_cell(r, id, p, &v);
    }
}

static void run_chunk(struct rdn_krun *r, uint32_t start) {
    for (rdn_id id = r->call->first; id <= r->call->last; id++) {
        struct rdn_kcol *c = rdn_kcol_of(r, id);
        if (!c->each)
            continue;
        const struct rdn_node *n = &r->ir->nodes.v[id];
        c->undef = n->op == RDN_OP_USE && rdn_kcol_of(r, n->a)->undef;
        if (n->op == RDN_OP_EACH)
            for (uint32_t p = 0; p < r->n; p++)
                c->i[p] = (int64_t)start + p;
        else if (n->op != RDN_OP_USE && !rdn_kernel_column(r, id))
            path_by_path(r, id);
    }
}

/* The cause of the lowest undefined path of the chunk: its lets in order, then its value. RDN_DEFINED if there is none. */
static enum rdn_cause first_cause(const struct rdn_krun *r) {
    const struct rdn_call *c = r->call;
    bool any = rdn_kcol_of(r, c->value)->undef;
    for (uint32_t l = 0; l < c->nlets; l++)
        any |= rdn_kcol_of(r, c->lets[l])->undef;
    for (uint32_t p = 0; any && p < r->n; p++)
        for (uint32_t l = 0; l <= c->nlets; l++) {
            const struct rdn_kcol *col = rdn_kcol_of(r, l < c->nlets ? c->lets[l] : c->value);
            if (col->undef && col->cause[p])
                return (enum rdn_cause)col->cause[p];
        }
    return RDN_DEFINED;
}

enum rdn_cause rdn_kref_chunk(struct rdn_krun *r, uint32_t start) {
    run_chunk(r, start);
    return first_cause(r);
}
