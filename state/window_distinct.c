/* SPDX-License-Identifier: Apache-2.0
 * window_distinct.c: how many different values (10.6), by their 64-bit hash H.
 *
 * over time, unbounded   exact up to C hashes, then sketches: one, or one for each of five coarse panes over time
 * over N events          exact: the ring's different hashes, counted
 *
 * update  [hot]  O(1) expected; changing from exact to sketches costs C
 * read    [hot]  O(1) after a read or an update that changed no register; else one pass over the live sketches.
 *                The first touch in a new pane scans the C hashes of the exact stage
 *
 * Exact hashes lie densely, with a small index of 8- or 16-bit numbers beside them, used from FEW + 1 hashes on: most keys have
 * few values, and the index would be one more cache line. Exact stage and sketches share memory.
 * Where a hash stands in the index depends on a secret of the process: values come from strangers. */
#include "state/hll.h"
#include "state/window_impl.h"

#include "base/hash.h"
#include "base/sym.h"

enum { FEW = 8 };                                        /* hashes that are searched one by one, without the index */
enum { COARSE = 5 };                                     /* floor(t/pc) - 4 ... floor(t/pc) */
enum { HASHES, PANES, INDEX, SKETCHES };                 /* off[] of the exact stage and of rings; sketches lie over both */
struct distinct_state {
    int64_t last_ns, head, coarse_head;
    int64_t estimate;                                    /* of the sketches, if known */
    uint16_t n;                                          /* hashes of the exact stage */
    uint8_t sketched, known, valid, pos;                 /* valid: coarse panes that exist; pos: ring slot of the coarse head */
};
struct ring_state { uint32_t pos, n, unique, free; };    /* next slot; filled; different hashes; free entry + 1 */

static uint64_t value_hash(const struct rdn_win *w, const struct rdn_cell *c) {
    double f;
    uint64_t bits;
    switch ((enum rdn_kind)w->vkind) {
    case RDN_K_SYM:
        return rdn_mix64(rdn_sym_hash(w->syms, (uint32_t)c->i));
    case RDN_K_STR:
        return rdn_mix64(rdn_fnv64(c->t.p, c->t.len));
    case RDN_K_FLOAT:
        f = c->f + 0.0;                                  /* -0.0 and 0.0 are one value */
        memcpy(&bits, &f, sizeof bits);
        return rdn_mix64(bits);
    default:
        return rdn_mix64((uint64_t)rdn_win_int(c));
    }
}

/* ---- a small index: entries are numbers from 1 in 8 or 16 bits, 0 is empty ---- */
static inline bool narrow(const struct rdn_win *w) { return w->slots < 255; }
static inline uint32_t index_get(const struct rdn_win *w, const char *st, uint32_t i) {
    const char *x = st + w->off[INDEX];
    return narrow(w) ? ((const uint8_t *)x)[i] : ((const uint16_t *)x)[i];
}
static inline void index_set(const struct rdn_win *w, char *st, uint32_t i, uint32_t v) {
    char *x = st + w->off[INDEX];
    if (narrow(w))
        ((uint8_t *)x)[i] = (uint8_t)v;
    else
        ((uint16_t *)x)[i] = (uint16_t)v;
}
static inline uint64_t *hashes(const struct rdn_win *w, char *st) { return (uint64_t *)(st + w->off[HASHES]); }
static inline uint16_t *panes(const struct rdn_win *w, char *st) { return (uint16_t *)(st + w->off[PANES]); }
static inline uint32_t home(const struct rdn_win *w, uint64_t h) { return (uint32_t)(h * w->secret >> 40) & w->mask; }

static void index_clear(const struct rdn_win *w, char *st) { memset(st + w->off[INDEX], 0, ((size_t)w->mask + 1) * (narrow(w) ? 1 : 2)); }

/* Index slot of hash h, or the empty one where it belongs. */
static uint32_t index_slot(const struct rdn_win *w, char *st, uint64_t h) {
    uint32_t i = home(w, h);
    for (uint32_t e; (e = index_get(w, st, i)) && hashes(w, st)[e - 1] != h;)
        i = (i + 1) & w->mask;
    return i;
}

