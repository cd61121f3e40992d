/* SPDX-License-Identifier: Apache-2.0
 * clock.c: reads the vDSO clocks; the fake is one relaxed load in front. */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int64_t fake_ns = -1;

static int64_t read_ns(clockid_t id) {
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t rdn_mono_ns(void) {
    int64_t f = atomic_load_explicit(&fake_ns, memory_order_relaxed);
    return f >= 0 ? f : read_ns(CLOCK_MONOTONIC);
}

int64_t rdn_real_ns(void) { return read_ns(CLOCK_REALTIME); }

void rdn_clock_fake(int64_t mono_ns) { atomic_store_explicit(&fake_ns, mono_ns, memory_order_relaxed); }
