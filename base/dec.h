/* SPDX-License-Identifier: Apache-2.0
 * dec.h: decimals as 128-bit mantissas (LANGUAGE.md 7.2). Scales are static and at most 18.
 * Functions that can leave 128 bits return false and leave *ret alone. */
#ifndef RDN_DEC_H
#define RDN_DEC_H
#include <stdbool.h>
#include <stdint.h>

typedef __int128 rdn_i128;
typedef unsigned __int128 rdn_u128;
#define RDN_I128_MAX ((rdn_i128)(~(rdn_u128)0 >> 1))
#define RDN_I128_MIN (-RDN_I128_MAX - 1)

rdn_i128 rdn_pow10(unsigned n);                                            /* n <= 38 */
bool rdn_dec_rescale(rdn_i128 m, unsigned from, unsigned to, rdn_i128 *ret);   /* half to even when digits go */
int  rdn_dec_cmp(rdn_i128 a, unsigned sa, rdn_i128 b, unsigned sb);            /* exact: -1, 0, 1 */
double rdn_i128_to_f64(rdn_i128);                                          /* nearest, ties to even */
double rdn_dec_to_f64(rdn_i128 m, unsigned scale);                         /* (double)m / 10^scale */
/* Exact binary value, half to even. 0 ok, else the cause number: 3 nan, 6 range (inf), 4 overflow. */
int  rdn_f64_to_dec(double x, unsigned scale, rdn_i128 *ret);
/* Exact a*10^-sa / (b*10^-sb) at scale n, half even. 0 ok, 5 div0, 4 overflow. Needs 256-bit steps inside. */
int  rdn_dec_div(rdn_i128 a, unsigned sa, rdn_i128 b, unsigned sb, unsigned n, rdn_i128 *ret);
static inline bool rdn_fits_i64(rdn_i128 v) { return v >= INT64_MIN && v <= INT64_MAX; }
#endif
