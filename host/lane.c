/* SPDX-License-Identifier: Apache-2.0
 * lane.c: opening, closing and adopting; routing; the thread tags of debug builds. */
#include "host/host.h"
#include "base/fault.h"
#include "base/fpmode.h"
#include "base/hash.h"
#include "jit/jit.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- thread tags ---- */
#ifdef RDN_CHECK_TAGS
__attribute__((noreturn)) static void broken(const char *call, const char *tag) {
    fprintf(stderr, "redan: %s is [%s]: called from two threads\n", call, tag);
    abort();
}
void rdn_tag_lane(struct redan_lane *l, const char *call) {
    if (l->owned && !pthread_equal(l->owner, pthread_self()))
        broken(call, "lane");
    l->owner = pthread_self();
    l->owned = true;
}
void rdn_tag_setup_begin(struct redan_engine *e, const char *call) {
    if (atomic_exchange(&e->in_setup, 1))
        broken(call, "setup");
}
void rdn_tag_setup_end(struct redan_engine *e) { atomic_store(&e->in_setup, 0); }
#else
void rdn_tag_lane(struct redan_lane *l, const char *call) { (void)l, (void)call; }
void rdn_tag_setup_begin(struct redan_engine *e, const char *call) { (void)e, (void)call; }
void rdn_tag_setup_end(struct redan_engine *e) { (void)e; }
#endif

/* ---- life ---- */
bool rdn_lane_adopt(struct redan_lane *l, struct rdn_active *a) {
    struct rdn_binding *b = a->bind[l->index];
    rdn_binding_carry(b, l->b);
    rdn_program_adopt(a->prog);
    if (l->b && rdn_samples_alike(b->samples, l->b->samples)) {
        struct rdn_samples *kept = l->b->samples;
        __atomic_store_n(&l->b->samples, b->samples, __ATOMIC_RELAXED);
        __atomic_store_n(&b->samples, kept, __ATOMIC_RELEASE);
    } else {
        l->sample_at = l->seq + RDN_SAMPLE_FIRST;
    }
    l->b = b;
    l->active = a;
    /* From here on the older record is never touched again: the publisher may free it. */
    atomic_store_explicit(&l->serial, a->serial, memory_order_release);
    if (l->adopted)
        l->adopted(l->adopted_ctx);
    return true;
}

void redan_lane_idle(redan_lane *l) {
    rdn_tag_lane(l, "redan_lane_idle");
    rdn_lane_sync(l);
}

static void free_lane(struct redan_lane *l) {
    if (l->texts != MAP_FAILED)
        munmap(l->texts, RDN_TEXTS_BYTES);
    rdn_free(&l->eng->mem, l, sizeof *l);
}

