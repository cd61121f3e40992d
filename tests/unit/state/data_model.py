#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists, calendars and host tables against the language model.

Usage: data_model.py DRIVER [SEED [N]]. Prints each difference; exit 0, 1, or 77 without the model."""
import os
import random
import subprocess
import sys
from types import SimpleNamespace as NS

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from win_values import MEMBERS, letter, load_model, pick_type, shown, value, wire  # noqa: E402

driver, seed, count = sys.argv[1], int((sys.argv + ['', '1'])[2] or 1), int((sys.argv + [''] * 2)[3] or 60)
model = load_model()
rng = random.Random(seed)
asks = []
ZONES = ['UTC', '+02:00', '-09:30', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'America/St_Johns', 'Africa/Casablanca']
DAY = 86400 * 10**9


def ask(line, want=''):
    asks.append((line, want))


def lists():
    t = pick_type(rng, rng.choice('bifdtuayse'))
    vals = [value(rng, t, 50) for _ in range(rng.choice([0, 1, 3, 20, 500]))]
    if t[0] != 'float':
        vals = list(dict.fromkeys(vals))
    ask(f"L 0 {letter(t)} {' '.join(wire(v, t) for v in vals)}")
    for v in vals[:20] + [value(rng, t, 80) for _ in range(40)] + ([0.0, -0.0] if t[0] == 'float' else []):
        ask(f'Q 0 {wire(v, t)}', str(int(v in set(vals))))


def clock():
    return rng.choice([0, 1440, 540, 1020, 1320, 360, rng.randrange(0, 1441)])


def calendars():
    dates = [[rng.randrange(19000, 20500) for _ in range(rng.choice([0, 5, 300]))] for _ in range(3)]
    for i, d in enumerate(dates):
        ask(f"L {i + 1} a {' '.join(map(str, d))}")
    R = NS(L={i + 1: NS(set=set(d)) for i, d in enumerate(dates)})
    ss, words, zone = [], [], rng.choice(ZONES)
    for _ in range(rng.randrange(1, 5)):
        days = set(rng.sample(range(7), rng.randrange(1, 8))) if rng.random() < 0.7 else None
        lst = rng.randrange(1, 4)
        ex = rng.sample([1, 2, 3], rng.choice([0, 0, 1, 2]))
        h0, h1 = clock(), clock()
        ss.append((days, NS(v=lst), h0, h1, [NS(v=q) for q in ex]))
        words.append(f"{sum(1 << d for d in days) if days else 0} {-1 if days else lst} {h0} {h1} {len(ex)} {' '.join(map(str, ex))}")
    cal = NS(tz=zone, ss=ss)
    ask(f"C 0 {zone} {' '.join(words)}")
    edges = [q for _, _, h0, h1, _ in ss for q in (h0, h1)]
    for _ in range(200):
        t = rng.choice([rng.randrange(-20000, 20500) * DAY + (rng.choice(edges) - rng.choice([0, 0, 60, 120, -570])) * 60 * 10**9 + rng.choice([-1, 0, 1]),
                        rng.randrange(19000 * DAY, 20500 * DAY), rng.randrange(19000, 20500) * DAY + rng.choice([-1, 0, 1]) + rng.randrange(0, 1440) * 60 * 10**9,
                        rng.randrange(-60 * 365, 60 * 365) * DAY + rng.randrange(DAY), rng.randrange(-5 * DAY, 5 * DAY)])
        ask(f'N 0 {t}', str(int(model.in_calendar(R, cal, t))))


def tables():
    kt = [pick_type(rng, rng.choice('bidysetua')) for _ in range(rng.randrange(1, 4))]
    ct = [pick_type(rng, rng.choice('bidysetuaf')) for _ in range(rng.randrange(1, 4))]
    names = [f'c{i}' for i in range(len(ct))]
    cap, at = rng.choice([1, 3, 20, 5000]), 0
    eng = model.Engine(table_set(kt, ct, names, cap))
    define(0, kt, ct, names, cap)
    keys = [tuple(value(rng, t, 30) for t in kt) for _ in range(25)]
    for _ in range(rng.choice([30, 200])):
        k, r = rng.choice(keys), rng.random()
        kw = ' '.join(wire(v, t) for v, t in zip(k, kt))
        rows = eng.rows['t']
        if r < 0.5:
            vals = [value(rng, t, 30) for t in ct]
            ask(f"G {at} {kw} {' '.join(wire(v, t) for v, t in zip(vals, ct))}", str(int(eng.set_row('t', k, vals))))
        elif r < 0.6:
            eng.set_row('t', k, None)
            ask(f'D {at} {kw}', '1')
        elif r < 0.95:
            row = rows.get(k)
            ask(f'F {at} {kw}', 'missing' if row is None else ' '.join(['row'] + [shown(v, t) for v, t in zip(row, ct)]))
        else:
            to = (at + 1) % 2
            cap2, names2, ct2 = rng.choice([cap, cap, 2, 5000]), list(names), list(ct)
            if rng.random() < 0.15:
                names2[0] = 'other'
            if rng.random() < 0.15:
                ct2[-1] = ('bool',) if ct[-1][0] != 'bool' else ('int',)
            define(to, kt, ct2, names2, cap2)
            before = len(eng.rows['t'])
            eng = model.Engine(table_set(kt, ct2, names2, cap2), eng)
            ask(f'M {to} {at}', str(int(names2 == names and ct2 == ct and before <= cap2)))
            ask(f'J {to}', str(len(eng.rows['t'])))
            at, cap, names, ct = to, cap2, names2, ct2


def table_set(kt, ct, names, cap):
    tb = NS(name='t', host=True, cap=cap, keys=[('k', t) for t in kt], fields=[(n, t) for n, t in zip(names, ct)])
    return NS(W={}, PM={}, R=[], TB={'t': tb})


def define(i, kt, ct, names, cap):
    ask(f"T {i} {cap} {len(kt)} {' '.join(letter(t) for t in kt)} {len(ct)} {' '.join(f'{n} {letter(t)}' for n, t in zip(names, ct))}")


for _ in range(count):
    rng.choice([lists, calendars, tables])()
assert len(MEMBERS) == 3
got = subprocess.run([driver], input='\n'.join(q for q, _ in asks) + '\n', capture_output=True, text=True)
lines, bad = got.stdout.split('\n'), 0
for i, (line, want) in enumerate(asks):
    have = lines[i] if i < len(lines) else 'NOTHING'
    if have != want:
        bad += 1
        if bad <= 20:
            print(f'{line[:300]}\n  want {want}\n  got  {have}')
if got.returncode != 0 or got.stderr:
    print(f'driver exit {got.returncode}\n{got.stderr[-3000:]}')
    bad += 1
print(f'{len(asks)} answers, {bad} differences (seed {seed})')
sys.exit(bad != 0)
