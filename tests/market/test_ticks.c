/* SPDX-License-Identifier: Apache-2.0
 * Ticks: files of best prices, the 24-byte form one by one and in columns. */
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "market/tick_block.h"
#include "tests/market/golden_kit.h"

static redan_feed *open_ticks(const char *format, const char *tick) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    o.format = format;
    o.max_orders = 64;
    return golden_open(&o, "X", tick, NULL, 0);
}

struct sums { int64_t bid, ask; uint64_t rows; crypto_hash_sha256_state hash; };

static void sum_seen(struct golden *g, const redan_mevent *e) {
    struct sums *s = g->mine;
    int64_t row[2] = { e->ts_event_ns, e->px_ticks };
    *(e->side == REDAN_BID ? &s->bid : &s->ask) += e->px_ticks;
    s->rows += e->side == REDAN_ASK;
    crypto_hash_sha256_update(&s->hash, (unsigned char *)(e->side == REDAN_BID ? row : row + 1), e->side == REDAN_BID ? 16 : 8);
}

static void lean(void **state) {
    (void)state;
    static const size_t pieces[] = { 1 << 30, 4093, 7 };
    size_t len;
    char *data = golden_file("ticks/lean_xauusd_20140501_quote.zip", &len);
    if (!data)
        skip();
    data[len++] = '\n';                                  /* the last line has none */
    for each (i, pieces) {
        redan_feed *f = open_ticks("csv", "0.00001");
        struct golden g;
        struct sums s = { 0 };
        unsigned char h[crypto_hash_sha256_BYTES];
        char hex[17];
        redan_feed_stats st;
        golden_begin(&g, f, 0);
        crypto_hash_sha256_init(&s.hash);
        g.seen = sum_seen;
        g.mine = &s;
        golden_feed(&g, data, len, pieces[i]);
        crypto_hash_sha256_final(&s.hash, h);
        sodium_bin2hex(hex, sizeof hex, h, 8);
        check(s.rows == 129744 && s.bid == 16652474831000 && s.ask == 16657613423500, "%lu rows, %ld, %ld", s.rows, s.bid, s.ask);
        check(!strcmp(hex, "3d14d77f163d3506") && !g.crossed, "%s", hex);
        redan_feed_stats_get(f, &st);
        for (unsigned k = 1; k < REDAN_FAULTS; k++)
            check(!st.faults[k], "%s %lu times", redan_fault_name(k), st.faults[k]);
        redan_feed_close(f);
    }
    free(data);
}

static void texts(void **state) {
    (void)state;
    static const struct { const char *text; uint32_t events; uint8_t fault; int64_t ts, bid, ask; } rows[] = {
        { "timestamp,bid,ask\n2013-01-01 22:00:00.295000+00:00,86.655,86.728\n", 2, 0, 1357077600295000000, 8665500, 8672800 },
        { "ask,x,ts,bid\n1.5,,7,1.25\n", 2, 0, 7, 125000, 150000 },
        { "ts,bid,ask\n7,,1.5\n", 2, 0, 7, 0, 150000 },
        { "0.5,1,2\r\n", 2, 0, 500000, 100000, 200000 },
        { "ts,bid\n1,2\n", 0, REDAN_FAULT_UNKNOWN_TYPE, 0, 0, 0 },
        { "ts,bid,ask\n7,1.5\n", 0, REDAN_FAULT_SHORT_INPUT, 0, 0, 0 },
        { "ts,bid,ask\n7,1.5,nan\n", 0, REDAN_FAULT_BAD_NUMBER, 0, 0, 0 },
        { "ts,bid,ask\n7,-1.5,2\n", 0, REDAN_FAULT_BAD_NUMBER, 0, 0, 0 },
        { "ts,bid,ask\n2013-13-01 22:00:00,1,2\n", 0, REDAN_FAULT_BAD_NUMBER, 0, 0, 0 },
        { "ts,bid,ask\n7,1.500001,2\n", 0, REDAN_FAULT_OFF_TICK, 0, 0, 0 },
        { "1,99999999999999999999,2\n", 0, REDAN_FAULT_BAD_NUMBER, 0, 0, 0 },
    };
    for each (i, rows) {
        redan_feed *f = open_ticks("csv", "0.00001");
        redan_mevent ev[16];
        size_t used;
        redan_feed_stats st;
        uint32_t n = redan_feed_decode(f, rows[i].text, strlen(rows[i].text), ev, 16, &used);
        redan_feed_stats_get(f, &st);
        check(n == rows[i].events && used == strlen(rows[i].text), "row %zu: %u events, %zu bytes", i, n, used);
        check(!rows[i].fault || st.faults[rows[i].fault] == 1, "row %zu: no %s", i, redan_fault_name(rows[i].fault));
        check(!n || (ev[0].ts_event_ns == rows[i].ts && ev[0].px_ticks == rows[i].bid && ev[1].px_ticks == rows[i].ask), "row %zu: %ld %ld %ld", i,
              ev[0].ts_event_ns, ev[0].px_ticks, ev[1].px_ticks);
        redan_feed_close(f);
    }
}

