# SPDX-License-Identifier: Apache-2.0
"""What a plugin imports: mark functions and events, name the types of the rule language. And the engine, for everybody else.

The file has two homes. It is part of redan-worker: compiled into the runtime and imported before the worker is confined, so that
`import redan` needs no file; there `_redan` is built in. And it is the package of the wheel, where authors test what they wrote and
`redan.Engine` judges events in process; nothing of that is imported before it is used. The types only describe; values cross as plain
Python and NumPy objects:

    rule type        scalar function      batch function
    bool             bool                 Bools
    int, time, dur   int                  Ints
    float            float                Floats
    dec(s)           Annotated[int, redan.dec(s)]
    date             int (days)           Ints
    enum(a, b)       IntEnum member       Ints (uint8)
    str(n), sym      str                  Texts (S{n})
    event Order      cursor               Batch[Order] (structured view)
    float[n]         Floats               Floats (one axis more)

A function answers None (batch: NaN) for "undefined". A cursor or a view must not be kept after the call.
"""
import sys as _sys
import typing as _t
from typing import Annotated, Any, Generic, TypeVar

# In a worker `_redan` is built into the interpreter; in any other process it is the wheel's extension, and what a call would know stands in
# redan._author.
_CONFINED = "_redan" in _sys.builtin_module_names
if not _t.TYPE_CHECKING and _CONFINED:
    from _redan import PluginTimeout, data, now
    from _redan import seed as _seed
else:
    from ._author import PluginTimeout, data, now
    from ._author import seed as _seed

if _t.TYPE_CHECKING:
    import numpy as _np
    import numpy.typing as _npt

    from ._errors import Error as Error
    from ._errors import RuleError as RuleError
    from .decisions import Decision as Decision
    from .decisions import Decisions as Decisions
    from .engine import Engine as Engine

__all__ = ["plugin", "event", "Batch", "Bools", "Ints", "Floats", "Texts", "PluginTimeout", "SignatureError",
           "data", "now", "dec", "time", "dur", "date", "sym", "enum", "text", "floats", "ints", "rng", "on_save", "on_load"]
if not _CONFINED:
    __all__ += ["Engine", "Error", "RuleError", "Decision", "Decisions", "dtype", "layout_hash"]
_LATER = {"Engine": "engine", "Error": "_errors", "RuleError": "_errors", "Decision": "decisions", "Decisions": "decisions"}


def __getattr__(name: str) -> Any:
    """The engine is imported by whoever asks for it."""
    if _CONFINED or name not in _LATER:
        raise AttributeError(f"module 'redan' has no attribute '{name}'")
    import importlib
    return getattr(importlib.import_module(f"redan.{_LATER[name]}"), name)


class SignatureError(TypeError):
    """The function is not what the rule file declares, or nothing that a rule file could declare."""


class _Type:
    """A type of the rule language, hung on an annotation. An enum knows its members: Side.names, Side.index("buy")."""
    __slots__ = ("text", "base", "names", "dims")

    def __init__(self, text: str, base: str, names: tuple[str, ...] = (), dims: tuple[int, ...] = ()) -> None:
        self.text, self.base, self.names, self.dims = text, base, names, dims

    def index(self, name: str) -> int:
        return self.names.index(name)

    def __repr__(self) -> str:
        return self.text


def dec(scale: int) -> _Type:
    return _Type(f"dec({scale})", "dec")


def text(size: int) -> _Type:
    return _Type(f"str({size})", "str")


def enum(*names: str) -> _Type:
    return _Type(f"enum({','.join(names)})", "enum", names)


def floats(*dims: int) -> _Type:
    return _Type(f"float[{','.join(map(str, dims))}]", "float[]", (), dims)


def ints(*dims: int) -> _Type:
    return _Type(f"int[{','.join(map(str, dims))}]", "int[]", (), dims)


time = Annotated[int, _Type("time", "time")]
dur = Annotated[int, _Type("dur", "dur")]
date = Annotated[int, _Type("date", "date")]
sym = Annotated[str, _Type("sym", "str")]
if _t.TYPE_CHECKING:
    Bools: _t.TypeAlias = _npt.NDArray[_np.bool_]
    Ints: _t.TypeAlias = _npt.NDArray[_np.int64]
    Floats: _t.TypeAlias = _npt.NDArray[_np.float64]
    Texts: _t.TypeAlias = _npt.NDArray[_np.bytes_]
else:
    Bools = Annotated[Any, _Type("bool", "bool"), "batch"]
    Ints = Annotated[Any, _Type("int", "int"), "batch"]
    Floats = Annotated[Any, _Type("float", "float"), "batch"]
    Texts = Annotated[Any, _Type("str", "str"), "batch"]
