/* SPDX-License-Identifier: Apache-2.0
 * unit.c: see unit.h. Code is emitted into ordinary memory, joined, and copied into the arena in one piece; it is
 * position-independent and each event's constants stand in front of its code. */
#include "jit/unit.h"
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/hash.h"
#include "jit/jit.h"

size_t rdn_unit_most = RDN_UNIT_MAX;
struct piece { uint8_t *buf; size_t cap; struct rdn_emitted code; uint32_t at; };

enum { DRAIN_MIN = 8 };                                  /* as many tainted rules are interp's: fewer rules need no predicates */
static void make_preds(struct rdn_unit *u, struct rdn_unit_event *ev, struct rdn_arena *tmp) {
    const struct rdn_plan *pl = ev->plan;
    if (pl->nrules - pl->nhow[RDN_RULE_INTERP] > (u->emitter ? DRAIN_MIN : 0))
        ev->preds = rdn_preds_rules(&u->arena, tmp, pl);
    if (pl->items.n && !u->emitter)
        ev->item_preds = rdn_preds_items(&u->arena, tmp, pl);
}
static void make_late(struct rdn_unit *u, struct rdn_unit_event *ev) {
    const struct rdn_plan *pl = ev->plan;
    ev->late = rdn_new_n(&u->arena, uint32_t, pl->gathers.n + 1);
    for (uint32_t i = 0; i < pl->gathers.n; i++)
        if (pl->gathers.v[i].late)
            ev->late[ev->nlate++] = i;
    ev->sparse = pl->ladders.n || pl->pures.n || pl->kill.natoms || pl->gates.n ? RDN_SPARSE_MORE : pl->indexes.n ? RDN_SPARSE_INDEX : RDN_SPARSE_NONE;
}
/* Tests make the planner take one technique wherever it can. */
static enum rdn_technique forced(void) {
    static const char *const names[] = {
#define TECHNIQUE(name, text, doc) text,
#include "jit/technique.def"
#undef TECHNIQUE
    };
    const char *want = getenv("REDAN_JIT_FORCE");
    for (unsigned i = 0; want && i < RDN_RULE_COUNT; i++)
        if (!strcmp(names[i], want))
            return (enum rdn_technique)i;
    return RDN_RULE_COUNT;
}
/* What is known when a unit is made: events to plan by, rules that somebody else answers; by event, NULL: none. */
struct given { const struct rdn_sampled *sampled; const uint64_t *const *without; };
static void plan_all(struct rdn_unit *u, const struct given *given, struct rdn_arena *tmp) {
    const struct rdn_ir *ir = u->ir;
    struct rdn_plan_options opt = {.force = forced(), .no_late = !u->emitter};
    struct rdn_copy *copy = rdn_copy_new(ir, tmp);
    u->events = rdn_new_n(&u->arena, struct rdn_unit_event, ir->nevents + 1);
    for (uint32_t e = 0; e < ir->nevents; e++) {
        struct rdn_unit_event *ev = &u->events[e];
        if (given->without && !(opt.without = given->without[e]))
            continue;
        opt.sampled = given->sampled ? &given->sampled[e] : NULL;
        ev->plan = rdn_plan_event(&u->arena, tmp, copy, ir, e, &opt);
        ev->window = rdn_new_n(&u->arena, const struct rdn_winplan *, ir->nwindows + 1);
        for (uint32_t i = 0; i < ev->plan->windows.n; i++)
            ev->window[ev->plan->windows.v[i].window] = &ev->plan->windows.v[i];
        rdn_steps_make(&ev->steps, ev->plan, &u->arena);
        ev->plan->steps = &ev->steps;
        make_late(u, ev);
        make_preds(u, ev, tmp);
    }
}

/* Buffers double until the code fits or the limit is reached. */
static int emit_event(struct rdn_unit *u, uint32_t e, struct rdn_arena *tmp, struct piece *p, redan_error *reterr) {
    struct rdn_plan *pl = u->events[e].plan;
    if (!pl || (!pl->items.n && !pl->groups.n && !pl->steps->nquick))
        return 0;
    for (p->cap = u->emitter->guess(pl);; p->cap *= 2) {
        if (p->cap > 2 * rdn_unit_most) {
            const char *rule = pl->nrules ? u->ir->rules[u->ir->events[e].rules[pl->nrules - 1]].name : "?";
            return rdn_fail(reterr, FULL, "R2104", "unit over %zu MiB at rule %s", rdn_unit_most >> 20, rule);
        }
        p->buf = rdn_arena_raw(tmp, p->cap);
        if (u->emitter->event(tmp, pl, p->buf, p->cap, &p->code))
            return 0;
    }
}

