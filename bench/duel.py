# SPDX-License-Identifier: Apache-2.0
"""Two programs take turns on one machine: Redan's side and a peer of another language.

A player is a process. It prints one JSON line when it is ready (at least {}), then answers each line of its standard input
with one JSON line:

  slice            works for about as long as the other side and answers {"ns": the time of one event}
  clock            own side only: {"ghz": what a chain of additions runs at}
  answers FILE     peers only: writes the fired words of as many of the first events as it can afford, answers {"events": n}

It ends when its input ends. A round is a slice of each; rounds during which the clock moved more than 8 % are repeated."""
import json
import statistics
import subprocess
import tempfile

ROUNDS, DRIFT = 5, 0.08


class PlayerError(Exception):
    """The player ended, or said something that is not JSON."""


class Player:
    def __init__(self, cmd, cwd=None):
        self.stderr = tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen([str(c) for c in cmd], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr,
                                        text=True, bufsize=1, cwd=cwd)
        self.hello = self.hear()

    def hear(self):
        text = self.process.stdout.readline()
        try:
            return json.loads(text)
        except ValueError:
            self.process.kill()
            self.stderr.seek(0)
            words = [w for w in self.stderr.read().splitlines() if w.strip()]
            raise PlayerError((words[-1] if words else text.strip() or 'it ended without a word')[:200]) from None

    def ask(self, what):
        try:
            self.process.stdin.write(what + '\n')
        except BrokenPipeError:
            pass                                         # hear() tells why
        return self.hear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pipe in (self.process.stdin, self.process.stdout, self.stderr):
            pipe.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def duel(own, peer, rounds=ROUNDS):
    """{ns_min, ns_p50, peer_ns, ratio, rounds, repeated}. On a clock that never holds still, it settles for what it has."""
    ours, theirs, repeated = [], [], 0
    while len(ours) < rounds:
        before = own.ask('clock')['ghz']
        a, b = own.ask('slice')['ns'], peer.ask('slice')['ns']
        if abs(own.ask('clock')['ghz'] / before - 1) > DRIFT and repeated < 2 * rounds:
            repeated += 1
            continue
        ours.append(a)
        theirs.append(b)
    return {'ns_min': min(ours), 'ns_p50': round(statistics.median(ours), 2), 'peer_ns': min(theirs), 'ratio': min(ours) / min(theirs),
            'rounds': rounds, 'repeated': repeated}


def same_answers(own_file, peer_file, events, words):
    """Whether the first events' fired words are equal in both files, and there are that many."""
    size = events * words * 8
    ours, theirs = own_file.read_bytes()[:size], peer_file.read_bytes()
    return events > 0 and len(ours) == size and ours == theirs