static void index_remove(const struct rdn_win *w, char *st, uint32_t i) {
    uint32_t e;
    for (uint32_t j = (i + 1) & w->mask; (e = index_get(w, st, j)); j = (j + 1) & w->mask) {
        if (((j - home(w, hashes(w, st)[e - 1])) & w->mask) >= ((j - i) & w->mask)) {
            index_set(w, st, i, e);
            i = j;
        }
    }
    index_set(w, st, i, 0);
}

/* ---- exact stage ---- */
static void start_exact(struct distinct_state *s) {
    s->n = 0;
    s->sketched = s->known = 0;
}

static void make_index(const struct rdn_win *w, char *st, uint32_t n) {
    index_clear(w, st);
    for (uint32_t i = 0; i < n; i++)
        index_set(w, st, index_slot(w, st, hashes(w, st)[i]), i + 1);
}

/* The number of hash h, from 1; h is added where there is room. 0: it is not there and nothing is free. */
static uint32_t exact_entry(const struct rdn_win *w, struct distinct_state *s, uint64_t h) {
    char *st = (char *)s;
    uint64_t *all = hashes(w, st);
    uint32_t slot = 0, e;
    if (s->n <= FEW) {
        for (e = 0; e < s->n; e++)
            if (all[e] == h)
                return e + 1;
    } else if (slot = index_slot(w, st, h), (e = index_get(w, st, slot))) {
        return e;
    }
    if (s->n == w->slots)
        return 0;
    all[s->n++] = h;
    if (s->n == FEW + 1)
        make_index(w, st, s->n);
    else if (s->n > FEW)
        index_set(w, st, slot, s->n);
    return s->n;
}

/* Drops hashes last seen before head - P, the head having moved by d. Panes are kept modulo 2^16: none is older than P. */
static void expire(struct rdn_win *w, struct distinct_state *s, uint64_t d) {
    uint16_t *pane = panes(w, (char *)s);
    uint64_t *h = hashes(w, (char *)s);
    uint16_t old = (uint16_t)((uint64_t)s->head - d);
    uint32_t kept = 0, P = w->def->panes;
    for (uint32_t i = 0; i < s->n; i++) {
        if ((uint16_t)(old - pane[i]) + d > P)
            continue;
        h[kept] = h[i];
        pane[kept++] = pane[i];
    }
    if (kept == s->n)
        return;
    s->n = (uint16_t)kept;
    if (kept > FEW)
        make_index(w, (char *)s, kept);
}

/* ---- sketches ---- */
static void advance_coarse(struct rdn_win *w, struct distinct_state *s, int64_t now) {
    int64_t q = RDN_PANE_OF(w->coarse, now);
    if (q <= s->coarse_head)
        return;
    uint64_t d = (uint64_t)q - (uint64_t)s->coarse_head;
    s->coarse_head = q;
    for (uint64_t i = 0; i < d && i < COARSE; i++) {
        s->pos = (uint8_t)((s->pos + 1) % COARSE);
        if (s->valid >> s->pos & 1)
            s->known = 0;
        s->valid &= (uint8_t)~(1u << s->pos);
    }
    if (!s->valid)
        start_exact(s);
}

static void put_sketch(struct distinct_state *s, uint8_t *base, uint32_t pos, uint64_t h) {
    uint8_t *sketch = base + pos * RDN_HLL_BYTES;
    if (!(s->valid >> pos & 1)) {
        s->valid |= (uint8_t)(1u << pos);
        memset(sketch, 0, RDN_HLL_BYTES);
    }
    if (rdn_hll_put(sketch, h))
        s->known = 0;
}

/* Moves the exact hashes into sketches. A hash goes to the coarse pane in which its last pane ends (now, if that is later).
 * Where rounding makes that older than the oldest live one, it goes to the oldest live one: both leave together. */
