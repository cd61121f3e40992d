/* SPDX-License-Identifier: Apache-2.0
 * book.c: what each action does to a book (book.h, MARKET.md 4 and 6). */
#include "market/book.h"

#include <sys/mman.h>

/* Every book is a random access: in small pages the look-up of the page alone costs more than all else. Large pages are committed whole, so only
 * HUGE_BYTES of them are asked for: 2,000 books of the default size. */
enum { SLAB_BYTES = 32 << 20, LARGE_PAGE = 2 << 20, HUGE_BYTES = 640 << 20 };

static bool add_slab(struct rdn_books *all, size_t book) {
    bool many = all->slabs != NULL;
    size_t room = sizeof(struct rdn_slab) + 64 + book;
    size_t bytes = !many ? room : room > SLAB_BYTES ? room + LARGE_PAGE : SLAB_BYTES + LARGE_PAGE;
    char *start = rdn_market_reserve(bytes), *p = start;
    if (!start)
        return false;
    if (many)
        p = (char *)(((uintptr_t)start + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1));
    if (many && all->reserved < HUGE_BYTES)
        (void)madvise(p, bytes - LARGE_PAGE, MADV_HUGEPAGE);
    struct rdn_slab *s = (struct rdn_slab *)p;
    *s = (struct rdn_slab){ all->slabs, start, bytes, (size_t)(p - start) + ((sizeof *s + 63) & ~(size_t)63) };
    all->slabs = s;
    all->reserved += bytes;
    return true;
}

int rdn_book_open(struct rdn_books *all, struct rdn_book *b, bool valid) {
    size_t bytes = rdn_levels_bytes(all->window, all->far);
    if ((!all->slabs || all->slabs->bytes - all->slabs->used < bytes) && !add_slab(all, bytes))
        return REDAN_E_NOMEM;
    b->valid = b->whole = valid;
    rdn_levels_init(&b->levels, (char *)all->slabs->start + all->slabs->used, all->window, all->far);
    all->slabs->used += bytes;
    atomic_init(&b->line.flags, REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK | (valid ? REDAN_BOOK_VALID : 0u));
    return 0;
}

void rdn_books_close(struct rdn_books *all) {
    for (struct rdn_slab *s = all->slabs, *next; s; s = next) {
        next = s->next;
        rdn_market_release(s->start, s->bytes);
    }
    all->slabs = NULL;
}

/* One event on its way: the first fault is the answer, every one is counted. */
struct step {
    struct rdn_books *all;
    struct rdn_book *book;
    const redan_mevent *e;
    uint8_t fault;
};

#define HOT static inline __attribute__((always_inline))

HOT void note(struct step *s, uint8_t fault) {
    s->all->faults[fault]++;
    if (!s->fault)
        s->fault = fault;
}

HOT void refuse(struct step *s, uint8_t fault) {
    note(s, fault);
    if (s->all->policy[fault] == REDAN_POLICY_INVALID || fault == REDAN_FAULT_SEQ_GAP)
        s->book->valid = s->book->whole = false;
}

static bool px_ok(int64_t px) { return px <= RDN_PX_MAX && px >= -RDN_PX_MAX; }
static bool side_ok(uint8_t side) { return side == REDAN_BID || side == REDAN_ASK; }

HOT void take_level(struct step *s, unsigned side, int64_t px, int64_t qty, uint32_t orders) {
    if (rdn_levels_take_fast(&s->book->levels, side, px, qty, orders) < qty)
        note(s, REDAN_FAULT_OVER_CANCEL);
}

HOT void remove_order(struct step *s, struct rdn_order *o) {
    take_level(s, o->place & 1, o->px, o->qty, 1);
    rdn_orders_remove(&s->all->orders, o);
    s->book->live--;
}

/* Into a free place of the table. */
HOT void put_order(struct step *s, struct rdn_order *at, uint64_t id, unsigned side) {
    const redan_mevent *e = s->e;
    struct rdn_orders *t = &s->all->orders;
    if (t->n >= t->max || !rdn_levels_add_fast(&s->book->levels, side, e->px_ticks, e->qty_lots)) {
        refuse(s, REDAN_FAULT_FULL);
        return;
    }
    rdn_orders_put(t, at, (struct rdn_order){ id, e->px_ticks, e->qty_lots, e->instrument * 2 + side, 0 });
    s->book->live++;
}

