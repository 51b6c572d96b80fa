"""The program as a process among others: what it imports, and one store under several at once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import BOB, without_echo
from tests.daemons import PATIENCE
from tests.messages import says

pytestmark = pytest.mark.processes

PROGRAM = Path(sys.executable).parent / "scenarioctl"

#: Dear to import, or no business of a command that asks nobody and stores nothing.
HEAVY = (
    "rich",
    "aiohttp",
    "sqlite3",
    "substrateinterface",
    "scalecodec",
    "msgspec",
    "lz4",
    "tomllib",
)

#: Ends like the program, then says on stderr what it imported.
TELL = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, sep="\\n", file=sys.stderr))
from scenarioctl.cli.main import main
sys.argv[0] = "scenarioctl"
main()
"""

TRANSFER = (
    *(
        "--offline",
        "xcm",
        "asset-transfer",
        "--from",
        "polkadot",
        "--to",
        "assetHub",
        "--assetid",
        "DOT",
    ),
    *("--amount", "15000000000", "--destinationaddress", BOB),
)


def environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH")}
    return {**kept, "HOME": str(home), "LANG": "C.UTF-8"}


def imported(home: Path, *line: str, **variables: str) -> set[str]:
    """Return the modules that a run of the program imports."""
    done = subprocess.run(
        [sys.executable, "-c", TELL, *line],
        capture_output=True,
        text=True,
        cwd=home,
        env=environment(home) | variables,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(done.stderr.split())


def of(package: str, modules: set[str]) -> list[str]:
    """Return those of *modules* that are *package* or below it."""
    return sorted(name for name in modules if name == package or name.startswith(f"{package}."))


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        (("--help",), {}),
        (("--version",), {}),
        (
            (),
            {
                "_SCENARIOCTL_COMPLETE": "bash_complete",
                "COMP_WORDS": "scenarioctl c",
                "COMP_CWORD": "1",
            },
        ),
    ],
    ids=["--help", "--version", "TAB"],
)
def test_help_and_completion_import_no_command(
    tmp_path: Path, line: tuple[str, ...], variables: dict[str, str]
) -> None:
    modules = imported(tmp_path, *line, **variables)

    assert of("scenarioctl", modules) == [
        "scenarioctl",
        "scenarioctl.cli",
        "scenarioctl.cli.aliases",
        "scenarioctl.cli.commands",
        "scenarioctl.cli.failure",
        "scenarioctl.cli.main",
        "scenarioctl.cli.options",
        "scenarioctl.cli.output",
        "scenarioctl.errors",
        "scenarioctl.removed",
    ]
    assert [
        name
        for name in (*HEAVY, "asyncio", "platformdirs", "dataclasses", "decimal")
        if of(name, modules)
    ] == []


def test_a_transfer_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    modules = imported(tmp_path, *TRANSFER)

    assert [name for name in HEAVY if of(name, modules)] == []
    for room in (
        "stores",
        "formats",
        "contracts",
        "server",
        "chains.connection",
        "runtime.metadata",
        "actions.swap",
        # Neither a diagram nor what tells in words what a call does.
        "model.diagram",
        "operations.views",
        "transactions.call_builder",
        "transactions.signing.fee_asset",
    ):
        assert of(f"scenarioctl.{room}", modules) == []


#: A transaction of Polkadot.
REMARK = "0x240400071468656c6c6f"


@pytest.mark.parametrize(
    "line",
    [
        ("--offline", "address", BOB),
        (
            "--offline",
            "tx",
            "payload",
            REMARK,
            "--chain",
            "polkadot",
            "--sender",
            BOB,
            "--nonce",
            "0",
        ),
    ],
    ids=["address", "payload"],
)
def test_a_command_that_verifies_no_signature_does_without_substrate_interface(
    tmp_path: Path, line: tuple[str, ...]
) -> None:
    modules = imported(tmp_path, *line)

    assert [
        name for name in ("substrateinterface", "scalecodec", "pydantic") if of(name, modules)
    ] == []


def run_at_once(home: Path, lines: Sequence[tuple[str, ...]]) -> list[tuple[str, str, int]]:
    """Run the program once for each line, all at the same time; return what each printed and how it
    ended."""
    running = [
        subprocess.Popen(
            [PROGRAM, *line],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(home),
        )
        for line in lines
    ]
    ended = [process.communicate(timeout=PATIENCE) for process in running]
    return [
        (out, without_echo(err), process.returncode)
        for (out, err), process in zip(ended, running, strict=True)
    ]


def run(home: Path, *line: str) -> str:
    done = subprocess.run([PROGRAM, *line], capture_output=True, text=True, env=environment(home))
    assert (without_echo(done.stderr), done.returncode) == ("", 0)
    return done.stdout


def test_processes_share_a_store_from_its_first_moment(tmp_path: Path) -> None:
    lines = [
        ("create", "remark", "--chain", "polkadot", "--text", f"number {number}")
        for number in range(12)
    ]

    ended = run_at_once(tmp_path, lines)

    assert [(err, code) for _, err, code in ended] == [("", 0)] * 12
    ids = [out.strip() for out, _, _ in ended]
    assert len(set(ids)) == 12
    assert run(tmp_path, "template", "stats", "polkadot") == "12\n"
    page = json.loads(run(tmp_path, "scenario", "list", "--json"))
    assert sorted(row["id"] for row in page["scenarios"]) == sorted(ids)


def test_processes_create_read_and_delete_side_by_side(tmp_path: Path) -> None:
    create = ("create", "remark", "--chain", "hydraDx", "--text", "x")
    first = run(tmp_path, *create).strip()

    ended = run_at_once(
        tmp_path,
        [
            create,
            ("scenario", "delete", first, "--yes"),
            create,
            ("scenario", "list"),
            ("scenario", "delete", first, "--yes"),
            ("template", "stats", "hydraDx"),
        ],
    )

    deleted = sorted((ended[1], ended[4]), key=lambda each: each[2])
    assert [ended[number][1:] for number in (0, 2, 3, 5)] == [("", 0)] * 4
    # Only one of two can have deleted it; the other says that it is not there.
    assert deleted == [
        (f"{first}\n", "", 0),
        ("", says("scenario", id=first).printed, 3),
    ]
    assert run(tmp_path, "template", "stats", "hydraDx") == "2\n"


def test_a_creating_process_that_is_interrupted_stores_nothing(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [PROGRAM, "create", "flow", "-"],
        stdin=reader,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    os.close(reader)
    # More than a pipe holds: this goes on when the program reads, and it then waits for the end.
    os.write(writer, b"#" * 65536)
    os.write(writer, b"#" * 65536)

    process.send_signal(signal.SIGINT)
    os.close(writer)
    out, err = process.communicate(timeout=PATIENCE)

    assert (out, err, process.returncode) == ("", "\n", 130)
    assert run(tmp_path, "scenario", "list") == ""
