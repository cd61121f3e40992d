/* SPDX-License-Identifier: Apache-2.0
 * test_times.c: every way to take too long, what ends it and when, as a table; and the plugin beside it that must not notice.
 *
 * Each row is called again and again with 5 ms to answer and 5 ms of grace. `lane` is when the lane had its default after the
 * deadline, `worker` when the worker was usable again or gone, `new` when the next one was ready. REDAN_FIGURES=1 makes a
 * missed bar a failure and calls each row a hundred times. */
#include "tests/sandbox/kit.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define F0 "import redan\n@redan.plugin\ndef f() -> int:\n"
enum how { SOFT, HARD, RAISES };                        /* the stop signal; the kill; an exception at once, never late */
static const char *const ends[] = { "soft stop", "killed", "raises" };
static const struct { const char *note, *text; enum how how; enum rdn_outcome end; const char *error; } rows[] = {
    { "loop", F0 "    while True: pass\n", SOFT, RDN_OUT_TIMEOUT, "PluginTimeout" },
    { "loop that swallows", F0 "    while True:\n        try:\n            x = 0\n            while True: x += 1\n        except BaseException: pass\n", HARD, RDN_OUT_KILLED, "" },
    { "bigint power", F0 "    return 7 ** 5_000_000 % 10\n", SOFT, RDN_OUT_TIMEOUT, "PluginTimeout" },
    { "bigint to text", "import redan, sys\nsys.set_int_max_str_digits(0)\n@redan.plugin\ndef f() -> int:\n    return len(str(1 << 1_500_000))\n", SOFT,
      RDN_OUT_TIMEOUT, "PluginTimeout" },
    { "regular expression", "import redan, re\n@redan.plugin\ndef f() -> int:\n    re.match('(a+)+$', 'a' * 40 + 'b')\n    return 1\n", SOFT, RDN_OUT_TIMEOUT,
      "PluginTimeout" },
    { "loop in C", F0 "    return sum(range(10**12))\n", HARD, RDN_OUT_KILLED, "" },
    { "loop in C over a list", "import redan\na = [0] * 1000\n@redan.plugin\ndef f() -> int:\n    return max(map(a.count, range(10**9)))\n", HARD, RDN_OUT_KILLED, "" },
    { "sleep", "import redan, time\n@redan.plugin\ndef f() -> int:\n    time.sleep(60)\n", RAISES, RDN_OUT_EXCEPTION, "PermissionError" },
    { "fork", "import redan, os\n@redan.plugin\ndef f() -> int:\n    return os.fork()\n", RAISES, RDN_OUT_EXCEPTION, "PermissionError" },
    { "thread", "import redan, threading\n@redan.plugin\ndef f() -> int:\n    threading.Thread(target=print).start()\n", RAISES, RDN_OUT_EXCEPTION,
      "RuntimeError: can't start new thread" },
    { "memory", F0 "    return len([bytes(1 << 16) for _ in range(1 << 20)])\n", RAISES, RDN_OUT_MEMORY, "MemoryError" },
};

enum { MOST = 100 };
static int calls_a_row(void) { return getenv("REDAN_FIGURES") ? MOST : 25; }

/* unlucky: a busy machine did not let the worker run for 5 ms: killed although a soft stop would have done, or stopped before
 * it had begun what cannot be stopped softly. */
struct times { int64_t lane[MOST], worker[MOST], fresh[MOST]; int n, unlucky; };

static void one(struct rdn_plugin *p, size_t i, struct times *t) {
    struct rdn_wire_value got;
    bool raises = rows[i].how == RAISES;
    int64_t deadline = rdn_mono_ns() + (raises ? 2000 : 5) * KIT_MS;
    enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, deadline, &got);
    int64_t now = rdn_mono_ns();
    enum rdn_outcome end = rdn_plugin_settle(p, 0, 5000 * KIT_MS);
    int64_t usable = rdn_mono_ns();
    const struct rdn_plugin_status *s = kit_status(p);
    if (((rows[i].how == SOFT && end == RDN_OUT_KILLED) || (rows[i].how == HARD && end == RDN_OUT_TIMEOUT)) && ++t->unlucky <= calls_a_row() / 4) {
        rdn_plugin_resume(p);
        return;
    }
    if (out != (raises ? rows[i].end : RDN_OUT_TIMEOUT) || end != rows[i].end || !strstr(s->error, rows[i].error))
        fail_msg("%s: %s, then %s; %s", rows[i].note, rdn_outcome_text(out), rdn_outcome_text(end), s->error);
    if (!s->lanes_ready)
        fail_msg("%s: no worker is ready afterwards", rows[i].note);
    t->lane[t->n] = raises ? now - (deadline - 2000 * KIT_MS) : now - deadline;
    t->worker[t->n] = raises ? t->lane[t->n] : (rows[i].how == HARD ? s->gone_ns : usable) - deadline;
    t->fresh[t->n++] = rows[i].how == HARD ? usable - s->gone_ns : 0;
    rdn_plugin_resume(p);                               /* neither breaker nor quarantine: each call is on its own */
}

static double at(int64_t *v, int n, int percent) { return (double)kit_percentile(v, (size_t)n, percent) / 1e6; }

