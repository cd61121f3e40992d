/* SPDX-License-Identifier: Apache-2.0
 * Files as columns: the golden numbers of MARKET.md 9 and 11 come out of tables too, however small the chunks are; what a file looks like,
 * and how it ends; Arrow structures are released once, whoever is last. */
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "market/arrow.h"
#include "market/decimal.h"
#include "market/feed.h"
#include "tests/market/golden_kit.h"

#define LOBSTER "lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv"
#define DEPTH50 "lobster/AAPL_2012-06-21_orderbook_50_first672.csv"
#define ES "databento/esh4-glbx-mdp3-20231225.mbo.dbn.zst"

static bool shared_path(char out[512], const char *name) {
    const char *shared = getenv("REDAN_SHARED");
    snprintf(out, 512, "%s/data/%s", shared ? shared : "../shared", name);
    if (access(out, R_OK) == 0)
        return true;
    print_message("no file %s in the shared data\n", name);
    return false;
}

static struct rdn_reading *open_pass(const char *path, const char *seed, const char *symbol, const char *tick) {
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    struct rdn_reading_options o = { .path = path, .seed = seed, .feed = REDAN_FEED_OPTIONS_INIT, .instruments = &in, .n = symbol != NULL };
    struct rdn_reading *p;
    redan_error err;
    in.symbol = symbol;
    in.tick = tick;
    o.feed.auto_tick = symbol ? NULL : tick;
    o.feed.max_orders = 1 << 16;
    o.feed.max_instruments = 64;
    check(rdn_reading_open(&p, &o, &err) == 0, "%s", err.text);
    return p;
}

static struct rdn_cursor *open_table(struct rdn_reading *p, struct rdn_cursor_options o) {
    struct rdn_cursor *r;
    redan_error err;
    check(rdn_cursor_open(&r, p, &o, &err) == 0, "%s", err.text);
    rdn_reading_unref(p);
    return r;
}

static struct rdn_columns *next(struct rdn_cursor *r) {
    struct rdn_columns *c;
    redan_error err;
    check(rdn_cursor_next(r, &c, &err) == 0, "%s", err.text);
    return c;
}

static uint32_t column(const struct rdn_columns *c, const char *name) {
    uint32_t n, i = 0;
    const struct rdn_column_def *d = rdn_table_columns(c->table, &n);
    while (i < n && strcmp(d[i].name, name))
        i++;
    check(i < n, "no column %s", name);
    return i;
}

#define AT(c, name, type, row) (((const type *)(c)->data[column(c, name)])[row])

/* Every bit of a table, in order of rows and columns; and how many rows. */
static uint64_t digest(struct rdn_cursor *r, uint64_t *rows) {
    uint64_t h = 0;
    *rows = 0;
    for (struct rdn_columns *c; (c = next(r)); rdn_columns_unref(c))
        for (uint32_t i = 0; i < c->n; i++, ++*rows)
            for (uint32_t k = 0; k < c->ncols; k++) {
                unsigned w = rdn_column_width(rdn_columns_type(c, k));
                uint64_t v[2] = { 0, c->valid[k] ? c->valid[k][i >> 3] >> (i & 7) & 1 : 1 };
                memcpy(v, (char *)c->data[k] + (size_t)i * w, w < 8 ? w : 8);
                h = rdn_mix64(h ^ v[0]) + v[1];
            }
    rdn_cursor_unref(r);
    return h;
}

/* --- golden numbers --- */

