/* SPDX-License-Identifier: Apache-2.0
 * bench-book: order books from real and made-up order flow.
 *
 *   bench-book FILE.csv [ROUNDS]     LOBSTER messages: text to book, and prepared events to book ("hot")
 *   bench-book made [ROUNDS]         2,000 symbols whose messages are mixed, and one of them alone
 *   bench-book levels FILE [ROUNDS]  a Binance capture: prepared level events to book
 *
 * Each prints rows of bench/rows.py: nanoseconds a message. A round begins with empty books whose memory has been touched, and is timed in
 * pieces of 4,096 messages; the figure is the sum of each piece's least time over all rounds, for on a shared machine whole rounds are never
 * undisturbed. */
#include <redan/market.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bench/ticks.h"
#include "market/reading.h"

enum { BATCH = 4096, SYMBOLS = 2000, DEPTH = 40, EACH = 1000 };
struct flow { redan_mevent *ev; uint32_t n; };

static void figure(const char *name, double ns) { printf("{\"bench\":\"book\",\"figure\":\"book/%s\",\"value\":%.2f,\"unit\":\"ns\"}\n", name, ns); }

static _Noreturn void die(const char *what) {
    fprintf(stderr, "bench-book: %s\n", what);
    exit(1);
}

static redan_feed *feed_open(const char *format, uint32_t symbols, uint32_t orders, const char *tick, const char *lot, uint32_t window, uint32_t far) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    redan_feed *f;
    redan_error err;
    char symbol[16];
    uint32_t id;
    o.format = format;
    o.max_orders = orders;
    o.max_instruments = symbols;
    o.window = window;
    o.far = far;
    if (redan_feed_open(&f, &o, &err) < 0)
        die(err.text);
    in.symbol = symbol;
    in.tick = tick;
    in.lot = lot;
    for (uint32_t i = 0; i < symbols; i++) {
        snprintf(symbol, sizeof symbol, "S%u", i);
        if (redan_feed_instrument(f, &in, &id, &err) < 0)
            die(err.text);
    }
    return f;
}

/* The least times of the pieces of a flow. */
enum { PIECES = 4096 };
struct least { double ns[PIECES]; uint32_t n; };

static void piece(struct least *l, uint32_t i, int64_t since) {
    double ns = (double)(now_ns() - since);
    if (i >= PIECES)
        die("too many pieces");
    l->ns[i] = i < l->n && l->ns[i] < ns ? l->ns[i] : ns;
    l->n = i < l->n ? l->n : i + 1;
}

static double sum(const struct least *l) {
    double ns = 0;
    for (uint32_t i = 0; i < l->n; i++)
        ns += l->ns[i];
    return ns;
}

static void apply(redan_feed *f, const struct flow *w, struct least *l) {
    for (uint32_t i = 0; i < w->n; i += BATCH) {
        int64_t at = now_ns();
        redan_feed_apply(f, w->ev + i, w->n - i < BATCH ? w->n - i : BATCH, NULL);
        piece(l, i / BATCH, at);
    }
}

static double prepared(const struct flow *w, uint32_t symbols, uint32_t orders, const char *tick, const char *lot, uint32_t window, uint32_t far, int rounds) {
    static struct least timed, unused;
    timed.n = unused.n = 0;
    for (int r = 0; r < rounds; r++) {
        redan_feed *f = feed_open(NULL, symbols, orders, tick, lot, window, far);
        apply(f, w, &unused);                            /* touches the memory */
        for (uint32_t i = 0; i < symbols; i++) {
            redan_mevent clear = { .instrument = i, .action = REDAN_MARKET_CLEAR };
            redan_feed_apply(f, &clear, 1, NULL);
        }
        apply(f, w, &timed);
        redan_feed_close(f);
    }
    return sum(&timed) / w->n;
}

/* --- LOBSTER --- */

static char *whole(const char *path, size_t *ret_n) {
    FILE *f = fopen(path, "rb");
    char *p = malloc(64 << 20);
    if (!f || !p)
        die("cannot read the file");
    *ret_n = fread(p, 1, 64 << 20, f);
    fclose(f);
    return p;
}

static uint32_t text_to_book(redan_feed *f, const char *text, size_t n, struct flow *keep, struct least *l) {
    static redan_mevent ev[BATCH];
    uint32_t messages = 0, i = 0;
    for (size_t at = 0, used; at < n; at += used, i++) {
        int64_t since = now_ns();
        uint32_t got = redan_feed_decode(f, text + at, n - at, ev, BATCH, &used);
        if (!used)
            break;
        redan_feed_apply(f, ev, got, NULL);
        piece(l, i, since);
        if (keep)
            memcpy(keep->ev + messages, ev, got * sizeof ev[0]);
        messages += got;
    }
    return messages;
}

