"""Scenarios in SQLite: plain functions over a connection, whose transactions are the caller's."""

import json
from collections.abc import Iterable
from contextlib import suppress
from sqlite3 import Connection

from scenarioctl.errors import NotFound, StoreFailed
from scenarioctl.stores import (
    ListedScenario,
    ScenarioPage,
    StoredScenario,
)
from scenarioctl.stores.cursors import Value, read_cursor, write_cursor
from scenarioctl.stores.sqlite.database_file import one_moment
from scenarioctl.stores.validation import (
    changed_meanwhile,
    check_scenario,
    damaged,
    still_running,
    taken,
    unknown,
)

#: The columns a list is sorted by; the order of creation decides between equal rows.
_ORDERS = {"created": ("s.created", "s.seq"), "id": ("s.id",), "summary": ("s.summary", "s.seq")}
#: The same order, by the columns of a chain's index.
_CHAIN_BY_CREATED = ("c.created", "c.scenario")

_ALL = "scenarios s"
#: One chain's scenarios, found by the chain, and then sorted unless they come in that order...
_OF_A_CHAIN = "chains_of_scenarios c CROSS JOIN scenarios s ON s.seq = c.scenario"
#: ...or, if there are so many that a page fills soon, selected from all scenarios in their order.
_ALL_OF_A_CHAIN = "scenarios s CROSS JOIN chains_of_scenarios c ON c.scenario = s.seq"

#: A tag's scenarios, found by the tag and then sorted, or selected from all in their order: as those of a chain.
_TAGGED = "s.seq IN (SELECT scenario FROM scenario_tags WHERE tag = ?)"
_TAGGED_IN_ORDER = "EXISTS (SELECT 1 FROM scenario_tags t WHERE t.tag = ? AND t.scenario = s.seq)"

#: A scenario's id, summary, times of creation and change, size of its blob, and number in the store.
Row = tuple[str, str, int, int, int, int]

_ADD_CHAIN = "INSERT INTO chains_of_scenarios (chain, created, scenario) VALUES (?, ?, ?)"
_ADD_TAG = "INSERT INTO scenario_tags (tag, scenario) VALUES (?, ?)"
_ADD_NAME = "INSERT INTO scenario_names (scenario, name) VALUES (?, ?)"


def put_all(database: Connection, scenarios: Iterable[StoredScenario], *, replace: bool) -> int:
    count = 0
    for scenario in scenarios:
        put(database, scenario, replace=replace)
        count += 1
    return count


def put(database: Connection, scenario: StoredScenario, *, replace: bool) -> None:
    check_scenario(scenario)
    created = scenario.created
    blob, digest = scenario.blob, scenario.digest or None
    inserted = database.execute(
        "INSERT INTO scenarios (id, summary, created, updated, size, blob, digest) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
        (scenario.id, scenario.summary, created, scenario.updated, len(blob), blob, digest),
    )
    seq, former = inserted.lastrowid, []
    if not inserted.rowcount:
        if not replace:
            raise taken(scenario.id)
        seq, created = database.execute(
            "SELECT seq, created FROM scenarios WHERE id = ?", (scenario.id,)
        ).fetchone()
        database.execute(
            "UPDATE scenarios SET summary = ?, updated = ?, size = ?, blob = ?, digest = ? WHERE seq = ?",
            (scenario.summary, scenario.updated, len(blob), blob, digest, seq),
        )
        database.execute("DELETE FROM scenario_names WHERE scenario = ?", (seq,))
        database.execute("DELETE FROM scenario_tags WHERE scenario = ?", (seq,))
        database.execute("DELETE FROM chains_of_scenarios WHERE scenario = ?", (seq,))
        former = _webhooks_of(database, scenario.id)
    database.executemany(_ADD_CHAIN, [(chain, created, seq) for chain in sorted(set(scenario.chains))])
    if scenario.name:
        database.execute(_ADD_NAME, (seq, scenario.name))
    if scenario.tags:
        database.executemany(_ADD_TAG, [(tag, seq) for tag in sorted(set(scenario.tags))])
    if scenario.webhooks or not inserted.rowcount:
        _put_webhooks(database, scenario.id, scenario.webhooks)
        _forget_events(database, former)


