/* SPDX-License-Identifier: Apache-2.0
 * a64_gen.h: state of the aarch64 emitter for one event type. Private to a64*.c.
 *
 * Convention: x0 = block (plan.h), x1 = event row, x3 collects a word of results; x4-x15 scratch, allocated; x2, x16, x17 within
 * one step; d0-d7 scratch, d16-d31 pinned to the f64 inputs used most. Leaf code: no callee-saved register, no stack data, no
 * call; x18 is the platform's. Comparisons of floats are masks in d registers, all other truth values stand in bit 0 of a general
 * register.
 *
 * A clause is a piece of code with one result. Jumps that leave it (overflow, division, NaN) go to one of its two stubs:
 * `taint` marks the rules that depend on it, `cold` works a decimal comparison out in 128 bits; both come back behind the
 * clause. After a taint its register holds anything: whoever uses a truth value takes bit 0 alone. A rule that needs more
 * registers than there are is rolled back and left to interp. */
#ifndef RDN_A64_GEN_H
#define RDN_A64_GEN_H
#include "jit/a64_enc.h"
#include "jit/emit.h"
#include "jit/const_pool.h"

#define A64_NONE UINT32_MAX
enum { A64_BLOCK = 0, A64_ROW = 1, A64_TMP = 2, A64_WORD = 3 };
#define A64_GPRS 0xfff0u                                 /* x4 .. x15 */
#define A64_FPRS 0x00ffu                                 /* d0 .. d7; 16 and up are pinned */

enum { A64_TAINT, A64_COLD, A64_NONFINITE };
struct a64_stub {
    uint8_t kind, dest;                                  /* COLD: where the answer goes */
    bool is_set;                                         /* target is a dep set, else a rule or item bit */
    uint32_t target, resume;
    rdn_pid node;                                        /* COLD: the comparison */
    uint32_t live;                                       /* COLD: general registers to keep */
    uint32_t jumps;                                      /* last of its jumps + 1 */
};
struct a64_jump { uint32_t at, next; };                  /* next: an earlier jump to the same place + 1 */

struct a64_gen {
    struct a64_buf b;
    struct rdn_plan *pl;
    struct rdn_arena *arena;
    uint32_t code_at, pool_low, since;                   /* the pool grows down from code_at; stubs since there are not written */
    struct rdn_pool pool;
    uint8_t *pin;                                        /* by node: d register of a pinned value, 0 none */
    uint8_t *done;                                       /* by node: its shared slot holds the value */
    uint32_t gfree, ffree;                               /* free scratch registers */
    bool failed;                                         /* out of registers: roll back */
    bool target_is_set;
    uint32_t target;                                     /* what a taint stub made now marks */
    uint32_t taint, cold;                                /* stubs of the clause in work, or A64_NONE */
    bool no_cold;                                        /* decimals: overflow taints */
    RDN_VEC(struct a64_jump) jumps;
    RDN_VEC(struct a64_stub) stubs;
    struct rdn_marks marks;
};

static inline const struct rdn_pnode *a64_node(const struct a64_gen *g, rdn_pid p) { return &g->pl->nodes.v[p]; }
/* Integer and decimal constants have one value; the node of any other leaf has a place in memory. */
static inline bool a64_is_const(const struct rdn_pnode *n) { return n->op == RDN_OP_CONST && (n->flags & RDN_P_NATIVE); }

/* a64_val.c: registers, guards, numbers */
unsigned a64_gpr(struct a64_gen *);                      /* allocates */
unsigned a64_fpr(struct a64_gen *);
static inline void a64_gfree(struct a64_gen *g, unsigned r) { g->gfree |= (1u << r) & A64_GPRS; }
static inline void a64_ffree(struct a64_gen *g, unsigned r) { g->ffree |= (1u << r) & A64_FPRS; }   /* nothing to do for a pinned one */
static inline bool a64_owned(unsigned f) { return A64_FPRS >> f & 1; }
void a64_jump(struct a64_gen *, enum a_cc, uint32_t *chain);
void a64_jump_taint(struct a64_gen *, enum a_cc);
void a64_jump_cold(struct a64_gen *, enum a_cc);         /* of decimal arithmetic: cold stub, or taint when there is none */
bool a64_place(const struct a64_gen *, rdn_pid, struct a64_mem *ret, unsigned *ret_size);   /* where a leaf or done node lies in memory */
void a64_const(struct a64_gen *, unsigned r, uint64_t);  /* into a general register */
unsigned a64_f64(struct a64_gen *, rdn_pid);             /* a pinned register or a scratch one of its own */
unsigned a64_int(struct a64_gen *, rdn_pid);             /* integer, decimal or bool value in a register of its own */
unsigned a64_second(struct a64_gen *, rdn_pid);          /* the same for use at once: a constant may stand in x16 */
bool a64_load_leaf(struct a64_gen *, rdn_pid, unsigned *ret);   /* false: p has to be computed */

/* a64_bool.c */
struct a64_clause { uint32_t taint, cold, live; };
struct a64_clause a64_clause_begin(struct a64_gen *);
/* Jumps that left the clause come back here. dest: where a cold stub leaves the answer of comparison p. */
void a64_clause_end(struct a64_gen *, struct a64_clause, rdn_pid p, unsigned dest);
unsigned a64_bool(struct a64_gen *, rdn_pid);            /* bit 0 of a register of its own */
bool a64_maskable(const struct a64_gen *, rdn_pid);      /* all f64 comparisons */
unsigned a64_mask(struct a64_gen *, rdn_pid);            /* all ones or zero in a scratch d register of its own */
void a64_skip_unless(struct a64_gen *, rdn_pid, uint32_t *skip);        /* adds jumps taken when the clause is false */
unsigned a64_all_of(struct a64_gen *, const rdn_pid *v, uint32_t n);    /* are all true, as a64_bool */

/* a64_wide.c: comparisons of decimals in 128 bits */
bool a64_wants_wide(const struct a64_gen *, rdn_pid cmp);      /* products of products: 64 bits would be a wasted try */
bool a64_can_wide(const struct a64_gen *, rdn_pid cmp);
void a64_wide_compare(struct a64_gen *, rdn_pid cmp, unsigned dest);   /* taints on 128-bit overflow */

/* a64_event.c */
bool a64_event(struct rdn_arena *, struct rdn_plan *, uint8_t *buf, size_t bytes, struct rdn_emitted *ret);
size_t a64_event_guess(const struct rdn_plan *);
#endif
