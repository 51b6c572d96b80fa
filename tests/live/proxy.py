"""A node that is in the way of another: it can be killed in the middle of a request, stall, or lie
about its genesis."""

import asyncio
import json
from typing import Any

from aiohttp import ClientSession, WSMsgType, web

from tests.loopback import Server


class Proxy(Server):
    """Passes every message to a live node and back, until `fault` says otherwise."""

    def __init__(self, endpoint: str) -> None:
        super().__init__()
        self.endpoint = endpoint
        #: `""`; `killed`: each connection is cut when the next question comes; `stalls`: questions
        #: are swallowed; `lies`: the genesis is another.
        self.fault = ""
        #: The methods that came.
        self.asked: list[str] = []

    async def talk(self, http: web.Request, socket: web.WebSocketResponse) -> None:
        asked_for_genesis: set[Any] = set()
        async with (
            ClientSession() as session,
            session.ws_connect(self.endpoint, max_msg_size=0) as node,
        ):

            async def back() -> None:
                async for message in node:
                    if message.type is WSMsgType.TEXT:
                        answer = json.loads(message.data)
                        if self.fault == "lies" and answer.get("id") in asked_for_genesis:
                            answer["result"] = "0x" + "11" * 32
                        await socket.send_str(json.dumps(answer))
                await socket.close()

            returning = asyncio.create_task(back())
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    continue
                request = json.loads(message.data)
                self.asked.append(request["method"])
                if self.fault == "killed" and http.transport is not None:
                    http.transport.abort()
                    break
                if self.fault == "stalls":
                    continue
                if (request["method"], request["params"]) == ("chain_getBlockHash", [0]):
                    asked_for_genesis.add(request["id"])
                await node.send_str(message.data)
            returning.cancel()
