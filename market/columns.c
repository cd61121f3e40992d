/* SPDX-License-Identifier: Apache-2.0
 * columns.c: events and books to rows (columns.h). One function a table says what its rows are; a chunk ends when the next event might not
 * fit. */
#include "market/columns.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "market/feed.h"

enum column_number {
#define TABLE(NAME, name, doc)
#define COLUMN(NAME, name, type, absent, doc) NAME,
#include "market/columns.def"
#undef TABLE
#undef COLUMN
    ALL_COLUMNS
};
static const struct rdn_column_def columns[ALL_COLUMNS] = {
#define TABLE(NAME, name, doc)
#define COLUMN(NAME, name, type, absent, doc) { #name, RDN_COL_##type, absent, doc },
#include "market/columns.def"
#undef TABLE
#undef COLUMN
};
/* Where the columns of each table begin, and behind the last where they end. */
static const struct { const char *name; uint32_t first; } tables[RDN_TABLES + 1] = {
#define TABLE(NAME, name, doc) { #name, NAME##_TS_EVENT },
#define COLUMN(NAME, name, type, absent, doc)
#include "market/columns.def"
#undef TABLE
#undef COLUMN
    { NULL, ALL_COLUMNS },
};
static _Atomic uint64_t live;

const struct rdn_column_def *rdn_table_columns(enum rdn_market_table t, uint32_t *ret_n) {
    *ret_n = tables[t + 1].first - tables[t].first;
    return &columns[tables[t].first];
}

const char *rdn_table_name(enum rdn_market_table t) { return t < RDN_TABLES ? tables[t].name : NULL; }

unsigned rdn_column_width(enum rdn_column_type t) {
    static const uint8_t widths[] = { 8, 8, 8, 8, 4, 2, 1, 16 };
    return widths[t];
}

static enum rdn_column_type type_of(enum rdn_column_type t, bool decimal) {
    return decimal && (t == RDN_COL_PX || t == RDN_COL_QTY) ? RDN_COL_DEC : t;
}

enum rdn_column_type rdn_columns_type(const struct rdn_columns *c, uint32_t column) {
    return type_of(columns[tables[c->table].first + column].type, c->decimal);
}

/* --- chunks --- */

static struct rdn_columns *chunk_open(enum rdn_market_table table, uint32_t rows, bool decimal) {
    uint32_t n;
    const struct rdn_column_def *d = rdn_table_columns(table, &n);
    size_t bytes = sizeof(struct rdn_columns) + 63, bits = rdn_up64((rows + 7) / 8);
    for (uint32_t i = 0; i < n; i++)
        bytes += rdn_up64((size_t)rows * rdn_column_width(type_of(d[i].type, decimal))) + (d[i].may_be_absent ? bits : 0);
    struct rdn_columns *c = rdn_realloc(&rdn_libc_mem, NULL, 0, bytes);
    if (!c)
        return NULL;
    *c = (struct rdn_columns){ .table = table, .decimal = decimal, .cap = rows, .ncols = n, .bytes = bytes };
    atomic_init(&c->refs, 1);
    char *p = (char *)rdn_up64((uintptr_t)(c + 1));
    for (uint32_t i = 0; i < n; i++) {
        c->data[i] = p;
        p += rdn_up64((size_t)rows * rdn_column_width(type_of(d[i].type, decimal)));
        if (!d[i].may_be_absent)
            continue;
        c->valid[i] = memset(p, 0, bits);
        p += bits;
    }
    atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return c;
}

