/* SPDX-License-Identifier: Apache-2.0
 * window_pane.c: time windows in panes (10.5).
 *
 * update, read   [hot]   O(1) within a pane; the first touch in a new pane costs the panes that leave, and for float sums, min, max
 *                        and stddev one merge over the panes that hold something. Time jumps cost the same, however far.
 *
 * A state keeps the last P + 1 panes in a ring, a bit for each that holds something, and the total. Counts and integer sums
 * are exact, so what leaves is subtracted; everything whose result depends on the order of operations is recomputed from the
 * oldest pane to the newest, as 10.5 spells it. The newest value is the same for the last pane and for the total: it is kept
 * once. Counts per pane have 16 bits where only the warm-up (at most 4,096) asks for them, and stop at their maximum; where
 * they are values they have 32 bits, and a key with more updates in one pane reads undefined(overflow) until it leaves. */
#include "state/window_rows.h"

struct pane_state {
    int64_t last_ns, head;                               /* time of the newest update; index of the newest pane */
    uint64_t n;
    uint32_t pos, full;                                  /* ring slot of the head; a live pane's count stopped */
    union { double f[2]; struct rdn_wide wide; int64_t i; } t;   /* total: sum; mean and m2; least or greatest (8 bytes); else absent */
};
enum { BITS, COUNTS, VALUES, NEWEST };                   /* off[] */

static inline bool exact_count(enum acc k) { return k == COUNT || k == AVG || k == SPREAD; }
static inline uint64_t *bits_of(const struct rdn_win *w, struct pane_state *s) { return (uint64_t *)((char *)s + w->off[BITS]); }
static inline char *value_at(const struct rdn_win *w, struct pane_state *s, uint64_t i) {
    return (char *)s + w->off[VALUES] + (size_t)i * w->vsize;
}
static inline uint32_t count_at(const struct rdn_win *w, struct pane_state *s, uint64_t i, enum acc k) {
    const char *c = (char *)s + w->off[COUNTS];
    return exact_count(k) ? ((const uint32_t *)c)[i] : ((const uint16_t *)c)[i];
}
static inline void set_count(const struct rdn_win *w, struct pane_state *s, uint32_t i, enum acc k, uint32_t n) {
    char *c = (char *)s + w->off[COUNTS];
    if (exact_count(k))
        ((uint32_t *)c)[i] = n;
    else
        ((uint16_t *)c)[i] = (uint16_t)n;
}

/* Bits of word w that lie in [from, end). */
static inline uint64_t range_word(const uint64_t *bits, uint32_t w, uint32_t from, uint32_t end) {
    uint64_t b = bits[w];
    if (from > w * 64)
        b &= UINT64_MAX << from % 64;
    if (end < w * 64 + 64)
        b &= (1ull << end % 64) - 1;
    return b;
}
#define FOR_RANGE(i, bits, from, end)                                                                                \
    for (uint32_t w_ = (from) / 64; w_ * 64 < (end); w_++)                                                             \
        for (uint64_t b_ = range_word((bits), w_, (from), (end)), i; b_ && (i = w_ * 64 + (uint32_t)__builtin_ctzll(b_), true); b_ &= b_ - 1)
/* Every pane that holds something, oldest first: the slots after the head's, then those up to it. */
#define FOR_PANES(i, w, s)                                                                                          \
    for (uint32_t part_ = 0; part_ < 2; part_++)                                                                    \
        FOR_RANGE(i, bits_of((w), (s)), part_ ? 0 : (s)->pos + 1, part_ ? (s)->pos + 1 : (w)->slots)

static void forget_panes(const struct rdn_win *w, struct pane_state *s) {
    /* Nothing, one or two words of total, then mostly one word of bits. Volatile, or the compiler makes a call of memset of it,
     * which costs more than the stores. */
    volatile uint64_t *from = (uint64_t *)((char *)s + offsetof(struct pane_state, t)), *end = bits_of(w, s) + (w->slots + 63) / 64;
    s->n = 0;
    s->full = 0;
    do
        *from = 0;
    while (++from < end);
}

static void pane_init(struct rdn_win *w, void *st, int64_t now) {
    struct pane_state *s = st;
    s->last_ns = now;
    s->head = RDN_PANE_OF(w->pane, now);
    s->pos = 0;
    forget_panes(w, s);
}

