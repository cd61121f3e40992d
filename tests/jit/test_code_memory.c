/* SPDX-License-Identifier: Apache-2.0
 * test_code_memory.c: code memory as an embedder meets it: the options and where they come from, an arena that fills and makes room,
 * what a forked child is told, a thread in another floating-point mode, and the counters. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host/host.h"
#include "base/cpu.h"
#include "base/fpmode.h"
#include "tests/unit/host/engine_kit.h"

#define COUNT "window n = count() over 60s by account on Order\nrule many on Order { when n > 1 flag MANY }\n"

static const char *backend_of(const redan_ruleset *rs) { return rdn_program_info(rs->prog)->backend; }
static int open_with(const redan_jit_options *jit, const char *env, redan_engine **ret, redan_error *err) {
    redan_options o = REDAN_OPTIONS_INIT;
    o.backend = kit_backend;
    o.jit = jit;
    if (env)
        setenv("REDAN_JIT", env, 1);
    int rc = redan_open(ret, &o, err);
    unsetenv("REDAN_JIT");
    return rc;
}
static redan_jit_stats stats_of(redan_engine *e) {
    redan_jit_stats s = { .size = sizeof s };
    check(redan_jit_stats_read(e, &s) == 0, "stats");
    return s;
}

/* Many rules whose constants differ from one seed to the next: about 100 KiB of code. */
static char *many_rules(unsigned seed, int rules) {
    char *text = malloc((size_t)rules * 160 + 1024), *at = text;
    at += sprintf(at, HEAD);
    for (int i = 0; i < rules; i++)
        at += sprintf(at, "rule r%d on Order { when f * %u.5 > %d.25 and qty + %u < %d and f < %d.0 flag A }\n", i, seed + 2, i + 1, seed + 3, i * 7, 3000 - i);
    return text;
}

/* ---- options ---- */
static void options(void **state) {
    (void)state;
    static const struct { redan_jit_options o; const char *env, *says; } rows[] = {
        { { .arena_mib = 1 }, NULL, NULL }, { { .arena_mib = 1024, .keep_units = 16, .selfcheck_us = 1000000 }, NULL, NULL },
        { { .arena_mib = 1025 }, NULL, "jit.arena_mib is 1025, expected 1 to 1024" }, { { .keep_units = 17 }, NULL, "jit.keep_units is 17, expected 1 to 16" },
        { { .selfcheck_us = 1000001 }, NULL, "jit.selfcheck_us is 1000001, expected 1 to 1000000" },
        { { .flags = 1u << 31 }, NULL, "redan_jit_options has flags this version does not know" },
        { { 0 }, "arena_mib=8", NULL }, { { 0 }, "arena_mib=8,keep_units=1", NULL }, { { 0 }, ",selfcheck_us=20,", NULL }, { { 0 }, "", NULL },
        { { 0 }, "arena_mib=0", "REDAN_JIT has 'arena_mib=0', expected 1 to 1024" }, { { 0 }, "arena_mib=8x", "REDAN_JIT has 'arena_mib=8x', expected 1 to 1024" },
        { { 0 }, "arena_mib=-8", "REDAN_JIT has 'arena_mib=-8', expected 1 to 1024" }, { { 0 }, "arena_mib=", "REDAN_JIT has 'arena_mib=', expected 1 to 1024" },
        { { .batch = REDAN_JIT_BATCH_X64V }, NULL, NULL }, { { .batch = 4 }, NULL, "jit.batch is 4, expected 0 to 3" }, { { 0 }, "batch=off,arena_mib=8", NULL },
        { { 0 }, "batch=fast", "REDAN_JIT has the unknown word 'batch=fast'" }, { { .flags = REDAN_JIT_GDB }, "gdb", NULL }, { { 0 }, "perf_map=1", "REDAN_JIT has the unknown word 'perf_map=1'" },
        { { 0 }, "arena=8", "REDAN_JIT has the unknown word 'arena=8'" }, { { 0 }, "keep_units", "REDAN_JIT has the unknown word 'keep_units'" },
        { { 0 }, "keep_units=1,selfcheck_us=1000001", "REDAN_JIT has 'selfcheck_us=1000001', expected 1 to 1000000" },
        { { 0 }, "keep_units=1,a_word_of_more_than_sixty_three_letters_that_no_version_of_this_library_knows",
          "REDAN_JIT has the unknown word 'a_word_of_more_than_sixty_three_letters_'" },
    };
    for each (i, rows) {
        redan_jit_options o = rows[i].o;
        redan_engine *e = NULL;
        redan_error err = { 0 };
        o.size = sizeof o;
        int rc = open_with(&o, rows[i].env, &e, &err);
        check((rc == 0) == !rows[i].says && (rc == 0 || rc == REDAN_E_INVAL), "row %zu: %d %s", i, rc, err.text);
        check(!rows[i].says || strcmp(err.text, rows[i].says) == 0, "row %zu: %s", i, err.text);
        if (rc == 0)
            redan_close(e);
    }
}
/* Both ways reach the arena; the environment has the last word. */
static void options_arrive(void **state) {
    (void)state;
    static const struct { uint32_t mib; const char *env; uint64_t want; } rows[] = { { 0, NULL, 64 }, { 2, NULL, 2 }, { 2, "arena_mib=3", 3 }, { 0, "keep_units=2", 64 } };
    for each (i, rows) {
        redan_jit_options o = REDAN_JIT_OPTIONS_INIT;
        redan_engine *e;
        redan_error err = { 0 };
        o.arena_mib = rows[i].mib;
        check(open_with(&o, rows[i].env, &e, &err) == 0, "row %zu: %s", i, err.text);
        check(stats_of(e).arena_bytes == 0, "row %zu: opened before it is wanted", i);
        redan_ruleset *rs = kit_compile(e, HEAD COUNT);
        check(stats_of(e).arena_bytes == rows[i].want << 20, "row %zu: %llu bytes", i, (unsigned long long)stats_of(e).arena_bytes);
        redan_release(rs);
        redan_close(e);
    }
}

