"""Copying all that a store keeps into another one, with the same numbers.

The rows of each table are copied in the order of their keys, a portion at a time.  What the target has is therefore the
beginning of what the source has: it tells where to go on after an interruption.

To copy one more table, add it to `TABLES`.  `copied_rows.py` of each store says where its columns differ from these.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Protocol, runtime_checkable

from scenarioctl.config import without_password
from scenarioctl.errors import Conflict, InvalidRequest, NotFound, StoreFailed, shorten
from scenarioctl.model.jobs import Job, JobState
from scenarioctl.stores import Store, file_path, is_server, open_store

#: The most rows, and about the most bytes, that are read or added at once.
ROWS = 1000
BYTES = 4 * 1024 * 1024

Row = tuple[Any, ...]
#: Called with how many rows are done, and how many there are to do.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Table:
    """What is copied of a table."""

    name: str
    key: tuple[str, ...]
    #: Names, in the order of a row's values, and types: a tuple holds sorted texts, a dict is the text of a JSON object.
    columns: Mapping[str, type | UnionType]
    #: The one that may be long.
    long: str
    #: Names the scenario.
    scenario: str = "job"
    #: What other columns get in the target.
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_numbered(self) -> bool:
        """Return whether the store gives each row a number."""
        return self.key in (("seq",), ("id",)) and self.columns[self.key[0]] is int

    def key_of(self, row: Row) -> Row:
        names = list(self.columns)
        return tuple(row[names.index(name)] for name in self.key)


#: Each after those that it refers to.
TABLES = (
    Table(
        name="scenarios",
        key=("seq",),
        columns={
            "seq": int,
            "id": str,
            "summary": str,
            "name": str,
            "created": int,
            "updated": int,
            "size": int,
            "chains": tuple,
            "webhooks": tuple,
            "digest": bytes | None,
            "blob": bytes,
        },
        long="blob",
        scenario="id",
    ),
    Table(
        name="jobs",
        key=("id",),
        columns={
            "id": str,
            "state": str,
            "due": int | None,
            "planned": int | None,
            "epoch": int,
            "changed": int,
            "runs": int,
            "failures": int,
            "last_started": int | None,
            "last_finished": int | None,
            "reason": str,
            "schedule": dict,
        },
        long="schedule",
        scenario="id",
        # Nobody runs it there.
        fixed={"owner": "", "begun": 0, "step": ""},
    ),
    Table(
        name="runs",
        key=("seq",),
        columns={
            "seq": int,
            "job": str,
            "epoch": int | None,
            "planned": int,
            "started": int,
            "finished": int,
            "lines": int,
            "drafts": int,
            "failure": str,
        },
        long="failure",
    ),
    Table(
        name="log_lines",
        key=("seq",),
        columns={"seq": int, "job": str, "written": int, "text": str},
        long="text",
    ),
    Table(
        name="mempool",
        key=("seq",),
        columns={
            "seq": int,
            "job": str,
            "chain": str,
            "amount": str,
            "tx_type": str,
            "date": int,
            "spec_version": int | None,
            "expires": int | None,
            "node": str,
            "flag": str,
            "tx": str,
        },
        long="tx",
    ),
    Table(
        name="tallies",
        key=("job",),
        columns={"job": str, "lines": int, "entries": int, "runs": int},
        long="job",
    ),
    Table(
        name="webhook_events",
        key=("id",),
        columns={"id": int, "uuid": str, "received": int, "content": str},
        long="content",
        scenario="",
    ),
    Table(
        name="webhook_marks",
        key=("job", "uuid"),
        columns={"job": str, "uuid": str, "event": int},
        long="uuid",
    ),
)


class StoredRows(Protocol):
    """The rows of a store, which can be copied as they are."""

    async def find_place(self) -> Row:
        """Return what only this store answers, however its location is spelled; StoreFailed if its tables are too new."""

    async def count(self, table: Table) -> int:
        """Return how many rows the table has."""

    async def read(self, table: Table, *, after: Row, rows: int, size: int) -> list[Row]:
        """Return rows with keys above *after*, sorted; at most *rows*, and no more once they have *size* bytes.

        There is none at the end of the table.  () is below all keys.
        """

    async def add(self, table: Table, rows: Sequence[Row]) -> None:
        """Add all of *rows* or, if one is refused, none; Conflict then."""

    async def last_numbers(self) -> dict[str, int]:
        """Return the highest number that each numbered table has given to a row, also if the row is gone."""

    async def raise_numbers(self, numbers: Mapping[str, int]) -> None:
        """Let the tables give out only numbers above *numbers*."""


@runtime_checkable
class CopyableStore(Store, Protocol):
    """A store that can be copied into another one."""

    def rows(self) -> StoredRows:
        """Return all its rows."""


@dataclass(frozen=True, kw_only=True)
class CopiedTable:
    """What became of a table."""

    name: str
    #: How many it has, and how many of them were copied now.
    rows: int
    copied: int
    #: Hash of all rows, the same in source and target.
    digest: str


@dataclass(frozen=True, kw_only=True)
class _Content:
    """All rows of a table, or the first ones."""

    rows: int
    last: Row
    digest: str


@dataclass(frozen=True, kw_only=True)
class Place:
    """A store, and how it is called."""

    name: str
    store: CopyableStore
    rows: StoredRows


class StoreCopy:
    """The copy of one store into another one."""

    def __init__(self, source: Place, target: Place) -> None:
        self._source = source
        self._target = target
        #: What the target has of each table, before anything is copied.
        self._begun: dict[str, _Content] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, source: str, target: str) -> AsyncIterator["StoreCopy"]:
        """Open the stores at two locations, and look whether one can be copied into the other."""
        async with _opened(source, is_source=True) as first, _opened(target) as second:
            if await first.rows.find_place() == await second.rows.find_place():
                raise InvalidRequest(
                    f"store {second.name} is the same as {first.name}, expected another one to copy into"
                )
            copy = cls(first, second)
            await copy._compare()
            yield copy

    async def stop_jobs(self, *, stop: bool, now: int) -> list[str]:
        """Stop the source's running jobs and return their ids; Conflict if there are some, unless *stop*."""
        ids = [job.id async for job in self._jobs(JobState.RUNNING)]
        if ids and not stop:
            jobs = "1 job is" if len(ids) == 1 else f"{len(ids)} jobs are"
            raise Conflict(
                f"store {self._source.name} cannot be copied while {jobs} running: stop them, or pass --stop-jobs"
            )
        return [id for id in ids if await self._source.store.stop_job(id, now=now)]

    async def _jobs(self, state: JobState) -> AsyncIterator[Job]:
        after = ""
        while True:
            page = await self._source.store.list_jobs(limit=1000, after=after, state=state)
            for job in page.items:
                yield job
            if not page.next:
                return
            after = page.next

    async def _check_runs(self) -> None:
        """Refuse a source in which a worker still runs a job that was stopped: the run changes what is copied."""
        if await self._source.store.has_worker():
            async for job in self._jobs(JobState.STOPPED):
                if job.owner:
                    raise Conflict(
                        f"store {self._source.name} cannot be copied while a run of job {job.id} is in progress: wait until it"
                        " has ended, or stop the daemon"
                    )

    async def perform(self, progress: Progress) -> list[CopiedTable]:
        """Copy what the target lacks, then compare all rows.

        What was copied stays if this is canceled or fails, and the next copy goes on there.
        """
        await self._check_runs()
        source, target = self._source.rows, self._target.rows
        counts = {table.name: await source.count(table) for table in TABLES}
        # Each row is copied, and then compared.
        done, total = sum(begun.rows for begun in self._begun.values()), 2 * sum(counts.values())
        progress(done, total)
        # First, so that a role without the right to do so is refused before anything is copied.
        await target.raise_numbers(await source.last_numbers())
        try:
            for table in TABLES:
                async for rows in _portions(self._source, table, self._begun[table.name].last):
                    await target.add(table, rows)
                    done += len(rows)
                    progress(done, total)
        except asyncio.CancelledError as stop:
            stop.add_note("the copy is not complete; run the same command again to continue it")
            raise
        copied = []
        for table in TABLES:
            here = await _read_content(self._source, table)
            there = await _read_content(self._target, table)
            if here != there:
                raise Conflict(
                    f"store {self._source.name} was changed while it was copied: its table {table.name} differs from the"
                    f" copy in {self._target.name}. Stop all daemons, and copy it into an empty store"
                )
            done += here.rows
            progress(done, total)
            copied.append(
                CopiedTable(
                    name=table.name,
                    rows=here.rows,
                    copied=here.rows - self._begun[table.name].rows,
                    digest=here.digest,
                )
            )
        return copied

    async def _compare(self) -> None:
        """Refuse a target that has other rows than the first ones of the source."""
        for table in TABLES:
            begun = self._begun[table.name] = await _read_content(self._target, table)
            if begun.rows and begun != await _read_content(self._source, table, rows=begun.rows):
                raise Conflict(
                    f"store {self._target.name} has other content than {self._source.name}, in its table {table.name}:"
                    " name an empty store"
                )


