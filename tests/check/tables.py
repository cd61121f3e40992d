#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The .def tables: well formed, documented, no row twice, numbers in order, codes unique and never taken back.

`codes.lock` holds every number and code that was given out. A row that is there may not vanish or change its number.
`tables.py --freeze` appends what is new: part of every release."""
import pathlib
import re
import sys
import tree

LOCK = 'tests/check/codes.lock'
# Macros whose rows are alternatives of one name.
MANY = {'ALLOW'}
NUMBERS = {'number', 'bit', 'n'}           # columns that are numbers on a wire or in a file: ascending, each once
CODE_TABLES = ('dsl/errors.def', 'host/codes.def')


def code(s, i=0):
    """(index, character, bracket depth after it) of what stands outside of quotes, from i."""
    depth, quote = 0, ''
    while i < len(s):
        c = s[i]
        if quote:
            i += c == '\\'
            quote = '' if c == quote else quote
        elif c in '"\'':
            quote = c
        else:
            depth += (c == '(') - (c == ')')
            yield i, c, depth
        i += 1
    if quote:
        yield i, '', -1                      # it does not close


def split_args(s):
    """Arguments at depth 0, stripped; None when quotes or brackets do not close."""
    cuts, depth = [], 0
    for i, c, depth in code(s):
        if c == ',' and depth == 0:
            cuts.append(i)
    if depth:
        return None
    return [s[a:b].strip() for a, b in zip([0] + [i + 1 for i in cuts], cuts + [len(s)])]


def closing(s, i):
    """Index of the bracket that closes the one at i, or -1."""
    return next((k for k, c, depth in code(s, i) if c == ')' and depth == 0), -1)


def rows(text):
    """(macro, args, line) of each row; ('', text, line) for what is no row. Comments and directives are skipped."""
    s = re.sub(r'^[ \t]*#.*$', '', tree.without_comments(text), flags=re.M)
    i = 0
    while True:
        m = re.compile(r'\s*').match(s, i)
        i = m.end()
        if i >= len(s):
            return
        line = s.count('\n', 0, i) + 1
        m = re.compile(r'([A-Z][A-Z0-9_]*)\s*\(').match(s, i)
        end = closing(s, m.end() - 1) if m else -1
        if end < 0:
            yield '', s[i:].split('\n')[0], line
            return
        yield m[1], split_args(s[m.end():end]), line
        i = end + 1


def signatures(text):
    """Column names by macro, from the comments: NAME(a, b, c)."""
    out = {}
    for c in re.findall(r'/\*.*?\*/', text, re.S):
        for m in re.finditer(r'\b([A-Z][A-Z0-9_]*)\(([\w, .]*)\)', c):
            out.setdefault(m[1], [a.strip() for a in m[2].split(',')])
    return out


def check_table(where, text):
    out, seen, last = [], set(), {}
    sig = signatures(text)
    for macro, args, line in rows(text):
        at = f'{where}:{line}'
        if not macro or args is None:
            out.append(f'{at}: no row: {args}')
            continue
        if macro not in sig:
            out.append(f'{at}: the comment above does not say what the columns of {macro} are')
            continue
        if len(args) != len(sig[macro]):
            out.append(f'{at}: {macro}({args[0]}, …) has {len(args)} columns, {len(sig[macro])} are named')
            continue
        key = (macro, tuple(args) if macro in MANY else args[0] if sig[macro][0] not in NUMBERS else args[1])
        if key in seen:
            out.append(f'{at}: {macro}({args[0]}, …) stands twice')
        seen.add(key)
        for col, v in zip(sig[macro], args):
            if col in NUMBERS:
                if not re.fullmatch(r'\d+', v) or int(v) <= last.get((macro, col), -1):
                    out.append(f'{at}: {macro}({args[0]}, …): {col} {v} does not follow {last.get((macro, col), "nothing")}')
                else:
                    last[macro, col] = int(v)
    return out


def given_out(root):
    """Lines of the lock: public error codes, causes, codes of the language and of everything else."""
    out = []
    public = root / 'include/redan/redan.h'
    if public.exists():
        out += [f'redan {n} {v}' for n, v in re.findall(r'\bX\((\w+), (-\d+), "', public.read_text())]
    causes = root / 'ir/causes.def'
    if causes.exists():
        out += [f'cause {a[0]} {a[1]}' for m, a, _ in rows(causes.read_text()) if m == 'CAUSE' and a]
    for t in CODE_TABLES:
        if (root / t).exists():
            out += ['code ' + a[0].strip('"') for m, a, _ in rows((root / t).read_text()) if m == 'CODE' and a]
    return out


def used_codes(root, known):
    """Codes in string literals of C code that no table has."""
    for p in tree.files(root, '.c'):
        where = tree.rel(root, p)
        if where.startswith('tests/'):
            continue
        text = tree.without_comments(p.read_text())
        for m in re.finditer(r'"([EWR]\d{4})"', text):
            if m[1] not in known:
                yield f'{where}:{text.count(chr(10), 0, m.start()) + 1}: {m[1]} has no row in {" or ".join(CODE_TABLES)}'


def check(root):
    out = []
    for p in tree.files(root, '.def'):
        out += check_table(tree.rel(root, p), p.read_text())
    now = given_out(root)
    codes = [x.split()[1] for x in now if x.startswith('code ')]
    out += [f'{c}: the code stands twice in {", ".join(CODE_TABLES)}' for c in sorted({c for c in codes if codes.count(c) > 1})]
    out += [f'{c}: not a code' for c in codes if not re.fullmatch(r'[EWR]\d{4}', c)]
    if codes:
        out += used_codes(root, set(codes))
    lock = root / LOCK
    if lock.exists():
        gone = [x for x in lock.read_text().splitlines() if x and not x.startswith('#') and x not in now]
        out += [f'{LOCK}: "{x}" was given out and is gone or has another number' for x in gone]
    return out


def freeze(root):
    p = root / LOCK
    old = p.read_text().splitlines() if p.exists() else ['# Every number and code given out (tables.py --freeze). Append only.']
    p.write_text('\n'.join(old + [x for x in given_out(root) if x not in old]) + '\n')


if __name__ == '__main__':
    if '--freeze' in sys.argv:
        freeze(tree.ROOT)
        print(f'{LOCK}: {len((pathlib.Path(tree.ROOT) / LOCK).read_text().splitlines()) - 1} entries')
    else:
        tree.main(check)
