/* SPDX-License-Identifier: Apache-2.0
 * warn.c: warnings of a good file (LANGUAGE.md 16): unused declarations, constant conditions, unreachable thresholds,
 * contradictory verdicts, integer division. They stop nothing. */
#include "dsl/check.h"
#include <string.h>

static void unused(struct rdn_ck *k, const struct rdn_decl *d) {
    const unsigned kinds = RDN_BIT(RDN_D_PARAM) | RDN_BIT(RDN_D_LIST) | RDN_BIT(RDN_D_TABLE) | RDN_BIT(RDN_D_CALENDAR) | RDN_BIT(RDN_D_FN) |
                           RDN_BIT(RDN_D_WINDOW) | RDN_BIT(RDN_D_PLUGIN) | RDN_BIT(RDN_D_KERNEL);
    if (d->used)
        return;
    if (d->kind == RDN_D_LET)
        rdn_warn(k->c, "W0901", d->pos, NULL, "let '%s' on %s is never used", d->name, ((const struct rdn_d_let *)d)->on);
    else if (RDN_BIT(d->kind) & kinds)
        rdn_warn(k->c, "W0901", d->pos, NULL, "%s '%s' is never used", rdn_decl_word(d), d->name);
}

/* Depends on nothing: no name, table, window, fn, plugin. */
static bool is_const(const struct rdn_expr *x) {
    if (x->kind == RDN_X_NAME || x->kind == RDN_X_DOT || (x->kind == RDN_X_IDX && x->w) || (x->kind == RDN_X_CALL && !x->builtin))
        return false;
    const struct rdn_kids kids = rdn_expr_kids(x);
    for (uint32_t i = 0; i < kids.n; i++)
        if (!is_const(rdn_kid(&kids, i)))
            return false;
    return true;
}

static void constant_condition(struct rdn_ck *k, const struct rdn_d_rule *r) {
    struct rdn_cell v;
    if (!is_const(r->when))
        return;
    if (r->when->kind == RDN_X_LIT)
        v = r->when->lit.v;
    else
        rdn_const_eval(k->c, r->when, &v);
    if (!v.cause && v.i)
        rdn_warn(k->c, "W0906", r->when->pos, NULL, "rule '%s' always fires", r->d.name);
    else if (!v.cause)
        rdn_warn(k->c, "W0902", r->when->pos, NULL, "rule '%s' can never fire", r->d.name);
}

/* count() of an exact window stops at its capacity. */
static void threshold(struct rdn_ck *k, const struct rdn_expr *x) {
    const struct rdn_expr *a = x->bin.a;
    const struct rdn_d_window *w = a->kind == RDN_X_IDX || (a->kind == RDN_X_NAME && a->src == RDN_SRC_WIN) ? a->w : NULL;
    if (!w || w->aggk != RDN_AGG_COUNT || !w->exact || !rdn_is_num(x->bin.b))
        return;
    if (x->bin.b->val.i >= (int64_t)w->exact + (x->op == RDN_B_GE))
        rdn_warn(k->c, "W0903", x->pos, NULL, "'%s' never counts beyond %u", w->d.name, w->exact);
}

static void walk(struct rdn_ck *k, const struct rdn_expr *x) {
    if (x->idiv)
        rdn_warn(k->c, "W0905", x->pos, "float(a) / float(b) or div(a, b, scale)", "integer division drops the fraction");
    if (x->kind == RDN_X_BIN && (x->op == RDN_B_GT || x->op == RDN_B_GE))
        threshold(k, x);
    const struct rdn_kids kids = rdn_expr_kids(x);
    for (uint32_t i = 0; i < kids.n; i++)
        walk(k, rdn_kid(&kids, i));
}

static int verdict_of(const struct rdn_d_rule *r) {
    for (uint32_t i = 0; i < r->acts.n; i++)
        if (r->acts.v[i].verb <= RDN_V_REJECT)
            return r->acts.v[i].verb;
    return -1;
}

/* Rules that could contradict each other: of one event, priority and kind. */
struct rivals { uint32_t event; int32_t prio; uint32_t shadow; };
static struct rivals rivals_of(const struct rdn_d_rule *r) { return (struct rivals){ r->event, r->prio, r->shadow }; }

/* Which verdicts each group gives, one bit each: most groups have one, and then no condition has to be looked at. */
static void note_verdict(struct rdn_ck *k, const struct rdn_d_rule *r, struct rdn_map *groups) {
    const int verdict = verdict_of(r);
    const struct rivals g = rivals_of(r);
    if (verdict < 0)
        return;
    const uint32_t was = rdn_map_get(groups, &g, sizeof g);
    if (was == RDN_MAP_NONE)
        rdn_map_put(groups, memcpy(rdn_new(k->c->work, struct rivals), &g, sizeof g), sizeof g, RDN_BIT(verdict));
    else if (!(was & RDN_BIT(verdict)))
        rdn_map_set(groups, &g, sizeof g, was | RDN_BIT(verdict));
}

/* Same group and condition, another verdict: the first such rule is the one to name. */
static void contradiction(struct rdn_ck *k, const struct rdn_d_rule *r, const struct rdn_map *groups, struct rdn_map *seen) {
    const int verdict = verdict_of(r);
    const struct rivals g = rivals_of(r);
    if (verdict < 0 || rdn_map_get(groups, &g, sizeof g) == RDN_BIT(verdict))
        return;
    k->buf.n = 0;
    rdn_buf_put(&k->buf, (const char *)&g, sizeof g);
    rdn_canon_put(k, r->when);
    const uint32_t at = rdn_map_get(seen, k->buf.p, k->buf.n);
    if (at == RDN_MAP_NONE)
        rdn_map_put(seen, rdn_arena_strndup(k->c->work, k->buf.p, k->buf.n), k->buf.n, r->d.index);
    else if (verdict_of(k->rules.v[at]) != verdict)
        rdn_warn(k->c, "W0904", r->d.pos, NULL, "rules '%s' and '%s' have the same condition and priority but different verdicts",
                 k->rules.v[at]->d.name, r->d.name);
}

void rdn_ck_warnings(struct rdn_ck *k) {
    struct rdn_map seen, groups;
    rdn_map_init(&seen, k->c->work);
    rdn_map_init(&groups, k->c->work);
    for (uint32_t i = 0; i < k->f->decls.n; i++) {
        const struct rdn_decl *d = k->f->decls.v[i];
        unused(k, d);
        if (d->kind == RDN_D_LET)
            walk(k, ((const struct rdn_d_let *)d)->x);
        else if (d->kind == RDN_D_FN)
            walk(k, ((const struct rdn_d_fn *)d)->x);
    }
    for (uint32_t i = 0; i < k->rules.n; i++)
        note_verdict(k, k->rules.v[i], &groups);
    for (uint32_t i = 0; i < k->rules.n; i++) {
        const struct rdn_d_rule *r = k->rules.v[i];
        constant_condition(k, r);
        contradiction(k, r, &groups, &seen);
        walk(k, r->when);
    }
}
