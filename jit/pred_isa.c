/* SPDX-License-Identifier: Apache-2.0
 * pred_isa.c: memory and answers of predicate programs, and which build of their loops this CPU runs (pred.h). */
#include "jit/pred.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"

/* ---- one event ---- */
static size_t padded(size_t n) { return (n + 63) & ~(size_t)63; }
size_t rdn_preds_bytes(const struct rdn_preds *p) {
    return padded(p->ncells * sizeof(union rdn_pred_word)) + padded(p->ncells) + padded(p->nwide * sizeof(rdn_i128)) + padded(p->nwide) + padded(p->ntruths);
}
void rdn_preds_init(const struct rdn_preds *p, void *memory, struct rdn_pred_cells *ret) {
    uint8_t *m = memory;
    *ret = (struct rdn_pred_cells){.v = (union rdn_pred_word *)(void *)m};
    ret->u = m += padded(p->ncells * sizeof(union rdn_pred_word));
    ret->w = (rdn_i128 *)(void *)(m += padded(p->ncells));
    ret->wu = m += padded(p->nwide * sizeof(rdn_i128));
    ret->t = m + padded(p->nwide);
    ret->t[1] = 3;
    for (uint32_t i = 0; i < p->nconsts; i++)
        ret->v[p->consts[i].cell] = p->consts[i].v;
}

/* Bit 0 of eight bytes as eight bits. */
static uint64_t pack(uint64_t v) { return (v & 0x0101010101010101u) * 0x0102040810204080u >> 56; }
void rdn_preds_word(const struct rdn_preds *p, const struct rdn_pred_cells *c, uint32_t w, uint64_t *ret_true, uint64_t *ret_undef) {
    uint64_t yes = 0, maybe = 0, v;
    for (unsigned i = 0; i < 8; i++) {
        memcpy(&v, c->t + p->rules + 64 * w + 8 * i, 8);
        yes |= pack(v) << 8 * i;
        maybe |= pack(v >> 1) << 8 * i;
    }
    *ret_true = yes;
    *ret_undef = maybe & ~yes;
}

bool rdn_preds_item(const struct rdn_preds *p, const struct rdn_pred_cells *c, uint32_t item, int64_t *ret) {
    uint32_t at = p->items[item].at;
    switch (p->items[item].home) {
    case RDN_HOME_F:
        *ret = c->v[at].i;
        return c->v[at].f == c->v[at].f;
    case RDN_HOME_I:
        *ret = c->v[at].i;
        return !c->u[at];
    case RDN_HOME_W:
        *ret = (int64_t)c->w[at];
        return !c->wu[at] && rdn_fits_i64(c->w[at]);
    default:
        *ret = c->t[at] & 1;
        return c->t[at] != 2;
    }
}

/* ---- blocks ---- */
size_t rdn_preds_block_bytes(const struct rdn_preds *p) {
    return p->ncells * sizeof(struct rdn_pred_column) + padded(p->ncells * sizeof(void *)) + p->ntruths * sizeof(uint64_t[RDN_BLOCK_WORDS]);
}
void rdn_preds_block_init(const struct rdn_preds *p, void *memory, struct rdn_pred_block *ret) {
    uint8_t *m = memory;
    *ret = (struct rdn_pred_block){.own = (struct rdn_pred_column *)(void *)m};
    ret->v = (const union rdn_pred_word **)(void *)(m += p->ncells * sizeof *ret->own);
    ret->t = (uint64_t (*)[RDN_BLOCK_WORDS])(void *)(m + padded(p->ncells * sizeof(void *)));
    memset(ret->t[1], 0xff, sizeof ret->t[1]);
    for (uint32_t i = 0; i < p->ncells; i++)
        ret->v[i] = ret->own[i].v;
    for (uint32_t i = 0; i < p->nconsts; i++)
        for (uint32_t j = 0; j < RDN_BLOCK_EVENTS; j++)
            ret->own[p->consts[i].cell].v[j] = p->consts[i].v;
}
void rdn_preds_block_params(const struct rdn_preds *p, struct rdn_pred_block *b, const struct rdn_cell *params) {
    for (uint32_t i = 0; i < p->ninputs; i++) {
        const struct rdn_pred_input *in = &p->inputs[i];
        for (uint32_t j = 0; in->is_param && j < RDN_BLOCK_EVENTS; j++)
            b->own[in->cell].v[j].i = params[in->column].i;  /* the low word of a decimal, which has 64 bits */
    }
}

/* ---- instruction sets ---- */
#define ISA(name, has)                                                                                                                  \
    bool rdn_pred_run_##name(const struct rdn_preds *, struct rdn_pred_cells *, const uint8_t *, const uint8_t *, const uint8_t *, uint64_t *); \
    void rdn_pred_block_##name(const struct rdn_preds *, struct rdn_pred_block *, const struct rdn_batch *);
#include "jit/pred_isa.def"
#undef ISA
#define ISA(name, has) {#name, rdn_pred_run_##name, rdn_pred_block_##name},
static const struct rdn_pred_isa isas[] = {
#include "jit/pred_isa.def"
};
#undef ISA
#define ISA(name, has) n += n == at && (has) ? 1 : 0, at++;
/* How many of them, worst first, this CPU has. */
static size_t usable(void) {
    size_t n = 0, at = 0;
#include "jit/pred_isa.def"
    return n;
}
#undef ISA

const struct rdn_pred_isa *rdn_pred_isa(void) {
    const char *most = secure_getenv("REDAN_JIT_VECTORS");
    size_t n = usable();
    for (size_t i = 0; most && i < n; i++)
        if (!strcmp(isas[i].name, most))
            return &isas[i];
    return &isas[n - 1];
}
