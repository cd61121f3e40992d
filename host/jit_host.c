/* SPDX-License-Identifier: Apache-2.0
 * jit_host.c: an engine's compiler: its options and where they come from, room for new code, and what redan_jit_stats tells. */
#include "host/host.h"
#include "jit/gdb.h"
#include "jit/jit.h"
#include "pmu/jitdump.h"
#include "pmu/perfmap.h"
#include <stdlib.h>
#include <string.h>

struct number { const char *name; size_t at; uint32_t min, max, def; };
static const struct number numbers[] = {
#define NUMBER(field, min, max, def, doc) { #field, offsetof(redan_jit_options, field), min, max, def },
#define FLAG(word, bit, doc)
#define BATCH(word, value, doc)
#include "host/jit_options.def"
#undef NUMBER
#undef FLAG
#undef BATCH
};
struct word { const char *name; uint32_t bit; };
static const struct word flags[] = {
#define NUMBER(field, min, max, def, doc)
#define FLAG(word, bit, doc) { #word, bit },
#define BATCH(word, value, doc)
#include "host/jit_options.def"
#undef FLAG
#undef BATCH
};
static const struct word batches[] = {
#define FLAG(word, bit, doc)
#define BATCH(word, value, doc) { "batch=" #word, value },
#include "host/jit_options.def"
#undef NUMBER
#undef FLAG
#undef BATCH
};
#define N_OF(a) (sizeof(a) / sizeof *(a))

/* One word of REDAN_JIT, such as arena_mib=8. */
static int read_word(const char *word, redan_jit_options *ret, redan_error *reterr) {
    const char *eq = strchr(word, '=');
    for (size_t i = 0; eq && i < N_OF(numbers); i++) {
        const struct number *n = &numbers[i];
        char *end;
        if (strncmp(word, n->name, (size_t)(eq - word)) != 0 || n->name[eq - word])
            continue;
        unsigned long v = strtoul(eq + 1, &end, 10);
        if (eq[1] < '0' || eq[1] > '9' || *end || v < n->min || v > n->max)
            return rdn_fail(reterr, INVAL, "", "REDAN_JIT has '%.40s', expected %u to %u", word, n->min, n->max);
        memcpy((char *)ret + n->at, &(uint32_t){ (uint32_t)v }, sizeof(uint32_t));
        return 0;
    }
    for (size_t i = 0; i < N_OF(flags); i++)
        if (strcmp(word, flags[i].name) == 0) {
            ret->flags |= flags[i].bit;
            return 0;
        }
    for (size_t i = 0; i < N_OF(batches); i++)
        if (strcmp(word, batches[i].name) == 0) {
            ret->batch = batches[i].bit;
            return 0;
        }
    return rdn_fail(reterr, INVAL, "", "REDAN_JIT has the unknown word '%.40s'", word);
}

/* Words with commas between them. A program with more rights than its user does not listen. */
static int read_environment(redan_jit_options *ret, redan_error *reterr) {
    const char *s = secure_getenv("REDAN_JIT");
    char word[64];
    int rc = 0;
    while (s && *s && rc == 0) {
        size_t n = strcspn(s, ",");
        if (n >= sizeof word)
            return rdn_fail(reterr, INVAL, "", "REDAN_JIT has the unknown word '%.40s'", s);
        memcpy(word, s, n);
        word[n] = 0;
        s += n + (s[n] == ',');
        if (n)
            rc = read_word(word, ret, reterr);
    }
    return rc;
}

static int read_options(const redan_jit_options *given, redan_jit_options *ret, redan_error *reterr) {
    int rc = rdn_options_copy(ret, given, REDAN_JIT_PERF_MAP | REDAN_JIT_JITDUMP | REDAN_JIT_GDB | REDAN_JIT_STATIC_PLAN | REDAN_JIT_NO_REPLAN,
                              "redan_jit_options", reterr);
    for (size_t i = 0; rc == 0 && i < N_OF(numbers); i++) {
        uint32_t v;
        memcpy(&v, (char *)ret + numbers[i].at, sizeof v);
        v = v ? v : numbers[i].def;
        if (v < numbers[i].min || v > numbers[i].max)
            return rdn_fail(reterr, INVAL, "", "jit.%s is %u, expected %u to %u", numbers[i].name, v, numbers[i].min, numbers[i].max);
        memcpy((char *)ret + numbers[i].at, &v, sizeof v);
    }
    if (rc == 0 && ret->batch > REDAN_JIT_BATCH_X64V)
        return rdn_fail(reterr, INVAL, "", "jit.batch is %u, expected 0 to %u", ret->batch, REDAN_JIT_BATCH_X64V);
    return rc ? rc : read_environment(ret, reterr);
}

