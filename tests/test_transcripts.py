"""Exact output: whole answers, what is answered to typos, lines of shell scripts, and the first ten
minutes of a new user."""

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests import transcripts
from tests.conftest import Ended, Run
from tests.test_story import WEBHOOK
from tests.transcripts import FOLDER, Command, Entry, play, read, titles, write

ANSWERS, TYPOS, SCRIPTS, FIRST = (
    FOLDER / name for name in ("answers.txt", "typos.txt", "scripts.txt", "first-contact.txt")
)


def find(path: Path, title: str) -> Entry:
    (entry,) = (each for each in read(path)[1] if each.title == title)
    return entry


def compare(path: Path, recorded: Entry, played: Entry) -> None:
    if transcripts.updating:
        write(path, played)
    else:
        assert str(played) == str(recorded)


def environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.environ["PYTHONPATH"],
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
    }


def in_shell(home: Path, command: Command) -> Ended:
    """Run *command* by the shell it names, as a script would: nothing is a terminal."""
    done = subprocess.run(
        [command.shell, "-c", command.line],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=home,
        timeout=60,
        check=False,
        env=environment(home),
    )
    return Ended(out=done.stdout, err=done.stderr, code=done.returncode)


def on_terminal(home: Path, command: Command) -> Ended:
    """Run *command* as a person would; its stdout has all that the terminal shows."""
    screen, theirs = pty.openpty()
    process = subprocess.Popen(
        [command.shell, "-c", command.line],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=home,
        start_new_session=True,
        env={
            **environment(home),
            "TERM": "xterm",
            "COLUMNS": "110",
            "LINES": "1000",
            "NO_COLOR": "1",
            "TZ": "UTC",
        },
    )
    os.close(theirs)
    shown = b""
    # Linux tells the end of a terminal by an error.
    with suppress(OSError):
        while part := os.read(screen, 65536):
            shown += part
            if shown.endswith(b"): "):
                # Who is asked for a value ends it by Ctrl-D.
                os.write(screen, b"\x04")
    os.close(screen)
    return Ended(out=shown.decode().replace("\r\n", "\n"), err="", code=process.wait(timeout=60))


@pytest.fixture
def within(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Command], Ended]:
    """Run a command in this process, offline."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SCENARIOCTL_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)

    def run(command: Command) -> Ended:
        program, *words = shlex.split(command.line)
        assert program == "scenarioctl"
        return scenarioctl(*words)

    return run


@pytest.mark.parametrize("title", titles(ANSWERS))
def test_an_answer_is_the_recorded_one(
    within: Callable[[Command], Ended], tmp_path: Path, title: str
) -> None:
    recorded = find(ANSWERS, title)

    compare(ANSWERS, recorded, play(recorded, tmp_path, within))


@pytest.mark.processes
@pytest.mark.parametrize("title", titles(TYPOS))
def test_a_typo_is_answered_with_what_would_work(
    within: Callable[[Command], Ended], tmp_path: Path, title: str
) -> None:
    (tmp_path / "hook.json").write_text(json.dumps(WEBHOOK))
    recorded = find(TYPOS, title)

    played = play(recorded, tmp_path, within)

    assert played.commands[-1].code != 0
    compare(TYPOS, recorded, played)


@pytest.mark.processes
@pytest.mark.one_python
@pytest.mark.parametrize("title", titles(SCRIPTS))
def test_a_line_of_a_script_prints_and_ends_as_recorded(tmp_path: Path, title: str) -> None:
    recorded = find(SCRIPTS, title)

    played = play(recorded, tmp_path, lambda command: in_shell(tmp_path, command))

    compare(SCRIPTS, recorded, played)


@pytest.mark.processes
@pytest.mark.one_python
@pytest.mark.parametrize("title", titles(FIRST))
def test_the_first_ten_minutes_of_a_new_user(tmp_path: Path, title: str) -> None:
    recorded = find(FIRST, title)

    played = play(recorded, tmp_path, lambda command: on_terminal(tmp_path, command))

    compare(FIRST, recorded, played)
