"""The loops on which the program runs: commands on asyncio's own, daemons on uvloop."""

import asyncio
from collections.abc import Iterator

import pytest

from scenarioctl.server.daemon import run_served


@pytest.fixture(
    scope="module", autouse=True, params=[asyncio.run, run_served], ids=["asyncio", "uvloop"]
)
def each_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the tests of the module that imports this run on both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "run", request.param)
        yield
