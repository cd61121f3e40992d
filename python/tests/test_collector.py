# SPDX-License-Identifier: Apache-2.0
"""Making an object may run the collector (up to Python 3.11 in the middle of any call), and with it a __del__ that calls the very object
which is answering, or closes its engine. Neither a call that waits for itself nor memory that is gone: each case in a process of its own,
which has 60 s, and in which freed memory is overwritten.

A case is a call and what the __del__ does meanwhile; the call's answer is then the one it gives with no collector at all, or says that
the engine is closed."""
import os
import subprocess
import sys

import pytest

SCRIPT = '''
import gc, sys
import _redan
RULES = b"""ruleset t version 1
  undefined skip
event E { x: int  s: sym  o: int?  e: enum(a,b) }
window w = sum(x) over 1h by s on E keys 1000
rule r on E { when x > 1 score A 3 "x is {x}" emit Z { s: s, x: x, t: ts } }
rule u on E { when o > 1 undefined flag U flag V }
rule q on E shadow { when w > 5 reject Q }
event F { y: int }
rule f on F { when y > 0 hold OTHER "y is {y}" emit Y { y: y } }
"""
BAD = b"ruleset t version 1\\n  undefined skip\\nevent E { x: int  z: int }\\nrule r on E { when y > 1 flag A }\\nrule s on E { when k > 1 flag A }\\n"
LINES = [b'{"type":"E","ts":5,"f":{"x":%d,"s":"q","e":"b"}}' % i for i in range(9)]
class Kit:
    def __init__(self):
        self.e = _redan.Engine(None, 2)
        self.rules, _ = self.e.compile("t.rdn", RULES, None)
        self.e.activate(self.rules)
        self.id, self.other = (self.e.event(name, layout) for name, layout, *_ in self.rules.declared()["events"])
        self.lane = _redan.Lane(self.e)
        self.rows = [self.rules.row(l)[1] for l in LINES]
        self.odd = self.rules.row(b'{"type":"F","ts":5,"f":{"y":1}}')[1]
        self.market = _redan.Market(None, "lobster", (("S", "0.01", "1", 1),), None, 0, None, (), 0, 0, 0, 0)
class Names:                                             # in the middle of a sequence, too
    def __init__(self, k): self.k = k
    def __len__(self): return 2
    def __getitem__(self, i):
        if i > 1: raise IndexError
        meanwhile()
        return "n%d" % i
CALLS = {
    "instruments": lambda k: k.market.instruments(), "stats": lambda k: k.market.stats(), "line": lambda k: k.market.line(0),
    "levels": lambda k: k.market.levels(0, 1, 5), "decode": lambda k: k.market.decode(b"1.5,1,7,10,990000,1\\nnonsense\\n"),
    "judge": lambda k: k.lane.judge(k.id, k.rows[7]), "bad": lambda k: k.lane.judge(k.id, b"1"), "explain": lambda k: k.lane.explain(k.id, k.rows[7], 0),
    "batch": lambda k: k.lane.batch(k.id, b"".join(k.rows), len(k.rows[0]), 9, True), "state": lambda k: k.lane.state(),
    "compile": lambda k: k.e.compile("b.rdn", RULES, None)[1], "diags": lambda k: k.e.compile("b.rdn", BAD, None),
    "declared": lambda k: k.rules.declared(), "row": lambda k: k.rules.row(LINES[3]), "active": lambda k: k.e.active()[0].declared()["rules"],
    "syms": lambda k: k.e.syms(Names(k)), "lane": lambda k: type(_redan.Lane(k.e, 1)),
}
MEANWHILE = {
    "market": lambda k: (k.market.stats(), k.market.instruments()), "lane": lambda k: (k.lane.state(), k.lane.judge(k.other, k.odd)),
    "row": lambda k: k.rules.row(LINES[8]), "close": lambda k: k.e.close(),
}
def meanwhile():
    global armed
    if armed:
        armed = False
        try: MEANWHILE[sys.argv[2]](kit)
        except _redan.EngineError: pass
        armed = sys.argv[2] != "close"
class Mean:
    def __init__(self): self.me = self
    def __del__(self):
        meanwhile()
        if alive: Mean()
def answer(k):
    try: return repr(CALLS[sys.argv[1]](k))
    except _redan.EngineError as e: return "closed" if e.args[0] == -16 else repr(e.args)
armed, alive, made = False, False, 0
plain = answer(Kit())
alive = True
for late in range(60):                                    # the collector comes at each of the first allocations in turn
    kit = Kit()
    gc.collect()
    gc.disable()
    Mean()
    gc.set_threshold(1 + late)
    gc.enable()
    armed = True
    got = answer(kit)
    armed = False
    made += got != "closed"
    gc.set_threshold(700)
    assert got == plain or got == "closed" and sys.argv[2] == "close", (got, plain)
    kit.e.close()
print("good", made)
'''

MARKET, LANE, ENGINE = ("instruments", "stats", "line", "levels", "decode"), ("judge", "bad", "explain", "batch", "state"), ("compile", "diags", "declared", "row", "active", "syms")
CASES = ([(c, "market") for c in MARKET] + [(c, "lane") for c in LANE] + [(c, "close") for c in LANE + ENGINE + ("lane",)] + [("row", "row")])


@pytest.mark.parametrize("call, meanwhile", CASES)
def test_answers_whatever_the_collector_does(call, meanwhile):
    r = subprocess.run([sys.executable, "-c", SCRIPT, call, meanwhile], capture_output=True, text=True, timeout=60, env={**os.environ, "MALLOC_PERTURB_": "165"})
    assert r.returncode == 0 and r.stdout.startswith("good"), r.stdout + r.stderr
