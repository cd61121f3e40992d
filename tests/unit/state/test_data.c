/* SPDX-License-Identifier: Apache-2.0
 * File tables and calendars by hand-made rows; random lists, calendars and host tables are compared with the model
 * (data_model.py). */
#include "state/data.h"

#include "base/text.h"
#include "tests/unit/rows.h"

static const struct rdn_type t_int = { .kind = RDN_K_INT }, t_str = { .kind = RDN_K_STR, .n = 10 }, t_date = { .kind = RDN_K_DATE };

static struct rdn_key text_key(const char *s, int64_t n) {
    struct rdn_key k;
    struct rdn_cell a = { .t = { s, (uint32_t)strlen(s) } }, b = { .i = n };
    rdn_key_begin(&k);
    rdn_key_add(&k, &t_str, &a);
    rdn_key_add(&k, &t_int, &b);
    rdn_key_end(&k);
    return k;
}

static void file_table(void **state) {
    (void)state;
    struct rdn_column keys[] = { { "name", &t_str }, { "n", &t_int } }, cols[] = { { "v", &t_int } };
    struct rdn_cell k1[] = { { .t = { "ab", 2 } }, { .i = 1 } }, k2[] = { { .t = { "ab", 2 } }, { .i = 2 } }, v1 = { .i = 10 }, v2 = { .i = 20 },
                    v3 = { .i = 30 }, other = { .i = -1 };
    struct rdn_row rows[] = { { k1, &v1 }, { k2, &v2 }, { k1, &v3 } };   /* the last of equal keys counts */
    static const struct { const char *a; int64_t n, with, without; } asks[] = {
        { "ab", 1, 30, 30 }, { "ab", 2, 20, 20 }, { "ab", 3, -1, 0 }, { "a", 1, -1, 0 }, { "", 1, -1, 0 }, { "12345678901", 1, -1, 0 },
    };
    for (int def = 0; def < 2; def++) {
        struct rdn_table d = { .name = "t", .keys = keys, .cols = cols, .nkeys = 2, .ncols = 1, .rows = rows, .nrows = 3, .def = def ? &other : NULL };
        struct rdn_tab *t;
        assert_int_equal(rdn_tab_open(&d, &rdn_libc_mem, &t), 0);
        assert_int_equal(rdn_tab_rows(t), 2);
        for each (i, asks) {
            struct rdn_key k = text_key(asks[i].a, asks[i].n);
            const struct rdn_cell *v = rdn_tab_find(t, &k);
            int64_t want = def ? asks[i].with : asks[i].without;
            check((v ? v->i : 0) == want, "%s row %zu", def ? "with a default" : "without", i);
        }
        rdn_tab_close(t);
    }
}

static void empty_table(void **state) {
    (void)state;
    struct rdn_column keys[] = { { "name", &t_str }, { "n", &t_int } };
    struct rdn_table d = { .name = "t", .keys = keys, .nkeys = 2, .cols = keys, .ncols = 1 };
    struct rdn_tab *t;
    struct rdn_key k = text_key("a", 1);
    assert_int_equal(rdn_tab_open(&d, &rdn_libc_mem, &t), 0);
    assert_null(rdn_tab_find(t, &k));
    rdn_tab_close(t);
}

enum { STEPS = 600 };
#define STEP_NS (7 * 60 * 1000000000ll)
/* The kept answer and a fresh one agree in all steps of a year's pieces, and up to the ends of each span. */
static void answers_hold(const struct rdn_cal *c, int64_t from) {
    struct rdn_cal_span kept = { 0 }, fresh, edge;
    for (int64_t i = 0; i < 100 * STEPS; i += i % STEPS == STEPS - 1 ? STEPS * 3 : 1) {
        int64_t now = from + i * STEP_NS;
        bool open = rdn_cal_span_at(c, now, &fresh);
        check(rdn_cal_open_at(c, now, &kept) == open, "kept at %lld", (long long)now);
        check(fresh.from_ns <= now && (now < fresh.until_ns || now > INT64_MAX - 1000000000), "span of %lld", (long long)now);
        check(rdn_cal_span_at(c, fresh.from_ns, &edge) == open, "from of %lld", (long long)now);
        check(rdn_cal_span_at(c, fresh.until_ns - 1, &edge) == open, "until of %lld", (long long)now);
    }
}

/* Sessions over midnight belong to the day they open; clocks that change twice a year. */
static void calendars(void **state) {
    (void)state;
    struct rdn_cell holidays[] = { { .i = 20517 } };     /* 2026-03-05, a Thursday */
    struct rdn_list lists[] = { { "holidays", &t_date, holidays, 1 } };
    uint32_t except[] = { 0 };
    struct rdn_session sessions[] = {
        { 1 | 2 | 4 | 8 | 16, -1, 9 * 60, 17 * 60 + 30, except, 1 }, { 8, -1, 22 * 60, 6 * 60, except, 1 }, { 64, -1, 0, 24 * 60, NULL, 0 },
    };
    struct rdn_calendar d = { "c", "Europe/Berlin", sessions, 3 };
    static const struct { const char *t; bool open; } rows[] = {
        { "2026-03-03T07:59:59.999999999Z", false }, { "2026-03-03T08:00Z", true }, { "2026-03-03T16:29:59Z", true }, { "2026-03-03T16:30Z", false },
        { "2026-03-05T10:00Z", false },              /* a holiday */
        { "2026-03-05T22:00Z", false },              /* its night session too */
        { "2026-03-06T04:00Z", false },              /* past midnight it is still that of the holiday */
        { "2026-03-12T21:30Z", true },               /* a Thursday night */
        { "2026-03-13T04:59Z", true },  { "2026-03-13T05:00Z", false },
        { "2026-03-28T23:00Z", true },               /* Sunday begins in Berlin */
        { "2026-03-29T21:59:59Z", true },            /* summer time has begun: the day is an hour shorter */
        { "2026-03-29T22:00Z", false }, { "2026-03-30T07:00Z", true },  { "2026-03-30T06:59Z", false },
        { "1969-12-31T10:00Z", true },  { "1969-12-28T10:00Z", true },  { "1969-12-27T22:59:59.999999999Z", false },
    };
    struct rdn_cal *c;
    assert_int_equal(rdn_cal_open(&d, lists, &rdn_libc_mem, &c), 0);
    for each (i, rows) {
        int64_t now;
        assert_true(rdn_read_time(rows[i].t, strlen(rows[i].t), &now));
        struct rdn_cal_span span;
        check(rdn_cal_span_at(c, now, &span) == rows[i].open, "%s", rows[i].t);
    }
    answers_hold(c, 1770000000000000000);                /* 2026, from the tz file's table */
    answers_hold(c, 4780000000000000000);                /* 2121, from its footer */
    answers_hold(c, -40000000000000000);
    answers_hold(c, INT64_MIN + 1000000000);
    answers_hold(c, INT64_MAX - 100 * STEPS * STEP_NS);
    rdn_cal_close(c);
    d.zone = "Nowhere/Else";
    assert_int_equal(rdn_cal_open(&d, lists, &rdn_libc_mem, &c), REDAN_E_INVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(file_table), cmocka_unit_test(empty_table), cmocka_unit_test(calendars) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
