/* SPDX-License-Identifier: Apache-2.0
 * sym.c: the symbol table.
 *
 * Writers take one lock. Readers take none: entries live in chunks that never move (chunk k holds FIRST << k of them), texts
 * in blocks that never move, and the hash index is replaced by a larger one instead of being changed in shape. A replaced
 * index stays until close, because a reader may be inside it; all of them together are as large as the last.
 *
 * Order of publication: entry, count (release), index slot (release). Whoever sees an id sees its text. */
#include "base/sym.h"

#include <pthread.h>
#include <redan/redan.h>
#include <stdatomic.h>
#include <string.h>
#include "base/hash.h"

enum { FIRST = 256, CHUNKS = 24, BLOCK = 64 << 10, INDEX_MIN = 1024 };

struct entry { const char *text; uint64_t hash; uint32_t len; };
struct index { struct index *older; uint32_t mask; _Atomic uint32_t slot[]; };   /* slot: id + 1, 0 is free */
struct block { struct block *next; size_t size; char bytes[]; };

struct rdn_syms {
    struct rdn_mem mem;
    uint32_t max;
    _Atomic uint32_t count;
    struct index *_Atomic index;
    struct entry *_Atomic chunk[CHUNKS];
    pthread_mutex_t lock;
    struct block *blocks;                              /* under the lock, as the next two */
    char *cur, *end;
};

static size_t index_bytes(uint32_t mask) { return sizeof(struct index) + ((size_t)mask + 1) * sizeof(uint32_t); }

static struct index *index_new(const struct rdn_mem *mem, uint32_t size) {
    struct index *x = rdn_zalloc(mem, index_bytes(size - 1));
    if (x)
        x->mask = size - 1;
    return x;
}

/* Chunk of an id, and its place in it. */
static unsigned locate(uint32_t id, uint32_t *ret_at) {
    uint64_t v = (uint64_t)id + FIRST;
    unsigned k = 63u - (unsigned)__builtin_clzll(v) - 8u;
    *ret_at = (uint32_t)(v - ((uint64_t)FIRST << k));
    return k;
}

static struct entry *entry_of(const struct rdn_syms *s, uint32_t id) {
    uint32_t at;
    unsigned k = locate(id, &at);
    return atomic_load_explicit(&s->chunk[k], memory_order_acquire) + at;
}

int rdn_syms_open(struct rdn_syms **ret, const struct rdn_mem *mem, uint32_t max) {
    struct rdn_syms *s = rdn_zalloc(mem, sizeof *s);
    if (!s)
        return REDAN_E_NOMEM;
    s->mem = *mem;
    s->max = max < RDN_SYM_NONE ? max : RDN_SYM_NONE - 1;
    struct index *x = index_new(mem, INDEX_MIN);
    if (!x) {
        rdn_free(mem, s, sizeof *s);
        return REDAN_E_NOMEM;
    }
    atomic_store_explicit(&s->index, x, memory_order_relaxed);
    pthread_mutex_init(&s->lock, NULL);
    *ret = s;
    return 0;
}

void rdn_syms_close(struct rdn_syms *s) {
    if (!s)
        return;
    struct rdn_mem mem = s->mem;
    for (struct index *x = atomic_load(&s->index), *older; x; x = older) {
        older = x->older;
        rdn_free(&mem, x, index_bytes(x->mask));
    }
    for (unsigned k = 0; k < CHUNKS; k++)
        rdn_free(&mem, atomic_load(&s->chunk[k]), ((size_t)FIRST << k) * sizeof(struct entry));
    for (struct block *b = s->blocks, *next; b; b = next) {
        next = b->next;
        rdn_free(&mem, b, b->size);
    }
    pthread_mutex_destroy(&s->lock);
    rdn_free(&mem, s, sizeof *s);
}

static uint32_t find(const struct rdn_syms *s, const char *text, size_t len, uint64_t hash) {
    const struct index *x = atomic_load_explicit(&s->index, memory_order_acquire);
    for (uint32_t i = (uint32_t)rdn_mix64(hash) & x->mask;; i = (i + 1) & x->mask) {
        uint32_t v = atomic_load_explicit(&x->slot[i], memory_order_acquire);
        if (!v)
            return RDN_SYM_NONE;
        const struct entry *e = entry_of(s, v - 1);
        if (e->hash == hash && e->len == len && memcmp(e->text, text, len) == 0)
            return v - 1;
    }
}

