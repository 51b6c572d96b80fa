"""The statements of `queries.sql`: each that a module names is there, both databases have words for
it, and none is left over."""

import re

import pytest

from scenarioctl.stores import statements
from scenarioctl.stores.asking import POSTGRES, SQLITE, Dialect
from tests.conftest import ROOT

FOLDER = ROOT / "scenarioctl" / "stores"
CODE = "".join(file.read_text() for file in sorted(FOLDER.rglob("*.py")))
QUERIES = (FOLDER / "queries.sql").read_text()
NAMED = set(re.findall(r'(?:\bstatements\.|__getattr__\(")([A-Z_]+)\b', CODE))


@pytest.mark.parametrize("dialect", [SQLITE, POSTGRES], ids=["sqlite", "postgres"])
def test_every_statement_that_is_named_can_be_asked(dialect: Dialect) -> None:
    # What the program fills in before it asks.
    filled = {"condition": "true", "behind": "", "place": "node", "total": "0"}
    for name in sorted(NAMED):
        written = getattr(statements, name)
        for statement in (written,) if isinstance(written, str) else written:
            text = re.sub(r"\[\w+\]", "word", statement)
            is_filled = name in ("LIST_JOBS", "LIST_SENT", "LAST_SENT")
            assert dialect.render(text.format(**filled) if is_filled else text), name


def test_no_statement_is_left_over() -> None:
    titles = set(re.findall(r"^-- ([A-Z_]+) --$", QUERIES, re.MULTILINE))

    assert titles == (NAMED & titles) | (set(re.findall(r"\{([A-Z_]+)\}", QUERIES)) & titles)


def test_an_unknown_statement_is_named() -> None:
    with pytest.raises(AttributeError, match=r"queries\.sql has no statement MISSPELLED"):
        statements.MISSPELLED  # noqa: B018
