# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the files of the project, and the exit of a check."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ('base', 'ir', 'dsl', 'state', 'jit', 'gpu', 'serve', 'market', 'pmu', 'telemetry', 'sandbox', 'plugins', 'host', 'tools',
           'scale', 'python', 'examples', 'tests', 'bench', 'include')


def files(root, *suffixes):
    """Source files below the folders of ARCHITECTURE.md, sorted; build folders and dot folders are not looked at."""
    for top in MODULES:
        for p in sorted((root / top).rglob('*')):
            if p.suffix in suffixes and p.is_file() and '__pycache__' not in p.parts:
                yield p


def rel(root, p):
    return p.relative_to(root).as_posix()


def without_comments(text):
    """C text with comments blanked and strings kept; line numbers stay."""
    def blank(m):
        s = m.group(0)
        return s if s[0] in '"\'' else re.sub(r'[^\n]', ' ', s)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def main(check):
    """Runs check(root, *args) -> list of problems over this project, or over the folder given first."""
    args = sys.argv[1:]
    root = pathlib.Path(args.pop(0)) if args else ROOT
    problems = check(root, *args)
    for p in problems:
        print(p)
    print(f'{check.__module__ if check.__module__ != "__main__" else pathlib.Path(sys.argv[0]).stem}: {len(problems)} problems')
    sys.exit(bool(problems))
