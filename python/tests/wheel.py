#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel, from the sdist to a stranger's notebook.

  wheel.py BUILD      works below BUILD/python-tests/wheel

The sdist of this checkout is built into a wheel in a clean environment, judged by abi3audit and auditwheel, held to 1.5 MB and 60 s, installed
into a clean environment for each Python of this machine, where every block of python/README.md runs; mypy --strict on the package and on what
an author writes. Each check is shown to fail. Exit 77 with a reason without git or what is needed from PyPI. The last line is
`N passed, N failed`."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile

import interpreters
from interpreters import ROOT, last_line, said

MAX_BYTES, MAX_SECONDS = 1_500_000, 60
AUDITORS = ('build', 'abi3audit', 'auditwheel', 'mypy', 'numpy', 'pytest', 'hypothesis')
BUILDERS = ('meson-python', 'meson>=1.3', 'ninja')
NOT_ABI3 = '#include <Python.h>\nPyMODINIT_FUNC PyInit_bad(void) { PyObject *m = PyModule_New("bad"); return PyUnicode_AsUTF8(m) ? m : NULL; }\n'
TYPED = ROOT / 'python/tests/typed/typed_plugin.py'
# (what it is, what the example says, what is said instead, what mypy must say)
MISTAKES = [('an answer of another type', '-> bool | None:\n    return None', '-> bool | None:\n    return "x" if qty else None', 'Incompatible return value type'),
            ('a field that is none', 'order.qty + 1', 'order.quantity', 'has no attribute "quantity"'),
            ('a frozen event', 'order.qty + 1', 'setattr(order, "qty", 1), order.px.x', 'has no attribute "x"'),
            ('an event without a field', 'Order(account="a", qty=1, px=2)', 'Order(account="a", qty=1)', 'Missing positional argument "px"'),
            ('a batch answer', 'return np.sqrt(np.abs(o["qty"]) / 1e6)', 'return "x"', 'Incompatible return value type'),
            ('a decision', 'verdict: str =', 'verdict: int =', 'Incompatible types in assignment')]


def modules():
    """The package's own; the confined worker's part comes with the worker."""
    return [p for p in (ROOT / 'python/redan').rglob('*.py') if p.name != '_worker.py']


