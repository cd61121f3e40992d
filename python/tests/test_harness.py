# SPDX-License-Identifier: Apache-2.0
"""redan.testing in the author's process: loading, tunables, data, state, records, strategies, the pytest fixture; what is refused."""
import json
import pathlib
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import _redan
import redan
from redan.testing import Harness, batch_equals_scalar, can_confine, record, replay, rows

HERE = pathlib.Path(__file__).parent
FRAUD = HERE / "plugins/fraud"
GOOD = dict(eur=[900.0, 9.0, 50.0], mcc=[7995, 5411, 4829], online=[True, False, True])


def plugin(tmp_path, text):
    file = tmp_path / "mine.py"
    file.write_text("import redan\nfrom typing import Annotated, Any\n" + textwrap.dedent(text))
    return file


def test_folder_with_modules_data_and_config():
    h = Harness(FRAUD)
    a = h.call("fraud_model", **GOOD)
    z = 0.002 * np.array(GOOD["eur"]) + 0.6 * np.array(GOOD["online"]) + 0.8 * np.isin(GOOD["mcc"], [7995, 4829]) - 2.0
    assert a.outcomes == ["value"] * 3 and a.values == (1 / (1 + np.exp(-z))).tolist()
    assert Harness(FRAUD, config={"slope": 0.004}).call("fraud_model", **GOOD) != a
    assert h.call("label", eur=[1.0, -1.0], name="abc").outcomes == ["value", "undefined"]
    assert h.call("label", eur=1.0, name="1234567").outcomes == ["refused"]      # str(6) in the manifest
    assert "fraud_risk" not in sys.modules and "fraud_score" not in sys.modules


@pytest.mark.skipif(bool(can_confine()), reason=can_confine() or "-")
def test_folder_confined():
    a, b = Harness(FRAUD).call("fraud_model", **GOOD), Harness(FRAUD, confined=True).call("fraud_model", **GOOD)
    assert a == b and b.outcomes == ["value"] * 3


@pytest.mark.parametrize("config, error, text", [({"slope": "x"}, TypeError, "R4203 config.slope is str"), ({"slop": 1.0}, LookupError, "R4203 config.slop is no tunable")])
def test_wrong_config(config, error, text):
    with pytest.raises(error, match=text):
        Harness(FRAUD, config=config)


def test_state_goes_over_a_reload():
    h = Harness(FRAUD)
    assert h.save() == {"seen": 0}
    assert h.reload().save() == {"seen": 1} and h.reload().save() == {"seen": 2}


@pytest.mark.parametrize("text, what", [
    ("def f(x) -> int: return 1", "parameter 'x' of f has no type"), ("def f(x: int): return 1", "f has no return type"),
    ("def f(x: list) -> int: return 1", "parameter 'x' of f has no usable type"), ("def f(x: int) -> dict: return 1", "the answer of f has no usable type"),
    ("def f(x: int, *, k: int) -> int: return 1", "tunable 'k' of f has no default"), ("def f(*x: int) -> int: return 1", "list of parameters")])
def test_what_no_rule_can_declare(tmp_path, text, what):
    with pytest.raises(redan.SignatureError, match=f"R4221 .*{what}"):
        Harness(plugin(tmp_path, "@redan.plugin\n" + text))