/* Who is told of new code. e->jit_flags has those that are to be given back. */
static int open_sinks(struct redan_engine *e, uint32_t wanted, struct rdn_jit_options *j, redan_error *reterr) {
    int rc = 0;
    if (wanted & REDAN_JIT_GDB) {
        if (!RDN_GDB_HERE)
            return rdn_fail(reterr, NOSUP, "", "jit.gdb needs x86-64");
        j->sinks[j->nsinks++] = rdn_gdb_sink();
    }
    if (wanted & REDAN_JIT_PERF_MAP && (rc = rdn_perfmap_take(&j->sinks[j->nsinks], reterr)) == 0) {
        e->jit_flags |= REDAN_JIT_PERF_MAP;
        j->nsinks++;
    }
    if (rc == 0 && wanted & REDAN_JIT_JITDUMP && (rc = rdn_jitdump_take(&j->sinks[j->nsinks], reterr)) == 0) {
        e->jit_flags |= REDAN_JIT_JITDUMP;
        j->nsinks++;
    }
    return rc;
}

int rdn_engine_jit_open(struct redan_engine *e, const redan_jit_options *given, redan_error *reterr) {
    redan_jit_options o = REDAN_JIT_OPTIONS_INIT;
    int rc = read_options(given, &o, reterr);
    if (rc < 0)
        return rc;
    e->keep_units = o.keep_units;
    e->static_plan = o.flags & REDAN_JIT_STATIC_PLAN;
    e->replan_off = o.flags & REDAN_JIT_NO_REPLAN;
    e->jit_flags = 0;                                    /* of those that were opened */
    struct rdn_jit_options j = { .arena_bytes = (size_t)o.arena_mib << 20, .selfcheck_us = o.selfcheck_us, .batch = (enum rdn_jit_batch)o.batch,
                                 .make_room = rdn_engine_make_room, .ctx = e };
    rc = open_sinks(e, o.flags, &j, reterr);
    return rc < 0 ? rc : rdn_jit_open(&j, &e->mem, &e->jit, reterr);
}

void rdn_engine_jit_close(struct redan_engine *e) {
    rdn_jit_close(e->jit);
    if (e->jit_flags & REDAN_JIT_PERF_MAP)
        rdn_perfmap_give();
    if (e->jit_flags & REDAN_JIT_JITDUMP)
        rdn_jitdump_give();
}

/* A lane counts in its binding and frame, so that nothing on the hot path is shared. */
static void add_binding(const struct rdn_binding *b, redan_jit_stats *s) {
    if (!b || !b->frame)
        return;
    s->cold_rules += rdn_frame_cold_rules(b->frame);
    s->mode_resets += __atomic_load_n(&b->mode_resets, __ATOMIC_RELAXED);
}

void rdn_engine_binding_done(struct redan_engine *e, const struct rdn_binding *b) { add_binding(b, &e->past); }

static void read_stats(struct redan_engine *e, redan_jit_stats *s) {
    struct rdn_jit_counts c;
    struct rdn_active *active = atomic_load_explicit(&e->active, memory_order_relaxed);
    rdn_jit_counts(e->jit, &c);
    *s = (redan_jit_stats){ .size = sizeof *s, .units = (uint32_t)c.units, .compiles = c.compiles, .compile_ns = c.compile_ns,
                            .last_compile_ns = c.last_compile_ns, .code_bytes = c.arena_used, .arena_bytes = c.arena_bytes, .fallbacks = c.fallbacks,
                            .selfcheck_failures = c.selfcheck_failures, .cold_rules = e->past.cold_rules, .mode_resets = e->past.mode_resets };
    memcpy(s->fallback, c.fallback, sizeof s->fallback);
    if (active)
        strncpy(s->backend, rdn_program_info(active->prog)->backend, sizeof s->backend - 1);
    for (uint32_t i = 0; i < e->opt.lanes; i++) {
        if (active)
            add_binding(active->bind[i], s);
        for (struct rdn_active *a = e->retired; a; a = a->older)
            add_binding(a->bind[i], s);
    }
}

int redan_jit_stats_read(redan_engine *e, redan_jit_stats *ret) {
    redan_jit_stats s;
    if (!ret || ret->size < sizeof ret->size)
        return REDAN_E_INVAL;
    pthread_mutex_lock(&e->lock);
    read_stats(e, &s);
    pthread_mutex_unlock(&e->lock);
    uint32_t size = ret->size, known = size < sizeof s ? size : (uint32_t)sizeof s;
    memset(ret, 0, size);
    memcpy(ret, &s, known);
    ret->size = known;
    return 0;
}
