/* SPDX-License-Identifier: Apache-2.0
 * levels.h: the price levels of one book: a window around the best price, and a map for what lies elsewhere.
 *
 *   add, take, set, get     O(1); a new best price may move the window: O(levels that leave or enter)
 *   next                    the next worse level in the window by bitmap; beyond it by a search of the map
 *
 * A side keeps its prices as keys that grow towards the market: the price for bids, its complement for asks. So best is the largest
 * key of either side, and there is one direction to look in. Slot = price mod window: a ring, whose levels stay where they are when
 * the window moves. Both sides of 64 prices lie together, and so do their bits: what is near the market is in few lines and pages.
 *
 * The best level of a side is always in its window. A side must not be asked for prices beyond RDN_PX_MAX. */
#ifndef RDN_LEVELS_H
#define RDN_LEVELS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDN_PX_MAX ((int64_t)1 << 60)
enum { RDN_BID, RDN_ASK, RDN_SIDES };

struct rdn_level { int64_t qty; uint32_t orders, first; };           /* qty 0: no level */
struct rdn_far_level { int64_t px, qty; uint32_t orders, place; };   /* place: side + 1; 0: free */
struct rdn_side {
    int64_t lo, best;                    /* keys; the window is [lo, lo + size) */
    uint32_t count, in_far;              /* levels, all and in the map */
};
struct rdn_levels {                      /* what every event needs is in the first line */
    struct rdn_side side[RDN_SIDES];
    struct rdn_level *win;               /* 64 bids, 64 asks of the same prices, the next 64 */
    uint64_t *bits;                      /* a bit a key: a word of bids, one of asks of the same prices, the next */
    uint64_t *words[RDN_SIDES];          /* a bit a word of bits, in the order of keys */
    struct rdn_far_level *far;
    uint32_t size, far_cap, far_count;   /* powers of two */
    uint64_t moves;                      /* times a window went elsewhere */
};

size_t rdn_levels_bytes(uint32_t window, uint32_t far);
/* `zeros`: rdn_levels_bytes of zeroed memory, aligned to 64; it stays the caller's. */
void rdn_levels_init(struct rdn_levels *, void *zeros, uint32_t window, uint32_t far);
void rdn_levels_clear(struct rdn_levels *, unsigned side);

/* One order more with qty > 0, or with orders 0 quantity alone. False: the map is full or the sum too large; nothing changed. */
bool rdn_levels_add(struct rdn_levels *, unsigned side, int64_t px, int64_t qty, uint32_t orders);
/* Takes at most qty; returns what there was. A level without quantity is gone, whatever orders it counted. */
int64_t rdn_levels_take(struct rdn_levels *, unsigned side, int64_t px, int64_t qty, uint32_t orders);
bool rdn_levels_set(struct rdn_levels *, unsigned side, int64_t px, int64_t qty, uint32_t orders);
int64_t rdn_levels_qty(const struct rdn_levels *, unsigned side, int64_t px);

static inline int64_t rdn_levels_key(unsigned side, int64_t px) { return px ^ -(int64_t)side; }         /* and back */
static inline struct rdn_level *rdn_levels_slot(const struct rdn_levels *l, unsigned side, int64_t px) {
    uint64_t at = (uint64_t)px & (l->size - 1);
    return &l->win[(at & ~63ull) * 2 + side * 64 + (at & 63)];
}
/* The word of bits that has key word w (key / 64). */
static inline uint64_t *rdn_levels_bits(const struct rdn_levels *l, unsigned side, int64_t w) {
    return &l->bits[((uint64_t)rdn_levels_key(side, w) & (l->size / 64 - 1)) * 2 + side];
}
static inline bool rdn_levels_best(const struct rdn_levels *l, unsigned side, int64_t *ret_px, int64_t *ret_qty) {
    const struct rdn_side *s = &l->side[side];
    *ret_px = *ret_qty = 0;
    if (!s->count)
        return false;
    *ret_px = rdn_levels_key(side, s->best);
    *ret_qty = rdn_levels_slot(l, side, *ret_px)->qty;
    return true;
}
/* The level of a price that the window holds, or NULL. */
static inline struct rdn_level *rdn_levels_near(const struct rdn_levels *l, unsigned side, int64_t px) {
    return (uint64_t)rdn_levels_key(side, px) - (uint64_t)l->side[side].lo < l->size ? rdn_levels_slot(l, side, px) : NULL;
}
/* As add and take, for levels of the window that were there and stay. */
static inline bool rdn_levels_add_fast(struct rdn_levels *l, unsigned side, int64_t px, int64_t qty) {
    struct rdn_level *v = rdn_levels_near(l, side, px);
    int64_t sum;
    if (!v || !v->qty || __builtin_add_overflow(v->qty, qty, &sum))
        return rdn_levels_add(l, side, px, qty, 1);
    v->qty = sum;
    v->orders++;
    return true;
}
static inline int64_t rdn_levels_take_fast(struct rdn_levels *l, unsigned side, int64_t px, int64_t qty, uint32_t orders) {
    struct rdn_level *v = rdn_levels_near(l, side, px);
    if (!v || v->qty <= qty || v->orders < orders)
        return rdn_levels_take(l, side, px, qty, orders);
    v->qty -= qty;
    v->orders -= orders;
    return qty;
}
/* always_inline: as rdn_orders_prefetch. */
static inline __attribute__((always_inline)) void rdn_levels_prefetch(const struct rdn_levels *l, unsigned side, int64_t px) {
    __builtin_prefetch(rdn_levels_slot(l, side, px), 1);
    __builtin_prefetch(rdn_levels_bits(l, side, rdn_levels_key(side, px) >> 6), 1);
}
/* The best level worse than *px (first: the best of all, with *started false). */
bool rdn_levels_next(const struct rdn_levels *, unsigned side, bool *started, int64_t *px, struct rdn_level *ret);
#endif
