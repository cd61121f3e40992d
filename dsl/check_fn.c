/* SPDX-License-Identifier: Apache-2.0
 * check_fn.c: events, fns, lets, plugins and kernels (LANGUAGE.md 4, 9, 12). */
#include "dsl/check.h"
#include <string.h>

/* A field or let may not have the name of a global other than an event. */
static void collide(struct rdn_ck *k, rdn_name name, struct rdn_span pos) {
    const struct rdn_decl *g = rdn_ck_global(k, name);
    if (g && g->kind != RDN_D_EVENT)
        rdn_raise(k->c, "E0303", pos, "field, let and global names must differ", "'%s' is already a %s", name, rdn_decl_word(g));
}

static void too_large(struct rdn_ck *k, const struct rdn_decl *d, uint64_t size) {
    if (size > RDN_LIM_EXPAND)
        rdn_raise(k->c, "E0705", d->pos, NULL, "'%s' expands to more than %d parts", d->name, RDN_LIM_EXPAND);
}

void rdn_ck_event_decl(struct rdn_ck *k, struct rdn_decl *d) {
    const struct rdn_d_event *e = (struct rdn_d_event *)d;
    for (uint32_t i = 0; i < e->fields.n; i++)
        collide(k, e->fields.v[i].name, e->fields.v[i].pos);
}

/* ---- fns and lets ---- */
static void fn_body(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_fn *d = (struct rdn_d_fn *)decl;
    for (uint32_t i = 0; i < d->ps.n; i++) {
        const struct rdn_decl *g = rdn_ck_global(k, d->ps.v[i].name);
        if (g && (g->kind == RDN_D_PARAM || g->kind == RDN_D_WINDOW || g->kind == RDN_D_FN))
            rdn_raise(k->c, "E0303", decl->pos, NULL, "'%s' is already a %s", g->name, rdn_decl_word(g));
    }
    struct rdn_ctx c = rdn_ck_ctx(k, RDN_CTX_FN, NULL, &d->deps);
    c.ps = d->ps.v;
    c.nps = d->ps.n;
    rdn_ck_want(k, d->x, d->ty, &c, RDN_WHAT("the result", NULL));
    rdn_ck_chain(k, decl, &d->deps);
    d->size = rdn_expr_size(d->x);
    too_large(k, decl, d->size);
}

void rdn_ck_fn(struct rdn_ck *k, struct rdn_decl *d) {
    if (!rdn_ck_once(k, d, fn_body))
        rdn_raise(k->c, "E0310", d->pos, NULL, "fn '%s' depends on itself", d->name);
}

static void let_body(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_let *d = (struct rdn_d_let *)decl;
    const struct rdn_d_event *e = rdn_ck_event(k, d->on, d->onpos);
    collide(k, decl->name, decl->pos);
    if (rdn_ck_field(k, e, decl->name))
        rdn_raise(k->c, "E0303", decl->pos, NULL, "'%s' is already a field of %s", decl->name, d->on);
    d->event = e->d.index;
    struct rdn_ctx c = rdn_ck_ctx(k, RDN_CTX_LET, e, &d->deps);
    d->t = rdn_ck_type(k, d->x, &c, NULL);
    rdn_ck_chain(k, decl, &d->deps);
    d->size = rdn_expr_size(d->x);
    too_large(k, decl, d->size);
}

void rdn_ck_let(struct rdn_ck *k, struct rdn_decl *d) {
    if (!rdn_ck_once(k, d, let_body))
        rdn_raise(k->c, "E0309", d->pos, NULL, "let '%s' depends on itself", d->name);
}

/* ---- plugins ---- */
static void event_param(struct rdn_ck *k, struct rdn_d_param_ *p) {
    const struct rdn_d_event *e = rdn_ck_find(k, p->event, RDN_D_EVENT);
    if (!e) {
        static const char *const types[] = { "bool", "int", "float", "dec", "sym", "str", "enum", "time", "dur", "date" };
        rdn_near_begin(k);
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            rdn_near_add(k, types[i]);
        rdn_near_kinds(k, RDN_BIT(RDN_D_EVENT));
        rdn_raise(k->c, "E0205", p->pos, rdn_near_end(k, p->event), "unknown type '%s'", p->event);
    }
    p->type = rdn_type_event(k->c->types, e->d.name, e->d.index);
}

void rdn_ck_plugin(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_call *d = (struct rdn_d_call *)decl;
    for (uint32_t i = 0; i < d->ps.n; i++)
        if (d->ps.v[i].event)
            event_param(k, &d->ps.v[i]);
    rdn_ck_scalar(k, d->ty, decl->pos, "a plugin result");
    if (d->def)
        rdn_ck_const(k, d->def, d->ty, RDN_WHAT("the default", NULL), &d->dval);
}

/* ---- kernels ---- */
/* k of 12.4: ceil(q * paths), at least 1, from the digits of q. */
static uint32_t quantile_rank(const struct rdn_num *q, uint32_t paths) {
    uint64_t whole = 0, carry = 0;
    bool rest = false;
    for (uint32_t i = q->ndigits; i-- > 0;) {            /* digits of the product, lowest first; those below the point only matter as "some" */
        carry += (uint64_t)(q->digits[i] - '0') * paths;
        if ((int64_t)(q->ndigits - 1 - i) < q->sc) {
            rest |= carry % 10 != 0;
            carry /= 10;
            continue;
        }
        whole = carry;                                   /* the first digit before the point: q is 1 */
        carry = 0;
    }
    for (int64_t i = q->ndigits; i < q->sc && carry; i++) {
        rest |= carry % 10 != 0;
        carry /= 10;
    }
    whole += carry + rest;
    return whole ? (uint32_t)whole : 1;
}

