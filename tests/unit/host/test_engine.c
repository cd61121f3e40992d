/* SPDX-License-Identifier: Apache-2.0
 * test_engine.c: the life of an engine as an embedder sees it through redan.h: options of older and newer callers, every refusal with
 * its code, generations, lanes, memory. Runs on each executor. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host/host.h"
#include "tests/unit/host/engine_kit.h"

#define COUNT_RULES HEAD "window n = count() by account on Order\nrule r on Order { when n >= 3 flag THIRD }\n"
#define UNTOUCHED ((void *)(uintptr_t)0x5a5a)

static bool fails(int rc, int want, const redan_error *err, const char *id) {
    return rc == want && err->code == want && strcmp(err->id, id) == 0;
}

/* ---- option structs ---- */
/* size 0 to `known` with 0xff in the tail that the callee must not look at; then longer ones. */
struct longer { union { redan_options o; redan_compilation c; redan_activation a; redan_lane_options l; unsigned char b[256]; } u; };

static int try_options(int which, struct longer *x, redan_engine *e, redan_ruleset *rs, redan_error *err) {
    redan_engine *made = UNTOUCHED;
    redan_ruleset *compiled = UNTOUCHED;
    redan_lane *lane = UNTOUCHED;
    uint64_t generation = 77;
    int rc;
    switch (which) {
    case 0:
        rc = redan_open(&made, &x->u.o, err);
        check((rc == 0) == (made != UNTOUCHED), "open wrote its output on failure");
        if (rc == 0)
            redan_close(made);
        return rc;
    case 1:
        rc = redan_compile(e, "kit", COUNT_RULES, sizeof COUNT_RULES - 1, &x->u.c, &compiled, err);
        check((rc == 0) == (compiled != UNTOUCHED), "compile wrote its output on failure");
        if (rc == 0)
            redan_release(compiled);
        return rc;
    case 2:
        rc = redan_activate(e, rs, &x->u.a, &generation, err);
        check((rc == 0) == (generation != 77), "activate wrote its output on failure");
        return rc;
    default:
        rc = redan_lane_open(e, &x->u.l, &lane, err);
        check((rc == 0) == (lane != UNTOUCHED), "lane_open wrote its output on failure");
        if (rc == 0)
            redan_lane_close(lane);
        return rc;
    }
}

static void option_sizes(void **state) {
    (void)state;
    static const struct { const char *name; uint32_t size; } structs[] = { { "redan_options", sizeof(redan_options) },
        { "redan_compilation", sizeof(redan_compilation) }, { "redan_activation", sizeof(redan_activation) }, { "redan_lane_options", sizeof(redan_lane_options) } };
    static const struct { int32_t size; int tail; uint32_t flags; int rc; const char *what; } rows[] = {
        { 0, 0, 0, REDAN_E_INVAL, "no size" },
        { 4, 0, 0, REDAN_E_INVAL, "without the flags" },
        { 8, 0xff, 0, 0, "the first version's caller; what follows is not its struct" },
        { -1, 0, 0, 0, "this version" },
        { -2, 0, 0, 0, "a newer caller that uses nothing new" },
        { -2, 1, 0, REDAN_E_INVAL, "a newer caller that uses something new" },
        { -1, 0, 0x80000000u, REDAN_E_INVAL, "a flag of a newer version" },
    };
    redan_engine *e = kit_engine(1, NULL);
    redan_ruleset *rs = kit_compile(e, COUNT_RULES);
    for each (s, structs) {
        for each (i, rows) {
            struct longer x;
            redan_error err = { 0 };
            uint32_t size = rows[i].size >= 0 ? (uint32_t)rows[i].size : rows[i].size == -1 ? structs[s].size : structs[s].size + 24;
            memset(&x, 0, sizeof x);
            memset(x.u.b + (size < 8 ? 8 : size), rows[i].tail == 0xff ? 0xff : 0, sizeof x.u.b - (size < 8 ? 8 : size));
            if (rows[i].tail == 1)
                x.u.b[size - 1] = 1;
            x.u.o.size = size;
            x.u.o.flags = rows[i].flags;
            int rc = try_options((int)s, &x, e, rs, &err);
            check(rc == rows[i].rc && err.code == rc, "%s, %s: %d %s", structs[s].name, rows[i].what, rc, err.text);
            check(rc == 0 || strstr(err.text, structs[s].name), "%s: '%s' does not name the struct", rows[i].what, err.text);
        }
    }
    redan_release(rs);
    redan_close(e);
}

