"""Writes that come together are written together: one transaction, one wait for the disk."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from scenarioctl.errors import StoreBusy, StoreUnavailable

T = TypeVar("T")
R = TypeVar("R")


@dataclass(kw_only=True, slots=True)
class _Entry(Generic[T, R]):
    content: T
    #: What the write returns.
    answer: asyncio.Future[R]


class BatchWriter(Generic[T, R]):
    """Collects entries while others are being written.

    *write* writes a batch in one transaction, and returns an answer for each entry.  Two entries
    with the same *key* are written one after the other, and those of a batch in the order of their
    keys, so that two processes don't wait for each other's rows.  A batch has *most* entries, and
    waits for further ones for *delay* seconds.
    """

    def __init__(
        self,
        write: Callable[[list[T]], Awaitable[list[R]]],
        *,
        key: Callable[[T], Any] | None = None,
        delay: float = 0.0,
        most: int = 50,
    ) -> None:
        self._write = write
        self._key = key
        self._delay = delay
        self._most = most
        self._waiting: list[_Entry[T, R]] = []
        self._task: asyncio.Task[None] | None = None

    async def store(self, content: T) -> R:
        """Return the answer for *content*, once that is on the disk."""
        entry: _Entry[T, R] = _Entry(
            content=content, answer=asyncio.get_running_loop().create_future()
        )
        self._waiting.append(entry)
        if self._task is None or self._task.done():
            # It begins after this turn of the loop, with all that the turn brings.
            self._task = asyncio.create_task(self._write_all(), name="write batches")
        return await entry.answer

    async def close(self) -> None:
        """Write what waits."""
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def _write_all(self) -> None:
        while self._waiting:
            if self._delay and len(self._waiting) < self._most:
                await asyncio.sleep(self._delay)
            if some := self._take():
                await self._write_some(some)

    def _take(self) -> list[_Entry[T, R]]:
        """Return the next entries, without those for whose answer nobody waits any more."""
        wanted = [entry for entry in self._waiting if not entry.answer.done()]
        if self._key is None:
            self._waiting = wanted[self._most :]
            return wanted[: self._most]
        taken: dict[Any, _Entry[T, R]] = {}
        self._waiting = []
        for entry in wanted:
            key = self._key(entry.content)
            if key in taken or len(taken) >= self._most:
                self._waiting.append(entry)
            else:
                taken[key] = entry
        return [taken[key] for key in sorted(taken)]

    async def _write_some(self, entries: list[_Entry[T, R]]) -> None:
        try:
            answers = await self._write([entry.content for entry in entries])
        except Exception as error:
            if len(entries) > 1 and not isinstance(error, (StoreBusy, StoreUnavailable)):
                # One of them can't be stored: the others must not suffer.
                for entry in entries:
                    await self._write_some([entry])
                return
            for entry in entries:
                if not entry.answer.done():
                    entry.answer.set_exception(error)
            return
        for entry, answer in zip(entries, answers, strict=True):
            if not entry.answer.done():
                entry.answer.set_result(answer)
