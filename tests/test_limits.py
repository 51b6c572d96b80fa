"""How much the daemon takes on, and what becomes of clients that ask for more, or for ever."""

from dataclasses import replace
from pathlib import Path

import pytest

from scenarioctl.config import Settings
from scenarioctl.errors import RateLimited
from scenarioctl.server.bodies import Limits
from tests.messages import says

SETTINGS = Settings(config=Path("c.toml"), store="s.db", cache=Path("cache"))


def test_a_client_has_its_rate_and_a_seconds_worth_at_once() -> None:
    moment = [100.0]
    limits = Limits(replace(SETTINGS, rate=4), clock=lambda: moment[0])

    for _ in range(4):
        limits.admit("a")
    with pytest.raises(RateLimited) as refused:
        limits.admit("a")
    limits.admit("b")
    moment[0] += 1 / 4
    limits.admit("a")
    with pytest.raises(RateLimited):
        limits.admit("a")
    moment[0] += 60
    for _ in range(4):
        limits.admit("a")
    with pytest.raises(RateLimited):
        limits.admit("a")

    assert str(refused.value) == says("4", "requests")
    assert refused.value.details == {"retry_after": 1}


def test_without_a_rate_nobody_is_counted() -> None:
    limits = Limits(SETTINGS)

    for _ in range(1000):
        limits.admit("a")

    assert len(limits._clients) == 0


def test_clients_that_are_quiet_are_forgotten() -> None:
    moment = [100.0]
    limits = Limits(replace(SETTINGS, rate=1), clock=lambda: moment[0])

    for number in range(10_000):
        limits.admit(f"client {number}")
    moment[0] += 2
    limits.admit("another")

    assert len(limits._clients) == 1


def test_a_change_of_the_rate_holds_at_once() -> None:
    limits = Limits(SETTINGS, clock=lambda: 100.0)

    limits.change(replace(SETTINGS, rate=1))
    limits.admit("a")
    with pytest.raises(RateLimited):
        limits.admit("a")
    limits.change(SETTINGS)

    limits.admit("a")
