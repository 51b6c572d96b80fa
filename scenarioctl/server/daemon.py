"""The daemon as a process: its sockets, its worker, its signals, and what systemd hears of it."""

import asyncio
import faulthandler
import logging
import os
import resource
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, TypeVar

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import ScenarioctlError
from scenarioctl.outgoing.guard import Guard
from scenarioctl.server.access import Access, check_binding
from scenarioctl.server.limits import Limits
from scenarioctl.server.listening import Listener, open_listeners, take_activated
from scenarioctl.server.logs import set_level, start_logging
from scenarioctl.server.preloading import preload, settle
from scenarioctl.server.systemd_notify import SystemdNotifier

log = logging.getLogger("scenarioctl.daemon")

T = TypeVar("T")

#: Role -> the servers that it has.
ROLES = {"all": ("api", "worker"), "api": ("api",), "worker": ("worker",)}
#: Server -> its setting, and what people call it.
_SERVERS = {"api": ("listen", "scenario API"), "worker": ("worker_listen", "job worker")}
#: Seconds that requests have for their end, once the daemon is told to stop.
_GRACE = 10.0
#: Files beside the connections of clients: the store, nodes, outgoing requests.
_OTHER_FILES = 1024
#: A worker that is silent for so many seconds at least is stuck.
_STUCK = 10.0
#: Settings that are in force until the daemon is started anew.
_FIXED = ("store", "cache", "listen", "worker_listen", "request_seconds")
#: Nobody's business at a reload: where settings come from.
_UNCOUNTED = ("config", "origins")


def run_daemon(
    load: Callable[[], Settings],
    *,
    role: str = "all",
    force: bool = False,
    tell: Callable[[str], None] = print,
    environment: MutableMapping[str, str] = os.environ,
) -> None:
    """Serve until a signal ends it.

    *load* reads the settings, now and at each reload; *tell* hears where the daemon listens.  What keeps it from starting
    is raised, and nothing is left behind.
    """
    # Until it can: a reload that comes too early must not end the daemon.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    settings = load()
    start_logging(settings.log_level, environment=environment)
    supervisor = SystemdNotifier(environment)
    if supervisor.watchdog:
        # What the watchdog ends (SIGABRT) says in the log where it stood.
        faulthandler.enable()
    listeners = _listen(settings, role, environment)
    try:
        access, limits = Access(settings), Limits(settings)
        exposed = _exposed(listeners)
        check_binding(access, exposed, force=force)
        Guard(settings.private_targets)
        if exposed and not access.tokens:
            log.warning(
                "anybody who reaches %s can read, create, run and broadcast: no token is configured",
                exposed[0],
            )
        make_room(limits)
        preload()
        daemon = Daemon(
            Application(settings, served=True),
            access,
            limits,
            listeners,
            supervisor,
            load=load,
            role=role,
            force=force,
            tell=tell,
        )
        run_served(daemon.run())
    finally:
        for listener in _all(listeners):
            listener.close()


def run_served(serving: Coroutine[Any, Any, T]) -> T:
    """Return what *serving* does, on the loop that daemons have: sockets cost it half of what they cost asyncio's own."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serving)


def _listen(
    settings: Settings, role: str, environment: MutableMapping[str, str]
) -> dict[str, list[Listener]]:
    """Return the sockets of each server of *role*: those of systemd, else those of the settings."""
    activated = take_activated(environment)
    listeners: dict[str, list[Listener]] = {}
    try:
        for server in ROLES[role]:
            field, _ = _SERVERS[server]
            addresses: tuple[str, ...] = getattr(settings, field)
            listeners[server] = list(activated[server]) or open_listeners(addresses, field=field)
    except BaseException:
        for listener in _all(listeners):
            listener.close()
        raise
    return listeners


def _all(listeners: dict[str, list[Listener]]) -> Iterable[Listener]:
    return (listener for each in listeners.values() for listener in each)


def _exposed(listeners: dict[str, list[Listener]]) -> list[str]:
    return [listener.name for listener in _all(listeners) if listener.is_exposed]


def make_room(limits: Limits) -> None:
    """Let the process open as many files as its connections may need, or allow fewer connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + _OTHER_FILES
    if hard == resource.RLIM_INFINITY or hard >= wanted:
        soft = wanted
    else:
        soft = hard
        limits.connections = max(hard // 2, hard - _OTHER_FILES)
        log.warning(
            "only %d connections are served at once: the process may open %d files (LimitNOFILE=)",
            limits.connections,
            hard,
        )
    with suppress(OSError, ValueError):
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (max(soft, resource.getrlimit(resource.RLIMIT_NOFILE)[0]), hard)
        )


