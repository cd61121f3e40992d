/* SPDX-License-Identifier: Apache-2.0
 * ticks.h: the clocks of the benchmarks. Ticks are the time-stamp counter's, or nanoseconds where there is none. */
#ifndef RDN_BENCH_TICKS_H
#define RDN_BENCH_TICKS_H
#include <stdint.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
/* Waits for what runs before it. */
static inline uint64_t ticks(void) {
#ifdef __x86_64__
    unsigned aux;
    return __rdtscp(&aux);
#else
    return (uint64_t)now_ns();
#endif
}
static inline double ticks_per_ns(void) {
    int64_t a = now_ns();
    uint64_t x = ticks();
    while (now_ns() - a < 20000000)
        ;
    return (double)(ticks() - x) / (double)(now_ns() - a);
}
#endif
