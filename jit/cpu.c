/* SPDX-License-Identifier: Apache-2.0
 * cpu.c: see cpu.h. The feature list is x86-64-v3 as far as the emitter uses it. */
#include "jit/cpu.h"
#include <stddef.h>

const char *rdn_cpu_lacks(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();                                /* also asks XGETBV whether the system saves the AVX state */
    if (!__builtin_cpu_supports("avx2"))
        return "avx2";
    if (!__builtin_cpu_supports("fma"))
        return "fma";
    return NULL;
#else
    return "x86-64";
#endif
}

const char *rdn_fpmode_text(uint32_t mxcsr) {
    if (mxcsr & 0x8000u)
        return "flush-to-zero";
    if (mxcsr & 0x0040u)
        return "denormals-are-zero";
    if (mxcsr & 0x6000u)
        return "another rounding mode";
    return "unmasked floating-point exceptions";
}
