#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`redan feed` and `redan run --feed`: what they say of good, bad and damaged market files, and rules over merged feeds.

  test_feed.py REDAN

The last line is `N passed, N failed`."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

REDAN = os.path.abspath(sys.argv[1])
TMP = tempfile.TemporaryDirectory(prefix='redan-feed-')
DIR = pathlib.Path(TMP.name)
DAY = 1772496000                                         # 2026-03-03

MESSAGES = ''.join(f'{34200 + i * 0.5:.1f},1,{i + 1},{10 * (i % 12 + 1)},{1000000 + (1 + i % 7) * 100 * (1 if i % 2 else -1)},{-1 if i % 2 else 1}\n' for i in range(50)) + \
    ''.join(f'{34230 + i},4,{i + 1},5,{1000000 + (1 + i % 7) * 100 * (1 if i % 2 else -1)},{-1 if i % 2 else 1}\n' for i in range(20))
RULES = '''ruleset watch version 1
  undefined flag NOVALUE
event Order { account: sym  symbol: sym  side: enum(buy, sell)  qty: int  px: dec(4)? }
event Print { symbol: sym  px: dec(4)  qty: int  bid: dec(4)?  ask: dec(4)? }
rule size on Order { when qty > 100  reject SIZE }
rule near on Order { when px != 99.0  flag AWAY }
rule wide on Print { when ask - bid > 0.01  flag WIDE }
'''
MAP = '''- event: Print
  when: {action: [execute, trade]}
  ts: {column: ts, unit: ns}
  fields: {symbol: {column: symbol}, px: {column: px}, qty: {column: qty}, bid: {column: bid}, ask: {column: ask}}
- event: Order
  when: {type: [D]}
  ts: {column: ts, unit: ns}
  fields: {account: {column: account}, symbol: {column: symbol}, side: {column: side, values: {bid: buy, ask: sell}}, qty: {column: qty}, px: {column: px}}
'''


def fix(body):
    body = body.replace('|', '\x01')
    head = f'8=FIX.4.4\x019={len(body)}\x01{body}'
    return f'{head}10={sum(head.encode()) % 256:03}\x01'


ORDERS = ''.join(fix(f'35=D|49=F|56=V|34={i}|1=A,{i % 2}|11=a{i}|55=AAPL|54={i % 2 + 1}|38={70 + i * 10}|40=2|44=99|60=20260303-09:30:{31 + i}|') for i in range(5))


