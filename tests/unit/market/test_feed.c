/* SPDX-License-Identifier: Apache-2.0
 * Decoders on inputs that once went wrong. */
#include <redan/market.h>
#include <stdlib.h>

#include "market/feed.h"
#include "tests/unit/market/feed_kit.h"

/* A line without end is skipped alone, however the input is cut. */
static void endless_line(void **state) {
    (void)state;
    static const size_t pieces[] = { 1 << 30, 1 << 20, 4093 };
    const char *good = "\n34200.1,1,7,10,1000000,1\n";
    size_t junk = (1 << 20) + 5000, len = junk + strlen(good);
    char *text = malloc(len + 1);
    memset(text, 'x', junk);
    strcpy(text + junk, good);
    for each (i, pieces) {
        redan_feed *f = kit_open("lobster", "AAPL", 0);
        redan_feed_stats st;
        kit_feed(f, text, len, pieces[i]);
        redan_feed_stats_get(f, &st);
        check(st.live_orders == 1 && st.faults[REDAN_FAULT_SHORT_INPUT] == 1, "piece %zu: %lu orders, %lu faults", pieces[i], st.live_orders,
              st.faults[REDAN_FAULT_SHORT_INPUT]);
        redan_feed_close(f);
    }
    free(text);
}

/* Locate 65 of a file without directory is nobody's, not the stock called "A". */
static void codes_are_no_letters(void **state) {
    (void)state;
    redan_feed *f = kit_open("itch50", "A", 0);
    redan_feed_stats st;
    char add[38] = { 0, 36, 'A', 0, 65 };
    memcpy(add + 21, "B\0\0\0\1ZZZ     \0\x0f\x42\x40", 17);
    add[20] = 7;
    kit_feed(f, add, sizeof add, sizeof add);
    redan_feed_stats_get(f, &st);
    check(st.live_orders == 0 && st.filtered == 1, "%lu orders, %lu filtered", st.live_orders, st.filtered);
    redan_feed_close(f);
}

/* A difference without levels that waits for a snapshot is a link of the chain. */
static void empty_difference(void **state) {
    (void)state;
    const char *text = "{\"e\":\"depthUpdate\",\"s\":\"BTC\",\"U\":5,\"u\":5,\"pu\":4,\"b\":[[\"1.00\",\"1\"]],\"a\":[]}\n"
                       "{\"e\":\"depthUpdate\",\"s\":\"BTC\",\"U\":6,\"u\":6,\"pu\":5,\"b\":[],\"a\":[]}\n"
                       "{\"e\":\"depthUpdate\",\"s\":\"BTC\",\"U\":7,\"u\":7,\"pu\":6,\"b\":[[\"1.01\",\"1\"]],\"a\":[]}\n"
                       "{\"lastUpdateId\":4,\"bids\":[[\"0.99\",\"1\"]],\"asks\":[[\"1.10\",\"1\"]]}\n";
    redan_feed *f = kit_open("binance", "BTC", 0);
    redan_book_line_data l;
    redan_feed_stats st;
    kit_feed(f, text, strlen(text), 100);
    redan_feed_stats_get(f, &st);
    check(redan_book_line(f, 0, &l) == 0 && (l.flags & REDAN_BOOK_VALID) && l.bid_px == 101 && !st.faults[REDAN_FAULT_SEQ_GAP], "flags %x bid %ld gaps %lu",
          l.flags, l.bid_px, st.faults[REDAN_FAULT_SEQ_GAP]);
    redan_feed_close(f);
}

/* Differences u, after a snapshot that holds `snapshot`, in the order of `u`; 0 ends. */
static void numbering(void **state) {
    (void)state;
    static const struct { const char *why; uint64_t snapshot, u[40]; bool valid; } rows[] = {
        { "in order", 4, { 5, 6, 7 }, true },
        { "doubled", 4, { 5, 6, 7, 7, 6, 8 }, true },
        { "old ones before the first", 4, { 2, 3, 4, 5 }, true },
        { "begins anew, far below", 1000, { 1001, 1002, 1003, 1, 2, 3 }, false },
        { "begins anew among numbers just seen", 0, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5 }, false },
        { "a double from long ago", 0, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 1 }, false },
        { "missing", 4, { 5, 7 }, false },
    };
    for each (i, rows) {
        redan_feed *f = kit_open("binance", "BTC", 0);
        char line[256];
        redan_book_line_data l;
        snprintf(line, sizeof line, "{\"lastUpdateId\":%lu,\"bids\":[[\"0.99\",\"1\"]],\"asks\":[[\"1.10\",\"1\"]]}\n", rows[i].snapshot);
        kit_feed(f, line, strlen(line), 1000);
        for (unsigned k = 0; rows[i].u[k]; k++) {
            uint64_t u = rows[i].u[k];
            snprintf(line, sizeof line, "{\"e\":\"depthUpdate\",\"s\":\"BTC\",\"U\":%lu,\"u\":%lu,\"pu\":%lu,\"b\":[[\"1.00\",\"1\"]],\"a\":[]}\n", u, u, u - 1);
            kit_feed(f, line, strlen(line), 1000);
        }
        check(redan_book_line(f, 0, &l) == 0 && ((l.flags & REDAN_BOOK_VALID) != 0) == rows[i].valid, "%s: flags %x", rows[i].why, l.flags);
        redan_feed_close(f);
    }
}

