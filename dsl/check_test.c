/* SPDX-License-Identifier: Apache-2.0
 * check_test.c: tests in the file (LANGUAGE.md 17.4). What a test knows of rules, it knows of all of them: tests are
 * checked last. */
#include "dsl/check.h"
#include <string.h>

#define SET_WORDS (RDN_LIM_FIELDS / 64)
struct given { uint64_t w[SET_WORDS]; };                 /* fields of an event that have been given in this test */
struct test_state { struct given **events; struct rdn_map *rows; uint32_t *live; };   /* by index of event and table */

static bool set_has(const struct given *s, uint32_t i) { return s->w[i / 64] >> (i % 64) & 1; }
static void set_add(struct given *s, uint32_t i) { s->w[i / 64] |= (uint64_t)1 << (i % 64); }

static const char *near_kind(struct rdn_ck *k, rdn_name word, unsigned kinds) {
    rdn_near_begin(k);
    rdn_near_kinds(k, kinds);
    return rdn_near_end(k, word);
}

static const char *near_in(struct rdn_ck *k, rdn_name word, const void *space) {
    rdn_near_begin(k);
    rdn_near_space(k, space);
    return rdn_near_end(k, word);
}

/* ---- param, mock ---- */
static void step_param(struct rdn_ck *k, struct rdn_d_step *st) {
    const struct rdn_d_param *p = rdn_ck_find(k, st->name, RDN_D_PARAM);
    if (!p)
        rdn_raise(k->c, "E0801", st->npos, near_kind(k, st->name, RDN_BIT(RDN_D_PARAM)), "unknown parameter '%s'", st->name);
    st->index = p->d.index;
    rdn_ck_const(k, st->x, p->ty, RDN_WHAT("the value", NULL), &st->val);
    if (p->ranged && !(rdn_cell_le(p->ty, &p->vlo, &st->val) && rdn_cell_le(p->ty, &st->val, &p->vhi)))
        rdn_raise(k->c, "E0802", st->x->pos, NULL, "'%s' would leave its range", st->name);
}

static void step_mock(struct rdn_ck *k, struct rdn_d_step *st) {
    const struct rdn_decl *g = rdn_ck_global(k, st->name);
    const unsigned kinds = RDN_BIT(RDN_D_PLUGIN) | RDN_BIT(RDN_D_KERNEL);
    if (!g || !(RDN_BIT(g->kind) & kinds))
        rdn_raise(k->c, "E0804", st->npos, near_kind(k, st->name, kinds), "unknown plugin or kernel '%s'", st->name);
    st->index = g->index;
    st->none = st->x->kind == RDN_X_NONE;
    if (!st->none)
        rdn_ck_const(k, st->x, ((const struct rdn_d_call *)g)->ty, RDN_WHAT("the result", NULL), &st->val);
}

/* ---- row ---- */
static void column_value(struct rdn_ck *k, struct rdn_d_step *st, const struct rdn_d_table *d, const struct rdn_d_efield *f, bool *got) {
    for (uint32_t i = 0; i < d->cols.n; i++) {
        if (d->cols.v[i].name != f->name)
            continue;
        if (got[i])
            rdn_raise(k->c, "E0608", f->pos, NULL, "column '%s' given twice", f->name);
        got[i] = true;
        rdn_ck_const(k, f->x, d->cols.v[i].type, RDN_WHAT("column", f->name), &st->vals[i]);
        return;
    }
    rdn_near_begin(k);
    for (uint32_t i = 0; i < d->cols.n; i++)
        rdn_near_add(k, d->cols.v[i].name);
    rdn_raise(k->c, "E0307", f->pos, rdn_near_end(k, f->name), "table '%s' has no column '%s'", d->d.name, f->name);
}

static void row_values(struct rdn_ck *k, struct rdn_d_step *st, const struct rdn_d_table *d) {
    bool got[RDN_LIM_FIELDS] = { false };
    st->vals = rdn_new_n(k->c->arena, struct rdn_cell, d->cols.n);
    for (uint32_t i = 0; i < st->fs.n; i++)
        column_value(k, st, d, &st->fs.v[i], got);
    for (uint32_t i = 0; i < d->cols.n; i++)
        if (!got[i])
            rdn_raise(k->c, "E0810", st->npos, NULL, "%s: column '%s' is missing", d->d.name, d->cols.v[i].name);
}

