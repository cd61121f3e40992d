/* SPDX-License-Identifier: Apache-2.0
 *
 * market.h: market data in one form, and order books from it.
 *
 *   redan_feed_open -> redan_feed_instrument, ...            set-up
 *   redan_feed_decode -> redan_feed_apply -> redan_book_line     per piece of input
 *
 * Conventions are those of redan.h: codes, ownership, option structs, thread tags.
 *
 * Units      Prices are whole ticks, quantities whole lots, times nanoseconds since 1970. A float is never a key.
 * Memory     All of it is reserved by redan_feed_open and redan_feed_instrument. A full table is fault FULL, never growth.
 * Bad input  One fault number an event, one counter a fault, a stated effect on the book (market/market_faults.def). A book that
 *            missed something is not VALID until it is whole again.
 */
#ifndef REDAN_MARKET_H
#define REDAN_MARKET_H
#include <redan/redan.h>
#ifdef __cplusplus
extern "C" {
#endif

/* What a market event does. O, T and F never touch the book. */
#define REDAN_MARKET_ACTIONS(X)                                                                               \
  X(ADD, 'A', "a new order")                       X(REDUCE, 'X', "an order loses qty")                        \
  X(DELETE, 'D', "an order goes")                  X(MODIFY, 'M', "an order gets this price and quantity")     \
  X(REPLACE, 'U', "order_id takes other_id's place")  X(EXECUTE, 'E', "an order loses qty by a trade")         \
  X(LEVEL, 'L', "a level holds qty; 0: none")      X(CLEAR, 'R', "the book is empty")                          \
  X(QUOTE, 'Q', "a side is one level; qty 0: none")  X(STATUS, 'S', "trading status")                          \
  X(ORDER, 'O', "an order or a report on one, for information")  X(TRADE, 'T', "a trade, for information")        X(FILL, 'F', "a fill notice, for information")              \
  X(GAP, 'G', "messages are missing: invalid until a snapshot")  X(FAULT, 'Z', "a refused event, on the tape only")
enum {
#define X(name, letter, text) REDAN_MARKET_##name = letter,
  REDAN_MARKET_ACTIONS(X)
#undef X
  REDAN_BID = 1, REDAN_ASK = 2,
  REDAN_MF_LAST = 0x80,          /* readers may look at the book after this event */
  REDAN_MF_TOB = 0x40, REDAN_MF_SNAPSHOT = 0x20, REDAN_MF_LEVELS = 0x10, REDAN_MF_BAD_RECV = 0x08,
  REDAN_MF_AUCTION = 0x100,      /* crossed is normal */
  REDAN_MF_HIDDEN = 0x200,
  REDAN_MF_FILTERED = 0x400      /* of REDAN_BY_ORDER: messages were left out before it, so an order that nobody knows may be theirs */
};

#define REDAN_BY_ORDER UINT32_MAX
#define REDAN_ALL_INSTRUMENTS (UINT32_MAX - 1)             /* GAP, CLEAR and STATUS of every book at once; other_id: 1 + how many, 0: all */
/* One event of any format; one cache line; also the record on disk. */
typedef struct redan_mevent {
  int64_t  ts_event_ns, ts_recv_ns;                   /* the exchange's clock; ours, or the same where a file has none */
  uint64_t order_id, other_id;                        /* other_id: replaced order, match number */
  int64_t  px_ticks, qty_lots;
  uint64_t seq;
  uint32_t instrument;                                /* as redan_feed_instrument gave it; or one of the two above */
  uint8_t  action, side;                              /* REDAN_MARKET_*; REDAN_BID, REDAN_ASK, 0 none */
  uint16_t flags;                                     /* REDAN_MF_* */
} redan_mevent;

/* Fault numbers, REDAN_FAULT_NAME, are those of market/market_faults.def. */
enum {
  REDAN_FAULT_NONE = 0, REDAN_FAULT_SHORT_INPUT = 1, REDAN_FAULT_BAD_NUMBER = 2, REDAN_FAULT_OFF_TICK = 3, REDAN_FAULT_NEG_QTY = 4,
  REDAN_FAULT_DUP_ADD = 5, REDAN_FAULT_UNKNOWN_ID = 6, REDAN_FAULT_OVER_CANCEL = 7, REDAN_FAULT_WRONG_PLACE = 8,
  REDAN_FAULT_WRONG_INSTRUMENT = 9, REDAN_FAULT_SEQ_GAP = 10, REDAN_FAULT_SEQ_OLD = 11, REDAN_FAULT_TS_BACK = 12,
  REDAN_FAULT_LOCKED = 13, REDAN_FAULT_CROSSED = 14, REDAN_FAULT_FILL_NO_BOOK = 15, REDAN_FAULT_FULL = 16,
  REDAN_FAULT_UNKNOWN_TYPE = 17, REDAN_FAULT_BAD_CHECKSUM = 18, REDAN_FAULTS = 19
};
REDAN_API const char *redan_fault_name(uint32_t fault);      /* [any] "UNKNOWN_ID"; "" for a number that is none */

/* What is done about a fault. DEFAULT is the row's own; a policy that the row does not offer is INVAL at open. */
typedef enum redan_feed_policy {
  REDAN_POLICY_DEFAULT, REDAN_POLICY_COUNT, REDAN_POLICY_STOP, REDAN_POLICY_ROUND, REDAN_POLICY_REPLACE, REDAN_POLICY_DROP,
  REDAN_POLICY_BY_PRICE, REDAN_POLICY_CLAMP, REDAN_POLICY_RESYNC, REDAN_POLICY_FLAG, REDAN_POLICY_INVALID
} redan_feed_policy;

typedef struct redan_feed redan_feed;

typedef struct redan_feed_options {
  uint32_t size;
  uint32_t max_orders;                                /* 0: 2,097,152 live orders of the whole feed */
  uint32_t max_instruments;                           /* 0: 65,536 */
  uint32_t window, far;                               /* levels a side kept in place, power of two 256..65,536 (0: 8,192);
                                                         levels elsewhere, of both sides (0: 1,024) */
  const char *format;                                 /* "lobster", ...; NULL: events come ready made */
  const char *auto_tick;                              /* instruments that the input names and nobody declared get this tick;
                                                         NULL: messages about them are counted as filtered */
  int64_t  date_ns;                                   /* midnight of the exchange, for formats with times of day */
  int64_t  patience_ns;                               /* 0: 20 ms for packets that are missing */
  uint8_t  policy[REDAN_FAULTS];                      /* redan_feed_policy by fault */
} redan_feed_options;
#define REDAN_FEED_OPTIONS_INIT { .size = sizeof(redan_feed_options) }

REDAN_API int  redan_feed_open(redan_feed **ret, const redan_feed_options *, redan_error *);   /* [setup] NOMEM, INVAL */
REDAN_API void redan_feed_close(redan_feed *);        /* [setup] */

typedef struct redan_instrument {
  uint32_t size;
  const char *symbol;                                 /* copied; at most 31 bytes; INVAL when it is there already */
  const char *tick;                                   /* "0.01": decimal text, at most 9 digits after the point */
  const char *lot;                                    /* "1" when NULL */
  uint32_t number;                                    /* the feed's own number for it, where it has one (DBN) */
} redan_instrument;
#define REDAN_INSTRUMENT_INIT { .size = sizeof(redan_instrument) }
REDAN_API int redan_feed_instrument(redan_feed *, const redan_instrument *, uint32_t *ret_id, redan_error *);   /* [setup] */

/* Reads whole messages out of `bytes` into at most `cap` events, of which the return value tells how many; *ret_used is what was
 * read. An incomplete tail stays unread and is no error: hand it in again in front of what follows, and at the end of a text with a
 * newline. Messages that are refused are counted and make no event. One message may make more events than `cap`: call again with what is left, be it nothing, until
 * the answer is 0. `cap` is at least 16. [lane] */
REDAN_API uint32_t redan_feed_decode(redan_feed *, const void *bytes, size_t len, redan_mevent *out, uint32_t cap, size_t *ret_used);

/* Format moldudp64, by datagrams: one packet, received at ts_recv_ns. len 0: none came until then, so that what is missing can be given
 * up. Take its events with redan_feed_decode(feed, NULL, 0, ...) before the next one: BUSY until then. A packet that comes early waits
 * for the others, for options.patience_ns at most; then the books are invalid until a snapshot. NOSUP: another format. [lane] */
REDAN_API int redan_feed_packet(redan_feed *, int64_t ts_recv_ns, const void *bytes, size_t len);
/* What is missing and may still come: what to ask a rewinder for. False: nothing. [lane] */
typedef struct redan_feed_gap { char session[10]; uint16_t spare; uint64_t seq, count; int64_t since_ns; } redan_feed_gap;
REDAN_API int redan_feed_missing(const redan_feed *, redan_feed_gap *ret);
/* The input is over: what is missing will not come. [lane] */
REDAN_API void redan_feed_end(redan_feed *);
/* Format moldudp64: the books as a snapshot has them, as GLIMPSE sends it: ITCH messages in frames of two bytes of length, G with the
 * number of the message that comes next at the end. Used as redan_feed_decode, between packets and in order with their events, which
 * wait for the end of the snapshot when they are newer. A gap, or another session, in the middle of a snapshot breaks it off: the rest of
 * it is passed over, and the books are as valid as the packets make them. [lane] */
REDAN_API uint32_t redan_feed_snapshot(redan_feed *, const void *bytes, size_t len, redan_mevent *out, uint32_t cap, size_t *ret_used);

/* Whoever sent the snapshot is gone: what comes next is the beginning of another. [lane] */
REDAN_API void redan_feed_snapshot_drop(redan_feed *);

/* Symbol and number of instruments in order of their ids, those made by auto_tick among them. NULL after the last. [lane] */
REDAN_API const char *redan_feed_symbol(const redan_feed *, uint32_t instrument);

/* Applies n events to their books in order. faults: NULL, or n bytes that get a fault number each (0: none; one of several: the
 * first). Returns how many changed or could have changed a book. [hot] */
REDAN_API uint32_t redan_feed_apply(redan_feed *, const redan_mevent *, uint32_t n, uint8_t *faults);

enum { REDAN_BOOK_VALID = 1, REDAN_BOOK_CROSSED = 2, REDAN_BOOK_LOCKED = 4, REDAN_BOOK_AUCTION = 8, REDAN_BOOK_HALTED = 16,
       REDAN_BOOK_NO_BID = 32, REDAN_BOOK_NO_ASK = 64 };
/* Best prices as of the last event with LAST. An absent side is its flag and zeros. A book is VALID as long as nothing is known to be
 * missing; where a format has snapshots it begins with the first of them, and after a gap with the next. */
typedef struct redan_book_line_data {
  uint32_t seq;                                       /* even; changes with each publication */
  uint16_t flags, spare;                              /* REDAN_BOOK_* */
  int64_t  bid_px, bid_qty, ask_px, ask_qty, ts_recv_ns, ts_event_ns;
  uint64_t events;                                    /* applied to this book so far */
} redan_book_line_data;
REDAN_API int redan_book_line(const redan_feed *, uint32_t instrument, redan_book_line_data *ret);   /* [any] BUSY after 64 tries */

typedef struct redan_book_level { int64_t px_ticks, qty_lots; uint32_t orders, spare; } redan_book_level;
/* Best first; returns how many. [lane] */
REDAN_API uint32_t redan_book_levels(const redan_feed *, uint32_t instrument, uint32_t side, redan_book_level *out, uint32_t cap);
/* What taking `qty` from a side would reach, over at most 64 levels: *ret_filled may be less. INVAL without qty. [lane] */
REDAN_API int redan_book_sweep(const redan_feed *, uint32_t instrument, uint32_t side, int64_t qty, int64_t *ret_worst_px, int64_t *ret_filled);

/* The 24-byte wire tick: u64 nanoseconds, f64 bid, f64 ask, little endian; +0.0: no such side. In ticks of the instrument. */
typedef struct redan_tick { int64_t ts_ns, bid_px, ask_px; uint32_t instrument, flags; } redan_tick;      /* REDAN_BOOK_NO_BID, ... */
/* 0, or a fault number: SHORT_INPUT, BAD_NUMBER and OFF_TICK leave *ret alone, CROSSED does not. [hot] */
REDAN_API int redan_tick_decode(const redan_feed *, uint32_t instrument, const void *bytes, size_t len, redan_tick *ret);
/* n ticks at once into columns, each with its fault in `faults` (0: none); an absent side, and all of a refused tick but its time, is
 * 0. Returns how many have no fault but CROSSED. [hot] */
REDAN_API size_t redan_tick_columns(const redan_feed *, uint32_t instrument, const void *bytes, size_t n, int64_t *ts_ns, int64_t *bid_px,
                                    int64_t *ask_px, uint8_t *faults);

/* One FIX 4.4 message: D, F and G from clients, 8 and 9 from venues. Texts point into the input; what it does not have is zero. Amounts
 * are units of 10^-9. */
typedef struct redan_fix_text { const char *p; uint32_t len; } redan_fix_text;
typedef struct redan_fix {
  char     type, side, ord_type, tif, exec_type, ord_status, reject_to, spare;
  uint32_t bad, bad_tag;                              /* 0: good; else redan_fix_reason tells */
  uint64_t has;                                       /* bit i: field i of market/fix44.def is there */
  redan_fix_text sender, target, sender_sub, on_behalf_sub, order_id, cl_ord_id, orig_id, exec_id, account, symbol, venue, algo, smp, text;
  uint64_t seq, cancel_reason, reject_reason, restated;
  int64_t  ts_ns, sent_ns, qty, px, stop_px, last_qty, last_px, leaves_qty, cum_qty, avg_px;
} redan_fix;
/* Reads the first message of `bytes`; *ret_used is what it took, 0: incomplete. Returns 0 or a fault number, with .bad saying what
 * is wrong; bytes that are no message are passed over. The session layer is not looked at. [hot] */
REDAN_API int redan_fix_decode(const void *bytes, size_t len, redan_fix *ret, size_t *ret_used);
/* Writes the fields that .has names, with length and checksum; bytes, 0: more than cap, or nothing that FIX can say. [any] */
REDAN_API size_t redan_fix_encode(const redan_fix *, char *out, size_t cap);
/* Fills .has: every field that is not zero, and amounts of zero that the type needs. [any] */
REDAN_API void redan_fix_fill(redan_fix *);
/* The message behind an event of format fix, while it is one of the last 1,024: INVAL later. Texts are borrowed until the next decode. [lane] */
REDAN_API int redan_feed_order(const redan_feed *, const redan_mevent *, redan_fix *ret);
REDAN_API const char *redan_fix_reason(uint32_t bad); /* [any] "" for a number that is none */

typedef struct redan_feed_stats {
  uint64_t events, bytes, faults[REDAN_FAULTS];
  uint64_t filtered;                                  /* messages about instruments nobody declared */
  uint64_t live_orders, peak_orders;
  uint64_t reserved_bytes;                            /* address space of orders and books */
} redan_feed_stats;
REDAN_API void redan_feed_stats_get(const redan_feed *, redan_feed_stats *ret);   /* [lane] */

/* --- tape: market events on disk ---
 * A file of blocks of 1 MiB, each with a checksum once it is full; the last one is open and counts what is in it, so that a process that
 * dies loses nothing. After the machine itself stopped, the open block ends where it was last synced. */
typedef struct redan_tape redan_tape;
enum { REDAN_TAPE_READ = 0, REDAN_TAPE_WRITE = 1 };    /* write: makes the file, or goes on with it */
enum { REDAN_TAPE_NONE = 0, REDAN_TAPE_ASYNC = 1, REDAN_TAPE_GROUP = 2 };      /* synced: never, every 100 ms of appends, with each append */
typedef struct redan_tape_options {
  uint32_t size, mode, level, spare;
  const char *path;
  int64_t created_ns;                                 /* of a new file; 0: the time of day */
  unsigned char feed[16];                             /* of a new file: whatever tells one feed from another */
} redan_tape_options;
#define REDAN_TAPE_OPTIONS_INIT { .size = sizeof(redan_tape_options) }
/* SYS, NOMEM; INVAL: no tape; BUSY: another one writes it; NOSUP: of another version. CORRUPT with the number of the block (R6020): its
 * checksum differs, or it is cut short. A tape is read while it is written. [setup] */
REDAN_API int  redan_tape_open(redan_tape **ret, const redan_tape_options *, redan_error *);
REDAN_API void redan_tape_close(redan_tape *);        /* [setup] */
/* What the numbers of instruments mean, before their first event; in order from 0. Saying the same again does nothing. SYS, NOMEM; INVAL:
 * out of order, or the number means another one. [lane] */
REDAN_API int  redan_tape_instrument(redan_tape *, uint32_t id, const redan_instrument *, redan_error *);
/* n events as they came, and behind each that has a fault in `faults` (NULL: none has) a record Z with that fault in .flags. SYS when
 * the disk is full: what was appended before stays. INVAL, and nothing is written: an event with the action I, which is the tape's own for
 * instruments. [lane] */
REDAN_API int  redan_tape_append(redan_tape *, const redan_mevent *, uint32_t n, const uint8_t *faults, redan_error *);
REDAN_API int  redan_tape_sync(redan_tape *, redan_error *);      /* [lane] */
/* The next events, Z records among them; *ret_n 0: the end so far. CORRUPT, SYS, NOMEM: the *ret_n events before the damage are good, and
 * every later call says the same. [lane] */
REDAN_API int  redan_tape_next(redan_tape *, redan_mevent *out, uint32_t cap, uint32_t *ret_n, redan_error *);
/* An instrument met so far; INVAL: none. Its texts are good until close. [lane] */
REDAN_API int  redan_tape_known(const redan_tape *, uint32_t id, redan_instrument *ret);
REDAN_API uint64_t redan_tape_records(const redan_tape *);        /* [lane] read or written so far, those of the file before it was opened among them */

/* --- replay: files as one stream ---
 * Events of all files in order of (time of receipt, file, place in the file). Time stands still or goes on by what the caller says: no
 * clock is read, so that the order depends on the files alone. Each file has a feed whose books are as of the last event handed out.
 * Events that name an order alone (REDAN_BY_ORDER) have its instrument, unless nobody knows the order. */
typedef struct redan_replay redan_replay;
typedef struct redan_replay_file {
  const char *path, *seed;                            /* a tape or a file of a known format; seed: LOBSTER's order-book file or NULL */
  redan_feed_options feed;                            /* .format NULL: found out */
  const redan_instrument *instruments;                /* those of a tape are on it */
  uint32_t n, spare;
} redan_replay_file;
typedef struct redan_replay_options {
  uint32_t size, n;                                   /* at most 64 files */
  const redan_replay_file *files;
  double speed;                                       /* 1: as recorded, 20: in a twentieth of the time, 0: at once */
  int64_t from_ns, to_ns;                             /* time of receipt; to 0: to the end. Events before `from` act on books and are not handed out */
} redan_replay_options;
#define REDAN_REPLAY_OPTIONS_INIT { .size = sizeof(redan_replay_options) }
typedef struct redan_replay_event { redan_mevent e; uint32_t file; uint8_t fault, spare[3]; } redan_replay_event;
REDAN_API int  redan_replay_open(redan_replay **ret, const redan_replay_options *, redan_error *);      /* SYS, NOMEM, INVAL, CORRUPT [setup] */
REDAN_API void redan_replay_close(redan_replay *);    /* [setup] */
/* The next events, at most cap and none that is due after `now_ns` (any clock of the caller's; the first call is the beginning). With
 * none, *ret_wait_ns is how long it is until the next, -1: none comes. Waits for nothing. A file that fails (SYS, CORRUPT, NOMEM) ends it:
 * everything before is handed out first, and from then on every call says so, with no events. [lane] */
REDAN_API int  redan_replay_step(redan_replay *, int64_t now_ns, redan_replay_event *out, uint32_t cap, uint32_t *ret_n, int64_t *ret_wait_ns, redan_error *);
REDAN_API redan_feed *redan_replay_feed(redan_replay *, uint32_t file);       /* NULL: no such file. Borrowed. [lane] */

/* --- books in rules ---
 * Rules read order books as host tables (redan.h), which this fills on one lane: a row a symbol, as of the last publication. Each table and
 * each column is optional, and columns stand in any order:
 *
 *   table book by symbol: sym { bid: dec(4) bid_qty: int ask: dec(4) ask_qty: int spread: dec(4) mid: dec(5)
 *                               at: time valid: bool crossed: bool depth: bool } from host
 *   table bid by symbol: sym { px: dec(4) qty: int } from host           and ask alike
 *
 * A row is there as long as all its columns have a value: prices and sizes have none while the book is not VALID or lacks that side, so that rules
 * which read them are undefined then. `at` is the time of receipt of the last change; depth: there is more than best prices. Decimals may have any
 * number of digits that loses nothing, sizes may be dec or int. Of several feeds with the same symbol, the book that changed last counts. A
 * book that never had a price (orders, reports, trades) has no row. Memory is reserved at open: 12 bytes an instrument that a feed may have. */
typedef struct redan_book_rows redan_book_rows;
/* At most 64 feeds, which must outlive it and are applied on the lane's thread. LAYOUT (R8240): a table of the active rules with other keys or columns. [lane] */
REDAN_API int  redan_book_rows_open(redan_book_rows **ret, redan_lane *, redan_feed *const *feeds, uint32_t n, redan_error *);
REDAN_API void redan_book_rows_close(redan_book_rows *);
/* After redan_feed_apply or redan_replay_step: each book that these events changed, once. n 0: each book of the feed that changed. An event
 * BY_ORDER costs a look at every book. After a change of rules the next call publishes all books of all feeds: call it, with n 0, before the next
 * redan_eval. Tells the first failure and goes on; a row that failed is not there. LAYOUT (R8241): a price step or lot with more digits than
 * the column has. FULL: no room for one more row, or symbol. [lane] an instrument's first publication takes a lock */
REDAN_API int  redan_book_rows_publish(redan_book_rows *, uint32_t feed, const redan_mevent *, uint32_t n, redan_error *);

#ifdef __cplusplus
}
#endif
#endif