static void lobster(void **state) {
    (void)state;
    char path[512], seed[512];
    if (!shared_path(path, LOBSTER) || !shared_path(seed, DEPTH50))
        skip();
    struct rdn_cursor *r = open_table(open_pass(path, seed, "AAPL", "0.01"), (struct rdn_cursor_options){ .table = RDN_TABLE_BBO, .on = RDN_ON_CHANGE });
    crypto_hash_sha256_state hash;
    unsigned char h[crypto_hash_sha256_BYTES];
    char hex[17];
    uint64_t rows = 0;
    crypto_hash_sha256_init(&hash);
    for (struct rdn_columns *c; (c = next(r)); rdn_columns_unref(c))
        for (uint32_t i = 0; i < c->n; i++) {
            int64_t now[4] = { AT(c, "bid", int64_t, i), AT(c, "bid_qty", int64_t, i), AT(c, "ask", int64_t, i), AT(c, "ask_qty", int64_t, i) };
            crypto_hash_sha256_update(&hash, (unsigned char *)now, sizeof now);
            rows++;
        }
    crypto_hash_sha256_final(&hash, h);
    sodium_bin2hex(hex, sizeof hex, h, 8);
    redan_feed_stats st;
    redan_feed_stats_get(rdn_cursor_pass(r)->feed, &st);
    rdn_cursor_unref(r);
    check(rows == 23439 && !strcmp(hex, "55e7a325b0cd131f"), "%lu rows, %s", rows, hex);
    check(st.faults[REDAN_FAULT_UNKNOWN_ID] == 84 && st.faults[REDAN_FAULT_OVER_CANCEL] == 41 && st.live_orders == 380, "%lu %lu %lu",
          st.faults[REDAN_FAULT_UNKNOWN_ID], st.faults[REDAN_FAULT_OVER_CANCEL], st.live_orders);
    check(rdn_columns_live() == 0, "%lu chunks live", rdn_columns_live());
}

/* Every table of two files, in chunks of any size: the same rows. */
static void chunks(void **state) {
    (void)state;
    static const struct { enum rdn_market_table table; int64_t on; uint64_t lobster, es; } rows[] = {
        { RDN_TABLE_EVENTS, 0, 92086, 68792 },           { RDN_TABLE_TRADES, 0, 6268, 2973 },       { RDN_TABLE_TICKS, RDN_ON_CHANGE, 16146, 0 },
        { RDN_TABLE_TICKS, RDN_ON_EVENT, 91997, 0 },     { RDN_TABLE_BBO, 1000000000, 3484, 0 },    { RDN_TABLE_DEPTH, 0, 0, 0 },
        { RDN_TABLE_LEVELS, 60000000000, 1200, 0 },
    };
    static const uint32_t sizes[] = { 0, 77, 20 };
    char path[512], seed[512], es[512];
    if (!shared_path(path, LOBSTER) || !shared_path(seed, DEPTH50) || !shared_path(es, ES))
        skip();
    for each (i, rows) {
        uint64_t first[2], n[2];
        for each (k, sizes)
            for (unsigned f = 0; f < 2; f++) {
                struct rdn_reading *p = f ? open_pass(es, NULL, NULL, "0.25") : open_pass(path, seed, "AAPL", "0.01");
                uint64_t got = digest(open_table(p, (struct rdn_cursor_options){ .table = rows[i].table, .on = rows[i].on, .rows = sizes[k] }), &n[f]);
                first[f] = k ? first[f] : got;
                check(got == first[f], "%s, on %ld, file %u: chunks of %u rows differ", rdn_table_name(rows[i].table), rows[i].on, f, sizes[k]);
            }
        check(n[0] > 0 && n[1] > 0 && (!rows[i].lobster || n[0] == rows[i].lobster) && (!rows[i].es || n[1] == rows[i].es), "%s, on %ld: %lu and %lu rows",
              rdn_table_name(rows[i].table), rows[i].on, n[0], n[1]);
    }
}

