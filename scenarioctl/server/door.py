"""Letting connections in at a socket.

Not by asyncio's own server: where no file can be opened any more it schedules a new try for each place of the backlog, and
those schedule theirs, so that within a minute it does nothing but write millions of lines to the log.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

from scenarioctl.server.listening import BACKLOG, Listener

log = logging.getLogger("scenarioctl.daemon")

#: Connections that are let in before others have their turn.
_AT_ONCE = 64
#: Seconds between two tries where the system has no room for another connection.
_PAUSE = 0.1
#: Seconds for which the log is silent about it, once it has been told.
_SILENCE = 60.0


class Door:
    """Open from its making until `close`; every connection gets a protocol of its own."""

    def __init__(self, listener: Listener, make: Callable[[], asyncio.BaseProtocol]) -> None:
        self._socket = listener.socket
        self._is_lent = listener.is_lent
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._entering: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._told = -_SILENCE
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._let_in)

    def close(self) -> None:
        """Let nobody in any more but those who stand before it, if nobody else will; the socket is its owner's to close."""
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        else:
            self._loop.remove_reader(self._socket)
        if self._is_lent:
            # The next daemon that systemd starts will let them in.
            return
        for _ in range(BACKLOG):
            try:
                self._let_one_in()
            except ConnectionAbortedError:
                # This one has gone while it stood there; others stand behind it.
                continue
            except OSError:
                break

    async def settle(self) -> None:
        """Wait until all who were let in have a protocol."""
        while self._entering:
            await asyncio.wait(self._entering)

    def _let_in(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                self._let_one_in()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(error)
                return

    def _let_one_in(self) -> None:
        connection, _ = self._socket.accept()
        task = self._loop.create_task(self._enter(connection))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _enter(self, connection: socket.socket) -> None:
        try:
            connection.setblocking(False)
            await self._loop.connect_accepted_socket(self._make, connection)
        except OSError:
            # It has gone already.
            connection.close()

    def _rest(self, error: OSError) -> None:
        if self._loop.time() - self._told >= _SILENCE:
            self._told = self._loop.time()
            log.error("connections have to wait: %s (LimitNOFILE=)", error.strerror)
        self._loop.remove_reader(self._socket)
        self._pause = self._loop.call_later(_PAUSE, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        self._loop.add_reader(self._socket, self._let_in)
