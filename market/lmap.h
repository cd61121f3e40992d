/* SPDX-License-Identifier: Apache-2.0
 * lmap.h: keys of up to three symbols to indices below a capacity, in memory of the caller's; open addressing, at most half full.
 *
 *   find, add, remove   O(1); removal shifts the rest of the run back. Indices of removed keys are used again first. */
#ifndef RDN_LMAP_H
#define RDN_LMAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDN_LMAP_NONE UINT32_MAX
struct rdn_lkey { uint32_t a, b, c; };
struct rdn_lmap { struct rdn_lkey *keys; uint32_t *slots, *next; uint32_t mask, cap, n, used, free; };   /* next: RDN_LMAP_HELD or the free list */
#define RDN_LMAP_HELD (UINT32_MAX - 1)
size_t   rdn_lmap_bytes(uint32_t cap);
void    *rdn_lmap_init(struct rdn_lmap *, void *zeros, uint32_t cap);      /* returns the end of what it took */
uint32_t rdn_lmap_find(const struct rdn_lmap *, struct rdn_lkey);
uint32_t rdn_lmap_add(struct rdn_lmap *, struct rdn_lkey);                 /* must not be there; NONE: full */
void     rdn_lmap_remove(struct rdn_lmap *, uint32_t index);
static inline bool rdn_lmap_held(const struct rdn_lmap *m, uint32_t i) { return i < m->used && m->next[i] == RDN_LMAP_HELD; }
#endif
