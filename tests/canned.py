"""A chain for tests: a node that runs a bundled runtime, with the storage that a test gives it.

Keys are hashed and values encoded here without the code under test.
"""

from collections.abc import Mapping
from typing import Any

from substrateinterface.utils import hasher

from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.runtime.scale import encode_compact
from tests.blocks import block_hash, header_of
from tests.conftest import BOB_HEX
from tests.runtimes import bundled

GENESIS = {
    "polkadot": "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3",
    "assetHub": "0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f",
    "hydraDx": "0xafdc188f45c71dacbaa0b62e16a91f726c7b8699a9748cdf715459de6b7f366d",
}
SPEC = {"polkadot": "polkadot", "assetHub": "statemint", "hydraDx": "hydradx"}
#: Hash of the best block of every test chain, number 20.
HEAD = block_hash(20)
#: Hash of block 5.
FIVE = block_hash(5)
ALICE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
ALICE_HEX = "0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
ALICE_KEY, BOB_KEY = bytes.fromhex(ALICE_HEX[2:]), bytes.fromhex(BOB_HEX[2:])


def blake2_128_concat(data: bytes) -> str:
    return bytes(hasher.blake2_128_concat(data)).hex()


def two_x64_concat(data: bytes) -> str:
    return bytes(hasher.two_x64_concat(data)).hex()


def prefix(pallet: str, entry: str) -> str:
    """Return the first 32 bytes of the keys of a storage item."""
    return "0x" + bytes(hasher.xxh128(pallet.encode()) + hasher.xxh128(entry.encode())).hex()


def u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def u128(number: int) -> bytes:
    return number.to_bytes(16, "little")


def account_info(free: int, nonce: int = 0) -> str:
    """Return `AccountInfo`: nonce, consumers, providers, sufficients, then free, reserved, frozen,
    flags."""
    return (
        "0x"
        + (u32(nonce) + u32(0) + u32(1) + u32(0) + u128(free) + u128(0) * 2 + u128(2**127)).hex()
    )


def answers(chain: str, storage: Mapping[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    """Return a node of *chain* that runs the bundled runtime and holds *storage*, key to value, in
    every block."""
    kept = dict(storage or {})
    hashes = {0: GENESIS[chain], 5: FIVE, 20: HEAD}

    def known(number: int | None = None) -> str | None:
        return HEAD if number is None else hashes.get(number)

    def header(at: str = HEAD) -> dict[str, Any] | None:
        return {"number": "0x0"} if at == GENESIS[chain] else header_of(at)

    def keys(start: str, count: int, after: str | None, _at: str) -> list[str]:
        return [
            key for key in sorted(kept) if key.startswith(start) and (not after or key > after)
        ][:count]

    return {
        "chain_getBlockHash": known,
        "chain_getHeader": header,
        "state_getRuntimeVersion": lambda _at=None: {
            "specName": SPEC[chain],
            "specVersion": bundled(chain).spec_version,
        },
        "state_getStorage": lambda key, _at=None: kept.get(key),
        "state_getKeysPaged": keys,
        **changes,
    }


def opaque(metadata: bytes) -> str:
    """Return *metadata* as the runtime API answers: an option around bytes with their length."""
    return "0x01" + (encode_compact(len(metadata)) + metadata).hex()


def polkadot_at(*endpoints: str) -> Chain:
    return Registry({"polkadot": {"endpoints": list(endpoints)}}).find("polkadot")
