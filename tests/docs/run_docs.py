#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes every code block of README.md and docs/*.md.

  run_docs.py BUILD            BUILD holds the tool and the library
  run_docs.py BUILD control    broken blocks of every kind are seen

A page has one folder; its blocks run in order and see the files of those before. What a block is for stands before it in an
HTML comment, where a reader of the page does not see it:

  <!-- prelude … -->      declarations put before every ```rdn block of the page that has no header of its own
  <!-- file: NAME -->     the block is written to NAME
  <!-- exit: N -->        the ```sh block ends with this status (else 0)
  <!-- error: CODE -->    the ```rdn block has this mistake
  <!-- skip: REASON -->   the block is not run
  <!-- needs: COMMAND --> the block is not run where this fails

```rdn is checked, and its tests run. ```sh runs with the build's redan first on PATH; a ```text block right behind it is what it
prints, where … stands for anything in a line, and a line of only … for any lines. ```c is compiled, and run when it has a main.
```python is imported with the plugin SDK. ```json is one object a line. ```lua is written to its file, for a ```sh block to run. Any other
block is an error.

The last line is `N passed, N failed`."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Plugins run the system's Python, which is the one that has NumPy.
PYTHON = '/usr/bin/python3' if os.path.exists('/usr/bin/python3') else 'python3'
NUMPY = subprocess.run([PYTHON, '-c', 'import numpy'], capture_output=True).returncode == 0
Block = collections.namedtuple('Block', 'line lang text notes')
NOTE = re.compile(r'<!--\s*(prelude|file|exit|error|skip|needs)\b:?[ \t]*(.*?)\s*-->', re.S)
STUB = '''
class PluginTimeout(BaseException): pass
def data(name): return memoryview(bytes(4096))
def now(): return 0
def seed(): return 1
'''


def blocks(text):
    """Fenced blocks with the notes right before them, and the page's prelude."""
    out, prelude, notes, lines, i = [], '', {}, text.split('\n'), 0
    while i < len(lines):
        if lines[i].startswith('<!--'):
            start = i
            while '-->' not in lines[i]:
                i += 1
            m = NOTE.fullmatch('\n'.join(lines[start:i + 1]).strip())
            if m and m[1] == 'prelude':
                prelude = m[2] + '\n'
            elif m:
                notes[m[1]] = m[2]
        elif lines[i].startswith('```'):
            start, lang = i, lines[i][3:].strip()
            i += 1
            while i < len(lines) and lines[i] != '```':
                i += 1
            out.append(Block(start + 1, lang, '\n'.join(lines[start + 1:i]) + '\n', notes))
            notes = {}
        elif lines[i].strip():
            notes = {}
        i += 1
    return prelude, out


def same(want, got):
    """Whether the text is as promised; … as above."""
    pattern = ''
    for line in want.rstrip('\n').split('\n'):
        pattern += '(?:.*\n)*' if line.strip() == '…' else '.*'.join(re.escape(p.rstrip()) for p in line.split('…')) + '[ ]*\n'
    return re.fullmatch(pattern, got.rstrip('\n') + '\n') is not None


