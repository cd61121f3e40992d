#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `fmt` promises, on the conformance files and on the same files with other white space:
the tree stays, comments stay in order, formatting again changes nothing, and files that differ only in spaces become equal.

  test_fmt.py DRIVER [SEED [MUTANTS]]"""
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_parse_model as base             # noqa: E402  exits 77 without the model
from rdn_syntax import lex                  # noqa: E402


def fmt(driver, srcs):
    r = subprocess.run([driver], input=b''.join(b'%d\n%s' % (len(s), s) for s in srcs), stdout=subprocess.PIPE, check=True)
    o, out = r.stdout, []
    while o:
        head, _, o = o.partition(b'\n')
        if head[:1] == b'-':
            out.append(head.decode())
        else:
            out.append(o[:int(head)])
            o = o[int(head):]
    return out


def tree(raw):
    return re.sub(r'@\d+-\d+', '', base.model(raw))


def comments(raw):
    """Comments in order; tokens blanked out first, so that a # in a string is none."""
    s = bytearray(raw)
    for t in lex(raw.decode('latin-1')):
        s[t.a:t.b] = b' ' * (t.b - t.a)
    return re.findall(rb'#[^\n]*?(?=[ \t\r]*(?:\n|$))', bytes(s))


def respace(rnd, raw):
    """Other spaces between the tokens of each line, line ends as they are."""
    src, out, at = raw.decode('latin-1'), '', 0
    for t in lex(src):
        g = src[at:t.a]
        if '\n' not in g and '#' not in g and at and t.k != 'eof':
            g = g and rnd.choice((' ', '  ', '\t', '   ', g))
        elif '#' not in g:
            g = g.replace('\n', rnd.choice(('\n', ' \n', '\n  ', '\r\n')))
        out += g + src[t.a:t.b]
        at = t.b
    return out.encode('latin-1')


def main():
    driver = sys.argv[1]
    seed, mutants = (int(a) for a in (sys.argv[2:4] + ['1', '400'][len(sys.argv) - 2:]))
    rnd = random.Random(seed)
    srcs = list(base.sources(seed, mutants))
    fm = fmt(driver, srcs)
    bad, good = [], []
    for s, o in zip(srcs, fm):
        if isinstance(o, str):
            want = base.model(s)[:5]
            if o[2:] != want:
                bad.append(('code', s, o, want))
        else:
            good.append((s, o))
            if tree(s) != tree(o):
                bad.append(('tree', s, o, ''))
            if comments(s) != comments(o):
                bad.append(('comments', s, o, ''))
            if re.search(rb'[ \t\r]\n|\n\n\n|^\n', o) and b'\r' not in s:
                bad.append(('space', s, o, ''))
    spaced = [respace(rnd, s) for s, _ in good]
    again, other = fmt(driver, [o for _, o in good]), fmt(driver, spaced)
    for (s, o), a, p, q in zip(good, again, other, spaced):
        if a != o:
            bad.append(('twice', s, o, a))
        if p != o:
            bad.append(('spaces', q, o, p))
    for what, s, o, x in bad[:4]:
        print(f'{what}: {s[:400]!r}\n  gives {o[:400]!r}\n  and   {x[:400]!r}')
    print(f'{len(srcs)} sources, {len(good)} formatted, {len(bad)} findings')
    sys.exit(1 if bad or len(fm) != len(srcs) or not good else 0)


if __name__ == '__main__':
    main()
