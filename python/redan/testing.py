# SPDX-License-Identifier: Apache-2.0
"""Plugins without a daemon: call them as the host does, here or in a confined worker; record, replay, and generate arguments.

    h = Harness("fraud")                                # a folder with plugin.yaml, or a .py file
    a = h.call("fraud_model", eur=[900.0], mcc=[7995], online=[True])
    a.values, a.outcomes                                # [0.94], ["value"]

A call never raises what the plugin raised: failure is an outcome, as in a rule. Needs NumPy."""
import contextlib
import importlib.util
import io
import os
import pathlib
import random
import signal
import sys
import threading
import traceback
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import _redan
import redan

from . import _author, _wire
from ._errors import Error, RuleError, translated
from ._layout import Layout, Type
from ._manifest import Manifest
from ._wire import OUT, Answer, Arguments, Param

__all__ = ["Harness", "Answers", "rows", "batch_equals_scalar", "replay", "record", "can_confine"]
LOG_BYTES = 4096
Signature = tuple[list[Param], Type]
DEADLINE_MS = 50


class Answers(Sequence[Any]):
    """What a call came to, a row each. [i] is the value, or None where there is none; .outcomes says how each row ended, .outcome the worst
    of them, .error what was raised, .log what was printed. .raw has the bytes that a rule would see."""

    def __init__(self, type_: Type, answers: list[Answer], error: str = "", log: str = "") -> None:
        self.type, self.raw = type_, tuple(a.raw if a.outcome == _wire.VALUE else None for a in answers)
        self.outcomes = [_redan.OUTCOMES[a.outcome] for a in answers]
        self.error, self.log = error, log
        self.values = [None if r is None else _wire.value(type_, r) for r in self.raw]

    @property
    def outcome(self) -> str:
        return max(self.outcomes, key=OUT.__getitem__, default="value")

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: Any) -> Any:
        return self.values[i]

    def __eq__(self, other: object) -> bool:
        """Bit for bit the same answers."""
        return isinstance(other, Answers) and (self.outcomes, self.raw) == (other.outcomes, other.raw)

    def __repr__(self) -> str:
        shown = ", ".join(repr(v) if o == "value" else o for v, o in zip(self.values[:8], self.outcomes))
        return f"<{len(self)} answers: {shown}{', …' if len(self) > 8 else ''}{'; ' + self.error if self.error else ''}>"


@contextlib.contextmanager
def _registry(functions: dict[str, Any], events: dict[str, type], state: dict[str, Any]) -> Iterator[None]:
    """What @redan.plugin and @redan.event have marked so far, meanwhile: a process may load many plugins."""
    mine: tuple[dict[str, Any], ...] = (redan._functions, redan._events, redan._state)
    kept = [d.copy() for d in mine]
    for d, new in zip(mine, (functions, events, state)):
        d.clear()
        d.update(new)
    try:
        yield
    finally:
        for d, was in zip(mine, kept):
            d.clear()
            d.update(was)


class _Plugin:
    """The author's file, loaded into this process with a registry of its own."""

    def __init__(self, manifest: Manifest, config: dict[str, Any], seed: int) -> None:
        self.manifest, self.seed = manifest, _lane_seed(manifest.id or manifest.entry.stem, seed)
        self.draws = _Draws(self.seed)
        with _registry({}, {}, {}), manifest.importable(), _knowing(manifest, 0, self.seed), self.draws.its_own():
            _load(manifest.entry)
            self.functions, self.events, self.state = redan._functions.copy(), redan._events.copy(), redan._state.copy()
        redan._configure([f for f, _ in self.functions.values()], config)

    def signature(self, name: str) -> tuple[list[Param], Type]:
        if name not in self.functions:
            raise LookupError(f"R4323 no function '{name}' with @redan.plugin in {self.manifest.entry.name}; there is {', '.join(self.functions) or 'none'}")
        params, (answer, _) = redan._signature(self.functions[name][0])
        hints = typing.get_type_hints(self.functions[name][0], include_extras=True)
        return [_param(n, kind, hints[n]) for n, kind in params], _wire.wire_type(_type(answer))


