"""Transfers of an asset between connected chains, in raw amounts."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.actions.fields import note_native, note_raw, read_raw, read_xcm_version
from scenarioctl.application import Application
from scenarioctl.model.json_types import Hex
from scenarioctl.operations.built_transactions import (
    CheckableFields,
    Checked,
    RuntimeUsed,
    check_sender,
    passed_check,
    runtime_used,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.signing_fields import check_output_format, payload_warnings, write_transaction
from scenarioctl.transactions.keyless_accounts import read_receiver
from scenarioctl.transactions.transfer.request import Transfer

if TYPE_CHECKING:
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.operations.transaction_checks import CheckTransaction

__all__ = ["asset_transfer"]


@dataclass(frozen=True, kw_only=True)
class AssetTransfer(CheckableFields):
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
    #: Confirm a receiver that nobody holds the key of.
    yes: bool = False
    #: 3, 4 or 5; the highest that both runtimes know if left out.
    xcm_version: str | int | None = None


class TransferTransaction(RuntimeUsed, Checked):
    txdata: "Hex"


async def asset_transfer(app: Application, request: AssetTransfer) -> Result[TransferTransaction]:
    check_output_format(request.output_format)
    sender = check_sender(request.check, request.sender)
    transaction = await draft_requested(app, request, sender)
    check = passed_check(transaction)
    return Result(
        answer={
            "txdata": await write_transaction(app, transaction, request),
            **runtime_used(transaction, offline=transaction.offline),
            **check,
        },
        notes=transaction.notes,
        warnings=(*transaction.warnings, *payload_warnings(app, request)),
    )


async def draft_requested(
    app: Application, request: "AssetTransfer | CheckTransaction", sender: bytes | None
) -> "UnsignedTransaction":
    """Return the transaction of the transfer in *request*; with a *sender* it is checked."""
    source = app.registry.find(request.sourchain, field="sourchain")
    destination = app.registry.find(request.destchain, field="destchain")
    asset = app.assets.find(source, request.assetid, field="assetid")
    transfer = Transfer(
        source=source,
        destination=destination,
        asset=asset,
        amount=read_raw(request.amount, asset, "amount"),
        beneficiary=read_receiver(
            request.destinationaddress,
            destination,
            field="destinationaddress",
            confirmed=request.yes,
        ),
        xcm_version=read_xcm_version(request.xcm_version, "xcm_version"),
    )
    transaction = await draft_transfer(app, transfer, sender=sender)
    counted = note_raw("amount", transfer.amount, asset)
    native = note_native(request.assetid, asset, "assetid")
    return replace(transaction, notes=(*counted, *transaction.notes, *native))