static void open_refusals(void **state) {
    (void)state;
    static const struct { uint32_t lanes; const char *backend, *metrics; int rc; const char *id; } rows[] = {
        { 256, NULL, NULL, 0, "" },
        { 257, NULL, NULL, REDAN_E_INVAL, "" },
        { 1, "jvm", NULL, REDAN_E_INVAL, "R2106" },
        { 1, "", NULL, REDAN_E_INVAL, "R2106" },
        { 1, NULL, "/dev/shm/x", REDAN_E_NOSUP, "R9013" },
    };
    for each (i, rows) {
        redan_options o = REDAN_OPTIONS_INIT;
        redan_error err = { 0 };
        redan_engine *e = UNTOUCHED;
        o.lanes = rows[i].lanes;
        o.backend = rows[i].backend;
        o.metrics_path = rows[i].metrics;
        int rc = redan_open(&e, &o, &err);
        check(rc == rows[i].rc && err.code == rc && strcmp(err.id, rows[i].id) == 0, "row %zu: %d %s %s", i, rc, err.id, err.text);
        check((e == UNTOUCHED) == (rc < 0), "row %zu: output", i);
        if (rc == 0)
            redan_close(e);
        check(rc == redan_open(&e, &o, NULL), "row %zu: without an error", i);
        if (rc == 0)
            redan_close(e);
    }
    redan_engine *e;
    check(redan_open(&e, NULL, NULL) == 0, "no options");
    redan_close(e);
    check(redan_open(NULL, NULL, NULL) == REDAN_E_INVAL, "no output");
    redan_close(NULL);
    redan_release(NULL);
    redan_lane_close(NULL);
}

static void error_texts(void **state) {
    (void)state;
    for (int c = 0; c >= REDAN_E_LAST; c--)
        check(redan_strerror(c) && *redan_strerror(c), "code %d", c);
    check(redan_strerror(REDAN_E_LAST - 1) && redan_strerror(1) && redan_strerror(INT32_MIN), "unknown codes have a text");
    assert_int_equal(redan_version(), REDAN_VERSION);
}

/* ---- rule text ---- */
struct heard { int errors, warnings; char first[6]; uint32_t last_line; bool in_order, sized; };
static void hear(void *ctx, const redan_diag *d) {
    struct heard *h = ctx;
    h->errors += d->code[0] == 'E';
    h->warnings += d->code[0] == 'W';
    if (!h->first[0])
        memcpy(h->first, d->code, sizeof h->first);
    h->in_order &= d->line >= h->last_line;
    h->sized &= d->size == sizeof *d && d->end_line >= d->line && d->text && *d->text;
    h->last_line = d->line;
}

