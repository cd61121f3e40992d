# SPDX-License-Identifier: Apache-2.0
"""Random rule files for test_check.py: mostly well formed, often wrong in one place per declaration. Unlike the
generator of the conformance suite, whose files are right and run, these are about what the checker says."""
NUMS = ['0', '1', '2', '7', '-3', '1_000', '2.5', '1.50', '0.125', '-0.0', '5%', '25bps', '1e3', '1e-3', '0x1f', '9223372036854775807',
        '9223372036854775808', '1e308', '1e309', '0.1234567891', '1.10', '100']
KINDS = ['int', 'float', 'dec2', 'dec4', 'bool', 'sym', 'str', 'enum', 'time', 'dur', 'date', 'vec', 'ivec', 'mat']
TYPE = {'int': 'int', 'float': 'float', 'dec2': 'dec(2)', 'dec4': 'dec(4)', 'bool': 'bool', 'sym': 'sym', 'str': 'str(5)',
        'enum': 'enum(buy, sell)', 'time': 'time', 'dur': 'dur', 'date': 'date', 'vec': 'float[3]', 'ivec': 'int[3]', 'mat': 'float[2,3]'}
LIT = {'int': ['1', '0', '-5', '12'], 'float': ['1.5', '0', '-2', 'inf', '1e3'], 'dec2': ['1.5', '2', '-0.25'], 'dec4': ['1.5', '2', '0.0001'],
       'bool': ['true', 'false'], 'sym': ['"A"', '"B"'], 'str': ['"ab"', '"abcdef"'], 'enum': ['"buy"', '"sell"', '"hold"'],
       'time': ['2026-03-03T15:00:00Z', 'now', 'ts'], 'dur': ['1s', '250ms', '0s'], 'date': ['2026-03-03', '1970-01-01'],
       'vec': ['vec(1, 2, 3)', 'vec(1, 2)'], 'ivec': ['iv'], 'mat': ['vec(vec(1, 2, 3), vec(4, 5, 6))', 'vec(vec(1, 2), vec(3, 4))']}
ZONES = ['', '', ', "UTC"', ', "Europe/Paris"', ', "+02:00"', ', "Mars/Base"', ', "-03:30"']


BAD = {'"hold"', '"abcdef"', ', "Mars/Base"', '1 / 0', 'default 1 / 0', 'Nope', ' for 0s', 'c9', 'Mars/Base', 'median', ' partition by b', ' for 1s',
       ' partition by q9', ' partition by side', ' partition by acct', ' budget 400ns', 'nope', '1e309', '9223372036854775808', '0.1234567891', 'float[2]',
       '0.125', '2.5', '5%', '25bps', '1e-3', '1.10', '1.50', 'nolist', 'cal', 'ivec', '2, ', 'a, ', 'ZZ', 'p9', 'panes 4', 'exact 8', 'warmup 9', 'reset on R', 'reset on E',
       'vec(1, 2)', 'vec(vec(1, 2), vec(3, 4))', 'p0', 'none', '"x"', 'mod', '0', '-1', '3', 'f0', 'warm', 'qty', 'float', 'str', '0.0001', 'inf', 'accepted ', 'k', 'c0',
       'hold', 'throttle', 'accept', 'l0', 'bool', 'w0', 'score > 3 and '}


