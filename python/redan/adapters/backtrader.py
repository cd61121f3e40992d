# SPDX-License-Identifier: Apache-2.0
"""A market file as a data feed of backtrader.

    cerebro.adddata(redan.adapters.backtrader.RedanData(dataname=feed))

Lines: bid, ask, bid_qty, ask_qty; open, high, low and close are the middle, volume is what stands at the best prices. An absent price is NaN.
A row for each change of the best prices: backtrader takes tens of microseconds a row. `on` as in Feed.columns: "1s" for bars that are states."""
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..market import Feed
from . import needed

if TYPE_CHECKING:
    RedanData: Any

SECONDS_A_DAY = 86400
EPOCH = 719163.0                                         # 1970-01-01 in backtrader's days
LINES = ("bid", "ask", "bid_qty", "ask_qty")


def rows(feed: Feed, on: str | int = "change") -> Iterator[tuple[int, float, float, float, float]]:
    """(ts_recv, bid, ask, bid_qty, ask_qty); on="change": of the prices."""
    import numpy as np
    last: tuple[int, int] | None = None
    for c in feed.columns("bbo", on):
        bid, ask = np.asarray(c["bid"]), np.asarray(c["ask"])
        keep = np.ones(len(c), np.bool_)
        if on == "change":
            keep[1:] = (bid[1:] != bid[:-1]) | (ask[1:] != ask[:-1])
            keep[0] = last is None or last != (int(bid[0]), int(ask[0]))
            last = int(bid[-1]), int(ask[-1])
        columns = (np.asarray(c["ts_recv"]), c.price("bid"), c.price("ask"), c.quantity("bid_qty"), c.quantity("ask_qty"))
        yield from zip(*(x[keep].tolist() for x in columns), strict=True)


def _make() -> Any:
    bt = needed("backtrader")

    class RedanData(bt.feed.DataBase):                   # type: ignore[misc, name-defined]
        """dataname: a redan.market.Feed."""
        lines: Any = LINES
        params: Any = (("on", "change"), ("timeframe", bt.TimeFrame.Ticks))

        def start(self) -> None:
            super().start()
            if not isinstance(self.p.dataname, Feed):
                raise TypeError("dataname: what redan.market.open answers")
            self._rows = rows(self.p.dataname, self.p.on)

        def _load(self) -> bool:
            row = next(self._rows, None)
            if row is None:
                return False
            ts, bid, ask, bid_qty, ask_qty = row
            mid = (bid + ask) / 2.0
            line = self.lines
            line.datetime[0] = EPOCH + ts / 1e9 / SECONDS_A_DAY
            line.bid[0], line.ask[0], line.bid_qty[0], line.ask_qty[0] = bid, ask, bid_qty, ask_qty
            line.open[0] = line.high[0] = line.low[0] = line.close[0] = mid
            line.volume[0] = 0.0 if math.isnan(mid) else bid_qty + ask_qty
            line.openinterest[0] = 0.0
            return True

    return RedanData


def __getattr__(name: str) -> Any:
    if name != "RedanData":
        raise AttributeError(f"module 'redan.adapters.backtrader' has no attribute '{name}'")
    globals()[name] = made = _make()
    return made
