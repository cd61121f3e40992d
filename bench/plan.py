#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the constants of jit/plan.def: small rule sets of one kind each, on the event of bench-rules; a constant is the difference
between two of them. Prints name, the value in plan.def and the measured one.

  plan.py [--build DIR] [NAME…]

Times are of the machine that runs it; the planner needs their ratios. Runs half a minute, wants a quiet machine."""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FLOATS = {'price': (10, 500), 'qty': (1, 1000), 'notional': (10, 5e5), 'position': (-1e4, 1e4), 'cap': (0, 1e6), 'pnl': (-1e5, 1e5), 'vol': (0, 1),
          'spread': (0, .1), 'mid': (10, 500), 'exposure': (0, 1e7), 'margin': (0, 1e6), 'drawdown': (0, .5), 'rate': (0, 100)}
EVENT = ('ruleset plan version 1\n  undefined skip\nevent E { price: float  qty: float  notional: float  account: int  symbol: sym  side: enum(buy, sell)\n'
         '  position: float  cap: float  pnl: float  vol: float  spread: float  mid: float  exposure: float  margin: float  drawdown: float  rate: float }\n')
NAMES = list(FLOATS)
ARGS = None


def below(rng, field, p):
    """A clause on one field that holds in a share p of the events; no two are the same."""
    lo, hi = FLOATS[field]
    return f'{field} < {lo + (hi - lo) * (p + rng.uniform(-.001, .001)):.9f}'


def clauses(rng, n, p=.6):
    return [below(rng, f, p) for f in rng.sample(NAMES, n)]


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
        out = subprocess.run([str(ARGS.build / 'bench/bench-rules'), '--file', f.name, '--rounds', '40'], env=env, capture_output=True, text=True, check=True).stdout
    row = json.loads(out)
    if ARGS.verbose:
        print(f'    {force} {row}')
    return row['ns_min']


def flat(make, n):
    return ns([make() for _ in range(n)], 'flat')


def slope(make, force='flat', few=32, many=256):
    """What one rule more costs."""
    return (ns([make() for _ in range(many)], force) - ns([make() for _ in range(few)], force)) / (many - few)


def main():
    global ARGS
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
    ap.add_argument('--verbose', action='store_true')
    ARGS = ap.parse_args()
    rng = random.Random(1)
    two, four, eight = (slope(lambda k=k: clauses(rng, k)) for k in (2, 4, 8))
    print(f'rule of 2, 4, 8 clauses: {two:.3f} {four:.3f} {eight:.3f}')
    lin, dif, quo = (slope(lambda f=f: clauses(rng, 2) + [f(rng), f(rng)]) for f in (linear, difference, quotient))
    print(f'2 + 2 linear {lin:.3f} difference {dif:.3f} quotient {quo:.3f}')
    print(f'2 + 2 account {slope(lambda: clauses(rng, 2) + [f"account < {rng.randrange(400, 600)}", f"account > {rng.randrange(400, 600)}"]):.3f}')
    print(f'2 + symbol {slope(lambda: clauses(rng, 2) + [f"""symbol == "S{rng.randrange(64)}" """]):.3f}')
    print(f'or {slope(lambda: clauses(rng, 2) + [" or ".join(clauses(rng, 2))]):.3f}')
    for n in (256, 1000):
        for p in (0, .02, .05, .1, .2, .5):
            make = lambda: [linear(rng, p)] + clauses(rng, 3, .9)
            print(f'{n} branches at p {p}: {slope(make, "branch", 32, n):.3f} flat {slope(make, "flat", 32, n):.3f}')
    last = [[difference(rng), linear(rng), linear(rng)]]
    base = ns(last, 'flat')
    print(f'one rule {base:.2f}')
    for words in (1, 2):
        keys = [[f'account == {2000 + i}'] + clauses(rng, 2) for i in range(64)] + [[f'symbol == "X{i}"'] + clauses(rng, 2) for i in range(64)] * (words > 1)
        print(f'index {words} words never: {ns(keys + last) - base:.2f}')
    for per in (1, 2, 4, 16):
        keys = [[f'symbol == "S{i}"'] + clauses(rng, 2) for i in range(64) for _ in range(per)]
        print(f'index always, {per} a key: {ns(keys + last) - base:.2f}')
    keys = [[f'symbol == "S{i}"'] + clauses(rng, 2) for i in range(16)]
    print(f'index, quarter, {per} a key: {ns(keys + last) - base:.2f}')
    for fields in (1, 4, 12):
        ls = [[below(rng, NAMES[f], -.1 - .01 * i)] + clauses(rng, 2) for f in range(fields) for i in range(4)]
        print(f'ladder, {fields} never past: {ns(ls + last, "ladder") - base:.2f} {ns(ls + last, "branch") - base:.2f}')
    for p in (.01, .02, .05):
        for per in (4, 16):
            ls = [[below(rng, NAMES[f], p)] + clauses(rng, 2) for f in range(12) for i in range(per)]
            print(f'ladder 12x{per}, past {p}: {ns(ls + last, "ladder") - base:.2f}  {ns(ls + last, "branch") - base:.2f}')
    for per in (4, 8, 16, 32, 64):
        ls = [[below(rng, NAMES[f], rng.uniform(.1, .9))] for f in range(8) for i in range(per)]
        print(f'pure 8x{per}: {ns(ls + last, "ladder") - base:.2f}  {ns(ls + last, "flat") - base:.2f}')
    for atoms, p in ((50, 1), (50, .8), (50, .5), (200, .8)):
        pool = [linear(rng, p) for _ in range(atoms)]
        for n in (256, 1000):
            ls = [rng.sample(pool, 4) for _ in range(n)]
            print(f'kill {n} rules {atoms} atoms at {p}: {ns(ls, "kill"):.2f}  {ns(ls, "flat"):.2f}')


if __name__ == '__main__':
    main()
