/* SPDX-License-Identifier: Apache-2.0
 * window_all.c: one accumulator a key, for ever: windows without `over`, and ewma (10.6). All [hot], O(1). */
#include "state/window_rows.h"

#include <math.h>

#include "ir/prelude/rdn_math.h"

struct all_state {
    uint64_t n;
    union {
        double f[2];                                     /* sum and what rounding lost of it; mean and m2; least; first, last */
        struct rdn_wide wide;
        int64_t i[2];
    };
};
/* first, last: as long as the value is */
static inline char *kept_of(struct all_state *s) { return (char *)s + offsetof(struct all_state, f); }
struct ewma_state { uint64_t n; double v; int64_t last_ns; };


static void all_init(struct rdn_win *w, void *st, int64_t now) {
    (void)now;
    memset(st, 0, w->state_bytes);
}

/* Neumaier's sum: c collects what the additions to s lost. */
static inline void add_float(double f[2], double v) {
    double s = f[0], r = s + v;
    if (isfinite(r))
        f[1] = f[1] + (fabs(s) >= fabs(v) ? (s - r) + v : (v - r) + s);
    f[0] = r;
}

static inline void add_least(struct rdn_win *w, struct all_state *s, const struct rdn_cell *val, enum acc k) {
    if (is_float(w)) {
        if (s->n == 1 || (k == MIN ? val->f < s->f[0] : val->f > s->f[0]))
            s->f[0] = val->f;
        return;
    }
    int64_t v = rdn_win_int(val);
    if (s->n == 1 || (k == MIN ? v < s->i[0] : v > s->i[0]))
        s->i[0] = v;
}

static inline void add_ewma(struct rdn_win *w, struct ewma_state *s, int64_t now, const struct rdn_cell *val, int64_t span) {
    double x = rdn_win_float(w, val);
    if (s->n++ == 0) {
        s->v = x;
    } else {
        double a = w->half_life ? 1.0 - rdn_exp2m((double)((uint64_t)now - (uint64_t)s->last_ns) / (double)span)
                                : 2.0 / ((double)span + 1.0);
        s->v = s->v + a * (x - s->v);
    }
    s->last_ns = now;
}

static inline void update(struct rdn_win *w, void *st, int64_t now, const struct rdn_cell *val, int64_t span, enum acc k) {
    struct all_state *s = st;
    double x, d;
    if (k == EWMA) {
        add_ewma(w, st, now, val, span);
        return;
    }
    s->n++;
    switch (k) {
    case COUNT: case EWMA:
        return;
    case SUM: case AVG:
        if (is_float(w))
            add_float(s->f, val->f);
        else
            s->wide = rdn_wide_of(rdn_wide_get(s->wide) + rdn_win_int(val));
        return;
    case MIN: case MAX:
        add_least(w, s, val, k);
        return;
    case SPREAD:
        x = rdn_win_float(w, val);
        d = x - s->f[0];
        s->f[0] = s->f[0] + d / (double)s->n;
        s->f[1] = s->f[1] + d * (x - s->f[0]);
        return;
    case FIRST:
        if (s->n == 1)
            rdn_win_keep(w, kept_of(s), val);
        return;
    case LAST:
        rdn_win_keep(w, kept_of(s), val);
        return;
    case DELTA:
        if (s->n == 1)
            rdn_win_keep(w, &s->i[0], val);
        rdn_win_keep(w, &s->i[1], val);
        return;
    }
}

static inline void read_value(struct rdn_win *w, void *st, struct rdn_cell *ret, enum acc k) {
    struct all_state *s = st;
    double sum;
    switch (k) {
    case COUNT:
        ret->i = (int64_t)s->n;
        return;
    case SUM: case AVG:
        if (!is_float(w)) {
            if (k == AVG)
                ret->f = rdn_win_avg(w, rdn_wide_get(s->wide), s->n);
            else
                rdn_win_put_wide(w, ret, rdn_wide_get(s->wide));
            return;
        }
        sum = isfinite(s->f[0]) ? s->f[0] + s->f[1] : s->f[0];
        ret->f = k == AVG ? sum / (double)s->n : sum;
        return;
    case MIN: case MAX: case FIRST: case LAST:
        rdn_win_put_kept(w, ret, kept_of(s));
        return;
    case SPREAD:
        rdn_win_spread(w, ret, s->f[0], s->f[1], s->n, 0.0);
        return;
    case DELTA:
        if (is_float(w))
            ret->f = s->f[1] - s->f[0];
        else
            rdn_win_put_delta(ret, s->i[0], s->i[1]);
        return;
    case EWMA:
        ret->f = ((struct ewma_state *)st)->v;
        return;
    }
}

static inline void read(struct rdn_win *w, void *st, int64_t now, struct rdn_cell *ret, enum acc k) {
    (void)now;
    if (*(const uint64_t *)st < w->warmup)               /* both states begin with n */
        ret->cause = RDN_CAUSE_COLD;
    else
        read_value(w, st, ret, k);
}

static inline void layout(struct rdn_win *w, enum acc k) {
    w->state_bytes = k == COUNT                             ? 8
                     : k == EWMA                            ? sizeof(struct ewma_state)
                     : k == SUM || k == AVG || k == SPREAD || k == DELTA ? 24
                                                            : 8 + rdn_round8(w->vsize);
}

RDN_WIN_ROWS(rows, all_init, NULL);
RDN_WIN_FUNCTIONS(EWMA)
static const struct rdn_win_ops ewma = { layout_EWMA, all_init, update_EWMA, read_EWMA, word_EWMA, NULL };
const struct rdn_win_ops *rdn_all_ops(const struct rdn_window *d) {
    return d->agg == RDN_AGG_EWMA ? &ewma : &rows[d->agg];
}