def test_rules_are_compared(tmp_path):
    file = plugin(tmp_path, """
        @redan.event
        class Order:
            qty: int
            side: Annotated[int, redan.enum("buy", "sell")]

        @redan.plugin
        def f(o: Order, x: int) -> float:
            return o.qty * x
        """)
    rules = tmp_path / "r.rdn"
    text = "ruleset r version 1\n  undefined skip\nevent Order { qty: int  side: enum(buy,sell) }\nplugin f(o: Order, x: int) -> float deadline 5ms\nrule r on Order { when f(Order, 2) > 1.0 flag A }\n"
    rules.write_text(text)
    assert Harness(file, rules=rules).call("f", o=[{"qty": 2, "side": "buy"}], x=[4]).values == [8.0]
    for old, new, what in (("x: int)", "x: float)", "'x' of f is int here, float in the rules"), ("qty: int ", "qty: float ", "layout of event 'Order' differs: field 1 is qty"),
                           ("enum(buy,sell)", "enum(sell,buy)", "layout of event 'Order'"), ("-> float", "-> int", "the answer of f is float here")):
        rules.write_text(text.replace(old, new).replace("f(Order, 2)", "f(Order, 2.0)" if "x: float" in new else "f(Order, 2)").replace("> 1.0", "> 1" if new == "-> int" else "> 1.0"))
        with pytest.raises(redan.SignatureError, match=what):
            Harness(file, rules=rules).call("f", o=[{"qty": 2, "side": "buy"}], x=[4])


def test_enum_members_by_name(tmp_path):
    h = Harness(plugin(tmp_path, """
        import enum
        Side = redan.enum("buy", "sell")
        class Mood(enum.IntEnum):
            calm = 0
            wild = 1

        @redan.plugin
        def f(side: Annotated[int, Side], mood: Mood) -> Annotated[str, redan.text(20)]:
            return f"{side.name} {mood.name} {Side.names[side]} {Side.index('sell')}"
        """))
    assert h.call("f", side=["sell"], mood=["wild"]).values == ["sell wild sell 1"]
    assert h.call("f", side=[2], mood=[0]).outcomes == ["refused"]
    with pytest.raises(ValueError, match="'hold' is not one of buy, sell"):
        h.call("f", side=["hold"], mood=[0])


def test_wrong_calls():
    h = Harness(FRAUD)
    with pytest.raises(LookupError, match="R4323 no function 'nothing'"):
        h.call("nothing")
    with pytest.raises(TypeError, match="no parameter 'euro'"):
        h.call("fraud_model", euro=1)
    with pytest.raises(TypeError, match="'mcc' is missing"):
        h.call("fraud_model", eur=1.0)
    with pytest.raises(ValueError, match="different lengths"):
        h.call("fraud_model", eur=[1.0, 2.0], mcc=[1, 2, 3], online=True)
    with pytest.raises(TypeError):
        h.call("fraud_model", eur=["a"], mcc=[1], online=True)
    with pytest.raises(redan.Error) as e:
        Harness(HERE / "plugins/no-such-folder")
    assert e.value.code == "R4201"


def test_random_numbers_and_prints(tmp_path):
    h = Harness(plugin(tmp_path, """
        @redan.plugin
        def f(x: int) -> float:
            print("x is", x)
            return redan.rng().random()
        """))
    a = h.call("f", x=[1, 2])
    assert a == h.call("f", x=[1, 2]) and a.log == "x is 1\nx is 2\n" and repr(a).startswith("<2 answers: 0.")
    assert Harness(h.manifest.path, seed=2).call("f", x=1) != h.call("f", x=1)


def test_records(tmp_path):
    calls = tmp_path / "calls.jsonl"
    h = record(Harness(FRAUD), calls)
    h.call("fraud_model", **GOOD, ts=5)
    h.call("label", eur=[1.0, -1.0], name=["a", "b"])
    assert replay(calls, "fraud_model", FRAUD) == 1 and replay(calls, plugin=FRAUD) == 2
    changed = tmp_path / "fraud"
    shutil.copytree(FRAUD, changed)
    assert replay(calls, plugin=changed) == 2
    score = changed / "fraud_score.py"
    score.write_text(score.read_text().replace("- 2.0", "- 2.0000000000000004"))
    with pytest.raises(AssertionError, match="R4224 .*calls.jsonl:1: fraud_model row"):       # one bit is enough
        replay(calls, plugin=changed)
    score.write_text(score.read_text().replace("name[:2]", "name[:3]").replace("2.0000000000000004", "2.0"))
    assert replay(calls, plugin=changed) == 2
    line = json.loads(calls.read_text().splitlines()[0])
    calls.write_text(json.dumps(line | {"params": [["eur", "int"]]}) + "\n")
    with pytest.raises(AssertionError, match="R4222"):
        replay(calls, plugin=changed)
    with pytest.raises(ValueError, match="has no call of label"):
        replay(calls, "label", changed)


