/* SPDX-License-Identifier: Apache-2.0
 * parse_driver.c: parses sources and prints what came out, for test_parse_model.py.
 *
 * Standard input: records "LENGTH\n" and that many bytes. Standard output: a line per record, either
 * "CODE L:C-L:C text = hint" or "ok" and the tree: every field that the parser sets, with its span. */
#include "dsl/pass.h"
#include <stdio.h>
#include <string.h>

static struct rdn_buf out;
#define P(...) rdn_buf_printf(&out, __VA_ARGS__)
#define EACH(T, x, vec) for (T *x = (vec)->v; x < (vec)->v + (vec)->n; x++)

static void span(struct rdn_span s) { P("@%u-%u", s.a, s.b); }
static void named(const char *name, struct rdn_span s) { P(" %s", name ? name : "-"), span(s); }
static void hex(const char *s, uint32_t n) {
    P(" x");
    for (uint32_t i = 0; i < n; i++)
        P("%02x", (unsigned char)s[i]);
}
static void type(const struct rdn_type *t) { P(" "), rdn_type_print(&out, t); }

static void literal(const struct rdn_expr *x) {
    type(x->lit.ty);
    if (x->lit.ty->kind == RDN_K_TEXT)
        hex(x->lit.v.t.p, x->lit.v.t.len);
    else if (x->lit.ty->kind == RDN_K_FLOAT)
        P(" %g", x->lit.v.f);
    else
        P(" %lld", (long long)x->lit.v.i);
}

static void expr(const struct rdn_expr *x);
static void exprs(struct rdn_expr *const *xs, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        expr(xs[i]);
}

static void expr(const struct rdn_expr *x) {
    static const char *const kinds[] = { "num", "lit", "name", "un", "bin", "if", "call", "set", "range", "dot", "idx", "none" };
    static const char *const ops[] = { "or", "or", "==", "!=", "<", "<=", ">", ">=", "in", "??", "+", "-", "*", "/", "mod", "not", "-" };
    if (!x) {
        P(" -");
        return;
    }
    P(" (%s", kinds[x->kind]);
    span(x->pos);
    P("h%u", x->height);
    switch ((enum rdn_x_kind)x->kind) {
    case RDN_X_NUM: P(" %.*s %d %d", (int)x->num.ndigits, x->num.digits, x->num.sc, x->num.frac); break;
    case RDN_X_LIT: literal(x); break;
    case RDN_X_NAME: P(" %s", x->name.v); break;
    case RDN_X_UN: P(" %s", ops[x->op]), expr(x->bin.a); break;
    case RDN_X_BIN: P(" %s", x->op == RDN_B_AND ? "and" : ops[x->op]), expr(x->bin.a), expr(x->bin.b); break;
    case RDN_X_RANGE: expr(x->bin.a), expr(x->bin.b); break;
    case RDN_X_IF: expr(x->cond.c), expr(x->cond.x), expr(x->cond.y); break;
    case RDN_X_CALL: named(x->call.f, x->call.fpos), exprs(x->call.xs, x->call.n); break;
    case RDN_X_SET: exprs(x->call.xs, x->call.n); break;
    case RDN_X_DOT: expr(x->dot.a), named(x->dot.f, x->dot.fpos); break;
    case RDN_X_IDX: expr(x->idx.a), exprs(x->idx.ix, x->idx.n); break;
    case RDN_X_NONE: break;
    }
    P(")");
}

static void efields(const rdn_efields *fs) {
    P(" {");
    EACH(struct rdn_d_efield, f, fs)
        hex(f->name, (uint32_t)strlen(f->name)), span(f->pos), expr(f->x);
    P("}");
}
static void names(const struct rdn_d_named *v, uint32_t n) {
    P(" [");
    for (uint32_t i = 0; i < n; i++)
        named(v[i].name, v[i].pos);
    P("]");
}

