/* SPDX-License-Identifier: Apache-2.0
 * fpmode.c: see fpmode.h. */
#include "base/fpmode.h"
#include <stddef.h>

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
