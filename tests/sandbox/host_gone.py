#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the host leaves no zygote and no worker, whatever the plugin is doing.

  host_gone.py HOST [SEED]      HOST opens plugins, starts a call and says so; then it is killed, or its zygote. And fifty times it is killed at
                                a moment drawn from SEED, from before its first zygote to the middle of a reload."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time


def children(pid):
    out = []
    for task in pathlib.Path(f'/proc/{pid}/task').glob('*/children'):
        for c in task.read_text().split():
            out += [int(c)] + children(int(c))
    return out


def alive(pids):
    left = []
    for p in pids:
        try:
            if pathlib.Path(f'/proc/{p}/stat').read_text().rsplit(')', 1)[1].split()[0] not in 'ZX':
                left.append(p)
        except OSError:
            pass
    return left


def run(host, what, victim):
    p = subprocess.Popen([host, what], stdout=subprocess.PIPE, text=True)
    line = p.stdout.readline().strip()
    if line.startswith('skip'):
        print(line)
        sys.exit(77)
    time.sleep(0.05)
    everyone = children(p.pid)
    if len(everyone) < 3:
        print(f'{what}: only {len(everyone)} processes to look at')
        p.kill()
        return False
    zygote = children(p.pid)[0]
    try:
        os.kill(p.pid if victim == 'host' else zygote, signal.SIGKILL)
        started = time.monotonic()
        watched = everyone if victim == 'host' else [c for c in everyone if c != zygote]
        while alive(watched) and time.monotonic() - started < 5:
            time.sleep(0.002)
        took = (time.monotonic() - started) * 1e3
        left = alive(watched)
        print(f'{what}, kill -9 of the {victim}: {len(left)} of {len(watched)} left after {took:.0f} ms')
        return not left
    finally:
        p.kill()
        p.wait()
        for c in alive(everyone):
            os.kill(c, signal.SIGKILL)


def describe(pid):
    """What is left is told apart by its parent and its namespace: a zygote, a worker before its confinement, or after."""
    try:
        lines = pathlib.Path(f'/proc/{pid}/status').read_text().splitlines()
        stack = pathlib.Path(f'/proc/{pid}/wchan').read_text()
    except OSError:
        return f'{pid}: gone by now'
    return f'{pid}: ' + ', '.join(x.replace('\t', ' ') for x in lines if x.split(':')[0] in ('State', 'PPid', 'Uid', 'NSpid', 'Seccomp', 'SigQ')) + f', in {stack}'


MOMENTS, LONGEST_S = 50, 0.35


def named(seed):
    """Zygotes and workers of one host: they carry its seed in their command line."""
    out = []
    for p in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            words = p.read_bytes().split(b'\0')
        except OSError:
            continue
        if words[0] == b'redan-worker' and str(seed).encode() in words:
            out.append(int(p.parent.name))
    return out


def moments(host, seed):
    """How many of MOMENTS left nothing behind, and how many had something to leave."""
    draw, clean, started = random.Random(seed), 0, 0
    for i in range(MOMENTS):
        own, wait = draw.getrandbits(62) | 1, draw.random() * LONGEST_S
        p = subprocess.Popen([host, 'reloading', str(own)], stdout=subprocess.DEVNULL)
        time.sleep(wait)
        started += bool(named(own))
        p.kill()
        p.wait()
        until = time.monotonic() + 5
        while (left := alive(named(own))) and time.monotonic() < until:
            time.sleep(0.002)
        clean += not left
        if left:
            print(f'moment {i}, {wait * 1e3:.0f} ms: {len(left)} processes left')
            for pid in left:
                print('  ' + describe(pid))
                os.kill(pid, signal.SIGKILL)
    print(f'kill -9 of the host at {MOMENTS} moments: {clean} left nothing, {started} had zygotes by then (seed {seed})')
    return clean == MOMENTS and started > MOMENTS // 2


def main():
    host = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix='redan-host-') as d:
        os.chdir(d)                                      # the host's files
        ok = [run(host, what, victim) for what in ('idle', 'looping', 'stubborn') for victim in ('host', 'zygote')]
        ok.append(moments(host, sys.argv[2] if len(sys.argv) > 2 else 'moments'))
        os.chdir('/')
    print(f'{sum(ok)} passed, {len(ok) - sum(ok)} failed')
    sys.exit(not all(ok))


if __name__ == '__main__':
    main()
