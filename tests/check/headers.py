#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone and twice as C11 and as C++17, every other header alone as our C; gcc and clang."""
import shutil
import subprocess
import tree

PUBLIC = (('gcc', '-std=c11', 'c'), ('clang', '-std=c11', 'c'), ('g++', '-std=c++17', 'c++'), ('clang++', '-std=c++17', 'c++'))
OURS = (('gcc', '-std=gnu11', 'c'),)
# Parts of another header, never included alone.
PARTS = {'ir/prelude/rdn_coef.h'}
FLAGS = ('-Wall', '-Wextra', '-Werror', '-fsyntax-only')


def compile_one(root, include, compiler, std, lang, more):
    r = subprocess.run([compiler, std, *FLAGS, *more, '-I', root, '-I', root / 'include', '-x', lang, '-'],
                       cwd=root, input=f'{include}\n{include}\nint redan_header_test;\n', capture_output=True, text=True)
    return r.stderr.splitlines()[:3] if r.returncode else []


def check(root):
    out = []
    roles = subprocess.run(['pkg-config', '--cflags', 'python3', 'luajit'], capture_output=True, text=True).stdout.split()
    for p in tree.files(root, '.h'):
        where = tree.rel(root, p)
        if where.startswith(('tests/', 'examples/', 'bench/')) or where in PARTS:
            continue
        public = where.startswith('include/')
        include = f'#include <{where[len("include/"):]}>' if public else f'#include "{where}"'
        for compiler, std, lang in PUBLIC if public else OURS:
            if not shutil.which(compiler):
                out.append(f'{compiler} is not installed')
                continue
            pedantic = ('-pedantic-errors',) if public else ('-D_GNU_SOURCE', '-Wno-unused-function', *roles)
            out += [f'{where} ({compiler} {std}): {e}' for e in compile_one(root, include, compiler, std, lang, pedantic)]
    return out


if __name__ == '__main__':
    tree.main(check)
