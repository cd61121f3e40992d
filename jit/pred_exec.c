/* SPDX-License-Identifier: Apache-2.0
 * pred_exec.c: the executor `table`: the runner with predicates (pred.h) in the place of native code. Runs everywhere: no executable
 * memory, nothing that a fork takes away. */
#include "jit/native.h"

const struct rdn_exec_impl rdn_exec_table = {.name = "table", RDN_NATIVE_ENTRIES};
