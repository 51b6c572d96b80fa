"""What the options of every command do to its output: fields, files, notes, warnings, JSON,
times."""

import calendar
import codecs
import json
import os
import pty
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from scenarioctl.cli.output import draw_table
from tests.conftest import BOB, Run
from tests.daemons import PATIENCE
from tests.messages import says
from tests.test_cli import CREATE_REMARK, CREATE_SWAP, OMNIPOOL_NOTE, OMNIPOOL_WARNING, PROGRAM, ok


@pytest.fixture
def remark(scenarioctl: Run) -> str:
    return ok(scenarioctl(*CREATE_REMARK)).strip()


# --field


@pytest.mark.parametrize(
    ("path", "printed"),
    [
        ("id", "{id}\n"),
        ("nodes.0.type", "chain\n"),
        ("nodes.-1.type", "action\n"),
        ("nodes.*.type", "chain\naction\n"),
        ("edges.*.*", "{chain}\n{action}\n"),
        ("problems.*.problem", ""),
        (
            "nodes.1",
            (
                '{{"id": "{action}", "type": "action", "step": "Remark", "text": "\'hello\' on '
                'Polkadot"}}\n'
            ),
        ),
    ],
)
def test_a_field_is_a_path(scenarioctl: Run, remark: str, path: str, printed: str) -> None:
    chain, action = ok(scenarioctl("scenario", "show", remark, "--field", "nodes.*.id")).split()

    shown = ok(scenarioctl("scenario", "show", remark, "--field", path))

    assert shown == printed.format(id=remark, chain=chain, action=action)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("nothing", ("field", "nothing")),
        ("nodes.7.id", ("field", "nodes.7.id")),
        ("nodes.x", ("field", "nodes.x")),
        ("problems.0", ("field", "problems.0")),
        ("summary.0", ("field", "summary.0")),
        ("nodes.0.colour", ("field", "nodes.0.colour")),
        ("", ("field",)),
    ],
)
def test_a_field_that_is_not_there_is_named(
    scenarioctl: Run, remark: str, path: str, parts: tuple[str, ...]
) -> None:
    ended = scenarioctl("scenario", "show", remark, "--field", path)

    assert (ended.out, ended.err, ended.code) == ("", says(*parts).printed, 2)


# Notes and warnings


def test_quiet_prints_no_notes_but_warnings(scenarioctl: Run) -> None:
    loud, quiet = scenarioctl(*CREATE_SWAP), scenarioctl(*CREATE_SWAP, "-q")

    assert loud.said == f"{OMNIPOOL_NOTE}\nWarning: {OMNIPOOL_WARNING}\n"
    assert quiet.err == f"Warning: {OMNIPOOL_WARNING}\n"


def test_verbose_says_what_was_asked(scenarioctl: Run) -> None:
    ended = scenarioctl("-v", *CREATE_REMARK)

    spent, understood = ended.err.splitlines()
    assert re.match(r"creation\.create_remark took \d+\.\d+ s", spent)
    assert spent.endswith("scenarios.db")
    assert understood.startswith("Created ")


