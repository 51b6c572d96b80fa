"""How much the daemon takes on, and what becomes of clients that ask for more, or for ever."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from scenarioctl.config import Settings
from scenarioctl.errors import RateLimited
from scenarioctl.server.limits import Limits, RequestSlots
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


def test_requests_beyond_those_at_once_wait_in_line() -> None:
    async def play() -> list[str]:
        turns, seen = RequestSlots(2), list[str]()
        gate = asyncio.Event()

        async def work(name: str) -> None:
            async with turns:
                seen.append(f"{name} begins")
                await gate.wait()
            seen.append(f"{name} ends")

        tasks = [asyncio.create_task(work(name)) for name in "abcd"]
        await asyncio.sleep(0)
        seen.append(f"{turns.busy} at work, {turns.waiting} wait")
        gate.set()
        await asyncio.gather(*tasks)
        seen.append(f"{turns.busy} at work, {turns.waiting} wait")
        return seen

    assert asyncio.run(play()) == [
        *("a begins", "b begins", "2 at work, 2 wait"),
        *("a ends", "b ends", "c begins", "c ends", "d begins", "d ends"),
        "0 at work, 0 wait",
    ]


def test_the_line_has_an_end() -> None:
    async def play() -> str:
        turns = RequestSlots(1)

        async def wait() -> None:
            async with turns:
                pass

        async with turns:
            tasks = [asyncio.create_task(wait()) for _ in range(4)]
            await asyncio.sleep(0)
            with pytest.raises(RateLimited) as refused:
                await wait()
        await asyncio.gather(*tasks)
        assert (turns.busy, turns.waiting) == (0, 0)
        return str(refused.value)

    assert asyncio.run(play()) == says("1", "4")


def test_who_waits_too_long_is_sent_away_and_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarioctl.server.limits.WAITING_SECONDS", 0.02)

    async def play() -> tuple[str, int, int]:
        turns = RequestSlots(1)
        async with turns:
            with pytest.raises(RateLimited) as refused:
                async with turns:
                    pass
        async with turns:
            pass
        return str(refused.value), turns.busy, turns.waiting

    assert asyncio.run(play()) == (
        says("1", "0.02"),
        0,
        0,
    )


@pytest.mark.parametrize("given_first", [True, False])
def test_a_turn_that_comes_as_its_client_goes_is_passed_on(given_first: bool) -> None:
    async def play() -> tuple[int, int]:
        turns = RequestSlots(1)

        async def wait() -> None:
            async with turns:
                await asyncio.sleep(0)

        await turns.enter()
        goes, stays = asyncio.create_task(wait()), asyncio.create_task(wait())
        await asyncio.sleep(0)
        if given_first:
            turns.leave()
            goes.cancel()
        else:
            goes.cancel()
            turns.leave()
        with pytest.raises(asyncio.CancelledError):
            await goes
        await asyncio.wait_for(stays, 60)
        return turns.busy, turns.waiting

    assert asyncio.run(play()) == (0, 0)


def test_a_higher_limit_lets_in_those_that_wait() -> None:
    async def play() -> int:
        limits = Limits(replace(SETTINGS, requests=1))
        gate = asyncio.Event()

        async def work() -> None:
            async with limits.slots():
                await gate.wait()

        first = asyncio.create_task(work())
        tasks = [asyncio.create_task(work()) for _ in range(3)]
        await asyncio.sleep(0)
        limits.change(replace(SETTINGS, requests=3))
        first.cancel()
        await asyncio.sleep(0)
        busy = limits.busy
        gate.set()
        await asyncio.gather(*tasks)
        return busy

    assert asyncio.run(play()) == 3
