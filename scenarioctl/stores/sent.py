"""The transactions of a store that were sent: what is known of each, so that none is sent twice or
forgotten; and the calls that were drafted, by which those that are sent are found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from scenarioctl.model.jobs import DraftedCall, SentFor, SentState, SentTransaction
from scenarioctl.stores import statements
from scenarioctl.stores.asking import Asking, Operation, Row, Table, find, find_all
from scenarioctl.stores.rows import read_cursor, write_cursor
from scenarioctl.stores.validation import check_limit

#: A store keeps so many, and so many calls that were drafted; the oldest go.
MOST = 10_000
MOST_DRAFTED = 50_000
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
    **{name: f"{name} = :{name}" for name in ("signer", "chain", "state")},
    "scenario": "EXISTS (SELECT 1 FROM sent_for f WHERE f.chain = sent_transactions.chain"
    " AND f.hash = sent_transactions.hash AND f.scenario = :scenario)",
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
        """Store what is known of *transaction* by now: state, searched, block, effects, and what it
        is made of; its revision grows.

        False, and nothing changes, if it has another revision than *transaction*, or is gone.
        """
        return await self._store.write(partial(_change, transaction))

    async def remove(self, transaction: SentTransaction) -> bool:
        """Remove *transaction*; False, and nothing changes, if it has another revision, or is
        gone."""
        remove = partial(find, statements.REMOVE_SENT, **_values(transaction))
        return await self._store.write(remove) is not None

    async def list(self, wanted: SentFilter, *, limit: int, after: str) -> SentPage:
        """Return at most *limit* of those that are *wanted*, behind the cursor *after*;
        InvalidRequest if it is none."""
        check_limit(limit)
        position = read_cursor(after, "sent")
        page = partial(_list, wanted, limit, position)
        return await self._store.read(page, long=limit > _SHORT)

    async def of_drafts(self, drafts: Collection[int]) -> Sequence[tuple[SentFor, SentTransaction]]:
        """Return the transaction that was sent last for each of these drafts, where there is one.

        One that has expired, or whose call failed, is returned only if all of the draft's have:
        another one may have done what it should.
        """
        return await self._last(list(drafts), "draft", "draft {among wanted, bigint} AND draft > 0")

    async def of_scenarios(
        self, scenarios: Collection[str]
    ) -> Sequence[tuple[SentFor, SentTransaction]]:
        """Return the same for each scenario of these and each of its nodes."""
        wanted = [id for id in scenarios if "\0" not in id]
        return await self._last(wanted, "scenario, node", "scenario {among wanted, text}")

    async def _last(
        self, wanted: Sequence[int | str], place: str, condition: str
    ) -> Sequence[tuple[SentFor, SentTransaction]]:
        if not wanted:
            return []
        statement = statements.LAST_SENT.format(place=place, condition=condition)
        return await self._store.read(
            partial(_find_last, statement, wanted), long=len(wanted) > _SHORT
        )

    async def note_drafted(self, drafted: Sequence[DraftedCall]) -> None:
        """Store these calls, in place of what is known of the same.  The oldest beyond MOST_DRAFTED
        are removed."""
        await self._store.write(partial(_note, drafted))

    async def find_drafted(self, chain: str, calls: Collection[str]) -> Sequence[DraftedCall]:
        """Return what was drafted with these calls, drafts of jobs included, the newest first."""
        select = partial(find_all, statements.FIND_DRAFTED, chain=chain, calls=list(calls))
        return _read_drafted(await self._store.read(select))

    async def drafted_of(self, scenario: str) -> Sequence[DraftedCall]:
        """Return what was drafted of *scenario*, the newest first; not what its job drafted and
        nobody asked for."""
        select = partial(find_all, statements.DRAFTED_OF_SCENARIO, scenario=scenario)
        return _read_drafted(await self._store.read(select))


def _note(drafted: Sequence[DraftedCall]) -> Operation[None]:
    names = statements.DRAFTED_COLUMNS.split(", ")
    rows: list[Row] = [tuple(getattr(each, name) for name in names) for each in drafted]
    yield statements.NOTE_DRAFTED, {"noted": Table(rows)}
    yield statements.TRIM_DRAFTED, {"most": MOST_DRAFTED}


def _read_drafted(rows: list[Row]) -> list[DraftedCall]:
    names = statements.DRAFTED_COLUMNS.split(", ")
    return [DraftedCall(**dict(zip(names, row, strict=True))) for row in rows]


def _add(transaction: SentTransaction) -> Operation[SentTransaction | None]:
    values = _values(transaction)
    while (yield from find(statements.ADD_SENT, **values)) is None:
        former = yield from _get(transaction.chain, transaction.hash)
        if former is not None:
            return former
        # It was removed between the two statements: nothing may be sent that isn't written down.
    yield from _add_made_of(transaction)
    yield statements.TRIM_SENT, {"most": MOST}
    return None


def _change(transaction: SentTransaction) -> Operation[bool]:
    values = _values(transaction)
    if (yield from find(statements.CHANGE_SENT, **values)) is None:
        return False
    yield statements.FORGET_SENT_FOR, {"chain": transaction.chain, "hash": transaction.hash}
    yield from _add_made_of(transaction)
    return True


def _add_made_of(transaction: SentTransaction) -> Operation[None]:
    rows: list[Row] = [
        (
            *(each.scenario, each.node, each.draft, each.call, each.part),
            int(each.certain),
            each.outcome,
        )
        for each in transaction.made_of
    ]
    if rows:
        key = {"chain": transaction.chain, "hash": transaction.hash}
        yield statements.ADD_SENT_FOR, {**key, "made_of": Table(rows)}


def _get(chain: str, hash: str) -> Operation[SentTransaction | None]:
    rows = yield statements.FIND_SENT, {"chain": chain, "hash": hash}
    found = yield from _read_all(rows)
    return found[0] if found else None


def _find_last(
    statement: str, wanted: Sequence[int | str]
) -> Operation[list[tuple[SentFor, SentTransaction]]]:
    rows = yield statement, {"wanted": wanted}
    size = len(SentFor.__dataclass_fields__)
    found = yield from _read_all([row[size:] for row in rows])
    return [(_read_for(row[:size]), each) for row, each in zip(rows, found, strict=True)]


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
    found = yield from _read_all([row[1:] for row in rows if row[1] is not None])
    last = found[limit - 1] if len(found) > limit else None
    return SentPage(
        items=tuple(found[:limit]),
        total=rows[0][0],
        next=write_cursor("sent", last.sent, last.chain, last.hash) if last else "",
    )


def _values(transaction: SentTransaction) -> dict[str, Any]:
    values = {**vars(transaction), "state": str(transaction.state)}
    del values["made_of"]
    return values


def _read_all(rows: list[Row]) -> Operation[list[SentTransaction]]:
    """Return the transactions of *rows*, with what each is made of."""
    names = statements.SENT_COLUMNS.split(", ")
    found = [dict(zip(names, row, strict=True)) for row in rows]
    made_of: dict[tuple[str, str], list[SentFor]] = {}
    if found:
        hashes = [each["hash"] for each in found]
        for chain, hash, *row in (yield statements.FIND_SENT_FOR, {"hashes": hashes}):
            made_of.setdefault((chain, hash), []).append(_read_for(row))
    return [
        SentTransaction(
            **{**each, "state": SentState(each["state"])},
            made_of=tuple(made_of.get((each["chain"], each["hash"]), ())),
        )
        for each in found
    ]


def _read_for(row: Sequence[Any]) -> SentFor:
    fields = dict(zip(statements.FOR_COLUMNS.split(", "), row, strict=True))
    return SentFor(**{**fields, "certain": bool(fields["certain"])})
