/* SPDX-License-Identifier: Apache-2.0
 * foreign_lib.c: an existing C library without our ABI, for kind cfn. */
#include <stdint.h>
#include <string.h>
__attribute__((visibility("default"))) double blend(double a, int64_t n, uint8_t up);
__attribute__((visibility("default"))) int64_t letters(const char *s);
__attribute__((visibility("default"))) uint8_t side_of(int32_t day, uint8_t side);
double blend(double a, int64_t n, uint8_t up) { return up ? a + (double)n : a - (double)n; }
int64_t letters(const char *s) { return (int64_t)strlen(s); }
uint8_t side_of(int32_t day, uint8_t side) { return day < 0 ? 7 : !side; }
