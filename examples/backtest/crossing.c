/* SPDX-License-Identifier: Apache-2.0
 * crossing.c: the two averages of crossing.rdn in plain C, over a market file read by libredan. Prints one line a signal.
 *
 *   cc -O2 -ffp-contract=off crossing.c $(pkg-config --cflags --libs redan) -o crossing
 *   ./crossing FILE TICK [MIDNIGHT_NS [SEED]]
 *
 * -ffp-contract=off: a multiplication and an addition in one step would round otherwise than Python and the rules do. */
#include <redan/market.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FAST = 50, SLOW = 200, WARM = 200 };
struct crossing { double fast, slow; long n; };

/* +1: the fast average came above the slow one, -1: below, 0 neither. */
static int step(struct crossing *c, double mid) {
    double was_fast = c->fast, was_slow = c->slow;
    c->fast = c->n ? c->fast + 2.0 / (FAST + 1.0) * (mid - c->fast) : mid;
    c->slow = c->n ? c->slow + 2.0 / (SLOW + 1.0) * (mid - c->slow) : mid;
    if (++c->n <= WARM)
        return 0;
    return was_fast <= was_slow && c->fast > c->slow ? 1 : was_fast >= was_slow && c->fast < c->slow ? -1 : 0;
}

static int run(redan_replay *replay, int64_t nano, redan_error *err) {
    struct crossing c = { 0 };
    int64_t last_bid = -1, last_ask = -1, wait;
    for (;;) {
        redan_replay_event e;
        redan_book_line_data b;
        uint32_t n;
        if (redan_replay_step(replay, 0, &e, 1, &n, &wait, err) < 0)
            return -1;
        if (!n)
            return 0;
        if (!(e.e.flags & REDAN_MF_LAST) || redan_book_line(redan_replay_feed(replay, e.file), e.e.instrument, &b) < 0)
            continue;
        if (b.bid_px == last_bid && b.ask_px == last_ask)
            continue;
        last_bid = b.bid_px;
        last_ask = b.ask_px;
        if (b.flags & (REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK))
            continue;
        int way = step(&c, ((double)(b.bid_px * nano) / 1e9 + (double)(b.ask_px * nano) / 1e9) / 2.0);
        if (way)
            printf("%lld %s\n", (long long)e.e.ts_recv_ns, way > 0 ? "BUY" : "SELL");
    }
}

int main(int argc, char **argv) {
    redan_replay *replay;
    redan_error err = { 0 };
    redan_replay_options o = REDAN_REPLAY_OPTIONS_INIT;
    redan_feed_options feed = REDAN_FEED_OPTIONS_INIT;
    if (argc < 3) {
        fprintf(stderr, "usage: crossing FILE TICK [MIDNIGHT_NS [SEED]]\n");
        return 2;
    }
    feed.auto_tick = argv[2];
    feed.date_ns = argc > 3 ? atoll(argv[3]) : 0;
    redan_replay_file file = { .path = argv[1], .seed = argc > 4 ? argv[4] : NULL, .feed = feed };
    o.files = &file;
    o.n = 1;
    if (redan_replay_open(&replay, &o, &err) < 0 || run(replay, llround(atof(argv[2]) * 1e9), &err) < 0) {
        fprintf(stderr, "crossing: %s\n", err.text);
        return 1;
    }
    redan_replay_close(replay);
    return 0;
}
