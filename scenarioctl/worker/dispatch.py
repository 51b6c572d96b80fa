"""When a job runs, and which worker runs it: what every dispatch does.  To add one, write a module and a row here.

A dispatch hands each job that is due to one of all workers, with a new epoch.  What a run does is `job_run.py`, the same
under every dispatch; `tests/test_dispatch.py` shows by example what they all promise.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from scenarioctl.application import Application
from scenarioctl.stores import ClaimingStore, DispatchingStore
from scenarioctl.worker.embedded_dispatch import EmbeddedDispatch
from scenarioctl.worker.runs import Runs


class Dispatch(Protocol):
    """Hands jobs that are due to `Runs.start`."""

    @property
    def last_beat(self) -> float:
        """When it last made progress, in seconds of the monotonic clock."""

    async def run(self, stop: asyncio.Event) -> None:
        """Start jobs when they are due, until *stop*.  Runs in progress go on."""

    async def run_due(self) -> bool:
        """Run what is due now to its end; False if nothing is.  For tests."""

    def wake(self) -> None:
        """Look for due jobs now: one was started in this process."""

    async def renew(self) -> set[str]:
        """Keep the jobs of the runs in progress; return those that are still ours."""

    async def take_over(self) -> None:
        """Make the jobs of workers that have ended due again."""

    async def leave(self) -> int:
        """Give back the jobs that are still ours, which are due as they were; return how many."""


def choose_dispatch(app: Application, runs: Runs, *, monotonic: Callable[[], int]) -> Dispatch:
    """Return the dispatch that goes with the application's store."""
    store = app.store
    if isinstance(store, DispatchingStore):
        # Part of an extra.
        from scenarioctl.worker.procrastinate_dispatch import ProcrastinateDispatch

        return ProcrastinateDispatch(app, store, runs, monotonic=monotonic)
    if not isinstance(store, ClaimingStore):
        raise TypeError(f"there is no dispatch for {type(store).__name__}")
    return EmbeddedDispatch(app, store, runs, monotonic=monotonic)


def turns_at_store(app: Application, capacity: int) -> int:
    """Return how many runs may use the store at once: requests and chores need connections to a server, too."""
    return max(1, app.settings.store_pool - 2) if isinstance(app.store, DispatchingStore) else capacity
