"""Server-sent events: log lines and drafts of jobs (`/job/events`), and a sent transaction on its
way (`/api/tx/events`).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from aiohttp import web

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, RateLimited, ScenarioctlError
from scenarioctl.model.amounts import read_digits, read_number
from scenarioctl.model.request_fields import OwnJobName, naming_fields
from scenarioctl.operations.stored_names import find_scenario
from scenarioctl.operations.transaction_status import (
    TransactionStatus,
    describe_status,
    examine,
    is_settled,
    read_hash,
)
from scenarioctl.server.access import Access
from scenarioctl.server.decoding import Decoder, read_pairs
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.metrics import Metrics
from scenarioctl.server.responses import encode

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.jobs import SentTransaction


log = logging.getLogger("scenarioctl.http")

#: Limit of open streams.
STREAMS = 100
#: Seconds between polls of the store, for all streams together.
_PAUSE = 0.2
#: Seconds of silence after which a stream sends a comment as keep-alive.
_HEARTBEAT = 15.0
#: Seconds after which a client that doesn't read is disconnected.
PATIENCE = 60.0
#: Largest value of `tail`.
TAIL_MAX = 10_000
#: Lines and drafts read and sent at a time, which bounds the memory that a slow client takes.
PORTION = 200
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    # Turns off buffering in nginx.
    "X-Accel-Buffering": "no",
}


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
        self._looking: asyncio.Task[None] | None = None
        self._token: str | None = None
        self._changed = asyncio.Event()
        self.closed = False
        #: What the streams wait for.
        self.awaited: WeakSet[asyncio.Event] = WeakSet()
        #: Called when all streams end.
        self.on_close: list[Callable[[], None]] = []

    def close(self) -> None:
        """End all streams and refuse new ones."""
        self.closed = True
        for event in tuple(self.awaited):
            event.set()
        for tell in self.on_close:
            tell()
        if self._looking is not None:
            self._looking.cancel()

    def enter(self) -> None:
        """Count a stream; raise RateLimited if there are too many."""
        if self.closed or self._metrics.streams >= STREAMS:
            reason = (
                "the daemon is stopping"
                if self.closed
                else f"{STREAMS} event streams are already open"
            )
            raise RateLimited(f"{reason}; try again in 5 seconds", details={"retry_after": 5})
        self._metrics.streams += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._keep_looking())

    def leave(self) -> None:
        self._metrics.streams -= 1
        if not self._metrics.streams and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def mark(self) -> asyncio.Event:
        """Return an event that is set when the store changes after this call."""
        return self._changed

    async def _keep_looking(self) -> None:
        reason = ""
        while True:
            try:
                await self._look()
                reason = ""
            except ScenarioctlError as error:
                if reason != (reason := str(error)):
                    log.warning("event streams cannot read changes of the store: %s", error)
            except Exception:
                log.exception("bug while polling the store for changes")
            await asyncio.sleep(_PAUSE)

    async def _look(self) -> None:
        token = None
        try:
            token = await self.app.store.change_token()
        finally:
            # Streams stay open while the store is locked; /readyz reports a lasting problem.
            if token != self._token or token is None:
                self._token = token
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()


class Topic(Protocol):
    """What one client of a stream has received, and what it gets next."""

    #: There won't be any more news.
    ended: bool

    def mark(self) -> asyncio.Event:
        """Return an event that is set when there may be news after this call."""

    async def read(self) -> bytes:
        """Return a portion of the news, which counts as received; empty if there are none."""


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
        with naming_fields(self._decoder.request_type, fields, in_sentence=True):
            asked = self._decoder.decode(fields, {})
            # What can't be answered is reported before the stream begins.
            topic = await self._begin(self._follower, asked, request.headers)
        response = web.StreamResponse(headers=_HEADERS)
        self._follower.enter()
        try:
            async with sending(request, response):
                if request.method != "HEAD":
                    await self._follow(request, response, topic)
                response.force_close()
        finally:
            self._follower.leave()
        return response

    async def _follow(
        self, request: web.Request, response: web.StreamResponse, topic: Topic
    ) -> None:
        follower, tokens = self._follower, self._access.tokens
        clock = asyncio.get_running_loop().time
        await send(response, b"retry: 2000\n\n")
        spoke = clock()
        while not (follower.closed or topic.ended):
            if tokens is not self._access.tokens:
                # A reload changed the tokens; this client's may have been revoked.
                self._access.admit(request, self._row)
                tokens = self._access.tokens
            # Take the event before reading, so that no change in between is missed.
            changed = topic.mark()
            follower.awaited.add(changed)
            said = await topic.read()
            if not said:
                try:
                    # Changes of which this client hears nothing are silence, too.
                    async with asyncio.timeout_at(spoke + _HEARTBEAT):
                        await changed.wait()
                    continue
                except TimeoutError:
                    said = b": alive\n\n"
            await send(response, said)
            spoke = clock()


async def follow_jobs(follower: Follower, asked: FollowJobs, headers: Mapping[str, str]) -> Topic:
    """Begin where *asked* says; NotFound for an unknown job, InvalidRequest or StaleCursor for an
    event id."""
    from scenarioctl.operations.job_runs import refuse_lost

    given = headers.get("Last-Event-ID", "") or asked.after
    tail = _read_tail(asked.tail)
    app, store = follower.app, follower.app.store
    job = asked.id and await find_scenario(app, asked.id, field="id")
    newest = 0 if given == "now" else None if given else tail
    if newest is not None:
        line, entry = await store.find_tail(job, lines=newest, entries=newest)
        return _FollowedJobs(follower, job, Position(log=line, mempool=entry))
    position = read_position(given)
    await store.read_log(job, after=position.log, limit=1)
    await refuse_lost(app, "log_lines", position.log, given=position)
    await refuse_lost(app, "mempool", position.mempool, given=position)
    return _FollowedJobs(follower, job, position)


class _FollowedJobs:
    ended = False

    def __init__(self, follower: Follower, job: str | None, position: "Position") -> None:
        self.mark = follower.mark
        self._app = follower.app
        self._job = job
        self._position = position

    async def read(self) -> bytes:
        from scenarioctl.model.json_types import timestamp
        from scenarioctl.operations.job_runs import check_cursor
        from scenarioctl.operations.jobs import describe_entry
        from scenarioctl.operations.sent_records import read_marks

        app, job, position = self._app, self._job, self._position
        parts: list[bytes] = []
        lines = await app.store.read_log(job, after=position.log, limit=PORTION)
        if lines:
            # A failover ends the stream: the client comes again, and gets the error.
            await check_cursor(app, "log_lines", position.log, lines)
        for line in lines:
            position = replace(position, log=line.seq)
            said = {"id": line.job, "date": timestamp(line.written), "text": line.text}
            parts.append(write_event("log", said, id=position))
        now = app.clock()
        entries = await app.store.read_mempool(job, after=position.mempool, limit=PORTION)
        if entries:
            await check_cursor(app, "mempool", position.mempool, entries)
        marks = await read_marks(app, entries)
        for entry in entries:
            position = replace(position, mempool=entry.seq)
            draft = describe_entry(entry, now=now, sent=marks.get(entry.seq))
            parts.append(write_event("mempool", {"id": entry.job, **draft}, id=position))
        self._position = position
        return b"".join(parts)


@dataclass(frozen=True, kw_only=True)
class Position:
    """The last log line and draft that a client has received; `LOG.MEMPOOL` in an event's id."""

    log: int = 0
    mempool: int = 0

    def __str__(self) -> str:
        return f"{self.log}.{self.mempool}"


