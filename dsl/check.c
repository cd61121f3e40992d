/* SPDX-License-Identifier: Apache-2.0
 * check.c: names, scopes and types of a parsed file (LANGUAGE.md 3 to 12, 15, 16): the order of work.
 *
 * Every declaration is checked once and reports at most its first error. A let, fn or window is checked at its first use or
 * at its declaration, whichever comes first; what only uses a failed one reports nothing (poison). The order of the
 * diagnostics, their codes and their spans are those of the reference model.
 *
 * rdn_check       O(size of the file after expanding fns); allocates in the arena only
 *
 * Parts: names.c, check_num.c, check_expr.c, check_bin.c, check_call.c (expressions), check_data.c, check_file.c (params,
 * lists, tables, calendars), check_fn.c (events, fns, lets, plugins, kernels), check_window.c, check_rule.c, check_test.c, warn.c, cost.c,
 * winhash.c, schema.c. */
#include "dsl/check.h"
#include <string.h>

enum { NEW, WORK, DONE, FAILED };                        /* rdn_decl.state */
typedef void checker(struct rdn_ck *, struct rdn_decl *);

/* ---- guards ---- */
enum outcome { FINE, MISTAKE, POISONED };

static enum outcome attempt(struct rdn_ck *k, checker *f, struct rdn_decl *d) {
    struct rdn_guard g;
    RDN_TRY(k->c, g) {
        f(k, d);
        RDN_DONE(k->c, g);
        return FINE;
    }
    return k->c->poisoned ? POISONED : MISTAKE;
}

/* Goes on leaving with what was raised last. */
__attribute__((noreturn)) static void reraise(struct rdn_ck *k) {
    struct rdn_guard *g = k->c->guard;
    k->c->guard = g->up;
    longjmp(g->jb, 1);
}

static void guarded(struct rdn_ck *k, checker *f, struct rdn_decl *d) {
    enum outcome o = attempt(k, f, d);
    if (o == MISTAKE)
        rdn_keep_raised(k->c);
    if (o != FINE)
        d->bad = true;
}

/* The error of a declaration that was checked at its first use belongs to it, not to the user. */
static void blame(struct rdn_ck *k, struct rdn_decl *d) {
    if (!d->bad)
        rdn_keep_raised(k->c);
    d->bad = true;
    rdn_poison(k->c);
}

static enum outcome inner(struct rdn_ck *k, checker *f, struct rdn_decl *d) {
    struct rdn_guard g;
    RDN_TRY(k->c, g) {
        if (k->level > RDN_LIM_CHAIN) {
            /* A let at its first use has no place of its own here: its declaration is entered just below. */
            struct rdn_span at = f == rdn_ck_let_now ? (struct rdn_span){ 0, 0 } : d->pos;
            rdn_raise(k->c, "E0702", at, NULL, "more than %d declarations depend on each other in a chain", RDN_LIM_CHAIN);
        }
        f(k, d);
        RDN_DONE(k->c, g);
        return FINE;
    }
    return MISTAKE;
}

bool rdn_ck_once(struct rdn_ck *k, struct rdn_decl *d, checker *f) {
    if (d->state == DONE)
        return true;
    if (d->state == FAILED)
        rdn_poison(k->c);
    if (d->state == WORK)
        return false;
    d->state = WORK;
    k->level++;
    enum outcome o = inner(k, f, d);
    k->level--;
    d->state = o == FINE ? DONE : FAILED;
    if (o != FINE)
        reraise(k);
    return true;
}

void rdn_ck_ready(struct rdn_ck *k, struct rdn_decl *d, checker *f) {
    if (d->state == FAILED)
        rdn_poison(k->c);
    if (d->state != NEW)
        return;
    switch (attempt(k, f, d)) {
    case FINE: return;
    case POISONED: reraise(k);
    case MISTAKE: blame(k, d);
    }
}

/* Inside rdn_ck_once of the same let, which counts twice towards the limit of a chain. */
void rdn_ck_let_now(struct rdn_ck *k, struct rdn_decl *d) {
    d->state = NEW;
    rdn_ck_ready(k, d, rdn_ck_let);
}

