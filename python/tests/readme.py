#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every block of python/README.md as a stranger would, with a Python that has the package.

  readme.py PYTHON            the blocks
  readme.py PYTHON control    broken blocks are seen

Notes before a block are those of tests/docs/run_docs.py. Python blocks without a file name are one session, a block after the other; a ```text
block behind one is what it prints. Files are written before anything runs. The last line is `N passed, N failed`."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import interpreters

sys.path.insert(0, str(interpreters.ROOT / 'tests/docs'))
import run_docs  # noqa: E402

SESSION = '''
import contextlib, io, sys, traceback
scope = {}
for name in sys.argv[1:]:
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(open(name).read(), name, "exec"), scope)
        print(f"=== {name} ok\\n{out.getvalue()}", end="")
    except BaseException:
        print(f"=== {name} failed\\n{traceback.format_exc()}", end="")
print("=== end")
'''


def run(python, where, *argv):
    env = {**os.environ, 'PATH': f'{python.parent}:{os.environ["PATH"]}', 'PYTHONDONTWRITEBYTECODE': '1', 'HOME': str(where)}
    r = subprocess.run(argv, cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    return r.returncode, r.stdout


def page(python, text):
    """(line, what is wrong or '')"""
    _, found = run_docs.blocks(text)
    behind = {i: found[i + 1].text for i in range(len(found) - 1) if found[i + 1].lang == 'text' and not found[i + 1].notes}
    with tempfile.TemporaryDirectory() as d:
        where = pathlib.Path(d)
        (where / 'examples').symlink_to(interpreters.ROOT / 'examples')
        for b in found:
            if 'file' in b.notes:
                (where / b.notes['file']).write_text(b.text)
        session = [i for i, b in enumerate(found) if b.lang == 'python' and 'file' not in b.notes]
        for i in session:
            (where / f'block{i}.py').write_text(found[i].text)
        _, said = run(python, where, python, '-c', SESSION, *(f'block{i}.py' for i in session))
        parts = dict(re.findall(r'^=== (\S+ (?:ok|failed))\n(.*?)(?==== )', said, re.S | re.M))
        for i, b in enumerate(found):
            if i in session:
                out = parts.get(f'block{i}.py ok')
                yield b.line, (parts.get(f'block{i}.py failed') or said or 'the session ended') if out is None else '' if i not in behind or run_docs.same(behind[i], out) else f'printed:\n{out}'
            elif b.lang == 'sh' and 'skip' not in b.notes:
                rc, out = run(python, where, 'sh', '-euc', b.text)
                yield b.line, f'exit {rc}:\n{out}' if rc else '' if i not in behind or run_docs.same(behind[i], out) else f'printed:\n{out}'
            elif 'file' not in b.notes and b.lang not in ('text', 'sh'):
                yield b.line, f'no way to test a block of {b.lang or "no language"}'


BROKEN = {'python that raises': '```python\n1 / 0\n```\n', 'python that prints something else': '```python\nprint(1)\n```\n\n```text\n2\n```\n',
          'python that needs what is not there': '```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n', 'sh that fails': '```sh\nfalse\n```\n',
          'sh that prints something else': '```sh\necho 1\n```\n\n```text\n2\n```\n', 'a language nobody runs': '```perl\n1\n```\n',
          'python that leaves': '```python\nimport os\nos._exit(0)\n```\n'}


def main():
    python, passed, failed = pathlib.Path(sys.argv[1]).absolute(), 0, 0
    if sys.argv[2:] == ['control']:
        rows = [(what, '' if any(bad for _, bad in page(python, text)) else 'not seen') for what, text in BROKEN.items()]
    else:
        rows = list(page(python, (interpreters.ROOT / 'python/README.md').read_text()))
    for where, bad in rows:
        if bad:
            print(f'README.md:{where}: {bad}')
        passed, failed = passed + (not bad), failed + bool(bad)
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
