# SPDX-License-Identifier: Apache-2.0
"""What `redan plugin check` sees in the author's text. Runs as a plugin itself, confined: it parses and executes nothing.

The data file `spec` says what the manifest and the rules want; `0`, `1`, ... are the sources. finding() answers one finding a
call, "E R4222 file line col text", and an empty text at the end. R425x are advice, easy to get around: not a boundary."""
import _ast as ast
import sys

from _redan import data


def parse(text, mode="exec"):
    return compile(text, "<unknown>", mode, ast.PyCF_ONLY_AST)


def children(node):
    """As ast.iter_child_nodes; ast itself takes as long to import as all of this to run."""
    for name in node._fields:
        v = getattr(node, name, None)
        yield from [x for x in (v if isinstance(v, list) else [v]) if isinstance(x, ast.AST)]


def walk(node):
    nodes = [node]
    for n in nodes:
        nodes.extend(children(n))
    return nodes


def literal(node):
    """JSON is Python but for three words."""
    if isinstance(node, ast.Dict):
        return {literal(k): literal(v) for k, v in zip(node.keys, node.values)}
    if isinstance(node, ast.List):
        return [literal(x) for x in node.elts]
    return {"true": True, "false": False, "null": None}[node.id] if isinstance(node, ast.Name) else node.value


SPEC = literal(parse(bytes(data("spec")).decode(), "eval").body)
# A quick check has a worker with few modules in it; those that workers always have count, and what else is imported is left to a full one.
STANDARD = set(sys.modules["redan._worker"].STANDARD) | {m for part in sys.modules["redan._worker"].LAZY.values() for m in part} if SPEC["quick"] else set()
PRESENT = STANDARD | set(sys.modules) - {"ast", "_ast"} | set(sys.builtin_module_names) | {"__future__"} | set(SPEC["present"])
OUT = []
CLOCKS = {"time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns", "time.process_time",
          "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"}
DENIED_CALLS = {"open", "io.open", "os.open", "os.system", "os.fork", "os.popen", "os.listdir", "time.sleep", "input", "os.kill"}
DENIED_MODULES = {"socket", "subprocess", "multiprocessing", "asyncio", "ctypes", "urllib", "http", "ssl", "select", "signal", "concurrent"}
COLUMN = {"Bools": "bool", "Ints": "int", "Floats": "float", "Texts": "str", "bool": "bool", "int": "int", "float": "float", "str": "str",
          "sym": "sym", "time": "time", "dur": "dur", "date": "date"}
# What a rule type may be written as (python/redan/__init__.py has the same at load).
TAKES = {"time": {"time", "int"}, "dur": {"dur", "int"}, "date": {"date", "int"}, "sym": {"sym", "str"}, "float[]": {"float[]", "float"},
         "int[]": {"int[]", "int"}, "enum": {"enum", "int"}}


def base(t):
    for prefix, name in (("enum(", "enum"), ("str(", "str"), ("dec(", "dec")):
        if t.startswith(prefix):
            return name
    return t.split("[")[0] + "[]" if "[" in t else t


