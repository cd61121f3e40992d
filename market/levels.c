/* SPDX-License-Identifier: Apache-2.0
 * levels.c: the ring window with its bitmap, and the map of far levels (levels.h). */
#include "market/levels.h"

#include <string.h>

#include "base/hash.h"
#include "market/orders.h"

static size_t words_of(uint32_t window) { return (window / 64 + 63) / 64; }

size_t rdn_levels_bytes(uint32_t window, uint32_t far) {
    size_t side = window * sizeof(struct rdn_level) + window / 8 + words_of(window) * 8;
    return rdn_up64(RDN_SIDES * side) + rdn_up64(far * sizeof(struct rdn_far_level));
}

void rdn_levels_init(struct rdn_levels *l, void *zeros, uint32_t window, uint32_t far) {
    *l = (struct rdn_levels){ .size = window, .far_cap = far, .win = zeros };
    l->bits = (uint64_t *)(l->win + RDN_SIDES * window);
    l->words[RDN_BID] = l->bits + RDN_SIDES * (window / 64);
    l->words[RDN_ASK] = l->words[RDN_BID] + words_of(window);
    l->far = (struct rdn_far_level *)((char *)zeros + rdn_up64((size_t)((char *)(l->words[RDN_ASK] + words_of(window)) - (char *)zeros)));
}

/* --- the map of far levels: linear probing, removal shifts the rest of the run back --- */

static uint32_t far_home(const struct rdn_levels *l, unsigned side, int64_t px) {
    return (uint32_t)rdn_mix64((uint64_t)px * 2 + side) & (l->far_cap - 1);
}

static struct rdn_far_level *far_find(const struct rdn_levels *l, unsigned side, int64_t px) {
    for (uint32_t i = far_home(l, side, px);; i = (i + 1) & (l->far_cap - 1)) {
        struct rdn_far_level *f = &l->far[i];
        if (!f->place || (f->px == px && f->place == side + 1))
            return f;
    }
}

/* A quarter stays free, so that a search ends soon. */
static bool far_has_room(const struct rdn_levels *l) { return l->far_count < l->far_cap / 4 * 3; }

static void far_put(struct rdn_levels *l, unsigned side, int64_t px, struct rdn_level v) {
    struct rdn_far_level *f = far_find(l, side, px);
    if (!f->place) {
        l->far_count++;
        l->side[side].in_far++;
    }
    *f = (struct rdn_far_level){ px, v.qty, v.orders, side + 1 };
}

static void far_remove(struct rdn_levels *l, struct rdn_far_level *f) {
    uint32_t hole = (uint32_t)(f - l->far), mask = l->far_cap - 1;
    l->side[f->place - 1].in_far--;
    l->far_count--;
    for (uint32_t i = (hole + 1) & mask; l->far[i].place; i = (i + 1) & mask) {
        uint32_t home = far_home(l, l->far[i].place - 1, l->far[i].px);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            l->far[hole] = l->far[i];
            hole = i;
        }
    }
    l->far[hole].place = 0;
}

/* --- the window --- */

static bool inside(const struct rdn_levels *l, const struct rdn_side *s, int64_t k) {
    return (uint64_t)k - (uint64_t)s->lo < l->size;
}

static struct rdn_level *slot_of(const struct rdn_levels *l, unsigned side, int64_t k) { return rdn_levels_slot(l, side, rdn_levels_key(side, k)); }

static void mark(struct rdn_levels *l, unsigned side, int64_t k) {
    uint32_t word = (uint32_t)(k >> 6) & (l->size / 64 - 1);
    *rdn_levels_bits(l, side, k >> 6) |= 1ull << (k & 63);
    l->words[side][word >> 6] |= 1ull << (word & 63);
}

static void unmark(struct rdn_levels *l, unsigned side, int64_t k) {
    uint32_t word = (uint32_t)(k >> 6) & (l->size / 64 - 1);
    if (!(*rdn_levels_bits(l, side, k >> 6) &= ~(1ull << (k & 63))))
        l->words[side][word >> 6] &= ~(1ull << (word & 63));
}

/* The largest marked key in [lo, k]. A bit of a key above k, which the ring shows as a smaller one, is met only when all of [lo, k]
 * has been seen. */
static bool scan_down(const struct rdn_levels *l, unsigned side, int64_t k, int64_t *ret) {
    const struct rdn_side *s = &l->side[side];
    if (k < s->lo)
        return false;
    uint32_t mask = l->size / 64 - 1;
    int64_t w = k >> 6, first = s->lo >> 6;
    uint64_t bits = *rdn_levels_bits(l, side, w) & ~0ull >> (63 - (k & 63));
    while (!bits) {
        if (--w < first)
            return false;
        uint32_t at = (uint32_t)(w & mask);
        uint64_t some = l->words[side][at >> 6] & ~0ull >> (63 - (at & 63));
        if (!some) {
            w -= at & 63;                /* the loop steps into the word of words below */
            continue;
        }
        w -= at - ((at & ~63u) | (63 - (uint32_t)__builtin_clzll(some)));
        if (w < first)
            return false;
        bits = *rdn_levels_bits(l, side, w);
    }
    *ret = (w * 64) | (63 - __builtin_clzll(bits));
    return true;
}

