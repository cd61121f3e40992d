/* SPDX-License-Identifier: Apache-2.0
 * ir_hash.c: the identity of a rule set in records: BLAKE2b-256. */
#include "ir/ir.h"
#include <sodium.h>
#include <string.h>

void rdn_ir_hash(const struct rdn_ir *ir, uint8_t ret[32]) {
    crypto_generichash_state st;
    crypto_generichash_init(&st, NULL, 0, 32);
    crypto_generichash_update(&st, (const unsigned char *)ir->name, strlen(ir->name) + 1);
    crypto_generichash_update(&st, (const unsigned char *)ir->source, ir->source_len);
    crypto_generichash_update(&st, (const unsigned char *)ir->nodes.v, sizeof *ir->nodes.v * ir->nodes.n);
    crypto_generichash_final(&st, ret, 32);
}
