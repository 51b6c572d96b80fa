"""Approvals that a multisig lacks: what a worker reads of them, keeps, and tells once."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.registry import Registry
from scenarioctl.cli.status import draw_status
from scenarioctl.config import load_settings
from scenarioctl.model.calls import Call
from scenarioctl.model.jobs import SECOND
from scenarioctl.model.notifications import (
    NewNotification,
    NotificationEvent,
    OperationKey,
)
from scenarioctl.operations.acting_accounts import multisigs_of
from scenarioctl.operations.addresses import AddAddress, add_address
from scenarioctl.operations.multisigs import read_operations
from scenarioctl.operations.status import read_store_status
from scenarioctl.stores import create_store
from scenarioctl.stores.multisig_readings import MultisigReading, WaitingOperation
from scenarioctl.stores.store import Store
from scenarioctl.transactions.acting_calls import multisig_call
from scenarioctl.worker.approval_checks import ApprovalChecks
from scenarioctl.worker.chores import Counts
from scenarioctl.worker.notifier import Notifier
from tests.blocks import block_hash, block_of, header_of, number_of
from tests.canned import ALICE_KEY, BOB_KEY
from tests.messages import says
from tests.network import HEAD, FakeNetwork
from tests.receivers import SECRET, receiving
from tests.runner import finish as run
from tests.test_acting import ALICE, BOB, CHARLIE
from tests.test_notifications import Clock
from tests.test_stores import STORES
from tests.test_stores import Clock as StoreClock
from tests.test_stores import opened as opened_store

KEY = OperationKey("polkadot", "0x" + "11" * 32, "0x" + "22" * 32, 7, 1)
WAITING = WaitingOperation(
    key=KEY, says="transfers 1 DOT", approved=1, threshold=2, accounts=("0x" + ALICE_KEY.hex(),)
)
READING = MultisigReading(
    account=KEY.account, chain=KEY.chain, block=100, read=1, operations=(WAITING,)
)
NOTICE = NewNotification(
    id="msg_1",
    event=NotificationEvent.APPROVAL_MISSING,
    job="",
    created=1,
    url="https://hooks.example.org/secret",
    operation=KEY,
)


@pytest.mark.parametrize("kind", STORES)
class TestEveryStore:
    @pytest.fixture
    def store(self, kind: str, tmp_path: Path) -> Iterator[Store]:
        with opened_store(kind, tmp_path, StoreClock()) as store:
            yield store

    def put(self, store: Store, reading: MultisigReading) -> bool:
        notices = {each.key: [replace(NOTICE, operation=each.key)] for each in reading.operations}
        return run(store.multisig_readings().put(reading, notices))

    def told(self, store: Store) -> list[OperationKey | None]:
        claimed = run(store.outbox().claim(now=10, until=20, limit=100))
        assert {each.job for each in claimed} <= {""}
        return [each.operation for each in claimed]

    def test_an_operation_is_told_once_and_once_more_if_it_is_opened_again(
        self, store: Store
    ) -> None:
        again = replace(WAITING, key=KEY._replace(height=8), approved=2)

        first, second = (
            self.put(store, READING),
            self.put(store, replace(READING, block=101, read=2)),
        )
        third = self.put(store, replace(READING, block=102, operations=(WAITING, again)))

        assert (first, second, third) == (True, False, True)
        assert self.told(store) == [KEY, again.key]
        (kept,) = run(store.multisig_readings().list())
        assert kept == replace(READING, block=102, operations=(WAITING, again))

    def test_a_node_that_lags_behind_changes_nothing(self, store: Store) -> None:
        self.put(store, READING)

        self.put(store, replace(READING, block=99, operations=()))

        assert run(store.multisig_readings().list()) == [READING]

    def test_a_multisig_that_is_not_looked_at_any_more_is_forgotten(self, store: Store) -> None:
        other = replace(READING, account="0x" + "33" * 32)
        for each in (READING, other):
            self.put(store, each)

        run(store.multisig_readings().forget([other.account]))

        assert run(store.multisig_readings().list()) == [other]


class Council:
    """A council of Alice, Bob and Charlie, on a network of which only three chains answer."""

    def __init__(self, network: FakeNetwork, tmp_path: Path, *targets: object) -> None:
        self.network = network
        found = {chain.name: "ws://127.0.0.1:1/" for chain in Registry().all() if chain.endpoints}
        found |= {name: chain.node.url for name, chain in network.chains.items()}
        network.write({name: {"endpoints": [url], "trusted": True} for name, url in found.items()})
        self.relay = network.chains["polkadot"]
        self.given = {
            "config": str(network.config),
            "notify": list(targets),
            "notify_secret": SECRET,
            "private_targets": ["127.0.0.1"],
            "public_url": "https://sc.example.org",
        }
        self.clock = Clock()
        self.app = self.application()
        self.call = Call(pallet="System", method="remark", args={"remark": b"hello"})
        self.hashed = blake2b(self.relay.table.encode_call(self.call), digest_size=32).digest()

    def application(self) -> Application:
        return Application(load_settings(self.given, {}), clock=self.clock, served=True)

    async def fill(self, *, watch: str = "Alice", threshold: int = 2) -> None:
        for name, address in (("Alice", ALICE), ("Bob", BOB), ("Charlie", CHARLIE)):
            await add_address(self.app, AddAddress(name=name, address=address, watch=name == watch))
        await add_address(
            self.app,
            AddAddress(name="council", threshold=threshold, signatories=(ALICE, BOB, CHARLIE)),
        )
        self.layer = next(iter(multisigs_of(await self.app.store.addresses().list())))

    def open(
        self, *approvals: bytes, with_call: bool = True, best: int = 100, height: int = 50
    ) -> None:
        """Let the council's remark wait on Polkadot, for others than *approvals*."""
        call = multisig_call(self.call, self.layer, approvals[0], self.relay.table)
        body = b"\x04" + self.relay.table.encode_call(call)
        extrinsics = ["0x" + (bytes([len(body) << 2 & 255 | 1, len(body) >> 6]) + body).hex()]
        block = block_hash(50, extrinsics if with_call else ())
        genesis = Registry().find("polkadot").genesis
        head = block_hash(best)
        known = {(0,): genesis, (50,): block}
        answers: dict[str, Any] = {
            "chain_getBlockHash": lambda *given: known.get(given, head),
            "chain_getHeader": lambda *given: header_of(given[0] if given else head),
            "chain_getBlock": lambda given: block_of(given, extrinsics if with_call else ()),
        }
        self.relay.node.answers |= answers
        row = {
            "when": {"height": height, "index": 0},
            "deposit": 2 * 10**11,
            "depositor": approvals[0],
            "approvals": list(approvals),
        }
        self.relay.store("Multisig", "Multisigs", self.layer.account, self.hashed, value=row)

    async def look(self, app: Application | None = None, *, every: float = 0) -> int:
        """Let a worker look once, and return how often it left notifications."""
        left: list[int] = []
        await ApprovalChecks(
            app or self.app, every=every, on_notices=lambda: left.append(1)
        ).check()
        return len(left)

    def asked(self) -> int:
        return self.relay.node.asked.count("state_getKeysPaged")