static void compile_errors(void **state) {
    (void)state;
    static const struct { const char *text; int rc; const char *id; uint32_t line, column; int errors, warnings; } rows[] = {
        { "ruleset x version 1\nrule r on E { when }", REDAN_E_SYNTAX, "E0203", 2, 20, 1, 0 },
        { HEAD "rule r on Order { when qty > 1.5 flag A }\nrule s on Order { when qtx flag B }", REDAN_E_TYPE, "", 4, 0, 2, 0 },
        { "ruleset x version 1\n  undefined skip\nlist l: sym from \"f.txt\"\nevent E { a: sym }\nrule r on E { when a in l flag A }", REDAN_E_TYPE, "E0711", 3, 0, 1, 0 },
        { HEAD "param unused: int = 1\nrule r on Order { when qty > 1 flag A }", 0, "", 0, 0, 0, 1 },
    };
    redan_engine *e = kit_engine(1, NULL);
    for each (i, rows) {
        struct heard h = { .in_order = true, .sized = true };
        redan_compilation c = REDAN_COMPILATION_INIT;
        redan_ruleset *rs = UNTOUCHED;
        redan_error err = { 0 };
        c.ctx = &h;
        c.on_diag = hear;
        int rc = redan_compile(e, "x", rows[i].text, strlen(rows[i].text), &c, &rs, &err);
        check(rc == rows[i].rc && err.code == rc, "row %zu: %d %s %s", i, rc, err.id, err.text);
        check(!rows[i].id[0] || strcmp(err.id, rows[i].id) == 0, "row %zu: %s", i, err.id);
        check(err.line == rows[i].line && (!rows[i].column || err.column == rows[i].column), "row %zu: at %u:%u", i, err.line, err.column);
        check(h.errors == rows[i].errors && h.warnings == rows[i].warnings && h.in_order && h.sized, "row %zu: %d errors, %d warnings", i, h.errors, h.warnings);
        check(rc == 0 || memcmp(h.first, err.id, 5) == 0, "row %zu: the error is not the first mistake", i);
        check((rs == UNTOUCHED) == (rc < 0), "row %zu: output", i);
        if (rc == 0)
            redan_release(rs);
    }
    redan_ruleset *rs = UNTOUCHED;
    check(redan_compile(e, "x", NULL, 3, NULL, &rs, NULL) == REDAN_E_INVAL && rs == UNTOUCHED, "no text");
    check(redan_compile(e, "x", "", 0, NULL, NULL, NULL) == REDAN_E_INVAL, "no output");
    redan_close(e);
}

/* The text is the caller's again after the call. */
static void text_is_copied(void **state) {
    (void)state;
    char name[] = "kit", text[] = HEAD "rule some on Order { when opt + 1 > 2 flag A \"opt is {opt}\" }\n";
    struct kit k = { .eng = kit_engine(1, NULL) };
    check(redan_compile(k.eng, name, text, sizeof text - 1, NULL, &k.rs, NULL) == 0, "compile");
    memset(text, 'x', sizeof text);
    memset(name, 'x', sizeof name);
    kit_activate(k.eng, k.rs);
    k.order = kit_bind(k.eng);
    k.lane = kit_lane(k.eng, 0, 0);
    redan_sym(k.eng, "A", 1, &k.row.account);
    k.row.present = 1;
    k.row.opt = 5;
    kit_judge(&k, 1);
    char buf[32];
    assert_int_equal(redan_message(k.lane, 0, buf, sizeof buf), 8);
    assert_string_equal(buf, "opt is 5");
    assert_string_equal(redan_code_name(k.lane, k.v.codes[0]), "A");
    assert_string_equal(redan_rule_name(k.lane, 0), "some");
    assert_null(redan_rule_name(k.lane, 1));
    assert_null(redan_code_name(k.lane, 1));
    kit_stop(&k);
}

/* ---- symbols ---- */
static void symbols(void **state) {
    (void)state;
    char long_text[256];
    memset(long_text, 'a', sizeof long_text);
    const struct { const char *text; size_t len; int rc; } rows[] = {
        { "ACME", 4, 0 }, { "", 0, 0 }, { NULL, 0, 0 }, { long_text, 255, 0 }, { long_text, 256, REDAN_E_INVAL },
        { "\xff", 1, REDAN_E_INVAL }, { "a\0b", 3, REDAN_E_INVAL }, { "\xed\xa0\x80", 3, REDAN_E_INVAL }, { "\xc3\xa9", 2, 0 } };
    redan_engine *e = kit_engine(1, NULL);
    for each (i, rows) {
        uint32_t id = 12345, again = 0;
        int rc = redan_sym(e, rows[i].text, rows[i].len, &id);
        check(rc == rows[i].rc && (rc == 0) == (id != 12345), "row %zu: %d", i, rc);
        check(rc < 0 || (redan_sym(e, rows[i].text, rows[i].len, &again) == 0 && again == id), "row %zu: another id", i);
    }
    redan_close(e);
}

