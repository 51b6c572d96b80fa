"""Extrinsics as bytes: the bare form that is handed out, what a sender signs, and reading what was signed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.calls import Call
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.bare_extrinsic import BARE_V4, bare_extrinsic

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

IMMORTAL = b"\0"
#: Payloads longer than this are hashed before they are signed.
HASHED_ABOVE = 256
_SIGNED_V4, _BARE_V5, _GENERAL_V5 = 0x84, 0x05, 0x45

__all__ = [
    "Extrinsic",
    "SigningOptions",
    "SigningPayload",
    "bare_extrinsic",
    "bytes_to_sign",
    "decode_era",
    "decode_extrinsic",
    "encode_compact",
    "encode_era",
    "era_start",
    "looks_like_extrinsic",
    "parse_era",
    "signing_payload",
]


@dataclass(frozen=True, kw_only=True)
class SigningOptions:
    """What a signature covers besides the call."""

    nonce: int
    #: Raw amount of the native asset.
    tip: int = 0
    #: One byte for immortal, two for mortal: see `encode_era`.
    era: bytes = IMMORTAL
    genesis_hash: bytes
    #: Of the block that the era starts from; the genesis hash for an immortal one.
    block_hash: bytes
    #: Of that block: wallets show it, nothing signs it.
    block_number: int = 0
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
                part.identifier: _hex(part.additional) for part in self.extensions if part.additional
            },
            "hashed": len(self.payload) > HASHED_ABOVE,
        }


@dataclass(frozen=True, kw_only=True)
class Extrinsic:
    """An extrinsic as read."""

    version: int
    call: Call
    #: Its address as the runtime has it, `{"Id": …}` for most; None where nobody signed.
    signer: Any = None
    #: As the runtime has it, `{"Sr25519": …}`; None where nobody signed.
    signature: Any = None
    #: Identifier -> value, of those that carry bytes.
    extensions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> str:
        if self.signer is not None:
            return "signed"
        return "general" if self.extensions else "bare"


def signing_payload(table: "RuntimeTable", call_data: bytes, options: SigningOptions) -> SigningPayload:
    """Return what the sender of *call_data* signs.

    Every signed extension of the runtime is either known here or carries no bytes; InvalidRequest names one that
    is neither, since a guess would make a signature that is good for nothing, or for something else.
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
        parts.append(ExtensionPart(identifier=extension.identifier, extra=extra, additional=additional))
    return SigningPayload(call_data=call_data, extensions=tuple(parts))


def bytes_to_sign(payload: bytes) -> bytes:
    """Return *payload*, or its blake2b-256 where it is longer than 256 bytes."""
    return payload if len(payload) <= HASHED_ABOVE else blake2b(payload, digest_size=32).digest()


def looks_like_extrinsic(data: bytes) -> bool:
    """Tell whether *data* begins as an extrinsic does: its own length, then a version known here."""
    try:
        length, start = _decode_compact(data)
    except InvalidRequest:
        return False
    return length == len(data) - start > 0 and data[start] in (BARE_V4, _SIGNED_V4, _BARE_V5, _GENERAL_V5)


def decode_extrinsic(table: "RuntimeTable", data: bytes) -> Extrinsic:
    """Return what *data* says: bare (4, 5), signed (4) by any kind of key, or general (5), all of it."""
    length, start = _decode_compact(data)
    if length != len(data) - start:
        raise InvalidRequest(
            f"tx says that it is {length} bytes long, but {len(data) - start} follow: it was cut or is not an extrinsic"
        )
    if not length:
        raise InvalidRequest("tx is empty, expected an extrinsic with a version and a call")
    head = data[start]
    start += 1
    if head in (BARE_V4, _BARE_V5):
        _check_version(table, head & 0x3F)
        return Extrinsic(version=head & 0x3F, call=table.decode_call(data[start:]))
    if head == _SIGNED_V4:
        _check_version(table, 4)
        signer, start = table.decode_at(table.address_type, data, start)
        signature, start = table.decode_at(table.signature_type, data, start)
        extensions, start = _decode_extensions(table, data, start)
        return Extrinsic(
            version=4,
            call=table.decode_call(data[start:]),
            signer=signer,
            signature=signature,
            extensions=extensions,
        )
    if head == _GENERAL_V5:
        _check_version(table, 5)
        if data[start : start + 1] != b"\0":
            raise InvalidRequest(
                f"tx uses version {data[start] if start < len(data) else 'none'} of the transaction extensions, expected 0"
            )
        extensions, start = _decode_extensions(table, data, start + 1)
        return Extrinsic(version=5, call=table.decode_call(data[start:]), extensions=extensions)
    raise InvalidRequest(
        f"tx has the unknown extrinsic version byte 0x{head:02x}, expected 0x04, 0x84, 0x05 or 0x45"
    )


