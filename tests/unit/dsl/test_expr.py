#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Constant expressions through parse, check, lower and fold against the language model and its vectors.

  test_expr.py DRIVER [SEED] [COUNT]

First the vectors of the conformance suite, then COUNT random expressions over bindings of every type: the same type and value,
the same cause and span, or the same code. Exit 77 without the model."""
import json
import math
import os
import random
import re
import struct
import sys
from subprocess import run as run_process

SHARED = os.environ.get('REDAN_SHARED') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../../shared')
if not os.path.isdir(SHARED + '/reference'):
    print('skipped: no language model at', SHARED)
    sys.exit(77)
sys.path.insert(0, SHARED + '/reference')
import redan_model as M                                         # noqa: E402
from rdn_core import Diag, U, fmt_float, jstr, jval, tname      # noqa: E402

LIBM = ('log2', 'log10', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'pow', 'atan2', 'hypot', 'dist_km')


def driver_line(expr, bindings):
    o = [expr.encode().hex()]
    for n, (t, v) in bindings.items():
        k = t[0]
        o += [n, tname(t), struct.pack('>d', v).hex() if k == 'float' else v.encode().hex() if k in ('text', 'str', 'sym') else
              str(t[1].index(v) if k == 'enum' else int(v))]
    return '\t'.join(o)


def model_answer(expr, bindings):
    try:
        t, v = M.eval_expr(expr, bindings)
    except Diag as d:
        return f'reject {d.code}'
    if isinstance(v, U):
        return f'undefined {v.cause} {v.pos[0]} {v.pos[1]}'
    return f'= {tname(t)} {jval(v, t)}'


def vector(o):
    b = {}
    for k, (t, v) in o.get('bindings', {}).items():
        ty = M.type_of(t)
        b[k] = (ty, v if ty == ('text',) else M.from_json(v, ty, k))
    if 'reject' in o:
        want = 'reject ' + o['reject']
    elif 'undefined' in o:
        want = 'undefined ' + o['undefined']
    else:
        v = o['value']
        want = f'= {o["type"]} ' + (fmt_float(v) if isinstance(v, float) else jstr(v) if isinstance(v, str) else json.dumps(v))
    return o['expr'], b, want, o.get('ulp', 0)


def same(got, want, ulp):
    if got == want or got.startswith('undefined') and got.split(' ')[:2] == want.split(' '):
        return True
    g, w = got.split(' '), want.split(' ')
    if not ulp or len(g) != 3 or g[:2] != ['=', 'float'] or w[:2] != g[:2]:
        return False
    a, b = float(g[2].strip('"')), float(w[2].strip('"'))
    return a == b or abs(a - b) <= ulp * math.ulp(max(abs(a), abs(b))) or a != a and b != b


# ---- random expressions
KINDS = ['bool', 'int', 'float', 'dec', 'time', 'dur', 'date', 'text', 'sym', 'str', 'enum', 'vec', 'mat']
NAMES = {'b': ('bool', ('bool',)), 'i': ('int', ('int',)), 'j': ('int', ('int',)), 'f': ('float', ('float',)), 'g': ('float', ('float',)),
         'd': ('dec', ('dec', 2)), 'e': ('dec', ('dec', 4)), 't': ('time', ('time',)), 'u': ('dur', ('dur',)), 'a': ('date', ('date',)),
         'x': ('text', ('text',)), 'y': ('sym', ('sym',)), 's': ('str', ('str', 4)), 'm': ('enum', ('enum', ('buy', 'sell')))}
TEXTS = ['', 'a', 'ACME', 'buy', 'sell', '12', '-7', '1.5e3', 'é\u2003', ' a b ', '1h30m', '2026-03-03T15:00:00Z']


class Gen:
    def __init__(self, r):
        self.r = r

    def values(self):
        r, ints = self.r, [0, 1, -1, 7, 2**63 - 1, -2**63, 250]
        v = {'b': r.random() < .5, 'f': r.choice([0.0, -0.0, 1.5, math.nan, math.inf, -1e308]), 'g': r.uniform(-3, 3), 'x': r.choice(TEXTS),
             'y': r.choice(TEXTS), 's': r.choice(['', 'a', 'ACME', '12']), 'm': r.choice(['buy', 'sell']), 'a': r.randrange(-9999, 30000),
             't': r.choice([0, -1, 1772550000123456789])}
        return {n: (t, v[n] if n in v else r.choice(ints)) for n, (_, t) in NAMES.items()}

    def lit(self, k):
        r = self.r
        if k == 'bool':
            return r.choice(['true', 'false'])
        if k in ('int', 'float', 'dec'):
            return r.choice(['0', '1', '-1', '3', '10', '9223372036854775807'] if k == 'int' else
                            ['0.0', '-0.5', '1.25', '1e300', '2', 'inf'] if k == 'float' else ['0.01', '1.5', '-2', '5%', '12.3456'])
        return {'time': '2026-03-03T15:00:00.5Z', 'dur': r.choice(['1s', '-90m', '1ns']), 'date': '2026-03-03',
                'enum': '"buy"'}.get(k) or '"%s"' % r.choice(['', 'a', 'ACME', 'buy', '12', 'é'])

    def e(self, k, n):
        r = self.r
        if r.random() < .02:
            k = r.choice(KINDS)                                  # a type error now and then
        if n <= 0 or r.random() < .1:
            if k in ('vec', 'mat'):
                row = lambda: 'vec(%s)' % ', '.join(self.e('float', 0) for _ in range(3))    # noqa: E731
                return row() if k == 'vec' else f'vec({row()}, {row()})'
            own = [q for q, (kk, _) in NAMES.items() if kk == k]
            return r.choice(own) if own and r.random() < .7 else self.lit(k)
        E = lambda kk: f'<{kk}>'                                 # noqa: E731
        c = r.random()
        form = f'(if <bool> then <{k}> else <{k}>)' if c < .1 else f'(<{k}> ?? <{k}>)' if c < .16 else r.choice(getattr(self, k)(E))
        return re.sub(r'<(\w+)>', lambda m: self.e(m[1], n - 1), form)

    def num(self, E, k):
        return [f'({E(k)} {self.r.choice("+-*/")} {E(k)})', f'-{E(k)}', f'abs({E(k)})', f'min({E(k)}, {E(k)}, {E(k)})', f'max({E(k)}, {E(k)})',
                f'clamp({E(k)}, {E(k)}, {E(k)})', f'sign({E(k)})']

    def int(self, E):
        t = self.r.choice(['float', 'dec', 'bool', 'time', 'text', 'sym', 'str', 'int'])
        f = self.r.choice(['hour', 'minute', 'second', 'milli', 'day', 'month', 'year', 'weekday', 'yearday'])
        z = self.r.choice(['', ', "Europe/Paris"', ', "+05:30"', ', "UTC"'])
        return self.num(E, 'int') + [f'({E("int")} mod {E("int")})', f'int({E(t)})', f'len({E("text")})', f'find({E("text")}, {E("str")})',
                                     f'shl({E("int")}, {E("int")})', f'shr({E("int")}, {E("int")})', f'bit_not({E("int")})',
                                     f'bit_{self.r.choice(["and", "or", "xor"])}({E("int")}, {E("int")})', f'{f}({E("time")}{z})',
                                     f'{self.r.choice(["hours", "minutes", "seconds", "millis"])}({E("dur")})',
                                     f'bucket({E(self.r.choice(KINDS[:-2]))}, 100)', f'int[2](1)' if self.r.random() < .02 else f'int({E("dec")})']

    def float(self, E):
        f = self.r.choice(['floor', 'ceil', 'trunc', 'round', 'sqrt', 'exp', 'log', 'normcdf', 'invnorm'])
        i = self.r.choice(['0', '1', '2', '3', E('int')])
        return self.num(E, 'float') + [f'{f}({E("float")})', f'float({E(self.r.choice(["int", "dec", "text", "sym", "float"]))})',
                                       f'({E("dec")} / {E("int")})', f'({E("int")} / {E("dec")})', f'({E("dur")} / {E("dur")})', f'dot({E("vec")}, {E("vec")})',
                                       f'{self.r.choice(["vsum", "vmin", "vmax"])}({E("vec")})', f'({E("vec")})[{i}]',
                                       f'({E("mat")})[{self.r.choice(["0", "1", E("int")])}, {i}]']

    def dec(self, E):
        return self.num(E, 'dec') + [f'({E("dec")} {self.r.choice("+-*")} {E("int")})', f'({E("int")} {self.r.choice("+-*")} {E("dec")})',
                                     f'({E("dec")} mod {E("dec")})', f'round({E("dec")}, {self.r.randint(0, 6)})',
                                     f'dec({E(self.r.choice(["int", "float", "dec"]))}, {self.r.randint(0, 6)})',
                                     f'div({E("int")}, {E("dec")}, {self.r.randint(0, 9)})', f'div({E("int")}, {E("int")}, 4)']

    def bool(self, E):
        k, q = self.r.choice(KINDS[:-2]), self.r.choice(['dec', 'int'])
        x, y = self.r.choice(['text', 'sym', 'str']), self.r.choice(['text', 'sym', 'str'])
        op = self.r.choice(['==', '!=', '<', '<=', '>', '>='])
        return [f'({E("bool")} and {E("bool")})', f'({E("bool")} or {E("bool")})', f'(not {E("bool")})', f'({E(k)} {op} {E(k)})', f'({E("dec")} {op} {E(q)})',
                f'({E(x)} {self.r.choice(["==", "!="])} {E(y)})', f'defined({E(k)})', f'({E(k)} in [{E(k)}, {E(k)}, {E(k)}])',
                f'({E(k)} not in {E(k)}..{E(k)})', f'({E("dec")} in {E(q)}..{E("dec")})', f'({E(x)} in [{E(y)}, {E(x)}])',
                f'{self.r.choice(["is_nan", "is_inf", "is_finite"])}({E("float")})',
                f'{self.r.choice(["starts_with", "ends_with", "contains"])}({E("text")}, {E(x)})']

    def time(self, E):
        return [f'({E("time")} + {E("dur")})', f'({E("dur")} + {E("time")})', f'({E("time")} - {E("dur")})', f'time({E("text")})', f'max({E("time")}, {E("time")})']

    def dur(self, E):
        return [f'({E("time")} - {E("time")})', f'({E("dur")} {self.r.choice("+-")} {E("dur")})', f'({E("dur")} * {E("int")})', f'({E("int")} * {E("dur")})',
                f'({E("dur")} / {E("int")})', f'({E("dur")} mod {E("dur")})', f'dur({E("text")})', f'abs({E("dur")})', f'-{E("dur")}']

    def date(self, E):
        return [f'date({E("time")})', f'date({E("time")}, "America/New_York")', f'min({E("date")}, {E("date")})']

    def text(self, E):
        return [f'({E("text")} + {E(self.r.choice(["text", "sym", "str"]))})', f'{self.r.choice(["lower", "upper", "trim"])}({E("text")})',
                f'text({E(self.r.choice(KINDS[:-2]))})']

    def sym(self, E):
        return ['y', '"ACME"']

    def str(self, E):
        return ['s', '"12"']

    def enum(self, E):
        return ['m', '"sell"']

    def vec(self, E):
        return [f'vec({E("float")}, {E("float")}, {E("float")})', f'({E("vec")} {self.r.choice("+-*/")} {E("vec")})', f'({E("float")} * {E("vec")})', f'-{E("vec")}',
                f'matvec(vec({E("vec")}, {E("vec")}, {E("vec")}), {E("vec")})']

    def mat(self, E):
        return [f'vec({E("vec")}, {E("vec")})', f'({E("mat")} {self.r.choice("+-*/")} {E("mat")})']


def random_cases(seed, count):
    r = random.Random(seed)
    g = Gen(r)
    for _ in range(count):
        b = g.values()
        expr = g.e(r.choice(KINDS), r.randint(1, 5))
        yield expr, b, model_answer(expr, b), 2 if any(f in expr for f in LIBM) else 0


def main():
    driver, seed, count = sys.argv[1], int((sys.argv + ['1'])[2]), int((sys.argv + ['', '600'])[3]) if len(sys.argv) > 3 else 600
    cases = [vector(json.loads(line)) for f in ('cel_vectors.jsonl', 'exprs.jsonl') for line in open(f'{SHARED}/conformance/{f}', encoding='utf-8')]
    nvec = len(cases)
    cases += random_cases(seed, count)
    text = ''.join(driver_line(e, b) + '\n' for e, b, _, _ in cases)
    out = run_process([driver], input=text.encode(), capture_output=True)
    got = out.stdout.decode().split('\n')[:-1]
    bad, kinds = 0, {}
    for i, ((expr, b, want, ulp), g) in enumerate(zip(cases, got)):
        kinds[want.split(' ')[0]] = kinds.get(want.split(' ')[0], 0) + (i >= nvec)
        if not same(g, want, ulp):
            bad += 1
            if bad <= 10:
                print(f'{expr}\n  with {b}\n  got  {g}\n  want {want}' if i >= nvec else f'{expr}\n  got  {g}\n  want {want}')
    print(f'{nvec} vectors, {len(cases) - nvec} random {kinds}, {bad} differ')
    if out.returncode or len(got) != len(cases):
        print(f'driver ended with {out.returncode} after {len(got)} of {len(cases)}: {out.stderr.decode()[-2000:]}')
        bad += 1
    sys.exit(1 if bad else 0)


if __name__ == '__main__':
    main()
