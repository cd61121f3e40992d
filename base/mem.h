/* SPDX-License-Identifier: Apache-2.0
 * mem.h: the one door to the heap, and the arena on top of it.
 *
 * rdn_mem        the embedder's realloc-style allocator, or libc; fault injection lives here (fault.h)
 * rdn_arena      chunked bump allocator; frees everything at once. One thread at a time.
 *                With .oom set, a failed allocation longjmps there instead of returning NULL, so a pass
 *                that allocates a thousand times has one place that handles it.
 *
 * A build with -Dredan_arena_single=true makes each arena allocation its own heap block so that ASan sees it. */
#ifndef RDN_MEM_H
#define RDN_MEM_H
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>

struct rdn_mem {
    void *ctx;
    void *(*realloc)(void *ctx, void *p, size_t was, size_t want);   /* want 0 frees */
};
extern const struct rdn_mem rdn_libc_mem;                            /* plain malloc, counted by fault.h */

void *rdn_realloc(const struct rdn_mem *, void *p, size_t was, size_t want);   /* NULL on failure; p is kept */
void *rdn_zalloc(const struct rdn_mem *, size_t size);
void  rdn_free(const struct rdn_mem *, void *p, size_t was);

struct rdn_chunk;
struct rdn_arena {
    const struct rdn_mem *mem;
    struct rdn_chunk *head, *open;  /* all; the one that blocks come from */
    char *cur, *end;
    size_t bytes, max_bytes;       /* handed out so far; 0: no bound */
    bool brief;                    /* ends soon: large chunks, in pages of their own with libc's allocator, which the next brief arena takes over */
    jmp_buf *oom;                  /* longjmp(*oom, 1) when memory ends; NULL: return NULL */
};
void  rdn_arena_init(struct rdn_arena *, const struct rdn_mem *);
void  rdn_arena_fini(struct rdn_arena *);                            /* frees every allocation */
/* Calls work(ctx); false when the arena ran out meanwhile: what `work` took elsewhere can now be given back. */
bool  rdn_arena_guard(struct rdn_arena *, void (*work)(void *ctx), void *ctx);
void *rdn_arena_alloc(struct rdn_arena *, size_t size);              /* 16-byte aligned, zeroed */
void *rdn_arena_raw(struct rdn_arena *, size_t size);                /* 16-byte aligned, holds anything */
/* Makes the last block larger where it stands, with anything behind `was`; false: it stays as it is. */
bool  rdn_arena_extend(struct rdn_arena *, void *p, size_t was, size_t size);
/* Pages that brief arenas left for the next one, at most RDN_SPARE_MAX: gives those above `keep` bytes back, and says how many stay. What
 * has used large brief arenas one after the other does so in the end; RDN_SPARE_KEPT is enough for a hundred rules. [any] */
#define RDN_SPARE_MAX ((size_t)64 << 20)
#define RDN_SPARE_KEPT ((size_t)512 << 10)
size_t rdn_arena_trim(size_t keep);
char *rdn_arena_strndup(struct rdn_arena *, const char *s, size_t n);   /* terminated copy */
__attribute__((format(printf, 2, 3)))
char *rdn_arena_printf(struct rdn_arena *, const char *fmt, ...);
char *rdn_arena_vprintf(struct rdn_arena *, const char *fmt, va_list);
#define rdn_new(arena, T)        ((T *)rdn_arena_alloc((arena), sizeof(T)))
#define rdn_new_n(arena, T, n)   ((T *)rdn_arena_alloc((arena), sizeof(T) * (size_t)(n)))
#endif
