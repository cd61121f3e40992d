# SPDX-License-Identifier: Apache-2.0
"""A market file as hftbacktest's event array.

    data = redan.adapters.hftbacktest.to_array(feed)
    asset = hftbacktest.BacktestAsset().data(data) ...

Each level that a message changed is a depth event with all that is there now; a snapshot's levels are snapshot events; trades are trade events
of the side that came. Rows stand in the order of the file. hftbacktest wants no event received before it happened, so a receiving clock that is
behind the exchange's is set forward by the most it is behind."""
from typing import TYPE_CHECKING, Any

from ..market import SNAPSHOT, Feed
from . import needed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

EXCH, LOCAL, BUY, SELL = 1 << 31, 1 << 30, 1 << 29, 1 << 28
DEPTH, TRADE, CLEAR, DEPTH_SNAPSHOT = 1, 2, 3, 4


def to_array(feed: Feed, *, trades: bool = True, latency_ns: int = 0) -> "npt.NDArray[Any]":
    """The array for BacktestAsset.data(), 64 bytes an event and aligned to 64. One instrument. trades: with them, or depth alone. latency_ns: what
    every event takes longer to arrive than the file says."""
    import numpy as np
    dtype = np.dtype(needed("hftbacktest").types.event_dtype)
    parts = [(c, np.asarray(c["event"]) * 4 + 1) for c in feed.columns("depth")]
    n_depth = len(parts)
    if trades:
        parts += [(c, np.asarray(c["event"]) * 4) for c in feed.columns("trades")]       # a trade stands before what it leaves
    for c, _ in parts:
        if np.asarray(c["instrument"]).any():
            raise ValueError("hftbacktest takes an array an instrument: open the file with symbol=")
    total = sum(len(c) for c, _ in parts)
    room = np.zeros(total * dtype.itemsize + 64, np.uint8)
    start = -room.ctypes.data % 64
    out = room[start:start + total * dtype.itemsize].view(dtype)
    order, at = np.empty(total, np.int64), 0
    for k, (c, key) in enumerate(parts):
        rows = out[at:at + len(c)]
        order[at:at + len(c)] = key
        at += len(c)
        side, flags = np.asarray(c["side"]), np.asarray(c["flags"])
        rows["exch_ts"], rows["local_ts"], rows["px"], rows["qty"] = c["ts_event"], c["ts_recv"], c.price("px"), c.quantity("qty")
        if k < n_depth:
            kind = np.where(side == 0, CLEAR, np.where(flags & SNAPSHOT != 0, DEPTH_SNAPSHOT, DEPTH)).astype(np.uint64)
            kind |= np.array([0, BUY, SELL], np.uint64)[side]
        else:
            kind = np.array([TRADE, TRADE | SELL, TRADE | BUY], np.uint64)[side]      # who stood on the bid was sold to
        rows["ev"] = kind
    if trades and n_depth < len(parts):
        out[:] = out[np.argsort(order, kind="stable")]
    return _stamped(out, latency_ns)


def _stamped(out: "npt.NDArray[Any]", latency_ns: int) -> "npt.NDArray[Any]":
    """Every event once for the exchange and once for the receiver, in one row where both orders agree."""
    import numpy as np
    if not len(out):
        return out
    behind = int((out["local_ts"] - out["exch_ts"]).min())
    out["local_ts"] += max(0, -behind) + latency_ns
    # Snapshots carry the times at which their orders were made: they count when they are sent.
    out["exch_ts"] = np.maximum.accumulate(out["exch_ts"])
    out["local_ts"] = np.maximum(np.maximum.accumulate(out["local_ts"]), out["exch_ts"])
    out["ev"] |= np.uint64(EXCH | LOCAL)
    return out
