/* SPDX-License-Identifier: Apache-2.0
 * ticks.h: the clocks of the benchmarks. Ticks are the time-stamp counter's. */
#ifndef RDN_BENCH_TICKS_H
#define RDN_BENCH_TICKS_H
#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline double ticks_per_ns(void) {
    int64_t a = now_ns();
    uint64_t x = __rdtsc();
    while (now_ns() - a < 20000000)
        ;
    return (double)(__rdtsc() - x) / (double)(now_ns() - a);
}
#endif
