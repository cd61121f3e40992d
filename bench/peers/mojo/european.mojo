# SPDX-License-Identifier: Apache-2.0
# The European call of bench/kernel.rdn in Mojo 1.2: vectors of the machine's width, xorshift and Box-Muller as its library has no
# normal numbers by counter. Prints the best of its repetitions.
from std.time import perf_counter_ns
from std.math import exp, sqrt, log, cos
from std.sys import simd_width_of
comptime W = simd_width_of[DType.float64]()

def main():
    var n = 1 << 20
    var s = SIMD[DType.uint64, W](88172645463325252)
    for i in range(W):
        s[i] = 88172645463325252 * UInt64(2 * i + 1) + UInt64(i)
    var S0: Float64 = 100.0
    var K: Float64 = 105.0
    var r: Float64 = 0.03
    var v: Float64 = 0.2
    var T: Float64 = 1.0
    var drift = (r - 0.5 * v * v) * T
    var vol = v * sqrt(T)
    var best: Float64 = 1e30
    var value: Float64 = 0
    for _ in range(7):
        var acc = SIMD[DType.float64, W](0)
        var t0 = perf_counter_ns()
        for _ in range(n // W):
            s ^= s << 13
            s ^= s >> 7
            s ^= s << 17
            var u1 = ((s >> 12).cast[DType.float64]() + 0.5) / 4503599627370496.0
            s ^= s << 13
            s ^= s >> 7
            s ^= s << 17
            var u2 = ((s >> 12).cast[DType.float64]()) / 4503599627370496.0
            var z = sqrt(-2.0 * log(u1)) * cos(6.283185307179586 * u2)
            var ST = S0 * exp(drift + vol * z)
            acc += max(ST - K, SIMD[DType.float64, W](0))
        var t1 = perf_counter_ns()
        best = min(best, Float64(t1 - t0))
        value = acc.reduce_add() / Float64(n)
    print(best / Float64(n), value)
