/* SPDX-License-Identifier: Apache-2.0
 * unit.c: see unit.h. Code is emitted into ordinary memory, joined, and copied into the arena in one piece; it is
 * position-independent and each event's constants stand in front of its code. */
#include "jit/unit.h"
#include <string.h>
#include "base/clock.h"
#include "base/hash.h"
#include "jit/jit.h"

struct piece { uint8_t *buf; size_t cap; struct rdn_emitted code; uint32_t at; };

/* Sizes of a frame's keys. */
static void measure_keys(struct rdn_unit *u, const struct rdn_plan *pl) {
    if (pl->keys.n > u->max_keys)
        u->max_keys = pl->keys.n;
    for (uint32_t k = 0; k < pl->keys.n; k++) {
        uint32_t words = 0;
        for (uint32_t i = 0; i < pl->keys.v[k].n; i++)
            words += rdn_key_words(pl->parts.v[pl->keys.v[k].at + i].type);
        if (words > u->key_words)
            u->key_words = words;
    }
}
/* A field that is always there and one word of the row. */
static bool in_place(const struct rdn_field *f, struct rdn_fill *s) {
    if (f->optional || f->type->kind == RDN_K_STR || f->type->kind == RDN_K_ARR)
        return false;
    s->load = f->size == 8 ? RDN_LOAD_64 : f->size == 1 ? RDN_LOAD_U8 : f->type->kind == RDN_K_DATE ? RDN_LOAD_I32 : RDN_LOAD_U32;
    s->key = f->offset;
    return true;
}
static struct rdn_fill fill_of(const struct rdn_plan *pl, const struct rdn_gather *g) {
    struct rdn_fill s = {.slot = rdn_block_slot(g->slot), .index = g->index, .key = g->key, .column = g->column, .of = g};
    const struct rdn_pnode *els = &pl->nodes.v[g->els];
    bool plain = !g->is_defined && !g->nan_is_none && (!g->has_else || els->op == RDN_OP_CONST);
    bool bare = plain && !g->has_else;
    const struct rdn_pnode *x = &pl->nodes.v[g->operand];
    s.kind = plain && g->kind == RDN_G_WREAD ? RDN_FILL_WINDOW : plain && g->kind == RDN_G_ROW ? RDN_FILL_ROW : RDN_FILL_ANY;
    if (bare && g->kind == RDN_G_INCAL && x->op == RDN_OP_NOW)
        s.kind = RDN_FILL_INCAL;
    if (bare && g->kind == RDN_G_INLIST && x->op == RDN_OP_FIELD && x->type != RDN_TY_F64 && in_place(&pl->ir->events[pl->event].fields[x->aux], &s))
        s.kind = RDN_FILL_INLIST;
    s.wide = g->type == RDN_TY_D64;
    s.has_els = g->has_else;
    s.els = els->lo;
    return s;
}
static void make_fills(struct rdn_unit *u, struct rdn_unit_event *ev) {
    const struct rdn_plan *pl = ev->plan;
    ev->fills = rdn_new_n(&u->arena, struct rdn_fill, pl->gathers.n + 1);
    ev->fills_end = ev->fills + pl->gathers.n;
    for (uint32_t i = 0; i < pl->gathers.n; i++)
        ev->fills[i] = fill_of(pl, &pl->gathers.v[i]);
}
static struct rdn_keyform form_of(struct rdn_unit *u, const struct rdn_plan *pl, const struct rdn_keyplan *k) {
    struct rdn_keyload *l = rdn_new_n(&u->arena, struct rdn_keyload, k->n + 1);
    for (uint32_t i = 0; i < k->n; i++) {
        const struct rdn_operand *o = &pl->parts.v[k->at + i].from;
        if (o->load == RDN_LOAD_SLOW || o->load == RDN_LOAD_ITEM)
            return (struct rdn_keyform){NULL, k->n};
        l[i] = (struct rdn_keyload){o->at, o->load};
    }
    return (struct rdn_keyform){l, k->n};
}
static void make_forms(struct rdn_unit *u, struct rdn_unit_event *ev) {
    ev->keys = rdn_new_n(&u->arena, struct rdn_keyform, ev->plan->keys.n + 1);
    for (uint32_t i = 0; i < ev->plan->keys.n; i++)
        ev->keys[i] = form_of(u, ev->plan, &ev->plan->keys.v[i]);
}
enum { DRAIN_MIN = 8 };                                  /* as many tainted rules are interp's: fewer rules need no predicates */
static void make_preds(struct rdn_unit *u, struct rdn_unit_event *ev, struct rdn_arena *tmp) {
    const struct rdn_plan *pl = ev->plan;
    if (pl->nrules - pl->nhow[RDN_RULE_INTERP] > (u->emitter ? DRAIN_MIN : 0))
        ev->preds = rdn_preds_rules(&u->arena, tmp, pl);
    if (pl->items.n && !u->emitter)
        ev->item_preds = rdn_preds_items(&u->arena, tmp, pl);
}
static void plan_all(struct rdn_unit *u, struct rdn_arena *tmp) {
    const struct rdn_ir *ir = u->ir;
    u->events = rdn_new_n(&u->arena, struct rdn_unit_event, ir->nevents + 1);
    for (uint32_t e = 0; e < ir->nevents; e++) {
        struct rdn_unit_event *ev = &u->events[e];
        ev->plan = rdn_plan_event(&u->arena, tmp, ir, e);
        ev->window = rdn_new_n(&u->arena, const struct rdn_winplan *, ir->nwindows + 1);
        for (uint32_t i = 0; i < ev->plan->windows.n; i++)
            ev->window[ev->plan->windows.v[i].window] = &ev->plan->windows.v[i];
        make_fills(u, ev);
        make_forms(u, ev);
        measure_keys(u, ev->plan);
        make_preds(u, ev, tmp);
    }
}

