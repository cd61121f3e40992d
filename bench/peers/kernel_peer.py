#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The European call of bench/kernel.rdn in Python systems: a player of bench/duel.py, run by the Python of the peer's environment.

  kernel_peer.py numba

Random numbers are the system's own: the answer is the same up to the error of the method. Where there are several forms, the
fastest of a first try is played."""
import json
import math
import sys
import time

PATHS, SLICES = 1 << 20, 4
S0, STRIKE, RATE, VOL, YEARS = 100.0, 105.0, 0.03, 0.2, 1.0


def numba():
    import numba as nb
    import numpy as np

    @nb.njit(fastmath=True)
    def path_by_path(n):
        drift, root, total = (RATE - 0.5 * VOL * VOL) * YEARS, VOL * math.sqrt(YEARS), 0.0
        for _ in range(n):
            total += max(S0 * math.exp(drift + root * np.random.standard_normal()) - STRIKE, 0.0)
        return total / n

    @nb.njit(fastmath=True)
    def by_arrays(n):
        drift, root, total = (RATE - 0.5 * VOL * VOL) * YEARS, VOL * math.sqrt(YEARS), 0.0
        z = np.random.standard_normal(n)
        for i in range(n):
            total += max(S0 * math.exp(drift + root * z[i]) - STRIKE, 0.0)
        return total / n

    @nb.njit(fastmath=True)
    def box_muller(n):
        """xorshift and Box-Muller in eight streams, as the Mojo program: what a loop over lanes can be made of."""
        drift, root = (RATE - 0.5 * VOL * VOL) * YEARS, VOL * math.sqrt(YEARS)
        s, total = np.empty(8, np.uint64), np.zeros(8)
        for j in range(8):
            s[j] = np.uint64(88172645463325252) * np.uint64(2 * j + 1) + np.uint64(j)
        for _ in range(n // 8):
            for j in range(8):
                x = s[j]
                x ^= x << np.uint64(13)
                x ^= x >> np.uint64(7)
                x ^= x << np.uint64(17)
                u = (float(x >> np.uint64(12)) + 0.5) / 4503599627370496.0
                x ^= x << np.uint64(13)
                x ^= x >> np.uint64(7)
                x ^= x << np.uint64(17)
                w = float(x >> np.uint64(12)) / 4503599627370496.0
                s[j] = x
                z = math.sqrt(-2.0 * math.log(u)) * math.cos(6.283185307179586 * w)
                total[j] += max(S0 * math.exp(drift + root * z) - STRIKE, 0.0)
        return total.sum() / (n // 8 * 8)
    yield from ((f.__name__.replace('_', ' '), f) for f in (path_by_path, by_arrays, box_muller))


def ns(f):
    from_ns = time.perf_counter_ns()
    f(PATHS)
    return (time.perf_counter_ns() - from_ns) / PATHS


def main():
    forms = []
    for name, f in {'numba': numba}[sys.argv[1]]():
        f(64)                                            # compiles
        forms.append((min(ns(f) for _ in range(2)), name, f))
    _, name, f = min(forms, key=lambda x: x[0])
    print(json.dumps({'form': name, 'value': f(PATHS)}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({'ns': min(ns(f) for _ in range(SLICES))}), flush=True)


if __name__ == '__main__':
    main()
