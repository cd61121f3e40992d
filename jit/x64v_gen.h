/* SPDX-License-Identifier: Apache-2.0
 * x64v_gen.h: state of the emitter of x64v for one event type: conditions over blocks of 8 events. Private to x64v*.c.
 *
 * Only what depends on the event alone: fields (optional ones too), constants, parameters, now, ts, and arithmetic on them that the
 * processor has in vectors. A block is 8 events, a column of it one vector: a zmm, or two ymm (`zmm` false). A truth value is a mask:
 * a k register, or two ymm of all ones and zeros. Every function works on the same struct xv_block (rdi): it runs through `count`
 * blocks of 8 events, adds the block's size to every column pointer, and ORs into `mark` the lanes that must be judged singly:
 * a float input that is not finite, an absent optional field, an overflow, a NaN that arose. In those lanes the answer is of no
 * interest, and nothing in them traps.
 *
 * Rules are cut into functions of whole words of at most about 24 KiB of code, so that the code of one stays in the first cache.
 *
 * Registers: rdi block, rsi count, rax scratch, r15 words, r14 marks, the others pointers of the columns used most.
 * zmm: zmm0-6 scratch, zmm7 the word in work, zmm8-31 columns; k1-k6 scratch, k7 marks.
 * ymm: pairs 0-4 (ymm0-9) scratch, pair 5 (ymm10, 11) marks, pair 6 (ymm12, 13) the word, ymm14 and ymm15 within one operation. */
#ifndef RDN_X64V_GEN_H
#define RDN_X64V_GEN_H
#include "jit/x64_gen.h"
#include "jit/x64v_enc.h"

enum { XV_LANES = 8, XV_COLUMNS_MAX = 64 };
enum xv_ext { XV_E64, XV_EZX32, XV_ESX32, XV_EZX8 };     /* how an element becomes 64 bits */
static inline uint32_t xv_elem(enum xv_ext e) { return e == XV_E64 ? 8 : e == XV_EZX8 ? 1 : 4; }
/* source: RDN_COL_* of a batch, or XV_COL_NOW */
#define XV_COL_NOW UINT32_MAX
struct xv_col { uint32_t source, offset; uint8_t ext; };  /* offset: in the row */

/* What the native functions get; followed by column pointers, parameters and 64-byte spills (xv_at_*). */
struct xv_block { uint8_t *words, *mark; uint64_t count, stride4; const uint8_t *rows; uint8_t *scratch8, *scratch4, *scratch1; };
static inline uint32_t xv_at_col(uint32_t c) { return (uint32_t)sizeof(struct xv_block) + 8 * c; }
typedef void xv_native(struct xv_block *);

enum { XV_NO = 1, XV_YES };                              /* xv_gen.can */
struct xv_gen {
    struct x64_buf b;
    struct rdn_plan *pl;
    struct rdn_arena *arena;
    bool zmm;
    uint32_t code_at, pool_low;
    struct x64_pool pool;
    RDN_VEC(struct xv_col) cols;
    RDN_VEC(rdn_pid) params;                             /* in the block, behind the columns */
    uint32_t spill_at, nspills, most_spills;             /* offset of the spills; of the function in work; of any */
    uint32_t *col_of, *param_of;                         /* by node: index + 1 */
    uint8_t *can;                                        /* by node: 0 not asked yet, XV_NO, XV_YES */
    /* of the function in work */
    uint32_t stamp, *seen, *uses, *weight;               /* by node; the others hold while seen is the stamp */
    RDN_VEC(rdn_pid) visited;                            /* operands first */
    uint32_t *spill;                                     /* by node: number + 1 of the spill that holds it */
    uint32_t col_uses[XV_COLUMNS_MAX];
    uint8_t col_gpr[XV_COLUMNS_MAX], col_pin[XV_COLUMNS_MAX];   /* 0 none */
    uint32_t vfree, kfree;                               /* free scratch vectors, masks */
    bool failed;                                         /* out of registers: the rule is left out */
};
static inline struct x64_mem xv_spill(const struct xv_gen *g, uint32_t spill) { return x_at(X_RDI, (int32_t)(g->spill_at + 64 * (spill - 1))); }

static inline const struct rdn_pnode *xv_node(const struct xv_gen *g, rdn_pid p) { return &g->pl->nodes.v[p]; }
struct xv_v { uint8_t r; bool owned; };                  /* a vector: zmm number, or pair */
struct xv_m { uint8_t r; bool some; };                   /* a mask: k number or pair; !some: all lanes */
/* Where an operand stands: in registers, a vector in memory, or one value for all lanes. */
enum { XV_REG, XV_MEM, XV_ONE };
struct xv_src { uint8_t kind, r; struct x64_mem m; };
static inline struct xv_src xv_src_of(struct xv_v v) { return (struct xv_src){XV_REG, v.r, {0, 0}}; }

