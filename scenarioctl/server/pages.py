"""The pages of a server about itself: health, version, metrics, description; the files of the web
page, QR codes, identicons.

To add a page, add a row to `endpoints.PAGES` and a writer here.
"""

import asyncio
import base64
import platform
from collections.abc import Awaitable, Callable, Set
from functools import cache, partial
from hashlib import sha256
from importlib import resources
from io import BytesIO
from pathlib import PurePath
from time import monotonic
from typing import Any

from aiohttp import web

from scenarioctl import __version__
from scenarioctl.chains.addresses import format_of
from scenarioctl.config import is_server
from scenarioctl.errors import InvalidRequest, NotReady, ScenarioctlError, shorten
from scenarioctl.formats.documents import parse_json
from scenarioctl.render.identicon import draw_identicon
from scenarioctl.render.svg import BORDER, make_codes
from scenarioctl.server.bodies import JSON, Turn, check_type, encode, reading
from scenarioctl.server.endpoints import PAGES, Endpoint
from scenarioctl.server.handlers import Route, ServerContext
from scenarioctl.server.metrics import CONTENT_TYPE
from scenarioctl.server.streams import TOPICS, EventStream
from scenarioctl.transactions.signing.payload import vault_frames

Writer = Callable[[ServerContext], Awaitable[tuple[bytes, str]]]

#: Seconds since the last heartbeat of a worker after which it counts as stuck.
_HEARTBEAT_TIMEOUT = 10.0
#: Seconds that the store may take to answer.
_STORE_TIMEOUT = 2.0


def page_routes(context: ServerContext, served: Set[str]) -> list[Route]:
    """Return the pages in *served*, with their handlers."""
    writers: dict[str, Writer] = {
        "health": _health,
        "readiness": _readiness,
        "version": _version,
        "metrics": _metrics,
        "openapi": partial(_openapi, served=frozenset(served)),
    }
    routes: list[Route] = []
    for row in PAGES:
        if row.operation in TOPICS and row.server in served:
            routes.append((row, EventStream(row, context.follower, context.access).answer))
        elif row.server in served:
            routes.append((row, partial(_answer, context, writers[row.operation])))
    return routes


async def _answer(context: ServerContext, write: Writer, request: web.Request) -> web.Response:
    query = request.rel_url.raw_query_string
    if query:
        raise InvalidRequest(
            f"the query string {shorten(query)} is not allowed here, expected none"
        )
    body, kind = await write(context)
    return web.Response(body=body, headers={"Content-Type": kind})


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
            trouble = trouble and f"accepts no writes: {trouble}"
            if not trouble:
                await context.app.store.count_scenarios()
    except TimeoutError:
        trouble = f"did not answer within {_STORE_TIMEOUT:g} seconds"
    except ScenarioctlError as error:
        trouble = f"does not answer: {error}"
    if trouble:
        raise NotReady(f"the store {trouble}", details={"field": "store"})
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
    return await context.metrics.write(context.app, context.worker), CONTENT_TYPE


async def _openapi(context: ServerContext, *, served: frozenset[str]) -> tuple[bytes, str]:
    return await context.app.aside(_describe, context.endpoints, served), JSON


@cache
def _describe(endpoints: tuple[Endpoint, ...], served: frozenset[str]) -> bytes:
    from scenarioctl.server.openapi import describe

    return encode(describe(endpoints, served))


_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}

#: Content-Security-Policy: nothing from other hosts, nothing inline. Pictures come as data URLs
#: from answers.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

#: Bytes; enough for the hex of the largest transaction's payload.
PAYLOAD_LIMIT = 256 * 1024


async def _send_file(headers: dict[str, str], content: bytes, request: web.Request) -> web.Response:
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    return web.Response(body=content, headers=headers)


async def _draw_codes(context: ServerContext, request: web.Request) -> web.Response:
    """Draw QR codes for Polkadot Vault as SVG, which the page can't do itself."""
    check_type(request, present=True)
    app, limits = context.app, context.limits
    # A large payload takes seconds.
    async with reading(request, PAYLOAD_LIMIT, limits) as body, Turn(limits).costly():
        given = await app.aside(parse_json, body, field="the body")
        payload = given.get("payload") if isinstance(given, dict) else None
        drawn = await app.aside(draw_codes, _read_hex(payload))
    codes = [base64.b64encode(code).decode() for code in drawn]
    return web.Response(body=encode({"codes": codes}), content_type=JSON)


async def _draw_identicon(request: web.Request) -> web.Response:
    """Draw the picture of an account, which the page shows beside its address."""
    given = request.match_info["account"]
    account = format_of(given).parse(given, field="account")
    return web.Response(
        body=draw_identicon(account).encode(),
        content_type="image/svg+xml",
        headers={"Cache-Control": "public, max-age=86400, immutable"},
    )


def draw_codes(payload: bytes) -> list[bytes]:
    """Return an SVG for each frame of the payload."""
    drawn = []
    for code in make_codes(vault_frames(payload)):
        picture = BytesIO()
        code.save(picture, kind="svg", scale=4, border=BORDER, light="#fff")
        drawn.append(picture.getvalue())
    return drawn


def _read_hex(value: object) -> bytes:
    try:
        if isinstance(value, str) and value.startswith("0x") and len(value) > 2:
            return bytes.fromhex(value[2:])
    except ValueError:
        pass
    raise InvalidRequest(
        field="payload",
        value=value,
        problem="is not hex",
        expected="the vault_payload of /api/tx/payload",
    )


def page_file_routes(context: ServerContext) -> list[Route]:
    """Return the routes of the page: `/`, and what it has under `/web/`."""
    vault = Endpoint(method="POST", path="/web/vault", operation="web vault")
    identicon = Endpoint(
        method="GET", path="/web/identicon/{account}.svg", operation="web identicon", scope="open"
    )
    routes: list[Route] = [(vault, partial(_draw_codes, context)), (identicon, _draw_identicon)]
    for file in sorted(resources.files("scenarioctl.web").iterdir(), key=lambda each: each.name):
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is None:
            continue
        path = "/" if file.name == "index.html" else f"/web/{file.name}"
        row = Endpoint(method="GET", path=path, operation=f"web {file.name}", scope="open")
        content = file.read_bytes()
        headers = {
            "Content-Type": kind,
            "ETag": f'"{sha256(content).hexdigest()[:20]}"',
            # Browsers revalidate on each load, so that the page always matches the daemon's
            # version.
            "Cache-Control": "no-cache",
            "Content-Security-Policy": POLICY,
        }
        routes.append((row, partial(_send_file, headers, content)))
    return routes