/* ---- a full arena ---- */
/* With every old rule set given up there is always room for the next one. */
static void room_is_made(void **state) {
    (void)state;
    redan_jit_options o = REDAN_JIT_OPTIONS_INIT;
    redan_engine *e;
    redan_error err = { 0 };
    uint64_t most = 0;
    o.arena_mib = 1;
    o.keep_units = 16;
    check(open_with(&o, NULL, &e, &err) == 0, "%s", err.text);
    redan_lane *lane = kit_lane(e, 0, 0);
    for (unsigned i = 0; i < 40; i++) {
        char *text = many_rules(i, 1000);
        redan_ruleset *rs = kit_compile(e, text);
        kit_activate(e, rs);
        redan_release(rs);
        redan_lane_idle(lane);
        free(text);
        redan_jit_stats s = stats_of(e);
        check(s.code_bytes <= s.arena_bytes && s.fallbacks == 0, "swap %u: %llu bytes, %s", i, (unsigned long long)s.code_bytes, s.fallback);
        most = s.code_bytes > most ? s.code_bytes : most;
    }
    check(most > 700 << 10, "only %llu bytes were ever used: the arena was not full", (unsigned long long)most);
    check(redan_rollback(e, NULL, &err) == 0, "the newest old rule set is kept: %s", err.text);
    redan_lane_close(lane);
    redan_close(e);
}
/* Rule sets that somebody holds cannot be given up: the next one runs on another executor and says why. */
static void full(void **state) {
    (void)state;
    redan_jit_options o = REDAN_JIT_OPTIONS_INIT;
    redan_ruleset *held[40] = { 0 };
    redan_engine *e;
    redan_error err = { 0 };
    const char *was = kit_backend;
    unsigned n = 0;
    o.arena_mib = 1;
    kit_backend = "auto";
    check(open_with(&o, NULL, &e, &err) == 0, "%s", err.text);
    kit_backend = was;
    for (bool machine_code = true; n < 40 && machine_code; n++) {
        char *text = many_rules(n, 1000);
        held[n] = kit_compile(e, text);
        machine_code = backend_of(held[n])[0] == 'x';    /* x64v, and x64 when its vectors alone find no room */
        free(text);
    }
    redan_jit_stats s = stats_of(e);
    check(n > 2 && n < 40 && s.fallbacks > 0 && s.units == n - 1, "%u rule sets, %llu fallbacks, %u units", n, (unsigned long long)s.fallbacks, s.units);
    check(strstr(s.fallback, "R2103 code arena full: ") && strstr(s.fallback, " of 1 MiB in ") && strstr(s.fallback, "jit.arena_mib"), "%s", s.fallback);
    kit_activate(e, held[n - 1]);                        /* and it does run */
    check(strcmp(stats_of(e).backend, "table") == 0, "%s", stats_of(e).backend);
    redan_release(held[0]);                              /* one less: the next has room */
    char *text = many_rules(99, 1000);
    held[0] = kit_compile(e, text);
    check(backend_of(held[0])[0] == 'x', "%s", stats_of(e).fallback);
    free(text);
    for (unsigned i = 0; i < n; i++)
        redan_release(held[i]);
    check(stats_of(e).units == 0 && stats_of(e).code_bytes == 0, "all is free again");
    redan_close(e);
}
static void keeps_as_many_as_said(void **state) {
    (void)state;
    static const uint32_t keep[] = { 1, 3, 16 };
    for each (i, keep) {
        redan_jit_options o = REDAN_JIT_OPTIONS_INIT;
        redan_engine *e;
        redan_error err = { 0 };
        o.keep_units = keep[i];
        check(open_with(&o, NULL, &e, &err) == 0, "%s", err.text);
        for (unsigned k = 0; k < 20; k++) {
            redan_ruleset *rs = kit_compile(e, HEAD COUNT);
            kit_activate(e, rs);
            redan_release(rs);
        }
        check(stats_of(e).units == keep[i] + 1, "%u units with keep_units %u", stats_of(e).units, keep[i]);
        for (unsigned k = 0; k < keep[i]; k++)
            check(redan_rollback(e, NULL, &err) == 0, "step %u of %u: %s", k, keep[i], err.text);
        check(redan_rollback(e, NULL, &err) == REDAN_E_INVAL && strcmp(err.id, "R3010") == 0, "%s", err.id);
        redan_close(e);
    }
}

