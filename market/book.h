/* SPDX-License-Identifier: Apache-2.0
 * book.h: the order books of one feed: what an event does to one, and its published best prices.
 *
 *   rdn_book_apply      [hot]  one event; a fault number or 0; allocates nothing
 *   rdn_book_event      [hot]  both
 *   rdn_book_publish    [hot]  after an event with LAST: the line, behind a sequence lock
 *   rdn_book_read       [any]  a copy of the line
 *
 * Orders of all books stand in one table. A level may hold more than its orders do: what was there when the data began. */
#ifndef RDN_BOOK_H
#define RDN_BOOK_H
#include <redan/market.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "market/levels.h"
#include "market/orders.h"

enum { RDN_LINE_WORDS = 7 };
struct rdn_book_line {                                   /* one line of the cache */
    _Alignas(64) _Atomic uint32_t seq;                   /* odd while it is written */
    _Atomic uint32_t flags;
    _Atomic uint64_t words[RDN_LINE_WORDS];              /* bid px, qty, ask px, qty, ts_recv, ts_event, events */
};
struct rdn_book {
    struct rdn_book_line line;
    struct rdn_levels levels;
    uint64_t events;
    uint32_t live;                                       /* orders */
    bool valid;
    bool whole;                                          /* nothing has been missed since the book was last empty */
    bool by_levels;                                      /* has depth: quotes of the best prices are for information */
};
/* Books' memory comes in slabs: the first for one book, then many at once, in large pages as long as there are few. */
struct rdn_slab { struct rdn_slab *next; void *start; size_t bytes, used; };
struct rdn_books {
    struct rdn_book *book;                               /* by instrument */
    uint32_t n, window, far;
    struct rdn_slab *slabs;                              /* the newest first */
    size_t reserved;                                     /* bytes of all */
    struct rdn_orders orders;
    uint8_t policy[REDAN_FAULTS];                        /* settled: never DEFAULT */
    uint64_t faults[REDAN_FAULTS];
};
int  rdn_book_open(struct rdn_books *, struct rdn_book *, bool valid);          /* NOMEM; levels of all->window and all->far */
void rdn_books_close(struct rdn_books *);                                       /* gives back the memory of all */

/* The instrument must be one of the books. The first fault of the event; all are counted. */
uint8_t rdn_book_apply(struct rdn_books *, const redan_mevent *);
uint8_t rdn_book_publish(struct rdn_books *, struct rdn_book *, const redan_mevent *);
uint8_t rdn_book_event(struct rdn_books *, const redan_mevent *);         /* apply, and with LAST publish */
int     rdn_book_read(const struct rdn_book_line *, redan_book_line_data *ret);
#endif