/* Levels of [from, to), within the window, go to the map. */
static void push_out(struct rdn_levels *l, unsigned side, int64_t from, int64_t to) {
    for (int64_t w = from >> 6; w < to >> 6; w++) {
        uint64_t *bits = rdn_levels_bits(l, side, w);
        while (*bits) {
            int64_t k = (w * 64) | __builtin_ctzll(*bits);
            struct rdn_level *v = slot_of(l, side, k);
            far_put(l, side, rdn_levels_key(side, k), *v);
            *v = (struct rdn_level){ 0 };
            unmark(l, side, k);
        }
    }
}

/* Levels of the map that the window covers come in. A removal moves later ones of its run into its place, which is looked at again. */
static void pull_in(struct rdn_levels *l, unsigned side) {
    struct rdn_side *s = &l->side[side];
    for (uint32_t i = 0; i < l->far_cap;) {
        struct rdn_far_level *f = &l->far[i], v = *f;
        int64_t k = rdn_levels_key(side, v.px);
        if (v.place != side + 1 || !inside(l, s, k)) {
            i++;
            continue;
        }
        far_remove(l, f);
        *slot_of(l, side, k) = (struct rdn_level){ v.qty, v.orders, 0 };
        mark(l, side, k);
    }
}

static uint32_t marked(const struct rdn_levels *l, unsigned side, int64_t from, int64_t to) {
    uint32_t n = 0;
    for (int64_t w = from >> 6; w < to >> 6; w++)
        n += (uint32_t)__builtin_popcountll(*rdn_levels_bits(l, side, w));
    return n;
}

/* Moves the window so that k is in its middle. False when the map cannot take what leaves. */
static bool centre(struct rdn_levels *l, unsigned side, int64_t k) {
    struct rdn_side *s = &l->side[side];
    int64_t lo = (k - l->size / 2) & ~(int64_t)63, hi = s->lo + l->size;
    int64_t from = s->lo, to = lo < hi ? lo : hi;                 /* what leaves when it moves up */
    if (lo < s->lo) {
        from = lo + l->size > s->lo ? lo + l->size : s->lo;
        to = hi;
    }
    if (s->count && l->far_count + marked(l, side, from, to) > l->far_cap / 4 * 3)
        return false;
    push_out(l, side, from, to);
    s->lo = lo;
    l->moves++;
    if (s->in_far)
        pull_in(l, side);
    return true;
}

static bool in_middle(const struct rdn_levels *l, const struct rdn_side *s, int64_t k) {
    return (uint64_t)k - (uint64_t)(s->lo + l->size / 4) < l->size / 2;
}

/* The best level is gone: finds the next one. */
static void find_best(struct rdn_levels *l, unsigned side) {
    struct rdn_side *s = &l->side[side];
    if (!s->count)
        return;
    if (!scan_down(l, side, s->best, &s->best)) {
        bool found = false;
        for (uint32_t i = 0; i < l->far_cap; i++) {
            int64_t k = rdn_levels_key(side, l->far[i].px);
            if (l->far[i].place == side + 1 && (!found || k > s->best)) {
                s->best = k;
                found = true;
            }
        }
    }
    /* An empty window has nothing to push out, so that this cannot fail when it must not; otherwise the level stays where it is. */
    if (!in_middle(l, s, s->best))
        (void)centre(l, side, s->best);
}

/* Makes room for key k where it belongs; *ret_far says that this is the map. */
static bool open_level(struct rdn_levels *l, unsigned side, int64_t k, bool *ret_far) {
    struct rdn_side *s = &l->side[side];
    if (!s->count) {
        if (!in_middle(l, s, k))
            (void)centre(l, side, k);
        s->best = k;
    } else if (k > s->best) {
        if (!in_middle(l, s, k) && !centre(l, side, k) && !inside(l, s, k))
            return false;
        s->best = k;
    }
    *ret_far = !inside(l, s, k);
    if (*ret_far && !far_has_room(l))
        return false;
    s->count++;
    return true;
}

bool rdn_levels_set(struct rdn_levels *l, unsigned side, int64_t px, int64_t qty, uint32_t orders) {
    struct rdn_side *s = &l->side[side];
    int64_t k = rdn_levels_key(side, px);
    if (qty == 0) {
        rdn_levels_take(l, side, px, INT64_MAX, UINT32_MAX);
        return true;
    }
    bool far = !inside(l, s, k), is_new = far ? !far_find(l, side, px)->place : !slot_of(l, side, k)->qty;
    if (is_new && !open_level(l, side, k, &far))
        return false;
    struct rdn_level v = { qty, orders, 0 };
    if (far) {
        far_put(l, side, px, v);
    } else {
        *slot_of(l, side, k) = v;
        mark(l, side, k);
    }
    return true;
}

