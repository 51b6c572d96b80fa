"""The daemon process: sockets, worker, signals, and notifications to systemd.

It imports its modules before it listens, and keeps the garbage collector from scanning them. After
an upgrade on disk, a module imported on first use would be of another version than the rest.
"""

import asyncio
import faulthandler
import gc
import logging
import os
import resource
import signal
import time
from collections.abc import Callable, Coroutine, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, TypeVar

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.config import Settings, without_password
from scenarioctl.errors import ScenarioctlError
from scenarioctl.outgoing.guard import Guard
from scenarioctl.server.access import Access, check_binding
from scenarioctl.server.bodies import Limits
from scenarioctl.server.process import (
    ListeningSocket,
    SystemdNotifier,
    open_listeners,
    set_level,
    start_logging,
    take_activated,
)

#: What a daemon doesn't need, or not with every store.
_NOT_SERVED = (
    "scenarioctl.cli",
    "scenarioctl.__main__",
    "scenarioctl.stores.postgres",
    "scenarioctl.worker.procrastinate_bell",
)
#: Threshold of the youngest generation of the garbage collector. A request makes hundreds of
#: short-lived objects, for which Python's default of 700 starts a collection again and again.
_YOUNG = 10_000


def preload() -> None:
    """Import the modules that handlers, the worker and the pages need."""
    import scenarioctl

    for found in walk_packages(scenarioctl.__path__, "scenarioctl."):
        if not found.name.startswith(_NOT_SERVED):
            import_module(found.name)


def settle() -> None:
    """Exclude all current objects from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)


log = logging.getLogger("scenarioctl.daemon")

T = TypeVar("T")

#: Role -> its servers.
ROLES = {"all": ("api", "worker"), "api": ("api",), "worker": ("worker",)}
#: Server -> its setting and its name for people.
_SERVERS = {"api": ("listen", "scenario API"), "worker": ("worker_listen", "job worker")}
#: Open files besides client connections: the store, nodes, outgoing requests.
_OTHER_FILES = 1024
#: Seconds without a heartbeat after which the worker may count as stuck.
_STUCK = 10.0
#: Settings that only a restart changes.
_FIXED = (
    "store",
    "store_pool",
    "store_statement_seconds",
    "cache",
    "listen",
    "worker_listen",
    "request_seconds",
)
#: Fields that a reload doesn't report: they say where settings come from.
_UNCOUNTED = ("config", "origins")


def run_daemon(
    load: Callable[[], Settings],
    *,
    role: str = "all",
    force: bool = False,
    tell: Callable[[str], None] = print,
    environment: MutableMapping[str, str] = os.environ,
) -> None:
    """Serve until a signal stops the daemon.

    *load* reads the settings, now and at each reload. *tell* is called with each address that the
    daemon listens on. Raises ScenarioctlError if the daemon can't start, after closing its sockets.
    """
    # An early SIGHUP must not end the process before it has a handler.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    settings = load()
    start_logging(settings.log_level, environment=environment)
    notifier = SystemdNotifier(environment)
    if notifier.watchdog:
        # Log a traceback when the watchdog sends SIGABRT.
        faulthandler.enable()
    with ExitStack() as opened:
        listeners = _listen(settings, role, environment, opened)
        exposed = [listener.name for listener in listeners if listener.is_exposed]
        access, limits = _check(settings, exposed, force=force), Limits(settings)
        if exposed and not access.tokens:
            log.warning(
                "no token is configured: anyone who reaches %s can read, create, run and broadcast",
                exposed[0],
            )
        make_room(limits)
        preload()
        daemon = Daemon(
            app=Application(settings, served=True, role=role),
            access=access,
            limits=limits,
            listeners=listeners,
            notifier=notifier,
            load=load,
            check=partial(_check, exposed=exposed, force=force),
            role=role,
            tell=tell,
        )
        run_served(daemon.run())


def run_served(serving: Coroutine[Any, Any, T]) -> T:
    """Run *serving* on uvloop, which needs half the CPU time of asyncio's loop for sockets, and
    return its result."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serving)


def _listen(
    settings: Settings, role: str, environment: MutableMapping[str, str], opened: ExitStack
) -> list[ListeningSocket]:
    """Return the sockets of *role*, which *opened* closes: those from systemd, else those of the
    settings."""
    activated = take_activated(environment)
    listeners: list[ListeningSocket] = []
    for server in ROLES[role]:
        field, _ = _SERVERS[server]
        addresses: tuple[str, ...] = getattr(settings, field)
        for listener in activated[server] or open_listeners(addresses, field=field):
            opened.callback(listener.close)
            listener.server = server
            listeners.append(listener)
    return listeners


def _check(settings: Settings, exposed: Sequence[str], *, force: bool) -> Access:
    """Return the rules of access of *settings*, or raise InvalidRequest if a setting is wrong."""
    access = Access(settings)
    check_binding(access, exposed, force=force)
    Guard(settings.private_targets)
    return access


