"""Costly work has few places."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from scenarioctl.config import Settings
from scenarioctl.errors import NotReady
from scenarioctl.server import bodies as limits
from scenarioctl.server.bodies import AT_ONCE, Limits, Turn
from tests.messages import raises, says

Play = Callable[[Limits], Awaitable[None]]


def play(act: Play) -> None:
    async def whole() -> None:
        settings = Settings(config=Path("c.toml"), store="s.db", cache=Path("cache"))
        work = Limits(settings)
        await act(work)
        # All places are free again.
        async with AsyncExitStack() as others, asyncio.timeout(10):
            for _ in range(AT_ONCE):
                await others.enter_async_context(Turn(work).costly())

    asyncio.run(whole())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_costly_work_waits_for_a_place() -> None:
    seen: list[int] = []

    async def act(work: Limits) -> None:
        gate = asyncio.Event()

        async def request(number: int) -> None:
            async with Turn(work).costly():
                seen.append(number)
                await gate.wait()

        tasks = [asyncio.create_task(request(number)) for number in range(AT_ONCE + 1)]
        await settle()
        assert seen == [*range(AT_ONCE)]
        gate.set()
        await asyncio.gather(*tasks)

    play(act)

    assert seen == [*range(AT_ONCE + 1)]


def test_a_wait_has_an_end_and_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_SECONDS", 0.01)

    async def act(work: Limits) -> None:
        async with AsyncExitStack() as others:
            for _ in range(AT_ONCE):
                await others.enter_async_context(Turn(work).costly())
            with raises(NotReady, says("costly", "0.01 s")):
                async with Turn(work).costly():
                    pass
            gone = asyncio.create_task(Turn(work).costly().__aenter__())
            await settle()
            gone.cancel()
            await settle()

    play(act)


def test_parts_of_a_request_share_a_place_and_what_has_begun_is_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "WAITING_SECONDS", 0.01)
    seen: list[str] = []

    async def act(work: Limits) -> None:
        first = Turn(work)
        async with first.costly(), first.costly():
            pass
        async with AsyncExitStack() as others:
            for _ in range(AT_ONCE):
                await others.enter_async_context(Turn(work).costly())
            again = asyncio.create_task(later(first))
            await asyncio.sleep(0.05)
            assert not seen
        await again

    async def later(turn: Turn) -> None:
        async with turn.costly():
            seen.append("again")

    play(act)

    assert seen == ["again"]
