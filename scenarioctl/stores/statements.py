"""The statements that a store asks: those of `queries.sql`, by name, and those that depend on what
is asked."""

import re
from functools import cache
from pathlib import Path

from scenarioctl.files import read_text
from scenarioctl.model.jobs import NO_TRANSACTION

_TITLE = re.compile(r"^-- (\w.*) --\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_OTHER = re.compile(r"\{([A-Z_]+)\}")


def read_sections(file: Path) -> dict[str, str]:
    """Return what a file of SQL has below each of its titles, `-- TITLE --`, without comments that
    begin a line."""
    _, *parts = _TITLE.split(read_text(file))
    return {
        title: _COMMENT.sub("", text) for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


_SECTIONS = {"NO_TRANSACTION": NO_TRANSACTION} | read_sections(
    Path(__file__).with_name("queries.sql")
)


def __getattr__(name: str) -> str:
    """Return the statement of this name."""
    if name not in _SECTIONS:
        raise AttributeError(f"queries.sql has no statement {name}")
    statement = _OTHER.sub(lambda found: __getattr__(found[1]), _SECTIONS[name]).strip()
    globals()[name] = statement
    return statement


@cache
def insert(table: str, columns: tuple[str, ...], rows: int, *, numbered: bool = False) -> str:
    """Return the statement that inserts rows, whose values are `:column_0` in the first and so on.

    *numbered*: they bring their numbers along.
    """
    values = ", ".join(
        f"({', '.join(f':{name}_{place}' for name in columns)})" for place in range(rows)
    )
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) {'{numbered}' if numbered else ''} VALUES "
        f"{values}"
    )


_SCENARIO_COLUMNS = (
    *(
        "id",
        "summary",
        "name",
        "chains",
        "webhooks",
        "tags",
        "created",
        "updated",
        "size",
        "digest",
        "blob",
    ),
)


def add_scenarios(rows: int) -> str:
    """Return the statement that adds so many, and returns the ids of those whose id was free."""
    return (
        f"{insert('scenarios', _SCENARIO_COLUMNS, rows)} ON CONFLICT (id) DO NOTHING RETURNING id"
    )


DELETE_SCENARIO = (
    "DELETE FROM scenarios WHERE id = :id",
    *(
        f"DELETE FROM {table} WHERE job = :id"
        for table in ("log_lines", "mempool", "runs", "tallies", "webhook_marks", "notifications")
    ),
)

#: What a list is sorted by; the order of creation decides between equal rows.
_ORDERS = {
    "created": ("s.created", "s.seq"),
    "id": ("s.id",),
    "summary": ("{sortable s.summary}", "s.seq"),
}
#: The same order, by the columns of the index by chain.
_CHAIN_BY_CREATED = ("c.created", "c.scenario")
#: One chain's scenarios, found by the chain, and then sorted unless they come in that order.
_OF_A_CHAIN = "scenario_chains c {cross} JOIN scenarios s ON s.seq = c.scenario"
#: Those that have the text that is searched for.
_FOUND = "({has s.name, :search} OR {has s.summary, :search} OR {has s.id, :search})"


@cache
def list_scenarios(
    *,
    chain: bool,
    tag: bool,
    search: bool,
    after: bool,
    sort: str,
    descending: bool,
) -> str:
    """Return the question for a page of the scenarios of a chain, with a tag, with a text, or all;
    each row begins with the total."""
    conditions = [
        *(["c.chain = :chain"] if chain else []),
        *(["{tagged}"] if tag else []),
        *([_FOUND] if search else []),
    ]
    source = _OF_A_CHAIN if chain else "scenarios s"
    total = __getattr__("COUNT_SCENARIOS")
    if tag or search:
        total = f"SELECT count(*) FROM {source} WHERE {' AND '.join(conditions)}"
    order = _CHAIN_BY_CREATED if chain and sort == "created" else _ORDERS[sort]
    if after:
        key = ", ".join(
            column.replace(column.strip("{}").removeprefix("sortable "), f":after_{place}")
            for place, column in enumerate(order)
        )
        conditions.append(f"({', '.join(order)}) {'<' if descending else '>'} ({key})")
    return f"""
        SELECT ({total}) AS total, page.* FROM (SELECT 1) AS one LEFT JOIN (
            SELECT s.id, s.summary, s.name, s.chains, s.tags, s.created, s.updated, s.size, s.seq
            FROM {source} WHERE {" AND ".join(conditions) or "true"}
            ORDER BY {", ".join(f"{column} DESC" if descending else column for column in order)}
            LIMIT :limit
        ) AS page ON true
    """


# Copies of tables.


def count_table(table: str) -> str:
    return f"SELECT count(*) FROM {table}"


def read_rows(table: str, key: tuple[str, ...], columns: tuple[str, ...], *, after: bool) -> str:
    """Return the question for the next rows of a table, in the order of their key."""
    names = ", ".join(key)
    condition = (
        f"({names}) > ({', '.join(f':after_{place}' for place in range(len(key)))})"
        if after
        else "true"
    )
    return (
        f"SELECT {', '.join(columns)} FROM {table} WHERE {condition} ORDER BY {names} LIMIT :rows"
    )


def last_number(table: str, column: str) -> str:
    """Return the question for the highest number that was given to a row, and that of a row which
    is there."""
    return f"SELECT {{last_number {table}, {column}}}, max({column}) FROM {table}"


def raise_number(table: str, column: str) -> tuple[str, ...]:
    return f"{{forget_number {table}}}", f"{{set_number {table}, {column}}}"
