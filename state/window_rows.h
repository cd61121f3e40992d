/* SPDX-License-Identifier: Apache-2.0
 * window_rows.h: the rows of rdn_win_ops of one kind of span. Private to window_pane.c, window_ring.c and window_all.c, each of
 * which defines inline layout(), update() and read() that take the accumulator last, and includes this file's RDN_WIN_ROWS
 * once: every accumulator so gets its own code without a branch on its kind. */
#ifndef RDN_WINDOW_ROWS_H
#define RDN_WINDOW_ROWS_H
#include "state/window_impl.h"

/* What is accumulated: stddev and zscore are SPREAD. EWMA exists over all time only. */
enum acc { COUNT, SUM, AVG, MIN, MAX, SPREAD, FIRST, LAST, DELTA, EWMA };

static inline bool is_float(const struct rdn_win *w) { return w->vkind == RDN_K_FLOAT; }
/* int, dec and dur sums are exact in 128 bits. */
static inline bool is_wide(const struct rdn_win *w, enum acc k) { return (k == SUM || k == AVG) && !is_float(w); }

#define RDN_WIN_FUNCTIONS(K)                                                                                                       \
    static void layout_##K(struct rdn_win *w) { layout(w, K); }                                                                    \
    static void update_##K(struct rdn_win *w, void *st, int64_t now, const struct rdn_cell *v, int64_t span) {                     \
        update(w, st, now, v, span, K);                                                                                            \
    }                                                                                                                              \
    static void read_##K(struct rdn_win *w, void *st, int64_t now, struct rdn_cell *ret) { read(w, st, now, ret, K); }              \
    static struct rdn_word word_##K(struct rdn_win *w, void *st, int64_t now) {                                                    \
        struct rdn_cell c = { .cause = RDN_DEFINED };                                                                              \
        read(w, st, now, &c, K);                                                                                                   \
        return rdn_win_word_of(w, &c);                                                                                             \
    }
#define RDN_WIN_ROW(AGG, K, init, dead) [RDN_AGG_##AGG] = { layout_##K, init, update_##K, read_##K, word_##K, dead }
#define RDN_WIN_ROWS(name, init, dead)                                                                                             \
    RDN_WIN_FUNCTIONS(COUNT) RDN_WIN_FUNCTIONS(SUM) RDN_WIN_FUNCTIONS(AVG) RDN_WIN_FUNCTIONS(MIN) RDN_WIN_FUNCTIONS(MAX)           \
    RDN_WIN_FUNCTIONS(SPREAD) RDN_WIN_FUNCTIONS(FIRST) RDN_WIN_FUNCTIONS(LAST) RDN_WIN_FUNCTIONS(DELTA)                            \
    static const struct rdn_win_ops name[] = {                                                                                     \
        RDN_WIN_ROW(COUNT, COUNT, init, dead),   RDN_WIN_ROW(SUM, SUM, init, dead),       RDN_WIN_ROW(AVG, AVG, init, dead),       \
        RDN_WIN_ROW(MIN, MIN, init, dead),       RDN_WIN_ROW(MAX, MAX, init, dead),       RDN_WIN_ROW(STDDEV, SPREAD, init, dead), \
        RDN_WIN_ROW(ZSCORE, SPREAD, init, dead), RDN_WIN_ROW(FIRST, FIRST, init, dead),   RDN_WIN_ROW(LAST, LAST, init, dead),     \
        RDN_WIN_ROW(DELTA, DELTA, init, dead),                                                                                     \
    }
#endif
