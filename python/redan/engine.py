# SPDX-License-Identifier: Apache-2.0
"""redan.Engine: compile rules and judge events in this process.

An engine has lanes; each judges in order and has windows of its own. Methods of Engine use lane 0, engine.lane(i) the others. A lane is
used by one thread at a time: a second one waits. Batches and plugins run without the GIL, so lanes run in parallel. After a fork the
child opens an engine of its own (R2108)."""
import html
import json
import logging
import os
import pathlib
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import _redan

from ._columns import Columns, event_line
from ._errors import Diagnostic, Error, diagnostics, translated
from ._layout import Field, Layout, Type
from .decisions import Decision, Decisions

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

log = logging.getLogger("redan")
INVAL, LEVELS = -1, {0: logging.INFO, 1: logging.WARNING, 2: logging.ERROR}
Path = str | os.PathLike[str]


class Event:
    """An event of the active rules: its fields and its row."""

    def __init__(self, raw: tuple[Any, ...]) -> None:
        name, self.hash, size, has_present, fields, self.canon = raw
        made = []
        for field, (text, base, scale, n, dims, members), offset, _, bit in fields:
            made.append(Field(field, Type(text, base, scale, n, dims, members), offset, bit))
        self.layout = Layout(name, tuple(made), size, has_present)
        self.name: str = name
        self.dates = frozenset(f.name for f in self.layout.fields if f.type.base == "date")

    @property
    def dtype(self) -> "np.dtype[Any]":
        """A row as NumPy sees it: ts, the fields, and `present` when a field is optional."""
        return self.layout.dtype

    def __repr__(self) -> str:
        return f"event {self.name} {{ {'  '.join(f'{f.name}: ' + f.type.text + ('?' if f.bit >= 0 else '') for f in self.layout.fields)} }}"


class Lane:
    """One stream of events with its own windows."""

    def __init__(self, engine: "Engine", index: int) -> None:
        self._engine = engine
        self._lane = translated(_redan.Lane)(engine._engine, index)
        self._n = 0

    @translated
    def judge(self, event: str, fields: Mapping[str, Any] | None = None, *, ts: Any, **more: Any) -> Decision:
        """Judge one event. ts: nanoseconds since 1970, an aware datetime, numpy.datetime64 or an RFC 3339 text."""
        id_, row = self._engine._row(event, {**(fields or {}), **more}, ts)
        return self._judged(id_, row)

    @translated
    def judge_line(self, line: str | bytes | Mapping[str, Any]) -> Decision:
        """Judge an event line, {"type": ..., "ts": ..., "f": {...}}, as `redan run` reads them."""
        if isinstance(line, Mapping):
            line = event_line(line["type"], line["f"], line["ts"])
        name, row = self._engine._rules.row(line.encode() if isinstance(line, str) else line)
        return self._judged(self._engine._id(name), row)

    @translated
    def explain(self, event: str, fields: Mapping[str, Any] | None = None, *, ts: Any, **more: Any) -> Decision:
        """Judge one event and say why: .explanation names every rule of the event, its condition and the values it saw."""
        id_, row = self._engine._row(event, {**(fields or {}), **more}, ts)
        self._n += 1
        raw, text = self._lane.explain(id_, row, self._n)
        return Decision.of(raw, text)

    @translated
    def judge_many(self, event: str, table: Any, *, ts: Any = None, skip_bad: bool = False) -> Decisions:
        """Judge rows in order. table: a structured array of Event.dtype (read in place), a mapping of columns (a dict of arrays or lists, a
        data frame), or an iterable of mappings with `ts`. A row that is no event raises Error with .row, the rows before it are judged;
        with skip_bad it gets the verdict `bad`. The GIL is released."""
        id_ = self._engine._id(event)
        if _is_structured(table):
            raw = self._rows(event, id_, table, skip_bad)
        else:
            if not isinstance(table, Mapping) and not hasattr(table, "columns"):
                table = _turned(table, self._engine.events[event])
            cols = {str(k): table[k] for k in (table.columns if hasattr(table, "columns") else table)}
            cols = {k: v.to_numpy() if hasattr(v, "to_numpy") else v for k, v in cols.items()}
            n, at, present, fields = Columns(self._engine.events[event].layout, self._engine._syms).take(cols, ts)
            flat = tuple(f.view("u1") if f.dtype.kind == "S" else f for f in fields)
            raw = self._lane.columns(id_, at, present, flat, n, skip_bad)
        self._n += raw[0]
        self._engine._logged()
        if raw[1] < 0:
            what = "the row is not valid: a bool, an enum, a symbol or a text that is none" if raw[1] == INVAL else _redan.strerror(raw[1])
            bad = Error(raw[1], "", 0, 0, "", f"row {raw[0]}: {what}")
            bad.row = raw[0]
            raise bad
        return Decisions(raw)

    def _rows(self, event: str, id_: int, table: "npt.NDArray[Any]", skip_bad: bool) -> tuple[Any, ...]:
        import numpy as np
        want = self._engine.events[event].dtype
        if not _same_rows(table.dtype, want):
            raise TypeError(f"rows of {event} have the dtype {want}, not {table.dtype}")
        if table.ndim != 1:
            raise ValueError("rows stand in one dimension")
        stride = table.strides[0]
        if len(table) and stride < want.itemsize:
            table, stride = np.ascontiguousarray(table), want.itemsize
        if len(table) == 0:
            return self._lane.batch(id_, b"", want.itemsize, 0, skip_bad)
        # The bytes from the first row to the end of the last, without a copy: strided rows are no buffer that the engine takes.
        first = np.lib.stride_tricks.as_strided(table, (1,)).view("u1")
        whole = np.lib.stride_tricks.as_strided(first, ((len(table) - 1) * stride + want.itemsize,), (1,))
        return self._lane.batch(id_, whole, stride, len(table), skip_bad)

    def _judged(self, id_: int, row: bytes) -> Decision:
        self._n += 1
        d = Decision.of(self._lane.judge(id_, row))
        self._engine._logged()
        return d

    @property
    def state(self) -> dict[str, Any]:
        """Windows: keys, and the values they have now."""
        out: dict[str, Any] = json.loads(self._lane.state())
        return out