/* ---- a forked child ---- */
static int child(struct kit *k) {
    static const char text[] = HEAD COUNT;
    redan_error err[5] = { { 0 } };
    redan_ruleset *rs = NULL;
    redan_lane *lane = NULL;
    int rc[5] = { redan_compile(k->eng, "c", text, sizeof text - 1, NULL, &rs, &err[0]), redan_activate(k->eng, k->rs, NULL, NULL, &err[1]),
                  redan_rollback(k->eng, NULL, &err[2]), redan_lane_open(k->eng, NULL, &lane, &err[3]), redan_eval(k->lane, k->order, &k->row, &k->v) };
    for (int i = 0; i < 5; i++)
        if (rc[i] != REDAN_E_CLOSED || (i < 4 && strcmp(err[i].id, "R2108") != 0))
            return 10 + i;
    kit_stop(k);                                         /* closing is harmless */
    struct kit own;
    kit_start(&own, text);                               /* and an engine of its own works, with code of its own */
    kit_judge(&own, 1);
    kit_judge(&own, 1);
    bool good = own.v.ncodes == 1 && stats_of(own.eng).units == 1;
    kit_stop(&own);
    return good ? 0 : 20;
}
static void forked(void **state) {
    (void)state;
    struct kit k;
    int status;
    kit_start(&k, HEAD COUNT);
    kit_judge(&k, 1);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(&k));
    waitpid(pid, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
    kit_judge(&k, 1);                                    /* the parent goes on */
    check(k.v.ncodes == 1, "%u codes", k.v.ncodes);
    kit_stop(&k);
}

/* ---- counters ---- */
static char logged[512];
static unsigned lines;
static void hear(void *ctx, uint32_t level, const char *line) {
    (void)ctx, (void)level;
    lines++;
    snprintf(logged, sizeof logged, "%s", line);
}
static void mode_is_said_once(void **state) {
    (void)state;
    struct kit k;
    redan_options o = REDAN_OPTIONS_INIT;
    o.backend = kit_backend;
    o.log = hear;
    memset(&k, 0, sizeof k);
    check(redan_open(&k.eng, &o, NULL) == 0, "open");
    k.rs = kit_compile(k.eng, HEAD COUNT);
    kit_activate(k.eng, k.rs);
    k.order = kit_bind(k.eng);
    k.lane = kit_lane(k.eng, 0, 0);
    redan_sym(k.eng, "ACME", 4, &k.row.account);
    kit_judge(&k, 1);
    check(lines == 0 && stats_of(k.eng).mode_resets == 0, "%s", logged);
    for (int i = 0; i < 5; i++) {
        rdn_fpmode_set(RDN_FPMODE | 0x8000);
        kit_judge(&k, 1);
        uint32_t after = rdn_fpmode_get();
        rdn_fpmode_set(RDN_FPMODE);
        check((after & RDN_FPMODE_MASK) == (RDN_FPMODE | 0x8000), "mode %x", after);
    }
    check(lines == 1 && strcmp(logged, "R2107 thread runs with flush-to-zero; reset during evaluation") == 0, "%u lines, the last: %s", lines, logged);
    check(stats_of(k.eng).mode_resets == 5, "%llu resets", (unsigned long long)stats_of(k.eng).mode_resets);
    redan_lane_close(k.lane);
    check(stats_of(k.eng).mode_resets == 5, "counts of a closed lane are kept");
    redan_release(k.rs);
    redan_close(k.eng);
}
/* A product that is subnormal, of constants and of a field, and a sum that is rounded: compiled and judged in another mode, singly and in
 * a batch. */
