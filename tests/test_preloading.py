"""What a daemon imports late would be of another version than the rest, once it was upgraded on the
disk."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import scenarioctl

pytestmark = pytest.mark.processes

PACKAGE = Path(scenarioctl.__file__).parent

TELL = """
import gc, json, sys
from scenarioctl.server.daemon import preload, settle

preload(sys.argv[1])
settle()
frozen, young = gc.get_freeze_count(), gc.get_threshold()[0]
print(json.dumps({"modules": list(sys.modules), "frozen": frozen, "young": young}))
"""


#: Reads facts once no file of facts can be opened any more.
FACTS = """
import json, os, sys
from scenarioctl.server.daemon import preload

preload(sys.argv[1])
folder = os.path.dirname(sys.modules["scenarioctl"].__file__)


def refuse(event, arguments):
    name = str(arguments[0]) if event == "open" else ""
    if name.startswith(folder) and name.endswith(".json"):
        raise OSError(f"{name} is opened late")


sys.addaudithook(refuse)
from scenarioctl.chains.asset_rows import read_rows
from scenarioctl.transactions.transfer.build import expected_fees
from scenarioctl.transactions.transfer.ways import routes_from, sources

fees = expected_fees("KSM", "relay>asset_hub 1/Here")
rows, routes = list(read_rows("assetHub")), routes_from("assetHub")
print(json.dumps([len(rows), len(routes), len(sources()), len(fees)]))
"""


def named() -> Iterator[tuple[str, str]]:
    """Give each module that one of ours imports, at its top or in a function, with ours that
    does."""
    for path in sorted(PACKAGE.rglob("*.py")):
        ours = path.relative_to(PACKAGE.parent).with_suffix("")
        if ours.parts[1] in ("cli", "__main__"):
            continue
        tree = ast.parse(path.read_text())
        # What only type checkers import.
        idle = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if id(node) in idle:
                continue
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            yield from ((name, ".".join(ours.parts)) for name in names)


@cache
def tell(store: str = "scenarios.db") -> dict[str, Any]:
    told = subprocess.run([sys.executable, "-c", TELL, store], capture_output=True, check=True)
    return dict(json.loads(told.stdout))


def test_a_daemon_has_all_that_it_may_import_before_it_begins() -> None:
    there = set(tell("postgresql://localhost/none")["modules"])

    assert {(name, by) for name, by in named() if name not in there} == set()
    assert {name for name in there if name.startswith("scenarioctl.cli")} == set()


def test_a_daemon_with_a_file_as_its_store_has_nothing_of_a_server() -> None:
    libraries = ("psycopg", "psycopg_pool", "procrastinate")
    ours = ("scenarioctl.stores.postgres", "scenarioctl.worker.procrastinate_bell")

    assert {name for name in tell()["modules"] if name.startswith((*libraries, *ours))} == set()


def test_what_a_daemon_begins_with_is_not_looked_through_again() -> None:
    told = tell()

    assert told["frozen"] > 50_000
    assert told["young"] == 10_000


def test_a_daemon_has_read_all_facts_before_it_begins() -> None:
    told = subprocess.run(
        [sys.executable, "-c", FACTS, "scenarios.db"], capture_output=True, check=True
    )

    assert all(json.loads(told.stdout))
