/* SPDX-License-Identifier: Apache-2.0
 * x64v.c: the executor `x64v`: single events as x64, batches by vector code (x64v_gen.h) where some condition depends on the
 * event alone.
 *
 * A batch goes through in parts that fit the first cache. Columns of 8-byte fields and narrow ones are read where they stand; rows
 * are turned into columns in the frame's scratch. Blocks of 8: the last part ends with a block that overlaps the one before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "jit/jit.h"
#include "jit/native.h"
#include "jit/x64v_gen.h"

struct param { uint32_t index, type; };
struct event_code {
    uint64_t *mask;                                      /* rules that batches answer; NULL: none */
    struct xv_col *cols; uint32_t ncols;
    struct param *params; uint32_t nparams;
    uint32_t params_at, block_bytes, nfunctions, part;   /* part: events a part */
    xv_native **functions, *rows;
};
struct xv_unit {
    const struct rdn_mem *mem;
    struct rdn_jit *jit;
    struct rdn_arena arena;
    struct event_code *events;
    struct rdn_code_arena *code_arena;
    struct rdn_code code;
    const volatile uint8_t *alive;                       /* 0 in a forked child */
};
struct xv_frame { void *memory; size_t bytes; uint8_t *scratch, **blocks; bool *bad_params; };   /* blocks, bad_params: by event */
enum { PART_ONE = 128, PART_MANY = RDN_BATCH_MAX };      /* columns of a part in the first cache; many functions: their code, too */

/* ---- building ---- */
static bool want_zmm(void) {
    const char *v = secure_getenv("REDAN_JIT_VECTORS");
    return !rdn_cpu_lacks(RDN_CPU_AVX512) && !(v && !strcmp(v, "avx2"));
}
struct piece { uint8_t *buf; struct xv_gen *gen; struct xv_code code; uint32_t at; };

