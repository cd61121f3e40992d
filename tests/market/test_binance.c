/* SPDX-License-Identifier: Apache-2.0
 * The Binance capture (MARKET.md 9): the book of snapshot and differences against the exchange's own best prices, and what lost
 * differences do. */
#include <stdlib.h>

#include "market/feed.h"
#include "tests/market/golden_kit.h"

#define BTCUSDT "binance/usdm_btcusdt_20240808.gz"

struct line { const char *p; size_t n; };
struct capture { char *data; struct line *lines; size_t n, snapshot; size_t depth[8192]; size_t ndepth; };      /* depth: lines of differences, and the snapshot */

static bool load(struct capture *c) {
    size_t len;
    c->data = golden_file(BTCUSDT, &len);
    if (!c->data)
        return false;
    c->lines = calloc(100000, sizeof c->lines[0]);
    for (char *p = c->data, *nl; (nl = memchr(p, '\n', len - (size_t)(p - c->data))); p = nl + 1) {
        c->lines[c->n] = (struct line){ p, (size_t)(nl + 1 - p) };
        *nl = '\0';
        if (strstr(p, "lastUpdateId"))
            c->snapshot = c->n;
        if (strstr(p, "lastUpdateId") || strstr(p, "\"depthUpdate\""))
            c->depth[c->ndepth++] = c->n;
        *nl = '\n';
        c->n++;
    }
    return true;
}

static redan_feed *open_binance(void) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    o.format = "binance";
    o.window = 65536;
    o.far = 16384;
    return golden_open(&o, "BTCUSDT", "0.1", "0.001", 0);
}

struct best { uint64_t seq; int64_t at[4]; };
struct run {
    uint64_t levels, gaps, valid_after_gap;
    struct best groups[8192], tickers[70000];            /* the book after each difference; what the exchange says */
    size_t ngroups, ntickers;
    struct golden g;
};

static void one_event(redan_feed *f, struct run *r, const redan_mevent *e) {
    redan_book_line_data b;
    redan_feed_apply(f, e, 1, NULL);
    assert_int_equal(redan_book_line(f, 0, &b), 0);
    r->gaps += e->action == REDAN_MARKET_GAP;
    r->valid_after_gap += r->gaps && (b.flags & REDAN_BOOK_VALID);
    if (e->action == REDAN_MARKET_QUOTE) {
        struct best *t = &r->tickers[e->side == REDAN_BID ? r->ntickers : r->ntickers++];
        t->seq = e->seq;
        t->at[e->side == REDAN_BID ? 0 : 2] = e->px_ticks;
        t->at[e->side == REDAN_BID ? 1 : 3] = e->qty_lots;
    }
    if (e->action != REDAN_MARKET_LEVEL || (e->flags & REDAN_MF_SNAPSHOT))
        return;
    r->levels++;
    if (!(e->flags & REDAN_MF_LAST))
        return;
    r->groups[r->ngroups++] = (struct best){ e->seq, { b.bid_px, b.bid_qty, b.ask_px, b.ask_qty } };
    golden_state(&r->g);
}

static void one_line(redan_feed *f, struct run *r, struct line l) {
    static redan_mevent ev[4096];
    size_t at = 0, used;
    uint32_t n;
    do {
        n = redan_feed_decode(f, l.p + at, l.n - at, ev, 4096, &used);
        at += used;
        for (uint32_t i = 0; i < n; i++)
            one_event(f, r, &ev[i]);
    } while (n > 0);
    assert_int_equal(at, l.n);
}

/* Groups whose book is what the newest ticker at or before them says. */
static size_t agreeing(const struct run *r) {
    size_t t = 0, n = 0;
    for (size_t i = 0; i < r->ngroups; i++) {
        while (t + 1 < r->ntickers && r->tickers[t + 1].seq <= r->groups[i].seq)
            t++;
        n += memcmp(r->groups[i].at, r->tickers[t].at, sizeof r->tickers[t].at) == 0;
    }
    return n;
}

/* --- the whole capture --- */

