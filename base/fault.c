/* SPDX-License-Identifier: Apache-2.0
 * fault.c: the countdown behind fault.h. */
#include "base/fault.h"

#include <stdatomic.h>

static _Atomic uint64_t target, seen;

void rdn_fault_arm(uint64_t nth) {
    atomic_store_explicit(&seen, 0, memory_order_relaxed);
    atomic_store_explicit(&target, nth, memory_order_relaxed);
}

bool rdn_fault_hit(void) {
    uint64_t nth = atomic_load_explicit(&target, memory_order_relaxed);
    if (nth == 0)
        return false;
    return atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed) + 1 == nth;
}

uint64_t rdn_fault_seen(void) { return atomic_load_explicit(&seen, memory_order_relaxed); }
