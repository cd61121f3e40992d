# SPDX-License-Identifier: Apache-2.0
"""Arguments for a function's signature, with the edges of each type, and the check that grouping rows changes nothing. Needs hypothesis."""
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._layout import Layout, Type
from ._wire import Param, _scaled

if TYPE_CHECKING:
    from .testing import Harness

INT = 2**63
TIMES = [0, 1, -1, INT - 1, -INT, 1767600000 * 10**9]
EDGES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int": [0, 1, -1, INT - 1, -INT, 2**53, 2**53 + 1],
    "float": [0.0, -0.0, 5e-324, 2.2250738585072014e-308, -1.7976931348623157e308, 1.7976931348623157e308, 1.0, math.pi],
    "dec": [0, 1, -1, INT - 1, -INT], "time": TIMES, "dur": TIMES,
    "date": [0, -1, 2**31 - 1, -2**31, 20454],
}


def value(t: Type, python: bool = False) -> Any:
    """A strategy for one value. python: decimals as scaled integers, as an event's dataclass has them."""
    from hypothesis import strategies as st
    edge = EDGES.get(t.base, [])
    if t.base == "bool":
        return st.booleans()
    if t.base == "float":
        return st.one_of(st.sampled_from(edge), st.floats(allow_nan=False, allow_infinity=False))
    if t.base == "enum":
        return st.sampled_from(t.members)
    if t.base in ("str", "sym", "text"):
        size = t.n or 255
        plain = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=min(size, 40))
        return st.one_of(st.sampled_from(["", "a" * size]), plain.map(lambda s: s.encode()[:size].decode("utf-8", "ignore")))
    if t.dims:
        return _array(t)
    bits = 31 if t.base == "date" else 63
    number = st.one_of(st.sampled_from(edge), st.integers(-2**bits, 2**bits - 1))
    return number.map(lambda m: _scaled(m, t.scale)) if t.base == "dec" and not python else number


def _array(t: Type) -> Any:
    from hypothesis import strategies as st
    one = value(Type(t.base[:-2], t.base[:-2]))
    for d in reversed(t.dims):
        one = st.lists(one, min_size=d, max_size=d)
    return one


def event(layout: Layout) -> Any:
    from hypothesis import strategies as st
    fields = {f.name: st.none() | value(f.type, True) if f.bit >= 0 else value(f.type, True) for f in layout.fields}
    return st.fixed_dictionaries({"ts": st.sampled_from(TIMES), **fields})


def columns(params: Sequence[Param], min_rows: int = 1, max_rows: int = 32) -> Any:
    """Dicts of equally long columns, for Harness.call(name, **columns)."""
    from hypothesis import strategies as st

    def of(n: int) -> Any:
        return st.fixed_dictionaries({p.name: st.lists(event(p.layout) if p.layout else value(p.type), min_size=n, max_size=n) for p in params})
    return st.integers(min_rows, max_rows).flatmap(of)


def check_splits(h: "Harness", name: str, examples: int, max_rows: int) -> None:
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    params, _ = h.signature(name)

    @settings(max_examples=examples, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(columns(params, 2, max_rows), st.data())
    def run(cols: dict[str, list[Any]], data: Any) -> None:
        n = len(next(iter(cols.values()))) if cols else 1
        cuts = sorted(data.draw(st.sets(st.integers(1, max(n - 1, 1)), max_size=4)))
        whole = h.call_with(name, cols)
        parts = [h.call_with(name, {k: v[a:b] for k, v in cols.items()}) for a, b in zip([0, *cuts], [*cuts, n]) if a < b]
        outcomes = [o for p in parts for o in p.outcomes]
        raw = [r for p in parts for r in p.raw]
        for i in range(n):
            if (whole.outcomes[i], whole.raw[i]) != (outcomes[i], raw[i]):
                row = {k: v[i] for k, v in cols.items()}
                raise AssertionError(f"R4225 {name} answers otherwise when rows are grouped otherwise: row {i} of {n}, {row}: "
                                     f"{whole[i]!r} ({whole.outcomes[i]}) together, {[x for p in parts for x in p.values][i]!r} ({outcomes[i]}) "
                                     f"with cuts at {cuts}")
    run()
