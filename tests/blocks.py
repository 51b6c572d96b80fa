"""Blocks as a node tells of them: headers that hash to the hashes of their blocks, over the
extrinsics that these hold."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from scenarioctl.runtime.scale import encode_compact

#: Hash -> the header of every block that was made here.
_made: dict[str, dict[str, Any]] = {}


def _hash(data: bytes) -> str:
    return "0x" + blake2b(data, digest_size=32).hexdigest()


def block_hash(number: int, extrinsics: Sequence[str] = (), *, fork: int = 0) -> str:
    """Return the hash of a block with these *extrinsics* in 0x hex; each *fork* has another one."""
    parent = f"{fork:064x}"
    body = b"".join(bytes.fromhex(each[2:]) for each in extrinsics)
    # As Chopsticks has it, which writes no trie.
    root = _hash(body)
    encoded = (
        bytes.fromhex(parent) + encode_compact(number) + bytes(32) + bytes.fromhex(root[2:]) + b"\0"
    )
    found = _hash(encoded)
    _made[found] = {
        "parentHash": "0x" + parent,
        "number": hex(number),
        "stateRoot": "0x" + "00" * 32,
        "extrinsicsRoot": root,
        "digest": {"logs": []},
    }
    return found


def header_of(block: str) -> dict[str, Any] | None:
    """Return the header of the block with the hash *block*; None if none was made."""
    return _made.get(block)


def number_of(block: str) -> int:
    return int(_made[block]["number"], 16)


def block_of(block: str, extrinsics: Sequence[str] = ()) -> dict[str, Any]:
    """Return the block with the hash *block* as `chain_getBlock` does."""
    return {"block": {"header": header_of(block), "extrinsics": list(extrinsics)}}
