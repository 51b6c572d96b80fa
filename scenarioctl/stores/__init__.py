"""Where scenarios are kept: the records of a store, and how one is opened.  What a store does is in
`store.py`.

Nothing here assumes that all processes run on one machine.  What any store must hold beyond its
methods:

- Time.  Leases run by the store's own clock, and it alone judges what is due; callers give
  durations.  A store documents what a reboot or a clock that is set does to them.
- Cursors.  `seq` of log lines and drafts and `id` of events grow in the order in which rows become
  visible: once a reader has seen a number, no smaller one appears any more.  A store whose writers
  commit side by side has to give the numbers out under a lock that is held until the commit.
- Text.  It has no NUL characters and no lone surrogates.  Text of a request is refused for them,
  with the field's name; in what a run leaves behind each is replaced by `?`, since a run must not
  be lost.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenarioctl.config import is_server, without_password
from scenarioctl.errors import InvalidRequest, NotFound
from scenarioctl.files import reason_of
from scenarioctl.model.jobs import Job, JobState

if TYPE_CHECKING:
    from scenarioctl.stores.sqlite.backup import Restored
    from scenarioctl.stores.sqlite.database_file import DatabaseFile
    from scenarioctl.stores.store import Store


@dataclass(frozen=True, kw_only=True)
class StoredScenario:
    """A scenario as it lies in the store.  The store never looks into the blob."""

    id: str
    blob: bytes
    summary: str
    #: Each chain that appears in any node, as `template stats` counts it; read back sorted, each
    #: once.
    chains: tuple[str, ...]
    #: Nanoseconds since 1970, UTC.
    created: int
    updated: int
    #: UUIDs of the webhooks that its steps wait for.
    webhooks: tuple[str, ...] = ()
    #: What its author calls it; empty where it has no name.
    name: str = ""
    #: Words that its author sorts it by; read back sorted, each once.
    tags: tuple[str, ...] = ()
    #: Hash of the diagram, the same for the same diagram; empty where nobody looks for it.  Not
    #: read back.
    digest: bytes = field(default=b"", compare=False)

    @property
    def revision(self) -> str:
        """What distinguishes the versions of a scenario: of the same blob, the same."""
        return sha256(self.blob).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class ListedScenario:
    """What a list shows of a scenario."""

    id: str
    summary: str
    chains: tuple[str, ...]
    created: int
    updated: int
    #: Bytes of the blob.
    size: int
    #: Empty where it has none.
    name: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ScenarioPage:
    """A part of a list."""

    items: tuple[ListedScenario, ...]
    #: How many scenarios match, on all pages.
    total: int
    #: Give it as `after` to get what follows; empty on the last page.
    next: str = ""


@dataclass(frozen=True, kw_only=True)
class JobPage:
    """A part of the list of jobs."""

    items: tuple[Job, ...]
    #: How many jobs match, on all pages.
    total: int
    #: Give it as `after` to get what follows; empty on the last page.
    next: str = ""


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What `/metrics` says of a store, the same for every process."""

    scenarios: int
    #: How many jobs are in each state.
    jobs: Mapping[JobState, int]
    #: When the next leg is due that nobody has begun; None if none is.
    next_due: int | None
    #: Workers that are alive.
    workers: int


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What `status --store-only` says of a store."""

    #: Its name and version, like `PostgreSQL 15.14`.
    engine: str
    #: The version of its tables.
    version: int
    #: Seconds by which the server's clock is ahead of this machine's; None if there is no server.
    clock_skew: float | None = None
    #: Runs whose worker has gone and that no other has taken over yet.
    stalled_runs: int = 0
    #: What is wrong, and what to do about it, in a sentence each.
    findings: tuple[str, ...] = ()


def open_store(
    location: str | PathLike[str],
    *,
    create: bool = True,
    wall: Callable[[], int] = time.time_ns,
    **server: Any,
) -> "Store":
    """Open the store at *location*, a path or a URL; without *create* the first write creates a
    file.

    *wall* is the clock of a file, in nanoseconds since 1970; a server has its own.  *server* are
    fields of `ServerSettings`, for a URL.  InvalidRequest if the location can't be used, StoreBusy
    while another process locks a file; both name *location*.  A server is asked by the first
    question.
    """
    text = fspath(location)
    if is_server(text):
        return _open_postgres(text, **server)
    path = file_path(text)
    from scenarioctl.stores.sqlite.store import SqliteStore

    return SqliteStore(path, create=create, wall=wall)


async def create_store(location: str, *, grant: str = "") -> bool:
    """Create the tables of the store at *location*; False if they are there already.

    On a server, the role *grant* may then use them, and create none.
    """
    if is_server(location):
        with needing_libraries():
            from scenarioctl.stores.postgres.administration import initialize
            from scenarioctl.stores.postgres.connections import ServerSettings
        return await initialize(ServerSettings(url=location, role="init"), grant=grant)
    if grant:
        raise InvalidRequest(
            field="grant",
            value=grant,
            problem="needs a store on a server",
            expected="a postgresql:// URL",
        )
    is_new = not Path(location).exists()
    await open_store(location).close()
    return is_new


def back_up_store(location: str, target: str) -> int:
    """Copy the store at *location*, a file, to the new file *target* while others use it, and
    return its bytes, as `back_up` says."""
    source = _embedded_file(
        location, "Back it up with: pg_dump --format custom --file FILE DATABASE"
    )
    require_file(location)
    path = _backup_path(target)
    from scenarioctl.stores.sqlite.backup import back_up

    return back_up(source, path)


async def restore_store(location: str, source: str, *, now: int) -> "Restored":
    """Create the store at *location*, a file, from the backup *source*, as `restore` says."""
    store = _embedded_file(
        location, "Restore it with: pg_restore --clean --if-exists --dbname DATABASE FILE"
    ).path
    backup = _backup_path(source)
    from scenarioctl.stores.sqlite.backup import restore
    from scenarioctl.stores.sqlite.database_file import DatabaseFile

    try:
        backup.stat()
    except FileNotFoundError:
        raise NotFound(field="file", value=source, limit=200, problem="does not exist") from None
    except OSError as error:
        problem = f"cannot be read: {reason_of(error)}"
        raise InvalidRequest(field="file", value=source, limit=200, problem=problem) from None
    store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return await restore(DatabaseFile(backup), store, now=now)


def _embedded_file(location: str, otherwise: str) -> "DatabaseFile":
    """Return the file of the store at *location*; InvalidRequest says what to do *otherwise*, with
    one on a server."""
    if is_server(location):
        raise InvalidRequest(
            field="store",
            value=without_password(location),
            limit=200,
            problem=f"is on a PostgreSQL server. {otherwise}",
        )
    from scenarioctl.stores.sqlite.database_file import DatabaseFile

    return DatabaseFile(file_path(location))


def _backup_path(given: str) -> Path:
    if not given or "\0" in given or "://" in given:
        raise InvalidRequest(
            field="file",
            value=given,
            problem="is not a path",
            expected="one like scenarios-2026-11-26.db",
        )
    return Path(given)


def file_path(location: str) -> Path:
    """Return *location* as the path of a file, or raise InvalidRequest."""
    scheme, separator, _ = location.partition("://")
    if separator:
        # The rest of a URL may hold a password.
        raise InvalidRequest(
            field="store",
            value=scheme + "://…",
            problem="is a URL of an unsupported kind",
            expected="the path of a file or a postgresql:// URL",
        )
    if not location or "\0" in location:
        raise InvalidRequest(
            field="store", value=location, problem="is not a path", expected="one like scenarios.db"
        )
    return Path(location)


def require_file(location: str) -> None:
    """Raise NotFound if *location* is the path of a file that doesn't exist."""
    if is_server(location):
        return
    from scenarioctl.stores.sqlite.database_file import DatabaseFile

    if DatabaseFile(file_path(location)).is_absent():
        raise NotFound(
            field="store",
            value=location,
            limit=200,
            problem="does not exist. Check the path, or create it with scenarioctl store init",
        )


def _open_postgres(url: str, **server: Any) -> "Store":
    with needing_libraries():
        from scenarioctl.stores.postgres.connections import ServerSettings
        from scenarioctl.stores.postgres.store import PostgresStore
    return PostgresStore(ServerSettings(url=url, **server))


@contextmanager
def needing_libraries() -> Iterator[None]:
    """Import modules of the store on a server; InvalidRequest if its libraries are not
    installed."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("scenarioctl"):
            raise
        raise InvalidRequest(
            "store postgresql://… needs the PostgreSQL libraries, install them with: pip "
            "install 'scenarioctl[postgres]'"
        ) from error
