"""Extrinsics, bare and signed, their eras, and whether an older draft means the same now."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, TooLarge
from scenarioctl.model.amounts import from_hex
from scenarioctl.model.calls import Call
from scenarioctl.runtime.scale import encode_compact

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.runtime.table import RuntimeTable


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A call that is ready to be encoded."""

    call: Call
    #: Sentences for the signer.
    warnings: tuple[str, ...] = ()
    #: Those of them that stay true once the call was tried.
    notes: tuple[str, ...] = ()
    #: Only a check could open its route, and didn't: nobody may get the bytes.
    unproven: bool = False
    #: What a transfer sends beside its amount, to pay on the way: an asset of the source, and the
    #: raw amount.
    beside: "tuple[Asset, int] | None" = None


BARE_V4 = 0x04
#: The most bytes of a transaction: no chain takes one that is longer than its blocks.
LARGEST = 5 * 1024 * 1024


def bare_extrinsic(call_data: bytes) -> bytes:
    """Return the unsigned version 4 extrinsic around *call_data*: `compact(length) ++ 0x04 ++
    call`."""
    body = bytes((BARE_V4,)) + call_data
    check_length(len(body))
    return encode_compact(len(body)) + body


def check_length(length: int) -> None:
    """Refuse a transaction, or its call data, of so many bytes where no chain would take it."""
    if length > LARGEST:
        raise InvalidRequest(
            f"a transaction of {length} bytes is larger than any chain accepts, the limit "
            f"is {LARGEST}"
        )


def parse_hex(value: object, *, field: str) -> bytes:
    """Return the bytes of 0x hex text; TooLarge for more than a transaction may have."""
    text = value.strip() if isinstance(value, str) else ""
    size = len(text) // 2 - 1
    if text[:2] in ("0x", "0X") and size > LARGEST:
        raise TooLarge(
            field=field,
            problem=(
                f"has {size} bytes, the limit is {LARGEST}: no chain accepts a longer transaction"
            ),
        )
    data = from_hex(text)
    if not data:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not hex",
            expected="0x and an even number of hex digits",
        )
    return data


def parse_hash(value: object, *, field: str) -> bytes:
    """Return the 32 bytes of a 0x hash."""
    try:
        data = parse_hex(value, field=field)
    except InvalidRequest:
        data = b""
    if len(data) != 32:
        raise InvalidRequest(
            field=field,
            value=value,
            limit=80,
            problem="is not a hash",
            expected="0x and 64 hex digits",
        )
    return data


IMMORTAL = b"\0"


def encode_era(period: int, current: int) -> bytes:
    """Return a mortal era of *period* blocks (a power of two from 4 to 65536) that holds the block
    number *current*."""
    if not (4 <= period <= 65536 and period & (period - 1) == 0):
        raise InvalidRequest(
            field="era",
            value=period,
            problem="is not a period",
            expected="a power of two from 4 to 65536, like 64",
        )
    if not 0 <= current < 2**64:
        raise InvalidRequest(
            field="block", value=current, problem="is not a block number", expected="one from 0"
        )
    quantum = max(period >> 12, 1)
    phase = current % period // quantum
    return ((period.bit_length() - 2) | phase << 4).to_bytes(2, "little")


def decode_era(era: bytes) -> tuple[int, int] | None:
    """Return the period and the phase of a mortal era, None for an immortal one; InvalidRequest if
    it is neither."""
    if era == IMMORTAL:
        return None
    if len(era) == 2 and era[0]:
        encoded = int.from_bytes(era, "little")
        period = 2 << (encoded & 0xF)
        phase = (encoded >> 4) * max(period >> 12, 1)
        if period >= 4 and phase < period:
            return period, phase
    raise InvalidRequest(
        field="era",
        value=era,
        problem="is not an era",
        expected="0x00 for immortal or two bytes like 0x4502",
    )


def era_start(era: bytes, current: int) -> int:
    """Return the number of the block that *era*, used at block *current*, starts from: its hash is
    signed."""
    mortal = decode_era(era)
    if mortal is None:
        return 0
    period, phase = mortal
    return (max(current, phase) - phase) // period * period + phase


def parse_era(value: object, *, field: str) -> bytes:
    """Return the era that `immortal` or 0x hex writes."""
    if value == "immortal":
        return IMMORTAL
    data = from_hex(value) or b""
    try:
        decode_era(data)
    except InvalidRequest:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not an era",
            expected="immortal, 0x00, or two bytes of hex like 0x4502",
        ) from None
    return data


#: What stands behind the length of an extrinsic, beside `BARE_V4`.
SIGNED_V4, BARE_V5, GENERAL_V5 = 0x84, 0x05, 0x45
VERSION_BYTES = (BARE_V4, SIGNED_V4, BARE_V5, GENERAL_V5)


@dataclass(frozen=True, kw_only=True)
class Extrinsic:
    """An extrinsic as read."""

    version: int
    call: Call
    #: Its address as the runtime has it, `{"Id": …}` for most; None if nobody signed.
    signer: Any = None
    #: As the runtime has it, `{"Sr25519": …}`; None if nobody signed.
    signature: Any = None
    #: Identifier -> value, of the extensions that carry bytes.
    extensions: Mapping[str, Any] = field(default_factory=dict)
    #: Identifier -> the bytes of that value.
    extension_bytes: Mapping[str, bytes] = field(default_factory=dict, compare=False)
    #: The bytes of all extensions together.
    extra: bytes = field(default=b"", compare=False)
    call_data: bytes = field(default=b"", compare=False)

    @property
    def form(self) -> str:
        if self.signer is not None:
            return "signed"
        return "general" if self.extensions else "bare"


