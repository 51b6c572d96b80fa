"""A chain query that is asked again at each new block."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.actions.chain_query import Query, resolve_offline, resolve_query
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.client import Client
    from scenarioctl.transactions.runtime_query import QueryItem

#: Blocks that are read one by one when a watch resumes; older ones are left out.
MOST_MISSED = 1000


@dataclass(frozen=True, kw_only=True)
class Change:
    """A new answer, and the first block that has it."""

    block: int
    text: str
    warnings: tuple[str, ...] = ()


class Watch:
    """A query that is asked again at each new block.

    It resumes: after ChainUnreachable, call `changes` again; no change is lost or repeated.
    """

    def __init__(self, app: "Application", query: Query, *, limit: int | None = None) -> None:
        self._app = app
        self._query = query
        self._limit = limit
        #: The last block that was read; None before the first.
        self.number: int | None = None
        self._block = ""
        self._text: str | None = None
        #: The block to wait for after a reconnection; 0 once the node has reached it.
        self._resumed = 0
        self._endpoint = ""

    @property
    def client(self) -> "Client":
        return self._app.client(self._query.chain)

    async def changes(self) -> AsyncGenerator[Change]:
        """Yield the answer now, and at each new block that changes it."""
        if self.number is None:
            await self._judge()
        else:
            self._resumed = self.number
        number, block = await self.client.head()
        self._endpoint = self.client.endpoint
        if self._resumed:
            self._say_resumed(number)
        heads = self.client.subscribe("chain_subscribeNewHeads")
        async with aclosing(heads):
            while True:
                if number >= self._resumed:
                    self._resumed = 0
                    async with aclosing(self._read_between(number)) as missed:
                        async for change in missed:
                            yield change
                    found = await self._read(number, block)
                    if found is not None:
                        yield found
                seen = block
                while block == seen:
                    number = self.client.read_number(await anext(heads))
                    # None if the chain has just dropped that block.
                    block = await self.client.call("chain_getBlockHash", number) or seen

    async def leave(self) -> None:
        """Switch to another endpoint, unless a request has already done so."""
        if self.client.endpoint == self._endpoint:
            await self.client.leave()

    async def _judge(self) -> None:
        """Refuse a query whose answer never changes."""
        from scenarioctl.transactions.runtime_query import Constant

        try:
            item: QueryItem | None = resolve_query(await self.client.table(), self._query).item
        except ChainUnreachable:
            item = resolve_offline(self._app, self._query)
            if not isinstance(item, Constant):
                raise
        _refuse_constant(item)

    def _say_resumed(self, number: int) -> None:
        behind = (
            f", which is behind; waiting for block {self._resumed}"
            if number < self._resumed
            else ""
        )
        self._app.tell(
            f"following {self._query.chain.title} again at {self.client.endpoint}, block "
            f"{number}{behind}"
        )

    async def _read(self, number: int, block: str) -> Change | None:
        """Read block *number* with the hash *block*; None if the answer is unchanged."""
        from scenarioctl.transactions.runtime_query import DEFAULT_LIMIT, run_query

        if block == self._block:
            return None
        # A runtime upgrade may change how the storage is encoded.
        table = await self.client.table_at(block)
        answered = await run_query(
            self.client,
            table,
            resolve_query(table, self._query),
            block=block,
            limit=self._limit or DEFAULT_LIMIT,
        )
        self.number, self._block = number, block
        if answered.text == self._text:
            return None
        self._text = answered.text
        return Change(block=number, text=answered.text, warnings=answered.warnings)

    async def _read_between(self, number: int) -> AsyncGenerator[Change]:
        """Yield the changes in the blocks between the last one read and *number*."""
        if self.number is None:
            return
        first = max(self.number + 1, number - MOST_MISSED)
        with Unread(self._app.tell) as unread:
            unread.add(range(self.number + 1, first), f"they are more than {MOST_MISSED}")
            for missed in range(first, number):
                try:
                    block = await self.client.find_block(str(missed))
                    change = await self._read(missed, block)
                except (ChainRefused, InvalidRequest) as error:
                    # The node has pruned the state of that block.
                    unread.add(range(missed, missed + 1), str(error))
                    continue
                if change is not None:
                    yield change


class Unread:
    """Collects blocks that could not be read, and reports them in one line at the end."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._blocks: list[int] = []
        self._reason = ""

    def add(self, blocks: range, reason: str) -> None:
        if blocks:
            self._blocks += (blocks[0], blocks[-1])
            self._reason = reason

    def __enter__(self) -> "Unread":
        return self

    def __exit__(self, *_: object) -> None:
        if self._blocks:
            first, last = min(self._blocks), max(self._blocks)
            which = f"block {first} was" if first == last else f"blocks {first} to {last} were"
            self._tell(f"{which} not read, changes in them are not shown: {self._reason}")


def check_watch(app: "Application", query: Query) -> None:
    """Refuse a query whose answer never changes, by the known runtime table; a daemon asks the
    chain."""
    try:
        item = resolve_offline(app, query)
    except InvalidRequest:
        # The daemon may have another runtime table.
        return
    _refuse_constant(item)


def _refuse_constant(item: "QueryItem | None") -> None:
    from scenarioctl.transactions.runtime_query import Constant

    if isinstance(item, Constant):
        raise InvalidRequest(
            f"{item.pallet}.{item.name} is a constant, which never changes: omit --watch"
        )
