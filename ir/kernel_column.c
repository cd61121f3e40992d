/* SPDX-License-Identifier: Apache-2.0
 * kernel_column.c: loops over the paths of a chunk for the operations that kernels are made of. Each loop computes per path
 * exactly what rdn_op_apply computes; what is missing here is done path by path. */
#include "ir/kernel_run.h"
#include "ir/own.h"
#include <math.h>
#include <string.h>

/* A comparison or min, max: NaN on either side leaves a cause. */
static void mark_nan(struct rdn_kcol *d, uint32_t n, const double *a, const double *b) {
    for (uint32_t p = 0; p < n; p++)
        if (a[p] != a[p] || b[p] != b[p]) {
            if (!d->undef)
                memset(d->cause, 0, n);
            d->undef = true;
            d->cause[p] = RDN_CAUSE_NAN;
        }
}

#define LOOP(expr)                           \
    do {                                     \
        for (uint32_t p = 0; p < n; p++)     \
            expr;                            \
        return true;                         \
    } while (0)

static bool arith_f64(struct rdn_kcol *col, unsigned op, uint32_t n, const double *a, const double *b) {
    double *d = col->f;
    switch (op) {
    case RDN_OP_ADD: LOOP(d[p] = a[p] + b[p]);
    case RDN_OP_SUB: LOOP(d[p] = a[p] - b[p]);
    case RDN_OP_MUL: LOOP(d[p] = a[p] * b[p]);
    case RDN_OP_DIV: LOOP(d[p] = a[p] / b[p]);
    case RDN_OP_MIN: mark_nan(col, n, a, b); LOOP(d[p] = b[p] < a[p] ? b[p] : a[p]);
    case RDN_OP_MAX: mark_nan(col, n, a, b); LOOP(d[p] = b[p] > a[p] ? b[p] : a[p]);
    }
    return false;
}

static bool compare_f64(struct rdn_kcol *col, unsigned op, uint32_t n, const double *a, const double *b) {
    int64_t *d = col->i;
    mark_nan(col, n, a, b);
    switch (op) {
    case RDN_OP_EQ: LOOP(d[p] = a[p] == b[p]);
    case RDN_OP_NE: LOOP(d[p] = a[p] != b[p]);
    case RDN_OP_LT: LOOP(d[p] = a[p] < b[p]);
    case RDN_OP_LE: LOOP(d[p] = a[p] <= b[p]);
    case RDN_OP_GT: LOOP(d[p] = a[p] > b[p]);
    case RDN_OP_GE: LOOP(d[p] = a[p] >= b[p]);
    }
    return false;
}

static bool float1(double *d, unsigned op, uint32_t n, const double *a) {
    const struct rdn_own *own = rdn_own();
    switch (op) {
    case RDN_OP_NEG: LOOP(d[p] = -a[p]);
    case RDN_OP_ABS: LOOP(d[p] = fabs(a[p]));
    case RDN_OP_SQRT: LOOP(d[p] = sqrt(a[p]));
    case RDN_OP_FLOOR: LOOP(d[p] = floor(a[p]));
    case RDN_OP_CEIL: LOOP(d[p] = ceil(a[p]));
    case RDN_OP_EXP: own->exp_n(d, a, n); return true;
    case RDN_OP_LOG: own->log_n(d, a, n); return true;
    case RDN_OP_INVNORM: own->invnorm_n(d, a, n); return true;
    case RDN_OP_NORMCDF: own->normcdf_n(d, a, n); return true;
    }
    return false;
}

static bool logic(int64_t *d, unsigned op, uint32_t n, const int64_t *a, const int64_t *b) {
    switch (op) {
    case RDN_OP_AND: LOOP(d[p] = a[p] & b[p]);
    case RDN_OP_OR: LOOP(d[p] = a[p] | b[p]);
    case RDN_OP_NOT: LOOP(d[p] = a[p] ^ 1);
    }
    return false;
}

