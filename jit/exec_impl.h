/* SPDX-License-Identifier: Apache-2.0
 * exec_impl.h: what an executor implements. Private to jit/.
 *
 * program.c builds interp's code for every program first: it is the reference, answers causes, positions, values and explain,
 * and stands in where an executor has no code. An executor adds to that with one static struct rdn_exec_impl, named by a row
 * of executors.def. Life of its parts:
 *
 *   build(prog)              [any]   makes prog->x; may allocate from prog->mem; fills prog->info
 *     frame_open(frame)      [setup] makes frame->x; everything judging needs
 *       begin, window, rules [hot]   no allocation, no lock
 *     frame_close(frame)             also after a failed frame_open
 *   close(prog)                      also after a failed build */
#ifndef RDN_EXEC_IMPL_H
#define RDN_EXEC_IMPL_H
#include "jit/frame.h"

struct rdn_emitter;
struct rdn_exec_impl {
    const char *name;
    const struct rdn_emitter *emitter;                   /* of machine code (emit.h); NULL: none */
    /* 0, or NOSUP with the R21xx that says why this host cannot run it. NULL: always. */
    int (*available)(redan_error *reterr);
    /* A failure (NOSUP, NOMEM, FULL) lets `auto` fall back to the next executor, with the text as the note. NULL: nothing to do. */
    int (*build)(struct rdn_program *, redan_error *reterr);
    void (*close)(struct rdn_program *);
    int (*frame_open)(struct rdn_frame *, redan_error *reterr);
    void (*frame_close)(struct rdn_frame *);
    /* Before anything else of the event. NULL: nothing to do; then `rules` sees to head.fired: rdn_frame_clear_fired, or words of
     * its own that it stores as a whole. */
    void (*begin)(struct rdn_frame *);
    void (*params_changed)(struct rdn_frame *);          /* NULL: nothing to do */
    uint64_t (*cold_rules)(const struct rdn_frame *);    /* NULL: none */
    /* As rdn_exec_window and rdn_exec_rules. rules ORs into undef (already clear), sets any_undef, and completes fired (begin). */
    enum rdn_enter (*window)(struct rdn_frame *, uint32_t window, struct rdn_winput *ret);
    uint32_t (*puts)(struct rdn_frame *, bool accepted, uint32_t from);   /* as rdn_exec_puts. NULL: all are left to the caller */
    void (*rules)(struct rdn_frame *, enum rdn_phase);
    /* Batches, as in exec.h. NULL: none. `batch` finds all marks zero and writes the words; it may mark any event it
     * does not like. */
    const uint64_t *(*batch_rules)(const struct rdn_program *, uint32_t event);
    void (*batch)(struct rdn_frame *, const struct rdn_batch *);
    /* rules(EARLY) of an event begun with answers (f->head.known): the rules outside batch_rules, bits of the others 0 or as they are;
     * frame.c puts those into head.fired afterwards. NULL: batch_rules never leaves out an early rule, so nothing is left to run. */
    void (*rules_rest)(struct rdn_frame *);
};
#define EXEC(name, impl, doc) extern const struct rdn_exec_impl impl;
#define ABSENT(name, doc)
#include "jit/executors.def"
#undef EXEC
#undef ABSENT
#endif
