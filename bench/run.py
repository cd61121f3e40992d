#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs benches of a release build and holds them against the bars of bench/gates.yaml.

  run.py [NAME…] [--json] [--build DIR]        names: rules, pretrade, swap, cards, keyed; all of them without a name

Prints a table, or with --json one object a line: first the machine {cpu, flags, kernel, commit}, then the rows of the benches.
A figure with a bar has a row of its own with `value`, `ratio` (to the peer where there is one, else to the bar), `bar` and `pass`.
Exit 0; 1 when a bar is missed or a bench fails; 77 when a peer is missing (and nothing else is wrong).

A figure is the best of several runs: on a shared machine noise only makes figures larger. Percentiles are the median of theirs."""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
GATES = ROOT / 'bench/gates.yaml'
PRETRADE = ROOT / 'examples/pretrade/pretrade.rdn'
CARDS = ROOT / 'examples/cards/cards.rdn'
RUNS = 3


def gates():
    """{'swap/100/total_us_p50': 3000.0, …}: lines `key: number` and comments."""
    out = {}
    for line in GATES.read_text().splitlines():
        key, colon, value = line.split('#')[0].partition(':')
        if colon:
            out[key.strip()] = float(value)
    return out


def machine():
    cpu, flags = '?', []
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        name, _, value = line.partition(':')
        if name.strip() == 'model name':
            cpu = value.strip()
        if name.strip() == 'flags':
            flags = [f for f in value.split() if f in ('avx2', 'fma', 'bmi2') or f.startswith('avx512')]
            break
    git = subprocess.run(['git', '-C', str(ROOT), 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True, check=False)
    return {'bench': 'machine', 'cpu': cpu, 'flags': flags, 'kernel': platform.release(), 'commit': git.stdout.strip() or 'unknown'}


def lobster():
    """The sample of real order flow, when it is there."""
    data = pathlib.Path(os.environ.get('REDAN_SHARED', ROOT.parent / 'shared')) / 'data/lobster'
    found = sorted(data.glob('AAPL*_message_50.csv'))
    return ['--flow', str(found[0])] if found else None


class Bench:
    def __init__(self, build, say):
        self.build, self.say, self.bars = build, say, gates()
        self.missed, self.skipped = [], []

    def call(self, name, *args):
        """Rows a bench prints; its stderr passes through when it fails."""
        r = subprocess.run([self.build / f'bench/bench-{name}', *map(str, args)], capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in r.stdout.splitlines() if line.startswith('{')]
        if r.returncode == 77:
            self.skipped.append(f'{name}: {r.stderr.strip()}')
        elif r.returncode != 0 and not any(row.get('pass') is False for row in rows):
            self.missed.append(f'{name} {" ".join(map(str, args))}: exit {r.returncode} {r.stderr.strip()[-300:]}')
        return [row for row in rows if row.get('bench') != 'machine']

    def row(self, row, text):
        if row.get('pass') is False:
            self.missed.append(text)
        self.say(row, text)

    def figure(self, key, value, unit):
        """A figure that may have a bar of its own, an upper one."""
        row = {'bench': key.split('/')[0], 'figure': key, 'value': round(value, 3), 'unit': unit}
        text = f'{key:<34} {value:>12,.1f} {unit:<9}'
        bar = self.bars.get(key)
        if bar is not None:
            row.update(ratio=round(value / bar, 3), bar=bar)
            row['pass'] = value <= bar
            text += f' bar {bar:,.0f}  {"ok" if row["pass"] else "MISSED"}'
        self.row(row, text)

    def best(self, field, name, *args):
        """The row of the best of RUNS runs by a field."""
        rows = [r for _ in range(RUNS) for r in self.call(name, *args)]
        return min(rows, key=lambda r: r[field]) if rows else None

    # ---- the benches ----
    def rules(self):
        for r in self.call('rules', '--gates', GATES):
            bar = f'bar {r["bar"]:.2f}  {"ok" if r["pass"] else "MISSED"}' if 'bar' in r else '' if r['pass'] else 'MISSED'
            self.row(r, f'{"rules/" + r["set"] + "/" + str(r["rules"]):<34} {r["ns"]:>12,.1f} ns/event  {r["peer"]} {r["peer_ns"]:,.1f}'
                        f'  ratio {r["ratio"]:.2f}  {bar}')

    def pretrade(self):
        flows = [('hot', ['--hot', 500, '--rounds', 2000]), ('generated', ['--rounds', 5])]
        if lobster():
            flows.append(('lobster', ['--rounds', 10, *lobster()]))
        for name, args in flows:
            r = self.best('ns_per_event', 'pretrade', PRETRADE, 'judge', *args)
            if r:
                self.say(r, None)
                self.figure(f'pretrade/{name}/ns_per_{"order" if name == "hot" else "event"}', r['ns_per_event'], 'ns')

    def swap(self):
        rows = [r for _ in range(RUNS) for r in self.call('pretrade', 'generated', 'swap', '--rules', 100, '--swaps', 300)]
        if not rows:
            return
        for r in rows:
            self.say(r, None)
            if r['lost'] or r['out_of_order']:
                self.missed.append(f'swap: lost {r["lost"]}, out of order {r["out_of_order"]}')
        for field in ('total_us_p50', 'total_us_p99', 'compile_us_p50', 'publish_us_p50'):
            self.figure(f'swap/100/{field}', statistics.median(r[field] for r in rows), 'us')

    def cards(self):
        r = self.best('us_per_event', 'cards', CARDS, 'score', ROOT / 'examples/plugin_py/fraud_model.py')
        if r:
            self.say(r, None)
            self.figure('cards/us_per_event', r['us_per_event'], 'us')

    def keyed(self):
        for r in self.call('keyed', 1000, 1000000):
            self.say(r, None)
            where = f'keyed/{r["window"].replace(" ", "-")}/{r["keys"]}'
            self.figure(where + '/update_ns', r['update_ns'], 'ns')
            self.figure(where + '/read_ns', r['read_ns'], 'ns')


NAMES = ('rules', 'pretrade', 'swap', 'cards', 'keyed')


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('names', nargs='*', metavar='NAME', help=', '.join(NAMES))
    ap.add_argument('--json', action='store_true')
    ap.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
    a = ap.parse_args()
    for name in a.names:
        if name not in NAMES:
            ap.error(f'no bench {name!r}: {", ".join(NAMES)}')

    def say(row, text):
        if a.json:
            print(json.dumps(row), flush=True)
        elif text:
            print(text, flush=True)

    m = machine()
    say(m, f'{m["cpu"]}, {" ".join(m["flags"])}, Linux {m["kernel"]}, commit {m["commit"]}')
    b = Bench(a.build, say)
    for name in a.names or NAMES:
        getattr(b, name)()
    for text in b.missed:
        print('missed:', text, file=sys.stderr)
    for text in b.skipped:
        print('skipped:', text, file=sys.stderr)
    return 1 if b.missed else 77 if b.skipped else 0


if __name__ == '__main__':
    sys.exit(main())