/* Drops the panes in slots [from, end). */
static inline void drop_range(const struct rdn_win *w, struct pane_state *s, uint32_t from, uint32_t end, enum acc k) {
    uint64_t *bits = bits_of(w, s);
    FOR_RANGE(i, bits, from, end) {
        bits[i / 64] &= ~(1ull << i % 64);
        s->n -= count_at(w, s, i, k);
        if (is_wide(w, k)) {
            struct rdn_wide p;
            memcpy(&p, value_at(w, s, i), sizeof p);
            s->t.wide = rdn_wide_of(rdn_wide_get(s->t.wide) - rdn_wide_get(p));
        }
    }
}

static inline void merge_spread(struct pane_state *s, uint64_t *n, const double *b, uint32_t bn) {
    if (*n == 0) {
        s->t.f[0] = b[0];
        s->t.f[1] = b[1];
    } else {
        double d = b[0] - s->t.f[0], r = (double)bn / (double)(*n + bn);
        s->t.f[1] = (s->t.f[1] + b[1]) + (d * d) * ((double)*n * r);
        s->t.f[0] = s->t.f[0] + d * r;
    }
    *n += bn;
}

/* m and the panes of slots [from, end), in order. */
static inline double add_range(double m, const uint64_t *bits, const double *v, uint32_t from, uint32_t end) {
    for (uint32_t w = from / 64; w * 64 < end; w++) {
        const double *at = v + (size_t)w * 64;
        for (uint64_t b = range_word(bits, w, from, end); b; b &= b - 1)
            m = m + at[(unsigned)__builtin_ctzll(b)];
    }
    return m;
}
static inline double float_sum(const struct rdn_win *w, struct pane_state *s) {
    const double *v = (const double *)(const void *)value_at(w, s, 0);
    const uint64_t *bits = bits_of(w, s);
    return add_range(add_range(0.0, bits, v, s->pos + 1, w->slots), bits, v, 0, s->pos + 1);
}
/* The total of what is order dependent, from the oldest pane to the newest. */
static inline void recompute(const struct rdn_win *w, struct pane_state *s, enum acc k) {
    if (k == SUM || k == AVG) {
        s->t.f[0] = float_sum(w, s);
        return;
    }
    bool some = false;
    uint64_t n = 0;
    double m = 0.0;
    int64_t mi = 0;
    if (k == SPREAD)
        s->t.f[0] = s->t.f[1] = 0.0;
    FOR_PANES(i, w, s) {
        const char *v = value_at(w, s, i);
        if (k == SPREAD) {
            double b[2] = { rdn_load_f64(v), rdn_load_f64(v + 8) };
            merge_spread(s, &n, b, count_at(w, s, i, k));
        } else if (is_float(w)) {
            double x = rdn_load_f64(v);
            m = !some || (k == MIN ? x < m : x > m) ? x : m;
        } else {
            int64_t x = rdn_load_i64(v);
            mi = !some || (k == MIN ? x < mi : x > mi) ? x : mi;
        }
        some = true;
    }
    if (k == SPREAD)
        return;
    if (is_float(w))
        s->t.f[0] = m;
    else
        s->t.i = mi;
}

static inline bool depends_on_order(const struct rdn_win *w, enum acc k) {
    return k == MIN || k == MAX || k == SPREAD || ((k == SUM || k == AVG) && is_float(w));
}

/* By d < slots panes: what falls out of the ring is dropped. */
static __attribute__((noinline)) void turn(struct rdn_win *w, struct pane_state *s, uint32_t d, enum acc k) {
    uint32_t from = s->pos + 1, end = from + d;
    drop_range(w, s, from, end < w->slots ? end : w->slots, k);
    if (end > w->slots)
        drop_range(w, s, 0, end - w->slots, k);
    s->pos = end - 1 < w->slots ? end - 1 : end - 1 - w->slots;
    if (s->full) {
        s->full = 0;
        FOR_PANES(i, w, s)
            s->full |= count_at(w, s, i, k) == UINT32_MAX;
    }
    if (depends_on_order(w, k))
        recompute(w, s, k);
}

