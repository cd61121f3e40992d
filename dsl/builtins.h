/* SPDX-License-Identifier: Apache-2.0
 * builtins.h: the builtin functions, from builtins.def. struct rdn_expr.builtin of a CALL is an enum rdn_builtin. [any] */
#ifndef RDN_BUILTINS_H
#define RDN_BUILTINS_H
#include <stdint.h>

enum rdn_builtin {
    RDN_FN_NONE,                                         /* a fn, plugin or kernel of the file */
#define BUILTIN(name, shape, sig, op, cost, ps, flags, type, doc) RDN_FN_##name,
#include "dsl/builtins.def"
#undef BUILTIN
    RDN_FN_COUNT
};
enum rdn_fn_shape { RDN_SHAPE_FIXED, RDN_SHAPE_ROUND, RDN_SHAPE_TIMEF, RDN_SHAPE_ABS, RDN_SHAPE_MINMAX, RDN_SHAPE_TOINT,
                    RDN_SHAPE_TOFLOAT, RDN_SHAPE_TODEC, RDN_SHAPE_DIV, RDN_SHAPE_TOTEXT, RDN_SHAPE_BUCKET, RDN_SHAPE_RANDOM,
                    RDN_SHAPE_DOT, RDN_SHAPE_VEC, RDN_SHAPE_VFOLD, RDN_SHAPE_DEFINED, RDN_SHAPE_PREV, RDN_SHAPE_CROSS };
enum rdn_fn_cost { RDN_FNCOST_FLAT, RDN_FNCOST_PER_ARG, RDN_FNCOST_CAL, RDN_FNCOST_IDIV, RDN_FNCOST_DOT, RDN_FNCOST_ARR,
                   RDN_FNCOST_PREV, RDN_FNCOST_CROSS };
enum { RDN_FNFLAG_HOST = 1, RDN_FNFLAG_LIBM = 2, RDN_FNFLAG_TIER_T = 4 };
struct rdn_builtin_row {
    const char *name, *sig;
    uint8_t shape, cost, flags, op;                      /* op: RDN_OP_*, RDN_OP_COUNT when lower.c knows */
    uint32_t ps;
    const char *type, *doc;
};
extern const struct rdn_builtin_row rdn_builtins[RDN_FN_COUNT];   /* [0] is empty */
#endif
