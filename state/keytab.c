/* SPDX-License-Identifier: Apache-2.0
 * keytab.c: reserved memory, insertion and removal of keytab.h.
 *
 * Linear probing over at least 4/3 x capacity slots. A slot keeps the upper half of the hash: the home of every slot is known
 * without its row, which is what lets a removal shift the rest of its run back. Small tables come from the allocator, where
 * ASan sees their edges; large ones are mapped without reserving swap. */
#include "state/keytab.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fault.h"

#define MAP_FROM ((size_t)256 << 10)                     /* smaller tables are not worth a mapping of their own */
#define HUGE_PAGE ((size_t)2 << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct places { size_t index, lru, ins, rows, end; uint32_t slots, stride, state_off; };

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static struct places place(uint32_t cap, uint32_t words, size_t state_bytes, unsigned align) {
    struct places p = { 0 };
    p.slots = words ? 2 : 0;
    while (words && p.slots < (uint64_t)cap * 4 / 3 + 1)
        p.slots *= 2;
    p.state_off = (uint32_t)round_up((size_t)words * 8, align);
    p.stride = (uint32_t)round_up(p.state_off + state_bytes, align);
    p.lru = round_up((size_t)p.slots * sizeof(struct rdn_kt_slot), 64);
    p.ins = p.lru + round_up(((size_t)cap + 1) * sizeof(struct rdn_kt_link), 64);
    p.rows = p.ins + round_up(((size_t)cap + 1) * sizeof(struct rdn_kt_link), 64);
    p.end = p.rows + (size_t)cap * p.stride;
    return p;
}

size_t rdn_keytab_bytes(uint32_t cap, uint32_t words, size_t state_bytes, unsigned align) {
    return place(cap, words, state_bytes, align).end;
}

static void prefault_pages(char *p, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes >= HUGE_PAGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
    if (madvise(p, round_up(bytes, page), MADV_POPULATE_WRITE) == 0)
        return;
    for (size_t i = 0; i < bytes; i += page)
        ((volatile char *)p)[i] = 0;
}

static void *take_spare(const struct rdn_keytab *t) {
    struct rdn_kt_spares *s = t->spares;
    for (uint32_t i = s ? s->n : 0; i--;) {
        const struct rdn_kt_spare x = s->v[i];
        if (x.bytes != t->bytes || x.cap != t->cap || x.words != t->words || x.stride != t->stride)
            continue;
        s->v[i] = s->v[--s->n];
        return x.base;
    }
    return NULL;
}
static bool keep_spare(const struct rdn_keytab *t) {
    struct rdn_kt_spares *s = t->spares;
    if (!s || s->n == RDN_KT_SPARES || !t->mapped || t->used || t->emptied)
        return false;
    s->v[s->n++] = (struct rdn_kt_spare){ t->base, t->bytes, t->cap, t->words, t->stride };
    return true;
}
void rdn_keytab_drop_spares(struct rdn_kt_spares *s) {
    for (; s->n; s->n--)
        munmap(s->v[s->n - 1].base, s->v[s->n - 1].bytes);
}

static void *reserve(struct rdn_keytab *t, bool prefault) {
    t->mapped = t->bytes >= MAP_FROM;
    if (!t->mapped)
        return rdn_zalloc(t->mem, t->bytes);
    void *p = take_spare(t);
    if (p || rdn_fault_hit())
        return p;
    p = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (prefault)
        prefault_pages(p, t->bytes);
    return p;
}

/* The index uses the first so many of its slots: few keys spread over all of them would touch a line and a page each. */
enum { INDEX_SMALL = 1024, INDEX_MIDDLE = 8192 };
static void set_slots(struct rdn_keytab *t, uint32_t slots) {
    slots = slots < t->full ? slots : t->full;
    t->mask = slots - 1;
    t->shift = t->words ? 32 - (uint32_t)__builtin_ctz(slots) : 0;
}
static void enter(struct rdn_keytab *t, uint32_t id, uint32_t tag) {
    uint32_t i = tag >> t->shift;
    while (t->index[i].id1)
        i = (i + 1) & t->mask;
    t->index[i] = (struct rdn_kt_slot){ id + 1, tag };
}
/* Bounded by INDEX_MIDDLE keys, about 0.1 ms; then there is room for all. */
static __attribute__((noinline)) void grow_index(struct rdn_keytab *t) {
    memset(t->index, 0, ((size_t)t->mask + 1) * sizeof *t->index);
    set_slots(t, t->mask + 1 < INDEX_MIDDLE ? INDEX_MIDDLE : t->full);
    for (uint32_t id = rdn_keytab_next(t, RDN_KT_NONE); id != RDN_KT_NONE; id = rdn_keytab_next(t, id))
        enter(t, id, (uint32_t)(rdn_key_hash(rdn_keytab_key(t, id), t->words) >> 32));
}

static void forget_all(struct rdn_keytab *t) {
    t->n = t->used = 0;
    t->free = RDN_KT_NONE;
    t->ins.links[t->cap] = t->lru.links[t->cap] = (struct rdn_kt_link){ t->cap, t->cap };
    t->last.row = NULL;
}

