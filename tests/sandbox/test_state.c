/* SPDX-License-Identifier: Apache-2.0
 * test_state.c: what goes from one text of a plugin to the next: its state, or the old text itself when the new one fails. */
#include "tests/sandbox/kit.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define COUNTER "import redan\nn = 0\n@redan.plugin\ndef f() -> int:\n    global n\n    n += 1\n    return n\n"
#define SAVE "@redan.on_save\ndef save():\n    return {'n': n, 'round': ROUND}\n"
#define LOAD "@redan.on_load\ndef load(state):\n    global n\n    n = state['n']\n"

static struct rdn_plugin_spec carrying(uint32_t lanes) {
    return (struct rdn_plugin_spec){ .ret = KIT_T(INT), .lanes = lanes, .carry = true };
}

static int64_t ask(struct rdn_plugin *p, uint32_t lane) {
    struct rdn_wire_value got = { .i = -1 };
    enum rdn_outcome out = rdn_plugin_call(p, lane, NULL, 0, 0, 0, &got);
    return out == RDN_OUT_VALUE ? got.i : -(int64_t)out;
}

/* --- exactly once ----------------------------------------------------------------------------------------------- */

struct counting { struct rdn_plugin *p; uint32_t lane; _Atomic bool stop; int64_t calls, wrong, late, first, lost; };
/* A call that a busy machine makes late may have counted or not: the next one tells. */
static void *count_on(void *arg) {
    struct counting *c = arg;
    bool unsure = false;
    while (!atomic_load(&c->stop)) {
        int64_t got = ask(c->p, c->lane);
        c->late += got < 0;
        c->lost += got == -(int64_t)RDN_OUT_NOT_READY;
        if (got == -(int64_t)RDN_OUT_TIMEOUT || got == -(int64_t)RDN_OUT_NOT_READY) {
            unsure = true;
            continue;
        }
        bool right = got == c->calls + 1 || (unsure && got == c->calls + 2);
        if (!right && !c->wrong++)
            c->first = got;
        c->calls = right ? got : c->calls + 1;
        unsure = false;
    }
    return NULL;
}

/* Two lanes count without a gap while the text is changed hundreds of times: no call lost, none twice, no state older than it was. */
enum { RELOADS = 300 };
static void carried(void **state) {
    (void)state;
    char text[512];
    struct rdn_plugin *p = kit_open(carrying(2), "ROUND = 0\n" COUNTER SAVE LOAD);
    struct counting c[2] = { { .p = p, .lane = 0 }, { .p = p, .lane = 1 } };
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, &c[i]), 0);
    for (int i = 1; i <= RELOADS; i++) {
        redan_error e = { 0 };
        snprintf(text, sizeof text, "ROUND = %d\n" COUNTER SAVE LOAD, i);
        int rc;
        for (int tries = 0; (rc = rdn_plugin_reload(p, kit_file("next.py", text), NULL, &e)) < 0 && tries < 5; tries++)
            if (!strstr(e.text, "no answer within 20 ms"))              /* a busy machine */
                fail_msg("%s %s", e.id, e.text);
        assert_int_equal(rc, 0);
        usleep(100);
    }
    for (int i = 0; i < 2; i++) {
        atomic_store(&c[i].stop, true);
        pthread_join(threads[i], NULL);
        if (c[i].wrong || c[i].calls < RELOADS || c[i].late > 5 || (c[i].lost && !kit_status(p)->deaths))
            fail_msg("lane %d: %lld of %lld calls out of order, the first answered %lld; %lld late, %lld found no worker", i, (long long)c[i].wrong,
                     (long long)c[i].calls, (long long)c[i].first, (long long)c[i].late, (long long)c[i].lost);
    }
    printf("%d reloads with state: %lld and %lld calls counted without a gap\n", RELOADS, (long long)c[0].calls, (long long)c[1].calls);
    rdn_plugin_close(p);
}

