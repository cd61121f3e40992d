# SPDX-License-Identifier: Apache-2.0
"""Plugins in Lua and C in the harness: in a worker, because this process does not run them."""
import pathlib
import shutil
import subprocess

import pytest
from hypothesis import given, settings

import redan
from redan.testing import Harness, batch_equals_scalar, can_confine, record, replay, rows

ROOT = pathlib.Path(__file__).parents[2]
AVERAGES, QUOTES = ROOT / "examples/plugin_lua", ROOT / "examples/plugin_c"
WHY = can_confine("lua")
pytestmark = pytest.mark.skipif(bool(WHY), reason=WHY or "-")
F = 'redan.plugin("f(x: int) -> int", function(x)\n{}\nend)\n'


def project(folder, code, *, signature="(x: int) -> int", more=""):
    """A folder with one function f; rewritten, it is the next text of the same plugin."""
    folder.mkdir(exist_ok=True)
    (folder / "plugin.yaml").write_text("schema: 1\nplugin: {id: org.example.f, version: 1.0.0, kind: lua, entry: f.lua}\nfunctions:\n"
                                        f'  f: {{signature: "{signature}"}}\n{more}')
    (folder / "f.lua").write_text(code)
    return folder


def one(folder, *lines, **kw):
    return project(folder, F.format("\n".join(lines)), **kw)


def test_the_example():
    h = Harness(AVERAGES)
    assert h.confined and h.functions == ("trend", "lots")
    a = h.call("trend", symbol="EUR", bid=[99.9] * 4 + [100.9, 89.9], ask=[100.1] * 4 + [101.1, 90.1])
    assert a.values == ["flat"] * 4 + ["up", "down"]
    assert h.call("lots", cash=["1000.00", "1.00"], price=["12.5000", "0.0000"]).values == [80, None]
    assert h.call("trend", symbol="A" * 13, bid=1.0, ask=1.1).outcome == "refused"


def test_outcomes(tmp_path):
    h = Harness(one(tmp_path / "p", "  if x == 1 then return nil end", "  if x == 2 then error('two') end", "  if x == 3 then return 1.5 end",
                    "  if x == 4 then print('four') end", "  if x == 5 then while true do end end", "  if x == 6 then return #string.rep('x', 2^30) end", "  return x * 2"), deadline_ms=20)
    got = {x: h.call("f", x=x) for x in range(5)}
    assert [a.outcome for a in got.values()] == ["value", "undefined", "exception", "bad_value", "value"]
    assert got[2].error == "error: two (f.lua:3 in f)" and got[4].log == "four\n" and got[4].values == [8]
    assert h.call("f", x=[2, 7]).outcomes == ["exception", "value"]
    assert h.call("f", x=5).outcome in ("timeout", "killed")
    assert h.call("f", x=6).outcome == "memory" and h.call("f", x=7).values == [14]
    assert h.violations == []


def test_what_is_refused(tmp_path):
    folder = one(tmp_path / "p", "  return x")
    with pytest.raises(redan.Error, match="runs in a worker only") as e:
        Harness(folder, confined=False)
    assert e.value.code == "R4206"
    with pytest.raises(ValueError, match="the manifest's in a worker"):
        Harness(folder, config={"slope": 1})
    h = Harness(folder)
    with pytest.raises(LookupError, match="no function 'g' in f.lua; there is f"):
        h.call("g", x=1)
    with pytest.raises(redan.Error, match="reload.. carries it") as e:
        h.save()
    with pytest.raises(redan.Error) as e:
        Harness(one(tmp_path / "p", "  return = 1")).call("f", x=1)
    assert (e.value.code, e.value.line) == ("R4320", 2)
    with pytest.raises(redan.Error) as e:
        Harness(one(tmp_path / "p", "  return x", signature="(x: float) -> int")).call("f", x=1)
    assert e.value.code == "R4324"
    with pytest.raises(LookupError, match="names an event: rules=FILE"):
        Harness(one(tmp_path / "p", "  return x", signature="(o: Order) -> int")).call("f", o={})


