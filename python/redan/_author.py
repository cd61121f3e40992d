# SPDX-License-Identifier: Apache-2.0
"""What a call knows, in a process that is no worker: an author's tests and notebooks. redan.testing sets it around each call.

Outside of a call now() is 0, seed() a constant, and data() finds the files of the plugin that was loaded last."""
import pathlib


class PluginTimeout(BaseException):
    """Raised in the plugin at its deadline. Let it pass: a plugin that goes on is killed."""


class _Call:
    now_ns: int = 0
    seed: int = 1
    files: dict[str, pathlib.Path] = {}
    folder: pathlib.Path | None = None


def now() -> int:
    """Event time of the newest row, ns."""
    return _Call.now_ns


def seed() -> int:
    """Seed of this plugin, generation and lane."""
    return _Call.seed


def data(name: str) -> memoryview:
    """Read-only memoryview of a packed file; np.frombuffer on it copies nothing."""
    path = _Call.files.get(name)
    if path is None and _Call.folder is not None and "/" not in name and (_Call.folder / name).is_file():
        path = _Call.folder / name
    if path is None:
        raise FileNotFoundError(f"no data file '{name}' in the plugin")
    return memoryview(path.read_bytes())