def test_records_of_another_width(tmp_path):
    """`redan run --record` writes texts as wide as the manifest of the worker wants them."""
    calls = tmp_path / "calls.jsonl"
    h = record(Harness(FRAUD), calls)
    h.call("label", eur=[1.0], name=["ab"])
    text = calls.read_text()
    wide = next(p.type.text for p in h.signature("label")[0] if p.name == "name")
    raw = json.loads(text)["raw"]["name"]
    assert len(raw) > 8
    calls.write_text(text.replace(f'["name", "{wide}"]', '["name", "str(4)"]').replace(f'"{raw}"', f'"{raw[:8]}"'))
    assert replay(calls, plugin=FRAUD) == 1
    calls.write_text(text.replace(f'["name", "{wide}"]', '["name", "int"]'))
    with pytest.raises(AssertionError, match="R4222"):
        replay(calls, plugin=FRAUD)


DRAWS = """
    import random
    import numpy as np
    AT_LOAD = random.random() + np.random.rand()
    @redan.plugin
    def f(x: float) -> float:
        return AT_LOAD + random.random() + np.random.normal() + redan.rng().random() + x
"""


def test_random_numbers_are_the_workers(tmp_path):
    """The same seed draws the same numbers here and confined, at load and call after call; and this process keeps its own generators."""
    import random
    file = plugin(tmp_path, DRAWS)
    random.seed(5)
    np.random.seed(5)
    own = random.random(), np.random.rand()
    random.seed(5)
    np.random.seed(5)
    here, other = [Harness(file, seed=s) for s in (7, 8)]
    first, again, different = here.call("f", x=[0.0] * 20), here.call("f", x=[0.0] * 20), other.call("f", x=[0.0] * 20)
    assert (random.random(), np.random.rand()) == own
    assert first.raw != again.raw and first.raw != different.raw and len(set(first.raw)) == 20
    if can_confine():
        pytest.skip(can_confine())
    worker = Harness(file, seed=7, confined=True)
    assert worker.call("f", x=[0.0] * 20) == first and worker.call("f", x=[0.0] * 20) == again
    assert Harness(FRAUD, seed=7)._plugin.seed != here._plugin.seed


