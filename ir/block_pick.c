/* SPDX-License-Identifier: Apache-2.0
 * block_pick.c: picks the build of block.c for this CPU, before main. The best row that runs, the last one first. */
#include "ir/block.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"

#if defined(__x86_64__)
static bool runs_avx2(void) { return !rdn_cpu_lacks(RDN_CPU_AVX2); }
static bool runs_avx512(void) { return !rdn_cpu_lacks(RDN_CPU_AVX512); }
#endif
static bool runs_anywhere(void) { return true; }

static const struct { const struct rdn_block *block; bool (*runs)(void); } isas[] = {
    { &rdn_block_scalar, runs_anywhere },
#if defined(__x86_64__)
    { &rdn_block_avx2, runs_avx2 },
    { &rdn_block_avx512, runs_avx512 },
#endif
};
enum { ISAS = sizeof isas / sizeof *isas };

const struct rdn_block *rdn_block_find(const char *name) {
    for (size_t i = 0; i < ISAS; i++)
        if (!strcmp(isas[i].block->name, name) && isas[i].runs())
            return isas[i].block;
    return NULL;
}

static const struct rdn_block *picked = &rdn_block_scalar;

__attribute__((constructor)) static void pick(void) {
    const char *wish = secure_getenv("REDAN_KERNEL_ISA");
    for (size_t i = 0; i < ISAS; i++)
        if (isas[i].runs())
            picked = isas[i].block;
    if (wish && !strcmp(wish, "reference"))
        picked = NULL;
    else if (wish && rdn_block_find(wish))
        picked = rdn_block_find(wish);
}

/* Place among the first, or second, operations of a pair. */
static int place(enum rdn_block_op op) {
    static const uint8_t order[] = { RDN_BLK_ADDF, RDN_BLK_SUBF, RDN_BLK_MULF, RDN_BLK_DIVF, RDN_BLK_MINF, RDN_BLK_MAXF };
    for (int i = 0; i < 6; i++)
        if (order[i] == op)
            return i;
    return -1;
}

enum rdn_block_op rdn_block_pair(enum rdn_block_op first, enum rdn_block_op then, bool right) {
    static const int8_t right_rows[] = { -1, 6, -1, 7, 8, 9 };   /* a sum and a product do not mind the order */
    int x = place(first), y = place(then);
    if (x < 0 || y < 0)
        return RDN_BLK_COUNT;
    if (right && right_rows[y] > 0)
        y = right_rows[y];
    return (enum rdn_block_op)(RDN_BLK_ADD_ADD + y * 6 + x);
}

const struct rdn_block *rdn_block(void) { return picked; }
