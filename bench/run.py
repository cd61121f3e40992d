#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks of a release build beside their peers and holds them against the bars of bench/gates.yaml.

  run.py [NAME…] [--json | --readme] [--peers all|none|PEER,…] [--offline] [--into DIR] [--build DIR] [--gates FILE]
         [--tiny]

Without names: all but plan, which measures what the planner reckons with. Prints a table, or with --json one object a line: first the machine {cpu, flags, kernel, add_ghz, steal_pct,
commit}, then the rows (bench/rows.py says what they hold). Peers are installed into build/peers when they are not there yet; --offline
takes only what is. --readme also writes the table into README.md. --tiny is for tests: it shows that everything runs, its figures mean nothing.

Exit 0; 1 when a bar is missed, answers differ or a bench fails; 77 when a peer is missing and nothing else is wrong. A figure is the best of
several runs: on a shared machine noise only makes figures larger. Percentiles are the median of theirs."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent / 'peers')]
import install
import rows
import suite

ROOT = pathlib.Path(__file__).resolve().parents[1]


def cpu_ticks():
    """(all, stolen) of /proc/stat."""
    numbers = [int(x) for x in pathlib.Path('/proc/stat').read_text().split('\n', 1)[0].split()[1:9]]
    return sum(numbers), numbers[7]


def add_ghz(build):
    """The clock that bench-rules sees in a chain of additions."""
    r = subprocess.run([str(build / 'bench/bench-rules'), '--clock', '200'], capture_output=True, text=True, check=False)
    return json.loads(r.stdout)['ghz'] if r.returncode == 0 else 0


def machine(build):
    cpu, flags = '?', []
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        name, _, value = line.partition(':')
        if name.strip() == 'model name':
            cpu = value.strip()
        if name.strip() == 'flags':
            flags = [f for f in value.split() if f in ('avx2', 'fma', 'bmi2') or f.startswith('avx512')]
            break
    git = subprocess.run(['git', '-C', str(ROOT), 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True, check=False)
    ticks, stolen = cpu_ticks()
    ghz = add_ghz(build)
    more, more_stolen = cpu_ticks()
    return {'bench': 'machine', 'schema': 1, 'cpu': cpu, 'flags': flags, 'kernel': platform.release(), 'date': datetime.date.today().isoformat(), 'add_ghz': ghz,
            'steal_pct': round(100 * (more_stolen - stolen) / max(1, more - ticks), 1), 'commit': git.stdout.strip() or 'unknown'}


def headline(m):
    vector = 'AVX-512' if 'avx512f' in m['flags'] else 'AVX2' if 'avx2' in m['flags'] else 'no AVX2'
    return f'{m["date"]}: {m["cpu"]}, {os.cpu_count()} cores, {vector}, {m["add_ghz"]:.2f} GHz, Linux {m["kernel"]}, commit {m["commit"]}'


def into_readme(text, table):
    """The page with the table in the block behind `./dev bench`."""
    start, fence = '```sh\n./dev bench\n```\n\n```text\n', '```\n'
    before, found, rest = text.partition(start)
    if not found:
        raise ValueError('README.md has no ```text block behind ./dev bench')
    return before + start + table + rest[rest.index(fence):]


def options():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('names', nargs='*', metavar='NAME', help=', '.join(suite.BENCHES))
    ap.add_argument('--json', action='store_true')
    ap.add_argument('--readme', action='store_true')
    ap.add_argument('--peers', default='all', metavar='all|none|PEER,…', help=', '.join(install.PEERS))
    ap.add_argument('--offline', action='store_true')
    ap.add_argument('--into', type=pathlib.Path, default=install.INTO, help='where peers are installed')
    ap.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
    ap.add_argument('--gates', type=pathlib.Path, default=rows.GATES)
    ap.add_argument('--tiny', action='store_true')
    a = ap.parse_args()
    for name in a.names:
        if name not in suite.BENCHES:
            ap.error(f'no bench {name!r}: {", ".join(suite.BENCHES)}')
    try:
        a.peers, a.bars = install.names_of(a.peers), rows.gates(a.gates)
    except (OSError, ValueError) as e:
        ap.error(str(e))
    return a


def main():
    a = options()
    table = []

    def say(row, text):
        if a.json and row:
            print(json.dumps(row), flush=True)
        elif text is not None and not a.json:
            print(text, flush=True)
            table.append(text + '\n')

    peers = install.find(a.peers, a.into, offline=a.offline, tell=lambda text: print(text, file=sys.stderr))
    m = machine(a.build)
    say(m, headline(m) + '\n' + rows.COLUMNS)
    run = suite.Run(a.build, peers, say, a.bars, a.tiny)
    for name in a.names or [n for n in suite.BENCHES if n not in suite.ALONE]:
        say(None, '')
        suite.BENCHES[name](run)
    if a.readme:
        page = ROOT / 'README.md'
        page.write_text(into_readme(page.read_text(), ''.join(table)))
    for word, texts in (('missed', run.missed), ('skipped', run.skipped), ('left out', run.left_out)):
        for text in texts:
            print(f'{word}: {text}', file=sys.stderr)
    return 1 if run.missed else 77 if run.skipped else 0


if __name__ == '__main__':
    sys.exit(main())
