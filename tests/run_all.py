#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds every set-up, runs the tests that belong on each, and adds up.

  run_all.py [SETUP…] [--only NAME…]

Set-ups: release (every test), clang and asan (all but suites release and conform; asan also those in suite asan), tsan
(suite tsan), fuzz (tests/fuzz/run_fuzz.py, 20 s a target), faults (jit alone, with planted faults that its checks must find), a64
(cross-built for aarch64, under qemu-user: tests/cross). A test counts as what its output says (cmocka, or a last line `N passed,
N failed`), else as one. Exit 77 is a skip and is listed with the last line the test printed.
The last line is `N passed, N failed`; the exit status is 0 only if nothing failed."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SETUPS = ('release', 'clang', 'asan', 'tsan', 'fuzz', 'faults', 'a64')
SLOWER = {'asan': 4, 'tsan': 8}            # sanitizers stretch every time limit
SANITIZERS = {
    'ASAN_OPTIONS': 'halt_on_error=1:abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=1',
    'UBSAN_OPTIONS': 'halt_on_error=1:print_stacktrace=1',
    'TSAN_OPTIONS': 'halt_on_error=1:second_deadlock_stack=1',
}
Count = collections.namedtuple('Count', 'passed failed skipped')      # skipped: reasons


def belongs(setup, suites):
    if setup in ('release', 'a64'):        # a cross build has only what belongs on it
        return True
    if setup == 'tsan':
        return 'tsan' in suites
    if setup == 'asan' and 'asan' in suites:
        return True
    return not suites & {'release', 'conform'}


def count(rc, output, name):
    """What one test stands for. A test that fails counts at least one failure, whatever it printed."""
    lines = [s.strip() for s in output.splitlines() if s.strip()]
    if rc == 77:
        return Count(0, 0, [f'{name}: {lines[-1] if lines else "no reason given"}'])
    passed = failed = 0
    skips = []
    # cmocka prints one summary a group and, for a skipped test, the reason before its [  SKIPPED ] line.
    groups = re.findall(r'\[==========\] (\d+) test\(s\) run', output)
    if groups:
        failed = sum(map(int, re.findall(r'\[  FAILED  \] (\d+) test\(s\)', output)))
        passed = sum(map(int, re.findall(r'\[  PASSED  \] (\d+) test\(s\)', output)))
        for i, s in enumerate(lines):
            m = re.fullmatch(r'\[  SKIPPED \] (\w+)', s)
            if m and lines[i - 1] != s and not lines[i - 1].startswith('[  SKIPPED'):
                skips.append(f'{name}: {m[1]}: {lines[i - 1] if not lines[i - 1].startswith("[") else "no reason given"}')
    else:
        m = re.fullmatch(r'(?:.*[:,] )?(\d+) passed, (\d+) failed.*', lines[-1]) if lines else None
        passed, failed = (int(m[1]), int(m[2])) if m else (int(rc == 0), 0)
        if m and rc == 0 and not passed and not failed:
            skips.append(f'{name}: it ran nothing')
    if rc != 0 and failed == 0:
        failed = 1
    return Count(passed, failed, skips)


class Totals:
    def __init__(self):
        self.passed = self.failed = 0
        self.skips, self.conform_skips, self.failures = [], 0, []

    def add(self, setup, name, suites, rc, output):
        c = count(rc, output, f'{setup}: {name}')
        self.passed += c.passed
        self.failed += c.failed
        self.skips += c.skipped
        self.conform_skips += len(c.skipped) if 'conform' in suites else 0
        if c.failed:
            self.failures.append(f'{setup}: {name}')
        return c


def environment():
    env = {**SANITIZERS, **os.environ}
    shared = ROOT.parent / 'shared'
    if 'REDAN_SHARED' not in env and shared.is_dir():
        env['REDAN_SHARED'] = str(shared)
    return env


def folder(setup):
    return ROOT / ('build' if setup == 'release' else f'build-{setup}')


