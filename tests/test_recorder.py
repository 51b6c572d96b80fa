"""What a node said is said again: recorded by a proxy, written to a file, replayed from it."""

import re
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.rpc_errors import NodeError
from scenarioctl.runtime.metadata import read_metadata
from tests.conftest import DATA
from tests.live.recorded_metadata import (
    as_answered,
    keep_metadata,
    read_kept,
    without_documentation,
)
from tests.live.recorder import (
    Conversations,
    Exchange,
    Recorder,
    Replay,
    read_conversations,
    write_conversations,
)
from tests.messages import says
from tests.node import Feed, Node, Refusal
from tests.runner import BlockingConnection

METADATA = DATA / "metadata" / "polkadot-1002005.v14.scale"
NEWER = DATA / "metadata" / "polkadot-2000000.v15.scale"
VERSION = {"specName": "polkadot", "specVersion": 1002005}
V15, V16 = "0x0f000000", "0x10000000"
#: Of the documentation.
REMARK = b"Make some on-chain remark."
#: Longer than what is written where it stands.
LONG = "0x" + "ab" * 300


@pytest.fixture
def node() -> Iterator[Node]:
    heads = count(1)

    def submit(_: str) -> str:
        raise Refusal(1010, "Invalid Transaction", "bad signature")

    answers: dict[str, Any] = {
        "chain_getBlockHash": "0x45",
        "state_getRuntimeVersion": VERSION,
        "state_getMetadata": "0x" + METADATA.read_bytes().hex(),
        "state_call": lambda _, version: (
            as_answered(NEWER.read_bytes()) if version == V15 else "0x00"
        ),
        "state_getStorage": LONG,
        "chain_getHeader": lambda *_: {"number": next(heads)},
        "author_submitExtrinsic": submit,
        "chain_subscribeNewHeads": Feed([{"number": "0x1"}, {"number": "0x2"}]),
    }
    with Node(answers) as node:
        yield node


def converse(url: str) -> list[Any]:
    """Return all that a node answers to what is asked of it here."""
    said: list[Any] = []
    client = BlockingConnection(url)
    try:
        said += [client.call("chain_getHeader") for _ in range(3)]
        said += client.call_many([("state_getStorage", ("0x01",)), ("state_getStorage", ("0x02",))])
        with pytest.raises(NodeError) as refused:
            client.call("author_submitExtrinsic", "0x00")
        said.append((refused.value.number, refused.value.message, refused.value.data))
        said += client.notices("chain_subscribeNewHeads", 2, ended_by="chain_unsubscribeNewHeads")
        said += [
            client.call("state_call", "Metadata_metadata_at_version", each) for each in (V16, V15)
        ]
        said.append(client.call("state_getMetadata"))
    finally:
        client.close()
    return said


def record(node: Node) -> tuple[list[Any], Recorder]:
    with Recorder(node.url) as recorder:
        said = converse(recorder.url)
    return said, recorder


def written(path: Path, exchanges: list[Exchange], metadata: Iterable[str] = ()) -> Conversations:
    kept = Conversations(
        chains={"RELAY": exchanges},
        salt="salt",
        signatures={"a": "b"},
        metadata={"RELAY": list(metadata)},
    )
    write_conversations(path, kept)
    return read_conversations(path)


def test_a_replay_answers_as_the_node_did(node: Node, tmp_path: Path) -> None:
    said, recorder = record(node)
    names = [keep_metadata(each, tmp_path) for each in recorder.metadata]
    kept = written(tmp_path / "module.json", recorder.exchanges, names)

    with Replay(kept.chains["RELAY"], read_kept(kept.metadata["RELAY"], tmp_path)) as replay:
        again = converse(replay.url)

    assert again[:-2] == said[:-2]
    assert said[:3] == [{"number": 1}, {"number": 2}, {"number": 3}]
    assert said[5:8] == [
        (1010, "Invalid Transaction", says("bad", "signature")),
        {"number": "0x1"},
        {"number": "0x2"},
    ]
    assert said[8] == "0x00"
    assert [tables(each) for each in again[-2:]] == [tables(each) for each in said[-2:]]
    assert (kept.salt, kept.signatures) == ("salt", {"a": "b"})


def tables(answer: str) -> bytes:
    return read_metadata(bytes.fromhex(answer[2:])).dump()


def test_metadata_is_kept_apart_and_without_its_documentation(node: Node, tmp_path: Path) -> None:
    _, recorder = record(node)
    path = tmp_path / "module.json"
    written(path, recorder.exchanges)

    names = sorted(keep_metadata(each, tmp_path) for each in recorder.metadata)
    again = [keep_metadata(each, tmp_path) for each in read_kept(names, tmp_path).values()]

    assert {each["method"] for each in recorder.exchanges}.isdisjoint(
        {"state_getMetadata", "state_call"}
    )
    assert "6d657461" not in path.read_text()
    assert [re.sub(r"\.[0-9a-f]{8}\.", ".HASH.", name) for name in names] == [
        "polkadot-1002005.v14.HASH.scale.xz",
        "polkadot-2000000.v15.HASH.scale.xz",
    ]
    assert sorted(again) == names
    assert all((tmp_path / name).stat().st_size < 60_000 for name in names)


@pytest.mark.parametrize(
    "path", sorted((DATA / "metadata").glob("*.scale")), ids=lambda path: path.name
)
def test_a_runtime_without_its_documentation_is_the_same(path: Path) -> None:
    data = path.read_bytes()

    bare = without_documentation(data)

    assert read_metadata(bare).dump() == read_metadata(data).dump()
    assert without_documentation(bare) == bare
    assert REMARK not in bare


def test_what_was_not_recorded_is_refused(node: Node) -> None:
    _, recorder = record(node)

    with Replay(recorder.exchanges, {}) as replay:
        client = BlockingConnection(replay.url)
        with pytest.raises(
            NodeError, match=re.escape('not in the recording: state_getStorage ["0x03"]')
        ):
            client.call("state_getStorage", "0x03")
        client.close()
