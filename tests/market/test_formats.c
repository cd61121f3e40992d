/* SPDX-License-Identifier: Apache-2.0
 * Golden numbers of DBN, ITCH and PITCH (MARKET.md 9). */
#include <stdlib.h>

#include "market/enc_itch50.h"
#include "tests/market/golden_kit.h"

#define ESH4 "databento/esh4-glbx-mdp3-20231225.mbo.dbn.zst"
#define LOBSTER "lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv"
#define DEPTH50 "lobster/AAPL_2012-06-21_orderbook_50_first672.csv"

static redan_feed *open_auto(const char *format, const char *tick) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_error err;
    redan_feed *f;
    o.format = format;
    o.auto_tick = tick;
    check(redan_feed_open(&f, &o, &err) == 0, "%s", err.text);
    return f;
}

static uint64_t no_faults_but(redan_feed *f, uint32_t a, uint32_t b, const char *what) {
    redan_feed_stats st;
    redan_feed_stats_get(f, &st);
    for (uint32_t i = 1; i < REDAN_FAULTS; i++)
        check(i == a || i == b || !st.faults[i], "%s: %s %lu times", what, redan_fault_name(i), st.faults[i]);
    check(!st.filtered, "%s: %lu filtered", what, st.filtered);
    return st.faults[a];
}

struct esh4 { uint64_t snapshot, volume, crossed_open, fills_cross; bool fills; };

static const int64_t open_ns = 1703545200000000000;      /* 2023-12-25T23:00:00Z */

static void esh4_seen(struct golden *g, const redan_mevent *e) {
    struct esh4 *x = g->mine;
    redan_book_line_data l;
    x->snapshot += (e->flags & REDAN_MF_SNAPSHOT) != 0;
    x->volume += e->action == REDAN_MARKET_TRADE ? (uint64_t)e->qty_lots : 0;
    if (redan_book_line(g->feed, 0, &l) == 0 && (l.flags & (REDAN_BOOK_CROSSED | REDAN_BOOK_LOCKED)) && l.ts_event_ns >= open_ns)
        x->crossed_open++;
    if (x->fills && e->action == REDAN_MARKET_FILL) {    /* the control: fills as updates */
        redan_mevent wrong = *e;
        wrong.action = REDAN_MARKET_MODIFY;
        redan_feed_apply(g->feed, &wrong, 1, NULL);
    }
}

static void dbn_mbo(void **state) {
    (void)state;
    static const struct { size_t piece; bool fills; } rows[] = { { 1 << 30, false }, { 4093, false }, { 7, false }, { 1 << 30, true } };
    size_t len;
    char *data = golden_file(ESH4, &len);
    if (!data)
        skip();
    for each (i, rows) {
        redan_feed *f = open_auto("dbn", "0.25");
        struct esh4 x = { .fills = rows[i].fills };
        struct golden g;
        char all[17], distinct[17];
        golden_begin(&g, f, 0);
        g.seen = esh4_seen;
        g.mine = &x;
        golden_feed(&g, data, len, rows[i].piece);
        golden_end(&g, all, distinct);
        check(rows[i].fills == (x.crossed_open > 0), "row %zu: %lu crossed or locked after the open", i, x.crossed_open);
        check(rows[i].fills == (strcmp(all, "5ffbbcd01742c979") != 0), "row %zu: %s", i, all);
        if (!rows[i].fills) {
            check(!strcmp(distinct, "9803c5d7b237e092"), "row %zu: %s", i, distinct);
            check(g.states == 47022 && g.distinct_states == 25439, "row %zu: %lu %lu", i, g.states, g.distinct_states);
            check(no_faults_but(f, REDAN_FAULT_CROSSED, 0, ESH4) == 891, "row %zu", i);
            check(g.actions['A'] == 29216 && g.actions['X'] == 17999 && g.actions['M'] == 12233 && g.actions['F'] == 6371 && g.actions['T'] == 2973 &&
                  x.volume == 9892 && x.snapshot == 8725, "row %zu: volume %lu, snapshot %lu", i, x.volume, x.snapshot);
            check(g.last[0] == 19240 && g.last[1] == 22 && g.last[2] == 19241 && g.last[3] == 28, "row %zu", i);
            static redan_book_level l[2048];
            redan_feed_stats st;
            redan_feed_stats_get(f, &st);
            check(redan_book_levels(f, 0, REDAN_BID, l, 2048) == 922 && redan_book_levels(f, 0, REDAN_ASK, l, 2048) == 565, "row %zu", i);
            check(st.live_orders == 11217 && st.peak_orders == 11237, "row %zu: %lu %lu", i, st.live_orders, st.peak_orders);
        }
        redan_feed_close(f);
    }
    free(data);
}

