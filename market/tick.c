/* SPDX-License-Identifier: Apache-2.0
 * tick.c: the 24-byte wire tick, one and many (market.h). A price is a double on the wire: it must lie within a thousandth of a tick of a
 * whole one, and becomes that one.
 *
 * One tick and a block of them share what is said of a price and of a pair. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "market/feed.h"
#include "market/tick_block.h"

enum { TICK_BYTES = 24 };
#define ROUND 0x1.8p52                   /* added to a double below 2^51, it leaves the nearest whole number in the low bits */
#define MOST 0x1p50                      /* whole ticks */

struct wire { int64_t ts; double bid, ask; };

static inline int64_t bits(double v) {
    int64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

#define INLINE static inline __attribute__((always_inline))

/* Whole ticks of a price, 0 for none, and what is wrong with it. Without a branch and in one width, so that a loop of it becomes vectors.
 * A number so small that it is nothing in whole ticks is no price: only +0.0 says that there is none. */
INLINE int64_t ticks(double px, double per, int64_t *fault) {
    double q = px * per, near = q + ROUND, off = fabs(q - (near - ROUND));
    int64_t off_tick = off <= 0.001 ? 0 : REDAN_FAULT_OFF_TICK;
    int64_t whole = (int64_t)((uint64_t)bits(near) - (uint64_t)bits(ROUND));     /* a refused price may wrap */
    int64_t number = (px > 0) & (q < MOST) & ((whole | off_tick) != 0), absent = bits(px) == 0;
    *fault = (number | absent) ? off_tick : REDAN_FAULT_BAD_NUMBER;
    return whole;
}

/* Fault numbers of both sides as one; a refused tick loses its prices. 1: refused. */
INLINE int64_t join(int64_t *bid, int64_t *ask, int64_t fb, int64_t fa, int64_t *ret_fault) {
    int64_t bad = fb ? fb : fa, keep = bad ? 0 : -1;
    int64_t crossed = ((*bid > *ask) & (*ask != 0)) ? REDAN_FAULT_CROSSED : 0;
    *ret_fault = bad ? bad : crossed;
    *bid &= keep;
    *ask &= keep;
    return keep + 1;
}

INLINE uint8_t one(struct wire w, double per, int64_t *bid, int64_t *ask) {
    int64_t fb, fa, fault;
    *bid = ticks(w.bid, per, &fb);
    *ask = ticks(w.ask, per, &fa);
    join(bid, ask, fb, fa, &fault);
    return (uint8_t)fault;
}

static double per_price(const redan_feed *f, uint32_t instrument) { return f->instruments[instrument].per_price; }

int redan_tick_decode(const redan_feed *f, uint32_t instrument, const void *bytes, size_t len, redan_tick *ret) {
    struct wire w;
    int64_t bid, ask;
    if (len != TICK_BYTES)
        return REDAN_FAULT_SHORT_INPUT;
    if (instrument >= f->books.n)
        return REDAN_FAULT_WRONG_INSTRUMENT;
    memcpy(&w, bytes, sizeof w);
    uint8_t fault = one(w, per_price(f, instrument), &bid, &ask);
    if (fault && fault != REDAN_FAULT_CROSSED)
        return fault;
    *ret = (redan_tick){ w.ts, bid, ask, instrument, (bid ? 0 : REDAN_BOOK_NO_BID) | (ask ? 0 : REDAN_BOOK_NO_ASK) };
    return fault;
}

size_t rdn_tick_plain(double per, const char *bytes, size_t n, int64_t *ts, int64_t *bid, int64_t *ask, uint8_t *faults) {
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        struct wire w;
        memcpy(&w, bytes + i * TICK_BYTES, sizeof w);
        ts[i] = w.ts;
        faults[i] = one(w, per, &bid[i], &ask[i]);
        bad += faults[i] != 0 && faults[i] != REDAN_FAULT_CROSSED;
    }
    return bad;
}

size_t redan_tick_columns(const redan_feed *f, uint32_t instrument, const void *bytes, size_t n, int64_t *ts_ns, int64_t *bid_px,
                          int64_t *ask_px, uint8_t *faults) {
    static rdn_tick_block *_Atomic best;
    rdn_tick_block *block = atomic_load_explicit(&best, memory_order_relaxed);
    if (!block) {
        block = rdn_tick_best();
        atomic_store_explicit(&best, block, memory_order_relaxed);
    }
    return instrument < f->books.n ? n - block(per_price(f, instrument), bytes, n, ts_ns, bid_px, ask_px, faults) : 0;
}

size_t rdn_feed_tick24(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    redan_tick t;
    if (len < TICK_BYTES)
        return 0;
    int fault = redan_tick_decode(f, 0, in, TICK_BYTES, &t);
    if (fault && fault != REDAN_FAULT_CROSSED) {         /* the book finds what is crossed */
        rdn_feed_fault(f, (uint8_t)fault);
        return TICK_BYTES;
    }
    *ret_n = rdn_feed_quotes(f, t.ts_ns, t.bid_px, t.ask_px, out);
    return TICK_BYTES;
}