static int open_lane(struct redan_engine *e, const redan_lane_options *o, struct redan_lane **ret, redan_error *reterr) {
    if (o->index >= e->opt.lanes || e->lanes[o->index])
        return rdn_fail(reterr, INVAL, "R3001", "lane %u is %s", o->index, o->index >= e->opt.lanes ? "out of range" : "open already");
    struct rdn_active *a = atomic_load_explicit(&e->active, memory_order_relaxed);
    if (a && a->rs->may_wait && !(o->flags & REDAN_LANE_MAY_WAIT))
        return rdn_fail(reterr, INVAL, "R3007", "'%.60s' calls plugins or kernels; open the lane with MAY_WAIT", a->rs->ir->name);
    struct redan_lane *l = rdn_zalloc(&e->mem, sizeof *l);
    if (!l)
        return rdn_fail(reterr, NOMEM, "", "no memory for a lane");
    l->eng = e;
    l->index = o->index;
    l->flags = o->flags;
    l->texts = rdn_fault_hit() ? MAP_FAILED : mmap(NULL, RDN_TEXTS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int rc = l->texts == MAP_FAILED ? rdn_fail(reterr, NOMEM, "R3004", "no memory for the texts of a lane") : 0;
    if (rc == 0 && a)
        rc = rdn_binding_open(a, l, &a->bind[l->index], reterr);
    if (rc < 0) {
        free_lane(l);
        return rc;
    }
    rdn_lane_sync(l);
    e->lanes[l->index] = l;
    *ret = l;
    return 0;
}

int redan_lane_open(redan_engine *e, const redan_lane_options *opt, redan_lane **ret, redan_error *reterr) {
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    int rc = rdn_options_copy(&o, opt, REDAN_LANE_MAY_WAIT | REDAN_LANE_BATCHES, "redan_lane_options", reterr);
    if (rc < 0)
        return rc;
    if ((rc = rdn_engine_alive(e, reterr)) < 0)
        return rc;
    if (o.flags & REDAN_LANE_BATCHES)
        rdn_jit_want_batches(e->jit);
    uint32_t mode = rdn_fpmode_enter();                  /* code for batches may be made now */
    pthread_mutex_lock(&e->lock);
    rc = open_lane(e, &o, ret, reterr);
    pthread_mutex_unlock(&e->lock);
    rdn_fpmode_leave(mode);
    return rc;
}

static void drop_binding(struct rdn_active *a, uint32_t index) {
    rdn_binding_close(a->bind[index]);
    a->bind[index] = NULL;
}

void redan_lane_close(redan_lane *l) {
    if (!l)
        return;
    rdn_tag_lane(l, "redan_lane_close");
    struct redan_engine *e = l->eng;
    pthread_mutex_lock(&e->lock);
    struct rdn_active *act = atomic_load_explicit(&e->active, memory_order_relaxed);
    if (act)
        drop_binding(act, l->index);
    for (struct rdn_active *a = e->retired; a; a = a->older)
        drop_binding(a, l->index);
    e->lanes[l->index] = NULL;
    pthread_mutex_unlock(&e->lock);
    free_lane(l);
}

/* ---- routing ---- */
/* FNV-1a 32 of the text of the partition field (LANGUAGE.md chapter 9). */
static uint32_t key_hash(const struct redan_engine *e, const struct rdn_event *ev, const uint8_t *row) {
    const struct rdn_field *f = &ev->fields[ev->part_field];
    struct rdn_cell c;
    rdn_row_field(ev, f, row, &c);
    char num[RDN_TEXT_MAX];
    uint32_t len;
    switch (f->type->kind) {
    case RDN_K_INT:
        return rdn_fnv32(num, rdn_text_i64(num, c.i));
    case RDN_K_ENUM:
        return rdn_fnv32(f->type->members[c.i], strlen(f->type->members[c.i]));
    case RDN_K_SYM: {
        const char *t = rdn_sym_text(e->syms, (uint32_t)c.i, &len);
        return rdn_fnv32(t, len);
    }
    default:
        return rdn_fnv32(c.t.p, c.t.len);
    }
}

uint32_t rdn_route_lane(const struct redan_engine *e, const struct rdn_event *ev, const uint8_t *row, uint32_t lanes) {
    if (ev->part_field < 0 || lanes == 1)
        return lanes == 1 ? 0 : REDAN_ALL_LANES;
    return key_hash(e, ev, row) % lanes;
}

int redan_route(redan_engine *e, uint32_t event, const void *data, uint32_t *ret_lane, int64_t *ret_now_ns) {
    if (!data)
        return REDAN_E_INVAL;
    pthread_mutex_lock(&e->lock);                        /* keeps the record alive: the caller is no lane */
    struct rdn_active *a = atomic_load_explicit(&e->active, memory_order_acquire);
    int16_t x = a && event < atomic_load_explicit(&e->nevents, memory_order_acquire) ? a->evmap[event] : -1;
    bool ok = x >= 0 && rdn_row_valid(&a->rs->ir->events[x], data, rdn_sym_count(e->syms));
    if (ok) {
        int64_t ts;
        memcpy(&ts, data, sizeof ts);
        if (!e->has_high_water || ts > e->high_water)
            e->high_water = ts;
        e->has_high_water = true;
        *ret_lane = rdn_route_lane(e, &a->rs->ir->events[x], data, e->opt.lanes);
        *ret_now_ns = e->high_water;
    }
    pthread_mutex_unlock(&e->lock);
    return ok ? 0 : REDAN_E_INVAL;
}