/* Buffers double until the code fits or the limit is reached. */
static int emit_event(struct rdn_unit *u, uint32_t e, struct rdn_arena *tmp, struct piece *p, redan_error *reterr) {
    struct rdn_plan *pl = u->events[e].plan;
    if (!pl->items.n && !pl->groups.n)
        return 0;
    for (p->cap = u->emitter->guess(pl);; p->cap *= 2) {
        if (p->cap > 2 * RDN_UNIT_MAX) {
            const char *rule = pl->nrules ? u->ir->rules[u->ir->events[e].rules[pl->nrules - 1]].name : "?";
            return rdn_fail(reterr, FULL, "R2104", "unit over %zu MiB at rule %s", RDN_UNIT_MAX >> 20, rule);
        }
        p->buf = rdn_arena_alloc(tmp, p->cap);
        if (u->emitter->event(tmp, pl, p->buf, p->cap, &p->code))
            return 0;
    }
}

static int join(struct rdn_unit *u, struct rdn_arena *tmp, struct piece *ps, redan_error *reterr) {
    size_t n = sizeof(struct rdn_unit_head);
    for (uint32_t e = 0; e < u->ir->nevents; e++)
        if (ps[e].buf) {
            ps[e].at = (uint32_t)n;
            n += ((ps[e].code.end - ps[e].code.low) + 63u) & ~63u;
            if (n > RDN_UNIT_MAX)
                return rdn_fail(reterr, FULL, "R2104", "unit of %.1f MiB over %zu MiB at event %s", (double)n / (1 << 20), RDN_UNIT_MAX >> 20,
                                u->ir->events[e].name);
        }
    uint8_t *all = rdn_arena_alloc(tmp, n);
    memset(all, RDN_CODE_TRAP, n);
    for (uint32_t e = 0; e < u->ir->nevents; e++)
        if (ps[e].buf)
            memcpy(all + ps[e].at, ps[e].buf + ps[e].code.low, ps[e].code.end - ps[e].code.low);
    struct rdn_unit_head h = {.magic = RDN_UNIT_MAGIC, .bytes = n, .events = u->ir->nevents};
    h.hash = rdn_fnv64(all + sizeof h, n - sizeof h);
    memcpy(all, &h, sizeof h);
    for (;;) {
        int rc = rdn_code_put(u->code_arena, all, n, &u->code, reterr);
        if (rc != REDAN_E_FULL || !rdn_jit_make_room(u->jit))
            return rc;
    }
}

