# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions: a code that `redan explain` knows, the place, the text, and a hint where there is one."""
import dataclasses
import functools
import html
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import _redan

P = ParamSpec("P")
R = TypeVar("R")
NAMES = {-1: "INVAL", -2: "NOMEM", -3: "SYNTAX", -4: "TYPE", -5: "LAYOUT", -6: "STALE", -7: "NOSUP", -8: "SYS", -9: "PLUGIN", -10: "ABI",
         -11: "BUSY", -12: "TIMEOUT", -13: "DENIED", -14: "FULL", -15: "CORRUPT", -16: "CLOSED", -17: "DUPLICATE"}


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One mistake or warning in rule text; lines and columns count from 1, columns in bytes, the end is exclusive."""
    code: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    hint: str | None
    shown: str                                          # with the source line and carets

    @property
    def warning(self) -> bool:
        return self.code.startswith("W")

    def __str__(self) -> str:
        return self.shown.rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class Error(Exception):
    """name: a REDAN_E code ("STALE"); code: "R3009" or ""; line and column: 0 when not about text; where: file, plugin or system call."""

    def __init__(self, number: int, code: str, line: int, column: int, where: str, text: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(text)
        self.number, self.code, self.line, self.column, self.where, self.text = number, code, line, column, where, text
        self.name = NAMES.get(number, "?")
        self.diagnostics = diagnostics
        self.hint = next((d.hint for d in diagnostics if not d.warning and d.hint), None)
        self.row: int | None = None                     # of a batch

    def __str__(self) -> str:
        if self.diagnostics:
            return "\n".join(str(d) for d in self.diagnostics if not d.warning)
        place = self.where + (f":{self.line}" if self.line else "") + (f":{self.column}" if self.column else "")
        return f"{place + ': ' if place else ''}{self.code + ' ' if self.code else ''}{self.text}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class RuleError(Error):
    """Rule text with a mistake. str() shows each with its source line; .diagnostics has them one by one."""


def diagnostics(rows: list[Any]) -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic(*r) for r in rows)


def translated(fn: Callable[P, R]) -> Callable[P, R]:
    """EngineError of the extension becomes Error or RuleError."""
    @functools.wraps(fn)
    def call(*args: P.args, **kw: P.kwargs) -> R:
        try:
            return fn(*args, **kw)
        except _redan.EngineError as e:
            number, code, line, column, where, text, diags = e.args
            kind = RuleError if number in (-3, -4) or code[:1] == "E" else Error
            raise kind(number, code, line, column, where, text, diagnostics(diags)) from None
    return call
