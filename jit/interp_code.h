/* SPDX-License-Identifier: Apache-2.0
 * interp_code.h: the reference interpreter's code for one rule set and its working memory in one frame. Private to interp*.c.
 *
 * Every root of the rule set (condition, action part, window part, let, bound fn argument, call, test part) is laid out as a
 * run of instructions in the order of evaluation that LANGUAGE.md 17.6 fixes, with forward jumps where that order skips
 * something. Running it needs no recursion: a let that is not evaluated yet is entered through an explicit stack whose depth is
 * known when the program is opened, so a lane's stack use does not depend on the rule set.
 *
 * Laziness is exact where it can be seen: a let that reads a window keeps the value of its first evaluation, which may happen
 * before a later window of the same event is updated, and a call is made at most once. Elsewhere all operands are evaluated.
 *
 * A ref names a cell: tag in the top bits, index below. Constants, parameters, fields, now, ts and score are refs without any
 * code of their own. */
#ifndef RDN_INTERP_CODE_H
#define RDN_INTERP_CODE_H
#include "jit/frame.h"

enum { REF_TEMP, REF_CONST, REF_PARAM, REF_SHARED, REF_FIELD, REF_TAGS };
#define REF_SHIFT 29
#define REF_MASK  ((1u << REF_SHIFT) - 1)
#define REF(tag, i) ((uint32_t)(tag) << REF_SHIFT | (uint32_t)(i))
enum { CTX_NOW, CTX_TS, CTX_SCORE, CTX_ROW, CTX_FIELDS };   /* the first cells of REF_FIELD */

enum rdn_icode {
    I_END,                                               /* at index 0, so that 0 is no target */
    I_MOVE, I_ENSURE, I_JMP, I_JBOOL, I_JSEL, I_JCOAL, I_JUNDEF, I_INSTEP,
    I_AND, I_OR, I_NOT, I_DEFINED,
    I_EQ_I, I_NE_I, I_LT_I, I_LE_I, I_GT_I, I_GE_I,
    I_EQ_F, I_NE_F, I_LT_F, I_LE_F, I_GT_F, I_GE_F,
    I_EQ_D, I_NE_D, I_LT_D, I_LE_D, I_GT_D, I_GE_D,
    I_ADD_I, I_SUB_I, I_MUL_I, I_ADD_F, I_SUB_F, I_MUL_F, I_DIV_F, I_ADD_D, I_SUB_D, I_MUL_D,
    I_APPLY, I_WREAD, I_WOWN, I_TREAD, I_INLIST, I_INCAL, I_CALL
};
struct rdn_insn {
    uint8_t op, jval;                                    /* a boolean result equal to jval jumps to jmp, unless that is 0 */
    uint16_t pad;
    uint32_t dst, a, b, jmp, node;                       /* a, b: refs; n-ary: first of refs and count */
};
struct rdn_run_of { uint32_t start, end, ref; };          /* code of a node and where its value is after running it */
struct rdn_shared { rdn_id node; bool calls; };          /* evaluated at most once an event */

struct rdn_interp {
    const struct rdn_ir *ir;
    const struct rdn_mem *mem;
    struct rdn_insn *code; uint32_t ncode, cap_code;
    uint32_t *refs; uint32_t nrefs, cap_refs;
    struct rdn_run_of *ranges;                            /* by node; end 0: not laid out */
    uint32_t *shared_of;                                 /* by node: index of shared + 1, or 0 */
    struct rdn_shared *shared; uint32_t nshared, cap_shared;
    struct rdn_cell *consts;
    uint32_t *key_at;                                    /* byte offset of each window's key in the frame's key block */
    size_t key_bytes;
    uint32_t temps, depth, max_args, fields;             /* sizes of a frame's parts */
    size_t tmp_bytes, keep_bytes;
};

struct rdn_pushed {                                      /* a suspended run while a shared value is worked out */
    uint32_t pc, end, shared;
    struct rdn_cell *temps;
    struct rdn_scratch *scratch;
};
struct rdn_key_memo { uint64_t gen; };                   /* of the event its key was last made for */

struct rdn_interp_state {
    const struct rdn_interp *code;
    struct rdn_frame *frame;
    uint64_t seq, gen, pending, stamps;                  /* the frame's; this event; the open pre-pass or 0; stamps given so far */
    struct rdn_cell *temps, *shared, *fields;
    struct rdn_pushed *stack;
    const struct rdn_cell **argp;                        /* operands of an n-ary instruction */
    struct rdn_cell *args;                               /* arguments of a call */
    struct rdn_key *key;                                 /* of a read with its own key expressions */
    char *keys;                                          /* own-event keys, trimmed to each window's size */
    struct rdn_key_memo *key_memo;
    struct rdn_scratch tmp, keep;                        /* texts and arrays: of one evaluation; until the next event */
};
/* The first question about a new event: every memo is forgotten. [hot] */
static inline void rdn_interp_need_begin(struct rdn_interp_state *st) {
    if (st->seq == st->frame->head.seq)
        return;
    st->seq = st->frame->head.seq;
    st->gen = ++st->stamps;
    st->keep.used = 0;
}
#define CAUSE_PENDING 255u                               /* pre-pass only: depends on a call that was not made yet */

static inline struct rdn_key *rdn_own_key_slot(struct rdn_interp_state *st, uint32_t window)
{
    return (struct rdn_key *)(void *)(st->keys + st->code->key_at[window]);
}

/* interp_layout.c: appends the code of one root. What it shares is laid out by rdn_layout_end, which also adds up what frames need. */
struct rdn_layout;
int rdn_layout_open(struct rdn_interp *, struct rdn_layout **ret);
void rdn_layout_close(struct rdn_layout *);
int rdn_layout_root(struct rdn_layout *, rdn_id root, bool keep);   /* keep: a text or array value stays until the next event */
int rdn_layout_share(struct rdn_layout *, rdn_id root);             /* from now on evaluated once an event */
int rdn_layout_end(struct rdn_layout *);
bool rdn_interp_leaf(const struct rdn_node *, uint32_t *ret);       /* its ref, when it needs no code */

/* interp.c: the value of a node that is laid out. Texts and arrays stay valid until the next event where the root was laid out
 * to keep them (it is shared then), else until the next evaluation. */
void rdn_interp_eval(struct rdn_interp_state *, rdn_id, struct rdn_cell *ret);
#endif
