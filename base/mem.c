/* SPDX-License-Identifier: Apache-2.0
 * mem.c: the door to the heap and the arena.
 *
 * rdn_arena_alloc   O(1) plus zeroing; a new chunk at most every doubling, up to CHUNK_SOME (brief: CHUNK_MAX)
 *
 * A block above a quarter of a chunk gets a chunk of its own, so that it does not waste the current one. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/fault.h"

enum { ALIGN = 16, CHUNK_MIN = 4096, CHUNK_SOME = 1 << 18, CHUNK_MAX = 8 << 20 };
#define MAPPED ((size_t)1 << (8 * sizeof(size_t) - 1))
#ifdef RDN_ARENA_SINGLE
enum { SINGLE = 1 };
#else
enum { SINGLE = 0 };
#endif

struct rdn_chunk {
    struct rdn_chunk *next;
    size_t size;                                       /* of the whole block; MAPPED: in pages of its own */
};
_Static_assert(sizeof(struct rdn_chunk) == ALIGN, "the first block of a chunk is aligned");

static void *libc_realloc(void *ctx, void *p, size_t was, size_t want) {
    (void)ctx, (void)was;
    if (want)
        return realloc(p, want);
    free(p);
    return NULL;
}
const struct rdn_mem rdn_libc_mem = {NULL, libc_realloc};

void *rdn_realloc(const struct rdn_mem *mem, void *p, size_t was, size_t want) {
    if (want && rdn_fault_hit())
        return NULL;
    return mem->realloc(mem->ctx, p, was, want);
}

void *rdn_zalloc(const struct rdn_mem *mem, size_t size) {
    void *p = rdn_realloc(mem, NULL, 0, size);
    return p ? memset(p, 0, size) : NULL;
}

void rdn_free(const struct rdn_mem *mem, void *p, size_t was) {
    if (p)
        mem->realloc(mem->ctx, p, was, 0);
}

void rdn_arena_init(struct rdn_arena *a, const struct rdn_mem *mem) { *a = (struct rdn_arena){.mem = mem}; }

static void *fail(struct rdn_arena *a) {
    if (a->oom)
        longjmp(*a->oom, 1);
    return NULL;
}

/* Large chunks of brief arenas are pages of their own, committed in one call: they are used up at once, come zeroed, and go
 * back to the system when the arena ends, where a heap would keep them. */
static bool wants_pages(const struct rdn_arena *a, size_t size) {
    return !SINGLE && a->brief && size >= CHUNK_SOME && a->mem->realloc == libc_realloc;
}
static struct rdn_chunk *map_chunk(size_t size) {
    if (rdn_fault_hit())
        return NULL;
    struct rdn_chunk *c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED)
        return NULL;
    madvise(c, size, MADV_HUGEPAGE);                     /* both are wishes: an older kernel faults the pages in one by one */
    madvise(c, size, MADV_POPULATE_WRITE);
    return c;
}
static void end_chunk(struct rdn_arena *a, struct rdn_chunk *c) {
    if (c->size & MAPPED)
        munmap(c, c->size & ~MAPPED);
    else
        rdn_free(a->mem, c, c->size);
}

void rdn_arena_fini(struct rdn_arena *a) {
    for (struct rdn_chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        end_chunk(a, c);
    }
    a->head = a->open = NULL;
    a->cur = a->end = NULL;
    a->bytes = 0;
}

static struct rdn_chunk *new_chunk(struct rdn_arena *a, size_t payload) {
    size_t size = sizeof(struct rdn_chunk) + payload;
    bool pages = wants_pages(a, size);
    struct rdn_chunk *c = pages ? map_chunk(size) : rdn_realloc(a->mem, NULL, 0, size);
    if (!c)
        return NULL;
    c->size = pages ? size | MAPPED : size;
    c->next = a->head;
    a->head = c;
    return c;
}

/* Zeroes a block unless its chunk came so. */
static void *zeroed(const struct rdn_chunk *c, void *p, size_t n) { return c->size & MAPPED ? p : memset(p, 0, n); }

static size_t next_payload(const struct rdn_arena *a) {
    size_t n = CHUNK_MIN;
    while (n < CHUNK_SOME ? n < a->bytes : a->brief && n < CHUNK_MAX && n < a->bytes / 2)
        n *= 2;
    return n - sizeof(struct rdn_chunk);
}

void *rdn_arena_alloc(struct rdn_arena *a, size_t size) {
    if (size > PTRDIFF_MAX / 2 || (a->max_bytes && size > a->max_bytes - a->bytes))
        return fail(a);
    /* Single blocks keep their exact size: the redzone then begins at the first byte past the end. */
    size_t take = size ? size : 1;
    if (!SINGLE)
        take = (take + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((size_t)(a->end - a->cur) < take || SINGLE) {
        size_t payload = next_payload(a);
        bool own = SINGLE || take > payload / 4;
        struct rdn_chunk *c = new_chunk(a, own ? take : payload);
        if (!c)
            return fail(a);
        if (own) {
            a->bytes += size;
            return zeroed(c, c + 1, take);
        }
        a->open = c;
        a->cur = (char *)(c + 1);
        a->end = a->cur + payload;
    }
    void *p = a->cur;
    a->cur += take;
    a->bytes += size;
    return zeroed(a->open, p, take);
}

char *rdn_arena_strndup(struct rdn_arena *a, const char *s, size_t n) {
    char *p = rdn_arena_alloc(a, n + 1);
    if (p && n)
        memcpy(p, s, n);
    return p;
}

char *rdn_arena_vprintf(struct rdn_arena *a, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *p = n < 0 ? NULL : rdn_arena_alloc(a, (size_t)n + 1);
    if (p)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *rdn_arena_printf(struct rdn_arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *p = rdn_arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}
