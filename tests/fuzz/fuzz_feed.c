/* SPDX-License-Identifier: Apache-2.0
 * fuzz_feed.c: market data of any bytes through every decoder and into books. The first byte chooses the format, or REDAN_FUZZ_FORMAT does
 * for all inputs of a run; the second the pieces.
 *
 * Beyond not crashing: pieces give the events that the whole gives, faults and books too, and the levels of a book are in order. */
#include <redan/market.h>
#include <stdlib.h>
#include <string.h>

#include "market/feed.h"

enum { MOST = 1 << 16, CAP = 64, INSTRUMENTS = 4 };
static const char *const formats[] = {
#define FORMAT(name, prefix, by_instrument, unknown_id, resync, doc) #name,
#include "market/formats.def"
#undef FORMAT
};

static void must(bool ok) {
    if (!ok)
        abort();
}

static redan_feed *open_feed(const char *format) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    redan_feed *f;
    uint32_t id;
    o.format = format;
    o.max_orders = 32;
    o.max_instruments = INSTRUMENTS;
    o.window = 256;
    o.far = 64;
    o.auto_tick = "0.01";
    in.symbol = "AAPL";
    in.tick = "0.01";
    if (redan_feed_open(&f, &o, NULL) < 0)
        return NULL;
    must(redan_feed_instrument(f, &in, &id, NULL) == 0);
    return f;
}

/* Decodes data in pieces and applies it; returns a hash of the events. */
static uint64_t run(redan_feed *f, const uint8_t *data, size_t len, size_t piece) {
    uint64_t h = RDN_FNV64_INIT;
    size_t at = 0, end = piece < len ? piece : len;
    for (;;) {
        redan_mevent ev[CAP];
        uint8_t faults[CAP];
        size_t used;
        uint32_t n = redan_feed_decode(f, data + at, end - at, ev, CAP, &used);
        must(n <= CAP && used <= end - at);
        at += used;
        h = rdn_fnv64_more(h, ev, n * sizeof ev[0]);
        must(redan_feed_apply(f, ev, n, faults) <= n);
        for (uint32_t i = 0; i < n; i++)
            must(faults[i] < REDAN_FAULTS && (faults[i] == 0 || redan_fault_name(faults[i])[0]));
        if (n || used)
            continue;
        if (end == len)
            return h;
        end = end + piece < len ? end + piece : len;
    }
}

static void look(const redan_feed *f, uint32_t instrument) {
    redan_book_level l[512];
    for (uint32_t side = REDAN_BID; side <= REDAN_ASK; side++) {
        uint32_t n = redan_book_levels(f, instrument, side, l, 512);
        for (uint32_t i = 0; i < n; i++)
            must(l[i].qty_lots > 0 && (!i || (side == REDAN_BID ? l[i].px_ticks < l[i - 1].px_ticks : l[i].px_ticks > l[i - 1].px_ticks)));
    }
}

static void same(const redan_feed *a, const redan_feed *b) {
    redan_feed_stats x, y;
    redan_feed_stats_get(a, &x);
    redan_feed_stats_get(b, &y);
    must(memcmp(x.faults, y.faults, sizeof x.faults) == 0 && x.events == y.events && x.live_orders == y.live_orders);
    for (uint32_t i = 0; redan_feed_symbol(a, i); i++) {
        redan_book_line_data p, q;
        must(redan_book_line(a, i, &p) == 0 && redan_book_line(b, i, &q) == 0 && memcmp(&p, &q, sizeof p) == 0);
        look(a, i);
    }
}

/* A message that reads well is written and read again as the same. */
static void fix_again(const uint8_t *data, size_t len) {
    for (size_t at = 0, used; at < len; at += used) {
        redan_fix m, again;
        char a[4096], b[4096];
        size_t n;
        bool good = redan_fix_decode(data + at, len - at, &m, &used) == 0 && m.type;
        if (!used)
            return;
        if (!good || (n = redan_fix_encode(&m, a, sizeof a)) == 0)
            continue;
        must(redan_fix_decode(a, n, &again, &used) == 0 && used == n && again.has == m.has);
        must(redan_fix_encode(&again, b, sizeof b) == n && memcmp(a, b, n) == 0);
        (void)redan_fix_decode(data + at, len - at, &m, &used);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 2 || len > MOST)
        return 0;
    const char *only = getenv("REDAN_FUZZ_FORMAT"), *format = only ? only : formats[data[0] % (sizeof formats / sizeof formats[0])];
    if (strcmp(format, "fix") == 0)
        fix_again(data + 2, len - 2);
    redan_feed *whole = open_feed(format), *pieces = open_feed(format);
    if (whole && pieces) {
        uint64_t a = run(whole, data + 2, len - 2, len), b = run(pieces, data + 2, len - 2, 1u + data[1]);
        must(a == b);
        same(whole, pieces);
    }
    redan_feed_close(whole);
    redan_feed_close(pieces);
    return 0;
}
