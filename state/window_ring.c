/* SPDX-License-Identifier: Apache-2.0
 * window_ring.c: the last N values of a key (10.6): exact windows (`over W exact N`) and event windows (`over N events`).
 *
 * update  [hot]  O(1)
 * read    [hot]  count, last, first, delta O(1), after a time jump O(log N); the others scan the live slots
 *
 * Stamps never go back, so the live values are the newest ones: at most two runs of physical slots. Sums are taken over
 * physical slots in eight strides. A dead slot counts as +0.0 there, and adding +0.0 changes no stride, because a stride
 * starts at +0.0 and can then never become -0.0: dead slots are skipped. */
#include "state/window_rows.h"

struct ring_state {
    uint32_t pos, n, live, lost;                         /* next slot; filled slots; newest ones that may be live; overwrote one */
    int64_t drop;                                        /* stamp overwritten last */
};
enum { STAMPS, VALUES };                                 /* off[] */
struct runs { uint32_t lo[2], hi[2]; };                  /* live slots [lo, hi), in rising order */

static inline bool timed(const struct rdn_win *w) { return w->over != 0; }
static inline int64_t *stamps_of(const struct rdn_win *w, struct ring_state *s) { return (int64_t *)((char *)s + w->off[STAMPS]); }
static inline char *values_of(const struct rdn_win *w, struct ring_state *s) { return (char *)s + w->off[VALUES]; }
/* `now` is never before a stamp, so the age is exact where now - W would leave int64. */
static inline bool is_live(const struct rdn_win *w, int64_t stamp, int64_t now) { return (uint64_t)now - (uint64_t)stamp < w->over; }
/* Slot of the value `age` updates old; 0 is the newest. */
static inline uint32_t slot_back(const struct rdn_win *w, const struct ring_state *s, uint32_t age) {
    return s->pos > age ? s->pos - 1 - age : s->pos + w->slots - 1 - age;
}

static void ring_init(struct rdn_win *w, void *st, int64_t now) {
    (void)w, (void)now;
    *(struct ring_state *)st = (struct ring_state){ 0 };
}

static inline void update(struct rdn_win *w, void *st, int64_t now, const struct rdn_cell *val, int64_t span, enum acc k) {
    (void)span;
    struct ring_state *s = st;
    uint32_t i = s->pos;
    if (timed(w)) {
        int64_t *stamp = stamps_of(w, s) + i;
        if (s->n == w->slots) {
            s->lost = 1;
            s->drop = *stamp;
        }
        *stamp = now;
    }
    if (k == SPREAD) {
        double x = rdn_win_float(w, val);
        memcpy(values_of(w, s) + (size_t)i * 8, &x, 8);
    } else if (k != COUNT) {
        rdn_win_keep(w, values_of(w, s) + (k == LAST ? 0 : (size_t)i * w->vsize), val);
    }
    s->pos = i + 1 == w->slots ? 0 : i + 1;
    s->n += s->n < w->slots;
    s->live += s->live < w->slots;
}

/* Lets the live count shrink to what is live now: the newest `live` values, by bisection. */
static inline uint32_t count_live(const struct rdn_win *w, struct ring_state *s, int64_t now) {
    if (!timed(w))
        return s->n;
    const int64_t *stamp = stamps_of(w, s);
    if (s->live == 0 || is_live(w, stamp[slot_back(w, s, s->live - 1)], now))
        return s->live;
    uint32_t live = 0, dead = s->live - 1;               /* ages below `live` are live, from `dead` on they are not */
    while (live < dead) {
        uint32_t mid = live + (dead - live) / 2;
        if (is_live(w, stamp[slot_back(w, s, mid)], now))
            live = mid + 1;
        else
            dead = mid;
    }
    return s->live = live;
}

static inline struct runs live_runs(const struct rdn_win *w, const struct ring_state *s, uint32_t n) {
    if (n == 0)
        return (struct runs){ { 0, 0 }, { 0, 0 } };
    uint32_t start = slot_back(w, s, n - 1);
    if (start < s->pos)
        return (struct runs){ { start, 0 }, { s->pos, 0 } };
    return (struct runs){ { 0, start }, { s->pos, w->slots } };
}

/* Adds x[i], or (x[i] - mean)^2, to stride i mod 8. */
static inline void stride(double a[8], const double *x, uint32_t lo, uint32_t hi, bool squares, double mean) {
#define TERM(i) (squares ? (x[i] - mean) * (x[i] - mean) : x[i])
    uint32_t i = lo;
    for (; i < hi && i % 8; i++)
        a[i % 8] += TERM(i);
    for (; i + 8 <= hi; i += 8)
        for (uint32_t j = 0; j < 8; j++)
            a[j] += TERM(i + j);
    for (; i < hi; i++)
        a[i % 8] += TERM(i);
#undef TERM
}

