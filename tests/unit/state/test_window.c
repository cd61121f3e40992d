/* SPDX-License-Identifier: Apache-2.0
 * Windows: the worked examples of LANGUAGE.md 10, memory per key, counts that stop, memory that ends. The model comparison
 * (win_model.py) covers the values. */
#include "state/window.h"

#include <stdlib.h>

#include "base/fault.h"
#include "state/data.h"
#include "state/window_impl.h"
#include "tests/unit/rows.h"

#define SEC 1000000000ll
static const struct rdn_type t_int = { .kind = RDN_K_INT }, t_float = { .kind = RDN_K_FLOAT }, t_sym = { .kind = RDN_K_SYM },
                             t_dec = { .kind = RDN_K_DEC, .scale = 2 }, t_str = { .kind = RDN_K_STR, .n = 30 }, t_date = { .kind = RDN_K_DATE };
static const struct rdn_type *by_int[] = { &t_int };

static struct rdn_window window(enum rdn_agg agg, const struct rdn_type *vtype, int64_t over, uint32_t panes, uint32_t exact, uint32_t events) {
    bool integer = agg == RDN_AGG_COUNT || agg == RDN_AGG_DISTINCT;
    bool real = agg == RDN_AGG_AVG || agg == RDN_AGG_STDDEV || agg == RDN_AGG_ZSCORE || agg == RDN_AGG_EWMA;
    return (struct rdn_window){ .name = "w", .agg = (uint8_t)agg, .vtype = vtype, .rtype = integer ? &t_int : real ? &t_float : vtype,
                                .ktypes = by_int, .nkeys = 1, .over_ns = over, .events = events, .panes = panes, .exact = exact, .cap = 4,
                                .pane_ns = panes ? (over + panes - 1) / panes : 0 };
}

static struct rdn_win *opened(const struct rdn_window *d) {
    struct rdn_win *w = NULL;
    redan_error err;
    assert_int_equal(rdn_win_open(d, NULL, &rdn_libc_mem, false, NULL, &w, &err), 0);
    return w;
}

static struct rdn_key key(int64_t v) {
    struct rdn_key k;
    struct rdn_cell c = { .i = v };
    rdn_key_begin(&k);
    rdn_key_add(&k, &t_int, &c);
    rdn_key_end(&k);
    return k;
}

static void enter(struct rdn_win *w, int64_t now, struct rdn_cell v) {
    struct rdn_key k = key(1);
    assert_true(rdn_win_update(w, &k, now, &v, 0));
}
static struct rdn_cell read_at(struct rdn_win *w, int64_t now) {
    struct rdn_key k = key(1);
    struct rdn_cell c;
    rdn_win_read(w, &k, now, &c);
    return c;
}

/* count() over 60s, first at a base time, then before 1970. */
static void panes_of_a_count(void **state) {
    (void)state;
    static const struct { int64_t at; int64_t n; } rows[] = { { 0, 1 }, { 60 * SEC, 1 }, { 61 * SEC - 1, 1 }, { 61 * SEC, 0 }, { 400 * 365 * 86400ll, 0 } };
    static const int64_t bases[] = { 0, 1770000000 * SEC, -600 * SEC };
    for each (b, bases) {
        struct rdn_window d = window(RDN_AGG_COUNT, NULL, 60 * SEC, 60, 0, 0);
        struct rdn_win *w = opened(&d);
        enter(w, bases[b], (struct rdn_cell){ 0 });
        for each (i, rows)
            check(read_at(w, bases[b] + rows[i].at).i == rows[i].n || rows[i].at < 60 * SEC, "base %zu row %zu", b, i);
        rdn_win_close(w);
    }
}

/* The order of additions of the second worked example. */
static void float_panes(void **state) {
    (void)state;
    struct rdn_window d = window(RDN_AGG_SUM, &t_float, 10 * SEC, 10, 0, 0);
    struct rdn_win *w = opened(&d);
    static const double v[] = { 0.1, 0.2, 0.3, 0.4, 0.5 };
    for each (i, v)
        enter(w, i < 3 ? 0 : SEC, (struct rdn_cell){ .f = v[i] });
    assert_true(read_at(w, SEC).f == (((0.1 + 0.2) + 0.3) + 0.4) + 0.5);
    assert_true(read_at(w, 2 * SEC).f == (0.0 + ((0.1 + 0.2) + 0.3)) + (0.4 + 0.5));
    rdn_win_close(w);
}

