/* SPDX-License-Identifier: Apache-2.0
 * fuzz_jit.c: any bytes as the draws of a random rule set and its events; every executor answers what interp answers.
 *
 * bytes -> builder -> verifier -> planner -> each row of executors.def that runs here: window inputs, fired and undefined rules, one by
 * one and begun with the answers of a batch; the first byte's bit 7: vectors of AVX2.
 * No self-check: a difference must be seen here. The first byte says how many events there are and whether parameters change. */
#include <stdlib.h>
#include "ir/verify.h"
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
enum { NEXEC = N_OF(executors), EVENTS_MAX = 8 };

struct one { struct rdn_program *prog; struct rdn_frame *frame; struct fake lane; };
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
static void same_answers(struct one *ref, struct one *o, const uint8_t *row, int64_t now) {
    struct rdn_frame_head *a = rdn_frame_head(ref->frame), *b = rdn_frame_head(o->frame);
    rdn_exec_begin(ref->frame, 0, row, now, now);
    rdn_exec_begin(o->frame, 0, row, now, now);
    same_windows(ref->frame, o->frame);
    rdn_exec_rules(ref->frame, RDN_EARLY);
    rdn_exec_rules(o->frame, RDN_EARLY);
    must(a->fired[0] == b->fired[0] && a->undef[0] == b->undef[0] && a->any_undef == b->any_undef);
}

/* The rows as one batch, some of them twice; all of it is one word of rules. */
enum { BATCH = 2 * RDN_BATCH_MIN + 3 };
static void same_in_batch(struct one *ref, struct one *o, const uint8_t *rows, unsigned events) {
    struct rdn_frame_head *a = rdn_frame_head(ref->frame), *b = rdn_frame_head(o->frame);
    const uint64_t *mask = rdn_exec_batch_rules(o->prog, 0);
    size_t size = ir->events[0].size;
    int64_t now[BATCH];
    uint64_t fired[BATCH];
    uint8_t mark[BATCH], *all = malloc(BATCH * size);
    must(all != NULL);
    for (unsigned i = 0; i < BATCH; i++) {
        memcpy(all + i * size, rows + i % events * size, size);
        now[i] = (int64_t)i << 50;
    }
    const struct rdn_batch batch = {.event = 0, .n = BATCH, .now = now, .rows = all, .stride = size, .fired = fired, .mark = mark};
    if (mask)
        rdn_exec_batch(o->frame, &batch);
    for (unsigned i = 0; mask && i < BATCH; i++) {
        const uint8_t *row = all + i * size;
        if (mark[i])
            continue;
        rdn_exec_begin(ref->frame, 0, row, now[i], now[i]);
        rdn_exec_rules(ref->frame, RDN_EARLY);
        must(!((a->fired[0] ^ fired[i]) & mask[0]) && !(a->undef[0] & mask[0]));
        rdn_exec_begin_known(o->frame, 0, row, now[i], now[i], &fired[i]);
        same_windows(ref->frame, o->frame);
        rdn_exec_rules(o->frame, RDN_EARLY);
        must(a->fired[0] == b->fired[0] && a->undef[0] == b->undef[0] && a->any_undef == b->any_undef);
    }
    free(all);
}

/* interp is the last row. */
static void judge(struct one *all, unsigned events, bool change) {
    size_t size = ir->events[0].size;
    uint8_t *rows = malloc(events * size), *row = rows;  /* exactly: a read behind them is seen */
    must(row != NULL);
    for (unsigned e = 0; e < events; e++) {
        if (change && e == events / 2) {
            params[0].i = any_i64();
            params[2].d = any_i64();
            for (unsigned i = 0; i < NEXEC; i++)
                if (all[i].prog)
                    rdn_frame_params_changed(all[i].frame);
        }
        row = rows + e * size;
        fake_row(ir, &ir->events[0], row);
        int64_t now = (int64_t)rnd() >> 2;
        for (unsigned i = 0; i + 1 < NEXEC; i++)
            if (all[i].prog)
                same_answers(&all[NEXEC - 1], &all[i], row, now);
    }
    for (unsigned i = 0; i + 1 < NEXEC; i++)
        if (all[i].prog)
            same_in_batch(&all[NEXEC - 1], &all[i], rows, events);
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct one all[NEXEC] = {0};
    redan_error err = {0};
    if (n < 16)
        return 0;
    fake_bytes = data + 1;
    fake_end = data + n;
    rdn_selfcheck_us = 0;
    setenv("REDAN_JIT_VECTORS", data[0] & 128 ? "avx2" : "avx512", 1);
    must(!rdn_syms_open(&syms, &rdn_libc_mem, 100));
    set_syms();
    make_ir();
    must(!rdn_ir_verify(ir, &err));
    for (unsigned i = 0; i < 4; i++)
        params[i] = ir->params[i].val;
    for (unsigned i = 0; i < NEXEC; i++)
        open_one(&all[i], executors[i]);
    must(all[NEXEC - 1].prog != NULL);
    judge(all, data[0] % EVENTS_MAX + 1, data[0] & 64);
    for (unsigned i = 0; i < NEXEC; i++)
        close_one(&all[i]);
    rdn_arena_fini(&arena);
    rdn_syms_close(syms);
    return 0;
}