static int emit(struct event_code *e, struct rdn_arena *arena, struct rdn_arena *tmp, struct rdn_plan *pl, struct piece *p, redan_error *reterr) {
    bool done = false;
    e->mask = rdn_new_n(arena, uint64_t, pl->words + 1);
    for (size_t cap = 8192 + (size_t)pl->nodes.n * 96 + (size_t)pl->nrules * 64; !done; cap *= 2) {
        if (cap > 4 * rdn_unit_most)
            return rdn_fail(reterr, FULL, "R2104", "vector code over %zu MiB at event %s", rdn_unit_most >> 20, pl->ir->events[pl->event].name);
        p->buf = rdn_arena_raw(tmp, cap);
        memset(e->mask, 0, 8 * (size_t)pl->words);
        done = xv_event(tmp, pl, want_zmm(), p->buf, cap, e->mask, &p->gen, &p->code);
    }
    return 0;
}
static xv_native *entry(const uint8_t *code) {
    xv_native *f;
    memcpy(&f, &code, sizeof f);                         /* a data pointer becomes a function: not an ISO C cast */
    return f;
}
static void keep(struct xv_unit *u, struct event_code *e, const struct piece *p, const struct rdn_plan *pl) {
    const uint8_t *base = u->code.rx + p->at - p->code.low;
    const struct xv_gen *g = p->gen;
    e->cols = rdn_new_n(&u->arena, struct xv_col, g->cols.n + 1);
    e->ncols = g->cols.n;
    if (g->cols.n)
        memcpy(e->cols, g->cols.v, g->cols.n * sizeof *e->cols);
    e->params = rdn_new_n(&u->arena, struct param, g->params.n + 1);
    e->nparams = g->params.n;
    for (uint32_t i = 0; i < g->params.n; i++)
        e->params[i] = (struct param){pl->nodes.v[g->params.v[i]].aux, pl->nodes.v[g->params.v[i]].type};
    e->params_at = p->code.params_at;
    e->block_bytes = p->code.block_bytes;
    e->nfunctions = p->code.nfunctions;
    e->part = e->nfunctions > 1 ? PART_MANY : PART_ONE;
    e->functions = rdn_new_n(&u->arena, xv_native *, e->nfunctions + 1);
    for (uint32_t i = 0; i < e->nfunctions; i++)
        e->functions[i] = entry(base + p->code.functions[i]);
    e->rows = entry(base + p->code.rows);
}
static void tell(const struct xv_unit *u, struct rdn_arena *tmp, const struct rdn_unit *single, uint32_t e, const struct piece *p) {
    uint32_t n = p->code.nfunctions;
    struct rdn_named *v = rdn_new_n(tmp, struct rdn_named, n + 1);
    for (uint32_t i = 0; i < n; i++)
        v[i] = (struct rdn_named){"batch", i, p->code.functions[i]};
    v[n] = (struct rdn_named){"columns", 0, p->code.rows};
    rdn_unit_name_all(single, tmp, e, v, n + 1, &(struct rdn_emitted){.low = p->code.low, .end = p->code.end}, u->code.rx + p->at);
}
static int publish(struct xv_unit *u, struct rdn_arena *tmp, struct piece *ps, uint32_t n, redan_error *reterr) {
    size_t bytes = 64;
    for (uint32_t e = 0; e < n; e++)
        if (ps[e].code.rows) {
            ps[e].at = (uint32_t)bytes;
            bytes += ((ps[e].code.end - ps[e].code.low) + 63u) & ~63u;
        }
    if (bytes > rdn_unit_most)
        return rdn_fail(reterr, FULL, "R2104", "vector code of %.1f MiB over %zu MiB", (double)bytes / (1 << 20), rdn_unit_most >> 20);
    uint8_t *all = rdn_arena_raw(tmp, bytes);
    memset(all, 0xcc, bytes);
    for (uint32_t e = 0; e < n; e++)
        if (ps[e].code.rows)
            memcpy(all + ps[e].at, ps[e].buf + ps[e].code.low, ps[e].code.end - ps[e].code.low);
    return rdn_jit_put(u->jit, u->code_arena, all, bytes, &u->code, reterr);
}
static int build_all(struct xv_unit *u, struct rdn_program *p, struct rdn_arena *tmp, redan_error *reterr) {
    const struct rdn_unit *single = p->x;
    uint32_t n = p->ir->nevents;
    struct piece *ps = rdn_new_n(tmp, struct piece, n + 1);
    u->events = rdn_new_n(&u->arena, struct event_code, n + 1);
    bool any = false;
    for (uint32_t e = 0; e < n; e++) {
        struct rdn_plan *pl = single->events[e].plan;
        int rc = emit(&u->events[e], &u->arena, tmp, pl, &ps[e], reterr);
        if (rc)
            return rc;
        if (!ps[e].code.nfunctions || !rdn_native_batch_pays(p, pl, u->events[e].mask))
            ps[e].code.rows = 0, u->events[e].mask = NULL;
        any |= ps[e].code.rows != 0;
    }
    int rc = any ? publish(u, tmp, ps, n, reterr) : 0;
    for (uint32_t e = 0; rc == 0 && e < n; e++)
        if (ps[e].code.rows) {
            keep(u, &u->events[e], &ps[e], single->events[e].plan);
            tell(u, tmp, single, e, &ps[e]);
        }
    const uint64_t **masks = rdn_new_n(tmp, const uint64_t *, n + 1);
    for (uint32_t e = 0; e < n; e++)
        masks[e] = u->events[e].mask;
    return rc ? rc : rdn_native_rest(p, masks, reterr);
}
static void close_unit(struct xv_unit *u) {
    rdn_arena_fini(&u->arena);
    rdn_jit_withdraw(u->jit, u->code.rx, u->code.bytes);
    if (u->code_arena)
        rdn_code_drop(u->code_arena, &u->code);
    rdn_code_arena_close(u->code_arena);
    rdn_free(u->mem, u, sizeof *u);
}
static int open_unit(struct rdn_program *p, redan_error *reterr) {
    struct xv_unit *u = rdn_zalloc(p->mem, sizeof *u);
    struct rdn_arena tmp;
    jmp_buf oom;
    int64_t t0 = rdn_mono_ns();
    if (!u)
        return rdn_fail(reterr, NOMEM, "", "vector unit");
    p->batch = u;
    u->mem = p->mem;
    u->jit = p->jit;
    rdn_arena_init(&u->arena, p->mem);
    rdn_arena_init(&tmp, p->mem);
    int rc = rdn_jit_arena(p->jit, &u->code_arena, reterr);
    if (!rc) {
        u->alive = rdn_code_arena_flag(u->code_arena);
        u->arena.oom = tmp.oom = &oom;
        rc = setjmp(oom) ? rdn_fail(reterr, NOMEM, "", "vector unit") : build_all(u, p, &tmp, reterr);
        u->arena.oom = NULL;
    }
    rdn_arena_fini(&tmp);
    if (u->code.must_sync)                               /* lanes at work read it: no store that changes nothing */
        p->must_sync = true;
    p->info.code_bytes += (uint32_t)u->code.bytes;
    p->info.emit_us += (uint32_t)((rdn_mono_ns() - t0) / 1000);
    return rc;
}

