/* SPDX-License-Identifier: Apache-2.0
 * test_breaker.c: three late calls close a lane; a selftest, not an event, opens it again. */
#include "tests/sandbox/kit.h"
#include <unistd.h>

/* x = 1 loops; every other call says how many came before it, or with `spoilt` what no golden row promises. */
#define CODE "import redan\nn = 0\nspoilt = False\n@redan.plugin\ndef f(x: int) -> int:\n    global n, spoilt\n    n += 1\n    if x == 1:\n        spoilt = %s\n        while True: pass\n" \
    "    if x == 2: return n\n    return -1 if spoilt else 7\n"
static const struct rdn_wire_param x = { "x", { .kind = RDN_WIRE_INT } };

enum { BEGUN = 8 };                                     /* a late call that stopped at this line of CODE or below has counted itself */
static char dir[256];

static struct rdn_plugin *open_one(const char *spoilt, bool rows, uint32_t lanes) {
    char text[1024];
    struct rdn_plugin *p;
    redan_error e = { 0 };
    snprintf(text, sizeof text, CODE, spoilt);
    snprintf(dir, sizeof dir, "%s", kit_file("loops.py", text));
    *strrchr(dir, '/') = 0;
    snprintf(text, sizeof text, "schema: 1\nplugin: {id: org.example.loops, version: 1.0.0, entry: loops.py}\nfunctions:\n  f: {signature: \"(x: int) -> int\"}\n"
             "limits: {time_cap_ms: 400}\n%s", rows ? "selftest: {rows: rows.csv}\n" : "");
    kit_file("plugin.yaml", text);
    kit_file("rows.csv", "function,x,answer\nf,0,7\nf,3,7\n");
    struct rdn_plugin_spec s = { .name = "f", .file = dir, .params = &x, .nparams = 1, .ret = KIT_T(INT), .load_cap_ms = 10000, .grace_ms = 500, .lanes = lanes };
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

/* Late calls until the lane is closed; how many it took. *ret_begun: how many of them came so far that they counted themselves, before
 * they were stopped: on a busy machine not all. */
static int close_lane(struct rdn_plugin *p, int64_t *ret_begun) {
    int64_t got;
    *ret_begun = 0;
    for (int n = 1; n <= 5; n++) {
        assert_int_equal(ask(p, 1, &got), RDN_OUT_TIMEOUT);
        rdn_plugin_settle(p, 0, 2000 * KIT_MS);
        const char *at = strstr(kit_status(p)->error, "loops.py:");
        *ret_begun += at && atoi(at + strlen("loops.py:")) >= BEGUN;
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

/* Three close it, and nobody's call is needed to open it. False: the machine was so busy that the worker had to be killed, and what it
 * had counted went with it. */
static bool opens_once(bool rows) {
    struct rdn_plugin *p = open_one("False", rows, 1);
    int64_t got, before, after, begun, none;
    assert_int_equal(ask(p, 2, &before), RDN_OUT_VALUE);
    int64_t closing = rdn_mono_ns();
    assert_int_equal(close_lane(p, &begun), 3);
    assert_int_equal(ask(p, 0, &got), RDN_OUT_TRIPPED);
    uint64_t calls = kit_status(p)->calls;
    assert_true(opens_within(p, 8));
    int64_t trials = (rdn_mono_ns() - closing) / (1000 * KIT_MS);        /* one a second; the last one was good */
    assert_int_equal(kit_status(p)->calls, calls);      /* no event was a trial */
    assert_int_equal(ask(p, 2, &after), RDN_OUT_VALUE);
    bool whole = kit_status(p)->restarts == 0;
    if (whole)
        assert_in_range(after - before, begun + 1 + 2 * rows, begun + 1 + 2 * rows * trials);
    /* An answer in time makes the next three late calls necessary again; without one, the first late call closes. */
    assert_int_equal(close_lane(p, &none), 3);
    assert_true(opens_within(p, 8));
    assert_int_equal(close_lane(p, &none), 1);
    rdn_plugin_close(p);
    return whole && begun == 3;
}

/* With golden rows and without. Seen whole at least once: what a busy machine cuts short proves nothing. */
static void opens(void **state) {
    (void)state;
    for (int rows = 0; rows < 2; rows++) {
        bool whole = false;
        for (int tries = 0; tries < 5 && !whole; tries++)
            whole = opens_once(rows);
        assert_true(whole);
    }
}

/* A worker that answers, but not what was promised, stays closed; a reload opens. */
static void stays_closed(void **state) {
    (void)state;
    struct rdn_plugin *p = open_one("True", true, 1);
    int64_t got, none;
    assert_int_equal(close_lane(p, &none), 3);
    if (kit_status(p)->restarts == 0) {
        assert_false(opens_within(p, 3));
        assert_int_equal(ask(p, 0, &got), RDN_OUT_TRIPPED);
    }
    rdn_plugin_resume(p);
    assert_int_equal(ask(p, 2, &got), RDN_OUT_VALUE);
    rdn_plugin_close(p);
}

/* Whoever opens it by hand counts anew: three late calls in a row, not one. */
static void resumed(void **state) {
    (void)state;
    struct rdn_plugin *p = open_one("False", true, 1);
    int64_t none;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(close_lane(p, &none), 3);
        rdn_plugin_resume(p);
    }
    rdn_plugin_close(p);
}

/* A text that is being loaded says nothing about the one that is live. Seeds of two lanes differ in their last bit, and those of two
 * generations: in one of the two reloads lane 0 is ready at once and waits for lane 1, which in the end fails. */
static void only_the_live_text(void **state) {
    (void)state;
    static const char other[] = "import redan, _redan, time\n@redan.plugin\ndef f(x: int) -> int:\n    return 7\nif _redan.seed() & 1:\n    end = time.monotonic() + 1.5\n"
        "    while time.monotonic() < end: pass\n    raise ValueError(%d)\n";
    struct rdn_plugin *p = open_one("True", true, 2);
    int64_t none;
    assert_int_equal(close_lane(p, &none), 3);
    for (int i = 0; i < 2; i++) {
        char text[sizeof other + 8];
        redan_error e = { 0 };
        snprintf(text, sizeof text, other, i);
        kit_file("loops.py", text);
        assert_true(rdn_plugin_reload(p, dir, NULL, &e) < 0);
        assert_non_null(strstr(e.text, "ValueError"));
        if (kit_status(p)->restarts == 0)               /* else its successor may well answer what was promised */
            assert_true(kit_status(p)->tripped);
    }
    rdn_plugin_close(p);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(opens), cmocka_unit_test(stays_closed), cmocka_unit_test(resumed), cmocka_unit_test(only_the_live_text) };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
