#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/run.py and bench/peers on machines that lack things: what they say, skip, and how they exit. No timing is judged.

  test_bench.py"""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'bench/peers')]
import install


def refuses(names):
    try:
        install.names_of(names)
    except ValueError as e:
        return str(e)
    return ''


def peers():
    """(what, whether it holds, what was seen)"""
    with tempfile.TemporaryDirectory() as d:
        empty = pathlib.Path(d)
        got = install.find('numba', empty, offline=True)['numba']
        yield 'offline and not installed', got.why == 'not installed, and --offline' and not got.version, got
        broken = empty / 'zen-engine'
        broken.mkdir()
        (broken / 'complete').touch()
        got = install.find('zen-engine', empty, offline=True)['zen-engine']
        yield 'marked complete, but nothing in it', got.why == f'its environment is broken; remove {broken}', got
    got = install.program('luajit', ['no-such-program', '-v'])
    yield 'no such program', got.why == 'no program no-such-program (Debian package no-such-program)', got
    got = install.program('false', ['false'])
    yield 'a program that fails', (got.why or '').startswith('false does not run'), got
    got = install.program('python', [sys.executable, '--version'])
    yield 'a program that is there', got.why is None and got.version.startswith('3.'), got
    got = install.header('exprtk', ['/nonexistent/exprtk.hpp'])
    yield 'a header that is not there', (got.why or '').startswith('no exprtk.hpp'), got
    yield 'no peers', install.find('none') == {}, 'find'
    yield 'an unknown peer', refuses('numba,drools').startswith("no peer 'drools': gcc,"), refuses('numba,drools')


def main():
    passed = failed = 0
    for what, ok, got in peers():
        passed += ok
        failed += not ok
        if not ok:
            print(f'{what}: {got}')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
