"""What a person at a terminal is asked for, and that nobody else is."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.conftest import BOB
from tests.daemons import PATIENCE
from tests.test_cli import PROGRAM, environment


class Dialogue:
    """A program on a terminal of its own; what it prints is read as it comes."""

    def __init__(self, home: Path, *line: str, stdout: int | None = None) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [PROGRAM, "--offline", *line],
            stdin=theirs,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            env=environment(home, TERM="xterm"),
        )
        os.close(theirs)
        self.seen = ""
        self._read = 0

    def read_until(self, text: str) -> None:
        """Read until *text* has come behind what was waited for before, or, of an empty one, to the
        end."""
        deadline = time.monotonic() + PATIENCE
        while not text or text not in self.seen[self._read :]:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self._ours], [], [], left)[0]
            assert ready, f"{text!r} never came: {self.seen}"
            try:
                data = os.read(self._ours, 65536)
            except OSError:
                # How Linux says that nobody holds the other end any more.
                data = b""
            if not data:
                assert not text, f"{text!r} never came: {self.seen}"
                return
            self.seen += data.decode().replace("\r\n", "\n")
        self._read = self.seen.index(text, self._read) + len(text)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """Read the rest, and return the exit code."""
        self.read_until("")
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._ours)


Start = Callable[..., Dialogue]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as begun:
        yield lambda *line, **how: begun.enter_context(closing(Dialogue(tmp_path, *line, **how)))


def test_what_is_missing_is_asked_for_one_by_one(start: Start) -> None:
    dialogue = start("create", "transfer", "--asset", "DOT")
    for prompt, answer in (
        ("(--from): ", "polkadot"),
        ("(--to): ", "assetHub"),
        ("(--amount): ", "1.5"),
        ("(--to-address): ", BOB),
    ):
        dialogue.read_until(prompt)
        dialogue.type(f"{answer}\n")

    assert dialogue.end() == 0
    assert "Created " in dialogue.seen
    assert "1.5 DOT, Polkadot → " in dialogue.seen
    given = f"--asset DOT --from polkadot --to assetHub --amount 1.5 --to-address {BOB}"
    assert f"The same in one line: scenarioctl create transfer {given}\n" in dialogue.seen


def test_a_wrong_value_is_told_at_once_and_asked_for_again(start: Start) -> None:
    dialogue = start("create", "transfer", "--from", "polkadot", "--to", "assetHub")
    for prompt, answers in (
        ("(--asset): ", ("DOTT", "DOT")),
        ("(--amount): ", ("much", "1.5")),
        ("(--to-address): ", (BOB[:-1], BOB)),
    ):
        wrong, right = answers
        dialogue.read_until(prompt)
        dialogue.type(f"{wrong}\n")
        dialogue.read_until("Error: ")
        dialogue.read_until(prompt)
        dialogue.type(f"{right}\n")

    assert dialogue.end() == 0
    assert dialogue.seen.count("Error: ") == 3


def test_a_name_of_the_address_book_is_an_answer(start: Start) -> None:
    assert start("address", "add", "Cold wallet", BOB).end() == 0
    dialogue = start(
        "create", "transfer", "--from", "polkadot", "--to", "assetHub", "--asset", "DOT"
    )
    for prompt, answer in (("(--amount): ", "1.5"), ("(--to-address): ", "Cold wallet")):
        dialogue.read_until(prompt)
        dialogue.type(f"{answer}\n")

    assert dialogue.end() == 0
    assert "--to-address 'Cold wallet'\n" in dialogue.seen


def test_a_shells_completion_completes_an_answer(start: Start) -> None:
    dialogue = start("create", "remark", "--text", "hello")
    dialogue.read_until("(--chain): ")
    dialogue.type("kus\t")
    dialogue.read_until("ama")
    dialogue.type("\n")

    assert dialogue.end() == 0
    assert "--text hello --chain kusama\n" in dialogue.seen


def test_an_argument_is_asked_for(start: Start) -> None:
    dialogue = start("scenario", "show")
    dialogue.read_until("ID: ")
    dialogue.type("abcdefghi\n")

    assert dialogue.end() == 3
    assert "The same in one line: scenarioctl scenario show abcdefghi\n" in dialogue.seen


def test_a_mistyped_option_is_told_before_anything_is_asked(start: Start) -> None:
    dialogue = start("create", "transfer", "--frm", "polkadot")

    assert dialogue.end() == 2
    assert dialogue.seen.startswith("Error: there is no option '--frm', did you mean --from?\n")


def test_ctrl_d_ends_it_and_nothing_is_kept(start: Start, tmp_path: Path) -> None:
    dialogue = start("create", "remark")
    dialogue.read_until("(--chain): ")
    dialogue.type("\x04")

    assert dialogue.end() == 130
    assert not list(tmp_path.rglob("*.db"))


@pytest.mark.parametrize("line", [("--json",), ("--help",)])
def test_nobody_is_asked_who_wants_json_or_help(start: Start, line: tuple[str, ...]) -> None:
    dialogue = start("create", "remark", *line)

    assert dialogue.end() == (2 if line == ("--json",) else 0)
    assert "): " not in dialogue.seen


def test_nobody_is_asked_whose_stdout_is_a_pipe(start: Start) -> None:
    dialogue = start("create", "remark", stdout=subprocess.DEVNULL)

    assert dialogue.end() == 2
    assert "Error: --chain is missing" in dialogue.seen
