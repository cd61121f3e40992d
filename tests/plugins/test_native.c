/* SPDX-License-Identifier: Apache-2.0
 * test_native.c: native plugins and C functions in real workers: what a hostile library gets in each tier, and how calls end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "plugins/worker.h"
#include "sandbox/wire.h"

static char dir[] = "/tmp/redan-native-XXXXXX";
static const char *const yaml_native = "schema: 1\nplugin: {id: org.example.hostile, version: 1.0.0, kind: native, entry: lib.so}\nfunctions:\n"
                                       "  attempt: {signature: \"(which: int) -> int\"}\nlimits: {time_cap_ms: 200, max_rows: 64}\n";
static const char *const yaml_foreign = "schema: 1\nplugin: {id: org.example.foreign, version: 1.0.0, kind: cfn, entry: lib.so}\ncfn:\n"
                                        "  mix: {signature: \"(a: float, n: int, up: bool) -> float\", symbol: blend}\n  letters: {signature: \"(s: str(8)) -> int\"}\n"
                                        "  side_of: {signature: \"(day: date, side: enum(buy, sell)) -> enum(buy, sell)\"}\n";

static void copy_file(const char *from, const char *to) {
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char b[65536];
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n; (n = fread(b, 1, sizeof b, in));)
        assert_int_equal(fwrite(b, 1, n, out), n);
    fclose(in);
    fclose(out);
}

static void project(const char *yaml, const char *lib) {
    char path[200];
    snprintf(path, sizeof path, "%s/lib.so", dir);
    copy_file(lib, path);
    snprintf(path, sizeof path, "%s/plugin.yaml", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(yaml, f);
    fclose(f);
}

static const struct rdn_wire_param which = { "which", { .kind = RDN_WIRE_INT } };
static const struct rdn_function_spec attempt = { "attempt", &which, 1, { .kind = RDN_WIRE_INT }, 0 };

static struct rdn_plugins *host(struct rdn_plugins_options o) {
    struct rdn_plugins *ps = NULL;
    redan_error e = { 0 };
    o.spin_off = true;
    if (rdn_plugins_open(&o, &ps, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    return ps;
}

static struct rdn_plugin *open_native(struct rdn_plugins *ps, const struct rdn_function_spec *fns, uint32_t n) {
    struct rdn_plugin_spec s = { .name = "attempt", .file = dir, .fns = fns, .nfns = n };
    struct rdn_plugin *p = NULL;
    redan_error e = { 0 };
    if (rdn_plugin_open(ps, &s, &p, &e) < 0)
        fail_msg("%s %s: %s", e.id, e.where, e.text);
    return p;
}

static enum rdn_outcome ask(struct rdn_plugin *p, int64_t n, int64_t *ret) {
    struct rdn_wire_value in = { .i = n }, out = { .i = -77 };
    enum rdn_outcome how = rdn_plugin_call(p, 0, &in, 1, 0, 0, &out);
    *ret = out.i;
    return how;
}

static const struct { const char *name; struct rdn_plugins_options o; } tiers[] = {
    { "as it is", { 0 } },
    { "no user namespaces", { .no_userns = true } },
    { "no namespaces: the library is a memfd", { .no_ns = true, .no_userns = true } },
    { "trap", { .deny = RDN_DENY_TRAP } },
    { "errno", { .deny = RDN_DENY_ERRNO } },
};

static void test_nothing_out(void **state) {
    (void)state;
    project(yaml_native, NATIVE_LIB);
    for (size_t t = 0; t < sizeof tiers / sizeof *tiers; t++) {
        struct rdn_plugins *ps = host(tiers[t].o);
        struct rdn_plugin *p = open_native(ps, &attempt, 1);
        int64_t got;
        assert_int_equal(ask(p, -1, &got), RDN_OUT_VALUE);
        if (got)
            fail_msg("%s (%s): the constructor got %llx", tiers[t].name, rdn_tier_text(rdn_plugins_tier(ps)), (unsigned long long)got);
        for (int64_t i = 0; i < 12; i++) {
            enum rdn_outcome how = ask(p, i, &got);
            if (how != RDN_OUT_VALUE || got)
                fail_msg("%s: attempt %lld: %s, got %lld", tiers[t].name, (long long)i, rdn_outcome_text(how), (long long)got);
        }
        struct rdn_plugin_status *s = calloc(1, sizeof *s);
        assert_non_null(s);
        rdn_plugin_status(p, s);
        if (tiers[t].o.deny == RDN_DENY_NOTIFY)
            assert_true(s->violations >= 3);
        free(s);
        rdn_plugin_close(p);
        rdn_plugins_close(ps);
    }
}

/* The table above can fail: without the filters the constructor gets something. */
static void test_control(void **state) {
    (void)state;
    project(yaml_native, NATIVE_LIB);
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ .ablate = RDN_GOT_SECCOMP, .require_tier = RDN_TIER_MINIMAL });
    struct rdn_plugin *p = open_native(ps, &attempt, 1);
    int64_t got;
    assert_int_equal(ask(p, -1, &got), RDN_OUT_VALUE);
    assert_true(got);
    rdn_plugin_close(p);
    rdn_plugins_close(ps);
}

