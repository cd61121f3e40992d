#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that were built with an older header, beside the host of today.

  test_abi.py REDAN INCLUDE      plugin_abi1.frozen is the header that ABI 1 was given out with; a library built with it runs, whatever was appended
                                 to the structures since, with C99, C11 and C++11 of each compiler; one of another ABI number is refused with the
                                 documented line before any of its code runs.

The last line is `N passed, N failed`."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

REDAN, INCLUDE = (os.path.abspath(a) for a in sys.argv[1:3])
HERE = pathlib.Path(__file__).resolve().parent
TMP = tempfile.TemporaryDirectory(prefix='redan-abi-')
DIR = pathlib.Path(TMP.name)
FLAGS = ['-shared', '-fPIC', '-O1', '-Wall', '-Wextra', '-Werror', '-pedantic', '-fvisibility=hidden', '-Wl,-z,now,-z,relro,-z,noexecstack,--no-undefined']
OLD, NEW = '#include "plugin_abi1.h"', '#include <redan/plugin.h>'
MEMBERS = {
    'redan_error': 'code sys id line column where text', 'redan_col': 'data type width', 'redan_call': 'in out status nrows ncols now_ns call_id',
    'redan_host': 'size abi ctx seed log error extension', 'redan_fn': 'size flags signature call',
    'redan_plugin_desc': 'size abi id version fns create destroy activate deactivate selftest save load extension',
    'struct redan_note_desc': 'desc_size abi minor caps nlayouts id version layouts', 'struct redan_note': 'namesz descsz type name desc',
}
FROZEN = {'redan_call', 'struct redan_note_desc', 'struct redan_note', 'redan_col', 'redan_error'}      # these do not even grow
# Counts its calls in `self`, so that each entry point has been called when the golden row fits.
PLUGIN = '''HEADER
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
REDAN_DECLARE("org.example.old", "1.0.0")
struct me { int64_t created, active, tested; const redan_host *host; };
static int create(const redan_host *h, const char *config, void **ret_self, redan_error *reterr) {
  struct me *m = (struct me *)calloc(1, sizeof *m);
  (void)reterr;
  m->created = h->abi == REDAN_PLUGIN_ABI && h->size >= sizeof(redan_host) && strcmp(config, "{}") == 0;
  m->host = h;
  *ret_self = m;
  return 0;
}
static int activate(void *self, redan_error *reterr) { (void)reterr; ((struct me *)self)->active = 1; return 0; }
static int selftest(void *self, redan_error *reterr) { (void)reterr; ((struct me *)self)->tested = 1; return 0; }
static int call(void *self, const redan_call *c) {
  struct me *m = (struct me *)self;
  uint32_t i;
  if (m->host->extension(m->host->ctx, "org.example.unknown"))
    return 1;
  for (i = 0; i < c->nrows; i++)
    ((int64_t *)c->out)[i] = ((const int64_t *)c->in[0].data)[i] * 1000 + m->created * 100 + m->active * 10 + m->tested;
  return 0;
}
static const redan_fn fn = { sizeof fn, 0, "f(x: int) -> int", call };
static const redan_fn *const fns[] = { &fn, NULL };
DESC
REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t abi, uint32_t index) { return ENTRY; }
'''
DESC = 'static const redan_plugin_desc desc = { SIZE, REDAN_PLUGIN_ABI, "org.example.old", "1.0.0", fns, create, NULL, activate, NULL, selftest, NULL, NULL, NULL };'
count = 0


def check(good, what):
    if not good:
        raise AssertionError(what)


def compile_(source, out, cc, std, *flags):
    c = DIR / f'{out.stem}.{"cc" if "++" in cc else "c"}'
    c.write_text(source)
    r = subprocess.run([cc, f'-std={std}', *flags, f'-I{DIR}', f'-I{INCLUDE}', c, '-o', out], capture_output=True, text=True)
    check(r.returncode == 0, f'{cc} -std={std}: {r.stderr}')
    return out


def build(header=OLD, desc=DESC.replace('SIZE', 'sizeof desc'), entry='abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : NULL', cc='gcc', std='c11', edit=()):
    global count
    count += 1
    text = PLUGIN.replace('HEADER', header).replace('DESC', desc).replace('ENTRY', entry)
    for old, new in edit:
        check(old in text, f'{old!r} is not there')
        text = text.replace(old, new)
    d = DIR / f'p{count}'
    (d / 'tests').mkdir(parents=True)
    compile_(text, d / 'lib.so', cc, std, *FLAGS)
    (d / 'plugin.yaml').write_text('schema: 1\nplugin: {id: org.example.old, version: 1.0.0, kind: native, entry: lib.so}\nfunctions:\n  f: {signature: "(x: int) -> int"}\n')
    (d / 'tests/rows.csv').write_text('function,x,answer\nf,7,7111\nf,-1,-889\n')
    (d / 'r.rdn').write_text('ruleset r version 1\n  undefined skip\nevent E { x: int }\nplugin f(x: int) -> int deadline 50ms\nrule r on E { when f(x) > 0 flag A }\n')
    (d / 'e.jsonl').write_text('{"type":"E","ts":1,"f":{"x":7}}\n')
    return d


