/* SPDX-License-Identifier: Apache-2.0
 * own.c: picks the build of own_math.c that this CPU can run, before main. */
#include "ir/own.h"
#include "base/cpu.h"

static const struct rdn_own *picked = &rdn_own_plain;

#if defined(__x86_64__)
__attribute__((constructor)) static void pick(void) {
    if (!rdn_cpu_lacks(RDN_CPU_AVX2))
        picked = &rdn_own_fma;
}
#endif

const struct rdn_own *rdn_own(void) { return picked; }