static void ring_of_tenths(void **state) {
    (void)state;
    struct rdn_window d = window(RDN_AGG_SUM, &t_float, 0, 0, 0, 13);
    struct rdn_win *w = opened(&d);
    for (int i = 0; i < 13; i++)
        enter(w, 0, (struct rdn_cell){ .f = 0.1 });
    assert_true(read_at(w, 0).f == 1.3);                 /* appendix A */
    rdn_win_close(w);
}

static void estimates(void **state) {
    (void)state;
    static const struct { int64_t n, estimate; } rows[] = { { 50, 48 }, { 300, 282 }, { 5000, 4583 } };   /* appendix A */
    for each (i, rows) {
        struct rdn_window d = window(RDN_AGG_DISTINCT, &t_int, 0, 0, 1, 0);
        struct rdn_win *w = opened(&d);
        for (int64_t v = 0; v < rows[i].n; v++)
            enter(w, 0, (struct rdn_cell){ .i = v });
        check(read_at(w, 0).i == rows[i].estimate, "%ld values: %ld", (long)rows[i].n, (long)read_at(w, 0).i);
        rdn_win_close(w);
    }
}

/* Bytes per key as chapter 14 states them, and how much more the table takes: links and index (24 to 37 bytes, of which the
 * formula's 32 cover most) and, where a pane needs a count for the warm-up, two bytes a pane. */
static const struct { enum rdn_agg agg; const struct rdn_type *type; int64_t over; uint32_t panes, exact, events; uint32_t stated, slack; } sizes[] = {
    { RDN_AGG_COUNT, NULL, SEC, 60, 0, 0, 32 + 8 + 62 * 4, 56 },
    { RDN_AGG_SUM, &t_float, SEC, 60, 0, 0, 32 + 8 + 62 * 8, 56 + 122 },
    { RDN_AGG_SUM, &t_dec, SEC, 60, 0, 0, 32 + 8 + 62 * 16, 56 + 122 },
    { RDN_AGG_AVG, &t_int, SEC, 60, 0, 0, 32 + 8 + 62 * 20, 56 },
    { RDN_AGG_MIN, &t_date, SEC, 60, 0, 0, 32 + 8 + 62 * 12, 56 },
    { RDN_AGG_LAST, &t_str, SEC, 60, 0, 0, 32 + 8 + 62 * 36, 56 },
    { RDN_AGG_FIRST, &t_str, SEC, 60, 0, 0, 32 + 8 + 62 * 36, 56 + 122 },
    { RDN_AGG_STDDEV, &t_float, SEC, 60, 0, 0, 32 + 8 + 62 * 24, 56 },
    { RDN_AGG_ZSCORE, &t_int, SEC, 1024, 0, 0, 32 + 8 + 1026 * 24, 56 },
    { RDN_AGG_DISTINCT, &t_sym, SEC, 60, 0, 0, 1000, 56 },
    { RDN_AGG_DISTINCT, &t_sym, SEC, 60, 4096, 0, 32 + 8 + 4096 * 12, 56 + 4096 * 2 },   /* 16-bit index entries */
    { RDN_AGG_DISTINCT, &t_int, 0, 0, 0, 0, 808, 56 },
    { RDN_AGG_DISTINCT, &t_int, 0, 0, 0, 4096, 32 + 8 + 4096 * 16, 56 },
    { RDN_AGG_COUNT, NULL, SEC, 0, 100, 0, 32 + 8 + 100 * 8 + 16, 56 },
    { RDN_AGG_SUM, &t_int, SEC, 0, 100, 0, 32 + 8 + 100 * 24 + 16, 56 },
    { RDN_AGG_AVG, &t_float, 0, 0, 0, 100, 32 + 8 + 100 * 8 + 16, 56 },
    { RDN_AGG_SUM, &t_dec, 0, 0, 0, 0, 64, 56 },
    { RDN_AGG_EWMA, &t_float, 0, 0, 0, 0, 32 + 8 + 32, 56 },
};
static void memory_per_key(void **state) {
    (void)state;
    for each (i, sizes) {
        struct rdn_window d = window(sizes[i].agg, sizes[i].type, sizes[i].over, sizes[i].panes, sizes[i].exact, sizes[i].events);
        d.cap = 65536;
        size_t have = (rdn_win_bytes(&d) + d.cap - 1) / d.cap;
        check(have <= sizes[i].stated + sizes[i].slack, "row %zu: %zu bytes a key, stated %u", i, have, sizes[i].stated);
    }
}