bool rdn_levels_add(struct rdn_levels *l, unsigned side, int64_t px, int64_t qty, uint32_t orders) {
    struct rdn_side *s = &l->side[side];
    int64_t k = rdn_levels_key(side, px), sum;
    struct rdn_level *v = slot_of(l, side, k);
    if (__builtin_expect(inside(l, s, k) && v->qty, 1)) {
        if (__builtin_add_overflow(v->qty, qty, &sum))
            return false;
        v->qty = sum;
        v->orders += orders;
        return true;
    }
    struct rdn_far_level *f = inside(l, s, k) ? NULL : far_find(l, side, px);
    if (!f || !f->place)
        return rdn_levels_set(l, side, px, qty, orders);
    if (__builtin_add_overflow(f->qty, qty, &sum))
        return false;
    f->qty = sum;
    f->orders += orders;
    return true;
}

static int64_t take_from(int64_t *qty, uint32_t *orders, int64_t want, uint32_t gone) {
    int64_t got = *qty < want ? *qty : want;
    *qty -= got;
    *orders -= *orders < gone ? *orders : gone;
    return got;
}

int64_t rdn_levels_take(struct rdn_levels *l, unsigned side, int64_t px, int64_t qty, uint32_t orders) {
    struct rdn_side *s = &l->side[side];
    int64_t k = rdn_levels_key(side, px);
    if (!inside(l, s, k)) {
        struct rdn_far_level *f = far_find(l, side, px);
        if (!f->place)
            return 0;
        int64_t got = take_from(&f->qty, &f->orders, qty, orders);
        if (!f->qty) {
            far_remove(l, f);
            s->count--;
        }
        return got;
    }
    struct rdn_level *v = slot_of(l, side, k);
    int64_t got = take_from(&v->qty, &v->orders, qty, orders);
    if (got && !v->qty) {
        *v = (struct rdn_level){ 0 };
        unmark(l, side, k);
        s->count--;
        if (k == s->best)
            find_best(l, side);
    }
    return got;
}

int64_t rdn_levels_qty(const struct rdn_levels *l, unsigned side, int64_t px) {
    const struct rdn_side *s = &l->side[side];
    int64_t k = rdn_levels_key(side, px);
    if (inside(l, s, k))
        return slot_of(l, side, k)->qty;
    const struct rdn_far_level *f = far_find(l, side, px);
    return f->place ? f->qty : 0;
}

void rdn_levels_clear(struct rdn_levels *l, unsigned side) {
    struct rdn_side *s = &l->side[side];
    if (!s->count)
        return;
    for (uint32_t w = 0; w < l->size / 64; w++)
        if (*rdn_levels_bits(l, side, w)) {
            memset(rdn_levels_slot(l, side, rdn_levels_key(side, w) * 64), 0, 64 * sizeof *l->win);
            *rdn_levels_bits(l, side, w) = 0;
        }
    memset(l->words[side], 0, words_of(l->size) * 8);
    for (uint32_t i = 0; s->in_far && i < l->far_cap;) {            /* as pull_in */
        if (l->far[i].place == side + 1)
            far_remove(l, &l->far[i]);
        else
            i++;
    }
    s->count = 0;
}

/* The best far level below key `below`. */
static bool next_far(const struct rdn_levels *l, unsigned side, int64_t below, int64_t *ret_k, struct rdn_level *ret) {
    bool found = false;
    for (uint32_t i = 0; l->side[side].in_far && i < l->far_cap; i++) {
        const struct rdn_far_level *f = &l->far[i];
        int64_t k = rdn_levels_key(side, f->px);
        if (f->place == side + 1 && k < below && (!found || k > *ret_k)) {
            *ret_k = k;
            *ret = (struct rdn_level){ f->qty, f->orders, 0 };
            found = true;
        }
    }
    return found;
}

bool rdn_levels_next(const struct rdn_levels *l, unsigned side, bool *started, int64_t *px, struct rdn_level *ret) {
    const struct rdn_side *s = &l->side[side];
    int64_t k = *started ? rdn_levels_key(side, *px) - 1 : s->best, at;
    if (!s->count)
        return false;
    *started = true;
    /* Far levels lie below the window: the window covers best, and nothing is above that. */
    bool near = inside(l, s, k) && scan_down(l, side, k, &at);
    if (near)
        *ret = *slot_of(l, side, at);
    else if (!next_far(l, side, k + 1, &at, ret))
        return false;
    *px = rdn_levels_key(side, at);
    return true;
}