struct rdn_columns *rdn_columns_ref(struct rdn_columns *c) {
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void rdn_columns_unref(struct rdn_columns *c) {
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    rdn_free(&rdn_libc_mem, c, c->bytes);
}

uint64_t rdn_columns_live(void) { return atomic_load_explicit(&live, memory_order_relaxed); }

/* --- rows --- */

struct seen { int64_t v[4]; uint16_t flags; bool any; };  /* what the last row of an instrument showed */
struct place { int64_t px, qty; uint8_t side; };          /* a level, and what it held before the event */
struct rdn_cursor {
    _Atomic uint32_t refs;
    struct rdn_reading *pass;
    struct rdn_cursor_options o;
    struct rdn_columns *c;                               /* being filled */
    struct seen *seen;                                   /* by instrument */
    struct held { redan_mevent e; redan_book_line_data b; int64_t slot; bool any; } *held;      /* by instrument: the interval's last */
    uint64_t events;                                     /* read so far */
    uint32_t sweep;                                      /* at the end of the file: the next instrument whose last row is still to come */
    redan_mevent order;                                  /* of the event: the order that it names, before it */
    bool flipped;                                        /* trades name the side of the one that came */
    struct { redan_mevent e; uint32_t at, n; bool applied; } all;      /* an event of all books on its way, action 0: none; the next of n books */
    int failed;                                          /* the file's fault, told behind the rows that were there before it */
    redan_error why;
};

#define PUT(cur, T, NAME, ctype, value) (((ctype *)(cur)->c->data[T##_##NAME - T##_TS_EVENT])[(cur)->c->n] = (value))
#define TIMES(cur, T, e) (PUT(cur, T, TS_EVENT, int64_t, (e)->ts_event_ns), PUT(cur, T, TS_RECV, int64_t, (e)->ts_recv_ns), \
                          PUT(cur, T, INSTRUMENT, uint32_t, (e)->instrument))

/* A price or a quantity, in the unit that was asked for. */
static void amount(struct rdn_cursor *r, uint32_t column, int64_t v, int64_t nano) {
    uint32_t i = column - tables[r->o.table].first;
    if (r->o.decimal)
        ((__int128 *)r->c->data[i])[r->c->n] = (__int128)v * nano;
    else
        ((int64_t *)r->c->data[i])[r->c->n] = v;
}

static const struct rdn_instrument *instrument(const struct rdn_cursor *r, uint32_t id) {
    static const struct rdn_instrument none = { .tick_nano = 1, .lot_nano = 1 };
    return id < r->pass->feed->books.n ? &r->pass->feed->instruments[id] : &none;
}
static void px(struct rdn_cursor *r, uint32_t column, uint32_t id, int64_t v) { amount(r, column, v, instrument(r, id)->tick_nano); }
static void qty(struct rdn_cursor *r, uint32_t column, uint32_t id, int64_t v) { amount(r, column, v, instrument(r, id)->lot_nano); }

static void present(struct rdn_cursor *r, uint32_t column, bool there) {
    uint32_t i = column - tables[r->o.table].first;
    r->c->absent[i] += !there;
    r->c->valid[i][r->c->n >> 3] |= (uint8_t)(there << (r->c->n & 7));
}

static void event_row(struct rdn_cursor *r, const redan_mevent *e) {
    TIMES(r, EVENTS, e);
    PUT(r, EVENTS, ACTION, uint8_t, e->action);
    PUT(r, EVENTS, SIDE, uint8_t, e->side);
    PUT(r, EVENTS, FLAGS, uint16_t, e->flags);
    px(r, EVENTS_PX, e->instrument, e->px_ticks);
    qty(r, EVENTS_QTY, e->instrument, e->qty_lots);
    PUT(r, EVENTS, ORDER_ID, uint64_t, e->order_id);
    PUT(r, EVENTS, OTHER_ID, uint64_t, e->other_id);
    PUT(r, EVENTS, SEQ, uint64_t, e->seq);
    r->c->n++;
}

static void bbo_row(struct rdn_cursor *r, const redan_mevent *e, const redan_book_line_data *b) {
    bool bid = !(b->flags & REDAN_BOOK_NO_BID), ask = !(b->flags & REDAN_BOOK_NO_ASK);
    TIMES(r, BBO, e);
    px(r, BBO_BID, e->instrument, b->bid_px);
    qty(r, BBO_BID_QTY, e->instrument, b->bid_qty);
    px(r, BBO_ASK, e->instrument, b->ask_px);
    qty(r, BBO_ASK_QTY, e->instrument, b->ask_qty);
    present(r, BBO_BID, bid);
    present(r, BBO_BID_QTY, bid);
    present(r, BBO_ASK, ask);
    present(r, BBO_ASK_QTY, ask);
    PUT(r, BBO, FLAGS, uint16_t, b->flags);
    r->c->n++;
}

