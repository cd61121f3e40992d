# SPDX-License-Identifier: Apache-2.0
"""The fixture redan_harness: the plugin whose plugin.yaml is nearest above the test file, or the one that the test names.

    def test_score(redan_harness):
        assert redan_harness.call("fraud_model", eur=[900.0], mcc=[7995], online=[True]).outcome == "value"

    @pytest.mark.redan("score.py", confined=True)       # options of redan.testing.Harness; beside the test file
    def test_confined(redan_harness): ...

A plugin that is not Python is always confined. Such a test is skipped, with the reason, where no plugin can be confined."""
import pathlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import Harness


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "redan(path, **options): the plugin that redan_harness loads, and options of redan.testing.Harness")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("redan").addoption("--redan-plugin", metavar="PATH", help="the plugin that redan_harness loads: a folder or a .py file")


def _nearest(start: pathlib.Path) -> pathlib.Path | None:
    return next((d for d in start.parents if (d / "plugin.yaml").is_file()), None)


@pytest.fixture
def redan_harness(request: pytest.FixtureRequest) -> "Harness":
    from ._manifest import Manifest
    from .testing import Harness, can_confine
    mark = request.node.get_closest_marker("redan")
    options = dict(mark.kwargs) if mark else {}
    given = request.config.getoption("--redan-plugin")
    if mark and mark.args:
        path = request.path.parent / mark.args[0]
    else:
        path = pathlib.Path(given) if given else _nearest(request.path)
    if path is None:
        pytest.fail(f"no plugin.yaml above {request.path}, and neither --redan-plugin nor @pytest.mark.redan(PATH)", pytrace=False)
    kind = Manifest.read(path).kind
    if (options.get("confined") or kind != "python") and (why := can_confine(kind)):
        pytest.skip(why)
    return Harness(path, **options)
