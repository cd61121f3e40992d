/* SPDX-License-Identifier: Apache-2.0
 * check_call.c: calls of fns, plugins, kernels and builtin functions (LANGUAGE.md 8, 9, 12). A builtin whose arguments have
 * fixed types needs only its row in builtins.def; each other shape has its function here. */
#include "dsl/check.h"
#include <string.h>
#include "base/tz.h"

static void count_args(struct rdn_ck *k, const struct rdn_expr *x, uint32_t want) {
    if (x->call.n != want)
        rdn_raise(k->c, "E0409", x->pos, NULL, "%s takes %u argument%s, found %u", x->call.f, want, want == 1 ? "" : "s", x->call.n);
}

static rdn_ty arg(struct rdn_ck *k, struct rdn_expr *x, uint32_t i, struct rdn_ctx *c) { return rdn_ck_type(k, x->call.xs[i], c, NULL); }

static void want_arg(struct rdn_ck *k, struct rdn_expr *x, uint32_t i, rdn_ty t, struct rdn_ctx *c) {
    rdn_ck_want(k, x->call.xs[i], t, c, RDN_WHAT("argument of", x->call.f));
}

__attribute__((noreturn)) static void not_taken(struct rdn_ck *k, const struct rdn_expr *x, struct rdn_span at, rdn_ty t, const char *hint) {
    rdn_raise(k->c, "E0402", at, hint, "%s does not take %s", x->call.f, rdn_tn(k, t));
}

/* ---- fns, plugins, kernels ---- */
static rdn_ty call_fn(struct rdn_ck *k, struct rdn_expr *x, struct rdn_d_fn *d, struct rdn_ctx *c) {
    if (c->kind == RDN_CTX_CONST)
        rdn_raise(k->c, "E0416", x->pos, NULL, "a constant is expected here");
    if (d->d.state == 1)
        rdn_raise(k->c, "E0310", x->pos, NULL, "fn '%s' depends on itself", d->d.name);
    rdn_ck_ready(k, &d->d, rdn_ck_fn);
    count_args(k, x, d->ps.n);
    for (uint32_t i = 0; i < d->ps.n; i++)
        want_arg(k, x, i, d->ps.v[i].type, c);
    if (c->kind == RDN_CTX_KERNEL && d->deps.host)
        rdn_raise(k->c, "E0313", x->pos, NULL, "fn '%s' uses something kernels do not have", d->d.name);
    c->deps->host |= d->deps.host;
    c->deps->depth = d->deps.depth > c->deps->depth ? d->deps.depth : c->deps->depth;
    x->fn = d;
    d->d.used = true;
    return d->ty;
}

static void event_arg(struct rdn_ck *k, struct rdn_expr *x, struct rdn_expr *a, rdn_name event, struct rdn_ctx *c) {
    if (a->kind != RDN_X_NAME || a->name.v != event)
        rdn_raise(k->c, "E0401", a->pos, rdn_arena_printf(k->c->arena, "write %s", event), "%s takes the event %s here", x->call.f, event);
    if (!c->ev || c->ev->d.name != event)
        rdn_raise(k->c, "E0315", a->pos, NULL, "'%s' takes the current %s, %s%s", x->call.f, event, c->ev ? "but this is for " : "and here is no event",
                  c->ev ? c->ev->d.name : "");
    a->src = RDN_SRC_EVENT;
    a->index = c->ev->d.index;
    a->t = rdn_type_event(k->c->types, event, a->index);
    a->co = NULL;
}

