#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Windows against the language model, bit for bit: random definitions, updates, reads, resets and swaps.

Usage: win_model.py DRIVER [SEED [SEQUENCES]]. Prints each difference with the sequence that makes it; exit 0, 1, or 77 without
the model."""
import copy
import os
import random
import subprocess
import sys
from types import SimpleNamespace as NS

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from win_values import I64MAX, I64MIN, letter, load_model, pick_type, shown, value, wire  # noqa: E402

driver, seed, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 400
model = load_model()
SEC, YEAR = 10**9, 365 * 86400 * 10**9
NUM, KEYS = ['i', 'f', 'd'], ['b', 'i', 'd', 'y', 's', 'e', 't', 'u', 'a']
OK = {'sum': ['i', 'f', 'd', 'u'], 'avg': NUM, 'stddev': NUM, 'zscore': NUM, 'ewma': NUM, 'min': ['i', 'f', 'd', 't', 'u', 'a'],
      'delta': ['i', 'f', 'd', 't', 'u'], 'last': KEYS + ['f'], 'first': KEYS + ['f'], 'distinct': KEYS + ['f'], 'count': ['-']}
OK['max'] = OK['min']
rng = random.Random(seed)


def define():
    agg = rng.choice(sorted(OK) + ['distinct', 'stddev'])
    vt = pick_type(rng, rng.choice(OK[agg]))
    w = NS(name='w', agg=agg, vt=vt, over=None, events=None, exact=None, P=None, p=None, half=False, evict=None, hash=1, resets=[])
    span = rng.choice(['all', 'pane', 'pane', 'ring', 'exact'])
    if agg == 'ewma':
        span, w.half = 'all', rng.random() < 0.6
    elif agg == 'zscore' and span == 'all':
        span = 'pane'
    if span in ('pane', 'exact'):
        w.over = rng.choice([1, 2, 3, 5, 10, 59, 60, 61, 100, 999, 10**4, SEC, SEC + 7, 10 * SEC, 60 * SEC, YEAR, 100 * YEAR, rng.randrange(1, 10**rng.randrange(1, 13))])
    if agg == 'distinct' and w.over and rng.random() < 0.4:
        w.over = rng.randrange(1, 40)
    if span == 'ring':
        w.events = rng.choice([1, 2, 7, 8, 9, 13, 16, 17, 40, rng.randrange(1, 300), 254, 255, 700])
    if span == 'exact' or agg == 'distinct' and not w.events and rng.random() < 0.7:
        w.exact = rng.choice([1, 2, 3, 7, 8, 9, 20, 33, 64, rng.randrange(1, 300), 254, 255, 700])
    if w.over and (span == 'pane' or agg == 'distinct'):
        w.P = rng.choice([1, 2, 3, 5, 10, 60, 60, 63, 64, 65, 127, 128, 200, 1024])
        w.p = max(1, -(-w.over // w.P))
    low = {'count': 0, 'sum': 0, 'distinct': 0, 'stddev': 2, 'zscore': 2}.get(agg, 1)
    cap = w.events or (w.exact if agg != 'distinct' else None)
    w.wmin = low if rng.random() < 0.6 else max(low, rng.randrange(1, 12))
    if cap and w.wmin > cap:
        if low > cap:
            return define()
        w.wmin = low
    F, I = ('float',), ('int',)
    w.t = {'count': I, 'distinct': I, 'avg': F, 'stddev': F, 'ewma': F, 'zscore': F}.get(agg) or (('dur',) if agg == 'delta' and vt[0] == 'time' else vt)
    w.kt = [pick_type(rng, rng.choice(KEYS)) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]
    keys_of(w)
    return w


def keys_of(w):
    w.cap = rng.choice([1, 2, 3, 5, 8, 50, 3000]) if w.kt else 1
    w.evict = rng.choice([None, 'oldest', 'idle']) if w.kt else None


def engine(w, old=None):
    return model.Engine(NS(W={'w': w}, PM={}, TB={}, R=[]), old)


class Sequence:
    def __init__(self):
        self.w = define()
        self.slot, self.lines, self.want = 0, [], []
        self.eng = engine(self.w)
        self.now = rng.choice([0, 1_770_000_000 * SEC, -5 * SEC, -YEAR, I64MIN, I64MIN + 12345, rng.randrange(-10**6, 10**6)])
        self.pool = rng.choice([2, 10, 100, 3000]) if self.w.agg == 'distinct' else rng.choice([2, 10, 10**6])
        self.keys = [tuple(value(rng, t, 40) for t in self.w.kt) for _ in range(rng.choice([1, 2, 4, 12]))]
        self.tame, self.dense = rng.random() < 0.7, rng.random() < 0.6
        self.open(self.w)

    def say(self, line, want):
        self.lines.append(line)
        self.want.append(want)

    def open(self, w):
        ev = {None: 0, 'oldest': 1, 'idle': 2}[w.evict]
        self.say(f"W {self.slot} {w.agg} {letter(w.vt)} {w.over or 0} {w.events or 0} {w.P or 0} {w.p or 0} {w.exact or 0} {w.wmin} "
                 f"{w.cap} {ev} {int(w.half)} {' '.join(letter(t) for t in w.kt)}", None)

    def key(self):
        k = rng.choice(self.keys) if rng.random() < 0.9 else tuple(value(rng, t, 40) for t in self.w.kt)
        return k, ' '.join(wire(v, t) for v, t in zip(k, self.w.kt))

    def step_time(self):
        w, r = self.w, rng.random()
        unit = w.p or w.over or SEC
        if r < 0.4:
            d = 0
        elif r < (0.98 if self.dense else 0.75):
            d = rng.randrange(0, unit + 1)
        elif r < 0.95:
            d = rng.choice([1, unit, unit - 1, unit + 1, (w.over or 1), (w.over or 1) + unit, (w.over or 1) // 4, rng.randrange(0, 3 * (w.over or SEC))])
        else:
            d = rng.choice([YEAR, 3 * YEAR, 200 * YEAR, (w.over or 1) * 2])
        self.now = min(I64MAX, self.now + d)

    def update(self):
        w, t = self.w, self.eng.tab['w']
        k, kw = self.key()
        v = value(rng, w.vt, self.pool, self.tame) if w.vt else 1
        span = rng.choice([1, 2, 10, 100, SEC, 60 * SEC]) if w.agg == 'ewma' else 0
        refused = t.refused
        self.eng.apply((w, k, v, span if w.agg == 'ewma' else None), NS(now=self.now))
        self.say(f"U {self.slot} {self.now} {span} {wire(v, w.vt) if w.vt else 0} {kw}", '1' if t.refused == refused else '0')

    def read(self):
        k, kw = self.key()
        self.say(f"R {self.slot} {self.now} {kw}", shown(self.eng.peek(self.w, k, self.now), self.w.t))

    def reset(self):
        k, kw = self.key()
        self.eng.tab['w'].reset(k)
        self.say(f"X {self.slot} {kw}", '')

    def skip(self):
        self.eng.tab['w'].skipped += 1
        self.say(f"K {self.slot}", '')

    def state(self, eng=None, slot=None):
        """The whole state, of the present engine or of one left behind by a swap."""
        eng, slot = eng or self.eng, self.slot if slot is None else slot
        t, w = eng.tab['w'], eng.R.W['w']
        out = [f'{len(t.m)} {t.evicted} {t.refused} {t.skipped}']
        for k in list(t.m):
            out.append(','.join(shown(v, ty) for v, ty in zip(k, self.w.kt)) + '=' + shown(eng.peek(w, k, self.now), w.t))
        self.say(f"S {slot} {self.now}", ' '.join(out) if self.w.kt else ''.join(out))

    def swap(self):
        w = copy.copy(self.w)
        if rng.random() < 0.6:
            keys_of(w)
        low = {'count': 0, 'sum': 0, 'distinct': 0, 'stddev': 2, 'zscore': 2}.get(w.agg, 1)
        if rng.random() < 0.5:
            w.wmin = rng.choice([low, max(low, 1)])
        before, self.eng = self.eng, engine(w, self.eng)
        old, self.slot, self.w = self.slot, 1 - self.slot, w
        self.open(w)
        how = rng.choice('CCV')
        self.say(f"{how} {self.slot} {old}", '1' if self.eng.kept else '0')
        if how == 'V':
            self.state(before, old)
        self.say(f"Z {old}", '')

    def run(self):
        if self.w.agg == 'distinct' and rng.random() < 0.2:      # enough values for the largest estimates, in one key
            self.pool, self.keys = 10**6, self.keys[:1]
            for _ in range(1500):
                self.update()
        if self.w.agg == 'distinct' and self.w.over and rng.random() < 0.3:   # some ten values live in one key, some leave each pane
            self.pool, self.keys = rng.choice([12, 24, 60]), self.keys[:1]
            for _ in range(200):
                self.now = min(I64MAX, self.now + rng.randrange(0, self.w.over // 6 + 2))
                self.update()
                self.read()
        for _ in range(rng.choice([20, 60, 150, 400])):
            self.step_time()
            r = rng.random()
            (self.update if r < 0.6 else self.read if r < 0.92 else self.state if r < 0.945 else self.reset if r < 0.97 else
             self.skip if r < 0.98 else self.swap)()
        self.state()
        self.say(f"Z {self.slot}", '')
        return self


class Sketch:
    """Estimates of sketches whose registers a real stream would take for ever to fill."""

    def __init__(self):
        self.lines, self.want, regs = [], [], [0] * model.HLL_M
        for _ in range(rng.randrange(1, 1300)):
            h = rng.getrandbits(64) & (2**64 - 1 >> rng.choice([0, 0, 0, 1, 3]))
            if rng.random() < 0.1:
                h = rng.getrandbits(8) << 56 | rng.getrandbits(56) >> rng.choice([4, 30, 43, 44, 45, 56])
            i, r = model.hll_slot(h)
            regs[i] = max(regs[i], r)
            self.lines.append(f'P 0 {h:x}')
            self.want.append('')
        self.lines.append('E 0')
        self.want.append(str(model.hll_estimate(regs)))


def main():
    seqs = [Sequence().run() for _ in range(count)] + [Sketch() for _ in range(count // 5)]
    got = subprocess.run([driver], input='\n'.join('\n'.join(s.lines) for s in seqs) + '\n', capture_output=True, text=True)
    lines, bad, at, checks = got.stdout.split('\n'), 0, 0, 0
    for n, s in enumerate(seqs):
        for i, (line, want) in enumerate(zip(s.lines, s.want)):
            have = lines[at] if at < len(lines) else 'NOTHING'
            at += 1
            checks += want is not None
            if want is not None and have != want:
                print(f'sequence {n}, line {i}: {line}\n  defined by {s.lines[0]}\n  want {want}\n  got  {have}')
                if os.environ.get('WIN_MODEL_DUMP'):
                    print('\n'.join(s.lines[:i + 1]))
                bad += 1
                at += len(s.lines) - i - 1
                break
    if got.returncode != 0 or got.stderr:
        print(f'driver exit {got.returncode}\n{got.stderr[-3000:]}')
        bad += 1
    print(f'{count} sequences, {checks} answers, {bad} with differences (seed {seed})')
    sys.exit(bad != 0)


main()
