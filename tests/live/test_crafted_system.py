"""Crafted transactions between system chains, checked and then sent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.cases import Case
from tests.live.conftest import Live
from tests.live.crafted import open_stage, play_case
from tests.live.rights import SYSTEM
from tests.live.stage import Stage

pytestmark = [pytest.mark.live, pytest.mark.one_python]
CASES = SYSTEM


@pytest.fixture(scope="module")
def stage(
    relay: Live, asset_hub: Live, system_chains: list[Live], live_config: Path
) -> Iterator[Stage]:
    names = [chain.name for chain in (relay, asset_hub, *system_chains)]
    yield from open_stage(live_config, "system", names)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_a_check_says_is_what_the_chains_do(stage: Stage, case: Case) -> None:
    play_case(stage, case)