def run_meson(setup, totals, only, env):
    build = folder(setup)
    listed = json.loads(subprocess.run(['meson', 'introspect', '--tests', build], capture_output=True, text=True, check=True).stdout)
    suites = {t['name']: {s.split(':')[-1] for s in t['suite']} for t in listed}
    chosen = [n for n, s in suites.items() if belongs(setup, s) and (not only or n in only)]
    if not chosen:
        return
    log = build / 'meson-logs/testlog.json'
    log.unlink(missing_ok=True)
    r = subprocess.run(['meson', 'test', '-C', build, '--no-rebuild', '-t', str(SLOWER.get(setup, 1)), *chosen],
                       env=env, capture_output=True, text=True)
    seen = set()
    for line in log.read_text().splitlines() if log.exists() else ():
        t = json.loads(line)
        name = t['name'].split(' / ')[-1]
        seen.add(name)
        output = (t.get('stdout') or '') + '\n' + (t.get('stderr') or '')
        rc = 77 if t['result'] == 'SKIP' else 0 if t['result'] in ('OK', 'EXPECTEDFAIL') else t.get('returncode') or 1
        c = totals.add(setup, name, suites.get(name, set()), rc, output)
        if c.failed:
            print(f'\n--- {setup}: {name}: {t["result"]} after {t["duration"]:.1f} s\n' + '\n'.join(output.splitlines()[-60:]), flush=True)
    for name in sorted(set(chosen) - seen):
        totals.add(setup, name, suites[name], 1, 'it did not run')
        print(f'\n--- {setup}: {name} did not run\n' + r.stdout[-2000:] + r.stderr[-2000:])


def run_fuzz(totals, env):
    script = ROOT / 'tests/fuzz/run_fuzz.py'
    r = subprocess.run([sys.executable, script, folder('fuzz'), '--seconds', '20'], env=env, capture_output=True, text=True)
    if totals.add('fuzz', 'fuzz', set(), r.returncode, r.stdout + r.stderr).failed:
        print(f'\n--- fuzz\n{r.stdout[-6000:]}{r.stderr[-6000:]}')


def run_setup(setup, totals, only, env):
    if setup == 'fuzz' and (only or not (ROOT / 'tests/fuzz/run_fuzz.py').exists()):
        return
    print(f'== {setup}: build', flush=True)
    begun = time.monotonic()
    r = subprocess.run([ROOT / 'dev', 'build', setup], env=env, stdout=subprocess.PIPE, text=True)
    print(r.stdout, end='', flush=True)
    if r.returncode == 77:
        totals.add(setup, 'build', set(), 77, r.stdout)
        return
    if r.returncode != 0:
        totals.add(setup, 'build', set(), 1, 'the build failed')
        return
    print(f'== {setup}: tests', flush=True)
    before = (totals.passed, totals.failed, len(totals.skips))
    if setup == 'fuzz':
        run_fuzz(totals, env)
    else:
        run_meson(setup, totals, only, env)
    print(f'== {setup}: {totals.passed - before[0]} passed, {totals.failed - before[1]} failed, '
          f'{len(totals.skips) - before[2]} skipped in {time.monotonic() - begun:.0f} s', flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('setups', nargs='*', metavar='SETUP', help=', '.join(SETUPS))
    ap.add_argument('--only', nargs='+', default=[], metavar='NAME', help='only tests with these names')
    a = ap.parse_args()
    unknown = set(a.setups) - set(SETUPS)
    if unknown:
        ap.error(f'no set-up {", ".join(sorted(unknown))}: {", ".join(SETUPS)}')
    totals, env = Totals(), environment()
    for setup in SETUPS:
        if not a.setups or setup in a.setups:
            run_setup(setup, totals, set(a.only), env)
    if totals.skips:
        print('skipped:')
        for s in totals.skips:
            print(f'  {s}')
    if totals.failures:
        print('failed:')
        for s in totals.failures:
            print(f'  {s}')
    print(f'conformance: {totals.conform_skips} skipped')
    print(f'{totals.passed} passed, {totals.failed} failed')
    return totals.failed != 0


if __name__ == '__main__':
    sys.exit(main())
