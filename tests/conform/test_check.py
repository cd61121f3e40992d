#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker against the language model: the same diagnostics (code, start, end, order), else the same warnings and the
same cost, layout and hash texts.

  test_check.py DRIVER [--seed N] [--mutants N] [--random N] [FILE…]

Sources are the files of the conformance suite (with their .err), the examples, and mutants of them: a name replaced by
another, an operator, number or type swapped, tokens or lines deleted, doubled, exchanged; and random files of gen_check.py. A source on
which the model itself breaks down is counted and left out. Prints up to ten differences with their text. Exit 77 without the model."""
import argparse
import glob
import os
import random
import re
import subprocess
import sys

SHARED = os.environ.get('REDAN_SHARED') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../shared')
if not os.path.isdir(SHARED + '/reference'):
    print('skipped: no language model at', SHARED)
    sys.exit(77)
sys.path.insert(0, SHARED + '/reference')
from rdn_check import Rules                                     # noqa: E402
from rdn_core import linecol                                    # noqa: E402
from redan_model import cost_lines, hash_lines, layout_lines    # noqa: E402
from gen_check import generate                                  # noqa: E402
sys.setrecursionlimit(200000)

CONF = SHARED + '/conformance'
TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[0-9][0-9A-Za-z_.:+-]*|[A-Za-z_][A-Za-z0-9_]*|\.\.|=>|->|\?\?|==|!=|<=|>=|#[^\n]*|\s+|.', re.S)
OPS = [b'+', b'-', b'*', b'/', b'mod', b'==', b'!=', b'<', b'<=', b'>', b'>=', b'and', b'or', b'??', b'in', b'not', b'?', b'.', b'..', b',']
TYPES = [b'bool', b'int', b'float', b'time', b'dur', b'date', b'sym', b'dec(2)', b'dec(9)', b'dec(0)', b'str(4)', b'enum(a, b)', b'float[3]',
         b'int[2]', b'float[2,2]']
VALUES = [b'0', b'1', b'-1', b'2.5', b'1.50', b'5%', b'"a"', b'"buy"', b'true', b'inf', b'none', b'1s', b'0ms', b'2026-03-03', b'now', b'ts',
          b'score', b'9223372036854775807', b'9223372036854775808', b'1e308', b'0.1234567891', b'2026-03-03T15:00:00Z', b'vec(1, 2, 3)',
          b'(if true then 1 else 2)', b'min(1, 2)', b'-(1)', b'x', b'[1, 2]', b'1..2', b'text(1)', b'abs(-1)', b'prev(x)']
CALLS = [b'sqrt', b'log2', b'round', b'abs', b'sign', b'min', b'max', b'clamp', b'int', b'float', b'dec', b'div', b'text', b'len', b'lower', b'find', b'time',
         b'dur', b'hour', b'date', b'hours', b'bucket', b'vec', b'dot', b'matvec', b'vsum', b'defined', b'prev', b'cross_up', b'normal',
         b'bit_not', b'shl', b'is_nan', b'pow']
AGGS = [b'count', b'sum', b'avg', b'min', b'max', b'stddev', b'distinct', b'last', b'first', b'ewma', b'zscore', b'delta']
CLAUSES = [b'over 10s', b'over 5 events', b'by acct', b'accepted', b'where true', b'panes 4', b'exact 8', b'keys 10', b'warmup 3', b'local', b'shadow',
           b'priority 2', b'for 1s', b'undefined skip', b'undefined reject U', b'default 0', b'score S 1', b'flag F', b'hold H', b'accept A',
           b'in 1..5', b'reset on R', b'partition by acct', b'budget 1us', b'from host', b'emit X { a: 1 }', b'tz "UTC"']


def expect(raw, base):
    """What the driver must print, or None when the model breaks down."""
    try:
        r = Rules(raw, base=base)
        ds = r.diags or r.warns
        texts = ['' if r.diags else ''.join(l + '\n' for l in f(r)) for f in (cost_lines, layout_lines, hash_lines)]
    except RecursionError:
        raise
    except Exception:
        return None
    src = r.src
    at = [linecol(src, d.pos[0]) + linecol(src, d.pos[1]) for d in ds]
    return [f'{d.code} {a}:{b}-{c}:{e}' for d, (a, b, c, e) in zip(ds, at)], texts


class Driver:
    def __init__(self, path):
        self.p = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, raw, base):
        self.p.stdin.write(b'%d %s\n' % (len(raw), base.encode()) + raw)
        self.p.stdin.flush()
        n = self.p.stdout.readline().split()
        if len(n) != 2:
            raise SystemExit('the driver ended: rc %s' % self.p.wait())
        lines = [self.p.stdout.readline().decode('utf-8', 'replace').split() for _ in range(int(n[1]))]
        texts = []
        for _ in range(3):
            texts.append(self.p.stdout.read(int(self.p.stdout.readline())).decode())
        return [' '.join(l[:2]) for l in lines], texts


def replace(r, toks, kind, new):
    at = [i for i, t in enumerate(toks) if kind(t)]
    if at:
        toks[r.choice(at)] = new


def is_name(t):
    return re.match(rb'[A-Za-z_]', t) is not None


def is_value(t):
    return re.match(rb'[0-9"]', t) is not None


def mutant(r, raw):
    toks = TOKEN.findall(raw)
    real = [i for i, t in enumerate(toks) if t.strip() and not t.startswith(b'#')]
    if not real:
        return raw
    i, j = r.choice(real), r.choice(real)
    names = [t for t in toks if is_name(t)] or [b'x']
    match r.randrange(16):
        case 0: toks[i] = b''
        case 1: toks[i] = toks[i] + b' ' + toks[i]
        case 2: toks[i], toks[j] = toks[j], toks[i]
        case 3 | 4 | 5: replace(r, toks, is_name, r.choice(names))
        case 6: replace(r, toks, is_name, r.choice(TYPES + CALLS + AGGS))
        case 7: replace(r, toks, lambda t: t in OPS, r.choice(OPS))
        case 8: replace(r, toks, is_value, r.choice(VALUES))
        case 9: replace(r, toks, is_name, r.choice(VALUES))
        case 10: replace(r, toks, lambda t: t in TYPES or t in (b'dec', b'str', b'enum'), r.choice(TYPES))
        case 11: replace(r, toks, lambda t: t in AGGS + CALLS, r.choice(AGGS + CALLS))
        case 12: toks[i] = r.choice(CLAUSES) + b' ' + toks[i]
        case 13: del toks[min(i, j):min(i, j) + r.randrange(1, 12)]
        case 14: toks[i] = toks[i] + b' ' + r.choice(OPS) + b' ' + r.choice(VALUES + names)
        case 15: toks[i] = r.choice([b'(', b'-', b'not ', b'defined(']) + toks[i] + r.choice([b')', b'', b'.' + toks[j]])
    return b''.join(toks)


def compare(drv, raw, base, label, bad):
    want = expect(raw, base)
    got = drv.ask(raw, base)
    if want is None:
        return 0
    if want == got:
        return 1
    bad.append(label)
    if len(bad) <= 10:
        print('----', label)
        print(raw.decode('utf-8', 'replace')[:3000])
        for a, b, what in ((want[0], got[0], 'diagnostics'), (want[1], got[1], 'texts')):
            if a != b:
                print(what, 'of the model :', a)
                print(what, 'of the driver:', b)
    return 1


def conformance_errors(drv, bad):
    """The .err files themselves: codes and spans."""
    n = 0
    for f in sorted(glob.glob(CONF + '/errors/*.rdn')):
        want = [l.split()[0] + ' ' + l.split()[1] for l in open(f[:-4] + '.err', encoding='utf-8') if l.strip()]
        got = drv.ask(open(f, 'rb').read(), os.path.dirname(f))[0]
        n += 1
        if got != want:
            bad.append(f)
            print(f, 'expected', want, 'got', got)
    return n


def main():
    a = argparse.ArgumentParser()
    a.add_argument('driver')
    a.add_argument('--seed', type=int, default=1)
    a.add_argument('--mutants', type=int, default=300)
    a.add_argument('--random', type=int, default=300)
    a.add_argument('files', nargs='*')
    a = a.parse_intermixed_args()
    drv, bad = Driver(a.driver), []
    files = a.files or sorted(glob.glob(CONF + '/errors/*.rdn') + glob.glob(CONF + '/cases/*.rdn') + glob.glob(CONF + '/examples/*.rdn') +
                              glob.glob(CONF + '/text/*/rules.rdn') + glob.glob(CONF + '/hotswap/*/*.rdn'))
    n = 0 if a.files else conformance_errors(drv, bad)
    for f in files:
        n += compare(drv, open(f, 'rb').read(), os.path.dirname(f), f, bad)
    r, lost = random.Random(a.seed), 0
    small = [f for f in files if os.path.getsize(f) < 20000]
    for k in range(a.mutants):
        f = r.choice(small)
        raw = open(f, 'rb').read()
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            raw = mutant(r, raw)
        done = compare(drv, raw, os.path.dirname(f), f'{f} mutant {k} of seed {a.seed}', bad)
        n += done
        lost += not done
    for k in range(a.random):
        raw = generate(r)
        for _ in range(r.choice((0, 0, 1, 2))):
            raw = mutant(r, raw)
        done = compare(drv, raw, CONF, f'random file {k} of seed {a.seed}', bad)
        n += done
        lost += not done
    drv.p.stdin.close()
    rc = drv.p.wait()
    print(f'{lost} sources broke the model')
    print(f'{n - len(bad)} passed, {len(bad)} failed')
    return 1 if bad or rc or not n else 0


sys.exit(main())