void rdn_ck_chain(struct rdn_ck *k, struct rdn_decl *d, struct rdn_deps *deps) {
    if (++deps->depth > RDN_LIM_CHAIN)
        rdn_raise(k->c, "E0702", d->pos, NULL, "more than %d lets and fns depend on each other in a chain", RDN_LIM_CHAIN);
}

/* ---- declarations ---- */
const char *rdn_decl_word(const struct rdn_decl *d) {
    static const char *const words[] = { "event", "param", "list", "table", "calendar", "fn", "let", "window", "plugin", "kernel",
                                         "rule", "test" };
    return words[d->kind];
}

struct rdn_ctx rdn_ck_ctx(struct rdn_ck *k, enum rdn_ctx_kind kind, const struct rdn_d_event *ev, struct rdn_deps *deps) {
    return (struct rdn_ctx){ .kind = (uint8_t)kind, .ev = ev, .deps = deps, .stamp = ++k->stamp };
}

const struct rdn_d_event *rdn_ck_event(struct rdn_ck *k, rdn_name name, struct rdn_span pos) {
    const struct rdn_d_event *e = rdn_ck_find(k, name, RDN_D_EVENT);
    if (!e) {
        rdn_near_begin(k);
        rdn_near_kinds(k, RDN_BIT(RDN_D_EVENT));
        rdn_raise(k->c, "E0305", pos, rdn_near_end(k, name), "unknown event '%s'", name);
    }
    return e;
}

bool rdn_ck_parted(const struct rdn_ck *k, const struct rdn_d_event *e) {
    return k->f->partition && rdn_ck_field(k, e, k->f->partition);
}

static void add(struct rdn_ck *k, struct rdn_decl *d) {
    struct rdn_arena *a = k->c->work;
    d->index = k->count[d->kind]++;
    switch ((enum rdn_d_kind)d->kind) {
    case RDN_D_EVENT: {
        struct rdn_d_event *e = (struct rdn_d_event *)d;
        rdn_push_val(a, &k->events, e);
        for (uint32_t i = 0; i < e->fields.n; i++)
            rdn_scope_put(&k->scope, e->fields.v[i].name, e, &e->fields.v[i]);
        if (k->events.n > RDN_LIM_EVENTS)
            rdn_raise(k->c, "E0703", d->pos, NULL, "more than %d events", RDN_LIM_EVENTS);
        return;
    }
    case RDN_D_WINDOW: rdn_push_val(a, &k->wins, (struct rdn_d_window *)d); return;
    case RDN_D_LET: rdn_push_val(a, &k->lets, (struct rdn_d_let *)d); return;
    case RDN_D_RULE:
        rdn_push_val(a, &k->rules, (struct rdn_d_rule *)d);
        if (k->rules.n > RDN_LIM_RULES)
            rdn_raise(k->c, "E0703", d->pos, NULL, "more than %d rules", RDN_LIM_RULES);
        return;
    case RDN_D_PARAM: case RDN_D_LIST: case RDN_D_TABLE: case RDN_D_CALENDAR: case RDN_D_FN: case RDN_D_PLUGIN: case RDN_D_KERNEL:
    case RDN_D_TEST: return;
    }
}

static void declare(struct rdn_ck *k, struct rdn_decl *d) {
    const void *space = d->kind == RDN_D_RULE ? &k->rule : d->kind == RDN_D_TEST ? &k->test
                      : d->kind == RDN_D_LET ? (const void *)((struct rdn_d_let *)d)->on : &k->global;
    const struct rdn_decl *first = rdn_scope_get(&k->scope, d->name, space);
    if (!first) {
        rdn_scope_put(&k->scope, d->name, space, d);
        add(k, d);
        return;
    }
    if (d->kind == RDN_D_LET)
        rdn_raise(k->c, "E0302", d->pos, NULL, "let '%s' on %s is declared twice", d->name, ((struct rdn_d_let *)d)->on);
    const char *what = d->kind == RDN_D_RULE ? "rule " : d->kind == RDN_D_TEST ? "test " : "";
    const char *hint = *what ? NULL : rdn_arena_printf(k->c->arena, "the first is a %s", rdn_decl_word(first));
    rdn_raise(k->c, "E0302", d->pos, hint, "%s'%s' is declared twice", what, d->name);
}

