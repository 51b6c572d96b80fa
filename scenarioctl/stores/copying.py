"""Copying all that a store keeps into another, empty one, with the same numbers."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial

from scenarioctl.config import without_password
from scenarioctl.errors import Conflict
from scenarioctl.model.jobs import JobState
from scenarioctl.stores import open_store, require_file, statements
from scenarioctl.stores.asking import Operation, Row
from scenarioctl.stores.rows import read_texts

_ROWS = 50

#: The columns of each table, those of its key first, up to the bar.  Each table stands after those
#: that it refers to.
TABLES: Mapping[str, str] = {
    "scenarios": "seq | id summary name chains webhooks tags created updated size digest blob",
    "jobs": "id | state due planned owner epoch attempts changed runs failures"
    " step reason schedule notify webhook saved waiting last_started last_finished",
    "runs": "seq | job planned started finished lines drafts epoch occurrence failure steps",
    "log_lines": "seq | job written text",
    "mempool": "seq | job chain amount tx_type date tx node call flag human uuid beside"
    " spec_version expires occurrence",
    "tallies": "job | lines entries runs",
    "webhook_events": "id | uuid received content key",
    "webhook_marks": "job uuid | event",
    "notifications": "seq | id job event url drafts reason created due attempts error",
    "sent_transactions": "chain hash | signer state block effects says name sent at_block searched"
    " revision nonce valid_until block_number",
    "sent_for": "chain hash scenario node draft | call part certain outcome",
    "drafted_calls": "chain call scenario node draft signer | part drafted nonce at_block",
    "addresses": "name | account address layers watched created",
    "forks": "counter first | last",
    "deleted_scenarios": "id |",
}
#: The columns that the store numbers rows in.
_NUMBERS = {name: "seq" for name, columns in TABLES.items() if columns.startswith("seq")}
_NUMBERS["webhook_events"] = "id"
_LISTS = ("chains", "webhooks", "tags")


async def copy_store(
    source: str, target: str, *, stop: bool, now: int
) -> tuple[list[str], dict[str, int]]:
    """Copy the store at one location into the empty one at another; return the ids of the jobs that
    were stopped, and how many rows each table has.

    Conflict if the target has rows, or if jobs of the source are running, unless *stop*.
    """
    require_file(source)
    async with AsyncExitStack() as opened:
        stores = []
        for location in (source, target):
            store = open_store(location, create=False, role="copy", statement_seconds=0)
            opened.push_async_callback(store.close)
            if await store.has_worker():
                name = without_password(location)
                raise Conflict(f"a worker uses store {name}: stop the daemons of both stores")
            stores.append(store)
        first, second = stores
        if any((await second.read(_count)).values()):
            raise Conflict(f"store {without_password(target)} is not empty: name an empty one")
        stopped = await first.stop_running_jobs(now=now) if stop else []
        # Nobody else writes to it meanwhile.
        async with first.frozen(TABLES):
            if (await first.list_jobs(limit=1, state=JobState.RUNNING)).total:
                raise Conflict(
                    f"store {without_password(source)} cannot be copied while jobs are running: "
                    "stop them, or pass `stop_jobs`"
                )
            for table, columns in TABLES.items():
                key, rest = (part.split() for part in columns.split("|"))
                after: Row = ()
                reading = partial(_read, table, key, rest)
                while rows := await first.read(partial(reading, after), long=True):
                    await second.write(partial(_add, table, (*key, *rest), rows))
                    after = rows[-1][: len(key)]
            await second.write(partial(_raise_numbers, await first.read(_last_numbers)))
            return stopped, await second.read(_count)


def _count() -> Operation[dict[str, int]]:
    counts = {}
    for table in TABLES:
        ((counts[table],),) = yield statements.count_table(table), {}
    return counts


def _read(table: str, key: list[str], rest: list[str], after: Row) -> Operation[list[Row]]:
    """Return the next rows with keys above *after*; () is below all keys."""
    columns = tuple(f"CAST({name} AS text)" if name == "schedule" else name for name in rest)
    question = statements.read_rows(table, tuple(key), (*key, *columns), after=bool(after))
    values = {f"after_{place}": part for place, part in enumerate(after)}
    return (yield question, {**values, "rows": _ROWS})


def _add(table: str, columns: tuple[str, ...], rows: list[Row]) -> Operation[None]:
    values = {
        f"{name}_{place}": list(read_texts(value)) if name in _LISTS else value
        for place, row in enumerate(rows)
        for name, value in zip(columns, row, strict=True)
    }
    yield statements.insert(table, columns, len(rows), numbered=True), values


def _last_numbers() -> Operation[dict[str, int]]:
    """Return the highest number that was given to a row of each table, also if the row is gone."""
    numbers = {}
    for table, column in _NUMBERS.items():
        ((given, there),) = yield statements.last_number(table, column), {}
        numbers[table] = max(given or 0, there or 0)
    return numbers


def _raise_numbers(numbers: Mapping[str, int]) -> Operation[None]:
    for table, column in _NUMBERS.items():
        for statement in statements.raise_number(table, column) if numbers[table] else ():
            yield statement, {"last": numbers[table]}
