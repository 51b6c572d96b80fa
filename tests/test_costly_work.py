"""Costly work has places for each client, and never holds a request slot."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from scenarioctl.errors import NotReady
from scenarioctl.server import limits
from scenarioctl.server.limits import (
    AT_ONCE,
    WAITING,
    WAITING_OF_CLIENT,
    CostlyWork,
    RequestSlots,
    Turn,
)
from tests.messages import raises, says

Play = Callable[[CostlyWork], Awaitable[None]]


def play(act: Play) -> CostlyWork:
    async def whole() -> CostlyWork:
        work = CostlyWork()
        await act(work)
        return work

    return asyncio.run(whole())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def turn_of(client: str, work: CostlyWork, slots: RequestSlots | None = None) -> Turn:
    return Turn(client, slots or RequestSlots(1), work)


def test_one_client_has_one_place_and_others_go_past_it() -> None:
    seen: list[str] = []

    async def act(work: CostlyWork) -> None:
        gates = {name: asyncio.Event() for name in ("a1", "a2", "b1")}

        async def request(name: str) -> None:
            async with turn_of(name[0], work).costly():
                seen.append(name)
                await gates[name].wait()

        tasks = [asyncio.create_task(request(name)) for name in gates]
        await settle()
        assert (seen, work.busy, work.waiting) == (["a1", "b1"], 2, 1)
        gates["b1"].set()
        await settle()
        assert seen == ["a1", "b1"]
        for gate in gates.values():
            gate.set()
        await asyncio.gather(*tasks)

    work = play(act)

    assert seen == ["a1", "b1", "a2"]
    assert (work.busy, work.waiting) == (0, 0)


def test_clients_take_turns() -> None:
    seen: list[str] = []

    async def act(work: CostlyWork) -> None:
        async def request(client: str) -> None:
            async with turn_of(client, work).costly():
                seen.append(client)

        async with AsyncExitStack() as others:
            for number in range(AT_ONCE):
                await others.enter_async_context(turn_of(f"other {number}", work).costly())
            tasks = [asyncio.create_task(request(client)) for client in "aaabc"]
            await settle()
            assert not seen
        await asyncio.gather(*tasks)

    play(act)

    assert seen[:3] == ["a", "b", "c"]
    assert seen[3:] == ["a", "a"]


def test_the_queue_of_a_client_has_an_end_and_that_of_all() -> None:
    refused: list[str] = []

    async def act(work: CostlyWork) -> None:
        async def request(client: str) -> None:
            async with turn_of(client, work).costly():
                pass

        async with AsyncExitStack() as others:
            for number in range(AT_ONCE):
                await others.enter_async_context(turn_of(f"{number}", work).costly())
            tasks = []
            for client in range(WAITING // WAITING_OF_CLIENT):
                tasks += [
                    asyncio.create_task(request(f"{client}")) for _ in range(WAITING_OF_CLIENT)
                ]
                await settle()
                if not client:
                    with pytest.raises(NotReady) as full:
                        await request("0")
                    refused.append(str(full.value))
            with pytest.raises(NotReady) as full:
                await request("another")
            assert full.value.details == {"retry_after": 1}
            refused.append(str(full.value))
        await asyncio.gather(*tasks)
        assert (work.busy, work.waiting) == (0, 0)

    play(act)

    assert refused[0] == says("32", "costly")
    assert refused[1] == says("128", "costly")


def test_a_wait_has_an_end_and_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_SECONDS", 0.01)

    async def act(work: CostlyWork) -> None:
        async with turn_of("a", work).costly():
            with raises(NotReady, says("costly", "0.01 s")):
                async with turn_of("a", work).costly():
                    pass
            gone = asyncio.create_task(turn_of("a", work).costly().__aenter__())
            await settle()
            gone.cancel()
            await settle()
            assert work.waiting == 0
        assert work.busy == 0

    play(act)


def test_costly_work_holds_no_request_slot_and_returns_to_one() -> None:
    async def act(work: CostlyWork) -> None:
        slots = RequestSlots(1)
        first, second = turn_of("a", work, slots), turn_of("b", work, slots)
        await first.enter()
        async with first.costly():
            assert (work.busy, slots.busy) == (1, 0)
            async with first.costly():
                # A part of it shares the place.
                assert work.busy == 1
            await second.enter()
            others = asyncio.create_task(slots.enter())
            await settle()
            returning = asyncio.create_task(asyncio.sleep(0))
            returning.add_done_callback(lambda _: second.leave())
        # It is the next, before others that have waited longer.
        assert (work.busy, slots.busy, others.done()) == (0, 1, False)
        first.leave()
        await others
        slots.leave()
        assert slots.busy == 0

    play(act)


def test_what_has_begun_is_not_refused_and_comes_next() -> None:
    seen: list[str] = []

    async def act(work: CostlyWork) -> None:
        first = turn_of("a", work)
        async with first.costly():
            waiting = [
                asyncio.create_task(request(work, str(number)))
                for number in range(WAITING_OF_CLIENT)
            ]
            await settle()
        begun = asyncio.create_task(again(first))
        await asyncio.gather(begun, *waiting)

    async def request(work: CostlyWork, name: str) -> None:
        async with turn_of("a", work).costly():
            await settle()
            seen.append(name)

    async def again(turn: Turn) -> None:
        async with turn.costly():
            seen.append("again")

    play(act)

    assert seen[:3] == ["0", "again", "1"]