class Page:
    def __init__(self, build, where):
        self.build, self.where, self.lib = build, where, next(build.glob('**/libredan.so'), None)
        os.symlink(ROOT / 'examples', where / 'examples')
        (where / '.sdk').mkdir()
        (where / '.sdk/_redan.py').write_text(STUB)
        self.env = {'PATH': f'{build}:{os.environ["PATH"]}', 'HOME': str(where), 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC', 'NO_COLOR': '1',
                    'C_INCLUDE_PATH': str(ROOT / 'include'),           # an installed header is found without being named
                    'PKG_CONFIG_PATH': str(build / 'meson-uninstalled'), 'LD_LIBRARY_PATH': str(self.lib.parent if self.lib else build)}
        self.env.update({k: v for k, v in os.environ.items() if k.endswith('SAN_OPTIONS') or k == 'REDAN_LIBEXEC'})

    def run(self, *argv, **more):
        p = subprocess.run([str(a) for a in argv], cwd=self.where, env={**self.env, **more}, stdin=subprocess.DEVNULL, timeout=120,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return p.returncode, p.stdout

    def can_confine(self):
        return re.search('^ok +Python', self.run(self.build / 'redan', 'doctor')[1], re.M) is not None

    def rdn(self, b, prelude):
        f = self.where / b.notes.get('file', 'block.rdn')
        f.write_text(b.text if b.text.startswith(('ruleset', '#')) else prelude + b.text)
        rc, out = self.run(self.build / 'redan', 'check', f.name)
        if 'error' in b.notes:
            return '' if rc == 1 and f' {b.notes["error"]}: ' in out else f'expected {b.notes["error"]}:\n{out}'
        if rc or ' error E' in out:
            return out
        rc, out = self.run(self.build / 'redan', 'test', f.name)
        return out if rc else ''

    def sh(self, b, want):
        for _ in range(5):
            rc, out = self.run('sh', '-euc', b.text)
            # A deadline is real time: on a busy machine the block says nothing about the page.
            if not re.search('R4303|R4309', out):
                break
        if rc != int(b.notes.get('exit', 0)):
            return f'exit {rc}:\n{out}'
        if want is not None and not same(want, out):
            return f'printed:\n{out}'
        return ''

    def c(self, b, want):
        f = self.where / b.notes.get('file', 'block.c')
        f.write_text(b.text)
        has_main = re.search(r'^int main\(', b.text, re.M) is not None
        libs = [self.lib, f'-Wl,-rpath,{self.lib.parent}'] if self.lib else []
        rc, out = self.run('cc', '-std=c11', '-Wall', '-Wextra', '-Werror', '-I', ROOT / 'include', f.name,
                           *(['-o', f.stem, *libs] if has_main else ['-c', '-o', f.stem + '.o']))
        if rc or not has_main:
            return out if rc else ''
        rc, out = self.run(self.where / f.stem)
        return f'exit {rc}:\n{out}' if rc else '' if want is None or same(want, out) else f'printed:\n{out}'

    def python(self, b):
        f = self.where / b.notes.get('file', 'block.py')
        f.write_text(b.text)
        rc, out = self.run(PYTHON, f.relative_to(self.where), PYTHONPATH=f'{self.where / ".sdk"}:{ROOT / "python"}', PYTHONDONTWRITEBYTECODE='1')
        return out or f'exit {rc}' if rc else ''

    def json(self, b):
        try:
            for line in b.text.splitlines():
                json.loads(line)
        except ValueError as e:
            return str(e)
        if 'file' in b.notes:
            (self.where / b.notes['file']).write_text(b.text)
        return ''

    def block(self, b, want, prelude):
        """What is wrong with the block, or ''."""
        if 'skip' in b.notes:
            return '' if len(b.notes['skip'].split()) > 2 else 'skipped without a reason'
        if b.lang == 'rdn':
            return self.rdn(b, prelude)
        if b.lang in ('sh', 'c'):
            return getattr(self, b.lang)(b, want)
        if b.lang in ('python', 'json'):
            return getattr(self, b.lang)(b)
        if b.lang in ('text', 'lua') and 'file' in b.notes:
            (self.where / b.notes['file']).write_text(b.text)
            return ''
        return f'no way to test a block of {b.lang or "no language"}'


def page(build, text):
    """(line, skip reason or '', what is wrong or '') of every block."""
    prelude, found = blocks(text)
    with tempfile.TemporaryDirectory() as d:
        p = Page(build, pathlib.Path(d))
        for i, b in enumerate(found):
            behind = found[i + 1] if i + 1 < len(found) else None
            if b.lang == 'text' and i and found[i - 1].lang in ('sh', 'c') and not b.notes:
                continue                                # looked at with the block before
            if b.lang == 'python' and re.search(r'^import numpy', b.text, re.M) and not NUMPY:
                b.notes.setdefault('skip', 'NumPy is not installed')
            if b.lang == 'sh' and re.search('--plugin|sandbox try|redan plugin (test|bench|call|check|pack)', b.text) and not p.can_confine():
                b.notes.setdefault('skip', 'this machine cannot confine a plugin (redan doctor)')
            if 'needs' in b.notes and p.run('sh', '-c', b.notes['needs'])[0]:
                b.notes.setdefault('skip', f'this fails here: {b.notes["needs"]}')
            want = behind.text if behind and behind.lang == 'text' and not behind.notes else None
            yield b.line, b.notes.get('skip', ''), p.block(b, want, prelude)


def demo(readme, script):
    """Lines of the demo's output in the README that the demo does not print any more."""
    shown = sorted({m.strip() for m in re.findall(r'^ok   (.{34}) ', readme, re.M)})
    return [f'README shows "{s}"' for s in shown if f"'{s}'" not in script] or ([] if len(shown) > 5 else ['README shows no demo'])


BROKEN = {
    'rdn that does not check': '```rdn\nruleset a version 1\nrul x\n```\n',
    'rdn whose test fails': '```rdn\nruleset a version 1\n  undefined skip\nevent E { x: int }\nrule r on E { when x > 1 flag A }\n'
                            'test "t" { at 2026-01-05T00:00Z  E { x: 2 } => accept }\n```\n',
    'rdn without the promised mistake': '<!-- error: E0301 -->\n```rdn\nruleset a version 1\n```\n',
    'sh that fails': '```sh\nfalse\n```\n',
    'sh that should fail': '<!-- exit: 1 -->\n```sh\ntrue\n```\n',
    'sh that prints something else': '```sh\necho one\n```\n\n```text\ntwo\n```\n',
    'sh that prints more': '```sh\necho one; echo two\n```\n\n```text\none\n```\n',
    'c that does not compile': '```c\nint f(void) { return x; }\n```\n',
    'c that fails': '```c\nint main(void) { return 1; }\n```\n',
    'python that raises': '```python\nimport redan\nredan.plugn\n```\n',
    'json that is none': '```json\n{"a":1}\n{a:1}\n```\n',
    'a block without language': '```\nx\n```\n',
    'text behind nothing': '```text\nx\n```\n',
    'a block that has what it needs and fails': '<!-- needs: true -->\n```sh\nfalse\n```\n',
    'a skip without reason': '<!-- skip: slow -->\n```sh\ntrue\n```\n',
}
GOOD = '''<!-- prelude
ruleset a version 1
  undefined skip
event E { x: int }
-->
<!-- file: a.rdn -->
```rdn
rule r on E { when x > 1 flag A }
test "t" { at 2026-01-05T00:00Z  E { x: 2 } => accept A }
```

```sh
redan test a.rdn
```

```text
a.rdn: 1 passed, …
…
```

<!-- needs: false -->
```sh
false
```
'''


def control(build):
    for what, text in BROKEN.items():
        yield what, '' if any(bad for _, _, bad in page(build, text)) else 'not seen'
    yield 'a demo line of other days', '' if demo('ok   ' + 'orders judged by hand'.ljust(34) + ' 1\n', "'orders judged'")[0].startswith('README shows "orders') else 'not seen'
    yield 'a good page', ''.join(bad for _, _, bad in page(build, GOOD))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    passed = failed = skipped = 0
    if sys.argv[2:] == ['control']:
        for what, bad in control(build):
            print(f'{what}: {bad}') if bad else None
            passed, failed = passed + (not bad), failed + bool(bad)
    else:
        for f in [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]:
            for line, skip, bad in page(build, f.read_text()):
                if bad:
                    print(f'{f.name}:{line}: {bad}')
                elif skip:
                    print(f'{f.name}:{line}: not run: {skip}')
                    skipped += 1
                passed, failed = passed + (not bad and not skip), failed + bool(bad)
        for bad in demo((ROOT / 'README.md').read_text(), (ROOT / 'examples/demo/demo.py').read_text()):
            print(f'{bad}, examples/demo/demo.py does not print it')
            failed += 1
    print(f'{passed} passed, {failed} failed' + (f', {skipped} blocks not run' if skipped else ''))
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
