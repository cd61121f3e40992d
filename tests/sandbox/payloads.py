#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every hostile payload ends in its class and obtains nothing, on every tier and deny mode.

  payloads.py TRY BUILD TIER…        TIER of TIERS below; the Python files with the four deny modes, and with as libraries stdlib, NumPy 1.24,
                                     NumPy 2; the Lua files with the four deny modes
  payloads.py TRY BUILD refusals     no filter: R4401; a tier below what is required: R4402
  payloads.py TRY BUILD ablation     each layer off in turn: what gets out, as a table

  --deny MODE,… --set numpy1,lua,stdlib,numpy2 --only NAME,…     a part of it; --every: all modes with all libraries

TRY is redan-sandbox-try; BUILD/plugins holds redan-worker and its runtimes; payloads/README.md says what the classes mean. The reported
tier and layers must be the expected ones. Last line: N passed, N failed. Exit 77: nothing could be run, the line before says why."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy2

HERE = pathlib.Path(__file__).resolve().parent
NOBODY = 65534
LAYERS = {'rlimits', 'landlock', 'uid', 'caps', 'nnp', 'mdwe', 'seccomp', 'listener', 'ns', 'userns', 'pidns', 'closed', 'undumpable'}
NAMESPACES = {'ns', 'userns', 'pidns'}
# name: who starts it, options, tier, layers that must be missing; all others must be there.
TIERS = {
    'full': ('root', [], 'full', {'userns'}),
    'userns': ('user', [], 'userns', {'uid'}),
    'container-root': ('root', ['--container=root'], 'container', NAMESPACES),
    'container-user': ('root', ['--container=user'], 'container', NAMESPACES | {'uid'}),
    'container-plain': ('user', ['--container=root'], 'container', NAMESPACES | {'uid'}),
    'minimal-notify': ('root', ['--container=user', '--lack', 'landlock'], 'minimal', NAMESPACES | {'uid', 'landlock'}),
    'minimal-trap': ('root', ['--container=user', '--lack', 'listener'], 'minimal', NAMESPACES | {'uid', 'listener'}),
}
MODES = ('notify', 'trap', 'errno', 'kill')
SETS = ('numpy1', 'lua', 'stdlib', 'numpy2')
EVERY_MODE = SETS[:2]                                    # of Python one set with all modes, and all that is Lua
# What each class of MANIFEST.tsv looks like from outside.
OUTCOMES = {'memory': {'memory'}, 'timeout': {'timeout'}, 'timeout-killed': {'killed'}, 'killed': {'died'}}
QUIET = {'undefined', 'exception'}
TRIES = 5                                                # 50 ms are wall time: late again and again is a finding


def in_class(expected, r, deny):
    """Whether the result fits one of the classes."""
    outcome, answer = r['outcome'], r['answer'] or ''
    if deny == 'kill' and outcome == 'died':             # killed at its first denied call, before it got to what it is about
        return True
    for c in expected.split('|'):
        if c in OUTCOMES and outcome in OUTCOMES[c]:
            return True
        if c == 'denied' and outcome in QUIET and (r['violations'] or deny in ('errno', 'kill')):
            return True
        if c == 'contained' and (outcome in QUIET or answer.startswith('LANG:')):
            return True
    return False


