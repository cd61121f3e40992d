# SPDX-License-Identifier: Apache-2.0
"""redan.Engine: one event, rows, columns, swaps, errors, threads."""
import datetime
import decimal
import gc
import json
import os
import threading
import time

import numpy as np
import pytest

import redan

UTC = datetime.timezone.utc
RULES = """ruleset cards version 3
  undefined skip
event Txn { card: sym  eur: float  mcc: int  online: bool  px: dec(2)  side: enum(buy,sell)  note: str(8)?  day: date }
event Tick { px: float }
window spend = sum(eur) over 1h by card on Txn keys 1000
rule big on Txn { when eur > 100.0 and mcc == 7995 hold BIG "{eur} is too much" }
rule sell on Txn { when side == "sell" score SELL 5 }
rule noted on Txn { when note == "x" undefined flag NO_NOTE flag NOTED }
rule total on Txn { when spend > 500.0 reject TOTAL emit Alert { card: card, total: spend, px: px } }
rule tick on Tick { when px > 1.0 flag UP }
"""
ROW = dict(card="c1", eur=90.0, mcc=7995, online=True, px="1.25", side="buy", note="x", day="2026-01-05")


@pytest.fixture
def engine():
    with redan.Engine(RULES) as e:
        yield e


def test_one_event(engine):
    d = engine.judge("Txn", {**ROW, "eur": 900.0, "side": "sell"}, ts=5)
    assert (d.verdict, d.codes, d.score, d.now, d.late, d.generation) == ("reject", ("BIG", "SELL", "NOTED", "TOTAL"), 5, 5, False, 1)
    assert d.messages[0] == "900 is too much"
    assert [(e.name, e.fields) for e in d.emits] == [("Alert", {"card": "c1", "total": 900.0, "px": decimal.Decimal("1.25")})]
    late = engine.judge("Txn", ROW, ts=3)
    assert late.late and late.now == 5
    assert engine.state["spend"]["values"] == [[["c1"], 990.0]]


def test_undefined_says_why(engine):
    d = engine.judge("Txn", {**ROW, "note": None}, ts=1)
    assert d.codes == ("NO_NOTE",) and [(u.rule, u.cause) for u in d.undefined] == [("noted", "missing")] and d.undefined[0].line == 8


def test_explain(engine):
    d = engine.explain("Txn", ROW, ts=1)
    assert "rule big: when eur > 100.0 and mcc == 7995 = false" in d.explanation and "eur = 90" in str(d)
    assert engine.state["spend"]["values"] == [[["c1"], 90.0]]        # and it was judged


@pytest.mark.parametrize("ts", [1767600000 * 10**9, datetime.datetime(2026, 1, 5, 8, tzinfo=UTC), np.datetime64("2026-01-05T08:00"), "2026-01-05T08:00:00Z"],
                         ids=["int", "datetime", "datetime64", "text"])
def test_times(engine, ts):
    assert engine.judge("Txn", ROW, ts=ts).now == 1767600000 * 10**9


def test_lines_and_values(engine):
    line = {"type": "Txn", "ts": 1, "f": {**ROW, "eur": 900.0}}
    assert engine.judge_line(line) == redan.Engine(RULES).judge_line(json.dumps(line))
    d = engine.judge("Txn", ROW | {"px": decimal.Decimal("-0.5"), "day": datetime.date(2026, 1, 5), "mcc": np.int64(7995), "online": np.True_,
                                   "eur": np.float64(101)}, ts=2)
    assert d.codes[0] == "BIG"


@pytest.mark.parametrize("change, what", [({"card": 1}, "card"), ({"px": 1.5}, "px"), ({"px": "1.255"}, "px"), ({"side": "hold"}, "side"), ({"mcc": 1.0}, "mcc"),
                                          ({"note": "too long for it"}, "note"), ({"day": "2026-02-30"}, "day"), ({"mcc": 2**63}, "mcc"), ({"online": 1}, "online")])
