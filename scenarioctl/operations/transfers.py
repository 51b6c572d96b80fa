"""Transfers of an asset between connected chains, in raw amounts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.application import Application
from scenarioctl.chains.addresses import parse_account
from scenarioctl.model.amounts import parse_raw
from scenarioctl.operations.checking import Built, Checked, check_sender, facts_of
from scenarioctl.operations.signing import check_output_format, write_transaction

if TYPE_CHECKING:
    pass

__all__ = ["asset_transfer"]


@dataclass(frozen=True, kw_only=True)
class AssetTransfer(Checked):
    """Build the unsigned transaction that sends an asset to another chain."""

    #: Spelled so in the interface.
    sourchain: str
    destchain: str
    #: Id or symbol of the asset on the source chain.
    assetid: str | int
    #: Smallest units.
    amount: str | int
    #: SS58 or 0x public key.
    destinationaddress: str


@dataclass(frozen=True, kw_only=True)
class TransferTransaction(Built):
    txdata: str

    def answer(self) -> dict[str, Any]:
        return self.checked({"txdata": self.txdata, **self.beside()})


async def asset_transfer(app: Application, request: AssetTransfer) -> TransferTransaction:
    check_output_format(request.output_format)
    sender = check_sender(request.check, request.sender)
    source = app.registry.find(request.sourchain, field="sourchain")
    destination = app.registry.find(request.destchain, field="destchain")
    transaction = await draft_transfer(
        app,
        source=source,
        destination=destination,
        asset=app.assets.find(source, request.assetid, field="assetid"),
        amount=parse_raw(request.amount, field="amount"),
        beneficiary=parse_account(request.destinationaddress, field="destinationaddress"),
        sender=sender,
    )
    facts = facts_of(transaction)
    return TransferTransaction(txdata=await write_transaction(app, transaction, request), **facts)
