#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The five ways in which linking goes wrong, each with an artefact that is really broken: first that the trap is real on this machine, where
the loader of this machine decides; then that Redan is not caught, or says what it is with code, place and remedy.

  test_breakpoints.py REDAN INCLUDE      1 GPU code newer than the driver · 2 reference counts · 3 layouts · 4 build tools · 5 dlopen

Layouts have their own table in test_plugin_verbs.py, reference counts in python/tests/leaks.py. The last line is `N passed, N failed`."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

REDAN, INCLUDE = (os.path.abspath(a) for a in sys.argv[1:3])
TMP = tempfile.TemporaryDirectory(prefix='redan-break-')
DIR = pathlib.Path(TMP.name)
FLAGS = ['-shared', '-fPIC', '-O1', '-Wl,-z,noexecstack']
# A plugin whose answer comes from helper(); how that is declared is what each test is about.
PLUGIN = '''#include <redan/plugin.h>
#include <math.h>
REDAN_DECLARE("org.example.NAME", "1.0.0")
HELPER
static int call(void *self, const redan_call *c) {
  (void)self;
  for (uint32_t i = 0; i < c->nrows; i++)
    ((double *)c->out)[i] = HOW(((const double *)c->in[0].data)[i]);
  return 0;
}
static const redan_fn fn = { sizeof fn, 0, "NAME(x: float) -> float", call };
static const redan_fn *const fns[] = { &fn, 0 };
static const redan_plugin_desc desc = { sizeof desc, REDAN_PLUGIN_ABI, "org.example.NAME", "1.0.0", fns, 0, 0, 0, 0, 0, 0, 0, 0 };
REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t abi, uint32_t index) { return abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : 0; }
'''
# What a host does that loads into itself. Prints what NAME(1.0) of the last library answers.
DRIVER = '''#define _GNU_SOURCE
#include <redan/plugin.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static double ask(void *so) {
  redan_plugin_entry_fn *entry = so ? (redan_plugin_entry_fn *)dlsym(so, "redan_plugin_entry") : 0;
  double x = 1.0, y = -1.0;
  uint8_t status = 0;
  redan_col in = { &x, 3, 8 };
  redan_call c = { &in, &y, &status, 1, 1, 0, 0 };
  if (!entry || entry(1, 0)->fns[0]->call(0, &c) != 0)
    printf("%s\\n", dlerror()), exit(3);
  return y;
}
int main(int argc, char **argv) {
  int flags = strstr(argv[1], "lazy") ? RTLD_LAZY : RTLD_NOW;
  void *so = 0;
  char line[16];
  flags |= strstr(argv[1], "global") ? RTLD_GLOBAL : RTLD_LOCAL;
  if (!strcmp(argv[1], "namespaces")) {
    int n = 0;
    while (n < 64 && dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW))
      n++;
    printf("%d\\n", n);
    return 0;
  }
  for (int i = 2; i < argc; i++)
    if (!(so = dlopen(argv[i], flags)))
      return printf("%s\\n", dlerror()), 4;
  printf("%g\\n", ask(so));
  fflush(stdout);
  while (fgets(line, sizeof line, stdin))
    printf("%g\\n", ask(line[0] == 'o' ? dlopen(argv[argc - 1], flags) : so)), fflush(stdout);
  return (int)gamma(0.0) * 0;
}
'''
EVENT = '{"type":"E","ts":%d,"f":{"x":1.0}}\n'
count = 0


def check(good, what):
    if not good:
        raise AssertionError(what)


def cc(text, out, *flags):
    source = DIR / f'{out.name}.c'
    source.write_text(text)
    r = subprocess.run(['gcc', '-std=gnu11', f'-I{INCLUDE}', source, '-o', out, *flags], capture_output=True, text=True)
    check(r.returncode == 0, r.stderr)
    return out


def library(name, helper, how='helper', *flags):
    global count
    count += 1
    d = DIR / f'{name}{count}'
    d.mkdir()
    (d / 'plugin.yaml').write_text(f'schema: 1\nplugin: {{id: org.example.{name}, version: 1.0.0, kind: native, entry: lib.so}}\nfunctions:\n  {name}: {{signature: "(x: float) -> float"}}\n')
    text = PLUGIN.replace('NAME', name).replace('HELPER', helper).replace('HOW', how)
    return cc(text, d / 'lib.so', *FLAGS, *flags)


