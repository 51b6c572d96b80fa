"""Chains under a daemon: one connection, kept, off the event loop, and never asked with the types
of another runtime."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains import pool as pools
from scenarioctl.chains.client import Client
from scenarioctl.chains.pool import Backoff, Pool
from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.runtime.table import RuntimeTable
from tests.blocks import header_of
from tests.canned import GENESIS, HEAD, answers, opaque, polkadot_at
from tests.conftest import DATA
from tests.messages import says
from tests.node import Feed, Gone, Node, Refusal
from tests.runtimes import bundled

NOWHERE = "ws://127.0.0.1:1/"
REFUSED = f"Polkadot cannot be reached ({NOWHERE} did not open: Connection refused)"
OLDER = DATA / "metadata" / "polkadot-1006000.v15.scale"
CURRENT = {"specName": "polkadot", "specVersion": 2000000}


def node(**changes: Any) -> Node:
    """Return a node of polkadot that runs the bundled runtime, and can tell the metadata of an
    older one."""
    older = opaque(OLDER.read_bytes())
    return Node(
        answers(
            "polkadot",
            state_call=lambda _, version, *__: older if version == "0x0f000000" else "0x00",
            **changes,
        )
    )


class Gate:
    """An answer that is held back until the test lets it out; it tells how many wait for it."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.waiting = threading.Semaphore(0)
        self.open = threading.Event()

    async def reached(self, times: int = 1) -> None:
        """Wait until that many requests wait at the gate."""
        for _ in range(times):
            assert await asyncio.to_thread(self.waiting.acquire, timeout=60)


class SlowNode(Node):
    """A node each of whose connections waits by itself: an answer that blocks holds up no other."""

    def __init__(self, answers: Any) -> None:
        super().__init__(answers)
        self.connections = 0
        self.most = 0

    async def talk(self, http: Any, socket: Any) -> None:
        import json

        self.connections += 1
        self.most = max(self.most, self.connections)
        try:
            async for message in socket:
                request = json.loads(message.data)
                gate = self.answers.get(request["method"])
                if not isinstance(gate, Gate):
                    await socket.send_str(json.dumps(self._answer(request)))
                    continue
                self.asked.append(request["method"])
                gate.waiting.release()
                while not gate.open.is_set() and not socket.closed:
                    await asyncio.sleep(0.002)
                    if http.transport is None or http.transport.is_closing():
                        return
                await socket.send_str(
                    json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": gate.answer})
                )
        finally:
            self.connections -= 1


def slow(**changes: Any) -> SlowNode:
    return SlowNode(answers("polkadot", **changes))


@asynccontextmanager
async def pool_of(tmp_path: Path, *endpoints: str, **how: Any) -> AsyncIterator[Pool]:
    known = how.pop("known", bundled("polkadot"))
    found = Pool(polkadot_at(*endpoints), known=known, cache=tmp_path, **how)
    try:
        yield found
    finally:
        await found.close()


# Connections


async def test_nothing_is_opened_until_a_chain_is_asked_and_then_kept(tmp_path: Path) -> None:
    with slow(chain_getBlock="a block") as one:
        async with pool_of(tmp_path, one.url) as pool:
            first, second = Client(pool), Client(pool)
            before = one.most
            said = [await first.call("chain_getBlock"), await second.call("chain_getBlock")]
            opened = one.most

    assert (before, said, opened) == (0, ["a block", "a block"], 1)


async def test_who_goes_away_leaves_the_connection_to_nobody(tmp_path: Path) -> None:
    gate = Gate("for whoever went away")
    with slow(chain_getBlock=gate, chain_getHeader="mine") as one:
        async with pool_of(tmp_path, one.url) as pool:
            client = Client(pool)
            asking = asyncio.create_task(client.call("chain_getBlock"))
            await gate.reached()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            gate.open.set()
            other = await Client(pool).call("chain_getHeader")
            # The same client goes on too, as after a timeout of one step.
            same = await client.call("chain_getHeader")

    assert (other, same) == ("mine", "mine")


async def test_everybody_hears_the_answer_to_their_own_question_whoever_goes_away(
    tmp_path: Path,
) -> None:
    async def ask(pool: Pool, number: int) -> Any:
        client = Client(pool)
        try:
            async with asyncio.timeout((number % 7) / 500 if number % 2 else None):
                return await client.call("echo", number)
        except TimeoutError:
            # And the same client goes on.
            return await client.call("echo", number)

    with slow(echo=lambda number: number) as one:
        async with pool_of(tmp_path, one.url) as pool:
            said = await asyncio.gather(*(ask(pool, number) for number in range(400)))
            most = one.most

    assert (said, most) == (list(range(400)), 1)


