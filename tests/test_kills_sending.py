"""Daemons that are killed while they send a transaction: it is never sent twice, and it is never
forgotten."""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.daemons import PATIENCE, Daemon, daemon
from tests.messages import says
from tests.node import Node, Silent
from tests.test_broadcast import GOOD, HASH, NUMBER
from tests.test_transaction_status import FakeChain

pytestmark = pytest.mark.processes


class Desk:
    """A chain, and daemons with one home, of which a test kills all but the last."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.chain = FakeChain()
        self.node = stack.enter_context(Node(self.chain.answers()))
        self._home = folder / "home"
        self._config = folder / "config.toml"
        self._config.write_text(f'[chains.polkadot]\nendpoints = ["{self.node.url}"]\n')
        self._stack = stack

    def start(self) -> Daemon:
        started = daemon(
            self._home,
            *("--role", "api"),
            listen=("--listen", "127.0.0.1:0"),
            variables={"SCENARIOCTL_CONFIG": str(self._config)},
        )
        return self._stack.enter_context(started)

    def submissions(self) -> int:
        return self.node.asked.count("author_submitExtrinsic")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with ExitStack() as stack:
        yield Desk(tmp_path, stack)


def broadcast(daemon: Daemon, **more: Any) -> tuple[int, Any]:
    status, answer, _ = daemon.ask(
        "/api/chain/Broadcast", {"chain": "polkadot", "tx": GOOD, **more}
    )
    return status, answer


def status(daemon: Daemon) -> Any:
    return daemon.ask(f"/api/tx/status?chain=polkadot&hash={HASH}")[1]


@pytest.mark.parametrize("arrived", [False, True], ids=["the bytes were lost", "the node took it"])
def test_a_daemon_that_is_killed_while_it_sends_leaves_that_it_may_have_been_sent(
    desk: Desk, arrived: bool
) -> None:
    reached = threading.Event()

    def submit(_: str) -> str:
        reached.set()
        raise Silent

    desk.node.answers["author_submitExtrinsic"] = submit
    first = desk.start()
    sending = threading.Thread(target=lambda: _ignore(lambda: broadcast(first)), daemon=True)
    sending.start()
    assert reached.wait(PATIENCE)
    first.end(signal.SIGKILL)
    sending.join(PATIENCE)

    desk.node.answers["author_submitExtrinsic"] = HASH
    again = desk.start()
    before = status(again)
    refused = broadcast(again)
    if arrived:
        desk.chain.include(NUMBER + 1, finalized=True)
        desk.chain.nonce = 6
    after = status(again)
    repeated = broadcast(again, again=True)

    assert (before["state"], before["summary"]) == (
        "uncertain",
        says("may have been sent", "polkadot"),
    )
    assert (refused[0], refused[1]["state"]) == (409, "uncertain")
    assert after["state"] == ("finalized" if arrived else "uncertain")
    # Sent once more only if the chain doesn't have it.
    assert repeated[0] == (409 if arrived else 200)
    assert desk.submissions() == (1 if arrived else 2)


def test_a_daemon_that_is_killed_after_it_sent_forgets_nothing(desk: Desk) -> None:
    first = desk.start()
    sent = broadcast(first)
    first.end(signal.SIGKILL)

    again = desk.start()
    before = status(again)
    desk.chain.include(NUMBER + 1)
    after = status(again)
    refused = broadcast(again)

    assert sent[1]["hash"] == HASH
    assert (before["state"], after["state"], after["block_number"]) == (
        "sent",
        "in-block",
        NUMBER + 1,
    )
    assert (refused[0], refused[1]["state"]) == (409, "in-block")
    assert desk.submissions() == 1


def _ignore(work: Any) -> None:
    """The daemon is killed before it answers."""
    try:
        work()
    except OSError:
        return