def test_wrong_values(engine, change, what):
    with pytest.raises(redan.Error, match=what):
        engine.judge("Txn", ROW | change, ts=1)


def test_wrong_names(engine):
    with pytest.raises(KeyError, match="no field 'eurs'"):
        engine.judge("Txn", ROW | {"eurs": 1}, ts=1)
    with pytest.raises(KeyError, match="no event 'Txm'"):
        engine.judge("Txm", ROW, ts=1)
    with pytest.raises(redan.Error, match="missing|'eur'"):
        engine.judge("Txn", {k: v for k, v in ROW.items() if k != "eur"}, ts=1)


def random_rows(n, seed=1):
    r = np.random.default_rng(seed)
    return {"ts": np.arange(n) * 10**9, "card": [f"c{i}" for i in r.integers(0, 40, n)], "eur": r.uniform(0, 200, n), "mcc": r.choice([7995, 5411], n),
            "online": r.integers(0, 2, n).astype(bool), "px": [f"{x:.2f}" for x in r.uniform(-9, 9, n)], "side": r.choice(["buy", "sell"], n),
            "note": [None if x < 3 else "x" if x < 6 else "y" for x in r.integers(0, 9, n)], "day": np.datetime64("2026-01-05") + np.arange(n) % 9}


def dicts(table):
    return [{k: v[i] for k, v in table.items()} for i in range(len(table["ts"]))]


@pytest.mark.parametrize("backend", ["interp", "auto"])
def test_rows_columns_and_one_by_one_agree(backend):
    table = random_rows(3000)
    one, many, packed, by_rows = (redan.Engine(RULES, backend=backend) for _ in range(4))
    each = [one.judge("Txn", {k: v for k, v in r.items() if k != "ts"}, ts=r["ts"]) for r in dicts(table)]
    columns = many.judge_many("Txn", table)
    rows = packed.rows("Txn", dicts(table))
    arrays = packed.judge_many("Txn", rows)
    listed = by_rows.judge_many("Txn", dicts(table))
    assert len(columns) == len(arrays) == len(listed) == 3000 and {d.verdict for d in each} == {"accept", "hold", "reject"}
    for a, b, c, d in zip(each, columns, arrays, listed):
        assert (a.verdict, a.codes, a.score, a.now, a.emits) == (b.verdict, b.codes, b.score, b.now, b.emits)
        assert b == c == d and [u.rule for u in a.undefined] == [u.rule for u in b.undefined]
    assert one.state == many.state == packed.state
    assert columns.counts()["hold"] == int(columns.where("hold").sum()) == sum(d.verdict == "hold" for d in each)
    assert columns.codes.counts()["BIG"] == int(columns.codes.rows("BIG").sum()) == sum("BIG" in d.codes for d in each)


def test_strided_rows_are_read_in_place():
    first = redan.Engine(RULES)
    rows = first.rows("Txn", dicts(random_rows(100)))
    want = [d.codes for d in first.judge_many("Txn", rows.copy())]
    wide = np.zeros((100, 3), rows.dtype)
    wide[:, 1] = rows
    engines = [redan.Engine(RULES) for _ in range(4)]
    for e in engines:
        e.rows("Txn", dicts(random_rows(100)))                 # the same symbols
    assert [d.codes for d in engines[0].judge_many("Txn", wide[:, 1])] == want
    assert [d.codes for d in engines[1].judge_many("Txn", rows[::-1][::-1])] == want
    assert [d.codes for d in engines[2].judge_many("Txn", np.ascontiguousarray(rows[::2]))] == [d.codes for d in engines[3].judge_many("Txn", rows[::2])]
    read_only = rows.copy()
    read_only.flags.writeable = False
    assert len(engines[0].judge_many("Txn", read_only)) == 100
    assert len(engines[0].judge_many("Txn", rows[:0])) == 0
    with pytest.raises(ValueError, match="one dimension"):
        engines[0].judge_many("Txn", wide)


