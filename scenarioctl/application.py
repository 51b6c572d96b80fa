"""The application that every handler receives: settings, store, chains, clock and ids."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
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
    from scenarioctl.model.acting import Acting
    from scenarioctl.outgoing.client import Outgoing
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.stores.store import Store

T = TypeVar("T")
P = ParamSpec("P")

#: Threads for work that would block the event loop.
_THREADS = 2
#: Seconds that a long computation may block the event loop before it yields.
_LONGEST_STEP = 0.01
#: Rounds of a loop that is costly work.
_MANY_ROUNDS = 100
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def random_scenario_id() -> str:
    """Return 9 unguessable characters of `A-Z a-z 0-9`, which no command takes for hex."""
    # Most commands make none, and it takes 5 ms to load.
    import secrets

    while True:
        id = "".join(secrets.choice(_ALPHABET) for _ in range(9))
        if id[:2] not in ("0x", "0X"):
            return id


def _ignore_progress(words: str) -> None:
    """Show no progress."""


async def _sleep(seconds: float) -> None:
    """Wait on the event loop."""
    import asyncio

    await asyncio.sleep(seconds)


def _last_change(directory: str) -> int | None:
    """Return when a file was last added to or removed from *directory*; None if there is no such
    directory."""
    try:
        return os.stat(directory).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


class Resources:
    """Resources that all sessions of an application share.  Each is opened on first use and closed
    once."""

    def __init__(self) -> None:
        self.store: Store | None = None
        #: HTTP clients of http steps, by the private networks and hosts that they may reach; and
        #: those of notifications.
        self.outgoing: dict[tuple[str, ...], Outgoing] = {}
        self.notifying: dict[tuple[str, ...], Outgoing] = {}
        #: Connection pools.  A chain whose configuration changed gets a new one.
        self.pools: dict[Chain, Pool] = {}
        #: Pools of chains whose configuration changed.  Sessions may still use them.
        self.retired: list[Pool] = []
        self.executor: ThreadPoolExecutor | None = None
        #: Chain -> when its directory in the cache last changed, the newest table in it (a
        #: confirmed one if there is any), and the version of the newest unconfirmed table.
        self.tables: dict[str, tuple[int, RuntimeTable | None, int]] = {}

    async def close(self) -> None:
        for pool in (*self.pools.values(), *self.retired):
            await pool.close()
        if self.executor is not None:
            # Work in progress finishes in the background.
            self.executor.shutdown(wait=False, cancel_futures=True)
        if self.store is not None:
            await self.store.close()


class Application:
    """One run of the program.  Resources are opened on first use; `close` closes them."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], int] = time.time_ns,
        new_id: Callable[[], str] = random_scenario_id,
        sleep: Callable[[float], Awaitable[None]] = _sleep,
        served: bool = False,
        role: str = "command",
    ) -> None:
        self.settings = settings
        #: What a daemon serves, as the store's server shows it: `all`, `api` or `worker`.
        self.role = role
        #: Whether this is a daemon: it creates its store at once, and draws pictures in a separate
        #: process.
        self.served = served
        #: Waits for a number of seconds.  Tests replace it, and the clock.
        self.sleep = sleep
        #: Nanoseconds since 1970, UTC.
        self.clock = clock
        self.new_id = new_id
        #: Shows the progress of a long operation, in a few words.
        self.tell: Callable[[str], None] = _ignore_progress
        #: Holds a place for costly work, with `async with`: a daemon has few of them for each
        #: client.
        self.costly: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
        #: Who acts for another account in what is drafted; None where its signer acts for
        #: themselves.
        self.acting: Acting | None = None
        #: Who signs what is drafted, as the request names them; empty where it doesn't.
        self.signer = ""
        self.resources = Resources()
        self._clients: dict[str, Client] = {}
        #: Whether another application owns the resources and closes them.
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

            self.resources.store = open_store(
                self.settings.store,
                # A command that only reads creates no file and no directory.
                create=self.served,
                wall=self.clock,
                pool=self.settings.store_pool if self.served else 0,
                statement_seconds=self.settings.store_statement_seconds,
                role=self.role,
            )
        return self.resources.store

    @property
    def existing_store(self) -> "Store":
        """The store; NotFound if this command names a file that doesn't exist, which would look
        like an empty store."""
        if not self.served and self.settings.origins.get("store", "default") not in (
            "default",
            "config.toml",
        ):
            from scenarioctl.stores import require_file

            require_file(self.settings.store)
        return self.store

    @property
    def outgoing(self) -> "Outgoing":
        """The client of http steps."""
        return self._http_client(self.resources.outgoing)

    @property
    def notifying(self) -> "Outgoing":
        """The client of notifications, with the same rules: their receivers use up nothing that
        runs wait for."""
        return self._http_client(self.resources.notifying)

    def _http_client(self, clients: "dict[tuple[str, ...], Outgoing]") -> "Outgoing":
        private = tuple(self.settings.private_targets)
        found = clients.get(private)
        if found is None:
            from scenarioctl.outgoing.client import Outgoing

            found = clients[private] = Outgoing(private_targets=private)
        return found

    async def aside(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *work* in a thread, because it would block the event loop, and return its result.

        If a daemon has no place for it, NotReady. A client that disconnects keeps its place until
        the thread has ended.
        """
        import asyncio

        if self.resources.executor is None:
            from concurrent.futures import ThreadPoolExecutor

            self.resources.executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="aside")
        async with self.costly():
            call = partial(work, *args, **kwargs)
            running = asyncio.get_running_loop().run_in_executor(self.resources.executor, call)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                await asyncio.wait({running})
                # An exception that nobody looks at would be logged.
                running.exception()
                raise

    @asynccontextmanager
    async def long_loop(self, rounds: int) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Give a function for a loop to await in each round, so that a daemon serves other requests
        in between.

        A loop of many *rounds* is costly work.
        """
        began = time.monotonic()

        async def breathe() -> None:
            nonlocal began
            if time.monotonic() - began > _LONGEST_STEP:
                await _sleep(0)
                began = time.monotonic()

        async with self.costly() if rounds > _MANY_ROUNDS else nullcontext():
            yield breathe

    def session(self) -> "Application":
        """Return a view of this application for one request or run, with its own chain clients:
        `async with`."""
        return self._view(self.settings)

    async def __aenter__(self) -> "Application":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _view(self, settings: Settings) -> "Application":
        """Return a view of this application with *settings* and no clients."""
        # Read them now, so that all views share them.
        _ = self.registry, self.assets
        view = object.__new__(Application)
        vars(view).update(vars(self), settings=settings, _clients={}, _is_view=True)
        return view

    def acting_as(self, acting: "Acting | None", *, signer: str = "") -> "Application":
        """Return a view of this application in which what is drafted is made as another account, or
        as the *signer* themselves."""
        if acting == self.acting and signer in ("", self.signer):
            return self
        view = self._view(self.settings)
        # The clients are one request's.
        vars(view).update(acting=acting, signer=signer or self.signer, _clients=self._clients)
        return view

    def mover(self, sender: bytes) -> bytes:
        """Return whose assets move in what is drafted and *sender* signs."""
        return sender if self.acting is None else self.acting.account

    def chains_up(self) -> dict[str, bool]:
        """Return each chain that was asked, and whether it could be reached the last time."""
        return {
            chain.name: not pool.backoff.is_resting for chain, pool in self.resources.pools.items()
        }

    def renew(self, settings: Settings) -> None:
        """Use other settings from now on.  Sessions in progress keep theirs, and the store stays
        open.

        Call it on the event loop.  Raises InvalidRequest, and changes nothing, if the chains in
        *settings* are invalid.
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
        """Return the newest runtime table of *chain* in the cache or the bundle, without asking a
        node.

        An unconfirmed table, from a single endpoint, is returned only if there is no other.
        """
        from scenarioctl.runtime.table import load_bundled

        bundled = load_bundled(chain.name)
        cached, _ = self._cached_runtime(chain)
        if cached is not None and bundled is not None:
            return (
                bundled
                if cached.told_by
                else max(cached, bundled, key=lambda table: table.spec_version)
            )
        return cached or bundled

    def _cached_runtime(self, chain: Chain) -> "tuple[RuntimeTable | None, int]":
        """Return the cached table of *chain*, and the version of the newest unconfirmed table (0 if
        there is none)."""
        # Joined as text: Path objects took a fifth of the time of building a transaction.
        changed = (
            _last_change(f"{self.settings.cache}/runtimes/{chain.name}") if chain.genesis else None
        )
        if changed is None:
            return None, 0
        # Reading a table takes milliseconds, and its encoders are compiled again.
        kept = self.resources.tables.get(chain.name)
        if kept is None or kept[0] != changed:
            from scenarioctl.runtime.table import load_bundled
            from scenarioctl.runtime.table_cache import (
                load_cached,
                load_unconfirmed,
                newest_unconfirmed,
            )

            directory = self.runtime_directory(chain)
            table = load_cached(chain.genesis, directory)
            if table is None and load_bundled(chain.name) is None:
                table = load_unconfirmed(chain.genesis, directory)
            told = newest_unconfirmed(chain.genesis, directory)
            kept = self.resources.tables[chain.name] = (changed, table, told)
        return kept[1], kept[2]

    def runtime_warnings(self, chain: Chain, table: "RuntimeTable") -> tuple[str, ...]:
        """Return warnings about *table*, if it is unconfirmed or outdated."""
        if not self.settings.offline:
            if table.told_by and len(chain.endpoints) > 1:
                return (
                    (
                        f"Only one endpoint of {chain.title} provided the runtime table of "
                        f"{table}. No second endpoint has confirmed it."
                    ),
                )
            return ()
        if table.told_by:
            return (
                f"The runtime table of {table} comes from a single endpoint of "
                f"{chain.title} and is not confirmed. "
                f"Run `scenarioctl chain refresh {chain.name}` to confirm it.",
            )
        told = self._cached_runtime(chain)[1]
        if told > table.spec_version:
            return (
                f"This uses {table}, but an endpoint of {chain.title} reported version "
                f"{told}, which is not confirmed. "
                f"Run `scenarioctl chain refresh {chain.name}` to fetch and confirm it.",
            )
        return ()

    def warn_of_old_facts(
        self, chain: Chain, table: "RuntimeTable", *others: Chain
    ) -> tuple[str, ...]:
        """Return a warning if *table* is old and used offline, or other facts about *chain* and
        *others*, if there are any.

        InvalidRequest if one is older than a year and `old_facts` is off.
        """
        if not self.settings.offline:
            return ()
        from scenarioctl.transactions import fact_ages

        changed, cached, _ = self.resources.tables.get(chain.name, (0, None, 0))
        read = fact_ages.day_of(changed) if table is cached else None
        if others:
            oldest = fact_ages.find_oldest((chain, *others), self.registry, {chain.name: read})
        else:
            # Nothing but the runtime decides what such a call means.
            fact = fact_ages.find_table_fact(chain.name, read)
            oldest = None if fact is None else (fact, chain)
        today = fact_ages.day_of(self.clock())
        return fact_ages.judge_old_facts(oldest, today=today, allowed=self.settings.old_facts)

    def older_runtime(self, chain: Chain, spec_version: int) -> "RuntimeTable | None":
        """Return the table of that version of *chain*; None if it isn't on this machine."""
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
        # An unconfirmed table will do: a draft may have been made with it.
        return load_cached(chain.genesis, directory, spec_version=spec_version) or load_unconfirmed(
            chain.genesis, directory, spec_version=spec_version
        )

    async def runtime(self, chain: Chain) -> "RuntimeTable":
        """Return the table to build with: the connected chain's current one; offline the newest
        known."""
        if not self.settings.offline:
            try:
                return await self.client(chain).table()
            except ChainUnreachable as error:
                if self.known_runtime(chain) is None:
                    raise
                raise ChainUnreachable(
                    error.statement, advice="`offline` builds with the stored runtime table."
                ) from None
        table = self.known_runtime(chain)
        if table is None:
            raise ChainUnreachable(
                f"no runtime table of {chain.title} is stored, and a node can't be asked offline",
                advice=(
                    f"{self.settings.online_advice[:-1]}, or run `scenarioctl chain refresh "
                    f"{chain.name}` once with a connection."
                ),
            )
        return table

    def client(self, chain: Chain) -> "Client":
        """Return the client of *chain*, which connects on first use; ChainUnreachable with
        `--offline`."""
        client = self._clients.get(chain.name)
        if client is None or self.settings.offline:
            from scenarioctl.chains.client import Client

            client = self._clients[chain.name] = Client(self.pool(chain))
        return client

    def pool(self, chain: Chain) -> "Pool":
        """Return the connection to *chain*; ChainUnreachable with `--offline`."""
        if self.settings.offline:
            raise ChainUnreachable(
                f"{chain.title} can't be asked offline", advice=self.settings.online_advice
            )
        pool = self.resources.pools.get(chain)
        if pool is None:
            from scenarioctl.chains.pool import Pool

            known, cache = self.known_runtime(chain), self.runtime_directory(chain)
            pool = self.resources.pools[chain] = Pool(chain, known=known, cache=cache)
        return pool

    def runtime_directory(self, chain: Chain) -> Path:
        """Return the cache directory for the tables of *chain*.  It goes by name, since forks share
        a genesis."""
        return self.settings.cache / "runtimes" / chain.name

    def unconnected(self) -> "Application":
        """Return an offline view of this application, to validate a scenario before it is
        drafted."""
        return self if self.settings.offline else self._view(replace(self.settings, offline=True))

    async def close(self) -> None:
        """Close everything that was opened, unless it is a session's."""
        if not self._is_view:
            await self.resources.close()
