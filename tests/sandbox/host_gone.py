#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the host leaves no zygote and no worker, whatever the plugin is doing.

  host_gone.py HOST      HOST is test_host: it opens plugins, starts a call and prints the pids of what it started."""
import os
import pathlib
import signal
import subprocess
import sys
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


def main():
    ok = [run(sys.argv[1], what, victim) for what in ('idle', 'looping', 'stubborn') for victim in ('host', 'zygote')]
    print(f'{sum(ok)} passed, {len(ok) - sum(ok)} failed')
    sys.exit(not all(ok))


if __name__ == '__main__':
    main()
