#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Order books as host tables: `redan run`, `explain` and `cover` with --feed, on every executor, over made files and real ones. What rules read of a
real file is compared with MARKET.md's hash of its states.

  test_books.py REDAN

The last line is `N passed, N failed`; real files that are not there (REDAN_SHARED) are named and left out."""
import gzip
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import traceback

REDAN = os.path.abspath(sys.argv[1])
TMP = tempfile.TemporaryDirectory(prefix='redan-books-')
DIR = pathlib.Path(TMP.name)
DATA = pathlib.Path(os.environ.get('REDAN_SHARED', pathlib.Path(__file__).resolve().parents[3] / 'shared')) / 'data'
BACKENDS = ('interp', 'table', 'x64')
BOOK = 'table book by symbol: sym { ask: dec(2) ask_qty: int bid: dec(2) bid_qty: int mid: dec(3) spread: dec(2) at: time valid: bool crossed: bool depth: bool } from host\n'
HEAD = 'ruleset seen version 1\n  undefined flag NOVALUE\nevent M { symbol: sym  px: dec(2)?  b: dec(2)?  a: dec(2)? }\n'
EMIT = '''rule seen on M { when true  emit Q { b: book[symbol].bid, bq: book[symbol].bid_qty, a: book[symbol].ask, aq: book[symbol].ask_qty,
  m: book[symbol].mid, s: book[symbol].spread, t: book[symbol].at, v: book[symbol].valid, x: book[symbol].crossed, d: book[symbol].depth } }
'''
MAP = '''- event: M
  ts: {column: ts, unit: ns}
  fields: {symbol: {column: symbol}, px: {column: px}, b: {column: bid}, a: {column: ask}}
'''
DAY = 1772496000 * 10**9
#        seconds, type, id, size, price, side
LINES = ((34200, 1, 1, 100, 1000000, 1), (34201, 1, 2, 50, 1000200, -1), (34202, 4, 1, 30, 1000000, 1), (34203, 1, 3, 5, 1000300, -1),
         (34204, 3, 2, 50, 1000200, -1), (34205, 3, 1, 70, 1000000, 1), (34206, 1, 4, 9, 1000400, 1))
FEED = ('--map', 'm.yaml', '--tick', '0.01', '--date', '2026-03-03')


def put(name, text):
    (DIR / name).write_text(text)
    return name


def put_all():
    put('m.yaml', MAP)
    put('AAPL.csv', ''.join(','.join(map(str, x)) + '\n' for x in LINES))


def run(verb, rules, *args, rc=0):
    put('r.rdn', rules)
    r = subprocess.run([REDAN, verb, 'r.rdn', *args], capture_output=True, cwd=DIR, timeout=250, stdin=subprocess.DEVNULL)
    assert r.returncode == rc, f'{args}: exit {r.returncode}\n{r.stdout.decode()[:2000]}{r.stderr.decode()}'
    return r.stdout.decode() if rc < 2 else r.stderr.decode()


def decisions(rules, *args):
    """The same from every executor."""
    got = [run('run', rules, *args, '--backend', b) for b in BACKENDS]
    assert got[0] == got[1] == got[2], 'executors differ'
    return [json.loads(x) for x in got[0].splitlines()]


def eq(got, want, what=''):
    assert got == want, f'{what}: got {got!r}, wanted {want!r}'


def test_what_rules_see():
    """Each row as of the event at hand; a side that is not there leaves nothing to read."""
    put_all()
    seen = [d['emit'][0]['Q'] if d['emit'] else None for d in decisions(HEAD + BOOK + EMIT, '--feed', 'AAPL.csv', *FEED)]
    eq([s and (s['b'], s['bq'], s['a'], s['aq'], s['m'], s['s'], s['x']) for s in seen],
       [None, ('100.00', 100, '100.02', 50, '100.010', '0.02', False), ('100.00', 70, '100.02', 50, '100.010', '0.02', False),
        ('100.00', 70, '100.02', 50, '100.010', '0.02', False), ('100.00', 70, '100.03', 5, '100.015', '0.03', False), None,
        ('100.04', 9, '100.03', 5, '100.035', '-0.01', True)])
    eq([s['t'] for s in seen if s], [DAY + (34200 + i) * 10**9 for i in (1, 2, 3, 4, 6)])
    assert all(s['v'] and s['d'] for s in seen if s)
    none = [d for d, s in zip(decisions(HEAD + BOOK + EMIT, '--feed', 'AAPL.csv', *FEED), seen) if not s]
    assert all(d['codes'] == ['NOVALUE'] or d['undefined'] for d in none), none


def test_one_side():
    """bid and ask are tables of their own, for rules that need one side; book with no price in it is there without any."""
    put_all()
    rules = HEAD + ('table ask by symbol: sym { px: dec(4)  qty: dec(1) } from host\ntable bid by symbol: sym { px: dec(2) } from host\n'
                    'table book by symbol: sym { valid: bool } from host\n'
                    'rule a on M { when ask[symbol].px > 0.0 and ask[symbol].qty > 0.0  flag ASK }\nrule b on M { when bid[symbol].px > 0.0  flag BID }\n'
                    'rule v on M { when book[symbol].valid  flag VALID }\n')
    eq([d['codes'] for d in decisions(rules, '--feed', 'AAPL.csv', *FEED)],
       [['NOVALUE', 'BID', 'VALID'], ['ASK', 'BID', 'VALID'], ['ASK', 'BID', 'VALID'], ['ASK', 'BID', 'VALID'], ['ASK', 'BID', 'VALID'], ['ASK', 'NOVALUE', 'VALID'],
        ['ASK', 'BID', 'VALID']])


def test_as_the_columns_say():
    """The rows of the map show the same book, and so do explain and cover, several lanes, recorded speed, and the rest of a file."""
    put_all()
    put('MSFT.csv', ''.join(f'{t + 0.5},{a},{b},{q + 1},{p + 500},{s}\n' for t, a, b, q, p, s in LINES))
    both = ('--feed', 'AAPL.csv', '--feed', 'MSFT.csv', *FEED)
    rules = HEAD + BOOK + ('rule high on M { when b > 1000.0 or a > 1000.0  reject HIGH }\nrule low on M { when a < 1.0  reject LOW }\n'      # judged ahead, several rows at once
                           'rule same on M { when book[symbol].bid == b and book[symbol].ask == a  flag SAME }\n'
                           'rule other on M { when book[if symbol == "AAPL" then "MSFT" else "AAPL"].bid >= 100.0  flag OTHER }\n')
    rules = rules.replace('px: dec(2)?', 'other: sym').replace('[if symbol == "AAPL" then "MSFT" else "AAPL"]', '[other]')
    put('m.yaml', MAP.replace('px: {column: px}', 'other: {column: symbol, values: {AAPL: MSFT, MSFT: AAPL}}'))
    got = decisions(rules, *both)
    eq(len(got), 14)
    eq(sum('SAME' in d['codes'] for d in got), 10, 'both sides are there')
    assert 5 < sum('OTHER' in d['codes'] for d in got) < 14, 'the other symbol has a book at times'
    out = run('run', rules, *both)
    eq(run('run', rules, *both, '--speed', '1000000x'), out, 'at another speed')
    lanes = run('run', rules.replace('undefined', 'partition by symbol\n  undefined', 1), *both, '--lanes', '2')
    eq([json.loads(x)['codes'] for x in lanes.splitlines()], [d['codes'] for d in got], 'on two lanes')
    rest = run('run', rules, *both, '--from', '2026-03-03T09:30:03Z').splitlines()
    eq([json.loads(x)['codes'] for x in rest], [d['codes'] for d in got if d['now'] >= DAY + 34203 * 10**9], 'books have seen what was before')
    explained = run('explain', rules, *both)
    eq((explained.count('-> flag SAME'), explained.count('decision ')), (10, 14))
    eq(run('explain', rules, *both, '--at', '2'), explained[explained.index('decision 2:'):explained.index('decision 3:')])
    counts = [json.loads(x) for x in run('cover', rules, *both, '--json').splitlines()]
    eq([(c['rule'], c['fired']) for c in counts], [('high', 0), ('low', 0), ('same', 10), ('other', sum('OTHER' in d['codes'] for d in got))])


def test_over_a_swap():
    """New rules that declare a table find it filled, books of symbols that have no event of their own among them."""
    put_all()
    put('MSFT.csv', '34200.1,1,1,7,1000000,1\n34200.2,1,2,7,1000500,-1\n')
    put('new.rdn', HEAD.replace('version 1', 'version 2') + 'table book by symbol: sym { spread: dec(3) } from host\n'
        'rule w on M { when book["MSFT"].spread == 0.05 and book[symbol].spread == 0.02  flag FOUND }\n')
    got = [json.loads(x) for x in run('run', HEAD + 'rule high on M { when px > 1000.0  flag X }\n', '--feed', 'AAPL.csv', '--feed', 'MSFT.csv', *FEED, '--swap', 'new.rdn@4').splitlines()]
    eq([d.get('codes') for d in got], [[], [], [], [], None, ['FOUND'], ['FOUND'], [], ['NOVALUE'], []])


def test_orders_beside_books():
    """A feed of orders names the symbol too, and has no book: the other's stays."""
    put_all()
    body = '35=D|49=F|56=V|34=1|1=A|11=a|55=AAPL|54=1|38=70|40=2|44=99|60=20260303-09:30:02.5|'.replace('|', '\x01')
    head = f'8=FIX.4.4\x019={len(body)}\x01{body}'
    put('o.fix', f'{head}10={sum(head.encode()) % 256:03}\x01')
    got = decisions(HEAD + BOOK + 'rule near on M { when book[symbol].ask - px > 1.0  flag AWAY }\n', '--feed', 'o.fix', '--feed', 'AAPL.csv', *FEED)
    eq([d['codes'] for d in got if d['now'] == DAY + 34202500000000], [['AWAY']])
    eq([d['codes'] for d in got if d['now'] == DAY + 34203000000000], [[]])


