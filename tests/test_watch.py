"""`query --watch` where its node is lost: it goes on at another one, says so, and neither repeats
nor passes over a change."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.actions import query_watch
from scenarioctl.cli import query
from tests.blocks import block_hash, header_of
from tests.canned import GENESIS, answers
from tests.conftest import Ended, Run
from tests.messages import says
from tests.node import Feed, Gone, Last, Node, Refusal

#: Block number -> `System.Number` there, as far as these tests care.
Values = Mapping[int, int]

VALUES: Values = {20: 1, 21: 2, 22: 2, 23: 3, 24: 3, 25: 4, 26: 5}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "SHORTEST_PAUSE", 0.02)


def hash_of(number: int, fork: int = 0) -> str:
    return block_hash(number, fork=fork)


def node(
    values: Values,
    *feeds: Iterable[int] | None,
    head: int = 20,
    forks: Mapping[int, int] | None = None,
    pruned: Iterable[int] = (),
    until: int = 0,
) -> Node:
    """Return a node at block *head*; each subscription to its blocks tells of the next of *feeds*,
    and is cut where that is None.

    It goes away when it has answered for block *until*.
    """
    left = [
        Feed([Gone] if feed is None else ({"number": hex(each)} for each in feed)) for feed in feeds
    ]
    hashes = {number: hash_of(number, (forks or {}).get(number, 0)) for number in values}
    numbers = {block: number for number, block in hashes.items()}
    thrown_away = set(pruned)

    def storage(_key: str, at: str) -> Any:
        number = numbers[at]
        if number in thrown_away:
            raise Refusal(4003, "Client error: State already discarded for the block")
        value = f"0x{values[number]:02x}000000"
        return Last(value) if number == until else value

    return Node(
        answers(
            "polkadot",
            chain_getBlockHash=lambda number=None: (
                GENESIS["polkadot"] if number == 0 else hashes[head if number is None else number]
            ),
            chain_getHeader=lambda at=None: header_of(hashes[head] if at is None else at),
            state_getStorage=storage,
            chain_subscribeNewHeads=lambda: left.pop(0) if left else Feed([Gone]),
        )
    )


def watch(scenarioctl: Run, tmp_path: Path, *endpoints: str, lines: int = 0) -> Ended:
    path = tmp_path / "config.toml"
    listed = ", ".join(f'"{each}"' for each in endpoints)
    path.write_text(
        f'cache = "{tmp_path / "cache"}"\n[chains.polkadot]\nendpoints = [{listed}]\n',
        encoding="utf-8",
    )
    count = ("--count", str(lines)) if lines else ()
    return scenarioctl(
        "--config", str(path), "query", "polkadot", "System", "Number", "--watch", *count
    )


def told(ended: Ended, url: str, block: int, seconds: str = "300") -> list[str]:
    """Return the lines on stderr behind the first, which says that the node at *url* was lost."""
    first, *others = ended.err.splitlines()
    # How the end of a connection shows is up to the moment.
    assert first.startswith(
        f"lost after block {block}, trying again for {seconds} seconds: {url} did not answer "
    )
    return others


def test_it_goes_on_at_another_endpoint_with_what_happened_meanwhile(
    scenarioctl: Run, tmp_path: Path
) -> None:
    with node(VALUES, [20, 21], until=21) as first, node(VALUES, [24, 25, 26], head=24) as second:
        ended = watch(scenarioctl, tmp_path, first.url, second.url, lines=4)

    assert (ended.out, ended.code) == ("20\t1\n21\t2\n23\t3\n25\t4\n", 0)
    assert told(ended, first.url, 21) == [says("24", url=second.url)]
    # The blocks that went by without a word of them too.
    assert second.asked.count("state_getStorage") == 4


def test_it_goes_on_at_the_same_endpoint_when_that_is_back(
    scenarioctl: Run, tmp_path: Path
) -> None:
    with node(VALUES, [20, 21], None, [20, 21, 22, 23], until=21) as only:
        ended = watch(scenarioctl, tmp_path, only.url, lines=3)

    again = (
        f"following Polkadot again at {only.url}, block 20, which is behind; waiting for block 21"
    )
    assert (ended.out, ended.code) == ("20\t1\n21\t2\n23\t3\n", 0)
    assert told(ended, only.url, 21) == [again, again]


def test_a_node_that_is_behind_repeats_nothing(scenarioctl: Run, tmp_path: Path) -> None:
    older = {18: 8, 19: 9, **VALUES}
    with (
        node(VALUES, [20, 21], until=21) as first,
        node(older, [18, 19, 20, 21, 22, 23], head=18) as second,
    ):
        ended = watch(scenarioctl, tmp_path, first.url, second.url, lines=3)

    assert ended.out == "20\t1\n21\t2\n23\t3\n"
    assert told(ended, first.url, 21) == [says("18", "21", url=second.url)]


def test_a_block_that_the_chain_gave_up_meanwhile_is_read_again(
    scenarioctl: Run, tmp_path: Path
) -> None:
    other = {**VALUES, 21: 7}
    with (
        node(VALUES, [20, 21], until=21) as first,
        node(other, [21, 22], head=21, forks={21: 1}) as second,
    ):
        ended = watch(scenarioctl, tmp_path, first.url, second.url, lines=4)

    assert ended.out == "20\t1\n21\t2\n21\t7\n22\t2\n"


def test_blocks_that_no_word_came_of_are_read_also_where_nothing_was_lost(
    scenarioctl: Run, tmp_path: Path
) -> None:
    with node(VALUES, [20, 23, 26]) as only:
        ended = watch(scenarioctl, tmp_path, only.url, lines=5)

    assert ended == Ended(out="20\t1\n21\t2\n23\t3\n25\t4\n26\t5\n", err="", code=0)


def test_blocks_whose_state_is_gone_are_told(scenarioctl: Run, tmp_path: Path) -> None:
    with (
        node(VALUES, until=20) as first,
        node(VALUES, [25], head=25, pruned=(21, 22, 23)) as second,
    ):
        ended = watch(scenarioctl, tmp_path, first.url, second.url, lines=3)

    assert ended.out == "20\t1\n24\t3\n25\t4\n"
    assert told(ended, first.url, 20)[1:] == [
        says("21", "23", "state_getStorage", "4003", url=second.url)
    ]


def test_more_blocks_than_can_be_read_are_told(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_watch, "MOST_MISSED", 2)
    with node(VALUES, until=20) as first, node(VALUES, [26], head=26) as second:
        ended = watch(scenarioctl, tmp_path, first.url, second.url, lines=4)

    assert ended.out == "20\t1\n24\t3\n25\t4\n26\t5\n"
    assert told(ended, first.url, 20)[1:] == [says("21", "23")]


def test_it_ends_where_nothing_new_comes_for_as_long_as_it_is_patient(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "PATIENCE_SECONDS", 0.2)
    with node(VALUES, [20, 21], until=21) as only:
        started = time.monotonic()
        ended = watch(scenarioctl, tmp_path, only.url)
        passed = time.monotonic() - started

    assert (ended.out, ended.code) == ("20\t1\n21\t2\n", 5)
    last = told(ended, only.url, 21, "0.2")[-1]
    assert last.startswith(f"Error: {only.url} did not answer ")
    assert last.endswith("; nothing new came for 0.2 seconds")
    # Not the 300 that it would be patient otherwise.
    assert passed < 60


def test_a_node_that_is_not_there_at_first_is_not_waited_for(
    scenarioctl: Run, tmp_path: Path
) -> None:
    ended = watch(scenarioctl, tmp_path, "ws://127.0.0.1:1/")

    assert ended == Ended(
        out="",
        err=(
            "Error: Polkadot cannot be reached (ws://127.0.0.1:1/ did not open: Connection "
            "refused)\n"
        ),
        code=5,
    )
