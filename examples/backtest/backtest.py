#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One strategy, written three times, through two backtest frameworks, over one market file: README.md.

  backtest.py [FILE --tick 0.01] [--date DAY --tz ZONE] [--seed FILE] [--c PROGRAM]

Without a file it makes one. --c: crossing.c, built. Exit status 1 when two of them disagree."""
import argparse
import datetime
import pathlib
import random
import subprocess
import sys
import tempfile
import zoneinfo
from typing import NamedTuple

import numpy as np

import redan
import redan.market
from redan.adapters.backtrader import rows

HERE = pathlib.Path(__file__).resolve().parent
FAST, SLOW, WARM, LOT = 50, 200, 200, 100


class Ticks(NamedTuple):
    """A row for each change of the best prices."""
    ts: np.ndarray
    bid: np.ndarray
    ask: np.ndarray


# ---- the strategy, in Python ----
class Crossing:
    """Two averages of the middle: "BUY" or "SELL" when the fast one crosses the slow one."""

    def __init__(self):
        self.n, self.fast, self.slow = 0, 0.0, 0.0

    def step(self, mid):
        fast, slow = self.fast, self.slow
        self.fast = fast + 2.0 / (FAST + 1.0) * (mid - fast) if self.n else mid
        self.slow = slow + 2.0 / (SLOW + 1.0) * (mid - slow) if self.n else mid
        self.n += 1
        if self.n <= WARM:
            return None
        return "BUY" if fast <= slow and self.fast > self.slow else "SELL" if fast >= slow and self.fast < self.slow else None


# ---- signals: [(row, "BUY" or "SELL")] ----
def by_python(ticks):
    c = Crossing()
    said = ((i, c.step((bid + ask) / 2.0)) for i, (bid, ask) in enumerate(zip(ticks.bid.tolist(), ticks.ask.tolist())))
    return [(i, s) for i, s in said if s]


def by_rules(ticks):
    engine = redan.Engine.from_file(HERE / "crossing.rdn")
    codes = engine.judge_many("Tick", {"ts": ticks.ts, "symbol": ["A"] * len(ticks.ts), "bid": ticks.bid, "ask": ticks.ask}).codes
    return sorted([(int(i), s) for s in ("BUY", "SELL") if s in codes.counts() for i in np.flatnonzero(codes.rows(s))])


def by_c(program, a, midnight):
    """Its lines: time and signal."""
    more = [str(midnight), a.seed][: 2 if a.seed else 1]
    said = subprocess.run([program, a.file, a.tick, *more], check=True, capture_output=True, text=True).stdout
    return [(int(t), s) for t, s in (line.split() for line in said.splitlines())]


# ---- what trading on them earns: long LOT pieces from a BUY to the next SELL ----
def trades(signals):
    """Those that change the position."""
    held = False
    for i, s in signals:
        if (s == "BUY") != held:
            held = not held
            yield i, s


def earned(signals, buy, sell):
    """Cash, and what is held at the end at the last price."""
    cash, held = 0.0, 0
    for i, s in trades(signals):
        cash, held = (cash - LOT * buy[i], LOT) if s == "BUY" else (cash + LOT * sell[i], 0)
    return cash + held * (buy[-1] + sell[-1]) / 2.0


def in_backtrader(feed):
    """The strategy itself, fed by RedanData: (signals, earned). Orders are done at the middle of the same row."""
    import backtrader as bt

    from redan.adapters.backtrader import RedanData
    signals = []

    class TwoAverages(bt.Strategy):
        def __init__(self):
            self.crossing = Crossing()

        def next(self):
            said = self.crossing.step(self.data.close[0])
            if said:
                signals.append((len(self.data) - 1, said))
                if (said == "BUY") != bool(self.position.size):
                    (self.buy if said == "BUY" else self.sell)(size=LOT)
    cerebro = bt.Cerebro(stdstats=False, runonce=False)
    cerebro.broker.set_cash(1e9)
    cerebro.broker.set_coc(True)
    cerebro.adddata(RedanData(dataname=feed))
    cerebro.addstrategy(TwoAverages)
    cerebro.run()
    return signals, cerebro.broker.getvalue() - 1e9


def in_hftbacktest(feed, ticks, signals, tick):
    """Market orders at the signals' times: (rows whose best prices are not ours, earned). Rows of one time arrive together, so the last counts."""
    import hftbacktest as hb
    import numba

    from redan.adapters.hftbacktest import to_array

    @numba.njit
    def walk(hbt, at, buys, size, bid, ask):
        hbt.elapse(1)                                    # to the first event: before it there is no time
        for k in range(len(at)):
            hbt.elapse(at[k] - hbt.current_timestamp)
            bid[k], ask[k] = hbt.depth(0).best_bid, hbt.depth(0).best_ask
            if buys[k]:
                hbt.submit_buy_order(0, k, ask[k], size, hb.GTC, hb.MARKET, True)
            else:
                hbt.submit_sell_order(0, k, bid[k], size, hb.GTC, hb.MARKET, True)
        state = hbt.state_values(0)
        return state.balance, state.position
    done = list(trades(signals))
    at = ticks.ts[[i for i, _ in done]] if done else np.zeros(0, np.int64)
    last = np.searchsorted(ticks.ts, at, side="right") - 1
    data = to_array(feed, trades=False)                  # hftbacktest reads it in place: it has to stay
    asset = (hb.BacktestAsset().data(data).linear_asset(1.0).constant_order_latency(0, 0).risk_adverse_queue_model()
             .no_partial_fill_exchange().trading_value_fee_model(0, 0).tick_size(float(tick)).lot_size(1.0))
    bid, ask = np.zeros(len(at)), np.zeros(len(at))
    balance, position = walk(hb.HashMapMarketDepthBacktest([asset]), at, np.array([s == "BUY" for _, s in done]), float(LOT), bid, ask)
    half = float(tick) / 2
    wrong = int(((abs(bid - ticks.bid[last]) > half) | (abs(ask - ticks.ask[last]) > half)).sum())
    return wrong, balance + position * (ticks.bid[-1] + ticks.ask[-1]) / 2.0, [(int(j), s) for j, (_, s) in zip(last, done)]


