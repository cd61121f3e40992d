# SPDX-License-Identifier: Apache-2.0
"""Market data in Python's libraries: market_peer.py struct|numpy|pandas|numba [N], hftbacktest FILE. Prints {"ns": a tick or event, "form": how}.

Ticks are a million of 24 bytes, best of several passes: the sum and count of spreads above zero, as bench/peers/mojo/tick.mojo has them; numba also
rounds and checks as Redan does. hftbacktest goes through an array that was made of a capture, to its end, with its hash-map depth."""
import json
import struct
import sys
import time


def ticks(n):
    import numpy as np
    t = np.zeros(n, [('ts', '<u8'), ('bid', '<f8'), ('ask', '<f8')])
    rng = np.random.default_rng(1)
    t['ts'], t['bid'] = np.arange(1, n + 1), rng.integers(9900, 10100, n) * 0.01
    t['ask'] = t['bid'] + 0.01 * rng.integers(0, 8, n)
    return t


def by_struct(t):
    total = 0.0
    for ts, bid, ask in struct.iter_unpack('<Qdd', memoryview(t).cast('B')):
        if ask > bid and ts > 0:
            total += ask - bid
    return total


def by_numpy(t):
    bid, ask = t['bid'], t['ask']
    keep = (ask > bid) & (t['ts'] > 0)
    return float((ask - bid)[keep].sum())


def by_pandas(t):
    import pandas as pd
    f = pd.DataFrame(t)
    return float(sum(r.ask - r.bid for r in f.itertuples(index=False) if r.ask > r.bid and r.ts > 0))


def numba_loop():
    import numba
    import numpy as np

    @numba.njit
    def walk(raw, per, bid, ask, faults):
        total = 0
        for i in range(len(raw)):
            b, a = raw[i].bid * per, raw[i].ask * per
            nb, na = np.rint(b), np.rint(a)
            bad = not (raw[i].bid > 0 and raw[i].ask > 0 and abs(b - nb) <= 0.001 and abs(a - na) <= 0.001 and b < 2.0**50 and a < 2.0**50)
            bid[i % 1024], ask[i % 1024], faults[i % 1024] = np.int64(nb), np.int64(na), bad
            if not bad:
                total += ask[i % 1024] - bid[i % 1024]
        return total
    bid, ask, faults = np.zeros(1024, np.int64), np.zeros(1024, np.int64), np.zeros(1024, np.uint8)
    return lambda t: walk(t, 100.0, bid, ask, faults)


def best(f, t, times):
    f(t)
    found = []
    for _ in range(times):
        at = time.perf_counter_ns()
        f(t)
        found.append(time.perf_counter_ns() - at)
    return min(found) / len(t)


def hftbacktest(path):
    import hftbacktest as hb
    import numba
    import numpy as np
    data = np.load(path)

    @numba.njit
    def run(hbt):
        return hbt.elapse(1 << 60)
    found = []
    for _ in range(4):
        asset = (hb.BacktestAsset().data(data).linear_asset(1.0).constant_order_latency(0, 0).risk_adverse_queue_model().no_partial_fill_exchange()
                 .trading_value_fee_model(0, 0).tick_size(0.1).lot_size(0.001))
        hbt = hb.HashMapMarketDepthBacktest([asset])
        at = time.perf_counter_ns()
        run(hbt)
        found.append((time.perf_counter_ns() - at) / len(data))
        hbt.close()
    return min(found[1:])


def main():
    kind = sys.argv[1]
    if kind == 'hftbacktest':
        print(json.dumps({'ns': hftbacktest(sys.argv[2]), 'form': 'hash-map depth'}))
        return
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
    f, times, form = {'struct': (lambda: by_struct, 2, 'iter_unpack'), 'numpy': (lambda: by_numpy, 8, 'columns, unchecked'), 'pandas': (lambda: by_pandas, 1, 'itertuples'),
                      'numba': (numba_loop, 20, 'a loop, checked')}[kind]
    print(json.dumps({'ns': best(f(), ticks(n), times), 'form': form}))


if __name__ == '__main__':
    main()
