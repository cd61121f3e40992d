/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/market/feed_kit.h"

redan_feed *kit_open(const char *format, const char *symbol, uint32_t number) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    redan_feed *f;
    redan_error err;
    uint32_t id;
    o.format = format;
    o.max_orders = 4096;
    in.symbol = symbol;
    in.tick = "0.01";
    in.number = number;
    check(redan_feed_open(&f, &o, &err) == 0 && redan_feed_instrument(f, &in, &id, &err) == 0, "%s", err.text);
    return f;
}

void kit_feed(redan_feed *f, const void *data, size_t len, size_t piece) {
    redan_mevent ev[64];
    size_t at = 0, end = piece < len ? piece : len, used;
    for (;;) {
        uint32_t n = redan_feed_decode(f, (const char *)data + at, end - at, ev, 64, &used);
        at += used;
        redan_feed_apply(f, ev, n, NULL);
        if (n || used)
            continue;
        if (end == len)
            return;
        end = end + piece < len ? end + piece : len;
    }
}

uint32_t kit_flags(const redan_feed *f) {
    redan_book_line_data l;
    assert_int_equal(redan_book_line(f, 0, &l), 0);
    return l.flags;
}

uint64_t kit_fault(const redan_feed *f, uint32_t fault) {
    redan_feed_stats st;
    redan_feed_stats_get(f, &st);
    return st.faults[fault];
}