/* Counts the rows that are there, to refuse one too many. */
static void row_live(struct rdn_ck *k, const struct rdn_d_step *st, const struct rdn_d_table *d, struct test_state *ts) {
    struct rdn_map *rows = &ts->rows[d->d.index];
    if (!rows->arena)
        rdn_map_init(rows, k->c->work);
    k->buf.n = 0;
    for (uint32_t i = 0; i < d->keys.n; i++)
        rdn_ck_key_bytes(k, d->keys.v[i].type, &st->keys[i]);
    const uint32_t was = rdn_map_get(rows, k->buf.p, k->buf.n), is = !st->none;
    uint32_t *live = &ts->live[d->d.index];
    *live += is - (was == RDN_MAP_NONE ? 0 : was);
    if (was != is)
        rdn_map_set(rows, rdn_arena_strndup(k->c->work, k->buf.p, k->buf.n), k->buf.n, is);
    if (is && *live > d->cap)
        rdn_raise(k->c, "E0706", st->npos, NULL, "table '%s' holds only %u row%s", d->d.name, d->cap, d->cap == 1 ? "" : "s");
}

static bool shape_is_good(struct rdn_ck *k, const struct rdn_d_table *d) {
    struct rdn_guard g;
    RDN_TRY(k->c, g) {
        rdn_ck_table_shape(k, d);
        RDN_DONE(k->c, g);
        return true;
    }
    return false;
}

__attribute__((noreturn)) static void no_host_table(struct rdn_ck *k, const struct rdn_d_step *st) {
    rdn_near_begin(k);
    for (uint32_t i = 0; i < k->scope.cap; i++) {
        const struct rdn_scope_slot *s = &k->scope.v[i];
        const struct rdn_d_table *d = s->name && s->space == &k->global ? s->val : NULL;
        if (d && d->d.kind == RDN_D_TABLE && d->host)
            rdn_near_add(k, d->d.name);
    }
    rdn_raise(k->c, "E0809", st->npos, rdn_near_end(k, st->name), "'%s' is not a host table", st->name);
}

static void step_row(struct rdn_ck *k, struct rdn_d_step *st, struct test_state *ts) {
    const struct rdn_d_table *d = rdn_ck_find(k, st->name, RDN_D_TABLE);
    if (!d || !d->host)
        no_host_table(k, st);
    if (!shape_is_good(k, d))
        rdn_poison(k->c);
    st->index = d->d.index;
    if (st->ks.n != d->keys.n)
        rdn_raise(k->c, "E0409", st->npos, NULL, "table '%s' has %u key%s", d->d.name, d->keys.n, d->keys.n == 1 ? "" : "s");
    st->keys = rdn_new_n(k->c->arena, struct rdn_cell, d->keys.n);
    for (uint32_t i = 0; i < d->keys.n; i++)
        rdn_ck_const(k, st->ks.v[i], d->keys.v[i].type, RDN_WHAT("key", d->keys.v[i].name), &st->keys[i]);
    if (!st->none)
        row_values(k, st, d);
    row_live(k, st, d, ts);
}

/* ---- expect ---- */
static void step_expect(struct rdn_ck *k, struct rdn_d_step *st, struct rdn_ctx *c) {
    static const struct { const char *text; uint8_t n; } causes[] = {
#define CAUSE(name, number, text) { text, number },
#include "ir/causes.def"
#undef CAUSE
    };
    if (!st->cause.name) {
        rdn_ck_want(k, st->x, k->B, c, RDN_WHAT("expect", NULL));
        return;
    }
    rdn_near_begin(k);
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (!strcmp(st->cause.name, causes[i].text))
            st->causek = causes[i].n;
        rdn_near_add(k, causes[i].text);
    }
    if (!st->causek) {
        const char *hint = rdn_near_end(k, st->cause.name);
        rdn_raise(k->c, "E0201", st->cause.pos, hint ? hint : "missing cold nan overflow div0 range full plugin", "unknown cause '%s'",
                  st->cause.name);
    }
    rdn_ck_type(k, st->x, c, NULL);
}

/* ---- events ---- */
static void event_fields(struct rdn_ck *k, struct rdn_d_step *st, const struct rdn_d_event *e, struct rdn_ctx *c, struct given *have) {
    struct given seen = { { 0 } };
    for (uint32_t i = 0; i < st->fs.n; i++) {
        const struct rdn_d_efield *f = &st->fs.v[i];
        const struct rdn_d_field *field = rdn_ck_field(k, e, f->name);
        if (!field)
            rdn_raise(k->c, "E0308", f->pos, near_in(k, f->name, e), "%s has no field '%s'", e->d.name, f->name);
        const uint32_t n = (uint32_t)(field - e->fields.v);
        if (set_has(&seen, n))
            rdn_raise(k->c, "E0608", f->pos, NULL, "field '%s' given twice", f->name);
        set_add(&seen, n);
        if (f->x->kind == RDN_X_NONE) {
            if (!field->opt)
                rdn_raise(k->c, "E0808", f->x->pos, NULL, "field '%s' is not optional", f->name);
            continue;
        }
        rdn_ck_want(k, f->x, field->type, c, RDN_WHAT("field", f->name));
        set_add(have, n);
    }
    for (uint32_t i = 0; i < e->fields.n; i++)
        if (!e->fields.v[i].opt && !set_has(have, i))
            rdn_raise(k->c, "E0803", st->npos, NULL, "%s: field '%s' is missing", e->d.name, e->fields.v[i].name);
}