def test_bad_rows(engine):
    rows = engine.rows("Txn", dicts(random_rows(50)))
    rows["side"][30] = 2
    rows["side"][31] = 200
    with pytest.raises(redan.Error, match="row 30") as e:
        engine.judge_many("Txn", rows)
    assert e.value.row == 30 and e.value.name == "INVAL"
    d = engine.judge_many("Txn", rows, skip_bad=True)
    assert d.counts()["bad"] == 2 and d[30].verdict == "bad" and np.flatnonzero(d.where("bad")).tolist() == [30, 31]


@pytest.mark.parametrize("change, error", [({"eur": ["1"]}, TypeError), ({"mcc": [1.5]}, TypeError), ({"mcc": np.array([2**63], np.uint64)}, OverflowError),
                                           ({"px": [1.5]}, TypeError), ({"px": ["1.255"]}, ValueError), ({"side": ["hold"]}, ValueError), ({"note": ["123456789"]}, ValueError),
                                           ({"online": [1]}, TypeError), ({"eur": [1.0, 2.0]}, ValueError), ({"nothing": [1]}, KeyError), ({"day": [2**40]}, OverflowError)],
                         ids=lambda v: next(iter(v)) if isinstance(v, dict) else "")
def test_wrong_columns(engine, change, error):
    table = {k: v[:1] for k, v in random_rows(1).items()} | change
    with pytest.raises(error):
        engine.judge_many("Txn", table)
    with pytest.raises(KeyError, match="missing"):
        engine.judge_many("Txn", {k: v for k, v in random_rows(1).items() if k != "eur"})


def test_arrays_are_wire_values(engine):
    a = {"ts": [1], "card": np.array([engine.symbol("c9")], np.uint32), "eur": [1], "mcc": np.array([5], np.int32), "online": [True], "px": np.array([125]),
         "side": np.array([1], np.uint8), "day": np.array([20458], np.int32), "note": np.ma.array([b"x"], mask=[True])}
    assert engine.judge_many("Txn", a)[0].codes == ("SELL", "NO_NOTE")
    assert engine.symbol_text(engine.symbol("c9")) == "c9"
    with pytest.raises(KeyError):
        engine.symbol_text(10**6)


def test_swap_keeps_windows(engine):
    engine.judge("Txn", ROW, ts=1)
    assert engine.load(RULES.replace("> 500.0", "> 100.0")) == 2
    assert engine.judge("Txn", ROW, ts=2).codes[-1] == "TOTAL"          # 180 since before the swap
    with pytest.raises(redan.Error) as e:
        engine.load(RULES, expect=1)
    assert (e.value.name, e.value.code) == ("STALE", "R3009")
    with pytest.raises(redan.RuleError):
        engine.load(RULES.replace("eur > 100.0", "euro > 100.0"))
    assert engine.generation == 2 and engine.judge("Txn", ROW, ts=3).generation == 2
    assert engine.rollback() == 3 and "TOTAL" not in engine.judge("Txn", ROW, ts=4).codes
    with pytest.raises(redan.Error) as e:
        engine.load(RULES.replace("mcc: int", "mcc: float").replace("7995", "7995.0"))
    assert (e.value.name, e.value.code) == ("LAYOUT", "R3011")


def test_mistakes_have_code_place_and_hint():
    with pytest.raises(redan.RuleError) as e:
        redan.Engine(RULES.replace("eur > 100.0", "eurr > 100.0").replace("px > 1.0", "px > 1"), name="cards.rdn")
    x = e.value
    assert (x.name, x.code, x.line, x.where, x.hint) == ("TYPE", "E0301", 6, "cards.rdn", 'did you mean "eur"?')
    assert "cards.rdn:6:" in str(x) and "^^^^" in str(x) and x.diagnostics[0].end_column - x.diagnostics[0].column == 4
    assert "<pre>" in x._repr_html_()
    with pytest.raises(redan.Error) as e:
        redan.Engine(backend="abacus")
    assert e.value.code == "R2106"