static __attribute__((noinline)) void move_on(struct rdn_win *w, struct pane_state *s, int64_t now, enum acc k) {
    int64_t q = RDN_PANE_OF(w->pane, now);
    if (q <= s->head)
        return;
    uint64_t d = (uint64_t)q - (uint64_t)s->head;
    s->head = q;
    if (d >= w->slots)
        forget_panes(w, s);
    else
        turn(w, s, (uint32_t)d, k);
}

/* To the pane of now. No call in the common case, the pane used last: it saves no registers. */
static inline void advance(struct rdn_win *w, struct pane_state *s, int64_t now, enum acc k) {
    if (__builtin_expect((uint64_t)now - w->pane.lo >= w->pane.width || w->pane.q > s->head, 0))
        move_on(w, s, now, k);
}

static inline void add_spread(double f[2], double x, uint64_t n) {
    double d = x - f[0];
    f[0] = f[0] + d / (double)n;
    f[1] = f[1] + d * (x - f[0]);
}

static inline void add_least(const struct rdn_win *w, void *m, const struct rdn_cell *val, bool first, enum acc k) {
    if (is_float(w)) {
        double x = val->f, y = rdn_load_f64(m);
        if (first || (k == MIN ? x < y : x > y))
            memcpy(m, &x, 8);
    } else {
        int64_t x = rdn_win_int(val), y = rdn_load_i64(m);
        if (first || (k == MIN ? x < y : x > y))
            memcpy(m, &x, 8);
    }
}

static inline void add_wide(void *p, int64_t v) {
    struct rdn_wide s;
    memcpy(&s, p, sizeof s);
    s = rdn_wide_of(rdn_wide_get(s) + v);
    memcpy(p, &s, sizeof s);
}

/* Adds to the head pane, whose count was n. */
static inline void add_pane(struct rdn_win *w, char *v, uint32_t n, const struct rdn_cell *val, enum acc k) {
    double f[2];
    switch (k) {
    case COUNT: case LAST: case EWMA:
        return;
    case SUM: case AVG:
        if (is_float(w)) {
            f[0] = rdn_load_f64(v) + val->f;
            memcpy(v, f, 8);
        } else {
            add_wide(v, rdn_win_int(val));
        }
        return;
    case MIN: case MAX:
        add_least(w, v, val, n == 0, k);
        return;
    case SPREAD:
        memcpy(f, v, sizeof f);
        add_spread(f, rdn_win_float(w, val), (uint64_t)n + 1);
        memcpy(v, f, sizeof f);
        return;
    case FIRST: case DELTA:
        if (n == 0)
            rdn_win_keep(w, v, val);
        return;
    }
}

/* Adds to the total, which held s->n values. */
static inline void add_total(struct rdn_win *w, struct pane_state *s, const struct rdn_cell *val, enum acc k) {
    switch (k) {
    case COUNT: case FIRST: case EWMA:
        return;
    case SUM: case AVG:
        if (is_float(w))
            s->t.f[0] = s->t.f[0] + val->f;
        else
            s->t.wide = rdn_wide_of(rdn_wide_get(s->t.wide) + rdn_win_int(val));
        return;
    case MIN: case MAX:
        add_least(w, &s->t, val, s->n == 0, k);
        return;
    case SPREAD:
        add_spread(s->t.f, rdn_win_float(w, val), s->n + 1);
        if (w->def->agg == RDN_AGG_STDDEV)
            return;
        double x = rdn_win_float(w, val);
        memcpy((char *)s + w->off[NEWEST], &x, 8);
        return;
    case LAST: case DELTA:
        rdn_win_keep(w, (char *)s + w->off[NEWEST], val);
        return;
    }
}

static inline void update(struct rdn_win *w, void *st, int64_t now, const struct rdn_cell *val, int64_t span, enum acc k) {
    (void)span;
    struct pane_state *s = st;
    advance(w, s, now, k);
    s->last_ns = now;
    uint32_t i = s->pos, n;
    uint64_t *bits = bits_of(w, s), bit = 1ull << i % 64;
    char *v = value_at(w, s, i);
    if (bits[i / 64] & bit) {
        n = count_at(w, s, i, k);
    } else {
        bits[i / 64] |= bit;
        n = 0;
        if (k == SUM || k == AVG || k == SPREAD)
            memset(v, 0, w->vsize);
    }
    add_pane(w, v, n, val, k);
    add_total(w, s, val, k);
    if (__builtin_expect(n == (exact_count(k) ? UINT32_MAX : UINT16_MAX), 0)) {
        s->full = exact_count(k);
        return;
    }
    set_count(w, s, i, k, n + 1);
    s->n++;
}