class Gen:
    def __init__(self, r):
        self.r = r
        self.tidy = r.random() < 0.5    # few mistakes, so that warnings and costs are seen
        self.wrong = r.choice((0.0, 0.0, 0.003)) if self.tidy else r.choice((0.01, 0.03, 0.1))
        self.pure = False               # fns, kernels: no now, no fields
        self.names = {}                 # kind -> names an expression may use
        self.wins, self.cwins, self.tables, self.lists, self.cals, self.fns, self.calls, self.emits = [], [], [], [], [], [], [], []
        self.out = []

    def pick(self, xs):
        if self.tidy:
            xs = [x for x in xs if not isinstance(x, str) or x not in BAD] or xs
        return self.r.choice(xs)

    def chance(self, p):
        return self.r.random() < p

    # ---- expressions
    def leaf(self, k):
        names = self.names.get(k, [])
        if names and self.chance(0.6):
            return self.pick(names)
        if self.chance(self.wrong):
            return self.pick(NUMS + ['none', 'score', 'nosuch', 'x1', '"text"'])
        if k in ('int', 'float', 'dec2', 'dec4') and self.chance(0.15):
            return self.pick(NUMS)
        if self.pure and k == 'ivec':
            return 'vec(1, 2, 3)'
        return self.pick([x for x in LIT[k] if not self.pure or x not in ('now', 'ts')])

    def expr(self, k, d=0):
        if self.chance(self.wrong):
            k = self.pick(KINDS)
        if d > 3 or self.chance(0.3):
            return self.leaf(k)
        f = getattr(self, 'e_' + k)
        s = f(d + 1)
        if self.chance(0.06):
            s = f'({s}) ?? {self.par(k, d + 1)}'
        elif self.chance(0.06):
            s = f'(if {self.expr("bool", d + 1)} then {s} else {self.expr(k, d + 1)})'
        return s

    def par(self, k, d):
        s = self.expr(k, d)
        return f'({s})' if ' ' in s or s.startswith('-') else s

    def num(self):
        return self.pick(['int', 'float', 'dec2', 'dec4'])

    def e_int(self, d):
        p, r = self.par, self.r
        return self.pick([
            lambda: f'{p("int", d)} {self.pick(["+", "-", "*", "/", "mod"])} {p("int", d)}',
            lambda: f'abs({p("int", d)})', lambda: f'sign({p(self.pick(["int", "dec2", "dur"]), d)})', lambda: f'min({p("int", d)}, {p("int", d)})',
            lambda: f'max({p("int", d)}, 3, {p("int", d)})', lambda: f'clamp({p("int", d)}, 0, {p("int", d)})', lambda: f'-{p("int", d)}',
            lambda: f'int({p(self.pick(["float", "dec4", "bool", "time", "str"]), d)})', lambda: f'len({p("str", d)})',
            lambda: f'find({p("str", d)}, {p("sym", d)})', lambda: f'{self.pick(["hour", "weekday", "year", "yearday", "milli"])}({p("time", d)}{self.pick(ZONES)})',
            lambda: f'{self.pick(["hours", "millis"])}({p("dur", d)})', lambda: f'bucket({p(self.pick(KINDS), d)}, {self.pick(["10", "1", "0", "1_000", "2.5"])})',
            lambda: f'{self.pick(["bit_and", "bit_or", "shl", "shr"])}({p("int", d)}, {p("int", d)})', lambda: f'bit_not({p("int", d)})',
            lambda: f'{p("ivec", d)}[{self.pick(["0", "2", "3", "-1", p("int", d)])}]', lambda: self.call('int', d), lambda: self.window('int', d)])()

    def e_float(self, d):
        p = self.par
        return self.pick([
            lambda: f'{p("float", d)} {self.pick(["+", "-", "*", "/"])} {p("float", d)}', lambda: f'{p("dec2", d)} / {p(self.pick(["dec4", "int"]), d)}',
            lambda: f'{self.pick(["sqrt", "exp", "log", "log2", "floor", "round", "normcdf", "sin"])}({p("float", d)})',
            lambda: f'{self.pick(["pow", "atan2", "hypot"])}({p("float", d)}, {p("float", d)})', lambda: f'float({p(self.pick(["int", "dec4", "str"]), d)})',
            lambda: f'{p("dur", d)} / {p("dur", d)}', lambda: f'dot({p("vec", d)}, {p("vec", d)})', lambda: f'{self.pick(["vsum", "vmin"])}({p(self.pick(["vec", "mat"]), d)})',
            lambda: f'{p("vec", d)}[{self.pick(["0", "1", "3"])}]', lambda: f'{p("mat", d)}[{self.pick(["0", "1"])}, {self.pick(["2", "1", "3"])}]',
            lambda: f'abs({p("float", d)})', lambda: f'min({p("float", d)}, {self.pick(NUMS)})', lambda: f'max(1, 2.5)', lambda: f'-{p("float", d)}',
            lambda: f'dist_km(1, 2, {p("float", d)}, 4)', lambda: self.call('float', d), lambda: self.window('float', d)])()

    def e_dec2(self, d, s=2):
        p, k = self.par, 'dec%d' % s
        return self.pick([
            lambda: f'{p(k, d)} {self.pick(["+", "-"])} {p(self.pick([k, "int", "dec2"]), d)}', lambda: f'{p(k, d)} * {self.pick(["2", "1.5", p("int", d), p("dec2", d)])}',
            lambda: f'round({p("dec4", d)}, {s})', lambda: f'dec({p(self.num(), d)}, {s})', lambda: f'div({p(k, d)}, {self.pick(["3", "1.25", p("int", d)])}, {s})',
            lambda: f'min({p(k, d)}, {p("dec2", d)}, 1.5)', lambda: f'abs({p(k, d)})', lambda: f'-{p(k, d)}', lambda: f'{p(k, d)} mod {p(k, d)}',
            lambda: self.cell(k, d), lambda: self.window(k, d)])()

    def e_dec4(self, d):
        return self.e_dec2(d, 4)

    def e_bool(self, d):
        p, k = self.par, self.pick(KINDS[:11])
        return self.pick([
            lambda: f'{p("bool", d)} {self.pick(["and", "or"])} {p("bool", d)}', lambda: f'not {p("bool", d)}',
            lambda: f'{p(self.num(), d)} {self.pick(["<", ">", "<=", "==", "!=", ">="])} {self.pick(NUMS)}',
            lambda: f'{p(k, d)} {self.pick(["==", "!=", "<"])} {p(k, d)}', lambda: f'{p(k, d)} {self.pick(["in", "not in"])} [{p(k, d)}, {p(k, d)}]',
            lambda: f'{p(k, d)} in {p(k, d)}..{p(k, d)}', lambda: f'{p(k, d)} in {self.pick(self.lists * 3 + ["nolist"])}',
            lambda: f'{p("time", d)} in {self.pick(self.cals * 3 + ([] if self.tidy else self.lists) + ["cal"])}', lambda: f'defined({p(k, d)})',
            lambda: f'{self.pick(["starts_with", "contains"])}({p("str", d)}, {p("sym", d)})', lambda: f'{self.pick(["is_nan", "is_finite"])}({p("float", d)})',
            lambda: f'{self.pick(["cross_up", "cross_down"])}({self.pick(self.wins + ["w0"])}, {self.pick(self.wins + NUMS + [p("int", d)])})',
            lambda: f'{p("int", d)} > {p("dec2", d)}', lambda: f'{self.pick(self.wins + ["qty"])} {self.pick([">", ">="])} {self.pick(["8", "9", "7"])}', lambda: f'{p("enum", d)} == {self.pick(LIT["enum"])}'])()

    def e_str(self, d):
        return self.leaf('str')

    def e_sym(self, d):
        return self.pick([lambda: self.leaf('sym'), lambda: self.cell('sym', d)])()

    def e_enum(self, d):
        return self.leaf('enum')

    def e_time(self, d):
        p = self.par
        return self.pick([lambda: f'{p("time", d)} {self.pick(["+", "-"])} {p("dur", d)}', lambda: f'time({p("str", d)})', lambda: f'max({p("time", d)}, {p("time", d)})',
                          lambda: self.leaf('time')])()

    def e_dur(self, d):
        p = self.par
        return self.pick([lambda: f'{p("time", d)} - {p("time", d)}', lambda: f'{p("dur", d)} {self.pick(["+", "-", "mod"])} {p("dur", d)}',
                          lambda: f'{p("dur", d)} {self.pick(["*", "/"])} {self.pick(["2", "1.5", p("int", d)])}', lambda: f'2 * {p("dur", d)}',
                          lambda: f'dur({p("str", d)})', lambda: f'-{p("dur", d)}', lambda: f'abs({p("dur", d)})'])()

    def e_date(self, d):
        return self.pick([lambda: f'date({self.par("time", d)}{self.pick(ZONES)})', lambda: self.leaf('date')])()

    def e_vec(self, d):
        p = self.par
        return self.pick([lambda: f'{p("vec", d)} {self.pick(["+", "*", "-", "/", "mod"])} {p(self.pick(["vec", "float", "ivec", "int"]), d)}',
                          lambda: f'vec({p("float", d)}, 2, {p("float", d)})', lambda: f'matvec({p("mat", d)}, {p("vec", d)})', lambda: f'-{p("vec", d)}'])()

    def e_ivec(self, d):
        return self.leaf('ivec')

    def e_mat(self, d):
        return self.leaf('mat')

    def call(self, k, d):
        fs = [f for f in self.fns + self.calls if f[1] == k] or self.fns
        if not fs:
            return self.leaf(k)
        n, _, ps = self.pick(fs)
        a = [q[1:] if q[0] == '!' else self.expr(q, d + 1) for q in ps]
        if self.chance(self.wrong):
            a = a[1:]
        return f'{n}({", ".join(a)})'

    def window(self, k, d):
        if not self.wins or self.tidy and self.chance(0.7):
            return self.leaf(k)
        w = self.pick(self.wins)
        return self.pick([w, w, f'prev({w})', f'{w}[{self.expr("sym", d + 1)}]', f'{w}[{self.expr(self.pick(KINDS), d + 1)}, {self.expr("int", d + 1)}]'])

    def cell(self, k, d):
        if not self.tables:
            return self.leaf(k)
        t = self.pick(self.tables)
        return f'{t}[{self.expr("sym", d + 1)}].{self.pick(["c0", "c0", "c1", "c9"])}'

    # ---- declarations
    def const(self, k):
        if k == 'ivec':
            return 'vec(1, 2, 3)'
        return self.pick([x for x in LIT[k] if x not in ('now', 'ts')]) if not self.chance(self.wrong * 3) else self.pick(NUMS + [f'-({self.pick(NUMS)})', '1 / 0', '2 * 3.5', f'1 + {self.pick(NUMS)}', '"x"', 'p0', 'none', 'abs(-2)', 'round(2.555, 2)', 'dec(1.005, 2)'])

    def params(self):
        for i in range(self.r.randrange(4)):
            k = self.pick(KINDS if self.chance(self.wrong) else KINDS[:11])
            rng = f' in {self.const(k)}..{self.const(k)}' if not self.tidy and self.chance(0.3) else ''
            self.out.append(f'param p{i}: {TYPE[k]} = {self.const(k)}{rng}')
            self.names.setdefault(k, []).append(f'p{i}')

    def data(self):
        for i in range(self.r.randrange(3)):
            k = self.pick(KINDS[:11])
            self.out.append(f'list l{i}: {TYPE[k]} = [{", ".join(self.const(k) for _ in range(self.r.randrange(1, 4)))}]')
            self.lists.append(f'l{i}')
        if self.chance(0.3):
            self.lists += ['l0'] if self.lists else []
            self.out.append(f'list hol: {self.pick(["date", "bool"])} = [2026-12-25]')
            self.out.append(f'calendar cal0 tz "{self.pick(["UTC", "Europe/Paris", "Mars/Base", "+05:30"])}" {{ mon..fri 09:30..16:00 except {self.pick(["hol", "hol", "nope"] + self.lists[:-1])} }}')
            self.cals += ['cal0', 'cal0']
        for i in range(self.r.randrange(3)):
            host = self.chance(0.4)
            kt, ct = 'sym' if self.tidy else self.pick(['sym', 'sym', 'int', 'float', 'str']), self.pick(KINDS[:11] if self.tidy else KINDS[:12])
            cols = f'{{ c0: dec(2)  {self.pick(["c1", "c1", "c0", "k"])}: {TYPE[ct]} }}'
            rows = self.pick(['from host', 'from host keys 1']) if host else '= {' + ' '.join(
                f'{self.pick([self.const(kt), self.const(kt), "default"])} : {self.const("dec2")}, {self.const(ct)}' for _ in range(self.r.randrange(2 if self.tidy else 3))) + '}'
            self.out.append(f'table t{i} by k: {TYPE[kt]} {cols} {rows}')
            self.tables.append(f't{i}')

    def functions(self):
        keep, self.pure = self.names, self.tidy
        for i in range(self.r.randrange(4)):
            k, ps = self.pick(KINDS[:11]), [self.pick(KINDS[:11]) for _ in range(self.r.randrange(3))]
            self.names = {q: [n for n in v if n[0] == 'p' and n != 'px'] for q, v in keep.items()}
            for j, q in enumerate(ps):
                self.names.setdefault(q, []).append(f'a{j}')
            self.fns.append((f'f{i}', k, ps))
            body = self.expr(k, 1)
            self.out.append(f'fn f{i}({", ".join(f"a{j}: {TYPE[q]}" for j, q in enumerate(ps))}) -> {TYPE[k]} = {body}')
        if self.chance(0.3):
            row = self.chance(0.4)
            k = self.pick(KINDS[:11])
            self.out.append(f'plugin g0({"o: " + self.pick(["E", "E", "Nope"]) + ", " if row else ""}b: {TYPE[k]}) -> {"float" if self.tidy else self.pick(["float", "float", "float[2]"])} deadline 1ms {self.pick(["", "default 0.5", "default 1 / 0"])}')
            self.calls.append(('g0', 'float', (['!E'] if row else []) + [k]))
        if self.chance(0.3):
            self.names = {'float': ['a', 'l'], 'int': ['i', 'n'], 'bool': []}
            body = [self.expr('float', 1) for _ in range(2)]
            red = self.pick(['sum', 'mean', 'min', 'max', 'quantile', 'median'])
            q = self.pick(['0.5, ', '0.975, ', '1, ', '2, ', 'a, ']) if red == 'quantile' else ''
            rnd = self.pick(['', f' + normal(n, i, {self.pick(["2", "0", "1"])})[0]'])
            self.out.append(f'kernel kk(a: float, n: {self.pick(["int", "int", "bool"])}) -> float deadline 1ms {{ each i < 100 let l = {body[0]}{rnd} reduce {red}({q}{body[1]}) }}')
            self.calls.append(('kk', 'float', ['float', 'int']))
        self.names, self.pure = keep, False

    def let(self, i, ev):
        k = self.pick(KINDS[:11])
        self.out.append(f'let v{i} on {ev} = {self.expr(k, 0)}')
        self.names.setdefault(k, []).append(f'v{i}')

    def one_window(self, i, ev):
        agg = self.pick(['count', 'sum', 'avg', 'min', 'max', 'stddev', 'distinct', 'last', 'first', 'ewma', 'zscore', 'delta'])
        val = '' if agg == 'count' else self.expr(self.pick(KINDS[:11] if agg in ('distinct', 'last', 'first') else ['int', 'float', 'dec2'] + ([] if self.tidy else ['dur'])), 2)
        if agg == 'ewma':
            val += ', ' + self.pick(['20', '5m', 'p0', 'p1', '0', '2.5', 'qty'])
        s = f'window w{i} = {agg}({val})'
        ring = self.pick(['', ' over 10s', ' over 10s', ' over 5 events', ' over 1m'])
        by = self.pick(['', ' by acct', ' by acct', ' by side, acct', ' by ' + self.expr(self.pick(KINDS), 3)])
        s += ('' if agg == 'ewma' and not self.chance(self.wrong * 3) else ring) + by + ' on ' + self.pick(['', '', 'accepted ']) + ev
        if self.chance(0.3):
            s += ' where ' + self.expr('bool', 1)
        for c in self.r.sample(['panes 4', 'exact 8', 'keys 100', 'keys 10 evict idle', 'warmup 3', 'warmup 9', 'local', 'reset on R', f'reset on {ev}'], self.pick([0, 0, 0, 1, 1, 2])):
            if c.split()[0] not in s:
                s += ' ' + c
        self.out.append(s)
        self.wins.append(f'w{i}')

    def act(self):
        code = self.pick(['AA', 'BB', 'CC'])
        msg = self.pick(['', '', f' "m {{{self.expr(self.pick(KINDS), 3).replace(chr(34), "")}}}"', ' "plain"'])
        k = self.r.randrange(9)
        if k < 4:
            return self.pick(['reject', 'hold', 'throttle', 'accept']) + f' {code}' + self.pick(['', '', ' for 1s', ' for 0s']) + msg
        if k < 6:
            return f'flag {code}{msg}'
        if k < 7:
            return f'score {code} {self.expr("int", 3) if self.chance(0.3) else "2"}'
        fs = [f'{self.pick("xyz")}: {self.expr(self.pick(KINDS[:11]), 3)}' for _ in range(self.r.randrange(3))]
        return f'emit {self.pick(["Alert", "Sig"])} {{ {", ".join(fs)} }}'

    def rule(self, i, ev):
        acts = ' '.join(self.act() for _ in range(1 if self.tidy else self.pick([1, 1, 1, 2, 3])))
        und = ' undefined skip' if self.tidy else self.pick(['', '', ' undefined skip', ' undefined flag UU', ' undefined ' + self.act()])
        head = self.pick(['', '', ' shadow', ' priority 5'])
        late = 'score > 3 and ' if self.chance(0.02 if self.tidy else 0.08) else ''
        self.out.append(f'rule r{i} on {ev}{head} {{ when {late}{self.expr("bool", 0)} {acts}{und} }}')

    def test(self, i):
        st = ['at 2026-03-03T15:00:00Z']
        n = 0 if self.tidy else 5
        full = ', '.join(f'{f}: {self.const(k)}' for f, k, o in self.fields if not o or self.chance(0.5))
        if self.tidy:
            st.append(f'E {{ {full} }}')
        for _ in range(self.r.randrange(1, n) if n else 0):
            st.append(self.pick([
                lambda: f'E {{ {full} }}' + self.pick(['', ' repeat 3', ' => reject AA, BB', ' => accept ..', ' => hold ZZ, undefined r0', ' => accept emit Alert { x: 1 }']),
                lambda: f'param {self.pick(["p0", "p1", "p9"])} = {self.const(self.pick(KINDS[:11]))}', lambda: f'mock {self.pick(["g0", "kk", "f0"])} = {self.pick(["0.5", "none", "1", "true"])}',
                lambda: f'row t0[{self.const("sym")}] = {self.pick(["none", "{ c0: 1.5, c1: 2 }", "{ c0: 1.5 }", "{ c0: 1, c0: 2 }", "{ c0: 1, zz: 2 }"])}',
                lambda: f'expect {self.expr("bool", 2)}', lambda: f'expect undefined({self.pick(["cold", "nan", "div0", "warm"])}) {self.expr("int", 2)}',
                lambda: 'after 5ms E { qty: 2 }'])())
        self.out.append(f'test "t{i}" {{ {" ".join(st)} }}')

    def file(self):
        r = self.r
        self.fields = [('acct', 'sym', False), ('side', 'enum', False), ('qty', 'int', False), ('px', 'dec4', False), ('f', 'float', False),
                       ('tag', 'str', False), ('at', 'time', True), ('d', 'date', True), ('u', 'dur', False), ('b', 'bool', True), ('v', 'vec', False),
                       ('iv', 'ivec', False), ('m', 'mat', False), ('c', 'dec2', True)]
        for n, k, _ in self.fields:
            self.names.setdefault(k, []).append(n)
        head = 'ruleset gen version 1' + self.pick([' undefined skip' if self.tidy else '', ' undefined reject UU', ' undefined skip', ' undefined flag FF "x"', ' undefined hold HH for 1s']) + \
            self.pick(['', '', '', ' partition by acct', ' partition by side', ' partition by b', ' partition by q9', ' budget 400ns', ' budget 4us'])
        ev = ' '.join(f'{n}: {TYPE[k]}{"?" if o else ""}' for n, k, o in self.fields)
        self.out.append(f'event E {{ {ev} }}')
        self.out.append(f'event R {{ acct: {self.pick(["sym", "sym", "int"])}  side: enum(buy, sell)  qty: int }}')
        self.params()
        self.data()
        self.functions()
        n = r.randrange(2, 9)
        for i in range(n):
            ev = 'R' if not self.tidy and self.chance(0.12) else 'E'
            self.pick([self.let, self.one_window, self.rule])(i, ev)
            if self.out[-1].startswith('rule') and self.chance(0.2):
                self.out.append(self.out[-1].replace(f'rule r{i} ', f'rule s{i} ').replace('reject', self.pick(['reject', 'hold'])))
        for i in range(r.randrange(3)):
            self.rule(n + i, 'E')
        if self.chance(0.15):
            r.shuffle(self.out)
        if self.chance(0.5):
            self.test(0)
        return (head + '\n' + '\n'.join(self.out) + '\n').encode()


def generate(r):
    return Gen(r).file()
