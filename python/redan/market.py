# SPDX-License-Identifier: Apache-2.0
"""Market files of any known format as columns and order books.

    feed = redan.market.open("AAPL_message_50.csv", tick="0.01", date="2012-06-21", tz="America/New_York")
    for chunk in feed.columns("bbo"):
        mid = (np.asarray(chunk["bid"]) + np.asarray(chunk["ask"])) / 2      # ticks, without a copy
    frame = polars.DataFrame(feed.columns("trades"))                         # any library that reads Arrow
    book = feed.book()
    for event in book:
        book.best(), book.levels("bid", 5)

Prices are whole ticks and quantities whole lots, as int64; `chunk.price("bid")` is float64. Columns are read-only, live as long as a view of them
does, and are shared by the buffer protocol (NumPy), Arrow's capsules (pyarrow, polars, DuckDB, nanoarrow, pandas) and DLPack."""
import datetime as _dt
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import _redan

from ._errors import translated

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Path = str | os.PathLike[str]
SIDES = {"bid": 1, "ask": 2, 1: 1, 2: 2}
VALID, CROSSED, LOCKED, AUCTION, NO_BID, NO_ASK = 1, 2, 4, 8, 32, 64                # Best.flags
LAST, SNAPSHOT, HIDDEN = 0x80, 0x20, 0x200                                          # Event.flags
UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
EVENT_FIELDS = [("ts_event", "<i8"), ("ts_recv", "<i8"), ("order_id", "<u8"), ("other_id", "<u8"), ("px", "<i8"), ("qty", "<i8"), ("seq", "<u8"),
                ("instrument", "<u4"), ("action", "S1"), ("side", "u1"), ("flags", "<u2")]


class Instrument(NamedTuple):
    """A symbol, the steps of its price and of its quantity as decimal text, and the feed's number for it, where it has one (DBN)."""
    symbol: str
    tick: str
    lot: str = "1"
    number: int = 0


class Event(NamedTuple):
    """One event of any format. action: A add, X reduce, D delete, M modify, U replace, E execute, L level, R clear, Q quote, S status, T trade,
    F fill, G gap. side: 1 bid, 2 ask, 0 none. fault: what was wrong with it, or ""."""
    ts_event: int
    ts_recv: int
    order_id: int
    other_id: int
    px: int
    qty: int
    seq: int
    instrument: int
    action: str
    side: int
    flags: int
    fault: str


class Level(NamedTuple):
    px: int
    qty: int
    orders: int


class Best(NamedTuple):
    """Best prices in ticks, what stands there in lots; an absent side is None and 0."""
    bid: int | None
    bid_qty: int
    ask: int | None
    ask_qty: int
    ts_event: int
    ts_recv: int
    flags: int
    events: int

    @property
    def valid(self) -> bool:
        """Nothing is known to be missing."""
        return bool(self.flags & VALID)


