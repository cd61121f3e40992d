/* SPDX-License-Identifier: Apache-2.0
 * test_book_rows.c: order books as host tables through market.h: what a row says, when it is there, what a publication looks at, over
 * swaps, refusals, memory; on each executor. */
#include <redan/market.h>
#include "host/host.h"
#include "tests/unit/host/engine_kit.h"

#define BOOK "table book by account: sym { mid: dec(3)  bid: dec(2)  ask_qty: int  at: time } from host keys 2\n" \
    "table ask by account: sym { px: dec(4) } from host\n"
#define RULES HEAD BOOK "rule mid on Order { when book[account].mid == 100.005 and book[account].ask_qty == 7  flag MID }\n" \
    "rule bid on Order { when book[account].bid == 100.0  flag BID }\nrule ask on Order { when ask[account].px == 100.01  flag ASK }\n"

struct market { redan_feed *feed; redan_book_rows *rows; uint32_t id[3]; int64_t ts; };

static redan_feed *open_feed(uint32_t *ret_ids, const char *const *symbols, uint32_t n, const char *tick) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_feed *f = NULL;
    redan_error err = { 0 };
    o.max_orders = 1024;
    o.max_instruments = 8;
    check(redan_feed_open(&f, &o, &err) == 0, "%s", err.text);
    for (uint32_t i = 0; i < n; i++) {
        redan_instrument in = REDAN_INSTRUMENT_INIT;
        in.symbol = symbols[i];
        in.tick = tick;
        check(redan_feed_instrument(f, &in, &ret_ids[i], &err) == 0, "%s", err.text);
    }
    return f;
}

static void start(struct kit *k, struct market *m) {
    static const char *const symbols[] = { "ACME", "OTHER", "THIRD" };
    redan_error err = { 0 };
    kit_start(k, RULES);
    *m = (struct market){ .feed = open_feed((uint32_t[3]){ 0 }, symbols, 3, "0.01") };
    check(redan_book_rows_open(&m->rows, k->lane, &m->feed, 1, &err) == 0, "%s %s", err.id, err.text);
}

static void stop(struct kit *k, struct market *m) {
    redan_book_rows_close(m->rows);
    redan_feed_close(m->feed);
    kit_stop(k);
}

static redan_mevent level(struct market *m, uint32_t instrument, uint8_t side, int64_t px, int64_t qty) {
    m->ts += 1000;
    return (redan_mevent){ .ts_event_ns = m->ts, .ts_recv_ns = m->ts, .px_ticks = px, .qty_lots = qty, .instrument = instrument, .action = REDAN_MARKET_LEVEL,
                           .side = side, .flags = REDAN_MF_LAST };
}

/* Applies and publishes. */
static int show(struct market *m, const redan_mevent *e, uint32_t n) {
    redan_error err = { 0 };
    redan_feed_apply(m->feed, e, n, NULL);
    int rc = redan_book_rows_publish(m->rows, 0, e, n, &err);
    check(rc == 0 || err.code == rc, "%d is told as %d", rc, err.code);
    return rc;
}

static void both_sides(struct market *m, uint32_t instrument) {
    redan_mevent e[] = { level(m, instrument, REDAN_BID, 10000, 3), level(m, instrument, REDAN_ASK, 10001, 7) };
    check(show(m, e, 2) == 0, "published");
}

static void codes(struct kit *k, const char *want, uint32_t undefined, const char *what) {
    char buf[100] = "";
    kit_judge(k, 1);
    for (uint32_t i = 0; i < k->v.ncodes; i++) {
        strcat(buf, i ? " " : "");
        strcat(buf, redan_code_name(k->lane, k->v.codes[i]));
    }
    check(strcmp(buf, want) == 0 && k->v.nundefined == undefined, "%s: %s, %u undefined", what, buf, k->v.nundefined);
}

static uint32_t count_rows(struct kit *k, const char *table) {
    uint32_t id, n = 99;
    redan_error err = { 0 };
    check(redan_table(k->eng, table, &id, &err) == 0 && redan_row_count(k->lane, id, &n) == 0, "%s", err.text);
    return n;
}

static void rows_of_a_book(void **state) {
    (void)state;
    struct kit k;
    struct market m;
    start(&k, &m);
    codes(&k, "", 3, "before any event");
    both_sides(&m, 0);
    codes(&k, "MID BID ASK", 0, "both sides");
    redan_mevent e = level(&m, 0, REDAN_BID, 10000, 0);
    check(show(&m, &e, 1) == 0, "published");
    codes(&k, "ASK", 2, "no bid: no row that has one");
    both_sides(&m, 0);
    redan_mevent last = level(&m, 0, REDAN_ASK, 10000, 1);
    last.flags = 0;
    check(show(&m, &last, 1) == 0, "published");
    codes(&k, "MID BID ASK", 0, "not before LAST");
    redan_mevent gap = { .ts_recv_ns = ++m.ts, .instrument = 0, .action = REDAN_MARKET_GAP, .flags = REDAN_MF_LAST };
    check(show(&m, &gap, 1) == 0, "published");
    codes(&k, "", 3, "a book that missed something says nothing");
    check(count_rows(&k, "book") == 0 && count_rows(&k, "ask") == 0, "no rows");
    stop(&k, &m);
}

