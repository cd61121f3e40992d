/* SPDX-License-Identifier: Apache-2.0
 * test_breaker.c: three late calls close a lane; a selftest, not an event, opens it again. */
#include "tests/sandbox/kit.h"
#include <unistd.h>

/* x = 1 loops; every other call says how many came before it, or with `spoilt` what no golden row promises. */
#define CODE "import redan\nn = 0\nspoilt = False\n@redan.plugin\ndef f(x: int) -> int:\n    global n, spoilt\n    n += 1\n    if x == 1:\n        spoilt = %s\n        while True: pass\n" \
    "    if x == 2: return n\n    return -1 if spoilt else 7\n"
static const struct rdn_wire_param x = { "x", { .kind = RDN_WIRE_INT } };

static struct rdn_plugin *open_one(const char *spoilt, bool rows) {
    char dir[256], text[1024];
    struct rdn_plugin *p;
    redan_error e = { 0 };
    snprintf(text, sizeof text, CODE, spoilt);
    snprintf(dir, sizeof dir, "%s", kit_file("loops.py", text));
    *strrchr(dir, '/') = 0;
    snprintf(text, sizeof text, "schema: 1\nplugin: {id: org.example.loops, version: 1.0.0, entry: loops.py}\nfunctions:\n  f: {signature: \"(x: int) -> int\"}\n"
             "limits: {time_cap_ms: 400}\n%s", rows ? "selftest: {rows: rows.csv}\n" : "");
    kit_file("plugin.yaml", text);
    kit_file("rows.csv", "function,x,answer\nf,0,7\nf,3,7\n");
    struct rdn_plugin_spec s = { .name = "f", .file = dir, .params = &x, .nparams = 1, .ret = KIT_T(INT), .load_cap_ms = 10000 };
    if (rdn_plugin_open(kit, &s, &p, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    return p;
}

static enum rdn_outcome ask(struct rdn_plugin *p, int64_t arg, int64_t *ret) {
    struct rdn_wire_value in = { .i = arg }, got = { .i = -9 };
    enum rdn_outcome out = rdn_plugin_call(p, 0, &in, 1, 0, arg == 1 ? rdn_mono_ns() + 5 * KIT_MS : 0, &got);
    *ret = got.i;
    return out;
}

/* Late calls until the lane is closed; how many it took. */
static int close_lane(struct rdn_plugin *p) {
    int64_t got;
    for (int n = 1; n <= 5; n++) {
        assert_int_equal(ask(p, 1, &got), RDN_OUT_TIMEOUT);
        rdn_plugin_settle(p, 0, 2000 * KIT_MS);
        if (kit_status(p)->tripped)
            return n;
    }
    fail_msg("five late calls, and it goes on");
    return 0;
}

static bool opens_within(struct rdn_plugin *p, int seconds) {
    for (int i = 0; i < seconds * 50 && kit_status(p)->tripped; i++)
        usleep(20000);
    return !kit_status(p)->tripped;
}

/* With golden rows and without: three close it, and nobody's call is needed to open it. */
static void opens(void **state) {
    (void)state;
    for (int rows = 0; rows < 2; rows++) {
        struct rdn_plugin *p = open_one("False", rows);
        int64_t got, before, after;
        assert_int_equal(ask(p, 2, &before), RDN_OUT_VALUE);
        assert_int_equal(close_lane(p), 3);
        assert_int_equal(ask(p, 0, &got), RDN_OUT_TRIPPED);
        uint64_t calls = kit_status(p)->calls;
        assert_true(opens_within(p, 8));
        assert_int_equal(kit_status(p)->calls, calls);  /* no event was a trial */
        assert_int_equal(ask(p, 2, &after), RDN_OUT_VALUE);
        if (kit_status(p)->restarts == 0)               /* on a busy machine a late call is stopped before it counted, or killed, and its count with it */
            assert_in_range(after - before, 1 + 2 * rows, 4 + 20 * rows);
        /* An answer in time makes the next three late calls necessary again; without one, the first late call closes. */
        assert_int_equal(close_lane(p), 3);
        assert_true(opens_within(p, 8));
        assert_int_equal(close_lane(p), 1);
        rdn_plugin_close(p);
    }
}

/* A worker that answers, but not what was promised, stays closed; a reload opens. */
static void stays_closed(void **state) {
    (void)state;
    struct rdn_plugin *p = open_one("True", true);
    int64_t got;
    assert_int_equal(close_lane(p), 3);
    if (kit_status(p)->restarts == 0) {
        assert_false(opens_within(p, 3));
        assert_int_equal(ask(p, 0, &got), RDN_OUT_TRIPPED);
    }
    rdn_plugin_resume(p);
    assert_int_equal(ask(p, 2, &got), RDN_OUT_VALUE);
    rdn_plugin_close(p);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(opens), cmocka_unit_test(stays_closed) };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
