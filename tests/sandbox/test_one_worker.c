/* SPDX-License-Identifier: Apache-2.0
 * test_one_worker.c: `instances: one`: all lanes call one worker, in turn; and what a reload takes over from a new manifest. */
#include "tests/sandbox/kit.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { LANES = 4, CALLS = 400 };
#define COUNTER "import redan\nn = 0\n@redan.plugin\ndef f() -> int:\n    global n\n    n += 1\n    return n\n"

struct caller { struct rdn_plugin *p; uint32_t lane; int64_t *seen; int bad; };
static void *count_on(void *arg) {
    struct caller *c = arg;
    for (int i = 0; i < CALLS; i++) {
        struct rdn_wire_value got = { .i = 0 };
        c->bad += rdn_plugin_call(c->p, c->lane, NULL, 0, 0, 0, &got) != RDN_OUT_VALUE;
        c->seen[i] = got.i;
    }
    return NULL;
}

/* Workers of the newest zygotes that count calls of `lanes` lanes; *ret_most: the largest answer, *ret_twice: answers that came twice. */
static int workers(void) {
    int zygotes[16], kids[256], k = 0, n = kit_children(getpid(), zygotes, 16);
    for (int i = 0; i < n; i++)
        k += kit_children(zygotes[i], kids, 256);
    return k;
}

static void count(bool one, int64_t *ret_most, int *ret_twice, int *ret_workers) {
    static int64_t seen[LANES][CALLS];
    static uint8_t hit[LANES * CALLS + 1];
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .ret = KIT_T(INT), .lanes = LANES, .one = one }, COUNTER);
    struct caller c[LANES];
    pthread_t threads[LANES];
    memset(hit, 0, sizeof hit);
    for (uint32_t i = 0; i < LANES; i++) {
        c[i] = (struct caller){ p, i, seen[i], 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, &c[i]), 0);
    }
    *ret_workers = workers();
    *ret_most = *ret_twice = 0;
    for (uint32_t i = 0; i < LANES; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(c[i].bad, 0);
        for (int k = 0; k < CALLS; k++) {
            *ret_most = seen[i][k] > *ret_most ? seen[i][k] : *ret_most;
            *ret_twice += hit[seen[i][k]]++ != 0;
            assert_true(k == 0 || seen[i][k] > seen[i][k - 1]);
        }
    }
    assert_int_equal(kit_status(p)->calls, LANES * CALLS);
    rdn_plugin_close(p);
}

/* Four lanes, one count without a gap; and, as a control, four counts without `one`. */
static void global_state(void **state) {
    int64_t most;
    int twice, n;
    (void)state;
    count(true, &most, &twice, &n);
    assert_true(most == LANES * CALLS && twice == 0 && n == 1);
    count(false, &most, &twice, &n);
    assert_true(most == CALLS && twice == (LANES - 1) * CALLS && n == LANES);
}

/* --- waiting for a turn ----------------------------------------------------------------------------------------- */

struct slow { struct rdn_plugin *p; enum rdn_outcome out; _Atomic bool begun; };
static void *slow_call(void *arg) {
    struct slow *s = arg;
    struct rdn_wire_value in = { .i = 300 }, got;
    atomic_store(&s->begun, true);
    s->out = rdn_plugin_call(s->p, 0, &in, 1, 0, 0, &got);
    return NULL;
}

