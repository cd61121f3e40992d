#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files below 900 lines, functions below 60, file names unique, no block of six equal lines twice.

Tables may repeat themselves: .def files, rows of initialisers, case lists and include lists do not make a block."""
import collections
import re
import tree

FILE_MAX, FUNCTION_MAX, BLOCK = 900, 60, 6
# A long function is fine when it is a list. "file:function": why.
LONG = {
    'ir/op.c:apply': 'one case an operation',
    'ir/verify_node.c:operation_ok': 'one case an operation',
    'jit/interp.c:run_code': 'the interpreter loop',
}
# Names that have to be the same everywhere.
SAME_NAME = {'meson.build', '__init__.py', '__main__.py', 'README.md', 'plugin.yaml', 'redan.yaml'}
START = re.compile(r'^[A-Za-z_][^;={]*?\b([A-Za-z_]\w*)\s*\([^;{]*\)\s*\{$', re.M)


def functions(text):
    """(name, first line, lines) of each C function; a function ends with a brace in the first column."""
    text = tree.without_comments(text)
    for m in START.finditer(text):
        end = re.compile(r'^\}', re.M).search(text, m.end())
        first = text.count('\n', 0, m.start()) + 1
        if end:
            yield m[1], first, text.count('\n', 0, end.start()) + 2 - first


LIST = re.compile(r'''\{.*\},?(\s*/\*.*)?$|\[?[\w.]+\]?\s*=[^;]*,$|case .*:$|[A-Z_]+\(.*\)$|cmocka_unit_test|["']|//|/?\*|#''')


def telling(line):
    """Whether a line says something: no bracket, no keyword alone, no row of a list, no comment, no include."""
    return not re.fullmatch(r'[\s{}()\[\];,]*|else|default:|break;|return;|\} else \{|import .*|from .* import .*', line) and not LIST.match(line)


def blocks(root):
    """First place of each block of six lines, and every other place that has it and does not continue one. Blank lines do not
    count; four of the six lines must say something."""
    seen, out = {}, []
    for p in tree.files(root, '.c', '.h', '.py', '.sh'):
        lines = [(n, s.rstrip('\\').strip()) for n, s in enumerate(p.read_text().splitlines(), 1)]
        lines = [x for x in lines if x[1]]
        tells = [telling(x[1]) for x in lines]
        skip = 0
        for i in range(len(lines) - BLOCK + 1):
            if sum(tells[i:i + BLOCK]) < 4:
                continue
            key = tuple(x[1] for x in lines[i:i + BLOCK])
            here = f'{tree.rel(root, p)}:{lines[i][0]}'
            first = seen.setdefault(key, here)
            if first != here and i >= skip:
                out.append(f'{here}: six lines as at {first}: {key[0]}')
                skip = i + BLOCK
    return out


def check(root):
    out, names = [], collections.defaultdict(list)
    for p in tree.files(root, '.c', '.h', '.py', '.def', '.rdn', '.sh', '.md', '.cc', '.cu'):
        where = tree.rel(root, p)
        # A corpus, and tests/rules/builtins/NAME.rdn beside the topic of that name: there the folder says what it is.
        if 'corpus' not in p.parts and where.split('/')[:2] != ['tests', 'rules']:
            names[p.name].append(where)
        if p.suffix not in ('.c', '.h', '.py'):
            continue
        text = p.read_text()
        n = text.count('\n')
        if n > FILE_MAX:
            out.append(f'{where}: {n} lines, at most {FILE_MAX}')
        for name, first, length in functions(text) if p.suffix != '.py' else ():
            if length > FUNCTION_MAX and f'{where}:{name}' not in LONG:
                out.append(f'{where}:{first}: {name}() has {length} lines, at most {FUNCTION_MAX}')
    for name, places in names.items():
        if len(places) > 1 and name not in SAME_NAME:
            out.append(f'{name}: the same name twice: {", ".join(places)}')
    return out + blocks(root)


if __name__ == '__main__':
    tree.main(check)