@pytest.mark.parametrize("way", ["flag", "SCENARIOCTL_STRICT", "config.toml"])
def test_strict_creates_nothing_if_there_is_a_warning(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    line: tuple[str, ...] = CREATE_SWAP
    if way == "flag":
        line = ("--strict", *line)
    elif way == "config.toml":
        (tmp_path / "c.toml").write_text("strict = true\n")
        line = ("--config", str(tmp_path / "c.toml"), *line)
    else:
        monkeypatch.setenv(way, "1")

    ended = scenarioctl(*line, "--json")
    monkeypatch.delenv("SCENARIOCTL_STRICT", raising=False)

    answer = json.loads(ended.out)
    assert answer["code"] == "warned"
    assert answer["warnings"] == [OMNIPOOL_WARNING]
    assert OMNIPOOL_WARNING in answer["error"]
    assert ended.code == 7
    assert ok(scenarioctl("scenario", "list")) == ""


def test_a_refusal_reads_as_one_sentence(scenarioctl: Run) -> None:
    line = (
        "--offline",
        "create",
        "scenario",
        "--from",
        "assetHub",
        "--to",
        "hydraDx",
        "--asset",
        "DOT",
    )

    ended = scenarioctl(*line, "--amount", "1.5", "--destination-address", BOB, "--strict")

    assert (ended.out, ended.err, ended.code) == (
        "",
        says("(FeesNotMet). --strict was asked for").printed,
        7,
    )


def test_in_json_errors_are_on_stderr_too(scenarioctl: Run) -> None:
    ended = scenarioctl("info", "abcdefghi", "--json")

    assert ended.err == ended.out
    assert json.loads(ended.err)["code"] == "not_found"


# Offline


@pytest.mark.parametrize(
    ("way", "advice"),
    [
        ("flag", "Omit --offline."),
        ("SCENARIOCTL_OFFLINE", "SCENARIOCTL_OFFLINE sets it: pass --no-offline."),
        ("config.toml", "config.toml sets it: pass --no-offline."),
    ],
)
def test_an_offline_refusal_tells_where_offline_comes_from(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, advice: str
) -> None:
    config = tmp_path / "c.toml"
    nowhere = '[chains.polkadot]\nendpoints = ["ws://127.0.0.1:1"]\n'
    config.write_text(("offline = true\n" if way == "config.toml" else "") + nowhere)
    if way == "SCENARIOCTL_OFFLINE":
        monkeypatch.setenv(way, "1")
    line = ("--config", str(config), "query", "polkadot", "System", "Number")

    refused = scenarioctl(*line, *(("--offline",) if way == "flag" else ()))
    connected = scenarioctl(*line, "--no-offline")

    assert (refused.out, refused.code) == ("", 5)
    assert refused.err == f"Error: Polkadot can't be asked offline. {advice}\n"
    assert "cannot be reached" in connected.err


# Lists


def test_of_several_those_are_deleted_that_exist(scenarioctl: Run) -> None:
    made = [ok(scenarioctl(*CREATE_REMARK)).strip() for _ in range(4)]
    ok(scenarioctl("job", "start", made[3], "-q", "--field", "id"))

    ended = scenarioctl(
        "scenario", "delete", made[0], made[1], made[0], "abcdefghi", made[2], made[3], "--yes"
    )
    as_json = scenarioctl("scenario", "delete", "abcdefghi", made[3], "--yes", "--json")

    assert (ended.out, ended.code) == ("".join(f"{id}\n" for id in made[:3]), 3)
    assert ended.err == says("abcdefghi", made[3], "job stop", id=made[3])
    assert ok(scenarioctl("scenario", "list", "--field", "scenarios.*.id")) == f"{made[3]}\n"
    answer = json.loads(as_json.out)
    assert (answer["success"], answer["code"], as_json.code) == (False, "not_found", 3)
    assert answer["error"] == says("2 of 2")


def test_what_is_deleted_is_found_before_anything_is_deleted(scenarioctl: Run) -> None:
    made = [ok(scenarioctl(*CREATE_REMARK)).strip() for _ in range(4)]
    ok(scenarioctl("-q", "scenario", "edit", made[0], "--name", "Rent"))

    ended = scenarioctl(
        "scenario", "delete", made[3], "@last", "Rent", made[0][:5], made[0], "--yes"
    )

    assert (ended.out, ended.err, ended.code) == (f"{made[3]}\n{made[0]}\n", "", 0)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nothing_is_deleted_unasked(scenarioctl: Run, options: tuple[str, ...]) -> None:
    id = ok(scenarioctl(*CREATE_REMARK)).strip()

    ended = scenarioctl("scenario", "delete", id, "--quiet", *options)

    assert ended.code == 2
    assert (json.loads(ended.out)["error"] if options else ended.err) == says("--yes", "terminal")
    assert ok(scenarioctl("scenario", "list", "--field", "total")) == "1\n"


# On a terminal


class Terminal:
    """The program on a terminal that shows all three streams."""

    def __init__(self, home: Path, *line: str, **more: str) -> None:
        self.screen, theirs = pty.openpty()
        environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        self.process = subprocess.Popen(
            [PROGRAM, *line],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**environment, "COLUMNS": "100", **more},
            start_new_session=True,
        )
        os.close(theirs)
        # A character, and the two of a line's end, may come in two reads.
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def read(self) -> str:
        """Return what is shown until the program ends."""
        return "".join(self._parts())

    def read_until(self, text: str) -> str:
        shown = ""
        for part in self._parts():
            shown += part
            if text in shown:
                break
        return shown

    def _parts(self) -> Iterator[str]:
        try:
            while data := os.read(self.screen, 65536):
                text = self._rest + self._decoder.decode(data)
                self._rest = "\r" if text.endswith("\r") else ""
                yield text.removesuffix(self._rest).replace("\r\n", "\n")
        except OSError:
            # How Linux says that nobody holds the other end any more.
            yield self._rest

    def end(self) -> int:
        code = self.process.wait(PATIENCE)
        os.close(self.screen)
        return code


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 130, 1)])
def test_a_person_is_asked_before_anything_is_deleted(
    tmp_path: Path, answer: str, code: int, left: int
) -> None:
    created = Terminal(tmp_path, *CREATE_REMARK)
    id = created.read().split()[-1]
    assert created.end() == 0

    deleting = Terminal(tmp_path, "scenario", "delete", id)
    asked = deleting.read_until("]: ")
    deleting.type(answer)
    rest = deleting.read()

    assert asked == f'Delete {id} (remark "hello" · Polkadot), with log and drafts? [y/N]: '
    assert deleting.end() == code
    assert (id in rest) is (code == 0)
    listed = Terminal(tmp_path, "scenario", "list", "--field", "total")
    assert listed.read() == f"{left}\n"
    listed.end()


