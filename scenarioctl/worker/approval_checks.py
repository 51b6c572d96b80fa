"""Whether operations of multisigs wait for the approval of an account of one's own: each is told of
once."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.acting import MultisigLayer
from scenarioctl.model.jobs import SECOND
from scenarioctl.model.notifications import NotificationEvent, OperationKey
from scenarioctl.operations.acting_accounts import multisigs_of
from scenarioctl.operations.waiting_approvals import chains_of
from scenarioctl.stores.multisig_readings import MultisigReading, WaitingOperation
from scenarioctl.worker.chores import guard
from scenarioctl.worker.notifier import notices

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.operations.multisigs import OperationRow


class ApprovalChecks:
    """Reads the multisigs of the address book that have a signatory of one's own, for `status` and
    notifications."""

    def __init__(self, app: Application, *, every: float, on_notices: Callable[[], None]) -> None:
        self._app = app
        #: Seconds between two checks. What another worker has read since half of them isn't read
        #: again.
        self._every = every
        #: Called when a check has left notifications.
        self._on_notices = on_notices

    async def check(self) -> None:
        """Read on every chain what each multisig has open, and note what waits; a chain that
        doesn't answer keeps what it had."""
        app = self._app
        if app.settings.offline:
            return
        book = await app.store.addresses().list()
        multisigs = multisigs_of(book)
        readings = await app.store.multisig_readings().list()
        accounts = {"0x" + layer.account.hex() for layer in multisigs}
        if not accounts.issuperset(each.account for each in readings):
            await app.store.multisig_readings().forget(accounts)
        since = app.clock() - round(self._every * SECOND / 2)
        fresh = {(each.account, each.chain) for each in readings if each.read > since}
        own = {each.account for each in book if each.watched}
        async with app.session() as session:
            for layer in multisigs:
                account = "0x" + layer.account.hex()
                chains = [
                    each for each in chains_of(app, layer) if (account, each.name) not in fresh
                ]
                checks = (
                    partial(self._check_chain, session, chain, layer, own) for chain in chains
                )
                trouble = "what a multisig has open was not read"
                await asyncio.gather(*(guard(each, trouble) for each in checks))

    async def _check_chain(
        self, session: Application, chain: "Chain", layer: MultisigLayer, own: set[str]
    ) -> None:
        from scenarioctl.operations.multisigs import read_operations

        found = await read_operations(session, chain, layer)
        if isinstance(found, ScenarioctlError):
            return
        now, account = self._app.clock(), "0x" + layer.account.hex()
        waiting = [
            WaitingOperation(
                key=OperationKey(chain.name, account, row["call_hash"], *row["opened"].values()),
                says=row["says"],
                approved=len(row["approved"]),
                threshold=row["threshold"],
                accounts=mine,
            )
            for row in found.rows
            if (mine := _own(chain, row, own))
        ]
        reading = MultisigReading(
            account=account,
            chain=chain.name,
            block=found.block,
            read=now,
            operations=tuple(waiting),
        )
        told = {
            each.key: notices(
                NotificationEvent.APPROVAL_MISSING,
                "",
                self._app.settings.notify,
                created=now,
                reason="",
                operation=each.key,
            )
            for each in waiting
        }
        if await self._app.store.multisig_readings().put(reading, told):
            self._on_notices()


def _own(chain: "Chain", row: "OperationRow", own: set[str]) -> tuple[str, ...]:
    """Return the accounts of *own* that haven't approved the operation of *row*."""
    missing = (chain.account_format.parse(each, field="missing") for each in row["missing"])
    return tuple(account for each in missing if (account := "0x" + each.hex()) in own)
