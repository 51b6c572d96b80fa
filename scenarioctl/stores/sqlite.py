"""The embedded store: one SQLite file that many processes may have open.

To change what is kept, append to `MIGRATIONS`; never edit an entry that has been released.
"""

import base64
import binascii
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scenarioctl.errors import Conflict, InvalidRequest, NotFound, ScenarioctlError, shorten
from scenarioctl.stores import (
    SORTS,
    ListedScenario,
    ScenarioPage,
    StoredScenario,
    check_id,
    check_listing,
    check_text,
)

#: Marks the file as ours: "Scen".
APPLICATION_ID = 0x5363656E
#: How long a process waits for another one's write.
BUSY_SECONDS = 10.0

_CHAINS = (
    # The listing columns stand before the blob: SQLite reads a row from its start and follows overflow pages only
    # as far as it must.
    """
    CREATE TABLE scenarios (
        id TEXT NOT NULL PRIMARY KEY,
        summary TEXT NOT NULL,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        size INTEGER NOT NULL,
        blob BLOB NOT NULL
    )
    """,
    "CREATE INDEX scenarios_by_created ON scenarios (created, id, summary)",
    "CREATE INDEX scenarios_by_summary ON scenarios (summary, id)",
    """
    CREATE TABLE scenario_chains (
        chain TEXT NOT NULL,
        scenario TEXT NOT NULL REFERENCES scenarios (id) ON DELETE CASCADE,
        created INTEGER NOT NULL,
        PRIMARY KEY (chain, scenario)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX scenario_chains_by_scenario ON scenario_chains (scenario)",
    "CREATE INDEX scenario_chains_by_created ON scenario_chains (chain, created, scenario)",
    # Counting 100 000 index entries takes milliseconds, reading one row does not.  The chain '' counts them all.
    """
    CREATE TABLE scenario_counts (
        chain TEXT NOT NULL PRIMARY KEY,
        amount INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TRIGGER scenario_added AFTER INSERT ON scenarios BEGIN
        INSERT INTO scenario_counts VALUES ('', 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
    END
    """,
    """
    CREATE TRIGGER scenario_removed AFTER DELETE ON scenarios BEGIN
        UPDATE scenario_counts SET amount = amount - 1 WHERE chain = '';
    END
    """,
    """
    CREATE TRIGGER scenario_chain_added AFTER INSERT ON scenario_chains BEGIN
        INSERT INTO scenario_counts VALUES (new.chain, 1) ON CONFLICT (chain) DO UPDATE SET amount = amount + 1;
    END
    """,
    """
    CREATE TRIGGER scenario_chain_removed AFTER DELETE ON scenario_chains BEGIN
        UPDATE scenario_counts SET amount = amount - 1 WHERE chain = old.chain;
        DELETE FROM scenario_counts WHERE chain = old.chain AND amount = 0;
    END
    """,
)

#: Each entry takes the file from the version of its position to the next; all that are missing run in one transaction.
MIGRATIONS: tuple[tuple[str, ...], ...] = (_CHAINS,)

#: The columns a list is sorted by, without and with a filter by chain.
_ORDERS = {
    "created": (("s.created", "s.id"), ("c.created", "c.scenario")),
    "id": (("s.id",), ("c.scenario",)),
    "summary": (("s.summary", "s.id"), ("s.summary", "s.id")),
}
_INTEGER_MAX = 2**63 - 1

Value = str | int
Row = tuple[str, str, int, int, int]


class SqliteStore:
    """A Store in one file.  It belongs to the thread that opened it."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        with self._reporting():
            self._create_file()
            # Transactions begin and end where this module says so.
            self._database = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            with self._reporting():
                self._prepare()
        except BaseException:
            self._database.close()
            raise

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        await self.put_scenarios((scenario,), replace=replace)

    async def put_scenarios(self, scenarios: Iterable[StoredScenario], *, replace: bool = False) -> int:
        count = 0
        with self._writing():
            for scenario in scenarios:
                self._put(scenario, replace=replace)
                count += 1
        return count

    async def get_scenario(self, id: str) -> StoredScenario:
        check_id(id)
        with self._reading():
            row = self._database.execute(
                "SELECT blob, summary, created, updated FROM scenarios WHERE id = ?", (id,)
            ).fetchone()
            if row is None:
                raise _unknown(id)
            chains = self._chains_of([id])[id]
        blob, summary, created, updated = row
        return StoredScenario(
            id=id, blob=bytes(blob), summary=summary, chains=chains, created=created, updated=updated
        )

    async def delete_scenario(self, id: str) -> None:
        check_id(id)
        with self._writing():
            if not self._database.execute("DELETE FROM scenarios WHERE id = ?", (id,)).rowcount:
                raise _unknown(id)

    async def list_scenarios(
        self,
        *,
        limit: int = 50,
        after: str = "",
        chain: str = "",
        search: str = "",
        sort: str = "created",
        descending: bool = False,
    ) -> ScenarioPage:
        check_listing(limit=limit, after=after, search=search, sort=sort)
        source, conditions, values = _filter(check_text(chain, field="chain"), search)
        order = _ORDERS[sort][bool(chain)]
        ordering = ", ".join(f"{column} DESC" if descending else column for column in order)
        page_conditions, page_values = list(conditions), list(values)
        if after:
            marks = ", ".join("?" * len(order))
            page_conditions.append(f"({', '.join(order)}) {'<' if descending else '>'} ({marks})")
            page_values += _read_cursor(after, sort=sort, descending=descending)
        # Every piece of these two is a constant of this module; what a user gives is bound.
        select = (
            f"SELECT s.id, s.summary, s.created, s.updated, s.size FROM {source}{_where(page_conditions)}"  # noqa: S608
            f" ORDER BY {ordering} LIMIT ?"
        )
        count = f"SELECT count(*) FROM {source}{_where(conditions)}"  # noqa: S608
        with self._reading():
            rows: list[Row] = self._database.execute(select, (*page_values, limit + 1)).fetchall()
            if search:
                (total,) = self._database.execute(count, values).fetchone()
            else:
                total = self._count(chain)
            more = len(rows) > limit
            del rows[limit:]
            chains = self._chains_of([row[0] for row in rows])
        return ScenarioPage(
            items=tuple(
                ListedScenario(
                    id=id, summary=summary, chains=chains[id], created=created, updated=updated, size=size
                )
                for id, summary, created, updated, size in rows
            ),
            total=total,
            next=_write_cursor(rows[-1], sort=sort, descending=descending) if more else "",
        )

    async def count_scenarios(self, chain: str = "") -> int:
        check_text(chain, field="chain")
        with self._reporting():
            return self._count(chain)

    async def close(self) -> None:
        with self._reporting():
            self._database.close()

    def _put(self, scenario: StoredScenario, *, replace: bool) -> None:
        check_id(scenario.id)
        check_text(scenario.summary, field="summary")
        for chain in scenario.chains:
            if not check_text(chain, field="chain"):
                raise InvalidRequest("chain '' is empty, expected a chain's name")
        for field, moment in (("created", scenario.created), ("updated", scenario.updated)):
            if not 0 <= moment <= _INTEGER_MAX:
                raise InvalidRequest(f"{field} {shorten(moment)} is not a time in nanoseconds since 1970")
        created = scenario.created
        row = self._database.execute("SELECT created FROM scenarios WHERE id = ?", (scenario.id,)).fetchone()
        if row is None:
            self._database.execute(
                "INSERT INTO scenarios (id, summary, created, updated, size, blob) VALUES (?, ?, ?, ?, ?, ?)",
                (scenario.id, scenario.summary, created, scenario.updated, len(scenario.blob), scenario.blob),
            )
        elif replace:
            (created,) = row
            self._database.execute(
                "UPDATE scenarios SET summary = ?, updated = ?, size = ?, blob = ? WHERE id = ?",
                (scenario.summary, scenario.updated, len(scenario.blob), scenario.blob, scenario.id),
            )
            self._database.execute("DELETE FROM scenario_chains WHERE scenario = ?", (scenario.id,))
        else:
            raise Conflict(f"scenario {scenario.id!r} is already in the store")
        self._database.executemany(
            "INSERT INTO scenario_chains (chain, scenario, created) VALUES (?, ?, ?)",
            [(chain, scenario.id, created) for chain in sorted(set(scenario.chains))],
        )

    def _chains_of(self, ids: list[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {id: [] for id in ids}
        marks = ", ".join("?" * len(ids))
        for id, chain in self._database.execute(
            f"SELECT scenario, chain FROM scenario_chains WHERE scenario IN ({marks})",  # noqa: S608
            ids,
        ):
            found[id].append(chain)
        return {id: tuple(sorted(chains)) for id, chains in found.items()}

    def _count(self, chain: str) -> int:
        row = self._database.execute(
            "SELECT amount FROM scenario_counts WHERE chain = ?", (chain,)
        ).fetchone()
        return int(row[0]) if row else 0

    def _create_file(self) -> None:
        """Make the file before SQLite would: readable by its owner only, and so are the files SQLite adds to it."""
        missing = []
        folder = self._path.parent
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            pass

    def _prepare(self) -> None:
        # First, so that a file that is not a database, or not ours, is left as it was found.
        version = self._version()
        self._database.execute("PRAGMA foreign_keys = ON")
        self._database.execute("PRAGMA synchronous = FULL")
        self._use_wal()
        if version == len(MIGRATIONS):
            return
        self._database.execute("BEGIN IMMEDIATE")
        with self._committing():
            # Another process may have been first.
            version = self._version()
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    self._database.execute(statement)
            self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _version(self) -> int:
        """Return how many migrations the file has been through, if it is one that we may use."""
        # One statement sees one moment; another process may be migrating.
        application, version, tables = self._database.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if application != APPLICATION_ID and (application or version or tables):
            raise InvalidRequest(
                f"store {self._name} is a database of another program, expected one of scenarioctl"
            )
        if version > len(MIGRATIONS):
            raise InvalidRequest(
                f"store {self._name} was written by a newer scenarioctl (store version {version}, this one knows"
                f" {len(MIGRATIONS)}): upgrade scenarioctl, or name another store"
            )
        return int(version)

    def _use_wal(self) -> None:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                # Asking for the mode it is in takes no lock.
                self._database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                # SQLite does not wait here for a process that is switching too.
                if _primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Several reads of one moment."""
        with self._reporting():
            self._database.execute("BEGIN")
            with self._committing():
                yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._reporting():
            # A transaction that begins by reading cannot wait when it comes to write: it would fail at once.
            self._database.execute("BEGIN IMMEDIATE")
            with self._committing():
                yield

    @contextmanager
    def _committing(self) -> Iterator[None]:
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            # A full disk makes SQLite roll back by itself.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except (sqlite3.DatabaseError, OSError) as error:
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.DatabaseError | OSError) -> ScenarioctlError:
        if isinstance(error, OSError):
            return InvalidRequest(f"store {self._name} cannot be opened: {error.strerror}")
        code = _primary_code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
            return Conflict(
                f"store {self._name} has been locked by another process for {BUSY_SECONDS:g} seconds, try again later"
            )
        if code == sqlite3.SQLITE_NOTADB:
            return InvalidRequest(f"store {self._name} is not a database, expected one of scenarioctl")
        if code == sqlite3.SQLITE_CORRUPT:
            return InvalidRequest(
                f"store {self._name} is damaged ({error}), expected a sound file: restore a copy"
            )
        if code == sqlite3.SQLITE_FULL:
            return InvalidRequest(f"store {self._name} has no room left on its disk, nothing was changed")
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return InvalidRequest(f"store {self._name} is read-only, expected a file that can be written")
        if code == sqlite3.SQLITE_CANTOPEN:
            return InvalidRequest(
                f"store {self._name} cannot be opened, expected a file that can be read and written"
            )
        if code == sqlite3.SQLITE_IOERR:
            return InvalidRequest(
                f"store {self._name} cannot be read or written ({error}), nothing was changed"
            )
        raise error

    @property
    def _name(self) -> str:
        return shorten(str(self._path), limit=200)


def _unknown(id: str) -> NotFound:
    return NotFound(f"scenario {id!r} is not in the store")


def _primary_code(error: sqlite3.Error) -> int:
    # The upper bytes tell more than is asked here.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _filter(chain: str, search: str) -> tuple[str, list[str], list[Value]]:
    source = "scenarios s"
    conditions: list[str] = []
    values: list[Value] = []
    if chain:
        source = "scenario_chains c JOIN scenarios s ON s.id = c.scenario"
        conditions.append("c.chain = ?")
        values.append(chain)
    if search:
        # Not LIKE: there is nothing to escape, and no pattern that takes for ever.
        conditions.append("(instr(lower(s.summary), lower(?)) OR instr(lower(s.id), lower(?)))")
        values += [search, search]
    return source, conditions, values


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _write_cursor(row: Row, *, sort: str, descending: bool) -> str:
    id, summary, created, _, _ = row
    keys: dict[str, list[Value]] = {"created": [created, id], "id": [id], "summary": [summary, id]}
    text = json.dumps([sort, descending, *keys[sort]], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def _read_cursor(cursor: str, *, sort: str, descending: bool) -> list[Value]:
    kinds = {"created": [int, str], "id": [str], "summary": [str, str]}
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        given, direction, *key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        sound = given in SORTS and [type(part) for part in key] == kinds[given] and type(direction) is bool
        for part in key:
            sound = sound and (not isinstance(part, int) or abs(part) <= _INTEGER_MAX)
            check_text(str(part), field="after")
    except (ValueError, TypeError, RecursionError, binascii.Error, InvalidRequest):
        sound = False
    if not sound:
        raise InvalidRequest(f"after {shorten(cursor)} is not a cursor, expected the `next` of another page")
    if (given, direction) != (sort, descending):
        order = f"{given} {'descending' if direction else 'ascending'}"
        raise InvalidRequest(
            f"after {shorten(cursor)} belongs to a list sorted by {order}, expected that order again"
        )
    return list(key)
