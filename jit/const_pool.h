/* SPDX-License-Identifier: Apache-2.0
 * const_pool.h: the constants of an event's native code: words of 8 bytes, each once, standing in front of the code. Private to jit/. */
#ifndef RDN_CONST_POOL_H
#define RDN_CONST_POOL_H
#include "base/mem.h"

struct rdn_pool { uint64_t *keys; uint32_t *pos, cap, n; };
void rdn_pool_open(struct rdn_pool *, struct rdn_arena *, uint32_t most);
/* Offset from `base`; a new constant is written below *low, which is lowered. 0: no room. */
uint32_t rdn_pool_put(struct rdn_pool *, uint8_t *base, uint32_t *low, uint64_t bits);
void rdn_pool_forget(struct rdn_pool *);                 /* what it holds: the next constants stand below *low, whatever they are */
#endif