/* The levels that depth rows leave behind are those of the book. */
static void depth(void **state) {
    (void)state;
    enum { SLOTS = 1 << 16 };
    char path[512];
    if (!shared_path(path, ES))
        skip();
    struct rdn_cursor *r = open_table(open_pass(path, NULL, NULL, "0.25"), (struct rdn_cursor_options){ .table = RDN_TABLE_DEPTH });
    int64_t *qty = calloc(2 * SLOTS, sizeof *qty);
    uint64_t rows = 0, emptied = 0, all = 0;
    for (struct rdn_columns *c; (c = next(r)); rdn_columns_unref(c))
        for (uint32_t i = 0; i < c->n; i++, rows++) {
            uint8_t side = AT(c, "side", uint8_t, i);
            emptied += !side;
            if (!side)
                memset(qty, 0, 2 * SLOTS * sizeof *qty);
            else if (AT(c, "px", int64_t, i) >= 0 && AT(c, "px", int64_t, i) < SLOTS)
                qty[(side - 1) * SLOTS + AT(c, "px", int64_t, i)] = AT(c, "qty", int64_t, i);
        }
    for (uint32_t side = REDAN_BID; side <= REDAN_ASK; side++) {
        redan_book_level l[2048];
        uint32_t n = redan_book_levels(rdn_cursor_pass(r)->feed, 0, side, l, 2048);
        for (uint32_t i = 0; i < n; i++) {
            check(l[i].px_ticks < SLOTS && qty[(side - 1) * SLOTS + l[i].px_ticks] == l[i].qty_lots, "side %u, %ld", side, l[i].px_ticks);
            qty[(side - 1) * SLOTS + l[i].px_ticks] = 0;
        }
        all += n;
    }
    for (size_t i = 0; i < 2 * SLOTS; i++)
        check(!qty[i], "%ld left at %zu", qty[i], i);
    check(all == 922 + 565 && !emptied && rows > 50000, "%lu levels, %lu rows, %lu times empty", all, rows, emptied);
    rdn_cursor_unref(r);
    free(qty);
}

/* --- small files --- */

static const char *small(const void *bytes, size_t n, const char *end) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/redan-columns-XXXXXX%s", end);
    int fd = mkstemps(path, (int)strlen(end));
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
    return path;
}

static void looks(void **state) {
    (void)state;
    static const struct { const char *bytes, *path, *format; } rows[] = {
        { "DBN\1", "x", "dbn" },           { "DBN\4....", "x", NULL },             { "34200.017459617,5,0,1,2238200,-1\n", "x", "lobster" },
        { "0.5,1,2\r\n", "x", "csv" },     { "ts,bid,ask\n", "x", "csv" },         { "ts,open,high\n", "x", NULL },
        { "{\"e\":1}\n", "x", "binance" }, { "1723161255030314667 {\"e\":1}\n", "x", "binance" }, { "12 34\n", "x", NULL },
        { "28800011AAK27GA0000DTS000100SH    0000619200Y\n", "x", "pitch" },       { "S28800011AAK27GA0000DTS000100SH    0000619200Y\n", "x", "pitch" },
        { "anything", "a/b.tick24", "tick24" }, { "anything", "b.events", "events" }, { "", "x", NULL }, { "1,2,3,4,5,6,7\n", "x", NULL },
    };
    for each (i, rows) {
        const char *got = rdn_format_guess(rows[i].path, (const unsigned char *)rows[i].bytes, strlen(rows[i].bytes));
        check(rows[i].format ? got && !strcmp(got, rows[i].format) : !got, "row %zu: %s", i, got ? got : "none");
    }
#define HEAD(a, b) "SESSION001\0\0\0\0\0\0" a b
    static const struct { const char *bytes; size_t n; const char *format; } binary[] = {
#define BYTES(s) s, sizeof s - 1
        { BYTES("\0\x0cS\0\0\0\0\0\0\0\0\0\0O"), "itch50" },
        { BYTES(HEAD("\0\1", "\0\1") "\0\x0cS\0\0\0\0\0\0\0\0\0\0O"), "moldudp64" },
        { BYTES(HEAD("\0\1", "\0\x0a") "\0\x24" "A123"), "moldudp64" },         /* ten messages: a count that is a newline */
        { BYTES(HEAD("\x0a\x0a", "\x0a\x0a") "\0\x15h"), "moldudp64" },          /* and a number */
        { BYTES(HEAD("\0\1", "\0\0")), "moldudp64" },                            /* a heartbeat, alone and in front of packets */
        { BYTES(HEAD("\0\1", "\0\0") HEAD("\0\1", "\0\1")), "moldudp64" },
        { BYTES(HEAD("\0\1", "\xff\xff")), "moldudp64" },
        { BYTES("   SESS 01\0\0\0\0\0\0\0\1\0\1\0\x13" "D"), "moldudp64" },
        { BYTES(HEAD("\0\1", "\0\1") "\0\x0dS"), NULL },                         /* no message is as long as that */
        { BYTES(HEAD("\0\1", "\0\1") "\0\x0c!"), NULL },
        { BYTES(HEAD("\0\0", "\0\1") "\0\x0cS"), NULL },                         /* numbers begin at 1 */
        { BYTES("8=FIX.4.4\0019=5\00135=0\001"), "fix" },
        { BYTES("\0018=FIX.4.4\0019=5\00135=0\001"), "fix" },                      /* what the message before it left */
        { BYTES("\r\n\n8=FIX.4.2\0019=5\00135=0\001"), "fix" },
        { BYTES("8=FIXT.1.1\0019=5\001"), "fix" },
        { BYTES("88=FIX.4.4"), NULL },
        { BYTES("8=FIX"), NULL },
    };
    for each (i, binary) {
        const char *got = rdn_format_guess("x", (const unsigned char *)binary[i].bytes, binary[i].n);
        check(binary[i].format ? got && !strcmp(got, binary[i].format) : !got, "binary row %zu: %s", i, got ? got : "none");
    }
}

