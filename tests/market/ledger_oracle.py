#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ledger against the plain one of the shared folder: the same random streams, the same rows of host tables after every event, the
same events for the rules in the same order.

  ledger_oracle.py LEDGER_DRIVER [STREAMS]"""
import importlib.util
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
from decimal import Decimal

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARED = pathlib.Path(os.environ.get('REDAN_SHARED', ROOT.parent / 'shared')) / 'riskpack'
DEFAULTS = HERE / 'riskpack_defaults.json'
DEF = (ROOT / 'market/ledger.def').read_text()
ENUMS = {m[1]: (m[2], m[3]) for m in re.finditer(r'^LENUM\((\w+), (\w+), (\w+)\)', DEF, re.M)}


def shapes(head, part):
    """{table: [(name, type, scale)]} in order: the parts of a head stand behind it."""
    out, rest = {}, [m.groups() for m in re.finditer(rf'\b{part}\((\w+), (\w+), (\w+)(?:, (\d+))?\)', DEF)]
    for m in re.finditer(rf'^{head}\((\w+), ', DEF, re.M):
        out[m[1]] = [(name, kind, int(scale or 0)) for ident, name, kind, scale in rest if ident == f'{m[1]}_{name}']
    return out


KEYS, COLS, FIELDS = shapes('LTABLE', 'LKEY'), shapes('LTABLE', 'LCOL'), shapes('LEVENT', 'LFIELD')


def number(v, kind, scale):
    """A value of the plain ledger as the driver prints it."""
    if v is None:
        return '-'
    if kind == 'SYM':
        return v
    if kind in ENUMS:
        return ENUMS[kind].index(v)
    return int(Decimal(v).scaleb(scale)) if kind in ('DEC', 'OPT_DEC') else int(v)


def step(led, e):
    """Feeds the plain ledger; what it sends for the event."""
    sent = [x for x in led.before(e) if 'type' in x]
    if e['type'] == 'Order':
        led.after(e, 'accept' if e['id'][0] in 'au' else 'reject', ['OVERRIDE_USED'] if e['id'][0] == 'u' else [])
    return sent


def stream(rng, n, wild, led):
    """A stream the plain ledger can follow, which it does meanwhile: what is answered was asked for."""
    t, events, ids = 1772550000000000000, [], 0
    acc, sym = ['ACC1', 'ACC2', 'ACC3'], ['AAA', 'BBB']
    px = lambda: f'{rng.randrange(9900, 10100)}.{rng.randrange(100):02d}' if rng.random() < 0.2 else f'{rng.randrange(9000, 11000) / 100:.2f}'
    qty = lambda: rng.choice([1, 7, 100, 2**62 if wild else 3, rng.randrange(1, 10**6), 2**40 if wild else 5])
    for s in sym:
        events.append({'type': 'Quote', 'ts': t, 'symbol': s, 'bid': '99.99', 'ask': '100.01'})
        step(led, events[-1])
    for _ in range(n):
        t += rng.randrange(10**9)
        k, a, s = rng.random(), rng.choice(acc), rng.choice(sym)
        e, known = {'ts': t}, list(led.by_id)
        live = [i for i in known if led.by_id[i].live]
        if k < 0.35:
            ids += 1
            first = rng.choice('aaaaur')
            kind = rng.choice(['new', 'new', 'new', 'replace', 'cancel'])
            orig = rng.choice(live) if live and kind != 'new' else ''
            kind = 'new' if kind == 'replace' and not orig else kind
            o = led.by_id.get(orig)
            e.update(type='Order', kind=kind, id=f'{first}{ids}', orig_id=orig, account=o.account if o else a, trader='T1', algo='ALG1',
                     session=rng.choice(['S1', 'S2']), venue='X', symbol=o.symbol if o else s, side=o.side if o else rng.choice(['buy', 'sell']),
                     ord_type='limit', qty=qty(), px=px(), short=False, short_exempt=False, smp=rng.choice(['', 'G1']))
            if first == 'u' and not led.ticket(e['account'], e['symbol']):
                e['id'] = f'a{ids}'
        elif k < 0.6 and live:
            pending = [p[0] for i in live for p in led.by_id[i].pend]
            if pending and rng.random() < 0.4:
                e.update(type=rng.choice(['Replaced', 'ReplaceReject']), id=rng.choice(pending))
            elif rng.random() < 0.7:
                e.update(type='Fill', id=rng.choice(live + known), qty=qty(), px=px())       # of closed ones too
            else:
                e.update(type=rng.choice(['Cancelled', 'Expired', 'VenueReject']), id=rng.choice(live))
        elif k < 0.7:
            e.update(type='Quote', symbol=s, bid=rng.choice([px(), px(), None]), ask=rng.choice([px(), px(), None]))
        else:
            e.update(rng.choice([
                {'type': 'Trade', 'symbol': s, 'px': px(), 'qty': 1}, {'type': 'Heartbeat', 'session': rng.choice(['S1', 'S2'])},
                {'type': 'Disconnect', 'session': 'S2'}, {'type': 'Position', 'account': a, 'symbol': s, 'qty': rng.randrange(-500, 500), 'mark': '100.00'},
                {'type': 'Locate', 'account': a, 'symbol': s, 'qty': 100}, {'type': 'Gap', 'symbol': s}, {'type': 'Resync', 'symbol': s},
                {'type': 'Limit', 'account': a, 'name': 'max_loss', 'value': f'{rng.randrange(9)}.00'}, {'type': 'Limit', 'account': a, 'name': 'max_qty', 'value': 5},
                {'type': 'Mode', 'account': a, 'mode': rng.choice(['normal', 'reduce_only'])}, {'type': 'Release', 'latch': 'loss', 'key': a, 'who': 'R1', 'authorised': rng.random() < 0.7},
                {'type': 'Restrict', 'scope': 'firm', 'key': '', 'symbol': s, 'on': rng.random() < 0.5}, {'type': 'Permission', 'who': ['T2', a, 'ALG1'], 'allow': rng.random() < 0.5},
                {'type': 'Kill', 'scope': 'account', 'key': a, 'on': rng.random() < 0.5},
                {'type': 'Depth', 'symbol': s, 'bids': [['99.00', 10]], 'asks': [['101.00', 10]]},
                {'type': 'Ticket', 'id': 'x', 'account': a, 'symbol': s, 'codes': rng.sample(['MAX_QTY', 'CREDIT', 'LONG_LIMIT', 'MAX_VALUE'], 2), 'from': t, 'until': t + 10**12,
                 'max_qty': 10**6, 'uses': rng.randrange(1, 3), 'approved_by': ['R1', rng.choice(['R1', 'R2'])], 'requested_by': 'T1'}]))
        events.append(e)
        step(led, e)
    return events


def setup(rng):
    inst = lambda: {'mult': rng.choice([1, 10, 1000]), 'margin_bps': rng.choice([0, 1, 3333, 10000]), 'ccy': rng.choice(['USD', 'EUR', 'JPY'])}
    return {'instruments': {'AAA': inst(), 'BBB': inst()}, 'accounts': {'ACC3': {'capital': None}}, 'limits': {'id_recent': rng.choice([0, 3, 50]), 'hb_ms': rng.choice([1, 2000])},
            'limits_by_account_symbol': {'ACC1/BBB': {'max_qty': 7}}}


def groups(lines):
    """The driver's output: rows and events of each event of a stream."""
    out = []
    for line in lines:
        if line == '.':
            yield out
            out = []
        elif line.startswith('differs'):
            out.append(('!', line))
        elif line != '!':
            w = shlex.split(line)
            out.append((w[0], w[1], w[2:]))



