"""How a chain answers: the age of its head by its own block time."""

import pytest

from scenarioctl.chains.probing import block_seconds, judge_head
from scenarioctl.runtime.table import load_bundled


def test_the_runtime_tells_how_long_a_block_takes() -> None:
    found = {name: block_seconds(load_bundled(name)) for name in ("polkadot", "hydraDx")}

    assert found["polkadot"] == 6
    assert 0 < found["hydraDx"] <= 12
    assert block_seconds(None) == 12


@pytest.mark.parametrize(
    ("age", "block", "judged"),
    [
        (3, 6, "fresh"),
        (60, 6, "fresh"),
        (61, 6, "late"),
        (100, 24, "fresh"),
        (121, 24, "late"),
        (None, 6, "unknown"),
        # A clock that is a little behind, and one that is wrong.
        (-2, 6, "fresh"),
        (-40, 6, "unknown"),
    ],
)
def test_a_head_is_late_by_the_block_time_of_its_chain(
    age: float | None, block: float, judged: str
) -> None:
    assert judge_head(age, block) == judged
