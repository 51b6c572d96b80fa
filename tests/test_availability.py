"""How a chain answers: the age of its head by its own block time, and the history of 24 hours."""

import pytest

from scenarioctl.chains.availability import PART, PARTS, History, block_seconds, judge_head
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


def test_the_history_has_a_part_for_each_half_hour_since_the_first_answer() -> None:
    now = [1000.0 * PART + 5]
    history = History(clock=lambda: now[0])
    assert history.read() == (None, [])

    history.note_answer(0.1)
    now[0] += PART
    history.note("away")
    now[0] += 2 * PART
    history.note_answer(3)
    now[0] += PART
    history.note("away")
    history.note_answer(0.1)

    assert history.read() == (1000 * PART, ["answered", "away", None, "slow", "slow"])


def test_the_history_ends_after_24_hours() -> None:
    now = [0.0]
    history = History(clock=lambda: now[0])
    for part in range(3 * PARTS):
        now[0] = float(part * PART)
        history.note("answered")

    since, parts = history.read()
    assert (since, parts) == ((3 * PARTS - PARTS) * PART, ["answered"] * PARTS)
    assert len(history._parts) == PARTS
    now[0] += PARTS * PART
    assert history.read() == (None, [])
