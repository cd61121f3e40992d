# SPDX-License-Identifier: Apache-2.0
"""examples/backtest: every block of its README, the LOBSTER sample with MARKET.md's numbers, and that a difference is seen. What needs a package that is
not installed is skipped by name."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import readme

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "examples/backtest"
DATA = pathlib.Path(os.environ.get("REDAN_SHARED", ROOT.parent / "shared")) / "data/lobster"
MESSAGES, LEVELS = DATA / "AAPL_2012-06-21_34200000_37800000_message_50.csv", DATA / "AAPL_2012-06-21_orderbook_50_first672.csv"
LOBSTER = (MESSAGES, "--date", "2012-06-21", "--tz", "America/New_York", "--seed", LEVELS)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """crossing.c, built as the README says."""
    if not shutil.which("cc") or not shutil.which("pkg-config"):
        pytest.skip("no C compiler or no pkg-config")
    out = tmp_path_factory.mktemp("crossing") / "crossing"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "redan"], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", HERE / "crossing.c", *flags, "-lm", "-o", out], check=True)
    return out


def table(*args, script=HERE / "backtest.py"):
    """(exit status, what it printed)"""
    r = subprocess.run([sys.executable, str(script), *map(str, args)], capture_output=True, text=True, timeout=300)
    return r.returncode, r.stdout + r.stderr


def test_readme(tmp_path):
    for package in ("backtrader", "hftbacktest"):
        pytest.importorskip(package)
    wrong = [f"{line}: {bad}" for line, bad in readme.page(pathlib.Path(sys.executable), (HERE / "README.md").read_text()) if bad]
    assert not wrong, "\n".join(wrong)


def test_lobster(program):
    if not MESSAGES.exists():
        pytest.skip("no LOBSTER sample in the shared data")
    rc, out = table(*LOBSTER, "--c", program)
    assert rc == 0, out
    lines = [line.split() for line in out.splitlines()]
    assert "16,146 best prices, spreads 3,674.04 in all" in out
    signals = {" ".join(line).partition(" 93 yes")[0] for line in lines if "93" in line}
    assert {"Python", "rules (crossing.rdn)", "C (crossing.c)"} <= signals, out
    for package, name in (("backtrader", "Python in backtrader"), ("hftbacktest", "the same orders in hftbacktest")):
        assert f"pip install {package}" in out or any(line.startswith(name) and " yes " in line for line in out.splitlines()), out


@pytest.mark.parametrize("file, was, now, rows", [("crossing.rdn", "ewma(mid, 50)", "ewma(mid, 51)", {"rules"}),
                                                  ("backtest.py", "(SLOW + 1.0)", "(SLOW + 2.0)", {"rules", "C"}),
                                                  ("backtest.py", "ticks.ask, ticks.bid)) < 1e-3", "ticks.ask, ticks.ask)) < 1e-3", {"the"})])
def test_a_difference_is_seen(tmp_path, program, file, was, now, rows):
    if "the" in rows:
        pytest.importorskip("hftbacktest")
    shutil.copytree(HERE, tmp_path / "b")
    text = (tmp_path / "b" / file).read_text()
    assert was in text
    (tmp_path / "b" / file).write_text(text.replace(was, now))
    rc, out = table("--c", program, script=tmp_path / "b/backtest.py")
    assert rc == 1 and {line.split()[0] for line in out.splitlines() if "NO" in line.split()} == rows, out
