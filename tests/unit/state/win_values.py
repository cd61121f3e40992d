# SPDX-License-Identifier: Apache-2.0
"""Types and values for the state tests: random ones, and their form on the drivers' lines (state_lines.h)."""
import os
import struct
import sys

I64MIN, I64MAX = -2**63, 2**63 - 1
MEMBERS = ['buy', 'sell', 'cancel']


def load_model():
    """The language model's engine; exits 77 without it."""
    shared = os.environ.get('REDAN_SHARED') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../../shared')
    sys.path.insert(0, os.path.join(shared, 'reference'))
    try:
        import rdn_engine
    except ImportError:
        print('skipped: the language model (shared/reference) is not here')
        sys.exit(77)
    return rdn_engine


def pick_type(rng, c):
    if c == 'd':
        return ('dec', rng.choice([0, 2, 4, 9]))
    if c == 's':
        return ('str', rng.choice([1, 3, 4, 7, 8, 9, 33, 256]))
    if c == 'e':
        return ('enum', MEMBERS)
    return {'b': ('bool',), 'i': ('int',), 'f': ('float',), 't': ('time',), 'u': ('dur',), 'a': ('date',), 'y': ('sym',), '-': None}[c]


def letter(t):
    if t is None:
        return '-'
    k = {'bool': 'b', 'int': 'i', 'float': 'f', 'time': 't', 'dur': 'u', 'date': 'a', 'sym': 'y', 'dec': 'd', 'str': 's', 'enum': 'e'}[t[0]]
    return k + (str(t[1]) if k in 'ds' else '')


def wire(v, t):
    k = t[0]
    if k == 'float':
        return struct.pack('>d', v).hex()
    if k in ('sym', 'str'):
        return 'x' + v.encode().hex()
    if k == 'enum':
        return str(MEMBERS.index(v))
    return str(int(v))


def shown(v, t):
    """What the driver prints for a value."""
    if type(v).__name__ == 'Cause':
        return str(v)
    if t[0] == 'float':
        return 'nan' if v != v else struct.pack('>d', v).hex()
    if t[0] == 'dec':
        return '%032x' % (v % 2**128)
    return wire(v, t)


def text(rng, n):
    return ''.join(rng.choice('ab\u00e9c~0') for _ in range(rng.choice([0, 1, 2, 5, n]))).encode()[:n].decode('utf-8', 'ignore')


FLOATS = [0.0, -0.0, 0.1, 0.2, 0.3, -0.1, 1.0, 1e16, -1e16, 1e308, -1e308, 5e-324, -5e-324, 2.0**53, 1.5]
INTS = [0, 1, -1, 2**31, 2**53 + 1, -2**53 - 1, I64MAX, I64MIN, 10**18, -10**18]


def value(rng, t, pool, tame=False):
    """A value of type t; `pool` bounds how many different ones there are. Tame ones drown in no infinity, so that every rounding shows."""
    k, i = t[0], rng.randrange(pool)
    if tame and k == 'float':
        return rng.choice([i * 0.1, rng.gauss(100.0, 1.0), rng.gauss(0.0, 1.0)])
    if tame and k in ('int', 'dec', 'dur', 'time'):
        return rng.choice([i, rng.randrange(-10**6, 10**6)])
    if k == 'float':
        return rng.choice([rng.choice(FLOATS), i * 0.1, rng.uniform(-1e3, 1e3), rng.gauss(100.0, 1.0)])
    if k == 'bool':
        return bool(i & 1)
    if k == 'enum':
        return MEMBERS[i % 3]
    if k == 'sym':
        return 'S%d' % i if rng.random() < 0.9 else text(rng, 20)
    if k == 'str':
        return ('%d' % i)[-t[1]:] if rng.random() < 0.7 else text(rng, t[1])
    if k == 'date':
        return rng.choice([i - pool // 2, 20000 + i, -2**31, 2**31 - 1])
    return rng.choice([i, i, i, rng.choice(INTS), rng.randrange(-10**6, 10**6)])
