#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""base/ against Python: repr, fractions, zoneinfo, and the language model where the shared folder is there.

Usage: base_diff.py PROBE [SEED [N]]. Prints each difference; exit 0, 1, or 77 without the model."""
import json
import math
import os
import random
import struct
import subprocess
import sys
import zoneinfo

probe, seed, n = sys.argv[1], int((sys.argv + ['', '1'])[2] or 1), int((sys.argv + [''] * 2)[3] or 1500)
shared = os.environ.get('REDAN_SHARED') or os.path.join(os.path.dirname(__file__), '../../../../shared')
sys.path.insert(0, os.path.join(shared, 'reference'))
try:
    import rdn_core as m
except ImportError:
    print('skipped: the language model (shared/reference) is not here')
    sys.exit(77)
rng = random.Random(seed)
asks = []                                    # (request, expected, what)


def ask(op, *args, want, what=None):
    asks.append((' '.join([op, *map(str, args)]), str(want), what if what is not None else args))


def bits(x):
    return struct.pack('>d', x).hex()


def from_bits(b):
    return struct.unpack('>d', struct.pack('>Q', b))[0]


def hx(s):
    return (s.encode() if isinstance(s, str) else s).hex()


def refused(v):
    return '-' if v is None or isinstance(v, m.U) else v


def doubles():
    for e in range(-1074, 1024):             # the gap changes at powers of two
        for x in (2.0**e, math.nextafter(2.0**e, 0), math.nextafter(2.0**e, math.inf)):
            yield x
    for e in range(-324, 309):
        yield float(f'1e{e}')
        yield float(f'9.999999999999999e{e}') if e < 308 else 1.0
    yield from (0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16,
                9999999999999998.0, 0.0001, 0.00001, 123456789012345.0, 1234567890123456.0)
    for _ in range(n * 4):
        yield from_bits(rng.getrandbits(64))
        yield from_bits(rng.getrandbits(52))                   # subnormal
        yield float(f'{rng.randrange(10**rng.randint(1, 17))}e{rng.randint(-30, 12)}')
        yield rng.randrange(-10**6, 10**6) / rng.choice((1, 2, 100, 10**4, 3))


for x in doubles():
    ask('F', bits(x), want=m.fmt_float(x), what=x)
    ask('S', bits(x), want=m.fmt_text(x, ('float',)), what=x)
    if math.isfinite(x):
        ask('R', hx(repr(x)), want=bits(float(repr(x))), what=x)
        d = rng.choice((f'{x:.{rng.randint(0, 30)}e}', f'{x:.{rng.randint(0, 60)}f}')) if abs(x) < 1e200 else repr(x)
        ask('R', hx(d), want=bits(float(d)), what=d)

# Midpoints of neighbours, exactly and a hair beside them: the hardest texts there are.
for i in range(n // 2):
    a = abs(from_bits(rng.getrandbits(52 if i % 3 == 0 else 63)))
    b = math.nextafter(a, math.inf)
    if not math.isfinite(b) or not math.isfinite(a):
        continue
    mid = (m.Fraction(a) + m.Fraction(b)) / 2
    k = mid.denominator.bit_length() - 1     # a power of two: mid * 10^k is an integer
    digits = mid.numerator * 5**k
    for t in (f'{digits}e-{k}', f'{digits}{"0" * 900}1e-{k + 901}', f'{digits - 1}{"9" * 900}e-{k + 900}'):
        if len(t) < 32000:
            ask('R', hx(t), want=bits(float(t)), what=f'midpoint above {a!r}')
for t in ('', '+', '-', '.', '.5', '5.', '+1', '1e', '1e+', 'e5', '1_0', ' 1', '1 ', 'inf', 'nan', '0x1', '1e400', '-1e400',
          '1e-400', '0e999999999999999999999', '1e999999999999999999999', '1e-99999999999999999999', '00001', '1.5.2', '1,5',
          '0.' + '0' * 5000 + '1e5001', '1' + '0' * 400 + 'e-400', '--1', '1e5.5'):
    try:
        want = '-' if t in ('inf', 'nan', '1_0') or t != t.strip() else bits(float(t))
    except ValueError:
        want = '-'
    ask('R', hx(t), want=want, what=t)


def big(limit=127):
    v = rng.getrandbits(rng.randint(0, limit))
    edge = rng.random()
    if edge < .1:
        v = 2**127 - 1 - rng.randrange(3)
    elif edge < .3:
        v = 10**rng.randint(0, 38) // rng.choice((1, 2)) + rng.randint(-1, 1)
    return max(-2**127, min(2**127 - 1, -v if rng.random() < .5 else v))


def fits(v):
    return v if m.I128MIN <= v <= m.I128MAX else '!1'


for _ in range(n * 2):
    a, b, sa, sb, s = big(), big(), rng.randint(0, 18), rng.randint(0, 18), rng.randint(0, 18)
    if rng.random() < .1:
        a, b = rng.choice(((-2**127, b), (a, -2**127), (a, 0), (0, b), (-2**127, -1), (a, a), (2**127 - 1, 1)))
    ask('C', a, sa, sb, want=fits(m.rescale(a, sa, sb)))
    q, r = m.Fraction(a, 10**sa), m.Fraction(b, 10**sb)
    if rng.random() < .5:                    # nearly equal
        b = max(-2**127, min(2**127 - 1, m.rescale(a, sa, sb) + rng.randint(-1, 1)))
        r = m.Fraction(b, 10**sb)
    ask('M', a, sa, b, sb, want=(q > r) - (q < r))
    ask('X', a, sa, want=bits(m.dec_to_f64(a, sa)))
    ask('E', a, sa, want=m.fmt_dec(a, sa))
    if b == 0:
        want = '!5'
    else:
        f = q / r * 10**s
        v = m.half_even(f.numerator, f.denominator)
        want = v if m.I128MIN <= v <= m.I128MAX else '!4'
    ask('V', a, sa, b, sb, s, want=want)
    x = rng.choice((from_bits(rng.getrandbits(64)), rng.randrange(-10**9, 10**9) / 2**rng.randint(0, 40), float(big()), math.nan,
                    math.inf, -0.0, 2.0**127, -2.0**127, 5e-324, 0.5, 1.5, 2.5))
    v = m.f64_to_dec(x, s, 0)
    ask('Y', bits(x), s, want={'nan': '!3', 'range': '!6', 'overflow': '!4'}[v.cause] if isinstance(v, m.U) else v, what=(x, s))

for _ in range(n):
    t = rng.choice((rng.randrange(-2**63, 2**63), rng.randrange(-10**12, 10**12), rng.randrange(2**63 // 10**9) * 10**9))
    ask('T', t, want=m.fmt_time(t))
    ask('t', hx(m.fmt_time(t)), want=t)
    ask('U', t, want=m.fmt_dur(t))
    day = rng.randint(-719162, 2932896)
    ask('D', day, want=m.fmt_date(day))
    ask('d', hx(m.fmt_date(day)), want=day)


def mutate(s):
    s = list(s)
    for _ in range(rng.randint(0, 2)):
        i = rng.randrange(len(s) + 1)
        k = rng.random()
        if k < .4 and i < len(s):
            s[i] = rng.choice('0123456789-:.TZ+mhsun ')
        elif k < .7:
            s.insert(i, rng.choice('0123456789-:.TZ+mhsun '))
        elif i < len(s):
            del s[i]
    return ''.join(s)


for _ in range(n * 2):
    t = mutate(f'{rng.choice((0, 1, 1677, 1970, 2000, 2024, 2262, 9999)):04}-{rng.randint(0, 13):02}-{rng.randint(0, 32):02}T'
               f'{rng.randint(0, 24):02}:{rng.randint(0, 60):02}' + rng.choice(('', f':{rng.randint(0, 60):02}',
               f':59.{rng.randrange(10**9)}', ':07.', ':00.1234567890')) + rng.choice(('Z', '+00:00', '-23:59', '+24:00', '+05:30', '')))
    ask('t', hx(t), want=refused(m.parse_time(t)), what=t)
    ask('d', hx(t[:10]), want=refused(m.parse_date(t[:10])), what=t[:10])
    t = mutate(rng.choice(('', '+', '-')) + ''.join(rng.choice((f'{rng.randrange(10**rng.randint(1, 12))}', f'{rng.random():.{rng.randint(1, 20)}f}',
               '.5', '5.', '0.3333333333333333333', '.', f'0.{"9" * rng.randint(1, 50)}')) + rng.choice(('ns', 'us', 'ms', 's', 'm', 'h', 'd')) for _ in range(rng.randint(0, 3))))
    v = m.parse_dur(t)
    ask('u', hx(t), want='-' if v is None or not m.I64MIN <= v <= m.I64MAX else v, what=t)
    t = mutate(str(rng.choice((rng.randrange(-2**64, 2**64), rng.randrange(-99, 99), 2**63 - 1, 2**63, -2**63, -2**63 - 1))))
    ok = m.re.fullmatch(r'-?[0-9]+', t) and -2**63 <= int(t) < 2**63
    ask('I', hx(t), want=int(t) if ok else '-', what=t)

words = ['reject', 'accept', 'throttle', 'qty', 'price', 'Price', 'notional', 'abs', 'ab', 'ba', 'account', 'venue', 'symbol', 'x', 'y']
for _ in range(n):
    w = list(rng.choice(words))
    for _ in range(rng.randint(0, 4)):
        i = rng.randrange(len(w))
        w[i:i + rng.randint(0, 2)] = rng.choice(([], ['q'], ['E'], ['a', 'b']))
        w = w or ['z']
    w = ''.join(w)
    opts = rng.sample(words, rng.randint(1, 8))
    hint = m.near(w, opts)
    ask('N', w, *opts, want=-1 if hint is None else opts.index(hint.split('"')[1]))

for _ in range(n):
    raw = bytes(rng.choice((rng.getrandbits(8), 0x41, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0xf0, 0x9f, 0x98, 0x80, 0xf4, 0x90)) for _ in range(rng.randint(0, 6)))
    try:
        ok = len(raw.decode()) + 1
    except UnicodeDecodeError:
        ok = 0
    ask('8', raw.hex(), want=f'{int(ok > 0)} {sum(b & 0xc0 != 0x80 for b in raw)}')
    s = ''.join(rng.choice('ab"\\/\x01\x1fé\u20ac \t') for _ in range(rng.randint(1, 12)))
    ask('J', hx(s), want=m.jstr(s), what=s)
    assert json.loads(m.jstr(s)) == s

names = sorted(z for z in zoneinfo.available_timezones() if m.re.fullmatch(r'[A-Za-z0-9_+/-]+', z))
names += [p + z for p in ('posix/', 'right/') for z in names if os.path.exists(f'/usr/share/zoneinfo/{p}{z}')][::7]
for z in names:
    ts = [rng.randrange(-9 * 10**9, 9 * 10**9) for _ in range(10)] + [rng.randrange(1_700_000_000, 1_800_000_000) for _ in range(10)]
    ts += [t + d for t in (1710054000, 1741503600, 2140045200, 2147483647, -2147483648, 4102444800) for d in (-1, 0, 1)]
    # Transitions of some year past the tables, found by halving.
    y = rng.randint(2038, 2250)
    lo, hi = m.parse_time(f'{y}-01-01T00:00Z') // 10**9, m.parse_time(f'{y}-07-01T00:00Z') // 10**9
    zi = zoneinfo.ZoneInfo(z)

    def off(t):
        d = (m.EPOCH + m.datetime.timedelta(seconds=t)).replace(tzinfo=m.datetime.timezone.utc)
        return round(d.astimezone(zi).utcoffset().total_seconds())
    while hi - lo > 1 and off(lo) != off(hi):
        mid = (lo + hi) // 2
        lo, hi = (mid, hi) if off(mid) == off(lo) else (lo, mid)
    ts = [t for t in ts + [lo - 1, lo, hi, hi + 1] if abs(t) < 9_200_000_000]
    ask('Z', z, *ts, want=' '.join(str(off(t)) for t in ts) + ' ', what=z)
for z in ('UTC', '+02:00', '-09:30', '05:45', '+24:00', '+2:00', '02:60', 'Nowhere/Here', 'America', 'tzdata.zi', '../etc/passwd', '/etc/localtime',
          'Europe//Berlin', 'Europe/', '/Europe', 'europe/berlin2', 'leapseconds', '+0200', 'a' * 65, 'Etc/GMT+5', 'EST5EDT'):
    zz = m.zone(z)
    ask('Z', z, 0, want='-' if zz is None else f'{zz if isinstance(zz, int) else round(zz.utcoffset(m.EPOCH).total_seconds())} ', what=z)

out = subprocess.run([probe], input='\n'.join(a[0] for a in asks) + '\n', capture_output=True, text=True)
got = out.stdout.split('\n')[:-1]
bad = [(a, g) for a, g in zip(asks, got) if a[1] != g]
for (req, want, what), g in bad[:30]:
    print(f'{req[0]} {what}: expected {want!r}, got {g!r}'[:400])
sys.stderr.write(out.stderr)
print(f'{len(asks)} compared, {len(bad)} differ (seed {seed})')
sys.exit(bool(bad) or len(got) != len(asks) or out.returncode != 0)