static void time_table(void **state) {
    (void)state;
    int64_t gone = 0, lane = 0;
    printf("%-24s %-10s %-10s %15s %15s %15s   ms, p50 / p99 of %d\n", "", "outcome", "by", "lane", "worker", "new", calls_a_row());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct times t = { .n = 0 };
        struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .ret = KIT_T(INT) }, rows[i].text);
        while (t.n < calls_a_row())
            one(p, i, &t);
        const struct rdn_plugin_status *s = kit_status(p);
        if (s->restarts != (uint64_t)(rows[i].how == HARD ? t.n : rows[i].how == SOFT ? t.unlucky : 0))
            fail_msg("%s: %llu restarts", rows[i].note, (unsigned long long)s->restarts);
        rdn_plugin_close(p);
        double w50 = at(t.worker, t.n, 50), w99 = at(t.worker, t.n, 99);
        printf("%-24s %-10s %-10s %6.3f / %6.3f %6.3f / %6.3f %6.3f / %6.3f%s\n", rows[i].note, rdn_outcome_text(rows[i].end), ends[rows[i].how],
               at(t.lane, t.n, 50), at(t.lane, t.n, 99), w50, w99, at(t.fresh, t.n, 50), at(t.fresh, t.n, 99),
               t.unlucky ? "  some ended the other way: a busy machine" : "");
        int64_t p50 = kit_percentile(t.worker, (size_t)t.n, 50), l50 = kit_percentile(t.lane, (size_t)t.n, 50);
        gone = rows[i].how == HARD && p50 > gone ? p50 : gone;
        lane = rows[i].how != RAISES && l50 > lane ? l50 : lane;
    }
    kit_judge("worker gone after the deadline, hard kill, worst p50", gone, 8 * KIT_MS);
    kit_judge("default in the lane's hands after the deadline, worst p50", lane, KIT_MS);
}

/* --- the plugin beside it --------------------------------------------------------------------------------------- */

static const char *const mean[] = {
    F0 "    raise ValueError('x' * 1000)\n", F0 "    while True: pass\n", "import redan, os\n@redan.plugin\ndef f() -> int:\n    os._exit(1)\n",
    F0 "    while True:\n        try:\n            x = 0\n            while True: x += 1\n        except BaseException: pass\n",
    F0 "    for _ in range(100): print('y' * 1000)\n    return 1\n",
    "import redan, os\n@redan.plugin\ndef f() -> int:\n    while True:\n        try: os.getppid()\n        except OSError: pass\n",
    F0 "    return len([bytes(1 << 16) for _ in range(1 << 20)])\n",
};
enum { NMEAN = sizeof mean / sizeof *mean, HEALTHY = 10000 };
struct trouble { struct rdn_plugin *p[NMEAN]; _Atomic bool stop; uint64_t calls, failed; };

static void *make_trouble(void *arg) {
    struct trouble *t = arg;
    for (size_t i = 0; !atomic_load(&t->stop); i = (i + 1) % NMEAN) {
        struct rdn_wire_value got;
        t->failed += rdn_plugin_call(t->p[i], 0, NULL, 0, 0, rdn_mono_ns() + 2 * KIT_MS, &got) > RDN_OUT_UNDEFINED;
        t->calls++;
        rdn_plugin_resume(t->p[i]);
    }
    return NULL;
}

/* Calls the good plugin; answers the p99 of a round trip. Any other outcome than its value fails the test. */
static int64_t serve(struct rdn_plugin *good) {
    static int64_t took[HEALTHY];
    for (int i = 0; i < HEALTHY; i++) {
        struct rdn_wire_value got = { .i = 0 };
        int64_t start = rdn_mono_ns();
        enum rdn_outcome out = rdn_plugin_call(good, 0, NULL, 0, 0, 0, &got);
        took[i] = rdn_mono_ns() - start;
        if (out != RDN_OUT_VALUE || got.i != 3)
            fail_msg("healthy call %d: %s", i, rdn_outcome_text(out));
        if (i % 16 == 0)
            usleep(50);                                 /* so that trouble gets its turn on a machine with one free core */
    }
    return kit_percentile(took, HEALTHY, 99);
}

static void neighbour(void **state) {
    (void)state;
    struct trouble t = { .calls = 0 };
    pthread_t thread;
    struct rdn_plugin_spec patient = { .ret = KIT_T(INT), .time_cap_ns = 2000 * KIT_MS };
    struct rdn_plugin *good = kit_open(patient, F0 "    return 3\n");
    int64_t alone = serve(good);
    for (size_t i = 0; i < NMEAN; i++)
        t.p[i] = kit_open((struct rdn_plugin_spec){ .ret = KIT_T(INT) }, mean[i]);
    assert_int_equal(pthread_create(&thread, NULL, make_trouble, &t), 0);
    int64_t beside = serve(good);
    atomic_store(&t.stop, true);
    pthread_join(thread, NULL);
    printf("healthy: %d calls alone, %d beside %llu calls of plugins of which %llu failed, none missed; p99 %.3f and %.3f ms\n", HEALTHY, HEALTHY,
           (unsigned long long)t.calls, (unsigned long long)t.failed, (double)alone / 1e6, (double)beside / 1e6);
    assert_true(t.calls >= NMEAN && t.failed > t.calls / 2);
    assert_int_equal(kit_status(good)->restarts, 0);
    for (size_t i = 0; i < NMEAN; i++)
        rdn_plugin_close(t.p[i]);
    rdn_plugin_close(good);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(time_table), cmocka_unit_test(neighbour) };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
