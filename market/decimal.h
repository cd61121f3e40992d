/* SPDX-License-Identifier: Apache-2.0
 * decimal.h: decimal text and doubles to whole ticks, exactly or not at all. [any] */
#ifndef RDN_DECIMAL_H
#define RDN_DECIMAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RDN_DECIMAL_SCALE = 9 };          /* digits after the point of an instrument's tick and lot */

/* "-12.5" at scale 2: -1250. False: no digits, another character, or does not fit. Digits beyond the scale must be zeros, else
 * *ret_rest (may not be NULL) is set. */
bool rdn_decimal_read(const char *s, size_t n, unsigned scale, int64_t *ret, bool *ret_rest);
bool rdn_decimal_u64(const char *s, size_t n, uint64_t *ret);        /* digits only, at least one */

/* Tick as units of 10^-9. Whole ticks of a price with `scale` digits; false when between two ticks or out of range. */
bool rdn_ticks_exact(int64_t px, unsigned scale, int64_t tick_nano, int64_t *ret);
int64_t rdn_ticks_round(int64_t px, unsigned scale, int64_t tick_nano);           /* nearest, half away from zero */
#endif
