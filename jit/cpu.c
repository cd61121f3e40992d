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

#if defined(__x86_64__)
#define HAS(feature) (__builtin_cpu_init(), __builtin_cpu_supports(feature) != 0)
#else
#define HAS(feature) false
#endif
bool rdn_cpu_has_bmi2(void) { return HAS("bmi2"); }
bool rdn_cpu_has_avx512(void) { return HAS("avx512f") && HAS("avx512dq"); }

/* The first of these bits that is set names the mode. */
static const struct { uint32_t bits; const char *text; } fpmodes[] = {
#if defined(__aarch64__)
    {0x01000001u, "flush-to-zero"},
    {0x00c00000u, "another rounding mode"},
    {0x00000006u, "alternate floating-point behaviour"},
#else
    {0x8000u, "flush-to-zero"},
    {0x0040u, "denormals-are-zero"},
    {0x6000u, "another rounding mode"},
#endif
};
const char *rdn_fpmode_text(uint32_t mode) {
    for (size_t i = 0; i < sizeof fpmodes / sizeof *fpmodes; i++)
        if (mode & fpmodes[i].bits)
            return fpmodes[i].text;
    return "unmasked floating-point exceptions";
}