def redan(*args):
    r = subprocess.run([REDAN, *map(str, args)], capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout + r.stderr


def runs(d):
    rc, out = redan('plugin', 'test', d)
    check(rc == 0 and '2 passed, 0 failed' in out, out)


def test_members_stay_where_they_were():
    """Each member at its old offset; nothing shrinks; what must not grow does not."""
    lines = []
    for struct, members in MEMBERS.items():
        lines.append(f'printf("{struct} size %zu\\n", sizeof({struct}));')
        lines += [f'printf("{struct} {m} %zu %zu\\n", offsetof({struct}, {m}), sizeof((({struct} *)0)->{m}));' for m in members.split()]
    body = '#include <stdio.h>\n#include <stddef.h>\nint main(void) {\n' + '\n'.join(lines) + '\nreturn 0;\n}\n'
    old, new = (subprocess.run([compile_(h + '\n' + body, DIR / n, 'gcc', 'c11')], capture_output=True, text=True).stdout.splitlines() for h, n in ((OLD, 'old'), (NEW, 'new')))
    check(len(old) == len(new) and len(old) > 50, 'the probe ran')
    for a, b in zip(old, new):
        name, size = a.rsplit(' ', 1)
        grown = name.endswith(' size') and name[:-5] not in FROZEN and int(b.rsplit(' ', 1)[1]) >= int(size)
        check(a == b or grown, f'{a} is now {b}')


def test_runs_from_every_compiler():
    for header in (OLD, NEW):
        for cc, std in (('gcc', 'c99'), ('gcc', 'c11'), ('clang', 'c99'), ('g++', 'c++11'), ('clang++', 'c++11')):
            if not shutil.which(cc):
                print(f'skipped: no {cc}')
                continue
            d = build(header, cc=cc, std=std)
            runs(d)
            names = subprocess.run(['nm', '-D', '--defined-only', d / 'lib.so'], capture_output=True, text=True).stdout.split()[2::3]
            check(names == ['redan_plugin_entry'], f'{cc}: exports {names}')


def test_shorter_and_longer():
    """An older plugin ends earlier, whatever lies behind; a newer one has members that this host does not know."""
    poison = 'static void nobody(void) { abort(); }\n'
    cast = lambda member: f'({member})(uintptr_t)nobody'
    short = poison + DESC.replace('SIZE', 'offsetof(redan_plugin_desc, save)').replace('selftest, NULL, NULL, NULL', 'selftest, ' + ', '.join(
        [cast('int (*)(void *, void *, size_t, size_t *)'), cast('int (*)(void *, const void *, size_t, redan_error *)'), cast('const void *(*)(void *, const char *)')]))
    runs(build(desc=short))
    runs(build(NEW, desc=short))
    longer = ('struct newer { redan_plugin_desc d; void *more[4]; };\nstatic const struct newer newest = { { sizeof newest, REDAN_PLUGIN_ABI, "org.example.old", "1.0.0", fns, '
              'create, NULL, activate, NULL, selftest, NULL, NULL, NULL }, { (void *)1, (void *)1, (void *)1, (void *)1 } };')
    runs(build(desc=longer, entry='abi == REDAN_PLUGIN_ABI && index == 0 ? &newest.d : NULL'))
    cut = build(desc=DESC.replace('SIZE', '16u'))
    rc, out = redan('plugin', 'test', cut)
    check(rc == 1 and 'R4323' in out and 'gives no plugin of ABI 1' in out, f'shorter than its own names: {out}')


def test_other_abi_is_refused():
    """N-1 and N+1 by the note, before any code runs; and an entry that does not keep what the note promised."""
    marks = [('static int create(', '__attribute__((constructor)) static void early(void) { abort(); }\nstatic int create(')]
    for number in (0, 2):
        d = build(edit=[('REDAN_DECLARE(', f'#undef REDAN_PLUGIN_ABI\n#define REDAN_PLUGIN_ABI {number}u\nREDAN_DECLARE('), *marks])
        line = f'R4101 built for plugin ABI {number}, this host speaks 1: rebuild it with this version\'s header'
        for args in (('plugin', 'check', d), ('plugin', 'check', d / 'lib.so'), ('plugin', 'test', d), ('run', d / 'r.rdn', d / 'e.jsonl', '--plugin', d)):
            rc, out = redan(*args)
            check(rc == 1 and line in out, f'{args}: {rc} {out}')
    check(redan('explain', 'R4101')[0] == 0, 'R4101 is explained')
    d = build(entry='abi == 2u && index == 0 ? &desc : NULL')
    rc, out = redan('plugin', 'test', d)
    check(rc == 1 and 'R4323' in out and 'redan_plugin_entry gives no plugin of ABI 1' in out, out)
    runs(build(edit=[('create(const', 'create(const')]))  # the control: the same file with the right number


def test_one_library_serves_two():
    """The host says what it speaks; a library may have an answer for each."""
    other = DESC.replace('SIZE', 'sizeof desc') + '\nstatic const redan_plugin_desc later = { sizeof later, 2u, "org.example.old", "2.0.0", fns, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };'
    runs(build(desc=other, entry='index ? NULL : abi == 2u ? &later : abi == 1u ? &desc : NULL'))


def test_header_is_not_edited():
    """The old header says ABI 1 and nothing of its text has changed since."""
    import hashlib
    text = (HERE / 'plugin_abi1.frozen').read_bytes()
    check(re.search(rb'#define REDAN_PLUGIN_ABI 1u', text), 'ABI 1')
    want = 'da7171d6756314ac35e418b3f428e31651bcb861f80838f64da2a7fec2109de2'
    check(hashlib.sha256(text).hexdigest() == want, 'plugin_abi1.frozen was edited')


def main():
    shutil.copy(HERE / 'plugin_abi1.frozen', DIR / 'plugin_abi1.h')
    failed = 0
    tests = [f for name, f in sorted(globals().items()) if name.startswith('test_')]
    for f in tests:
        try:
            f()
        except Exception:
            failed += 1
            print(f'FAIL {f.__name__}\n{traceback.format_exc()}')
    print(f'{len(tests) - failed} passed, {failed} failed')
    return failed > 0


sys.exit(main())
