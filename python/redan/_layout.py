# SPDX-License-Identifier: Apache-2.0
"""Rows of an event: offsets, NumPy dtype and layout hash, computed as the rule language says (docs: layout of events).

The same numbers come out of the engine (Rules.declared); tests compare the two, and binding an event fails where they differ."""
import dataclasses
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

# base of a type: bytes, alignment, NumPy format. str and arrays: by their own size.
SIZES = {"bool": (1, 1, "?"), "int": (8, 8, "<i8"), "float": (8, 8, "<f8"), "dec": (8, 8, "<i8"), "time": (8, 8, "<i8"),
         "dur": (8, 8, "<i8"), "date": (4, 4, "<i4"), "enum": (1, 1, "u1"), "sym": (4, 4, "<u4")}


@dataclasses.dataclass(frozen=True)
class Type:
    """A type of the rule language: its text, and what it is made of."""
    text: str
    base: str                                           # bool int float dec time dur date enum sym str int[] float[] event text
    scale: int = 0
    n: int = 0                                          # str: bytes
    dims: tuple[int, ...] = ()
    members: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Type":
        """From `dec(4)`, `enum(buy,sell)`, `float[3,3]`, `str(12)` and the plain names; any other name is an event."""
        m = re.fullmatch(r"(\w+)(?:\((.*)\)|\[(.*)\])?", text)
        if not m:
            raise ValueError(f"no type: {text!r}")
        name, inner, dims = m.groups()
        if dims is not None:
            return cls(text, f"{name}[]", dims=tuple(int(d) for d in dims.split(",")))
        if name == "dec":
            return cls(text, "dec", scale=int(inner))
        if name == "str" and inner:
            return cls(text, "str", n=int(inner))
        if name == "enum":
            return cls(text, "enum", members=tuple(x.strip() for x in inner.split(",")))
        return cls(text, name if name in SIZES or name in ("str", "text") else "event")

    @property
    def elements(self) -> int:
        n = 1
        for d in self.dims:
            n *= d
        return n

    @property
    def size(self) -> int:
        if self.base == "str":
            return self.n
        return 8 * self.elements if self.dims else SIZES[self.base][0]

    @property
    def align(self) -> int:
        return 1 if self.base == "str" else 8 if self.dims else SIZES[self.base][1]

    @property
    def format(self) -> Any:
        """For numpy.dtype."""
        if self.base == "str":
            return f"S{self.n}"
        if self.dims:
            return ("<i8" if self.base == "int[]" else "<f8", self.dims)
        return SIZES[self.base][2]


@dataclasses.dataclass(frozen=True)
class Field:
    name: str
    type: Type
    offset: int
    bit: int                                            # of the presence word; -1: always there


def fnv1a(text: str) -> int:
    h = 0xcbf29ce484222325
    for b in text.encode():
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h


@dataclasses.dataclass(frozen=True)
class Layout:
    name: str
    fields: tuple[Field, ...]
    size: int
    has_present: bool

    @classmethod
    def of(cls, name: str, fields: list[tuple[str, Type, bool]]) -> "Layout":
        has_present = any(optional for _, _, optional in fields)
        at, bits, out = 16 if has_present else 8, 0, []
        for field, kind, optional in fields:
            at = (at + kind.align - 1) // kind.align * kind.align
            out.append(Field(field, kind, at, bits if optional else -1))
            bits += optional
            at += kind.size
        return cls(name, tuple(out), (at + 7) // 8 * 8, has_present)

    @classmethod
    def of_class(cls, event: Any) -> "Layout":
        kinds = event.__dict__.get("_redan_fields") if isinstance(event, type) else None
        if kinds is None:
            raise TypeError(f"{event!r} is no @redan.event class")
        return cls.of(event.__name__, [(n, Type.parse(t), optional) for n, t, optional in kinds])

    @property
    def canon(self) -> str:
        return f"{self.name};ts:time;" + "".join(f"{f.name}:{f.type.text}{'?' if f.bit >= 0 else ''};" for f in self.fields)

    @property
    def hash(self) -> int:
        return fnv1a(self.canon)

    @property
    def dtype(self) -> "np.dtype[Any]":
        import numpy as np
        names, formats, offsets = ["ts"], ["<i8"], [0]
        for f in self.fields:
            names.append(f.name)
            formats.append(f.type.format)
            offsets.append(f.offset)
        if self.has_present:
            names.append("present")
            formats.append("<u8")
            offsets.append(8)
        spec: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": self.size}
        made: np.dtype[Any] = np.dtype(spec)
        return made