static void know_code(struct rdn_ck *k, const struct rdn_d_act *a) {
    if (a && a->code && a->verb != RDN_V_EMIT)
        rdn_scope_put(&k->scope, a->code, &k->code, (void *)a);
}

static void know_codes(struct rdn_ck *k) {
    for (uint32_t i = 0; i < k->rules.n && !k->codes_known; i++) {
        for (uint32_t j = 0; j < k->rules.v[i]->acts.n; j++)
            know_code(k, &k->rules.v[i]->acts.v[j]);
        know_code(k, k->rules.v[i]->undef);
    }
    know_code(k, k->f->undef);
    k->codes_known = true;
}

static void expected_emit(struct rdn_ck *k, const struct rdn_d_xemit *x, struct rdn_ctx *c) {
    const struct rdn_emit_shape *s = rdn_scope_get(&k->scope, x->name.name, &k->emit);
    if (!s)
        rdn_raise(k->c, "E0805", x->name.pos, near_in(k, x->name.name, &k->emit), "no rule emits '%s'", x->name.name);
    for (uint32_t i = 0; i < x->fields.n; i++) {
        const struct rdn_d_efield *f = &x->fields.v[i];
        uint32_t n = 0;
        while (n < s->n && s->names[n] != f->name)
            n++;
        if (n == s->n) {
            rdn_near_begin(k);
            for (uint32_t j = 0; j < s->n; j++)
                rdn_near_add(k, s->names[j]);
            rdn_raise(k->c, "E0308", f->pos, rdn_near_end(k, f->name), "%s has no field '%s'", x->name.name, f->name);
        }
        rdn_ck_want(k, f->x, rdn_type_is_text(s->types[n]) ? k->X : s->types[n], c, RDN_WHAT("field", f->name));
    }
}

static void judged(struct rdn_ck *k, struct rdn_d_step *st, struct rdn_ctx *c) {
    know_codes(k);
    for (uint32_t i = 0; i < st->codes.n; i++) {
        const struct rdn_d_named *q = &st->codes.v[i];
        if (!rdn_scope_get(&k->scope, q->name, &k->code))
            rdn_raise(k->c, "E0805", q->pos, near_in(k, q->name, &k->code), "no rule produces '%s'", q->name);
    }
    for (uint32_t i = 0; i < st->undef.n; i++) {
        const struct rdn_d_named *q = &st->undef.v[i];
        if (!rdn_scope_get(&k->scope, q->name, &k->rule))
            rdn_raise(k->c, "E0301", q->pos, near_in(k, q->name, &k->rule), "unknown rule '%s'", q->name);
    }
    for (uint32_t i = 0; i < st->emits.n; i++)
        expected_emit(k, &st->emits.v[i], c);
}

static void step_event(struct rdn_ck *k, struct rdn_d_step *st, struct rdn_ctx *c, struct test_state *ts) {
    const struct rdn_d_event *e = rdn_ck_event(k, st->name, st->npos);
    st->index = e->d.index;
    struct given **have = &ts->events[st->index];
    if (!*have)
        *have = rdn_new(k->c->work, struct given);
    event_fields(k, st, e, c, *have);
    if (st->judged)
        judged(k, st, c);
}

void rdn_ck_test(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_test *t = (struct rdn_d_test *)decl;
    struct rdn_deps deps = { 0 };
    struct rdn_ctx c = rdn_ck_ctx(k, RDN_CTX_TEST, NULL, &deps);
    struct test_state ts = { .events = rdn_new_n(k->c->work, struct given *, k->events.n) };
    ts.rows = rdn_new_n(k->c->work, struct rdn_map, k->count[RDN_D_TABLE]);
    ts.live = rdn_new_n(k->c->work, uint32_t, k->count[RDN_D_TABLE]);
    for (uint32_t i = 0; i < t->steps.n; i++) {
        struct rdn_d_step *st = &t->steps.v[i];
        switch ((enum rdn_step_kind)st->kind) {
        case RDN_STEP_AT: break;
        case RDN_STEP_PARAM: step_param(k, st); break;
        case RDN_STEP_MOCK: step_mock(k, st); break;
        case RDN_STEP_ROW: step_row(k, st, &ts); break;
        case RDN_STEP_EXPECT: step_expect(k, st, &c); break;
        case RDN_STEP_EVENT: step_event(k, st, &c, &ts); break;
        }
    }
}