/* Elements of an array operand: its column, or the one array of all paths with no step. */
struct vec { const double *v; size_t step; };
static struct vec vec_of(const struct rdn_krun *r, rdn_id id) {
    const struct rdn_kcol *c = rdn_kcol_of(r, id);
    return c->each ? (struct vec){ c->f, c->k } : (struct vec){ r->uniform[id - r->call->first].v, 0 };
}

static bool arrays(struct rdn_krun *r, const struct rdn_node *n, struct rdn_kcol *d) {
    const struct rdn_own *own = rdn_own();
    if (n->op == RDN_OP_DOT) {
        struct vec a = vec_of(r, n->a), b = vec_of(r, n->b);
        for (uint32_t p = 0; p < r->n; p++)
            d->f[p] = own->dot(a.v + p * a.step, b.v + p * b.step, rdn_kcol_of(r, n->a)->k);
        return true;
    }
    if (n->op == RDN_OP_ELEM && n->c == RDN_NO_NODE && n->type == RDN_TY_F64 && !rdn_kcol_of(r, n->b)->each) {
        struct vec a = vec_of(r, n->a);
        uint64_t at = (uint64_t)r->uniform[n->b - r->call->first].i;
        if (at >= rdn_kcol_of(r, n->a)->k)
            return false;
        for (uint32_t p = 0; p < r->n; p++)
            d->f[p] = a.v[p * a.step + at];
        return true;
    }
    if (n->op == RDN_OP_NORMAL || n->op == RDN_OP_UNIFORM) {
        const int64_t *seed = rdn_kcol_of(r, n->a)->i, *path = rdn_kcol_of(r, n->b)->i;
        for (uint32_t p = 0; p < r->n; p++)
            (n->op == RDN_OP_NORMAL ? own->normal : own->uniform)(seed[p], path[p], n->c, n->aux, d->f + (size_t)p * d->k);
        return true;
    }
    return false;
}

static bool scalars(struct rdn_krun *r, const struct rdn_node *n, struct rdn_kcol *d, const rdn_id *ids, uint32_t k) {
    unsigned ta = r->ir->nodes.v[ids[0]].type;
    const struct rdn_kcol *a = rdn_kcol_of(r, ids[0]), *b = rdn_kcol_of(r, ids[k > 1 ? 1 : 0]);
    if (n->op == RDN_OP_SEL && n->type == RDN_TY_F64) {
        const double *x = b->f, *y = rdn_kcol_of(r, ids[2])->f;
        for (uint32_t p = 0; p < r->n; p++)
            d->f[p] = a->i[p] ? x[p] : y[p];
        return true;
    }
    if (n->op == RDN_OP_I2F) {
        for (uint32_t p = 0; p < r->n; p++)
            d->f[p] = (double)a->i[p];
        return true;
    }
    if (n->op == RDN_OP_AND || n->op == RDN_OP_OR || n->op == RDN_OP_NOT)
        return logic(d->i, n->op, r->n, a->i, b->i);
    if (ta != RDN_TY_F64)
        return false;
    if (n->type == RDN_TY_B1)
        return k == 2 && compare_f64(d, n->op, r->n, a->f, b->f);
    if (n->type != RDN_TY_F64)
        return false;
    return k == 1 ? float1(d->f, n->op, r->n, a->f) : k == 2 && arith_f64(d, n->op, r->n, a->f, b->f);
}

bool rdn_kernel_column(struct rdn_krun *r, rdn_id id) {
    const struct rdn_node *n = &r->ir->nodes.v[id];
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *ids = rdn_node_args(r->ir, n, buf, &k);
    bool array = n->type == RDN_TY_VEC || n->type == RDN_TY_IVEC;
    for (uint32_t i = 0; i < k; i++) {
        unsigned t = r->ir->nodes.v[ids[i]].type;
        array |= t == RDN_TY_VEC || t == RDN_TY_IVEC;
        if (rdn_kcol_of(r, ids[i])->undef)
            return false;
    }
    if (!k || n->op == RDN_OP_INSET)
        return false;
    return array ? arrays(r, n, rdn_kcol_of(r, id)) : scalars(r, n, rdn_kcol_of(r, id), ids, k);
}