static rdn_native *entry(const struct rdn_unit *u, const struct piece *p, uint32_t at) {
    const uint8_t *code = u->code.rx + p->at + (at - p->code.low);
    rdn_native *f;
    if (!at)
        return NULL;
    memcpy(&f, &code, sizeof f);                         /* a data pointer becomes a function: not an ISO C cast */
    return f;
}

static void enter(struct rdn_unit *u, struct rdn_unit_event *ev, const struct piece *p) {
    ev->operands = entry(u, p, p->code.operands);
    ev->groups = rdn_new_n(&u->arena, rdn_native *, ev->plan->groups.n + 1);
    for (uint32_t g = 0; g < ev->plan->groups.n; g++)
        ev->groups[g] = entry(u, p, p->code.groups[g]);
    ev->rules = ev->groups[0];
}

static int build(struct rdn_unit *u, struct rdn_arena *tmp, redan_error *reterr) {
    struct piece *ps = rdn_new_n(tmp, struct piece, u->ir->nevents + 1);
    int64_t t0 = rdn_mono_ns();
    plan_all(u, tmp);
    int64_t t1 = rdn_mono_ns();
    u->plan_us = (uint32_t)((t1 - t0) / 1000);
    for (uint32_t e = 0; u->emitter && e < u->ir->nevents; e++) {
        int rc = emit_event(u, e, tmp, &ps[e], reterr);
        if (rc)
            return rc;
    }
    int rc = u->emitter ? join(u, tmp, ps, reterr) : 0;
    if (rc)
        return rc;
    for (uint32_t e = 0; e < u->ir->nevents; e++)
        if (ps[e].buf)
            enter(u, &u->events[e], &ps[e]);
    u->emit_us = (uint32_t)((rdn_mono_ns() - t1) / 1000);
    return 0;
}

static const uint8_t always = 1;
int rdn_unit_open(struct rdn_jit *jit, const struct rdn_ir *ir, const struct rdn_emitter *emitter, const struct rdn_mem *mem, struct rdn_unit **ret,
                  redan_error *reterr) {
    struct rdn_unit *u = rdn_zalloc(mem, sizeof *u);
    struct rdn_arena tmp;
    jmp_buf oom;
    if (!u)
        return rdn_fail(reterr, NOMEM, "", "unit");
    u->mem = mem;
    u->jit = jit;
    u->ir = ir;
    u->emitter = emitter;
    rdn_arena_init(&u->arena, mem);
    rdn_arena_init(&tmp, mem);
    int rc = emitter ? rdn_jit_arena(jit, &u->code_arena, reterr) : 0;
    if (!rc) {
        u->alive = emitter ? rdn_code_arena_flag(u->code_arena) : &always;
        u->arena.oom = tmp.oom = &oom;
        rc = setjmp(oom) ? rdn_fail(reterr, NOMEM, "", "unit") : build(u, &tmp, reterr);
        u->arena.oom = NULL;
    }
    rdn_arena_fini(&tmp);
    if (rc) {
        rdn_unit_close(u);
        return rc;
    }
    *ret = u;
    return 0;
}

void rdn_unit_close(struct rdn_unit *u) {
    if (!u)
        return;
    if (u->code_arena)
        rdn_code_drop(u->code_arena, &u->code);
    rdn_code_arena_close(u->code_arena);
    rdn_arena_fini(&u->arena);
    rdn_free(u->mem, u, sizeof *u);
}
