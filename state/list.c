/* SPDX-License-Identifier: Apache-2.0
 * list.c: is a value in a list (LANGUAGE.md chapter 9). Built once; O(1) by hashing.
 *
 * Values of one word (numbers, times, symbols, members) are kept as that word, so a look-up touches one cache line; texts as
 * hash, place and length. At most half of the slots are filled. Hashes need no secret: what is in a list comes from its author.
 * Up to FEW words are compared one by one: no hash, and no branch that depends on the value. Of up to FEW texts that is done with
 * the first eight bytes and the length: most texts end there. */
#include "state/data.h"

#include <string.h>

#include "base/hash.h"

enum { FEW = 8 };
struct text_slot { uint64_t hash; const char *p; uint32_t len, used; };
struct rdn_listset {
    const struct rdn_mem *mem;
    uint8_t kind;
    bool zero;                                           /* the word 0 is in the list; in the slots it means empty */
    uint32_t nfew;                                       /* in few: all of the list; 0: it is longer */
    uint64_t few[FEW];                                   /* words; or heads of texts */
    size_t mask;
    union { uint64_t *words; struct text_slot *texts; void *slots; };
};

static size_t slot_size(const struct rdn_listset *s) { return s->kind == RDN_K_STR ? sizeof(struct text_slot) : sizeof(uint64_t); }

static uint64_t text_hash(const char *p, uint32_t len) { return rdn_mix64(rdn_fnv64(p, len)); }

/* The first bytes of a text, and its length mixed in: what differs here differs. */
static uint64_t head_of(const char *p, uint32_t len) {
    uint64_t w = 0;
    if (len >= 8)
        memcpy(&w, p, 8);
    else
        for (uint32_t i = 0; i < len; i++)
            w |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return w ^ (uint64_t)len << 56;
}
static bool is_few(const struct rdn_listset *s, uint64_t w) {
    bool has = false;
    for (uint32_t i = 0; i < s->nfew; i++)
        has |= s->few[i] == w;
    return has;
}

/* The word of a value; false: no list of this type holds it. */
static bool word_of(const struct rdn_listset *s, const struct rdn_cell *c, uint64_t *ret) {
    double f;
    switch ((enum rdn_kind)s->kind) {
    case RDN_K_FLOAT:
        f = c->f + 0.0;                                  /* -0.0 equals 0.0 */
        memcpy(ret, &f, sizeof f);
        return f == f;
    case RDN_K_DEC:
        *ret = (uint64_t)c->d;
        return rdn_fits_i64(c->d);
    default:
        *ret = (uint64_t)c->i;
        return true;
    }
}

static uint64_t *word_slot(const struct rdn_listset *s, uint64_t w) {
    size_t i = rdn_mix64(w) & s->mask;
    while (s->words[i] && s->words[i] != w)
        i = (i + 1) & s->mask;
    return &s->words[i];
}

static struct text_slot *text_slot(const struct rdn_listset *s, const char *p, uint32_t len, uint64_t h) {
    size_t i = h & s->mask;
    for (; s->texts[i].used; i = (i + 1) & s->mask)
        if (s->texts[i].hash == h && s->texts[i].len == len && (len == 0 || memcmp(s->texts[i].p, p, len) == 0))
            break;
    return &s->texts[i];
}

static void add(struct rdn_listset *s, const struct rdn_cell *c) {
    uint64_t w;
    if (s->kind == RDN_K_STR) {
        uint64_t h = text_hash(c->t.p, c->t.len);
        if (s->nfew < FEW)
            s->few[s->nfew++] = head_of(c->t.p, c->t.len);
        *text_slot(s, c->t.p, c->t.len, h) = (struct text_slot){ h, c->t.p, c->t.len, 1 };
    } else if (word_of(s, c, &w)) {
        s->zero |= w == 0;
        if (s->nfew < FEW)
            s->few[s->nfew++] = w;
        *word_slot(s, w) = w;
    }
}

int rdn_listset_open(const struct rdn_list *l, const struct rdn_mem *mem, struct rdn_listset **ret) {
    struct rdn_listset *s = rdn_zalloc(mem, sizeof *s);
    if (!s)
        return REDAN_E_NOMEM;
    size_t slots = 2;
    while (slots < (size_t)l->n * 2)
        slots *= 2;
    *s = (struct rdn_listset){ .mem = mem, .kind = l->type->kind, .mask = slots - 1 };
    s->slots = rdn_zalloc(mem, slots * slot_size(s));
    if (!s->slots) {
        rdn_free(mem, s, sizeof *s);
        return REDAN_E_NOMEM;
    }
    for (uint32_t i = 0; i < l->n; i++)
        add(s, &l->vals[i]);
    if (l->n > FEW)
        s->nfew = 0;
    *ret = s;
    return 0;
}

void rdn_listset_close(struct rdn_listset *s) {
    if (!s)
        return;
    rdn_free(s->mem, s->slots, (s->mask + 1) * slot_size(s));
    rdn_free(s->mem, s, sizeof *s);
}

bool rdn_listset_has(const struct rdn_listset *s, const struct rdn_cell *c) {
    uint64_t w;
    if (s->kind == RDN_K_STR) {
        if (s->nfew && !is_few(s, head_of(c->t.p, c->t.len)))
            return false;
        return text_slot(s, c->t.p, c->t.len, text_hash(c->t.p, c->t.len))->used;
    }
    if (!word_of(s, c, &w))
        return false;
    if (s->nfew)
        return is_few(s, w);
    return w == 0 ? s->zero : *word_slot(s, w) == w;
}
