"""The payload that a sender signs: the call, and what each signed extension of the runtime adds;
and the forms that wallets take: polkadot.js's SignerPayloadJSON, Polkadot Vault's QR codes.

Vault's form, from novasamatech/parity-signer, docs/src/development/UOS.md: 0x53, the kind of key,
02 for a transaction (mortal or not), the public key, the call behind its compact length, the
extensions as they are signed, the genesis hash.  Its frames, from polkadot-js/ui,
packages/react-qr/src/util.ts: 00, how many, which one from 0 (both u16, big-endian), and 1024
bytes; one that fits in a single frame has the same head.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, TooLarge, shorten
from scenarioctl.model.amounts import read_digits
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.extrinsic import (
    IMMORTAL,
    decode_era,
    parse_era,
    parse_hash,
    parse_hex,
)
from scenarioctl.transactions.signing.fee_asset import read_asset_id, write_asset_id

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


#: Payloads longer than this are hashed before they are signed.
HASHED_ABOVE = 256


@dataclass(frozen=True, kw_only=True)
class SigningOptions:
    """What a signature covers besides the call."""

    nonce: int
    #: Raw amount of the native asset.
    tip: int = 0
    #: One byte for immortal, two for mortal: see `mortality.py`.
    era: bytes = IMMORTAL
    genesis_hash: bytes
    #: Of the block that the era starts from; the genesis hash for an immortal one.
    block_hash: bytes
    #: Of that block: wallets show it, nothing signs it.
    block_number: int = 0
    #: ChargeAssetTxPayment: what pays the fee, as the runtime names it; None for the native asset.
    asset_id: Any = None
    #: CheckMetadataHash: 1 commits to *metadata_hash*.
    mode: int = 0
    metadata_hash: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class ExtensionPart:
    """What one signed extension adds."""

    identifier: str
    #: In the extrinsic, and signed.
    extra: bytes
    #: Signed only.
    additional: bytes


@dataclass(frozen=True, kw_only=True)
class SigningPayload:
    """The exact bytes that a sender signs."""

    call_data: bytes
    extensions: tuple[ExtensionPart, ...]

    @property
    def extra(self) -> bytes:
        return b"".join(part.extra for part in self.extensions)

    @property
    def additional(self) -> bytes:
        return b"".join(part.additional for part in self.extensions)

    @property
    def payload(self) -> bytes:
        return self.call_data + self.extra + self.additional

    @property
    def bytes_to_sign(self) -> bytes:
        """The payload itself, or its blake2b-256 where it is longer than 256 bytes."""
        return bytes_to_sign(self.payload)

    def describe(self) -> dict[str, Any]:
        """Return the parts as plain data, in 0x hex."""
        return {
            "call": _hex(self.call_data),
            "extra": {part.identifier: _hex(part.extra) for part in self.extensions if part.extra},
            "additional": {
                part.identifier: _hex(part.additional)
                for part in self.extensions
                if part.additional
            },
            "hashed": len(self.payload) > HASHED_ABOVE,
        }


def signing_payload(
    table: "RuntimeTable", call_data: bytes, options: SigningOptions
) -> SigningPayload:
    """Return what the sender of *call_data* signs.

    Every signed extension of the runtime is either known here or carries no bytes; InvalidRequest
    names one that is neither, since a guess would make a signature that is good for nothing, or for
    something else.
    """
    _check_options(table, options)
    parts = []
    for extension in table.extensions:
        writers = _EXTENSIONS.get(extension.identifier, (None, None))
        extra, additional = (
            _write_part(table, extension.identifier, type_id, writer, options)
            for type_id, writer in zip(
                (extension.type_id, extension.additional_type_id), writers, strict=True
            )
        )
        parts.append(
            ExtensionPart(identifier=extension.identifier, extra=extra, additional=additional)
        )
    return SigningPayload(call_data=call_data, extensions=tuple(parts))


def bytes_to_sign(payload: bytes) -> bytes:
    """Return *payload*, or its blake2b-256 where it is longer than 256 bytes."""
    return payload if len(payload) <= HASHED_ABOVE else blake2b(payload, digest_size=32).digest()


def _check_options(table: "RuntimeTable", options: SigningOptions) -> None:
    if options.mode not in (0, 1):
        raise InvalidRequest(
            field="mode",
            value=options.mode,
            problem="is not a mode of CheckMetadataHash",
            expected="0 or 1",
        )
    if bool(options.mode) != (options.metadata_hash is not None):
        raise InvalidRequest(
            field="metadata_hash", problem="and mode 1 belong together", expected="both or neither"
        )
    has_mode = any(each.identifier == "CheckMetadataHash" for each in table.extensions)
    if options.metadata_hash is not None and not has_mode:
        raise InvalidRequest(
            field="metadata_hash",
            problem=f"cannot be signed, the runtime {table} has no CheckMetadataHash",
            expected="none",
        )
    if decode_era(options.era) is None and options.block_hash != options.genesis_hash:
        raise InvalidRequest(
            field="block_hash", problem="is not the genesis hash, which an immortal era requires"
        )


# Signed extensions

_Writer = Callable[["RuntimeTable", int, SigningOptions], bytes]


def _encoded(value_of: Callable[["RuntimeTable", SigningOptions], Any]) -> _Writer:
    """Return a writer that encodes what *value_of* gives by the extension's type."""
    return lambda table, type_id, options: table.encode(type_id, value_of(table, options))


