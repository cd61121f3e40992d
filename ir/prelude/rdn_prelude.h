/* SPDX-License-Identifier: Apache-2.0
 * rdn_prelude.h: one dialect for C, OpenCL C and CUDA C: names of types, exact fma, bit moves, Philox, random numbers and
 * the order of kernel sums (LANGUAGE.md 12.3, 12.4).
 *
 * This text is compiled as C here and handed to device compilers as it stands, so it calls nothing but fma, sqrt and floor,
 * allocates nothing, and must be built without contraction or reassociation: every operation rounds once. */
#ifndef RDN_PRELUDE_H
#define RDN_PRELUDE_H

#if defined(__OPENCL_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
typedef uint rdn_u32;
typedef ulong rdn_u64;
typedef long rdn_s64;
#define RDN_FN static inline
#define RDN_TABLE __constant const
#define RDN_TABLE_PTR __constant const double *
#define RDN_FMA(a, b, c) fma((a), (b), (c))
#define RDN_SQRT(a) sqrt(a)
#define RDN_FLOOR(a) floor(a)
RDN_FN rdn_u64 rdn_bits(double x) { return as_ulong(x); }
RDN_FN double rdn_from_bits(rdn_u64 b) { return as_double(b); }
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
typedef unsigned int rdn_u32;
typedef unsigned long long rdn_u64;
typedef long long rdn_s64;
#define RDN_FN static __device__ __forceinline__
#define RDN_TABLE static __constant__ const
#define RDN_TABLE_PTR const double *
#define RDN_FMA(a, b, c) __fma_rn((a), (b), (c))
#define RDN_SQRT(a) __dsqrt_rn(a)
#define RDN_FLOOR(a) floor(a)
RDN_FN rdn_u64 rdn_bits(double x) { return (rdn_u64)__double_as_longlong(x); }
RDN_FN double rdn_from_bits(rdn_u64 b) { return __longlong_as_double((long long)b); }
#else
#include <stdint.h>
typedef uint32_t rdn_u32;
typedef uint64_t rdn_u64;
typedef int64_t rdn_s64;
#define RDN_FN static inline __attribute__((unused))
#define RDN_TABLE static const
#define RDN_TABLE_PTR const double *
/* One instruction under -mfma and on aarch64, the C library's exact fma otherwise: the same bits. */
#define RDN_FMA(a, b, c) __builtin_fma((a), (b), (c))
#define RDN_SQRT(a) __builtin_sqrt(a)
#define RDN_FLOOR(a) __builtin_floor(a)
RDN_FN rdn_u64 rdn_bits(double x) {
    union { double f; rdn_u64 u; } v = { x };
    return v.u;
}
RDN_FN double rdn_from_bits(rdn_u64 b) {
    union { rdn_u64 u; double f; } v = { b };
    return v.f;
}
#endif

#define RDN_NAN (rdn_from_bits(0x7ff8000000000000u))
#define RDN_INF (rdn_from_bits(0x7ff0000000000000u))

/* ---- random numbers ---- */

/* Philox4x32-10: four words from a 64-bit key and a 128-bit counter. */
RDN_FN void rdn_philox(rdn_u32 k0, rdn_u32 k1, rdn_u32 c[4]) {
    rdn_u32 c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
    for (int i = 0; i < 10; i++) {
        rdn_u64 p0 = (rdn_u64)0xd2511f53u * c0, p1 = (rdn_u64)0xcd9e8d57u * c2;
        c0 = (rdn_u32)(p1 >> 32) ^ c1 ^ k0;
        c1 = (rdn_u32)p1;
        c2 = (rdn_u32)(p0 >> 32) ^ c3 ^ k1;
        c3 = (rdn_u32)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    c[0] = c0;
    c[1] = c1;
    c[2] = c2;
    c[3] = c3;
}

/* 53 bits of a pair of words, high one first, to the open interval (0, 1). */
RDN_FN double rdn_unit(rdn_u32 high, rdn_u32 low) {
    rdn_u64 m = ((rdn_u64)high << 32 | low) >> 11;
    double u = ((double)m + 0.5) * 0x1p-53;
    return u < 1.0 ? u : 1.0 - 0x1p-53;
}

/* Elements 2 * pair and 2 * pair + 1 of uniform(seed, i, k) in that stream. */
RDN_FN void rdn_uniform2(rdn_s64 seed, rdn_s64 i, rdn_u32 pair, rdn_u32 stream, double ret[2]) {
    rdn_u64 s = (rdn_u64)seed, n = (rdn_u64)i;
    rdn_u32 c[4];
    c[0] = (rdn_u32)n;
    c[1] = pair;
    c[2] = stream;
    c[3] = (rdn_u32)(n >> 32);
    rdn_philox((rdn_u32)s, (rdn_u32)(s >> 32), c);
    ret[0] = rdn_unit(c[0], c[1]);
    ret[1] = rdn_unit(c[2], c[3]);
}

/* ---- reductions ---- */

#define RDN_LEAF 256u                                    /* paths summed together */
#define RDN_STRIPES 16u

/* The sum of one leaf: 16 stripes, folded by halves. The folding order is part of the language. */
RDN_FN double rdn_fold_stripes(double s[16]) {
    for (rdn_u32 h = RDN_STRIPES / 2; h; h >>= 1)
        for (rdn_u32 j = 0; j < h; j++)
            s[j] += s[j + h];
    return s[0];
}

/* Order of doubles that are not NaN by their bits: -0.0 stands before 0.0. Compare as signed integers. */
RDN_FN rdn_s64 rdn_order(double x) {
    rdn_u64 b = rdn_bits(x);
    return (rdn_s64)(b ^ ((rdn_u64)((rdn_s64)b >> 63) >> 1));
}
RDN_FN double rdn_from_order(rdn_s64 k) {
    rdn_u64 b = (rdn_u64)k;
    return rdn_from_bits(b ^ ((rdn_u64)(k >> 63) >> 1));
}
#endif