static void waits_within_deadline(void **state) {
    (void)state;
    static const struct rdn_wire_param ms = { "ms", { .kind = RDN_WIRE_INT } };
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .params = &ms, .nparams = 1, .ret = KIT_T(INT), .lanes = 2, .one = true },
        "import redan, time\n@redan.plugin\ndef f(ms: int) -> int:\n    end = time.perf_counter() + ms / 1000\n    while time.perf_counter() < end: pass\n    return ms\n");
    struct slow s = { .p = p };
    struct rdn_wire_value in = { .i = 0 }, got = { .i = -1 };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, slow_call, &s), 0);
    while (!atomic_load(&s.begun))
        usleep(100);
    usleep(50000);
    int64_t start = rdn_mono_ns();
    enum rdn_outcome early = rdn_plugin_call(p, 1, &in, 1, 0, start + 20 * KIT_MS, &got);
    int64_t took = rdn_mono_ns() - start;
    enum rdn_outcome patient = rdn_plugin_call(p, 1, &in, 1, 0, 0, &got);
    pthread_join(thread, NULL);
    assert_int_equal(early, RDN_OUT_TIMEOUT);           /* its own deadline, not that of the call before it */
    assert_true(took < 200 * KIT_MS);
    assert_int_equal(patient, RDN_OUT_VALUE);
    assert_int_equal(got.i, 0);
    assert_int_equal(s.out, RDN_OUT_VALUE);             /* the call that was waited for is nobody's fault */
    assert_int_equal(kit_status(p)->restarts, 0);
    assert_false(kit_status(p)->tripped);
    rdn_plugin_close(p);
}

/* Text answers stay with the lane that got them; and a worker that dies is replaced for all lanes. */
static void own_answers(void **state) {
    (void)state;
    static const struct rdn_wire_param s = { "s", { .kind = RDN_WIRE_TEXT, .size = 16 } };
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .params = &s, .nparams = 1, .ret = KIT_TEXT(32), .lanes = 3, .one = true },
        "import redan, os\n@redan.plugin\ndef f(s: str) -> str:\n    if s == 'die': os._exit(1)\n    return 'for ' + s\n");
    struct rdn_wire_value in[3] = { { .text = { "a", 1 } }, { .text = { "bb", 2 } }, { .text = { "die", 3 } } }, got[3];
    for (uint32_t lane = 0; lane < 2; lane++)
        assert_int_equal(rdn_plugin_call(p, lane, &in[lane], 1, 0, 0, &got[lane]), RDN_OUT_VALUE);
    assert_true(got[0].text.n == 5 && !memcmp(got[0].text.p, "for a", 5));
    assert_true(got[1].text.n == 6 && !memcmp(got[1].text.p, "for bb", 6));
    assert_int_equal(rdn_plugin_call(p, 2, &in[2], 1, 0, 0, &got[2]), RDN_OUT_DIED);
    rdn_plugin_settle(p, 2, 2000 * KIT_MS);
    for (uint32_t lane = 0; lane < 3; lane++)
        assert_int_equal(rdn_plugin_call(p, lane, &in[0], 1, 0, 0, &got[lane]), RDN_OUT_VALUE);
    assert_int_equal(kit_status(p)->restarts, 1);
    rdn_plugin_close(p);
}

/* --- what a reload takes over ----------------------------------------------------------------------------------- */

#define HUNGRY "import redan, time\nK = %d\n@redan.plugin\ndef f(ms: int) -> int:\n    end = time.perf_counter() + ms / 1000\n" \
    "    while time.perf_counter() < end: pass\n    a, n = [], 0\n    try:\n        while n < 64: a.append(bytes(1 << 20)); n += 1\n    except MemoryError: a.clear()\n    return n\n"

static const char *folder_with(const char *limits, const char *id, int k) {
    static char dir[256];
    char text[1024];
    snprintf(dir, sizeof dir, "%s", kit_file("x", ""));
    *strrchr(dir, '/') = 0;
    snprintf(text, sizeof text, "schema: 1\nplugin: {id: %s, version: 1.0.0, entry: hungry.py}\nfunctions:\n  f: {signature: \"(ms: int) -> int\"}\n%s", id, limits);
    kit_file("plugin.yaml", text);
    snprintf(text, sizeof text, HUNGRY, k);
    kit_file("hungry.py", text);
    return dir;
}