/* Entries of /proc/PID/fd of the zygotes' children; -1 when there is none. */
static int worker_descriptors(void) {
    char path[96];
    int n = -1, pid, kid;
    snprintf(path, sizeof path, "/proc/self/task");
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    for (struct dirent *t; (t = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%.20s/children", t->d_name);
        FILE *zygotes = fopen(path, "r");
        while (zygotes && fscanf(zygotes, "%d", &pid) == 1) {
            snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
            FILE *kids = fopen(path, "r");
            while (kids && fscanf(kids, "%d", &kid) == 1) {
                snprintf(path, sizeof path, "/proc/%d/fd", kid);
                DIR *d = opendir(path);
                for (n = 0; d && readdir(d);)
                    n++;
                n = d ? n - 2 : -1;
                if (d)
                    closedir(d);
            }
            if (kids)
                fclose(kids);
        }
        if (zygotes)
            fclose(zygotes);
    }
    closedir(tasks);
    return n;
}

/* What a constructor opened is closed before the first call; and one that fakes the second filter is found out. */
static void test_faked_filter(void **state) {
    (void)state;
    static const struct rdn_deny_mode { const char *name; uint8_t deny; } modes[] = { { "notify", RDN_DENY_NOTIFY }, { "trap", RDN_DENY_TRAP }, { "errno", RDN_DENY_ERRNO } };
    for (size_t m = 0; m < 2 * sizeof modes / sizeof *modes; m++) {
        bool no_ns = m & 1;
        struct rdn_plugins *ps = host((struct rdn_plugins_options){ .deny = modes[m / 2].deny, .no_ns = no_ns, .no_userns = no_ns });
        int64_t kept = 0;
        project(yaml_native, STATEFUL_DIR "/faking_KEEP.so");
        struct rdn_plugin *p = open_native(ps, &attempt, 1);
        assert_int_equal(ask(p, 0, &kept), RDN_OUT_VALUE);
        int open_now = worker_descriptors();
        if (kept != 5 || open_now != 0)
            fail_msg("%s: the constructor opened %d files, %d are open", modes[m / 2].name, (int)kept, open_now);
        rdn_plugin_close(p);
        project(yaml_native, STATEFUL_DIR "/faking_FAKE.so");
        struct rdn_plugin_spec s = { .name = "attempt", .file = dir, .fns = &attempt, .nfns = 1 };
        redan_error e = { 0 };
        if (rdn_plugin_open(ps, &s, &p, &e) == 0 || !strstr(e.text, "ConfinementError"))
            fail_msg("%s: a faked filter: %s %s", modes[m / 2].name, e.id, e.text);
        rdn_plugins_close(ps);
    }
}

static void test_late_and_dead(void **state) {
    (void)state;
    project(yaml_native, NATIVE_LIB);
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ 0 });
    struct rdn_plugin *p = open_native(ps, &attempt, 1);
    int64_t got;
    assert_int_equal(ask(p, 12, &got), RDN_OUT_TIMEOUT);
    assert_int_equal(rdn_plugin_settle(p, 0, INT64_C(3000000000)), RDN_OUT_KILLED);
    assert_int_equal(ask(p, 13, &got), RDN_OUT_DIED);
    rdn_plugin_settle(p, 0, INT64_C(3000000000));
    assert_int_equal(ask(p, 0, &got), RDN_OUT_VALUE);    /* a new worker */
    rdn_plugin_close(p);
    rdn_plugins_close(ps);
}

