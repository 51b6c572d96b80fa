"""Who is let in at a socket, and who still is when it closes."""

import asyncio
import socket
from contextlib import ExitStack

from scenarioctl.server.door import Door
from scenarioctl.server.listening import Listener


class Fickle(socket.socket):
    """A socket at which the first in line has gone when it is called."""

    def __init__(self) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self.gone = 1

    def accept(self) -> "tuple[socket.socket, object]":
        if self.gone:
            self.gone -= 1
            raise ConnectionAbortedError
        return super().accept()


class Counting(asyncio.Protocol):
    def __init__(self, made: list["Counting"]) -> None:
        made.append(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def test_one_that_has_gone_does_not_keep_those_behind_it_out_when_the_door_closes() -> None:
    made: list[Counting] = []

    async def close_at_once(stack: ExitStack) -> None:
        listening = stack.enter_context(Fickle())
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        door = Door(Listener(socket=listening, name="here"), lambda: Counting(made))
        for _ in range(3):
            stack.enter_context(socket.create_connection(listening.getsockname()))
        door.close()
        await door.settle()

    with ExitStack() as stack:
        asyncio.run(close_at_once(stack))
    assert len(made) == 3
