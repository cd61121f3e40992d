# SPDX-License-Identifier: Apache-2.0
"""redan.adapters with the real packages: each test is skipped by name where its package is not installed. Numbers are MARKET.md's, of the
LOBSTER sample."""
import os
import pathlib
import sys

import numpy as np
import pytest

from redan import market
from redan.adapters import needed

DATA = pathlib.Path(os.environ.get("REDAN_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared")) / "data"
MESSAGES, LEVELS = "lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv", "lobster/AAPL_2012-06-21_orderbook_50_first672.csv"


@pytest.fixture(scope="module")
def lobster():
    if not (DATA / MESSAGES).exists():
        pytest.skip(f"no file {MESSAGES} in the shared data")
    return market.open(DATA / MESSAGES, tick="0.01", date="2012-06-21", tz="America/New_York", seed=DATA / LEVELS)


@pytest.fixture
def small(tmp_path):
    (tmp_path / "EUR.csv").write_text("ts,bid,ask\n1000000000,1.25,1.5\n2000000000,,1.5\n2500000000,,1.75\n3000000000,1.25,2\n3100000000,1.5,2\n3100000001,1.5,2\n")
    return market.open(tmp_path / "EUR.csv", tick="0.25")


def columns(feed, kind, on, *names):
    chunks = list(feed.columns(kind, on))
    return [np.concatenate([np.asarray(c[n]) for c in chunks]) for n in names]


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "hftbacktest", None)
    with pytest.raises(ImportError, match="hftbacktest is not installed: pip install hftbacktest"):
        needed("hftbacktest")
    with pytest.raises(ImportError, match="no_such_thing is not installed: pip install thing"):
        needed("no_such_thing.part", "thing")


# ---- hftbacktest ----
def best_prices(hb, data, times, tick=0.01):
    """hftbacktest's best ticks at each time."""
    numba = needed("numba")

    @numba.njit
    def walk(hbt, at, bid, ask):
        for i in range(len(at)):
            hbt.elapse(at[i] - hbt.current_timestamp)
            bid[i], ask[i] = hbt.depth(0).best_bid_tick, hbt.depth(0).best_ask_tick
    asset = (hb.BacktestAsset().data(data).linear_asset(1.0).constant_order_latency(0, 0).risk_adverse_queue_model().no_partial_fill_exchange()
             .trading_value_fee_model(0, 0).tick_size(tick).lot_size(1.0))
    bid, ask = np.zeros(len(times), np.int64), np.zeros(len(times), np.int64)
    walk(hb.HashMapMarketDepthBacktest([asset]), times, bid, ask)
    return bid, ask


def test_hftbacktest(lobster):
    hb = pytest.importorskip("hftbacktest")
    from redan.adapters.hftbacktest import to_array
    data, depth = to_array(lobster), to_array(lobster, trades=False)
    assert data.dtype == hb.types.event_dtype and data.ctypes.data % 64 == 0
    assert (len(depth), len(data)) == (89849, 89849 + 6268) and (np.diff(data["local_ts"]) >= 0).all()
    # Every time at which a message reaches the book, whether or not a level changed.
    ts, action = columns(lobster, "events", "event", "ts_recv", "action")
    times = np.unique(ts[np.isin(action, list(b"AXDEL"))])
    when, ours_bid, ours_ask = columns(lobster, "ticks", "event", "ts_recv", "bid", "ask")
    for rows in (depth, data):
        bid, ask = best_prices(hb, rows, times)
        at = np.searchsorted(when, times, side="right") - 1
        same = (bid == ours_bid[at]) & (ask == ours_ask[at])
        assert (same[1:-1].sum(), len(times) - 2, same[-1]) == (84835, 84835, True)      # all but the seed's, and the last, at which the data ends
    wrong = depth.copy()                                 # the control: one level that is not taken away
    wrong["qty"][np.flatnonzero((wrong["qty"] == 0) & (wrong["ev"] & 1 << 29 != 0))[100]] = 7
    bid, ask = best_prices(hb, wrong, times)
    assert not ((bid == ours_bid[at]) & (ask == ours_ask[at]))[1:].all()


