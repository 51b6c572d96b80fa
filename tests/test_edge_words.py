"""Each edge speaks its own language: no sentence names an option but on a command line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import scenarioctl
from tests.conftest import Run

PACKAGE = Path(scenarioctl.__file__).parent
#: How other programs are called, and settings of the process.
OTHERS = ("pg_dump", "pg_restore", "config token")


def sentences() -> Iterator[tuple[str, str]]:
    for path in PACKAGE.rglob("*.py"):
        place = str(path.relative_to(PACKAGE))
        if place.startswith(("cli/", "removed.py")):
            continue
        tree = ast.parse(path.read_text())
        comments = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in comments:
                yield place, str(node.value)


def test_no_sentence_behind_the_edges_names_an_option() -> None:
    named = [
        (place, text)
        for place, text in sentences()
        if re.search(r"(^|[^\s].*\s|[(`])--[a-z]+\s", text)
        and not any(other in text for other in OTHERS)
    ]

    assert named == []


def test_fields_are_options_on_a_terminal_and_names_in_json(scenarioctl: Run) -> None:
    line = ("--offline", "create", "swap", "--sell", "DOT", "--buy", "HDX", "--amount", "1")

    told, as_json = scenarioctl(*line), scenarioctl(*line, "--json")

    assert "--min-received" in told.err
    assert "min_received" not in told.err
    assert '"advice":"Give the minimum with `min_received`' in as_json.out.replace(": ", ":")
