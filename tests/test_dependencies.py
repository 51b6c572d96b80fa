"""setup.cfg declares exactly the distributions that the program imports."""

import ast
import re
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.conftest import ROOT

#: Declared, and never imported by the program.
NOT_IMPORTED = {
    "tzdata": "the time zones that zoneinfo reads where the system has none",
}


def imported(package: Path) -> Iterator[str]:
    """Give the top-level name of everything that *package* imports, inside functions and for type
    checkers too."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield str(node.module).partition(".")[0]


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(section: str, option: str) -> set[str]:
    """Return the distributions that *option* of setup.cfg lists, one a line."""
    card = ConfigParser()
    card.read(ROOT / "setup.cfg", encoding="utf-8")
    return {
        normalize(re.split(r"[<>=!~;\[ ]", line)[0])
        for line in card[section][option].split("\n")
        if line
    }


def test_the_requirements_are_the_distributions_that_are_imported() -> None:
    required = declared("options", "install_requires")
    extra = declared("options.extras_require", "postgres")
    known = packages_distributions()

    # `_typeshed` is what type checkers know of the standard library.
    names = (
        set(imported(ROOT / "scenarioctl"))
        - set(sys.stdlib_module_names)
        - {"scenarioctl", "_typeshed"}
    )
    used = {normalize(known[name][0]) for name in names}

    assert used - required == extra
    assert required - used == set(NOT_IMPORTED)


def test_what_is_bundled_is_locked_by_version_and_hash() -> None:
    """`packaging/lock` writes the list."""
    wanted = declared("options", "install_requires") | declared(
        "options.extras_require", "postgres"
    )
    entries = re.split(
        r"\n(?=\S)", (ROOT / "packaging/requirements.txt").read_text(encoding="utf-8").strip()
    )

    locked = {normalize(entry.partition("==")[0]) for entry in entries}

    assert wanted - locked == set()
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
