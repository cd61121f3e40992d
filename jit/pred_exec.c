/* SPDX-License-Identifier: Apache-2.0
 * pred_exec.c: the executor `table`: the runner with predicates (pred.h) in the place of native code; and batches by predicates, for
 * any executor with a unit. Runs everywhere: no executable memory, nothing that a fork takes away. */
#include <string.h>
#include "jit/native.h"

/* What a program and a frame keep for batches; by event, p NULL: no batches. */
struct batch_program { struct rdn_arena arena; const struct rdn_mem *mem; const struct rdn_preds **p; };
struct batch_frame { void *memory; size_t bytes; struct rdn_pred_block *blocks; };

static size_t round64(size_t n) { return (n + 63) & ~(size_t)63; }

/* ---- programs ---- */
static void close_(struct rdn_program *p) {
    struct batch_program *b = p->batch;
    p->batch = NULL;
    if (!b)
        return;
    rdn_arena_fini(&b->arena);
    rdn_free(b->mem, b, sizeof *b);
}
static int build(struct rdn_program *p, redan_error *reterr) {
    const struct rdn_unit *u = p->x;
    struct batch_program *b = rdn_zalloc(p->mem, sizeof *b);
    struct rdn_arena tmp;
    jmp_buf oom;
    if (!b)
        return rdn_fail(reterr, NOMEM, "", "batch");
    p->batch = b;
    p->info.batch = rdn_pred_isa()->name;
    b->mem = p->mem;
    rdn_arena_init(&b->arena, p->mem);
    rdn_arena_init(&tmp, p->mem);
    b->arena.oom = tmp.oom = &oom;
    volatile int rc = 0;
    if (setjmp(oom)) {
        rc = rdn_fail(reterr, NOMEM, "", "batch");
    } else {
        b->p = rdn_new_n(&b->arena, const struct rdn_preds *, p->ir->nevents + 1);
        const uint64_t **masks = rdn_new_n(&tmp, const uint64_t *, p->ir->nevents + 1);
        for (uint32_t e = 0; e < p->ir->nevents; e++) {
            b->p[e] = rdn_preds_batch(&b->arena, &tmp, u->events[e].plan);
            if (b->p[e] && !rdn_native_batch_pays(p, u->events[e].plan, b->p[e]->mask))
                b->p[e] = NULL;
            masks[e] = b->p[e] ? b->p[e]->mask : NULL;
        }
        rc = rdn_native_rest(p, masks, reterr);
    }
    b->arena.oom = NULL;
    rdn_arena_fini(&tmp);
    return rc;
}
static const struct rdn_preds *preds_of(const struct rdn_program *p, uint32_t event) { return ((const struct batch_program *)p->batch)->p[event]; }

/* ---- frames ---- */
static void params_changed(struct rdn_frame *f) {
    struct batch_frame *b = f->batch;
    for (uint32_t e = 0; b && e < f->head.ir->nevents; e++)
        if (preds_of(f->prog, e))
            rdn_preds_block_params(preds_of(f->prog, e), &b->blocks[e], f->head.params);
}
static int frame_open(struct rdn_frame *f, redan_error *reterr) {
    uint32_t events = f->head.ir->nevents;
    size_t head = round64(sizeof(struct batch_frame)), n = 64 + head + round64(events * sizeof(struct rdn_pred_block));
    for (uint32_t e = 0; e < events; e++)
        n += preds_of(f->prog, e) ? round64(rdn_preds_block_bytes(preds_of(f->prog, e))) : 0;
    void *memory = rdn_zalloc(f->mem, n);
    if (!memory)
        return rdn_fail(reterr, NOMEM, "", "frame");
    uint8_t *p = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    struct batch_frame *b = f->batch = p;
    *b = (struct batch_frame){memory, n, (struct rdn_pred_block *)(void *)(p + head)};
    p += head + round64(events * sizeof(struct rdn_pred_block));
    for (uint32_t e = 0; e < events; e++)
        if (preds_of(f->prog, e)) {
            rdn_preds_block_init(preds_of(f->prog, e), p, &b->blocks[e]);
            p += round64(rdn_preds_block_bytes(preds_of(f->prog, e)));
        }
    params_changed(f);
    return 0;
}
static void frame_close(struct rdn_frame *f) {
    struct batch_frame *b = f->batch;
    if (b)
        rdn_free(f->mem, b->memory, b->bytes);
    f->batch = NULL;
}

/* ---- batches ---- */
static const uint64_t *batch_rules(const struct rdn_program *p, uint32_t event) {
    const struct rdn_preds *preds = preds_of(p, event);
    return preds ? preds->mask : NULL;
}
static void batch(struct rdn_frame *f, const struct rdn_batch *b) {
    const struct rdn_preds *p = preds_of(f->prog, b->event);
    p->isa->block(p, &((struct batch_frame *)f->batch)->blocks[b->event], b);
}

const struct rdn_batch_impl rdn_batch_table = {
    .name = "table", .build = build, .close = close_, .frame_open = frame_open, .frame_close = frame_close,
    .params_changed = params_changed, .rules = batch_rules, .run = batch,
};
const struct rdn_exec_impl rdn_exec_table = {.name = "table", .batches = &rdn_batch_table, RDN_NATIVE_ENTRIES};
