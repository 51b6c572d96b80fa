"""The operations of multisigs that wait for an account of one's own, as a worker last read them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.model.acting import MultisigLayer
from scenarioctl.model.jobs import SECOND
from scenarioctl.operations.acting_accounts import multisigs_of
from scenarioctl.stores.multisig_readings import WaitingOperation

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain

#: What was read longer ago is not known any more.
FRESH = 3600 * SECOND


@dataclass(frozen=True, kw_only=True)
class WaitingApproval:
    """An operation that waits for an account of one's own."""

    #: The multisig, as the address book calls it.
    name: str
    chain: "Chain"
    #: The names of the accounts of one's own that it waits for.
    signatories: tuple[str, ...]
    operation: WaitingOperation
    #: When it was read, in nanoseconds since 1970.
    read: int


@dataclass(frozen=True, kw_only=True)
class WaitingApprovals:
    """What is known of all multisigs of the address book."""

    rows: list[WaitingApproval]
    #: Chains of which nobody knows what waits there.
    unread: "list[Chain]"


def chains_of(app: Application, layer: MultisigLayer) -> "list[Chain]":
    """Return the chains on which a multisig is looked for."""
    from scenarioctl.chains.addresses import ACCOUNT_FORMATS
    from scenarioctl.operations.balances import usual_chains

    return usual_chains(app, ACCOUNT_FORMATS[len(layer.account)])


async def find_waiting(app: Application) -> WaitingApprovals:
    """Return what waits, and where that is unknown; a few rows of the store, and no chain is
    asked."""
    book = await app.store.addresses().list()
    multisigs = multisigs_of(book)
    if not multisigs:
        return WaitingApprovals(rows=[], unread=[])
    now, names = app.clock(), {each.account: each.name for each in book if each.watched}
    readings = {
        (each.account, each.chain): each for each in await app.store.multisig_readings().list()
    }
    rows: list[WaitingApproval] = []
    unread: dict[Chain, None] = {}
    for layer, name in multisigs.items():
        for chain in chains_of(app, layer):
            reading = readings.get(("0x" + layer.account.hex(), chain.name))
            if reading is None or reading.read < now - FRESH:
                unread[chain] = None
            if reading is None:
                continue
            rows += [
                WaitingApproval(
                    name=name,
                    chain=chain,
                    signatories=tuple(names[each] for each in waiting.accounts if each in names),
                    operation=waiting,
                    read=reading.read,
                )
                for waiting in reading.operations
                if any(each in names for each in waiting.accounts)
            ]
    return WaitingApprovals(rows=rows, unread=list(unread))
