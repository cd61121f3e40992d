# SPDX-License-Identifier: Apache-2.0
"""Decisions: one as an object, many as arrays; both show themselves in a notebook."""
import dataclasses
import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VERDICTS = ("accept", "throttle", "hold", "reject")
BAD = 255                                               # in Decisions.array["verdict"]: the row was no event
LATE, UNDEFINED, DEFAULTED = 1, 2, 4
COLORS = {"accept": "#1a7f37", "throttle": "#9a6700", "hold": "#bc4c00", "reject": "#cf222e", "bad": "#6e7781"}
SHOWN = 20                                              # rows of a table in a notebook


@dataclasses.dataclass(frozen=True)
class Undefined:
    """A rule without a value: why, and where in the text."""
    rule: str
    cause: str
    line: int
    column: int


@dataclasses.dataclass(frozen=True)
class Emit:
    name: str
    fields: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Decision:
    """What the rules said about one event."""
    verdict: str
    codes: tuple[str, ...] = ()
    score: int = 0
    now: int = 0
    hold_ns: int = 0                                    # `for` of a hold or throttle
    late: bool = False
    defaulted: bool = False
    shadow: tuple[str, ...] = ()
    undefined: tuple[Undefined, ...] = ()
    emits: tuple[Emit, ...] = ()
    messages: tuple[str | None, ...] = ()               # one a code
    generation: int = 0
    explanation: str | None = None                      # of explain()

    @classmethod
    def of(cls, raw: tuple[Any, ...], explanation: str | None = None) -> "Decision":
        verdict, flags, now, hold, score, generation, codes, shadow, undefined, emits, messages = raw
        return cls(VERDICTS[verdict], tuple(codes), score, now, hold, bool(flags & LATE), bool(flags & DEFAULTED), tuple(shadow),
                   tuple(Undefined(*u) for u in undefined), tuple(Emit(*e) for e in emits), tuple(messages), generation, explanation)

    def __str__(self) -> str:
        if self.explanation:
            return self.explanation.rstrip("\n")
        return " ".join([self.verdict, *self.codes] + ([f"score {self.score}"] if self.score else []))

    def _repr_html_(self) -> str:
        rows = [("verdict", _verdict(self.verdict)), ("codes", html.escape(", ".join(self.codes)))]
        rows += [("score", str(self.score))] if self.score else []
        rows += [("message", html.escape(m)) for m in self.messages if m]
        rows += [(f"emit {html.escape(e.name)}", html.escape(", ".join(f"{k}: {v}" for k, v in e.fields.items()))) for e in self.emits]
        rows += [("undefined", html.escape(f"{u.rule}: {u.cause} at {u.line}:{u.column}")) for u in self.undefined]
        rows += [("shadow", html.escape(", ".join(self.shadow)))] if self.shadow else []
        table = "".join(f"<tr><th style='text-align:left'>{k}</th><td style='text-align:left'>{v}</td></tr>" for k, v in rows)
        why = f"<pre>{html.escape(self.explanation)}</pre>" if self.explanation else ""
        return f"<table>{table}</table>{why}"


def _verdict(v: str) -> str:
    return f"<b style='color:{COLORS[v]}'>{v}</b>"


class Lists:
    """Codes, shadow codes or undefined rules of many rows: numbers into names, the rows one after the other."""

    def __init__(self, numbers: "npt.NDArray[np.uint32]", ends: "npt.NDArray[np.uint32]", names: list[str]) -> None:
        self.numbers, self.ends, self.names = numbers, ends, names

    def of(self, row: int) -> tuple[str, ...]:
        first = int(self.ends[row - 1]) if row else 0
        return tuple(self.names[i] for i in self.numbers[first:int(self.ends[row])])

    def counts(self) -> dict[str, int]:
        import numpy as np
        n = np.bincount(self.numbers, minlength=len(self.names)) if len(self.numbers) else np.zeros(len(self.names), int)
        return {name: int(k) for name, k in zip(self.names, n) if k}

    def rows(self, name: str) -> "npt.NDArray[np.bool_]":
        """Which rows have it."""
        import numpy as np
        hit = np.zeros(len(self.ends), np.bool_)
        if name in self.names:
            at = np.flatnonzero(self.numbers == self.names.index(name))
            hit[np.searchsorted(self.ends, at, side="right")] = True
        return hit


