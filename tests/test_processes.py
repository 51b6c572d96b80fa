"""The program as a process among others: what it imports, and one store under several at once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import BOB, without_echo
from tests.daemons import PATIENCE

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

    assert [name for name in (*HEAVY, "asyncio", "platformdirs") if of(name, modules)] == []
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


def run(home: Path, *line: str) -> str:
    done = subprocess.run([PROGRAM, *line], capture_output=True, text=True, env=environment(home))
    assert (without_echo(done.stderr), done.returncode) == ("", 0)
    return done.stdout


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