class _Elsewhere:
    """A plugin that is not Python: what is known of it here is what the manifest or the rules declare."""
    state: dict[str, Any] = {}
    events: dict[str, type] = {}

    def __init__(self, manifest: Manifest, declared: Mapping[str, Signature]) -> None:
        self.manifest, self.declared = manifest, declared
        self.functions: dict[str, Any] = {n: None for n in declared if not manifest.functions or n in manifest.functions}

    def signature(self, name: str) -> Signature:
        if name in self.functions:
            return self.declared[name]
        if name in self.manifest.functions:
            raise LookupError(f"R4221 the signature of '{name}' names an event: rules=FILE that declares it")
        there = ", ".join(self.functions) or "none that the manifest or rules=FILE declares"
        raise LookupError(f"R4323 no function '{name}' in {self.manifest.entry.name}; there is {there}")


def _type(kind: Any) -> Type:
    if kind.base == "int" and kind.names:               # an IntEnum
        return Type(f"enum({','.join(kind.names)})", "enum", members=kind.names)
    return Type.parse(kind.text)


def _param(name: str, kind: Any, hint: Any) -> Param:
    if kind.base == "event":
        inner = typing.get_args(hint)
        layout = Layout.of_class(inner[0] if inner else hint)
        return Param(name, Type(kind.text, "event"), layout)
    return Param(name, _wire.wire_type(_type(kind)))


def _load(path: pathlib.Path) -> Any:
    name = path.stem if path.stem not in sys.modules else f"plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Error(-9, "R4201", 0, 0, str(path), "no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


@contextlib.contextmanager
def _knowing(manifest: Manifest, now_ns: int, seed: int) -> Iterator[None]:
    """What redan.now, data and rng answer, meanwhile."""
    c = _author._Call
    kept = c.now_ns, c.seed, c.files, c.folder
    c.now_ns, c.seed, c.files, c.folder = now_ns, seed, manifest.data, manifest.entry.parent
    try:
        yield
    finally:
        c.now_ns, c.seed, c.files, c.folder = kept


def _lane_seed(name: str, seed: int) -> int:
    """What the host gives lane 0 of the first generation, so that a worker with the same seed draws the same numbers (plugins/worker.c)."""
    h = 0xcbf29ce484222325
    parts = (seed | (not seed & 0xffffffff)).to_bytes(8, "little") + (1).to_bytes(8, "little") + bytes(8)
    for b in name.encode()[:71] + parts:
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h


class _Draws:
    """The process-wide generators as the plugin sees them: seeded like a worker's, going on from call to call; this process keeps its own."""

    def __init__(self, seed: int) -> None:
        import numpy
        kept = random.getstate(), numpy.random.get_state()
        random.seed(seed)
        numpy.random.seed([seed & 0xffffffff, seed >> 32])
        self.states = random.getstate(), numpy.random.get_state()
        random.setstate(kept[0])
        numpy.random.set_state(kept[1])

    @contextlib.contextmanager
    def its_own(self) -> Iterator[None]:
        import numpy
        kept = random.getstate(), numpy.random.get_state()
        random.setstate(self.states[0])
        numpy.random.set_state(self.states[1])
        try:
            yield
        finally:
            self.states = random.getstate(), numpy.random.get_state()
            random.setstate(kept[0])
            numpy.random.set_state(kept[1])


@contextlib.contextmanager
def _stopped_after(ms: float | None) -> Iterator[None]:
    """Raises PluginTimeout in the author's code, as the worker's soft stop does; in the main thread only, where signals arrive."""
    if ms is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise redan.PluginTimeout("the deadline has passed")
    was = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, ms / 1000)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, was)


def _said(e: BaseException, file: str) -> str:
    """As the host writes it: ZeroDivisionError: division by zero (score.py:12 in score)."""
    frames = [f for f in traceback.extract_tb(e.__traceback__) if pathlib.Path(f.filename).name == file]
    place = f" ({file}:{frames[-1].lineno} in {frames[-1].name})" if frames else ""
    return type(e).__name__ + (f": {e}" if str(e) else "") + place