#if defined(__aarch64__)
static const uint32_t modes[] = { RDN_FPMODE, RDN_FPMODE | 1u << 24, RDN_FPMODE | 3u << 22, RDN_FPMODE | 2u << 22 };
#else
static const uint32_t modes[] = { RDN_FPMODE, RDN_FPMODE | 0x8040, RDN_FPMODE | 0x6000, RDN_FPMODE | 0x2000 };
#endif
static void modes_change_no_answer(void **state) {
    (void)state;
    static const char text[] = HEAD "rule field  on Order { when f * 0.5 > 0.0 flag A }\n"
                                    "rule folded on Order { when f < 1.0 and 2e-308 * 0.5 > 0.0 flag B }\n"
                                    "rule round  on Order { when f + 0.1 + 0.2 == 0.30000000000000004 flag C }\n";
    enum { N = 20 };
    for each (i, modes) {
        struct kit k;
        struct order rows[N];
        redan_verdict v[N];
        size_t done = 0;
        rdn_fpmode_set(modes[i]);
        kit_start(&k, text);
        k.row.f = 2e-308;
        k.row.ts = 1;
        for (unsigned r = 0; r < N; r++)
            rows[r] = k.row;
        kit_judge(&k, 1);
        bool single = k.v.ncodes == 3;
        int rc = redan_eval_batch(k.lane, k.order, rows, sizeof *rows, N, v, &done);
        bool kept = (rdn_fpmode_get() & RDN_FPMODE_MASK) == modes[i];
        rdn_fpmode_set(RDN_FPMODE);
        check(rc == 0 && done == N && single && v[0].ncodes == 3 && v[N - 1].ncodes == 3, "mode %zu: %d %zu, one: %u codes", i, rc, done, k.v.ncodes);
        check(kept, "mode %zu is another one now", i);
        check(stats_of(k.eng).mode_resets == (i ? N + 1 : 0), "mode %zu: %llu resets", i, (unsigned long long)stats_of(k.eng).mode_resets);
        kit_stop(&k);
    }
}
static void counters(void **state) {
    (void)state;
    struct kit k;
    struct { redan_jit_stats s; char beyond[32]; } longer = { .s = { .size = sizeof longer } }, shorter = { .s = { .size = 16 } };
    kit_start(&k, HEAD "rule over on Order { when qty * 4000000000 > px * 3.0 or qty * qty > 7 flag A }\n");
    redan_jit_stats s = stats_of(k.eng);
    check(s.compiles == 1 && s.units == 1 && s.compile_ns > 0 && s.last_compile_ns == s.compile_ns, "%llu compilations", (unsigned long long)s.compiles);
    check(s.code_bytes >= 4096 && s.code_bytes % 4096 == 0 && s.arena_bytes == 64 << 20, "%llu bytes", (unsigned long long)s.code_bytes);
    check(strcmp(s.backend, "x64") == 0 && !s.fallback[0] && s.fallbacks == 0 && s.selfcheck_failures == 0, "%s %s", s.backend, s.fallback);
    kit_judge(&k, 1);
    check(stats_of(k.eng).cold_rules == 0, "nothing overflowed");
    for (int i = 0; i < 3; i++)
        kit_judge(&k, INT64_MAX / 2);
    check(stats_of(k.eng).cold_rules == 3, "%llu cold rules", (unsigned long long)stats_of(k.eng).cold_rules);
    redan_ruleset *next = kit_compile(k.eng, HEAD COUNT);
    kit_activate(k.eng, next);
    redan_lane_idle(k.lane);
    kit_activate(k.eng, next);
    check(stats_of(k.eng).cold_rules == 3, "counts survive a swap");
    redan_release(next);
    memset(longer.beyond, 7, sizeof longer.beyond);
    memset(shorter.beyond, 7, sizeof shorter.beyond);
    check(redan_jit_stats_read(k.eng, &longer.s) == 0 && longer.s.size == sizeof s && longer.beyond[0] == 0, "a newer caller's struct");
    check(redan_jit_stats_read(k.eng, &shorter.s) == 0 && shorter.s.size == 16 && shorter.s.compiles == 2 && shorter.s.compile_ns == 0, "an older caller's struct");
    check(redan_jit_stats_read(k.eng, NULL) == REDAN_E_INVAL && redan_jit_stats_read(k.eng, &(redan_jit_stats){ .size = 3 }) == REDAN_E_INVAL, "no struct");
    kit_stop(&k);
}

int main(int argc, char **argv) {
#if defined(__aarch64__)
    const char *lacks = NULL;
    kit_backend = "a64";
#else
    const char *lacks = rdn_cpu_lacks(RDN_CPU_AVX2);
    kit_backend = "x64";
#endif
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (lacks) {
        printf("skipped: this CPU lacks %s\n", lacks);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options), cmocka_unit_test(options_arrive), cmocka_unit_test(room_is_made), cmocka_unit_test(full), cmocka_unit_test(keeps_as_many_as_said),
        cmocka_unit_test(forked), cmocka_unit_test(mode_is_said_once), cmocka_unit_test(modes_change_no_answer),
        cmocka_unit_test(counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
