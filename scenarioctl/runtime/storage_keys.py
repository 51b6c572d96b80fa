"""Storage keys, to bytes and back; and proofs that what a node tells of a block is of its hash.

A key is twox128(prefix) ++ twox128(entry) ++ the hash of each part, by the hasher that the metadata
names.

A block's hash is that of its SCALE-encoded header (sp-runtime, `generic::Header`).  The header has
the root of a trie of the extrinsics: base 16, without extension nodes (sp-trie, `NodeCodec`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import from_hex
from scenarioctl.runtime.scale import encode_compact

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.runtime.type_table import StorageEntry


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


#: Bytes of a hash; a shorter node stands in its parent itself.
_HASH = 32
#: State version 1: the first bits of a leaf and of a branch that have the hash of their value, and
#: how many they are.
_HASHED_LEAF, _HASHED_BRANCH = (0b001, 3), (0b0001, 4)
_LEAF, _BRANCH, _BRANCH_WITH_VALUE = (0b01, 2), (0b10, 2), (0b11, 2)

#: Nibbles of a key, and the value under it.
Entry = tuple[bytes, bytes]


def header_hash(header: object) -> str:
    """Return the hash of a block, in 0x hex, from its header as nodes write it in JSON; empty if it
    isn't a header."""
    try:
        parent, state, extrinsics = hashes = [
            bytes.fromhex(header[name][2:])  # type: ignore[index]
            for name in ("parentHash", "stateRoot", "extrinsicsRoot")
        ]
        number = encode_compact(int(header["number"], 16))  # type: ignore[index]
        logs = [bytes.fromhex(each[2:]) for each in header["digest"]["logs"]]  # type: ignore[index]
    except (TypeError, KeyError, ValueError, InvalidRequest):
        return ""
    if any(len(each) != _HASH for each in hashes):
        # The same bytes, cut elsewhere, would show another number.
        return ""
    encoded = b"".join((parent, number, state, extrinsics, encode_compact(len(logs)), *logs))
    return "0x" + _hash(encoded).hex()


def extrinsics_roots(extrinsics: Sequence[bytes]) -> tuple[str, ...]:
    """Return the roots of a block's extrinsics, in 0x hex, of which its header may have any.

    Those of the state versions 0 and 1, which the runtime chooses, and what Chopsticks writes in
    its forks.
    """
    entries = sorted(
        (_nibbles(encode_compact(place)), each) for place, each in enumerate(extrinsics)
    )
    tries = [_node(entries, 0, hashed=hashed) if entries else b"\0" for hashed in (False, True)]
    return tuple("0x" + _hash(data).hex() for data in (*tries, b"".join(extrinsics)))


def _node(entries: Sequence[Entry], depth: int, *, hashed: bool) -> bytes:
    """Return the encoded node over *entries*, which are sorted and share their first *depth*
    nibbles.

    With *hashed*, a value that is longer than a hash stands there as its hash.
    """
    first, last = entries[0][0], entries[-1][0]
    end = depth
    while end < len(first) and first[end] == last[end]:
        end += 1
    value = entries[0][1] if len(first) == end else None
    is_hashed = hashed and value is not None and len(value) > _HASH
    stored = b""
    if value is not None:
        stored = _hash(value) if is_hashed else encode_compact(len(value)) + value
    if len(entries) == 1:
        return _head(_HASHED_LEAF if is_hashed else _LEAF, first[depth:]) + stored
    bitmap, children = 0, b""
    for nibble in range(16):
        below = [entry for entry in entries if len(entry[0]) > end and entry[0][end] == nibble]
        if below:
            bitmap |= 1 << nibble
            child = _node(below, end + 1, hashed=hashed)
            child = child if len(child) < _HASH else _hash(child)
            children += encode_compact(len(child)) + child
    kind = _BRANCH if value is None else _HASHED_BRANCH if is_hashed else _BRANCH_WITH_VALUE
    return _head(kind, first[depth:end]) + bitmap.to_bytes(2, "little") + stored + children


def _head(kind: tuple[int, int], nibbles: bytes) -> bytes:
    """Return the kind of a node, the number of its *nibbles*, and those."""
    prefix, bits = kind
    # Keys are numbers of at most 4 bytes: their nibbles are never so many that the number needs a
    # second byte.
    head = bytes([prefix << (8 - bits) | len(nibbles)])
    padded = nibbles if len(nibbles) % 2 == 0 else b"\0" + nibbles
    return head + bytes(
        high << 4 | low for high, low in zip(padded[::2], padded[1::2], strict=True)
    )


def _nibbles(key: bytes) -> bytes:
    return bytes(nibble for byte in key for nibble in (byte >> 4, byte & 0xF))


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=_HASH).digest()
