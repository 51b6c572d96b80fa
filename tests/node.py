"""A node for tests: JSON-RPC over a WebSocket on loopback, with the answers that a test gives it.

An answer that is a function may raise `Refusal` for a JSON-RPC error, or `Gone` to cut the connection; one that is
a `Feed` begins a subscription.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from aiohttp import WSMsgType, web


class Refusal(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.body = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Gone(Exception):
    """The connection is closed in place of an answer; `Gone("killed")` without a word."""


class Feed(list[Any]):
    """What a subscription tells, in its order; `Gone` among it cuts the connection."""


class Node:
    """A WebSocket server in a thread; `answers` maps a method to a value or to a function of its parameters.

    A method without an answer gets JSON-RPC's "method not found".
    """

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Node":
        self._thread.start()
        if not self._started.wait(10):
            raise RuntimeError("the test node did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        runner = self._loop.run_until_complete(self._start())
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/", self._serve)
        # No grace for connections that a test left open.
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        self.url = f"ws://127.0.0.1:{port}/"
        return runner

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                continue
            try:
                answer = self._answer(json.loads(message.data))
            except Gone as gone:
                if gone.args and request.transport is not None:
                    request.transport.abort()
                break
            feed = answer.get("result")
            if not isinstance(feed, Feed):
                await socket.send_str(json.dumps(answer))
                continue
            await socket.send_str(json.dumps({**answer, "result": "subscription"}))
            for notice in feed:
                if notice is Gone:
                    await socket.close()
                    return socket
                params = {"subscription": "subscription", "result": notice}
                await socket.send_str(json.dumps({"jsonrpc": "2.0", "method": "notice", "params": params}))
        return socket

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        method: str = request["method"]
        self.asked.append(method)
        head = {"jsonrpc": "2.0", "id": request["id"]}
        if method not in self.answers:
            return {**head, "error": {"code": -32601, "message": "Method not found"}}
        answer: Any = self.answers[method]
        try:
            result = answer(*request.get("params", ())) if isinstance(answer, Callable) else answer  # type: ignore[arg-type]
        except Refusal as refusal:
            return {**head, "error": refusal.body}
        return {**head, "result": result}