def test_times_are_local_on_a_terminal_and_utc_elsewhere(tmp_path: Path, scenarioctl: Run) -> None:
    store = str(tmp_path / "s.db")
    id = ok(scenarioctl("--store", store, *CREATE_REMARK)).strip()
    utc = ok(scenarioctl("--store", store, "scenario", "list")).split("\t")[1]

    listed = Terminal(tmp_path, "--store", store, "scenario", "show", id, TZ="Asia/Kathmandu")
    shown = listed.read()

    moment = time.strptime(utc, "%Y-%m-%dT%H:%M:%SZ")
    seconds = calendar.timegm(moment) + 5.75 * 3600
    assert time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) in shown
    assert listed.end() == 0


TX_DECODE = ("tx", "decode", "0x00071468656c6c6f", "--chain", "polkadot", "--offline")


def test_no_color_means_no_escapes(tmp_path: Path, scenarioctl: Run) -> None:
    store = str(tmp_path / "s.db")
    id = ok(scenarioctl("--store", store, *CREATE_REMARK)).strip()
    for line in (("scenario", "show", id), ("scenario", "list"), TX_DECODE):
        shown = [Terminal(tmp_path, "--store", store, *line, NO_COLOR=value) for value in ("", "1")]

        with_color, without = (each.read() for each in shown)

        assert ("\x1b[1m" in with_color, "\x1b" in without) == (True, False)
        assert [each.end() for each in shown] == [0, 0]


# Help


ROWS = (
    ("assetHub", "1984", "0/PalletInstance(50)/GeneralIndex(1984)", "Tether USD"),
    ("hydraDx", "0x" + "1f" * 20, None, "a name with « and 漢字 of several words"),
)
COLUMNS = ("chain", "id", "location", "name")


def laid_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> list[str]:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    draw_table(COLUMNS, ROWS)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [64, 80, 200])
def test_a_table_fits_the_screen_and_breaks_no_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    lines = laid_out(monkeypatch, capsys, width)
    words = [piece for line in lines for piece in line.replace("/", "/ ").split()]

    assert max(map(cell_len, lines)) <= width
    assert lines[0].split() == list(COLUMNS)
    for row in ROWS:
        for cell in row:
            if cell and not cell.startswith("0x"):
                assert set(cell.replace("/", "/ ").split()) <= set(words)
    assert "0x1f1f1f1f1f…1f1f1f1f1f" in words
    assert (len(lines) == 1 + len(ROWS)) is (width == 200)
