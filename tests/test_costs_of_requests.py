"""What one request can take of a daemon's time and memory, whoever sends it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemons import Daemon
from tests.pressure import pressed_daemon, send, sizes, under_probe


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home: Path = tmp_path_factory.mktemp("pressed")
    with pressed_daemon(home / "home", "--offline") as running:
        yield running


@sizes(40_000, 400_000)
def test_a_long_dotted_key(running: Daemon, size: int) -> None:
    """The parser keeps every prefix of a key: 400 kB took 21 GB."""
    flow = ".".join("a" * (size // 2)) + " = 1"

    with under_probe(running):
        status, answer = send(running, "/api/create/flow", {"flow": flow})

    assert (status, answer["code"]) == (422, "invalid_request")