static void test_wrong_signature(void **state) {
    (void)state;
    static const struct rdn_wire_param f = { "which", { .kind = RDN_WIRE_FLOAT } };
    static const struct { struct rdn_function_spec fn; const char *id; } rows[] = {
        { { "attempt", &f, 1, { .kind = RDN_WIRE_INT }, 0 }, "R4324" },
        { { "attempt", &which, 1, { .kind = RDN_WIRE_FLOAT }, 0 }, "R4324" },
        { { "nothing", &which, 1, { .kind = RDN_WIRE_INT }, 0 }, "R4323" },
    };
    project(yaml_native, NATIVE_LIB);
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ 0 });
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rdn_plugin_spec s = { .name = "attempt", .file = dir, .fns = &rows[i].fn, .nfns = 1 };
        struct rdn_plugin *p = NULL;
        redan_error e = { 0 };
        assert_true(rdn_plugin_open(ps, &s, &p, &e) < 0);
        assert_string_equal(e.id, rows[i].id);
    }
    rdn_plugins_close(ps);
}

static void test_reload_many(void **state) {
    (void)state;
    project(yaml_native, NATIVE_LIB);
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ 0 });
    struct rdn_plugin *p = open_native(ps, &attempt, 1);
    for (int i = 0; i < 20; i++) {
        char path[200];
        int64_t got;
        bool same = true;
        redan_error e = { 0 };
        snprintf(path, sizeof path, "%s/plugin.yaml", dir);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "%s# %d\n", yaml_native, i);          /* another content, so another file in the zygote's root */
        fclose(f);
        assert_int_equal(rdn_plugin_reload(p, NULL, &same, &e), 0);
        assert_false(same);
        assert_int_equal(ask(p, 2, &got), RDN_OUT_VALUE);
    }
    rdn_plugin_close(p);
    rdn_plugins_close(ps);
}

static void test_foreign_functions(void **state) {
    (void)state;
    static const char *const sides[] = { "buy", "sell" };
    static const struct rdn_wire_param mix[] = { { "a", { .kind = RDN_WIRE_FLOAT } }, { "n", { .kind = RDN_WIRE_INT } }, { "up", { .kind = RDN_WIRE_BOOL } } };
    static const struct rdn_wire_param text[] = { { "s", { .kind = RDN_WIRE_TEXT, .size = 8 } } };
    static const struct rdn_wire_param side[] = { { "day", { .kind = RDN_WIRE_DATE } }, { "side", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 } } };
    const struct rdn_function_spec fns[] = { { "mix", mix, 3, { .kind = RDN_WIRE_FLOAT }, 0 }, { "letters", text, 1, { .kind = RDN_WIRE_INT }, 0 },
                                             { "side_of", side, 2, { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, 0 } };
    project(yaml_foreign, FOREIGN_LIB);
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ 0 });
    struct rdn_plugin *p = open_native(ps, fns, 3);
    struct rdn_wire_value in[] = { { .f = 1.5 }, { .i = 4 }, { .b = true }, { .f = 1.5 }, { .i = 4 }, { .b = false } }, out[2];
    uint8_t outs[2];
    assert_int_equal(rdn_plugin_call_fn(p, 0, 0, in, 3, 2, 0, 0, out, outs), RDN_OUT_VALUE);
    assert_true(out[0].f == 5.5 && out[1].f == -2.5);
    struct rdn_wire_value words[] = { { .text = { "abc", 3 } }, { .text = { "12345678", 8 } } };
    assert_int_equal(rdn_plugin_call_fn(p, 1, 0, words, 1, 2, 0, 0, out, outs), RDN_OUT_BAD_VALUE);
    assert_true(outs[0] == RDN_OUT_VALUE && out[0].i == 3 && outs[1] == RDN_OUT_BAD_VALUE);      /* the second is not terminated */
    struct rdn_wire_value days[] = { { .i = 10 }, { .i = 1 }, { .i = -10 }, { .i = 0 } };
    rdn_plugin_call_fn(p, 2, 0, days, 2, 2, 0, 0, out, outs);
    assert_true(outs[0] == RDN_OUT_VALUE && out[0].i == 0 && outs[1] == RDN_OUT_BAD_VALUE);      /* 7 is no side */
    rdn_plugin_close(p);
    rdn_plugins_close(ps);
}