def read_position(text: str) -> Position:
    """Return the position in an event's id; the beginning for an empty text."""
    if not text:
        return Position()
    parts = text.split(".")
    numbers = [number for part in parts if (number := read_digits(part, longest=18)) is not None]
    if len(parts) == len(numbers) == 2:
        return Position(log=numbers[0], mempool=numbers[1])
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


def write_event(kind: str, said: Mapping[str, Any], *, id: object = "") -> bytes:
    # Compact JSON has no line breaks, so one data line is enough.
    number = b"id: %s\n" % str(id).encode() if id != "" else b""
    return b"event: %s\n%sdata: %s\n\n" % (kind.encode(), number, encode(said))


@asynccontextmanager
async def sending(request: web.Request, response: web.StreamResponse) -> AsyncIterator[None]:
    """Begin *response*, and end it after the block; disconnect the client if the block fails, which
    it can't be told."""
    try:
        await response.prepare(request)
        yield
        await response.write_eof()
        return
    except (ConnectionError, TimeoutError):
        # The client has disconnected or doesn't read.
        pass
    except ScenarioctlError as error:
        # It asks again, and gets the error as a response.
        log.warning("a response was broken off: %s", error)
    except Exception:
        log.exception("bug in a response that had begun")
    if request.transport is not None:
        request.transport.abort()


async def send(response: web.StreamResponse, data: bytes) -> None:
    """Send *data*; TimeoutError if the client doesn't read."""
    async with asyncio.timeout(PATIENCE):
        await response.write(data)


#: Seconds between two questions to the chain: the time of a block on most chains.
_BLOCK_TIME = 6.0
#: The same for a transaction that neither the store nor the chain knows: it is searched for anew
#: each time.
_UNKNOWN_PAUSE = 60.0


async def follow_transaction(
    follower: Follower,
    asked: TransactionStatus,
    headers: Mapping[str, str],  # noqa: ARG001 - as the topics are called
) -> Topic:
    """Begin with what the store and the chain say now."""
    chain, hash = follower.app.registry.find(asked.chain), read_hash(asked.hash)
    topic = _FollowedTransaction(follower.app, chain, hash)
    await topic.look()
    return topic


class _FollowedTransaction:
    ended = False

    def __init__(self, app: Application, chain: "Chain", hash: str) -> None:
        self._app = app
        self._chain = chain
        self._hash = hash
        self._found: SentTransaction | None = None
        self._event = self._told = b""
        #: When the chain is asked next, on the event loop's clock.
        self._due = 0.0

    def mark(self) -> asyncio.Event:
        changed = asyncio.Event()
        asyncio.get_running_loop().call_at(self._due, changed.set)
        return changed

    async def look(self) -> None:
        """Ask the store and the chains."""
        async with self._app.session() as app:
            found, warnings = await examine(app, self._chain, self._hash, self._found)
        self._found = found
        said: dict[str, Any] = describe_status(self._chain, self._hash, found) | {
            "warnings": list(warnings)
        }
        self._event = write_event("status", said)
        pause = _UNKNOWN_PAUSE if found is None else _BLOCK_TIME
        self._due = asyncio.get_running_loop().time() + pause

    async def read(self) -> bytes:
        if self._told and asyncio.get_running_loop().time() >= self._due:
            await self.look()
        told, self._told = self._told, self._event
        self.ended = self._found is not None and is_settled(self._found)
        return b"" if told == self._event else self._event


#: Operation of a page -> its request, and what begins its topic.
TOPICS: Mapping[
    str, tuple[type, Callable[[Follower, Any, Mapping[str, str]], Awaitable[Topic]]]
] = {
    "events": (FollowJobs, follow_jobs),
    "transaction_events": (TransactionStatus, follow_transaction),
}