/* The live order of an id, in this instrument; NULL with the fault noted. */
HOT struct rdn_order *own(struct step *s, uint64_t id) {
    struct rdn_order *o = rdn_orders_find(&s->all->orders, id, s->e->instrument);
    if (o && o->place >> 1 == s->e->instrument)
        return o;
    note(s, o ? REDAN_FAULT_WRONG_INSTRUMENT : REDAN_FAULT_UNKNOWN_ID);
    return NULL;
}

/* A live order has the id of a new one. False: it stays, and the event goes. */
static __attribute__((noinline)) bool free_id(struct rdn_books *all, struct rdn_order *o) {
    struct step s = { all, &all->book[o->place >> 1], NULL, 0 };         /* the id may be another book's */
    note(&s, REDAN_FAULT_DUP_ADD);
    if (all->policy[REDAN_FAULT_DUP_ADD] == REDAN_POLICY_DROP)
        return false;
    remove_order(&s, o);
    return true;
}

HOT bool new_order_ok(struct step *s, unsigned side) {
    const redan_mevent *e = s->e;
    if (!side_ok((uint8_t)side) || !px_ok(e->px_ticks))
        note(s, REDAN_FAULT_BAD_NUMBER);
    else if (e->qty_lots <= 0)
        note(s, REDAN_FAULT_NEG_QTY);
    else
        return true;
    return false;
}

HOT void add(struct step *s) {
    uint64_t id = s->e->order_id;
    struct rdn_orders *t = &s->all->orders;
    if (!new_order_ok(s, s->e->side))
        return;
    struct rdn_order *at = rdn_orders_place(t, id, s->e->instrument);
    if (__builtin_expect(at->qty != 0, 0)) {
        s->fault = s->fault ? s->fault : REDAN_FAULT_DUP_ADD;
        if (!free_id(s->all, at))
            return;
        at = rdn_orders_place(t, id, s->e->instrument);
    }
    put_order(s, at, id, s->e->side - 1u);
}

/* What no live order answers to is, by policy, taken off the level that the event states. */
static void take_unknown(struct step *s) {
    const redan_mevent *e = s->e;
    if (s->fault == REDAN_FAULT_UNKNOWN_ID && s->all->policy[REDAN_FAULT_UNKNOWN_ID] == REDAN_POLICY_BY_PRICE &&
        side_ok(e->side) && px_ok(e->px_ticks) && e->qty_lots > 0)
        take_level(s, e->side - 1u, e->px_ticks, e->qty_lots, 0);
}

HOT void check_place(struct step *s, const struct rdn_order *o) {
    const redan_mevent *e = s->e;
    if ((e->side && e->side - 1u != (o->place & 1)) || (e->px_ticks && e->px_ticks != o->px))
        note(s, REDAN_FAULT_WRONG_PLACE);
}

