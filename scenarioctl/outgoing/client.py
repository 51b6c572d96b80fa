"""Sends the requests of http steps and notifications, and retries them if that may help."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scenarioctl.errors import RequestFailed
from scenarioctl.outgoing import AttemptFailed, WebAnswer, WebRequest
from scenarioctl.outgoing.guard import Guard
from scenarioctl.retries import delay_after

if TYPE_CHECKING:
    from scenarioctl.outgoing.metering import RoundRobin

Sleep = Callable[[float], Awaitable[None]]

#: Methods that are safe to retry.
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})

#: Requests in progress at once; others wait.
_REQUESTS = 500
#: DNS lookups at once. They have their own threads, so that a slow name server delays only lookups.
_LOOKUPS = 16
#: Seconds before the second try, doubled before each further try.
_PAUSE = 0.5
#: The longest pause in seconds that a server may ask for.
_LONGEST_PAUSE = 60
#: Length from which a part of a path may be a secret.
_SECRET = 16


class Outgoing:
    """The HTTP client of http steps, or of notifications, which reaches no private networks except those in *private_targets*.

    Each request has its own connection, without cookies, and ignores proxy settings of the environment. Redirects are
    not followed.
    """

    def __init__(self, *, private_targets: Sequence[str] = ()) -> None:
        self._guard = Guard(private_targets)
        self._lookups: ThreadPoolExecutor | None = None
        self._places: asyncio.Semaphore | None = None
        self._round_robin: RoundRobin | None = None

    async def send(self, request: WebRequest, *, sleep: Sleep = asyncio.sleep) -> WebAnswer:
        """Return the answer, or raise RequestFailed, also for every status outside 200 to 299.

        Idempotent methods are retried after temporary failures, other methods only if no connection was made.
        """
        if self._places is None:
            self._places = asyncio.Semaphore(_REQUESTS)
        started = time.monotonic()
        tries = 0
        while True:
            tries += 1
            try:
                async with self._places:
                    status, headers, body = await self._try(request)
            except AttemptFailed as failed:
                again = failed.passing and (request.method in IDEMPOTENT or not failed.sent)
                if not again or tries > request.retries:
                    times = "" if tries == 1 else f" (after {tries} tries)"
                    raise RequestFailed(f"{failed}{times}") from None
                pause = failed.pause
                if pause is None:
                    pause = delay_after(tries, first=_PAUSE, longest=_LONGEST_PAUSE, jitter=True)
                elif pause > _LONGEST_PAUSE:
                    raise RequestFailed(f"{failed} and asks to wait {pause:.0f} s") from None
            else:
                milliseconds = round((time.monotonic() - started) * 1000)
                return WebAnswer(
                    status=status, headers=headers, body=body, milliseconds=milliseconds, tries=tries
                )
            await sleep(pause)

    async def close(self) -> None:
        """Stop the threads for DNS lookups."""
        if self._lookups is not None:
            self._lookups.shutdown(wait=False, cancel_futures=True)
            self._lookups = None

    async def _try(self, request: WebRequest) -> tuple[int, dict[str, str], Any]:
        from scenarioctl.outgoing.attempt import Attempt
        from scenarioctl.outgoing.metering import RoundRobin

        if self._round_robin is None:
            self._round_robin = RoundRobin()
        if self._lookups is None:
            self._lookups = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="outgoing")
        host = place_of(request.url).partition("/")[0]
        return await Attempt(request, host, self._guard, self._round_robin, self._lookups).send()


def place_of(url: str) -> str:
    """Return host, port and path of *url* for the log.

    The path of many services holds a secret: a part that looks like one becomes `…`. The query is left out.
    """
    parts = urlsplit(url)
    path = "/".join("…" if _is_secret(part) else part for part in (parts.path or "/").split("/"))
    return f"{parts.netloc.rpartition('@')[2]}{path}"


def _is_secret(part: str) -> bool:
    """Tell whether a *part* of a path looks like a key, an id or an address: long, with digits or mixed case."""
    if len(part) < _SECRET:
        return False
    is_mixed = part != part.lower() and part != part.upper()
    return is_mixed or any(letter.isdigit() for letter in part)
