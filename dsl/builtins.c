/* SPDX-License-Identifier: Apache-2.0
 * builtins.c: builtins.def as a table. */
#include "dsl/builtins.h"
#include "ir/ir.h"

enum { RDN_OP_SPECIAL = RDN_OP_COUNT };
enum { HOST = RDN_FNFLAG_HOST, LIBM = RDN_FNFLAG_LIBM, TIER_T = RDN_FNFLAG_TIER_T };

const struct rdn_builtin_row rdn_builtins[RDN_FN_COUNT] = {
#define BUILTIN(name, shape, sig, op, cost, ps, flags, type, doc) \
    [RDN_FN_##name] = { #name, sig, RDN_SHAPE_##shape, RDN_FNCOST_##cost, flags, RDN_OP_##op, ps, type, doc },
#include "dsl/builtins.def"
#undef BUILTIN
};
