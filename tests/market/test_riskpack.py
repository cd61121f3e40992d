#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The standard pre-trade pack on its test rows: every executor; again with a swap to the same text before the last order, again with
ledger and windows made anew from what came before it, again with orders, executions and answers as FIX messages.
The rows of this folder are judged by the reference model too, where it is.

  test_riskpack.py REDAN"""
import importlib.util
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARED = pathlib.Path(os.environ.get('REDAN_SHARED', ROOT.parent / 'shared')) / 'riskpack'
EXTRA, DEFAULTS, PACK = HERE / 'riskpack_extra.jsonl', HERE / 'riskpack_defaults.json', ROOT / 'rules/standard/pretrade35.rdn'
BACKENDS = ('interp', 'x64', 'x64v', 'table')             # x64v: its single events; the pack is judged order by order
passed, failed = 0, 0


def check(good, what):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(f'FAIL {what}')


def riskpack(*args):
    r = subprocess.run([REDAN, 'riskpack', *map(str, args)], capture_output=True, text=True, check=False)
    return r.returncode, r.stdout, r.stderr


def counts(out):
    return next((line for line in out.splitlines() if line.endswith('not expressible')), out[-200:])


def all_right(rows, defaults):
    n = sum(1 for line in rows.read_text().splitlines() if line.strip())
    for backend in BACKENDS:
        if subprocess.run([REDAN, 'test', PACK, '--backend', backend], capture_output=True, check=False).returncode == 2:
            print(f'{backend}: not on this machine')
            continue
        for extra in ((), ('--with', 'swap'), ('--with', 'restart'), ('--with', 'fix')):
            rc, out, err = riskpack(rows, '--defaults', defaults, '--backend', backend, *extra)
            check(rc == 0 and counts(out) == f'{n} right, 0 wrong, 0 not expressible', f'{rows.name} on {backend} {" ".join(extra)}: {counts(out)}\n{out[-1500:]}{err}')
            said = re.search(r'^(\d+) orders and executions went through FIX 4.4, (\d+) it cannot say$', out, re.M)
            check((said is not None) == ('fix' in extra) and (not said or int(said[1]) > 50 * int(said[2])), f'{rows.name}: {said and said[0]}')


def by_the_model(rows):
    """The rows' expectations, worked out a second time from the raw events."""
    spec = importlib.util.spec_from_file_location('riskpack_model', SHARED / 'model.py')
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    for line in rows.read_text().splitlines():
        row = json.loads(line)
        m = model.Model(row['setup'])
        for e in row['events'] + [row['order']]:
            got = m.feed(e)
            want = row['expect'] if e is row['order'] else e.get('expect', {})
            for k in ('verdict', 'codes', 'waived'):
                check(e['type'] != 'Order' or k not in want or (sorted(got[k]) if k != 'verdict' else got[k]) == (sorted(want[k]) if k != 'verdict' else want[k]),
                      f'{row["id"]} {k}: the model says {got}')
        check(m.commands == row['expect']['commands'], f'{row["id"]}: the model commands {m.commands}')
        check(model.fix_answer(row['order'], got) == row['expect']['fix'], f'{row["id"]}: the model answers otherwise')


def rows_that_are_wrong(d):
    """Each expectation falsified is a wrong row; what has no form is counted as such; a damaged file is called wrong."""
    rows = [json.loads(line) for line in EXTRA.read_text().splitlines()]
    reject = next(r for r in rows if r['expect']['verdict'] == 'reject' and r['expect']['commands'])
    waived = next(r for r in rows if r['expect']['waived'])
    early = next(r for r in rows if any('expect' in e for e in r['events']))
    changes = [
        (reject, 'verdict', lambda r: r['expect'].update(verdict='accept')),
        (reject, 'codes', lambda r: r['expect'].update(codes=['KILLED', 'MAX_QTY'])),
        (reject, 'codes', lambda r: r['expect'].update(codes=[])),
        (waived, 'waived', lambda r: r['expect'].update(waived=[])),
        (reject, 'fix', lambda r: r['expect'].update(fix=None)),
        (reject, 'fix', lambda r: r['expect']['fix'].update({'103_fix44': 98})),
        (reject, 'commands', lambda r: r['expect'].update(commands=[])),
        (reject, 'commands', lambda r: r['expect']['commands'][0].update(ts=r['expect']['commands'][0]['ts'] + 1)),
        (early, 'codes', lambda r: next(e for e in r['events'] if 'expect' in e)['expect'].update(codes=['X'])),
    ]
    for n, ((row, what, change), extra) in enumerate(itertools.product(changes, ((), ('--with', 'fix')))):
        row = json.loads(json.dumps(row))
        change(row)
        p = d / f'{n}.jsonl'
        p.write_text(json.dumps(row) + '\n')
        rc, out, _ = riskpack(p, '--defaults', DEFAULTS, *extra)
        check(rc == 1 and counts(out) == '0 right, 1 wrong, 0 not expressible' and f'{what}: wanted' in out, f'change {n} of {what} {extra}: {out}')
    for n, change in enumerate([lambda r: r['events'].insert(0, {'type': 'Eclipse', 'ts': 1}), lambda r: r['order'].update(colour='red'),
                                lambda r: r['order'].update(px='1.00001'), lambda r: r['setup'].update(weather={}), lambda r: r.pop('order'),
                                lambda r: r['setup'].update(limits={'max_qty': 2**63})]):
        row = json.loads(json.dumps(reject))
        change(row)
        p = d / f'none{n}.jsonl'
        p.write_text(json.dumps(row) + '\n')
        rc, out, _ = riskpack(p, '--defaults', DEFAULTS)
        check(rc == 1 and counts(out) == '0 right, 0 wrong, 1 not expressible', f'no form {n}: {out}')
    for text in ('[]\n', '{"id": \n', 'x\n'):
        p = d / 'bad.jsonl'
        p.write_text(text)
        check(riskpack(p, '--defaults', DEFAULTS)[0] == 2, f'a file with {text!r}')
    for args in ((EXTRA,), (EXTRA, '--defaults', d / 'none'), (d / 'none', '--defaults', DEFAULTS), (EXTRA, '--defaults', DEFAULTS, '--with', 'luck'),
                 (EXTRA, '--defaults', EXTRA), (EXTRA, '--defaults', DEFAULTS, '--pack', d / 'none')):
        check(riskpack(*args)[0] == 2, f'called with {args}')


def the_pack():
    for verb in (['check'], ['test'], ['fmt', '--check']):
        r = subprocess.run([REDAN, *verb[:1], str(PACK), *verb[1:]], capture_output=True, text=True, check=False)
        check(r.returncode == 0 and 'warning' not in r.stdout.replace('0 warnings', ''), f'{verb}: {r.stdout}{r.stderr}')


def main():
    the_pack()
    all_right(EXTRA, DEFAULTS)
    with tempfile.TemporaryDirectory() as d:
        rows_that_are_wrong(pathlib.Path(d))
    if (SHARED / 'cases.jsonl').exists():
        all_right(SHARED / 'cases.jsonl', SHARED / 'defaults.json')
        by_the_model(EXTRA)
    else:
        print('without the shared case file: rows of tests/market alone')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    REDAN = sys.argv[1]
    sys.exit(main())
