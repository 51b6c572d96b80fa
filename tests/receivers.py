"""A web server on loopback that receives notifications, and an independent check of their
signatures."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.daemons import PATIENCE

#: Of the example of the standard: https://github.com/standard-webhooks/standard-webhooks
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def is_signed(headers: Mapping[str, str], body: bytes, secret: str = SECRET) -> bool:
    """Return whether a webhook is signed as the standard says, within five minutes."""
    key = base64.b64decode(secret.split("_")[1])
    id, moment = headers["webhook-id"], headers["webhook-timestamp"]
    mac = hmac.digest(key, f"{id}.{moment}.".encode() + body, hashlib.sha256)
    given = [
        each.split(",", 1)[1]
        for each in headers["webhook-signature"].split(" ")
        if each[:3] == "v1,"
    ]
    is_fresh = abs(time.time() - int(moment)) < 300
    return is_fresh and any(hmac.compare_digest(mac, base64.b64decode(each)) for each in given)


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """What came, and what is answered."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Seconds before the answer.
    delay: float = 0.0
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def answer(self, request: web.Request) -> web.Response:
        self.received.append(Received(request.path_qs, dict(request.headers), await request.read()))
        with suppress(TimeoutError):
            async with asyncio.timeout(self.delay):
                await self.closing.wait()
        return web.Response(status=self.status, headers=self.headers, text="thanks")

    async def has(self, count: int) -> list[Received]:
        """Wait until so many have come."""
        deadline = time.monotonic() + PATIENCE
        while len(self.received) < count:
            assert time.monotonic() < deadline, f"{len(self.received)} of {count} came"
            await asyncio.sleep(0.01)
        return self.received


@asynccontextmanager
async def receiving(**behavior: Any) -> AsyncIterator[Receiver]:
    receiver = Receiver(**behavior)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", receiver.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", receiver.port)
    await site.start()
    receiver.port = runner.addresses[0][1]
    try:
        yield receiver
    finally:
        receiver.closing.set()
        await runner.cleanup()
