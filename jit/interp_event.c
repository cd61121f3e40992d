/* SPDX-License-Identifier: Apache-2.0
 * interp_event.c: one event through the interpreter: memos, windows, conditions. Everything here is [hot]. */
#include "jit/exec_impl.h"
#include "jit/interp_code.h"
#include <math.h>

void rdn_interp_value(struct rdn_frame *f, rdn_id id, struct rdn_cell *ret) {
    rdn_interp_eval(f->interp, id, ret);
}

void rdn_interp_rule(struct rdn_frame *f, uint32_t rule, struct rdn_cell *ret) {
    struct rdn_interp_state *st = f->interp;
    const struct rdn_rule *r = &f->head.ir->rules[rule];
    if (r->calls) {
        rdn_interp_need_begin(st);
        st->pending = ++st->stamps;
        rdn_interp_eval(st, r->when, ret);
        st->pending = 0;
        if (!ret->cause)
            return;                                      /* whatever the calls would answer */
    }
    rdn_interp_eval(st, r->when, ret);
}

bool rdn_interp_own_key(struct rdn_frame *f, uint32_t window, const struct rdn_key **ret, struct rdn_cell *undef) {
    struct rdn_interp_state *st = f->interp;
    const struct rdn_window *w = &f->head.ir->windows[window];
    struct rdn_key *key = rdn_own_key_slot(st, window);
    *ret = key;
    rdn_interp_need_begin(st);
    if (st->key_memo[window].gen == st->gen)
        return true;
    rdn_key_begin(key);
    for (uint32_t i = 0; i < w->nkeys; i++) {
        rdn_interp_eval(st, w->keys[i], undef);
        if (undef->cause)
            return false;
        rdn_key_add(key, w->ktypes[i], undef);
    }
    rdn_key_end(key);
    st->key_memo[window].gen = st->gen;
    return true;
}

/* 10.2: not a number the aggregates could hold. */
static bool storable(const struct rdn_type *t, const struct rdn_cell *c) {
    if (t->kind == RDN_K_FLOAT)
        return isfinite(c->f);
    return t->kind != RDN_K_DEC || rdn_fits_i64(c->d);
}

enum rdn_enter rdn_interp_window(struct rdn_frame *f, uint32_t window, struct rdn_winput *ret) {
    struct rdn_interp_state *st = f->interp;
    const struct rdn_window *w = &f->head.ir->windows[window];
    struct rdn_cell c;
    if (w->where) {
        rdn_interp_eval(st, w->where, &c);
        if (c.cause)
            return RDN_ENTER_SKIP;
        if (!c.i)
            return RDN_ENTER_NOT;
    }
    /* All parts are evaluated even when one of them already decides: lets keep what they see now. */
    bool good = rdn_interp_own_key(f, window, &ret->key, &c);
    ret->val = (struct rdn_cell){ .i = 1 };
    if (w->value)
        rdn_interp_eval(st, w->value, &ret->val);
    ret->span = 0;
    if (w->span) {
        rdn_interp_eval(st, w->span, &c);
        ret->span = c.i;
    }
    good &= !ret->val.cause && (!w->vtype || storable(w->vtype, &ret->val));
    return good ? RDN_ENTER : RDN_ENTER_SKIP;
}

static void interp_rules(struct rdn_frame *f, enum rdn_phase phase) {
    const struct rdn_ir *ir = f->head.ir;
    const struct rdn_event *ev = &ir->events[f->head.event];
    for (uint32_t i = 0; i < ev->nrules; i++) {
        const struct rdn_rule *r = &ir->rules[ev->rules[i]];
        struct rdn_cell c;
        if (r->late != (phase == RDN_LATE))
            continue;
        rdn_interp_rule(f, ev->rules[i], &c);
        uint64_t bit = (uint64_t)1 << (i & 63);
        if (c.cause) {
            f->head.undef[i >> 6] |= bit;
            f->head.any_undef = true;
        } else if (c.i) {
            f->head.fired[i >> 6] |= bit;
        }
    }
}

const struct rdn_exec_impl rdn_exec_interp = { .name = "interp", .begin = rdn_frame_clear_fired, .window = rdn_interp_window, .rules = interp_rules };
