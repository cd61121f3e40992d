/* SPDX-License-Identifier: Apache-2.0
 * feed_binance.c: Binance market streams as lines of JSON, alone or in the envelope of a combined stream, each with the nanoseconds of
 * its receipt in front if they were kept.
 *
 *   depthUpdate    levels that changed, numbers U..u, and on futures pu, the u before      L events, LAST on the final one
 *   snapshot       {"lastUpdateId", "bids", "asks"}, asked for by whoever collects          R and L events, then what waited for it
 *   bookTicker     best prices; of a book with depth they are for information               two Q events
 *   trade, aggTrade                                                                          T
 *
 * Prices and quantities are decimal strings; a float is never read. A level that is refused is missing from the book: as after a gap, it is
 * not valid until the next snapshot. */
#include <string.h>

#include "market/decimal.h"
#include "market/feed.h"

struct line { struct redan_feed *f; const struct rdn_json *o; int64_t recv_ns; uint32_t instrument; };

static uint32_t refused(struct redan_feed *f, uint8_t fault) {
    rdn_feed_fault(f, fault);
    return 0;
}

static const struct rdn_json *member(const struct line *l, const char *name) { return rdn_json_get(&l->f->json, l->o, name); }

static bool whole(const struct rdn_json *j, uint64_t *ret) {
    *ret = 0;
    return j && j->kind == RDN_JSON_INT && rdn_decimal_u64(j->text, j->len, ret);
}

static bool decimal(const struct rdn_json *j, int64_t *ret, bool *ret_rest) {
    return j && j->kind == RDN_JSON_STRING && rdn_decimal_read(j->text, j->len, RDN_DECIMAL_SCALE, ret, ret_rest);
}

/* Price and quantity of an event out of two texts. False: refused, and counted. */
static bool amounts(const struct line *l, const struct rdn_json *px, const struct rdn_json *qty, redan_mevent *e) {
    int64_t p, q;
    bool rest[2];
    int64_t lot = l->f->instruments[l->instrument].lot_nano;
    if (!decimal(px, &p, &rest[0]) || !decimal(qty, &q, &rest[1]) || rest[1] || q % lot) {
        rdn_feed_fault(l->f, REDAN_FAULT_BAD_NUMBER);
        return false;
    }
    if (q < 0) {
        rdn_feed_fault(l->f, REDAN_FAULT_NEG_QTY);
        return false;
    }
    e->qty_lots = q / lot;
    return rdn_feed_px(l->f, l->instrument, p + rest[0],          /* digits beyond the ninth: between two ticks */
                       RDN_DECIMAL_SCALE, &e->px_ticks);
}

static int64_t event_ns(const struct line *l) {
    uint64_t ms;
    return whole(member(l, "T"), &ms) || whole(member(l, "E"), &ms) ? (int64_t)(ms % 9000000000000) * 1000000 : l->recv_ns;
}

static redan_mevent start(const struct line *l, uint8_t action, uint16_t flags) {
    int64_t ts = event_ns(l);
    return (redan_mevent){ .ts_event_ns = ts, .ts_recv_ns = l->recv_ns ? l->recv_ns : ts, .instrument = l->instrument, .action = action, .flags = flags };
}

/* Levels of one side behind the others of q. False: one is refused or q is full, and the fault counted. */
static bool push_side(const struct line *l, const char *name, redan_mevent proto, struct rdn_events *q) {
    const struct rdn_json *side = member(l, name);
    if (!side || side->kind != RDN_JSON_ARRAY) {
        rdn_feed_fault(l->f, REDAN_FAULT_BAD_NUMBER);
        return false;
    }
    for (const struct rdn_json *v = rdn_json_first(&l->f->json, side); v; v = rdn_json_next(&l->f->json, v)) {
        const struct rdn_json *px = v->kind == RDN_JSON_ARRAY ? rdn_json_first(&l->f->json, v) : NULL;
        redan_mevent e = proto;
        if (!amounts(l, px, px ? rdn_json_next(&l->f->json, px) : NULL, &e))
            return false;
        redan_mevent *room = rdn_events_push(q);
        if (!room) {
            rdn_feed_fault(l->f, REDAN_FAULT_FULL);
            return false;
        }
        *room = e;
    }
    return true;
}

/* Both sides as one group: its last event has LAST. False: q is as it was before. */
static bool push_group(const struct line *l, const char *bids, const char *asks, redan_mevent proto, struct rdn_events *q) {
    uint32_t before = q->n;
    uint16_t last = proto.flags & REDAN_MF_LAST;
    proto.flags &= (uint16_t)~REDAN_MF_LAST;
    proto.side = REDAN_BID;
    bool ok = push_side(l, bids, proto, q);
    proto.side = REDAN_ASK;
    ok = ok && push_side(l, asks, proto, q);
    if (!ok)
        q->n = before;
    else if (q->n > before)
        q->ev[q->at + q->n - 1].flags |= last;
    return ok;
}