static void symbol_table_full(void **state) {
    (void)state;
    redan_options o = REDAN_OPTIONS_INIT;
    redan_engine *e;
    redan_error err = { 0 };
    uint32_t id, n = 0;
    redan_ruleset *rs = UNTOUCHED;
    static const char text[] = HEAD "rule r on Order { when account == \"NEW\" flag A }\n";
    o.max_syms = 8;
    o.backend = kit_backend;
    check(redan_open(&e, &o, NULL) == 0, "open");
    for (int rc = 0; rc == 0 && n < 100; n += rc == 0) {
        char name[8];
        rc = redan_sym(e, name, (size_t)snprintf(name, sizeof name, "S%u", n), &id);
        check(rc == 0 || rc == REDAN_E_FULL, "%d", rc);
    }
    check(n > 0 && n <= 8, "%u symbols", n);
    check(redan_sym(e, "S0", 2, &id) == 0, "a known one is still found");
    int rc = redan_compile(e, "kit", text, sizeof text - 1, NULL, &rs, &err);
    check(fails(rc, REDAN_E_FULL, &err, "R1002") && rs == UNTOUCHED, "%d %s %s", rc, err.id, err.text);
    redan_close(e);
}

/* ---- events ---- */
static void events(void **state) {
    (void)state;
    redan_engine *e = kit_engine(1, NULL);
    redan_error err = { 0 };
    uint32_t id = 99, again = 99;
    uint64_t good = layout_of(ORDER_CANON);
    /* Before any rule set: the caller's word is taken, and holds from then on. */
    check(redan_event(e, "Order", good ^ 1, &id, &err) == 0 && id == 0, "%s", err.text);
    check(fails(redan_event(e, "Order", good, &again, &err), REDAN_E_LAYOUT, &err, "R3011") && again == 99, "%s", err.id);
    redan_ruleset *rs = kit_compile(e, COUNT_RULES);
    uint64_t generation = 77;
    memset(&err, 0, sizeof err);
    check(fails(redan_activate(e, rs, NULL, &generation, &err), REDAN_E_LAYOUT, &err, "R3011") && generation == 77, "%s %s", err.id, err.text);
    redan_release(rs);
    redan_close(e);

    e = kit_engine(1, NULL);
    rs = kit_compile(e, COUNT_RULES);
    kit_activate(e, rs);
    memset(&err, 0, sizeof err);
    check(fails(redan_event(e, "Order", good ^ 1, &id, &err), REDAN_E_LAYOUT, &err, "R3011"), "%s", err.id);
    check(redan_event(e, "Order", good, &id, &err) == 0 && redan_event(e, "Order", good, &again, &err) == 0 && id == again, "ids are kept");
    check(redan_event(e, "Nobody", 1, &again, &err) == 0 && again != id, "a name of no event may be bound");
    for (uint32_t n = 2; n < 256; n++) {
        char name[16];
        snprintf(name, sizeof name, "E%u", n);
        check(redan_event(e, name, n, &again, &err) == 0 && again == n, "%u: %s", n, err.text);
    }
    memset(&err, 0, sizeof err);
    check(fails(redan_event(e, "Last", 1, &again, &err), REDAN_E_FULL, &err, "R3012"), "%s", err.id);
    redan_release(rs);
    redan_close(e);
}

/* An event bound before activation, one bound after, one that the next rule set drops and the one after it has again. */
static void events_over_swaps(void **state) {
    (void)state;
    static const char without[] = "ruleset kit version 2\n  undefined skip\nevent Tick { v: int }\nrule r on Tick { when v > 0 flag T }\n";
    redan_engine *e = kit_engine(1, NULL);
    uint32_t order = kit_bind(e), tick, nobody;
    redan_lane *l = kit_lane(e, 0, 0);
    struct order row = { .ts = 1 };
    struct { int64_t ts, v; } t = { 2, 1 };
    redan_verdict v;
    redan_sym(e, "A", 1, &row.account);
    check(redan_eval(l, order, &row, &v) == REDAN_E_INVAL, "nothing is active");
    redan_ruleset *a = kit_compile(e, COUNT_RULES), *b = kit_compile(e, without);
    kit_activate(e, a);
    check(redan_eval(l, order, &row, &v) == 0, "bound before activation");
    check(redan_event(e, "Tick", layout_of("Tick;ts:time;v:int;"), &tick, NULL) == 0, "bind");
    check(redan_eval(l, tick, &t, &v) == REDAN_E_INVAL, "the active rules have no Tick");
    kit_activate(e, b);
    check(redan_eval(l, tick, &t, &v) == 0 && v.ncodes == 1 && strcmp(redan_code_name(l, v.codes[0]), "T") == 0, "bound before its rules");
    check(redan_eval(l, order, &row, &v) == REDAN_E_INVAL, "the active rules have no Order");
    check(redan_event(e, "Nobody", 5, &nobody, NULL) == 0 && redan_eval(l, nobody, &t, &v) == REDAN_E_INVAL && redan_eval(l, 200, &t, &v) == REDAN_E_INVAL, "unknown");
    kit_activate(e, a);
    check(redan_eval(l, order, &row, &v) == 0 && v.now_ns == 2, "back again, at the high-water time of Tick");
    redan_lane_close(l);
    redan_release(a);
    redan_release(b);
    redan_close(e);
}

