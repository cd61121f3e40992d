/* SPDX-License-Identifier: Apache-2.0
 * own.h: Redan's own functions of ir/prelude, built once with and once without fma instructions and picked for this CPU.
 * Both give the same bits; the plain one asks the C library for each fma (about 3 ns). [any] [hot] */
#ifndef RDN_OWN_H
#define RDN_OWN_H
#include <stdint.h>

struct rdn_own {
    double (*exp)(double), (*log)(double), (*invnorm)(double), (*normcdf)(double);
    double (*fma)(double a, double b, double c);
    /* s = 0.0; s = fma(a[i], b[i], s) in index order */
    double (*dot)(const double *a, const double *b, uint32_t n);
    /* k elements of uniform(seed, i, k) or normal(seed, i, k) in that stream (12.3) */
    void (*uniform)(int64_t seed, int64_t i, uint32_t k, uint32_t stream, double *ret);
    void (*normal)(int64_t seed, int64_t i, uint32_t k, uint32_t stream, double *ret);
    /* the same functions over columns of n values; d may be a */
    void (*exp_n)(double *d, const double *a, uint32_t n), (*log_n)(double *d, const double *a, uint32_t n);
    void (*invnorm_n)(double *d, const double *a, uint32_t n), (*normcdf_n)(double *d, const double *a, uint32_t n);
};
extern const struct rdn_own rdn_own_plain, rdn_own_fma;  /* rdn_own_fma: x86-64 only */
const struct rdn_own *rdn_own(void);
#endif
