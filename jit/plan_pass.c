/* SPDX-License-Identifier: Apache-2.0
 * plan_pass.c: how often a clause holds: on sampled events where there are some and it can be told from the row, else a prior (plan.def).
 *
 * Nodes are worked out a column of events at a time, all of them as doubles: an answer that is wrong for a few large integers costs
 * nothing but time. NaN: an optional field that is absent, and whatever is made of it; a clause without a value does not hold. Few events are enough for most clauses; those that hold rarely or nearly always are asked of all. */
#include <math.h>
#include <string.h>
#include "jit/plan_impl.h"

enum { FEW = 32, DEPTH = 24 };
enum { KNOWN_NOT, KNOWN_FEW, KNOWN_ALL, KNOWN_NEVER };   /* NEVER: the rows do not tell */
struct rdn_passes {                                      /* lives in tmp */
    struct rdn_choice *c;
    const struct rdn_sampled *of;
    double **column;                                     /* by node: fields and shared values; NULL: not worked out yet */
    uint8_t *known;                                      /* by node: how many events its column holds */
    uint32_t n;                                          /* events in work */
};

/* ---- priors ---- */
static double prior(struct rdn_choice *c, rdn_pid p) {
    const struct rdn_pnode *n = rdn_pnode_at(c->pl, p), *x = rdn_pnode_at(c->pl, n->a);
    uint32_t k;
    double miss = 1;
    if (n->flags & RDN_P_SLOT)
        return k_prior_other;
    if (n->op == RDN_OP_EQ && (x->type == RDN_TY_I64 || x->type == RDN_TY_D64)) {
        double values = fmax((double)x->hi - (double)x->lo + 1, 1), many = 1 / k_prior_eq_many;      /* an empty range has none */
        if (2 * c->asked[n->a] > many)
            many = 2 * c->asked[n->a];                   /* so many constants are not all frequent */
        return 1 / (values < many ? values : many);
    }
    if (n->op == RDN_OP_OR) {
        const rdn_pid *v = rdn_pargs(c->pl, n, &k);
        for (uint32_t i = 0; i < k; i++)
            miss *= 1 - rdn_plan_pass(c, v[i]);
        return 1 - miss;
    }
    return k_prior_other;
}

/* ---- columns ---- */
static bool is_present(const struct rdn_field *f, const uint8_t *row) {
    uint64_t bits;
    memcpy(&bits, row + 8, 8);
    return bits >> f->present_bit & 1;
}
static void load_field(const struct rdn_passes *s, const struct rdn_pnode *n, double *to) {
    const struct rdn_field *f = &s->c->pl->ir->events[s->c->pl->event].fields[n->aux];
    const uint8_t *p = s->of->rows + f->offset;
    for (uint32_t i = 0; i < s->n; i++, p += s->of->stride) {
        int64_t v;
        int32_t d;
        uint32_t u;
        if (f->optional && !is_present(f, p - f->offset)) {
            to[i] = (double)NAN;
        } else if (n->type == RDN_TY_F64) {
            memcpy(&to[i], p, 8);
        } else if (f->size == 8) {
            memcpy(&v, p, 8);
            to[i] = (double)v;
        } else if (f->size == 1) {
            to[i] = *p;
        } else if (f->type->kind == RDN_K_DATE) {
            memcpy(&d, p, 4);
            to[i] = d;
        } else {
            memcpy(&u, p, 4);
            to[i] = u;
        }
    }
}
static double number_of(const struct rdn_pnode *n, int64_t v) {
    double d;
    memcpy(&d, &v, 8);
    return n->type == RDN_TY_F64 ? d : (double)v;
}
static bool is_number(const struct rdn_pnode *n) { return n->op == RDN_OP_CONST && (n->flags & RDN_P_NATIVE); }
static double param_of(const struct rdn_passes *s, const struct rdn_pnode *n) {
    const struct rdn_cell *c = &s->c->pl->ir->params[n->aux].val;
    return n->type == RDN_TY_F64 ? c->f : n->type == RDN_TY_D64 ? (double)c->d : (double)c->i;
}

