/* SPDX-License-Identifier: Apache-2.0
 * window.h: keyed aggregates (LANGUAGE.md chapter 10), bit for bit. One lane owns a window; no locks.
 *
 * rdn_window_open    [setup]  reserves all address space (capacity x bytes per key); pages are committed by first touch
 * rdn_window_read    [hot]    O(1) amortised: pane windows advance at most once a pane; rings scan their slots
 * rdn_window_update  [hot]    O(1) amortised
 * `now` never goes back (LANGUAGE.md 11.1). Nothing here allocates after open. Keys are arrays of 64-bit words, `key_words` of them, in the encoding of
 * rdn_key_encode: the caller builds them once and uses them for find, read and update. */
#ifndef RDN_WINDOW_H
#define RDN_WINDOW_H
#include "ir/ir.h"
#include "ir/key.h"

struct rdn_win;                                          /* one window's state in one lane */
struct rdn_win_stats { uint64_t keys, evicted, refused, skipped; };
/* `syms` (for distinct over sym) and `def` are borrowed. NOMEM when the address space cannot be reserved, INVAL for a definition
 * the checker would not let through. [setup] */
struct rdn_kt_spares;                                    /* keytab.h; NULL: none */
int  rdn_win_open(const struct rdn_window *def, const struct rdn_syms *syms, const struct rdn_mem *, bool prefault, struct rdn_kt_spares *,
                  struct rdn_win **ret, redan_error *);
void rdn_win_close(struct rdn_win *);
void rdn_win_prefetch(const struct rdn_win *, const struct rdn_key *);

/* Value at `now` for a key: fills type by def->rtype (.d for dec, .i, .f, .t pointing into the state until the next update);
 * cause COLD, OVERFLOW, DIV0 or FULL (span left alone). Absent keys read like an empty window. Reading advances panes: it never
 * changes a later value. Who keeps a text over an update (prev of a text) copies it. OVERFLOW also for count, avg, stddev and
 * zscore over panes once one key had 2^32 updates in one live pane. */
void rdn_win_read(struct rdn_win *, const struct rdn_key *, int64_t now, struct rdn_cell *ret);
/* Enters a value (the caller has applied 10.2: where, undefined, NaN, inf, dec range; counts skips with rdn_win_skip).
 `span`: ewma's N or half-life. False: refused (counted), or a key that is absent (counted as a skip). */
bool rdn_win_update(struct rdn_win *, const struct rdn_key *, int64_t now, const struct rdn_cell *val, int64_t span);
/* rdn_win_read without prev for up to 64 windows of a lane at once: each value goes to its slot as a word, a float's bits and a decimal
 * of 64 bits, too. Bit i of the answer: number i has none; its slot is 0 when it is undefined, 1 when it has no word. Not for texts. */
uint64_t rdn_win_asks(struct rdn_win *const *wins, const struct rdn_ask *, const struct rdn_ask *end, uint8_t *block, int64_t now);
/* The same, in a hurry: of the value the low word counts (no text), and nobody asks what became of it. */
void rdn_win_put(struct rdn_win *, const struct rdn_key *, int64_t now, const struct rdn_cell *val, int64_t span);
void rdn_win_skip(struct rdn_win *);
void rdn_win_reset(struct rdn_win *, const struct rdn_key *);       /* forgets the key; counters stay */
void rdn_win_stats(const struct rdn_win *, struct rdn_win_stats *ret);
/* Keys in order of insertion: starts with *it = 0; false at the end. Words are valid until the next update. */
bool rdn_win_next(const struct rdn_win *, uint32_t *it, const uint64_t **ret_words);
/* The table refuses new keys (full, no evict): reads of absent keys are undefined(full). */
bool rdn_win_refusing(const struct rdn_win *);

/* Hot swap (chapter 13). `to` has the same structural hash; takes over state and counters, or answers false (more keys than its
 * capacity: starts cold). Moves the memory when capacity and layout are equal, O(keys) otherwise. carry.c */
bool rdn_win_carry(struct rdn_win *to, struct rdn_win *from);
/* The same, and `from` keeps its state: for two windows of one hash. */
bool rdn_win_copy(struct rdn_win *to, const struct rdn_win *from);
/* Bytes this window reserves. */
size_t rdn_win_bytes(const struct rdn_window *def);
#endif
