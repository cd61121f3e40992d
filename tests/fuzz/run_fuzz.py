#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the libFuzzer targets of a build for a while each, two at a time.

  run_fuzz.py BUILD [NAME…] [--seconds N] [--keep]

Findings stay in BUILD/fuzz/NAME with the input that made them. --keep copies new interesting inputs into the corpus, reduced.
The last line is `N passed, N failed`, one a target; no target at all is a failure."""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ENV = {'ASAN_OPTIONS': 'detect_leaks=1:abort_on_error=1', 'UBSAN_OPTIONS': 'halt_on_error=1:print_stacktrace=1', **os.environ}

# What suits one target. jit covers so much that keeping count of how often each place was met took four fifths of the time.
OPTIONS = {'jit': ['-entropic=0', '-use_counters=0', '-max_len=1500']}


def fuzz(build, target, seconds, keep):
    """(name, exit status, the end of the log)"""
    name = target.name.removeprefix('fuzz_')
    work, corpus = build / 'fuzz' / name, HERE / 'corpus' / name
    fresh = work / 'new'
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    words = HERE / f'{name}.dict'
    r = subprocess.run([target, f'-max_total_time={seconds}', '-timeout=10', '-rss_limit_mb=2048', '-print_final_stats=1', '-print_funcs=0',
                        f'-artifact_prefix={work}/', *OPTIONS.get(name, []), *([f'-dict={words}'] if words.exists() else []), fresh, *([corpus] if corpus.is_dir() else [])],
                       env=ENV, capture_output=True, text=True, errors='replace')
    if keep and r.returncode == 0:
        corpus.mkdir(parents=True, exist_ok=True)
        subprocess.run([target, '-merge=1', corpus, fresh], env=ENV, capture_output=True)
    return name, r.returncode, r.stderr


def stat(log, what):
    return next((s.split()[-1] for s in log.splitlines() if what in s), '?')


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('build', type=pathlib.Path)
    ap.add_argument('names', nargs='*')
    ap.add_argument('--seconds', type=int, default=60)
    ap.add_argument('--keep', action='store_true')
    a = ap.parse_args()
    targets = sorted(p for p in (a.build / 'tests/fuzz').glob('fuzz_*') if p.is_file() and os.access(p, os.X_OK)
                     and (not a.names or p.name.removeprefix('fuzz_') in a.names))
    failed = 0 if targets else 1
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, rc, log in pool.map(lambda t: fuzz(a.build.resolve(), t, a.seconds, a.keep), targets):
            failed += rc != 0
            if rc:
                print(log[-6000:])
            print(f'{name}: {"FAIL" if rc else "ok"}, {stat(log, "stat::number_of_executed_units")} inputs, '
                  f'{stat(log, "stat::new_units_added")} new', flush=True)
    print(f'{len(targets) - failed if targets else 0} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