/* After 2^32 - 1 updates in a pane the count cannot be told any more, and says so until that pane has left. White box: nobody
 * waits for four billion updates. */
static void counts_that_stop(void **state) {
    (void)state;
    struct rdn_window d = window(RDN_AGG_COUNT, NULL, 10 * SEC, 10, 0, 0);
    struct rdn_win *w = opened(&d);
    enter(w, 0, (struct rdn_cell){ 0 });
    uint32_t *counts = (uint32_t *)((char *)rdn_keytab_state(&w->tab, 0) + w->off[1]);
    assert_int_equal(counts[0], 1);
    counts[0] = UINT32_MAX;
    enter(w, 0, (struct rdn_cell){ 0 });
    assert_int_equal(counts[0], UINT32_MAX);
    assert_int_equal(read_at(w, 0).cause, RDN_CAUSE_OVERFLOW);
    enter(w, 5 * SEC, (struct rdn_cell){ 0 });
    assert_int_equal(read_at(w, 10 * SEC).cause, RDN_CAUSE_OVERFLOW);
    assert_int_equal(read_at(w, 11 * SEC).cause, RDN_DEFINED);
    rdn_win_close(w);
}

/* The count of a sum serves the warm-up alone: it may stop at 65,535 without anybody noticing. */
static void counts_for_warmup(void **state) {
    (void)state;
    struct rdn_window d = window(RDN_AGG_SUM, &t_int, 10 * SEC, 10, 0, 0);
    d.warmup = 4096;
    struct rdn_win *w = opened(&d);
    for (int i = 0; i < 70000; i++)
        enter(w, 0, (struct rdn_cell){ .i = 1 });
    assert_int_equal(read_at(w, 10 * SEC).i, 70000);
    enter(w, 10 * SEC, (struct rdn_cell){ .i = 5 });
    assert_int_equal(read_at(w, 10 * SEC).i, 70005);
    assert_int_equal(read_at(w, 11 * SEC).cause, RDN_CAUSE_COLD);
    rdn_win_close(w);
}

static void keys_nobody_can_store(void **state) {
    (void)state;
    static const struct rdn_type *by_dec[] = { &t_dec };
    struct rdn_window d = window(RDN_AGG_COUNT, NULL, 0, 0, 0, 0);
    d.ktypes = by_dec;
    struct rdn_win *w = opened(&d);
    struct rdn_key k;
    struct rdn_cell c = { .d = (rdn_i128)1 << 100 };
    struct rdn_win_stats st;
    rdn_key_begin(&k), rdn_key_add(&k, &t_dec, &c), rdn_key_end(&k);
    assert_false(rdn_win_update(w, &k, 0, &c, 0));
    rdn_win_reset(w, &k);
    rdn_win_read(w, &k, 0, &c);
    assert_true(c.cause == RDN_DEFINED && c.i == 0);
    rdn_win_stats(w, &st);
    assert_true(st.skipped == 1 && st.refused == 0 && st.keys == 0);
    rdn_win_close(w);
}

/* Windows that do not share a layout refuse to carry, whatever the caller believed. */
static void no_carry(void **state) {
    (void)state;
    struct rdn_window a = window(RDN_AGG_SUM, &t_int, 10 * SEC, 10, 0, 0), others[] = {
        window(RDN_AGG_SUM, &t_float, 10 * SEC, 10, 0, 0), window(RDN_AGG_SUM, &t_int, 10 * SEC, 11, 0, 0),
        window(RDN_AGG_SUM, &t_int, 11 * SEC, 10, 0, 0),   window(RDN_AGG_SUM, &t_int, 10 * SEC, 0, 10, 0),
        window(RDN_AGG_AVG, &t_int, 10 * SEC, 10, 0, 0),   window(RDN_AGG_SUM, &t_dec, 10 * SEC, 10, 0, 0),
    };
    for each (i, others) {
        struct rdn_win *from = opened(&a), *to = opened(&others[i]), *twin = opened(&a);
        enter(from, 0, (struct rdn_cell){ .i = 3 });
        check(!rdn_win_carry(to, from), "row %zu", i);
        check(read_at(from, 0).i == 3, "row %zu: the old one keeps its state", i);
        check(rdn_win_carry(twin, from) && read_at(twin, 0).i == 3, "row %zu: a twin takes it", i);
        rdn_win_close(from), rdn_win_close(to), rdn_win_close(twin);
    }
}