class Wheel:
    def __init__(self, build):
        self.home = build / 'python-tests/wheel'
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        python = interpreters.find('3.11')
        if not python:
            interpreters.skip('no Python 3.11')
        self.tools, why = interpreters.environment(build / 'python-tests/auditors', python, AUDITORS)
        self.builder, also = interpreters.environment(build / 'python-tests/builder', python, BUILDERS) if self.tools else (None, None)
        if why or also:
            interpreters.skip(why or also)
        self.build_dir, self.results = build, []

    def check(self, what, bad):
        self.results.append(bad)
        print(f'{"fail" if bad else "ok":<5} {what}' + (f': {bad}' if bad else ''), flush=True)

    # ---- building ----
    def sdist(self):
        rc, text = said([self.tools, '-m', 'build', '--sdist', '--outdir', self.home, ROOT], 300)
        made = list(self.home.glob('*.tar.gz'))
        self.check('sdist', '' if rc == 0 and len(made) == 1 else last_line(text))
        return made[0] if made else None

    def wheel(self, sdist):
        """Built with the folder of Meson's own environment first on PATH: without it, an older Meson of the system is taken."""
        env = {**os.environ, 'PATH': f'{self.builder.parent}:{os.environ["PATH"]}'}
        begun, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        rc, text = said([self.builder, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '--disable-pip-version-check', '-w', self.home, sdist], 600, env=env)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall, cpu = time.monotonic() - begun, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        made = list(self.home.glob('*.whl'))
        self.check('wheel from the sdist', '' if rc == 0 and len(made) == 1 else last_line(text))
        if not made:
            return None
        cores = min(2, os.cpu_count() or 1)             # this machine may have others at work: the processor's time is what counts
        self.check(f'built in {wall:.0f} s, {cpu:.0f} s of processor', '' if cpu / cores <= MAX_SECONDS else f'at most {MAX_SECONDS * cores} s of processor')
        size = made[0].stat().st_size
        self.check(f'{size} bytes', '' if size <= MAX_BYTES else f'at most {MAX_BYTES}')
        return made[0]

    # ---- what it is ----
    def contents(self, wheel):
        self.check('tag cp311-abi3', '' if '-cp311-abi3-' in wheel.name else wheel.name)
        names = set(zipfile.ZipFile(wheel).namelist())
        want = {p.relative_to(ROOT / 'python').as_posix() for p in modules()} | {'redan/py.typed', '_redan.abi3.so', '_redan.pyi'}
        have = {n for n in names if '.dist-info/' not in n}
        self.check('files', '' if have == want else f'missing {sorted(want - have)}, too many {sorted(have - want)}')
        ext = self.home / '_redan.abi3.so'
        ext.write_bytes(zipfile.ZipFile(wheel).read('_redan.abi3.so'))
        needed = set(re.findall(r'NEEDED.*\[(.*)\]', said(['readelf', '-d', ext])[1]))
        self.check('links libc and libm only', '' if needed <= {'libc.so.6', 'libm.so.6', 'ld-linux-x86-64.so.2'} else str(needed))
        symbols = re.findall(r' [TDBR] (\w+)', said(['nm', '-D', '--defined-only', ext])[1])
        self.check('exports PyInit__redan only', '' if symbols == ['PyInit__redan'] else str(symbols))

    def audit(self, wheel):
        rc, text = said([self.tools, '-m', 'abi3audit', '--strict', wheel], 120)
        self.check('abi3audit', last_line(text) if rc else '')
        rc, text = said([self.tools, '-m', 'auditwheel', 'show', wheel], 120)
        tag = re.search(r'"(manylinux_\d+_\d+_\w+)"', text)
        self.check(f'auditwheel: {tag and tag[1]}', '' if rc == 0 and tag else last_line(text))
        source, bad = self.home / 'bad.c', self.home / 'bad.abi3.so'
        source.write_text(NOT_ABI3)
        include = sysconfig.get_paths()['include']
        rc, text = said(['cc', '-shared', '-fPIC', '-I', include, '-o', bad, source])
        rc, text = said([self.tools, '-m', 'abi3audit', '--strict', '--assume-minimum-abi3', '3.11', bad], 120) if rc == 0 else (0, text)
        self.check('abi3audit sees a call outside the limited API', '' if rc else last_line(text))

    # ---- using it ----
    def install(self, minor, wheel):
        python = interpreters.find(minor)
        if not python:
            print(f'skip  Python {minor}: not on this machine')
            return None
        home = self.home / f'stranger-{minor}'
        rc, text = said([python, '-m', 'venv', home], 120)
        rc, text = said([home / 'bin/python', *interpreters.PIP, f'{wheel}[testing]'], 600) if rc == 0 else (rc, text)
        self.check(f'pip install under {minor}', last_line(text) if rc else '')
        return None if rc else home / 'bin/python'

    def readme(self, minor, python):
        env = {**os.environ, 'REDAN_WORKER': str(self.build_dir / 'plugins/redan-worker')}
        for more in ([], ['control']) if minor == '3.11' else ([],):
            r = subprocess.run([sys.executable, ROOT / 'python/tests/readme.py', python, *more], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.check(f'README under {minor} {" ".join(more)}: {r.stdout.splitlines()[-1]}', r.stdout if r.returncode else '')

    def mypy(self, file):
        # As a stranger's: what the wheel installed, with the tools of another environment.
        return said([self.tools, '-m', 'mypy', '--strict', '--no-warn-return-any', '--python-executable',
                     self.home / 'stranger-3.11/bin/python', '--cache-dir', self.home / 'mypy', file], 300)

    def types(self):
        rc, text = self.mypy(TYPED)
        self.check('mypy --strict on a plugin', text if rc else '')
        for what, old, new, says in MISTAKES:
            assert old in TYPED.read_text(), old
            wrong = self.home / 'wrong.py'
            wrong.write_text(TYPED.read_text().replace(old, new))
            rc, text = self.mypy(wrong)
            self.check(f'mypy sees {what}', '' if rc and says in text else text)
        rc, text = said([self.tools, '-m', 'mypy', '--strict', '--cache-dir', self.home / 'mypy-own', *modules()], 300, env={**os.environ, 'MYPYPATH': str(ROOT / 'python')})
        self.check('mypy --strict on the package', text if rc else '')

    def run(self):
        sdist = self.sdist()
        wheel = self.wheel(sdist) if sdist else None
        if wheel:
            self.contents(wheel)
            self.audit(wheel)
            for minor in interpreters.MINORS:
                python = self.install(minor, wheel)
                if python:
                    self.readme(minor, python)
            self.types()
        failed = sum(map(bool, self.results))
        print(f'{len(self.results) - failed} passed, {failed} failed')
        return failed > 0


def main():
    if said(['git', '-C', ROOT, 'rev-parse', 'HEAD'])[0]:
        interpreters.skip('no git checkout: an sdist is made from one')
    return Wheel(pathlib.Path(sys.argv[1]).resolve()).run()


if __name__ == '__main__':
    sys.exit(main())