#define EACH(expr) do { for (uint32_t i = 0; i < m; i++) to[i] = (expr); return true; } while (0)
/* One value of two, or of one (y is x then). False: an operation that is not told from rows. */
static bool apply(const struct rdn_passes *s, const struct rdn_pnode *n, const double *x, const double *y, double *to) {
    const struct rdn_pnode *l = rdn_pnode_at(s->c->pl, n->a), *r = rdn_pnode_at(s->c->pl, n->b);
    uint32_t m = s->n;
    double k = 1;
    switch (n->op) {
    case RDN_OP_ADD: EACH(x[i] + y[i]);
    case RDN_OP_SUB: EACH(x[i] - y[i]);
    case RDN_OP_MUL: EACH(x[i] * y[i]);
    case RDN_OP_DIV: if (n->type == RDN_TY_F64) EACH(x[i] / y[i]); EACH(trunc(x[i] / y[i]));
    case RDN_OP_MOD: EACH(fmod(x[i], y[i]));
    case RDN_OP_NEG: EACH(-x[i]);
    case RDN_OP_ABS: EACH(fabs(x[i]));
    case RDN_OP_SQRT: EACH(sqrt(x[i]));
    case RDN_OP_FLOOR: EACH(floor(x[i]));
    case RDN_OP_CEIL: EACH(ceil(x[i]));
    case RDN_OP_TRUNC: case RDN_OP_F2I: EACH(trunc(x[i]));
    case RDN_OP_I2F: case RDN_OP_B2I: EACH(x[i]);
    case RDN_OP_D2F: k = 1 / (double)rdn_pow10(l->scale); EACH(x[i] * k);
    case RDN_OP_RATIO: k = (double)rdn_pow10(r->scale) / (double)rdn_pow10(l->scale); EACH(x[i] / y[i] * k);
    case RDN_OP_IRATIO: EACH(x[i] / y[i]);
    case RDN_OP_RESCALE: k = (double)rdn_pow10(n->scale - (l->type == RDN_TY_D64 ? l->scale : 0u)); EACH(x[i] * k);
    case RDN_OP_LT: EACH(x[i] < y[i]);
    case RDN_OP_LE: EACH(x[i] <= y[i]);
    case RDN_OP_EQ: EACH(x[i] == y[i]);
    case RDN_OP_NE: EACH(x[i] < y[i] || x[i] > y[i]);    /* neither of them is missing */
    case RDN_OP_NOT: EACH(x[i] == 0);
    default: return false;
    }
}