static void capture_agrees(void **state) {
    (void)state;
    struct capture c = { 0 };
    if (!load(&c))
        skip();
    redan_feed *f = open_binance();
    static struct run r;
    redan_book_line_data b;
    golden_begin(&r.g, f, 0);
    for (size_t i = 0; i < c.n; i++) {
        one_line(f, &r, c.lines[i]);
        if (i + 1 == c.snapshot)
            check(redan_book_line(f, 0, &b) == 0 && !(b.flags & REDAN_BOOK_VALID), "valid before the snapshot");
    }
    char all[17], distinct[17];
    golden_end(&r.g, all, distinct);
    redan_feed_stats st;
    redan_feed_stats_get(f, &st);
    for (unsigned i = 1; i < REDAN_FAULTS; i++)
        check(!st.faults[i] || i == REDAN_FAULT_TS_BACK, "%s %lu times", redan_fault_name(i), st.faults[i]);
    check(c.n == 93954 && r.ngroups == 6547 && r.levels == 443262, "%zu %zu %lu", c.n, r.ngroups, r.levels);
    check(!strcmp(all, "8f22b4a4e5f61c81") && !strcmp(distinct, "457309370544c896") && r.g.distinct_states == 5672, "%s %s %lu", all, distinct, r.g.distinct_states);
    check(agreeing(&r) == 6547, "%zu of %zu agree", agreeing(&r), r.ngroups);
    static redan_book_level l[16384];
    check(redan_book_line(f, 0, &b) == 0 && b.bid_px == 616597 && b.bid_qty == 1486 && b.ask_px == 616598 && b.ask_qty == 981 && (b.flags & REDAN_BOOK_VALID),
          "%ld x %ld", b.bid_px, b.bid_qty);
    check(redan_book_levels(f, 0, REDAN_BID, l, 16384) == 5018 && redan_book_levels(f, 0, REDAN_ASK, l, 16384) == 4578, "levels");
    redan_feed_close(f);
    free(c.lines);
    free(c.data);
}

/* --- lost differences --- */

/* random.seed(7); sorted(random.sample(range(100, 6400), 64)) */
static const unsigned sample[64] = {
    407, 481, 495, 506, 575, 584, 588, 606, 614, 672, 693, 804, 843, 871, 898, 944, 1064, 1114, 1190, 1281, 1335, 1580, 1639,
    1787, 1858, 1911, 1928, 2071, 2472, 2627, 2752, 3095, 3150, 3334, 3349, 3525, 3533, 3577, 3652, 4166, 4256, 4489, 4529, 4587,
    4614, 4660, 4689, 4723, 4732, 4776, 4779, 4827, 4864, 4874, 4875, 4896, 5170, 5239, 5266, 5333, 5432, 5673, 5686, 5933,
};

static bool is_lost(size_t k, const unsigned *lost, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (lost[i] == k)
            return true;
    return false;
}

/* A difference that the snapshot does not hold. */
static bool applied(struct line l) {
    const char *u = memmem(l.p, l.n, "\"u\":", 4);
    return u && strtoull(u + 4, NULL, 10) > 5123107852948;
}

/* Runs the differences but the lost ones, numbered from 0 from the first that the snapshot does not hold. blind: each is believed to
 * follow the one before, the control. How often one did not. */
static size_t run_lossy(const struct capture *c, redan_feed *f, struct run *r, const unsigned *lost, size_t n, bool blind) {
    golden_begin(&r->g, f, 0);
    size_t k = 0, unbridged = 0;
    for (size_t i = 0; i < c->ndepth; i++) {
        struct line l = c->lines[c->depth[i]];
        const char *pu = memmem(l.p, l.n, "\"pu\":", 5);
        if (applied(l) && is_lost(k++, lost, n))
            continue;
        if (blind && f->syncs[0].state == RDN_FEED_LIVE) {
            unbridged += f->syncs[0].last != strtoull(pu + 5, NULL, 10);
            f->syncs[0].last = strtoull(pu + 5, NULL, 10);
        }
        one_line(f, r, l);
    }
    return unbridged;
}

static const struct best *find(const struct run *r, uint64_t seq) {
    for (size_t i = 0; i < r->ngroups; i++)
        if (r->groups[i].seq == seq)
            return &r->groups[i];
    return NULL;
}

