#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A processor without AVX2, which qemu-user plays: `auto` takes table and says why (R2102), machine code asked for by name is refused, and
the answers are the same.

  test_old_cpu.py REDAN

77 without qemu-x86_64. The last line is `N passed, N failed`."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RULES = '''ruleset old version 1
  undefined skip
event E { a: int  b: float  c: dec(2)  d: bool  e: sym  f: int? }
param most: int = 40
window n = count() over 10ms by e on E
rule p on E { when a > most and b < 1.5          flag P }
rule q on E { when c * 3 > 70.00 or d            flag Q }
rule r on E { when e in ["x", "y"] and n > 3     score R 10 }
rule s on E { when (f ?? a) mod 7 == 3             score S 5 }
rule t on E { when sqrt(b) * 2.0 > 1.0           flag T }
rule u on E { when score > 12                    reject U "{a} {n}" }
'''
MESSAGE = r'R2102 (x64v?) needs AVX2(, FMA and BMI2| and FMA); this CPU lacks avx2'


def events():
    for i in range(200):
        f = {'a': i % 60, 'b': (i % 9 - 2) / 2, 'c': f'{i % 40}.50', 'd': i % 5 == 0, 'e': 'xyz'[i % 3]}
        if i % 4:
            f['f'] = i % 11
        yield json.dumps({'type': 'E', 'ts': i * 1000000, 'f': f})


def main():
    redan, passed, failed = sys.argv[1], 0, 0
    qemu = shutil.which('qemu-x86_64')
    if not qemu:
        print('skipped: no qemu-x86_64')
        return 77

    def check(what, good, more=''):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        print(f'{"ok  " if good else "FAIL"} {what} {"" if good else more}')

    with tempfile.TemporaryDirectory() as d:
        rules, lines = pathlib.Path(d, 'old.rdn'), pathlib.Path(d, 'events.jsonl')
        rules.write_text(RULES)
        lines.write_text('\n'.join(events()) + '\n')

        def run(*args, cpu='Nehalem'):
            command = ([qemu, '-cpu', cpu] if cpu else []) + [redan, *args]
            r = subprocess.run(command, capture_output=True, text=True, timeout=120)
            return r.returncode, r.stdout, r.stderr
        want = run('run', rules, lines, '--full', '--state', '--backend', 'interp', cpu=None)
        check('the reference answers', want[0] == 0 and want[1].count('"U"') > 10, want)
        doctor = run('doctor')[1]
        check('doctor names the executor and the reason', re.search(r'executor *table: ' + MESSAGE, doctor), doctor)
        for backend in ('auto', 'table'):
            rc, out, err = run('run', rules, lines, '--full', '--state', '--backend', backend)
            check(f'{backend} answers as the reference', rc == 0 and out == want[1], f'{rc} {err[-300:]}')
        for backend in ('x64', 'x64v'):
            rc, out, err = run('run', rules, lines, '--backend', backend)
            check(f'{backend} is refused', rc and re.search(MESSAGE, err + out), f'{rc} {err[-300:]} {out[-300:]}')
        rc, out, err = run('run', rules, lines, '--full', '--state', cpu='max')     # AVX2, no AVX-512: only what qemu has of it
        check('a processor between the two answers, too', rc == 0 and out == want[1], f'{rc} {err[-300:]}')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