/* The same before the first difference: a snapshot far above a numbering that has begun anew is not believed for ever. */
static void old_for_ever(void **state) {
    (void)state;
    struct rdn_sync s = { 0 };
    assert_true(rdn_sync_snapshot(&s, 1 << 20));
    for (uint64_t u = 1; u <= RDN_SYNC_OLD_MAX; u++)
        assert_int_equal(rdn_sync_diff(&s, (struct rdn_diff){ u, u, 0 }), RDN_SYNC_OLD);
    assert_int_equal(rdn_sync_diff(&s, (struct rdn_diff){ 2000, 2000, 0 }), RDN_SYNC_LOST);
}

#define LEVEL "[\"1.00\",\"1\"]"
#define SNAPSHOT(n, bids) "{\"lastUpdateId\":" #n ",\"bids\":[" bids "],\"asks\":[[\"1.10\",\"1\"]]}\n"
#define DIFF(u, before, bids) "{\"e\":\"depthUpdate\",\"s\":\"BTC\",\"U\":" #u ",\"u\":" #u ",\"pu\":" #before ",\"b\":[" bids "],\"a\":[]}\n"

/* A level that is refused is missing from the book, wherever it stands; a good snapshot mends that, and what follows it. */
static void refused_level(void **state) {
    (void)state;
    static const char *const bad[] = { "[\"1.001\",\"1\"]", "[\"1.00\",\"0.5\"]", "[\"x\",\"1\"]", "[\"1.00\"]", "[1.00,\"1\"]", "7", LEVEL ",[]", "[\"1.00\",\"-1\"]" };
    static const struct { const char *why, *before, *behind; } rows[] = {
        { "in a difference", SNAPSHOT(4, LEVEL), DIFF(5, 4, "%s") },
        { "in one that others follow", SNAPSHOT(4, LEVEL) DIFF(5, 4, LEVEL), DIFF(6, 5, "%s") DIFF(7, 6, LEVEL) },
        { "in the first snapshot", "", SNAPSHOT(4, "%s") DIFF(5, 4, LEVEL) },
        { "in a later one", SNAPSHOT(4, LEVEL) DIFF(5, 4, LEVEL), SNAPSHOT(6, "%s") DIFF(7, 6, LEVEL) },
        { "in one that waits", DIFF(5, 4, LEVEL), DIFF(6, 5, "%s") SNAPSHOT(4, LEVEL) },
        { "instead of a side", SNAPSHOT(4, LEVEL), "{\"e\":\"depthUpdate\",\"s\":\"BTC\",\"U\":5,\"u\":5,\"pu\":4,\"b\":7,\"a\":[]}\n" },
        { "without a side", SNAPSHOT(4, LEVEL), "{\"lastUpdateId\":6,\"bids\":[" LEVEL "]}\n" },
    };
    for each (i, rows)
        for each (k, bad) {
            redan_feed *f = kit_open("binance", "BTC", 0);
            redan_book_line_data l;
            char text[1024];
            kit_feed(f, rows[i].before, strlen(rows[i].before), 1000);
            size_t n = (size_t)snprintf(text, sizeof text, rows[i].behind, bad[k]);
            kit_feed(f, text, n, 1000);
            check(redan_book_line(f, 0, &l) == 0 && !(l.flags & REDAN_BOOK_VALID), "%s, level %s: flags %x", rows[i].why, bad[k], l.flags);
            const char *mend = DIFF(20, 19, "[\"1.02\",\"1\"]") SNAPSHOT(19, "[\"1.01\",\"1\"]");
            kit_feed(f, mend, strlen(mend), 1000);
            check(redan_book_line(f, 0, &l) == 0 && (l.flags & REDAN_BOOK_VALID) && l.bid_px == 102, "%s, level %s: flags %x after a snapshot", rows[i].why, bad[k], l.flags);
            redan_feed_close(f);
        }
}

