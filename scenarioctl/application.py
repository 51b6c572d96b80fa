"""What every handler receives: settings, store, chains, clock and ids."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.config import Settings
from scenarioctl.errors import ChainUnreachable

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from scenarioctl.chains.client import Client
    from scenarioctl.chains.pool import Pool
    from scenarioctl.outgoing.client import Outgoing
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.stores import Store

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


def _last_change(directory: str) -> int | None:
    """Return when a file last came into *directory* or left it; None if there is no such directory."""
    try:
        return os.stat(directory).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


class Resources:
    """What all sessions of an application share: opened when it is first used, closed once."""

    def __init__(self) -> None:
        self.store: Store | None = None
        #: By the private networks and hosts that http steps may reach.
        self.outgoing: dict[tuple[str, ...], Outgoing] = {}
        #: A chain that is configured anew has another one.
        self.pools: dict[Chain, Pool] = {}
        #: Of chains that are configured otherwise now, while sessions may still use them.
        self.retired: list[Pool] = []
        self.executor: ThreadPoolExecutor | None = None
        #: Chain -> when its folder in the cache last changed, and what was in it then: the newest table, rather a confirmed
        #: one than not, and the version of the newest that nobody confirmed.
        self.tables: dict[str, tuple[int, RuntimeTable | None, int]] = {}

    async def close(self) -> None:
        for pool in (*self.pools.values(), *self.retired):
            await pool.close()
        for outgoing in self.outgoing.values():
            await outgoing.close()
        if self.executor is not None:
            # What has begun goes on to its end, and nobody waits for it.
            self.executor.shutdown(wait=False, cancel_futures=True)
        if self.store is not None:
            await self.store.close()


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
        #: Of a daemon, which creates its store and draws pictures in a process of their own.
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
        self.resources = Resources()
        self._clients: dict[str, Client] = {}
        #: Whether the resources are another's, who closes them.
        self._is_view = False

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.settings.chains)

    @cached_property
    def assets(self) -> Assets:
        return Assets(self.registry)

    @property
    def store(self) -> "Store":
        if self.resources.store is None:
            from scenarioctl.stores import open_store

            # A command that only reads leaves no file and no folder behind.
            self.resources.store = open_store(self.settings.store, create=self.served)
        return self.resources.store

    @property
    def outgoing(self) -> "Outgoing":
        """The client of http steps."""
        private = tuple(self.settings.private_targets)
        found = self.resources.outgoing.get(private)
        if found is None:
            from scenarioctl.outgoing.client import Outgoing

            found = self.resources.outgoing[private] = Outgoing(private_targets=private)
        return found

    async def aside(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what *work* returns, done in a thread since it would hold the event loop too long."""
        import asyncio

        if self.resources.executor is None:
            from concurrent.futures import ThreadPoolExecutor

            self.resources.executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="aside")
        call = partial(work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self.resources.executor, call)

    def breather(self) -> Callable[[], Awaitable[None]]:
        """Return what a long computation awaits again and again, so that a daemon serves others in between."""
        began = time.monotonic()

        async def breathe() -> None:
            nonlocal began
            if time.monotonic() - began > _HOLDING:
                await _sleep(0)
                began = time.monotonic()

        return breathe

    @asynccontextmanager
    async def session(self) -> "AsyncIterator[Application]":
        """Give this application to one request or run of a daemon, with clients of chains that are its own."""
        view = self._view(self.settings)
        try:
            yield view
        finally:
            await view.close()

    def _view(self, settings: Settings) -> "Application":
        """Return this application with *settings* and no clients yet."""
        # What is read only now would be the view's alone.
        _ = self.registry, self.assets
        view = copy(self)
        vars(view).update(settings=settings, _clients={}, _is_view=True)
        return view

    def chains_up(self) -> dict[str, bool]:
        """Return the chains that a daemon has asked, and whether they could be reached the last time."""
        return {chain.name: not pool.backoff.is_resting for chain, pool in self.resources.pools.items()}

    def renew(self, settings: Settings) -> None:
        """Go on with other settings; sessions that have begun go on with theirs, and the store stays the one it is.

        Called on the event loop.  InvalidRequest, and nothing has changed, where the chains cannot be read.
        """
        registry = Registry(settings.chains)
        self.settings = settings
        self.registry = registry
        self.assets = Assets(registry)
        self._clients = {}
        for chain in set(self.resources.pools).difference(registry.all()):
            pool = self.resources.pools.pop(chain)
            pool.retire()
            self.resources.retired.append(pool)

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
        # Joined as text: each transaction asks three times, and a Path would take a fifth of building it.
        changed = _last_change(f"{self.settings.cache}/runtimes/{chain.name}") if chain.genesis else None
        if changed is None:
            return None, 0
        # A table read anew has to compile its encoders anew: each transaction of a long run would pay for it.
        kept = self.resources.tables.get(chain.name)
        if kept is None or kept[0] != changed:
            from scenarioctl.runtime.table import load_bundled
            from scenarioctl.runtime.table_cache import load_cached, load_unconfirmed, newest_unconfirmed

            directory = self.runtime_directory(chain)
            table = load_cached(chain.genesis, directory)
            if table is None and load_bundled(chain.name) is None:
                table = load_unconfirmed(chain.genesis, directory)
            told = newest_unconfirmed(chain.genesis, directory)
            kept = self.resources.tables[chain.name] = (changed, table, told)
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
        pool = self.resources.pools.get(chain)
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

        pool = self.resources.pools.get(chain)
        if pool is None:
            from scenarioctl.chains.pool import Pool

            known, cache = self.known_runtime(chain), self.runtime_directory(chain)
            pool = self.resources.pools[chain] = Pool(chain, known=known, cache=cache)
        return Client(pool)

    def runtime_directory(self, chain: Chain) -> Path:
        """Return where the tables of *chain* are kept: apart from others, since forks and test chains share a genesis."""
        return self.settings.cache / "runtimes" / chain.name

    def unconnected(self) -> "Application":
        """Return this application, but asking no node: for judging a scenario before it is drafted."""
        return self if self.settings.offline else self._view(replace(self.settings, offline=True))

    async def close(self) -> None:
        """Close what was opened; of a session, its clients."""
        for client in self._clients.values():
            await client.close()
        if not self._is_view:
            await self.resources.close()
