/* SPDX-License-Identifier: Apache-2.0
 * book.c: what each action does to a book (book.h, MARKET.md 4 and 6). */
#include "market/book.h"

int rdn_book_open(struct rdn_book *b, uint32_t window, uint32_t far, bool valid) {
    b->bytes = rdn_levels_bytes(window, far);
    void *p = rdn_market_reserve(b->bytes);
    if (!p)
        return REDAN_E_NOMEM;
    b->memory = p;
    b->valid = b->whole = valid;
    rdn_levels_init(&b->levels, p, window, far);
    atomic_init(&b->line.words[0], REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK | (valid ? REDAN_BOOK_VALID : 0u));
    return 0;
}

void rdn_book_close(struct rdn_book *b) {
    rdn_market_release(b->memory, b->bytes);
    b->memory = NULL;
}

/* One event on its way: the first fault is the answer, every one is counted. */
struct step {
    struct rdn_books *all;
    struct rdn_book *book;
    const redan_mevent *e;
    uint8_t fault;
};

static void note(struct step *s, uint8_t fault) {
    s->all->faults[fault]++;
    if (!s->fault)
        s->fault = fault;
}

static void refuse(struct step *s, uint8_t fault) {
    note(s, fault);
    if (s->all->policy[fault] == REDAN_POLICY_INVALID || fault == REDAN_FAULT_SEQ_GAP)
        s->book->valid = s->book->whole = false;
}

static bool px_ok(int64_t px) { return px <= RDN_PX_MAX && px >= -RDN_PX_MAX; }
static bool side_ok(uint8_t side) { return side == REDAN_BID || side == REDAN_ASK; }

static void take_level(struct step *s, unsigned side, int64_t px, int64_t qty, uint32_t orders) {
    if (rdn_levels_take(&s->book->levels, side, px, qty, orders) < qty)
        note(s, REDAN_FAULT_OVER_CANCEL);
}

static void remove_order(struct step *s, struct rdn_order *o) {
    take_level(s, o->place & 1, o->px, o->qty, 1);
    rdn_orders_remove(&s->all->orders, o);
    s->book->live--;
}

static void put_order(struct step *s, uint64_t id, unsigned side) {
    const redan_mevent *e = s->e;
    struct rdn_order o = { id, e->px_ticks, e->qty_lots, e->instrument * 2 + side, 0 };
    if (!rdn_orders_add(&s->all->orders, o)) {
        refuse(s, REDAN_FAULT_FULL);
        return;
    }
    if (!rdn_levels_add(&s->book->levels, side, e->px_ticks, e->qty_lots, 1)) {
        rdn_orders_remove(&s->all->orders, rdn_orders_find(&s->all->orders, id, e->instrument));
        refuse(s, REDAN_FAULT_FULL);
        return;
    }
    s->book->live++;
}

/* The live order of an id, in this instrument; NULL with the fault noted. */
static struct rdn_order *own(struct step *s, uint64_t id) {
    struct rdn_order *o = rdn_orders_find(&s->all->orders, id, s->e->instrument);
    if (o && o->place >> 1 == s->e->instrument)
        return o;
    note(s, o ? REDAN_FAULT_WRONG_INSTRUMENT : REDAN_FAULT_UNKNOWN_ID);
    return NULL;
}

/* Room for an order of this id. False: a live one stays, and the event goes. */
static bool free_id(struct step *s, uint64_t id) {
    struct rdn_order *o = rdn_orders_find(&s->all->orders, id, s->e->instrument);
    if (!o)
        return true;
    note(s, REDAN_FAULT_DUP_ADD);
    if (s->all->policy[REDAN_FAULT_DUP_ADD] == REDAN_POLICY_DROP)
        return false;
    struct step old = *s;                                /* the id may be another book's */
    old.book = &s->all->book[o->place >> 1];
    remove_order(&old, o);
    return true;
}

static bool new_order_ok(struct step *s, unsigned side) {
    const redan_mevent *e = s->e;
    if (!side_ok((uint8_t)side) || !px_ok(e->px_ticks))
        note(s, REDAN_FAULT_BAD_NUMBER);
    else if (e->qty_lots <= 0)
        note(s, REDAN_FAULT_NEG_QTY);
    else
        return true;
    return false;
}