def test_bundle(tmp_path):
    """A bundle is called as the folder it was packed from: modules, data, tunables and all."""
    import hashlib
    files = [(p.name, p.read_bytes()) for p in sorted(FRAUD.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    manifest = _redan.pack(str(FRAUD))
    head = {"abi": 0, "env": "", "files": [{"bytes": len(b), "name": n, "sha256": hashlib.sha256(b).hexdigest()} for n, b in files], "host": "0.1.0", "kind": "plugin",
            "name": manifest["id"], "python": ">=3.11", "version": manifest["version"]}
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    bundle = tmp_path / "fraud.rdb"
    bundle.write_bytes(b"RDNBNDL1" + len(text).to_bytes(4, "little") + text + b"".join(b for _, b in files))
    want = Harness(FRAUD).call("fraud_model", **GOOD)
    assert Harness(bundle).call("fraud_model", **GOOD) == want
    if not can_confine():
        assert Harness(bundle, confined=True, deadline_ms=2000).call("fraud_model", **GOOD) == want
    bundle.write_bytes(bundle.read_bytes()[:-1] + b"x")
    with pytest.raises(redan.Error, match="R4202"):
        Harness(bundle)


def test_records_of_events(tmp_path):
    calls = tmp_path / "calls.jsonl"
    h = Harness(HERE / "plugins/seen.py", record=calls)
    h.call("view", o=[dict(account="a", qty=5, px=-1, note="x", side="sell", day=1, hot=True, m=[[1.0, 2.0], [3.0, 4.0]])])
    assert replay(calls, plugin=HERE / "plugins/seen.py") == 1


def test_grouping(tmp_path):
    batch_equals_scalar(FRAUD, "fraud_model", examples=20, rows=8)
    batch_equals_scalar(FRAUD, "label", examples=20, rows=8)
    bad = plugin(tmp_path, """
        @redan.plugin(batch=True)
        def mean(x: redan.Floats) -> redan.Floats:
            return x - (x.max() if len(x) > 2 else 0.0)

        @redan.plugin
        def counter(x: int, *, box: int = 0) -> int:
            seen.append(x)
            return len(seen)
        seen = []
        """)
    for name in ("mean", "counter"):
        with pytest.raises(AssertionError, match=f"R4225 {name} answers otherwise"):
            batch_equals_scalar(bad, name, examples=60, rows=8)


def test_strategies_reach_the_edges():
    from hypothesis import given, settings
    h = Harness(HERE / "plugins/seen.py")
    met = set()

    @settings(max_examples=300, database=None, deadline=None, derandomize=True)
    @given(rows(h, "scalars", max_rows=8))
    def scalars(cols):
        met.update(("f", repr(x)) for x in cols["f"])
        met.update(("i", x) for x in cols["i"])
        met.update(("d", x) for x in cols["d"])
        assert set(h.call("scalars", **cols).outcomes) == {"value"}

    @settings(max_examples=60, database=None, deadline=None, derandomize=True)
    @given(rows(h, "more", max_rows=8))
    def more(cols):
        met.update(("s", x) for x in cols["s"])
        assert set(h.call("more", **cols).outcomes) <= {"value", "bad_value"}      # told in more than 255 bytes

    @settings(max_examples=60, database=None, deadline=None, derandomize=True)
    @given(rows(h, "view", max_rows=8))
    def events(cols):
        met.update(("note", r["note"]) for r in cols["o"])
        assert set(h.call("view", **cols).outcomes) == {"value"}
    scalars()
    more()
    events()
    assert {("f", "-0.0"), ("f", "5e-324"), ("i", 2**63 - 1), ("i", -2**63), ("d", "-92233720368547758.08"), ("s", ""), ("note", None)} <= met


def test_fixture(tmp_path):
    shutil.copytree(FRAUD, tmp_path / "fraud")
    (tmp_path / "fraud/tests").mkdir()
    (tmp_path / "fraud/tests/test_it.py").write_text(textwrap.dedent("""
        import pytest

        def test_here(redan_harness):
            assert redan_harness.call("fraud_model", eur=[900.0], mcc=[7995], online=[True]).outcome == "value"

        @pytest.mark.redan("..", config={"slope": 0.5})
        def test_options(redan_harness):
            assert redan_harness.config["slope"] == 0.5 and redan_harness.functions == ("fraud_model", "label")

        @pytest.mark.redan(confined=True)
        def test_confined(redan_harness):
            assert redan_harness.confined

        def test_fails(redan_harness):
            assert redan_harness.call("fraud_model", eur=[900.0], mcc=[7995], online=[True]).values == [2.0]
        """))
    (tmp_path / "test_none.py").write_text("def test_none(redan_harness): pass\n")
    r = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(["-p", "redan.pytest_plugin"] if _unregistered() else []), str(tmp_path)],
                       capture_output=True, text=True)
    assert "1 failed" in r.stdout and "1 error" in r.stdout and ("3 passed" in r.stdout or "1 skipped" in r.stdout), r.stdout
    assert "no plugin.yaml above" in r.stdout


def _unregistered():
    from importlib.metadata import entry_points
    return not any(e.value == "redan.pytest_plugin" for e in entry_points(group="pytest11"))


