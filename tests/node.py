"""A node for tests: JSON-RPC over a WebSocket on loopback, with the answers that a test gives it.

An answer that is a function may raise `Refusal` for a JSON-RPC error, `Gone` to cut the connection,
or `Silent` to say nothing; one that is a `Feed` begins a subscription, and a `Last` is given before
the connection is closed.
"""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import WSMsgType, web

from tests.loopback import Server


class Refusal(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.body = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Gone(Exception):
    """The connection is closed in place of an answer; `Gone("killed")` without a word."""


class Silent(Exception):
    """No answer is ever given."""


class Last:
    """An answer behind which the node says farewell."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


class Feed(list[Any]):
    """What a subscription tells, in its order; `Gone` among it cuts the connection."""


class Node(Server):
    """A WebSocket server in a thread; `answers` maps a method to a value or to a function of its
    parameters.

    A method without an answer gets JSON-RPC's "method not found".
    """

    def __init__(self, answers: Mapping[str, Any]) -> None:
        super().__init__()
        self.answers = dict(answers)
        self.asked: list[str] = []

    async def talk(self, http: web.Request, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                continue
            try:
                answer = self._answer(json.loads(message.data))
            except Gone as gone:
                if gone.args and http.transport is not None:
                    http.transport.abort()
                break
            except Silent:
                continue
            feed = answer.get("result")
            if isinstance(feed, Last):
                await socket.send_str(json.dumps({**answer, "result": feed.answer}))
                await socket.close()
                return
            if not isinstance(feed, Feed):
                await socket.send_str(json.dumps(answer))
                continue
            await socket.send_str(json.dumps({**answer, "result": "subscription"}))
            for notice in feed:
                if notice is Gone:
                    await socket.close()
                    return
                params = {"subscription": "subscription", "result": notice}
                await socket.send_str(
                    json.dumps({"jsonrpc": "2.0", "method": "notice", "params": params})
                )

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        method: str = request["method"]
        self.asked.append(method)
        head = {"jsonrpc": "2.0", "id": request["id"]}
        if method not in self.answers:
            return {**head, "error": {"code": -32601, "message": "Method not found"}}
        answer: Any = self.answers[method]
        try:
            result = answer(*request.get("params", ())) if callable(answer) else answer
        except Refusal as refusal:
            return {**head, "error": refusal.body}
        return {**head, "result": result}
