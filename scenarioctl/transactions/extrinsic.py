"""Extrinsics, signed or not, read from their bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.drafts import BARE_V4

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

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
        if not table.is_empty(extension.type_id):
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