def _write_nonce(table: "RuntimeTable", type_id: int, options: SigningOptions) -> bytes:
    _, _, kind, definition = table.types[type_id]
    # Runtimes that take Ethereum's transactions too have one of their own, with the nonce as its
    # only field.
    named = kind == "composite" and [field[0] for field in definition] == ["nonce"]
    return table.encode(type_id, {"nonce": options.nonce} if named else options.nonce)


def _write_era(table: "RuntimeTable", type_id: int, options: SigningOptions) -> bytes:
    # By the runtime's own type, so that a runtime with another kind of era refuses it.
    table.decode(type_id, options.era)
    return options.era


#: identifier -> what it puts into the extrinsic, and what it adds to the signed bytes; None:
#: nothing. One that is not here may be in a runtime only if it carries no bytes (AuthorizeCall,
#: CheckNonZeroSender, CheckWeight, EthSetOrigin, PrevalidateAttests, StorageWeightReclaim,
#: ValidateClaim …).
_EXTENSIONS: Mapping[str, tuple[_Writer | None, _Writer | None]] = {
    "CheckSpecVersion": (None, _encoded(lambda table, _: table.spec_version)),
    "CheckTxVersion": (None, _encoded(lambda table, _: table.transaction_version)),
    "CheckGenesis": (None, _encoded(lambda _, options: options.genesis_hash)),
    "CheckMortality": (_write_era, _encoded(lambda _, options: options.block_hash)),
    "CheckEra": (_write_era, _encoded(lambda _, options: options.block_hash)),
    "CheckNonce": (_write_nonce, None),
    "ChargeTransactionPayment": (_encoded(lambda _, options: options.tip), None),
    "ChargeAssetTxPayment": (
        _encoded(lambda _, options: {"tip": options.tip, "asset_id": options.asset_id}),
        None,
    ),
    "CheckMetadataHash": (
        _encoded(lambda _, options: {"mode": "Enabled" if options.mode else "Disabled"}),
        _encoded(lambda _, options: options.metadata_hash),
    ),
}


def _write_part(
    table: "RuntimeTable",
    identifier: str,
    type_id: int,
    writer: _Writer | None,
    options: SigningOptions,
) -> bytes:
    if table.types.is_empty(type_id):
        return b""
    if writer is None:
        raise InvalidRequest(
            f"the runtime {table.spec_name} {table.spec_version} has the signed extension "
            f"{identifier}, which carries bytes ({table.type_name(type_id)}) of unknown "
            "meaning: no payload is made on a guess"
        )
    try:
        return writer(table, type_id, options)
    except InvalidRequest as error:
        raise InvalidRequest(f"signed extension {identifier}: {error}") from None


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


FRAME_SIZE = 1024
#: More frames than these nobody holds a camera to.
MAX_FRAMES = 64

#: Kind of key -> its number; an ecdsa key has 33 bytes, which its account does not tell.
KEYS = {"ed25519": 0, "sr25519": 1}
_SUBSTRATE, _TRANSACTION = 0x53, 0x02


def signer_payload(
    table: "RuntimeTable", payload: "SigningPayload", options: "SigningOptions", *, address: str
) -> dict[str, Any]:
    """Return what `signer.signPayload` of polkadot.js and its wallets takes, numbers as wide as the
    runtime's."""
    return {
        "address": address,
        "assetId": write_asset_id(table, options.asset_id),
        "blockHash": "0x" + options.block_hash.hex(),
        "blockNumber": f"0x{options.block_number:08x}",
        "era": "0x" + options.era.hex(),
        "genesisHash": "0x" + options.genesis_hash.hex(),
        "metadataHash": None
        if options.metadata_hash is None
        else "0x" + options.metadata_hash.hex(),
        "method": "0x" + payload.call_data.hex(),
        "mode": options.mode,
        "nonce": f"0x{options.nonce:08x}",
        "signedExtensions": [part.identifier for part in payload.extensions],
        "specVersion": f"0x{table.spec_version:08x}",
        "tip": f"0x{options.tip:032x}",
        "transactionVersion": f"0x{table.transaction_version:08x}",
        "version": 4,
        "withSignedTransaction": True,
    }


def check_key(kind: object) -> None:
    """Refuse a kind of key that Vault cannot be told of."""
    if not isinstance(kind, str) or kind not in KEYS:
        raise InvalidRequest(field="crypto", value=kind, problem="is unknown", known=list(KEYS))