def test_one_file_with_rules(tmp_path):
    file, rules = tmp_path / "f.lua", tmp_path / "r.rdn"
    file.write_text('redan.plugin("f(o: Order) -> int", function(o) return o.qty + 1 end)\n')
    rules.write_text("ruleset r version 1\n  undefined skip\nevent Order { qty: int }\nplugin f(o: Order) -> int deadline 50ms\n")
    with pytest.raises(LookupError, match="none that the manifest or rules=FILE declares"):
        Harness(file).call("f", o={"qty": 1})
    assert Harness(file, rules=rules).call("f", o=[{"qty": 1}, {"qty": 5}]).values == [2, 6]


def test_state_goes_over_a_reload(tmp_path):
    count = "local n = 0\nredan.on_save(function() return { n = n } end)\nredan.on_load(function(s) n = s.n end)\n" + F.format("  n = n + x\n  return n")
    h = Harness(project(tmp_path / "p", count, more="state: {mode: carry}\n"))
    assert h.call("f", x=[1, 2]).values == [1, 3]
    project(tmp_path / "p", count + "-- another text\n", more="state: {mode: carry}\n")
    assert h.reload() is h and h.call("f", x=1).values == [4]
    project(tmp_path / "p", "not Lua", more="state: {mode: carry}\n")
    with pytest.raises(redan.Error) as e:
        h.reload()
    assert e.value.code == "R4320" and h.call("f", x=1).values == [5]    # the old text goes on


def test_recorded_and_made_again(tmp_path):
    calls = tmp_path / "calls.jsonl"
    h = record(Harness(one(tmp_path / "p", "  return x * 3")), calls)
    h.call("f", x=[1, 2, 3], ts=5)
    assert replay(calls, "f", tmp_path / "p") == 1
    with pytest.raises(AssertionError, match="R4224"):
        replay(calls, "f", one(tmp_path / "q", "  return x * 4"))


@settings(max_examples=10, deadline=None)
@given(rows(AVERAGES, "lots"))
def test_any_row(columns):
    assert set(LOTS.call("lots", **columns).outcomes) <= {"value", "undefined"}


LOTS = Harness(AVERAGES) if not WHY else None


def test_grouping(tmp_path):
    batch_equals_scalar(AVERAGES, "lots", examples=10)
    bad = project(tmp_path / "p", 'redan.batch("f(x: int) -> int", function(b, out) for i = 0, b.n - 1 do out.value[i] = b.n end end)\n')
    with pytest.raises(AssertionError, match="R4225"):
        batch_equals_scalar(bad, "f", examples=10)


def test_fixture(pytester_like):
    r = pytester_like(AVERAGES, "def test_lua(redan_harness):\n    assert redan_harness.confined and redan_harness.call('lots', cash='8.00', price='2.0000').values == [4]\n")
    assert "1 passed" in r, r


@pytest.fixture
def pytester_like(tmp_path):
    """pytest in a process of its own on a copy of a plugin with one more test."""
    import os
    import sys

    def run(folder, test):
        shutil.copytree(folder, tmp_path / "copy")
        (tmp_path / "copy/tests/test_it.py").write_text(test)
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "redan.pytest_plugin", tmp_path / "copy/tests"], env=dict(os.environ),
                              capture_output=True, text=True).stdout
    return run


NO_NATIVE = can_confine("native") or ("" if shutil.which("cc") else "no C compiler")


@pytest.mark.skipif(bool(NO_NATIVE), reason=NO_NATIVE or "-")
def test_native(tmp_path):
    shutil.copytree(QUOTES, tmp_path / "q")
    subprocess.run(["cc", "-std=c99", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,noexecstack", "-I", ROOT / "include", "quotes.c", "-o", "libquotes.so"], cwd=tmp_path / "q", check=True)
    h = Harness(tmp_path / "q")
    assert h.confined and h.functions == ("mid", "imbalance")
    assert h.call("mid", bid=[1.0, 2.0], ask=[2.0, 1.0]).values == [1.5, None]
    assert h.call("imbalance", bids=3, asks=1).values == [0.5]
