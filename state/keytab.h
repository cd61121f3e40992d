/* SPDX-License-Identifier: Apache-2.0
 * keytab.h: a fixed-capacity hash table of keys with a state each, in memory reserved at open and committed by first touch.
 *
 * rdn_keytab_open    [setup]  reserves everything: capacity x (16 bytes of links + 8 to 21 bytes of index + key + state)
 * rdn_keytab_find    [hot]    O(1); one index line and one row line when the key is there
 * rdn_keytab_look    [hot]    the same, and remembers the row: the same key asked again needs no index line
 * rdn_keytab_insert  [hot]    O(1); the caller made room. Twice in a table's life the index grows: at 768 and at 6,144 keys
 * rdn_keytab_remove  [hot]    O(1); shifts the probe run back, so no tombstones pile up
 * rdn_keytab_touch   [hot]    O(1); makes a key the most recently used
 *
 * Rows have an id below the capacity for as long as they live; a removed id is used again first. Two lists run through the
 * rows: by insertion and by use. Their links stand apart from the rows, so that moving a row in a list of a million keys
 * touches 8 MB that stay in the cache, not three cold rows. One thread owns a table. */
#ifndef RDN_KEYTAB_H
#define RDN_KEYTAB_H
#include <string.h>

#include "base/mem.h"
#include "ir/key.h"

#define RDN_KT_NONE UINT32_MAX
struct rdn_kt_slot { uint32_t id1, tag; };               /* id + 1, 0: empty; upper half of the hash */
struct rdn_kt_link { uint32_t prev, next; };
struct rdn_kt_list { struct rdn_kt_link *links; uint32_t end; };   /* a ring: links[end] holds the first (next) and the last (prev) */
struct rdn_kt_last { uint64_t hash; char *row; uint32_t id; };
/* Mappings of closed tables that never held a key, for the next table of the same shape: a swap exchanges the memory of two windows
 * and closes the one that is left, so every swap would map what the one before it unmapped. Under the owner's lock. */
enum { RDN_KT_SPARES = 64 };
struct rdn_kt_spares { uint32_t n; struct rdn_kt_spare { void *base; size_t bytes; uint32_t cap, words, stride; } v[RDN_KT_SPARES]; };
struct rdn_keytab {
    struct rdn_kt_slot *index;
    char *rows;                                          /* key words, then the state at state_off */
    uint32_t words, state_off, stride, state_bytes;
    uint32_t cap, n, used, free;                         /* used: ids handed out so far; free: head of removed ids */
    uint32_t mask, shift, full;                          /* of the index as it is now; slots there is room for */
    struct rdn_kt_list ins, lru;                         /* first: first inserted, least recently used */
    struct rdn_kt_last last;                             /* of the last look; row NULL: none, or it is gone */
    const struct rdn_mem *mem;
    void *base; size_t bytes; bool mapped;
    bool emptied;                                        /* it held keys before */
    struct rdn_kt_spares *spares;                        /* NULL: none */
};

/* Bytes the table reserves. `align` of the state: 8 or 16. */
size_t rdn_keytab_bytes(uint32_t cap, uint32_t words, size_t state_bytes, unsigned align);
/* 0 or REDAN_E_NOMEM. prefault commits every page now, with huge pages where the system has them. */
int  rdn_keytab_open(struct rdn_keytab *, uint32_t cap, uint32_t words, size_t state_bytes, unsigned align,
                     const struct rdn_mem *, bool prefault, struct rdn_kt_spares *);
void rdn_keytab_close(struct rdn_keytab *);
void rdn_keytab_drop_spares(struct rdn_kt_spares *);
void rdn_keytab_clear(struct rdn_keytab *);              /* forgets all keys; O(keys) */
uint32_t rdn_keytab_insert(struct rdn_keytab *, const uint64_t *words, uint64_t hash);   /* the state is not initialised */
void rdn_keytab_remove(struct rdn_keytab *, uint32_t id);

static inline void *rdn_keytab_state(const struct rdn_keytab *t, uint32_t id) { return t->rows + (size_t)id * t->stride + t->state_off; }
static inline const uint64_t *rdn_keytab_key(const struct rdn_keytab *t, uint32_t id) {
    return (const uint64_t *)(t->rows + (size_t)id * t->stride);
}
/* The id behind this one in a list; the first one for RDN_KT_NONE. RDN_KT_NONE at the end. */
static inline uint32_t rdn_kt_next(const struct rdn_kt_list *l, uint32_t id) {
    uint32_t next = l->links[id == RDN_KT_NONE ? l->end : id].next;
    return next == l->end ? RDN_KT_NONE : next;
}
static inline uint32_t rdn_keytab_next(const struct rdn_keytab *t, uint32_t id) { return rdn_kt_next(&t->ins, id); }

/* Keys of up to three words, cards and accounts among them, without a loop. */
static inline bool rdn_keytab_equal_(const uint64_t *a, const uint64_t *b, uint32_t words) {
    if (words == 1)
        return a[0] == b[0];
    if (words == 3)
        return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]));
    for (uint32_t i = 0; i < words; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

uint32_t rdn_keytab_find(const struct rdn_keytab *, const uint64_t *words, uint64_t hash);

/* The row, its id in t->last.id; or NULL. What was looked for last, an event that has updated it often reads. */
char *rdn_keytab_look(struct rdn_keytab *, const uint64_t *words, uint64_t hash);
/* The same in line, for keys that are there; NULL says nothing. */
static inline char *rdn_keytab_near(struct rdn_keytab *t, const uint64_t *words, uint64_t hash) {
    char *row = t->last.row;
    if (t->last.hash != hash || !row) {
        if (!t->words)
            return NULL;
        uint32_t tag = (uint32_t)(hash >> 32), i = tag >> t->shift;
        struct rdn_kt_slot s = t->index[i];
        while (s.tag != tag && s.id1)
            s = t->index[i = (i + 1) & t->mask];
        if (!s.id1)
            return NULL;
        row = t->rows + (size_t)(s.id1 - 1) * t->stride;
        t->last = (struct rdn_kt_last){ hash, row, s.id1 - 1 };
    }
    return rdn_keytab_equal_((const uint64_t *)(const void *)row, words, t->words) ? row : NULL;
}

static inline void rdn_keytab_prefetch(const struct rdn_keytab *t, uint64_t hash) {
    if (t->words)
        __builtin_prefetch(&t->index[(uint32_t)(hash >> 32) >> t->shift]);
}

static inline void rdn_kt_unlink_(struct rdn_kt_list *l, uint32_t id) {
    struct rdn_kt_link k = l->links[id];
    l->links[k.prev].next = k.next;
    l->links[k.next].prev = k.prev;
}
static inline void rdn_kt_append_(struct rdn_kt_list *l, uint32_t id) {
    uint32_t last = l->links[l->end].prev;
    l->links[id] = (struct rdn_kt_link){ last, l->end };
    l->links[last].next = id;
    l->links[l->end].prev = id;
}
static inline void rdn_keytab_touch(struct rdn_keytab *t, uint32_t id) {
    if (t->lru.links[id].next == t->lru.end)
        return;
    rdn_kt_unlink_(&t->lru, id);
    rdn_kt_append_(&t->lru, id);
}
#endif