static void index_put(struct index *x, uint64_t hash, uint32_t id, memory_order order) {
    uint32_t i = (uint32_t)rdn_mix64(hash) & x->mask;
    while (atomic_load_explicit(&x->slot[i], memory_order_relaxed))
        i = (i + 1) & x->mask;
    atomic_store_explicit(&x->slot[i], id + 1, order);
}

/* At most half full after the next symbol; a false return leaves the old index in use. */
static bool index_reserve(struct rdn_syms *s, uint32_t n) {
    struct index *old = atomic_load_explicit(&s->index, memory_order_relaxed);
    if ((uint64_t)(n + 1) * 2 <= (uint64_t)old->mask + 1)
        return true;
    struct index *x = old->mask < UINT32_MAX / 2 ? index_new(&s->mem, (old->mask + 1) * 2) : NULL;
    if (!x)
        return false;
    for (uint32_t id = 0; id < n; id++)
        index_put(x, entry_of(s, id)->hash, id, memory_order_relaxed);
    x->older = old;
    atomic_store_explicit(&s->index, x, memory_order_release);
    return true;
}

static bool chunk_reserve(struct rdn_syms *s, uint32_t id) {
    uint32_t at;
    unsigned k = locate(id, &at);
    if (atomic_load_explicit(&s->chunk[k], memory_order_relaxed))
        return true;
    struct entry *c = rdn_zalloc(&s->mem, ((size_t)FIRST << k) * sizeof *c);
    atomic_store_explicit(&s->chunk[k], c, memory_order_release);
    return c != NULL;
}

static const char *keep_text(struct rdn_syms *s, const char *text, size_t len) {
    if ((size_t)(s->end - s->cur) < len + 1) {
        size_t room = len + 1 > BLOCK ? len + 1 : BLOCK;
        struct block *b = rdn_realloc(&s->mem, NULL, 0, sizeof *b + room);
        if (!b)
            return NULL;
        *b = (struct block){.next = s->blocks, .size = sizeof *b + room};
        s->blocks = b;
        s->cur = b->bytes;
        s->end = b->bytes + room;
    }
    char *p = s->cur;
    if (len)
        memcpy(p, text, len);
    p[len] = 0;
    s->cur += len + 1;
    return p;
}

static int add(struct rdn_syms *s, const char *text, size_t len, uint64_t hash, uint32_t *ret_id) {
    uint32_t id = find(s, text, len, hash);            /* another thread may have been first */
    if (id != RDN_SYM_NONE) {
        *ret_id = id;
        return 0;
    }
    id = atomic_load_explicit(&s->count, memory_order_relaxed);
    if (id >= s->max)
        return REDAN_E_FULL;
    if (!index_reserve(s, id) || !chunk_reserve(s, id))
        return REDAN_E_NOMEM;
    const char *kept = keep_text(s, text, len);
    if (!kept)
        return REDAN_E_NOMEM;
    *entry_of(s, id) = (struct entry){kept, hash, (uint32_t)len};
    atomic_store_explicit(&s->count, id + 1, memory_order_release);
    index_put(atomic_load_explicit(&s->index, memory_order_relaxed), hash, id, memory_order_release);
    *ret_id = id;
    return 0;
}

int rdn_sym_intern(struct rdn_syms *s, const char *text, size_t len, uint32_t *ret_id) {
    if (len > UINT32_MAX)
        return REDAN_E_INVAL;
    uint64_t hash = rdn_fnv64(text, len);
    uint32_t id = find(s, text, len, hash);
    if (id != RDN_SYM_NONE) {
        *ret_id = id;
        return 0;
    }
    pthread_mutex_lock(&s->lock);
    int rc = add(s, text, len, hash, ret_id);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

uint32_t rdn_sym_find(const struct rdn_syms *s, const char *text, size_t len) {
    return find(s, text, len, rdn_fnv64(text, len));
}

const char *rdn_sym_text(const struct rdn_syms *s, uint32_t id, uint32_t *ret_len) {
    bool known = id < rdn_sym_count(s);
    const struct entry *e = known ? entry_of(s, id) : NULL;
    if (ret_len)
        *ret_len = known ? e->len : 0;
    return known ? e->text : "";
}

uint64_t rdn_sym_hash(const struct rdn_syms *s, uint32_t id) {
    return id < rdn_sym_count(s) ? entry_of(s, id)->hash : RDN_FNV64_INIT;
}

uint32_t rdn_sym_count(const struct rdn_syms *s) { return atomic_load_explicit(&s->count, memory_order_acquire); }
