#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each check is shown a small tree that is right and then one with a planted mistake, which it has to name."""
import pathlib
import subprocess
import sys
import tempfile
import headers
import layers
import sizes
import symbols
import tables

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import run_all

LINES = [f'    total += weigh({i}, level);' for i in range(6)]
GOOD = {
    'base/err.h': '#ifndef A\n#define A\nint err;\n#endif\n',
    'base/low.c': '#include "base/err.h"\nint low(void) {\n    return 1;\n}\n',
    'ir/mid.h': '#include "base/err.h"\n',
    'ir/causes.def': '/* CAUSE(NAME, number, text)  causes */\nCAUSE(COLD, 1, "cold, \\"very\\"")\nCAUSE(WARM, 2, "warm")\n',
    'dsl/errors.def': '/* CODE(id, text)  codes */\nCODE(E0101, "first")\n',
    'dsl/use.c': '#include <redan/redan.h>\nconst char *use(void) { return "E0101"; }\n',
    'host/codes.def': '/* CODE(id, text)  codes */\nCODE("R1001", "one")\n',
    'include/redan/redan.h': '#define REDAN_ERRORS(X) X(INVAL, -1, "bad")\n#define REDAN_API\n#ifndef R\n#define R\n#ifdef __cplusplus\nextern "C" {\n#endif\n'
                             'REDAN_API int redan_go(void);\n#ifdef __cplusplus\n}\n#endif\n#endif\n',
    'tests/check/codes.lock': '# lock\nredan INVAL -1\ncause COLD 1\ncode E0101\n',
}
# check, file, its text (None: the file goes), a piece of the complaint
PLANTED = (
    (layers.check, 'base/up.c', '#include "ir/mid.h"\n', 'base must not see ir'),
    (layers.check, 'dsl/side.c', '#include "jit/run.h"\n', 'not a path from the root'),
    (layers.check, 'examples/x.c', '#include "base/err.h"\n', 'examples must not see base'),
    (layers.check, 'base/x.c', '#include "err.h"\n', 'not a path from the root'),
    (layers.check, 'base/x.c', '#include "base/low.c"\n', 'includes a .c file'),
    (layers.check, 'base/x.c', '/* #include "ir/mid.h" */\n#include "include/redan/redan.h"\n', 'included as <redan'),
    (layers.check, 'base/x.c', '#include <redan/none.h>\n', 'no such public header'),
    (sizes.check, 'base/x.c', 'int x;\n' * 901, '901 lines'),
    (sizes.check, 'base/x.c', 'static int\nlong_one(int a,\n         int b) {\n' + '    a++;\n    b--;\n' * 30 + '}\n', 'long_one() has'),
    (sizes.check, 'ir/err.h', 'int other;\n', 'err.h: the same name twice'),
    (sizes.check, 'base/x.c', 'int f(int level) {\n' + '\n'.join(LINES) + '\n}\nint g(int level) {\n    int total = 1;\n' + '\n\n'.join(LINES) + '\n}\n',
     'six lines as at base/x.c:2'),
    (tables.check, 'ir/causes.def', GOOD['ir/causes.def'] + 'CAUSE(HOT, 2, "hot")\n', 'number 2 does not follow 2'),
    (tables.check, 'ir/causes.def', GOOD['ir/causes.def'] + 'CAUSE(COLD, 3, "again")\n', 'stands twice'),
    (tables.check, 'ir/causes.def', GOOD['ir/causes.def'] + 'CAUSE(HOT, 3)\n', 'has 2 columns, 3 are named'),
    (tables.check, 'ir/causes.def', GOOD['ir/causes.def'] + 'OTHER(HOT)\n', 'does not say what the columns of OTHER'),
    (tables.check, 'ir/causes.def', GOOD['ir/causes.def'] + 'CAUSE(HOT, 3, "open)\n', 'no row'),
    (tables.check, 'ir/causes.def', GOOD['ir/causes.def'].replace('COLD', 'COOL'), '"cause COLD 1" was given out'),
    (tables.check, 'dsl/errors.def', '/* CODE(id, text) */\nCODE(E0102, "second")\n', '"code E0101" was given out'),
    (tables.check, 'host/codes.def', '/* CODE(id, text) */\nCODE("E0101", "taken")\n', 'E0101: the code stands twice'),
    (tables.check, 'include/redan/redan.h', '#define E(X) X(INVAL, -2, "bad")\n', '"redan INVAL -1" was given out'),
    (tables.check, 'dsl/x.c', 'const char *x = "R9999";\n', 'R9999 has no row'),
    (headers.check, 'include/redan/x.h', '#ifndef X\n#define X\nsize_t missing_type(void);\n#endif\n', "(gcc -std=c11)"),
    (headers.check, 'include/redan/x.h', '#ifndef X\n#define X\nint f(int class);\n#endif\n', '(clang++ -std=c++17)'),
    (headers.check, 'base/x.h', 'struct twice { int a; };\n', 'base/x.h (gcc'),
)


