# SPDX-License-Identifier: Apache-2.0
"""Between host and plugin: arguments as columns, columns as what the author's function gets, answers as bytes with an outcome.

The rules are those of the worker (plugins/py_args.c, plugins/py_answer.c, plugins/values.c); python/tests compare the two on edge
values of every type."""
import array
import dataclasses
import enum
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import _redan

from ._columns import Columns
from ._layout import Layout, Type

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

OUT = {name: i for i, name in enumerate(_redan.OUTCOMES)}
VALUE, UNDEFINED, EXCEPTION, MEMORY, BAD_VALUE, REFUSED = (OUT[k] for k in ("value", "undefined", "exception", "memory", "bad_value", "refused"))
KINDS = {"bool": 1, "int": 2, "float": 3, "dec": 4, "time": 5, "dur": 6, "date": 7, "enum": 8, "str": 9, "sym": 10, "event": 11,
         "float[]": 12, "int[]": 13}                    # plugins/wire_kinds.def
TEXT_MAX = 255                                          # of a symbol, and of text whose length nobody says
MAX_ROWS = 256
USED_LATE = "event used after the call returned; copy the values you need"


@dataclasses.dataclass(frozen=True)
class Param:
    name: str
    type: Type
    layout: Layout | None = None                        # of an event


def wire_type(t: Type) -> Type:
    """What a type travels as: symbols and text as str(n)."""
    if t.base in ("sym", "text") or (t.base == "str" and not t.n):
        return Type(f"str({TEXT_MAX})", "str", n=TEXT_MAX)
    return t


def raw_type(t: Type, layout: Layout | None) -> tuple[Any, ...]:
    """For _redan.Workers.open."""
    rows, cols = (t.dims + (1, 1))[:2]
    fields: tuple[Any, ...] = ()
    if layout:
        fields = tuple((f.name, raw_type(f.type, None), f.offset, f.bit) for f in layout.fields)
    size = t.n if t.base == "str" else layout.size if layout else 0
    return (KINDS[t.base], t.scale, rows, cols, size, t.members, layout.name if layout else "", fields, layout.hash if layout else 0)


# ---- arguments ----
class Interned:
    """Ids for symbols in event rows, as an engine gives them."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def __call__(self, texts: Sequence[str]) -> bytes:
        import numpy as np
        return np.array([self.ids.setdefault(t, len(self.ids)) for t in texts], np.uint32).tobytes()


class TooLong(Exception):
    """A text does not fit its parameter: the host does not make such a call."""


def rows_of(value: Any, p: Param) -> int | None:
    """How many rows a value stands for; None: one, for as many as there are."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or (p.layout and hasattr(value, "keys")):
        return None
    if p.type.dims and getattr(value, "ndim", _depth(value)) == len(p.type.dims):
        return None
    return len(value)


def _depth(v: Any) -> int:
    return 1 + _depth(v[0]) if isinstance(v, (list, tuple)) and v else 0


def column(p: Param, value: Any, n: int, syms: Interned) -> "npt.NDArray[Any]":
    """n values of a parameter as they lie in the request page."""
    import numpy as np
    if p.layout:
        return _event_rows(p.layout, value, n, syms)
    if rows_of(value, p) is None:
        value = [value] * n
    if p.type.base == "str":
        too_long = [v for v in value if len(v.encode() if isinstance(v, str) else v) > p.type.n]
        if too_long:
            raise TooLong(f"'{too_long[0]}' is longer than {p.type.n} bytes")
    if p.type.base == "enum":
        value = np.array([_member(p, v) for v in value])
    one = Columns(Layout.of("", [(p.name, p.type, False)]), syms)
    _, _, _, (col,) = one.take({p.name: np.asarray(value) if p.type.dims else _undressed(value)}, ts=0)
    if len(col) != n:
        raise ValueError(f"'{p.name}' has {len(col)} rows, the others have {n}")
    out: npt.NDArray[Any] = col
    return out


def _member(p: Param, v: Any) -> int:
    i = p.type.members.index(v) if isinstance(v, str) and v in p.type.members else -1 if isinstance(v, str) else int(v)
    if isinstance(v, str) and i < 0:
        raise ValueError(f"'{v}' is not one of {', '.join(p.type.members)}")
    if not 0 <= i < len(p.type.members):
        raise TooLong(f"{p.name} has {len(p.type.members)} members, there is no {i}")
    return i


def _undressed(v: Any) -> Any:
    return v.to_numpy() if hasattr(v, "to_numpy") else v


