"""Crafted XCM programs, checked and then sent: no check that says ok may be wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.cases import Case
from tests.live.conftest import Live
from tests.live.crafted import open_stage, play_case
from tests.live.stage import Stage
from tests.live.truth_cases import programs

pytestmark = [pytest.mark.live, pytest.mark.one_python]
CASES = programs()


@pytest.fixture(scope="module")
def stage(relay: Live, asset_hub: Live, dex: Live, live_config: Path) -> Iterator[Stage]:
    yield from open_stage(live_config, "xcm", [relay.name, asset_hub.name, dex.name])


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_a_check_says_is_what_the_chains_do(stage: Stage, case: Case) -> None:
    play_case(stage, case)
