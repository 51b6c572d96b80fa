"""Check a transaction before it is signed: what leaves, what each hop takes, what arrives."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.json_types import CheckAnswer, Hex
from scenarioctl.model.request_fields import (
    ActingName,
    Address,
    AssetName,
    ChainName,
    DestChain,
    Raw,
    Receiver,
    SentAsset,
    SourceChain,
    TransactionHex,
    Value,
)
from scenarioctl.operations.built_transactions import (
    UnstoredTransferFields,
    parse_sender,
    read_aside,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.unsigned_transactions import choose_fee_asset
from scenarioctl.transactions.hex_fields import parse_hex

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.model.checks import Check

__all__ = ["check_transaction"]

#: The fields that say a transfer, in place of the bytes of a transaction.
_TRANSFER = ("sourchain", "destchain", "assetid", "amount", "destinationaddress")
UNITS = ("raw", "tokens")


@dataclass(frozen=True, kw_only=True)
class CheckTransaction(UnstoredTransferFields):
    """Try a transaction on every chain that it touches, for the account that will sign it."""

    #: It is made as this account of the address book, a multisig or one that has proxies.
    acting: ActingName = ""
    #: 0x hex of an unsigned extrinsic or of call data, in place of a transfer.
    tx: TransactionHex = ""
    #: Chain of `tx`.
    chain: ChainName = ""
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
    #: Confirm a receiver without a private key, like the account of a pallet, and swaps whose limit
    #: protects nothing.
    yes: bool = False


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
    from scenarioctl.transactions.drafts import bare_extrinsic

    if transaction.unproven:
        return {}
    return {"txdata": "0x" + bare_extrinsic(transaction.call_data).hex()}


async def find_check(
    app: Application, request: CheckTransaction
) -> "tuple[UnsignedTransaction, Check]":
    """Return the transaction of *request* and its check, with the warnings of both."""
    from dataclasses import replace

    from scenarioctl.actions.drafting import require_check

    given = [name for name in _TRANSFER if getattr(request, name) != ""]
    if request.unit != "raw":
        given.append("unit")
    if request.tx and given:
        raise InvalidRequest(
            field="tx",
            problem=(
                f"and {given[0]} exclude each other: pass a transaction and its chain, or a "
                "transfer"
            ),
        )
    if request.tx and request.remote_fee_asset != "":
        raise InvalidRequest(
            field="remote_fee_asset",
            value=request.remote_fee_asset,
            problem="belongs to a transfer: tx says itself what pays on the destination",
        )
    sender = parse_sender(request.sender, _signing_chain(app, request))
    transaction = await (
        _read(app, request, sender) if request.tx else _build(app, request, sender)
    )
    return transaction, replace(require_check(transaction), warnings=transaction.warnings)


def _signing_chain(app: Application, request: CheckTransaction) -> "Chain | None":
    """Return the chain that the transaction is for; None if the request names none."""
    name, field = (request.chain, "chain") if request.tx else (request.sourchain, "sourchain")
    return app.registry.find(name, field=field) if name else None


async def _build(
    app: Application, request: CheckTransaction, sender: bytes
) -> "UnsignedTransaction":
    from scenarioctl.operations.transfers import draft_requested

    for name in _TRANSFER:
        if getattr(request, name) == "":
            raise InvalidRequest(
                field=name,
                problem="is missing",
                expected=f"a transaction and its chain, or a transfer: {', '.join(_TRANSFER)}",
            )
    if request.chain:
        raise InvalidRequest(
            field="chain", problem="belongs to tx; a transfer has sourchain and destchain"
        )
    unit = read_choice(request.unit, field="unit", choices=UNITS)
    return await draft_requested(app, request, sender, in_tokens=unit == "tokens")


async def _read(
    app: Application, request: CheckTransaction, sender: bytes
) -> "UnsignedTransaction":
    from scenarioctl.actions.drafting import act_as, check_draft
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.operations.decoded_transactions import read_unsigned

    data = parse_hex(request.tx, field="tx")
    if not request.chain:
        raise InvalidRequest(field="chain", problem="is missing", expected="the chain of tx")
    chain = app.registry.find(request.chain)
    # A check is nothing without the chain.
    table = await app.client(chain).table()
    call, _ = await read_aside(app, data, read_unsigned, table, chain, data)
    named: Asset | None = None
    acted = await act_as(app, chain, table, call)
    call, warnings = acted.call, acted.warnings
    if request.fee_asset != "":
        paid = await choose_fee_asset(
            app, chain, table, call, fee_asset=request.fee_asset, sender=sender
        )
        call, named, warnings = paid.call, paid.named, (*warnings, *paid.warnings)
    transaction = UnsignedTransaction(
        chain=chain.name,
        call=call,
        call_data=table.encode_call(call),
        spec_version=table.spec_version,
        notes=acted.notes,
        warnings=warnings,
    )
    return await check_draft(
        app,
        transaction,
        sender,
        named,
        confirmed=request.yes,
        accept_locked=request.accept_locked,
    )
