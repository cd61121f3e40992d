/* SPDX-License-Identifier: Apache-2.0
 * feed.c: feeds: options, instruments, input to events, events to books (market.h, feed.h). */
#include "market/feed.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "market/decimal.h"

static const struct rdn_format formats[] = {
#define FORMAT(name, prefix, by_instrument, unknown_id, resync, doc) \
    { #name, rdn_feed_##prefix, by_instrument, REDAN_POLICY_##unknown_id, RDN_RESYNC_##resync },
#include "market/formats.def"
#undef FORMAT
};

static const struct { const char *name, *doc; uint8_t standard, other; } faults[REDAN_FAULTS] = {
    [0] = { "", "", REDAN_POLICY_COUNT, REDAN_POLICY_COUNT },
#define FAULT(NAME, number, standard, other, doc) [number] = { #NAME, doc, REDAN_POLICY_##standard, REDAN_POLICY_##other },
#include "market/market_faults.def"
#undef FAULT
};
#define FAULT(NAME, number, standard, other, doc) \
    _Static_assert(REDAN_FAULT_##NAME == number, "market.h and market_faults.def number " #NAME " differently");
#include "market/market_faults.def"
#undef FAULT

const char *rdn_fault_doc(uint32_t fault) { return fault < REDAN_FAULTS ? faults[fault].doc : ""; }
const char *redan_fault_name(uint32_t fault) { return fault < REDAN_FAULTS ? faults[fault].name : ""; }

const struct rdn_format *rdn_format_find(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static int settle_policies(struct redan_feed *f, const redan_feed_options *o, redan_error *reterr) {
    for (unsigned i = 1; i < REDAN_FAULTS; i++) {
        uint8_t standard = i == REDAN_FAULT_UNKNOWN_ID ? f->format->unknown_id : faults[i].standard;
        uint8_t p = o->policy[i] == REDAN_POLICY_DEFAULT ? standard : o->policy[i];
        if (p != faults[i].standard && p != faults[i].other)
            return rdn_fail(reterr, INVAL, "", "policy %u is none of fault %s", p, faults[i].name);
        f->books.policy[i] = p;
    }
    return 0;
}

static bool power_of_two(uint32_t v, uint32_t min, uint32_t max) { return v >= min && v <= max && (v & (v - 1)) == 0; }

static int settle(struct redan_feed *f, const redan_feed_options *o, redan_error *reterr) {
    f->format = rdn_format_find(o->format ? o->format : "events");
    f->date_ns = o->date_ns;
    f->last_ts = INT64_MIN;
    f->books.window = o->window ? o->window : 8192;
    f->books.far = o->far ? o->far : 1024;
    f->max_instruments = o->max_instruments ? o->max_instruments : 65536;
    if (!f->format)
        return rdn_fail(reterr, INVAL, "", "no format '%s'", o->format);
    if (!power_of_two(f->books.window, 256, 65536))
        return rdn_fail(reterr, INVAL, "", "window %u is no power of two from 256 to 65,536", o->window);
    if (!power_of_two(f->books.far, 64, 1 << 20))
        return rdn_fail(reterr, INVAL, "", "far %u is no power of two from 64 to 1,048,576", o->far);
    bool rest;
    if (o->auto_tick && (!rdn_decimal_read(o->auto_tick, strlen(o->auto_tick), RDN_DECIMAL_SCALE, &f->auto_tick, &rest) || rest || f->auto_tick <= 0))
        return rdn_fail(reterr, INVAL, "", "auto_tick '%s' is no positive decimal", o->auto_tick);
    if (f->date_ns > RDN_DAY_MAX || f->date_ns < -RDN_DAY_MAX)
        return rdn_fail(reterr, INVAL, "", "date_ns %lld is no day from 1824 to 2116", (long long)o->date_ns);
    if (f->max_instruments > 65536 || o->max_orders > 1u << 26)
        return rdn_fail(reterr, INVAL, "", "at most 65,536 instruments and 67,108,864 orders");
    return settle_policies(f, o, reterr);
}

static bool reserve_resync(struct redan_feed *f, int64_t patience_ns) {
    if (f->format->resync == RDN_RESYNC_NONE)
        return true;
    if (f->format->resync == RDN_RESYNC_BOOK)
        f->syncs = rdn_zalloc(&rdn_libc_mem, f->max_instruments * sizeof f->syncs[0]);
    else
        f->mold = rdn_zalloc(&rdn_libc_mem, sizeof *f->mold);
    return (f->syncs || (f->mold && rdn_mold_open(f->mold, patience_ns))) && rdn_events_open(&f->ready, RDN_READY_MAX) &&
           rdn_events_open(&f->held, RDN_HELD_MAX);
}

static bool reserve_kept(struct redan_feed *f) {
    if (f->format->decode != rdn_feed_fix)
        return true;
    return (f->kept = rdn_market_reserve(RDN_FIX_KEPT * sizeof f->kept[0])) != NULL;
}

static bool reserve(struct redan_feed *f, uint32_t max_orders, int64_t patience_ns) {
    for (f->names_mask = 63; f->names_mask < 2 * f->max_instruments;)
        f->names_mask = f->names_mask * 2 + 1;
    f->instruments = rdn_zalloc(&rdn_libc_mem, f->max_instruments * sizeof f->instruments[0]);
    f->books.book = rdn_market_reserve(f->max_instruments * sizeof f->books.book[0]);
    f->names = rdn_zalloc(&rdn_libc_mem, (f->names_mask + 1) * sizeof f->names[0]);
    f->locates = rdn_zalloc(&rdn_libc_mem, RDN_LOCATES * sizeof f->locates[0]);
    return f->instruments && f->books.book && f->names && f->locates && reserve_resync(f, patience_ns) && reserve_kept(f) &&
           rdn_orders_open(&f->books.orders, max_orders, f->format->ids_by_instrument) == 0;
}

int redan_feed_open(redan_feed **ret, const redan_feed_options *o, redan_error *reterr) {
    static const redan_feed_options standard = REDAN_FEED_OPTIONS_INIT;
    o = o ? o : &standard;
    if (o->size != sizeof *o)
        return rdn_fail(reterr, INVAL, "", "options of %u bytes, expected %zu", o->size, sizeof *o);
    struct redan_feed *f = rdn_zalloc(&rdn_libc_mem, sizeof *f);
    if (!f)
        return rdn_fail(reterr, NOMEM, "", "no memory for a feed");
    rdn_json_init(&f->json, &rdn_libc_mem);
    int rc = settle(f, o, reterr);
    if (rc == 0 && !reserve(f, o->max_orders ? o->max_orders : 1u << 21, o->patience_ns))
        rc = rdn_fail(reterr, NOMEM, "", "no memory for %u instruments and their orders", f->max_instruments);
    if (rc < 0) {
        redan_feed_close(f);
        return rc;
    }
    *ret = f;
    return 0;
}

void redan_feed_close(redan_feed *f) {
    if (!f)
        return;
    rdn_books_close(&f->books);
    rdn_orders_close(&f->books.orders);
    rdn_events_close(&f->ready);
    rdn_events_close(&f->held);
    rdn_json_fini(&f->json);
    rdn_market_release(f->kept, RDN_FIX_KEPT * sizeof f->kept[0]);
    if (f->mold)
        rdn_mold_close(f->mold);
    rdn_free(&rdn_libc_mem, f->mold, sizeof *f->mold);
    rdn_free(&rdn_libc_mem, f->syncs, f->max_instruments * sizeof f->syncs[0]);
    rdn_market_release(f->books.book, f->max_instruments * sizeof f->books.book[0]);
    rdn_free(&rdn_libc_mem, f->locates, RDN_LOCATES * sizeof f->locates[0]);
    rdn_free(&rdn_libc_mem, f->names, (f->names_mask + 1) * sizeof f->names[0]);
    rdn_free(&rdn_libc_mem, f->instruments, f->max_instruments * sizeof f->instruments[0]);
    rdn_free(&rdn_libc_mem, f, sizeof *f);
}

static int read_unit(const char *what, const char *text, int64_t *ret, redan_error *reterr) {
    bool rest;
    if (!rdn_decimal_read(text, strlen(text), RDN_DECIMAL_SCALE, ret, &rest) || rest || *ret <= 0)
        return rdn_fail(reterr, INVAL, "", "%s '%s' is no positive decimal with at most %d digits after the point", what, text, RDN_DECIMAL_SCALE);
    return 0;
}

/* The place of a name: the one that has it, or a free one. */
static struct rdn_feed_name *name_place(const struct redan_feed *f, uint64_t key) {
    uint32_t i = (uint32_t)rdn_mix64(key) & f->names_mask;
    while (f->names[i].instrument && f->names[i].key != key)
        i = (i + 1) & f->names_mask;
    return &f->names[i];
}

uint64_t rdn_feed_symbol_key(const char *symbol, size_t n) {
    uint64_t key = 0;
    while (n && symbol[n - 1] == ' ')
        n--;
    if (n > sizeof key)
        return rdn_fnv64(symbol, n);
    memcpy(&key, symbol, n);
    return key | UINT64_C(1) << 63;                      /* never a number; ASCII leaves the bit free */
}

static int declare(struct redan_feed *f, const struct rdn_instrument *in, uint64_t key, uint32_t *ret_id, redan_error *reterr) {
    struct rdn_book *b = &f->books.book[f->books.n];
    struct rdn_feed_name *name = name_place(f, key);
    if (f->books.n == f->max_instruments)
        return rdn_fail(reterr, FULL, "", "%u instruments are all there can be", f->max_instruments);
    if (name->instrument)
        return rdn_fail(reterr, INVAL, "", "symbol or number of '%s' is there already", in->symbol);
    /* A book that appears in the middle of a numbered stream is as whole as the others. */
    bool valid = f->format->resync == RDN_RESYNC_NONE || (f->mold && f->mold->state == RDN_FEED_LIVE);
    if (rdn_book_open(&f->books, b, valid) < 0)
        return rdn_fail(reterr, NOMEM, "", "no memory for the book of '%s'", in->symbol);
    b->whole = valid || (f->mold && f->mold->snapshot);  /* one that a snapshot brings is whole when that is */
    f->instruments[f->books.n] = *in;
    f->instruments[f->books.n].per_price = 1e9 / (double)in->tick_nano;
    *name = (struct rdn_feed_name){ key, ++f->books.n };
    *ret_id = f->books.n - 1;
    return 0;
}

int rdn_feed_units(const redan_instrument *d, int64_t *ret_tick_nano, int64_t *ret_lot_nano, redan_error *reterr) {
    *ret_lot_nano = 1000000000;
    if (d->size != sizeof *d)
        return rdn_fail(reterr, INVAL, "", "instrument of %u bytes, expected %zu", d->size, sizeof *d);
    if (!d->symbol || !d->symbol[0] || strlen(d->symbol) > RDN_SYMBOL_MAX)
        return rdn_fail(reterr, INVAL, "", "a symbol has 1 to %d bytes", RDN_SYMBOL_MAX);
    if (!d->tick)
        return rdn_fail(reterr, INVAL, "R8230", "instrument '%s' has no tick: add 'tick: \"0.25\"'", d->symbol);
    int rc = read_unit("tick", d->tick, ret_tick_nano, reterr);
    return rc == 0 && d->lot ? read_unit("lot", d->lot, ret_lot_nano, reterr) : rc;
}

int redan_feed_instrument(redan_feed *f, const redan_instrument *d, uint32_t *ret_id, redan_error *reterr) {
    struct rdn_instrument in = { .number = d->number };
    int rc = rdn_feed_units(d, &in.tick_nano, &in.lot_nano, reterr);
    if (rc < 0)
        return rc;
    strcpy(in.symbol, d->symbol);
    return declare(f, &in, d->number ? d->number : rdn_feed_symbol_key(d->symbol, strlen(d->symbol)), ret_id, reterr);
}

uint32_t rdn_feed_find(struct redan_feed *f, uint64_t key, const char *symbol, size_t n) {
    struct rdn_feed_name *name = name_place(f, key);
    struct rdn_instrument in = { .tick_nano = f->auto_tick, .lot_nano = 1000000000, .number = (uint32_t)key };
    uint32_t id;
    if (name->instrument)
        return name->instrument - 1;
    while (n && symbol[n - 1] == ' ')
        n--;
    memcpy(in.symbol, symbol, n < RDN_SYMBOL_MAX ? n : RDN_SYMBOL_MAX);
    if (!n)
        snprintf(in.symbol, sizeof in.symbol, "%u", in.number);
    if (f->auto_tick && declare(f, &in, key, &id, NULL) == 0)
        return id;
    f->filtered++;
    return UINT32_MAX;
}

void rdn_feed_locate(struct redan_feed *f, uint16_t code, const char *symbol, size_t n) {
    uint32_t id = rdn_feed_find(f, rdn_feed_symbol_key(symbol, n), symbol, n);
    f->locates[code] = id == UINT32_MAX ? UINT32_MAX : id + 1;
}

uint32_t rdn_feed_located(struct redan_feed *f, uint16_t code) {
    uint32_t id = f->locates[code];
    if (id && id != UINT32_MAX)
        return id - 1;
    if (!id)
        return rdn_feed_find(f, code, "", 0);
    f->filtered++;
    return UINT32_MAX;
}

const char *redan_feed_symbol(const redan_feed *f, uint32_t instrument) {
    return instrument < f->books.n ? f->instruments[instrument].symbol : NULL;
}

bool rdn_feed_px(struct redan_feed *f, uint32_t instrument, int64_t px, unsigned scale, int64_t *ret) {
    int64_t tick = f->instruments[instrument].tick_nano;
    if (rdn_ticks_exact(px, scale, tick, ret))
        return true;
    rdn_feed_fault(f, REDAN_FAULT_OFF_TICK);
    *ret = rdn_ticks_round(px, scale, tick);
    return f->books.policy[REDAN_FAULT_OFF_TICK] == REDAN_POLICY_ROUND;
}

uint32_t rdn_feed_quotes(struct redan_feed *f, int64_t ts_ns, int64_t bid_px, int64_t ask_px, redan_mevent *out) {
    const int64_t px[2] = { bid_px, ask_px };
    f->seq++;
    for (uint32_t i = 0; i < 2; i++)
        out[i] = (redan_mevent){ .ts_event_ns = ts_ns, .ts_recv_ns = ts_ns, .px_ticks = px[i], .qty_lots = px[i] != 0, .seq = f->seq,
                                 .action = REDAN_MARKET_QUOTE, .side = (uint8_t)(REDAN_BID + i), .flags = REDAN_MF_TOB | (i ? REDAN_MF_LAST : 0) };
    return 2;
}

unsigned rdn_feed_split(const char *s, size_t n, struct rdn_text_cell *c, unsigned max) {
    unsigned k = 0;
    for (const char *end = s + n;; s++) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        if (k == max)
            return k + 1;
        c[k++] = (struct rdn_text_cell){ s, (size_t)((comma ? comma : end) - s) };
        if (!comma)
            return k;
        s = comma;
    }
}

size_t rdn_feed_line(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n,
                     uint32_t (*convert)(struct redan_feed *, const char *line, size_t n, redan_mevent *out)) {
    const unsigned char *nl = memchr(in, '\n', len < RDN_FEED_MESSAGE ? len : RDN_FEED_MESSAGE);
    if (!nl) {
        if (len < RDN_FEED_MESSAGE && !f->skipping)
            return 0;
        if (!f->skipping)
            rdn_feed_fault(f, REDAN_FAULT_SHORT_INPUT);
        f->skipping = true;
        return len < RDN_FEED_MESSAGE ? len : RDN_FEED_MESSAGE;
    }
    size_t n = (size_t)(nl - in);
    bool skipped = f->skipping;
    f->skipping = false;
    n -= n && in[n - 1] == '\r';
    if (n && !skipped)
        *ret_n = convert(f, (const char *)in, n, out);
    return (size_t)(nl - in) + 1;
}

/* Events that are ready, and for a numbered stream those that had no room to become so. */
static uint32_t take_ready(struct redan_feed *f, redan_mevent *out, uint32_t cap) {
    if (f->mold && !f->ready.n)
        rdn_mold_pump(f);
    return rdn_events_take(&f->ready, out, cap);
}

uint32_t redan_feed_decode(redan_feed *f, const void *bytes, size_t len, redan_mevent *out, uint32_t cap, size_t *ret_used) {
    const unsigned char *in = bytes;
    size_t used = 0;
    uint32_t n = take_ready(f, out, cap);
    while (!f->ready.n && used < len && cap - n >= RDN_FEED_EVENTS && !f->dead) {
        uint32_t got = 0;
        size_t step = f->format->decode(f, in + used, len - used, out + n, &got);
        if (!step)
            break;
        used += step;
        n += got;
        n += take_ready(f, out + n, cap - n);
    }
    if (f->dead)
        used = len;
    f->bytes += used;
    *ret_used = used;
    return n;
}

/* What an event will touch, fetched in two steps: first where its order and its book stand, then, when these are there, the levels they
 * name. A table that stays in the cache anyway needs neither. Inlined by force: see rdn_orders_prefetch. */
enum { FAR_AHEAD = 24, NEAR_AHEAD = 10, CACHED_BYTES = 1 << 19, CACHED_BOOKS = 16 };

static inline __attribute__((always_inline)) void far_ahead(struct redan_feed *f, const redan_mevent *e) {
    rdn_orders_prefetch(&f->books.orders, e->action == REDAN_MARKET_REPLACE ? e->other_id : e->order_id, e->instrument);
    if (e->instrument >= f->books.n)
        return;
    const char *b = (const char *)&f->books.book[e->instrument];
    for (unsigned i = 0; i < sizeof(struct rdn_book); i += 64)
        __builtin_prefetch(b + i, 1);
}

static inline __attribute__((always_inline)) void near_ahead(struct redan_feed *f, const redan_mevent *e) {
    if (e->instrument >= f->books.n)
        return;
    const struct rdn_levels *l = &f->books.book[e->instrument].levels;
    const struct rdn_order *o = &f->books.orders.slots[rdn_orders_home(&f->books.orders, e->order_id, e->instrument)];
    bool own = o->qty && o->id == e->order_id && o->place >> 1 == e->instrument;
    int64_t px = own ? o->px : e->px_ticks;
    if (own || ((e->side == REDAN_BID || e->side == REDAN_ASK) && px >= -RDN_PX_MAX))
        rdn_levels_prefetch(l, own ? o->place & 1 : e->side - 1u, px);
    for (unsigned i = 0; i < RDN_SIDES; i++)
        __builtin_prefetch(rdn_levels_slot(l, i, rdn_levels_key(i, l->side[i].best)));
}

/* The event with its instrument filled in; false: no live order tells. */
static bool resolve(struct redan_feed *f, redan_mevent *e) {
    const struct rdn_order *o = rdn_feed_named(f, e);
    if (o)
        e->instrument = o->place >> 1;
    else if (e->flags & REDAN_MF_FILTERED)
        f->filtered++;                                   /* of an instrument that is not followed, most likely */
    else
        rdn_feed_fault(f, REDAN_FAULT_UNKNOWN_ID);
    return o != NULL;
}

/* What concerns every book: messages are missing, all is gone, or a snapshot is complete. One fault, however many books. */
static uint8_t apply_all(struct redan_feed *f, const redan_mevent *e) {
    redan_mevent one = *e;
    uint8_t fault = e->action == REDAN_MARKET_GAP ? REDAN_FAULT_SEQ_GAP : 0;
    if (e->action == REDAN_MARKET_CLEAR)
        rdn_orders_clear_all(&f->books.orders);
    else if (!fault && e->action != REDAN_MARKET_STATUS)
        fault = REDAN_FAULT_UNKNOWN_TYPE;
    if (fault)
        rdn_feed_fault(f, fault);
    uint32_t n = rdn_feed_all(f, e);
    for (one.instrument = 0; one.instrument < n && fault != REDAN_FAULT_UNKNOWN_TYPE; one.instrument++) {
        struct rdn_book *b = &f->books.book[one.instrument];
        if (e->action == REDAN_MARKET_CLEAR)
            b->live = 0;
        if (fault)
            b->valid = b->whole = false;
        else
            rdn_book_apply(&f->books, &one);
        if (e->flags & REDAN_MF_LAST)
            rdn_book_publish(&f->books, b, &one);
    }
    return fault;
}

static uint8_t apply(struct redan_feed *f, const redan_mevent *e) {
    uint8_t fault = 0, later;
    redan_mevent whole;
    if (e->instrument == REDAN_ALL_INSTRUMENTS)
        return apply_all(f, e);
    if (e->instrument == REDAN_BY_ORDER && e->action == REDAN_MARKET_ORDER)
        return 0;                                        /* orders of FIX stand in no book */
    if (e->instrument == REDAN_BY_ORDER) {
        whole = *e;
        if (!resolve(f, &whole))
            return REDAN_FAULT_UNKNOWN_ID;
        e = &whole;
    }
    if (e->instrument >= f->books.n) {
        rdn_feed_fault(f, REDAN_FAULT_WRONG_INSTRUMENT);
        return REDAN_FAULT_WRONG_INSTRUMENT;
    }
    /* Snapshots carry the times at which their orders were made. */
    if (!(e->flags & REDAN_MF_SNAPSHOT)) {
        if (e->ts_event_ns < f->last_ts) {
            rdn_feed_fault(f, REDAN_FAULT_TS_BACK);
            fault = REDAN_FAULT_TS_BACK;
        }
        f->last_ts = e->ts_event_ns;
    }
    later = rdn_book_event(&f->books, e);
    return fault ? fault : later;
}

uint32_t redan_feed_apply(redan_feed *f, const redan_mevent *ev, uint32_t n, uint8_t *ret_faults) {
    uint32_t applied = 0;
    bool ahead = f->books.orders.bytes > CACHED_BYTES || f->books.n > CACHED_BOOKS, near = f->books.n > CACHED_BOOKS;
    for (uint32_t i = 0; i < n; i++) {
        if (ahead && n - i > FAR_AHEAD)
            far_ahead(f, &ev[i + FAR_AHEAD]);
        if (near && n - i > NEAR_AHEAD)
            near_ahead(f, &ev[i + NEAR_AHEAD]);
        uint8_t fault = apply(f, &ev[i]);
        applied += fault == 0;
        if (ret_faults)
            ret_faults[i] = fault;
    }
    f->events += n;
    return applied;
}

int redan_book_line(const redan_feed *f, uint32_t instrument, redan_book_line_data *ret) {
    return instrument < f->books.n ? rdn_book_read(&f->books.book[instrument].line, ret) : REDAN_E_INVAL;
}

uint32_t redan_book_levels(const redan_feed *f, uint32_t instrument, uint32_t side, redan_book_level *out, uint32_t cap) {
    if (instrument >= f->books.n || (side != REDAN_BID && side != REDAN_ASK))
        return 0;
    uint32_t n = 0;
    bool started = false;
    int64_t px = 0;
    struct rdn_level v;
    while (n < cap && rdn_levels_next(&f->books.book[instrument].levels, side - 1, &started, &px, &v))
        out[n++] = (redan_book_level){ px, v.qty, v.orders, 0 };
    return n;
}

int redan_book_sweep(const redan_feed *f, uint32_t instrument, uint32_t side, int64_t qty, int64_t *ret_worst_px, int64_t *ret_filled) {
    redan_book_level levels[64];
    uint32_t n = redan_book_levels(f, instrument, side, levels, 64);
    int64_t filled = 0, worst = 0;
    if (qty <= 0)
        return REDAN_E_INVAL;
    for (uint32_t i = 0; i < n && filled < qty; i++) {
        int64_t want = qty - filled;
        filled += levels[i].qty_lots < want ? levels[i].qty_lots : want;
        worst = levels[i].px_ticks;
    }
    *ret_worst_px = worst;
    *ret_filled = filled;
    return 0;
}

void redan_feed_stats_get(const redan_feed *f, redan_feed_stats *ret) {
    *ret = (redan_feed_stats){ .events = f->events, .bytes = f->bytes, .filtered = f->filtered, .live_orders = f->books.orders.n, .peak_orders = f->books.orders.peak,
                               .reserved_bytes = f->books.reserved + f->books.orders.bytes };
    memcpy(ret->faults, f->books.faults, sizeof ret->faults);
}

size_t rdn_feed_events(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    (void)f;
    *ret_n = len / sizeof *out < RDN_FEED_EVENTS ? (uint32_t)(len / sizeof *out) : RDN_FEED_EVENTS;
    memcpy(out, in, *ret_n * sizeof *out);
    return *ret_n * sizeof *out;
}