/* The last of each small file: what it says of an order, or of the best prices. */
static void dbn_small(void **state) {
    (void)state;
    static const struct { const char *name; const char *tick; uint64_t events[2]; uint64_t id; int64_t px; int64_t line[4]; } rows[] = {
        { "databento/test_data.mbo.dbn", "0.01", { 'X', 2 }, 647784973631, 372300, { 0 } },
        { "databento/test_data.mbo.v3.dbn", "0.01", { 'X', 2 }, 647784973631, 372300, { 0 } },
        { "databento/test_data.mbp-1.dbn", "0.01", { 'Q', 4 }, 0, 0, { 372025, 24, 372050, 12 } },
        { "databento/test_data.mbp-10.dbn", "0.01", { 'Q', 4 }, 0, 0, { 0 } },
        { "databento/test_data.trades.dbn", "0.01", { 'T', 2 }, 0, 0, { 0 } },
        { "databento/test_data.bbo-1s.dbn", "0.01", { 'Q', 8 }, 0, 0, { 0 } },
    };
    for each (i, rows) {
        size_t len, used;
        char *data = golden_file(rows[i].name, &len);
        if (!data)
            skip();
        redan_feed *f = open_auto("dbn", rows[i].tick);
        redan_mevent ev[64];
        uint32_t n = redan_feed_decode(f, data, len, ev, 64, &used), kind = 0;
        for (uint32_t k = 0; k < n; k++)
            kind += ev[k].action == rows[i].events[0];
        check(used == len && kind == rows[i].events[1], "%s: %u of %u events, %zu of %zu bytes", rows[i].name, kind, n, used, len);
        if (rows[i].id)
            check(ev[0].order_id == 647784973705 && ev[0].px_ticks == 372275 && ev[0].seq == 1170352 && ev[0].side == REDAN_ASK &&
                  ev[1].order_id == rows[i].id && ev[1].px_ticks == rows[i].px && ev[1].seq == 1170353, "%s", rows[i].name);
        redan_book_line_data l;
        redan_feed_apply(f, ev, n, NULL);
        assert_int_equal(redan_book_line(f, 0, &l), 0);
        if (rows[i].line[0])
            check(l.bid_px == rows[i].line[0] && l.bid_qty == rows[i].line[1] && l.ask_px == rows[i].line[2] && l.ask_qty == rows[i].line[3],
                  "%s: %ld x %ld", rows[i].name, l.bid_px, l.bid_qty);
        redan_feed_close(f);
        free(data);
    }
}

/* --- LOBSTER -> ITCH -> book --- */

struct trip {
    struct rdn_itch50_out to;
    redan_feed *lobster;
    unsigned char *out;
    size_t n, messages;
    uint64_t match, counts[256];
    struct { int64_t px, qty; } seeds[128];              /* by order id */
};

static void emit(struct trip *t, redan_mevent e) {
    t->n += rdn_itch50_write(&t->to, &e, t->out + t->n);
    t->counts[e.action]++;
    t->messages++;
}

/* Levels of the first row, the first message undone, are orders: bid i is 2i, ask i is 2i - 1, sent in order of ids 1 ns before the
 * first message. */
static void emit_seed(struct trip *t, const char *row, int64_t first_ns) {
    unsigned next[2] = { 1, 2 };                         /* ask, bid */
    for (unsigned i = 0; i < 100; i++) {
        char *end;
        int64_t px = strtoll(row, &end, 10), qty = strtoll(end + 1, &end, 10);
        unsigned *id = &next[i % 2];
        row = end + 1;
        if (px == 5853300 || px >= 9999999999)
            continue;
        t->seeds[*id].px = px;
        t->seeds[*id].qty = qty;
        *id += 2;
    }
    for (unsigned id = 1; id <= 100; id++)
        if (t->seeds[id].qty)
            emit(t, (redan_mevent){ .ts_event_ns = first_ns - 1, .order_id = id, .px_ticks = t->seeds[id].px, .qty_lots = t->seeds[id].qty,
                                    .action = REDAN_MARKET_ADD, .side = id % 2 ? REDAN_ASK : REDAN_BID });
}

/* An id nobody added acts on the seed order at its price. False: there is none left. */
static bool as_seed(struct trip *t, redan_mevent *e) {
    for (unsigned id = e->side == REDAN_BID ? 2 : 1; id <= 100; id += 2)
        if (t->seeds[id].px == e->px_ticks && t->seeds[id].qty > 0) {
            int64_t take = e->qty_lots < t->seeds[id].qty ? e->qty_lots : t->seeds[id].qty;
            t->seeds[id].qty -= take;
            e->order_id = id;
            e->qty_lots = take;
            if (e->action != REDAN_MARKET_EXECUTE)
                e->action = t->seeds[id].qty ? REDAN_MARKET_REDUCE : REDAN_MARKET_DELETE;
            return true;
        }
    return false;
}

