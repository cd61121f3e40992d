/* SPDX-License-Identifier: Apache-2.0
 * Books against a naive one: lists searched from end to end, random events good and bad, every window size and policy. */
#include <redan/market.h>
#include <stdlib.h>

#include "market/book.h"
#include "tests/unit/rows.h"

enum { MAX_ORDERS = 300, INSTRUMENTS = 3 };
struct naive_order { uint64_t id; int64_t px, qty; uint32_t inst; int side; };
struct naive_level { int64_t px, qty; uint32_t inst; int side; };
struct naive {
    struct naive_order o[MAX_ORDERS];
    struct naive_level l[4096];
    unsigned no, nl;
    uint64_t faults[REDAN_FAULTS];
    bool by_price, drop_dup;
};

static struct naive_order *find(struct naive *v, uint64_t id) {
    for (unsigned i = 0; i < v->no; i++)
        if (v->o[i].id == id)
            return &v->o[i];
    return NULL;
}

static struct naive_level *level(struct naive *v, uint32_t inst, int side, int64_t px) {
    for (unsigned i = 0; i < v->nl; i++)
        if (v->l[i].inst == inst && v->l[i].side == side && v->l[i].px == px)
            return &v->l[i];
    return NULL;
}

static void give(struct naive *v, uint32_t inst, int side, int64_t px, int64_t qty) {
    struct naive_level *l = level(v, inst, side, px);
    if (!l) {
        assert_true(v->nl < sizeof v->l / sizeof v->l[0]);
        l = &v->l[v->nl++];
        *l = (struct naive_level){ px, 0, inst, side };
    }
    l->qty += qty;
}

static void take(struct naive *v, uint32_t inst, int side, int64_t px, int64_t qty) {
    struct naive_level *l = level(v, inst, side, px);
    int64_t have = l ? l->qty : 0;
    if (have < qty)
        v->faults[REDAN_FAULT_OVER_CANCEL]++;
    if (!l)
        return;
    l->qty -= have < qty ? have : qty;
    if (!l->qty)
        *l = v->l[--v->nl];
}

static void drop(struct naive *v, struct naive_order *o) {
    take(v, o->inst, o->side, o->px, o->qty);
    *o = v->o[--v->no];
}

static void put(struct naive *v, const redan_mevent *e, uint64_t id, int side) {
    if (v->no == MAX_ORDERS) {
        v->faults[REDAN_FAULT_FULL]++;
        return;
    }
    v->o[v->no++] = (struct naive_order){ id, e->px_ticks, e->qty_lots, e->instrument, side };
    give(v, e->instrument, side, e->px_ticks, e->qty_lots);
}

static bool dup(struct naive *v, uint64_t id) {
    struct naive_order *o = find(v, id);
    if (!o)
        return false;
    v->faults[REDAN_FAULT_DUP_ADD]++;
    if (v->drop_dup)
        return true;
    drop(v, o);
    return false;
}

static bool good_new(struct naive *v, const redan_mevent *e, int side) {
    if (side < 1 || side > 2)
        v->faults[REDAN_FAULT_BAD_NUMBER]++;
    else if (e->qty_lots <= 0)
        v->faults[REDAN_FAULT_NEG_QTY]++;
    else
        return true;
    return false;
}

static struct naive_order *mine(struct naive *v, const redan_mevent *e, uint64_t id) {
    struct naive_order *o = find(v, id);
    if (o && o->inst == e->instrument)
        return o;
    v->faults[o ? REDAN_FAULT_WRONG_INSTRUMENT : REDAN_FAULT_UNKNOWN_ID]++;
    if (!o && v->by_price && e->action != REDAN_MARKET_MODIFY && e->action != REDAN_MARKET_REPLACE && e->qty_lots > 0 && e->side >= 1 && e->side <= 2)
        take(v, e->instrument, e->side, e->px_ticks, e->qty_lots);
    return NULL;
}

static void lower(struct naive *v, const redan_mevent *e) {
    bool whole = e->action == REDAN_MARKET_DELETE;
    if (!whole && e->qty_lots < 0) {
        v->faults[REDAN_FAULT_NEG_QTY]++;
        return;
    }
    struct naive_order *o = mine(v, e, e->order_id);
    if (!o)
        return;
    if ((e->side && e->side != o->side) || (e->px_ticks && e->px_ticks != o->px))
        v->faults[REDAN_FAULT_WRONG_PLACE]++;
    if (!whole && e->qty_lots > o->qty)
        v->faults[REDAN_FAULT_OVER_CANCEL]++;
    if (whole || e->qty_lots >= o->qty) {
        drop(v, o);
        return;
    }
    take(v, o->inst, o->side, o->px, e->qty_lots);
    o->qty -= e->qty_lots;
}

static void change(struct naive *v, const redan_mevent *e, uint64_t was) {
    struct naive_order *o = mine(v, e, was);
    if (!o)
        return;
    int side = o->side;
    if (e->side && e->side != side)
        v->faults[REDAN_FAULT_WRONG_PLACE]++;
    if (!good_new(v, e, side) || (was != e->order_id && dup(v, e->order_id)))
        return;
    drop(v, find(v, was));
    put(v, e, e->order_id, side);
}