static void lobster(const char *path, int rounds) {
    size_t n;
    char *text = whole(path, &n);
    struct flow w = { malloc(n / 8 * sizeof(redan_mevent)), 0 };        /* no line has less than 8 bytes */
    static struct least timed;
    if (!w.ev)
        die("no memory");
    for (int r = 0; r < rounds; r++) {
        redan_feed *f = feed_open("lobster", 1, 4096, "0.01", NULL, 0, 0);
        w.n = text_to_book(f, text, n, r ? NULL : &w, &timed);
        redan_feed_close(f);
    }
    figure("lobster-csv/ns", sum(&timed) / w.n);
    figure("hot/ns", prepared(&w, 1, 4096, "0.01", NULL, 0, 0, rounds));
    free(w.ev);
    free(text);
}

/* --- made up --- */

/* One symbol's flow: half adds near the best prices of a middle that wanders, then cancellations and executions of live orders. */
struct maker { uint64_t rng, next_id, ids[DEPTH * 2]; uint32_t live; int64_t mid; };

static uint64_t random64(struct maker *m) { return rdn_mix64(m->rng++); }

static redan_mevent message(struct maker *m, uint32_t symbol) {
    uint64_t r = random64(m);
    redan_mevent e = { .instrument = symbol, .seq = m->rng, .flags = REDAN_MF_LAST, .ts_event_ns = (int64_t)m->rng, .ts_recv_ns = (int64_t)m->rng };
    m->mid += r % 64 == 0 ? (r & 64 ? 1 : -1) : 0;
    if (m->live < DEPTH || (m->live < 2 * DEPTH && r & 128)) {
        e.action = REDAN_MARKET_ADD;
        e.side = r & 256 ? REDAN_BID : REDAN_ASK;
        e.px_ticks = m->mid + (e.side == REDAN_BID ? -1 : 1) * (int64_t)(1 + (r >> 10) % 16);
        e.qty_lots = 1 + (int64_t)((r >> 20) % 500);
        e.order_id = m->next_id++;
        m->ids[m->live++] = e.order_id;
        return e;
    }
    uint32_t at = (uint32_t)((r >> 10) % m->live);
    e.action = r & 512 ? REDAN_MARKET_DELETE : REDAN_MARKET_EXECUTE;
    e.order_id = m->ids[at];
    e.qty_lots = 1000;
    m->ids[at] = m->ids[--m->live];
    return e;
}

static struct flow make(uint32_t symbols, uint32_t n) {
    struct flow w = { malloc(n * sizeof(redan_mevent)), n };
    struct maker *m = calloc(symbols, sizeof *m);
    if (!w.ev || !m)
        die("no memory");
    for (uint32_t i = 0; i < symbols; i++)
        m[i] = (struct maker){ .rng = (uint64_t)i << 40, .next_id = ((uint64_t)i << 32) + 1, .mid = 20000 + i };
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = (uint32_t)(rdn_mix64(i) % symbols);
        w.ev[i] = message(&m[s], s);
        w.ev[i].ts_event_ns = w.ev[i].ts_recv_ns = i;
    }
    free(m);
    return w;
}

static void made(int rounds) {
    struct flow one = make(1, 100 * EACH), many = make(SYMBOLS, SYMBOLS * EACH);
    figure("made-hot/ns", prepared(&one, 1, 4096, "0.01", NULL, 0, 0, rounds));
    figure("2000-symbols/ns", prepared(&many, SYMBOLS, 1 << 21, "0.01", NULL, 0, 0, rounds));
    free(one.ev);
    free(many.ev);
}

/* --- levels of a capture --- */

static void levels(const char *path, int rounds) {
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    struct rdn_reading_options o = { .path = path, .feed = REDAN_FEED_OPTIONS_INIT, .instruments = &in, .n = 1 };
    struct flow w = { malloc((size_t)700000 * sizeof(redan_mevent)), 0 };
    struct rdn_reading *p;
    const redan_mevent *e;
    redan_error err;
    in.symbol = "BTCUSDT";
    in.tick = "0.1";
    in.lot = "0.001";
    o.feed.window = 65536;
    o.feed.far = 16384;
    if (!w.ev || rdn_reading_open(&p, &o, &err) < 0)
        die(err.text);
    while (rdn_reading_next(p, &e, &err) == 0 && e && w.n < 700000)
        w.ev[w.n++] = *e;
    rdn_reading_unref(p);
    figure("binance/ns", prepared(&w, 1, 64, "0.1", "0.001", 65536, 16384, rounds));
    printf("{\"events\":%u}\n", w.n);
    free(w.ev);
}

int main(int argc, char **argv) {
    int rounds = argc > 2 ? atoi(argv[argc - 1]) : 0;
    bool with_levels = argc > 2 && strcmp(argv[1], "levels") == 0;
    rounds = rounds > 0 ? rounds : 10;
    if (argc < 2)
        die("a file, made, or levels and a file");
    if (with_levels)
        levels(argv[2], rounds);
    else if (strcmp(argv[1], "made") == 0)
        made(rounds);
    else
        lobster(argv[1], rounds);
    return 0;
}
