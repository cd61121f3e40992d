/* SPDX-License-Identifier: Apache-2.0
 * Decoders on inputs that once went wrong. */
#include <redan/market.h>
#include <stdlib.h>

#include "market/feed.h"
#include "tests/unit/rows.h"

static redan_feed *open_feed(const char *format, const char *symbol) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    redan_feed *f;
    redan_error err;
    uint32_t id;
    o.format = format;
    o.max_orders = 64;
    in.symbol = symbol;
    in.tick = "0.01";
    check(redan_feed_open(&f, &o, &err) == 0 && redan_feed_instrument(f, &in, &id, &err) == 0, "%s", err.text);
    return f;
}

/* Decodes and applies all of it, in pieces. */
static void feed(redan_feed *f, const char *data, size_t len, size_t piece) {
    redan_mevent ev[64];
    size_t at = 0, end = piece < len ? piece : len, used;
    for (;;) {
        uint32_t n = redan_feed_decode(f, data + at, end - at, ev, 64, &used);
        at += used;
        redan_feed_apply(f, ev, n, NULL);
        if (n || used)
            continue;
        if (end == len)
            return;
        end = end + piece < len ? end + piece : len;
    }
}

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
        redan_feed *f = open_feed("lobster", "AAPL");
        redan_feed_stats st;
        feed(f, text, len, pieces[i]);
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
    redan_feed *f = open_feed("itch50", "A");
    redan_feed_stats st;
    char add[38] = { 0, 36, 'A', 0, 65 };
    memcpy(add + 21, "B\0\0\0\1ZZZ     \0\x0f\x42\x40", 17);
    add[20] = 7;
    feed(f, add, sizeof add, sizeof add);
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
    redan_feed *f = open_feed("binance", "BTC");
    redan_book_line_data l;
    redan_feed_stats st;
    feed(f, text, strlen(text), 100);
    redan_feed_stats_get(f, &st);
    check(redan_book_line(f, 0, &l) == 0 && (l.flags & REDAN_BOOK_VALID) && l.bid_px == 101 && !st.faults[REDAN_FAULT_SEQ_GAP], "flags %x bid %ld gaps %lu",
          l.flags, l.bid_px, st.faults[REDAN_FAULT_SEQ_GAP]);
    redan_feed_close(f);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(endless_line), cmocka_unit_test(codes_are_no_letters), cmocka_unit_test(empty_difference) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
