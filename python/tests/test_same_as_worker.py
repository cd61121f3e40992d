# SPDX-License-Identifier: Apache-2.0
"""A call in the author's process and in a confined worker comes to the same: outcome and bits, for arguments and answers of every type."""
import datetime
import pathlib

import pytest

from redan.testing import Harness, can_confine

PLUGINS = pathlib.Path(__file__).parent / "plugins"
WHY = can_confine()
pytestmark = pytest.mark.skipif(bool(WHY), reason=WHY or "-")
BIG = 2**63
EDGES = dict(b=[True, False, True], i=[0, BIG - 1, -BIG], f=[-0.0, 5e-324, 1.7976931348623157e308], d=["0.01", "-92233720368547758.08", "92233720368547758.07"],
             t=[0, datetime.datetime(2026, 1, 5, tzinfo=datetime.timezone.utc), -BIG])
MORE = dict(day=[0, datetime.date(2026, 1, 5), -2**31], side=["buy", "sell", 1], s=["", "é" * 127, "a" * 255], short=["", "é", "abcd"])
MATRIX = [[[1.0, 2.0], [3.0, -0.0]]] * 3
ORDERS = [dict(account="a", qty=5, px=-12345, note=None, side="sell", day=datetime.date(2026, 1, 5), hot=True, m=[[1.0, 2.0], [3.0, 4.0]], ts=9),
          dict(account="b", qty=-BIG, px=BIG - 1, note="", side="buy", day=-1, hot=False, m=[[0.0, -0.0], [3.0, 4.0]], ts=-1),
          dict(account="", qty=0, px=0, note="éa", side="buy", day=0, hot=False, m=[[0.0, 5e-324], [3.0, 4.0]])]
CALLS = [("scalars", EDGES), ("more", MORE), ("arrays", dict(v=[[1, 2, 3], [BIG - 1, -BIG, 0]], m=MATRIX[:2])), ("columns", {k: EDGES[k] for k in "bif"}),
         ("more_columns", dict(day=MORE["day"], side=MORE["side"], s=MORE["s"], m=MATRIX)), ("cursor", dict(o=ORDERS)), ("late", dict(o=ORDERS)),
         ("no_field", dict(o=ORDERS[:1])), ("view", dict(o=ORDERS)), ("clock", dict(i=[1, 2])), ("fails", dict(i=[5, 0, 2])), ("fails", dict(i=[0, 0])),
         ("all_of_it", dict(i=[1, 2, 3, 4])), ("leaves", dict(i=[1, 2])), ("more", MORE | dict(short=["", "", "abcde"])), ("clock", dict(i=list(range(600))))]


@pytest.fixture(scope="module")
def pair():
    made = {}

    def of(file):
        if file not in made:
            made[file] = Harness(PLUGINS / file), Harness(PLUGINS / file, confined=True, deadline_ms=50)
        return made[file]
    return of


def module(pair):
    return pair("answers.py")[0]._plugin.functions["to_int"][0].__globals__


@pytest.mark.parametrize("name", ["to_bool", "to_int", "to_float", "to_date", "to_side", "to_text"])
def test_answers(pair, name):
    here, there = pair("answers.py")
    values = module(pair)["VALUES"]
    for i, v in enumerate(values):
        a, b = here.call(name, i=i), there.call(name, i=i)
        assert a == b, f"{name} answers {type(v).__name__} {v!r}: {a} here, {b} in the worker"
        # The host finds infinity and bytes that are no text after the worker took them, and has no words of the worker's for it.
        assert a.error == b.error or b.error == "", (a, b)
    a, b = (h.call(name, i=list(range(len(values)))) for h in (here, there))
    assert a == b


@pytest.mark.parametrize("name", ["to_bools", "to_ints", "to_floats", "to_dates", "to_sides", "to_texts"])
def test_answer_columns(pair, name):
    here, there = pair("answers.py")
    for i, v in enumerate(module(pair)["COLUMNS"]):
        a, b = (h.call(name, i=[i, 0, 0]) for h in (here, there))
        assert a == b, f"{name} answers {type(v).__name__} {v!r}: {a} here, {b} in the worker"


@pytest.mark.parametrize("name, columns", CALLS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CALLS)])
def test_arguments(pair, name, columns):
    here, there = pair("seen.py")
    a, b = (h.call(name, ts=77, **columns) for h in (here, there))
    assert a == b and a.error == b.error, (a, a.error, b, b.error)
    assert a.values == b.values


def test_the_comparison_can_fail(pair):
    here, there = pair("answers.py")
    assert here.call("to_int", i=3) != there.call("to_int", i=4)
    assert here.call("to_float", i=15) != there.call("to_float", i=16)  # 0.0 and -0.0


def test_stopped_and_capped(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import redan\n@redan.plugin\ndef f(x: int) -> int:\n    while True:\n        pass\n"
                    "@redan.plugin\ndef g(x: int) -> int:\n    return len(open('/etc/passwd').read())\n"
                    "@redan.plugin\ndef h(x: int) -> int:\n    print('x' * 5000)\n    return 1\n")
    there, here = Harness(file, confined=True, deadline_ms=20), Harness(file, deadline_ms=20)
    assert there.call("f", x=1).outcome == here.call("f", x=1).outcome == "timeout"
    a = there.call("g", x=1)
    assert a.outcome == "exception" and "PermissionError" in a.error and there.violations[0][0] == "openat"
    assert there.call("h", x=1).log == here.call("h", x=1).log == "x" * 4096
