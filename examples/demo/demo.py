#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Redan promises, shown in under a minute: one line a promise, with its figure and ok or FAIL.

  demo.py --redan build/redan        normally run as ./dev demo

Orders come from LOBSTER messages and cards from the Fraud Detection Handbook's transactions if REDAN_SHARED (else ../shared)
has them, otherwise from seeded generators of the same shape. Exit 0 only if every line is ok."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent
ROOT = EXAMPLES.parent


class Demo:
    def __init__(self, build):
        self.build, self.failed, self.start = build, 0, time.monotonic()
        self.color = sys.stdout.isatty() and not os.environ.get('NO_COLOR')
        shared = pathlib.Path(os.environ.get('REDAN_SHARED') or ROOT / '../shared')
        self.orders = next(iter(sorted((shared / 'data/lobster').glob('AAPL*_message_50.csv'))), None)
        self.cards = next(iter(sorted((shared / 'data/fraud').glob('2018-04-01.csv'))), None)

    def line(self, ok, what, figure):
        self.failed += not ok
        word = 'ok  ' if ok else 'FAIL'
        if self.color:
            word = f'\033[{32 if ok else 31}m{word}\033[0m'
        print(f'{word} {what:<34} {figure}', flush=True)

    def note(self, text):
        for s in text.rstrip('\n').split('\n'):
            print('     ' + s, flush=True)

    def call(self, *args):
        return subprocess.run([str(a) for a in args], cwd=ROOT, capture_output=True, text=True, timeout=60)

    def bench(self, name, *args):
        r = self.call(self.build / f'bench/bench-{name}', *args)
        if r.returncode != 0:
            self.line(False, f'bench-{name} {args[1]}', r.stderr.strip()[-200:])
            return None
        return json.loads(r.stdout)

    @property
    def redan(self):
        return self.build / 'redan'

    # ---- the promises ----
    def judge(self):
        rules = EXAMPLES / 'pretrade/pretrade.rdn'
        r = self.bench('pretrade', rules, 'judge', '--rounds', '3', *(['--flow', self.orders] if self.orders else []))
        if not r:
            return
        self.line(r['compile_ms'] < 50, 'rules compiled to native code', f'{r["compile_ms"]:.2f} ms for pretrade.rdn, 12 rules and 8 windows')
        self.line(r['events_per_s'] > 100_000, 'orders judged', f'{r["events_per_s"]:,.0f} events/s, one core, {r["orders"]:,} orders ({r["flow"]})')
        self.line(r['order_ns_p50'] < 5_000, 'time an order', f'p50 {r["order_ns_p50"]} ns, p99 {r["order_ns_p99"]} ns')
        v = r['verdicts']
        self.line(sum(v.values()) == r['orders'], 'verdicts', ', '.join(f'{k} {n:,}' for k, n in v.items()) + '; ' + ', '.join(
            f'{k} {n:,}' for k, n in sorted(r['codes'].items(), key=lambda q: -q[1])[:5]))

    def swap(self):
        r = self.bench('pretrade', EXAMPLES / 'pretrade/pretrade.rdn', 'swap', '--swaps', '200', *(['--flow', self.orders] if self.orders else []))
        if not r:
            return
        self.line(r['total_us_p50'] < 10_000, 'a threshold changed under load', f'text to last adoption p50 {r["total_us_p50"] / 1e3:.2f} ms, p99 '
                  f'{r["total_us_p99"] / 1e3:.2f} ms, {r["swaps"]} times, 2 lanes')
        self.line(r['lost'] == 0 and r['out_of_order'] == 0 and r['twice'] == 0, 'nothing lost, nothing twice', f'{r["judged"]:,} of {r["offered"]:,} events judged, '
                  f'lost {r["lost"]}, judged twice {r["twice"]}')
        self.line(r['carried'] == r['windows'], 'windows carried', f'{r["carried"]} of {r["windows"]} windows kept their state')

    def refuse(self):
        r = self.call(self.redan, 'check', HERE / 'broken.rdn')
        codes = re.findall(r'error (E\d{4})', r.stdout)
        self.line(r.returncode == 1 and codes == ['E0301', 'E0406', 'E0402'], 'a broken file refused',
                  f'{len(codes)} mistakes in one pass: {", ".join(codes)}')
        self.note('\n'.join(r.stdout.split('\n')[:4]))

    def plugins(self):
        rules, plugins = EXAMPLES / 'cards/cards.rdn', EXAMPLES / 'plugin_py'
        r = self.bench('cards', rules, 'score', plugins / 'fraud_model.py', *(['--flow', self.cards] if self.cards else []))
        if r:
            good = r['calls'] > 0 and r['values'] >= 0.9 * r['calls']
            self.line(good, 'cards scored by a Python plugin', f'{r["events"]:,} transactions ({r["flow"]}), {r["calls"]:,} calls into the confined worker, '
                      f'{r["us_per_event"]:.1f} us an event')
        r = self.bench('cards', rules, 'bad', plugins / 'loops.py')
        if r:
            self.line(r['outcome'] in ('timeout', 'killed') and r['default_used'] and r['ready_again'] and r['lane_ms'] < 200, 'a plugin that loops',
                      f'stopped: the lane waited {r["lane_ms"]:.1f} ms, took the default, a new worker is ready')
        r = self.bench('cards', rules, 'bad', plugins / 'hungry.py')
        if r:
            self.line(r['outcome'] == 'memory' and 'MemoryError' in r['error'], 'a plugin that eats memory', f'{r["error"]}, cap 8 MiB')
        r = self.bench('cards', rules, 'bad', plugins / 'phones_home.py')
        if r:
            self.line(r['violation'] == 'socket' and r['default_used'], 'a plugin that opens a socket', f'denied: {r["error"]}')
            self.note(r['hint'].split('\n')[0])
        r = self.bench('cards', rules, 'reload', plugins / 'loops.py', plugins / 'fraud_model.py', '--rounds', '5')
        if r:
            self.line(r['reload_ms_p50'] < 80 and r['events_refused'] == 0, 'the fixed plugin reloaded', f'first answer after {r["reload_ms_p50"]:.1f} ms, no event refused')

    def explain(self):
        events = [{'type': 'Trade', 'ts': '2026-03-03T15:00:00Z', 'f': {'symbol': 'AAPL', 'px': '190.00', 'qty': 100}},
                  {'type': 'Order', 'ts': '2026-03-03T15:00:01Z', 'f': {'account': 'ACME', 'symbol': 'AAPL', 'side': 'buy', 'qty': 100000, 'px': '190.05'}}]
        r = subprocess.run([str(self.redan), 'explain', str(EXAMPLES / 'pretrade/pretrade.rdn'), '--at', '2'], cwd=ROOT, capture_output=True, text=True,
                           input=''.join(json.dumps(e) + '\n' for e in events))
        text = r.stdout.split('\n')
        self.line(r.returncode == 0 and '-> reject' in text[0], 'a decision explained', text[0])
        self.note('\n'.join(s for s in text if 'max_order_qty' in s or 'qty = ' in s or 'MAX_QTY' in s))

    def run(self):
        for step in (self.judge, self.swap, self.refuse, self.plugins, self.explain):
            step()
        seconds = time.monotonic() - self.start
        self.line(seconds <= 60, 'all of it', f'{seconds:.1f} s')
        return 1 if self.failed else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--redan', default=str(ROOT / 'build/redan'))
    a = p.parse_args()
    sys.exit(Demo(pathlib.Path(a.redan).absolute().parent).run())


if __name__ == '__main__':
    main()