class Daemon:
    """One run of the daemon, from its sockets to its end."""

    def __init__(
        self,
        app: Application,
        access: Access,
        limits: Limits,
        listeners: dict[str, list[Listener]],
        supervisor: SystemdNotifier,
        *,
        load: Callable[[], Settings],
        role: str,
        force: bool,
        tell: Callable[[str], None],
    ) -> None:
        from scenarioctl.worker.loop import Worker

        self._app = app
        self._access = access
        self._limits = limits
        self._listeners = listeners
        self._supervisor = supervisor
        self._load = load
        self._force = force
        self._tell = tell
        self._role = role
        self._worker = Worker(app) if "worker" in ROLES[role] else None
        self._is_stopping = False
        #: The last reload changed nothing.
        self._is_refused = False
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until a signal says otherwise, or the worker breaks."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number)
        try:
            # Before anybody is let in: a store that cannot be used keeps the daemon from starting.
            await self._app.store.count_scenarios()
            await self._serve()
        finally:
            await self._app.close()
        log.info("stopped")

    async def _serve(self) -> None:
        from scenarioctl.server.servers import build_servers

        servers = build_servers(self._app, self._access, self._limits, role=self._role, worker=self._worker)
        stop_worker = asyncio.Event()
        worker: asyncio.Task[None] | None = None
        watchdog: asyncio.Task[None] | None = None
        try:
            for server, listeners in self._listeners.items():
                await servers.listen(server, listeners)
            if self._worker is not None:
                worker = asyncio.create_task(self._worker.run(stop_worker), name="worker")
            if self._supervisor.watchdog:
                watchdog = asyncio.create_task(self._beat(), name="watchdog")
            self._begin()
            stop = asyncio.create_task(self._stop.wait())
            # A worker that ends by itself is broken: systemd starts the daemon anew.
            await asyncio.wait({stop, worker or stop}, return_when=asyncio.FIRST_COMPLETED)
            stop.cancel()
        finally:
            self._is_stopping = True
            self._supervisor.stopping()
            stop_worker.set()
            # Requests and runs come to their end side by side; each bounds its own.
            ends: list[Awaitable[object]] = [servers.stop(_GRACE)]
            if worker is not None:
                ends.append(worker)
            results = await asyncio.gather(*ends, return_exceptions=True)
            if watchdog is not None:
                watchdog.cancel()
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _begin(self) -> None:
        """Say that the daemon is there."""
        settle()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        log.info("started", extra={"version": __version__, "role": self._role, "pid": os.getpid()})
        for server, listeners in self._listeners.items():
            for listener in listeners:
                self._tell(f"{_SERVERS[server][1]} on {listener.name}")
        self._supervisor.ready(self._status())

    def _status(self) -> str:
        names = ", ".join(listener.name for listener in _all(self._listeners))
        running = f"; {self._worker.running} runs go on" if self._worker is not None else ""
        refused = "; the settings of the last reload are refused, the log says why" * self._is_refused
        return f"Serving on {names}{running}{refused}"

    async def _beat(self) -> None:
        """Tell systemd that the loop lives, which runs this, and the worker."""
        while True:
            silent = 0.0 if self._worker is None else time.monotonic() - self._worker.last_beat
            if silent < max(_STUCK, self._supervisor.watchdog / 2):
                self._supervisor.beat(self._status())
            else:
                log.error(
                    "the worker has not moved for %.0f seconds, systemd is not told that all is well", silent
                )
            await asyncio.sleep(self._supervisor.watchdog / 2)

    def _end(self, number: signal.Signals) -> None:
        """Stop at a first signal with grace, at a second one at once."""
        if self._is_stopping:
            log.warning("stopped at once, at a second %s", number.name)
            for listener in _all(self._listeners):
                listener.close()
            logging.shutdown()
            # What was acknowledged is in the store; leases of a process that is gone are freed by the next.
            os._exit(128 + number)
        self._is_stopping = True
        log.info("stopping at %s: requests and runs that go on may end", number.name)
        self._stop.set()

    def _reload(self) -> None:
        """Take over what config.toml says now, or, where that will not do, nothing of it."""
        if self._is_stopping:
            return
        self._supervisor.reloading()
        self._is_refused = True
        try:
            self._take_over(self._load())
            self._is_refused = False
        except ScenarioctlError as error:
            log.error("the settings stay as they were: %s", error)  # noqa: TRY400 - the sentence says it
        except Exception:
            log.exception("the settings stay as they were, this is a bug")
        self._supervisor.ready(self._status())

    def _take_over(self, read: Settings) -> None:
        before = self._app.settings
        settings = replace(read, **{name: getattr(before, name) for name in _FIXED})
        # Judged whole before anything changes.
        check_binding(Access(settings), _exposed(self._listeners), force=self._force)
        Guard(settings.private_targets)
        self._app.renew(settings)
        self._access.change(settings)
        self._limits.change(settings)
        make_room(self._limits)
        names = [field.name for field in fields(Settings) if field.name not in _UNCOUNTED]
        changed = [name for name in names if getattr(settings, name) != getattr(before, name)]
        log.info("settings read anew, changed: %s", ", ".join(changed) or "none")
        for name in _FIXED:
            if getattr(read, name) != getattr(before, name):
                log.warning("%s has changed too, which takes a restart", name)
        set_level(settings.log_level)