# Eras


def encode_era(period: int, current: int) -> bytes:
    """Return a mortal era of *period* blocks (a power of two from 4 to 65536) that holds the block number *current*."""
    if not (4 <= period <= 65536 and period & (period - 1) == 0):
        raise InvalidRequest(
            f"era {shorten(period)} is not a period, expected a power of two from 4 to 65536, like 64"
        )
    if not 0 <= current < 2**64:
        raise InvalidRequest(f"block {shorten(current)} is not a block number, expected one from 0")
    quantum = max(period >> 12, 1)
    phase = current % period // quantum
    return ((period.bit_length() - 2) | phase << 4).to_bytes(2, "little")


def decode_era(era: bytes) -> tuple[int, int] | None:
    """Return the period and the phase of a mortal era, None for an immortal one; InvalidRequest if it is neither."""
    if era == IMMORTAL:
        return None
    if len(era) == 2 and era[0]:
        encoded = int.from_bytes(era, "little")
        period = 2 << (encoded & 0xF)
        phase = (encoded >> 4) * max(period >> 12, 1)
        if period >= 4 and phase < period:
            return period, phase
    raise InvalidRequest(
        f"era {shorten(era)} is not an era, expected 0x00 for immortal or two bytes like 0x4502"
    )


def era_start(era: bytes, current: int) -> int:
    """Return the number of the block that *era*, used at block *current*, starts from: its hash is signed."""
    mortal = decode_era(era)
    if mortal is None:
        return 0
    period, phase = mortal
    return (max(current, phase) - phase) // period * period + phase


def parse_era(value: object, *, field: str) -> bytes:
    """Return the era that `immortal` or 0x hex writes."""
    if value == "immortal":
        return IMMORTAL
    data = b""
    if isinstance(value, str) and value[:2] in ("0x", "0X") and not any(letter.isspace() for letter in value):
        try:
            data = bytes.fromhex(value[2:])
        except ValueError:
            data = b""
    try:
        decode_era(data)
    except InvalidRequest:
        raise InvalidRequest(
            f"{field} {shorten(value)} is not an era, expected immortal, 0x00, or two bytes of hex like 0x4502"
        ) from None
    return data


def _decode_compact(data: bytes) -> tuple[int, int]:
    """Return the length that *data* begins with, and where it ends."""
    size = (1, 2, 4, 0)[data[0] & 3] if data else 0
    if not size or len(data) < size:
        raise InvalidRequest(f"tx {shorten(data)} does not begin with its length, as every extrinsic does")
    length = int.from_bytes(data[:size], "little") >> 2
    if encode_compact(length) != data[:size]:
        raise InvalidRequest(f"tx {shorten(data)} writes its length longer than needed, no chain takes that")
    return length, size


# Signed extensions

_Writer = Callable[["RuntimeTable", int, SigningOptions], bytes]


def _encoded(value_of: Callable[[SigningOptions], Any]) -> _Writer:
    """Return a writer that encodes what *value_of* gives by the extension's type."""
    return lambda table, type_id, options: table.encode(type_id, value_of(options))


def _write_spec_version(table: "RuntimeTable", type_id: int, _: SigningOptions) -> bytes:
    return table.encode(type_id, table.spec_version)


def _write_transaction_version(table: "RuntimeTable", type_id: int, _: SigningOptions) -> bytes:
    return table.encode(type_id, table.transaction_version)


def _write_nonce(table: "RuntimeTable", type_id: int, options: SigningOptions) -> bytes:
    _, _, kind, definition = table.types[type_id]
    # Runtimes that take Ethereum's transactions too have one of their own, with the nonce as its only field.
    named = kind == "composite" and [field[0] for field in definition] == ["nonce"]
    return table.encode(type_id, {"nonce": options.nonce} if named else options.nonce)