def extrinsic_hash(data: bytes) -> str:
    """Return the hash that chains and explorers know an extrinsic by: blake2b-256, 0x hex."""
    return "0x" + blake2b(data, digest_size=32).hexdigest()


def looks_like_extrinsic(data: bytes) -> bool:
    """Tell whether *data* begins as an extrinsic does: its own length, then a version known
    here."""
    try:
        length, start = _decode_compact(data)
    except InvalidRequest:
        return False
    return length == len(data) - start > 0 and data[start] in VERSION_BYTES


def decode_extrinsic(table: "RuntimeTable", data: bytes) -> Extrinsic:
    """Return what *data* says: bare (4, 5), signed (4) by any kind of key, or general (5), all of
    it."""
    length, start = _decode_compact(data)
    if length != len(data) - start:
        raise InvalidRequest(
            field="tx",
            problem=(
                f"declares {length} bytes, but {len(data) - start} follow: it is truncated, or "
                "not an extrinsic"
            ),
        )
    if not length:
        raise InvalidRequest(
            field="tx", problem="is empty", expected="an extrinsic with a version and a call"
        )
    version = data[start]
    start += 1
    if version not in VERSION_BYTES:
        raise InvalidRequest(
            field="tx",
            problem=f"has the unknown extrinsic version byte 0x{version:02x}",
            expected="0x04, 0x84, 0x05 or 0x45",
        )
    _check_version(table, version & 0x3F)
    found: dict[str, Any] = {}
    if version == SIGNED_V4:
        found["signer"], start = table.decode_at(table.address_type, data, start)
        found["signature"], start = table.decode_at(table.signature_type, data, start)
    elif version == GENERAL_V5:
        if data[start : start + 1] != b"\0":
            raise InvalidRequest(
                field="tx",
                problem=(
                    f"uses version {data[start] if start < len(data) else 'none'} of the "
                    "transaction extensions"
                ),
                expected="0",
            )
        start += 1
    if version in (SIGNED_V4, GENERAL_V5):
        extra = start
        found["extensions"], found["extension_bytes"], start = decode_extensions(table, data, start)
        found["extra"] = data[extra:start]
    call_data = data[start:]
    return Extrinsic(
        version=version & 0x3F, call=table.decode_call(call_data), call_data=call_data, **found
    )


def length_size(data: bytes) -> int:
    """Return how many bytes the length takes that *data* begins with; 0 if it begins with none."""
    return (1, 2, 4, 0)[data[0] & 3] if data else 0


def _decode_compact(data: bytes) -> tuple[int, int]:
    """Return the length that *data* begins with, and where it ends."""
    size = length_size(data)
    if not size or len(data) < size:
        raise InvalidRequest(
            field="tx",
            value=data,
            problem="does not begin with its length, as every extrinsic does",
        )
    length = int.from_bytes(data[:size], "little") >> 2
    if encode_compact(length) != data[:size]:
        raise InvalidRequest(
            field="tx",
            value=data,
            problem="encodes its length in more bytes than needed, which no chain accepts",
        )
    return length, size


def decode_extensions(
    table: "RuntimeTable", data: bytes, start: int = 0
) -> tuple[dict[str, Any], dict[str, bytes], int]:
    """Return values and bytes of the extensions that carry some, and where they end."""
    values: dict[str, Any] = {}
    parts: dict[str, bytes] = {}
    for extension in table.extensions:
        if not table.types.is_empty(extension.type_id):
            value, end = table.decode_at(extension.type_id, data, start)
            values[extension.identifier], parts[extension.identifier] = value, data[start:end]
            start = end
    return values, parts, start


def _check_version(table: "RuntimeTable", version: int) -> None:
    if version not in table.extrinsic_versions:
        known = ", ".join(map(str, table.extrinsic_versions))
        raise InvalidRequest(
            field="tx",
            problem=(
                f"is an extrinsic of version {version}, which {table.spec_name} "
                f"{table.spec_version} does not accept, expected: {known}"
            ),
        )


def explain_incompatibility(
    old: "RuntimeTable | None", new: "RuntimeTable", tx: str, *, spec_version: int
) -> str:
    """Return why *tx*, a bare extrinsic of version *spec_version* in 0x hex, must be drafted anew;
    empty where it need not.

    The call that the *old* table reads in it has to have the same bytes by the *new* one: then
    pallets, methods, arguments and variants of the same names stand at the same places.
    """
    if new.spec_version == spec_version:
        return ""
    name = "it"
    # What its own runtime can't read, or the new one can't write, stays open.
    with suppress(InvalidRequest, ValueError):
        data = bytes.fromhex(tx.removeprefix("0x"))
        if old is not None:
            call = decode_extrinsic(old, data).call
            name = f"{call.pallet}.{call.method}"
            if bare_extrinsic(new.encode_call(call)) == data:
                return ""
    return (
        f"it was drafted for {old or f'version {spec_version}'}, and {new} may not read {name} in "
        "the same way: draft it again"
    )
