"""What every handler receives: settings, store, chains, clock and ids."""

import os
import time
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.config import Settings
from scenarioctl.errors import ChainUnreachable

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.pool import Pool
    from scenarioctl.outgoing.client import Outgoing
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.stores import Store
    from scenarioctl.threads import Threads

T = TypeVar("T")
P = ParamSpec("P")

#: Threads for what would hold the event loop.
_THREADS = 2
#: Seconds for which a long computation may hold the event loop before others have their turn.
_HOLDING = 0.01
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#: A byte -> its letter.
_LETTERS = bytes(ord(_ALPHABET[byte % 62]) for byte in range(256))
#: What is left of a byte above 4 x 62: with these, some letters would come more often.
_UNEVEN = bytes(range(248, 256))


def random_scenario_id() -> str:
    """Return 9 characters of `A-Z a-z 0-9`, unguessable."""
    letters = os.urandom(16).translate(_LETTERS, _UNEVEN)[:9]
    return letters.decode() if len(letters) == 9 else random_scenario_id()


def _keep_to_oneself(words: str) -> None:
    """Tell nobody."""


def _wake_nobody() -> None:
    """Let workers of other processes come upon it by themselves."""


async def _sleep(seconds: float) -> None:
    """Wait on the event loop; no command that asks for nothing gets here."""
    import asyncio

    await asyncio.sleep(seconds)


def _last_change(directory: Path) -> int | None:
    """Return when a file last came into *directory* or left it; None where there is no such directory."""
    try:
        return directory.stat().st_mtime_ns
    except OSError:
        return None


class Session:
    """An application of one's own, for a while; a class, since a generator takes thrice the time for each request."""

    __slots__ = ("_app", "_view")

    def __init__(self, app: "Application") -> None:
        self._app = app

    async def __aenter__(self) -> "Application":
        app = self._app
        self._view = app.view() if app.served else app
        return self._view

    async def __aexit__(self, *_: object) -> None:
        if self._view is not self._app:
            await self._view.close()


