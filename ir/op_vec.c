/* SPDX-License-Identifier: Apache-2.0
 * op_vec.c: arrays, row major, and the random numbers of kernels. Results are made in scratch. */
#include "ir/op.h"
#include "ir/own.h"
#include <string.h>

static uint32_t elems(const struct rdn_opx *x, rdn_id id) { return rdn_type_elems(rdn_ir_ltype(x->ir, id)); }

/* Room for the result's elements, or NULL after leaving undefined(overflow). */
static void *new_array(const struct rdn_opx *x) {
    void *p = rdn_scratch_alloc(x->sc, sizeof(double) * elems(x, x->id));
    if (!p)
        rdn_ret_undef(x, RDN_CAUSE_OVERFLOW);
    return p;
}

static void ret_v(const struct rdn_opx *x, const double *v) {
    x->ret->v = v;
    x->ret->cause = RDN_DEFINED;
}

/* The first index is judged before the second is looked at, defined or not. */
void rdn_op_elem(const struct rdn_opx *x) {
    const struct rdn_type *t = rdn_ir_ltype(x->ir, x->n->a);
    const struct rdn_cell *a = x->a[0];
    uint64_t at = 0, stride = t->dim[1];
    if (a->cause) {
        rdn_ret_cell(x->ret, a);
        return;
    }
    for (uint32_t k = 1; k < x->na; k++) {
        const struct rdn_cell *i = x->a[k];
        if (i->cause) {
            rdn_ret_cell(x->ret, i);
            return;
        }
        if ((uint64_t)i->i >= t->dim[k - 1]) {
            rdn_ret_undef(x, RDN_CAUSE_RANGE);
            return;
        }
        at += (uint64_t)i->i * (k == 1 ? stride : 1);
    }
    if (x->n->type == RDN_TY_VEC)                        /* a row of a matrix */
        ret_v(x, a->v + at);
    else if (rdn_node_a(x)->type == RDN_TY_VEC)
        rdn_ret_f(x, a->v[at]);
    else
        rdn_ret_i(x, a->w[at]);
}

void rdn_op_vec(const struct rdn_opx *x) {
    union { double *f; int64_t *i; char *b; } p = { new_array(x) };
    const rdn_id *ids = x->ir->args.v + x->n->a;
    if (!p.f)
        return;
    union { const double *f; } start = { p.f };
    for (uint32_t k = 0; k < x->na; k++) {
        unsigned type = x->ir->nodes.v[ids[k]].type;
        if (type == RDN_TY_F64)
            *p.f++ = x->a[k]->f;
        else if (type == RDN_TY_I64)
            *p.i++ = x->a[k]->i;
        else {
            size_t n = sizeof(double) * elems(x, ids[k]);
            memcpy(p.b, x->a[k]->v, n);
            p.b += n;
        }
    }
    ret_v(x, start.f);
}

static void negate_ints(const struct rdn_opx *x, int64_t *d, uint32_t n) {
    const int64_t *a = x->a[0]->w;
    for (uint32_t i = 0; i < n; i++) {
        if (a[i] == INT64_MIN) {
            rdn_ret_undef(x, RDN_CAUSE_OVERFLOW);
            return;
        }
        d[i] = -a[i];
    }
    x->ret->w = d;
    x->ret->cause = RDN_DEFINED;
}

static double apply1(unsigned op, double a, double b) {
    return op == RDN_OP_VADD ? a + b : op == RDN_OP_VSUB ? a - b : op == RDN_OP_VMUL ? a * b : a / b;
}

void rdn_op_elementwise(const struct rdn_opx *x) {
    uint32_t n = elems(x, x->id);
    void *d = new_array(x);
    if (!d)
        return;
    if (x->n->op == RDN_OP_VNEG && x->n->type == RDN_TY_IVEC) {
        negate_ints(x, d, n);
        return;
    }
    double *r = d;
    if (x->n->op == RDN_OP_VNEG) {
        for (uint32_t i = 0; i < n; i++)
            r[i] = -x->a[0]->v[i];
    } else {
        bool va = rdn_node_a(x)->type == RDN_TY_VEC, vb = rdn_node_b(x)->type == RDN_TY_VEC;
        for (uint32_t i = 0; i < n; i++)
            r[i] = apply1(x->n->op, va ? x->a[0]->v[i] : x->a[0]->f, vb ? x->a[1]->v[i] : x->a[1]->f);
    }
    ret_v(x, r);
}

void rdn_op_matvec(const struct rdn_opx *x) {
    const struct rdn_type *t = rdn_ir_ltype(x->ir, x->n->a);
    const double *a = x->a[0]->v, *b = x->a[1]->v;
    const struct rdn_own *own = rdn_own();
    if (x->n->op == RDN_OP_DOT) {
        rdn_ret_f(x, own->dot(a, b, rdn_type_elems(t)));
        return;
    }
    double *r = new_array(x);
    if (!r)
        return;
    for (uint32_t i = 0; i < t->dim[0]; i++)
        r[i] = own->dot(a + (size_t)i * t->dim[1], b, t->dim[1]);
    ret_v(x, r);
}

void rdn_op_vreduce(const struct rdn_opx *x) {
    const double *a = x->a[0]->v;
    uint32_t n = elems(x, x->n->a);
    double s = 0.0;
    if (x->n->op == RDN_OP_VSUM) {
        for (uint32_t i = 0; i < n; i++)
            s += a[i];
        rdn_ret_f(x, s);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (a[i] != a[i]) {
            rdn_ret_undef(x, RDN_CAUSE_NAN);
            return;
        }
        if (i == 0 || (x->n->op == RDN_OP_VMIN ? a[i] < s : a[i] > s))
            s = a[i];
    }
    rdn_ret_f(x, s);
}

void rdn_op_random(const struct rdn_opx *x) {
    double *r = new_array(x);
    if (!r)
        return;
    const struct rdn_own *own = rdn_own();
    (x->n->op == RDN_OP_NORMAL ? own->normal : own->uniform)(x->a[0]->i, x->a[1]->i, x->n->c, x->n->aux, r);
    ret_v(x, r);
}
