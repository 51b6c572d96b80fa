"""Bad input: whatever is typed, the answer is one sentence that helps, a code and an exit status,
and nothing is stored."""

import base64
import json
import re
import shutil
import sqlite3
import sys
import tomllib
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import BOB, BOB_HEX, DATA, Run, examples
from tests.messages import Says, says
from tests.refusals import refused
from tests.test_parity import commands

EXITS = {
    "bad_json": 2,
    "invalid_request": 2,
    "too_large": 2,
    "not_found": 3,
    "conflict": 4,
    "store_failed": 2,
    "chain_unreachable": 5,
}

#: Fields whose options a person knows by other names, which a sentence on a terminal says.
TYPED = {
    "sourchain": "--from",
    "destchain": "--to",
    "source_chain": "--from",
    "dest_chain": "--to",
    "assetid": "--asset",
    "destinationaddress": "--to-address",
    "destination_address": "--to-address",
    "assetin": "--sell",
    "assetout": "--buy",
}

Line = tuple[str, ...]
#: Name -> content.
#: What a file holds; a large one is made when its test runs, not by every worker that collects it.
Content = str | bytes | Callable[[], str | bytes]
Files = Mapping[str, Content]


def case(
    name: str,
    line: Line,
    error: Says | str,
    code: str = "invalid_request",
    *,
    files: Files | None = None,
    stdin: str = "",
    imported: str = "",
    usage: str = "",
    confirm: bool = False,
) -> Any:
    """Return a row: `{id}` in *line* is the scenario made by importing the file *imported*.

    *stdin* is a file's name; *usage* the command whose help the answer names; *confirm* says that
    `yes` would allow it.
    """
    return pytest.param(line, error, code, files or {}, stdin, imported, usage, confirm, id=name)


def options(given: Mapping[str, str | None], changes: Mapping[str, str | None]) -> Line:
    """Return `--name value` for each; what is no text leaves it out."""
    return tuple(
        word
        for name, value in {**given, **changes}.items()
        if isinstance(value, str)
        for word in (f"--{name.replace('_', '-')}", value)
    )


def transfer(**changes: str | None) -> Line:
    """Return a sound `xcm asset-transfer`, but for *changes*."""
    given = {
        "from": "polkadot",
        "to": "assetHub",
        "assetid": "DOT",
        "amount": "15000000000",
        "destinationaddress": BOB,
    }
    return ("--offline", "xcm", "asset-transfer", *options(given, changes))


def scenario(**changes: str | None) -> Line:
    given = {
        "source_chain": "polkadot",
        "dest_chain": "assetHub",
        "assetid": "DOT",
        "amount": "1.5",
        "destination_address": BOB,
    }
    return ("create", "scenario", *options(given, changes))


def swap(**changes: str | None) -> Line:
    given = {
        "assetin": "DOT",
        "assetout": "HDX",
        "amount": "2",
        "min_amount_out": "900000000000000",
    }
    return ("--offline", "create", "swap", *options(given, changes))


def payload(tx: str = "0x00071468656c6c6f", **changes: str | None) -> Line:
    given = {"chain": "polkadot", "sender": BOB, "nonce": "0"}
    return ("--offline", "tx", "payload", tx, *options(given, changes))


def decode(tx: str, chain: str = "polkadot") -> Line:
    return ("--offline", "tx", "decode", tx, "--chain", chain)


SOUND: dict[str, Callable[..., Line]] = {
    "transfer": transfer,
    "scenario": scenario,
    "swap": swap,
    "payload": payload,
}
#: What a row of the data may hold -> the file that it is, and the command that reads it.
READ: dict[str, tuple[str, Line]] = {
    "import": ("it.txt", ("scenario", "import", "it.txt")),
    "flow": ("flow.toml", ("create", "flow", "flow.toml")),
    "config": ("c.toml", ("--config", "c.toml", "chain", "list")),
    "abi": ("abi.json", ("contract", "info", "--abi", "abi.json")),
    "diagram": ("it.json", ("--offline", "scenario", "full", "{id}")),
}