def keep(database: Connection, scenario: StoredScenario) -> str:
    found = database.execute(
        "SELECT id FROM scenarios WHERE digest = ? ORDER BY seq LIMIT 1", (scenario.digest,)
    ).fetchone()
    if found is not None:
        return str(found[0])
    put(database, scenario, replace=False)
    return scenario.id


def change(database: Connection, scenario: StoredScenario, *, revision: str) -> None:
    check_scenario(scenario)
    if get(database, scenario.id).revision != revision:
        raise changed_meanwhile(scenario.id)
    put(database, scenario, replace=True)


def get(database: Connection, id: str) -> StoredScenario:
    # In one statement, which sees one state of the store.
    row = database.execute(
        "SELECT blob, summary, created, updated,"
        " (SELECT json_group_array(chain) FROM chains_of_scenarios WHERE scenario = s.seq),"
        " (SELECT json_group_array(uuid) FROM scenario_webhooks WHERE scenario = s.id),"
        " (SELECT name FROM scenario_names WHERE scenario = s.seq),"
        " (SELECT json_group_array(tag) FROM scenario_tags WHERE scenario = s.seq) FROM scenarios s WHERE id = ?",
        (id,),
    ).fetchone()
    if row is None:
        raise unknown(id)
    blob, summary, created, updated, chains, webhooks, name, tags = row
    if not isinstance(blob, bytes) or tuple(map(type, (summary, created, updated))) != (str, int, int):
        raise damaged(id)
    return StoredScenario(
        id=id,
        blob=blob,
        summary=summary,
        chains=tuple(sorted(json.loads(chains))),
        created=created,
        updated=updated,
        webhooks=tuple(sorted(json.loads(webhooks))),
        name=str(name or ""),
        tags=tuple(sorted(json.loads(tags))),
    )


def find_some(database: Connection, ids: Iterable[str]) -> dict[str, StoredScenario]:
    found = {}
    for id in ids:
        # One that is gone, or damaged, hides no other.
        with suppress(NotFound, StoreFailed):
            found[id] = get(database, id)
    return found


def delete(database: Connection, id: str) -> None:
    running = database.execute("SELECT 1 FROM jobs WHERE id = ? AND state = 'running'", (id,)).fetchone()
    if running:
        raise still_running(id)
    former = _webhooks_of(database, id)
    if not database.execute("DELETE FROM scenarios WHERE id = ?", (id,)).rowcount:
        raise unknown(id)
    _forget_events(database, former)


def list_page(
    database: Connection,
    *,
    limit: int,
    after: str,
    chain: str,
    tag: str,
    search: str,
    sort: str,
    descending: bool,
) -> ScenarioPage:
    conditions, values = _filter(chain, search)
    order = _CHAIN_BY_CREATED if chain and sort == "created" else _ORDERS[sort]
    ordering = ", ".join(f"{column} DESC" if descending else column for column in order)
    last = read_cursor(after, sort=sort, descending=descending) if after else []
    with one_moment(database):
        source = walked = _OF_A_CHAIN if chain else _ALL
        if tag:
            tagged = _count_tagged(database, tag)
            conditions.append(_TAGGED if tagged * tagged <= limit * count(database, "") else _TAGGED_IN_ORDER)
            values.append(tag)
        page_conditions, page_values = list(conditions), list(values)
        if last:
            marks = ", ".join("?" * len(order))
            page_conditions.append(f"({', '.join(order)}) {'<' if descending else '>'} ({marks})")
            page_values += last
        is_counted = not search and not (tag and chain)
        total = 0 if not is_counted else tagged if tag else count(database, chain)
        if chain and sort != "created" and total * total > limit * count(database, ""):
            walked = _ALL_OF_A_CHAIN
        # These statements are made of constants of this module; values of users are bound.
        rows: list[Row] = database.execute(
            f"SELECT s.id, s.summary, s.created, s.updated, s.size, s.seq FROM {walked}{_where(page_conditions)}"  # noqa: S608
            f" ORDER BY {ordering} LIMIT ?",
            (*page_values, limit + 1),
        ).fetchall()
        if not is_counted:
            counting = f"SELECT count(*) FROM {source}{_where(conditions)}"  # noqa: S608
            (total,) = database.execute(counting, values).fetchone()
        more = len(rows) > limit
        del rows[limit:]
        sound = [row for row in rows if _is_sound(row)]
        numbers = [row[5] for row in sound]
        chains, names = _chains_of(database, numbers), _names_of(database, numbers)
        tags = _tags_of(database, numbers)
    return ScenarioPage(
        items=tuple(
            ListedScenario(
                id=id,
                summary=summary,
                chains=chains[seq],
                created=created,
                updated=updated,
                size=size,
                name=names.get(seq, ""),
                tags=tags.get(seq, ()),
            )
            for id, summary, created, updated, size, seq in sound
        ),
        total=total,
        next=_cursor_behind(rows[-1], sort=sort, descending=descending) if more else "",
        damaged=() if len(sound) == len(rows) else tuple([str(row[0]) for row in rows if not _is_sound(row)]),
    )


