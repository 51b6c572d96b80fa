"""What the documentation says of `examples/`; `test_examples_node.py` runs them."""

import json
import os
import re

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
WALKS = (ROOT / "docs" / "signing.md").read_text()


def test_the_walks_run_scripts_that_are_there() -> None:
    named = set(re.findall(r"examples/([\w-]+\.(?:sh|py|mjs))", WALKS))

    assert named == {
        path.name for path in EXAMPLES.iterdir() if path.suffix in (".sh", ".py", ".mjs")
    }
    assert all(os.access(EXAMPLES / name, os.X_OK) for name in named)


def test_the_lines_that_the_walk_shows_are_those_of_the_script() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", WALKS, re.DOTALL)

    script = (EXAMPLES / "sign.py").read_text().splitlines()
    assert [line for line in script if line in shown.splitlines() and line] == shown.splitlines()


def test_the_examples_and_their_tests_have_the_same_packages() -> None:
    examples = json.loads((EXAMPLES / "package.json").read_text())["dependencies"]
    tested = json.loads((ROOT / "tests" / "clients" / "package.json").read_text())["dependencies"]

    assert examples.items() <= tested.items()