/* --- threads ---------------------------------------------------------------------------------------------------- */

static const char *const yaml_pool = "schema: 1\nplugin: {id: org.example.pool, version: 1.0.0, kind: native, entry: lib.so}\nfunctions:\n"
                                     "  pool: {signature: \"(which: int) -> int\"}\nlimits: {time_cap_ms: 200, max_rows: 64}\nnative: {threads: %d}\nconfig: {want: %d}\n";
static const struct rdn_function_spec pooled = { "pool", &which, 1, { .kind = RDN_WIRE_INT }, 0 };

/* Threads that the manifest asks for, the library starts, and the operator allows. */
static int open_pool(struct rdn_plugins *ps, int asked, int want, uint32_t allowed, struct rdn_plugin **ret, redan_error *reterr) {
    char yaml[512];
    snprintf(yaml, sizeof yaml, yaml_pool, asked, want);
    project(yaml, THREADS_LIB);
    struct rdn_plugin_spec s = { .name = "pool", .file = dir, .fns = &pooled, .nfns = 1, .native_threads = allowed };
    *ret = NULL;
    return rdn_plugin_open(ps, &s, ret, reterr);
}

static struct rdn_plugin *good_pool(struct rdn_plugins *ps, int threads) {
    struct rdn_plugin *p;
    redan_error e = { 0 };
    if (open_pool(ps, threads, threads, (uint32_t)threads, &p, &e) < 0)
        fail_msg("%d threads: %s %s", threads, e.id, e.text);
    return p;
}

static void pool_answers(const char *tier, struct rdn_plugin *p, int64_t op, int64_t want) {
    int64_t got;
    enum rdn_outcome how = ask(p, op, &got);
    if (how != RDN_OUT_VALUE || got != want)
        fail_msg("%s: pool(%lld): %s, got %lld, expected %lld", tier, (long long)op, rdn_outcome_text(how), (long long)got, (long long)want);
}

/* Three threads work, and neither they nor the caller get a fourth, a process, a file or code. */
static void test_threads(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof tiers / sizeof *tiers; t++) {
        struct rdn_plugins *ps = host(tiers[t].o);
        struct rdn_plugin *p = good_pool(ps, 3);
        pool_answers(tiers[t].name, p, 20, 3);
        for (int i = 0; i < 100; i++)
            pool_answers(tiers[t].name, p, 0, 3 * 499500);
        for (int64_t op = 1; op < 6; op++) {
            pool_answers(tiers[t].name, p, op, 0);
            pool_answers(tiers[t].name, p, op + 22, 0);
        }
        int64_t blocks;
        assert_int_equal(ask(p, 7, &blocks), RDN_OUT_VALUE);             /* of 256 KiB: the stacks are in the cap, too */
        if (blocks < 24 || blocks > 32)
            fail_msg("%s: three threads have %.2f MiB of 8", tiers[t].name, (double)blocks / 4);
        pool_answers(tiers[t].name, p, 0, 3 * 499500);
        rdn_plugin_close(p);
        rdn_plugins_close(ps);
    }
}

