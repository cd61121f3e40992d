#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the times of jit/plan.def: small rule sets of one kind each, on the event of bench-rules; a time is the difference between two of
them. `./dev bench plan` prints them; this program prints name, the value in plan.def, the measured one.

  plan.py [--build DIR]

Times are of the machine that runs it; the planner needs their ratios. Takes half a minute and wants a quiet machine. Exit 77: no machine code
here."""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FLOATS = {'price': (10, 500), 'qty': (1, 1000), 'notional': (10, 5e5), 'position': (-1e4, 1e4), 'cap': (0, 1e6), 'pnl': (-1e5, 1e5), 'vol': (0, 1),
          'spread': (0, .1), 'mid': (10, 500), 'exposure': (0, 1e7), 'margin': (0, 1e6), 'drawdown': (0, .5), 'rate': (0, 100)}
EVENT = ('ruleset plan version 1\n  undefined skip\nevent E { price: float  qty: float  notional: float  account: int  symbol: sym  side: enum(buy, sell)\n'
         '  position: float  cap: float  pnl: float  vol: float  spread: float  mid: float  exposure: float  margin: float  drawdown: float  rate: float }\n')
NAMES = list(FLOATS)


class Bench:
    """Which program is asked, and how often."""
    program, rounds = ROOT / 'build/bench/bench-rules', 20


def below(rng, field, p):
    """A clause on one field that holds in a share p of the events; no two are the same."""
    lo, hi = FLOATS[field]
    return f'{field} < {lo + (hi - lo) * (p + rng.uniform(-.001, .001)):.9f}'


def clauses(rng, n, p=.6):
    return [below(rng, f, p) for f in rng.sample(NAMES, n)]


def product(rng, p=.6):
    a, b = rng.sample(NAMES, 2)
    return f'{a} * {b} < {drawn(rng, lambda e: e[a] * e[b], p):.6f}'


def drawn(rng, make, p):
    """make(value of each field by name) < a constant that lets a share p pass."""
    v = sorted(make({f: rng.uniform(*FLOATS[f]) for f in NAMES}) for _ in range(400))
    return v[round(p * 399)] + (v[-1] - v[0]) * (.01 if p == 1 else -.01 if p == 0 else 0)


def linear(rng, p=.6):
    a, b = rng.sample(NAMES, 2)
    k = rng.uniform(.25, 2.25) * (FLOATS[b][1] - FLOATS[b][0]) / (FLOATS[a][1] - FLOATS[a][0])
    return f'{a} * {k:.9f} + {b} < {drawn(rng, lambda e: e[a] * k + e[b], p):.6f}'


def difference(rng, p=.6):
    a, b = rng.sample(NAMES, 2)
    return f'{a} - {b} < {drawn(rng, lambda e: e[a] - e[b], p):.6f}'


def quotient(rng, p=.6):
    a, b = rng.sample([n for n in NAMES if FLOATS[n][0] > 0], 2)
    return f'{a} / {b} < {drawn(rng, lambda e: e[a] / e[b], p):.6f}'


def ns(rules, force=None):
    """Of an event, for rules given as lists of clauses."""
    text = EVENT + ''.join(f'rule r{i} on E {{ when {" and ".join(f"({c})" for c in r)} flag HIT }}\n' for i, r in enumerate(rules))
    with tempfile.NamedTemporaryFile('w', suffix='.rdn') as f:
        f.write(text)
        f.flush()
        env = dict(os.environ)
        env.pop('REDAN_JIT_FORCE', None)
        if force:
            env['REDAN_JIT_FORCE'] = force
        cmd = [str(Bench.program), '--file', f.name, '--rounds', str(Bench.rounds)]
        out = subprocess.run(cmd, env=env, capture_output=True, text=True, check=True).stdout
    return json.loads(out)['ns_min']


def slope(make, force='flat', few=32, many=256):
    """What one rule more costs."""
    return (ns([make() for _ in range(many)], force) - ns([make() for _ in range(few)], force)) / (many - few)


def of_rules(rng):
    """Rules in one function: what they compute, jump over, and miss."""
    two, four = (slope(lambda k=k: clauses(rng, k)) for k in (2, 4))
    simple, mul, div = ((slope(lambda f=f: clauses(rng, 2) + [f(rng), f(rng)]) - four) / 2 for f in (difference, product, quotient))
    clause = (four - two) / 2
    rule = two - 2 * clause
    yield 'ns_rule', rule
    yield 'ns_and', clause - simple
    yield 'ns_simple', simple
    yield 'ns_mul', mul
    yield 'ns_div', div
    yield 'ns_one', slope(lambda: [below(rng, rng.choice(NAMES), rng.uniform(.2, .8))]) - rule - clause
    never, seldom = (slope(lambda p=p: [linear(rng, p)] + clauses(rng, 3, .9), 'branch') for p in (0, .1))
    yield 'ns_jump', never - 2 * simple - mul
    yield 'ns_wrong', (seldom - never) / .1 - 3 * clause
    make = lambda: [linear(rng)] + clauses(rng, 3)
    yield 'far', slope(make, many=1000) / slope(make)


def of_looks(rng, last, base):
    """Look-ups beside one rule that is computed."""
    keys = [[f'account == {2000 + i}'] + clauses(rng, 2) for i in range(64)]
    one, two = (ns(k + last) - base for k in (keys, keys + [[f'symbol == "X{i}"'] + clauses(rng, 2) for i in range(64)]))
    yield 'ns_look', two - one
    yield 'ns_start', one - (two - one)
    yield 'ns_sparse', ns([[f'symbol == "S{i}"'] + clauses(rng, 2) for i in range(64)] + last) - base - one
    four, twelve = (ns([[below(rng, NAMES[f], -.1 - .01 * i)] + clauses(rng, 2) for f in range(n) for i in range(16)] + last, 'ladder') - base for n in (4, 12))
    yield 'ns_ladder', (twelve - four) / 8
    yield 'ns_climb', four - (twelve - four) / 2
    past = ns([[below(rng, NAMES[f], .05)] + clauses(rng, 2) for f in range(12) for i in range(16)] + last, 'ladder') - base
    yield 'ns_rung', (past - twelve) / (12 * 16 * .05)


def of_sets(rng, last, base):
    """Kill sets, where fifty clauses make all rules, and pure ladders."""
    all_hold, half = ([ns([rng.sample(pool, 4) for _ in range(n)], 'kill') for n in (256, 1000)]
                      for pool in ([linear(rng, p) for _ in range(50)] for p in (1, .5)))
    false = [(h - a) / 25 for h, a in zip(half, all_hold)]
    yield 'ns_kill_word', (false[1] - false[0]) / 12     # 4 and 16 words of rules
    yield 'ns_kill', false[0] - (false[1] - false[0]) / 3
    yield 'ns_kill_all', (all_hold[1] - all_hold[0]) / 12
    small, large = ((ns([[below(rng, NAMES[f], rng.uniform(.1, .9))] for f in range(8) for _ in range(n)] + last, 'ladder') - base) / 8 for n in (16, 124))
    yield 'ns_pure_word', (large - small) / 13           # 3 and 16 words
    yield 'ns_pure', small - (large - small) / 13 * 3


def stated():
    """What the planner reckons with."""
    return {m[1]: float(m[2]) for m in re.finditer(r'^PLAN\((\w+), *([\d.]+),', (ROOT / 'jit/plan.def').read_text(), re.M)}


def measured(build, rounds=20):
    """(name, value); CalledProcessError with R21… where there is no machine code."""
    Bench.program, Bench.rounds = build / 'bench/bench-rules', rounds
    rng = random.Random(1)
    last = [[difference(rng), linear(rng), linear(rng)]]
    base = ns(last, 'flat')
    yield 'ns_event', base - .7
    yield from of_rules(rng)
    yield from of_looks(rng, last, base)
    yield from of_sets(rng, last, base)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
    a = ap.parse_args()
    reckoned = stated()
    try:
        for name, value in measured(a.build):
            print(f'{name:<14} {reckoned[name]:>8.2f} {value:>8.2f}', flush=True)
    except subprocess.CalledProcessError as e:
        print(e.stderr.strip(), file=sys.stderr)
        return 77 if 'R21' in e.stderr else 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
