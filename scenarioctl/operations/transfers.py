"""Transfers of an asset between connected chains, in raw amounts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.application import Application
from scenarioctl.model.amounts import parse_raw
from scenarioctl.operations.checking import Checked, check_sender, passed
from scenarioctl.operations.signing import check_output_format, write_transaction

if TYPE_CHECKING:
    from scenarioctl.model.checks import Check

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
class TransferTransaction:
    txdata: str
    spec_version: int
    offline: bool = False
    warnings: tuple[str, ...] = ()
    check: "Check | None" = None

    def answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"txdata": self.txdata, "spec_version": self.spec_version}
        if self.offline:
            answer["offline"] = True
        if self.check is not None:
            answer["check"] = self.check.answer()
        return answer


async def asset_transfer(app: Application, request: AssetTransfer) -> TransferTransaction:
    from scenarioctl.actions.drafting import draft_transfer
    from scenarioctl.chains.addresses import parse_account

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
    check = passed(transaction)
    return TransferTransaction(
        txdata=await write_transaction(app, transaction, request),
        spec_version=transaction.spec_version,
        offline=transaction.offline,
        warnings=transaction.warnings,
        check=check,
    )