class Source:
    def __init__(self, shown, text, entry):
        self.shown, self.entry = shown, entry
        self.names = {}                                 # local name -> dotted origin
        self.aliases = {}                               # NAME = annotation, at module level
        self.globals = set()
        try:
            self.tree = parse(text)
        except SyntaxError as e:
            self.say("R4320", e.lineno or 1, e.offset or 1, f"SyntaxError: {e.msg}")
            self.tree = None
        except (ValueError, RecursionError, MemoryError) as e:
            self.say("R4320", 1, 1, f"{type(e).__name__}: {e}")
            self.tree = None

    def say(self, code, line, col, text, warning=False):
        OUT.append(f"{'W' if warning else 'E'} {code} {self.shown} {line} {col} {text}"[:250])

    def at(self, node, code, text, warning=False):
        self.say(code, node.lineno, node.col_offset + 1, text, warning)

    # ---- names ----
    def collect(self):
        for n in walk(self.tree):
            if isinstance(n, ast.Import):
                for a in n.names:
                    self.names[a.asname or a.name.split(".")[0]] = a.name if a.asname else a.name.split(".")[0]
            elif isinstance(n, ast.ImportFrom) and not n.level:
                for a in n.names:
                    self.names[a.asname or a.name] = f"{n.module}.{a.name}"
        for n in self.tree.body:
            targets = n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(n, ast.AnnAssign) else []
            for t in targets:
                if isinstance(t, ast.Name):
                    self.globals.add(t.id)
                    self.aliases[t.id] = n.value

    def dotted(self, node):
        """np.random.rand -> numpy.random.rand; None for what is no name."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            left = self.dotted(node.value)
            return f"{left}.{node.attr}" if left else None
        return None

    # ---- types ----
    def kind(self, a, depth=0):
        """The rule type an annotation stands for, "?" when it cannot be told here, None when it has none."""
        if depth > 8 or a is None:
            return "?"
        if isinstance(a, ast.Constant) and isinstance(a.value, str):
            try:
                return self.kind(parse(a.value, mode="eval").body, depth + 1)
            except SyntaxError:
                return None
        if isinstance(a, ast.BinOp) and isinstance(a.op, ast.BitOr):
            parts = [x for x in (a.left, a.right) if not (isinstance(x, ast.Constant) and x.value is None)]
            return self.kind(parts[0], depth + 1) if len(parts) == 1 else None
        if isinstance(a, ast.Subscript):
            outer = (self.dotted(a.value) or "").split(".")[-1]
            inner = a.slice.elts if isinstance(a.slice, ast.Tuple) else [a.slice]
            if outer == "Annotated":
                marks = [k for k in (self.mark(x) for x in inner[1:]) if k]
                return marks[-1] if marks else self.kind(inner[0], depth + 1)
            return self.kind(inner[0], depth + 1) if outer in ("Batch", "Optional") else "?"
        name = self.dotted(a)
        if name is None:
            return None
        if isinstance(a, ast.Name) and a.id in self.aliases:
            return self.kind(self.aliases[a.id], depth + 1)
        return COLUMN.get(name.split(".")[-1], "?" if "." in name and not name.startswith("redan") else name)

    def mark(self, node):
        if not isinstance(node, ast.Call):
            return self.kind(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        name = (self.dotted(node.func) or "").split(".")[-1]
        args = [x.value for x in node.args if isinstance(x, ast.Constant)]
        known = {"dec": f"dec({','.join(map(str, args))})", "text": f"str({','.join(map(str, args))})",
                 "enum": f"enum({','.join(map(str, args))})", "floats": "float[]", "ints": "int[]"}
        return known.get(name)

    # ---- what the plugin offers ----
    def marked(self):
        """(function, batch) of every function with @redan.plugin."""
        for n in self.tree.body:
            for d in getattr(n, "decorator_list", []):
                call = d.func if isinstance(d, ast.Call) else d
                if isinstance(n, ast.FunctionDef) and self.dotted(call) in ("redan.plugin", "plugin"):
                    batch = isinstance(d, ast.Call) and any(k.arg == "batch" and getattr(k.value, "value", False) for k in d.keywords)
                    yield n, batch

    def events(self):
        for n in self.tree.body:
            if isinstance(n, ast.ClassDef) and any(self.dotted(d) in ("redan.event", "event") for d in n.decorator_list):
                yield n


def agrees(have, want):
    b = base(want)
    if have == "?" or have == want or have == b:
        return True
    if b in ("dec", "event"):
        return False
    return base(have) in TAKES.get(b, {b}) and not (b == "enum" and have.startswith("enum(") and have != want)


def check_signature(s, fn, batch, want):
    args = fn.args.posonlyargs + fn.args.args
    rules = want["where"]
    if want["batch"] is not None and want["batch"] != batch:
        s.at(fn, "R4222", f"{fn.name}: batch is {str(batch).lower()} here, {str(want['batch']).lower()} in plugin.yaml")
    for a in args:
        if a.annotation is None:
            s.at(a, "R4221", f"{fn.name}: parameter '{a.arg}' has no type")
    if fn.args.vararg or fn.args.kwarg:
        s.at(fn, "R4221", f"{fn.name}: *args and **kwargs have no place in a signature")
    for a, default in zip(fn.args.kwonlyargs, fn.args.kw_defaults):
        if default is None:
            s.at(a, "R4221", f"{fn.name}: tunable '{a.arg}' has no default")
    if len(args) != len(want["params"]):
        s.at(fn, "R4222", f"{fn.name} takes {len(args)} parameters here, {len(want['params'])} in {rules}")
        return
    for a, (name, kind) in zip(args, want["params"]):
        have = s.kind(a.annotation) if a.annotation is not None else "?"
        if a.arg != name:
            s.at(a, "R4222", f"{fn.name}: parameter '{a.arg}' is '{name}' in {rules}")
        elif have is None:
            s.at(a, "R4221", f"{fn.name}: parameter '{a.arg}' has no usable type")
        elif not agrees(have, kind):
            s.at(a, "R4222", f"{fn.name}: parameter '{a.arg}' is {have} here, {kind} in {rules}")
    if fn.returns is None:
        s.at(fn, "R4221", f"{fn.name} has no return type")
    elif not agrees(s.kind(fn.returns) or "?", want["ret"]):
        s.at(fn, "R4222", f"{fn.name}: the answer is {s.kind(fn.returns)} here, {want['ret']} in {rules}")


def check_event(s, cls, fields):
    mine = []
    for n in cls.body:
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name):
            optional = isinstance(n.annotation, ast.BinOp)
            mine.append((n, n.target.id, (s.kind(n.annotation) or "?") + ("?" if optional else "")))
    for i, (name, kind, offset) in enumerate(fields):
        if i >= len(mine):
            s.at(cls, "R4223", f"layout of event '{cls.name}' differs: field {name} ({kind} at offset {offset}) is missing here")
            return
        node, have_name, have = mine[i]
        wrong = have_name != name or not (have.rstrip("?") == "" or agrees(have.rstrip("?"), kind.rstrip("?")) and have.endswith("?") == kind.endswith("?"))
        if wrong:
            there = next((o for n, _, o in fields if n == have_name), None)
            s.at(node, "R4223", f"layout of event '{cls.name}' differs: field {have_name}: host "
                 f"{'has none' if there is None else f'at offset {there}'}, here {have} at offset {offset}, where the host has {name}: {kind}")
            return
    if len(mine) > len(fields):
        node, name, _ = mine[len(fields)]
        s.at(node, "R4223", f"layout of event '{cls.name}' differs: field {name} is not in the rules")


def check_functions(sources):
    found, tunables = {}, set()
    for s in sources:
        for fn, batch in s.marked():
            found[fn.name] = s
            tunables |= {a.arg for a in fn.args.kwonlyargs}
            if fn.name in SPEC["functions"]:
                check_signature(s, fn, batch, SPEC["functions"][fn.name])
        for cls in s.events():
            if cls.name in SPEC["events"]:
                check_event(s, cls, SPEC["events"][cls.name])
    for name, want in SPEC["functions"].items():
        if name not in found:
            sources[0].say("R4323", 1, 1, f"no function '{name}' with @redan.plugin, which {want['where']} names")
    for name, line, col in SPEC["config"]:
        if name not in tunables:
            OUT.append(f"E R4203 {SPEC['manifest']} {line} {col} config.{name} is no tunable of the plugin's functions")


# ---- advice ----
def nested_repetition(pattern):
    def has(tree, inside):
        for op, arg in tree:
            if str(op) in ("MAX_REPEAT", "MIN_REPEAT"):
                many = str(arg[1]) == "MAXREPEAT" or int(arg[1]) > 16
                if inside and many or has(arg[2], inside or many):
                    return True
            elif str(op) == "SUBPATTERN" and has(arg[-1], inside):
                return True
            elif str(op) == "BRANCH" and any(has(b, inside) for b in arg[1]):
                return True
        return False
    import re                                           # there if a source says so
    try:
        return has(re._parser.parse(pattern), False)
    except Exception:
        return False


def check_call(s, n):
    name = s.dotted(n.func) or ""
    text = n.args[0].value if n.args and isinstance(n.args[0], ast.Constant) else None
    if name in DENIED_CALLS:
        hint = "put data in the manifest under 'data'" if name.endswith("open") else "the host owns time" if name == "time.sleep" else "it has no effect in a worker"
        s.at(n, "R4252", f"'{name}' is not available in a plugin; {hint}", True)
    elif name in CLOCKS:
        s.at(n, "R4254", f"'{name}' reads the wall clock: a replay gives other answers; redan.now() is the time of the event", True)
    elif name.startswith("numpy.random.") and name.split(".")[2] not in ("Generator", "SeedSequence", "PCG64", "Philox") or name.startswith("random."):
        s.at(n, "R4253", f"'{name}': redan.rng() gives the same numbers on replay", True)
    elif name.startswith("threading.") or name.split(".")[0] in DENIED_MODULES:
        s.at(n, "R4252", f"'{name}' is not available in a plugin: no threads, processes, sockets, signals", True)
    elif name.startswith("re.") and isinstance(text, str) and nested_repetition(text):
        s.at(n, "R4256", "a repetition inside a repetition: some texts take exponential time", True)


def check_loops(s, node, in_loop=False):
    for n in children(node):
        loop = in_loop or isinstance(n, (ast.For, ast.While))
        if isinstance(n, ast.Try):
            around = in_loop or any(isinstance(x, (ast.For, ast.While)) for b in n.body for x in walk(b))
            for h in n.handlers:
                caught = [x.id for x in walk(h.type) if isinstance(x, ast.Name)] if h.type else [None]
                if around and (None in caught or "BaseException" in caught):
                    what = "a bare 'except'" if h.type is None else "'except BaseException'"
                    s.at(h, "R4251", f"{what} also catches PluginTimeout: the worker will be killed instead of stopped", True)
        check_loops(s, n, loop)


def bare_uses(node, params):
    """Parameters that are stored as they are: not inside a call, an operation or a comparison."""
    if isinstance(node, ast.Name):
        return node.id in params
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(bare_uses(x, params) for x in node.elts)
    return isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Slice, ast.Constant)) and bare_uses(node.value, params)


def check_views(s, fn):
    params = {a.arg for a in fn.args.posonlyargs + fn.args.args}
    shared = {x for n in walk(fn) if isinstance(n, ast.Global) for x in n.names} | s.globals
    for n in walk(fn):
        kept = False
        if isinstance(n, ast.Assign) and bare_uses(n.value, params):
            declared = {x for g in walk(fn) if isinstance(g, ast.Global) for x in g.names}
            for t in n.targets:
                root = t
                while isinstance(root, (ast.Attribute, ast.Subscript)):
                    root = root.value
                kept = kept or isinstance(root, ast.Name) and (root.id in declared or root is not t and root.id in shared)
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("append", "add", "extend", "put", "appendleft"):
            kept = isinstance(n.func.value, ast.Name) and n.func.value.id in shared and any(bare_uses(a, params) for a in n.args)
        if kept:
            s.at(n, "R4255", f"{fn.name}: a batch view is kept in a global; it is gone when the call returns: copy the values", True)


def check_imports(s):
    own = set(SPEC["modules"])
    for n in walk(s.tree):
        names = [a.name for a in n.names] if isinstance(n, ast.Import) else [n.module] if isinstance(n, ast.ImportFrom) and not n.level else []
        for name in names:
            root = name.split(".")[0]
            if root in DENIED_MODULES:
                s.at(n, "R4252", f"'{name}' has no use in a plugin: no threads, processes, sockets, signals", True)
            if root in own or name in own or root == "redan" or name in PRESENT or root in SPEC["present"]:
                continue
            s.at(n, "R4204", f"module '{name}' is not preloaded in group '{SPEC['group']}' (operator: add it to group.{SPEC['group']}.preload)")
        if isinstance(n, ast.ImportFrom) and n.level:
            s.at(n, "R4204", "a plugin's modules are not a package: import them by name")


def main():
    sources = [Source(shown, bytes(data(str(i))).decode(), i == 0) for i, shown in enumerate(SPEC["sources"])]
    parsed = [s for s in sources if s.tree is not None]
    for s in parsed:
        s.collect()
    if parsed and parsed[0].entry:
        check_functions(parsed)
    for name in SPEC["requires"]:
        if name not in PRESENT:
            line, col = SPEC["requires_at"]
            OUT.append(f"E R4204 {SPEC['manifest']} {line} {col} module '{name}' is not preloaded in group '{SPEC['group']}' "
                       f"(operator: add it to group.{SPEC['group']}.preload)")
    for s in parsed:
        check_imports(s)
        check_loops(s, s.tree)
        for fn, batch in s.marked():
            if batch:
                check_views(s, fn)
        for n in walk(s.tree):
            if isinstance(n, ast.Call):
                check_call(s, n)


main()
if SPEC["quick"] and any(x.startswith("E R4204 ") for x in OUT):
    OUT = ["full"]
OUT.reverse()


def finding():
    return OUT.pop() if OUT else ""