/* Groups that wait keep their numbers in fields that levels do not use. */
static struct rdn_diff diff_of(const redan_mevent *e) { return (struct rdn_diff){ e->other_id, e->seq, e->order_id }; }

static void drop_held(struct redan_feed *f, uint32_t instrument) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->held.n; i++)
        if (f->held.ev[i].instrument != instrument)
            f->held.ev[kept++] = f->held.ev[i];
    f->held.n = kept;
}

/* What waits must be a chain: a difference that does not follow begins a new one. So does one that is refused or finds no room. */
static void hold(const struct line *l, redan_mevent proto) {
    struct rdn_sync *s = &l->f->syncs[l->instrument];
    if (s->held_last && !rdn_diff_follows(diff_of(&proto), s->held_last))
        drop_held(l->f, l->instrument);
    uint32_t before = l->f->held.n;
    bool room = push_group(l, "b", "a", proto, &l->f->held);
    if (room && l->f->held.n == before) {                /* one without levels is a link of the chain, too */
        redan_mevent *e = rdn_events_push(&l->f->held);
        if (e) {
            *e = proto;
            e->action = REDAN_MARKET_STATUS;
        } else {
            rdn_feed_fault(l->f, REDAN_FAULT_FULL);
        }
        room = e != NULL;
    }
    if (!room) {
        drop_held(l->f, l->instrument);
        s->missed = proto.seq;
    }
    s->held_last = proto.seq;
}

static void push_gap(const struct line *l) {
    redan_mevent *e = rdn_events_push(&l->f->ready);
    if (e)
        *e = start(l, REDAN_MARKET_GAP, REDAN_MF_LAST);
}

/* A message of which nothing is applied, for a part of it is refused. */
static void lose(const struct line *l) {
    rdn_sync_lose(&l->f->syncs[l->instrument]);
    push_gap(l);
}

static uint32_t depth(const struct line *l) {
    struct rdn_sync *s = &l->f->syncs[l->instrument];
    redan_mevent e = start(l, REDAN_MARKET_LEVEL, REDAN_MF_LEVELS | REDAN_MF_LAST);
    if (!whole(member(l, "U"), &e.other_id) || !whole(member(l, "u"), &e.seq) || e.other_id > e.seq)
        return refused(l->f, REDAN_FAULT_BAD_NUMBER);
    whole(member(l, "pu"), &e.order_id);
    switch (rdn_sync_diff(s, diff_of(&e))) {
    case RDN_SYNC_APPLY:
        if (!push_group(l, "b", "a", e, &l->f->ready)) {
            s->missed = e.seq;
            lose(l);
        }
        break;
    case RDN_SYNC_LOST:
        push_gap(l);
        s->held_last = 0;
        hold(l, e);
        break;
    case RDN_SYNC_HOLD:
        hold(l, e);
        break;
    case RDN_SYNC_AGAIN:
        return refused(l->f, REDAN_FAULT_SEQ_OLD);
    case RDN_SYNC_OLD:
        break;
    }
    return 0;
}

/* What waited for this snapshot, as far as it fits. */
static void release(const struct line *l) {
    struct redan_feed *f = l->f;
    struct rdn_sync *s = &f->syncs[l->instrument];
    bool lost = false;
    uint64_t group = 0;
    enum rdn_sync_answer answer = RDN_SYNC_OLD;
    for (uint32_t i = 0; i < f->held.n && !lost; i++) {
        redan_mevent *e = &f->held.ev[i];
        if (e->instrument != l->instrument)
            continue;
        if (e->seq != group)
            answer = rdn_sync_diff(s, diff_of(e));
        group = e->seq;
        lost = answer == RDN_SYNC_LOST;
        redan_mevent *room = answer == RDN_SYNC_APPLY ? rdn_events_push(&f->ready) : NULL;
        if (room)
            *room = *e;
    }
    if (lost || s->missed > s->last) {                   /* the snapshot is too old; a later one may find them */
        lose(l);
        return;
    }
    drop_held(f, l->instrument);
    s->held_last = 0;
}