static int available(redan_error *reterr) {
    const char *lacks = rdn_cpu_lacks(RDN_CPU_BMI2);
    return lacks ? rdn_fail(reterr, NOSUP, "R2102", "x64v needs AVX2, FMA and BMI2; this CPU lacks %s", lacks) : 0;
}
static int build(struct rdn_program *p, redan_error *reterr) {
    p->info.batch = want_zmm() ? "avx512" : "avx2";
    return open_unit(p, reterr);
}
static void close_(struct rdn_program *p) {
    if (p->batch)
        close_unit(p->batch);
    p->batch = NULL;
}

/* ---- frames ---- */
static size_t round64(size_t n) { return (n + 63) & ~(size_t)63; }
static void params_changed(struct rdn_frame *f) {
    const struct xv_unit *u = f->prog->batch;
    struct xv_frame *x = f->batch;
    for (uint32_t e = 0; e < f->head.ir->nevents; e++) {
        const struct event_code *k = &u->events[e];
        x->bad_params[e] = false;
        for (uint32_t i = 0; k->mask && i < k->nparams; i++) {
            const struct rdn_cell *c = &f->head.params[k->params[i].index];
            int64_t v = k->params[i].type == RDN_TY_D64 ? (int64_t)c->d : c->i;
            x->bad_params[e] |= k->params[i].type == RDN_TY_F64 && !isfinite(c->f);
            memcpy(x->blocks[e] + k->params_at + 8 * i, &v, 8);
        }
    }
}
static int frame_open(struct rdn_frame *f, redan_error *reterr) {
    const struct xv_unit *u = f->prog->batch;
    uint32_t events = f->head.ir->nevents, cols = 0;
    size_t n = 64 + round64(sizeof(struct xv_frame)) + round64(events * sizeof(uint8_t *)) + round64(events);
    for (uint32_t e = 0; e < events; e++)
        if (u->events[e].mask) {
            n += round64(u->events[e].block_bytes);
            cols = u->events[e].ncols > cols ? u->events[e].ncols : cols;
        }
    n += (size_t)cols * 8 * RDN_BATCH_MAX;
    void *memory = rdn_zalloc(f->mem, n);
    if (!memory)
        return rdn_fail(reterr, NOMEM, "", "frame");
    uint8_t *p = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    struct xv_frame *x = f->batch = p;
    *x = (struct xv_frame){.memory = memory, .bytes = n};
    x->blocks = (uint8_t **)(void *)(p += round64(sizeof *x));
    x->bad_params = (bool *)(p += round64(events * sizeof(uint8_t *)));
    p += round64(events);
    for (uint32_t e = 0; e < events; e++) {
        x->blocks[e] = p;
        p += u->events[e].mask ? round64(u->events[e].block_bytes) : 0;
    }
    x->scratch = p;
    params_changed(f);
    return 0;
}
static void frame_close(struct rdn_frame *f) {
    struct xv_frame *x = f->batch;
    if (x)
        rdn_free(f->mem, x->memory, x->bytes);
    f->batch = NULL;
}

