/* SPDX-License-Identifier: Apache-2.0
 * map.h: bytes to uint32_t, open addressing, in an arena. Keys are borrowed: they must outlive the map.
 * The arena needs .oom.
 *
 * rdn_map_get   O(1); RDN_MAP_NONE when absent
 * rdn_map_put   O(1) amortised; true when the key is new, else the old value stays (use rdn_map_set) */
#ifndef RDN_MAP_H
#define RDN_MAP_H
#include "base/mem.h"

#define RDN_MAP_NONE UINT32_MAX
struct rdn_map_slot { const void *key; uint32_t len, val; uint64_t hash; };
struct rdn_map { struct rdn_arena *arena; struct rdn_map_slot *slots; uint32_t n, cap; };
void     rdn_map_init(struct rdn_map *, struct rdn_arena *);
uint32_t rdn_map_get(const struct rdn_map *, const void *key, size_t len);
bool     rdn_map_put(struct rdn_map *, const void *key, size_t len, uint32_t val);
void     rdn_map_set(struct rdn_map *, const void *key, size_t len, uint32_t val);
#endif