static void declare_all(struct rdn_ck *k) {
    for (uint32_t i = 0; i < k->f->decls.n; i++) {
        struct rdn_decl *d = k->f->decls.v[i];
        if (attempt(k, declare, d) != FINE) {
            rdn_keep_raised(k->c);
            d->dup = true;
        }
    }
}

static void check_decl(struct rdn_ck *k, struct rdn_decl *d) {
    static checker *const by_kind[] = { rdn_ck_event_decl, rdn_ck_param, rdn_ck_list, rdn_ck_table, rdn_ck_calendar, rdn_ck_fn, rdn_ck_let,
                                        rdn_ck_window, rdn_ck_plugin, rdn_ck_kernel, rdn_ck_rule, rdn_ck_test };
    by_kind[d->kind](k, d);
}

static void check_kind(struct rdn_ck *k, bool tests) {
    for (uint32_t i = 0; i < k->f->decls.n; i++) {
        struct rdn_decl *d = k->f->decls.v[i];
        if (!d->dup && (d->kind == RDN_D_TEST) == tests)
            guarded(k, check_decl, d);
    }
}

/* ---- the header ---- */
static void header_undef(struct rdn_ck *k, struct rdn_decl *d) {
    (void)d;
    rdn_ck_undef(k, k->f->undef, true);
}

static void header_partition(struct rdn_ck *k, struct rdn_decl *d) {
    (void)d;
    const rdn_name p = k->f->partition;
    rdn_ty t = NULL;
    bool differ = false;
    for (uint32_t i = 0; i < k->events.n; i++) {
        const struct rdn_d_field *f = rdn_ck_field(k, k->events.v[i], p);
        differ |= f && t && f->type != t;
        t = f && !t ? f->type : t;
    }
    if (!t) {
        rdn_near_begin(k);
        for (uint32_t i = 0; i < k->events.n; i++)
            rdn_near_space(k, k->events.v[i]);
        rdn_raise(k->c, "E0308", k->f->ppos, rdn_near_end(k, p), "no event has a field '%s'", p);
    }
    if (differ)
        rdn_raise(k->c, "E0401", k->f->ppos, NULL, "the partition field '%s' has different types in different events", p);
    if (!rdn_is(t, RDN_PART_KINDS))
        rdn_raise(k->c, "E0506", k->f->ppos, "partition fields are sym, str, int or enum", "'%s' cannot be a partition key", p);
    for (uint32_t i = 0; i < k->events.n; i++) {
        const struct rdn_d_field *f = rdn_ck_field(k, k->events.v[i], p);
        if (f && f->opt)
            rdn_raise(k->c, "E0506", f->pos, NULL, "the partition field '%s' may not be optional", p);
    }
}

/* ---- the whole ---- */
static int by_place(const struct rdn_dsl_diag *a, const struct rdn_dsl_diag *b) {
    if (a->span.a != b->span.a)
        return a->span.a < b->span.a ? -1 : 1;
    if (a->span.b != b->span.b)
        return a->span.b < b->span.b ? -1 : 1;
    return a->warning && b->warning ? strcmp(a->code, b->code) : 0;
}

/* Bottom-up merge sort: stable, and in the arena. */
static void sort_diags(struct rdn_ck *k, struct rdn_dsl_diag *v, uint32_t n) {
    struct rdn_dsl_diag *from = v, *to = rdn_new_n(k->c->work, struct rdn_dsl_diag, n);
    for (uint32_t w = 1; w < n; w *= 2) {
        for (uint32_t lo = 0; lo < n; lo += 2 * w) {
            uint32_t mid = lo + w < n ? lo + w : n, hi = lo + 2 * w < n ? lo + 2 * w : n;
            for (uint32_t i = lo, j = mid, o = lo; o < hi; o++)
                to[o] = i < mid && (j >= hi || by_place(&from[i], &from[j]) <= 0) ? from[i++] : from[j++];
        }
        struct rdn_dsl_diag *t = from;
        from = to;
        to = t;
    }
    if (from != v && n)
        memcpy(v, from, n * sizeof *v);
}