static rdn_ty call_out(struct rdn_ck *k, struct rdn_expr *x, struct rdn_d_call *d, struct rdn_ctx *c) {
    if (c->kind != RDN_CTX_RULE && c->kind != RDN_CTX_LET && c->kind != RDN_CTX_TEST)
        rdn_raise(k->c, c->kind == RDN_CTX_WINDOW ? "E0510" : "E0313", x->pos, NULL, "'%s' cannot be called here", d->d.name);
    count_args(k, x, d->ps.n);
    for (uint32_t i = 0; i < d->ps.n; i++) {
        if (d->ps.v[i].event)
            event_arg(k, x, x->call.xs[i], d->ps.v[i].event, c);
        else
            want_arg(k, x, i, d->ps.v[i].type, c);
    }
    c->deps->plug = true;
    if (d->d.mark != c->stamp) {
        d->d.mark = c->stamp;
        rdn_push_val(k->c->work, &c->deps->calls, d);
    }
    x->pl = d;
    d->d.used = true;
    return d->ty;
}

/* ---- windows ---- */
static rdn_ty prev_of(struct rdn_ck *k, struct rdn_expr *a, struct rdn_expr *x, struct rdn_ctx *c) {
    struct rdn_d_window *w = rdn_ck_window_name(k, c, a);
    if (!w)
        rdn_raise(k->c, "E0513", a->pos, NULL, "prev takes the name of a window");
    rdn_ty t = rdn_ck_type(k, a, c, NULL);
    if (!c->ev || c->ev->d.name != w->on || w->accepted)
        rdn_raise(k->c, "E0513", x->pos, w->accepted ? "outside that, the plain name already is the value before this event" : NULL,
                  "prev(%s) needs a rule on %s and a window that sees the current event", w->d.name, w->on);
    w->prev_used = true;
    return t;
}

static rdn_ty cross_side(struct rdn_ck *k, struct rdn_expr *a, struct rdn_expr *x, struct rdn_ctx *c) {
    if (rdn_ck_window_name(k, c, a))
        return prev_of(k, a, x, c);
    return rdn_is_num(a) ? NULL : rdn_ck_type(k, a, c, NULL);
}

static rdn_ty cross(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    count_args(k, x, 2);
    struct rdn_expr **xs = x->call.xs;
    if (!(xs[0]->kind == RDN_X_NAME && rdn_ck_find(k, xs[0]->name.v, RDN_D_WINDOW)) &&
        !(xs[1]->kind == RDN_X_NAME && rdn_ck_find(k, xs[1]->name.v, RDN_D_WINDOW)))
        rdn_raise(k->c, "E0513", x->pos, NULL, "%s needs the name of a window", x->call.f);
    rdn_ty a = cross_side(k, xs[0], x, c), b = cross_side(k, xs[1], x, c);
    if (!a) {
        rdn_ck_fit(k, xs[0], b);
        a = xs[0]->t;
    }
    if (!b) {
        rdn_ck_fit(k, xs[1], a);
        b = xs[1]->t;
    }
    if (a != b || !rdn_is(a, RDN_NUM_KINDS | RDN_BIT(RDN_K_DUR) | RDN_BIT(RDN_K_TIME)))
        rdn_raise(k->c, "E0402", x->pos, NULL, "%s does not take %s and %s", x->call.f, rdn_tn(k, a), rdn_tn(k, b));
    return k->B;
}

/* ---- builtins by shape ---- */
static rdn_ty sig_type(const struct rdn_ck *k, char c) {
    switch (c) {
    case 'F': return k->F;
    case 'I': return k->I;
    case 'X': return k->X;
    case 'T': return k->T;
    case 'U': return k->U;
    case 'D': return k->D;
    default: return k->B;
    }
}

static rdn_ty fixed(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, const char *sig) {
    const uint32_t n = (uint32_t)strcspn(sig, ">");
    count_args(k, x, n);
    for (uint32_t i = 0; i < n; i++)
        want_arg(k, x, i, sig_type(k, sig[i]), c);
    return sig_type(k, sig[n + 1]);
}

static rdn_ty dec_of(struct rdn_ck *k, struct rdn_expr *scale) { return rdn_type_dec(k->c->types, (unsigned)rdn_ck_litint(k, scale, 0, 18)); }

static rdn_ty round_to(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    if (arg(k, x, 0, c)->kind != RDN_K_DEC)
        rdn_raise(k->c, "E0401", x->call.xs[0]->pos, "round(x) takes a float", "round(x, decimals) takes a dec");
    return dec_of(k, x->call.xs[1]);
}

