"""Storage keys: from names and key values to the bytes that a node is asked for, and back.

A key is twox128(prefix) ++ twox128(entry) ++ the hash of each part, by the hasher that the metadata
names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import from_hex

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.runtime.table_entries import StorageEntry

#: A pallet, its entry, and the keys in it.
StorageAddress = tuple[str, str, tuple[Any, ...]]
#: The key of `Timestamp.Now`, which every chain has: two hashes of names, no runtime needed.
TIMESTAMP_NOW = "0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb"


def read_timestamp(answer: object) -> int | None:
    """Return the milliseconds since 1970 that a node answers for `TIMESTAMP_NOW`; None if they are
    none."""
    data = from_hex(answer)
    return int.from_bytes(data, "little") if data is not None and len(data) == 8 else None


def twox(data: bytes, rounds: int) -> bytes:
    """Return *rounds* times 64 bits of xxHash64, seeds 0, 1, …, each little-endian."""
    import xxhash

    return b"".join(
        xxhash.xxh64(data, seed=seed).intdigest().to_bytes(8, "little") for seed in range(rounds)
    )


def _blake2(data: bytes, size: int) -> bytes:
    return blake2b(data, digest_size=size).digest()


#: Hasher -> the bytes of its hash, and whether the value itself follows them.
HASHERS: dict[str, tuple[Callable[[bytes], bytes], int, bool]] = {
    "Identity": (lambda _: b"", 0, True),
    "Twox64Concat": (lambda data: twox(data, 1), 8, True),
    "Blake2_128Concat": (lambda data: _blake2(data, 16), 16, True),
    "Twox128": (lambda data: twox(data, 2), 16, False),
    "Twox256": (lambda data: twox(data, 4), 32, False),
    "Blake2_128": (lambda data: _blake2(data, 16), 16, False),
    "Blake2_256": (lambda data: _blake2(data, 32), 32, False),
}


@dataclass(frozen=True, kw_only=True)
class StorageKey:
    """A key, whole or its beginning, and the entry that it belongs to."""

    entry: "StorageEntry"
    data: bytes

    @property
    def hex(self) -> str:
        return "0x" + self.data.hex()


def storage_key(
    table: "RuntimeTable",
    pallet: str,
    entry: str,
    keys: Sequence[Any] = (),
    *,
    partial: bool = False,
) -> StorageKey:
    """Return the key of a storage value; with *partial*, the beginning that all with those first
    parts share.

    InvalidRequest where the entry wants more or fewer parts, or a part is not of its type.
    """
    described = table.storage_entry(pallet, entry)
    wanted = len(described.hashers)
    name = f"{described.pallet}.{described.name}"
    if len(keys) > wanted or (len(keys) < wanted and not partial):
        kinds = ", ".join(table.type_name(type_id) for type_id in described.key_types) or "none"
        raise InvalidRequest(f"{name} takes {wanted} keys ({kinds}), not {len(keys)}")
    data = [twox(described.prefix.encode(), 2), twox(described.name.encode(), 2)]
    for number, value in enumerate(keys):
        hasher, _, concat = HASHERS[described.hashers[number]]
        try:
            encoded = table.encode(described.key_types[number], value)
        except InvalidRequest as error:
            raise InvalidRequest(f"key {number + 1} of {name}: {error}") from None
        data.append(hasher(encoded) + (encoded if concat else b""))
    return StorageKey(entry=described, data=b"".join(data))


def read_key(
    table: "RuntimeTable", entry: "StorageEntry", key: str, *, hashes: bool = False
) -> list[Any]:
    """Return the parts of a whole key; for one whose hasher keeps only its hash None, or with
    *hashes* that."""
    data = bytes.fromhex(key[2:])
    at = 32
    parts: list[Any] = []
    for hasher, type_id in zip(entry.hashers, entry.key_types, strict=True):
        _, size, concat = HASHERS[hasher]
        at += size
        if not concat:
            parts.append(data[at - size : at] if hashes else None)
            continue
        value, at = table.decode_at(type_id, data, at)
        parts.append(value)
    if at != len(data):
        raise InvalidRequest(
            f"a key of {entry.pallet}.{entry.name} has {len(data) - at} extra bytes"
        )
    return parts
