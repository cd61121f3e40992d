/* SPDX-License-Identifier: Apache-2.0
 * lower_test.c: the steps of in-file tests (17.4). Their expressions stand on no event. */
#include "dsl/lower.h"
#include <string.h>

static uint32_t index_of(struct rdn_low *l, rdn_name name) {
    const struct rdn_decl *d = l->c->file->decls.v[rdn_map_get(&l->globals, name, strlen(name))];
    return d->kind == RDN_D_PLUGIN ? l->plugin_at[d->index] : d->kind == RDN_D_KERNEL ? l->kernel_at[d->index] : d->index;
}

static bool is_none(const struct rdn_expr *x) { return x->kind == RDN_X_NONE; }

static void given_fields(struct rdn_low *l, const struct rdn_d_step *d, struct rdn_step *s) {
    const struct rdn_event *e = &l->ir->events[s->index];
    s->nfields = d->fs.n;
    s->fields = rdn_new_n(l->c->arena, struct rdn_step_field, d->fs.n + 1);
    for (uint32_t i = 0; i < d->fs.n; i++) {
        uint32_t f = 0;
        while (strcmp(e->fields[f].name, d->fs.v[i].name))
            f++;
        s->fields[i].field = f;
        s->fields[i].node = is_none(d->fs.v[i].x) ? RDN_NO_NODE : rdn_low_as(l, d->fs.v[i].x, e->fields[f].type);
    }
}

static void expected_emit(struct rdn_low *l, const struct rdn_d_xemit *d, struct rdn_step_emit *e) {
    e->emit = rdn_map_get(&l->emits, d->name.name, strlen(d->name.name));
    e->any = !d->has_fields;
    e->nfields = d->fields.n;
    e->fields = rdn_new_n(l->c->arena, struct rdn_step_field, d->fields.n + 1);
    const struct rdn_emit_def *def = &l->ir->emits[e->emit];
    for (uint32_t i = 0; i < d->fields.n; i++) {
        uint32_t c = 0;
        while (strcmp(def->cols[c].name, d->fields.v[i].name))
            c++;
        const struct rdn_type *t = rdn_type_is_text(def->cols[c].type) ? l->X : def->cols[c].type;
        e->fields[i] = (struct rdn_step_field){ c, rdn_low_as(l, d->fields.v[i].x, t) };
    }
}

static void expectations(struct rdn_low *l, const struct rdn_d_step *d, struct rdn_step *s) {
    struct rdn_arena *a = l->c->arena;
    s->verdict = d->verdict;
    s->more = d->more;
    s->has_score = d->has_score;
    s->score = d->score;
    s->codes = rdn_new_n(a, uint32_t, (s->ncodes = d->codes.n) + 1);
    for (uint32_t i = 0; i < d->codes.n; i++)
        s->codes[i] = rdn_map_get(&l->codes, d->codes.v[i].name, strlen(d->codes.v[i].name));
    s->undef = rdn_new_n(a, uint32_t, (s->nundef = d->undef.n) + 1);
    for (uint32_t i = 0; i < d->undef.n; i++)
        s->undef[i] = rdn_map_get(&l->rules, d->undef.v[i].name, strlen(d->undef.v[i].name));
    s->emits = rdn_new_n(a, struct rdn_step_emit, (s->nemits = d->emits.n) + 1);
    for (uint32_t i = 0; i < d->emits.n; i++)
        expected_emit(l, &d->emits.v[i], &s->emits[i]);
}

static void step(struct rdn_low *l, const struct rdn_d_step *d, struct rdn_step *s) {
    *s = (struct rdn_step){ .kind = d->kind, .span = rdn_ir_span(l->ir, d->pos.a, d->pos.b), .at_ns = d->at_ns, .none = d->none };
    switch ((enum rdn_step_kind)d->kind) {
    case RDN_STEP_AT:
        break;
    case RDN_STEP_PARAM: case RDN_STEP_MOCK:
        s->index = index_of(l, d->name);
        s->val = d->val;
        break;
    case RDN_STEP_ROW:
        s->index = index_of(l, d->name);
        s->keys = d->keys;
        s->vals = d->vals;
        break;
    case RDN_STEP_EXPECT:
        s->cause = d->causek;
        s->expect = rdn_low(l, d->x);
        break;
    case RDN_STEP_EVENT:
        s->index = index_of(l, d->name);
        s->at_ns = d->has_after ? d->at_ns : -1;
        s->repeat = d->repeat;
        s->judged = d->judged;
        given_fields(l, d, s);
        if (d->judged)
            expectations(l, d, s);
        break;
    }
}

static void test(struct rdn_low *l, const struct rdn_d_test *d) {
    struct rdn_test *t = &l->ir->tests[d->d.index];
    *t = (struct rdn_test){ d->d.name, rdn_ir_span(l->ir, d->d.pos.a, d->d.pos.b), NULL, d->steps.n };
    t->steps = rdn_new_n(l->c->arena, struct rdn_step, d->steps.n + 1);
    for (uint32_t i = 0; i < d->steps.n; i++)
        step(l, &d->steps.v[i], &t->steps[i]);
}

void rdn_low_tests(struct rdn_low *l) {
    struct rdn_file *f = l->c->file;
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->decls.n; i++)
        n += f->decls.v[i]->kind == RDN_D_TEST;
    l->ir->tests = rdn_new_n(l->c->arena, struct rdn_test, n + 1);
    l->ir->ntests = n;
    struct rdn_low_place was = rdn_low_enter(l, RDN_LOW_NO_EVENT, NULL, false);
    for (uint32_t i = 0; i < f->decls.n; i++)
        if (f->decls.v[i]->kind == RDN_D_TEST)
            test(l, (struct rdn_d_test *)(void *)f->decls.v[i]);
    rdn_low_leave(l, was);
}
