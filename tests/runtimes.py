"""Runtime tables and the registry, for the tests of what is built with them."""

import json
from functools import cache
from typing import Any

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from tests.conftest import DATA

BOB = bytes.fromhex("8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48")
BOB_ADDRESS = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"

#: A network of three chains under names of its own, as on the rig.
RIG: dict[str, Any] = {
    "rigrelay": {"role": "relay", "symbol": "KSM", "decimals": 12},
    "righub": {
        "role": "asset_hub",
        "relay": "rigrelay",
        "para_id": 1000,
        "symbol": "KSM",
        "decimals": 12,
    },
    "rigdex": {
        "role": "dex",
        "relay": "rigrelay",
        "para_id": 2034,
        "symbol": "HDX",
        "decimals": 12,
        "assets": [
            {
                "id": 5,
                "symbol": "KSM",
                "decimals": 12,
                "location": "1/Here",
                "existential_deposit": 17540000,
            },
            {
                "id": 10,
                "symbol": "USDT",
                "decimals": 6,
                "location": "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)",
            },
            {"id": 7, "symbol": "ODD", "decimals": 6},
        ],
    },
    "rigpeople": {
        "role": "system",
        "relay": "rigrelay",
        "para_id": 1004,
        "symbol": "KSM",
        "decimals": 12,
    },
    "rigcoretime": {
        "role": "system",
        "relay": "rigrelay",
        "para_id": 1005,
        "symbol": "KSM",
        "decimals": 12,
    },
    "rigcontracts": {
        "role": "contracts",
        "relay": "rigrelay",
        "para_id": 4001,
        "symbol": "KSM",
        "decimals": 12,
    },
}

REGISTRY = Registry(RIG)
ASSETS = Assets(REGISTRY)

#: Which bundled runtime a chain of the tests runs.
_RUNTIMES = {"rigrelay": "kusama", "righub": "assetHub_kusama", "rigdex": "hydraDx"}


@cache
def metadata_table(name: str) -> RuntimeTable:
    """Return the table of a file in tests/data/metadata."""
    return read_metadata((DATA / "metadata" / name).read_bytes())


def bundled(chain: str) -> RuntimeTable:
    table = load_bundled(_RUNTIMES.get(chain, chain))
    assert table is not None
    return table


def vectors(*kinds: str) -> list[dict[str, Any]]:
    document = json.loads((DATA / "vectors" / "calls.json").read_text(encoding="utf-8"))
    return [vector for vector in document["vectors"] if vector["kind"] in kinds]


def unhex(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def find_type(table: RuntimeTable, path: str) -> int:
    """Return the first type whose path ends in *path*."""
    return next(
        type_id
        for type_id in range(len(table.types))
        if f"::{table.types[type_id][0]}".endswith(f"::{path}")
    )
