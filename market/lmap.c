/* SPDX-License-Identifier: Apache-2.0
 * lmap.c: see lmap.h. Slots hold index + 1, so that zeroed memory is an empty map. */
#include "market/lmap.h"
#include "base/hash.h"

static uint32_t slots_for(uint32_t cap) {
    uint32_t n = 8;
    while (n < 2 * (uint64_t)cap)
        n *= 2;
    return n;
}
static size_t pad(size_t n) { return (n + 15) & ~(size_t)15; }

size_t rdn_lmap_bytes(uint32_t cap) {
    return pad(cap * sizeof(struct rdn_lkey)) + pad(slots_for(cap) * sizeof(uint32_t)) + pad(cap * sizeof(uint32_t));
}

void *rdn_lmap_init(struct rdn_lmap *m, void *zeros, uint32_t cap) {
    char *p = zeros;
    uint32_t slots = slots_for(cap);
    *m = (struct rdn_lmap){ .keys = zeros, .mask = slots - 1, .cap = cap, .free = RDN_LMAP_NONE };
    p += pad(cap * sizeof *m->keys);
    m->slots = (uint32_t *)(void *)p;
    p += pad(slots * sizeof *m->slots);
    m->next = (uint32_t *)(void *)p;
    return p + pad(cap * sizeof *m->next);
}

static uint32_t home(const struct rdn_lmap *m, struct rdn_lkey k) {
    return (uint32_t)rdn_mix64(((uint64_t)k.a << 32 | k.b) ^ k.c * UINT64_C(0x9e3779b97f4a7c15)) & m->mask;
}
static bool same(struct rdn_lkey x, struct rdn_lkey y) { return x.a == y.a && x.b == y.b && x.c == y.c; }

uint32_t rdn_lmap_find(const struct rdn_lmap *m, struct rdn_lkey k) {
    for (uint32_t i = home(m, k); m->slots[i]; i = (i + 1) & m->mask)
        if (same(m->keys[m->slots[i] - 1], k))
            return m->slots[i] - 1;
    return RDN_LMAP_NONE;
}

uint32_t rdn_lmap_add(struct rdn_lmap *m, struct rdn_lkey k) {
    uint32_t x = m->free != RDN_LMAP_NONE ? m->free : m->used;
    if (x == m->cap)
        return RDN_LMAP_NONE;
    if (x == m->free)
        m->free = m->next[x];
    else
        m->used++;
    uint32_t i = home(m, k);
    while (m->slots[i])
        i = (i + 1) & m->mask;
    m->slots[i] = x + 1;
    m->keys[x] = k;
    m->next[x] = RDN_LMAP_HELD;
    m->n++;
    return x;
}

void rdn_lmap_remove(struct rdn_lmap *m, uint32_t index) {
    uint32_t i = home(m, m->keys[index]);
    while (m->slots[i] != index + 1)
        i = (i + 1) & m->mask;
    for (uint32_t j = (i + 1) & m->mask; m->slots[j]; j = (j + 1) & m->mask) {
        uint32_t want = home(m, m->keys[m->slots[j] - 1]);
        if (((j - want) & m->mask) < ((j - i) & m->mask))
            continue;                                     /* it would stand before its home */
        m->slots[i] = m->slots[j];
        i = j;
    }
    m->slots[i] = 0;
    m->next[index] = m->free;
    m->free = index;
    m->n--;
}