class _Here:
    """The functions in this process."""

    def __init__(self, plugin: _Plugin, deadline_ms: float | None) -> None:
        self.plugin, self.file, self.deadline_ms = plugin, plugin.manifest.entry.name, deadline_ms

    def rows_max(self, name: str) -> int:
        return _wire.MAX_ROWS

    def call(self, name: str, signature: Signature, columns: Sequence[Any], n: int, now_ns: int) -> tuple[list[Answer], str, str]:
        (fn, batch), (params, ret) = self.plugin.functions[name], signature
        args, log = Arguments(params, columns), io.StringIO()
        self.error = ""
        try:
            with _knowing(self.plugin.manifest, now_ns, self.plugin.seed), self.plugin.draws.its_own(), contextlib.redirect_stdout(log), contextlib.redirect_stderr(log), _stopped_after(self.deadline_ms):
                out = self._batch(fn, ret, args, n) if batch else self._rows(fn, ret, args, n)
        except redan.PluginTimeout as e:
            out = self._all("timeout", n, e)
        except MemoryError as e:
            out = self._all("memory", n, e)
        finally:
            args.live[0] = False
        text = log.getvalue().encode("utf-8", "replace")[:LOG_BYTES].decode("utf-8", "ignore")
        return out, self.error, text

    def _all(self, outcome: str, n: int, e: BaseException) -> list[Answer]:
        self.error = _said(e, self.file)
        return [Answer(OUT[outcome]) for _ in range(n)]

    def _batch(self, fn: Any, ret: Type, args: Arguments, n: int) -> list[Answer]:
        try:
            v = fn(*args.batch())
            out, each = _wire.answers(ret, v, n)
        except _wire.WrongLength as e:
            self.error = f"TypeError: {fn.__name__} returned {e.have} values for {n} rows ({_type_name(v)[:60]})"
            return [Answer(_wire.BAD_VALUE) for _ in range(n)]
        except (Exception, SystemExit) as e:
            if isinstance(e, MemoryError):
                raise
            return self._all("exception", n, e)
        for i, x in enumerate(each):
            self._bad(fn, ret, out[i], x, i)
        return out

    def _bad(self, fn: Any, ret: Type, a: Answer, v: Any, row: int) -> None:
        if a.outcome == _wire.BAD_VALUE:
            what = "text of the declared length" if ret.base == "str" else "a value of the declared type"
            self.error = f"TypeError: {fn.__name__} returned {_type_name(v)[:80]} in row {row}, expected {what}"

    def _rows(self, fn: Any, ret: Type, args: Arguments, n: int) -> list[Answer]:
        out = []
        for i in range(n):
            try:
                v = fn(*args.row(i))
                out.append(_wire.answer(ret, v))
                self._bad(fn, ret, out[-1], v, i)
            except (Exception, SystemExit) as e:
                if isinstance(e, MemoryError):
                    raise
                self.error = _said(e, self.file)
                out.append(Answer(_wire.EXCEPTION))
        return out


def _type_name(v: Any) -> str:
    """tp_name: types written in C have their module in it."""
    t = type(v)
    heap = t.__flags__ & 1 << 9
    return t.__name__ if heap or t.__module__ == "builtins" else f"{t.__module__}.{t.__name__}"