static const struct { const char *note, *old, *text, *words; } bad[] = {
    { "on_save raises", COUNTER "@redan.on_save\ndef save():\n    raise KeyError('x')\n" LOAD, COUNTER LOAD, "on_save: KeyError: 'x' (plugin.py:10 in save)" },
    { "on_save loops", COUNTER "@redan.on_save\ndef save():\n    while True: pass\n" LOAD, COUNTER LOAD, "on_save: no answer within 20 ms" },
    { "on_save answers a set", COUNTER "@redan.on_save\ndef save():\n    return {1}\n" LOAD, COUNTER LOAD, "on_save answers bytes or a dict, not set" },
    { "too much", COUNTER "@redan.on_save\ndef save():\n    return bytes((1 << 20) + 1)\n" LOAD, COUNTER LOAD, "1048577 bytes, at most 1048576" },
    { "no JSON", COUNTER "@redan.on_save\ndef save():\n    return {'n': object()}\n" LOAD, COUNTER LOAD, "on_save: TypeError" },
    { "on_load raises", "ROUND = 1\n" COUNTER SAVE LOAD, COUNTER "@redan.on_load\ndef load(state):\n    return state['other']\n", "on_load: KeyError: 'other' (new.py:10 in load)" },
    { "on_load loops", "ROUND = 1\n" COUNTER SAVE LOAD, COUNTER "@redan.on_load\ndef load(state):\n    while True: pass\n", "on_load: no answer within 20 ms" },
    { "no on_load", "ROUND = 1\n" COUNTER SAVE LOAD, COUNTER, "on_load: LookupError: the old text has on_save, this one has no on_load" },
};

/* Every call of a lane ended in one way, and each way is counted once. */
static void counts_add_up(struct rdn_plugin *p) {
    const struct rdn_plugin_status *s = kit_status(p);
    uint64_t sum = 0;
    for (int i = 0; i < RDN_OUT_COUNT; i++) {
        if (s->outcomes[i] > s->calls)
            fail_msg("%s: %llu of %llu calls", rdn_outcome_text((enum rdn_outcome)i), (unsigned long long)s->outcomes[i], (unsigned long long)s->calls);
        sum += s->outcomes[i];
    }
    assert_int_equal(sum, s->calls);
}

/* The old text goes on with its own state, on both lanes. */
static void refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rdn_plugin *p = kit_open(carrying(2), bad[i].old);
        redan_error e = { 0 };
        for (int k = 1; k <= 3; k++)
            assert_int_equal(ask(p, 0), k);
        assert_int_equal(ask(p, 1), 1);
        if (rdn_plugin_reload(p, kit_file("new.py", bad[i].text), NULL, &e) == 0 || strcmp(e.id, "R4326") || !strstr(e.text, bad[i].words))
            fail_msg("%s: %s %s", bad[i].note, e.id, e.text);
        rdn_plugin_settle(p, 0, 2000 * KIT_MS);
        if (strcmp(bad[i].note, "on_save loops") || kit_status(p)->restarts == 0)      /* a busy machine may have killed it */
            assert_int_equal(ask(p, 0), 4);
        assert_int_equal(ask(p, 1), 2);
        assert_int_equal(kit_status(p)->generation, 1);
        counts_add_up(p);
        rdn_plugin_close(p);
    }
}

/* An on_save that cannot be stopped: its worker is killed, and no lane's call is said to have been late. */
static void save_killed(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open(carrying(1), COUNTER "@redan.on_save\ndef save():\n    while True:\n        try:\n            x = 0\n            while True: x += 1\n"
                                    "        except BaseException: pass\n" LOAD);
    redan_error e = { 0 };
    assert_int_equal(ask(p, 0), 1);
    assert_true(rdn_plugin_reload(p, kit_file("new.py", COUNTER LOAD), NULL, &e) < 0);
    assert_non_null(strstr(e.text, "on_save: no answer within 20 ms"));
    assert_int_equal(rdn_plugin_settle(p, 0, 5000 * KIT_MS), RDN_OUT_VALUE);
    assert_int_equal(kit_status(p)->restarts, 1);
    counts_add_up(p);
    assert_int_equal(kit_status(p)->outcomes[RDN_OUT_VALUE], 1);
    assert_int_equal(ask(p, 0), 1);                     /* what was counted died with it */
    rdn_plugin_close(p);
}

