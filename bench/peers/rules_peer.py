#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of bench-rules in other systems: one player of bench/duel.py, run by the Python of the peer's environment.

  rules_peer.py PEER DIR [PROGRAM]      DIR: rules.json and events.bin of bench-rules --serve; PROGRAM: of exprtk

Each peer is written the way its documentation shows for speed: everything is compiled beforehand, events are in the form the
peer likes (dictionaries, columns, a context) before the clock starts, and where there are several forms the fastest of a first try
is played. A peer with a batch interface gets all its events at once, although Redan judges one at a time beside it."""
import gc
import json
import os
import pathlib
import re
import struct
import sys
import time

FIELDS = ('price', 'qty', 'notional', 'account', 'symbol', 'side', 'position', 'cap', 'pnl', 'vol', 'spread', 'mid', 'exposure', 'margin',
          'drawdown', 'rate')
ROW = struct.Struct('<qdddqIBxxx10d')                    # struct set_event of bench/rule_sets.h
SLICE_S, ANSWERS_S, ANSWERS, BLOCK = 0.1, 2.0, 2048, 2048


def written(rule, at, and_word, or_word):
    """A rule in a language with these words; $ stands before each field."""
    parts = [f'({c})' for c in rule['and']]
    if 'or' in rule:
        parts.append('(' + or_word.join(f'({c})' for c in rule['or']) + ')')
    return and_word.join(parts).replace('$', at)


def rows(events):
    """Events as dictionaries."""
    return [dict(zip(FIELDS, e[1:])) for e in events]


# A form is (name, run): run(from, to) judges these events and returns one list (or array) of booleans an event, or what makes it
# where that takes time.
def zen_engine(rules, events):
    """Expressions compiled once (zen.compile_expression), or a decision compiled once and asked in a batch."""
    import zen
    texts = [written(r, '', ' and ', ' or ') for r in rules]
    each = [zen.compile_expression(t) for t in texts]
    whole = zen.compile_expression('[' + ', '.join(texts) + ']')
    dicts = rows(events)
    graph = {'nodes': [{'id': 'i', 'name': 'in', 'type': 'inputNode'}, {'id': 'o', 'name': 'out', 'type': 'outputNode'},
                       {'id': 'e', 'name': 'hits', 'type': 'expressionNode',
                        'content': {'expressions': [{'id': 'x', 'key': 'hits', 'value': '[' + ', '.join(texts) + ']'}]}}],
             'edges': [{'id': '1', 'sourceId': 'i', 'targetId': 'e', 'type': 'edge'}, {'id': '2', 'sourceId': 'e', 'targetId': 'o', 'type': 'edge'}]}
    engine = zen.ZenEngine({'loader': {'type': 'static', 'content': {'hits': graph}}})
    asked = [{'key': 'hits', 'context': d} for d in dicts]
    yield 'an expression a rule', lambda a, b: [[x.evaluate(d) for x in each] for d in dicts[a:b]]
    yield 'one expression', lambda a, b: [whole.evaluate(d) for d in dicts[a:b]]
    yield 'decision, batch', lambda a, b: [r['data']['result']['hits'] for r in engine.evaluate_batch(asked[a:b])]


def common_expression_language(rules, events):
    """Programs compiled once (cel.compile), contexts made beforehand."""
    import cel
    texts = [written(r, '', ' && ', ' || ') for r in rules]
    each = [cel.compile(t) for t in texts]
    whole = cel.compile('[' + ', '.join(texts) + ']')
    contexts = [cel.Context(variables=d) for d in rows(events)]
    yield 'a program a rule', lambda a, b: [[x.execute(c) for x in each] for c in contexts[a:b]]
    yield 'one program', lambda a, b: [whole.execute(c) for c in contexts[a:b]]


def cel_python(rules, events):
    """Its CompiledRunner, which turns an expression into Python; the values are CEL's already."""
    import celpy
    sys.setrecursionlimit(100000)
    kinds = {'account': celpy.celtypes.IntType, 'symbol': celpy.celtypes.IntType, 'side': celpy.celtypes.IntType}
    env = celpy.Environment(runner_class=celpy.CompiledRunner)
    each = [env.program(env.compile(written(r, '', ' && ', ' || '))) for r in rules]
    contexts = [{k: kinds.get(k, celpy.celtypes.DoubleType)(v) for k, v in d.items()} for d in rows(events)]
    yield 'a program a rule', lambda a, b: [[x.evaluate(c) for x in each] for c in contexts[a:b]]