def run(*args, stdin=None, env=None, **kw):
    r = subprocess.run([*map(str, args)], input=stdin, capture_output=True, text=True, timeout=120, env={**os.environ, **(env or {})}, **kw)
    return r.returncode, r.stdout + r.stderr


def driver():
    path = DIR / 'driver'
    return path if path.exists() else cc(DRIVER, path, '-ldl', '-lm', '-Wl,--no-as-needed')


def finds(code, lib, words):
    rc, out = run(REDAN, 'plugin', 'check', lib)
    lines = [x for x in out.splitlines() if f' {code} ' in x]
    check(lines and all(w in lines[0] for w in words) and str(lib) in lines[0], f'{code} {words}: {out}')
    check(run(REDAN, 'explain', code)[0] == 0, f'{code} is not explained')
    return rc


def rules(names):
    (DIR / 'r.rdn').write_text('ruleset r version 1\n  undefined skip\nevent E { x: float }\n' + ''.join(f'plugin {n}(x: float) -> float deadline 900ms\n' for n in names) +
                               'rule r on E { when true emit Got { ' + ', '.join(f'{n}: {n}(x)' for n in names) + ' } }\n')
    return DIR / 'r.rdn'


def judged(libs, names, events=1):
    """What the rules get from the plugins, all in one engine."""
    given = [a for lib in libs for a in ('--plugin', lib.parent)]
    for _ in range(3):
        rc, out = run(REDAN, 'run', rules(names), '-', *given, stdin=''.join(EVENT % i for i in range(1, events + 1)))
        if rc == 0 and 'R43' not in out:
            break
    check(rc == 0, out)
    return [json.loads(x)['emit'][0]['Got'] for x in out.splitlines()]


# ---- 5: dlopen order and visibility ----
def test_global_scope():
    """Two libraries with a helper of the same name: with RTLD_GLOBAL the second uses the first's."""
    a = library('a', 'double helper(double x) { return x + 10; }')
    b = library('b', 'double helper(double x) { return x + 20; }')
    check(run(driver(), 'global', a, b) == (0, '11\n'), f'the trap: {run(driver(), "global", a, b)}')
    check(run(driver(), 'local', a, b) == (0, '21\n'), 'without it')
    for lib in (a, b):
        check(finds('R4111', lib, ["'helper'", '-fvisibility=hidden']) == 0, 'a warning: Redan does not fall into it')
    got = judged([a, b], ['a', 'b'])[0]
    check((got['a'], got['b']) == (11.0, 21.0), got)


def test_interposition():
    """A plugin's own function has the name of a library's: the plugin calls the library's, silently."""
    mine = 'double gamma(double x) { return x + 100; }'
    lib = library('own', mine, 'gamma', '-fno-builtin')
    check(run(driver(), 'local', lib)[1] == '0\n', f'the trap: {run(driver(), "local", lib)}')
    check(finds('R4117', lib, ["'gamma'", 'libm.so.6', 'static', '-fvisibility=hidden']) == 1, 'an error')
    rc, out = run(REDAN, 'run', rules(['own']), '-', '--plugin', lib.parent, stdin='')
    check(rc == 1 and 'R4117' in out, f'it was loaded: {out}')
    for helped in (('-fvisibility=hidden',), ('-Wl,-Bsymbolic',)):
        good = library('own', mine, 'gamma', '-fno-builtin', *helped)
        check(' R4117 ' not in run(REDAN, 'plugin', 'check', good)[1], f'{helped} helps')
        check(judged([good], ['own'])[0]['own'] == 101.0, helped)


def test_renamed_symbol():
    """A symbol that was renamed elsewhere: bound lazily, it ends the process at the first call."""
    lib = library('gone', 'double helper_v1(double);', 'helper_v1', '-Wl,-z,lazy')
    rc, out = run(driver(), 'lazy', lib)
    check(rc == 127 and 'helper_v1' in out, f'the trap: {rc} {out}')
    check(run(driver(), 'now', lib)[0] == 4, 'bound at once it does not load')
    check(finds('R4103', lib, ["'helper_v1'", '--no-undefined']) == 1, 'an error')
    rc, out = run(REDAN, 'run', rules(['gone']), '-', '--plugin', lib.parent, stdin='')
    check(rc == 1 and 'R4103' in out, f'it was loaded: {out}')


