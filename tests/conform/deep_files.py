# SPDX-License-Identifier: Apache-2.0
"""What deep.py does with a drawn file: drop what the model refuses, wound it, make another version of it for a hot swap."""
import re

from gen_deep import Rules


def prune(head, ds, base='.'):
    """(text, Rules): declarations the model refuses are dropped."""
    for _ in range(80):
        text = head + '\n' + '\n'.join(ds) + '\n'
        R = Rules(text.encode(), 'rules.rdn', base)
        if not R.diags:
            return text, R, ds
        offs, o = [], len(head.encode()) + 1
        for d in ds:
            offs.append(o)
            o += len(d.encode()) + 1
        bad = set()
        for q in R.diags:
            hit = [i for i, s in enumerate(offs) if s <= q.pos[0]]
            if hit:
                bad.add(hit[-1])
        if not bad:
            return None
        ds = [d for i, d in enumerate(ds) if i not in bad]
    return None


TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[0-9A-Za-z_.:%]+|[^\sA-Za-z0-9_"]|\s+')


def wound(g, text):
    """A good file with one or two tokens changed: mostly still a file that parses."""
    r, ts = g.r, TOKEN.findall(text)
    words = [t for t in ts if not t.isspace()]
    for _ in range(r.choice([1, 1, 2])):
        i, k = r.randrange(len(ts)), r.random()
        if ts[i].isspace():
            i = min(i + 1, len(ts) - 1)
        if k < .5:
            ts[i] = r.choice(words)
        elif k < .65:
            ts[i] = ''
        elif k < .75:
            ts[i] += ' ' + ts[i]
        elif k < .85:
            ts[i] = r.choice(['none', 'score', 'now', 'inf', '-', '1.5', '""', '9223372036854775808', '-1', '0', 'event', 'in', '?', '1e400', '0x', '1_', '25:00', '2026-02-30', 'in [1]', '\u00e9', '"\\u{0}"', '"{"', '{', '}'])
        else:
            j = r.randrange(len(ts))
            ts[i], ts[j] = ts[j], ts[i]
    return ''.join(ts)


def mutate(g, ds):
    """Another version of the file: what a hot swap must sort out."""
    r, out = g.r, list(ds)
    for _ in range(r.randint(1, 6)):
        i = r.randrange(len(out))
        d = out[i]
        k = d.split()[0]
        if k == 'window':
            w = d.split()[1]
            z = r.random()
            if z < .25:
                out = [re.sub(rf'\b{w}\b', w + 'n', q) for q in out]
            elif z < .45:
                out[i] = re.sub(r' keys \d+( evict \w+)?', '', d) + (f' keys {r.choice([1, 2, 3, 50])}{r.choice(["", " evict idle", " evict oldest"])}' if ' by ' in d else '')
            elif z < .6:
                out.insert(r.randrange(len(out)), re.sub(rf'\b{w}\b', w + 'd', d))
            elif z < .75:
                out[i] = re.sub(r' warmup \d+', '', d) + f' warmup {r.choice([1, 2, 3])}'
            elif z < .85:
                del out[i]
            else:
                out[i] = re.sub(r'panes \d+', f'panes {r.choice([2, 7])}', d)
        elif k == 'param':
            z = r.random()
            out[i] = re.sub(r' in .*', '', d) if z < .4 else d if z < .5 else re.sub(r': \w+(\(\d+\))? = .*', f': int = {r.randint(1, 9)} in 1..{r.randint(9, 90)}', d)
        elif k == 'table' and 'from host' in d:
            out[i] = re.sub(r' keys \d+', '', d) + r.choice(['', ' keys 1', ' keys 3', ' keys 9']) if r.random() < .7 else d.replace('{ ', '{ cx: int ', 1)
        elif k == 'event' and r.random() < .5:
            out[i] = d[:-1] + 'extra: int? }' if r.random() < .5 else d
        elif k == 'rule' and r.random() < .6:
            del out[i]
        elif k == 'fn':
            out[i] = d.replace('+', '-', 1)
        if r.random() < .2:
            j = r.randrange(len(out))
            out.insert(r.randrange(len(out)), out.pop(j))
    return sorted(out, key=lambda d: not d.startswith('param'))      # the model wants the params of an ewma before it
