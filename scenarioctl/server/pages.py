"""The pages of a server about itself: health, version, metrics, description.

To add a page, add a row to `endpoints.PAGES` and a writer here.
"""

import asyncio
import logging
import platform
from collections.abc import Awaitable, Callable, Set
from functools import partial
from pathlib import PurePath
from time import monotonic
from typing import Any

from aiohttp import web

from scenarioctl import __version__
from scenarioctl.config import is_server
from scenarioctl.errors import InvalidRequest, NotReady, ScenarioctlError, shorten
from scenarioctl.server.context import Route, ServerContext
from scenarioctl.server.endpoints import PAGES
from scenarioctl.server.metrics import CONTENT_TYPE
from scenarioctl.server.responses import JSON, encode
from scenarioctl.server.streams import EventStream, StatusStream, Stream, TransactionStream

log = logging.getLogger("scenarioctl.http")

#: Pages that are streams of events.
_STREAMS: dict[str, type[Stream]] = {
    "events": EventStream,
    "status_events": StatusStream,
    "transaction_events": TransactionStream,
}
#: Seconds since the last heartbeat of a worker after which it counts as stuck.
_HEARTBEAT_TIMEOUT = 10.0
#: Seconds that the store may take to answer.
_STORE_TIMEOUT = 2.0


class PageHandler:
    """Answers one path with the body and content type that *write* returns."""

    def __init__(self, write: Callable[[], Awaitable[tuple[bytes, str]]]) -> None:
        self._write = write

    async def answer(self, request: web.Request) -> web.Response:
        query = request.rel_url.raw_query_string
        if query:
            raise InvalidRequest(f"the query string {shorten(query)} is not allowed here, expected none")
        body, kind = await self._write()
        headers = {"Content-Type": kind}
        if kind.startswith("text/html"):
            from scenarioctl.server.reference import POLICY

            headers["Content-Security-Policy"] = POLICY
            headers["Referrer-Policy"] = "no-referrer"
            headers["X-Frame-Options"] = "DENY"
        return web.Response(body=body, headers=headers)


def page_routes(context: ServerContext, served: Set[str]) -> list[Route]:
    """Return the pages in *served*, with their handlers."""
    description = _Description(context, served)
    writers: dict[str, Callable[[ServerContext], Awaitable[tuple[bytes, str]]]] = {
        "health": _health,
        "readiness": _readiness,
        "version": _version,
        "metrics": _metrics,
        "openapi": description.document,
        "docs": description.page,
    }
    routes: list[Route] = []
    for row in PAGES:
        if row.server not in served:
            continue
        if row.operation in _STREAMS:
            routes.append((row, _STREAMS[row.operation](row, context.follower, context.access).answer))
        else:
            routes.append((row, PageHandler(partial(writers[row.operation], context)).answer))
    return routes


async def _health(context: ServerContext) -> tuple[bytes, str]:
    # The answer itself is the proof.  Anybody may ask, so that only the kind of the store is told.
    settings = context.app.settings
    kind = "postgresql" if is_server(settings.store) else "file"
    origin = settings.origins.get("store", "default")
    return encode({"status": "ok", "store": kind, "store_from": PurePath(origin).name}), JSON


async def _readiness(context: ServerContext) -> tuple[bytes, str]:
    if context.is_stopping:
        raise NotReady("the daemon is stopping")
    try:
        async with asyncio.timeout(_STORE_TIMEOUT):
            trouble = await context.app.store.health()
            if not trouble:
                await context.app.store.count_scenarios()
    except TimeoutError:
        raise NotReady(f"the store did not answer within {_STORE_TIMEOUT:g} seconds") from None
    except ScenarioctlError as error:
        raise NotReady(f"the store does not answer: {error}") from None
    if trouble:
        raise NotReady(f"the store accepts no writes: {trouble}")
    if context.worker is not None:
        silent = monotonic() - context.worker.last_beat
        if silent > _HEARTBEAT_TIMEOUT:
            raise NotReady(f"the worker has not responded for {silent:.0f} seconds")
    return encode({"status": "ready"}), JSON


async def _version(context: ServerContext) -> tuple[bytes, str]:
    said: dict[str, Any] = {
        "name": "scenarioctl",
        "version": __version__,
        "python": platform.python_version(),
        "role": context.role,
        "offline": context.app.settings.offline,
    }
    return encode(said), JSON


async def _metrics(context: ServerContext) -> tuple[bytes, str]:
    return await context.metrics.write(), CONTENT_TYPE


class _Description:
    """`/openapi.json` and `/docs`, written on the first request, since they do not change."""

    def __init__(self, context: ServerContext, served: Set[str]) -> None:
        self._context = context
        self._served = served
        self._written: tuple[bytes, bytes] | None = None

    async def document(self, _: ServerContext) -> tuple[bytes, str]:
        return (await self._read())[0], JSON

    async def page(self, _: ServerContext) -> tuple[bytes, str]:
        return (await self._read())[1], "text/html; charset=utf-8"

    async def _read(self) -> tuple[bytes, bytes]:
        if self._written is None:
            self._written = await self._context.app.aside(self._write)
        return self._written

    def _write(self) -> tuple[bytes, bytes]:
        from scenarioctl.server.openapi import describe
        from scenarioctl.server.reference import write_reference

        document = describe(self._context.endpoints, self._served)
        return encode(document), write_reference(document).encode()
