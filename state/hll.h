/* SPDX-License-Identifier: Apache-2.0
 * hll.h: HyperLogLog sketches of 256 registers (10.6), six bits a register. [any] [hot] */
#ifndef RDN_HLL_H
#define RDN_HLL_H
#include <stdbool.h>
#include <stdint.h>

#define RDN_HLL_REGS 256
#define RDN_HLL_BYTES 192
/* Enters a hash; true when a register grew. */
bool rdn_hll_put(uint8_t *sketch, uint64_t hash);
/* regs[i] = max(regs[i], register i of the sketch) */
void rdn_hll_max(uint8_t regs[RDN_HLL_REGS], const uint8_t *sketch);
int64_t rdn_hll_estimate(const uint8_t regs[RDN_HLL_REGS]);
#endif
