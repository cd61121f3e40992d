#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests in the rule language: every tests/rules/**/*.rdn on every executor.

  run_rules.py REDAN BACKEND     runs the files; counts expectations (`=>`, `expect`), not tests
  run_rules.py REDAN complete    every builtin and action has its file, and the file uses it
  run_rules.py REDAN fmt         `redan fmt` leaves the meaning alone: same hashes, costs and results, and a second run changes nothing
  run_rules.py REDAN control     every expectation is turned round, one file at a time, and must then fail; so must the checks above

The last line is `N passed, N failed`."""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|#[^\n]*|=>|[A-Za-z_]\w*|\s+|.', re.S)
MARKS = ('=>', 'expect')


def tokens(text):
    """(token, line) of everything, comments and strings in one piece."""
    line = 1
    for m in TOKEN.finditer(text):
        yield m[0], line
        line += m[0].count('\n')


def expectations(text):
    """Lines of the expectations of a file. Behind `test`, the two marks are nothing else."""
    inside, out = False, []
    for t, line in tokens(text):
        inside |= t == 'test'
        if inside and t in MARKS:
            out.append(line)
    return out


def rule_files(root=HERE):
    return sorted(root.rglob('*.rdn'))


def redan(tool, *args):
    p = subprocess.run([tool, *map(str, args)], capture_output=True, text=True, timeout=120)
    return p.returncode, p.stdout + p.stderr


def failures(output):
    return [s.strip() for s in output.splitlines() if s.startswith('  FAIL ')]


def run_file(tool, backend, path):
    """(passed, failed, what failed) in expectations."""
    count = len(expectations(path.read_text()))
    rc, out = redan(tool, 'test', path, '--backend', backend)
    bad = failures(out)
    if rc not in (0, 1) or (rc and not bad) or (bad and not rc):
        return 0, max(count, 1), [f'exit {rc}: {out.strip()}']
    if not count:
        return 0, 1, ['no expectation']
    return count - len(bad), len(bad), bad


def names_of(table, macro):
    return re.findall(rf'^{macro}\((\w+),', (ROOT / table).read_text(), re.M)


def actions(tool):
    """As the compiler lists them, and what only `undefined` may say."""
    with tempfile.TemporaryDirectory() as d:
        f = pathlib.Path(d) / 'a.rdn'
        f.write_text('ruleset a version 1\n  undefined skip\nevent E { x: int }\nrule r on E { when x > 1 qqqqqqqq X }\n')
        m = re.search(r'= actions: ([a-z ]+)', redan(tool, 'check', f)[1])
    return (m[1].split() if m else []) + ['skip']


def incomplete(tool, root):
    """What has no file, or a file that does not use it."""
    for folder, names, used in (('builtins', names_of('dsl/builtins.def', 'BUILTIN'), r'(?<!\w){}\('), ('actions', actions(tool), r'(?<!\w){}(?!\w)')):
        for name in names:
            f = root / folder / (name + '.rdn')
            text = ''.join(t for t, _ in tokens(f.read_text()) if t[0] not in '#"') if f.exists() else ''
            if not re.search(used.format(name), text):
                yield f'{folder}/{name}.rdn: ' + ('does not use it' if f.exists() else 'missing')
        if len(names) < 8:
            yield f'{folder}: only {len(names)} names found'


def mangle(text):
    """The same tokens on other lines: fmt has work to do."""
    out = []
    for t, _ in tokens(text):
        if t.isspace():
            t = '\n' * min(t.count('\n'), 1) or '   '
        out.append(t)
    return ''.join(out)


def meaning(tool, path):
    """What may not change: hashes, costs, results. Positions move, so failures and coverage are left out."""
    return [redan(tool, verb, path)[1] for verb in ('hash', 'cost', 'layout')] + [redan(tool, 'test', path)[1].splitlines()[:1]]


def fmt_file(tool, path, tmp):
    src, good = path.read_text(), []
    if redan(tool, 'fmt', '--check', path)[0]:
        good.append('is not in canonical form (redan fmt)')
    copy = tmp / path.name
    for side in path.parent.glob('*.txt'):
        (tmp / side.name).write_bytes(side.read_bytes())
    copy.write_text(mangle(src))
    before = meaning(tool, copy)
    if before != meaning(tool, path):
        good.append('white space changed its meaning')
    rc, out = redan(tool, 'fmt', copy)
    if rc:
        good.append(f'fmt: exit {rc}: {out}')
    if before != meaning(tool, copy):
        good.append('fmt changed its meaning')
    if redan(tool, 'fmt', '--check', copy)[0]:
        good.append('fmt is not done after one run')
    return good


def turned(text):
    """Every expectation says something else: another verdict, the opposite, another cause."""
    out, toks, inside, i = [], [t for t, _ in tokens(text)], False, 0
    verdicts = {'accept': 'hold', 'throttle': 'accept', 'hold': 'accept', 'reject': 'accept'}
    ends = {'expect', 'at', 'after', 'param', 'mock', 'row', '}'}
    while i < len(toks):
        t = toks[i]
        inside |= t == 'test'
        out.append(t)
        i += 1
        if not inside or t not in MARKS:
            continue
        while toks[i].isspace():
            out.append(toks[i])
            i += 1
        if t == '=>':
            out.append(verdicts[toks[i]])
            i += 1
        elif toks[i] == 'undefined':
            while toks[i] != ')':
                out.append(toks[i])
                i += 1
            out[-1] = 'cold' if out[-1] != 'cold' else 'range'
        else:
            # `expect e` ends with its line.
            j = i
            while j < len(toks) and '\n' not in toks[j] and toks[j][0] != '#':
                j += 1
            out += ['not', ' ', '(', *toks[i:j], ')']
            i = j
    return ''.join(out)


def control_file(tool, path, tmp):
    """An expectation that cannot fail is no test."""
    for side in path.parent.glob('*.txt'):
        (tmp / side.name).write_bytes(side.read_bytes())
    copy = tmp / path.name
    copy.write_text(turned(path.read_text()))
    want = expectations(path.read_text())
    rc, out = redan(tool, 'test', copy, '--backend', 'interp')
    lines = {int(m) for m in re.findall(r'^  FAIL .*? line (\d+): ', out, re.M)}
    if rc != 1 or not failures(out):
        return [f'exit {rc} with every expectation turned round: {out.strip()[:300]}']
    bad, before = [], 0
    for n in want:
        # A failure is reported at the first line of its step.
        if not any(before < m <= n for m in lines) and n not in lines:
            bad.append(f'line {n}: passes whatever it says')
        before = n
    return bad


def control_complete(tool, tmp):
    """A file that is missing and one that does not use its name are seen."""
    (tmp / 'builtins').mkdir()
    (tmp / 'actions').mkdir()
    for f in rule_files():
        if f.parent.name in ('builtins', 'actions'):
            (tmp / f.parent.name / f.name).write_text(f.read_text())
    (tmp / 'builtins/sqrt.rdn').unlink()
    (tmp / 'builtins/abs.rdn').write_text('# abs(x)\n')
    (tmp / 'actions/hold.rdn').unlink()
    found = sorted(incomplete(tool, tmp))
    want = ['actions/hold.rdn: missing', 'builtins/abs.rdn: does not use it', 'builtins/sqrt.rdn: missing']
    return [] if found == want else [f'planted {want}, found {found}']


def each(one, *args):
    passed = failed = 0
    for f in rule_files():
        with tempfile.TemporaryDirectory() as d:
            bad = one(*args, f, pathlib.Path(d))
        passed, failed = passed + (not bad), failed + bool(bad)
        for b in bad:
            print(f'{f.relative_to(HERE)}: {b}')
    return passed, failed


def main():
    tool, what = sys.argv[1:3]
    passed = failed = 0
    if what == 'complete':
        bad = list(incomplete(tool, HERE))
        print('\n'.join(bad))
        failed = len(bad)
        passed = len(names_of('dsl/builtins.def', 'BUILTIN')) + len(actions(tool)) - failed
    elif what == 'fmt':
        passed, failed = each(fmt_file, tool)
    elif what == 'control':
        passed, failed = each(control_file, tool)
        with tempfile.TemporaryDirectory() as d:
            bad = control_complete(tool, pathlib.Path(d))
        print('\n'.join(bad))
        passed, failed = passed + (not bad), failed + bool(bad)
    else:
        for f in rule_files():
            p, n, bad = run_file(tool, what, f)
            passed, failed = passed + p, failed + n
            for b in bad:
                print(f'{f.relative_to(HERE)}: {b}')
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
