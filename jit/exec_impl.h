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
/* How batches (exec.h) are judged; an executor comes with one, jit.batch may choose another. Its parts live inside the executor's. */
struct rdn_batch_impl {
    const char *name;
    int (*available)(redan_error *reterr);               /* as below */
    int (*build)(struct rdn_program *, redan_error *reterr);     /* makes prog->batch from the plans of prog->x; fills info.batch */
    void (*close)(struct rdn_program *);                 /* also after a failed build */
    int (*frame_open)(struct rdn_frame *, redan_error *reterr);
    void (*frame_close)(struct rdn_frame *);             /* also after a failed frame_open */
    void (*params_changed)(struct rdn_frame *);
    const uint64_t *(*rules)(const struct rdn_program *, uint32_t event);
    void (*run)(struct rdn_frame *, const struct rdn_batch *);   /* finds all marks zero, writes the words; may mark any event it does not like */
};
extern const struct rdn_batch_impl rdn_batch_table;
extern const struct rdn_batch_impl rdn_batch_x64v;       /* in builds for x86-64 */

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
    const struct rdn_batch_impl *batches;                /* that it comes with; NULL: none */
    /* rules(EARLY) of an event begun with answers (f->head.known): the rules outside rdn_exec_batch_rules, bits of the others 0 or as
     * they are; frame.c puts those into head.fired afterwards. NULL: no batches. */
    void (*rules_rest)(struct rdn_frame *);
};
#define EXEC(name, impl, doc) extern const struct rdn_exec_impl impl;
#define ABSENT(name, doc)
#include "jit/executors.def"
#undef EXEC
#undef ABSENT
#endif
