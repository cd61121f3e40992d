/* SPDX-License-Identifier: Apache-2.0
 * code_arena.h: memory that native code runs from: one range seen through a read-execute and a read-write view.
 *
 * No page is ever writable and executable in one view, and the executable view never changes protection, so this works under
 * PR_SET_MDWE and systemd's MemoryDenyWriteExecute. Addresses are reserved at open and committed by first touch; pieces are
 * whole 4 KiB units, first fit. Freed code is filled with traps. A forked child has neither view: rdn_code_arena_alive() is
 * false there, and nothing may be called.
 *
 * rdn_code_arena_open   [setup]  two or three system calls
 * rdn_code_put          [any]    one lock; copies; a reused range costs a membarrier
 * rdn_code_drop         [any]    one lock; the caller knows that no thread is inside
 * rdn_code_arena_alive  [hot]    one load */
#ifndef RDN_CODE_ARENA_H
#define RDN_CODE_ARENA_H
#include "base/err.h"
#include "base/mem.h"

#define RDN_CODE_ARENA_BYTES ((size_t)64 << 20)
#define RDN_CODE_UNIT 4096u
/* A byte whose repetition no processor runs: int3, or aarch64's udf. */
#if defined(__aarch64__)
#define RDN_CODE_TRAP 0x00
#else
#define RDN_CODE_TRAP 0xcc
#endif

enum rdn_code_kind { RDN_CODE_ALIAS, RDN_CODE_MEMFD };   /* A: alias of an anonymous mapping, perf names it; B: memfd */
struct rdn_code_arena;
/* bytes as asked for; whole units are used. must_sync: other cores may hold what stood there before and could not be told: each
 * thread calls rdn_code_sync before it runs this. */
struct rdn_code { const uint8_t *rx; size_t bytes; bool must_sync; };

/* SYS with R2101 `no executable memory (mmap: Permission denied)` when neither kind works. */
int rdn_code_arena_open(size_t bytes, const struct rdn_mem *, struct rdn_code_arena **ret, redan_error *);
/* One kind alone, for tests. */
int rdn_code_arena_open_kind(enum rdn_code_kind, size_t bytes, const struct rdn_mem *, struct rdn_code_arena **ret, redan_error *);
/* One user less; the last one closes. NULL is fine. */
void rdn_code_arena_close(struct rdn_code_arena *);
struct rdn_code_arena *rdn_code_arena_ref(struct rdn_code_arena *);  /* one user more */
enum rdn_code_kind rdn_code_arena_kind(const struct rdn_code_arena *);

/* FULL with R2103 `code arena full: 61.2 of 64 MiB in 4 pieces`; CLOSED with R2108 in a forked child. */
int  rdn_code_put(struct rdn_code_arena *, const void *code, size_t bytes, struct rdn_code *ret, redan_error *);
void rdn_code_drop(struct rdn_code_arena *, struct rdn_code *);      /* takes a zero one too; zeroes it */
struct rdn_code_use { size_t used, bytes, pieces; };                 /* in whole units, of bytes; pieces put and not dropped */
struct rdn_code_use rdn_code_arena_use(struct rdn_code_arena *);

/* The one arena of the process, opened by the first user and closed by the last, for programs of no engine. */
int  rdn_code_arena_take(struct rdn_code_arena **ret, redan_error *);

/* Forgets what this core fetched ahead. [hot] */
static inline void rdn_code_sync(void) {
#if defined(__x86_64__)
    unsigned a = 0, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d) : : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" : : : "memory");
#endif
}

/* False in a forked child. `alive` may be kept beside the code to save a step. */
const volatile uint8_t *rdn_code_arena_flag(const struct rdn_code_arena *);
static inline bool rdn_code_arena_alive(const struct rdn_code_arena *a) { return *rdn_code_arena_flag(a) != 0; }
#endif
