"""The daemon process: sockets, worker, signals, and notifications to systemd.

It imports the whole program before it listens, and keeps the garbage collector from scanning it.
After an upgrade on disk, a module imported on first use would be of another version than the rest.
"""

import asyncio
import faulthandler
import gc
import linecache
import logging
import os
import resource
import signal
import time
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    MutableMapping,
)
from contextlib import suppress
from dataclasses import fields, replace
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, TypeVar

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.chains.registry import find_incomplete
from scenarioctl.config import Settings, without_password
from scenarioctl.errors import ScenarioctlError
from scenarioctl.outgoing.guard import Guard
from scenarioctl.server.access import Access, check_binding
from scenarioctl.server.limits import Limits
from scenarioctl.server.listening import ListeningSocket, open_listeners, take_activated
from scenarioctl.server.logs import set_level, start_logging
from scenarioctl.server.systemd import SystemdNotifier

#: Libraries that functions import. `tests/test_preloading.py` fails if one is missing here.
_LIBRARIES = (
    "Crypto.Hash.keccak",
    "base58",
    "blake3",
    "cronsim",
    "difflib",
    "ecdsa",
    "html",
    "lz4.frame",
    "platformdirs",
    "resvg_py",
    "segno",
    "sr25519",
    "ssl",
    "substrateinterface",
    "tempfile",
    "tomli_w",
    "tomlkit",
    "tomllib",
    "uvloop",
    "xxhash",
    "zoneinfo",
)
#: The store on a PostgreSQL server: its package, and other modules and libraries that it needs.
_SERVER_STORE = "scenarioctl.stores.postgres"
_SERVER_DISPATCH = "scenarioctl.worker.procrastinate_bell"
_SERVER_LIBRARIES = ("procrastinate.schema", "psycopg_pool")
#: Packages and modules that a daemon doesn't need.
_NOT_SERVED = ("scenarioctl.cli", "scenarioctl.__main__", _SERVER_STORE, _SERVER_DISPATCH)
#: Threshold of the youngest generation of the garbage collector. A request makes hundreds of
#: short-lived objects, for which Python's default of 700 starts a collection again and again.
_YOUNG = 10_000


def preload(store: str = "") -> None:
    """Import everything that handlers, the worker, the pages and *store* need, and read the
    program's own data files."""
    import scenarioctl
    from scenarioctl.chains import asset_rows
    from scenarioctl.config import is_server
    from scenarioctl.files import read_text
    from scenarioctl.server.endpoints import ENDPOINTS
    from scenarioctl.server.openapi import describe
    from scenarioctl.transactions import fact_ages
    from scenarioctl.transactions.transfer import build, ways

    _import_all(scenarioctl)
    for library in _LIBRARIES:
        # The function that needs a missing library reports it.
        with suppress(ImportError):
            import_module(library)
    if is_server(store):
        # The store reports that its libraries are missing.
        with suppress(ImportError):
            _import_all(import_module(_SERVER_STORE))
            for library in (_SERVER_DISPATCH, *_SERVER_LIBRARIES):
                import_module(library)
    for file in (asset_rows.FILE, ways.FILE, fact_ages.MANIFEST, build.FEES):
        read_text(file)
    # The descriptions of fields come from source files.
    describe(ENDPOINTS)
    linecache.clearcache()


