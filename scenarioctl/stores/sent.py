"""The transactions of a store that were sent: what is known of each, so that none is sent twice or
forgotten."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.stores import statements
from scenarioctl.stores.operations import Asking, Operation, Row, find, find_all
from scenarioctl.stores.rows import read_cursor, write_sent_cursor
from scenarioctl.stores.validation import check_limit

#: A store keeps so many; the oldest go.
MOST = 10_000
#: A read of more than these is a long one.
_SHORT = 200


@dataclass(frozen=True, kw_only=True)
class SentPage:
    """Some of the transactions that were sent, the newest first."""

    items: tuple[SentTransaction, ...]
    #: How many there are on all pages.
    total: int
    #: Behind the last of these; empty on the last page.
    next: str


@dataclass(frozen=True, kw_only=True)
class SentFilter:
    """Which of the transactions that were sent; all of them if everything is left out."""

    #: 0x hex.
    signer: str = ""
    chain: str = ""
    scenario: str = ""
    state: str = ""
    #: A text that is in what it did: the hash of a multisig's call.
    mentions: str = ""
    #: Nanoseconds since 1970: from this one on, and before that one.
    since: int | None = None
    until: int | None = None


#: Field of the filter -> its condition.
_CONDITIONS = {
    **{name: f"{name} = :{name}" for name in ("signer", "chain", "scenario", "state")},
    "mentions": "effects LIKE '%' || :mentions || '%'",
    "since": "sent >= :since",
    "until": "sent < :until",
}


class SentTransactions:
    """Those of one store; `tests/test_sent.py` shows it by example."""

    def __init__(self, store: Asking) -> None:
        self._store = store

    async def add(self, transaction: SentTransaction) -> SentTransaction | None:
        """Store *transaction*; a crash after this returns does not lose it.  The oldest beyond MOST
        are removed.

        If the chain has one with this hash already, nothing changes, and that one is returned.
        """
        return await self._store.write(partial(_add, transaction))

    async def get(self, chain: str, hash: str) -> SentTransaction | None:
        """Return the transaction; None if it is not stored."""
        if "\0" in chain + hash:
            # No text of the store has it.
            return None
        return await self._store.read(partial(_get, chain, hash))

    async def change(self, transaction: SentTransaction) -> bool:
        """Store what is known of *transaction* by now: state, searched, block and effects; its
        revision grows.

        False, and nothing changes, if it has another revision than *transaction*, or is gone.
        """
        change = partial(find, statements.CHANGE_SENT, **_values(transaction))
        return await self._store.write(change, tell=True) is not None

    async def remove(self, transaction: SentTransaction) -> bool:
        """Remove *transaction*; False, and nothing changes, if it has another revision, or is
        gone."""
        remove = partial(find, statements.REMOVE_SENT, **_values(transaction))
        return await self._store.write(remove, tell=True) is not None

    async def list(self, wanted: SentFilter, *, limit: int, after: str) -> SentPage:
        """Return at most *limit* of those that are *wanted*, behind the cursor *after*;
        InvalidRequest if it is none."""
        check_limit(limit)
        position = read_cursor(after, sort="sent", descending=True)
        page = partial(_list, wanted, limit, position)
        return await self._store.read(page, long=limit > _SHORT)

    async def of_drafts(self, drafts: Collection[int]) -> Mapping[int, SentTransaction]:
        """Return the transaction that was sent last for each of these drafts, by its seq, where
        there is one.

        One that has expired is returned only if all of the draft's have: another one may be in a
        block.
        """
        if not drafts:
            return {}
        select = partial(find_all, statements.SENT_OF_DRAFTS, drafts=list(drafts))
        found = map(_read, await self._store.read(select, long=len(drafts) > _SHORT))
        return {each.draft: each for each in found if each.draft is not None}

    async def of_scenarios(
        self, scenarios: Collection[str]
    ) -> Mapping[tuple[str, str], SentTransaction]:
        """Return the transaction that was sent last for each scenario of these and each of its
        nodes, by both.

        One that has expired, or that failed in its block, is returned only if all of that node
        have: another one may have paid.
        """
        wanted = [id for id in scenarios if "\0" not in id]
        if not wanted:
            return {}
        select = partial(find_all, statements.SENT_OF_SCENARIOS, scenarios=wanted)
        found = map(_read, await self._store.read(select, long=len(wanted) > _SHORT))
        return {(each.scenario, each.node): each for each in found}


def _add(transaction: SentTransaction) -> Operation[SentTransaction | None]:
    values = _values(transaction)
    while (yield from find(statements.ADD_SENT, **values)) is None:
        former = yield from _get(transaction.chain, transaction.hash)
        if former is not None:
            return former
        # It was removed between the two statements: nothing may be sent that isn't written down.
    yield statements.TRIM_SENT, {"most": MOST}
    return None


def _get(chain: str, hash: str) -> Operation[SentTransaction | None]:
    row = yield from find(statements.FIND_SENT, chain=chain, hash=hash)
    return None if row is None else _read(row)


def _list(wanted: SentFilter, limit: int, position: Sequence[int | str]) -> Operation[SentPage]:
    given = {name: value for name, value in vars(wanted).items() if value not in ("", None)}
    conditions = [_CONDITIONS[name] for name in given]
    behind = dict(zip(("behind_sent", "behind_chain", "behind_hash"), position, strict=False))
    rows = yield (
        statements.LIST_SENT.format(
            condition=" AND ".join(conditions) or "1 = 1",
            behind="AND (sent, chain, hash) < (:behind_sent, :behind_chain, :behind_hash)"
            if behind
            else "",
        ),
        {**given, **behind, "limit": limit + 1},
    )
    found = [_read(row[1:]) for row in rows if row[1] is not None]
    last = found[limit - 1] if len(found) > limit else None
    return SentPage(
        items=tuple(found[:limit]),
        total=rows[0][0],
        next=write_sent_cursor(sent=last.sent, chain=last.chain, hash=last.hash) if last else "",
    )


def _values(transaction: SentTransaction) -> dict[str, Any]:
    return {**vars(transaction), "state": str(transaction.state)}


def _read(row: Row) -> SentTransaction:
    fields = dict(zip(statements.SENT_COLUMNS.split(", "), row, strict=True))
    return SentTransaction(**{**fields, "state": SentState(fields["state"])})
