"""A connection of a client: how many there are, and how long each may take to send a header or to read an answer."""

import asyncio
import json
from typing import TYPE_CHECKING, cast

from aiohttp import web

from scenarioctl.errors import BadRequest
from scenarioctl.operations.outcomes import OUTCOMES
from scenarioctl.server.access import peer_of

if TYPE_CHECKING:
    from scenarioctl.server.limits import Limits

#: Bytes of the largest line, and lines, of a request's header.
LINE_MAX = 16 * 1024
HEADERS_MAX = 100
#: Seconds for which the rest of a body is read that was refused, so that its sender gets to read why.
_LINGERING = 3.0
#: Seconds that the first request of a connection may take to come while the daemon stops.
_WELCOME = 1.0


class Connection(web.RequestHandler):
    """Closed at once where too many are open, and where its client stalls."""

    def __init__(self, server: web.Server, limits: "Limits", loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            # Counts from the opening and from each answer, whatever dribbles in meanwhile, to a whole header.
            keepalive_timeout=limits.seconds,
            lingering_time=_LINGERING,
            max_line_size=LINE_MAX,
            max_field_size=LINE_MAX,
            max_headers=HEADERS_MAX,
            # A compressed body could be a thousand times its size; the exchange refuses it.
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]  # the exchange logs
        )
        self._limits = limits
        #: Whose it is, once it counts; empty before, and after its end.
        self._client = ""
        #: Until when its first request is waited for, though the daemon stops.
        self._welcome = 0.0
        self._is_retired = False
        self._stall: asyncio.TimerHandle | None = None
        #: What is worked on ends when the client goes; a write does not.
        self.gives_up = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        client = peer_of(transport)
        if not self._limits.enter(client):
            cast("asyncio.Transport", transport).abort()
            return
        self._client = client
        self._welcome = self._loop.time() + _WELCOME
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        if not self._client:
            return
        self._limits.leave(self._client)
        self._client = ""
        self._end_stall()
        task = self._task_handler
        super().connection_lost(exc)
        if self.gives_up and task is not None:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._client:
            super().data_received(data)

    def retire(self) -> bool:
        """Take no further request, and close once the last is answered; return whether one is worked on still.

        Unlike `close`, which also cuts off the rest of a body that is on its way.  Of a client that has only just come, the
        request is on its way.
        """
        self._is_retired = True
        if self._request_in_progress or self._messages or self._loop.time() < self._welcome:
            return True
        is_idle = self._waiter is not None
        self.close()
        if is_idle and self.transport is not None:
            # aiohttp leaves it open to the very end, and a client that asks again would wait for that.
            self.transport.close()
        return False

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        self._welcome = 0.0
        if self._is_retired:
            resp.force_close()
        return await super().finish_response(request, resp, start_time)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_stall()

    def resume_writing(self) -> None:
        self._end_stall()
        super().resume_writing()

    def _watch_stall(self, before: int | None = None) -> None:
        """Cut the client off where it has read nothing of an answer since so much of it was waiting *before*."""
        transport = self.transport
        if transport is None:
            return
        waiting = transport.get_write_buffer_size()
        if before is not None and waiting >= before:
            transport.abort()
            return
        self._stall = self._loop.call_later(self._limits.seconds, self._watch_stall, waiting)

    def _end_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what never became a request, or what the exchange could not catch, as every other error is answered."""
        if isinstance(exc, ConnectionError) or request.writer is None or request.writer.output_size > 0:
            raise ConnectionError("there is nobody to answer, or the answer has begun")
        if status == 400:
            reason = " ".join((message or "").split(":")[0].split()) or "it is malformed"
            sentence, code = f"the request cannot be read as HTTP: {reason[:200]}", BadRequest.code
        else:
            self.logger.error("a request ended in a bug", exc_info=exc)
            sentence, code = "this is a bug of scenarioctl; its log has the traceback", "bug"
        answer = web.Response(
            status=OUTCOMES[code].status,
            text=json.dumps({"error": sentence, "code": code}),
            content_type="application/json",
        )
        answer.force_close()
        return answer