/* --- events of all books --- */

#define CHUNK 4                                          /* rows; a book has at most three of an event */
enum { BOOKS = 5, MS = 1000000 };

/* What five books show of a quote of each, of their clearing, of a gap, and of a snapshot's end. */
static void of_all_books(void **state) {
    (void)state;
    static const struct { enum rdn_market_table table; int64_t on; uint32_t rows, of_all; } rows[] = {
        { RDN_TABLE_EVENTS, 0, 2 * BOOKS + 3, 0 },      { RDN_TABLE_BBO, RDN_ON_EVENT, 5 * BOOKS, 3 * BOOKS }, { RDN_TABLE_BBO, RDN_ON_CHANGE, 5 * BOOKS, 3 * BOOKS },
        { RDN_TABLE_TICKS, RDN_ON_EVENT, 5 * BOOKS, 3 * BOOKS }, { RDN_TABLE_TICKS, RDN_ON_CHANGE, 3 * BOOKS, BOOKS },
        { RDN_TABLE_BBO, MS, 5 * BOOKS, 3 * BOOKS },    { RDN_TABLE_LEVELS, RDN_ON_EVENT, 3 * BOOKS, BOOKS }, { RDN_TABLE_LEVELS, MS, 3 * BOOKS, BOOKS },
        { RDN_TABLE_DEPTH, 0, 3 * BOOKS, BOOKS },
    };
    redan_mevent ev[3 * BOOKS + 3];
    uint32_t n = 0;
    for (uint32_t t = 0; t < 2; t++)
        for (uint32_t i = 0; i < BOOKS; i++)
            ev[n++] = (redan_mevent){ .ts_recv_ns = (4 * t + 1) * MS, .instrument = i, .action = REDAN_MARKET_LEVEL, .side = REDAN_BID, .px_ticks = 7, .qty_lots = 1, .flags = REDAN_MF_LAST };
    memmove(&ev[BOOKS + 3], &ev[BOOKS], BOOKS * sizeof ev[0]);
    static const struct { uint8_t action; uint16_t flags; } all[] = { { REDAN_MARKET_GAP, REDAN_MF_LAST }, { REDAN_MARKET_CLEAR, REDAN_MF_LAST },
                                                                      { REDAN_MARKET_STATUS, REDAN_MF_LAST | REDAN_MF_SNAPSHOT } };
    for each (i, all)
        ev[BOOKS + i] = (redan_mevent){ .ts_recv_ns = (int64_t)(2 + i) * MS, .instrument = REDAN_ALL_INSTRUMENTS, .action = all[i].action, .flags = all[i].flags };
    const char *path = small(ev, (2 * BOOKS + 3) * sizeof ev[0], ".events");
    for each (i, rows) {
        redan_instrument in[BOOKS];
        char names[BOOKS][4];
        for (uint32_t k = 0; k < BOOKS; k++) {
            snprintf(names[k], sizeof names[k], "S%u", k);
            in[k] = (redan_instrument){ .size = sizeof in[k], .symbol = names[k], .tick = "0.01" };
        }
        struct rdn_reading_options o = { .path = path, .feed = REDAN_FEED_OPTIONS_INIT, .instruments = in, .n = BOOKS };
        struct rdn_reading *p;
        redan_error err;
        check(rdn_reading_open(&p, &o, &err) == 0, "%s", err.text);
        struct rdn_cursor *r = open_table(p, (struct rdn_cursor_options){ .table = rows[i].table, .on = rows[i].on, .rows = CHUNK, .depth = 2 });
        uint32_t got = 0, each[BOOKS] = { 0 }, of_all = 0;
        int64_t before = 0;
        for (struct rdn_columns *c; (c = next(r)); rdn_columns_unref(c))
            for (uint32_t k = 0; k < c->n; k++, got++) {
                uint32_t id = AT(c, "instrument", uint32_t, k);
                int64_t ts = AT(c, "ts_recv", int64_t, k);
                check(ts >= before && (id < BOOKS || rows[i].table == RDN_TABLE_EVENTS), "row %zu: instrument %u at %ld", i, id, ts);
                before = rows[i].on > 0 ? 0 : ts;        /* rows of intervals come when the next one begins, for each book */
                of_all += id < BOOKS && ts >= 2 * MS && ts < 5 * MS;
                each[id < BOOKS ? id : 0] += id < BOOKS;
            }
        check(got == rows[i].rows && of_all == rows[i].of_all, "row %zu: %u rows, %u of all", i, got, of_all);
        for (uint32_t k = 1; k < BOOKS; k++)
            check(each[k] == each[0], "row %zu: %u rows of book %u, %u of the first", i, each[k], k, each[0]);
        rdn_cursor_unref(r);
    }
    unlink(path);
}

