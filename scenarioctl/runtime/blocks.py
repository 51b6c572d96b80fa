"""Prove that what a node tells of a block belongs to the block's hash: its header, and its
extrinsics.

A block's hash is that of its SCALE-encoded header (sp-runtime, `generic::Header`).  The header has
the root of a trie of the extrinsics: base 16, without extension nodes (sp-trie, `NodeCodec`).
"""

from collections.abc import Sequence
from hashlib import blake2b

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.scale import encode_compact

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