int rdn_keytab_open(struct rdn_keytab *t, uint32_t cap, uint32_t words, size_t state_bytes, unsigned align,
                    const struct rdn_mem *mem, bool prefault, struct rdn_kt_spares *spares) {
    struct places p = place(cap, words, state_bytes, align);
    *t = (struct rdn_keytab){ .words = words, .state_off = p.state_off, .stride = p.stride, .state_bytes = (uint32_t)state_bytes,
                              .cap = cap, .full = p.slots, .mem = mem, .bytes = p.end, .spares = spares };
    t->base = reserve(t, prefault);
    if (!t->base)
        return REDAN_E_NOMEM;
    char *base = t->base;
    t->index = (struct rdn_kt_slot *)base;
    t->lru = (struct rdn_kt_list){ (struct rdn_kt_link *)(base + p.lru), cap };
    t->ins = (struct rdn_kt_list){ (struct rdn_kt_link *)(base + p.ins), cap };
    t->rows = base + p.rows;
    set_slots(t, INDEX_SMALL);
    forget_all(t);
    return 0;
}

void rdn_keytab_close(struct rdn_keytab *t) {
    if (!t || !t->base)
        return;
    if (t->mapped && !keep_spare(t))
        munmap(t->base, t->bytes);
    else if (!t->mapped)
        rdn_free(t->mem, t->base, t->bytes);
    t->base = NULL;
}

static inline uint32_t find(const struct rdn_keytab *t, const uint64_t *words, uint64_t hash) {
    if (t->words == 0)                                   /* a window without keys has one row */
        return rdn_keytab_next(t, RDN_KT_NONE);
    uint32_t tag = (uint32_t)(hash >> 32);
    for (uint32_t i = tag >> t->shift;; i = (i + 1) & t->mask) {
        struct rdn_kt_slot s = t->index[i];
        if (s.id1 == 0)
            return RDN_KT_NONE;
        if (s.tag == tag && rdn_keytab_equal_(rdn_keytab_key(t, s.id1 - 1), words, t->words))
            return s.id1 - 1;
    }
}

uint32_t rdn_keytab_find(const struct rdn_keytab *t, const uint64_t *words, uint64_t hash) { return find(t, words, hash); }

char *rdn_keytab_look(struct rdn_keytab *t, const uint64_t *words, uint64_t hash) {
    struct rdn_kt_last last = t->last;
    if (last.hash == hash && last.row && (!t->words || rdn_keytab_equal_((const uint64_t *)(const void *)last.row, words, t->words)))
        return last.row;
    uint32_t id = find(t, words, hash);
    if (id == RDN_KT_NONE)
        return NULL;
    t->last = (struct rdn_kt_last){ hash, t->rows + (size_t)id * t->stride, id };
    return t->last.row;
}

uint32_t rdn_keytab_insert(struct rdn_keytab *t, const uint64_t *words, uint64_t hash) {
    uint32_t id = t->free;
    if (id != RDN_KT_NONE)
        t->free = t->ins.links[id].next;
    else
        id = t->used++;
    if (t->words) {
        if (__builtin_expect(t->n >= (t->mask + 1) / 4 * 3 && t->mask + 1 < t->full, 0))
            grow_index(t);
        enter(t, id, (uint32_t)(hash >> 32));
        memcpy(t->rows + (size_t)id * t->stride, words, t->words * sizeof *words);
    }
    rdn_kt_append_(&t->ins, id);
    rdn_kt_append_(&t->lru, id);
    t->last.hash = hash;
    t->last.id = id;
    t->last.row = t->rows + (size_t)id * t->stride;
    t->n++;
    return id;
}

/* Empties slot i and moves later slots of its run back, those that may stand earlier. */
static void shift_back(struct rdn_keytab *t, uint32_t i) {
    for (uint32_t j = (i + 1) & t->mask; t->index[j].id1; j = (j + 1) & t->mask) {
        uint32_t home = t->index[j].tag >> t->shift;
        if (((j - home) & t->mask) >= ((j - i) & t->mask)) {
            t->index[i] = t->index[j];
            i = j;
        }
    }
    t->index[i] = (struct rdn_kt_slot){ 0, 0 };
}

void rdn_keytab_remove(struct rdn_keytab *t, uint32_t id) {
    if (t->words) {
        uint32_t i = (uint32_t)(rdn_key_hash(rdn_keytab_key(t, id), t->words) >> 32) >> t->shift;
        while (t->index[i].id1 != id + 1)
            i = (i + 1) & t->mask;
        shift_back(t, i);
    }
    if (t->last.id == id)
        t->last.row = NULL;
    rdn_kt_unlink_(&t->lru, id);
    rdn_kt_unlink_(&t->ins, id);
    t->ins.links[id].next = t->free;
    t->free = id;
    t->n--;
}

/* A few keys in a large index are emptied one by one: the rest of the index may never have been touched. */
void rdn_keytab_clear(struct rdn_keytab *t) {
    t->emptied |= t->used > 0;
    if (t->words && t->n < t->mask / 16)
        while (t->n)
            rdn_keytab_remove(t, rdn_keytab_next(t, RDN_KT_NONE));
    else if (t->n && t->words)
        memset(t->index, 0, ((size_t)t->mask + 1) * sizeof *t->index);
    forget_all(t);
}