static void translate(struct trip *t, const char *data, size_t len, const char *row) {
    static redan_mevent ev[128];
    static uint8_t live[1 << 27];                        /* ids of this file are below it */
    size_t at = 0;
    while (at < len) {
        size_t used;
        uint32_t n = redan_feed_decode(t->lobster, data + at, len - at, ev, 128, &used);
        if (!t->messages)
            emit_seed(t, row, ev[0].ts_event_ns);
        at += used;
        for (uint32_t i = 0; i < n; i++) {
            redan_mevent e = ev[i];
            bool known = e.order_id < sizeof live && live[e.order_id];
            if (e.action == REDAN_MARKET_STATUS || (e.action != REDAN_MARKET_ADD && e.action != REDAN_MARKET_TRADE && !known && !as_seed(t, &e)))
                continue;
            if (e.action == REDAN_MARKET_ADD)
                live[e.order_id] = 1;
            if (e.action == REDAN_MARKET_TRADE)
                e.order_id = 0;
            if (e.action == REDAN_MARKET_TRADE || e.action == REDAN_MARKET_EXECUTE)
                e.other_id = ++t->match;
            emit(t, e);
        }
    }
}

/* MARKET.md states a hash of these bytes too, which depends on something that it does not tell: the book is what is compared. */
static void check_counts(const struct trip *t) {
    check(t->messages == 92041 && t->n == 2792463, "%zu messages, %zu bytes", t->messages, t->n);
    check(t->counts['A'] == 44345 && t->counts['D'] == 40951 && t->counts['E'] == 4067 && t->counts['T'] == 2201 && t->counts['X'] == 477,
          "A %lu D %lu E %lu P %lu X %lu", t->counts['A'], t->counts['D'], t->counts['E'], t->counts['T'], t->counts['X']);
}

/* The messages decoded and written again are the same bytes. */
static void check_again(const struct trip *t, redan_feed *f) {
    unsigned char one[RDN_ITCH50_MAX];
    size_t at = 0;
    for (size_t i = 0; i < t->messages; i++) {
        redan_mevent ev[16];
        size_t used, len = 2u + t->out[at] * 256u + t->out[at + 1];
        assert_int_equal(redan_feed_decode(f, t->out + at, len, ev, 16, &used), 1);
        assert_int_equal(used, len);
        check(rdn_itch50_write(&t->to, ev, one) == len && memcmp(one, t->out + at, len) == 0, "message %zu", i);
        at += len;
    }
}

static redan_feed *open_itch(const char *format, const char *tick) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    o.format = format;
    return golden_open(&o, "AAPL", tick, NULL, strcmp(format, "lobster") ? 1 : 0);
}

static void itch_round_trip(void **state) {
    (void)state;
    size_t len, len50;
    char *data = golden_file(LOBSTER, &len), *row = golden_file(DEPTH50, &len50);
    if (!data || !row)
        skip();
    struct trip t = { .to = { 1, 0, "AAPL", 0, 1 }, .lobster = open_itch("lobster", "0.0001"), .out = malloc(1 << 23) };
    assert_non_null(t.out);
    translate(&t, data, len, row);
    check_counts(&t);
    redan_feed *f = open_itch("itch50", "0.0001");
    check_again(&t, f);
    static const size_t pieces[] = { 1 << 30, 4093, 7, 1 };
    for each (i, pieces) {
        redan_feed *book = open_itch("itch50", "0.01");
        struct golden g;
        char all[17], distinct[17];
        golden_begin(&g, book, 0);
        g.unseen = 89;                                   /* levels of the seed */
        golden_feed(&g, (char *)t.out, t.n, pieces[i]);
        golden_end(&g, all, distinct);
        no_faults_but(book, 0, 0, "ITCH");
        check(g.distinct_states == 23439 && !strcmp(distinct, "55e7a325b0cd131f"), "piece %zu: %lu states, %s", pieces[i], g.distinct_states, distinct);
        check(g.last[0] == 58569 && g.last[1] == 10 && g.last[2] == 58595 && g.last[3] == 100, "piece %zu", pieces[i]);
        redan_feed_close(book);
    }
    redan_feed_close(f);
    redan_feed_close(t.lobster);
    free(t.out);
    free(data);
    free(row);
}

/* --- PITCH --- */