class _Confined:
    """The function in a worker: another process without files, network, threads; with deadline and memory cap."""
    zygotes: dict[tuple[str, ...], _redan.Workers] = {}  # by program and preloaded modules: all plugins of this process share them

    def __init__(self, manifest: Manifest, signatures: Mapping[str, Signature], deadline_ms: float | None, preload: Sequence[str] | None,
                 seed: int) -> None:
        self.zygote, modules = self.zygote_for(manifest.requires if preload is None else preload, seed, manifest.kind)
        ms = deadline_ms or manifest.time_cap_ms or DEADLINE_MS
        self.names = list(signatures)
        raw = tuple((name, tuple((p.name, _wire.raw_type(p.type, p.layout)) for p in params), _wire.raw_type(ret, None), int(ms * 1e6))
                    for name, (params, ret) in signatures.items())
        self.worker = translated(self.zygote.open)(manifest.entry.stem, str(manifest.path), raw, int(max(ms, DEADLINE_MS) * 1e6), manifest.mem_cap_mib, modules,
                                                    manifest.group, manifest.threads)

    def rows_max(self, name: str) -> int:
        return self.worker.rows_max(self.names.index(name))

    @classmethod
    def zygote_for(cls, preload: Sequence[str], seed: int = 1, kind: str = "python") -> tuple[_redan.Workers, tuple[str, ...]]:
        """Modules on top of the standard ones; NumPy, where there is one, unless others are named."""
        from ._find import worker
        w = worker(kind=kind)
        modules = tuple(preload) or (("numpy",) if w.site else ())
        key = (str(w.program), w.minor, w.site or "", str(seed), *modules)
        if key not in cls.zygotes:
            cls.zygotes[key] = translated(_redan.Workers)(str(w.program), w.minor, w.site, seed)
        return cls.zygotes[key], modules

    def call(self, name: str, signature: Signature, columns: Sequence[Any], n: int, now_ns: int) -> tuple[list[Answer], str, str]:
        flat, size = tuple(c.tobytes() for c in columns), signature[1].size
        for _ in range(100):                            # a worker that is being replaced is back in milliseconds
            _, outs, values = self.worker.call(self.names.index(name), flat, n, now_ns)
            if set(outs) != {OUT["not_ready"]}:
                break
            self.worker.settle(20_000_000)
        last = self.worker.settle(200_000_000) if max(outs) > _wire.UNDEFINED else 0
        if last and set(outs) == {OUT["timeout"]}:      # it may still become `killed`
            outs = bytes([last]) * n
        answers = [Answer(o, values[i * size:(i + 1) * size]) for i, o in enumerate(outs)]
        status = self.worker.status()
        return answers, status[1] if max(outs) > _wire.UNDEFINED else "", status[3]

    @property
    def violations(self) -> list[tuple[str, str]]:
        """What the plugin asked the kernel for and may not have: (system call, place)."""
        out: list[tuple[str, str]] = self.worker.status()[6]
        return out


def can_confine(kind: str = "python") -> str:
    """"" when a plugin can be confined here, else the reason: no redan-worker for this Python or this kind (R4343), or no system-call filters
    (R4401)."""
    try:
        _Confined.zygote_for((), kind=kind)
    except Error as e:
        return str(e)
    return ""


