#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every hostile payload ends in its class and obtains nothing.

  payloads.py TRY WORKER_DIR [--as root|user] [--deny MODE] [--container root|user] [--tier NAME] [--without LAYER] [--stdlib]
              [--expect-escapes | --only-escapes]

TRY is redan-sandbox-try; WORKER_DIR holds redan-worker and its runtimes. The payloads are read in place from REDAN_SHARED.
--as user copies the tool where an ordinary uid can read it. --expect-escapes turns the verdict round: with a layer switched off
the suite must see something get out, or it could not fail at all. Last line: N passed, N failed."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534
# What each class of MANIFEST.tsv looks like from outside (payloads/README.md).
OUTCOMES = {'memory': {'memory'}, 'timeout': {'timeout'}, 'timeout-killed': {'killed'}, 'killed': {'died'}}
QUIET = {'undefined', 'exception'}


def skip(why):
    print(why)
    sys.exit(77)


def classes(expected, outcome, answer, violations, deny):
    """Whether the result fits one of the classes."""
    for c in expected.split('|'):
        if c in OUTCOMES and outcome in OUTCOMES[c]:
            return True
        if c == 'denied':
            if deny == 'kill' and outcome == 'died':
                return True
            if outcome in QUIET and (violations or deny in ('errno', 'kill')):
                return True
        if c == 'contained' and (outcome in QUIET or (answer or '').startswith('LANG:') or (deny == 'kill' and outcome == 'died')):
            return True
        # Killing at the first denied call ends a plugin before it gets to what it is about.
        if deny == 'kill' and outcome == 'died':
            return True
    return False


def needs_met(needs, have):
    return needs == '-' or all(n in have for n in needs.split(','))


class Runner:
    def __init__(self, args, home):
        self.args = args
        self.env = {'PATH': '/usr/bin:/bin', 'REDAN_WORKER': str(home / 'redan-worker')}
        self.tool = str(home / 'redan-sandbox-try')

        self.ids = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []} if args.who == 'user' and os.getuid() == 0 else {}

    def run(self, path):
        cmd = [self.tool, 'sandbox', 'try', '--json', '--deny', self.args.deny, str(path)]
        if self.args.container:
            cmd.append('--container=' + self.args.container)
        for layer in (self.args.without or '').split(',') if self.args.without else ():
            cmd += ['--without', layer]
        if self.args.no_userns:
            cmd.append('--no-userns')
        if self.args.stdlib:
            cmd += ['--preload', 'threading']
        p = subprocess.run(cmd, capture_output=True, text=True, timeout=60, env=self.env, cwd='/', check=False, **self.ids)
        if p.returncode not in (0, 1):
            raise RuntimeError(f'{path.name}: exit {p.returncode}: {p.stderr.strip()}')
        return p.returncode, json.loads(p.stdout)


def home_for(args, tmp):
    """Copies of the programs and payloads that the chosen uid can read."""
    home = pathlib.Path(tmp)
    home.chmod(0o755)
    shutil.copy(args.tool, home / 'redan-sandbox-try')
    for f in pathlib.Path(args.workers).glob('redan-worker*'):
        if f.is_file():
            shutil.copy(f, home / f.name)
    (home / 'payloads').mkdir(mode=0o755)
    return home


def verdict(args, row, result):
    """None when the payload did what it must, else why not."""
    code, r = result
    answer = r['answer'] or ''
    if answer.startswith('GOT:') or code != 0:
        return f'got out: {answer!r}'
    if args.tier and r['tier'] != args.tier:
        return f"tier {r['tier']}, expected {args.tier}"
    if not args.only_escapes and not classes(row[2], r['outcome'], answer, r['violations'], args.deny):
        return f"expected {row[2]}, got {r['outcome']} {answer!r} {r['error']} {[v['call'] for v in r['violations']][:4]}"
    return None


def judge(args, runner, rows, files, have):
    for name, _, _, needs in rows:
        if not needs_met(needs, have):
            print(f'{name}: skipped, needs {needs}')
    rows = [r for r in rows if needs_met(r[3], have)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:           # most of the time is spent waiting
        results = list(pool.map(lambda r: runner.run(files[r[0]]), rows))
    passed = failed = 0
    escapes = []
    for row, result in zip(rows, results):
        why = verdict(args, row, result)
        for _ in range(4):
            # 50 ms are wall time: on a busy machine an honest payload can be late. Late again and again is a finding.
            if not why or result[1]['outcome'] not in ('timeout', 'killed'):
                break
            result = runner.run(files[row[0]])
            why = verdict(args, row, result)
        if (result[1]['answer'] or '').startswith('GOT:'):
            escapes.append(row[0])
        if why and not args.expect_escapes:
            print(f'{row[0]}: {why}')
        passed += not why
        failed += bool(why)
    return passed, failed, escapes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('tool')
    ap.add_argument('workers')
    ap.add_argument('--as', dest='who', choices=('root', 'user'), default='root')
    ap.add_argument('--deny', default='notify')
    ap.add_argument('--container', choices=('root', 'user'))
    ap.add_argument('--tier')
    ap.add_argument('--without')
    ap.add_argument('--no-userns', action='store_true')
    ap.add_argument('--stdlib', action='store_true')
    ap.add_argument('--only', help='comma separated names')
    ap.add_argument('--expect-escapes', action='store_true')
    ap.add_argument('--only-escapes', action='store_true', help='judge by GOT: alone, not by class')
    args = ap.parse_args()
    shared = os.environ.get('REDAN_SHARED') or str(pathlib.Path(__file__).resolve().parents[2] / '../shared')
    source = pathlib.Path(shared) / 'payloads'
    if not (source / 'MANIFEST.tsv').exists():
        skip('no payloads: set REDAN_SHARED')
    if args.who == 'root' and os.getuid() != 0:
        skip('this run wants root')
    rows = [line.split('\t') for line in (source / 'MANIFEST.tsv').read_text().splitlines()[1:] if line]
    if args.only:
        rows = [r for r in rows if r[0] in args.only.split(',')]
    have = {'ctypes'} | ({'numpy'} if pathlib.Path('/usr/lib/python3/dist-packages/numpy').exists() else set())
    with tempfile.TemporaryDirectory(prefix='redan-payloads-') as tmp:
        home = home_for(args, tmp)
        files = {}
        for r in rows:
            files[r[0]] = home / 'payloads' / (r[0] + '.py')
            shutil.copy(source / (r[0] + '.py'), files[r[0]])
            files[r[0]].chmod(0o644)
        passed, failed, escapes = judge(args, Runner(args, home), rows, files, set() if args.stdlib else have)
    if args.expect_escapes:
        print(f'got out: {", ".join(escapes) or "nothing"}')
        print(f'{int(bool(escapes))} passed, {int(not escapes)} failed')
        sys.exit(not escapes)
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
