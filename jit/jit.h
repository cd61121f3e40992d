/* SPDX-License-Identifier: Apache-2.0
 * jit.h: what the programs of one engine share: settings, one code arena, sinks for names, counters.
 *
 * rdn_jit_open     [setup]  no system call: the arena is opened by the first program with machine code
 * rdn_jit_close    [setup]  after its last program
 * rdn_jit_counts   [any]
 *
 * A program without a jit (rdn_program_open) uses the arena of the process and the globals rdn_selfcheck_us, rdn_batch_how. */
#ifndef RDN_JIT_H
#define RDN_JIT_H
#include "base/codesink.h"
#include "base/err.h"
#include "base/mem.h"

#define RDN_JIT_SINKS 3u
enum rdn_jit_batch { RDN_JIT_BATCH_AUTO, RDN_JIT_BATCH_OFF, RDN_JIT_BATCH_TABLE, RDN_JIT_BATCH_X64V };     /* as REDAN_JIT_BATCH_* */
struct rdn_jit_options {
    enum rdn_jit_batch batch;
    size_t arena_bytes;
    uint32_t selfcheck_us;                               /* 0: no self-check */
    bool (*make_room)(void *ctx);                        /* the arena is full: false when nothing was freed. May be NULL */
    void *ctx;
    struct rdn_code_sink sinks[RDN_JIT_SINKS]; uint32_t nsinks;
};
struct rdn_jit_counts {
    uint64_t compiles, compile_ns, last_compile_ns;      /* programs built, by any executor; plan, code, self-check */
    uint64_t fallbacks, selfcheck_failures;
    uint64_t units, arena_used, arena_bytes;             /* now; arena_bytes 0: not opened yet */
    bool is_alias;                                       /* kind of the arena */
    char fallback[160];                                  /* the note of the last fallback */
};
struct rdn_jit;
int  rdn_jit_open(const struct rdn_jit_options *, const struct rdn_mem *, struct rdn_jit **ret, redan_error *);
void rdn_jit_close(struct rdn_jit *);
extern enum rdn_jit_batch rdn_batch_how;                 /* of programs without a jit; for tests */
void rdn_jit_counts(struct rdn_jit *, struct rdn_jit_counts *ret);
void rdn_jit_want_batches(struct rdn_jit *);             /* from now on; wanted from the start when .batch names how. [any] */

/* ---- for jit/; each takes NULL ---- */
struct rdn_code_arena;
int  rdn_jit_arena(struct rdn_jit *, struct rdn_code_arena **ret, redan_error *);       /* one user more; NULL: the process's */
/* rdn_code_put, with room made when there is none. */
struct rdn_code;
int  rdn_jit_put(struct rdn_jit *, struct rdn_code_arena *, const void *code, size_t bytes, struct rdn_code *ret, redan_error *);
void rdn_jit_unit(struct rdn_jit *, int one);            /* a rule set more (1) or less (-1) that has machine code */
uint32_t rdn_jit_selfcheck_us(const struct rdn_jit *);
enum rdn_jit_batch rdn_jit_batch(const struct rdn_jit *);
bool rdn_jit_wants_batches(const struct rdn_jit *);      /* new programs have them from the start; NULL: true */
void rdn_jit_compiled(struct rdn_jit *, int64_t ns, const char *note);                  /* note: why it fell back, or "" */
void rdn_jit_selfcheck_failed(struct rdn_jit *);
bool rdn_jit_wants_names(const struct rdn_jit *);
void rdn_jit_announce(struct rdn_jit *, const struct rdn_code_row *, uint32_t n);
void rdn_jit_withdraw(struct rdn_jit *, const uint8_t *code, size_t bytes);
#endif