def rule_engine(rules, events):
    """Rules made once, with the types of the fields known."""
    import rule_engine as engine
    context = engine.Context(type_resolver=engine.type_resolver_from_dict(dict.fromkeys(FIELDS, engine.DataType.FLOAT)))
    each = [engine.Rule(written(r, '', ' and ', ' or '), context=context) for r in rules]
    dicts = rows(events)
    yield 'matches', lambda a, b: [[x.matches(d) for x in each] for d in dicts[a:b]]


def columns(events):
    import numpy as np
    all_of = np.array(events, dtype=np.float64).T
    return {f: all_of[i + 1].astype(np.int64 if f in ('account', 'symbol', 'side') else np.float64) for i, f in enumerate(FIELDS)}


def numpy(rules, events):
    """Columns, an expression a rule; in one go or in blocks that stay in the cache."""
    import numpy as np
    cols = columns(events)
    text = ','.join(written(r, '', ' & ', ' | ') for r in rules)
    code = compile(f'[{text}]', 'rules', 'eval')

    def blocks(size):
        def run(a, b):
            out = np.empty((b - a, len(rules)), bool)
            for at in range(a, b, size):
                part = {f: c[at:min(at + size, b)] for f, c in cols.items()}
                for i, hit in enumerate(eval(code, part)):       # pylint: disable=eval-used
                    out[at - a:at - a + len(hit), i] = hit
            return out
        return run
    yield 'columns', blocks(len(events))
    yield 'blocks of 1,024', blocks(1024)


def numba_source(rules, form):
    """The three loops: over events, with jumps or without; over rules, which LLVM turns into vector code."""
    names = ', '.join(FIELDS)
    in_column = [re.sub(r'\$(\w+)', r'\1[i]', written(r, '$', *((' and ', ' or ') if form == 'branchy' else (' & ', ' | ')))) for r in rules]
    out = [f'def judge(out, {names}):']
    if form == 'loop a rule':
        for k, text in enumerate(in_column):
            out += ['    for i in range(price.shape[0]):', f'        out[{k}, i] = {text}']
        return '\n'.join(out)
    out.append('    for i in range(price.shape[0]):')          # a range that numba knows not to be negative, or it tests every index
    for k, text in enumerate(in_column):
        if k % 64 == 0:
            out.append('        w = np.uint64(0)')
        out += ([f'        if {text}:', f'            w |= np.uint64({1 << k % 64})'] if form == 'branchy' else
                [f'        w |= np.uint64({text}) << np.uint64({k % 64})'])
        if k % 64 == 63 or k == len(rules) - 1:
            out.append(f'        out[i, {k // 64}] = w')
    return '\n'.join(out)