class Home:
    """Copies of the programs and payloads that any uid can read."""

    def __init__(self, folder, tool, build):
        self.path = pathlib.Path(folder)
        self.path.chmod(0o755)
        self.tool = self.path / 'redan-sandbox-try'
        shutil.copy(tool, self.tool)
        for f in (pathlib.Path(build) / 'plugins').glob('redan-worker*'):
            if f.is_file():
                shutil.copy(f, self.path / f.name)
        shutil.copytree(HERE / 'payloads', self.path / 'payloads')
        self.rows = [line.split('\t') for line in (HERE / 'payloads/MANIFEST.tsv').read_text().splitlines()[1:] if line]
        self.sites, self.missing = self.libraries(build)
        for top, folders, files in os.walk(self.path):
            for name in folders + files:
                p = pathlib.Path(top) / name
                p.chmod(0o755 if p.is_dir() or os.access(p, os.X_OK) else 0o644)

    def libraries(self, build):
        """set: (options of the tool, modules that are there), and set: why it cannot be had."""
        sites, missing = {'stdlib': (['--preload', 'threading'], set())}, {}
        if (self.path / 'redan-worker-lua.so').exists():
            sites['lua'] = ([], {'lua'})
        else:
            missing['lua'] = 'built without LuaJIT'
        if pathlib.Path('/usr/lib/python3/dist-packages/numpy').exists():
            sites['numpy1'] = (['--preload', 'ctypes,numpy'], {'ctypes', 'numpy'})
        else:
            missing['numpy1'] = 'no Debian package python3-numpy'
        folder, note = numpy2.site(build)
        if folder:
            for part in ('numpy', 'numpy.libs'):
                shutil.copytree(pathlib.Path(folder) / part, self.path / 'site' / part, ignore=shutil.ignore_patterns('tests', '__pycache__', 'f2py', '*.h'))
            sites['numpy2'] = (['--preload', 'ctypes,numpy', '--site', str(self.path / 'site')], {'ctypes', 'numpy'})
        else:
            missing['numpy2'] = note
        return sites, missing

    def file(self, name):
        found = self.path / 'payloads' / (name + '.lua')
        return str(found if found.exists() else found.with_suffix('.py'))

    def run(self, who, options, names=()):
        """(exit status, rows by payload, stderr) of one run of the tool over these payloads."""
        cmd = [str(self.tool), *options, *map(self.file, names)]
        ids = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []} if who == 'user' and os.getuid() == 0 else {}
        p = subprocess.run(cmd, capture_output=True, text=True, timeout=240, cwd='/', check=False, **ids,
                           env={'PATH': '/usr/bin:/bin', 'REDAN_WORKER': str(self.path / 'redan-worker')})
        results = [json.loads(line) for line in p.stdout.splitlines()] if '--json' in options else []
        return p.returncode, {pathlib.Path(r['file']).stem: r for r in results}, p.stderr.strip()


def wrong(row, r, tier, missing, deny):
    """None when the payload did what it must, else why not."""
    if not r:
        return 'no result'
    if (r['answer'] or '').startswith('GOT:'):
        return f'got out: {r["answer"]!r}'
    if not in_class(row[2], r, deny):
        return f"expected {row[2]}, got {r['outcome']} {r['answer']!r} {r['error']} {[v['call'] for v in r['violations']][:4]}"
    if tier and r['tier'] != tier:
        return f"tier {r['tier']}, expected {tier}"
    if r['layers'] and missing is not None:              # a plugin that does not load has no worker to report
        have = set(r['layers'])
        if row[3] == 'lua':                              # it makes code: W and X are kept apart by its filter alone
            missing = missing | {'mdwe'}
        if have != LAYERS - missing - ({'listener'} if deny != 'notify' else set()):
            return f'layers missing: {sorted(LAYERS - missing - have)}, unexpected: {sorted(have & missing)}'
    return None if r['ready'] or not r['layers'] else 'no worker is ready afterwards'


def suite(home, tier, deny, name, only):
    """(passed, failed, skipped) of all payloads on one tier, in one mode, with one set of libraries."""
    who, options, expected, missing = TIERS[tier]
    more, have = home.sites[name]
    rows = [r for r in home.rows if (r[3] == 'lua') == (name == 'lua') and (not only or r[0] in only)]
    can = [r for r in rows if r[3] == '-' or set(r[3].split(',')) <= have]
    options = ['sandbox', 'try', '--json', '--deny', deny, *options, *more]
    code, results, err = home.run(who, options, [r[0] for r in can])
    if code == 2:
        print(f'{tier} {deny} {name}: {err}')
    bad = []
    for row in can:
        why = wrong(row, results.get(row[0]), expected, missing, deny)
        for _ in range(TRIES - 1):
            if not why or (results.get(row[0]) or {}).get('outcome') not in ('timeout', 'killed', 'not_ready'):
                break
            results[row[0]] = home.run(who, options, [row[0]])[1].get(row[0])
            why = wrong(row, results[row[0]], expected, missing, deny)
        if why:
            bad.append(row[0])
            print(f'{tier} {deny} {name}: {row[0]}: {why}')
    print(f'{tier:<16} {deny:<7} {name:<7} {len(can) - len(bad):>3} in class, {len(bad)} not, {len(rows) - len(can)} skipped for want of modules', flush=True)
    return len(can) - len(bad), len(bad)