/* ---- generations ---- */
static char *versioned(char *buf, size_t cap, int code, int limit) {
    snprintf(buf, cap, HEAD "window n = count() by account on Order\nwindow s = sum(qty) by account on accepted Order\n"
             "rule r on Order { when n >= %d flag CODE_%d }\nrule t on Order { when true emit Seen { n: n, s: s } }\n", limit, code);
    return buf;
}

static void expect_generation(struct kit *k, const char *code, int64_t n, int64_t s) {
    kit_judge(k, 10);
    check(k->v.ncodes == 1 && strcmp(redan_code_name(k->lane, k->v.codes[0]), code) == 0, "%s: %u codes", code, k->v.ncodes);
    check(k->v.nemits == 1 && k->v.emits[0].fields[0].as.i == n && k->v.emits[0].fields[1].as.i == s, "%s: n %lld s %lld", code,
          (long long)k->v.emits[0].fields[0].as.i, (long long)k->v.emits[0].fields[1].as.i);
}

static void rollback(void **state) {
    (void)state;
    char text[1024];
    struct kit k;
    uint64_t g = 0, last;
    redan_error err = { 0 };
    kit_start(&k, versioned(text, sizeof text, 0, 1));
    check(fails(redan_rollback(k.eng, &g, &err), REDAN_E_INVAL, &err, "R3010") && g == 0, "%s", err.id);
    expect_generation(&k, "CODE_0", 1, 0);
    for (int i = 1; i <= 5; i++) {                       /* three are kept: 2, 3 and 4 */
        redan_ruleset *rs = kit_compile(k.eng, versioned(text, sizeof text, i, 1));
        last = kit_activate(k.eng, rs);
        redan_release(rs);                               /* the engine keeps its own reference */
        check(k.v.generation < last, "%d: generation %llu", i, (unsigned long long)last);
        char code[16];
        snprintf(code, sizeof code, "CODE_%d", i);
        expect_generation(&k, code, i + 1, 10 * i);
        assert_int_equal(k.v.generation, last);
    }
    for (int i = 4; i >= 2; i--) {
        char code[16];
        check(redan_rollback(k.eng, &g, &err) == 0 && g > k.v.generation, "back to %d: %s", i, err.text);
        snprintf(code, sizeof code, "CODE_%d", i);
        expect_generation(&k, code, 11 - i, 10 * (10 - i));
        assert_int_equal(k.v.generation, g);
    }
    memset(&err, 0, sizeof err);
    check(fails(redan_rollback(k.eng, &g, &err), REDAN_E_INVAL, &err, "R3010"), "%s", err.id);
    expect_generation(&k, "CODE_2", 10, 90);
    kit_stop(&k);
}

/* A window with another structural hash starts cold, the other goes on; back again, the changed one has nothing to take over. */
static void carried_or_cold(void **state) {
    (void)state;
    struct kit k;
    static const char sum[] = HEAD "window n = count() by account on Order\nwindow w = sum(qty) by account on Order\nrule t on Order { when true emit S { n: n, w: w } }\n";
    static const char renamed[] = HEAD "window w = sum(qty + 0) by account on Order\nwindow other = count() by account on Order keys 9\n"
                                       "rule t on Order { when true emit S { n: other, w: w } }\n";
    static const struct { int64_t n, w; } rows[] = { { 1, 10 }, { 2, 20 }, { 3, 10 }, { 4, 20 }, { 5, 10 } };
    kit_start(&k, sum);
    redan_ruleset *b = kit_compile(k.eng, renamed);
    for each (i, rows) {
        if (i == 2)
            kit_activate(k.eng, b);
        if (i == 4)
            check(redan_rollback(k.eng, NULL, NULL) == 0, "rollback");
        kit_judge(&k, 10);
        check(k.v.emits[0].fields[0].as.i == rows[i].n && k.v.emits[0].fields[1].as.i == rows[i].w, "row %zu: %lld %lld", i,
              (long long)k.v.emits[0].fields[0].as.i, (long long)k.v.emits[0].fields[1].as.i);
    }
    redan_release(b);
    kit_stop(&k);
}