# ---- the table ----
def made(path, n=20_000):
    rng, mid, ts, lines = random.Random(1), 10_000, 1_772_550_000_000_000_000, ["ts,bid,ask"]
    for _ in range(n):
        mid += rng.choice((-2, -1, -1, 0, 1, 1, 2))
        ts += rng.randrange(1_000_000, 900_000_000)
        lines.append(f"{ts},{(mid - 1) / 100:.2f},{(mid + rng.choice((1, 2))) / 100:.2f}")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def row(what, n, same, money="", where=""):
    print(f"{what:<34}{n:>7,}   {'yes' if same else 'NO':<6}{money:>12}   {where}".rstrip())
    return same


def midnight(a):
    day = datetime.date.fromisoformat(a.date) if a.date else datetime.date(1970, 1, 1)
    return int(datetime.datetime(day.year, day.month, day.day, tzinfo=zoneinfo.ZoneInfo(a.tz or "UTC")).timestamp()) * 10**9


def framework(what, run):
    """Its answer; None and a line in the table when it is not installed."""
    try:
        return run()
    except ImportError as e:
        print(f"{what:<34}{'-':>7}   {e.name} is not installed: pip install {e.name}")
        return None


def compare(a):
    feed = redan.market.open(a.file, tick=a.tick, date=a.date, tz=a.tz, seed=a.seed)
    ticks = Ticks(*(np.array(x) for x in list(zip(*(r[:3] for r in rows(feed)), strict=True))))
    print(f"{pathlib.Path(a.file).name}: {len(ticks.ts):,} best prices, spreads {(ticks.ask - ticks.bid).sum():,.2f} in all\n")
    print(f"{'':<34}{'signals':>7}   same  {'earned':>12}")
    signals = by_python(ticks)
    mid = (ticks.bid + ticks.ask) / 2.0
    good = row("Python", len(signals), True)
    said = by_rules(ticks)
    good &= row("rules (crossing.rdn)", len(said), said == signals)
    if a.c:
        said = by_c(a.c, a, midnight(a))
        good &= row("C (crossing.c)", len(said), said == [(int(ticks.ts[i]), s) for i, s in signals])
    found = framework("backtrader", lambda: in_backtrader(feed))
    if found:
        same = found[0] == signals and abs(found[1] - earned(signals, mid, mid)) < 1e-3
        good &= row("Python in backtrader", len(found[0]), same, f"{found[1]:,.2f}", "at the middle")
    found = framework("hftbacktest", lambda: in_hftbacktest(feed, ticks, signals, a.tick))
    if found:
        wrong, money, done = found
        same = not wrong and abs(money - earned(done, ticks.ask, ticks.bid)) < 1e-3
        good &= row("the same orders in hftbacktest", len(done), same, f"{money:,.2f}", "at the best prices")
    return good


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file", nargs="?")
    p.add_argument("--tick", default="0.01", help="the step of prices")
    p.add_argument("--date", help="day of a file with times of day")
    p.add_argument("--tz", help="where its midnight is: America/New_York")
    p.add_argument("--seed", help="order-book file of a LOBSTER file")
    p.add_argument("--c", metavar="PROGRAM", help="crossing.c, built")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as d:
        a.file = a.file or made(pathlib.Path(d) / "made.csv")
        return 0 if compare(a) else 1


if __name__ == "__main__":
    sys.exit(main())