static void action(const struct rdn_d_act *a) {
    static const char *const verbs[] = { "accept", "throttle", "hold", "reject", "flag", "score", "emit", "skip" };
    if (!a) {
        P(" -");
        return;
    }
    P(" (%s", verbs[a->verb]);
    span(a->pos);
    if (a->code)
        named(a->code, a->cpos);
    expr(a->x);
    if (a->has_for)
        P(" for %lld", (long long)a->for_ns), span(a->fpos);
    if (a->verb == RDN_V_EMIT)
        efields(&a->fields);
    if (a->has_msg)
        P(" msg");
    EACH(struct rdn_d_part, m, &a->msg)
        if (m->x)
            expr(m->x);
        else
            hex(m->text, m->len);
    P(")");
}

static void fields(const rdn_fields *fs) {
    P(" {");
    EACH(struct rdn_d_field, f, fs)
        named(f->name, f->pos), type(f->type), P(f->opt ? "?" : "");
    P("}");
}
static void params(const rdn_plist *ps) {
    P(" (");
    EACH(struct rdn_d_param_, q, ps) {
        P(" %s:", q->name);
        if (q->event)
            named(q->event, q->pos);
        else
            type(q->type);
    }
    P(")");
}

static void list(const struct rdn_d_list *d) {
    type(d->ty), span(d->tpos);
    if (d->from)
        hex(d->from, d->from_len), span(d->spos);
    exprs(d->xs.v, d->xs.n);
}
static void table(const struct rdn_d_table *d) {
    fields(&d->keys), fields(&d->cols);
    if (d->from)
        hex(d->from, d->from_len), span(d->spos);
    P(" host %d %u", d->host, d->cap);
    EACH(struct rdn_d_rowx, r, &d->rows)
        P(r->isdef ? " default" : " row"), span(r->pos), exprs(r->k.v, r->k.n), P(" :"), exprs(r->v.v, r->v.n);
}
static void calendar(const struct rdn_d_calendar *d) {
    hex(d->tz, d->tz_len), span(d->tzpos);
    EACH(struct rdn_d_session, s, &d->ss) {
        P(" (%u", s->days);
        if (s->list.v)
            named(s->list.v, s->list.pos);
        P(" %u %u", s->open, s->close);
        EACH(struct rdn_d_listref, e, &s->except)
            named(e->v, e->pos);
        P(")");
    }
}
static void call(const struct rdn_d_call *d) {
    params(&d->ps), type(d->ty), P(" %lld", (long long)d->deadline_ns), expr(d->def);
    if (d->d.kind == RDN_D_PLUGIN)
        return;
    span(d->tpos), named(d->var, d->varpos), P(" %u", d->cnt);
    EACH(struct rdn_d_klet, l, &d->lets)
        named(l->name, l->pos), expr(l->x);
    named(d->red, d->redpos), exprs(d->rx.v, d->rx.n);
}
static void window(const struct rdn_d_window *w) {
    named(w->agg, w->aggpos), exprs(w->xs.v, w->xs.n), P(" %lld %u by", (long long)w->over_ns, w->events), exprs(w->by.v, w->by.n);
    named(w->on, w->onpos), P(" %d", w->accepted), expr(w->where);
    P(" %u %u %u %u %u %d", w->panes, w->exact, w->keys, w->evict, w->warmup, w->local);
    for (int i = 0; i < RDN_OPT_COUNT; i++)
        span(w->opos[i]);
    EACH(struct rdn_d_reset, r, &w->resets)
        named(r->event, r->pos);
}
static void rule(const struct rdn_d_rule *r) {
    named(r->on, r->onpos), P(" %d %d", r->prio, r->shadow), expr(r->when);
    EACH(struct rdn_d_act, a, &r->acts)
        action(a);
    P(" undefined"), action(r->undef);
}

