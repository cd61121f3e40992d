/* SPDX-License-Identifier: Apache-2.0
 * vec.c: growth of the arrays of vec.h. */
#include "base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Elements of this many bytes mostly stand alone: the actions of a rule, say. */
enum { FEW = 64 };

void *rdn_vec_raw(struct rdn_arena *a, void *v, uint32_t n, uint32_t want, size_t size) {
    void *p = rdn_arena_raw(a, size * want);
    assert(p);                                         /* the arena has .oom (vec.h) */
    if (n)
        memcpy(p, v, size * n);
    return p;
}

void *rdn_vec_room(struct rdn_arena *a, void *v, uint32_t n, uint32_t want, size_t size) {
    char *p = rdn_vec_raw(a, v, n, want, size);
    if (want > n)
        memset(p + size * n, 0, size * (want - n));
    return p;
}

void *rdn_vec_grow(struct rdn_arena *a, void *v, uint32_t n, uint32_t *cap, size_t size) {
    assert(*cap < UINT32_MAX / 2);
    uint32_t was = *cap;
    *cap = was ? was * 2 : size > FEW ? 1 : 8;
    if (!rdn_arena_extend(a, v, size * was, size * *cap))
        return rdn_vec_room(a, v, n, *cap, size);
    memset((char *)v + size * was, 0, size * (*cap - was));
    return v;
}

void rdn_vec_sort(void *v, uint32_t n, size_t size, int (*order)(const void *, const void *)) {
    if (n > 1)                                          /* an empty array may have no block, which qsort does not allow */
        qsort(v, n, size, order);
}
