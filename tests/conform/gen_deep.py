#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random rule sets, events and hot swaps that go where the shared generator does not; deep.py runs them.

Every value an expression gives is seen: rules emit what they compute, so a value, or the cause and place of an undefined one,
is part of the line. Values lie at the edges of their types; expressions are typed and nest; every declaration, clause and
action occurs. Some declarations are wrong on purpose, or by chance: the model says which."""
import collections
import json
import os
import pathlib
import random
import re
import sys


def find_shared():
    root = pathlib.Path(os.environ.get('REDAN_SHARED') or pathlib.Path(__file__).resolve().parents[2] / '../shared')
    if not (root / 'reference/redan_model.py').exists():
        print('no reference model: set REDAN_SHARED')
        sys.exit(77)
    return root.resolve()


sys.path.insert(0, str(find_shared() / 'reference'))
sys.setrecursionlimit(50000)
from rdn_core import fmt_dec, fmt_float, fmt_time, fmt_date, tname, I64MAX, I64MIN    # noqa: E402
from rdn_check import Rules    # noqa: E402

B, I, F, TM, DU, DA, SY, TX = ('bool',), ('int',), ('float',), ('time',), ('dur',), ('date',), ('sym',), ('text',)
ENUM1, ENUM2 = ('enum', ('buy', 'sell', 'x')), ('enum', ('a', 'b'))
I64 = [0, 1, -1, 2, 7, -3, 63, 64, I64MAX, I64MIN, I64MAX - 1, I64MIN + 1, 2**53, 2**53 + 1, -2**53 - 1, 3037000500, 10**18, 4 * 10**18]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1.5, 2.5, -2.5, 1e16, 9007199254740993.0, 1e308, -1e308, 5e-324, 2.2250738585072014e-308, 1e-300, 1 / 3,
          4503599627370495.5, 123456.789, 9.223372036854775e18, -9.223372036854775808e18, 1e22, 709.5, -745.0, 0.975, 1e-17]
TEXTS = ['', 'x', 'AAA', 'aaa', 'éa', '\u3000é ', ' AAA ', '日本', '12', '-9223372036854775808', '9223372036854775808', '1.5', '-inf', 'nan', '1e5', '2026-03-03T15:00:00Z', '1h30m',
         '-1.5s', 'buy', 'b', 'true', '\u0085z\u2028', '\U0001f600', '.5', '1.', '+1', '007', '\u2007', 'AbC', '1970-01-01T00:00:00.5+01:00', '99999999999999999999']
ZONES = ['UTC', 'Australia/Lord_Howe', 'America/St_Johns', 'Africa/Casablanca', 'Europe/Dublin', 'Pacific/Apia', 'Asia/Kathmandu', 'Antarctica/Troll', 'Europe/Amsterdam',
         'Africa/Monrovia', 'Asia/Tehran', '+23:59', '-00:30', '-23:59', 'Pacific/Kiritimati', 'America/New_York', 'Africa/El_Aaiun', 'America/Scoresbysund', '05:45']
CMP = ['==', '!=', '<', '<=', '>', '>=']
TIMEF = ['hour', 'minute', 'second', 'milli', 'day', 'month', 'year', 'weekday', 'yearday']
LIBM = ['log2', 'log10', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh']
OWN1 = ['sqrt', 'exp', 'log', 'normcdf', 'invnorm', 'floor', 'ceil', 'trunc', 'round', 'abs', 'sign']


def is_dec(t):
    return t[0] == 'dec'


class Gen:
    """One file: declarations and the environment of typed names they make."""

    def __init__(self, seed, theme):
        self.r = random.Random(f'{seed}/{theme}')
        self.theme, self.n = theme, collections.Counter()
        self.events, self.params, self.lists, self.tables, self.cals = {}, {}, {}, {}, []
        self.fns, self.lets, self.wins, self.calls = {}, {}, {}, {}
        self.ev, self.loc, self.kernel, self.rule, self.below = None, {}, False, False, None
        self.part, self.testing, self.files = None, False, {}

    def p(self, x):
        return self.r.random() < x

    def c(self, xs):
        return self.r.choice(list(xs))

    def name(self, s):
        self.n[s] += 1
        return f'{s}{self.n[s]}'

    # ------------------------------------------------------------ types and literals
    def stored(self):
        return self.c([I, I, F, F, ('dec', self.r.randint(0, 9)), ('dec', self.c([0, 2, 4, 9])), SY, ('str', self.c([1, 3, 8, 40, 256])), ENUM1, ENUM2, B, TM, DU, DA])

    def shape(self):
        return self.c([('arr', F, (3,)), ('arr', F, (2,)), ('arr', F, (2, 3)), ('arr', F, (3, 3)), ('arr', I, (3,)), ('arr', F, (1,)), ('arr', F, (17,)), ('arr', I, (2, 2))])

    def quote(self, s):
        o = ''
        for ch in s:
            k = self.r.random()
            if ch in '"\\':
                o += '\\' + ch
            elif ord(ch) < 32:
                o += '\\u%04x' % ord(ch)
            elif k < .05:
                o += '\\u{%x}' % ord(ch)
            else:
                o += ch
        return f'"{o}"'

    def num_text(self, s):
        """The same number written otherwise."""
        if self.p(.1) and '.' not in s and 'e' not in s and s.lstrip('-').isdigit():
            return ('-' if s[0] == '-' else '') + hex(int(s.lstrip('-')))
        if self.p(.08) and '.' in s and 'e' not in s:
            return s + '0'
        if self.p(.05) and 'e' not in s and s.lstrip('-').isdigit() and len(s) > 4:
            return s[:-3] + '_' + s[-3:]
        if self.p(.05):
            return '--' + s if s[0] != '-' else s
        return s

    def lit(self, t):
        k = t[0]
        if k == 'int':
            return self.num_text(str(self.c(I64) if self.p(.4) else self.r.randint(-9, 99)))
        if k == 'float':
            return self.c(['5%', '25bps', '1e-300', '1e400', '0.1e1', '1e308']) if self.p(.1) else self.num_text(fmt_float(self.c(FLOATS) if self.p(.5) else round(self.r.uniform(-9, 99), self.r.randint(0, 5))))
        if k == 'dec':
            m = self.c(I64) if self.p(.3) else self.r.randint(-10**4, 10**6)
            return self.num_text(fmt_dec(m, min(t[1], self.r.randint(0, 9))))
        if k == 'bool':
            return self.c(['true', 'false'])
        if k == 'enum':
            return f'"{self.c(t[1])}"'
        if k in ('sym', 'str', 'text'):
            s = self.c(TEXTS)
            while k == 'str' and len(s.encode()) > t[1]:
                s = s[:-1]
            return self.quote(s)
        if k == 'time':
            return fmt_time(self.moment())
        if k == 'dur':
            return self.c(['0s', '1ns', '1ms', '250ms', '1.5s', '1m', '90m', '1h', '1d', '7d', '2w', '106751d', '9223372036854775807ns'])
        if k == 'date':
            return fmt_date(self.moment() // (86400 * 10**9))
        if k == 'arr':
            one = lambda: self.lit(t[1])    # noqa: E731
            if len(t[2]) == 1:
                return 'vec(' + ', '.join(one() for _ in range(t[2][0])) + ')'
            return 'vec(' + ', '.join(self.lit(('arr', t[1], t[2][1:])) for _ in range(t[2][0])) + ')'
        raise AssertionError(t)

    def moment(self):
        r = self.r
        k = r.random()
        if k < .1:
            return r.choice([0, -1, 1, I64MIN + 1, I64MAX, I64MIN + 10**9, -86400 * 10**9, 951782400 * 10**9, 4107542399 * 10**9, -2208988801 * 10**9])
        if k < .3:
            return r.randint(-2 * 10**9, 2 * 10**9) * 10**9 + r.randint(0, 10**9 - 1)
        if k < .5:
            return r.randint(-9 * 10**9, 9 * 10**9) * 10**9
        return 1772550000 * 10**9 + r.randint(-200 * 86400, 200 * 86400) * 10**9

    # ------------------------------------------------------------ names of a type
    def leaves(self, t):
        o = [k for k, q in self.loc.items() if q == t] * 3
        if self.ev:
            o += [k for k, (q, _) in self.events[self.ev].items() if q == t] * 3
            o += [n for (n, e), q in self.lets.items() if e == self.ev and q == t] * 3
            o += [w for w in self.wins.values() if w['t'] == t and self.readable(w)] * 2
            if t == TM:
                o += ['now', 'ts']
            if t == I and self.rule == 'late':
                o += ['score'] * 2
        if self.testing:
            o += [w for w in self.wins.values() if w['t'] == t] * 4
        o += [n for n, q in self.params.items() if q == t]
        return o

    def readable(self, w):
        if self.below is not None and w['i'] >= self.below and self.p(.9):
            return False
        if w['on'] == self.ev:
            return True
        f = self.events[self.ev]
        return all((k in f and f[k][0] == t) for k, t in w['by']) or self.p(.3)

    def wread(self, w):
        n = w['n']
        if self.testing:
            return n + (f'[{", ".join(self.lit(t) for _, t in w["by"])}]' if w['by'] else '')
        if w['on'] == self.ev and not w['acc'] and self.p(.25) and self.below is None:
            return f'prev({n})'
        f = self.events[self.ev]
        if w['by'] and (self.p(.25) or w['on'] != self.ev and not all(k in f and f[k][0] == t for k, t in w['by'])) and (not self.part or self.p(.1)):
            return f'{n}[' + ', '.join(self.ex(t, 0) for _, t in w['by']) + ']'
        return n

    # ------------------------------------------------------------ expressions
    def ex(self, t, d):
        """An expression of type t, d levels high."""
        if d <= 0 or self.p(.12):
            ls = self.leaves(t)
            if ls and self.p(.8):
                q = self.c(ls)
                return q if isinstance(q, str) else self.wread(q)
            if t == TX and self.ev and self.p(.5):
                return self.ex(self.c([SY, ('str', 8), ('str', 3)]), 0)
            return self.lit(t)
        k = self.r.random()
        if k < .06:
            return f'(if {self.ex(B, d - 1)} then {self.ex(t, d - 1)} else {self.ex(t, d - 1)})'
        if k < .11:
            return f'({self.ex(t, d - 1)} ?? {self.ex(t, d - 1)})'
        if k < .2:
            fs = [n for n, (ts, rt) in self.fns.items() if rt == t and not (self.kernel and any(q[0] not in ('int', 'float', 'bool', 'arr') for q in ts))]
            if fs:
                n = self.c(fs)
                return f'{n}(' + ', '.join(self.ex(q, d - 1) for q in self.fns[n][0]) + ')'
        if k < .27 and not self.kernel and (self.ev or self.testing):
            cs = [(n, ks, c) for n, (ks, cols) in self.tables.items() for c, q in cols if q == t]
            if cs:
                n, ks, c = self.c(cs)
                return f'{n}[' + ', '.join(self.ex(self.textual(q), d - 1) for _, q in ks) + f'].{c}'
        if k < .31 and self.rule:
            cs = [n for n, (ts, rt) in self.calls.items() if rt == t]
            if cs:
                n = self.c(cs)
                return f'{n}(' + ', '.join(q[1] if q[0] == 'event' else self.ex(q, d - 1) for q in self.calls[n][0]) + ')'
        if k < .4 and t in (F, I):
            a = [(n, q) for n, q in self.arrays() if q[1] == t]
            if a and self.p(.6):
                n, q = self.c(a)
                return f'{n}[' + ', '.join(self.ex(I, d - 2) if self.p(.6) else str(self.r.randrange(m)) for m in q[2]) + ']'
        s = getattr(self, 'x_' + t[0])(t, d - 1)
        return s[1:-1] if self.p(.03) and s[0] == '(' and s[-1] == ')' else s

    def textual(self, t):
        """What may stand where a key of type t is wanted."""
        return self.c([SY, TX, ('str', 8)]) if t[0] in ('sym', 'str') and self.p(.5) else t

    def arrays(self):
        o = [(k, q) for k, q in self.loc.items() if q[0] == 'arr']
        if self.ev:
            o += [(k, q) for k, (q, _) in self.events[self.ev].items() if q[0] == 'arr']
            o += [(n, q) for (n, e), q in self.lets.items() if e == self.ev and q[0] == 'arr']
        return o

    def x_bool(self, t, d):
        e, c = self.ex, self.c
        k = self.r.random()
        if k < .2:
            return f'({e(B, d)} {c(["and", "or"])} {e(B, d)})'
        if k < .26:
            return f'not ({e(B, d)})'
        if k < .4:
            q = c([I, F, ('dec', 2), ('dec', 4), SY, ENUM1, DA, TM, DU, ('str', 8), B, TX])
            if self.kernel:
                q = c([I, F, B])
            n = c([1, 2, 3, 5, 8, 9, 12, 20])
            if q == ENUM1:
                n = min(n, 6)
            els = [self.lit(q) if self.p(.75) else e(c([I, ('dec', c([0, 2, 4, 9]))]) if is_dec(q) else c([SY, TX, ('str', 3)]) if q in (SY, TX) else q, d - 1) for _ in range(n)]
            return f'({e(q, d)} {c(["in", "not in"])} [{", ".join(els)}])'
        if k < .48:
            q = c([I, F, ('dec', 2), TM, DU, DA, ('str', 8), TX]) if not self.kernel else c([I, F])
            m = c([I, ('dec', 4), ('dec', 0)]) if is_dec(q) else q
            return f'({e(q, d)} in {e(q, d - 1)}..{e(m, d - 1)})'
        if k < .53 and not self.kernel and self.lists:
            n = c(self.lists)
            return f'({e(self.textual(self.lists[n]), d)} {c(["in", "not in"])} {n})'
        if k < .57 and not self.kernel and self.cals and self.ev:
            return f'({e(TM, d)} in {c(self.cals)})'
        if k < .61:
            return f'defined({e(self.any_type(), d)})'
        if k < .66 and not self.kernel:
            return f'{c(["starts_with", "ends_with", "contains"])}({e(TX, d)}, {e(TX, d)})'
        if k < .7:
            ws = [n for n, w in self.wins.items() if w['on'] == self.ev and not w['acc'] and w['t'][0] in ('int', 'float', 'dec', 'dur', 'time')]
            if ws and self.below is None and self.ev:
                n = c(ws)
                o = c([None, None, n] + [q for q in ws if self.wins[q]['t'] == self.wins[n]['t']]) or e(self.wins[n]['t'], d)
                a = [n, o]
                self.r.shuffle(a)
                return f'{c(["cross_up", "cross_down"])}({a[0]}, {a[1]})'
        if k < .75:
            return f'{c(["is_nan", "is_inf", "is_finite"])}({e(F, d)})'
        if k < .85 and not self.kernel:
            q = c([SY, ('str', 8), ('str', 3), TX, ENUM1])
            o = c([SY, ('str', 8), TX]) if q != ENUM1 else q
            return f'({e(q, d)} {c(["==", "!="] if {q, o} & {SY, ENUM1} else CMP)} {e(o, d)})'
        q = c([I, I, F, F, ('dec', 2), ('dec', 9), ('dec', 18), DU, TM, DA, B]) if not self.kernel else c([I, F, B])
        o = c([I, ('dec', c([0, 4, 18])), q]) if is_dec(q) else q
        return f'({e(q, d)} {c(CMP if q != B else CMP[:2])} {e(o, d)})'

    def any_type(self):
        if self.kernel:
            return self.c([I, F, B, ('arr', F, (3,)), ('arr', I, (3,))])
        return self.c([I, F, ('dec', self.r.randint(0, 18)), ('dec', 2), B, TM, DU, DA, SY, ('str', 8), ENUM1, TX, TX, ('arr', F, (3,)), ('arr', F, (2, 3)), ('arr', I, (3,))])

    def x_int(self, t, d):
        e, c = self.ex, self.c
        k = self.r.random()
        if k < .25:
            return f'({e(I, d)} {c("+-*")} {e(I, d)})'
        if k < .36:
            return f'({e(I, d)} {c(["/", "mod"])} {e(I, d)})'
        if k < .42:
            return f'{c(["abs", "sign", "bit_not", "-"])}({e(I, d)})'
        if k < .5:
            return f'{c(["min", "max"])}(' + ', '.join(e(I, d) for _ in range(c([1, 2, 3, 5]))) + ')'
        if k < .54:
            return f'clamp({e(I, d)}, {e(I, d)}, {e(I, d)})'
        if k < .66:
            q = c([F, B]) if self.kernel else c([F, ('dec', 2), ('dec', 18), B, TX, TM, ('str', 40), SY])
            return f'int({e(q, d)})'
        if k < .74:
            return f'{c(["bit_and", "bit_or", "bit_xor", "shl", "shr"])}({e(I, d)}, {e(I, d)})'
        if k < .78:
            return f'sign({e(I if self.kernel else c([("dec", 2), ("dec", 18), DU]), d)})'
        if self.kernel:
            return f'({e(I, d)} + {e(I, d)})'
        if k < .84:
            return f'len({e(TX, d)})' if self.p(.5) else f'find({e(TX, d)}, {e(TX, d)})'
        if k < .92:
            z = f', "{c(ZONES)}"' if self.p(.7) else ''
            return f'{c(TIMEF)}({e(TM, d)}{z})'
        if k < .95:
            return f'{c(["hours", "minutes", "seconds", "millis"])}({e(DU, d)})'
        return f'bucket({e(c([I, F, SY, TX, ("dec", 2), B, TM, DA, DU, ENUM1, ("str", 8)]), d)}, {c([1, 2, 100, 2**31, 7])})'

    def x_float(self, t, d):
        e, c = self.ex, self.c
        k = self.r.random()
        if self.theme == 'libm' and not self.kernel and self.p(.4):
            f, n = c([(q, 1) for q in LIBM] + [('pow', 2), ('atan2', 2), ('hypot', 2), ('dist_km', 4)])
            return f'{f}({", ".join(e(F, d) for _ in range(n))})'
        if k < .3:
            return f'({e(F, d)} {c("+-*/")} {e(F, d)})'
        if k < .4:
            return f'{c(OWN1)}({e(F, d)})'
        if k < .5:
            return f'float({e(I if self.kernel else c([I, ("dec", 2), ("dec", 9), ("dec", 18), TX]), d)})'
        if k < .58 and not self.kernel:
            a, b = c([(('dec', 2), I), (I, ('dec', 4)), (('dec', 9), ('dec', 18)), (DU, DU)])
            return f'({e(a, d)} / {e(b, d)})'
        if k < .66:
            return f'{c(["min", "max"])}(' + ', '.join(e(F, d) for _ in range(c([1, 2, 3, 5]))) + ')'
        if k < .7:
            return f'clamp({e(F, d)}, {e(F, d)}, {e(F, d)})'
        if k < .84:
            q = ('arr', F, (c([1, 2, 3, 3, 17]),))
            if self.p(.5):
                return f'dot({e(q, d)}, {e(q, d)})'
            return f'{c(["vsum", "vmin", "vmax"])}({e(c([q, ("arr", F, (2, 3))]), d)})'
        if k < .92:
            q = c([('arr', F, (3,)), ('arr', F, (2, 3)), ('arr', F, (2,))])
            return f'({e(q, d)})[' + ', '.join(e(I, d) if self.p(.5) else str(self.r.randrange(m)) for m in q[2]) + ']'
        return f'-({e(F, d)})'

    def x_dec(self, t, d):
        e, c, s = self.ex, self.c, t[1]
        k = self.r.random()
        sc = lambda hi: ('dec', self.r.randint(0, hi))    # noqa: E731
        if k < .25:
            a, b = [t, c([sc(s), I, t])] if self.p(.5) else [c([sc(s), I, t]), t]
            return f'({e(a, d)} {c("+-")} {e(b, d)})'
        if k < .45:
            a = self.r.randint(0, s)
            q = [('dec', a) if a or self.p(.5) else I, ('dec', s - a) if s - a or a == 0 or self.p(.5) else I]
            if q[0] == I and q[1] == I:
                q[0] = ('dec', 0)
            return f'({e(q[0], d)} * {e(q[1], d)})'
        if k < .58:
            return f'round({e(sc(18), d)}, {s})'
        if k < .7:
            return f'div({e(c([I, sc(9), sc(18)]), d)}, {e(c([I, sc(9), sc(18)]), d)}, {s})'
        if k < .78:
            return f'dec({e(c([I, F, F, sc(18)]), d)}, {s})'
        if k < .84:
            return f'({e(t, d)} mod {e(t, d)})'
        if k < .92:
            return f'{c(["min", "max"])}({e(t, d)}, {e(c([t, sc(s)]), d)})'
        if k < .95:
            return f'clamp({e(t, d)}, {e(t, d)}, {e(t, d)})'
        return f'{c(["abs", "-"])}({e(t, d)})'

    def x_dur(self, t, d):
        e, c = self.ex, self.c
        k = self.r.random()
        if k < .25:
            return f'({e(TM, d)} - {e(TM, d)})'
        if k < .45:
            return f'({e(DU, d)} {c(["+", "-", "mod"])} {e(DU, d)})'
        if k < .6:
            return f'({e(DU, d)} {c("*/")} {e(I, d)})' if self.p(.6) else f'({e(I, d)} * {e(DU, d)})'
        if k < .75:
            return f'{c(["abs", "-"])}({e(DU, d)})'
        if k < .85:
            return f'dur({e(TX, d)})'
        if k < .93:
            return f'{c(["min", "max"])}({e(DU, d)}, {e(DU, d)})'
        return f'clamp({e(DU, d)}, {e(DU, d)}, {e(DU, d)})'

    def x_time(self, t, d):
        e, c = self.ex, self.c
        k = self.r.random()
        if k < .4:
            return f'({e(TM, d)} {c("+-")} {e(DU, d)})'
        if k < .55:
            return f'({e(DU, d)} + {e(TM, d)})'
        if k < .7:
            return f'time({e(TX, d)})'
        if k < .85:
            return f'{c(["min", "max"])}({e(TM, d)}, {e(TM, d)})'
        return f'clamp({e(TM, d)}, {e(TM, d)}, {e(TM, d)})'

    def x_date(self, t, d):
        z = f', "{self.c(ZONES)}"' if self.p(.7) else ''
        if self.p(.6):
            return f'date({self.ex(TM, d)}{z})'
        return f'{self.c(["min", "max"])}({self.ex(DA, d)}, {self.ex(DA, d)})'

    def x_sym(self, t, d):
        return self.ex(t, 0)

    x_str = x_enum = x_sym

    def x_text(self, t, d):
        e, c = self.ex, self.c
        k = self.r.random()
        if k < .4:
            return f'({e(c([TX, SY, ("str", 8), ("str", 256)]), d)} + {e(c([TX, SY, ("str", 3)]), d)})'
        if k < .6:
            return f'{c(["lower", "upper", "trim"])}({e(TX, d)})'
        if k < .65:
            return f'(if {e(B, d)} then {e(SY, d)} else {e(c([("str", 8), TX]), d)})'
        return f'text({e(c([I, F, ("dec", c([0, 2, 9, 18])), B, TM, DU, DA, SY, ("str", 8), ENUM1]), d)})'

    def x_arr(self, t, d):
        e, c = self.ex, self.c
        if t[1] == I:
            return self.ex(t, 0)
        k = self.r.random()
        if k < .4:
            a, b = c([(t, t), (t, F), (F, t)])
            return f'({e(a, d)} {c("+-*/")} {e(b, d)})'
        if k < .5:
            return f'-({e(t, d)})'
        if k < .65 and len(t[2]) == 1:
            m = c([2, 3])
            return f'matvec({e(("arr", F, (t[2][0], m)), d)}, {e(("arr", F, (m,)), d)})'
        if k < .75 and len(t[2]) == 1 and self.kernel:
            return f'{c(["uniform", "normal"])}({e(I, d)}, {e(I, d)}, {t[2][0]})'
        if len(t[2]) == 1:
            return 'vec(' + ', '.join(e(F, d - 1) for _ in range(t[2][0])) + ')'
        return 'vec(' + ', '.join('vec(' + ', '.join(e(F, d - 1) for _ in range(t[2][1])) + ')' for _ in range(t[2][0])) + ')'

    # ------------------------------------------------------------ declarations
    def d_event(self):
        n = self.name('E')
        f = {}
        many = self.theme == 'limits' and not self.events
        for k in range(self.c([100, 250]) if many else self.r.randint(3, 9)):
            t = self.shape() if self.p(.15 if not many else .02) else self.stored()
            f[f'f{k}{t[0][0]}'] = (t, self.p(.3) and sum(o for _, o in f.values()) < 64)
        f['acct'] = (self.part or SY, False if self.part else self.p(.1))
        f['q'] = (I, self.p(.2))
        f['px'] = (('dec', 2), self.p(.2))
        f['g'] = (F, self.p(.2))
        f['s8'] = (('str', 8), self.p(.2))
        if self.part and self.p(.2) and self.events:
            del f['acct']
        it = list(f.items())
        self.r.shuffle(it)
        self.events[n] = dict(it)
        return f'event {n} {{ ' + ' '.join(f'{k}: {tname(t)}{"?" if o else ""}' for k, (t, o) in it) + ' }'

    def d_param(self):
        n, t = self.name('p'), self.stored()
        v = self.lit(t)
        self.params[n] = t
        rg = ''
        if self.p(.6) and t[0] in ('int', 'float', 'dec', 'dur', 'time', 'date'):
            lo, hi = self.lit(t), self.lit(t)
            rg = f' in {lo}..{hi}' if self.p(.4) else f' in {v}..{v}' if self.p(.3) else f' in {v}..{hi}'
        return f'param {n}: {tname(t)} = {v}{rg}'

    def raw(self, t):
        """A cell of a data file."""
        s = self.lit(t)
        if t[0] in ('sym', 'str', 'enum') and self.p(.7):
            s = self.c([*TEXTS, 'buy', 'a', ' a', 'a b', '"', '"x', '#', "it's"]) if t[0] != 'enum' or self.p(.05) else self.c(t[1])
        if self.p(.01):
            s = self.c(['', '1 2', 'none', 'x', '1.', '-', '"a" "b"', 'now', '1 + 1', 'abs(-3)', '\x00', '\x1f'])
        return self.c(['', ' ', '\t']) + s.encode('ascii', 'replace').decode() + self.c(['', ' '])      # the model reads ASCII only

    def file(self, rows):
        n = self.name('d') + self.c(['', '.csv', '-x_y.txt'])
        pad = lambda: self.c(['', '', '', '\n', '# a, b\n', '  # c\n', ' \t\n'])    # noqa: E731
        self.files[n] = ''.join(pad() + q + self.c(['\n', '\n', '\r\n']) for q in rows) + self.c(['', '\n', 'last line' if self.p(.02) else ''])
        return f'from "{n}"'

    def d_list(self):
        n, t = self.name('l'), self.stored()
        self.lists[n] = t
        if self.p(.3):
            return f'list {n}: {tname(t)} ' + self.file([self.raw(t) for _ in range(self.c([0, 1, 3, 40]))])
        return f'list {n}: {tname(t)} = [' + ', '.join(self.lit(t) for _ in range(self.c([1, 3, 8, 9, 30]))) + ']'

    def d_table(self):
        n = self.name('t')
        ks = []
        for i in range(self.c([1, 1, 2, 3])):
            t = self.stored()
            while t == F:
                t = self.stored()
            ks.append((f'k{i}', t))
        cols = [(f'c{i}', self.stored()) for i in range(self.r.randint(1, 4))]
        self.tables[n] = (ks, cols)
        head = f'table {n} by {", ".join(f"{k}: {tname(t)}" for k, t in ks)} {{ {" ".join(f"{c}: {tname(t)}" for c, t in cols)} }}'
        if self.p(.5):
            return head + ' from host' + self.c(['', ' keys 1', ' keys 2', ' keys 4'])
        if self.p(.3):
            return f'{head} ' + self.file([','.join(self.raw(t) for _, t in ks + cols) for _ in range(self.r.randint(0, 9))])
        rows = {', '.join(self.lit(t) for _, t in ks): ', '.join(self.lit(t) for _, t in cols) for _ in range(self.r.randint(1, 6))}
        if self.p(.4):
            rows['default'] = ', '.join(self.lit(t) for _, t in cols)
        return head + ' = { ' + '  '.join(f'{k} : {v}' for k, v in rows.items()) + ' }'

    def d_calendar(self):
        n = self.name('c')
        self.cals.append(n)
        dl = [k for k, t in self.lists.items() if t == DA]
        ss = []
        for _ in range(self.r.randint(1, 3)):
            day = self.c(dl) if dl and self.p(.3) else self.c(['mon..fri', 'sun', 'sat..mon', 'wed..tue', 'fri..fri'])
            a, b = (f'{self.r.randint(0, 23):02}:{self.r.randint(0, 59):02}' for _ in '12')
            ss.append(f'{day} {a}..{self.c([b, "24:00", "00:00"])}' + (f' except {", ".join(self.r.sample(dl, self.r.randint(1, len(dl))))}' if dl and self.p(.4) else ''))
        return f'calendar {n} tz "{self.c(ZONES)}" {{ {" ".join(ss)} }}'

    def d_fn(self):
        n = self.name('h')
        pool = [I, F, ('dec', 2), ('dec', 4), B, DU, TM, DA, TX, SY, ('str', 8), ENUM1, ('arr', F, (3,))]
        ts = [self.c([q for q in pool if q != TX]) for _ in range(self.r.randint(0, 4))]
        rt = self.c([I, F, F, B, ('dec', 4), ('dec', 9), DU, TM, DA, ('arr', F, (3,))])
        self.ev, self.rule, self.below = None, False, None
        self.loc = {f'a{i}': t for i, t in enumerate(ts)}
        s = f'fn {n}({", ".join(f"a{i}: {tname(t)}" for i, t in enumerate(ts))}) -> {tname(rt)} = {self.ex(rt, 3)}'
        self.loc = {}
        self.fns[n] = (ts, rt)
        return s

    def d_let(self):
        self.ev = self.c(self.events)
        n, t = self.name('v'), self.any_type()
        self.rule = self.c(['rule', 'rule', 'late']) if self.p(.4) else False
        s = f'let {n} on {self.ev} = {self.ex(t, 3)}'
        if t[0] in ('sym', 'str') and '"' in s:
            t = TX
        self.lets[n, self.ev] = t
        return s

    def d_plugin(self):
        n, rt = self.name('u'), self.stored()
        ev = self.c(self.events)
        ts = ([('event', ev)] if self.p(.3) else []) + [self.c([I, F, ('dec', 2), B, TM, DU, SY, ('str', 8), ENUM1, ('arr', F, (3,))]) for _ in range(self.r.randint(0, 3))]
        self.calls[n] = (ts, rt)
        return f'plugin {n}({", ".join(f"a{i}: {q[1] if q[0] == chr(101) + chr(118) + chr(101) + chr(110) + chr(116) else tname(q)}" for i, q in enumerate(ts))}) -> {tname(rt)} deadline 5ms' + \
            (f' default {self.lit(rt)}' if self.p(.4) else '')

    def d_kernel(self):
        n = self.name('k')
        ts = [self.c([I, F, F, B, ('arr', F, (3,)), ('arr', F, (2, 3)), ('arr', I, (3,))]) for _ in range(self.r.randint(1, 4))]
        self.ev, self.rule, self.kernel = None, False, True
        self.loc = {f'a{i}': t for i, t in enumerate(ts)}
        cnt = self.c([1, 2, 15, 16, 17, 33, 100])
        lets = ''
        head = f'kernel {n}({", ".join(f"a{i}: {tname(t)}" for i, t in enumerate(ts))}) -> float deadline 50ms' + (f' default {self.lit(F)}' if self.p(.3) else '')
        self.loc['i'] = I
        for j in range(self.r.randint(0, 3)):
            t = self.c([I, F, F, B, ('arr', F, (3,))])
            lets += f' let y{j} = {self.ex(t, 2)}'
            self.loc[f'y{j}'] = t
        red = self.c(['sum', 'mean', 'min', 'max', 'quantile'])
        q = self.c(['0', '1', '0.5', '0.99', '1%', '0.07', '0.333333333333']) + ', ' if red == 'quantile' else ''
        s = f'{head} {{ each i < {cnt}{lets} reduce {red}({q}{self.ex(F, 3)}) }}'
        self.kernel, self.loc = False, {}
        self.calls[n] = (ts, F)
        return s

    def d_window(self):
        n = self.name('w')
        on = self.c(self.events)
        self.ev, self.rule, self.below = on, False, len(self.wins)
        agg = self.c(['count', 'count', 'sum', 'sum', 'avg', 'min', 'max', 'stddev', 'distinct', 'last', 'first', 'ewma', 'zscore', 'delta'])
        vt = self.c({'sum': [I, F, ('dec', 2), ('dec', 9), DU], 'min': [I, F, ('dec', 4), TM, DU, DA], 'delta': [I, F, ('dec', 4), TM, DU]}.get(
            'min' if agg == 'max' else agg, [I, F, ('dec', 2), SY, ('str', 8), ENUM1, TM, DA, B, DU] if agg in ('last', 'first', 'distinct') else [I, F, ('dec', 3), ('dec', 9)]))
        args = '' if agg == 'count' else self.ex(vt, self.c([0, 0, 1, 2]))
        if agg == 'ewma':
            args += ', ' + self.c(['1', '3', '20', '10s', '1ns', '1d'] + ['span', 'half'])
        span, opts = '', []
        k = self.r.random()
        if agg != 'ewma' and (k < .75 or agg == 'zscore'):
            if k < .5:
                span = f' over {self.c(["1ns", "7ns", "1s", "10s", "7s", "1m", "1h", "1d", "106751d"])}'
                if self.p(.4):
                    opts.append(f'exact {self.c([1, 2, 3, 8, 9, 17])}')
                if (agg == 'distinct' or not opts) and self.p(.6):
                    opts.append(f'panes {self.c([1, 2, 3, 7, 64, 1024])}')
            else:
                span = f' over {self.c([1, 2, 3, 5, 8, 9, 17, 40])} events'
        elif agg == 'distinct' and self.p(.6):
            opts.append(f'exact {self.c([1, 2, 4, 9])}')
        by = []
        if self.part and 'acct' in self.events[on] and self.p(.9):
            by.append(('acct', self.part))
        for _ in range(self.c([0, 0, 1, 1, 2, 3])):
            fs = [(f, t) for f, (t, o) in self.events[on].items() if t[0] not in ('float', 'arr') and f not in [b for b, _ in by]] + \
                [(v, t) for (v, e), t in self.lets.items() if e == on and t[0] not in ('float', 'arr', 'text')]
            if self.p(.15):
                t = self.c([I, ('dec', 2), B, DU, DA])
                by.append((self.ex(t, 1), t))
            elif fs:
                by.append(self.c(fs))
        if by and self.p(.4):
            opts.append(f'keys {self.c([1, 2, 3, 4, 100])}{self.c(["", " evict oldest", " evict idle"])}')
        if self.p(.2):
            opts.append(f'warmup {self.c([1, 2, 3])}')
        if self.part and self.p(.2):
            opts.append('local')
        rs = [q for q in self.events if q != on]
        if rs and self.p(.3):
            opts += [f'reset on {q}' for q in self.r.sample(rs, self.r.randint(1, min(2, len(rs))))]
        acc = self.p(.25)
        wh = f' where {self.ex(B, 2)}' if self.p(.35) else ''
        t = {'count': I, 'distinct': I, 'avg': F, 'stddev': F, 'ewma': F, 'zscore': F}.get(agg, DU if agg == 'delta' and vt == TM else vt)
        self.r.shuffle(opts)
        self.wins[n] = dict(n=n, on=on, t=t, by=by, acc=acc, i=len(self.wins))
        self.below = None
        return f'window {n} = {agg}({args}){span}' + (f' by {", ".join(b for b, _ in by)}' if by else '') + f' on {"accepted " if acc else ""}{on}{wh}' + ''.join(' ' + o for o in opts)

    def message(self):
        o = ''
        for _ in range(self.r.randint(1, 4)):
            x = self.ex(self.any_type(), self.c([0, 1, 2]))
            if not set('"{}\\') & set(x):
                o += 'm{' + x + '}'
            o += self.c(['', ' ', '{{}}', 'é', 'z' * 300, '日' * 120, '\\n', '\\"'])
        return f' "{o}"'

    def d_rule(self):
        n = self.name('r')
        self.ev = self.c(self.events)
        deep = self.c([2, 4, 4, 4, 7])
        self.rule = late = 'late' if self.p(.15) else 'rule'
        k = self.r.randrange(8)
        cond = 'true' if k < 2 else 'q > 5' if k < 3 else f'defined({self.ex(self.any_type(), 3)})' if k < 4 else self.ex(B, k - 3)
        acts = []
        for _ in range(self.r.randint(0, 2)):
            acts.append(f'emit {self.name("Out")} {{ ' + ', '.join(f'a{i}: {self.ex(self.any_type(), deep)}' for i in range(self.r.randint(1, 3))) + ' }')
        if self.p(.35) or not acts:
            v = self.c(['accept', 'throttle', 'hold', 'reject'])
            acts.append(f'{v} C{self.r.randint(1, 9)}' + (f' for {self.c(["1ms", "1s", "9223372036854775807ns"])}' if v in ('throttle', 'hold') and self.p(.5) else '') + (self.message() if self.p(.5) else ''))
        if self.p(.25):
            x = self.ex(self.c([SY, ('str', 8), TX, ('str', 3)]), 2)
            acts.append(f'emit Common {{ a: {x}, b: {self.ex(I, 1)}, c: {self.ex(("dec", 2), 1)} }}')
        if self.p(.3):
            acts.append(f'flag F{self.r.randint(1, 9)}' + (self.message() if self.p(.6) else ''))
        if self.p(.35) and late != 'late':
            acts.append(f'score S{self.r.randint(1, 9)} {self.ex(I, 2)}' + (self.message() if self.p(.3) else ''))
        self.r.shuffle(acts)
        und = ''
        if self.p(.4):
            und = ' undefined ' + self.c(['skip', 'flag UND' + self.message(), 'hold UND for 1s', 'reject UND', 'accept UND', 'throttle UND' + self.message()] + ([f'score US {self.ex(I, 1)}'] if late != 'late' else []))
        head = f'rule {n} on {self.ev}' + (f' priority {self.c([-3, 0, 1, 10])}' if self.p(.25) else '') + (' shadow' if self.p(.12) else '')
        self.rule = False
        return f'{head} {{\n  when {cond}\n  ' + '\n  '.join(acts) + f'\n {und}\n}}'

    def build(self):
        th, r = self.theme, self.r
        self.part = self.c([SY, I, ENUM1, ('str', 8)]) if th == 'lanes' else None
        head = f'ruleset deep version {r.randint(1, 9)}\n  undefined ' + self.c(['skip', 'skip', 'reject NOV', 'flag NOV "no value"', 'hold NOV for 3s']) + ('\n  partition by acct' if self.part else '') + '\n'
        ds = [self.d_event() for _ in range(r.randint(1, 4))]
        ds += ['param span: int = 5 in 1..9', 'param half: dur = 5s in 1ns..1d']
        heavy = {'windows': (12, 1), 'kernels': (2, 6)}.get(th, (5, 1))
        for f, lo, hi in ((self.d_param, 2, 6), (self.d_list, 1, 4), (self.d_table, 1, 4), (self.d_calendar, 0, 3), (self.d_fn, 1, 6),
                          (self.d_plugin, 0, 3), (self.d_kernel, heavy[1] // 2, heavy[1]), (self.d_let, 0, 4), (self.d_window, heavy[0] // 3, heavy[0]),
                          (self.d_let, 0, 4), (self.d_window, 0, heavy[0] // 2), (self.d_rule, 6, 16)):
            for _ in range(r.randint(lo, hi)):
                ds.append(f())
        if th == 'limits':
            ds += self.tall()
        return head, ds

    def tall(self):
        """Chains, heights and wide things near their bounds."""
        ev = self.c(self.events)
        o = [f'let z0 on {ev} = q']
        n = self.c([100, 250, 254, 255, 256])
        o += [f'let z{i} on {ev} = {self.c([f"z{i - 1} + 1", f"z{i - 1} - q", f"if z{i - 1} > 3 then z{i - 1} else 1", f"z{i - 1} ?? 7"])}' for i in range(1, n)]
        h = self.c([150, 198, 199])
        o.append(f'rule tall on {ev} {{ when q > 0 emit Tall {{ a: ' + ' + '.join(['q'] * h) + f', b: z{n - 1} }} }}')
        o.append(f'rule deep on {ev} {{ when ' + 'not ' * self.c([60, 63, 64]) + '(q > 3) flag DEEP }')
        o.append(f'rule wide on {ev} {{ when q in [' + ', '.join(str(self.r.randint(-99, 99)) for _ in range(self.c([9, 64, 900, 4000]))) + f'] emit Wide {{ a: max({", ".join(["q"] * 16)}), b: ' +
                 ' + '.join(['s8'] * self.c([64, 256, 500])) + ' } }')
        o.append(f'fn b0(x: float) -> float = x + {self.lit(F)}')
        o += [f'fn b{i}(x: float) -> float = b{i - 1}(x) {self.c("+-*")} b{i - 1}(x * 0.5)' for i in range(1, self.c([6, 9, 12]))]
        o.append(f'rule grow on {ev} {{ when true emit Grow {{ a: b5(g) }} }}')
        return o

    def vectors(self, n):
        """Lines for `eval --vectors`: an expression of any type over values of every type."""
        out = []
        self.ts = 1772550000 * 10**9
        for _ in range(n):
            bound = {f'b{i}': self.c([self.stored(), self.stored(), self.shape(), TX]) for i in range(self.r.randint(0, 8))}
            self.loc = bound
            x = self.ex(self.any_type(), self.c([1, 2, 3, 5, 7]))
            out.append(json.dumps({'expr': x, 'bindings': {k: [tname(t), self.value(t)] for k, t in bound.items()}}))
        self.loc = {}
        return out

    def d_test(self, R):
        """A test of a good file: some of what it expects is so."""
        r, out, given = self.r, [], set()
        self.ev, self.rule, self.testing = None, 'rule', True
        self.wins = {n: w for n, w in self.wins.items() if n in R.W}
        self.params = {n: t for n, t in self.params.items() if n in R.PM}
        codes = sorted({a.code for q in R.R for a in q.acts if a.verb != 'emit'}) or ['NOV']
        if self.p(.8):
            out.append('at ' + fmt_time(self.moment()))
        for _ in range(r.randint(1, 6)):
            k = r.random()
            if k < .1 and R.PM:
                q = r.choice(list(R.PM.values()))
                out.append(f'param {q.name} = {self.lit(q.ty)}')
            elif k < .2 and (R.PL or R.K):
                q = r.choice(list(R.PL.values()) + list(R.K.values()))
                out.append(f'mock {q.name} = {"none" if self.p(.3) else self.lit(q.ty)}')
            elif k < .3 and any(d.host for d in R.TB.values()):
                d = r.choice([d for d in R.TB.values() if d.host])
                key = ', '.join(self.lit(q[1]) for q in d.keys)
                out.append(f'row {d.name}[{key}] = ' + ('none' if self.p(.2) else '{ ' + ', '.join(f'{f[0]}: {self.lit(f[1])}' for f in d.fields) + ' }'))
            else:
                e = r.choice(list(R.E))
                fs = [(n, t, o) for n, t, o, _ in R.E[e].fields if e not in given or self.p(.3)]
                given.add(e)
                body = ', '.join(f'{n}: {"none" if o and self.p(.3) else self.lit(t) if self.p(.7) or is_dec(t) else self.ex(t, 1)}' for n, t, o in fs)
                want = ''
                if self.p(.4):
                    want = f' => {self.c(["accept", "accept", "reject", "hold", "throttle"])} ' + ', '.join(self.r.sample(codes, min(len(codes), self.c([0, 0, 1, 2])))) + self.c(['', ' ..', ' score 0 ..'])
                out.append(self.c(['', '', 'after 1s ', 'after 1ns ']) + f'{e} {{ {body} }}' + self.c(['', '', ' repeat 3', ' repeat 70']) + want)
        for _ in range(r.randint(1, 2)):
            out.append(f'expect {self.ex(B, 3)}' if self.p(.7) else f'expect undefined({self.c(["missing", "cold", "nan", "overflow", "div0", "range", "full", "plugin"])}) {self.ex(self.any_type(), 2)}')
        self.testing, self.rule = False, False
        return f'test "{self.name("t")}" {{\n  ' + '\n  '.join(out) + '\n}'

    # ------------------------------------------------------------ events
    def value(self, t, R=None):
        r, k = self.r, t[0]
        if k == 'int':
            return r.choice(I64) if self.p(.3) else r.randint(-4, 12) if self.p(.8) else r.randint(I64MIN, I64MAX)
        if k == 'float':
            return r.choice(['nan', 'inf', '-inf', *FLOATS, 3, -7]) if self.p(.4) else round(r.uniform(-10, 110), r.randint(0, 6))
        if k == 'dec':
            return fmt_dec(r.choice(I64) if self.p(.2) else r.randint(-20000, 20000), t[1])
        if k == 'bool':
            return self.p(.5)
        if k in ('sym', 'text'):
            return r.choice(['AAA', 'BBB', 'x', 'buy']) if self.p(.6) else r.choice(TEXTS)
        if k == 'str':
            s = r.choice(TEXTS)
            while len(s.encode()) > t[1]:
                s = s[:-1]
            return s
        if k == 'enum':
            return r.choice(t[1])
        if k == 'time':
            return self.ts + r.choice([0, 1, -10**9]) if self.p(.5) and abs(self.ts) < 9 * 10**18 else self.moment()
        if k == 'dur':
            return r.choice([0, 1, -1, 10**9, -10**9, 60 * 10**9, I64MIN, I64MAX, 90061 * 10**9])
        if k == 'date':
            return r.choice(['2026-03-03', '1969-12-31', '1970-01-01', '0001-01-01', '9999-12-31', '2024-02-29'])
        if k == 'arr':
            sub = t[1] if len(t[2]) == 1 else ('arr', t[1], t[2][1:])
            return [self.value(sub) for _ in range(t[2][0])]
        raise AssertionError(t)

    def stream(self, R, n):
        r, out = self.r, []
        self.ts = self.moment() if self.p(.5) else 1772550000 * 10**9
        if abs(self.ts) > 9 * 10**18 and self.p(.7):
            self.ts = 0
        big = [i for i in (R.E, R.PM, R.PL, R.K, R.TB)]
        for _ in range(n):
            k = r.random()
            if k < .06 and R.PM:
                q = r.choice(list(R.PM.values()))
                v = self.value(q.ty)
                if self.p(.5) and q.lo is not None:
                    z = r.choice([q.lo, q.hi, q.val])
                    v = fmt_dec(z, q.ty[1]) if is_dec(q.ty) else fmt_date(z) if q.ty == DA else z
                out.append({'param': q.name, 'value': v})
            elif k < .1 and (R.PL or R.K):
                q = r.choice(list(R.PL.values()) + list(R.K.values()))
                out.append({'plugin': q.name, 'value': None if self.p(.3) else self.value(q.ty)})
            elif k < .22:
                hs = [d for d in R.TB.values() if d.host]
                if hs:
                    d = r.choice(hs)
                    out.append({'row': d.name, 'key': [self.value(q[1]) for q in d.keys], 'values': None if self.p(.25) else {f[0]: self.value(f[1]) for f in d.fields}})
            step = r.choice([0, 1, 2, 10**8, 10**9, 2 * 10**9] if self.theme in ('windows', 'swap') and self.p(.9) else [0, 0, 1, 3, 10**6, 10**8, 10**9, 10**9, 7 * 10**9, 60 * 10**9, 3600 * 10**9, 86400 * 10**9, 40 * 86400 * 10**9])
            self.ts = min(I64MAX, self.ts + step)
            ts = max(I64MIN, self.ts - r.choice([0] * 12 + [1, 10**9, 10**12]))
            e = r.choice(list(big[0]))
            f = {}
            for nm, t, o, _ in R.E[e].fields:
                if o and self.p(.25):
                    continue
                f[nm] = self.value(t)
            out.append({'type': e, 'ts': ts, 'f': f})
        bad = .7 if self.theme == 'lines' else .02
        return [self.mangle(json.dumps(o, ensure_ascii=self.p(.3))) if self.p(bad) else json.dumps(o, ensure_ascii=self.p(.3)) for o in out]

    PIECES = ['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '\t', '\r', '0', '-', '+', '.', 'e', 'E5', 'null', 'true', 'false', 'nan', 'NaN', 'Infinity', '1e400', '-0', '-0.0', '1.0', '1e2',
              '9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809', '01', '"x"', '"\\u0000"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\udc00"', '\ufeff', '\u2028', '\u00e9',
              '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]', '{"a":1,"a":2}', '\x0b', '\x7f', '\x01', '"2026-03-03"', '"2026-02-30"', '"1.50"', '"1.5000000000000000000000000000001"', '"-.5"',
              '"2026-03-03T15:00:00Z"', '"2026-03-03T15:00Z"', '"2026-03-03T24:00:00Z"', '"2026-03-03T15:00:00.1234567891Z"', '1' * 40, '"' + 'x' * 300 + '"', '"\\/\\b\\f"', '"\\x"', "'a'", '#', '\udcff', '\udce9', '"\udcc3\udca9"', '\x00']

    def mangle(self, s):
        """A line with some wounds; what is still good and what is not is for the model to say."""
        r = self.r
        for _ in range(r.choice([1, 1, 1, 2, 4])):
            k, i = r.random(), r.randrange(len(s) + 1)
            if k < .2:
                s = s[:i] + r.choice(self.PIECES) + s[i:]
            elif k < .3:
                s = s[:i] + s[i + r.randint(1, 4):]
            elif k < .35:
                s = s[:i]
            elif k < .4:
                s = r.choice([' ', '\t', '\r', '\ufeff', '\x00', '\x0c']) + s + r.choice(['', ' ', '\r', '\x0b', '\u00a0'])
            else:                                          # a value for a value
                m = list(re.finditer(r'(?<=: )("(?:[^"\\\\]|\\\\.)*"|-?[0-9][0-9.e+-]*|true|false|null)', s))
                if m:
                    q = r.choice(m)
                    s = s[:q.start()] + r.choice(self.PIECES) + s[q.end():]
        return s.replace('\n', ' ')
