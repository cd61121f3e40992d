# SPDX-License-Identifier: Apache-2.0
"""Market files for pandas and what stands on it (vectorbt, …).

    redan.adapters.frames.frame(feed.columns("bbo"))             every row: prices as float64, times as the index
    redan.adapters.frames.bars(feed, "1s")                       open, high, low, close of the middle, and the imbalance at the end of each bar"""
import re
from collections.abc import Iterable
from typing import Any

from ..market import UNITS, Chunk, Columns, Feed
from . import needed

AMOUNTS = {"px": "price", "bid": "price", "ask": "price", "qty": "quantity", "bid_qty": "quantity", "ask_qty": "quantity"}


def frame(table: Columns | Iterable[Chunk]) -> Any:
    """A pandas DataFrame, indexed by ts_recv. Prices and quantities are float64, NaN where there is none."""
    import numpy as np
    pd = needed("pandas")
    made = []
    for c in table:
        cols = {k: getattr(c, AMOUNTS[k])(k) if k in AMOUNTS else c.time(k) if k.startswith("ts_") else np.asarray(c[k]) for k in c.names}
        index = pd.DatetimeIndex(cols.pop("ts_recv"), tz="UTC", name="ts_recv")
        made.append(pd.DataFrame(cols, index=index))
    return pd.concat(made) if len(made) > 1 else made[0] if made else pd.DataFrame()


def bars(feed: Feed, every: str) -> Any:
    """A DataFrame with a row for each interval in which the best prices or what stands there changed, indexed by its beginning: open, high, low,
    close of the middle of bid and ask; bid, ask and imbalance = (bid_qty - ask_qty) / (bid_qty + ask_qty) at its end; and how many changes.
    States with one side only do not count."""
    import numpy as np
    m = re.fullmatch(r"([1-9]\d*)\s*(ns|us|ms|s|m|h)", every)
    if not m:
        raise ValueError(f"a time such as '1s', not {every!r}")
    pd, ns = needed("pandas"), int(m[1]) * UNITS[m[2]]
    ts, bid, ask, bq, aq = ([], [], [], [], [])          # type: tuple[list[Any], list[Any], list[Any], list[Any], list[Any]]
    for c in feed.columns("bbo"):
        both = c.valid("bid") & c.valid("ask")
        for out, column in ((ts, np.asarray(c["ts_recv"])), (bid, c.price("bid")), (ask, c.price("ask")), (bq, c.quantity("bid_qty")), (aq, c.quantity("ask_qty"))):
            out.append(column[both])
    t, b, a, x, y = (np.concatenate(v) if v else np.empty(0) for v in (ts, bid, ask, bq, aq))
    slot = t.astype(np.int64) // ns
    start = np.flatnonzero(np.diff(slot, prepend=slot[:1] - 1))
    end = np.append(start[1:], len(slot))[:len(start)] - 1
    mid = (b + a) / 2.0
    return pd.DataFrame({"open": mid[start], "high": np.maximum.reduceat(mid, start) if len(start) else mid, "low": np.minimum.reduceat(mid, start) if len(start) else mid,
                         "close": mid[end], "bid": b[end], "ask": a[end], "imbalance": (x[end] - y[end]) / (x[end] + y[end]), "changes": end - start + 1},
                        index=pd.DatetimeIndex((slot[start] * ns).view("datetime64[ns]"), tz="UTC", name="ts_recv"))