_E = TypeVar("_E")
_F = TypeVar("_F", bound=_t.Callable[..., Any])


class Batch(Generic[_E]):
    """Annotation of an event parameter of a batch function: a structured NumPy view, o["qty"]."""
    if _t.TYPE_CHECKING:
        def __getitem__(self, field: str) -> _npt.NDArray[Any]: ...
        def __len__(self) -> int: ...


_PLAIN = {bool: "bool", int: "int", float: "float", str: "str"}
# What a parameter of a rule type may be written as.
_TAKES = {
    "bool": ("bool",), "int": ("int",), "float": ("float",), "dec": ("dec",), "time": ("time", "int"), "dur": ("dur", "int"),
    "date": ("date", "int"), "enum": ("enum", "int"), "str": ("str",), "event": ("event",),
    "float[]": ("float[]", "float"), "int[]": ("int[]", "int"),
}
_functions: dict[str, tuple[Any, bool]] = {}
_events: dict[str, type] = {}
_state: dict[str, Any] = {}


@_t.overload
def plugin(fn: _F) -> _F: ...
@_t.overload
def plugin(*, batch: bool = False) -> _t.Callable[[_F], _F]: ...


def plugin(fn: Any = None, *, batch: bool = False) -> Any:
    """Make a function callable from rules; with batch=True it is called with whole columns."""
    def mark(f: Any) -> Any:
        if not _CONFINED:                               # a worker compares with the rules when it has loaded, and says R4324
            _signature(f, "R4221 ")
        _functions[f.__name__] = (f, batch)
        return f
    return mark(fn) if fn is not None else mark


@_t.dataclass_transform(frozen_default=True)
def event(cls: type[_E]) -> type[_E]:
    """The class has the same fields as `event NAME` in the rules; the layout is compared when the plugin is loaded.

    One thing with three faces: a frozen dataclass, the NumPy dtype of the rows (redan.dtype), and the cursor a scalar function gets."""
    _events[cls.__name__] = cls
    fields = [(n, *_field(n, a)) for n, a in _t.get_type_hints(cls, include_extras=True).items()]
    setattr(cls, "_redan_fields", [(n, kind.text, optional) for n, kind, optional in fields])
    setattr(cls, "_redan_kinds", fields)
    import dataclasses                                  # here: not everybody who imports redan has events
    return dataclasses.dataclass(frozen=True)(cls)


def on_save(fn: _F) -> _F:
    """The function answers bytes or a dict that JSON can hold; asked before a reload, when the manifest says state: {mode: carry}."""
    _state["save"] = fn
    return fn


def on_load(fn: _F) -> _F:
    """The function takes what on_save of the generation before answered."""
    _state["load"] = fn
    return fn


def _strip_none(a: Any) -> tuple[Any, bool]:
    """int | None -> (int, True)"""
    args = _t.get_args(a)
    if type(None) in args and _t.get_origin(a) is not Annotated:
        rest = [x for x in args if x is not type(None)]
        if len(rest) == 1:
            return rest[0], True
    return a, False


def _kind(a: Any) -> _Type | None:
    if _t.get_origin(a) is Annotated:
        marks = [m for m in a.__metadata__ if isinstance(m, _Type)]
        return marks[-1] if marks else _kind(a.__origin__)
    if _t.get_origin(a) is Batch:
        a = _t.get_args(a)[0]
    if isinstance(a, type):
        if a in _PLAIN:
            return _Type(_PLAIN[a], _PLAIN[a])
        if "_redan_fields" in a.__dict__:
            return _Type(a.__name__, "event")
        if issubclass(a, int):                          # an IntEnum for an enum
            members = getattr(a, "__members__", {})
            return _Type("int", "int", tuple(members))
    return None


def _field(name: str, a: Any) -> tuple[_Type, bool]:
    a, optional = _strip_none(a)
    kind = _kind(a)
    if kind is None:
        raise SignatureError(f"field '{name}' has no usable type")
    return kind, optional


def _same_event(param: str, name: str, fields: list[tuple[str, str]]) -> None:
    """fields: (name, type text with '?' when optional) as the rules have them."""
    cls: Any = _events.get(name)
    if cls is None:
        raise SignatureError(f"parameter '{param}': no @redan.event class '{name}'")
    mine = [(n, t + ("?" if o else "")) for n, t, o in cls._redan_fields]
    for i, host in enumerate(fields):
        if i >= len(mine):
            raise SignatureError(f"layout of event '{name}' differs: field {host[0]}: {host[1]} is missing in the plugin")
        if mine[i] != host:
            raise SignatureError(f"layout of event '{name}' differs: field {i + 1} is {host[0]}: {host[1]} in the rules, "
                                 f"{mine[i][0]}: {mine[i][1]} in the plugin")
    if len(mine) > len(fields):
        raise SignatureError(f"layout of event '{name}' differs: field {mine[len(fields)][0]} is not in the rules")


