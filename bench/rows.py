# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmarks: their names, their bars, and their lines in the table.

A row is one of two kinds; the programs print them without bars, judge() adds `bar` and `pass`.

  against a peer  {bench, set, rules?, ns_min, peer, peer_ns, ratio, ok?}     key bench/set/rules/peer, bar: the largest ratio
                  both in ns, an event unless the bench says otherwise; `unit` us or ms: how the table shows them
  a figure        {bench, figure, value, unit}                               key figure, bar: the largest value

`ok` false (answers differ) fails the row whatever its time. `peer_batch`: the peer had all its events at once, Redan one by one; `note` is
for the eyes."""
import pathlib

GATES = pathlib.Path(__file__).resolve().parent / 'gates.yaml'


def gates(path=GATES):
    """{'rules/random/100/gcc': 0.65, …}: lines `key: number` and comments. Anything else is a ValueError with the line."""
    out = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.split('#')[0].strip()
        if not text:
            continue
        key, _, value = text.rpartition(':')
        try:
            out[key.strip()] = float(value)
        except ValueError:
            key = ''
        if not key:
            raise ValueError(f'{path.name}:{number}: expected KEY: NUMBER, got {text!r}')
    return out


def key_of(row):
    if 'figure' in row:
        return row['figure']
    return '/'.join(str(row[k]) for k in ('bench', 'set', 'rules', 'peer') if k in row)


def judge(row, bars):
    """Adds key, bar and pass. A row without a bar passes unless its answers differ."""
    row['key'] = key_of(row)
    bar = bars.get(row['key'])
    good = row.get('ok', True)
    if bar is not None:
        row['bar'] = bar
        good = good and row['ratio' if 'peer' in row else 'value'] <= bar
    row['pass'] = good
    return row


def number(x):
    return f'{x:,.0f}' if abs(x) >= 1000 else f'{x:,.1f}' if abs(x) >= 10 else f'{x:,.2f}'


COLUMNS = f'{"":<38}{"redan":>11} {"":<9}{"peer":>14} {"":<29}{"ratio":>9}{"bar":>8}'


NS = {'ns/path': 1, 'ns': 1, 'us': 1e3, 'ms': 1e6}
SHORT = {'common-expression-language': 'cel-rust'}


def line(row):
    """One line of the table: name, own, unit, peer, its name and version, ratio, bar, verdict."""
    peer = 'peer' in row
    name = '/'.join(row['key'].split('/')[:-1]) if peer else row['key']
    who = f'{row["peer"]} {row.get("peer_version", "")}'.strip() if peer else row.get('note', '')
    who = SHORT.get(row.get('peer'), row.get('peer', '')) + who[len(row.get('peer', '')):] + (', batch' if row.get('peer_batch') else '')
    unit = row.get('unit', 'ns')
    own, theirs = (row['ns_min'] / NS.get(unit, 1), number(row['peer_ns'] / NS.get(unit, 1))) if peer else (row['value'], '')
    text = f'{name:<38}{number(own):>11} {unit:<9}{theirs:>14} {who[:28]:<29}'
    text += f'{ratio(row["ratio"]) if peer else "":>9}{number(row["bar"]) if "bar" in row else "":>8}'
    verdict = 'ok' if row['pass'] else 'FAIL' if row.get('ok', True) else 'FAIL answers differ'
    return f'{text}  {verdict if "bar" in row or not row["pass"] else ""}'.rstrip()


def ratio(x):
    """Of small ones the digits that count."""
    return f'{x:.2f}' if x >= 0.1 else f'{x:.2g}' if x >= 0.0001 else f'{x:.0e}'
