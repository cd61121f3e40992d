/* SPDX-License-Identifier: Apache-2.0
 * pred_run.c: runs a predicate program over one event (pred.h). Built once for each instruction set. */
#include "jit/pred.h"
#include <math.h>
#include <string.h>

/* ---- inputs ---- */
static int64_t load(const struct rdn_pred_input *in, const uint8_t *block, const uint8_t *row) {
    int64_t v;
    int32_t d;
    uint32_t u;
    switch (in->load) {
    case RDN_LOAD_U8: return row[in->at];
    case RDN_LOAD_U32: memcpy(&u, row + in->at, 4); return u;
    case RDN_LOAD_I32: memcpy(&d, row + in->at, 4); return d;
    default: memcpy(&v, block + in->at, 8); return v;
    }
}
/* A slot without a value: NaN or a flag. True when interp is to be asked for some. */
static bool mark_slots(const struct rdn_preds *p, struct rdn_pred_cells *c, const uint8_t *states, uint64_t *ask) {
    bool any = false;
    c->dirty = false;
    for (uint32_t i = 0; i < p->nslots; i++) {
        const struct rdn_pred_slot *s = &p->slots[i];
        unsigned how = states ? states[s->slot] : RDN_SLOT_VALUE;
        c->u[s->cell] = how == RDN_SLOT_VALUE ? 0 : 2;
        if (how == RDN_SLOT_VALUE)
            continue;
        c->dirty = true;
        if (s->is_float)
            c->v[s->cell].f = NAN;
        if (how == RDN_SLOT_UNDEF || s->dep == RDN_NO_DEP)
            continue;
        any = true;
        for (uint32_t w = 0; ask && w < p->plan->words; w++)
            ask[w] |= p->plan->deps[(size_t)s->dep * p->plan->dep_words + w];
    }
    return any;
}

/* ---- runs: one cell, many constants; whole vectors ---- */
#define RUN(op, test)                                                       \
    case op:                                                                \
        for (uint32_t i = 0; i < n; i += RDN_PRED_LANES)                    \
            for (uint32_t j = i; j < i + RDN_PRED_LANES; j++)               \
                t[j] = (test) ? 3 : 0;                                      \
        return;
