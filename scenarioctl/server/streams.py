"""Server-sent events: log lines and drafts of jobs (`/job/events`), and a sent transaction on its
way (`/api/tx/events`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, RateLimited, ScenarioctlError
from scenarioctl.model.amounts import read_digits, read_number
from scenarioctl.model.json_types import timestamp
from scenarioctl.model.request_fields import OwnJobName, naming_fields
from scenarioctl.operations.job_runs import check_cursor, refuse_lost
from scenarioctl.operations.jobs import describe_entry
from scenarioctl.operations.sent_records import read_marks
from scenarioctl.operations.stored_names import find_scenario
from scenarioctl.operations.transaction_status import (
    TransactionStatus,
    describe_status,
    examine,
    is_settled,
    read_hash,
)
from scenarioctl.server.access import Access
from scenarioctl.server.bodies import encode
from scenarioctl.server.decoding import Decoder, read_pairs
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.metrics import Metrics

log = logging.getLogger("scenarioctl.http")

#: Limit of open streams.
STREAMS = 100
#: Seconds between polls of the store, for all streams together.
_PAUSE = 0.2
#: Seconds of silence after which a stream sends a comment as keep-alive.
_HEARTBEAT = 15.0
#: Largest value of `tail`.
TAIL_MAX = 10_000
#: Lines and drafts read and sent at a time, which bounds the memory that a slow client takes.
PORTION = 200
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    # Turns off buffering in nginx.
    "X-Accel-Buffering": "no",
}
#: What one client of a stream gets, in portions: an empty one if there is no news.
News = AsyncGenerator[bytes, None]


@dataclass(frozen=True, kw_only=True)
class FollowJobs:
    """Follow the log lines and drafts of jobs."""

    #: Only of this job; of all jobs if left out.
    id: OwnJobName | None = None
    #: Start after the event with this id, or `now`; at the beginning if left out.
    after: str = ""
    #: Start with this many of the newest lines and of the newest drafts, at most 10000; with all if
    #: left out. `after` takes precedence.
    tail: str | int = ""


class Follower:
    """Polls the store for all streams together, only while there are streams."""

    def __init__(self, app: Application, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics
        self._polling: asyncio.Task[None] | None = None
        #: Set when the store changes, and replaced then.
        self.changed = asyncio.Event()
        self.closed = False

    def close(self) -> None:
        """End all streams and refuse new ones."""
        self.closed = True
        self._wake()

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Count a stream; raise RateLimited if there are too many."""
        if self.closed or self._metrics.streams >= STREAMS:
            reason = (
                "the daemon is stopping"
                if self.closed
                else f"{STREAMS} event streams are already open"
            )
            raise RateLimited(f"{reason}; try again in 5 seconds", details={"retry_after": 5})
        self._metrics.streams += 1
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
        try:
            yield
        finally:
            self._metrics.streams -= 1
            if not self._metrics.streams:
                self._polling.cancel()
                self._polling = None

    async def _poll(self) -> None:
        reason, token = "", None
        while True:
            try:
                found = await self.app.store.change_token()
                reason = ""
            except ScenarioctlError as error:
                # Streams stay open while the store is locked; /readyz reports a lasting problem.
                found = None
                if reason != (reason := str(error)):
                    log.warning("event streams cannot read changes of the store: %s", error)
            if found is None or found != token:
                token = found
                self._wake()
            await asyncio.sleep(_PAUSE)

    def _wake(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class EventStream:
    """The handler of a path with server-sent events, of one topic."""

    def __init__(self, row: Endpoint, follower: Follower, access: Access) -> None:
        self._row = row
        self._follower = follower
        self._access = access
        asked, self._begin = TOPICS[row.operation]
        self._decoder = Decoder(asked)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        fields = self._decoder.read_query(read_pairs(request.rel_url.raw_query_string))
        response = web.StreamResponse(headers=_HEADERS)
        with self._follower.stream():
            changed = self._follower.changed
            with naming_fields(self._decoder.request_type, fields, in_sentence=True):
                asked = self._decoder.decode(fields, {})
                news = self._begin(self._follower.app, asked, request.headers)
                # What can't be answered is reported before the stream begins.
                first = await anext(news)
            async with aclosing(news), sending(request, response):
                if request.method != "HEAD":
                    await self._follow(request, response, news, first, changed)
                response.force_close()
        return response

    async def _follow(
        self,
        request: web.Request,
        response: web.StreamResponse,
        news: News,
        said: bytes | None,
        changed: asyncio.Event,
    ) -> None:
        follower, tokens = self._follower, self._access.tokens
        clock = asyncio.get_running_loop().time
        await response.write(b"retry: 2000\n\n")
        spoke = clock()
        while said is not None and not follower.closed:
            if not said and clock() >= spoke + _HEARTBEAT:
                # Changes of which this client hears nothing are silence, too.
                said = b": alive\n\n"
            if said:
                await response.write(said)
                spoke = clock()
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(min(spoke + _HEARTBEAT, clock() + _BLOCK_TIME)):
                        await changed.wait()
            if tokens is not self._access.tokens:
                # A reload changed the tokens; this client's may have been revoked.
                self._access.admit(request, self._row)
                tokens = self._access.tokens
            # Take the event before reading, so that no change in between is missed.
            changed = follower.changed
            said = await anext(news, None)


async def follow_jobs(app: Application, asked: FollowJobs, headers: Mapping[str, str]) -> News:
    """Begin where *asked* says; NotFound for an unknown job, InvalidRequest or StaleCursor for an
    event id."""
    store, given = app.store, headers.get("Last-Event-ID", "") or asked.after
    tail = 0 if given == "now" else _read_tail(asked.tail)
    job = asked.id and await find_scenario(app, asked.id, field="id")
    told, drafted = 0, 0
    if given not in ("", "now"):
        told, drafted = read_position(given)
        await refuse_lost(app, "log_lines", told, given=given)
        await refuse_lost(app, "mempool", drafted, given=given)
    elif tail is not None:
        told, drafted = await store.find_tail(job, lines=tail, entries=tail)
    while True:
        parts: list[bytes] = []
        lines = await store.read_log(job, after=told, limit=PORTION)
        if lines:
            # A failover ends the stream: the client comes again, and gets the error.
            await check_cursor(app, "log_lines", told, lines)
        for line in lines:
            told = line.seq
            said = {"id": line.job, "date": timestamp(line.written), "text": line.text}
            parts.append(_write_event("log", said, id=f"{told}.{drafted}"))
        entries = await store.read_mempool(job, after=drafted, limit=PORTION)
        if entries:
            await check_cursor(app, "mempool", drafted, entries)
        marks, now = await read_marks(app, entries), app.clock()
        for entry in entries:
            drafted = entry.seq
            draft = describe_entry(entry, now=now, sent=marks.get(drafted))
            parts.append(
                _write_event("mempool", {"id": entry.job, **draft}, id=f"{told}.{drafted}")
            )
        yield b"".join(parts)


def read_position(text: str) -> tuple[int, int]:
    """Return the last log line and draft that a client has received, from the id of an event."""
    parts = text.split(".")
    numbers = [number for part in parts if (number := read_digits(part, longest=18)) is not None]
    if len(parts) == len(numbers) == 2:
        return numbers[0], numbers[1]
    raise InvalidRequest(
        field="after", value=text, problem="is not an event id", expected="one like 17.4, or now"
    )


def _read_tail(value: str | int) -> int | None:
    """Return the number of newest rows to start with; None for all."""
    if value == "":
        return None
    return read_number(
        value, field="tail", kind="a number of lines", expected=f"0 to {TAIL_MAX}", most=TAIL_MAX
    )


def _write_event(kind: str, said: Mapping[str, Any], *, id: str = "") -> bytes:
    # Compact JSON has no line breaks, so one data line is enough.
    head = f"event: {kind}\n" + (f"id: {id}\n" if id else "")
    return head.encode() + b"data: " + encode(said) + b"\n\n"


@asynccontextmanager
async def sending(request: web.Request, response: web.StreamResponse) -> AsyncIterator[None]:
    """Begin *response*, and end it after the block; disconnect the client if the block fails, which
    it can't be told."""
    await response.prepare(request)
    try:
        yield
        await response.write_eof()
        return
    except ConnectionError:
        # The client has disconnected.
        pass
    except ScenarioctlError as error:
        # It asks again, and gets the error as a response.
        log.warning("a response was broken off: %s", error)
    except Exception:
        log.exception("bug in a response that had begun")
    if request.transport is not None:
        request.transport.abort()


#: Seconds between two questions to the chain: the time of a block on most chains.
_BLOCK_TIME = 6.0
#: The same for a transaction that neither the store nor the chain knows: it is searched for anew
#: each time.
_UNKNOWN_PAUSE = 60.0


async def follow_transaction(
    app: Application,
    asked: TransactionStatus,
    headers: Mapping[str, str],  # noqa: ARG001 - as the topics are called
) -> News:
    """Tell what the store and the chain say of a transaction, until that can't change any more."""
    chain, hash = app.registry.find(asked.chain), read_hash(asked.hash)
    clock, found, told = asyncio.get_running_loop().time, None, b""
    while found is None or not is_settled(found):
        async with app.session() as session:
            found, warnings = await examine(session, chain, hash, found)
        due = clock() + (_UNKNOWN_PAUSE if found is None else _BLOCK_TIME)
        said: dict[str, Any] = describe_status(chain, hash, found) | {"warnings": list(warnings)}
        event = _write_event("status", said)
        yield b"" if event == told else event
        told = event
        while clock() < due and not (found is not None and is_settled(found)):
            yield b""


#: Operation of a page -> its request, and its topic.
TOPICS: Mapping[str, tuple[type, Callable[[Application, Any, Mapping[str, str]], News]]] = {
    "events": (FollowJobs, follow_jobs),
    "transaction_events": (TransactionStatus, follow_transaction),
}
