"""What a sender signs: the payload of a transaction, and what a signature covers beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    TypedDict,
)

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest, suggest
from scenarioctl.model.amounts import parse_raw, read_digits, read_number
from scenarioctl.model.json_types import Hex, Meaning
from scenarioctl.model.request_fields import Address, AssetName, Count, Hash, Value
from scenarioctl.operations.built_transactions import (
    RuntimeUsed,
    find_fee_asset,
    parse_sender,
    read_aside,
    runtime_used,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.sent_matches import note_drafted
from scenarioctl.operations.sources import (
    SourceFields,
    choose_fee_asset,
    find_unsigned,
)
from scenarioctl.operations.views import explain_transaction

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.payload import SigningOptions, SigningPayload

__all__ = ["transaction_payload"]

#: Blocks for which a signature made with a connected chain is good, where nothing else is asked
#: for.
PERIOD = 64


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class SignerFields:
    """What a signature covers besides the call."""

    #: Account that will sign: SS58 or 0x public key.
    sender: Address = ""
    #: The sender's nonce. Read from the chain; required offline.
    nonce: Count | None = None
    #: `immortal`, a period in blocks (a power of two from 4 to 65536), or the era's 0x hex.
    #: Default: 64; offline `immortal`, or 64 with `block` and `block_hash`.
    era: Annotated[str | int, Value("ERA", offers=("immortal",))] = ""
    #: Number of the block that a mortal era starts from. Default: the finalized block.
    block: Annotated[Count | None, Value("N", rare=True)] = None
    #: Hash of that block. Read from the chain; required offline with a mortal era.
    block_hash: Annotated[Hash, Value("0xHASH", rare=True)] = ""
    #: Tip in the native asset's smallest unit.
    tip: Annotated[int | str, Value("RAW")] = 0
    #: Pay the fee in this asset: its id, symbol or location. On an Asset Hub; on Hydration it is
    #: set for the account, by `tx payload` and `tx check` of a transaction.
    fee_asset: Annotated[AssetName, Value("ASSET", rare=True)] = ""
    #: Commit the signature to the runtime's metadata (CheckMetadataHash): its hash, `auto` to
    #: compute it, or `off`. Default: `auto` if the connected chain supports it; offline `off`.
    metadata_hash: Annotated[str, Value("auto|off|0xHASH", offers=("auto", "off"), rare=True)] = ""
    #: Override the chain's genesis hash.
    genesis: Annotated[Hash, Value("0xHASH", rare=True)] = ""


class MadePayload(NamedTuple):
    """A payload, what it signs beside the call, and what to say of that."""

    options: "SigningOptions"
    payload: "SigningPayload"
    #: Identifier -> value, of the signed extensions that carry bytes.
    extensions: Mapping[str, Any]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


async def make_payload(
    app: Application, chain: "Chain", table: "RuntimeTable", call_data: bytes, request: SignerFields
) -> MadePayload:
    """Return what the sender of *request* signs for *call_data*, with all that is signed beside it
    said."""
    from scenarioctl.transactions.explain import say_payments
    from scenarioctl.transactions.extrinsic import decode_extensions
    from scenarioctl.transactions.signing.payload import signing_payload
    from scenarioctl.transactions.signing.signing_context import say_terms, warn_of_terms

    options = await signing_options(app, chain, request)
    payload = signing_payload(table, call_data, options)
    extensions, _, _ = decode_extensions(table, payload.extra)
    next_nonce = await _next_nonce(app, chain, request)
    return MadePayload(
        options=options,
        payload=payload,
        extensions=extensions,
        notes=(say_terms(options, say_payments(extensions, chain, app.assets)),),
        warnings=warn_of_terms(options, chain, app.assets, next_nonce),
    )


async def _next_nonce(app: Application, chain: "Chain", request: SignerFields) -> int | None:
    """Return the next nonce of the sender, if *request* chose another; None if no chain tells
    it."""
    from scenarioctl.transactions.signing.signing_context import read_next_nonce

    if app.settings.offline or request.nonce in (None, ""):
        return None
    try:
        return await read_next_nonce(app.client(chain), parse_sender(request.sender, chain))
    except (ChainRefused, ChainUnreachable, InvalidRequest):
        # The nonce may have been given because the chain doesn't tell it.
        return None


async def signing_options(
    app: Application, chain: "Chain", request: SignerFields
) -> "SigningOptions":
    """Return what a signature on *chain* covers, judged, and completed from the chain where one is
    connected."""
    from scenarioctl.transactions.signing.signing_context import read_signing_context

    offline = app.settings.offline
    account = parse_sender(request.sender, chain)
    nonce = _read_u32(request.nonce, field="nonce")
    genesis_hash = _parse_genesis(chain, request, offline=offline)
    metadata_hash = parse_metadata_hash(request.metadata_hash)
    era = parse_era_choice(request.era or (default_era(request) if offline else PERIOD))
    block, block_hash = _parse_block(request, era, genesis_hash)
    tip = parse_raw(request.tip, field="tip", zero=True)
    if not (native := app.assets.native(chain)).can_exist(tip):
        raise InvalidRequest(
            field="tip",
            value=request.tip,
            problem=f"is {native.amount(tip)}, more than can exist: check its digits",
        )
    if offline:
        options = _options_as_given(chain, nonce, genesis_hash, era, block, block_hash)
    else:
        options = await read_signing_context(
            app.client(chain),
            account=account,
            nonce=nonce,
            genesis_hash=genesis_hash,
            era=era,
            block=block,
            block_hash=block_hash,
        )
    if metadata_hash == "auto" or (
        metadata_hash == "" and not offline and await _commits(app, chain)
    ):
        metadata_hash = await compute_metadata_hash(app, chain)
    digest = metadata_hash if isinstance(metadata_hash, bytes) else None
    asset_id = await _fee_asset_id(app, chain, request.fee_asset)
    return replace(
        options, tip=tip, asset_id=asset_id, mode=1 if digest else 0, metadata_hash=digest
    )


async def _fee_asset_id(app: Application, chain: "Chain", fee_asset: object) -> Any:
    """Return what pays the fee, as a transaction of *chain* names it; None for the native asset."""
    from scenarioctl.transactions.signing.fee_asset import fee_asset_id

    asset = await find_fee_asset(app, chain, fee_asset)
    return None if asset is None else fee_asset_id(await app.runtime(chain), chain, asset)


def default_era(request: SignerFields) -> str | int:
    """Return the era of a signature for which no chain is asked: mortal where a block is given for
    it to start from."""
    return PERIOD if request.block not in (None, "") and request.block_hash else "immortal"


async def compute_metadata_hash(app: Application, chain: "Chain") -> bytes:
    """Return the digest that the runtime of *chain*, connected or at hand, expects under
    CheckMetadataHash."""
    from scenarioctl.runtime.metadata_hash import metadata_digest

    table = await app.runtime(chain)
    # The runtime's own prefix, which is hashed, and not the registry's, which is printed.
    prefix = table.constant("System", "SS58Prefix")
    return metadata_digest(table, ss58_prefix=prefix, decimals=chain.decimals, symbol=chain.symbol)


async def _commits(app: Application, chain: "Chain") -> bool:
    """Tell whether a signature can commit to the metadata of the runtime that *chain* has now."""
    from scenarioctl.runtime.metadata_hash import has_digest

    return has_digest(await app.runtime(chain))


def _parse_genesis(chain: "Chain", request: SignerFields, *, offline: bool) -> bytes | None:
    """Return the genesis hash, None where neither the request nor the registry tells it."""
    from scenarioctl.transactions.extrinsic import parse_hash

    known = parse_hash(chain.genesis, field="genesis") if chain.genesis else None
    given = parse_hash(request.genesis, field="genesis") if request.genesis else None
    if not offline and given and known and given != known:
        raise InvalidRequest(
            field="genesis",
            value=request.genesis,
            limit=80,
            problem=(
                f"is not that of {chain.title}, which is connected: leave it out, or pass "
                "`offline` and the values of the other chain"
            ),
        )
    return given or known


def _parse_block(
    request: SignerFields, era: bytes | int, genesis_hash: bytes | None
) -> tuple[int | None, bytes | None]:
    """Return number and hash of the block that *era* starts from, None where they are not given."""
    from scenarioctl.transactions.extrinsic import parse_hash

    block_hash = parse_hash(request.block_hash, field="block_hash") if request.block_hash else None
    if era != b"\0":
        return _read_u32(request.block, field="block"), block_hash
    if request.block not in (None, ""):
        raise InvalidRequest(
            field="block",
            value=request.block,
            problem=(
                "cannot be combined with an immortal era, which starts at the genesis block: "
                "leave it out, or pass an era"
            ),
        )
    if block_hash and block_hash != genesis_hash:
        raise InvalidRequest(
            field="block_hash",
            value=request.block_hash,
            problem=(
                "cannot be combined with an immortal era, which starts at the genesis block: "
                "leave it out, or pass an era"
            ),
        )
    return None, None


def _options_as_given(
    chain: "Chain",
    nonce: int | None,
    genesis_hash: bytes | None,
    era: bytes | int,
    block: int | None,
    block_hash: bytes | None,
) -> "SigningOptions":
    """Return what a signature covers for which the chain is not asked."""
    from scenarioctl.transactions.extrinsic import IMMORTAL, encode_era, era_start
    from scenarioctl.transactions.signing.payload import SigningOptions

    if genesis_hash is None:
        raise InvalidRequest(
            field="genesis",
            problem=f"is missing, the genesis hash of {chain.title} is not in the registry",
        )
    if nonce is None:
        raise ChainUnreachable(
            field="nonce",
            problem=f"is missing: it isn't read from {chain.title} offline",
            advice="Pass `nonce`.",
        )
    if era == IMMORTAL:
        return SigningOptions(
            nonce=nonce, genesis_hash=genesis_hash, era=IMMORTAL, block_hash=genesis_hash
        )
    if isinstance(era, int):
        if block is None:
            raise InvalidRequest(
                field="block",
                problem="is missing, a mortal era needs the number of the block it starts from",
            )
        era = encode_era(era, block)
    if block_hash is None:
        raise InvalidRequest(
            field="block_hash",
            problem="is missing, a mortal era needs the hash of the block it starts from",
        )
    return SigningOptions(
        nonce=nonce,
        genesis_hash=genesis_hash,
        era=era,
        block_number=era_start(era, block or 0),
        block_hash=block_hash,
    )


def parse_metadata_hash(value: object) -> bytes | str:
    """Return a metadata hash, `auto`, `off`, or "" where nothing is said of it."""
    from scenarioctl.transactions.extrinsic import parse_hash

    if isinstance(value, str) and value in ("", "auto", "off"):
        return value
    if not isinstance(value, str) or value[:2] not in ("0x", "0X"):
        raise InvalidRequest(
            field="metadata_hash",
            value=value,
            problem="is not a hash",
            expected="auto, off, or 0x and 64 hex digits",
        )
    return parse_hash(value, field="metadata_hash")


_ERAS = "expected immortal, a period in blocks like 64, or 0x hex"


def parse_era_choice(value: object) -> bytes | int:
    """Return an era's bytes (one for immortal, two for mortal), or a period in blocks."""
    from scenarioctl.transactions.extrinsic import parse_era

    text = str(value).strip()
    if text == "immortal" or text.startswith("0x"):
        return parse_era(text, field="era")
    period = read_digits(text)
    if period is None:
        raise InvalidRequest(
            field="era",
            value=value,
            problem=f"is not an era, {suggest(value, ['immortal'], otherwise=_ERAS)}",
        )
    if not (4 <= period <= 65536 and period & (period - 1) == 0):
        raise InvalidRequest(
            field="era",
            value=value,
            problem="is not a period",
            expected="a power of two from 4 to 65536, like 64",
        )
    return period


def _read_u32(value: object, *, field: str) -> int | None:
    """Return a count of transactions or the number of a block; None if it is left out."""
    if value is None or value == "":
        return None
    return read_number(
        value, field=field, kind="a whole number from 0 to 4294967295", most=2**32 - 1
    )


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
