/* SPDX-License-Identifier: Apache-2.0
 * mem.c: the door to the heap and the arena.
 *
 * rdn_arena_alloc   O(1) plus zeroing; a new chunk at most every doubling, up to CHUNK_SOME (brief: CHUNK_MAX)
 * rdn_arena_raw     the same without zeroing
 *
 * A block above a quarter of a chunk gets a chunk of its own, so that it does not waste the current one. Pages of brief arenas that
 * ended serve the next ones: a third of what it took to compile 1,000 rules was spent on getting pages and clearing them. */
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/fault.h"

enum { ALIGN = 16, PAGE = 4096, CHUNK_MIN = PAGE, CHUNK_SOME = 1 << 18, CHUNK_MAX = 2 << 20 };
#define MAPPED ((size_t)1 << (8 * sizeof(size_t) - 1))
#define USED (MAPPED >> 1)
#ifdef RDN_ARENA_SINGLE
enum { SINGLE = 1 };
#else
enum { SINGLE = 0 };
#endif
/* Where AddressSanitizer looks, chunks are heap blocks, whose end it notices. */
#if defined(__SANITIZE_ADDRESS__)
enum { WATCHED = 1 };
#elif defined(__has_feature)
enum { WATCHED = __has_feature(address_sanitizer) };
#else
enum { WATCHED = 0 };
#endif

struct rdn_chunk {
    struct rdn_chunk *next;
    size_t size;                                       /* of the whole block; MAPPED: in pages of its own; USED: and these are not zero */
};
static size_t size_of(const struct rdn_chunk *c) { return c->size & ~(MAPPED | USED); }
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

/* ---- pages of brief arenas ---- */
/* Nobody waits for the lock, so a child that was forked while somebody had it does not either: without it, the kernel is asked. */
static struct { pthread_mutex_t lock; struct rdn_chunk *list; size_t bytes; } spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Large chunks of brief arenas are pages of their own, committed in one call: they are used up at once, come zeroed, and go
 * back to the system in the end, where a heap would keep them. */
static bool may_map(const struct rdn_arena *a) { return !SINGLE && !WATCHED && a->brief && a->mem->realloc == libc_realloc; }

/* The smallest spare chunk that is large enough. */
static struct rdn_chunk *take_spare(size_t size) {
    struct rdn_chunk **best = NULL, *c = NULL;
    if (pthread_mutex_trylock(&spare.lock) != 0)
        return NULL;
    for (struct rdn_chunk **p = &spare.list; *p; p = &(*p)->next)
        if (size_of(*p) >= size && (!best || size_of(*p) < size_of(*best)))
            best = p;
    if (best) {
        c = *best;
        *best = c->next;
        spare.bytes -= size_of(c);
    }
    pthread_mutex_unlock(&spare.lock);
    return c;
}
static bool give_spare(struct rdn_chunk *c) {
    if (pthread_mutex_trylock(&spare.lock) != 0)
        return false;
    bool room = size_of(c) <= RDN_SPARE_MAX - spare.bytes;
    if (room) {
        spare.bytes += size_of(c);
        c->size |= USED;
        c->next = spare.list;
        spare.list = c;
    }
    pthread_mutex_unlock(&spare.lock);
    return room;
}
/* Whole chunks, and one without its end. */
size_t rdn_arena_trim(size_t keep) {
    size_t kept = 0;
    struct rdn_chunk *c;
    if (pthread_mutex_trylock(&spare.lock) != 0)
        return RDN_SPARE_MAX;
    for (struct rdn_chunk **p = &spare.list; (c = *p);) {
        size_t size = size_of(c), left = size < keep - kept ? size : (keep - kept) / PAGE * PAGE;
        left = left < CHUNK_SOME ? 0 : left;
        c->size -= size - left;
        p = left ? &c->next : (*p = c->next, p);
        if (left < size)
            munmap((char *)c + left, size - left);
        kept += left;
    }
    spare.bytes = kept;
    pthread_mutex_unlock(&spare.lock);
    return kept;
}

