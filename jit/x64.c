/* SPDX-License-Identifier: Apache-2.0
 * x64.c: the executor `x64`: native x86-64 code for the conditions of a rule set (plan.h, x64_gen.h), interp for the rest. */
#include "base/cpu.h"
#include "jit/native.h"
#include "jit/x64_gen.h"

static int available(redan_error *reterr) {
    const char *lacks = rdn_cpu_lacks(RDN_CPU_AVX2);
    return lacks ? rdn_fail(reterr, NOSUP, "R2102", "x64 needs AVX2 and FMA; this CPU lacks %s", lacks) : 0;
}

const struct rdn_emitter rdn_x64_emitter = {x64_event_guess, x64_event};
const struct rdn_exec_impl rdn_exec_x64 = {.name = "x64", .available = available, .emitter = &rdn_x64_emitter, RDN_NATIVE_ENTRIES};
