#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Includes obey the layers of ARCHITECTURE.md: a module sees itself, what is listed for it, and the public headers."""
import re
import tree

MAY = {
    'base': (), 'ir': ('base',), 'dsl': ('base', 'ir'), 'jit': ('base', 'ir'), 'gpu': ('base', 'ir'), 'serve': ('base', 'gpu'),
    'state': ('base', 'ir'), 'market': ('base',), 'pmu': ('base',), 'telemetry': ('base', 'pmu'), 'sandbox': ('base',),
    'plugins': ('base', 'sandbox'), 'include': (),
    'host': ('base', 'ir', 'dsl', 'jit', 'gpu', 'serve', 'state', 'market', 'pmu', 'telemetry', 'sandbox', 'plugins'),
    'examples': (),
}
MAY['python'] = (*MAY['host'], 'host')                   # the wheel's extension is a tool of this tree
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def problem(root, where, kind, name):
    """Why this include is wrong, or None."""
    top = where.split('/')[0]
    # The prelude is text for device compilers too, which get its files side by side.
    if where.startswith('ir/prelude/') and (root / 'ir/prelude' / name).exists():
        return None
    if name.endswith('.c'):
        return 'includes a .c file'
    if kind == '<':
        return None if not name.startswith('redan/') or (root / 'include' / name).exists() else 'no such public header'
    module = name.split('/')[0]
    if '/' not in name or not (root / name).exists():
        return 'is not a path from the root'
    if module == 'include':
        return 'public headers are included as <redan/…>'
    if top in MAY and module != top and module not in MAY[top]:
        return f'{top} must not see {module}'
    return None


def check(root):
    out = []
    for p in tree.files(root, '.c', '.h', '.def'):
        where = tree.rel(root, p)
        text = tree.without_comments(p.read_text())
        for m in INCLUDE.finditer(text):
            why = problem(root, where, m[1], m[2])
            if why:
                out.append(f'{where}:{text.count(chr(10), 0, m.start()) + 1}: {m[2]}: {why}')
    return out


if __name__ == '__main__':
    tree.main(check)