static void quantile(struct rdn_ck *k, struct rdn_d_call *d, struct rdn_ctx *c) {
    struct rdn_expr *q = d->rx.v[0];
    bool neg;
    if (!rdn_is_num(q))
        rdn_raise(k->c, "E0410", q->pos, NULL, "the quantile must be a literal");
    const struct rdn_num *n = rdn_num_of(q, &neg);
    const bool zero = !n->ndigits, one = n->ndigits == 1 && n->digits[0] == '1' && !n->sc;
    if (!zero && (neg || !(one || (int64_t)n->ndigits <= n->sc)))
        rdn_raise(k->c, "E0410", q->pos, NULL, "the quantile must be between 0 and 1");
    d->rank = quantile_rank(n, d->cnt);
    rdn_ck_want(k, q, k->F, c, RDN_WHAT("the quantile", NULL));
}

static int reduction(struct rdn_ck *k, const struct rdn_d_call *d) {
    static const char *const names[] = { "sum", "mean", "min", "max", "quantile" };   /* enum rdn_reduce */
    for (int i = 0; i <= RDN_RED_QUANTILE; i++)
        if (!strcmp(d->red, names[i]))
            return i;
    rdn_near_begin(k);
    for (int i = 0; i <= RDN_RED_QUANTILE; i++)
        rdn_near_add(k, names[i]);
    rdn_raise(k->c, "E0306", d->redpos, rdn_near_end(k, d->red), "unknown reduction '%s'", d->red);
}

static void new_local(struct rdn_ck *k, const struct rdn_ctx *c, rdn_name name, struct rdn_span pos) {
    uint32_t i;
    if (rdn_ck_local(k, c, name, &i))
        rdn_raise(k->c, "E0302", pos, NULL, "'%s' is given twice", name);
}

static void add_local(struct rdn_ck *k, const struct rdn_d_call *d, rdn_name name, rdn_ty t, uint32_t index) {
    struct rdn_loc *l = rdn_new(k->c->work, struct rdn_loc);
    *l = (struct rdn_loc){ t, index };
    rdn_scope_put(&k->scope, name, d, l);
}

/* Random numbers: one stream a call, in order of the text, which is the order of the walk. */
static void streams(const struct rdn_expr *x, uint32_t *next) {
    const struct rdn_kids kids = rdn_expr_kids(x);
    if (x->kind == RDN_X_CALL && (x->builtin == RDN_FN_normal || x->builtin == RDN_FN_uniform))
        ((struct rdn_expr *)x)->stream = (*next)++;
    for (uint32_t i = 0; i < kids.n; i++)
        streams(rdn_kid(&kids, i), next);
}

static void kernel_body(struct rdn_ck *k, struct rdn_d_call *d, struct rdn_ctx *c) {
    new_local(k, c, d->var, d->varpos);
    add_local(k, d, d->var, k->I, d->ps.n);
    for (uint32_t i = 0; i < d->lets.n; i++) {
        const struct rdn_d_klet *l = &d->lets.v[i];
        new_local(k, c, l->name, l->pos);
        add_local(k, d, l->name, rdn_ck_type(k, l->x, c, NULL), d->ps.n + 1 + i);
    }
    d->redk = (uint8_t)reduction(k, d);
    const uint32_t n = d->redk == RDN_RED_QUANTILE ? 2 : 1;
    if (d->rx.n != n)
        rdn_raise(k->c, "E0409", d->redpos, NULL, "%s takes %u argument%s", d->red, n, n == 1 ? "" : "s");
    if (n == 2)
        quantile(k, d, c);
    rdn_ck_want(k, d->rx.v[n - 1], k->F, c, RDN_WHAT("the reduced value", NULL));
    uint32_t next = 0;
    for (uint32_t i = 0; i < d->lets.n; i++)
        streams(d->lets.v[i].x, &next);
    streams(d->rx.v[n - 1], &next);
}

void rdn_ck_kernel(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_call *d = (struct rdn_d_call *)decl;
    if (d->ty != k->F)
        rdn_raise(k->c, "E0401", d->tpos, NULL, "a kernel returns float");
    if (d->def)
        rdn_ck_const(k, d->def, k->F, RDN_WHAT("the default", NULL), &d->dval);
    for (uint32_t i = 0; i < d->ps.n; i++)
        if (!rdn_is(d->ps.v[i].type, RDN_KERNEL_KINDS))
            rdn_raise(k->c, "E0401", decl->pos, "kernels have int, float, bool and arrays", "a kernel parameter cannot be %s",
                      rdn_tn(k, d->ps.v[i].type));
    struct rdn_deps deps = { 0 };
    struct rdn_ctx c = rdn_ck_ctx(k, RDN_CTX_KERNEL, NULL, &deps);
    c.ps = d->ps.v;
    c.nps = d->ps.n;
    c.kernel = d;
    kernel_body(k, d, &c);
}
