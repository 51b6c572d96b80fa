"""What was last read of the multisigs of the address book: the open operations that wait for an
account of one's own."""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from scenarioctl.model.notifications import NewNotification, OperationKey
from scenarioctl.stores import runs, statements
from scenarioctl.stores.operations import Asking, Operation, find_all


@dataclass(frozen=True, kw_only=True)
class WaitingOperation:
    """An operation that an account of one's own hasn't approved."""

    key: OperationKey
    #: What its call does, in words; empty if nobody knows the call.
    says: str
    #: So many have approved, of the many that must.
    approved: int
    threshold: int
    #: The accounts of one's own that it waits for, as 0x hex.
    accounts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MultisigReading:
    """What a multisig had open on a chain."""

    #: As 0x hex.
    account: str
    chain: str
    #: The number of the block that was read, and when that was, in nanoseconds since 1970.
    block: int
    read: int
    operations: tuple[WaitingOperation, ...]


class MultisigReadings:
    """Those of one store; `tests/test_missing_approvals.py` shows them by example."""

    def __init__(self, store: Asking) -> None:
        self._store = store

    async def list(self) -> list[MultisigReading]:
        """Return all of them, without what somebody has damaged."""
        return await self._store.read(_read_all)

    async def put(
        self, reading: MultisigReading, notices: Mapping[OperationKey, Sequence[NewNotification]]
    ) -> bool:
        """Keep *reading* in place of the one before, unless that is of a later block, with the
        *notices* of operations it hadn't.

        Of all callers, one leaves the notices of an operation. Return whether there are some.
        """
        return await self._store.write(partial(_put, reading, notices), tell=True)

    async def forget(self, kept: Collection[str]) -> None:
        """Remove the readings of all accounts but those *kept*."""
        await self._store.write(
            partial(find_all, statements.FORGET_MULTISIGS, kept=list(kept)), alone=True
        )


def _read_all() -> Operation[list[MultisigReading]]:
    rows = yield from find_all(statements.LIST_MULTISIG_READINGS)
    found = []
    for account, chain, block, read, text in rows:
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            operations = tuple(
                WaitingOperation(
                    key=OperationKey(*each["key"]),
                    says=each["says"],
                    approved=each["approved"],
                    threshold=each["threshold"],
                    accounts=tuple(each["accounts"]),
                )
                for each in json.loads(text)
            )
            found.append(
                MultisigReading(
                    account=account, chain=chain, block=block, read=read, operations=operations
                )
            )
    return found


def _put(
    reading: MultisigReading, notices: Mapping[OperationKey, Sequence[NewNotification]]
) -> Operation[bool]:
    yield statements.LOCK_MULTISIG_READINGS, {}
    place = reading.account, reading.chain
    before = next(
        (each for each in (yield from _read_all()) if (each.account, each.chain) == place), None
    )
    # A node that lags behind doesn't make an operation new again.
    if before is not None and before.block > reading.block:
        return False
    operations = json.dumps([vars(each) for each in reading.operations])
    yield statements.PUT_MULTISIG_READING, {**vars(reading), "operations": operations}
    known = {each.key for each in before.operations} if before is not None else set()
    new = [notice for key, some in notices.items() if key not in known for notice in some]
    yield from runs.notify(new)
    return bool(new)
