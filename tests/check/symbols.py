#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libredan exports redan_* and nothing else, and every function of the public headers that it declares for the library.

Usage: symbols.py ROOT LIBRARY [HEADER…]; without a library the check is skipped."""
import re
import subprocess
import sys
import tree


def exported(library):
    out = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split('@')[0] for line in out.splitlines() if line.split()[-2] not in 'AN'}


def check(root, library, *headers):
    have = exported(library)
    out = [f'{library}: exports {s}' for s in sorted(have) if not s.startswith('redan_')]
    for h in headers:
        text = tree.without_comments((root / h).read_text())
        for m in re.finditer(r'\bREDAN_API\b[^;{]*?\b(redan_\w+)\s*\(', text):
            if m[1] not in have:
                out.append(f'{h}: {m[1]} is declared and not exported')
    return out


if __name__ == '__main__':
    if len(sys.argv) < 3:
        print('skipped: no library was built')
        sys.exit(77)
    tree.main(check)
