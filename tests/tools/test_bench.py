#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/run.py, its rows and its peers: what they say, how they judge, what they skip, and how they exit. No timing is judged.

  test_bench.py BUILD"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'bench'), str(ROOT / 'bench/peers')]
import duel
import install
import plan as planner
import rows
import run
import suite


def refusal(f, *args):
    """The text of the ValueError, or '' when there is none."""
    try:
        f(*args)
    except ValueError as e:
        return str(e)
    return ''


def peers(empty):
    """(what, whether it holds, what was seen)"""
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
    yield 'no peers', install.find('none') == {}, 'find'
    got = refusal(install.names_of, 'numba,drools')
    yield 'an unknown peer', got.startswith("no peer 'drools': gcc,"), got


def judged(empty):
    file = empty / 'gates.yaml'

    def gates(text):
        file.write_text(text)
        return rows.gates(file)
    bars = gates('# a comment\n\nrules/random/100/gcc: 0.65  # why\nswap/100/total_us_p99: 3000\n')
    yield 'gates', bars == {'rules/random/100/gcc': 0.65, 'swap/100/total_us_p99': 3000}, bars
    for text in ('swap/100 3000', 'swap/100: soon', ': 3'):
        got = refusal(gates, 'a: 1\n' + text)
        yield f'gates {text!r}', got == f'gates.yaml:2: expected KEY: NUMBER, got {text!r}', got
    row = {'bench': 'rules', 'set': 'random', 'rules': 100, 'ns_min': 65.0, 'peer': 'gcc', 'peer_ns': 100.0, 'ratio': 0.65, 'ok': True}
    for change, passes, word in (({}, True, '  ok'), ({'ratio': 0.651}, False, '  FAIL'), ({'ok': False}, False, 'FAIL answers differ'),
                                 ({'peer': 'numba'}, True, ''), ({'peer': 'numba', 'ok': False}, False, 'FAIL answers differ')):
        got = rows.judge({**row, **change}, bars)
        text = rows.line(got)
        yield f'row {change}', got['pass'] is passes and text.endswith(word) and 'rules/random/100 ' in text, (got, text)
    for value, passes in ((3000, True), (3000.5, False)):
        got = rows.judge({'bench': 'swap', 'figure': 'swap/100/total_us_p99', 'value': value, 'unit': 'us'}, bars)
        yield f'figure {value}', got['pass'] is passes and rows.line(got).endswith('ok' if passes else 'FAIL'), got


PLAYER = '''
import sys
ns, ghz = (iter(map(float, filter(None, a.split(",")))) for a in sys.argv[1:])
print("{}", flush=True)
for line in sys.stdin:
    print('{"ghz": %f}' % next(ghz) if line == "clock\\n" else '{"ns": %f}' % next(ns), flush=True)
'''


def turns(empty):
    script = empty / 'player.py'
    script.write_text(PLAYER)

    def play(ours, clock, theirs, n):
        with duel.Player([sys.executable, script, ours, clock]) as a, duel.Player([sys.executable, script, theirs, '']) as b:
            return duel.duel(a, b, n)
    got = play('10,8,9', '3,3,3,3,3,3', '40,50,20', 3)
    yield 'the smallest of each side', (got['ns_min'], got['ns_p50'], got['peer_ns'], got['ratio'], got['repeated']) == (8, 9, 20, 0.4, 0), got
    got = play('10,1,9', '3,3, 3,2, 2,2', '40,5,50', 2)
    yield 'a round on a moving clock does not count', (got['ns_min'], got['peer_ns'], got['repeated']) == (9, 40, 1), got
    try:
        got = play('10', '3,3,3', '', 1)
    except duel.PlayerError as e:
        got = str(e)
    yield 'a player that ends', got == 'StopIteration', got
    ours, theirs = empty / 'own.bin', empty / 'peer.bin'
    ours.write_bytes(bytes(range(64)))
    for what, n, data, want in (('equal', 2, bytes(range(32)), True), ('one bit', 2, bytes(range(31)) + b'\x1e', False), ('too few', 3, bytes(range(32)), False),
                                ('none', 0, b'', False), ('more than ours', 5, bytes(range(64)) * 2, False)):
        theirs.write_bytes(data)
        yield f'answers: {what}', duel.same_answers(ours, theirs, n, 2) is want, data


