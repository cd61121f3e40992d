/* SPDX-License-Identifier: Apache-2.0
 * bench-tick: 24-byte ticks into checked columns of whole ticks, against reading the same bytes.
 *
 *   bench-tick [ROUNDS]      a million ticks, 24 MB
 *
 * Both sides go through the buffer a piece of 256 ticks at a time, the columns of a piece in the place of the one before, as a reader of them
 * would. Nanoseconds a tick: the least of all passes. Prints rows of bench/rows.py. */
#include <redan/market.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bench/ticks.h"

enum { TICKS = 1000448, PIECE = 256, PIECES = TICKS / PIECE, BYTES = 24 };
static int64_t ts[PIECE + 8], bid[PIECE + 8], ask[PIECE + 8];
static uint8_t faults[PIECE];
static double own, one, raw;
static volatile uint64_t sink;

static void least(double *at, double ticks_taken) { *at = *at && *at < ticks_taken ? *at : ticks_taken; }

__attribute__((noinline)) static uint64_t read_bytes(const uint64_t *p, size_t n) {
    uint64_t s[8] = { 0 };
    for (size_t i = 0; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            s[k] += p[i + k];
    return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

static void fill(char *wire) {
    for (uint64_t i = 0; i < TICKS; i++) {
        uint64_t r = rdn_mix64(i);
        double b = (double)(9900 + r % 200) * 0.01, a = b + 0.01 * (double)(r >> 32 & 7);
        memcpy(wire + BYTES * i, &i, 8);
        memcpy(wire + BYTES * i + 8, &b, 8);
        memcpy(wire + BYTES * i + 16, &a, 8);
    }
}

static int64_t round_of(const redan_feed *f, const char *wire) {
    int64_t total = 0, s = 0;
    redan_tick t;
    uint64_t at = ticks();
    for (size_t i = 0; i < PIECES; i++) {
        redan_tick_columns(f, 0, wire + i * PIECE * BYTES, PIECE, ts, bid, ask, faults);
        total += ask[i % PIECE] - bid[i % PIECE] + faults[i % PIECE];
    }
    least(&own, (double)(ticks() - at));
    at = ticks();
    for (size_t i = 0; i < PIECES; i++)
        sink += read_bytes((const uint64_t *)(const void *)(wire + i * PIECE * BYTES), PIECE * BYTES / 8);
    least(&raw, (double)(ticks() - at));
    at = ticks();
    for (size_t i = 0; i < TICKS; i++)
        s += redan_tick_decode(f, 0, wire + i * BYTES, BYTES, &t) ? 0 : t.ask_px - t.bid_px;
    least(&one, (double)(ticks() - at));
    sink += (uint64_t)s;
    return total;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 40;
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    redan_feed *f;
    redan_error err;
    uint32_t id;
    char *wire = aligned_alloc(64, TICKS * BYTES);
    o.format = "tick24";
    o.max_orders = 64;
    o.max_instruments = 1;
    in.symbol = "X";
    in.tick = "0.01";
    if (!wire || redan_feed_open(&f, &o, &err) < 0 || redan_feed_instrument(f, &in, &id, &err) < 0) {
        fprintf(stderr, "bench-tick: no memory\n");
        return 1;
    }
    fill(wire);
    int64_t total = 0;
    for (int i = 0; i < rounds; i++)
        total = round_of(f, wire);
    double n = ticks_per_ns() * TICKS, a = own / n, b = raw / n, c = one / n;
    printf("{\"bench\":\"tick\",\"schema\":1,\"set\":\"columns\",\"ns_min\":%.3f,\"peer\":\"raw-read\",\"peer_ns\":%.3f,\"ratio\":%.3f,\"sum\":%ld}\n", a, b, a / b, (long)total);
    printf("{\"bench\":\"tick\",\"schema\":1,\"set\":\"one-call\",\"ns_min\":%.3f,\"peer\":\"raw-read\",\"peer_ns\":%.3f,\"ratio\":%.3f}\n", c, b, c / b);
    redan_feed_close(f);
    free(wire);
    return 0;
}
