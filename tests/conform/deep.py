#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tool against the reference model on the rule sets of gen_deep.py.

  deep.py REDAN SECONDS BACKEND [...] [--first SEED] [--count N] [--keep DIR] [--theme NAME]
  deep.py true 0 interp --control     a tool that says nothing must fail in every theme

A seed writes a file of declarations, compares the diagnostics of the file as drawn, drops what the model refuses, and compares
`run --full --state` (with swaps, lanes, wounded lines), `explain` and the listings byte for byte on every backend. Stops after
SECONDS or N seeds, and closes with `N passed, N failed`. The first seed is made of today's date."""
import argparse
import datetime
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from gen_deep import Gen, Rules    # finds the model too
from deep_files import mutate, prune, wound
import redan_model as M


class Tool:
    def __init__(self, redan, backends):
        self.redan, self.backends = redan, backends

    def __call__(self, *a, stdin=None):
        r = subprocess.run([self.redan, *map(str, a)], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        return r.returncode, r.stdout, r.stderr


def masked(b):
    return [b'{"error"}' if x.startswith(b'{"error":') else x for x in b.split(b'\n')]


def model_out(argv):
    """What the model prints, in process."""
    buf = io.TextIOWrapper(io.BytesIO(), encoding='utf-8', newline='\n')
    old, sys.stdout = sys.stdout, buf
    try:
        try:
            rc = M.main(argv)
        except SystemExit as x:
            rc = x.code or 0
        buf.flush()
        return rc or 0, buf.buffer.getvalue()
    finally:
        sys.stdout = old


def differ(what, got, want):
    g, w = masked(got), masked(want)
    if g == w:
        return None
    at = next((i for i, (a, b) in enumerate(zip(g, w)) if a != b), min(len(g), len(w)))
    return f'{what} line {at + 1}\n  got      {b"".join(g[at:at + 1])[:1500].decode("utf-8", "replace")}\n  expected {b"".join(w[at:at + 1])[:1500].decode("utf-8", "replace")}'


def short_diags(R):
    return '\n'.join(M.diag_line(R.src, d).rsplit('-', 1)[0] for d in (sorted(R.diags, key=lambda d: d.pos) or R.warns)[:100])


def diagnostics(tool, text, folder):
    """What differs in codes and places."""
    path = folder / 'drawn.rdn'
    path.write_text(text, encoding='utf-8', newline='\n')
    try:
        R = Rules(text.encode(), 'drawn.rdn', str(folder))
    except (AttributeError, TypeError, ValueError, KeyError, IndexError):
        R = None                                           # the model fell over what one mistake left behind
    rc, out, err = tool('check', '--short', path)
    if rc not in (0, 1) or b'runtime error' in err:
        return f'check: rc {rc} {err[-1500:].decode("utf-8", "replace")}'
    if R is None:
        return None
    got = '\n'.join(' '.join(x.split()[:2]).rsplit('-', 1)[0] for x in out.decode('utf-8', 'replace').splitlines())
    return differ('check --short', got.encode(), short_diags(R).encode())


def expressions(tool, g, folder):
    lines = g.vectors(250)
    (folder / 'vectors.jsonl').write_text('\n'.join(lines) + '\n')
    rc, out, err = tool('eval', '--vectors', folder / 'vectors.jsonl')
    want = [M.vector(x) for x in lines]
    got = out.decode('utf-8', 'replace').split('\n')
    for x, a, b in zip(lines, got, want):
        if a != b:
            return f'eval {x}\n  got      {a}\n  expected {b}'
    if rc or len(got) != len(want) + 1 or b'runtime error' in err:
        return f'eval: rc {rc} {err[-1500:].decode("utf-8", "replace")}'
    return None


def in_file(tool, g, head, ds, R, rules):
    y = prune(head, ds + [g.d_test(R) for _ in range(25)], str(rules.parent))
    if y is None:
        return None
    rules.write_text(y[0])
    try:
        rc, want = model_out(['test', str(rules)])
    except (TypeError, AttributeError, ValueError):        # an undefined field is 0 to the model, of whatever type
        return None
    for b in tool.backends:
        got, out, err = tool('test', rules, '--backend', b)
        d = differ(f'test --backend {b}: {err[-1500:].decode("utf-8", "replace")}', out.split(b'\n')[0], want.split(b'\n')[0])
        if d or rc != got or b'runtime error' in err:
            return d or f'test --backend {b}: rc {got}, expected {rc} {err[-1500:].decode("utf-8", "replace")}'
    return None


def one(tool, seed, theme, folder):
    """None, or what differs."""
    g = Gen(seed, theme)
    if theme == 'eval':
        return expressions(tool, g, folder)
    head, ds = g.build()
    rules, events = folder / 'rules.rdn', folder / 'events.jsonl'
    text = head + '\n' + '\n'.join(ds) + '\n'
    for n, data in g.files.items():
        (folder / n).write_text(data, encoding='utf-8', newline='')
    d = diagnostics(tool, text, folder)
    if d:
        return d
    z = prune(head, ds, str(folder))
    if z is None or not z[1].R:
        return None
    text, R, ds = z
    if theme == 'wrong':
        return next(filter(None, (diagnostics(tool, wound(g, text), folder) for _ in range(12))), None)
    if theme == 'tests':
        return in_file(tool, g, head, ds, R, rules)
    rules.write_text(text)
    lines = g.stream(R, 150 if theme in ('windows', 'swap') else 40)
    events.write_text('\n'.join(lines) + '\n', encoding='utf-8', errors='surrogateescape', newline='\n')
    lines = list(M.open_lines(events))
    swaps, mswaps = [], {}
    if theme == 'swap':
        cur = ds
        for j in range(g.r.randint(1, 3)):
            y = prune(head, mutate(g, cur), str(folder))
            if y is None:
                continue
            at = g.r.randrange(1, len(lines))
            f = folder / f'new{j}.rdn'
            f.write_text(y[0])
            swaps += ['--swap', f'{f}@{at}']
            mswaps[at] = y[1]
            cur = y[2]
    lanes = g.c([1, 3]) if theme == 'lanes' else 1
    want = '\n'.join(M.run_lines(R, lines, True, mswaps, lanes == 1, lanes)) + '\n'
    args = ['run', rules, events, '--full', *swaps] + (['--state'] if lanes == 1 else ['--lanes', lanes])
    if theme == 'libm':                                    # two ulp are free, so only backends are compared
        want = tool(*args, '--backend', tool.backends[0])[1].decode()
        return next(filter(None, (differ(f'run --backend {b}', tool(*args, '--backend', b)[1], want.encode()) for b in tool.backends[1:])), None)
    for b in tool.backends:
        rc, out, err = tool(*args, '--backend', b)
        d = differ(f'run --backend {b}: rc {rc} {err[-1500:].decode("utf-8", "replace")}', out, want.encode())
        if d or b'Sanitizer' in err or b'runtime error' in err:
            return d or err[-3000:].decode('utf-8', 'replace')
    if seed % 3 == 0 and not swaps:
        _, mw = model_out(['explain', str(rules), str(events)])
        for b in tool.backends:
            rc, out, err = tool('explain', rules, events, '--backend', b)
            d = differ(f'explain --backend {b}: rc {rc} {err[-1500:].decode("utf-8", "replace")}', out, mw)
            if d:
                return d
    for verb in ('hash', 'cost', 'layout'):
        _, mw = model_out([verb, str(rules)])
        rc, out, err = tool(verb, rules)
        d = differ(f'{verb}: rc {rc}', out, mw)
        if d:
            return d
    return None


THEMES = ['mix', 'mix', 'windows', 'kernels', 'swap', 'lanes', 'limits', 'lines', 'eval', 'wrong', 'tests', 'libm']


def control(silent):
    passed = failed = 0
    for theme in sorted(set(THEMES) - {'libm'}):
        with tempfile.TemporaryDirectory(prefix='redan-deep-') as top:
            caught = one(Tool(silent, ['interp']), 1, theme, pathlib.Path(top))
        passed += bool(caught)
        failed += not caught
        if not caught:
            print(f'theme {theme}: silence is good enough')
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed or not passed else 0)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('redan')
    p.add_argument('seconds', type=float)
    p.add_argument('backend', nargs='+')
    p.add_argument('--first', type=int, default=int(datetime.date.today().strftime('%Y%m%d')) * 1000)
    p.add_argument('--count', type=int, default=10**9)
    p.add_argument('--keep')
    p.add_argument('--theme')
    p.add_argument('--control', action='store_true')
    a = p.parse_args()
    if a.control:
        return control(a.redan)
    redan = str(pathlib.Path(a.redan).resolve())
    bs = [b for b in a.backend if subprocess.run([redan, 'eval', '1', '--backend', b], capture_output=True).returncode == 0]
    if not bs:
        print(f'no backend of {" ".join(a.backend)} in this build')
        sys.exit(77)
    tool, end, passed, failed, gave_up, seed = Tool(redan, bs), time.monotonic() + a.seconds, 0, 0, 0, a.first
    while time.monotonic() < end and passed + failed < a.count:
        theme = a.theme or THEMES[seed % len(THEMES)]
        with tempfile.TemporaryDirectory(prefix='redan-deep-') as top:
            f = pathlib.Path(top)
            try:
                why = one(tool, seed, theme, f)
            except (AttributeError, TypeError, UnicodeError, RecursionError) as x:      # the model has bugs of its own
                print(f'seed {seed} theme {theme}: the model gave up: {x}')
                gave_up += 1
                why = gave_up > 3 and f'the model gave up {gave_up} times'
            if why:
                failed += 1
                print(f'seed {seed} theme {theme}: {why}', flush=True)
                if a.keep:
                    shutil.copytree(f, pathlib.Path(a.keep) / str(seed), dirs_exist_ok=True)
            else:
                passed += 1
        seed += 1
    print(f'seeds {a.first} to {seed - 1}')
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed or not passed else 0)


if __name__ == '__main__':
    main()
