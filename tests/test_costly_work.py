"""Costly work has places for each client."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from scenarioctl.config import Settings
from scenarioctl.errors import NotReady
from scenarioctl.server import limits
from scenarioctl.server.limits import AT_ONCE, Limits, Turn
from tests.messages import raises, says

Play = Callable[[Limits], Awaitable[None]]


def play(act: Play) -> None:
    async def whole() -> None:
        settings = Settings(config=Path("c.toml"), store="s.db", cache=Path("cache"))
        work = Limits(settings)
        await act(work)
        # All places are free again.
        async with AsyncExitStack() as others, asyncio.timeout(10):
            for number in range(AT_ONCE):
                await others.enter_async_context(Turn(f"free {number}", work).costly())

    asyncio.run(whole())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_one_client_has_one_place_and_others_go_past_it() -> None:
    seen: list[str] = []

    async def act(work: Limits) -> None:
        gates = {name: asyncio.Event() for name in ("a1", "a2", "b1")}

        async def request(name: str) -> None:
            async with Turn(name[0], work).costly():
                seen.append(name)
                await gates[name].wait()

        tasks = [asyncio.create_task(request(name)) for name in gates]
        await settle()
        assert seen == ["a1", "b1"]
        gates["b1"].set()
        await settle()
        assert seen == ["a1", "b1"]
        for gate in gates.values():
            gate.set()
        await asyncio.gather(*tasks)

    play(act)

    assert seen == ["a1", "b1", "a2"]


def test_clients_take_turns() -> None:
    seen: list[str] = []

    async def act(work: Limits) -> None:
        async def request(client: str) -> None:
            async with Turn(client, work).costly():
                seen.append(client)

        async with AsyncExitStack() as others:
            for number in range(AT_ONCE):
                await others.enter_async_context(Turn(f"other {number}", work).costly())
            tasks = [asyncio.create_task(request(client)) for client in "aaabc"]
            await settle()
            assert not seen
        await asyncio.gather(*tasks)

    play(act)

    assert seen[:3] == ["a", "b", "c"]
    assert seen[3:] == ["a", "a"]


def test_a_wait_has_an_end_and_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_SECONDS", 0.01)

    async def act(work: Limits) -> None:
        async with Turn("a", work).costly():
            with raises(NotReady, says("costly", "0.01 s")):
                async with Turn("a", work).costly():
                    pass
            gone = asyncio.create_task(Turn("a", work).costly().__aenter__())
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
        first = Turn("a", work)
        async with first.costly(), first.costly():
            pass
        async with Turn("a", work).costly():
            again = asyncio.create_task(later(first))
            await asyncio.sleep(0.05)
            assert not seen
        await again

    async def later(turn: Turn) -> None:
        async with turn.costly():
            seen.append("again")

    play(act)

    assert seen == ["again"]