def test_warnings():
    e = redan.Engine(RULES + "let unused on Txn = eur > 1.0\n")
    assert [w.code for w in e.warnings] == ["W0901"] and e.warnings[0].warning


def test_notebook(engine):
    d = engine.judge("Txn", ROW | {"eur": 900.0, "card": "<b>"}, ts=1)
    many = engine.judge_many("Txn", random_rows(60))
    for shown in (engine._repr_html_(), d._repr_html_(), many._repr_html_(), engine.explain("Txn", ROW, ts=2)._repr_html_()):
        assert shown.count("<table>") == shown.count("</table>") == 1
    assert "&lt;b&gt;" in d._repr_html_() and "<b>," not in d._repr_html_() and "40 more rows" in many._repr_html_()
    assert repr(many).startswith("<60 decisions: ") and "5 rules" in repr(engine)


def test_closed(engine):
    lane = engine.lane(0)
    engine.close()
    engine.close()
    for call in (lambda: engine.judge("Txn", ROW, ts=1), lambda: lane.judge_many("Txn", random_rows(1)), lambda: engine.load(RULES), lambda: engine.stats):
        with pytest.raises(redan.Error) as e:
            call()
        assert e.value.name == "CLOSED"


def test_any_order_of_freeing():
    for first in range(3):
        e = redan.Engine(RULES)
        e.judge("Txn", ROW, ts=1)
        parts = [e._engine, e._rules, e.lane(0)._lane]
        e.__dict__.clear()
        del e
        del parts[first]
        gc.collect()
        del parts[0]
        gc.collect()


def test_lanes_and_threads():
    e = redan.Engine(RULES.replace("  undefined skip", "  partition by card\n  undefined skip").replace("event Tick { px: float }", "").replace(
        "rule tick on Tick { when px > 1.0 flag UP }", ""), lanes=2)
    table = random_rows(20000)
    out = [None, None]

    def judge(i):
        out[i] = e.lane(i).judge_many("Txn", table).counts()
    threads = [threading.Thread(target=judge, args=(i,)) for i in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert out[0] == out[1] and sum(out[0].values()) == 20000
    with pytest.raises(redan.Error, match="lane 2 is out of range"):
        e.lane(2)


def test_one_lane_from_many_threads():
    """A lane is used by one thread at a time: others wait."""
    e, table, errors = redan.Engine(RULES), random_rows(2000), []

    def work():
        try:
            for _ in range(3):
                e.judge_many("Txn", table)
                e.judge("Txn", ROW, ts=10**18)
        except Exception as x:
            errors.append(x)
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    for i in range(10):
        e.load(RULES.replace("> 500.0", f"> {500 + i}.0"))
    [t.join() for t in threads]
    assert not errors and e.generation == 11


def test_batches_let_other_threads_run():
    e = redan.Engine(RULES, backend="interp")
    rows = e.rows("Txn", dicts(random_rows(2000)))
    rows = np.tile(rows, 40)
    done, ticks = threading.Event(), 0
    t = threading.Thread(target=lambda: (e.judge_many("Txn", rows), done.set()))
    t.start()
    begun = time.monotonic()
    while not done.is_set() and time.monotonic() - begun < 60:
        ticks += 1
        time.sleep(0.001)
    t.join()
    assert ticks > 20                                   # with the GIL held there would be none


def test_after_fork_the_engine_says_so():
    e = redan.Engine(RULES)
    e.judge("Txn", ROW, ts=1)
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            e.judge("Txn", ROW, ts=2)
            os.write(w, b"judged")
        except redan.Error as x:
            os.write(w, x.name.encode())
        os._exit(0)
    os.close(w)
    os.waitpid(pid, 0)
    assert os.read(r, 100) == b"CLOSED"
    os.close(r)


def test_stats_and_names(engine):
    assert engine.stats["compiles"] >= 1 and engine.name == "cards" and engine.codes[0] == "BIG" and engine.rule_names[0] == "big"
    assert "event Txn { card: sym" in repr(engine.events["Txn"])