static void tick_row(struct rdn_cursor *r, const redan_mevent *e, const redan_book_line_data *b) {
    TIMES(r, TICKS, e);
    px(r, TICKS_BID, e->instrument, b->bid_px);
    px(r, TICKS_ASK, e->instrument, b->ask_px);
    present(r, TICKS_BID, !(b->flags & REDAN_BOOK_NO_BID));
    present(r, TICKS_ASK, !(b->flags & REDAN_BOOK_NO_ASK));
    r->c->n++;
}

static void level_rows(struct rdn_cursor *r, const redan_mevent *e) {
    redan_book_level l[RDN_CHUNK_DEPTH_MAX];
    for (uint8_t side = REDAN_BID; side <= REDAN_ASK; side++) {
        uint32_t n = redan_book_levels(r->pass->feed, e->instrument, side, l, r->o.depth);
        for (uint32_t i = 0; i < n; i++) {
            TIMES(r, LEVELS, e);
            PUT(r, LEVELS, SIDE, uint8_t, side);
            PUT(r, LEVELS, LEVEL, uint16_t, (uint16_t)i);
            px(r, LEVELS_PX, e->instrument, l[i].px_ticks);
            qty(r, LEVELS_QTY, e->instrument, l[i].qty_lots);
            PUT(r, LEVELS, ORDERS, uint32_t, l[i].orders);
            r->c->n++;
        }
    }
}

/* Executions are trades at their order's price, unless the trade follows as a message of its own. */
static void trade_row(struct rdn_cursor *r, const redan_mevent *e) {
    bool executed = e->action == REDAN_MARKET_EXECUTE && (e->flags & REDAN_MF_LAST);
    if (e->action != REDAN_MARKET_TRADE && !executed)
        return;
    bool own = executed && r->order.side;
    uint8_t side = own ? r->order.side : e->side;
    TIMES(r, TRADES, e);
    px(r, TRADES_PX, e->instrument, own ? r->order.px_ticks : e->px_ticks);
    qty(r, TRADES_QTY, e->instrument, e->qty_lots);
    PUT(r, TRADES, SIDE, uint8_t, side && r->flipped && !executed ? (uint8_t)(REDAN_BID + REDAN_ASK - side) : side);
    PUT(r, TRADES, FLAGS, uint16_t, e->flags);
    PUT(r, TRADES, ID, uint64_t, e->other_id);
    PUT(r, TRADES, EVENT, uint64_t, r->events);
    r->c->n++;
}

static void depth_row(struct rdn_cursor *r, const redan_mevent *e, uint8_t side, int64_t price, int64_t now) {
    TIMES(r, DEPTH, e);
    PUT(r, DEPTH, SIDE, uint8_t, side);
    px(r, DEPTH_PX, e->instrument, price);
    qty(r, DEPTH_QTY, e->instrument, now);
    PUT(r, DEPTH, FLAGS, uint16_t, e->flags);
    PUT(r, DEPTH, EVENT, uint64_t, r->events);
    r->c->n++;
}

/* --- which levels an event may change --- */

static void touch(struct rdn_cursor *r, const redan_mevent *e, struct place at[3], uint32_t *n, uint8_t side, int64_t price) {
    if (side != REDAN_BID && side != REDAN_ASK)
        return;
    for (uint32_t i = 0; i < *n; i++)
        if (at[i].side == side && at[i].px == price)
            return;
    bool fits = price <= RDN_PX_MAX && price >= -RDN_PX_MAX;
    if (fits)
        at[(*n)++] = (struct place){ price, rdn_levels_qty(&r->pass->feed->books.book[e->instrument].levels, side - 1u, price), side };
}