static const double *column(struct rdn_passes *s, rdn_pid p, double *to, unsigned depth);
/* and, or, min, max: of any number. */
static bool fold(struct rdn_passes *s, const struct rdn_pnode *n, double *to, unsigned depth) {
    double own[RDN_SAMPLE_MAX];
    uint32_t k;
    const rdn_pid *v = rdn_pargs(s->c->pl, n, &k);
    bool least = n->op == RDN_OP_AND || n->op == RDN_OP_MIN, logic = n->op == RDN_OP_AND || n->op == RDN_OP_OR;
    for (uint32_t a = 0; a < k; a++) {
        const double *x = column(s, v[a], own, depth);
        if (!x)
            return false;
        for (uint32_t i = 0; i < s->n; i++)
            if (isnan(x[i]))
                to[i] = !logic || !a ? logic ? 0 : x[i] : least ? 0 : to[i];
            else
                to[i] = !a || (least ? x[i] < to[i] : x[i] > to[i]) ? x[i] : to[i];
    }
    return true;
}
static bool choose(struct rdn_passes *s, const struct rdn_pnode *n, double *to, unsigned depth) {
    double a[RDN_SAMPLE_MAX], b[RDN_SAMPLE_MAX];
    const double *x = column(s, n->b, a, depth), *y = column(s, n->c, b, depth), *by = column(s, n->a, to, depth);
    if (!x || !y || !by)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        to[i] = isnan(by[i]) ? by[i] : by[i] != 0 ? x[i] : y[i];
    return true;
}
static bool compute(struct rdn_passes *s, const struct rdn_pnode *n, double *to, unsigned depth) {
    double a[RDN_SAMPLE_MAX], b[RDN_SAMPLE_MAX], k = 0;
    switch (n->op) {
    case RDN_OP_FIELD: load_field(s, n, to); return true;
    case RDN_OP_CONST: case RDN_OP_PARAM: k = n->op == RDN_OP_CONST ? number_of(n, n->lo) : param_of(s, n); break;
    case RDN_OP_NOW: case RDN_OP_TS:
        for (uint32_t i = 0; i < s->n; i++)
            to[i] = (double)s->of->now[i];               /* events seldom come late */
        return true;
    case RDN_OP_AND: case RDN_OP_OR: case RDN_OP_MIN: case RDN_OP_MAX: return fold(s, n, to, depth);
    case RDN_OP_SEL: return choose(s, n, to, depth);
    default: {
        uint32_t args;
        const rdn_pid *v = rdn_pargs(s->c->pl, n, &args);
        if (args != 1 && args != 2)
            return false;
        const double *x = column(s, v[0], a, depth), *y = x && args == 2 ? column(s, v[1], b, depth) : x;
        return y && apply(s, n, x, y, to);
    }
    }
    for (uint32_t i = 0; i < s->n; i++)
        to[i] = k;
    return true;
}
/* The node's values, in `to` or kept; NULL: the rows do not tell. */
static const double *column(struct rdn_passes *s, rdn_pid p, double *to, unsigned depth) {
    const struct rdn_pnode *n = rdn_pnode_at(s->c->pl, p);
    bool keep = n->op == RDN_OP_FIELD || (n->flags & RDN_P_SHARED);
    uint8_t wanted = s->n > FEW ? KNOWN_ALL : KNOWN_FEW;
    bool told = !(n->flags & RDN_P_SLOT) || n->op == RDN_OP_PARAM || n->op == RDN_OP_FIELD;
    if (depth == DEPTH || !told || !(n->flags & (RDN_P_NATIVE | RDN_P_SLOT)) || s->known[p] == KNOWN_NEVER)
        return NULL;
    if (keep && s->known[p] >= wanted)
        return s->column[p];
    if (keep && !s->column[p])
        s->column[p] = rdn_new_n(s->c->tmp, double, RDN_SAMPLE_MAX);
    if (keep)
        to = s->column[p];
    bool good = compute(s, n, to, depth + 1);
    if (keep)
        s->known[p] = good ? wanted : KNOWN_NEVER;
    return good ? to : NULL;
}

/* ---- clauses ---- */
/* How many of the pairs [i, n) compare so: x with y, or with the one value at y. In vectors, of which true is -1: gcc makes none of a sum of bools. */
typedef double two __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t two_masks __attribute__((vector_size(16)));
#define COUNT(name, op)                                                                 \
    static int name(const double *x, const double *y, bool one, uint32_t i, uint32_t n) { \
        two_masks sum = {0}, more = {0};                                                \
        two k = {*y, *y};                                                               \
        for (; one && i + 4 <= n; i += 4) {                                             \
            sum -= *(const two *)(x + i) op k;                                          \
            more -= *(const two *)(x + i + 2) op k;                                     \
        }                                                                               \
        for (; i + 2 <= n && !one; i += 2)                                              \
            sum -= *(const two *)(x + i) op *(const two *)(y + i);                      \
        sum += more;                                                                    \
        for (; i < n; i++)                                                              \
            sum[0] += x[i] op y[one ? 0 : i];                                           \
        return (int)(sum[0] + sum[1]);                                                  \
    }
