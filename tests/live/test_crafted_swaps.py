"""Crafted trades and contract calls on Hydration, checked and then sent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.cases import Case
from tests.live.conftest import Live
from tests.live.crafted import open_stage, play_case
from tests.live.rights import EXCHANGE
from tests.live.stage import Stage

pytestmark = pytest.mark.live
CASES = EXCHANGE


@pytest.fixture(scope="module")
def stage(omnipool: Live, live_config: Path) -> Iterator[Stage]:
    yield from open_stage(live_config, "omnipool", [omnipool.name])


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_a_check_says_is_what_the_exchange_does(stage: Stage, case: Case) -> None:
    play_case(stage, case)
