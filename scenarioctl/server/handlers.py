"""What the handlers of both HTTP servers share; and that of an operation: decodes the request, runs
it and encodes its result."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import web

from scenarioctl.application import Application
from scenarioctl.errors import BadJson, InvalidRequest, ScenarioctlError, shorten
from scenarioctl.formats.documents import parse_json
from scenarioctl.model.request_fields import naming_fields
from scenarioctl.operations import find_handler
from scenarioctl.operations.results import Result
from scenarioctl.operations.stored_names import perform
from scenarioctl.server.access import Access
from scenarioctl.server.bodies import (
    JSON,
    LARGE,
    Limits,
    Turn,
    check_type,
    encode,
    encode_portions,
    reading,
    write_header,
    write_sentences,
)
from scenarioctl.server.decoding import Decoder, read_pairs
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.metrics import Metrics
from scenarioctl.server.streams import Follower, sending

if TYPE_CHECKING:
    from scenarioctl.worker.worker import Worker


log = logging.getLogger("scenarioctl.http")

T = TypeVar("T")

#: A row of the table of endpoints or pages, and the aiohttp handler that answers its paths.
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Route = tuple[Endpoint, Handler]


@dataclass(kw_only=True)
class ServerContext:
    """The application, the limits in force, and the state of both servers."""

    app: Application
    access: Access
    limits: Limits
    metrics: Metrics
    follower: Follower
    role: str
    endpoints: tuple[Endpoint, ...]
    worker: "Worker | None" = None
    #: The daemon is stopping: `/readyz` answers 503, and each response closes its connection.
    is_stopping: bool = False
    #: Writes in progress, including those whose client has disconnected.
    writes: set["asyncio.Task[Any]"] = field(default_factory=set)

    def is_busy(self) -> bool:
        """Tell whether requests or writes are in progress."""
        return bool(self.metrics.under_way or self.writes)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of *work*, which finishes even if the client disconnects."""
        task = asyncio.create_task(work)
        self.writes.add(task)
        task.add_done_callback(self.writes.discard)
        try:
            # Canceling this wait does not cancel the task.
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.add_done_callback(_log_failure)
            raise
        return task.result()


def _log_failure(task: "asyncio.Task[Any]") -> None:
    """Log a bug in a write whose client has disconnected."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, ScenarioctlError):
        log.error("bug in a write whose client has disconnected", exc_info=error)


class OperationHandler:
    """Answers the requests of one row of ENDPOINTS."""

    def __init__(self, row: Endpoint, context: ServerContext) -> None:
        self._row = row
        self._context = context
        self._operation, request_type = find_handler(row.operation)
        self._decoder = Decoder(request_type, in_path=row.in_path)
        #: Check that can refuse a request before its body is read.
        self._admit: Callable[[Application, Mapping[str, str]], Awaitable[None]] | None = getattr(
            request_type, "admit", None
        )

    async def answer(self, request: web.Request) -> web.StreamResponse:
        context, limit = self._context, self._body_limit
        if self._admit is not None:
            with naming_fields(self._decoder.request_type, request.match_info):
                await self._admit(context.app, request.match_info)
        check_type(request, present=request.body_exists)
        turn = Turn(context.limits)
        async with (
            reading(request, limit, context.limits) as body,
            # Once parsed, a large one may take many times its size.
            turn.costly() if len(body) > LARGE else nullcontext(),
        ):
            return await self._respond(request, body, turn)

    @property
    def _body_limit(self) -> int:
        """Return the limit of a body in bytes; a reload may change it."""
        settings = self._context.app.settings
        if self._decoder.whole_body:
            return settings.webhook_limit
        # A run may take hours, and would occupy a slot for large bodies all the time.
        return min(settings.body_limit, LARGE) if self._row.scope == "jobs" else settings.body_limit

    async def _respond(self, request: web.Request, body: bytes, turn: Turn) -> web.StreamResponse:
        fields = await self._read_fields(request, body)
        decoder, parameters = self._decoder, {**request.match_info}
        if decoder.whole_body:
            parameters |= {
                name: request.headers[name] for name in decoder.given if name in request.headers
            }
        with naming_fields(decoder.request_type, fields, in_sentence=True):
            work = self._run(decoder.decode(fields, parameters), turn)
            is_read = self._row.scope == "read"
            result = await (work if is_read else self._context.finish(work))
        headers = {}
        for name, sentences in (
            ("Scenarioctl-Notes", result.notes),
            ("Scenarioctl-Warnings", result.warnings),
        ):
            if sentences:
                headers[name] = write_sentences(tuple(sentences))
        if result.ids:
            headers["Scenarioctl-Ids"] = write_header(result.ids)
        if result.rest is not None:
            return await self._send_portions(request, result, headers)
        return web.Response(body=encode(result.answer), headers=headers, content_type=JSON)

    async def _send_portions(
        self, request: web.Request, result: Result[Any], headers: Mapping[str, str]
    ) -> web.StreamResponse:
        """Send an answer while its portions are read, so that no more than two of them are in
        memory."""
        response = web.StreamResponse(headers=headers)
        response.content_type = JSON
        async with sending(request, response):
            if request.method != "HEAD":
                async for part in encode_portions(result):
                    await response.write(part)
        return response

    async def _read_fields(self, request: web.Request, body: bytes) -> Any:
        """Return the fields in the body and the query string."""
        limit = self._body_limit
        if not body and self._decoder.whole_body:
            raise BadJson("the body is empty, expected JSON")
        if not body:
            fields: Any = {}
        elif len(body) <= LARGE:
            fields = parse_json(body, field="the body", limit=limit)
        else:
            fields = await self._context.app.aside(parse_json, body, field="the body", limit=limit)
        query = request.rel_url.raw_query_string
        if not query:
            return fields
        if self._row.method != "GET":
            raise InvalidRequest(
                f"the query string {shorten(query)} is not allowed here; send the fields "
                "in a JSON body"
            )
        return self._decoder.join(self._decoder.read_query(read_pairs(query)), fields)

    async def _run(self, decoded: Any, turn: Turn) -> Any:
        async with self._context.app.session() as session:
            session.costly = turn.costly
            return await perform(session, self._operation, decoded)
