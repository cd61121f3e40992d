# SPDX-License-Identifier: Apache-2.0
"""Where redan-worker is. It comes with the system's package, not with the wheel: REDAN_WORKER names the program, REDAN_LIBEXEC its folder,
else it is looked for beside `redan` on PATH and where packages put it."""
import dataclasses
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import _redan

from ._errors import Error

THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclasses.dataclass(frozen=True)
class Found:
    program: pathlib.Path
    minor: str                                          # of the Python inside: "3.11"
    site: str | None                                    # its site packages; None: the system's


def missing(text: str) -> Error:
    return Error(-7, "R4343", 0, 0, "", text)


def _candidates() -> list[pathlib.Path]:
    if given := os.environ.get("REDAN_WORKER"):
        return [pathlib.Path(given)]
    if folder := os.environ.get("REDAN_LIBEXEC"):
        return [pathlib.Path(folder) / "redan-worker"]
    out = [pathlib.Path(p) / "redan-worker" for p in ("/usr/libexec/redan", "/usr/local/libexec/redan")]
    if tool := shutil.which("redan"):
        here = pathlib.Path(tool).resolve().parent
        out = [here / d / "redan-worker" for d in (".", "plugins", "../plugins", "../libexec/redan")] + out
    return out


def _check_version(program: pathlib.Path) -> None:
    want = f"redan-worker wire {_redan.WIRE_VERSION} role {_redan.ROLE_ABI}"
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError) as e:
        raise missing(f"{program} does not run: {e}") from None
    if said != want:
        raise missing(f"{program} is of another version: it says '{said}', this package needs '{want}'")


def _site() -> str | None:
    """Where this interpreter has NumPy, without importing it."""
    spec = importlib.util.find_spec("numpy")
    return str(pathlib.Path(spec.origin).parents[1]) if spec and spec.origin else None


def worker(any_minor: bool = False, kind: str = "python") -> Found:
    """The worker for this interpreter's version; any_minor: of another one if that is all there is. Or the one for plugins of another kind. Raises
    Error R4343."""
    tried = _candidates()
    program = next((p for p in tried if os.access(p, os.X_OK)), None)
    if program is None:
        raise missing(f"redan-worker is not installed; looked at {', '.join(map(str, tried))}; REDAN_WORKER or REDAN_LIBEXEC say where it is")
    _check_version(program)
    has = sorted(p.stem.removeprefix("redan-worker-python") for p in program.parent.glob("redan-worker-python3.*.so"))
    if kind != "python":
        role = "lua" if kind == "lua" else "native"
        if not os.access(program.parent / f"redan-worker-{role}.so", os.R_OK):
            raise missing(f"{program} is for no plugins of kind {kind}: there is no redan-worker-{role}.so beside it")
        return Found(program, THIS, None)
    if THIS in has:
        return Found(program, THIS, _site())
    if any_minor and has:
        return Found(program, has[-1], None)
    raise missing(f"{program} has no Python {THIS}; it has {', '.join(has) or 'none'}")
