# SPDX-License-Identifier: Apache-2.0
"""Python data as the engine's bytes: fields of one event as a JSON line, tables as columns.

Objects are values, arrays are what lies in the row. A decimal field takes Decimal or text, or an int64 array of scaled integers; a
symbol takes text, or a uint32 array of ids; an enum takes names, or a uint8 array of indices. Nothing is rounded on the way."""
import datetime as _dt
import decimal
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._layout import Field, Layout, Type

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

EPOCH = _dt.date(1970, 1, 1)
UTC_EPOCH = _dt.datetime(1970, 1, 1, tzinfo=_dt.timezone.utc)


def nanoseconds(t: Any) -> int:
    """int, aware datetime, numpy.datetime64."""
    if isinstance(t, bool):
        raise TypeError("a time is not a bool")
    if isinstance(t, _dt.datetime):
        if t.tzinfo is None:
            raise TypeError("a time without a zone; use tzinfo=datetime.timezone.utc")
        d = t - UTC_EPOCH
        return (d.days * 86400 + d.seconds) * 10**9 + d.microseconds * 1000
    if isinstance(t, _dt.timedelta):
        return (t.days * 86400 + t.seconds) * 10**9 + t.microseconds * 1000
    if type(t).__name__ in ("datetime64", "timedelta64"):
        return int(t.astype(f"{type(t).__name__}[ns]").astype("int64"))
    return int(t.__index__())


def days(t: Any) -> int:
    if isinstance(t, _dt.date) and not isinstance(t, _dt.datetime):
        return (t - EPOCH).days
    return int(t.__index__())


# ---- one event ----
def _plain(v: Any) -> Any:
    """What json cannot write, in the forms of event lines."""
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, (_dt.datetime, _dt.timedelta)):
        return nanoseconds(v)
    if isinstance(v, _dt.date):
        return v.isoformat()
    if isinstance(v, bytes):
        return v.decode()
    if type(v).__module__ == "numpy":
        if type(v).__name__ in ("datetime64", "timedelta64"):
            return nanoseconds(v)
        return _clean(v.tolist())
    if hasattr(v, "__index__"):
        return int(v.__index__())
    raise TypeError(f"no form for a {type(v).__name__}")


def _clean(v: Any) -> Any:
    """nan and inf are words in event lines."""
    if isinstance(v, float) and not math.isfinite(v):
        return "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
    if isinstance(v, (list, tuple)):
        return [_clean(x) for x in v]
    return v if not type(v).__module__ == "numpy" else _plain(v)


def event_line(name: str, fields: Mapping[str, Any], ts: Any, dates: frozenset[str] = frozenset()) -> bytes:
    """dates: fields whose datetime64 is a day and no time."""
    fields = {k: str(v.astype("datetime64[D]")) if k in dates and type(v).__name__ == "datetime64" else v for k, v in fields.items()}
    at = ts if isinstance(ts, str) else nanoseconds(ts)
    line = {"type": name, "ts": at, "f": {k: _clean(v) for k, v in fields.items()}}
    return json.dumps(line, default=_plain, allow_nan=False, ensure_ascii=False).encode()


# ---- tables ----
class Columns:
    """Turns named columns into those of a layout; `syms` interns texts: list of str -> uint32 ids."""

    def __init__(self, layout: Layout, syms: Callable[[list[str]], bytes]) -> None:
        self.layout, self.syms = layout, syms

    def take(self, table: Mapping[str, Any], ts: Any = None) -> tuple[int, Any, Any, tuple[Any, ...]]:
        """(rows, ts, presence words or None, fields in declared order)"""
        import numpy as np
        known = {f.name for f in self.layout.fields} | {"ts"}
        for k in table:
            if k not in known:
                raise KeyError(f"{self.layout.name} has no field '{k}'")
        given = table["ts"] if "ts" in table else ts
        if given is None:
            raise KeyError("column 'ts' is missing")
        n = next((len(c) for c in table.values() if _is_column(c)), 1)
        at = self._times("ts", given, n)
        present = np.zeros(n, np.uint64) if self.layout.has_present else None
        fields = tuple(self._column(f, table.get(f.name), n, present) for f in self.layout.fields)
        return n, at, present, fields

    def _times(self, name: str, column: Any, n: int) -> "npt.NDArray[np.int64]":
        import numpy as np
        if isinstance(column, (int, _dt.datetime, np.integer, np.datetime64)):
            return np.full(n, nanoseconds(column), np.int64)
        a = np.asarray(column)
        if a.dtype.kind in "mM":
            a = a.astype(f"{'datetime64' if a.dtype.kind == 'M' else 'timedelta64'}[ns]").view(np.int64)
        elif a.dtype.kind == "O":
            a = np.array([nanoseconds(t) for t in a], np.int64)
        return _cast(name, a, "<i8", n)

    def _column(self, f: Field, column: Any, n: int, present: Any) -> "npt.NDArray[Any]":
        import numpy as np
        there = None
        if f.bit >= 0:
            if column is None:
                return np.zeros((n, *f.type.dims), np.dtype(f.type.format if not f.type.dims else f.type.format[0]))
            column, there = _split_missing(column, n)
            present |= there.astype(np.uint64) << np.uint64(f.bit)
        elif column is None:
            raise KeyError(f"column '{f.name}' is missing")
        if there is not None and not there.all():
            column = _filled(column, there, f.type)
        try:
            return self._values(f, column, n)
        except (TypeError, ValueError, OverflowError) as e:
            raise type(e)(f"column '{f.name}' ({f.type.text}): {e}") from None

    def _values(self, f: Field, column: Any, n: int) -> "npt.NDArray[Any]":
        import numpy as np
        t = f.type
        if not _is_column(column):
            column = [column] * n
        if t.base in ("time", "dur"):
            return self._times(f.name, column, n)
        if t.dims:
            a = np.ascontiguousarray(column, dtype=t.format[0])
            if a.shape != (n, *t.dims):
                raise ValueError(f"shape {a.shape}, not {(n, *t.dims)}")
            return a
        a = np.asarray(column)
        if t.base == "sym" and a.dtype.kind in "OUS":
            return self._ids(a, n)
        if t.base == "str":
            return _texts(a, t.n, n)
        if t.base == "enum" and a.dtype.kind in "OUS":
            return _indices(a, t.members, n)
        if t.base == "dec" and a.dtype.kind in "OUS":
            return np.array([mantissa(x, t.scale) for x in a], np.int64)
        if t.base == "date" and a.dtype.kind in "OM":
            a = np.array([days(x) for x in a]) if a.dtype.kind == "O" else a.astype("datetime64[D]").astype(np.int64)
        return _cast(f.name, a, t.format, n)

    def _ids(self, a: "npt.NDArray[Any]", n: int) -> "npt.NDArray[np.uint32]":
        import numpy as np
        known: dict[str, int] = {}
        places = np.fromiter((known.setdefault(_word(x), len(known)) for x in a), np.int64, len(a))
        _length(len(a), n)
        ids = np.frombuffer(self.syms(list(known)), np.uint32)
        return np.ascontiguousarray(ids[places])