/* ---- batches ---- */
static const uint64_t *batch_rules(const struct rdn_program *p, uint32_t event) { return ((const struct xv_unit *)p->batch)->events[event].mask; }

struct part { const struct rdn_batch *b; const struct event_code *e; struct xv_block *k; uint32_t at, n; };
/* Element `i` of the part, of column c. */
static const uint8_t *element(const struct xv_frame *x, const struct part *p, uint32_t c, uint32_t i) {
    const struct xv_col *col = &p->e->cols[c];
    uint32_t size = xv_elem((enum xv_ext)col->ext);
    if (col->source == XV_COL_NOW)
        return (const uint8_t *)(p->b->now + p->at + i);
    if (p->b->rows)
        return x->scratch + (size_t)c * 8 * RDN_BATCH_MAX + (size_t)size * i;
    return (const uint8_t *)p->b->columns[col->source] + (size_t)size * (p->at + i);
}
static void run_blocks(struct rdn_frame *f, const struct part *p, uint32_t first, uint32_t blocks) {
    struct xv_block *k = p->k;
    uint32_t words = (f->head.ir->events[p->b->event].nrules + 63) / 64;
    const uint8_t **cols = (const uint8_t **)(void *)((uint8_t *)k + xv_at_col(0));
    k->words = (uint8_t *)(p->b->fired + (size_t)(p->at + first) * words);
    k->mark = p->b->mark + p->at + first;
    k->count = blocks;
    for (uint32_t i = 0; i < p->e->nfunctions; i++) {
        for (uint32_t c = 0; c < p->e->ncols; c++)       /* each time: the functions move them */
            cols[c] = element(f->batch, p, c, first);
        p->e->functions[i](k);
    }
}
static void turn_rows(const struct xv_frame *x, const struct part *p, uint32_t first, uint32_t rounds) {
    struct xv_block *k = p->k;
    k->rows = p->b->rows + (p->at + first) * p->b->stride;
    k->stride4 = 4 * p->b->stride;
    k->count = rounds;
    k->scratch8 = x->scratch + 8 * (size_t)first;
    k->scratch4 = x->scratch + 4 * (size_t)first;
    k->scratch1 = x->scratch + first;
    p->e->rows(k);
}
static void run_part(struct rdn_frame *f, const struct part *p) {
    if (p->b->rows) {
        turn_rows(f->batch, p, 0, p->n / 4);
        if (p->n % 4)
            turn_rows(f->batch, p, p->n - 4, 1);
    }
    run_blocks(f, p, 0, p->n / XV_LANES);
    if (p->n % XV_LANES && !rdn_fault(XV_TAIL))
        run_blocks(f, p, p->n - XV_LANES, 1);
}
static void batch(struct rdn_frame *f, const struct rdn_batch *b) {
    const struct xv_unit *u = f->prog->batch;
    const struct xv_frame *x = f->batch;
    const struct event_code *e = &u->events[b->event];
    if (b->n < XV_LANES || !*u->alive || x->bad_params[b->event]) {
        memset(b->mark, 1, b->n);
        return;
    }
    struct part p = {b, e, (struct xv_block *)(void *)x->blocks[b->event], 0, 0};
    for (; p.at < b->n; p.at += p.n) {
        p.n = b->n - p.at < e->part ? b->n - p.at : e->part;
        if (p.n < XV_LANES) {                            /* the last few: again with some before them */
            p.at = b->n - XV_LANES;
            p.n = XV_LANES;
        }
        run_part(f, &p);
    }
}

const struct rdn_batch_impl rdn_batch_x64v = {
    .name = "x64v", .available = available, .build = build, .close = close_, .frame_open = frame_open, .frame_close = frame_close,
    .params_changed = params_changed, .rules = batch_rules, .run = batch,
};
const struct rdn_exec_impl rdn_exec_x64v = {.name = "x64v", .available = available, .emitter = &rdn_x64_emitter, .batches = &rdn_batch_x64v, RDN_NATIVE_ENTRIES};
