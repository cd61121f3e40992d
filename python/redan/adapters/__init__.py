# SPDX-License-Identifier: Apache-2.0
"""Market files for backtest frameworks: redan.adapters.hftbacktest, .backtrader, .nautilus, .frames. Each imports its framework when it is
used, and says how to get it when it is not there."""
import importlib
from typing import Any


def needed(module: str, package: str | None = None) -> Any:
    """The module, or an ImportError that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        top = module.split(".", maxsplit=1)[0]
        if e.name is not None and e.name.split(".", maxsplit=1)[0] != top:
            raise                                        # the framework is there and lacks something of its own
        raise ImportError(f"{top} is not installed: pip install {package or top}") from None
