/* SPDX-License-Identifier: Apache-2.0
 * check_window.c: windows (LANGUAGE.md 10): the aggregate and its arguments, keys, where, clauses, partition, resets. */
#include "dsl/check.h"
#include <string.h>
#include "dsl/aggs.h"

const struct rdn_agg_row rdn_aggs[RDN_AGG_COUNT_] = {
#define AGG(NAME, name, args, takes, gives, adv, unit, warmup, least, doc) \
    [RDN_AGG_##NAME] = { #name, args, RDN_GIVES_##gives, adv, unit, warmup, least, takes, doc },
#include "dsl/aggs.def"
#undef AGG
};

static bool given(const struct rdn_d_window *w, enum rdn_opt o) { return w->opos[o].b != 0; }

static uint8_t aggregate(struct rdn_ck *k, const struct rdn_d_window *w) {
    for (uint8_t i = 0; i < RDN_AGG_COUNT_; i++)
        if (!strcmp(rdn_aggs[i].name, w->agg))
            return i;
    rdn_near_begin(k);
    for (uint8_t i = 0; i < RDN_AGG_COUNT_; i++)
        rdn_near_add(k, rdn_aggs[i].name);
    const char *hint = rdn_near_end(k, w->agg);
    rdn_raise(k->c, "E0501", w->aggpos,
              hint ? hint : "aggregates: count sum avg min max stddev distinct last first ewma zscore delta", "unknown aggregate '%s'", w->agg);
}

static void value_type(struct rdn_ck *k, struct rdn_d_window *w, struct rdn_ctx *c) {
    struct rdn_expr *x = w->xs.v[0];
    w->vt = rdn_ck_type(k, x, c, NULL);
    if (!rdn_is(w->vt, rdn_aggs[w->aggk].takes))
        rdn_raise(k->c, "E0503", x->pos, NULL, "%s does not take %s", w->agg, rdn_tn(k, w->vt));
    if (w->vt->kind == RDN_K_DEC && w->vt->scale > 9)
        rdn_raise(k->c, "E0517", x->pos, "round(x, 4) brings it to at most 9 decimals", "%s cannot be stored", rdn_tn(k, w->vt));
}

/* The span of ewma: a literal, or a param whose range starts at 1 or more. */
static void ewma_span(struct rdn_ck *k, struct rdn_d_window *w, struct rdn_ctx *c) {
    struct rdn_expr *s = w->xs.v[1];
    rdn_ty t = rdn_ck_type(k, s, c, k->I);
    const bool num = rdn_is_num(s), lit = s->kind == RDN_X_LIT;
    struct rdn_d_param *p = s->kind == RDN_X_NAME ? rdn_ck_find(k, s->name.v, RDN_D_PARAM) : NULL;
    if ((t != k->I && t != k->U) || !(lit || num || p))
        rdn_raise(k->c, "E0515", s->pos, NULL, "the span of ewma is a number of events or a half-life duration, literal or parameter");
    w->half = t == k->U;
    if (p)
        rdn_ck_ready(k, &p->d, rdn_ck_param);
    const int64_t least = num ? s->val.i : lit ? s->lit.v.i : p->lo ? p->vlo.i : 0;
    if (least < 1)
        rdn_raise(k->c, "E0515", s->pos, "give the parameter a range that starts at 1 or above", "the span of ewma must be at least 1");
}

static rdn_ty result_type(const struct rdn_ck *k, const struct rdn_d_window *w) {
    switch ((enum rdn_agg_gives)rdn_aggs[w->aggk].gives) {
    case RDN_GIVES_INT: return k->I;
    case RDN_GIVES_FLOAT: return k->F;
    case RDN_GIVES_SPAN: return w->vt == k->T ? k->U : w->vt;
    case RDN_GIVES_VALUE: break;
    }
    return w->vt;
}

static void expressions(struct rdn_ck *k, struct rdn_d_window *w, struct rdn_ctx *c) {
    const uint32_t need = rdn_aggs[w->aggk].args;
    if (w->xs.n != need)
        rdn_raise(k->c, "E0502", w->aggpos, w->aggk == RDN_AGG_EWMA ? "ewma(x, 20) or ewma(x, 5m)" : NULL, "%s takes %u argument%s", w->agg, need,
                  need == 1 ? "" : "s");
    if (need)
        value_type(k, w, c);
    if (need == 2)
        ewma_span(k, w, c);
    w->t = result_type(k, w);
    for (uint32_t i = 0; i < w->by.n; i++) {
        struct rdn_expr *b = w->by.v[i];
        rdn_ty t = rdn_ck_type(k, b, c, NULL);
        if (!rdn_is(t, RDN_KEY_KINDS) || (t->kind == RDN_K_DEC && t->scale > 9))
            rdn_raise(k->c, "E0506", b->pos, NULL, "%s cannot be a window key", rdn_tn(k, t));
    }
    if (w->where)
        rdn_ck_want(k, w->where, k->B, c, RDN_WHAT("where", NULL));
}

static void dependencies(struct rdn_ck *k, const struct rdn_d_window *w) {
    if (w->deps.score)
        rdn_raise(k->c, "E0510", w->d.pos, NULL, "a window cannot depend on score");
    if (w->deps.plug)
        rdn_raise(k->c, "E0510", w->d.pos, NULL, "a window cannot call a plugin or kernel");
    const struct rdn_d_window *o = w->deps.last_obs;
    if (o && !w->accepted && o->d.index >= w->d.index)
        rdn_raise(k->c, "E0509", w->d.pos, rdn_arena_printf(k->c->arena, "declare '%s' first", o->d.name),
                  "window '%s' reads '%s', which is updated later", w->d.name, o->d.name);
}

static void unfit(struct rdn_ck *k, bool is, struct rdn_span pos, const char *text) {
    if (is)
        rdn_raise(k->c, "E0505", pos, NULL, "%s", text);
}

static void clauses(struct rdn_ck *k, struct rdn_d_window *w) {
    const uint8_t a = w->aggk;
    const bool timed = w->over_ns, distinct = a == RDN_AGG_DISTINCT, exact = given(w, RDN_OPT_EXACT), panes = given(w, RDN_OPT_PANES);
    unfit(k, a == RDN_AGG_EWMA && (timed || w->events), w->opos[RDN_OPT_OVER], "ewma has its own span and takes no over");
    unfit(k, a == RDN_AGG_ZSCORE && !timed && !w->events, w->aggpos, "zscore needs over");
    unfit(k, panes && (!timed || (exact && !distinct)), w->opos[RDN_OPT_PANES], "panes needs over with a duration and no exact");
    unfit(k, exact && !timed && !distinct, w->opos[RDN_OPT_EXACT], "exact needs over with a duration");
    unfit(k, exact && distinct && w->events, w->opos[RDN_OPT_EXACT], "distinct over events is always exact");
    unfit(k, given(w, RDN_OPT_KEYS) && !w->by.n, w->opos[RDN_OPT_KEYS], "keys needs by");
    w->P = timed && (!exact || distinct) ? (panes ? w->panes : 60) : 0;
    if (w->P)
        w->p_ns = w->over_ns / w->P + (w->over_ns % w->P != 0);
    w->cap = !w->by.n ? 1 : given(w, RDN_OPT_KEYS) ? w->keys : 65536;
    w->wmin = w->has_warmup ? w->warmup : rdn_aggs[a].warmup;
    if (w->wmin < rdn_aggs[a].least)
        w->wmin = rdn_aggs[a].least;
    const uint32_t holds = w->events ? w->events : exact && !distinct ? w->exact : 0;
    if (holds && w->wmin > holds)
        rdn_raise(k->c, "E0516", given(w, RDN_OPT_WARMUP) ? w->opos[RDN_OPT_WARMUP] : w->aggpos, NULL,
                  "the window holds only %u values, so the warm-up is never over", holds);
}

static void partition(struct rdn_ck *k, struct rdn_d_window *w, const struct rdn_d_event *e) {
    w->pk = -1;
    if (!rdn_ck_parted(k, e))
        return;
    for (uint32_t i = 0; i < w->by.n; i++) {
        const struct rdn_expr *b = w->by.v[i];
        if (b->kind == RDN_X_NAME && b->name.v == k->f->partition && b->src == RDN_SRC_FIELD)
            w->pk = (int32_t)i;
    }
    if (w->pk < 0 && !w->local)
        rdn_raise(k->c, "E0511", w->d.pos, rdn_arena_printf(k->c->arena, "add %s to by, or mark it local", k->f->partition),
                  "window '%s' has no key %s, so it would differ from lane to lane", w->d.name, k->f->partition);
}

static void reset(struct rdn_ck *k, struct rdn_d_window *w, const struct rdn_d_reset *r, uint32_t *ret_event) {
    const struct rdn_d_event *e = rdn_ck_event(k, r->event, r->pos);
    const char *en = e->d.name, *wn = w->d.name;
    if (r->event == w->on)
        rdn_raise(k->c, "E0519", r->pos, NULL, "window '%s' is fed by %s and cannot be reset by it", wn, en);
    for (uint32_t i = 0; i < w->by.n; i++) {
        const struct rdn_expr *b = w->by.v[i];
        const struct rdn_d_field *f = b->kind == RDN_X_NAME ? rdn_ck_field(k, e, b->name.v) : NULL;
        if (!f)
            rdn_raise(k->c, "E0518", r->pos, "every key of the window must be a plain name and a field of the reset event",
                      "%s has no field for the key '%.*s' of window '%s'", en, (int)(b->pos.b - b->pos.a), k->c->src + b->pos.a, wn);
        if (f->type != b->t)
            rdn_raise(k->c, "E0518", r->pos, NULL, "key '%s' is %s in %s and %s in window '%s'", f->name, rdn_tn(k, f->type), en,
                      rdn_tn(k, b->t), wn);
    }
    if (rdn_ck_parted(k, e) && !rdn_ck_parted(k, k->events.v[w->event]))
        rdn_raise(k->c, "E0520", r->pos, NULL, "window '%s' lives in every lane, %s goes to the lane of its %s", wn, en, k->f->partition);
    *ret_event = e->d.index;
}

static void window_body(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_window *w = (struct rdn_d_window *)decl;
    const struct rdn_d_event *e = rdn_ck_event(k, w->on, w->onpos);
    w->event = e->d.index;
    w->aggk = aggregate(k, w);
    struct rdn_ctx c = rdn_ck_ctx(k, RDN_CTX_WINDOW, e, &w->deps);
    expressions(k, w, &c);
    dependencies(k, w);
    clauses(k, w);
    partition(k, w, e);
    for (uint32_t i = 0; i < w->resets.n; i++)
        reset(k, w, &w->resets.v[i], &w->reset_events[i]);
    rdn_ck_window_canon(k, w);
}

void rdn_ck_window(struct rdn_ck *k, struct rdn_decl *d) {
    if (!rdn_ck_once(k, d, window_body))
        rdn_raise(k->c, "E0509", d->pos, NULL, "window '%s' reads itself", d->name);
}
