"""What is said of a transaction before it is signed: what it does, and whether it does that."""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from scenarioctl.actions.transfer_fields import TransferFields
from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.calls import Call
from scenarioctl.model.json_types import CheckAnswer, Hex, Meaning
from scenarioctl.model.request_fields import (
    Address,
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
    RuntimeUsed,
    hex_of,
    parse_sender,
    read_aside,
    runtime_used,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.sources import SourceFields, choose_fee_asset, find_unsigned
from scenarioctl.transactions.extrinsic import parse_hex

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.model.checks import Check
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.extrinsic import Extrinsic

__all__ = ["check_transaction", "decode_transaction"]


@dataclass(frozen=True, kw_only=True)
class DecodeTransaction:
    """Say in words and numbers what a transaction does."""

    #: 0x hex of an extrinsic, signed or not, or of call data.
    tx: TransactionHex
    #: Chain of the transaction.
    chain: ChainName


TransactionForm: TypeAlias = Literal["extrinsic", "signed extrinsic", "call"]


class _Signed(TypedDict, total=False):
    signature: dict[str, Any]
    #: Of a signed extrinsic: what chains and explorers know it by.
    hash: "Hex"


class DecodedTransaction(RuntimeUsed, _Signed, Meaning):
    chain: str
    form: TransactionForm
    call: dict[str, Any]
    call_data: "Hex"
    call_hash: "Hex"


async def decode_transaction(
    app: Application, request: DecodeTransaction
) -> Result[DecodedTransaction]:
    chain = app.registry.find(request.chain)
    data = parse_hex(request.tx, field="tx")
    table = await app.runtime(chain)
    return await read_aside(app, data, _decode, app, chain, table, data)


def _decode(
    app: Application, chain: "Chain", table: "RuntimeTable", data: bytes
) -> Result[DecodedTransaction]:
    from hashlib import blake2b

    from scenarioctl.transactions.explain import describe_call, describe_signature
    from scenarioctl.transactions.extrinsic import extrinsic_hash

    extrinsic = read_transaction(table, chain, data)
    form: TransactionForm = "call"
    signature: _Signed = {}
    if isinstance(extrinsic, Call):
        call = extrinsic
    else:
        form, call = "extrinsic", extrinsic.call
        if extrinsic.signer is not None:
            form = "signed extrinsic"
            signature = {
                "signature": describe_signature(extrinsic, chain, app.assets),
                "hash": extrinsic_hash(data),
            }
    call_data = table.encode_call(call)
    answer: DecodedTransaction = {
        "chain": chain.name,
        "form": form,
        **explain_transaction(app, chain, table, extrinsic),
        "call": describe_call(table, chain, call, app.assets),
        "call_data": "0x" + call_data.hex(),
        "call_hash": "0x" + blake2b(call_data, digest_size=32).hexdigest(),
        **signature,
        **runtime_used(table, offline=app.settings.offline),
    }
    return Result(answer=answer, warnings=app.runtime_warnings(chain, table))


def say_transaction(
    app: Application, chain: "Chain", table: "RuntimeTable", transaction: "Extrinsic | Call"
) -> str:
    """Return what *transaction*, read by *table*, does on *chain* and, as far as their runtimes are
    known, on others."""
    return explain_transaction(app, chain, table, transaction)["says"]


def explain_transaction(
    app: Application, chain: "Chain", table: "RuntimeTable", transaction: "Extrinsic | Call"
) -> Meaning:
    """Return the same, with all payments of a batch that is only summed up."""
    from scenarioctl.transactions.wording.calls import tell_call, tell_extrinsic

    def tables(other: "Chain") -> "RuntimeTable | None":
        return table if other.name == chain.name else app.known_runtime(other)

    if isinstance(transaction, Call):
        story = tell_call(transaction, chain, app.assets, tables)
    else:
        story = tell_extrinsic(transaction, chain, app.assets, tables)
    meaning: Meaning = {"says": story.sentence}
    if story.payments:
        meaning["payments"] = [
            {"account": each.receiver, "value": str(each.value), "amount": each.amount(each.value)}
            for each in story.payments
        ]
    return meaning


def read_unsigned(
    table: "RuntimeTable", chain: "Chain", data: bytes, *, field: str = "tx"
) -> tuple[Call, bytes]:
    """Return the call of an unsigned transaction, and its call data."""
    extrinsic = read_transaction(table, chain, data, field=field)
    if isinstance(extrinsic, Call):
        return extrinsic, data
    if extrinsic.signer is not None:
        raise InvalidRequest(
            field=field, problem="is already signed", expected="an unsigned extrinsic or call data"
        )
    return extrinsic.call, table.encode_call(extrinsic.call)


def read_transaction(
    table: "RuntimeTable", chain: "Chain", data: bytes, *, field: str = "tx"
) -> "Extrinsic | Call":
    """Return what *data* says: an extrinsic where it begins as one, else a call."""
    from scenarioctl.transactions.extrinsic import decode_extrinsic, looks_like_extrinsic

    if looks_like_extrinsic(data):
        try:
            return decode_extrinsic(table, data)
        except InvalidRequest as error:
            reason = _reason(table, chain, data, error)
            older = f"; was it made for another runtime than {table}?" * (reason == str(error))
            raise InvalidRequest(
                field=field, problem=f"is not a valid extrinsic of {chain.title}: {reason}{older}"
            ) from None
    try:
        return table.decode_call(data)
    except InvalidRequest as error:
        if not _is_versioned(data):
            raise InvalidRequest(
                field=field,
                problem=f"is not a valid call of {chain.title}: "
                f"{_reason(table, chain, data, error)}",
            ) from None
        as_call = error
    try:
        # Its length does not fit, so it cannot be one; but the sentence tells whoever cut it.
        return decode_extrinsic(table, data)
    except InvalidRequest as error:
        raise InvalidRequest(
            field=field,
            problem=(
                f"is neither a valid extrinsic of {chain.title} ({error}) nor a valid call "
                f"({as_call})"
            ),
        ) from None


#: What a decoder says of a version of XCM that a runtime no longer has.
_OLD_XCM = re.compile(r"0x0(\d) at byte \d+ is not a variant of Versioned")


def _reason(table: "RuntimeTable", chain: "Chain", data: bytes, error: InvalidRequest) -> str:
    """Return why *data* can't be read: what it is, or was made for, if that can be told."""
    if chain.genesis and bytes.fromhex(chain.genesis[2:]) in data:
        return (
            "it is a signing payload: behind the call stands what a signature covers besides; "
            "decode the call alone"
        )
    if old := _OLD_XCM.search(str(error)):
        return (
            f"it has XCM version {old[1]}, which {table} no longer takes: it was made for an "
            "older runtime"
        )
    return str(error)


def _is_versioned(data: bytes) -> bool:
    """Tell whether an extrinsic's version stands where it would stand behind a length."""
    from scenarioctl.transactions.extrinsic import VERSION_BYTES, length_size

    start = length_size(data)
    return 0 < start < len(data) and data[start] in VERSION_BYTES


#: The fields that say a transfer, in place of the bytes of a transaction.
_TRANSFER = ("sourchain", "destchain", "assetid", "amount", "destinationaddress")
UNITS = ("raw", "tokens")


@dataclass(frozen=True, kw_only=True)
class CheckTransaction(SourceFields, TransferFields):
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
    fee_asset: Annotated[str | int, Value("ASSET", rare=True)] = ""


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
    return {} if transaction.unproven else {"txdata": hex_of(transaction)}


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
    )