static void new_limits(void **state) {
    (void)state;
    static const struct rdn_wire_param ms = { "ms", { .kind = RDN_WIRE_INT } };
    struct rdn_plugin_spec s = { .name = "f", .file = folder_with("limits: {mem_cap_mib: 24, time_cap_ms: 900, max_rows: 64}\n", "org.example.hungry", 0), .params = &ms,
                                 .nparams = 1, .ret = KIT_T(INT), .load_cap_ms = 10000 };
    struct rdn_plugin *p;
    struct rdn_wire_value in = { .i = 0 }, many[64] = { 0 }, got[64];
    uint8_t outs[64];
    redan_error e = { 0 };
    if (rdn_plugin_open(kit, &s, &p, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    assert_int_equal(rdn_plugin_call(p, 0, &in, 1, 0, 0, got), RDN_OUT_VALUE);
    assert_in_range(got[0].i, 20, 24);
    assert_int_equal(rdn_plugin_rows_max(p, 0), 64);
    in.i = 100;
    assert_int_equal(rdn_plugin_call(p, 0, &in, 1, 0, 0, got), RDN_OUT_VALUE);          /* 100 ms of 900 */

    const char *dir = folder_with("limits: {mem_cap_mib: 8, time_cap_ms: 60, max_rows: 16}\n", "org.example.hungry", 1);
    if (rdn_plugin_reload(p, dir, NULL, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    in.i = 0;
    assert_int_equal(rdn_plugin_call(p, 0, &in, 1, 0, rdn_mono_ns() + 900 * KIT_MS, got), RDN_OUT_VALUE);
    assert_in_range(got[0].i, 5, 8);
    assert_int_equal(rdn_plugin_rows_max(p, 0), 16);
    assert_int_equal(rdn_plugin_call_rows(p, 0, many, 1, 17, 0, 0, got, outs), RDN_OUT_REFUSED);
    in.i = 500;
    int64_t start = rdn_mono_ns();
    assert_int_equal(rdn_plugin_call(p, 0, &in, 1, 0, start + 900 * KIT_MS, got), RDN_OUT_TIMEOUT);
    assert_true(rdn_mono_ns() - start < 400 * KIT_MS);
    rdn_plugin_settle(p, 0, 2000 * KIT_MS);

    static const struct { const char *limits, *id, *words; } bad[] = {
        { "", "org.example.other", "cannot bring another plugin, org.example.other" },
        { "limits: {instances: one}\n", "org.example.hungry", "limits.instances cannot change" },
        { "native: {threads: 2}\n", "org.example.hungry", "native.threads asks for 2, 0 are allowed" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rdn_plugin_reload(p, folder_with(bad[i].limits, bad[i].id, 2), NULL, &e) == 0 || strcmp(e.id, "R4206") || !strstr(e.text, bad[i].words))
            fail_msg("%s: %s %s", bad[i].words, e.id, e.text);
    in.i = 0;
    assert_int_equal(rdn_plugin_call(p, 0, &in, 1, 0, 0, got), RDN_OUT_VALUE);           /* the text before goes on */
    rdn_plugin_close(p);
}

/* The manifest says it, too. Which trust group a plugin is in, and so whose memory its zygote had, is not for its manifest to say. */
static void by_manifest(void **state) {
    int zygotes[16];
    (void)state;
    static const struct rdn_wire_param ms = { "ms", { .kind = RDN_WIRE_INT } };
    struct rdn_plugin_spec s = { .name = "f", .file = folder_with("limits: {instances: one}\n", "org.example.hungry", 3), .params = &ms, .nparams = 1,
                                 .ret = KIT_T(INT), .load_cap_ms = 10000, .lanes = LANES };
    struct rdn_plugin *p;
    redan_error e = { 0 };
    if (rdn_plugin_open(kit, &s, &p, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    assert_int_equal(kit_status(p)->lanes_ready, 1);
    assert_int_equal(workers(), 1);
    int before = kit_children(getpid(), zygotes, 16);
    const char *second = folder_with("limits: {instances: one}\n", "org.example.hungry, group: second", 4);
    assert_true(rdn_plugin_reload(p, second, NULL, &e) < 0);
    assert_string_equal(e.id, "R4209");
    rdn_plugin_close(p);
    s.file = second;
    assert_true(rdn_plugin_open(kit, &s, &p, &e) < 0);
    assert_string_equal(e.id, "R4209");
    s.group = "third";
    assert_true(rdn_plugin_open(kit, &s, &p, &e) < 0);
    assert_string_equal(e.id, "R4209");
    assert_int_equal(kit_children(getpid(), zygotes, 16), before);
    s.group = "second";
    if (rdn_plugin_open(kit, &s, &p, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    assert_int_equal(kit_children(getpid(), zygotes, 16), before + 1);
    rdn_plugin_close(p);
}

/* A hundred rows of 100 ms, each in time: the opener is told after ten times the load cap, not after ten seconds. */
static void slow_rows(void **state) {
    (void)state;
    static const struct rdn_wire_param ms = { "ms", { .kind = RDN_WIRE_INT } };
    char rows[2048] = "function,ms,answer\n";
    for (int i = 0; i < 100; i++)
        strcat(rows, "f,100,0\n");
    struct rdn_plugin_spec s = { .name = "f", .file = folder_with("limits: {max_rows: 1, time_cap_ms: 1000}\nselftest: {rows: rows.csv}\n", "org.example.slow", 0),
                                 .params = &ms, .nparams = 1, .ret = KIT_T(INT), .load_cap_ms = 300 };
    struct rdn_plugin *p;
    redan_error e = { 0 };
    kit_file("hungry.py", "import redan, time\n@redan.plugin\ndef f(ms: int) -> int:\n    end = time.perf_counter() + ms / 1000\n    while time.perf_counter() < end: pass\n"
                          "    return 0\n");
    kit_file("rows.csv", rows);
    int64_t start = rdn_mono_ns();
    assert_true(rdn_plugin_open(kit, &s, &p, &e) < 0);
    if (strcmp(e.id, "R4325") || !strstr(e.text, "in all") || e.line < 2 || rdn_mono_ns() - start > 9000 * KIT_MS)
        fail_msg("%s line %u: %s, after %.1f s", e.id, e.line, e.text, (double)(rdn_mono_ns() - start) / 1e9);
}

/* --- eight lanes ------------------------------------------------------------------------------------------------ */

enum { EIGHT = 8, RELOADS = 40 };
static void eight_lanes(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .ret = KIT_T(INT), .lanes = EIGHT }, "import redan\n@redan.plugin\ndef f() -> int:\n    return -1\n");
    int64_t took[RELOADS];
    for (int i = 0; i < RELOADS; i++) {
        char text[128];
        struct rdn_wire_value got = { .i = -1 };
        snprintf(text, sizeof text, "import redan\n@redan.plugin\ndef f() -> int:\n    return %d\n", i);
        const char *file = kit_file("new.py", text);
        int64_t start = rdn_mono_ns();
        assert_int_equal(rdn_plugin_reload(p, file, NULL, NULL), 0);
        for (uint32_t lane = 0; lane < EIGHT; lane++) {
            assert_int_equal(rdn_plugin_call(p, lane, NULL, 0, 0, 0, &got), RDN_OUT_VALUE);
            assert_int_equal(got.i, i);
        }
        took[i] = rdn_mono_ns() - start;
    }
    assert_int_equal(kit_status(p)->lanes_ready, EIGHT);
    for (int tries = 0; tries < 200 && workers() > EIGHT; tries++)
        usleep(10000);
    assert_int_equal(workers(), EIGHT);
    rdn_plugin_close(p);
    int64_t p99 = kit_percentile(took, RELOADS, 99);
    printf("eight lanes, reload to the first answer of the last: p50 %.2f ms, p99 %.2f ms\n", (double)kit_percentile(took, RELOADS, 50) / 1e6, (double)p99 / 1e6);
    kit_judge("eight lanes, reload p99", p99, 25 * KIT_MS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(global_state), cmocka_unit_test(waits_within_deadline), cmocka_unit_test(own_answers), cmocka_unit_test(new_limits),
        cmocka_unit_test(by_manifest),  cmocka_unit_test(slow_rows), cmocka_unit_test(eight_lanes),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
