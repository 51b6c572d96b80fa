"""Messages that a transaction sent to other chains: whether they were executed there, as far as
that can be told."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.config import load_settings
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.transaction_status import TransactionStatus, transaction_status
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.submission import arrivals
from scenarioctl.transactions.submission.inclusion import find_messages
from tests.blocks import number_of
from tests.messages import says
from tests.node import Node, Refusal
from tests.runner import finish
from tests.runtimes import REGISTRY, bundled
from tests.signing import dev_key
from tests.test_broadcast import GOOD, HASH, NUMBER, PAID, SUCCESS, events
from tests.test_transaction_status import FakeChain

ID = b"\x11" * 32
HUB = bundled("assetHub")
HUB_EVENTS = storage_key(HUB, "System", "Events", ())
#: The best block of the destination as the transaction is sent.
THERE = 500
TO_HUB = {"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}}
TO_NOBODY = {"parents": 0, "interior": {"X1": [{"Parachain": 4999}]}}
ON_HERE = {"parents": 0, "interior": "Here"}
WEIGHT = {"ref_time": 10, "proof_size": 0}
CLEAR = "ClearOrigin"


def sent(destination: Any = TO_HUB, message: Any = (CLEAR,), id: bytes = ID) -> Any:
    fields = {
        "origin": ON_HERE,
        "destination": destination,
        "message": list(message),
        "message_id": id,
    }
    return {"XcmPallet": {"Sent": fields}}


def queued(name: str, *, id: bytes = ID, origin: Any = "Parent", **fields: Any) -> Any:
    return {"MessageQueue": {name: {"id": id, "origin": origin, **fields}}}


def processed(success: bool = True, **how: Any) -> Any:
    return queued("Processed", success=success, weight_used=WEIGHT, **how)


TRAPPED = {
    "PolkadotXcm": {
        "AssetsTrapped": {
            "hash": b"\1" * 32,
            "origin": {
                "parents": 1,
                "interior": {
                    "X1": [{"AccountId32": {"network": None, "id": dev_key().public_key}}]
                },
            },
            "assets": {
                "V5": [{"id": {"parents": 1, "interior": "Here"}, "fun": {"Fungible": 25 * 10**9}}]
            },
        }
    }
}


class FakeHub:
    """Asset Hub's blocks, each with its events."""

    def __init__(self) -> None:
        self.chain = FakeChain(THERE, THERE - 2)
        self.events: dict[int, list[Any]] = {}
        #: Numbers of the blocks whose events were read.
        self.read: list[int] = []

    def put(self, number: int, *found: Any, finalized: bool = True) -> None:
        self.events[number] = list(found)
        self.chain.best = max(self.chain.best, number)
        if finalized:
            self.chain.finalized = max(self.chain.finalized, number)

    def answers(self) -> dict[str, Any]:
        def storage(key: str, block: str = "") -> str | None:
            assert key == HUB_EVENTS.hex
            number = number_of(block)
            self.read.append(number)
            if number not in self.events:
                return None
            records = [
                {"phase": "Initialization", "event": event, "topics": []}
                for event in self.events[number]
            ]
            return "0x" + HUB.encode(HUB_EVENTS.entry.value_type, records).hex()

        def block_hash(number: int = THERE) -> str:
            return REGISTRY.find("assetHub").genesis if number == 0 else self.chain.hash(number)

        version = {"specName": HUB.spec_name, "specVersion": HUB.spec_version}
        return {
            **self.chain.answers(),
            "chain_getBlockHash": block_hash,
            "state_getRuntimeVersion": lambda *_: version,
            "state_getStorage": storage,
        }


