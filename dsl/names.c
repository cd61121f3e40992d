/* SPDX-License-Identifier: Apache-2.0
 * names.c: what a name in an expression means (LANGUAGE.md 4), and reading windows by name (10.3).
 *
 * rdn_scope_get, rdn_scope_put   O(1); names and spaces compare by address */
#include "dsl/check.h"

static uint32_t scope_hash(rdn_name name, const void *space) {
    uint64_t h = ((uintptr_t)name >> 3) * 0x9e3779b97f4a7c15u ^ ((uintptr_t)space >> 1) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

static struct rdn_scope_slot *scope_slot(const struct rdn_scope *s, rdn_name name, const void *space) {
    uint32_t i = scope_hash(name, space) & (s->cap - 1);
    while (s->v[i].name && (s->v[i].name != name || s->v[i].space != space))
        i = (i + 1) & (s->cap - 1);
    return &s->v[i];
}

void *rdn_scope_get(const struct rdn_scope *s, rdn_name name, const void *space) {
    return s->cap ? scope_slot(s, name, space)->val : NULL;
}

static void scope_grow(struct rdn_scope *s) {
    struct rdn_scope was = *s;
    s->cap = was.cap ? was.cap * 2 : 512;
    s->v = rdn_new_n(s->arena, struct rdn_scope_slot, s->cap);
    for (uint32_t i = 0; i < was.cap; i++)
        if (was.v[i].name)
            *scope_slot(s, was.v[i].name, was.v[i].space) = was.v[i];
}

bool rdn_scope_put(struct rdn_scope *s, rdn_name name, const void *space, void *val) {
    if (s->n * 2 >= s->cap)
        scope_grow(s);
    struct rdn_scope_slot *slot = scope_slot(s, name, space);
    if (slot->name)
        return false;
    *slot = (struct rdn_scope_slot){ name, space, val };
    s->n++;
    return true;
}

/* ---- hints ---- */
void rdn_near_begin(struct rdn_ck *k) { k->near.n = 0; }

void rdn_near_add(struct rdn_ck *k, const char *s) {
    if (k->near_left) {                                  /* a file of 32,768 wrong names must not compare each with all others */
        k->near_left--;
        rdn_push_val(k->c->work, &k->near, s);
    }
}

void rdn_near_kinds(struct rdn_ck *k, unsigned kinds) {
    for (uint32_t i = 0; i < k->scope.cap && k->near_left; i++) {
        const struct rdn_scope_slot *s = &k->scope.v[i];
        if (s->name && s->space == &k->global && kinds & RDN_BIT(((struct rdn_decl *)s->val)->kind))
            rdn_near_add(k, s->name);
    }
}

void rdn_near_space(struct rdn_ck *k, const void *space) {
    for (uint32_t i = 0; i < k->scope.cap && k->near_left; i++)
        if (k->scope.v[i].name && k->scope.v[i].space == space)
            rdn_near_add(k, k->scope.v[i].name);
}

const char *rdn_near_end(struct rdn_ck *k, const char *word) { return rdn_near(k->c, word, k->near.v, k->near.n); }

/* ---- look-ups ---- */
rdn_ty rdn_ck_local(const struct rdn_ck *k, const struct rdn_ctx *c, rdn_name name, uint32_t *ret_index) {
    for (uint32_t i = 0; i < c->nps; i++)
        if (c->ps[i].name == name) {
            *ret_index = i;
            return c->ps[i].type;
        }
    const struct rdn_loc *l = c->kernel ? rdn_scope_get(&k->scope, name, c->kernel) : NULL;
    if (l)
        *ret_index = l->index;
    return l ? l->type : NULL;
}

const struct rdn_d_field *rdn_ck_field(const struct rdn_ck *k, const struct rdn_d_event *e, rdn_name name) {
    return rdn_scope_get(&k->scope, name, e);
}

struct rdn_d_let *rdn_ck_find_let(const struct rdn_ck *k, rdn_name name, const struct rdn_d_event *e) {
    return rdn_scope_get(&k->scope, name, e->d.name);
}

void *rdn_ck_find(const struct rdn_ck *k, rdn_name name, enum rdn_d_kind kind) {
    struct rdn_decl *d = rdn_ck_global(k, name);
    return d && d->kind == kind ? d : NULL;
}

struct rdn_d_window *rdn_ck_window_name(const struct rdn_ck *k, const struct rdn_ctx *c, const struct rdn_expr *x) {
    uint32_t i;
    if (x->kind != RDN_X_NAME || rdn_ck_local(k, c, x->name.v, &i))
        return NULL;
    return rdn_ck_find(k, x->name.v, RDN_D_WINDOW);
}

/* ---- windows ---- */
static void use_window(struct rdn_ck *k, struct rdn_d_window *w, struct rdn_ctx *c) {
    struct rdn_deps *d = c->deps;
    if (w->d.mark != c->stamp) {
        w->d.mark = c->stamp;
        rdn_push_val(k->c->work, &d->wins, w);
    }
    if (c->ev && w->on == c->ev->d.name && !w->accepted && (!d->last_obs || d->last_obs->d.index < w->d.index))
        d->last_obs = w;
}

static void window_ready(struct rdn_ck *k, struct rdn_d_window *w, const struct rdn_expr *x) {
    w->d.used = true;
    if (w->d.state == 1)
        rdn_raise(k->c, "E0509", x->pos, NULL, "window '%s' reads itself", w->d.name);
    rdn_ck_ready(k, &w->d, rdn_ck_window);
}

/* Partitioned windows are read only with the partition key of the event at hand. `ix`: keys given, or NULL. */
static void read_part(struct rdn_ck *k, const struct rdn_expr *x, const struct rdn_d_window *w, const struct rdn_ctx *c,
                      struct rdn_expr *const *ix) {
    const rdn_name p = k->f->partition;
    if (c->kind == RDN_CTX_TEST || !p || !rdn_ck_parted(k, k->events.v[w->event]) || (w->local && rdn_ck_parted(k, c->ev)))
        return;
    if (!rdn_ck_parted(k, c->ev))
        rdn_raise(k->c, "E0512", x->pos, NULL, "%s goes to every lane, window '%s' lives in the lane of its %s", c->ev->d.name,
                  w->d.name, p);
    if (ix && (ix[w->pk]->kind != RDN_X_NAME || ix[w->pk]->name.v != p))
        rdn_raise(k->c, "E0512", x->pos, NULL, "window '%s' may only be read with the event's own %s", w->d.name, p);
}

static struct rdn_expr *foreign_key(struct rdn_ck *k, struct rdn_expr *x, const struct rdn_d_window *w, const struct rdn_expr *b,
                                    struct rdn_ctx *c) {
    if (b->kind != RDN_X_NAME || !(rdn_ck_field(k, c->ev, b->name.v) || rdn_ck_find_let(k, b->name.v, c->ev)))
        rdn_raise(k->c, "E0507", x->pos,
                  rdn_arena_printf(k->c->arena, "write %s[…] with the key, or give %s a let of the same name", w->d.name, c->ev->d.name),
                  "%s does not have the key of window '%s'", c->ev->d.name, w->d.name);
    struct rdn_expr *q = rdn_new(k->c->work, struct rdn_expr);
    q->kind = RDN_X_NAME;
    q->height = 1;
    q->pos = x->pos;
    q->name.v = b->name.v;
    rdn_ty t = rdn_ck_type(k, q, c, NULL);
    const unsigned same = RDN_BIT(RDN_K_SYM) | RDN_BIT(RDN_K_STR);
    if (t != b->t && !(rdn_is(t, same) && rdn_is(b->t, same)))
        rdn_raise(k->c, "E0507", x->pos, NULL, "key '%s' is %s in %s and %s in window '%s'", b->name.v, rdn_tn(k, t), c->ev->d.name,
                  rdn_tn(k, b->t), w->d.name);
    return q;
}

/* A plain window name: the key comes from the current event. */
static void read_key(struct rdn_ck *k, struct rdn_expr *x, struct rdn_d_window *w, struct rdn_ctx *c) {
    use_window(k, w, c);
    if (c->kind == RDN_CTX_TEST) {
        if (w->by.n)
            rdn_raise(k->c, "E0508", x->pos, rdn_arena_printf(k->c->arena, "write %s[…]", w->d.name), "window '%s' has %u key%s",
                      w->d.name, w->by.n, w->by.n == 1 ? "" : "s");
        return;
    }
    if (c->ev->d.name != w->on) {
        x->kx = rdn_new_n(k->c->work, struct rdn_expr *, w->by.n);
        x->nkx = w->by.n;
        for (uint32_t i = 0; i < w->by.n; i++)
            x->kx[i] = foreign_key(k, x, w, w->by.v[i], c);
    }
    read_part(k, x, w, c, NULL);
}

static bool sees_windows(const struct rdn_ctx *c) {
    return c->kind == RDN_CTX_RULE || c->kind == RDN_CTX_LET || c->kind == RDN_CTX_WINDOW || c->kind == RDN_CTX_TEST;
}

rdn_ty rdn_ck_window_at(struct rdn_ck *k, struct rdn_expr *x, struct rdn_d_window *w, struct rdn_ctx *c) {
    if (!sees_windows(c))
        rdn_raise(k->c, "E0313", x->pos, NULL, "window '%s' is not available here", w->d.name);
    window_ready(k, w, x->idx.a);
    if (x->idx.n != w->by.n)
        rdn_raise(k->c, "E0508", x->pos, NULL, "window '%s' has %u key%s", w->d.name, w->by.n, w->by.n == 1 ? "" : "s");
    for (uint32_t i = 0; i < w->by.n; i++)
        rdn_ck_want_key(k, x->idx.ix[i], w->by.v[i]->t, c, RDN_WHAT("the key", NULL));
    use_window(k, w, c);
    x->w = w;
    read_part(k, x, w, c, x->idx.ix);
    return w->t;
}

/* ---- names ---- */
static rdn_ty predefined(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    if (x->name.v == k->score) {
        if (c->kind != RDN_CTX_RULE && c->kind != RDN_CTX_LET)
            rdn_raise(k->c, c->kind == RDN_CTX_WINDOW ? "E0510" : "E0609", x->pos, NULL, "score is only available in rules");
        c->deps->score = true;
        x->src = RDN_SRC_SCORE;
        return k->I;
    }
    if (!c->ev && c->kind != RDN_CTX_TEST)
        rdn_raise(k->c, "E0313", x->pos, NULL, "'%s' is not available here", x->name.v);
    x->src = x->name.v == k->now ? RDN_SRC_NOW : RDN_SRC_TS;
    return k->T;
}

static rdn_ty let_value(struct rdn_ck *k, struct rdn_expr *x, struct rdn_d_let *l, struct rdn_ctx *c) {
    struct rdn_deps *d = c->deps;
    x->src = RDN_SRC_LET;
    x->let = l;
    if (!rdn_ck_once(k, &l->d, rdn_ck_let_now))
        rdn_raise(k->c, "E0309", x->pos, NULL, "let '%s' depends on itself", x->name.v);
    if (l->d.mark != c->stamp) {
        l->d.mark = c->stamp;
        rdn_push_val(k->c->work, &d->lets, l);
    }
    d->score |= l->deps.score;
    d->host |= l->deps.host;
    d->plug |= l->deps.plug;
    d->depth = l->deps.depth > d->depth ? l->deps.depth : d->depth;
    if (l->deps.last_obs && (!d->last_obs || d->last_obs->d.index < l->deps.last_obs->d.index))
        d->last_obs = l->deps.last_obs;
    l->d.used = true;
    return l->t;
}

__attribute__((noreturn)) static void unknown_name(struct rdn_ck *k, const struct rdn_expr *x, const struct rdn_ctx *c) {
    rdn_near_begin(k);
    for (uint32_t i = 0; i < c->nps; i++)
        rdn_near_add(k, c->ps[i].name);
    if (c->kernel)
        rdn_near_space(k, c->kernel);
    const bool pure = c->kind == RDN_CTX_FN || c->kind == RDN_CTX_KERNEL;
    rdn_near_kinds(k, RDN_BIT(RDN_D_PARAM) | (pure ? 0 : RDN_BIT(RDN_D_WINDOW)));
    if (c->ev) {
        rdn_near_space(k, c->ev);
        rdn_near_space(k, c->ev->d.name);
    }
    rdn_near_add(k, "now");
    rdn_near_add(k, "score");
    rdn_raise(k->c, "E0301", x->pos, rdn_near_end(k, x->name.v), "unknown name '%s'%s%s", x->name.v, c->ev ? " in " : "",
              c->ev ? c->ev->d.name : "");
}

__attribute__((noreturn)) static void not_a_value(struct rdn_ck *k, const struct rdn_expr *x, const struct rdn_decl *g) {
    struct rdn_arena *a = k->c->arena;
    const char *hint = NULL;
    switch ((enum rdn_d_kind)g->kind) {
    case RDN_D_LIST: hint = rdn_arena_printf(a, "write x in %s", g->name); break;
    case RDN_D_CALENDAR: hint = rdn_arena_printf(a, "write now in %s", g->name); break;
    case RDN_D_TABLE: hint = rdn_arena_printf(a, "write %s[key].column", g->name); break;
    case RDN_D_FN: case RDN_D_PLUGIN: case RDN_D_KERNEL: hint = rdn_arena_printf(a, "call %s(…)", g->name); break;
    case RDN_D_EVENT: case RDN_D_PARAM: case RDN_D_LET: case RDN_D_WINDOW: case RDN_D_RULE: case RDN_D_TEST: break;
    }
    rdn_raise(k->c, "E0314", x->pos, hint, "'%s' is a %s, not a value", g->name, rdn_decl_word(g));
}

rdn_ty rdn_ck_name(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    const rdn_name v = x->name.v;
    rdn_ty t = rdn_ck_local(k, c, v, &x->index);
    if (t) {
        x->src = RDN_SRC_LOC;
        return t;
    }
    if (v == k->now || v == k->ts || v == k->score)
        return predefined(k, x, c);
    if (c->ev) {
        const struct rdn_d_field *f = rdn_ck_field(k, c->ev, v);
        if (f) {
            x->src = RDN_SRC_FIELD;
            x->opt = f->opt;
            x->index = (uint32_t)(f - c->ev->fields.v);
            return f->type;
        }
        struct rdn_d_let *l = rdn_ck_find_let(k, v, c->ev);
        if (l)
            return let_value(k, x, l, c);
    }
    struct rdn_decl *g = rdn_ck_global(k, v);
    if (g && g->kind == RDN_D_WINDOW) {
        if (!sees_windows(c))
            rdn_raise(k->c, "E0313", x->pos, NULL, "window '%s' is not available here", v);
        struct rdn_d_window *w = (struct rdn_d_window *)g;
        window_ready(k, w, x);
        x->src = RDN_SRC_WIN;
        x->w = w;
        read_key(k, x, w, c);
        return w->t;
    }
    if (c->kind == RDN_CTX_CONST)
        rdn_raise(k->c, "E0416", x->pos, NULL, "'%s' is not a constant", v);
    if (!g)
        unknown_name(k, x, c);
    if (g->kind != RDN_D_PARAM)
        not_a_value(k, x, g);
    x->src = RDN_SRC_PARAM;
    x->index = g->index;
    g->used = true;
    return ((struct rdn_d_param *)g)->ty;
}
