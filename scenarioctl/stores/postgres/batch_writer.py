"""What is to be written at the same time is written together: a batch is one message, one commit and one wait for the disk."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from scenarioctl.errors import StoreBusy, StoreUnavailable

#: The most entries that one transaction writes.
_AT_ONCE = 50

T = TypeVar("T")


@dataclass(kw_only=True)
class _Entry(Generic[T]):
    content: T
    #: Whether the store has kept it.
    kept: asyncio.Future[bool]


class BatchWriter(Generic[T]):
    """Collects entries while others are being written.

    *write* writes a batch in one transaction, and says which entries it has kept.  Two entries with the same *key* are
    written one after the other.  A batch waits for further entries for *delay* seconds.
    """

    def __init__(
        self,
        write: Callable[[list[T]], Awaitable[list[bool]]],
        *,
        key: Callable[[T], str],
        delay: float = 0.0,
    ) -> None:
        self._write = write
        self._key = key
        self._delay = delay
        self._waiting: list[_Entry[T]] = []
        self._task: asyncio.Task[None] | None = None

    async def store(self, content: T) -> bool:
        """Return whether *content* is kept, once that is on the disk."""
        entry = _Entry(content=content, kept=asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_all(), name="write batches")
        return await entry.kept

    async def close(self) -> None:
        """Write what waits."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _write_all(self) -> None:
        while self._waiting:
            if self._delay and len(self._waiting) < _AT_ONCE:
                await asyncio.sleep(self._delay)
            some = self._take()
            if some:
                await self._write_some(some)

    def _take(self) -> list[_Entry[T]]:
        """Return the next entries, one of a key, without those for whose answer nobody waits any more."""
        taken: dict[str, _Entry[T]] = {}
        left = []
        for entry in self._waiting:
            if entry.kept.done():
                continue
            key = self._key(entry.content)
            if key in taken or len(taken) >= _AT_ONCE:
                left.append(entry)
            else:
                taken[key] = entry
        self._waiting = left
        # Sorted, so that two processes don't wait for each other's rows.
        return [taken[key] for key in sorted(taken)]

    async def _write_some(self, entries: list[_Entry[T]]) -> None:
        try:
            kept = await self._write([entry.content for entry in entries])
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
