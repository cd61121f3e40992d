# SPDX-License-Identifier: Apache-2.0
"""A plugin as the host reads it: plugin.yaml with the host's own reader and its refusals, or one .py file without a manifest."""
import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import _redan

from ._errors import Error, translated


def _unpack(bundle: bytes, folder: pathlib.Path) -> None:
    """Files of a .rdb, whose names are plain: for the author's process alone; a host maps them from the bundle."""
    n = int.from_bytes(bundle[8:12], "little")
    at = 12 + n
    for f in json.loads(bundle[12:at])["files"]:
        (folder / f["name"]).write_bytes(bundle[at:at + f["bytes"]])
        at += f["bytes"]


@dataclasses.dataclass
class Manifest:
    path: pathlib.Path                                  # as the host takes it: the folder, the one file
    entry: pathlib.Path                                 # the file of the functions
    kind: str = "python"
    modules: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    data: dict[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    mem_cap_mib: int = 0
    time_cap_ms: int = 0
    rules: pathlib.Path | None = None
    functions: dict[str, str] = dataclasses.field(default_factory=dict)      # name: signature as rules write it, or ""
    group: str = "default"
    id: str = ""                                        # "": one file without a manifest
    threads: int = 0
    kept: "tempfile.TemporaryDirectory[str] | None" = None      # of a bundle's files, as long as this is used

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Manifest":
        p = pathlib.Path(path)
        if p.name == "plugin.yaml":
            p = p.parent
        raw = translated(_redan.pack)(os.fspath(p))
        if raw["bare"]:
            return cls(p, p, raw["kind"])
        given, kept = p, None
        if p.is_file():                                 # a bundle, whose hashes the host's reader has compared
            kept = tempfile.TemporaryDirectory(prefix="redan-bundle-")
            p = pathlib.Path(kept.name)
            _unpack(given.read_bytes(), p)
        return cls(given, p / raw["entry"], raw["kind"], tuple(raw["modules"]), tuple(raw["requires"]), {k: p / v for k, v in raw["data"].items()},
                   json.loads(raw["config"] or "{}"), raw["mem_cap_mib"], raw["time_cap_ms"], p / raw["rules"] if raw["rules"] else None,
                   {name: signature or "" for name, (signature, _) in raw["functions"].items()}, raw["group"], raw["id"], raw["threads"], kept)

    @contextlib.contextmanager
    def importable(self) -> Iterator[None]:
        """The plugin's further modules are found, and are other plugins' business no more afterwards."""
        names = {m.removesuffix(".py") for m in self.modules}
        kept = {n: sys.modules.pop(n) for n in names if n in sys.modules}
        sys.path.insert(0, str(self.entry.parent))
        try:
            yield
        finally:
            sys.path.remove(str(self.entry.parent))
            for n in names:
                sys.modules.pop(n, None)
            sys.modules.update(kept)
