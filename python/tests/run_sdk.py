#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of this folder with pytest under one Python, on the extension and worker of a build tree.

  run_sdk.py BUILD MINOR [pytest arguments]

Exit 77 with a reason where this Python or what the tests need from PyPI is not to be had. The last line is `N passed, N failed`."""
import os
import pathlib
import re
import subprocess
import sys

import interpreters
import run_market

NEEDS = ('numpy', 'pytest', 'hypothesis')
OTHERS = [f for group in ('frameworks', 'fix') for f in run_market.GROUPS[group][0]]         # need more of PyPI and libredan: run_market.py


def sanitizer(build):
    """What has to be loaded first where the extension was built with AddressSanitizer; the workers carry none."""
    linked = subprocess.run(['ldd', *(build / 'python').glob('_redan*.so')], capture_output=True, text=True).stdout
    found = re.search(r'libasan\S* => (\S+)', linked)
    return {'LD_PRELOAD': found[1], 'ASAN_OPTIONS': 'detect_leaks=0:abort_on_error=1'} if found else {}


def main():
    build, minor, more = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    here = pathlib.Path(__file__).parent
    python = interpreters.find(minor)
    if not python:
        interpreters.skip(f'no Python {minor}')
    inside, why = interpreters.environment(build / f'python-tests/{minor}', python, NEEDS)
    if why:
        interpreters.skip(why)
    env = {**os.environ, 'PYTHONPATH': f'{build / "python"}:{interpreters.ROOT / "python"}', 'PYTHONDONTWRITEBYTECODE': '1',
           'REDAN_WORKER': str(build / 'plugins/redan-worker'), **sanitizer(build)}
    r = subprocess.run([inside, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'redan.pytest_plugin', '-rs', '--tb=short', *more,
                        *(f'--ignore={here / f}' for f in OTHERS), here],
                       env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(r.stdout)
    counts = {k: int(n) for n, k in re.findall(r'(\d+) (passed|failed|error)', r.stdout.splitlines()[-1] if r.stdout.strip() else '')}
    failed = counts.get('failed', 0) + counts.get('error', 0) + (r.returncode not in (0, 1))
    print(f'{counts.get("passed", 0)} passed, {failed} failed')
    return r.returncode != 0


if __name__ == '__main__':
    sys.exit(main())
