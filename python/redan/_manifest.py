# SPDX-License-Identifier: Apache-2.0
"""plugin.yaml as far as a test needs it. `redan plugin check` is the judge of a manifest; nothing here accepts what it refuses on purpose,
but nothing is looked at that a call does not need."""
import contextlib
import dataclasses
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

from ._errors import Error


def refuse(code: str, where: pathlib.Path, text: str) -> Error:
    return Error(-9, code, 0, 0, str(where), text)


@dataclasses.dataclass
class Manifest:
    entry: pathlib.Path                                 # the .py file
    folder: pathlib.Path
    modules: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    data: dict[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    mem_cap_mib: int = 0
    time_cap_ms: int = 0
    selftest: pathlib.Path | None = None
    functions: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Manifest":
        p = pathlib.Path(path)
        if p.suffix == ".py":
            if not p.is_file():
                raise refuse("R4201", p, "no such file")
            return cls(p, p.parent)
        file = p if p.name == "plugin.yaml" else p / "plugin.yaml"
        if not file.is_file():
            raise refuse("R4201", file, "no such file")
        return cls._of(file, _yaml(file))

    @classmethod
    def _of(cls, file: pathlib.Path, top: dict[str, Any]) -> "Manifest":
        folder, plugin = file.parent, _map(file, top, "plugin")
        if plugin.get("kind", "python") != "python":
            raise refuse("R4206", file, f"this harness calls Python plugins, not {plugin['kind']}")
        if "entry" not in plugin:
            raise refuse("R4203", file, "plugin.entry is missing")
        limits, data = _map(file, top, "limits"), _map(file, top, "data")
        files = {str(k): folder / str(v) for k, v in data.items()}
        for f in (folder / plugin["entry"], *files.values()):
            if not f.is_file():
                raise refuse("R4201", f, "no such file")
        selftest = _map(file, top, "selftest").get("rows")
        golden = folder / (selftest or "tests/rows.csv")
        return cls(folder / plugin["entry"], folder, _names(plugin, "modules"), _names(plugin, "requires"), files, _map(file, top, "config"),
                   int(limits.get("mem_cap_mib", 0)), int(limits.get("time_cap_ms", 0)), golden if golden.is_file() else None,
                   tuple(_map(file, top, "functions")))

    @contextlib.contextmanager
    def importable(self) -> Iterator[None]:
        """The plugin's further modules are found, and are other plugins' business no more afterwards."""
        names = {m.removesuffix(".py") for m in self.modules}
        kept = {n: sys.modules.pop(n) for n in names if n in sys.modules}
        sys.path.insert(0, str(self.folder))
        try:
            yield
        finally:
            sys.path.remove(str(self.folder))
            for n in names:
                sys.modules.pop(n, None)
            sys.modules.update(kept)

    def confinable(self) -> None:
        """A worker takes one file as yet."""
        if self.modules or self.data:
            raise refuse("R4206", self.folder, "a worker started by the harness takes one file: no modules and no data")


def _yaml(file: pathlib.Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise refuse("R4201", file, "reading it needs PyYAML: pip install redan[testing]") from None
    try:
        top = yaml.safe_load(file.read_text())
    except (yaml.YAMLError, UnicodeError) as e:
        raise refuse("R4201", file, f"no YAML: {' '.join(str(e).split())}") from None
    if not isinstance(top, dict) or top.get("schema") != 1:
        raise refuse("R4203", file, "schema: 1 is missing")
    return top


def _map(file: pathlib.Path, top: dict[str, Any], key: str) -> dict[str, Any]:
    v = top.get(key)
    if v is not None and not isinstance(v, dict):
        raise refuse("R4203", file, f"{key} is no mapping")
    return v or {}


def _names(plugin: dict[str, Any], key: str) -> tuple[str, ...]:
    v = plugin.get(key) or ()
    return tuple(str(x) for x in v)
