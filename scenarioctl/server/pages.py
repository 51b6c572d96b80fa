"""What a server tells of itself: how it is, what it does, how to call it.  To add a page, add a row to `endpoints.PAGES`."""

import asyncio
import logging
import platform
from collections.abc import Awaitable, Callable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from aiohttp import web
from multidict import CIMultiDict

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, NotReady, ScenarioctlError, shorten
from scenarioctl.server.access import Access
from scenarioctl.server.endpoints import PAGES, Endpoint
from scenarioctl.server.exchange import JSON, Point, encode
from scenarioctl.server.metrics import CONTENT_TYPE, Metrics
from scenarioctl.server.streams import EventStream, Follower

if TYPE_CHECKING:
    from scenarioctl.worker.loop import Worker

log = logging.getLogger("scenarioctl.http")

#: Seconds since a worker's last beat, after which it counts as stuck.
_STALE = 10.0
#: Seconds that the store may take to answer.
_STORE = 2.0


@dataclass(kw_only=True)
class Grounds:
    """What pages look at."""

    app: Application
    access: Access
    metrics: Metrics
    role: str
    endpoints: tuple[Endpoint, ...]
    follower: Follower
    worker: "Worker | None" = None
    stopping: bool = False


class Page:
    """Answers one path with what *write* gives: a body and its type."""

    def __init__(self, row: Endpoint, write: Callable[[], Awaitable[tuple[bytes, str]]]) -> None:
        self.row = row
        self._write = write

    async def answer(
        self,
        request: web.BaseRequest,
        parameters: Mapping[str, str],  # noqa: ARG002 - pages have none
        headers: CIMultiDict[str],
    ) -> web.StreamResponse:
        query = request.rel_url.raw_query_string
        if query:
            raise InvalidRequest(f"the query string {shorten(query)} is not read here, expected none")
        body, kind = await self._write()
        headers["Content-Type"] = kind
        if kind.startswith("text/html"):
            from scenarioctl.server.reference import POLICY

            headers["Content-Security-Policy"] = POLICY
            headers["Referrer-Policy"] = "no-referrer"
            headers["X-Frame-Options"] = "DENY"
        return web.Response(body=body, headers=headers)


def page_points(grounds: Grounds, served: Set[str]) -> list[Point]:
    """Return what answers the pages of a server that has the rows of *served*."""
    description = _Description(grounds, served)
    writers: dict[str, Callable[[Grounds], Awaitable[tuple[bytes, str]]]] = {
        "health": _health,
        "readiness": _readiness,
        "version": _version,
        "metrics": _metrics,
        "openapi": description.document,
        "docs": description.page,
    }
    points: list[Point] = []
    for row in PAGES:
        if row.server not in served:
            continue
        if row.operation == "events":
            points.append(EventStream(row, grounds.follower, grounds.access))
        else:
            points.append(Page(row, partial(writers[row.operation], grounds)))
    return points


async def _health(grounds: Grounds) -> tuple[bytes, str]:  # noqa: ARG001 - that it answers is the answer
    return encode({"status": "ok"}), JSON


async def _readiness(grounds: Grounds) -> tuple[bytes, str]:
    if grounds.stopping:
        raise NotReady("the daemon is stopping")
    try:
        async with asyncio.timeout(_STORE):
            trouble = await grounds.app.store.write_trouble()
            if not trouble:
                await grounds.app.store.count_scenarios()
    except TimeoutError:
        raise NotReady(f"the store did not answer within {_STORE:g} seconds") from None
    except ScenarioctlError as error:
        raise NotReady(f"the store does not answer: {error}") from None
    if trouble:
        raise NotReady(f"the store takes no writes: {trouble}")
    if grounds.worker is not None:
        silent = monotonic() - grounds.worker.last_beat
        if silent > _STALE:
            raise NotReady(f"the worker has not moved for {silent:.0f} seconds")
    return encode({"status": "ready"}), JSON


async def _version(grounds: Grounds) -> tuple[bytes, str]:
    said: dict[str, Any] = {
        "name": "scenarioctl",
        "version": __version__,
        "python": platform.python_version(),
        "role": grounds.role,
        "offline": grounds.app.settings.offline,
    }
    return encode(said), JSON


async def _metrics(grounds: Grounds) -> tuple[bytes, str]:
    return await grounds.metrics.write(), CONTENT_TYPE


class _Description:
    """What `/openapi.json` and `/docs` say: made when it is first asked for, since it stays as it is."""

    def __init__(self, grounds: Grounds, served: Set[str]) -> None:
        self._grounds = grounds
        self._served = served
        self._written: tuple[bytes, bytes] | None = None

    async def document(self, _: Grounds) -> tuple[bytes, str]:
        return (await self._read())[0], JSON

    async def page(self, _: Grounds) -> tuple[bytes, str]:
        return (await self._read())[1], "text/html; charset=utf-8"

    async def _read(self) -> tuple[bytes, bytes]:
        if self._written is None:
            self._written = await self._grounds.app.aside(self._write)
        return self._written

    def _write(self) -> tuple[bytes, bytes]:
        from scenarioctl.server.openapi import describe
        from scenarioctl.server.reference import write_reference

        document = describe(self._grounds.endpoints, self._served)
        return encode(document), write_reference(document).encode()