/* A worker that is late and on its way to rest has a state as any other. */
static void late_one(void **state) {
    (void)state;
    static const char text[] = "import time\nROUND = 0\n" COUNTER "@redan.plugin\ndef late() -> int:\n    global n\n    n += 100\n    end = time.monotonic() + 0.3\n"
        "    while time.monotonic() < end:\n        try:\n            while time.monotonic() < end: pass\n        except BaseException: pass\n    return 0\n" SAVE LOAD;
    const struct rdn_function_spec fns[] = { { .name = "f", .ret = KIT_T(INT) }, { .name = "late", .ret = KIT_T(INT) } };
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .fns = fns, .nfns = 2, .carry = true, .grace_ms = 5000 }, text);
    struct rdn_wire_value got;
    uint8_t one;
    redan_error e = { 0 };
    assert_int_equal(ask(p, 0), 1);
    assert_int_equal(rdn_plugin_call_fn(p, 1, 0, NULL, 0, 1, 0, rdn_mono_ns() + 100 * KIT_MS, &got, &one), RDN_OUT_TIMEOUT);
    char again[sizeof text + 1];
    snprintf(again, sizeof again, "\n%s", text);
    if (rdn_plugin_reload(p, kit_file("new.py", again), NULL, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    assert_int_equal(ask(p, 0), 102);
    rdn_plugin_close(p);
}

/* State does not go from one kind of plugin to another, whoever asked for it to be carried. */
static void other_kind(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open(carrying(1), "ROUND = 0\n" COUNTER SAVE LOAD);
    redan_error e = { 0 };
    assert_true(rdn_plugin_reload(p, kit_file("new.lua", "redan.plugin('f() -> int', function() return 1 end)\nredan.on_load(function() end)\n"), NULL, &e) < 0);
    if (strcmp(e.id, "R4206"))                          /* no Lua in this build */
        assert_string_equal(e.text, "state of kind python cannot be given to kind lua");
    rdn_plugin_close(p);
}

static const struct { const char *note, *old, *text; int64_t next; } fine[] = {
    { "bytes", COUNTER "@redan.on_save\ndef save():\n    return n.to_bytes(4, 'big')\n", COUNTER "@redan.on_load\ndef load(b):\n    global n\n    n = int.from_bytes(b, 'big')\n", 3 },
    { "a mebibyte", COUNTER "@redan.on_save\ndef save():\n    return bytes([n]) * (1 << 20)\n", COUNTER "@redan.on_load\ndef load(b):\n    global n\n    n = b[-1] + len(b)\n", (1 << 20) + 3 },
    { "nothing", COUNTER "@redan.on_save\ndef save():\n    return b''\n", COUNTER "@redan.on_load\ndef load(b):\n    global n\n    n = 100 + len(b)\n", 101 },
    { "no on_save", COUNTER, COUNTER "x = 1\n" LOAD, 1 },
};

static void kinds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        struct rdn_plugin *p = kit_open(carrying(1), fine[i].old);
        redan_error e = { 0 };
        assert_int_equal(ask(p, 0), 1);
        assert_int_equal(ask(p, 0), 2);
        if (rdn_plugin_reload(p, kit_file("new.py", fine[i].text), NULL, &e) < 0)
            fail_msg("%s: %s %s", fine[i].note, e.id, e.text);
        int64_t got = ask(p, 0);
        if (got != fine[i].next)
            fail_msg("%s: %lld, expected %lld", fine[i].note, (long long)got, (long long)fine[i].next);
        rdn_plugin_close(p);
    }
}

/* Without `carry` nothing is asked and nothing is kept. */
static void not_asked(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .ret = KIT_T(INT) }, COUNTER "@redan.on_save\ndef save():\n    raise ValueError()\n");
    assert_int_equal(ask(p, 0), 1);
    assert_int_equal(rdn_plugin_reload(p, kit_file("new.py", COUNTER), NULL, NULL), 0);
    assert_int_equal(ask(p, 0), 1);
    rdn_plugin_close(p);
}

/* --- probation -------------------------------------------------------------------------------------------------- */

/* A text that fails in every `each`-th call, after a good one; answers how often the good one came back. */
static uint64_t after_calls(int each, int calls, int64_t *ret_last) {
    char text[256];
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .ret = KIT_T(INT) }, "import redan\n@redan.plugin\ndef f() -> int:\n    return 7\n");
    snprintf(text, sizeof text, "import redan\nn = 0\n@redan.plugin\ndef f() -> int:\n    global n\n    n += 1\n    return 8 // (n %% %d)\n", each);
    assert_int_equal(rdn_plugin_reload(p, kit_file("new.py", text), NULL, NULL), 0);
    for (int i = 0; i < calls; i++)
        ask(p, 0);
    for (int i = 0; i < 60 && !kit_status(p)->rollbacks; i++) {
        rdn_plugin_settle(p, 0, 10 * KIT_MS);
        usleep(10000);
    }
    const struct rdn_plugin_status *s = kit_status(p);
    uint64_t back = s->rollbacks;
    assert_int_equal(s->generation, back ? 1 : 2);
    *ret_last = ask(p, 0);
    rdn_plugin_close(p);
    return back;
}

static void probation(void **state) {
    (void)state;
    int64_t last;
    assert_int_equal(after_calls(5, 120, &last), 1);    /* a fifth fails */
    assert_int_equal(last, 7);
    assert_int_equal(after_calls(20, 120, &last), 0);   /* a twentieth may */
    assert_true(last != 7);
    assert_int_equal(after_calls(5, 60, &last), 0);     /* not enough seen yet */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carried), cmocka_unit_test(refused), cmocka_unit_test(save_killed), cmocka_unit_test(late_one), cmocka_unit_test(other_kind), cmocka_unit_test(kinds), cmocka_unit_test(not_asked), cmocka_unit_test(probation),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