async def test_a_pool_is_closed_at_once_whatever_its_clients_wait_for(tmp_path: Path) -> None:
    opening, answering = Gate(CURRENT), Gate("late")
    with slow(state_getRuntimeVersion=opening) as first, slow(chain_getBlock=answering) as second:
        async with pool_of(tmp_path, first.url) as one, pool_of(tmp_path, second.url) as other:
            asking = [
                asyncio.create_task(Client(pool).call("chain_getBlock")) for pool in (one, other)
            ]
            await opening.reached()
            await answering.reached()
            started = time.perf_counter()
            await one.close()
            await other.close()
            ended = await asyncio.gather(*asking, return_exceptions=True)
            passed = time.perf_counter() - started

    assert [str(error) for error in ended] == [
        "the connections to Polkadot were closed before it answered"
    ] * 2
    # Not the 20 that an answer may take.
    assert passed < 15


async def test_what_a_node_refuses_costs_no_connection(tmp_path: Path) -> None:
    def refuse(*_: Any) -> None:
        raise Refusal(-32000, "no")

    with slow(chain_getBlock=refuse) as one:
        async with pool_of(tmp_path, one.url) as pool:
            for _ in range(3):
                with pytest.raises(ChainRefused):
                    await Client(pool).call("chain_getBlock")

    assert one.asked.count("state_getRuntimeVersion") == 1


async def test_a_connection_lost_in_the_middle_is_replaced_and_the_question_asked_again(
    tmp_path: Path,
) -> None:
    left = [Gone("killed")]

    def sometimes(*_: Any) -> str:
        if left:
            raise left.pop()
        return "a block"

    with node(chain_getBlock=sometimes) as one:
        async with pool_of(tmp_path, one.url) as pool:
            said = [await Client(pool).call("chain_getBlock") for _ in range(2)]

    assert said == ["a block", "a block"]
    assert one.asked.count("state_getRuntimeVersion") == 2


async def test_what_acts_is_not_asked_twice_where_the_connection_is_lost(tmp_path: Path) -> None:
    with node(author_submitExtrinsic=lambda _: (_ for _ in ()).throw(Gone("killed"))) as one:
        async with pool_of(tmp_path, one.url) as pool:
            with pytest.raises(ChainUnreachable):
                await Client(pool).submit("author_submitExtrinsic", "0x00")
            after = await Client(pool).call("chain_getHeader")

    assert one.asked.count("author_submitExtrinsic") == 1
    assert after == header_of(HEAD)


async def test_a_connection_that_died_while_idle_is_replaced_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "QUIET", 0.0)

    with node(author_submitExtrinsic="0xhash") as second, ExitStack() as until_killed:
        first = until_killed.enter_context(node())
        async with pool_of(tmp_path, first.url, second.url) as pool:
            await Client(pool).table()
            until_killed.close()
            said = await Client(pool).submit("author_submitExtrinsic", "0x00")

    assert said == "0xhash"
    assert second.asked == [
        "chain_getBlockHash",
        "state_getRuntimeVersion",
        "author_submitExtrinsic",
    ]


# Subscriptions


async def test_a_subscription_goes_on_beside_other_questions(tmp_path: Path) -> None:
    with node(chain_subscribeNewHeads=lambda: Feed([1, 2, 3]), chain_getBlock="a block") as one:
        async with pool_of(tmp_path, one.url) as pool:
            following, other = Client(pool), Client(pool)
            seen = []
            async with aclosing(
                following.subscribe("chain_subscribeNewHeads", ended_by="chain_unsubscribeNewHeads")
            ) as heads:
                async for head in heads:
                    seen.append(
                        (
                            head,
                            await other.call("chain_getBlock"),
                            await following.call("chain_getBlock"),
                        )
                    )
                    if head == 3:
                        break
            after = await following.call("chain_getBlock")

    assert seen == [(1, "a block", "a block"), (2, "a block", "a block"), (3, "a block", "a block")]
    assert after == "a block"


# Backoff


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_chain_that_cannot_be_reached_is_tried_again_after_half_a_second_doubling_to_thirty() -> (
    None
):
    clock = Clock()
    backoff = Backoff(clock=clock, chance=lambda: 1.0)
    waits = []

    for _ in range(9):
        backoff.check()
        backoff.failed("nobody answers")
        before = clock.now
        while True:
            try:
                backoff.check()
                break
            except ChainUnreachable:
                clock.now += 0.25
        waits.append(clock.now - before)

    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


