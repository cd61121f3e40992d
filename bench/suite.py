# SPDX-License-Identifier: Apache-2.0
"""The benchmarks by name. Each is a function of a Run; BENCHES is the table, in the order of the whole run.

A C program that prints rows of bench/rows.py (against a peer it holds itself, or figures) needs one line: `program('batch')`."""
import hashlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import duel
import plan as planner
import rows

ROOT = pathlib.Path(__file__).resolve().parents[1]
RULES_PEER = ROOT / 'bench/peers/rules_peer.py'
PRETRADE = ROOT / 'examples/pretrade/pretrade.rdn'
CARDS = ROOT / 'examples/cards/cards.rdn'
BEST_OF = 3

# What bench-rules plays against other languages: the slow ones would take hours for all sets.
DUELS = (('random', 10), ('random', 100), ('random', 1000), ('rare', 100), ('keyed', 100))
RULE_PEERS = ('numba', 'numpy', 'luajit', 'exprtk', 'zen-engine', 'common-expression-language', 'rule-engine', 'cel-python')
BATCH = ('numba', 'numpy')                               # get all their events at once
BATCHES = (('columns', 10), ('columns', 100), ('columns', 1000), ('structs', 10), ('structs', 100))
BATCH_PEERS = {'columns': ('numba', 'numpy'), 'structs': ('numba',)}     # 1,000 rules are not compiled for minutes


def lobster():
    """The sample of real order flow, when it is there."""
    data = pathlib.Path(os.environ.get('REDAN_SHARED', ROOT.parent / 'shared')) / 'data/lobster'
    found = sorted(data.glob('AAPL*_message_50.csv'))
    return ['--flow', str(found[0])] if found else None


