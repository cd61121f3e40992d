/* SPDX-License-Identifier: Apache-2.0
 * own_math.c: the functions of own.h. Compiled twice on x86-64: as rdn_own_plain for any CPU, and with -mfma as rdn_own_fma
 * (-DRDN_OWN_TABLE=...), so that the choice costs one pointer and no ifunc, which sanitizers do not like. */
#include "ir/own.h"
#include "ir/prelude/rdn_math.h"

#ifndef RDN_OWN_TABLE
#define RDN_OWN_TABLE rdn_own_plain
#endif

static double own_exp(double x) { return rdn_exp(x); }
static double own_log(double x) { return rdn_log(x); }
static double own_invnorm(double x) { return rdn_invnorm(x); }
static double own_normcdf(double x) { return rdn_normcdf(x); }
static double own_fma(double a, double b, double c) { return RDN_FMA(a, b, c); }

static double own_dot(const double *a, const double *b, uint32_t n) {
    double s = 0.0;
    for (uint32_t i = 0; i < n; i++)
        s = RDN_FMA(a[i], b[i], s);
    return s;
}

static void own_uniform(int64_t seed, int64_t i, uint32_t k, uint32_t stream, double *ret) {
    for (uint32_t j = 0; j < k; j += 2) {
        double u[2];
        rdn_uniform2(seed, i, j / 2, stream, u);
        ret[j] = u[0];
        if (j + 1 < k)
            ret[j + 1] = u[1];
    }
}

static void own_normal(int64_t seed, int64_t i, uint32_t k, uint32_t stream, double *ret) {
    own_uniform(seed, i, k, stream, ret);
    for (uint32_t j = 0; j < k; j++)
        ret[j] = rdn_invnorm01(ret[j]);
}

#define COLUMN(f)                                                        \
    static void own_##f##_n(double *d, const double *a, uint32_t n)      \
    {                                                                    \
        for (uint32_t i = 0; i < n; i++)                                 \
            d[i] = rdn_##f(a[i]);                                        \
    }
COLUMN(exp)
COLUMN(log)
COLUMN(invnorm)
COLUMN(normcdf)

const struct rdn_own RDN_OWN_TABLE = {
    .exp = own_exp, .log = own_log, .invnorm = own_invnorm, .normcdf = own_normcdf, .fma = own_fma, .dot = own_dot,
    .uniform = own_uniform, .normal = own_normal,
    .exp_n = own_exp_n, .log_n = own_log_n, .invnorm_n = own_invnorm_n, .normcdf_n = own_normcdf_n,
};
