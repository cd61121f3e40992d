# SPDX-License-Identifier: Apache-2.0
"""What a plugin imports: mark functions and events, name the types of the rule language.

The file is part of redan-worker: it is compiled into the runtime and imported before the worker is confined, so that
`import redan` needs no file. The types only describe; values cross as plain Python and NumPy objects:

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
import typing as _t
from typing import Annotated, Any, Generic, TypeVar

import _redan
from _redan import PluginTimeout, data, now

__all__ = ["plugin", "event", "Batch", "Bools", "Ints", "Floats", "Texts", "PluginTimeout", "SignatureError",
           "data", "now", "dec", "time", "dur", "date", "sym", "enum", "text", "floats", "ints", "rng"]


class SignatureError(TypeError):
    """The function is not what the rule file declares."""


class _Type:
    """A type of the rule language, hung on an annotation."""
    __slots__ = ("text", "base")

    def __init__(self, text: str, base: str) -> None:
        self.text, self.base = text, base

    def __repr__(self) -> str:
        return self.text


def dec(scale: int) -> _Type:
    return _Type(f"dec({scale})", "dec")


def text(size: int) -> _Type:
    return _Type(f"str({size})", "str")


def enum(*names: str) -> _Type:
    return _Type(f"enum({','.join(names)})", "enum")


def floats(*dims: int) -> _Type:
    return _Type(f"float[{','.join(map(str, dims))}]", "float[]")


def ints(*dims: int) -> _Type:
    return _Type(f"int[{','.join(map(str, dims))}]", "int[]")


time = Annotated[int, _Type("time", "time")]
dur = Annotated[int, _Type("dur", "dur")]
date = Annotated[int, _Type("date", "date")]
sym = Annotated[str, _Type("sym", "str")]
Bools = Annotated[Any, _Type("bool", "bool"), "batch"]
Ints = Annotated[Any, _Type("int", "int"), "batch"]
Floats = Annotated[Any, _Type("float", "float"), "batch"]
Texts = Annotated[Any, _Type("str", "str"), "batch"]
_E = TypeVar("_E")


class Batch(Generic[_E]):
    """Annotation of an event parameter of a batch function: a structured NumPy view, o["qty"]."""


_PLAIN = {bool: "bool", int: "int", float: "float", str: "str"}
# What a parameter of a rule type may be written as.
_TAKES = {
    "bool": ("bool",), "int": ("int",), "float": ("float",), "dec": ("dec",), "time": ("time", "int"), "dur": ("dur", "int"),
    "date": ("date", "int"), "enum": ("enum", "int"), "str": ("str",), "event": ("event",),
    "float[]": ("float[]", "float"), "int[]": ("int[]", "int"),
}
_functions: dict[str, tuple[Any, bool]] = {}
_events: dict[str, type] = {}


def plugin(fn: Any = None, *, batch: bool = False) -> Any:
    """Make a function callable from rules; with batch=True it is called with whole columns."""
    def mark(f: Any) -> Any:
        _functions[f.__name__] = (f, batch)
        return f
    return mark(fn) if fn is not None else mark


def event(cls: type) -> type:
    """The class has the same fields as `event NAME` in the rules; the layout is compared when the plugin is loaded."""
    _events[cls.__name__] = cls
    cls._redan_fields = [(n, *_field(n, a)) for n, a in _t.get_type_hints(cls, include_extras=True).items()]
    return cls


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
        if a.__name__ in _events and _events[a.__name__] is a:
            return _Type(a.__name__, "event")
        if issubclass(a, int):                          # an IntEnum for an enum
            return _Type("int", "int")
    return None


def _field(name: str, a: Any) -> tuple[str, bool]:
    a, optional = _strip_none(a)
    kind = _kind(a)
    if kind is None:
        raise SignatureError(f"field '{name}' has no usable type")
    return kind.text, optional


def _same_event(param: str, name: str, fields: list[tuple[str, str]]) -> None:
    """fields: (name, type text with '?' when optional) as the rules have them."""
    cls = _events.get(name)
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


def _check(what: str, want: tuple[str, str, Any], have: Any) -> None:
    """want: (type text, base, event fields or None)"""
    kind = _kind(have)
    if kind is None:
        raise SignatureError(f"{what} has no usable type")
    text_, base, fields = want
    if kind.base not in _TAKES[base] or (base == "dec" and kind.text != text_) or (base == "event" and kind.text != text_):
        raise SignatureError(f"{what} is {kind.text} here, {text_} in the rules")
    if base == "enum" and kind.base == "enum" and kind.text != text_:
        raise SignatureError(f"{what} is {kind.text} here, {text_} in the rules")
    if fields is not None:
        _same_event(what, text_, fields)


def _bind(name: str, params: list[tuple[str, tuple[str, str, Any]]], ret: tuple[str, str, Any]) -> tuple[Any, bool]:
    """The function of that name, compared with the signature of the rule file. Called by the runtime."""
    if name not in _functions:
        raise LookupError(f"no function '{name}' with @redan.plugin")
    fn, batch = _functions[name]
    hints = _t.get_type_hints(fn, include_extras=True)
    code = fn.__code__
    mine = code.co_varnames[:code.co_argcount]
    if len(mine) != len(params):
        raise SignatureError(f"{name} takes {len(mine)} parameters here, {len(params)} in the rules")
    extra = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    for k in extra:
        if k not in (fn.__kwdefaults__ or {}):
            raise SignatureError(f"tunable '{k}' of {name} has no default")
    for have, (want, kind) in zip(mine, params):
        if have != want:
            raise SignatureError(f"parameter '{have}' of {name} is '{want}' in the rules")
        if have not in hints:
            raise SignatureError(f"parameter '{have}' of {name} has no type")
        _check(f"parameter '{have}' of {name}", kind, hints[have])
    if "return" not in hints:
        raise SignatureError(f"{name} has no return type")
    _check(f"the answer of {name}", ret, _strip_none(hints["return"])[0])
    return fn, batch


def rng() -> Any:
    """numpy.random.Generator seeded from plugin, generation and lane: the same numbers on replay."""
    import numpy
    return numpy.random.default_rng(_redan.seed())
