"""`finalized` and `arrived` are said if a second endpoint says so too."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.application import Application
from scenarioctl.chains import pool
from scenarioctl.chains.connection import TIMEOUTS
from scenarioctl.config import load_settings
from scenarioctl.errors import ChainUnreachable
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.transaction_status import TransactionStatus, transaction_status
from tests.conftest import Run
from tests.messages import says
from tests.node import Feed, Node, Refusal
from tests.runner import finish
from tests.test_arrivals import THERE, FakeHub, processed, sent
from tests.test_broadcast import GOOD, HASH, NUMBER, PAID, SUCCESS, events, failed
from tests.test_transaction_status import FakeChain

NOWHERE = "ws://127.0.0.1:1/"


class World:
    """Two endpoints of polkadot and two of Asset Hub: `here` and `there` are asked first, the
    others after them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.here, self.other = FakeChain(), FakeChain()
        self.there, self.other_hub = FakeHub(), FakeHub()
        self.nodes = [
            stack.enter_context(Node(each.answers()))
            for each in (self.here, self.other, self.there, self.other_hub)
        ]
        self._folder, self._stack = folder, stack
        self.config = folder / "config.toml"
        self.configure()

    def configure(self, *, second: str = "", **more: Any) -> None:
        """Open the program; *second* is the second endpoint of polkadot in place of its node."""
        urls = [node.url for node in self.nodes]
        chains = {
            "polkadot": {"endpoints": [urls[0], second or urls[1]], **more},
            "assetHub": {"endpoints": urls[2:], **more},
        }
        self.config.write_text(tomli_w.dumps({"chains": chains}))
        settings = load_settings(
            {"config": str(self.config), "store": self._folder / "s.db", "cache": self._folder}, {}
        )
        self.app = Application(settings, clock=lambda: 1_763_666_958_000_000_000)
        app = self.app
        self._stack.callback(lambda: finish(app.close()))

    def send(self, *found: Any) -> None:
        """Send a transaction, which both endpoints then have in the next block."""
        for each in (self.here, self.other):
            each.events = events((1, PAID), *((1, event) for event in found), (1, SUCCESS))
        finish(broadcast(self.app, Broadcast(chain="polkadot", tx=GOOD)))
        for each in (self.here, self.other):
            each.include(NUMBER + 1, finalized=True)

    def look(self) -> Any:
        return finish(transaction_status(self.app, TransactionStatus(chain="polkadot", hash=HASH)))

    def urls(self, *places: int) -> dict[str, str]:
        return {f"url{place}": self.nodes[place].url for place in places}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(pool, "TIMEOUTS", replace(TIMEOUTS, stagger=5.0, catching_up=0.3))
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def test_what_two_endpoints_call_final_is_final(world: World) -> None:
    world.send()

    found = world.look()
    asked = [len(node.asked) for node in world.nodes]

    assert (found.answer["state"], found.answer["asked"], found.notes) == ("finalized", 2, ())
    # It is remembered, with whose word it is.
    assert world.look().answer == found.answer
    assert [len(node.asked) for node in world.nodes] == asked


def test_a_false_finalized_head_makes_nothing_final(world: World) -> None:
    world.send()
    world.other.finalized = NUMBER - 3

    found = world.look()
    world.other.finalized = NUMBER + 1
    final = world.look()

    assert (found.answer["state"], found.answer["settled"]) == ("in-block", False)
    assert found.warnings == (says(NUMBER + 1, "Polkadot", **world.urls(0, 1)),)
    assert (final.answer["state"], final.answer["asked"]) == ("finalized", 2)


def test_a_block_that_only_one_endpoint_has_is_not_said(world: World) -> None:
    # Its header hashes, and the transaction is under its root: all of it is made up.
    world.send()
    world.other.bodies.clear()
    world.other.forks[NUMBER + 1] = 1
    for each in (NUMBER + 1, NUMBER + 2):
        world.other.hash(each)
    world.nodes[1].answers["chain_getHeader"] = lambda block=None: next(
        (
            world.other.answers()["chain_getHeader"](known)
            for known in map(world.other.hash, range(NUMBER - 20, NUMBER + 2))
            if block in (None, known)
        ),
        None,
    )

    found = world.look()

    assert (found.answer["state"], found.answer["block"]) == ("sent", None)
    assert found.warnings == (says("chains.polkadot.endpoints", block=world.here.hash(NUMBER + 1),
        **world.urls(0, 1)),)  # fmt: skip