static struct rdn_chunk *map_chunk(size_t size) {
    size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
    struct rdn_chunk *c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED)
        return NULL;
    madvise(c, size, MADV_HUGEPAGE);                     /* both are wishes: an older kernel faults the pages in one by one */
    madvise(c, size, MADV_POPULATE_WRITE);
    c->size = size | MAPPED;
    return c;
}
static struct rdn_chunk *page_chunk(size_t size) {
    if (rdn_fault_hit())
        return NULL;
    struct rdn_chunk *c = take_spare(size);
    return c || size < CHUNK_SOME ? c : map_chunk(size);
}
static void end_chunk(struct rdn_arena *a, struct rdn_chunk *c) {
    if (!(c->size & MAPPED))
        rdn_free(a->mem, c, c->size);
    else if (!give_spare(c))
        munmap(c, size_of(c));
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

bool rdn_arena_guard(struct rdn_arena *a, void (*work)(void *ctx), void *ctx) {
    jmp_buf *was = a->oom, here;
    if (setjmp(here)) {
        a->oom = was;
        return false;
    }
    a->oom = &here;
    work(ctx);
    a->oom = was;
    return true;
}

static struct rdn_chunk *new_chunk(struct rdn_arena *a, size_t payload) {
    size_t size = sizeof(struct rdn_chunk) + payload;
    struct rdn_chunk *c = may_map(a) ? page_chunk(size) : NULL;
    if (!c && !(may_map(a) && size >= CHUNK_SOME)) {
        c = rdn_realloc(a->mem, NULL, 0, size);
        if (c)
            c->size = size;
    }
    if (!c)
        return NULL;
    c->next = a->head;
    a->head = c;
    return c;
}

static size_t next_payload(const struct rdn_arena *a) {
    size_t n = CHUNK_MIN;
    while (n < CHUNK_SOME ? n < a->bytes : a->brief && n < CHUNK_MAX && n < a->bytes / 2)
        n *= 2;
    return n - sizeof(struct rdn_chunk);
}

/* Single blocks keep their exact size: the redzone then begins at the first byte past the end. */
static size_t rounded(size_t size) { return SINGLE ? size + !size : (size + !size + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* The block, and whether its bytes are known to be zero. */
static void *block(struct rdn_arena *a, size_t size, bool *ret_zero) {
    if (size > PTRDIFF_MAX / 2 || (a->max_bytes && size > a->max_bytes - a->bytes))
        return fail(a);
    size_t take = rounded(size);
    if ((size_t)(a->end - a->cur) >= take && !SINGLE) {
        char *p = a->cur;
        a->cur += take;
        a->bytes += size;
        *ret_zero = (a->open->size & (MAPPED | USED)) == MAPPED;
        return p;
    }
    size_t payload = next_payload(a);
    bool own = SINGLE || take > payload / 4;
    struct rdn_chunk *c = new_chunk(a, own ? take : payload);
    if (!c)
        return fail(a);
    char *p = (char *)(c + 1), *end = (char *)c + size_of(c);
    if (!own || end - p - (ptrdiff_t)take > a->end - a->cur) {       /* spare pages may be more than asked for */
        a->open = c;
        a->cur = p + take;
        a->end = end;
    }
    a->bytes += size;
    *ret_zero = (c->size & (MAPPED | USED)) == MAPPED;
    return p;
}
void *rdn_arena_alloc(struct rdn_arena *a, size_t size) {
    bool is_zero = true;
    void *p = block(a, size, &is_zero);
    return is_zero ? p : memset(p, 0, rounded(size));
}
void *rdn_arena_raw(struct rdn_arena *a, size_t size) {
    bool is_zero;
    return block(a, size, &is_zero);
}
bool rdn_arena_extend(struct rdn_arena *a, void *p, size_t was, size_t size) {
    if (SINGLE || !p || !was || (char *)p + rounded(was) != a->cur || size < was || size - was > (size_t)(a->end - a->cur) || rounded(size) - rounded(was) > (size_t)(a->end - a->cur) ||
        (a->max_bytes && size - was > a->max_bytes - a->bytes))
        return false;
    a->cur = (char *)p + rounded(size);
    a->bytes += size - was;
    return true;
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