static uint32_t snapshot(const struct line *l) {
    redan_mevent e = start(l, REDAN_MARKET_CLEAR, REDAN_MF_SNAPSHOT);
    if (!whole(member(l, "lastUpdateId"), &e.seq))
        return refused(l->f, REDAN_FAULT_BAD_NUMBER);
    if (!rdn_sync_snapshot(&l->f->syncs[l->instrument], e.seq))
        return refused(l->f, REDAN_FAULT_SEQ_OLD);
    redan_mevent *clear = rdn_events_push(&l->f->ready);
    if (!clear)
        return refused(l->f, REDAN_FAULT_FULL);
    *clear = e;
    e.action = REDAN_MARKET_LEVEL;
    e.flags |= REDAN_MF_LAST | REDAN_MF_LEVELS;
    if (push_group(l, "bids", "asks", e, &l->f->ready))
        release(l);
    else
        lose(l);
    return 0;
}

static uint32_t ticker(const struct line *l) {
    redan_mevent e = start(l, REDAN_MARKET_QUOTE, REDAN_MF_TOB), bid = e, ask = e;
    bid.side = REDAN_BID;
    ask.side = REDAN_ASK;
    ask.flags |= REDAN_MF_LAST;
    whole(member(l, "u"), &bid.seq);
    ask.seq = bid.seq;
    if (!amounts(l, member(l, "b"), member(l, "B"), &bid) || !amounts(l, member(l, "a"), member(l, "A"), &ask))
        return 0;
    redan_mevent *a = rdn_events_push(&l->f->ready), *b = a ? rdn_events_push(&l->f->ready) : NULL;
    if (!b)
        return refused(l->f, REDAN_FAULT_FULL);
    *a = bid;
    *b = ask;
    return 0;
}

static uint32_t trade(const struct line *l) {
    redan_mevent e = start(l, REDAN_MARKET_TRADE, REDAN_MF_LAST);
    const struct rdn_json *maker = member(l, "m");
    if (!whole(member(l, "t"), &e.other_id))
        whole(member(l, "a"), &e.other_id);
    e.seq = e.other_id;
    e.side = !maker ? 0 : maker->kind == RDN_JSON_TRUE ? REDAN_BID : REDAN_ASK;      /* of the order that stood in the book */
    redan_mevent *room = amounts(l, member(l, "p"), member(l, "q"), &e) ? rdn_events_push(&l->f->ready) : NULL;
    if (room)
        *room = e;
    return 0;
}

static const struct { const char *type; uint32_t (*read)(const struct line *); } types[] = {
    { "depthUpdate", depth }, { "bookTicker", ticker }, { "trade", trade }, { "aggTrade", trade },
};

/* The instrument of a message; a snapshot names none: it is that of the only one. */
static bool find_instrument(struct line *l) {
    const struct rdn_json *symbol = member(l, "s");
    l->instrument = 0;
    if (!symbol && l->f->books.n == 1)
        return true;
    if (!symbol || symbol->kind != RDN_JSON_STRING || !symbol->len) {
        rdn_feed_fault(l->f, REDAN_FAULT_WRONG_INSTRUMENT);
        return false;
    }
    l->instrument = rdn_feed_find(l->f, rdn_feed_symbol_key(symbol->text, symbol->len), symbol->text, symbol->len);
    return l->instrument != UINT32_MAX;
}

static uint32_t read_message(struct line *l) {
    const struct rdn_json *type = member(l, "e");
    if (member(l, "lastUpdateId"))
        return find_instrument(l) ? snapshot(l) : 0;
    if (!type && member(l, "B") && member(l, "A"))       /* the spot stream's bookTicker has no type */
        return find_instrument(l) ? ticker(l) : 0;
    for (size_t i = 0; type && i < sizeof types / sizeof types[0]; i++)
        if (rdn_json_is(type, types[i].type))
            return find_instrument(l) ? types[i].read(l) : 0;
    return refused(l->f, REDAN_FAULT_UNKNOWN_TYPE);
}

static uint32_t convert(struct redan_feed *f, const char *s, size_t n, redan_mevent *out) {
    (void)out;
    struct line l = { .f = f };
    const char *brace = memchr(s, '{', n), *space = memchr(s, ' ', n);
    uint64_t recv = 0;
    if (space && brace && space < brace) {
        if (!rdn_decimal_u64(s, (size_t)(space - s), &recv) || recv > INT64_MAX)
            return refused(f, REDAN_FAULT_BAD_NUMBER);
        n -= (size_t)(space + 1 - s);
        s = space + 1;
    }
    l.recv_ns = (int64_t)recv;
    l.o = rdn_json_read(&f->json, s, n);
    if (!l.o || l.o->kind != RDN_JSON_OBJECT)
        return refused(f, REDAN_FAULT_BAD_NUMBER);
    const struct rdn_json *data = member(&l, "data");
    if (data && data->kind == RDN_JSON_OBJECT)
        l.o = data;
    return read_message(&l);
}

size_t rdn_feed_binance(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    return rdn_feed_line(f, in, len, out, ret_n, convert);
}