def vault_payload(
    payload: "SigningPayload", *, account: bytes, crypto: str, genesis_hash: bytes
) -> bytes:
    """Return the bytes that Polkadot Vault shows, signs and answers with a signature's QR code."""
    check_key(crypto)
    return b"".join(
        (
            bytes((_SUBSTRATE, KEYS[crypto], _TRANSACTION)),
            account,
            encode_compact(len(payload.call_data)),
            payload.payload,
            genesis_hash,
        )
    )


def vault_frames(data: bytes) -> tuple[bytes, ...]:
    """Return the contents of the QR codes that bring *data* to Vault, to be shown in any order."""
    count = -(-len(data) // FRAME_SIZE)
    if count > MAX_FRAMES:
        raise TooLarge(
            field="tx",
            problem=(
                f"is too large for QR codes: {len(data)} bytes need {count} codes, the limit "
                f"is {MAX_FRAMES}"
            ),
        )
    return tuple(
        b"\0"
        + count.to_bytes(2, "big")
        + index.to_bytes(2, "big")
        + data[index * FRAME_SIZE : (index + 1) * FRAME_SIZE]
        for index in range(count)
    )


@dataclass(frozen=True, kw_only=True)
class PayloadToSign:
    """A payload, and the parts of it that go into the extrinsic."""

    account: bytes
    call_data: bytes
    extra: bytes
    #: Not hashed.
    payload: bytes


def read_wallet_payload(
    table: "RuntimeTable", chain: "Chain", given: Mapping[str, Any], *, field: str = "payload"
) -> PayloadToSign:
    """Return what polkadot.js's SignerPayloadJSON, given in *field*, says is to be signed."""
    account = chain.account_format.parse(given.get("address"), field=f"{field}.address")
    version = given.get("version", 4)
    if version != 4:
        raise InvalidRequest(
            field=f"{field}.version", value=version, problem="is not supported", expected="4"
        )
    spec = _number(given, field, "specVersion")
    _check_versions(table, chain, spec, _number(given, field, "transactionVersion"), field)
    genesis = parse_hash(given.get("genesisHash"), field=f"{field}.genesisHash")
    if chain.genesis and "0x" + genesis.hex() != chain.genesis:
        raise InvalidRequest(
            f"{field} was made for another chain, with genesis hash 0x{genesis.hex()}, not for "
            f"{chain.title}"
        )
    names = [extension.identifier for extension in table.extensions]
    stated = given.get("signedExtensions", names)
    if stated != names:
        raise InvalidRequest(
            field=f"{field}.signedExtensions",
            value=stated,
            problem=f"does not match {table}, expected: {', '.join(names)}",
        )
    mode = _number(given, field, "mode", 0)
    metadata_hash = (
        parse_hash(given["metadataHash"], field=f"{field}.metadataHash")
        if given.get("metadataHash") is not None
        else None
    )
    call_data = parse_hex(given.get("method"), field=f"{field}.method")
    try:
        call = table.decode_call(call_data)
    except InvalidRequest as error:
        raise InvalidRequest(
            field=f"{field}.method", problem=f"is not a valid call of {chain.title}: {error}"
        ) from None
    options = SigningOptions(
        nonce=_number(given, field, "nonce"),
        tip=_number(given, field, "tip", 0),
        era=parse_era(given.get("era"), field=f"{field}.era"),
        genesis_hash=genesis,
        block_hash=parse_hash(given.get("blockHash"), field=f"{field}.blockHash"),
        asset_id=read_asset_id(table, chain, given.get("assetId"), field=f"{field}.assetId"),
        mode=mode,
        metadata_hash=metadata_hash,
    )
    # As the runtime writes it: some wallets pad what they give.
    written = signing_payload(table, table.encode_call(call), options)
    return PayloadToSign(
        account=account, call_data=written.call_data, extra=written.extra, payload=written.payload
    )


def _check_versions(
    table: "RuntimeTable", chain: "Chain", spec: object, transaction: object, what: str
) -> None:
    if spec is not None and spec != table.spec_version:
        raise InvalidRequest(
            f"{what} was made for runtime version {shorten(spec)}, but {chain.title} runs "
            f"{table}: make a new payload and sign that"
        )
    if transaction is not None and transaction != table.transaction_version:
        raise InvalidRequest(
            f"{what} was made for transaction version {shorten(transaction)}, but {table} "
            f"has {table.transaction_version}: make a new payload and sign that"
        )


def _number(given: Mapping[str, Any], field: str, name: str, otherwise: int | None = None) -> int:
    """Return a number that is one, its digits, or its 0x hex, as polkadot.js writes it."""
    value = given.get(name, otherwise)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    text = value if isinstance(value, str) and len(value) <= 80 and value.isascii() else ""
    if (number := read_digits(text)) is not None:
        return number
    if text[:2] == "0x" and text[2:].isalnum():
        try:
            return int(text[2:], 16)
        except ValueError:
            pass
    raise InvalidRequest(
        field=f"{field}.{name}", value=value, problem="is not a number", expected="digits or 0x hex"
    )
