/* SPDX-License-Identifier: Apache-2.0
 * const_pool.c: see const_pool.h. An open hash table from the bits to their place. */
#include "jit/const_pool.h"
#include <string.h>
#include "base/hash.h"
#include "jit/faults.h"

void rdn_pool_open(struct rdn_pool *p, struct rdn_arena *a, uint32_t most) {
    for (p->cap = 256; p->cap < 2 * most; p->cap *= 2)
        ;
    p->keys = rdn_new_n(a, uint64_t, p->cap);
    p->pos = rdn_new_n(a, uint32_t, p->cap);
}
uint32_t rdn_pool_put(struct rdn_pool *p, uint8_t *base, uint32_t *low, uint64_t bits) {
    bool low_half = rdn_fault(POOL_LOW_HALF);
    uint32_t k = (uint32_t)rdn_mix64(low_half ? (uint32_t)bits : bits) & (p->cap - 1);
    while (p->pos[k] && (low_half ? (uint32_t)p->keys[k] != (uint32_t)bits : p->keys[k] != bits))
        k = (k + 1) & (p->cap - 1);
    if (p->pos[k])
        return p->pos[k];
    if (*low < 16 || p->n * 2 >= p->cap)
        return 0;
    *low -= 8;
    p->n++;
    memcpy(base + *low, &bits, 8);
    p->keys[k] = bits;
    return p->pos[k] = *low;
}
void rdn_pool_forget(struct rdn_pool *p) {
    memset(p->pos, 0, p->cap * sizeof *p->pos);
    p->n = 0;
}