COUNT(count_eq, ==)
COUNT(count_lt, <)
COUNT(count_le, <=)
COUNT(count_gt, >)
COUNT(count_ge, >=)
/* Neither of them is missing. */
static int count_ne(const double *x, const double *y, bool one, uint32_t i, uint32_t n) { return count_lt(x, y, one, i, n) + count_gt(x, y, one, i, n); }
typedef int count_fn(const double *x, const double *y, bool one, uint32_t i, uint32_t n);
/* A comparison is counted at once. -1: it is none; -2: the rows do not tell. */
static int compared(struct rdn_passes *s, const struct rdn_pnode *n, uint32_t from) {
    static count_fn *const as_it_is[] = {count_eq, count_ne, count_lt, count_le}, *const turned[] = {count_eq, count_ne, count_gt, count_ge};
    double a[RDN_SAMPLE_MAX], b[RDN_SAMPLE_MAX];
    unsigned op = n->op - (unsigned)RDN_OP_EQ;
    if (op > RDN_OP_LE - RDN_OP_EQ || (n->flags & (RDN_P_SLOT | RDN_P_SHARED)) || !(n->flags & RDN_P_NATIVE))
        return -1;
    const struct rdn_pnode *l = rdn_pnode_at(s->c->pl, n->a), *r = rdn_pnode_at(s->c->pl, n->b);
    bool turn = is_number(l), one = turn || is_number(r);
    const double *x = column(s, turn ? n->b : n->a, a, 1), *y = b;
    if (one)
        b[0] = turn ? number_of(l, l->lo) : number_of(r, r->lo);
    else
        y = x ? column(s, n->b, b, 1) : NULL;
    return x && y ? (turn ? turned : as_it_is)[op](x, y, one, from, s->n) : -2;
}
/* How many of the events [from, n) the clause holds for; below 0: the rows do not tell. */
static int holds(struct rdn_passes *s, rdn_pid p, uint32_t from, uint32_t n) {
    double own[RDN_SAMPLE_MAX];
    s->n = n;
    int yes = compared(s, rdn_pnode_at(s->c->pl, p), from);
    if (yes != -1)
        return yes;
    const double *x = column(s, p, own, 0);
    return x ? count_gt(x, &(double){0}, true, from, n) : -1;
}
static bool sampled(struct rdn_passes *s, rdn_pid p, double expected, double *ret) {
    uint32_t n = s->of->n < FEW ? s->of->n : FEW;
    int yes = holds(s, p, 0, n);
    if (yes < 0)
        return false;
    if (s->of->n > n && (yes <= FEW / 8 || yes >= FEW - FEW / 8)) {
        yes += holds(s, p, n, s->of->n);
        n = s->of->n;
    }
    *ret = ((double)yes + expected) / ((double)n + 1);   /* what was expected counts as one event */
    return true;
}
void rdn_plan_passes(struct rdn_choice *c, const struct rdn_sampled *of) {
    size_t n = c->pl->nodes.n;
    c->pass = rdn_new_n(c->tmp, float, n);
    for (rdn_pid p = 0; p < n; p++)
        c->pass[p] = -1;
    if (!of || !of->n)
        return;
    struct rdn_passes *s = c->passes = rdn_new(c->tmp, struct rdn_passes);
    *s = (struct rdn_passes){.c = c, .of = of, .column = rdn_new_n(c->tmp, double *, n), .known = rdn_new_n(c->tmp, uint8_t, n)};
}
/* What one expects of an `or` is asked of its operands only where the rows do not tell. */
double rdn_plan_pass(struct rdn_choice *c, rdn_pid p) {
    double v;
    if (c->pass[p] >= 0)
        return c->pass[p];
    bool is_or = rdn_pnode_at(c->pl, p)->op == RDN_OP_OR;
    if (!c->passes || !sampled(c->passes, p, is_or ? k_prior_other : prior(c, p), &v))
        v = prior(c, p);
    return c->pass[p] = (float)v;
}
