"""What every command prints: whole answers, plain and as JSON, however the line is written."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scenarioctl import __version__
from tests.conftest import BOB, BOB_HEX, Ended, Run
from tests.messages import says
from tests.test_parity import commands

PROGRAM = str(Path(sys.executable).parent / "scenarioctl")
ID = re.compile(r"[A-Za-z0-9]{9}")
#: `XcmPallet.limited_teleport_assets` of 1.5 DOT to Bob on Asset Hub, from polkadot 2000000.
TELEPORT_CALL = f"0x630905000100a10f0500010100{BOB_HEX[2:]}05040000000700d6117e030000000000"
TELEPORT = "0xf804" + TELEPORT_CALL[2:]
REMARK_CALL = "0x00071468656c6c6f"
TRANSFER = ("create", "scenario", "--from", "polkadot", "--to", "assetHub", "--asset", "DOT")
CREATE = (*TRANSFER, "--amount", "1.5", "--destination-address", BOB)
CREATE_SWAP = (
    *("--offline", "create", "swap", "--assetin", "DOT", "--assetout", "HDX", "--amount", "2"),
    *("--min-amount-out", "900000000000000"),
)
CREATE_REMARK = ("create", "remark", "--chain", "polkadot", "--text", "hello")
XCM = (
    *(
        "xcm",
        "asset-transfer",
        "--sourchain",
        "polkadot",
        "--destchain",
        "assetHub",
        "--assetid",
        "DOT",
    ),
    *("--amount", "15000000000", "--destinationaddress", BOB),
)
OMNIPOOL_NOTE = "at least 900 HDX, the minimum given; offline it is not compared with a quote"
OMNIPOOL_WARNING = (
    "without a route, the swap goes straight through the Omnipool: if it does not hold "
    "both 5 (DOT, "
    "Polkadot) and HDX (the native asset), the swap fails and you still pay the fee"
)


def ok(ended: Ended) -> str:
    """Return the answer of a run that had nothing to warn of."""
    assert (ended.said, ended.code) == ("", 0)
    return ended.out


def created(scenarioctl: Run, *line: str) -> str:
    scenario_id = scenarioctl(*line).out.strip()
    assert ID.fullmatch(scenario_id)
    return scenario_id


# Creating


# The line


@pytest.mark.parametrize(
    "line",
    [
        ("--offline", "--json", "--store", "{store}", "--config", "{config}", *XCM),
        ("--store", "{store}", "xcm", "--offline", "--json", "--config", "{config}", *XCM[1:]),
        (*XCM, "--offline", "--json", "--store", "{store}", "--config", "{config}"),
        ("--json", *XCM[:4], "--offline", *XCM[4:]),
    ],
    ids=["before", "between", "after", "in the middle"],
)
def test_global_options_stand_anywhere(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...]
) -> None:
    config = tmp_path / "c.toml"
    config.write_text("")
    words = [word.format(store=tmp_path / "s.db", config=config) for word in line]

    assert json.loads(ok(scenarioctl(*words))) == {
        "txdata": TELEPORT,
        "spec_version": 2000000,
        "offline": True,
    }


def test_the_option_after_the_command_wins_over_the_one_before_it(
    scenarioctl: Run, tmp_path: Path
) -> None:
    first, second = str(tmp_path / "1.db"), str(tmp_path / "2.db")

    created(scenarioctl, "--store", first, *CREATE_REMARK, "--store", second)

    assert not Path(first).exists()
    assert ok(scenarioctl("template", "stats", "polkadot", "--store", second)) == "1\n"


def test_a_transaction_without_a_node_needs_offline(scenarioctl: Run, tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[chains.polkadot]\nendpoints = ["ws://127.0.0.1:1"]\n')

    ended = scenarioctl("--config", str(config), *XCM, "--json")

    answer = json.loads(ended.out)
    assert (answer["code"], ended.code, ended.err) == ("chain_unreachable", 5, ended.out)
    assert "Polkadot" in answer["error"]
    assert "`offline`" in answer["error"]
    assert "--offline" in scenarioctl("--config", str(config), *XCM).err


def test_help_and_version(scenarioctl: Run) -> None:
    assert ok(scenarioctl("--version")) == f"scenarioctl {__version__}\n"
    assert ok(scenarioctl("-V")) == f"scenarioctl {__version__}\n"
    assert ok(scenarioctl("-h")) == ok(scenarioctl("--help"))
    assert ok(scenarioctl("--help")).startswith("Usage: scenarioctl [OPTIONS] COMMAND [ARGS]...\n")
    assert ok(scenarioctl("xcm", "asset-transfer", "--help")).startswith(
        "Usage: scenarioctl xcm asset-transfer [OPTIONS]\n"
    )


# Transactions


DECODED_REMARK = {
    "says": "writes 'hello' to the history of Polkadot",
    "call": {"pallet": "System", "method": "remark_with_event", "args": {"remark": "hello"}},
    "call_data": REMARK_CALL,
    "call_hash": "0xb82e785850266c370345245630424894df164b66e5c07a4da562f9b24cb56996",
    "spec_version": 2000000,
    "offline": True,
}


# The store


# The web editor

DIAGRAM = {
    "nodes": [{"id": "a", "type": "chain", "formData": {"chain": "kusama"}, "data": {"é": 1.5}}],
    "edges": [],
}


# What the machine knows


# Where the answer goes


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH")}
    return {**kept, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC", **more}


def on_a_terminal(home: Path, *line: str, both: bool = False) -> tuple[str, str, int]:
    """Run the real program with a terminal for its stdout; return what it drew, its stderr and exit
    status.

    With *both* its stderr is on the terminal too, as it is for people.
    """
    ours, theirs = pty.openpty()
    # As wide as rich is told below; a fresh terminal has no width.
    process = subprocess.Popen(
        [PROGRAM, *line],
        stdout=theirs,
        stderr=theirs if both else subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment(home, TERM="xterm-256color", COLUMNS="100"),
    )
    os.close(theirs)
    drawn = b""
    try:
        while data := os.read(ours, 65536):
            drawn += data
    except OSError:
        # How Linux says that nobody holds the other end any more.
        pass
    os.close(ours)
    _, said = process.communicate(timeout=60)
    return drawn.decode().replace("\r\n", "\n"), said or "", process.returncode


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize(
    ("line", "drawn"),
    [
        (
            ("scenario", "list"),
            'id         created   what\n{id}  <date>  remark "hello" · Polkadot\n',
        ),
        (
            ("scenario", "show", "{id}"),
            "id       {id}\nsummary  polkadot > Remark\ncreated  <date>\n\nsteps\n"
            "step           type    what\n"
            "<node>   chain   polkadot\n<node>  action  'hello' on Polkadot\n",
        ),
        (
            ("--offline", "tx", "decode", REMARK_CALL, "--chain", "polkadot"),
            json.dumps({"chain": "polkadot", "form": "call", **DECODED_REMARK}, indent=2) + "\n",
        ),
    ],
    ids=["a list", "facts", "nested data"],
)
def test_on_a_terminal_answers_are_drawn(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...], drawn: str
) -> None:
    store = str(tmp_path / "s.db")
    scenario_id = created(scenarioctl, "--store", store, *CREATE_REMARK)

    shown, said, code = on_a_terminal(
        tmp_path, "--store", store, *(w.format(id=scenario_id) for w in line)
    )

    plain = re.sub(r" +\n", "\n", without_colours(shown))
    plain = re.sub(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d", "<date>", plain)
    plain = re.sub(r"(action|chain)_[0-9a-f]{6}", "<node>", plain)
    assert "\x1b[1m" in shown
    assert plain == drawn.replace("{id}", scenario_id)
    assert (said, code) == ("", 0)


@pytest.mark.parametrize("line", ["chain list", "--help", "info abcdefghi --json"])
def test_a_reader_that_has_had_enough_ends_it_quietly(tmp_path: Path, line: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [PROGRAM, *line.split()],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    os.close(writer)

    assert done.returncode == (3 if "info" in line else 141)
    assert (
        done.stderr == ""
        if done.returncode == 141
        else json.loads(done.stderr)["code"] == "not_found"
    )


@pytest.mark.parametrize(
    ("line", "said", "code"),
    [
        ("chain list > /dev/full", says("answer", "written").printed, 2),
        ("info abcdefghi --json --offline > /dev/full 2>&-", "", 3),
        ("chain list >&-", "", 0),
        ("info abcdefghi >&-", says("scenario", "abcdefghi").printed, 3),
        ("info abcdefghi 2>/dev/full", "", 3),
    ],
)
def test_an_output_that_cannot_be_written_is_no_bug(
    tmp_path: Path, line: str, said: Any, code: int
) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} {line}"],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
    )

    assert (done.stdout, done.stderr, done.returncode) == ("", said, code)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_output_that_cannot_spell_a_letter_gets_its_escape(
    tmp_path: Path, encoding: str
) -> None:
    done = subprocess.run(
        [PROGRAM, "info", "é🦀", "--json"],
        capture_output=True,
        env=environment(tmp_path, PYTHONIOENCODING=encoding),
    )

    assert json.loads(done.stdout.decode(encoding)) == {
        "error": says("id", "é🦀"),
        "code": "invalid_request",
        "field": "id",
        "value": "é🦀",
        "expected": "a name, an id, or the first 4 characters of an id",
    }
    assert (done.stderr, done.returncode) == (done.stdout, 2)


def test_a_bug_is_called_one(scenarioctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarioctl.operations.chains._describe", lambda app, each: 1 / 0)

    ended = scenarioctl("chain", "list")

    assert (ended.out, ended.code) == ("", 1)
    assert ended.err == says("ZeroDivisionError", "division by zero", "SCENARIOCTL_DEBUG=1").printed
    monkeypatch.setenv("SCENARIOCTL_DEBUG", "1")
    assert "Traceback (most recent call last)" in scenarioctl("chain", "list").err


def test_the_examples_in_the_help_run(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("diagram.json").write_text(json.dumps(DIAGRAM))
    remark = created(scenarioctl, *CREATE_REMARK)
    played = 0
    for name, command in commands().items():
        if name in ("daemon",):
            # It goes on until somebody stops it; tests/test_daemon.py does.
            continue
        _, found, example = (command.epilog or "").partition("Example:\n")
        for line in example.replace("\\\n", " ").splitlines() if found else ():
            if "…" in line or "--follow" in line:
                continue
            before, piped, after = line.rpartition(" | ")
            said = tmp_path / "said"
            said.write_text(shlex.split(before)[1] if piped else "")
            words = shlex.split(after.partition(" > ")[0])
            ended = scenarioctl(
                "--offline",
                *(remark if word == "3kf9Qz7aB" else word for word in words[1:]),
                stdin=said,
            )
            # 3 and 5: understood, and only another store or a node can answer it.
            assert ended.code in (0, 3, 5), (words, ended)
            played += 1
    assert played > 8
