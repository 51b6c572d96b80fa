"""What a node can take of a daemon's time and memory."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import tomli_w

from tests.canned import answers
from tests.daemons import Daemon
from tests.node import Node
from tests.pressure import pressed_daemon, send, under_probe
from tests.test_node_cost import ASKED, Babbler, answer_with, flood


@contextmanager
def running(home: Path, *endpoints: str) -> Iterator[Daemon]:
    home.mkdir()
    config = home / "config.toml"
    chains = {"polkadot": {"endpoints": list(endpoints)}} if endpoints else {}
    config.write_text(tomli_w.dumps({"private_targets": ["127.0.0.1"], "chains": chains}))
    with pressed_daemon(home, "--config", str(config)) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("pressed") / "home") as daemon:
        yield daemon


@pytest.mark.parametrize("kind", ["notices", "lists"])
@pytest.mark.soak
@pytest.mark.parametrize("size", [2, 40])
def test_a_node_that_never_ends(tmp_path: Path, kind: str, size: int) -> None:
    nuisance = flood if kind == "notices" else answer_with(ASKED + "[" + "[]," * 5_000_000 + "[]]}")
    question = {"chain": "polkadot", "pallet_name": "System", "method_name": "Number", "params": []}
    with (
        Babbler("state_getStorage", nuisance) as babbler,
        Node(answers("polkadot")) as node,
        running(tmp_path / "home", babbler.url, node.url) as daemon,
        under_probe(daemon),
        ThreadPoolExecutor(size) as threads,
    ):
        ended = list(
            threads.map(lambda _: send(daemon, "/api/actions/query", question)[1], range(size))
        )

    assert ended == [{"result": "0", "value": "0", "asked": 1}] * size
