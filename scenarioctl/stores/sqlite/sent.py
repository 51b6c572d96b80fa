"""Transactions that were sent, in SQLite."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from sqlite3 import Connection
from typing import Any

from scenarioctl.model.sent import SentTransaction
from scenarioctl.stores.rows import NEWEST_OF_SCENARIOS, SENT_COLUMNS, read_sent, sent_row
from scenarioctl.stores.sent import MOST


class SqliteSent:
    """The SentTransactions of a file, read and written as its store does."""

    def __init__(self, read: Callable[..., Awaitable[Any]], write: Callable[..., Awaitable[Any]]) -> None:
        self._read = read
        self._write = write

    async def add(self, transaction: SentTransaction) -> SentTransaction | None:
        former: SentTransaction | None = await self._write(partial(_add, transaction=transaction))
        return former

    async def get(self, chain: str, hash: str) -> SentTransaction | None:
        found: SentTransaction | None = await self._read(partial(_get, chain=chain, hash=hash))
        return found

    async def change(self, transaction: SentTransaction) -> bool:
        changed: bool = await self._write(partial(_change, transaction=transaction))
        return changed

    async def remove(self, transaction: SentTransaction) -> bool:
        removed: bool = await self._write(partial(_remove, transaction=transaction))
        return removed

    async def of_drafts(self, drafts: Collection[int]) -> Mapping[int, SentTransaction]:
        if not drafts:
            return {}
        found: dict[int, SentTransaction] = await self._read(
            partial(_of_drafts, drafts=drafts), long=len(drafts) > 200
        )
        return found

    async def of_scenarios(self, scenarios: Collection[str]) -> Mapping[tuple[str, str], SentTransaction]:
        if not scenarios:
            return {}
        found: dict[tuple[str, str], SentTransaction] = await self._read(
            partial(_of_scenarios, scenarios=scenarios), long=len(scenarios) > 200
        )
        return found


def _add(database: Connection, *, transaction: SentTransaction) -> SentTransaction | None:
    former = _get(database, chain=transaction.chain, hash=transaction.hash)
    if former is not None:
        return former
    row = sent_row(transaction)
    database.execute(
        f"INSERT INTO sent_transactions ({SENT_COLUMNS}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608
        row,
    )
    database.execute(
        "DELETE FROM sent_transactions WHERE (chain, hash) IN"
        " (SELECT chain, hash FROM sent_transactions ORDER BY sent DESC, chain DESC, hash DESC LIMIT -1 OFFSET ?)",
        (MOST,),
    )
    return None


def _get(database: Connection, *, chain: str, hash: str) -> SentTransaction | None:
    row = database.execute(
        f"SELECT {SENT_COLUMNS} FROM sent_transactions WHERE chain = ? AND hash = ?",  # noqa: S608
        (chain, hash),
    ).fetchone()
    return read_sent(row) if row else None


def _change(database: Connection, *, transaction: SentTransaction) -> bool:
    changed = database.execute(
        "UPDATE sent_transactions SET state = ?, searched = ?, block = ?, block_number = ?, effects = ?,"
        " revision = revision + 1 WHERE chain = ? AND hash = ? AND revision = ?",
        (
            *(transaction.state, transaction.searched, transaction.block, transaction.block_number),
            *(transaction.effects, transaction.chain, transaction.hash, transaction.revision),
        ),
    )
    return changed.rowcount == 1


def _remove(database: Connection, *, transaction: SentTransaction) -> bool:
    removed = database.execute(
        "DELETE FROM sent_transactions WHERE chain = ? AND hash = ? AND revision = ?",
        (transaction.chain, transaction.hash, transaction.revision),
    )
    return removed.rowcount == 1


def _of_drafts(database: Connection, *, drafts: Collection[int]) -> dict[int, SentTransaction]:
    rows = database.execute(
        f"SELECT {SENT_COLUMNS} FROM sent_transactions WHERE draft IN (SELECT value FROM json_each(?))"  # noqa: S608
        " ORDER BY state <> 'expired', sent, chain, hash",
        (json.dumps(list(drafts)),),
    )
    found = map(read_sent, rows)
    return {each.draft: each for each in found if each.draft is not None}


def _of_scenarios(
    database: Connection, *, scenarios: Collection[str]
) -> dict[tuple[str, str], SentTransaction]:
    rows = database.execute(
        NEWEST_OF_SCENARIOS.format(scenarios="SELECT value FROM json_each(?)"), (json.dumps(list(scenarios)),)
    )
    return {(each.scenario, each.node): each for each in map(read_sent, rows)}