async def test_those_who_ask_after_a_failure_wait_and_success_ends_the_wait(
    tmp_path: Path,
) -> None:
    clock = Clock()
    backoff = Backoff(clock=clock, chance=lambda: 1.0)
    async with pool_of(tmp_path, NOWHERE, backoff=backoff) as pool:
        ended = await asyncio.gather(
            *(Client(pool).call("chain_getHeader") for _ in range(50)), return_exceptions=True
        )
        reasons = {str(error) for error in ended}
        with node(chain_getHeader=header_of(HEAD)) as one:
            # The node comes back.
            pool.chain = polkadot_at(one.url)
            clock.now += 0.5
            after = await asyncio.gather(*(Client(pool).call("chain_getHeader") for _ in range(50)))
            probes = one.asked.count("chain_getBlockHash")

    assert reasons == {REFUSED, f"{REFUSED}, tried again in 1 s"}
    assert after == [header_of(HEAD)] * 50
    assert probes == 1


async def test_a_node_that_lies_about_its_genesis_is_not_asked_again_and_again(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        with Node(answers("assetHub")) as liar:
            async with pool_of(tmp_path, liar.url) as pool:
                said = []
                for _ in range(3):
                    with pytest.raises(ChainUnreachable) as refused:
                        await Client(pool).table()
                    said.append(str(refused.value))
            lie = (
                f"Polkadot cannot be reached ({liar.url} serves another chain: "
                f"genesis {GENESIS['assetHub']}, not {GENESIS['polkadot']})"
            )

        assert said == [lie, says("1", lie=lie), says("1", lie=lie)]
        assert liar.asked.count("chain_getBlockHash") == 1

    await story()


# Runtimes


async def test_what_one_node_told_is_not_believed_of_another(tmp_path: Path) -> None:
    older = {"specName": "polkadot", "specVersion": 1006000}
    with node(state_getRuntimeVersion=older) as second, ExitStack() as until_killed:
        first = until_killed.enter_context(node())
        async with pool_of(tmp_path, first.url, second.url) as pool:
            client = Client(pool)
            table = await client.table()
            until_killed.close()
            with pytest.raises(ChainUnreachable) as refused:
                await client.call("state_getStorage", "0x00")
            begun_anew = await client.table()

    assert f"{second.url} runs" in str(refused.value)
    assert (table.spec_version, begun_anew.spec_version) == (2000000, 1006000)


async def build(client: Client) -> tuple[RuntimeTable, bytes]:
    """Return the bytes of a call, and the table that they were written with."""
    from scenarioctl.model.calls import Call

    table = await client.table()
    call = Call(pallet="System", method="remark_with_event", args={"remark": b"hello"})
    return table, table.encode_call(call)


@pytest.mark.parametrize("believed", [0.0, 0.05])
async def test_nothing_is_built_with_the_runtime_before_an_upgrade(
    tmp_path: Path, believed: float
) -> None:
    """Many build while the chain is upgraded: each says a version that the chain had when it was
    asked, or later."""
    runs = {"specName": "polkadot", "specVersion": 1006000}
    upgraded: list[float] = []
    built: list[tuple[float, int, int]] = []

    async def work(pool: Pool) -> None:
        while not upgraded or time.monotonic() < upgraded[0] + believed + 0.15:
            started = time.monotonic()
            table, data = await build(Client(pool))
            assert data == table.encode_call(table.decode_call(data))
            built.append((started, table.spec_version, id(table)))
            await asyncio.sleep(0.001)

    with node(state_getRuntimeVersion=lambda: dict(runs)) as one:
        async with pool_of(tmp_path, one.url) as pool:
            pool.believed = believed
            await Client(pool).table()
            working = [asyncio.create_task(work(pool)) for _ in range(20)]
            # However busy the machine is, some have to be built before.
            while len(built) < len(working):
                await asyncio.sleep(0.01)
            runs["specVersion"] = 2000000
            upgraded.append(time.monotonic())
            await asyncio.gather(*working)
            older = pool.tables.of_version(1006000)

    late = [version for started, version, _ in built if started > upgraded[0] + believed]
    assert {version for _, version, _ in built} == {1006000, 2000000}
    assert set(late) == {2000000}
    assert len({table for *_, table in built}) == 2
    # What was drafted before can still be judged.
    assert older is not None