/* x64v_val.c: registers, operands, numbers */
unsigned xv_vector(struct xv_gen *);                     /* allocates */
unsigned xv_mask_reg(struct xv_gen *);
void xv_drop(struct xv_gen *, struct xv_v);
void xv_drop_mask(struct xv_gen *, struct xv_m);
struct x64_mem xv_const(struct xv_gen *, uint64_t bits);
struct xv_src xv_one(struct xv_gen *, uint64_t bits);
bool xv_source(struct xv_gen *, rdn_pid, struct xv_src *ret);        /* false: it has to be computed. May use rax: emit the user next */
void xv_load_column(struct xv_gen *, uint32_t col, unsigned r);
void xv_op(struct xv_gen *, unsigned op, unsigned d, unsigned v, struct xv_src s);
void xv_unary(struct xv_gen *, unsigned op, unsigned d, unsigned s, int imm);        /* imm < 0: none */
void xv_move_in(struct xv_gen *, unsigned d, struct xv_src s);       /* s into d */
struct xv_v xv_value(struct xv_gen *, rdn_pid);          /* f64, integer, decimal */
struct xv_src xv_operand(struct xv_gen *, rdn_pid, struct xv_v *held);   /* in place, or computed into *held; the next instruction reads it */
struct xv_v xv_binary(struct xv_gen *, unsigned op, struct xv_v l, rdn_pid b);       /* takes l */
struct xv_v xv_owned(struct xv_gen *, struct xv_v);      /* a register to write to: v's own, or a new one */
struct xv_v xv_result(struct xv_gen *, struct xv_v l, struct xv_v r);   /* one for what is made of both; the other is given back */
void xv_blend(struct xv_gen *, unsigned d, unsigned no, unsigned yes, struct xv_m);
void xv_mark_mask(struct xv_gen *, struct xv_m);         /* lanes of the mask are to be judged singly */

/* x64v_int.c: integers and decimals */
struct xv_v xv_int(struct xv_gen *, rdn_pid);
struct xv_v xv_from_whole(struct xv_gen *, rdn_pid);     /* (double)m / 10^scale */

/* x64v_bool.c */
struct xv_m xv_bool(struct xv_gen *, rdn_pid, struct xv_m under);    /* lanes of `under` where it holds, in registers of its own */
struct xv_m xv_cmp_f(struct xv_gen *, unsigned pred, unsigned l, struct xv_src r, struct xv_m under);
struct xv_m xv_all(struct xv_gen *, bool yes);
void xv_save_mask(struct xv_gen *, uint32_t spill, struct xv_m);
struct xv_m xv_not(struct xv_gen *, struct xv_m m, struct xv_m under);

/* x64v_plan.c: what can be computed, and what one function needs */
bool xv_can(struct xv_gen *, rdn_pid);                   /* adds its columns and parameters */
const struct rdn_gather *xv_gather(const struct xv_gen *, rdn_pid);  /* of a slot that an optional field fills, else NULL */
uint32_t xv_present(const struct xv_gen *);              /* number of the column of presence words */
void xv_walk_begin(struct xv_gen *);
void xv_walk(struct xv_gen *, rdn_pid root);
void xv_walk_end(struct xv_gen *);                       /* weights, columns in registers */
bool xv_shared(const struct xv_gen *, rdn_pid);          /* computed once a block, into a spill */

/* x64v_event.c: the functions of one event type. False: the buffer is too small. */
struct xv_code {
    uint32_t low, end, rows;                             /* offsets in the buffer; rows: 0 when no rule can be computed */
    uint32_t *functions, nfunctions;
    uint32_t params_at, block_bytes;                     /* of struct xv_block and what follows it */
};
/* mask: the rules that are computed, a bit each, cleared before. */
bool xv_event(struct rdn_arena *, struct rdn_plan *, bool zmm, uint8_t *buf, size_t bytes, uint64_t *mask, struct xv_gen **ret_gen, struct xv_code *ret);
/* x64v_rows.c: `count` rounds of 4 rows into columns: element i of column c goes to scratchN + c * 8 * RDN_BATCH_MAX + N * i, N its
 * bytes. */
uint32_t xv_emit_rows(struct xv_gen *);
#endif
