/* SPDX-License-Identifier: Apache-2.0
 * tick_x64.c: blocks of wire ticks eight (AVX-512) or four (AVX2) at a time (tick_block.h). Rows of three words become columns by permutations.
 * A group in which anything is wrong, crossed or absent (AVX-512) is left to the plain code, which names the fault. */
#include "market/tick_block.h"

#ifdef __x86_64__
#include <immintrin.h>

#define ROUND 0x1.8p52
#define MOST 0x1p50
#define AHEAD 3072                       /* bytes; a hint, which may point anywhere */
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#define AVX2 __attribute__((target("avx2")))

/* Ticks of eight prices; the mask loses those that are absent, no price or between two ticks. */
AVX512 static inline __m512i ticks8(__m512d px, __m512d per, __mmask8 *good) {
    __m512d round = _mm512_set1_pd(ROUND), q = _mm512_mul_pd(px, per), near = _mm512_add_pd(q, round);
    __m512d off = _mm512_abs_pd(_mm512_sub_pd(q, _mm512_sub_pd(near, round)));
    *good = _mm512_mask_cmp_pd_mask(*good, px, _mm512_setzero_pd(), _CMP_GT_OQ);
    *good = _mm512_mask_cmp_pd_mask(*good, q, _mm512_set1_pd(MOST), _CMP_LT_OQ);
    *good = _mm512_mask_cmp_pd_mask(*good, off, _mm512_set1_pd(0.001), _CMP_LE_OQ);
    return _mm512_sub_epi64(_mm512_castpd_si512(near), _mm512_castpd_si512(round));
}

AVX512 size_t rdn_tick_avx512(double per, const char *in, size_t n, int64_t *ts, int64_t *bid, int64_t *ask, uint8_t *faults) {
    const __m512i ts_lo = _mm512_setr_epi64(0, 3, 6, 9, 12, 15, 0, 0), ts_hi = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 8 + 2, 8 + 5);
    const __m512i bid_lo = _mm512_setr_epi64(1, 4, 7, 10, 13, 0, 0, 0), bid_hi = _mm512_setr_epi64(0, 1, 2, 3, 4, 8 + 0, 8 + 3, 8 + 6);
    const __m512i ask_lo = _mm512_setr_epi64(2, 5, 8, 11, 14, 0, 0, 0), ask_hi = _mm512_setr_epi64(0, 1, 2, 3, 4, 8 + 1, 8 + 4, 8 + 7);
    __m512d per8 = _mm512_set1_pd(per);
    size_t i = 0, bad = 0;
    for (; i + 8 <= n; i += 8) {
        const char *p = in + 24 * i;
        for (unsigned line = 0; line < 192; line += 64)
            _mm_prefetch(p + AHEAD + line, _MM_HINT_T0);
        __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64), c = _mm512_loadu_si512(p + 128);
        __m512i t = _mm512_permutex2var_epi64(_mm512_permutex2var_epi64(a, ts_lo, b), ts_hi, c);
        __m512i x = _mm512_permutex2var_epi64(_mm512_permutex2var_epi64(a, bid_lo, b), bid_hi, c);
        __m512i y = _mm512_permutex2var_epi64(_mm512_permutex2var_epi64(a, ask_lo, b), ask_hi, c);
        __mmask8 good = 0xff;
        __m512i bids = ticks8(_mm512_castsi512_pd(x), per8, &good), asks = ticks8(_mm512_castsi512_pd(y), per8, &good);
        good = _mm512_mask_cmple_epi64_mask(good, bids, asks);
        if (__builtin_expect(good != 0xff, 0)) {
            bad += rdn_tick_plain(per, p, 8, ts + i, bid + i, ask + i, faults + i);
            continue;
        }
        _mm512_storeu_si512(ts + i, t);
        _mm512_storeu_si512(bid + i, bids);
        _mm512_storeu_si512(ask + i, asks);
        memset(faults + i, 0, 8);
    }
    return bad + rdn_tick_plain(per, in + 24 * i, n - i, ts + i, bid + i, ask + i, faults + i);
}