static void activation_refusals(void **state) {
    (void)state;
    static const char kernel[] = HEAD "kernel half(x: float) -> float deadline 1ms default 0.0 { each i < 4 reduce mean(x) }\nrule r on Order { when half(f) > 1.0 flag A }\n";
    static const char part[] = "ruleset p version 1\n  undefined skip\n  partition by account\n" ORDER_EVENT "rule r on Order { when qty > 1 flag A }\n";
    redan_engine *e = kit_engine(2, NULL), *other = kit_engine(1, NULL);
    redan_ruleset *plain = kit_compile(e, COUNT_RULES), *waits = kit_compile(e, kernel), *split = kit_compile(e, part), *foreign = kit_compile(other, COUNT_RULES);
    redan_activation a = REDAN_ACTIVATION_INIT;
    uint64_t g = 77;
    redan_error err = { 0 };
    a.expect = 1;
    check(fails(redan_activate(e, plain, &a, &g, &err), REDAN_E_STALE, &err, "R3009"), "nothing is active: %s", err.id);
    uint64_t first = kit_activate(e, plain);
    redan_lane *l = kit_lane(e, 0, 0);
    a.expect = first + 1;
    check(fails(redan_activate(e, plain, &a, &g, &err), REDAN_E_STALE, &err, "R3009"), "another is active: %s", err.id);
    check(fails(redan_activate(e, waits, NULL, &g, &err), REDAN_E_INVAL, &err, "R3007"), "a lane may not wait: %s", err.id);
    check(fails(redan_activate(e, split, NULL, &g, &err), REDAN_E_INVAL, &err, "R3013"), "another partition: %s", err.id);
    check(fails(redan_activate(e, foreign, NULL, &g, &err), REDAN_E_INVAL, &err, ""), "of another engine: %s", err.text);
    check(fails(redan_activate(e, NULL, NULL, &g, &err), REDAN_E_INVAL, &err, ""), "none: %s", err.text);
    assert_int_equal(g, 77);
    a.expect = first;
    check(redan_activate(e, plain, &a, &g, &err) == 0 && g == first + 1, "as expected: %s", err.text);
    redan_lane_close(l);
    check(redan_activate(e, waits, NULL, &g, &err) == 0, "no lane is open: %s", err.text);
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    l = UNTOUCHED;
    check(fails(redan_lane_open(e, &o, &l, &err), REDAN_E_INVAL, &err, "R3007") && l == UNTOUCHED, "%s", err.id);
    o.flags = REDAN_LANE_MAY_WAIT;
    check(redan_lane_open(e, &o, &l, &err) == 0, "%s", err.text);
    check(fails(redan_lane_open(e, &o, &l, &err), REDAN_E_INVAL, &err, "R3001"), "open already: %s", err.id);
    o.index = 2;
    check(fails(redan_lane_open(e, &o, &l, &err), REDAN_E_INVAL, &err, "R3001"), "out of range: %s", err.id);
    redan_lane_close(l);
    redan_release(plain), redan_release(waits), redan_release(split), redan_release(foreign);
    redan_close(e);
    redan_close(other);
}

/* One lane may change the partition: there is nothing to move. */
static void partition_on_one_lane(void **state) {
    (void)state;
    struct kit k;
    kit_start(&k, COUNT_RULES);
    redan_ruleset *split = kit_compile(k.eng, "ruleset p version 1\n  undefined skip\n  partition by account\n" ORDER_EVENT "rule r on Order { when qty > 1 flag A }\n");
    kit_activate(k.eng, split);
    kit_judge(&k, 2);
    assert_int_equal(k.v.ncodes, 1);
    redan_release(split);
    kit_stop(&k);
}

