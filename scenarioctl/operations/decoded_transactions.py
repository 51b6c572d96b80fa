"""Decode transactions, and make the payloads that are signed."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.model.json_types import Hex, Meaning
from scenarioctl.model.request_fields import ChainName, TransactionHex, Value
from scenarioctl.operations.built_transactions import (
    RuntimeUsed,
    SignerFields,
    make_payload,
    parse_sender,
    read_aside,
    runtime_used,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.sent_matches import note_drafted
from scenarioctl.operations.unsigned_transactions import (
    SourceFields,
    choose_fee_asset,
    find_unsigned,
)
from scenarioctl.transactions.extrinsic import parse_hex

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.extrinsic import Extrinsic

__all__ = ["decode_transaction", "transaction_payload"]


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


@dataclass(frozen=True, kw_only=True)
class TransactionPayload(SourceFields, SignerFields):
    """Make the exact bytes that a sender signs for a transaction: for `tx`, a scenario, or a draft
    of a job."""

    #: Key type of the sender, for Polkadot Vault: `sr25519` (default) or `ed25519`.
    crypto: Annotated[str, Value("KIND", offers=("sr25519", "ed25519"), rare=True)] = "sr25519"


class FeeAsset(TypedDict):
    """The asset that pays a fee."""

    asset: str
    symbol: str


class SigningPayloads(RuntimeUsed, Meaning):
    """The bytes that a sender signs, in the form of each kind of wallet."""

    chain: str
    #: What pays the fee; null if that depends on the account, and the chain didn't tell.
    fee_asset: FeeAsset | None
    payload: "Hex"
    #: The payload itself, or its blake2b-256 if it is longer than 256 bytes.
    bytes_to_sign: "Hex"
    parts: dict[str, Any]
    #: What polkadot.js and its wallets take: `SignerPayloadJSON`.
    signer_payload: dict[str, Any]
    #: What Polkadot Vault reads from QR codes, before it is cut into frames; `0x` for accounts of
    #: 20 bytes, which it hasn't.
    vault_payload: "Hex"
    transaction_version: int


async def transaction_payload(
    app: Application, request: TransactionPayload
) -> Result[SigningPayloads]:
    from scenarioctl.chains.addresses import ACCOUNT_ID_32, format_account
    from scenarioctl.transactions.extrinsic import Extrinsic
    from scenarioctl.transactions.signing.payload import (
        check_key,
        signer_payload,
        vault_payload,
    )

    check_key(request.crypto)
    unsigned = await find_unsigned(app, request)
    chain, table, transaction = unsigned.chain, unsigned.table, unsigned.transaction
    sender = parse_sender(request.sender, chain)
    paid = await choose_fee_asset(
        app, chain, table, transaction.call, fee_asset=request.fee_asset, sender=sender
    )
    is_same = paid.call is transaction.call
    call_data = transaction.call_data if is_same else table.encode_call(paid.call)
    named = "" if paid.named is None else paid.named.id
    made = await make_payload(app, chain, table, call_data, replace(request, fee_asset=named))
    options, payload = made.options, made.payload
    signed = Extrinsic(version=4, call=paid.call, extensions=made.extensions)
    meaning = await read_aside(app, call_data, explain_transaction, app, chain, table, signed)
    vault = b""
    if len(sender) == ACCOUNT_ID_32.length:
        vault = vault_payload(
            payload, account=sender, crypto=request.crypto, genesis_hash=options.genesis_hash
        )
    address = format_account(sender, chain.ss58_prefix)
    answer: SigningPayloads = {
        "chain": chain.name,
        **meaning,
        "fee_asset": _describe_fee_asset(app, chain, paid.asset),
        "payload": "0x" + payload.payload.hex(),
        "bytes_to_sign": "0x" + payload.bytes_to_sign.hex(),
        "parts": payload.describe(),
        "signer_payload": signer_payload(table, payload, options, address=address),
        "vault_payload": "0x" + vault.hex(),
        "transaction_version": table.transaction_version,
        **runtime_used(table, offline=app.settings.offline),
    }
    if unsigned.drafted is not None:
        drafted = replace(
            unsigned.drafted,
            signer=f"0x{sender.hex()}",
            nonce=options.nonce,
            at_block=options.block_number or None,
        )
        await note_drafted(app, [drafted])
    return Result(
        answer=answer,
        notes=(*transaction.notes, *made.notes),
        warnings=(*transaction.warnings, *paid.warnings, *made.warnings),
    )


def _describe_fee_asset(app: Application, chain: "Chain", asset: "Asset | None") -> FeeAsset | None:
    if asset is None:
        return None
    return {"asset": app.assets.answered_id(chain, asset), "symbol": asset.display_name}


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
            raise InvalidRequest(
                field=field, problem=f"is not a valid extrinsic of {chain.title}: {error}"
            ) from None
    try:
        return table.decode_call(data)
    except InvalidRequest as error:
        if not _is_versioned(data):
            raise InvalidRequest(
                field=field, problem=f"is not a valid call of {chain.title}: {error}"
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


def _is_versioned(data: bytes) -> bool:
    """Tell whether an extrinsic's version stands where it would stand behind a length."""
    from scenarioctl.transactions.extrinsic import VERSION_BYTES, length_size

    start = length_size(data)
    return 0 < start < len(data) and data[start] in VERSION_BYTES
