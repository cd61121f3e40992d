/* SPDX-License-Identifier: Apache-2.0
 * block.h: what a kernel is made of, over a leaf of at most 256 paths: a column is 256 values of 8 bytes, 64-byte aligned.
 *
 * block.c is built once for each row of isa.def and picked for this CPU when a program starts; every build gives the same bits.
 * Functions take n, a multiple of 16; a result may stand in place of an operand. All [any] [hot]. */
#ifndef RDN_BLOCK_H
#define RDN_BLOCK_H
#include <stdbool.h>
#include <stdint.h>

/* Two operations on floats at once, which halves the columns that are written: X_Y is (a X b) Y c, X_RY is c Y (a X b). Both round
 * as if alone. P(X, Y) and R(X, Y) for each, Y by Y; the order is that of RDN_EACH_FIRST. */
#define RDN_EACH_FIRST(P, Y) P(ADD, Y) P(SUB, Y) P(MUL, Y) P(DIV, Y) P(MIN, Y) P(MAX, Y)
#define RDN_BLOCK_PAIRS(P, R)                                                                                                      \
    RDN_EACH_FIRST(P, ADD) RDN_EACH_FIRST(P, SUB) RDN_EACH_FIRST(P, MUL) RDN_EACH_FIRST(P, DIV) RDN_EACH_FIRST(P, MIN)             \
    RDN_EACH_FIRST(P, MAX) RDN_EACH_FIRST(R, SUB) RDN_EACH_FIRST(R, DIV) RDN_EACH_FIRST(R, MIN) RDN_EACH_FIRST(R, MAX)

enum { RDN_BLOCK_PATHS = 256 };                          /* values of a column: RDN_LEAF */
enum rdn_block_op {
#define BLOCK(name, d, a, b, c, value, bad) RDN_BLK_##name,
#include "ir/block.def"
#undef BLOCK
#define LEFT(x, y) RDN_BLK_##x##_##y,
#define RIGHT(x, y) RDN_BLK_##x##_R##y,
    RDN_BLOCK_PAIRS(LEFT, RIGHT)
#undef LEFT
#undef RIGHT
    RDN_BLK_COUNT
};
/* The one operation that does `first` and, on its result, `then`; RDN_BLK_COUNT: there is none. right: the result is the second
 * operand of `then`. */
enum rdn_block_op rdn_block_pair(enum rdn_block_op first, enum rdn_block_op then, bool right);
/* Not 0: some path is undefined there, and its value means nothing. `one` lets pairs read less: RDN_ONE_B, RDN_ONE_C say that all
 * values of b, of c are the same. */
enum { RDN_ONE_B = 1, RDN_ONE_C = 2 };
typedef uint64_t rdn_block_fn(void *d, const void *a, const void *b, const void *c, uint32_t n, unsigned one);

struct rdn_block {
    const char *name;
    uint32_t lanes; bool has_fma;                        /* paths an instruction; without fma each is a call of the C library */
    rdn_block_fn *op[RDN_BLK_COUNT];
    void (*invnorm)(double *d, const double *a, uint32_t n);
    /* The k columns d[0] ... of `columns`, uniform or normal numbers (12.3); seed: one a path, or one for all. Here a result may
     * not stand in place of an operand. */
    void (*draw)(double *columns, const uint32_t *d, uint32_t k, const int64_t *seed, bool one_seed, const int64_t *index, uint32_t stream,
                 bool normal, uint32_t n);
    /* s = 0.0; s = fma(w[j], x[j], s): x are columns of `columns`, w is the same on every path */
    void (*dot)(double *d, const double *w, const double *columns, const uint32_t *x, uint32_t k, uint32_t n);
    double (*sum)(const double *v, uint32_t n);          /* of a leaf; here n is any number up to 256 */
    /* keys that order values by their bits (12.4); not 0: one is NaN. n any number */
    uint64_t (*keys)(int64_t *d, const double *v, uint32_t n);
};
extern const struct rdn_block rdn_block_scalar, rdn_block_avx2, rdn_block_avx512;   /* the last two: x86-64 only */

/* The build in use: the best that this CPU runs, or the one that REDAN_KERNEL_ISA names (scalar, avx2, avx512). NULL for the name
 * reference: no blocks at all. A name that cannot run here changes nothing. */
const struct rdn_block *rdn_block(void);
const struct rdn_block *rdn_block_find(const char *name);   /* NULL: not built, or not for this CPU */
#endif
