"""What the tree may not outgrow."""

import ast

from tests.conftest import ROOT

#: Statements and modules of the package, lines of its tests, words of its README and docs.
STATEMENTS = 35_400
MODULES = 250
TEST_LINES = 79_600
WORDS = 22_000
COLUMNS = 100


def python_of(*folders: str) -> dict[str, str]:
    files = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text() for path in files}


def statements(text: str) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))


def test_the_tree_keeps_to_its_size() -> None:
    package, tests = python_of("scenarioctl"), python_of("tests")
    docs = [path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]

    assert sum(map(statements, package.values())) <= STATEMENTS
    assert len(package) <= MODULES
    assert sum(text.count("\n") for text in tests.values()) <= TEST_LINES
    assert sum(len(text.split()) for text in docs) <= WORDS


def test_no_line_of_python_is_long() -> None:
    files = python_of("scenarioctl", "tests", "tools", "benchmarks", "examples")

    long = [
        f"{name}:{number}"
        for name, text in files.items()
        for number, line in enumerate(text.split("\n"), 1)
        if len(line) > COLUMNS
    ]
    assert long == []