static uint32_t touched(struct rdn_cursor *r, const redan_mevent *e, struct place at[3]) {
    uint32_t n = 0;
    int64_t best, there;
    const struct rdn_book *b = &r->pass->feed->books.book[e->instrument];
    touch(r, e, at, &n, r->order.side, r->order.px_ticks);
    switch (e->action) {
    case REDAN_MARKET_MODIFY:
    case REDAN_MARKET_REPLACE:
        touch(r, e, at, &n, r->order.side, e->px_ticks);
        break;
    case REDAN_MARKET_QUOTE:
        if ((e->side == REDAN_BID || e->side == REDAN_ASK) && rdn_levels_best(&b->levels, e->side - 1u, &best, &there))
            touch(r, e, at, &n, e->side, best);
        touch(r, e, at, &n, e->side, e->px_ticks);
        break;
    case REDAN_MARKET_TRADE:
    case REDAN_MARKET_FILL:
    case REDAN_MARKET_ORDER:
    case REDAN_MARKET_STATUS:
    case REDAN_MARKET_CLEAR:
        n = 0;
        break;
    default:
        touch(r, e, at, &n, e->side, e->px_ticks);
        break;
    }
    return n;
}

static void depth_rows(struct rdn_cursor *r, const redan_mevent *e, const struct place *at, uint32_t n) {
    const struct rdn_levels *l = &r->pass->feed->books.book[e->instrument].levels;
    if (e->action == REDAN_MARKET_CLEAR)
        depth_row(r, e, 0, 0, 0);
    for (uint32_t i = 0; i < n; i++) {
        int64_t now = rdn_levels_qty(l, at[i].side - 1u, at[i].px);
        if (now != at[i].qty)
            depth_row(r, e, at[i].side, at[i].px, now);
    }
}

/* --- rows of states --- */

static bool changed(struct rdn_cursor *r, const redan_mevent *e, const redan_book_line_data *b) {
    struct seen *s = &r->seen[e->instrument];
    bool prices = r->o.table == RDN_TABLE_TICKS;
    struct seen now = { { b->bid_px, prices ? 0 : b->bid_qty, b->ask_px, prices ? 0 : b->ask_qty },
                        (uint16_t)(prices ? b->flags & (REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK) : b->flags), true };
    bool same = s->any && s->flags == now.flags && memcmp(s->v, now.v, sizeof now.v) == 0;
    *s = now;
    return !same;
}

static void state_row(struct rdn_cursor *r, const redan_mevent *e, const redan_book_line_data *b) {
    if (r->o.table == RDN_TABLE_BBO)
        bbo_row(r, e, b);
    else if (r->o.table == RDN_TABLE_TICKS)
        tick_row(r, e, b);
    else
        level_rows(r, e);
}

static void state(struct rdn_cursor *r, const redan_mevent *e) {
    redan_book_line_data b;
    if (!(e->flags & REDAN_MF_LAST) || redan_book_line(r->pass->feed, e->instrument, &b) < 0)
        return;
    if (r->o.on == RDN_ON_EVENT || (r->o.on == RDN_ON_CHANGE && changed(r, e, &b))) {
        state_row(r, e, &b);
        return;
    }
    if (r->o.on > 0)
        r->held[e->instrument] = (struct held){ *e, b, e->ts_recv_ns / r->o.on, true };
}

/* Before the first event of the next interval, while the book still is as the last one left it. */
static void interval(struct rdn_cursor *r, const redan_mevent *e) {
    struct held *h = &r->held[e->instrument];
    if (!h->any || e->ts_recv_ns / r->o.on == h->slot)
        return;
    state_row(r, &h->e, &h->b);
    h->any = false;
}

/* --- one event --- */

static bool by_order(uint8_t action) {
    return action == REDAN_MARKET_REDUCE || action == REDAN_MARKET_DELETE || action == REDAN_MARKET_MODIFY || action == REDAN_MARKET_REPLACE ||
           action == REDAN_MARKET_EXECUTE || action == REDAN_MARKET_ADD;
}

