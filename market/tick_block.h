/* SPDX-License-Identifier: Apache-2.0
 * tick_block.h: n wire ticks of 24 bytes into columns, by the plain code that says what a tick is and by vector code that must equal it bit for
 * bit. Each answers how many it refused. [hot] */
#ifndef RDN_TICK_BLOCK_H
#define RDN_TICK_BLOCK_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"

typedef size_t rdn_tick_block(double per_price, const char *in, size_t n, int64_t *ts, int64_t *bid, int64_t *ask, uint8_t *faults);
rdn_tick_block rdn_tick_plain;
#ifdef __x86_64__
rdn_tick_block rdn_tick_avx2, rdn_tick_avx512;           /* if the processor has them: base/cpu.h */
#endif
rdn_tick_block *rdn_tick_best(void);                     /* of this processor */
#endif