def make_room(limits: Limits) -> None:
    """Raise the limit of open files as far as it goes, and lower that of connections to it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if 0 <= hard < limits.connections + _OTHER_FILES:
        limits.connections = max(hard // 2, hard - _OTHER_FILES)
        log.warning(
            "only %d connections are served at once: the process may open %d files (LimitNOFILE=)",
            limits.connections,
            hard,
        )


@dataclass(kw_only=True)
class Daemon:
    """A daemon with open sockets, until it stops."""

    app: Application
    access: Access
    limits: Limits
    listeners: Sequence[ListeningSocket]
    notifier: SystemdNotifier
    load: Callable[[], Settings]
    #: Raises InvalidRequest for settings that can't be served.
    check: Callable[[Settings], Access]
    role: str
    tell: Callable[[str], None]

    def __post_init__(self) -> None:
        from scenarioctl.worker.worker import Worker

        self._worker = Worker(self.app) if "worker" in ROLES[self.role] else None
        self._is_stopping = False
        #: The last reload failed.
        self._is_refused = False
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until a signal or a failure of the worker."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number)
        async with self.app:
            # Fail before listening if the store is unusable.
            await self.app.store.count_scenarios()
            await self._serve()
        log.info("stopped")

    async def _serve(self) -> None:
        from scenarioctl.server.servers import build_servers

        servers = build_servers(
            self.app, self.access, self.limits, role=self.role, worker=self._worker
        )
        stop_worker = asyncio.Event()
        stop = asyncio.create_task(self._stop.wait())
        worker: asyncio.Future[Any] = stop
        watch: asyncio.Task[None] | None = None
        try:
            for server in ROLES[self.role]:
                own = [listener for listener in self.listeners if listener.server == server]
                await servers.listen(server, own)
            if self._worker is not None:
                worker = asyncio.create_task(self._worker.run(stop_worker), name="worker")
            if self.notifier.watchdog:
                watch = asyncio.create_task(self._beat(), name="watchdog")
            self._begin()
            # The worker ends by itself only after a failure; systemd then restarts the daemon.
            await asyncio.wait({stop, worker}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_stopping = True
            self.notifier.tell("STOPPING=1", "STATUS=Stopping")
            self._stop.set()
            stop_worker.set()
            # Requests and runs finish concurrently, each within its own time limit.
            results = await asyncio.gather(servers.stop(), worker, return_exceptions=True)
            if watch is not None:
                watch.cancel()
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _begin(self) -> None:
        """Report that the daemon is ready."""
        settle()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        settings = self.app.settings
        told = {
            "version": __version__,
            "role": self.role,
            "pid": os.getpid(),
            "store": without_password(settings.store),
            "store_from": settings.origins.get("store", "default"),
        }
        log.info("started", extra=told)
        for listener in self.listeners:
            self.tell(f"{_SERVERS[listener.server][1]} on {listener.name}")
        self.notifier.tell("READY=1", self._status())

    def _status(self) -> str:
        names = ", ".join(listener.name for listener in self.listeners)
        return f"STATUS=Serving on {names}" + "; the last reload failed" * self._is_refused

    async def _beat(self) -> None:
        """Notify the watchdog of systemd while the worker makes progress; running at all shows that
        the event loop does."""
        while True:
            silent = 0.0 if self._worker is None else time.monotonic() - self._worker.last_beat
            if silent < max(_STUCK, self.notifier.watchdog / 2):
                self.notifier.tell("WATCHDOG=1")
            else:
                log.error("the worker has made no progress for %.0f s (WatchdogSec=)", silent)
            await asyncio.sleep(self.notifier.watchdog / 2)

    def _end(self, number: signal.Signals) -> None:
        """Stop gracefully at the first signal, and at once at the second."""
        if self._is_stopping:
            log.warning("stopped at once by a second %s", number.name)
            for listener in self.listeners:
                listener.close()
            logging.shutdown()
            # Everything acknowledged is in the store. The next process releases the leases of this
            # one.
            os._exit(128 + number)
        self._is_stopping = True
        log.info("stopping at %s: requests and runs in progress may finish", number.name)
        self._stop.set()

    def _reload(self) -> None:
        """Apply config.toml as it is now, or change nothing if it is invalid."""
        if self._is_stopping:
            return
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.notifier.tell("RELOADING=1", f"MONOTONIC_USEC={now}")
        self._is_refused = True
        try:
            self._take_over(self.load())
            self._is_refused = False
        except ScenarioctlError as error:
            # The sentence says it.
            log.error("reload failed, settings unchanged: %s", error)  # noqa: TRY400
        except Exception:
            log.exception("reload failed, settings unchanged; this is a bug")
        self.notifier.tell("READY=1", self._status())

    def _take_over(self, read: Settings) -> None:
        before = self.app.settings
        settings = replace(read, **{name: getattr(before, name) for name in _FIXED})
        # Validate everything before changing anything.
        self.check(settings)
        self.app.renew(settings)
        self.access.change(settings)
        self.limits.change(settings)
        make_room(self.limits)
        names = [field.name for field in fields(Settings) if field.name not in _UNCOUNTED]
        changed = [name for name in names if getattr(settings, name) != getattr(before, name)]
        log.info("settings reloaded; changed: %s", ", ".join(changed) or "none")
        for name in _FIXED:
            if getattr(read, name) != getattr(before, name):
                log.warning("%s changed; restart the daemon to apply it", name)
        set_level(settings.log_level)
