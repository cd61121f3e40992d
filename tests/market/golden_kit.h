/* SPDX-License-Identifier: Apache-2.0
 * golden_kit.h: real market files through a feed, and the hashes that MARKET.md 9 states of what comes out.
 *
 * Hash: the first 16 hex digits of SHA-256 over little-endian i64 (bid px, bid qty, ask px, ask qty), 0 for an absent side; of every
 * state, and of states that differ from the one before. */
#ifndef RDN_GOLDEN_KIT_H
#define RDN_GOLDEN_KIT_H
#include <redan/market.h>
#include <sodium.h>

#include "tests/unit/rows.h"

struct golden {
    redan_feed *feed;
    uint32_t instrument;
    crypto_hash_sha256_state all, distinct;
    uint64_t states, distinct_states, pairs, spread_sum, crossed;
    int64_t last[4];
    uint64_t actions[256];
    void (*seen)(struct golden *, const redan_mevent *);     /* NULL, or asked before each event is applied */
    void *mine;
    uint64_t unseen;                                     /* states at the beginning that do not count */
};
/* A file of the shared data, unpacked, whole; NULL with the reason printed when it is not there. */
char *golden_file(const char *name, size_t *ret_len);
/* A feed with one instrument; lot NULL: 1. */
redan_feed *golden_open(const redan_feed_options *, const char *symbol, const char *tick, const char *lot, uint32_t number);
void golden_begin(struct golden *, redan_feed *, uint32_t instrument);
/* Takes the line as it is now for one state. */
void golden_state(struct golden *);
void golden_end(struct golden *, char all[17], char distinct[17]);
/* Decodes and applies, `piece` bytes at a time, and takes a state after each event with LAST if `each` is not NULL. */
void golden_feed(struct golden *, const char *data, size_t len, size_t piece);
#endif