def test_false_events_of_a_true_block_are_not_said(world: World) -> None:
    world.send()
    world.other.events = events((1, PAID), (1, failed("BadOrigin")))

    found = world.look()

    assert (found.answer["state"], found.answer["success"]) == ("sent", None)
    assert found.warnings == (says(NUMBER + 1, "polkadot", **world.urls(0, 1)),)


def test_a_second_endpoint_that_is_down_leaves_one_and_it_is_said(
    world: World, scenarioctl: Run
) -> None:
    world.configure(second=NOWHERE)
    world.send()

    found = world.look()

    assert (found.answer["state"], found.answer["asked"]) == ("finalized", 1)
    assert found.notes == (says("second endpoint", "polkadot"),)


def test_a_second_endpoint_without_the_state_of_that_block_leaves_one(world: World) -> None:
    def discarded(*_: Any) -> Any:
        raise Refusal(4003, "Client error: State already discarded for the block")

    world.send()
    world.nodes[1].answers["state_getStorage"] = discarded

    found = world.look()

    assert (found.answer["state"], found.answer["asked"], found.warnings) == ("finalized", 1, ())


def test_nodes_of_your_own_need_no_second(world: World) -> None:
    world.configure(trusted=True)
    world.send()
    world.other.finalized = NUMBER - 3

    found = world.look()

    assert (found.answer["state"], found.answer["asked"], found.notes) == ("finalized", 1, ())


# Arrivals


def test_an_arrival_that_two_endpoints_tell_of_is_said(world: World) -> None:
    world.send(sent())
    for hub in (world.there, world.other_hub):
        hub.put(THERE + 2, processed())

    answer = world.look().answer

    (arrival,) = answer["arrivals"]
    assert (arrival["state"], arrival["block_number"], arrival["asked"]) == (
        "arrived",
        THERE + 2,
        2,
    )
    assert answer["settled"]


def test_an_arrival_that_only_one_endpoint_tells_of_is_waited_for(world: World) -> None:
    world.send(sent())
    world.there.put(THERE + 2, processed())
    world.other_hub.put(THERE + 2)

    (arrival,) = world.look().answer["arrivals"]
    world.other_hub.put(THERE + 2, processed())
    (later,) = world.look().answer["arrivals"]

    assert (arrival["state"], arrival["block_number"], arrival["asked"]) == ("waiting", None, None)
    assert arrival["reason"] == says(THERE + 2, **world.urls(2, 3))
    assert (later["state"], later["asked"], later["reason"]) == ("arrived", 2, "")


def test_an_arrival_that_another_endpoint_calls_a_failure_is_unknown(world: World) -> None:
    world.send(sent())
    world.there.put(THERE + 2, processed())
    world.other_hub.put(THERE + 2, processed(success=False))

    answer = world.look().answer

    (arrival,) = answer["arrivals"]
    assert (arrival["state"], answer["settled"]) == ("unknown", False)
    assert arrival["reason"] == says("arrived", "failed", **world.urls(2, 3))


def test_an_arrival_of_a_chain_with_one_endpoint_says_so(world: World) -> None:
    world.nodes[3].answers.clear()
    world.send(sent())
    world.there.put(THERE + 2, processed())

    found = world.look()

    assert found.answer["arrivals"][0]["asked"] == 1
    assert found.notes == (says("second endpoint", "Polkadot Asset Hub"),)


# broadcast --wait


def followed(world: World) -> None:
    for each in (world.here, world.other):
        each.include(NUMBER + 1, finalized=True)
    block = world.here.hash(NUMBER + 1)
    world.nodes[0].answers["author_submitAndWatchExtrinsic"] = Feed(["ready", {"finalized": block}])


def test_a_broadcast_that_waits_asks_a_second_endpoint_whether_it_is_final(world: World) -> None:
    followed(world)

    answer = finish(
        broadcast(world.app, Broadcast(chain="polkadot", tx=GOOD, wait="finalized"))
    ).answer

    assert (answer["block_number"], answer["asked"]) == (NUMBER + 1, 2)
    assert world.look().answer["asked"] == 2


def test_a_broadcast_is_not_called_final_by_one_endpoint(world: World) -> None:
    followed(world)
    world.other.finalized = NUMBER - 3

    with pytest.raises(ChainUnreachable) as refused:
        finish(broadcast(world.app, Broadcast(chain="polkadot", tx=GOOD, wait="finalized")))

    assert str(refused.value) == says(NUMBER + 1, hash=HASH, **world.urls(0, 1))
    assert world.look().answer["state"] == "in-block"
    assert refused.value.details["block_number"] == NUMBER + 1