@asynccontextmanager
async def _opened(location: str, *, is_source: bool = False) -> AsyncIterator[Place]:
    name = shorten(without_password(location), limit=200)
    if not is_server(location):
        _check_file(location, name, is_source=is_source)
    store = open_store(location, create=False, role="copy", statement_seconds=0)
    try:
        if not isinstance(store, CopyableStore):
            raise InvalidRequest(f"store {name} cannot be copied")
        yield Place(name=name, store=store, rows=store.rows())
    finally:
        await store.close()


def _check_file(location: str, name: str, *, is_source: bool) -> None:
    """Refuse a file without tables of our version: it would be migrated when it is opened."""
    from scenarioctl.stores.sqlite.database_file import DatabaseFile
    from scenarioctl.stores.sqlite.schema import MIGRATIONS

    file = DatabaseFile(file_path(location))
    version = file.find_version()
    if version is None and is_source:
        raise NotFound(f"store {name} does not exist, expected a store to copy")
    if version is None:
        raise file.no_tables()
    if version < len(MIGRATIONS):
        raise StoreFailed(
            f"store {name} has tables of version {version}, expected version {len(MIGRATIONS)}: run scenarioctl store migrate"
        )


async def _portions(place: Place, table: Table, after: Row = ()) -> AsyncIterator[list[Row]]:
    while rows := await place.rows.read(table, after=after, rows=ROWS, size=BYTES):
        yield [_checked(place, table, row) for row in rows]
        after = table.key_of(rows[-1])
        # A store in a file may answer without ever waiting.
        await asyncio.sleep(0)


