# SPDX-License-Identifier: Apache-2.0
"""A market file as quote ticks in a Parquet catalog of NautilusTrader.

    redan.adapters.nautilus.write_quotes(feed, "catalog", "AAPL.XNAS", price_precision=2)
    ParquetDataCatalog("catalog").quote_ticks(["AAPL.XNAS"])

Prices and sizes are written from whole ticks and lots as integers of 10^-16: no float on the way. Quotes with both sides are written; one row for
each change of the best prices or of what stands there."""
import pathlib
from typing import TYPE_CHECKING, Any

from ..market import Chunk, Feed, Path
from . import needed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PRECISION, OURS = 16, 9


def _wide(units: "npt.NDArray[np.int64]", factor: int) -> "npt.NDArray[np.uint8]":
    """units * factor as 128-bit little-endian integers, 16 bytes a row: schoolbook, in limbs of 32 bits."""
    import numpy as np
    low, high, mask = units & 0xffffffff, units >> 32, np.uint64(0xffffffff)
    f0, f1 = np.uint64(factor & 0xffffffff), np.uint64(factor >> 32)
    u0, u1 = low.astype(np.uint64), np.abs(high).astype(np.uint64)
    if (units < 0).any():
        raise ValueError("NautilusTrader's quotes have no negative prices here")
    a, b, c, d = u0 * f0, u0 * f1, u1 * f0, u1 * f1
    middle = (a >> np.uint64(32)) + (b & mask) + (c & mask)
    out = np.empty((len(units), 2), np.uint64)
    out[:, 0] = (a & mask) | (middle << np.uint64(32))
    out[:, 1] = d + (b >> np.uint64(32)) + (c >> np.uint64(32)) + (middle >> np.uint64(32))
    return out.view(np.uint8)


def _batch(pa: Any, c: Chunk, units: tuple[int, int], schema: Any) -> Any:
    """A record batch of the quotes with both sides, and the first and last time."""
    import numpy as np
    both = c.valid("bid") & c.valid("ask")
    columns = []
    for name, unit in (("bid", units[0]), ("ask", units[0]), ("bid_qty", units[1]), ("ask_qty", units[1])):
        raw = _wide(np.asarray(c[name])[both], unit * 10 ** (PRECISION - OURS))
        columns.append(pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), int(both.sum()), [None, pa.py_buffer(raw)]))
    times = [np.asarray(c[k])[both] for k in ("ts_event", "ts_recv")]
    columns += [pa.array(t.view(np.uint64)) for t in times]
    return pa.record_batch(columns, schema=schema), times[1]


def _name(first: int, last: int) -> str:
    import numpy as np
    return "_".join(str(np.datetime64(t, "ns")).replace(":", "-").replace(".", "-") + "Z" for t in (first, last)) + ".parquet"


def write_quotes(feed: Feed, catalog: Path, instrument_id: str, *, price_precision: int, size_precision: int = 0, symbol: str | int = 0) -> pathlib.Path:
    """Writes the file's quotes into a catalog and answers where. The precisions are the instrument's there. Memory: a chunk at a time."""
    import numpy as np
    pa, pq, core = needed("pyarrow"), needed("pyarrow.parquet"), needed("nautilus_trader.core.nautilus_pyo3", "nautilus_trader")
    if core.FIXED_PRECISION != PRECISION:
        raise ValueError(f"this NautilusTrader has fixed precision {core.FIXED_PRECISION}, and {PRECISION} is written: install the high-precision build")
    folder = pathlib.Path(catalog) / "data/quote_tick" / instrument_id
    folder.mkdir(parents=True, exist_ok=True)
    table = feed.columns("bbo")
    meta = {"instrument_id": instrument_id, "price_precision": str(price_precision), "size_precision": str(size_precision)}
    schema = pa.schema([*(pa.field(k, pa.binary(16), nullable=False) for k in ("bid_price", "ask_price", "bid_size", "ask_size")),
                        pa.field("ts_event", pa.uint64(), nullable=False), pa.field("ts_init", pa.uint64(), nullable=False)], metadata=meta)
    part, first, last = folder / "writing.part", None, 0
    with pq.ParquetWriter(part, schema) as w:
        for c in table:
            instruments = c._market.instruments()
            known = [i[0] for i in instruments]
            which = symbol if isinstance(symbol, int) else known.index(symbol) if symbol in known else -1
            if (np.asarray(c["instrument"]) != which).any():
                raise ValueError("a catalog has a file an instrument: open the market file with symbol=")
            batch, times = _batch(pa, c, instruments[which][1:3], schema)
            if len(times):
                w.write_batch(batch)
                first, last = int(times[0]) if first is None else first, int(times[-1])
    if first is None:
        part.unlink()
        raise ValueError("the file has no quote with both sides")
    return part.rename(folder / _name(first, last))