def plant(root, files):
    for name, text in files.items():
        p = root / name
        p.parent.mkdir(parents=True, exist_ok=True)
        p.write_text(text)


def shared_object(folder, source):
    lib = folder / 'libtest.so'
    subprocess.run(['gcc', '-shared', '-fPIC', '-x', 'c', '-', '-o', lib], input=source, text=True, check=True)
    return str(lib)


def library_rows():
    """(what, problems, expected piece or None for no problem)"""
    with tempfile.TemporaryDirectory() as d:
        root = pathlib.Path(d)
        plant(root, GOOD)
        for source, piece in (('int redan_go(void) { return 0; }', None), ('int redan_go(void) { return 0; } int rdn_x;', 'exports rdn_x'),
                              ('int redan_gone(void) { return 0; }', 'redan_go is declared and not exported')):
            yield f'symbols: {source}', symbols.check(root, shared_object(root, source), 'include/redan/redan.h'), piece


def tree_rows():
    with tempfile.TemporaryDirectory() as d:
        root = pathlib.Path(d)
        plant(root, GOOD)
        for c in (layers.check, sizes.check, tables.check, headers.check):
            yield f'{c.__module__}: the good tree', c(root), None
    for c, name, text, piece in PLANTED:
        with tempfile.TemporaryDirectory() as d:
            root = pathlib.Path(d)
            plant(root, {**GOOD, name: text})
            yield f'{c.__module__}: {name}', c(root), piece


CMOCKA = '[==========] Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\nno such locale\n[  SKIPPED ] b\n' \
         '[==========] 3 test(s) run.\n\n[  PASSED  ] 1 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] b\n'
# exit status, output, what run_all makes of it
COUNTS = (
    (0, '', (1, 0, [])),
    (0, 'fine\n', (1, 0, [])),
    (1, 'fine\n', (0, 1, [])),
    (-11, '12 passed, 0 failed\n', (12, 1, [])),              # it crashed after the count
    (0, 'seed 7\n12 passed, 3 failed\n', (12, 3, [])),        # the count is believed, not the status
    (0, 'conformance: 12 passed, 0 failed\n', (12, 0, [])),
    (0, '0 passed, 0 failed\n', (0, 0, ['t: it ran nothing'])),
    (77, 'why\nno compiler\n', (0, 0, ['t: no compiler'])),
    (77, '', (0, 0, ['t: no reason given'])),
    (0, CMOCKA, (1, 0, ['t: b: no such locale'])),
    (1, CMOCKA + '[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] c\n', (1, 1, ['t: b: no such locale'])),
    (-6, '[==========] Running 3 test(s).\n[ RUN      ] a\n', (0, 1, [])),
)
BELONGS = (
    ('release', {'unit'}, True), ('release', {'conform'}, True), ('clang', {'unit'}, True), ('clang', {'conform'}, False),
    ('asan', {'check', 'release'}, False), ('asan', {'conform', 'asan'}, True), ('tsan', {'unit'}, False), ('tsan', {'unit', 'tsan'}, True),
)


def runner_rows():
    for rc, output, want in COUNTS:
        got = tuple(run_all.count(rc, output, 't'))
        yield f'run_all.count({rc}, {output!r})', [] if got == want else [f'{got}'], None
    for setup, suites, want in BELONGS:
        yield f'run_all.belongs({setup}, {suites})', [] if run_all.belongs(setup, suites) == want else ['the other answer'], None


def main():
    passed = failed = 0
    for what, problems, piece in (*tree_rows(), *library_rows(), *runner_rows()):
        ok = not problems if piece is None else any(piece in p for p in problems)
        passed += ok
        failed += not ok
        if not ok:
            print(f'{what}: expected {piece!r}, got {problems}')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
