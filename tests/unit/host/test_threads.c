/* SPDX-License-Identifier: Apache-2.0
 * test_threads.c: what redan.h calls [any] from many threads at once while one publishes and two judge: compile, symbols, routing,
 * opening and closing lanes. Every answer is checked; TSan watches the rest. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "tests/unit/host/engine_kit.h"

enum { LANES = 4, NAMES = 200 };
static struct {
    redan_engine *eng;
    uint32_t order;
    atomic_bool stop;
    _Atomic uint64_t wrong, judged, compiled, routed, opened, swaps;
    _Atomic uint32_t ids[NAMES];
} g;

static void expect(bool good, const char *what) {
    if (!good && atomic_fetch_add(&g.wrong, 1) < 5)
        fprintf(stderr, "%s\n", what);
}

static const char *rules_of(char *buf, size_t cap, unsigned n) {
    snprintf(buf, cap, HEAD "list l: sym = [\"N%u\", \"M%u\"]\nwindow n = count() by account on Order\ncalendar c tz \"Europe/%s\" { mon..fri 09:00..17:00 }\n"
             "rule r on Order { when n > 0 and (account in l or account not in l) or now in c flag V%u }\n", n % NAMES, n, n % 2 ? "Paris" : "London", n % 7);
    return buf;
}

static void *compile_main(void *arg) {
    char text[1024];
    for (unsigned n = (unsigned)(uintptr_t)arg * 1000; !atomic_load(&g.stop); n++) {
        redan_ruleset *rs = NULL;
        redan_error err = { 0 };
        rules_of(text, sizeof text, n);
        expect(redan_compile(g.eng, "any", text, strlen(text), NULL, &rs, &err) == 0, err.text);
        redan_release(rs);
        expect(redan_compile(g.eng, "any", text, strlen(text) - 5, NULL, &rs, &err) == REDAN_E_SYNTAX, "a cut text");
        atomic_fetch_add(&g.compiled, 1);
    }
    return NULL;
}

/* The same text has the same id in every thread. */
static void *sym_main(void *arg) {
    for (unsigned n = (unsigned)(uintptr_t)arg * 31; !atomic_load(&g.stop); n++) {
        char name[16];
        uint32_t id = 0, was = 0;
        expect(redan_sym(g.eng, name, (size_t)snprintf(name, sizeof name, "N%u", n % NAMES), &id) == 0, "sym");
        if (!atomic_compare_exchange_strong(&g.ids[n % NAMES], &was, id + 1))
            expect(was == id + 1, "another id");
        if (n % 64 == 0)
            sched_yield();
    }
    return NULL;
}

static void *route_main(void *arg) {
    struct order row = { .ts = (int64_t)(uintptr_t)arg };
    int64_t last = INT64_MIN;
    while (!atomic_load(&g.stop)) {
        uint32_t lane = 99;
        int64_t now = 0;
        row.ts += 3;
        expect(redan_route(g.eng, g.order, &row, &lane, &now) == 0 && lane == REDAN_ALL_LANES && now >= row.ts && now >= last, "route");
        last = now;
        if (atomic_fetch_add(&g.routed, 1) % 64 == 0)
            sched_yield();
    }
    return NULL;
}

static void *lane_main(void *arg) {
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    struct order row = { .ts = 1 };
    char name[16];
    expect(redan_sym(g.eng, name, (size_t)snprintf(name, sizeof name, "L%u", o.index = (uint32_t)(uintptr_t)arg), &row.account) == 0, "sym");
    while (!atomic_load(&g.stop)) {
        redan_lane *l;
        redan_error err = { 0 };
        redan_verdict v;
        uint64_t last = 0;
        if (redan_lane_open(g.eng, &o, &l, &err) < 0) {
            expect(false, err.text);
            break;
        }
        atomic_fetch_add(&g.opened, 1);
        for (int i = 0; i < 400 && !atomic_load(&g.stop); i++) {
            row.ts++;
            expect(redan_eval(l, g.order, &row, &v) == 0 && v.ncodes == 1 && v.generation >= last && redan_code_name(l, v.codes[0])[0] == 'V', "eval");
            last = v.generation;
            atomic_fetch_add(&g.judged, 1);
        }
        redan_lane_idle(l);
        redan_lane_close(l);
        sched_yield();
    }
    return NULL;
}

static void everything_at_once(void **state) {
    (void)state;
    void *(*mains[])(void *) = { compile_main, compile_main, sym_main, sym_main, route_main, route_main, lane_main, lane_main };
    enum { THREADS = sizeof mains / sizeof *mains };
    pthread_t t[THREADS];
    char text[1024];
    memset(&g, 0, sizeof g);
    g.eng = kit_engine(LANES, NULL);
    redan_ruleset *rs[4];
    for (unsigned i = 0; i < 4; i++)
        rs[i] = kit_compile(g.eng, rules_of(text, sizeof text, i));
    kit_activate(g.eng, rs[0]);
    g.order = kit_bind(g.eng);
    for (uintptr_t i = 0; i < THREADS; i++)
        check(pthread_create(&t[i], NULL, mains[i], (void *)(i % 2 + 1)) == 0, "thread");
    for (unsigned i = 0; i < 3000 && (i < 300 || atomic_load(&g.judged) < 5000 || atomic_load(&g.compiled) < 20 || atomic_load(&g.opened) < 20); i++) {
        uint64_t generation = 0;
        redan_error err = { 0 };
        uint32_t id;
        int rc = i % 5 == 4 ? redan_rollback(g.eng, &generation, &err) : redan_activate(g.eng, rs[i % 4], NULL, &generation, &err);
        expect(rc == 0 && generation == i + 2, err.text);
        expect(redan_event(g.eng, "Order", layout_of(ORDER_CANON), &id, &err) == 0 && id == g.order, err.text);
        atomic_fetch_add(&g.swaps, 1);
        struct timespec ms = { 0, 1000000 };
        nanosleep(&ms, NULL);
    }
    atomic_store(&g.stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++)
        redan_release(rs[i]);
    redan_close(g.eng);
    print_message("%llu swaps, %llu judged, %llu compiled, %llu routed, %llu lanes opened\n", (unsigned long long)g.swaps, (unsigned long long)g.judged,
                  (unsigned long long)g.compiled, (unsigned long long)g.routed, (unsigned long long)g.opened);
    check(g.wrong == 0, "%llu wrong", (unsigned long long)g.wrong);
    check(g.judged && g.compiled && g.routed && g.opened > 2, "some thread did nothing");
}

int main(void) {
    static const struct CMUnitTest tests[] = { cmocka_unit_test(everything_at_once) };
    kit_backend = "auto";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