static void start_sketches(struct rdn_win *w, struct distinct_state *s, int64_t now) {
    uint8_t made[COARSE * RDN_HLL_BYTES];
    const uint64_t *h = hashes(w, (char *)s);
    const uint16_t *pane = panes(w, (char *)s);
    s->sketched = 1;
    s->known = s->valid = s->pos = 0;
    s->coarse_head = w->over ? RDN_PANE_OF(w->coarse, now) : 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t pos = 0;
        uint16_t age = w->over ? (uint16_t)((uint16_t)s->head - pane[i]) : 0;
        if (age) {
            int64_t end = (int64_t)(((uint64_t)s->head - age + 1) * w->pane.width - 1);
            uint64_t back = (uint64_t)s->coarse_head - (uint64_t)rdn_floor_div(end, w->coarse.width);
            pos = (uint32_t)(COARSE - (back < COARSE ? back : COARSE - 1)) % COARSE;
        }
        put_sketch(s, made, pos, h[i]);
    }
    memcpy((char *)s + w->off[SKETCHES], made, w->over ? sizeof made : RDN_HLL_BYTES);
}

static void advance(struct rdn_win *w, struct distinct_state *s, int64_t now) {
    if (!w->over)
        return;
    if (s->sketched)
        advance_coarse(w, s, now);
    int64_t q = RDN_PANE_OF(w->pane, now);
    if (q <= s->head)
        return;
    uint64_t d = (uint64_t)q - (uint64_t)s->head;
    s->head = q;
    if (s->sketched || s->n == 0)
        return;
    if (d > w->def->panes)
        start_exact(s);
    else
        expire(w, s, d);
}

static void init(struct rdn_win *w, void *st, int64_t now) {
    struct distinct_state *s = st;
    *s = (struct distinct_state){ .last_ns = now, .head = w->over ? RDN_PANE_OF(w->pane, now) : 0 };
    start_exact(s);
}

static void update(struct rdn_win *w, void *st, int64_t now, const struct rdn_cell *val, int64_t span) {
    (void)span;
    struct distinct_state *s = st;
    uint64_t h = value_hash(w, val);
    advance(w, s, now);
    s->last_ns = now;
    if (!s->sketched) {
        uint32_t e = exact_entry(w, s, h);
        if (e) {
            if (w->over)
                panes(w, st)[e - 1] = (uint16_t)s->head;
            return;
        }
        start_sketches(w, s, now);
    }
    put_sketch(s, (uint8_t *)st + w->off[SKETCHES], s->pos, h);
}

static int64_t estimate(struct rdn_win *w, struct distinct_state *s) {
    if (s->known)
        return s->estimate;
    uint8_t regs[RDN_HLL_REGS] = { 0 };
    for (uint32_t i = 0; i < COARSE; i++)
        if (s->valid >> i & 1)
            rdn_hll_max(regs, (uint8_t *)s + w->off[SKETCHES] + i * RDN_HLL_BYTES);
    s->known = 1;
    return s->estimate = rdn_hll_estimate(regs);
}

static void put_count(const struct rdn_win *w, struct rdn_cell *ret, int64_t n) {
    if (n < (int64_t)w->warmup)
        ret->cause = RDN_CAUSE_COLD;
    else
        ret->i = n;
}

static void read(struct rdn_win *w, void *st, int64_t now, struct rdn_cell *ret) {
    struct distinct_state *s = st;
    advance(w, s, now);
    put_count(w, ret, s->sketched ? estimate(w, s) : s->n);
}

static bool dead(struct rdn_win *w, const void *st, int64_t now) {
    const struct distinct_state *s = st;
    int64_t width, q;
    uint64_t most;
    if (!w->over)
        return false;
    most = s->sketched ? COARSE - 1 : w->def->panes;
    width = (int64_t)(s->sketched ? w->coarse.width : w->pane.width);
    q = rdn_floor_div(now, (uint64_t)width);
    return (uint64_t)q - (uint64_t)rdn_floor_div(s->last_ns, (uint64_t)width) > most;
}

