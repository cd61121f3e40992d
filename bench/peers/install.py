#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks are held against: finds each peer, or installs it into a virtual environment of its own.

  install.py [--into DIR] [--offline] [--peers none|NAME,…]      prints a line a peer: its version, or why there is none

  find(names='all', into=build/peers, offline=False) -> {name: Peer}   a peer that was not asked for has no key
  Peer: name, version, python (of its environment), bin (its folder of programs), why (None, or the reason it is missing)

Each PyPI peer has an environment of its own, because some of them want different versions of the same package; ExprTk is a program
of ours around its header, compiled for a minute. What is
installed already is used as it is and costs no network. A peer that cannot be had is never an error: it has a reason."""
import argparse
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INTO = ROOT / 'build/peers'
PIP = ('-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1', '--timeout', '30',
       '--only-binary', ':all:')
PATIENCE_S = 900                                         # Mojo is 770 MB

# name: how it is had and what is needed. The first package of a PyPI row is the one whose version is told.
PEERS = {
    'gcc': ('program', ['gcc', '-dumpfullversion']),
    'numpy': ('pypi', ['numpy']),
    'numba': ('pypi', ['numba', 'numpy']),
    'pandas': ('pypi', ['pandas', 'numpy']),
    'hftbacktest': ('pypi', ['hftbacktest==2.4.*']),
    'zen-engine': ('pypi', ['zen-engine']),
    'common-expression-language': ('pypi', ['common-expression-language']),          # CEL in Rust
    'cel-python': ('pypi', ['cel-python']),
    'rule-engine': ('pypi', ['rule-engine']),
    'luajit': ('program', ['luajit', '-v']),             # Debian's package of that name
    'mojo': ('pypi', ['mojo==1.2.*']),                   # the version that bench/peers/mojo is written for
    'exprtk': ('source', ['cexprtk==0.4.2', 'exprtk.hpp', 'exprtk_peer.cpp']),       # a PyPI package that carries the C++ header; Debian has none
}


@dataclasses.dataclass
class Peer:
    name: str
    version: str = ''
    python: pathlib.Path = None
    bin: pathlib.Path = None
    why: str = None


def said(cmd, patience=60):
    """(exit status, what it said); a program that is not there or hangs has a status too."""
    try:
        r = subprocess.run([str(c) for c in cmd], capture_output=True, text=True, check=False, timeout=patience)
    except (OSError, subprocess.TimeoutExpired) as e:
        return 1, str(e)
    return r.returncode, (r.stdout + r.stderr).strip()


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return re.sub(r'^ERROR: ', '', lines[-1])[:200] if lines else 'no message'


def program(name, cmd):
    if not shutil.which(cmd[0]):
        return Peer(name, why=f'no program {cmd[0]} (Debian package {cmd[0]})')
    rc, text = said(cmd)
    number = re.search(r'\d+\.\d+[^\s]*', text)
    if rc or not number:
        return Peer(name, why=f'{cmd[0]} does not run: {last_line(text)}')
    return Peer(name, version=number.group(0), bin=pathlib.Path(shutil.which(cmd[0])).parent)


def installed(python, package):
    """The version of a package in an environment, or None."""
    code = 'import importlib.metadata as m, sys; print(m.version(sys.argv[1]))'
    rc, text = said([python, '-c', code, re.split(r'[=<>]', package)[0]]) if python.exists() else (1, '')
    return None if rc else text.splitlines()[-1]


def pypi(name, packages, into, offline):
    home = into / name
    p = Peer(name, python=home / 'bin/python', bin=home / 'bin')
    done = home / 'complete'                             # written last: an interrupted installation is begun again
    if not done.exists():
        if offline:
            return Peer(name, why='not installed, and --offline')
        rc, text = said([sys.executable, '-m', 'venv', '--clear', home])
        if rc:
            return Peer(name, why=f'no virtual environment (Debian package python3-venv): {last_line(text)}')
        rc, text = said([p.python, *PIP, *packages], PATIENCE_S)
        if rc:
            shutil.rmtree(home, ignore_errors=True)
            return Peer(name, why=f'pip: {last_line(text)}')
        done.touch()
    p.version = installed(p.python, packages[0])
    return p if p.version else Peer(name, why=f'its environment is broken; remove {home}')


def fetch_header(home, package, header):
    """Takes one file out of a package's source archive; None, or why not."""
    with tempfile.TemporaryDirectory() as d:
        rc, text = said([sys.executable, '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-input', '--no-deps', '--no-binary', ':all:',
                         '-d', d, package], PATIENCE_S)
        archives = list(pathlib.Path(d).glob('*.tar.gz'))
        if rc or not archives:
            return f'pip: {last_line(text)}'
        with tarfile.open(archives[0]) as tar:
            inside = [m for m in tar.getmembers() if m.isfile() and m.name.endswith('/' + header)]
            if not inside:
                return f'{package} holds no {header}'
            home.mkdir(parents=True, exist_ok=True)
            (home / header).write_bytes(tar.extractfile(inside[0]).read())
    return None


def source(name, what, into, offline):
    """A program of ours, compiled with a header of theirs."""
    (package, header, program_source), home = what, into / name
    mine, out = pathlib.Path(__file__).resolve().parent / program_source, home / name
    if not shutil.which('g++'):
        return Peer(name, why='no program g++ (Debian package g++)')
    if not (home / header).exists():
        why = 'not installed, and --offline' if offline else fetch_header(home, package, header)
        if why:
            return Peer(name, why=why)
    if not out.exists() or out.stat().st_mtime < mine.stat().st_mtime:
        rc, text = said(['g++', '-O3', '-march=native', '-ffp-contract=off', '-std=c++17', '-w', '-I', home, '-o', out, mine], PATIENCE_S)
        if rc:
            return Peer(name, why=f'g++: {last_line(text)}')
    return Peer(name, version=f'({package.replace("==", " ")})', bin=home)


def names_of(text):
    """'all', 'none' or 'a,b' -> names; an unknown one is a ValueError."""
    if text in ('all', 'none'):
        return list(PEERS) if text == 'all' else []
    names = [n for n in text.split(',') if n]
    for n in names:
        if n not in PEERS:
            raise ValueError(f'no peer {n!r}: {", ".join(PEERS)}')
    return names


def find(names='all', into=INTO, offline=False, tell=None):
    """Looks for the peers of a list or of names_of's text; tell(text) hears of each installation before it begins."""
    found = {}
    for name in names_of(names) if isinstance(names, str) else names:
        how, what = PEERS[name]
        if how == 'program':
            found[name] = program(name, what)
            continue
        if tell and not offline and not (into / name).exists():
            tell(f'installing {name} into {into / name}')
        found[name] = (pypi if how == 'pypi' else source)(name, what, into, offline)
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--into', type=pathlib.Path, default=INTO)
    ap.add_argument('--offline', action='store_true')
    ap.add_argument('--peers', default='all')
    a = ap.parse_args()
    try:
        for p in find(a.peers, a.into, a.offline).values():
            print(f'{p.name:<28} {p.version if not p.why else "missing: " + p.why}')
    except ValueError as e:
        ap.error(str(e))


if __name__ == '__main__':
    main()
