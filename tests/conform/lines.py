#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged event lines: the tool and the reference model must take and refuse the same ones.

  lines.py REDAN ROUNDS [FIRST_SEED]

Takes the event streams of the conformance suite, damages their lines (bytes, tokens, values, whole members) and compares every
output line of `redan run --full --state`. What stands in {"error":TEXT} is free and not compared. Skipped (77) without the suite."""
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import product

# Things that line readers get wrong.
TOKENS = [b'0', b'-0', b'-0.0', b'00', b'01', b'-', b'+1', b'1.', b'.5', b'1e5', b'1E+5', b'1e400', b'-1e400', b'1e-400', b'9223372036854775807',
          b'9223372036854775808', b'-9223372036854775808', b'-9223372036854775809', b'1' + b'0' * 40, b'1' + b'0' * 400, b'0.' + b'3' * 60, b'NaN', b'Infinity', b'-Infinity',
          b'"nan"', b'"inf"', b'"-inf"', b'"NaN"', b'"+inf"', b'null', b'true', b'false', b'True', b'nul', b'""', b'" "', b'"1"', b'"-1.50"', b'"1.500000000000"',
          b'"+1"', b'"1e3"', b'".5"', b'"5."', b'"-"', b'"--1"', b'"' + b'9' * 30 + b'"', b'"0.' + b'0' * 30 + b'"', b'"0.' + b'0' * 31 + b'"', b'"' + b'0' * 31 + b'"',
          b'"922337203685477.5807"', b'"922337203685477.5808"', b'"-922337203685477.5808"', '"\u0661"'.encode(), '"\u00e9"'.encode(),
          b'"\\ud800"', b'"\\udc00"', b'"\\ud83d\\ude00"', b'"\\ud83d\\u0041"', b'"\\u0000"', b'"\\u00e9"', b'"\\x"', b'"\\"', b'"a\tb"', b'"a\x00b"', b'"\x7f"',
          b'"2026-03-03T15:00:00Z"', b'"2026-03-03T15:00:00.123456789Z"', b'"2026-03-03T15:00:00.1234567891Z"', b'"2026-02-30T00:00:00Z"', b'"2026-03-03 15:00:00Z"',
          b'"2026-03-03T15:00:00+01:00"', b'"2026-03-03T15:00:60Z"', b'"2026-03-03T24:00:00Z"', b'"2026-03-03"', b'"2024-02-29"', b'"2023-02-29"', b'"0000-01-01"',
          b'"9999-12-31"', b'"1-1-1"', b'"1677-01-01T00:00:00Z"', b'"2262-04-12T00:00:00Z"', b'[]', b'{}', b'[1]', b'[1,2]', b'[[1,2],[3,4]]', b'[1.0,"nan"]',
          b'[' * 31 + b']' * 31, b'[' * 32 + b']' * 32, b'[' * 33 + b']' * 33, b'{"a":' * 32 + b'1' + b'}' * 32, b'[1,]', b'[,]', b'{"a":1,}', b'{"a"}', b'{1:2}']
RUNS = [b'', b' ', b'\t', b'\r', b'  \r', b'\xef\xbb\xbf', b'\x00', b'\x0b', b'\x0c', '\u00a0'.encode(), '\u2028'.encode(), b'\xff', b'\xc0\x80', b'\xed\xa0\x80', b',', b'}', b'//']


def members(line):
    """Spans of the values of a line, roughly: what stands between a colon and the next comma or bracket."""
    return [m.span(1) for m in re.finditer(rb':\s*("(?:[^"\\]|\\.)*"|[^,{}\[\]\s]+|\[[^\]]*\])', line)]


def damage(rng, line, fields):
    how = rng.randrange(10)
    if how < 4:                            # another value
        at = members(line)
        if at:
            a, b = rng.choice(at)
            return line[:a] + rng.choice(TOKENS) + line[b:]
    if how == 4:                           # a byte
        i = rng.randrange(len(line) + 1)
        return line[:i] + rng.choice(RUNS + [bytes([rng.randrange(256)])]) + line[i + rng.randrange(2):]
    if how == 5:                           # before or behind
        return rng.choice(RUNS) + line + rng.choice(RUNS)
    if how == 6:                           # a member twice, the second counts
        name = rng.choice(fields + [b'type', b'ts', b'f', b'zz', b'param', b'plugin', b'row', b'key', b'values', b'value'])
        i = line.rfind(b'}', 0, rng.choice([len(line), max(1, len(line) - 1)]))
        return line[:i] + (b'' if line[i - 1:i] == b'{' else b',') + b'"' + name + b'":' + rng.choice(TOKENS) + line[i:]
    if how == 7:                           # cut
        return line[:rng.randrange(len(line) + 1)]
    if how == 8:                           # a piece again
        a, b = sorted(rng.randrange(len(line) + 1) for _ in 'ab')
        return line[:b] + line[a:b] + line[b:]
    return rng.choice(TOKENS) if rng.random() < 0.2 else line.replace(rng.choice([b'"', b':', b',', b'{', b'}', b' ']), rng.choice(RUNS), 1)


def run(cmd, data):
    r = subprocess.run(cmd, input=data, capture_output=True)
    lines = [b'{"error"}' if s.startswith(b'{"error":') else s for s in r.stdout.split(b'\n')]
    for s in r.stdout.split(b'\n'):
        if s.startswith(b'{"error":'):
            json.loads(s.decode())         # the text is free, the line is JSON
    return r.returncode, lines, r.stderr.decode(errors='replace')


def main():
    redan, rounds = str(pathlib.Path(sys.argv[1]).resolve()), int(sys.argv[2])
    shared = product.find_shared()
    streams = sorted(d for d in (shared / 'conformance/stream').iterdir() if (d / 'rules.rdn').exists())
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    passed = failed = 0
    seen = collections.Counter()
    for seed in range(first, first + rounds):
        rng = random.Random(seed)
        d = streams[seed % len(streams)]
        good = [s for s in (d / 'events.jsonl').read_bytes().split(b'\n') if s.strip()]
        rng.shuffle(good)
        fields = sorted(set(re.findall(rb'"(\w+)"\s*:', b'\n'.join(good[:50]))))
        lines = []
        for s in good[:120]:
            while rng.random() < 0.5:
                s = damage(rng, s, fields).replace(b'\n', b'')
            lines.append(s)
        data = b'\n'.join(lines) + (b'\n' if rng.random() < 0.5 else b'')
        with tempfile.NamedTemporaryFile(suffix='.jsonl') as f:
            f.write(data)
            f.flush()
            want = run([sys.executable, str(shared / 'reference/redan_model.py'), 'run', str(d / 'rules.rdn'), f.name, '--full', '--state'], b'')
            got = run([redan, 'run', str(d / 'rules.rdn'), f.name, '--full', '--state'], b'')
        seen.update('error' if s == b'{"error"}' else 'decision' for s in want[1])
        same = want[:2] == got[:2]
        passed += same
        failed += not same
        if not same:
            print(f'seed {seed}: {d.name}: exit {want[0]} and {got[0]} {got[2][:300]} {want[2][-300:]}')
            for i, (w, g) in enumerate(zip(want[1], got[1])):
                if w != g:
                    print(f'  output line {i + 1}\n    model {w[:300]!r}\n    tool  {g[:300]!r}')
                    keep = pathlib.Path(tempfile.gettempdir()) / f'redan-lines-{seed}.jsonl'
                    keep.write_bytes(data)
                    print(f'    kept {keep}')
                    break
    print(f'{seen["decision"]} decisions and {seen["error"]} refusals compared')
    if not seen['decision'] or not seen['error']:
        failed += 1
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
