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

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(endless_line), cmocka_unit_test(codes_are_no_letters), cmocka_unit_test(empty_difference),
                                        cmocka_unit_test(numbering), cmocka_unit_test(old_for_ever) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