def _unit_text(nano: int) -> str:
    whole, rest = divmod(nano, 10**9)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def _midnight(date: Any, tz: str | None) -> int:
    """Nanoseconds since 1970 of the midnight with which a date begins in a time zone."""
    if date is None:
        return 0
    if isinstance(date, int):
        return date
    day = date if isinstance(date, _dt.date) else _dt.date.fromisoformat(str(date))
    zone: _dt.tzinfo = _dt.timezone.utc
    if tz is not None:
        import zoneinfo
        zone = zoneinfo.ZoneInfo(tz)
    return int(_dt.datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * 10**9


def _every(on: str | int) -> int:
    if isinstance(on, int) and on > 0:
        return on
    if on in ("event", "change"):
        return 0 if on == "event" else -1
    m = re.fullmatch(r"(\d+)\s*(ns|us|ms|s|m|h)", str(on))
    if not m or int(m[1]) == 0:
        raise ValueError(f"on: 'event', 'change' or a time such as '1s', not {on!r}")
    return int(m[1]) * UNITS[m[2]]


class Chunk:
    """Rows of a table, column by column. chunk["bid"] is a column: an object that NumPy (np.asarray), Arrow and DLPack libraries read in
    place. A whole chunk is an Arrow struct array: pyarrow.record_batch(chunk), polars.DataFrame(chunk)."""

    def __init__(self, chunk: "_redan.Chunk", market: "_redan.Market") -> None:
        self._chunk, self._market = chunk, market
        self.names: tuple[str, ...] = tuple(chunk.names())

    def __len__(self) -> int:
        return len(self._chunk)

    def __getitem__(self, name: str) -> "_redan.Column":
        return self._chunk[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def valid(self, name: str) -> "npt.NDArray[np.bool_]":
        """Where a column has a value; prices of an absent side are 0. A copy."""
        import numpy as np
        bits = self._chunk[name].valid()
        if bits is None:
            return np.ones(len(self), np.bool_)
        return np.unpackbits(np.frombuffer(bits, np.uint8), count=len(self), bitorder="little").astype(np.bool_)

    def price(self, name: str) -> "npt.NDArray[np.float64]":
        """Prices as float64, NaN where there is none. A copy."""
        return self._scaled(name, 1)

    def quantity(self, name: str) -> "npt.NDArray[np.float64]":
        """Quantities as float64, NaN where there is none. A copy."""
        return self._scaled(name, 2)

    def time(self, name: str = "ts_recv") -> "npt.NDArray[np.datetime64]":
        """A time column as datetime64[ns] (UTC), in place."""
        import numpy as np
        return np.asarray(self._chunk[name]).view("datetime64[ns]")

    def _scaled(self, name: str, at: int) -> "npt.NDArray[np.float64]":
        import numpy as np
        column = self._chunk[name]
        units = np.array([i[at] for i in self._market.instruments()] or [1], np.int64)
        raw = np.asarray(column)
        most = max(abs(int(raw.max())), abs(int(raw.min()))) * int(units.max()) if len(raw) else 0
        unit = units[np.minimum(np.asarray(self._chunk["instrument"]), len(units) - 1)] if units.min() != units.max() else units[0]
        out: npt.NDArray[np.float64]
        if most < 2**63:
            out = raw * unit / 1e9
        else:
            out = (raw.astype(np.longdouble) * unit / 1e9).astype(np.float64)
        if column.absent():
            out[~self.valid(name)] = np.nan
        return out

    def __arrow_c_schema__(self) -> Any:
        return self._chunk.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._chunk.__arrow_c_array__(requested_schema)

    def __repr__(self) -> str:
        return f"<redan.market.Chunk of {len(self)} rows: {', '.join(self.names)}>"


class Columns:
    """One pass over a file as a table: iterate over its chunks, or hand it to a library that reads Arrow streams, once."""

    def __init__(self, market: "_redan.Market", kind: str, on: int, chunk: int, depth: int, decimal: bool) -> None:
        self._market = market
        self._cursor = translated(market.cursor)(kind, on, chunk, depth, decimal)

    def __iter__(self) -> Iterator[Chunk]:
        while (c := translated(self._cursor.next)()) is not None:
            yield Chunk(c, self._market)

    def one(self) -> "Chunk":
        """The next chunk; StopIteration at the end."""
        return next(iter(self))

    @property
    def stats(self) -> dict[str, Any]:
        """Counters of the pass so far: events, bytes, faults by name."""
        return self._market.stats()

    def __arrow_c_schema__(self) -> Any:
        return self._cursor.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._cursor.__arrow_c_stream__(requested_schema)


class Book:
    """Order books, an event at a time: of a file (feed.book()), or of events that you bring (redan.market.books())."""

    def __init__(self, market: "_redan.Market") -> None:
        self._market = market
        self._ids: dict[str, int] = {}

    def step(self) -> Event | None:
        """Applies the next event of the file and answers it; None at the end."""
        got = translated(self._market.step)()
        return None if got is None else Event._make(got)

    def __iter__(self) -> Iterator[Event]:
        while (e := self.step()) is not None:
            yield e

    def decode(self, data: Any) -> tuple[bytes, int]:
        """Events in the feed's format as 64-byte records (redan.market.EVENT), and how many bytes that took. The rest is an incomplete message:
        hand it in again in front of what follows."""
        parts, used = translated(self._market.decode)(data)
        return b"".join(parts), used

    def apply(self, events: Any) -> bytearray:
        """Applies 64-byte records in order; answers a fault number for each, 0 where there is none."""
        return translated(self._market.apply)(events)[1]

    def best(self, symbol: str | int = 0) -> Best:
        bid, bid_qty, ask, ask_qty, ts_event, ts_recv, flags, events = self._market.line(self.id(symbol))
        return Best(None if flags & NO_BID else bid, bid_qty, None if flags & NO_ASK else ask, ask_qty, ts_event, ts_recv, flags, events)

    def levels(self, side: str | int, n: int = 10, symbol: str | int = 0) -> list[Level]:
        """The best levels of a side ("bid", "ask"), best first."""
        return [Level._make(x) for x in self._market.levels(self.id(symbol), SIDES[side], n)]

    def sweep(self, side: str | int, qty: int, symbol: str | int = 0) -> tuple[int, int]:
        """(worst price, filled) of taking `qty` from a side, over at most 64 levels."""
        return self._market.sweep(self.id(symbol), SIDES[side], qty)

    def id(self, symbol: str | int) -> int:
        """The number of an instrument."""
        if isinstance(symbol, int):
            return symbol
        if symbol not in self._ids:
            self._ids = {i[0]: k for k, i in enumerate(self._market.instruments())}
        if symbol not in self._ids:
            raise KeyError(f"no instrument '{symbol}'")
        return self._ids[symbol]

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        return _instruments(self._market)

    @property
    def stats(self) -> dict[str, Any]:
        return self._market.stats()


def _instruments(market: "_redan.Market") -> tuple[Instrument, ...]:
    return tuple(Instrument(s, _unit_text(t), _unit_text(lot), n) for s, t, lot, n in market.instruments())


def _market(path: Path | None, format: str | None, instruments: Sequence[Instrument], tick: str | None, date: int, seed: Path | None,
            policies: Mapping[str, str], max_orders: int, max_instruments: int, window: int, far: int) -> "_redan.Market":
    rows = tuple((i.symbol, i.tick, i.lot, i.number) for i in instruments)
    return translated(_redan.Market)(path=None if path is None else os.fspath(path), format=format, instruments=rows, auto_tick=tick, date_ns=date,
                                     seed=None if seed is None else os.fspath(seed), policies=tuple(policies.items()), max_orders=max_orders,
                                     max_instruments=max_instruments, window=window, far=far)


class Feed:
    """A market file. Each of columns() and book() is a pass over it of its own."""

    def __init__(self, path: Path, format: str, instruments: Sequence[Instrument], tick: str | None, date: int, seed: Path | None,
                 policies: Mapping[str, str], limits: tuple[int, int, int, int]) -> None:
        self.path = os.fspath(path)
        self._how = (None if format == "auto" else format, tuple(instruments), tick, date, seed, dict(policies), *limits)
        first = self._pass()                            # says at once what is wrong with the file or the options
        self.format = first.format()
        self._declared = _instruments(first)

    def _pass(self) -> "_redan.Market":
        return _market(self.path, *self._how)

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        """Those that were declared; what a file names besides is known to the pass that read it."""
        return self._declared

    def columns(self, kind: str = "bbo", on: str | int = "change", *, chunk: int = 65536, depth: int = 10, decimal: bool = False) -> Columns:
        """A table: "events", "bbo", "ticks", "trades", "depth" or "levels". on: for bbo, ticks and levels, a row for each message ("event"), for
        each that changed the best prices ("change"), or the last of each time ("1s"). chunk: rows at once; depth: levels a side of "levels";
        decimal: Arrow's decimal128 instead of ticks and lots."""
        return Columns(self._pass(), kind, _every(on), chunk, depth, decimal)

    def book(self) -> Book:
        return Book(self._pass())

    def __repr__(self) -> str:
        return f"<redan.market.Feed {self.path}: {self.format}>"


def open(path: Path, *, format: str = "auto", symbol: str | None = None, tick: str | None = None, lot: str = "1", number: int = 0, date: Any = None,
         tz: str | None = None, seed: Path | None = None, instruments: Sequence[Instrument] = (), policies: Mapping[str, str] | None = None,
         max_orders: int = 0, max_instruments: int = 0, window: int = 0, far: int = 0) -> Feed:
    """A market file of any known format, plain or packed by gzip, zstd or zip: LOBSTER, DBN, ITCH 5.0, PITCH, Binance, ticks, csv.

    tick: the step of prices, as text. With symbol (and lot, and the feed's number for it) it is that instrument's; without, of all that the file
    names. instruments: several with steps of their own. date: the day of formats with times of day, as text, a date or nanoseconds; tz: where
    its midnight is ("America/New_York"), else UTC. seed: the order-book file of a LOBSTER file, whose first row is in the book at the start.
    policies: what is done about a fault, {"UNKNOWN_ID": "drop"}. Zeros: the defaults of market.h."""
    known = [*instruments, *([Instrument(symbol, tick or "", lot, number)] if symbol else ())]
    return Feed(path, format, known, None if known else tick, _midnight(date, tz), seed, policies or {}, (max_orders, max_instruments, window, far))


def books(instruments: Iterable[Instrument], *, format: str | None = None, date: Any = None, tz: str | None = None,
          policies: Mapping[str, str] | None = None, max_orders: int = 0, window: int = 0, far: int = 0) -> Book:
    """Books without a file: bring events (apply), or bytes of a format (decode, then apply)."""
    known = tuple(instruments)
    return Book(_market(None, format, known, None, _midnight(date, tz), None, policies or {}, max_orders, max(len(known), 1), window, far))


def tick_columns(data: Any, tick: str) -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]":
    """24-byte ticks (TICK24) out of any bytes: times, bids and asks in whole ticks (0: absent), and a fault number each (0: none)."""
    import numpy as np
    market = _market(None, "tick24", (Instrument("-", tick),), None, 0, None, {}, 64, 1, 256, 64)
    n = memoryview(data).nbytes // 24
    ts, bid, ask = (np.empty(n, np.int64) for _ in range(3))
    faults = np.empty(n, np.uint8)
    market.tick_columns(0, data, ts, bid, ask, faults)
    return ts, bid, ask, faults


def __getattr__(name: str) -> Any:
    """EVENT and TICK24, NumPy's dtypes of an event and of a wire tick."""
    if name not in ("EVENT", "TICK24"):
        raise AttributeError(f"module 'redan.market' has no attribute '{name}'")
    import numpy as np
    return np.dtype(EVENT_FIELDS if name == "EVENT" else [("ts", "<u8"), ("bid", "<f8"), ("ask", "<f8")])