/* Times of day are added to a day: what does not fit is refused, as is the day. */
static void far_days(void **state) {
    (void)state;
    static const struct { const char *format, *line; int64_t date; bool opens; uint32_t events; } rows[] = {
        { "csv", "34200000,1.00,1.01\n", 0, true, 2 },                   { "csv", "9223372036854.775807,1.00,1.01\n", 1, true, 0 },
        { "csv", "34200000,1.00,1.01\n", INT64_MAX, false, 0 },          { "lobster", "34200.0,1,7,10,10000,1\n", INT64_MAX >> 1, true, 1 },
        { "lobster", "9223372036.854775807,1,7,10,10000,1\n", 1, true, 0 }, { "lobster", "+34200,1,7,10,10000,1\n", 1, true, 0 },
        { "lobster", "34200.0,1,7,10,10000,1\n", INT64_MAX, false, 0 },  { "itch50", "", INT64_MAX, false, 0 }, { "pitch", "", INT64_MIN, false, 0 },
    };
    for each (i, rows) {
        redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
        redan_instrument in = REDAN_INSTRUMENT_INIT;
        redan_feed *f = NULL;
        redan_mevent ev[16] = { 0 };
        uint32_t id;
        size_t used;
        o.format = rows[i].format;
        o.date_ns = rows[i].date;
        o.max_orders = 64;
        in.symbol = "A";
        in.tick = "0.01";
        check((redan_feed_open(&f, &o, NULL) == 0) == rows[i].opens, "row %zu", i);
        if (!f)
            continue;
        assert_int_equal(redan_feed_instrument(f, &in, &id, NULL), 0);
        uint32_t n = redan_feed_decode(f, rows[i].line, strlen(rows[i].line), ev, 16, &used);
        check(n == rows[i].events && ev[0].ts_event_ns >= 0 && kit_fault(f, REDAN_FAULT_BAD_NUMBER) == !n, "row %zu: %u events at %ld", i, n, ev[0].ts_event_ns);
        redan_feed_close(f);
    }
}

/* Prices that no book takes are refused where many books are looked at ahead, too. */
static void any_price(void **state) {
    (void)state;
    static const int64_t px[] = { INT64_MIN, INT64_MIN + 1, INT64_MAX, 0 };
    redan_feed *f = kit_open("events", "A", 0);
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    redan_mevent ev[64];
    uint32_t id;
    in.tick = "0.01";
    for (unsigned i = 0; i < 40; i++) {
        char symbol[8];
        snprintf(symbol, sizeof symbol, "S%u", i);
        in.symbol = symbol;
        assert_int_equal(redan_feed_instrument(f, &in, &id, NULL), 0);
    }
    for (unsigned i = 0; i < 64; i++)
        ev[i] = (redan_mevent){ .order_id = i, .px_ticks = px[i % 4], .qty_lots = 1, .instrument = i % 40, .action = i & 4 ? REDAN_MARKET_ADD : REDAN_MARKET_LEVEL,
                                .side = i & 8 ? REDAN_BID : REDAN_ASK };
    check(redan_feed_apply(f, ev, 64, NULL) == 16 && kit_fault(f, REDAN_FAULT_BAD_NUMBER) == 48, "%lu refused", kit_fault(f, REDAN_FAULT_BAD_NUMBER));
    redan_feed_close(f);
}

/* Orders nobody knows are faults until other instruments' messages are left out, wherever the input is cut. */
static void filtered(void **state) {
    (void)state;
    static const char text[] = "28800012XAK27GA0000DT000040\n28800012AAK27GA0000DTB000100MSFT  0000619205Y\n28800013XAK27GA0000DT000040\n28800013XAK27GA0000DU000040\n";
    static const size_t pieces[] = { 1 << 20, 7, 1 };
    for each (i, pieces) {
        redan_feed *f = kit_open("pitch", "AAPL", 0);
        redan_feed_stats st;
        kit_feed(f, text, sizeof text - 1, pieces[i]);
        redan_feed_stats_get(f, &st);
        check(st.faults[REDAN_FAULT_UNKNOWN_ID] == 1 && st.filtered == 3, "piece %zu: %lu unknown, %lu filtered", pieces[i], st.faults[REDAN_FAULT_UNKNOWN_ID], st.filtered);
        redan_feed_close(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(endless_line), cmocka_unit_test(codes_are_no_letters), cmocka_unit_test(empty_difference),
                                        cmocka_unit_test(numbering), cmocka_unit_test(old_for_ever), cmocka_unit_test(refused_level),
                                        cmocka_unit_test(far_days), cmocka_unit_test(any_price), cmocka_unit_test(filtered) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