static rdn_ty time_field(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, const char *sig) {
    if (x->call.n != 1 && x->call.n != 2)
        rdn_raise(k->c, "E0409", x->pos, NULL, "%s takes 1 or 2 arguments, found %u", x->call.f, x->call.n);
    want_arg(k, x, 0, k->T, c);
    if (x->call.n == 2) {
        struct rdn_expr *z = x->call.xs[1];
        if (z->kind != RDN_X_LIT || z->lit.ty != k->X)
            rdn_raise(k->c, "E0410", z->pos, NULL, "the time zone must be a literal");
        z->t = k->X;
        if (!rdn_tz_find(z->lit.v.t.p, z->lit.v.t.len))
            rdn_raise(k->c, "E0312", z->pos, NULL, "unknown time zone '%.64s'", z->lit.v.t.p);
    }
    return sig_type(k, sig[2]);
}

static rdn_ty abs_sign(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    const bool abs = x->builtin == RDN_FN_abs;
    count_args(k, x, 1);
    rdn_ty t = rdn_ck_type(k, x->call.xs[0], c, abs ? want : NULL);
    x->sens = abs && x->call.xs[0]->sens;
    if (!rdn_is(t, RDN_NUM_KINDS | RDN_BIT(RDN_K_DUR)))
        not_taken(k, x, x->pos, t, NULL);
    return abs || t == k->F ? t : k->I;
}

/* All arguments of one ordered type; dec takes the largest scale; literals alone: float if one is fractional. */
static rdn_ty common_type(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    rdn_ty t = NULL;
    bool frac = false;
    for (uint32_t i = 0; i < x->call.n && !t; i++) {
        if (!rdn_is_num(x->call.xs[i]))
            t = arg(k, x, i, c);
        else
            frac |= rdn_ck_frac(x->call.xs[i]);
    }
    if (!t) {
        x->sens = true;
        return want == k->F || frac ? k->F : k->I;
    }
    if (!rdn_is(t, RDN_ORD_KINDS))
        not_taken(k, x, x->pos, t, NULL);
    unsigned scale = t->scale;
    for (uint32_t i = 0; i < x->call.n && t->kind == RDN_K_DEC; i++)
        if (!rdn_is_num(x->call.xs[i])) {
            rdn_ty a = arg(k, x, i, c);
            scale = a->kind == RDN_K_DEC && a->scale > scale ? a->scale : scale;
        }
    return t->kind == RDN_K_DEC ? rdn_type_dec(k->c->types, scale) : t;
}

static rdn_ty min_max_clamp(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    if (x->builtin == RDN_FN_clamp)
        count_args(k, x, 3);
    else if (x->call.n < 1 || x->call.n > RDN_LIM_PARAMS)
        rdn_raise(k->c, "E0409", x->pos, NULL, "%s takes 1 to %d arguments, found %u", x->call.f, RDN_LIM_PARAMS, x->call.n);
    rdn_ty t = common_type(k, x, c, want);
    for (uint32_t i = 0; i < x->call.n; i++)
        want_arg(k, x, i, t, c);
    return t;
}

static rdn_ty takes(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, uint32_t nargs, unsigned kinds) {
    count_args(k, x, nargs);
    rdn_ty t = arg(k, x, 0, c);
    if (!rdn_is(t, kinds))
        not_taken(k, x, x->pos, t, NULL);
    return t;
}

static rdn_ty exact_div(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    count_args(k, x, 3);
    for (uint32_t i = 0; i < 2; i++) {
        struct rdn_expr *a = x->call.xs[i];
        if (rdn_is_num(a))
            rdn_ck_beside(k, a, rdn_type_dec(k->c->types, 0), RDN_B_DIV);
        else if (!rdn_is(arg(k, x, i, c), RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC)))
            not_taken(k, x, a->pos, a->t, "div is for int and dec; use / for float");
    }
    return dec_of(k, x->call.xs[2]);
}