class World:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.relay, self.hub = FakeChain(), FakeHub()
        here = stack.enter_context(Node(self.relay.answers()))
        self.there = stack.enter_context(Node(self.hub.answers()))
        config = folder / "config.toml"
        config.write_text(
            f'[chains.polkadot]\nendpoints = ["{here.url}"]\n[chains.assetHub]\nendpoints '
            f'= ["{self.there.url}"]\n'
        )
        self.now = 1_763_666_958_000_000_000
        settings = load_settings(
            {"config": str(config), "store": folder / "s.db", "cache": folder}, {}
        )
        self.app = Application(settings, clock=lambda: self.now)
        stack.callback(lambda: finish(self.app.close()))

    def send(self, *found: Any) -> None:
        self.relay.events = events((1, PAID), *((1, event) for event in found), (1, SUCCESS))
        finish(broadcast(self.app, Broadcast(chain="polkadot", tx=GOOD)))
        self.relay.include(NUMBER + 1, finalized=True)

    def status(self) -> Any:
        return finish(
            transaction_status(self.app, TransactionStatus(chain="polkadot", hash=HASH))
        ).answer

    def arrival(self) -> Any:
        (only,) = self.status()["arrivals"]
        return only


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def test_a_message_is_waited_for_until_it_arrives(world: World) -> None:
    world.send(sent())

    waiting = world.status()
    world.hub.put(THERE + 1, processed(id=b"\x22" * 32), finalized=False)
    world.hub.put(THERE + 2, processed(), finalized=False)
    arrived = world.status()
    world.hub.chain.finalized = THERE + 2
    final = world.status()
    asked = len(world.there.asked)

    assert waiting["arrivals"] == [
        {
            "chain": "assetHub",
            "state": "waiting",
            "block_number": None,
            "reason": "",
            "received": [],
            "asked": None,
        }
    ]
    assert (waiting["state"], waiting["settled"]) == ("finalized", False)
    there = {"chain": "assetHub", "state": "arrived", "block_number": THERE + 2, "reason": ""}
    there |= {"received": [], "asked": 1}
    assert arrived["arrivals"] == final["arrivals"] == [there]
    assert [each["settled"] for each in (arrived, final)] == [False, True]
    # What is settled is not asked again.
    assert world.status() == final
    assert len(world.there.asked) == asked