/* ---- memory ---- */
static void every_byte_comes_back(void **state) {
    (void)state;
    struct books books = { 0 };
    char text[1024];
    redan_engine *e = kit_engine(2, &books);
    uint32_t order = kit_bind(e);
    redan_ruleset *rs = kit_compile(e, versioned(text, sizeof text, 0, 1)), *bad = NULL;
    kit_activate(e, rs);
    redan_lane *l[2] = { kit_lane(e, 0, 0), kit_lane(e, 1, 0) };
    struct order row = { .ts = 1 };
    redan_verdict v;
    for (int i = 0; i < 20; i++) {
        row.ts++;
        redan_sym(e, "A", 1, &row.account);
        check(redan_eval(l[i % 2], order, &row, &v) == 0, "eval");
        redan_release(rs);
        rs = kit_compile(e, versioned(text, sizeof text, i % 4, 1));
        kit_activate(e, rs);
        check(redan_compile(e, "bad", "ruleset x version", 17, NULL, &bad, NULL) < 0, "bad text");
    }
    redan_lane_close(l[0]);
    redan_lane_close(l[1]);
    redan_release(rs);
    redan_close(e);
    check(books.blocks == 0 && books.bytes == 0 && !books.wrong, "%zu blocks, %zu bytes left, sizes %s", books.blocks, books.bytes, books.wrong ? "wrong" : "right");
    assert_true(books.calls > 100);
}

/* A lane that does not judge holds the old generations; idle lets them go, closing it too. */
static void idle_lanes(void **state) {
    (void)state;
    struct books books = { 0 };
    char text[1024];
    redan_engine *e = kit_engine(2, &books);
    redan_ruleset *a = kit_compile(e, versioned(text, sizeof text, 0, 1)), *b = kit_compile(e, versioned(text, sizeof text, 1, 1));
    kit_activate(e, a);
    redan_lane *busy = kit_lane(e, 0, 0), *quiet = kit_lane(e, 1, 0);
    for (int i = 0; i < 4; i++) {
        kit_activate(e, i % 2 ? a : b);
        redan_lane_idle(busy);
    }
    size_t held = books.bytes;
    for (int i = 0; i < 8; i++) {
        kit_activate(e, i % 2 ? a : b);
        redan_lane_idle(busy);
    }
    check(books.bytes > held, "nothing is held for the quiet lane");
    redan_lane_idle(quiet);
    kit_activate(e, a);
    check(books.bytes < held, "%zu bytes after idle, %zu before", books.bytes, held);
    for (int i = 0; i < 8; i++)
        kit_activate(e, i % 2 ? a : b);
    redan_lane_close(quiet);
    redan_lane_close(busy);
    kit_activate(e, b);
    check(books.bytes < held, "%zu bytes after close, %zu before", books.bytes, held);
    redan_release(a);
    redan_release(b);
    redan_close(e);
    check(books.blocks == 0 && !books.wrong, "%zu blocks left", books.blocks);
}

static long faults_of_10000_keys(uint32_t flags) {
    redan_options o = REDAN_OPTIONS_INIT;
    struct kit k = { 0 };
    struct rusage before, after;
    static uint32_t ids[10000];
    o.flags = flags;
    o.backend = kit_backend;
    check(redan_open(&k.eng, &o, NULL) == 0, "open");
    k.rs = kit_compile(k.eng, HEAD "window a = avg(f) over 60s by account on Order\nrule r on Order { when a > 5.0 flag A }\n");
    kit_activate(k.eng, k.rs);
    k.order = kit_bind(k.eng);
    k.lane = kit_lane(k.eng, 0, 0);
    for (uint32_t i = 0; i < 10000; i++) {
        char name[8];
        redan_sym(k.eng, name, (size_t)snprintf(name, sizeof name, "S%u", i), &ids[i]);
    }
    kit_judge(&k, 1);
    getrusage(RUSAGE_SELF, &before);
    for (uint32_t i = 0; i < 10000; i++) {
        k.row.account = ids[i];
        kit_judge(&k, 1);
    }
    getrusage(RUSAGE_SELF, &after);
    kit_stop(&k);
    return after.ru_minflt - before.ru_minflt;
}