static rdn_ty random_vec(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    count_args(k, x, 3);
    if (c->kind != RDN_CTX_KERNEL)
        rdn_raise(k->c, "E0313", x->pos, NULL, "%s is only available in a kernel", x->call.f);
    rdn_ck_want(k, x->call.xs[0], k->I, c, RDN_WHAT("the seed", NULL));
    rdn_ck_want(k, x->call.xs[1], k->I, c, RDN_WHAT("the counter", NULL));
    return rdn_type_arr(k->c->types, RDN_K_FLOAT, 1, (unsigned)rdn_ck_litint(k, x->call.xs[2], 1, RDN_LIM_ARR), 1);
}

static bool float_arr(rdn_ty t) { return t->kind == RDN_K_ARR && t->elem == RDN_K_FLOAT; }

static rdn_ty dot_matvec(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    const bool dot = x->builtin == RDN_FN_dot;
    count_args(k, x, 2);
    rdn_ty a = arg(k, x, 0, c), b = arg(k, x, 1, c);
    for (uint32_t i = 0; i < 2; i++)
        if (!float_arr(i ? b : a))
            rdn_raise(k->c, "E0402", x->call.xs[i]->pos, NULL, "%s takes float arrays", x->call.f);
    if (b->ndim != 1 || a->ndim != (dot ? 1 : 2) || a->dim[a->ndim - 1] != b->dim[0])
        rdn_raise(k->c, "E0413", x->pos, NULL, "%s does not take shapes %s and %s", x->call.f, rdn_tn(k, a), rdn_tn(k, b));
    return dot ? k->F : rdn_type_arr(k->c->types, RDN_K_FLOAT, 1, a->dim[0], 1);
}

static rdn_ty vec_rows(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    const bool matrix = want && want->kind == RDN_K_ARR && want->ndim == 2;
    rdn_ty row = matrix ? rdn_type_arr(k->c->types, (enum rdn_kind)want->elem, 1, want->dim[1], 1) : NULL, first = NULL;
    bool same = true;
    for (uint32_t i = 0; i < x->call.n; i++) {
        rdn_ty t = rdn_ck_type(k, x->call.xs[i], c, row);
        first = first ? first : t;
        same &= t == first;
    }
    if (!same || first->kind != RDN_K_ARR || first->ndim != 1)
        rdn_raise(k->c, "E0413", x->pos, NULL, "rows have different shapes");
    if (x->call.n * first->dim[0] > RDN_LIM_ARR)
        rdn_raise(k->c, "E0206", x->pos, NULL, "array has more than %d elements", RDN_LIM_ARR);
    return rdn_type_arr(k->c->types, (enum rdn_kind)first->elem, 2, x->call.n, first->dim[0]);
}

static rdn_ty vec(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    x->sens = true;
    if (x->call.n < 1 || x->call.n > RDN_LIM_ARR)
        rdn_raise(k->c, "E0409", x->pos, NULL, "vec takes 1 to %d arguments", RDN_LIM_ARR);
    const struct rdn_expr *a = x->call.xs[0];
    if (a->kind == RDN_X_CALL && a->call.f == x->call.f)
        return vec_rows(k, x, c, want);
    rdn_ty e = want && want->kind == RDN_K_ARR ? rdn_type_simple(k->c->types, (enum rdn_kind)want->elem) : k->F;
    for (uint32_t i = 0; i < x->call.n; i++)
        rdn_ck_want(k, x->call.xs[i], e, c, RDN_WHAT("the element", NULL));
    return rdn_type_arr(k->c->types, (enum rdn_kind)e->kind, 1, x->call.n, 1);
}

static rdn_ty fold(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c) {
    count_args(k, x, 1);
    if (!float_arr(arg(k, x, 0, c)))
        rdn_raise(k->c, "E0402", x->pos, NULL, "%s takes a float array", x->call.f);
    return k->F;
}

