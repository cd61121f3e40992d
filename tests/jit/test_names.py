#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of machine code: the perf map, the jit dump and what perf and gdb make of them; test_names.py SPIN.

What needs perf or gdb is skipped, by name, where they are missing or may not look. The last line is `N passed, N failed`."""
import ctypes
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback

SPIN = pathlib.Path(sys.argv[1]).resolve()
NAME = re.compile(r'redan:spin@(\d+)/Order/(operands|rules)')
here = pathlib.Path(tempfile.mkdtemp(prefix='redan-names-'))


class Skip(Exception):
    pass


def eq(a, b, what=''):
    assert a == b, f'{what}: {a!r}, expected {b!r}'


def mdwe():
    if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):
        os._exit(77)


def spin(*args, jit, preexec=None, folder=here, wait=True):
    """Runs it; its process, what it printed, and its perf map as (start, bytes, name)."""
    p = subprocess.Popen([SPIN, *map(str, args)], env={**os.environ, 'REDAN_JIT': jit, 'JITDUMPDIR': str(folder)}, preexec_fn=preexec,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if wait:
        p.out = p.communicate(timeout=60)[0]
    p.file = pathlib.Path(f'/tmp/perf-{p.pid}.map')
    return p


def rows(p):
    text = p.file.read_text()
    return [(int(a, 16), int(b, 16), n) for a, b, n in (line.split(' ', 2) for line in text.splitlines())]


def done(p):
    p.file.unlink(missing_ok=True)


# ---- the perf map ----
def test_map():
    p = spin(50, jit='perf_map')
    eq(p.returncode, 0, p.out)
    got = rows(p)
    eq([NAME.fullmatch(n)[2] for _, _, n in got], ['operands', 'rules'])
    assert all(size > 16 for _, size, _ in got) and got[0][0] + got[0][1] <= got[1][0], got
    eq(p.file.stat().st_mode & 0o777, 0o600)
    done(p)


def test_map_is_true_of_running_code():
    p = spin(3000, 2, jit='perf_map', wait=False)
    eq(p.stdout.readline(), 'swapped\n')
    code = [tuple(int(x, 16) for x in line.split()[0].split('-')) for line in open(f'/proc/{p.pid}/maps') if ' r-xs ' in line]
    got = rows(p)
    with open(f'/proc/{p.pid}/mem', 'rb', 0) as mem:
        for at, size, name in got:
            assert any(lo <= at and at + size <= hi for lo, hi in code), f'{name} is not in code memory'
            mem.seek(at)
            eq(mem.read(5), bytes.fromhex('f30f1efa55'), name)
    p.kill()
    p.communicate()
    eq(len(got), 6)
    done(p)


def test_map_of_reused_memory():
    p = spin(1, 20, jit='perf_map,keep_units=1')
    eq(p.returncode, 0, p.out)
    got = sorted(rows(p))
    for (a, size, name), (b, _, other) in zip(got, got[1:]):
        assert a + size <= b, f'{name} and {other} overlap'
    versions = {int(NAME.fullmatch(n)[1]) for _, _, n in got}
    assert {20, 21} <= versions and len(versions) < 8, versions
    done(p)


def test_map_of_vectors():
    p = spin(1, 1, 'x64v', jit='perf_map,jitdump')
    if p.returncode and 'R2102' in p.out:
        raise Skip(p.out.strip())
    eq(p.returncode, 0, p.out)
    got = [n.removeprefix('redan:spin@2/Order/') for _, _, n in sorted(rows(p)) if '@2/' in n]
    eq(sorted(got), ['batch', 'columns', 'operands', 'rules'])
    done(p)


def test_map_off():
    p = spin(1, jit='keep_units=1')
    eq((p.returncode, p.file.exists()), (0, False), p.out)


def test_map_under_mdwe():
    p = spin(50, jit='perf_map,jitdump', preexec=mdwe)
    if p.returncode == 77:
        raise Skip('no PR_SET_MDWE in this kernel')
    eq((p.returncode, len(rows(p))), (0, 2), p.out)
    done(p)


def test_map_is_not_written_through_a_link():
    target = here / 'victim'
    target.write_text('mine')
    for make in (f'ln -s {target}', f'ln {target}'):
        r = subprocess.run(['sh', '-c', f'{make} /tmp/perf-$$.map && exec {SPIN} 1'], env={**os.environ, 'REDAN_JIT': 'perf_map'}, capture_output=True, text=True)
        assert r.returncode != 0 and '/tmp/perf-' in r.stdout + r.stderr, r
        eq(target.read_text(), 'mine')
    for f in pathlib.Path('/tmp').glob('perf-*.map'):
        if f.is_symlink() and os.readlink(f) == str(target) or f.stat().st_ino == target.stat().st_ino:
            f.unlink()


# ---- the jit dump ----
def records(path):
    """Of a jit dump: (id, time, body); the header is checked."""
    b = path.read_bytes()
    magic, version, size, machine, _, pid, _, flags = struct.unpack_from('<6IQQ', b)
    eq((magic, version, size, flags), (0x4a695444, 1, 40, 0))
    eq((pid, machine), (int(re.search(r'\d+', path.name)[0]), struct.unpack_from('<H', SPIN.read_bytes(), 18)[0]))
    at, out = size, []
    while at < len(b):
        kind, total, time = struct.unpack_from('<IIQ', b, at)
        assert 16 <= total <= len(b) - at, f'record at {at}'
        out.append((kind, time, b[at + 16:at + total]))
        at += total
    return out


def test_dump():
    p = spin(1, 3, jit='jitdump')
    eq(p.returncode, 0, p.out)
    got = records(here / f'jit-{p.pid}.dump')
    eq([k for k, _, _ in got if k != 2], [0] * 8 + [3])
    eq([t for _, t, _ in got], sorted(t for _, t, _ in got), 'times')
    lines, loaded = None, 0
    for kind, _, body in got:
        if kind == 2:
            lines = debug_lines(body)
        elif kind == 0:
            pid, tid, vma, addr, size, index = struct.unpack_from('<IIQQQQ', body)
            name = body[40:body.index(b'\0', 40)].decode()
            code = body[41 + len(name):]
            loaded += 1
            eq((pid, vma, len(code), index), (p.pid, addr, size, loaded))
            eq(code[:5], bytes.fromhex('f30f1efa55'), name)
            step = NAME.fullmatch(name)[2]
            if step == 'rules':                          # rules stand in lines 5 to 64 of the text, in order at first
                at, numbers = [a for a, _ in lines], [n for _, n in lines]
                assert all(addr <= a < addr + size for a in at) and at == sorted(at), name
                eq(set(numbers), set(range(5, 65)), name)
            lines = None


def debug_lines(body):
    addr, n = struct.unpack_from('<QQ', body)
    at, out = 16, []
    for _ in range(n):
        a, line, _ = struct.unpack_from('<QII', body, at)
        end = body.index(b'\0', at + 16)
        eq(body[at + 16:end], b'kit')
        at = end + 1
        out.append((a, line))
    eq(at, len(body))
    return out


def test_dump_needs_its_folder():
    for folder in (here / 'missing', '/proc'):
        r = spin(1, jit='jitdump', folder=folder)
        assert r.returncode != 0 and f'{folder}/jit-{r.pid}.dump' in r.out, r.out


# ---- perf ----
def perf(*args, **more):
    return subprocess.run(['perf', *map(str, args)], cwd=here, capture_output=True, text=True, timeout=120, **more)


def record(jit):
    if not shutil.which('perf'):
        raise Skip('perf is not installed')
    data = here / f'{jit}.data'
    r = perf('record', '-k', 'mono', '-F', 4000, '-e', 'task-clock', '-o', data, SPIN, 1000, env={**os.environ, 'REDAN_JIT': jit, 'JITDUMPDIR': str(here)})
    if r.returncode or not data.exists():
        raise Skip(f'perf cannot record here: {(r.stderr.strip().splitlines() or ["?"])[-1]}')
    return data


def named(data):
    """Samples in machine code of ours with a name, and without one."""
    out = perf('script', '-i', data, '-F', 'ip,sym,dso').stdout
    good = len(re.findall(r'^\s*[0-9a-f]+ redan:spin@1/Order/(?:rules|operands) \((?:.*/perf-\d+\.map|.*/jitted-\d+-\d+\.so)\)', out, re.M))
    return good, len(re.findall(r'^\s*[0-9a-f]+ \[unknown\] \((?!\[kernel)', out, re.M))


def test_perf_report():
    good, bad = named(record('perf_map'))
    clean_up()
    assert good > 20 and bad <= good * 0.05, f'{good} samples named, {bad} not'


def clean_up():                                          # maps of processes that perf started: ours, and they name these rules
    for f in pathlib.Path('/tmp').glob('perf-*.map'):
        if f.stat().st_uid == os.geteuid() and 'redan:spin@' in f.read_text():
            f.unlink()


def test_perf_without_a_map():                           # the control: nothing but the map gives the names
    good, bad = named(record('keep_units=3'))
    assert good == 0 and bad > 20, f'{good} samples named, {bad} not'


def test_perf_inject():
    data, injected = record('jitdump'), here / 'injected.data'
    r = perf('inject', '--jit', '-i', data, '-o', injected)
    eq(r.returncode, 0, r.stderr)
    good, bad = named(injected)
    assert good > 20 and bad <= good * 0.05, f'{good} samples named, {bad} not'
    lines = perf('script', '-i', injected, '-F', 'ip,sym,srcline').stdout
    assert re.search(r'kit:\d+', lines), 'no line of the rule text'


# ---- gdb ----
GDB = '''
set pagination off
set confirm off
break start_judging
run 5 2
maint info jit
hbreak *'redan:spin@3/Order/rules'
delete 1
continue
bt
stepi
bt
stepi
bt
stepi
bt
finish
bt
delete
break redan_close
continue
finish
echo at the end\\n
maint info jit
'''


def gdb(jit):
    if not shutil.which('gdb'):
        raise Skip('gdb is not installed')
    (here / 'gdb').write_text(GDB)
    r = subprocess.run(['gdb', '-q', '-nx', '-batch', '-x', here / 'gdb', SPIN], env={**os.environ, 'REDAN_JIT': jit, 'LC_ALL': 'C'}, capture_output=True, text=True,
                       timeout=120)
    if 'Couldn\'t write debug register' in r.stderr or 'ptrace' in r.stderr:
        raise Skip('gdb may not set hardware breakpoints here')
    return r.stdout + r.stderr


def test_gdb():
    out = gdb('gdb,keep_units=1')
    rules = 'redan:spin@3/Order/rules'
    assert f'in {rules} ()' in out, out[-3000:]
    traces = [t for t in out.split('#0 ')[1:]]
    for i, t in enumerate(traces[:4]):                   # at the first instruction, after endbr64, push, mov
        assert rules in t.splitlines()[0] and re.search(r'\bmain \(', t) and '??' not in t.split('\n0x')[0], f'trace {i}: {t}'
    assert rules not in traces[4].splitlines()[0] and re.search(r'\bmain \(', traces[4]), out[-3000:]
    files = [len(re.findall(r'^0x\w+ +0x\w+ +\d+ *$', part, re.M)) for part in re.split('at the end', out)]
    eq(files, [3, 0], 'files registered, before and after the engine was closed')      # in use, kept, and the one the program holds


def test_gdb_off():
    out = gdb('keep_units=1')
    assert 'No symbol "redan:' in out, out[-2000:]


def outcome(fn):
    """'' when it passed, a reason when it was skipped; a failure is printed and counts."""
    try:
        fn()
    except Skip as s:
        return str(s)
    except Exception:
        print(f'FAIL {fn.__name__}')
        traceback.print_exc(limit=-2, file=sys.stdout)
        return None
    return ''


def main():
    wanted = sys.argv[2:]
    tests = [f for n, f in globals().items() if n.startswith('test_') and (not wanted or any(w in n for w in wanted))]
    outcomes = [(f.__name__, outcome(f)) for f in tests]
    shutil.rmtree(here)
    for name, what in outcomes:
        if what:
            print(f'skipped: {name}: {what}')
    failed = sum(what is None for _, what in outcomes)
    print(f'{sum(what == "" for _, what in outcomes)} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
