"""Both HTTP servers over real sockets, in a thread of their own, and a client that says what came
back."""

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import uvloop

from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.server.access import Access
from scenarioctl.server.bodies import Limits
from scenarioctl.server.daemon import ROLES
from scenarioctl.server.process import open_listeners
from scenarioctl.server.servers import HttpServers, build_servers
from tests.daemons import PATIENCE

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back."""

    status: int
    #: Names in lower case.
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Serving:
    """Started by `with`; `api` and `worker` are ports on loopback, 0 where the role has no such
    server."""

    def __init__(
        self,
        folder: Path,
        *,
        role: str = "all",
        arrange: Callable[[Application], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        **settings: Any,
    ) -> None:
        """*clock* is that of the limits."""
        self.settings = Settings(
            **{
                "config": folder / "config.toml",
                "store": str(folder / "scenarios.db"),
                "cache": folder / "cache",
                "offline": True,
                **settings,
            }
        )
        self.role = role
        self.api = 0
        self.worker = 0
        self.app: Application
        self.access: Access
        self.servers: HttpServers
        self._arrange = arrange
        self._clock = clock
        # As the daemon has it.
        self._loop = uvloop.new_event_loop()
        self._started = threading.Event()
        self._ending = asyncio.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(PATIENCE) or self._failure is not None:
            raise RuntimeError("the servers did not start") from self._failure
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ending.set)
            self._thread.join(PATIENCE)
        if self._failure is not None:
            raise RuntimeError("the servers failed") from self._failure

    def wait_for(self, work: Callable[[Application], Any]) -> Any:
        """Return what the coroutine *work* gives on the servers' loop."""
        return asyncio.run_coroutine_threadsafe(work(self.app), self._loop).result(PATIENCE)

    def get(self, path: str, *, port: int = 0, **headers: str) -> Reply:
        return self.send("GET", path, None, headers, port=port)

    def post(self, path: str, fields: Any = None, *, port: int = 0, **headers: str) -> Reply:
        """Send *fields* as JSON; bytes go as they are."""
        body = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        return self.send(
            "POST", path, body, {"Content-Type": "application/json", **headers}, port=port
        )

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        port: int = 0,
    ) -> Reply:
        connection = http.client.HTTPConnection(
            "127.0.0.1", port or self.api or self.worker, timeout=PATIENCE
        )
        try:
            connection.request(
                method,
                path,
                body=body,
                headers={name.replace("_", "-"): value for name, value in (headers or {}).items()},
            )
            response = connection.getresponse()
            return Reply(
                status=response.status,
                headers={name.lower(): value for name, value in response.getheaders()},
                body=response.read(),
            )
        finally:
            connection.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self) -> None:
        self.app = Application(self.settings, served=True)
        if self._arrange is not None:
            self._arrange(self.app)
        self.access = Access(self.settings)
        limits = Limits(self.settings, clock=self._clock)
        self.servers = build_servers(self.app, self.access, limits, role=self.role)
        try:
            for name in ROLES[self.role]:
                listeners = open_listeners(("127.0.0.1:0",), field="listen")
                await self.servers.listen(name, listeners)
                setattr(self, name, listeners[0].socket.getsockname()[1])
            self._started.set()
            await self._ending.wait()
        finally:
            await self.servers.stop()
            await self.app.close()

    @property
    def limits(self) -> Limits:
        return self.servers.context.limits
