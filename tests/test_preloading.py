"""What a daemon imports late would be of another version than the rest, once it was upgraded on the disk."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scenarioctl

pytestmark = pytest.mark.processes

PACKAGE = Path(scenarioctl.__file__).parent

TELL = """
import gc, json, sys
from scenarioctl.server.preloading import preload, settle

preload(sys.argv[1])
settle()
print(json.dumps({"modules": list(sys.modules), "frozen": gc.get_freeze_count(), "young": gc.get_threshold()[0]}))
"""


def named() -> Iterator[tuple[str, str]]:
    """Give each module that one of ours imports, at its top or in a function, with ours that does."""
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


def tell(store: str = "scenarios.db") -> dict[str, Any]:
    told = subprocess.run([sys.executable, "-c", TELL, store], capture_output=True, check=True)
    return dict(json.loads(told.stdout))


def test_a_daemon_has_all_that_it_may_import_before_it_begins() -> None:
    there = set(tell("postgresql://localhost/none")["modules"])

    assert {(name, by) for name, by in named() if name not in there} == set()
    assert {name for name in there if name.startswith("scenarioctl.cli")} == set()


def test_a_daemon_with_a_file_as_its_store_has_nothing_of_a_server() -> None:
    libraries = ("psycopg", "psycopg_pool", "procrastinate")
    ours = ("scenarioctl.stores.postgres", "scenarioctl.worker.procrastinate_dispatch")

    assert {name for name in tell()["modules"] if name.startswith((*libraries, *ours))} == set()


def test_what_a_daemon_begins_with_is_not_looked_through_again() -> None:
    told = tell()

    assert told["frozen"] > 50_000
    assert told["young"] == 10_000
