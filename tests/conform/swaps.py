#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random swaps in the middle of a random stream, on one lane and on several, and the explanations: the tool against the reference model.

  swaps.py REDAN COUNT [FIRST_SEED]

A rule set of the generator is changed in a few places (numbers, capacities, evictions, rules and windows dropped, names), twice; the stream
swaps to the first and then to the second. Every output line must be the model's, what stands in {"error":TEXT} apart. Skipped (77) without
the suite."""
import datetime
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import product


def change(rng, text):
    """One small change of the text; it may make it wrong."""
    how = rng.randrange(8)
    lines = text.split('\n')
    if how == 0:                           # a number
        at = [m.span() for m in re.finditer(r'(?<![\w.])\d+(?![\w.])', text)]
        a, b = rng.choice(at)
        return text[:a] + str(max(1, int(text[a:b]) + rng.choice([-1, 1, 5, 100]))) + text[b:]
    windows = [i for i, s in enumerate(lines) if s.startswith('window ')]
    rules = [i for i, s in enumerate(lines) if s.startswith('rule ') and s.rstrip().endswith('}')]
    if how in (1, 2) and windows:          # capacity or eviction: the state goes on
        i = rng.choice(windows)
        if ' by ' in lines[i]:
            bare = re.sub(r' evict \w+', '', re.sub(r' keys \d+', '', lines[i]))
            lines[i] = bare + f' keys {rng.choice([1, 2, 3, 8, 100])}' + rng.choice(['', ' evict oldest', ' evict idle'])
    elif how == 3 and windows:             # a window that nobody may miss
        del lines[rng.choice(windows)]
    elif how == 4 and rules:
        del lines[rng.choice(rules)]
    elif how == 5 and windows:             # another name, the same state
        name = re.match(r'window (\w+)', lines[rng.choice(windows)])[1]
        return re.sub(rf'\b{name}\b', name + '_x', text)
    elif how == 6 and windows:             # another aggregate over the same
        i = rng.choice(windows)
        lines[i] = re.sub(r'= (\w+)\(', lambda m: f'= {rng.choice(["sum", "avg", "min", "max", "last", "first", "distinct"])}(', lines[i])
    elif how == 7 and rules:
        i, k = rng.choice(rules), rng.choice(rules)
        lines[i], lines[k] = lines[k], lines[i]
    return '\n'.join(lines)


def run(cmd):
    r = subprocess.run([str(x) for x in cmd], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    return r.returncode, [b'{"error"}' if s.startswith(b'{"error":') else s for s in r.stdout.split(b'\n')], r.stderr.decode(errors='replace')


def differ(seed, what, want, got):
    if want[:2] == got[:2]:
        return False
    at = next((i for i, (w, g) in enumerate(zip(want[1], got[1])) if w != g), min(len(want[1]), len(got[1])))
    print(f'seed {seed}: {what}: exit {want[0]} and {got[0]}, line {at + 1}\n  model {want[1][at:at + 1]}\n  tool  {got[1][at:at + 1]} {got[2][-200:]}')
    return True


def main():
    redan, count = str(pathlib.Path(sys.argv[1]).resolve()), int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else int(datetime.date.today().strftime('%Y%m%d')) * 1000
    shared = product.find_shared()
    model = [sys.executable, shared / 'reference/redan_model.py']
    print(f'first seed {first}')
    backends = [b for b in ('interp', 'table', 'x64', 'a64') if not product.usable(redan, b)]
    passed = failed = kept = cold = 0
    for seed in range(first, first + count):
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory(prefix='redan-swaps-') as top:
            d = pathlib.Path(top) / 's'
            subprocess.run([sys.executable, str(shared / 'gen/genrules.py'), '--seed', str(seed), '--out', str(d)], check=True, stdout=subprocess.DEVNULL)
            text = (d / 'rules.rdn').read_text()
            events = (d / 'events.jsonl').read_bytes().count(b'\n')
            for name in ('a.rdn', 'b.rdn'):
                for _ in range(20):
                    new = text
                    for _ in range(rng.randint(1, 4)):
                        new = change(rng, new)
                    (d / name).write_text(new)
                    if subprocess.run([redan, 'check', str(d / name)], capture_output=True).returncode == 0:
                        break
                else:
                    (d / name).write_text(text)
            n = sorted(rng.randrange(events + 1) for _ in 'ab')
            swaps = ['--swap', f'{d}/a.rdn@{n[0]}', '--swap', f'{d}/b.rdn@{n[1]}']
            lanes = ['--lanes', rng.choice([2, 3, 7])] if 'partition by' in text else []
            backend = ['--backend', rng.choice(backends)]
            bad = False
            for what, args in (('swap', ['run', d / 'rules.rdn', d / 'events.jsonl', '--full', '--state', *swaps]), ('lanes', ['run', d / 'rules.rdn', d / 'events.jsonl', '--full', *lanes, *swaps]),
                               ('explain', ['explain', d / 'rules.rdn', d / 'events.jsonl'])):
                if what == 'lanes' and not lanes:
                    continue
                want = run([*model, *args])
                if what == 'lanes' and want[0] == 2:
                    continue                # the partition was changed
                bad |= differ(seed, what, want, run([redan, *args, *backend]))
                kept += sum(s.startswith(b'{"swap":') and b'"kept":["' in s for s in want[1])
                cold += sum(s.startswith(b'{"swap":') and b'"cold":["' in s for s in want[1])
        passed += not bad
        failed += bad
    print(f'{kept} swaps kept windows, {cold} started some cold')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
