"""Files that users name: a pipe is read while somebody writes to it, and waited for no longer than
a minute."""

import os
import threading
from pathlib import Path

import pytest

from scenarioctl import files
from scenarioctl.files import read_file
from tests.conftest import Run
from tests.messages import says


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(files, "_PIPE_SECONDS", 0.05)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


#: Field -> a command that reads a file there.
COMMANDS = {
    "file": "scenario preview PIPE",
    "abi": "chain contract --abi PIPE 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
    "source": "scenario import PIPE",
    "calls": "--offline tx batch polkadot @PIPE",
    "from": "--offline chain refresh polkadot --from PIPE",
    "config": "--config PIPE config show",
}


@pytest.mark.parametrize("field", COMMANDS)
def test_a_pipe_that_nobody_writes_to_is_refused(scenarioctl: Run, pipe: Path, field: str) -> None:
    ended = scenarioctl(*COMMANDS[field].replace("PIPE", str(pipe)).split())

    assert (ended.out, ended.code) == ("", 2)
    assert ended.err == says(field, "nothing was written", pipe=pipe).within("Error: {}\n")


def test_a_pipe_is_read_to_its_end(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_PIPE_SECONDS", 60.0)
    text = os.urandom(300_000)
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()

    assert read_file(pipe, limit=1_000_000) == text
    writer.join(10)


def test_no_more_is_read_than_a_byte_beyond_the_limit(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(100))

    assert len(read_file(tmp_path / "large", limit=10)) == 11
