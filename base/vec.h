/* SPDX-License-Identifier: Apache-2.0
 * vec.h: a growing array in an arena. Growth leaves the old block to the arena (at most doubles its use).
 * The arena needs .oom: an append has no way to report a failure.
 *
 *   RDN_VEC(struct rdn_node) nodes;                 declares {T *v; uint32_t n, cap;}
 *   struct rdn_node *n = rdn_push(&arena, &nodes);  a zeroed new last element
 *   rdn_push_val(&arena, &ids, id);
 *   rdn_sort(&ids, by_value);                       as qsort() does, and may be empty */
#ifndef RDN_VEC_H
#define RDN_VEC_H
#include "base/mem.h"

#define RDN_VEC(T) struct { T *v; uint32_t n, cap; }
void *rdn_vec_raw(struct rdn_arena *, void *v, uint32_t n, uint32_t want, size_t size);
void *rdn_vec_room(struct rdn_arena *, void *v, uint32_t n, uint32_t want, size_t size);
void *rdn_vec_grow(struct rdn_arena *, void *v, uint32_t n, uint32_t *cap, size_t size);
void rdn_vec_sort(void *v, uint32_t n, size_t size, int (*order)(const void *, const void *));
/* Room for n elements, so that a growing array leaves nothing behind. */
#define rdn_reserve(arena, vec, many)                                                                \
    ((vec)->cap < (many) ? ((vec)->v = rdn_vec_room((arena), (vec)->v, (vec)->n, (many), sizeof *(vec)->v), (vec)->cap = (many)) : 0)
/* The same for an array whose new elements are all written whole: its room holds anything. */
#define rdn_reserve_raw(arena, vec, many)                                                            \
    ((vec)->cap < (many) ? ((vec)->v = rdn_vec_raw((arena), (vec)->v, (vec)->n, (many), sizeof *(vec)->v), (vec)->cap = (many)) : 0)
/* Moves the array to an arena, exactly as long as it is. */
#define rdn_settle(arena, vec) \
    ((vec)->v = rdn_vec_room((arena), (vec)->v, (vec)->n, (vec)->n, sizeof *(vec)->v), (vec)->cap = (vec)->n)
#define rdn_push(arena, vec)                                                                         \
    ((vec)->n == (vec)->cap                                                                          \
         ? ((vec)->v = rdn_vec_grow((arena), (vec)->v, (vec)->n, &(vec)->cap, sizeof *(vec)->v), 0)  \
         : 0,                                                                                        \
     &(vec)->v[(vec)->n++])
#define rdn_sort(vec, order) rdn_vec_sort((vec)->v, (vec)->n, sizeof *(vec)->v, (order))
#define rdn_push_val(arena, vec, val) (*rdn_push((arena), (vec)) = (val))
#endif
