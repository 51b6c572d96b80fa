"""A chain as handlers ask it: storage, runtime APIs, blocks, by name and decoded with its own runtime's types."""

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from scenarioctl.chains.connection import OPENING, PROMPT, SMALL, Connection, Request, Silence, connect
from scenarioctl.chains.registry import Chain
from scenarioctl.chains.tables import Runs, Tables, runtime_of
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest, shorten
from scenarioctl.runtime.storage_keys import StorageKey, read_key, storage_key
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.table_cache import endpoint_digest, load_cached, save_cached

T = TypeVar("T")

#: Seconds after which a table that only one endpoint gave is asked for again, where a second one may confirm it by then: of
#: two endpoints one has a new runtime a little earlier.
UNCONFIRMED = 600.0
#: So many keys, and so many values, are asked for at once.
PAGE = 500
#: Seconds that a second endpoint may take to confirm the metadata of the first.
CONFIRMING = 10.0
_END = object()


class Client:
    """One chain, connected when first asked, reconnected once where a connection is lost.

    Its methods are async so that a daemon can run them in threads (`chains/pool.py`); here each waits on the calling
    thread.
    """

    def __init__(
        self,
        chain: Chain,
        *,
        known: RuntimeTable | None = None,
        cache: Path,
        tables: Tables | None = None,
    ) -> None:
        """Begin with the table that is *known*, or with *tables* that others use too."""
        self.chain = chain
        #: Seconds for opening an endpoint.
        self.opening = OPENING
        #: Seconds of silence after which a small question is asked elsewhere.
        self.prompt = PROMPT
        #: Seconds for which a chain is believed to run what it said that it runs.
        self.believed = 1.0
        self.tables = tables or Tables(known)
        self._cache = cache
        self._connection: Connection | None = None
        #: To the endpoint that is asked to confirm what another one told.
        self._second: Connection | None = None
        self._avoided: tuple[str, ...] = ()
        #: Subscriptions that go on, on the connection that they were begun on.
        self._holds = 0

    async def _run(self, action: Callable[[], T]) -> T:
        return action()

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of one JSON-RPC call that only reads; asked again elsewhere where the node is lost."""
        return (await self.call_many([(method, params)]))[0]

    async def call_many(self, requests: Sequence[Request]) -> list[Any]:
        """Return the results of several reading calls, in one round trip."""
        return await self._run(lambda: self._ask(requests))

    async def submit(self, method: str, *params: Any) -> Any:
        """Return the result of a call that acts: never asked twice, whatever becomes of the answer."""
        return await self._run(lambda: self._open().call(method, *params))

    async def subscribe(
        self, method: str, *params: Any, deadline: float | None = None, ended_by: str = ""
    ) -> AsyncGenerator[Any]:
        """Yield what the node tells of a subscription, until *deadline* (time.monotonic); never subscribed to twice.

        Whoever leaves before its end closes it (`aclosing`): *ended_by* is the method that tells the node so.
        """
        await self._hold()
        notices: Iterator[Any] = iter(())

        def begin() -> Iterator[Any]:
            return self._open().subscribe(method, *params, deadline=deadline, ended_by=ended_by)

        try:
            notices = await self._run(begin)
            while (notice := await self._run(lambda: next(notices, _END))) is not _END:
                yield notice
        finally:
            await self._let_go(notices)

    async def _hold(self) -> None:
        """Keep the connection: what a subscription tells comes on the one that it was begun on."""
        self._holds += 1

    async def _let_go(self, notices: Any) -> None:
        """End a subscription; nothing where it was not begun."""
        self._holds -= 1
        if hasattr(notices, "close"):
            notices.close()

    async def table(self) -> RuntimeTable:
        """Return the table of the runtime that the chain has now."""
        return await self._run(self._current_table)

    async def table_at(self, block: str) -> RuntimeTable:
        """Return the table of the runtime that the block with the hash *block* has, which may be an older one.

        ChainRefused where the node does not keep the state of that block any more.
        """
        return await self._run(lambda: self._older_table(block))

    async def fetch_table(self) -> RuntimeTable:
        """Return the table that the node itself gives, whatever is known already, and keep it in the cache."""
        return await self._run(self._refresh_table)

    async def find_block(self, block: str) -> str:
        """Return the hash of the block with that number or hash; InvalidRequest where the chain has none."""
        if not block.startswith("0x"):
            found = await self.call("chain_getBlockHash", int(block))
            if isinstance(found, str):
                return found
            newest, _ = await self.head()
            raise InvalidRequest(
                f"block {block} is not on {self.chain.name} yet, expected at most {newest}, its newest"
            )
        if await self.call("chain_getHeader", block) is None:
            raise InvalidRequest(
                f"block {block} is not known on {self.chain.name} to {self.endpoint}, expected the hash or the number of one of its blocks"
            )
        return block

    async def version(self) -> dict[str, Any]:
        """Return `state_getRuntimeVersion` as it is now, or was a moment ago."""
        return await self._run(self._current_version)

    @property
    def endpoint(self) -> str:
        return self._connection.endpoint if self._connection else ""

    @property
    def latency(self) -> float:
        """Seconds that opening and the first answers took."""
        return self._connection.latency if self._connection else 0.0

    async def head(self) -> tuple[int, str]:
        """Return number and hash of the best block."""
        # One after the other: asked at once, they could be of two blocks.
        block_hash = await self.call("chain_getBlockHash")
        header = await self.call("chain_getHeader", block_hash)
        if not isinstance(block_hash, str):
            raise ChainUnreachable(f"{self.chain.name} gave no head: {shorten(block_hash)}")
        return self.read_number(header), block_hash

    def read_number(self, header: object) -> int:
        """Return the number in the header of a block."""
        try:
            return int(header["number"], 16)  # type: ignore[index]
        except (TypeError, KeyError, ValueError):
            raise ChainUnreachable(f"{self.chain.name} gave no head: {shorten(header)}") from None

    async def storage(self, pallet: str, entry: str, *keys: Any, at: str | None = None) -> Any:
        """Return a storage value; the runtime's default, or None, where nothing is stored."""
        return (await self.storages([(pallet, entry, keys)], at=at))[0]

    async def storages(
        self, wanted: Sequence[tuple[str, str, Sequence[Any]]], *, at: str | None = None
    ) -> list[Any]:
        """Return several storage values, in one round trip."""
        table = await self.table()
        keys = [storage_key(table, pallet, entry, parts) for pallet, entry, parts in wanted]
        block = () if at is None else (at,)
        answers = await self.call_many([("state_getStorage", (key.hex, *block)) for key in keys])
        return [self._value(table, key, answer) for key, answer in zip(keys, answers, strict=True)]

    async def entries(
        self, pallet: str, entry: str, *partial: Any, limit: int = 1000, at: str | None = None
    ) -> list[tuple[list[Any], Any]]:
        """Return keys and values of a map that begin with *partial*, at most *limit*, in the order of the trie.

        A part of a key whose hash does not tell it is None.
        """
        table = await self.table()
        prefix = storage_key(table, pallet, entry, partial, partial=True)
        block = at if at is not None else (await self.head())[1]
        found: list[str] = []
        while len(found) < limit:
            start = found[-1] if found else prefix.hex
            page = await self.call(
                "state_getKeysPaged", prefix.hex, min(PAGE, limit - len(found)), start, block
            )
            found += page or ()
            if not page or len(page) < PAGE:
                break
        answers: list[Any] = []
        for begin in range(0, len(found), PAGE):
            # Each page is an exchange, with a deadline of its own.
            page = found[begin : begin + PAGE]
            answers += await self.call_many([("state_getStorage", (key, block)) for key in page])
        return [
            (read_key(table, prefix.entry, key), self._value(table, prefix, answer))
            for key, answer in zip(found, answers, strict=True)
        ]

    async def runtime_call(self, api: str, method: str, *arguments: Any, at: str | None = None) -> Any:
        """Return the decoded answer of a runtime API; arguments by the value conventions of `runtime/scale.py`."""
        table = await self.table()
        described = table.api_method(api, method)
        if len(arguments) != len(described.inputs):
            names = ", ".join(field.name for field in described.inputs)
            raise InvalidRequest(
                f"{described.api}.{described.name} takes {len(described.inputs)} parameters ({names}), not {len(arguments)}"
            )
        data = b"".join(
            table.encode(field.type_id, value)
            for field, value in zip(described.inputs, arguments, strict=True)
        )
        return await self.raw_runtime_call(
            f"{described.api}_{described.name}", data, described.output_type, at=at
        )

    async def raw_runtime_call(
        self, name: str, data: bytes, output_type: int, *, at: str | None = None
    ) -> Any:
        """Return the decoded answer of the runtime API *name* for arguments that are bytes already."""
        table = await self.table()
        block = () if at is None else (at,)
        return self.decode(table, output_type, await self.call("state_call", name, "0x" + data.hex(), *block))

    def decode(self, table: RuntimeTable, type_id: int, answer: object) -> Any:
        """Return the value in the 0x hex that a node answered; one that is none is the node's fault."""
        try:
            data = bytes.fromhex(answer[2:]) if isinstance(answer, str) and answer[:2] == "0x" else None
        except ValueError:
            data = None
        if data is None:
            raise ChainUnreachable(f"{self.chain.name} did not answer with bytes: {shorten(answer)}")
        try:
            return table.decode(type_id, data)
        except InvalidRequest as error:
            raise ChainUnreachable(
                f"{self.chain.name} did not answer with a {table.type_name(type_id)} of {table}: {error}"
            ) from None

    async def close(self) -> None:
        if self._connection is not None:
            await self._run(self._connection.close)
            self._connection = None

    async def leave(self) -> None:
        """Let the connection go; what is asked next is asked at another endpoint first."""
        self._avoided = (self.endpoint,)
        await self._run(self._forget)

    def _open(self) -> Connection:
        if self._connection is None:
            self._connection = self._connect(*self._avoided)
        return self._connection

    def _connect(self, *avoid: str) -> Connection:
        return connect(self.chain, opening=self.opening, avoid=avoid)

    def _connect_second(self, others: Chain) -> Connection:
        """Open a connection to an endpoint that may confirm what another one told."""
        return connect(others, opening=self.opening, answering=CONFIRMING)

    def _ask(self, requests: Sequence[Request]) -> list[Any]:
        """Ask what only reads; a node that keeps silent about what is no work for it is not waited for long."""
        if self._holds or not all(method in SMALL for method, _ in requests):
            return self._read(lambda connection: connection.call_many(requests))
        connection = self._open()
        try:
            exchange = connection.begin(requests)
            try:
                return connection.finish(exchange, self.prompt)
            except Silence:
                other = self._replace(connection)
            if other is None:
                # Slow, it may be, and there is no better one.
                return connection.finish(exchange)
        except ChainUnreachable:
            return self._read_elsewhere(connection, lambda other: other.call_many(requests))
        return other.call_many(requests)

    def _replace(self, connection: Connection) -> Connection | None:
        """Open another connection in place of *connection*, which is kept where no other can be had."""
        try:
            other = self._connect(connection.endpoint)
        except ChainUnreachable:
            return None
        if runtime_of(other.version) != runtime_of(connection.version):
            other.close()
            return None
        self._forget()
        self._connection = other
        return other

    def _read(self, ask: Callable[[Connection], T]) -> T:
        """Ask, and where the connection is lost ask once more, elsewhere if there is an elsewhere."""
        connection = self._open()
        try:
            return ask(connection)
        except ChainUnreachable:
            return self._read_elsewhere(connection, ask)

    def _read_elsewhere(self, connection: Connection, ask: Callable[[Connection], T]) -> T:
        """Ask another connection than *connection*, which is lost."""
        self._forget()
        self._connection = other = self._connect(connection.endpoint)
        if runtime_of(other.version) != runtime_of(connection.version):
            # What was asked is written in the types of the runtime that is gone, and so would the answer be read.
            name, number = runtime_of(other.version)
            raise ChainUnreachable(
                f"{connection.endpoint} went away, and {other.endpoint} runs another runtime, {name} {number}: try again"
            ) from None
        return ask(other)

    def _forget(self) -> None:
        if self._connection is not None:
            # Cut, since a node that stalls does not answer a farewell either.
            self._connection.abort()
            self._connection.close()
        self._connection = None

    def _current_table(self) -> RuntimeTable:
        return self._find_table(runtime_of(self._current_version()))

    def _find_table(self, runs: Runs, block: str | None = None) -> RuntimeTable:
        endpoint = self._open().endpoint
        table = self.tables.find(runs, endpoint)
        if table is None:
            with self.tables.reading():
                # Where a newer table is known than the one this node runs, it may be in the cache all the same.
                table = self.tables.find(runs, endpoint) or self._keep_table(
                    self._kept_table(runs, endpoint) or self._fetch_table(runs, block)
                )
        return table

    def _current_version(self) -> dict[str, Any]:
        """Return what the chain runs, asked anew of a connection that stands for longer: runtimes are upgraded."""
        if time.monotonic() - self._open().version_told > self.believed:
            self._read(lambda connection: connection.ask_version(None if self._holds else self.prompt))
        return self._open().version

    def _keep_table(self, table: RuntimeTable) -> RuntimeTable:
        seconds = UNCONFIRMED if table.told_by and self._has_others else None
        return self.tables.keep(table, seconds=seconds)

    @property
    def _has_others(self) -> bool:
        """Tell whether a second endpoint can confirm what one tells."""
        return len({_host_of(each) for each in self.chain.endpoints}) > 1

    def _kept_table(self, runs: Runs, endpoint: str) -> RuntimeTable | None:
        if not self.chain.genesis or not isinstance(runs[1], int):
            return None
        table = load_cached(self.chain.genesis, self._cache, spec_version=runs[1], endpoint=endpoint)
        if table is not None and table.told_by and self._has_others and table.age > UNCONFIRMED:
            return None
        return table if table is not None and table.spec_name == runs[0] else None

    def _refresh_table(self) -> RuntimeTable:
        return self._keep_table(self._fetch_table(runtime_of(self._current_version())))

    def _older_table(self, block: str) -> RuntimeTable:
        try:
            (answer,) = self._ask([("state_getRuntimeVersion", (block,))])
        except ChainRefused as error:
            raise self._explain_block(error, block) from None
        return self._find_table(runtime_of(self._open().read_version(answer)), block)

    def _explain_block(self, error: ChainRefused, block: str) -> ChainRefused:
        """Return what the node means by *error*, which is wordy where it has thrown a block's state away."""
        text = str(error).lower()
        if "discarded" not in text and "pruned" not in text:
            return error
        return ChainRefused(
            f"{self.endpoint} does not keep the state of block {block} any more: an archive node does, "
            f"scenarioctl config set chains.{self.chain.name}.endpoints '[\"wss://…\"]'"
        )

    def _fetch_table(self, runs: Runs, block: str | None = None) -> RuntimeTable:
        # Two milliseconds of imports that no command needs whose runtime is known.
        from scenarioctl.runtime.metadata import read_metadata

        try:
            endpoint, metadata = self._read(
                lambda connection: (connection.endpoint, _fetch_metadata(connection, block))
            )
            table = read_metadata(metadata)
        except (ChainRefused, InvalidRequest) as error:
            raise ChainUnreachable(f"{self.chain.name} gave no runtime to build with: {error}") from None
        if (table.spec_name, table.spec_version) != runs:
            raise ChainUnreachable(
                f"{self.chain.name} says that it runs {runs[0]} {runs[1]} and serves the metadata of "
                f"{table.spec_name} {table.spec_version}"
            )
        if not self._is_confirmed(table, endpoint, metadata, block):
            table.told_by = endpoint_digest(endpoint)
        if self.chain.genesis:
            # A cache that cannot be written costs a second next time, and nothing else.
            with suppress(OSError):
                save_cached(table, self.chain.genesis, self._cache)
        return table

    def _is_confirmed(self, table: RuntimeTable, endpoint: str, metadata: bytes, block: str | None) -> bool:
        """Tell whether an endpoint on another host gives the same *metadata* that *endpoint* gave.

        ChainUnreachable where it gives other metadata for the same runtime: one of the two lies, and nothing tells which.
        """
        others = tuple(each for each in self.chain.endpoints if _host_of(each) != _host_of(endpoint))
        if not others:
            return False
        try:
            self._second = second = self._connect_second(replace(self.chain, endpoints=others))
        except ChainUnreachable:
            return False
        try:
            if block is None and runtime_of(second.version) != (table.spec_name, table.spec_version):
                return False
            again = _fetch_metadata(second, block, versions=(table.metadata_version,))
        except (ChainRefused, ChainUnreachable, InvalidRequest):
            return False
        finally:
            self._second = None
            second.close()
        if again != metadata:
            raise ChainUnreachable(
                f"{endpoint} and {second.endpoint} give different metadata for {table}, so one of them is wrong. "
                f"Remove it from chains.{self.chain.name}.endpoints."
            )
        return True

    def _value(self, table: RuntimeTable, key: StorageKey, answer: object) -> Any:
        if answer is None:
            return (
                None
                if key.entry.modifier == "Optional"
                else table.decode(key.entry.value_type, key.entry.default)
            )
        return self.decode(table, key.entry.value_type, answer)


def _host_of(endpoint: str) -> str:
    return urlsplit(endpoint).netloc.rpartition("@")[2]


def _fetch_metadata(
    connection: Connection, block: str | None, versions: Sequence[int] = (16, 15, 14)
) -> bytes:
    """Return the newest metadata of *versions* that the node, at *block* or its best one, has."""
    at = () if block is None else (block,)
    for version in (version for version in versions if version > 14):
        with suppress(ChainRefused):
            answer = connection.call(
                "state_call", "Metadata_metadata_at_version", f"0x{version:02x}000000", *at
            )
            # Option<OpaqueMetadata>: 0x00 says that the runtime does not have this version.
            if isinstance(answer, str) and answer not in {"0x00", "0x"}:
                return _read_bytes(answer)
    if 14 not in versions:
        raise InvalidRequest(f"{connection.endpoint} gave no metadata of version {versions[0]}")
    return _read_bytes(connection.call("state_getMetadata", *at))


def _read_bytes(answer: object) -> bytes:
    try:
        return bytes.fromhex(str(answer)[2:])
    except ValueError:
        raise InvalidRequest(f"{shorten(answer)} is no metadata") from None
