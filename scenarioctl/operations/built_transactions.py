"""Fields and answers of operations that return a transaction: what a signature covers, and its
check.

A scenario whose transactions are checked is stored only if they pass.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    ParamSpec,
    TypedDict,
    TypeVar,
)

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest, suggest
from scenarioctl.model.amounts import parse_raw, read_digits, read_number
from scenarioctl.model.calls import UnsignedTransaction
from scenarioctl.model.json_types import CheckAnswer
from scenarioctl.model.request_fields import ActingName, Address, AssetName, Count, Hash, Value

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.payload import SigningOptions, SigningPayload


from typing import TYPE_CHECKING

from scenarioctl.model.json_types import Hex, Meaning
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.model.calls import UnsignedTransaction

T = TypeVar("T")
P = ParamSpec("P")

#: Bytes of a transaction that is read on the event loop, in 20 ms at worst; a longer one is read
#: aside.
_INLINE_BYTES = 4 * 1024

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


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class BuiltFields:
    """Fields of every operation that answers with a transaction."""

    #: Account that will sign: SS58 or 0x public key.
    sender: Address = ""
    #: Make it as this account of the address book, a multisig or one that has proxies; `sender`
    #: signs.
    acting: ActingName = ""


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
    from scenarioctl.transactions.extrinsic import decode_extensions
    from scenarioctl.transactions.signed_differences import say_terms, warn_of_terms
    from scenarioctl.transactions.signing.payload import signing_payload
    from scenarioctl.transactions.wording.calls import say_payments

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


async def find_fee_asset(app: Application, chain: "Chain", fee_asset: object) -> "Asset | None":
    """Return the asset that *fee_asset* names to pay the fee on *chain*; None if it names none.

    InvalidRequest if no transaction of the chain can name it.
    """
    if fee_asset in ("", None):
        return None
    from scenarioctl.transactions.signing.fee_asset import fee_asset_id

    asset = app.assets.find(chain, fee_asset, field="fee_asset")
    fee_asset_id(await app.runtime(chain), chain, asset)
    return asset


async def _fee_asset_id(app: Application, chain: "Chain", fee_asset: object) -> Any:
    """Return what pays the fee, as a transaction of *chain* names it; None for the native asset."""
    from scenarioctl.transactions.signing.fee_asset import fee_asset_id

    asset = await find_fee_asset(app, chain, fee_asset)
    return None if asset is None else fee_asset_id(await app.runtime(chain), chain, asset)


#: Of an amount `max`.
WHOSE_BALANCE = "the account whose balance is read, for amount max"


def parse_sender(
    sender: str, chain: "Chain | None" = None, *, expected: str = "the account that will sign"
) -> bytes:
    """Return the account that will sign on *chain*; without one, an account of 32 bytes."""
    from scenarioctl.chains.addresses import ACCOUNT_ID_32

    if not sender:
        raise InvalidRequest(field="sender", problem="is missing", expected=expected)
    return (ACCOUNT_ID_32 if chain is None else chain.account_format).parse(sender, field="sender")


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
                "--offline and the values of the other chain"
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
            advice="; pass --nonce",
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


async def read_aside(
    app: Application, data: bytes | str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return what *work* makes of a transaction; where *data*, its bytes or hex, is long, a daemon
    has a thread do it."""
    if len(data) <= _INLINE_BYTES:
        return work(*args, **kwargs)
    return await app.aside(work, *args, **kwargs)


def _read_u32(value: object, *, field: str) -> int | None:
    """Return a count of transactions or the number of a block; None if it is left out."""
    if value is None or value == "":
        return None
    return read_number(
        value, field=field, kind="a whole number from 0 to 4294967295", most=2**32 - 1
    )