def put(name, text):
    (DIR / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def run(*args):
    r = subprocess.run([REDAN, *args], capture_output=True, cwd=DIR, timeout=60, stdin=subprocess.DEVNULL)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def eq(got, want, what=''):
    assert got == want, f'{what}: got {got!r}, wanted {want!r}'


def has(text, *parts):
    for p in parts:
        assert p in text, f'{p!r} is not in {text!r}'


def test_info_and_check():
    put('m.csv', MESSAGES)
    rc, out, err = run('feed', 'info', 'm.csv', '--tick', '0.01', '--symbol', 'AAPL', '--date', '2026-03-03')
    eq((rc, err), (0, ''), out)
    has(out, 'format      lobster', 'events      70', 'from        2026-03-03T09:30:00Z', 'faults      none', 'AAPL', 'valid')
    eq(run('feed', 'check', 'm.csv', '--tick', '0.01')[0], 0)
    rc, out, err = run('feed', 'check', put('bad.csv', MESSAGES + '34300,1,99,1,1000050,1\n34301,4,77,1,1000000,1\nrubbish\n'), '--tick', '0.01')
    eq(rc, 1)
    has(out, '3 faults' if 'OVER' not in out else 'faults', 'OFF_TICK', 'R8203', 'UNKNOWN_ID', 'first: event 71, order 77', 'SHORT_INPUT')
    rc, out, err = run('feed', 'check', put('x.fix', ORDERS.replace('44=99', '44=9x') + ORDERS), '--tick', '0.01')
    eq(rc, 1)
    has(out, 'fix, 5 events', 'BAD_CHECKSUM', 'the sum of its bytes is not what 10 says')


def test_usage():
    put('m.csv', MESSAGES)
    rows = ((('feed',), 'info FILE'), (('feed', 'inof', 'm.csv'), 'info FILE'), (('feed', 'info'), ''), (('feed', 'info', 'm.csv'), '--tick 0.01'),
            (('feed', 'info', 'none.csv', '--tick', '1'), 'none.csv'), (('feed', 'info', 'm.csv', '--tick', '0'), 'tick'),
            (('feed', 'info', 'm.csv', '--tick', '0.01', '--date', 'today'), 'a day such as'), (('feed', 'info', 'm.csv', '--tick', '0.01', '--format', 'pdf'), "no format 'pdf'"),
            (('feed', 'info', put('what', b'\0\1\2what'), '--tick', '0.01'), 'no known format'), (('feed', 'convert', 'm.csv', 'out.txt', '--tick', '0.01'), '.rdt'),
            (('run', put('w.rdn', RULES), '--feed', 'm.csv'), '--map'), (('run', 'w.rdn', 'ev', '--feed', 'm.csv', '--map', put('w.yaml', MAP)), 'place of EVENTS'),
            (('run', 'w.rdn', '--feed', 'm.csv', '--map', 'w.yaml', '--tick', '0.01', '--speed', 'fast'), 'max, 1x'),
            (('run', 'w.rdn', '--feed', 'm.csv', '--map', put('v.yaml', MAP.replace('column: px}', 'column: price}')), '--tick', '0.01'), "no column 'price'"))
    for args, says in rows:
        rc, out, err = run(*args)
        eq((rc, out), (2, ''), f'{args}: {err}')
        has(err, says, 'redan: ')


def test_convert():
    put('m.csv', MESSAGES)
    eq(run('feed', 'convert', 'm.csv', 'a.rdt', '--tick', '0.01', '--symbol', 'AAPL', '--date', '2026-03-03')[0], 0)
    eq(run('feed', 'convert', 'a.rdt', 'a.events')[0], 0)
    eq((DIR / 'a.events').stat().st_size, 70 * 64)
    want = run('feed', 'convert', 'm.csv', '-', '--tick', '0.01', '--symbol', 'AAPL', '--date', '2026-03-03')[1].splitlines()
    got = run('feed', 'convert', 'a.rdt', '-')[1].splitlines()
    eq(len(want), 71)
    eq([x.split(',')[3:] for x in got], [x.split(',')[3:] for x in want], 'a tape and its source')
    rc, out, err = run('feed', 'convert', 'm.csv', 'a.events', '--tick', '0.01')
    eq(rc, 2)
    has(err, 'a.events', 'exists')
    tape = bytearray((DIR / 'a.rdt').read_bytes())
    tape[4096 + 128 + 1000] ^= 1
    put('damaged.rdt', bytes(tape))
    rc, out, err = run('feed', 'info', 'damaged.rdt')
    eq(rc, 2, out)
    has(err, 'R6020', 'damaged.rdt: block 0: checksum')


def test_rules_over_feeds():
    put('m.csv', MESSAGES)
    put('o.fix', ORDERS)
    base = ('run', put('w.rdn', RULES), '--feed', 'm.csv', '--feed', 'o.fix', '--map', put('w.yaml', MAP), '--tick', '0.01', '--symbol', 'AAPL', '--date', '2026-03-03')
    rc, out, err = run(*base)
    eq(rc, 0, err)
    lines = [json.loads(x) for x in out.splitlines()]
    eq([x['type'] for x in lines].count('Print'), 20)
    orders = [x for x in lines if x['type'] == 'Order']
    eq([x['verdict'] for x in orders], ['accept', 'accept', 'accept', 'accept', 'reject'])
    eq([x['now'] for x in lines], sorted(x['now'] for x in lines), 'merged by time of receipt')
    eq(orders[0]['now'], (DAY + 34231) * 10**9)
    assert not any('NOVALUE' in x['codes'] for x in orders), orders
    for more in (('--backend', 'interp'), ('--speed', '100000x')):
        eq(run(*base, *more)[1], out, more)
    part = run(*base, '--from', '2026-03-03T09:30:35Z', '--to', '2026-03-03T09:30:40Z')[1].splitlines()
    whole = [x for x in out.splitlines() if (DAY + 34235) * 10**9 <= json.loads(x)['now'] < (DAY + 34240) * 10**9]
    eq([{**json.loads(x), 'n': 0} for x in part], [{**json.loads(x), 'n': 0} for x in whole], 'a part: its books have seen what was before')
    swapped = run(*base[:2], '--feed', 'o.fix', '--feed', 'm.csv', *base[6:])[1]
    assert swapped != out, 'files in another order: equal times come in another order'


def good(fn):
    try:
        fn()
    except Exception:
        print(f'--- {fn.__name__}\n{traceback.format_exc()}')
        return False
    return True


if __name__ == '__main__':
    results = [good(fn) for fn in (test_info_and_check, test_usage, test_convert, test_rules_over_feeds)]
    print(f'{sum(results)} passed, {len(results) - sum(results)} failed')
    sys.exit(not all(results))
