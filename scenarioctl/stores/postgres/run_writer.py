"""Runs that end together are stored together: transactions that give out numbers commit one after the other."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from scenarioctl.errors import StoreBusy, StoreUnavailable
from scenarioctl.model.jobs import FinishedRun, Retention

#: The most runs that one transaction stores.
_AT_ONCE = 50

Runs = list[tuple[FinishedRun, Retention]]


@dataclass(kw_only=True)
class _Entry:
    run: FinishedRun
    retention: Retention
    #: Whether the store has kept it.
    kept: asyncio.Future[bool]


class RunWriter:
    """Collects runs while others are being written; *write* stores some in one transaction, and says which it has kept."""

    def __init__(self, write: Callable[[Runs], Awaitable[list[bool]]]) -> None:
        self._write = write
        self._waiting: list[_Entry] = []
        self._task: asyncio.Task[None] | None = None

    async def store(self, run: FinishedRun, retention: Retention) -> bool:
        """Return whether *run* is kept, once that is on the disk."""
        entry = _Entry(run=run, retention=retention, kept=asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_all(), name="store runs")
        return await entry.kept

    async def close(self) -> None:
        """Write what waits."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _write_all(self) -> None:
        while self._waiting:
            some = self._take()
            if some:
                await self._write_some(some)

    def _take(self) -> list[_Entry]:
        """Return the next runs, one of a job, without those for whose answer nobody waits any more."""
        taken: dict[str, _Entry] = {}
        left = []
        for entry in self._waiting:
            if entry.kept.done():
                continue
            if entry.run.job in taken or len(taken) >= _AT_ONCE:
                left.append(entry)
            else:
                taken[entry.run.job] = entry
        self._waiting = left
        # Sorted, so that two processes don't wait for each other's jobs.
        return [taken[job] for job in sorted(taken)]

    async def _write_some(self, entries: list[_Entry]) -> None:
        try:
            kept = await self._write([(entry.run, entry.retention) for entry in entries])
        except Exception as error:
            if len(entries) > 1 and not isinstance(error, (StoreBusy, StoreUnavailable)):
                # One of them can't be stored: the others must not suffer.
                for entry in entries:
                    await self._write_some([entry])
                return
            for entry in entries:
                if not entry.kept.done():
                    entry.kept.set_exception(error)
            return
        for entry, is_kept in zip(entries, kept, strict=True):
            if not entry.kept.done():
                entry.kept.set_result(is_kept)
