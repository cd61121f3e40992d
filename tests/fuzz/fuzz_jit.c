/* SPDX-License-Identifier: Apache-2.0
 * fuzz_jit.c: any bytes as the draws of a random rule set and its events; every executor answers what interp answers.
 *
 * bytes -> builder -> verifier -> planner -> each row of executors.def that runs here: window inputs, fired and undefined rules, one by
 * one and begun with the answers of a batch. No self-check: a difference must be seen here.
 *
 * The first bytes say how large the set is, how many events there are, whether parameters change between them, which technique the
 * planner is made to take and which vectors batches have. Sets are small: a difference needs one rule and the right event, and an
 * input costs what its set costs, many times over. */
#include <stdlib.h>
#include "ir/verify.h"
#include "jit/code_arena.h"
#include "jit/jit.h"
#include "jit/selfcheck.h"
#include "tests/unit/jit/random_set.h"

static void must(bool ok) {
    if (!ok)
        abort();
}

#define EXEC(name, impl, doc) #name,
#define ABSENT(name, doc)
static const char *const executors[] = {
#include "jit/executors.def"
};
#undef EXEC
#undef ABSENT
#define TECHNIQUE(name, text, doc) text,
static const char *const techniques[] = {
#include "jit/technique.def"
    "", "", "", ""                                       /* as the planner likes, as often */
};
#undef TECHNIQUE
enum { NEXEC = N_OF(executors), REFERENCE = NEXEC - 1, HEAD = 3, EVENTS_MAX = 4, BATCH = 2 * RDN_BATCH_MIN + 3 };

struct one {
    struct rdn_program *prog; struct rdn_frame *frame; struct fake lane;
    bool batched;
    uint64_t fired[BATCH]; uint8_t mark[BATCH];          /* answers of a batch */
};
static struct rdn_cell params[4];

static bool open_one(struct one *o, const char *backend) {
    redan_error err = {0};
    *o = (struct one){.lane = {.ir = ir}};
    rdn_batch_how = !strcmp(backend, "x64v") ? RDN_JIT_BATCH_X64V : RDN_JIT_BATCH_TABLE;
    int rc = rdn_program_open(ir, backend, &rdn_libc_mem, &o->prog, &err);
    must(!rc || rc == REDAN_E_NOSUP);                    /* this machine cannot run it */
    if (rc)
        return false;
    must(!rdn_frame_open(o->prog, &fake_helpers, &o->lane, params, &rdn_libc_mem, &o->frame, &err));
    return true;
}
static void close_one(struct one *o) {
    if (!o->prog)
        return;
    rdn_frame_close(o->frame);
    rdn_program_close(o->prog);
}

/* ---- answers ---- */
static void same_windows(struct rdn_frame *a, struct rdn_frame *b) {
    for (uint32_t w = 0; w < ir->nwindows; w++) {
        struct rdn_winput x = {0}, y = {0};
        enum rdn_enter p = rdn_exec_window(a, w, &x);
        must(p == rdn_exec_window(b, w, &y));
        if (p != RDN_ENTER)
            continue;
        must(x.key->words == y.key->words && x.key->hash == y.key->hash && !memcmp(x.key->w, y.key->w, 8 * (size_t)x.key->words));
        must(w == 2 ? x.val.d == y.val.d : x.val.i == y.val.i);
    }
}
/* Both have begun; the reference has its answers. */
static void same_answers(struct one *ref, struct one *o) {
    struct rdn_frame_head *a = rdn_frame_head(ref->frame), *b = rdn_frame_head(o->frame);
    same_windows(ref->frame, o->frame);
    rdn_exec_rules(o->frame, RDN_EARLY);
    must(a->fired[0] == b->fired[0] && a->undef[0] == b->undef[0] && a->any_undef == b->any_undef);
}
static void reference(struct one *ref, const uint8_t *row, int64_t now) {
    rdn_exec_begin(ref->frame, 0, row, now, now);
    rdn_exec_rules(ref->frame, RDN_EARLY);
}