def _write_era(table: "RuntimeTable", type_id: int, options: SigningOptions) -> bytes:
    # By the runtime's own type, so that a runtime with another kind of era refuses it.
    table.decode(type_id, options.era)
    return options.era


def _write_mode(table: "RuntimeTable", type_id: int, options: SigningOptions) -> bytes:
    return table.encode(type_id, {"mode": "Enabled" if options.mode else "Disabled"})


#: identifier -> what it puts into the extrinsic, and what it adds to the signed bytes; None: nothing.
#: One that is not here may be in a runtime only if it carries no bytes (AuthorizeCall, CheckNonZeroSender,
#: CheckWeight, EthSetOrigin, PrevalidateAttests, StorageWeightReclaim, ValidateClaim …).
_EXTENSIONS: Mapping[str, tuple[_Writer | None, _Writer | None]] = {
    "CheckSpecVersion": (None, _write_spec_version),
    "CheckTxVersion": (None, _write_transaction_version),
    "CheckGenesis": (None, _encoded(lambda options: options.genesis_hash)),
    "CheckMortality": (_write_era, _encoded(lambda options: options.block_hash)),
    "CheckEra": (_write_era, _encoded(lambda options: options.block_hash)),
    "CheckNonce": (_write_nonce, None),
    "ChargeTransactionPayment": (_encoded(lambda options: options.tip), None),
    "ChargeAssetTxPayment": (_encoded(lambda options: {"tip": options.tip, "asset_id": None}), None),
    "CheckMetadataHash": (_write_mode, _encoded(lambda options: options.metadata_hash)),
}


def _write_part(
    table: "RuntimeTable", identifier: str, type_id: int, writer: _Writer | None, options: SigningOptions
) -> bytes:
    if table.types.is_empty(type_id):
        return b""
    if writer is None:
        raise InvalidRequest(
            f"the runtime {table.spec_name} {table.spec_version} has the signed extension {identifier}, which carries bytes ({table.type_name(type_id)}) that are not known here: nothing is signed on a guess"
        )
    try:
        return writer(table, type_id, options)
    except InvalidRequest as error:
        raise InvalidRequest(f"signed extension {identifier}: {error}") from None


def _decode_extensions(table: "RuntimeTable", data: bytes, start: int) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    for extension in table.extensions:
        if not table.types.is_empty(extension.type_id):
            values[extension.identifier], start = table.decode_at(extension.type_id, data, start)
    return values, start


def _check_options(table: "RuntimeTable", options: SigningOptions) -> None:
    for name, value in (("genesis_hash", options.genesis_hash), ("block_hash", options.block_hash)):
        if len(value) != 32:
            raise InvalidRequest(f"{name} {shorten(value)} is not a hash, expected 32 bytes")
    if options.mode not in (0, 1):
        raise InvalidRequest(f"mode {shorten(options.mode)} is not one of CheckMetadataHash, expected 0 or 1")
    if bool(options.mode) != (options.metadata_hash is not None):
        raise InvalidRequest("metadata_hash goes with mode 1, and only with it: expected both or neither")
    if options.metadata_hash is not None:
        if len(options.metadata_hash) != 32:
            raise InvalidRequest(
                f"metadata_hash {shorten(options.metadata_hash)} is not a hash, expected 32 bytes"
            )
        if all(extension.identifier != "CheckMetadataHash" for extension in table.extensions):
            raise InvalidRequest(
                f"metadata_hash cannot be signed, the runtime {table.spec_name} {table.spec_version} has no CheckMetadataHash: expected none"
            )
    if decode_era(options.era) is None and options.block_hash != options.genesis_hash:
        raise InvalidRequest(
            "block_hash does not go with an immortal era, whose block is the genesis block: expected the genesis hash"
        )


def _check_version(table: "RuntimeTable", version: int) -> None:
    if version not in table.extrinsic_versions:
        known = ", ".join(map(str, table.extrinsic_versions))
        raise InvalidRequest(
            f"tx is an extrinsic of version {version}, which {table.spec_name} {table.spec_version} does not take, expected: {known}"
        )


def _hex(data: bytes) -> str:
    return "0x" + data.hex()