class Harness:
    """A plugin, called as the host calls it.

    path: a folder with plugin.yaml, a bundle (.rdb), or one .py or .lua file. rules: a rule file that declares the functions; signatures are then those of the
    rules, and compared. confined: in a real worker; other kinds than Python run there only, and need not say so. seed: of random numbers, the same here and
    confined. config: values for tunables, before those of the manifest; confined, the manifest's alone. deadline_ms: of a call; confined, the default is 50 ms,
    in this process there is none. preload: confined, modules to import before confinement. record: a file that calls are added to, for replay."""

    def __init__(self, path: str | os.PathLike[str], *, confined: bool | None = None, rules: str | os.PathLike[str] | None = None,
                 config: dict[str, Any] | None = None, deadline_ms: float | None = None, seed: int = 1,
                 preload: Sequence[str] | None = None, record: str | os.PathLike[str] | None = None) -> None:
        self.manifest = Manifest.read(path)
        self.confined = self.manifest.kind != "python" if confined is None else confined
        if not self.confined and self.manifest.kind != "python":
            raise Error(-9, "R4206", 0, 0, str(path), f"a plugin of kind {self.manifest.kind} runs in a worker only: leave out confined=False")
        if self.confined and config:
            raise ValueError("config is the manifest's in a worker: change plugin.yaml, or a copy of it")
        self.deadline_ms, self.seed = deadline_ms, seed
        self.config = {**self.manifest.config, **(config or {})}
        self.record, self.preload = record, preload
        self._syms = _wire.Interned()
        given = rules if rules is not None else self.manifest.rules
        self._declared = _of_rules(pathlib.Path(given)) if given else _of_signatures(self.manifest)
        self._plugin = self._load()
        self._made: _Here | _Confined | None = None
        self._signatures: dict[str, Signature] = {}

    def _load(self) -> "_Plugin | _Elsewhere":
        return _Plugin(self.manifest, self.config, self.seed) if self.manifest.kind == "python" else _Elsewhere(self.manifest, self._declared)

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(self._plugin.functions)

    def signature(self, name: str) -> Signature:
        """Parameters and answer; of the rules if there are some, compared with the plugin's."""
        if name not in self._signatures:
            self._signatures[name] = self._signature(name)
        return self._signatures[name]

    def _signature(self, name: str) -> Signature:
        mine = self._plugin.signature(name)
        if name not in self._declared or isinstance(self._plugin, _Elsewhere):
            return mine
        params, ret = self._declared[name]
        with _registry(self._plugin.functions, self._plugin.events, {}):
            redan._bind(name, [(p.name, _declared(p)) for p in params], (ret.text, ret.base, None))
        return params, ret

    def call(self, name: str, /, *, ts: int = 0, **columns: Any) -> Answers:
        """Call a function with columns (lists or arrays of equal length; a single value stands for all rows). ts: what redan.now() answers."""
        return self.call_with(name, columns, ts)

    def call_with(self, name: str, columns: Mapping[str, Any], ts: int = 0) -> Answers:
        """The same, the columns as one mapping: for parameters that Python cannot name, or are called ts."""
        params, ret = self.signature(name)
        cols, n, why = self._columns(params, columns)
        if why:
            return Answers(ret, [Answer(_wire.REFUSED) for _ in range(n)], why)
        out = self.call_columns(name, cols, n, ts)
        if self.record is not None:
            from ._recorded import write
            write(self.record, name, params, cols, ts, out)
        return out

    def call_columns(self, name: str, cols: Sequence[Any], n: int, ts: int) -> Answers:
        """The same with columns as they lie in the request page."""
        params, ret = self.signature(name)
        made = self._function()
        answers: list[Answer] = []
        error = log = ""
        step = made.rows_max(name)
        for at in range(0, n, step):
            got, err, said = made.call(name, (params, ret), [c[at:at + step] for c in cols], min(n - at, step), ts)
            answers, error, log = answers + got, error or err, log + said
        return Answers(ret, answers, error, log)

    def _function(self) -> "_Here | _Confined":
        if self._made is None:
            signatures = {name: self.signature(name) for name in self.functions}
            self._made = _Here(self._plugin, self.deadline_ms) if isinstance(self._plugin, _Plugin) and not self.confined else \
                _Confined(self.manifest, signatures, self.deadline_ms, self.preload, self.seed)
        return self._made

    def _columns(self, params: Sequence[Param], given: Mapping[str, Any]) -> tuple[list[Any], int, str]:
        """(columns, rows, why the host would not call)"""
        names = [p.name for p in params]
        for k in given:
            if k not in names:
                raise TypeError(f"no parameter '{k}'; there is {', '.join(names) or 'none'}")
        for k in names:
            if k not in given:
                raise TypeError(f"column '{k}' is missing")
        counts = {n for p in params if (n := _wire.rows_of(given[p.name], p)) is not None}
        if len(counts) > 1:
            raise ValueError(f"columns of different lengths: {', '.join(map(str, sorted(counts)))}")
        n = counts.pop() if counts else 1
        try:
            return [_wire.column(p, given[p.name], n, self._syms) for p in params], n, ""
        except _wire.TooLong as e:
            return [], n, f"R4312 {e}"

    def save(self) -> bytes | dict[str, Any] | None:
        """What @redan.on_save answers; None without one. Of a plugin in this process: a worker's state goes over a reload, and no further."""
        if self.confined:
            raise Error(-9, "R4326", 0, 0, self.manifest.entry.name, "the state of a worker cannot be had; reload() carries it")
        fn = self._plugin.state.get("save")
        if fn is None:
            return None
        state: Any = fn()
        import json
        size = len(state) if isinstance(state, (bytes, bytearray)) else len(json.dumps(state, allow_nan=False).encode())
        if not isinstance(state, (bytes, bytearray, dict)) or size > 1 << 20:
            raise Error(-9, "R4326", 0, 0, self.manifest.entry.name, f"on_save answers bytes or a dict of at most 1 MiB, not {type(state).__name__} of {size}")
        return bytes(state) if isinstance(state, bytearray) else state

    def reload(self) -> "Harness":
        """The file as it is now, as a new generation; state goes from on_save to on_load, and through JSON if it is a dict; confined, as it does under
        rules: if the manifest carries it."""
        import json
        if self.confined:
            made = self._function()
            assert isinstance(made, _Confined)
            translated(made.worker.reload)()
            self._plugin = self._load()
            return self
        state = self.save()
        self._plugin, self._made, self._signatures = self._load(), None, {}
        if state is not None and "load" in self._plugin.state:
            self._plugin.state["load"](state if isinstance(state, bytes) else json.loads(json.dumps(state)))
        return self

    @property
    def violations(self) -> list[tuple[str, str]]:
        """Confined: what the plugin asked the kernel for and may not have: (system call, place)."""
        return self._made.violations if isinstance(self._made, _Confined) else []