static int by_symbol(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void pitch(void **state) {
    (void)state;
    size_t len;
    char *data = golden_file("pitch/pitch_example_data", &len);
    if (!data)
        skip();
    redan_feed *f = open_auto("pitch", "0.0001");
    struct golden g;
    golden_begin(&g, f, 0);
    redan_mevent ev[256];
    bool added[512] = { false };                         /* symbols of trades alone are not in the hash */
    uint64_t volume = 0;
    int64_t last = 0, worst = 0;
    for (size_t at = 0, used; at < len; at += used) {
        uint32_t n = redan_feed_decode(f, data + at, len - at, ev, 256, &used);
        for (uint32_t i = 0; i < n; i++) {
            g.actions[ev[i].action]++;
            if (ev[i].action == REDAN_MARKET_ADD)
                added[ev[i].instrument] = true;
            volume += ev[i].action == REDAN_MARKET_TRADE ? (uint64_t)ev[i].qty_lots : 0;
            worst = last - ev[i].ts_event_ns > worst ? last - ev[i].ts_event_ns : worst;
            last = ev[i].ts_event_ns;
        }
        redan_feed_apply(f, ev, n, NULL);
        if (!used)
            break;
    }
    check(g.actions['A'] == 10361 && g.actions['X'] == 9592 && g.actions['E'] == 20 && g.actions['T'] == 27 && volume == 9787, "volume %lu", volume);
    check(no_faults_but(f, REDAN_FAULT_TS_BACK, 0, "PITCH") == 691 && worst == 2000000, "worst %ld", worst);
    const char *symbols[512];
    uint32_t n = 0, with_orders = 0, two_sided = 0;
    for (uint32_t i = 0; i < 512 && redan_feed_symbol(f, i); i++)
        if (added[i])
            symbols[n++] = redan_feed_symbol(f, i);
    assert_int_equal(n, 286);
    qsort(symbols, n, sizeof symbols[0], by_symbol);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = 0;
        redan_book_line_data l;
        char padded[9];
        while (strcmp(redan_feed_symbol(f, id), symbols[i]))
            id++;
        assert_int_equal(redan_book_line(f, id, &l), 0);
        int64_t now[4] = { l.bid_px, l.bid_qty, l.ask_px, l.ask_qty };
        with_orders += (l.flags & (REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK)) != (REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK);
        two_sided += !(l.flags & (REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK));
        snprintf(padded, sizeof padded, "%-8s", symbols[i]);
        crypto_hash_sha256_update(&g.all, (unsigned char *)padded, 8);
        crypto_hash_sha256_update(&g.all, (unsigned char *)now, sizeof now);
    }
    char all[17], distinct[17];
    redan_feed_stats st;
    redan_feed_stats_get(f, &st);
    golden_end(&g, all, distinct);
    check(with_orders == 213 && two_sided == 183 && st.live_orders == 784, "%u %u %lu", with_orders, two_sided, st.live_orders);
    check(!strcmp(all, "07e7551e1889e453"), "%s", all);
    redan_feed_close(f);
    free(data);
}

/* --- FIX --- */

/* The field `tag` at the beginning of s or behind a SOH; NULL. */
static const char *fix_field(const char *s, const char *end, const char *tag) {
    for (const char *p = s; p < end; p++)
        if ((p == s || p[-1] == 1) && strncmp(p, tag, strlen(tag)) == 0)
            return p;
    return NULL;
}

/* Wrong length and wrong sum, found without the decoder. */
static bool lies(const char *s, const char *end) {
    const char *nine = fix_field(s, end, "9="), *body = strchr(nine, 1) + 1, *ten = fix_field(s, end, "10=");
    unsigned sum = 0;
    for (const char *p = s; p < ten; p++)
        sum += (unsigned char)*p;
    return strtoul(nine + 2, NULL, 10) != (size_t)(ten - body) && strtoul(ten + 3, NULL, 10) != sum % 256;
}

/* The published samples are all refused: they lie about their length and their sum. */
static void fix_samples(void **state) {
    (void)state;
    static const struct { const char *name; unsigned n, lying; } rows[] = {
        { "fix/100FIX42.dat", 100, 100 }, { "fix/42_order_single.txt", 1, 1 }, { "fix/44_new_order_cross.txt", 4, 3 } };      /* MARKET.md: all 4 */
    for each (i, rows) {
        size_t len, used = 0;
        unsigned n = 0, refused = 0, lying = 0;
        char *data = golden_file(rows[i].name, &len);
        if (!data)
            skip();
        for (size_t at = 0; at < len; at += used) {
            redan_fix m;
            int fault = redan_fix_decode(data + at, len - at, &m, &used);
            const char *s = memchr(data + at, '8', used);
            if (!used)
                break;
            n += fault || m.type;
            refused += fault != 0;
            lying += s && lies(s, data + at + used);
        }
        check(n == rows[i].n && refused == n && lying == rows[i].lying, "%s: %u of %u refused, %u lie about both", rows[i].name, refused, n, lying);
        free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(dbn_mbo), cmocka_unit_test(dbn_small), cmocka_unit_test(itch_round_trip), cmocka_unit_test(pitch),
                                        cmocka_unit_test(fix_samples) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