def test_refusals():
    put_all()
    rows = (('table book by symbol: sym { bids: dec(2) } from host\n', 'book[symbol].bids > 1.0', "R8240 table book: order books have no column 'bids'"),
            ('table book by symbol: sym { bid: int } from host\n', 'book[symbol].bid > 1', "R8240 table book: order books have no column 'bid'"),
            ('table bid by symbol: sym, px: dec(2) { qty: int } from host\n', 'bid[symbol, 1.0].qty > 1', 'R8240 table bid: its rows are found by one sym'),
            ('table book by symbol: sym { bid: dec(1) } from host\n', 'book[symbol].bid > 1.0', 'R8241 table book: bid of AAPL has more digits'),
            ('table book by symbol: sym { mid: dec(2) } from host\n', 'book[symbol].mid > 1.0', 'R8241 table book: mid of AAPL has more digits'))
    for table, when, says in rows:
        err = run('run', HEAD + table + f'rule r on M {{ when {when}  flag X }}\n', '--feed', 'AAPL.csv', *FEED, rc=2)
        assert says in err, f'{says!r} is not in {err!r}'
    put('MSFT.csv', '34200.1,1,1,7,1000000,1\n34200.2,1,2,7,1000500,-1\n')
    err = run('run', HEAD + BOOK.replace('from host', 'from host keys 1') + EMIT, '--feed', 'AAPL.csv', '--feed', 'MSFT.csv', *FEED, rc=2)
    assert 'R3407 table book has no room for AAPL' in err or 'R3407 table book has no room for MSFT' in err, err