static void change_params(struct one *all) {
    params[0].i = any_i64();
    params[2].d = any_i64();
    for (unsigned i = 0; i < NEXEC; i++)
        if (all[i].prog)
            rdn_frame_params_changed(all[i].frame);
}
static void one_by_one(struct one *all, uint8_t *rows, unsigned events, bool change) {
    for (unsigned e = 0; e < events; e++) {
        uint8_t *row = rows + e * ir->events[0].size;
        int64_t now = (int64_t)rnd() >> 2;
        if (change && e == events / 2)
            change_params(all);
        fake_row(ir, &ir->events[0], row);
        reference(&all[REFERENCE], row, now);
        for (unsigned i = 0; i < REFERENCE; i++)
            if (all[i].prog) {
                rdn_exec_begin(all[i].frame, 0, row, now, now);
                same_answers(&all[REFERENCE], &all[i]);
            }
    }
}

/* The rows as one batch, each several times; all of it is one word of rules. */
static void batch_of(struct one *o, const uint8_t *rows, const int64_t *now) {
    const struct rdn_batch batch = {.event = 0, .n = BATCH, .now = now, .rows = rows, .stride = ir->events[0].size, .fired = o->fired, .mark = o->mark};
    o->batched = o->prog && rdn_exec_batch_rules(o->prog, 0);
    if (o->batched)
        rdn_exec_batch(o->frame, &batch);
}
static void same_in_batch(struct one *ref, struct one *o, unsigned i, const uint8_t *row, int64_t now) {
    struct rdn_frame_head *a = rdn_frame_head(ref->frame);
    const uint64_t mask = *rdn_exec_batch_rules(o->prog, 0);
    must(!((a->fired[0] ^ o->fired[i]) & mask) && !(a->undef[0] & mask));
    rdn_exec_begin_known(o->frame, 0, row, now, now, &o->fired[i]);
    same_answers(ref, o);
}
static void in_a_batch(struct one *all, const uint8_t *some, unsigned events) {
    size_t size = ir->events[0].size;
    uint8_t *rows = malloc(BATCH * size);
    int64_t now[BATCH];
    must(rows != NULL);
    for (unsigned i = 0; i < BATCH; i++) {
        memcpy(rows + i * size, some + i % events * size, size);
        now[i] = (int64_t)i << 50;
    }
    for (unsigned k = 0; k < REFERENCE; k++)
        batch_of(&all[k], rows, now);
    for (unsigned i = 0; i < BATCH; i++) {
        reference(&all[REFERENCE], rows + i * size, now[i]);
        for (unsigned k = 0; k < REFERENCE; k++)
            if (all[k].batched && !all[k].mark[i])
                same_in_batch(&all[REFERENCE], &all[k], i, rows + i * size, now[i]);
    }
    free(rows);
}

/* ---- an input ---- */
static struct rdn_code_arena *code;
static void set_up(const uint8_t *head) {
    if (!syms) {
        must(!rdn_syms_open(&syms, &rdn_libc_mem, 100));
        set_syms();
        must(rdn_code_arena_take(&code, &(redan_error){0}) != REDAN_E_NOMEM);   /* kept: not mapped anew for each input */
    }
    set_size.rules = head[1] % 8 + 1u;
    set_size.depth = head[1] / 8 % 4 + 1;
    set_size.windows = head[1] / 32 % 4;
    set_size.lets = head[1] / 128 * 4u;
    rdn_selfcheck_us = 0;
    setenv("REDAN_JIT_VECTORS", head[2] & 128 ? "avx2" : "avx512", 1);
    setenv("REDAN_JIT_FORCE", techniques[(head[2] & 127) % N_OF(techniques)], 1);
}
static void judge(struct one *all, unsigned events, bool change) {
    uint8_t *rows = malloc(events * ir->events[0].size); /* exactly: a read behind them is seen */
    must(rows != NULL);
    one_by_one(all, rows, events, change);
    in_a_batch(all, rows, events);
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct one all[NEXEC] = {0};
    redan_error err = {0};
    if (n < HEAD)
        return 0;
    set_up(data);
    fake_bytes = data + HEAD;
    fake_end = data + n;
    make_ir();
    must(!rdn_ir_verify(ir, &err));
    for (unsigned i = 0; i < 4; i++)
        params[i] = ir->params[i].val;
    for (unsigned i = 0; i < NEXEC; i++)
        open_one(&all[i], executors[i]);
    must(all[REFERENCE].prog != NULL);
    judge(all, data[0] % EVENTS_MAX + 1, data[0] & 64);
    for (unsigned i = 0; i < NEXEC; i++)
        close_one(&all[i]);
    rdn_arena_fini(&arena);
    return 0;
}