@pytest.fixture
def network(tmp_path: Path) -> Iterator[FakeNetwork]:
    assert number_of(HEAD) == 100
    with FakeNetwork(tmp_path) as network:
        yield network


async def delivered(council: Council) -> Counts:
    """Deliver what is due."""
    counts = Counts()
    notifier = Notifier(council.app, counts)
    await notifier.look()
    while unfinished := [each for each in notifier.tasks() if not each.done()]:
        await asyncio.wait(unfinished)
    return counts


async def test_an_approval_of_ours_that_is_missing_is_told_once_with_the_call_in_words(
    network: FakeNetwork, tmp_path: Path
) -> None:
    async with receiving() as receiver:
        council = Council(network, tmp_path, receiver.url())
        async with council.app:
            await council.fill()
            council.open(BOB_KEY)

            assert await council.look() == 1
            # A restart, and a second daemon.
            async with council.application() as other:
                assert await council.look(other) == 0
            await delivered(council)

            (got,) = await receiver.has(1)
    data = got.json()["data"]
    assert got.json()["type"] == "approval_missing"
    assert (data["name"], data["job"], data["drafts"]) == ("council", None, [])
    assert data["summary"] == says("1 of 2", "Polkadot", "Alice")
    assert data["reason"] == says("'hello'")
    assert data["operation"] == {"chain": "polkadot", "call_hash": "0x" + council.hashed.hex()}
    assert data["url"] == "https://sc.example.org/#/multisig/council"


async def test_a_call_that_nobody_knows_is_told_as_one(
    network: FakeNetwork, tmp_path: Path
) -> None:
    async with receiving() as receiver:
        council = Council(network, tmp_path, receiver.url())
        async with council.app:
            await council.fill()
            council.open(BOB_KEY, with_call=False)
            await council.look()
            await delivered(council)
            (got,) = await receiver.has(1)

    assert got.json()["data"]["reason"] == says("Nobody knows", "0x" + council.hashed.hex())


@pytest.mark.parametrize(
    ("opened", "words"),
    [
        ({"with_call": False}, ("extrinsic 0 of block 50", "hash alone")),
        ({"height": 30_000_000}, ("30000000", "Polkadot", "relay chain")),
        ({"height": 49}, ("block 49", "can't be read")),
        ({}, ()),
    ],
    ids=["only its hash", "blocks of another chain", "a block that is gone", "known"],
)
async def test_it_is_said_why_nobody_knows_a_call(
    network: FakeNetwork, tmp_path: Path, opened: dict[str, Any], words: tuple[str, ...]
) -> None:
    council = Council(network, tmp_path)
    async with council.app as app:
        await council.fill()
        council.open(BOB_KEY, **opened)
        found = await read_operations(app, app.registry.find("polkadot"), council.layer)

    assert not isinstance(found, Exception)
    (row,) = found.rows
    assert row["unknown"] == (says(*words) if words else "")
    assert bool(row["says"]) == (not words)


