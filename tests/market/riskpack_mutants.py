#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every one-token change of the standard pre-trade pack is seen by a test row: each rule switched off, each comparison one step looser
or tighter. Rows are those of tests/market and, where they are, of the shared case file.

  riskpack_mutants.py REDAN [--list] [ROWS.jsonl ...]

SAME lists the changes that change no answer, each with the reason; a change that is listed and seen, or neither, fails."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACK = ROOT / 'rules/standard/pretrade35.rdn'
DEFAULTS = ROOT / 'tests/market/riskpack_defaults.json'
SHARED = pathlib.Path(os.environ.get('REDAN_SHARED', ROOT.parent / 'shared')) / 'riskpack/cases.jsonl'
STEP = {'<': '<=', '<=': '<', '>': '>=', '>=': '>'}
COMPARISON = re.compile(r'(?<![-=<>])(<=|>=|<|>)(?!=)')
LIMIT_S = 240
# A change that no row can see, by rule or by line and number of the comparison: why.
SAME = {
    'kill_cancel on Kill 1: >': 'the stop that is judged is counted already: there is at least one',
    'x_lot on Order 1: >': 'nothing left of 0 lots is 0, and of an unknown symbol everything else is undefined as well',
}


def rules_part(text):
    """From the first rule to the tests of the file."""
    a = text.index('# ==='), text.index('test "')
    return a


def mutants(text):
    """(name, text) of every change."""
    begin, end = rules_part(text)
    for m in re.finditer(r'^rule (\w+) .*?\{\s*when ', text[begin:end], re.M | re.S):
        at = begin + m.end()
        yield f'off {m[1]}', text[:at] + 'false and (' + condition(text, at)
    for line in re.finditer(r'^(let|rule|window|fn) (\w+).*?(?=^(?:let|rule|window|fn|#|\n)|\Z)', text, re.M | re.S):
        if line.start() >= end:
            break
        code = line[0]
        for n, m in enumerate(COMPARISON.finditer(strip(code)), 1):
            at = line.start() + m.start()
            on = re.search(r' on (\w+)', code)
            yield f'{line[2]} on {on[1] if on else "-"} {n}: {m[1]}', text[:at] + STEP[m[1]] + text[at + len(m[1]):]


def strip(code):
    """Comments and strings blanked, and what looks like a comparison and is none."""
    blank = lambda m: ' ' * len(m[0])
    return re.sub(r'"[^"\n]*"|#[^\n]*|->', blank, code)


def condition(text, at):
    """The rest of the file with the condition that begins at `at` closed by a bracket: it ends before its verb."""
    m = re.search(r'\s+(reject|throttle|hold|accept|flag|score|emit|undefined)\b', strip(text[at:]))
    return text[at:at + m.start()] + ')' + text[at + m.start():]


def seen(redan, name, text, rows):
    """The first row that differs, or None."""
    with tempfile.TemporaryDirectory() as d:
        p = pathlib.Path(d) / 'pretrade35.rdn'
        p.write_text(text)
        for f in rows:
            r = subprocess.run([redan, 'riskpack', str(f), '--defaults', str(DEFAULTS), '--pack', str(p), '--quiet', '--first', '--backend', 'interp'],
                               capture_output=True, text=True, check=False)
            if r.returncode == 2 or 'not expressible:' in r.stdout:
                return f'{name}: the changed pack does not run: {(r.stderr + r.stdout)[-300:]}', None
            if r.returncode == 1:
                return None, r.stdout.split()[0]
    return None, None


def main():
    redan, rows = sys.argv[1], [pathlib.Path(a) for a in sys.argv[2:] if not a.startswith('--')]
    listing = '--list' in sys.argv
    text = PACK.read_text()
    rows = rows or [ROOT / 'tests/market/riskpack_extra.jsonl'] + ([SHARED] if SHARED.exists() else [])
    start, good, bad, caught = time.monotonic(), 0, [], 0
    if seen(redan, 'the pack itself', text, rows) != (None, None):
        bad.append('the pack itself does not pass')
    all_of_them = list(mutants(text))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (name, _), (error, row) in zip(all_of_them, pool.map(lambda m: seen(redan, *m, rows), all_of_them)):
            if listing:
                print(f'{name}: {row or "-"}')
            caught += row is not None
            if error or (row is None) != (name in SAME):
                bad.append(error or (f'{name}: {row} sees it, and SAME says nothing can' if row else f'{name}: no row sees it'))
            else:
                good += 1
    if len(rows) < 2:
        print('without the shared case file only the rows of tests/market: what those see is not enough')
        print(f'{caught} of {len(all_of_them)} changes seen')
        return 77
    took = time.monotonic() - start
    if took > LIMIT_S:
        bad.append(f'{took:.0f} s, {LIMIT_S} at most')
    for b in bad:
        print(b)
    print(f'{len(all_of_them)} changes, {caught} seen, {len(SAME)} that nothing can see, {took:.0f} s')
    print(f'{good} passed, {len(bad)} failed')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