static void step(const struct rdn_d_step *s) {
    static const char *const kinds[] = { "tat", "tparam", "tmock", "trow", "texpect", "tev" };
    P(" (%s", kinds[s->kind]), span(s->pos);
    if (s->kind != RDN_STEP_AT && s->kind != RDN_STEP_EXPECT)
        named(s->name, s->npos);
    P(" %lld %d", (long long)(s->kind == RDN_STEP_EVENT && !s->has_after ? -1 : s->at_ns), s->none);
    expr(s->x);
    if (s->cause.name)
        named(s->cause.name, s->cause.pos);
    exprs(s->ks.v, s->ks.n), efields(&s->fs);
    if (s->kind == RDN_STEP_EVENT)
        P(" %u", s->repeat);
    if (s->judged) {
        P(" => %d", s->verdict), span(s->vpos), P(" %d", s->more);
        if (s->has_score)
            P(" %lld", (long long)s->score);
        names(s->codes.v, s->codes.n);
        EACH(struct rdn_d_xemit, e, &s->emits) {
            named(e->name.name, e->name.pos);
            if (e->has_fields)
                efields(&e->fields);
        }
        names(s->undef.v, s->undef.n);
    }
    P(")");
}

static void decl(const struct rdn_decl *d) {
    static const char *const kinds[] = { "event", "param", "list", "table", "calendar", "fn", "let", "window", "plugin", "kernel", "rule", "test" };
    P("; %s", kinds[d->kind]);
    hex(d->name, (uint32_t)strlen(d->name)), span(d->pos);
    switch ((enum rdn_d_kind)d->kind) {
    case RDN_D_EVENT: fields(&((const struct rdn_d_event *)d)->fields); break;
    case RDN_D_PARAM: {
        const struct rdn_d_param *q = (const void *)d;
        type(q->ty), span(q->tpos), expr(q->v), expr(q->lo), expr(q->hi);
        break;
    }
    case RDN_D_LIST: list((const void *)d); break;
    case RDN_D_TABLE: table((const void *)d); break;
    case RDN_D_CALENDAR: calendar((const void *)d); break;
    case RDN_D_FN: {
        const struct rdn_d_fn *f = (const void *)d;
        params(&f->ps), type(f->ty), expr(f->x);
        break;
    }
    case RDN_D_LET: {
        const struct rdn_d_let *l = (const void *)d;
        named(l->on, l->onpos), expr(l->x);
        break;
    }
    case RDN_D_WINDOW: window((const void *)d); break;
    case RDN_D_PLUGIN: case RDN_D_KERNEL: call((const void *)d); break;
    case RDN_D_RULE: rule((const void *)d); break;
    case RDN_D_TEST:
        EACH(struct rdn_d_step, s, &((const struct rdn_d_test *)d)->steps)
            step(s);
        break;
    }
}

static void tree(const struct rdn_file *f) {
    P("ok %s %u", f->name, f->version), span(f->pos);
    action(f->undef);
    if (f->has_budget)
        P(" budget %lld", (long long)f->budget_ns), span(f->bpos);
    if (f->partition)
        named(f->partition, f->ppos);
    EACH(struct rdn_decl *, d, &f->decls)
        decl(*d);
    P("\n");
}

static void one(const char *src, uint32_t len) {
    static struct rdn_pass c;
    struct rdn_arena arena;
    struct rdn_guard g;
    rdn_arena_init(&arena, &rdn_libc_mem);
    rdn_pass_init(&c, &arena, &arena, rdn_types_new(&arena), NULL, src, len);
    RDN_TRY(&c, g) {
        tree(rdn_parse(&c));
        RDN_DONE(&c, g);
    } else {
        rdn_linecol(&c, c.raised.span.a, &c.raised.line, &c.raised.col);
        rdn_linecol(&c, c.raised.span.b, &c.raised.end_line, &c.raised.end_col);
        rdn_dsl_print_short(&out, &c.raised);
        if (c.raised.hint)
            out.n--, P(" = %s\n", c.raised.hint);
    }
    rdn_arena_fini(&arena);
}

int main(void) {
    unsigned n;
    rdn_buf_init(&out, &rdn_libc_mem);
    while (scanf("%u", &n) == 1 && getchar() == '\n') {
        char *src = rdn_zalloc(&rdn_libc_mem, n + 1u);
        if (!src || fread(src, 1, n, stdin) != n)
            return 1;
        one(src, n);
        rdn_free(&rdn_libc_mem, src, n + 1u);
        fwrite(rdn_buf_str(&out), 1, out.n, stdout);
        fflush(stdout);
        out.n = 0;
    }
    rdn_buf_fini(&out);
    return 0;
}