# ---- real files ----
def shared(name):
    path = DATA / name
    if not path.exists():
        print(f'left out: no {name} in the shared data')
        return None
    return str(path)


def test_lobster():
    """The states that rules read are those of the golden hash, row by row."""
    day, seed = shared('lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv'), shared('lobster/AAPL_2012-06-21_orderbook_50_first672.csv')
    if not day or not seed:
        return
    put('m.yaml', MAP)
    got = decisions(HEAD + BOOK + EMIT, '--feed', day, '--seed', seed, '--map', 'm.yaml', '--tick', '0.01', '--symbol', 'AAPL', '--date', '2012-06-21')
    h, last, pairs, spreads, states = hashlib.sha256(), None, 0, 0, 0
    cents = lambda text: int(text.replace('.', ''))  # noqa: E731
    for d in got[-91997:]:
        q = d['emit'][0]['Q']
        state = cents(q['b']), q['bq'], cents(q['a']), q['aq']
        h.update(struct.pack('<4q', *state))
        if not last or (state[0], state[2]) != (last[0], last[2]):
            pairs, spreads = pairs + 1, spreads + cents(q['s'])
            assert 2 * int(q['m'].replace('.', '')) == 10 * (state[0] + state[2])
        states += state != last
        last = state
    eq((len(got[-91997:]), h.hexdigest()[:16], states, pairs, spreads), (91997, 'e85507e4db2de1d8', 23439, 16146, 367404))


def test_a_gap():
    """A difference that was lost: from then on nothing is read, until a snapshot comes."""
    path = shared('binance/usdm_btcusdt_20240808.gz')
    if not path:
        return
    with gzip.open(path, 'rt') as f:
        lines = f.readlines()
    diffs = [i for i, x in enumerate(lines) if 'depthUpdate' in x]
    snapshot = next(i for i, x in enumerate(lines) if '"bids"' in x)
    lost = [i for i in diffs if i > snapshot][1000]
    put('gap.json', ''.join(lines[:lost] + lines[lost + 1:lost + 3000]))
    put('m.yaml', MAP.replace('  ts:', '  when: {last: ["1"], action: [level, quote]}\n  ts:'))
    rules = HEAD + BOOK.replace('ask_qty: int', 'ask_qty: dec(3)').replace('bid_qty: int', 'bid_qty: dec(3)') + 'rule r on M { when book[symbol].spread >= 0.0  flag SEEN }\n'
    got = decisions(rules, '--feed', 'gap.json', '--map', 'm.yaml', '--tick', '0.1', '--lot', '0.001', '--symbol', 'BTCUSDT', '--window', '65536', '--far', '16384')
    codes = [d['codes'] for d in got]
    first = codes.index(['NOVALUE'], 60)
    assert first > 9000 and {tuple(c) for c in codes[60:first]} == {("SEEN",)} and {tuple(c) for c in codes[first:]} == {("NOVALUE",)} and len(codes) - first > 1000, (first, len(codes))


def main():
    passed = failed = 0
    for test in [f for name, f in globals().items() if name.startswith('test_')]:
        try:
            test()
            passed += 1
        except Exception:
            print(f'--- {test.__name__}\n{traceback.format_exc()}')
            failed += 1
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
