#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a mistake looks like: the whole text of `redan check` for tests/golden/*.rdn, beside it in *.txt.

  run_golden.py REDAN [check]     every file's text, byte for byte; every code of dsl/errors.def has its file, which shows that code
  run_golden.py REDAN control     a changed word, caret or hint, a missing file and a file without its code are seen
  run_golden.py REDAN write       writes the texts: read the diff before you commit it

A file that would be too large to keep is printed by the *.py of its name."""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def codes():
    return re.findall(r'^CODE\((\w+),', (ROOT / 'dsl/errors.def').read_text(), re.M)


def sources(root):
    return sorted([*root.glob('*.rdn'), *(p for p in root.glob('*.py') if p.name != 'run_golden.py')])


def text_of(tool, src):
    """Output and exit status of `redan check`, run in a folder of its own so that a made file leaves nothing here."""
    with tempfile.TemporaryDirectory() as d:
        for side in src.parent.glob('*_rows.txt'):
            (pathlib.Path(d) / side.name).write_bytes(side.read_bytes())
        name = src.stem + '.rdn'
        data = src.read_bytes() if src.suffix == '.rdn' else subprocess.run([sys.executable, src], check=True, capture_output=True).stdout
        (pathlib.Path(d) / name).write_bytes(data)
        p = subprocess.run([tool, 'check', name], cwd=d, capture_output=True, timeout=120)
    # A line of thousands of bytes says nothing more in full.
    lines = [s if len(s) <= 400 else s[:380] + b'[%d bytes]' % len(s) for s in (p.stdout + p.stderr).split(b'\n')]
    return b'\n'.join(lines) + b'exit %d\n' % p.returncode


def differences(tool, root):
    """(name, what is wrong or '') of every file, and of every code without one."""
    for src in sources(root):
        want = src.with_suffix('.txt')
        got = text_of(tool, src)
        if not want.exists():
            yield src.stem, f'{want.name} is missing'
        elif got != want.read_bytes():
            yield src.stem, f'other text:\n{got.decode("utf-8", "replace")}'
        elif re.fullmatch(r'[EW]\d{4}', src.stem) and not re.search(rf'^{src.stem}\.rdn:\d+:\d+: (error|warning) {src.stem}: '.encode(), got, re.M):
            yield src.stem, 'the text does not have its code'
        else:
            yield src.stem, ''
    have = {p.stem for p in sources(root)}
    for c in codes():
        if c not in have:
            yield c, 'no file shows this code'


def control(tool):
    """Planted mistakes in a copy."""
    plant = {
        'E0301': ('E0301.txt', lambda b: b.replace(b'did you mean', b'perhaps')),
        'E0204': ('E0204.txt', lambda b: b.replace(b'^', b'~', 1)),
        'W0905': ('W0905.rdn', lambda b: b.replace(b'qty / 3', b'qty * 3')),
        'E0402': ('E0402.rdn', None),
        'E0501': ('E0501.txt', None),
    }
    with tempfile.TemporaryDirectory() as d:
        root = pathlib.Path(d)
        for p in HERE.iterdir():
            if p.suffix in ('.rdn', '.py', '.txt'):
                (root / p.name).write_bytes(p.read_bytes())
        for name, change in plant.values():
            if change:
                was = (root / name).read_bytes()
                (root / name).write_bytes(change(was))
                assert (root / name).read_bytes() != was, name
            else:
                (root / name).unlink()
        found = {n for n, bad in differences(tool, root) if bad}
    return [(n, '' if n in found else 'the planted mistake was not seen') for n in plant] + [(n, 'no mistake was planted here') for n in found - set(plant)]


def main():
    tool, what = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2] if len(sys.argv) > 2 else 'check'
    if what == 'write':
        for src in sources(HERE):
            src.with_suffix('.txt').write_bytes(text_of(tool, src))
    results = control(tool) if what == 'control' else list(differences(tool, HERE))
    for name, bad in results:
        if bad:
            print(f'{name}: {bad}')
    failed = sum(bool(bad) for _, bad in results)
    print(f'{len(results) - failed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
