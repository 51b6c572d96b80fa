"""What a worker does again and again beside its runs, and what must not end it if it fails."""

import logging
from collections.abc import Awaitable, Callable

from scenarioctl.errors import ScenarioctlError

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
