/* SPDX-License-Identifier: Apache-2.0
 * orders.h: the live orders of one feed: open addressing, 32 bytes an order, at most half full.
 *
 *   find, place, add, remove    O(1); linear probing, removal shifts the rest of the run back
 *
 * A slot with qty 0 is free, so that every 64-bit id is legal. Pointers into the table are good until the next add or remove. */
#ifndef RDN_ORDERS_H
#define RDN_ORDERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dec.h"
#include "base/hash.h"
#include "base/mem.h"

struct rdn_order {
    uint64_t id;
    int64_t  px, qty;
    uint32_t place;                      /* instrument * 2 + side */
    uint32_t spare;
};
struct rdn_orders {
    struct rdn_order *slots;
    uint32_t mask, n, max, peak;
    bool by_instrument;                  /* ids are unique within an instrument only */
    size_t bytes;
};
/* Zeroed address space that is committed by use; NULL. */
void *rdn_market_reserve(size_t bytes);
void  rdn_market_release(void *, size_t bytes);          /* takes NULL */
static inline size_t rdn_up64(size_t n) { return (n + 63) & ~(size_t)63; }        /* whole cache lines */
int  rdn_orders_open(struct rdn_orders *, uint32_t max, bool by_instrument);      /* NOMEM; address space, committed by use */
void rdn_orders_close(struct rdn_orders *);

static inline uint32_t rdn_orders_home(const struct rdn_orders *t, uint64_t id, uint32_t instrument) {
    rdn_u128 wide = (rdn_u128)(t->by_instrument ? id ^ (uint64_t)instrument << 40 : id) * 0x9e3779b97f4a7c15u;      /* one multiplication long */
    return (uint32_t)((uint64_t)(wide >> 64) ^ (uint64_t)wide) & t->mask;
}
/* The place of an id: the slot that has it, or the free one where it belongs. */
static inline struct rdn_order *rdn_orders_place(const struct rdn_orders *t, uint64_t id, uint32_t instrument) {
    for (uint32_t i = rdn_orders_home(t, id, instrument);; i = (i + 1) & t->mask) {
        struct rdn_order *o = &t->slots[i];
        if (!o->qty || (o->id == id && (!t->by_instrument || o->place >> 1 == instrument)))
            return o;
    }
}
static inline struct rdn_order *rdn_orders_find(const struct rdn_orders *t, uint64_t id, uint32_t instrument) {
    struct rdn_order *o = rdn_orders_place(t, id, instrument);
    return o->qty ? o : NULL;
}
/* always_inline: gcc takes a function that only prefetches for one without effect and drops its calls. */
static inline __attribute__((always_inline)) void rdn_orders_prefetch(const struct rdn_orders *t, uint64_t id, uint32_t instrument) {
    __builtin_prefetch(&t->slots[rdn_orders_home(t, id, instrument)], 1);
}
/* Into a free place that rdn_orders_place gave; there must be fewer than max. */
static inline void rdn_orders_put(struct rdn_orders *t, struct rdn_order *at, struct rdn_order o) {
    *at = o;
    if (++t->n > t->peak)
        t->peak = t->n;
}
/* The id must not be there. False: full. */
bool rdn_orders_add(struct rdn_orders *, struct rdn_order);
void rdn_orders_remove(struct rdn_orders *, struct rdn_order *);
void rdn_orders_clear(struct rdn_orders *, uint32_t instrument);     /* O(slots) */
void rdn_orders_clear_all(struct rdn_orders *);                      /* O(slots) */
#endif
