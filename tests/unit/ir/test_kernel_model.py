#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random kernels against the reference model, bit for bit, causes included.  usage: test_kernel_model.py PROBE [SEED [KERNELS]]"""
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

shared = os.environ.get('REDAN_SHARED') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../../shared')
if not os.path.isfile(os.path.join(shared, 'reference/rdn_engine.py')):
    print('skipped: no reference model; set REDAN_SHARED')
    sys.exit(77)
sys.path.insert(0, os.path.join(shared, 'reference'))
from rdn_core import U, CAUSES, f64_bits, fmt_float   # noqa
import rdn_engine as E                                # noqa
from rdn_check import Rules                           # noqa

R = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
KERNELS = int(sys.argv[3]) if len(sys.argv) > 3 else 60
EDGE = [0.0, -0.0, 1.0, -1.0, 0.5, 1e308, -1e308, 5e-324, math.pi, 1e-3, 100.0]


def flit():
    x = R.choice(EDGE) if R.random() < .4 else round(R.uniform(-5, 5), 3)
    s = fmt_float(abs(x))
    return ('(-' + s + ')') if math.copysign(1, x) < 0 else s


class Gen:
    """Expressions of the types f float, i int, b bool and v float[3] over what is visible."""

    def __init__(self):
        self.names = {'f': ['x', 'y', 'rate'], 'i': ['i', 'n', 'seed'], 'b': ['flag'], 'v': ['w']}

    def name(self, t):
        return R.choice(self.names[t])

    def e(self, t, d):
        if d <= 0 or R.random() < .15:
            return self.name(t) if R.random() < .6 or t in 'vb' else flit() if t == 'f' else str(R.randint(0, 9))
        return getattr(self, 'e_' + t)(d - 1)

    def e_f(self, d):
        k = R.randrange(14)
        a, b = (lambda: self.e('f', d)), (lambda: self.e('f', d))
        if k < 5:
            return f'({a()} {R.choice("+-*/")} {b()})'
        if k == 5:
            return f'{R.choice(("exp", "log", "sqrt", "normcdf", "invnorm", "abs", "floor", "round", "sign", "trunc", "ceil"))}({a()})'
        if k == 6:
            return f'{R.choice(("min", "max"))}({a()}, {b()})'
        if k == 7:
            return f'(if {self.e("b", d)} then {a()} else {b()})'
        if k == 8:
            return f'float({self.e("i", d)})'
        if k == 9:
            return f'{self.e("v", 0)}[{R.choice(("0", "1", "2", self.e("i", 0)))}]' if R.random() < .9 else f'{self.name("v")}[i mod 4]'
        if k == 10:
            return f'dot({self.e("v", d)}, {self.e("v", d)})'
        if k == 11:
            return f'{R.choice(("vsum", "vmin", "vmax"))}({self.e("v", d)})'
        if k == 12:
            return f'({a()} ?? {b()})'
        return f'(-{a()})'

    def e_i(self, d):
        k = R.randrange(8)
        if k < 4:
            return f'({self.e("i", d)} {R.choice(("+", "-", "*", "mod", "/"))} {self.e("i", d)})'
        if k == 4:
            return f'bit_xor({self.e("i", d)}, {self.e("i", d)})'
        if k == 5:
            return f'int({self.e("b", d)})'
        if k == 6:
            return f'clamp({self.e("i", d)}, 0, 7)'
        return f'(if {self.e("b", d)} then {self.e("i", d)} else {self.e("i", d)})'

    def e_b(self, d):
        k = R.randrange(6)
        if k < 3:
            t = R.choice('fi')
            return f'({self.e(t, d)} {R.choice(("<", "<=", ">", ">=", "==", "!="))} {self.e(t, d)})'
        if k == 3:
            return f'({self.e("b", d)} {R.choice(("and", "or"))} {self.e("b", d)})'
        if k == 4:
            return f'(not {self.e("b", d)})'
        return f'is_nan({self.e("f", d)})'

    def e_v(self, d):
        k = R.randrange(6)
        if k == 0:
            return f'vec({self.e("f", d)}, {self.e("f", d)}, {self.e("f", d)})'
        if k == 1:
            return f'({self.e("v", d)} {R.choice("+-*/")} {self.e("v", d)})'
        if k == 2:
            return f'({self.e("v", d)} * {self.e("f", d)})'
        if k == 3:
            return f'matvec(m, {self.e("v", d)})'
        return f'{R.choice(("normal", "uniform"))}({R.choice(("seed", "7", "i"))}, {R.choice(("i", "n", "i"))}, 3)'


def kernel(name):
    g = Gen()
    paths = R.choice((1, 2, 15, 16, 17, 255, 256, 257, 300, 700))
    lets = []
    for j in range(R.randint(0, 4)):
        t = R.choice('ffiibv')
        lets.append(f'    let l{j} = {g.e(t, 3)}')
        g.names[t] = g.names[t] + [f'l{j}'] * 2
    red = R.choice(('sum', 'mean', 'min', 'max', 'quantile'))
    q = R.choice(('0.99, ', '0.5, ', '0, ', '1, ', '0.07, ')) if red == 'quantile' else ''
    body = '\n'.join(lets)
    return (f'kernel {name}(x: float, y: float, n: int, seed: int, flag: bool, w: float[3], m: float[3,3]) -> float deadline 1s {{\n'
            f'    each i < {paths}\n{body}\n    reduce {red}({q}{g.e("f", 4)})\n}}\n')


def rf():
    k = R.random()
    return R.choice(EDGE + [math.inf, math.nan]) if k < .3 else R.uniform(-3, 3) if k < .9 else struct.unpack('<d', struct.pack('<Q', R.getrandbits(64)))[0]


def text(v):
    if isinstance(v, list):
        return '[' + ','.join(text(q) for q in E.flat(v)) + ']'
    if isinstance(v, bool):
        return str(v).lower()
    return 'f%016x' % f64_bits(v) if isinstance(v, float) else str(v)


def answer(v):
    return '!%d' % (CAUSES.index(v.cause) + 1) if isinstance(v, U) else '%016x' % f64_bits(v)


HEAD = 'ruleset k version 1\n  undefined skip\nevent E { a: int }\nparam rate: float = 0.25\nrule r on E { when a > 0 flag X }\n'
good, total, bad = 0, 0, 0
while good < KERNELS:
    src = HEAD + kernel('k')
    rules = Rules(src.encode())
    if rules.diags:
        continue                                         # a constant index out of range, say
    good += 1
    eng = E.Engine(rules)
    asks, want = [], []
    for _ in range(3):
        V = [rf(), rf(), R.choice((0, 1, 5, -3, 2**40)), R.choice((1, -1, 42)), R.random() < .5, [rf() for _ in range(3)], [[rf() for _ in range(3)] for _ in range(3)]]
        asks.append('k ' + ' '.join(text(v) for v in V))
        want.append(answer(E.kernel(eng, rules.K['k'], V, None)))
    with tempfile.NamedTemporaryFile('w', suffix='.rdn') as f:
        f.write(src)
        f.flush()
        p = subprocess.run([sys.argv[1], f.name], input='\n'.join(asks) + '\n', capture_output=True, text=True)
    got = p.stdout.split()
    total += len(asks)
    if got != want:
        bad += 1
        if bad <= 5:
            print('wrong:', src, *asks, 'got', got, 'want', want, p.stderr, sep='\n')
print(f'{good} kernels, {total} runs, {bad} kernels wrong')
sys.exit(bad != 0)
