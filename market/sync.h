/* SPDX-License-Identifier: Apache-2.0
 * sync.h: books kept by a snapshot and numbered differences, and the events that wait for one.
 *
 * A difference covers the numbers first..last and may name the last number of the one before it (`before`, 0: it does not). A snapshot
 * holds everything up to its number. O(1) each; no allocation after open. */
#ifndef RDN_SYNC_H
#define RDN_SYNC_H
#include <redan/market.h>
#include <stdbool.h>

enum rdn_feed_state {
#define STATE(NAME, next, doc) RDN_FEED_##NAME,
#include "market/feed_states.def"
#undef STATE
};
/* An old difference is a double of a recent one, or the numbering has begun anew and the book is not what it seems. */
enum { RDN_SYNC_RECENT = 16, RDN_SYNC_OLD_MAX = 1024 };
struct rdn_sync {
    uint8_t state;
    uint64_t last, held_last;                            /* number of what the book holds; of the last difference that waits, 0: none */
    uint64_t missed;                                     /* of the last difference that was neither applied nor kept: a snapshot must hold it */
    uint64_t recent[RDN_SYNC_RECENT];                    /* the last differences applied, a ring */
    uint32_t at, old;                                    /* its next place; old differences in succession */
};
struct rdn_diff { uint64_t first, last, before; };
enum rdn_sync_answer {
    RDN_SYNC_APPLY,
    RDN_SYNC_OLD,                                        /* the snapshot holds it */
    RDN_SYNC_AGAIN,                                      /* applied before */
    RDN_SYNC_LOST,                                       /* something is missing: from now on the book is invalid */
    RDN_SYNC_HOLD,                                       /* waits for a snapshot */
};
enum rdn_sync_answer rdn_sync_diff(struct rdn_sync *, struct rdn_diff);
/* Something is missing, of the book or of the snapshot that it was to come from: it is invalid from now on, and waits for another. */
void rdn_sync_lose(struct rdn_sync *);
/* False: it is older than the book. */
bool rdn_sync_snapshot(struct rdn_sync *, uint64_t last);
static inline bool rdn_diff_follows(struct rdn_diff d, uint64_t last) { return d.before ? d.before == last : d.first == last + 1; }

/* A bounded queue of events. */
enum { RDN_HELD_MAX = 65536, RDN_READY_MAX = 1 << 18 };
struct rdn_events { redan_mevent *ev; uint32_t n, at, cap; };        /* n are there, from `at` */
bool rdn_events_open(struct rdn_events *, uint32_t cap);             /* address space, committed by use */
void rdn_events_close(struct rdn_events *);
redan_mevent *rdn_events_push(struct rdn_events *);                  /* NULL: full */
uint32_t rdn_events_take(struct rdn_events *, redan_mevent *out, uint32_t cap);
#endif
