/* SPDX-License-Identifier: Apache-2.0
 * block_lanes.h: the three things that the compiler does not find by itself: products of 32-bit words, and packing the chosen
 * values of a column and spreading them again. One body an instruction set; the same values from each. */
#ifndef RDN_BLOCK_LANES_H
#define RDN_BLOCK_LANES_H
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define RDN_VBYTES 64
#elif defined(__AVX2__)
#define RDN_VBYTES 32
#else
#define RDN_VBYTES 16
#endif
enum { LANES = RDN_VBYTES / 8 };
typedef uint64_t vu64 __attribute__((vector_size(RDN_VBYTES), may_alias));
typedef double vf64 __attribute__((vector_size(RDN_VBYTES), may_alias));

/* The product of the low halves. */
static inline vu64 vmul32(vu64 a, vu64 b) {
#if RDN_VBYTES == 64
    return (vu64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif RDN_VBYTES == 32
    return (vu64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vu64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

static inline vu64 vxor3(vu64 a, vu64 b, vu64 c) {
#if RDN_VBYTES == 64
    return (vu64)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0x96);
#else
    return a ^ b ^ c;
#endif
}

static inline const vf64 *vat(const double *p) { return (const vf64 *)(const void *)p; }
/* Not 0 + x: that would lose the sign of -0.0. */
static inline vf64 vall(double x) {
#if RDN_VBYTES == 64
    return (vf64)_mm512_set1_pd(x);
#elif RDN_VBYTES == 32
    return (vf64)_mm256_set1_pd(x);
#else
    return (vf64){ x, x };
#endif
}
static inline vf64 vfma(vf64 a, vf64 b, vf64 c) {
#if RDN_VBYTES == 64
    return (vf64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif RDN_VBYTES == 32
    return (vf64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    for (int j = 0; j < LANES; j++)
        c[j] = __builtin_fma(a[j], b[j], c[j]);
    return c;
#endif
}

/* A number below 2^53 as a double. Two halves with their exponents in place, each exact; so is the sum. */
static inline vf64 vfloat53(vu64 m) {
#if RDN_VBYTES == 64
    return (vf64)_mm512_cvtepu64_pd((__m512i)m);
#else
    const vf64 top = (vf64)((m >> 32) | 0x4530000000000000u), low = (vf64)((m & 0xffffffffu) | 0x4330000000000000u);
    return (top - (0x1p84 + 0x1p52)) + low;
#endif
}

#if RDN_VBYTES == 32
/* For each choice of four lanes: the halves of the lanes chosen, in order; and back. */
#define PICK(a, b, c, d) { 2 * a, 2 * a + 1, 2 * b, 2 * b + 1, 2 * c, 2 * c + 1, 2 * d, 2 * d + 1 }
static const int32_t pack_order[16][8] = {
    PICK(0, 0, 0, 0), PICK(0, 0, 0, 0), PICK(1, 0, 0, 0), PICK(0, 1, 0, 0), PICK(2, 0, 0, 0), PICK(0, 2, 0, 0), PICK(1, 2, 0, 0), PICK(0, 1, 2, 0),
    PICK(3, 0, 0, 0), PICK(0, 3, 0, 0), PICK(1, 3, 0, 0), PICK(0, 1, 3, 0), PICK(2, 3, 0, 0), PICK(0, 2, 3, 0), PICK(1, 2, 3, 0), PICK(0, 1, 2, 3),
};
static const int32_t spread_order[16][8] = {
    PICK(0, 0, 0, 0), PICK(0, 0, 0, 0), PICK(0, 0, 0, 0), PICK(0, 1, 0, 0), PICK(0, 0, 0, 0), PICK(0, 0, 1, 0), PICK(0, 0, 1, 0), PICK(0, 1, 2, 0),
    PICK(0, 0, 0, 0), PICK(0, 0, 0, 1), PICK(0, 0, 0, 1), PICK(0, 1, 0, 2), PICK(0, 0, 0, 1), PICK(0, 0, 1, 2), PICK(0, 0, 1, 2), PICK(0, 1, 2, 3),
};
#undef PICK
#endif

/* Values of a outside the centre, as min(p, 1 - p) and packed; returns how many. Room for LANES more after the last. */
static inline uint32_t pack_tails(double *d, const double *a, uint32_t n) {
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i += LANES) {
#if RDN_VBYTES == 64
        __m512d p = _mm512_load_pd(a + i), q = p - 0.5;
        __mmask8 out = _mm512_cmp_pd_mask(q * q, _mm512_set1_pd(0.180625), _CMP_NLE_UQ);
        _mm512_storeu_pd(d + m, _mm512_maskz_compress_pd(out, _mm512_min_pd(p, 1.0 - p)));
        m += (uint32_t)__builtin_popcount(out);
#elif RDN_VBYTES == 32
        __m256d p = _mm256_load_pd(a + i), q = p - 0.5;
        unsigned out = (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(q * q, _mm256_set1_pd(0.180625), _CMP_NLE_UQ));
        __m256i order = _mm256_loadu_si256((const void *)pack_order[out]);
        _mm256_storeu_ps((float *)(d + m), _mm256_permutevar8x32_ps((__m256)_mm256_min_pd(p, 1.0 - p), order));
        m += (uint32_t)__builtin_popcount(out);
#else
        for (uint32_t j = i; j < i + LANES; j++) {
            double q = a[j] - 0.5;
            d[m] = a[j] < 0.5 ? a[j] : 1.0 - a[j];
            m += !(q * q <= 0.180625);
        }
#endif
    }
    return m;
}

/* The reverse: results t of the tails to their places in d, negative where a < 0.5. */
static inline void spread_tails(double *d, const double *a, const double *t, uint32_t n) {
    for (uint32_t i = 0; i < n; i += LANES) {
#if RDN_VBYTES == 64
        __m512d p = _mm512_load_pd(a + i), q = p - 0.5;
        __mmask8 out = _mm512_cmp_pd_mask(q * q, _mm512_set1_pd(0.180625), _CMP_NLE_UQ);
        __m512d v = _mm512_maskz_expand_pd(out, _mm512_loadu_pd(t));
        v = _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(v), _mm512_and_si512(_mm512_castpd_si512(q), _mm512_set1_epi64(INT64_MIN))));
        _mm512_mask_store_pd(d + i, out, v);
        t += __builtin_popcount(out);
#elif RDN_VBYTES == 32
        __m256d p = _mm256_load_pd(a + i), q = p - 0.5, where = _mm256_cmp_pd(q * q, _mm256_set1_pd(0.180625), _CMP_NLE_UQ);
        unsigned out = (unsigned)_mm256_movemask_pd(where);
        __m256 v = _mm256_permutevar8x32_ps(_mm256_loadu_ps((const float *)t), _mm256_loadu_si256((const void *)spread_order[out]));
        v = _mm256_xor_ps(v, _mm256_and_ps((__m256)q, (__m256)_mm256_set1_pd(-0.0)));
        _mm256_store_pd(d + i, _mm256_blendv_pd(_mm256_load_pd(d + i), (__m256d)v, where));
        t += __builtin_popcount(out);
#else
        for (uint32_t j = i; j < i + LANES; j++) {
            double q = a[j] - 0.5;
            if (!(q * q <= 0.180625)) {
                d[j] = q < 0.0 ? -*t : *t;
                t++;
            }
        }
#endif
    }
}
#endif