async def _read_content(place: Place, table: Table, *, rows: int | None = None) -> _Content:
    """Read the table, or only its first *rows*."""
    count, last, digest = 0, (), hashlib.blake2b(digest_size=16)
    async for portion in _portions(place, table):
        some = portion if rows is None else portion[: rows - count]
        for row in some:
            digest.update(repr(row).encode())
        if some:
            count, last = count + len(some), table.key_of(some[-1])
        if count == rows:
            break
    return _Content(rows=count, last=last, digest=digest.hexdigest())


def _checked(place: Place, table: Table, row: Row) -> Row:
    """Return *row* with values that are the same in every store."""
    values: list[Any] = []
    for (name, kind), value in zip(table.columns.items(), row, strict=True):
        if kind is dict:
            try:
                values.append(json.dumps(json.loads(value), sort_keys=True))
            except (ValueError, TypeError, RecursionError):
                raise _damaged(place, table, row, name) from None
        elif not isinstance(value, kind) or (isinstance(value, str) and "\0" in value):
            raise _damaged(place, table, row, name)
        else:
            values.append(value)
    return tuple(values)


def _damaged(place: Place, table: Table, row: Row, column: str) -> StoreFailed:
    key = ", ".join(str(value) for value in table.key_of(row))
    what = f"store {place.name} has a damaged row: {column} of {shorten(key)} in its table {table.name}"
    if not table.scenario:
        return StoreFailed(f"{what}. Delete the row, and copy again")
    id = shorten(dict(zip(table.columns, row, strict=True))[table.scenario])
    return StoreFailed(f"{what}. Delete the scenario {id}, and copy again")