def case_of(row: Mapping[str, Any]) -> Any:
    """Return a row of data/bad_input.toml, whose head says what its keys mean."""
    given = dict(row)
    name, error = given.pop("name"), says(*given.pop("says"))
    for key, (file, line) in READ.items():
        if key in given:
            more = (given.pop("address", BOB),) if key == "abi" else ()
            return case(
                name,
                (*line, *more),
                error,
                files={file: given.pop(key)},
                imported=file if key == "diagram" else "",
                **given,
            )
    line = tuple(given.pop("line", ()))
    for key, build in SOUND.items():
        if key in given:
            tx = {"tx": given.pop("tx")} if "tx" in given else {}
            line = build(**tx, **given.pop(key))
    if "decode" in given:
        line = decode(given.pop("decode"), given.pop("chain", "polkadot"))
    return case(name, (*line, *given.pop("more", ())), error, **given)


def beyond(
    kind: str, name: str, error: Says, content: Content, code: str = "invalid_request"
) -> Any:
    """Return a row like one of the data that holds *kind*, of a *content* that no data holds."""
    return case_of({"name": name, "says": error.words, kind: content, "code": code})


def diagram(*nodes: Mapping[str, Any], edges: Any = ()) -> str:
    """Return the JSON of a diagram; an edge is a pair of ids."""
    return json.dumps(
        {
            "nodes": list(nodes),
            "edges": [
                {"id": f"{source}-{target}", "source": source, "target": target}
                for source, target in edges
            ],
        }
    )