def _is_column(c: Any) -> bool:
    return hasattr(c, "__len__") and not isinstance(c, (str, bytes)) and getattr(c, "ndim", 1) > 0


def _length(have: int, want: int) -> None:
    if have != want:
        raise ValueError(f"{have} rows, the others have {want}")


def _word(x: Any) -> str:
    if isinstance(x, bytes):
        return x.decode()
    if not isinstance(x, str):
        raise TypeError(f"text expected, not {type(x).__name__}")
    return str(x)


def _texts(a: "npt.NDArray[Any]", size: int, n: int) -> "npt.NDArray[Any]":
    import numpy as np
    if a.dtype.kind != "S":
        words = [_word(x).encode() for x in a]
        if any(b"\0" in w for w in words):
            raise ValueError("text with NUL")
        a = np.array(words, f"S{max(size, *map(len, words))}") if words else np.zeros(0, f"S{size}")
    if a.dtype.itemsize > size and np.char.str_len(a).max(initial=0) > size:
        raise ValueError(f"a text is longer than {size} bytes")
    _length(len(a), n)
    return np.ascontiguousarray(a.astype(f"S{size}"))


def _indices(a: "npt.NDArray[Any]", members: Sequence[str], n: int) -> "npt.NDArray[np.uint8]":
    import numpy as np
    index = {m: i for i, m in enumerate(members)}
    _length(len(a), n)
    try:
        return np.array([index[x] if isinstance(x, str) else index[_word(x)] for x in a], np.uint8)
    except KeyError as e:
        raise ValueError(f"{e} is not one of {', '.join(members)}") from None


def mantissa(x: Any, scale: int) -> int:
    """Decimal, text or int -> the scaled integer, exactly."""
    if isinstance(x, (float, bool)):
        raise TypeError("a decimal is given as Decimal or text, not as float")
    d = decimal.Decimal(x) if not isinstance(x, bytes) else decimal.Decimal(x.decode())
    with decimal.localcontext() as c:
        c.prec = 60
        m = d.scaleb(scale)
        if m != m.to_integral_value() or not -2**63 <= m < 2**63:
            raise ValueError(f"{x} has more than {scale} decimals or is too large")
        return int(m)


def _cast(name: str, a: "npt.NDArray[Any]", fmt: str, n: int) -> "npt.NDArray[Any]":
    """To the field's format without losing anything: the values are compared afterwards."""
    import numpy as np
    want = np.dtype(fmt)
    _length(len(a) if a.ndim else 1, n)
    if a.dtype == want:
        return np.ascontiguousarray(a)
    if a.dtype.kind == "O":
        out = np.array(a.tolist(), want)
        if want.kind != "f" and any(type(x) is not bool and isinstance(x, float) for x in a):
            raise TypeError("whole numbers expected")
        return out
    if a.dtype.kind not in "biuf" or (want.kind in "iu" and a.dtype.kind not in "iu") or (want.kind == "b" and a.dtype.kind != "b"):
        raise TypeError(f"{a.dtype} does not fit")
    out = a.astype(want)
    if want.kind in "iu" and not np.array_equal(out.astype(object), a.astype(object)):
        raise OverflowError("a value is out of range")
    return out


def _split_missing(column: Any, n: int) -> tuple[Any, "npt.NDArray[np.bool_]"]:
    """(values, which are there): None in lists and object arrays, masked elements of a masked array."""
    import numpy as np
    if isinstance(column, np.ma.MaskedArray):
        there: npt.NDArray[np.bool_] = np.asarray(~np.ma.getmaskarray(column).reshape(len(column), -1).any(axis=1))
        return column.data, there
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return column, np.ones(len(column), np.bool_)
    values = list(column) if _is_column(column) else [column] * n
    return values, np.array([v is not None for v in values], np.bool_)


def _filled(column: Any, there: Any, t: Type) -> Any:
    """Absent values replaced by any value of the type."""
    import numpy as np
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return column
    empty: Any = {"bool": False, "float": 0.0, "sym": "", "str": "", "dec": "0", "enum": t.members[0] if t.members else 0}.get(t.base, 0)
    if t.dims:
        empty = np.zeros(t.dims, t.format[0])
    return [v if ok else empty for v, ok in zip(column, there)]