def _declared(p: Param) -> tuple[str, str, Any]:
    fields = [(f.name, f.type.text + ("?" if f.bit >= 0 else "")) for f in p.layout.fields] if p.layout else None
    return p.type.text, p.type.base, fields


def _of_rules(file: pathlib.Path) -> dict[str, tuple[list[Param], Type]]:
    """Signatures of the plugins that a rule file declares."""
    return _declarations(file.name, file.read_bytes(), file.parent)


def _of_signatures(m: Manifest) -> dict[str, tuple[list[Param], Type]]:
    """Those of the manifest, read by the parser of rules. One that takes an event says nothing without rules that declare it."""
    out = {}
    for name, signature in m.functions.items():
        signature = name + signature if signature.startswith("(") else signature     # the name may be left out
        text = f"ruleset manifest version 1\n  undefined skip\nplugin {signature} deadline 50ms\n"
        with contextlib.suppress(RuleError):
            out.update(_declarations("plugin.yaml", text.encode(), m.path))
    return out


def _declarations(name: str, text: bytes, base: pathlib.Path) -> dict[str, tuple[list[Param], Type]]:
    from .engine import Engine, Event
    engine = Engine()
    rules, _ = translated(engine._engine.compile)(name, text, str(base))
    declared = rules.declared()
    events = {e[0]: Event(e).layout for e in declared["events"]}
    out = {}
    for name, kernel, params, ret, _, _ in declared["calls"]:
        if not kernel:
            out[name] = [Param(n, _wire.wire_type(_of_raw(t)), events.get(t[0])) for n, t in params], _wire.wire_type(_of_raw(ret))
    engine.close()
    return out


def _of_raw(t: tuple[Any, ...]) -> Type:
    text, base, scale, n, dims, members = t
    return Type(text, base, scale, n, dims, members)


def rows(plugin: "str | os.PathLike[str] | Harness", name: str, **options: Any) -> Any:
    """A hypothesis strategy for the columns of a function: @given(rows("fraud", "fraud_model")) def test(columns): h.call(NAME, **columns)."""
    from ._strategies import columns
    h = plugin if isinstance(plugin, Harness) else Harness(plugin)
    return columns(h.signature(name)[0], **options)


def batch_equals_scalar(plugin: "str | os.PathLike[str] | Harness", name: str, *, examples: int = 100, rows: int = 32) -> None:
    """Any grouping of rows must give the same answers, because the host groups as it likes. AssertionError R4225 with the rows."""
    from ._strategies import check_splits
    check_splits(plugin if isinstance(plugin, Harness) else Harness(plugin), name, examples, rows)


def record(plugin: "str | os.PathLike[str] | Harness", path: str | os.PathLike[str]) -> Harness:
    """A harness whose calls are written to a file."""
    h = plugin if isinstance(plugin, Harness) else Harness(plugin)
    h.record = path
    return h


def replay(path: str | os.PathLike[str], name: str | None = None, plugin: "str | os.PathLike[str] | Harness | None" = None) -> int:
    """Calls recorded in a file, made again and compared bit for bit; answers how many. AssertionError R4224 with the first difference."""
    from ._recorded import again
    h = plugin if isinstance(plugin, Harness) or plugin is None else Harness(plugin)
    return again(pathlib.Path(path), name, h)
