/* SPDX-License-Identifier: Apache-2.0
 * lower_rule.c: rules, their actions, reason codes and emits. */
#include "dsl/lower.h"
#include <string.h>

uint32_t rdn_low_code(struct rdn_low *l, rdn_name code) {
    if (rdn_map_put(&l->codes, code, strlen(code), l->codev.n))
        rdn_push_val(l->c->arena, &l->codev, code);
    return rdn_map_get(&l->codes, code, strlen(code));
}

static void message(struct rdn_low *l, const struct rdn_d_act *d, struct rdn_action *a) {
    a->nmsg = d->msg.n;
    a->msg = rdn_new_n(l->c->arena, struct rdn_part, d->msg.n + 1);
    for (uint32_t i = 0; i < d->msg.n; i++)
        if (d->msg.v[i].x)
            a->msg[i].node = rdn_low(l, d->msg.v[i].x);
        else
            a->msg[i] = (struct rdn_part){ d->msg.v[i].text, d->msg.v[i].len, RDN_NO_NODE };
}

/* The types of an emit are those of its first appearance; texts may differ in kind later. */
static uint32_t emit_def(struct rdn_low *l, const struct rdn_d_act *d, const struct rdn_action *a) {
    if (rdn_map_put(&l->emits, d->code, strlen(d->code), l->emitv.n)) {
        struct rdn_emit_def def = { d->code, rdn_new_n(l->c->arena, struct rdn_column, a->nfields + 1), a->nfields };
        for (uint32_t i = 0; i < a->nfields; i++)
            def.cols[i] = (struct rdn_column){ a->fields[i].name, a->fields[i].type };
        rdn_push_val(l->c->arena, &l->emitv, def);
    }
    return rdn_map_get(&l->emits, d->code, strlen(d->code));
}

static void emit(struct rdn_low *l, const struct rdn_d_act *d, struct rdn_action *a) {
    a->nfields = d->fields.n;
    a->fields = rdn_new_n(l->c->arena, struct rdn_emit_field, d->fields.n + 1);
    for (uint32_t i = 0; i < d->fields.n; i++) {
        struct rdn_expr *x = d->fields.v[i].x;
        a->fields[i] = (struct rdn_emit_field){ d->fields.v[i].name, rdn_low(l, x), x->co ? x->co : x->t };
    }
    a->code = emit_def(l, d, a);
}

static void action(struct rdn_low *l, const struct rdn_d_act *d, struct rdn_action *a) {
    *a = (struct rdn_action){ .verb = d->verb, .has_msg = d->has_msg, .for_ns = d->has_for ? d->for_ns : 0 };
    if (d->verb == RDN_V_SKIP)
        return;
    if (d->verb == RDN_V_EMIT) {
        emit(l, d, a);
        return;
    }
    a->code = rdn_low_code(l, d->code);
    if (d->verb == RDN_V_SCORE)
        a->points = rdn_low(l, d->x);
    if (d->has_msg)
        message(l, d, a);
}

static struct rdn_action *undefined_action(struct rdn_low *l, const struct rdn_d_act *d) {
    struct rdn_action *a = rdn_new(l->c->arena, struct rdn_action);
    action(l, d, a);
    return a;
}

static void rule(struct rdn_low *l, const struct rdn_d_rule *d, struct rdn_action *header) {
    struct rdn_rule *r = &l->ir->rules[d->d.index];
    *r = (struct rdn_rule){ .name = d->d.name, .event = d->event, .priority = d->prio, .shadow = d->shadow, .late = d->late,
                            .cost_ps = d->cost_ps, .nacts = d->acts.n };
    struct rdn_low_place was = rdn_low_enter(l, d->event, NULL, true);
    r->when = rdn_low(l, d->when);
    r->when_span = rdn_low_span(l, d->when);
    l->trace = false;
    r->acts = rdn_new_n(l->c->arena, struct rdn_action, d->acts.n + 1);
    for (uint32_t i = 0; i < d->acts.n; i++)
        action(l, &d->acts.v[i], &r->acts[i]);
    r->undef = d->undef ? undefined_action(l, d->undef) : header;
    rdn_low_leave(l, was);
}

void rdn_low_rules(struct rdn_low *l) {
    struct rdn_file *f = l->c->file;
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->decls.n; i++)
        n += f->decls.v[i]->kind == RDN_D_RULE;
    l->ir->rules = rdn_new_n(l->c->arena, struct rdn_rule, n + 1);
    l->ir->nrules = n;
    struct rdn_action *header = f->undef ? undefined_action(l, f->undef) : NULL;
    for (uint32_t i = 0; i < f->decls.n; i++)
        if (f->decls.v[i]->kind == RDN_D_RULE)
            rule(l, (struct rdn_d_rule *)(void *)f->decls.v[i], header);
    l->ir->codes = l->codev.v;
    l->ir->ncodes = l->codev.n;
    l->ir->emits = l->emitv.v;
    l->ir->nemits = l->emitv.n;
}
