# SPDX-License-Identifier: Apache-2.0
"""An event class, the engine and a structured array agree about every byte of a row."""
from typing import Annotated

import numpy as np
import pytest

import redan
from redan._layout import Layout, Type, fnv1a

FIELDS = ["bool", "int", "float", "dec(0)", "dec(9)", "time", "dur", "date", "sym", "str(1)", "str(3)", "str(256)", "enum(a)", "enum(buy,sell)",
          "int[3]", "float[2,3]"]


def rules(fields):
    return "ruleset t version 1\n  undefined skip\nevent E {\n" + "".join(f"  f{i}: {t}\n" for i, t in enumerate(fields)) + \
        "}\nrule r on E { when ts > 2020-01-01T00:00Z flag A }\n"


def of(fields):
    return Layout.of("E", [(f"f{i}", Type.parse(t.rstrip("?")), t.endswith("?")) for i, t in enumerate(fields)])


@pytest.mark.parametrize("fields", [FIELDS, FIELDS[::-1], [f + "?" for f in FIELDS], ["str(5)", "int", "bool", "date?", "enum(x,y)", "sym?"], ["bool"], ["bool?"]],
                         ids=["all", "reversed", "optional", "mixed", "small", "small optional"])
def test_same_as_the_engine(fields):
    theirs = redan.Engine(rules(fields)).events["E"]
    mine = of(fields)
    assert (mine.canon, mine.hash, mine.size, mine.has_present) == (theirs.canon, theirs.hash, theirs.layout.size, theirs.layout.has_present)
    assert mine.fields == theirs.layout.fields
    assert mine.dtype == theirs.dtype


def test_the_comparison_can_fail():
    assert of(["int", "bool"]).hash != of(["bool", "int"]).hash
    assert of(["int"]).hash != of(["int?"]).hash
    assert fnv1a("") == 0xcbf29ce484222325


def test_three_faces():
    @redan.event
    class Order:
        account: redan.sym
        qty: int
        px: Annotated[int, redan.dec(4)]
        side: Annotated[int, redan.enum("buy", "sell")]
        note: Annotated[str, redan.text(5)] | None

    o = Order(account="a", qty=1, px=2, note=None, side=0)
    with pytest.raises(AttributeError):
        o.qty = 2
    engine = redan.Engine("ruleset t version 1\n  undefined skip\nevent Order { account: sym  qty: int  px: dec(4)  side: enum(buy,sell)  note: str(5)? }\n"
                          "rule r on Order { when qty > 1 flag A }\n")
    assert redan.dtype(Order) == engine.events["Order"].dtype
    assert redan.layout_hash(Order) == engine.events["Order"].hash
    with pytest.raises(TypeError, match="no @redan.event class"):
        redan.dtype(int)


def test_dtypes_of_bindgen_are_taken():
    engine = redan.Engine(rules(["bool", "int?"]))
    other = np.dtype({"names": ["ts", "present", "f0", "f1"], "formats": ["<i8", "<u8", "u1", "<i8"], "offsets": [0, 8, 16, 24], "itemsize": 32})
    assert engine.judge_many("E", np.zeros(3, other)).counts() == {"accept": 3}
    for wrong in ({"f1": "<f8"}, {"f1": ">i8"}, {"present": "<i8"}):
        formats = [wrong.get(n, other.fields[n][0].str) for n in other.names]
        with pytest.raises(TypeError, match="have the dtype"):
            engine.judge_many("E", np.zeros(3, np.dtype({"names": list(other.names), "formats": formats, "offsets": [0, 8, 16, 24], "itemsize": 32})))