static void add(struct step *s) {
    if (new_order_ok(s, s->e->side) && free_id(s, s->e->order_id))
        put_order(s, s->e->order_id, s->e->side - 1u);
}

/* What no live order answers to is, by policy, taken off the level that the event states. */
static void take_unknown(struct step *s) {
    const redan_mevent *e = s->e;
    if (s->fault == REDAN_FAULT_UNKNOWN_ID && s->all->policy[REDAN_FAULT_UNKNOWN_ID] == REDAN_POLICY_BY_PRICE &&
        side_ok(e->side) && px_ok(e->px_ticks) && e->qty_lots > 0)
        take_level(s, e->side - 1u, e->px_ticks, e->qty_lots, 0);
}

static void check_place(struct step *s, const struct rdn_order *o) {
    const redan_mevent *e = s->e;
    if ((e->side && e->side - 1u != (o->place & 1)) || (e->px_ticks && e->px_ticks != o->px))
        note(s, REDAN_FAULT_WRONG_PLACE);
}

static void reduce(struct step *s) {
    const redan_mevent *e = s->e;
    if (e->qty_lots < 0) {
        note(s, REDAN_FAULT_NEG_QTY);
        return;
    }
    struct rdn_order *o = own(s, e->order_id);
    if (!o) {
        take_unknown(s);
        return;
    }
    check_place(s, o);
    if (e->qty_lots >= o->qty) {
        if (e->qty_lots > o->qty)
            note(s, REDAN_FAULT_OVER_CANCEL);
        remove_order(s, o);
        return;
    }
    o->qty -= e->qty_lots;
    take_level(s, o->place & 1, o->px, e->qty_lots, 0);
}

static void delete(struct step *s) {
    struct rdn_order *o = own(s, s->e->order_id);
    if (!o) {
        take_unknown(s);
        return;
    }
    check_place(s, o);
    remove_order(s, o);
}

static void replace(struct step *s, uint64_t was) {
    struct rdn_order *o = own(s, was);
    if (!o)
        return;
    unsigned side = o->place & 1;
    if (s->e->side && s->e->side - 1u != side)
        note(s, REDAN_FAULT_WRONG_PLACE);
    if (!new_order_ok(s, side + 1) || (was != s->e->order_id && !free_id(s, s->e->order_id)))
        return;
    remove_order(s, rdn_orders_find(&s->all->orders, was, s->e->instrument));         /* free_id may have moved it */
    put_order(s, s->e->order_id, side);
}

static void set_level(struct step *s) {
    const redan_mevent *e = s->e;
    if (!side_ok(e->side) || !px_ok(e->px_ticks))
        note(s, REDAN_FAULT_BAD_NUMBER);
    else if (e->qty_lots < 0)
        note(s, REDAN_FAULT_NEG_QTY);
    else if (!rdn_levels_set(&s->book->levels, e->side - 1u, e->px_ticks, e->qty_lots, 1))
        refuse(s, REDAN_FAULT_FULL);
}

static void quote(struct step *s) {
    const redan_mevent *e = s->e;
    if (s->book->by_levels)
        return;
    if (!side_ok(e->side) || !px_ok(e->px_ticks)) {
        note(s, REDAN_FAULT_BAD_NUMBER);
    } else if (e->qty_lots < 0) {
        note(s, REDAN_FAULT_NEG_QTY);
    } else {
        rdn_levels_clear(&s->book->levels, e->side - 1u);
        set_level(s);
    }
}

static void clear(struct step *s) {
    if (s->book->live)
        rdn_orders_clear(&s->all->orders, s->e->instrument);
    s->book->live = 0;
    rdn_levels_clear(&s->book->levels, RDN_BID);
    rdn_levels_clear(&s->book->levels, RDN_ASK);
    s->book->whole = true;
}

