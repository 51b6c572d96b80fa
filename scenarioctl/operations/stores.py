"""The store itself: what an operator should know of it."""

from dataclasses import dataclass
from typing import TypedDict

from scenarioctl.application import Application
from scenarioctl.config import without_password
from scenarioctl.operations.results import Result
from scenarioctl.operations.workers import WorkerRow, describe_workers, find_clocks

__all__ = ["check_store"]


@dataclass(frozen=True, kw_only=True)
class CheckStore:
    """Check the store: its version, its server, its workers, and what an operator should do about them."""


class StoreCheck(TypedDict):
    #: The path or the URL, without a password.
    store: str
    #: Like `PostgreSQL 15.14` or `SQLite 3.46.1`.
    engine: str
    #: The version of the tables.
    version: int
    #: The newest version of the tables that this program knows.
    newest: int
    #: Extensions of the server that are used.
    extensions: list[str]
    #: Seconds by which the server's clock is ahead of this machine's; null without a server.
    clock_skew: float | None
    #: Rows that were changed or deleted, and whose room is not free yet.
    dead_rows: int
    #: Runs whose worker has gone.
    stalled_runs: int
    workers: list[WorkerRow]
    #: What is wrong, and what to do about it, in a sentence each.
    findings: list[str]


async def check_store(app: Application, request: CheckStore) -> Result[StoreCheck]:  # noqa: ARG001
    found = await app.store.inspect(app.clock)
    workers = await describe_workers(app)
    return Result(
        answer={
            "store": without_password(app.settings.store),
            "engine": found.engine,
            "version": found.version,
            "newest": found.newest,
            "extensions": list(found.extensions),
            "clock_skew": found.clock_skew,
            "dead_rows": found.dead_rows,
            "stalled_runs": found.stalled_runs,
            "workers": workers,
            "findings": [*found.findings, *find_clocks(workers)],
        }
    )
