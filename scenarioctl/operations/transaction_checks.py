"""Check a transaction before it is signed: what leaves, what each hop takes, what arrives."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

from scenarioctl.actions.transfer_fields import UnstoredTransferFields
from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.json_types import CheckAnswer, Hex
from scenarioctl.model.request_fields import (
    Address,
    AssetName,
    DestChain,
    Raw,
    Receiver,
    SentAsset,
    SourceChain,
    Value,
)
from scenarioctl.operations.built_transactions import (
    parse_sender,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.unsigned_transactions import (
    SourceFields,
    choose_fee_asset,
    find_unsigned,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.model.calls import Check, UnsignedTransaction

__all__ = ["check_transaction"]

#: The fields that say a transfer, in place of the bytes of a transaction.
_TRANSFER = ("sourchain", "destchain", "assetid", "amount", "destinationaddress")
UNITS = ("raw", "tokens")


@dataclass(frozen=True, kw_only=True)
class CheckTransaction(SourceFields, UnstoredTransferFields):
    """Try a transaction on every chain that it touches, for the account that will sign it."""

    #: Account that will sign: SS58 or 0x public key.
    sender: Address
    #: Chain that a transfer leaves.
    sourchain: SourceChain = ""
    #: Chain that it reaches.
    destchain: DestChain = ""
    #: Id, symbol or location of the asset on the source chain, like 1/Here.
    assetid: SentAsset = ""
    #: Amount in the smallest unit (raw): 10000000000 is 1 DOT. `max` is all that `sender` can send
    #: now.
    amount: Raw | float = ""
    #: What a number in `amount` is in: `raw` (default), or `tokens` for whole tokens.
    #: 15000000000raw is raw with both.
    unit: Annotated[str, Value("UNIT", UNITS)] = "raw"
    #: Receiver on the destination chain: a name of the address book, SS58 of any prefix, or 0x
    #: public key; on Mythos 0x and 40 hex digits.
    destinationaddress: Receiver = ""
    #: Pay the fee in this asset: its id, symbol or location. On an Asset Hub, or where accounts
    #: have a fee currency.
    fee_asset: AssetName = ""


class CheckedBytes(TypedDict):
    #: The bare extrinsic that was checked; left out of a transfer that only a check opens, if the
    #: verdict isn't ok.
    txdata: NotRequired["Hex"]


class CheckedTransaction(CheckAnswer, CheckedBytes):
    chain: str
    spec_version: int


async def check_transaction(
    app: Application, request: CheckTransaction
) -> Result[CheckedTransaction]:
    transaction, check = await find_check(app, request)
    return Result(
        answer={
            "chain": transaction.chain,
            **check.answer(),
            **_bytes_of(transaction),
            "spec_version": transaction.spec_version,
        },
        notes=transaction.notes,
    )


def _bytes_of(transaction: "UnsignedTransaction") -> CheckedBytes:
    from scenarioctl.transactions.extrinsic import bare_extrinsic

    if transaction.unproven:
        return {}
    return {"txdata": "0x" + bare_extrinsic(transaction.call_data).hex()}


async def find_check(
    app: Application, request: CheckTransaction
) -> "tuple[UnsignedTransaction, Check]":
    """Return the transaction of *request* and its check, with the warnings of both."""
    from scenarioctl.actions.drafting import require_check

    given = [name for name in _TRANSFER if getattr(request, name) != ""]
    if request.unit != "raw":
        given.append("unit")
    if request.remote_fee_asset != "":
        given.append("remote_fee_asset")
    source = next((name for name in ("tx", "scenario", "job") if getattr(request, name)), "")
    if source and given:
        raise InvalidRequest(
            field=source,
            problem=(
                f"and {given[0]} exclude each other: pass a transaction and its chain, a "
                "scenario, a draft of a job, or a transfer"
            ),
        )
    transaction = await (_take(app, request) if source else _build(app, request))
    return transaction, replace(require_check(transaction), warnings=transaction.warnings)


async def _build(app: Application, request: CheckTransaction) -> "UnsignedTransaction":
    from scenarioctl.operations.builds import draft_requested

    chain = app.registry.find(request.sourchain, field="sourchain") if request.sourchain else None
    sender = parse_sender(request.sender, chain)
    for name in _TRANSFER:
        if getattr(request, name) == "":
            raise InvalidRequest(
                field=name,
                problem="is missing",
                expected=(
                    "a transaction and its chain, a scenario, a draft of a job, or a transfer: "
                    f"{', '.join(_TRANSFER)}"
                ),
            )
    if request.chain:
        raise InvalidRequest(
            field="chain", problem="belongs to tx; a transfer has sourchain and destchain"
        )
    unit = read_choice(request.unit, field="unit", choices=UNITS)
    return await draft_requested(app, request, sender=sender, in_tokens=unit == "tokens")


async def _take(app: Application, request: CheckTransaction) -> "UnsignedTransaction":
    from scenarioctl.actions.drafting import check_draft

    known = app.registry.find(request.chain) if request.chain else None
    sender = parse_sender(request.sender, known)
    by_fee = request.fee_asset != ""
    # What is made by its check is not checked again, unless with another fee.
    found = await find_unsigned(app, request, None if by_fee else sender)
    chain, table, transaction = found.chain, found.table, found.transaction
    # A check is nothing without the chain.
    app.client(chain)
    named: Asset | None = None
    if by_fee:
        paid = await choose_fee_asset(
            app, chain, table, transaction.call, fee_asset=request.fee_asset, sender=sender
        )
        named = paid.named
        transaction = replace(
            transaction,
            call=paid.call,
            call_data=table.encode_call(paid.call),
            warnings=(*transaction.warnings, *paid.warnings),
        )
    return await check_draft(
        app,
        transaction,
        sender,
        named,
        confirmed=request.yes,
        accept_locked=request.accept_locked,
    )
