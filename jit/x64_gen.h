/* SPDX-License-Identifier: Apache-2.0
 * x64_gen.h: state of the x86-64 emitter for one event type. Private to x64*.c.
 *
 * Convention: rdi = block (plan.h), rsi = event row; rax rcx r8-r11 scratch, rdx collects a word of results; in a group of many conditions
 * rax stands 128 bytes above the constants in use, so that their displacements are short; xmm0.. scratch, the
 * upper ones pinned to the f64 inputs used most. Leaf code: no callee-saved register, no stack, no call. The upper lane of
 * every xmm in use is zero, so a mask's vmovmskpd is 0 or 1.
 *
 * A clause is a piece of code with one result. Jumps that leave it (overflow, division, NaN) go to one of its two stubs:
 * `taint` marks the rules that depend on it, `cold` works a decimal comparison out in 128 bits; both come back behind the
 * clause; the result is then of no interest but must still be 0 or 1. A rule that needs more registers than there are is rolled back and left to interp. */
#ifndef RDN_X64_GEN_H
#define RDN_X64_GEN_H
#include "jit/emit.h"
#include "jit/const_pool.h"
#include "jit/x64_enc.h"

#define X64_NONE UINT32_MAX
enum { X64_TAINT, X64_COLD, X64_NONFINITE };
struct x64_stub {
    uint8_t kind, dest;                                  /* COLD: where the answer goes */
    bool is_set;                                         /* TAINT: target is a dep set, else a rule or item bit */
    uint32_t target, resume;
    rdn_pid node;                                        /* COLD: the comparison */
    uint32_t live;                                       /* COLD: general registers to keep */
    uint32_t jumps;                                      /* last of its jumps + 1 */
};
struct x64_jump { uint32_t at, next; };                  /* next: an earlier jump to the same stub + 1 */
/* rdn_pool as operands: the pool grows down from the code to `low` (offset in the buffer). */
struct x64_pool { struct rdn_pool words; };
void x64_pool_open(struct x64_pool *, struct rdn_arena *, uint32_t most);
struct x64_mem x64_pool_put(struct x64_pool *, struct x64_buf *, uint32_t *low, uint64_t bits);

struct x64_gen {
    struct x64_buf b;
    struct rdn_plan *pl;
    struct rdn_arena *arena;
    uint32_t code_at, pool_low;                          /* the pool grows down from code_at */
    struct x64_pool pool;
    uint8_t *pin;                                        /* by node: xmm of a pinned value, 0 none (xmm0 is scratch) */
    uint8_t *done;                                       /* by node: its shared slot holds the value */
    unsigned nscratch;                                   /* xmm0 .. nscratch - 1 */
    bool based;                                          /* rax is not scratch */
    uint32_t base;                                       /* what rax points to, offset in the buffer; 0: nothing now */
    uint32_t gfree, xfree;                               /* free scratch registers */
    bool failed;                                         /* out of registers: roll back */
    bool ran_out, ran_out_gpr;                           /* somewhere: more scratch may help */
    bool target_is_set;
    uint32_t target;                                     /* what a taint stub made now marks */
    uint32_t taint, cold;                                /* stubs of the clause in work, or X64_NONE */
    bool no_cold;                                        /* decimals: overflow taints */
    RDN_VEC(struct x64_jump) jumps;
    RDN_VEC(struct x64_stub) stubs;
    struct rdn_marks marks;
};
#define X64_GPRS (1u << X_RAX | 1u << X_RCX | 1u << X_R8 | 1u << X_R9 | 1u << X_R10 | 1u << X_R11)

static inline const struct rdn_pnode *x64_node(const struct x64_gen *g, rdn_pid p) { return &g->pl->nodes.v[p]; }
/* Integer and decimal constants have one value; the node of any other leaf has a place in memory. */
static inline bool x64_is_const(const struct rdn_pnode *n) { return n->op == RDN_OP_CONST && (n->flags & RDN_P_NATIVE); }

