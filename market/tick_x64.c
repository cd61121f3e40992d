/* SPDX-License-Identifier: Apache-2.0
 * tick_x64.c: blocks of wire ticks eight (AVX-512) or four (AVX2) at a time (tick_block.h). Rows of three words become columns by permutations.
 * A group in which anything is wrong, crossed or absent (AVX-512) is left to the plain code, which names the fault. */
#include "market/tick_block.h"

#ifdef __x86_64__
#include <immintrin.h>

#define ROUND 0x1.8p52
#define MOST 0x1p50
#define AHEAD 16384                      /* bytes; a hint, which may point anywhere. Into the second cache: the first holds what is being written */
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#define AVX2 __attribute__((target("avx2")))

/* What each lane of `c` says where `m` has a bit, else `b` or `a`. */
AVX512 static inline __m512i lanes(__m512i a, __m512i b, __mmask8 mb, __m512i c, __mmask8 mc) {
    return _mm512_mask_blend_epi64(mc, _mm512_mask_blend_epi64(mb, a, b), c);
}

AVX512 size_t rdn_tick_avx512(double per, const char *in, size_t n, int64_t *ts, int64_t *bid, int64_t *ask, uint8_t *faults) {
    /* a: t0 b0 a0 t1 b1 a1 t2 b2   b: a2 t3 b3 a3 t4 b4 a4 t5   c: b5 a5 t6 b6 a6 t7 b7 a7: a lane holds each column once */
    const __m512i ts_at = _mm512_setr_epi64(0, 3, 6, 1, 4, 7, 2, 5), bid_at = _mm512_setr_epi64(1, 4, 7, 2, 5, 0, 3, 6);
    const __m512i ask_at = _mm512_setr_epi64(2, 5, 0, 3, 6, 1, 4, 7);
    const __m512d per8 = _mm512_set1_pd(per), most_off = _mm512_set1_pd(0.001);
    const __m512i one = _mm512_set1_epi64(1), most = _mm512_set1_epi64((int64_t)MOST - 1);
    size_t i = 0, bad = 0;
    for (; i + 8 <= n; i += 8) {
        const char *p = in + 24 * i;
        for (unsigned line = 0; line < 192; line += 64)
            _mm_prefetch(p + AHEAD + line, _MM_HINT_T1);
        __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64), c = _mm512_loadu_si512(p + 128);
        __asm__("" : "+v"(a), "+v"(b), "+v"(c));         /* three loads: a compiler would rather load again for each merge */
        __m512i t = _mm512_permutexvar_epi64(ts_at, lanes(a, b, 0x92, c, 0x24));
        __m512d x = _mm512_castsi512_pd(_mm512_permutexvar_epi64(bid_at, lanes(a, b, 0x24, c, 0x49)));
        __m512d y = _mm512_castsi512_pd(_mm512_permutexvar_epi64(ask_at, lanes(a, b, 0x49, c, 0x92)));
        /* In range exactly if 1 <= bid <= ask <= most: what is NaN, negative or too large converts to a number that breaks the chain. */
        __m512d q = _mm512_mul_pd(x, per8), r = _mm512_mul_pd(y, per8);
        __m512i bids = _mm512_cvtpd_epi64(q), asks = _mm512_cvtpd_epi64(r);
        __m512d off = _mm512_range_pd(_mm512_reduce_pd(q, 8), _mm512_reduce_pd(r, 8), 11);
        __mmask8 good = _mm512_cmp_pd_mask(off, most_off, _CMP_LE_OQ);
        good = _mm512_mask_cmple_epi64_mask(good, one, bids);
        good = _mm512_mask_cmple_epi64_mask(good, bids, asks);
        good = _mm512_mask_cmple_epi64_mask(good, asks, most);
        if (__builtin_expect(good != 0xff, 0)) {
            bad += rdn_tick_plain(per, p, 8, ts + i, bid + i, ask + i, faults + i);
            continue;
        }
        _mm512_storeu_si512(ts + i, t);
        _mm512_storeu_si512(bid + i, bids);
        _mm512_storeu_si512(ask + i, asks);
        memset(faults + i, 0, 8);
    }
    return i == n ? bad : bad + rdn_tick_plain(per, in + 24 * i, n - i, ts + i, bid + i, ask + i, faults + i);
}

AVX2 static inline __m256i ticks4(__m256d px, __m256d per, __m256d *good) {
    __m256d round = _mm256_set1_pd(ROUND), q = _mm256_mul_pd(px, per), near = _mm256_add_pd(q, round);
    __m256i whole = _mm256_sub_epi64(_mm256_castpd_si256(near), _mm256_castpd_si256(round)), none = _mm256_setzero_si256();
    __m256d off = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(q, _mm256_sub_pd(near, round)));
    __m256d on = _mm256_cmp_pd(off, _mm256_set1_pd(0.001), _CMP_LE_OQ);
    __m256d number = _mm256_and_pd(_mm256_cmp_pd(px, _mm256_setzero_pd(), _CMP_GT_OQ), _mm256_cmp_pd(q, _mm256_set1_pd(MOST), _CMP_LT_OQ));
    __m256d absent = _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_castpd_si256(px), none));
    number = _mm256_andnot_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(whole, none)), number);
    *good = _mm256_and_pd(on, _mm256_or_pd(number, absent));
    return whole;
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