/* What an event says of its instrument does not matter: every book that it changed is published. */
static void whatever_changed(void **state) {
    (void)state;
    struct kit k;
    struct market m;
    start(&k, &m);
    redan_mevent add = level(&m, 0, REDAN_BID, 10000, 3);
    add.action = REDAN_MARKET_ADD;
    add.order_id = 5;
    check(show(&m, &add, 1) == 0, "added");
    redan_mevent ask = level(&m, 0, REDAN_ASK, 10001, 7);
    check(show(&m, &ask, 1) == 0, "ask");
    codes(&k, "MID BID ASK", 0, "both sides");
    redan_mevent gone = { .ts_recv_ns = ++m.ts, .order_id = 5, .instrument = REDAN_BY_ORDER, .action = REDAN_MARKET_DELETE, .flags = REDAN_MF_LAST };
    check(show(&m, &gone, 1) == 0, "by order");
    codes(&k, "ASK", 2, "an order that named no instrument");
    both_sides(&m, 0);
    both_sides(&m, 1);
    check(count_rows(&k, "book") == 2, "two books");
    redan_mevent gap = { .ts_recv_ns = ++m.ts, .instrument = REDAN_ALL_INSTRUMENTS, .action = REDAN_MARKET_GAP, .flags = REDAN_MF_LAST };
    check(show(&m, &gap, 1) == 0, "all");
    codes(&k, "", 3, "a gap of all");
    check(count_rows(&k, "book") == 0, "no rows");
    redan_mevent clear = gap;
    clear.action = REDAN_MARKET_CLEAR;
    clear.flags |= REDAN_MF_SNAPSHOT;
    check(show(&m, &clear, 1) == 0, "cleared");
    both_sides(&m, 0);
    codes(&k, "MID BID ASK", 0, "whole again");
    redan_mevent e = level(&m, 0, REDAN_BID, 10000, 0);
    redan_feed_apply(m.feed, &e, 1, NULL);
    check(redan_book_rows_publish(m.rows, 0, NULL, 0, NULL) == 0, "no events: what changed");
    codes(&k, "ASK", 2, "found by looking");
    stop(&k, &m);
}

/* Two feeds of one symbol: trades alone have no book, and of two books the one that changed last counts. */
static void two_feeds(void **state) {
    (void)state;
    static const char *const symbols[] = { "ACME" };
    struct kit k;
    struct market m;
    redan_error err = { 0 };
    uint32_t id;
    start(&k, &m);
    redan_book_rows_close(m.rows);
    redan_feed *feeds[] = { m.feed, open_feed(&id, symbols, 1, "0.005") };
    check(redan_book_rows_open(&m.rows, k.lane, feeds, 2, &err) == 0, "%s", err.text);
    both_sides(&m, 0);
    redan_mevent e = level(&m, 0, REDAN_BID, 3000, 5);
    e.action = REDAN_MARKET_TRADE;
    redan_feed_apply(feeds[1], &e, 1, NULL);
    check(redan_book_rows_publish(m.rows, 1, &e, 1, NULL) == 0, "a trade");
    codes(&k, "MID BID ASK", 0, "a feed of trades leaves the book alone");
    check(redan_book_rows_publish(m.rows, 1, NULL, 0, NULL) == 0, "nothing new");
    redan_book_rows_close(m.rows);
    redan_feed_close(feeds[1]);
    feeds[1] = open_feed(&id, symbols, 1, "0.01");
    check(redan_book_rows_open(&m.rows, k.lane, feeds, 2, &err) == 0, "%s", err.text);
    e = level(&m, 0, REDAN_BID, 10000, 3);
    redan_feed_apply(feeds[1], &e, 1, NULL);
    check(redan_book_rows_publish(m.rows, 1, &e, 1, NULL) == 0, "one side of the second book");
    codes(&k, "", 3, "the second book, which has no ask");
    both_sides(&m, 0);
    codes(&k, "MID BID ASK", 0, "the first again");
    redan_book_rows_close(m.rows);
    m.rows = NULL;
    redan_feed_close(feeds[1]);
    stop(&k, &m);
}