class Engine:
    """Rules, and what judges by them.

    rules: rule text (or use Engine.from_file). plugins: {name: file, or dict of file, mem_cap_mib, time_cap_ms, preload, group}; they run in
    confined workers, for which redan-worker must be installed; those of one trust group are forked from one process. backend: "auto", "interp", "table", "x64", ...; lanes: how many threads may judge."""

    @translated
    def __init__(self, rules: str | bytes | None = None, *, name: str = "rules.rdn", base_dir: Path | None = None, backend: str | None = None,
                 lanes: int = 1, max_syms: int = 0, prefault: bool = False, plugins: Mapping[str, Any] | None = None) -> None:
        self._engine = _redan.Engine(backend, lanes, max_syms, prefault)
        self._rules: _redan.Rules = None                # type: ignore[assignment]
        self._declared: dict[str, Any] = {}
        self._ids: dict[str, int] = {}
        self._lanes: dict[int, Lane] = {}
        self._opening = threading.Lock()
        self.events: dict[str, Event] = {}
        self.generation = 0
        self.warnings: tuple[Diagnostic, ...] = ()
        if plugins:
            from ._find import worker
            found = worker(any_minor=True)
            self._engine.workers(str(found.program), found.minor, found.site)
        for p, how in (plugins or {}).items():
            how = dict(how) if isinstance(how, Mapping) else {"file": how}
            file = os.fspath(how.pop("file"))
            self._engine.plugin(p, file, how.pop("mem_cap_mib", 0), how.pop("time_cap_ms", 0), how.pop("preload", None),
                                how.pop("group", None))
            if how:
                raise TypeError(f"plugin {p}: no setting {', '.join(how)}")
        if rules is not None:
            self.load(rules, name=name, base_dir=base_dir)

    @classmethod
    def from_file(cls, path: Path, **options: Any) -> "Engine":
        """An engine with the rules of a file; data files that it names are found beside it."""
        p = pathlib.Path(path)
        return cls(p.read_bytes(), name=p.name, base_dir=p.parent, **options)

    @translated
    def load(self, rules: str | bytes, *, name: str = "rules.rdn", base_dir: Path | None = None, expect: int = 0) -> int:
        """Compile and swap: the next event is judged by the new rules, windows with the same definition keep their state. Answers the
        generation. On failure the rules before go on. expect: only if that generation is active (else Error "STALE")."""
        text = rules.encode() if isinstance(rules, str) else rules
        made, warned = self._engine.compile(name, text, None if base_dir is None else os.fspath(base_dir))
        self._engine.activate(made, expect)
        self.warnings = diagnostics(warned)
        self._adopted()
        return self.generation

    def load_file(self, path: Path, *, expect: int = 0) -> int:
        p = pathlib.Path(path)
        return self.load(p.read_bytes(), name=p.name, base_dir=p.parent, expect=expect)

    @translated
    def rollback(self) -> int:
        """Go back to the rules before; their windows are carried too."""
        self._engine.rollback()
        self.warnings = ()
        self._adopted()
        return self.generation

    @translated
    def reload(self, plugin: str, file: Path | None = None) -> None:
        """Load a plugin's changed file beside the old one, and switch between two calls. On failure the old one goes on."""
        self._engine.reload(plugin, None if file is None else os.fspath(file))
        self._logged()

    def lane(self, index: int) -> Lane:
        lane = self._lanes.get(index)
        if lane is None:
            with self._opening:                         # threads that meet a lane for the first time at once get the same one
                lane = self._lanes.get(index)
                if lane is None:
                    lane = self._lanes[index] = Lane(self, index)
        return lane

    def judge(self, event: str, fields: Mapping[str, Any] | None = None, *, ts: Any, **more: Any) -> Decision:
        return self.lane(0).judge(event, fields, ts=ts, **more)

    def judge_line(self, line: str | bytes | Mapping[str, Any]) -> Decision:
        return self.lane(0).judge_line(line)

    def judge_many(self, event: str, table: Any, *, ts: Any = None, skip_bad: bool = False) -> Decisions:
        return self.lane(0).judge_many(event, table, ts=ts, skip_bad=skip_bad)

    def explain(self, event: str, fields: Mapping[str, Any] | None = None, *, ts: Any, **more: Any) -> Decision:
        return self.lane(0).explain(event, fields, ts=ts, **more)

    judge.__doc__, judge_line.__doc__, judge_many.__doc__, explain.__doc__ = (
        Lane.judge.__doc__, Lane.judge_line.__doc__, Lane.judge_many.__doc__, Lane.explain.__doc__)

    @property
    def state(self) -> dict[str, Any]:
        return self.lane(0).state

    @translated
    def rows(self, event: str, rows: Iterable[Mapping[str, Any]]) -> "npt.NDArray[Any]":
        """Mappings (with ts) as a structured array for judge_many."""
        import numpy as np
        made = [self._row(event, {k: v for k, v in r.items() if k != "ts"}, r["ts"])[1] for r in rows]
        return np.frombuffer(bytearray().join(made), self.events[event].dtype)

    @translated
    def symbol(self, text: str) -> int:
        """The id of a text in `sym` fields of arrays; the same for the engine's life."""
        return int.from_bytes(self._engine.syms([text]), "little")

    def symbol_text(self, id_: int) -> str:
        return translated(self._engine.text)(int(id_))

    @property
    def stats(self) -> dict[str, Any]:
        """What compiling took and left: backend, code_bytes, compile_ns, fallbacks."""
        return translated(self._engine.stats)()

    @property
    def name(self) -> str:
        return str(self._declared.get("name", ""))

    @property
    def rule_names(self) -> tuple[str, ...]:
        return tuple(r[0] for r in self._declared.get("rules", ()))

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(self._declared.get("codes", ()))

    def close(self) -> None:
        """Frees everything now, workers too; later calls raise Error "CLOSED"."""
        self._engine.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self.generation:
            return "<redan.Engine without rules>"
        d = self._declared
        return f"<redan.Engine {d['name']} version {d['version']}, generation {self.generation}: {len(d['rules'])} rules on {', '.join(self.events)}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td style='text-align:left'>{html.escape(r)}</td><td style='text-align:left'>{html.escape(e)}</td><td>{p}</td>"
                       f"<td>{'shadow' if shadow else ''}</td></tr>" for r, e, p, shadow in self._declared.get("rules", ()))
        return (f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr><th>rule</th><th>event</th><th>priority</th><th></th></tr>{rows}</table>")

    # ---- inside ----
    def _adopted(self) -> None:
        self._rules, self.generation = self._engine.active()
        self._declared = self._rules.declared()
        self.events = {e[0]: Event(e) for e in self._declared["events"]}
        for e in self.events.values():
            self._ids[e.name] = self._engine.event(e.name, e.hash)
        self._logged()

    def _id(self, event: str) -> int:
        if event not in self.events:
            raise KeyError(f"no event '{event}' in {self.name or 'an engine without rules'}; there is {', '.join(self.events) or 'none'}")
        return self._ids[event]

    def _row(self, event: str, fields: Mapping[str, Any], ts: Any) -> tuple[int, bytes]:
        id_ = self._id(event)
        known = self.events[event].layout.fields
        for k in fields:
            if not any(f.name == k for f in known):
                raise KeyError(f"{event} has no field '{k}'; it has {', '.join(f.name for f in known)}")
        return id_, self._rules.row(event_line(event, fields, ts, self.events[event].dates))[1]

    def _syms(self, texts: list[str]) -> bytes:
        return self._engine.syms(texts)

    def _logged(self) -> None:
        for level, line in self._engine.drain():
            log.log(LEVELS.get(level, logging.INFO), "%s", line)


def _is_structured(table: Any) -> bool:
    return getattr(getattr(table, "dtype", None), "names", None) is not None and hasattr(table, "strides")


def _same_rows(have: "np.dtype[Any]", want: "np.dtype[Any]") -> bool:
    """The same bytes in the same places: redan bindgen names the fields in another order and bools u1."""
    def places(d: "np.dtype[Any]") -> dict[str, tuple[int, str]]:
        return {k: (v[1], v[0].str.replace("|b1", "|u1") + str(v[0].shape or "") + (v[0].base.str if v[0].shape else "")) for k, v in (d.fields or {}).items()}
    return have.itemsize == want.itemsize and places(have) == places(want)


def _turned(rows: Iterable[Mapping[str, Any]], event: Event) -> dict[str, list[Any]]:
    """Rows as columns; fields that no row has are left out."""
    all_ = list(rows)
    names = ["ts"] + [f.name for f in event.layout.fields]
    for r in all_:
        for k in r:
            if k not in names:
                raise KeyError(f"{event.name} has no field '{k}'")
    return {n: [r.get(n) for r in all_] for n in names if not all_ or any(n in r for r in all_)}
