# SPDX-License-Identifier: Apache-2.0
"""Interpreters of this machine, and virtual environments with what the tests need from PyPI. What is installed already is used as it is and
costs no network; what cannot be had is a reason, never an error."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIP = ('-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1', '--timeout', '30')
PATIENCE_S = 600
MINORS = ('3.11', '3.12', '3.13')


def said(cmd, patience=60, **more):
    """(exit status, what it said)"""
    try:
        r = subprocess.run([str(c) for c in cmd], capture_output=True, text=True, check=False, timeout=patience, **more)
    except (OSError, subprocess.TimeoutExpired) as e:
        return 1, str(e)
    return r.returncode, (r.stdout + r.stderr).strip()


def last_line(text):
    lines = [s for s in text.splitlines() if s.strip()]
    return lines[-1].removeprefix('ERROR: ')[:200] if lines else 'no message'


def find(minor):
    """The program of a Python: the system's first, then what PATH and pyenv have."""
    name = f'python{minor}'
    there = [f'/usr/bin/{name}', shutil.which(name)]
    there += sorted((pathlib.Path.home() / '.pyenv/versions').glob(f'{minor}.*/bin/{name}'))
    for p in there:
        if p and os.path.exists(p) and said([p, '-c', 'import sys, ssl; print("%d.%d" % sys.version_info[:2])']) == (0, minor):
            return pathlib.Path(p)
    return None


def environment(home, python, packages):
    """(its python, None) or (None, why not). Made once for a list of packages; an interrupted one is begun again."""
    home = pathlib.Path(home)
    made, inside = home / 'made-of', home / 'bin/python'
    want = f'{python} {" ".join(map(str, packages))}'
    if made.exists() and made.read_text() == want:
        return inside, None
    rc, text = said([python, '-m', 'venv', '--clear', home], 120)
    if rc:
        return None, f'no virtual environment (Debian package python3-venv): {last_line(text)}'
    rc, text = said([inside, *PIP, *packages], PATIENCE_S)
    if rc:
        shutil.rmtree(home, ignore_errors=True)
        return None, f'pip: {last_line(text)}'
    made.write_text(want)
    return inside, None


def skip(why):
    print(why)
    sys.exit(77)