static void set(struct naive *v, const redan_mevent *e) {
    if (e->side < 1 || e->side > 2) {
        v->faults[REDAN_FAULT_BAD_NUMBER]++;
    } else if (e->qty_lots < 0) {
        v->faults[REDAN_FAULT_NEG_QTY]++;
    } else {
        struct naive_level *l = level(v, e->instrument, e->side, e->px_ticks);
        if (l)
            *l = v->l[--v->nl];
        if (e->qty_lots)
            give(v, e->instrument, e->side, e->px_ticks, e->qty_lots);
    }
}

static void naive_apply(struct naive *v, const redan_mevent *e) {
    switch (e->action) {
    case REDAN_MARKET_ADD:
        if (good_new(v, e, e->side) && !dup(v, e->order_id))
            put(v, e, e->order_id, e->side);
        break;
    case REDAN_MARKET_REDUCE:
    case REDAN_MARKET_EXECUTE:
    case REDAN_MARKET_DELETE:  lower(v, e); break;
    case REDAN_MARKET_MODIFY:  change(v, e, e->order_id); break;
    case REDAN_MARKET_REPLACE: change(v, e, e->other_id); break;
    case REDAN_MARKET_LEVEL:   set(v, e); break;
    case REDAN_MARKET_CLEAR:
        for (unsigned i = v->no; i-- > 0;)
            if (v->o[i].inst == e->instrument)
                v->o[i] = v->o[--v->no];
        for (unsigned i = v->nl; i-- > 0;)
            if (v->l[i].inst == e->instrument)
                v->l[i] = v->l[--v->nl];
        break;
    }
}

static uint64_t seed;
static uint32_t below(uint32_t n) { return (uint32_t)(rdn_mix64(seed++) % n); }

/* Prices wander, now and then by far, so that windows move and maps fill. */
static redan_mevent random_event(int64_t *middle) {
    static const char actions[] = "AAAAAAAXXXEEDDDMMUULLTFS";
    if (below(200) == 0)
        *middle += (int64_t)below(4000) - 2000;
    redan_mevent e = { .order_id = below(400), .other_id = below(400), .instrument = below(INSTRUMENTS), .side = (uint8_t)(1 + below(2)),
                       .qty_lots = 1 + below(50), .action = (uint8_t)actions[below(sizeof actions - 1)], .flags = REDAN_MF_LAST };
    int64_t off = below(20) == 0 ? below(3000) : below(40);
    e.px_ticks = *middle + (e.side == REDAN_BID ? -off : off);
    if (below(30) == 0)
        e.qty_lots = (int64_t)below(3) - 2;
    if (below(60) == 0)
        e.side = (uint8_t)below(4);
    if (below(3000) == 0)
        e.action = REDAN_MARKET_CLEAR;
    return e;
}

static int by_px_down(const void *a, const void *b) {
    int64_t x = ((const struct naive_level *)a)->px, y = ((const struct naive_level *)b)->px;
    return (x < y) - (x > y);
}

static void compare(redan_feed *f, struct naive *v, unsigned row, unsigned step) {
    for (uint32_t inst = 0; inst < INSTRUMENTS; inst++)
        for (int side = 1; side <= 2; side++) {
            static struct naive_level want[4096];
            static redan_book_level got[4096];
            unsigned n = 0, m = redan_book_levels(f, inst, (uint32_t)side, got, 4096);
            for (unsigned i = 0; i < v->nl; i++)
                if (v->l[i].inst == inst && v->l[i].side == side)
                    want[n++] = v->l[i];
            qsort(want, n, sizeof want[0], by_px_down);
            check(n == m, "row %u step %u instrument %u side %d: %u levels, expected %u", row, step, inst, side, m, n);
            for (unsigned i = 0; i < n; i++) {
                const struct naive_level *w = &want[side == 1 ? i : n - 1 - i];
                check(got[i].px_ticks == w->px && got[i].qty_lots == w->qty, "row %u step %u level %u: %ld x %ld, expected %ld x %ld", row, step, i,
                      got[i].px_ticks, got[i].qty_lots, w->px, w->qty);
            }
            redan_book_line_data line;
            assert_int_equal(redan_book_line(f, inst, &line), 0);
        }
}

static void compare_faults(redan_feed *f, const struct naive *v, unsigned row) {
    redan_feed_stats st;
    redan_feed_stats_get(f, &st);
    for (unsigned i = 1; i < REDAN_FAULTS; i++)
        if (i != REDAN_FAULT_LOCKED && i != REDAN_FAULT_CROSSED)
            check(st.faults[i] == v->faults[i], "row %u: %s %lu times, expected %lu", row, redan_fault_name(i), st.faults[i], v->faults[i]);
    check(st.live_orders == v->no, "row %u", row);
}