static void lost_differences(void **state) {
    (void)state;
    /* What a book is worth that nobody stops: states whose best prices are not the right ones. Two lost in a row are one gap. */
    static const unsigned one[] = { 1000, 3000, 5000 };
    static const struct { const unsigned *lost; size_t n, gaps, wrong; } rows[] = {
        { &one[0], 1, 1, 77 }, { &one[1], 1, 1, 0 }, { &one[2], 1, 1, 1534 }, { sample, 64, 63, 5809 },
    };
    struct capture c = { 0 };
    static struct run clean, lossy;
    if (!load(&c))
        skip();
    redan_feed *f = open_binance();
    run_lossy(&c, f, &clean, NULL, 0, false);
    redan_feed_close(f);
    for each (i, rows) {
        f = open_binance();
        lossy = (struct run){ 0 };
        run_lossy(&c, f, &lossy, rows[i].lost, rows[i].n, false);
        check(lossy.gaps == 1 && !lossy.valid_after_gap, "row %zu: %lu gaps, %lu lines valid after one", i, lossy.gaps, lossy.valid_after_gap);
        check(lossy.ngroups == rows[i].lost[0], "row %zu: %zu differences applied", i, lossy.ngroups);
        redan_feed_close(f);
        f = open_binance();
        lossy = (struct run){ 0 };
        size_t unbridged = run_lossy(&c, f, &lossy, rows[i].lost, rows[i].n, true), wrong = 0;
        for (size_t k = 0; k < lossy.ngroups; k++) {
            const int64_t *right = find(&clean, lossy.groups[k].seq)->at, *at = lossy.groups[k].at;
            wrong += at[0] != right[0] || at[2] != right[2];
        }
        check(unbridged == rows[i].gaps && lossy.gaps == 0 && wrong == rows[i].wrong, "row %zu: %zu gaps, %zu wrong states when nobody looks", i,
              unbridged, wrong);
        redan_feed_close(f);
    }
    free(c.lines);
    free(c.data);
}

/* The book of `from` as a snapshot line with number `seq`. */
static char *as_snapshot(redan_feed *from, uint64_t seq, size_t *ret_n) {
    static redan_book_level l[16384];
    char *out;
    FILE *m = open_memstream(&out, ret_n);
    fprintf(m, "{\"lastUpdateId\":%lu", seq);
    for (uint32_t side = REDAN_BID; side <= REDAN_ASK; side++) {
        uint32_t n = redan_book_levels(from, 0, side, l, 16384);
        fprintf(m, ",\"%s\":[", side == REDAN_BID ? "bids" : "asks");
        for (uint32_t i = 0; i < n; i++)
            fprintf(m, "%s[\"%ld.%ld\",\"%ld.%03ld\"]", i ? "," : "", l[i].px_ticks / 10, l[i].px_ticks % 10, l[i].qty_lots / 1000, l[i].qty_lots % 1000);
        fputs("]", m);
    }
    fputs("}\n", m);
    fclose(m);
    return out;
}

/* A snapshot that comes late finds what waited for it, and the book is what it would have been. One that is too old does not. */
static void resync(void **state) {
    (void)state;
    struct capture c = { 0 };
    static struct run clean, lossy;
    if (!load(&c))
        skip();
    redan_feed *right = open_binance(), *f = open_binance();
    const size_t lost = 1000;
    golden_begin(&clean.g, right, 0);
    golden_begin(&lossy.g, f, 0);
    char *fresh = NULL, *old = NULL;
    size_t fresh_n = 0, old_n = 0, k = 0;
    redan_book_line_data b;
    for (size_t i = 0; i < c.ndepth; i++) {
        struct line l = c.lines[c.depth[i]];
        one_line(right, &clean, l);
        if (!applied(l) || k != lost)
            one_line(f, &lossy, l);
        if (!applied(l))
            continue;
        if (k == 900)
            old = as_snapshot(right, clean.groups[clean.ngroups - 1].seq, &old_n);
        if (k == 1050)
            fresh = as_snapshot(right, clean.groups[clean.ngroups - 1].seq, &fresh_n);
        if (k == 1060) {
            one_line(f, &lossy, (struct line){ old, old_n });
            check(redan_book_line(f, 0, &b) == 0 && !(b.flags & REDAN_BOOK_VALID), "a snapshot from before the loss repaired the book");
        }
        if (k == 1100) {
            one_line(f, &lossy, (struct line){ fresh, fresh_n });
            check(redan_book_line(f, 0, &b) == 0 && (b.flags & REDAN_BOOK_VALID), "not valid after the snapshot");
        }
        k++;
    }
    static redan_book_level want[16384], got[16384];
    check(k == 6547 && lossy.gaps == 2 && redan_book_line(f, 0, &b) == 0 && (b.flags & REDAN_BOOK_VALID), "%zu, %lu gaps, flags %x", k, lossy.gaps, b.flags);
    for (uint32_t side = REDAN_BID; side <= REDAN_ASK; side++) {
        uint32_t n = redan_book_levels(right, 0, side, want, 16384), m = redan_book_levels(f, 0, side, got, 16384);
        check(n == m && memcmp(want, got, n * sizeof want[0]) == 0, "side %u: %u levels, expected %u", side, m, n);
    }
    redan_feed_close(f);
    redan_feed_close(right);
    free(fresh);
    free(old);
    free(c.lines);
    free(c.data);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(capture_agrees), cmocka_unit_test(lost_differences), cmocka_unit_test(resync) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