def test_hftbacktest_clocks():
    """The capture's clock is 1.2 s behind the exchange's."""
    pytest.importorskip("hftbacktest")
    from redan.adapters.hftbacktest import DEPTH_SNAPSHOT, EXCH, LOCAL, to_array
    path = DATA / "binance/usdm_btcusdt_20240808.gz"
    if not path.exists():
        pytest.skip("no Binance file in the shared data")
    data = to_array(market.open(path, symbol="BTCUSDT", tick="0.1", lot="0.001", window=65536, far=16384))
    assert (data["local_ts"] >= data["exch_ts"]).all() and (np.diff(data["local_ts"]) >= 0).all() and (np.diff(data["exch_ts"]) >= 0).all()
    assert ((data["ev"] & 255) == DEPTH_SNAPSHOT).sum() == 2000 and (data["ev"] & (EXCH | LOCAL) == EXCH | LOCAL).all()
    assert (data["ev"] & 255 == 2).sum() == 21313        # trades


# ---- backtrader ----
def test_backtrader(lobster):
    bt = pytest.importorskip("backtrader")
    from redan.adapters.backtrader import RedanData
    seen = []

    class Watch(bt.Strategy):
        def next(self):
            d = self.data
            seen.append((d.bid[0], d.ask[0], d.close[0], d.datetime.datetime(0)))
    cerebro = bt.Cerebro(stdstats=False, runonce=False)
    cerebro.adddata(RedanData(dataname=lobster))
    cerebro.addstrategy(Watch)
    cerebro.run()
    assert len(seen) == 16146 and round(100 * sum(a - b for b, a, _, _ in seen)) == 367404
    assert seen[0][3].isoformat(timespec="milliseconds") == "2012-06-21T13:30:00.004" and seen[-1][:2] == (585.69, 585.95)
    with pytest.raises(TypeError, match="dataname"):
        cerebro = bt.Cerebro()
        cerebro.adddata(RedanData(dataname="x.csv"))
        cerebro.run()


# ---- NautilusTrader ----
def test_nautilus(lobster, tmp_path):
    pytest.importorskip("nautilus_trader")
    from nautilus_trader.persistence.catalog import ParquetDataCatalog

    from redan.adapters.nautilus import write_quotes
    path = write_quotes(lobster, tmp_path, "AAPL.XNAS", price_precision=2)
    assert path.name == "2012-06-21T13-30-00-004241176Z_2012-06-21T14-29-59-800380913Z.parquet"
    ticks = ParquetDataCatalog(str(tmp_path)).quote_ticks(["AAPL.XNAS"])
    ts, bid, ask, bq, aq = columns(lobster, "bbo", "change", "ts_recv", "bid", "ask", "bid_qty", "ask_qty")
    assert len(ticks) == len(ts) == 23439
    for i in range(0, len(ts), 7):
        t = ticks[i]
        assert (t.ts_init, str(t.bid_price), str(t.ask_price), int(t.bid_size), int(t.ask_size)) == (
            ts[i], f"{bid[i] // 100}.{bid[i] % 100:02}", f"{ask[i] // 100}.{ask[i] % 100:02}", bq[i], aq[i])


def test_wide_integers():
    from redan.adapters.nautilus import _wide
    units = np.array([0, 1, 58569, 2**32 - 1, 2**32, 2**60, 2**62 + 12345678901], np.int64)
    for factor in (1, 10**7, 10**14, 5 * 10**17, 2**63 - 1):
        got = [int.from_bytes(row.tobytes(), "little") for row in _wide(units, factor).reshape(-1, 16)]
        assert got == [int(u) * factor for u in units], factor
    with pytest.raises(ValueError):
        _wide(np.array([-1]), 5)


# ---- pandas ----
def test_frames(lobster, small):
    pd = pytest.importorskip("pandas")
    from redan.adapters.frames import bars, frame
    f = frame(small.columns("ticks"))
    assert f["bid"].tolist()[::3] == [1.25, 1.25] and np.isnan(f["bid"].iloc[1]) and str(f.index[0]) == "1970-01-01 00:00:01+00:00"
    b = bars(small, "1s")
    assert b["changes"].tolist() == [1, 2] and b["open"].tolist() == [1.375, 1.625] and b["close"].tolist() == [1.375, 1.75]
    whole = frame(lobster.columns("bbo"))
    mid = (whole["bid"] + whole["ask"]) / 2.0
    want = mid.resample("10s").ohlc().dropna()
    got = bars(lobster, "10s")
    pd.testing.assert_frame_equal(got[["open", "high", "low", "close"]], want, check_freq=False, check_index_type=False, check_names=False)
    last = whole.resample("10s").last().dropna()
    np.testing.assert_array_equal(got["imbalance"], (last["bid_qty"] - last["ask_qty"]) / (last["bid_qty"] + last["ask_qty"]))
    for bad in ("1", "0s", "s"):
        with pytest.raises(ValueError):
            bars(small, bad)
