"""Scenarios in PostgreSQL: plain functions over a connection, whose transactions are the caller's.

Triggers keep the index by chain and the counts (`schema.py`), so that a scenario is created by one statement.
"""

from collections.abc import Sequence
from typing import Any

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.stores import ListedScenario, ScenarioPage, StoredScenario
from scenarioctl.stores.cursors import read_cursor, write_cursor
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.postgres.deferrals import Deferrals
from scenarioctl.stores.postgres.locks import lock_digest, lock_webhooks
from scenarioctl.stores.validation import changed_meanwhile, check_scenario, still_running, taken, unknown

#: Rows that one statement inserts.
_ROWS_AT_ONCE = 500
#: Characters of a summary by which it is sorted.
_SORTED = 600

_COLUMNS = "id, summary, name, chains, webhooks, tags, created, updated, size, digest, blob"
_MARKS = f"({', '.join(['%s'] * 11)})"

#: What a list is sorted by; the order of creation decides between equal rows.
_ORDERS = {
    "created": ("s.created", "s.seq"),
    "id": ("s.id",),
    "summary": (f"left(s.summary, {_SORTED})", "s.seq"),
}
#: The same order, by the columns of the index by chain.
_CHAIN_BY_CREATED = ("c.created", "c.scenario")
_OF_A_CHAIN = "scenario_chains c JOIN scenarios s ON s.seq = c.scenario"
#: What is searched, as the index of trigrams has it; lower case changes ASCII letters alone.
SEARCHED = r"lower(id || E'\n' || summary || E'\n' || name)"


def _row(scenario: StoredScenario) -> tuple[Any, ...]:
    return (
        scenario.id,
        scenario.summary,
        scenario.name,
        sorted(set(scenario.chains)),
        sorted(set(scenario.webhooks)),
        sorted(set(scenario.tags)),
        scenario.created,
        scenario.updated,
        len(scenario.blob),
        scenario.digest or None,
        scenario.blob,
    )


async def add(connection: Connection, scenarios: Sequence[StoredScenario]) -> list[bool]:
    """Insert new scenarios by one statement; say of each whether it is in, which it is not if its id is taken."""
    marks = ", ".join([_MARKS] * len(scenarios))
    inserted = await connection.execute(
        f"INSERT INTO scenarios ({_COLUMNS}) VALUES {marks} ON CONFLICT (id) DO NOTHING RETURNING id",  # noqa: S608
        [value for scenario in scenarios for value in _row(scenario)],
    )
    added = {id for (id,) in await inserted.fetchall()}
    answers = []
    for scenario in scenarios:
        answers.append(scenario.id in added)
        # Of two with the same id, the first is in.
        added.discard(scenario.id)
    return answers


async def put_new(connection: Connection, scenario: StoredScenario) -> None:
    await put_all_new(connection, [scenario])


async def put_all_new(connection: Connection, scenarios: Sequence[StoredScenario]) -> None:
    for first in range(0, len(scenarios), _ROWS_AT_ONCE):
        some = scenarios[first : first + _ROWS_AT_ONCE]
        for scenario, added in zip(some, await add(connection, some), strict=True):
            if not added:
                raise taken(scenario.id)


async def change(connection: Connection, scenario: StoredScenario, *, revision: str) -> None:
    """Replace the scenario if its revision is still *revision*."""
    check_scenario(scenario)
    await replace(connection, scenario, revision=revision)