static inline double strided_sum(const double *x, const struct runs *r, bool squares, double mean) {
    double a[8] = { 0 };
    stride(a, x, r->lo[0], r->hi[0], squares, mean);
    stride(a, x, r->lo[1], r->hi[1], squares, mean);
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
}

static inline rdn_i128 exact_sum(const int64_t *x, const struct runs *r) {
    rdn_i128 s = 0;
    for (uint32_t p = 0; p < 2; p++)
        for (uint32_t i = r->lo[p]; i < r->hi[p]; i++)
            s += x[i];
    return s;
}

static inline void read_sum(const struct rdn_win *w, const char *v, const struct runs *r, uint32_t n, struct rdn_cell *ret, enum acc k) {
    if (is_float(w)) {
        double s = strided_sum((const double *)v, r, false, 0.0);
        ret->f = k == AVG ? s / (double)n : s;
        return;
    }
    rdn_i128 s = exact_sum((const int64_t *)v, r);
    if (k == AVG)
        ret->f = rdn_win_avg(w, s, n);
    else
        rdn_win_put_wide(w, ret, s);
}

static inline void read_least(const struct rdn_win *w, const char *v, const struct runs *r, struct rdn_cell *ret, enum acc k) {
    uint32_t best = r->lo[0] < r->hi[0] ? r->lo[0] : r->lo[1];
    const double *f = (const double *)v;
    const int64_t *n = (const int64_t *)v;
    for (uint32_t p = 0; p < 2; p++)
        for (uint32_t i = r->lo[p]; i < r->hi[p]; i++)
            if (is_float(w) ? (k == MIN ? f[i] < f[best] : f[i] > f[best]) : (k == MIN ? n[i] < n[best] : n[i] > n[best]))
                best = i;
    rdn_win_put_kept(w, ret, v + (size_t)best * 8);
}

static inline void read_value(struct rdn_win *w, struct ring_state *s, uint32_t n, struct rdn_cell *ret, enum acc k) {
    const char *v = values_of(w, s);
    struct runs r = live_runs(w, s, n);
    double mean;
    switch (k) {
    case COUNT: case EWMA:
        ret->i = n;
        return;
    case SUM: case AVG:
        read_sum(w, v, &r, n, ret, k);
        return;
    case MIN: case MAX:
        read_least(w, v, &r, ret, k);
        return;
    case SPREAD:
        mean = strided_sum((const double *)v, &r, false, 0.0) / (double)n;
        rdn_win_spread(w, ret, mean, strided_sum((const double *)v, &r, true, mean), n,
                       rdn_load_f64(v + (size_t)slot_back(w, s, 0) * 8));
        return;
    case FIRST:
        rdn_win_put_kept(w, ret, v + (size_t)slot_back(w, s, n - 1) * w->vsize);
        return;
    case LAST:
        rdn_win_put_kept(w, ret, v);
        return;
    case DELTA:
        v += (size_t)slot_back(w, s, n - 1) * 8;
        if (is_float(w))
            ret->f = rdn_load_f64(values_of(w, s) + (size_t)slot_back(w, s, 0) * 8) - rdn_load_f64(v);
        else
            rdn_win_put_delta(ret, rdn_load_i64(v), rdn_load_i64(values_of(w, s) + (size_t)slot_back(w, s, 0) * 8));
        return;
    }
}

static inline void read(struct rdn_win *w, void *st, int64_t now, struct rdn_cell *ret, enum acc k) {
    struct ring_state *s = st;
    uint32_t n = count_live(w, s, now);
    if (n < w->warmup)
        ret->cause = RDN_CAUSE_COLD;
    else if (k != COUNT && k != LAST && timed(w) && s->lost && is_live(w, s->drop, now))
        ret->cause = RDN_CAUSE_FULL;
    else
        read_value(w, s, n, ret, k);
}

static bool ring_dead(struct rdn_win *w, const void *st, int64_t now) {
    struct ring_state *s = (struct ring_state *)st;
    return timed(w) && !is_live(w, stamps_of(w, s)[slot_back(w, s, 0)], now);
}

static inline void layout(struct rdn_win *w, enum acc k) {
    w->slots = w->def->events ? w->def->events : w->def->exact;
    w->off[STAMPS] = sizeof(struct ring_state);
    w->off[VALUES] = w->off[STAMPS] + (timed(w) ? w->slots * 8 : 0);
    w->state_bytes = w->off[VALUES];
    if (k != COUNT)
        w->state_bytes += rdn_round8(k == LAST ? w->vsize : (size_t)w->slots * w->vsize);
}

RDN_WIN_ROWS(rows, ring_init, ring_dead);
const struct rdn_win_ops *rdn_ring_ops(const struct rdn_window *d) { return &rows[d->agg]; }
