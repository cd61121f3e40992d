/* SPDX-License-Identifier: Apache-2.0
 * test_limits.c: the deadline, breaker and quarantine. Prints the figures it judges. */
#include "tests/sandbox/kit.h"
#include <unistd.h>

#define F0 "import redan\n@redan.plugin\ndef f() -> int:\n"
static struct rdn_plugin_spec int_spec(void) { return (struct rdn_plugin_spec){ .ret = KIT_T(INT) }; }

/* --- time ------------------------------------------------------------------------------------------------------- */

/* Each way to be late, its end, and whether the same worker goes on. */
static const struct { const char *note, *text; enum rdn_outcome end; bool same_worker; int cap_ms; } abuses[] = {
    { "endless loop", F0 "    while True: pass\n", RDN_OUT_TIMEOUT, true, 20 },
    { "regular expression", "import redan, re\n@redan.plugin\ndef f() -> int:\n    re.match('(a+)+$', 'a' * 40 + 'b')\n    return 1\n", RDN_OUT_TIMEOUT, true, 20 },
    { "bigint to text", "import redan, sys\nsys.set_int_max_str_digits(0)\n@redan.plugin\ndef f() -> int:\n    x = 1\n    while True: x = x * 3 + len(str(x))\n",
      RDN_OUT_TIMEOUT, true, 20 },
    { "swallows Exception", F0 "    while True:\n        try:\n            while True: pass\n        except Exception: pass\n", RDN_OUT_TIMEOUT, true, 20 },
    { "swallows BaseException", F0 "    while True:\n        try:\n            x = 0\n            while True: x += 1\n        except BaseException: pass\n", RDN_OUT_KILLED, false, 20 },
    { "a loop in C", F0 "    return sum(range(10**12))\n", RDN_OUT_KILLED, false, 20 },
    { "denied calls", "import redan, os\n@redan.plugin\ndef f() -> int:\n    while True:\n        try: os.getppid()\n        except OSError: pass\n",
      RDN_OUT_DIED, false, 3000 },
};

static void late(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof abuses / sizeof *abuses; i++) {
        struct rdn_plugin_spec s = int_spec();
        s.time_cap_ns = abuses[i].cap_ms * KIT_MS;
        s.grace_ms = 60;                                /* a busy machine must not turn a soft stop into a kill */
        struct rdn_plugin *p = kit_open(s, abuses[i].text);
        struct rdn_wire_value got;
        int64_t start = rdn_mono_ns();
        enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got);
        int64_t took = rdn_mono_ns() - start;
        enum rdn_outcome end = rdn_plugin_settle(p, 0, 3000 * KIT_MS);
        if ((out != RDN_OUT_TIMEOUT && out != RDN_OUT_DIED) || end != abuses[i].end)
            fail_msg("%s: %s, then %s", abuses[i].note, rdn_outcome_text(out), rdn_outcome_text(end));
        if (took > s.time_cap_ns + 500 * KIT_MS)
            fail_msg("%s: the lane waited %.1f ms", abuses[i].note, (double)took / 1e6);
        if ((kit_status(p)->restarts == 0) != abuses[i].same_worker)
            fail_msg("%s: %llu restarts", abuses[i].note, (unsigned long long)kit_status(p)->restarts);
        rdn_plugin_close(p);
    }
}

enum { OVERSHOOTS = 60 };
static void overshoot(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open(int_spec(), F0 "    while True: pass\n");
    int64_t over[OVERSHOOTS], usable[OVERSHOOTS];
    struct rdn_wire_value got;
    for (int i = 0; i < OVERSHOOTS; i++) {
        int64_t deadline = rdn_mono_ns() + 5 * KIT_MS;
        assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, deadline, &got), RDN_OUT_TIMEOUT);
        over[i] = rdn_mono_ns() - deadline;
        rdn_plugin_settle(p, 0, 1000 * KIT_MS);
        usable[i] = rdn_mono_ns() - deadline;
        rdn_plugin_resume(p);                           /* the breaker would open after three */
    }
    int64_t p50 = kit_percentile(over, OVERSHOOTS, 50), p99 = kit_percentile(over, OVERSHOOTS, 99);
    printf("deadline overshoot: p50 %.3f ms, p99 %.3f ms; worker usable again: p50 %.3f ms\n", (double)p50 / 1e6, (double)p99 / 1e6,
           (double)kit_percentile(usable, OVERSHOOTS, 50) / 1e6);
    rdn_plugin_close(p);
    kit_judge("deadline overshoot p50", p50, KIT_MS);
}

/* A stop signal that comes after its call was answered must not hit the next one: answers race with the deadline here. */
static void late_stop(void **state) {
    (void)state;
    struct rdn_wire_param in = { "n", KIT_T(INT) };
    struct rdn_plugin_spec s = int_spec();
    s.params = &in;
    s.nparams = 1;
    struct rdn_plugin *p = kit_open(s, "import redan\n@redan.plugin\ndef f(n: int) -> int:\n    s = 0\n    for i in range(n): s += i\n    return s\n");
    struct rdn_wire_value slow = { .i = 3000 }, quick = { .i = 10 }, got;
    int lates = 0;
    for (int i = 0; i < 200; i++) {
        lates += rdn_plugin_call(p, 0, &slow, 1, 0, rdn_mono_ns() + 20000 + i * 1000, &got) == RDN_OUT_TIMEOUT;
        rdn_plugin_settle(p, 0, 1000 * KIT_MS);
        rdn_plugin_resume(p);
        int64_t from = rdn_mono_ns();
        enum rdn_outcome out = rdn_plugin_call(p, 0, &quick, 1, 0, 0, &got);
        bool stalled = out == RDN_OUT_TIMEOUT && rdn_mono_ns() - from >= 50 * KIT_MS;   /* a busy machine, not a stray signal */
        if (!stalled && (out != RDN_OUT_VALUE || got.i != 45))
            fail_msg("call %d after %d late ones: %s", i, lates, rdn_outcome_text(out));
        if (stalled) {
            rdn_plugin_settle(p, 0, 2000 * KIT_MS);
            rdn_plugin_resume(p);
        }
    }
    printf("%d of 200 calls were late\n", lates);
    assert_true(lates > 0);
    rdn_plugin_close(p);
}

/* --- quarantine ------------------------------------------------------------------------------------- */

static void quarantined(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open(int_spec(), "import redan, os\n@redan.plugin\ndef f() -> int:\n    os._exit(1)\n");
    struct rdn_wire_value got;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got), RDN_OUT_DIED);
        rdn_plugin_settle(p, 0, 2000 * KIT_MS);
    }
    assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got), RDN_OUT_QUARANTINED);
    assert_true(kit_status(p)->quarantined);
    assert_int_equal(rdn_plugin_reload(p, kit_file("good.py", F0 "    return 5\n"), NULL, NULL), 0);
    assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got), RDN_OUT_VALUE);
    assert_int_equal(got.i, 5);
    rdn_plugin_close(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late), cmocka_unit_test(overshoot), cmocka_unit_test(late_stop), cmocka_unit_test(quarantined),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