/* Absent sides, decimals, and a last line without a newline. */
static void values(void **state) {
    (void)state;
    static const char text[] = "ts,bid,ask\n1000000000,1.25,1.5\n2000000000,,1.5\n2500000000,,1.75\n3000000000,1.25,";
    const char *path = small(text, sizeof text - 1, ".csv");
    struct rdn_cursor *r = open_table(open_pass(path, NULL, "X", "0.25"), (struct rdn_cursor_options){ .table = RDN_TABLE_TICKS, .on = RDN_ON_CHANGE });
    struct rdn_columns *c = next(r);
    static const int64_t bid[] = { 5, 0, 0, 5 }, ask[] = { 6, 6, 7, 0 };
    assert_non_null(c);
    check(c->n == 4 && c->absent[3] == 2 && c->absent[4] == 1 && *c->valid[3] == 9 && *c->valid[4] == 7, "%u rows, %x %x", c->n, *c->valid[3], *c->valid[4]);
    for (uint32_t i = 0; i < 4; i++)
        check(AT(c, "bid", int64_t, i) == bid[i] && AT(c, "ask", int64_t, i) == ask[i], "row %u", i);
    check((uintptr_t)c->data[0] % 64 == 0 && (uintptr_t)c->data[3] % 64 == 0, "not aligned");
    assert_null(next(r));
    assert_null(next(r));
    rdn_columns_unref(c);
    rdn_cursor_unref(r);
    r = open_table(open_pass(path, NULL, "X", "0.25"), (struct rdn_cursor_options){ .table = RDN_TABLE_TICKS, .on = 2000000000, .decimal = true });
    c = next(r);
    assert_non_null(c);
    check(c->n == 2 && AT(c, "ts_event", int64_t, 0) == 1000000000 && AT(c, "ts_event", int64_t, 1) == 3000000000, "%u rows of two seconds", c->n);
    check(AT(c, "bid", __int128, 0) == 1250000000 && AT(c, "ask", __int128, 0) == 1500000000 && AT(c, "ask", __int128, 1) == 0, "decimals");
    rdn_columns_unref(c);
    rdn_cursor_unref(r);
    unlink(path);
}