static redan_feed *open_feed(uint32_t window, uint32_t far, uint8_t unknown, uint8_t again) {
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_feed *f;
    redan_error err;
    o.window = window;
    o.far = far;
    o.max_orders = MAX_ORDERS;
    o.policy[REDAN_FAULT_UNKNOWN_ID] = unknown;
    o.policy[REDAN_FAULT_DUP_ADD] = again;
    check(redan_feed_open(&f, &o, &err) == 0, "%s", err.text);
    for (unsigned i = 0; i < INSTRUMENTS; i++) {
        redan_instrument in = REDAN_INSTRUMENT_INIT;
        char symbol[8];
        uint32_t id;
        snprintf(symbol, sizeof symbol, "S%u", i);
        in.symbol = symbol;
        in.tick = "0.01";
        check(redan_feed_instrument(f, &in, &id, &err) == 0 && id == i, "%s", err.text);
    }
    return f;
}

static void random_streams(void **state) {
    (void)state;
    static const struct { uint32_t window, far; uint8_t unknown, again; uint32_t batch; } rows[] = {
        { 256, 4096, REDAN_POLICY_DROP, REDAN_POLICY_REPLACE, 1 },     { 256, 4096, REDAN_POLICY_BY_PRICE, REDAN_POLICY_DROP, 7 },
        { 4096, 4096, REDAN_POLICY_BY_PRICE, REDAN_POLICY_REPLACE, 64 }, { 65536, 4096, REDAN_POLICY_DROP, REDAN_POLICY_DROP, 4096 },
    };
    for each (row, rows) {
        redan_feed *f = open_feed(rows[row].window, rows[row].far, rows[row].unknown, rows[row].again);
        static struct naive v;
        static redan_mevent ev[4096];
        int64_t middle = row % 2 ? -500 : 50000;
        v = (struct naive){ .by_price = rows[row].unknown == REDAN_POLICY_BY_PRICE, .drop_dup = rows[row].again == REDAN_POLICY_DROP };
        seed = 1000 * row;
        for (unsigned done = 0; done < 250000; done += rows[row].batch) {
            for (uint32_t i = 0; i < rows[row].batch; i++) {
                ev[i] = random_event(&middle);
                naive_apply(&v, &ev[i]);
            }
            redan_feed_apply(f, ev, rows[row].batch, NULL);
            if (done / 997 != (done + rows[row].batch) / 997)
                compare(f, &v, (unsigned)row, done);
        }
        compare(f, &v, (unsigned)row, 250000);
        compare_faults(f, &v, (unsigned)row);
        check(v.faults[REDAN_FAULT_UNKNOWN_ID] > 1000 && v.faults[REDAN_FAULT_DUP_ADD] > 1000 && v.faults[REDAN_FAULT_WRONG_PLACE] > 1000 &&
              v.faults[REDAN_FAULT_OVER_CANCEL] > 1000, "row %zu: the stream is too tame", row);
        redan_feed_close(f);
    }
}

/* A full map is fault FULL and an invalid book; what was there before stays. */
static void full_map(void **state) {
    (void)state;
    redan_feed *f = open_feed(256, 64, REDAN_POLICY_DROP, REDAN_POLICY_REPLACE);
    redan_book_line_data line;
    uint8_t faults[60];
    redan_mevent ev[60];
    for (unsigned i = 0; i < 60; i++)
        ev[i] = (redan_mevent){ .order_id = i, .px_ticks = 100000 - 300 * (int64_t)i, .qty_lots = 5, .action = REDAN_MARKET_ADD, .side = REDAN_BID,
                                .flags = REDAN_MF_LAST };
    assert_int_equal(redan_feed_apply(f, ev, 60, faults), 49);
    assert_int_equal(faults[48], 0);
    assert_int_equal(faults[49], REDAN_FAULT_FULL);
    assert_int_equal(redan_book_line(f, 0, &line), 0);
    check(line.bid_px == 100000 && !(line.flags & REDAN_BOOK_VALID) && (line.flags & REDAN_BOOK_NO_ASK), "flags %x", line.flags);
    redan_feed_stats st;
    redan_feed_stats_get(f, &st);
    assert_int_equal(st.live_orders, 49);
    redan_feed_close(f);
}

static void refused_options(void **state) {
    (void)state;
    const struct { const char *why; redan_feed_options o; const char *says; } rows[] = {
        { "format", { .size = sizeof(redan_feed_options), .format = "nope" }, "no format 'nope'" },
        { "window", { .size = sizeof(redan_feed_options), .window = 1000 }, "window 1000 is no power" },
        { "policy", { .size = sizeof(redan_feed_options), .policy = { [REDAN_FAULT_DUP_ADD] = REDAN_POLICY_BY_PRICE } }, "none of fault DUP_ADD" },
        { "size", { .size = 8 }, "options of 8 bytes" },
    };
    for each (i, rows) {
        redan_feed *f = NULL;
        redan_error err;
        check(redan_feed_open(&f, &rows[i].o, &err) == REDAN_E_INVAL && !f && strstr(err.text, rows[i].says), "%s: %s", rows[i].why, err.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_streams), cmocka_unit_test(full_map), cmocka_unit_test(refused_options) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