#define RUN6(prefix)                                                        \
    RUN(prefix##LT, x < c[j])                                               \
    RUN(prefix##LE, x <= c[j])                                              \
    RUN(prefix##GT, x > c[j])                                               \
    RUN(prefix##GE, x >= c[j])                                              \
    RUN(prefix##EQ, x == c[j])                                              \
    RUN(prefix##NE, x != c[j])
static void float_run(const struct rdn_pred_step *s, double x, uint8_t *restrict t) {
    const double *restrict c = &s->c->f;
    uint32_t n = s->n;
    if (x != x) {
        memset(t, 2, n);
        return;
    }
    switch (s->kind) {
    RUN6(RDN_PRED_F_)
    }
}
static void int_run(const struct rdn_pred_step *s, int64_t x, uint8_t undef, uint8_t *restrict t) {
    const int64_t *restrict c = &s->c->i;
    uint32_t n = s->n;
    if (undef) {
        memset(t, undef, n);
        return;
    }
    switch (s->kind) {
    RUN6(RDN_PRED_I_)
    }
}

/* ---- predicates with cells of their own ---- */
/* sure | maybe << 1: an unordered pair is not surely anything, and maybe everything. */
#define SURE_MAYBE(sure, never) (uint8_t)((sure) | !(never) << 1)
#define EACH(op, left, right, sure, never)                                  \
    case op:                                                                \
        for (uint32_t i = 0; i < n; i++) {                                  \
            double x = (left), y = (right);                                 \
            t[i] = SURE_MAYBE(sure, never);                                 \
        }                                                                   \
        return;
#define EACH4(prefix, left, right)                                          \
    EACH(prefix##LT, left, right, x < y, x >= y)                            \
    EACH(prefix##LE, left, right, x <= y, x > y)                            \
    EACH(prefix##EQ, left, right, x == y, (x < y) | (x > y))                \
    EACH(prefix##NE, left, right, (x < y) | (x > y), x == y)
/* Constants and cells as what a form reads; NULL where it has none. */
static const double *floats(const union rdn_pred_word *w) { return (const double *)(const void *)w; }
static const int64_t *wholes(const union rdn_pred_word *w) { return (const int64_t *)(const void *)w; }
static void float_each(const struct rdn_pred_step *s, const double *v, uint8_t *restrict t) {
    const uint32_t *a = s->a, *b = s->b;
    const double *k = floats(s->k), *l = floats(s->l), *c = floats(s->c);
    uint32_t n = s->n;
    switch (s->kind) {
    EACH4(RDN_PRED_FX_, v[a[i]], c[i])
    EACH(RDN_PRED_FX_GT, v[a[i]], c[i], x > y, x <= y)
    EACH(RDN_PRED_FX_GE, v[a[i]], c[i], x >= y, x < y)
    EACH4(RDN_PRED_L_, v[a[i]] * k[i] + v[b[i]] * l[i], c[i])
    EACH4(RDN_PRED_P_, v[a[i]] * k[i], v[b[i]] * l[i])
    }
}
/* 2 where a flag says so, else 3 or 0. */
#define WHOLE(op, type, left, right, flags, test)                           \
    case op:                                                                \
        for (uint32_t i = 0; i < n; i++) {                                  \
            type x = (left), y = (right);                                   \
            uint8_t un = (flags);                                           \
            t[i] = un ? un : (test) ? 3 : 0;                                \
        }                                                                   \
        return;
#define WHOLE4(prefix, type, left, right, flags)                            \
    WHOLE(prefix##LT, type, left, right, flags, x < y)                      \
    WHOLE(prefix##LE, type, left, right, flags, x <= y)                     \
    WHOLE(prefix##EQ, type, left, right, flags, x == y)                     \
    WHOLE(prefix##NE, type, left, right, flags, x != y)
static void whole_each(const struct rdn_pred_step *s, const struct rdn_pred_cells *cells, uint8_t *restrict t) {
    const uint32_t *a = s->a, *b = s->b;
    const int64_t *v = wholes(cells->v), *c = wholes(s->c);
    const rdn_i128 *w = cells->w;
    const uint8_t *u = cells->u, *wu = cells->wu;
    uint32_t n = s->n;
    switch (s->kind) {
    WHOLE4(RDN_PRED_IX_, int64_t, v[a[i]], c[i], u[a[i]])
    WHOLE(RDN_PRED_IX_GT, int64_t, v[a[i]], c[i], u[a[i]], x > y)
    WHOLE(RDN_PRED_IX_GE, int64_t, v[a[i]], c[i], u[a[i]], x >= y)
    WHOLE4(RDN_PRED_II_, int64_t, v[a[i]], v[b[i]], u[a[i]] | u[b[i]])
    WHOLE4(RDN_PRED_WW_, rdn_i128, w[a[i]], w[b[i]], wu[a[i]] | wu[b[i]])
    }
}

/* ---- junctions: rules, mostly ---- */
#define JOIN(op, width, expr)                                               \
    case op:                                                                \
        for (uint32_t i = 0; i < n; i++, a += (width))                      \
            t[to[i]] = (uint8_t)(expr);                                     \
        return;
static void join_any(const struct rdn_pred_step *s, uint8_t *t) {
    bool is_and = s->kind == RDN_PRED_ANDN;
    const uint32_t *a = s->a;
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t x = is_and ? 3 : 0;
        for (uint32_t k = 0; k < s->cell; k++)
            x = is_and ? x & t[*a++] : x | t[*a++];
        t[s->b[i]] = x;
    }
}
static void join(const struct rdn_pred_step *s, uint8_t *t) {
    const uint32_t *a = s->a, *to = s->b;
    uint32_t n = s->n;
    switch (s->kind) {
    JOIN(RDN_PRED_AND1, 1, t[a[0]])
    JOIN(RDN_PRED_AND2, 2, t[a[0]] & t[a[1]])
    JOIN(RDN_PRED_AND3, 3, t[a[0]] & t[a[1]] & t[a[2]])
    JOIN(RDN_PRED_AND4, 4, t[a[0]] & t[a[1]] & t[a[2]] & t[a[3]])
    JOIN(RDN_PRED_AND5, 5, t[a[0]] & t[a[1]] & t[a[2]] & t[a[3]] & t[a[4]])
    JOIN(RDN_PRED_OR2, 2, t[a[0]] | t[a[1]])
    JOIN(RDN_PRED_OR3, 3, t[a[0]] | t[a[1]] | t[a[2]])
    default: join_any(s, t);
    }
}

/* ---- the program ---- */
bool RDN_PRED_RUN(const struct rdn_preds *, struct rdn_pred_cells *, const uint8_t *block, const uint8_t *row, const uint8_t *states, uint64_t *ask);
bool RDN_PRED_RUN(const struct rdn_preds *p, struct rdn_pred_cells *c, const uint8_t *block, const uint8_t *row, const uint8_t *states, uint64_t *ask) {
    bool asks = false;
    for (uint32_t i = 0; i < p->nwords; i++)
        memcpy(&c->v[p->words[i].cell], row + p->words[i].at, 8);
    for (uint32_t i = 0; i < p->ninputs; i++)
        c->v[p->inputs[i].cell].i = load(&p->inputs[i], block, row);
    if (states || c->dirty)
        asks = mark_slots(p, c, states, ask);
    c->overflow = false;
    for (const struct rdn_pred_step *s = p->steps, *end = s + p->nsteps; s < end; s++) {
        if (s->kind == RDN_PRED_OPS)
            rdn_pred_ops(s->ops, s->n, c);
        else if (s->kind <= RDN_PRED_F_NE)
            float_run(s, c->v[s->cell].f, c->t + s->out);
        else if (s->kind <= RDN_PRED_I_NE)
            int_run(s, c->v[s->cell].i, c->u[s->cell], c->t + s->out);
        else if (s->kind <= RDN_PRED_FX_NE || (s->kind >= RDN_PRED_L_LT && s->kind <= RDN_PRED_P_NE))
            float_each(s, &c->v->f, c->t + s->out);
        else if (s->kind < RDN_PRED_AND1)
            whole_each(s, c, c->t + s->out);
        else
            join(s, c->t);
    }
    if (c->overflow && ask)
        memset(ask, 0xff, 8 * (size_t)p->plan->words);
    return asks || c->overflow;
}
