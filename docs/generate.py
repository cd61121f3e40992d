#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills the generated parts of docs/*.md from the tables.

  generate.py            rewrites what stands between <!-- generated: NAME --> and <!-- end -->
  generate.py --check    only says what is not current; exit 1
  generate.py control    a changed table row and a hand edit are seen

The prose around the parts is written by hand."""
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests/check'))
import tables  # noqa: E402  (the one reader of .def files)

PART = re.compile(r'(<!-- generated: (\w+) -->\n).*?(<!-- end -->)', re.S)


def rows(path, macro):
    """Columns of each row, strings without their quotes."""
    out = []
    for m, args, _ in tables.rows((ROOT / path).read_text()):
        if m == macro:
            out.append([json.loads(a) if a.startswith('"') else a for a in args])
    return out


def cell(text):
    return text.replace('|', '\\|').replace('<', '&lt;').replace('{', '&#123;')


def table(head, body):
    return ''.join('| ' + ' | '.join(r) + ' |\n' for r in [head, ['---'] * len(head), *body])


def said(code):
    """Message and hint of the file that shows the code (tests/golden)."""
    text = (ROOT / f'tests/golden/{code}.txt').read_text(errors='replace')
    m = re.search(rf'(?:error|warning) {code}: (.*)\n', text)
    rest = re.split(r'^\w+\.rdn:', text[m.end():], maxsplit=1, flags=re.M)[0]
    hint = re.search(r'^ +  = (.*)$', rest, re.M)
    return m[1], hint[1] if hint else ''


def language_codes():
    groups = {'E01': 'Text', 'E02': 'Syntax', 'E03': 'Names', 'E04': 'Types', 'E05': 'Windows', 'E06': 'Rules and decision',
              'E07': 'Cost and limits', 'E08': 'Tests', 'W09': 'Warnings'}
    out = ''
    all_codes = rows('dsl/errors.def', 'CODE')
    for g, title in groups.items():
        body = []
        for c, meaning in all_codes:
            if c.startswith(g):
                message, hint = said(c)
                body.append([f'[{c}](../tests/golden/{c}.txt)', cell(meaning), cell(message), cell(hint)])
        out += f'\n### {title}\n\n' + table(['code', 'meaning', 'for example', 'hint'], body)
    return out + '\n'


def host_codes():
    return '\n' + table(['code', 'meaning'], [[c, cell(m)] for c, m in rows('host/codes.def', 'CODE')]) + '\n'


def note(flags):
    words = {'HOST': 'not in kernels', 'LIBM': 'not in kernels; ≈', 'TIER_T': 'interpreter'}
    return ', '.join(words[f] for f in flags.split(' | ') if f != '0')


def builtins():
    body = [[f'[{r[0]}](../tests/rules/builtins/{r[0]}.rdn)', cell(r[7]), cell(r[8]), note(r[6])] for r in rows('dsl/builtins.def', 'BUILTIN')]
    return '\n' + table(['function', 'type', 'meaning', 'note'], body) + '\n'


def aggregates():
    return '\n' + table(['aggregate', 'meaning', 'warm-up'], [[r[1], cell(r[9]), r[7]] for r in rows('dsl/aggs.def', 'AGG')]) + '\n'


def causes():
    return '\n' + table(['number', 'cause'], [[r[1], r[2]] for r in rows('ir/causes.def', 'CAUSE')]) + '\n'


def outcomes():
    return '\n' + table(['outcome', 'meaning'], [[r[1], cell(r[3])] for r in rows('plugins/outcomes.def', 'OUTCOME')]) + '\n'


def layers():
    return '\n' + table(['layer', 'effect'], [[r[2], cell(r[3])] for r in rows('sandbox/mechanisms.def', 'MECH')]) + '\n'


def verbs():
    return '\n' + table(['verb', 'what it does', 'arguments'], [[r[0], cell(r[3]), f'`{r[2]}`'.replace('|', '\\|') if r[2] else ''] for r in rows('tools/verbs.def', 'VERB')]) + '\n'


def manifest():
    said = {'python native lua cfn': 'python', 'per-lane one': 'per-lane', 'none carry': 'none', 'worker inlane': 'worker'}
    return '\n' + table(['key', 'default', 'meaning'], [[r[0], said.get(r[5], r[5]), cell(r[6])] for r in rows('plugins/manifest.def', 'KEY')]) + '\n'


def jit_options():
    numbers = [[r[0], f'{r[1]} … {r[2]}', r[3], cell(r[4])] for r in rows('host/jit_options.def', 'NUMBER')]
    flags = [[r[0], f'flag `{r[1]}`', 'off', cell(r[2])] for r in rows('host/jit_options.def', 'FLAG')]
    batches = [[f'batch={r[0]}', f'`{r[1]}`', 'yes' if r[0] == 'auto' else '', cell(r[2])] for r in rows('host/jit_options.def', 'BATCH')]
    return '\n' + table(['word', 'values', 'default', 'meaning'], numbers + flags + batches) + '\n'


PARTS = {f.__name__: f for f in (language_codes, host_codes, builtins, aggregates, causes, outcomes, layers, verbs, manifest, jit_options)}


def filled(text):
    return PART.sub(lambda m: m[1] + PARTS[m[2]]() + m[3], text)


def stale(folder):
    """Pages that are not current, and parts that no page has."""
    used = set()
    for f in sorted(folder.glob('*.md')):
        text = f.read_text()
        used |= {m[2] for m in PART.finditer(text)}
        if filled(text) != text:
            yield f'{f.name} is not current: run docs/generate.py'
    for name in sorted(set(PARTS) - used):
        yield f'no page has the part {name}'


def control():
    """Both kinds of staleness, in a copy."""
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        for f in (ROOT / 'docs').glob('*.md'):
            (folder / f.name).write_text(f.read_text())
        cli = folder / 'cli.md'
        cli.write_text(cli.read_text().replace('judge a stream of events', 'judges', 1))
        (folder / 'codes.md').unlink()
        found = list(stale(folder))
    want = ['cli.md is not current: run docs/generate.py', 'no page has the part host_codes', 'no page has the part language_codes']
    return [] if found == want else [f'planted {want}, found {found}']


def main():
    if '--check' in sys.argv or 'control' in sys.argv:
        bad = control() if 'control' in sys.argv else list(stale(ROOT / 'docs'))
        print('\n'.join(bad))
        return bool(bad)
    for f in sorted((ROOT / 'docs').glob('*.md')):
        text = f.read_text()
        if filled(text) != text:
            f.write_text(filled(text))
            print(f'docs/{f.name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
