"""Requests of http steps, tried again where that may help."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scenarioctl.errors import RequestFailed
from scenarioctl.outgoing import WebAnswer, WebRequest
from scenarioctl.outgoing.failures import AttemptFailed
from scenarioctl.outgoing.guard import Guard

if TYPE_CHECKING:
    from scenarioctl.outgoing.metering import RoundRobin

Sleep = Callable[[float], Awaitable[None]]

#: May be sent again, since twice is as good as once.
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})

#: Requests under way at once; further ones wait.
_REQUESTS = 500
#: Names that are looked up at once.  Threads of our own: a name server that hangs delays nothing but names.
_LOOKUPS = 16
#: Seconds before the second try; twice as many before each further one.
_PAUSE = 0.5
#: The longest that a server may ask to be left alone before a further try.
_LONGEST_PAUSE = 60
#: Characters of a part of a path that may be a secret.
_SECRET = 16


class Outgoing:
    """The way to web servers, kept away from private networks but those in *private_targets*.

    Each request has a connection of its own, without cookies, proxies or what the environment says of them; a redirect is
    not followed, since it could lead anywhere.
    """

    def __init__(self, *, private_targets: Sequence[str] = ()) -> None:
        self._guard = Guard(private_targets)
        self._lookups: ThreadPoolExecutor | None = None
        self._places: asyncio.Semaphore | None = None
        self._round_robin: RoundRobin | None = None

    async def send(self, request: WebRequest, *, sleep: Sleep = asyncio.sleep) -> WebAnswer:
        """Return the answer, or raise RequestFailed: a status of 300 and above is a failure too, and so is one below 200.

        Idempotent methods are tried again where that may help, others only where no connection was made.
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
                    times = "" if tries == 1 else f", at the last of {tries} tries"
                    raise RequestFailed(f"{failed}{times}") from None
                pause = failed.pause
                if pause is None:
                    # Scenarios that failed together do not come back together.
                    pause = min(_PAUSE * 2 ** (tries - 1), _LONGEST_PAUSE) * random.uniform(0.75, 1.25)  # noqa: S311
                elif pause > _LONGEST_PAUSE:
                    raise RequestFailed(f"{failed}, and asks to be left alone for {pause:.0f} s") from None
            else:
                milliseconds = round((time.monotonic() - started) * 1000)
                return WebAnswer(
                    status=status, headers=headers, body=body, milliseconds=milliseconds, tries=tries
                )
            await sleep(pause)

    async def close(self) -> None:
        """Let go of the threads that look up names."""
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
    """Return host, port and path of *url*, as far as they may be logged.

    Secrets stand in headers, queries and bodies, and with many services in the path: what looks like one is left out.
    """
    parts = urlsplit(url)
    path = "/".join("…" if _is_secret(part) else part for part in (parts.path or "/").split("/"))
    return f"{parts.netloc.rpartition('@')[2]}{path}"


def _is_secret(part: str) -> bool:
    """Tell whether a *part* of a path is long, and no word or words: a key, an id, an address."""
    if len(part) < _SECRET:
        return False
    is_mixed = part != part.lower() and part != part.upper()
    return is_mixed or any(letter.isdigit() for letter in part)