def numba(rules, events):
    """Compiled loops over columns, which is what it is best at."""
    import numba as nb
    import numpy as np
    if len(rules) > 100:
        raise SystemExit('it compiles 1,000 rules for minutes')
    cols = list(columns(events).values())

    def loop(form):
        env = {'np': np}
        exec(numba_source(rules, form), env)             # pylint: disable=exec-used
        judge = nb.njit(boundscheck=False, error_model='numpy')(env['judge'])
        plane = form == 'loop a rule'
        blocks = [[c[at:at + BLOCK] for c in cols] for at in range(0, len(events), BLOCK)]     # a block stays in the cache
        shape = (len(blocks), len(rules), BLOCK) if plane else (len(blocks), BLOCK, (len(rules) + 63) // 64)
        out = np.zeros(shape, bool if plane else np.uint64)

        def run(a, b):
            for k in range(a // BLOCK, (b + BLOCK - 1) // BLOCK):
                judge(out[k], *blocks[k])
            return lambda: (out.transpose(0, 2, 1) if plane else out).reshape(-1, shape[1 if plane else 2])[a:b]
        run(0, 1)                                        # compiles
        return run
    for form in ('flat', 'branchy', 'loop a rule'):
        yield form, loop(form)


def numba_structs(rules, events):
    """Loops over an array of structs, as a program has its events when nobody made columns of them."""
    import numba as nb
    import numpy as np
    kinds = {'account': 'i8', 'symbol': 'u4', 'side': 'u1'}
    at = {f: o for f, o in zip(FIELDS, (8, 16, 24, 32, 40, 44, *range(48, 128, 8)))}
    form_of = np.dtype({'names': list(FIELDS), 'formats': [kinds.get(f, 'f8') for f in FIELDS], 'offsets': [at[f] for f in FIELDS], 'itemsize': ROW.size})
    rows_of = np.frombuffer(b''.join(ROW.pack(*e) for e in events), dtype=form_of)

    def loop(form):
        env = {'np': np}
        text = re.sub(r'(\w+)\[i\]', lambda m: f'e.{m[1]}' if m[1] in FIELDS else m[0], numba_source(rules, form))
        text = text.replace(', '.join(FIELDS), 'rows').replace('range(price.shape[0]):', 'range(rows.shape[0]):\n        e = rows[i]')
        exec(text, env)                                      # pylint: disable=exec-used
        judge = nb.njit(boundscheck=False, error_model='numpy')(env['judge'])
        out = np.zeros((len(events), (len(rules) + 63) // 64), np.uint64)

        def run(a, b):
            judge(out[a:b], rows_of[a:b])
            return out[a:b]
        run(0, 1)                                            # compiles
        return run
    for form in ('flat', 'branchy'):
        yield form, loop(form)


LUA = '''-- written by rules_peer.py
local ffi, bit = require("ffi"), require("bit")
ffi.cdef[[typedef struct { int64_t ts; double price, qty, notional; int64_t account; uint32_t symbol; uint8_t side, pad[3];
  double position, cap, pnl, vol, spread, mid, exposure, margin, drawdown, rate; } event;
  typedef struct { long sec, nsec; } timespec; int clock_gettime(int, timespec *);]]
local t, bor = ffi.new("timespec"), bit.bor
local function now() ffi.C.clock_gettime(1, t) return tonumber(t.sec) + tonumber(t.nsec) * 1e-9 end
local file = assert(io.open("events.bin", "rb"))
local bytes = file:read("*a")
local structs, tables, N = ffi.cast("const event *", bytes), {}, #bytes / ffi.sizeof("event")
for i = 0, N - 1 do                                      -- the other form: tables of numbers
  local e, x = structs[i], {}
  for _, f in ipairs{FIELDS} do x[f] = tonumber(e[f]) end
  tables[i] = x
end
local parts, HALVES = {}, HALVES_N
PARTS
local out = ffi.new("uint32_t[?]", HALVES)
local function judge(e) for p = 1, #parts do out[p - 1] = parts[p](e) end end
local function timed(events, n)
  local from = now()
  for i = 0, n - 1 do judge(events[i]) end
  return (now() - from) / n
end
local function first(events) local v = timed(events, 256) return math.min(v, timed(events, 256)) end
local a, b = first(structs), first(tables)
local events, form, ns = structs, "structs", a
if b < a then events, form, ns = tables, "tables", b end
local n = math.max(1, math.min(N, math.floor(SLICE_S / ns)))
io.write('{"form":"', form, '"}\\n') io.flush()
for line in io.lines() do
  local path = line:match("^answers (.*)")
  if path then
    local f, many = assert(io.open(path, "wb")), math.max(1, math.min(ANSWERS_N, math.floor(ANSWERS_S / ns)))
    for i = 0, many - 1 do judge(events[i]) f:write(ffi.string(out, 4 * HALVES)) end
    f:close()
    io.write('{"events":', many, '}\\n')
  else
    io.write(('{"ns":%.1f}\\n'):format(timed(events, n) * 1e9))
  end
  io.flush()
end
'''


def luajit(rules, folder):
    """LuaJIT with its own limits, 32 rules a function, on structs through ffi or on tables; a program of its own."""
    halves = 2 * ((len(rules) + 63) // 64)
    parts = []
    for h in range(halves):
        tests = [f'  if {written(r, "e.", " and ", " or ")} then w = bor(w, {1 << i}) end' for i, r in enumerate(rules[32 * h:32 * h + 32])]
        parts.append('\n'.join([f'parts[{h + 1}] = function(e)', '  local w = 0', *tests, '  return w', 'end']))
    text = LUA
    for word, by in (('PARTS', '\n'.join(parts)), ('FIELDS', ', '.join(f'"{f}"' for f in FIELDS)), ('HALVES_N', halves), ('ANSWERS_N', ANSWERS),
                     ('ANSWERS_S', ANSWERS_S), ('SLICE_S', SLICE_S)):
        text = text.replace(word, str(by))
    (folder / 'peer.lua').write_text(text)
    os.chdir(folder)
    os.execlp('luajit', 'luajit', 'peer.lua')


def exprtk(rules, folder):
    """A C++ program of its own (exprtk_peer.cpp), which is the language that ExprTk is for."""
    (folder / 'expressions.txt').write_text('\n'.join(written(r, '', ' and ', ' or ') for r in rules))
    program = sys.argv[3]
    os.execl(program, program, str(folder))


def packed(result, words):
    """Fired words of what a form returned: 64 rules a word, little-endian; words stay as they are."""
    out = bytearray()
    for event in result() if callable(result) else result:
        if getattr(event, 'dtype', None) == 'uint64':
            out += event.tobytes()
        else:
            out += sum(1 << i for i, hit in enumerate(event) if hit).to_bytes(8 * words, 'little')
    return bytes(out)


class Game:
    """The fastest of the forms after a first try; how many events fit into a slice."""

    def __init__(self, forms, events):
        self.events, self.s = events, 1e18
        for name, run in forms:
            s = min(self.seconds(run, n) for n in (self.fitting(self.seconds(run, 1), 0.01), self.fitting(self.seconds(run, 1), 0.05)))
            if s < self.s:
                self.name, self.run, self.s = name, run, s

    def seconds(self, run, n):
        from_s = time.perf_counter()
        run(0, n)
        return (time.perf_counter() - from_s) / n

    def fitting(self, s, budget):
        """Events for so many seconds; whole blocks where there are that many, because numba judges no less."""
        n = max(1, min(self.events, int(budget / s)))
        return n - n % BLOCK if n > BLOCK else n

    def slice(self):
        return {'ns': round(1e9 * self.seconds(self.run, self.fitting(self.s, SLICE_S)), 1)}

    def answers(self, path, words):
        n = min(ANSWERS, self.fitting(self.s, ANSWERS_S))
        pathlib.Path(path).write_bytes(packed(self.run(0, n), words))
        return {'events': n}


PEERS = {'zen-engine': zen_engine, 'common-expression-language': common_expression_language, 'cel-python': cel_python,
         'rule-engine': rule_engine, 'numpy': numpy, 'numba': numba, 'numba-structs': numba_structs}
PROGRAMS = {'luajit': luajit, 'exprtk': exprtk}      # this program becomes another one


def main():
    name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    rules = json.loads((folder / 'rules.json').read_text())
    if name in PROGRAMS:
        PROGRAMS[name](rules, folder)
    events = list(ROW.iter_unpack((folder / 'events.bin').read_bytes()))
    if name not in ('numpy', 'numba', 'numba-structs'):
        events = events[:ANSWERS]                        # dictionaries and contexts take memory
    from_s = time.perf_counter()
    forms = list(PEERS[name](rules, events))
    compile_ms = 1e3 * (time.perf_counter() - from_s)
    game = Game(forms, len(events))
    gc.freeze()
    gc.disable()
    print(json.dumps({'form': game.name, 'compile_ms': round(compile_ms)}), flush=True)
    for line in sys.stdin:
        what, _, path = line.strip().partition(' ')
        print(json.dumps(game.answers(path, (len(rules) + 63) // 64) if what == 'answers' else game.slice()), flush=True)


if __name__ == '__main__':
    sys.path = [p for p in sys.path if pathlib.Path(p or '.').resolve() != pathlib.Path(__file__).resolve().parent]
    main()
