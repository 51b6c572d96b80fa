"""A chain as handlers ask it: storage, runtime APIs, blocks, by name and decoded with its own
runtime's types; what only reads is asked of another endpoint where one fails."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from scenarioctl.chains.connection import SMALL, NodeConnection, Request
from scenarioctl.chains.pool import Pool, Runs, fetch_metadata, host_of, runtime_of
from scenarioctl.chains.rpc_errors import PoolClosed
from scenarioctl.errors import (
    ChainRefused,
    ChainUnreachable,
    InvalidRequest,
    shorten,
)
from scenarioctl.runtime.storage_keys import StorageKey, header_hash, storage_key
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.table_cache import endpoint_digest, load_cached, save_cached

#: Seconds after which a table that only one endpoint gave is asked for again, if a second one may
#: confirm it by then: of two endpoints one has a new runtime a little earlier.
UNCONFIRMED = 600.0


#: Seconds without a request after which earlier answers no longer fix the runtime.
_FORGOTTEN = 30.0
T = TypeVar("T")


class Client:
    """One chain for one command, request or run, with the types of its runtime."""

    def __init__(self, pool: Pool) -> None:
        self.chain = pool.chain
        self.pool = pool
        self.tables = pool.tables
        self.timeouts = pool.timeouts
        #: The one that was asked last.
        self.endpoint = ""
        #: The runtime of the newest table: requests are encoded with its types.
        self._runs: Runs | None = None
        self._asked = 0.0
        #: The endpoints that were asked, in this order.
        self.endpoints_asked: dict[str, None] = {}

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of one JSON-RPC call that only reads; retried on another endpoint if
        the node is lost."""
        return (await self.call_many([(method, params)]))[0]

    async def call_many(self, requests: Sequence[Request]) -> list[Any]:
        """Return the results of several reading calls, in one round trip."""
        if all(method in SMALL for method, _ in requests):
            return await self._ask_promptly(requests)
        return await self._read(lambda connection: connection.call_many(requests))

    async def submit(self, method: str, *params: Any) -> Any:
        """Return the result of a call that changes something: never sent twice, even if the answer
        is lost."""
        return await (await self._open()).call(method, *params)

    async def subscribe(
        self, method: str, *params: Any, ended_by: str, deadline: float | None = None
    ) -> AsyncGenerator[Any]:
        """Yield what the node tells of a subscription, until *deadline* (time.monotonic); never
        subscribed to twice.

        Leave it before its end by closing it (`aclosing`): *ended_by* is the method that tells the
        node so.
        """
        connection = await self._open()
        told = connection.subscribe(method, *params, ended_by=ended_by, deadline=deadline)
        async with aclosing(told):
            async for notice in told:
                yield notice

    async def version(self) -> dict[str, Any]:
        """Return `state_getRuntimeVersion` as it is now, or was a moment ago."""
        self._runs = None
        return (await self._current()).version

    async def table(self) -> RuntimeTable:
        """Return the table of the runtime that the chain has now."""
        table = await self._find_table(runtime_of(await self.version()))
        self._runs = (table.spec_name, table.spec_version)
        return table

    async def table_at(self, block: str) -> RuntimeTable:
        """Return the table of the runtime that the block with the hash *block* has, which may be an
        older one.

        ChainRefused if the node does not keep the state of that block any more.
        """
        # What is read at a block is read with that block's types.
        self._runs = None
        try:
            (answer,) = await self._ask_promptly([("state_getRuntimeVersion", (block,))])
        except ChainRefused as error:
            raise self._explain_block(error, block) from None
        connection = await self._open()
        return await self._find_table(runtime_of(connection.read_version(answer)), block)

    async def fetch_table(self) -> RuntimeTable:
        """Return the table that the node itself gives, whatever is known already, and keep it in
        the cache."""
        return self._keep_table(await self._fetch_table(runtime_of(await self.version())))

    # On which connection

    async def _open(self, instead_of: NodeConnection | None = None) -> NodeConnection:
        """Return the connection to ask; ChainUnreachable if its node has another runtime than the
        earlier answers came from."""
        if time.monotonic() - self._asked > _FORGOTTEN:
            self._runs = None
        connection = await self.pool.connection(instead_of)
        before, now = self._runs, runtime_of(connection.version)
        if before is not None and before != now:
            raise ChainUnreachable(
                f"{connection.endpoint} runs {now[0]} {now[1]} now, and this was begun "
                f"with {before[0]} {before[1]}: try again"
            )
        return self._note(connection)

    def _note(self, connection: NodeConnection) -> NodeConnection:
        self._asked = time.monotonic()
        self.endpoint = connection.endpoint
        self.endpoints_asked[self.endpoint] = None
        return connection

    async def _read(self, ask: Callable[[NodeConnection], Awaitable[T]]) -> T:
        """Call *ask*, and once more on another connection if this one is lost."""
        connection = await self._open()
        try:
            return await ask(connection)
        except ChainUnreachable:
            return await ask(await self._elsewhere(connection))

    async def _elsewhere(self, connection: NodeConnection) -> NodeConnection:
        """Return a connection in place of *connection*, which is lost."""
        other = await self.pool.connection(connection)
        if runtime_of(other.version) != runtime_of(connection.version):
            # What was asked is written in the types of the runtime that is gone, and so would the
            # answer be read.
            name, number = runtime_of(other.version)
            raise ChainUnreachable(
                f"{connection.endpoint} went away, and {other.endpoint} runs another "
                f"runtime, {name} {number}: try again"
            ) from None
        return self._note(other)

    async def _ask_promptly(self, requests: Sequence[Request]) -> list[Any]:
        """Send requests that take a node no work; if it gives no prompt answer, try another
        endpoint."""
        connection = await self._open()
        asking = asyncio.create_task(connection.call_many(requests))
        try:
            await asyncio.wait((asking,), timeout=self.timeouts.prompt)
            if not asking.done() and (other := await self.pool.replace(connection)):
                return await self._note(other).call_many(requests)
            # Slow, it may be, and there is no better one.
            return await asking
        except ChainUnreachable:
            return await (await self._elsewhere(connection)).call_many(requests)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _current(self) -> NodeConnection:
        """Return the connection, asked again what it runs if the last answer is old: runtimes are
        upgraded."""
        connection = await self._open()
        if time.monotonic() - connection.version_asked > self.pool.believed:
            await self._read(lambda asked: asked.ask_version(self.timeouts.prompt))
            connection = await self._open()
        return connection

    # By name

    async def find_block(self, block: str) -> str:
        """Return the hash of the block with that number or hash; InvalidRequest where the chain has
        none."""
        if not block.startswith("0x"):
            found = await self.call("chain_getBlockHash", int(block))
            if isinstance(found, str):
                return found
            newest, _ = await self.head()
            raise InvalidRequest(
                field="block",
                value=block,
                limit=80,
                problem=f"is not on {self.chain.title} yet",
                expected=f"at most {newest}, its newest",
            )
        if await self.call("chain_getHeader", block) is None:
            raise InvalidRequest(
                field="block",
                value=block,
                limit=80,
                problem=f"is not known on {self.chain.title} to {self.endpoint}",
                expected="the hash or the number of one of its blocks",
            )
        return block

    async def head(self) -> tuple[int, str]:
        """Return number and hash of the best block."""
        # One after the other: asked at once, they could be of two blocks.
        block_hash = await self.call("chain_getBlockHash")
        if not isinstance(block_hash, str):
            raise ChainUnreachable(f"{self.chain.title} gave no head: {shorten(block_hash)}")
        return await self.number_of(block_hash), block_hash

    async def number_of(self, block: str) -> int:
        """Return the number of the block with the hash *block*; ChainUnreachable if the node
        doesn't show its header."""
        return self.check_header(await self.call("chain_getHeader", block), block)

    def check_header(self, header: object, block: str) -> int:
        """Return the number in *header*; ChainUnreachable if it isn't that of the block with the
        hash *block*."""
        number = self.read_number(header)
        # The genesis hash is checked whenever a connection opens, and forks of a chain have made-up
        # ones.
        if header_hash(header) != block.lower() and (
            number or block != (self.chain.genesis or block)
        ):
            raise ChainUnreachable(
                f"{self.endpoint} returned another block's header for block {block} of "
                f"{self.chain.title}"
            )
        return number

    def read_number(self, header: object) -> int:
        """Return the number in the header of a block."""
        try:
            return int(header["number"], 16)  # type: ignore[index]
        except (TypeError, KeyError, ValueError):
            raise ChainUnreachable(f"{self.chain.title} gave no head: {shorten(header)}") from None

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
        return [
            self.read_value(table, key, answer) for key, answer in zip(keys, answers, strict=True)
        ]

    async def storage_values(
        self, table: RuntimeTable, keys: Sequence[StorageKey], *, at: str
    ) -> list[Any]:
        """Return the values of *keys* at the block with the hash *at*, all in one request, however
        many they are."""
        names = [key.hex for key in keys]
        if not names:
            return []
        try:
            told = await self.call("state_queryStorageAt", names, at)
        except ChainRefused:
            # Some nodes allow only the plain request.
            answers = await self.call_many([("state_getStorage", (name, at)) for name in names])
            told = [{"changes": list(zip(names, answers, strict=True))}]
        try:
            values = dict(told[-1]["changes"])
            answers = [values[name] for name in names]
        except (TypeError, KeyError, ValueError, IndexError):
            raise ChainUnreachable(
                f"{self.endpoint} returned only some of the {len(names)} storage values it "
                "was asked for"
            ) from None
        return [
            self.read_value(table, key, answer) for key, answer in zip(keys, answers, strict=True)
        ]

    async def runtime_call(
        self, api: str, method: str, *arguments: Any, at: str | None = None
    ) -> Any:
        """Return the decoded answer of a runtime API; arguments by the value conventions of
        `runtime/scale.py`."""
        table = await self.table()
        described = table.api_method(api, method)
        if len(arguments) != len(described.inputs):
            names = ", ".join(field.name for field in described.inputs)
            raise InvalidRequest(
                f"{described.api}.{described.name} takes {len(described.inputs)} "
                f"parameters ({names}), not {len(arguments)}"
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
        """Return the decoded answer of the runtime API *name* for arguments that are bytes
        already."""
        table = await self.table()
        block = () if at is None else (at,)
        return self.decode(
            table, output_type, await self.call("state_call", name, "0x" + data.hex(), *block)
        )

    def decode(self, table: RuntimeTable, type_id: int, answer: object) -> Any:
        """Return the value in the 0x hex that a node answered; one that is none is the node's
        fault."""
        try:
            data = (
                bytes.fromhex(answer[2:])
                if isinstance(answer, str) and answer[:2] == "0x"
                else None
            )
        except ValueError:
            data = None
        if data is None:
            raise ChainUnreachable(
                f"{self.chain.title} did not answer with bytes: {shorten(answer)}"
            )
        try:
            return table.decode(type_id, data)
        except InvalidRequest as error:
            raise ChainUnreachable(
                f"{self.chain.title} did not answer with a {table.type_name(type_id)} of "
                f"{table}: {error}"
            ) from None

    async def _find_table(self, runs: Runs, block: str | None = None) -> RuntimeTable:
        endpoint = self.endpoint
        table = self.tables.find(runs, endpoint)
        if table is None:
            async with self.tables.reading:
                table = (
                    self.tables.find(runs, endpoint)
                    # The newest that was known may not be the one this node runs, and that one in
                    # the cache all the same.
                    or await asyncio.to_thread(self._cached_table, runs, endpoint)
                    or await self._fetch_table(runs, block)
                )
                self._keep_table(table)
        return table

    def _keep_table(self, table: RuntimeTable) -> RuntimeTable:
        seconds = UNCONFIRMED if table.told_by and self._has_others else None
        return self.tables.keep(table, seconds=seconds)

    @property
    def _has_others(self) -> bool:
        """Tell whether a second endpoint can confirm what one tells."""
        return len({host_of(each) for each in self.chain.endpoints}) > 1

    def _cached_table(self, runs: Runs, endpoint: str) -> RuntimeTable | None:
        if not self.chain.genesis or not isinstance(runs[1], int):
            return None
        table = load_cached(
            self.chain.genesis, self.pool.cache, spec_version=runs[1], endpoint=endpoint
        )
        if table is not None and table.told_by and self._has_others and table.age > UNCONFIRMED:
            return None
        return table if table is not None and table.spec_name == runs[0] else None

    def _explain_block(self, error: ChainRefused, block: str) -> ChainRefused:
        """Return what the node means by *error*, which is wordy where it has thrown a block's state
        away."""
        text = str(error).lower()
        if "discarded" not in text and "pruned" not in text:
            return error
        return ChainRefused(
            f"{self.endpoint} does not keep the state of block {block} any more: an "
            "archive node does, "
            f"scenarioctl config set chains.{self.chain.name}.endpoints '[\"wss://…\"]'"
        )

    async def _fetch_table(self, runs: Runs, block: str | None = None) -> RuntimeTable:
        # Two milliseconds of imports that no command needs whose runtime is known.
        from scenarioctl.runtime.metadata import read_metadata

        try:
            metadata = await self._read(lambda connection: fetch_metadata(connection, block))
            endpoint = self.endpoint
            table = await asyncio.to_thread(read_metadata, metadata)
        except (ChainRefused, InvalidRequest) as error:
            raise ChainUnreachable(
                f"{self.chain.title} gave no runtime to build with: {error}"
            ) from None
        if (table.spec_name, table.spec_version) != runs:
            raise ChainUnreachable(
                f"{self.chain.title} says that it runs {runs[0]} {runs[1]} and serves the "
                "metadata of "
                f"{table.spec_name} {table.spec_version}"
            )
        if not await self._is_confirmed(table, endpoint, metadata, block):
            table.told_by = endpoint_digest(endpoint)
        if self.chain.genesis:
            # A cache that cannot be written costs a second next time, and nothing else.
            with suppress(OSError):
                await asyncio.to_thread(save_cached, table, self.chain.genesis, self.pool.cache)
        return table

    async def _is_confirmed(
        self, table: RuntimeTable, endpoint: str, metadata: bytes, block: str | None
    ) -> bool:
        """Tell whether an endpoint on another host gives the same *metadata* that *endpoint* gave.

        ChainUnreachable if it gives other metadata for the same runtime: one of the two lies, and
        nothing tells which.
        """
        others = tuple(each for each in self.chain.endpoints if host_of(each) != host_of(endpoint))
        if not others:
            return False
        try:
            second = await self.pool.only(others).connection()
            async with asyncio.timeout(self.timeouts.confirming):
                if block is None:
                    await second.ask_version()
                    if runtime_of(second.version) != (table.spec_name, table.spec_version):
                        return False
                again = await fetch_metadata(second, block, versions=(table.metadata_version,))
        except PoolClosed:
            raise
        except (ChainRefused, ChainUnreachable, InvalidRequest, TimeoutError):
            return False
        if again != metadata:
            raise ChainUnreachable(
                f"{endpoint} and {second.endpoint} give different metadata for {table}, so "
                "one of them is wrong. "
                f"Remove it from chains.{self.chain.name}.endpoints."
            )
        return True

    def read_value(self, table: RuntimeTable, key: StorageKey, answer: object) -> Any:
        """Return the value in what a node answered for *key*; the runtime's default, or None, where
        nothing is stored."""
        if answer is None:
            optional = key.entry.modifier == "Optional"
            return None if optional else table.decode(key.entry.value_type, key.entry.default)
        return self.decode(table, key.entry.value_type, answer)
