/* SPDX-License-Identifier: Apache-2.0
 * Real files give exactly the numbers of MARKET.md 9, whatever pieces the input comes in. */
#include <stdlib.h>

#include "tests/market/golden_kit.h"

#define LOBSTER "lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv"
#define DEPTH50 "lobster/AAPL_2012-06-21_orderbook_50_first672.csv"

/* Every level of the file's first row, the first message (which is an order of 18 at 585.33) undone. 9999999999 fills rows up. */
static void seed(redan_feed *f, const char *row) {
    for (unsigned i = 0; i < 100; i++) {
        char *end;
        int64_t px = strtoll(row, &end, 10), qty = strtoll(end + 1, &end, 10);
        row = end + 1;
        uint8_t side = i % 2 ? REDAN_BID : REDAN_ASK;
        if (px >= 9999999999 || px <= 0)
            continue;
        redan_mevent e = { .px_ticks = px / 100, .qty_lots = qty, .action = REDAN_MARKET_LEVEL, .side = side, .flags = REDAN_MF_SNAPSHOT };
        if (side == REDAN_BID && px == 5853300)
            e.qty_lots -= 18;
        assert_int_equal(redan_feed_apply(f, &e, 1, NULL), 1);
    }
}

static redan_feed *open_lobster(uint32_t window, uint8_t unknown) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    o.format = "lobster";
    o.window = window;
    o.max_orders = 4096;
    o.policy[REDAN_FAULT_UNKNOWN_ID] = unknown;
    return golden_open(&o, "AAPL", "0.01", NULL, 0);
}

static void lobster(void **state) {
    (void)state;
    static const struct { uint32_t window; size_t piece; uint8_t unknown; bool right; } rows[] = {
        { 0, 1 << 30, REDAN_POLICY_DEFAULT, true }, { 0, 4093, REDAN_POLICY_BY_PRICE, true }, { 256, 7, REDAN_POLICY_DEFAULT, true },
        { 65536, 1, REDAN_POLICY_DEFAULT, true },
        { 0, 1 << 30, REDAN_POLICY_DROP, false },        /* the control: what stood before the file began is never taken away */
    };
    size_t len, len50;
    char *data = golden_file(LOBSTER, &len), *row = golden_file(DEPTH50, &len50);
    if (!data || !row)
        skip();
    for each (i, rows) {
        struct golden g;
        char all[17], distinct[17];
        redan_feed *f = open_lobster(rows[i].window, rows[i].unknown);
        seed(f, row);
        golden_begin(&g, f, 0);
        golden_feed(&g, data, len, rows[i].piece);
        golden_end(&g, all, distinct);
        redan_feed_stats st;
        redan_feed_stats_get(f, &st);
        check(rows[i].right == !strcmp(all, "e85507e4db2de1d8"), "row %zu: %s", i, all);
        if (rows[i].right) {
            check(!strcmp(distinct, "55e7a325b0cd131f"), "row %zu: %s", i, distinct);
            check(g.states == 91997 && g.distinct_states == 23439 && g.pairs == 16146 && g.spread_sum == 367404 && !g.crossed,
                  "row %zu: %lu %lu %lu %lu", i, g.states, g.distinct_states, g.pairs, g.spread_sum);
            check(g.actions['A'] == 44256 && g.actions['X'] == 469 && g.actions['D'] == 41004 && g.actions['E'] == 4067 && g.actions['T'] == 2201,
                  "row %zu", i);
            check(st.faults[REDAN_FAULT_UNKNOWN_ID] == 84 && st.faults[REDAN_FAULT_OVER_CANCEL] == 41 && !st.faults[REDAN_FAULT_DUP_ADD],
                  "row %zu: %lu %lu", i, st.faults[REDAN_FAULT_UNKNOWN_ID], st.faults[REDAN_FAULT_OVER_CANCEL]);
            check(st.live_orders == 380 && st.peak_orders == 413, "row %zu: %lu %lu", i, st.live_orders, st.peak_orders);
            check(g.last[0] == 58569 && g.last[1] == 10 && g.last[2] == 58595 && g.last[3] == 100, "row %zu", i);
            redan_book_level l[256];
            /* MARKET.md says 129: its seed has the filler 9999999999 for one more level. */
            check(redan_book_levels(f, 0, REDAN_BID, l, 256) == 147 && redan_book_levels(f, 0, REDAN_ASK, l, 256) == 128, "row %zu", i);
        }
        redan_feed_close(f);
    }
    free(data);
    free(row);
}

/* The file of depth 50 row by row: 0 of 672 differ at depths up to 40. At 50, where the file has filler, 116 do as they stand. */
static void lobster_depth(void **state) {
    (void)state;
    size_t len, len50;
    char *data = golden_file(LOBSTER, &len), *rows = golden_file(DEPTH50, &len50);
    if (!data || !rows)
        skip();
    redan_feed *f = open_lobster(0, REDAN_POLICY_DEFAULT);
    unsigned wrong[51] = { 0 }, unlike = 0;
    const char *row = rows;
    size_t at = 0;
    seed(f, rows);
    for (unsigned r = 0; r < 672; r++) {
        redan_mevent ev[16];
        size_t used;
        size_t one = (size_t)((char *)memchr(data + at, '\n', len - at) - (data + at)) + 1;
        assert_int_equal(redan_feed_decode(f, data + at, one, ev, 16, &used), 1);
        at += used;
        redan_feed_apply(f, ev, 1, NULL);
        redan_book_level ask[50], bid[50];
        uint32_t na = redan_book_levels(f, 0, REDAN_ASK, ask, 50), nb = redan_book_levels(f, 0, REDAN_BID, bid, 50);
        unsigned same = 50, filled = 0;
        for (unsigned i = 0; i < 50; i++) {
            int64_t v[4];
            for (unsigned k = 0; k < 4; k++, row++)
                v[k] = strtoll(row, (char **)&row, 10);
            bool no_ask = v[0] >= 9999999999;
            filled += no_ask;
            bool ok = (no_ask ? na <= i : i < na && ask[i].px_ticks * 100 == v[0] && ask[i].qty_lots == v[1]) &&
                                                 i < nb && bid[i].px_ticks * 100 == v[2] && bid[i].qty_lots == v[3];
            if (!ok && i < same)
                same = i;
        }
        for (unsigned d = same + 1; d <= 50; d++)
            wrong[d]++;
        unlike += same < 50 || filled > 0;
    }
    check(!wrong[1] && !wrong[5] && !wrong[10] && !wrong[20] && !wrong[30] && !wrong[40], "depth 40: %u wrong", wrong[40]);
    /* Eight rows show an ask that stood beyond the 50 of the first row; the others have filler and agree without it. */
    check(unlike == 116 && wrong[50] == 8, "depth 50: %u unlike the file, %u of them wrong", unlike, wrong[50]);
    redan_feed_close(f);
    free(data);
    free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(lobster), cmocka_unit_test(lobster_depth) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
