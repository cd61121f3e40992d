/* SPDX-License-Identifier: Apache-2.0
 * crc.c: see crc.h. Sixty-four bytes at a time are folded into the next sixty-four: their remainder by the polynomial, shifted as far as these are long,
 * is added to them, so that the whole has the checksum of its last sixteen bytes. (Gopal and others, "Fast CRC Computation for Generic Polynomials
 * Using PCLMULQDQ", Intel 2009; the constants are x to the powers of the distances, bits reversed.) */
#include "market/crc.h"

#include <zlib.h>

#include "base/cpu.h"

static uint32_t plain(uint32_t crc, const unsigned char *p, size_t n) { return (uint32_t)crc32(crc, p, (uInt)n); }

#ifdef __x86_64__
#include <immintrin.h>
#define CLMUL __attribute__((target("pclmul")))
enum { LANE = 16, LANES = 4 };

CLMUL static inline __m128i fold(__m128i sum, __m128i by, __m128i next) {
    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(sum, by, 0x00), _mm_clmulepi64_si128(sum, by, 0x11)), next);
}

/* n is at least 64. */
CLMUL static uint32_t folded(const unsigned char *p, size_t n) {
    const __m128i by64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4), by16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i *in = (const __m128i *)(const void *)p;
    __m128i sum[LANES];
    for (unsigned i = 0; i < LANES; i++)
        sum[i] = _mm_loadu_si128(in++);
    sum[0] = _mm_xor_si128(sum[0], _mm_cvtsi32_si128(-1));
    for (n -= LANE * LANES; n >= LANE * LANES; n -= LANE * LANES)
        for (unsigned i = 0; i < LANES; i++)
            sum[i] = fold(sum[i], by64, _mm_loadu_si128(in++));
    for (unsigned i = 1; i < LANES; i++)
        sum[0] = fold(sum[0], by16, sum[i]);
    for (; n >= LANE; n -= LANE)
        sum[0] = fold(sum[0], by16, _mm_loadu_si128(in++));
    unsigned char last[LANE];
    _mm_storeu_si128((__m128i *)(void *)last, sum[0]);
    uint32_t crc = plain(UINT32_MAX, last, LANE);        /* of these alone: zlib begins with the complement */
    return plain(crc, (const unsigned char *)in, n);
}
#endif

uint32_t rdn_crc32(const void *bytes, size_t n) {
#ifdef __x86_64__
    if (n >= LANE * LANES && !rdn_cpu_lacks(RDN_CPU_CLMUL))
        return folded(bytes, n);
#endif
    return plain(0, bytes, n);
}