static inline const void *oldest(const struct rdn_win *w, struct pane_state *s) {
    FOR_PANES(i, w, s)
        return value_at(w, s, i);
    return NULL;
}

static inline void read_value(struct rdn_win *w, struct pane_state *s, struct rdn_cell *ret, enum acc k) {
    switch (k) {
    case COUNT: case EWMA:
        ret->i = (int64_t)s->n;
        return;
    case SUM:
        if (is_float(w))
            ret->f = s->t.f[0];
        else
            rdn_win_put_wide(w, ret, rdn_wide_get(s->t.wide));
        return;
    case AVG:
        ret->f = is_float(w) ? s->t.f[0] / (double)s->n : rdn_win_avg(w, rdn_wide_get(s->t.wide), s->n);
        return;
    case MIN: case MAX:
        rdn_win_put_kept(w, ret, &s->t);
        return;
    case SPREAD:
        rdn_win_spread(w, ret, s->t.f[0], s->t.f[1], s->n,
                       w->def->agg == RDN_AGG_STDDEV ? 0.0 : rdn_load_f64((char *)s + w->off[NEWEST]));
        return;
    case FIRST:
        rdn_win_put_kept(w, ret, oldest(w, s));
        return;
    case LAST:
        rdn_win_put_kept(w, ret, (char *)s + w->off[NEWEST]);
        return;
    case DELTA:
        if (is_float(w))
            ret->f = rdn_load_f64((char *)s + w->off[NEWEST]) - rdn_load_f64(oldest(w, s));
        else
            rdn_win_put_delta(ret, rdn_load_i64(oldest(w, s)), rdn_load_i64((char *)s + w->off[NEWEST]));
        return;
    }
}

static inline void read(struct rdn_win *w, void *st, int64_t now, struct rdn_cell *ret, enum acc k) {
    struct pane_state *s = st;
    advance(w, s, now, k);
    if (s->n < w->warmup)
        ret->cause = RDN_CAUSE_COLD;
    else if (__builtin_expect(s->full, 0))
        ret->cause = RDN_CAUSE_OVERFLOW;
    else
        read_value(w, s, ret, k);
}

static bool pane_dead(struct rdn_win *w, const void *st, int64_t now) {
    const struct pane_state *s = st;
    int64_t last = rdn_floor_div(s->last_ns, w->pane.width), q = RDN_PANE_OF(w->pane, now);
    return q > last && (uint64_t)q - (uint64_t)last >= w->slots;
}

static inline void layout(struct rdn_win *w, enum acc k) {
    bool newest = k == LAST || k == DELTA || (k == SPREAD && w->def->agg == RDN_AGG_ZSCORE);
    uint32_t kept = w->vsize;
    w->slots = w->def->panes + 1;
    w->vsize = k == COUNT || k == LAST ? 0 : k == SPREAD || is_wide(w, k) ? 16 : kept;
    w->off[BITS] = offsetof(struct pane_state, t) + (k == SUM || k == AVG || k == SPREAD ? 16 : k == MIN || k == MAX ? 8 : 0);
    w->off[NEWEST] = w->off[BITS] + (w->slots + 63) / 64 * 8;
    w->off[VALUES] = w->off[NEWEST] + (newest ? rdn_round8(kept) : 0);
    w->off[COUNTS] = (uint32_t)(w->off[VALUES] + (size_t)w->slots * w->vsize + 3) / 4 * 4;
    w->state_bytes = rdn_round8(w->off[COUNTS] + (size_t)w->slots * (exact_count(k) ? 4 : 2));
    w->vsize = k == LAST ? kept : w->vsize;              /* of what rdn_win_keep writes; LAST has no pane values */
}

RDN_WIN_ROWS(rows, pane_init, pane_dead);
const struct rdn_win_ops *rdn_pane_ops(const struct rdn_window *d) { return &rows[d->agg]; }