def _cursor_behind(row: Row, *, sort: str, descending: bool) -> str:
    id, summary, created, _, _, seq = row
    return write_cursor(id=id, summary=summary, created=created, seq=seq, sort=sort, descending=descending)


def _is_sound(row: Row) -> bool:
    return tuple(map(type, row)) == (str, str, int, int, int, int)


def count(database: Connection, chain: str) -> int:
    row = database.execute("SELECT amount FROM scenario_counts WHERE chain = ?", (chain,)).fetchone()
    return int(row[0]) if row else 0


def _count_tagged(database: Connection, tag: str) -> int:
    (tagged,) = database.execute("SELECT count(*) FROM scenario_tags WHERE tag = ?", (tag,)).fetchone()
    return int(tagged)


def exists(database: Connection, id: str) -> bool:
    return database.execute("SELECT 1 FROM scenarios WHERE id = ?", (id,)).fetchone() is not None


def _put_webhooks(database: Connection, id: str, webhooks: Iterable[str]) -> None:
    database.execute("DELETE FROM scenario_webhooks WHERE scenario = ?", (id,))
    database.executemany(
        "INSERT INTO scenario_webhooks (uuid, scenario) VALUES (?, ?)",
        [(uuid, id) for uuid in sorted(set(webhooks))],
    )


def _webhooks_of(database: Connection, id: str) -> list[str]:
    return [
        uuid for (uuid,) in database.execute("SELECT uuid FROM scenario_webhooks WHERE scenario = ?", (id,))
    ]


def _forget_events(database: Connection, webhooks: list[str]) -> None:
    """Delete the events of those *webhooks* that no scenario names any more: nobody could list them."""
    database.executemany(
        "DELETE FROM webhook_events WHERE uuid = ?"
        " AND NOT EXISTS (SELECT 1 FROM scenario_webhooks WHERE uuid = ?)",
        [(uuid, uuid) for uuid in webhooks],
    )


def _chains_of(database: Connection, numbers: list[int]) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {seq: [] for seq in numbers}
    marks = ", ".join("?" * len(numbers))
    for seq, chain in database.execute(
        f"SELECT scenario, chain FROM chains_of_scenarios WHERE scenario IN ({marks})",  # noqa: S608
        numbers,
    ):
        found[seq].append(chain)
    return {seq: tuple(sorted(chains)) for seq, chains in found.items()}


def _names_of(database: Connection, numbers: list[int]) -> dict[int, str]:
    marks = ", ".join("?" * len(numbers))
    rows = database.execute(
        f"SELECT scenario, name FROM scenario_names WHERE scenario IN ({marks})",  # noqa: S608
        numbers,
    )
    return {seq: str(name) for seq, name in rows}


def _tags_of(database: Connection, numbers: list[int]) -> dict[int, tuple[str, ...]]:
    marks = ", ".join("?" * len(numbers))
    rows = database.execute(
        f"SELECT scenario, tag FROM scenario_tags WHERE scenario IN ({marks}) ORDER BY scenario, tag",  # noqa: S608
        numbers,
    )
    found: dict[int, tuple[str, ...]] = {}
    for seq, tag in rows:
        found[seq] = (*found.get(seq, ()), str(tag))
    return found


def _filter(chain: str, search: str) -> tuple[list[str], list[Value]]:
    conditions: list[str] = []
    values: list[Value] = []
    if chain:
        conditions.append("c.chain = ?")
        values.append(chain)
    if search:
        # Not LIKE, which needs escaping and can take forever.
        conditions.append(
            "(instr(lower(s.summary), lower(?)) OR instr(lower(s.id), lower(?)) OR s.seq IN"
            " (SELECT scenario FROM scenario_names WHERE instr(lower(name), lower(?))))"
        )
        values += [search, search, search]
    return conditions, values


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""
