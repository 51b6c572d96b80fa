"""The aiohttp handler of an operation: decodes the request, runs the operation and encodes its result."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from scenarioctl.application import Application
from scenarioctl.errors import BadJson, InvalidRequest, TooLarge, shorten
from scenarioctl.formats.documents import parse_json
from scenarioctl.operations.results import Result
from scenarioctl.server.bodies import (
    LARGE,
    LARGE_AT_ONCE,
    LargeBody,
    ask_for_body,
    check_type,
    read_body,
)
from scenarioctl.server.context import CLIENT, ServerContext
from scenarioctl.server.decoding import decoder_of, read_pairs
from scenarioctl.server.endpoints import Endpoint, find_handler
from scenarioctl.server.limits import Turn
from scenarioctl.server.responses import JSON, encode, encode_large, encode_portions, write_sentences
from scenarioctl.server.streams import send, sending


class OperationHandler:
    """Answers the requests of one row of ENDPOINTS."""

    def __init__(self, row: Endpoint, context: ServerContext) -> None:
        self._row = row
        self._context = context
        self._operation, request_type = find_handler(row)
        self._decoder = decoder_of(row, request_type)
        #: Check that can refuse a request before its body is read.
        self._admit: Callable[[Application, Mapping[str, str]], Awaitable[None]] | None = getattr(
            request_type, "admit", None
        )

    async def answer(self, request: web.Request) -> web.StreamResponse:
        context, limit = self._context, self._body_limit
        if self._admit is not None:
            await self._admit(context.app, request.match_info)
        check_type(request, present=request.body_exists)
        length = request.content_length or 0
        if length > limit:
            raise TooLarge(f"the body has {length} bytes; the limit is {limit}")
        ask_for_body(request)
        body, is_large = b"", length > LARGE
        if not is_large:
            body, is_large = await read_body(request, body, min(limit, LARGE), context.limits.seconds)
        turn = context.turn(request, waits=self._row.waits)
        if not is_large:
            return await self._respond(request, body, turn)
        most = LARGE_AT_ONCE * context.app.settings.body_limit
        with LargeBody(context.bodies, most, client=request[CLIENT]) as coming:
            body, is_too_large = await read_body(request, body, limit, context.limits.seconds, coming=coming)
            if is_too_large:
                raise TooLarge(f"the body has more than the limit of {limit} bytes")
            async with turn.costly():
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
        result = await self._perform(self._decoder.decode(fields, request.match_info), turn)
        headers = {}
        for name, sentences in (
            ("Scenarioctl-Notes", result.notes),
            ("Scenarioctl-Warnings", result.warnings),
        ):
            if sentences:
                headers[name] = write_sentences(tuple(sentences))
        answer = result.answer
        if result.rest is not None:
            return await self._send_portions(request, result, headers)
        if result.large:
            async with turn.costly(begun=True):
                encoded = await self._context.app.aside(encode_large, answer)
        else:
            encoded = encode(answer)
        return web.Response(body=encoded, headers=headers, content_type=JSON)

    async def _send_portions(
        self, request: web.Request, result: Result[Any], headers: Mapping[str, str]
    ) -> web.StreamResponse:
        """Send an answer while its portions are read, so that no more than two of them are in memory."""
        response = web.StreamResponse(headers=headers)
        response.content_type = JSON
        async with sending(request, response):
            if request.method != "HEAD":
                async for part in encode_portions(result, self._context.app.aside):
                    await send(response, part)
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
                f"the query string {shorten(query)} is not allowed here; send the fields in a JSON body"
            )
        return self._decoder.join(self._decoder.read_query(read_pairs(query)), fields)

    async def _perform(self, decoded: Any, turn: Turn) -> Any:
        await turn.enter()
        if self._row.scope == "read":
            return await self._run(decoded, turn)
        # A write that waits for a slot is dropped if its client disconnects. A write that has begun finishes.
        return await self._context.finish(self._run(decoded, turn))

    async def _run(self, decoded: Any, turn: Turn) -> Any:
        try:
            async with self._context.app.session() as session:
                session.costly = turn.costly
                return await self._operation(session, decoded)
        finally:
            turn.leave()
