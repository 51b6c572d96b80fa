"""What a worker does again and again beside its runs, and what must not end it if it fails."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from scenarioctl.errors import ScenarioctlError
from scenarioctl.retries import delay_after
from scenarioctl.worker.counts import Counts
from scenarioctl.worker.pace import Pace

log = logging.getLogger("scenarioctl.worker")


async def repeat(
    chore: Callable[[], Awaitable[None]],
    seconds: float,
    *,
    sleep: Callable[[float], Awaitable[None]],
    first: float | None = None,
) -> None:
    """Do *chore* every so many seconds, for the first time after *first*."""
    await sleep(seconds if first is None else first)
    while True:
        await guard(chore, "a chore of the worker failed")
        await sleep(seconds)


async def guard(action: Callable[[], Awaitable[None]], trouble: str) -> None:
    """Do what is tried again later if it fails; *trouble* says in the log what has failed then."""
    try:
        await action()
    except ScenarioctlError as error:
        log.error("%s: %s", trouble, error)  # noqa: TRY400 - nothing to trace, the sentence says it
    except Exception:
        log.exception(trouble)


@dataclass(kw_only=True)
class Attempts:
    """Attempts at the store: each that fails is counted and logged as *trouble*, and delays the next one."""

    trouble: str
    pace: Pace
    counts: Counts
    level: int = logging.ERROR
    #: Failures in a row.
    failures: int = 0

    def failed(self, error: BaseException | str) -> float:
        """Return the seconds until the next attempt."""
        self.counts.store_errors += 1
        self.failures += 1
        delay = delay_after(self.failures, first=self.pace.retry, longest=self.pace.patience)
        log.log(self.level, "%s; retrying in %.1f s: %s", self.trouble, delay, error)
        return delay