uint8_t rdn_book_apply(struct rdn_books *all, const redan_mevent *e) {
    struct step s = { all, &all->book[e->instrument], e, 0 };
    s.book->events++;
    switch (e->action) {
    case REDAN_MARKET_ADD:     add(&s); break;
    case REDAN_MARKET_REDUCE:
    case REDAN_MARKET_EXECUTE: reduce(&s); break;
    case REDAN_MARKET_DELETE:  delete(&s); break;
    case REDAN_MARKET_MODIFY:  replace(&s, e->order_id); break;
    case REDAN_MARKET_REPLACE: replace(&s, e->other_id); break;
    case REDAN_MARKET_LEVEL:
        s.book->by_levels = true;
        set_level(&s);
        break;
    case REDAN_MARKET_GAP:     refuse(&s, REDAN_FAULT_SEQ_GAP); break;
    case REDAN_MARKET_QUOTE:   quote(&s); break;
    case REDAN_MARKET_CLEAR:   clear(&s); break;
    case REDAN_MARKET_STATUS:
    case REDAN_MARKET_ORDER:
    case REDAN_MARKET_TRADE:
    case REDAN_MARKET_FILL:    break;
    default:                   note(&s, REDAN_FAULT_UNKNOWN_TYPE); break;
    }
    return s.fault;
}

static void write_line(struct rdn_book_line *l, const uint64_t words[RDN_LINE_WORDS]) {
    uint32_t seq = atomic_load_explicit(&l->seq, memory_order_relaxed);
    atomic_store_explicit(&l->seq, seq + 1, memory_order_relaxed);
    for (unsigned i = 0; i < RDN_LINE_WORDS; i++)        /* release: not before the odd number */
        atomic_store_explicit(&l->words[i], words[i], memory_order_release);
    atomic_store_explicit(&l->seq, seq + 2, memory_order_release);
}

uint8_t rdn_book_publish(struct rdn_books *all, struct rdn_book *b, const redan_mevent *e) {
    int64_t bid, bid_qty, ask, ask_qty;
    bool has_bid = rdn_levels_best(&b->levels, RDN_BID, &bid, &bid_qty), has_ask = rdn_levels_best(&b->levels, RDN_ASK, &ask, &ask_qty);
    uint32_t flags = (has_bid ? 0 : REDAN_BOOK_NO_BID) | (has_ask ? 0 : REDAN_BOOK_NO_ASK);
    uint8_t fault = 0;
    if (e->flags & REDAN_MF_SNAPSHOT)
        b->valid = b->whole;
    if (e->flags & REDAN_MF_AUCTION)
        flags |= REDAN_BOOK_AUCTION;
    if (has_bid && has_ask && bid >= ask) {
        flags |= bid == ask ? REDAN_BOOK_LOCKED : REDAN_BOOK_CROSSED;
        if (!(e->flags & REDAN_MF_AUCTION)) {
            fault = bid == ask ? REDAN_FAULT_LOCKED : REDAN_FAULT_CROSSED;
            all->faults[fault]++;
            if (all->policy[fault] == REDAN_POLICY_INVALID)
                b->valid = false;
        }
    }
    if (b->valid)
        flags |= REDAN_BOOK_VALID;
    uint64_t words[RDN_LINE_WORDS] = { flags, (uint64_t)bid, (uint64_t)bid_qty, (uint64_t)ask, (uint64_t)ask_qty,
                                       (uint64_t)e->ts_recv_ns, (uint64_t)e->ts_event_ns, b->events };
    write_line(&b->line, words);
    return fault;
}

int rdn_book_read(const struct rdn_book_line *l, redan_book_line_data *ret) {
    for (unsigned tries = 0; tries < 64; tries++) {
        uint64_t w[RDN_LINE_WORDS];
        uint32_t seq = atomic_load_explicit(&l->seq, memory_order_acquire);
        for (unsigned i = 0; i < RDN_LINE_WORDS; i++)
            w[i] = atomic_load_explicit(&l->words[i], memory_order_acquire);         /* the second look at seq comes after */
        if ((seq & 1) || seq != atomic_load_explicit(&l->seq, memory_order_relaxed))
            continue;
        *ret = (redan_book_line_data){ seq, (uint16_t)w[0], 0, (int64_t)w[1], (int64_t)w[2], (int64_t)w[3], (int64_t)w[4],
                                       (int64_t)w[5], (int64_t)w[6], w[7] };
        return 0;
    }
    return REDAN_E_BUSY;
}