async def test_what_does_not_wait_for_us_any_more_is_not_told(
    network: FakeNetwork, tmp_path: Path
) -> None:
    async with receiving() as receiver:
        council = Council(network, tmp_path, receiver.url())
        async with council.app:
            await council.fill(threshold=3)
            council.open(BOB_KEY)
            assert await council.look() == 1
            council.open(BOB_KEY, ALICE_KEY, best=101)
            assert await council.look() == 0

            counts = await delivered(council)

            assert (counts.notifications_delivered, receiver.received) == (0, [])
            assert (await council.app.store.outbox().figures()).queued == 0


@pytest.mark.parametrize(
    ("watch", "approvals", "target"),
    [
        ("", (BOB_KEY,), "https://hooks.example.org"),
        ("Bob", (BOB_KEY,), "https://hooks.example.org"),
    ],
    ids=["none is ours", "ours has approved"],
)
async def test_what_waits_for_others_is_not_told(
    network: FakeNetwork, tmp_path: Path, watch: str, approvals: tuple[bytes, ...], target: Any
) -> None:
    council = Council(network, tmp_path, target)
    async with council.app:
        await council.fill(watch="Alice")
        council.open(*approvals)
        for name, address in (("Alice", ALICE), ("Bob", BOB)):
            await add_address(
                council.app, AddAddress(name=name, address=address, watch=name == watch)
            )

        assert await council.look() == 0


async def test_a_chain_that_does_not_answer_keeps_what_was_read(
    network: FakeNetwork, tmp_path: Path
) -> None:
    council = Council(network, tmp_path, "https://hooks.example.org")
    async with council.app:
        await council.fill()
        council.open(BOB_KEY)
        await council.look()
        before = await council.app.store.multisig_readings().list()
        council.relay.node.answers.pop("state_getKeysPaged")

        await council.look()

        after = {each.chain: each for each in await council.app.store.multisig_readings().list()}
    # Of chains that never answered nothing is known.
    assert {each.chain for each in before} == set(after) == set(network.chains)
    assert after["polkadot"] in before


async def test_what_another_worker_has_just_read_is_not_read_again(
    network: FakeNetwork, tmp_path: Path
) -> None:
    council = Council(network, tmp_path, "https://hooks.example.org")
    async with council.app:
        await council.fill()
        council.open(BOB_KEY)
        await council.look(every=600)
        once = council.asked()

        await council.look(every=600)
        assert council.asked() == once
        council.clock.ahead = 301 * SECOND
        await council.look(every=600)

        assert council.asked() > once


async def test_the_status_says_what_waits_and_where_that_is_unknown(
    network: FakeNetwork, tmp_path: Path
) -> None:
    # Nobody asked for notifications.
    council = Council(network, tmp_path)
    async with council.app:
        await create_store(council.app.settings.store)
        assert (await needs(council))["approvals_unread"] == []
        await council.fill()
        council.open(BOB_KEY)
        unread = {each["name"] for each in (await needs(council))["approvals_unread"]}
        await council.look()
        known = await needs(council)
        council.clock.ahead = 3601 * SECOND
        old = await needs(council)

    assert {"polkadot", "kusama"} <= unread
    assert {each["name"] for each in known["approvals_unread"]} == unread - set(network.chains)
    assert {each["name"] for each in old["approvals_unread"]} == unread
    assert (known["count"], known["approvals_total"], old["approvals"]) == (
        1,
        1,
        known["approvals"],
    )
    (row,) = known["approvals"]
    assert (row["name"], row["title"], row["signatories"]) == ("council", "Polkadot", ["Alice"])
    assert (row["approved"], row["threshold"], row["says"]) == (1, 2, says("'hello'"))


async def needs(council: Council) -> Any:
    return (await read_store_status(council.app))["needs"]


async def test_the_status_in_a_terminal_names_it(
    network: FakeNetwork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    council = Council(network, tmp_path, "https://hooks.example.org")
    async with council.app:
        await create_store(council.app.settings.store)
        await council.fill()
        council.open(BOB_KEY, with_call=False)
        await council.look()
        answer = await read_store_status(council.app)

    draw_status({**answer, "chains": []})

    shown = capsys.readouterr().out.splitlines()
    (row,) = (line for line in shown if line.startswith("council"))
    assert "an unknown call, 0x" + council.hashed.hex() in row
    assert "1 of 2" in row
    (unknown,) = (line for line in shown if line.startswith("approvals"))
    assert "Kusama" in unknown
    assert "Hydration" not in unknown
