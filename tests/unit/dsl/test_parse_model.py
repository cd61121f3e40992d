#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parser against the language model: same tree with the same spans, or the same first mistake at the same place.

  test_parse_model.py DRIVER [SEED [MUTANTS]]

Sources are the files of the conformance suite, some of our own, and mutants of both. Exit 77 without the model."""
import glob
import os
import random
import re
import subprocess
import sys

SHARED = os.environ.get('REDAN_SHARED') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../../shared')
if not os.path.isdir(SHARED + '/reference'):
    print('skipped: no language model at', SHARED)
    sys.exit(77)
sys.path.insert(0, SHARED + '/reference')
from rdn_core import Diag, linecol, tname   # noqa: E402
from rdn_syntax import parse                # noqa: E402
sys.setrecursionlimit(100000)


# ---- the tree as parse_driver.c prints it
def span(p):
    return f'@{p[0]}-{p[1]}'


def named(n, p):
    return f' {n}{span(p)}'


def hexed(s):
    return ' x' + s.encode().hex()


def ename(s):
    return hexed(s)


def typ(t):
    return ' ' + tname(t)


def num(x):
    m, sc = x.m, x.sc
    while m and m % 10 == 0:
        m, sc = m // 10, sc - 1
    return f' {m or ""} {sc if m else 0} {int(x.frac)}'


def expr(x):
    if x is None:
        return ' -'
    o = f' ({x.k}{span(x.pos)}h{x.h}'
    if x.k == 'num':
        o += num(x)
    elif x.k == 'lit':
        o += typ(x.ty) + (hexed(x.v) if x.ty[0] == 'text' else ' inf' if x.ty[0] == 'float' else f' {int(x.v)}')
    elif x.k == 'name':
        o += ' ' + x.v
    elif x.k == 'un':
        o += f' {x.op}' + expr(x.a)
    elif x.k == 'bin':
        o += f' {x.op}' + expr(x.a) + expr(x.b)
    elif x.k == 'range':
        o += expr(x.a) + expr(x.b)
    elif x.k == 'if':
        o += expr(x.c) + expr(x.x) + expr(x.y)
    elif x.k == 'call':
        o += named(x.f, x.fpos) + exprs(x.xs)
    elif x.k == 'set':
        o += exprs(x.xs)
    elif x.k == 'dot':
        o += expr(x.a) + named(x.f, x.fpos)
    elif x.k == 'idx':
        o += expr(x.a) + exprs(x.ix)
    return o + ')'


def exprs(xs):
    return ''.join(map(expr, xs))


def efields(fs):
    return ' {' + ''.join(ename(n) + span(p) + expr(x) for n, x, p in fs) + '}'


def action(a):
    if a is None:
        return ' -'
    o = f' ({a.verb}{span(a.pos)}'
    if a.code:
        o += named(a.code, a.cpos)
    o += expr(a.x)
    if a.dur is not None:
        o += f' for {a.dur}{span(a.fpos)}'
    if a.verb == 'emit':
        o += efields(a.fields)
    if a.msg is not None:
        o += ' msg' + ''.join(hexed(m) if isinstance(m, str) else expr(m) for m in a.msg)
    return o + ')'


def fields(fs):
    return ' {' + ''.join(named(n, p) + typ(t) + '?' * q for n, t, q, p in fs) + '}'


def params(ps):
    return ' (' + ''.join(f' {n}:' + (named(t[1], t[2]) if t[0] == 'event' else typ(t)) for n, t in ps) + ')'


def from_file(d):
    return hexed(d.src) + span(d.spos) if d.src is not None else ''


def d_param(d):
    lo, hi = d.range or (None, None)
    return typ(d.ty) + span(d.tpos) + expr(d.v) + expr(lo) + expr(hi)


def d_list(d):
    return typ(d.ty) + span(d.tpos) + from_file(d) + exprs(d.xs)


def d_table(d):
    o = fields([(n, t, False, p) for n, t, p in d.keys]) + fields(d.fields) + from_file(d) + f' host {int(d.host)} {d.cap or 0}'
    for k, v, p in d.rows:
        o += (' default' if k is None else ' row') + span(p) + exprs(k or []) + ' :' + exprs(v)
    return o


def d_calendar(d):
    o = hexed(d.tz) + span(d.tzpos)
    for days, lst, h0, h1, ex in d.ss:
        o += f' ({sum(1 << q for q in set(days or []))}' + (named(lst.v, lst.pos) if lst else '') + f' {h0} {h1}'
        o += ''.join(named(e.v, e.pos) for e in ex) + ')'
    return o


def d_call(d):
    o = params(d.ps) + typ(d.ty) + f' {d.deadline}' + expr(d.default)
    if d.k == 'kernel':
        o += span(d.tpos) + named(d.var, d.varpos) + f' {d.cnt}' + ''.join(named(n, p) + expr(x) for n, x, p in d.lets)
        o += named(d.red, d.redpos) + exprs(d.rx)
    return o


def d_window(w):
    o = named(w.agg, w.aggpos) + exprs(w.xs) + f' {w.over or 0} {w.events or 0} by' + exprs(w.by) + named(w.on, w.onpos)
    o += f' {int(w.accepted)}' + expr(w.where)
    o += f' {w.panes or 0} {w.exact or 0} {w.keys or 0} {[None, "oldest", "idle"].index(w.evict)} {w.warmup or 0} {int(w.local)}'
    o += ''.join(span(w.opos.get(k, (0, 0))) for k in ('over', 'panes', 'exact', 'keys', 'warmup', 'local'))
    return o + ''.join(named(*r) for r in w.resets)


def d_rule(r):
    return named(r.on, r.onpos) + f' {r.prio} {int(r.shadow)}' + expr(r.when) + ''.join(map(action, r.acts)) + ' undefined' + action(r.undef)


def names(v):
    return ' [' + ''.join(named(*q) for q in v) + ']'


def judged(ex):
    o = f' => {("accept", "throttle", "hold", "reject").index(ex.verdict)}{span(ex.pos)} {int(ex.more)}'
    if ex.score is not None:
        o += f' {ex.score}'
    o += names(ex.codes)
    for n, f, p in ex.emits:
        o += named(n, p) + (efields(f) if f is not None else '')
    return o + names(ex.undef)


def step(s):
    o = f' ({s.k}{span(s.pos)}'
    if s.k in ('tparam', 'tmock', 'trow'):
        o += named(s.name, s.npos)
    elif s.k == 'tev':
        o += named(s.ev, s.pos)
    at = s.v if s.k == 'tat' else 0 if s.k != 'tev' else -1 if s.adv is None else s.adv
    o += f' {at} {int(s.k == "trow" and s.fs is None)}' + expr(getattr(s, 'x', None))
    if s.k == 'texpect' and s.cause:
        o += named(s.cause.v, s.cause.pos)
    o += exprs(getattr(s, 'ks', [])) + efields(getattr(s, 'fs', None) or [])
    if s.k == 'tev':
        o += f' {s.rep}' + (judged(s.ex) if s.ex else '')
    return o + ')'


DECL = {'event': lambda d: fields(d.fields), 'param': d_param, 'list': d_list, 'table': d_table, 'calendar': d_calendar,
        'fn': lambda d: params(d.ps) + typ(d.ty) + expr(d.x), 'let': lambda d: named(d.on, d.onpos) + expr(d.x),
        'window': d_window, 'plugin': d_call, 'kernel': d_call, 'rule': d_rule, 'test': lambda d: ''.join(map(step, d.steps))}


def model(raw):
    try:
        src, h, ds = parse(raw)
    except Diag as d:
        src = raw.decode('latin-1')
        (l0, c0), (l1, c1) = (linecol(src, p) for p in d.pos)
        return f'{d.code} {l0}:{c0}-{l1}:{c1} {d.msg}' + (f' = {d.hint}' if d.hint else '')
    o = f'ok {h.name} {h.version}{span(h.pos)}' + action(h.undef)
    if h.budget is not None:
        o += f' budget {h.budget}{span(h.bpos)}'
    if h.partition is not None:
        o += named(h.partition, h.ppos)
    return o + ''.join(f'; {d.k}' + ename(d.name) + span(d.pos) + DECL[d.k](d) for d in ds)


# Hints are free (LANGUAGE.md 16). These are ours; all others are the model's.
OUR_HINTS = ("write '", 'strings stand', 'nothing ends', 'compare with', 'in a window:')


def same(want, have):
    said, _, hint = have.partition(' = ')
    return want == have or (re.match(r'E\d', have) and hint.startswith(OUR_HINTS) and want.split(' = ')[0] == said)


# ---- sources
OWN = [
    'ruleset a version 0x10 undefined flag A "x {1+2} {{}} \\u{1F600}" budget 1.5us partition by k\n',
    'param p: float = -1_000.50e-3 in -1e400..1e400\nparam q: dec(4) = 12.5% param r: dur = 0.000000001s\n',
    'rule r on E priority -3 shadow { when not (a == b) and c not in [1, 2,] or d in 1..2 ?? 3 flag A "v={a/2} e={b?? 1}" undefined skip }\n',
    'rule r on E { when (if x then 1 else 2) > t[1, "a"].b score S -2.50 * 3 for 5s "p" emit Q { now: 1, z: if a then b else c } }',
    'table t by a: str(3), b: int { c: float d: enum(x, y) } = { "q", 1: 1.0, "x" default: 2%, 3bps }\ntable h by k: sym { v: int } from host keys 10',
    'calendar c tz "UTC" { mon..fri 09:30..16:00 except hol, hal  fri..mon 00:00..24:00  special 10:00..11:00 }',
    'kernel k(s: float, v: float[3], w: int) -> float deadline 2ms default 0.5 { each i < 1_000 let a = s*i let b = a+1 reduce quantile(b, 0.99) }\nplugin p(e: Ev, x: int) -> dec(2) deadline 1s',
    'window w = count() over 10 events by a, b+1 on accepted accepted where x panes 4 exact 5 keys 6 evict idle warmup 7 local reset on R reset on S\nwindow v = sum(a) on accepted',
    'test "a" { at 2026-03-03T14:30:00.5+01:00 param p = 1 mock m = none row t[1, 2] = none row t[1] = { a: 1, b: 2, } after 5s E { a: none, b: 1 } repeat 3 => hold A, B_1 score -5 emit X { 5: 1, "q": 2 } emit Y undefined r, .. E { } => accept expect undefined(cold) w[1] expect a == 2026-03-03 param { x: 1 } }',
    'let l on E = ' + '(' * 63 + '1' + ')' * 63, 'let l on E = ' + '(' * 65 + '1' + ')' * 65, 'let l on E = ' + '-' * 64 + '1', 'let l on E = ' + '-' * 65 + '1',
    'let l on E = ' + '+'.join(['1'] * 200), 'let l on E = ' + '+'.join(['1'] * 201), 'let l on E = f(' + ','.join(['1'] * 4094) + ')', 'let l on E = f(' + ','.join(['1'] * 4095) + ',2)',
    'list l: int = [' + ','.join(['1'] * 4096) + ']', 'list l: int = [' + ','.join(['1'] * 4097) + ']', 'event E { ' + ' '.join(f'f{i}: int?' for i in range(65)) + '}',
    'event E { a: enum(' + ','.join(f'e{i}' for i in range(256)) + ') }', 'event E { ' + ' '.join(f'f{i}: int' for i in range(257)) + '}', 'event E { a: int[64,64] b: float[4096] c: int[65,64] }',
    'let l on E = if a then b else if c then d else e + if', 'x', 'ruleset', '"', '"\\', '"\\u12', '"\\u{110000}"', '1e401', '1' * 65, '0x', '0x1_f', '0x_1', '0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF',
    'let l on E = 0xffffffffffffffffffffffffffffffffffffffffffffffffff00', 'let l on E = 1_0.5_0e+03 + 000.000 + 1.50% + 2bps + 0.0000000000000001w + 5e1', 'let l on E = 9223372036.854775807s', 'let l on E = 9223372036.854775808s', 'let l on E = 0.5ns',
    'let l on E = 0.' + '0' * 55 + 's', 'let l on E = 15250w', 'let l on E = 15251w', 'let l on E = 1e3s', 'let l on E = 5q', 'let l on E = 5mss', '\ufeffruleset', 'é', '# é\n€', 'let l on E = "é\\n" "',
    'let l on E = a "in" b', 'let l on E = a not "in" b', 'window w = count() over 5 "events" on E', 'test "a" { row t "[" 1] = none }', 'test "a" { param a "=" 1 }', 'test "a" { expect undefined "(" cold) 1 }',
    'test "a" { param a "=\\u{0}" 1 }', 'let l on E = a not "in\\u{0}" b', 'let l on E = a not "in\\u{0}\\u{0}" b',
    'rule r on E { when a emit X { "now": 1 } }', 'rule r on E { when a flag A "{ }" }', 'rule r on E { when a flag A "{a" }', 'rule r on E { when a flag A "{a}}" }', 'rule r on E { when a flag A "}" }', 'rule r on E { when a flag A "{a b}" }',
    'rule r on E { when a flag A "{a # c}" }', 'rule r on E { when a flag A "{@}" }', 'rule r on E { when a flag A "{\\n}" }', 'rule r on E { when a flag A "\\\\u{41}" }', 'rule r on E { when a flag A "\\u{41}{{" }', 'rule r on E { when a flag a }', 'rule r on E { when a flag _x }',
    'rule r on E { when a flag A "{1 = 2}" } @', 'let l on E = ) "', 'let l on E = 24:01', 'let l on E = 2026-02-30', 'let l on E = 2026-02-03x', 'let l on E = 2026-02-03T', 'let l on E = 1600-01-01T00:00Z', 'event e { now: int }', 'event in { }',
]
WORDS = ('accept and at by { } ( ) [ ] : , . .. => -> ?? == != <= - + * / = ? in not if then else or mod true none inf now score undefined on over where '
         'emit flag hold priority expect row param mock after repeat 1 2.5 5s 09:30 2026-03-03 2026-03-03T14:30:00Z "a" "{x}" x E 10 events host default').split()


def sources(seed, mutants):
    base = [s.encode() for s in OWN]
    for f in sorted(glob.glob(SHARED + '/conformance/**/*.rdn', recursive=True)):
        with open(f, 'rb') as h:
            base.append(h.read())
    yield from base
    yield b'\xff'
    yield b'let a on E = "\xed\xa0\x80"'
    yield b'# \x01\n\xe2\x82'
    rnd = random.Random(seed)
    small = [b for b in base if len(b) < 6000]
    for _ in range(mutants):
        yield mutate(rnd, rnd.choice(small))


def mutate(rnd, s):
    for _ in range(rnd.choice((1, 1, 1, 2, 3))):
        i = rnd.randrange(len(s) + 1)
        k = rnd.randrange(8)
        if k == 0:
            s = s[:i] + bytes([rnd.randrange(256)]) + s[i + 1:]
        elif k == 1:
            s = s[:i] + rnd.choice(b'{}()[]:,."\\\n#@+-0123456789eExX_% ').to_bytes(1, 'big') + s[i + rnd.randrange(2):]
        elif k == 2:
            s = s[:i] + s[i + rnd.randrange(1, 5):]
        elif k == 3 and rnd.random() < 0.3:
            s = s[:i]
        elif k in (4, 5):                      # drop, double or replace a word
            t = s.split(b' ')
            j = rnd.randrange(len(t))
            t[j:j + 1] = rnd.choice(([], [t[j], t[j]], [rnd.choice(WORDS).encode()], [rnd.choice(WORDS).encode(), t[j]]))
            s = b' '.join(t)
        else:
            s = s[:i] + b' ' + rnd.choice(WORDS).encode() + b' ' + s[i:]
    return s


def main():
    driver = sys.argv[1]
    seed, mutants = (int(a) for a in (sys.argv[2:4] + ['1', '1500'][len(sys.argv) - 2:]))
    srcs = list(sources(seed, mutants))
    data = b''.join(b'%d\n%s' % (len(s), s) for s in srcs)
    r = subprocess.run([driver], input=data, stdout=subprocess.PIPE)
    got = r.stdout.decode('utf-8', 'replace').split('\n')
    bad = 0
    for i, s in enumerate(srcs):
        want = model(s)
        have = got[i] if i < len(got) else 'nothing'
        if not same(want, have):
            bad += 1
            if bad <= 5:
                at = next((j for j, (a, b) in enumerate(zip(want, have)) if a != b), min(len(want), len(have)))
                print(f'source {i}: {s[:300]!r}\n  model  {want[max(0, at - 60):at + 100]}\n  parser {have[max(0, at - 60):at + 100]}')
    kinds = {}
    for g in got:
        kinds[g[:5].split(' ')[0]] = kinds.get(g[:5].split(' ')[0], 0) + 1
    print(f'{len(srcs)} sources, {bad} differ;', ' '.join(f'{k}:{v}' for k, v in sorted(kinds.items()) if k))
    sys.exit(1 if bad or r.returncode or len(got) != len(srcs) + 1 else 0)


if __name__ == '__main__':
    main()