#: Said of several checks, none of which sees what another one's transaction does.
CHECKED_ALONE = (
    "each step was checked by itself, on what the chains hold now and not on what the "
    "steps before it leave"
)


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class LabelFields:
    """What a new scenario is called."""

    #: Name of the scenario, for lists, pictures and commands: up to 200 characters.
    name: str = ""
    #: Give the scenario this tag, a word; may be repeated.
    tags: Annotated[tuple[str, ...], Value("TAG", option="--tag", repeats=True)] = ()


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class CreationFields(LabelFields):
    """Fields of operations that store a scenario, checked where that is asked for."""

    #: Simulate it for `sender` on every chain it touches, and create it only if it passes.
    check: bool = False
    #: Account that will sign, for `check`, or of a multisig: SS58 or 0x public key.
    sender: Address = ""
    #: All its transactions are made as this account of the address book, a multisig or one that has
    #: proxies.
    acting: ActingName = ""
    #: Refuse to create it if there is a warning.
    strict: bool = False


class RuntimeUsed(TypedDict):
    """The runtime that a transaction is built for."""

    spec_version: int
    #: Built offline, not checked against a node.
    offline: NotRequired[Literal[True]]
    #: Of a maximum, a swap or a claim: how many endpoints its amounts rest on, as in a check.
    asked: NotRequired[Literal[1, 2]]
    #: Of an amount `max`: what it is, in whole tokens.
    maximum: NotRequired[str]


class Checked(TypedDict):
    """The check of a transaction, if one was asked for."""

    check: NotRequired[CheckAnswer]


def runtime_used(built: "UnsignedTransaction | RuntimeTable", *, offline: bool) -> RuntimeUsed:
    used: RuntimeUsed = {"spec_version": built.spec_version}
    if offline:
        used["offline"] = True
    if isinstance(built, UnsignedTransaction) and built.asked:
        used["asked"] = built.asked
    if isinstance(built, UnsignedTransaction) and built.maximum:
        used["maximum"] = built.maximum
    return used


def check_sender(
    check: bool, sender: str, chain: "Chain | None" = None, *, is_read: bool = True
) -> bytes | None:
    """Return the account of *chain* that a check is made for; None where none is asked for.

    *is_read*: something else than a check depends on the sender, who is refused otherwise.
    """
    if sender and not check and not is_read:
        raise InvalidRequest(
            field="sender",
            value=sender,
            problem="has no effect here",
            expected="check, or no sender",
        )
    return parse_sender(sender, chain) if check else None


def refuse_checked_loss(*, check: bool, accept_loss: bool) -> None:
    """Refuse to accept a loss that the check would refuse nevertheless."""
    if check and accept_loss:
        raise InvalidRequest(
            field="accept_loss",
            problem=(
                "cannot be combined with check, which refuses what would be lost: leave one of "
                "them out"
            ),
        )


def passed_check(transaction: "UnsignedTransaction") -> Checked:
    """Return the check of *transaction*, which must pass; nothing if none was asked for."""
    if transaction.check is None:
        return {}
    from scenarioctl.actions.drafting import require_ok

    require_ok(transaction.check)
    return {"check": transaction.check.answer()}


class BuiltCall(RuntimeUsed, Meaning):
    chain: str
    #: The bare extrinsic, as wallets read it.
    tx: "Hex"
    #: The call alone.
    call_data: "Hex"


def hex_of(transaction: "UnsignedTransaction") -> str:
    """Return the bare extrinsic of *transaction*, as 0x hex."""
    # Who only lists scenarios comes by here too, and needs no codec.
    from scenarioctl.transactions.extrinsic import bare_extrinsic

    return "0x" + bare_extrinsic(transaction.call_data).hex()


async def explain(app: Application, transaction: "UnsignedTransaction") -> Meaning:
    """Return what *transaction* does."""
    # Who wants bytes alone needs none of what reads them.
    from scenarioctl.operations.decoded_transactions import explain_transaction

    chain = app.registry.find(transaction.chain)
    table = await app.runtime(chain)
    return await read_aside(
        app, transaction.call_data, explain_transaction, app, chain, table, transaction.call
    )


async def answer_call(app: Application, transaction: "UnsignedTransaction") -> Result[BuiltCall]:
    """Return the answer with *transaction*."""
    return Result(
        answer={
            "chain": transaction.chain,
            "tx": hex_of(transaction),
            "call_data": "0x" + transaction.call_data.hex(),
            **await explain(app, transaction),
            **runtime_used(transaction, offline=transaction.offline),
        },
        notes=transaction.notes,
        warnings=transaction.warnings,
    )