def _check(what: str, want: tuple[str, str, Any], kind: _Type) -> None:
    """want: (type text, base, event fields or None)"""
    text_, base, fields = want
    if kind.base not in _TAKES[base] or (base == "dec" and kind.text != text_) or (base == "event" and kind.text != text_):
        raise SignatureError(f"{what} is {kind.text} here, {text_} in the rules")
    if base == "enum" and kind.base == "enum" and kind.text != text_:
        raise SignatureError(f"{what} is {kind.text} here, {text_} in the rules")
    if fields is not None:
        _same_event(what, text_, fields)


def _signature(fn: Any, code: str = "") -> tuple[list[tuple[str, _Type]], tuple[_Type, bool]]:
    """((parameter, type), …) and (type of the answer, whether None is said to be one). What no rule file can declare is refused."""
    name, kw = fn.__name__, fn.__kwdefaults__ or {}
    hints = _t.get_type_hints(fn, include_extras=True)
    c = fn.__code__
    if c.co_flags & 0x0c:
        raise SignatureError(f"{code}{name} takes a list of parameters that rules cannot name")
    for k in c.co_varnames[c.co_argcount:c.co_argcount + c.co_kwonlyargcount]:
        if k not in kw:
            raise SignatureError(f"{code}tunable '{k}' of {name} has no default")
    params = []
    for p in c.co_varnames[:c.co_argcount]:
        if p not in hints:
            raise SignatureError(f"{code}parameter '{p}' of {name} has no type")
        params.append((p, _usable(hints[p], f"{code}parameter '{p}' of {name}")))
    if "return" not in hints:
        raise SignatureError(f"{code}{name} has no return type")
    answer, optional = _strip_none(hints["return"])
    return params, (_usable(answer, f"{code}the answer of {name}"), optional)


def _usable(a: Any, what: str) -> _Type:
    kind = _kind(a)
    if kind is None:
        raise SignatureError(f"{what} has no usable type")
    return kind


def _bind(name: str, params: list[tuple[str, tuple[str, str, Any]]], ret: tuple[str, str, Any]) -> tuple[Any, bool]:
    """The function of that name, compared with the signature of the rule file. Called by the runtime."""
    if name not in _functions:
        raise LookupError(f"no function '{name}' with @redan.plugin")
    fn, batch = _functions[name]
    c = fn.__code__
    if c.co_argcount != len(params):
        raise SignatureError(f"{name} takes {c.co_argcount} parameters here, {len(params)} in the rules")
    mine, (answer, _) = _signature(fn)
    for (have, kind), (want, declared) in zip(mine, params):
        if have != want:
            raise SignatureError(f"parameter '{have}' of {name} is '{want}' in the rules")
        _check(f"parameter '{have}' of {name}", declared, kind)
    _check(f"the answer of {name}", ret, answer)
    return fn, batch


def _configure(functions: _t.Iterable[Any], values: dict[str, Any]) -> None:
    """The manifest's config: values for keyword-only parameters with a default, of the type that they have. They become the defaults, so
    that a call costs nothing more."""
    used = set()
    for f in functions:
        defaults = dict(f.__kwdefaults__ or {})
        for name in defaults.keys() & values.keys():
            want, given = type(defaults[name]), values[name]
            if want is float and type(given) is int:
                given = float(given)
            if type(given) is not want:
                raise TypeError(f"R4203 config.{name} is {type(given).__name__}, the tunable of {f.__name__} is {want.__name__}")
            defaults[name] = given
            used.add(name)
        f.__kwdefaults__ = defaults or None
    for name in values.keys() - used:
        raise LookupError(f"R4203 config.{name} is no tunable of the plugin's functions")


def rng() -> Any:
    """numpy.random.Generator seeded from plugin, generation and lane: the same numbers on replay."""
    import numpy
    return numpy.random.default_rng(_seed())


if not _CONFINED:
    def dtype(cls: type) -> "_np.dtype[Any]":
        """The rows of an @redan.event class, as the engine and batch functions see them."""
        from ._layout import Layout
        return Layout.of_class(cls).dtype

    def layout_hash(cls: type) -> int:
        """The number that `redan layout` prints for the event of the rules: equal layouts have equal numbers."""
        from ._layout import Layout
        return Layout.of_class(cls).hash