async def replace(connection: Connection, scenario: StoredScenario, *, revision: str = "") -> None:
    """Store *scenario* in place of the one with its id; with *revision*, only in place of that one."""
    former = await (
        await connection.execute("SELECT webhooks FROM scenarios WHERE id = %s", (scenario.id,))
    ).fetchone()
    await lock_webhooks(connection, former[0] if former else ())
    found = await (
        await connection.execute(
            "SELECT seq, webhooks FROM scenarios WHERE id = %s FOR NO KEY UPDATE", (scenario.id,)
        )
    ).fetchone()
    if found is None:
        if revision:
            raise unknown(scenario.id)
        await put_new(connection, scenario)
        return
    if revision and (await get(connection, scenario.id)).revision != revision:
        raise changed_meanwhile(scenario.id)
    seq, webhooks = found
    _, summary, name, chains, named, tags, _, updated, size, digest, blob = _row(scenario)
    await connection.execute(
        "UPDATE scenarios SET summary = %s, name = %s, chains = %s, webhooks = %s, tags = %s, updated = %s, size = %s, digest = %s,"
        " blob = %s WHERE seq = %s",
        (summary, name, chains, named, tags, updated, size, digest, blob, seq),
    )
    await _forget_events(connection, webhooks)


async def keep(connection: Connection, scenario: StoredScenario) -> str:
    if scenario.digest:
        await lock_digest(connection, scenario.digest)
        found = await (
            await connection.execute(
                "SELECT id FROM scenarios WHERE digest = %s ORDER BY seq LIMIT 1", (scenario.digest,)
            )
        ).fetchone()
        if found is not None:
            return str(found[0])
    await put_new(connection, scenario)
    return scenario.id


async def get(connection: Connection, id: str) -> StoredScenario:
    found = await find_some(connection, [id])
    if id not in found:
        raise unknown(id)
    return found[id]


async def find_some(connection: Connection, ids: Sequence[str]) -> dict[str, StoredScenario]:
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(
            "SELECT id, blob, summary, created, updated, chains, webhooks, name, tags FROM scenarios WHERE id = ANY(%s)",
            (list(ids),),
        )
        rows = await cursor.fetchall()
    return {
        id: StoredScenario(
            id=id,
            blob=blob,
            summary=summary,
            chains=tuple(chains),
            created=created,
            updated=updated,
            webhooks=tuple(webhooks),
            name=name,
            tags=tuple(tags),
        )
        for id, blob, summary, created, updated, chains, webhooks, name, tags in rows
    }


async def delete(connection: Connection, id: str, *, deferrals: Deferrals) -> None:
    found = await (await connection.execute("SELECT webhooks FROM scenarios WHERE id = %s", (id,))).fetchone()
    if found is None:
        raise unknown(id)
    (webhooks,) = found
    await lock_webhooks(connection, webhooks)
    locked = await connection.execute("SELECT FROM scenarios WHERE id = %s FOR UPDATE", (id,))
    if await locked.fetchone() is None:
        raise unknown(id)
    job = await (
        await connection.execute("SELECT state, dispatch FROM jobs WHERE id = %s FOR UPDATE", (id,))
    ).fetchone()
    if job is not None:
        state, dispatch = job
        if state == "running":
            raise still_running(id)
        if dispatch is not None:
            await deferrals.cancel(connection, dispatch)
    await connection.execute("DELETE FROM scenarios WHERE id = %s", (id,))
    for table in ("log_lines", "mempool", "runs", "tallies", "webhook_marks", "notifications"):
        await connection.execute(f"DELETE FROM {table} WHERE job = %s", (id,))  # noqa: S608
    await _forget_events(connection, webhooks)


async def _forget_events(connection: Connection, webhooks: Sequence[str]) -> None:
    """Delete the events of those *webhooks* that no scenario names any more: nobody could list them."""
    for uuid in webhooks:
        await connection.execute(
            "DELETE FROM webhook_events WHERE uuid = %s"
            " AND NOT EXISTS (SELECT FROM scenarios WHERE webhooks <> '{}' AND webhooks @> ARRAY[%s::text])",
            (uuid, uuid),
        )


