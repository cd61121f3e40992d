/* SPDX-License-Identifier: Apache-2.0
 * reading.h: one pass over a file of market data: unpacked, its format found out, decoded by a feed, event by event.
 *
 *   rdn_reading_open     [setup]   reads the file's beginning
 *   rdn_reading_next     [lane]    the next event; the caller applies it to the feed's books, or does not
 *
 * Memory is bounded: two of the longest message and some events, besides what the feed reserves. What is left of the last message at the
 * end of a file is a fault SHORT_INPUT; the last line of a text needs no newline.
 * A pass is counted. Whoever uses one from several threads holds its lock. */
#ifndef RDN_READING_H
#define RDN_READING_H
#include <redan/market.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "market/source.h"

enum { RDN_READING_EVENTS = 512 };
struct rdn_reading_options {
    const char *path;                                    /* NULL: a feed without a file */
    const char *seed;                                    /* LOBSTER's order-book file: its first row is in the book when the messages begin */
    redan_feed_options feed;                             /* .format NULL or "auto": what the file's beginning looks like */
    const redan_instrument *instruments;
    uint32_t n;
};
struct rdn_reading {
    _Atomic uint32_t refs;
    pthread_mutex_t lock;
    redan_feed *feed;
    struct rdn_source *source;                           /* NULL: no file, or its end */
    unsigned char *buf;
    size_t at, n;                                        /* unread bytes of buf */
    redan_mevent ev[RDN_READING_EVENTS];
    uint32_t ev_at, ev_n;
    bool ended;
};
int  rdn_reading_open(struct rdn_reading **ret, const struct rdn_reading_options *, redan_error *);     /* SYS, NOMEM, INVAL, CORRUPT */
struct rdn_reading *rdn_reading_ref(struct rdn_reading *);
void rdn_reading_unref(struct rdn_reading *);                  /* takes NULL */
/* *ret is good until the next call; NULL: the end. */
int  rdn_reading_next(struct rdn_reading *, const redan_mevent **ret, redan_error *);
int  rdn_reading_some(struct rdn_reading *, const redan_mevent **ret, uint32_t *ret_n, redan_error *);      /* as many as are decoded; none: the end */

/* The name of the format that a file begins like, from up to its first 4 KiB, or by the end of its name; NULL: none. */
const char *rdn_format_guess(const char *path, const unsigned char *head, size_t n);
#endif