AVX2 static inline __m256i ticks4(__m256d px, __m256d per, __m256d *good) {
    __m256d round = _mm256_set1_pd(ROUND), q = _mm256_mul_pd(px, per), near = _mm256_add_pd(q, round);
    __m256d off = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(q, _mm256_sub_pd(near, round)));
    __m256d on = _mm256_cmp_pd(off, _mm256_set1_pd(0.001), _CMP_LE_OQ);
    __m256d number = _mm256_and_pd(_mm256_cmp_pd(px, _mm256_setzero_pd(), _CMP_GT_OQ), _mm256_cmp_pd(q, _mm256_set1_pd(MOST), _CMP_LT_OQ));
    __m256d absent = _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_castpd_si256(px), _mm256_setzero_si256()));
    *good = _mm256_and_pd(on, _mm256_or_pd(number, absent));
    return _mm256_sub_epi64(_mm256_castpd_si256(near), _mm256_castpd_si256(round));
}

AVX2 size_t rdn_tick_avx2(double per, const char *in, size_t n, int64_t *ts, int64_t *bid, int64_t *ask, uint8_t *faults) {
    __m256d per4 = _mm256_set1_pd(per);
    size_t i = 0, bad = 0;
    for (; i + 4 <= n; i += 4) {
        const char *p = in + 24 * i;
        /* a: t0 b0 a0 t1   b: b1 a1 t2 b2   c: a2 t3 b3 a3 */
        __m256i a = _mm256_loadu_si256((const void *)p), b = _mm256_loadu_si256((const void *)(p + 32)), c = _mm256_loadu_si256((const void *)(p + 64));
        __m256i t = _mm256_permute4x64_epi64(_mm256_blend_epi32(_mm256_blend_epi32(a, b, 0x30), c, 0x0c), _MM_SHUFFLE(1, 2, 3, 0));
        __m256i x = _mm256_permute4x64_epi64(_mm256_blend_epi32(_mm256_blend_epi32(b, a, 0x0c), c, 0x30), _MM_SHUFFLE(2, 3, 0, 1));
        __m256i y = _mm256_permute4x64_epi64(_mm256_blend_epi32(_mm256_blend_epi32(c, a, 0x30), b, 0x0c), _MM_SHUFFLE(3, 0, 1, 2));
        __m256d good[2];
        __m256i bids = ticks4(_mm256_castsi256_pd(x), per4, &good[0]), asks = ticks4(_mm256_castsi256_pd(y), per4, &good[1]);
        __m256i over = _mm256_cmpgt_epi64(bids, asks), none = _mm256_cmpeq_epi64(asks, _mm256_setzero_si256());
        int crossed = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_andnot_si256(none, over)));
        if (__builtin_expect((_mm256_movemask_pd(_mm256_and_pd(good[0], good[1])) & ~crossed) != 15, 0)) {
            bad += rdn_tick_plain(per, p, 4, ts + i, bid + i, ask + i, faults + i);
            continue;
        }
        _mm256_storeu_si256((void *)(ts + i), t);
        _mm256_storeu_si256((void *)(bid + i), bids);
        _mm256_storeu_si256((void *)(ask + i), asks);
        memset(faults + i, 0, 4);
    }
    return bad + rdn_tick_plain(per, in + 24 * i, n - i, ts + i, bid + i, ask + i, faults + i);
}

rdn_tick_block *rdn_tick_best(void) {
    return !rdn_cpu_lacks(RDN_CPU_AVX512) ? rdn_tick_avx512 : !rdn_cpu_lacks(RDN_CPU_AVX2) ? rdn_tick_avx2 : rdn_tick_plain;
}
#else
rdn_tick_block *rdn_tick_best(void) { return rdn_tick_plain; }
#endif
