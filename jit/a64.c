/* SPDX-License-Identifier: Apache-2.0
 * a64.c: the executor `a64`: native aarch64 code for the conditions of a rule set (plan.h, a64_gen.h), interp for the rest. Every
 * aarch64 Linux has what it needs. */
#include "jit/a64_gen.h"
#include "jit/native.h"

static const struct rdn_emitter emitter = {a64_event_guess, a64_event};
const struct rdn_exec_impl rdn_exec_a64 = {.name = "a64", .emitter = &emitter, .batches = &rdn_batch_table, RDN_NATIVE_ENTRIES};
