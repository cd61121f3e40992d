/* SPDX-License-Identifier: Apache-2.0
 * jit.c: see jit.h. */
#include "jit/jit.h"
#include <pthread.h>
#include <string.h>
#include "jit/code_arena.h"
#include "jit/selfcheck.h"

struct rdn_jit {
    struct rdn_mem mem;
    struct rdn_jit_options opt;
    bool wants_batches;
    pthread_mutex_t lock;                                /* what follows */
    struct rdn_code_arena *arena;
    struct rdn_jit_counts counts;
};

int rdn_jit_open(const struct rdn_jit_options *opt, const struct rdn_mem *mem, struct rdn_jit **ret, redan_error *reterr) {
    struct rdn_jit *j = rdn_zalloc(mem, sizeof *j);
    if (!j)
        return rdn_fail(reterr, NOMEM, "", "no memory for the compiler's state");
    j->mem = *mem;
    j->opt = *opt;
    j->wants_batches = opt->batch != RDN_JIT_BATCH_AUTO;
    pthread_mutex_init(&j->lock, NULL);
    *ret = j;
    return 0;
}

void rdn_jit_close(struct rdn_jit *j) {
    if (!j)
        return;
    rdn_code_arena_close(j->arena);
    pthread_mutex_destroy(&j->lock);
    struct rdn_mem mem = j->mem;
    rdn_free(&mem, j, sizeof *j);
}

enum rdn_jit_batch rdn_batch_how = RDN_JIT_BATCH_AUTO;
void rdn_jit_want_batches(struct rdn_jit *j) { __atomic_store_n(&j->wants_batches, true, __ATOMIC_RELAXED); }
bool rdn_jit_wants_batches(const struct rdn_jit *j) { return !j || __atomic_load_n(&j->wants_batches, __ATOMIC_RELAXED); }
enum rdn_jit_batch rdn_jit_batch(const struct rdn_jit *j) { return j ? j->opt.batch : rdn_batch_how; }
uint32_t rdn_jit_selfcheck_us(const struct rdn_jit *j) { return j ? j->opt.selfcheck_us : rdn_selfcheck_us; }

int rdn_jit_arena(struct rdn_jit *j, struct rdn_code_arena **ret, redan_error *reterr) {
    if (!j)
        return rdn_code_arena_take(ret, reterr);
    pthread_mutex_lock(&j->lock);
    int rc = j->arena ? 0 : rdn_code_arena_open(j->opt.arena_bytes, &j->mem, &j->arena, reterr);
    if (!rc)
        *ret = rdn_code_arena_ref(j->arena);
    pthread_mutex_unlock(&j->lock);
    return rc;
}

void rdn_jit_compiled(struct rdn_jit *j, int64_t ns, const char *note) {
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    struct rdn_jit_counts *c = &j->counts;
    c->compiles++;
    c->compile_ns += (uint64_t)ns;
    c->last_compile_ns = (uint64_t)ns;
    if (note[0]) {
        c->fallbacks++;
        strncpy(c->fallback, note, sizeof c->fallback - 1);
    }
    pthread_mutex_unlock(&j->lock);
}

void rdn_jit_selfcheck_failed(struct rdn_jit *j) {
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    j->counts.selfcheck_failures++;
    pthread_mutex_unlock(&j->lock);
}

void rdn_jit_unit(struct rdn_jit *j, int one) {
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    j->counts.units += (uint64_t)(int64_t)one;
    pthread_mutex_unlock(&j->lock);
}

int rdn_jit_put(struct rdn_jit *j, struct rdn_code_arena *a, const void *code, size_t bytes, struct rdn_code *ret, redan_error *reterr) {
    for (;;) {
        int rc = rdn_code_put(a, code, bytes, ret, reterr);
        if (rc != REDAN_E_FULL || !j)
            return rc;
        if (j->opt.make_room && j->opt.make_room(j->opt.ctx))
            continue;
        struct rdn_jit_counts c;
        rdn_jit_counts(j, &c);
        return rdn_fail(reterr, FULL, "R2103", "code arena full: %.1f of %llu MiB in %llu rule sets; raise jit.arena_mib or lower jit.keep_units",
                        (double)c.arena_used / (1 << 20), (unsigned long long)c.arena_bytes >> 20, (unsigned long long)c.units);
    }
}

/* ---- names ---- */
bool rdn_jit_wants_names(const struct rdn_jit *j) { return j && j->opt.nsinks; }

void rdn_jit_announce(struct rdn_jit *j, const struct rdn_code_row *rows, uint32_t n) {
    pthread_mutex_lock(&j->lock);
    for (uint32_t i = 0; i < j->opt.nsinks; i++)
        j->opt.sinks[i].add(j->opt.sinks[i].ctx, rows, n);
    pthread_mutex_unlock(&j->lock);
}

void rdn_jit_withdraw(struct rdn_jit *j, const uint8_t *code, size_t bytes) {
    if (!rdn_jit_wants_names(j) || !code)
        return;
    pthread_mutex_lock(&j->lock);
    for (uint32_t i = 0; i < j->opt.nsinks; i++)
        if (j->opt.sinks[i].drop)
            j->opt.sinks[i].drop(j->opt.sinks[i].ctx, code, bytes);
    pthread_mutex_unlock(&j->lock);
}

void rdn_jit_counts(struct rdn_jit *j, struct rdn_jit_counts *ret) {
    pthread_mutex_lock(&j->lock);
    *ret = j->counts;
    if (j->arena) {
        struct rdn_code_use u = rdn_code_arena_use(j->arena);
        ret->arena_used = u.used;
        ret->arena_bytes = u.bytes;
        ret->is_alias = rdn_code_arena_kind(j->arena) == RDN_CODE_ALIAS;
    }
    pthread_mutex_unlock(&j->lock);
}
