#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Market data in the libraries and frameworks that take it: run_market.py BUILD libraries|frameworks|fix [pytest arguments]

They come from PyPI into an environment below the build folder, one by one: what cannot be had is named, and its tests are skipped. Exit 77
where nothing can be had at all. The last line is `N passed, N failed`."""
import os
import pathlib
import re
import subprocess
import sys

import interpreters

GROUPS = {'libraries': (('test_market.py',), ('pyarrow', 'polars', 'pandas', 'duckdb', 'nanoarrow')),
          'frameworks': (('test_frameworks.py', 'test_backtest.py'), ('hftbacktest==2.4.*', 'backtrader', 'nautilus_trader==1.221.*', 'pandas', 'pyarrow')),
          'fix': (('test_fix_readers.py',), ('simplefix',))}


def environment(home, python, packages):
    """(its python, what is missing and why); python None: not even pytest."""
    inside, why = interpreters.environment(home, python, ('numpy', 'pytest'))
    lacking = []
    for p in packages if inside else ():
        done = home / f'has-{re.split("[=<>]", p)[0]}'
        if done.exists() and done.read_text() == p:
            continue
        rc, text = interpreters.said([inside, *interpreters.PIP, '--only-binary', ':all:', p], interpreters.PATIENCE_S)
        if rc:
            lacking.append(f'{p}: {interpreters.last_line(text)}')
        else:
            done.write_text(p)
    return inside, lacking or [why]


def main():
    build, group, more = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    files, packages = GROUPS[group]
    python = interpreters.find('3.11')
    if not python:
        interpreters.skip('no Python 3.11')
    inside, lacking = environment(build / f'python-tests/market-{group}', python, packages)
    if not inside:
        interpreters.skip(lacking[0])
    print(*(f'skipped: {x}' for x in lacking if x), sep='\n')
    env = {**os.environ, 'PYTHONPATH': f'{build / "python"}:{interpreters.ROOT / "python"}', 'PYTHONDONTWRITEBYTECODE': '1', 'PATH': f'{build}:{os.environ["PATH"]}',
           'PKG_CONFIG_PATH': str(build / 'meson-uninstalled'), 'LD_LIBRARY_PATH': str(build / 'host')}
    r = subprocess.run([inside, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-rs', '--tb=short', *more, *(pathlib.Path(__file__).parent / f for f in files)],
                       env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(r.stdout)
    counts = {k: int(n) for n, k in re.findall(r'(\d+) (passed|failed|error)', r.stdout.splitlines()[-1] if r.stdout.strip() else '')}
    failed = counts.get('failed', 0) + counts.get('error', 0)
    failed += r.returncode != 0 and not failed
    print(f'{counts.get("passed", 0)} passed, {failed} failed')
    return r.returncode != 0


if __name__ == '__main__':
    sys.exit(main())