/* One more than allowed, and as many as it gets: refused while it loads, on every tier. */
static void test_too_many_threads(void **state) {
    (void)state;
    struct rdn_plugin *p;
    redan_error e = { 0 };
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ 0 });
    assert_true(open_pool(ps, 3, 3, 2, &p, &e) < 0);
    assert_string_equal(e.id, "R4206");
    assert_string_equal(e.text, "native.threads asks for 3, 2 are allowed here");
    assert_int_equal(open_pool(ps, 0, 1, 4, &p, &e), 0);                 /* allowed, and not asked for */
    pool_answers("not asked for", p, 20, 0);
    rdn_plugin_close(p);
    rdn_plugins_close(ps);
    for (size_t t = 0; t < sizeof tiers / sizeof *tiers; t++) {
        ps = host(tiers[t].o);
        for (int want = 4; want < 100; want += 60) {
            e = (redan_error){ 0 };
            if (open_pool(ps, 3, want, 3, &p, &e) == 0 || strcmp(e.id, "R4206") || strncmp(e.text, "native.threads is 3, the library runs ", 38))
                fail_msg("%s: %d threads: %s %s", tiers[t].name, want, e.id, e.text);
        }
        rdn_plugin_close(good_pool(ps, 3));
        rdn_plugins_close(ps);
    }
}

/* Loops in all threads, with the caller and without it: the kill ends every one of them. */
static void test_endless_threads(void **state) {
    (void)state;
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ 0 });
    struct rdn_plugin *p = good_pool(ps, 3);
    struct rdn_plugin_status *s = calloc(1, sizeof *s);
    struct rdn_wire_value in = { .i = 21 }, out;
    assert_non_null(s);
    for (int i = 0; i < 3; i++) {
        int64_t deadline = rdn_mono_ns() + 20000000;
        assert_int_equal(rdn_plugin_call(p, 0, &in, 1, 0, deadline, &out), RDN_OUT_TIMEOUT);
        assert_int_equal(rdn_plugin_settle(p, 0, INT64_C(3000000000)), RDN_OUT_KILLED);
        rdn_plugin_status(p, s);
        printf("three threads and the caller loop: gone %.2f ms after the deadline\n", (double)(s->gone_ns - deadline) / 1e6);
        assert_in_range(s->gone_ns - deadline, 1, 200000000);
        rdn_plugin_resume(p);
        pool_answers("after the kill", p, 0, 3 * 499500);
    }
    uint64_t before = s->deaths;
    pool_answers("loops go on", p, 22, 0);
    for (int i = 0; i < 100 && s->deaths == before; i++) {
        usleep(50000);
        rdn_plugin_status(p, s);
    }
    assert_int_equal(s->deaths, before + 1);             /* for what it computes between calls */
    rdn_plugin_close(p);
    rdn_plugins_close(ps);
    free(s);
}

/* Without the filter the rows above get what they are after. */
static void test_threads_control(void **state) {
    (void)state;
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ .ablate = RDN_GOT_SECCOMP, .require_tier = RDN_TIER_MINIMAL });
    struct rdn_plugin *p = good_pool(ps, 3);
    pool_answers("no filter: one more thread", p, 23, 1);
    rdn_plugin_close(p);
    rdn_plugins_close(ps);
}

/* --- state over a reload ---------------------------------------------------------------------------------------- */

static const char *const yaml_state = "schema: 1\nplugin: {id: org.example.stateful, version: 1.0.%d, kind: native, entry: lib.so}\nfunctions:\n"
                                      "  count: {signature: \"(x: int) -> int\"}\nlimits: {time_cap_ms: 900, max_rows: 64}\nstate: {mode: %s}\n";