static void damaged(void **state) {
    (void)state;
    static const unsigned char meta[16] = { 'D', 'B', 'N', 1, 255, 255, 255, 1 };
    char ticks[60] = { 0 }, *many = calloc(1, 3 << 20);
    struct rdn_columns *c;
    redan_error err;
    redan_feed_stats st;
    const char *path = small(ticks, sizeof ticks, ".tick24");        /* two and a half */
    struct rdn_cursor *r = open_table(open_pass(path, NULL, "X", "1"), (struct rdn_cursor_options){ .table = RDN_TABLE_EVENTS });
    c = next(r);
    check(c && c->n == 4, "events of two ticks");
    redan_feed_stats_get(rdn_cursor_pass(r)->feed, &st);
    check(st.faults[REDAN_FAULT_SHORT_INPUT] == 1, "a cut tick");
    rdn_columns_unref(c);
    rdn_cursor_unref(r);
    unlink(path);
    memcpy(many, meta, sizeof meta);                     /* a head that says it has 32 MiB */
    path = small(many, 3 << 20, ".dbn");
    r = open_table(open_pass(path, NULL, "X", "1"), (struct rdn_cursor_options){ .table = RDN_TABLE_EVENTS });
    check(rdn_cursor_next(r, &c, &err) == REDAN_E_CORRUPT, "a head without end");
    check(rdn_cursor_next(r, &c, &err) == REDAN_E_CORRUPT && strstr(err.text, "longer than"), "%s", err.text);
    rdn_cursor_unref(r);
    unlink(path);
    free(many);
}

/* A packed file that ends too soon: what was read, then why there is no more. */
static void cut_short(void **state) {
    (void)state;
    char path[512], *all = malloc(1 << 20);
    if (!shared_path(path, ES))
        skip();
    FILE *f = fopen(path, "rb");
    size_t n = fread(all, 1, 1 << 20, f);
    fclose(f);
    const char *half = small(all, n / 2, ".zst");
    struct rdn_cursor *r = open_table(open_pass(half, NULL, NULL, "0.25"), (struct rdn_cursor_options){ .table = RDN_TABLE_EVENTS, .rows = 1000 });
    struct rdn_columns *c;
    redan_error err;
    uint64_t rows = 0;
    int rc;
    while ((rc = rdn_cursor_next(r, &c, &err)) == 0 && c) {
        rows += c->n;
        rdn_columns_unref(c);
    }
    check(rc == REDAN_E_CORRUPT && rows > 1000 && rows < 68792, "%d after %lu rows", rc, rows);
    rdn_cursor_unref(r);
    unlink(half);
    free(all);
}

static void refusals(void **state) {
    (void)state;
    static const struct rdn_cursor_options rows[] = {
        { .table = RDN_TABLES }, { .rows = 2 }, { .rows = RDN_CHUNK_ROWS_MAX + 1 }, { .table = RDN_TABLE_LEVELS, .depth = 257 }, { .table = RDN_TABLE_BBO, .on = -2 },
        { .table = RDN_TABLE_LEVELS, .depth = 10, .rows = 19 },
    };
    const char *path = small("1,2,3\n", 6, ".csv");
    struct rdn_reading *p = open_pass(path, NULL, "X", "1");
    struct rdn_cursor *r;
    redan_error err;
    for each (i, rows)
        check(rdn_cursor_open(&r, p, &rows[i], &err) == REDAN_E_INVAL, "row %zu", i);
    rdn_reading_unref(p);
    struct rdn_reading_options o = { .path = path, .seed = path, .feed = REDAN_FEED_OPTIONS_INIT };
    check(rdn_reading_open(&p, &o, &err) == REDAN_E_INVAL && strstr(err.text, "lobster"), "%s", err.text);
    unlink(path);
    o.seed = NULL;
    check(rdn_reading_open(&p, &o, &err) == REDAN_E_SYS, "a file that is not there");
    path = small("hello\n", 6, "");
    o.path = path;
    check(rdn_reading_open(&p, &o, &err) == REDAN_E_INVAL && strstr(err.text, "known format"), "%s", err.text);
    unlink(path);
}

