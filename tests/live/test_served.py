"""The daemon's way to chains, on real runtimes: endpoints that are killed in the middle of a
request, stall or lie."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import ChainUnreachable
from tests.live.conftest import Live
from tests.live.proxy import Proxy

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("live_only")]

Story = Callable[[Application], Awaitable[Any]]


@pytest.fixture
def proxies(relay: Live) -> Iterator[list[Proxy]]:
    """Return two endpoints of the relay chain, each of which can be made to fail."""
    with ExitStack() as stack:
        yield [stack.enter_context(Proxy(relay.endpoint)) for _ in range(2)]


def serve(live_config: Path, endpoints: list[Proxy], story: Story) -> Any:
    """Return what *story* does with an application as a daemon has it."""
    settings = load_settings({"config": str(live_config)}, {})
    relay = {**settings.chains["liveRelay"], "endpoints": [each.url for each in endpoints]}

    async def run() -> Any:
        app = Application(
            replace(settings, chains={**settings.chains, "liveRelay": relay}), served=True
        )
        try:
            return await story(app)
        finally:
            await app.close()

    return asyncio.run(run())


async def total_issuance(app: Application) -> int:
    async with app.session() as session:
        client = session.client(session.registry.find("liveRelay"))
        return int(await client.storage("Balances", "TotalIssuance"))


def test_many_sessions_read_the_same_chain_over_few_connections(
    live_config: Path, proxies: list[Proxy]
) -> None:
    async def story(app: Application) -> set[int]:
        return set(await asyncio.gather(*(total_issuance(app) for _ in range(200))))

    values = serve(live_config, proxies[:1], story)

    assert len(values) == 1
    assert proxies[0].asked.count("chain_getBlockHash") <= 4
    assert proxies[0].asked.count("state_getStorage") == 200


def test_an_endpoint_killed_in_the_middle_of_requests_costs_no_answer(
    live_config: Path, proxies: list[Proxy]
) -> None:
    first, second = proxies

    async def story(app: Application) -> list[Any]:
        before = await total_issuance(app)
        asking = [asyncio.create_task(total_issuance(app)) for _ in range(50)]
        await asyncio.sleep(0.01)
        first.fault = "killed"
        return [before, *await asyncio.gather(*asking)]

    values = serve(live_config, proxies, story)

    assert len(set(values)) == 1
    assert len(values) == 51
    assert second.asked


def test_a_node_that_stalls_after_a_rest_costs_less_than_a_second(
    live_config: Path, proxies: list[Proxy]
) -> None:
    first, second = proxies

    async def story(app: Application) -> tuple[bool, float]:
        before = await total_issuance(app)
        first.fault = "stalls"
        await asyncio.sleep(1.1)
        started = time.perf_counter()
        again = await total_issuance(app)
        return before == again, time.perf_counter() - started

    same, passed = serve(live_config, proxies, story)

    print(f"\nanswered by another endpoint after {passed:.2f} s")
    assert same
    assert second.asked
    # To notice it, and the handshake with a real node.
    assert passed < 1.5


def test_a_node_that_lies_about_its_genesis_is_asked_nothing_else(
    live_config: Path, proxies: list[Proxy]
) -> None:
    liar, honest = proxies
    liar.fault = "lies"

    async def alone(app: Application) -> str:
        with pytest.raises(ChainUnreachable) as refused:
            await total_issuance(app)
        return str(refused.value)

    said = serve(live_config, [liar], alone)
    value = serve(live_config, proxies, total_issuance)

    assert said.startswith(
        f"liveRelay cannot be reached ({liar.url} serves another chain: genesis 0x{'11' * 32}, not "
    )
    assert value > 0
    assert "state_getStorage" not in liar.asked
    assert honest.asked.count("state_getStorage") == 1


def test_a_chain_that_comes_back_is_found_again_by_one_who_asks(
    live_config: Path, proxies: list[Proxy]
) -> None:
    (only, _) = proxies
    only.fault = "killed"

    async def story(app: Application) -> tuple[int, int, float]:
        started, refused = time.perf_counter(), 0
        while True:
            try:
                await total_issuance(app)
                break
            except ChainUnreachable:
                refused += 1
            if time.perf_counter() - started > 1:
                only.fault = ""
            await asyncio.sleep(0.005)
        # What is counted is connections: each begins with the genesis.
        return refused, only.asked.count("chain_getBlockHash"), time.perf_counter() - started

    refused, attempts, passed = serve(live_config, [only], story)

    print(f"\n{refused} were refused at once, {attempts} attempts in {passed:.2f} s")
    assert refused > 20
    assert attempts <= 5
    assert passed < 5
