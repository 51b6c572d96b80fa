"""A web server on loopback that says exactly what a test wants, to the byte."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Talk = Callable[["Visit"], Awaitable[None]]


class Visit:
    """One connection: what came, and a way to answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.head = ""
        self.body = b""

    async def listen(self) -> None:
        self.head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        length = self.header("content-length")
        if length:
            self.body = await self._reader.readexactly(int(length))

    def header(self, name: str) -> str:
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(": ")
            if key.lower() == name:
                return value
        return ""

    async def say(self, *parts: str | bytes) -> None:
        for part in parts:
            self._writer.write(part if isinstance(part, bytes) else part.encode())
        await self._writer.drain()

    async def answer(
        self, body: str | bytes = b"", *, status: str = "200 OK", headers: str = ""
    ) -> None:
        data = body if isinstance(body, bytes) else body.encode()
        await self.say(f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n{headers}\r\n", data)


@asynccontextmanager
async def serving(talk: Talk, *, host: str = "127.0.0.1", **options: Any) -> AsyncIterator[int]:
    """Serve on a free port of *host*, which is given; *talk* is called for each connection once its
    request has come."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = Visit(reader, writer)
        try:
            await visit.listen()
            await talk(visit)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, host, 0, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