/* The order that an event names, as it is before it; and the instrument, where only the order says which. */
static redan_mevent resolved(struct rdn_cursor *r, const redan_mevent *in) {
    redan_mevent e = *in;
    r->order = (redan_mevent){ 0 };
    if (!by_order(e.action))
        return e;
    uint64_t id = e.action == REDAN_MARKET_REPLACE ? e.other_id : e.order_id;
    const struct rdn_order *o = rdn_orders_find(&r->pass->feed->books.orders, id, e.instrument == REDAN_BY_ORDER ? 0 : e.instrument);
    if (o && e.instrument == REDAN_BY_ORDER)
        e.instrument = o->place >> 1;
    if (o && o->place >> 1 == e.instrument)
        r->order = (redan_mevent){ .px_ticks = o->px, .qty_lots = o->qty, .side = (uint8_t)((o->place & 1) + REDAN_BID) };
    return e;
}

static void one(struct rdn_cursor *r, const redan_mevent *in) {
    struct place at[3];
    redan_mevent e = resolved(r, in);
    bool known = e.instrument < r->pass->feed->books.n;
    uint32_t n = 0;
    if (r->o.table == RDN_TABLE_EVENTS)
        event_row(r, &e);
    else if (r->o.table == RDN_TABLE_TRADES)
        trade_row(r, &e);
    else if (r->o.table == RDN_TABLE_DEPTH && known)
        n = touched(r, &e, at);
    else if (r->held && known)
        interval(r, &e);
    redan_feed_apply(r->pass->feed, in, 1, NULL);
    if (r->o.table == RDN_TABLE_DEPTH && known)
        depth_rows(r, &e, at, n);
    else if (r->seen && known)
        state(r, &e);
    r->events++;
}

/* An event of all books is one of each of them, a book a step: what its interval still holds; then, behind the event, what it shows. */
static void begin_all(struct rdn_cursor *r, const redan_mevent *e) {
    if (r->o.table == RDN_TABLE_EVENTS)
        event_row(r, e);
    r->all.e = *e;
    r->all.at = 0;
    r->all.n = r->seen || r->o.table == RDN_TABLE_DEPTH ? rdn_feed_all(r->pass->feed, e) : 0;
    r->all.applied = false;
}

static void step_all(struct rdn_cursor *r) {
    redan_mevent e = r->all.e;
    e.instrument = r->all.at++;
    if (e.instrument == r->all.n && !r->all.applied) {
        redan_feed_apply(r->pass->feed, &r->all.e, 1, NULL);
        r->all.applied = true;
        r->all.at = 0;
    } else if (e.instrument == r->all.n) {
        r->all.e.action = 0;
        r->events++;
    } else if (!r->all.applied) {
        if (r->held)
            interval(r, &e);
    } else if (r->seen) {
        state(r, &e);
    } else {
        depth_rows(r, &e, NULL, 0);
    }
}

/* The most rows that one event can make, or a step of one of all books. */
static uint32_t most(const struct rdn_cursor *r) {
    return r->o.table == RDN_TABLE_LEVELS ? 2 * r->o.depth : 3;
}

/* At the end of the file, what intervals still hold, in order of instruments. */
static void last_rows(struct rdn_cursor *r) {
    for (; r->held && r->sweep < r->pass->feed->books.n && r->c->n + most(r) <= r->c->cap; r->sweep++)
        if (r->held[r->sweep].any)
            state_row(r, &r->held[r->sweep].e, &r->held[r->sweep].b);
}

static int fill(struct rdn_cursor *r, redan_error *reterr) {
    const redan_mevent *e;
    while (r->c->n + most(r) <= r->c->cap) {
        if (r->all.e.action) {
            step_all(r);
            continue;
        }
        int rc = rdn_reading_next(r->pass, &e, reterr);
        if (rc < 0)
            return rc;
        if (!e) {
            last_rows(r);
            return 0;
        }
        if (e->instrument == REDAN_ALL_INSTRUMENTS)
            begin_all(r, e);
        else
            one(r, e);
    }
    return 0;
}

