/* SPDX-License-Identifier: Apache-2.0
 * key.c: window and table keys as words (key.h).
 *
 * One word a key, but str(n): its bytes, zero padded to whole words, so equal texts are equal words. */
#include "ir/key.h"

#include <string.h>
#include <sys/auxv.h>

#include "base/hash.h"

uint32_t rdn_key_words(const struct rdn_type *kt) { return kt->kind == RDN_K_STR ? (kt->n + 7u) / 8 : 1; }

struct rdn_key_secret rdn_key_secret_ = { 0, 1 };

/* 16 random bytes the kernel hands to each program. */
static __attribute__((constructor)) void draw_secret(void) {
    const void *at = (const void *)getauxval(AT_RANDOM);
    uint64_t r[2] = { 0, 0 };
    if (at)
        memcpy(r, at, sizeof r);
    rdn_key_secret_.a = rdn_mix64(r[0] ^ rdn_mix64(r[1]));
    rdn_key_secret_.b = rdn_mix64(rdn_key_secret_.a + r[1]) | 1;
}

static void add_text(struct rdn_key *k, const struct rdn_type *kt, const char *p, uint32_t len) {
    uint32_t words = rdn_key_words(kt);
    uint64_t *w = k->w + k->words;
    k->words += words;
    /* A NUL would make "a\0" equal "a". */
    if (len > kt->n || (len && memchr(p, 0, len))) {
        k->absent = true;
        len = 0;
    }
    if (len < words * 8)
        memset(w + len / 8, 0, (words - len / 8) * sizeof *w);
    if (len)
        memcpy(w, p, len);
}

void rdn_key_add_any_(struct rdn_key *k, const struct rdn_type *kt, const struct rdn_cell *c) {
    switch ((enum rdn_kind)kt->kind) {
    case RDN_K_STR:
        add_text(k, kt, c->t.p, c->t.len);
        return;
    case RDN_K_DEC:
        k->absent |= !rdn_fits_i64(c->d);
        k->w[k->words++] = (uint64_t)c->d;
        return;
    case RDN_K_SYM:
        k->absent |= c->i == RDN_SYM_NONE;
        k->w[k->words++] = (uint64_t)c->i;
        return;
    case RDN_K_BOOL: case RDN_K_INT: case RDN_K_ENUM: case RDN_K_TIME: case RDN_K_DUR: case RDN_K_DATE:
        k->w[k->words++] = (uint64_t)c->i;
        return;
    case RDN_K_FLOAT: case RDN_K_TEXT: case RDN_K_ARR: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT:
        break;                                           /* E0506: no key has such a type */
    }
    k->absent = true;
}

void rdn_key_load(struct rdn_key *k, const uint64_t *words, uint32_t n) {
    k->words = n;
    k->absent = false;
    if (n)
        memcpy(k->w, words, n * sizeof *words);
    rdn_key_end(k);
}

void rdn_key_decode(const uint64_t *words, const struct rdn_type *const *types, uint32_t n, uint32_t i, struct rdn_cell *ret) {
    if (i >= n)
        return;
    for (uint32_t j = 0; j < i; j++)
        words += rdn_key_words(types[j]);
    memset(ret, 0, sizeof *ret);
    if (types[i]->kind == RDN_K_STR) {
        ret->t.p = (const char *)words;
        ret->t.len = (uint32_t)strnlen(ret->t.p, types[i]->n);
    } else if (types[i]->kind == RDN_K_DEC) {
        ret->d = (int64_t)words[0];
    } else {
        ret->i = (int64_t)words[0];
    }
}
