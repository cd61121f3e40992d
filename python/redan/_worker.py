# SPDX-License-Identifier: Apache-2.0
"""Runs in the zygote before confinement, and while a plugin is loaded. Not for plugin authors."""
import os

# The hooks that standard modules would run in a forked child make locks and generators anew. No lock is held at our fork, there is one
# thread, and generators are reseeded for each worker; but the hooks write to two hundred pages, and each is copied.
_register_at_fork = os.register_at_fork
os.register_at_fork = lambda **_: None

import gc
import sys

ModuleSpec = type(sys.__spec__)                         # importlib.machinery's, which need not be imported for it
# Always there: cheap, pure, and what honest plugins import most.
STANDARD = ("abc array bisect collections contextlib copy csv dataclasses datetime decimal enum fractions functools gc hashlib heapq "
            "io itertools json logging math numbers operator random re statistics string struct threading time traceback types "
            "typing warnings zlib").split()
# What this file and the SDK use of these when they are asked to.
NEEDED = "dataclasses json linecache logging random".split()
# Packages that import parts of themselves on first use; a worker could not do that any more.
LAZY = {"numpy": ("numpy.random", "numpy.fft", "numpy.linalg", "numpy.polynomial", "numpy.ma", "numpy.lib.stride_tricks"),
        "collections": ("collections.abc",), "json": ("json.decoder", "json.encoder")}


class Hint:
    """Last on sys.meta_path: everything importable without a file has been asked already."""
    @staticmethod
    def find_spec(name, path=None, target=None):
        raise ModuleNotFoundError(f"R4204 module '{name}' is not preloaded in this group (operator: add it to preload)", name=name)


class Modules:
    """First on sys.meta_path: the plugin's own further modules, from memory."""
    def __init__(self, texts):
        self.texts = {name.removesuffix(".py"): (name, text) for name, text in texts.items()}

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name in self.texts else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        file, text = self.texts[module.__name__]
        register(file, text)
        module.__file__ = file
        exec(compile(text, file, "exec"), module.__dict__)


def modules(texts):
    sys.meta_path.insert(0, Modules(texts))           # first: the path finder would ask for files


def configure(functions, text):
    """The manifest's config: values for keyword-only parameters with a default, of the type that they have."""
    import json
    import redan
    redan._configure(functions, json.loads(text))


def _one_thread(after):
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError(f"R4407 a thread was started while importing '{after}'; it would not survive the fork")


def preload(site, names):
    """Step 3: the standard modules, then the operator's list; after "-" that list and what is NEEDED, after "--" that list alone."""
    if site:
        sys.path.append(site)
    first = {"-": NEEDED, "--": []}.get(names[0]) if names else None
    standard, names = (STANDARD + NEEDED, names) if first is None else (first, names[1:])
    for name in [*standard, None, *names]:
        if name is None:                                # what the operator adds may have its reasons
            os.register_at_fork = _register_at_fork
            continue
        __import__(name)
        for part in LAZY.get(name, ()):
            __import__(part)
        _one_thread(name)


def warm():
    """Step 4: numerical libraries map tens of MiB at their first product; that must lie below the baseline."""
    np = sys.modules.get("numpy")
    if np is not None:
        a = np.ones((256, 256))
        a @ a
        np.linalg.inv(a + np.eye(256))
        np.linalg.svd(a[:32, :32])
        np.sort(np.random.default_rng(1).random(512))
    _one_thread("numpy" if np is not None else "json")


def seal(log):
    """Steps 5 and 7: only now may the environment go: BLAS libraries read their thread count from it at import."""
    os.environ.clear()
    sys.stdin = sys.__stdin__ = None
    sys.stdout = sys.__stdout__ = sys.stderr = sys.__stderr__ = log
    sys.meta_path.append(Hint)
    sys.dont_write_bytecode = True
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.logMultiprocessing = logging.logProcesses = False
        logging.basicConfig(stream=log, format="%(levelname)s %(message)s", level=logging.INFO)


def freeze():
    gc.collect()
    gc.freeze()


def register(name, text):
    """Tracebacks show source lines without a file."""
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)


def reseed(seed, numpy_done):
    """fork copies the generators' state, and NumPy does not reseed its own: siblings would draw the same numbers."""
    if "random" in sys.modules:
        sys.modules["random"].seed(seed)
    np = None if numpy_done else sys.modules.get("numpy")
    if np is not None:
        np.random.seed([seed & 0xffffffff, seed >> 32])


def enum_class(name, members):
    import enum
    return enum.IntEnum(name, [(m, i) for i, m in enumerate(members)])


def event_dtype(fields, size):
    """fields: (name, format, offset)"""
    np = sys.modules["numpy"]
    return np.dtype({"names": [f[0] for f in fields], "formats": [f[1] for f in fields], "offsets": [f[2] for f in fields],
                     "itemsize": size})


_STATE_MAX = 1 << 20


def save():
    """What on_save answers, with a mark in front: bytes, or a dict as JSON. None: there is no on_save."""
    import json
    import redan
    fn = redan._state.get("save")
    if fn is None:
        return None
    state = fn()
    if isinstance(state, dict):
        mark, data = b"j", json.dumps(state, allow_nan=False).encode()
    elif isinstance(state, (bytes, bytearray)):
        mark, data = b"b", bytes(state)
    else:
        raise TypeError(f"on_save answers bytes or a dict, not {type(state).__name__}")
    if len(data) > _STATE_MAX:
        raise ValueError(f"on_save answers {len(data)} bytes, at most {_STATE_MAX} are carried")
    return mark + data


def restore(data):
    import json
    import redan
    fn = redan._state.get("load")
    if fn is None:
        raise LookupError("the old text has on_save, this one has no on_load")
    fn(json.loads(data[1:]) if data[:1] == b"j" else data[1:])
