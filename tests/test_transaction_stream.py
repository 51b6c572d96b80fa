"""`/api/tx/events`: a sent transaction is followed until nothing of it can change any more."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.operations.views import read_unsigned
from scenarioctl.server import streams
from tests.daemons import wait_until
from tests.messages import says
from tests.node import Node
from tests.serving import Serving
from tests.test_broadcast import CHAIN, GOOD, HASH, NUMBER, TABLE, signed
from tests.test_streams import Stream
from tests.test_transaction_status import FakeChain

PATH = f"/api/tx/events?chain=polkadot&hash={HASH}"


class Desk:
    """A daemon on polkadot, and its chain."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.chain = FakeChain()
        self.node = stack.enter_context(Node(self.chain.answers()))
        self.served = stack.enter_context(
            Serving(folder, offline=False, chains={"polkadot": {"endpoints": [self.node.url]}})
        )

    def broadcast(self, **more: Any) -> Any:
        return self.served.post("/api/chain/Broadcast", {"chain": "polkadot", "tx": GOOD, **more})

    def follow(self) -> Stream:
        return Stream(self.served, PATH, port=self.served.api)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(streams, "_BLOCK_TIME", 0.05)
    with ExitStack() as stack:
        yield Desk(tmp_path, stack)


def event(stream: Stream) -> tuple[str, Any]:
    while "data" not in (found := stream.block()):
        assert found, "the stream has ended"
    return found["event"], json.loads(found["data"])


def test_a_transaction_is_followed_until_it_is_final(desk: Desk) -> None:
    desk.broadcast()
    with desk.follow() as stream:
        sent = event(stream)
        desk.chain.include(NUMBER + 1)
        included = event(stream)
        desk.chain.finalized = NUMBER + 1
        final = event(stream)
        rest = stream.response.read()

    assert [(kind, data["state"]) for kind, data in (sent, included, final)] == [
        ("status", "sent"),
        ("status", "in-block"),
        ("status", "finalized"),
    ]
    assert final[1]["fee_human"] == "0.0161154943 DOT"
    assert (final[1]["settled"], final[1]["warnings"]) == (True, [])
    assert rest == b""


def test_a_settled_one_is_told_once(desk: Desk) -> None:
    desk.broadcast()
    desk.chain.include(NUMBER + 1, finalized=True)
    desk.served.get(f"/api/tx/status?chain=polkadot&hash={HASH}")
    asked = len(desk.node.asked)
    with desk.follow() as stream:
        _, data = event(stream)
        rest = stream.response.read()

    assert (data["state"], rest) == ("finalized", b"")
    assert len(desk.node.asked) == asked


def test_the_chain_is_asked_only_while_somebody_listens(desk: Desk) -> None:
    desk.broadcast()
    with desk.follow() as stream:
        event(stream)
    wait_until(lambda: not desk.served.servers.context.metrics.streams)
    # What was on its way then may still arrive.
    time.sleep(0.3)
    asked = len(desk.node.asked)
    time.sleep(0.3)

    assert len(desk.node.asked) == asked


def test_an_outage_keeps_the_stream_and_says_so(desk: Desk) -> None:
    desk.broadcast()
    with desk.follow() as stream:
        event(stream)
        desk.node.answers["chain_getFinalizedHead"] = None
        _, data = event(stream)

    assert data["state"] == "sent"
    assert len(data["warnings"]) == 1
    assert data["warnings"][0].startswith("Polkadot could not be asked")


def test_a_daemon_that_stops_ends_its_streams(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_BLOCK_TIME", 60.0)
    monkeypatch.setattr(streams, "_HEARTBEAT", 60.0)
    desk.broadcast()
    with desk.follow() as stream:
        event(stream)
        began = time.monotonic()
        desk.served.stop()
        stream.response.read()

    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("chain=polkadot&hash=0x12", 422, ("hash", "0x12")),
        (f"chain=polkadt&hash={'0x' + '11' * 32}", 422, ("polkadt",)),
        ("chain=polkadot", 422, ("hash",)),
    ],
)
def test_what_can_t_be_followed_is_an_error_and_no_stream(
    desk: Desk, query: str, status: int, words: tuple[str, ...]
) -> None:
    reply = desk.served.get(f"/api/tx/events?{query}")

    assert reply.status == status
    assert reply.json()["error"] == says(*words)


def test_the_drafts_of_a_stream_are_marked(desk: Desk) -> None:
    served = desk.served
    # Drafted without a node: the fake one has no runtime API.
    job = str(
        served.post("/api/create/remark", {"chain": "polkadot", "text": "hello"}).json()["result"]
    )
    assert served.post("/job/run", {"id": job}).status == 200
    (row,) = served.post("/scenario/tx", {"id": job}, port=served.worker).json()["mempool"]
    drafted = bytes.fromhex(row["tx"][2:])
    tx = signed(read_unsigned(TABLE, CHAIN, drafted)[0])
    reply = desk.broadcast(tx=tx, job=job, draft=row["seq"]).json()
    with Stream(served, f"/job/events?id={job}") as stream:
        while (found := stream.event())[0] != "mempool":
            pass

    assert found[2]["sent"] == {
        "hash": reply["hash"],
        "state": "sent",
        "block_number": None,
        "success": None,
    }
