"""What an operator should know of the server: clocks, extensions, dead rows, runs that nobody runs; figures for `/metrics`."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from scenarioctl.model.jobs import CLOCK_SKEW, JobState
from scenarioctl.stores import Inspection, jobs
from scenarioctl.stores.figures import ServerConnections
from scenarioctl.stores.operations import Asking
from scenarioctl.stores.postgres.administration import Meta, lacking
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.postgres.schema import SCHEMA, VERSION, installed_engine

#: Dead rows that are no trouble, and their share of the rows that is.
_DEAD_ROWS = 10_000
_DEAD_SHARE = 0.2
#: The share of its connections that a server should have free.
_FREE_CONNECTIONS = 0.1


async def inspect(
    connection: Connection, *, clock: Callable[[], int], stalled: int, late: int, workers: int
) -> Inspection:
    """*stalled*: legs whose worker is silent; *late*: those that nobody has begun."""
    skew = await _clock_skew(connection, clock)
    extension = await _one(
        connection, "SELECT count(*) FROM pg_indexes WHERE indexname = 'scenarios_by_text'"
    )
    dead = await _all(
        connection,
        "SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE schemaname = %s ORDER BY relname",
        SCHEMA,
    )
    ((version, compatible, engine, removed),) = await _all(
        connection, "SELECT version, compatible, engine, engine_removed FROM meta"
    )
    findings = [
        *_of_migrations(Meta(version=version, compatible=compatible, engine=engine)),
        *_of_engine(removed),
        *_of_clocks(skew),
        *([] if extension else [_NO_TRIGRAMS]),
        *_of_dead_rows(dead),
        *_of_stalled(stalled),
        *_of_late(late),
        *[finding async for finding in _of_jobs(connection, workers)],
        *[finding async for finding in _of_server(connection)],
        *await _of_standbys(connection),
    ]
    return Inspection(
        engine=f"PostgreSQL {(connection.info.parameter_status('server_version') or '').split()[0]}",
        version=version,
        newest=VERSION,
        extensions=("pg_trgm",) if extension else (),
        clock_skew=skew,
        dead_rows=sum(count for _, count, _ in dead),
        stalled_runs=stalled,
        findings=tuple(findings),
    )


async def _clock_skew(connection: Connection, clock: Callable[[], int]) -> float:
    """Return by how many seconds the server's clock is ahead, as near as the time of the question allows."""
    before = clock()
    server = await _one(connection, "SELECT extract(epoch FROM clock_timestamp())")
    after = clock()
    return round(float(server) - (before + after) / 2e9, 3)


_NO_TRIGRAMS = (
    "A search reads every scenario, since the extension pg_trgm is not installed. Have a superuser run CREATE EXTENSION"
    f" pg_trgm SCHEMA {SCHEMA}, then run scenarioctl store init"
)


def _of_migrations(meta: Meta) -> list[str]:
    waiting = lacking(meta)
    due = [step.name for step in waiting if not step.contracts]
    if due:
        return [
            f"The tables lack what this program adds to them ({', '.join(due)}). Run scenarioctl store migrate with the owner's"
            " role"
        ]
    if waiting:
        names = ", ".join(step.name for step in waiting)
        return [
            f"The tables still have what only older daemons need ({names}). When none of them runs any more, run scenarioctl"
            " store migrate --contract with the owner's role"
        ]
    return []


def _of_engine(removed: str) -> list[str]:
    newest = installed_engine().newest
    if removed <= newest:
        return []
    return [
        f"The tables of procrastinate have the migration {removed}, and the installed version knows only {newest}. Run"
        " pip install --upgrade procrastinate"
    ]


def _of_clocks(skew: float) -> list[str]:
    if abs(skew) < CLOCK_SKEW:
        return []
    where = "ahead of" if skew > 0 else "behind"
    return [
        f"The server's clock is {abs(skew):.1f} s {where} this machine's, and runs start by the server's."
        " Synchronize both clocks with NTP"
    ]