static const struct rdn_function_spec counted = { "count", &(struct rdn_wire_param){ "x", { .kind = RDN_WIRE_INT } }, 1, { .kind = RDN_WIRE_INT }, 0 };

static void stateful(int variant, int version, const char *mode) {
    char lib[300], yaml[512];
    snprintf(lib, sizeof lib, "%s/stateful%d.so", STATEFUL_DIR, variant);
    snprintf(yaml, sizeof yaml, yaml_state, version, mode);
    project(yaml, lib);
}

static int64_t count_on(struct rdn_plugin *p, int times) {
    int64_t got = 0;
    for (int i = 0; i < times; i++)
        if (ask(p, 0, &got) != RDN_OUT_VALUE)
            fail_msg("call %d", i);
    return got;
}

static const struct { const char *note, *mode; int from, to; int64_t next; const char *words; } moves[] = {
    { "carried", "carry", 0, 0, 2004, NULL },
    { "not asked for", "none", 0, 0, 1001, NULL },
    { "no save: nothing to carry", "carry", 6, 0, 1001, NULL },
    { "no load", "carry", 0, 1, 1004, "LookupError: the old library has save, this one has no load" },
    { "load refuses", "carry", 0, 2, 1004, "on_load: load: another currency" },
    { "save refuses", "carry", 3, 0, 1004, "on_save: error: the books are open (stateful.c:7)" },
    { "too much", "carry", 4, 0, 1004, "on_save: save: 1048577 bytes, at most 1048576 are carried" },
    { "save loops", "carry", 5, 0, 0, "on_save: no answer within 20 ms" },
};

/* Three calls, a reload, and the next call: it goes on counting, begins anew, or the old library goes on. False: the machine was too
 * busy for the 20 ms of a hand-over that has nothing to do with the row. */
static bool move(struct rdn_plugins *ps, size_t i) {
    redan_error e = { 0 };
    const char *words = moves[i].words ? moves[i].words : "";
    stateful(moves[i].from, 0, moves[i].mode);
    struct rdn_plugin *p = open_native(ps, &counted, 1);
    assert_int_equal(count_on(p, 3), 1003);
    stateful(moves[i].to, 1, moves[i].mode);
    int rc = rdn_plugin_reload(p, NULL, NULL, &e);
    bool busy = rc < 0 && strstr(e.text, "no answer within 20 ms") && !strstr(words, "no answer");
    if (!busy && (!rc != !moves[i].words || (rc < 0 && strcmp(e.id, "R4326")) || !strstr(e.text, words)))
        fail_msg("%s: %s %s", moves[i].note, e.id, e.text);
    int64_t got = moves[i].next && !busy ? count_on(p, 1) : 0;         /* after a loop in save there is no state any more */
    if (!busy && got != moves[i].next)
        fail_msg("%s: %lld, expected %lld", moves[i].note, (long long)got, (long long)moves[i].next);
    rdn_plugin_close(p);
    return !busy;
}

static void test_state(void **state) {
    (void)state;
    struct rdn_plugins *ps = host((struct rdn_plugins_options){ 0 });
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        int tries = 5;
        while (!move(ps, i) && --tries)
            ;
        assert_true(tries);
    }
    rdn_plugins_close(ps);
}

static int set_up(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state) {
    char path[200];
    (void)state;
    snprintf(path, sizeof path, "%s/lib.so", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/plugin.yaml", dir);
    unlink(path);
    return rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_out),     cmocka_unit_test(test_late_and_dead),     cmocka_unit_test(test_wrong_signature),
        cmocka_unit_test(test_reload_many),     cmocka_unit_test(test_foreign_functions), cmocka_unit_test(test_control), cmocka_unit_test(test_faked_filter),
        cmocka_unit_test(test_state),           cmocka_unit_test(test_threads),           cmocka_unit_test(test_too_many_threads),
        cmocka_unit_test(test_endless_threads), cmocka_unit_test(test_threads_control),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
