/* SPDX-License-Identifier: Apache-2.0
 * key.h: window and table keys as arrays of 64-bit words: built once, used for find, read and update. [any] [hot] */
#ifndef RDN_KEY_H
#define RDN_KEY_H
#include "ir/ir.h"

#define RDN_KEY_WORDS_MAX (8 * 32)                       /* 8 keys of str(256) */
/* absent: no stored key can equal it. hash is seeded by the process, so that nobody outside can craft keys that collide: it
 * never goes into a record or a file. */
struct rdn_key { uint32_t words; bool absent; uint64_t hash; uint64_t w[RDN_KEY_WORDS_MAX]; };
uint32_t rdn_key_words(const struct rdn_type *kt);       /* words of one key of that type: 1, or n/8 rounded up for str(n) */
/* Appends one key value (bool int dec sym str enum time dur date) of key type `kt`. A dec outside int64, a text longer than
 * str(n), a text that is no symbol: absent. Call rdn_key_begin first and rdn_key_end (hash) last. */
static inline void rdn_key_begin(struct rdn_key *k) { k->words = 0; k->absent = false; }
void rdn_key_add_any_(struct rdn_key *, const struct rdn_type *kt, const struct rdn_cell *);
static inline void rdn_key_add(struct rdn_key *k, const struct rdn_type *kt, const struct rdn_cell *c) {
    if (kt->kind == RDN_K_INT)
        k->w[k->words++] = (uint64_t)c->i;
    else
        rdn_key_add_any_(k, kt, c);
}
static inline void rdn_key_end(struct rdn_key *);
/* What rdn_key_end puts into .hash. Two words are folded into one by a 64 x 64 -> 128 bit product, each under a secret of the
 * process: keys come from strangers, and who knows the secrets of a table can fill one chain of it. A last multiplication
 * spreads what the product left uneven; users take the upper half. */
struct rdn_key_secret { uint64_t a, b; };                /* b is odd */
extern struct rdn_key_secret rdn_key_secret_;            /* set before main */
static inline uint64_t rdn_key_fold_(uint64_t a, uint64_t b) {
    rdn_u128 m = (rdn_u128)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}
#define RDN_KEY_ODD 0x9fb21c651e98df25u                   /* the factor of a word without a partner */
static inline uint64_t rdn_key_hash(const uint64_t *words, uint32_t n) {
    struct rdn_key_secret s = rdn_key_secret_;
    uint64_t h = s.a;
    uint32_t i = 0;
    for (; i + 2 <= n; i += 2)
        h = rdn_key_fold_(words[i] ^ h, words[i + 1] ^ s.b);
    if (i < n)
        h = rdn_key_fold_(words[i] ^ h, RDN_KEY_ODD);
    return (h ^ h >> 32) * s.b;
}
static inline void rdn_key_end(struct rdn_key *k) { k->hash = rdn_key_hash(k->w, k->words); }
/* One of many reads of windows (helpers.wasks of jit/exec.h): byte offsets in a block of the key and of the word that gets the value. A value
 * without an 8-byte form has no word. els stands in for undefined when has_els. */
struct rdn_ask { uint32_t window, key, slot; bool has_els; int64_t els; };
void rdn_key_load(struct rdn_key *, const uint64_t *words, uint32_t n);   /* a key from stored words, hash included */
/* Key number i of an encoded key as a cell (for --state); texts point into `words`. */
void rdn_key_decode(const uint64_t *words, const struct rdn_type *const *types, uint32_t n, uint32_t i, struct rdn_cell *ret);
#endif
