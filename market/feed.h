/* SPDX-License-Identifier: Apache-2.0
 * feed.h: one source of market data: its format, instruments, books and counters.
 *
 * A decoder is rows of formats.def and one function: it reads one message at `in`, of at most `len` bytes, and answers how many
 * bytes that was (0: incomplete) and what it meant: at most RDN_FEED_EVENTS events in `out`. It does not look at books. Bad input
 * is a fault counted by rdn_feed_fault, and no event.
 *
 * No message is longer than RDN_FEED_MESSAGE: a line that does not end by then is skipped as SHORT_INPUT. */
#ifndef RDN_FEED_H
#define RDN_FEED_H
#include "base/json_read.h"
#include "market/book.h"
#include "market/decimal.h"
#include "market/mold.h"
#include "market/sync.h"

/* Days and times of day, in nanoseconds: their sums fit. */
#define RDN_DAY_MAX (INT64_MAX >> 1)
enum { RDN_FEED_EVENTS = 16, RDN_LOCATES = 65536, RDN_FEED_MESSAGE = 1 << 20, RDN_SYMBOL_MAX = 31 };

struct rdn_instrument {
    char symbol[RDN_SYMBOL_MAX + 1];
    int64_t tick_nano, lot_nano;                        /* units of 10^-9 */
    double per_price;                                   /* ticks in 1 */
    uint32_t number;
};
struct redan_feed;
struct rdn_format {
    const char *name;
    size_t (*decode)(struct redan_feed *, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n);
    bool ids_by_instrument;
    uint8_t unknown_id;                                 /* policy of UNKNOWN_ID when none is asked for */
    enum rdn_resync { RDN_RESYNC_NONE, RDN_RESYNC_BOOK, RDN_RESYNC_FEED } resync;        /* see formats.def */
};
struct rdn_feed_name { uint64_t key; uint32_t instrument; };           /* instrument UINT32_MAX: free */
/* More than are ever decoded and not yet handed out. */
enum { RDN_FIX_KEPT = 1024, RDN_FIX_KEPT_BYTES = 4096 };
struct rdn_fix_kept { uint64_t number; uint32_t n, spare; char text[RDN_FIX_KEPT_BYTES]; };
struct redan_feed {
    struct rdn_books books;
    const struct rdn_format *format;
    struct rdn_instrument *instruments;
    struct rdn_feed_name *names;                        /* what the input calls instruments; open addressing */
    uint32_t *locates;                                  /* short codes of the day: instrument + 1; 0: not told; UINT32_MAX: filtered */
    struct rdn_sync *syncs;                             /* by instrument; formats with snapshots */
    struct rdn_fix_kept *kept;                          /* format fix: the last RDN_FIX_KEPT messages, a ring */
    uint64_t nkept, fix_bad[16];                        /* by enum rdn_fix_bad */
    struct rdn_mold *mold;                              /* RDN_RESYNC_FEED */
    struct rdn_events ready, held;                      /* decoded and not yet taken; waiting for a snapshot */
    struct rdn_json_reader json;
    uint32_t max_instruments, names_mask;
    int64_t auto_tick;                                  /* 10^-9; 0: none */
    bool skipping;                                      /* the rest of an endless line */
    bool dead;                                          /* the input is not of its format: the rest of it is not looked at */
    unsigned char head[16];                             /* what a decoder remembers of the input's head */
    int64_t date_ns, last_ts;
    uint64_t seq, events, bytes, filtered;
};
const struct rdn_format *rdn_format_find(const char *name);          /* NULL: none */

static inline void rdn_feed_fault(struct redan_feed *f, uint8_t fault) { f->books.faults[fault]++; }
/* The instrument that the input calls `key`, made if auto_tick says so; UINT32_MAX with the message counted as filtered. `symbol`
 * names a new one; its trailing spaces are not part of it. */
uint32_t rdn_feed_find(struct redan_feed *, uint64_t key, const char *symbol, size_t n);
/* How many books an event of REDAN_ALL_INSTRUMENTS concerns: the first so many. */
static inline uint32_t rdn_feed_all(const struct redan_feed *f, const redan_mevent *e) {
    return e->other_id && e->other_id <= f->books.n ? (uint32_t)e->other_id - 1 : f->books.n;
}
/* The live order of an event of REDAN_BY_ORDER; NULL: nobody knows it. */
static inline const struct rdn_order *rdn_feed_named(const struct redan_feed *f, const redan_mevent *e) {
    return rdn_orders_find(&f->books.orders, e->order_id, 0);
}
/* Short codes that the input itself gives out; a code nobody gave out is the number of an instrument. */
void rdn_feed_locate(struct redan_feed *, uint16_t code, const char *symbol, size_t n);
uint32_t rdn_feed_located(struct redan_feed *, uint16_t code);
uint64_t rdn_feed_symbol_key(const char *symbol, size_t n);          /* without trailing spaces; longer than 8 bytes: a hash */
/* Whole ticks of a price with `scale` digits; false with the fault counted. */
bool rdn_feed_px(struct redan_feed *, uint32_t instrument, int64_t px, unsigned scale, int64_t *ret);
/* Two Q events of the first instrument; price 0: that side is absent. */
uint32_t rdn_feed_quotes(struct redan_feed *, int64_t ts_ns, int64_t bid_px, int64_t ask_px, redan_mevent *out);
/* The columns of a line between commas; how many there are, at most max + 1. */
struct rdn_text_cell { const char *p; size_t n; };
unsigned rdn_feed_split(const char *line, size_t n, struct rdn_text_cell *, unsigned max);
/* The decoder of a format whose messages are lines: `convert` gets one without its end and answers how many events it made. */
size_t rdn_feed_line(struct redan_feed *, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n,
                     uint32_t (*convert)(struct redan_feed *, const char *line, size_t n, redan_mevent *out));

/* Tick and lot of an instrument that is being declared. */
int rdn_feed_units(const redan_instrument *, int64_t *ret_tick_nano, int64_t *ret_lot_nano, redan_error *);
const char *rdn_fault_doc(uint32_t fault);
/* One ITCH message; and how many bytes one of a type has, 0: there is no such type. */
unsigned rdn_itch50_bytes(unsigned char type);
uint32_t rdn_feed_itch50_message(struct redan_feed *, const unsigned char *in, size_t n, redan_mevent *out);

#define FORMAT(name, prefix, by_instrument, unknown_id, resync, doc) \
    size_t rdn_feed_##prefix(struct redan_feed *, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n);
#include "market/formats.def"
#undef FORMAT
#endif
