#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tool against what the language ships with, read in place.

  product.py REDAN conform BACKEND              every group of the conformance suite
  product.py REDAN diff COUNT BACKEND [...]     COUNT random rule sets, from a first seed made of today's date
  product.py REDAN lanes COUNT                  several lanes decide like one

The suite is found through REDAN_SHARED, else ../shared beside the project; without it, and for a backend this CPU cannot
run, the test is skipped. Each script has its own controls (`--self-test`: a tool that does nothing passes nothing)."""
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile


def skip(why):
    print(why)
    sys.exit(77)


def find_shared():
    root = pathlib.Path(os.environ.get('REDAN_SHARED') or pathlib.Path(__file__).resolve().parents[2] / '../shared')
    if not (root / 'conformance/run_product.py').exists():
        skip('no conformance suite: set REDAN_SHARED')
    return root.resolve()


def usable(redan, backend):
    """None, or why the tool cannot run rules with it: a run over no event says so, `eval` would not ask it."""
    with tempfile.TemporaryDirectory(prefix='redan-usable-') as top:
        rules = pathlib.Path(top) / 'r.rdn'
        rules.write_text('ruleset r version 1\n  undefined skip\nevent E { a: int }\nrule x on E { when a > 1 reject X }\n')
        r = subprocess.run([redan, 'run', str(rules), os.devnull, '--backend', backend], capture_output=True, text=True)
    return None if r.returncode == 0 else (r.stderr or r.stdout).strip()


def main():
    redan, what, *rest = sys.argv[1:]
    redan = str(pathlib.Path(redan).resolve())
    shared = find_shared()
    count = rest.pop(0) if what in ('diff', 'lanes') else None
    backends = []
    for b in rest:
        why = usable(redan, b)
        if why:
            print(f'{b}: {why}')
        else:
            backends.append(b)
    if rest and not backends:
        skip(f'no backend of {" ".join(rest)} in this build')
    first = int(datetime.date.today().strftime('%Y%m%d')) * 1000
    if what == 'conform':
        cmd = [shared / 'conformance/run_product.py', '--redan', redan, '--backend', backends[0]]
    elif what == 'diff':
        print(f'first seed {first}, backends {" ".join(backends)}')
        cmd = [shared / 'gen/diff_product.py', '--redan', redan, *(q for b in backends for q in ('--backend', b)), '--seeds', str(first), count]
    else:
        return lanes(redan, shared, int(count), first)
    return subprocess.run([sys.executable, *map(str, cmd)]).returncode


def lanes(redan, shared, count, first):
    """Runs of partitioned rule sets on 1, 2 and 5 lanes must print the same lines."""
    passed = failed = seed = 0
    while passed + failed < count and seed < 40 * count:
        with tempfile.TemporaryDirectory(prefix='redan-lanes-') as top:
            d = pathlib.Path(top) / 's'
            subprocess.run([sys.executable, str(shared / 'gen/genrules.py'), '--seed', str(first + seed), '--out', str(d)], check=True, stdout=subprocess.DEVNULL)
            seed += 1
            text = (d / 'rules.rdn').read_text()
            if 'partition by' not in text or ' local' in text:
                continue
            out = [subprocess.run([redan, 'run', str(d / 'rules.rdn'), str(d / 'events.jsonl'), '--full', '--lanes', n], capture_output=True).stdout
                   for n in ('1', '2', '5')]
            same = bool(out[0]) and out[0] == out[1] == out[2]
            # A window at its key capacity may differ: capacity is per lane.
            if not same and ('evict' in text or 'keys ' in text):
                continue
            passed += same
            failed += not same
            if not same:
                print(f'seed {first + seed - 1}: lanes differ')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