def _event_rows(layout: Layout, value: Any, n: int, syms: Interned) -> "npt.NDArray[Any]":
    import numpy as np
    if isinstance(value, np.ndarray) and value.dtype.names:
        rows = np.array(value, dtype=layout.dtype)
        return np.broadcast_to(rows, (n,)).copy() if rows.ndim == 0 else rows
    each = [value] * n if hasattr(value, "keys") or dataclasses.is_dataclass(value) else list(value)
    dicts = [dict(v) if hasattr(v, "keys") else {f.name: getattr(v, f.name) for f in layout.fields} for v in each]
    for d in dicts:
        for f in layout.fields:
            if f.type.base == "dec" and isinstance(d.get(f.name), int):
                d[f.name] = _scaled(d[f.name], f.type.scale)
    names = ["ts", *(f.name for f in layout.fields)]
    table = {k: [d.get(k) for d in dicts] for k in names if any(k in d for d in dicts)}
    table["ts"] = [d.get("ts", 0) for d in dicts]
    _, ts, present, fields = Columns(layout, syms).take(table)
    rows = np.zeros(len(dicts), layout.dtype)
    rows["ts"] = ts
    for f, col in zip(layout.fields, fields):
        rows[f.name] = col
    if present is not None:
        rows["present"] = present
    return rows


def _scaled(m: int, scale: int) -> str:
    """An author writes decimals as scaled integers; columns of objects take them as text."""
    digits = f"{abs(m):0{scale + 1}d}"
    return ("-" if m < 0 else "") + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


