#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every planted fault is found by the op-by-op checks, and they pass without one.

  run_faults.py TEST FAULTS.DEF PROCESSOR [N…]     TEST is of a build with -Djit_faults=true; PROCESSOR: x64 or a64

Rows of another processor's files are left out, and those that begin with `zmm:` where the processor has no AVX-512.

The last line is `N passed, N failed`."""
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROW = re.compile(r'^FAULT\((\d+),\s*(\w+),\s*([\w.]+),\s*"(.*)"\)$', re.M)


def run(test, number):
    """How the checks ended: '' passed, else what they said."""
    p = subprocess.run([test], env={**os.environ, 'REDAN_JIT_FAULT': str(number)}, capture_output=True, text=True, errors='replace', timeout=400)
    if p.returncode in (77, 99):
        print((p.stdout + p.stderr).strip())
        os._exit(p.returncode)
    if not p.returncode:
        return ''
    said = [x for x in p.stderr.splitlines() if ': ' in x and 'planted' not in x]
    return said[0] if said else f'exit {p.returncode}'


def main():
    test, rows = sys.argv[1], ROW.findall(open(sys.argv[2]).read())
    wanted = {int(n) for n in sys.argv[4:]}
    others = {'x64', 'a64'} - {sys.argv[3]}
    rows = [r for r in rows if r[2][:3] not in others]
    if 'avx512dq' not in pathlib.Path('/proc/cpuinfo').read_text():
        print(f'{sum(r[3].startswith("zmm:") for r in rows)} rows of zmm left out: this CPU has no AVX-512')
        rows = [r for r in rows if not r[3].startswith('zmm:')]
    todo = [(0, 'NONE', '', 'no fault')] + [(int(n), *rest) for n, *rest in rows]
    todo = [r for r in todo if not wanted or r[0] in wanted]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (n, name, file, what), said in zip(todo, pool.map(lambda r: run(test, r[0]), todo)):
            good = bool(said) == bool(n)
            failed += not good
            print(f'{"ok  " if good else "FAIL"} {n:2} {name:16} {what}: {said or "nothing was found"}'[:300])
    print(f'{len(todo) - failed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