class Talk:
    """A process that answers one line for one line."""
    def __init__(self, *args):
        self.p = subprocess.Popen([*map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line):
        try:
            self.p.stdin.write(line)
            self.p.stdin.flush()
        except BrokenPipeError:
            return ''
        return self.p.stdout.readline()

    def end(self):
        try:
            self.p.stdin.close()
        except BrokenPipeError:
            pass
        return self.p.wait(60)



def test_file_changed_while_loaded():
    """Truncated, the library of a host that maps it kills the host; Redan's workers run a copy that has no name."""
    old = 'static double helper(double x) { return x + 1; }\nconst char big[1 << 16] = { 1 };'
    lib = library('cut', old)
    t = Talk(driver(), 'local', lib)
    check(t.p.stdout.readline() == '2\n', 'before')
    os.truncate(lib, 100)
    t.say('x\n')
    check(t.end() in (-7, -11), f'the trap: it ended with {t.p.returncode}')
    for _ in range(3):                                   # loading has 500 ms: a busy machine may need more
        lib = library('cut', old)
        t = Talk(REDAN, 'run', rules(['cut']), '-', '--plugin', lib.parent)
        first = t.say(EVENT % 1)
        if first:
            break
        t.end()
    os.truncate(lib, 100)
    second = t.say(EVENT % 2)
    lib.write_bytes(b'\x7fELF' + b'x' * 5000)
    third = t.say(EVENT % 3)
    check(t.end() == 0 and all('2.0' in x for x in (first, second, third)), f'{first}{second}{third}')


def test_file_replaced():
    """dlopen of a path whose file was replaced gives the old code, without a word. Redan names code by its content: sha256 of what is mapped."""
    lib = library('new', 'static double helper(double x) { return x + 1; }')
    t = Talk(driver(), 'local', lib)
    check(t.p.stdout.readline() == '2\n', 'before')
    other = library('new', 'static double helper(double x) { return x + 2; }')
    before = json.loads(run(REDAN, 'plugin', 'list', lib.parent, '--json')[1])['plugins'][0]['sha256']
    os.replace(other, lib)
    check(t.say('open\n') == '2\n', 'the trap')
    t.end()
    check(judged([lib], ['new'])[0]['new'] == 3.0, 'the new code')
    check(json.loads(run(REDAN, 'plugin', 'list', lib.parent, '--json')[1])['plugins'][0]['sha256'] != before, 'and list tells them apart')


def test_namespaces_run_out():
    """dlmopen keeps libraries apart for about a dozen of them. A process each does for any number."""
    libs = [library(f'n{i}', f'double helper(double x) {{ return x + {i}; }}') for i in range(16)]
    rc, out = run(driver(), 'namespaces', libs[0])
    check(rc == 0 and 5 <= int(out) <= 20, f'the trap: {rc} {out}')
    names = [f'n{i}' for i in range(16)]
    got = judged(libs, names)[0]
    check([got[n] for n in names] == [1.0 + i for i in range(16)], got)


# ---- 1: GPU code newer than the driver ----
def doctor(env, what):
    rc, out = run(REDAN, 'doctor', env=env)
    line = next(x for x in out.splitlines() if x.split()[1:2] == [what])
    return rc, line


def test_newer_compiler_than_driver():
    d = DIR / 'cuda'
    d.mkdir()
    cc('int cuDriverGetVersion(int *v) { *v = 11040; return 0; }', d / 'libcuda.so.1', *FLAGS)
    for compiler, good in (('12, 8', False), ('11, 4', True), ('11, 2', True)):
        major, minor = compiler.split(', ')
        cc(f'int nvrtcVersion(int *a, int *b) {{ *a = {major}; *b = {minor}; return 0; }}', d / 'libnvrtc.so', *FLAGS)
        rc, line = doctor({'LD_LIBRARY_PATH': f'{d}:{os.environ.get("LD_LIBRARY_PATH", "")}'}, 'CUDA')
        check(f'{d}/libcuda.so.1' in line and f'{d}/libnvrtc.so' in line and f'NVRTC {major}.{minor}' in line and 'driver 11.4' in line, line)
        check((rc == 0, line.startswith('BAD'), 'R4501' in line) == (good, not good, not good), f'{rc} {line}')
        check(good or 'update the driver, or use an older NVRTC' in line, line)
    check(run(REDAN, 'explain', 'R4501')[0] == 0, 'R4501 is explained')


def test_no_device_code_in_a_plugin():
    """A plugin brings source of kernels, in rules; a cubin is refused."""
    d = DIR / 'cubin'
    d.mkdir()
    (d / 'plugin.yaml').write_text('schema: 1\nplugin: {id: org.example.c, version: 1.0.0, entry: c.py}\nfunctions:\n  f: {signature: "() -> int"}\ndata: {k: kernel.cubin}\n')
    (d / 'c.py').write_text('import redan\n\n\n@redan.plugin\ndef f() -> int:\n    return 1\n')
    (d / 'kernel.cubin').write_bytes(b'\x7fELF\x02\x01\x01\x33' + bytes(56))
    rc, out = run(REDAN, 'plugin', 'check', d)
    check(rc == 1 and ' R4205 ' in out and 'kernel.cubin' in out, out)


# ---- 2: reference counts ----
def test_no_c_api_code():
    """A native plugin that uses Python's C API is told to be a Python plugin, linked against libpython or not."""
    lib = library('py', 'void *PyFloat_FromDouble(double);\nstatic double helper(double x) { return PyFloat_FromDouble(x) ? x : 0; }')
    check(finds('R4104', lib, ["'PyFloat_FromDouble'", 'Python plugin']) == 1, 'an error')


# ---- 4: build tools ----
def test_old_meson():
    d = DIR / 'meson'
    d.mkdir()
    tool = d / 'meson'
    for version, good, words in (('0.61.2', False, ['R4502', 'install Meson 1.0 or newer']), ('1.0.1', True, ['without build isolation']), ('1.9.0', True, [])):
        tool.write_text(f'#!/bin/sh\necho {version}\n')
        tool.chmod(0o755)
        rc, line = doctor({'PATH': f'{d}:{os.environ["PATH"]}'}, 'Meson')
        check(str(tool) in line and version in line and all(w in line for w in words), line)
        check((rc == 0, line.startswith('BAD')) == (good, not good), f'{rc} {line}')
    check(run(REDAN, 'explain', 'R4502')[0] == 0, 'R4502 is explained')


# ---- 3: layouts: one row here, the table is in test_plugin_verbs.py ----
def test_layout_names_field_and_offsets():
    canon = 'Order;16;qty:int@0;px:float@8'
    text = PLUGIN.replace('NAME', 'lay').replace('HELPER', f'REDAN_EVENT("{canon}")\n#define helper(x) (x)').replace('HOW', 'helper')
    d = DIR / 'lay'
    d.mkdir()
    cc(text, d / 'lib.so', *FLAGS, '-fvisibility=hidden')
    (d / 'rules.rdn').write_text('ruleset r version 1\n  undefined skip\nevent Order { qty: int  px: float }\nplugin lay(x: float) -> float deadline 9ms\nrule r on Order { when lay(px) > 0.0 flag A }\n')
    (d / 'plugin.yaml').write_text('schema: 1\nplugin: {id: org.example.lay, version: 1.0.0, kind: native, entry: lib.so, rules: rules.rdn}\nfunctions:\n  lay: {signature: "(x: float) -> float"}\n')
    rc, out = run(REDAN, 'plugin', 'check', d)
    line = next((x for x in out.splitlines() if ' R4102 ' in x), '')
    check(rc == 1 and re.search(r'host \S+@\d+, plugin \S+@\d+', line) and 'redan bindgen' in line, out)


def main():
    tests = [f for name, f in sorted(globals().items()) if name.startswith('test_')]
    bad = []
    for f in tests:
        try:
            f()
        except Exception:
            bad.append(f.__name__)
            print(f'FAIL {f.__name__}\n{traceback.format_exc()}')
    print(f'{len(tests) - len(bad)} passed, {len(bad)} failed')
    return bool(bad)


sys.exit(main())
