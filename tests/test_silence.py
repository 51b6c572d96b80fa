"""A node that keeps silent in the middle of a question: what is no work for it is asked elsewhere
soon, and nothing sent twice."""

import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.client import Client
from scenarioctl.chains.connection import Timeouts
from scenarioctl.chains.pool import Pool
from scenarioctl.errors import ChainUnreachable
from tests.canned import answers, polkadot_at
from tests.messages import says
from tests.node import Feed, Node, Silent
from tests.runner import finish
from tests.runtimes import bundled

NOWHERE = "ws://127.0.0.1:1/"
#: Waits two seconds for what is no work: even on a busy machine, a node that answers has done so by
#: then.  Asks the first endpoint first.
HURRIED = Timeouts(prompt=2.0, stagger=10.0)


def silent(*_: Any) -> None:
    raise Silent


def slowly(answer: Any) -> Callable[..., Any]:
    """Return an answer that takes longer than anybody of these tests likes to wait."""

    def take(*_: Any) -> Any:
        time.sleep(1)
        return answer

    return take


@contextmanager
def client_of(tmp_path: Path, *nodes: Node, timeouts: Timeouts = HURRIED) -> Iterator[Client]:
    """Give a client of these endpoints."""
    chain = polkadot_at(*(node.url for node in nodes))
    pool = Pool(chain, known=bundled("polkadot"), cache=tmp_path, timeouts=timeouts)
    try:
        yield Client(pool)
    finally:
        finish(pool.close())


def test_a_small_question_is_asked_elsewhere_soon_and_so_is_what_follows(tmp_path: Path) -> None:
    with (
        Node(answers("polkadot", state_getStorage=silent)) as stalling,
        Node(answers("polkadot")) as node,
        client_of(tmp_path, stalling, node) as client,
    ):
        started = time.monotonic()
        said = [finish(client.storage("System", "Number")) for _ in range(2)]
        passed = time.monotonic() - started

        assert said == [0, 0]
        assert client.endpoint == node.url
        assert stalling.asked.count("state_getStorage") == 1
        # Not the 20 that an answer may take.
        assert passed < 15


def test_of_several_questions_all_are_asked_elsewhere_where_one_has_no_answer(
    tmp_path: Path,
) -> None:
    number = {"number": "0x15"}
    with (
        Node(answers("polkadot", state_getStorage=silent)) as stalling,
        Node(answers("polkadot", chain_getHeader=number, state_getStorage="0x07")) as node,
        client_of(tmp_path, stalling, node) as client,
    ):
        said = finish(client.call_many([("chain_getHeader", ()), ("state_getStorage", ("0x00",))]))

        assert said == [number, "0x07"]


@pytest.mark.parametrize("other", ["none that answers", "one of another runtime"])
def test_a_slow_node_is_waited_for_where_there_is_no_other(tmp_path: Path, other: str) -> None:
    newer = {"specName": "polkadot", "specVersion": 2000001}
    with (
        Node(answers("polkadot", chain_getBlock=slowly("late"))) as slow,
        Node(answers("polkadot", state_getRuntimeVersion=newer)) as another,
    ):
        chain = polkadot_at(slow.url, NOWHERE if other == "none that answers" else another.url)
        pool = Pool(chain, known=bundled("polkadot"), cache=tmp_path, timeouts=HURRIED)
        client = Client(pool)
        # Too short for the slow one to be reached a second time meanwhile.
        finish(client.version())
        client.timeouts = pool.timeouts = replace(HURRIED, prompt=0.3, opening=0.1)
        said = finish(client.call("chain_getBlock"))
        finish(pool.close())

    assert said == "late"
    assert slow.asked.count("chain_getBlock") == 1
    assert "chain_getBlock" not in another.asked


def test_a_connection_that_died_without_a_word_is_replaced_by_one_to_the_same_node(
    tmp_path: Path,
) -> None:
    left = [silent]

    def sometimes(*_: Any) -> str:
        if left:
            left.pop()()
        return "a block"

    with (
        Node(answers("polkadot", chain_getBlock=sometimes)) as node,
        client_of(tmp_path, node) as client,
    ):
        said = finish(client.call("chain_getBlock"))

        assert said == "a block"
        assert node.asked.count("chain_getBlock") == 2


@pytest.mark.parametrize("method", ["state_call", "state_getMetadata"])
def test_what_may_take_a_node_long_is_waited_for(tmp_path: Path, method: str) -> None:
    with (
        Node(answers("polkadot", None, **{method: slowly("0x00")})) as slow,
        Node(answers("polkadot", None, **{method: "0x01"})) as other,
        client_of(tmp_path, slow, other) as client,
    ):
        said = finish(client.call(method))

        assert said == "0x00"
        assert other.asked == []


def test_what_acts_is_waited_for_and_never_asked_elsewhere(tmp_path: Path) -> None:
    with (
        Node(
            answers("polkadot", author_submitExtrinsic=slowly("0xhash"), author_rotateKeys=silent)
        ) as slow,
        Node(
            answers("polkadot", author_submitExtrinsic="0xother", author_rotateKeys="0xkeys")
        ) as other,
        client_of(tmp_path, slow, other, timeouts=Timeouts(answering=4.0, stagger=10.0)) as client,
    ):
        said = finish(client.submit("author_submitExtrinsic", "0x00"))
        with pytest.raises(ChainUnreachable) as lost:
            finish(client.submit("author_rotateKeys"))

        assert said == "0xhash"
        assert str(lost.value) == says("author_rotateKeys", url=slow.url)
        assert other.asked == []


def test_a_subscription_is_not_cut_for_a_slow_answer_beside_it(tmp_path: Path) -> None:
    heads = Feed([{"number": "0x14"}, {"number": "0x15"}])
    with (
        Node(
            answers("polkadot", chain_subscribeNewHeads=heads, chain_getBlock=slowly("late"))
        ) as slow,
        Node(answers("polkadot")) as other,
        client_of(tmp_path, slow, other) as client,
    ):

        async def follow() -> list[Any]:
            told: list[Any] = []
            async with aclosing(
                client.subscribe("chain_subscribeNewHeads", ended_by="chain_unsubscribeNewHeads")
            ) as notices:
                told.append(await anext(notices))
                told.append(await client.call("chain_getBlock"))
                told.append(await anext(notices))
            return told

        assert finish(follow()) == [{"number": "0x14"}, "late", {"number": "0x15"}]
        assert other.asked == []