async def list_page(
    connection: Connection,
    *,
    limit: int,
    after: str,
    chain: str,
    tag: str,
    search: str,
    sort: str,
    descending: bool,
) -> ScenarioPage:
    conditions, values = _filter(chain, tag, search)
    order = _CHAIN_BY_CREATED if chain and sort == "created" else _ORDERS[sort]
    ordering = ", ".join(f"{column} DESC" if descending else column for column in order)
    page_conditions, page_values = list(conditions), list(values)
    if after:
        key = _read_key(after, sort=sort, descending=descending)
        marks = ", ".join(["%s"] * len(key))
        page_conditions.append(f"({', '.join(order)}) {'<' if descending else '>'} ({marks})")
        page_values += key
    source = _OF_A_CHAIN if chain else "scenarios s"
    if search or tag:
        total, total_values = f"SELECT count(*) FROM {source}{_where(conditions)}", values  # noqa: S608
    else:
        total, total_values = COUNT, [chain]
    # Made of constants of this module; values of users are bound.  One statement sees one state of the store.
    rows = await (
        await connection.execute(
            f"SELECT ({total}), page.* FROM (SELECT) one LEFT JOIN LATERAL"  # noqa: S608
            " (SELECT s.id, s.summary, s.name, s.chains, s.tags, s.created, s.updated, s.size, s.seq"
            f" FROM {source}{_where(page_conditions)} ORDER BY {ordering} LIMIT %s) page ON true",
            (*total_values, *page_values, limit + 1),
        )
    ).fetchall()
    found = [row[1:] for row in rows if row[1] is not None]
    following = ""
    if len(found) > limit:
        id, summary, _, _, _, created, _, _, seq = found[limit - 1]
        following = write_cursor(
            id=id, summary=summary, created=created, seq=seq, sort=sort, descending=descending
        )
    return ScenarioPage(
        items=tuple(
            ListedScenario(
                id=id,
                summary=summary,
                name=name,
                chains=tuple(chains),
                tags=tuple(tags),
                created=created,
                updated=updated,
                size=size,
            )
            for id, summary, name, chains, tags, created, updated, size, _ in found[:limit]
        ),
        total=rows[0][0],
        next=following,
    )


#: How many scenarios use a chain, or with '' how many there are.
COUNT = "SELECT coalesce(sum(amount), 0)::bigint FROM scenario_counts WHERE chain = %s"


async def count(connection: Connection, chain: str) -> int:
    row = await (await connection.execute(COUNT, (chain,))).fetchone()
    return int(row[0]) if row else 0


async def exists(connection: Connection, id: str) -> bool:
    found = await connection.execute("SELECT FROM scenarios WHERE id = %s", (id,))
    return await found.fetchone() is not None


def _read_key(after: str, *, sort: str, descending: bool) -> list[Any]:
    """Return the values of the order's columns that *after* holds."""
    key: list[Any] = read_cursor(after, sort=sort, descending=descending)
    # What a damaged row of another kind of store had in its place, or what no text of this one has.
    if any(isinstance(part, (bytes, float)) or (isinstance(part, str) and "\0" in part) for part in key):
        raise InvalidRequest(f"after {shorten(after)} is not a cursor, expected the `next` of another page")
    return [key[0][:_SORTED], key[1]] if sort == "summary" else key


def _filter(chain: str, tag: str, search: str) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if chain:
        conditions.append("c.chain = %s")
        values.append(chain)
    if tag:
        # The first condition is that of the index.
        conditions.append("s.tags <> '{}' AND s.tags @> ARRAY[%s::text]")
        values.append(tag)
    if search:
        # `lower` of bytes, as of the collation "C", changes ASCII letters alone.
        wanted = search.encode().lower().decode()
        conditions.append(f"{SEARCHED} LIKE %s")
        values.append(f"%{_escape(wanted)}%")
        if "\n" in wanted:
            # It must not reach from one text into the next.
            conditions.append("(position(%s IN lower(summary)) > 0 OR position(%s IN lower(name)) > 0)")
            values += [wanted, wanted]
    return conditions, values


def _escape(text: str) -> str:
    """Return *text* as LIKE takes it literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""