def test_what_a_message_gave_to_whom_it_pays_is_told(world: World) -> None:
    def gives(account: bytes, amount: int) -> Any:
        return {"Balances": {"Minted": {"who": account, "amount": amount}}}

    payee, author = dev_key("//Bob").public_key, dev_key("//Charlie").public_key
    place = {"parents": 0, "interior": {"X1": [{"AccountId32": {"network": None, "id": payee}}]}}
    deposit = {"DepositAsset": {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": place}}
    withdrawn = {"Balances": {"Withdraw": {"who": dev_key().public_key, "amount": 3 * 10**10}}}
    world.send(withdrawn, sent(message=(CLEAR, deposit)))
    world.status()
    world.hub.put(
        THERE + 1,
        # Of another message, and of the block's author.
        *(gives(payee, 7), processed(id=b"\x22" * 32)),
        *(gives(payee, 15 * 10**9), gives(author, 9), processed()),
        gives(payee, 5),
    )

    status = world.status()
    (arrived,) = status["arrivals"]
    assert [each["human"] for each in status["left"]] == ["3 DOT"]
    assert [(each["account"], each["human"]) for each in arrived["received"]] == [
        (format_account(payee, 0), "1.5 DOT")
    ]


def test_what_an_event_changes_that_cannot_be_read_is_not_guessed(world: World) -> None:
    payee = dev_key("//Bob").public_key
    place = {"parents": 0, "interior": {"X1": [{"AccountId32": {"network": None, "id": payee}}]}}
    deposit = {"DepositAsset": {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": place}}
    minted = {"Balances": {"Minted": {"who": payee, "amount": 15 * 10**9}}}
    changed = {"Balances": {"BalanceSet": {"who": payee, "free": 5}}}
    world.send(changed, sent(message=(CLEAR, deposit)))
    world.status()
    world.hub.put(THERE + 1, minted, changed, processed())

    status = world.status()
    (arrived,) = status["arrivals"]
    assert (status["left"], arrived["state"], arrived["received"]) == (None, "arrived", [])


def test_blocks_that_are_final_are_read_once(world: World) -> None:
    world.send(sent())
    world.status()
    world.hub.read.clear()
    world.hub.chain.best, world.hub.chain.finalized = THERE + 3, THERE + 1
    world.status()

    assert world.hub.read == list(range(THERE - 1, THERE + 4))


def test_a_search_has_bounds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "AT_ONCE", 10)
    monkeypatch.setattr(arrivals, "MOST", 40)
    world.send(sent())
    world.status()
    world.hub.chain.best = world.hub.chain.finalized = THERE + 100
    counts, states = [], []
    for _ in range(6):
        world.hub.read.clear()
        states.append(world.arrival()["state"])
        counts.append(len(world.hub.read))

    assert max(counts) == 10
    assert states[-1] == "unknown"
    assert world.arrival()["reason"] == says("Polkadot Asset Hub", THERE - 8)
    assert world.status()["settled"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param((processed(False),), ("assetHub", "failed"), id="executed without success"),
        pytest.param(
            (TRAPPED, processed(False)), ("2.5", "DOT", "trapped", "XcmPallet.send"), id="trapped"
        ),
        pytest.param(
            (TRAPPED, processed(False, id=b"\x22" * 32), processed(False)),
            ("assetHub", "failed"),
            id="trapped by another message",
        ),
        pytest.param(
            (queued("ProcessingFailed", error="Unsupported"),),
            ("assetHub", "Unsupported"),
            id="unsupported",
        ),
    ],
)
def test_a_message_that_fails_there_says_why(
    world: World, found: Any, words: tuple[str, ...]
) -> None:
    world.send(sent())
    world.hub.put(THERE + 1, *found)

    arrival = world.arrival()

    assert (arrival["state"], arrival["block_number"]) == ("failed", THERE + 1)
    assert arrival["reason"] == says(*words)
    if "trapped" not in words:
        assert "trapped" not in arrival["reason"]


def test_one_that_is_too_heavy_waits_for_somebody(world: World) -> None:
    world.send(sent())
    world.hub.put(THERE + 1, queued("OverweightEnqueued", page_index=0, message_index=0))
    heavy = world.arrival()
    world.hub.put(THERE + 2, processed(id=b"\x33" * 32))
    still = world.arrival()
    world.hub.put(THERE + 3, processed())

    assert (heavy["state"], heavy["reason"]) == (
        "waiting",
        says("Polkadot Asset Hub", "execute_overweight"),
    )
    assert still == heavy
    assert world.arrival()["state"] == "arrived"


def test_a_message_of_another_chain_with_the_same_id_is_not_believed(world: World) -> None:
    world.send(sent())
    world.hub.put(THERE + 1, processed(origin={"Sibling": 2034}))

    assert world.arrival()["state"] == "waiting"


def test_a_chain_that_can_t_be_asked_leaves_it_unknown_for_now(world: World) -> None:
    def down(*_: Any) -> Any:
        raise Refusal(-32000, "down")

    world.send(sent())
    there = world.there.answers["chain_getFinalizedHead"]
    world.there.answers["chain_getFinalizedHead"] = down
    away = world.status()
    world.there.answers["chain_getFinalizedHead"] = there
    world.hub.put(THERE + 1, processed())

    (arrival,) = away["arrivals"]
    assert (arrival["state"], away["settled"]) == ("unknown", False)
    assert "Polkadot Asset Hub could not be asked" in arrival["reason"]
    assert world.arrival()["state"] == "arrived"


def test_a_place_that_is_no_chain_of_the_registry_is_unknown(world: World) -> None:
    world.send(sent(TO_NOBODY))

    arrival = world.arrival()

    assert (arrival["chain"], arrival["state"]) == ("0/Parachain(4999)", "unknown")
    assert arrival["reason"] == says("Parachain(4999)", "registry")


def test_what_goes_on_from_there_is_named_and_not_followed(world: World) -> None:
    onward = {
        "InitiateReserveWithdraw": {
            "assets": {"Wild": "All"},
            "reserve": {"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}},
            "xcm": [CLEAR],
        }
    }
    world.send(sent(message=[onward]))
    world.hub.put(THERE + 1, processed())

    first, second = world.status()["arrivals"]

    assert (first["chain"], first["state"]) == ("assetHub", "arrived")
    assert (second["chain"], second["state"]) == ("hydraDx", "unknown")
    assert second["reason"] == says("Polkadot Asset Hub", "followed")


def test_one_that_fails_in_its_block_sends_nothing(world: World) -> None:
    world.send()

    assert world.status()["arrivals"] == []


def test_what_only_the_transport_tells_is_a_message_too() -> None:
    """An executed program that sends something deposits no event of the XCM pallet."""
    events = [
        Event(
            pallet="ParachainSystem", name="UpwardMessageSent", fields={"message_hash": b"\1" * 32}
        ),
        Event(pallet="XcmpQueue", name="XcmpMessageSent", fields={"message_hash": b"\2" * 32}),
    ]

    up, across = find_messages(REGISTRY, REGISTRY.find("assetHub"), events)

    assert (up.chain, up.place, up.id) == ("polkadot", "1/Here", "0x" + "01" * 32)
    assert (across.chain, across.place) == ("", "a parachain that the event doesn't name")
    assert across.id == "0x" + "02" * 32