def share(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    return base64.b64encode(zlib.compress(data)).decode()


def remark_node(identifier: str = "a", text: str = "hello") -> dict[str, Any]:
    data = {"actionType": "Remark", "source": {"chain": "polkadot", "target": text}, "target": {}}
    return {
        "id": identifier,
        "type": "action",
        "formData": {"action": "Remark", "actionData": data},
    }


HELLO = share(diagram(remark_node()))
#: One byte more than a diagram may have.
TOO_LONG = 16 * 1024 * 1024 + 1
#: A remark of 66 000 letters, more than a QR code takes.
SCANNED_BY_NOBODY = "0x0007" + (4 * 66000 + 2).to_bytes(4, "little").hex() + "61" * 66000
#: What a line of data can't hold: bytes that aren't text, and sizes beyond all measure.
BEYOND_DATA = [
    case(
        "raw of 5000 digits",
        transfer(amount="9" * 5000),
        says("amount", "9999999999999999999999999999999999999999999999999999999999"),
    ),
    case(
        "an address as long as a book",
        transfer(destinationaddress="1" * 100_000),
        says("destinationaddress", "1111111111111111111111111111111111111111"),
    ),
    case(
        "stdin that is not text",
        decode("-"),
        says("tx", "UTF-8", "0"),
        files={"in": b"\xff\xfe"},
        stdin="in",
    ),
    case(
        "an id that no byte of UTF-8 spells",
        ("info", "\udcffabc"),
        says("id", "\\udcffabc"),
    ),
    case(
        "a remark that no byte of UTF-8 spells",
        ("create", "remark", "--chain", "polkadot", "--text", "\udc80"),
        says("remark", "\\udc80"),
    ),
    case(
        "a remark beyond a block",
        ("create", "remark", "--chain", "polkadot", "--text", "a" * (3 * 1024 * 1024 + 1)),
        says("remark", "3145729"),
    ),
    beyond(
        "import", "a file that is not text", says("source", "it.txt", "UTF-8", "0"), b"\xff\xfe\x00"
    ),
    beyond(
        "import",
        "lists a thousand deep",
        says("diagram", "100"),
        '{"nodes": [], "edges": [], "x": ' + "[" * 1000 + "]" * 1000 + "}",
    ),
    beyond(
        "import", "lists a million deep", says("diagram", "250000"), "[" * 1_000_000, "too_large"
    ),
    beyond(
        "import",
        "more nodes than a diagram may have",
        says("diagram", "10001", "10000"),
        '{"edges": [], "nodes": [' + ",".join(["0"] * 10_001) + "]}",
        "too_large",
    ),
    beyond(
        "import",
        "a diagram above 16 MiB",
        says("diagram", "16777216"),
        lambda: '{"nodes": [], "edges": [], "x": "' + "a" * TOO_LONG + '"}',
        "too_large",
    ),
    beyond(
        "import",
        "a zlib bomb",
        says("diagram", "16777216"),
        lambda: share(b" " * 64 * 1024 * 1024),
        "too_large",
    ),
    beyond(
        "diagram",
        "a circle of a hundred nodes",
        says("'n0' > 'n1' > 'n2' > 'n3'", "> 'n0'"),
        diagram(
            *(remark_node(f"n{n}") for n in range(100)),
            edges=[(f"n{n}", f"n{(n + 1) % 100}") for n in range(100)],
        ),
    ),
    beyond(
        "flow",
        "a flow above 1 MiB",
        says("file", "flow.toml", "1048576"),
        "#" * (1024 * 1024 + 1),
        "too_large",
    ),
    case(
        "settings of bytes, set",
        ("--config", "c.toml", "config", "set", "offline", "true"),
        says("config", "c.toml", "UTF-8", "0"),
        files={"c.toml": b"\xff"},
    ),
    case(
        "a flow of a name too long",
        ("create", "flow", "a" * 5000),
        says("file", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ),
    case(
        "a store that is not a database",
        ("--store", "s.db", "scenario", "list"),
        says("store", "{folder}/s.db"),
        "store_failed",
        files={"s.db": "hello, I am text\n" * 100},
    ),
    case(
        "a QR code of a transaction that nobody scans",
        (
            *payload(SCANNED_BY_NOBODY, block="64", block_hash="0x" + "1" * 64),
            *("--qr-file", "a.png", "--quiet"),
        ),
        says("tx", "QR", "66155", "65"),
        "too_large",
    ),
]

TABLE = [*map(case_of, tomllib.loads((DATA / "bad_input.toml").read_text())["case"]), *BEYOND_DATA]


def store_path() -> Path:
    return Path.home() / ".local" / "share" / "scenarioctl" / "scenarios.db"


def count_stored() -> int:
    """Return how many scenarios the user's own store holds, without making one."""
    if not store_path().exists():
        return 0
    database = sqlite3.connect(store_path())
    (amount,) = database.execute("SELECT count(*) FROM scenarios").fetchone()
    database.close()
    return int(amount)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


#: Commands whose documented answer has a flag: an error has it too.
FLAGS = {
    ("create", "swap"): {"success": False},
    ("scenario", "import"): {"success": False},
    ("scenario", "export"): {"success": False},
    ("scenario", "delete"): {"success": False},
    ("contract", "info"): {"sucess": False},
}


def flag_of(words: Sequence[str]) -> dict[str, bool]:
    return next((FLAGS[pair] for pair in pairwise(words) if pair in FLAGS), {})


@pytest.mark.parametrize(
    ("line", "error", "code", "files", "stdin", "imported", "usage", "confirm"), TABLE
)
def test_bad_input_is_refused_in_one_sentence(
    scenarioctl: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: Line,
    error: Says,
    code: str,
    files: Files,
    stdin: str,
    imported: str,
    usage: str,
    confirm: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, made in files.items():
        text = made() if callable(made) else made
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    scenario_id = scenarioctl("scenario", "import", imported).out.strip() if imported else ""
    words = [word.replace("{id}", scenario_id) for word in line]
    standard_input = Path(stdin) if stdin else None
    before = content(tmp_path), count_stored()

    as_json = scenarioctl(*words, "--json", stdin=standard_input)
    plain = scenarioctl(*words, stdin=standard_input)

    answer = json.loads(as_json.out)
    said = answer["error"]
    assert said.replace(str(tmp_path), "{folder}") == error
    also = {"confirm": "yes"} if confirm else {}
    assert refused(answer) == {**flag_of(words), **also, "error": said, "code": code}
    # On stderr too, for scripts that read stdout.
    assert (as_json.err, as_json.code) == (as_json.out, EXITS[code])
    hint = f"Try '{usage} --help'.\n" if usage else ""
    field, _, rest = said.partition(" ")
    option = TYPED.get(field, field)
    told = f"{field if option in rest else option} {rest}"
    typed = TYPED.get(field, f"--{field.replace('_', '-')}")
    if rest.startswith("is missing") and plain.err.startswith(f"Error: {typed} "):
        told = f"{typed} {rest.removesuffix(f', expected {typed}')}"
    # Other fields are options on a terminal, where the command has them.
    spelled = re.sub("`([a-z_]+)`", lambda found: f"--{found[1].replace('_', '-')}", told)
    assert plain.err in (f"Error: {told}\n{hint}", f"Error: {spelled}\n{hint}")
    assert (plain.out, plain.code) == ("", EXITS[code])
    assert (content(tmp_path), count_stored()) == before


#: Commands to a terminal: colours, its title, eight-bit escapes, letters that turn the line around.
NAUGHTY = "a\x1b[31m\x1b]0;x\x07\x9b2J\u202e\tb\nc"


def naughty_diagram() -> str:
    form = {"chain": NAUGHTY, "asset": {"symbol": NAUGHTY}, "address": NAUGHTY, "amount": NAUGHTY}
    sides = {"source": {**form, "target": NAUGHTY}, "target": form}
    return diagram(
        {"id": NAUGHTY, "type": NAUGHTY, "formData": {"chain": NAUGHTY}},
        {"id": "1", "type": "chain", "formData": form},
        *(
            {"id": action, "type": "action", "formData": {"action": action, "actionData": sides}}
            for action in ("xTransfer", "swap", "Remark", NAUGHTY)
        ),
        {"id": "5", "type": "http", "formData": {"url": NAUGHTY, "method": NAUGHTY}},
        {"id": "6", "type": "webhook", "formData": {"webhookName": NAUGHTY, "uuid": NAUGHTY}},
        {"id": "7", "type": "delay", "formData": {"seconds": NAUGHTY}},
        *(
            {
                "id": kind,
                "type": kind,
                "formData": {
                    "selectedChain": NAUGHTY,
                    "selectedPallet": NAUGHTY,
                    "selectedMethod": {"name": NAUGHTY},
                    "params": {NAUGHTY: NAUGHTY},
                },
            }
            for kind in ("chainQuery", "chainTx")
        ),
    )


@pytest.mark.parametrize("terminal", [False, True], ids=["in a pipe", "on a terminal"])
@pytest.mark.parametrize(
    "line",
    [
        "info {id}",
        "scenario list",
        "scenario list --json",
        "scenario show {id}",
        "scenario show {id} --json",
        "scenario show {id} --field summary",
        "scenario export {id} --as json",
        "--offline scenario full {id}",
        "--offline scenario full {id} --json",
        "chain list",
        "chain list --json",
        "config show",
    ],
)
def test_what_stands_in_a_file_is_no_command_to_the_terminal(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, terminal: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    name = json.dumps(NAUGHTY)
    Path("c.toml").write_text(
        f'[chains.rig]\nrole = "relay"\nsymbol = {name}\ndecimals = 1\ntitle = '
        f'{name}\nendpoints = ["ws://x"]\n'
    )
    Path("it.json").write_text(naughty_diagram())
    scenario_id = scenarioctl("scenario", "import", "it.json").out.strip()
    if terminal:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        # Rich then draws without escapes of its own.
        monkeypatch.setenv("TERM", "dumb")

    ended = scenarioctl("--config", "c.toml", *line.format(id=scenario_id).split())

    assert ended.code in (0, 2)
    printed = (ended.out + ended.err).replace("\n", "")
    # Columns in a pipe are told apart by tabs.
    assert printed.replace("" if terminal else "\t", "").isprintable()


NASTY = (
    *(
        "",
        " ",
        "-",
        "--",
        "-1",
        "0",
        "1.5",
        "1e400",
        "NaN",
        "true",
        "null",
        "[]",
        "{}",
        '{"a": 1}',
        "0x",
        "0x00",
    ),
    *(
        "\0",
        "\x1b[31m",
        "\udcff",
        "é",
        "１",
        "🦀",
        "a" * 5000,
        "9" * 5000,
        "[" * 5000,
        "\n",
        "%s",
        "../..",
        "*",
    ),
    *(
        "polkadot",
        "assetHub",
        "hydraDx",
        "DOT",
        "HDX",
        "10",
        "abcdefghi",
        BOB,
        BOB_HEX,
        "immortal",
        "64",
    ),
    *(
        "0x00071468656c6c6f",
        "call",
        "payload",
        "json",
        "toml",
        "5>omnipool>0",
        HELLO,
        "steps = []",
        "offline",
    ),
)
PATHS = ("it", "it.json", "it.toml", "missing", ".", "-", "a\0b", "", "x://y", "it/below")


#: What goes on until somebody ends it: `daemon`, `job list --watch`, and `job logs --follow`.
ENDLESS = {"daemon", "watches", "follow"}


def lines() -> st.SearchStrategy[list[str]]:
    """Give a command with some of its parameters, some of them twice, and something wrong in
    most."""
    word = st.sampled_from(NASTY) | st.text(max_size=40)
    path = st.sampled_from(PATHS)
    reading = {"config", "store", "flow", "abi"}
    known = {name: command for name, command in commands().items() if name not in ENDLESS}

    @st.composite
    def line(draw: st.DrawFn) -> list[str]:
        name, command = draw(st.sampled_from(sorted(known.items())))
        words = name.split()
        for parameter in command.params:
            value = path if parameter.name in reading else word
            if isinstance(parameter, click.Argument):
                words += [draw(value) for _ in range(draw(st.sampled_from((1, 1, 1, 1, 0, 2))))]
            elif parameter.name not in {"help", *ENDLESS}:
                for _ in range(draw(st.sampled_from((0, 0, 1, 1, 1, 2)))):
                    words.append(draw(st.sampled_from(parameter.opts)))
                    if not getattr(parameter, "is_flag", False):
                        words.append(draw(value))
        return words

    return line() | st.lists(word | st.sampled_from(sorted(known)), max_size=5)


def files() -> st.SearchStrategy[bytes]:
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    (
                        "nodes",
                        "edges",
                        "id",
                        "type",
                        "formData",
                        "steps",
                        "source",
                        "target",
                        "version",
                    )
                )
                | st.text(max_size=5),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
    return (
        st.binary(max_size=60)
        | values.map(lambda value: json.dumps(value).encode())
        | st.just(HELLO.encode())
    )


def play(scenarioctl: Run, folder: Path, line: list[str], file: bytes) -> None:
    """Run *line* where files of that content are, and see that it ends as every run may."""
    for name in ("it", "it.json", "it.toml"):
        (folder / name).write_bytes(file)
    shutil.rmtree(Path.home() / ".config", ignore_errors=True)

    # Never asking a node, wherever the line says otherwise.
    ended = scenarioctl("--offline", *line, stdin=folder / "it")

    assert ended.code in {0, 2, 3, 4, 5, 6, 7}, (line, ended)
    assert "Traceback" not in ended.out + ended.err
    if (
        "doctor" in line
        and ended.code in {2, 5}
        and not any(text in ended.out + ended.err for text in ("Error: ", '"error": '))
    ):
        # What is broken is its answer.
        return
    if ended.code and "--json" in line:
        answer = json.loads(ended.out)
        assert refused(answer).keys() - {"success", "sucess", "warnings"} == {"error", "code"}
    elif ended.code:
        assert ended.out == ""
        said = ended.err.splitlines()
        # Before the error, `--verbose` says what took how long, and `--strict` shows notes.
        places = [place for place, text in enumerate(said) if text.startswith("Error: ")]
        assert len(places) == 1
        # So do lines for each of several that were refused.
        before = [text for text in said[: places[0]] if not text.startswith("Refused: ")]
        assert not before or {"-v", "--verbose", "--strict"} & set(line)
        assert len(said) - places[0] <= 2
        assert ended.err.replace("\n", "").isprintable()


def randomly(count: int, *, derandomize: bool) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=derandomize,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@randomly(examples(800), derandomize=True)
@given(line=lines(), file=files())
@example(line=["job", "logs", "", "--steps"], file=b"")
def test_no_line_and_no_file_is_a_bug(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: list[str], file: bytes
) -> None:
    monkeypatch.chdir(tmp_path)

    play(scenarioctl, tmp_path, line, file)


@pytest.mark.soak
@randomly(20_000, derandomize=False)
@given(line=lines(), file=files())
def test_no_line_and_no_file_is_a_bug_for_long(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: list[str], file: bytes
) -> None:
    monkeypatch.chdir(tmp_path)

    play(scenarioctl, tmp_path, line, file)