static void prefault(void **state) {
    (void)state;
    long lazy = faults_of_10000_keys(0), eager = faults_of_10000_keys(REDAN_PREFAULT);
    if (lazy < 500) {
        print_message("%ld page faults for 10,000 keys: this machine uses huge pages, there is nothing to compare\n", lazy);
        skip();
    }
    check(eager * 4 < lazy, "%ld page faults with REDAN_PREFAULT, %ld without", eager, lazy);
}

/* ---- processes and threads ---- */
static int in_child(void (*fn)(void *), void *arg) {
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        if (!freopen("/dev/null", "w", stderr))
            _exit(99);
        fn(arg);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void eval_in_child(void *arg) {
    struct kit *k = arg;
    size_t done = 9;
    bool closed = redan_eval(k->lane, k->order, &k->row, &k->v) == REDAN_E_CLOSED && redan_eval_at(k->lane, k->order, &k->row, 5, &k->v) == REDAN_E_CLOSED &&
                  redan_eval_batch(k->lane, k->order, &k->row, sizeof k->row, 1, &k->v, &done) == REDAN_E_CLOSED && done == 0;
    _exit(closed ? 42 : 1);
}

static void closed_after_fork(void **state) {
    (void)state;
    struct kit k;
    kit_start(&k, COUNT_RULES);
    kit_judge(&k, 1);
    int status = in_child(eval_in_child, &k);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status %x", status);
    kit_judge(&k, 1);                                    /* the parent goes on */
    kit_stop(&k);
}

#ifdef RDN_CHECK_TAGS
static void *eval_thread(void *arg) {
    struct kit *k = arg;
    redan_eval(k->lane, k->order, &k->row, &k->v);
    return NULL;
}
static void *message_thread(void *arg) {
    char buf[8];
    redan_message(((struct kit *)arg)->lane, 0, buf, sizeof buf);
    return NULL;
}
static void *idle_thread(void *arg) {
    redan_lane_idle(((struct kit *)arg)->lane);
    return NULL;
}
static void *close_thread(void *arg) {
    redan_lane_close(((struct kit *)arg)->lane);
    return NULL;
}

struct foreign { struct kit *k; void *(*call)(void *); };
static void call_from_thread(void *arg) {
    struct foreign *f = arg;
    pthread_t t;
    pthread_create(&t, NULL, f->call, f->k);
    pthread_join(t, NULL);
}
static void setup_twice(void *arg) {
    struct kit *k = arg;
    rdn_tag_setup_begin(k->eng, "a thread in the middle of redan_activate");
    redan_activate(k->eng, k->rs, NULL, NULL, NULL);
}

static void tags_are_checked(void **state) {
    (void)state;
    struct kit k;
    void *(*calls[])(void *) = { eval_thread, message_thread, idle_thread, close_thread };
    kit_start(&k, COUNT_RULES);
    kit_judge(&k, 1);
    for each (i, calls) {
        struct foreign f = { &k, calls[i] };
        int status = in_child(call_from_thread, &f);
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "call %zu: status %x", i, status);
    }
    int status = in_child(setup_twice, &k);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "setup: status %x", status);
    kit_stop(&k);
}
#else
static void tags_are_checked(void **state) {
    (void)state;
    print_message("a release build does not check thread tags\n");
    skip();
}
#endif

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(option_sizes), cmocka_unit_test(open_refusals), cmocka_unit_test(error_texts), cmocka_unit_test(compile_errors),
        cmocka_unit_test(text_is_copied), cmocka_unit_test(symbols), cmocka_unit_test(symbol_table_full), cmocka_unit_test(events),
        cmocka_unit_test(events_over_swaps), cmocka_unit_test(rollback), cmocka_unit_test(carried_or_cold), cmocka_unit_test(activation_refusals),
        cmocka_unit_test(partition_on_one_lane), cmocka_unit_test(every_byte_comes_back), cmocka_unit_test(idle_lanes), cmocka_unit_test(prefault),
        cmocka_unit_test(closed_after_fork), cmocka_unit_test(tags_are_checked),
    };
    int failed = cmocka_run_group_tests_name("engine on interp", tests, NULL, NULL);
    kit_backend = "x64";
    return failed + cmocka_run_group_tests_name("engine on x64", tests, NULL, NULL);
}
