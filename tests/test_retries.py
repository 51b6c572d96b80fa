"""Delays between attempts."""

import pytest

from scenarioctl.retries import delay_after


@pytest.mark.parametrize(
    ("factor", "delays"), [(2, [0.5, 1, 2, 4, 8, 10, 10]), (3, [0.5, 1.5, 4.5, 10, 10, 10, 10])]
)
def test_delays_grow_up_to_the_longest(factor: int, delays: list[float]) -> None:
    assert [
        delay_after(count, first=0.5, longest=10, factor=factor) for count in range(1, 8)
    ] == delays


def test_a_million_failures_are_as_many_as_a_few() -> None:
    assert delay_after(1_000_000, first=0.2, longest=15) == 15


def test_jitter_is_a_quarter() -> None:
    delays = [delay_after(1, first=4, longest=10, jitter=True) for _ in range(1000)]

    assert all(3 <= delay <= 5 for delay in delays)
    assert min(delays) < 3.5
    assert max(delays) > 4.5
