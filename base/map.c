/* SPDX-License-Identifier: Apache-2.0
 * map.c: linear probing over a power of two, at most three quarters full. */
#include "base/map.h"

#include <assert.h>
#include <string.h>
#include "base/hash.h"

/* Eight bytes a step: keys are names, but also whole canonical texts. */
static uint64_t hash_of(const void *key, size_t len) {
    const char *p = key;
    uint64_t h = len, w;
    for (; len >= sizeof w; p += sizeof w, len -= sizeof w) {
        memcpy(&w, p, sizeof w);
        h = (h ^ w) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    w = 0;
    memcpy(&w, p, len);
    return rdn_mix64(h ^ w);
}

void rdn_map_init(struct rdn_map *m, struct rdn_arena *a) { *m = (struct rdn_map){.arena = a}; }

/* The slot that holds the key, or the free one where it belongs. Needs a free slot. */
static struct rdn_map_slot *slot_of(const struct rdn_map *m, const void *key, size_t len, uint64_t hash) {
    for (uint32_t i = (uint32_t)hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        struct rdn_map_slot *s = &m->slots[i];
        if (!s->key || (s->hash == hash && s->len == len && memcmp(s->key, key, len) == 0))
            return s;
    }
}

static void grow(struct rdn_map *m) {
    struct rdn_map was = *m;
    assert(was.cap < UINT32_MAX / 2);
    m->cap = was.cap ? was.cap * 2 : 16;
    m->slots = rdn_new_n(m->arena, struct rdn_map_slot, m->cap);
    assert(m->slots);                                  /* the arena has .oom (map.h) */
    for (uint32_t i = 0; i < was.cap; i++) {
        const struct rdn_map_slot *s = &was.slots[i];
        if (s->key)
            *slot_of(m, s->key, s->len, s->hash) = *s;
    }
}

uint32_t rdn_map_get(const struct rdn_map *m, const void *key, size_t len) {
    if (!m->n)
        return RDN_MAP_NONE;
    const struct rdn_map_slot *s = slot_of(m, key, len, hash_of(key, len));
    return s->key ? s->val : RDN_MAP_NONE;
}

static struct rdn_map_slot *enter(struct rdn_map *m, const void *key, size_t len, bool *ret_new) {
    if ((uint64_t)(m->n + 1) * 4 > (uint64_t)m->cap * 3)
        grow(m);
    uint64_t hash = hash_of(key, len);
    struct rdn_map_slot *s = slot_of(m, key, len, hash);
    *ret_new = !s->key;
    if (*ret_new) {
        *s = (struct rdn_map_slot){.key = key, .len = (uint32_t)len, .hash = hash};
        m->n++;
    }
    return s;
}

bool rdn_map_put(struct rdn_map *m, const void *key, size_t len, uint32_t val) {
    bool fresh;
    struct rdn_map_slot *s = enter(m, key, len, &fresh);
    if (fresh)
        s->val = val;
    return fresh;
}

void rdn_map_set(struct rdn_map *m, const void *key, size_t len, uint32_t val) {
    bool fresh;
    enter(m, key, len, &fresh)->val = val;
}