class Application:
    """One program run: opened lazily, closed once."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], int] = time.time_ns,
        new_id: Callable[[], str] = random_scenario_id,
        sleep: Callable[[float], Awaitable[None]] = _sleep,
        served: bool = False,
    ) -> None:
        self.settings = settings
        #: Lives on an event loop, which neither store nor chains may block.
        self.served = served
        #: Waits so many seconds; with the clock, what tests put their own in place of.
        self.sleep = sleep
        #: Nanoseconds since 1970, UTC.
        self.clock = clock
        self.new_id = new_id
        #: Told how far a long operation is, in a few words; silent where no edge listens.
        self.tell: Callable[[str], None] = _keep_to_oneself
        #: Tells the worker of this process, if it has one, that a job may be due.
        self.wake: Callable[[], None] = _wake_nobody
        self._clients: dict[str, Client] = {}
        #: A chain that is configured anew has another one.
        self._pools: dict[Chain, Pool] = {}
        #: Of settings that do not hold any more, while sessions may still use them.
        self._outdated: list[Outgoing | Pool] = []
        #: Whether store, pools and the rest are another's, who closes them.
        self._lent = False
        #: Chain -> when its folder in the cache last changed, and what was in it then: the newest table, rather a confirmed
        #: one than not, and the version of the newest that nobody confirmed.
        self._known: dict[str, tuple[int, RuntimeTable | None, int]] = {}

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.settings.chains)

    @cached_property
    def assets(self) -> Assets:
        return Assets(self.registry)

    @cached_property
    def store(self) -> "Store":
        from scenarioctl.stores import open_store

        # A command that only reads leaves no file and no folder behind.
        return open_store(self.settings.store, create=self.served)

    @cached_property
    def outgoing(self) -> "Outgoing":
        """The way of http steps to web servers."""
        from scenarioctl.outgoing.client import Outgoing

        return Outgoing(private_targets=self.settings.private_targets)

    @cached_property
    def _threads(self) -> "Threads":
        from scenarioctl.threads import Threads

        return Threads(_THREADS, name="aside")

    async def aside(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what *work* returns; a daemon has a thread do it, since it would hold the event loop too long."""
        if not self.served:
            return work(*args, **kwargs)
        return await self._threads.run(work, *args, **kwargs)

    def breather(self) -> Callable[[], Awaitable[None]]:
        """Return what a long computation awaits again and again, so that a daemon serves others in between."""
        began = time.monotonic()

        async def breathe() -> None:
            nonlocal began
            if self.served and time.monotonic() - began > _HOLDING:
                await _sleep(0)
                began = time.monotonic()

        return breathe

    def session(self) -> "Session":
        """Give this application to one request or run of a daemon, with clients that are its own: `async with`."""
        return Session(self)

    def view(self, settings: Settings | None = None) -> "Application":
        """Return this application with no clients yet, and where they are given with other *settings*."""
        if self.served:
            # What is opened only now would be the view's alone.
            _ = self.registry, self.assets, self.store, self.outgoing, self._offline_settings, self._threads
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        if settings is not None:
            view.settings = settings
        view._clients = {}
        view._lent = True
        return view

    def chains_up(self) -> dict[str, bool]:
        """Return the chains that a daemon has asked, and whether they could be reached the last time."""
        return {chain.name: not pool.backoff.is_resting for chain, pool in self._pools.items()}

    def renew(self, settings: Settings) -> None:
        """Go on with other settings; sessions that have begun go on with theirs, and the store stays the one it is.

        Called on the event loop.  InvalidRequest, and nothing has changed, where the chains cannot be read.
        """
        registry = Registry(settings.chains)
        self.settings = settings
        self.registry = registry
        self.assets = Assets(registry)
        if "outgoing" in self.__dict__:
            self._outdated.append(self.__dict__.pop("outgoing"))
        self.__dict__.pop("_offline_settings", None)
        self._clients = {}
        for chain in set(self._pools).difference(registry.all()):
            pool = self._pools.pop(chain)
            pool.retire()
            self._outdated.append(pool)

    def known_runtime(self, chain: Chain) -> "RuntimeTable | None":
        """Return the newest runtime table of *chain* in the cache or the bundle, without asking a node.

        One that a single endpoint told of is returned only where there is no other.
        """
        from scenarioctl.runtime.table import load_bundled

        bundled = load_bundled(chain.name)
        cached, _ = self._cached_runtime(chain)
        if cached is not None and bundled is not None:
            return bundled if cached.told_by else max(cached, bundled, key=lambda table: table.spec_version)
        return cached or bundled

    def _cached_runtime(self, chain: Chain) -> "tuple[RuntimeTable | None, int]":
        """Return the table of *chain* in the cache, and the version of the newest that nobody confirmed, 0 without one."""
        directory = self.runtime_directory(chain)
        changed = _last_change(directory) if chain.genesis else None
        if changed is None:
            return None, 0
        # A table read anew has to compile its encoders anew: each transaction of a long run would pay for it.
        kept = self._known.get(chain.name)
        if kept is None or kept[0] != changed:
            from scenarioctl.runtime.table import load_bundled
            from scenarioctl.runtime.table_cache import load_cached, load_unconfirmed, newest_unconfirmed

            table = load_cached(chain.genesis, directory)
            if table is None and load_bundled(chain.name) is None:
                table = load_unconfirmed(chain.genesis, directory)
            told = newest_unconfirmed(chain.genesis, directory)
            kept = self._known[chain.name] = (changed, table, told)
        return kept[1], kept[2]

    def runtime_warnings(self, chain: Chain, table: "RuntimeTable") -> tuple[str, ...]:
        """Return what to say of the trust in *table*, with which something is built or read; nothing where it is sound."""
        if not self.settings.offline:
            if table.told_by and len(chain.endpoints) > 1:
                return (
                    f"only one endpoint of {chain.name} gave the runtime table of {table}; no second one has confirmed it",
                )
            return ()
        if table.told_by:
            return (
                f"the runtime table of {table} comes from one endpoint of {chain.name} and is not confirmed; "
                f"scenarioctl chain refresh {chain.name} fetches and confirms it",
            )
        told = self._cached_runtime(chain)[1]
        if told > table.spec_version:
            return (
                f"this uses {table}, though an endpoint of {chain.name} told of version {told}, which is not confirmed; "
                f"scenarioctl chain refresh {chain.name} fetches and confirms it",
            )
        return ()

    def older_runtime(self, chain: Chain, spec_version: int) -> "RuntimeTable | None":
        """Return the table of that version of *chain*, None where it is not on this machine (any more)."""
        from scenarioctl.runtime.table import load_bundled
        from scenarioctl.runtime.table_cache import load_cached, load_unconfirmed

        bundled = load_bundled(chain.name)
        if bundled is not None and bundled.spec_version == spec_version:
            return bundled
        pool = self._pools.get(chain)
        table = pool.tables.of_version(spec_version) if pool is not None else None
        if table is not None or not chain.genesis:
            return table
        directory = self.runtime_directory(chain)
        # What one endpoint told of is better than nothing here: it may be what a draft was made with.
        return load_cached(chain.genesis, directory, spec_version=spec_version) or load_unconfirmed(
            chain.genesis, directory, spec_version=spec_version
        )

    async def runtime(self, chain: Chain) -> "RuntimeTable":
        """Return the table to build with: the connected chain's, or offline the newest known."""
        if not self.settings.offline:
            try:
                return await self.client(chain).table()
            except ChainUnreachable as error:
                if self.known_runtime(chain) is None:
                    raise
                raise ChainUnreachable(
                    error.statement, advice="; --offline builds with the runtime table at hand"
                ) from None
        table = self.known_runtime(chain)
        if table is None:
            raise ChainUnreachable(
                f"{chain.name} has no runtime table in the cache or the bundle, and --offline forbids asking a node",
                advice=": leave it out",
            )
        return table

    def client(self, chain: Chain) -> "Client":
        """Return the connection to *chain*, opened when it is first asked; ChainUnreachable with `--offline`."""
        if self.settings.offline:
            raise ChainUnreachable(
                f"{chain.name} was not asked, --offline forbids it", advice=": leave --offline out"
            )
        client = self._clients.get(chain.name)
        if client is None:
            client = self._clients[chain.name] = self._new_client(chain)
        return client

    def _new_client(self, chain: Chain) -> "Client":
        from scenarioctl.chains.client import Client

        pool = self._pools.get(chain)
        if pool is None:
            from scenarioctl.chains.pool import Pool

            known, cache = self.known_runtime(chain), self.runtime_directory(chain)
            pool = self._pools[chain] = Pool(chain, known=known, cache=cache)
        return Client(pool)

    def runtime_directory(self, chain: Chain) -> Path:
        """Return where the tables of *chain* are kept: apart from others, since forks and test chains share a genesis."""
        return self.settings.cache / "runtimes" / chain.name

    def unconnected(self) -> "Application":
        """Return this application, but asking no node: for judging a scenario before it is drafted."""
        return self if self.settings.offline else self.view(self._offline_settings)

    @cached_property
    def _offline_settings(self) -> Settings:
        from dataclasses import replace

        return replace(self.settings, offline=True)

    async def close(self) -> None:
        """Close what was opened; of a session, its clients."""
        for client in self._clients.values():
            await client.close()
        if self._lent:
            return
        for pool in self._pools.values():
            await pool.close()
        for outdated in self._outdated:
            await outdated.close()
        if "outgoing" in self.__dict__:
            await self.outgoing.close()
        if "_threads" in self.__dict__:
            self._threads.close()
        if "store" in self.__dict__:
            await self.store.close()