def _of_dead_rows(tables: list[tuple[Any, ...]]) -> list[str]:
    return [
        f"The table {SCHEMA}.{name} has {dead} dead rows beside {live} live ones. Let autovacuum run more often, and end"
        " transactions that stay open"
        for name, dead, live in tables
        if dead > _DEAD_ROWS and dead > live * _DEAD_SHARE
    ]


def _of_stalled(count: int) -> list[str]:
    if not count:
        return []
    runs = "1 run is" if count == 1 else f"{count} runs are"
    return [
        f"{runs} held by workers that have gone. A worker takes them over: start one with scenarioctl daemon"
    ]


def _of_late(count: int) -> list[str]:
    if not count:
        return []
    jobs = "1 job is" if count == 1 else f"{count} jobs are"
    return [f"{jobs} more than 10 seconds late. Start another worker with scenarioctl daemon"]


async def _of_jobs(connection: Connection, workers: int) -> AsyncIterator[str]:
    running = await _one(connection, "SELECT count(*) FROM jobs WHERE state = 'running'")
    if running and not workers:
        yield "No worker is running. Start one with scenarioctl daemon"


async def _of_server(connection: Connection) -> AsyncIterator[str]:
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if await _one(connection, "SELECT current_setting(%s)", name) == "off":
            yield f"The server's setting {name} is off. After a crash, acknowledged writes may be lost: turn it on"
    if await _one(connection, "SELECT current_setting('idle_in_transaction_session_timeout')") == "0":
        yield (
            "A process that freezes in a transaction keeps its locks, since a PgBouncer drops the timeout that prevents it."
            " Run ALTER ROLE … SET idle_in_transaction_session_timeout = '5s'"
        )
    used, most = (
        await _one(connection, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"),
        await _one(connection, "SELECT current_setting('max_connections')::integer"),
    )
    if used > most * (1 - _FREE_CONNECTIONS):
        yield f"{used} of the server's {most} connections are in use. Raise max_connections, or lower store_pool"


async def _of_standbys(connection: Connection) -> list[str]:
    # Without pg_read_all_stats, a role sees which standbys there are, and nothing of their state.
    standbys = await _all(
        connection,
        "SELECT application_name, sync_state FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup' ORDER BY 1",
    )
    states = {state for _, state in standbys}
    if not standbys or states & {"sync", "quorum"}:
        return []
    names = ", ".join(name for name, _ in standbys)
    if None in states and await _one(connection, "SELECT current_setting('synchronous_standby_names')"):
        return [
            f"It is unknown whether a standby ({names}) is synchronous, since this role cannot see that."
            " Run GRANT pg_read_all_stats TO …"
        ]
    return [
        f"No standby is synchronous ({names}). A failover loses the newest acknowledged writes: set synchronous_standby_names"
    ]


async def _all(connection: Connection, question: str, *values: Any) -> list[tuple[Any, ...]]:
    return await (await connection.execute(question, values)).fetchall()


async def _one(connection: Connection, question: str, *values: Any) -> Any:
    return (await _all(connection, question, *values))[0][0]


#: The share of the time that a process spends on counting jobs, at most.
_SHARE = 0.001
#: Seconds that a count may take at any time.
_SHORT = 0.02


class JobCounts:
    """How many jobs are in each state.

    Counting reads an entry of the index for each job, and many daemons ask.  The longer it takes, the longer its answer is used.
    """

    def __init__(self) -> None:
        self._counts: Mapping[JobState, int] = {}
        #: When to count again, in seconds of the monotonic clock.
        self._not_before = float("-inf")

    async def read(self, store: Asking) -> Mapping[JobState, int]:
        begun = time.monotonic()
        if begun >= self._not_before:
            self._counts = await store.read(jobs.count_by_state)
            took = time.monotonic() - begun
            self._not_before = begun + (took / _SHARE if took > _SHORT else 0)
        return self._counts


async def count_connections(connection: Connection) -> ServerConnections:
    # Every role may read these, unlike the rows of others in pg_stat_activity.
    found = await connection.execute(
        "SELECT sum(numbackends)::integer, current_setting('max_connections')::integer FROM pg_stat_database"
    )
    row = await found.fetchone()
    return ServerConnections(open=row[0], limit=row[1]) if row else ServerConnections(open=0, limit=0)
