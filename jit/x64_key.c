/* SPDX-License-Identifier: Apache-2.0
 * x64_key.c: words and hashes of an event's quick keys (steps.h), as rdn_key_hash computes them. rax collects the hash, rcx is a word
 * or a factor, r8 and r9 hold the process's secrets, which the block carries: code has no address in it. */
#include "jit/steps.h"
#include "jit/x64_gen.h"

/* The row begins with 8 bytes of time, so that the 8 bytes before any end are the row's. */
static void load_word(struct x64_buf *b, unsigned d, const struct rdn_keyword *w) {
    struct x64_mem m = x_at(X_RSI, (int32_t)w->at);
    switch ((enum rdn_load)w->load) {
    case RDN_LOAD_64: x_mov_rm(b, d, m); return;
    case RDN_LOAD_U32: x_mov32_rm(b, d, m); return;
    case RDN_LOAD_I32: x_movsxd_rm(b, d, m); return;
    case RDN_LOAD_U8: x_movzx8_rm(b, d, m); return;
    case RDN_LOAD_TAIL:
        x_mov_rm(b, d, x_at(X_RSI, (int32_t)(w->at + w->bytes) - 8));
        x_shr(b, d, 64 - 8u * w->bytes);
        return;
    case RDN_LOAD_ZERO: case RDN_LOAD_NONE: case RDN_LOAD_TEXT: case RDN_LOAD_SLOT: case RDN_LOAD_ITEM: case RDN_LOAD_GATHER: case RDN_LOAD_SLOW: break;
    }
    x_alu32_rr(b, X_XOR, d, d);
}
/* Loads word i, leaves it in the key and in register d. */
static void put_word(struct x64_buf *b, unsigned d, const struct rdn_steps *s, const struct rdn_quickkey *k, uint32_t i) {
    load_word(b, d, &s->words[k->word + i]);
    x_mov_mr(b, x_at(X_RDI, (int32_t)(k->at + offsetof(struct rdn_key, w) + 8 * i)), d);
}
static void one_key(struct x64_buf *b, const struct rdn_steps *s, const struct rdn_quickkey *k) {
    x_mov_rr(b, X_RAX, X_R9);
    for (uint32_t i = 0; i < k->words; i += 2) {
        put_word(b, X_RCX, s, k, i);
        x_alu_rr(b, X_XOR, X_RAX, X_RCX);
        if (i + 1 < k->words) {
            put_word(b, X_RCX, s, k, i + 1);
            x_alu_rr(b, X_XOR, X_RCX, X_R8);
        } else {
            x_mov_ri(b, X_RCX, (int64_t)RDN_KEY_ODD);
        }
        x_mul(b, X_RCX);
        x_alu_rr(b, X_XOR, X_RAX, X_RDX);
    }
    x_mov_rr(b, X_RCX, X_RAX);
    x_shr(b, X_RCX, 32);
    x_alu_rr(b, X_XOR, X_RAX, X_RCX);
    x_imul_rr(b, X_RAX, X_R8);
    x_mov_mr(b, x_at(X_RDI, (int32_t)(k->at + offsetof(struct rdn_key, hash))), X_RAX);
}
void x64_keys(struct x64_gen *g) {
    const struct rdn_steps *s = g->pl->steps;
    if (!s->nquick)
        return;
    x_mov_rm(&g->b, X_R9, x_at(X_RDI, RDN_BLOCK_SECRET));
    x_mov_rm(&g->b, X_R8, x_at(X_RDI, RDN_BLOCK_SECRET + 8));
    for (uint32_t i = 0; i < s->nquick; i++)
        one_key(&g->b, s, &s->quick[i]);
}
