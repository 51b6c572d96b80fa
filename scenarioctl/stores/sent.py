"""The transactions of a store that were sent: what is known of each, so that none is sent twice or forgotten."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.stores import statements
from scenarioctl.stores.operations import Asking, Operation, Row, find, find_all

#: A store keeps so many; the oldest go.
MOST = 10_000
#: A read of more than these is a long one.
_SHORT = 200


class SentTransactions:
    """Those of one store; `tests/test_sent.py` shows it by example."""

    def __init__(self, store: Asking) -> None:
        self._store = store

    async def add(self, transaction: SentTransaction) -> SentTransaction | None:
        """Store *transaction*; a crash after this returns does not lose it.  The oldest beyond MOST are removed.

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
        """Store what is known of *transaction* by now: state, searched, block and effects; its revision grows.

        False, and nothing changes, if it has another revision than *transaction*, or is gone.
        """
        change = partial(find, statements.CHANGE_SENT, **_values(transaction))
        return await self._store.write(change, tell=True) is not None

    async def remove(self, transaction: SentTransaction) -> bool:
        """Remove *transaction*; False, and nothing changes, if it has another revision, or is gone."""
        remove = partial(find, statements.REMOVE_SENT, **_values(transaction))
        return await self._store.write(remove, tell=True) is not None

    async def of_drafts(self, drafts: Collection[int]) -> Mapping[int, SentTransaction]:
        """Return the transaction that was sent last for each of these drafts, by its seq, where there is one.

        One that has expired is returned only if all of the draft's have: another one may be in a block.
        """
        if not drafts:
            return {}
        select = partial(find_all, statements.SENT_OF_DRAFTS, drafts=list(drafts))
        found = map(_read, await self._store.read(select, long=len(drafts) > _SHORT))
        return {each.draft: each for each in found if each.draft is not None}

    async def of_scenarios(self, scenarios: Collection[str]) -> Mapping[tuple[str, str], SentTransaction]:
        """Return the transaction that was sent last for each scenario of these and each of its nodes, by both.

        One that has expired is returned only if all of that node have: another one may be in a block.
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


def _values(transaction: SentTransaction) -> dict[str, Any]:
    return {**vars(transaction), "state": str(transaction.state)}


def _read(row: Row) -> SentTransaction:
    """Return the transaction in *row*; one whose state is damaged may have been sent."""
    fields = dict(zip(statements.SENT_COLUMNS.split(", "), row, strict=True))
    try:
        fields["state"] = SentState(fields["state"])
    except ValueError:
        fields["state"] = SentState.UNCERTAIN
    return SentTransaction(**fields)
