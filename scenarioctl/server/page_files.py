"""Serves the files of the web page, and its endpoints for QR codes and pictures of accounts."""

import base64
from hashlib import sha256
from importlib import resources
from io import BytesIO

from aiohttp import web

from scenarioctl.errors import InvalidRequest, TooLarge
from scenarioctl.formats.documents import parse_json
from scenarioctl.server.bodies import ask_for_body, check_type, read_body
from scenarioctl.server.context import Route, ServerContext
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.responses import JSON, encode

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}

#: Content-Security-Policy: nothing from other hosts, nothing inline. Pictures come as data URLs from answers.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

#: Bytes; enough for the hex of the largest transaction's payload.
PAYLOAD_LIMIT = 256 * 1024


class File:
    """A file of the page, in memory."""

    def __init__(self, name: str, content: bytes) -> None:
        self._content = content
        self._type = _TYPES[name.rpartition(".")[2]]
        self._tag = f'"{sha256(content).hexdigest()[:20]}"'

    async def answer(self, request: web.Request) -> web.Response:
        headers = {
            "ETag": self._tag,
            # Browsers revalidate on each load, so that the page always matches the daemon's version.
            "Cache-Control": "no-cache",
            "Content-Security-Policy": POLICY,
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
        }
        if request.headers.get("If-None-Match") == self._tag:
            return web.Response(status=304, headers=headers)
        return web.Response(body=self._content, headers={**headers, "Content-Type": self._type})


class VaultCodes:
    """Draws QR codes for Polkadot Vault as SVG, which the page can't do itself."""

    row = Endpoint(method="POST", path="/web/vault", operation="web vault")

    def __init__(self, context: ServerContext) -> None:
        self._context = context

    async def answer(self, request: web.Request) -> web.Response:
        check_type(request, present=True)
        ask_for_body(request)
        body, too_large = await read_body(request, b"", PAYLOAD_LIMIT, self._context.limits.seconds)
        if too_large:
            raise TooLarge(f"the body has more than the limit of {PAYLOAD_LIMIT} bytes")
        app = self._context.app
        # A large payload takes seconds.
        async with self._context.turn(request).costly():
            given = await app.aside(parse_json, body, field="the body")
            payload = given.get("payload") if isinstance(given, dict) else None
            drawn = await app.aside(draw_codes, _read_hex(payload))
        codes = [base64.b64encode(code).decode() for code in drawn]
        return web.Response(body=encode({"codes": codes}), content_type=JSON)


class Identicons:
    """Draws the picture of an account, which the page shows beside its address."""

    row = Endpoint(method="GET", path="/web/identicon/{account}.svg", operation="web identicon", scope="open")

    async def answer(self, request: web.Request) -> web.Response:
        from scenarioctl.chains.addresses import format_of
        from scenarioctl.render.identicon import draw_identicon

        given = request.match_info["account"]
        account = format_of(given).parse(given, field="account")
        headers = {"Cache-Control": "public, max-age=86400, immutable", "Content-Security-Policy": POLICY}
        return web.Response(
            body=draw_identicon(account).encode(), content_type="image/svg+xml", headers=headers
        )


def draw_codes(payload: bytes) -> list[bytes]:
    """Return an SVG for each frame of the payload."""
    from scenarioctl.render.qr import BORDER, make_codes
    from scenarioctl.transactions.signing.wallet_formats import vault_frames

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
        field="payload", value=value, problem="is not hex", expected="the vault_payload of /api/tx/payload"
    )


def page_file_routes(context: ServerContext) -> list[Route]:
    """Return the routes of the page: `/`, and what it has under `/web/`."""
    routes: list[Route] = [
        (VaultCodes.row, VaultCodes(context).answer),
        (Identicons.row, Identicons().answer),
    ]
    for file in sorted(resources.files("scenarioctl.web").iterdir(), key=lambda each: each.name):
        if file.name.rpartition(".")[2] in _TYPES:
            path = "/" if file.name == "index.html" else f"/web/{file.name}"
            row = Endpoint(method="GET", path=path, operation=f"web {file.name}", scope="open")
            routes.append((row, File(file.name, file.read_bytes()).answer))
    return routes
