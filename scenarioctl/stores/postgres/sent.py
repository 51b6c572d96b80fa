"""Transactions that were sent, in PostgreSQL."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any

from scenarioctl.model.sent import SentTransaction
from scenarioctl.stores.postgres.connections import Connection
from scenarioctl.stores.rows import NEWEST_OF_SCENARIOS, SENT_COLUMNS, read_sent, sent_row
from scenarioctl.stores.sent import MOST


class PostgresSent:
    """The SentTransactions of a database, read and written as its store does."""

    def __init__(self, read: Callable[..., Awaitable[Any]], write: Callable[..., Awaitable[Any]]) -> None:
        self._read = read
        self._write = write

    async def add(self, transaction: SentTransaction) -> SentTransaction | None:
        former: SentTransaction | None = await self._write(partial(_add, transaction=transaction))
        return former

    async def get(self, chain: str, hash: str) -> SentTransaction | None:
        if "\0" in chain + hash:
            # No text of the store has it.
            return None
        found: SentTransaction | None = await self._read(partial(_get, chain=chain, hash=hash))
        return found

    async def change(self, transaction: SentTransaction) -> bool:
        changed: bool = await self._write(partial(_change, transaction=transaction), tell=True)
        return changed

    async def remove(self, transaction: SentTransaction) -> bool:
        removed: bool = await self._write(partial(_remove, transaction=transaction), tell=True)
        return removed

    async def of_drafts(self, drafts: Collection[int]) -> Mapping[int, SentTransaction]:
        if not drafts:
            return {}
        found: dict[int, SentTransaction] = await self._read(partial(_of_drafts, drafts=drafts))
        return found

    async def of_scenarios(self, scenarios: Collection[str]) -> Mapping[tuple[str, str], SentTransaction]:
        # No text of the store has a NUL.
        wanted = [id for id in scenarios if "\0" not in id]
        if not wanted:
            return {}
        found: dict[tuple[str, str], SentTransaction] = await self._read(
            partial(_of_scenarios, scenarios=wanted)
        )
        return found


async def _add(connection: Connection, *, transaction: SentTransaction) -> SentTransaction | None:
    row = sent_row(transaction)
    while True:
        added = await connection.execute(
            f"INSERT INTO sent_transactions ({SENT_COLUMNS}) VALUES ({', '.join(['%s'] * len(row))})"  # noqa: S608
            " ON CONFLICT DO NOTHING",
            row,
        )
        if added.rowcount:
            break
        former = await _get(connection, chain=transaction.chain, hash=transaction.hash)
        if former is not None:
            return former
        # It was removed between the two statements: nothing may be sent that isn't written down.
    await connection.execute(
        "DELETE FROM sent_transactions WHERE (chain, hash) IN"
        " (SELECT chain, hash FROM sent_transactions ORDER BY sent DESC, chain DESC, hash DESC OFFSET %s)",
        (MOST,),
    )
    return None


async def _get(connection: Connection, *, chain: str, hash: str) -> SentTransaction | None:
    found = await connection.execute(
        f"SELECT {SENT_COLUMNS} FROM sent_transactions WHERE chain = %s AND hash = %s",  # noqa: S608
        (chain, hash),
    )
    row = await found.fetchone()
    return read_sent(row) if row else None


async def _change(connection: Connection, *, transaction: SentTransaction) -> bool:
    changed = await connection.execute(
        "UPDATE sent_transactions SET state = %s, searched = %s, block = %s, block_number = %s, effects = %s,"
        " revision = revision + 1 WHERE chain = %s AND hash = %s AND revision = %s",
        (
            *(str(transaction.state), transaction.searched, transaction.block, transaction.block_number),
            *(transaction.effects, transaction.chain, transaction.hash, transaction.revision),
        ),
    )
    return changed.rowcount == 1


async def _remove(connection: Connection, *, transaction: SentTransaction) -> bool:
    removed = await connection.execute(
        "DELETE FROM sent_transactions WHERE chain = %s AND hash = %s AND revision = %s",
        (transaction.chain, transaction.hash, transaction.revision),
    )
    return removed.rowcount == 1


async def _of_drafts(connection: Connection, *, drafts: Collection[int]) -> dict[int, SentTransaction]:
    rows = await connection.execute(
        f"SELECT {SENT_COLUMNS} FROM sent_transactions WHERE draft = ANY(%s)"  # noqa: S608
        " ORDER BY state <> 'expired', sent, chain, hash",
        (list(drafts),),
    )
    found = map(read_sent, await rows.fetchall())
    return {each.draft: each for each in found if each.draft is not None}


async def _of_scenarios(
    connection: Connection, *, scenarios: Collection[str]
) -> dict[tuple[str, str], SentTransaction]:
    rows = await connection.execute(
        NEWEST_OF_SCENARIOS.format(scenarios="SELECT unnest(%s::text[])"), (list(scenarios),)
    )
    found = map(read_sent, await rows.fetchall())
    return {(each.scenario, each.node): each for each in found}
