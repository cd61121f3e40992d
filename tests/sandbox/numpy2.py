#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy 2 from PyPI in a site folder of its own, for tests and benches beside Debian's 1.24.

  numpy2.py BUILD PROGRAM [ARG…]      runs it with that folder in REDAN_TEST_SITE; exit 77 with the reason when it cannot be had
  site(build) -> (folder, version) or (None, why)     installed into BUILD/numpy2 once; a machine without network has a reason"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

PIP = ('-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1', '--timeout', '30', '--only-binary', ':all:')


def said(cmd):
    try:
        r = subprocess.run([str(c) for c in cmd], capture_output=True, text=True, check=False, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    return None if r.returncode == 0 else ((r.stderr or r.stdout).strip().splitlines() or ['no message'])[-1]


def site(build):
    home = pathlib.Path(build) / 'numpy2'
    done = home / 'complete'                             # written last: an interrupted installation is begun again
    if not done.exists():
        why = said([sys.executable, '-m', 'venv', '--clear', home])
        if why:
            return None, f'no virtual environment (Debian package python3-venv): {why}'
        why = said([home / 'bin/python', *PIP, 'numpy==2.*'])
        if why:
            shutil.rmtree(home, ignore_errors=True)
            return None, f'pip: {why}'
        done.touch()
    found = sorted(home.glob('lib/python3.*/site-packages/numpy/version.py'))
    number = found and re.search(r"version\s*=\s*['\"]([\d.]+)", found[0].read_text())
    return (str(found[0].parents[1]), number.group(1)) if number else (None, f'its environment is broken; remove {home}')


if __name__ == '__main__':
    folder, note = site(sys.argv[1])
    if not folder:
        print(note)
        sys.exit(77)
    print(f'NumPy {note}', flush=True)
    os.execve(sys.argv[2], sys.argv[2:], {**os.environ, 'REDAN_TEST_SITE': folder})
