"""Work beside the event loop: what would hold it longer than it may be held, 50 ms."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """So many threads; what waits for one waits on the loop, so that it is gone once nobody waits for it."""

    def __init__(self, at_once: int, *, name: str) -> None:
        self._executor = ThreadPoolExecutor(at_once, thread_name_prefix=name)
        self._turns = asyncio.Semaphore(at_once)

    async def run(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Return what *work* returns.  Work that has begun goes on to its end, and keeps its thread until then."""
        loop = asyncio.get_running_loop()
        await self._turns.acquire()

        def end(_: "Future[T]") -> None:
            # The loop may be closed by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._turns.release)

        try:
            future = self._executor.submit(work, *args, **kwargs)
        except BaseException:
            self._turns.release()
            raise
        future.add_done_callback(end)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Begin nothing any more."""
        self._executor.shutdown(wait=False, cancel_futures=True)