HOT void reduce(struct step *s) {
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

HOT void delete(struct step *s) {
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
    struct rdn_orders *t = &s->all->orders;
    uint64_t id = s->e->order_id;
    struct rdn_order *taken = was != id ? rdn_orders_find(t, id, s->e->instrument) : NULL;
    if (!new_order_ok(s, side + 1))
        return;
    s->fault = s->fault || !taken ? s->fault : REDAN_FAULT_DUP_ADD;
    if (taken && !free_id(s->all, taken))
        return;
    remove_order(s, rdn_orders_find(t, was, s->e->instrument));                       /* free_id may have moved it */
    put_order(s, rdn_orders_place(t, id, s->e->instrument), id, side);
}

HOT void set_level(struct step *s) {
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

/* Actions that are rare, or long. */
static __attribute__((noinline)) uint8_t apply_other(struct rdn_books *all, struct rdn_book *b, const redan_mevent *e) {
    struct step s = { all, b, e, 0 };
    switch (e->action) {
    case REDAN_MARKET_MODIFY:  replace(&s, e->order_id); break;
    case REDAN_MARKET_REPLACE: replace(&s, e->other_id); break;
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

HOT uint8_t apply(struct rdn_books *all, struct rdn_book *b, const redan_mevent *e) {
    struct step s = { all, b, e, 0 };
    b->events++;
    switch (e->action) {
    case REDAN_MARKET_ADD:     add(&s); break;
    case REDAN_MARKET_REDUCE:
    case REDAN_MARKET_EXECUTE: reduce(&s); break;
    case REDAN_MARKET_DELETE:  delete(&s); break;
    case REDAN_MARKET_LEVEL:
        b->by_levels = true;
        set_level(&s);
        break;
    default:                   return apply_other(all, b, e);
    }
    return s.fault;
}

/* release: not before the odd number, and all before the even one. */
static inline void write_line(struct rdn_book_line *l, uint32_t flags, int64_t bid, int64_t bid_qty, int64_t ask, int64_t ask_qty, const redan_mevent *e, uint64_t events) {
#define WORD(i, v) atomic_store_explicit(&l->words[i], (uint64_t)(v), memory_order_release)
    uint32_t seq = atomic_load_explicit(&l->seq, memory_order_relaxed);
    atomic_store_explicit(&l->seq, seq + 1, memory_order_relaxed);
    atomic_store_explicit(&l->flags, flags, memory_order_release);
    WORD(0, bid);
    WORD(1, bid_qty);
    WORD(2, ask);
    WORD(3, ask_qty);
    WORD(4, e->ts_recv_ns);
    WORD(5, e->ts_event_ns);
    WORD(6, events);
    atomic_store_explicit(&l->seq, seq + 2, memory_order_release);
#undef WORD
}

/* Equal or crossed prices, outside an auction a fault. */
static uint8_t touching(struct rdn_books *all, struct rdn_book *b, const redan_mevent *e, bool equal) {
    uint8_t fault = equal ? REDAN_FAULT_LOCKED : REDAN_FAULT_CROSSED;
    if (e->flags & REDAN_MF_AUCTION)
        return 0;
    all->faults[fault]++;
    if (all->policy[fault] == REDAN_POLICY_INVALID)
        b->valid = false;
    return fault;
}

HOT uint8_t publish(struct rdn_books *all, struct rdn_book *b, const redan_mevent *e) {
    int64_t bid, bid_qty, ask, ask_qty;
    bool has_bid = rdn_levels_best(&b->levels, RDN_BID, &bid, &bid_qty), has_ask = rdn_levels_best(&b->levels, RDN_ASK, &ask, &ask_qty);
    uint32_t flags = (has_bid ? 0 : REDAN_BOOK_NO_BID) | (has_ask ? 0 : REDAN_BOOK_NO_ASK);
    uint8_t fault = 0;
    if (e->flags & REDAN_MF_SNAPSHOT)
        b->valid = b->whole;
    if (e->flags & REDAN_MF_AUCTION)
        flags |= REDAN_BOOK_AUCTION;
    if (__builtin_expect(has_bid && has_ask && bid >= ask, 0)) {
        flags |= bid == ask ? REDAN_BOOK_LOCKED : REDAN_BOOK_CROSSED;
        fault = touching(all, b, e, bid == ask);
    }
    flags |= b->valid ? REDAN_BOOK_VALID : 0;
    write_line(&b->line, flags, bid, bid_qty, ask, ask_qty, e, b->events);
    return fault;
}

uint8_t rdn_book_apply(struct rdn_books *all, const redan_mevent *e) { return apply(all, &all->book[e->instrument], e); }
uint8_t rdn_book_publish(struct rdn_books *all, struct rdn_book *b, const redan_mevent *e) { return publish(all, b, e); }

uint8_t rdn_book_event(struct rdn_books *all, const redan_mevent *e) {
    struct rdn_book *b = &all->book[e->instrument];
    uint8_t fault = apply(all, b, e), later = e->flags & REDAN_MF_LAST ? publish(all, b, e) : 0;
    return fault ? fault : later;
}

int rdn_book_read(const struct rdn_book_line *l, redan_book_line_data *ret) {
    for (unsigned tries = 0; tries < 64; tries++) {
        uint64_t w[RDN_LINE_WORDS];
        uint32_t seq = atomic_load_explicit(&l->seq, memory_order_acquire), flags = atomic_load_explicit(&l->flags, memory_order_acquire);
        for (unsigned i = 0; i < RDN_LINE_WORDS; i++)
            w[i] = atomic_load_explicit(&l->words[i], memory_order_acquire);         /* the second look at seq comes after */
        if ((seq & 1) || seq != atomic_load_explicit(&l->seq, memory_order_relaxed))
            continue;
        *ret = (redan_book_line_data){ seq, (uint16_t)flags, 0, (int64_t)w[0], (int64_t)w[1], (int64_t)w[2], (int64_t)w[3],
                                       (int64_t)w[4], (int64_t)w[5], w[6] };
        return 0;
    }
    return REDAN_E_BUSY;
}
