/* SPDX-License-Identifier: Apache-2.0
 * hll.c: the sketches of hll.h. Four registers of six bits fill three bytes.
 *
 * The estimate adds 2^-register in index order. Where no register is above 44 every partial sum is exact in a double, so the
 * sum of integers gives the same bits in any order; other sketches take the slow road. */
#include "state/hll.h"

#define ALPHA ((0.7213 / (1.0 + 1.079 / 256.0)) * 65536.0)
enum { EXACT_TO = 44 };

/* The nearest integer to 256 ln(256 / v) for v zero registers: a table, so that no logarithm decides about a rounding. */
static const int16_t linear_count[RDN_HLL_REGS + 1] = {
    0, 1420, 1242, 1138, 1065, 1008, 961, 921, 887, 857, 830, 806, 783, 763, 744, 726,
    710, 694, 680, 666, 653, 640, 628, 617, 606, 596, 585, 576, 567, 558, 549, 540,
    532, 524, 517, 509, 502, 495, 488, 482, 475, 469, 463, 457, 451, 445, 439, 434,
    429, 423, 418, 413, 408, 403, 398, 394, 389, 385, 380, 376, 371, 367, 363, 359,
    355, 351, 347, 343, 339, 336, 332, 328, 325, 321, 318, 314, 311, 308, 304, 301,
    298, 295, 291, 288, 285, 282, 279, 276, 273, 270, 268, 265, 262, 259, 256, 254,
    251, 248, 246, 243, 241, 238, 236, 233, 231, 228, 226, 223, 221, 219, 216, 214,
    212, 209, 207, 205, 203, 200, 198, 196, 194, 192, 190, 188, 186, 184, 181, 179,
    177, 175, 173, 172, 170, 168, 166, 164, 162, 160, 158, 156, 155, 153, 151, 149,
    147, 146, 144, 142, 140, 139, 137, 135, 133, 132, 130, 128, 127, 125, 124, 122,
    120, 119, 117, 116, 114, 112, 111, 109, 108, 106, 105, 103, 102, 100, 99, 97,
    96, 94, 93, 92, 90, 89, 87, 86, 85, 83, 82, 80, 79, 78, 76, 75,
    74, 72, 71, 70, 68, 67, 66, 64, 63, 62, 61, 59, 58, 57, 56, 54,
    53, 52, 51, 49, 48, 47, 46, 45, 43, 42, 41, 40, 39, 38, 36, 35,
    34, 33, 32, 31, 30, 29, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
    17, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1,
    0,
};

static inline uint32_t group(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16; }

bool rdn_hll_put(uint8_t *sketch, uint64_t hash) {
    uint32_t i = (uint32_t)(hash >> 56);
    uint64_t rest = hash << 8;
    uint32_t rank = rest ? 1 + (uint32_t)__builtin_clzll(rest) : 57;
    uint8_t *p = sketch + i / 4 * 3;
    uint32_t g = group(p), shift = i % 4 * 6;
    if ((g >> shift & 63) >= rank)
        return false;
    g = (g & ~(63u << shift)) | rank << shift;
    p[0] = (uint8_t)g;
    p[1] = (uint8_t)(g >> 8);
    p[2] = (uint8_t)(g >> 16);
    return true;
}

void rdn_hll_max(uint8_t regs[RDN_HLL_REGS], const uint8_t *sketch) {
    for (uint32_t i = 0; i < RDN_HLL_REGS; i += 4, sketch += 3) {
        uint32_t g = group(sketch);
        for (uint32_t j = 0; j < 4; j++) {
            uint8_t r = g >> 6 * j & 63;
            regs[i + j] = regs[i + j] > r ? regs[i + j] : r;
        }
    }
}

/* 2^-r for r <= 63, by its bits. */
static inline double half_power(uint32_t r) {
    union { uint64_t bits; double f; } u = { (uint64_t)(1023 - r) << 52 };
    return u.f;
}

static double inverse_sum(const uint8_t *regs, uint32_t *ret_zeros) {
    uint64_t s = 0;
    uint32_t zeros = 0;
    uint8_t top = 0;
    for (uint32_t i = 0; i < RDN_HLL_REGS; i++) {
        uint8_t r = regs[i];
        zeros += r == 0;
        top = top > r ? top : r;
        s += 1ull << (r > EXACT_TO ? 0 : EXACT_TO - r);
    }
    *ret_zeros = zeros;
    if (top <= EXACT_TO)
        return (double)s * half_power(EXACT_TO);
    double z = 0.0;
    for (uint32_t i = 0; i < RDN_HLL_REGS; i++)
        z += half_power(regs[i]);
    return z;
}

int64_t rdn_hll_estimate(const uint8_t regs[RDN_HLL_REGS]) {
    uint32_t zeros;
    double e = ALPHA / inverse_sum(regs, &zeros);
    if (e <= 640.0 && zeros)
        return linear_count[zeros];
    e = e + 0.5;
    return e < 0x1p63 ? (int64_t)e : INT64_MAX;          /* e > 0: truncation is floor */
}