/* What the checker refuses, rdn_win_open refuses too: IR text may say anything. */
static void unsound(void **state) {
    (void)state;
    struct rdn_window good = window(RDN_AGG_SUM, &t_int, 10 * SEC, 10, 0, 0), rows[] = {
        window(RDN_AGG_SUM, NULL, 10 * SEC, 10, 0, 0),      window(RDN_AGG_SUM, &t_int, 10 * SEC, 0, 0, 0),
        window(RDN_AGG_SUM, &t_int, 10 * SEC, 10, 10, 0),   window(RDN_AGG_SUM, &t_int, 10 * SEC, 1025, 0, 0),
        window(RDN_AGG_SUM, &t_int, 10 * SEC, 0, 4097, 0),  window(RDN_AGG_SUM, &t_int, 0, 0, 0, 4097),
        window(RDN_AGG_SUM, &t_int, 10 * SEC, 10, 0, 5),    window(RDN_AGG_SUM, &t_int, 0, 0, 5, 0),
        window(RDN_AGG_SUM, &t_int, -1, 0, 0, 0),           window(RDN_AGG_EWMA, &t_int, 10 * SEC, 10, 0, 0),
        window(RDN_AGG_EWMA, &t_int, 0, 0, 0, 3),           window(RDN_AGG_DISTINCT, &t_int, 10 * SEC, 0, 5, 0),
        window(RDN_AGG_DELTA + 1, &t_int, 10 * SEC, 10, 0, 0), good, good, good, good,
    };
    size_t n = sizeof rows / sizeof *rows;
    rows[n - 1].cap = 0;
    rows[n - 2].cap = (1u << 24) + 1;
    rows[n - 3].nkeys = 9;
    rows[n - 4].nkeys = 0;                               /* one key, so a capacity of one */
    for each (i, rows) {
        struct rdn_win *w = NULL;
        redan_error err;
        check(rdn_win_open(&rows[i], NULL, &rdn_libc_mem, false, NULL, &w, &err) == REDAN_E_INVAL, "row %zu", i);
    }
    rdn_win_close(opened(&good));
}

/* Memory ends at any point of an open: an error, and nothing is leaked (the sanitizer looks). */
static int open_all(void) {
    struct rdn_window small = window(RDN_AGG_COUNT, NULL, SEC, 60, 0, 0), large = small;
    large.cap = 65536;
    struct rdn_win *a = NULL, *b = NULL;
    struct rdn_cell dates[2] = { { .i = 1 }, { .i = 2 } };
    struct rdn_list list = { "l", &t_date, dates, 2 };
    uint32_t except[] = { 0 };
    struct rdn_session session = { 0, 0, 0, 1440, except, 1 };
    struct rdn_calendar cal = { "c", "UTC", &session, 1 };
    struct rdn_column cols[] = { { "k", &t_int } };
    struct rdn_table table = { .name = "t", .keys = cols, .nkeys = 1, .cols = cols, .ncols = 1, .host = true, .cap = 10 };
    struct rdn_cal *c = NULL;
    struct rdn_tab *t = NULL;
    redan_error err;
    int rc = rdn_win_open(&small, NULL, &rdn_libc_mem, false, NULL, &a, &err);
    rc = rc ? rc : rdn_win_open(&large, NULL, &rdn_libc_mem, false, NULL, &b, &err);
    rc = rc ? rc : rdn_cal_open(&cal, &list, &rdn_libc_mem, &c);
    rc = rc ? rc : rdn_tab_open(&table, &rdn_libc_mem, &t);
    rdn_win_close(a), rdn_win_close(b), rdn_cal_close(c), rdn_tab_close(t);
    return rc;
}
static void memory_ends(void **state) {
    (void)state;
    uint64_t n = 1;
    rdn_fault_arm(0);
    assert_int_equal(open_all(), 0);
    for (; n < 100; n++) {
        rdn_fault_arm(n);
        int rc = open_all();
        if (rdn_fault_seen() < n)
            break;
        check(rc == REDAN_E_NOMEM, "allocation %lu: %d", (unsigned long)n, rc);
    }
    rdn_fault_arm(0);
    check(n >= 10 && n < 100, "%lu allocations", (unsigned long)n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panes_of_a_count), cmocka_unit_test(float_panes), cmocka_unit_test(ring_of_tenths), cmocka_unit_test(estimates),
        cmocka_unit_test(memory_per_key), cmocka_unit_test(counts_that_stop), cmocka_unit_test(counts_for_warmup),
        cmocka_unit_test(keys_nobody_can_store), cmocka_unit_test(no_carry), cmocka_unit_test(unsound), cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