/* Eight characters at a time or one by one: the same numbers, whatever stands behind the digits. */
static void digits(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200000; seed++) {
        char text[24];
        uint64_t r = rdn_mix64(seed), got, want = 0;
        unsigned n = r % 22, k = 0, most = r & 64 ? 9 : 18;
        for (unsigned i = 0; i < sizeof text; i++) {
            uint64_t x = rdn_mix64(r + i);
            text[i] = x % 13 ? (char)('0' + x / 13 % 10) : (char)(x >> 32);
        }
        for (; k < n && text[k] >= '0' && text[k] <= '9'; k++)
            want = want * 10 + (uint64_t)(text[k] - '0');
        const char *end = rdn_decimal_digits(text, text + n, most, &got);
        check(k && k <= most ? end == text + k && got == want : !end, "seed %lu: %u digits of %u, %lu", seed, k, n, got);
    }
}

/* --- Arrow --- */

static void arrow(void **state) {
    (void)state;
    const char *path = small("ts,bid,ask\n1,1.25,1.5\n2,,1.5\n", 29, ".csv");
    struct rdn_cursor *r = open_table(open_pass(path, NULL, "X", "0.25"), (struct rdn_cursor_options){ .table = RDN_TABLE_TICKS, .on = RDN_ON_CHANGE });
    struct rdn_columns *c = next(r);
    struct ArrowSchema s;
    struct ArrowArray a, moved, one;
    assert_non_null(c);
    assert_true(rdn_arrow_schema(RDN_TABLE_TICKS, false, rdn_cursor_pass(r)->feed, &s) && rdn_arrow_array(c, &a) && rdn_arrow_column_array(c, 3, &one));
    check(s.n_children == 5 && !strcmp(s.format, "+s") && !strcmp(s.children[0]->format, "tsn:UTC") && !strcmp(s.children[3]->name, "bid") && s.children[3]->flags == 2, "schema");
    check(s.children[3]->metadata && !memcmp(s.children[3]->metadata + 8, "redan.tick", 10) && !memcmp(s.children[3]->metadata + 22, "0.25", 4), "tick");
    check(a.length == 2 && a.children[3]->null_count == 1 && a.children[3]->buffers[1] == c->data[3] && a.children[3]->buffers[0] == c->valid[3] &&
          !a.children[0]->buffers[0] && one.buffers[1] == c->data[3], "an array is not the chunk's memory");
    rdn_columns_unref(c);
    moved = *a.children[4];                              /* a consumer may take a child, and keep it longest */
    a.children[4]->release = NULL;
    a.release(&a);
    one.release(&one);
    check(rdn_columns_live() == 1 && ((const int64_t *)moved.buffers[1])[0] == 6, "a child that was taken holds the chunk");
    moved.release(&moved);
    s.release(&s);
    check(!a.release && !s.release && rdn_columns_live() == 0, "released");
    struct ArrowArrayStream t;
    assert_true(rdn_arrow_stream(r, &t));
    rdn_cursor_unref(r);
    check(t.get_schema(&t, &s) == 0 && t.get_next(&t, &a) == 0 && !a.release, "the end of the stream");
    s.release(&s);
    t.release(&t);
    r = open_table(open_pass(path, NULL, "X", "0.25"), (struct rdn_cursor_options){ .table = RDN_TABLE_TICKS });
    assert_true(rdn_arrow_stream(r, &t));
    rdn_cursor_unref(r);
    check(t.get_next(&t, &a) == 0 && a.length == 2, "a stream");
    t.release(&t);                                       /* dropped before its end */
    a.release(&a);
    check(rdn_columns_live() == 0, "%lu chunks live", rdn_columns_live());
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(lobster), cmocka_unit_test(chunks), cmocka_unit_test(depth), cmocka_unit_test(looks), cmocka_unit_test(of_all_books), cmocka_unit_test(values),
                                        cmocka_unit_test(damaged), cmocka_unit_test(cut_short), cmocka_unit_test(refusals), cmocka_unit_test(digits), cmocka_unit_test(arrow) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