/* Of whole words. */
static uint64_t sum_of(const uint8_t *p, size_t n) {
    uint64_t h = RDN_FNV64_INIT, w;
    for (size_t i = 0; i < n; i += sizeof w) {
        memcpy(&w, p + i, sizeof w);
        h = (h ^ w ^ h >> 32) * 0x9fb21c651e98df25u;
    }
    return h;
}
static int join(struct rdn_unit *u, struct rdn_arena *tmp, struct piece *ps, redan_error *reterr) {
    size_t n = sizeof(struct rdn_unit_head);
    for (uint32_t e = 0; e < u->ir->nevents; e++)
        if (ps[e].buf) {
            ps[e].at = (uint32_t)n;
            n += ((ps[e].code.end - ps[e].code.low) + 63u) & ~63u;
            if (n > rdn_unit_most)
                return rdn_fail(reterr, FULL, "R2104", "unit of %.1f MiB over %zu MiB at event %s", (double)n / (1 << 20), rdn_unit_most >> 20,
                                u->ir->events[e].name);
        }
    uint8_t *all = rdn_arena_raw(tmp, n);
    for (uint32_t e = 0; e < u->ir->nevents; e++)
        if (ps[e].buf) {
            uint32_t bytes = ps[e].code.end - ps[e].code.low;
            memcpy(all + ps[e].at, ps[e].buf + ps[e].code.low, bytes);
            memset(all + ps[e].at + bytes, RDN_CODE_TRAP, -bytes & 63u);
        }
    struct rdn_unit_head h = {.magic = RDN_UNIT_MAGIC, .bytes = n, .events = u->ir->nevents};
    h.hash = sum_of(all + sizeof h, n - sizeof h);
    memcpy(all, &h, sizeof h);
    int rc = rdn_jit_put(u->jit, u->code_arena, all, n, &u->code, reterr);
    if (!rc && !u->is_rest)
        rdn_jit_unit(u->jit, 1);
    return rc;
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
    for (uint32_t level = 0; level < RDN_LEVELS; level++)
        ev->operands[level] = entry(u, p, p->code.operands[level]);
    ev->native_keys = p->code.keys;
    ev->groups = rdn_new_n(&u->arena, rdn_native *, ev->plan->groups.n + 1);
    for (uint32_t g = 0; g < ev->plan->groups.n; g++)
        ev->groups[g] = entry(u, p, p->code.groups[g]);
    ev->rules = ev->groups[0];
}

static int build(struct rdn_unit *u, const struct given *given, struct rdn_arena *tmp, redan_error *reterr) {
    struct piece *ps = rdn_new_n(tmp, struct piece, u->ir->nevents + 1);
    int64_t t0 = rdn_mono_ns();
    plan_all(u, given, tmp);
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
    for (uint32_t e = 0; e < u->ir->nevents; e++)
        if (ps[e].buf)
            rdn_unit_name(u, tmp, e, &ps[e].code, u->code.rx + ps[e].at);
    return 0;
}

static const uint8_t always = 1;
static int open_unit(struct rdn_jit *jit, const struct rdn_ir *ir, const struct rdn_emitter *emitter, const struct rdn_mem *mem,
                     const struct given *given, struct rdn_unit **ret, redan_error *reterr) {
    struct rdn_unit *u = rdn_zalloc(mem, sizeof *u);
    struct rdn_arena tmp;
    jmp_buf oom;
    if (!u)
        return rdn_fail(reterr, NOMEM, "", "unit");
    u->mem = mem;
    u->jit = jit;
    u->ir = ir;
    u->emitter = emitter;
    u->is_rest = given->without != NULL;
    rdn_arena_init(&u->arena, mem);
    rdn_arena_init(&tmp, mem);
    tmp.brief = true;
    int rc = emitter ? rdn_jit_arena(jit, &u->code_arena, reterr) : 0;
    if (!rc) {
        u->alive = emitter ? rdn_code_arena_flag(u->code_arena) : &always;
        u->arena.oom = tmp.oom = &oom;
        rc = setjmp(oom) ? rdn_fail(reterr, NOMEM, "", "unit") : build(u, given, &tmp, reterr);
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
int rdn_unit_open(struct rdn_jit *jit, const struct rdn_ir *ir, const struct rdn_emitter *emitter, const struct rdn_sampled *sampled,
                  const struct rdn_mem *mem, struct rdn_unit **ret, redan_error *reterr) {
    return open_unit(jit, ir, emitter, mem, &(struct given){.sampled = sampled}, ret, reterr);
}
int rdn_unit_open_rest(struct rdn_unit *of, const struct rdn_sampled *sampled, const uint64_t *const *without, struct rdn_unit **ret, redan_error *reterr) {
    int rc = open_unit(of->jit, of->ir, of->emitter, of->mem, &(struct given){sampled, without}, ret, reterr);
    for (uint32_t e = 0; rc == 0 && e < of->ir->nevents; e++)
        of->events[e].rest = without[e] ? &(*ret)->events[e] : NULL;
    return rc;
}

void rdn_unit_close(struct rdn_unit *u) {
    if (!u)
        return;
    rdn_jit_withdraw(u->jit, u->code.rx, u->code.bytes);
    if (u->code.rx && !u->is_rest)
        rdn_jit_unit(u->jit, -1);
    if (u->code_arena)
        rdn_code_drop(u->code_arena, &u->code);
    rdn_code_arena_close(u->code_arena);
    rdn_arena_fini(&u->arena);
    rdn_free(u->mem, u, sizeof *u);
}