def answer_dtype() -> "np.dtype[Any]":
    """struct answer of ext_batch.c."""
    import numpy as np
    return np.dtype([("now", "<i8"), ("hold_ns", "<i8"), ("score", "<i8"), ("generation", "<u8"), ("codes_end", "<u4"), ("shadow_end", "<u4"),
                     ("undefined_end", "<u4"), ("verdict", "u1"), ("flags", "u1"), ("pad", "V2")])


class Decisions(Sequence[Decision]):
    """Decisions of a batch. .array is a NumPy structured array, a row a decision: verdict (number of VERDICTS, 255 for a row that was no
    event), flags, now, hold_ns, score, generation. .codes, .shadow and .undefined are lists of names a row; [i] is one decision."""

    def __init__(self, raw: tuple[Any, ...]) -> None:
        import numpy as np
        self.done, _, answers, codes, shadow, undefined, names, emits = raw
        self.array: npt.NDArray[Any] = np.frombuffer(answers, dtype=answer_dtype())
        self.codes = Lists(np.frombuffer(codes, np.uint32), self.array["codes_end"], names)
        self.shadow = Lists(np.frombuffer(shadow, np.uint32), self.array["shadow_end"], names)
        self.undefined = Lists(np.frombuffer(undefined, np.uint32), self.array["undefined_end"], names)
        self.emits: dict[int, tuple[Emit, ...]] = {row: tuple(Emit(*e) for e in list_) for row, list_ in emits}

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, i: int) -> Decision: ...
    @overload
    def __getitem__(self, i: slice) -> list[Decision]: ...

    def __getitem__(self, i: int | slice) -> "Decision | list[Decision]":
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError(i)
        a = self.array[i]
        if a["verdict"] == BAD:
            return Decision("bad")
        flags = int(a["flags"])
        undefined = tuple(Undefined(r, "", 0, 0) for r in self.undefined.of(i))
        return Decision(VERDICTS[a["verdict"]], self.codes.of(i), int(a["score"]), int(a["now"]), int(a["hold_ns"]), bool(flags & LATE),
                        bool(flags & DEFAULTED), self.shadow.of(i), undefined, self.emits.get(i, ()), (), int(a["generation"]))

    def __iter__(self) -> Iterator[Decision]:
        return (self[i] for i in range(len(self)))

    @property
    def verdict(self) -> "npt.NDArray[np.uint8]":
        out: npt.NDArray[np.uint8] = self.array["verdict"]
        return out

    def where(self, verdict: str) -> "npt.NDArray[np.bool_]":
        """Which rows have the verdict."""
        import numpy as np
        return np.asarray(self.array["verdict"] == (BAD if verdict == "bad" else VERDICTS.index(verdict)))

    def counts(self) -> dict[str, int]:
        return {v: n for v in (*VERDICTS, "bad") if (n := int(self.where(v).sum()))}

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{n} {v}" for v, n in self.counts().items())
        codes = ", ".join(f"{c} {n}" for c, n in self.codes.counts().items())
        return f"<{len(self)} decisions: {verdicts or 'none'}{'; ' + codes if codes else ''}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{h}</th>" for h in ("", "verdict", "codes", "score", "undefined"))
        body = ""
        for i in range(min(len(self), SHOWN)):
            d = self[i]
            cells = (str(i), _verdict(d.verdict), html.escape(", ".join(d.codes)), str(d.score or ""), html.escape(", ".join(u.rule for u in d.undefined)))
            body += "<tr>" + "".join(f"<td style='text-align:left'>{c}</td>" for c in cells) + "</tr>"
        more = f"<p>{len(self) - SHOWN} more rows</p>" if len(self) > SHOWN else ""
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr>{head}</tr>{body}</table>{more}"