int rdn_cursor_next(struct rdn_cursor *r, struct rdn_columns **ret, redan_error *reterr) {
    int rc = 0;
    pthread_mutex_lock(&r->pass->lock);
    if (!r->c && !(r->c = chunk_open(r->o.table, r->o.rows, r->o.decimal)))
        rc = rdn_fail(reterr, NOMEM, "", "no memory for a chunk of %u rows", r->o.rows);
    if (rc == 0 && !r->failed)
        r->failed = fill(r, &r->why);
    if (rc == 0 && r->failed && !r->c->n) {
        rc = r->failed;
        if (reterr)
            *reterr = r->why;
    } else if (rc == 0) {
        *ret = r->c->n ? r->c : NULL;
        if (r->c->n)
            r->c = NULL;
    }
    pthread_mutex_unlock(&r->pass->lock);
    return rc;
}

/* --- open and close --- */

static bool of_states(enum rdn_market_table t) { return t == RDN_TABLE_BBO || t == RDN_TABLE_TICKS || t == RDN_TABLE_LEVELS; }
static size_t seen_bytes(const struct rdn_cursor *r) { return r->pass->feed->max_instruments * sizeof r->seen[0]; }
static size_t held_bytes(const struct rdn_cursor *r) { return r->pass->feed->max_instruments * sizeof r->held[0]; }

int rdn_cursor_open(struct rdn_cursor **ret, struct rdn_reading *pass, const struct rdn_cursor_options *o, redan_error *reterr) {
    struct rdn_cursor *r = rdn_zalloc(&rdn_libc_mem, sizeof *r);
    if (!r)
        return rdn_fail(reterr, NOMEM, "", "no memory for a table of a market file");
    atomic_init(&r->refs, 1);
    r->pass = rdn_reading_ref(pass);
    r->o = *o;
    r->o.rows = o->rows ? o->rows : RDN_CHUNK_ROWS;
    r->o.depth = o->depth ? o->depth : 10;
    r->flipped = strcmp(pass->feed->format->name, "dbn") == 0;
    int rc = 0;
    if (o->table >= RDN_TABLES || r->o.depth > RDN_CHUNK_DEPTH_MAX || r->o.rows < most(r) || r->o.rows > RDN_CHUNK_ROWS_MAX || o->on < RDN_ON_CHANGE)
        rc = rdn_fail(reterr, INVAL, "", "rows of a chunk: 3 and two a level to %d; depth: 1 to %d", RDN_CHUNK_ROWS_MAX, RDN_CHUNK_DEPTH_MAX);
    else if (of_states(o->table) && !(r->seen = rdn_market_reserve(seen_bytes(r))))
        rc = rdn_fail(reterr, NOMEM, "", "no memory for what %u instruments showed", pass->feed->max_instruments);
    else if (of_states(o->table) && o->on > 0 && !(r->held = rdn_market_reserve(held_bytes(r))))
        rc = rdn_fail(reterr, NOMEM, "", "no memory for intervals of %u instruments", pass->feed->max_instruments);
    if (rc < 0) {
        rdn_cursor_unref(r);
        return rc;
    }
    *ret = r;
    return 0;
}

struct rdn_cursor *rdn_cursor_ref(struct rdn_cursor *r) {
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

void rdn_cursor_unref(struct rdn_cursor *r) {
    if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) > 1)
        return;
    rdn_columns_unref(r->c);
    rdn_market_release(r->seen, seen_bytes(r));
    rdn_market_release(r->held, held_bytes(r));
    rdn_reading_unref(r->pass);
    rdn_free(&rdn_libc_mem, r, sizeof *r);
}

const struct rdn_cursor_options *rdn_cursor_of(const struct rdn_cursor *r) { return &r->o; }
struct rdn_reading *rdn_cursor_pass(const struct rdn_cursor *r) { return r->pass; }