def _import_all(package: ModuleType) -> None:
    for found in iter_modules(package.__path__, f"{package.__name__}."):
        if found.name not in _NOT_SERVED:
            module = import_module(found.name)
            if found.ispkg:
                _import_all(module)


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
#: Seconds for requests to finish when the daemon stops.
_GRACE = 10.0
#: Open files besides client connections: the store, nodes, outgoing requests.
_OTHER_FILES = 1024
#: Seconds without a heartbeat after which the worker may count as stuck.
_STUCK = 10.0
#: Settings that only a restart changes.
_FIXED = (
    "store",
    "store_listen",
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
    supervisor = SystemdNotifier(environment)
    if supervisor.watchdog:
        # Log a traceback when the watchdog sends SIGABRT.
        faulthandler.enable()
    listeners = _listen(settings, role, environment)
    try:
        access, limits = Access(settings), Limits(settings)
        exposed = _exposed(listeners)
        check_binding(access, exposed, force=force)
        Guard(settings.private_targets)
        if exposed and not access.tokens:
            log.warning(
                "no token is configured: anyone who reaches %s can read, create, run and broadcast",
                exposed[0],
            )
        _warn_of_incomplete_chains(settings)
        make_room(limits)
        preload(settings.store)
        daemon = Daemon(
            Application(settings, served=True, role=role),
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
    """Run *serving* on uvloop, which needs half the CPU time of asyncio's loop for sockets, and
    return its result."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serving)


def _listen(
    settings: Settings, role: str, environment: MutableMapping[str, str]
) -> dict[str, list[ListeningSocket]]:
    """Return the sockets of each server of *role*: those from systemd, else those of the
    settings."""
    activated = take_activated(environment)
    listeners: dict[str, list[ListeningSocket]] = {}
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


def _all(listeners: dict[str, list[ListeningSocket]]) -> Iterable[ListeningSocket]:
    return (listener for each in listeners.values() for listener in each)


def _exposed(listeners: dict[str, list[ListeningSocket]]) -> list[str]:
    return [listener.name for listener in _all(listeners) if listener.is_exposed]


def _warn_of_incomplete_chains(settings: Settings) -> None:
    for name, reason in find_incomplete(settings.chains).items():
        log.warning("chain %s is left out: it %s", name, reason)


def make_room(limits: Limits) -> None:
    """Raise the limit of open files to what the connections need, or else lower the limit of
    connections."""
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
    """A daemon with open sockets, until it stops."""

    def __init__(
        self,
        app: Application,
        access: Access,
        limits: Limits,
        listeners: dict[str, list[ListeningSocket]],
        supervisor: SystemdNotifier,
        *,
        load: Callable[[], Settings],
        role: str,
        force: bool,
        tell: Callable[[str], None],
    ) -> None:
        from scenarioctl.worker.worker import Worker

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
        #: The last reload failed.
        self._is_refused = False
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until a signal or a failure of the worker."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number)
        try:
            # Fail before listening if the store is unusable.
            await self._app.store.count_scenarios()
            await self._serve()
        finally:
            await self._app.close()
        log.info("stopped")

    async def _serve(self) -> None:
        from scenarioctl.server.servers import build_servers

        servers = build_servers(
            self._app, self._access, self._limits, role=self._role, worker=self._worker
        )
        stop_worker = asyncio.Event()
        worker: asyncio.Task[None] | None = None
        watches: list[asyncio.Task[None]] = []
        try:
            for server, listeners in self._listeners.items():
                await servers.listen(server, listeners)
            if self._worker is not None:
                worker = asyncio.create_task(self._worker.run(stop_worker), name="worker")
            if self._supervisor.watchdog:
                watches.append(asyncio.create_task(self._beat(), name="watchdog"))
            self._begin()
            stop = asyncio.create_task(self._stop.wait())
            # The worker ends by itself only after a failure; systemd then restarts the daemon.
            await asyncio.wait({stop, worker or stop}, return_when=asyncio.FIRST_COMPLETED)
            stop.cancel()
        finally:
            self._is_stopping = True
            self._supervisor.stopping()
            stop_worker.set()
            # Requests and runs finish concurrently, each within its own time limit.
            ends: list[Awaitable[object]] = [servers.stop(_GRACE)]
            if worker is not None:
                ends.append(worker)
            results = await asyncio.gather(*ends, return_exceptions=True)
            for watch in watches:
                watch.cancel()
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _begin(self) -> None:
        """Report that the daemon is ready."""
        settle()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        settings = self._app.settings
        told = {"version": __version__, "role": self._role, "pid": os.getpid()}
        store = {
            "store": without_password(settings.store),
            "store_from": settings.origins.get("store", "default"),
        }
        log.info("started", extra=told | store)
        for server, listeners in self._listeners.items():
            for listener in listeners:
                self._tell(f"{_SERVERS[server][1]} on {listener.name}")
        self._supervisor.ready(self._status())

    def _status(self) -> str:
        names = ", ".join(listener.name for listener in _all(self._listeners))
        running = f"; {self._worker.running} runs in progress" if self._worker is not None else ""
        refused = "; the last reload failed, see the log" * self._is_refused
        return f"Serving on {names}{running}{refused}"

    async def _beat(self) -> None:
        """Notify the watchdog of systemd while the worker makes progress; running at all shows that
        the event loop does."""
        while True:
            silent = 0.0 if self._worker is None else time.monotonic() - self._worker.last_beat
            if silent < max(_STUCK, self._supervisor.watchdog / 2):
                self._supervisor.beat(self._status())
            else:
                log.error(
                    (
                        "the worker has made no progress for %.0f s; the watchdog of systemd "
                        "is not notified"
                    ),
                    silent,
                )
            await asyncio.sleep(self._supervisor.watchdog / 2)

    def _end(self, number: signal.Signals) -> None:
        """Stop gracefully at the first signal, and at once at the second."""
        if self._is_stopping:
            log.warning("stopped at once by a second %s", number.name)
            for listener in _all(self._listeners):
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
        self._supervisor.reloading()
        self._is_refused = True
        try:
            self._take_over(self._load())
            self._is_refused = False
        except ScenarioctlError as error:
            # The sentence says it.
            log.error("reload failed, settings unchanged: %s", error)  # noqa: TRY400
        except Exception:
            log.exception("reload failed, settings unchanged; this is a bug")
        self._supervisor.ready(self._status())

    def _take_over(self, read: Settings) -> None:
        before = self._app.settings
        settings = replace(read, **{name: getattr(before, name) for name in _FIXED})
        # Validate everything before changing anything.
        self._validate(settings)
        self._app.renew(settings)
        _warn_of_incomplete_chains(settings)
        self._access.change(settings)
        self._limits.change(settings)
        make_room(self._limits)
        names = [field.name for field in fields(Settings) if field.name not in _UNCOUNTED]
        changed = [name for name in names if getattr(settings, name) != getattr(before, name)]
        log.info("settings reloaded; changed: %s", ", ".join(changed) or "none")
        for name in _FIXED:
            if getattr(read, name) != getattr(before, name):
                log.warning("%s changed; restart the daemon to apply it", name)
        set_level(settings.log_level)

    def _validate(self, settings: Settings) -> None:
        check_binding(Access(settings), _exposed(self._listeners), force=self._force)
        Guard(settings.private_targets)