static void check_budget(struct rdn_ck *k, struct rdn_decl *d) {
    (void)d;
    const unsigned __int128 budget_ps = (unsigned __int128)k->f->budget_ns * 1000;
    for (uint32_t i = 0; i < k->events.n; i++) {
        const struct rdn_d_event *e = k->events.v[i];
        const unsigned long long t = (e->cost_ps + 50) / 100;
        if (e->cost_ps > budget_ps)
            rdn_raise(k->c, "E0701", k->f->bpos, "see the cost command for the parts",
                      "event %s costs %llu.%llu ns in the worst case, over the budget", e->d.name, t / 10, t % 10);
    }
}

static void *arena_realloc(void *ctx, void *p, size_t was, size_t want) {
    if (!want)
        return NULL;
    void *q = rdn_arena_alloc(ctx, want);
    if (q && was)
        memcpy(q, p, was < want ? was : want);
    return q;
}

static void open_ck(struct rdn_ck *k, struct rdn_pass *c) {
    *k = (struct rdn_ck){ .c = c, .f = c->file, .near_left = 500000 };
    k->scope.arena = c->work;
    k->B = rdn_type_simple(c->types, RDN_K_BOOL);
    k->I = rdn_type_simple(c->types, RDN_K_INT);
    k->F = rdn_type_simple(c->types, RDN_K_FLOAT);
    k->T = rdn_type_simple(c->types, RDN_K_TIME);
    k->U = rdn_type_simple(c->types, RDN_K_DUR);
    k->X = rdn_type_simple(c->types, RDN_K_TEXT);
    k->D = rdn_type_simple(c->types, RDN_K_DATE);
    k->now = rdn_ast_name(c, "now", 3);
    k->ts = rdn_ast_name(c, "ts", 2);
    k->score = rdn_ast_name(c, "score", 5);
    k->mem = (struct rdn_mem){ c->work, arena_realloc };
    rdn_buf_init(&k->buf, &k->mem);
    for (unsigned i = 1; i < RDN_FN_COUNT; i++)
        rdn_scope_put(&k->scope, rdn_ast_name(c, rdn_builtins[i].name, strlen(rdn_builtins[i].name)), &k->builtin,
                      (void *)&rdn_builtins[i]);
}

bool rdn_check(struct rdn_pass *c) {
    struct rdn_ck k;
    open_ck(&k, c);
    declare_all(&k);
    check_kind(&k, false);
    check_kind(&k, true);                                /* tests look at what the rules emit, wherever these stand */
    struct rdn_decl header = { 0 };
    if (k.f->undef)
        guarded(&k, header_undef, &header);
    if (k.f->partition)
        guarded(&k, header_partition, &header);
    sort_diags(&k, c->diags.v, c->diags.n);
    if (c->diags.n)
        return false;
    rdn_costs(c);
    if (k.f->has_budget)
        guarded(&k, check_budget, &header);
    if (c->diags.n)
        return false;
    rdn_ck_warnings(&k);
    sort_diags(&k, c->warns.v, c->warns.n);
    return true;
}

const struct rdn_type *rdn_check_expr(struct rdn_pass *c, struct rdn_expr *x, const struct rdn_d_param_ *locals, uint32_t nlocals) {
    struct rdn_ck k;
    open_ck(&k, c);
    struct rdn_deps deps = { 0 };
    struct rdn_ctx ctx = rdn_ck_ctx(&k, RDN_CTX_TEST, NULL, &deps);
    ctx.ps = locals;
    ctx.nps = nlocals;
    rdn_ty t = rdn_ck_type(&k, x, &ctx, NULL);
    return x->co ? x->co : t;
}