static void put(char *out, uint64_t ts, double bid, double ask) {
    memcpy(out, &ts, 8);
    memcpy(out + 8, &bid, 8);
    memcpy(out + 16, &ask, 8);
}

static void wire_ticks(void **state) {
    (void)state;
    static const struct { double bid, ask; uint8_t fault; int64_t bid_px, ask_px; } rows[] = {
        { 1.25, 1.26, 0, 125, 126 },           { 0.0, 1.26, 0, 0, 126 },                       { 1.25, 0.0, 0, 125, 0 },
        { 1.25, 1.25, 0, 125, 125 },           { 1.26, 1.25, REDAN_FAULT_CROSSED, 126, 125 },  { 1.255, 1.26, REDAN_FAULT_OFF_TICK, 0, 0 },
        { 1.250009, 1.26, 0, 125, 126 },       { 1.250011, 1.26, REDAN_FAULT_OFF_TICK, 0, 0 }, { 1.25, 1.256, REDAN_FAULT_OFF_TICK, 0, 0 },
        { NAN, 1.26, REDAN_FAULT_BAD_NUMBER, 0, 0 }, { 1.25, INFINITY, REDAN_FAULT_BAD_NUMBER, 0, 0 }, { -1.0, 1.0, REDAN_FAULT_BAD_NUMBER, 0, 0 },
        { -0.0, 1.0, REDAN_FAULT_BAD_NUMBER, 0, 0 }, { 1e300, 1.0, REDAN_FAULT_BAD_NUMBER, 0, 0 },
        /* Only +0.0 says that there is no such side: what is nothing in whole ticks is no price above zero. */
        { 5e-324, 1.0, REDAN_FAULT_BAD_NUMBER, 0, 0 }, { 0.5, 0.000009, REDAN_FAULT_BAD_NUMBER, 0, 0 }, { 0.000011, 1.0, REDAN_FAULT_OFF_TICK, 0, 0 },
        { 0.009991, 1.0, 0, 1, 100 },
        { 1.1e13, 1.2e13, REDAN_FAULT_BAD_NUMBER, 0, 0 }, { 1e12, 1e12 + 1, 0, 100000000000000, 100000000000100 },
    };
    redan_feed *f = open_ticks("tick24", "0.01");
    for each (i, rows) {
        char wire[24];
        redan_tick t = { 0 };
        int64_t ts, bid, ask;
        uint8_t fault;
        put(wire, 42, rows[i].bid, rows[i].ask);
        int got = redan_tick_decode(f, 0, wire, 24, &t);
        check(got == rows[i].fault, "row %zu: %s, expected %s", i, redan_fault_name((uint32_t)got), redan_fault_name(rows[i].fault));
        if (!got || got == REDAN_FAULT_CROSSED)
            check(t.ts_ns == 42 && t.bid_px == rows[i].bid_px && t.ask_px == rows[i].ask_px, "row %zu: %ld %ld", i, t.bid_px, t.ask_px);
        redan_tick_columns(f, 0, wire, 1, &ts, &bid, &ask, &fault);
        check(fault == got && ts == 42 && bid == rows[i].bid_px && ask == rows[i].ask_px, "row %zu: %u %ld %ld", i, fault, bid, ask);
    }
    redan_tick t;
    assert_int_equal(redan_tick_decode(f, 0, "12345678", 8, &t), REDAN_FAULT_SHORT_INPUT);
    redan_feed_close(f);
}

