# SPDX-License-Identifier: Apache-2.0
"""Answers of every kind a function may give, by number; and what each kind of argument looks like from inside."""
import array
import decimal
import fractions
from typing import Annotated, Any

import numpy as np

import redan


class Index:
    def __index__(self):
        return 1


class Float:
    def __float__(self):
        return 1.5


class Angry:
    def __index__(self):
        raise ValueError("no index")

    def __float__(self):
        raise ValueError("no float")


NAN_BITS = float.fromhex("nan")
VALUES = [None, True, False, 0, 1, -1, 2, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**63 - 1, 2**63, -2**63, -2**63 - 1, 0.0, -0.0, 1.0, 5e-324, 1e308,
          float("inf"), float("-inf"), NAN_BITS, "", "a", "buy", "sell", "hold", "12345", "123456", "é" * 2, "é" * 3, "a\0b", "\ud800", b"", b"abc",
          b"123456", b"\xff", b"a\0", bytearray(b"abc"), [], [1], (1,), {}, object(), np.int64(7), np.int32(7), np.uint8(1), np.uint64(2**63), np.float64(1.5),
          np.float32(1.5), np.float64("nan"), np.bool_(True), np.str_("buy"), np.bytes_(b"abc"), np.array(3), np.array(3.5), np.array([3]), np.array([3.5]),
          np.array([1, 2]), np.array("a"), decimal.Decimal("1.5"), fractions.Fraction(1, 2), 1 + 0j, Index(), Float(), Angry(), int, range(2)]
COLUMNS = [None, [1, 2, 3], (1, 2, 3), [1, None, 3], [1.5, "a", None], np.array([1, 2, 3]), np.array([1.5, np.nan, np.inf]), np.array([True, False, True]),
           np.array([1, 2, 3], np.int32), np.array([1, 2, 3], np.uint8), np.array([1, 2, 3], np.uint64), np.array([1, 2, 3], ">i8"), np.array([1.0, 2, 3], ">f8"),
           np.array([1.5, 2, 3], np.float32), np.array([b"abc", b"de", b"123456"]), np.array(["abc", "de", "f"]), np.array([1, 2]), np.array([1.0, 2, 3, 4]),
           np.array([[1, 2, 3]]), np.array([[1], [2], [3]]), np.array(5), 5, "abc", b"abc", {}, {1: 2, 3: 4, 5: 6}, range(3), np.arange(6)[::2], np.arange(6.0)[::2],
           array.array("d", [1, 2, 3]), array.array("q", [1, 2, 3]), array.array("i", [1, 2, 3]), bytearray(24), memoryview(bytes(24)), np.ma.array([1.0, 2, 3], mask=[0, 1, 0]),
           np.array([1, None, 3], object), np.array([1, 2, 3], "m8[ns]"), object(), iter([1, 2, 3]), (x for x in (1, 2, 3))]
Side = redan.enum("buy", "sell")


@redan.plugin
def to_bool(i: int) -> bool:
    return VALUES[i]


@redan.plugin
def to_int(i: int) -> int:
    return VALUES[i]


@redan.plugin
def to_float(i: int) -> float:
    return VALUES[i]


@redan.plugin
def to_date(i: int) -> redan.date:
    return VALUES[i]


@redan.plugin
def to_side(i: int) -> Annotated[Any, Side]:
    return VALUES[i]


@redan.plugin
def to_text(i: int) -> Annotated[str, redan.text(5)]:
    return VALUES[i]


@redan.plugin(batch=True)
def to_bools(i: redan.Ints) -> redan.Bools:
    return COLUMNS[int(i[0])]


@redan.plugin(batch=True)
def to_ints(i: redan.Ints) -> redan.Ints:
    return COLUMNS[int(i[0])]


@redan.plugin(batch=True)
def to_floats(i: redan.Ints) -> redan.Floats:
    return COLUMNS[int(i[0])]


@redan.plugin(batch=True)
def to_dates(i: redan.Ints) -> redan.date:
    return COLUMNS[int(i[0])]


@redan.plugin(batch=True)
def to_sides(i: redan.Ints) -> Annotated[Any, Side]:
    return COLUMNS[int(i[0])]


@redan.plugin(batch=True)
def to_texts(i: redan.Ints) -> Annotated[Any, redan.text(5)]:
    return COLUMNS[int(i[0])]