def test_no_worker_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("REDAN_WORKER", str(tmp_path / "none"))
    assert "R4343" in can_confine() and "not installed" in can_confine()
    monkeypatch.delenv("REDAN_WORKER")
    monkeypatch.setenv("REDAN_LIBEXEC", str(tmp_path))
    fake = tmp_path / "redan-worker"
    fake.write_text("#!/bin/sh\necho redan-worker wire 0 role 9\n")
    fake.chmod(0o755)
    assert "R4343" in can_confine() and "of another version: it says 'redan-worker wire 0 role 9'" in can_confine()
    import _redan
    fake.write_text(f"#!/bin/sh\necho redan-worker wire {_redan.WIRE_VERSION} role {_redan.ROLE_ABI}\n")
    assert f"R4343 {fake} has no Python" in can_confine()
    with pytest.raises(redan.Error) as e:
        Harness(FRAUD, confined=True).call("label", eur=1.0, name="a")
    assert e.value.code == "R4343"


def test_timeout_is_for_the_author(tmp_path):
    file = plugin(tmp_path, """
        @redan.plugin
        def f(x: int) -> int:
            try:
                while True:
                    pass
            except Exception:
                return 1
        """)
    a = Harness(file, deadline_ms=10).call("f", x=[1, 2])
    assert a.outcomes == ["timeout"] * 2 and "PluginTimeout: the deadline has passed (mine.py:" in a.error
    assert issubclass(redan.PluginTimeout, BaseException) and not issubclass(redan.PluginTimeout, Exception)


def test_engine_with_a_plugin():
    if can_confine():
        pytest.skip(can_confine())
    rules = """ruleset t version 1
  undefined skip
event Txn { eur: float  mcc: int  online: bool }
plugin fraud_model(eur: float, mcc: int, online: bool) -> float deadline 50ms default 0.0
rule r on Txn { when fraud_model(eur, mcc, online) > 0.7 hold MODEL }
"""
    with redan.Engine(rules, plugins={"fraud_model": {"file": FRAUD, "time_cap_ms": 50}}) as e:
        e.judge("Txn", ts=1, eur=900.0, mcc=7995, online=True)           # the first call may be late on a busy machine
        assert [e.judge("Txn", ts=2, eur=x, mcc=7995, online=True).verdict for x in (900.0, 9.0)] == ["hold", "accept"]
        e.reload("fraud_model")
    with pytest.raises(TypeError, match="no setting memory"):
        redan.Engine(rules, plugins={"fraud_model": {"file": FRAUD, "memory": 1}})
    with pytest.raises(redan.Error, match="R4324|R4222"):
        redan.Engine(rules.replace("mcc: int, online", "mcc: float, online").replace("mcc: int  online", "mcc: float  online"), plugins={"fraud_model": FRAUD})


def test_engine_opens_what_was_reloaded(tmp_path):
    """A plugin that rules declare later, or with another signature, comes from the file that was loaded last."""
    if can_confine():
        pytest.skip(can_confine())
    rules = "ruleset t version 1\n  undefined skip\nevent E { x: int }\nplugin f(x: int) -> %s deadline 1s default 0\nrule r on E { when f(x) > 5%s flag A }\n"
    text = "import redan\n@redan.plugin\ndef f(x: int) -> %s:\n    return %s\n"
    old, new, other = (tmp_path / name for name in ("old.py", "new.py", "other.py"))
    old.write_text(text % ("int", "1"))
    new.write_text(text % ("int", "9"))
    other.write_text(text % ("float", "9.0"))
    with redan.Engine("ruleset t version 1\n  undefined skip\nevent E { x: int }\nrule r on E { when x > 99 flag A }\n", plugins={"f": old}) as e:
        e.reload("f", new)
        e.load(rules % ("int", ""))
        assert e.judge("E", ts=1, x=1).codes == ("A",)
        with pytest.raises(redan.Error):
            e.reload("f", other)
        with pytest.raises(redan.Error, match="R4324"):
            e.load(rules % ("float", ".0"))
        assert e.judge("E", ts=2, x=1).codes == ("A",)