/* Every vector code that this processor runs gives the same, in any alignment and for any rest. */
static void equal_blocks(const char *wire, size_t n, const int64_t *c, const uint8_t *faults, size_t bad) {
    rdn_tick_block *blocks[4] = { rdn_tick_plain, rdn_tick_best() };
    size_t k = 2;
#ifdef __x86_64__
    if (!rdn_cpu_lacks(RDN_CPU_AVX2))
        blocks[k++] = rdn_tick_avx2;
    if (!rdn_cpu_lacks(RDN_CPU_AVX512))
        blocks[k++] = rdn_tick_avx512;
#endif
    int64_t *mine = malloc(3 * n * sizeof *mine);
    uint8_t *f = malloc(n);
    for (size_t b = 0; b < k; b++) {
        size_t refused = blocks[b](100.0, wire, n, mine, mine + n, mine + 2 * n, f);
        check(refused == bad && !memcmp(mine, c, 3 * n * sizeof *mine) && !memcmp(f, faults, n), "code %zu differs", b);
        for (size_t len = 0; len < 40; len++) {
            memset(f, 77, n);
            blocks[b](100.0, wire + 24 * len, len, mine + 1, mine + n + 1, mine + 2 * n + 1, f);
            check(!memcmp(mine + n + 1, c + n + len, len * 8) && !memcmp(f, faults + len, len) && f[len] == 77, "code %zu, %zu ticks", b, len);
        }
    }
    free(mine);
    free(f);
}

/* Blocks and what is left of them equal one after the other, whatever stands in the bytes. */
static void columns_equal_ticks(void **state) {
    (void)state;
    enum { N = 100003 };
    redan_feed *f = open_ticks("tick24", "0.01");
    char *wire = malloc(24 * N);
    int64_t *c = malloc(3 * N * sizeof *c);
    uint8_t *faults = malloc(N);
    size_t good = 0;
    for (size_t i = 0; i < N; i++) {
        uint64_t r = rdn_mix64(i), s = rdn_mix64(r);
        double bid = (double)(r % 20000) * 0.01, ask = (double)(s % 20000) * 0.01;
        if (r % 16 == 0)
            memcpy(&bid, &s, 8);                         /* any bits */
        if (r % 64 == 1)
            *(s & 1 ? &bid : &ask) = (double)(s >> 1 & 3) * 0.000006;        /* about nothing */
        put(wire + 24 * i, i, bid, ask);
    }
    size_t got = redan_tick_columns(f, 0, wire, N, c, c + N, c + 2 * N, faults);
    for (size_t i = 0; i < N; i++) {
        redan_tick t = { 0 };
        int fault = redan_tick_decode(f, 0, wire + 24 * i, 24, &t);
        good += !fault || fault == REDAN_FAULT_CROSSED;
        check(faults[i] == fault && c[i] == (int64_t)i && c[N + i] == t.bid_px && c[2 * N + i] == t.ask_px, "tick %zu: %u, expected %d", i, faults[i], fault);
    }
    check(got == good && good > N / 2 && good < N, "%zu, expected %zu", got, good);
    equal_blocks(wire, N, c, faults, N - got);
    redan_feed_close(f);
    free(wire);
    free(c);
    free(faults);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(lean), cmocka_unit_test(texts), cmocka_unit_test(wire_ticks), cmocka_unit_test(columns_equal_ticks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