static void layout(struct rdn_win *w) {
    uint32_t C = w->def->exact ? w->def->exact : 64;
    w->slots = C;
    w->mask = rdn_small_index(C) - 1;
    w->coarse.width = w->over ? (w->over + 3) / 4 : 0;
    w->off[SKETCHES] = w->off[PANES] = sizeof(struct distinct_state);   /* the first of them in the line of the state's head */
    w->off[HASHES] = rdn_round8(w->off[PANES] + (w->over ? C * 2 : 0));
    w->off[INDEX] = w->off[HASHES] + C * 8;
    size_t exact = w->off[INDEX] + (size_t)(w->mask + 1) * (narrow(w) ? 1 : 2);
    size_t sketches = w->off[SKETCHES] + (w->over ? COARSE : 1) * RDN_HLL_BYTES;
    w->state_bytes = rdn_round8(exact > sketches ? exact : sketches);
}

/* ---- over N events: entries of different hashes, each with its number of ring slots; the ring holds entry numbers ---- */
static inline uint16_t *uses(const struct rdn_win *w, char *st) { return panes(w, st) + w->slots; }   /* of free entries: the next one + 1 */

static void ring_init(struct rdn_win *w, void *st, int64_t now) {
    (void)now;
    *(struct ring_state *)st = (struct ring_state){ 0 };
    index_clear(w, st);
}

static void ring_drop(struct rdn_win *w, struct ring_state *s, uint32_t e) {
    char *st = (char *)s;
    if (--uses(w, st)[e])
        return;
    index_remove(w, st, index_slot(w, st, hashes(w, st)[e]));
    uses(w, st)[e] = (uint16_t)s->free;
    s->free = e + 1;
    s->unique--;
}

/* The entry of a hash that is not there yet. Entries ever handed out are as many as the ring has slots: one was just freed,
 * or the ring is not full. */
static uint32_t ring_entry(struct rdn_win *w, struct ring_state *s, uint64_t h) {
    char *st = (char *)s;
    uint32_t slot = index_slot(w, st, h), e = index_get(w, st, slot);
    if (e)
        return e - 1;
    if (s->free) {
        e = s->free - 1;
        s->free = uses(w, st)[e];
    } else {
        e = s->unique;                                   /* nothing is free: entries 0 ... unique - 1 are in use */
    }
    s->unique++;
    hashes(w, st)[e] = h;
    uses(w, st)[e] = 0;
    index_set(w, st, slot, e + 1);
    return e;
}

static void ring_update(struct rdn_win *w, void *st, int64_t now, const struct rdn_cell *val, int64_t span) {
    (void)now, (void)span;
    struct ring_state *s = st;
    uint16_t *ring = panes(w, st);
    if (s->n == w->slots)
        ring_drop(w, s, ring[s->pos]);
    else
        s->n++;
    uint32_t e = ring_entry(w, s, value_hash(w, val));
    uses(w, st)[e]++;
    ring[s->pos] = (uint16_t)e;
    s->pos = s->pos + 1 == w->slots ? 0 : s->pos + 1;
}

static void ring_read(struct rdn_win *w, void *st, int64_t now, struct rdn_cell *ret) {
    (void)now;
    put_count(w, ret, ((struct ring_state *)st)->unique);
}

static void ring_layout(struct rdn_win *w) {
    w->slots = w->def->events;
    w->mask = rdn_small_index(w->slots) - 1;
    w->off[HASHES] = sizeof(struct ring_state);
    w->off[PANES] = w->off[HASHES] + w->slots * 8;       /* the ring, then the uses */
    w->off[INDEX] = w->off[PANES] + w->slots * 4;
    w->state_bytes = rdn_round8(w->off[INDEX] + (size_t)(w->mask + 1) * (narrow(w) ? 1 : 2));
}

static struct rdn_word word(struct rdn_win *w, void *st, int64_t now) {
    struct rdn_cell c = { .cause = RDN_DEFINED };
    w->ops->read(w, st, now, &c);
    return rdn_win_word_of(w, &c);
}

static const struct rdn_win_ops row = { layout, init, update, read, word, dead };
static const struct rdn_win_ops ring_row = { ring_layout, ring_init, ring_update, ring_read, word, NULL };
const struct rdn_win_ops *rdn_distinct_ops(const struct rdn_window *d) { return d->events ? &ring_row : &row; }
