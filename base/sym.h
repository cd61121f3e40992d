/* SPDX-License-Identifier: Apache-2.0
 * sym.h: interned strings; the engine's symbol table. Ids are dense from 0 and kept for the table's life.
 *
 * rdn_sym_intern  [any]        one lock; FULL (negative) after max, NOMEM
 * rdn_sym_find    [any] [hot]  lock-free; RDN_SYM_NONE when the text was never interned
 * rdn_sym_text    [any] [hot]  lock-free; the bytes live as long as the table; terminated
 * rdn_sym_count   [any] [hot]  one acquire load; ids below it are valid */
#ifndef RDN_SYM_H
#define RDN_SYM_H
#include "base/mem.h"

#define RDN_SYM_NONE UINT32_MAX
struct rdn_syms;
int      rdn_syms_open(struct rdn_syms **ret, const struct rdn_mem *, uint32_t max);   /* 0 or REDAN_E_NOMEM */
void     rdn_syms_close(struct rdn_syms *);
int      rdn_sym_intern(struct rdn_syms *, const char *text, size_t len, uint32_t *ret_id);
uint32_t rdn_sym_find(const struct rdn_syms *, const char *text, size_t len);
const char *rdn_sym_text(const struct rdn_syms *, uint32_t id, uint32_t *ret_len);
uint64_t rdn_sym_hash(const struct rdn_syms *, uint32_t id);        /* FNV-1a 64 of the bytes */
uint32_t rdn_sym_count(const struct rdn_syms *);
#endif