# ---- what the function gets ----
class Cursor:
    """An event for a scalar function: its fields, while the call lasts."""
    __slots__ = ("_row", "_layout", "_members", "_live")

    def __init__(self, row: Any, layout: Layout, members: dict[str, Any], live: list[bool]) -> None:
        for k, v in zip(self.__slots__, (row, layout, members, live)):
            object.__setattr__(self, k, v)

    def __getattr__(self, name: str) -> Any:
        f = next((f for f in self._layout.fields if f.name == name), None)
        if f is None and name != "ts":
            raise AttributeError(f"'redan.Event' object has no attribute '{name}'")
        if not self._live[0]:
            raise RuntimeError(USED_LATE)
        if f is None:
            return int(self._row["ts"])
        if f.bit >= 0 and not int(self._row["present"]) >> f.bit & 1:
            return None
        return scalar(f.type, self._row[name], self._members.get(name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"'redan.Event' object has no attribute '{name}'")


def members_of(name: str, t: Type) -> Any:
    return enum.IntEnum(name, [(m, i) for i, m in enumerate(t.members)]) if t.members else None


def scalar(t: Type, x: Any, members: Any) -> Any:
    if t.dims:
        return tuple(x.reshape(-1).tolist())
    if t.base == "str":
        return x.decode()
    v = x.item() if hasattr(x, "item") else x
    return members(v) if members is not None and v in members._value2member_map_ else v


class Arguments:
    """Columns of one call, in the two forms a function may want."""

    def __init__(self, params: Sequence[Param], columns: Sequence["npt.NDArray[Any]"]) -> None:
        self.params, self.columns = params, columns
        self.live = [True]
        self._members = [members_of(p.name, p.type) for p in params]
        self._fields = [{f.name: members_of(f.name, f.type) for f in p.layout.fields} if p.layout else {} for p in params]

    def row(self, i: int) -> list[Any]:
        out = []
        for p, col, members, fields in zip(self.params, self.columns, self._members, self._fields):
            out.append(Cursor(col[i], p.layout, fields, self.live) if p.layout else scalar(p.type, col[i], members))
        return out

    def batch(self) -> list["npt.NDArray[Any]"]:
        views = [c.view() for c in self.columns]
        for v in views:
            v.flags.writeable = False
        return views


# ---- answers ----
class Answer:
    """One answer: its outcome, and the bytes of a value."""
    __slots__ = ("outcome", "raw")

    def __init__(self, outcome: int, raw: bytes = b"") -> None:
        self.outcome, self.raw = outcome, raw


def answer(t: Type, v: Any) -> Answer:
    """What a function answered for one row. Exceptions of the author's own methods pass through."""
    if v is None:
        return Answer(UNDEFINED)
    how = {"bool": _bool, "float": _float, "enum": _enum, "str": _text}.get(t.base, _int)
    return how(t, v)


def _int(t: Type, v: Any) -> Answer:
    if isinstance(v, (bool, float)):
        return Answer(BAD_VALUE)
    try:
        n = operator.index(v)
    except Exception:                                   # as PyNumber_Index, whose error the worker drops
        return Answer(BAD_VALUE)
    bits = 31 if t.base == "date" else 63
    return Answer(VALUE, n.to_bytes(t.size, "little", signed=True)) if -2**bits <= n < 2**bits else Answer(BAD_VALUE)


def _float(t: Type, v: Any) -> Answer:
    if isinstance(v, (bool, str)):
        return Answer(BAD_VALUE)
    try:
        d = array.array("d", [v])                       # converts as PyFloat_AsDouble, which takes less than float()
    except (TypeError, OverflowError):
        return Answer(BAD_VALUE)
    return float_answer(d.tobytes())


def float_answer(raw: bytes) -> Answer:
    x = array.array("d", raw)[0]
    return Answer(UNDEFINED) if x != x else Answer(BAD_VALUE) if x in (float("inf"), float("-inf")) else Answer(VALUE, raw)


def _bool(t: Type, v: Any) -> Answer:
    known = isinstance(v, bool) or (type(v).__module__ == "numpy" and type(v).__name__ in ("bool_", "bool"))
    return Answer(VALUE, bytes([bool(v)])) if known else Answer(BAD_VALUE)


def _enum(t: Type, v: Any) -> Answer:
    i = -1
    if type(v) is str:
        i = t.members.index(v) if v in t.members else -1
    elif not isinstance(v, bool) and hasattr(v, "__index__"):
        try:
            i = operator.index(v)
        except Exception:
            i = -1
    return Answer(VALUE, bytes([i])) if 0 <= i < len(t.members) else Answer(BAD_VALUE)


def _text(t: Type, v: Any) -> Answer:
    try:
        raw = bytes(v) if isinstance(v, bytes) else v.encode() if isinstance(v, str) else None
        if raw is not None:
            raw.decode()
    except UnicodeError:
        raw = None
    if raw is None or len(raw) > t.n or b"\0" in raw:
        return Answer(BAD_VALUE)
    return Answer(VALUE, raw.ljust(t.n, b"\0"))


FORMATS = {"bool": "?", "int": "lq", "float": "d", "dec": "lq", "time": "lq", "dur": "lq", "date": "i"}


class WrongLength(Exception):
    """A batch function answered another number of values than it got rows."""

    def __init__(self, have: int) -> None:
        super().__init__(have)
        self.have = have


def answers(t: Type, v: Any, n: int) -> tuple[list[Answer], Sequence[Any]]:
    """What a batch function answered for n rows, and the values one by one (none when a whole array was taken). Raises WrongLength."""
    fits, whole = _buffer(t, v, n)
    if fits:
        if whole is None:
            raise WrongLength(len(v))
        return whole, ()
    seq: Sequence[Any] = ()
    try:
        seq = v if isinstance(v, (list, tuple)) else [] if isinstance(v, (str, bytes)) else list(v)
        have = 1 if isinstance(v, (str, bytes)) else len(seq)
    except TypeError:
        have = 1
    if len(seq) != n:
        raise WrongLength(have)
    return [answer(t, x) for x in seq], seq


def _buffer(t: Type, v: Any, n: int) -> tuple[bool, list[Answer] | None]:
    """An array of just the right kind is copied; anything else is taken row by row."""
    want = FORMATS.get(t.base)
    try:
        m = memoryview(v) if want else None
    except (TypeError, BufferError, ValueError):
        return False, None
    if m is None or not want or not m.c_contiguous:
        return False, None
    fmt = m.format.removeprefix("<")
    if len(fmt) != 1 or fmt not in want or m.ndim != 1 or m.itemsize != t.size:
        return False, None
    if m.nbytes != n * m.itemsize:
        return True, None
    raw = m.tobytes()
    each = [raw[i * t.size:(i + 1) * t.size] for i in range(n)]
    return True, [float_answer(r) if t.base == "float" else Answer(VALUE, r) for r in each]


def value(t: Type, raw: bytes) -> Any:
    """A value's bytes as an object: an enum as its name, a decimal as its scaled integer."""
    if t.base == "bool":
        return raw[0] == 1
    if t.base == "float":
        return array.array("d", raw)[0]
    if t.base == "enum":
        return t.members[raw[0]]
    if t.base == "str":
        return raw.rstrip(b"\0").decode()
    return int.from_bytes(raw, "little", signed=True)