def tiers(home, args, names):
    passed = failed = 0
    for tier in names:
        if TIERS[tier][0] == 'user' and tier == 'userns' and not user_namespaces():
            print(f'{tier}: skipped, this kernel gives no user namespaces to a plain user')
            continue
        for name in args.sets:
            if name in home.missing:
                print(f'{tier} {name}: skipped, {home.missing[name]}')
                continue
            for deny in args.modes if args.every or name in EVERY_MODE else args.modes[:1]:
                good, bad = suite(home, tier, deny, name, args.only)
                passed, failed = passed + good, failed + bad
    return passed, failed


def user_namespaces():
    ids = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []} if os.getuid() == 0 else {}
    return subprocess.run(['unshare', '-Ur', 'true'], capture_output=True, check=False, **ids).returncode == 0


# options, exit status, what stderr says
REFUSALS = (
    (['--lack', 'filter'], 2, 'R4401'),
    (['--container', '--require', 'full'], 2, 'R4402 isolation tier is container, full is required'),
    (['--container', '--require', 'userns'], 2, 'R4402'),
    (['--lack', 'landlock', '--require', 'container'], 2, 'R4402 isolation tier is minimal, container is required'),
    (['--lack', 'listener', '--require', 'container'], 2, 'R4402'),
    (['--container', '--require', 'container'], 0, ''),
    (['--lack', 'listener', '--require', 'minimal'], 0, ''),
)


def refusals(home):
    failed = 0
    for options, status, words in REFUSALS:
        code, _, err = home.run('root', ['sandbox', 'try', '--preload', 'threading', *options], ['decorator_call'])
        ok = code == status and words in err
        failed += not ok
        print(f'{" ".join(options):<42} exit {code} {err or "-"}{"" if ok else f"   expected exit {status} {words}"}')
    return len(REFUSALS) - failed, failed


# What is off, and whether something must get out: then the suite can fail at all.
ABLATION = (
    ('nothing', (), False), ('rlimits', ('rlimits',), False), ('landlock', ('landlock',), False), ('uid', ('uid',), False),
    ('caps', ('caps',), False), ('mdwe', ('mdwe',), False), ('namespaces', ('ns', 'pidns'), False),
    ('seccomp', ('seccomp',), True),
    ('all but seccomp', ('rlimits', 'landlock', 'uid', 'caps', 'mdwe', 'ns', 'pidns'), False),
    ('all but rlimits', ('landlock', 'uid', 'caps', 'mdwe', 'ns', 'pidns', 'seccomp'), True),
)


def ablation(home):
    name = 'numpy1' if 'numpy1' in home.sites else 'stdlib'
    more, have = home.sites[name]
    can = [r for r in home.rows if r[3] == '-' or set(r[3].split(',')) <= have | home.sites.get('lua', ((), set()))[1]]
    failed = 0
    print(f'| off | got out of {len(can)} | which |\n|---|---|---|')
    for what, layers, must in ABLATION:
        options = [x for layer in layers for x in ('--without', layer)]
        _, results, err = home.run('root', ['sandbox', 'try', '--json', *options, *more], [r[0] for r in can])
        out = [n for n, r in results.items() if (r['answer'] or '').startswith('GOT:')]
        ok = bool(out) == must and len(results) == len(can)
        failed += not ok
        print(f'| {what} | {len(out)} | {", ".join(out) or "-"} |' + ('' if ok else f'   expected {"some" if must else "none"}; {len(results)} results {err}'), flush=True)
    return len(ABLATION) - failed, failed


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('tool')
    ap.add_argument('build')
    ap.add_argument('what', nargs='+', choices=[*TIERS, 'refusals', 'ablation'])
    ap.add_argument('--deny', default=','.join(MODES))
    ap.add_argument('--set', default=','.join(SETS))
    ap.add_argument('--only', default='')
    ap.add_argument('--every', action='store_true')
    args = ap.parse_args()
    args.modes, args.sets, args.only = args.deny.split(','), args.set.split(','), [n for n in args.only.split(',') if n]
    if os.getuid() != 0 and any(TIERS.get(w, ('root',))[0] == 'root' for w in args.what):
        print('this run wants root')
        return 77
    with tempfile.TemporaryDirectory(prefix='redan-payloads-') as tmp:
        home = Home(tmp, args.tool, args.build)
        passed, failed = tiers(home, args, [w for w in args.what if w in TIERS])
        for name, run in (('refusals', refusals), ('ablation', ablation)):
            if name in args.what:
                good, bad = run(home)
                passed, failed = passed + good, failed + bad
    print(f'{passed} passed, {failed} failed')
    return failed > 0 if passed + failed else 77


if __name__ == '__main__':
    sys.exit(main())