def whole(empty, build):
    """run.py itself on its smallest set."""
    nothing = empty / 'none'

    def run(gates, *args):
        (empty / 'g.yaml').write_text(gates)
        r = subprocess.run([sys.executable, ROOT / 'bench/run.py', '--tiny', '--offline', '--into', nothing, '--build', build, '--gates', empty / 'g.yaml', *args],
                           capture_output=True, text=True, check=False, timeout=60)
        return r.returncode, r.stdout, r.stderr
    got = run('rules/random/10: 1e9\n', 'peers', '--peers', 'none', '--json')
    objects = [json.loads(line) for line in got[1].splitlines()]
    keys = {'date', 'cpu', 'flags', 'kernel', 'add_ghz', 'steal_pct', 'commit'}
    yield 'without peers', got[0] == 0 and objects[0]['bench'] == 'machine' and keys <= set(objects[0]) and objects[-1]['pass'] is True, got
    got = run('rules/random/10: 0.001\n', 'peers', '--peers', 'none')
    yield 'a missed bar', got[0] == 1 and 'FAIL' in got[1] and 'missed: rules/random/10' in got[2], got
    got = run('', 'peers', '--peers', 'zen-engine')
    yield 'a missing peer', got[0] == 77 and got[2] == 'skipped: zen-engine: not installed, and --offline\n', got
    got = run('rules/random/10: 0.001\n', 'keyed', '--peers', 'none')
    yield 'another bench', got[0] == 0 and 'keyed/' in got[1] and 'rules/' not in got[1], got
    got = run('plan/ns_rule: 1e9\n', 'plan', '--peers', 'none', '--json')
    found = [json.loads(line) for line in got[1].splitlines()[1:]]
    good = [x['key'] for x in found] == ['plan/ns_event', 'plan/ns_rule', 'plan/ns_and'] and all(x['reckoned'] == planner.stated()[x['key'][5:]] for x in found)
    yield 'times of the planner', got[0] == 77 and 'R21' in got[2] or got[0] == 0 and good and found[1]['bar'] == 1e9, got
    got = run('plan/ns_event: 0.001\n', 'plan', '--peers', 'none')
    yield 'a time of the planner over its bar', got[0] == 77 or got[0] == 1 and 'missed: plan/ns_event' in got[2], got
    yield 'the planner has a time for each that is measured', {name for name in planner.stated() if name.startswith('ns_')} >= {x['key'][5:] for x in found}, found
    for args, gates, say in ((['latency'], '', "no bench 'latency': rules,"), (['--peers', 'drools'], '', "no peer 'drools'"), ([], 'fast', 'g.yaml:1: expected KEY')):
        got = run(gates, *args)
        yield f'refused: {args} {gates}', got[0] == 2 and say in got[2], got


HEAD = re.compile(r'\d{4}-\d\d-\d\d: .+, \d+ cores, (AVX-512|AVX2|no AVX2), \d\.\d\d GHz, Linux \S+, commit [0-9a-f]{7,}')
ROW = re.compile(r'(?P<key>[\w./-]+) +[\d,.]+ \S*(?P<peer> +[\d,.]+ \S+(?: \S+)*? +[\d.e-]+)?(?P<bar> +[\d,.]+  (?:ok|FAIL)(?: answers differ)?)?')


def table_problems(text):
    """What is wrong with the form of README's table; the figures are what they are."""
    lines = text.splitlines()
    bad = [] if lines and HEAD.fullmatch(lines[0]) else [f'no machine: {lines[:1]}']
    bad += [] if lines[1:2] == [rows.COLUMNS] else [f'no columns: {lines[1:2]}']
    found = [(ROW.fullmatch(line), line) for line in lines[2:] if line.strip()]
    bad += [f'not a row: {line}' for m, line in found if not m]
    keys = {m.group('key').split('/')[0] for m, _ in found if m}
    return bad + [f'no rows of {name}' for name in suite.BENCHES if name not in ('peers', *suite.ALONE) and name not in keys]


def readme(_):
    page = (ROOT / 'README.md').read_text()
    start = page.index('```sh\n./dev bench\n```')
    block = re.compile(r'```text\n(.*?)```\n', re.S).search(page, start)
    table = block.group(1)
    yield 'README', not table_problems(table), table_problems(table)
    lines = table.splitlines(True)
    first = next(i for i, line in enumerate(lines) if line.startswith('rules/'))
    for what, text, say in (('no machine', ''.join(lines[1:]), 'no machine'), ('no columns', ''.join(lines[:1] + lines[2:]), 'no columns'),
                            ('a word for a number', ''.join(lines[:first] + [lines[first].replace('0', 'o')] + lines[first + 1:]), 'not a row'),
                            ('a bench is missing', ''.join(x for x in lines if not x.startswith('swap/')), 'no rows of swap')):
        got = table_problems(text)
        yield f'README: {what}', any(p.startswith(say) for p in got), got
    got = run.into_readme(page, 'X\n')
    yield 'a table put in', got[:start] == page[:start] and got[block.end() - len(table) + 2:] == page[block.end():] and '```text\nX\n```' in got, got[start:start + 200]
    got = refusal(run.into_readme, page.replace('./dev bench\n', './dev benches\n'), 'X\n')
    yield 'no place for a table', got == 'README.md has no ```text block behind ./dev bench', got


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as d:
        for group in (peers, judged, turns, readme, lambda e: whole(e, sys.argv[1])):
            for what, ok, got in group(pathlib.Path(d)):
                passed += ok
                failed += not ok
                if not ok:
                    print(f'{what}: {got}')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
