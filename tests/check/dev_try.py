#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev on a machine that lacks packages: what it prints, asks, installs, and how it exits. dpkg-query, apt-get, id, meson and
ninja are stand-ins that write down how they were called."""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import tree

FAKES = {
    # Everything is installed except meson and tzdata, until apt-get has run.
    'dpkg-query': 'for p; do :; done\\ncase $p in meson|tzdata) [ -e "$STATE/installed" ] || exit 1;; esac\\necho installed',
    'apt-get': 'echo "apt-get $*" >>"$STATE/calls"\\ncase " $* " in *" update "*) touch "$STATE/updated";; '
               '*) [ -e "$STATE/updated" ] || exit 100; touch "$STATE/installed";; esac',
    'id': 'echo "${FAKE_UID:-0}"',
    'meson': 'echo "meson $*" >>"$STATE/calls"; mkdir -p "$2"; touch "$2/build.ninja"',
    'ninja': 'echo "ninja $*" >>"$STATE/calls"; [ -z "$BROKEN" ] || { echo "the compiler says no"; exit 1; }',
}
LINE = 'apt-get install -y --no-install-recommends meson tzdata'


def run(args, answer=None, **env):
    """(exit, output, calls) of ./dev in a folder of its own; with an answer, on a terminal."""
    with tempfile.TemporaryDirectory() as d:
        home = pathlib.Path(d)
        shutil.copy(tree.ROOT / 'dev', home / 'dev')
        (home / 'bin').mkdir()
        for name, text in FAKES.items():
            p = home / 'bin' / name
            p.write_text('#!/bin/sh\n' + text.replace('\\n', '\n') + '\n')
            p.chmod(0o755)
        (home / 'tests/cross').mkdir(parents=True)
        arm64 = home / 'tests/cross/arm64.sh'
        arm64.write_text('#!/bin/sh\n[ -n "$ARM64" ] || { echo "no aarch64 build: it says why"; exit 77; }\n')
        arm64.chmod(0o755)
        env = {**os.environ, 'ARM64': '', 'PATH': f'{home}/bin:{os.environ["PATH"]}', 'STATE': d, 'BROKEN': '', **env}
        stdin = subprocess.DEVNULL
        if answer is not None:
            master, stdin = pty.openpty()
            os.write(master, (answer + '\n').encode())
        r = subprocess.run(['sh', './dev', *args], cwd=d, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        calls = home / 'calls'
        return r.returncode, r.stdout, calls.read_text().splitlines() if calls.exists() else []


def rows():
    """(what, whether it holds, what was seen)"""
    def row(what, got, code, inside, calls):
        ok = got[0] == code and all(x in got[1] for x in inside) and [c for c in got[2] if c.startswith(calls[0])] == list(calls[1:])
        return what, ok, got
    apt = ('apt-get', 'apt-get -q ' + LINE[8:], 'apt-get -q update', 'apt-get -q ' + LINE[8:])
    yield row('not root', run(['build'], FAKE_UID='1000'), 2, [LINE, 'as root'], ('apt-get',))
    yield row('not root, --yes', run(['build', '--yes'], FAKE_UID='1000'), 2, [LINE], ('apt-get',))
    yield row('root, nobody to ask', run(['build']), 2, [LINE, '--yes'], ('apt-get',))
    yield row('root, --yes', run(['build', '--yes']), 0, [LINE, 'build release'], apt)
    yield row('root, says yes', run(['build'], answer='y'), 0, [LINE, 'Install them now?'], apt)
    yield row('root, says no', run(['build'], answer='n'), 2, [LINE, 'Install them now?'], ('apt-get',))
    yield row('release', run(['build', '--yes']), 0, ['build release', 'done'], ('meson', 'meson setup build -Dbuildtype=release'))
    yield row('a set-up', run(['build', 'tsan', '--yes']), 0, ['build tsan'],
              ('meson', 'meson setup build-tsan -Dbuildtype=debugoptimized -Db_sanitize=thread'))
    yield row('a cross build', run(['build', 'a64', '--yes'], ARM64='1'), 0, ['build a64'],
              ('meson', 'meson setup build-a64 -Dbuildtype=release --cross-file build-a64-root/cross.ini'))
    yield row('no cross build', run(['build', 'a64', '--yes']), 77, ['it says why'], ('meson',))
    yield row('no such set-up', run(['build', '--yes', 'fast']), 2, ["no set-up 'fast'"], ('meson',))
    yield row('a broken build', run(['build', '--yes'], BROKEN='1'), 1, ['the compiler says no', 'failed'], ('ninja', 'ninja -C build'))
    yield row('no such command', run(['deploy']), 2, ["no command 'deploy'"], ('apt-get',))
    yield row('help', run(['--help']), 0, ['./dev test'], ('apt-get',))


def main():
    passed = failed = 0
    for what, ok, got in rows():
        passed += ok
        failed += not ok
        if not ok:
            print(f'{what}: exit {got[0]}, calls {got[2]}\n{got[1]}')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
