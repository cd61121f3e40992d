/* SPDX-License-Identifier: Apache-2.0
 * vec.c: growth of the arrays of vec.h. */
#include "base/vec.h"

#include <assert.h>
#include <string.h>

void *rdn_vec_grow(struct rdn_arena *a, void *v, uint32_t n, uint32_t *cap, size_t size) {
    assert(*cap < UINT32_MAX / 2);
    uint32_t want = *cap ? *cap * 2 : 8;
    void *p = rdn_arena_alloc(a, size * want);
    assert(p);                                         /* the arena has .oom (vec.h) */
    if (n)
        memcpy(p, v, size * n);
    *cap = want;
    return p;
}
