/* SPDX-License-Identifier: Apache-2.0
 * cpu.c: see cpu.h. */
#include "base/cpu.h"
#include <stddef.h>

const char *rdn_cpu_lacks(enum rdn_cpu_set set) {
#if defined(__x86_64__)
    __builtin_cpu_init();                                /* also asks XGETBV whether the system saves the registers */
#define FEATURE(name, sets)                                                 \
    if ((set & (sets)) && !__builtin_cpu_supports(#name))                   \
        return #name;
#include "base/cpu.def"
#undef FEATURE
    return NULL;
#else
    (void)set;
    return "x86-64";
#endif
}