static void over_swaps(void **state) {
    (void)state;
    struct kit k;
    struct market m;
    redan_error err = { 0 };
    start(&k, &m);
    both_sides(&m, 0);
    both_sides(&m, 1);
    redan_ruleset *bare = kit_compile(k.eng, HEAD "rule r on Order { when qty > 5  reject TOP }\n"), *same = kit_compile(k.eng, RULES),
                  *bad = kit_compile(k.eng, HEAD "table ask by account: sym { price: dec(4) } from host\nrule r on Order { when ask[account].price > 1.0  flag X }\n");
    kit_activate(k.eng, bare);
    check(redan_book_rows_publish(m.rows, 0, NULL, 0, NULL) == 0, "rules without tables");
    redan_mevent e = level(&m, 0, REDAN_BID, 9999, 5), back = level(&m, 0, REDAN_BID, 9999, 0);
    check(show(&m, &e, 1) == 0 && show(&m, &back, 1) == 0, "events meanwhile");
    kit_activate(k.eng, same);
    codes(&k, "", 3, "a table that the rules before had not is empty");
    check(redan_book_rows_publish(m.rows, 0, NULL, 0, NULL) == 0, "after a change of rules");
    codes(&k, "MID BID ASK", 0, "and full after a publication");
    check(count_rows(&k, "book") == 2, "of all books");
    kit_activate(k.eng, bad);
    for (int i = 0; i < 2; i++)
        check(redan_book_rows_publish(m.rows, 0, NULL, 0, &err) == REDAN_E_LAYOUT && strcmp(err.id, "R8240") == 0, "other columns: %s", err.text);
    kit_activate(k.eng, same);
    check(redan_book_rows_publish(m.rows, 0, NULL, 0, NULL) == 0, "and back");
    codes(&k, "MID BID ASK", 0, "and back");
    redan_release(bare);
    redan_release(same);
    redan_release(bad);
    stop(&k, &m);
}

static void refusals(void **state) {
    (void)state;
    struct kit k;
    struct market m;
    redan_error err = { 0 };
    redan_book_rows *r = NULL;
    uint32_t id;
    start(&k, &m);
    check(redan_book_rows_open(&r, k.lane, &m.feed, 0, &err) == REDAN_E_INVAL && redan_book_rows_open(&r, k.lane, &m.feed, 65, &err) == REDAN_E_INVAL && !r, "how many feeds");
    check(redan_book_rows_publish(m.rows, 1, NULL, 0, &err) == REDAN_E_INVAL, "no such feed");
    both_sides(&m, 0);
    both_sides(&m, 1);
    redan_mevent third[] = { level(&m, 2, REDAN_BID, 10000, 3), level(&m, 2, REDAN_ASK, 10001, 7), level(&m, 0, REDAN_BID, 10000, 0) };
    check(show(&m, third, 3) == REDAN_E_FULL, "a third row of two");
    codes(&k, "ASK", 2, "and the events behind it count");
    static const char *const fine[] = { "ACME" };
    redan_feed *f = open_feed(&id, fine, 1, "0.001");
    redan_mevent e[] = { level(&m, 0, REDAN_BID, 10000, 3), level(&m, 0, REDAN_ASK, 10001, 7) };
    check(redan_book_rows_open(&r, k.lane, &f, 1, &err) == 0, "%s", err.text);
    redan_feed_apply(f, e, 2, NULL);
    check(redan_book_rows_publish(r, 0, e, 2, &err) == REDAN_E_LAYOUT && strcmp(err.id, "R8241") == 0, "half of 0.001 does not fit dec(3): %s", err.text);
    redan_book_rows_close(r);
    redan_feed_close(f);
    redan_book_rows_close(NULL);
    stop(&k, &m);
}

/* The engine's allocator gives all of it, at open, and gets it back. */
static void memory(void **state) {
    (void)state;
    struct books books = { 0 };
    struct market m = { .ts = 1 };
    static const char *const symbols[] = { "ACME", "OTHER" };
    redan_error err = { 0 };
    redan_engine *e = kit_engine(1, &books);
    redan_ruleset *rs = kit_compile(e, RULES);
    kit_activate(e, rs);
    redan_lane *l = kit_lane(e, 0, 0);
    m.feed = open_feed(m.id, symbols, 2, "0.01");
    for each (i, symbols) {                              /* symbols are the engine's, whoever names them */
        uint32_t sym;
        check(redan_sym(e, symbols[i], strlen(symbols[i]), &sym) == 0, "sym");
    }
    size_t before = books.bytes;
    check(redan_book_rows_open(&m.rows, l, &m.feed, 1, &err) == 0 && books.bytes > before, "%s", err.text);
    both_sides(&m, 0);
    both_sides(&m, 1);
    size_t calls = books.calls;
    for (int i = 0; i < 1000; i++) {
        redan_mevent ev[] = { level(&m, i & 1, REDAN_BID, 9000 + i % 7, i % 3), level(&m, i & 1, REDAN_ASK, 10001 + i % 5, i % 2) };
        check(show(&m, ev, 2) == 0, "%d", i);
    }
    check(books.calls == calls, "%zu calls of the allocator for publications", books.calls - calls);
    redan_book_rows_close(m.rows);
    check(books.bytes == before && !books.wrong, "%zu bytes are still held", books.bytes - before);
    redan_feed_close(m.feed);
    redan_lane_close(l);
    redan_release(rs);
    redan_close(e);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_of_a_book), cmocka_unit_test(whatever_changed), cmocka_unit_test(two_feeds), cmocka_unit_test(over_swaps),
                                        cmocka_unit_test(refusals) };
    const struct CMUnitTest once[] = { cmocka_unit_test(memory) };
    int failed = cmocka_run_group_tests_name("memory", once, NULL, NULL);
    static const char *const all[] = { "interp", "table", "x64" };
    for each (b, all)
        if (rdn_backend_known(kit_backend = all[b]))
            failed += cmocka_run_group_tests_name(kit_backend, tests, NULL, NULL);
    return failed;
}
