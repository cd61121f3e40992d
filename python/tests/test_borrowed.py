# SPDX-License-Identifier: Apache-2.0
"""Texts given to the extension that nobody else keeps: they are copied, or held while they are needed."""
import os
import subprocess
import sys

import pytest

from redan.testing import can_confine

PLUGIN = """
import redan
@redan.plugin
def f(x: int) -> int:
    import ctypes                                        # preloaded
    return ctypes.string_at(0)[0] if x else 1
"""
# A sequence that makes its items anew each time it is asked, and drops them.
NAMES = """
import os, sys
import _redan
class Names:
    def __len__(self): return 3
    def __getitem__(self, i):
        if i > 2: raise IndexError
        return "".join(list(["math", "json", "ctypes"][i]))
RULES = b'''ruleset t version 1
  undefined skip
event E { x: int }
plugin f(x: int) -> int deadline 1s default 0
rule r on E { when f(x) > 0 flag A }
'''
e = _redan.Engine()
e.workers(os.environ["REDAN_WORKER"], "%d.%d" % sys.version_info[:2], None)
for i in range(50):
    e.plugin("f" if not i else f"f{i}", sys.argv[1], 0, 0, Names())
rules, _ = e.compile("t.rdn", RULES, None)
print("good", e.activate(rules))
"""


@pytest.mark.skipif(bool(can_confine()), reason=can_confine() or "-")
def test_texts_of_the_moment(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    r = subprocess.run([sys.executable, "-c", NAMES, file], capture_output=True, text=True, timeout=60,
                       env={**os.environ, "PYTHONMALLOC": "debug"})      # freed texts are overwritten
    assert r.returncode == 0 and r.stdout.startswith("good"), r.stdout + r.stderr
