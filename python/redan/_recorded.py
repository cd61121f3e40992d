# SPDX-License-Identifier: Apache-2.0
"""Recorded calls: a line of JSON each, exact to the bit; written here, and by `redan run --record FILE`.

    {"schema": "redan.calls/1", "fn": "fraud_model", "now": 0, "rows": 2, "params": [["eur", "float"]], "returns": "float",
     "args": {"eur": [900.0, 9.0]}, "raw": {"eur": "…hex of the column…"}, "outcomes": ["value", "undefined"], "values": ["…hex…", null]}

`raw` and `values` are what counts: little endian, as in the request page; `args` is for people and is not read."""
import base64
import json
import os
import pathlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _wire
from ._layout import Type
from ._wire import Param

if TYPE_CHECKING:
    from .testing import Answers, Harness

SCHEMA = "redan.calls/1"


def _shown(p: Param, col: Any) -> list[Any]:
    if p.layout:
        return [repr(r) for r in col.tolist()]
    return [repr(v) if isinstance(v, (bytes, float)) else v for v in col.tolist()]


def write(path: str | os.PathLike[str], name: str, params: Sequence[Param], columns: Sequence[Any], now_ns: int, got: "Answers") -> None:
    line = {"schema": SCHEMA, "fn": name, "now": now_ns, "rows": len(got),
            "params": [[p.name, p.type.text, *([p.layout.canon] if p.layout else [])] for p in params], "returns": got.type.text,
            "args": {p.name: _shown(p, c) for p, c in zip(params, columns)},
            "raw": {p.name: base64.b16encode(c.tobytes()).decode() for p, c in zip(params, columns)},
            "outcomes": got.outcomes, "values": [None if r is None else base64.b16encode(r).decode() for r in got.raw]}
    with open(path, "a", encoding="utf-8") as f:
        f.write(json.dumps(line) + "\n")


def _column(p: Param, recorded: str, raw: str, n: int) -> Any:
    """Texts may have been recorded in another width, as the manifest of a worker wants them."""
    import numpy as np
    t = p.layout.dtype if p.layout else np.dtype(p.type.format)
    if p.type.base != "str":
        return np.frombuffer(base64.b16decode(raw), t, n)
    column = np.frombuffer(base64.b16decode(raw), np.dtype(Type.parse(recorded).format), n)
    if column.size and max(map(len, column.tolist())) > p.type.n:
        raise AssertionError(f"R4222 {p.name}: recorded as {recorded}, the plugin takes {p.type.text}")
    return column.astype(t)


def _any_width(text: str) -> str:
    return re.sub(r"^str\(\d+\)$", "str", text)


def _params(line: dict[str, Any], mine: Sequence[Param]) -> None:
    """The recorded signature is the plugin's of today."""
    want = [[p.name, _any_width(p.type.text), *([p.layout.canon] if p.layout else [])] for p in mine]
    if [[q[0], _any_width(q[1]), *q[2:]] for q in line["params"]] != want:
        raise AssertionError(f"R4222 {line['fn']}: recorded with {line['params']}, the plugin has {want}")


def again(path: pathlib.Path, name: str | None, harness: "Harness | None") -> int:
    from .testing import Harness
    h = harness if harness is not None else Harness(path.parent)
    n = 0
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = json.loads(text)
        if line.get("schema") != SCHEMA:
            raise ValueError(f"{path}:{number}: no {SCHEMA} line")
        if name is None or line["fn"] == name:
            _again_one(h, f"{path}:{number}", line)
            n += 1
    if name is not None and not n:
        raise ValueError(f"{path} has no call of {name}")
    return n


def _again_one(h: "Harness", where: str, line: dict[str, Any]) -> None:
    params, _ = h.signature(line["fn"])
    _params(line, params)
    columns = {p.name: _column(p, q[1], line["raw"][p.name], line["rows"]) for p, q in zip(params, line["params"])}
    got = h.call_columns(line["fn"], [columns[p.name] for p in params], line["rows"], line["now"])
    want = [None if v is None else base64.b16decode(v) for v in line["values"]]
    for i, (a, b, x, y) in enumerate(zip(line["outcomes"], got.outcomes, want, got.raw)):
        if a != b or x != y:
            raise AssertionError(f"R4224 {where}: {line['fn']} row {i}: recorded {_told(got.type, a, x)}, now {_told(got.type, b, y)}")


def _told(t: Type, outcome: str, raw: bytes | None) -> str:
    return outcome if raw is None else f"{_wire.value(t, raw)!r} ({raw.hex()})"