def typed(words, shape):
    return tuple(w if kind == 'SYM' or w == '-' else int(w) for w, (_, kind, _) in zip(words, shape))


def compare(Ledger, defaults, row, got):
    led, rows, wrong = Ledger(row['setup'], defaults), {t: {} for t in KEYS}, []
    for n, e in enumerate(row['events']):
        want, told = step(led, e), []
        for kind, name, *words in next(got):
            if kind == '!':
                wrong.append(name)
            elif kind == 'R':
                at = words[0].index('=')
                key, vals = typed(words[0][:at], KEYS[name]), typed(words[0][at + 1:], COLS[name])
                rows[name].pop(key, None) if not vals else rows[name].__setitem__(key, vals)
            else:
                told.append((name, int(words[0][0]), typed(words[0][1:], FIELDS[name])))
        expected = [(x['type'], x['ts'], tuple(number(x['f'].get(f), k, s) for f, k, s in FIELDS[x['type']])) for x in want]
        if told != expected:
            wrong.append(f'event {n} {e}: told {told}, expected {expected}')
        for t, all_rows in led.tables().items():
            w = {tuple(number(v, kind, scale) for v, (_, kind, scale) in zip(k, KEYS[t])):
                 tuple(number(v[name], kind, scale) for name, kind, scale in COLS[t]) for k, v in all_rows.items()}
            if rows[t] != w:
                wrong.append(f'event {n} {e}: {t} has {sorted(set(rows[t].items()) - set(w.items()))}, expected {sorted(set(w.items()) - set(rows[t].items()))}')
        if wrong:
            return wrong
    return wrong


def main():
    if not (SHARED / 'ledger.py').exists():
        print('no plain ledger in the shared folder')
        return 77
    spec = importlib.util.spec_from_file_location('plain_ledger', SHARED / 'ledger.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    defaults, good, bad = json.loads(DEFAULTS.read_text()), 0, 0
    streams = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    rows = []
    for i in range(streams):
        rng = random.Random(i)
        s = setup(rng)
        rows.append({'setup': s, 'events': stream(rng, 150, i % 4 == 3, module.Ledger(s, defaults))})
    text = ''.join(json.dumps(r) + '\n' for r in rows)
    r = subprocess.run([sys.argv[1], str(DEFAULTS)], input=text, capture_output=True, text=True, check=False)
    if r.returncode:
        print(r.stderr)
        return 1
    got = groups(r.stdout.splitlines())
    for i, row in enumerate(rows):
        wrong = compare(module.Ledger, defaults, row, got)
        good += not wrong
        bad += bool(wrong)
        if wrong:
            print(f'stream {i}: {wrong[0][:1500]}')
            break
    if not bad:                                           # a wrong value and an event that was not told are seen
        lines = r.stdout.splitlines()
        lines = lines[[n for n, line in enumerate(lines) if line == '!'][-2] + 1:]
        pos = max(n for n, line in enumerate(lines) if line.startswith('R pos '))
        told = max(n for n, line in enumerate(lines) if line.startswith('E Order '))
        for change in ([*lines[:pos], re.sub(r'= (-?\d+)', lambda m: f'= {int(m[1]) + 1}', lines[pos]), *lines[pos + 1:]], lines[:told] + lines[told + 1:]):
            seen = bool(compare(module.Ledger, defaults, rows[-1], groups(change)))
            good += seen
            bad += not seen
    print(f'{good} passed, {bad} failed')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