class Run:
    """What the benches share: the build, the peers that were found, the bars; and what became of the rows."""

    def __init__(self, build, peers, say, bars, tiny=False):
        self.build, self.peers, self.say, self.bars, self.tiny = build, peers, say, bars, tiny
        self.missed, self.skipped, self.left_out = [], [], []     # left out: rows that a peer cannot play; no fault

    def path(self, name):
        return self.build / f'bench/bench-{name}'

    def call(self, name, *args):
        """JSON objects a program prints. A failure is a miss; 77 is a skip with what it said."""
        r = subprocess.run([str(self.path(name)), *map(str, args)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        out = [json.loads(line) for line in r.stdout.splitlines() if line.startswith('{')]
        if r.returncode == 77:
            self.skip(f'{name}: {r.stderr.strip()}')
        elif r.returncode and not any(row.get('ok') is False for row in out):
            self.miss(f'{name} {" ".join(map(str, args))}: exit {r.returncode} {r.stderr.strip()[-300:]}')
        return [row for row in out if row.get('bench') != 'machine']

    def row(self, row):
        """Judges a row of rows.py and prints it."""
        peer = self.peers.get(row.get('peer'))
        if peer and peer.version:
            row.setdefault('peer_version', peer.version)
        rows.judge(row, self.bars)
        if not row['pass']:
            self.missed.append(rows.line(row))
        self.say(row, rows.line(row))

    def figure(self, key, value, unit, **more):
        self.row({'bench': key.split('/')[0], 'figure': key, 'value': round(value, 3), 'unit': unit, **more})

    def raw(self, row):
        """A program's own object, for the JSON lines alone."""
        self.say(row, None)

    def miss(self, text):
        self.missed.append(text)

    def skip(self, text):
        self.skipped.append(text)

    def peer(self, name):
        """The peer, or None; one that was asked for and is missing is told once."""
        p = self.peers.get(name)
        if p and p.why:
            text = f'{name}: {p.why}'
            if text not in self.skipped:
                self.skip(text)
        return None if not p or p.why else p

    def best(self, field, name, *args):
        """The object of the best of several runs by a field."""
        found = [r for _ in range(1 if self.tiny else BEST_OF) for r in self.call(name, *args)]
        return min(found, key=lambda r: r[field]) if found else None


def program(name, *args):
    """A bench that is one program: its rows as they are."""
    def run(r):
        for row in r.call(name, *args):
            if 'peer' in row or 'figure' in row:
                r.row(row)
            else:
                r.raw(row)
    return run


# ---- rules ----
def rules(r):
    if r.peer('gcc'):
        for row in r.call('rules', *(['--set', 'keyed', '--rules', 10, '--rounds', 2] if r.tiny else [])):
            r.row(row)


def peers(r):
    """The same rules in other languages; without peers Redan alone."""
    wanted = [p for p in map(r.peer, RULE_PEERS) if p]
    for name, size in DUELS[:1] if r.tiny else DUELS:
        with tempfile.TemporaryDirectory(prefix='redan-bench-') as d, duel.Player(
                [r.path('rules'), '--serve', d, '--set', name, '--rules', size]) as own:
            for p in wanted:
                rules_duel(r, own, p, {'bench': 'rules', 'schema': 1, 'set': name, 'rules': size, 'executor': own.hello['executor']}, pathlib.Path(d))
            if not r.peers:
                r.figure(f'rules/{name}/{size}', min(own.ask('slice')['ns'] for _ in range(duel.ROUNDS)), 'ns')


def rules_duel(r, own, p, row, folder, played=None):
    cmd = [p.python or sys.executable, RULES_PEER, played or p.name, folder, p.bin / p.name]
    try:
        with duel.Player(cmd) as player:
            form = player.hello['form']
            row.update(duel.duel(own, player), peer=p.name, peer_form=form, peer_batch=p.name in BATCH or 'batch' in form)
            events = player.ask(f'answers {folder / "peer.bin"}')['events']
    except duel.PlayerError as e:
        r.left_out.append(f'{p.name} of {row["bench"]}/{row["set"]}/{row["rules"]}: {e}')
        return
    row['events'] = events
    row['ok'] = duel.same_answers(folder / 'own.bin', folder / 'peer.bin', events, (row['rules'] + 63) // 64)
    row['hash'] = hashlib.blake2b((folder / 'peer.bin').read_bytes(), digest_size=8).hexdigest()
    r.row(row)


# ---- batches ----
def batch(r):
    """The same rules on many events at once: columns, and structs of 128 bytes; AVX-512 where the processor has it, and AVX2. And sets of which a
    batch judges a part, against one event after the other."""
    for form, size in BATCHES[:1] if r.tiny else BATCHES:
        for vectors in ('avx2',) if r.tiny else ('avx512', 'avx2'):
            with tempfile.TemporaryDirectory(prefix='redan-bench-') as d, duel.Player(
                    ['env', f'REDAN_JIT_VECTORS={vectors}', r.path('rules'), '--serve', d, '--set', 'random', '--rules', size, '--backend', 'x64v',
                     '--batch', form]) as own:
                batch_duels(r, own, form, vectors, size, pathlib.Path(d))
    program('mixed', *((10, 2) if r.tiny else ()))(r)


def batch_duels(r, own, form, vectors, size, folder):
    if own.hello['batch'] != vectors:
        r.skip(f'batch/{form}-{vectors}: this processor has {own.hello["batch"]}')
        return
    r.figure(f'batch/{form}-{vectors}/{size}', min(own.ask('slice')['ns'] for _ in range(duel.ROUNDS)), 'ns')
    for p in filter(None, map(r.peer, BATCH_PEERS[form] if size <= 100 else ())):
        row = {'bench': 'batch', 'schema': 1, 'set': f'{form}-{vectors}', 'rules': size, 'executor': own.hello['executor']}
        rules_duel(r, own, p, row, folder, p.name if form == 'columns' else f'{p.name}-{form}')


# ---- from text to running code ----
def edit(r):
    """A changed rule set until it runs: Redan's load against a compiler's. Mojo builds one rule (bench/peers/mojo/rule.mojo)."""
    loads = {}
    for size in (10,) if r.tiny else (10, 100, 1000):
        with tempfile.TemporaryDirectory(prefix='redan-bench-') as d:
            found = [row for _ in range(BEST_OF) for row in r.call('rules', '--serve', d, '--set', 'random', '--rules', size)]
        if not found:
            return
        loads[size] = 1e3 * min(row['load_us'] for row in found)
        if not r.peers:
            r.figure(f'edit/random/{size}', loads[size] / 1e6, 'ms')
        for row in r.call('rules', '--set', 'random', '--rules', size, '--rounds', 1) if r.peer('gcc') else ():
            against_build(r, size, loads[size], 'gcc', 1e6 * row['peer_compile_ms'])
    if r.peer('mojo'):
        ns = build_ns([r.peers['mojo'].bin / 'mojo', 'build', ROOT / 'bench/peers/mojo/rule.mojo', '-o'], 1 if r.tiny else BEST_OF)
        if ns:
            against_build(r, 10, loads[10], 'mojo', ns)
        else:
            r.skip('mojo: it did not build rule.mojo')


def against_build(r, size, own_ns, peer, peer_ns):
    r.row({'bench': 'edit', 'schema': 1, 'set': 'random', 'rules': size, 'ns_min': own_ns, 'peer': peer, 'peer_ns': peer_ns, 'unit': 'ms',
           'ratio': own_ns / peer_ns})


def build_ns(cmd, times):
    """The fastest of several builds; 0 when one fails."""
    best = float('inf')
    with tempfile.TemporaryDirectory(prefix='redan-bench-') as d:
        for i in range(times):
            from_ns = time.perf_counter_ns()
            if subprocess.run([*map(str, cmd), f'{d}/{i}'], capture_output=True, check=False).returncode:
                return 0
            best = min(best, time.perf_counter_ns() - from_ns)
    return best


# ---- whole programs ----
def pretrade(r):
    flows = [('hot', ['--hot', 500, '--rounds', 20 if r.tiny else 2000]), ('generated', ['--rounds', 1 if r.tiny else 5])]
    if lobster() and not r.tiny:
        flows.append(('lobster', ['--rounds', 10, *lobster()]))
    for name, args in flows:
        row = r.best('ns_per_event', 'pretrade', PRETRADE, 'judge', *args)
        if row:
            r.raw(row)
            r.figure(f'pretrade/{name}/ns_per_{"order" if name == "hot" else "event"}', row['ns_per_event'], 'ns')


def swap(r):
    rounds = ['--rounds', 1, '--swaps', 20] if r.tiny else []
    for size in (10,) if r.tiny else (10, 100, 1000):
        for row in r.call('swap', 'change', '--rules', size, *rounds):
            r.row(row)
    for row in r.call('swap', 'lane', *rounds):
        r.row(row)
    two_lanes(r)


def two_lanes(r):
    """Nothing is lost, nothing judged twice, on two lanes that are paced as a busy day paces them; the times include their sleep."""
    for row in r.call('pretrade', 'generated', 'swap', '--rules', 100, '--swaps', 20 if r.tiny else 300):
        r.raw(row)
        r.figure('swap/two-lanes/events_lost', row['lost'], '')
        r.figure('swap/two-lanes/events_twice', row['twice'], '')
        r.figure('swap/two-lanes/out_of_order', row['out_of_order'], '')


def scale(r):
    """Ten thousand rules; one more than the limit is refused, or the program fails."""
    for row in r.call('swap', 'scale', '--rules', 100 if r.tiny else 10000):
        r.row(row)


def cards(r):
    model = ROOT / 'examples/plugin_py/fraud_model.py'
    for row in r.call('cards', CARDS, 'rules', model, '--rounds', 5 if r.tiny else 2000):
        r.row(row)
    row = r.best('us_per_event', 'cards', CARDS, 'score', model)
    if row:
        r.raw(row)
        r.figure('cards/with-python/us_per_event', row['us_per_event'], 'us')


PACK = ROOT / 'rules/standard/pretrade35.rdn'


def riskpack(r):
    """The standard pre-trade pack with its ledger, an order at a time; beside 22 checks in hand-written C."""
    program('riskpack', PACK, *(('--rounds', 20) if r.tiny else ()))(r)


def keyed(r):
    for row in r.call('keyed', 1000, *([] if r.tiny else [1000000])):
        r.raw(row)
        r.figure(f'keyed/{row["window"].replace(" ", "-")}/{row["keys"]}/update_ns', row['update_ns'], 'ns')


def windows(r):
    program('windows', 1000, *([] if r.tiny else [1000000]))(r)


def sandbox(r):
    """Confinement: starting, reloading, calling and killing workers; with NumPy on one core too."""
    more = ['--rounds', 1] if r.tiny else []
    for args in (['reload'],) if r.tiny else (['reload'], ['reload', '--numpy'], ['reload', '--numpy', '--one-core'], ['reload', '--lua'], ['call'], ['kill'],
                                                        ['kill', '--lua'], ['lane']):
        program('sandbox', *args, *more)(r)


def lua(r):
    """A strategy in Lua against the same in C, both in confined workers, in batches."""
    program('lua', ROOT / 'bench/two_average.lua', r.path('lua').parent / 'two_average.so', *(['--rounds', 1] if r.tiny else []))(r)


# ---- what the planner reckons with ----
def plan(r):
    """The times of jit/plan.def as they are on this machine."""
    reckoned = planner.stated()
    try:
        for name, value in itertools.islice(planner.measured(r.build, 1 if r.tiny else 20), 3 if r.tiny else None):
            r.figure(f'plan/{name}', value, '' if name == 'far' else 'ns', reckoned=reckoned[name], note=f'jit/plan.def: {reckoned[name]:g}')
    except subprocess.CalledProcessError as e:
        (r.skip if 'R21' in e.stderr else r.miss)(f'plan: {e.stderr.strip()[-300:]}')


# ---- kernels ----
KERNEL_PEER = ROOT / 'bench/peers/kernel_peer.py'
EUROPEAN = (7.3451, 0.25)                                # Black and Scholes at expiry; many times the error of a million paths


class Mojo:
    """The Mojo program as a player: each slice is a run of it."""

    def __init__(self, p, folder):
        source, self.program = ROOT / 'bench/peers/mojo/european.mojo', folder / 'european'
        # It finds its own compiler beside itself, and asks PATH for the linker.
        r = subprocess.run([str(p.bin / 'mojo'), 'build', str(source), '-o', str(self.program)], capture_output=True, text=True, check=False,
                           env={**os.environ, 'PATH': f'{p.bin}:{os.environ["PATH"]}'})
        if r.returncode:
            raise duel.PlayerError(r.stderr.strip()[-200:] or 'mojo build failed')
        self.hello = {'form': 'one vector loop', 'value': self.ask('slice')['value']}

    def ask(self, _):
        ns, value = subprocess.run([str(self.program)], capture_output=True, text=True, check=True).stdout.split()
        return {'ns': float(ns), 'value': float(value)}


def kernel(r):
    if r.peer('gcc'):
        for row in r.call('kernel', ROOT, *(['--rounds', 1] if r.tiny else [])):
            r.row(row)
    wanted = [p for p in map(r.peer, ('numba', 'mojo')) if p]
    with duel.Player([r.path('kernel'), ROOT, '--serve']) as own, tempfile.TemporaryDirectory(prefix='redan-bench-') as d:
        for p in wanted:
            try:
                if p.name == 'mojo':
                    kernel_duel(r, own, p, Mojo(p, pathlib.Path(d)))
                else:
                    with duel.Player([p.python, KERNEL_PEER, p.name]) as player:
                        kernel_duel(r, own, p, player)
            except duel.PlayerError as e:
                r.skip(f'{p.name}: {e}')
        if not r.peers:
            r.figure('kernel/european', min(own.ask('slice')['ns'] for _ in range(duel.ROUNDS)), 'ns/path')


def kernel_duel(r, own, p, player):
    row = {'bench': 'kernel', 'schema': 1, 'set': 'european', 'executor': own.hello['executor'], 'unit': 'ns/path', 'peer': p.name,
           'peer_form': player.hello['form'], 'note': player.hello['form'], **duel.duel(own, player, 1 if r.tiny else duel.ROUNDS)}
    row['paths_s'] = round(1e9 / row['ns_min'])
    value, error = EUROPEAN
    row['ok'] = all(abs(v - value) < error for v in (own.ask('slice')['value'], player.hello['value']))
    r.row(row)


# ---- market data ----
MARKET_PEER = ROOT / 'bench/peers/market_peer.py'


def shared_file(pattern):
    """A file of the shared data, or None."""
    data = pathlib.Path(os.environ.get('REDAN_SHARED', ROOT.parent / 'shared')) / 'data'
    return next(iter(sorted(data.glob(pattern))), None)


def market_peer(r, p, *args):
    """{ns, form} of a peer's own program, or None with the reason told."""
    done = subprocess.run([str(p.python), str(MARKET_PEER), *map(str, args)], capture_output=True, text=True, check=False)
    if done.returncode:
        r.skip(f'{p.name}: {done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "no reason given"}')
        return None
    return json.loads(done.stdout.splitlines()[-1])


def against(r, bench, name, own_ns, peer, ns, form):
    r.row({'bench': bench, 'schema': 1, 'set': name, 'ns_min': own_ns, 'peer': peer, 'peer_ns': ns, 'ratio': own_ns / ns, 'note': form, 'peer_form': form})


def tick(r):
    """24-byte ticks to checked columns: against reading the bytes, and against loops of other languages over as many ticks."""
    found = r.call('tick', *([2] if r.tiny else [100]))
    for row in found:
        r.row(row)
    own = next((row['ns_min'] for row in found if row['set'] == 'columns'), None)
    n = 10000 if r.tiny else 1000000
    for kind, name in (('struct', 'numpy'), ('numpy', 'numpy'), ('pandas', 'pandas'), ('numba', 'numba')):
        p = r.peer(name) if own else None
        got = market_peer(r, p, kind, n) if p else None
        if got:
            against(r, 'tick', 'columns', own, kind, got['ns'], got['form'])
    if own and r.peer('mojo'):
        ns = mojo_ticks(r, r.peers['mojo'])
        if ns:
            against(r, 'tick', 'columns', own, 'mojo', ns, 'one loop, spread alone')


def mojo_ticks(r, p):
    """The best of several runs of bench/peers/mojo/tick.mojo."""
    with tempfile.TemporaryDirectory(prefix='redan-bench-') as d:
        env = {**os.environ, 'PATH': f'{p.bin}:{os.environ["PATH"]}'}
        built = subprocess.run([str(p.bin / 'mojo'), 'build', str(ROOT / 'bench/peers/mojo/tick.mojo'), '-o', f'{d}/tick'], capture_output=True, text=True, check=False, env=env)
        if built.returncode:
            r.skip(f'mojo: {built.stderr.strip()[-200:]}')
            return None
        return min(float(subprocess.run([f'{d}/tick'], capture_output=True, text=True, check=True).stdout.split()[1]) for _ in range(1 if r.tiny else 5))


def book(r):
    """Order books: made-up flow always; LOBSTER's text and a Binance capture where the shared data have them, the capture beside hftbacktest."""
    program('book', 'made', 1 if r.tiny else 6)(r)
    messages, capture = shared_file('lobster/AAPL*_message_50.csv'), shared_file('binance/*.gz')
    if messages and not r.tiny:
        program('book', messages, 60)(r)
    rows_ = r.call('book', 'levels', capture, 4) if capture and not r.tiny else []
    own = next((row['value'] for row in rows_ if 'figure' in row), None)
    if own is None:
        return
    r.figure('book/binance/ns', own, 'ns')
    beside_hftbacktest(r, 'book', 'binance', own, capture)


def replay(r):
    """Files as one stream with books on the way: tapes, alone and merged, bare records, and the file itself; a capture's tape beside hftbacktest."""
    program('replay', 'made', 1 if r.tiny else 6)(r)
    messages, capture = shared_file('lobster/AAPL*_message_50.csv'), shared_file('binance/*.gz')
    if messages and not r.tiny:
        program('replay', messages, 'AAPL', '0.01', 1, 30)(r)
    own = None
    for row in r.call('replay', capture, 'BTCUSDT', '0.1', '0.001', 3) if capture and not r.tiny else ():
        own = row.get('ns_min', own)
        (r.row if 'peer' in row or 'figure' in row else r.raw)(row)
    if own:
        beside_hftbacktest(r, 'replay', 'btcusdt-tape', own, capture)


def beside_hftbacktest(r, bench, name, own_ns, capture):
    """A row against the event time of hftbacktest on the same capture."""
    p = r.peer('hftbacktest')
    if not p:
        return
    with tempfile.TemporaryDirectory(prefix='redan-bench-') as d:
        array = pathlib.Path(d) / 'events.npy'
        got = binance_array(r, p, capture, array) and market_peer(r, p, 'hftbacktest', array)
    if got:
        against(r, bench, name, own_ns, 'hftbacktest', got['ns'], got['form'])


def binance_array(r, p, capture, out):
    """The capture as hftbacktest's array, by redan.adapters."""
    code = ('import sys, numpy, redan.market as m; from redan.adapters.hftbacktest import to_array; '
            'numpy.save(sys.argv[2], to_array(m.open(sys.argv[1], symbol="BTCUSDT", tick="0.1", lot="0.001", window=65536, far=16384)))')
    env = {**os.environ, 'PYTHONPATH': f'{r.build / "python"}:{ROOT / "python"}', 'PYTHONDONTWRITEBYTECODE': '1'}
    done = subprocess.run([str(p.python), '-c', code, str(capture), str(out)], capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        r.skip(f'hftbacktest: {done.stderr.strip()[-200:]}')
    return done.returncode == 0


BENCHES = {'rules': rules, 'batch': batch, 'peers': peers, 'kernel': kernel, 'edit': edit, 'pretrade': pretrade, 'swap': swap, 'scale': scale,
           'cards': cards, 'riskpack': riskpack, 'keyed': keyed, 'windows': windows, 'sandbox': sandbox, 'lua': lua, 'plan': plan,
           'tick': tick, 'book': book, 'replay': replay}
ALONE = ('plan',)                                        # run when named, not with all the others