/* x64_val.c: registers, pool, guards, numbers */
unsigned x64_gpr(struct x64_gen *);                      /* allocates */
unsigned x64_xmm(struct x64_gen *);
void x64_gfree(struct x64_gen *, unsigned);
struct x64_mem x64_const(struct x64_gen *, uint64_t bits);
struct x64_mem x64_sign_mask(struct x64_gen *), x64_abs_mask(struct x64_gen *);   /* 16 bytes, upper half zero */
void x64_jump_stub(struct x64_gen *, enum x_cc, uint32_t stub);
void x64_jump_taint(struct x64_gen *, enum x_cc);
void x64_jump_cold(struct x64_gen *, enum x_cc);         /* of decimal arithmetic: cold stub, or taint when there is none */
struct x64_xv { uint8_t reg; bool owned; };
struct x64_xv x64_f64(struct x64_gen *, rdn_pid);
void x64_xdone(struct x64_gen *, struct x64_xv);
unsigned x64_int(struct x64_gen *, rdn_pid);             /* integer, decimal or bool value in a register of its own */
bool x64_place(const struct x64_gen *, rdn_pid, struct x64_mem *ret, unsigned *ret_size);   /* where a leaf or done node lies in memory */
void x64_load(struct x64_gen *, unsigned reg, rdn_pid);  /* leaf or constant into a register */
/* op reg, value: from memory or an immediate when possible */
void x64_alu_value(struct x64_gen *, enum x_alu, unsigned reg, rdn_pid);

/* c ? yes : no; gives c and yes back, the answer is in no. */
unsigned x64_select(struct x64_gen *, unsigned c, unsigned yes, unsigned no);
/* A constant, pinned or memory leaf into a register of its own; false when p has to be computed. */
bool x64_load_leaf(struct x64_gen *, rdn_pid, unsigned *ret);
/* A float operand that an instruction can take from memory: a constant or an unpinned leaf. */
bool x64_f64_mem(struct x64_gen *, rdn_pid, struct x64_mem *);
/* x64_bool.c */
struct x64_clause { uint32_t taint, cold, live; };
struct x64_clause x64_clause_begin(struct x64_gen *);
/* Jumps that left the clause come back here. dest: where a cold stub leaves the answer of comparison p. */
void x64_clause_end(struct x64_gen *, struct x64_clause, rdn_pid p, unsigned dest);
unsigned x64_bool(struct x64_gen *, rdn_pid);            /* 0 or 1 in a register of its own */
enum x_cmp x64_float_pred(unsigned op, bool swapped);      /* predicate of vcmpsd and vcmppd */
bool x64_maskable(const struct x64_gen *, rdn_pid);      /* all f64 comparisons */
unsigned x64_mask(struct x64_gen *, rdn_pid);            /* all ones or zero in a scratch xmm of its own */
/* Adds jumps taken when the clause is false; *skip collects them. */
void x64_skip_unless(struct x64_gen *, rdn_pid, struct x64_stub *skip);
unsigned x64_all_of(struct x64_gen *, const rdn_pid *v, uint32_t n);   /* 1 when all are true, as x64_bool */

/* x64_wide.c */
bool x64_wants_wide(const struct x64_gen *, rdn_pid cmp);      /* products of products: 64 bits would be a wasted try */
bool x64_can_wide(const struct x64_gen *, rdn_pid cmp);
void x64_wide_compare(struct x64_gen *, rdn_pid cmp, unsigned dest, uint32_t live);   /* keeps `live`; taints on 128-bit overflow */

/* x64_key.c: makes the quick keys, at the start of a function. */
void x64_keys(struct x64_gen *);

/* x64_event.c: emits the functions of one event type. Rules that do not fit its registers become interp's in the
 * plan. False: the buffer is too small. */
bool x64_event(struct rdn_arena *, struct rdn_plan *, uint8_t *buf, size_t bytes, struct rdn_emitted *ret);
size_t x64_event_guess(const struct rdn_plan *);
#endif