static rdn_ty builtin(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want, const struct rdn_builtin_row *r) {
    const unsigned chars = RDN_CHAR_KINDS;
    switch ((enum rdn_fn_shape)r->shape) {
    case RDN_SHAPE_FIXED: return fixed(k, x, c, r->sig);
    case RDN_SHAPE_ROUND: return x->call.n == 2 ? round_to(k, x, c) : fixed(k, x, c, r->sig);
    case RDN_SHAPE_TIMEF: return time_field(k, x, c, r->sig);
    case RDN_SHAPE_ABS: return abs_sign(k, x, c, want);
    case RDN_SHAPE_MINMAX: return min_max_clamp(k, x, c, want);
    case RDN_SHAPE_TOINT: takes(k, x, c, 1, RDN_NUM_KINDS | chars | RDN_BIT(RDN_K_BOOL) | RDN_BIT(RDN_K_TIME)); return k->I;
    case RDN_SHAPE_TOFLOAT: takes(k, x, c, 1, RDN_NUM_KINDS | chars); return k->F;
    case RDN_SHAPE_TODEC: takes(k, x, c, 2, RDN_NUM_KINDS); return dec_of(k, x->call.xs[1]);
    case RDN_SHAPE_DIV: return exact_div(k, x, c);
    case RDN_SHAPE_TOTEXT: takes(k, x, c, 1, ~RDN_BIT(RDN_K_ARR)); return k->X;
    case RDN_SHAPE_BUCKET:
        takes(k, x, c, 2, RDN_KEY_KINDS | RDN_BIT(RDN_K_TEXT) | RDN_BIT(RDN_K_FLOAT));
        rdn_ck_litint(k, x->call.xs[1], 1, (int64_t)1 << 31);
        return k->I;
    case RDN_SHAPE_RANDOM: return random_vec(k, x, c);
    case RDN_SHAPE_DOT: return dot_matvec(k, x, c);
    case RDN_SHAPE_VEC: return vec(k, x, c, want);
    case RDN_SHAPE_VFOLD: return fold(k, x, c);
    case RDN_SHAPE_DEFINED: count_args(k, x, 1); arg(k, x, 0, c); return k->B;
    case RDN_SHAPE_PREV: count_args(k, x, 1); return prev_of(k, x->call.xs[0], x, c);
    case RDN_SHAPE_CROSS: return cross(k, x, c);
    }
    return NULL;
}

rdn_ty rdn_ck_call(struct rdn_ck *k, struct rdn_expr *x, struct rdn_ctx *c, rdn_ty want) {
    const rdn_name f = x->call.f;
    struct rdn_decl *g = rdn_ck_global(k, f);
    if (g && g->kind == RDN_D_FN)
        return call_fn(k, x, (struct rdn_d_fn *)g, c);
    if (g && (g->kind == RDN_D_PLUGIN || g->kind == RDN_D_KERNEL))
        return call_out(k, x, (struct rdn_d_call *)g, c);
    const struct rdn_builtin_row *r = rdn_scope_get(&k->scope, f, &k->builtin);
    if (!r) {
        rdn_near_begin(k);
        rdn_near_space(k, &k->builtin);
        rdn_near_kinds(k, RDN_BIT(RDN_D_FN) | RDN_BIT(RDN_D_PLUGIN) | RDN_BIT(RDN_D_KERNEL));
        rdn_raise(k->c, "E0306", x->call.fpos, rdn_near_end(k, f), "unknown function '%s'%s%s", f, g ? ", it is a " : "",
                  g ? rdn_decl_word(g) : "");
    }
    x->builtin = (uint8_t)(r - rdn_builtins);
    if (r->flags & (RDN_FNFLAG_HOST | RDN_FNFLAG_LIBM)) {
        if (c->kind == RDN_CTX_KERNEL)
            rdn_raise(k->c, "E0313", x->pos, NULL, "%s is not available in a kernel", f);
        c->deps->host = true;
    }
    return builtin(k, x, c, want, r);
}
